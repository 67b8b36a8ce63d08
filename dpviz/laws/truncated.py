"""The two-sided geometric law given that it lies in -K..K: Pr[Z = z] = (1 - y) / (1 + y - 2 y**(K+1)) * y**|z|.

Everything follows from one tail: Pr[Z > a] = (y**(a+1) - y**(K+1)) / (1 + y - 2 y**(K+1)) for 0 <= a <= K, and Z is
symmetric. Its tails lie below those of the law that is not truncated: so do sums of max(Z, 0).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

from dpviz.exact import Decay, Enclosure, decide, log_bounds
from dpviz.laws.geometric import PRECISION, check_flatness

FLOAT_ERROR = 1e-12
"""A logarithm in floating point is off by less than this, and so is its quotient by a rate, relatively."""

FINEST, RAREST = 1e-6, 1e-250
"""Below this rate, or this chance, no float decides."""


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
        if value < 0:
            return 1 - self.chance_above(-value - 1)
        rate, end = float(self.rate), math.exp(-float(self.rate) * (self.reach + 1))
        return max(0.0, (math.exp(-rate * (value + 1)) - end) / (1 + math.exp(-rate) - 2 * end))

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
        """The least a >= 0 with Pr[Z > a] <= target: y**(a+1) is at most target (1 + y - 2 y**(K+1)) + y**(K+1)."""
        sure = self._surely_least(target)
        if sure is not None:
            return sure
        (least, most), end = self._whole, self._end
        low, high = log_bounds(target * least + end[0])[0], log_bounds(target * most + end[1])[1]
        first, last = (max(0, -(end // self.rate) - 1) for end in (high, low))
        first, last = min(first, self.reach), min(last, self.reach)

        def holds(a: int) -> bool:
            return decide(lambda precision: _at_most(self.above(a, precision), target))

        while first < last and not holds(first):  # next to a tie alone
            first += 1
        return first

    def _surely_least(self, target: Fraction) -> int | None:
        """The same from one logarithm in floating point, where that is farther from a whole number than it errs; else
        None. With value = target (1 + y - 2 y**(K+1)) + y**(K+1) it errs by less than 10**-12 in ln(value)."""
        rate, chance = self._floats[0], float(target)
        if not rate > FINEST or not RAREST < chance < 1:
            return None
        y, end = self._floats[1:]
        steps = -math.log(chance * (1 + y - 2 * end) + end) / rate
        off = FLOAT_ERROR * (1 / rate + steps + 1)
        if abs(steps - round(steps)) <= off or steps < -off:
            return None
        return min(self.reach, max(0, math.ceil(steps) - 1))

    @cached_property
    def _floats(self) -> tuple[float, float, float]:
        """Rate, y and y**(K+1)."""
        rate = float(self.rate)
        return rate, math.exp(-rate), math.exp(-rate * (self.reach + 1))

    def quantiles(self, levels: Sequence[Fraction]) -> list[int]:
        """The least values z with Pr[Z <= z] >= level, for each level between 0 and 1."""
        tails = [min(level, 1 - level) for level in levels]
        sizes = {tail: self.least_above(tail) for tail in dict.fromkeys(tails)}
        return [sizes[tail] if 2 * level > 1 else -sizes[tail] for tail, level in zip(tails, levels, strict=True)]

    @property
    def rate(self) -> Fraction:
        assert self.decay.exponent is not None
        return self.decay.exponent

    @cached_property
    def _whole(self) -> Enclosure:
        check_flatness(self.rate)
        return self._total(PRECISION)

    @cached_property
    def _end(self) -> Enclosure:
        return self.decay.power(self.reach + 1, PRECISION)

    def _total(self, precision: int) -> Enclosure:
        """1 + y - 2 y**(K+1), enclosed."""
        found = self._totals.get(precision)
        if found is None:
            (low, high), end = self.decay.bounds(precision), self.decay.power(self.reach + 1, precision)
            found = self._totals[precision] = 1 + low - 2 * end[1], 1 + high - 2 * end[0]
        return found

    @cached_property
    def _totals(self) -> dict[int, Enclosure]:
        """The totals found so far, by precision."""
        return {}


def _at_most(tail: Enclosure, target: Fraction) -> bool | None:
    return True if tail[1] <= target else False if tail[0] > target else None
