"""The protocol of every shape of a released answer: how it is stored, read, put into words, and drawn.

A new shape is one file with one subclass of `Answer`, made known by `register`. All answers are public: they hold what
was released and nothing else.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from importlib import import_module
from typing import TYPE_CHECKING, Any, ClassVar, Final, Literal, NoReturn, Self, TypeAlias, TypeVar, overload

import numpy as np
from numpy.typing import NDArray

from dpviz.boundary import kind_of, one_word, protect_module
from dpviz.errors import DomainError, ParameterError, ReleaseFormat, short
from dpviz.exact import text
from dpviz.model.between import Between, between, is_enclosed
from dpviz.model.domain import Domain
from dpviz.model.error import ErrorModel, ErrorValue, How
from dpviz.model.first_use import OnFirstUse
from dpviz.model.limited import Limited
from dpviz.model.linear import AllKeys, Query, length
from dpviz.model.question import Question
from dpviz.privacy.unit import Unit

if TYPE_CHECKING:
    from dpviz.fitting.tree import TreeFit
    from dpviz.model.answers.records import Draws
    from dpviz.model.marginals import Grid as Marginal
    from dpviz.noise.bits import Bits

Among: TypeAlias = Literal["one", "all"]
"""The event that an interval holds for: one point that was picked before looking, or all points at once."""

Values: TypeAlias = NDArray[np.int64] | Sequence[Fraction | Between]
"""Released values: whole numbers as an array, others as fractions, or each between two where it is no fraction."""

Points: TypeAlias = Sequence[Any] | slice | None
"""The value that is read: points of the answer's own kind, some of its rows as a slice, or all rows."""

Ends: TypeAlias = NDArray[np.int64] | Sequence[int | Fraction | None]
"""Lower or upper ends of intervals; None where an end is open."""

Side: TypeAlias = tuple[str, Sequence[Any]]
"""One of two that are compared: what it is called, and the points that it adds up."""

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


def _array_json(array: NDArray[Any]) -> dict[str, Any]:
    plain = np.ascontiguousarray(array, dtype=array.dtype.newbyteorder("<"))
    return {"type": plain.dtype.str, "shape": list(array.shape), "base64": base64.b64encode(plain.data).decode()}


def _array_of(stored: Any) -> NDArray[Any]:
    refusal = ReleaseFormat.damaged(
        "a stored array has a type, a shape and as many bytes as these say", "another array"
    )
    if not isinstance(stored, Mapping) or set(stored) != {"type", "shape", "base64"}:
        raise refusal
    kind, shape, encoded = stored["type"], stored["shape"], stored["base64"]
    whole = isinstance(shape, list) and all(type(size) is int and size >= 0 for size in shape)
    if not isinstance(encoded, str) or kind not in STORED_TYPES or not whole:
        raise refusal
    try:
        content = base64.b64decode(encoded, validate=True)
        array: NDArray[Any] = np.frombuffer(content, dtype=kind).reshape(shape)
    except (binascii.Error, ValueError):
        raise refusal from None
    return array


@dataclass(frozen=True)
class Grid:
    """Texts side by side: the names of the columns, and rows of cells; a cell is empty where a part has no such row."""

    heads: list[str]
    rows: list[list[str]]


@dataclass(frozen=True)
class View:
    """The picture that the page draws of an answer: the kind of view, plain texts, and named arrays of numbers."""

    kind: str
    header: dict[str, Any]
    arrays: Mapping[str, NDArray[Any]] = field(default_factory=dict)


