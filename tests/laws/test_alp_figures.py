"""The paper's figures 3, 4 and 5, from the exact law, and figure 4 by simulation beside it."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from dpviz.fitting.unary import highest
from dpviz.laws.alp import Flips, Walks, bits_for, mean_bound


def flips(alpha: Fraction, load: str = "0") -> Flips:
    return Flips(1 / (alpha + 2), Fraction(load))


@pytest.mark.parametrize(
    ("load", "alpha", "least"),
    [
        ("0", "4", 12.0),
        ("1/20", "7/2", 14.063),
        ("1/10", "31/10", 16.85),
        ("3/20", "14/5", 20.822),
        ("1/5", "13/5", 26.845),
    ],
)
def test_the_minima_of_the_bound_of_figure_3(load: str, alpha: str, least: float) -> None:
    tenths = [Fraction(step, 10) for step in range(1, 101)]
    bounds = {
        one: (Fraction(1, 2) + mean_bound(flips(one, load))) * one for one in tenths if flips(one, load).raised < 1 / 2
    }
    best = min(bounds, key=lambda one: bounds[one])
    assert best == Fraction(alpha) and round(float(bounds[best]), 3) == least


def bits_off(seen: Flips) -> float:
    values, chances = Walks(seen).law
    return float(np.abs(values) @ chances)


def lead(epsilon: float, load: str) -> float:
    """How much more Algorithm 10 errs than Algorithm 4 at alpha 3, on values that need no rounding."""
    chance = Fraction(1 / (math.exp(epsilon) + 1)).limit_denominator(10**9)
    return bits_off(Flips(chance, Fraction(load))) - 3 / epsilon * bits_off(flips(Fraction(3), load))


@pytest.mark.parametrize(("load", "crossing"), [("0", 0.675), ("1/10", 0.624)])
def test_the_crossings_of_figure_5(load: str, crossing: float) -> None:
    assert lead(crossing - 0.002, load) > 0 > lead(crossing + 0.002, load)


def test_with_the_exact_price_both_algorithms_are_one_at_ln_4() -> None:
    assert bits_for(Fraction(3), Fraction(4)) == 1 and flips(Fraction(3)).p == Fraction(1, 1 + 4)


SIDE, RUNS, REACH = 150, 40_000, 0.46


def simulated(p: float, load: float) -> np.ndarray:
    """Errors at alpha 3 and epsilon 1: round, write, collide, flip, read."""
    generator = np.random.default_rng(2022)
    fraction = generator.random(RUNS)
    y = SIDE + (generator.random(RUNS) < fraction)
    bits = np.arange(2 * SIDE) < y[:, None]
    bits |= generator.random(bits.shape, dtype=np.float32) < load
    bits ^= generator.random(bits.shape, dtype=np.float32) < p
    sums, places = highest(bits.view(np.uint8))
    return 3 * (sums / places - SIDE - fraction)


@pytest.mark.parametrize(("load", "mean", "absolute"), [(0.1, 2.336, 6.458), (0.01, 0.171, 4.782)])
def test_figure_4_by_simulation(load: float, mean: float, absolute: float) -> None:
    """Errors are at most 453 with a variance of 117 at most, so by Bernstein's inequality a mean of 40,000 is off by
    0.46 with chance below 5e-10. Flips with chance 1/4 move the mean absolute error by more than 1, and are seen."""
    off = simulated(0.2, load)
    assert abs(off.mean() - mean) < REACH and abs(np.abs(off).mean() - absolute) < REACH
    assert np.abs(simulated(0.25, load)).mean() > absolute + 1 + REACH
