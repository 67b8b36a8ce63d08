"""Discrete Gaussian noise against its law, in every bin; the law against sums and integrals of its own."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

from dpviz.errors import ParameterError
from dpviz.exact import exp_bounds
from dpviz.laws import gaussian as laws
from dpviz.laws.gaussian import DiscreteGaussian, zcdp
from dpviz.noise import gaussian
from dpviz.noise.bits import TeachingBits
from dpviz.noise.gaussian import GaussianLaw, Rejection, discrete_gaussian
from dpviz.noise.table import Sampler, SamplingTable
from tests.noise.listed import Listed
from tests.noise.statistics import FALSE_ALARM, ends_folded, histogram, p_value, power

DRAWS = 2_000_000
VARIANCES = {"1/9": Fraction(1, 9), "1": Fraction(1), "31/3": Fraction(31, 3), "90,000, by rejection": Fraction(90_000)}


def reach(variance: Fraction) -> int:
    return int(8 * math.sqrt(variance)) + 2


def law_on(variance: Fraction, last: int) -> NDArray[np.float64]:
    law = DiscreteGaussian(variance)
    beyond = float(law.above(last)[1])
    return ends_folded(law.pmf_array(np.arange(-last, last + 1)), beyond, beyond)


@pytest.mark.parametrize("variance", VARIANCES.values(), ids=VARIANCES)
def test_draws_follow_the_law_in_every_bin(variance: Fraction) -> None:
    last = reach(variance)
    drawn = discrete_gaussian(variance).draw(DRAWS, TeachingBits(21))
    assert p_value(histogram(drawn, -last, last), law_on(variance, last)) > FALSE_ALARM


def test_a_small_vector_follows_the_law_at_every_place() -> None:
    variance, bits = Fraction(4), TeachingBits(22)
    rows = np.array([discrete_gaussian(variance).draw(20, bits) for _ in range(4000)])
    last = reach(variance)
    for column in range(20):
        assert p_value(histogram(rows[:, column], -last, last), law_on(variance, last)) > FALSE_ALARM / 20


@pytest.mark.parametrize("variance", [Fraction(31, 3), Fraction(90_000)], ids=["table", "rejection"])
@pytest.mark.parametrize("factor", [Fraction(98, 100), Fraction(102, 100)], ids=["narrower", "wider"])
def test_a_standard_deviation_wrong_by_one_percent_is_rejected(variance: Fraction, factor: Fraction) -> None:
    """Refused with a probability of at least 0.999, by the same engine and the same test."""
    last = reach(variance)
    starts = np.arange(0, 2 * last + 1, max(1, last // 100))  # many bins of little use cost power

    def joined(row: NDArray) -> NDArray:
        return np.add.reduceat(row, starts)

    law, twin = joined(law_on(variance, last)), joined(law_on(variance * factor, last))
    assert power(DRAWS, twin, law) > 0.999
    drawn = discrete_gaussian(variance * factor).draw(DRAWS, TeachingBits(23))
    assert p_value(joined(histogram(drawn, -last, last)), law) < FALSE_ALARM
    right = discrete_gaussian(variance).draw(DRAWS, TeachingBits(23))
    assert p_value(joined(histogram(right, -last, last)), law) > FALSE_ALARM


def test_one_draw_in_a_hundred_shifted_by_one_is_rejected() -> None:
    last = reach(Fraction(4))
    law = law_on(Fraction(4), last)
    twin = np.roll(law, 1) / 100 + law * 0.99
    assert power(5 * DRAWS, twin, law) > 0.999
    seen = histogram(
        Sampler([SamplingTable(Listed(tuple(int(mass * 2**100) for mass in twin.tolist()), -last))]).draw(
            5 * DRAWS, TeachingBits(24)
        ),
        -last,
        last,
    )
    assert p_value(seen, law) < FALSE_ALARM


@pytest.mark.parametrize("variance", [Fraction(1, 1000), Fraction(1, 9), Fraction(7, 2), Fraction(400)], ids=str)
def test_boundaries_of_the_table_enclose_the_law(variance: Fraction) -> None:
    table, law = GaussianLaw(variance), DiscreteGaussian(variance)
    start, lows, width = table.sweep(192)
    assert 0 < width < 2**64 and lows == sorted(lows)
    one = 1 << 192
    for i, low in list(enumerate(lows))[:: 1 + len(lows) // 40]:
        below, above = law.cdf(start + i, 256)
        assert low <= above * one and below * one <= low + width
        for places in (64, 128, 320):
            least, most = table.cdf(start + i, places)
            tight = law.cdf(start + i, 400)
            assert least <= tight[1] * 2**places and tight[0] * 2**places <= most and most - least <= 2
    assert law.cdf(start, 256)[1] < Fraction(1, 2**64) and law.above(start + len(lows), 256)[0] < Fraction(1, 2**64)
    far = start - 10**6
    assert table.cdf(far, 64)[0] == 0 and table.cdf(-far, 64)[1] == 1 << 64


def test_rejection_keeps_each_number_with_the_chance_that_makes_the_law() -> None:
    """Laplace's weight times the chance is proportional to the Gaussian's, at every size, to 60 digits."""
    rejection = Rejection(Fraction(90_001))
    ratios = []
    for size in (0, 1, 17, 299, 300, 301, 1500, 4000):
        low, high = rejection.chance(size, 300)
        laplace = exp_bounds(Fraction(-size, rejection.scale), 300)
        target = exp_bounds(Fraction(-(size**2), 2 * 90_001), 300)
        ratios.append((low * laplace[0] / target[1], high * laplace[1] / target[0]))
    for (low, high), (other_low, other_high) in itertools.combinations(ratios, 2):
        assert low <= other_high and other_low <= high
        assert abs(low / other_low - 1) < Fraction(1, 10**60)


def test_coins_that_floats_cannot_decide_come_out_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    """With all coins decided by intervals the draws are the same wherever no further bits were needed."""
    rejection = Rejection(Fraction(90_000))
    sizes = np.arange(0, 1200, 3)
    by_floats = rejection._keeps(sizes, TeachingBits(25))
    monkeypatch.setattr(gaussian, "SLACK", 2.0)
    assert (rejection._keeps(sizes, TeachingBits(25)) == by_floats).all()
    assert by_floats.any() and not by_floats.all()


@pytest.mark.parametrize("variance", [Fraction(1, 9), Fraction(1), Fraction(50), Fraction(10**6)], ids=str)
def test_the_law_adds_up_and_its_tails_are_sums_of_its_weights(variance: Fraction) -> None:
    law = DiscreteGaussian(variance)
    last = min(reach(variance), 40)
    low, high = law.above(last)
    for value in range(last, -1, -1):
        below, above = law.pmf(value)
        low, high = low + below, high + above
        least, most = law.above(value - 1)
        assert low <= most and least <= high and most - least < Fraction(1, 10**30)
    assert low + law.above(0)[0] <= 1 <= high + law.above(0)[1]


def test_the_sum_of_all_weights_by_poisson_is_the_sum() -> None:
    for variance in (Fraction(1), Fraction(5, 4), Fraction(30)):
        low, high = laws._all(variance, 200)
        added = sum(exp_bounds(-Fraction(z * z) / (2 * variance), 240)[1] for z in range(-200, 201))
        assert low < added < high * (1 + Fraction(1, 10**50)) and high / low - 1 < Fraction(1, 10**35)


@pytest.mark.parametrize("variance", [Fraction(2**20 + 1), Fraction(10**12)], ids=str)
def test_integrals_enclose_what_is_not_added_up(variance: Fraction, monkeypatch: pytest.MonkeyPatch) -> None:
    law, sd = DiscreteGaussian(variance), math.sqrt(variance)
    for value in (0, int(sd), int(2 * sd), int(3 * sd), int(6 * sd)):
        low, high = law.above(value)
        assert low < high and float(low) <= stats.norm.sf(value / sd) * (1 + 1e-9)
        assert float(high) >= stats.norm.sf((value + 1) / sd) * (1 - 1e-9)
    if variance < 2**21:
        integrals = [law.above(value) for value in (0, 1500, 2500, 5000)]
        monkeypatch.setattr(laws, "MOST_ADDED", 1 << 12)
        for (low, high), value in zip(integrals, (0, 1500, 2500, 5000), strict=True):
            exact = law.above(value)
            assert low <= exact[0] and exact[1] <= high


@pytest.mark.parametrize("variance", [Fraction(1, 9), Fraction(3), Fraction(100), Fraction(90_000)], ids=str)
@pytest.mark.parametrize("beta", [Fraction(1, 2), Fraction(1, 20), Fraction(1, 10**6)], ids=str)
def test_quantiles_are_the_least(variance: Fraction, beta: Fraction) -> None:
    law = DiscreteGaussian(variance)
    a = law.error_quantile(beta)
    assert 2 * law.above(a)[1] <= beta
    assert a == 0 or 2 * law.above(a - 1)[0] > beta
    assert law.simultaneous_quantile(beta, 10) == law.error_quantile(beta / 10)


def test_quantiles_of_wide_noise_are_within_one() -> None:
    law = DiscreteGaussian(Fraction(10**12))
    wanted = stats.norm.isf(0.025) * 10**6
    assert wanted - 1 <= law.error_quantile(Fraction(1, 20)) <= wanted + 1


def divergence(variance: Fraction, shift: int, alpha: float) -> float:
    """Renyi's divergence of order alpha between the law and itself moved by `shift`, by its definition."""
    values = np.arange(-4000, 4001, dtype=float)
    p, q = -(values**2) / (2 * float(variance)), -((values - shift) ** 2) / (2 * float(variance))
    terms = alpha * p + (1 - alpha) * q
    top = terms.max()
    total = math.log(np.exp(terms - top).sum()) + top
    return (total - math.log(np.exp(p).sum())) / (alpha - 1)