class Answer:
    """One shape of released answer. A subclass is a frozen dataclass of what was drawn, as integers or bits.

    kind        the name of the shape in stored releases
    chart       the kind of chart that draws it, as `dpviz.charts.register` knows it
    has_rows    whether it can be listed, row by row; if not, it is asked point by point
    readers     the estimators it offers, the default first, where it offers several
    adds_rows   whether the rows that a page draws are counts that add up, so that it offers sums of what is brushed
    adds_bins   whether sums of bins can be asked for though the rows that a page draws are none: bins are then typed
    noun        what a sum adds up, one by one: bins, or whatever the points of a sum are
    by_columns  whether a label is a dict, by columns
    """

    kind: ClassVar[str]
    chart: ClassVar[str] = "histogram"
    has_rows: ClassVar[bool] = True
    readers: ClassVar[tuple[str, ...]] = ()
    adds_rows: ClassVar[bool] = False
    adds_bins: ClassVar[bool] = False
    noun: ClassVar[str] = "bin"
    by_columns: ClassVar[bool] = False

    # ------------------------------------------------------------ storing

    def pack(self) -> Packed:
        """The numbers that were drawn, and nothing that can be calculated from them. `kind` is added by whoever stores
        it."""
        raise NotImplementedError

    @classmethod
    def unpack(cls, packed: Packed) -> Self:
        """The answer that `pack` gave. Anything else is refused."""
        raise NotImplementedError

    def to_json(self) -> dict[str, Any]:
        return {"kind": self.kind, **self.pack().to_json()}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        return cls.unpack(Packed.from_json({name: value for name, value in data.items() if name != "kind"}))

    def cut_up(self, by: Domain, domain: Domain) -> Sequence[Answer] | None:
        """An answer about `domain` for each bin of `by`, of this one about their product, where it can be cut up so;
        else None."""
        return None

    def fits(self, question: Question, max_items: int | None) -> bool:
        """Whether this can be an answer to the question, as far as the question and its number of items tell."""
        raise NotImplementedError

    # ------------------------------------------------------------ reading

    @property
    def has_values(self) -> bool:
        """Whether there is a released value for each point."""
        return True

    def axis(self, reading: Reading) -> Axis:
        """The meaning of the rows."""
        raise NotImplementedError

    def rows(self, reading: Reading) -> dict[str, Sequence[Any]]:
        """The leading columns of a frame, by name: the labels, and what else says which row is which."""
        axis = self.axis(reading)
        return {axis.noun: axis.labels}

    def lines(self, reading: Reading) -> dict[str, Sequence[Any]]:
        """The same for a table that a person reads, where fewer columns say it."""
        return self.rows(reading)

    def point(self, reading: Reading, label: object) -> Any:
        """The point that a label names, for `read`. Raises an error of ours where there is none."""
        self._refuse("this answer does not answer single points", "read release.to_frame()")

    def read(self, reading: Reading, points: Points = None, reader: str = "") -> Values:
        """The values of these points, or of rows in order. Free: what was drawn is post-processed.

        A value that is no fraction is given as a `Between`: the two fractions that enclose it. Tables and charts write
        both, a frame has them as `value_low` and `value_high`, and pictures draw the middle.

        reader  one of `readers`; left out, the first
        """
        raise NotImplementedError

    def named(self, reading: Reading, label: object) -> Any:
        """The point that a label names, for a sum: of a list of items with values, the place of a listed one."""
        return self.point(reading, label)

    def ordered(self, reading: Reading) -> bool:
        """Whether the order of the points means something, so that a run of them is named by its two ends."""
        return reading.question.domain.ordered

    def run(self, reading: Reading, labels: range) -> range | None:
        """The points that whole numbers in a row name, where that is known without asking for each; else None."""
        return None

    def several(self, reading: Reading, labels: Sequence[object]) -> Sequence[Any] | None:
        """The points of many labels, where they can be told at once; None where they must be asked for one by one."""
        return None

    def span(self, reading: Reading, low: object, high: object) -> Sequence[Any]:
        """The points from one label to another, both included, where the order of the rows means something."""
        domain = reading.question.domain
        if not domain.ordered:
            raise DomainError.of(domain.kind, UNORDERED[domain.kind], "name the labels: release.sum([...])")
        first, last = domain.ends(low, high)
        if first > last:
            raise DomainError.of(
                f"{domain.label(first)} to {domain.label(last)}",
                "a range must not be reversed",
                "give the lower end first",
            )
        return range(first, last + 1)

    def in_row(self, reading: Reading, row: int) -> Any:
        """The point of a sum that stands in a row of what the page draws. Raises DomainError where there is no row."""
        if not 0 <= row < len(self.axis(reading).labels):
            raise DomainError.of(f"row {row:,}", "there is no such row in this answer", "show the release again")
        return row

    def typed(self, reading: Reading, label: tuple[str, ...]) -> Any:
        """The point of a sum that a person typed, one text for each column: a label as it is shown, or a value."""
        domain = reading.question.domain
        if len(label) != len(domain.columns):
            parts, columns = len(label), " and ".join(domain.columns)
            raise DomainError.of(
                f"{parts} texts",
                f"a bin of {columns} has {len(domain.columns)}, one for each column",
                "type one text for each column",
            )
        if domain.declared and len(label) == 1:
            size = domain.size
            for at in {0, size - 1, max(0, size - 2)}:  # "over 40" is a label, and no value that a person could look up
                if domain.label(at) == label[0]:
                    return at
        single = label[0].partition(BETWEEN)[0] if domain.kind == "intervals" else label[0]
        try:
            return self.named(reading, single if len(label) == 1 else label)
        except DomainError:
            # a look-up in Python names no label in its refusal; what a page sent was typed by a person to be read
            raise DomainError.of(
                short(", ".join(label)), f"a bin must be one of {domain.text}", "type one of these"
            ) from None

    def side(self, reading: Reading, row: int) -> Side:
        """The points to compare where a person picks a row of the picture. Raises DomainError where there is no row."""
        point = self.in_row(reading, row)
        return self.label(reading, point), [point]

    def typed_side(self, reading: Reading, label: tuple[str, ...]) -> Side:
        """The points to compare where a person typed a name."""
        point = self.typed(reading, label)
        return self.label(reading, point), [point]

    def sides(self, reading: Reading) -> int | None:
        """How many there are to compare; None where nobody can say."""
        every = self.every(reading)
        return None if isinstance(every, AllKeys) else length(every)

    def every(self, reading: Reading) -> Sequence[Any]:
        """All points that a sum may be over."""
        domain = reading.question.domain
        return range(domain.size) if domain.declared else AllKeys()

    def whole(self, reading: Reading, beside: Sequence[Any] | None = None) -> Sequence[Any]:
        """The points that everything is the sum of; of which others are some, where these are given."""
        return self.every(reading)

    def marginal(self, reading: Reading, grid: Marginal) -> Callable[[Sequence[Sequence[int]]], Query]:
        """How some cells of a marginal are added up. Raises DomainError where they cannot be."""
        if self.noun != "bin" or self.every(reading) != range(grid.domain.size):
            raise DomainError.of(
                f"an answer of {self.noun}s", "a marginal adds up declared bins", "ask for sums of what there is"
            )
        grid.check_pieces()
        return grid.query

    def mapped(self, reading: Reading) -> tuple[str, str] | None:
        """The two columns that a heat map is of where nobody names two; None where none come first."""
        return None

    def row(self, reading: Reading, label: object, beside: Sequence[Any]) -> Sequence[Any] | None:
        """All points of the row of a table in which others lie, where a label of fewer columns names one; else None."""
        return None

    def label(self, reading: Reading, point: Any) -> str:
        """A point of a sum in words."""
        named: str = reading.question.domain.name(point)
        return named

    def weighted(self, reading: Reading, query: Query, reader: str = "") -> Fraction | Between:
        """The sum of the values of a query's points, times their weights, exactly. Free.

        Only where values are counts of their points, with the error that the law says of them, do they add up; so a
        shape says so for itself, mostly by `added_up`.
        """
        self._refuse("the values of this answer are not counts that add up", "read release.to_frame()")

    def bars(self, reading: Reading, beta: Fraction) -> tuple[ErrorValue | None, ErrorValue | None]:
        """Half-widths of the intervals of one point and of all, where each has the same in every row; else None."""
        error = reading.error
        return error.shown(beta) or error.one_bin(beta), error.all_bins(beta)

    def intervals(
        self,
        reading: Reading,
        beta: Fraction,
        among: Among = "one",
        points: Points = None,
        reader: str = "",
    ) -> Intervals | None:
        """The intervals of these points, or of rows in order, which fail at most `beta` of the time; None where
        nothing is known.

        By default each is the value ± its half-width in whole counts, cut at the public limits.
        """
        bar = self.bars(reading, beta)[0 if among == "one" else 1]
        return None if bar is None else around(self.read(reading, points, reader), bar, reading.clamp)

    def listing(self, reading: Reading) -> Listing | None:
        """The items, where the answer is a list or a set of items; else None."""
        return None

    @property
    def more(self) -> bool:
        """Whether it is a record that holds what further ones may be drawn from, free."""
        return False

    def draws(self, reading: Reading, count: int, bits: Bits) -> Draws:
        """Further records, where it is one: drawn from what was released, each with the released record's law."""
        self._refuse("only a drawn record has further ones", "ask dv.SampleCategory for records")

    def labels_of(self, reading: Reading) -> Mapping[str, str]:
        """The record in words, its label in each column, where it is one."""
        self._refuse("this answer is not a drawn record", "read release.to_frame()")

    @property
    def parts(self) -> tuple[Answer, ...] | None:
        """The answers about disjoint parts of the data, where it is made of one for each; else None."""
        return None

    def side_by_side(self, reading: Reading) -> Grid | None:
        """The same side by side, for a table; None where it is not made of parts."""
        return None

    def tree(self) -> TreeFit | None:
        """The noisy nodes, where the answer is made of those of a tree: what shows which of them a range uses. Else
        None."""
        return None

    # ------------------------------------------------------------ words and pictures

    @property
    def bits(self) -> int | None:
        """The storage needed, for a shape that is chosen for its size; else None."""
        return None

    def carried(self, reading: Reading, betas: Sequence[Fraction]) -> Packed | None:
        """All that a page needs to answer look-ups by itself, for a report, where a page knows how; else None.

        Its header names the shape as `kind`, by which the page finds its reader.
        """
        return None

    def sentence(self, reading: Reading) -> str:
        """The statement that the answer makes as a whole; empty where it is only the sum of its rows."""
        return ""

    def sureness(self, reading: Reading, beta: Fraction) -> tuple[str, ...]:
        """How sure an answer is that names items, in sentences that fail at most `beta` of the time, and what its end
        means; nothing where each value has an interval that says it."""
        return ()

    def below(self, reading: Reading, beta: Fraction) -> dict[str, Sequence[Any]]:
        """Columns of a frame that say how sure each row is which has no interval: how far below the true count of the
        last rank an item may lie, for example."""
        return {}

    def remark(self, reading: Reading) -> str:
        """A sentence on the values that a reader must know besides their errors; or nothing."""
        return ""

    def last_row(self, reading: Reading) -> tuple[str, ...]:
        """A row after the last that is no value: what ends a list, in the columns of `rows`; or nothing."""
        return ()

    def view(self, reading: Reading, betas: Sequence[Fraction]) -> View:
        """The picture that the page draws.

        betas  how often an error bar may fail, as a person may choose it in the page
        """
        raise NotImplementedError

    # ------------------------------------------------------------ the same for every shape

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and isinstance(other, Answer) and self.to_json() == other.to_json()

    __hash__ = None  # type: ignore[assignment]

    def _refuse(self, rule: str, next_step: str) -> NoReturn:
        raise ReleaseFormat.of(self.kind, rule, next_step)

    def _reader(self, reader: str) -> str:
        """One of `readers`; the default where none is named."""
        if reader and reader not in self.readers:
            if not self.readers:
                raise ParameterError.of(reader, "this answer is read in one way only", "leave reader out")
            one_word(reader, "reader", self.readers, f'write reader="{self.readers[0]}", or leave it out')
        return reader or next(iter(self.readers), "")


