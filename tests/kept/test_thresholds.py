"""Answers behind thresholds of the calibration before, in one ledger with answers of today's."""

from __future__ import annotations

import gzip
from fractions import Fraction
from pathlib import Path

import pytest

import dpviz as dv
from dpviz.model.question import Question
from tests.kept.write_thresholds import ASKED, CITIES, GAUSSIAN, HERE, UNIT, opened

STATED = {
    "before": (1, "stability", 49),
    "after": (3, "stability-truncated", 42),
    "gaussian": (4, "stability-truncated", 42),
}
"""The revision of the first answer, and its law and threshold."""


def kept(name: str, folder: Path) -> dv.Session:
    path = folder / "kept.ledger"
    path.write_bytes(gzip.decompress((HERE / f"{name}.ledger.gz").read_bytes()))
    return opened(path)


@pytest.mark.parametrize("name", STATED)
def test_a_ledger_verifies_and_gives_its_answers_free_with_the_law_that_they_were_drawn_from(
    name: str, tmp_path: Path
) -> None:
    session = kept(name, tmp_path)
    assert session.ledger.verify()
    left, (revision, law, threshold) = session.remaining.epsilon, STATED[name]
    found = [session.release(CITIES, mechanism) for mechanism in ASKED]
    assert session.remaining.epsilon == left and [one.number for one in found] == [1, 2, 3, 4, 5]
    first = found[0].terms
    assert (first.mechanism.revision, first.law.name) == (revision, law)
    assert first.law.threshold == threshold  # type: ignore[attr-defined]
    assert all(value > threshold for value in found[0].values)
    again = dv.load(saved(found[0], tmp_path))
    assert again.terms.law == first.law
    assert again.terms.error.one_bin(Fraction(1, 20)) == first.error.one_bin(Fraction(1, 20))


def saved(release: dv.Release, folder: Path) -> Path:
    release.save(folder / "one.json")
    return folder / "one.json"


def test_an_earlier_ledger_goes_on_with_lower_thresholds_at_the_same_price(tmp_path: Path) -> None:
    session = kept("before", tmp_path)
    left, paid = session.remaining.epsilon, Fraction(0)
    for mechanism, whole in zip(ASKED[:4], (49, 56, 27, 88), strict=True):
        old = session.release(CITIES, mechanism)
        new = session.release(CITIES, mechanism, key="today")
        paid += new.guarantee.epsilon
        assert old.guarantee.loss == new.guarantee.loss and old.terms.mechanism.revision == 1
        least = [getattr(one.terms.law, "threshold", None) or one.terms.law.cut.least for one in (old, new)]  # type: ignore[attr-defined]
        assert least[0] == whole > least[1]
    assert left - session.remaining.epsilon == paid
    assert session.ledger.verify()


def test_a_plan_of_today_has_another_law_than_the_stored_answer(tmp_path: Path) -> None:
    """The twin: read by today's calibration, the stored answer would be of another law."""
    session = kept("before", tmp_path)
    stored = session.release(CITIES, ASKED[0]).terms.law
    assert ASKED[0].bind(Question.of(CITIES), UNIT).law != stored


def test_gaussian_answers_are_read_back_with_their_law(tmp_path: Path) -> None:
    session = kept("gaussian", tmp_path)
    left = session.remaining.epsilon
    found = [session.release(CITIES, mechanism) for mechanism in GAUSSIAN]
    assert session.remaining.epsilon == left and [one.number for one in found] == [6, 7]
    assert [one.terms.law.name for one in found] == ["stability-gaussian", "threshold-gaussian"]
    assert [one.terms.law for one in found] == [mechanism.bind(Question.of(CITIES), UNIT).law for mechanism in GAUSSIAN]
    for one in found:
        again = dv.load(saved(one, tmp_path))
        assert again.terms.law == one.terms.law
        assert again.terms.error.one_bin(Fraction(1, 20)) == one.error.one_bin(Fraction(1, 20))
