"""The error of the likeliest value and of the median of a sketch's bits: exactly for few bits, a bound for many.

W(n) is the logarithm of the likelihood of n, less that of 0: a one adds ln((1-p)/r) to it and a zero takes ln((1-r)/p)
away, where r is the raised chance. `likelihood` is the mean of the n at which W is largest, `posterior-median` the
least n up to which e^W has half of its sum.

Neither falls where a bit is read as a one: that adds the same to W from this place on, so these places gain on those
before. Where bits are set independently of each other, each with chance q at most, an estimate therefore exceeds y most
where every bit beyond y is set with chance q, and falls short of it most where none is.

Many bits: let S be the walk of W away from y, to one side. The mean of e^S is 1 after each step, on either side. The
likeliest value lies more than T places away only where S comes, after T steps, as high as it was before; the median
only where the sum of e^S after T steps is as large as that before. The earlier part is a chain, which is followed on a
grid and rounded down; what may follow is bounded by Doob's inequality, or by Markov's, sharpened by its own recursion.
The chains never fall where they begin higher, and the bounds fall with them, so what is found is a bound.

Values of both signs are one number of 2m bits, of which others clear the first m and set the last m. A one of the first
half adds what a zero of the last takes away, and the other way round. An estimate exceeds y most where no bit is
cleared and all beyond are set as often as may be; complements, read from the other end, have the law of -y. Away from a
y below 0 the walk is first one over bits that nobody sets, for as long as the first half lasts, and then one over bits
that others set: the bound is the largest for any number of the first steps, with what may follow of either kind.

Source: the estimators and both laws are ours; Aumüller, Lebeda, Pagh 2022, for what they read.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Final, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from dpviz.laws.alp import FEW, Counted, Enumerated, Flips, Floats, Sides, Tails, rows_of, strings

Reader: TypeAlias = Literal["likelihood", "posterior-median"]

NEAR: Final = 1e-9
"""Numbers that differ by less are the same, rounded in two ways: as the estimators take them."""

CELLS: Final = 48
"""A grid has so many cells for one step down."""

DEEP: Final = 27.0
"""A walk that lies e^-27 below what was before it is not followed further down."""

BELOW: Final = 5.0
"""The later part is looked at from e^-5 on."""

ROUNDS: Final = 40
"""The times that a bound on the later part is put into its own recursion."""

MOST_STEPS: Final = 600
"""Where walks take longer, the bound is Chernoff's."""

RARE: Final = 1e-11
"""Chances below that are not told apart."""

POWERS: Final = (0.05, 0.2, 0.35, 0.5, 0.65, 0.8, 0.9, 0.97)


def read(m: int, flips: Flips, reader: Reader, cleared: int = 0) -> Floats:
    """The value read from each of the strings of m bits, at most 16, in the order of `strings`.

    cleared  in so many columns, the first, others clear bits instead of setting them
    """
    p, raised = float(flips.p), float(flips.raised)
    weights = np.zeros((1 << m, m + 1))
    gain, loss = math.log((1 - p) / raised), math.log((1 - raised) / p)
    steps = np.where(strings(m).bits == 1, gain, -loss)
    steps[:, :cleared] = np.where(strings(m).bits[:, :cleared] == 1, loss, -gain)
    np.cumsum(steps, axis=1, out=weights[:, 1:])
    most, places = weights.max(axis=1, keepdims=True), np.arange(m + 1)
    if reader == "likelihood":
        largest = weights >= most - NEAR
        found: Floats = (largest @ places) / largest.sum(axis=1)
        return found
    reached = np.cumsum(np.exp(weights - most), axis=1)
    medians: Floats = (reached < reached[:, -1:] * (0.5 - NEAR)).sum(axis=1).astype(np.float64)
    return medians


@lru_cache(maxsize=32)
def sides(m: int, flips: Flips, reader: Reader) -> Sides:
    """Bound the error of the estimate of any y from 0 to m."""
    if m > FEW:
        return Chases(flips, m, reader)
    values, where = np.unique(read(m, flips, reader).round(9), return_inverse=True)
    return Enumerated.of(flips, m, Counted.of(m, values, where.ravel()))


def tails(flips: Flips, m: int, reader: str) -> Tails:
    """Bound the error of any of the three estimators, by its name."""
    return Tails(flips, m, None if reader == "paper" else sides(m, flips, reader))


