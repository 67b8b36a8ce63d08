"""Counts from a pandas DataFrame."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, TypeAlias

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from dpviz.engines.bounding import count_rows, count_users, mark
from dpviz.engines.reading import NONE, WIDE, Bins, Located, Reading, as_written, read
from dpviz.errors import DomainError, ParameterError, SchemaError, short
from dpviz.hidden import Hidden, Unstored, kind_of, quietly, shown
from dpviz.model.domain import CategoryDomain, Domain, IntegerDomain, IntervalDomain, KeyDomain, ProductDomain
from dpviz.model.question import Between, Question
from dpviz.model.source import Tick
from dpviz.model.statistic import Column, DenseCounts, Kind, SparseCounts
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
        if kind not in (Kind.DENSE, Kind.SPARSE):
            raise ParameterError.of(kind.value, "a data frame is counted into one number per bin of a domain")
        for domain in parts(question.domain):
            if isinstance(domain, KeyDomain):
                self._kind(domain.column)
            elif isinstance(domain, CategoryDomain):
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
        if kind is Kind.DENSE and question.bins > MOST_BINS:
            raise DomainError.of(f"{question.bins:,} bins", f"a dense count has at most {MOST_BINS:,} bins")

    def count(self, question: Question, unit: Unit, kind: Kind, tick: Tick | None = None) -> DenseCounts | SparseCounts:
        """Count rows, or users inside the unit's bounds. Filters first, then bounds what a user adds."""
        self.check(question, unit, kind)
        names = list(dict.fromkeys([*question.columns, *([] if unit.is_row else [unit.of])]))
        for done, name in enumerate(names):
            if tick:
                tick(done, len(names) + 1)
            quietly(self._read, name)
        if tick:
            tick(len(names), len(names) + 1)
        counts = quietly(self._dense, question, unit) if kind is Kind.DENSE else quietly(self._sparse, question, unit)
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

    def _dense(self, question: Question, unit: Unit) -> DenseCounts:
        bins = self._filtered(self._place(question.domain), question)
        if unit.is_row:
            return DenseCounts(count_rows(bins, question.bins))
        users = self._read(unit.of).users
        return DenseCounts(count_users(bins, question.bins, users, unit, seed=int(question.id, 16)))

    def _sparse(self, question: Question, unit: Unit) -> SparseCounts:
        """Number the bins that occur by their rank, and count those."""
        labels, ranks = self._occurring(question.domain)
        ranks = self._filtered(ranks, question)
        if unit.is_row:
            counts = count_rows(ranks, len(labels))
        else:
            users, seed = self._read(unit.of).users, int(question.id, 16)
            counts = count_users(ranks, len(labels), users, unit, seed, steps(labels, question.domain))
        occupied = counts > 0
        return SparseCounts(labels[occupied], counts[occupied])

    def _filtered(self, bins: Bins, question: Question) -> Bins:
        """The bins, NONE where a row does not pass the question's filters."""
        for name, condition in question.where.items():
            bins = np.where(self._read(name).passes(condition), bins, NONE)
        return bins

    def _place(self, domain: Domain) -> Bins:
        if not isinstance(domain, ProductDomain):
            return self._read(domain.columns[0]).place(domain)
        first, second = self._place(domain.first), self._place(domain.second)
        return np.where((first == NONE) | (second == NONE), NONE, first * domain.second.size + second)

    def _occurring(self, domain: Domain) -> tuple[NDArray[Any], Bins]:
        """The labels that occur, ascending, and each row's rank among them, or NONE."""
        if isinstance(domain, KeyDomain):
            return self._read(domain.column).keys
        bins, inside = self._locate(domain)
        labels, found = np.unique(bins[inside], return_inverse=True)
        ranks = np.full(len(bins), NONE)
        ranks[inside] = found
        return labels, ranks

    def _locate(self, domain: Domain) -> Located:
        if not isinstance(domain, ProductDomain):
            return self._read(domain.columns[0]).locate(domain)
        (first, one), (second, other) = self._locate(domain.first), self._locate(domain.second)
        if domain.size <= WIDE:
            return first * np.uint64(domain.second.size % WIDE) + second, one & other
        return first.astype(object) * domain.second.size + second.astype(object), one & other


def parts(domain: Domain) -> tuple[Domain, ...]:
    """The one-column domains that a domain is made of."""
    if isinstance(domain, ProductDomain):
        return domain.first, domain.second
    if not isinstance(domain, IntegerDomain | IntervalDomain | CategoryDomain | KeyDomain):
        raise DomainError.of(
            type(domain).__name__, "a data frame is counted over integers, intervals, categories or keys"
        )
    return (domain,)


def steps(labels: NDArray[Any], domain: Domain) -> NDArray[np.uint64]:
    """Which step of the mixing function each label names: its bin modulo 2^64, or 64 bits of its text."""
    if isinstance(domain, KeyDomain):
        return mark(labels)
    return labels if labels.dtype == np.uint64 else np.array([label % WIDE for label in labels], dtype=np.uint64)


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
