"""Least squares on any tree: uneven fan-out and depth, noise of different sizes, missing and exactly known nodes.

The two passes of Hay, Rastogi, Miklau, Suciu 2010, Theorem 3, with weights. Upward, each node has the best estimate z
from what was drawn at it and below it, and its variance; downward, the gap between a node's fitted value and the sum of
its children's z is shared out in proportion to their variances. All numbers are exact.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

from gmpy2 import mpq

from dpviz.boundary import protect_module
from dpviz.errors import ParameterError
from dpviz.fitting.tree import Design, as_fraction


@dataclass(frozen=True)
class Irregular:
    """A tree with the variance of what was drawn at each node.

    parents    the parent of each node; -1 for the root, which is node 0; a parent stands before its children
    variances  of the noise at each node, in any common unit; None where the node is not asked, 0 where it is known

    >>> grades = Irregular((-1, 0, 1, 1, 1, 1, 0), (1, 1, 1, 1, 1, 1, 1))    # all, passed, A, B, C, D, F
    >>> [str(one) for one in grades.fit([101, 88, 20, 31, 22, 10, 14])]
    ['101', '87', '21', '32', '23', '11', '14']
    """

    parents: tuple[int, ...]
    variances: tuple[Fraction | int | None, ...]

    def __post_init__(self) -> None:
        if len(self.parents) != len(self.variances) or not self.parents:
            raise ParameterError.of(
                "other lengths",
                "a tree has one parent and one variance for each of its nodes",
                "give two lists of one length",
            )
        for node, parent in enumerate(self.parents):
            if (parent == -1) != (node == 0) or not -1 <= parent < max(node, 1):
                raise ParameterError.of(
                    parent,
                    "node 0 is the root with parent -1; a parent stands before its children",
                    "number the nodes from the root down",
                )
        for node, variance in enumerate(self.variances):
            if variance is not None and variance < 0:
                raise ParameterError.of(
                    variance,
                    "a variance must not be negative",
                    "give 0 for what is known exactly, None for what was not asked",
                )
            if variance is None and not self.children[node]:
                raise ParameterError.of("a leaf without a value", "every leaf must be asked", "ask it, or drop it")

    @classmethod
    def of(cls, design: Design) -> Irregular:
        """The same tree as a design, node by node in the same order."""
        shape = design.shape
        parents, variances = [], list[Fraction | None]()
        for height in range(shape.height, 0, -1):
            above = shape.starts[height] if height < shape.height else 0
            precision = design.precisions[height - 1]
            for index in range(shape.widths[height - 1]):
                parents.append(above + index // shape.k if height < shape.height else -1)
                variances.append(Fraction(1, precision) if precision else None)
        if design.exact_root:
            variances[0] = Fraction(0)
        return cls(tuple(parents), tuple(variances))

    @cached_property
    def children(self) -> tuple[tuple[int, ...], ...]:
        found: list[list[int]] = [[] for _ in self.parents]
        for node, parent in enumerate(self.parents[1:], start=1):
            found[parent].append(node)
        return tuple(map(tuple, found))

    @cached_property
    def leaves(self) -> tuple[int, ...]:
        """The nodes without children, in their order."""
        return tuple(node for node, children in enumerate(self.children) if not children)

    @cached_property
    def upward(self) -> tuple[tuple[Any, Any, Any], ...]:
        """For each node: the variance of its z, the sum of those of its children, and how much its own value counts."""
        found: list[tuple[Any, Any, Any]] = [(mpq(0), mpq(0), mpq(0))] * len(self.parents)
        for node in range(len(self.parents) - 1, -1, -1):
            own = self.variances[node]
            if not self.children[node]:
                found[node] = (mpq(own), mpq(0), mpq(1))
                continue
            below = sum((found[child][0] for child in self.children[node]), mpq(0))
            if own is None:
                found[node] = (below, below, mpq(0))
            else:
                count = below / (below + mpq(own)) if below + own else mpq(0)
                found[node] = (mpq(own) * count, below, count)
        return tuple(found)

    def fit(self, noisy: Sequence[int | Fraction | None]) -> list[Fraction]:
        """The consistent values with the least sum of squared differences over variances, exactly.

        Draws at a node that is not asked are not looked at. Exactly known nodes that contradict each other are
        refused.
        """
        z = self._z(noisy)
        fitted = [mpq(0)] * len(z)
        fitted[0] = z[0]
        for node, children in enumerate(self.children):
            if children:
                gap, below = fitted[node] - sum((z[child] for child in children), mpq(0)), self.upward[node][1]
                for child in children:
                    fitted[child] = z[child] + (gap * self.upward[child][0] / below if below else 0)
        return [as_fraction(one) for one in fitted]

    def node_variances(self) -> list[Fraction]:
        """The variance of the fitted value of every node."""
        found = [mpq(0)] * len(self.parents)
        found[0] = self.upward[0][0]
        for node, children in enumerate(self.children):
            below = self.upward[node][1]
            for child in children:
                spread = self.upward[child][0]
                share = spread / below if below else mpq(0)
                found[child] = spread * (1 - share) + share**2 * found[node]
        return [as_fraction(one) for one in found]

    def weights(self, query: Sequence[int | Fraction]) -> list[Fraction]:
        """How much each node's noisy value counts in the fitted value of a query with a weight for each leaf.

        Nodes that are not asked count 0. With the true variance of each node's noise, the sum of squares times
        variances is the variance of the fitted value, whatever variances the fit supposed.
        """
        means = self._means(query)
        counts, found = [mpq(0)] * len(means), [Fraction(0)] * len(means)
        counts[0] = means[0]
        for node, children in enumerate(self.children):
            own = self.upward[node][2]
            found[node] = as_fraction(counts[node] * own)
            for child in children:
                counts[child] = means[child] - means[node] + counts[node] * (1 - own)
        return found

    def variance(self, query: Sequence[int | Fraction]) -> Fraction:
        """The variance of the fitted value of a query with a weight for each leaf, where variances are true."""
        pairs = zip(self.weights(query), self.variances, strict=True)
        return sum((weight**2 * variance for weight, variance in pairs if variance is not None), Fraction(0))

    def _means(self, query: Sequence[int | Fraction]) -> list[Any]:
        """The mean weight below each node, in which children count by the variances of their z."""
        if len(query) != len(self.leaves):
            raise ParameterError.of(
                f"{len(query)} of them",
                f"a query has {len(self.leaves)} weights, one for each leaf",
                "give one weight for each leaf",
            )
        means = [mpq(0)] * len(self.parents)
        for leaf, weight in zip(self.leaves, query, strict=True):
            means[leaf] = mpq(weight)
        for node in range(len(means) - 1, -1, -1):
            below = self.upward[node][1]
            if below:
                means[node] = sum((self.upward[one][0] * means[one] for one in self.children[node]), mpq(0)) / below
        return means

    def _z(self, noisy: Sequence[int | Fraction | None]) -> list[Any]:
        if len(noisy) != len(self.parents):
            raise ParameterError.of(
                f"{len(noisy)} of them", f"this tree has {len(self.parents)} nodes", "give one value for each node"
            )
        z = [mpq(0)] * len(noisy)
        for node in range(len(noisy) - 1, -1, -1):
            _, _, count = self.upward[node]
            own, drawn = self.variances[node], noisy[node]
            below = sum((z[child] for child in self.children[node]), mpq(0))
            if own is None:
                z[node] = below
                continue
            if type(drawn) is not int and type(drawn) is not Fraction:
                raise ParameterError.of(
                    "another value",
                    "each node that is asked takes a whole number or a Fraction",
                    "round it, or make a Fraction of it",
                )
            if own == 0 and self.children[node] and self.upward[node][1] == 0 and below != drawn:
                raise ParameterError.of(
                    "exact values",
                    "exactly known nodes must agree with the sums below them",
                    "give each known node the sum of those below it",
                )
            z[node] = count * mpq(drawn) + (1 - count) * below
        return z


protect_module(vars())
