"""What an engine counts and a mechanism consumes: private, silent, and not to be stored.

A mechanism says which kind of statistic it needs; a source produces it inside the unit's bounds. The values are
behind `take`, whose only callers are mechanisms; nothing here prints, pickles or compares them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from dpviz.boundary import Unstored, protect_module


class StatisticKind(Enum):
    """The statistics that mechanisms need."""

    DENSE = "one count per bin of a domain"
    SPARSE = "counts of the bins that are not empty"
    TOP = "the largest counts and the next one"
    ONES = "how many records have the second label, column by column"
    BITS = "a table of bits, one row per record"


@dataclass(frozen=True, slots=True)
class Top:
    """What a top-k mechanism needs: the `rows` largest counts (its kbar) and the count after them.

    A source reads rows + 1 rows for it, and no more leave the engine.
    """

    rows: int


Need: TypeAlias = StatisticKind | Top
"""What a mechanism needs of a source."""


Self = TypeVar("Self", bound="Statistic")


class Statistic(Unstored):
    """Private numbers that answer one question for one unit. Shows its kind and shape, never a value."""

    __slots__ = ("_hidden", "kind", "size")

    def __init__(self, kind: StatisticKind, size: int, hidden: Any) -> None:
        self.kind = kind
        self.size = size
        self._hidden = hidden

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


class SparseCounts(Statistic):
    """The bins that are not empty, ascending, and their counts; all other bins of the domain are empty.

    Of a question for sums these are the bins whose totals are not 0, and the totals in whole steps, perhaps negative:
    a bin whose rows add up to 0 cannot be told from an empty one.

    labels  bin numbers of a declared domain (uint64, or whole numbers of any size as objects), or key texts
    """

    __slots__ = ()

    def __init__(self, labels: NDArray[Any], counts: NDArray[np.int64]) -> None:
        super().__init__(StatisticKind.SPARSE, -1, (labels, counts))  # how many bins are occupied is private

    def take(self) -> tuple[NDArray[Any], NDArray[np.int64]]:
        """Labels and exact counts, or totals in steps. For mechanisms and for tests on public data."""
        labels, counts = self._hidden
        return labels, counts


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

    The rows are in whatever order the engine has them, which may depend on values. Whoever cuts them into parts
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
    """

    name: str
    kind: str
    untyped: bool = field(default=False, compare=False)


protect_module(vars())
