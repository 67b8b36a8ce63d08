"""Counts from a pandas DataFrame."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, TypeAlias

import numpy as np
import pandas as pd

from dpviz.engines.bounding import count_rows, count_users
from dpviz.engines.reading import NONE, Bins, Reading, as_written, read
from dpviz.errors import DomainError, ParameterError, SchemaError, short
from dpviz.hidden import Hidden, Unstored, kind_of, quietly, shown
from dpviz.model.domain import CategoryDomain, Domain, IntegerDomain, IntervalDomain, ProductDomain
from dpviz.model.question import Between, Question
from dpviz.model.source import Tick
from dpviz.model.statistic import Column, DenseCounts, Kind
from dpviz.privacy.unit import Unit

KINDS: Final = ("number", "text")
"""What a schema may declare. Columns of times have a third kind, `time`, and cannot be counted."""

TIMES: Final = "a column of times cannot be counted yet"
MOST_BINS: Final = 1 << 26
"""Dense counts take 8 bytes a bin; this many take half a gigabyte."""

Cells: TypeAlias = dict[str, Any]
"""The frame's columns by name: an array as it came, or a Reading once something asked for it."""


class PandasSource(Unstored):
    """A DataFrame behind a narrow door: its name and its columns are public, its values are counted and never shown.

    The columns are copied when the source is made, so that later edits of the frame change no answer; this takes their
    memory once more. A column is read when a question first names it, and is kept as read.

    Columns are `number` (integers and floats, which are one kind because one missing value makes floats of integers) or
    `text` (everything else that can be told apart by its text; True and False too, because one missing value makes
    objects of them). The kinds come from the frame's dtypes, which are taken to be public. Where a dtype hangs on a
    single value, declare the kind: `schema={"visits": "number"}`. In a declared number column, text is read as a person
    would type a number, and True is 1.
    """

    __slots__ = ("_cells", "_columns", "_name")

    def __init__(self, frame: object, *, name: str, schema: Mapping[str, str] | None = None) -> None:
        held = frame = Hidden.of(frame)  # from here on no variable of this call shows a value
        name, schema = shown(name), shown(schema)
        if not isinstance(held.take(), pd.DataFrame):
            raise ParameterError.of(held.kind, "data must be a pandas DataFrame")
        if not isinstance(name, str) or not name:
            raise ParameterError.of(kind_of(name) if name != "" else "no text", "the name of a dataset must be text")
        self._name = name
        self._columns = _declared(quietly(_inferred, held), schema)
        self._cells = Hidden(quietly(_copied, held))

    @property
    def name(self) -> str:
        return self._name

    @property
    def columns(self) -> tuple[Column, ...]:
        return self._columns

    def __repr__(self) -> str:
        return f"<private data: {self._name}, {len(self._columns)} columns>"

    def check(self, question: Question, unit: Unit, kind: Kind) -> None:
        """Refuse what cannot be counted, from the schema alone."""
        if kind is not Kind.DENSE:
            raise ParameterError.of(kind.value, "a data frame is counted into one number per bin of a domain")
        for domain in parts(question.domain):
            if isinstance(domain, CategoryDomain):
                self._can_hold(domain.columns[0], domain.values)
            else:
                self._can_measure(domain.columns[0], f"a domain of {domain.kind}")
        for name, condition in question.where.items():
            if isinstance(condition, Between):
                self._can_measure(name, "a range filter")
            else:
                self._can_hold(name, condition)
        if not unit.is_row:
            self._kind(unit.of)
        if question.bins > MOST_BINS:
            raise DomainError.of(f"{question.bins:,} bins", f"a dense count has at most {MOST_BINS:,} bins")

    def count(self, question: Question, unit: Unit, kind: Kind, tick: Tick | None = None) -> DenseCounts:
        """Count rows, or users inside the unit's bounds. Filters first, then bounds what a user adds."""
        self.check(question, unit, kind)
        names = list(dict.fromkeys([*question.columns, *([] if unit.is_row else [unit.of])]))
        for done, name in enumerate(names):
            if tick:
                tick(done, len(names) + 1)
            quietly(self._read, name)
        if tick:
            tick(len(names), len(names) + 1)
        counts = quietly(self._count, question, unit)
        if tick:
            tick(len(names) + 1, len(names) + 1)
        return counts

    def _kind(self, name: str) -> str:
        """The kind of a column; refuses one that is not there or cannot be read."""
        kinds = {column.name: column.kind for column in self._columns}
        if name not in kinds:
            raise SchemaError.of(name, f"a question must name columns that {self._name} has", _listing(kinds))
        if kinds[name] == "time":
            raise SchemaError.of(name, TIMES, "make a number or a text of it first")
        return kinds[name]

    def _can_measure(self, name: str, asked: str) -> None:
        """Refuse bins and filters of numbers over a column of text."""
        if self._kind(name) != "number":
            raise SchemaError.of(
                name,
                f"{asked} needs a column of numbers, and this one holds text",
                f'use categories, or declare schema={{"{name}": "number"}} if its values are numbers',
            )

    def _can_hold(self, name: str, labels: Sequence[str]) -> None:
        """Refuse labels that a column of numbers never has, for they would count nothing in silence."""
        if self._kind(name) == "number":
            for label in labels:
                if as_written(label) is None:
                    raise SchemaError.of(
                        label,
                        f"{name} is a column of numbers, so its labels must be numbers in their shortest form",
                        f'write 1 and not "1.0", or declare schema={{"{name}": "text"}}',
                    )

    def _read(self, name: str) -> Reading:
        cells = self._cells.take()
        cell = cells[name]
        if not isinstance(cell, Reading):
            cells[name] = cell = read(cell, self._kind(name))
        return cell

    def _count(self, question: Question, unit: Unit) -> DenseCounts:
        bins = self._place(question.domain)
        for name, condition in question.where.items():
            bins[~self._read(name).passes(condition)] = NONE
        if unit.is_row:
            return DenseCounts(count_rows(bins, question.bins))
        users = self._read(unit.of).users
        return DenseCounts(count_users(bins, question.bins, users, unit, seed=int(question.id, 16)))

    def _place(self, domain: Domain) -> Bins:
        if not isinstance(domain, ProductDomain):
            return self._read(domain.columns[0]).place(domain)
        first, second = self._place(domain.first), self._place(domain.second)
        return np.where((first == NONE) | (second == NONE), NONE, first * domain.second.size + second)


