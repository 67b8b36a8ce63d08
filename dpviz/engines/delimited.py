"""CSV files, read by a rule that no row can break: what does not fit is missing or dropped, in silence.

The first line is public: it names the columns. The rest is private, and nothing in it decides anything but the rows
themselves: not whether the file opens, not how many columns there are, nor what they hold.

The rule. A record is fields with a delimiter between them, and ends with a line (\\n, \\r\\n or \\r) or with the file.
A field that begins with a quote is quoted: it ends with the next quote that is not doubled, after which a delimiter or
the end of the record must come, and it may hold delimiters, lines and, doubled, quotes. In any other field a quote
stands for itself, but then the record must not go on over several lines. Empty lines are no records. A record that has
fewer fields than the first line has names lacks its last values; one that has more is dropped. Where a line begins no
record of this kind, or one of more than 16 MiB, this line is dropped, and reading goes on with the next: so an
unbalanced quote costs its own line and turns no other line inside out. A value that is not text in the declared
encoding is missing, and so is one that pandas takes for missing (`NA`, `nan`, nothing at all, in quotes or not). Of a
compressed file, what cannot be decompressed is not there.

A value of a column that is declared as dates or clock readings is read as `written.py` has it; one that is there and
not written so is malformed, for which a domain may have a bin.

Files are read in blocks. Where all of a block is well formed, which is decided on whole arrays, Arrow splits it; else
it is split here, record by record, with the same outcome.
"""

from __future__ import annotations

import bz2
import codecs
import re
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, Final

import numpy as np
import pyarrow  # type: ignore[import-untyped]
import pyarrow.csv  # type: ignore[import-untyped]
from numpy.typing import NDArray

from dpviz.boundary import kind_of
from dpviz.engines.written import PLAIN, Format, Marks
from dpviz.errors import ParameterError

MISSING: Final = (
    "", "#N/A", "#N/A N/A", "#NA", "-1.#IND", "-1.#QNAN", "-NaN", "-nan", "1.#IND", "1.#QNAN", "<NA>", "N/A", "NA",
    "NULL", "NaN", "None", "n/a", "nan", "null",
)  # fmt: skip
"""The texts that stand for a missing value in a CSV file: what pandas takes for one."""
LACKING: Final = frozenset(name.encode() for name in MISSING)

BLOCK: Final = 1 << 22
"""Bytes that are read and split at a time."""
MOST: Final = 1 << 24
"""A record of more bytes than this is not well formed."""
MARK: Final = b"\xef\xbb\xbf"
"""The bytes that may stand before the first line of a file in UTF-8."""
LINE: Final = re.compile(rb"[\r\n]")
UNUSABLE: Final = ("idna", "mbcs", "oem", "punycode", "raw-unicode-escape", "undefined", "unicode-escape", "utf-7")
"""Encodings that are none of files, or warn of what they read."""
NO_TEXT: Final = "dpviz-no-text"
"""Bytes that cannot be decoded become half of a surrogate pair, and so are no text in UTF-8 either."""

codecs.register_error(NO_TEXT, lambda problem: ("\udcff", _after(problem)))


def _after(problem: UnicodeError) -> int:
    return int(getattr(problem, "end", 0))


@dataclass(frozen=True, slots=True)
class Dialect:
    """How a CSV file is written: declared by a person, never guessed."""

    delimiter: bytes = b","
    quote: bytes = b'"'
    encoding: str = "utf-8"
    marks: Marks = PLAIN

    @classmethod
    def of(
        cls, delimiter: object, quote: object, encoding: object, decimal: object = None, thousands: object = None
    ) -> Dialect:
        """A dialect from what a person types. Raises ParameterError."""
        if not isinstance(delimiter, str) or not _is_mark(delimiter):
            raise ParameterError.of(
                delimiter, "delimiter must be one ASCII character that is no letter and no digit", 'write delimiter=";"'
            )
        if not isinstance(quote, str) or (quote and not _is_mark(quote)) or quote == delimiter:
            raise ParameterError.of(
                quote,
                "quote must be one ASCII character that is no letter, no digit and not the delimiter",
                'write quote="" where no text is quoted',
            )
        name = _encoding(encoding)
        if name in UNUSABLE or not name:
            raise ParameterError.of(
                encoding if isinstance(encoding, str) else kind_of(encoding),
                "encoding must be one that Python knows for files",
                'write encoding="latin-1"',
            )
        return cls(delimiter.encode(), quote.encode(), name, Marks.of(decimal, thousands))


def _is_mark(given: str) -> bool:
    return len(given) == 1 and given.isascii() and (given.isprintable() or given == "\t") and not given.isalnum()


