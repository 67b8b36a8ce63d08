"""Columns of decimals in SQL: exact numbers, compared with exact limits and rounded to the steps of a sum as such.

A column of DECIMAL(p, s) holds whole multiples of 10^-s, so a limit is moved up to the next of these and compared as a
value of the column's own type. No value is cast to a float, and none is rounded: engines differ in how they do both.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Context, Decimal
from fractions import Fraction
from typing import Any, Final

import ibis

from dpviz.engines.columns import WIDE, ColumnExpressions, alone, matched, number, search, whole
from dpviz.engines.values import NONE, as_written, missing, over, under
from dpviz.errors import DomainError
from dpviz.exact import text
from dpviz.model.aggregate import Sum
from dpviz.model.domain import CategoryDomain, Domain, IntegerDomain, IntervalDomain
from dpviz.model.question import Between, Condition

DIGITS: Final = 38
"""The digits of the widest decimals that engines calculate with."""
MOST_PLACES: Final = 30
"""Labels are written with at most so many places (`exact.text`)."""
EVERY: Final = Context(prec=10_000)
"""Python's decimals, without rounding."""


@ibis.udf.scalar.builtin(name="floor", signature=(("decimal",), "decimal(38, 0)"))  # type: ignore[untyped-decorator]
def _floor(value: Any) -> Any:
    """The engine's own, which stays a decimal: Ibis's is a number of 64 bits at once, and not every value is one."""
    raise NotImplementedError("computed by the engine")


@ibis.udf.scalar.builtin(name="format_number", signature=(("decimal", "int32"), "string"))  # type: ignore[untyped-decorator]
def _formatted(value: Any, places: int) -> Any:
    """Spark's own: all digits before the point in groups of three, and so many after it."""
    raise NotImplementedError("computed by the engine")


@ibis.udf.scalar.builtin(name="trim_scale", signature=(("decimal",), "decimal"))  # type: ignore[untyped-decorator]
def _trimmed(value: Any) -> Any:
    """PostgreSQL's own: the same number without zeros at its end."""
    raise NotImplementedError("computed by the engine")


@ibis.udf.scalar.builtin(name="scale", signature=(("decimal",), "int32"))  # type: ignore[untyped-decorator]
def _places(value: Any) -> Any:
    """PostgreSQL's own."""
    raise NotImplementedError("computed by the engine")


@ibis.udf.scalar.builtin(name="div", signature=(("decimal", "decimal"), "decimal"))  # type: ignore[untyped-decorator]
def _div(value: Any, by: Any) -> Any:
    """PostgreSQL's own: the whole part of a quotient, without rounding."""
    raise NotImplementedError("computed by the engine")


