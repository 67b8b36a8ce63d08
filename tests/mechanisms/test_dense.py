"""Dense, held to the contract in both relations and for every law it offers."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from fractions import Fraction
from functools import cache

import numpy as np
import pytest

import dpviz as dv
from dpviz.errors import ParameterError
from dpviz.exact import Enclosure, exp_bounds, log_at_most
from dpviz.mechanisms.count_noise import tight_base
from dpviz.mechanisms.dense import DenseBound
from dpviz.model.question import Question
from dpviz.model.statistic import DenseCounts
from dpviz.noise.bits import TeachingBits
from dpviz.privacy import Unit
from dpviz.privacy.optimal import best_optimal_dp
from dpviz.session import accountant
from tests.mechanisms import contract
from tests.mechanisms.contract import Case, Law

BETAS = [Fraction(1, 2), Fraction(1, 10), Fraction(1, 20), Fraction(1, 100)]
FAR = 300
"""Unbounded laws are enumerated this far out; at the scales used here less than 10^-30 lies beyond."""

ROW, REPLACE = Unit("row"), Unit("row", relation="replace-one", n=6)
USER = Unit("user", max_bins=2, max_per_bin=1)
HEAVY = Unit("user", max_bins=1, max_per_bin=2)
SWAP = Unit("user", relation="replace-one", max_bins=1, max_per_bin=1)


FRACTION_BITS = 1000


def snap(pair: Enclosure) -> Enclosure:
    """The enclosure rounded outward at PLACES: still an enclosure, and quick to add up."""
    scale = 1 << FRACTION_BITS
    return Fraction(math.floor(pair[0] * scale), scale), Fraction(math.ceil(pair[1] * scale), scale)


def geometric_oracle(power: Callable[[int], Enclosure], low: int | None, high: int | None) -> Callable[[int], Law]:
    """clip(c + Z) for Pr[Z = z] = (1 - a) / (1 + a) a^|z|, from the definition; `power(k)` encloses a^k."""
    a = power(1)

    @cache
    def at(distance: int) -> Enclosure:
        tail = power(distance)
        return snap(((1 - a[1]) / (1 + a[1]) * tail[0], (1 - a[0]) / (1 + a[0]) * tail[1]))

    @cache
    def beyond(distance: int) -> Enclosure:
        """P[Z >= distance]: a^distance / (1 + a) for distance >= 1, and by symmetry the other side."""
        if distance >= 1:
            tail = power(distance)
            return snap((tail[0] / (1 + a[1]), tail[1] / (1 + a[0])))
        inner = beyond(1 - distance)
        return 1 - inner[1], 1 - inner[0]

    def law(count: int) -> Law:
        bottom = -FAR if low is None else low
        top = FAR if high is None else high
        found = {value: at(abs(value - count)) for value in range(bottom, top + 1)}
        if low is not None:
            found[low] = beyond(count - low)
        if high is not None:
            found[high] = beyond(high - count)
        return found

    return law


def truncated_oracle(
    power: Callable[[int], Enclosure], reach: int, low: int | None, high: int | None
) -> Callable[[int], Law]:
    """clip(c + Z) for Pr[Z = z] proportional to a^|z| on -reach..reach, from the definition."""
    weights = [power(size) for size in range(reach + 1)]
    least, most = (weights[0][side] + 2 * sum(one[side] for one in weights[1:]) for side in (0, 1))

    @cache
    def law(count: int) -> Law:
        found: dict[int, list[Fraction]] = {}
        for z in range(-reach, reach + 1):
            value = count + z if low is None else max(low, count + z)
            pair = found.setdefault(value if high is None else min(high, value), [Fraction(0), Fraction(0)])
            pair[0], pair[1] = pair[0] + weights[abs(z)][0] / most, pair[1] + weights[abs(z)][1] / least
        return {value: snap((pair[0], pair[1])) for value, pair in found.items()}

    return law


def exponential(step: Fraction) -> Callable[[int], Enclosure]:
    """Powers of exp(-step)."""
    return lambda times: exp_bounds(-step * times, FRACTION_BITS)


def rational(ratio: Fraction) -> Callable[[int], Enclosure]:
    return lambda times: (ratio**times, ratio**times)


def fast_oracle(n: int, p: int, q: int, g: int, t: int) -> Callable[[int], Law]:
    """FastSample: geometric noise, beyond distance t moved to the centre, clamped; uniform with chance 1/g."""

    def law(count: int) -> Law:
        share = Fraction(p - q, p + q)
        noise = {z: share * Fraction(q, p) ** abs(z) for z in range(-t, t + 1)}
        noise[0] += 1 - sum(noise.values())
        found = dict.fromkeys(range(n + 1), Fraction(1, g * (n + 1)))
        for z, chance in noise.items():
            found[min(max(count + z, 0), n)] += (1 - Fraction(1, g)) * chance
        return {value: (chance, chance) for value, chance in found.items()}

    return law


def dense(unit: Unit, bins: int, mechanism: dv.Dense) -> DenseBound:
    return mechanism.bind(Question.of(dv.Domain.integers(0, bins - 1, column="x")), unit)


def case_of(name: str, bound: DenseBound, most: int) -> Case:
    part = bound.law.noise.finite
    if part is not None and part.kind == "fastsample":
        return Case(name, bound, most, fast_oracle(part.n, part.p, part.q, part.g, part.t))
    if part is not None:
        ratio = Fraction(part.q, part.p)
        return Case(name, bound, most, geometric_oracle(rational(ratio), 0, part.n))
    step = bound.mechanism.epsilon / bound.unit.l1(bound.question.bins)
    return Case(name, bound, most, geometric_oracle(exponential(step), *bound.clamp))


CASES = [
    case_of("exp, add-remove, clamped at 0", dense(ROW, 2, dv.Dense("1/2")), 8),
    case_of("exp, add-remove, unclamped", dense(ROW, 2, dv.Dense(1, clamp=False)), 5),
    case_of("exp, add-remove, public cap", dense(ROW, 2, dv.Dense("2/3", cap=7)), 7),
    case_of("exp, replace-one, clamped to n", dense(REPLACE, 3, dv.Dense("3/4")), 6),
    case_of("exp, a user in two bins", dense(USER, 3, dv.Dense(1)), 6),
    case_of("exp, a user twice in one bin", dense(HEAVY, 2, dv.Dense(1)), 6),
    case_of("exp, a user exchanged", dense(SWAP, 2, dv.Dense(1)), 6),
    case_of("tight GeoSample, add-remove", dense(ROW, 2, dv.Dense("1/2", base="tight", cap=6)), 6),
    case_of("tight GeoSample, replace-one", dense(REPLACE, 2, dv.Dense("1/2", base="tight")), 6),
    case_of("tight GeoSample, epsilon 3", dense(ROW, 2, dv.Dense(3, base="tight", cap=6)), 6),
    case_of("paper GeoSample, replace-one", dense(REPLACE, 2, dv.Dense("1/3", base="paper")), 6),
    case_of("paper GeoSample, add-remove", dense(ROW, 2, dv.Dense("1/2", base="paper", cap=5)), 5),
]
FAST = [
    case_of(
        "tight FastSample, add-remove",
        dense(ROW, 2, dv.Dense(2, base="tight", sampler="fastsample", gamma="1/4", cap=30)),
        30,
    ),
    case_of(
        "tight FastSample, replace-one",
        dense(
            Unit("row", relation="replace-one", n=12), 2, dv.Dense(3, base="tight", sampler="fastsample", gamma="1/8")
        ),
        12,
    ),
    case_of(
        "paper FastSample, replace-one",
        dense(
            Unit("row", relation="replace-one", n=20), 2, dv.Dense(1, base="paper", sampler="fastsample", gamma="1/4")
        ),
        20,
    ),
]


def names(case: Case) -> str:
    return case.name


def stated_odds(bound: DenseBound) -> Enclosure:
    """What the price says: exp(epsilon), or (p/q)^l1 where the base is rational."""
    if bound.law.noise.finite is None:
        return exp_bounds(bound.mechanism.epsilon, 256)
    odds = Fraction(bound.law.noise.finite.p, bound.law.noise.finite.q) ** bound.unit.l1(bound.question.bins)
    return odds, odds


@pytest.mark.parametrize("case", CASES, ids=names)
def test_the_worst_ratio_over_all_neighbours_is_exactly_the_price(case: Case) -> None:
    contract.check_price(case, exact_odds=stated_odds(case.bound))  # type: ignore[arg-type]


@pytest.mark.parametrize("case", CASES, ids=names)
def test_a_price_that_is_off_by_a_thousandth_is_rejected(case: Case) -> None:
    low, high = stated_odds(case.bound)  # type: ignore[arg-type]
    for wrong in (Fraction(1001, 1000), Fraction(999, 1000)):
        with pytest.raises(AssertionError):
            contract.check_price(case, exact_odds=(low * wrong, high * wrong))


@pytest.mark.parametrize("case", FAST, ids=names)
def test_fastsample_never_costs_more_than_its_price(case: Case) -> None:
    """Mixing with uniform junk only lowers the ratio, so the charge of the untruncated law is safe."""
    low, high = contract.worst_ratio(case)
    assert low == high <= stated_odds(case.bound)[0]  # type: ignore[arg-type]
    assert exp_bounds(case.bound.price.epsilon)[1] >= high


def test_a_truncation_one_shorter_than_needed_breaks_the_price() -> None:
    """The contract sees a truncation that is too short: at t = 1 the ratio exceeds what is charged."""
    bound = FAST[0].bound
    part = bound.law.noise.finite  # type: ignore[attr-defined]
    short = Case("short", bound, FAST[0].most, fast_oracle(part.n, part.p, part.q, 1000, 1))
    assert contract.worst_ratio(short)[1] > stated_odds(bound)[1]  # type: ignore[arg-type]


@pytest.mark.parametrize("beta", BETAS, ids=str)
@pytest.mark.parametrize("case", [*CASES, *FAST], ids=names)
def test_the_stated_error_of_one_bin_is_the_least_that_holds_for_every_count(case: Case, beta: Fraction) -> None:
    wide = case.bound.clamp[1] is None
    counts = Case(case.name, case.bound, 60 if wide else case.most, case.oracle) if wide else case
    contract.check_one_bin(counts, beta)


@pytest.mark.parametrize("beta", BETAS, ids=str)
@pytest.mark.parametrize("case", [*CASES, *FAST], ids=names)
def test_the_stated_error_of_all_bins_is_the_least_that_holds_for_every_vector(case: Case, beta: Fraction) -> None:
    bound = case.bound
    top = 60 if bound.clamp[1] is None else case.most
    counts = [0, 1, top // 4, top // 2, top // 2 + 1, top] if bound.clamp[1] is None else range(top + 1)
    vectors = [
        vector
        for vector in itertools.combinations_with_replacement(counts, bound.question.bins)
        if bound.unit.n is None or sum(vector) <= bound.unit.n
    ]
    contract.check_all_bins(Case(case.name, bound, top, case.oracle), beta, vectors)


@pytest.mark.parametrize("case", [*CASES, *FAST], ids=names)
def test_draws_follow_the_law_in_every_bin_and_in_every_mode(case: Case) -> None:
    bins = case.bound.question.bins
    counts = tuple([0, min(3, case.most), case.most][:bins])
    if case.bound.unit.n is not None:
        counts = tuple([0, case.bound.unit.n, 0][:bins])
    for mode in case.bound.modes():
        assert contract.check_draws(case, counts, 2_000, mode, seed=11) > contract.FALSE_ALARM


def test_a_law_one_percent_off_is_rejected_either_way() -> None:
    """Power: in eight million draws at epsilon 1/2 a rate that is 1 % off shifts chi-square by about 800: p < 1e-30."""
    bound = dense(ROW, 8_000_000, dv.Dense("1/2", clamp=False))
    values = bound.draw(DenseCounts(np.zeros(8_000_000, dtype=np.int64)), TeachingBits(3), mode="exact").values
    right = Fraction(1, 2)
    assert contract.p_value(values, geometric_oracle(exponential(right), None, None)(0)) > contract.FALSE_ALARM
    for wrong in (right * Fraction(101, 100), right * Fraction(99, 100)):
        assert contract.p_value(values, geometric_oracle(exponential(wrong), None, None)(0)) < 1e-30


def test_every_bin_gets_noise_the_first_and_the_last_too() -> None:
    bound = dense(ROW, 42, dv.Dense("1/10", clamp=False))
    rows = [
        bound.draw(DenseCounts(np.zeros(42, dtype=np.int64)), TeachingBits(seed), mode="exact").values
        for seed in range(60)
    ]
    assert (np.array(rows) != 0).any(axis=0).all()  # a bin without noise by chance: (tanh(1/20))^60 < 1e-70


def test_counts_outside_the_public_range_are_clamped_in_silence() -> None:
    bound = dense(ROW, 2, dv.Dense(1, base="tight", cap=5))
    for mode in bound.modes():
        values = bound.draw(DenseCounts(np.array([10**12, 3])), TeachingBits(1), mode=mode).values
        assert (values >= 0).all() and (values <= 5).all()


def test_the_price_of_exp_is_what_was_typed_in_every_unit() -> None:
    for unit in (ROW, REPLACE, USER, HEAVY, SWAP):
        bound = dense(unit, 3, dv.Dense("0.123"))
        assert bound.price.epsilon == Fraction(123, 1000) and bound.price.loss.delta == 0


def test_a_plan_under_add_or_remove_knows_no_n() -> None:
    """Space, error and clamp come from public things; the same for any data, since no data are in reach."""
    bound = dense(ROW, 42, dv.Dense("0.2"))
    assert bound.space.bits == 42 * 64 and bound.clamp == (0, None)


@pytest.mark.parametrize(
    "step",
    [
        Fraction(1, 10**6),
        Fraction(1, 20),
        Fraction(1, 3),
        Fraction(69, 100),
        Fraction(7, 10),
        Fraction(3),
        Fraction(20),
    ],
)
def test_the_tight_base_pays_at_most_what_was_asked_and_nearly_all_of_it(step: Fraction) -> None:
    p, q = tight_base(step)
    assert log_at_most(Fraction(p, q), step) and p > q >= 1
    if step < Fraction(69, 100):
        assert q == 1 or not log_at_most(Fraction(q, q - 1), step), "a smaller denominator would fit as well"


@pytest.mark.parametrize(
    "wrong",
    [
        {"epsilon": "1", "base": "float"},
        {"epsilon": "1", "sampler": "numpy"},
        {"epsilon": "1", "base": "tight", "gamma": "1"},
        {"epsilon": "1", "base": "tight", "gamma": "2/7"},
        {"epsilon": "1", "cap": 0},
        {"epsilon": "1", "cap": "2.5"},
        {"epsilon": "1", "clamp": "yes"},
    ],
)
def test_wrong_parameters_are_refused(wrong: dict[str, object]) -> None:
    with pytest.raises(ParameterError):
        dv.Dense(**wrong)  # type: ignore[arg-type]


def test_parameters_are_texts_that_make_the_same_mechanism_again() -> None:
    for made in (
        dv.Dense("1/3"),
        dv.Dense(1, base="tight", sampler="fastsample", gamma="1/1000", cap=99),
        dv.Dense(2, clamp=False),
    ):
        assert dv.Dense.from_parameters(made.parameters()) == made
        assert eval(made.python, {"dv": dv}) == made


def test_a_zcdp_budget_books_the_rho_of_the_noise_and_holds_45_answers_over_ten_bins() -> None:
    """Ten bins of 0.01 are ten answers by randomised response: so many cost at most the budget by the optimal rule."""
    question = Question.of(dv.Domain.integers(0, 9, column="x"))
    unit, budget = dv.Unit("person", max_bins=10), dv.Budget("1", "1e-6", filter="zcdp")
    price, rho = dv.Dense("1/10").bind(question, unit).price, accountant.caps(budget)["rho"]
    cost, alone = (accountant.booked("zcdp", price.loss, steps)["rho"] for steps in (price.zcdp_steps, None))
    assert abs(float(cost) - 10 * 0.01 * math.tanh(0.005)) < 2e-12 and (rho // cost, rho // alone) == (45, 4)
    assert best_optimal_dp(450, Fraction(1, 100), Fraction(1, 10**6)).epsilon <= 1
    assert best_optimal_dp(900, Fraction(1, 100), Fraction(1, 10**6)).epsilon > 1, "twice as many would not"
    for made in (dv.Dense("1/10", base="tight", cap=9), dv.Dense("1/10", base="paper", cap=9)):
        assert made.bind(question, unit).price.zcdp_steps is None, "the law of the finite samplers is another"