UNORDERED: Final = {
    "categories": "a range needs bins in a known order, and these are names",
    "product": "a range needs bins in one order, and bins of several columns have none",
    "keys": "a range needs bins in a known order, and keys are names",
}
"""Why a domain has no ranges, by its kind."""


def added_up(answer: Answer, reading: Reading, query: Query, reader: str = "") -> Fraction | Between:
    """`weighted`, from reading every point."""
    total: Fraction | Between = Fraction(0)
    for points, weight in query.parts:
        values = answer.read(reading, list(points), reader)
        total = plus(total, whole_sum(values) if isinstance(values, np.ndarray) else fractions_sum(values), weight)
    return total


def whole_sum(values: NDArray[np.int64]) -> Fraction:
    """The sum of whole numbers of 64 bits, however long it is."""
    high, low = values >> 32, values & 0xFFFFFFFF
    return Fraction((int(high.sum()) << 32) + int(low.sum()))


def fractions_sum(values: Sequence[Fraction | Between]) -> Fraction | Between:
    """The sum of fractions, or of enclosures."""
    total: Fraction | Between = Fraction(0)
    for value in values:
        total = plus(total, value, Fraction(1))
    return total


def plus(first: Fraction | Between, second: Fraction | Between, weight: Fraction) -> Fraction | Between:
    """The first plus so many times the second."""
    if not isinstance(first, Between) and not isinstance(second, Between):
        return first + weight * second
    one, other = between(first), between(second)
    low, high = sorted((weight * other.low, weight * other.high))
    return Between(one.low + low, one.high + high)


