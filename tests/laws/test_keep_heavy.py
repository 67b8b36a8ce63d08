"""KeepHeavy: its enumerated law, its law of one bin, and floats that stand for bounds."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

from dpviz.exact import Decay
from dpviz.laws.clamped import Clamped
from dpviz.laws.geometric import TwoSidedGeometric
from dpviz.laws.keep_heavy import POISSON, OneBin, exact_law, exact_marginal, keep_heavy

HALF = Decay.rational(Fraction(1, 2))
CASES = [(3, 1), (4, 1), (5, 2)]


def one_of(decay: Decay, n: int):  # type: ignore[no-untyped-def]
    law = Clamped(TwoSidedGeometric(decay), 0, n)
    return lambda count: {value: law.pmf(count, value)[0] for value in range(n + 1)}


def vectors(size: int, n: int) -> list[tuple[int, ...]]:
    return [vector for vector in itertools.product(range(n + 1), repeat=size) if sum(vector) <= n]


def test_ties_at_the_cut_are_all_dropped_and_at_most_n_bins_are_kept() -> None:
    assert keep_heavy([2, 2, 2, 0, 0], 2) == ()
    assert keep_heavy([2, 2, 1, 1, 0], 2) == ((0, 2), (1, 2))
    assert keep_heavy([0, 0, 0, 0, 7], 2) == ((4, 7),)
    for noisy in itertools.product(range(3), repeat=5):
        assert len(keep_heavy(noisy, 2)) <= 2


@pytest.mark.parametrize(("size", "n"), CASES)
@pytest.mark.parametrize("ratio", [Fraction(1, 2), Fraction(4, 5)], ids=str)
def test_the_law_of_one_bin_is_that_of_the_enumeration(size: int, n: int, ratio: Fraction) -> None:
    one = one_of(Decay.rational(ratio), n)
    for counts in vectors(size, n):
        law = exact_law(counts, n, one)
        assert sum(law.values()) == 1
        for place in range(size):
            shown: dict[int, Fraction] = dict.fromkeys(range(n + 1), Fraction(0))
            for outcome, chance in law.items():
                shown[dict(outcome).get(place, 0)] += chance
            assert exact_marginal(place, counts, n, one) == shown


@pytest.mark.parametrize(("size", "n"), CASES)
def test_the_chance_that_a_bin_is_shown_is_exact_where_the_others_are_empty(size: int, n: int) -> None:
    one = one_of(HALF, n)
    for count in range(n + 1):
        exact = 1 - exact_marginal(0, [count, *[0] * (size - 1)], n, one)[0]
        assert OneBin(HALF, size, n).chance_shown(count) == pytest.approx(float(exact), rel=1e-12)


def exact_tail(place: int, counts: tuple[int, ...], n: int, decay: Decay, a: int) -> Fraction:
    law = exact_marginal(place, counts, n, one_of(decay, n))
    return sum((chance for value, chance in law.items() if abs(value - counts[place]) > a), Fraction(0))


@pytest.mark.parametrize(("size", "n"), [(3, 1), (5, 2), (7, 3), (9, 4)])
@pytest.mark.parametrize("ratio", [Fraction(1, 2), Fraction(4, 5)], ids=str)
def test_the_tail_is_never_below_the_exact_one_whatever_the_other_bins_hold(size: int, n: int, ratio: Fraction) -> None:
    """And equal to it somewhere: at an empty bin with all others empty."""
    decay, far = Decay.rational(ratio), 1e-11
    law = OneBin(decay, size, n)
    for counts in {tuple(sorted(vector)) for vector in vectors(size, n)}:
        for place in {counts.index(count) for count in counts}:
            for a in range(n + 1):
                exact = float(exact_tail(place, counts, n, decay, a))
                assert law.tail(counts[place], a) >= exact
                if not any(counts):
                    assert law.tail(0, a) <= exact + far


def test_a_tail_that_forgot_the_competition_would_be_refused() -> None:
    """A bin that is lost is the error that matters: without it the stated tail lies below the exact one."""
    law, counts = OneBin(HALF, 9, 4), (0, 0, 0, 0, 0, 0, 1, 1, 2)
    noise_alone = float(2 * TwoSidedGeometric(HALF).above(1)[0])
    assert noise_alone < float(exact_tail(8, counts, 4, HALF, 1)) <= law.tail(2, 1)


def test_long_sums_in_blocks_are_rounded_to_their_side() -> None:
    decay = Decay.exp(Fraction(1, 400))
    law = OneBin(decay, 2**40, 20_000)
    values = np.arange(1, 20_001)
    beyond = law.above(9500, np.arange(0, 20_001))
    exact = float(((beyond[:-1] - beyond[1:]) * law.not_crowded(values, 30)).sum())
    down, up = law.held(9500, 1, 20_000, 30), law.held(9500, 1, 20_000, 30, up=True)
    assert down <= exact <= up and up - down < 0.05
    assert 0.1 < exact < 0.9


def test_a_huge_domain_is_taken_as_poisson_within_the_slack() -> None:
    """At 2**53 trials both ways are open; they agree far better than the slack."""
    binomial = OneBin(Decay.exp(Fraction(1, 2)), POISSON, 1000)
    poisson = OneBin(Decay.exp(Fraction(1, 2)), POISSON + 1, 1000)
    values = np.arange(40, 90)
    for slots in (0, 10, 999):
        assert np.abs(binomial.not_crowded(values, slots) - poisson.not_crowded(values, slots)).max() < 1e-9


@pytest.mark.parametrize("size", [10**3, 2**32, 2**64, 10**200], ids=str)
def test_the_cut_is_what_n_and_one_empty_bins_are_expected_to_reach(size: int) -> None:
    law = OneBin(Decay.exp(Fraction(1, 3)), size, 100)
    reach = [size * TwoSidedGeometric(law.decay).above(law.cut - 1 + step)[0] for step in (0, 1)]
    assert law.cut == 100 or reach[0] >= 101 > reach[1]
    assert OneBin(HALF, 5, 2).cut == 0


def test_any_noise_above_a_is_a_union_bound() -> None:
    law = OneBin(HALF, 1000, 50)
    tail = TwoSidedGeometric(HALF).above(20)[0]
    assert law.any_above(20) == pytest.approx(float(1000 * tail), rel=1e-9)
    assert float(1 - (1 - tail) ** 1000) <= law.any_above(20)
    assert math.isfinite(OneBin(HALF, 10**200, 50).any_above(1)) and OneBin(HALF, 10**200, 50).any_above(1) >= 1
