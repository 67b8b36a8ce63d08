"""The law of one released count: clip(c + Z, low, high) for symmetric noise Z and a true count c."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Protocol

from dpviz.errors import ParameterError
from dpviz.exact import Enclosure
from dpviz.laws.geometric import PRECISION


class SymmetricLaw(Protocol):
    """A law on the integers that is symmetric around 0."""

    def pmf(self, value: int) -> Enclosure: ...

    def above(self, value: int) -> Enclosure:
        """Pr[Z > value]."""
        ...

    def chance_above(self, value: int) -> float:
        """Pr[Z > value] in floating point, for pictures."""
        ...

    def sum_above(self, start: int, stop: int | None = None, precision: int = PRECISION) -> Enclosure:
        """The sum of Pr[Z > a] over start <= a < stop."""
        ...

    def least_above(self, target: Fraction) -> int:
        """The least a >= 0 with Pr[Z > a] <= target."""
        ...


@dataclass(frozen=True)
class Clamped:
    """X = clip(c + Z, low, high) as a function of the true count c; None leaves a side open.

    A side of c is open at distance a where X can be further away than a on it: above c where c + a < high, below where
    c - a > low. The error exceeds a with probability Pr[Z > a] times the number of open sides.
    """

    noise: SymmetricLaw
    low: int | None = None
    high: int | None = None

    def __post_init__(self) -> None:
        if self.low is not None and self.high is not None and self.low > self.high:
            raise ParameterError.of(
                f"{self.low}..{self.high}",
                "the low end of a clamp must not exceed its high end",
                "write the smaller end first",
            )

    def pmf(self, count: int, value: int) -> Enclosure:
        """Pr[X = value]; the ends of the clamp carry what would fall beyond them."""
        below, above = self._rooms(count)
        z = value - count
        if (below is not None and z < -below) or (above is not None and z > above):
            return Fraction(0), Fraction(0)
        at_low, at_high = below is not None and z == -below, above is not None and z == above
        if at_low and at_high:
            return Fraction(1), Fraction(1)
        if at_low:
            return self.noise.above(-z - 1)  # Pr[Z <= z] = Pr[Z >= -z]
        return self.noise.above(z - 1) if at_high else self.noise.pmf(z)

    def cdf(self, count: int, value: int) -> Enclosure:
        """Pr[X <= value]."""
        below, above = self._rooms(count)
        z = value - count
        if below is not None and z < -below:
            return Fraction(0), Fraction(0)
        if above is not None and z >= above:
            return Fraction(1), Fraction(1)
        low, high = self.noise.above(z)
        return 1 - high, 1 - low

    def chance_above(self, count: int, value: int) -> float:
        """Pr[X > value] in floating point, for pictures."""
        below, above = self._rooms(count)
        z = value - count
        if below is not None and z < -below:
            return 1.0
        return 0.0 if above is not None and z >= above else self.noise.chance_above(z)

    def open_sides(self, count: int, a: int) -> int:
        """How many sides of the count leave room for an error above a."""
        return sum(room is None or room > a for room in self._rooms(count))

    def error_tail(self, count: int, a: int) -> Enclosure:
        """Pr[|X - c| > a] for a >= 0."""
        sides = self.open_sides(count, a)
        low, high = self.noise.above(a)
        return sides * low, sides * high

    def error_quantile(self, count: int, beta: Fraction) -> int:
        """The least a >= 0 with Pr[|X - c| > a] <= beta."""
        rooms = [room for room in self._rooms(count) if room is not None]
        both = self.noise.least_above(beta / 2)
        if all(both < room for room in rooms):
            return both
        # With one side closed at the distance of the nearer end, all of beta is for the other side.
        one = max(min(rooms), self.noise.least_above(beta))
        return one if len(rooms) < 2 else min(one, max(rooms))

    def bias(self, count: int, precision: int = PRECISION) -> Enclosure:
        """E[X] - c."""
        below, above = self._rooms(count)
        if below is None and above is None:
            return Fraction(0), Fraction(0)
        if above is None or (below is not None and above >= below):
            assert below is not None
            return self.noise.sum_above(below, above, precision)
        low, high = self.noise.sum_above(above, below, precision)
        return -high, -low

    def expected_error(self, count: int, precision: int = PRECISION) -> Enclosure:
        """E|X - c|."""
        sums = [self.noise.sum_above(0, room, precision) for room in self._rooms(count)]
        return sum((low for low, _ in sums), Fraction(0)), sum((high for _, high in sums), Fraction(0))

    def _rooms(self, count: int) -> tuple[int | None, int | None]:
        """The steps that the count may move down and up."""
        below = None if self.low is None else count - self.low
        above = None if self.high is None else self.high - count
        if (below is not None and below < 0) or (above is not None and above < 0):
            raise ParameterError.of(
                count,
                f"a true count must lie in {self.low}..{self.high}",
                "give a count in this range, or a wider clamp",
            )
        return below, above
