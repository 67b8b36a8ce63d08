"""How texts write dates, times, clock readings and numbers: by what is declared, and never by what the texts hold.

A schema says "date", or ("date", "%d/%m/%Y"), or "clock"; a CSV file may be declared with decimal="," and
thousands=".". A text that is not written so is there and is no value: it has no bin but `malformed`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from dpviz.boundary import as_given
from dpviz.errors import ParameterError, SchemaError, short
from dpviz.model.times import since
from dpviz.names import meant

AROUND: Final = "[ \t]*"
"""Characters that may stand before and after a value."""
LONGEST: Final = 100
"""A longer text is no date and no clock reading."""
KINDS: Final = ("number", "text", "date", "clock")
"""Kinds that a schema may declare."""
DIRECTIVES: Final = {
    "Y": ("year", "[0-9]{4}"),
    "y": ("short_year", "[0-9]{2}"),
    "m": ("month", "[0-9]{1,2}"),
    "d": ("day", "[0-9]{1,2}"),
    "b": ("short_name", "[A-Za-z]{3}"),
    "B": ("long_name", "[A-Za-z]{3,9}"),
    "j": ("of_year", "[0-9]{1,3}"),
    "H": ("hour", "[0-9]{1,2}"),
    "I": ("half_hour", "[0-9]{1,2}"),
    "p": ("half", "[AaPp][Mm]"),
    "M": ("minute", "[0-9]{1,2}"),
    "S": ("second", "[0-9]{1,2}"),
    "f": ("part", "[0-9]{1,9}"),
}
"""The directives of a format, as `datetime.strptime` names them, and what each stands for."""
FIXED: Final = {"[0-9]{1,2}": "[0-9]{2}", "[0-9]{1,3}": "[0-9]{3}"}
"""Between two digits that belong to two directives nothing stands: each has all of its digits then."""
NAMES: Final = (
    "january", "february", "march", "april", "may", "june", "july", "august", "september", "october", "november",
    "december",
)  # fmt: skip
ISO: Final = "%Y-%m-%d"
_ISO: Final = (
    "(?P<year>[0-9]{4})-(?P<month>[0-9]{2})-(?P<day>[0-9]{2})"
    "(?:[ T](?P<hour>[0-9]{2}):(?P<minute>[0-9]{2})(?::(?P<second>[0-9]{2})(?:[.](?P<part>[0-9]{1,9}))?)?)?"
)
_CLOCK: Final = "(?P<hours>[0-9]{1,3}):(?P<minute>[0-9]{2})(?::(?P<second>[0-9]{2}))?"
HOW_DATES: Final = 'write "date" for YYYY-MM-DD, or ("date", "%d/%m/%Y") for DD/MM/YYYY'


@dataclass(frozen=True, slots=True)
class Format:
    """How the texts of one column write its values.

    kind     "time", read as microseconds since 1970 began, or "number", read as seconds since midnight
    pattern  what such a text looks like
    said     the declaration, for a person
    """

    kind: str
    pattern: re.Pattern[str]
    said: str

    def value(self, text: str) -> int | None:
        """The value that a text writes; None where it writes none."""
        found = self.pattern.fullmatch(text) if len(text) <= LONGEST else None
        if found is None:
            return None
        parts = {name: part for name, part in found.groupdict().items() if part is not None}
        return _seconds(parts) if self.kind == "number" else _moment(parts)

    def values(self, texts: Any) -> tuple[NDArray[np.int64], NDArray[np.bool_], NDArray[np.bool_]]:
        """The values of an Arrow array of texts, 0 where there is none; which are missing, and which are malformed.

        Each distinct text is read once.
        """
        grouped = texts.dictionary_encode()
        if hasattr(grouped, "combine_chunks"):
            grouped = grouped.combine_chunks()
        if hasattr(grouped, "chunks"):  # no rows at all
            return np.zeros(0, np.int64), np.zeros(0, np.bool_), np.zeros(0, np.bool_)
        codes = grouped.indices.fill_null(-1).to_numpy(zero_copy_only=False).astype(np.int64)
        found = [self.value(text) for text in grouped.dictionary.to_pylist()]
        values = np.array([*(0 if one is None else one for one in found), 0], dtype=np.int64)
        odd = np.array([*(one is None for one in found), False])
        return values[codes], codes < 0, odd[codes]


def _moment(parts: dict[str, str]) -> int | None:
    try:
        year = int(parts["year"]) if "year" in parts else _century(int(parts["short_year"]))
        hour = int(parts.get("hour", 0))
        if "half" in parts:
            hour = int(parts["half_hour"])
            if not 1 <= hour <= 12:
                return None
            hour = hour % 12 + 12 * (parts["half"].lower() == "pm")
        month = int(parts["month"]) if "month" in parts else _month(parts)
        day = int(parts.get("day", 1))
        micro = int(parts.get("part", "0").ljust(6, "0")[:6])  # a clock is cut off, and not rounded
        at = since(datetime(year, month, day, hour, int(parts.get("minute", 0)), int(parts.get("second", 0)), micro))
        if "of_year" not in parts:
            return at
        days = int(parts["of_year"])
        last = (datetime(year, 12, 31) - datetime(year, 1, 1)).days + 1
        return at + (days - 1) * 86_400 * 10**6 if 1 <= days <= last else None
    except ValueError:  # no day of the calendar, no minute of an hour
        return None


def _century(year: int) -> int:
    """Years of two digits as POSIX has them: 69 is 1969, 68 is 2068."""
    return year + (1900 if year >= 69 else 2000)


def _month(parts: dict[str, str]) -> int:
    if "of_year" in parts:
        return 1
    if "long_name" in parts:
        return NAMES.index(parts["long_name"].lower()) + 1
    return [name[:3] for name in NAMES].index(parts["short_name"].lower()) + 1


def _seconds(parts: dict[str, str]) -> int | None:
    minute, second = int(parts["minute"]), int(parts.get("second", 0))
    return int(parts["hours"]) * 3600 + minute * 60 + second if minute < 60 and second < 60 else None


def format_of(given: object) -> Format | None:
    """How a declared column's texts are written; None for "number" and "text". Raises SchemaError."""
    if given == "clock":
        return Format("number", re.compile(f"{AROUND}{_CLOCK}{AROUND}"), "clock")
    if given == "date":
        return Format("time", re.compile(f"{AROUND}{_ISO}{AROUND}"), "date")
    if given in ("number", "text"):
        return None
    if isinstance(given, tuple | list) and len(given) == 2 and given[0] == "date" and isinstance(given[1], str):
        return Format("time", re.compile(f"{AROUND}{_pattern(given[1])}{AROUND}"), f"date {given[1]}")
    if isinstance(given, tuple | list) and given and given[0] in ("date", "clock"):
        raise SchemaError.of(as_given(given), "a declared date is the word date and a format", HOW_DATES)
    rule = f"the kind of a column must be {', '.join(KINDS[:-1])} or {KINDS[-1]}"
    step = 'write schema={"visits": "number"}'
    if isinstance(given, str) and ("%" in given or given in ("time", "datetime", "timestamp", "datetime64")):
        step = HOW_DATES
    raise SchemaError.of(as_given(given), rule, meant(given, KINDS, step) if step.startswith("write schema") else step)


