"""The estimate that ALP makes of one key's bits: the law of its estimate, exactly for few bits and by two walks for
many.

A value is rounded to a whole number y, and y is written as m bits: ones up to y, zeros beyond. Each bit is flipped with
chance p, and a zero may have become a one before, because another key set it. The estimate is the mean of all places
where the prefix sum of ones less zeros is largest.

Source: Aumüller, Lebeda, Pagh 2022, Algorithms 2, 3 and 10, Sections 4 and 7; exact laws and exact price are ours.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import Final, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from dpviz.errors import ParameterError
from dpviz.exact import (
    Enclosure,
    ceil_to,
    decide,
    exp_bounds,
    log1p_bounds,
    log_bounds,
    log_up,
    probability,
    text,
    whole,
)

FEW: Final = 16
"""The most bits that are enumerated: all 65,536 strings."""

NEGLIGIBLE: Final = 1e-12
"""The mass left out of a law of two walks has at most about this chance."""

Floats: TypeAlias = NDArray[np.float64]


@dataclass(frozen=True)
class Flips:
    """How the bits of one key are seen.

    p           the chance that a bit is flipped, below 1/2
    collisions  the chance, at most, that another key set a bit that this one left at 0: k/s for k keys and s bits to a
                column. The law of an estimate is that of exactly this chance, for each bit by itself
    """

    p: Fraction
    collisions: Fraction = Fraction(0)

    def __post_init__(self) -> None:
        if not 0 < self.p < Fraction(1, 2):
            raise ParameterError.of(
                text(self.p), "a bit is flipped with a chance between 0 and 1/2", "give a chance like 1/10"
            )
        if not 0 <= self.collisions < Fraction(1, 2):
            raise ParameterError.of(
                text(self.collisions), "fewer than half of a column's bits may be set", "give a column more bits"
            )

    @property
    def alpha(self) -> Fraction:
        """The paper's alpha: the odds of an unflipped bit less 1."""
        return 1 / self.p - 2

    @cached_property
    def raised(self) -> Fraction:
        """The chance that a bit beyond y is read as a one: p + q (1 - 2p)."""
        # A zero is read as one if it is flipped and stays alone, or if it was set and is not flipped: p (1 - q) + (1 -
        # p) q.
        return self.p + self.collisions * (1 - 2 * self.p)

    @property
    def gamma(self) -> Fraction:
        """The paper's gamma: what alpha is of the raised chance."""
        return 1 / self.raised - 2


# ---------------------------------------------------------------- few bits: all strings


@dataclass(frozen=True)
class Strings:
    """All strings of m bits: the estimate of each, as a sum of places and how many there are."""

    sums: NDArray[np.int64]
    places: NDArray[np.int64]
    bits: NDArray[np.int8]


@lru_cache(maxsize=4)
def strings(m: int) -> Strings:
    bits = ((np.arange(1 << m)[:, None] >> np.arange(m)) & 1).astype(np.int8)
    prefix = np.zeros((1 << m, m + 1), dtype=np.int8)
    # Algorithm 3: the prefix sums of ones less zeros.
    np.cumsum(2 * bits - 1, axis=1, out=prefix[:, 1:])
    # The estimate is the mean of all places where the prefix sum is largest.
    largest = prefix == prefix.max(axis=1, keepdims=True)
    return Strings(largest @ np.arange(m + 1), largest.sum(axis=1), bits)


