"""Dates and times of day without a zone, as clocks and calendars show them: whole microseconds since 1970 began.

A text names a stretch of time: "2012-02" a month, "2012-02-29" a day, "2012-02-29 13:05" a minute. Questions from such
a text on begin with it, and questions up to it end with it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import datetime, timedelta
from functools import lru_cache
from typing import Final

from dpviz.boundary import protect_module
from dpviz.errors import DomainError

EPOCH: Final = datetime(1970, 1, 1)
TICK: Final = timedelta(microseconds=1)
LAST: Final = (datetime(9999, 12, 31) - EPOCH) // TICK
"""The last midnight of a calendar of four digits."""
MINUTE, HOUR, DAY = 60 * 10**6, 3_600 * 10**6, 86_400 * 10**6
BY: Final = ("hour", "day", "week", "month", "quarter", "year")
"""How long a bin of times may be. A week begins on whatever day the first one does."""
MOST_BINS: Final = 1_000_000
HOW: Final = 'write "YYYY-MM-DD", and after it " HH:MM" for a time of day'
USUAL_RANGES: Final[Mapping[str, tuple[tuple[int, int, str], ...]]] = {
    "hour": ((24, 1, "day"), (7 * 24, 1, "week"), (30 * 24, 30, "day"), (365 * 24, 365, "day")),
    "day": ((7, 1, "week"), (30, 30, "day"), (365, 365, "day")),
    "week": ((4, 4, "week"), (13, 13, "week"), (52, 52, "week")),
    "month": ((3, 1, "quarter"), (12, 1, "year")),
    "quarter": ((4, 1, "year"), (40, 10, "year")),
    "year": ((10, 10, "year"),),
}
"""Usual lengths of ranges of such stretches: in bins, and as a number of longer or the same stretches."""
MONTHS: Final = {"month": 1, "quarter": 3, "year": 12}
"""Bins of whole months."""
LENGTHS: Final = {"hour": HOUR, "day": DAY, "week": 7 * DAY}
"""Bins that are all equally long, in microseconds."""

_TEXT = re.compile(r"(\d{4})-(\d\d)(?:-(\d\d)(?:[ T](\d\d):(\d\d)(?::(\d\d)(?:\.(\d{1,6}))?)?)?)?", re.ASCII)
_MEANT = re.compile(r"\d{1,4}([-/.])\d{1,2}\1\d{1,4}(?!\d)", re.ASCII)


def looks_like_time(text: str) -> bool:
    """Whether a text is written as a date or a time is, be it one of the calendar or not."""
    return _TEXT.fullmatch(text.strip()) is not None


def meant_as_time(text: str) -> bool:
    """Whether a text that is no number has the three parts of a date, written otherwise: "2012/02/29", "29.2.2012"."""
    return _MEANT.match(text.strip()) is not None and not looks_like_time(text)


def span(text: str, name: str) -> tuple[int, int]:
    """The first microsecond of what a text names, and the last one. Raises DomainError for what is no date."""
    found = _TEXT.fullmatch(text.strip())
    try:
        if found is None:
            raise ValueError
        year, month, day, hour, minute, second, part = found.groups()
        begin = datetime(
            int(year), int(month), int(day or 1), int(hour or 0), int(minute or 0), int(second or 0),
            int((part or "0").ljust(6, "0")),
        )  # fmt: skip
        first = since(begin)
        length = 10 ** (6 - len(part)) if part else 10**6 if second else MINUTE if hour else DAY if day else None
        return first, (first + length if length else following(first, "month")) - 1
    except (ValueError, OverflowError):
        raise DomainError.of(
            text if looks_like_time(text) else "another text",
            f"{name} must be a date of the calendar, perhaps with a time of day",
            HOW,
        ) from None


def since(moment: datetime) -> int:
    """Microseconds since 1970 began."""
    return (moment - EPOCH) // TICK


def moment(at: int) -> datetime:
    return EPOCH + at * TICK


def written(at: int) -> str:
    """An instant in as few words as name it: `2012-02-29`, `2012-02-29 13:05`, `2012-02-29 13:05:00.000001`."""
    when = moment(at)
    if at % DAY == 0:
        return f"{when:%Y-%m-%d}".zfill(10)
    if at % MINUTE == 0:
        return f"{when:%Y-%m-%d %H:%M}".zfill(16)
    text = f"{when:%Y-%m-%d %H:%M:%S}".zfill(19)
    return f"{text}.{at % 10**6:06d}" if at % 10**6 else text


def written_last(at: int) -> str:
    """The last instant of a stretch by the name of the stretch: the last microsecond of a day is that day."""
    after = at + 1
    if after % DAY == 0:
        return written(after - DAY)
    if after % MINUTE == 0:
        return written(after - MINUTE)
    if after % 10**6 == 0:
        when = moment(after - 10**6)
        return f"{when:%Y-%m-%d %H:%M:%S}".zfill(19)
    return f"{moment(at):%Y-%m-%d %H:%M:%S}".zfill(19) + f".{at % 10**6:06d}"


# ---------------------------------------------------------------- bins


def begins(at: int, by: str) -> bool:
    """Whether a bin of this length may begin here."""
    when = moment(at)
    if by in ("hour", "day", "week"):
        return at % (HOUR if by == "hour" else DAY) == 0
    months = MONTHS[by]
    return at % DAY == 0 and when.day == 1 and (when.month - 1) % months == 0


def following(at: int, by: str) -> int:
    """Where the next bin begins."""
    if by in LENGTHS:
        return at + LENGTHS[by]
    when = moment(at)
    months = when.year * 12 + when.month - 1 + MONTHS[by]
    year, month = divmod(months, 12)
    if year > 9999:
        return since(datetime(9999, 12, 31)) + DAY
    return since(datetime(year, month + 1, 1))


@lru_cache(maxsize=8)
def edges(start: int, end: int, by: str) -> tuple[int, ...]:
    """Where each bin begins from `start` on, and `end`, where the last one ends. Raises DomainError where no bin does,
    and for too many."""

    found = [start]
    while found[-1] < end and len(found) <= MOST_BINS:
        found.append(following(found[-1], by))
    if found[-1] < end:
        rule = f"a domain of times has at most {MOST_BINS:,} bins"
        raise DomainError.of(f"more than {MOST_BINS:,} bins", rule, "take longer bins, or a shorter time")
    if found[-1] != end:
        before, after = found[-2:]
        ways = [written(at) for at in (before, after) if start < at <= LAST]
        step = f"write {' or '.join(ways)}" if ways else "take shorter bins"
        raise DomainError.of(written(end), f"the end must be where {an(by)} ends", step)
    return tuple(found)


_QUARTER = re.compile(r"(\d{4}) Q([1-4])", re.ASCII)


def as_date(label: str, by: str) -> str:
    """A label of such a bin as a date: `2012` and `2012 Q1` as their first month, a week without its word."""
    given = label.strip()
    if by == "week":
        return given.removeprefix("week of ").strip()
    if by == "year" and len(given) == 4 and given.isdecimal():
        return f"{given}-01"
    quarter = _QUARTER.fullmatch(given) if by == "quarter" else None
    return given if quarter is None else f"{quarter[1]}-{3 * int(quarter[2]) - 2:02d}"


def an(by: str) -> str:
    """`an hour`, `a day`."""
    return f"an {by}" if by == "hour" else f"a {by}"


def label(at: int, by: str) -> str:
    """The name of a bin: `2012`, `2012 Q1`, `2012-02`, `week of 2012-02-27`, `2012-02-29`, `2012-02-29 13:00`."""
    when = moment(at)
    if by == "year":
        return f"{when.year:04d}"
    if by == "quarter":
        return f"{when.year:04d} Q{(when.month + 2) // 3}"
    if by == "month":
        return f"{when.year:04d}-{when.month:02d}"
    if by == "hour":
        return f"{when:%Y-%m-%d %H:%M}".zfill(16)
    return f"week of {written(at)}" if by == "week" else written(at)


protect_module(vars())
