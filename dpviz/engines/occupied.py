"""The bins that are not empty, taken from an SQL engine while it counts: Arrow batches, checked one by one."""

from __future__ import annotations

from typing import Any, Final, Self

import numpy as np
import pyarrow  # type: ignore[import-untyped]
import pyarrow.compute  # type: ignore[import-untyped]
from numpy.typing import NDArray

from dpviz.boundary import Hidden, Unstored, protect_module, withhold_errors
from dpviz.engines.arrow_numbers import as_flags, as_places, numbers_of
from dpviz.engines.checked import LARGEST, all_possible, counted, counts_of
from dpviz.engines.queries import Engine, Piece, each
from dpviz.engines.text_order import text_order
from dpviz.engines.values import WIDE
from dpviz.errors import ReleaseFailed
from dpviz.memory import give_back
from dpviz.model.domain import Domain, ProductDomain
from dpviz.model.lines import BREAK, Labels, Lines
from dpviz.model.question import Question
from dpviz.model.source import Tick
from dpviz.model.statistic import Batch, Visit, odd_answer, together

PIECE: Final = 1 << 16
"""Texts that are put in order at once."""


class Occupied(Unstored):
    """The bins that are not empty, as an engine counts them: the query runs whenever somebody asks for them.

    No label may come twice. Of what comes all at once that is looked at (`whole`). Of batches it cannot be, without
    keeping all labels, and a look at each batch by itself would tell nothing of two batches. The measures that stand
    for it:

    * The query groups by what the label is, or by what the label is written from, one text for each value. Keys and
      bins are whole numbers or texts, never floats, so there is no NaN, no -0.0 and no other value that equals what is
      written otherwise; null is left out, and a null that comes is refused. Whole numbers are equal where their digits
      are. Texts are equal where their code points are: a column for which the engine says otherwise (case, accents,
      spaces at the end, Unicode forms) is refused when the source is made (`ibis_source.PROBES`), and DuckDB is asked
      again before each query which collation is in force. So an engine that groups at all gives each label once.
    * What would be shown twice is refused: `in_order` looks at the bins that passed, which are all that anybody sees.
    * Two groups under one label, of which at most one is shown, were two bins to the engine. The unit's bounds and the
      noise were those of two bins as well, so what is shown is post-processing of what was paid for: the price holds,
      though the count is short of the other group's.
    """

    __slots__ = ("_engine", "_query", "_question", "_tick")

    def __init__(self, engine: Engine, query: Hidden[Any], question: Question, tick: Tick | None) -> None:
        self._engine, self._query, self._question, self._tick = engine, query, question, tick

    def each(self, visit: Visit) -> None:
        """Each batch, once it was found to hold labels and possible counts. Raises ReleaseFailed where one does not."""

        def found(piece: Hidden[Piece]) -> None:
            batch = withhold_errors(_batch, piece, self._question)
            if batch is None:
                raise odd_answer()
            visit(batch)

        each(self._engine, self._query, found, 0, 2, self._tick)
        for step in (1, 2):
            if self._tick:
                self._tick(step, 2)

    def whole(self) -> tuple[NDArray[Any], NDArray[np.int64]]:
        """All of them, ascending. Raises ReleaseFailed where a label comes twice."""
        batches: list[Batch] = []
        self.each(batches.append)
        joined = withhold_errors(_joined, Hidden(batches), self._question)
        if joined is None:
            raise odd_answer()
        return joined

    def __repr__(self) -> str:
        return f"<private counts in {self._engine!r}>"


