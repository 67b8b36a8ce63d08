"""A release keeps what was promised when it was paid for, whatever its mechanism is today."""

from __future__ import annotations

import json
from collections.abc import Callable
from fractions import Fraction
from hashlib import sha256
from typing import Any

import pandas as pd
import pytest

import dpviz as dv
from dpviz.errors import ReleaseFormat
from dpviz.mechanisms.dense import Dense
from dpviz.model.question import Question, canonical
from dpviz.model.release import VERSION, Release
from dpviz.privacy.unit import Unit
from dpviz.session.saved import from_bytes

BINS = dv.Domain.integers(0, 3, column="x")
BETAS = (Fraction(1, 10), Fraction(1, 20), Fraction(1, 10**6))


def released(mechanism: Any = None) -> Release:
    data = pd.DataFrame({"x": [0, 1, 2, 3] * 9})
    return dv.teaching(data, 3).draw(BINS, dv.Dense("1/2") if mechanism is None else mechanism)


def altered(release: Release, change: Callable[[dict[str, Any]], object]) -> bytes:
    body = json.loads(release.to_bytes())["release"]
    change(body)
    return canonical({"release": body, "sha256": sha256(canonical(body)).hexdigest()})


def errors(release: Release) -> list[Any]:
    return [(release.error.one_bin(beta), release.error.all_bins(beta), release.bars(beta)) for beta in BETAS]


def test_a_newer_revision_changes_no_old_release(monkeypatch: pytest.MonkeyPatch) -> None:
    old = released()
    content, said = old.to_bytes(), errors(old)
    bind = Dense.bind

    def later(mechanism: Dense, question: Question, unit: Unit) -> Any:
        return bind(Dense(mechanism.epsilon / 4), question, unit)

    monkeypatch.setattr(Dense, "revision", 2)
    monkeypatch.setattr(Dense, "bind", later)
    today = Dense("1/2").bind(old.question, old.unit).error
    assert today.one_bin(BETAS[0]) != old.error.one_bin(BETAS[0]), "the later Dense has another calibration"
    again = from_bytes(content)
    assert errors(again) == said and again.guarantee == old.guarantee and again.terms == old.terms
    assert again.terms.mechanism.revision == 1 and again.to_bytes() == content


def test_a_release_of_a_mechanism_that_is_not_known_is_read() -> None:
    old = released()
    again = from_bytes(altered(old, lambda body: body["mechanism"].update(name="Forgotten", parameters={"a": "1"})))
    assert again.terms.mechanism.name == "Forgotten" and errors(again) == errors(old)
    assert again.to_frame().equals(old.to_frame()) and again.title == old.title
    assert json.loads(json.dumps(again.chart().to_dict())) == json.loads(json.dumps(old.chart().to_dict()))


def test_words_that_have_changed_since_make_no_release_unreadable() -> None:
    old = released()
    stored = altered(old, lambda body: body["guarantee"].update(text="in other words", rule="Theorem 9"))
    again = from_bytes(stored)
    assert again.guarantee.sentence == old.guarantee.sentence and again.guarantee.rule == "Theorem 9"
    assert again.to_bytes() == stored, "what was stored is saved as it was"


CONTRADICTIONS: dict[str, Callable[[dict[str, Any]], object]] = {
    "a smaller charge": lambda body: body["guarantee"]["charged"].update(epsilon="0.1"),
    "a smaller loss": lambda body: body["guarantee"]["loss"].update(epsilon="1/10"),
    "a sentence that is none": lambda body: body["guarantee"].update(text=5),
    "no loss": lambda body: body["guarantee"].pop("loss"),
    "another public n": lambda body: body["unit"].update(relation="replace-one", n=36),
    "fewer bins than the law": lambda body: body["question"]["domain"].update(high="2"),
    "a law of more bins": lambda body: body["law"].update(bins="5"),
    "a law that is not known": lambda body: body["law"].update(name="weather"),
    "no law": lambda body: body.pop("law"),
    "another shape": lambda body: body.update(shape="ranked"),
    "limits the wrong way round": lambda body: body["clamp"].update(low="3", high="1"),
    "limits that the law does not keep": lambda body: body["clamp"].update(low=None),
    "a limit that is no number": lambda body: body["clamp"].update(low="x"),
    "a revision that is none": lambda body: body["mechanism"].update(revision="1/2"),
    "a use of nothing": lambda body: body.update(uses=[{"noun": "symbol", "amount": "9", "paid": "9"}]),
    "items of a table": lambda body: body.update(max_items="3"),
}


@pytest.mark.parametrize("name", CONTRADICTIONS)
def test_parts_that_disagree_are_refused(name: str) -> None:
    with pytest.raises(ReleaseFormat):
        from_bytes(altered(released(), CONTRADICTIONS[name]))


def test_a_newer_format_asks_for_an_update() -> None:
    with pytest.raises(ReleaseFormat, match="update dpviz"):
        from_bytes(altered(released(), lambda body: body.update(version=VERSION + 1)))
