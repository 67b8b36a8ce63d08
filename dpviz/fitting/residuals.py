"""The least-squares fit of noisy tables over some of many columns, in closed form.

Tables of counts that were taken from the same records agree: summed up to the columns that two have in common, they are
equal. Noise breaks that. Each table falls apart into residuals, one for each set of its columns: the sums over all
other columns, less what fewer columns explain (as in an analysis of variance). Residuals of different sets are
uncorrelated, and tables that have a set in common measure the same residual. So the fit of least squares takes the
weighted mean of each residual by itself, and a table is the sum of its residuals again.

With a table t of noise of variance s_t**2 in every cell, and n_j labels in column j, the residual of a set A of columns
has the weight 1 / (s_t**2 prod(n_j for j in t - A)) in the mean. Source: Xiao, He, Zhang, Kifer 2023 (arXiv
2305.08175), sections 4 and 5, where the tables that are noisy are chosen; the mean of all is derived here.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from math import comb, lcm, prod
from typing import Any, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from dpviz.boundary import protect_module
from dpviz.errors import ParameterError
from dpviz.exact import integer

Places: TypeAlias = tuple[int, ...]
"""Columns, by their numbers, ascending."""

Rows: TypeAlias = tuple[int, ...] | range
"""Cells of one table by their numbers: the last column of a table runs fastest."""

Integers: TypeAlias = NDArray[Any]
"""Whole numbers of any size, as objects, or of 64 bits."""

MOST_TABLES: Final = 2_000
"""The most tables that are fitted to each other."""

MOST_TOGETHER: Final = 8
"""A table has at most so many columns: it falls apart into a residual for every set of them."""

LARGEST_WEIGHT: Final = 1_000
"""The weight of a table is at most this: its precision is the square of it."""


@dataclass(frozen=True)
class Effect:
    """Cells of a table that count alike in some sums: how much in each of them."""

    table: int
    count: int
    weights: tuple[Fraction, ...]


@dataclass(frozen=True)
class Tables:
    """Noisy tables over some of several columns, and how precise they are.

    sizes    how many labels each column has
    tables   the columns of each table; none, for the total alone
    weights  of each table, at least 1: its noise is as much narrower as its weight is larger
    known    whether the total is known without noise

    >>> pair = Tables((2, 3), ((0, 1), (0,)), (1, 1), False)
    >>> [[str(one) for one in table] for table in pair.fit([np.array([6, 0, 0, 0, 0, 0]), np.array([2, 4])])]
    [['5', '-1', '-1', '1', '1', '1'], ['3', '3']]
    """

    sizes: tuple[int, ...]
    tables: tuple[Places, ...]
    weights: tuple[int, ...]
    known: bool

    def __post_init__(self) -> None:
        for size in self.sizes:
            integer(size, "the number of labels of a column", least=1)
        for weight in self.weights:
            integer(weight, "the weight of a table", least=1)
        places = [list(table) for table in self.tables]
        ascending = all(table == sorted(set(table)) and set(table) <= set(range(len(self.sizes))) for table in places)
        if not self.tables or len(set(self.tables)) != len(self.tables) or not ascending:
            raise ParameterError.of(
                f"{len(self.tables):,} tables",
                "each table has columns of its own, ascending, and there is one at least",
                "name each table once",
            )
        if len(self.weights) != len(self.tables) or max(self.weights) > LARGEST_WEIGHT:
            raise ParameterError.of(
                f"{len(self.weights):,} weights",
                f"each table has a weight from 1 to {LARGEST_WEIGHT:,}",
                "give one weight for each table",
            )
        if len(self.tables) > MOST_TABLES or max(map(len, self.tables)) > MOST_TOGETHER:
            raise ParameterError.of(
                f"{len(self.tables):,} tables of up to {max(map(len, self.tables)):,} columns",
                f"at most {MOST_TABLES:,} tables of at most {MOST_TOGETHER} columns each are fitted",
                "count fewer columns, or fewer together",
            )

    def __hash__(self) -> int:
        return self._hash

    @cached_property
    def _hash(self) -> int:
        return hash((self.sizes, self.tables, self.weights, self.known))

    # ------------------------------------------------------------ cells

    @cached_property
    def cells(self) -> tuple[int, ...]:
        """How many cells each table has."""
        return tuple(self._product(table) for table in self.tables)

    @cached_property
    def starts(self) -> tuple[int, ...]:
        """Where the cells of each table begin, if all tables lie one after the other; and where the last one ends."""
        return (0, *itertools.accumulate(self.cells))

    def shape(self, table: int) -> tuple[int, ...]:
        return tuple(self.sizes[place] for place in self.tables[table])

    def _product(self, places: Sequence[int]) -> int:
        return prod(self.sizes[place] for place in places)

    def _without(self, table: Places, left: Places) -> Places:
        return tuple(place for place in table if place not in left)

    @cached_property
    def kinds(self) -> tuple[int, ...]:
        """For each table the first one whose cells err alike.

        Where all tables of so many columns are there, with one weight, columns of one size can change places.
        """
        together: dict[int, set[int]] = {}
        counts: Counter[int] = Counter()
        for table, weight in zip(self.tables, self.weights, strict=True):
            together.setdefault(len(table), set()).add(weight)
            counts[len(table)] += 1
        whole = all(counts[ways] == comb(len(self.sizes), ways) for ways in counts)
        if not whole or any(len(weights) > 1 for weights in together.values()):
            return tuple(range(len(self.tables)))
        first: dict[tuple[int, ...], int] = {}
        return tuple(first.setdefault(tuple(sorted(self.shape(at))), at) for at in range(len(self.tables)))

    # ------------------------------------------------------------ residuals

    @cached_property
    def residuals(self) -> dict[Places, tuple[int, ...]]:
        """Every set of columns that lies in a table, and the tables that it lies in."""
        found: dict[Places, list[int]] = {}
        for at, table in enumerate(self.tables):
            for some in _subsets(table):
                found.setdefault(some, []).append(at)
        return {some: tuple(those) for some, those in found.items()}

    def _precision(self, some: Places, table: int) -> Fraction:
        return Fraction(self.weights[table] ** 2, self._product(self._without(self.tables[table], some)))

    @cached_property
    def _all_precisions(self) -> dict[Places, Fraction]:
        return {
            some: sum((self._precision(some, table) for table in those), Fraction(0))
            for some, those in self.residuals.items()
        }

    def part(self, some: Places, table: int) -> Fraction:
        """How much the residual of a table counts in the mean; nothing where it is the total, and that is known."""
        return Fraction(0) if self.known and not some else self._precision(some, table) / self._all_precisions[some]

    def variance(self, places: Places) -> Fraction:
        """Of each cell of a fitted table over these columns, in units of the variance of noise of weight 1.

        The noise of a table is taken to have a variance that is its part of 1 / weight**2, as Gaussian noise has. These
        columns lie in a table.

        >>> Tables((2, 3), ((0, 1), (0,)), (1, 1), False).variance((0, 1))
        Fraction(3, 4)
        """
        found = Fraction(0)
        for some in _subsets(places):
            if some or not self.known:
                spread = prod((1 - Fraction(1, self.sizes[place]) for place in some), start=Fraction(1))
                left = self._product(self._without(places, some))
                found += spread / left**2 / self._all_precisions[some]
        return found

    # ------------------------------------------------------------ the fit

    def fit(self, noisy: Sequence[NDArray[np.int64]], total: int | None = None) -> list[list[Fraction]]:
        """The fitted cells of each table, exactly.

        noisy  the cells of each table as they were drawn
        total  where it is known
        """
        cells = self.numerators(noisy, total)
        return [[Fraction(one, common) for one in table.tolist()] for table, common in cells]

    def numerators(self, noisy: Sequence[NDArray[np.int64]], total: int | None) -> list[tuple[Integers, int]]:
        """The same, of each table as whole numbers and what they are divided by."""
        means = self._means(noisy, total)
        fitted = []
        for at, table in enumerate(self.tables):
            below = [(some, means[some][1] * self._product(self._without(table, some))) for some in _subsets(table)]
            common = lcm(*(denominator for _, denominator in below))
            numerators: Integers = np.zeros(self.shape(at), dtype=object)
            for some, denominator in below:
                numerators = numerators + self._spread(means[some][0], some, table) * (common // denominator)
            fitted.append((_objects(numerators).reshape(-1), common))
        return fitted

    def _means(self, noisy: Sequence[NDArray[np.int64]], total: int | None) -> dict[Places, tuple[Integers, int]]:
        """The mean of each residual: numerators, one for each cell of its columns, and their denominator."""
        tables = [one.astype(object).reshape(self.shape(at)) for at, one in enumerate(noisy)]
        means: dict[Places, tuple[Integers, int]] = {}
        for some, those in self.residuals.items():
            if not some and self.known:
                means[some] = _objects(total), 1
                continue
            parts = [self.part(some, table) for table in those]
            common = lcm(*(part.denominator for part in parts))
            found: Integers = np.zeros(tuple(self.sizes[place] for place in some), dtype=object)
            for table, part in zip(those, parts, strict=True):
                sums = self._summed(tables[table], self.tables[table], some)
                found = found + self._centred(sums, some) * (part.numerator * (common // part.denominator))
            means[some] = found, common * self._product(some)
        return means

    def _summed(self, table: Integers, places: Places, some: Places) -> Integers:
        """A table summed over all but some of its columns."""
        axes = tuple(axis for axis, place in enumerate(places) if place not in some)
        return _objects(table.sum(axis=axes) if axes else table)

    def _centred(self, table: Integers, some: Places) -> Integers:
        """A table less its mean along every column, times the number of its cells."""
        for axis, place in enumerate(some):
            table = table * self.sizes[place] - table.sum(axis=axis, keepdims=True)
        return _objects(table)

    def _spread(self, residual: Integers, some: Places, table: Places) -> Integers:
        """A residual in the shape of a table that has its columns, the same along all others."""
        return _objects(residual).reshape(tuple(self.sizes[place] if place in some else 1 for place in table))

    # ------------------------------------------------------------ the error of a sum

    def effects(self, sums: Sequence[Sequence[tuple[int, Rows]]]) -> tuple[Effect, ...]:
        """How much each noisy cell counts in some sums of fitted cells, cells that count alike taken together.

        sums  each is a list of tables, and of each some of its cells
        """
        return _effects(self, tuple(tuple((table, _kept(rows)) for table, rows in one) for one in self._renamed(sums)))

    def _renamed(self, sums: Sequence[Sequence[tuple[int, Rows]]]) -> list[list[tuple[int, Rows]]]:
        """The same sums with the labels of each column numbered as they are met.

        Tables do not change where the labels of a column change places, so sums that differ in nothing else have the
        same law. It is worked out once for all of them.
        """
        names: dict[int, dict[int, int]] = {}
        found = []
        for one in sums:
            pieces: list[tuple[int, Rows]] = []
            for table, rows in one:
                shape, places = self.shape(table), self.tables[table]
                if len(rows) == self.cells[table]:
                    pieces.append((table, range(len(rows))))
                    continue
                renamed = np.zeros(len(rows), dtype=np.int64)
                for place, size, digits in zip(places, shape, _digits(rows, shape), strict=True):
                    known = names.setdefault(place, {})
                    for label in dict.fromkeys(digits.tolist()):
                        known.setdefault(label, len(known))
                    renamed = renamed * size + np.array([known[label] for label in digits.tolist()], dtype=np.int64)
                pieces.append((table, tuple(renamed.tolist())))
            found.append(pieces)
        return found

    def _joint(self, sums: Sequence[Sequence[tuple[int, Rows]]]) -> Iterator[Effect]:
        loads = [self._loads(one) for one in sums]
        for at, table in enumerate(self.tables):
            here = [{some: load for some, load in one.items() if set(some) <= set(table)} for one in loads]
            touched = tuple(place for place in table if any(place in some for one in here for some in one))
            shape = tuple(self.sizes[place] for place in touched)
            columns = [self._counted(one, at, touched) for one in here]
            flat = [np.broadcast_to(numerators, shape).reshape(-1).tolist() for numerators, _ in columns]
            alike = self._product(self._without(table, touched))
            for numbers, count in Counter(zip(*flat, strict=True)).items():
                weights = tuple(
                    Fraction(number, denominator) for number, (_, denominator) in zip(numbers, columns, strict=True)
                )
                if any(weights):
                    yield Effect(at, count * alike, weights)

    def _loads(self, one: Sequence[tuple[int, Rows]]) -> dict[Places, tuple[Integers, int]]:
        """How much each residual counts in a sum of fitted cells: numerators, centred, and their denominator."""
        found: dict[Places, tuple[Integers, int]] = {}
        for table, rows in one:
            places, shape = self.tables[table], self.shape(table)
            chosen = np.zeros(self.cells[table], dtype=np.int64)
            chosen[rows if isinstance(rows, range) else list(rows)] = 1
            chosen = chosen.reshape(shape)
            for some in _subsets(places):
                # the mean over the other columns, and less its own along each of these
                load = self._centred(self._summed(chosen, places, some), some)
                if (not some and self.known) or not load.any():
                    continue
                denominator = self.cells[table]
                before, common = found.get(some, (np.zeros((), dtype=object), 1))
                both = lcm(common, denominator)
                found[some] = before * (both // common) + load * (both // denominator), both
        return found

    def _counted(self, loads: dict[Places, tuple[Integers, int]], table: int, touched: Places) -> tuple[Integers, int]:
        """How much the cells of a table count in a sum, by their labels in the columns that are touched."""
        parts = {some: self.part(some, table) for some in loads}
        denominators = [load[1] * parts[some].denominator for some, load in loads.items()]
        common = lcm(*denominators) if denominators else 1
        found: Integers = np.zeros((1,) * len(touched), dtype=object)
        for (some, (load, _)), denominator in zip(loads.items(), denominators, strict=True):
            found = found + self._spread(load, some, touched) * (parts[some].numerator * (common // denominator))
        return found, common


@lru_cache(maxsize=4_096)
def _effects(tables: Tables, sums: tuple[tuple[tuple[int, Rows], ...], ...]) -> tuple[Effect, ...]:
    return tuple(tables._joint(sums))


def _subsets(places: Places) -> Iterator[Places]:
    for many in range(len(places) + 1):
        yield from itertools.combinations(places, many)


def _objects(numbers: Any) -> Integers:
    """Whole numbers of any size: NumPy makes a plain number of an array without axes."""
    return np.asarray(numbers.item() if isinstance(numbers, np.generic) else numbers, dtype=object)


def _kept(rows: Rows) -> Rows:
    return rows if isinstance(rows, range) else tuple(rows)


def _digits(rows: Rows, shape: tuple[int, ...]) -> tuple[NDArray[np.int64], ...]:
    """The label of each cell in each column."""
    return tuple(np.unravel_index(np.asarray(rows, dtype=np.int64), shape)) if shape else ()


protect_module(vars())
