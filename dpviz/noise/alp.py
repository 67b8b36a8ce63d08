"""ALP's embedding of a sparse vector: unary numbers scattered over columns by hashing, then every bit flipped.

Nothing here looks at how many keys there are or how large their values: more than was declared costs accuracy, never
privacy. Time does depend on the values, so it is not shown to anybody.

Source: Aumüller, Lebeda, Pagh 2022, Algorithms 2, 4 and 10. One engine serves all three: they differ in the flip chance
and in how many bits one unit of value is worth.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpviz.errors import ParameterError
from dpviz.exact import whole
from dpviz.noise.bits import Bits
from dpviz.noise.flips import Flips
from dpviz.noise.order import uniform_below
from dpviz.noise.table import Tick

Keys = NDArray[np.uint64]
Packed = NDArray[np.uint8]

SEED_BYTES = 16
"""The hash functions of all columns follow from a public seed of 128 bits."""


@dataclass(frozen=True)
class Columns:
    """Public hash functions, one for each column of 2^width bits: h(x) = ((a x + b) mod 2^64) >> (64 - width), a odd.

    Two keys meet in a column with chance 2^-width at most over uniform a and b (multiply-shift), independently of the
    other columns. Privacy holds for any a and b at all.

    seed     16 public bytes, drawn without looking at the data
    columns  how many there are
    width    each has 2^width bits, 3 to 40
    """

    seed: bytes
    columns: int
    width: int

    def __post_init__(self) -> None:
        whole(self.columns, "columns")
        whole(self.width, "width", least=3, most=40)
        if len(self.seed) != SEED_BYTES:
            raise ParameterError.of(f"{len(self.seed)} bytes", f"a seed has {SEED_BYTES} bytes")

    @cached_property
    def _numbers(self) -> NDArray[np.uint64]:
        """a and b of each column."""
        stream = hashlib.shake_128(b"dpviz alp columns" + self.seed).digest(16 * self.columns)
        numbers = np.frombuffer(stream, dtype="<u8").reshape(-1, 2).astype(np.uint64)
        numbers[:, 0] |= np.uint64(1)
        return numbers

    def part(self, first: int, columns: int) -> Columns:
        """Some of the columns, with the functions that they have among all."""
        chosen = Columns(self.seed, columns, self.width)
        chosen.__dict__["_numbers"] = self._numbers[first : first + columns]
        return chosen

    def places(self, column: int, keys: Keys) -> NDArray[np.int64]:
        """Where keys lie in one column."""
        a, b = self._numbers[column]
        with np.errstate(over="ignore"):
            places: Keys = keys * a
            places += b
        places >>= np.uint64(64 - self.width)
        return places.view(np.int64)


def coded(labels: Sequence[Any] | NDArray[Any], seed: bytes, *, numbered: bool) -> Keys:
    """Keys of 64 bits for labels: bin numbers below 2^64 are keys themselves, everything else by a keyed digest.

    numbered  whether the labels are bin numbers of a domain of at most 2^64 bins
    """
    if numbered:
        return np.asarray(labels, dtype=np.uint64)
    new = partial(hashlib.blake2b, digest_size=8, key=seed)
    content = b"".join([new(str(label).encode("utf-8", "surrogatepass")).digest() for label in labels])
    return np.frombuffer(content, dtype="<u8").astype(np.uint64)


def merged(keys: Keys, values: NDArray[np.int64]) -> tuple[Keys, NDArray[np.int64]]:
    """Keys that are all different: the values of equal ones are added up, so that no record moves more than its own
    share of one."""
    found, where = np.unique(keys, return_inverse=True)
    if len(found) == len(keys):
        return keys, values
    totals = np.zeros(len(found), dtype=np.int64)
    np.add.at(totals, where, values)
    return found, totals


def rounded(values: NDArray[np.int64], worth: int, step: int, most: int, bits: Bits) -> NDArray[np.int64]:
    """Values times worth / step, rounded up or down at random so that the mean is exact, and cut at `most`.

    Values are clamped in silence to 0 and to what is worth `most`. Raises ParameterError on public facts only.
    """
    whole(worth, "worth")
    whole(step, "step")
    whole(most, "most")
    largest = -(-most * step // worth)
    if (largest + 1) * worth >= 1 << 62:
        raise ParameterError.of(f"{largest:,} times {worth:,}", "scaled values must fit into a word of the machine")
    scaled = np.clip(values, 0, largest) * worth
    levels, rest = np.divmod(scaled, step)
    open_ = np.flatnonzero(rest)
    levels[open_] += uniform_below(step, len(open_), bits).astype(np.int64) < rest[open_]
    clamped: NDArray[np.int64] = np.minimum(levels, most)
    return clamped


def project(
    keys: Keys, levels: NDArray[np.int64], columns: Columns, flips: Flips, bits: Bits, tick: Tick | None = None
) -> Packed:
    """The embedding, one row of packed bits for each column, all of them flipped with the chance of `flips`.

    keys    all different
    levels  how many ones each key has: its number of columns from the first on, cut at their number
    """
    size = 1 << columns.width
    order = np.argsort(-levels, kind="stable")
    sorted_keys, sorted_levels = keys[order], levels[order]
    reached = np.searchsorted(-sorted_levels, -np.arange(columns.columns), side="left")  # levels above 0, 1, 2, ...
    out = np.empty((columns.columns, size // 8), dtype=np.uint8)
    for column in range(columns.columns):
        row = np.zeros(size, dtype=np.bool_)
        row[columns.places(column, sorted_keys[: reached[column]])] = True
        out[column] = np.packbits(row, bitorder="little") ^ flips.draw(size // 8, bits)
        if tick is not None:
            tick(column + 1, columns.columns)
    return out


def read(packed: Packed, columns: Columns, keys: Keys) -> NDArray[np.uint8]:
    """The bits of keys, one row for each key; those of one column lie together."""
    found = np.empty((columns.columns, len(keys)), dtype=np.uint8)
    for column, bits in enumerate(found):
        place = columns.places(column, keys)
        shift = place.astype(np.uint8)
        shift &= 7
        place >>= 3
        np.take(packed[column], place, out=bits, mode="clip")  # a place is below the size of a column
        bits >>= shift
        bits &= 1
    return found.T
