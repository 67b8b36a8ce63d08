"""How many records drawing and learning need, and what a draw from two labels is off, against definitions."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

from dpviz.errors import ParameterError
from dpviz.laws import bounded, sampling_curves
from dpviz.laws.category import draw_law, euclid_of_two
from dpviz.laws.product import largest_rho
from dpviz.laws.sampling_curves import (
    best_pair,
    bits_learned,
    bounded_drawn,
    bounded_drawn_sharper,
    categories_crossing,
    categories_drawn,
    categories_floor,
    categories_learned,
    categories_learned_privately,
    clipped_pair,
    first_size,
    learning_errors,
    pair_law,
    response_pair,
    sampling_errors,
    too_few,
)

BIASES = np.array([0, 0.01, 0.1, 1 / 3, 0.5, 0.9, 1])


@pytest.mark.parametrize(("n", "epsilon"), [(1, "1"), (2, "1/2"), (5, "2"), (7, "3"), (12, "1/3")])
def test_the_law_of_two_labels_is_that_of_their_weights(n: int, epsilon: str) -> None:
    law = pair_law(n, Fraction(epsilon))
    direct = np.array([draw_law([t, n - t], Fraction(epsilon))[0] for t in range(n + 1)])
    assert np.abs(law - direct).max() < 1e-9
    assert np.abs(law + law[::-1] - 1).max() < 1e-9
    twin = np.array([euclid_of_two(t, n, Fraction(epsilon)) for t in range(n + 1)])
    assert np.abs(twin - direct).max() > 1e-4  # another projection and continuous noise: not the same law


def test_with_a_small_epsilon_and_many_records_the_law_keeps_its_bound_and_its_symmetry() -> None:
    for n, epsilon in ((500, Fraction(1, 100)), (500, Fraction(3)), (50, Fraction(1, 100))):
        law = pair_law(n, epsilon)
        assert np.all(np.diff(law) > 0) and np.abs(law + law[::-1] - 1).max() < 1e-8
        assert np.abs(law - np.arange(n + 1) / n).max() <= 2 / (n * math.sinh(float(epsilon) / 2))


def test_errors_of_drawing_and_learning_are_sums_over_all_samples() -> None:
    n, epsilon = 3, Fraction(1)
    for law in (pair_law(n, epsilon), response_pair(n, epsilon), clipped_pair(n), best_pair(n, epsilon)):
        for p, found in zip(BIASES, sampling_errors(law, BIASES), strict=True):
            mean = sum(
                math.prod(p if bit else 1 - p for bit in bits) * law[sum(bits)]
                for bits in itertools.product((0, 1), repeat=n)
            )
            assert abs(found - abs(mean - p)) < 1e-12
    for p, found in zip(BIASES, learning_errors(n, BIASES), strict=True):
        mean = sum(
            math.prod(p if bit else 1 - p for bit in bits) * abs(sum(bits) / n - p)
            for bits in itertools.product((0, 1), repeat=n)
        )
        assert abs(found - mean) < 1e-12


def test_the_best_draw_is_private_and_no_other_private_draw_beats_it() -> None:
    grid = np.linspace(0, 1, 101)
    for n, epsilon in ((5, Fraction(1)), (20, Fraction(1, 2))):
        best = best_pair(n, epsilon)
        ratio = math.exp(float(epsilon)) * (1 + 1e-7)
        for one, other in itertools.pairwise(best):
            assert max(one / other, other / one, (1 - one) / (1 - other), (1 - other) / (1 - one)) <= ratio
        least = sampling_errors(best, grid).max()
        for law in (pair_law(n, epsilon), response_pair(n, epsilon)):
            assert sampling_errors(law, grid).max() >= least - 1e-9
        floor = categories_floor(2, float(least), float(epsilon))
        assert floor is not None and floor <= n


def test_near_a_half_drawing_is_easy_and_learning_hard_and_near_0_the_reverse() -> None:
    ends, middle = np.array([0.0]), np.array([0.5])
    law = pair_law(50, Fraction(1))
    assert sampling_errors(law, middle)[0] == 0 and learning_errors(50, ends)[0] == 0
    assert sampling_errors(law, ends)[0] > 0.01 and learning_errors(50, middle)[0] > 0.05


def test_sizes_of_categories_meet_what_they_promise() -> None:
    for k, alpha, epsilon in itertools.product((2, 20, 1000), (0.001, 0.05, 0.3), (0.01, 1.0, 3.0)):
        n = categories_drawn(k, alpha, epsilon)
        assert k / (n * math.sinh(epsilon / 2)) <= 2 * k / (n * epsilon) <= alpha * (1 + 1e-12)
        n = categories_learned(k, alpha)
        assert math.isclose(math.sqrt((k - 1) / n) / 2, alpha)
        n = categories_learned_privately(k, alpha, epsilon)
        assert math.isclose(math.sqrt((k - 1) / n) / 2 + 2 * k / (n * epsilon), alpha, rel_tol=1e-9)
        assert n > max(categories_learned(k, alpha), categories_drawn(k, alpha, epsilon))
        at = categories_crossing(k, epsilon)
        assert math.isclose(categories_drawn(k, at, epsilon), categories_learned(k, at))
    assert categories_crossing(10**6, 1.0) == pytest.approx(1 / 8, rel=1e-5)


def test_what_is_said_to_be_needed_is_needed_by_no_sampler_that_there_is() -> None:
    for k, alpha, epsilon in itertools.product((2, 3, 20, 1001), (0.001, 1 / 120, 0.05, 0.1), (0.01, 0.5, 1.0)):
        floor = categories_floor(k, alpha, epsilon)
        assert floor is not None and 0 < floor < categories_drawn(k, alpha, epsilon)
        assert floor >= math.log(4.5) / 20 / (alpha * epsilon) * (1 - 1e-9)  # the paper's bound, its constant corrected
    assert categories_floor(2, 0.11, 1.0) is None
    assert categories_floor(10**6 + 1, 0.001, 1.0) == pytest.approx(500_000 / 0.48)


def test_sizes_of_bits_are_the_numbers_of_the_paper() -> None:
    rho, logarithm = float(largest_rho(Fraction(1, 2), Fraction(1, 10**6))), math.log(1e6)
    assert math.ceil(bounded_drawn(1000, 0.05, rho)) == 1342
    assert math.ceil(bounded_drawn(1000, 0.05, 0.25 / (16 * logarithm))) == 2660
    sharp = bounded_drawn_sharper(10, 0.01, 1.0)
    assert 3 * 10 / sharp * math.exp(-sharp / 72) == pytest.approx(0.01) and sharp < bounded_drawn(10, 0.01, 1.0)
    assert bounded_drawn_sharper(10**5, 0.3, 1e-4) == math.sqrt(8 * 10**5 / 1e-4)  # privacy decides
    assert bits_learned(100, 0.1) == pytest.approx(5000)


def test_quotients_of_fractions_are_exact() -> None:
    alpha, epsilon = Fraction(1, 30), Fraction(3, 7)
    assert categories_drawn(20, alpha, epsilon) == 40 * 30 * Fraction(7, 3)
    assert categories_learned(20, alpha) == Fraction(19 * 900, 4) and bits_learned(7, alpha) == 3150


def test_the_first_size_of_a_bit_without_noise_is_far_below_the_papers() -> None:
    third = np.array([1 / 3])
    found = [first_size(a, lambda n: float(sampling_errors(clipped_pair(n), third)[0])) for a in (0.1, 0.01, 0.001)]
    assert found == [1, 24, 84]
    for n in (1, 7, 24):
        exact = [float(bounded.error(p, n)) for p in (Fraction(0), Fraction(1, 3), Fraction(1, 2), Fraction(3, 4))]
        assert np.allclose(sampling_errors(clipped_pair(n), np.array([0, 1 / 3, 1 / 2, 3 / 4])), exact, atol=1e-13)
    with pytest.raises(ParameterError):
        first_size(1e-9, lambda n: 1.0)


def test_too_few_records_come_as_often_as_poisson_says_and_less_than_the_bound() -> None:
    for n in (1, 2, 10, 60):
        direct = sum(math.exp(-2 * n) * (2.0 * n) ** x / math.factorial(x) for x in range(n))
        assert math.isclose(too_few(n), direct, rel_tol=1e-9) and too_few(n) <= math.exp(-n / 6)


def test_curves_are_public_arithmetic_and_no_mechanism_draws_by_them() -> None:
    assert "random" not in vars(sampling_curves)
