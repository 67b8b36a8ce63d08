"""The estimates from the flipped bits of a unary number: three estimators, free, each of all bits of a key.

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
    return _means(*highest(rows), rows.shape[1] + 1)


def highest(rows: Rows) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The sum of the places where the prefix sum is largest, and how many there are.

    Fastest where the bits of all keys in one column lie together.
    """
    m = rows.shape[1]
    narrow = np.int32 if m < 1 << 15 else np.int64  # a sum of places is below m squared
    walk, best, places = (np.full(len(rows), first, dtype=np.int32) for first in (0, 0, 1))
    sums, more = np.zeros((2, len(rows)), dtype=narrow)
    steps = 2 * rows.view(np.int8) - 1
    for place in range(1, m + 1):
        walk += steps[:, place - 1]
        above, level = walk > best, walk == best
        np.multiply(level, place, out=more, casting="unsafe")
        sums += more
        places += level
        np.copyto(sums, place, where=above)
        np.copyto(places, 1, where=above)
        np.maximum(best, walk, out=best)
    return sums.astype(np.int64), places.astype(np.int64)


def _means(sums: NDArray[np.int64], counts: NDArray[np.int64], most: int) -> list[Fraction]:
    """Sums divided by counts, of at most `most`: few are different, and each of these is divided once."""
    found, where = np.unique(sums * (most + 1) + counts, return_inverse=True)
    means = np.empty(len(found), dtype=object)
    means[:] = [Fraction(code // (most + 1), code % (most + 1)) for code in found.tolist()]
    every: list[Fraction] = means[where.ravel()].tolist()
    return every


def likelihood(rows: Rows, p: float, raised: float, cleared: int = 0) -> list[Fraction]:
    """The mean of all y that make the bits most likely. With no collisions, where `raised` is p, it is `paper`.

    p        the chance that a bit is flipped
    raised   the chance that a bit beyond y is read as a one, at least p
    cleared  in so many columns, the first, other keys clear bits instead of setting them: there it is a bit up to y
             that is read as a zero with the chance `raised`
    """
    weights = _logarithms(rows, p, raised, cleared)
    largest = weights >= weights.max(axis=1, keepdims=True) - NEAR
    sums, counts = largest @ np.arange(rows.shape[1] + 1), largest.sum(axis=1)
    return _means(sums, counts, rows.shape[1] + 1)


def posterior_median(rows: Rows, p: float, raised: float, cleared: int = 0) -> list[Fraction]:
    """The least y that is at most the number with chance 1/2 or more, where all y were equally likely before."""
    weights = _logarithms(rows, p, raised, cleared)
    chances = np.exp(weights - weights.max(axis=1, keepdims=True))
    reached = np.cumsum(chances, axis=1)
    medians = (reached < reached[:, -1:] * (0.5 - NEAR)).sum(axis=1)
    return _means(medians, np.ones_like(medians), 1)


def _logarithms(rows: Rows, p: float, raised: float, cleared: int = 0) -> NDArray[np.float64]:
    """The logarithm of the likelihood of each y from 0 on, but for one constant in each row."""
    one, zero = math.log((1 - p) / raised), math.log(p / (1 - raised))
    steps = np.where(rows == 1, one, zero)
    steps[:, :cleared] = np.where(rows[:, :cleared] == 1, -zero, -one)
    weights = np.zeros((len(rows), rows.shape[1] + 1))
    np.cumsum(steps, axis=1, out=weights[:, 1:])
    return weights
