"""The product sampler before it is run: its price, its cuts and its errors against enumeration and integrals."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from scipy import integrate, stats

from dpviz.errors import ParameterError
from dpviz.laws import product as laws
from dpviz.laws.gaussian import DiscreteGaussian, zcdp
from dpviz.laws.product import Rounds, column_error, l2_squared, mean_clipped, product_distance

RHO, BETA = Fraction(1, 2), Fraction(1, 10**6)


def costs(plan: Rounds, sizes: list[int]) -> list[Fraction]:
    """rho of each round, for so many columns left, and so many of them kept aside."""
    return [
        zcdp(plan.grid**2 * l2_squared(cut, kept), plan.variance(cut, kept))
        for size in sizes
        for level in range(1, plan.rounds + 2)
        for cut in [plan.cut(level, size)]
        for kept in {size, max(1, size // 3), 1}
    ]


@pytest.mark.parametrize("noise", ["repaired", "tight"])
@pytest.mark.parametrize("columns", [1, 79, 80, 1000])
def test_every_round_costs_rho_and_no_more(columns: int, noise: str) -> None:
    plan = Rounds(columns, 100_000, RHO, BETA, noise)  # type: ignore[arg-type]
    found = costs(plan, sorted({1, 2, columns // 2 + 1, columns}))
    assert set(found) == {RHO} and plan.price == RHO
    assert sum(found[: plan.chunks]) >= RHO * plan.chunks  # a record is in one chunk: their sum is not the price
    assert plan.cut(1, columns).denominator == 1


def test_noise_as_printed_costs_up_to_twice_rho_and_that_is_what_is_charged() -> None:
    """With 100,000 columns some rounds cost twice rho; with 1,000 all of them less than rho (erratum E1)."""
    wide = Rounds(100_000, 10_000_000, RHO, BETA, "paper")
    worst = max(costs(wide, [100_000, 3_000]))
    assert wide.factor == 2 and worst == 2 * RHO == wide.price
    narrow = Rounds(1000, 10_000_000, RHO, BETA, "paper")
    assert narrow.factor < 1 and narrow.price == RHO and max(costs(narrow, [1000, 30, 1])) < RHO


@pytest.mark.parametrize("columns", [80, 1000, 3000, 20_000, 100_000])
def test_no_round_of_the_printed_noise_costs_more_than_its_factor(columns: int) -> None:
    plan = Rounds(columns, 50_000, RHO, Fraction(1, 12), "paper")
    found = max(costs(plan, [1, 2, 7, columns // 10, columns]))
    assert found <= RHO * plan.factor <= plan.price or found <= RHO
    assert found > RHO * plan.factor * Fraction(9, 10)


@pytest.mark.parametrize("order", [2, 3])
def test_noise_on_the_grid_meets_its_rho(order: int) -> None:
    """The Rényi divergence of a whole order, summed over the law, is order * rho where one column moves by a whole step
    of 1; and beyond it at half the variance."""
    plan = Rounds(1, 10, RHO, Fraction(1, 12))
    variance = plan.variance(plan.cut(1, 1), 1)
    law, z = DiscreteGaussian(variance), np.arange(-12, 14)
    here, there = law.pmf_array(z), law.pmf_array(z - 1)
    divergence = math.log(float((here**order * there ** (1 - order)).sum())) / (order - 1)
    assert divergence == pytest.approx(float(order * RHO), abs=1e-12)
    z = np.arange(-9, 11)
    twin = DiscreteGaussian(variance / 2)
    here, there = twin.pmf_array(z), twin.pmf_array(z - 1)
    assert math.log(float((here**order * there ** (1 - order)).sum())) / (order - 1) > 1.9 * order * RHO


def tail(size: int, level: int, t: int) -> Fraction:
    u = Fraction(1, 2**level)
    return sum((math.comb(size, k) * u**k * (1 - u) ** (size - k) for k in range(t + 1, size + 1)), Fraction(0))


@pytest.mark.parametrize(("size", "level"), list(itertools.product((1, 2, 9, 60), (1, 2, 5, 11))), ids=str)
@pytest.mark.parametrize("share", [Fraction(1, 3), Fraction(1, 10**4), Fraction(1, 10**12)], ids=str)
def test_a_tight_cut_is_the_least_that_so_few_rows_exceed(size: int, level: int, share: Fraction) -> None:
    t = laws._least_cut(size, level, share)
    assert t >= 1 and tail(size, level, t) <= share
    assert t == 1 or tail(size, level, t - 1) > share


def test_rows_that_can_be_cut_need_a_finer_grid() -> None:
    assert Rounds(79, 100, RHO, BETA).grid == 1 and Rounds(80, 300, RHO, BETA).grid == laws.GRID
    assert Rounds(60, 100, RHO, BETA, "tight").cut(1, 60) == 60


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"n": 8}, "9 chunks"),
        ({"beta": Fraction(1, 11)}, "beta"),
        ({"beta": Fraction(0)}, "beta"),
        ({"rho": Fraction(0)}, "rho"),
        ({"columns": 0}, "columns"),
        ({"n": 0}, "n must"),
        ({"noise": "printed"}, "repaired, paper, tight"),
    ],
    ids=str,
)
def test_values_out_of_range_are_refused(given: dict[str, object], words: str) -> None:
    wanted: dict[str, object] = {"columns": 1000, "n": 900, "rho": RHO, "beta": BETA}
    with pytest.raises(ParameterError, match=words):
        Rounds(**wanted | given)  # type: ignore[arg-type]


# ---------------------------------------------------------------- errors


@pytest.mark.parametrize("mean", [-0.3, 0.0, 0.02, 0.4, 1.0, 1.2])
@pytest.mark.parametrize("deviation", [0.01, 0.3, 2.0])
def test_the_mean_of_a_clipped_number_is_its_integral(mean: float, deviation: float) -> None:
    def integrand(x: float) -> float:
        return min(max(x, 0.0), 1.0) * float(stats.norm.pdf(x, mean, deviation))

    wanted = integrate.quad(integrand, 0, 1, epsabs=1e-14, points=[min(max(mean, 0), 1)])[0] + stats.norm.sf(
        1, mean, deviation
    )
    assert mean_clipped(np.array([mean]), deviation)[0] == pytest.approx(wanted, abs=1e-12)


def test_the_error_of_a_column_is_that_of_all_counts_of_its_ones() -> None:
    """Against a sum over all counts with the noise of the grid itself: within a thousandth of the error of a column
    without ones, which is s / sqrt(2 pi)."""
    m, deviation = 40, 0.05
    law = DiscreteGaussian(Fraction((1000 * m) ** 2 * 25, 10**4))
    z = np.arange(-20_000, 20_001)
    noise = law.pmf_array(z) / law.pmf_array(z).sum()
    for p in (0.0, 0.02, 0.3, 0.97):
        counts = np.arange(m + 1)
        means = [float(noise @ np.clip(count / m + z / (1000 * m), 0, 1)) for count in counts]
        wanted = abs(float(stats.binom.pmf(counts, m, p) @ means) - p)
        assert column_error(p, m, deviation) == pytest.approx(wanted, abs=2e-5)
    assert column_error(0.0, m, deviation) == pytest.approx(deviation / math.sqrt(2 * math.pi), rel=1e-12)
    assert column_error(0.5, m, deviation) == pytest.approx(0, abs=1e-12)
    assert column_error(0.25, 10**9, 1e-5) < 1e-12


def test_the_distance_of_two_products_is_between_the_largest_and_the_sum_of_their_columns() -> None:
    random = np.random.default_rng(4)
    one, other = random.random((2, 5))
    rows = list(itertools.product((0, 1), repeat=5))
    masses = [
        [math.prod(p if bit else 1 - p for p, bit in zip(law, row, strict=True)) for row in rows]
        for law in (one, other)
    ]
    wanted = sum(abs(a - b) for a, b in zip(*masses, strict=True)) / 2
    low, high = product_distance(one, other)
    assert low == high == pytest.approx(wanted, abs=1e-14)
    apart = np.abs(one - other)
    assert apart.max() <= wanted <= apart.sum()
    low, high = product_distance(np.tile(one, 3), np.tile(other, 3))
    assert low == pytest.approx(apart.max()) and high == pytest.approx(min(1, 3 * apart.sum()))


# ---------------------------------------------------------------- sizes, crossovers, calibration


def test_the_rounds_beat_the_naive_sampler_only_with_very_many_columns() -> None:
    """At T**2 = 70 from 65,536 columns on, with the printed cut of m / beta = 1e13 from 2**24; by powers of two."""
    assert laws.crossover(Fraction(70)) == 65_536
    printed = Fraction(math.ceil(200 * 13 * math.log(10)))
    assert laws.crossover(printed) == 2**24
    for cut, columns in ((Fraction(70), 65_536), (printed, 2**24)):
        assert laws.rounds_ratio(columns, cut) < 1 <= laws.rounds_ratio(columns // 2, cut)
    assert laws.crossover(Fraction(10**9), most=2**20) is None


def test_how_many_people_the_proof_asks_for() -> None:
    assert laws.theory_chunk(1000, Fraction(1, 10), RHO) == pytest.approx(5.8e8, rel=0.01)
    assert laws.theory_n(1000, Fraction(1, 10), RHO) == pytest.approx(5.2e9, rel=0.01)
    assert laws.theory_n(80, Fraction(1, 10), RHO) == pytest.approx(9.1e7, rel=0.01)
    assert laws.beta_for(Fraction(1, 10), 1000) == Fraction(1, 120_000)


@pytest.mark.parametrize("epsilon", [Fraction(1, 10), Fraction(1), Fraction(4)], ids=str)
def test_the_largest_rho_is_accepted_and_no_larger_one(epsilon: Fraction) -> None:
    from dpviz.privacy.conversion import to_approx
    from dpviz.privacy.loss import ZCDP

    rho = laws.largest_rho(epsilon, BETA)
    assert to_approx(ZCDP(rho), BETA).epsilon <= epsilon + Fraction(1, 10**6)
    assert to_approx(ZCDP(rho * Fraction(1001, 1000)), BETA).epsilon > epsilon
    assert laws.paper_rho(epsilon, BETA) < rho < 4 * laws.paper_rho(epsilon, BETA)
    with pytest.raises(ParameterError, match="proved for an epsilon that is smaller"):
        laws.paper_rho(Fraction(200), BETA)


@pytest.mark.parametrize("mu", [0.1, 1.0, 3.0])
def test_the_curve_of_gaussian_noise_is_its_integral(mu: float) -> None:
    for epsilon in (0.1, 1.0, 3.0):
        start = epsilon / mu - mu / 2  # where one density is exp(epsilon) times the other
        wanted = integrate.quad(
            lambda x, e=epsilon: stats.norm.pdf(x, 0) - math.exp(e) * stats.norm.pdf(x, -mu),
            start + mu - mu,
            start + 40,
            epsabs=1e-15,
            limit=200,
        )[0]
        assert laws.gaussian_delta(mu, epsilon) == pytest.approx(wanted, rel=1e-6, abs=1e-13)
    found = laws.gaussian_mu(1.0, 1e-6)
    assert laws.gaussian_delta(found, 1.0) <= 1e-6 < laws.gaussian_delta(found * 1.0001, 1.0)
    assert found**2 / 2 > float(laws.largest_rho(Fraction(1), BETA))
