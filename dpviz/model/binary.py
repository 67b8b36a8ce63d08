"""A release as a binary file: a short header of JSON, and the long columns of its answer as they lie in memory.

`docs/formats.md` describes it for readers of other make. A file that is read is the file that would be written: header,
padding and places of columns have one form, and a checksum covers every byte before it.
"""

from __future__ import annotations

import json
import math
import struct
from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256
from itertools import accumulate
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from dpviz.boundary import protect_module
from dpviz.errors import ReleaseFormat
from dpviz.model.answers.reading import STORED_TYPES, Packed
from dpviz.model.question import canonical

SUFFIX: Final = ".dpviz"
"""A release is saved in this form where its file is called so."""

MAGIC: Final = b"\x89DPVIZ\n\x1a"
"""No text begins like this, and a transfer that takes it for text spoils it."""

VERSION: Final = 1

ALIGNED: Final = 64
"""A column begins at a multiple of so many bytes from the beginning of the file."""

FIRST: Final = struct.Struct("<8sQQQ")
"""Magic, version, bytes of the header, bytes of the file; little end first."""

DIMENSIONS: Final = 4
"""A column has at most so many."""

CHECKSUM: Final = 32
"""The last bytes of a file are the SHA-256 of all before them."""


@dataclass(frozen=True)
class BinaryFile:
    """The content of a binary file.

    body    the release as JSON has it, but for the columns of its answer; all of it where there are none
    packed  header and columns of the answer; None where the body has all of it
    """

    body: dict[str, Any]
    packed: Packed | None

    def to_bytes(self) -> bytes:
        """The file. Raises ReleaseFormat where a column is of a type that is not stored."""
        header = {"columns": None, "release": self.body}
        columns: list[NDArray[Any]] = []
        if self.packed is not None:
            named = sorted(self.packed.arrays.items())
            columns = [_plain(column) for _, column in named]
            header["columns"] = {
                name: {"type": column.dtype.str, "shape": list(column.shape), "offset": offset}
                for (name, _), column, offset in zip(named, columns, _offsets(columns), strict=False)
            }
            header["release"] = {**self.body, "answer": {"kind": self.kind, **self.packed.header}}
        written = canonical(header)
        start, offsets = _aligned(FIRST.size + len(written)), _offsets(columns)
        size = start + offsets[-1] + CHECKSUM
        content = bytearray(size)
        FIRST.pack_into(content, 0, MAGIC, VERSION, len(written), size)
        content[FIRST.size : FIRST.size + len(written)] = written
        for column, offset in zip(columns, offsets, strict=False):
            content[start + offset : start + offset + column.nbytes] = column.tobytes()
        with memoryview(content) as view:
            view[-CHECKSUM:] = sha256(view[:-CHECKSUM]).digest()
        return bytes(content)

    @property
    def kind(self) -> Any:
        return self.body["answer"]["kind"]


def is_binary(content: bytes) -> bool:
    """Whether this begins like a binary file, whatever follows."""
    return content.startswith(MAGIC)


def opened(content: bytes) -> BinaryFile:
    """The content of a binary file; its columns are not copied. Raises ReleaseFormat where it is truncated, altered, or
    of another version."""
    if len(content) < FIRST.size + CHECKSUM:
        raise ReleaseFormat.damaged("a binary release is longer", f"{len(content):,} bytes")
    _, version, length, size = FIRST.unpack_from(content)
    if version != VERSION:
        raise ReleaseFormat.of(version, f"this dpviz reads binary releases of version {VERSION}", "update dpviz")
    if size != len(content):
        raise ReleaseFormat.damaged(
            f"a binary release has as many bytes as it says: {size:,}", f"{len(content):,} bytes"
        )
    with memoryview(content) as view:
        if sha256(view[:-CHECKSUM]).digest() != view[-CHECKSUM:]:
            raise ReleaseFormat.damaged("a saved release must match its checksum", "one that was altered or damaged")
    try:
        return _read(content, length)
    except ReleaseFormat:
        raise
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError, OverflowError):
        raise ReleaseFormat.damaged(
            "a binary release has a header that describes its columns, and nothing else", "another header"
        ) from None


