"""The fast exact sampler: inverse-CDF sampling by table, with random bits revealed only until the value is certain.

A uniform number U in [0, 1) selects the least value z with U < F(z). The first 16 bits of U select one of 65,536
cells. Where no boundary F(z) lies inside the cell, the cell decides and one look-up is the whole draw. In the other
cells 48 more bits are compared with the boundaries at 64 binary places. The rare U whose 64 bits still touch a boundary
gets more bits, and the boundary more places, until they part. Nothing is approximated and nothing is given up.

Small vectors take another way to the same law: 64 bits at once, compared with *every* boundary, so that time does
not depend on what was drawn. Which way is taken depends on public sizes only.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from dpviz.errors import ParameterError
from dpviz.noise.bits import Bits

FLAT_DRAWS, FLAT_COMPARISONS = 1 << 10, 1 << 20
"""A vector of at most so many draws, and draws times boundaries, is compared with the whole table."""

BLOCK = 256
"""Boundaries are compared in blocks of this size; at most 255 of them, so that a byte counts them."""

PIECE = 1 << 15
"""How many counts are worked on at a time: few enough to stay in the processor's cache."""

LIMIT = 1 << 62
"""Counts and noise beyond this are moved here, which is part of every law drawn into 64-bit integers."""

FRACTION_BITS = 192
"""Binary places of the boundaries a table is made from; 64 are compared, the rest says if these are certain."""

_STRADDLED = np.iinfo(np.int64).min
_ONES = np.uint64(2**64 - 1)

Tick = Callable[[int, int], None]


class Law(Protocol):
    """The protocol of a law on the integers, for the engine: its cumulative distribution F, enclosed.

    first, last  the least and the greatest value, None where there is none
    """

    @property
    def first(self) -> int | None: ...

    @property
    def last(self) -> int | None: ...

    def cdf(self, value: int, fraction_bits: int) -> tuple[int, int]:
        """low <= F(value) * 2**places <= high, with high - low bounded however large `fraction_bits` is."""
        ...

    def sweep(self, fraction_bits: int) -> tuple[int, list[int], int]:
        """Start, lows and width: low <= F(start + i) * 2**places <= low + width for each low = lows[i] < 2**places.

        The sweep begins at the first value, or where F is below 2**-64; it ends just before the last value, or where
        F is above 1 - 2**-64.
        """
        ...


