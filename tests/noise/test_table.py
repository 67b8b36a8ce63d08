"""The table engine draws the law it was given: over its whole bit tree, at every boundary, on both ways."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Iterable
from fractions import Fraction
from itertools import accumulate

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpviz.exact import Decay
from dpviz.laws.geometric import TwoSidedGeometric
from dpviz.noise import table
from dpviz.noise.bits import TeachingBits
from dpviz.noise.fixed import power, powers
from dpviz.noise.geometric import BASE, Remainder, TwoSided
from dpviz.noise.table import PIECE, Law, Sampler, SamplingTable
from tests.noise.listed import Listed
from tests.noise.scripts import Walk, one_draw


class Oracle:
    """The law from the other side: its boundaries as exact numbers, or to 400 places, from `start` on."""

    def __init__(self, start: int, boundaries: Iterable[Fraction]) -> None:
        self.start = start
        self.boundaries = list(boundaries)
        self._places = [math.ceil(boundary * 2**400) for boundary in self.boundaries]

    def value(self, number: Fraction) -> int:
        """The least value with number < F(value)."""
        return self.start + bisect_right(self._places, math.floor(number * 2**400))

    def cdf(self, value: int) -> Fraction:
        return self.boundaries[value - self.start] if value >= self.start else Fraction(0)


def listed(law: Listed) -> Oracle:
    return Oracle(law.first, [law.exact(value) for value in range(law.first, law.last + 1)])


def geometric(decay: Decay, reach: int) -> Oracle:
    law = TwoSidedGeometric(decay)
    return Oracle(-reach, [law.cdf(value, 450)[0] for value in range(-reach, reach)])


def difference(decay: Decay, step: int) -> Oracle:
    """R - R', by multiplying out the two laws on 0..BASE-1."""
    weights = [int(decay.power(step * r, 600)[0] * 2**500) for r in range(BASE)]
    masses = np.convolve(np.array(weights, dtype=object), np.array(weights[::-1], dtype=object))
    return Oracle(1 - BASE, [Fraction(int(mass), sum(weights) ** 2) for mass in accumulate(masses)])


LISTED = Listed((3, 1, 0, 7, 65_000, 2, 10**9), -3)
GRID = Listed((1, 1, 2, 4, 8))
TENTH, WIDE = Decay.exp(Fraction(1, 20)), Decay.exp(Fraction(1, 2000))
THIRD, TINY = Decay.rational(Fraction(1, 3)), Decay.exp(Fraction(60))
CASES = [
    pytest.param(LISTED, listed(LISTED), id="a finite law with an impossible value"),
    pytest.param(GRID, listed(GRID), id="a law whose boundaries are ends of cells"),
    pytest.param(TwoSided(TENTH), geometric(TENTH, 1000), id="discrete Laplace"),
    pytest.param(TwoSided(THIRD), geometric(THIRD, 50), id="ratio 1/3"),
    pytest.param(TwoSided(TINY), geometric(TINY, 5), id="almost no noise"),
    pytest.param(Remainder(WIDE, 1), difference(WIDE, 1), id="the remainder of wide noise"),
]


@pytest.mark.parametrize(("law", "oracle"), CASES)
def test_every_word_gives_the_value_of_its_cell(law: Law, oracle: Oracle) -> None:
    """Both ends of all 65,536 cells: between them the value is fixed, or the boundaries below decide."""
    least = Sampler([SamplingTable(law)]).draw(1 << 16, Walk("least"))
    greatest = Sampler([SamplingTable(law)]).draw(1 << 16, Walk("greatest"))
    assert (np.diff(least) >= 0).all()
    assert (greatest >= least).all()
    assert (greatest[:-1] <= least[1:]).all()
    one_cell, hair = Fraction(1, 1 << 16), Fraction(1, 1 << 64)
    for value in np.unique(least).tolist():
        cells = np.flatnonzero(least == value)
        first, last = int(cells[0]), int(cells[-1])
        assert oracle.cdf(value - 1) < first * one_cell + hair
        assert last * one_cell < oracle.cdf(value)
    for word in [0, 0xFFFF, *np.flatnonzero(least != greatest).tolist()[:200]]:
        assert least[word] == oracle.value(word * one_cell + hair - Fraction(1, 1 << 300))
        assert greatest[word] == oracle.value((word + 1) * one_cell - hair)