def _encoding(given: object) -> str:
    """Python's name of an encoding of text, or nothing."""
    try:
        known = codecs.lookup(given) if isinstance(given, str) else None
    except (LookupError, ValueError):
        known = None
    return known.name if known is not None and getattr(known, "_is_text_encoding", False) else ""


# ---------------------------------------------------------------- bytes


def stream(path: Path, encoding: str) -> Iterator[bytes]:
    """A file in blocks, in UTF-8; what cannot be decompressed is not there."""
    with path.open("rb") as file:
        unpacked = UNPACKED.get(path.suffix.lower())
        blocks = iter(lambda: file.read(BLOCK), b"") if unpacked is None else unpacked(file)
        if encoding == "utf-8":
            yield from blocks
            return
        decoder = codecs.getincrementaldecoder(encoding)(NO_TEXT)
        for block in blocks:
            yield decoder.decode(block).encode("utf-8", "surrogatepass")
        yield decoder.decode(b"", final=True).encode("utf-8", "surrogatepass")


def _unpacked(file: BinaryIO) -> Iterator[bytes]:
    """The content of a gzip file, member by member, up to the first thing that is none."""
    packed = file.read(BLOCK)
    while packed or (packed := file.read(BLOCK)):
        member = zlib.decompressobj(wbits=31)
        while not member.eof:
            try:
                block = member.decompress(packed, BLOCK)
            except zlib.error:
                return
            if block:
                yield block
            packed = member.unconsumed_tail or member.unused_data
            if not packed and not block and not (packed := file.read(BLOCK)):
                return


def _unpacked_bz2(file: BinaryIO) -> Iterator[bytes]:
    """Yield the content of a bzip2 file, stream by stream, up to the first bytes that are no stream."""
    packed = file.read(BLOCK)
    while packed or (packed := file.read(BLOCK)):
        member = bz2.BZ2Decompressor()
        while not member.eof:
            try:
                block = member.decompress(packed, BLOCK)
            except OSError:
                return
            if block:
                yield block
            packed = b""
            if member.needs_input and not (packed := file.read(BLOCK)):
                return
        packed = member.unused_data


def _unpacked_zst(file: BinaryIO) -> Iterator[bytes]:
    """Yield the content of a Zstandard file up to the first bytes that are no frame."""
    try:
        with pyarrow.CompressedInputStream(pyarrow.PythonFile(file), "zstd") as unpacked:
            while block := unpacked.read(PIECE):
                yield block
    except OSError:
        return


PIECE: Final = 1 << 16
"""Bytes asked of a Zstandard file at a time: the bytes before a damaged place are read."""
UNPACKED: Final[dict[str, Callable[[BinaryIO], Iterator[bytes]]]] = {
    ".gz": _unpacked,
    ".bz2": _unpacked_bz2,
    ".zst": _unpacked_zst,
}
"""How compressed files are read, by the ending of their names."""


class Blocks:
    """Bytes that were read and not yet used."""

    def __init__(self, blocks: Iterator[bytes]) -> None:
        self._blocks = blocks
        self.data = b""
        self.final = False

    def more(self) -> None:
        block = next(self._blocks, None)
        while block == b"":
            block = next(self._blocks, None)
        if block is None:
            self.final = True
        else:
            self.data += block

    def first_line(self) -> bytes | None:
        """The first line, without its end; None where it is longer than a record may be."""
        while True:
            found = LINE.search(self.data)
            end = found.start() if found else len(self.data)
            if end > MOST + len(MARK):
                return None
            if found or self.final:
                break
            self.more()
        line, self.data = self.data[:end], self.data[end:]
        return line.removeprefix(MARK)


# ---------------------------------------------------------------- columns


def names(line: bytes, dialect: Dialect) -> tuple[str, ...] | None:
    """The columns' names, as DuckDB writes names that are not there or come again; None where a line has none."""
    record = RecordSplitter(dialect, 0).one(line, 0, final=True)
    if not line or record is None or record.fields is None:
        return None
    found: list[str] = []
    seen: dict[str, int] = {}
    for at, field in enumerate(record.fields):
        try:
            name = field.decode().strip() or f"column{at}"
        except UnicodeDecodeError:
            return None
        if "\0" in name:
            return None
        while (known := name.lower()) in seen:
            seen[known] += 1
            name = f"{name}_{seen[known]}"
        seen[known] = 0
        found.append(name)
    return tuple(found)


