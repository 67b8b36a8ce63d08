"""Fitted tables in whole numbers, none below 0, that agree in their totals; and what that does to them on average.

The total is the fitted one, rounded to the nearest whole number (halves to the even one), or 0 where that is below 0.
Each column's counts become the nearest whole numbers of at least 0 that add up to it, by least squares. Each table of
several columns then becomes whole numbers of at least 0 that add up to the counts of each of its columns, near the
fitted cells: so all tables have one total, and whichever table the counts of a column are read from, they are the same.
Their sums over two of three columns may differ from table to table.

The nearest numbers of at least 0 that have these sums are the limit of projections on the sums of one column after the
other, each with what was taken the last time given back first (Boyle, Dykstra 1986). A fixed number of rounds is made,
in whole parts of one over `FINE`, so that every machine comes to the same cells. The last projection gives whole
numbers that have the sums of one column; those of another are mended by moving units along it, which leaves all other
sums as they are: a label that has too many has a cell above 0, so there is always a unit to move, and none falls below.

For any truth, the sum of a table is off by `max(0, round(N + X)) - N`, with N the true total and X the error of the
fitted one, whose law is known: that gives the mean error over all cells of a table exactly. How it is shared among
cells that differ depends on the noise of all of them together, and is tried out with made-up noise.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from dpviz.boundary import error_boundary, protect_module
from dpviz.exact import Enclosure
from dpviz.fitting.noises import Noise
from dpviz.fitting.nonnegative import nearest_whole
from dpviz.fitting.residuals import Integers, Places, Tables
from dpviz.fitting.simulated import SEED, sampler_of
from dpviz.fitting.sums import NoiseSum
from dpviz.noise.bits import TeachingBits

Floats = NDArray[np.float64]

WORD: Final = 1 << 62
"""The bound on every intermediate result in 64 bits; and no total of whole tables is larger."""

FINE: Final = 1 << 10
"""Projections are in whole parts of one over this, or over a smaller power of 2 where counts leave no room for it."""

ROUNDS: Final = 40
"""The number of times that all columns of a table are projected on."""

ROOM: Final = 4 * ROUNDS
"""The growth factor, relative to the largest cell, at which mass in one place is left out."""

RARE: Final = Fraction(1, 10**30)
"""Beyond what a total exceeds as seldom as this, its tail is bounded by its variance."""

TERMS: Final = 1 << 14
"""Tails that are added up one by one; of more, the sum is enclosed."""

DRAWN: Final = 1 << 24
"""About so many noises are made up for one table of hypothetical counts,"""

RUNS: Final = (100, 1_000)
"""but in so many runs at least and at most."""

BATCH: Final = 1 << 21
"""Noises at a time."""

SURE: Final = 1.96
"""Standard errors that a mean of many runs is within 95 times in 100."""


@error_boundary
def whole_tables(tables: Tables, noisy: Sequence[NDArray[np.int64]], total: int | None) -> list[NDArray[np.int64]]:
    """The fitted tables in whole numbers of at least 0, which have one total and the same counts of each column.

    noisy  the cells of each table as they were drawn
    total  where it is known

    >>> pair = Tables((2, 3), ((0, 1), (0,)), (1, 1), False)
    >>> [table.tolist() for table in whole_tables(pair, [np.array([6, 0, 0, 0, 0, 0]), np.array([2, 4])], None)]
    [[3, 0, 0, 3, 0, 0], [3, 3]]
    """
    fitted = tables.numerators(noisy, total)
    if total is None:
        total = max(0, round(Fraction(sum(fitted[0][0].tolist()), fitted[0][1])))
    total = min(total, WORD)
    return [
        whole_table(cells.reshape(tables.shape(at)), common, total).reshape(-1).astype(np.int64)
        for at, (cells, common) in enumerate(fitted)
    ]


def whole_table(numerators: Integers, common: int, total: int) -> Integers:
    """One of them, from its fitted cells in the shape of the table, as whole numbers divided by one; and the total."""
    if numerators.ndim == 0:
        return np.full((), total, dtype=object)
    sums = [_slabs(numerators, axis).sum(axis=1) for axis in range(numerators.ndim)]
    counts = [_whole_column(one, common, total) for one in sums]
    if numerators.ndim == 1:
        return counts[0]
    largest = max(total, *(abs(one) // common + 1 for one in numerators.reshape(-1).tolist()))
    fine, room = FINE, WORD // (largest * ROOM * numerators.size)
    while fine > max(1, room):
        fine //= 2
    cells = (2 * numerators * fine + common) // (2 * common)  # to the nearest part
    if fine <= room:
        cells, counts = cells.astype(np.int64), [one.astype(np.int64) for one in counts]
    near = _projected(cells, counts, fine)
    last = near.ndim - 1
    found = _lying(nearest_whole(_slabs(near, last), counts[last], fine), last, near.shape)
    for axis in range(last):
        found = _mended(found, near, counts[axis], fine, axis)
    return found


def _whole_column(numerators: Integers, common: int, total: int) -> Integers:
    """The counts of one column, with 64 bits where those are enough."""
    most, labels = max(map(abs, numerators.tolist())), len(numerators)
    kind: type = np.int64 if 3 * labels * most + (total + labels) * common < WORD else object
    found: Integers = nearest_whole(numerators.astype(kind)[None, :], np.array([total], dtype=kind), common)[0]
    return found


def _slabs(table: Integers, axis: int) -> Integers:
    """A row of cells for each label of one column."""
    return np.moveaxis(table, axis, 0).reshape(table.shape[axis], -1)


def _lying(slabs: Integers, axis: int, shape: Sequence[int]) -> Integers:
    """The table of which these are the rows of one column."""
    others = [size for place, size in enumerate(shape) if place != axis]
    return np.moveaxis(slabs.reshape(shape[axis], *others), 0, axis)


def _projected(cells: Integers, counts: Sequence[Integers], fine: int) -> Integers:
    """Near the nearest numbers of at least 0 with these counts of each column, in whole parts of one over `fine`."""
    found, taken = cells, [np.zeros_like(cells) for _ in counts]
    for _ in range(ROUNDS):
        before = found
        for axis, sums in enumerate(counts):
            given = found + taken[axis]
            found = _lying(nearest_whole(_slabs(given, axis), sums * fine, 1), axis, cells.shape)
            taken[axis] = given - found
        if bool((found == before).all()):
            break
    return found


def _mended(table: Integers, near: Integers, counts: Integers, fine: int, axis: int) -> Integers:
    """The same table with units moved along one column, until it adds up to these counts of it.

    A unit goes from the label that has most too many to the one that lacks most, where that brings cells nearest to
    what was projected; of equals the first.
    """
    rows, wanted = _slabs(table, axis).copy(), _slabs(near, axis)
    excess = rows.sum(axis=1) - counts
    while excess.any():
        here, there = int(np.argmax(excess)), int(np.argmin(excess))
        units = min(int(excess[here]), -int(excess[there]))
        gain = (wanted[here] - rows[here] * fine) - (wanted[there] - rows[there] * fine)
        full = np.flatnonzero(rows[here] > 0)
        order = full[np.argsort(gain[full], kind="stable")][:units]
        moved = np.minimum(rows[here][order], max(1, units // len(full)))
        rows[here][order] -= moved
        rows[there][order] += moved
        excess[here] -= moved.sum()
        excess[there] += moved.sum()
    return _lying(rows, axis, table.shape)


# ---------------------------------------------------------------- the mean of a whole total


@error_boundary
def total_bias(error: NoiseSum, total: int) -> Enclosure:
    """The mean of max(0, round(total + X)) - total, for the error X of a fitted total, which is symmetric.

    Halves go to the even number, so round(total + X) is total on average, and what is left is what is cut: the sum over
    k >= 0 of Pr[-X > total + 1/2 + k], with "at least" for odd k, where a half is rounded away from 0. Where X lies
    beyond R it adds at most X + 1, which has a mean of at most the root of 2 (E X**2 + 1) Pr[X > R].
    """
    if not error.noises.terms:
        return Fraction(0), Fraction(0)
    first = Fraction(2 * total + 1, 2)
    most = error.chernoff(RARE)
    beyond = Fraction(math.ceil(math.sqrt(2 * (float(error.variance()[1]) + 1) * float(RARE)) * 1e18), 10**18)
    many = max(0, math.ceil(most - first))
    if many <= TERMS:
        tails = [error.at_least(first + k) if k % 2 else error.above(first + k) for k in range(many)]
        return sum((low for low, _ in tails), Fraction(0)), sum((high for _, high in tails), beyond)
    low, high, width = Fraction(0), beyond, -(-many // TERMS)
    for start in range(0, many, width):  # the tails of a run lie between the first one and the one after the last
        low += width * error.above(first + start + width)[0]
        high += width * error.at_least(first + start)[1]
    return low, high


# ---------------------------------------------------------------- hypothetical counts


@dataclass(frozen=True)
class Tried:
    """The values that runs of made-up noise show of some cells of a table.

    bias    the mean error over all runs and cells
    spread  the root of the mean square error
    bias_within, spread_within  how far these may be from what ever more runs would show, 95 times in 100
    runs    how many runs there were
    """

    bias: float
    bias_within: float
    spread: float
    spread_within: float
    runs: int


@error_boundary
def tried(
    tables: Tables,
    table: int,
    noises: Sequence[Noise],
    counts: NDArray[np.int64],
    groups: Sequence[NDArray[np.intp]],
    total: int | None,
) -> list[Tried]:
    """The errors of the whole cells of one table where its true cells are `counts`, for some groups of them.

    noises  the noise on a cell of each table
    total   where it is known: the sum of the counts
    """
    errors: list[list[float]] = [[] for _ in groups]
    squares: list[list[float]] = [[] for _ in groups]
    runs = min(RUNS[1], max(RUNS[0], DRAWN // tables.starts[-1]))
    shape = tables.shape(table)
    for noise in _fitted_noise(tables, table, noises, runs):
        for one in np.rint(noise * FINE).astype(np.int64):
            cells = (one + counts * FINE).astype(object).reshape(shape)
            every = max(0, round(Fraction(int(cells.sum()), FINE))) if total is None else total
            off = (whole_table(cells, FINE, every).reshape(-1) - counts).astype(np.float64)
            for group, mine, square in zip(groups, errors, squares, strict=True):
                mine.append(float(off[group].mean()))
                square.append(float((off[group] ** 2).mean()))
    return [_summary(np.array(mine), np.array(square)) for mine, square in zip(errors, squares, strict=True)]


def _summary(errors: Floats, squares: Floats) -> Tried:
    runs, spread = len(errors), math.sqrt(float(squares.mean()))
    root = SURE / math.sqrt(runs)
    within = root * float(squares.std(ddof=1)) / (2 * spread) if spread else 0.0
    return Tried(float(errors.mean()), root * float(errors.std(ddof=1)), spread, within, runs)


def _fitted_noise(tables: Tables, table: int, noises: Sequence[Noise], runs: int) -> Iterator[Floats]:
    """Runs of the error of the fitted cells of one table, in floats: a row for each run."""
    bits, places = TeachingBits(SEED), tables.tables[table]
    samplers = {id(noise): sampler_of(noise) for noise in noises}
    parts = [some for many in range(len(places) + 1) for some in itertools.combinations(places, many)]
    for start in range(0, runs, batch := max(1, BATCH // tables.starts[-1])):
        size = min(batch, runs - start)
        means: dict[Places, Any] = dict.fromkeys(parts, 0.0)
        for at, (noise, cells) in enumerate(zip(noises, tables.cells, strict=True)):
            if not any(set(some) <= set(tables.tables[at]) for some in parts if some or not tables.known):
                continue
            drawn = samplers[id(noise)].draw(size * cells, bits).astype(np.float64)
            drawn = drawn.reshape(size, *tables.shape(at))
            for some in parts:
                if set(some) <= set(tables.tables[at]) and (share := tables.part(some, at)):
                    means[some] = means[some] + float(share) * _residual(drawn, tables.tables[at], some)
        found: Any = np.zeros((size, *tables.shape(table)))
        for some, mean in means.items():
            if isinstance(mean, np.ndarray):
                shape = [tables.sizes[place] if place in some else 1 for place in places]
                others = math.prod(tables.sizes[place] for place in places if place not in some)
                found = found + mean.reshape(size, *shape) / others
        yield found.reshape(size, -1)


def _residual(drawn: Floats, places: Places, some: Places) -> Floats:
    """Tables, one for each run, summed over all but some of their columns, less their mean along each of these."""
    axes = tuple(axis for axis, place in enumerate(places, 1) if place not in some)
    found: Floats = drawn.sum(axis=axes) if axes else drawn
    for axis in range(1, found.ndim):
        found = found - found.mean(axis=axis, keepdims=True)
    return found


protect_module(vars())