@dataclass(frozen=True, repr=False, eq=False)
class Decimals(ColumnExpressions):
    """Decimals of one type.

    raw     the column as it lies
    digits  how many digits its values have; None where any number of them (PostgreSQL's NUMERIC)
    places  how many of these are after the point
    """

    raw: Any
    digits: int | None
    places: int

    @classmethod
    def of(cls, column: Any) -> Decimals:
        dtype = column.type()
        return cls(column, dtype.precision, dtype.scale or 0)

    @property
    def value(self) -> Any:
        """The values that keys and users are told apart by."""
        if self.digits is not None:
            return self.raw
        return ibis.ifelse(_places(_trimmed(self.raw)) <= MOST_PLACES, _trimmed(self.raw), ibis.null("decimal"))

    @property
    def text(self) -> Any:
        """Without zeros at its end, as `exact.text` writes it."""
        if self.digits is None:
            return self.raw.cast("string")
        if self.places == 0:
            return self.raw.cast("string")
        return self._written.re_replace(r"\.?0+$", "")

    @property
    def _written(self) -> Any:
        """All digits. A cast of Spark's writes some small numbers with an exponent, unless it keeps to the ANSI
        standard."""
        if self._on_spark:
            return _formatted(self.raw, self.places).replace(",", "")
        text = self.raw.cast("string")
        if self.places < (self.digits or 0):
            return text
        # DuckDB writes no 0 before the point where the type has no digit there
        return ibis.ifelse(text.startswith("."), ibis.literal("0") + text, text.replace("-.", "-0."))

    @property
    def _on_spark(self) -> bool:
        return bool(self.raw.get_backend().name == "pyspark")

    @property
    def floats(self) -> Any:
        raise NotImplementedError("decimals are summed up as they are")

    def steps(self, total: Sum) -> Any:
        """The steps of a sum: the greatest k for which the value reaches the middle between step k - 1 and step k, each
        of which is a fraction; beyond low and high, theirs."""
        if self.digits is None:
            return self._steps_of_any(total)
        shift, rate, by, rest = scaled(total, self.places)
        units = self._units(total.low, total.high) - whole(shift, WIDE)
        place = units * whole(rate, WIDE) + whole(rest, WIDE)
        multiple = place - place % whole(by, WIDE)
        found = (multiple / whole(by, WIDE) + 0.5).floor().cast("int64")
        found = found + whole(first_step(total, self.places), "int64")
        low, high = (whole(int(end / total.step), "int64") for end in (total.low, total.high))
        return ibis.greatest(ibis.least(found, high), low)

    def _steps_of_any(self, total: Sum) -> Any:
        """The same of any number of digits: PostgreSQL's products and `div` are exact."""
        part, whole_part = total.step.denominator, total.step.numerator
        low, high = (whole_decimal(int(end * part)) for end in (total.low, total.high))  # multiples of the step
        scaled = ibis.greatest(ibis.least(self.raw * whole_decimal(part), high), low) - low
        steps = _div(scaled * whole_decimal(2) + whole_decimal(whole_part), whole_decimal(2 * whole_part))
        return steps.cast("int64") + whole(int(total.low / total.step), "int64")

    def _units(self, low: Fraction, high: Fraction) -> Any:
        """The value in units of its last place, cut not far outside of two numbers, as a whole number."""
        least = self._literal(max(Fraction(math.floor(low * 10**self.places), 10**self.places), -self._most))
        most = self._literal(min(Fraction(math.ceil(high * 10**self.places), 10**self.places), self._most))
        cut = ibis.greatest(ibis.least(self.raw, most), least).cast(self.raw.type())
        written = Decimals(cut, self.digits, self.places)._written
        return (written.replace(".", "") if self.places else written).cast(WIDE)

    @property
    def _most(self) -> Fraction:
        """The greatest value of the type."""
        assert self.digits is not None
        return Fraction(10**self.digits - 1, 10**self.places)

    def _literal(self, exact: Fraction | int) -> Any:
        """A number as a value of the column's type, which has it."""
        exact = Fraction(exact)
        written = EVERY.divide(Decimal(exact.numerator), Decimal(exact.denominator))
        return ibis.literal(f"{written:f}").cast(self.raw.type().copy(nullable=True))

    def _reaches(self, limit: Fraction, above: bool = False) -> Any:
        """Whether a value is at least the limit, or lies above it."""
        if self.digits is None:
            scaled = self.raw * whole_decimal(limit.denominator)
            return scaled > whole_decimal(limit.numerator) if above else scaled >= whole_decimal(limit.numerator)
        units = limit * 10**self.places
        first = Fraction(math.floor(units) + 1 if above else math.ceil(units), 10**self.places)
        if abs(first) > self._most:
            return ibis.literal(first < 0)
        return self.raw >= self._literal(first)

    def _known(self, labels: Sequence[str]) -> dict[Fraction, int]:
        """The values of this type that are written as one of the labels, and where these stand."""
        exact = [as_written(label) for label in labels]
        return {one: place for place, one in enumerate(exact) if one is not None and self._holds(one)}

    def _holds(self, exact: Fraction) -> bool:
        if self.digits is None:
            return (10**1000) % exact.denominator == 0
        return (exact * 10**self.places).denominator == 1 and abs(exact) <= self._most

    def assign_bins(self, domain: Domain, numbers: str) -> Any:
        if isinstance(domain, CategoryDomain):
            return matched(self.raw, self._known(domain.values), domain, numbers, self._literal)
        assert isinstance(domain, IntegerDomain | IntervalDomain)
        absent = self.raw.isnull(), number(missing(domain), numbers)
        if isinstance(domain, IntervalDomain):
            *edges, last = domain.edges
            bins = [under(domain), *(step + domain.underflow for step in range(domain.inner)), over(domain)]
            limits = [*((edge, False) for edge in edges), (last, True)]
            found = search(lambda limit: self._reaches(*limit), limits, [number(bin, numbers) for bin in bins])
            return ibis.cases(absent, else_=found)
        return ibis.cases(
            absent,
            (self._parted, number(NONE, numbers)),
            (~self._reaches(Fraction(domain.low)), number(under(domain), numbers)),
            (self._reaches(Fraction(domain.high), above=True), number(over(domain), numbers)),
            else_=self._place(domain, numbers),
        )

    @property
    def _parted(self) -> Any:
        """Whether it has digits other than 0 after the point. An endless one has none."""
        if self.digits is not None and self.places == 0:
            return ibis.literal(False)
        if self.digits is None:
            return _floor(self.raw) != self.raw
        if self.places == self.digits:  # all digits are after the point
            return self.raw != self._literal(0)
        return self.raw % whole_decimal(1, 1) != self._literal(0)

    def _place(self, domain: IntegerDomain, numbers: str) -> Any:
        """The bin of a whole number inside; of any other something that no arithmetic fails of."""
        low, high = Fraction(domain.low), Fraction(domain.high)
        if self.digits is not None:
            most = Fraction(math.floor(self._most))
            low, high = max(low, -most), min(high, most)
        if low > high:
            return number(NONE, numbers)
        wide = numbers if numbers == WIDE or max(-domain.low, domain.high) < 2**62 else WIDE
        cut = ibis.greatest(ibis.least(self.raw, self._literal(high)), self._literal(low))
        offset = whole(domain.low - int(domain.underflow), wide)
        # Spark's floor fails at the ends of a type
        found = _formatted(cut, 0).replace(",", "") if self._on_spark else _floor(cut)
        return (found.cast(WIDE).cast(wide) - offset).cast(numbers)

    def has_bin(self, domain: Domain) -> tuple[Any, ...]:
        if not isinstance(domain, IntegerDomain | IntervalDomain) or not alone(domain):
            return ()
        first, last = (
            (Fraction(domain.low), Fraction(domain.high))
            if isinstance(domain, IntegerDomain)
            else (domain.edges[0], domain.edges[-1])
        )
        inside = self._reaches(first), ~self._reaches(last, above=True)
        return (*inside, ~self._parted) if isinstance(domain, IntegerDomain) else inside

    def passes(self, condition: Condition) -> list[Any]:
        if not isinstance(condition, Between):
            return [self.raw.isin([self._literal(value) for value in self._known(condition)])]
        passed = [self.raw.notnull()]
        if condition.low is not None:
            passed.append(self._reaches(condition.low))
        if condition.high is not None:
            passed.append(~self._reaches(condition.high, above=True))
        return passed


