"""Discrete Gaussian noise against the definition of its delta, by enumeration; and twins that are nearly right."""

from __future__ import annotations

import itertools
import math
import random
from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np
import pytest
from dp_accounting.pld.privacy_loss_distribution import from_discrete_gaussian_mechanism

from dpviz.errors import ParameterError
from dpviz.exact import Enclosure, exp_bounds
from dpviz.laws.gaussian_loss import log_delta
from dpviz.privacy import discrete_gaussian, renyi
from dpviz.privacy.discrete_gaussian import (
    DIGITS,
    Calibrated,
    Shifts,
    calibrate,
    certain,
    delta_bounds,
    epsilon_of,
    holds,
    proof,
    rho_of,
)

MILLIONTH = Fraction(1, 10**6)
PRICES = [
    (Fraction(epsilon), delta)
    for epsilon in ("1/10", "1/2", "1", "3", "6")
    for delta in (Fraction(1, 10**9), MILLIONTH, Fraction(1, 10**5), Fraction(1, 20))
]


PLACES = 300
ONE = 1 << PLACES


def dyadic(bounds: Enclosure) -> tuple[int, int]:
    """In units of 2**-PLACES, rounded outwards."""
    low, high = bounds
    return low.numerator * ONE // low.denominator, -(-high.numerator * ONE // high.denominator)


