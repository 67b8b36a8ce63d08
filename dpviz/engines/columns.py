"""A column of an Ibis table, as expressions: where its values lie among public bins, in SQL.

The operations of `reading.py` on arrays, by the same limits: a float's decimal reaches an exact limit from the least
float on that reaches it, so SQL compares floats with floats and nothing is rounded. Limits are written as text that the
engine reads, for a literal number in SQL may be a decimal of its own. No value makes an expression fail: what has no
bin is null.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import count
from typing import Any, Final

import ibis
import numpy as np

from dpviz.engines.arrow_types import FARTHEST
from dpviz.engines.equal_widths import EqualWidths, tried_on
from dpviz.engines.steps import SumScale
from dpviz.engines.values import (
    ENDLESS,
    EXACT,
    NARROW,
    NONE,
    as_written,
    holds,
    least,
    malformed,
    missing,
    other,
    over,
    under,
)
from dpviz.engines.written import AROUND, LONGEST, PLAIN, Marks
from dpviz.model import times
from dpviz.model.domain import CategoryDomain, Domain, IntegerDomain, IntervalDomain, TimeDomain
from dpviz.model.question import Between, Condition

MANY_BINS: Final = 2**24
"""A domain of more integers than this is hardly ever left: values are grouped first, then placed, once for each."""
WIDEST: Final = 10**36
"""Bins of a domain of at most this size can be numbered by an engine, as decimals of 38 digits."""
WIDE: Final = "decimal(38, 0)"
MOST_PLAIN: Final = 10**38
"""Plain whole numbers in texts lie between this and its negative."""
DOUBLE: Final = np.dtype(np.float64)
HALF: Final = np.dtype(np.float16)


class ColumnExpressions(ABC):
    """A column as an engine needs it. Every expression is null where the value has no place."""

    value: Any

    @property
    @abstractmethod
    def text(self) -> Any:
        """The text that values are matched by."""

    @abstractmethod
    def assign_bins(self, domain: Domain, numbers: str) -> Any:
        """The bin of each row in a one-column domain, as an Ibis type of whole numbers."""

    def has_bin(self, domain: Domain) -> tuple[Any, ...]:
        """The conditions on a row that has a bin in a one-column domain, as far as an engine needs to see them before
        it finds the bin: it reads fewer rows then."""
        return ()

    def guess_bins(self, domain: Domain) -> tuple[Any, Callable[[Any], Any]] | None:
        """A number for each row that has a bin, found faster than its bin, and how a bin is found from such a number;
        None where there is no such way. Rows are then grouped by that number first, and few numbers are left."""
        return None

    def bins_of_groups(self, domain: Domain) -> Callable[[Any], ColumnExpressions] | None:
        """Where values are better grouped before they are placed: a reading of the distinct values."""
        return None

    @abstractmethod
    def passes(self, condition: Condition) -> list[Any]:
        """The condition on a row that passes a public filter."""

    @property
    @abstractmethod
    def floats(self) -> Any:
        """The float of 64 bits that is nearest to the number, null where there is none."""


def read(
    value: Any, kind: str, numbers: TextNumbers | None = None, odd: Any = None, half: bool = False
) -> ColumnExpressions:
    """Read a column of a table as its declared kind says; of texts, `numbers` are the numbers that stand in them.

    odd   where values were read when the table was opened: whether one was there and could not be read
    half  whether the floats are those of 16 bits, which no engine has and which are held in 32
    """
    dtype = value.type()
    if kind == "time":
        value = value if dtype.is_date() else _plain_time(value)
        moments = _microseconds(value)
        return Times(moments, np.dtype(np.int64), moments, odd, value)
    if numbers is not None and kind == "number":
        return numbers
    if kind == "text":
        if dtype.is_boolean():
            value = ibis.cases((value, "True"), (~value, "False"))
        return TextColumn(value if dtype.is_string() else value.cast("string"), numbers, odd)
    if dtype.is_decimal():
        from dpviz.engines.decimals import Decimals

        return Decimals.of(value)
    if dtype.is_boolean():
        value, dtype = value.cast("int8"), ibis.dtype("int8")
    held, raw = HALF if half else np.dtype(str(dtype.copy(nullable=True))), value
    if dtype.is_floating():
        value = ibis.cases((value.isnan(), ibis.null(dtype)), else_=value)
    return NumberColumn(value, held, raw, odd)


@ibis.udf.scalar.builtin(name="date_part", signature=(("string", "timestamp"), "decimal(8, 6)"))  # type: ignore[untyped-decorator]
def _date_part(field: str, value: Any) -> Any:
    """Spark's own."""
    raise NotImplementedError("computed by the engine")