@pytest.mark.parametrize("variance", [Fraction(1, 4), Fraction(1), Fraction(25)], ids=str)
def test_rho_is_never_passed_and_is_met(variance: Fraction) -> None:
    """Divergence of every order is at most alpha * rho, is met at whole alpha * shift (Poisson's sum is then the same),
    and a variance one part in a hundred too small is caught."""
    for shift in (1, 2, 3):
        rho = float(zcdp(Fraction(shift * shift), variance))
        ratios = [divergence(variance, shift, alpha) / (alpha * rho) for alpha in (1.1, 1.5, 2, 3, 7.5, 20)]
        assert max(ratios) <= 1 + 1e-9
        assert divergence(variance, shift, 2) / (2 * rho) == pytest.approx(1, abs=1e-9)
        assert divergence(variance * Fraction(99, 100), shift, 2) > 2 * rho * 1.009


def test_what_is_no_variance_is_refused() -> None:
    for wrong in (Fraction(0), Fraction(-1), Fraction(2**80 + 1)):
        with pytest.raises(ParameterError):
            discrete_gaussian(wrong)
    with pytest.raises(ParameterError):
        DiscreteGaussian(Fraction(0))
    with pytest.raises(ParameterError):
        zcdp(Fraction(-1), Fraction(1))


def test_the_spread_of_small_noise_is_below_its_parameter() -> None:
    assert DiscreteGaussian(Fraction(1, 9)).spread() < 1 / 3
    assert DiscreteGaussian(Fraction(100)).spread() == pytest.approx(10)


