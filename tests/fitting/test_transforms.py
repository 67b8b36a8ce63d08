"""Transforms of discrete Gaussian noise against sums over its law, and the bounds on its tails."""

from __future__ import annotations

import cmath
import math
from fractions import Fraction

import numpy as np
import pytest

from dpviz.exact import Decay
from dpviz.fitting.bands import largest_gap
from dpviz.fitting.noises import Noises, Term
from dpviz.fitting.sums import NoiseSum
from dpviz.fitting.transforms import Gaussian
from dpviz.laws.gaussian import DiscreteGaussian

VARIANCES = [Fraction(1, 50), Fraction(1, 2), Fraction(3, 5), Fraction(4), Fraction(9, 2), Fraction(40), Fraction(900)]
ANGLES = [1e-3, 0.05, 0.5, 2.0, 3.1, -1.3]


def added(variance: Fraction, angle: float, positive: bool) -> complex:
    """E exp(i s Z), or that of max(Z, 0), by adding up."""
    reach = int(14 * math.sqrt(variance)) + 3
    weights = {z: math.exp(-z * z / (2 * float(variance))) for z in range(-reach, reach + 1)}
    parts = [weight * cmath.exp(1j * angle * (max(z, 0) if positive else z)) for z, weight in weights.items()]
    total = math.fsum(weights.values())
    return complex(math.fsum(one.real for one in parts) / total, math.fsum(one.imag for one in parts) / total)


@pytest.mark.parametrize("variance", VARIANCES)
@pytest.mark.parametrize("positive", [False, True])
def test_the_transform_is_the_sum_over_the_law_on_every_turn(variance: Fraction, positive: bool) -> None:
    made = Gaussian(DiscreteGaussian(variance))
    for angle in ANGLES:
        exact = added(variance, angle, positive)
        for turns in (0, 1, -2):
            size, phase = made.log(positive, np.array([angle / 2 + math.pi * turns]))
            turned = 0.0 if phase is None else float(phase[0])
            assert abs(cmath.exp(complex(float(size[0]), turned)) - exact) < 1e-13
    angle = 1 / math.sqrt(max(1, variance))
    twin, _ = Gaussian(DiscreteGaussian(variance * 1001 / 1000)).log(positive, np.array([angle / 2]))
    assert abs(math.exp(float(twin[0])) - abs(added(variance, angle, positive))) > 1e-13, "of a little more noise"


@pytest.mark.parametrize("variance", [*VARIANCES, Fraction(10**6)])
def test_the_transform_falls_all_the_way_so_that_its_last_point_is_found_by_bisection(variance: Fraction) -> None:
    made, half = Gaussian(DiscreteGaussian(variance)), np.linspace(0, math.pi / 2, 20_001)
    for positive in (False, True):
        size = made.log(positive, half)[0]
        assert (np.diff(size) <= 1e-12).all()


@pytest.mark.parametrize("variance", [*VARIANCES, Fraction(20_000)])
def test_moments_are_bounded_from_above_and_closely(variance: Fraction) -> None:
    made, spread = Gaussian(DiscreteGaussian(variance)), math.sqrt(variance)
    reach = int(30 * spread) + 5
    z = np.arange(-reach, reach + 1)
    chances = np.exp(-(z**2) / (2 * float(variance)))
    chances /= chances.sum()
    for at in (-3 / spread, -0.1 / spread, 0.01 / spread, 1 / spread, 4 / spread):
        for positive in (False, True):
            exact = math.log(float((chances * np.exp(at * (np.maximum(z, 0) if positive else z))).sum()))
            bound = float(made.log_moment(positive, np.array([[at]]))[0, 0])
            assert bound >= exact - 1e-12
            assert bound <= exact + (0.5 / spread if variance >= 1 else at * at)


@pytest.mark.parametrize("variance", [Fraction(1, 50), Fraction(4), Fraction(20_000)])
def test_a_moment_above_every_float_has_its_logarithm(variance: Fraction) -> None:
    """As where the total of few noisy counts is far from 0: E exp(a Z+) is at most E exp(a Z) and its share below 0."""
    made, at = Gaussian(DiscreteGaussian(variance)), np.array([[700.0, 5000.0, -700.0, -5000.0]])
    whole, raised = made.log_moment(False, at)[0], made.log_moment(True, at)[0]
    assert np.isfinite(raised).all() and (raised[:2] <= np.logaddexp(whole[:2], 0)).all()
    assert (raised[:2] >= at[0, :2] + math.log(float(made.zero)) - 1 / (2 * float(variance)) - 1e-9).all()
    assert raised[2:] == pytest.approx(math.log((1 + made.zero) / 2), abs=1e-4)


def test_a_sum_of_wide_noises_errs_as_a_normal_number_does() -> None:
    for variance, count in ((10**8, 50), (10**12, 1), (10**12, 7)):
        found = NoiseSum.of([Term(DiscreteGaussian(Fraction(variance)), 1, count)]).radius(Fraction(1, 20))
        assert float(found.value) == pytest.approx(1.959964 * math.sqrt(variance * count), rel=1e-5)
        assert found.error <= 1


def test_a_bound_on_the_tail_of_gaussian_sums_is_the_sub_gaussian_one() -> None:
    """sqrt(2 L sum of w**2 v), which Chernoff's bound is for noise with E exp(a Z) <= exp(a**2 v / 2)."""
    noises = Noises.of([Term(DiscreteGaussian(Fraction(9)), 2, 3), Term(DiscreteGaussian(Fraction(100)), 1)])
    for level in (-3.0, -40.0, -700.0):
        assert noises.chernoff(level) == pytest.approx(math.sqrt(2 * -level * (4 * 9 * 3 + 100)), rel=1e-4)
    mixed = [Term(DiscreteGaussian(Fraction(9)), 2, 3, True), Term(Decay.exp(Fraction(1, 3)), 1, 4)]
    found = NoiseSum.of(mixed)
    for level in (Fraction(1, 20), Fraction(1, 10**6)):
        assert found.upper(level).value <= found.chernoff(level)


@pytest.mark.parametrize("bins", [2, 5])
def test_the_largest_gap_of_gaussian_noises_is_that_of_all_pairs(bins: int) -> None:
    law, gap = DiscreteGaussian(Fraction(3)), 4
    z = np.arange(-60, 61)
    chances = np.exp(-(z**2) / 6.0)
    chances /= chances.sum()
    below = np.concatenate(([0.0], np.cumsum(chances)))
    near = math.fsum(
        (below[min(at + gap, len(z))] - below[at]) ** bins - (below[min(at + gap, len(z))] - below[at + 1]) ** bins
        for at in range(len(z))
    )
    low, high = largest_gap(law, bins, gap)
    assert float(low) == pytest.approx(1 - near, abs=1e-12) and high - low < Fraction(1, 10**15)


def test_the_largest_gap_of_wide_noise_is_enclosed_by_blocks() -> None:
    """Pr[|Z - Z'| >= 20,000] of two of standard deviation 10**4: twice the normal tail at sqrt(2)."""
    low, high = largest_gap(DiscreteGaussian(Fraction(10**8)), 2, 20_000)
    assert float(low) <= 0.15729920 <= float(high) and high - low < Fraction(1, 20)
