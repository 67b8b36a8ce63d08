"""ALP's embedding of a sparse vector: unary numbers scattered over columns by hashing, then every bit flipped.

Nothing here looks at how many keys there are or how large their values: more than was declared costs accuracy, never
privacy. Time does depend on the values, so it is not shown to anybody.

Source: Aumüller, Lebeda, Pagh 2022, Algorithms 2, 4 and 10. One engine serves all three: they differ in the flip chance
and in how many bits one unit of value is worth.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpviz.errors import ParameterError
from dpviz.exact import whole
from dpviz.noise.bits import Bits
from dpviz.noise.flips import FlipSampler
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
            raise ParameterError.of(
                f"{len(self.seed)} bytes", f"a seed has {SEED_BYTES} bytes", "draw a seed of that length"
            )

    @cached_property
    def _numbers(self) -> NDArray[np.uint64]:
        """a and b of each column."""
        stream = hashlib.shake_128(b"dpviz alp columns" + self.seed).digest(16 * self.columns)
        numbers = np.frombuffer(stream, dtype="<u8").reshape(-1, 2).astype(np.uint64)
        # Multiply-shift needs an odd a: then a x is a bijection modulo 2^64.
        numbers[:, 0] |= np.uint64(1)
        return numbers

    @property
    def functions(self) -> NDArray[np.uint64]:
        """a and b of each column, which are public."""
        return self._numbers

    @property
    def slots(self) -> int:
        """How many bits a column has."""
        return 1 << self.width

    @property
    def meeting(self) -> Fraction:
        """With what chance, at most, two keys meet in a column."""
        return Fraction(1, self.slots)

    def part(self, first: int, columns: int) -> Columns:
        """Some of the columns, with the functions that they have among all."""
        chosen = replace(self, columns=columns)
        chosen.__dict__["_numbers"] = self._numbers[first : first + columns]
        return chosen

    def places(self, column: int, keys: Keys) -> NDArray[np.int64]:
        """Where keys lie in one column."""
        a, b = self._numbers[column]
        with np.errstate(over="ignore"):
            places: Keys = keys * a
            places += b
        # The product wraps modulo 2^64; its upper `width` bits are the place.
        places >>= np.uint64(64 - self.width)
        return places.view(np.int64)


@dataclass(frozen=True)
class PrimeColumns(Columns):
    """Public hash functions for columns of any number of bits: h(x) = ((a u + c v + b) mod P) mod size, where u and v
    are the upper and lower 32 bits of a key, and P = 2^61 - 1 (Carter and Wegman).

    Over uniform a, b and c the values of two keys modulo P are uniform and independent, so that they meet with chance
    `meeting(P, size)`: 1 / size, and less than size / P^2 more. It takes several times as long as multiply-shift.

    width  as many binary digits as a place has
    size   a multiple of 8
    """

    size: int

    def __post_init__(self) -> None:
        super().__post_init__()
        if whole(self.size, "size", least=8, most=1 << 40) % 8 or (self.size - 1).bit_length() != self.width:
            raise ParameterError.of(
                f"{self.size:,} bits",
                "a column has whole bytes of bits, and places of as many digits",
                "take a size in whole bytes, with one more digit where it doubles",
            )

    @property
    def slots(self) -> int:
        return self.size

    @property
    def meeting(self) -> Fraction:
        return meeting(PRIME, self.size)

    @cached_property
    def _numbers(self) -> NDArray[np.uint64]:
        """a, c and b of each column: uniform below P, for what is not is left out."""
        wanted, more = 3 * self.columns, 64
        while True:
            stream = hashlib.shake_128(b"dpviz alp columns of any size" + self.seed).digest(8 * (wanted + more))
            numbers = np.frombuffer(stream, dtype="<u8").astype(np.uint64) & np.uint64(PRIME)
            kept: Keys = numbers[numbers != PRIME][:wanted]
            if len(kept) == wanted:
                return kept.reshape(-1, 3)
            more *= 2

    def places(self, column: int, keys: Keys) -> NDArray[np.int64]:
        a, c, b = self._numbers[column]
        total = _products(keys >> np.uint64(32), a)
        total += _products(keys & np.uint64(0xFFFFFFFF), c)
        total += b  # below 2^64: two products below 2^62 + 8 each, and b below 2^61
        # 2^61 is 1 modulo P, so the bits from 61 on are added to those below; one subtraction ends the reduction.
        total = (total & np.uint64(PRIME)) + (total >> np.uint64(61))
        total -= np.uint64(PRIME) * (total >= PRIME).astype(np.uint64)
        return (total % np.uint64(self.size)).view(np.int64)


PRIME = (1 << 61) - 1
"""Modulo this, 2^61 is 1."""


def _products(digits: Keys, factor: np.uint64) -> Keys:
    """Digits of 32 bits times a factor below P: a number below 2^62 + 8 that is the same modulo P."""
    high, low = factor >> np.uint64(32), factor & np.uint64(0xFFFFFFFF)
    upper = digits * high  # below 2^61, and to be shifted by 32: what leaves at the top comes in again below
    lower = digits * low
    upper = ((upper << np.uint64(32)) & np.uint64(PRIME)) | (upper >> np.uint64(29))
    upper += lower & np.uint64(PRIME)
    upper += lower >> np.uint64(61)
    return upper


def meeting(prime: int, size: int) -> Fraction:
    """The chance that two independent uniform numbers below `prime` are the same modulo `size`.

    >>> str(meeting(7, 2)), str(meeting(7, 7))
    ('25/49', '1/7')
    """
    # Of the `size` classes modulo `size`, `more` have least + 1 members and the others `least`.
    least, more = divmod(prime, size)
    return Fraction(more * (least + 1) ** 2 + (size - more) * least**2, prime**2)


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
    # The least value that is worth `most`: larger ones would be cut anyway, and products stay within a word.
    largest = -(-most * step // worth)
    if (largest + 1) * worth >= 1 << 62:
        raise ParameterError.of(
            f"{largest:,} times {worth:,}",
            "scaled values must fit into a word of the machine",
            "take smaller values, or fewer bits to each",
        )
    scaled = np.clip(values, 0, largest) * worth
    levels, rest = np.divmod(scaled, step)
    open_ = np.flatnonzero(rest)
    # Algorithm 2 rounds at random; here in whole numbers: up with probability rest / step, so that the mean is exact.
    levels[open_] += uniform_below(step, len(open_), bits).astype(np.int64) < rest[open_]
    clamped: NDArray[np.int64] = np.minimum(levels, most)
    return clamped


def climbed(values: NDArray[np.int64], rungs: NDArray[np.int64], shift: int, bits: Bits) -> NDArray[np.int64]:
    """How many rungs each value reaches, rounded up or down at random so that the mean rung is the value, exactly.

    rungs  rising, in 2**-shift steps of a value; the first one counts as 0, and values below it reach no more
    """
    last = len(rungs) - 1
    scaled = np.clip(values, 0, int(rungs[-1] >> shift) + 1) << shift
    levels = np.clip(np.searchsorted(rungs, scaled, side="right") - 1, 0, last)
    inside = (levels < last) & (scaled > rungs[0])
    for level in np.unique(levels[inside]).tolist():
        here = np.flatnonzero(inside & (levels == level))
        # Up with probability (value - rung) / gap: the mean rung is the value.
        low, gap = int(rungs[level]), int(rungs[level + 1] - rungs[level])
        levels[here] += uniform_below(gap, len(here), bits).astype(np.int64) < scaled[here] - low
    return levels


def project(
    keys: Keys, levels: NDArray[np.int64], columns: Columns, flips: FlipSampler, bits: Bits, tick: Tick | None = None
) -> Packed:
    """The embedding, one row of packed bits for each column, all of them flipped with the chance of `flips`.

    keys    all different
    levels  how many ones each key has: its number of columns from the first on, cut at their number
    """
    size = columns.slots
    # Keys with more ones come first, so those that have a one in a column are a prefix.
    order = np.argsort(-levels, kind="stable")
    sorted_keys, sorted_levels = keys[order], levels[order]
    reached = np.searchsorted(-sorted_levels, -np.arange(columns.columns), side="left")  # levels above 0, 1, 2, ...
    out = np.empty((columns.columns, size // 8), dtype=np.uint8)
    for column in range(columns.columns):
        row = np.zeros(size, dtype=np.bool_)
        row[columns.places(column, sorted_keys[: reached[column]])] = True
        # Randomised response on every bit, those of no key included: the flip is an exclusive or with a random bit.
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