def whole_decimal(value: int, digits: int | None = None) -> Any:
    """A whole number as a decimal of so many digits, or of any number of them."""
    return ibis.literal(str(value)).cast("decimal" if digits is None else f"decimal({digits}, 0)")


def first_step(total: Sum, places: int) -> int:
    """The step from which the others are counted on."""
    rate, by, rest = _fraction(total, places)
    return int((rate * math.floor(total.low * 10**places) + rest) // by)


def scaled(total: Sum, places: int) -> tuple[int, int, int, int]:
    """Whole numbers with which the steps of n units of the last place are (rate (n - shift) + rest) // by, from the
    first step on.

    Raises DomainError where they have more digits than an engine calculates with.
    """
    rate, by, rest = _fraction(total, places)
    shift, end = math.floor(total.low * 10**places), math.ceil(total.high * 10**places)
    rest = (rate * shift + rest) % by
    if max(abs(shift), abs(end), (end - shift) * rate + by + rest, by) >= 10**DIGITS:
        raise DomainError.of(
            f"steps of {text(total.step)}",
            f"a sum of decimals with {places} places needs whole numbers of at most {DIGITS} digits",
            "take larger steps, or ends nearer to 0",
        )
    return shift, rate, by, rest


def _fraction(total: Sum, places: int) -> tuple[int, int, int]:
    """The steps of n units of the last place: the whole part of n / (10^places step) + 1/2 = (rate n + rest) / by."""
    whole_part, part = total.step.numerator, total.step.denominator
    rate, by, rest = 2 * part, 2 * whole_part * 10**places, whole_part * 10**places
    common = math.gcd(rate, by, rest)
    return rate // common, by // common, rest // common
