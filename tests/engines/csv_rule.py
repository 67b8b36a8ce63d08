"""The rule by which CSV files are read, written out byte by byte: what the engine's reader is held against."""

from __future__ import annotations

from datetime import datetime, timedelta

NAMES = "#N/A|#N/A N/A|#NA|-1.#IND|-1.#QNAN|-NaN|-nan|1.#IND|1.#QNAN|<NA>|N/A|NA|NULL|NaN|None|n/a|nan|null"
MISSING = {"", *NAMES.split("|")}
Row = list[str | None]
LINE_ENDS = (10, 13)


def rows(data: bytes, width: int, delimiter: str = ",", quote: str = '"', most: int = 1 << 24) -> list[Row]:
    """The rows of what comes after a first line with `width` names."""
    found: list[Row] = []
    at = 0
    while at < len(data):
        if data[at] in LINE_ENDS:
            at += 1
            continue
        record = one(data, at, delimiter, quote, most)
        if record is None:
            while at < len(data) and data[at] not in LINE_ENDS:
                at += 1
        else:
            at, fields = record
            if len(fields) <= width:
                found.append([value(field) for field in fields] + [None] * (width - len(fields)))
    return found


def value(field: bytes) -> str | None:
    try:
        text = field.decode()
    except UnicodeDecodeError:
        return None
    return None if text in MISSING else text


def one(data: bytes, start: int, delimiter: str, quote: str, most: int) -> tuple[int, list[bytes]] | None:
    """Where the record that begins at `start` ends, and its fields; None where no record begins there."""
    fields: list[bytes] = []
    field, state = bytearray(), "begin"
    plain = lines = False
    mark = ord(quote) if quote else -1
    for at in range(start, len(data) + 1):
        here = data[at] if at < len(data) else 10
        if state == "quoted" and at < len(data):
            if here == mark:
                state = "closed"
            else:
                lines |= here in LINE_ENDS
                field.append(here)
        elif state == "quoted":
            return None
        elif state == "closed" and here == mark:
            field.append(here)
            state = "quoted"
        elif here == ord(delimiter) or here in LINE_ENDS:
            fields.append(bytes(field))
            field, state = bytearray(), "begin"
            if here in LINE_ENDS:
                return None if at - start > most or (plain and lines) else (at, fields)
        elif state == "closed":
            return None
        elif state == "begin" and here == mark:
            state = "quoted"
        else:
            plain |= here == mark
            field.append(here)
            state = "plain"
    raise AssertionError("a record ends with the file")


# ---------------------------------------------------------------- values


def number(text: str, decimal: str, thousands: str) -> str | None:
    """The same number with a point and without marks, sign by sign; None where the marks are not where they must be.

    Whether the result is a number is for the reference to say.
    """
    inner = text.strip(" \t")
    if len(text) > 100 or (decimal != "." and "." in inner and thousands != "."):
        return None
    whole, mark, part = inner.partition(decimal)
    if thousands and thousands in whole:
        first, *groups = whole.lstrip("+-").split(thousands)
        signs = len(whole) - len(whole.lstrip("+-"))
        exponent = ""
        if not mark:  # an exponent may follow the last group
            at = next((at for at, sign in enumerate(groups[-1]) if sign in "eE"), len(groups[-1]))
            groups[-1], exponent = groups[-1][:at], groups[-1][at:]
        digits = all(len(group) == 3 and group.isascii() and group.isdecimal() for group in groups)
        if signs > 1 or not digits or not (1 <= len(first) <= 3 and first.isascii() and first.isdecimal()):
            return None
        whole = whole[:signs] + first + "".join(groups) + exponent
    if thousands and thousands in part:
        return None
    return whole + ("." if mark else "") + part


def moment(text: str, format: str) -> datetime | None:
    """The time that a text writes in one of the formats below, by Python's own reader; None where it writes none.

    Python's reader lets blanks and digits of other scripts through, and needs fewer digits where two numbers touch.
    """
    inner = text.strip(" \t")
    if len(text) > 100 or not inner.isascii() or any(sign.isspace() and sign != " " for sign in inner):
        return None
    if inner.count(" ") != format.count(" ") or "  " in inner or inner != inner.strip():
        return None
    if format == "%Y%m%d" and len(inner) != 8:
        return None
    try:
        found = datetime.strptime(inner, format)
    except ValueError:
        return None
    return None if "%j" in format and found.year != int(inner[:4]) else found  # day 366 of 2019 is no day


def seconds(text: str) -> int | None:
    """The seconds since midnight that a clock says, which may go on over 24 hours."""
    parts = text.strip(" \t").split(":")
    if len(text) > 100 or not 2 <= len(parts) <= 3 or not all(part.isascii() and part.isdecimal() for part in parts):
        return None
    if len(parts[0]) > 3 or any(len(part) != 2 or int(part) > 59 for part in parts[1:]):
        return None
    hours, minutes, *rest = map(int, parts)
    return int(timedelta(hours=hours, minutes=minutes, seconds=sum(rest)).total_seconds())