def opened(path: Path, dialect: Dialect) -> tuple[tuple[str, ...] | None, Iterator[Any]]:
    """The names that the first line gives, and the rows after it as Arrow batches of texts, read as they are taken."""
    blocks = Blocks(stream(path, dialect.encoding))
    line = blocks.first_line()
    found = None if line is None else names(line, dialect)
    return found, iter(()) if found is None else batches(blocks, dialect, len(found))


def fields(width: int) -> list[str]:
    """The names of the columns of a batch; their own names come later."""
    return [f"c{at}" for at in range(width)]


def read_as(width: int, formats: Mapping[int, Format]) -> Any:
    """The schema of batches whose columns at some places are read by a format. After all columns comes, for each of
    those, whether a value was there and could not be read."""
    kinds = {"time": pyarrow.timestamp("us"), "number": pyarrow.int64()}
    columns = [(name, kinds[formats[at].kind] if at in formats else pyarrow.string())
               for at, name in enumerate(fields(width))]  # fmt: skip
    return pyarrow.schema([*columns, *((f"m{at}", pyarrow.bool_()) for at in formats)])


def converted(batch: Any, formats: Mapping[int, Format]) -> Any:
    """A batch of texts as `read_as` has it."""
    columns, odd, schema = list(batch.columns), [], read_as(batch.num_columns, formats)
    for at, format in formats.items():
        values, absent, malformed = format.values(columns[at])
        columns[at] = pyarrow.array(values, mask=absent | malformed).cast(schema.field(at).type)
        odd.append(pyarrow.array(malformed))
    return pyarrow.record_batch([*columns, *odd], schema=schema)


def batches(blocks: Blocks, dialect: Dialect, width: int) -> Iterator[Any]:
    """The rows in Arrow batches. Raises nothing that a row could cause."""
    records = RecordSplitter(dialect, width)
    while blocks.data or not blocks.final:
        used = records.whole(blocks.data, blocks.final)
        if used is None:
            rows, used = records.split(blocks.data, blocks.final)
            found = listed(rows, width) if rows else None
        else:
            found = records.table(blocks.data[:used])
        blocks.data = blocks.data[used:]
        if found is not None:
            yield from texts(found).to_batches()
        if not blocks.final:
            blocks.more()


def listed(rows: Sequence[Sequence[bytes]], width: int) -> Any:
    """Rows as a table of bytes."""
    held = [[None if row[at] in LACKING else row[at] for row in rows] for at in range(width)]
    return pyarrow.table([pyarrow.array(values, pyarrow.binary()) for values in held], names=fields(width))


def texts(table: Any) -> Any:
    """A table of bytes as texts; what is no text is missing."""
    return pyarrow.table([_text(column) for column in table.columns], names=table.column_names)


def _text(column: Any) -> Any:
    try:
        return column.cast(pyarrow.string())
    except pyarrow.ArrowInvalid:
        return pyarrow.array([_decoded(value) for value in column.to_pylist()], pyarrow.string())


def _decoded(value: bytes | None) -> str | None:
    try:
        return None if value is None else value.decode()
    except UnicodeDecodeError:
        return None


# ---------------------------------------------------------------- records


@dataclass(frozen=True, slots=True, repr=False)
class DelimitedRecord:
    """Where a record ends, and its fields; None in place of these where a line begins no record."""

    end: int
    fields: list[bytes] | None