@ibis.udf.scalar.builtin(name="epoch_ns", signature=(("timestamp",), "int64"))  # type: ignore[untyped-decorator]
def _epoch_ns(value: Any) -> Any:
    """DuckDB's own."""
    raise NotImplementedError("computed by the engine")


@ibis.udf.scalar.builtin(name="divide", signature=(("int64", "int64"), "int64"))  # type: ignore[untyped-decorator]
def _divide(value: Any, by: Any) -> Any:
    """DuckDB's own, of whole numbers."""
    raise NotImplementedError("computed by the engine")


@ibis.udf.scalar.builtin(name="make_timestamp", signature=(("int64",), "timestamp"))  # type: ignore[untyped-decorator]
def _make_timestamp(value: Any) -> Any:
    """DuckDB's own, of microseconds."""
    raise NotImplementedError("computed by the engine")


@ibis.udf.scalar.builtin(name="md5", signature=(("binary",), "string"))  # type: ignore[untyped-decorator]
def _md5_of_bytes(value: Any) -> Any:
    """PostgreSQL's own."""
    raise NotImplementedError("computed by the engine")


@ibis.udf.scalar.builtin(name="convert_to", signature=(("string", "string"), "binary"))  # type: ignore[untyped-decorator]
def _encoded(value: Any, encoding: str) -> Any:
    """PostgreSQL's own."""
    raise NotImplementedError("computed by the engine")


@ibis.udf.scalar.builtin(name="date_mi", signature=(("date", "date"), "int32"))  # type: ignore[untyped-decorator]
def _date_mi(value: Any, other: Any) -> Any:
    """PostgreSQL's own: the days between two dates."""
    raise NotImplementedError("computed by the engine")


def md5(text: Any) -> Any:
    """The digest of a text in UTF-8, in hexadecimal. (PostgreSQL holds texts in the encoding of its database.)"""
    if text.get_backend().name == "postgres":
        return _md5_of_bytes(_encoded(text, "UTF8"))
    return text.hexdigest("md5")


def _plain_time(value: Any) -> Any:
    """A time without a zone in microseconds, whatever resolution it is held in.

    DuckDB cannot turn all of its other times into such: what is too far off would end the query, and would tell of that
    row, so it is no time. Nanoseconds it rounds, and a clock does not: they are cut off.
    """
    if value.get_backend().name != "duckdb" or value.type().scale in (None, 6):
        return value
    if value.type().scale < 6:
        return value.try_cast("timestamp(6)")
    since = _epoch_ns(value)
    down = ibis.ifelse(since % 1_000 < 0, whole(1, "int64"), whole(0, "int64"))
    return _make_timestamp(_divide(since, 1_000) - down)


def _microseconds(value: Any) -> Any:
    """A date, or a time without a zone, in microseconds since 1970 began, by its parts: so no engine brings its own
    zone into it. Null where it is none."""
    parts: Any = whole(0, "int64")
    if not value.type().is_date():
        by = [(value.hour(), times.HOUR), (value.minute(), times.MINUTE)]
        if value.get_backend().name == "pyspark":  # its seconds have six places, and it tells no microseconds
            parts = (_date_part("SECOND", value) * 10**6).cast("int64")
        else:
            parts = value.microsecond().cast("int64")
            by.append((value.second(), 10**6))
        for part, length in by:
            parts = parts + part.cast("int64") * whole(length, "int64")
        value = value.date()
    if value.get_backend().name == "postgres":  # an interval of its own overflows
        days = _date_mi(value, ibis.literal("1970-01-01").cast("date")).cast("int64")
    else:
        days = value.epoch_days().cast("int64")
    most = whole(FARTHEST, "int64")
    days = ibis.cases((days > most, most), (days < -most, -most), else_=days)  # no day makes the arithmetic fail
    return days * whole(times.DAY, "int64") + parts


