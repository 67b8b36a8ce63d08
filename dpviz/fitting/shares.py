"""Which shares two noisy sums allow: Fieller's test, inverted with the exact law of the noise.

Let A = a + X and B = b + Y be noisy sums of two disjoint sets, X and Y independent. A share p = a / (a + b) is tested
by (1 - p) A - p B, which is (1 - p) X - p Y where p is the truth. It is rejected from above where

    Pr[(1 - p) X - p Y >= (1 - p) A - p B] = Pr[(1 - p) U >= p V] <= beta / 2,  U = X - A, V = Y - B,

and from below likewise. (1 - p) U - p V is linear in p, so on a piece of the line it is at most the larger of its
values at the two ends: the chance of that, one sum over the values of V, rejects all p of the piece at once. What is
not rejected is enclosed by whole millionths.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from dpviz.boundary import protect_module
from dpviz.fitting.lattice import BEYOND, LOG_BEYOND, UNIT
from dpviz.fitting.noises import Floats, log_transform
from dpviz.fitting.sums import NoiseSum

FINE = 1_000_000
"""The ends of a share are whole multiples of one over this."""

LONGEST = 1 << 22
"""Sums with more values than this are left to a rectangle."""


@dataclass(frozen=True, eq=False)
class Masses:
    """The law of a symmetric sum of whole-number noises as floats: Pr[X = least + i], off by `error` in all."""

    least: int
    masses: Floats
    error: float

    @classmethod
    def of(cls, noise: NoiseSum) -> Masses | None:
        """By one fast transform; None where the sum has too many values, or is not one of whole numbers."""
        noises = noise.noises
        if not noises.symmetric or any(term.weight.denominator != 1 for term in noises.terms):
            return None
        reach = math.ceil(noises.chernoff(LOG_BEYOND)) + 1 if noises.terms else 1
        size = 1 << (2 * reach + 2).bit_length()
        if size > LONGEST:
            return None
        angles: Floats = np.arange(size // 2 + 1, dtype=np.float64) * (math.pi / size)
        log_size = np.zeros(len(angles))
        for term, rate in zip(noises.terms, noises.rates, strict=True):
            turned: Floats = angles * float(abs(term.weight))
            log_size += term.count * log_transform(False, rate, np.sin(turned), turned)[0]
        masses = np.fft.fftshift(np.fft.irfft(np.exp(log_size), size))
        error = math.sqrt(size) * UNIT * (16 * math.log2(size) + 64) + 4 * BEYOND
        return cls(-(size // 2), np.maximum(masses, 0.0), error)


@dataclass(frozen=True)
class Shares:
    """The shares that are not rejected lie from low to high; each end is at most so much too far out.

    empty  whether all shares from 0 to 1 are rejected
    """

    low: Fraction
    high: Fraction
    off: Fraction
    empty: bool = False


def shares(first: NoiseSum, second: NoiseSum, a: int, b: int, beta: Fraction) -> Shares | None:
    """The shares of a noisy sum `a` in a + b that are not rejected at level beta, between 0 and 1.

    None where the laws are too wide for it, or the level too small for floats.

    >>> from dpviz.exact import Decay
    >>> from dpviz.fitting.noises import Term
    >>> noise = NoiseSum.of([Term(Decay.exp(Fraction(1, 2)))])
    >>> found = shares(noise, noise, 30, 70, Fraction(1, 20))
    >>> round(float(found.low), 3), round(float(found.high), 3)
    (0.255, 0.343)
    """
    one, other = Masses.of(first), Masses.of(second)
    if one is None or other is None:
        return None
    error = one.error + other.error
    level = float(beta) / 2 * (1 - 4 * UNIT) - error
    if level < 1000 * error:
        return None
    test = _Test(one, other, a, b, level, 2 * error)
    low, near = test.first(upper=True)
    high, far = test.first(upper=False)
    if low is None or high is None or low >= FINE - high:
        nearest = Fraction(int(a > b))
        return Shares(nearest, nearest, Fraction(0), empty=True)
    return Shares(Fraction(low, FINE), 1 - Fraction(high, FINE), Fraction(max(near, far), FINE))


class _Test:
    """Which millionths are rejected, from above and from below."""

    def __init__(self, first: Masses, second: Masses, a: int, b: int, level: float, slack: float) -> None:
        self._first, self._a, self._level, self._slack = first, a, level, slack
        self._masses = second.masses
        self._v = second.least + np.arange(len(second.masses), dtype=np.int64) - b
        self._reaches = np.concatenate((np.cumsum(first.masses[::-1])[::-1], [0.0]))

    def first(self, *, upper: bool) -> tuple[int | None, int]:
        """How many millionths from 0 on (from 1 down, for the other test) are rejected in one piece, and how many more
        may be. None where all are."""
        start, rejected = 0, 0
        stack = [(0, FINE)]
        while stack:
            low, high = stack.pop()
            if self.chance(low, high, upper=upper) <= self._level:
                rejected = high
                continue
            if high - low <= 1:
                break
            middle = (low + high) // 2
            stack += [(middle, high), (low, middle)]
        else:
            return None, 0
        start, step = rejected, 0
        while (
            start + step <= FINE and self.chance(start + step, start + step, upper=upper) <= self._level + self._slack
        ):
            step = 2 * step + 1
        return start, min(step, FINE - start) + 1

    def chance(self, low: int, high: int, *, upper: bool) -> float:
        """At most the chance of a statistic as large as the one seen, for the worst p of a piece of millionths.

        upper  p from 0 on, which are rejected where (1 - p) A - p B is large; else 1 - p from 0 on, where it is small
        """
        if upper:
            return float(self._masses @ self._reach(self._least(low, high)))
        # (1 - p) U - p V <= 0 with p = 1 - q: q U <= (1 - q) V, that is U <= (1 - q) V / q
        return float(self._masses @ (1 - self._reach(self._most(low, high) + 1)))

    def _least(self, low: int, high: int) -> Floats:
        """The least U with (1 - p) U >= p V for some p of the piece: the lower of the bounds at its ends."""
        bounds = []
        for p in (low, high):
            if p == FINE:
                bounds.append(np.where(self._v <= 0, -(2.0**60), 2.0**60))
            else:
                bounds.append((-((-p * self._v) // (FINE - p))).astype(np.float64))
        return np.minimum(*bounds)

    def _most(self, low: int, high: int) -> Floats:
        """The largest U with q U <= (1 - q) V for some q of the piece."""
        bounds = []
        for q in (low, high):
            if q == 0:
                bounds.append(np.where(self._v >= 0, 2.0**60, -(2.0**60)))
            else:
                bounds.append(((FINE - q) * self._v // q).astype(np.float64))
        return np.maximum(*bounds)

    def _reach(self, least: Floats) -> Floats:
        """Pr[U >= least]."""
        place = np.clip(least + self._a - self._first.least, 0, len(self._reaches) - 1)
        return np.asarray(self._reaches[place.astype(np.int64)], dtype=np.float64)


protect_module(vars())