class RecordSplitter:
    """Splits bytes into records of a number of fields."""

    def __init__(self, dialect: Dialect, width: int) -> None:
        self._delimiter, self._quote, self._width = dialect.delimiter, dialect.quote, width
        self._ends = re.compile(b"[" + re.escape(dialect.delimiter) + rb"\r\n]")
        self._skipping = False

    # ------------------------------------------------------------ one by one

    def split(self, data: bytes, final: bool) -> tuple[list[list[bytes]], int]:
        """The rows in these bytes, and how many bytes are used; the others need more bytes after them."""
        rows: list[list[bytes]] = []
        at = 0
        while at < len(data):
            if self._skipping or data[at : at + 1] in (b"\r", b"\n"):
                found = LINE.search(data, at)
                self._skipping = found is None
                at = len(data) if found is None else found.end()
                continue
            record = self.one(data, at, final)
            if record is None:
                break
            if record.fields is None:
                self._skipping = True
                continue
            at = record.end
            if len(record.fields) <= self._width:
                rows.append(record.fields + [b""] * (self._width - len(record.fields)))
        return rows, at

    def one(self, data: bytes, start: int, final: bool) -> DelimitedRecord | None:
        """The record that begins here; None where it needs more bytes."""
        unfinished = None if not final and len(data) - start <= MOST else DelimitedRecord(start, None)
        broken = DelimitedRecord(start, None)
        limit, place, found = start + MOST + 1, start, list[bytes]()
        plain = quoted_lines = False
        while True:
            if self._quote and data[place : place + 1] == self._quote:
                stop = self._closing(data, place + 1, limit, plain)
                if stop is None:
                    return broken if plain and LINE.search(data, place) else unfinished
                if stop + 1 == len(data) and not final:
                    return unfinished
                field = data[place + 1 : stop]
                quoted_lines = quoted_lines or LINE.search(field) is not None
                found.append(field.replace(self._quote * 2, self._quote))
                stop += 1
                if data[stop : stop + 1] not in (self._delimiter, b"\r", b"\n", b""):
                    return broken
            else:
                ending = self._ends.search(data, place)
                if ending is None and not final:
                    return unfinished
                stop = len(data) if ending is None else ending.start()
                field = data[place:stop]
                plain = plain or (bool(self._quote) and self._quote in field)
                found.append(field)
            if stop - start > MOST or (plain and quoted_lines):
                return broken
            if data[stop : stop + 1] != self._delimiter:
                return DelimitedRecord(stop, found)
            place = stop + 1

    def _closing(self, data: bytes, place: int, limit: int, one_line: bool) -> int | None:
        """Where the quote stands that ends a quoted field; None where there is none."""
        if one_line and (line := LINE.search(data, place, limit)) is not None:
            limit = line.start()
        while (stop := data.find(self._quote, place, limit)) >= 0:
            if data[stop + 1 : stop + 2] != self._quote:
                return stop
            place = stop + 2
        return None

    # ------------------------------------------------------------ all at once

    def whole(self, data: bytes, final: bool) -> int | None:
        """How many bytes are records of the right number of fields, up to the last that is complete.

        None where anything is not well formed, or nothing complete.
        """
        if self._skipping:
            return None
        held = np.frombuffer(data, dtype=np.uint8)
        lines = np.flatnonzero((held == 10) | (held == 13))
        quotes = np.flatnonzero(held == self._quote[0]) if self._quote else np.empty(0, dtype=np.int64)
        lines = _outside(lines, quotes)
        if not final and not len(lines):
            return None
        used = len(data) if final else int(lines[-1]) + 1
        quotes = quotes[: np.searchsorted(quotes, used)]
        if not self._balanced(held, quotes, used):
            return None
        delimiters = _outside(np.flatnonzero(held[:used] == self._delimiter[0]), quotes)
        ends = lines if used == 0 or (len(lines) and lines[-1] == used - 1) else np.append(lines, used)
        starts = np.concatenate(([0], ends + 1))[: len(ends)]
        inside = np.diff(np.searchsorted(delimiters, ends), prepend=0)
        lengths = ends - starts
        if (inside[lengths > 0] != self._width - 1).any() or lengths.max(initial=0) > MOST:
            return None
        return used

    def _balanced(self, held: NDArray[np.uint8], quotes: NDArray[np.int64], used: int) -> bool:
        """Whether quotes stand where they begin and end fields, or doubled inside."""
        if len(quotes) % 2:
            return False
        if not len(quotes):
            return True
        beside = [self._delimiter[0], 10, 13, self._quote[0]]
        opening, closing = quotes[0::2], quotes[1::2]
        before = held[opening[opening > 0] - 1]
        after = held[closing[closing < used - 1] + 1]
        return bool(np.isin(before, beside).all() and np.isin(after, beside).all())

    def table(self, data: bytes) -> Any:
        """Well-formed records as a table of bytes, or None where there are only empty lines."""
        if not data.strip(b"\r\n"):
            return None
        return pyarrow.csv.read_csv(
            pyarrow.BufferReader(data),
            read_options=pyarrow.csv.ReadOptions(column_names=fields(self._width), block_size=len(data) + 1),
            parse_options=pyarrow.csv.ParseOptions(
                delimiter=self._delimiter.decode(),
                quote_char=self._quote.decode() or False,
                double_quote=bool(self._quote),
                newlines_in_values=True,
            ),
            convert_options=pyarrow.csv.ConvertOptions(
                check_utf8=False,
                column_types={name: pyarrow.binary() for name in fields(self._width)},
                null_values=list(MISSING),
                strings_can_be_null=True,
                quoted_strings_can_be_null=True,
            ),
        )


def _outside(places: NDArray[np.int64], quotes: NDArray[np.int64]) -> NDArray[np.int64]:
    """The places with an even number of quotes before them."""
    return places[np.searchsorted(quotes, places) % 2 == 0] if len(quotes) else places
