"""The isotonic fit is the best one, exactly, and equals both min-max formulas of the paper."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from itertools import combinations_with_replacement, permutations, product
from typing import Any

import numpy as np
import pytest

from dpviz.errors import ParameterError
from dpviz.fitting import isotonic as module
from dpviz.fitting.isotonic import Isotonic, error_bound, harmonic, isotonic, position_bounds, sorted_rounded

Values = Sequence[int | Fraction]
Fit = Callable[[Values], list[Fraction]]


def mean(values: Values) -> Fraction:
    return sum(values, Fraction(0)) / len(values)


def lower_formula(values: Values) -> list[Fraction]:
    """min over b >= j of max over a <= b of the mean of values a..b, as printed."""
    n = len(values)
    return [min(max(mean(values[a : b + 1]) for a in range(b + 1)) for b in range(j, n)) for j in range(n)]


def upper_formula(values: Values) -> list[Fraction]:
    """max over a <= j of min over b >= a of the mean of values a..b, as printed."""
    n = len(values)
    return [max(min(mean(values[a : b + 1]) for b in range(a, n)) for a in range(j + 1)) for j in range(n)]


def random_cases() -> list[list[int]]:
    chance = np.random.default_rng(7)
    return [chance.integers(-spread, spread + 1, size).tolist() for size in (1, 2, 9, 17) for spread in (1, 4, 50)]


SMALL = [list(values) for size in (1, 2, 3, 4) for values in product(range(-1, 2), repeat=size)]


def check(fit: Fit) -> None:
    for values in SMALL + random_cases():
        assert lower_formula(values) == upper_formula(values) == fit(values), values


def test_the_fit_equals_both_formulas_on_every_small_case_and_on_random_ones() -> None:
    check(lambda values: isotonic(values).values())
    check(lambda values: isotonic(np.array(values)).values())


def test_the_exact_stack_equals_both_formulas_where_numbers_are_too_large_for_floats() -> None:
    large = 2**60
    check(lambda values: [value - large for value in isotonic([value + large for value in values]).values()])
    check(lambda values: [3 * value for value in isotonic([Fraction(value, 3) for value in values]).values()])
    assert isotonic([large, large + 1]).sums.dtype == object and isotonic([1, 2]).sums.dtype == np.int64


def test_a_running_maximum_and_a_fit_that_merges_once_are_rejected() -> None:
    def merged_once(values: Values) -> list[Fraction]:
        fitted = [Fraction(value) for value in values]
        for at in range(len(fitted) - 1):
            if fitted[at] > fitted[at + 1]:
                fitted[at] = fitted[at + 1] = (fitted[at] + fitted[at + 1]) / 2
        return fitted

    def running_maximum(values: Values) -> list[Fraction]:
        return [Fraction(max(values[: at + 1])) for at in range(len(values))]

    for twin in (merged_once, running_maximum):
        with pytest.raises(AssertionError):
            check(twin)


def test_the_example_of_the_paper() -> None:
    assert isotonic([1, 2, 0, 11]).values() == [1, 1, 1, 11]
    assert list(isotonic([9, 14, 10]).values()) == [9, 12, 12]
    assert isotonic([14, 9, 10, 15]).values() == [11, 11, 11, 15]


def squared(values: Values, fitted: Values) -> Fraction:
    return sum(((Fraction(a) - b) ** 2 for a, b in zip(values, fitted, strict=True)), Fraction(0))


def check_whole(whole: Callable[[Isotonic, int | None], Any]) -> None:
    """No ascending sequence of whole numbers, of those that come into question, is nearer."""
    for size, least in product((1, 2, 3, 4), (None, 0)):
        floor = -3 if least is None else least
        others = np.array(list(combinations_with_replacement(range(floor, 4), size)))
        for values in map(list, product(range(-2, 3), repeat=size)):
            fitted = whole(isotonic(values), least).tolist()
            assert fitted == sorted(fitted) and min(fitted) >= floor
            assert squared(values, fitted) == int(((others - values) ** 2).sum(axis=1).min()), values


def test_rounding_and_raising_after_the_fit_is_exactly_the_best_whole_fit() -> None:
    check_whole(lambda fit, least: fit.whole(least))
    check_whole(lambda fit, least: Isotonic(fit.starts, fit.sums.astype(object), fit.size).whole(least))


def test_rounding_down_is_rejected_and_so_is_raising_before_the_fit() -> None:
    with pytest.raises(AssertionError):
        check_whole(lambda fit, least: np.floor(fit.floats(least)).astype(int))
    values = [-2, 3, 1]
    raised_first = isotonic([max(0, value) for value in [1, -5, 2]])
    assert raised_first.values() != isotonic([1, -5, 2]).values(least=0)
    assert isotonic(values).values(least=0) == [0, 2, 2]


def test_no_ascending_sequence_of_fractions_above_the_least_value_is_nearer() -> None:
    """On a grid that holds the fit itself: multiples of 1/6 hold every mean of up to three whole numbers."""
    grid = [Fraction(at, 6) for at in range(13)]
    for values in product(range(-2, 3), repeat=3):
        fitted = isotonic(list(values)).values(least=0)
        best = min(squared(values, other) for other in combinations_with_replacement(grid, 3))
        assert squared(values, fitted) == best


def test_blocks_totals_and_single_positions_are_read_without_the_rest() -> None:
    for values in random_cases():
        fit = isotonic(values)
        fitted = fit.values()
        assert [mean for _, length, mean in fit.blocks() for _ in range(length)] == fitted
        means = [mean for _, _, mean in fit.blocks()]
        assert means == sorted(set(means)), "equal means are one block"
        assert [fit.at(at) for at in range(fit.size)] == fitted
        for first in range(fit.size):
            for last in range(first, fit.size):
                assert fit.total(first, last) == sum(fitted[first : last + 1])
        assert fit.total(0, fit.size - 1) == sum(values), "the total is unbiased"
        assert fit.floats().tolist() == [float(value) for value in fitted]
        assert fit.floats(least=0).tolist() == [float(max(value, 0)) for value in fitted]


def test_a_proposal_that_rounding_misled_is_not_believed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever SciPy proposes, the answer is the exact fit."""
    import scipy.optimize

    class Proposal:
        def __init__(self, blocks: list[int]) -> None:
            self.blocks = np.array(blocks)

    values = np.array([3, 1, 2, 2, 5, 4])
    exact = isotonic(values).values()
    for cuts in product([False, True], repeat=5):
        blocks = [0, *(at + 1 for at, cut in enumerate(cuts) if cut), 6]
        monkeypatch.setattr(scipy.optimize, "isotonic_regression", lambda y, blocks=blocks: Proposal(blocks))
        assert isotonic(values).values() == exact