def _whole_part(number: Any, by: int) -> Any:
    """How often a whole number goes into one that is not below 0. Each division leaves nothing over, and a half is
    added, so no rounding of the engine's makes it another number."""
    multiple = number - number % whole(by, "int64")
    return (multiple / whole(by, "int64") + 0.5).floor().cast("int64")


def numbers_for(domain: Domain) -> str:
    """The Ibis type in which the bins of a domain are numbered."""
    return "int64" if domain.size <= NARROW else WIDE


def assign_bins(
    domain: Domain, columns: Mapping[str, ColumnExpressions], numbers: str, fallback: Sequence[int] | None = None
) -> Any:
    """The bin of each row in a declared domain; of a row without a bin in some column, with the one in `fallback`."""
    places = []
    for at, one in enumerate(domain.factors):
        column = columns[one.columns[0]]
        place = column.assign_bins(one, numbers)
        if fallback is not None:
            for seen in column.has_bin(one):
                place = ibis.ifelse(seen, place, number(NONE, numbers))
            place = ibis.coalesce(place, number(fallback[at], numbers))
        places.append((place, one.size))
    return _joined(places, numbers)[0]


def _joined(places: Sequence[tuple[Any, int]], numbers: str) -> tuple[Any, int]:
    """The bin in a product and how many there are, of those in its factors: by halves, so that no engine nests deep."""
    if len(places) == 1:
        return places[0]
    half = len(places) // 2
    (left, rows), (right, columns) = _joined(places[:half], numbers), _joined(places[half:], numbers)
    return left * whole(columns, numbers) + right, rows * columns


@dataclass(frozen=True, repr=False, eq=False)
class TextColumn(ColumnExpressions):
    """Texts, compared by code point; and the numbers that stand in them, where a question reads these.

    odd  whether a value was there that has no text; None where the column never was one of objects
    """

    value: Any
    numbers: TextNumbers | None = None
    odd: Any = None

    @property
    def text(self) -> Any:
        return self.value

    @property
    def floats(self) -> Any:
        assert self.numbers is not None
        return self.numbers.floats

    def assign_bins(self, domain: Domain, numbers: str) -> Any:
        if not isinstance(domain, CategoryDomain):
            assert self.numbers is not None
            return self.numbers.assign_bins(domain, numbers)
        known = {label: position for position, label in enumerate(domain.values)}
        found = matched(self.value, known, domain, numbers, ibis.literal)
        return found if self.odd is None else ibis.ifelse(self.odd, number(other(domain), numbers), found)

    def passes(self, condition: Condition) -> list[Any]:
        if isinstance(condition, Between):
            assert self.numbers is not None
            return self.numbers.passes(condition)
        return [self.value.isin(condition)]


