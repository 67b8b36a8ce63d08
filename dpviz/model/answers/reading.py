"""The data types of a released answer: how a shape is read, stored, put into intervals and drawn."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any, Final, Literal, TypeAlias, overload

import numpy as np
from numpy.typing import NDArray

from dpviz.boundary import protect_module
from dpviz.errors import ReleaseFormat
from dpviz.model.between import Enclosed
from dpviz.model.domain import Domain, IntegerDomain
from dpviz.model.error import ErrorModel, ErrorValue, How
from dpviz.model.limited import Limited
from dpviz.model.question import Question
from dpviz.privacy.unit import Unit

Among: TypeAlias = Literal["one", "all"]
"""The event that an interval holds for: one point that was picked before looking, or all points at once."""

Values: TypeAlias = NDArray[np.int64] | Sequence[Fraction | Enclosed]
"""Released values: whole numbers as an array, others as fractions, or each between two where it is no fraction."""

Points: TypeAlias = Sequence[Any] | slice | None
"""The value that is read: points of the answer's own kind, some of its rows as a slice, or all rows."""

Ends: TypeAlias = NDArray[np.int64] | Sequence[int | Fraction | None]
"""Lower or upper ends of intervals; None where an end is open."""

Operand: TypeAlias = tuple[str, Sequence[Any]]
"""One of the two operands of a comparison: what it is called, and the points that it adds up."""

BETWEEN: Final = " to "
"""The sign between the two ends in the label of an interval."""

LARGEST_VIEW: Final = 600_000
"""A release of more rows is described to the page, not drawn: no browser lays out a longer table."""


@dataclass(frozen=True, slots=True)
class Reading:
    """The parts of a release that a shape needs to be read. Public throughout.

    error      the errors of the law that the answer was drawn from
    clamp      the public limits that the truth respects as every released value does
    max_items  how many items could come, for a list or a set
    number     the ledger's entry that paid for the answer; None in teaching
    together   the number of parts whose bins share the limit on the bins of one unit
    """

    question: Question
    unit: Unit
    error: ErrorModel
    clamp: tuple[int | None, int | None] = (None, None)
    max_items: int | None = None
    number: int | None = None
    together: int = 1

    @property
    def limited(self) -> Limited:
        """The part of an answer that the limits of the unit may leave out."""
        return Limited(self.question, self.unit, self.together)


MOST_SINGLE: Final = 500
"""The most bins that have marks of their own in a picture."""


@dataclass(frozen=True)
class Stretches:
    """Neighbouring bins of a long answer added up, for a picture that has no room for each of them.

    size        how many bins a stretch has; the last one may have fewer
    spans       the first and the last row of each
    values      their sums, rounded to whole counts
    one, every  how far any one of them may be off, and all at once, which allows for the rounding
    whole       the sum of all bins, and how far it may be off, in the same way
    """

    size: int
    spans: Sequence[tuple[int, int]]
    values: NDArray[np.int64]
    one: ErrorValue
    every: ErrorValue
    whole: tuple[int, ErrorValue]

    def domain(self, question: Question) -> Domain:
        """The stretches as bins: of whole numbers as intervals, of others by the labels of their first bins."""
        bins = question.domain
        if isinstance(bins, IntegerDomain) and bins.size == bins.inner:
            edges = [bins.low + first for first, _ in self.spans]
            return Domain.intervals([*edges, bins.high + 1], column=bins.column)
        return Domain.categories([bins.label(first) for first, _ in self.spans], column=self.column(question))

    @staticmethod
    def column(question: Question) -> str:
        return question.domain.columns_text

    def label(self, question: Question, at: int) -> str:
        """A stretch by its first and its last bin, both included."""
        first, last = (question.domain.told(question.domain.label(row)) for row in self.spans[at])
        return first if first == last else f"{first} to {last}"

    def name(self, question: Question) -> str:
        """The name of their axis: the column, and the number of bins to a bar."""
        return f"{self.column(question)}, {self.size:,} bins to a bar"

    @property
    def rest(self) -> str:
        """A sentence on the last stretch, where it is shorter than the others."""
        first, last = self.spans[-1]
        return "" if last - first + 1 == self.size else f" The last bar has {last - first + 1:,}."


