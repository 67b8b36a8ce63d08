"""The numbers and labels that values stand for, whatever holds them, and the bins beside the declared ones.

A value means the decimal it prints as, so a binary 0.3 lies in the bin that begins at 3/10. Nothing here needs pandas:
a session on an SQL engine reads labels and limits by it, and loads no frame library.
"""

from __future__ import annotations

import math
import re
from bisect import bisect_right
from collections.abc import Sequence
from enum import Enum
from fractions import Fraction
from functools import lru_cache
from typing import Any, Final, TypeAlias

import numpy as np

from dpviz.engines.written import AROUND, LONGEST, PLAIN
from dpviz.exact import rational, text
from dpviz.model.domain import CategoryDomain, IntegerDomain, IntervalDomain, TimeDomain

NONE: Final = -1
NARROW: Final = 2**62
"""Bins of a domain of at most this size are found as signed integers, with room for NONE."""
WIDE: Final = 2**64
"""Bins of a domain of at most this size are uint64; beyond, they are whole numbers of any size as objects."""
ENDLESS: Final = r"[+-]?([iI][nN][fF]([iI][nN][iI][tT][yY])?)"
EXACT: Final = 2**53
"""Below this, every whole number is a float."""
_PLAIN, _REAL = (re.compile(f"{AROUND}({rule}){AROUND}") for rule in (PLAIN.whole, f"{PLAIN.real}|{ENDLESS}"))


def text_number(written: str) -> Plain:
    """The number that a text stands for: a plain whole number, or the decimal that the nearest float prints as.

    So 9007199254740993 keeps its last digit, 0.30000000000000001 is 3/10, and 1e5 is a whole number. One from 2^53 on
    that is written with a point or an exponent stays a float: it lies above or below a limit, and is no whole number.
    This is the rule of SQL engines, which read texts so too; nothing else is a number, 1/2 and 1_000 included.
    """
    if len(written) > LONGEST:
        return UNREADABLE
    plain = _PLAIN.fullmatch(written)
    if plain is not None:
        return Fraction(int(plain[1]))
    real = _REAL.fullmatch(written)
    if real is None:
        return UNREADABLE
    value = float(real[1])
    return printed(value) if abs(value) < EXACT else value


def exactly(value: Fraction | float) -> Fraction | float:
    """A number to be compared with limits: the decimal that a float prints as; an infinity as it is."""
    return printed(value) if isinstance(value, float) and math.isfinite(value) else value


def printed(value: Any) -> Fraction:
    """The decimal that a finite float prints as."""
    if isinstance(value, float):
        return Fraction(float.__repr__(value))
    return Fraction(np.format_float_scientific(value))


@lru_cache
def printed_last(dtype: np.dtype[Any]) -> Fraction:
    """The decimal that the greatest float of a type prints as."""
    return printed(np.finfo(dtype).max)


@lru_cache(maxsize=1 << 14)
def least(dtype: np.dtype[Any], limit: Fraction, above: bool = False) -> Any:
    """The least value of a type whose decimal reaches `limit`, or lies above it; infinity where there is none.

    >>> least(np.dtype(np.float64), Fraction(3, 10)), least(np.dtype(np.int64), Fraction(3, 10))
    (np.float64(0.3), 1)
    """
    if dtype.kind != "f":
        return math.floor(limit) + 1 if above else math.ceil(limit)

    def reached(value: Any) -> bool:
        return printed(value) > limit if above else printed(value) >= limit

    last = printed_last(dtype)
    if limit > last or (above and limit == last):
        return dtype.type(math.inf)
    if limit < -last or (not above and limit == -last):
        return -np.finfo(dtype).max
    value = dtype.type(float(limit))
    while not reached(value):
        value = np.nextafter(value, dtype.type(math.inf))
    # Rounded twice, to double and to single, it may be one too far.
    while reached(before := np.nextafter(value, dtype.type(-math.inf))):
        value = before
    return value


def holds(dtype: np.dtype[Any], exact: Fraction) -> Any:
    """The value of a type that prints as `exact`, or None."""
    value = least(dtype, exact)
    if dtype.kind == "f":
        return value if math.isfinite(value) and printed(value) == exact else None
    limits = np.iinfo(dtype)
    return value if value == exact and limits.min <= value <= limits.max else None


def as_written(label: str) -> Fraction | None:
    """The number whose shortest exact text is this label, if there is one."""
    try:
        exact = rational(label)
        return exact if text(exact) == label else None
    except ValueError:
        return None


class Exact(Fraction):
    """The value of a Decimal, which stands for itself and for no float."""

    __slots__ = ()


class UnreadValue(Enum):
    """Values that are there and cannot be read."""

    UNREADABLE = "a value that is neither text nor number"


UNREADABLE: Final = UnreadValue.UNREADABLE
Plain: TypeAlias = str | Fraction | float | UnreadValue
"""A value, read: a text, an exact number, or a float, which only lies on some side of a limit. None is missing."""


def nearest(value: Fraction | float) -> float:
    """The float of 64 bits that is nearest to a number; infinite beyond the greatest one."""
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf


def by_label(labels: Sequence[str]) -> dict[Plain, int]:
    """Positions of labels, under the text and under the number they are written for."""
    named: dict[Plain, int] = {label: position for position, label in enumerate(labels)}
    for position, label in enumerate(labels):
        exact = as_written(label)
        if exact is not None:
            named[exact] = position
    return named


def label_of(value: Plain) -> str | None:
    """The text that a value is matched by as a category, or None where it has none."""
    try:
        return text(value) if isinstance(value, Fraction) else value if isinstance(value, str) else None
    except ValueError:  # more digits than Python writes
        return None


def bin_of(domain: IntegerDomain | IntervalDomain, value: Fraction | float) -> int:
    """The bin of a number or an infinity, or NONE."""
    whole = isinstance(value, Fraction) and value.denominator == 1
    value = exactly(value)
    if isinstance(domain, IntegerDomain):
        if isinstance(value, Fraction) and value.denominator != 1:
            return NONE
        first, last = Fraction(domain.low), Fraction(domain.high)
    else:
        first, last = domain.edges[0], domain.edges[-1]
    if value < first:
        return under(domain)
    if value > last:
        return over(domain)
    if isinstance(domain, IntegerDomain):
        return int(value) - domain.low + domain.underflow if whole else NONE
    return min(bisect_right(domain.edges, value), domain.inner) - 1 + domain.underflow


def under(domain: IntegerDomain | IntervalDomain | TimeDomain) -> int:
    return 0 if domain.underflow else NONE


def over(domain: IntegerDomain | IntervalDomain | TimeDomain) -> int:
    return domain.underflow + domain.inner if domain.overflow else NONE


def other(domain: CategoryDomain) -> int:
    return len(domain.values) if domain.other else NONE


def missing(domain: IntegerDomain | IntervalDomain | CategoryDomain | TimeDomain) -> int:
    if not domain.missing:
        return NONE
    return domain.size - 1 if isinstance(domain, CategoryDomain) else domain.size - 1 - domain.malformed


def malformed(domain: IntegerDomain | IntervalDomain | TimeDomain) -> int:
    """The bin of texts that are there and are no number, or no date."""
    return domain.size - 1 if domain.malformed else NONE