@dataclass(frozen=True, repr=False, eq=False)
class NumberColumn(ColumnExpressions):
    """Integers or floats of a NumPy type; NaN is null, floats may be infinite.

    raw  the column as it lies, NaN among it: no engine finds NaN both at least one number and below another
    odd  whether a text was there that is no number, or no date; None where the column never was one of texts
    """

    value: Any
    dtype: np.dtype[Any]
    raw: Any
    odd: Any = None

    @property
    def whole(self) -> bool:
        return self.dtype.kind != "f"

    @property
    def text(self) -> Any:
        assert self.whole
        return self.value.cast("string")

    @property
    def floats(self) -> Any:
        return self.value.cast("float64")

    def assign_bins(self, domain: Domain, numbers: str) -> Any:
        if self.odd is None:
            return self._bins(domain, numbers)
        assert isinstance(domain, CategoryDomain | IntegerDomain | IntervalDomain | TimeDomain)
        beside = other(domain) if isinstance(domain, CategoryDomain) else malformed(domain)
        return ibis.ifelse(self.odd, number(beside, numbers), self._bins(domain, numbers))

    def bins_of_groups(self, domain: Domain) -> Callable[[Any], ColumnExpressions] | None:
        many = isinstance(domain, IntegerDomain) and domain.size > MANY_BINS and self._limits(domain) is not None
        return (lambda values: replace(self, value=values, raw=values)) if many and self.odd is None else None

    def guess_bins(self, domain: Domain) -> tuple[Any, Callable[[Any], Any]] | None:
        if self.odd is not None or not isinstance(domain, IntervalDomain) or not alone(domain):
            return None
        widths = EqualWidths.of(domain.edges, self._edges(domain), self.dtype) if tried_on(self.raw) else None
        return None if widths is None else widths.guessed(self.raw)

    def _bins(self, domain: Domain, numbers: str) -> Any:
        """The same for values that are no texts."""
        if isinstance(domain, IntegerDomain):
            return self._integers(domain, numbers)
        if isinstance(domain, IntervalDomain):
            return self._intervals(domain, numbers)
        assert isinstance(domain, CategoryDomain)
        return matched(self.value, self._known(domain.values), domain, numbers, self._at)

    def has_bin(self, domain: Domain) -> tuple[Any, ...]:
        if isinstance(domain, IntervalDomain):
            first, *_, last = self._edges(domain)
            if not alone(domain):
                return ()
            inside = self._reaches(first), ~self._reaches(last)
            if self.whole and first <= np.iinfo(self.dtype).min and last > np.iinfo(self.dtype).max:
                return (self.value.notnull(), *inside)  # no comparison leaves out what is missing
            return inside
        limits = self._limits(domain)
        return () if limits is None else (self.value.between(*(self._at(limit) for limit in limits)),)

    def _limits(self, domain: Domain) -> tuple[int, int] | None:
        """The least and greatest value of the rows that have a bin, where all others can be left out before."""
        if not isinstance(domain, IntegerDomain) or not self.whole:
            return None
        bounds = np.iinfo(self.dtype)
        start, stop = max(domain.low, int(bounds.min)), min(domain.high, int(bounds.max))
        return (start, stop) if alone(domain) and start <= stop else None

    def _edges(self, domain: IntervalDomain) -> list[Any]:
        """The least value of this type in each interval, and the least above all of them."""
        *edges, last = domain.edges
        return [*(least(self.dtype, edge) for edge in edges), least(self.dtype, last, above=True)]

    def passes(self, condition: Condition) -> list[Any]:
        if not isinstance(condition, Between):
            return [self.value.isin([self._at(value) for value in self._known(condition)])]
        passed = [self.value.notnull()] if self.whole else []  # a float that is missing is on no side of a limit
        if condition.low is not None:
            passed.append(self._reaches(least(self.dtype, condition.low)))
        if condition.high is not None:
            passed.append(self._below(least(self.dtype, condition.high, above=True)))
        elif not self.whole:
            passed += [self.raw.notnull(), ~self.raw.isnan()]
        return passed

    def _known(self, labels: Sequence[str]) -> dict[Any, int]:
        """The values of this type that are written as one of the labels, and where these stand."""
        exact = [as_written(label) for label in labels]
        held = [None if number is None else holds(self.dtype, number) for number in exact]
        return {value: position for position, value in enumerate(held) if value is not None}

    def _at(self, value: Any) -> Any:
        """A value of this type, written so that the engine reads it and no other."""
        if self.whole:
            return ibis.literal(int(value), "uint64" if self.dtype == np.uint64 else "int64")
        if self.dtype == HALF:  # in the digits of the type that holds it
            value = np.float32(value)
        return ibis.literal(str(value).replace("inf", "Infinity")).cast(value.dtype.name)

    def _reaches(self, limit: Any) -> Any:
        """Whether a value is at least the limit, which may lie beyond this type. NaN may be, or not."""
        if self.whole:
            bounds = np.iinfo(self.dtype)
            if not bounds.min < limit <= bounds.max:
                return ibis.literal(limit <= bounds.min)
        return self.raw >= self._at(limit)

    def _below(self, limit: Any) -> Any:
        """Whether a value is below the limit. NaN never is: to engines it is the greatest, or beside all numbers."""
        return ~self._reaches(limit) if self.whole else self.raw < self._at(limit)

    def _intervals(self, domain: IntervalDomain, numbers: str) -> Any:
        limits = self._edges(domain)
        widths = EqualWidths.of(domain.edges, limits, self.dtype) if tried_on(self.raw) else None
        if widths is not None:
            step = widths.place(self.raw).cast(numbers)
            step = step + whole(1, numbers) if domain.underflow else step
            if alone(domain):  # all others were left out before; no number makes the arithmetic fail
                return step
            return ibis.cases(
                (self.value.isnull(), number(missing(domain), numbers)),
                (~self._reaches(limits[0]), number(under(domain), numbers)),
                (self._reaches(limits[-1]), number(over(domain), numbers)),
                else_=step,
            )
        bins = [under(domain), *(step + domain.underflow for step in range(domain.inner)), over(domain)]
        leaves = [number(bin, numbers) for bin in bins]
        return ibis.cases(
            (self.value.isnull(), number(missing(domain), numbers)), else_=search(self._reaches, limits, leaves)
        )

    def _integers(self, domain: IntegerDomain, numbers: str) -> Any:
        value, absent, rules = self.value, (self.value.isnull(), number(missing(domain), numbers)), []
        unsigned, signed = self.dtype == np.uint64, int(np.iinfo(np.int64).max)
        narrowed = unsigned and numbers != WIDE and domain.high < signed
        if narrowed:  # what is cut off lies above every bin, as the number at which it is cut does
            first, last, value = 0, signed, ibis.least(value, self._at(signed)).cast("int64")
        elif self.whole:
            first, last = int(np.iinfo(self.dtype).min), int(np.iinfo(self.dtype).max)
        else:
            # Beyond, all floats are whole, and all that matters of them is on which side they lie.
            last = most_whole(self.dtype)
            first = -last
            near = ibis.greatest(ibis.least(value.cast("float64"), float64(last)), float64(first))
            value = near.floor().cast("int64")
            rules.append((value.cast("float64") != near, number(NONE, numbers)))
        wide = WIDE if numbers == WIDE or (unsigned and not narrowed) else "int64"
        value, low, high = value.cast(wide), domain.low, domain.high
        start, stop = max(low, first), min(high, last)
        if start > stop:
            beside = number(under(domain) if low > last else over(domain), numbers)
            return ibis.cases(absent, *rules, else_=beside)
        within, left_out = None, self._limits(domain) is not None
        if (
            low > first and high < last and not left_out and under(domain) == over(domain)
        ):  # one look at each row in place of two
            within = value.between(whole(low, wide), whole(high, wide))
        elif low > first and not left_out:
            rules.append((value < whole(low, wide), number(under(domain), numbers)))
        if within is None and high < last and not left_out:
            rules.append((value > whole(high, wide), number(over(domain), numbers)))
        # Engines may take the difference for rows outside, too, where it must not overflow.
        narrow = wide == "int64"
        inside = ibis.least(value, whole(stop, wide)) if not narrow or last - start >= 2**63 else value
        inside = ibis.greatest(inside, whole(start, wide)) if not narrow or first - start < -(2**63) else inside
        # least and greatest pass over null
        if missing(domain) != NONE or not self.whole or narrowed or inside is not value:
            rules.insert(0, absent)
        step = (inside - whole(start, wide) if start else inside).cast(numbers)
        offset = start - low + domain.underflow
        step = step + whole(offset, numbers) if offset else step
        step = step if within is None else ibis.ifelse(within, step, number(NONE, numbers))
        return ibis.cases(*rules, else_=step) if rules else step