def around(values: Values, bar: ErrorValue, clamp: tuple[int | None, int | None]) -> Intervals:
    """Each value ± the half-width of a bar, cut at the public limits, which the truth respects too.

    Whole numbers err by whole counts, so there the half-width is rounded down; fractions keep all of it, and of an
    enclosure the interval begins below its lower end and ends above its upper one.
    """
    if not isinstance(values, np.ndarray):
        return _around_fractions(values, bar, clamp)
    half, counts = int(bar.value // 1), values
    low, high = counts - half, counts + half
    least, most = clamp
    below = np.zeros(len(counts), dtype=np.bool_) if least is None else low < least
    above = np.zeros(len(counts), dtype=np.bool_) if most is None else high > most
    return Intervals(
        low=low if least is None else np.maximum(low, least),
        high=high if most is None else np.minimum(high, most),
        how=bar.how,
        rule=bar.rule,
        low_cut=below,
        high_cut=above,
    )


def _around_fractions(
    values: Sequence[Fraction | Between], bar: ErrorValue, clamp: tuple[int | None, int | None]
) -> Intervals:
    least, most = clamp
    low = [between(value).low - bar.value for value in values]
    high = [between(value).high + bar.value for value in values]
    return Intervals(
        low=low if least is None else [max(end, Fraction(least)) for end in low],
        high=high if most is None else [min(end, Fraction(most)) for end in high],
        how=bar.how,
        rule=bar.rule,
        low_cut=np.array([least is not None and end < least for end in low], dtype=np.bool_),
        high_cut=np.array([most is not None and end > most for end in high], dtype=np.bool_),
    )


def listed(values: Values) -> list[Any]:
    """Released values as numbers of Python, or enclosures."""
    return values.tolist() if isinstance(values, np.ndarray) else list(values)


def value_columns(values: Values) -> dict[str, Any]:
    """The columns of a frame for released values: `value`; of enclosures their middles, with `value_low` and
    `value_high`, between which each value lies."""
    if isinstance(values, np.ndarray) or not is_enclosed(values):
        return {"value": values}
    ends = [between(value) for value in values]
    return {
        "value": [value.middle for value in ends],
        "value_low": [value.low for value in ends],
        "value_high": [value.high for value in ends],
    }


def rows_or(points: Points, size: int) -> slice | list[int]:
    """The points as the index of an array of so many rows: rows as a slice, others as a list, each checked."""
    if points is None or isinstance(points, slice):
        return points or slice(None)
    rows = [int(point) if isinstance(point, int | np.integer) else -1 for point in points]
    if any(not 0 <= row < size for row in rows):
        raise DomainError.of(
            "a point", f"a point of this answer is the number of a row, from 0 to {size - 1:,}", "read release[label]"
        )
    return rows


def bars_json(answer: Answer, reading: Reading, betas: Sequence[Fraction]) -> dict[str, Any]:
    """The half-widths at every level a person may choose, as the page takes them."""
    bars = {}
    for beta in betas:
        one, every = answer.bars(reading, beta)
        if one is None:
            answer._refuse("this answer has no error bar per bin", "read release.to_frame()")
        bars[text(beta)] = {"one": one.to_json(), "all": None if every is None else every.to_json()}
    return bars


INNER: Final = (Fraction(1, 5), Fraction(1, 2))
"""Beside 95 in 100 a strip shows how far one value is off 80 and 50 times in 100."""


def strips_json(answer: Answer, reading: Reading) -> list[str]:
    """The half-widths of one point, 80 and 50 times in 100: one number each, for they are the same in every row."""
    alone = [answer.bars(reading, beta)[0] for beta in INNER]
    return [text(one.value) for one in alone if one is not None]


def look_ups_view(answer: Answer, reading: Reading, betas: Sequence[Fraction]) -> View:
    """The picture of an answer without rows, which the page asks for one bin after the other."""
    domain = reading.question.domain
    header = {
        "axis": columns_of(reading.question),
        "columns": list(domain.columns),
        **scale_of(domain),
        "bins": str(domain.size) if domain.declared else None,
        "size": domain.size_text,
        "sparse": False,
        "lookup": True,
        "labels": [],
        "short_labels": [],
        "list": None,
        "bars": bars_json(answer, reading, betas),
    }
    return View("large", header | ({"readers": list(answer.readers)} if answer.readers else {}))


def scale_of(domain: Domain) -> dict[str, Any]:
    """Whether its labels are numbers or names, for a page that groups the digits of numbers; of each of its columns."""
    several = [axis.kind for axis in domain.factors] if len(domain.factors) > 1 else []
    return {"scale": domain.kind, **({"scales": several} if several else {})}


MAPPED: Final = 2_500
"""A page draws two columns as a map of so many cells at most."""


def factors_of(domain: Domain) -> dict[str, Any]:
    """The two columns of a product that a page draws as a map, with the names of their bins; nothing of any other."""
    factors = domain.factors
    if len(factors) != 2 or domain.size > MAPPED:
        return {}
    return {"factors": [factor_of(one) for one in factors]}


def factor_of(domain: Domain) -> dict[str, Any]:
    """One column of a product, for a page: its name, those of its bins, and whether they are numbers."""
    labels = [domain.label(at) for at in range(domain.size)]
    return {"name": domain.columns[0], "labels": labels, "scale": domain.kind}


def columns_of(question: Question) -> str:
    """The subject of the question, for an axis: `visits`, `month and weekday`."""
    return question.domain.columns_text


# ---------------------------------------------------------------- the shapes there are

_FILES: Final = {
    "buckets": "buckets",
    "chosen": "chosen",
    "compact": "compact",
    "grouped": "grouped",
    "key count": "key_count",
    "log-sketch": "log_sketch",
    "marginals": "marginals",
    "product record": "records",
    "queries": "queries",
    "ranges": "ranges",
    "ranked": "ranked",
    "ranks": "ranks",
    "record": "records",
    "signed-sketch": "signed_sketch",
    "sketch": "sketch",
    "sparse": "sparse",
    "table": "table",
    "weighted record": "records",
}
"""The shapes of dpviz by their kinds, and their files."""

SHAPES: Final = OnFirstUse[str, type[Answer]](_FILES, lambda file: import_module(f"dpviz.model.answers.{file}"))
"""Every shape that a saved release may hold, by its kind; each is loaded when it is first used."""

Shape = TypeVar("Shape", bound=type[Answer])


def register(shape: Shape) -> Shape:
    """Make a shape known, so that saved releases of it are read. Usable as a decorator of its class."""
    if not isinstance(shape, type) or not issubclass(shape, Answer):
        raise ParameterError.of(
            kind_of(shape),
            "a shape is a class of answers: a subclass of Answer",
            "derive it from dpviz.model.answers.Answer",
        )
    if SHAPES.setdefault(shape.kind, shape) is not shape:
        raise ParameterError.of(shape.kind, "each shape of answer has a kind of its own", "choose another kind")
    return shape


def unregister(shape: type[Answer]) -> None:
    """Forget a shape that was registered: saved releases of it are no longer read. Not one of dpviz's own."""
    if SHAPES.get(shape.kind) is not shape or shape.__module__.startswith("dpviz."):
        raise ParameterError.of(
            shape.kind, "only a shape that was registered by others can be taken out", "give one that you registered"
        )
    del SHAPES[shape.kind]


def from_json(data: Mapping[str, Any]) -> Answer:
    """The answer that `to_json` of its shape wrote."""
    return _shape(data.get("kind", "")).from_json(data)


def unpacked(kind: object, packed: Packed) -> Answer:
    """The answer that `pack` of this shape gave."""
    return _shape(kind).unpack(packed)


def _shape(kind: object) -> type[Answer]:
    shape = SHAPES.get(kind) if isinstance(kind, str) else None
    if shape is None:
        raise ReleaseFormat.of(kind, "this dpviz does not know that shape of answer", "update dpviz")
    return shape


protect_module(vars())
