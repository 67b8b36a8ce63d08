"""What the flipped bits of a unary number say of it: three estimators, free, each of all bits of a key.

The bits are ones up to y and zeros beyond, flipped with chance p; beyond y other keys may have set some. Estimators are
post-processing of what was drawn, so one is chosen when an answer is read, and any number of times.

Source: Aumüller, Lebeda, Pagh 2022, Algorithms 3 and 5, for `paper`; the others are ours.
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

Rows = NDArray[np.uint8]

NEAR = 1e-9
"""Two logarithms of likelihoods that differ by less are the same number, rounded in two ways."""


def paper(rows: Rows) -> list[Fraction]:
    """The mean of all places from 0 on where the prefix sum of ones less zeros is largest, of each row of bits.

    >>> paper(np.array([[1, 1, 1, 0, 1, 0, 0, 1], [0] * 8, [1] * 8], dtype=np.uint8))
    [Fraction(4, 1), Fraction(0, 1), Fraction(8, 1)]
    """
    sums, places = highest(rows)
    return [Fraction(total, count) for total, count in zip(sums.tolist(), places.tolist(), strict=True)]


def highest(rows: Rows) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The sum of the places where the prefix sum is largest, and how many there are."""
    walk, best, sums = (np.zeros(len(rows), dtype=np.int64) for _ in range(3))
    places = np.ones(len(rows), dtype=np.int64)
    for place in range(1, rows.shape[1] + 1):
        walk += 2 * rows[:, place - 1].astype(np.int64) - 1
        above, level = walk > best, walk == best
        sums = np.where(above, place, sums + place * level)
        places = np.where(above, 1, places + level)
        np.maximum(best, walk, out=best)
    return sums, places


def likelihood(rows: Rows, p: float, raised: float) -> list[Fraction]:
    """The mean of all y that make the bits most likely. With no collisions, where `raised` is p, it is `paper`.

    p       the chance that a bit is flipped
    raised  the chance that a bit beyond y is read as a one, at least p
    """
    weights = _logarithms(rows, p, raised)
    largest = weights >= weights.max(axis=1, keepdims=True) - NEAR
    sums, counts = largest @ np.arange(rows.shape[1] + 1), largest.sum(axis=1)
    return [Fraction(total, count) for total, count in zip(sums.tolist(), counts.tolist(), strict=True)]


def posterior_median(rows: Rows, p: float, raised: float) -> list[Fraction]:
    """The least y that is at most the number with chance 1/2 or more, where all y were equally likely before."""
    weights = _logarithms(rows, p, raised)
    chances = np.exp(weights - weights.max(axis=1, keepdims=True))
    reached = np.cumsum(chances, axis=1)
    medians = (reached < reached[:, -1:] * (0.5 - NEAR)).sum(axis=1)
    return [Fraction(place) for place in medians.tolist()]


def _logarithms(rows: Rows, p: float, raised: float) -> NDArray[np.float64]:
    """The logarithm of the likelihood of each y from 0 on, but for one constant in each row."""
    one, zero = math.log((1 - p) / raised), math.log(p / (1 - raised))
    weights = np.zeros((len(rows), rows.shape[1] + 1))
    np.cumsum(np.where(rows == 1, one, zero), axis=1, out=weights[:, 1:])
    return weights
