"""Trees without negative counts, computed from the same noisy values: what the paper prints, and what is recommended.

`zero_subtrees` is the paper's (section 4.2): it is no longer consistent, and sums of its leaves are badly biased upward
on long ranges, so how a range is answered has to be said. `topdown_simplex` stays consistent: it hands each node's
value down to its children as the nearest split into parts that are not negative. Neither is unbiased, and no variance
of the plain fit is true of them.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from gmpy2 import mpq
from numpy.typing import NDArray

from dpviz.boundary import error_boundary, protect_module
from dpviz.fitting.tree import WORD, FloatFit, Node, TreeFit, as_fraction


@dataclass(frozen=True, eq=False)
class ZeroedTree:
    """A fit in which every node whose fitted value is 0 or less, and all below it, became 0.

    fit   the plain fit
    kept  which nodes of each height are as they were, leaves first
    """

    fit: TreeFit
    kept: tuple[NDArray[np.bool_], ...]

    @cached_property
    def floats(self) -> FloatFit:
        """All values in float64, each off by at most the stated error. They do not add up."""
        plain = self.fit.floats()
        levels = tuple(np.where(kept, level, 0.0) for kept, level in zip(self.kept, plain.levels, strict=True))
        return FloatFit(plain.design, levels, plain.error)

    @cached_property
    def whole_leaves(self) -> NDArray[np.int64]:
        """The leaves of the domain, rounded to the nearest whole number (halves go up) as the paper does."""
        return _whole(self.fit, self.floats.leaves, self.floats.error, self.kept[0])

    def leaf_sum(self, low: int, high: int) -> int:
        """The sum of the rounded leaves of a range. On long ranges of sparse data it is far too high."""
        self.fit.design.shape.check(low, high)
        return int(self.whole_leaves[low : high + 1].sum())

    def subtrees(self, low: int, high: int) -> Fraction:
        """The sum of the fewest nodes that cover a range, exactly: the reading that bears out the paper's claims."""
        cover = self.fit.design.shape.cover(low, high)
        return sum((self.fit.node(node) for node in cover if self.kept[node.height - 1][node.place]), Fraction(0))


@dataclass(frozen=True, eq=False)
class WholeTree:
    """A consistent tree of whole numbers of at least 0: each node is the sum of its children.

    levels  the values on each height, leaves first
    """

    fit: TreeFit
    levels: tuple[NDArray[Any], ...]

    @property
    def leaves(self) -> NDArray[Any]:
        """The values of the leaves of the domain."""
        return self.levels[0][: self.fit.design.shape.n]

    @cached_property
    def _before(self) -> NDArray[Any]:
        return np.concatenate(([0], np.cumsum(self.leaves)))

    def range(self, low: int, high: int) -> int:
        """The sum over the leaves from low to high, both included."""
        self.fit.design.shape.check(low, high)
        return int(self._before[high + 1] - self._before[low])

    def ranges(self, lows: NDArray[np.int64], highs: NDArray[np.int64]) -> NDArray[Any]:
        """The sums over many ranges."""
        lows, highs = self.fit.design.shape.check_many(lows, highs)
        sums: NDArray[Any] = self._before[highs + 1] - self._before[lows]
        return sums


@error_boundary
def zero_subtrees(fit: TreeFit) -> ZeroedTree:
    """Make every node of fitted value 0 or less, and all nodes below it, 0; leave the others as they are.

    Signs are exact: where a float is nearer to 0 than its error, the node is read exactly.
    """
    plain, shape = fit.floats(), fit.design.shape
    kept: list[NDArray[np.bool_]] = []
    for height in range(shape.height, 0, -1):
        level = plain.levels[height - 1]
        above = np.repeat(kept[-1], shape.k)[: len(level)] if kept else np.ones(1, dtype=np.bool_)
        positive = level > 0
        for index in np.flatnonzero(above & (np.abs(level) <= plain.error)).tolist():
            positive[index] = fit.node(Node(height, index)) > 0
        kept.append(above & positive)
    return ZeroedTree(fit, tuple(kept[::-1]))


