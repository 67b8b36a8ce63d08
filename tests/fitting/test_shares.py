"""Which shares are rejected: against the definition of the test, share by share."""

from __future__ import annotations

import itertools
from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np
import pytest

from dpviz.exact import Decay
from dpviz.fitting.noises import Term
from dpviz.fitting.shares import Masses, Pair, shares, shares_of_pair
from dpviz.fitting.sums import NoiseSum

BETA = Fraction(1, 10)
HALF, QUARTER = Decay.rational(Fraction(1, 2)), Decay.rational(Fraction(1, 4))


def law(decay: Decay, count: int, reach: int = 40) -> dict[int, Fraction]:
    """The law of a sum, by convolution of Pr[Z = z] = (1 - y) / (1 + y) y**|z|."""
    assert decay.ratio is not None
    y = decay.ratio
    one = {z: (1 - y) / (1 + y) * y ** abs(z) for z in range(-reach, reach + 1)}
    total = {0: Fraction(1)}
    for _ in range(count):
        summed: dict[int, Fraction] = {}
        for a, p in total.items():
            for b, q in one.items():
                summed[a + b] = summed.get(a + b, Fraction(0)) + p * q
        total = summed
    return total


def chances(
    first: dict[int, Fraction], second: dict[int, Fraction], a: int, b: int, p: Fraction
) -> tuple[Fraction, ...]:
    """Of a statistic as large as the one seen, and of one as small."""
    seen = (1 - p) * a - p * b
    above = below = Fraction(0)
    for x, part in first.items():
        for y, other in second.items():
            drawn = (1 - p) * x - p * y
            above += part * other if drawn >= seen else 0
            below += part * other if drawn <= seen else 0
    return above, below


@pytest.mark.parametrize(("a", "b"), [(9, 20), (3, 30), (25, 25), (12, 1)])
def test_the_shares_between_the_ends_are_those_that_are_not_rejected(a: int, b: int) -> None:
    first, second = law(HALF, 1, 42), law(QUARTER, 1, 22)
    found = shares(NoiseSum.of([Term(HALF)]), NoiseSum.of([Term(QUARTER)]), a, b, BETA)
    assert found is not None and not found.empty and found.off <= Fraction(1, 1000)
    for place in range(0, 101, 10):
        p = Fraction(place, 100)
        rejected = min(chances(first, second, a, b, p)) <= BETA / 2
        assert rejected or found.low <= p <= found.high
    for end, inward in ((found.low, 1), (found.high, -1)):
        if 0 < end < 1:  # within `off` of the end a share is not rejected, so the end is no further out
            steps = [Fraction(2**at - 1, 1_000_000) for at in range(20) if 2**at - 1 <= found.off * 1_000_000]
            near = [end + inward * step for step in steps]
            assert any(min(chances(first, second, a, b, p)) > BETA / 2 for p in near)


def test_the_law_of_a_sum_is_that_of_its_convolution() -> None:
    exact, found = law(HALF, 3, 40), Masses.of(NoiseSum.of([Term(HALF, 1, 3)]))
    assert found is not None and found.error < 1e-10
    away = [abs(float(exact.get(found.least + at, Fraction(0))) - mass) for at, mass in enumerate(found.masses)]
    assert sum(away) < found.error + 1e-9  # the convolution leaves out 3 * 2**-40


def test_laws_that_are_too_wide_and_levels_that_are_too_small_are_left_out() -> None:
    wide = NoiseSum.of([Term(Decay.exp(Fraction(1, 10**7)))])
    assert shares(wide, wide, 10, 10, BETA) is None
    narrow = NoiseSum.of([Term(HALF)])
    assert shares(narrow, narrow, 10, 10, Fraction(1, 10**12)) is None
    assert Masses.of(NoiseSum.of([Term(HALF, positive=True)])) is None
    assert Masses.of(NoiseSum.of([Term(HALF, Fraction(1, 3)), Term(HALF, Fraction(1, 2))])) is None


def test_no_share_is_left_where_a_sum_is_far_below_zero() -> None:
    noise = NoiseSum.of([Term(HALF)])
    below, above = shares(noise, noise, -60, 100, BETA), shares(noise, noise, 100, -60, BETA)
    assert below is not None and below.empty and below.low == 0
    assert above is not None and above.empty and above.high == 1


# ---------------------------------------------------------------- sums that depend on each other

KINDS: dict[str, tuple[tuple[Fraction, Fraction], ...]] = {
    "fitted": tuple((Fraction(x, 3), Fraction(y, 3)) for x, y in ((1, 1), (2, -1), (-1, 2))),
    "combined": ((Fraction(2, 5), Fraction(0)), (Fraction(3, 5), Fraction(0)), (Fraction(0), Fraction(1))),
    "together": ((Fraction(1), Fraction(1)), (Fraction(1), Fraction(0)), (Fraction(0), Fraction(1, 2))),
}
"""How much each of three noises counts in the first sum and in the second: the leaves of a fitted tree of two, which
depend on each other, a mean of two answers beside a single one, and sums that err in one direction."""

REACH = 20
"""Noise of decay 1/4 is larger with chance 4**-20."""


def pair(weights: tuple[tuple[Fraction, Fraction], ...], a: Fraction | int, b: Fraction | int) -> Pair:
    return Pair(
        Fraction(a),
        Fraction(b),
        lambda x, y: NoiseSum.of([Term(QUARTER, x * one + y * other) for one, other in weights]),
    )


