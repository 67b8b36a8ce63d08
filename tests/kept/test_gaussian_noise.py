"""Answers with Gaussian noise of the calibration before, in one series with answers of today's."""

from __future__ import annotations

import gzip
from fractions import Fraction
from pathlib import Path

import dpviz as dv
from dpviz.model.derived import Derived
from dpviz.privacy.discrete_gaussian import Shifts, rho_of
from dpviz.privacy.loss import ZCDP
from tests.kept.calls import GAUSSIAN, MONTHS, RAISED, UNITS, frame

BEFORE = Path(__file__).parent / "0.1.0-2026-11-27-tables"


def opened(folder: Path) -> dv.Session:
    path = folder / "people.ledger"
    path.write_bytes(gzip.decompress((BEFORE / "people.ledger.gz").read_bytes()))
    data = frame(BEFORE / "source.csv")
    return dv.Session(data, UNITS["people"], RAISED["people"], path, dataset="visits", person="Bo")


def test_an_answer_of_the_wider_noise_keeps_its_law_and_is_combined_with_one_of_today(tmp_path: Path) -> None:
    session, (call, *_) = opened(tmp_path), GAUSSIAN
    full = session.remaining.epsilon
    old = call(session, [])
    assert session.remaining.epsilon == full, "asked again, it is the stored answer"
    new = session.release(MONTHS, call.mechanism, key="today")
    assert full - session.remaining.epsilon == Fraction(1, 25)
    assert (old.terms.mechanism.revision, new.terms.mechanism.revision) == (1, 2)
    assert old.terms.mechanism.parameters == new.terms.mechanism.parameters
    wide, narrow = (release.terms.law.noise.variance for release in (old, new))
    moves = Shifts.of(UNITS["people"], 12)
    for release, variance in ((old, wide), (new, narrow)):
        rho = release.guarantee.zcdp_steps
        assert isinstance(rho, ZCDP) and rho.rho == rho_of(moves, variance), "each by its own noise"
    assert narrow < wide * Fraction(3, 4)
    trust = narrow / (wide + narrow)
    weighed = trust * old.values[3] + (1 - trust) * new.values[3]
    found = dv.combine(old, new).sum([4])
    assert isinstance(found, Derived)
    assert abs(found.value - weighed) <= abs(old.values[3] - new.values[3]) / Fraction(100), "by inverse variances"
    assert session.ledger.verify() and session.release(MONTHS, call.mechanism) == old
