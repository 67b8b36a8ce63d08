"""The two-sided geometric law: adds up, agrees with itself, and its quantiles are the least that hold."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpviz.errors import ParameterError
from dpviz.exact import Decay, Enclosure, exp_bounds, log_bounds
from dpviz.laws import geometric
from dpviz.laws.geometric import (
    TwoSidedGeometric,
    above_bounds,
    error_quantile,
    quantiles,
    share,
    short_bounds,
    simultaneous_quantile,
)

HALF = Decay.rational(Fraction(1, 2))
DECAYS = [
    HALF,
    Decay.rational(Fraction(20, 21)),
    Decay.exp(Fraction(1, 10)),
    Decay.exp(Fraction(3)),
    Decay.exp(Fraction(40)),
]
BETAS = [Fraction(1, 2), Fraction(1, 20), Fraction(1, 10**6), Fraction(999, 1000)]

decays = st.one_of(
    st.fractions(Fraction(1, 50), Fraction(49, 50), max_denominator=60).map(Decay.rational),
    st.fractions(Fraction(1, 30), Fraction(5), max_denominator=60).map(Decay.exp),
)
betas = st.fractions(Fraction(1, 10**5), Fraction(99, 100), max_denominator=10**5)


def inside(number: Fraction, enclosure: Enclosure) -> bool:
    return enclosure[0] <= number <= enclosure[1]


def is_narrow(enclosure: Enclosure) -> bool:
    return 0 <= enclosure[1] - enclosure[0] <= enclosure[1] / 2**100


@pytest.mark.parametrize("decay", DECAYS, ids=str)
def test_probabilities_add_up_to_the_tails(decay: Decay) -> None:
    law = TwoSidedGeometric(decay)
    for value in range(-30, 31):
        (low, high), (mass_low, mass_high) = law.cdf(value), law.pmf(value)
        before = law.cdf(value - 1)
        assert before[0] + mass_low <= high
        assert before[1] + mass_high >= low
        assert is_narrow((low, high))
        above = law.above(value)
        assert (1 - above[1], 1 - above[0]) == (low, high)
        assert law.above(-value - 1) == (low, high), "symmetric"


def test_rational_decays_give_exact_fractions() -> None:
    law = TwoSidedGeometric(HALF)
    assert [law.pmf(value)[0] for value in (0, 1, -3)] == [Fraction(1, 3), Fraction(1, 6), Fraction(1, 24)]
    assert law.above(0) == (Fraction(1, 3), Fraction(1, 3))
    assert law.above(-1) == (Fraction(2, 3), Fraction(2, 3))


@pytest.mark.parametrize("decay", DECAYS, ids=str)
def test_moments_are_sums_over_the_law(decay: Decay) -> None:
    law = TwoSidedGeometric(decay)
    reach = np.arange(-2500, 2501)
    mass = law.pmf_array(reach)
    assert float(law.variance()[0]) == pytest.approx(float((mass * reach**2).sum()), rel=1e-9)
    assert float(law.expected_size()[0]) == pytest.approx(float((mass * abs(reach)).sum()), rel=1e-9)
    assert is_narrow(law.variance())
    assert is_narrow(law.expected_size())
    tails = law.above_array(np.arange(0, 2500))
    for start, stop in ((0, None), (3, 17)):
        low, high = law.sum_above(start, stop)
        assert float(low) == pytest.approx(tails[start:stop].sum(), rel=1e-9) and is_narrow((low, high))
    assert law.sum_above(5, 5) == (0, 0)


@pytest.mark.parametrize("decay", DECAYS, ids=str)
def test_arrays_for_pictures_follow_the_exact_law(decay: Decay) -> None:
    law, values = TwoSidedGeometric(decay), np.arange(-60, 61)
    for value, mass, above in zip(values.tolist(), law.pmf_array(values), law.above_array(values), strict=True):
        assert mass == pytest.approx(float(law.pmf(value)[0]), rel=1e-12)
        assert above == pytest.approx(float(law.above(value)[0]), rel=1e-12)


@given(decays, betas, st.sampled_from([1, 2]))
def test_an_error_quantile_holds_and_one_less_does_not(decay: Decay, beta: Fraction, sides: int) -> None:
    law = TwoSidedGeometric(decay)
    a = error_quantile(decay, beta, sides)
    assert a >= 0
    assert sides * law.above(a, 300)[1] <= beta
    assert a == 0 or sides * law.above(a - 1, 300)[0] > beta
    assert sides == 2 or law.least_above(beta) == a


def test_ties_are_decided_exactly() -> None:
    """At ratio 1/2, Pr[Z > a] is 1 / (3 * 2**a): quantiles that meet beta exactly, and miss it by a hair."""
    hair = Fraction(1, 10**300)
    for a in (0, 1, 5, 100):
        tail = Fraction(1, 3 * 2**a)
        assert error_quantile(HALF, tail, 1) == a
        assert error_quantile(HALF, tail - hair, 1) == a + 1
        assert error_quantile(HALF, 2 * tail, 2) == a
        assert simultaneous_quantile(HALF, 1 - (1 - 2 * tail) ** 7 * (1 - tail) ** 3, 7, 3) == a
        assert simultaneous_quantile(HALF, 1 - (1 - 2 * tail) ** 7 * (1 - tail) ** 3 - hair, 7, 3) == a + 1
        assert simultaneous_quantile(HALF, 1 - (1 - tail) ** 3, 0, 3) == a
        assert quantiles(HALF, [1 - tail, 1 - tail + hair]) == [a, a + 1]
        assert quantiles(HALF, [tail, tail + hair]) == ([-a - 1, -a] if a else [-1, 0])


@given(decays, betas, st.integers(0, 50), st.integers(0, 50))
def test_a_simultaneous_quantile_holds_and_one_less_does_not(decay: Decay, beta: Fraction, two: int, one: int) -> None:
    law = TwoSidedGeometric(decay)
    a = simultaneous_quantile(decay, beta, two, one)

    def all_within(s: Fraction) -> Fraction:
        return (1 - 2 * s) ** two * (1 - s) ** one

    if two + one == 0:
        assert a == 0
    else:
        assert all_within(law.above(a, 300)[1]) >= 1 - beta
        assert a == 0 or all_within(law.above(a - 1, 300)[0]) < 1 - beta


def test_millions_of_bins_at_once() -> None:
    decay = Decay.exp(Fraction(1, 10))
    law, beta, bins = TwoSidedGeometric(decay), Fraction(1, 20), 10**7
    for two, one in ((bins, 0), (0, bins), (bins, 3), (5, bins)):
        a = simultaneous_quantile(decay, beta, two, one)
        chances = [
            two * np.log1p(-2 * float(law.above(at)[0])) + one * np.log1p(-float(law.above(at)[0])) for at in (a, a - 1)
        ]
        assert chances[0] >= np.log(0.95) > chances[1]


@given(decays, st.fractions(Fraction(1, 10**4), Fraction(9999, 10**4), max_denominator=10**4))
def test_a_quantile_of_the_noise_is_the_least_value_that_reaches_its_level(decay: Decay, level: Fraction) -> None:
    law = TwoSidedGeometric(decay)
    value = law.quantile(level)
    assert law.cdf(value, 300)[0] >= level
    assert law.cdf(value - 1, 300)[1] < level


def test_twenty_equally_likely_errors_are_symmetric() -> None:
    drawn = quantiles(Decay.exp(Fraction(1, 10)), [Fraction(2 * i - 1, 40) for i in range(1, 21)])
    assert drawn == sorted(drawn)
    assert drawn == [-value for value in reversed(drawn)]


def test_very_wide_and_very_narrow_noise_have_quantiles_too() -> None:
    assert error_quantile(Decay.exp(Fraction(1, 10**9)), Fraction(1, 20)) == 2995732274
    assert error_quantile(Decay.rational(Fraction(10**9, 10**9 + 1)), Fraction(1, 20)) == 2995732275
    assert error_quantile(Decay.exp(Fraction(1000)), Fraction(1, 20)) == 0
    assert simultaneous_quantile(Decay.exp(Fraction(10**6)), Fraction(1, 10**12), 10**9, 1) == 0


@given(st.fractions(Fraction(1, 1000), Fraction(999, 1000), max_denominator=1000), st.integers(1, 60))
def test_the_share_of_each_bin_is_enclosed(beta: Fraction, bins: int) -> None:
    low, high = share(beta, bins)
    assert (1 - low) ** bins >= 1 - beta >= (1 - high) ** bins
    assert is_narrow((low, high))


@pytest.mark.parametrize("decay", [Decay.exp(Fraction(1)), Decay.rational(Fraction(1, 3))])
def test_a_tail_below_any_level_is_enclosed_without_its_digits(decay: Decay) -> None:
    """At a cap of 2^40 nobody wants all digits of a tail: they would take hours and gigabytes."""
    low, high = short_bounds(decay, 1 << 40, 128)
    assert low == 0 < high < Fraction(1, 2**1400) and high.denominator.bit_length() < 4000
    assert short_bounds(decay, 500, 128) == above_bounds(decay, 500, 128) and above_bounds(decay, 500, 128)[0] > high


def test_a_tail_is_enclosed_ever_closer_however_small_it_is() -> None:
    """A threshold is compared with a delta that may be far below exp(-1000)."""
    for decay in (Decay.exp(Fraction(1)), Decay.exp(Fraction(7, 3))):
        low, high = above_bounds(decay, 5000, 256)
        assert 0 < low and high - low < low / 2**200


@pytest.mark.parametrize("beta", [Fraction(0), Fraction(1), Fraction(-1, 2), Fraction(3, 2)], ids=str)
def test_a_beta_outside_0_to_1_is_refused(beta: Fraction) -> None:
    for call in (lambda: error_quantile(HALF, beta), lambda: simultaneous_quantile(HALF, beta, 3)):
        with pytest.raises(ParameterError, match="strictly between 0 and 1"):
            call()
    with pytest.raises(ParameterError):
        simultaneous_quantile(HALF, Fraction(1, 2), -1)


@pytest.mark.parametrize(
    "decay",
    [Decay.exp(Fraction(1, 2**64 + 1)), Decay.rational(1 - Fraction(1, 2**65)), Decay.exp(Fraction(1, 10**3000))],
)
def test_quantiles_of_noise_too_flat_to_be_drawn_are_refused(decay: Decay) -> None:
    """Noise of the least decay that is taken has one candidate or two, so that nothing is looked for at length."""
    for asked in (
        lambda: error_quantile(decay, Fraction(1, 20)),
        lambda: quantiles(decay, [Fraction(1, 20)]),
        lambda: simultaneous_quantile(decay, Fraction(1, 20), 42),
    ):
        with pytest.raises(ParameterError, match=r"at least 2\^-64"):
            asked()
    assert error_quantile(Decay.exp(Fraction(1, 2**64)), Fraction(1, 20)).bit_length() == 66


@pytest.mark.parametrize("beta", [Fraction(1, 2**45), Fraction(1, 10**30), Fraction(1, 10**400), Fraction(1, 2**43)])
@pytest.mark.parametrize("two_sided, one_sided", [(1, 1), (65_530, 6), (3, 2**40)])
def test_the_share_of_a_bin_is_enclosed_however_small_the_level_is(
    beta: Fraction, two_sided: int, one_sided: int
) -> None:
    """A float does not hold 10^-400, and the interval of all bins of a release of little noise asks for such levels."""
    low, high = geometric._minus_log_share(beta, two_sided, one_sided)
    assert 0 < high - low < Fraction(1, 2**40)
    goal, fine = log_bounds(1 - beta, 4_000), Fraction(1, 10**900)
    assert geometric.log_all(exp_bounds(-high, 4_000)[0], two_sided, one_sided, 4_000)[0] >= goal[0] - fine
    assert geometric.log_all(exp_bounds(-low, 4_000)[1], two_sided, one_sided, 4_000)[1] <= goal[1] + fine
