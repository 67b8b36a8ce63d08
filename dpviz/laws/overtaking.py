"""The reach of noise that carries a lower count past higher ones: the largest of some noises against one, in order, of
others.

The noise is Pr[Z = z] proportional to exp(-rate |z|), independent for each count. Doubles, whose error SLACK covers.
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np
from scipy.special import bdtr

from dpviz.laws.list_variants import at_least

SLACK = 1e-9
"""More than rounding takes from a chance; it is added."""

REACH = 30.0
"""Noise beyond REACH / rate has a chance below 1e-13."""

CELLS = 4096
"""The noise is looked at on so many stretches of whole numbers; on each number by itself where there are no more."""

SCALED = 1 / 64
"""A distance is looked for at this rate first; at others it is about as much larger as the rate is smaller."""


def overtaken(distance: int, rate: float, lower: int, upper: int, first: int) -> float:
    """The chance, at most, that one of `lower` counts comes among the first of `upper` that lie `distance` above them.

    That is where the largest noise of the lower counts is at least `distance` larger than the first-th largest of the
    others: of equal noisy counts the lower one may come first.

    >>> round(overtaken(1, math.log(2), 1, 1, 1), 6)  # Pr[Z - Z' >= 1] = 11/27
    0.407407
    """
    reach = math.ceil((REACH + math.log(lower)) / rate)
    step = -(-2 * reach // CELLS)
    ends = np.arange(-reach, reach + step, step)  # of stretches; the first has no beginning
    one_above = np.minimum(at_least(ends + 1, rate), 0.5)
    none_above = np.where(ends < 0, at_least(-ends, rate) ** lower, np.exp(lower * np.log1p(-one_above)))
    passed = bdtr(first - 1, upper, at_least(ends + 1 - distance, rate))
    found = none_above[0] * passed[0] + np.diff(none_above) @ passed[1:] + (1 - none_above[-1])
    return min(1.0, float(found) + SLACK)


@lru_cache(maxsize=4096)
def least_distance(rate: float, lower: int, upper: int, first: int, beta: float) -> int:
    """The least distance from 1 on at which `overtaken` is at most beta."""

    def holds(distance: int) -> bool:
        return overtaken(distance, rate, lower, upper, first) <= beta

    low, high, stride = 0, _near(rate, lower, upper, first, beta), 1
    while not holds(high):
        low, high, stride = high, high + stride, 2 * stride
    stride = 1
    while low < high - stride and holds(high - stride):
        high, stride = high - stride, 2 * stride
    low = max(low, high - stride)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if holds(middle) else (middle, high)
    return high


def _near(rate: float, lower: int, upper: int, first: int, beta: float) -> int:
    """A first guess."""
    if rate == SCALED:
        return math.ceil(8 / SCALED)
    return max(1, round(least_distance(SCALED, lower, upper, first, beta) * SCALED / rate))
