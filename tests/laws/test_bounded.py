"""A bit with the clipped mean as its chance: its price and error, exactly, against enumeration."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

from dpviz.errors import ParameterError
from dpviz.exact import log_at_most
from dpviz.laws import bounded

LEVELS = [Fraction(1, 4), Fraction(1, 10), Fraction(2, 5)]
STEP = Fraction(1, 10**9)


def worst_ratio(n: int, level: Fraction) -> Fraction:
    chances = [bounded.bit_chance(t, n, level) for t in range(n + 1)]
    pairs = list(itertools.pairwise(chances))
    return max(max(a / b, b / a, (1 - a) / (1 - b), (1 - b) / (1 - a)) for a, b in pairs)


@pytest.mark.parametrize("level", LEVELS, ids=str)
def test_the_price_is_the_worst_ratio_over_all_neighbours(level: Fraction) -> None:
    for n in range(1, 201):
        assert bounded.ratio(n, level) == worst_ratio(n, level), n


def test_the_price_at_a_quarter_is_the_closed_form_and_below_the_papers() -> None:
    last = None
    for n in range(2, 201):
        g = -(-n // 4)
        ratio = bounded.ratio(n)
        assert ratio == max(Fraction(4 * g, n), 1 + Fraction(1, g))
        assert (
            log_at_most(ratio, bounded.paper_epsilon(n)) and bounded.epsilon(n, STEP) <= bounded.paper_epsilon(n) + STEP
        )
        assert n % 4 or n < 4 or ratio == 1 + Fraction(4, n)
        assert last is None or ratio <= last
        last = ratio
    assert bounded.ratio(1) == 3


def test_so_many_records_suffice_for_a_price_and_four_fewer_do_not() -> None:
    for target in (Fraction(1, 3), Fraction(1, 25), Fraction(2)):
        n = bounded.records_for(target)
        assert log_at_most(bounded.ratio(n), target)
        assert n == 4 or not log_at_most(bounded.ratio(n - 4), target)


def renyi(p: float, q: float, order: float) -> float:
    return math.log(p**order * q ** (1 - order) + (1 - p) ** order * (1 - q) ** (1 - order)) / (order - 1)


@pytest.mark.parametrize("n", [4, 7, 20, 100, 101])
def test_rho_is_above_every_renyi_divergence_and_below_the_papers(n: int) -> None:
    chances = [float(bounded.bit_chance(t, n)) for t in range(n + 1)]
    worst = max(
        renyi(p, q, order) / order
        for a, b in itertools.pairwise(chances)
        if a != b
        for p, q in ((a, b), (b, a))
        for order in np.concatenate([np.linspace(1.001, 10, 400), np.linspace(10, 400, 200)])
    )
    rho = bounded.zcdp(n, STEP)
    assert worst <= float(rho) and rho <= bounded.paper_zcdp(n) + STEP
    if n == 100:
        assert float(rho) * n**2 == pytest.approx(3.464, abs=1e-3) and worst * n**2 == pytest.approx(3.166, abs=1e-3)


def test_the_error_is_that_of_all_data_of_a_few_bits() -> None:
    for p, n in itertools.product((Fraction(1, 3), Fraction(1, 2), Fraction(0), Fraction(9, 10)), (1, 3, 8)):
        mean = sum(
            math.prod((p if bit else 1 - p for bit in bits), start=Fraction(1)) * bounded.bit_chance(sum(bits), n)
            for bits in itertools.product((0, 1), repeat=n)
        )
        assert bounded.error(p, n) == abs(mean - p)
    assert bounded.error(Fraction(1, 2), 37) == 0 and bounded.error(Fraction(0), 500) == Fraction(1, 4)


def test_the_error_falls_below_its_bound_and_as_early_as_known() -> None:
    for n in range(1, 120):
        assert float(bounded.error(Fraction(1, 3), n)) <= bounded.error_bound(n) + 1e-15
    for alpha, first, paper in ((Fraction(1, 10), 1, 295), (Fraction(1, 100), 24, 461), (Fraction(1, 1000), 84, 627)):
        assert bounded.paper_records(alpha) == paper
        assert bounded.error(Fraction(1, 3), first) <= alpha
        assert first == 1 or bounded.error(Fraction(1, 3), first - 1) > alpha


@pytest.mark.parametrize("columns", [2, 3])
def test_delta_of_several_columns_is_above_the_worst_pair_and_met_by_randomised_responses(columns: int) -> None:
    """Hockey-stick divergence over all outcomes of d columns of n = 8 bits each, all neighbouring column counts."""
    n, epsilon = 8, Fraction(1, 2)
    one, e = bounded.ratio(n), math.exp(0.5)
    steps = [
        pair
        for t in range(n)
        for pair in ((bounded.bit_chance(t, n), bounded.bit_chance(t + 1, n)),)
        for pair in (pair, pair[::-1])
    ]
    worst = 0.0
    for choice in itertools.product(steps, repeat=columns):
        excess = 0.0
        for bits in itertools.product((0, 1), repeat=columns):
            p = math.prod(float(a if bit else 1 - a) for bit, (a, _) in zip(bits, choice, strict=True))
            q = math.prod(float(b if bit else 1 - b) for bit, (_, b) in zip(bits, choice, strict=True))
            excess += max(0.0, p - e * q)
        worst = max(worst, excess)
    delta = float(bounded.product_delta(columns, one, epsilon))
    assert worst <= delta + 1e-12
    kept = float(one / (1 + one))
    met = sum(
        max(0.0, kept**ones * (1 - kept) ** (columns - ones) - e * kept ** (columns - ones) * (1 - kept) ** ones)
        * math.comb(columns, ones)
        for ones in range(columns + 1)
    )
    assert delta == pytest.approx(met, abs=1e-12)


def test_what_is_no_level_or_count_is_refused() -> None:
    for level in (Fraction(0), Fraction(1, 2), Fraction(-1)):
        with pytest.raises(ParameterError, match="level"):
            bounded.bit_chance(1, 4, level)
    with pytest.raises(ParameterError):
        bounded.bit_chance(5, 4)
    with pytest.raises(ParameterError):
        bounded.error(Fraction(2), 4)
