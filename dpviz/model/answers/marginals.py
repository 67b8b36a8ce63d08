"""Noisy tables over some of several columns, and the tables that fit all of them best."""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any, ClassVar, Final, overload

import numpy as np
from numpy.typing import NDArray

from dpviz.boundary import Hidden, kind_of, protect_module
from dpviz.errors import DomainError, ReleaseFormat
from dpviz.exact import text
from dpviz.fitting.residuals import Rows, Tables
from dpviz.fitting.whole_tables import whole_tables
from dpviz.model.answers.additive import AdditiveCounts
from dpviz.model.answers.base import register
from dpviz.model.answers.pictures import factor_of
from dpviz.model.answers.reading import Among, Axis, Intervals, Packed, Points, Reading, View
from dpviz.model.answers.values import fractions_sum, rows_or, whole_sum
from dpviz.model.domain import Domain
from dpviz.model.error import SURENESS, ErrorValue
from dpviz.model.linear import Query
from dpviz.model.question import Question

if TYPE_CHECKING:
    from dpviz.model.marginals import Grid

TAKEN: Final = ("table", "value", "low", "high", "low_all", "high_all")
"""Columns of a frame that are no columns of the question."""

TIMES: Final = " × "
"""The sign between the columns of a table."""

TOTAL: Final = "total"
"""The name of the table without columns."""

MOST_CELLS: Final = 1 << 19
"""All tables together have at most so many cells."""

WHOLE: Final = "nonnegative whole"
"""The reader that gives whole numbers of at least 0."""

MOST_READ: Final = 1 << 17
"""Up to so many cells are read for a page as whole numbers of at least 0: nobody waits for more."""

FITTED = (
    "The fitted tables agree with each other: summed up to columns that two of them have in common they are equal, to "
    "the last unit. Each cell is unbiased and no whole number; some may be below 0."
)

FARTHEST: Final = 1 << 62
"""No cell that was drawn is so far from 0: noise is narrower than that by far."""

HUNDREDTHS: Final = 100
"""A page shows fitted cells to so much of one."""


def written(tables: Tables) -> str:
    """All of the tables but their noise, as a law and an answer keep them."""
    parts = [[list(places), weight] for places, weight in zip(tables.tables, tables.weights, strict=True)]
    return json.dumps([list(tables.sizes), parts], separators=(",", ":"))


@lru_cache(maxsize=64)
def tables_of(asked: str, known: bool) -> Tables:
    """The tables that have this text, and whether their total is known. Any other text is refused.

    Kept: whatever is fitted or planned with them rests on what was calculated once.
    """
    refusal = ReleaseFormat.damaged("tables are stored as sizes of columns, and columns and weights", "another text")
    try:
        sizes, parts = json.loads(asked)
        weights = tuple(_whole(weight) for _, weight in parts)
        found = Tables(tuple(map(_whole, sizes)), tuple(tuple(map(_whole, one)) for one, _ in parts), weights, known)
    except (ValueError, TypeError, KeyError, RecursionError):
        raise refusal from None
    if written(found) != asked or sum(found.cells) > MOST_CELLS:
        raise refusal
    return found


def _whole(number: Any) -> int:
    if type(number) is not int:
        raise TypeError
    return number


class CellLabels(Sequence[str]):
    """The labels of all cells, made when they are read: `sex = female · year = 1977`."""

    def __init__(self, tables: Tables, domain: Domain) -> None:
        self._tables, self._domain = tables, domain

    def __len__(self) -> int:
        return self._tables.starts[-1]

    @overload
    def __getitem__(self, place: int) -> str: ...

    @overload
    def __getitem__(self, place: slice) -> list[str]: ...

    def __getitem__(self, place: int | slice) -> str | list[str]:
        if isinstance(place, slice):
            return [self[at] for at in range(*place.indices(len(self)))]
        at, cell = located(self._tables, range(len(self))[place])
        named = zip(self._tables.tables[at], _digits(self._tables, at, cell), strict=True)
        factors = self._domain.factors
        labels = [f"{factors[place].columns[0]} = {factors[place].label(digit)}" for place, digit in named]
        return " · ".join(labels) or TOTAL

    def __iter__(self) -> Iterator[str]:
        return (self[at] for at in range(len(self)))


def located(tables: Tables, row: int) -> tuple[int, int]:
    """The table of a cell, and its number in that."""
    at = int(np.searchsorted(tables.starts, row, side="right")) - 1
    return at, row - tables.starts[at]


