"""The identity of a release: question, unit, mechanism, parameters, mode, and the analyst's own key."""

from __future__ import annotations

from hashlib import sha256

from dpviz.model.mechanism import Mechanism, Mode
from dpviz.model.question import Question, canonical
from dpviz.privacy.unit import Unit


def release_key(question: Question, unit: Unit, mechanism: Mechanism, mode: Mode, key: str | None = None) -> str:
    """The idempotency key: equal keys give the stored answer, free, for ever."""
    said = {
        "question": question.to_json(),
        "unit": unit.to_json(),
        "mechanism": {"name": mechanism.name, "parameters": mechanism.parameters()},
        "mode": mode,
        "key": key,
    }
    return sha256(canonical(said)).hexdigest()
