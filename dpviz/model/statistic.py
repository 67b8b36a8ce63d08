"""The private counts that an engine makes and a mechanism consumes: private, silent, and not to be stored.

A mechanism says which kind of statistic it needs; a source produces it inside the unit's bounds. The values are
behind `take` and `each`, whose only callers are mechanisms; nothing here prints, pickles or compares them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from enum import Enum
from functools import partial
from operator import lt
from typing import Any, Protocol, Self, TypeAlias

import numpy as np
from numpy.typing import NDArray

from dpviz.boundary import Unstored, protect_module
from dpviz.errors import ReleaseFailed
from dpviz.model.lines import Labels


class StatisticKind(Enum):
    """The statistics that mechanisms need."""

    DENSE = "one count per bin of a domain"
    SPARSE = "counts of the bins that are not empty"
    TOP = "the largest counts and the next one"
    ONES = "how many records have the second label, column by column"
    BITS = "a table of bits, one row per record"
    GROUPED = "another statistic for each part of the data"


@dataclass(frozen=True, slots=True)
class Top:
    """The requirements of a top-k mechanism: the `rows` largest counts (its kbar) and the count after them.

    A source reads rows + 1 rows for it, and no more leave the engine.
    """

    rows: int


Need: TypeAlias = StatisticKind | Top
"""The requirements of a mechanism on a source."""


class Statistic(Unstored):
    """Private numbers that answer one question for one unit. Shows its kind and shape, never a value."""

    __slots__ = ("_hidden", "kind", "size")

    def __init__(self, kind: StatisticKind, size: int, hidden: Any) -> None:
        self.kind = kind
        self.size = size
        self._hidden = hidden

    def settled(self) -> Statistic:
        """The same statistic in an order that the data alone decide, whatever the engine is doing at the time: what a
        seeded draw begins from, so that a seed gives one draw."""
        return self

    def __repr__(self) -> str:
        return f"<private statistic: {self.kind.value}>"


class DenseCounts(Statistic):
    """One count per bin of a public domain, in the domain's order: not negative; of a question for sums the total in
    whole steps, which may be."""

    __slots__ = ()

    def __init__(self, counts: NDArray[np.int64]) -> None:
        super().__init__(StatisticKind.DENSE, len(counts), counts)

    def take(self) -> NDArray[np.int64]:
        """The exact counts, or totals in steps. For mechanisms and for tests on public data."""
        counts: NDArray[np.int64] = self._hidden
        return counts


class Batch(Unstored):
    """Some of the bins that are not empty, each of them once, in any order, and their counts or totals in steps."""

    __slots__ = ("_labels", "counts")

    def __init__(self, labels: Any, counts: NDArray[np.int64]) -> None:
        self._labels = labels
        self.counts = counts

    def labels(self, chosen: NDArray[np.bool_] | None = None) -> NDArray[Any]:
        """The labels, or those of the chosen bins alone: of all others no text need ever be made."""
        labels: NDArray[Any] = self._labels if chosen is None else self._labels[chosen]
        return labels

    def chosen(self, chosen: NDArray[np.bool_], counts: NDArray[np.int64]) -> Batch:
        """The chosen bins with these counts, one for each of them."""
        return type(self)(self._labels[chosen], counts)

    @classmethod
    def in_order(cls, batches: list[Self]) -> tuple[NDArray[Any], NDArray[np.int64]]:
        """Labels of batches of this kind, ascending, and their counts. Raises ReleaseFailed where one comes twice."""
        labels = np.concatenate([batch.labels() for batch in batches])
        return in_order(labels, np.concatenate([batch.counts for batch in batches]))

    @classmethod
    def to_show(cls, batches: list[Self]) -> tuple[Labels, NDArray[np.int64]]:
        """The same as an answer holds it, once all of it may be seen."""
        labels, counts = cls.in_order(batches)
        return tuple(labels.tolist()), counts

    def __repr__(self) -> str:
        return "<private counts of some bins>"


Visit: TypeAlias = Callable[[Batch], None]
"""The action on each batch. It may raise, which ends the counting."""


class SparseCounts(Statistic):
    """The bins that are not empty, ascending, and their counts; all other bins of the domain are empty.

    Of a question for sums these are the bins whose totals are not 0, and the totals in whole steps, perhaps negative:
    a bin whose rows add up to 0 cannot be told from an empty one.

    labels  bin numbers of a declared domain (uint64, or whole numbers of any size as objects), or key texts
    """

    __slots__ = ()

    def __init__(self, labels: NDArray[Any], counts: NDArray[np.int64]) -> None:
        super().__init__(StatisticKind.SPARSE, -1, (labels, counts))  # how many bins are occupied is private

    @property
    def whole(self) -> bool:
        """Whether all of it is in memory, ascending. Else `each` asks the engine anew whenever it is called."""
        return True

    def take(self) -> tuple[NDArray[Any], NDArray[np.int64]]:
        """Labels and exact counts, or totals in steps. For mechanisms and for tests on public data."""
        labels, counts = self._hidden
        return labels, counts

    def each(self, visit: Visit) -> None:
        """Every bin that is not empty, once, batch by batch; nothing of a batch need be kept. For mechanisms that can
        do without the rest of the bins, and for tests on public data."""
        visit(Batch(*self.take()))


class Stream(Protocol):
    """Counts that an engine makes while somebody listens."""

    def each(self, visit: Visit) -> None:
        """Ask the engine, and hand over what comes, in the order in which it comes."""
        ...

    def whole(self) -> tuple[NDArray[Any], NDArray[np.int64]]:
        """Ask the engine for all of it: labels, ascending and all different, and counts."""
        ...


class StreamedCounts(SparseCounts):
    """The same, still in the engine: bins come batch by batch and in any order, and no more than that is in memory."""

    __slots__ = ()

    def __init__(self, stream: Stream) -> None:
        Statistic.__init__(self, StatisticKind.SPARSE, -1, stream)

    @property
    def whole(self) -> bool:
        return False

    def take(self) -> tuple[NDArray[Any], NDArray[np.int64]]:
        found: tuple[NDArray[Any], NDArray[np.int64]] = self._hidden.whole()
        return found

    def each(self, visit: Visit) -> None:
        self._hidden.each(visit)

    def settled(self) -> SparseCounts:
        return SparseCounts(*self.take())


def together(batches: list[Batch]) -> tuple[NDArray[Any], NDArray[np.int64]]:
    """All labels of batches that came in any order, ascending, and their counts. The list may be emptied on the way.
    Raises ReleaseFailed where a label came twice."""
    return _kind_of(batches).in_order(batches)


def to_show(batches: list[Batch]) -> tuple[Labels, NDArray[np.int64]]:
    """The same as an answer holds it, once all of it may be seen."""
    return _kind_of(batches).to_show(batches)


def _kind_of(batches: Sequence[Batch]) -> type[Batch]:
    kinds = {type(batch) for batch in batches}
    return kinds.pop() if len(kinds) == 1 else Batch


def in_order(labels: NDArray[Any], values: NDArray[np.int64]) -> tuple[NDArray[Any], NDArray[np.int64]]:
    """Sort bins that came in any order by their labels, ascending. Raises ReleaseFailed where one came
    twice."""
    if labels.dtype != object:
        order = np.argsort(labels)
    else:
        names = labels.tolist()
        if all(map(lt, names, names[1:])):
            return labels, values
        order = _order_of(names)
    labels = labels[order]
    if bool((labels[1:] == labels[:-1]).any()):
        raise odd_answer()
    return labels, values[order]


def _order_of(labels: list[Any]) -> NDArray[np.int64]:
    """How texts, or numbers that are too long for an array, are sorted: Python knows how to compare them fastest."""
    return np.array(sorted(range(len(labels)), key=labels.__getitem__), dtype=np.int64)


def odd_answer() -> ReleaseFailed:
    """An engine gave what no count can be."""
    return ReleaseFailed(
        "the engine answered something else than labels and their counts; it is withheld, for it may hold data",
        rule="what an engine answers is checked",
        next_step="count with another engine",
    )


class TopCounts(Statistic):
    """The largest counts of a question, descending; equal counts ascending by label (texts by code point).

    items       bin numbers of a declared domain, or key texts; only bins that are not empty, so perhaps fewer than
                were asked for
    counts      their counts, above 0 and never rising
    next_count  the count of the row after the last that was asked for, or 0; its label is known to nobody
    """

    __slots__ = ()

    def __init__(self, items: Sequence[int] | Sequence[str], counts: NDArray[np.int64], next_count: int) -> None:
        super().__init__(StatisticKind.TOP, -1, (items, counts, next_count))  # how many bins are occupied is private

    def take(self) -> tuple[Sequence[Any], NDArray[np.int64], int]:
        """Labels, exact counts, and the next count. For mechanisms and for tests on public data."""
        items, counts, next_count = self._hidden
        return items, counts, next_count


class GroupedCounts(Statistic):
    """A statistic for each of some disjoint parts, counted when it is taken: no more than one is in memory."""

    __slots__ = ()

    def __init__(self, counts: Sequence[Callable[[], Statistic]]) -> None:
        super().__init__(StatisticKind.GROUPED, len(counts), counts)

    def each(self) -> Iterator[Statistic]:
        """One after the other, in the order of the parts. For mechanisms and for tests on public data."""
        for count in self._hidden:
            yield count()

    def settled(self) -> GroupedCounts:
        return GroupedCounts([partial(_settled, count) for count in self._hidden])


def _settled(count: Callable[[], Statistic]) -> Statistic:
    return count().settled()


class ColumnOnes(Statistic):
    """Of records of columns with two labels each, how many have the second one, column by column; and how many records
    there are."""

    __slots__ = ()

    def __init__(self, ones: NDArray[np.int64], records: int) -> None:
        super().__init__(StatisticKind.ONES, len(ones), (ones, records))

    def take(self) -> tuple[NDArray[np.int64], int]:
        """The exact numbers, in the order of the columns, and that of all records. For mechanisms and for tests on
        public data."""
        ones, records = self._hidden
        return ones, records


class RecordBits(Statistic):
    """Records of columns with two labels each, one row a record: 1 where a record has the second label.

    The rows are in whatever order the engine has them, which may depend on values. A reader that cuts them into parts
    shuffles them first, with `noise.shuffle.permutation`: then it does not matter.

    columns  how many columns there are; `size` is their number, too
    packed   uint8, one row a record, eight columns to a byte, the first column in the highest bit (`np.packbits`)
    """

    __slots__ = ()

    def __init__(self, columns: int, packed: NDArray[np.uint8]) -> None:
        super().__init__(StatisticKind.BITS, columns, packed)

    @property
    def columns(self) -> int:
        return self.size

    def take(self) -> NDArray[np.uint8]:
        """The packed rows. For mechanisms and for tests on public data."""
        packed: NDArray[np.uint8] = self._hidden
        return packed


@dataclass(frozen=True, slots=True)
class Column:
    """A column's public description: its name and how its values are read (`number`, `text` or `any`).

    untyped  True for texts of a source without types, where nobody declared what they hold and a question for numbers
             reads them as numbers; says what may be asked, and is no part of what a ledger keeps of a column
    written  where values are read from texts, the rule for them: "date %d/%m/%Y", or "numbers as 1.234,5"; no part of
             what a ledger keeps, either
    """

    name: str
    kind: str
    untyped: bool = field(default=False, compare=False)
    written: str = field(default="", compare=False)


protect_module(vars())