def parts(domain: Domain) -> tuple[Domain, ...]:
    """The one-column domains that a domain is made of."""
    if isinstance(domain, ProductDomain):
        return domain.first, domain.second
    if not isinstance(domain, IntegerDomain | IntervalDomain | CategoryDomain):
        raise DomainError.of(type(domain).__name__, "a data frame is counted over integers, intervals or categories")
    return (domain,)


def _inferred(held: Hidden[pd.DataFrame]) -> list[tuple[Any, str]]:
    """The frame's columns and the kinds that their dtypes stand for; a name that is not text stays hidden."""
    found = held.take().dtypes.items()
    return [(name if isinstance(name, str) else Hidden(name), inferred(dtype)) for name, dtype in found]


def _copied(held: Hidden[pd.DataFrame]) -> Cells:
    """Each column's array, copied; the index is not looked at."""
    cells: Cells = {}
    for name, column in held.take().items():
        array: Any = column.array
        plain = isinstance(array, pd.arrays.NumpyExtensionArray)
        cells[str(name)] = np.asarray(array).copy() if plain else array.copy()
    return cells


def _declared(found: list[tuple[Any, str]], schema: Mapping[str, str] | None) -> tuple[Column, ...]:
    """The public columns: their names, and their kinds as declared or, where nothing is, as inferred."""
    kinds: dict[str, str] = {}
    for name, kind in found:
        if not isinstance(name, str):
            raise SchemaError.of(kind_of(name), "the names of columns must be text", "set frame.columns = [...]")
        if name in kinds:
            raise SchemaError.of(name, "the names of columns must differ", "rename one of them")
        kinds[name] = kind
    if not kinds:
        raise SchemaError.of("none", "a data frame must have columns")
    if not isinstance(schema, Mapping | None):
        raise SchemaError.of(kind_of(schema), "a schema must be a dict", 'write schema={"visits": "number"}')
    for name, kind in (schema or {}).items():
        if name not in kinds:
            raise SchemaError.of(name, "a schema must declare columns that the data has", _listing(kinds))
        if kind not in KINDS:
            raise SchemaError.of(kind, f"the kind of a column must be {' or '.join(KINDS)}")
        if kinds[name] == "time":
            raise SchemaError.of(name, TIMES, "make a number or a text of it first")
        kinds[name] = kind
    return tuple(Column(name, kind) for name, kind in kinds.items())


def _listing(kinds: Mapping[str, str]) -> str:
    return f"its columns are {short(', '.join(kinds), 400)}"


def inferred(dtype: Any) -> str:
    """The kind that a dtype stands for, where none is declared."""
    if isinstance(dtype, pd.PeriodDtype) or dtype.kind in "mM":
        return "time"
    return "number" if dtype.kind in "iuf" and not isinstance(dtype, pd.CategoricalDtype) else "text"