def _pattern(format: str) -> str:
    """The pattern of a format. Raises SchemaError for one that writes no date, or one of a zone."""
    tokens = re.findall(r"%.|%\Z|[^%]", format, re.DOTALL)
    known = [token[1:] for token in tokens if token.startswith("%") and token != "%%"]
    for name in known:
        if name not in DIRECTIVES:
            zone = "; dates with a zone are made plain times before they are counted" if name in ("z", "Z") else ""
            raise SchemaError.of(
                short(f"%{name}"),
                f"a format has the directives {', '.join(f'%{one}' for one in DIRECTIVES)} and %%{zone}",
                HOW_DATES,
            )
        if known.count(name) > 1:
            raise SchemaError.of(f"%{name} twice", "a format names each part of a date once", HOW_DATES)
    has = set(known)
    year, month = has & {"Y", "y"}, has & {"m", "b", "B"}
    day = "j" in has and not month and "d" not in has if "j" in has else "d" in has and len(month) == 1
    if len(year) != 1 or not day:
        rule = "a format must name the year (%Y or %y), the month (%m, %b or %B) and the day (%d), or the year and %j"
        raise SchemaError.of(short(format), rule, HOW_DATES)
    hours = has & {"H", "I"}
    clock = [bool(hours), "M" in has, "S" in has, "f" in has]
    if len(hours) > 1 or ("I" in has) != ("p" in has) or clock != sorted(clock, reverse=True):
        rule = "a time of day is %H, or %I and %p, then %M, %S and %f, none without those before it"
        raise SchemaError.of(short(format), rule, 'write ("date", "%d/%m/%Y %H:%M:%S")')
    found: list[str] = []
    for place, token in enumerate(tokens):
        if not token.startswith("%") or token == "%%":
            found.append(re.escape(token[-1]))
            continue
        name, digits = DIRECTIVES[token[1:]]
        beside = [tokens[at] for at in (place - 1, place + 1) if 0 <= at < len(tokens)]
        if any(_of_digits(one) for one in beside):
            digits = FIXED.get(digits, digits)
        found.append(f"(?P<{name}>{digits})")
    return "".join(found)


