"""Marginals of an answer over several columns: the counts of some, added up over the others. Free, as every sum.

A marginal is a table of sums of bins that no other of its cells has, so its cells add up to the total, and to the cells
of a marginal of fewer columns, to the last unit.
"""

from __future__ import annotations

import pkgutil
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import product
from math import prod
from typing import TYPE_CHECKING, Any, Final

from dpviz.boundary import Hidden, kind_of, plain_arguments, protect_module
from dpviz.errors import DomainError
from dpviz.model.derived import Among, DerivedTable
from dpviz.model.domain import Domain, one_of
from dpviz.model.linear import Query
from dpviz.model.words import shown

if TYPE_CHECKING:
    import pandas as pd

MOST_CELLS: Final = 100_000
"""A marginal has at most so many cells."""

MOST_PIECES: Final = 1_000_000
"""The most runs of neighbouring bins that are added up."""


@dataclass(frozen=True)
class Grid:
    """The bins of a product, and which columns of it are kept.

    domain  whose bins are numbered with the last column running fastest
    kept    places of the kept columns, in the order of the marginal
    """

    domain: Domain
    kept: tuple[int, ...]

    @classmethod
    def of(cls, domain: Domain, columns: object) -> Grid:
        """Raises DomainError for columns that the domain does not have, or that are named twice, and for a marginal of
        too many cells."""
        known = domain.columns
        names = [one_of(name, _text, f"column {place}") for place, name in enumerate(_names(columns), 1)]
        said = ", ".join(known)
        for place, name in enumerate(names, 1):
            if name not in known:
                raise DomainError.of(
                    "another text", f"column {place} must be one of {said}", "name a column of this answer"
                )
            if name in names[: place - 1]:
                raise DomainError.of(name, "a marginal has each column once", "name it once")
        if not names:
            raise DomainError.of("no columns", "a marginal keeps at least one column", "ask for the sum of all bins")
        grid = cls(domain, tuple(known.index(name) for name in names))
        if grid.size > MOST_CELLS:
            raise DomainError.of(
                f"{shown(grid.size)} cells", f"a marginal has at most {MOST_CELLS:,} cells", "keep fewer columns"
            )
        return grid

    def check_pieces(self) -> None:
        """Raises DomainError where too many runs of bins would be added up."""
        if self.pieces > MOST_PIECES:
            raise DomainError.of(
                f"{shown(self.domain.size)} bins",
                f"a marginal adds up at most {MOST_PIECES:,} runs of neighbouring bins",
                "keep the first columns of the domain, or count the columns of this marginal by themselves",
            )

    @property
    def columns(self) -> tuple[str, ...]:
        return tuple(self.domain.columns[place] for place in self.kept)

    @property
    def axes(self) -> tuple[Domain, ...]:
        """The bins of each kept column."""
        return tuple(self.domain.factors[place] for place in self.kept)

    @property
    def sizes(self) -> tuple[int, ...]:
        """How many bins each kept column has."""
        return tuple(self.domain.factors[place].size for place in self.kept)

    @property
    def size(self) -> int:
        """How many cells there are."""
        return prod(self.sizes)

    @property
    def run(self) -> int:
        """How many neighbouring bins belong to one cell: all columns after the last kept one are added up."""
        return prod(axis.size for axis in self.domain.factors[max(self.kept) + 1 :])

    @property
    def pieces(self) -> int:
        """How many runs all cells have together."""
        return self.domain.size // self.run

    def cells(self) -> Iterator[tuple[int, ...]]:
        """By the place of each kept column, in its own domain; the last of them fastest."""
        return product(*(range(size) for size in self.sizes))

    def labels(self, cell: Sequence[int]) -> tuple[str, ...]:
        return tuple(self.domain.factors[place].label(at) for place, at in zip(self.kept, cell, strict=True))

    def starts(self, cell: Sequence[int]) -> list[int]:
        """Where the runs of a cell begin."""
        at = dict(zip(self.kept, cell, strict=True))
        starts = [0]
        for place, axis in enumerate(self.domain.factors[: max(self.kept) + 1]):
            chosen = [at[place]] if place in at else range(axis.size)
            starts = [start * axis.size + one for start in starts for one in chosen]
        return [start * self.run for start in starts]

    def query(self, cells: Sequence[Sequence[int]]) -> Query:
        """The sum of these cells."""
        starts = sorted(start for cell in cells for start in self.starts(cell))
        if self.run > 1:
            return Query.of(*((range(start, start + self.run), 1) for start in starts))
        return Query.of((starts, 1))


