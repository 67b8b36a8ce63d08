"""Noisy counts of the intervals of a k-ary tree, made consistent by least squares (Hay, Rastogi, Miklau, Suciu 2010).

A node of height l covers k**(l-1) neighbouring leaves; leaves have height 1. Every node of a height is drawn with the
same precision (1 / variance, up to a common factor), a whole number that is fixed before the draw; 0 means that the
height is not asked. With p_l for it and s = k**(l-1), let

    information  I_l = sum of k**(j-1) p_j over j <= l
    upward       Y_v = k**(l-1) p_l noisy_v + sum of Y over the children of v

These are whole numbers, so the upward pass of the paper's Theorem 3 is exact: its z_v is Y_v / I_l. The fitted value of
a linear query with mean weight c_v below each node v is c_root z_root + sum over v of (c_v - c_parent) z_v, to which
only children of nodes with uneven weights contribute: for a range at most 2 k on a height. Its variance, where
precisions are what they claim, is the sum over heights of

    (1 / I_l - 1 / I_(l-1)) / k**(l-1) * sum over nodes v of height l of (sum of the weights below v)**2

with 1 / I_0 = 0, and 1 / I = 0 for a root that is exactly known. That is the spec's closed form rearranged.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import accumulate
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from gmpy2 import mpq
from numpy.typing import NDArray

from dpviz.boundary import error_boundary, protect_module
from dpviz.errors import ParameterError
from dpviz.exact import integer

LARGEST_LEAVES = 1 << 31
"""Up to so many leaves, squares of sums over a range fit into 64 bits."""

WORD = 1 << 62

FEW = 8
"""So few children are added up one after the other, more of them family by family."""

PIECE = 1 << 15
"""Nodes at a time, which stay in the processor's cache."""

Piece: TypeAlias = tuple[int, int, int | Fraction]
"""Part of a linear query: leaves first..last, both included, each with this weight."""

Pieces: TypeAlias = Sequence[Piece]


class Node(NamedTuple):
    """A node of a tree: its height (a leaf has 1) and its place on that height, from 0."""

    height: int
    place: int


class Weighted(NamedTuple):
    """Neighbouring nodes that count alike: first <= place < stop on a height, each times the weight."""

    height: int
    first: int
    stop: int
    weight: Fraction


