"""Rho of pure answers and of geometric noise, by every Rényi order of their laws; the rho that a budget holds, by the
delta of real mechanisms; and near-wrong rules, which the same checks reject."""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.special import logsumexp
from scipy.stats import norm

from dpviz.errors import ParameterError
from dpviz.privacy import Unit, renyi
from dpviz.privacy.concentrated import (
    geometric_rho,
    moved_most,
    order,
    pure_rho,
    rho_at,
    rho_within,
    rho_within_earlier,
    single,
)
from dpviz.privacy.grid import EPSILON_STEP
from dpviz.privacy.optimal import best_optimal_dp

Floats = NDArray[np.float64]

ORDERS = 1 + np.concatenate([np.exp(np.linspace(-9, 0, 40)), np.linspace(1.1, 60, 60), np.exp(np.linspace(4.5, 9, 10))])


def worst(log_p: Floats, log_q: Floats) -> float:
    """The largest divergence of order alpha over alpha, of all orders, in either direction."""
    found = 0.0
    for one, other in ((log_p, log_q), (log_q, log_p)):
        orders = ORDERS[:, None]
        divergences = logsumexp(orders * one + (1 - orders) * other, axis=1) / (ORDERS - 1)
        found = max(found, float((divergences / ORDERS).max()))
    return found


def kullback(log_p: Floats, log_q: Floats) -> float:
    return float((np.exp(log_p) * (log_p - log_q)).sum())


def response(epsilon: float) -> tuple[Floats, Floats]:
    """Randomised response."""
    law = np.array([-math.log1p(math.exp(-epsilon)), -math.log1p(math.exp(epsilon))])
    return law, law[::-1].copy()


def geometric(rate: float, move: int) -> tuple[Floats, Floats]:
    """Two-sided geometric noise on 0 and on `move`, cut where less than e^-60 is left."""
    z = np.arange(-int(60 / rate) - 1, int(60 / rate) + 2 + move)
    scale = math.log(math.tanh(rate / 2))
    return scale - rate * np.abs(z), scale - rate * np.abs(z - move)


# ---------------------------------------------------------------- a pure answer


@pytest.mark.parametrize("epsilon", ["0.001", "0.1", "1/3", "1", "3", "20"])
def test_no_order_of_randomised_response_costs_more_and_orders_near_1_cost_as_much(epsilon: str) -> None:
    size = Fraction(epsilon)
    rho, pair = float(pure_rho(size)), response(float(size))
    assert worst(*pair) <= rho * (1 + 1e-9) + 1e-12
    assert rho <= kullback(*pair) * (1 + 1e-9) + 1e-12, "no smaller rho holds"
    assert rho - 2e-12 <= float(size) ** 2 / 2
    assert size > 7 or worst(*pair) > float(size) ** 2 / 8 + 1e-12, (
        "the rho of a range-bounded step is not that of a pure one"
    )


def test_no_pure_pair_costs_more() -> None:
    dice = np.random.default_rng(3)
    for _ in range(300):
        epsilon, points = float(dice.uniform(0.01, 4)), int(dice.integers(2, 7))
        q = dice.dirichlet(np.full(points, 0.5)) + 1e-12
        p = q * np.exp(epsilon * dice.choice([-1, 1, dice.uniform(-1, 1)], points))
        p, q = p / p.sum(), q / q.sum()
        true = float(np.abs(np.log(p / q)).max())
        assert worst(np.log(p), np.log(q)) <= float(pure_rho(Fraction(true))) + 1e-9


def test_the_largest_epsilon_for_a_rho_fits_and_no_larger_one() -> None:
    step = Fraction(1, 10**6)
    for rho in ("0", "1e-12", "3e-9", "0.005", "0.0228944", "0.4", "1", "37.5", "700"):
        found = single(Fraction(rho))
        assert pure_rho(found) <= Fraction(rho) < pure_rho(found + step)
    assert single(Fraction(10**9)) == 1000
    with pytest.raises(ParameterError):
        pure_rho(Fraction(-1))


