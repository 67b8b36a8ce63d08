"""What was derived from releases is told in a report, in words, beside the releases that paid for it."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import dpviz as dv
from dpviz.errors import ParameterError
from dpviz.model.derived import Derived, DerivedTable

BINS = dv.Domain.integers(0, 3, column="x")


@pytest.fixture
def session(tmp_path: Path) -> dv.Session:
    frame = pd.DataFrame({"x": [0, 1, 1, 3] * 20})
    return dv.Session(frame, dv.Unit(), dv.Budget(3), tmp_path / "x.ledger")


def words(path: Path) -> str:
    """What a reader without JavaScript sees."""
    return re.sub(r"&#x27;|&quot;", "'", path.read_text(encoding="utf-8"))


def sentence(asked: Any) -> str:
    assert isinstance(asked, Derived)
    return f"{asked.sentence} {asked.rests_on}"


def test_a_derived_value_is_told_beside_the_release_it_rests_on(session: dv.Session, tmp_path: Path) -> None:
    release = session.release(BINS, dv.Dense("1/2", clamp=False))
    asked, many = release.range(1, 2), release.sum({"first": [0, 1], "last": [2, 3]})
    said = words(dv.report([release, asked, many], tmp_path / "told.html", ledger=session))
    assert isinstance(many, DerivedTable)
    for row in (asked, *many):
        assert sentence(row) in said
    assert "Total paid: ε 0.5" in said  # what is derived is paid for already, and counted once


def test_two_combined_answers_bring_both_of_their_releases_and_both_prices(session: dv.Session, tmp_path: Path) -> None:
    one, other = (session.release(BINS, dv.Dense("1/2", clamp=False), key=key) for key in ("one", "again"))
    together = dv.combine(one, other)
    said = words(dv.report([together, together.sum([1])], tmp_path / "both.html", ledger=session))
    assert together.sentence in said and sentence(together.sum([1])) in said and "Total paid: ε 1," in said


def test_a_derived_value_without_its_release_is_refused_and_writes_nothing(session: dv.Session, tmp_path: Path) -> None:
    """Its price would be missing in the total."""
    one, other = (session.release(BINS, dv.Dense("1/2"), key=key) for key in ("one", "again"))
    for items in ([one.sum([1])], one.sum([1]), [other, one.sum([1])], [one, dv.combine(one, other).sum([1])]):
        with pytest.raises(ParameterError, match="rests on|at least one release"):
            dv.report(items, tmp_path / "none.html")  # type: ignore[arg-type]
    assert not (tmp_path / "none.html").exists()