@dataclass(frozen=True)
class Axis:
    """The meaning of the rows of an answer.

    name    what is asked about: "visits"
    noun    what one row is: "bin", "item", "range"
    labels  one for each row, in order
    domain  the declared domain whose bins the rows are, in its order; None where they are something else
    whole   how many points a statement about all of them covers, as text; empty where nobody can say
    short   makes the labels for where there is little room; None where they are the same
    """

    name: str
    noun: str
    labels: Sequence[str]
    domain: Domain | None = None
    whole: str = ""
    short: Callable[[], Sequence[str]] | None = None

    @property
    def drawn(self) -> Domain:
        """The rows as the bins of a domain, for a chart that has one place for each."""
        labels = self.labels if self.short is None else self.short()
        return self.domain or Domain.categories(list(labels) or [f"no {self.noun} is shown"], column=self.name)

    @property
    def one(self) -> str:
        return f"any one {self.noun}"

    @property
    def every(self) -> str:
        return f"all {self.whole} at once" if self.whole else "all at once"

    @property
    def alone(self) -> str:
        return f"this {self.noun} alone"

    @property
    def among(self) -> str:
        return f"among all {self.whole}" if self.whole else "among all"


class BinLabels(Sequence[str]):
    """The labels of all bins of a domain, made when they are read: there may be millions."""

    def __init__(self, domain: Domain) -> None:
        self._domain = domain

    def __len__(self) -> int:
        return self._domain.size

    @overload
    def __getitem__(self, place: int) -> str: ...

    @overload
    def __getitem__(self, place: slice) -> list[str]: ...

    def __getitem__(self, place: int | slice) -> str | list[str]:
        if isinstance(place, slice):
            return [self._domain.label(index) for index in range(*place.indices(len(self)))]
        return self._domain.label(range(len(self))[place])

    def __iter__(self) -> Iterator[str]:
        return map(self._domain.label, range(len(self)))