class TextBatch(Batch):
    """Keys as a column of Arrow's: Python makes a text of those alone that are asked for."""

    __slots__ = ()

    def labels(self, chosen: NDArray[np.bool_] | None = None) -> NDArray[Any]:
        return _objects(self._labels if chosen is None else self._labels.filter(as_flags(chosen)))

    def chosen(self, chosen: NDArray[np.bool_], counts: NDArray[np.int64]) -> TextBatch:
        return TextBatch(self._labels.filter(as_flags(chosen)), counts)

    @classmethod
    def in_order(cls, batches: list[Self]) -> tuple[NDArray[Any], NDArray[np.int64]]:
        """They become texts of Python's once they are in order: so they lie in memory as they will be read."""
        column, order, counts = _ordered(batches)
        return _objects(column.take(as_places(order))), counts

    @classmethod
    def to_show(cls, batches: list[Self]) -> tuple[Labels, NDArray[np.int64]]:
        """Of many keys Python makes no texts before somebody reads them."""
        column, order, counts = _ordered(batches)
        if not len(column) or pyarrow.compute.any(pyarrow.compute.match_substring(column, BREAK)).as_py():
            return tuple(column.take(as_places(order)).to_pylist()), counts
        return Lines(_written(column, order)), counts


def _ordered(batches: list[Any]) -> tuple[Any, NDArray[np.int64], NDArray[np.int64]]:
    """A column of all texts, the places of them that make it ascend, and their counts in that order; the list of
    batches is emptied. Raises ReleaseFailed where a text comes twice."""
    column, counts = _as_one(batches)
    order = text_order(column)
    if order is None:
        raise odd_answer()
    return column, order, counts[order]


def _as_one(batches: list[Any]) -> tuple[Any, NDArray[np.int64]]:
    """All texts as one column of large strings, and their counts. Each batch is let go once it is copied, so that
    nothing lies in memory twice."""
    rows = sum(len(batch._labels) for batch in batches)
    if rows > PIECE:  # a short answer leaves little, and looking for it takes time in a large process
        give_back()
    size = sum(_bytes_between(batch._labels) for batch in batches)
    ends, counts = np.zeros(rows + 1, dtype=np.int64), np.empty(rows, dtype=np.int64)
    held = np.empty(size, dtype=np.uint8)
    row = at = 0
    while batches:
        batch = batches.pop()
        own, texts = _parts(batch._labels)
        last = row + len(own) - 1
        ends[row : last + 1] = own - own[0] + at
        held[at : at + len(texts)] = texts
        counts[row:last] = batch.counts
        row, at = last, at + len(texts)
    buffers = [None, pyarrow.py_buffer(ends), pyarrow.py_buffer(held)]
    return pyarrow.Array.from_buffers(pyarrow.large_string(), rows, buffers), counts


def _parts(texts: Any) -> tuple[NDArray[Any], NDArray[np.uint8]]:
    """Of a column of strings, short or large, where each text begins and the last ends, and the bytes of them."""
    _, ends, held = texts.buffers()
    if not len(texts):
        return np.zeros(1, dtype=np.int64), np.empty(0, dtype=np.uint8)
    wide = np.int64 if pyarrow.types.is_large_string(texts.type) else np.int32
    own = np.frombuffer(ends, dtype=wide)[texts.offset :][: len(texts) + 1]
    return own, np.frombuffer(held or b"", dtype=np.uint8)[own[0] : own[-1]]


def _bytes_between(texts: Any) -> int:
    return len(_parts(texts)[1])


def _written(column: Any, order: NDArray[np.int64]) -> NDArray[np.uint8]:
    """The texts in this order, one a line, in UTF-8. Some at a time: a second column of them would take as much memory
    again."""
    size = column.buffers()[2].size if len(column) else 0
    lines = np.empty(size + len(column), dtype=np.uint8)
    at = 0
    for first in range(0, len(order), PIECE):
        texts = column.take(as_places(order[first : first + PIECE]))
        piece = _broken(texts)
        lines[at : at + len(piece)] = piece
        at += len(piece)
    return lines[: max(at - 1, 0)]


def _broken(texts: Any) -> NDArray[np.uint8]:
    """The bytes of a column of large strings, a line's end after each."""
    ends, held = _parts(texts)
    is_text = np.ones(len(held) + len(texts), dtype=np.bool_)
    is_text[ends[1:] - ends[0] + np.arange(len(texts))] = False
    lines = np.full(len(is_text), ord(BREAK), dtype=np.uint8)
    lines[is_text] = held
    return lines


