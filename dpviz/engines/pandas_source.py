"""Counts from a pandas DataFrame."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeAlias

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from dpviz.boundary import Hidden, Unstored, protect_module, shown, withhold_errors
from dpviz.engines.bounding import (
    PIECE,
    bins_of_users,
    count_pieces,
    count_rows,
    count_users,
    kept_parts,
    sum_rows,
    sum_users,
)
from dpviz.engines.reading import Bins, ColumnReading, Located, read, read_written
from dpviz.engines.schema import MOST_BINS, Declared, Schema, called, declared, formats_of
from dpviz.engines.steps import SumScale, steps_of
from dpviz.engines.values import NONE, WIDE
from dpviz.engines.written import PLAIN
from dpviz.errors import ParameterError
from dpviz.kinds import is_a
from dpviz.model.aggregate import Sum
from dpviz.model.domain import Domain, KeyDomain, ProductDomain
from dpviz.model.question import Question
from dpviz.model.source import Source, Tick, TopRules
from dpviz.model.statistic import (
    Column,
    ColumnOnes,
    DenseCounts,
    Need,
    RecordBits,
    SparseCounts,
    Statistic,
    StatisticKind,
    Top,
    TopCounts,
)
from dpviz.privacy.unit import Unit

Cells: TypeAlias = dict[str, Any]
"""The frame's columns by name: an array as it came, or a Reading once something asked for it."""