# ---------------------------------------------------------------- geometric noise


@pytest.mark.parametrize("move", [1, 2, 3, 7, 40])
@pytest.mark.parametrize("rate", ["0.02", "0.1", "1/2", "1", "3"])
def test_no_order_of_moved_geometric_noise_costs_more_than_its_rho(rate: str, move: int) -> None:
    pair = geometric(float(Fraction(rate)), move)
    rho = float(geometric_rho([(Fraction(rate), move, 1)]))
    assert worst(*pair) <= rho * (1 + 1e-9) + 1e-12
    assert rho <= kullback(*pair) * (1 + 1e-9) + 2e-12, "no smaller rho holds"
    assert rho <= float(pure_rho(move * Fraction(rate))) + 1e-12
    if move > 1:
        wrong = float(move * geometric_rho([(Fraction(rate), 1, 1)]))
        assert worst(*pair) > wrong * (1 + 1e-6), "a count that moves by two costs more than two that move by one"


def test_one_bin_that_moves_by_1_is_randomised_response() -> None:
    for rate in (Fraction(1, 100), Fraction(1, 2), Fraction(3)):
        assert abs(geometric_rho([(rate, 1, 1)]) - pure_rho(rate)) <= EPSILON_STEP


def vectors(unit: Unit, bins: int) -> set[tuple[int, ...]]:
    """How one unit may move the counts, from the definition of its limits."""
    most = bins if unit.max_bins is None else unit.max_bins
    records = unit.max_records if unit.max_records is not None else bins * unit.max_per_bin
    one = [
        counts
        for counts in itertools.product(range(unit.max_per_bin + 1), repeat=bins)
        if sum(count > 0 for count in counts) <= most and sum(counts) <= records
    ]
    if unit.relation == "add-remove":
        return set(one)
    return {tuple(abs(a - b) for a, b in zip(x, y, strict=True)) for x in one for y in one}


def search(price: Callable[[Fraction, int, int], Fraction]) -> list[tuple[float, float]]:
    """The true and the said rho of units that somebody draws: the worst of all vectors beside the price."""
    dice, found = random.Random(4), []
    for _ in range(80):
        bins, most = dice.randint(1, 3), dice.randint(1, 3)
        limits = {"max_bins": dice.choice([None, 1, 2, 3]), "max_per_bin": most}
        unit = Unit(
            "user",
            relation=dice.choice(["add-remove", "replace-one"]),  # type: ignore[arg-type]
            max_records=dice.choice([None, 1, 2, 4, 5]),
            **limits,  # type: ignore[arg-type]
        )
        rate = Fraction(dice.choice([1, 2, 5, 20]), dice.choice([3, 10, 40]))
        cost = [kullback(*geometric(float(rate), move)) if move else 0.0 for move in range(most + 1)]
        true = max(sum(cost[move] for move in moves) for moves in vectors(unit, bins))
        found.append((true, float(price(rate, unit.l1(bins), unit.max_per_bin))))
    return found


def test_no_unit_moves_the_counts_for_more_than_the_price() -> None:
    held = search(lambda rate, l1, most: geometric_rho(moved_most(rate, l1, most)))
    assert all(true <= said * (1 + 1e-9) + 1e-11 for true, said in held)
    assert sum(said <= true * (1 + 1e-9) + 1e-11 for true, said in held) >= len(held) / 2, "and mostly no less"


