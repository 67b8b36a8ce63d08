"""The discrete Gaussian law, Pr[Z = z] proportional to exp(-z**2 / (2 * variance)), and the errors it makes.

Two ways lead to a sum of weights. Where there are few, they are added up. Elsewhere the sum is compared with an
integral: beyond one standard deviation exp(-x**2 / (2 * variance)) is convex, so that

    integral from m on + first weight / 2  <=  sum of the weights from m on  <=  integral from m - 1/2 on,

and the sum of all weights is sqrt(2 pi variance) (1 + 2 sum of exp(-2 pi**2 j**2 variance)) by Poisson's summation.
The sampler knows nothing of this file, so comparing them is a test.
Source: Canonne, Kamath, Steinke 2020, "The Discrete Gaussian for Differential Privacy", Definition 1, Fact 20.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

import gmpy2
import numpy as np
from numpy.typing import NDArray

from dpviz.errors import ParameterError
from dpviz.exact import (
    Enclosure,
    decide,
    directed,
    exp_bounds,
    from_mpfr,
    log_bounds,
    positive,
    probability,
    text,
    whole,
)

PRECISION = 128

MOST_ADDED = 1 << 10
"""Weights are added up one by one up to this standard deviation."""


@dataclass(frozen=True)
class DiscreteGaussian:
    """Z with Pr[Z = z] proportional to exp(-z**2 / (2 * variance)). Mean 0; its variance is at most `variance`.

    >>> law = DiscreteGaussian(Fraction(1))
    >>> round(float(law.pmf(0)[0]), 6), round(float(law.above(0)[0]), 6)
    (0.398942, 0.300529)
    """

    variance: Fraction

    def __post_init__(self) -> None:
        positive(self.variance, "variance")

    def pmf(self, value: int, precision: int = PRECISION) -> Enclosure:
        """Pr[Z = value]."""
        low, high = _weight(self.variance, value, precision)
        least, most = _all(self.variance, precision)
        return low / most, high / least

    def above(self, value: int, precision: int = PRECISION) -> Enclosure:
        """Pr[Z > value]."""
        if value < 0:
            low, high = self.above(-value - 1, precision)
            return 1 - high, 1 - low
        low, high = _from(self.variance, value + 1, precision)
        least, most = _all(self.variance, precision)
        return low / most, high / least

    def cdf(self, value: int, precision: int = PRECISION) -> Enclosure:
        """Pr[Z <= value]."""
        low, high = self.above(value, precision)
        return 1 - high, 1 - low

    def error_quantile(self, beta: Fraction, sides: int = 2) -> int:
        """The least a >= 0 with sides * Pr[Z > a] <= beta, or where the weights are too many to be added up, and the
        integrals do not part, the next whole number.

        >>> DiscreteGaussian(Fraction(100)).error_quantile(Fraction(1, 20))
        20
        """
        target = probability(beta, "beta", zero=False) / whole(sides, "sides", most=2)
        low, high = -1, 1 + math.isqrt(int(2 * self.variance * (log_bounds(1 / target)[1] + 1)) + 1)
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (low, middle) if self._stays_below(middle, target) else (middle, high)
        return high

    def simultaneous_quantile(self, beta: Fraction, bins: int) -> int:
        """The least a >= 0 with bins * Pr[|Z| > a] <= beta (the union bound), as far as `error_quantile` tells."""
        return self.error_quantile(probability(beta, "beta", zero=False) / whole(bins, "bins"))

    def _stays_below(self, value: int, target: Fraction) -> bool:
        """Whether Pr[Z > value] <= target; no, where only infinitely many digits would tell."""

        def asked(precision: int) -> bool | None:
            low, high = self.above(value, precision)
            if high <= target:
                return True
            return False if low > target or self._blurred else None

        return decide(asked)

    @property
    def _blurred(self) -> bool:
        """Whether probabilities are known as closely as integrals tell, at any precision."""
        return self.variance > MOST_ADDED**2

    def pmf_array(self, values: NDArray[np.int64]) -> NDArray[np.float64]:
        """Pr[Z = value] in floating point, for pictures."""
        drawn: NDArray[np.float64] = np.exp(-(values.astype(float) ** 2) / (2 * float(self.variance)))
        return drawn / float(_all(self.variance, PRECISION)[1])

    def spread(self) -> float:
        """The standard deviation of Z itself in floating point, for pictures."""
        if self.variance > 16:  # where the sum and the integral agree to more digits than a float has
            return math.sqrt(self.variance)
        values = np.arange(-60, 61)
        return math.sqrt(float((self.pmf_array(values) * values**2).sum()))


def zcdp(l2_squared: Fraction, variance: Fraction) -> Fraction:
    """rho of independent discrete Gaussian noise on whole numbers that one unit moves by at most sqrt(l2_squared).

    Concentrated differential privacy of rho = l2_squared / (2 * variance), for any number of coordinates.
    Source: Canonne, Kamath, Steinke 2020, Theorem 4 and its extension to several coordinates.

    >>> zcdp(Fraction(2), Fraction(4))
    Fraction(1, 4)
    """
    if l2_squared < 0:
        raise ParameterError.of(text(l2_squared), "a squared distance is at least 0", "give 0 or more")
    return l2_squared / (2 * positive(variance, "variance"))


# ---------------------------------------------------------------- sums of weights


def _weight(variance: Fraction, value: int, precision: int) -> Enclosure:
    return _exp(-Fraction(value * value) / (2 * variance), precision)


def _exp(power: Fraction, precision: int) -> Enclosure:
    """exp(power) for power <= 0, enclosed; far below what the precision is for, between 0 and a number that small."""
    least = Fraction(-4 * precision)
    return exp_bounds(power, precision) if power > least else (Fraction(0), exp_bounds(least, precision)[1])


@lru_cache(maxsize=256)
def _all(variance: Fraction, precision: int) -> Enclosure:
    """The sum of all weights: sqrt(2 pi variance) times 1 + 2 sum over j >= 1 of exp(-2 pi**2 j**2 variance).

    Where that is not close enough, the variance is small, and the weights themselves are added up.
    """
    if 16 * variance < precision:
        low, high = _added(variance, precision)[0]
        least, most = _from(variance, 1, precision)
        return low + least, high + most
    ends = []
    for context, up in zip(directed(precision + 16), (False, True), strict=True):
        with context:
            v = gmpy2.mpfr(gmpy2.mpq(variance.numerator, variance.denominator))
            root = gmpy2.sqrt(2 * gmpy2.const_pi() * v)
            ends.append(from_mpfr(root))
        if up:
            ends[-1] *= 1 + 3 * _beyond_one(variance, precision)
    return ends[0], ends[1]


def _beyond_one(variance: Fraction, precision: int) -> Fraction:
    """Above the sum over j >= 1 of exp(-2 pi**2 j**2 variance), which is below 1.01 exp(-19 variance) from 1 on."""
    return _exp(-19 * variance, precision)[1]


def _from(variance: Fraction, m: int, precision: int) -> Enclosure:
    """The sum of the weights from m >= 1 on."""
    if variance <= MOST_ADDED**2:
        sums = _added(variance, precision)
        low, high = sums[min(m, len(sums) - 1)]
        return (low if m < len(sums) - 1 else Fraction(0)), high
    if m * m <= 4 * variance:  # the middle, where a weight is not convex: one weight more or less is all that is off
        low, high = _integral(variance, Fraction(m), precision)
        return low, high + _weight(variance, m, precision)[1]
    low = _integral(variance, Fraction(m), precision)[0] + _weight(variance, m, precision)[0] / 2
    return low, _integral(variance, Fraction(2 * m - 1, 2), precision)[1]


def _integral(variance: Fraction, start: Fraction, precision: int) -> Enclosure:
    """The integral of exp(-x**2 / (2 * variance)) from start >= 0 on: sqrt(pi variance / 2) erfc(start / sqrt(2 v))."""
    v = gmpy2.mpq(variance.numerator, variance.denominator)
    ends = []
    lower, upper = directed(precision + 16)
    for outward, inward in ((lower, upper), (upper, lower)):
        with outward:
            root = gmpy2.sqrt(2 * gmpy2.mpfr(v))
        with inward:  # erfc falls, so its argument is rounded the other way
            at = gmpy2.mpfr(gmpy2.mpq(start.numerator, start.denominator)) / root
        with outward:
            ends.append(from_mpfr(gmpy2.sqrt(gmpy2.const_pi() * gmpy2.mpfr(v) / 2) * gmpy2.erfc(at)))
    return ends[0], ends[1]


@lru_cache(maxsize=64)
def _added(variance: Fraction, precision: int) -> Sequence[Enclosure]:
    """At each m the sum of the weights from m on; the last is all that is beyond, from above.

    Added up as whole numbers of 2**-places, each weight by itself rounded down and up.
    """
    places = precision + 32
    reach = math.isqrt(int(2 * variance * places)) + 2
    lows, highs = [0], [1 + int(2 * variance) + 1]
    for z in range(reach, -1, -1):
        low, high = _weight(variance, z, places)
        lows.append(lows[-1] + (low.numerator << places) // low.denominator)
        highs.append(highs[-1] - (-(high.numerator << places) // high.denominator))
    one = Fraction(1, 1 << places)
    return [(low * one, high * one) for low, high in zip(reversed(lows), reversed(highs), strict=True)]