def table_named(tables: Tables, domain: Domain, columns: object) -> tuple[int, str]:
    """A table by its columns, in any order, and what it is called."""
    names = [columns] if isinstance(columns, str) else columns
    known = [factor.columns[0] for factor in domain.factors]
    asked = names_of(tables, domain)
    if isinstance(names, Hidden) or not isinstance(names, list | tuple):
        raise DomainError.of(kind_of(columns), "columns are named in a list", 'write ["sex", "year"]')
    if not all(type(name) is str and name in known for name in names) or len(set(names)) != len(names):
        raise DomainError.of(
            "another column",
            f"the columns of a table must be some of {', '.join(known)}, each named once",
            "name these",
        )
    places = tuple(sorted(map(known.index, names)))
    if places not in tables.tables:
        name = TIMES.join(known[place] for place in places) or TOTAL
        raise DomainError.of(
            name, "a table must be one that is asked", f"name the columns of one of these: {_some(asked)}"
        )
    at = tables.tables.index(places)
    return at, asked[at]


def names_of(tables: Tables, domain: Domain) -> list[str]:
    """The name of each table: `sex × year`."""
    return [TIMES.join(domain.factors[place].columns[0] for place in table) or TOTAL for table in tables.tables]


def _some(names: Sequence[str]) -> str:
    return ", ".join(names[:3]) + (f" and {len(names) - 3:,} more" if len(names) > 3 else "")


def _digits(tables: Tables, at: int, cell: int) -> tuple[int, ...]:
    """The label of a cell in each column of its table."""
    shape = tables.shape(at)
    return tuple(int(one) for one in np.unravel_index(cell, shape)) if shape else ()


def pieces(tables: Tables, points: Sequence[Any]) -> list[tuple[int, Rows]]:
    """Points by their tables: each with its cells among them."""
    if isinstance(points, range) and points.step == 1 and points:
        (at, first), stop = located(tables, points.start), points.stop
        if stop <= tables.starts[at + 1]:
            return [(at, range(first, stop - tables.starts[at]))]
    rows = np.asarray(points, dtype=np.int64)
    places = np.searchsorted(tables.starts, rows, side="right") - 1
    found: list[tuple[int, Rows]] = []
    for at in np.unique(places).tolist():
        found.append((at, tuple((rows[places == at] - tables.starts[at]).tolist())))
    return found