@pytest.mark.parametrize(
    "wrong",
    [
        lambda rate, l1, most: geometric_rho([(rate, 1, l1)]),  # every count by 1
        lambda rate, l1, most: geometric_rho([(rate, most, l1 // most)]),  # the rest forgotten
        lambda rate, l1, most: geometric_rho([(rate, most, 1)]),  # the worst bin alone
        lambda rate, l1, most: (rate * l1) ** 2 / 8,
    ],
)
def test_the_search_finds_near_wrong_rules(wrong: Callable[[Fraction, int, int], Fraction]) -> None:
    assert any(true > said * (1 + 1e-6) + 1e-11 for true, said in search(wrong))


def test_rho_is_certified_where_floats_cancel() -> None:
    """At tiny rates kappa is r^2 k/2 beside terms of size k."""
    for rate, move in ((Fraction(1, 10**6), 1), (Fraction(1, 10**5), 100), (Fraction(1, 10**30), 5)):
        about = rate**2 * move**2 / 2
        assert about * (1 - rate * move) - EPSILON_STEP <= geometric_rho([(rate, move, 1)]) <= about + 2 * EPSILON_STEP
    assert geometric_rho([]) == geometric_rho(moved_most(Fraction(1), 0, 3)) == 0


# ---------------------------------------------------------------- what a budget holds

BUDGETS = [(Fraction(epsilon), Fraction(delta)) for epsilon in ("0.05", "1", "6") for delta in ("1e-9", "1e-6", "1e-3")]


def gaussian(rho: Fraction, epsilon: Fraction) -> float:
    """The delta of Gaussian noise with this rho (Balle, Wang 2018, Theorem 8)."""
    moved, size = math.sqrt(2 * float(rho)), float(epsilon)
    parts = (norm.logcdf(moved / 2 - size / moved), size + norm.logcdf(-moved / 2 - size / moved))
    return float(np.exp(parts[0]) - np.exp(parts[1]))


@pytest.mark.parametrize(("epsilon", "delta"), BUDGETS)
def test_gaussian_noise_up_to_the_cap_keeps_the_budget_and_half_more_breaks_it(
    epsilon: Fraction, delta: Fraction
) -> None:
    rho = rho_within(epsilon, delta)
    assert gaussian(rho, epsilon) <= float(delta)
    assert gaussian(rho * Fraction(3, 2), epsilon) > float(delta)
    assert rho_within_earlier(epsilon, delta) < rho <= renyi.rho_for(epsilon, delta) + EPSILON_STEP


@pytest.mark.parametrize(("epsilon", "delta"), BUDGETS[3:6])
def test_randomised_response_up_to_the_cap_keeps_the_budget(epsilon: Fraction, delta: Fraction) -> None:
    rho = rho_within(epsilon, delta)
    for parts in (20, 300):
        each = single(rho / parts)
        assert best_optimal_dp(int(rho // pure_rho(each)), each, delta).epsilon <= epsilon
        assert best_optimal_dp(int(2 * rho // pure_rho(each)), each, delta).epsilon > epsilon


@pytest.mark.parametrize(("epsilon", "delta"), BUDGETS)
def test_the_order_follows_from_the_budget_alone_and_is_nearly_the_best(epsilon: Fraction, delta: Fraction) -> None:
    alpha = order(epsilon, delta)
    assert alpha > 1 and alpha.denominator & (alpha.denominator - 1) == 0, "a dyadic number, the same on every machine"
    for other in ORDERS:
        assert rho_at(Fraction(float(other)), epsilon, delta) <= rho_within(epsilon, delta)


def test_an_order_chosen_from_what_was_spent_would_promise_too_much() -> None:
    """Each order bounds delta by exp((alpha - 1)(alpha rho - epsilon)) times a factor. Who takes, at each number of
    answers, the order that is best there, reads a smaller epsilon than the order of the budget proves."""
    epsilon, delta = Fraction(1), Fraction(1, 10**6)
    rho = rho_within(epsilon, delta)
    fixed = order(epsilon, delta)
    for spent in (rho / 10, rho / 2):
        kept = fixed * spent + (epsilon - fixed * rho)  # what the order of the budget says of it
        assert renyi.epsilon_for(spent, delta) < kept


def test_parameters_out_of_range_are_refused() -> None:
    for epsilon, delta in ((0, 1), (-1, 1), (1, 0), (1, 2)):
        with pytest.raises(ParameterError):
            rho_within(Fraction(epsilon), Fraction(delta))
