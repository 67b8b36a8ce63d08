"""How far the other estimators of a sketch are off: few bits by all strings and all collisions, many by a bound."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from dpviz.fitting import unary
from dpviz.laws import alp_readers
from dpviz.laws.alp import Flips, Tails
from dpviz.laws.alp_readers import Chases, Reader, sides, signed_sides, signed_tails

READERS: tuple[Reader, ...] = ("likelihood", "posterior-median")
FLIPS = (Flips(Fraction(1, 5)), Flips(Fraction(13, 64), Fraction(1, 10)), Flips(Fraction(1, 12), Fraction(1, 3)))
REACHES = np.array([0.0, 0.4, 0.5, 1.0, 1.7, 2.0, 3.0, 3.5, 5.0, 8.0])


def strings(m: int) -> np.ndarray:
    return ((np.arange(1 << m)[:, None] >> np.arange(m)) & 1).astype(np.uint8)


def estimates(m: int, flips: Flips, reader: Reader) -> np.ndarray:
    estimator = unary.likelihood if reader == "likelihood" else unary.posterior_median
    return np.array([float(one) for one in estimator(strings(m), float(flips.p), float(flips.raised))])


def law(m: int, y: int, p: float, set_by_others: np.ndarray) -> np.ndarray:
    """The chance of each string, where others set each bit with a chance of its own."""
    ones = np.where(np.arange(m) < y, 1 - p, p + set_by_others * (1 - 2 * p))
    return np.where(strings(m) == 1, ones, 1 - ones).prod(axis=1)


@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize("flips", FLIPS)
def test_what_is_read_is_what_the_estimator_reads_and_never_falls_with_a_bit(flips: Flips, reader: Reader) -> None:
    for m in (1, 3, 8, 11):
        found = alp_readers.read(m, flips, reader)
        assert np.abs(found - estimates(m, flips, reader)).max() < 1e-9
        for bit in range(m):
            without = np.flatnonzero((np.arange(1 << m) >> bit) & 1 == 0)
            assert (found[without | 1 << bit] >= found[without] - 1e-9).all()


@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize("flips", FLIPS)
def test_few_bits_are_off_as_the_worst_of_all_collisions_says(flips: Flips, reader: Reader) -> None:
    """Others set each bit with chance 0 or q, in all patterns: the chance of an error is linear in each of them, so no
    chance between is worse. The worst is met, and a law that looks at no collisions, or at all of them, is not it."""
    m, p, q = 5, float(flips.p), float(flips.collisions)
    found, told = estimates(m, flips, reader), sides(m, flips, reader)
    above, below = told.above(REACHES), told.below(REACHES)
    twin = 0
    for y in range(m + 1):
        off = found - y
        exceeds, falls = off[:, None] > REACHES + 1e-9, -off[:, None] > REACHES + 1e-9
        patterns = [law(m, y, p, q * np.array(one)) for one in itertools.product((0, 1), repeat=m)]
        worst_above = np.max([one @ exceeds for one in patterns], axis=0)
        worst_below = np.max([one @ falls for one in patterns], axis=0)
        assert np.abs(above[y] - worst_above).max() < 1e-12 and np.abs(below[y] - worst_below).max() < 1e-12
        twin += bool((patterns[0] @ exceeds < worst_above - 1e-6).any())
        twin += bool((patterns[-1] @ falls < worst_below - 1e-6).any())
    assert twin >= 8 or q == 0
    assert (told.zero(REACHES) == above[0]).all() and (told.short(REACHES) == below[-1]).all()


LAWS: dict[str, tuple[Callable[[Flips, Reader], Any], bool]] = {
    "of one sign": (lambda flips, reader: sides(16, flips, reader), False),
    "of either sign": (lambda flips, reader: signed_sides(8, flips, reader), True),
}
"""Sixteen bits by the law of all strings, and whether others clear bits, too."""


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize("flips", [*FLIPS, Flips(Fraction(1, 4), Fraction(1, 5))])
def test_the_bound_for_many_bits_holds_for_sixteen_and_is_not_far_off(flips: Flips, reader: Reader, law: str) -> None:
    """Against all strings, for every value. From one bit on a third does not hold; nor does that of fewer
    collisions."""
    of, cleared = LAWS[law]
    exact, bound = of(flips, reader), Chases(flips, 16, reader, cleared=cleared)
    for one, other in ((exact.above(REACHES), bound.above(REACHES)), (exact.below(REACHES), bound.below(REACHES))):
        assert (one <= other + 1e-12).all()
        assert (one > other / 3).any(axis=0)[(REACHES >= 1) & (REACHES <= 3)].all()
        assert (np.diff(other, axis=1) <= 1e-15).all() and other.max() <= 1
    assert (exact.zero(REACHES) <= bound.zero(REACHES) + 1e-12).all()
    assert (exact.short(REACHES) <= bound.short(REACHES) + 1e-12).all()
    crowded = Flips(flips.p, Fraction(9, 20))
    assert (of(crowded, reader).above(REACHES) > bound.above(REACHES) + 1e-9).any()


@pytest.mark.parametrize("reader", READERS)
def test_walks_that_take_long_have_a_bound_that_falls_to_nothing(reader: Reader) -> None:
    slow = Chases(Flips(Fraction(9, 20)), 16, reader)
    assert (sides(16, slow.flips, reader).above(REACHES) <= slow.above(REACHES) + 1e-12).all()
    far = Chases(Flips(Fraction(9, 20)), 10**5, reader).zero(np.array([10.0, 100.0, 2000.0, 20_000.0]))
    assert (np.diff(far) <= 0).all() and far[-1] < 1e-8


@pytest.mark.parametrize("reader", READERS)
def test_half_widths_of_many_bits_are_those_of_long_strings(reader: Reader) -> None:
    """Of 100,000 drawn strings of 60 bits fewer than 5,700 are further off than what holds at 0.05: more have a chance
    below 1e-20, and a reach of less than half is passed by more than 5,700 with a chance above 1 - 1e-20."""
    flips, m, y, chance = Flips(Fraction(13, 64), Fraction(1, 10)), 60, 30, np.random.default_rng(5)
    reach = Tails(flips, m, sides(m, flips, reader)).within(0.05)
    ones = np.where(np.arange(m) < y, 1 - float(flips.p), float(flips.raised))
    rows = (chance.random((100_000, m)) < ones).astype(np.uint8)
    estimator = unary.likelihood if reader == "likelihood" else unary.posterior_median
    off = np.abs(np.array([float(one) for one in estimator(rows, float(flips.p), float(flips.raised))]) - y)
    assert (off > reach).sum() < 5700 < (off > 0.45 * reach).sum()


# ---------------------------------------------------------------- values of both signs


def signed_estimates(m: int, flips: Flips, reader: Reader) -> np.ndarray:
    estimator = unary.likelihood if reader == "likelihood" else unary.posterior_median
    return np.array([float(one) for one in estimator(strings(2 * m), float(flips.p), float(flips.raised), m)])


def signed_law(m: int, y: int, p: float, by_others: np.ndarray) -> np.ndarray:
    """The chance of each string of a number of 2m bits of which y are ones, where others turn each bit with a chance of
    its own: they clear the first m and set the last."""
    own, first = np.arange(2 * m) < y, np.arange(2 * m) < m
    ones = np.where(first, own * (1 - by_others), own + ~own * by_others)
    ones = ones * (1 - p) + (1 - ones) * p
    return np.where(strings(2 * m) == 1, ones, 1 - ones).prod(axis=1)


@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize("flips", FLIPS)
def test_few_bits_of_either_sign_are_off_as_the_worst_of_all_collisions_says(flips: Flips, reader: Reader) -> None:
    """All patterns of bits that others turn; the worst is met. That of bits which others only set is not it."""
    m, p, q = 3, float(flips.p), float(flips.collisions)
    found, told = signed_estimates(m, flips, reader), signed_sides(m, flips, reader)
    assert np.abs(alp_readers.read(2 * m, flips, reader, m) - found).max() < 1e-9
    above, below, twin = told.above(REACHES), told.below(REACHES), sides(2 * m, flips, reader)
    passed = False
    for y in range(2 * m + 1):
        off = found - y
        exceeds, falls = off[:, None] > REACHES + 1e-9, -off[:, None] > REACHES + 1e-9
        patterns = [signed_law(m, y, p, q * np.array(one)) for one in itertools.product((0, 1), repeat=2 * m)]
        worst_above = np.max([one @ exceeds for one in patterns], axis=0)
        worst_below = np.max([one @ falls for one in patterns], axis=0)
        assert np.abs(above[y] - worst_above).max() < 1e-12 and np.abs(below[y] - worst_below).max() < 1e-12
        passed |= bool((worst_below > twin.below(REACHES)[y] + 1e-6).any())
    assert passed or q == 0
    assert (told.zero(REACHES) == above[0]).all() and (told.short(REACHES) == below[-1]).all()


@pytest.mark.parametrize("reader", READERS)
def test_walks_over_both_halves_that_take_long_have_a_bound_that_falls_to_nothing(reader: Reader) -> None:
    flips = Flips(Fraction(9, 20), Fraction(1, 50))
    slow = Chases(flips, 16, reader, cleared=True)
    assert (signed_sides(8, flips, reader).above(REACHES) <= slow.above(REACHES) + 1e-12).all()
    far = Chases(flips, 10**5, reader, cleared=True).zero(np.array([10.0, 100.0, 2000.0, 30_000.0]))
    assert (np.diff(far) <= 0).all() and far[-1] < 1e-8


@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize("y", [-20, -3, 0, 25])
def test_half_widths_of_many_bits_of_either_sign_are_those_of_long_strings(reader: Reader, y: int) -> None:
    """Of 40,000 drawn numbers of 60 bits fewer than 2,440 are further off than what holds at 0.05: more have a chance
    below 1e-20."""
    flips, m, chance = Flips(Fraction(13, 64), Fraction(1, 10)), 30, np.random.default_rng(5)
    reach = signed_tails(flips, m, reader).within(0.05)
    p, raised = float(flips.p), float(flips.raised)
    own, first = np.arange(2 * m) < y + m, np.arange(2 * m) < m
    estimator = unary.likelihood if reader == "likelihood" else unary.posterior_median
    for ones in (
        np.where(own, 1 - p, np.where(first, p, raised)),
        np.where(own, np.where(first, 1 - raised, 1 - p), p),
    ):
        rows = (chance.random((40_000, 2 * m)) < ones).astype(np.uint8)
        off = np.abs(np.array([float(one) for one in estimator(rows, p, raised, m)]) - (y + m))
        assert (off > reach).sum() < 2440