@cache
def drawn(kind: str) -> tuple[Any, Any, Any]:
    """Every X and Y in units that make them whole, and the chances of both together, by enumeration."""
    one = {z: float(Fraction(3, 5) * Fraction(1, 4) ** abs(z)) for z in range(-REACH, REACH + 1)}
    z = np.array(list(itertools.product(one, repeat=3)))
    chance = np.prod([[one[value] for value in column] for column in z.T.tolist()], axis=0)
    weights = np.array([[int(part * 30) for part in both] for both in KINDS[kind]])
    x, y = (z @ weights).T
    return x, y, chance


def smaller(kind: str, a: Fraction | int, b: Fraction | int, p: Fraction) -> float:
    """The smaller of both chances of the test: whole numbers decide what is as large as the statistic seen."""
    x, y, chance = drawn(kind)
    top, bottom = p.numerator, p.denominator
    statistic = (bottom - top) * x - top * y
    seen = int(30 * ((bottom - top) * Fraction(a) - top * Fraction(b)))
    return min(float(chance[statistic >= seen].sum()), float(chance[statistic <= seen].sum()))


ROUNDED = 1e-9
"""More than the floats of the enumeration and what it leaves out come to."""


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("a", "b"), [(6, 11), (1, 9), (10, 10), (40, 3), (-1, 12), (4, -1), (3, 3)])
def test_no_share_beyond_the_ends_is_one_that_a_dependent_sum_allows(kind: str, a: int, b: int) -> None:
    found = shares_of_pair(pair(KINDS[kind], a, b), BETA)
    assert found is not None and not found.empty and not found.undecided
    kept = [p for p in (Fraction(at, 250) for at in range(251)) if smaller(kind, a, b, p) > float(BETA) / 2 + ROUNDED]
    assert all(found.low <= p <= found.high for p in kept)
    for end, inward in ((found.low, 1), (found.high, -1)):  # and within `off` of an end some share is allowed
        near = [end + inward * found.off * at / 8 for at in range(9)]
        assert any(smaller(kind, a, b, p) > float(BETA) / 2 - ROUNDED for p in near)


@pytest.mark.parametrize("kind", ["fitted", "combined"])
def test_an_interval_for_a_larger_beta_leaves_out_shares_that_are_allowed(kind: str) -> None:
    """The near-wrong twin: the check above is one that an interval a seventh too narrow does not pass."""
    a, b = 30, 50
    right, wrong = (shares_of_pair(pair(KINDS[kind], a, b), level) for level in (BETA, BETA * Fraction(8, 5)))
    assert (
        right is not None and wrong is not None and wrong.high - wrong.low > (right.high - right.low) * Fraction(4, 5)
    )
    left_out = [p for p in (right.low + right.off, right.high - right.off) if not wrong.low <= p <= wrong.high]
    assert len(left_out) == 2 and all(smaller(kind, a, b, p) > float(BETA) / 2 + ROUNDED for p in left_out)
    assert right.off < (right.high - right.low) / 20


def test_a_fit_that_is_taken_for_two_independent_sums_leaves_out_shares_that_are_allowed() -> None:
    alone = [NoiseSum.of(Term(QUARTER, both[which]) for both in KINDS["fitted"]) for which in (0, 1)]
    apart = Pair(
        Fraction(30),
        Fraction(50),
        lambda x, y: NoiseSum.of(
            Term(one.noise, one.weight * weight, one.count)
            for noise, weight in zip(alone, (x, y), strict=True)
            for one in noise.noises.terms
        ),
    )
    wrong, right = shares_of_pair(apart, BETA), shares_of_pair(pair(KINDS["fitted"], 30, 50), BETA)
    assert wrong is not None and right is not None
    left_out = right.low + right.off
    assert left_out < wrong.low and smaller("fitted", 30, 50, left_out) > float(BETA) / 2 + ROUNDED


def test_independent_sums_have_the_shares_that_their_lattice_gives() -> None:
    """Two ways that share nothing but the test agree to what both may be off by."""
    noise = NoiseSum.of([Term(HALF)])
    for a, b in ((30, 70), (3, 70), (500, 40)):
        apart = Pair(Fraction(a), Fraction(b), lambda x, y: NoiseSum.of([Term(HALF, x), Term(HALF, y)]))
        one, other = shares(noise, noise, a, b, BETA), shares_of_pair(apart, BETA)
        assert one is not None and other is not None
        assert abs(one.low - other.low) <= one.off + other.off and abs(one.high - other.high) <= one.off + other.off


def test_a_whole_that_is_hardly_above_zero_leaves_all_shares_and_tiny_levels_are_left_out() -> None:
    near = shares_of_pair(pair(KINDS["together"], 1, 1), BETA)
    assert near is not None and near.undecided and (near.low, near.high) == (0, 1)
    assert shares_of_pair(pair(KINDS["fitted"], 30, 50), Fraction(1, 10**9)) is None
    assert shares_of_pair(Pair(Fraction(1), Fraction(1), lambda x, y: NoiseSum.of([])), BETA) is None
    one_sided = Pair(Fraction(9), Fraction(9), lambda x, y: NoiseSum.of([Term(HALF, x, positive=True), Term(HALF, y)]))
    assert shares_of_pair(one_sided, BETA) is None


def test_no_share_is_left_where_a_dependent_sum_is_far_below_zero() -> None:
    for a, b, nearest in ((-60, 100, 0), (100, -60, 1)):
        found = shares_of_pair(pair(KINDS["fitted"], a, b), BETA)
        assert found is not None and found.empty and found.low == nearest
