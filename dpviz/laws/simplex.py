"""Noisy shares of three labels made chances: divided by their sum, or moved to the nearest point. Laws, for pictures.

Algorithm 3 asks for a point of the simplex that is nearest to noisy shares in L1, and there are many; `closest` are all
of them. How one is found is in `noise/category.py` (`nearest`), which knows nothing of this file.
Source: Raskhodnikova, Sivakumar, Smith, Swanberg 2021, Algorithm 3; that its point is not unique is derived here.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from dpviz.errors import ParameterError
from dpviz.exact import positive, whole

Floats = NDArray[np.float64]
Point = tuple[Fraction, ...]

REACH, HALF = 40, 160
"""Differences of noise are followed up to REACH / epsilon, with at most 2 HALF + 1 values of each."""


def nearest_law(counts: Sequence[int], epsilon: Fraction) -> Floats:
    """The chance of each of three labels where noisy counts are moved to the nearest shares by Euclid's distance.

    The projection depends on differences of noisy counts alone, and the law of two of them has a closed form. The mass
    beyond 40 / epsilon has a chance below 10**-7. For an epsilon below 1/4 the sum takes only some of the differences,
    and chances are off by up to 0.001.

    >>> nearest_law([2, 0, 1], Fraction(1)).round(4).tolist()
    [0.4959, 0.1891, 0.315]
    """
    if len(counts) != 3:
        raise ParameterError.of(f"{len(counts)} labels", "this law is that of three labels", "give three counts")
    n, rate = whole(sum(counts), "the sum of the counts"), float(positive(epsilon, "epsilon")) / 2
    reach = REACH / (2 * rate)
    step = max(1, math.ceil(reach / HALF))
    moves = np.arange(-math.ceil(reach / step), math.ceil(reach / step) + 1, dtype=np.float64) * step
    one, other = moves[:, None], moves[None, :]
    weights = _differences(one, other, math.exp(-rate))
    weights /= weights.sum()
    last = float(counts[2])
    chances = _moved(counts[0] - last + one, counts[1] - last + other, n)
    return np.array([float((weights * chance).sum()) for chance in chances])


def _differences(one: Floats, other: Floats, decay: float) -> Floats:
    """The chances of (Z1 - Z3, Z2 - Z3), up to a factor: the sum of decay**(|z| + |z + one| + |z + other|) over z.

    With 0, -one and -other in order as x, y and z, the exponent is least at y, and the sum is one of three geometric
    series: up to x, from x to z, and from z on.
    """
    low = np.minimum(np.minimum(0, -one), -other)
    high = np.maximum(np.maximum(0, -one), -other)
    middle = -one - other - low - high
    up, down, wide = middle - low, high - middle, high - low
    ends = (decay ** (up + wide) + decay ** (down + wide)) / (1 - decay**3)
    inner: Floats = ends + decay**wide * (1 - decay**up + decay - decay**down) / (1 - decay)
    return inner


def _moved(one: Floats, other: Floats, n: int) -> tuple[Floats, Floats, Floats]:
    """The nearest shares to noisy counts (one, other, 0), which may all be moved alike."""
    one, other = np.broadcast_arrays(one, other)
    least = np.minimum(np.minimum(one, other), 0)
    most = np.maximum(np.maximum(one, other), 0)
    middle = one + other - least - most
    three, two = (one + other - n) / 3, (most + middle - n) / 2
    cut = np.where(three < least, three, np.where(two < middle, two, most - n))
    first, second, third = (np.maximum(value - cut, 0) / n for value in (one, other, np.zeros_like(one)))
    return first, second, third


def closest(noisy: Sequence[int], n: int) -> list[Point]:
    """The corners of all chances that are nearest to noisy / n in L1, in order around; three labels.

    With v the shares that are above 0, and s their sum: the chances that are at most v in every label where s >= 1, at
    least v where s <= 1.

    >>> [[str(share) for share in corner] for corner in closest([6, 3, -2], 10)]
    [['7/10', '3/10', '0'], ['3/5', '2/5', '0'], ['3/5', '3/10', '1/10']]
    """
    if len(noisy) != 3:
        raise ParameterError.of(f"{len(noisy)} labels", "this is drawn for three labels", "give three noisy counts")
    shares = [Fraction(max(0, value), whole(n, "n")) for value in noisy]
    missing = 1 - sum(shares)
    if missing >= 0:
        corners = [tuple(share + missing * (i == j) for i, share in enumerate(shares)) for j in range(3)]
        return corners if missing else corners[:1]
    corners = [tuple(Fraction(i == j) for i in range(3)) for j in range(3)]
    for label, most in enumerate(shares):
        corners = _clipped(corners, label, most)
    return corners


def _clipped(corners: list[Point], label: int, most: Fraction) -> list[Point]:
    """The part of a polygon where the share of one label is at most `most`."""
    kept: list[Point] = []
    for here, there in zip(corners, [*corners[1:], *corners[:1]], strict=True):
        inside, beside = here[label] <= most, there[label] <= most
        if inside:
            kept.append(here)
        if inside != beside and most not in (here[label], there[label]):
            along = (most - here[label]) / (there[label] - here[label])
            kept.append(tuple(x + along * (y - x) for x, y in zip(here, there, strict=True)))
    return kept
