"""Discrete Gaussian noise: Pr[Z = z] proportional to exp(-z**2 / (2 * variance)) on the whole numbers.

Up to a standard deviation of 256 the law is a table like any other. Wider noise is drawn by rejection: a discrete
Laplace number Y of scale t = floor(sd) + 1 is kept with the chance exp(-(|Y| - variance/t)**2 / (2 * variance)), a
coin that is decided by floats only where they are certain, and by intervals elsewhere. Both ways are exact.

The parameter is called the variance because it is that of the continuous law; the variance of Z is never larger.
Source: Canonne, Kamath, Steinke 2020, "The Discrete Gaussian for Differential Privacy", Definition 1, Algorithm 3.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from dpviz.errors import ParameterError
from dpviz.exact import Decay, Enclosure, exp_bounds, positive, text
from dpviz.noise.bits import Bits
from dpviz.noise.coin import flip
from dpviz.noise.geometric import WIDEST, two_sided_geometric
from dpviz.noise.table import Law, Sampler, SamplingTable

WIDEST_TABLE = 256
"""Noise of a larger standard deviation is drawn by rejection."""

GUARD = 96
"""Binary places of a weight beyond those of a boundary."""

SLACK = 2.0**-36
"""A coin is decided by floats where the chance and the number drawn are further apart than this.