@error_boundary
def topdown_simplex(fit: TreeFit) -> FloatFit:
    """A consistent fit without negative values, in float64 with its error stated.

    The root is the plain fit's, at least 0. Below, each family of estimates z is replaced by the nearest one (in their
    own variances) that is not negative and adds up to its parent. Equal to the plain fit where that has no negative
    value. It is not the least-squares fit under the same constraints, which has no such way down.
    """
    shape, design = fit.design.shape, fit.design
    found = [np.maximum(fit._float_z(shape.height), 0.0)]
    plain = fit.floats()
    error = 3 * 2.0**-53 * abs(float(found[0][0]))
    for height in range(shape.height - 1, 0, -1):
        above, whole, k = found[-1], shape.filled[height], shape.k
        z, level = fit._float_z(height), np.empty(shape.widths[height - 1])
        level[: whole * k] = _nearest(z[: whole * k].reshape(-1, k), above[:whole]).ravel()
        for parent in range(whole, shape.widths[height]):
            first, _, end = design._children(height + 1, parent)
            spreads = [design._spread(height, child) for child in range(first, end)]
            parts = _nearest_weighted([mpq(one) for one in z[first:end].tolist()], spreads, mpq(float(above[parent])))
            level[first:end] = [float(one) for one in parts]
        size = fit.reached[height - 1] / design.information[height - 1]
        top = float(np.abs(above).max())
        error += k * (3 * 2.0**-53 * size + (k + 8) * 2.0**-53 * (k * size + top))
        found.append(level)
    return FloatFit(plain.design, tuple(found[::-1]), 1.01 * error)