def test_near_ties_beyond_the_precision_of_a_float_are_told_apart() -> None:
    """Means that differ by less than a float can say, and products that wrap around in 64 bits."""
    big = 2**51
    assert isotonic([big + 1, big]).values() == [Fraction(2 * big + 1, 2)] * 2
    rows = np.array([2**31 + 1] * 2**20 + [2**31] * 2**20)
    fit = isotonic(rows)
    assert fit.starts.tolist() == [0] and fit.at(5) == 2**31 + Fraction(1, 2)
    rising = isotonic(rows[::-1])
    assert rising.starts.tolist() == [0, 2**20]


def test_signs_of_differences_of_products_are_exact() -> None:
    chance = np.random.default_rng(1)
    a, b = (chance.integers(-(2**53), 2**53 + 1, 4000) for _ in range(2))
    c, d = b + chance.integers(-2, 3, 4000), a + chance.integers(-2, 3, 4000)
    pairs = zip(a.tolist(), b.tolist(), c.tolist(), d.tolist(), strict=True)
    exact = [(p * q > r * s) - (p * q < r * s) for p, q, r, s in pairs]
    assert module._signs(a, b, c, d).tolist() == exact
    naive = np.sign(a.astype(float) * b - c.astype(float) * d)
    assert naive.tolist() != exact, "floats alone would not do"


def test_a_constant_truth_has_the_harmonic_number_as_its_error_exactly() -> None:
    """Over all orders of values without ties of means, the number of blocks is on average the harmonic number."""
    for size in (1, 2, 3, 4, 5):
        values = [2**at for at in range(size)]  # no two sets of them have the same mean
        counts = [len(isotonic(list(order)).starts) for order in permutations(values)]
        assert Fraction(sum(counts), len(counts)) == harmonic(size)
    assert harmonic(1000) == sum(Fraction(1, at) for at in range(1, 1001))
    assert error_bound([3, 1]) == harmonic(3) + 1


def test_bounds_hold_by_enumeration_of_small_noise() -> None:
    """Noise -2, 0, 2 with chances 1/4, 1/2, 1/4 (variance 2) on every position."""
    law = {-2: Fraction(1, 4), 0: Fraction(1, 2), 2: Fraction(1, 4)}
    for truth, runs in (([5, 5, 5, 5], [4]), ([1, 1, 9, 9], [2, 2]), ([1, 2, 2, 30], [1, 2, 1])):
        errors = [Fraction(0)] * 4
        for noise in product(law, repeat=4):
            chance = Fraction(1)
            for one in noise:
                chance *= law[one]
            fitted = isotonic([t + z for t, z in zip(truth, noise, strict=True)]).values()
            errors = [e + chance * (f - t) ** 2 for e, f, t in zip(errors, fitted, truth, strict=True)]
        assert sum(errors) <= 2 * error_bound(runs)
        assert all(e <= 2 * bound for e, bound in zip(errors, position_bounds(runs), strict=True))
        if len(runs) == 1:
            assert sum(errors) == 2 * harmonic(4), "equality for equal counts, whatever the law"


def test_the_baseline_sorts_the_noisy_values() -> None:
    assert sorted_rounded(np.array([3, -2, 1])).tolist() == [0, 1, 3]
    assert sorted_rounded([3, -(2**70), 2**70]).tolist() == [0, 3, 2**70]


@pytest.mark.parametrize(
    "values", [[], [1.5], [float("nan")], np.array([1.0, np.nan]), np.array([[1, 2]]), [True]], ids=str
)
def test_what_is_no_list_of_exact_numbers_is_refused(values: Any) -> None:
    with pytest.raises(ParameterError):
        isotonic(values)


def test_positions_outside_are_refused() -> None:
    fit = isotonic([1, 2, 3])
    for call in (lambda: fit.at(3), lambda: fit.at(-1), lambda: fit.total(2, 1), lambda: harmonic(0)):
        with pytest.raises(ParameterError):
            call()
