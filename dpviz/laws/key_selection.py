"""The largest chances with which keys may be named: those of Desfontaines, Voss, Gipson, Mandayam 2020, for one key.

pi_0 = 0 and pi_n = min(e^epsilon pi_(n-1) + delta, 1 - e^-epsilon (1 - pi_(n-1) - delta), 1): no rule that names a key
of n units with (epsilon, delta)-differential privacy does so more often. The first form is the least up to one count,
the turn, and the second beyond it; both are solved there, so that no chance needs those before it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import ceil, floor

from dpviz.exact import Enclosure, exp_bounds, log_bounds

PRECISION = 128
"""Bits of the first attempt. More are taken where they are needed."""

NEVER, ALWAYS = (Fraction(0), Fraction(0)), (Fraction(1), Fraction(1))


@dataclass(frozen=True)
class SelectionChances:
    """The chances pi_n of one key, for a price of (epsilon, delta) of each record of it.

    With x = e^epsilon and E = x - 1, up to the turn t pi_n = delta (x^n - 1) / E, and beyond it
    1 - pi_n = ((E + 2 delta - delta x^t) x^-(n - t) - delta) / E. As x is transcendental for a rational epsilon, no
    comparison here ends in a tie, but for pi_1 = delta, and for delta = 1/2, where pi_2 is 1.

    >>> law = SelectionChances(Fraction(1), Fraction(1, 10**6))
    >>> round(law.chance(14), 4), law.least(Fraction(1, 2)), law.least(Fraction(19, 20)), law.sure
    (0.6999, 14, 16, 28)
    """

    epsilon: Fraction
    delta: Fraction

    def named(self, count: int, precision: int = PRECISION) -> Enclosure:
        """The chance that a key of `count` units is named, enclosed to about 2**-precision."""
        if count <= 0:
            return NEVER
        if count >= self.sure:
            return ALWAYS
        if count == 1:
            return self.delta, self.delta
        growth = self._growth(precision)
        if count <= self.turn:
            power = exp_bounds(self.epsilon * count, self._working(precision))
            return self.delta * (power[0] - 1) / growth[1], self.delta * (power[1] - 1) / growth[0]
        left = self._at_turn(precision)
        fall = exp_bounds(-self.epsilon * (count - self.turn), self._working(precision))
        missed = (left[0] * fall[0] - self.delta) / growth[1], (left[1] * fall[1] - self.delta) / growth[0]
        return max(Fraction(0), 1 - missed[1]), min(Fraction(1), 1 - missed[0])

    def chance(self, count: int) -> float:
        """The same in floating point, for pictures."""
        return float(self.named(count, 64)[0])

    def least(self, chance: Fraction) -> int:
        """The least count that is named with at least this chance, which is above 0 and below 1."""
        if chance <= self.delta:
            return 1
        if self.delta * 2 >= 1:
            return 2

        def rising(precision: int) -> Enclosure:
            low, high = (1 + chance * end / self.delta for end in self._growth(precision))
            return _steps(low, high, self.epsilon, precision)

        def falling(precision: int) -> Enclosure:
            growth, left = self._growth(precision), self._at_turn(precision)
            missed = [(1 - chance) * end + self.delta for end in growth]
            return _steps(left[0] / missed[1], left[1] / missed[0], self.epsilon, precision)

        first = _whole(ceil, rising)
        return first if first <= self.turn else min(self.sure, self.turn + _whole(ceil, falling))

    @cached_property
    def turn(self) -> int:
        """The last count up to which the first form is the least: pi_(n-1) is at most (1 - delta) / (x + 1) there."""

        def last(precision: int) -> Enclosure:
            growth = self._growth(precision)
            ends = [(end + 2 * self.delta) / (self.delta * (end + 2)) for end in growth]  # grows with E
            return _steps(max(Fraction(1), ends[0]), ends[1], self.epsilon, precision)

        return 1 + _whole(floor, last)

    @cached_property
    def sure(self) -> int:
        """The least count that is always named."""
        if self.delta * 2 >= 1:
            return 2

        def last(precision: int) -> Enclosure:
            left = self._at_turn(precision)
            return _steps(left[0] / self.delta, left[1] / self.delta, self.epsilon, precision)

        return self.turn + _whole(ceil, last)

    def _working(self, precision: int) -> int:
        """Bits that leave `precision` of them after 1 was taken away from e^epsilon."""
        return precision + 16 + (self.epsilon.denominator // self.epsilon.numerator).bit_length()

    def _growth(self, precision: int) -> Enclosure:
        """E = e^epsilon - 1."""
        low, high = exp_bounds(self.epsilon, self._working(precision))
        return low - 1, high - 1

    def _at_turn(self, precision: int) -> Enclosure:
        """E + 2 delta - delta x^t, which is E (1 - pi_t) + delta."""
        growth, power = self._growth(precision), exp_bounds(self.epsilon * self.turn, self._working(precision))
        return growth[0] + 2 * self.delta - self.delta * power[1], growth[1] + 2 * self.delta - self.delta * power[0]


def _steps(low: Fraction, high: Fraction, epsilon: Fraction, precision: int) -> Enclosure:
    """ln / epsilon of a number of at least 1 that is enclosed."""
    return log_bounds(low, precision)[0] / epsilon, log_bounds(high, precision)[1] / epsilon


def _whole(rounded: Callable[[Fraction], int], enclosed: Callable[[int], Enclosure]) -> int:
    """A number rounded to a whole one, from an enclosure that is narrowed until both of its ends agree."""
    precision = PRECISION
    while True:
        low, high = map(rounded, enclosed(precision))
        if low == high:
            return low
        precision *= 2