@dataclass(frozen=True, repr=False, eq=False)
class TextNumbers(ColumnExpressions):
    """The numbers that stand in a column of texts, by the rule of `reading.text_number`.

    present  whether there is a text
    real     the float that is nearest to the number, null where the text is none
    whole    the number itself where it is written as a plain whole number, else null
    """

    present: Any
    real: Any
    whole: Any

    @property
    def value(self) -> Any:
        """The whole numbers, as texts: an engine takes no keys and no users from other numbers."""
        return ibis.coalesce(self.whole.cast("string"), self._small.cast("string"))

    @property
    def text(self) -> Any:
        return self.value

    @property
    def floats(self) -> Any:
        return self.real

    @property
    def _near(self) -> Any:
        """The float, cut at 2^53: from there on all of them are whole, and SQL's whole numbers end."""
        return ibis.greatest(ibis.least(self.real, float64(EXACT)), float64(-EXACT))

    @property
    def _parted(self) -> Any:
        """Whether it has a fractional part."""
        return self._near != self._near.floor().cast("float64")

    @property
    def _small(self) -> Any:
        """A whole number below 2^53, however it is written, else null."""
        whole = ~self._parted & (self.real.abs() < float64(EXACT))
        return ibis.ifelse(whole, self._near, ibis.null("float64")).cast("int64")

    def assign_bins(self, domain: Domain, numbers: str) -> Any:
        if isinstance(domain, CategoryDomain):
            placed = self._categories(domain, numbers)
        elif isinstance(domain, IntegerDomain):
            placed = self._integers(domain, numbers)
        else:
            assert isinstance(domain, IntervalDomain)
            placed = self._intervals(domain, numbers)
        return ibis.cases(
            (~self.present, number(missing(domain), numbers)),
            (
                self.real.isnull(),
                number(other(domain) if isinstance(domain, CategoryDomain) else malformed(domain), numbers),
            ),
            else_=placed,
        )

    def passes(self, condition: Condition) -> list[Any]:
        if not isinstance(condition, Between):
            known = self._known(condition)
            whole = self.value.isin([label for label, exact in known.items() if exact.denominator == 1])
            other = [self._at(exact) for exact in known.values() if exact.denominator != 1]
            return [whole | self.real.isin(other)] if other else [whole]
        passed = [self.real.notnull()]
        if condition.low is not None:
            passed.append(self._reaches(condition.low))
        if condition.high is not None:
            passed.append(~self._reaches(condition.high, above=True))
        return passed

    def _known(self, labels: Sequence[str]) -> dict[str, Fraction]:
        """The labels that are written as numbers, and these numbers."""
        exact = {label: as_written(label) for label in labels}
        return {label: one for label, one in exact.items() if one is not None}

    def _at(self, exact: Fraction) -> Any:
        """The float that prints as a number, or null where there is none."""
        value = holds(DOUBLE, exact)
        return ibis.null("float64") if value is None else ibis.literal(str(value)).cast("float64")

    def _categories(self, domain: CategoryDomain, numbers: str) -> Any:
        known = self._known(domain.values)
        at = {label: position for position, label in enumerate(domain.values)}
        whole = {label: at[label] for label, exact in known.items() if exact.denominator == 1}
        held = {holds(DOUBLE, exact): at[label] for label, exact in known.items() if exact.denominator != 1}
        held.pop(None, None)
        beside = number(other(domain), numbers)
        parted = matched(self.real, held, domain, numbers, lambda value: ibis.literal(str(value)).cast("float64"))
        found = matched(self.value, whole, domain, numbers, ibis.literal)
        return ibis.cases((self._parted, parted), (self.value.isnull(), beside), else_=found)

    def _reaches(self, limit: Fraction, above: bool = False) -> Any:
        """Whether a number is at least the limit, or lies above it."""
        near = least(DOUBLE, limit, above)
        real = self.real >= ibis.literal(str(near).replace("inf", "Infinity")).cast("float64")
        if abs(limit) < EXACT - 1:
            return real  # on this side of 2^53 a whole number and its float are one
        first = math.floor(limit) + 1 if above else math.ceil(limit)
        whole = self.whole >= whole_of(first) if abs(first) < MOST_PLAIN else ibis.literal(first < 0)
        return ibis.ifelse(self.whole.notnull(), whole, real)

    def _intervals(self, domain: IntervalDomain, numbers: str) -> Any:
        *edges, last = domain.edges
        bins = [under(domain), *(step + domain.underflow for step in range(domain.inner)), over(domain)]
        limits = [*((edge, False) for edge in edges), (last, True)]
        return search(lambda limit: self._reaches(*limit), limits, [number(bin, numbers) for bin in bins])

    def _integers(self, domain: IntegerDomain, numbers: str) -> Any:
        low, high = Fraction(domain.low), Fraction(domain.high)
        wide = "int64" if numbers == "int64" and max(-low, high) < EXACT else WIDE
        below, beyond = ~self._reaches(low), self._reaches(high, above=True)
        found = self._small if wide == "int64" else ibis.coalesce(self.whole, self._small.cast(WIDE))
        inside = ibis.ifelse(below | beyond, ibis.null(wide), found)  # a difference may not overflow
        placed = (inside - whole(domain.low, wide)).cast(numbers) + whole(int(domain.underflow), numbers)
        return ibis.cases(
            (self._parted, number(NONE, numbers)),
            (below, number(under(domain), numbers)),
            (beyond, number(over(domain), numbers)),
            else_=placed,
        )


