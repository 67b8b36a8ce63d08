"""What an engine counts and a mechanism consumes: private, silent, and not to be stored.

A mechanism says which kind of statistic it needs; a source produces it inside the unit's bounds. The values are
behind `take`, whose only callers are mechanisms; nothing here prints, pickles or compares them.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Any, NoReturn, TypeVar

import numpy as np
from numpy.typing import NDArray

from dpviz.errors import Forbidden


class Kind(Enum):
    """The statistics that mechanisms need."""

    DENSE = "one count per bin of a domain"
    SPARSE = "counts of the bins that are not empty"
    TOP = "the kbar + 1 largest counts"
    BITS = "a table of bits, one row per unit"


Self = TypeVar("Self", bound="Statistic")


class Statistic:
    """Private numbers that answer one question for one unit. Shows its kind and shape, never a value."""

    __slots__ = ("_hidden", "kind", "size")

    def __init__(self, kind: Kind, size: int, hidden: Any) -> None:
        self.kind = kind
        self.size = size
        self._hidden = hidden

    def __repr__(self) -> str:
        return f"<private statistic: {self.kind.value}>"

    def __reduce__(self) -> NoReturn:
        raise Forbidden("a private statistic is not stored or sent anywhere", rule="private statistics stay in memory")

    def __getstate__(self) -> NoReturn:
        self.__reduce__()

    def __copy__(self) -> NoReturn:
        self.__reduce__()

    def __deepcopy__(self, memo: object) -> NoReturn:
        self.__reduce__()


class DenseCounts(Statistic):
    """One non-negative count per bin of a public domain, in the domain's order."""

    __slots__ = ()

    def __init__(self, counts: NDArray[np.int64]) -> None:
        super().__init__(Kind.DENSE, len(counts), counts)

    def take(self) -> NDArray[np.int64]:
        """The exact counts. For mechanisms and for tests on public data."""
        counts: NDArray[np.int64] = self._hidden
        return counts


class SparseCounts(Statistic):
    """The bins that are not empty, ascending, and their counts; all other bins of the domain are empty.

    labels  bin numbers of a declared domain (uint64, or whole numbers of any size as objects), or key texts
    """

    __slots__ = ()

    def __init__(self, labels: NDArray[Any], counts: NDArray[np.int64]) -> None:
        super().__init__(Kind.SPARSE, -1, (labels, counts))  # how many bins are occupied is private

    def take(self) -> tuple[NDArray[Any], NDArray[np.int64]]:
        """Labels and exact counts. For mechanisms and for tests on public data."""
        labels, counts = self._hidden
        return labels, counts


@dataclass(frozen=True, slots=True)
class Column:
    """A column's public description: its name and how its values are read (`number`, `text` or `any`)."""

    name: str
    kind: str