|Y| and t are whole numbers below 2**47, and |Y| - variance/t is off by less than 2**-52 * (|Y| + t) in floating point.
Where the chance exceeds 2**-64, |Y| - variance/t is below 10 sd, and its square over 2 * variance is off by less than
2**-43: so is the chance, by less than 2**-42 with the rounding of exp and of the number drawn. Where it does not, both
the chance and its float lie below 2**-63.
"""


@lru_cache(maxsize=32)
def discrete_gaussian(variance: Fraction) -> Sampler:
    """A sampler of Pr[Z = z] proportional to exp(-z**2 / (2 * variance)), made once and kept.

    Raises ParameterError unless the variance is positive and the standard deviation at most 2**40.

    >>> from dpviz.noise.bits import TeachingBits
    >>> discrete_gaussian(Fraction(9)).draw(8, TeachingBits(1)).tolist()
    [-2, 1, 8, 1, -5, 1, 10, 0]
    """
    if positive(variance, "variance") > WIDEST**2:
        raise ParameterError.of(
            text(variance), f"the variance of the noise must be at most 2^{2 * (WIDEST.bit_length() - 1)}", "raise rho"
        )
    if variance <= WIDEST_TABLE**2:
        return Sampler([SamplingTable(GaussianLaw(variance))])
    return Sampler([Rejection(variance)])


@dataclass(frozen=True)
class GaussianLaw(Law):
    """The cumulative law, from sums of weights that are enclosed by fixed-point integers."""

    variance: Fraction

    first = None
    last = None

    def cdf(self, value: int, fraction_bits: int) -> tuple[int, int]:
        low, high = self._lower_tail(-value if value < 0 else value + 1, fraction_bits)
        return (low, high) if value < 0 else ((1 << fraction_bits) - high, (1 << fraction_bits) - low)

    def sweep(self, fraction_bits: int) -> tuple[int, list[int], int]:
        # Values beyond have less than 2^-64 of the law together and are found by refining.
        least = (1 << fraction_bits) >> 64
        tails: list[tuple[int, int]] = []
        while not tails or tails[-1][1] >= least:
            tails.append(self._lower_tail(len(tails) + 1, fraction_bits))
        tails.reverse()
        width = max(high - low for low, high in tails)
        left = [low for low, _ in tails]
        return -len(left), left + [max(0, (1 << fraction_bits) - low - width) for low in reversed(left)], width

    def _lower_tail(self, m: int, fraction_bits: int) -> tuple[int, int]:
        """Enclose F(-m), which is Pr[Z >= m], for m >= 1."""
        lows, highs = _tails(self.variance, fraction_bits + GUARD)
        # The normalising sum over all whole numbers, by symmetry.
        one = lows[0] + lows[1], highs[0] + highs[1]  # the weights of all numbers: those from 0 on, and from 1 on
        at = min(m, len(highs) - 1)
        low = lows[m] if m < len(lows) - 1 else 0
        return (low << fraction_bits) // one[1], -(-(highs[at] << fraction_bits) // one[0])


@lru_cache(maxsize=64)
def _tails(variance: Fraction, places: int) -> tuple[Sequence[int], Sequence[int]]:
    """At each m the sum of the weights exp(-z**2 / (2 * variance)) over z >= m, enclosed at so many binary places.

    The last place holds an upper bound of all that is beyond. A weight is the one before it times exp(-(2z + 1) / 2v),
    and that factor the one before it times exp(-1 / v): rounded down in one chain, up in the other.
    """
    (low, high), (step_low, step_high) = (_fixed(1 / (2 * variance), places), _fixed(1 / variance, places))
    weight_low = weight_high = 1 << places
    weights = []
    while weight_high > 1:
        weights.append((weight_low, weight_high))
        # exp(-(z + 1)^2 / 2v) = exp(-z^2 / 2v) exp(-(2z + 1) / 2v).
        weight_low, weight_high = weight_low * low >> places, -(-weight_high * high >> places)
        # The next factor is this one times exp(-1 / v).
        low, high = low * step_low >> places, -(-high * step_high >> places)
    beyond = -(-(1 << places) // ((1 << places) - high))  # weights of at most 1 that fall by this factor or faster
    lows, highs = [0], [beyond]
    for least, most in reversed(weights):
        lows.append(lows[-1] + least)
        highs.append(highs[-1] + most)
    return lows[::-1], highs[::-1]


def _fixed(nats: Fraction, places: int) -> tuple[int, int]:
    """exp(-nats), enclosed at so many binary places, and below 1."""
    if nats > places:
        return 0, 1
    low, high = exp_bounds(-nats, places + 8)
    least = (low.numerator << places) // low.denominator
    return least, min((1 << places) - 1, -(-(high.numerator << places) // high.denominator))


class Rejection(SamplingTable):
    """Draws by rejection from discrete Laplace noise: about four in three are needed, whatever the variance."""

    def __init__(self, variance: Fraction) -> None:
        super().__init__(GaussianLaw(variance))
        self.variance = variance
        # Canonne, Kamath, Steinke 2020, Algorithm 3: t = floor(sigma) + 1.
        self.scale = math.isqrt(int(variance)) + 1
        self.proposals = two_sided_geometric(Decay.exp(Fraction(1, self.scale)))

    def prepare(self) -> None:
        """Make what a large vector needs now, not on first use."""
        for part in self.proposals.parts:
            part.prepare()

    def fill(self, out: NDArray[np.int64], bits: Bits) -> None:
        """Write independent draws into `out`."""
        done = 0
        while done < out.size:
            # About three in four proposals are kept.
            proposed = self.proposals.draw((out.size - done) * 4 // 3 + 8, bits)
            kept = proposed[self._keeps(np.abs(proposed), bits)][: out.size - done]
            out[done : done + kept.size] = kept
            done += kept.size

    def _keeps(self, sizes: NDArray[np.int64], bits: Bits) -> NDArray[np.bool_]:
        """One coin for each number of this size."""
        drawn = np.frombuffer(bits.take(8 * sizes.size), dtype="<u8")
        # Algorithm 3: exp(-(|Y| - sigma^2 / t)^2 / (2 sigma^2)).
        chances = np.exp(-((sizes - float(self.variance / self.scale)) ** 2) / (2 * float(self.variance)))
        gaps = chances - drawn * 2.0**-64
        keeps: NDArray[np.bool_] = gaps > 0
        for place in np.flatnonzero(np.abs(gaps) <= SLACK):
            # Floats do not decide this coin: enclosures of any precision do, with further bits.
            size = int(sizes[place])
            keeps[place] = flip(lambda precision, size=size: self.chance(size, precision), bits, int(drawn[place]))  # type: ignore[misc]
        return keeps

    def chance(self, size: int, precision: int) -> Enclosure:
        """With what chance a number of this size is kept, enclosed."""
        nats = (size - self.variance / self.scale) ** 2 / (2 * self.variance)
        if nats > precision:
            return Fraction(0), Fraction(1, 1 << precision)
        return exp_bounds(-nats, precision)