@dataclass(frozen=True)
class Shape:
    """A k-ary tree over n leaves, filled up to a power of k.

    Padded leaves are asked and fitted like any other (`pinned=False`, the paper's way); or they are known to be empty,
    and nodes that cover nothing else do not exist (`pinned=True`; no range is ever worse).

    Values of all nodes stand in one array, the root first, then height by height, each from left to right.

    >>> Shape(2, 5).height, Shape(2, 5).nodes, Shape(2, 5, pinned=True).nodes
    (4, 15, 11)
    """

    k: int
    n: int
    pinned: bool = False

    def __post_init__(self) -> None:
        integer(self.k, "k", least=2)
        if integer(self.n, "n") > LARGEST_LEAVES:
            raise ParameterError.of(self.n, f"a tree has at most {LARGEST_LEAVES} leaves", "merge neighbouring bins")

    @cached_property
    def height(self) -> int:
        """The number of nodes on the way from a leaf to the root. It is the sensitivity when one record is added."""
        height, leaves = 1, 1
        while leaves < self.n:
            leaves, height = leaves * self.k, height + 1
        return height

    @cached_property
    def sizes(self) -> tuple[int, ...]:
        """How many leaves, padding included, a node covers: by height, leaves first."""
        return tuple(self.k**level for level in range(self.height))

    @property
    def leaves(self) -> int:
        """The number of leaves, padding included."""
        return self.sizes[-1]

    @property
    def reach(self) -> int:
        """The number of leaves that are asked."""
        return self.n if self.pinned else self.leaves

    @cached_property
    def widths(self) -> tuple[int, ...]:
        """How many nodes stand on each height, leaves first."""
        return tuple(-(-self.reach // size) for size in self.sizes)

    @cached_property
    def filled(self) -> tuple[int, ...]:
        """How many nodes of each height cover asked leaves only; where padding is pinned, one more may cover fewer."""
        return tuple(self.reach // size for size in self.sizes)

    @cached_property
    def starts(self) -> tuple[int, ...]:
        """Where each height begins in the array of all nodes, leaves first."""
        return tuple(accumulate(self.widths[:0:-1], initial=0))[::-1]

    @property
    def nodes(self) -> int:
        return sum(self.widths)

    def level(self, values: NDArray[Any], height: int) -> NDArray[Any]:
        """The part of an array of all nodes that belongs to one height, as a view."""
        start = self.starts[height - 1]
        return values[start : start + self.widths[height - 1]]

    def totals(self, leaves: NDArray[Any]) -> NDArray[Any]:
        """The sums below all nodes, for one number for each of the n leaves. In int64 they must not overflow."""
        if leaves.shape != (self.n,):
            raise ParameterError.of(
                "another length", "a tree takes one number for each of its n leaves", "give one number for each leaf"
            )
        values = np.zeros(self.nodes, dtype=leaves.dtype)
        self.level(values, 1)[: self.n] = leaves
        for height in range(2, self.height + 1):
            below, above = self.level(values, height - 1), self.level(values, height)
            above[:] = summed(below, self.k)
        return values

    def span(self, node: Node) -> tuple[int, int]:
        """The first and last leaf below a node, among those that are asked."""
        height, index = node
        if not (1 <= height <= self.height and 0 <= index < self.widths[height - 1]):
            raise ParameterError.of(
                "another node",
                "a node is one of the tree's: its height, and its place from 0 on",
                "count heights from 1, the leaves, and places from 0",
            )
        size = self.sizes[height - 1]
        return index * size, min((index + 1) * size, self.reach) - 1

    def cover(self, low: int, high: int) -> tuple[Node, ...]:
        """The fewest nodes whose leaves are those from low to high, both included: from left to right.

        >>> Shape(2, 8).cover(1, 6)
        (Node(height=1, place=1), Node(height=2, place=1), Node(height=2, place=2), Node(height=1, place=6))
        """
        self.check(low, high)
        first, stop = low, self._stop(high)
        left, right = [], []
        for height in range(1, self.height):
            while first < stop and first % self.k:
                left.append(Node(height, first))
                first += 1
            while first < stop and stop % self.k:
                stop -= 1
                right.append(Node(height, stop))
            first, stop = first // self.k, stop // self.k
        root = [Node(self.height, 0)] if first < stop else []
        return tuple(node for node in (*left, *root, *right[::-1]) if node.place < self.widths[node.height - 1])

    def cover_counts(self, lows: NDArray[np.int64], highs: NDArray[np.int64]) -> NDArray[np.int64]:
        """How many nodes of each height cover each of many ranges: one row for each range, leaves first."""
        lows, highs = self.check_many(lows, highs)
        counts = np.zeros((len(lows), self.height), dtype=np.int64)
        for height, first, stop in self._taken(lows, highs):
            counts[:, height - 1] += np.maximum(np.minimum(stop, self.widths[height - 1]) - first, 0)
        return counts

    def _taken(self, lows: NDArray[np.int64], highs: NDArray[np.int64]) -> Iterator[tuple[int, Any, Any]]:
        """The nodes that the covers of many ranges take: on each height twice, nodes first <= place < stop, which may
        be none."""
        first = lows.copy()
        stop = np.where(highs == self.n - 1, self.leaves, highs + 1) if self.pinned else highs + 1
        for height in range(1, self.height):
            after = np.minimum(first + -first % self.k, stop)
            yield height, first, after
            before = np.maximum(stop - stop % self.k, after)
            yield height, before, stop
            first, stop = after // self.k, before // self.k
            empty = after >= before
            first, stop = np.where(empty, 0, first), np.where(empty, 0, stop)
        yield self.height, first, stop

    def _stop(self, high: int) -> int:
        """The leaf after a range. Where padding is known to be empty, the last range may as well hold it."""
        return self.leaves if self.pinned and high == self.n - 1 else high + 1

    def check(self, low: int, high: int) -> None:
        """Refuse a range that is reversed or lies outside."""
        if not 0 <= low <= high < self.n:
            raise _outside(self.n)

    def check_many(self, lows: NDArray[Any], highs: NDArray[Any]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Many ranges in int64; refuse them where one is reversed or lies outside."""
        lows, highs = np.atleast_1d(np.asarray(lows)), np.atleast_1d(np.asarray(highs))
        if lows.shape != highs.shape or lows.ndim != 1 or lows.dtype.kind not in "iu" or highs.dtype.kind not in "iu":
            raise ParameterError.of(
                "other arrays",
                "ranges are two arrays of whole numbers of the same length",
                "give two integer arrays of one length",
            )
        if len(lows) and not bool(((lows >= 0) & (lows <= highs) & (highs < self.n)).all()):
            raise _outside(self.n)
        return lows.astype(np.int64), highs.astype(np.int64)


@dataclass(frozen=True)
class Design:
    """How precisely the nodes of a tree are drawn: what is known of every error before anything is drawn.

    precisions  a whole number for each height, leaves first: 1 / variance in units of one node of precision 1, or 0
                where the height is not asked; nothing means 1 everywhere
    exact_root  the total is public, and the root holds it without noise

    >>> Design(Shape(2, 4)).variance([(0, 2, 1)])
    Fraction(19, 21)
    """

    shape: Shape
    precisions: tuple[int, ...] = ()
    exact_root: bool = False

    def __post_init__(self) -> None:
        if not self.precisions:
            object.__setattr__(self, "precisions", (1,) * self.shape.height)
        if len(self.precisions) != self.shape.height:
            raise ParameterError.of(
                f"{len(self.precisions)} of them",
                f"this tree takes {self.shape.height} precisions, one for each height",
                "give one precision for each height, leaves first",
            )
        for one in self.precisions:
            integer(one, "a precision", least=0)
        if not self.precisions[0] and not (self.exact_root and self.shape.height == 1):
            raise ParameterError.of(0, "the precision of leaves must be positive", "ask the leaves")

    @cached_property
    def information(self) -> tuple[int, ...]:
        """I_l for each height, leaves first: 1 / variance of z, times k**(l-1). The root's, as if it were drawn."""
        # I_l = sum of k^(j-1) p_j over j <= l.
        steps = (size * one for size, one in zip(self.shape.sizes, self.precisions, strict=True))
        return tuple(accumulate(steps))

    @cached_property
    def spreads(self) -> tuple[Any, ...]:
        """The variance of z for a node of each height all of whose leaves are asked, leaves first."""
        pairs = zip(self.shape.sizes, self.information, strict=True)
        # Var z = k^(l-1) / I_l.
        whole = [mpq(size, known) if known else mpq(0) for size, known in pairs]
        return (*whole[:-1], mpq(0)) if self.exact_root else tuple(whole)

    @cached_property
    def edges(self) -> tuple[Any, ...]:
        """The variance of z for the one node of each height that covers some padding, if any: else None."""
        shape = self.shape
        edges: list[Any] = [None]
        for height in range(2, shape.height + 1):
            if shape.filled[height - 1] == shape.widths[height - 1]:
                edges.append(None)
                continue
            # The variance of the sum of the children's z: those that are whole, and the one at the edge below, if any.
            below = (shape.filled[height - 2] - shape.k * shape.filled[height - 1]) * self.spreads[height - 2]
            below += edges[-1] or 0
            # Two estimates of one sum, the node's own noise and the children's: precisions add up.
            edges.append(below / (self.precisions[height - 1] * below + 1))
        if self.exact_root and edges[-1] is not None:
            edges[-1] = mpq(0)
        return tuple(edges)

    @cached_property
    def coefficients(self) -> tuple[Any, ...]:
        """The factors of the squares of sums below nodes of each height in a variance, leaves first."""
        inverse = [mpq(0), *(mpq(1, known) if known else mpq(0) for known in self.information)]
        if self.exact_root:
            inverse[-1] = mpq(0)
        # (1 / I_l - 1 / I_(l-1)) / k^(l-1), as at the head of this file.
        return tuple((inverse[at + 1] - inverse[at]) / size for at, size in enumerate(self.shape.sizes))

    def variance(self, query: Pieces) -> Fraction:
        """The variance of the fitted value of a linear query, in variances of one node of precision 1.

        True where the precisions are those of the noise; for others take `weights`.
        """
        plan = self._plan(query)
        # c_root^2 Var z_root, then (c_v - c_parent)^2 Var z_v for each node below which weights differ.
        total = plan.mean**2 * self._spread(self.shape.height, 0)
        for height, _, mean, runs in plan.families:
            for first, stop, below, _ in runs:
                total += (stop - first) * self._spread(height - 1, first) * (below - mean) ** 2
        return as_fraction(total)

    def variances(self, lows: NDArray[np.int64], highs: NDArray[np.int64]) -> list[Fraction]:
        """The variance of the fitted value of each of many ranges, exactly, as `variance` gives it."""
        numerators, denominator = self.over_one_denominator(lows, highs)
        return [as_fraction(mpq(one, denominator)) for one in numerators]

    def over_one_denominator(self, lows: NDArray[np.int64], highs: NDArray[np.int64]) -> tuple[list[int], int]:
        """The same with one denominator for all of them, which is fast for thousands of ranges."""
        lows, highs = self.shape.check_many(lows, highs)
        if self.shape.pinned:
            parts = [*self._parts(lows, highs)]
        else:
            parts = [
                (one, squares(lows, highs, size)) for one, size in zip(self.coefficients, self.shape.sizes, strict=True)
            ]
        common = _common([coefficient for coefficient, _ in parts])
        total: Any = np.zeros(len(lows), dtype=object)
        for coefficient, whole in parts:
            total = total + whole.astype(object) * int(coefficient * common)
        return total.tolist(), common

    def _parts(self, lows: NDArray[np.int64], highs: NDArray[np.int64]) -> Iterator[tuple[Any, NDArray[Any]]]:
        """Whole numbers for each range, and what each counts in its variance, where padding is pinned.

        Families of nodes that are whole are as in a full tree. At the edge, children that are whole add the squares of
        their sums; the mean weight of the node there is carried up as whole numbers over one denominator.
        """
        shape = self.shape
        mean, divisor = np.zeros(len(lows), dtype=object), 1
        for height in range(2, shape.height + 1):
            size, above = shape.sizes[height - 2], shape.sizes[height - 1]
            first, last = shape.filled[height - 1] * above, shape.filled[height - 2] * size
            each = mpq(1, above * self.information[height - 2])
            yield each * shape.k, _squares_between(lows, highs, 0, first, size)
            yield -each, _squares_between(lows, highs, 0, first, above)
            if self.edges[height - 1] is None:
                continue
            spread, below = self.spreads[height - 2], self._below_spread(height, shape.filled[height - 1])
            yield spread / size**2, _squares_between(lows, highs, first, last, size)
            count, carried = spread / (size * below), (self.edges[height - 2] or mpq(0)) / (below * divisor)
            divisor = _common([count, carried])
            inside = np.maximum(np.minimum(highs + 1, last) - np.maximum(lows, first), 0).astype(object)
            mean = inside * int(count * divisor) + mean * int(carried * divisor)
            yield (self.edges[height - 1] - below) / divisor**2, mean * mean
        if self.edges[-1] is None:
            yield self.spreads[-1] / shape.leaves**2, (highs + 1 - lows) ** 2

    def standard_errors(self, lows: NDArray[np.int64], highs: NDArray[np.int64]) -> NDArray[np.float64]:
        """Square roots of `variances`, each off by at most two units in the last place of a float64."""
        numerators, denominator = self.over_one_denominator(lows, highs)
        return np.sqrt(np.array([one / denominator for one in numerators], dtype=np.float64))

    def subtree_variances(self, lows: NDArray[np.int64], highs: NDArray[np.int64]) -> list[Fraction]:
        """The variance of each of many ranges where it is the sum of the fewest noisy nodes, without a fit."""
        if not all(self.precisions):
            raise ParameterError.of(0, "sums of noisy nodes need every height to be asked", "read the fit instead")
        each = [Fraction(1, one) for one in self.precisions]
        if self.exact_root:
            each[-1] = Fraction(0)
        rows = self.shape.cover_counts(lows, highs).tolist()
        return [sum((count * one for count, one in zip(row, each, strict=True)), Fraction(0)) for row in rows]

    def mean_variance(self, length: int | None = None) -> Fraction:
        """The mean of `variance` over all ranges of the domain, or over all of one length. The measure to choose k by.

        >>> designs = [Design(Shape(k, 4096)) for k in (2, 4, 16)]
        >>> [int(2 * design.shape.height**2 * design.mean_variance()) for design in designs]    # Laplace, epsilon 1
        [778, 448, 390]
        """
        if self.shape.pinned:
            raise ParameterError.of(
                "pinned padding",
                "means over ranges have a formula only where padding is asked",
                "take a Shape whose padding is asked",
            )
        n, total = self.shape.n, mpq(0)
        if length is None:
            for size, coefficient in zip(self.shape.sizes, self.coefficients, strict=True):
                total += coefficient * _squares_of_all(n, size)
            return as_fraction(total / (n * (n + 1) // 2))
        lows = np.arange(n - integer(length, "the length of a range", most=n) + 1)
        for size, coefficient in zip(self.shape.sizes, self.coefficients, strict=True):
            found = squares(lows, lows + length - 1, size)
            total += coefficient * ((int((found >> 31).sum()) << 31) + int((found & (2**31 - 1)).sum()))
        return as_fraction(total / len(lows))

    def mean_subtree_variance(self, length: int) -> Fraction:
        """The same without a fit: over all ranges of one length, the mean of `subtree_variances`."""
        lows = np.arange(self.shape.n - integer(length, "the length of a range", most=self.shape.n) + 1)
        counts = self.shape.cover_counts(lows, lows + length - 1).sum(axis=0).tolist()
        if not all(self.precisions):
            raise ParameterError.of(0, "sums of noisy nodes need every height to be asked", "read the fit instead")
        if self.exact_root:
            counts[-1] = 0
        each = (Fraction(count, one) for count, one in zip(counts, self.precisions, strict=True))
        return sum(each, Fraction(0)) / len(lows)

    def query_variance(self, weights: Sequence[int | Fraction]) -> Fraction:
        """The variance of the fitted value of a linear query with a weight for each of the n leaves."""
        if self.shape.pinned:
            return self.variance(_pieces_of(weights, self.shape.n))
        total = mpq(0)
        for sums, coefficient in zip(self._sums(weights), self.coefficients, strict=True):
            total += coefficient * sum(one * one for one in sums)
        return as_fraction(total)

    def weights(self, query: Pieces) -> tuple[Weighted, ...]:
        """How much each noisy node counts in the fitted value of a linear query: runs of nodes, none of weight 0.

        A range of n leaves has a number of runs that grows with height squared, whatever k. An exactly known root
        counts too, and adds no noise.
        """
        plan = self._plan(query)
        found: list[Weighted] = []
        counts = {(self.shape.height, 0): plan.mean}
        if not plan.families:
            self._below(found, self.shape.height, 0, 1, plan.mean)
        for height, index, mean, runs in plan.families:
            own, each = self._shares(height, index)
            count = counts[height, index]
            if own and count:
                found.append(Weighted(height, index, index + 1, as_fraction(count * own)))
            for first, stop, below, uneven in runs:
                further = below - mean + count * each
                if uneven:
                    counts[height - 1, first] = further
                else:
                    self._below(found, height - 1, first, stop, further)
        return tuple(found)

    def by_height(self, query: Pieces) -> tuple[Fraction, ...]:
        """The sum of squared weights of the noisy nodes of each height, leaves first.

        With the true variance of a node's noise on each height, these give the variance of the fitted value whatever
        the precisions were. An exactly known root counts 0.
        """
        sums = [mpq(0)] * self.shape.height
        for height, first, stop, weight in self.weights(query):
            if not (self.exact_root and height == self.shape.height):
                sums[height - 1] += (stop - first) * mpq(weight) ** 2
        return tuple(map(as_fraction, sums))

    def node_variances(self) -> tuple[Fraction, ...]:
        """The variance of the fitted value of one node of each height, leaves first; padding is not pinned."""
        if self.shape.pinned:
            raise ParameterError.of(
                "pinned padding",
                "nodes of one height have one variance only where all is asked",
                "take a Shape whose padding is asked",
            )
        found = [self.spreads[-1]]
        for spread in self.spreads[-2::-1]:
            # A child is z less the mean of its siblings' z, plus 1/k of the parent's value; these are independent.
            found.append(spread * (1 - mpq(1, self.shape.k)) + found[-1] / self.shape.k**2)
        return tuple(map(as_fraction, found[::-1]))

    def _below(self, found: list[Weighted], height: int, first: int, stop: int, count: Any) -> None:
        """Append what nodes count whose z counts this much, and all below them: their leaves are weighted evenly."""
        if not count:
            return
        shape = self.shape
        own, each = self._shares(height, first)
        if own:
            found.append(Weighted(height, first, stop, as_fraction(count * own)))
        if height == 1:
            return
        begin, end = first * shape.k, min(stop * shape.k, shape.widths[height - 2])
        whole = min(end, shape.filled[height - 2])
        if begin < whole:
            self._below(found, height - 1, begin, whole, count * each)
        if whole < end:
            self._below(found, height - 1, whole, end, count * each)

    def _spread(self, height: int, index: int) -> Any:
        """The variance of z at a node."""
        at_edge = index >= self.shape.filled[height - 1]
        return self.edges[height - 1] if at_edge else self.spreads[height - 1]

    def _shares(self, height: int, index: int) -> tuple[Any, Any]:
        """How much a node's own noisy value counts in its z, and how much the z of each of its children."""
        if self.exact_root and height == self.shape.height:
            return mpq(1), mpq(0)
        spread = self._spread(height, index)
        # Theorem 3, upward pass: z is the mean of the node's own value and of its children's z, weighted by precision.
        own = spread * self.precisions[height - 1]
        return own, (1 - own) if height > 1 else mpq(0)

    def _below_spread(self, height: int, index: int) -> Any:
        """The sum of the variances of z over the children of a node."""
        first, whole, end = self._children(height, index)
        below = (whole - first) * self.spreads[height - 2]
        return below + self.edges[height - 2] if whole < end else below

    def _children(self, height: int, index: int) -> tuple[int, int, int]:
        """The children of a node: those that are whole from the first up to the second number, then up to the third."""
        shape = self.shape
        first, end = index * shape.k, min((index + 1) * shape.k, shape.widths[height - 2])
        return first, max(first, min(end, shape.filled[height - 2])), end

    def _plan(self, query: Pieces) -> _QueryPlan:
        """The nodes below which a query's weights are uneven, from the root down, and the runs of their children."""
        edges, values = _steps(query, self.shape.n, self.shape.reach)
        families: list[_Family] = []

        def mean_below(height: int, index: int) -> tuple[Any, bool]:
            size = self.shape.sizes[height - 1]
            begin, end = index * size, min((index + 1) * size, self.shape.reach) - 1
            at = bisect_right(edges, begin) - 1
            if at + 1 == len(edges) or end < edges[at + 1]:
                return values[at], False
            place = len(families)
            families.append(_Family(height, index, mpq(0), ()))
            runs: list[_Run] = []
            total = mpq(0)
            child, _, last = self._children(height, index)
            while child < last:
                mean, uneven = mean_below(height - 1, child)
                after = child + 1
                if not uneven:  # all children with the same weight at once, but for one at the edge of the padding
                    here = bisect_right(edges, child * self.shape.sizes[height - 2])
                    until = edges[here] // self.shape.sizes[height - 2] if here < len(edges) else last
                    after = max(after, min(until, last))
                    if child < self.shape.filled[height - 2] < after:
                        after = self.shape.filled[height - 2]
                runs.append(_Run(child, after, mean, uneven))
                total += (after - child) * self._spread(height - 1, child) * mean
                child = after
            mean = total / self._below_spread(height, index)
            families[place] = _Family(height, index, mean, tuple(runs))
            return mean, True

        mean, _ = mean_below(self.shape.height, 0)
        return _QueryPlan(mean, tuple(families))

    def _sums(self, weights: Sequence[int | Fraction]) -> Iterator[list[Any]]:
        """The sums of a query's weights below the nodes of each height, leaves first."""
        if len(weights) != self.shape.n:
            raise ParameterError.of(
                f"{len(weights)} of them",
                f"a query has {self.shape.n} weights, one for each leaf",
                "give one weight for each leaf",
            )
        sums = [mpq(one) for one in weights] + [mpq(0)] * (self.shape.reach - self.shape.n)
        yield sums
        for _ in range(1, self.shape.height):
            sums = [sum(sums[at : at + self.shape.k], mpq(0)) for at in range(0, len(sums), self.shape.k)]
            yield sums


class _Run(NamedTuple):
    """Neighbouring children whose leaves have the same mean weight; one by itself where its leaves differ."""

    first: int
    stop: int
    mean: Any
    uneven: bool


class _Family(NamedTuple):
    """A node below which weights differ, with the mean weight below it."""

    height: int
    place: int
    mean: Any
    runs: tuple[_Run, ...]


class _QueryPlan(NamedTuple):
    mean: Any
    families: tuple[_Family, ...]


@dataclass(frozen=True, eq=False)
class TreeFit:
    """The fit of a drawn tree. Noisy whole numbers are stored; everything else is computed from them.

    noisy  one whole number for each node, in the order of `Shape`; the root's is the public total where it is exact

    >>> fit = TreeFit(Design(Shape(2, 4)), np.array([13, 3, 11, 4, 1, 12, 1]))
    >>> [int(fit.node(node)) for node in (Node(3, 0), Node(2, 0), Node(2, 1))], [int(one) for one in fit.leaves()]
    ([14, 3, 11], [3, 0, 11, 0])
    """

    design: Design
    noisy: NDArray[Any]

    def __post_init__(self) -> None:
        if self.noisy.shape != (self.design.shape.nodes,):
            raise ParameterError.of(
                "another length", f"this tree has {self.design.shape.nodes} nodes", "give one noisy value for each node"
            )
        if self.noisy.dtype != np.int64 and not (
            self.noisy.dtype == object and all(type(one) is int for one in self.noisy.tolist())
        ):
            raise ParameterError.of(
                "other numbers", "noisy values are whole numbers, in int64 or as objects", "round them to integers"
            )

    @cached_property
    def most(self) -> tuple[int, ...]:
        """The largest size of a noisy value on each height, leaves first."""
        levels = (self.design.shape.level(self.noisy, height) for height in range(1, self.design.shape.height + 1))
        return tuple(max(int(level.max()), -int(level.min())) for level in levels)

    @cached_property
    def reached(self) -> tuple[int, ...]:
        """A bound on the size of `upward` on each height, leaves first."""
        shape, found = self.design.shape, [0]
        for size, precision, most in zip(shape.sizes, self.design.precisions, self.most, strict=True):
            found.append(size * precision * most + shape.k * found[-1])
        return tuple(found[1:])

    @cached_property
    def upward(self) -> tuple[NDArray[Any], ...]:
        """Y on each height, leaves first, for nodes all of whose leaves are asked. Exact: objects beyond 64 bits."""
        shape = self.design.shape
        noisy = self.noisy if 2 * max(self.reached) < WORD else self.noisy.astype(object)
        found: list[NDArray[Any]] = []
        for height, (size, precision) in enumerate(zip(shape.sizes, self.design.precisions, strict=True), start=1):
            own = shape.level(noisy, height)[: shape.filled[height - 1]]
            if not found and precision == 1:
                found.append(own)  # nobody writes to it, and a copy of the leaves costs as much as all levels above
                continue
            # Y_v = k^(l-1) p_l noisy_v, to which the Y of the children are added.
            here = own * (size * precision)
            if found:
                add_up(found[-1][: len(own) * shape.k], shape.k, here)
            found.append(here)
        return tuple(found)

    @cached_property
    def edge_values(self) -> tuple[Any, ...]:
        """z for the one node of each height that covers some padding, leaves first; None where there is none."""
        design, shape = self.design, self.design.shape
        found: list[Any] = [None]
        for height in range(2, shape.height + 1):
            index = shape.filled[height - 1]
            if index == shape.widths[height - 1]:
                found.append(None)
                continue
            first, whole, end = design._children(height, index)
            below = mpq(int(self.upward[height - 2][first:whole].sum()), design.information[height - 2])
            below += found[-1] if whole < end else 0
            own, each = design._shares(height, index)
            found.append(own * int(shape.level(self.noisy, height)[index]) + each * below)
        return tuple(found)

    def range(self, low: int, high: int) -> Fraction:
        """The fitted sum over the leaves from low to high, both included, exactly, without fitting the rest."""
        self.design.shape.check(low, high)
        return self.query([(low, high, 1)])

    def query(self, pieces: Pieces) -> Fraction:
        """The fitted value of a linear query, exactly."""
        plan = self.design._plan(pieces)
        total = plan.mean * self._z(self.design.shape.height, 0, 1)
        for height, _, mean, runs in plan.families:
            for first, stop, below, _ in runs:
                if below != mean:
                    total += (below - mean) * self._z(height - 1, first, stop)
        return as_fraction(total)

    def node(self, node: Node) -> Fraction:
        """The fitted value of one node, exactly: down one path from the root."""
        shape = self.design.shape
        shape.span(node)
        value, at = self._z(shape.height, 0, 1), 0
        for height in range(shape.height, node.height, -1):
            child = node.place // shape.k ** (height - 1 - node.height)
            value, at = self._split(height, at, value)[child - at * shape.k], child
        return as_fraction(value)

    def leaves(self) -> list[Fraction]:
        """The fitted value of every leaf of the domain, exactly: some microseconds each. Pictures take `floats`."""
        shape = self.design.shape
        if shape.filled == shape.widths:
            return self._whole_leaves()
        fitted = [self._z(shape.height, 0, 1)]
        for height in range(shape.height, 1, -1):
            fitted = [one for index, value in enumerate(fitted) for one in self._split(height, index, value)]
        return [as_fraction(one) for one in fitted[: shape.n]]

    def _whole_leaves(self) -> list[Fraction]:
        """The same where no node covers padding alone: on each height whole numbers over one denominator.

        With Y / I for z below and fitted / over for the node above, a child is Y / I + (fitted / over - sum Y / I) / k.
        """
        shape, k = self.design.shape, self.design.shape.k
        top = as_fraction(self._z(shape.height, 0, 1))
        fitted, over = np.array([top.numerator], dtype=object), top.denominator
        for height in range(shape.height - 1, 0, -1):
            y, known = self.upward[height - 1].astype(object), self.design.information[height - 1]
            common = math.lcm(over, known)
            # The gap between the parent and the sum of its children's z, over one denominator.
            gap = fitted * (common // over) - summed(y, k) * (common // known)
            fitted, over = y * (common // known * k) + np.repeat(gap, k), common * k
        return [Fraction(one, over) for one in fitted[: shape.n].tolist()]

    def subtrees(self, low: int, high: int) -> int:
        """The sum of the fewest noisy nodes that cover a range: what the paper compares the fit with."""
        shape = self.design.shape
        return sum(int(shape.level(self.noisy, height)[index]) for height, index in shape.cover(low, high))

    def floats(self) -> FloatFit:
        """The whole fit in float64, each value off by at most the error that is stated with it."""
        shape = self.design.shape
        top = self._float_z(shape.height)
        found = [top]
        for height in range(shape.height - 1, 0, -1):
            found.append(self._float_down(height, found[-1]))
        return FloatFit(self.design, tuple(found[::-1]), self._float_error())

    def _split(self, height: int, index: int, value: Any) -> list[Any]:
        """The fitted values of the children of a node with this fitted value."""
        first, _, end = self.design._children(height, index)
        parts = [self._z(height - 1, child, child + 1) for child in range(first, end)]
        spreads = [self.design._spread(height - 1, child) for child in range(first, end)]
        # Theorem 3, downward pass: the gap to the parent is shared in proportion to the variances of z.
        share = (value - sum(parts, mpq(0))) / sum(spreads, mpq(0))
        return [part + share * spread for part, spread in zip(parts, spreads, strict=True)]

    def _z(self, height: int, first: int, stop: int) -> Any:
        """The sum of z over neighbouring nodes, all of them whole or one by itself."""
        if self.design.exact_root and height == self.design.shape.height:
            return mpq(int(self.noisy[0]))
        if first >= self.design.shape.filled[height - 1]:
            return self.edge_values[height - 1]
        level = self.upward[height - 1][first:stop]
        whole = int(level[0]) if stop - first == 1 else sum_exactly(level, self.reached[height - 1])
        return mpq(whole, self.design.information[height - 1])

    def _float_z(self, height: int) -> NDArray[np.float64]:
        """z on one height as floats."""
        shape = self.design.shape
        if self.design.exact_root and height == shape.height:
            return np.array([float(int(self.noisy[0]))])
        whole = _over(self.upward[height - 1], self.design.information[height - 1])
        edge = self.edge_values[height - 1]
        return whole if edge is None else np.append(whole, float(edge))

    def _float_down(self, height: int, above: NDArray[np.float64]) -> NDArray[np.float64]:
        """The fitted values on one height from those on the height above it."""
        shape = self.design.shape
        k, whole = shape.k, shape.filled[height]
        fitted = np.empty(shape.widths[height - 1])
        upward, known = self.upward[height - 1], self.design.information[height - 1]
        piece = max(1, PIECE // k) if upward.dtype != object else shape.leaves
        for start in range(0, whole, piece):
            stop = min(start + piece, whole)
            out = fitted[start * k : stop * k]
            if k == 2 and upward.dtype != object:  # half the sum of siblings, more or less half their gap
                gap = np.subtract(upward[2 * start : 2 * stop : 2], upward[2 * start + 1 : 2 * stop : 2]) / (2 * known)
                half = above[start:stop] * 0.5
                np.add(half, gap, out=out[0::2])
                np.subtract(half, gap, out=out[1::2])
            else:
                z = _over(upward[start * k : stop * k], known)
                own = shape.level(self.noisy, height + 1)[start:stop].astype(self.upward[height].dtype, copy=False)
                below = self.upward[height][start:stop] - own * (shape.sizes[height] * self.design.precisions[height])
                share = (above[start:stop] - _over(below, known)) / k
                if k > FEW:
                    np.add(z.reshape(-1, k), share[:, None], out=out.reshape(-1, k))
                for child in range(k if k <= FEW else 0):
                    np.add(z[child::k], share, out=out[child::k])
        for parent in range(whole, shape.widths[height]):  # the one at the edge of the padding, if any
            first, _, end = self.design._children(height + 1, parent)
            part = self._float_z(height)[first:end]
            total = self.design._below_spread(height + 1, parent)
            share = np.array([float(self.design._spread(height, child) / total) for child in range(first, end)])
            fitted[first:end] = part + share * (above[parent] - part.sum())
        return fitted

    def _float_error(self) -> float:
        """A bound on the error of every value of `floats`.

        Each z is off by at most three roundings, a sum of k of them by k - 1 more; a difference, a share and a last sum
        are rounded once each. Sizes come from the bounds on the upward pass, so this takes no look at the values.
        """
        shape, design, unit = self.design.shape, self.design, 2.0**-53
        size = float(abs(int(self.noisy[0])) if design.exact_root else self.reached[-1] / design.information[-1])
        worst = error = 3 * unit * size
        for height in range(shape.height - 1, 0, -1):
            z = self.reached[height - 1] / design.information[height - 1]
            share = 1 / shape.k if design.edges[height] is None else 1.0
            gap = size + shape.k * z
            rounded = unit * (3 * z + share * (shape.k * (shape.k + 2) * z + 4 * gap))
            size = z + share * gap
            error = rounded + share * error + unit * size
            worst = max(worst, error)
        return 1.01 * worst


@dataclass(frozen=True, eq=False)
class FloatFit:
    """A whole fit in floating point, for pictures.

    levels  the fitted values on each height, leaves first
    error   no value is further from the exact one than this
    """

    design: Design
    levels: tuple[NDArray[np.float64], ...]
    error: float

    @property
    def leaves(self) -> NDArray[np.float64]:
        """The fitted values of the leaves of the domain."""
        return self.levels[0][: self.design.shape.n]

    def ranges(self, lows: NDArray[np.int64], highs: NDArray[np.int64]) -> tuple[NDArray[np.float64], float]:
        """The fitted sums over many ranges, as sums over the fewest nodes, and a bound on their errors."""
        shape = self.design.shape
        lows, highs = shape.check_many(lows, highs)
        found = np.zeros(len(lows))
        most = 0.0
        for height, first, stop in shape._taken(lows, highs):
            level = self.levels[height - 1]
            for step in range(int((stop - first).max(initial=0))):
                taken = (first + step < stop) & (first + step < shape.widths[height - 1])
                found += np.where(taken, level[np.minimum(first + step, len(level) - 1)], 0.0)
            most = max(most, float(np.abs(level).max()))
        nodes = max(1, 2 * shape.k * shape.height)
        return found, nodes * self.error + nodes**2 * most * 2.0**-53


@error_boundary
def summed(below: NDArray[Any], k: int) -> NDArray[Any]:
    """The sums of each k neighbours; the last sum may have fewer."""
    whole = len(below) // k * k
    if k > FEW:
        sums = below[:whole].reshape(-1, k).sum(axis=1)
    else:
        sums = below[0:whole:k] + below[1:whole:k]
        for child in range(2, k):
            sums += below[child:whole:k]
    return np.append(sums, below[whole:].sum()) if whole < len(below) else sums


@error_boundary
def add_up(below: NDArray[Any], k: int, sums: NDArray[Any]) -> None:
    """Add each k neighbours to the sum that stands for them."""
    if k > FEW:
        sums += below.reshape(-1, k).sum(axis=1)
    else:
        for child in range(k):
            sums += below[child::k]


@error_boundary
def squares(lows: NDArray[np.int64], highs: NDArray[np.int64], size: int) -> NDArray[np.int64]:
    """For each range: the sum over nodes of so many leaves of the squared number of leaves that lie in the range."""
    first, last = lows // size, highs // size
    left, right = (first + 1) * size - lows, highs + 1 - last * size
    # The two nodes at the ends are cut; those between them lie in the range with all their leaves.
    apart = left**2 + right**2 + (last - first - 1) * size**2
    return np.where(first == last, (highs + 1 - lows) ** 2, apart)


def _squares_between(
    lows: NDArray[np.int64], highs: NDArray[np.int64], first: int, stop: int, size: int
) -> NDArray[np.int64]:
    """`squares` for the part of each range that lies in first <= leaf < stop."""
    lows, highs = np.maximum(lows, first), np.minimum(highs, stop - 1)
    return np.where(lows <= highs, squares(lows, np.maximum(lows, highs), size), 0)


def _squares_of_all(n: int, size: int) -> int:
    """The sum of `squares` over all ranges of n leaves.

    A node with L leaves before it and R after it: each range within it once, those that begin before it or end after it
    L or R times as often, those that hold it L R times.
    """
    whole, rest = divmod(n, size)
    ahead = size * (n - size) * whole * (whole - 1) // 2 - size**2 * (whole - 1) * whole * (2 * whole - 1) // 6
    total = whole * (_inside(size) + (n - size) * _prefixes(size)) + size**2 * ahead
    return total + _inside(rest) + whole * size * _prefixes(rest)


def _inside(size: int) -> int:
    """The sum of squared lengths of all ranges of so many leaves."""
    return size * (size + 1) ** 2 * (size + 2) // 12


def _prefixes(size: int) -> int:
    """1 + 4 + 9 + ... + size**2."""
    return size * (size + 1) * (2 * size + 1) // 6


@error_boundary
def sum_exactly(values: NDArray[Any], most: int) -> int:
    """The sum of whole numbers of at most this size."""
    return int(values.sum()) if values.dtype == object or most * len(values) < WORD else int(values.sum(dtype=object))


@error_boundary
def as_fraction(value: Any) -> Fraction:
    """A number of gmpy2, or a whole one, as a Fraction."""
    return Fraction(int(value.numerator), int(value.denominator))


def _over(whole: NDArray[Any], divisor: int) -> NDArray[np.float64]:
    """Whole numbers over one divisor, as floats."""
    if whole.dtype == object:
        return np.array([one / divisor for one in whole.tolist()], dtype=np.float64)
    quotients: NDArray[np.float64] = whole / divisor
    return quotients


def _steps(query: Pieces, n: int, reach: int) -> tuple[list[int], list[Any]]:
    """Where the weights of a query change, from leaf 0 on, and the weight from there on. Padding has weight 0."""
    edges, values, after = [0], [mpq(0)], 0
    for first, last, weight in sorted(query, key=lambda piece: piece[0]):
        if not after <= first <= last < n:
            rule = f"the pieces of a query must lie in 0..{n - 1} and not overlap, none of them reversed"
            raise ParameterError.of(f"{first} to {last}", rule, "name each leaf once")
        after = last + 1
        for edge, value in ((first, mpq(weight)), (after, mpq(0))):
            if edge == edges[-1]:
                values[-1] = value
            else:
                edges.append(edge)
                values.append(value)
            if len(values) > 1 and values[-1] == values[-2]:
                edges.pop()
                values.pop()
    if edges[-1] >= reach:
        edges.pop()
        values.pop()
    return edges, values


def _pieces_of(weights: Sequence[int | Fraction], n: int) -> list[Piece]:
    if len(weights) != n:
        raise ParameterError.of(
            f"{len(weights)} of them", f"a query has {n} weights, one for each leaf", "give one weight for each leaf"
        )
    return [(at, at, weight) for at, weight in enumerate(weights) if weight]


def _common(values: Sequence[Any]) -> int:
    """The least common denominator."""
    common = 1
    for value in values:
        common = int(mpq(common, int(value.denominator)).numerator) * int(value.denominator)
    return common


def _outside(n: int) -> ParameterError:
    error = ParameterError.of("another range", f"ranges lie in 0..{n - 1}, low end first", "give both ends, included")
    assert isinstance(error, ParameterError)
    return error


protect_module(vars())
