"""The law of one clamped count, added up bin by bin."""

from __future__ import annotations

from fractions import Fraction
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpviz.errors import ParameterError
from dpviz.exact import Decay
from dpviz.laws.clamped import Clamped
from dpviz.laws.finite import FastSampleLaw, Truncated, geosample_law
from dpviz.laws.geometric import TwoSidedGeometric

NOISE = TwoSidedGeometric(Decay.rational(Fraction(3, 4)))
RANGES = [(0, 0), (0, 1), (0, 9), (-3, 5)]
CLAMPED = [(Clamped(noise, low, high), low, high) for noise in (NOISE, Truncated(NOISE, 4)) for low, high in RANGES]


def masses(law: Clamped, count: int, low: int, high: int) -> dict[int, Fraction]:
    """By pushing every noise value through the clamp, far enough out for what is left to lie beyond it."""
    found = dict.fromkeys(range(low, high + 1), Fraction(0))
    reach = high - low + 1
    for z in range(-reach, reach + 1):
        found[min(high, max(low, count + z))] += law.noise.pmf(z)[0]
    found[high] += law.noise.above(reach)[0]
    found[low] += law.noise.above(reach)[0]
    return found


@pytest.mark.parametrize(("law", "low", "high"), CLAMPED)
def test_a_clamped_law_is_the_noise_pushed_through_the_clamp(law: Clamped, low: int, high: int) -> None:
    for count in range(low, high + 1):
        exact = masses(law, count, low, high)
        assert sum(exact.values()) == 1
        assert {value: law.pmf(count, value)[0] for value in exact} == exact
        assert law.pmf(count, low - 1)[1] == law.pmf(count, high + 1)[1] == 0
        for value in range(low - 1, high + 2):
            below = sum((mass for at, mass in exact.items() if at <= value), Fraction(0))
            assert law.cdf(count, value) == (below, below)
            assert law.chance_above(count, value) == pytest.approx(float(1 - below), abs=1e-15)
        errors = {abs(value - count): Fraction(0) for value in exact}
        for value, mass in exact.items():
            errors[abs(value - count)] += mass
        for a in range(high - low + 2):
            beyond = sum((mass for error, mass in errors.items() if error > a), Fraction(0))
            assert law.error_tail(count, a) == (beyond, beyond)
        mean = sum(value * mass for value, mass in exact.items())
        size = sum(error * mass for error, mass in errors.items())
        assert law.bias(count) == (mean - count, mean - count) and law.expected_error(count) == (size, size)


@given(
    st.integers(0, 30), st.integers(0, 30), st.fractions(Fraction(1, 1000), Fraction(999, 1000), max_denominator=1000)
)
def test_an_error_quantile_is_the_least_that_holds(high: int, count: int, beta: Fraction) -> None:
    count = min(count, high)
    for noise, top in product((NOISE, Truncated(NOISE, 4)), (high, None)):
        law = Clamped(noise, 0, top)
        a = law.error_quantile(count, beta)
        assert law.error_tail(count, a)[1] <= beta
        assert a == 0 or law.error_tail(count, a - 1)[0] > beta


def test_without_a_clamp_both_sides_are_open_and_there_is_no_bias() -> None:
    law = Clamped(NOISE)
    assert law.open_sides(5, 10**9) == 2
    assert law.bias(5) == (0, 0)
    assert law.error_quantile(5, Fraction(1, 20)) == Clamped(NOISE, -(10**6), 10**6).error_quantile(5, Fraction(1, 20))
    for open_side, far_away in (
        (Clamped(NOISE, 0, None), Clamped(NOISE, 0, 10**4)),
        (Clamped(NOISE, None, 9), Clamped(NOISE, -(10**4), 9)),
    ):
        (low, high), (least, most) = open_side.bias(3), far_away.bias(3)
        assert max(abs(low - most), abs(high - least)) < Fraction(1, 10**20)