@lru_cache(maxsize=32)
def signed_sides(m: int, flips: Flips, reader: Reader) -> Sides:
    """The same for y from -m to m as one number of 2m bits: the first row is that of -m."""
    many, p, raised = 2 * m, float(flips.p), float(flips.raised)
    if many > FEW:
        return Chases(flips, many, reader, cleared=True)
    values, where = np.unique(read(many, flips, reader, m).round(9), return_inverse=True)
    places = np.arange(many)
    high: list[Floats] = []
    low: list[Floats] = []
    for y in range(many + 1):
        own, first = places < y, places < m
        raised_most = np.where(own, 1 - p, np.where(first, p, raised))
        lowered_most = np.where(own, np.where(first, 1 - raised, 1 - p), p)
        for ones, rows in ((raised_most, high), (lowered_most, low)):
            rows.append(np.bincount(where.ravel(), _chances(ones.tolist()), minlength=len(values)).astype(np.float64))
    return Enumerated(values, high, low)


def _chances(ones: list[float]) -> Floats:
    """The chance of each string, in the order of `strings`, of bits that are one with these chances."""
    found: Floats = np.ones(1)
    for one in ones:
        found = np.concatenate((found * (1 - one), found * one))
    return found


def signed_tails(flips: Flips, m: int, reader: str) -> Tails:
    """Bound the error of any of the three estimators of a number of 2m bits, by its name."""
    if reader == "paper":
        return Tails(flips, 2 * m, cleared=True)
    return Tails(flips, 2 * m, signed_sides(m, flips, reader))


@dataclass(frozen=True)
class WalkStep:
    """One step of a walk: `rise`, above 0, with chance `up`, else `fall`, below 0. The mean of e^step is 1."""

    up: float
    rise: float
    fall: float

    def moment(self, power: float) -> float:
        """The mean of e^(power X)."""
        return self.up * math.exp(power * self.rise) + (1 - self.up) * math.exp(power * self.fall)


@dataclass(frozen=True)
class Chases:
    """Both sides of y, for many bits: a bound that holds for every y and every number of bits.

    cleared  whether others clear the first half of the bits, instead of setting them
    """

    flips: Flips
    bits: int
    reader: Reader
    cleared: bool = False

    @cached_property
    def _right(self) -> Floats:
        return _chased((self._alone, self._crowded) if self.cleared else (self._crowded,), self.reader)

    @cached_property
    def _left(self) -> Floats:
        return self._right if self.cleared else _chased((self._alone,), self.reader)

    @property
    def _crowded(self) -> WalkStep:
        """Over bits that others may turn against y."""
        return WalkStep(float(self.flips.raised), self._gain, -self._loss)

    @property
    def _alone(self) -> WalkStep:
        """Over bits that are only flipped."""
        return WalkStep(float(self.flips.p), self._loss, -self._gain)

    @property
    def _gain(self) -> float:
        """The amount that a one adds, where others set bits."""
        return math.log((1 - float(self.flips.p)) / float(self.flips.raised))

    @property
    def _loss(self) -> float:
        """The amount that a zero takes away."""
        return math.log((1 - float(self.flips.raised)) / float(self.flips.p))

    def above(self, reach: Floats) -> Floats:
        return rows_of(_looked_up(self._right, reach)[None, :], reach, self.bits)

    def below(self, reach: Floats) -> Floats:
        return rows_of(_looked_up(self._left, reach)[None, :], reach, self.bits)[::-1]

    def zero(self, reach: Floats) -> Floats:
        return _looked_up(self._right, reach)

    def short(self, reach: Floats) -> Floats:
        return _looked_up(self._left, reach)


def _looked_up(chances: Floats, reach: Floats) -> Floats:
    """An estimate that is further off than the reach is so by a place beyond its whole part."""
    steps = np.minimum(np.floor(np.maximum(reach, 0)), len(chances) - 1).astype(np.int64)
    found: Floats = np.where(reach < 0, 1.0, chances[steps])
    return found


