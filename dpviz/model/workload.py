"""A public list of counting queries over declared bins: each adds up the counts of some of them, and has a name.

Bins that are in the same queries cannot be told apart, so they are taken together: the matrix has a column for each
group of them.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from dpviz.boundary import protect_module
from dpviz.errors import DomainError, ParameterError, ReleaseFormat
from dpviz.fitting import queries as least_squares
from dpviz.fitting.queries import LARGEST
from dpviz.model.linear import Query, length
from dpviz.privacy.unit import Unit

MOST_BINS: Final = 100_000
"""A list of queries is over at most so many bins."""

MOST_QUERIES: Final = 200
"""A list has at most so many queries."""

Runs = tuple[tuple[int, int], ...]
"""Bins as runs of neighbours: the first of each, and the one after its last."""


@dataclass(frozen=True)
class Workload:
    """Counting queries by name, each over some of so many bins.

    bins   how many bins there are
    names  of the queries, in order, each of them once
    parts  the bins that each adds up, as runs in ascending order that do not touch

    >>> grades = Workload.of({"all": range(5), "passed": range(4), "A": [0], "B": [1], "C": [2], "D": [3], "F": [4]}, 5)
    >>> grades.l1(Unit("row")), [str(one) for one in grades.matrix.fit([101, 88, 20, 31, 22, 10, 14])]
    (3, ['101', '87', '21', '32', '23', '11', '14'])
    """

    bins: int
    names: tuple[str, ...]
    parts: tuple[Runs, ...]

    def __post_init__(self) -> None:
        if not 1 <= len(self.names) <= MOST_QUERIES:
            raise ParameterError.of(
                f"{len(self.names):,} queries",
                f"a list has 1 to {MOST_QUERIES:,} queries",
                "name fewer queries, but one at least",
            )
        if len(set(self.names)) != len(self.names) or len(self.names) != len(self.parts):
            raise ParameterError.of(
                f"{len(self.names):,} names", "each query has a name of its own", "rename one of them"
            )
        if self.bins > MOST_BINS:
            rule = f"queries are over at most {MOST_BINS:,} bins"
            raise ParameterError.of(f"{self.bins:,} bins", rule, "declare fewer, wider bins")
        for runs in self.parts:
            ends = [end for run in runs for end in run]
            if not ends or ends != sorted(set(ends)) or ends[0] < 0 or ends[-1] > self.bins:
                raise ParameterError.of(
                    "other bins",
                    "a query adds up at least one bin, and each of them once",
                    "name each bin of a query once",
                )

    @classmethod
    def of(cls, queries: Mapping[str, Iterable[int]], bins: int) -> Workload:
        """The queries with these bins, by their numbers."""
        return cls(bins, tuple(queries), tuple(_runs(sorted(numbers)) for numbers in queries.values()))

    # ------------------------------------------------------------ as text

    @property
    def text(self) -> str:
        """All of it, as a law and an answer keep it."""
        return _written(self)

    @classmethod
    def from_text(cls, written: str) -> Workload:
        """The list that has this text. Any other text is refused."""
        return _read(written)

    # ------------------------------------------------------------ the matrix

    @cached_property
    def groups(self) -> NDArray[np.int64]:
        """For each bin the number of its group; -1 where it is in no query."""
        keys = np.zeros(self.bins, dtype=np.int64)
        for runs in self.parts:
            inside = np.zeros(self.bins, dtype=np.int64)
            for first, stop in runs:
                inside[first:stop] = 1
            keys = np.unique(2 * keys + inside, return_inverse=True)[1].reshape(-1)
        used = np.zeros(self.bins, dtype=np.bool_)
        for runs in self.parts:
            for first, stop in runs:
                used[first:stop] = True
        found = np.full(self.bins, -1, dtype=np.int64)
        found[used] = np.unique(keys[used], return_inverse=True)[1].reshape(-1)
        if (number := int(found.max()) + 1) > LARGEST:
            rule = f"queries tell at most {LARGEST:,} groups of bins apart"
            raise ParameterError.of(f"{number:,} groups of bins", rule, "ask for fewer sums at once")
        return found

    @cached_property
    def sizes(self) -> NDArray[np.int64]:
        """How many bins each group has."""
        return np.bincount(self.groups[self.groups >= 0])

    @cached_property
    def rows(self) -> NDArray[np.int64]:
        """For each query, 1 for the groups that it adds up and 0 for the others."""
        rows = np.zeros((len(self.names), len(self.sizes)), dtype=np.int64)
        for row, runs in zip(rows, self.parts, strict=True):
            for first, stop in runs:
                row[self.groups[first:stop]] = 1
        return rows

    @cached_property
    def matrix(self) -> least_squares.NoisyQueries:
        """The queries over groups of bins, with noise of one variance on each: what is fitted by least squares."""
        return least_squares.NoisyQueries(tuple(tuple(row) for row in self.rows.tolist()))

    def weights(self, group_weights: Sequence[int | Fraction]) -> tuple[Fraction, ...]:
        """How much each answer counts in the least-squares value of a query with these weights of groups."""
        key = tuple(Fraction(one) for one in group_weights)
        if key not in self._weights:
            self._weights[key] = tuple(self.matrix.weights(key))
        return self._weights[key]

    @cached_property
    def _weights(self) -> dict[tuple[Fraction, ...], tuple[Fraction, ...]]:
        return {}

    @cached_property
    def fitted(self) -> tuple[tuple[Fraction, ...], ...]:
        """The same for each query of the list itself."""
        return tuple(self.weights(row) for row in self.rows.tolist())

    def answered(self, query: Query) -> tuple[Fraction, ...]:
        """How much each answer counts in a weighted sum of bins. Raises DomainError where the answers leave it open."""
        weights = np.zeros(self.bins, dtype=object)
        for points, weight in query.parts:
            if isinstance(points, range) and length(points):
                weights[points.start : points.stop] = weight
            else:
                weights[list(points)] = weight
        inside = self.groups >= 0
        by_group = np.zeros(len(self.sizes), dtype=object)
        by_group[self.groups[inside]] = weights[inside]
        alike = bool((by_group[self.groups[inside]] == weights[inside]).all())
        wanted = [Fraction(one) for one in by_group.tolist()]
        if not alike or bool((weights[~inside] != 0).any()) or not self.matrix.determines(wanted):
            raise DomainError.of(
                "this sum",
                "the queries that were asked leave it open: it is no sum or difference of their answers",
                "read one that was asked, or ask for it in another release",
            )
        return self.weights(wanted)

    def totals(self, counts: NDArray[np.int64]) -> NDArray[np.int64]:
        """The true answers, from the counts of all bins."""
        parts = [[counts[first:stop].sum(dtype=np.int64) for first, stop in runs] for runs in self.parts]
        return np.array([sum(part) for part in parts], dtype=np.int64)

    @cached_property
    def constraints(self) -> tuple[tuple[int, tuple[int, ...]], ...]:
        """Each query that is the sum of others of the list, with these: the largest that lie in it, where no two of
        them share a bin.

        >>> Workload.of({"all": range(5), "passed": range(4), "A": [0], "F": [4]}, 5).constraints
        ((0, (1, 3)),)
        """
        found = []
        inside = self.rows @ self.rows.T == self.rows.sum(axis=1)[None, :]  # [i, j]: whether j lies in i
        inside &= ~inside.T  # and is not the same
        for whole in range(len(self.names)):
            parts = np.flatnonzero(inside[whole])
            largest = parts[~inside[np.ix_(parts, parts)].any(axis=0)]
            alike = [tuple(self.rows[part].tolist()) for part in largest.tolist()]
            chosen = [part for place, part in enumerate(largest.tolist()) if alike[place] not in alike[:place]]
            if chosen and bool((self.rows[chosen].sum(axis=0) == self.rows[whole]).all()):
                found.append((whole, tuple(chosen)))
        return tuple(found)

    # ------------------------------------------------------------ what one unit can change

    def l1(self, unit: Unit) -> int:
        """Bound how far one unit moves all answers together, in L1.

        Added or removed, a unit in at most b bins adds up to m to each, r records in all, and no answer falls while
        another grows: its records lie where the sums of columns are largest, which is attained. Replaced, it is no more
        than twice that, and no more than r times the most that one record moves by going from one bin to another, or to
        none that is declared: the records before and after can be paired. For a row the second is attained.
        """
        sums = self.rows.sum(axis=0)
        records = left = unit.records(self.bins)
        order = np.argsort(-sums, kind="stable")
        added = 0
        for group in order.tolist():
            taken = min(left, int(self.sizes[group]) * unit.max_per_bin)
            left, added = left - taken, added + taken * int(sums[group])
        if unit.relation == "add-remove":
            return added
        moved = max(int(sums.max()), self._farthest)
        return min(2 * added, records * moved)

    @cached_property
    def _farthest(self) -> int:
        """The most that all answers move together when one record moves between two groups."""
        columns = self.rows.T
        return max(int(np.abs(columns - column).sum(axis=1).max()) for column in columns)


def _runs(numbers: Sequence[int]) -> Runs:
    """Bins as runs of neighbours. A bin that comes twice leaves runs that touch, which are refused."""
    runs: list[tuple[int, int]] = []
    for number in numbers:
        if runs and runs[-1][1] == number:
            runs[-1] = runs[-1][0], number + 1
        else:
            runs.append((number, number + 1))
    return tuple(runs)


def _written(workload: Workload) -> str:
    parts = [[name, [list(run) for run in runs]] for name, runs in zip(workload.names, workload.parts, strict=True)]
    return json.dumps([workload.bins, parts], separators=(",", ":"), ensure_ascii=False)


@lru_cache(maxsize=64)
def _read(written: str) -> Workload:
    """Kept: whatever is fitted or planned with it rests on what was calculated once."""
    refusal = ReleaseFormat.damaged("a list of queries is stored as bins, names and runs of bins", "another text")
    try:
        bins, parts = json.loads(written)
        found = Workload(_whole(bins), tuple(_text(name) for name, _ in parts), tuple(_ends(runs) for _, runs in parts))
    except (ValueError, TypeError, KeyError, RecursionError):
        raise refusal from None
    if _written(found) != written:
        raise refusal
    return found


def _ends(runs: Any) -> Runs:
    return tuple((_whole(first), _whole(stop)) for first, stop in runs)


def _whole(number: Any) -> int:
    if type(number) is not int:
        raise TypeError
    return number


def _text(name: Any) -> str:
    if type(name) is not str:
        raise TypeError
    return name


protect_module(vars())