@dataclass(frozen=True, repr=False, eq=False)
class Times(NumberColumn):
    """Dates or times without a zone, in microseconds.

    calendar  the column as it lies, whose years and months an engine knows
    """

    calendar: Any = None

    def has_bin(self, domain: Domain) -> tuple[Any, ...]:
        assert isinstance(domain, TimeDomain)
        inside = self.value >= self._at(domain.start), self.value < self._at(domain.end)
        return inside if alone(domain) else ()

    def _bins(self, domain: Domain, numbers: str) -> Any:
        assert isinstance(domain, TimeDomain)
        step = (self._stretches(domain) if domain.by in times.LENGTHS else self._months(domain)).cast(numbers)
        return ibis.cases(
            (self.value.isnull(), number(missing(domain), numbers)),
            (self.value < self._at(domain.start), number(under(domain), numbers)),
            (self.value >= self._at(domain.end), number(over(domain), numbers)),
            else_=step + whole(1, numbers) if domain.underflow else step,
        )

    def _stretches(self, domain: TimeDomain) -> Any:
        """Of equally long stretches of time; what lies outside is taken for the first one."""
        first, last = self._at(domain.start), self._at(domain.end)
        outside = (self.value < first) | (self.value >= last)
        return _whole_part(ibis.ifelse(outside, first, self.value) - first, times.LENGTHS[domain.by])

    def _months(self, domain: TimeDomain) -> Any:
        """Of one month, or of several."""
        months, begin = times.MONTHS[domain.by], times.moment(domain.start)
        first = whole(begin.year * 12 + begin.month - 1, "int64")
        found = self.calendar.year().cast("int64") * 12 + self.calendar.month().cast("int64") - whole(1, "int64")
        return _whole_part(ibis.ifelse(found < first, first, found) - first, months)