def _chased(kinds: tuple[WalkStep, ...], reader: Reader) -> Floats:
    """For T = 0, 1, 2, ... the chance, at most, that a place more than T away wins, or has the sum on its side.

    kinds  the steps of the walk: all of one kind, or any number of the first kind and then those of the last
    """
    shrinks = {power: max(kind.moment(power) for kind in kinds) for power in POWERS}
    least = min(shrinks.values())
    steps = math.ceil(math.log(RARE) / math.log(least))
    if steps > MOST_STEPS:
        shrink = least if reader == "likelihood" else shrinks[0.5]
        factor = shrink if reader == "likelihood" else shrink / (1 - shrink)
        far = np.arange(math.ceil(math.log(RARE) / math.log(shrink)) + 2)
        chernoff: Floats = np.minimum(1.0, factor * shrink**far * (1 + 1e-6))
        return chernoff
    cell = min(-kind.fall for kind in kinds) / CELLS
    heights: Floats = np.arange(math.ceil(DEEP / cell), dtype=np.float64) * cell
    follows = _overtaken(heights) if reader == "likelihood" else _outweighed(heights, cell, kinds, shrinks)
    follows = np.append(1.0, follows[:-1])  # one cell lower, for what is nearly a tie
    chains = _chains(heights, cell, kinds[0], reader, steps)
    if len(kinds) == 1:
        found = np.array([min(1.0, float(chain @ follows)) for chain in chains])
    else:
        after = chains @ np.array(_later(follows, heights, cell, kinds[-1], reader, steps)).T
        found = np.array([min(1.0, float(np.fliplr(after[: n + 1, : n + 1]).diagonal().max())) for n in range(steps)])
    return np.minimum.accumulate(found)


def _chains(heights: Floats, cell: float, kind: WalkStep, reader: Reader, steps: int) -> Floats:
    """For 0, 1, 2, ... steps a row: with what chance a chain that began at 0 is in each cell."""
    on_rise, on_fall = (_moved(heights, cell, step, reader) for step in (kind.rise, kind.fall))
    chain: Floats = np.zeros(len(heights))
    chain[0] = 1.0
    rows = []
    for _ in range(steps):
        rows.append(chain)
        risen = np.bincount(on_rise, kind.up * chain, minlength=len(heights)).astype(np.float64)
        chain = risen + np.bincount(on_fall, (1 - kind.up) * chain, minlength=len(heights))
    return np.array(rows)


def _later(follows: Floats, heights: Floats, cell: float, kind: WalkStep, reader: Reader, steps: int) -> list[Floats]:
    """For each cell the mean of what may follow after 0, 1, 2, ... steps from there."""
    on_rise, on_fall = (_moved(heights, cell, step, reader) for step in (kind.rise, kind.fall))
    rows = [follows]
    for _ in range(steps - 1):
        rows.append(kind.up * rows[-1][on_rise] + (1 - kind.up) * rows[-1][on_fall])
    return rows


def _moved(heights: Floats, cell: float, step: float, reader: Reader) -> NDArray[np.int64]:
    """The cell in which a chain is after a step, rounded down. D is how far the walk lies below its highest place so
    far; A is the logarithm of the sum of e^S so far, less S."""
    later = np.maximum(0, heights - step) if reader == "likelihood" else np.logaddexp(0, heights - step)
    cells: NDArray[np.int64] = np.floor(later / cell + (NEAR if reader == "likelihood" else -NEAR)).astype(np.int64)
    return np.clip(cells, 0, len(heights) - 1)


def _overtaken(heights: Floats) -> Floats:
    """The chance, at most, that a walk from 0 ever rises to each height: Doob, for e^S has mean 1."""
    found: Floats = np.exp(-heights)
    return found


def _outweighed(heights: Floats, cell: float, kinds: tuple[WalkStep, ...], shrinks: dict[float, float]) -> Floats:
    """The chance, at most, that the sum of e^S from the first step on is above e^height, in whatever order steps of
    these kinds come.

    First Markov's bound for powers of the sum below 1; then R = e^X (1 + R'), where X is the first step.
    """
    levels = np.concatenate((np.arange(-math.ceil(BELOW / cell), 0) * cell, heights))
    bound = np.ones(len(levels))
    for power, shrink in shrinks.items():
        bound = np.minimum(bound, np.exp(-power * levels) * shrink / (1 - shrink))

    def later(step: float) -> NDArray[np.int64]:
        """For each level the place of what the later steps must sum to, after this one; -1 for nothing."""
        rest = np.expm1(np.maximum(levels - step, 0))
        needed = np.log(np.where(rest > 0, rest, 1.0))
        place = np.floor((needed - levels[0]) / cell - NEAR).astype(np.int64)
        return np.where((rest > 0) & (place >= 0), np.minimum(place, len(levels) - 1), -1)

    places = [(kind.up, later(kind.rise), later(kind.fall)) for kind in kinds]
    for _ in range(ROUNDS):
        padded = np.append(bound, 1.0)  # the last one stands for -1
        ahead = [up * padded[on_rise] + (1 - up) * padded[on_fall] for up, on_rise, on_fall in places]
        bound = np.minimum(bound, np.max(ahead, axis=0))
    found: Floats = bound[len(levels) - len(heights) :]
    return found