def estimates(m: int, y: int, flips: Flips) -> dict[Fraction, Fraction]:
    """The exact law of the estimate of y from m bits, at most 16.

    >>> law = estimates(2, 1, Flips(Fraction(1, 4)))
    >>> [(str(value), str(law[value])) for value in sorted(law)]
    [('0', '3/16'), ('1', '5/8'), ('2', '3/16')]
    """
    whole(m, "the number of bits", most=FEW)
    whole(y, "y", least=0, most=m)
    every = strings(m)
    lost = y - every.bits[:, :y].sum(axis=1, dtype=np.int64)
    raised = every.bits[:, y:].sum(axis=1, dtype=np.int64)
    kinds = np.stack([every.sums, every.places, lost, raised])
    found, counts = np.unique(kinds, axis=1, return_counts=True)
    p, more = flips.p, flips.raised
    # Bits are independent, so a string's probability depends only on the ones lost up to y and the zeros raised beyond.
    below = [(1 - p) ** (y - one) * p**one for one in range(y + 1)]
    beyond = [more**one * (1 - more) ** (m - y - one) for one in range(m - y + 1)]
    law: dict[Fraction, Fraction] = {}
    for (sum_, places, zeros, ones), count in zip(found.T.tolist(), counts.tolist(), strict=True):
        value = Fraction(sum_, places)
        law[value] = law.get(value, Fraction(0)) + count * below[zeros] * beyond[ones]
    return law


@dataclass(frozen=True, eq=False)
class Counted:
    """All strings of m bits by what an estimator reads from them, so that any chance is a product of small tables.

    values  all that it can read, ascending
    kinds   for each y how many strings are read as each value, by how many of the ones up to y are lost and how many of
            the zeros beyond are raised
    """

    values: Floats
    kinds: list[Floats]

    @classmethod
    def of(cls, m: int, values: Floats, where: NDArray[np.int64]) -> Counted:
        """By the place among the values of what each string is read as, in the order of `strings`."""
        ones = np.zeros((1 << m, m + 1), dtype=np.int64)
        np.cumsum(strings(m).bits, axis=1, out=ones[:, 1:])
        kinds = []
        for y in range(m + 1):
            lost, raised = y - ones[:, y], ones[:, m] - ones[:, y]
            shape = (len(values), y + 1, m - y + 1)
            codes = (where * shape[1] + lost) * shape[2] + raised
            kinds.append(np.bincount(codes, minlength=math.prod(shape)).reshape(shape).astype(np.float64))
        return cls(values, kinds)

    def chances(self, y: int, p: float, more: float) -> Floats:
        """Of each value, where a one up to y is lost with chance p and a zero beyond is raised with chance `more`."""
        kinds = self.kinds[y]
        lost, raised = np.arange(kinds.shape[1]), np.arange(kinds.shape[2])
        of_raised = more**raised * (1 - more) ** raised[::-1]
        found: Floats = kinds @ of_raised @ (p**lost * (1 - p) ** lost[::-1])
        return found