def test_an_empty_bin_is_pushed_up_by_the_clamp() -> None:
    """The paper's closed form: p q / ((p + q) (p - q)) * (1 - (q/p)**n)."""
    p, q, n = 33, 32, 100
    expected = Fraction(p * q, (p + q) * (p - q)) * (1 - Fraction(q, p) ** n)
    assert geosample_law(n, p, q).bias(0) == (expected, expected)
    low, high = geosample_law(10**6, p, q).bias(0)  # so many digits that the sum is enclosed
    closed = Fraction(p * q, (p + q) * (p - q))
    assert low <= closed <= high + Fraction(1, 10**100) and high - low < Fraction(1, 10**30)


FAST = [
    FastSampleLaw(n, p, q, g, t) for n in (1, 4, 9) for p, q in ((2, 1), (5, 4)) for g in (2, 50) for t in (1, 3, 12)
]


@pytest.mark.parametrize("law", FAST, ids=str)
def test_fastsample_is_a_mixture_of_truncated_noise_and_a_uniform_value(law: FastSampleLaw) -> None:
    noise, n = TwoSidedGeometric(Decay.rational(Fraction(law.q, law.p))), law.n
    for count in range(n + 1):
        exact = dict.fromkeys(range(n + 1), Fraction(1, law.g * (n + 1)))
        for z in range(-law.t, law.t + 1):
            mass = noise.pmf(z)[0] + (2 * noise.above(law.t)[0] if z == 0 else 0)
            exact[min(n, max(0, count + z))] += (1 - Fraction(1, law.g)) * mass
        assert sum(exact.values()) == 1
        assert {value: law.pmf(count, value) for value in exact} == exact
        assert law.pmf(count, -1) == law.pmf(count, n + 1) == 0
        for value in range(-1, n + 2):
            assert law.cdf(count, value) == sum(mass for at, mass in exact.items() if at <= value)
        for a in range(n + 1):
            assert law.error_tail(count, a) == sum(m for at, m in exact.items() if abs(at - count) > a)
        bias = sum((value - count) * mass for value, mass in exact.items())
        assert law.bias(count) == (bias, bias)
        for value in range(-1, n + 2):
            assert law.chance_above(count, value) == pytest.approx(float(1 - law.cdf(count, value)), abs=1e-15)
        error = sum(abs(value - count) * mass for value, mass in exact.items())
        assert law.expected_error(count) == (error, error)


@pytest.mark.parametrize("law", FAST, ids=str)
def test_fastsample_quantiles_are_the_least_that_hold_for_every_count(law: FastSampleLaw) -> None:
    for beta in (Fraction(1, 2), Fraction(1, 10), Fraction(1, 100), Fraction(1, 10**5)):
        least = [next(a for a in range(law.n + 1) if law.error_tail(count, a) <= beta) for count in range(law.n + 1)]
        assert [law.error_quantile(count, beta) for count in range(law.n + 1)] == least
        assert law.worst_quantile(beta) == max(least)
        assert law.edge_quantile(beta) == least[0]
        worst = [max(law.error_tail(count, a) for count in range(law.n + 1)) for a in range(law.n + 1)]
        for bins in (2, 42):
            joint = next(a for a in range(law.n + 1) if (1 - worst[a]) ** bins >= 1 - beta)
            assert law.worst_quantile_of(bins, beta) == joint


def test_below_gamma_the_uniform_values_decide() -> None:
    """At beta of about gamma and less, quantiles jump from the noise to the range of counts."""
    law = FastSampleLaw(10**6, 21, 20, 2**30, 2000)
    assert law.worst_quantile(Fraction(1, 2**29)) < 1000
    assert law.worst_quantile(Fraction(1, 2**31)) == 500_000


@pytest.mark.parametrize(("low", "high", "count"), [(0, 5, 6), (0, 5, -1), (None, 5, 6), (0, None, -1)])
def test_a_true_count_outside_the_clamp_is_refused(low: int | None, high: int | None, count: int) -> None:
    with pytest.raises(ParameterError, match="true count") as caught:
        Clamped(NOISE, low, high).pmf(count, 3)
    assert caught.value.value == str(count)


def test_a_reversed_clamp_is_refused() -> None:
    with pytest.raises(ParameterError, match="low end"):
        Clamped(NOISE, 5, 4)
