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
from dpviz.laws.geometric import EXACTLY, TwoSidedGeometric, above_bounds, float_rate, share


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
        return low + 2 * moved_low, high + 2 * moved_high

    def above(self, value: int) -> Enclosure:
        if value < 0:
            low, high = self.above(-value - 1)
            return 1 - high, 1 - low
        if value >= self.t:
            return Fraction(0), Fraction(0)
        (low, high), (cut_low, cut_high) = self.noise.above(value), self.noise.above(self.t)
        return low - cut_high, high - cut_low

    def sum_above(self, start: int, stop: int | None = None) -> float:
        stop = self.t if stop is None else min(stop, self.t)
        if stop <= start:
            return 0.0
        rate = float_rate(self.noise.decay)
        cut = math.exp(-rate * (self.t + 1)) / (1 + math.exp(-rate))
        return self.noise.sum_above(start, stop) - (stop - start) * cut

    def least_above(self, target: Fraction) -> int:
        def holds(a: int, precision: int) -> bool | None:
            low, high = self.enclose(a, precision)
            return True if high <= target else False if low > target else None

        return _least(holds, min(self.noise.least_above(target), self.t), self.t)

    def enclose(self, a: int, precision: int) -> Enclosure:
        """Pr[Z > a] for a >= 0, enclosed without big powers unless they are needed."""
        if a >= self.t:
            return Fraction(0), Fraction(0)
        (low, high), (cut_low, cut_high) = (above_bounds(self.noise.decay, at, precision) for at in (a, self.t))
        return low - cut_high, high - cut_low


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
        return float(1 - self.cdf(count, value))

    def error_tail(self, count: int, a: int) -> Fraction:
        """Pr[|X - c| > a] for a >= 0."""
        far = self._far(count, a)
        return (1 - self.gamma) * self._clamped.error_tail(count, a)[0] + self.gamma * far

    def error_quantile(self, count: int, beta: Fraction) -> int:
        """The least a >= 0 with Pr[|X - c| > a] <= beta."""
        beta = probability(beta, "beta", zero=False)
        room = max(count, self.n - count)

        def tail(a: int, precision: int) -> Enclosure:
            return self._mix(self._clamped.open_sides(count, a), self._far(count, a), a, precision)

        return self._quantile(tail, beta, 1, room)

    def worst_quantile(self, beta: Fraction) -> int:
        """The least a >= 0 with Pr[|X - c| > a] <= beta for every true count c in 0..n."""
        return self.worst_quantile_of(1, beta)

    def worst_quantile_of(self, bins: int, beta: Fraction) -> int:
        """The least a >= 0 that all of `bins` independent counts keep to with probability at least 1 - beta, whatever
        they are."""
        return self._quantile(self._worst, probability(beta, "beta", zero=False), whole(bins, "bins"), self.n)

    def edge_quantile(self, beta: Fraction) -> int:
        """The least a >= 0 with Pr[|X - c| > a] <= beta for an empty bin, or a full one."""
        return self.error_quantile(0, beta)

    def bias(self, count: int) -> float:
        """E[X] - c."""
        gamma = float(self.gamma)
        return (1 - gamma) * self._clamped.bias(count) + gamma * (self.n / 2 - count)

    def mean(self, count: int) -> float:
        """E[X]."""
        return count + self.bias(count)

    def expected_error(self, count: int) -> float:
        """E|X - c|."""
        below, above = count, self.n - count
        junk = (below * (below + 1) + above * (above + 1)) / (2 * (self.n + 1))
        gamma = float(self.gamma)
        return (1 - gamma) * self._clamped.expected_error(count) + gamma * junk

    def _far(self, count: int, a: int) -> Fraction:
        """The share of 0..n that lies further than a from the count."""
        return Fraction(max(0, count - a) + max(0, self.n - count - a), self.n + 1)

    def _mix(self, sides: int, far: Fraction, a: int, precision: int) -> Enclosure:
        low, high = self._noise.enclose(a, precision)
        factor, junk = (1 - self.gamma) * sides, self.gamma * far
        return factor * low + junk, factor * high + junk

    def _worst(self, a: int, precision: int) -> Enclosure:
        """The largest error tail of any count: one in the middle with both sides open, or one at the edge, for which
        most uniform values are far."""
        edge = self._mix(int(a < self.n), self._far(0, a), a, precision)
        if 2 * a + 2 > self.n:
            return edge
        middle = self._mix(2, self._far(a + 1, a), a, precision)
        return max(edge[0], middle[0]), max(edge[1], middle[1])

    def _quantile(self, tail: Callable[[int, int], Enclosure], beta: Fraction, bins: int, most: int) -> int:
        """The least a in 0..most with (1 - tail(a))**bins >= 1 - beta."""

        def holds(a: int, precision: int) -> bool | None:
            low, high = tail(a, precision)
            least, greatest = share(beta, bins, precision)
            if high <= least:
                return True
            if low > greatest:
                return False
            return (1 - low) ** bins >= 1 - beta if precision >= EXACTLY else None

        allowed = float(share(beta, bins)[0])
        return _least(holds, self._guess(allowed), most)

    def _guess(self, allowed: float) -> int:
        """Roughly where the tail of a count in the middle comes down to `allowed`."""
        rate = float_rate(self._noise.noise.decay)
        gamma = float(self.gamma)

        def tail(a: int) -> float:
            cut = math.exp(-rate * (self.t + 1)) if a < self.t else math.exp(-rate * (a + 1))
            noise = 2 * (math.exp(-rate * (a + 1)) - cut) / (1 + math.exp(-rate))
            return (1 - gamma) * noise + gamma * max(0.0, self.n - 2 * a) / (self.n + 1)

        low, high = 0, self.n
        while low < high:
            middle = (low + high) // 2
            low, high = (low, middle) if tail(middle) <= allowed else (middle + 1, high)
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