def alone(domain: IntegerDomain | IntervalDomain | TimeDomain) -> bool:
    """Whether a row below, above or without a number is in no bin."""
    return {under(domain), over(domain), missing(domain), malformed(domain)} == {NONE}


def with_steps(rows: Any, scale: SumScale) -> Any:
    """The rows with a column `steps` in place of `value`: `steps.steps_of` in SQL. No value may be null."""
    low, high, rate, half, parts = (
        ibis.literal(repr(one)).cast("float64") for one in (scale.low, scale.high, scale.rate, scale.half, scale.parts)
    )
    others = [name for name in rows.columns if name != "value"]
    rows = rows.select(*others, cut=ibis.least(ibis.greatest(rows.value, low), high))
    rows = rows.select(*others, "cut", below=(rows.cut * rate).floor().cast("int64"))
    middle = (rows.below * 2 + 1).cast("float64") * half / parts
    return rows.select(
        *others, steps=rows.below + ibis.ifelse(rows.cut >= middle, whole(1, "int64"), whole(0, "int64"))
    )


def text_numbers(table: Any, names: Sequence[str], marks: Marks = PLAIN) -> tuple[Any, dict[str, TextNumbers]]:
    """The table with the numbers that stand in some columns of texts, and where they are found.

    They are columns of the table, not expressions, so that an engine reads each text once.
    """
    added: dict[str, Any] = {}
    found: dict[str, tuple[str, str]] = {}
    for name in names:
        text = table[name]
        short = text.length() <= LONGEST
        real = short & text.re_search(anchored(f"{marks.real}|{ENDLESS}"))
        plain = short & text.re_search(anchored(marks.whole))
        text = text.replace(marks.thousands, "") if marks.thousands else text
        text = text.replace(marks.decimal, ".") if marks.decimal != "." else text
        found[name] = fresh("real", [*table.columns, *added]), fresh("whole", [*table.columns, *added])
        added[found[name][0]] = ibis.ifelse(real, text, ibis.null("string")).try_cast("float64")
        added[found[name][1]] = ibis.ifelse(plain, text, ibis.null("string")).try_cast(WIDE)
    table = table.mutate(**added) if added else table
    return table, {
        name: TextNumbers(table[name].notnull(), table[real], table[whole]) for name, (real, whole) in found.items()
    }