@lru_cache(maxsize=FEW)
def counted(m: int) -> Counted:
    """All strings of m bits, at most 16, by the paper's estimate."""
    every, multiple = strings(whole(m, "the number of bits", most=FEW)), math.lcm(*range(1, m + 2))
    values, where = np.unique(every.sums * multiple // every.places, return_inverse=True)
    return Counted.of(m, values / multiple, where.ravel())


# ---------------------------------------------------------------- many bits: two walks


@dataclass(frozen=True)
class Walks:
    """The law of estimate less y, far from both ends of the bits, where it no longer depends on them.

    Two walks start at y, one to each side, and go up with chances p (towards 0) and `raised` (beyond y). The side that
    reaches higher wins, and where both reach equally high all their highest places count. The number of highest places
    is n; for each n the transform of the sum of these places is known in closed form, and is inverted.

    rare  what comes less often than that is left out; a picture can do with more
    """

    flips: Flips
    rare: float = NEGLIGIBLE

    @cached_property
    def _parts(self) -> list[tuple[int, Floats]]:
        """For each number n of highest places, the chances of the sums of these places, as an inverted transform lists
        them: from 0 up, then the negative ones."""
        p, more = float(self.flips.p), float(self.flips.raised)
        # A walk returns to its start after 2 n steps with probability below (4 p (1 - p))^n.
        steps = math.log(self.rare) / math.log(4 * more * (1 - more))
        size = 1 << max(7, math.ceil(math.log2(4 * steps)))
        most = math.ceil(math.log(self.rare) / math.log(more)) + 2
        return [(n, _sums(p, more, n, size)) for n in range(1, most + 1)]

    @cached_property
    def law(self) -> tuple[Floats, Floats]:
        """Values in rising order, and their chances."""
        values = [np.fft.fftfreq(len(part), 1 / len(part)) / n for n, part in self._parts]
        chances = [part for _, part in self._parts]
        flat, weights = np.concatenate(values), np.concatenate(chances)
        kept = weights > NEGLIGIBLE / len(weights)  # below that, an inverted transform knows nothing
        found, where = np.unique(flat[kept].round(9), return_inverse=True)
        return found, np.bincount(where, weights[kept]).astype(np.float64)

    def tail(self, reach: float, below: float = 0.0) -> float:
        """The chance that the estimate, less y and less a number from 0 to 1, is off by more than `reach`.

        below  how far y lies above what was rounded: 0 where it was a whole number
        """
        values, chances = self.law
        return float(chances[np.abs(values + below) > reach + 1e-9].sum())

    def rounded(self, fraction: float) -> tuple[Floats, Floats]:
        """The law of estimate less a number with this fraction, which was rounded up with just that chance."""
        values, chances = self.law
        both = np.concatenate((values - fraction, values + 1 - fraction))
        return both, np.concatenate((chances * (1 - fraction), chances * fraction))

    @cached_property
    def moments(self) -> tuple[float, float]:
        """Mean and variance of estimate less y."""
        values, chances = self.law
        mean = float(values @ chances)
        return mean, float(values**2 @ chances) - mean**2


def _sums(p: float, more: float, n: int, size: int) -> Floats:
    """The chances of the sums of n highest places, each place counted from y."""
    length = size * n
    forward = np.exp(-2j * np.pi * np.arange(length) / length)
    right, left = _WalkSide(more, forward), _WalkSide(p, forward.conj())
    won = right.alone(n, left.ratio) + left.alone(n, right.ratio)
    for mine in range(1, n):  # both reach a height above 0, with so many places on the right
        first = right.first(mine) * left.first(n - mine)
        won += first / (1 - first) * right.again(mine) * left.again(n - mine)
    for mine in range(1, n + 1):  # neither leaves 0: y itself is a highest place, of both
        won += right.again(mine) * left.again(n + 1 - mine)
    return np.fft.irfft(won, length)


class _WalkSide:
    """One walk, by its transforms at the frequencies up to half of all: those of the others mirror them. `z**k` of a
    frequency is another one of the whole list."""

    def __init__(self, up: float, z: NDArray[np.complex128]) -> None:
        self.ratio, self._stays = up / (1 - up), 1 - 2 * up
        # The generating function of the first passage one step up: F(z) = (1 - sqrt(1 - 4 p (1 - p) z^2)) / (2 (1 - p)
        # z).
        root = np.sqrt(1 - 4 * up * (1 - up) * z * z)
        self._first = (1 - root) / (2 * (1 - up) * z)
        self._return = (1 - root) / 2
        self._turns = np.arange(len(z) // 2 + 1)
        self._again = {1: np.full(len(self._turns), self._stays, dtype=np.complex128)}

    def first(self, times: int) -> NDArray[np.complex128]:
        """Of `times` times the number of steps to one higher."""
        return self._first[self._turns * times % len(self._first)]

    def again(self, places: int) -> NDArray[np.complex128]:
        """Of the sum of so many highest places, counted from the first of them, after which none follows."""
        for known in range(len(self._again) + 1, places + 1):
            step = self._return[self._turns * (known - 1) % len(self._return)]
            self._again[known] = self._again[known - 1] * step
        return self._again[places]

    def alone(self, places: int, other: float) -> NDArray[np.complex128]:
        """Of the sum of its highest places, where it reaches above 0 and the other walk does not reach as high."""
        first = self.first(places)
        return (first / (1 - first) - other * first / (1 - other * first)) * self.again(places)


# ---------------------------------------------------------------- tails that hold for every y


MOST_STEPS: Final = 600
"""Where a walk of so many steps may still return, its law is not worked out: the paper's bound stands in for it."""

RARE: Final = 1e-10
"""The mass left out of a walk that is looked at by its heights has at most about this chance."""

SLACK: Final = 1e-9
"""Added to every chance that was worked out in floating point, which errs by far less."""

ENUMERATED: Final = 12
"""Tails of so few bits are worked out for every y; of more bits they are those of the worst y."""

CELLS: Final = 64
"""How finely the fraction of a value between two whole numbers of bits is told apart."""


class Sides(Protocol):
    """How often an estimate exceeds y by more than each reach, and falls short of it, at most: a row for each y, as
    `rows_of` lays them out."""

    def above(self, reach: Floats) -> Floats: ...

    def below(self, reach: Floats) -> Floats: ...

    def zero(self, reach: Floats) -> Floats:
        """`above` where y is 0."""
        ...

    def short(self, reach: Floats) -> Floats:
        """`below` where all bits are ones."""
        ...


@dataclass(frozen=True)
class Tails:
    """Bound the error of the estimate of any value: in bits, for every value from 0 to m bits.

    The estimate never falls where a bit that was 0 is read as a one. So it exceeds y most where every bit beyond y is
    set by others as often as can be, and falls short of it most where none is. Few bits are enumerated; of more bits a
    place on the other side of y that is as high as the highest on this side is not counted, which pulls towards y.

    bits     m, the number of columns
    sides    the tails of another estimator, where it is not the paper's
    cleared  whether a bit up to y may be cleared by another key as often as one beyond y may be set; of the paper's
             estimator alone, for other sides know it by themselves. Then complements, read from the other end, have
             the law of m - y, so an estimate falls short of y as one exceeds m - y
    """

    flips: Flips
    bits: int
    sides: Sides | None = None
    cleared: bool = False

    def beyond(self, reach: float) -> float:
        """The chance, at most, that the estimate of a value is off by more than so many bits, whatever the value."""
        if reach >= self.bits:
            return 0.0
        least = np.arange(CELLS) / CELLS
        most = least + 1 / CELLS
        above, below = self._above, self._below
        here = above(reach + least)[:-1] + below(reach - most)[:-1]
        next_ = above(reach + least - 1)[1:] + below(reach + 1 - most)[1:]
        # A value between two whole numbers of bits is rounded up with probability equal to its fraction.
        worst = (1 - least) * np.minimum(1, here) + most * np.minimum(1, next_)
        return min(1.0, float(worst.max()) + SLACK)

    def within(self, beta: float, grid: int = 64) -> float:
        """The least reach on a grid of 1/grid bits that is passed with chance `beta` at most."""
        low, high = -1, self.bits * grid
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (low, middle) if self.beyond(middle / grid) <= beta else (middle, high)
        return high / grid

    def of(self, y: float, reach: float) -> float:
        """The same for one value of y bits, which need not be whole."""
        if reach >= self.bits:
            return 0.0
        y = min(y, float(self.bits))
        whole_ = min(math.floor(y), self.bits - 1)
        fraction = y - whole_
        row = self._row(whole_)
        here = self._above(np.array([reach + fraction]))[row] + self._below(np.array([reach - fraction]))[row]
        next_ = self._row(whole_ + 1)
        above, below = np.array([reach + fraction - 1]), np.array([reach + 1 - fraction])
        there = self._above(above)[next_] + self._below(below)[next_]
        return min(1.0, (1 - fraction) * min(1.0, float(here[0])) + fraction * min(1.0, float(there[0])) + SLACK)

    @cached_property
    def _known(self) -> Sides | None:
        """The bound for every y, or that of another estimator; None where the walks of the paper's are asked."""
        return _enumerated(self.flips, self.bits) if self.sides is None and self.bits <= ENUMERATED else self.sides

    def _row(self, y: int) -> int:
        """The row of y where rows far from both ends, which are alike, are left out."""
        left_out = max(0, self.bits - MIDDLE)
        return y if y <= MIDDLE // 2 else max(MIDDLE // 2, y - left_out) if left_out else y

    def short(self, reach: Floats) -> Floats:
        """The chances, at most, that the estimate of a value of all m bits is off by more than so many bits."""
        if self.cleared:
            return self.zero(reach)
        if self._known is not None:
            tail = self._known.short(reach)
        else:
            tail = _walk(self.flips.p).against(_walk(self.flips.p), reach)[0]
        found: Floats = np.where(reach >= self.bits, 0.0, np.where(reach < 0, 1.0, np.minimum(1.0, tail + SLACK)))
        return found

    def zero(self, reach: Floats) -> Floats:
        """The same of a value of no bits."""
        if self._known is not None:
            tail = self._known.zero(reach)
        else:
            tail = _walk(self.flips.raised).against(_walk(self.flips.p), reach)[0]
        found: Floats = np.where(reach >= self.bits, 0.0, np.where(reach < 0, 1.0, np.minimum(1.0, tail + SLACK)))
        return found

    def _above(self, reach: Floats) -> Floats:
        """For each y a row: the chances that the estimate exceeds y by more than each of `reach`."""
        if self._known is not None:
            return self._known.above(reach)
        sides = _walk(self.flips.raised).against(_walk(self.flips.p), reach)
        return rows_of(sides, reach, self.bits)

    def _below(self, reach: Floats) -> Floats:
        """The same for falling short of y."""
        if self.cleared:
            return self._above(reach)[::-1]
        if self._known is not None:
            return self._known.below(reach)
        sides = _walk(self.flips.p).against(_walk(self.flips.p), reach)
        return rows_of(sides, reach, self.bits)[::-1]


def rows_of(sides: Floats, reach: Floats, m: int) -> Floats:
    """A row for each y from the rows for 0, 1, 2, ... places on the other side, which do not rise; beyond the last bit
    there is nothing to be reached."""
    rows: Floats = sides[np.minimum(np.arange(min(m, MIDDLE) + 1), len(sides) - 1)]
    if m > MIDDLE:
        return rows
    room = m - np.arange(m + 1)[:, None]
    return np.where(reach[None, :] >= room, 0.0, rows)


class _HeightWalk:
    """One walk from y that goes up with a chance below 1/2: how high it comes, and the mean of its highest places."""

    def __init__(self, chance: Fraction) -> None:
        self.up = up = float(chance)
        steps = math.log(RARE) / math.log(4 * up * (1 - up))
        self.slow = steps > MOST_STEPS
        if self.slow:
            return
        size = 1 << max(7, math.ceil(math.log2(4 * steps)))
        most = math.ceil(math.log(RARE) / math.log(up)) + 2
        values: list[list[Floats]] = [[] for _ in range(HEIGHTS)]
        chances: list[list[Floats]] = [[] for _ in range(HEIGHTS)]
        for n in range(1, most + 1):
            side = _WalkSide(up, np.exp(-2j * np.pi * np.arange(size * n) / (size * n)))
            rising, first, places = side.again(n), side.first(n), np.arange(size * n) / n
            for height in range(HEIGHTS):
                found = np.fft.irfft(rising if height < HEIGHTS - 1 else rising / (1 - first), size * n)
                kept = found > NEGLIGIBLE / (len(found) * HEIGHTS)
                values[height].append(places[kept])
                chances[height].append(found[kept])
                rising = rising * first
        self.laws = [_Law(np.concatenate(one), np.concatenate(two)) for one, two in zip(values, chances, strict=True)]

    @cached_property
    def allowed(self) -> Floats:
        """For 0 to FAR steps a row: the chances that the walk came no higher than 0, 1, 2, ...; the last is 1."""
        below = np.zeros((HEIGHTS + 1, FAR + 2))  # by the greatest height so far, and by the depth below it
        below[0, 0] = 1.0
        rows = []
        for _ in range(FAR + 1):
            rows.append(np.minimum(1.0, np.cumsum(below[:HEIGHTS].sum(axis=1))))
            later = np.zeros_like(below)
            later[:, 1:] += (1 - self.up) * below[:, :-1]
            later[:, :-1] += self.up * below[:, 1:]
            later[1:, 0] += self.up * below[:-1, 0]
            below = later
        found = np.array(rows)
        found[:, -1] = 1.0
        return found

    def against(self, other: _HeightWalk, reach: Floats) -> Floats:
        """The chances that the mean of the highest places of this walk is above each of `reach` while the other one, of
        0, 1, 2, ... steps, came no higher: a row for each number of steps. They do not rise from row to row."""
        if self.slow:
            # Lemma 4.9, for one side.
            shrink, factor = 4 * self.up * (1 - self.up), 1 / (math.sqrt(math.pi) * (1 - 2 * self.up))
            bound = np.where(reach < 0, 1.0, np.minimum(1, factor * shrink ** (np.maximum(reach, 0) / 2)))
            return bound[None, :]
        found: Floats = _against(self, other)[:, np.searchsorted(self.values, reach + 1e-9, side="right")]
        found[:, reach < 0] = 1.0  # the other side counts there, too
        return found

    @cached_property
    def values(self) -> Floats:
        """All means of highest places, ascending."""
        found: Floats = np.unique(np.concatenate([law.values for law in self.laws]))
        return found


@lru_cache(maxsize=8)
def _against(walk: _HeightWalk, other: _HeightWalk) -> Floats:
    """`walk.against(other, ...)` from each of its values on, and beyond the last one."""
    allowed = np.ones((1, HEIGHTS)) if other.slow else other.allowed
    just_below = np.append(walk.values - 1e-6, np.inf)
    found: Floats = np.minimum(1.0, allowed @ np.array([law.above(just_below) for law in walk.laws]))
    return found


class _Law:
    """A law of few values: the chances to lie above a number."""

    def __init__(self, values: Floats, chances: Floats) -> None:
        self.values, where = np.unique(values.round(9), return_inverse=True)
        self._above = np.append(np.cumsum(np.bincount(where, chances)[::-1])[::-1], 0.0)

    def above(self, reach: Floats) -> Floats:
        found: Floats = self._above[np.searchsorted(self.values, reach + 1e-9, side="right")]
        return found

    @property
    def moments(self) -> tuple[float, float]:
        """Mean and mean square."""
        chances = -np.diff(self._above)
        return float(self.values @ chances), float(self.values**2 @ chances)


HEIGHTS: Final = 8
"""Heights of a walk that are told apart; all that are greater count as the last."""

FARTHEST: Final = 400
"""Beyond so many bits nobody asks whether a value is read as nothing."""

FAR: Final = 24
"""Places on the other side that are told apart; more make the chance only smaller."""


MIDDLE: Final = 2 * FAR + 2
"""Of more bits, values farther than FAR from both ends are alike, and stand in one row or two."""


@lru_cache(maxsize=64)
def _walk(chance: Fraction) -> _HeightWalk:
    return _HeightWalk(chance)


class Enumerated:
    """For every y the chances that an estimate exceeds y and falls short of it, from all strings of few bits: of any
    estimator that never falls where a bit is read as a one.

    values       all that it can read, ascending
    high, low    for each y the chances of these values where other keys raise the estimate as often as they can, and
                 where they lower it as often as they can
    """

    def __init__(self, values: Floats, high: list[Floats], low: list[Floats]) -> None:
        none = np.zeros(1)
        self._values = values.round(9)
        self._from = np.array([np.append(row[::-1].cumsum()[::-1], none) for row in high])
        self._up_to = np.array([np.append(none, row.cumsum()) for row in low])
        self._y = np.arange(len(high))[:, None]

    @classmethod
    def of(cls, flips: Flips, m: int, counted_: Counted) -> Enumerated:
        """With collisions, which raise an estimate, and without any."""
        p, more = float(flips.p), float(flips.raised)
        chances = [[counted_.chances(y, p, beyond) for y in range(m + 1)] for beyond in (more, p)]
        return cls(counted_.values, *chances)

    def short(self, reach: Floats) -> Floats:
        found: Floats = self.below(reach)[-1]
        return found

    def zero(self, reach: Floats) -> Floats:
        found: Floats = self.above(reach)[0]
        return found

    def above(self, reach: Floats) -> Floats:
        """For each y a row: the chances to exceed it by more than each reach."""
        found: Floats = self._from[self._y, np.searchsorted(self._values, self._y + reach + 1e-9, side="right")]
        return found

    def below(self, reach: Floats) -> Floats:
        """The same for falling short."""
        found: Floats = self._up_to[self._y, np.searchsorted(self._values, self._y - reach - 1e-9, side="left")]
        return found


@lru_cache(maxsize=32)
def _enumerated(flips: Flips, m: int) -> Enumerated:
    return Enumerated.of(flips, m, counted(m))


@lru_cache(maxsize=1024)
def chance_of_nothing(flips: Flips, y: int) -> float:
    """The chance that many bits are read as 0: the walk is below its start for ever after. Zero beyond FARTHEST."""
    if y > FARTHEST:
        return 0.0
    p, more = float(flips.p), float(flips.raised)
    below = np.zeros(y + 2)  # by how far the walk lies below its start, having been there at no step
    below[0] = 1.0
    for _ in range(y):
        later = np.zeros_like(below)
        later[1:] += p * below[:-1]
        later[1:-1] += (1 - p) * below[2:]
        below = later
    if y == 0:
        return 1 - 2 * more
    # Gambler's ruin: from h below, a walk that goes up with probability `more` ever reaches its start with probability
    # rises^h.
    rises = more / (1 - more)
    return float((below * (1 - rises ** np.arange(y + 2)))[1:].sum())


def of_zero(flips: Flips) -> tuple[float, float] | None:
    """Mean and mean square of the estimate of 0 from many bits, in bits; None where the walk takes too long."""
    walk = _walk(flips.raised)
    if walk.slow:
        return None
    moments = [law.moments for law in walk.laws]
    return sum(one for one, _ in moments), sum(two for _, two in moments)


# ---------------------------------------------------------------- bounds of the paper


def mean_bound(flips: Flips) -> Fraction:
    """Lemma 4.7: how far the estimate is from y on average, at most."""
    alpha, gamma = flips.alpha, flips.gamma
    # Lemma 4.7, one term for each side of y.
    return (4 * alpha + 4) / alpha**2 + (4 * gamma + 4) / gamma**2


def sharper_mean_bound(flips: Flips) -> Fraction:
    """The same by the mean of the last highest place of each walk, (3p - 4p^2) / (1 - 2p)^2; for all m and y."""
    return sum(((3 * p - 4 * p * p) / (1 - 2 * p) ** 2 for p in (flips.p, flips.raised)), Fraction(0))


def tail_bound(flips: Flips, reach: Fraction) -> float:
    """Lemma 4.9: the chance that the estimate is off y by so much or more, at most."""
    p = float(flips.raised)
    # Lemma 4.9, at the larger of the two chances, that of raised zeros.
    bound: float = 2 * (4 * p * (1 - p)) ** (float(reach) / 2) / (math.sqrt(math.pi) * (1 - 2 * p))
    return min(1.0, bound)


def quantile_bound(flips: Flips, psi: Fraction) -> float:
    """Lemma 4.10: by so much or more the estimate is off with chance psi at most."""
    p, level = float(flips.raised), float(probability(psi, "psi", zero=False))
    # Lemma 4.10: Lemma 4.9 solved for the reach.
    return 2 * math.log(2 / (level * math.sqrt(math.pi) * (1 - 2 * p))) / -math.log(4 * p * (1 - p))


# ---------------------------------------------------------------- what one moved coordinate costs


LOGS: Final = 256
"""The number of places of a logarithm that are known."""

FEW_POWERS: Final = 64
"""Up to so many factors 1 + alpha are multiplied out; the logarithms of more are added."""


def odds(alpha: Fraction, moved: Fraction) -> Fraction:
    """The largest likelihood ratio where one value moves by `moved` whole bits: (1 + alpha)^n (1 + (moved - n) alpha).

    n is the whole part of `moved`. It is never above e^(alpha moved), and is attained where a move starts at a whole
    number of bits and meets no other key.

    >>> odds(Fraction(3), Fraction(1, 3)), odds(Fraction(3), Fraction(5, 2))
    (Fraction(2, 1), Fraction(40, 1))
    """
    if moved < 0 or alpha <= 0:
        raise ParameterError.of(
            f"{text(alpha)} and {text(moved)}",
            "alpha is positive, and a move is not negative",
            "give an alpha above 0 and a move of at least 0",
        )
    n = math.floor(moved)
    # Each whole bit changes the likelihood by 1 + alpha = (1 - p) / p; the fraction is rounded at random, which mixes
    # two laws.
    return (1 + alpha) ** n * (1 + (moved - n) * alpha)


def bits_for(alpha: Fraction, ratio: Fraction) -> Fraction:
    """The most bits that one value may move for a likelihood ratio of at most this: `odds` the other way round.

    >>> bits_for(Fraction(3), Fraction(40))
    Fraction(5, 2)
    """
    if ratio < 1 or alpha <= 0:
        raise ParameterError.of(
            f"{text(alpha)} and {text(ratio)}",
            "alpha is positive, and a ratio is at least 1",
            "give an alpha above 0 and a ratio of at least 1",
        )
    ends = [
        math.floor(log / step)
        for log, step in zip(log_bounds(ratio, LOGS), reversed(log1p_bounds(alpha, LOGS)), strict=True)
    ]
    if ends[1] > FEW_POWERS:
        return _many_bits_for(alpha, ratio, ends[0])
    n = next(n for n in range(ends[1], -1, -1) if (1 + alpha) ** n <= ratio)
    return n + (ratio / (1 + alpha) ** n - 1) / alpha


def _many_bits_for(alpha: Fraction, ratio: Fraction, n: int) -> Fraction:
    """The same for at least n bits, rounded down in the last of some 200 places: (1 + alpha)**n itself may have more
    digits than there is time to multiply."""
    rest = log_bounds(ratio, LOGS)[0] - n * log1p_bounds(alpha, LOGS)[1]
    return n + min(Fraction(1), max(Fraction(0), exp_bounds(rest, LOGS)[0] - 1) / alpha)


def price_up(alpha: Fraction, moved: Fraction, step: Fraction, times: int = 1) -> Fraction:
    """The least multiple of `step` that is not below `times` times the logarithm of `odds(alpha, moved)`.

    >>> price_up(Fraction(3), Fraction(5, 2), Fraction(1, 100)), math.log(40)
    (Fraction(369, 100), 3.6888794541139363)
    """
    whole_bits = math.floor(moved)
    if whole_bits <= FEW_POWERS:
        return log_up(odds(alpha, moved), step, times)
    found: list[Fraction] = []

    def settled(precision: int) -> bool | None:
        low, high = (
            times * (whole_bits * one + rest)
            for one, rest in zip(
                log1p_bounds(alpha, precision), log1p_bounds((moved - whole_bits) * alpha, precision), strict=True
            )
        )
        if ceil_to(low, step) != ceil_to(high, step):
            return None
        found.append(ceil_to(high, step))
        return True

    decide(settled)
    return found[0]


def loss(alpha: Fraction, moved: Fraction, precision: int = 128) -> Enclosure:
    """The exact price of one moved value, in nats, enclosed."""
    return log_bounds(odds(alpha, moved), precision)
