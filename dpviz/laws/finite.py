"""The laws of GeoSample and FastSample, from what the paper says they are.

GeoSample is a count plus two-sided geometric noise, clamped to 0..n. FastSample moves the noise beyond a distance t to
the centre before it clamps, and with a small probability gives a uniform value instead.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

from dpviz.exact import Decay, Enclosure, decide, probability, whole
from dpviz.laws.clamped import Clamped
from dpviz.laws.geometric import (
    EXACTLY,
    PRECISION,
    TwoSidedGeometric,
    above_bounds,
    float_rate,
    power_bounds,
    share,
)

Case = tuple[int, int]
"""A count, as far as its error beyond a goes: its open sides, and how many of 0..n are further away than a."""


def geosample_law(n: int, p: int, q: int) -> Clamped:
    """The law of GeoSample: two-sided geometric noise of ratio q/p, clamped to 0..n."""
    return Clamped(TwoSidedGeometric(Decay.rational(Fraction(q, p))), 0, whole(n, "n"))


@dataclass(frozen=True)
class Truncated:
    """Two-sided geometric noise whose values beyond distance t are 0 instead."""

    noise: TwoSidedGeometric
    t: int

    def pmf(self, value: int) -> Enclosure:
        if abs(value) > self.t:
            return Fraction(0), Fraction(0)
        low, high = self.noise.pmf(value)
        if value != 0:
            return low, high
        moved_low, moved_high = self.noise.above(self.t)
        # Both tails beyond t are moved to 0.
        return low + 2 * moved_low, high + 2 * moved_high

    def above(self, value: int) -> Enclosure:
        if value < 0:
            low, high = self.above(-value - 1)
            return 1 - high, 1 - low
        if value >= self.t:
            return Fraction(0), Fraction(0)
        (low, high), (cut_low, cut_high) = self.noise.above(value), self.noise.above(self.t)
        return low - cut_high, high - cut_low

    def chance_above(self, value: int) -> float:
        if value < 0:
            return 1 - self.chance_above(-value - 1)
        return self.noise.chance_above(value) - self.noise.chance_above(self.t) if value < self.t else 0.0

    def sum_above(self, start: int, stop: int | None = None, precision: int = PRECISION) -> Enclosure:
        stop = self.t if stop is None else min(stop, self.t)
        if stop <= start:
            return Fraction(0), Fraction(0)
        low, high = self.noise.sum_above(start, stop, precision)
        cut_low, cut_high = power_bounds(self.noise.decay, self.t + 1, precision)  # of Pr[Z > t], times 1 + y
        y_low, y_high = self.noise.decay.bounds(precision)
        return low - (stop - start) * cut_high / (1 + y_low), high - (stop - start) * cut_low / (1 + y_high)

    def least_above(self, target: Fraction) -> int:
        def holds(a: int, precision: int) -> bool | None:
            low, high = self.enclose(a, precision)
            return True if high <= target else False if low > target else None

        return _least(holds, min(self.noise.least_above(target), self.t), self.t)

    def enclose(self, a: int, precision: int) -> Enclosure:
        """Pr[Z > a] for a >= 0, enclosed without big powers unless they are needed."""
        if a >= self.t:
            return Fraction(0), Fraction(0)
        low, high = above_bounds(self.noise.decay, a, precision)
        cut_low, cut_high = self._cut(precision)
        return low - cut_high, high - cut_low

    def _cut(self, precision: int) -> Enclosure:
        """Pr[Z > t] of the noise that is cut off, enclosed: once for each precision."""
        if precision not in self._cuts:
            self._cuts[precision] = above_bounds(self.noise.decay, self.t, precision)
        return self._cuts[precision]

    @cached_property
    def _cuts(self) -> dict[int, Enclosure]:
        return {}


@dataclass(frozen=True)
class FastSampleLaw:
    """The law of FastSample for counts in 0..n: ratio q/p, truncated at t, uniform with probability 1/g.

    Probabilities are exact fractions.
    """

    n: int
    p: int
    q: int
    g: int
    t: int

    @cached_property
    def _noise(self) -> Truncated:
        return Truncated(TwoSidedGeometric(Decay.rational(Fraction(self.q, self.p))), self.t)

    @cached_property
    def _clamped(self) -> Clamped:
        return Clamped(self._noise, 0, self.n)

    @cached_property
    def gamma(self) -> Fraction:
        """The probability that a count is uniform on 0..n."""
        return Fraction(1, self.g)

    def pmf(self, count: int, value: int) -> Fraction:
        """Pr[X = value]."""
        junk = Fraction(0 <= value <= self.n, self.n + 1)
        return (1 - self.gamma) * self._clamped.pmf(count, value)[0] + self.gamma * junk

    def cdf(self, count: int, value: int) -> Fraction:
        """Pr[X <= value]."""
        junk = Fraction(min(self.n, max(-1, value)) + 1, self.n + 1)
        return (1 - self.gamma) * self._clamped.cdf(count, value)[0] + self.gamma * junk

    def chance_above(self, count: int, value: int) -> float:
        """Pr[X > value] in floating point, for pictures."""
        junk = min(self.n + 1, max(0, self.n - value)) / (self.n + 1)
        gamma = float(self.gamma)
        return (1 - gamma) * self._clamped.chance_above(count, value) + gamma * junk

    def above_bounds(self, count: int, value: int, precision: int) -> Enclosure:
        """Pr[X > value], enclosed without big powers unless they are needed."""
        if not 0 <= value < self.n:
            return (Fraction(1), Fraction(1)) if value < 0 else (Fraction(0), Fraction(0))
        z = value - count
        low, high = self._noise.enclose(z if z >= 0 else -z - 1, precision)
        if z < 0:
            low, high = 1 - high, 1 - low
        junk = self.gamma * Fraction(self.n - value, self.n + 1)
        return (1 - self.gamma) * low + junk, (1 - self.gamma) * high + junk

    def error_tail(self, count: int, a: int) -> Fraction:
        """Pr[|X - c| > a] for a >= 0."""
        junk = Fraction(self._far(count, a), self.n + 1)
        return (1 - self.gamma) * self._clamped.error_tail(count, a)[0] + self.gamma * junk

    def error_quantile(self, count: int, beta: Fraction) -> int:
        """The least a >= 0 with Pr[|X - c| > a] <= beta."""
        room = max(count, self.n - count)
        return self._quantile(lambda a: [(self._clamped.open_sides(count, a), self._far(count, a))], beta, 1, room)

    def worst_quantile(self, beta: Fraction) -> int:
        """The least a >= 0 with Pr[|X - c| > a] <= beta for every true count c in 0..n."""
        return self.worst_quantile_of(1, beta)

    def worst_quantile_of(self, bins: int, beta: Fraction) -> int:
        """The least a >= 0 that all of `bins` independent counts keep to with probability at least 1 - beta, whatever
        they are."""
        return self._quantile(self._worst, beta, whole(bins, "bins"), self.n)

    def edge_quantile(self, beta: Fraction) -> int:
        """The least a >= 0 with Pr[|X - c| > a] <= beta for an empty bin, or a full one."""
        return self.error_quantile(0, beta)

    def bias(self, count: int, precision: int = PRECISION) -> Enclosure:
        """E[X] - c."""
        return self._mixed(self._clamped.bias(count, precision), Fraction(self.n, 2) - count)

    def expected_error(self, count: int, precision: int = PRECISION) -> Enclosure:
        """E|X - c|."""
        below, above = count, self.n - count
        junk = Fraction(below * (below + 1) + above * (above + 1), 2 * (self.n + 1))
        return self._mixed(self._clamped.expected_error(count, precision), junk)

    def _mixed(self, kept: Enclosure, junk: Fraction) -> Enclosure:
        """A mean of the noisy count, with that of a uniform value in its place as often as there is one."""
        low, high = ((1 - self.gamma) * end + self.gamma * junk for end in kept)
        return low, high

    def _far(self, count: int, a: int) -> int:
        """How many of 0..n lie further than a from the count."""
        return max(0, count - a) + max(0, self.n - count - a)

    def _worst(self, a: int) -> list[Case]:
        """The counts with the largest error tail: one in the middle, with both sides open, or one at the edge, which is
        far from more of the uniform values."""
        # At the edge one side is open, and most of the uniform values are far.
        edge = (int(a < self.n), self._far(0, a))
        return [edge] if 2 * a + 2 > self.n else [edge, (2, self._far(a + 1, a))]

    def _quantile(self, cases: Callable[[int], list[Case]], beta: Fraction, bins: int, most: int) -> int:
        """The least a in 0..most with (1 - tail)**bins >= 1 - beta for the tail beyond a of each case."""
        beta = probability(beta, "beta", zero=False)

        def holds(a: int, precision: int) -> bool | None:
            low, high = self._tail(cases(a), a, precision)
            least, greatest = share(beta, bins, precision)
            if high <= least:
                return True
            if low > greatest:
                return False
            return (1 - low) ** bins >= 1 - beta if precision >= EXACTLY else None

        return _least(holds, self._guess(cases, float(share(beta, bins)[0]), most), most)

    def _tail(self, cases: list[Case], a: int, precision: int) -> Enclosure:
        low, high = self._noise.enclose(a, precision)
        factor, junk = 1 - self.gamma, self.gamma / (self.n + 1)
        return (
            max(sides * factor * low + far * junk for sides, far in cases),
            max(sides * factor * high + far * junk for sides, far in cases),
        )

    def _guess(self, cases: Callable[[int], list[Case]], allowed: float, most: int) -> int:
        """Where the tail comes down to `allowed`, in floating point: a place to start from, never an answer."""
        rate = float_rate(self._noise.noise.decay)
        factor = (1 - float(self.gamma)) / (1 + math.exp(-rate))
        cut, junk = math.exp(-rate * (self.t + 1)), float(self.gamma) / (self.n + 1)
        low, high = 0, most
        while low < high:
            middle = (low + high) // 2
            noise = factor * max(0.0, math.exp(-rate * (middle + 1)) - cut)
            tail = max(sides * noise + far * junk for sides, far in cases(middle))
            low, high = (low, middle) if tail <= allowed else (middle + 1, high)
        return low


def _least(holds: Callable[[int, int], bool | None], guess: int, most: int) -> int:
    """The least a in 0..most that holds, where all above one that holds do, and `most` does. Sought from a guess."""

    def certain(a: int) -> bool:
        return a >= most or decide(lambda precision: holds(a, precision))

    low, high, reach = -1, most, 1  # low does not hold, high does
    at = max(0, min(guess, most))
    if certain(at):
        high = at
        while high > 0 and certain(at := max(0, high - reach)):
            high, reach = at, 2 * reach
        low = at if high > 0 else -1
    else:
        low = at
        while not certain(at := min(most, low + reach)):
            low, reach = at, 2 * reach
        high = at
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if certain(middle) else (middle, high)
    return high
