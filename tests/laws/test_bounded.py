"""A bit with the clipped mean as its chance: its price and error, exactly, against enumeration."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpviz.errors import ParameterError
from dpviz.exact import exp_bounds, log_at_most
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


def pairs_of(chances: list[Fraction]) -> set[tuple[Fraction, Fraction]]:
    """The chances of a bit on a table and on a neighbour: one step up, one down, or none."""
    steps = {pair for one in itertools.pairwise(chances) for pair in (one, one[::-1])}
    return steps | {(chance, chance) for chance in chances}


def excess(pairs: Sequence[tuple[Fraction, Fraction]], odds: Fraction) -> Fraction:
    """The hockey-stick divergence of independent bits with these chances, over all outcomes."""
    total = Fraction(0)
    for bits in itertools.product((0, 1), repeat=len(pairs)):
        p = math.prod((p if bit else 1 - p for bit, (p, _) in zip(bits, pairs, strict=True)), start=Fraction(1))
        q = math.prod((q if bit else 1 - q for bit, (_, q) in zip(bits, pairs, strict=True)), start=Fraction(1))
        total += max(Fraction(0), p - odds * q)
    return total


def worst_excess(columns: int, pairs: set[tuple[Fraction, Fraction]], odds: Fraction) -> Fraction:
    return max(excess(some, odds) for some in itertools.combinations_with_replacement(sorted(pairs), columns))


CASES = [(1, 8, "1/4"), (2, 8, "1/4"), (3, 4, "1/4"), (2, 5, "1/4"), (2, 1, "1/4"), (3, 5, "2/5"), (2, 7, "1/10")]


@pytest.mark.parametrize("epsilon", ["0", "1/10", "1/2", "3/2"])
@pytest.mark.parametrize(("columns", "n", "level"), CASES)
def test_delta_of_several_columns_is_the_worst_over_all_neighbouring_pairs(
    columns: int, n: int, level: str, epsilon: str
) -> None:
    """Met where level n is whole. Twins: half of it, and the delta of a column less."""
    low, odds = Fraction(level), exp_bounds(Fraction(epsilon), 256)[0]
    worst = worst_excess(columns, pairs_of([bounded.bit_chance(t, n, low) for t in range(n + 1)]), odds)
    one, step = bounded.ratio(n, low), bounded.move(n, low)
    delta = bounded.product_delta(columns, one, Fraction(epsilon), step)
    assert worst <= delta <= bounded.product_delta(columns, one, Fraction(epsilon))
    if (low * n).denominator == 1 or n == 1:
        assert delta == worst
    if worst:
        assert delta / 2 < worst
        if columns > 1 and delta == worst and epsilon != "0":
            assert bounded.product_delta(columns - 1, one, Fraction(epsilon), step) < worst


def test_columns_at_both_ends_may_be_worse_than_all_at_one() -> None:
    one, step, odds = bounded.ratio(8), bounded.move(8), exp_bounds(Fraction(1, 100), 256)[0]
    low = (step / (one - 1) * one, step / (one - 1))
    high = (1 - low[1], 1 - low[0])
    ends = [excess([low] * k + [high] * (4 - k), odds) for k in range(5)]
    assert max(ends) == bounded.product_delta(4, one, Fraction(1, 100), step) > ends[4]


@settings(max_examples=60)
@given(st.integers(1, 40), st.integers(1, 40), st.lists(st.tuples(*[st.integers(1, 99)] * 2), min_size=3, max_size=3))
def test_any_bits_with_this_ratio_and_move_stay_below(ratio: int, part: int, drawn: list[tuple[int, int]]) -> None:
    one = 1 + Fraction(ratio, 20)
    step = (one - 1) / (one + 1) * Fraction(part, 40)
    pairs = []
    for at, far in drawn:
        q = Fraction(at, 100)
        top = min(one * q, q + step, 1 - (1 - q) / one)
        pairs.append((q + max(Fraction(0), top - q) * Fraction(far, 99), q))
    for epsilon in (Fraction(0), Fraction(1, 3)):
        odds = exp_bounds(epsilon, 256)[0]
        both = max(excess(pairs, odds), excess([pair[::-1] for pair in pairs], odds))
        assert both <= bounded.product_delta(3, one, epsilon, step)


@pytest.mark.parametrize("columns", [2, 3])
def test_where_only_the_ratio_is_known_randomised_responses_meet_delta(columns: int) -> None:
    one, epsilon = bounded.ratio(8), Fraction(1, 2)
    kept, low = one / (1 + one), exp_bounds(Fraction(1, 2), 256)[0]
    met = sum(
        math.comb(columns, ones)
        * max(
            Fraction(0),
            kept**ones * (1 - kept) ** (columns - ones) - low * kept ** (columns - ones) * (1 - kept) ** ones,
        )
        for ones in range(columns + 1)
    )
    assert bounded.product_delta(columns, one, epsilon) == met > 0


@pytest.mark.parametrize("columns", [1, 5, 30, 64])
def test_the_least_epsilon_of_a_delta_is_least_and_below_the_sum(columns: int) -> None:
    one, step, grid = bounded.ratio(1000), bounded.move(1000), Fraction(1, 10**6)
    for delta in (Fraction(1, 10**3), Fraction(1, 10**6), Fraction(1, 10**12)):
        epsilon = bounded.product_epsilon(columns, one, step, delta, grid)
        assert 0 <= epsilon <= columns * bounded.epsilon(1000, STEP) + grid
        assert bounded.product_delta(columns, one, epsilon, step) <= delta
        assert epsilon == 0 or bounded.product_delta(columns, one, epsilon - grid, step) > delta


def test_what_is_no_level_or_count_is_refused() -> None:
    for level in (Fraction(0), Fraction(1, 2), Fraction(-1)):
        with pytest.raises(ParameterError, match="level"):
            bounded.bit_chance(1, 4, level)
    with pytest.raises(ParameterError):
        bounded.bit_chance(5, 4)
    with pytest.raises(ParameterError):
        bounded.error(Fraction(2), 4)
    with pytest.raises(ParameterError, match="bounds how far"):
        bounded.product_delta(2, Fraction(3, 2), Fraction(0), Fraction(1, 4))
    with pytest.raises(ParameterError):
        bounded.product_delta(bounded.EXACT_COLUMNS + 1, Fraction(3, 2), Fraction(0))
