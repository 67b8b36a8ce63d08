"""Records drawn from a product of biased coins: noisy means of bits that are found in rounds.

Rows are bit-packed, 8 columns a byte, as `numpy.packbits` packs them. They are put in a uniformly random order and cut
into chunks of equal size; what is left over is not read. In round r the noisy means of all columns that are left are
taken from a chunk of their own: columns with a small mean go on to the next round, where rows are cut to a smaller norm
and so get less noise; the others are kept aside, and their means are taken afresh from another chunk. Every noisy mean
is released; drawing records from the last of them is post-processing.

A row with s > cut ones counts with floor(grid sqrt(cut / s)) / grid on each of them, so its norm stays at most
sqrt(cut). Sums are whole numbers of steps 1/grid, and so is their noise: everything here is exact.

How many rounds there are, the cuts and the noise are public and come from a `Schedule` (`laws/product.py` has the
paper's). Nothing here looks at a price.
Source: Raskhodnikova, Sivakumar, Smith, Swanberg 2021, Algorithm 4; the grid is ours.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from dpviz.errors import ParameterError
from dpviz.noise.bits import Bits
from dpviz.noise.gaussian import discrete_gaussian
from dpviz.noise.order import uniform_below
from dpviz.noise.shuffle import permutation
from dpviz.noise.table import Tick

BLOCK = 1 << 22
"""Bytes of rows that are worked on at a time."""

HIGH = Fraction(13, 16)
"""In the first round a column with a larger noisy mean is turned round: its zeros are counted from then on."""

LOW = Fraction(3, 8)
"""A column goes on from round r where its noisy mean is below 3/8 of 2**-r."""

BITS_OF = np.unpackbits(np.arange(256, dtype=np.uint8)[:, None], axis=1).astype(np.int64)


class Schedule(Protocol):
    """The public part of a run.

    columns  d, the bits of a row
    rounds   R; there are 2R + 1 chunks
    chunk    m, the rows of a chunk
    grid     how many steps make 1
    flips    whether columns with a large mean are turned round
    """

    @property
    def columns(self) -> int: ...
    @property
    def rounds(self) -> int: ...
    @property
    def chunk(self) -> int: ...
    @property
    def grid(self) -> int: ...
    @property
    def flips(self) -> bool: ...

    def cut(self, level: int, size: int) -> Fraction:
        """T**2 of a round in which `size` columns are left; the level R + 1 is that of what no round kept aside."""
        ...

    def variance(self, cut: Fraction, size: int) -> Fraction:
        """The variance of the noise on each of `size` sums of rows, in squared steps of the grid."""
        ...


@dataclass(frozen=True)
class Round:
    """The noisy sums of some columns over one chunk. All of it is public once it is drawn.

    level    the round, from 1 on; R + 1 for the columns that no round kept aside
    keeps    False where the means only decide who goes on, True where they are those that records are drawn with
    places   the columns, in rising order
    sums     their noisy sums, in steps of 1/grid; of zeros, where a column is turned round
    """

    level: int
    keeps: bool
    places: NDArray[np.intp]
    sums: NDArray[np.int64]
    cut: Fraction
    variance: Fraction


@dataclass(frozen=True)
class Means:
    """A noisy mean for each column: sums / one, which may lie below 0 or above 1.

    one      grid times chunk
    flipped  the columns whose zeros were counted
    levels   the round that kept each column aside
    trace    every round, in order
    """

    sums: NDArray[np.int64]
    one: int
    flipped: NDArray[np.bool_]
    levels: NDArray[np.int64]
    trace: tuple[Round, ...]


def noisy_means(rows: NDArray[np.uint8], schedule: Schedule, bits: Bits, tick: Tick | None = None) -> Means:
    """All rounds of Algorithm 4 over bit-packed rows, of shape (n, ceil(d / 8)); bits beyond the last column are 0 or
    ignored. Raises ParameterError where the shape does not hold the schedule's columns or chunks.

    >>> from dpviz.laws.product import Rounds
    >>> from dpviz.noise.bits import TeachingBits
    >>> rows = np.packbits(np.tile([1, 1, 0, 0], (100, 1)), axis=1)
    >>> plan = Rounds(4, 100, Fraction(1), Fraction(1, 12))
    >>> means = noisy_means(rows, plan, TeachingBits(1))
    >>> means.sums.tolist(), means.one
    ([99, 99, -2, -3], 100)
    """
    d, m, levels = schedule.columns, schedule.chunk, schedule.rounds
    if rows.ndim != 2 or rows.dtype != np.uint8 or rows.shape[1] != -(-d // 8):
        raise ParameterError.of(
            f"{rows.dtype} of shape {rows.shape[1:]}",
            f"rows must be packed bits of {d:,} columns",
            "pack them with numpy.packbits(rows, axis=1)",
        )
    if m < 1 or len(rows) < m * (2 * levels + 1):
        raise ParameterError.of(
            f"chunks of {m:,}", f"{2 * levels + 1} chunks need as many rows each, and at least one", "ask more people"
        )
    # Chunks must be independent of the data's order, so that each is a uniform part of the rows.
    order = permutation(len(rows), bits)
    one = schedule.grid * m
    flipped, kept = np.zeros(d, dtype=np.bool_), np.full(d, levels + 1)
    sums, trace = np.zeros(d, dtype=np.int64), []
    done, steps = 0, 2 * levels + 1

    def measured(chunk: int, places: NDArray[np.intp], level: int, cut: Fraction, keeps: bool) -> NDArray[np.int64]:
        nonlocal done
        variance = schedule.variance(cut, places.size)
        # Each row is in one chunk only, so the price is that of one round and not a sum over rounds.
        chosen = order[chunk * m : (chunk + 1) * m]
        noisy = cut_sums(rows, chosen, places, flipped, schedule.grid, cut)
        # rho of each round is D^2 / (2 sigma^2) (Canonne, Kamath, Steinke 2020, Theorem 4).
        noisy += discrete_gaussian(variance).draw(places.size, bits)
        trace.append(Round(level, keeps, places, noisy, cut, variance))
        done += 1
        if tick is not None:
            tick(done, steps)
        return noisy

    left, asides = np.arange(d), []
    for level in range(1, levels + 1):
        if left.size == 0:
            break
        cut = schedule.cut(level, left.size)
        found = measured(level - 1, left, level, cut, False)
        # Algorithm 4: columns with a small mean go on, to a round in which rows are cut to a smaller norm.
        goes = found < math.ceil(LOW * one / 2**level)
        if level == 1 and schedule.flips:
            high = found > math.floor(HIGH * one)
            # A column of many ones has few zeros, which are as cheap to measure as few ones.
            flipped[left[high]] = True
            goes |= high
        asides.append((level, cut, left[~goes]))
        left = left[goes]
    if left.size:
        asides.append((levels + 1, schedule.cut(levels + 1, left.size), left))
    for level, cut, places in asides:
        if places.size:
            # Measured afresh: the first means decided who goes on, so they are biased.
            sums[places] = measured(levels + level - 1, places, level, cut, True)
            kept[places] = level
    return Means(sums, one, flipped, kept, tuple(trace))


def draw_rows(
    sums: NDArray[np.int64], one: int, flipped: NDArray[np.bool_], draws: int, bits: Bits
) -> NDArray[np.uint8]:
    """Draw rows of bits, each a 1 with the chance sums / one, moved into 0..1, and turned back where it was flipped.

    Given the means, rows and bits are independent. Shape (draws, d), not packed.

    >>> from dpviz.noise.bits import TeachingBits
    >>> draw_rows(np.array([-3, 2, 9]), 4, np.array([False, False, True]), 4, TeachingBits(1)).tolist()
    [[0, 0, 0], [0, 1, 0], [0, 0, 0], [0, 0, 0]]
    """
    uniform = uniform_below(one, draws * sums.size, bits).reshape(draws, sums.size)
    # Post-processing of the noisy means: no further price.
    ones: NDArray[np.bool_] = uniform < sums.clip(0, one).astype(np.uint64)
    return (ones ^ flipped).astype(np.uint8)


def cut_weights(size: int, grid: int, cut: Fraction) -> NDArray[np.int64]:
    """The weight of each one of a row with s ones, in steps of the grid, for s in 0..size: floor(grid sqrt(cut / s)),
    but at most `grid`.

    With w steps on each of s ones the square of the norm is w**2 s <= grid**2 min(cut, s): rounding down never breaks
    the bound. Two rows differ by at most w**2 s + w'**2 s' <= 2 grid**2 cut, since weights are not negative, and by at
    most one grid in each of `size` columns, so by size grid**2.

    >>> cut_weights(5, 10, Fraction(2)).tolist()
    [10, 10, 10, 8, 7, 6]
    """
    area = grid * grid * cut
    # floor(grid sqrt(cut / s)) in whole numbers.
    return np.array([grid] + [min(grid, math.isqrt(math.floor(area / s))) for s in range(1, size + 1)], dtype=np.int64)


def cut_sums(
    rows: NDArray[np.uint8],
    chosen: NDArray[np.intp],
    places: NDArray[np.intp],
    flipped: NDArray[np.bool_],
    grid: int,
    cut: Fraction,
) -> NDArray[np.int64]:
    """The sums of the columns at `places` over the chosen rows, each row cut to the norm sqrt(cut) in these columns."""
    mask, turned = packed(places, flipped.size), np.packbits(flipped)
    used = np.flatnonzero(mask)
    mask, turned = mask[used], turned[used]
    weights = cut_weights(places.size, grid, cut)
    even = bool(weights[-1] == grid)  # no row can be cut
    seen = np.zeros((used.size, 256))  # how much the rows with each byte weigh; floats below 2**53, so exact
    step = max(1, BLOCK // max(1, rows.shape[1]))
    for begin in range(0, chosen.size, step):
        block = rows[chosen[begin : begin + step]][:, used]
        block ^= turned
        block &= mask
        weight = None if even else weights[np.bitwise_count(block).sum(axis=1, dtype=np.intp)].astype(float)
        for tally, column in zip(seen, np.ascontiguousarray(block.T), strict=True):
            tally += np.bincount(column, weights=weight, minlength=256)
    totals = (seen.astype(np.int64) @ BITS_OF) * (grid if even else 1)
    wide = np.zeros((flipped.size + 7) // 8 * 8, dtype=np.int64)
    wide.reshape(-1, 8)[used] = totals
    return wide[places]


def packed(places: NDArray[np.intp], columns: int) -> NDArray[np.uint8]:
    """The packed row with ones at these places."""
    row = np.zeros(columns, dtype=np.uint8)
    row[places] = 1
    return np.packbits(row)