@error_boundary
def topdown_whole(fit: TreeFit) -> WholeTree:
    """The same in whole numbers, exactly: what is recommended where counts are wanted.

    The root is rounded (halves go up), and each family becomes the nearest whole numbers, at least 0, that add up to
    its parent; of several equally near, the one that gives more to the left.
    """
    shape, design = fit.design.shape, fit.design
    top = as_fraction(fit._z(shape.height, 0, 1))
    found: list[NDArray[Any]] = [
        np.array([max(0, (2 * top.numerator + top.denominator) // (2 * top.denominator))], object)
    ]
    for height in range(shape.height - 1, 0, -1):
        above, whole, k = found[-1], shape.filled[height], shape.k
        known, y = design.information[height - 1], fit.upward[height - 1][: whole * k].reshape(-1, k)
        most = int(above.max()) * known * k + k * k * fit.reached[height - 1]
        if y.dtype == object or most >= WORD:
            y, above = y.astype(object), above.astype(object)
        else:
            above = above.astype(np.int64)
        level = np.empty(shape.widths[height - 1], dtype=y.dtype)
        level[: whole * k] = nearest_whole(y, above[:whole], known).ravel()
        for parent in range(whole, shape.widths[height]):
            first, _, end = design._children(height + 1, parent)
            z = [fit._z(height, child, child + 1) for child in range(first, end)]
            spreads = [design._spread(height, child) for child in range(first, end)]
            level[first:end] = _nearest_whole_weighted(z, spreads, int(above[parent]))
        found.append(level)
    return WholeTree(fit, tuple(found[::-1]))


def _nearest(z: NDArray[np.float64], total: NDArray[np.float64]) -> NDArray[np.float64]:
    """For each row the nearest numbers of at least 0 that add up to its total: the rest is what is taken from each."""
    k = z.shape[1]
    if k == 2:
        gap = z[:, 0] - z[:, 1]
        pair = np.stack((total + gap, total - gap), axis=1) / 2
        return np.minimum(np.maximum(pair, 0.0), total[:, None])
    # Projection on the simplex: the same amount is taken from each of the largest, until all that are left are
    # positive.
    descending = -np.sort(-z, axis=1)
    # The amount for each number of values that stay positive.
    rest = (np.cumsum(descending, axis=1) - total[:, None]) / np.arange(1, k + 1)
    count = np.maximum((descending > rest).sum(axis=1), 1)
    split: NDArray[np.float64] = np.maximum(z - rest[np.arange(len(z)), count - 1][:, None], 0.0)
    return split


def nearest_whole(y: NDArray[Any], total: NDArray[Any], known: int) -> NDArray[Any]:
    """For each row of z = y / known the nearest whole numbers of at least 0 that add up to its whole total.

    The nearest numbers of at least 0 first; then each is rounded down, and what is missing is given to the largest
    remainders, the first of equal ones first. With numbers of 64 bits no product of three of the largest of y, known
    times the total, and the length of a row may leave them.
    """
    k = y.shape[1]
    if k == 2:  # half of total + gap, halves up
        left = np.clip((total * known + y[:, 0] - y[:, 1] + known) // (2 * known), 0, total)
        return np.stack((left, total - left), axis=1)
    rows = np.arange(len(y))
    descending = -np.sort(-y, axis=1)
    excess = np.cumsum(descending, axis=1) - (total * known)[:, None]
    count = np.maximum((descending * np.arange(1, k + 1) > excess).sum(axis=1), 1)
    scaled = np.maximum(y * count[:, None] - excess[rows, count - 1][:, None], 0)
    divisor = (count * known)[:, None] if y.dtype != object else (count.astype(object) * known)[:, None]
    down = scaled // divisor
    left = scaled - down * divisor
    missing = (total - down.sum(axis=1)).astype(np.int64)
    order = np.argsort(-left, axis=1, kind="stable")
    places = np.empty_like(order)
    np.put_along_axis(places, order, np.broadcast_to(np.arange(k), order.shape), axis=1)
    split: NDArray[Any] = down + (places < missing[:, None])
    return split


def _nearest_weighted(z: list[Any], spreads: list[Any], total: Any) -> list[Any]:
    """The numbers x of at least 0 that add up to a total and have the least sum of (x - z)**2 / spread."""
    # A value becomes 0 once the multiplier exceeds z / spread, so values leave in that order.
    order = sorted(range(len(z)), key=lambda at: z[at] / spreads[at], reverse=True)
    rest = sums = weights = mpq(0)
    for at in order:
        sums, weights = sums + z[at], weights + spreads[at]
        if weights != spreads[at] and z[at] / spreads[at] <= rest:
            break
        rest = (sums - total) / weights
    return [max(mpq(0), one - rest * spread) for one, spread in zip(z, spreads, strict=True)]


def _nearest_whole_weighted(z: list[Any], spreads: list[Any], total: int) -> list[int]:
    """The same in whole numbers: from the rounded parts, one unit moves at a time while that brings them nearer."""
    parts = [int(one // 1) for one in _nearest_weighted(z, spreads, mpq(total))]

    def cost(at: int, step: int) -> Any:
        """The amount that one unit more, or less, at a place adds to the sum of squares."""
        # ((x + step - z)^2 - (x - z)^2) / spread, with step = 1 or -1.
        return (2 * step * (parts[at] - z[at]) + 1) / spreads[at]

    while sum(parts) < total:
        parts[min(range(len(z)), key=lambda at: cost(at, 1))] += 1
    while True:
        more = min(range(len(z)), key=lambda at: cost(at, 1))
        less = min((at for at in range(len(z)) if parts[at]), key=lambda at: cost(at, -1), default=more)
        if more == less or cost(more, 1) + cost(less, -1) >= 0:
            return parts
        parts[more] += 1
        parts[less] -= 1


def _whole(fit: TreeFit, leaves: NDArray[np.float64], error: float, kept: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Leaves rounded to the nearest whole number of at least 0; where a float is too near a half, read exactly."""
    rounded = np.floor(leaves + 0.5)
    # Floats that are nearer to a half than their error are read exactly.
    near = np.abs(leaves - np.floor(leaves) - 0.5) <= error + np.abs(leaves) * 2.0**-51
    for index in np.flatnonzero(near & kept[: len(leaves)]).tolist():
        value = fit.node(Node(1, index))
        rounded[index] = (2 * value.numerator + value.denominator) // (2 * value.denominator)
    return np.maximum(rounded, 0).astype(np.int64)


protect_module(vars())
