"""Sums of Laplace noise have the law of its convolutions, and the fit of two counts the stated error."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from dpviz.errors import ParameterError
from dpviz.exact import Decay
from dpviz.fitting.isotonic import isotonic
from dpviz.fitting.laplace import laplace_sum_above, two_counts_error
from dpviz.fitting.noises import Term
from dpviz.fitting.sums import NoiseSum


def test_one_and_two_noises_have_their_closed_forms() -> None:
    for t in (0.0, 0.3, 2.0, 40.0):
        assert laplace_sum_above(1, t) == pytest.approx(math.exp(-t) / 2, rel=1e-13)
        assert laplace_sum_above(2, t) == pytest.approx(math.exp(-t) * (2 + t) / 4, rel=1e-13)


@pytest.mark.parametrize("count", [3, 10, 200, 2000])
def test_fine_geometric_noise_has_the_same_tails(count: int) -> None:
    """At a rate of 1/10,000 a whole number is a ten thousandth: the two laws differ by less than that."""
    one = NoiseSum.of([Term(Decay.exp(Fraction(1, 10_000)), 1, count)])
    for deviations in (0, 1, 2, 4):
        t = deviations * math.sqrt(2 * count)
        low, high = one.above(int(t * 10_000))
        assert float(low) - 1e-4 <= laplace_sum_above(count, t) <= float(high) + 1e-4
    assert laplace_sum_above(count, 0.0) == pytest.approx(0.5, rel=1e-10)


def test_two_counts_are_fitted_with_the_stated_error() -> None:
    """By summing over a grid of both noises."""
    step = 0.125
    grid = np.arange(-24, 24 + step, step)
    mass = np.exp(-np.abs(grid))
    mass /= mass.sum()
    for gap in (0.0, 1.0, 4.0):
        first, second = np.meshgrid(grid, grid + gap, indexing="ij")
        merged = (
            np.where(first > second, (first + second) / 2, first),
            np.where(first > second, (first + second) / 2, second),
        )
        error = ((merged[0] ** 2 + (merged[1] - gap) ** 2) * np.multiply.outer(mass, mass)).sum()
        assert error == pytest.approx(two_counts_error(gap), rel=5e-3)
    assert isotonic([3, 1]).values() == [2, 2]


@pytest.mark.parametrize("arguments", [(0, 1.0), (3, -1.0), (3, math.nan), (3, math.inf), (2001, 1.0)], ids=str)
def test_sums_of_nothing_and_levels_that_are_no_numbers_are_refused(arguments: tuple[int, float]) -> None:
    with pytest.raises(ParameterError):
        laplace_sum_above(*arguments)