def _read(content: bytes, length: int) -> BinaryFile:
    written = content[FIRST.size : FIRST.size + length]
    header = json.loads(written)
    body, described = header["release"], header["columns"]
    start, end = FIRST.size + length, len(content) - CHECKSUM
    if not isinstance(body, dict) or set(header) != {"columns", "release"} or canonical(header) != written:
        raise ReleaseFormat.damaged("a binary release writes its header in the shortest form", "another header")
    if described is None:
        if start + -start % ALIGNED != end or any(content[start:end]):
            raise ReleaseFormat.damaged(
                "nothing but padding follows the header of a binary release without columns", "other bytes"
            )
        return BinaryFile(body, None)
    columns = {name: _column(content, _aligned(start), end, one) for name, one in described.items()}
    offsets = _offsets(list(columns.values()))
    if [one["offset"] for one in described.values()] != offsets[:-1] or _aligned(start) + offsets[-1] != end:
        raise ReleaseFormat.damaged(
            "the columns of a binary release follow one another in the order of their names", "other places"
        )
    used = [start, *(_aligned(start) + offset for offset in offsets)]
    sizes = [0, *(column.nbytes for column in columns.values())]
    if any(any(content[at + size : next_]) for at, size, next_ in zip(used, sizes, used[1:], strict=False)):
        raise ReleaseFormat.damaged("there are zeros between the columns of a binary release", "other bytes")
    answer = {name: value for name, value in body["answer"].items() if name != "kind"}
    return BinaryFile(body, Packed(answer, columns))


def _column(content: bytes, start: int, end: int, described: Mapping[str, Any]) -> NDArray[Any]:
    kind, shape, offset = described["type"], described["shape"], described["offset"]
    few = isinstance(shape, list) and len(shape) <= DIMENSIONS
    numbers = few and all(type(number) is int and 0 <= number <= len(content) for number in (*shape, offset))
    if set(described) != {"type", "shape", "offset"} or kind not in STORED_TYPES or not numbers:
        raise ReleaseFormat.damaged("a column of a binary release has a type, a shape and an offset", "other parts")
    many = math.prod(shape)
    if start + offset + many * np.dtype(kind).itemsize > end:
        raise ReleaseFormat.damaged(
            "a column of a binary release lies within its file", f"{many:,} numbers from byte {start + offset:,} on"
        )
    column: NDArray[Any] = np.frombuffer(content, dtype=kind, count=many, offset=start + offset)
    return column.reshape(shape)


def _plain(column: NDArray[Any]) -> NDArray[Any]:
    plain = np.ascontiguousarray(column, dtype=column.dtype.newbyteorder("<"))
    if plain.dtype.str not in STORED_TYPES:
        raise ReleaseFormat.damaged("a column holds plain numbers of one of the stored types", plain.dtype.str)
    return plain


def _aligned(place: int) -> int:
    return -(-place // ALIGNED) * ALIGNED


def _offsets(columns: list[NDArray[Any]]) -> list[int]:
    """Where each column begins, from where the first one does, and where the last one ends, padding included."""
    return list(accumulate((_aligned(column.nbytes) for column in columns), initial=0))


def same(one: Packed, other: Packed) -> bool:
    """Whether two answers are packed alike, to the last byte."""
    if canonical(one.header) != canonical(other.header) or one.arrays.keys() != other.arrays.keys():
        return False
    return all(_same_column(column, other.arrays[name]) for name, column in one.arrays.items())


def _same_column(one: NDArray[Any], other: NDArray[Any]) -> bool:
    return one is other or (one.dtype == other.dtype and one.shape == other.shape and np.array_equal(one, other))


protect_module(vars())