@dataclass(frozen=True)
class Intervals:
    """For each row the interval that holds the number that was counted, and how that is known.

    low, high  both ends are inside; None where an end is open
    how, rule  as of an error: exact, a proved bound, or simulated, and by which rule
    low_cut    where the interval was cut at a public limit, so that its end is no error bar's; None: nowhere
    """

    low: Ends
    high: Ends
    how: How
    rule: str
    low_cut: NDArray[np.bool_] | None = None
    high_cut: NDArray[np.bool_] | None = None

    def asked(self, limited: Limited) -> Intervals:
        """The same for the number that was asked: an end that a limit of the unit leaves open is None."""
        stands, nothing = limited.ends, [None] * len(self.low)
        if all(stands):
            return self
        low, high = self.low if stands[0] else nothing, self.high if stands[1] else nothing
        return replace(
            self,
            low=low,
            high=high,
            low_cut=self.low_cut if stands[0] else None,
            high_cut=self.high_cut if stands[1] else None,
        )

    def outside(self, counts: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Which of these counts, one for each row, lie outside their intervals."""
        if isinstance(self.low, np.ndarray) and isinstance(self.high, np.ndarray):
            return (counts < self.low) | (counts > self.high)
        ends = zip(counts.tolist(), self.low, self.high, strict=True)
        return np.array([(a is not None and n < a) or (b is not None and n > b) for n, a, b in ends])

    @property
    def crossed(self) -> bool:
        """Whether some low end lies above its high end: then not all can hold. It is shown, not repaired."""
        ends = zip(self.low, self.high, strict=True)
        return any(low is not None and high is not None and low > high for low, high in ends)


@dataclass(frozen=True)
class Listing:
    """An answer that names items, as a list or a set.

    items    their labels: in the order they came, or ascending where the order says nothing
    ordered  whether the order says something
    ended    whether the list said "no more"
    most     how many items could come
    values   noisy counts of the items, where they were released
    drawn_from  out of how many of the largest they were drawn, where that was chosen privately
    short    the labels for where there is little room; None where they are the same
    """

    items: Sequence[str]
    ordered: bool
    ended: bool
    most: int
    values: tuple[int, ...] | None = None
    drawn_from: int | None = None
    short: Sequence[str] | None = None


@dataclass(frozen=True)
class Packed:
    """An answer for storing and sending: a small JSON header, and its large parts as named arrays of plain numbers."""

    header: dict[str, Any]
    arrays: Mapping[str, NDArray[Any]] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        """The header, and each array as its type, its shape and its bytes in base64."""
        return {**self.header, "arrays": {name: _array_json(array) for name, array in sorted(self.arrays.items())}}

    def held_json(self) -> dict[str, Any]:
        """The same with the arrays as they are, to be written as base64 some bytes at a time."""
        held = {name: {**_described(array), "base64": Base64(array)} for name, array in sorted(self.arrays.items())}
        return {**self.header, "arrays": held}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Packed:
        """Read the JSON that `to_json` wrote. Any other JSON is refused."""
        arrays = data.get("arrays")
        if not isinstance(arrays, Mapping):
            raise ReleaseFormat.damaged("a stored answer of this shape has a header and named arrays", "no arrays")
        header = {name: value for name, value in data.items() if name != "arrays"}
        return cls(header, {name: _array_of(stored) for name, stored in arrays.items()})


STORED_TYPES: Final = ("|u1", "<i2", "<i4", "<i8", "<u2", "<u4", "<u8", "<f8")
"""The types of array that a stored answer may hold: plain numbers, little end first."""


class Base64:
    """The text of an array's bytes in base64, which would take more memory than the array."""

    def __init__(self, array: NDArray[Any]) -> None:
        self._array = _plain(array)

    def __str__(self) -> str:
        return base64.b64encode(self._array.data).decode()

    def pieces(self) -> Iterator[bytes]:
        """The characters in ASCII, some at a time."""
        held = self._array.reshape(-1).view(np.uint8)
        for first in range(0, len(held), BYTES_AT_ONCE):
            yield base64.b64encode(held[first : first + BYTES_AT_ONCE].data)


BYTES_AT_ONCE: Final = 3 << 18
"""A multiple of three: so the base64 of a piece has no marks of an end, but that of the last one."""


def _plain(array: NDArray[Any]) -> NDArray[Any]:
    return np.ascontiguousarray(array, dtype=array.dtype.newbyteorder("<"))


def _described(array: NDArray[Any]) -> dict[str, Any]:
    return {"type": array.dtype.newbyteorder("<").str, "shape": list(array.shape)}


def _array_json(array: NDArray[Any]) -> dict[str, Any]:
    return {**_described(array), "base64": str(Base64(array))}


def _array_of(stored: Any) -> NDArray[Any]:
    refusal = ReleaseFormat.damaged(
        "a stored array has a type, a shape and as many bytes as these say", "another array"
    )
    if not isinstance(stored, Mapping) or set(stored) != {"type", "shape", "base64"}:
        raise refusal
    kind, shape, encoded = stored["type"], stored["shape"], stored["base64"]
    whole = isinstance(shape, list) and all(type(size) is int and size >= 0 for size in shape)
    if not isinstance(encoded, str | memoryview) or kind not in STORED_TYPES or not whole:
        raise refusal
    try:
        content = binascii.a2b_base64(encoded, strict_mode=True)  # as base64.b64decode, without a copy of the text
        array: NDArray[Any] = np.frombuffer(content, dtype=kind).reshape(shape)
    except (binascii.Error, ValueError):
        raise refusal from None
    return array


@dataclass(frozen=True)
class BinGrid:
    """Texts side by side: the names of the columns, and rows of cells; a cell is empty where a part has no such row."""

    heads: list[str]
    rows: list[list[str]]


@dataclass(frozen=True)
class View:
    """The picture that the page draws of an answer: the kind of view, plain texts, and named arrays of numbers."""

    kind: str
    header: dict[str, Any]
    arrays: Mapping[str, NDArray[Any]] = field(default_factory=dict)


protect_module(vars())