def _of_digits(token: str) -> bool:
    """Whether digits may stand where this part of a format does."""
    if token.startswith("%") and token != "%%":
        return DIRECTIVES[token[1:]][1].startswith("[0-9]")
    return token.isdecimal()


# ---------------------------------------------------------------- numbers

DECIMALS: Final = (".", ",")
GROUPS: Final = (".", ",", " ", "'", "’", "_", "\u00a0", "\u202f")
"""Characters that may stand between thousands."""


@dataclass(frozen=True, slots=True)
class Marks:
    """The decimal mark and the thousands mark of numbers in texts."""

    decimal: str = "."
    thousands: str = ""

    @classmethod
    def of(cls, decimal: object, thousands: object) -> Marks:
        """The marks that a person declares; None where nothing is. Raises ParameterError."""
        decimal = "." if decimal is None else decimal
        thousands = "" if thousands is None else thousands
        if not isinstance(decimal, str) or decimal not in DECIMALS:
            raise ParameterError.of(
                as_given(decimal),
                'decimal must be "." or ","',
                'write decimal="," where a comma stands before the fraction',
            )
        if not isinstance(thousands, str) or thousands not in ("", *GROUPS):
            raise ParameterError.of(
                as_given(thousands),
                "thousands must be one of . , ' _ or a space",
                'write thousands="." where a full stop stands between thousands',
            )
        if thousands == decimal:
            raise ParameterError.of(
                as_given(thousands),
                "decimal and thousands must differ",
                'write decimal="," with thousands="."' if thousands == "." else 'leave decimal out, or write "."',
            )
        return cls(decimal, thousands)

    @property
    def whole(self) -> str:
        """The pattern of a whole number of at most 38 digits."""
        if not self.thousands:
            return "[+-]?[0-9]{1,38}"
        three = f"{re.escape(self.thousands)}[0-9]{{3}}"
        return f"[+-]?([0-9]{{1,38}}|[0-9]{{1,3}}({three}){{1,11}}|[0-9]{{1,2}}({three}){{12}})"

    @property
    def real(self) -> str:
        """The pattern of any number that is not infinite."""
        digits = f"([0-9]+|[0-9]{{1,3}}({re.escape(self.thousands)}[0-9]{{3}})+)" if self.thousands else "[0-9]+"
        mark = f"[{self.decimal}]"
        return f"[+-]?({digits}{mark}?[0-9]*|{mark}[0-9]+)([eE][+-]?[0-9]+)?"

    @property
    def said(self) -> str:
        """`1.234,5`: such a number as these marks write it."""
        return f"1{self.thousands}234{self.decimal}5"


PLAIN: Final = Marks()
