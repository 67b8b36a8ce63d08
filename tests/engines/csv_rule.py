"""The rule by which CSV files are read, written out byte by byte: what the engine's reader is held against."""

from __future__ import annotations

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