def _objects(texts: Any) -> NDArray[Any]:
    found: NDArray[Any] = texts.to_numpy(zero_copy_only=False)
    return found.astype(object, copy=False)


def _batch(held: Hidden[Piece], question: Question) -> Batch | None:
    """Labels and counts, or totals in steps; None where the piece holds something else."""
    piece, domain = held.take(), question.domain
    if not isinstance(piece, pyarrow.RecordBatch):
        found = counted(piece, question, ordered=False)
        if found is None:
            return None
        labels = np.empty(len(found), dtype=_kept_as(question))
        labels[:] = [label for label, _ in found]
        return Batch(labels, counts_of(found))
    if piece.num_columns != 2:
        return None
    column, counts = piece.column(0), _whole_numbers(piece.column(1))
    if counts is None or not all_possible(counts, question):
        return None
    counts = counts.astype(np.int64, copy=False)
    if not domain.declared:
        kind = column.type
        known = pyarrow.types.is_string(kind) or pyarrow.types.is_large_string(kind)
        return TextBatch(column, counts) if known and not column.null_count and _led(column, domain) else None
    numbers = _whole_numbers(column) if pyarrow.types.is_integer(column.type) else _wide_numbers(column)
    if numbers is None or not _all_bins(numbers, question.bins):
        return None
    # A bin is not below 0: the same 64 bits unsigned are the same number, without a copy.
    numbers = numbers.view(np.uint64) if numbers.dtype == np.int64 else numbers
    return Batch(numbers.astype(_kept_as(question), copy=False), counts)


def _all_bins(numbers: NDArray[Any], bins: int) -> bool:
    """Whether each number is that of a bin."""
    if not len(numbers):
        return True
    if numbers.dtype == np.int64 and bins <= LARGEST:
        return int(numbers.view(np.uint64).max()) < bins  # unsigned, a number below 0 lies above LARGEST
    return 0 <= int(numbers.min()) <= int(numbers.max()) < bins


def _led(column: Any, domain: Domain) -> bool:
    """Whether each text begins with the number of a declared bin, where unknown keys are among declared columns."""
    if not isinstance(domain, ProductDomain) or domain.known is None or not len(column):
        return True
    numbers = pyarrow.compute.utf8_slice_codeunits(column, 0, domain.digits)
    if not pyarrow.compute.all(pyarrow.compute.match_substring_regex(numbers, f"^[0-9]{{{domain.digits}}}$")).as_py():
        return False
    return int(pyarrow.compute.max(numbers.cast(pyarrow.int64())).as_py()) < domain.known.size


def _kept_as(question: Question) -> Any:
    """The type of an array that holds the labels."""
    return np.uint64 if question.domain.declared and question.bins <= WIDE else object


def _whole_numbers(column: Any) -> NDArray[Any] | None:
    """A column of whole numbers of at most 64 bits, none of them missing; else None."""
    if not pyarrow.types.is_integer(column.type) or column.null_count:
        return None
    return numbers_of(column)


def _wide_numbers(column: Any) -> NDArray[Any] | None:
    """The same of whole numbers of 128 bits, as Arrow holds decimals: two words each, the lower one first."""
    kind = column.type
    if not pyarrow.types.is_decimal128(kind) or kind.scale or column.null_count:
        return None
    if not len(column):
        return np.zeros(0, dtype=np.uint64)
    words = np.frombuffer(column.buffers()[1], dtype="<u8").reshape(-1, 2)[column.offset :][: len(column)]
    low, high = words[:, 0], words[:, 1].view(np.int64)
    numbers: NDArray[Any] = high.astype(object) * WIDE + low.astype(object) if high.any() else low
    return numbers


def _joined(held: Hidden[list[Batch]], question: Question) -> tuple[NDArray[Any], NDArray[np.int64]] | None:
    """All batches together, ascending by label; None where a label comes twice."""
    batches = held.take()
    if not batches:
        return np.zeros(0, dtype=_kept_as(question)), np.zeros(0, dtype=np.int64)
    try:
        return together(batches)
    except ReleaseFailed:
        return None


protect_module(vars())
