"""The two-sided geometric law given that it lies in -K..K: Pr[Z = z] = (1 - y) / (1 + y - 2 y**(K+1)) * y**|z|.

Everything follows from one tail: Pr[Z > a] = (y**(a+1) - y**(K+1)) / (1 + y - 2 y**(K+1)) for 0 <= a <= K, and Z is
symmetric. Its tails lie below those of the law that is not truncated: so do sums of max(Z, 0).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction

from dpviz.exact import Decay, Enclosure, decide
from dpviz.laws import geometric
from dpviz.laws.geometric import PRECISION


@dataclass(frozen=True)
class TruncatedGeometric:
    """Noise of a decay y = exp(-rate) on -reach..reach.

    >>> law = TruncatedGeometric(Decay.exp(Fraction(1, 2)), 9)
    >>> law.least_above(Fraction(1, 40)), law.least_above(Fraction(1, 10**9)), law.chance_above(9)
    (6, 9, 0.0)
    """

    decay: Decay
    reach: int

    def pmf(self, value: int, precision: int = PRECISION) -> Enclosure:
        """Pr[Z = value], enclosed."""
        if abs(value) > self.reach:
            return Fraction(0), Fraction(0)
        (low, high), (least, most) = self.decay.bounds(precision), self._total(precision)
        power = self.decay.power(abs(value), precision)
        return power[0] * (1 - high) / most, power[1] * (1 - low) / least

    def above(self, value: int, precision: int = PRECISION) -> Enclosure:
        """Pr[Z > value], enclosed."""
        if value < 0:
            low, high = self.above(-value - 1, precision)
            return 1 - high, 1 - low
        if value >= self.reach:
            return Fraction(0), Fraction(0)
        least, most = self._total(precision)
        power, left = self.decay.power(value + 1, precision), self.decay.power(self.reach - value, precision)
        return power[0] * (1 - left[1]) / most, power[1] * (1 - left[0]) / least

    def chance_above(self, value: int) -> float:
        """Pr[Z > value] in floating point, for pictures."""
        return float(self.above(value, 64)[0])

    def sum_above(self, start: int, stop: int | None = None, precision: int = PRECISION) -> Enclosure:
        """The sum of Pr[Z > a] over start <= a < stop, for start >= 0."""
        stop = self.reach if stop is None else min(stop, self.reach)
        if stop <= start:
            return Fraction(0), Fraction(0)
        (low, high), (least, most) = self.decay.bounds(precision), self._total(precision)
        first, last = self.decay.power(start + 1, precision), self.decay.power(stop + 1, precision)
        end = self.decay.power(self.reach + 1, precision)
        smallest = (first[0] - last[1]) / (1 - low) - (stop - start) * end[1]
        largest = (first[1] - last[0]) / (1 - high) - (stop - start) * end[0]
        return max(Fraction(0), smallest) / most, largest / least

    def least_above(self, target: Fraction) -> int:
        """The least a >= 0 with Pr[Z > a] <= target."""

        def holds(a: int) -> bool:
            return decide(lambda precision: _at_most(self.above(a, precision), target))

        return _least(holds, self.near(target), self.reach)

    def near(self, target: Fraction) -> int:
        """About the same, and never below it: that of the law that is not truncated, up to the reach."""
        if 2 * target >= 1:
            return 0
        return min(self.reach, geometric.error_quantile(self.decay, target, 1))

    def quantiles(self, levels: Sequence[Fraction]) -> list[int]:
        """The least values z with Pr[Z <= z] >= level, for each level between 0 and 1."""
        sizes = [self.least_above(min(level, 1 - level)) for level in levels]
        return [size if 2 * level > 1 else -size for size, level in zip(sizes, levels, strict=True)]

    def _total(self, precision: int) -> Enclosure:
        """1 + y - 2 y**(K+1), enclosed."""
        (low, high), end = self.decay.bounds(precision), self.decay.power(self.reach + 1, precision)
        return 1 + low - 2 * end[1], 1 + high - 2 * end[0]


def _at_most(tail: Enclosure, target: Fraction) -> bool | None:
    return True if tail[1] <= target else False if tail[0] > target else None


def _least(holds: Callable[[int], bool], near: int, most: int) -> int:
    """The least whole number from 0 to `most`, which holds, that does; `near` holds and is seldom far above it."""
    low, high, step = -1, min(near, most), 1
    while high - step > low and holds(high - step):
        high, step = high - step, 2 * step
    low = max(low, high - step)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if holds(middle) else (middle, high)
    return high
