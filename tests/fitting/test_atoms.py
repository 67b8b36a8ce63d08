"""Sums of noises that are nearly always 0, as the list of their values: against convolution, term by term."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import pytest

from dpviz.exact import Decay
from dpviz.fitting import atoms, shares
from dpviz.fitting.atoms import Atoms
from dpviz.fitting.inversion import Inversion
from dpviz.fitting.noises import Noises, Term
from dpviz.fitting.shares import Pair, shares_of_pair
from dpviz.fitting.sums import NoiseSum
from dpviz.laws.gaussian import DiscreteGaussian

RARE, SELDOM = Decay.rational(Fraction(1, 1000)), Decay.rational(Fraction(1, 100))
TERMS = ((RARE, Fraction(1), 3), (RARE, Fraction(2, 7), 1), (SELDOM, Fraction(5, 3), 1))


def tails() -> Iterator[tuple[Fraction, Fraction]]:
    """Every value of up to seven units of noise each, and the chance of more than it."""
    law = {Fraction(0): Fraction(1)}
    for decay, weight, count in TERMS:
        y = decay.ratio
        assert y is not None
        for _ in range(count):
            summed: dict[Fraction, Fraction] = {}
            for (value, chance), z in itertools.product(law.items(), range(-7, 8)):
                place = value + z * weight
                summed[place] = summed.get(place, Fraction(0)) + chance * (1 - y) / (1 + y) * y ** abs(z)
            law = {value: chance for value, chance in summed.items() if chance > Fraction(1, 10**17)}
    above = Fraction(0)
    for value in sorted(law, reverse=True):
        yield value, above
        above += law[value]


def found(shift: Fraction = Fraction(0)) -> Atoms:
    law = Atoms.of(Noises.of(Term(decay, weight + shift, count) for decay, weight, count in TERMS))
    assert law is not None
    return law


def holds(law: Atoms) -> bool:
    """Whether every tail is enclosed, just above its value, where floats lie on either side of it."""
    ends = [(law.above(float(value) + 1e-9), float(above)) for value, above in tails()]
    return all(low <= above <= high and high - low < 1e-10 for (low, high), above in ends)


def test_every_tail_is_enclosed() -> None:
    assert holds(found()) and len(list(tails())) > 100


def test_weights_that_are_off_by_a_hundredth_are_caught() -> None:
    assert not holds(found(Fraction(1, 100)))


def test_what_is_left_out_is_part_of_the_error(monkeypatch: pytest.MonkeyPatch) -> None:
    """With a hundred times fewer values the enclosure is wider, and as true."""
    fine = found()
    monkeypatch.setattr(atoms, "SMALL", 1e-6)
    coarse = found()
    assert len(coarse.values) < len(fine.values) / 2 and coarse.error > 100 * fine.error
    for value, above in tails():
        low, high = coarse.above(float(value) + 1e-9)
        assert low <= above <= high


@pytest.mark.parametrize("noise", [Decay.exp(Fraction(13)), DiscreteGaussian(Fraction(1, 30))], ids=["exp", "gaussian"])
def test_both_ways_to_a_tail_agree(noise: Any) -> None:
    """The transform, where it is still looked at in no more than a million points, and the list."""
    noises = Noises.of([Term(noise, Fraction(1), 6), Term(noise, Fraction(5, 7), 4)])
    listed, inverted = Atoms.of(noises), Inversion.of(noises)
    assert listed is not None
    for t in (-0.9, -0.1, 0.1, 0.6, 0.85, 1.5, 2.2):
        (low, high), (least, most) = listed.above(t), inverted.above(t)
        assert low <= most and least <= high and high - low < 1e-10


def test_noise_that_is_often_something_is_left_to_its_transform() -> None:
    assert Atoms.of(Noises.of([Term(Decay.exp(Fraction(1)), 1, 3)])) is None
    assert Atoms.of(Noises.of([Term(RARE, 1, 3, positive=True)])) is None


def pair(decay: Decay) -> Pair:
    """Two sums that have a noise in common, as cells of a fitted table have."""

    def law(x: Fraction, y: Fraction) -> NoiseSum:
        return NoiseSum.of([Term(decay, x), Term(decay, y), Term(decay, (x + y) / 3, 4)])

    return Pair(Fraction(400), Fraction(603), law)


def test_shares_of_narrow_noise_take_no_transform_and_hold_the_ratio(monkeypatch: pytest.MonkeyPatch) -> None:
    """At a step of 30 a transform would have some 10**8 points."""

    def refused(noises: Noises) -> Inversion:
        raise AssertionError("a transform was inverted")

    monkeypatch.setattr(shares.Inversion, "of", refused)
    result = shares_of_pair(pair(Decay.exp(Fraction(30))), Fraction(1, 20))
    assert result is not None and not result.empty and result.off <= Fraction(3, 10**6)
    assert result.low <= Fraction(400, 1003) <= result.high <= result.low + Fraction(3, 10**6)


def test_shares_by_the_list_and_by_the_transform_enclose_one_another(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each end is at most `off` too far out, so two ways may differ by no more; a share off by a thousandth would."""
    one = pair(Decay.exp(Fraction(8)))
    listed = shares_of_pair(one, Fraction(1, 1000))
    monkeypatch.setattr(atoms, "NARROW", 0.0)
    inverted = shares_of_pair(one, Fraction(1, 1000))
    assert listed is not None and inverted is not None
    off = max(listed.off, inverted.off)
    assert abs(listed.low - inverted.low) <= off and abs(listed.high - inverted.high) <= off < Fraction(1, 1000)
