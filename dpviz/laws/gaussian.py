"""The discrete Gaussian law, Pr[Z = z] proportional to exp(-z**2 / (2 * variance)), and the errors it makes.

Two ways lead to a sum of weights. Where there are few, they are added up. Elsewhere the sum is compared with an
integral: beyond one standard deviation exp(-x**2 / (2 * variance)) is convex, so that

    integral from m on + first weight / 2  <=  sum of the weights from m on  <=  integral from m - 1/2 on,

and the sum of all weights is sqrt(2 pi variance) (1 + 2 sum of exp(-2 pi**2 j**2 variance)) by Poisson's summation.
Euler and Maclaurin's formula with its remainder is closer to the integral, but where a tail is extreme.
With eight terms it needs no other (`chance_from`).
The sampler knows nothing of this file, so comparing them is a test.
Source: Canonne, Kamath, Steinke 2020, "The Discrete Gaussian for Differential Privacy", Definition 1, Fact 20.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any

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
from dpviz.laws.gaussian_loss import log_tail, tail_surely_below
from dpviz.laws.geometric import log_all
from dpviz.laws.search import least

PRECISION = 128

BERNOULLI = tuple(
    gmpy2.mpq(*one) for one in ((1, 6), (-1, 30), (1, 42), (-1, 30), (5, 66), (-691, 2730), (7, 6), (-3617, 510))
)
"""B_2, B_4, ..., B_16."""

MOST_ADDED = 1 << 10
"""Weights are added up one by one up to this standard deviation."""


WIDE = 64
"""Above this variance a single tail is compared with integrals first."""

CLOSE, FINE = 24, 256
"""Binary digits of it that are enough, up to this precision."""


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
        return self._least(lambda a: self._stays_below(a, target), target)

    def simultaneous_quantile(self, beta: Fraction, bins: int) -> int:
        """The least a >= 0 with bins * Pr[|Z| > a] <= beta (the union bound), as far as `error_quantile` tells."""
        return self.error_quantile(probability(beta, "beta", zero=False) / whole(bins, "bins"))

    def joint_quantile(self, beta: Fraction, two_sided: int, one_sided: int = 0) -> int:
        """The least a >= 0 with (1 - 2s)**two_sided * (1 - s)**one_sided >= 1 - beta, where s = Pr[Z > a], as far as
        `error_quantile` tells.

        Independent numbers of which some err on both sides, and some on one side, are all within a with probability at
        least 1 - beta.

        >>> DiscreteGaussian(Fraction(100)).joint_quantile(Fraction(1, 20), 42)
        32
        """
        beta = probability(beta, "beta", zero=False)
        if two_sided + one_sided == 0:
            return 0
        tails = 2 * two_sided + one_sided
        # 1 - (1 - beta)^(1 / tails), a place to start from.
        near = Fraction(-math.expm1(math.log1p(-float(beta)) / tails)) or beta / tails  # where the search begins
        return self._least(lambda a: self.holds(a, beta, two_sided, one_sided), near)

    def holds(self, value: int, beta: Fraction, two_sided: int, one_sided: int = 0) -> bool:
        """Whether `joint_quantile` is at most this."""
        return self._within(value, beta, two_sided, one_sided) is True

    def is_least(self, value: int, beta: Fraction, two_sided: int, one_sided: int = 0) -> bool:
        """Whether no smaller number than this one, which holds, would do in `joint_quantile`."""
        return value == 0 or self._within(value - 1, beta, two_sided, one_sided) is False

    def least_above(self, target: Fraction) -> int:
        """The least a >= 0 with Pr[Z > a] <= target, as far as `error_quantile` tells."""
        return self.error_quantile(target, 1)

    def quantile_bounds(self, level: Fraction) -> tuple[int, int]:
        """Two numbers between which is the least z with Pr[Z <= z] >= level; equal where it is decided."""
        value = self.quantiles([level])[0]
        if not self._blurred:
            return value, value
        fails = self.above(value - 1)[0] > 1 - level
        return (value if fails else value - 1), value

    def quantiles(self, probabilities: Iterable[Fraction]) -> list[int]:
        """For each probability the least z with Pr[Z <= z] >= probability, away from 0 where integrals do not tell."""
        levels = list(probabilities)
        reach = {level: self.least_above(level) for level in {min(level, 1 - level) for level in levels}}
        return [reach[1 - level] if 2 * level > 1 else -reach[level] for level in levels]

    def sum_above(self, start: int, stop: int | None = None, precision: int = PRECISION) -> Enclosure:
        """The sum of Pr[Z > a] over start <= a < stop, for 0 <= start. From 0 on: the mean of the positive part."""
        if stop is not None and stop <= start:
            return Fraction(0), Fraction(0)
        low, high = _beyond(self.variance, start, precision)
        cut_low, cut_high = (Fraction(0), Fraction(0)) if stop is None else _beyond(self.variance, stop, precision)
        least, most = _all(self.variance, precision)
        return max(Fraction(0), low - cut_high) / most, (high - cut_low) / least

    def moment2(self, precision: int = PRECISION) -> Enclosure:
        """E Z**2: the variance of Z itself, which is at most `variance`.

        Where that is above 16, E Z**2 = v (1 - 4 pi**2 v sum j**2 e(j) / sum e(j)) with e(j) = exp(-2 pi**2 j**2 v) by
        Poisson's summation, and what is taken away is below 80 v**2 exp(-19 v).
        """
        v = self.variance
        if v > 16:
            # Poisson summation: 2 pi^2 > 19, and 8 pi^2 < 80.
            return v - 80 * v * v * _exp(-19 * v, precision)[1], v
        least, most = _all(v, precision)
        reach = math.isqrt(int(2 * v * 2 * precision)) + 2
        weights = [_weight(v, z, 2 * precision) for z in range(reach + 1)]
        low = sum((2 * z * z * one[0] for z, one in enumerate(weights)), Fraction(0))
        high = sum((2 * z * z * one[1] for z, one in enumerate(weights)), Fraction(0))
        beyond = Fraction(16 * (reach + 2) ** 3, 1 << precision)  # the weights there fall by more than z**2 grows
        return low / most, (high + beyond) / least

    def chance_above(self, value: int) -> float:
        """Pr[Z > value] in floating point, for pictures."""
        if value < 0:
            return 1 - self.chance_above(-value - 1)
        return math.exp(log_tail(self.variance, value + 1))

    def _least(self, holds: Callable[[int], bool], near: Fraction) -> int:
        """The least a >= 0 that holds, where all above one that holds do; looked for from where Pr[Z > a] is near."""
        from scipy.special import ndtri

        wanted = -math.sqrt(self.variance) * float(ndtri(max(float(near), 1e-300)))
        return least(holds, near=math.floor(wanted))

    def floors(self, bits: int) -> list[int]:
        """Pr[Z = 0], Pr[Z = 1], ... in units of 2**-bits, rounded down, as far as they are not 0."""
        sums = _sums(self.variance, bits + 32)
        total = sums.highs[0] + sums.highs[1]
        found = [(weight << bits) // total for weight in sums.weights]
        return found[: next((at for at, one in enumerate(found) if not one), len(found))]

    def _within(self, value: int, beta: Fraction, two_sided: int, one_sided: int) -> bool | None:
        """Whether all of so many numbers are within `value` with probability at least 1 - beta; None where the
        integrals do not tell."""

        def asked(precision: int) -> bool | None:
            low, high = self.above(value, precision)
            least, most = log_bounds(1 - beta, precision)
            if 2 * high < 1 and log_all(high, two_sided, one_sided, precision)[0] >= most:
                return True
            if 2 * low >= 1 or log_all(low, two_sided, one_sided, precision)[1] < least:
                return False
            return None

        return asked(2 * PRECISION) if self._blurred else decide(asked)

    def _stays_below(self, value: int, target: Fraction) -> bool:
        """Whether Pr[Z > value] <= target, for a value of at least 0; no, where only infinitely many digits would tell.
        Floating point tells where it is sure."""
        surely = tail_surely_below(self.variance, value + 1, target)
        if surely is not None:
            return surely

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
    # Canonne, Kamath, Steinke 2020, Theorem 4: rho = D^2 / (2 sigma^2), added up over coordinates.
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
        sums = _sums(variance, precision + 32)
        lows, highs = sums.lows[0] + sums.lows[1], sums.highs[0] + sums.highs[1]
        return Fraction(lows, 1 << sums.places), Fraction(highs, 1 << sums.places)
    ends = []
    for context, up in zip(directed(precision + 16), (False, True), strict=True):
        with context:
            v = gmpy2.mpfr(gmpy2.mpq(variance.numerator, variance.denominator))
            # Poisson summation (Fact 20): the sum is at least this integral, and larger by a factor that is added when
            # rounding up.
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
        sums = _sums(variance, precision + 32)
        at = min(m, len(sums.highs) - 1)
        return Fraction(sums.lows[at], 1 << sums.places), Fraction(sums.highs[at], 1 << sums.places)
    (least, most), weight = _integral(variance, Fraction(m), precision), _weight(variance, m, precision)
    near, t = 1 / (variance * math.isqrt(int(variance))), Fraction(m, math.isqrt(int(variance)))
    # Euler and Maclaurin: integral + w(m) / 2 - w'(m) / 12, where -w'(m) = m w(m) / v; the remainder is `off` times the
    # weight.
    slope, off = m / (12 * variance), (2 * t**3 + 12 * t + 16) / 700 * near
    low, high = least + (Fraction(1, 2) + slope - off) * weight[0], most + (Fraction(1, 2) + slope + off) * weight[1]
    if m * m <= 4 * variance:  # the middle, where a weight is not convex
        return low, high
    # A convex weight: the trapezoids lie above the integral, the midpoints below.
    low = max(low, least + weight[0] / 2)
    return low, min(high, _integral(variance, Fraction(2 * m - 1, 2), precision)[1])


def chance_from(variance: Fraction, m: int, precision: int = PRECISION) -> Enclosure:
    """Pr[Z >= m] for any whole m, without adding weights up: close where the variance is not small.

    By Euler and Maclaurin's formula at midpoints, with a = m - 1/2 and K = 8 terms, the sum of the weights is

        integral of w from a on - sum over k <= K of B_2k(1/2) / (2k)! times the (2k - 1)th derivative of w at a

    but for |B_2K| / (2K)! times the integral of |w^(2K)|. The nth derivative is a polynomial times w: p_0 = 1 and
    p_(n+1) = -(x p_n + n p_(n-1)) / v. It is also, but for its sign, v**(-n/2) He_n(x / sqrt(v)) w(x), and Cramér's
    inequality, |He_n(t)| <= 1.0865 sqrt(n!) exp(t**2 / 4), bounds its integral by
    1.0865 sqrt(pi n!) v**((1 - n) / 2) exp(-a**2 / 4v), or twice that without the exponential for a below 0.

    >>> added, found = DiscreteGaussian(Fraction(100)).above(30), chance_from(Fraction(100), 31)
    >>> found[0] <= added[1], added[0] <= found[1], found[1] - found[0] < found[1] / 10**9
    (True, True, True)
    """
    a = Fraction(2 * m - 1, 2)
    low, high = (_rational(end) for end in _integral(variance, abs(a), precision))
    if a < 0:
        least, most = (2 * _rational(end) for end in _integral(variance, Fraction(0), precision))
        low, high = least - high, most - low
    added = _corrections(2 * m - 1, variance)
    ends = sorted(added * _rational(end) for end in _exp(-a * a / (2 * variance), precision))
    off = _rest(a, variance)
    least, most = (_rational(end) for end in _all(variance, precision))
    rounded = []
    for context, end in zip(
        directed(precision), ((low + ends[0] - off) / most, (high + ends[1] + off) / least), strict=True
    ):
        with context:
            rounded.append(from_mpfr(gmpy2.mpfr(end)))
    return max(Fraction(0), rounded[0]), rounded[1]


@lru_cache(maxsize=8)
def _factors(bernoulli: tuple[Any, ...]) -> tuple[list[int], int]:
    """-B_2k(1/2) / (2k)! in whole numbers, and the number that they are divided by."""
    found = [-(gmpy2.mpq(2, 4**k) - 1) * one / math.factorial(2 * k) for k, one in enumerate(bernoulli, 1)]
    common = math.lcm(*(int(one.denominator) for one in found))
    return [int(one * common) for one in found], common


def _corrections(twice: int, variance: Fraction) -> Any:
    """The sum over k of -B_2k(1/2) / (2k)! p_(2k-1)(x) at x = twice / 2, in whole numbers: with v = r / q and
    P_n = p_n (2r)^n, P_(n+1) = -q twice P_n - 4 q r n P_(n-1)."""
    factors, common = _factors(BERNOULLI)
    r, q = gmpy2.mpz(variance.numerator), gmpy2.mpz(variance.denominator)
    before, now, total, square = gmpy2.mpz(1), -q * twice, gmpy2.mpz(0), 4 * r * r
    for k, factor in enumerate(factors, 1):
        total = total * square + factor * now
        for n in (2 * k - 1, 2 * k):
            before, now = now, -q * (twice * now + 4 * r * n * before)
    return gmpy2.mpq(total, common * (2 * r) ** (2 * len(BERNOULLI) - 1))


def _rest(a: Fraction, variance: Fraction) -> Any:
    """At least what is left out: |B_2K| / (2K)! times the integral of |w^(2K)|."""
    terms, every = len(BERNOULLI), math.factorial(2 * len(BERNOULLI))
    off = abs(BERNOULLI[-1]) / every * (1 + math.isqrt(every)) * (2 + math.isqrt(int(variance)))
    lower, upper = directed(64)
    with lower:
        v = gmpy2.mpfr(_rational(variance))
        fall = v**terms
        if a >= 0:  # 1.0865 sqrt(pi) is below 2, exp(-8 y) below (1 + y)**-8
            fall *= (1 + gmpy2.mpfr(_rational(a * a / (8 * variance))) / 4) ** 8
    with upper:
        found = gmpy2.mpfr((2 if a >= 0 else 4) * off) / fall
    return _rational(from_mpfr(found))


def gaussian_tail(variance: Fraction, least: int, precision: int = PRECISION) -> Enclosure:
    """Pr[Z >= least], enclosed: from integrals where these are close, else by adding up.

    >>> low, high = gaussian_tail(Fraction(100), 31)
    >>> round(float(low), 9), high - low < low / 10**9
    (0.001139374, True)
    """
    if variance > MOST_ADDED**2 or (variance > WIDE and precision <= FINE):
        low, high = chance_from(variance, least, precision)
        if (high - low) * (1 << CLOSE) <= low:
            return low, high
    return DiscreteGaussian(variance).above(least - 1, precision)


def _rational(number: Fraction) -> Any:
    """The same for GMP, which is faster where fractions are long."""
    return gmpy2.mpq(number.numerator, number.denominator)


def _beyond(variance: Fraction, start: int, precision: int) -> Enclosure:
    """The sum of (z - start) times the weight of z over z > start >= 0, which is that of the tails from start + 1 on.

    Where it is not added up: v w(s) - s I(s) - w(s) / 12, I(s) the integral of the weights from s on, off by at most
    (t**4 + 20 t**2 + 50) / 700 of w(s) / v, with t = s / sqrt(v). Far out it is below w(s) v**2 / s**2, for from there
    on weights fall by exp(-s / v) at each step or faster, and exp(-x) / (1 - exp(-x))**2 is at most 1 / x**2.
    """
    if variance <= MOST_ADDED**2:
        sums = _sums(variance, precision + 32)
        at = min(start + 1, len(sums.high_sums) - 1)
        return Fraction(sums.low_sums[at], 1 << sums.places), Fraction(sums.high_sums[at], 1 << sums.places)
    least, most = _weight(variance, start, precision)
    if not least:
        return Fraction(0), most * (variance / start) ** 2
    low, high = _integral(variance, Fraction(start), precision)
    t = Fraction(start, math.isqrt(int(variance)))
    off = (t**4 + 20 * t**2 + 50) / 700 / variance
    found = variance * least - start * high - (Fraction(1, 12) + off) * most
    return max(Fraction(0), found), variance * most - start * low - Fraction(1, 12) * least + off * most


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


@dataclass(frozen=True, eq=False)
class Sums:
    """Sums of weights at each m, in units of 2**-places: from m on, rounded down and up, and sums of these sums.

    weights  of 0, 1, 2, ..., rounded down. The last place of the other four is about all that is beyond
    """

    places: int
    weights: list[int]
    lows: list[int]
    highs: list[int]
    low_sums: list[int]
    high_sums: list[int]


@lru_cache(maxsize=64)
def _sums(variance: Fraction, places: int) -> Sums:
    """Added up in whole numbers with 64 places more. A weight is the one before it times exp(-(2z + 1) / 2v), and that
    factor the one before it times exp(-1 / v): rounded down in one chain, up in the other."""
    exact = places + 64
    one = 1 << exact
    (low, high), (step_low, step_high) = (_fixed(nats / variance, exact) for nats in (Fraction(1, 2), Fraction(1)))
    least, most = one, one
    chain: list[tuple[int, int]] = []
    while most >> 48 and (most > 1 or not chain):
        chain.append((least, most))
        least, most = least * low >> exact, -(-most * high >> exact)
        low, high = low * step_low >> exact, -(-high * step_high >> exact)
    # A geometric series bounds everything beyond, for the ratio of weights only falls.
    rest = -(-(most << exact) // (one - high))  # weights that fall by this factor or faster
    lows, highs, low_sums, high_sums = [0], [rest], [0], [-(-(rest << exact) // (one - high))]
    for least, most in reversed(chain):
        lows.append(lows[-1] + least)
        highs.append(highs[-1] + most)
        low_sums.append(low_sums[-1] + lows[-1])
        high_sums.append(high_sums[-1] + highs[-1])
    shorter = [[number >> 64 for number in reversed(numbers)] for numbers in (lows, low_sums)]
    longer = [[-(-number >> 64) for number in reversed(numbers)] for numbers in (highs, high_sums)]
    return Sums(places, [least >> 64 for least, _ in chain], shorter[0], longer[0], shorter[1], longer[1])


def _fixed(nats: Fraction, places: int) -> tuple[int, int]:
    """exp(-nats) in units of 2**-places, rounded down and up, and below 1."""
    low, high = _exp(-nats, places + 16)
    least = (low.numerator << places) // low.denominator
    return least, min((1 << places) - 1, -(-(high.numerator << places) // high.denominator))
