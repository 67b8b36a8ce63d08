"""The law of one drawn label, its bounds and its baselines, against enumeration and closed forms."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from scipy import integrate

from dpviz.exact import exp_bounds
from dpviz.laws import category

EPSILONS = [Fraction(1, 2), Fraction(1), Fraction(2)]


@pytest.mark.parametrize("epsilon", EPSILONS, ids=str)
@pytest.mark.parametrize("n", [3, 6, 12])
def test_one_draw_tells_less_than_is_charged(n: int, epsilon: Fraction) -> None:
    """The specification's figure: between 0.54 and 0.61 of epsilon, over all neighbours of n records on two labels."""
    worst = category.one_draw_epsilon(n, epsilon)
    assert 0.535 <= worst / float(epsilon) <= 0.615


def test_half_the_noise_is_caught() -> None:
    """A twin with noise of ratio exp(-epsilon) on each count: all its weights together tell twice what is charged."""
    law, twin = category.weight_law(3, Fraction(1)), category.weight_law(3, Fraction(2))
    near, near_twin = category.weight_law(4, Fraction(1)), category.weight_law(4, Fraction(2))
    size = min(law.size, twin.size) - 20
    assert np.abs(np.log(law[:size] / near[:size])).max() == pytest.approx(0.5, abs=1e-9)
    assert np.abs(np.log(twin[:size] / near_twin[:size])).max() == pytest.approx(1.0, abs=1e-9)


@pytest.mark.parametrize("epsilon", EPSILONS, ids=str)
def test_the_distance_is_within_its_bound(epsilon: Fraction) -> None:
    """Over all data of five records on three labels with chances 1/2, 1/3, 1/6, drawn independently."""
    chances, n = np.array([1 / 2, 1 / 3, 1 / 6]), 5
    mean = np.zeros(3)
    for counts in itertools.product(range(n + 1), repeat=3):
        if sum(counts) == n:
            many = math.factorial(n) / math.prod(math.factorial(count) for count in counts)
            mean += many * float(np.prod(chances ** np.array(counts))) * category.draw_law(counts, epsilon)
    distance = np.abs(mean - chances).sum() / 2
    assert distance <= float(category.distance_bound(3, n, epsilon)) <= float(category.paper_bound(3, n, epsilon))
    assert mean.sum() == pytest.approx(1, abs=1e-12)


def test_the_size_of_the_noise_is_its_mean() -> None:
    low, high = category.mean_weight_error(Fraction(1))
    r = math.exp(-0.5)
    direct = sum((1 - r) / (1 + r) * r ** abs(z) * abs(z) for z in range(-400, 401))
    assert float(low) == pytest.approx(direct, abs=1e-12) and float(high) == pytest.approx(
        1 / math.sinh(0.5), abs=1e-12
    )


@pytest.mark.parametrize("t", [0, 1, 3, 10])
def test_the_closed_form_of_two_labels_is_the_integral(t: int) -> None:
    """v = t/n + L1, (n-t)/n + L2 with Laplace noise of scale 2/(epsilon n) each; Euclid's projection of two labels is
    clip((1 + v1 - v2) / 2, 0, 1), and L1 - L2 has a density of its own."""
    n, epsilon = 10, Fraction(3, 2)
    scale = 2 / (1.5 * n)

    def density(y: float) -> float:
        return math.exp(-abs(y) / scale) * (1 + abs(y) / scale) / (4 * scale)

    def share(y: float) -> float:
        return min(1.0, max(0.0, t / n + y / 2))

    wanted, _ = integrate.quad(
        lambda y: share(y) * density(y), -60 * scale, 60 * scale, points=[0, -2 * t / n, 2 - 2 * t / n], limit=400
    )
    assert category.euclid_of_two(t, n, epsilon) == pytest.approx(wanted, abs=1e-10)
    assert t or category.euclid_of_two(0, n, epsilon) < 3 / (4 * 1.5 * n)


@pytest.mark.parametrize("counts", [(3, 0, 1), (1, 1), (0, 5)], ids=str)
def test_randomised_response_is_its_definition(counts: tuple[int, ...]) -> None:
    """One of n records, told truly with odds 1 + n (e - 1) to 1 against each other label."""
    k, n = len(counts), sum(counts)
    odds = 1 + n * (math.e - 1)
    for label, (low, high) in enumerate(category.response_law(counts, Fraction(1))):
        wanted = (counts[label] * odds + (n - counts[label])) / n / (odds + k - 1)
        assert 0 <= high - low < Fraction(1, 10**30) and float(low) == pytest.approx(wanted, abs=1e-12)


def test_randomised_response_meets_its_price_between_none_and_one() -> None:
    for n, k in itertools.product((1, 2, 7), (2, 5)):
        low, high = category.response_floor(k, n, Fraction(1))
        for g in (low, high):
            ratio = ((1 - g) / n + g / k) / (g / k)
            assert abs(ratio - exp_bounds(Fraction(1))[0]) < Fraction(1, 10**30)
        worst = category.response_distance(k, n, Fraction(1))
        alone = [float(chance) for chance, _ in category.response_law((n,) + (0,) * (k - 1), Fraction(1))]
        assert 1 - alone[0] == pytest.approx(float(worst), abs=1e-12)


def test_the_best_sampler_of_a_bit_has_the_known_errors() -> None:
    """The worst error times n at epsilon 1, of the specification; never above that of randomised response."""
    wanted = {1: 0.269, 2: 0.368, 5: 0.205, 20: 0.180}
    for n, product in wanted.items():
        f = category.best_bernoulli(n, Fraction(1))
        biases = np.linspace(0, 1, 201)
        from scipy.stats import binom

        error = np.abs(binom.pmf(np.arange(n + 1)[None, :], n, biases[:, None]) @ f - biases).max()
        assert error * n == pytest.approx(product, abs=2e-3)
        both = np.concatenate([f[1:] / f[:-1], f[:-1] / f[1:], (1 - f[1:]) / (1 - f[:-1]), (1 - f[:-1]) / (1 - f[1:])])
        assert both.max() <= math.e * (1 + 1e-7)
        assert error <= float(category.response_distance(2, n, Fraction(1))) + 1e-9