@register
@dataclass(frozen=True, eq=False)
class MarginalTables(AdditiveCounts):
    """Noisy tables over some of the columns of a product.

    asked  the sizes of the columns, the columns of each table and its weight, as `written` writes them
    noisy  what was drawn: the cells of all tables plus noise, one table after the other, the last column fastest
    total  the public number of rows, where the fit rests on it; else None

    Readers, all of them computed from what was drawn:

    fitted             tables that agree with each other, with the least weighted sum of squared differences from what
                       was drawn, as exact fractions
    noisy              what was drawn
    nonnegative whole  whole numbers of at least 0 near the fitted ones. All tables have one total, and whichever table
                       the counts of a single column are read from, they are the same; what tables of three columns add
                       up to by two of them need not be. Biased: full cells are lowered and empty ones raised; no
                       interval is stated. `plan.biases` says how much, for counts that you make up
    """

    kind: ClassVar[str] = "marginals"
    chart: ClassVar[str] = "marginals"
    readers: ClassVar[tuple[str, ...]] = ("fitted", "noisy", WHOLE)
    noun: ClassVar[str] = "cell"
    by_columns: ClassVar[bool] = True
    asked: str
    noisy: NDArray[np.int64]
    total: int | None

    @property
    def tables(self) -> Tables:
        return tables_of(self.asked, self.total is not None)

    def pack(self) -> Packed:
        total = None if self.total is None else str(self.total)
        return Packed({"tables": self.asked, "total": total}, {"noisy": self.noisy})

    @classmethod
    def unpack(cls, packed: Packed) -> MarginalTables:
        if set(packed.arrays) != {"noisy"} or set(packed.header) != {"tables", "total"}:
            raise ReleaseFormat.damaged("marginals are tables and a number for each of their cells", "other parts")
        noisy, asked, total = packed.arrays["noisy"], packed.header["tables"], packed.header["total"]
        if not isinstance(asked, str) or not (total is None or (isinstance(total, str) and total.isdecimal())):
            raise ReleaseFormat.damaged("marginals are stored as texts and numbers", "another kind of value")
        tables = tables_of(asked, total is not None)
        if noisy.dtype != "<i8" or bool((np.abs(noisy) >= FARTHEST).any()) or noisy.shape != (tables.starts[-1],):
            raise ReleaseFormat.damaged("there is one whole number for each cell of the tables", "other numbers")
        return cls(asked, noisy.astype(np.int64), None if total is None else int(total))

    def fits(self, question: Question, max_items: int | None) -> bool:
        return question.domain.declared and self.tables.sizes == tuple(one.size for one in question.domain.factors)

    # ------------------------------------------------------------ reading

    def axis(self, reading: Reading) -> Axis:
        labels = CellLabels(self.tables, reading.question.domain)
        return Axis(reading.question.domain.columns_text, "cell", labels, whole=f"{len(labels):,}")

    def rows(self, reading: Reading) -> dict[str, Sequence[Any]]:
        """The table of each cell, and its label in each column; an empty text where its table has no such column."""
        factors, tables = reading.question.domain.factors, self.tables
        names = self.names(reading)
        called = [f"{one.columns[0]} (label)" if one.columns[0] in TAKEN else one.columns[0] for one in factors]
        columns: dict[str, list[str]] = {name: [] for name in called}
        for at, places in enumerate(tables.tables):
            digits = np.indices(tables.shape(at)).reshape(len(places), tables.cells[at])
            for place, factor in enumerate(factors):
                cells = columns[called[place]]
                if place in places:
                    labels = [factor.label(label) for label in range(factor.size)]
                    cells += [labels[digit] for digit in digits[places.index(place)].tolist()]
                else:
                    cells += [""] * tables.cells[at]
        return {"table": [name for name, many in zip(names, tables.cells, strict=True) for _ in range(many)], **columns}

    def lines(self, reading: Reading) -> dict[str, Sequence[Any]]:
        axis = self.axis(reading)
        return {axis.noun: axis.labels}

    def names(self, reading: Reading) -> list[str]:
        """The name of each table: `sex × year`."""
        return names_of(self.tables, reading.question.domain)

    def point(self, reading: Reading, label: object) -> int:
        """A cell by its label in each column of its table: {"sex": "female", "year": "1977"}; {} is the total."""
        factors = reading.question.domain.factors
        if not isinstance(label, Mapping):
            first = self.tables.tables[-1]
            example = ", ".join(f'"{factors[place].columns[0]}": …' for place in first)
            raise DomainError.of(
                kind_of(label), "a cell must be named by its label in each column of a table", f"write {{{example}}}"
            )
        known = {factor.columns[0]: place for place, factor in enumerate(factors)}
        given: dict[int, object] = {}
        for name, one in label.items():
            if name not in known:
                raise DomainError.of(
                    "another column", f"the columns of a cell must be some of {', '.join(known)}", "name these"
                )
            given[known[name]] = one
        places = tuple(sorted(given))
        if places not in self.tables.tables:
            raise DomainError.of(
                TIMES.join(factors[place].columns[0] for place in places) or TOTAL,
                "a cell must be of a table that was asked",
                f"read release.marginal([...]) for fewer columns, or name a cell of these: {self._some(reading)}",
            )
        at, cell = self.tables.tables.index(places), 0
        for place in places:
            cell = cell * factors[place].size + factors[place].index(given[place])
        return self.tables.starts[at] + cell

    def _some(self, reading: Reading) -> str:
        return _some(self.names(reading))

    def read(self, reading: Reading, points: Points = None, reader: str = "") -> NDArray[np.int64] | list[Fraction]:
        chosen = rows_or(points, len(self.noisy))
        if (reader := self._reader(reader)) != "fitted":
            picked: NDArray[np.int64] = (self.noisy if reader == "noisy" else self._whole)[chosen]
            return picked
        return self._fitted[chosen] if isinstance(chosen, slice) else [self._fitted[row] for row in chosen]

    @cached_property
    def _fitted(self) -> list[Fraction]:
        return [cell for table in self.tables.fit(self._drawn, self.total) for cell in table]

    @cached_property
    def _whole(self) -> NDArray[np.int64]:
        return np.concatenate(whole_tables(self.tables, self._drawn, self.total))

    @property
    def _drawn(self) -> list[NDArray[np.int64]]:
        """The cells that were drawn, by tables."""
        return [self.noisy[first:stop] for first, stop in itertools.pairwise(self.tables.starts)]

    def bars(self, reading: Reading, beta: Fraction) -> tuple[ErrorValue | None, ErrorValue | None]:
        """Cells of one table err alike; those of another by more or less."""
        return None, None

    def radii(self, reading: Reading, beta: Fraction, among: Among = "one", reader: str = "") -> list[ErrorValue]:
        """The half-width of the intervals of each table's cells, which are the same in all of them."""
        error = reading.error.estimator(self._reader(reader))
        level = beta if among == "one" else beta / len(self.noisy)
        found = [error.range(first, first, level) for first in self.tables.starts[:-1]]
        return [one for one in found if one is not None]

    def intervals(
        self,
        reading: Reading,
        beta: Fraction,
        among: Among = "one",
        points: Points = None,
        reader: str = "",
    ) -> Intervals | None:
        """Each cell ± the quantile of its error, in whole counts, cut at 0 and at a public number of rows. None for
        cells that are read as whole numbers of at least 0, of which nothing is proved.

        All cells hold at once by a union bound, for they depend on each other.
        """
        halves = self.radii(reading, beta, among, reader)
        if not halves:
            return None
        chosen = rows_or(points, len(self.noisy))
        rows = np.arange(len(self.noisy))[chosen]
        tables = np.searchsorted(self.tables.starts, rows, side="right") - 1
        half = np.array([int(one.value) for one in halves], dtype=np.int64)[tables]
        values = self.read(reading, points, reader)
        if isinstance(values, np.ndarray):
            low, high = values - half, values + half
        else:
            low = np.array([math.ceil(one) for one in values], dtype=np.int64) - half
            high = np.array([math.floor(one) for one in values], dtype=np.int64) + half
        how = max((one.how for one in halves), key=SURENESS.index)
        rule = halves[0].rule
        if among == "all":
            how, rule = "bound", f"{rule}; union bound over {len(self.noisy):,} cells"
        low, high = np.minimum(low, high), np.maximum(low, high)  # no whole number lies within less than one count
        most = reading.unit.n
        cut = np.maximum(low, 0), np.maximum(high, 0) if most is None else np.minimum(high, most)
        possible = cut[0] <= cut[1]  # else the noise was larger than the bar allows for, which is shown as it is
        ends = [np.where(possible, one, whole) for one, whole in zip(cut, (low, high), strict=True)]
        return Intervals(ends[0], ends[1], how, rule, ends[0] != low, ends[1] != high)

    # ------------------------------------------------------------ sums

    def all_points(self, reading: Reading) -> range:
        return range(len(self.noisy))

    def total_points(self, reading: Reading, beside: Sequence[Any] | None = None) -> Sequence[Any]:
        """All cells of one table: that of the points beside which they stand."""
        at = located(self.tables, int(beside[0]))[0] if beside else 0
        return range(self.tables.starts[at], self.tables.starts[at + 1])

    def bins_behind(self, reading: Reading, query: Query) -> tuple[int, ...]:
        """A cell adds up all bins with its labels, in which the columns of no other table differ. Tables count each bin
        once more."""
        bins: dict[int, int] = {}
        for points, _ in query.parts:
            for point in points:
                at = located(self.tables, int(point))[0]
                bins[at] = bins.get(at, 0) + reading.question.domain.size // self.tables.cells[at]
        return tuple(bins.values()) or (0,)

    def table_row(self, reading: Reading, label: object, beside: Sequence[Any]) -> Sequence[Any] | None:
        """The cells of the table of these points that have a label in some of its columns: {"sex": "female"}."""
        if not isinstance(label, Mapping) or not label:
            return None
        factors, at = reading.question.domain.factors, located(self.tables, int(beside[0]))[0]
        places = self.tables.tables[at]
        names = [factors[place].columns[0] for place in places]
        if not set(label) < set(names):
            return None
        numbers = np.arange(self.tables.starts[at], self.tables.starts[at + 1]).reshape(self.tables.shape(at))
        chosen = (
            factors[place].index(label[name]) if name in label else slice(None)
            for place, name in zip(places, names, strict=True)
        )
        found: list[int] = numbers[tuple(chosen)].reshape(-1).tolist()
        return found

    def label(self, reading: Reading, point: Any) -> str:
        return CellLabels(self.tables, reading.question.domain)[int(point)]

    def has_ordered_points(self, reading: Reading) -> bool:
        return False

    def weighted_sum(self, reading: Reading, query: Query, reader: str = "") -> Fraction:
        """A weighted sum of cells, of any tables."""
        total = Fraction(0)
        for points, weight in query.parts:
            rows = slice(points.start, points.stop) if isinstance(points, range) and points.step == 1 else points
            values = self.read(reading, rows, reader)
            found = whole_sum(values) if isinstance(values, np.ndarray) else fractions_sum(values)
            assert isinstance(found, Fraction)
            total += weight * found
        return total

    def heat_map_columns(self, reading: Reading) -> tuple[str, str] | None:
        """Those of the first table of two columns."""
        names = [factor.columns[0] for factor in reading.question.domain.factors]
        return next(((names[table[0]], names[table[1]]) for table in self.tables.tables if len(table) == 2), None)

    def marginal(self, reading: Reading, grid: Grid) -> Callable[[Sequence[Sequence[int]]], Query]:
        """Of columns that are together in a table: from the smallest such table, for all agree."""
        tables, kept = self.tables, grid.kept
        those = [at for at, places in enumerate(tables.tables) if set(kept) <= set(places)]
        if not those:
            raise DomainError.of(
                TIMES.join(grid.columns),
                f"a marginal is read from a table that has all of its columns, and there is {self._some(reading)}",
                "ask for columns of one of these, or release tables of more columns",
            )
        at = min(those, key=tables.cells.__getitem__)
        numbers = np.arange(tables.starts[at], tables.starts[at + 1]).reshape(tables.shape(at))
        axes = [tables.tables[at].index(place) for place in kept]
        lying = np.moveaxis(numbers, axes, range(len(axes))).reshape((*grid.sizes, -1))

        def query(cells: Sequence[Sequence[int]]) -> Query:
            return Query.of(([row for cell in cells for row in lying[tuple(cell)].tolist()], 1))

        return query

    # ------------------------------------------------------------ words and pictures

    def sentence(self, reading: Reading) -> str:
        many = len(self.tables.tables)
        return f"{many:,} {'table' if many == 1 else 'tables'}; release.marginal([...]) reads one of them."

    def remark(self, reading: Reading) -> str:
        return FITTED if len(self.noisy) > 1 else ""

    def view(self, reading: Reading, betas: Sequence[Fraction]) -> View:
        """The picture that a page draws, of kind "marginals": the names and labels of the columns, the columns of each
        table, how far its cells may be off at each beta (as text), alone and among all; the fitted cells, in hundredths
        and in whole counts, and what they add up to by each column; and the cells as other readers have them that it
        offers, which is none where there are too many."""
        factors, tables = reading.question.domain.factors, self.tables
        kinds: tuple[Among, ...] = ("one", "all")
        offered = len(self.noisy) <= MOST_READ
        header = {
            "factors": [factor_of(one) for one in factors],
            "tables": [list(map(str, places)) for places in tables.tables],
            "radii": {
                text(beta): {among: [one.to_json() for one in self.radii(reading, beta, among)] for among in kinds}
                for beta in betas
            },
            "readers": ["fitted", *([WHOLE] if offered else [])],
            "margins": [self._margin(reading, place, betas) for place in range(len(factors))],
            "sentence": self.remark(reading),
        }
        hundredths, wholes = (
            np.array([round(cell * part) for cell in self._fitted], dtype=np.int64) for part in (HUNDREDTHS, 1)
        )
        nonnegative = self._whole if offered else self.noisy[:0]
        return View("marginals", header, {"fitted": hundredths, "whole": wholes, "nonnegative": nonnegative})

    def _margin(self, reading: Reading, place: int, betas: Sequence[Fraction]) -> dict[str, Any]:
        """The sums of fitted cells by one column, rounded to whole counts, and how far one of them may be off; nothing
        where the column is in no table of two, which are drawn with them."""
        tables = self.tables
        at = next((at for at, table in enumerate(tables.tables) if place in table and len(table) == 2), None)
        if at is None:
            return {"whole": [], "radii": {}}
        numbers = np.arange(tables.starts[at], tables.starts[at + 1]).reshape(tables.shape(at))
        sums = np.moveaxis(numbers, tables.tables[at].index(place), 0).tolist()
        wholes = [round(sum((self._fitted[row] for row in rows), Fraction(0))) for rows in sums]
        radii = {text(beta): bar for beta in betas if (bar := reading.error.sum_of(sums[0], beta)) is not None}
        return {"whole": list(map(str, wholes)), "radii": {beta: bar.to_json() for beta, bar in radii.items()}}


protect_module(vars())
