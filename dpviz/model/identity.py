"""The identity of a release: question, unit, mechanism, parameters, mode, and the analyst's own key."""

from __future__ import annotations

from collections.abc import Mapping
from hashlib import sha256
from typing import Any

from dpviz.model.mechanism import Mechanism, Mode
from dpviz.model.question import Question, canonical
from dpviz.privacy.unit import Unit


def release_key(
    question: Question,
    unit: Unit,
    mechanism: Mechanism,
    mode: Mode,
    key: str | None = None,
    profile: Mapping[str, Any] | None = None,
    then: Mapping[str, Any] | None = None,
) -> str:
    """The idempotency key: equal keys give the stored answer, free, for ever.

    profile  the profile that is bought with the answer, as `bought_together.purchase_json` names it
    then     the answer that is declared with it, with question, mechanism and mode
    """
    said: dict[str, Any] = {
        "question": question.to_json(),
        "unit": unit.to_json(),
        "mechanism": {"name": mechanism.name, "parameters": mechanism.parameters()},
        "mode": mode,
        "key": key,
        **({} if profile is None else {"over": dict(profile)}),
        **({} if then is None else {"then": dict(then)}),
    }
    return sha256(canonical(said)).hexdigest()