def of_columns(columns: object, grid: Grid) -> tuple[int, ...]:
    """Places, among the kept columns, of those that a whole keeps: its share is asked for."""
    names = [one_of(name, _text, f"column {place}") for place, name in enumerate(_names(columns), 1)]
    for place, name in enumerate(names, 1):
        if name not in grid.columns:
            raise DomainError.of(
                "another text",
                f"column {place} of a whole must be one of {', '.join(grid.columns)}",
                "name columns of this marginal, or give [] for shares of the total",
            )
    kept = tuple(place for place, name in enumerate(grid.columns) if name in names)
    if len(kept) == len(grid.columns):
        raise DomainError.of("all columns", "a part must leave something of its whole", "leave a column out")
    return kept


def _names(columns: object) -> Sequence[Any]:
    if isinstance(columns, str):
        return [columns]
    if isinstance(columns, Hidden) or not isinstance(columns, list | tuple):
        raise DomainError.of(kind_of(columns), "columns are named in a list", 'write ["sex", "year"]')
    return columns


def _text(name: Any, what: str) -> str:
    if type(name) is not str:
        raise DomainError.of(kind_of(name), f"{what} must be text", "write it in quotes")
    return name


@dataclass(frozen=True, repr=False)
class Marginal(DerivedTable):
    """The cells of a marginal, each with its interval.

    Parameters
    ----------
    rows : tuple of Derived
        The value of each cell.
    columns : tuple of str
        The columns that are kept.
    labels : tuple of tuple of str
        Labels of each cell, one for each column.
    axes : tuple of Domain
        The bins of each column.
    again : callable, optional
        Asks once more, for other columns or another number of questions; None in a copy.
    """

    columns: tuple[str, ...]
    labels: tuple[tuple[str, ...], ...]
    axes: tuple[Domain, ...] = field(compare=False)
    again: Callable[[Sequence[str], Among], Marginal] | None = field(compare=False)

    def __reduce__(self) -> tuple[Any, ...]:
        """A copy, and what is sent elsewhere, holds the cells and not the answer that they were read from."""
        return Marginal, (self.rows, self.columns, self.labels, self.axes, None)

    def asked(self, columns: Sequence[str], among: Among) -> Marginal | None:
        """Ask for the marginal of these columns, for several questions at once.

        Parameters
        ----------
        columns : list of str
            The columns that are kept.
        among : {"one", "all"} or int
            The questions that the intervals hold for.

        Returns
        -------
        Marginal or None
            None where a copy no longer knows the answer that it was read from.

        Raises
        ------
        DomainError
            If the answer does not have these columns.
        """
        if (tuple(columns), among) == (self.columns, self[0].among):
            return self
        return None if self.again is None else self.again(columns, among)

    @plain_arguments
    def chart(self, **options: Any) -> Any:
        """Draw bars with both their error bars for one column, or a map for two; see `dpviz.charts.of_marginal`.

        Parameters
        ----------
        **options
            Options of that chart.

        Returns
        -------
        altair.Chart
            The chart.

        Raises
        ------
        ParameterError
            If an option is unknown or outside its range.
        """
        return pkgutil.resolve_name("dpviz.charts:of_marginal")(self, **options)

    @property
    def _body(self) -> dict[str, Any]:
        cells = [list(labels) for labels in self.labels]
        axes = [axis.to_json() for axis in self.axes]
        return {**super()._body, "columns": list(self.columns), "labels": cells, "axes": axes}

    def to_frame(self) -> pd.DataFrame:
        """Return one row for each cell.

        Returns
        -------
        DataFrame
            The label in each kept column, value, low, high, and how these are known.
        """
        frame = super().to_frame().drop(columns="what")
        for place, name in enumerate(self.columns):
            title = name if name not in frame.columns else f"{name} (label)"
            frame.insert(place, title, [labels[place] for labels in self.labels])
        return frame


protect_module(vars())