def anchored(rule: str) -> str:
    """A rule for all of a text. ($ would let Java pass over a line end.)"""
    return rf"\A{AROUND}({rule}){AROUND}\z"


def fresh(name: str, taken: Sequence[str]) -> str:
    known = {one.lower() for one in taken}
    return next(one for step in count() if (one := f"dpviz_{name}_{step}") not in known)


def whole_of(value: int) -> Any:
    return ibis.literal(str(value)).cast(WIDE)


def most_whole(dtype: np.dtype[Any]) -> int:
    """Up to here every whole number is a float of this type and prints as itself."""
    return int(2 ** (np.finfo(dtype).nmant + 1))


def float64(value: int) -> Any:
    return ibis.literal(str(value)).cast("float64")


def whole(value: int, numbers: str) -> Any:
    """A whole number of an Ibis type."""
    return ibis.literal(value, "int64") if numbers == "int64" else ibis.literal(str(value)).cast(numbers)


def number(bin: int, numbers: str) -> Any:
    """A bin, or null for NONE."""
    return ibis.null(numbers) if bin == NONE else whole(bin, numbers)


def matched(value: Any, known: Mapping[Any, int], domain: CategoryDomain, numbers: str, at: Any) -> Any:
    """The position of a value among known ones, and the bins beside them."""
    limits = sorted(known)
    beside = number(other(domain), numbers)
    leaves = [beside, *(ibis.ifelse(value == at(one), number(known[one], numbers), beside) for one in limits)]
    found = search(lambda limit: value >= at(limit), limits, leaves)
    return ibis.cases((value.isnull(), number(missing(domain), numbers)), else_=found)


def search(reaches: Any, limits: Sequence[Any], leaves: Sequence[Any]) -> Any:
    """The leaf of the last limit that is reached, by halving: a row meets few of the comparisons."""
    if not limits:
        return leaves[0]
    half = len(limits) // 2
    below = search(reaches, limits[:half], leaves[: half + 1])
    above = search(reaches, limits[half + 1 :], leaves[half + 1 :])
    return ibis.ifelse(reaches(limits[half]), above, below)