@pytest.mark.parametrize(("two_sided", "one_sided"), [(0, 3), (3, 0), (2, 2)])
def test_a_level_that_floats_take_for_zero_has_its_quantile_too(two_sided: int, one_sided: int) -> None:
    law, beta = DiscreteGaussian(Fraction(4)), Fraction(1, 10**400)
    found = law.joint_quantile(beta, two_sided, one_sided)
    assert law.holds(found, beta, two_sided, one_sided) and law.is_least(found, beta, two_sided, one_sided)


@pytest.mark.parametrize("variance", [Fraction(laws.MOST_ADDED**2 + 1), Fraction(7 * laws.MOST_ADDED**2, 3)])
def test_far_tails_are_enclosed_without_large_numbers(variance: Fraction) -> None:
    """From where weights are below what the precision is for, a tail is between 0 and a bound that holds it."""
    for precision in (1, 2, 4):
        start = math.isqrt(int(8 * precision * variance)) + 1
        low, high = laws._beyond(variance, start, precision)
        near_low, near_high = laws._beyond(variance, start, 256)
        assert low == 0 < near_low <= near_high <= high
    low, high = laws._beyond(variance, 2**60, 128)
    assert low == 0 < high < Fraction(1, 10**200) and high.denominator.bit_length() < 20_000