class PandasSource(Unstored, Source):
    """A DataFrame behind a narrow interface: name and columns are public, values are counted and never shown.

    The columns are copied when the source is made, so that later edits of the frame change no answer; this takes their
    memory once more. A column is read when a question first names it, and is kept as read.

    Columns are `number` (integers and floats, which are one kind because one missing value makes floats of integers) or
    `text` (everything else that can be told apart by its text; True and False too, because one missing value makes
    objects of them). The kinds come from the frame's dtypes, which are taken to be public. Where a dtype hangs on a
    single value, declare the kind: `schema={"visits": "number"}`. In a declared number column, text is read as a person
    would type a number, and True is 1.
    """

    __slots__ = ("_cells", "_formats", "_kept", "_schema")

    def __init__(self, frame: object, *, name: str, schema: Mapping[str, Declared] | None = None) -> None:
        held = frame = Hidden.of(frame)  # from here on no variable of this call shows a value
        name, schema = shown(name), shown(schema)
        if not is_a(held.take(), pd.DataFrame):
            raise ParameterError.of(
                held.kind, "data must be a pandas DataFrame", "give a DataFrame, or open other data with dv.Session"
            )
        name = called(name)
        texts = frozenset(withhold_errors(texts_of, held))
        columns = declared(withhold_errors(inferred_kinds, held), schema, texts)
        self._formats = formats_of(schema, columns)
        index = frozenset(withhold_errors(index_names, held))
        timed = frozenset(withhold_errors(_timed, held)) | {
            one.name for one in columns if one.written and one.kind == "time"
        }
        parsed = {one.name for one in columns if one.name in texts and (one.kind == "number" or one.written)}
        columns = tuple(
            replace(one, written=f"numbers as {PLAIN.said}") if one.name in parsed and not one.written else one
            for one in columns
        )
        flags = frozenset(withhold_errors(flags_of, held))
        self._schema = Schema(
            name,
            columns,
            timed=timed,
            parsed=frozenset(parsed),
            index=index,
            flags=flags,
            whole=withhold_errors(whole_of, held),
        )
        self._cells = Hidden(withhold_errors(_copied, held))
        self._kept: Hidden[dict[Any, Bins]] = Hidden({})

    @property
    def name(self) -> str:
        return self._schema.name

    @property
    def engine(self) -> str:
        return "pandas"

    @property
    def columns(self) -> tuple[Column, ...]:
        return self._schema.columns

    @property
    def top(self) -> TopRules:
        return TopRules()

    def __repr__(self) -> str:
        return f"<private data: {self.name}, {len(self.columns)} columns>"

    def check(self, question: Question, unit: Unit, need: Need) -> None:
        """Refuse what cannot be counted, from the schema alone."""
        self._schema.check(question, unit, need)

    def probe(self) -> None:
        """The columns are in this process: there is nothing that could be gone."""

    def chartered(self, kinds: Mapping[str, str]) -> PandasSource:
        """The dtypes of a frame, or the schema, declare all kinds."""
        return self

    def count(self, question: Question, unit: Unit, need: Need, tick: Tick | None = None) -> Statistic:
        """Count or sum up rows, of users inside the unit's bounds. Filters first, then bounds what a user adds."""
        self.check(question, unit, need)
        if question.aggregate.profiled is not None:
            return self._profile(question, unit, tick)
        names = list(dict.fromkeys([*question.columns, *([] if unit.is_row else [unit.of])]))
        for done, name in enumerate(names):
            if tick:
                tick(done, len(names) + 1)
            withhold_errors(self._read, name)
        if tick:
            tick(len(names), len(names) + 1)
        found = {
            StatisticKind.DENSE: self._dense,
            StatisticKind.ONES: self._ones,
            StatisticKind.BITS: self._bits,
        }
        reads = self._sparse if isinstance(need, Top) else found.get(need, self._sparse)
        counts: Statistic = withhold_errors(reads, question, unit)
        if isinstance(need, Top):
            counts = withhold_errors(largest, counts, need)
        if tick:
            tick(len(names) + 1, len(names) + 1)
        return counts

    def _profile(self, question: Question, unit: Unit, tick: Tick | None) -> Statistic:
        """Count users by their numbers of bins, before any limit."""
        rows = question.of_rows
        for name in (*rows.columns, unit.of):
            withhold_errors(self._read, name)
        if tick:
            tick(0, 1)
        users = withhold_errors(self._bins_of_users, rows, unit, question.domain.columns[0])
        classes = PandasSource(users, name=self.name)
        counts = classes.count(Question(question.domain), Unit(), StatisticKind.DENSE)
        if tick:
            tick(1, 1)
        return counts

    def _bins_of_users(self, rows: Question, unit: Unit, name: str) -> Hidden[pd.DataFrame]:
        """How many bins each user has rows in, of the users who have any, in a column of this name."""
        if rows.domain.declared and rows.bins <= MOST_BINS:
            bins, size = self._place(rows.domain, None), rows.bins
        else:
            labels, bins = self._occurring(rows)
            size = max(1, len(labels))
        found = bins_of_users(self._filtered(bins, rows, unit), size, self._read(unit.of).users)
        return Hidden(pd.DataFrame({name: found}))

    def _read(self, name: str) -> ColumnReading:
        cells = self._cells.take()
        cell = cells[name]
        if not isinstance(cell, ColumnReading):
            format = self._formats.get(name)
            cell = read(cell, self._schema.read_as(name)) if format is None else read_written(cell, format)
            cells[name] = cell
        return cell

    def _dense(self, question: Question, unit: Unit) -> Statistic:
        first, *others = question.domain.factors
        plain = question.fallback is None and not question.filtered and not question.aggregate.columns
        if unit.is_row and plain and not others and question.bins <= PIECE:
            column = self._read(first.columns[0])
            if column.tally is not None:
                distinct, rows = column.tally
                return DenseCounts(sum_rows(distinct.assign_bins(first), rows, question.bins))
            return DenseCounts(count_pieces(column.pieces(first), question.bins))
        bins = self._filtered(self._place(question.domain, question.fallback), question, unit)
        return DenseCounts(self._added(bins, question.bins, question, unit))

    def _sparse(self, question: Question, unit: Unit) -> Statistic:
        """Number the bins that occur by their rank, and count those."""
        plain = not question.filtered and not question.aggregate.columns
        if unit.is_row and plain and isinstance(question.domain, KeyDomain):
            tally = self._read(question.domain.column).tally
            if tally is not None:
                labels, ranks = tally[0].keys
                return SparseCounts(labels, sum_rows(ranks, tally[1], len(labels)))
        labels, ranks = self._occurring(question)
        ranks = self._filtered(ranks, question, unit)
        counts = self._added(ranks, len(labels), question, unit, labels)
        occupied = counts != 0
        return SparseCounts(labels[occupied], counts[occupied])

    def _added(
        self, bins: Bins, size: int, question: Question, unit: Unit, labels: NDArray[Any] | None = None
    ) -> NDArray[np.int64]:
        """The count, or the total in steps, of each bin. `labels` names sparse bins, which are numbered by rank."""
        if isinstance(question.aggregate, Sum):
            column = self._read(question.aggregate.column)
            values, there = column.floats
            steps = column.with_decimals(steps_of(values, SumScale.of(question.aggregate)), question.aggregate)
            bins = np.where(there, bins, NONE)
            if unit.is_row:
                return sum_rows(bins, steps, size)
            return sum_users(bins, steps, size, self._read(unit.of).users, unit, question.id, labels)
        if unit.is_row:
            return count_rows(bins, size)
        return count_users(bins, size, self._read(unit.of).users, unit, question.id, labels)

    def _filtered(self, bins: Bins, question: Question, unit: Unit) -> Bins:
        """The bins, NONE where a row does not pass the question's filters, or is not in the part that is asked."""
        for name, condition in question.where.items():
            bins = np.where(self._read(name).passes(condition), bins, NONE)
        if question.partition is not None and question.part is not None:
            bins = np.where(self._parts(question, unit) == question.part, bins, NONE)
        return bins

    def _parts(self, question: Question, unit: Unit) -> Bins:
        """The part of each row in which its unit counts, or NONE. Kept for the next part."""
        by = question.partition
        assert by is not None
        asked = question.parts_salt, by.cut, unit.of
        known = self._kept.take()
        if asked not in known:
            parts, cut = self._place(by.domain, None), by.cut
            if cut is not None and not unit.is_row:
                parts = kept_parts(parts, by.size, self._read(unit.of).users, cut, question.parts_salt)
            known.clear()
            known[asked] = parts
        found: Bins = known[asked]
        return found

    def _ones(self, question: Question, unit: Unit) -> Statistic:
        """One column after the other, so that no more than one is in memory as bins."""
        ones, records = [], 0
        for bins in self._columns(question.domain, question.fallback):
            passing = self._filtered(bins, question, unit)
            ones.append(np.count_nonzero(passing == 1))
            records = int(np.count_nonzero(passing != NONE))
        return ColumnOnes(np.array(ones, dtype=np.int64), records)

    def _bits(self, question: Question, unit: Unit) -> Statistic:
        """Packed column after column, for a table of bytes would take eight times the memory."""
        columns, packed = len(question.domain.factors), np.zeros((0, 0), dtype=np.uint8)
        for at, bins in enumerate(self._columns(question.domain, question.fallback)):
            if at == 0:
                packed = np.zeros((len(bins), -(-columns // 8)), dtype=np.uint8)
            packed[:, at // 8] |= (bins == 1).astype(np.uint8) << (7 - at % 8)
        if question.where:
            packed = packed[self._filtered(np.zeros(len(packed), dtype=np.int64), question, unit) != NONE]
        return RecordBits(columns, packed)

    def _columns(self, domain: Domain, fallback: Sequence[int] | None) -> Iterator[Bins]:
        """Each row's bin, one column after the other; NONE only where such rows are left out."""
        factors = domain.factors
        for factor, beside in zip(factors, fallback or [NONE] * len(factors), strict=True):
            bins = self._read(factor.columns[0]).assign_bins(factor)
            yield bins if beside == NONE else np.where(bins == NONE, beside, bins)

    def _place(self, domain: Domain, fallback: Sequence[int] | None) -> Bins:
        bins, *others = self._columns(domain, fallback)
        for factor, place in zip(domain.factors[1:], others, strict=True):
            bins = np.where((bins == NONE) | (place == NONE), NONE, bins * factor.size + place)
        return bins

    def _occurring(self, question: Question) -> tuple[NDArray[Any], Bins]:
        """The labels that occur, ascending, and each row's rank among them, or NONE."""
        domain = question.domain
        if isinstance(domain, KeyDomain):
            return self._read(domain.column).keys
        if isinstance(domain, ProductDomain) and not domain.declared:
            return self._keyed(domain)
        bins, inside = self._locate(domain, question.fallback)
        labels, found = np.unique(bins[inside], return_inverse=True)
        ranks = np.full(len(bins), NONE)
        ranks[inside] = found
        return labels, ranks

    def _keyed(self, domain: ProductDomain) -> tuple[NDArray[Any], Bins]:
        """The same for unknown keys among declared columns: the bins that occur, found column after column."""
        columns, known = [self._read(name).keys for name in domain.unknown], domain.known
        place = np.zeros(len(columns[0][1]), dtype=np.int64) if known is None else self._place(known, None)
        inside = np.logical_and.reduce([place != NONE, *(codes != NONE for _, codes in columns)])
        places, found = np.unique(place[inside], return_inverse=True)
        bins: list[tuple[int, tuple[str, ...]]] = [(one, ()) for one in places.tolist()]
        for names, codes in columns:
            pairs, found = np.unique(found * max(1, len(names)) + codes[inside], return_inverse=True)
            earlier = (divmod(pair, len(names)) for pair in pairs.tolist())
            bins = [(bins[at][0], (*bins[at][1], names[code])) for at, code in earlier]
        texts = [domain.keyed(*bin) for bin in bins]
        labels = np.empty(len(texts), dtype=object)
        labels[:] = sorted(texts)
        rank = {name: at for at, name in enumerate(labels)}
        ranks = np.full(len(place), NONE)
        ranks[inside] = np.array([rank[name] for name in texts], dtype=np.int64)[found]
        return labels, ranks

    def _locate(self, domain: Domain, fallback: Sequence[int] | None) -> Located:
        located = [self._read(factor.columns[0]).locate(factor) for factor in domain.factors]
        if fallback is not None:
            located = [_with(beside, *found) for beside, found in zip(fallback, located, strict=True)]
        (bins, inside), *others = located
        wide = bool(others) and domain.size > WIDE
        bins = bins.astype(object) if wide else bins
        for factor, (place, has) in zip(domain.factors[1:], others, strict=True):
            step = factor.size if wide else np.uint64(factor.size % WIDE)
            bins, inside = bins * step + (place.astype(object) if wide else place), inside & has
        return bins, inside


def _with(beside: int, bins: NDArray[Any], inside: NDArray[np.bool_]) -> Located:
    """The same bins where a row without one has this one."""
    bins = bins.copy()
    bins[~inside] = beside
    return bins, np.ones_like(inside)


def largest(sparse: SparseCounts, need: Top) -> TopCounts:
    """The largest counts of all, in the order of a TopCounts: labels come ascending, and the sort is stable."""
    labels, counts = sparse.take()
    order = np.argsort(-counts, kind="stable")[: need.rows + 1]
    kept, after = order[: need.rows], order[need.rows :]
    return TopCounts(labels[kept].tolist(), counts[kept], int(counts[after].sum()))


def inferred_kinds(held: Hidden[pd.DataFrame]) -> list[tuple[Any, str]]:
    """The frame's columns and the kinds that their dtypes stand for; a name that is not text stays hidden."""
    found = held.take().dtypes.items()
    return [(name if isinstance(name, str) else Hidden(name), inferred(dtype)) for name, dtype in found]


def texts_of(held: Hidden[pd.DataFrame]) -> list[str]:
    """The columns that may hold texts: by their dtypes, of which no value decides."""
    found = held.take().dtypes.items()
    plain = [(name, dtype) for name, dtype in found if isinstance(name, str) and inferred(dtype) == "text"]
    return [name for name, dtype in plain if not is_flag(dtype)]


def listed_of(held: Hidden[pd.DataFrame]) -> list[str]:
    """The columns in which values of any kind may lie, by their dtypes."""
    return [name for name, dtype in held.take().dtypes.items() if isinstance(name, str) and is_listed(dtype)]


def flags_of(held: Hidden[pd.DataFrame]) -> list[str]:
    """The columns of True and False, by their dtypes."""
    return [name for name, dtype in held.take().dtypes.items() if isinstance(name, str) and is_flag(dtype)]


def whole_of(held: Hidden[pd.DataFrame]) -> dict[str, tuple[int, int]]:
    """By column of whole numbers the least and the greatest of its dtype."""
    types = {name: plain_type(dtype) for name, dtype in held.take().dtypes.items() if _is_whole(dtype)}
    held_as = {name: getattr(kind, "subtype", kind) for name, kind in types.items() if isinstance(name, str)}  # sparse
    ends = {name: np.iinfo(f"{kind.kind}{kind.itemsize}") for name, kind in held_as.items()}
    return {name: (int(end.min), int(end.max)) for name, end in ends.items()}


def _is_whole(dtype: Any) -> bool:
    return plain_type(dtype).kind in "iu" and not isinstance(dtype, pd.CategoricalDtype)


def index_names(held: Hidden[pd.DataFrame]) -> list[str]:
    """The names that `reset_index` gives the levels of a frame's index; of one that counts rows, nothing."""
    index = held.take().index
    if isinstance(index, pd.RangeIndex) and index.name is None:
        return []
    single = index.nlevels == 1
    plain = ["index"] if single else [f"level_{at}" for at in range(index.nlevels)]
    return [name if isinstance(name, str) else other for name, other in zip(index.names, plain, strict=True)]


def _timed(held: Hidden[pd.DataFrame]) -> list[str]:
    """The columns of dates, and of times that say no zone: NumPy's datetime64, Arrow's dates and timestamps."""
    return [name for name, dtype in held.take().dtypes.items() if isinstance(name, str) and plain_times(dtype)]


def plain_times(dtype: Any) -> bool:
    """Whether a dtype holds dates, or times that say no zone; categories of such among them."""
    if isinstance(dtype, pd.CategoricalDtype):
        return dtype.categories is not None and plain_times(dtype.categories.dtype)
    if isinstance(dtype, pd.ArrowDtype):
        dtype = plain_type(dtype)
        return dtype.kind == "M" and getattr(dtype.pyarrow_dtype, "tz", None) is None
    return isinstance(dtype, np.dtype) and dtype.kind == "M"


def _copied(held: Hidden[pd.DataFrame]) -> Cells:
    """Each column's array, copied; the index is not looked at."""
    cells: Cells = {}
    for name, column in held.take().items():
        array: Any = column.array
        plain = isinstance(array, pd.arrays.NumpyExtensionArray)
        cells[str(name)] = as_held(np.asarray(array) if plain else array).copy()
    return cells


def as_held(array: Any) -> Any:
    """A column's array in the type of its values: Arrow's without views, runs, dictionaries and extensions."""
    if not isinstance(array.dtype, pd.ArrowDtype):
        return array
    import pyarrow  # type: ignore[import-untyped]  # which pandas needs for such a column alone

    from dpviz.engines.arrow_types import plain, unpacked

    kind = array.dtype.pyarrow_dtype
    if plain(kind) == kind:
        return array
    held = pyarrow.array(array)
    whole = held if isinstance(held, pyarrow.ChunkedArray) else pyarrow.chunked_array([held])
    return pd.arrays.ArrowExtensionArray(unpacked(whole))


def plain_type(dtype: Any) -> Any:
    """The dtype of the values: Arrow's without views, runs, dictionaries and extensions."""
    if not isinstance(dtype, pd.ArrowDtype):
        return dtype
    from dpviz.engines.arrow_types import plain

    return pd.ArrowDtype(plain(dtype.pyarrow_dtype))


def inferred(dtype: Any) -> str:
    """The kind that a dtype stands for, where none is declared; the name of one that cannot be counted."""
    if isinstance(dtype, pd.ArrowDtype):
        from dpviz.engines.arrow_types import holds

        return holds(dtype.pyarrow_dtype)
    if isinstance(dtype, pd.PeriodDtype) or dtype.kind in "mM":
        return "time"
    if isinstance(dtype, pd.CategoricalDtype) and dtype.categories is not None and dtype.categories.dtype.kind in "mM":
        return "time"
    return "number" if dtype.kind in "iuf" and not isinstance(dtype, pd.CategoricalDtype) else "text"


def is_flag(dtype: Any) -> bool:
    """Whether a dtype holds True and False alone. (Categories of them are texts, as all categories are.)"""
    return plain_type(dtype).kind == "b" and not isinstance(dtype, pd.CategoricalDtype)


def is_listed(dtype: Any) -> bool:
    """Whether values of any kind may lie in a column of this dtype: objects, and categories of them."""
    return inferred(dtype) == "text" and (isinstance(dtype, pd.CategoricalDtype) or dtype == np.dtype(object))


protect_module(vars())