@cache
def whole_law(variance: Fraction, reach: int) -> list[tuple[int, int]]:
    """The chances of 0, 1, ..., reach, from the weights and their sum; beyond `reach` nothing is left."""
    weights = [dyadic(exp_bounds(-Fraction(z * z) / (2 * variance), PLACES)) for z in range(reach + 1)]
    low, high = (weights[0][side] + 2 * sum(one[side] for one in weights[1:]) for side in (0, 1))
    return [(least * ONE // (high + 1), -(-most * ONE // low)) for least, most in weights]


def by_definition(variance: Fraction, shift: int, epsilon: Fraction) -> Enclosure:
    """The sum over z of what P(z) exceeds e**epsilon P(z - shift) by, each term by itself."""
    reach = 22 * (math.isqrt(int(variance)) + 2) + shift
    law, odds = whole_law(variance, reach), dyadic(exp_bounds(epsilon, PLACES))
    low = high = 0
    for z in range(-reach + shift, reach + 1):
        here, there = law[abs(z)], law[abs(z - shift)]
        low += max(0, here[0] - (odds[1] * there[1] >> PLACES) - 1)
        high += max(0, here[1] - (odds[0] * there[0] >> PLACES))
    return Fraction(low, ONE), Fraction(high, ONE) + Fraction(1, 2**200)


@pytest.mark.parametrize("variance", ["1/3", "0.7", "2", "18", "68.4"])
@pytest.mark.parametrize("shift", [1, 2, 5])
@pytest.mark.parametrize("epsilon", ["0", "1/10", "1", "3", "6"])
def test_delta_of_one_count_is_that_of_the_definition(variance: str, shift: int, epsilon: str) -> None:
    v, moves = Fraction(variance), Shifts.box(1, shift)
    low, high = by_definition(v, shift, Fraction(epsilon))
    assert moves.worst == ((shift**2, shift),)
    found = delta_bounds(moves, (shift**2, shift), v, Fraction(epsilon))
    tiny = Fraction(1, 10**25)
    assert low - tiny <= found[0] <= found[1] <= high + tiny
    assert found[1] - found[0] <= high / 10**15 + tiny
    other = delta_bounds(Shifts.box(1, shift + 1), ((shift + 1) ** 2, shift + 1), v, Fraction(epsilon))
    assert other[0] > found[1] or high < 2 * tiny, "a longer shift costs more"


@pytest.mark.parametrize("epsilon", ["1/2", "1", "2"])
def test_rounding_both_tails_apart_is_told_from_the_definition(epsilon: str) -> None:
    """Where epsilon V / D - D / 2 is whole, the tail begins one further: at losses above epsilon, not at epsilon."""
    variance, shift = Fraction(8), 2
    exact = by_definition(variance, shift, Fraction(epsilon))
    law = whole_law(variance, 200)

    def tail(start: int) -> Fraction:
        return Fraction(sum(law[abs(z)][1] for z in range(start, 150)), ONE)

    where, odds = Fraction(epsilon) * variance / shift, exp_bounds(Fraction(epsilon), 200)[1]
    assert (where - Fraction(shift, 2)).denominator == 1
    first = int(where - Fraction(shift, 2)) + 1
    right, wrong = tail(first) - odds * tail(first + shift), tail(first) - odds * tail(first + shift - 1)
    assert exact[0] - MILLIONTH**2 <= right <= exact[1] + MILLIONTH**2
    assert abs(wrong - exact[1]) > exact[1] / 100


# ---------------------------------------------------------------- several counts


@cache
def floats(variance: float, reach: int) -> np.ndarray:
    z = np.arange(-reach, reach + 1, dtype=np.float64)
    weights = np.exp(-z * z / (2 * variance))
    law: np.ndarray = weights / weights.sum()
    return law


def enumerated(vector: tuple[int, ...], variance: float, epsilon: float) -> float:
    """Over all noisy vectors the sum of what the one law exceeds e**epsilon times the other by."""
    reach = math.ceil(9 * math.sqrt(variance)) + max(vector)
    law = floats(variance, reach)
    loss, chance = np.zeros(1), np.ones(1)
    z = np.arange(-reach, reach + 1, dtype=np.float64)
    for step in vector:
        each = (2 * step * z + step * step) / (2 * variance)  # the log ratio at z of noise, and of noise moved by -step
        loss = (loss[:, None] + each[None, :]).ravel()
        chance = (chance[:, None] * law[None, :]).ravel()
    held = loss > epsilon
    return float((chance[held] * -np.expm1(epsilon - loss[held])).sum())


def length(vector: tuple[int, ...]) -> int:
    return sum(step * step for step in vector)


VECTORS = [(1, 1), (1, 2), (2, 2), (2, 3), (1, 3), (2, 4), (1, 1, 1), (1, 2, 2), (2, 2, 2)]


@pytest.mark.parametrize("vector", VECTORS)
@pytest.mark.parametrize("ratio", [0.75, 1.3, 3.0])
@pytest.mark.parametrize("epsilon", [0.0, 0.5, 2.0])
def test_delta_of_a_vector_depends_on_its_length_and_divisor_alone(
    vector: tuple[int, ...], ratio: float, epsilon: float
) -> None:
    squared, divisor = length(vector), math.gcd(*vector)
    variance = Fraction(ratio) * squared
    true = enumerated(vector, float(variance), epsilon)
    moves = Shifts(squared, ((squared, divisor),), len(vector))
    low, high = delta_bounds(moves, (squared, divisor), variance, Fraction(epsilon))
    assert float(low) * (1 - 1e-8) <= true <= float(high) * (1 + 1e-8)
    assert float(high) <= true * (1 + 1e-3) + 1e-15
    if divisor > 1 and true > 1e-12:
        other = delta_bounds(moves, (squared, 1), variance, Fraction(epsilon))
        assert other[1] < low or other[0] > high, "the divisor matters"


def test_the_lattice_matters_and_neither_end_of_the_divisors_is_the_worst() -> None:
    moves, variance, epsilon = Shifts.within(36, 6), Fraction("68.4"), Fraction(3)
    found = {g: delta_bounds(moves, (n, g), variance, epsilon)[1] for n, g in moves.worst if n == 36}
    assert set(found) == {1, 2, 3, 6}
    assert max(found, key=found.__getitem__) == 3 and found[3] > found[1] > found[6]


@pytest.mark.parametrize("delta", [MILLIONTH, 10 * MILLIONTH])
def test_proofs_that_need_no_sums_decide_as_sums_do(delta: Fraction) -> None:
    """Of 100 entries tau keeps the ends apart, so that some variances above the least hold and are not proved."""
    moves, epsilon = Shifts.box(100, 1), Fraction(5)
    found, vector = calibrate(moves, epsilon, delta), moves.worst[0]
    near = [found.variance * (1 + Fraction(steps, 10**5)) for steps in range(-12, 13, 3)]

    def by_sums(variance: Fraction) -> bool:
        each = (delta_bounds(moves, vector, variance, epsilon, precision, added=True) for precision in (96, 192))
        return any(high <= delta for _, high in each)

    told = {variance: certain(moves, variance, epsilon, delta) for variance in near}
    assert told == {variance: by_sums(variance) for variance in near}
    assert set(told.values()) == {False, True}


@pytest.mark.parametrize("epsilon", [0.3, 1.5, 3.0])
def test_limits_on_bins_and_on_each_have_one_worst_vector(epsilon: float) -> None:
    variance, most = 10.0, (3, 3)
    worst = enumerated(most, variance, epsilon)
    moves = Shifts.box(2, 3)
    assert moves.worst == ((18, 3),)
    high = delta_bounds(Shifts.box(2, 3), (18, 3), Fraction(18), Fraction(epsilon))[1]
    assert enumerated(most, 18.0, epsilon) <= float(high) * (1 + 1e-8)
    for vector in itertools.product(range(4), repeat=2):
        assert enumerated(vector, variance, epsilon) <= worst * (1 + 1e-9), vector


@pytest.mark.parametrize(("squared", "largest"), [(9, 3), (14, 3), (17, 4), (20, 4), (22, 3)])
@pytest.mark.parametrize("epsilon", [0.4, 1.0, 2.5])
def test_of_vectors_of_a_length_at_most_none_exceeds_the_largest_over_all_divisors(
    squared: int, largest: int, epsilon: float
) -> None:
    moves, variance = Shifts.within(squared, largest), Fraction(6, 5) * squared
    bound = max(float(delta_bounds(moves, one, variance, Fraction(epsilon))[1]) for one in moves.worst)
    found = [
        enumerated(vector, float(variance), epsilon)
        for size in (1, 2, 3)
        for vector in itertools.combinations_with_replacement(range(1, largest + 1), size)
        if length(vector) <= squared
    ]
    assert max(found) <= bound * (1 + 1e-8)
    assert max(found) >= bound * 0.98


# ---------------------------------------------------------------- calibration


@pytest.mark.parametrize(("epsilon", "delta"), PRICES)
@pytest.mark.parametrize(
    "moves", [Shifts.box(1, 1), Shifts.box(10, 1), Shifts.box(3, 4), Shifts.within(33, 4)], ids=str
)
def test_the_variance_that_is_found_holds_and_the_one_before_does_not(
    moves: Shifts, epsilon: Fraction, delta: Fraction
) -> None:
    found = calibrate(moves, epsilon, delta)
    enough = moves.squared / (2 * renyi.rho_for(epsilon, delta))
    step = Fraction(10) ** (math.floor(math.log10(enough)) - DIGITS + 1)
    assert (found.variance / step).denominator == 1
    if found.rule == "exact":
        assert certain(moves, found.variance, epsilon, delta)
        assert not certain(moves, found.variance - step, epsilon, delta)
    assert found.variance < enough + step
    assert found.rho >= moves.squared / (2 * found.variance) > found.rho - Fraction(1, 10**12)


@pytest.mark.parametrize(("epsilon", "delta"), PRICES)
def test_noise_of_one_count_costs_what_it_was_made_for_by_the_definition(epsilon: Fraction, delta: Fraction) -> None:
    variance = calibrate(Shifts.box(1, 1), epsilon, delta).variance
    if variance < 2_000:
        assert by_definition(variance, 1, epsilon)[1] <= delta
        if variance > 3:  # narrower noise has steps in its delta
            assert by_definition(variance * Fraction(999, 1000), 1, epsilon)[0] > delta


def test_the_variance_of_continuous_noise_is_too_small_on_whole_numbers() -> None:
    from dpviz.laws.product import gaussian_mu

    for epsilon in (1, 3, 6):
        continuous = Fraction(1 / gaussian_mu(float(epsilon), 1e-6) ** 2)
        assert by_definition(continuous, 1, Fraction(epsilon))[0] > MILLIONTH
        assert not certain(Shifts.box(1, 1), continuous, Fraction(epsilon), MILLIONTH)


def test_wider_noise_may_cost_more_so_the_variance_that_is_drawn_is_tested() -> None:
    one, epsilon = Shifts.box(1, 1), Fraction(6)
    narrow, wide = Fraction(60, 100), Fraction(70, 100)
    assert by_definition(narrow, 1, epsilon)[1] <= MILLIONTH < by_definition(wide, 1, epsilon)[0]
    assert holds(one, narrow, epsilon, MILLIONTH) and not holds(one, wide, epsilon, MILLIONTH)


def test_rho_is_that_of_the_variance_in_force_and_not_of_the_conversion() -> None:
    found = calibrate(Shifts.box(1, 1), Fraction(1), MILLIONTH)
    assert found.rho > renyi.rho_for(Fraction(1), MILLIONTH), "the smaller rho beside this noise would undercharge"
    assert found.rho == rho_of(Shifts.box(1, 1), found.variance)


def test_floating_point_decides_as_intervals_do() -> None:
    chance, both = random.Random(1), set()
    for _ in range(60):
        entries, each = chance.randint(1, 20), chance.randint(1, 4)
        moves = chance.choice((Shifts.box(entries, each), Shifts.within(entries * each, each)))
        epsilon = Fraction(chance.randint(30, 400), 100)
        delta = Fraction(1, 10 ** chance.randint(1, 12))
        variance = calibrate(moves, epsilon, delta).variance * Fraction(chance.randint(990, 1010), 1000)
        decided = holds(moves, variance, epsilon, delta)
        proved = certain(moves, variance, epsilon, delta)
        assert decided == (proved or moves.squared <= 2 * variance * renyi.rho_for(epsilon, delta))
        both.add(proved)
    assert both == {True, False}


@pytest.mark.parametrize(
    "moves", [Shifts.box(1, 1), Shifts.box(2, 3), Shifts.within(22, 3), Shifts.unknown(7)], ids=str
)
@pytest.mark.parametrize("delta", [Fraction(1, 10**9), MILLIONTH])
def test_the_epsilon_of_a_variance_is_the_least_that_holds(moves: Shifts, delta: Fraction) -> None:
    for variance in (Fraction(3) * moves.squared, Fraction("28.6223") * moves.squared):
        epsilon = epsilon_of(moves, variance, delta)
        assert holds(moves, variance, epsilon, delta)
        assert not holds(moves, variance, epsilon - 2 * renyi.STEP, delta)


def test_where_levels_differ_the_rule_of_renyi_orders_is_all_that_is_proved() -> None:
    found = calibrate(Shifts.unknown(12), Fraction(1), MILLIONTH)
    assert found == Calibrated(found.variance, rho_of(Shifts.unknown(12), found.variance), "renyi")
    assert found.rho <= renyi.rho_for(Fraction(1), MILLIONTH)
    assert found.variance > calibrate(Shifts.within(12, 3), Fraction(1), MILLIONTH).variance
    many = Shifts.within(10**6, 10**3)
    assert many == Shifts.unknown(10**6), "more divisors than are looked at"


def test_beyond_the_proof_of_several_counts_the_rule_of_renyi_orders_is_taken() -> None:
    """The lattices of several counts differ where noise is narrow."""
    several, alone = Shifts.box(2, 1), Shifts.box(1, 1)
    assert calibrate(several, Fraction(20), MILLIONTH).rule == "renyi"
    assert calibrate(alone, Fraction(20), MILLIONTH).rule == "exact"
    assert not certain(several, Fraction(1), Fraction(20), MILLIONTH)


def test_nothing_is_made_for_a_unit_that_moves_nothing_nor_for_too_little() -> None:
    with pytest.raises(ParameterError):
        Shifts.box(0, 1)
    with pytest.raises(ParameterError, match="larger epsilon"):
        calibrate(Shifts.box(1, 1), Fraction(1, 10**9), Fraction(1, 10**30))


@pytest.mark.parametrize(
    ("moves", "variance", "epsilon"),
    [
        (Shifts.box(1, 1), "1_050_000", "1/300"),
        (Shifts.box(1, 1), "1318.08", "1/10"),
        (Shifts.box(3, 4), "90", "2"),
        (Shifts.box(1, 40), "70", "1/20"),
    ],
)
def test_tails_by_integrals_agree_with_sums(moves: Shifts, variance: str, epsilon: str) -> None:
    v, e = Fraction(variance), Fraction(epsilon)
    for vector in moves.worst:
        by_integrals, added = (delta_bounds(moves, vector, v, e, 128, added=way) for way in (False, True))
        assert by_integrals[0] <= added[1] and added[0] <= by_integrals[1], "both enclose the same number"
        assert by_integrals[1] <= by_integrals[0] * (1 + MILLIONTH)


@pytest.mark.parametrize(
    ("moves", "variance", "epsilon", "tried"), [(8, 6, "4", [96, 192]), (428, 428, "4.886557", [])]
)
def test_where_the_bound_of_several_counts_is_too_wide_no_more_digits_are_tried(
    moves: int, variance: int, epsilon: str, tried: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Tau keeps the ends of a delta apart, whatever the precision. Where integrals say so, no weights are added up."""
    many, given, asked = Shifts.box(moves, 1), (Fraction(variance), Fraction(epsilon)), []
    whole = discrete_gaussian.delta_bounds
    low, high = whole(many, (moves, 1), *given)
    assert high > low * (1 + MILLIONTH)

    def counted(*given: Any) -> Enclosure:
        asked.append(given[-1])
        return whole(*given)

    monkeypatch.setattr(discrete_gaussian, "delta_bounds", counted)
    assert not certain(many, *given, (low + high) / 2) and asked == tried
    assert certain(many, *given, high)


def test_where_integrals_are_too_wide_weights_are_added_up(monkeypatch: pytest.MonkeyPatch) -> None:
    one, variance, epsilon, asked = Shifts.box(1, 1), Fraction(80), Fraction(1, 2), []
    bounds, integrated = discrete_gaussian.delta_bounds, discrete_gaussian._integrated

    def added(*given: Any) -> Enclosure:
        asked.append("added")
        return bounds(*given)

    def wide(*given: Any) -> Enclosure:
        asked.append("integrated")
        return Fraction(0), integrated(*given)[1] * 2

    monkeypatch.setattr(discrete_gaussian, "delta_bounds", added)
    monkeypatch.setattr(discrete_gaussian, "_integrated", wide)
    exact = bounds(one, (1, 1), variance, epsilon, 128)[1]
    assert certain(one, variance, epsilon, exact * Fraction(3, 2)) and asked == ["integrated", "added"]
    assert not certain(one, variance, epsilon, exact * Fraction(99, 100))


def test_another_accounting_finds_no_larger_delta() -> None:
    """Google's discretises losses pessimistically, so its delta is a little larger than the exact one."""
    for epsilon in (0.5, 1.0, 3.0):
        variance = calibrate(Shifts.box(1, 1), Fraction(epsilon), MILLIONTH).variance
        other = from_discrete_gaussian_mechanism(math.sqrt(variance), value_discretization_interval=1e-4)
        assert other.get_delta_for_epsilon(epsilon) == pytest.approx(1e-6, rel=0.01)


@pytest.mark.parametrize(("variance", "shift", "epsilon"), [("20", 30, "1/100"), ("40", 9, "1/5"), ("7", 1, "0")])
def test_floating_point_adds_up_from_below_0_as_the_definition_does(variance: str, shift: int, epsilon: str) -> None:
    """A long shift has a loss above epsilon at noise below 0, too."""
    v, e = Fraction(variance), Fraction(epsilon)
    first = math.floor(e * v / shift - Fraction(shift, 2)) + 1
    assert first <= 0
    low, high = by_definition(v, shift, e)
    found = log_delta(v, shift, first, e)
    assert found is not None and math.log(low) - 1e-9 <= found <= math.log(high) + 1e-9


@pytest.mark.parametrize("moves", [Shifts.box(3, 2), Shifts.within(14, 3), Shifts.unknown(12)], ids=str)
def test_the_proof_that_is_named_is_one_that_holds_without_the_other(moves: Shifts) -> None:
    found = calibrate(moves, Fraction(1), MILLIONTH)
    enough = moves.squared / (2 * renyi.rho_for(Fraction(1), MILLIONTH))
    assert proof(moves, enough, Fraction(1), MILLIONTH) == "renyi"
    assert proof(moves, found.variance, Fraction(1), MILLIONTH) == found.rule
    assert (found.rule == "exact") == (found.variance < enough)
    assert proof(moves, found.variance / 2, Fraction(1), MILLIONTH) is None


@pytest.mark.parametrize("parts", [2, 5])
def test_parts_that_are_priced_apart_cost_more_together(parts: int) -> None:
    """One unit moves the counts of several parts at once: the delta of each by itself is no proof."""
    one, epsilon, delta = Shifts.box(2, 1), Fraction(1), Fraction(1, 1000)
    apart, together = calibrate(one, epsilon, delta).variance, calibrate(one.times(parts), epsilon, delta).variance
    assert enumerated((1, 1, 1), float(apart), 1.0) > delta, "three of the counts are enough"
    assert not holds(one.times(parts), apart, epsilon, delta)
    assert together > apart * parts * Fraction(99, 100)


# ---------------------------------------------------------------- Rényi orders


@pytest.mark.parametrize(("epsilon", "delta"), PRICES)
def test_noise_at_the_largest_rho_costs_no_more_by_the_definition(epsilon: Fraction, delta: Fraction) -> None:
    """A twin that leaves out one of the terms proves a rho that its own noise refutes."""
    rho = renyi.rho_for(epsilon, delta)
    variance = 1 / (2 * rho)
    one = Shifts.box(1, 1)
    assert delta_bounds(one, (1, 1), variance, epsilon)[1] <= delta
    assert renyi.epsilon_for(rho, delta) <= epsilon + renyi.STEP
    log = math.log(1 / delta)
    twin = max(
        (float(epsilon) - (log - 2 * math.log(alpha)) / (alpha - 1) - math.log(1 - 1 / alpha)) / alpha
        for alpha in (1 + math.exp(place / 20) for place in range(-60, 200))
    )
    if epsilon <= 1 and delta <= MILLIONTH:
        assert delta_bounds(one, (1, 1), Fraction(1 / (2 * twin)), epsilon)[0] > delta


@pytest.mark.parametrize(("epsilon", "delta"), PRICES)
def test_no_order_proves_a_larger_rho(epsilon: Fraction, delta: Fraction) -> None:
    log = math.log(1 / delta)
    every = [1 + math.exp(place / 50) for place in range(-300, 1000)]
    best = max(
        (float(epsilon) - (log - math.log(alpha)) / (alpha - 1) - math.log1p(-1 / alpha)) / alpha for alpha in every
    )
    assert float(renyi.rho_for(epsilon, delta)) >= best - 2e-12
    rho = Fraction(1, 3)
    least = min(alpha / 3 + (log - math.log(alpha)) / (alpha - 1) + math.log1p(-1 / alpha) for alpha in every)
    assert max(0.0, least - 1e-3) <= float(renyi.epsilon_for(rho, delta)) <= max(0.0, least) + 2e-6


def test_the_conversion_is_tighter_than_that_of_bun_and_steinke() -> None:
    from dpviz.privacy import ZCDP, to_approx

    for (epsilon, delta), rho in itertools.product(PRICES, (Fraction(1, 100), Fraction(1, 2), Fraction(3))):
        assert renyi.epsilon_for(rho, delta) <= to_approx(ZCDP(rho), delta).epsilon
        assert renyi.rho_for(epsilon, delta) > 0