@pytest.mark.parametrize("by_guide", [True, False])
@pytest.mark.parametrize(("law", "oracle"), CASES)
def test_the_value_changes_exactly_at_each_boundary(
    law: Law, oracle: Oracle, by_guide: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """2**-200 below F(z) the draw is z, 2**-200 above it is more: 64 bits do not tell, so bits are revealed."""
    if by_guide:
        monkeypatch.setattr(table, "FLAT_DRAWS", 0)
    sampler = Sampler([SamplingTable(law)])
    start, lower, _ = sampler.parts[0]._bounds
    hair = Fraction(1, 2**200)
    for value in range(start, start + len(lower)):
        boundary = oracle.cdf(value)
        for number in (boundary - hair, boundary + hair):
            if 0 <= number < 1:
                drawn = sampler.draw(1, one_draw(number, by_guide=by_guide))
                assert drawn.tolist() == [oracle.value(number)]


def test_boundaries_are_reached_by_draws() -> None:
    """The tests above walk through what they claim to: cells that decide, cells that do not, ties of 64 bits."""
    part = SamplingTable(TwoSided(TENTH))
    straddled = np.count_nonzero(part._guide == table._STRADDLED)
    assert 100 < straddled < 1000
    _, lower, upper = part._bounds
    assert (lower <= upper).all()
    boundary = TwoSidedGeometric(TENTH).cdf(3, 300)[0]
    for hair, left in ((2**60, 24), (2**100, 16), (2**200, 0)):
        script = one_draw(boundary + Fraction(1, hair), by_guide=False)
        Sampler([part]).draw(1, script)
        assert script.left == left


@given(st.integers(2**64, 2**256 - 2**64))
def test_both_ways_give_one_value_to_one_number(number: int) -> None:
    sampler = Sampler([SamplingTable(TwoSided(TENTH))])
    number_ = Fraction(number, 2**256)
    with pytest.MonkeyPatch.context() as patch:
        flat = sampler.draw(1, one_draw(number_, by_guide=False))
        patch.setattr(table, "FLAT_DRAWS", 0)
        assert sampler.draw(1, one_draw(number_, by_guide=True)) == flat


def test_noise_drawn_digit_by_digit_has_the_law_of_the_whole() -> None:
    """Pr[BASE * H + R = z] against Pr[Z = z], to 100 bits: at most two H fit each z."""
    head, rest = TwoSided(WIDE, BASE), Remainder(WIDE, 1)

    def mass(law: Law, value: int) -> Fraction:
        if (law.first is not None and value < law.first) or (law.last is not None and value > law.last):
            return Fraction(0)
        above = Fraction(1) if value == law.last else Fraction(law.cdf(value, 160)[0], 2**160)
        below = Fraction(0) if value == law.first else Fraction(law.cdf(value - 1, 160)[0], 2**160)
        return above - below

    exact = TwoSidedGeometric(WIDE)
    for z in [0, 1, -1, 255, 511, 512, 513, -512, -700, 5000, -40_000]:
        found = sum(mass(head, h) * mass(rest, z - BASE * h) for h in range(z // BASE - 1, z // BASE + 3))
        assert abs(found - exact.pmf(z)[0]) < Fraction(1, 2**100)


@given(st.fractions(Fraction(1, 10**6), Fraction(10**6, 10**6 + 1)), st.integers(0, 300), st.sampled_from([64, 192]))
def test_powers_are_enclosed(ratio: Fraction, times: int, fraction_bits: int) -> None:
    low, high = power(Decay.rational(ratio), times, fraction_bits)
    assert Fraction(low, 2**fraction_bits) <= ratio**times <= Fraction(high, 2**fraction_bits)
    assert high - low <= 3
    lows, width = powers(Decay.rational(ratio), 1, times + 1, fraction_bits)
    assert Fraction(lows[-1], 2**fraction_bits) <= ratio**times <= Fraction(lows[-1] + width, 2**fraction_bits)


def test_powers_too_small_to_write_are_enclosed_all_the_same() -> None:
    assert power(Decay.exp(Fraction(10**9)), 10**12, 192) == (0, 1)
    assert power(Decay.exp(Fraction(1, 3)), 10**6, 64) == (0, 1)


@pytest.mark.parametrize("size", [0, 1, 2, 41, 42, 1024, 1025, PIECE - 1, PIECE, PIECE + 1, 2 * PIECE + 7])
def test_every_bin_is_drawn_whatever_the_size(size: int) -> None:
    """A law that never gives 0: a bin left out would show."""
    sampler = Sampler([SamplingTable(Listed((1, 2, 3), 5))])
    drawn = sampler.draw(size, TeachingBits(1))
    assert drawn.shape == (size,)
    assert ((drawn >= 5) & (drawn <= 7)).all()