class SamplingTable:
    """One law, times a constant `step`, ready to be drawn from.

    With v the first 64 bits of U, U >= F(z) for certain where upper < v, U < F(z) for certain where v < lower.
    """

    def __init__(self, law: Law, step: int = 1) -> None:
        self.law = law
        self.step = step

    @cached_property
    def _bounds(self) -> tuple[int, NDArray[np.uint64], NDArray[np.uint64]]:
        """Start, lower and upper: `lower` is the floor of each boundary at 64 places, `upper` the last v it may cut."""
        start, lows, width = self.law.sweep(FRACTION_BITS)
        if not 0 < width < 2**64:
            raise ArithmeticError("the boundaries of a table are not certain enough")
        size = FRACTION_BITS // 8
        limbs = np.frombuffer(b"".join([low.to_bytes(size, "little") for low in lows]), dtype="<u8").reshape(-1, 3)
        lower = np.ascontiguousarray(limbs[:, 2])
        # A boundary whose next 64 places are all ones may carry into the first 64: it is uncertain by one there.
        carries = (limbs[:, 1] == _ONES) & (lower != _ONES)
        return start, lower, lower + carries.astype(np.uint64)

    @property
    def boundaries(self) -> int:
        return len(self._bounds[1])

    @cached_property
    def _guide(self) -> NDArray[np.int64]:
        """The value of each cell of 16 bits, or a mark where a boundary may lie inside it."""
        start, lower, upper = self._bounds
        last_cut = (upper >> np.uint64(48)).astype(np.int64)
        passed = np.cumsum(np.bincount(last_cut, minlength=1 << 16), dtype=np.int64)
        guide = np.concatenate(([0], passed[:-1]))
        guide = (guide + start) * self.step
        # Cells with a boundary inside do not decide the value: they get 48 more bits.
        guide[last_cut] = _STRADDLED
        guide[(lower >> np.uint64(48)).astype(np.int64)] = _STRADDLED
        return guide

    def prepare(self) -> None:
        """Make what a large vector needs now, not on first use."""
        self._guide  # noqa: B018 - a cached property

    def fill(self, out: NDArray[np.int64], bits: Bits) -> None:
        """Write independent draws into `out`."""
        few = out.size <= FLAT_DRAWS and out.size * self.boundaries <= FLAT_COMPARISONS
        if few and self.boundaries <= 255 * BLOCK:
            self._fill_by_comparison(out, bits)
        else:
            self._fill_by_guide(out, bits)

    @cached_property
    def _rows(self) -> tuple[NDArray[np.uint64], NDArray[np.uint64]]:
        """`lower` and `upper`, filled up to whole blocks with boundaries that no draw passes for certain."""
        _, lower, upper = self._bounds
        filling = np.full(-len(lower) % BLOCK, _ONES)
        return np.concatenate((lower, filling)), np.concatenate((upper, filling))

    def _fill_by_comparison(self, out: NDArray[np.int64], bits: Bits) -> None:
        """All in arrays, and no number of Python between: making one takes longer where it has more digits."""
        start = self._bounds[0]
        lower, upper = self._rows
        drawn = np.frombuffer(bits.take(8 * out.size), dtype="<u8")
        column = drawn.reshape(-1, 1)
        # Boundaries passed for certain, and those that may be passed: where they differ, bits do not tell yet.
        passed, reached = _count(upper < column), _count(lower <= column)
        np.multiply(passed + start, self.step, out=out)
        for place in np.flatnonzero(passed != reached):
            out[place] = self._settle(int(drawn[place]), start + int(passed[place]), bits)

    def _fill_by_guide(self, out: NDArray[np.int64], bits: Bits) -> None:
        words = bits.words(out.size)
        np.take(self._guide, words, out=out, mode="clip")
        straddled = np.flatnonzero(out == _STRADDLED)
        if straddled.size:
            out[straddled] = self._refine(words[straddled], bits)

    def _refine(self, words: NDArray[np.uint16], bits: Bits) -> NDArray[np.int64]:
        """Decide words whose cell holds a boundary, with 48 more bits each."""
        start, lower, upper = self._bounds
        drawn = np.empty((words.size, 4), dtype="<u2")
        drawn[:, 3] = words
        drawn[:, :3] = bits.words(3 * words.size).reshape(-1, 3)
        prefix = drawn.view("<u8").ravel()
        passed = np.searchsorted(lower, prefix, side="right").astype(np.int64)
        values = (passed + start) * self.step
        open_ = np.flatnonzero((passed > 0) & (upper[passed - 1] >= prefix))
        for place in open_:
            values[place] = self._settle(int(prefix[place]), int(passed[place]) + start, bits)
        return values

    def _settle(self, prefix: int, nearby: int, bits: Bits) -> int:
        """Reveal bits after the first 64 until the value is certain."""
        fraction_bits = 64
        while True:
            try:
                value = self._locate(prefix, fraction_bits, nearby) * self.step
            except _TooClose:
                prefix = prefix << 64 | int.from_bytes(bits.take(8), "little")
                fraction_bits += 64
            else:
                return max(-(LIMIT // 2), min(LIMIT // 2, value))

    def _locate(self, prefix: int, fraction_bits: int, nearby: int) -> int:
        """The value of every U that begins with `prefix`, the least one with U < F(value), sought from one nearby."""
        bottom, top, reach = nearby - 1, nearby, 1
        while not self._is_below(prefix, fraction_bits, top):
            bottom, top, reach = top, top + reach, 2 * reach
        while self._is_below(prefix, fraction_bits, bottom):
            bottom, top, reach = bottom - reach, bottom, 2 * reach
        while top - bottom > 1:
            middle = (top + bottom) // 2
            if self._is_below(prefix, fraction_bits, middle):
                top = middle
            else:
                bottom = middle
        return top

    def _is_below(self, prefix: int, fraction_bits: int, value: int) -> bool:
        """Whether U < F(value), where the bits revealed so far tell."""
        if self.law.first is not None and value < self.law.first:
            return False
        if self.law.last is not None and value >= self.law.last:
            return True
        low, high = self.law.cdf(value, fraction_bits)
        if low <= prefix < high:
            raise _TooClose
        return prefix < low


def _count(marks: NDArray[np.bool_]) -> NDArray[np.int64]:
    """How many marks are set in each row: blocks are added up as bytes, which hold up to 255."""
    blocks = marks.view(np.uint8).reshape(len(marks), -1, BLOCK)
    counts: NDArray[np.int64] = np.add.reduce(np.add.reduce(blocks, axis=1, dtype=np.uint8), axis=1, dtype=np.int64)
    return counts


class _TooClose(Exception):
    """A boundary lies among the numbers that begin with the bits revealed so far."""


class Sampler:
    """Draws from a sum of independent tables; one table is the usual sum."""

    def __init__(self, parts: Sequence[SamplingTable]) -> None:
        self.parts = tuple(parts)

    def draw(self, size: int, bits: Bits, tick: Tick | None = None) -> NDArray[np.int64]:
        """Independent draws, as 64-bit integers."""
        out = np.empty(size, dtype=np.int64)
        spare = np.empty(min(size, PIECE), dtype=np.int64)
        for piece in pieces(size, tick):
            self._noise(out[piece], spare, bits)
        return out

    def add(
        self, counts: NDArray[np.int64], low: int | None, high: int | None, bits: Bits, tick: Tick | None = None
    ) -> NDArray[np.int64]:
        """clip(counts + noise, low, high), with fresh noise for each count. None leaves that side open.

        Counts outside low..high are moved to the nearer end first, in silence. `tick(done, total)` is called between
        pieces and may raise to cancel; when it is called depends on sizes only.
        """
        least, most = ends(low, high)
        counts = integers(counts)
        out = np.empty(counts.shape, dtype=np.int64)
        noise, spare = np.empty((2, min(counts.size, PIECE)), dtype=np.int64)
        flat_in, flat_out = counts.reshape(-1), out.reshape(-1)
        for piece in pieces(counts.size, tick):
            noisy = flat_out[piece]
            drawn = noise[: noisy.size]
            self._noise(drawn, spare, bits)
            # Clamped before the noise, too: a clamp moves no two counts apart, so the price holds.
            np.clip(flat_in[piece], least, most, out=noisy)
            np.add(noisy, drawn, out=noisy)
            np.clip(noisy, least, most, out=noisy)
        return out

    def _noise(self, out: NDArray[np.int64], spare: NDArray[np.int64], bits: Bits) -> None:
        self.parts[0].fill(out, bits)
        for part in self.parts[1:]:
            more = spare[: out.size]
            part.fill(more, bits)
            np.add(out, more, out=out)


def ends(low: int | None, high: int | None) -> tuple[int, int]:
    """The ends to clamp to, inside the range of 64-bit integers."""
    if low is not None and high is not None and low > high:
        raise ParameterError.of(
            f"{low}..{high}", "the low end of a clamp must not exceed its high end", "write the smaller end first"
        )
    return max(-LIMIT, -LIMIT if low is None else low), min(LIMIT, LIMIT if high is None else high)


def integers(counts: NDArray[np.int64]) -> NDArray[np.int64]:
    """`counts` as an array of 64-bit integers. Raises on the type of the array alone, never on its values."""
    counts = np.asarray(counts)
    if counts.dtype != np.int64:
        raise ParameterError.of(
            str(counts.dtype), "counts must be an array of 64-bit integers", "write counts.astype(numpy.int64)"
        )
    return counts


def pieces(size: int, tick: Tick | None, most: int = PIECE) -> Iterator[slice]:
    """Slices of at most `most` counts, with a tick after each."""
    for begin in range(0, size, most):
        end = min(begin + most, size)
        yield slice(begin, end)
        if tick is not None:
            tick(end, size)
