"""Which shares are rejected: against the definition of the test, share by share."""

from __future__ import annotations

from fractions import Fraction

import pytest

from dpviz.exact import Decay
from dpviz.fitting.noises import Term
from dpviz.fitting.shares import Masses, shares
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
