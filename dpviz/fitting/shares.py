"""Which shares two noisy sums allow: Fieller's test, inverted with the exact law of the noise.

Let A = a + X and B = b + Y be noisy sums of two disjoint sets, X and Y independent. A share p = a / (a + b) is tested
by (1 - p) A - p B, which is (1 - p) X - p Y where p is the truth. It is rejected from above where

    Pr[(1 - p) X - p Y >= (1 - p) A - p B] = Pr[(1 - p) U >= p V] <= beta / 2,  U = X - A, V = Y - B,

and from below likewise. (1 - p) U - p V is linear in p, so on a piece of the line it is at most the larger of its
values at the two ends: the chance of that, one sum over the values of V, rejects all p of the piece at once. Shares
that are not rejected are enclosed by whole millionths.

Where X and Y depend on each other, as in a fitted tree, or have no lattice in common, the statistic of each p has a law
of its own: a `Pair`. One p then speaks for all below it. Let t < q, and let t's statistic reach what was seen while
that of q does not: (1 - t) U >= t V and (1 - q) U < q V. The difference of the two says U + V > 0, so U >= t (U + V) >=
0, and V > 0 by the second. Hence, for the chance P(p) above and any x, y >= 0,

    P(t) <= P(q) + Pr[U >= 0, V > 0] <= P(q) + Pr[x X + y Y >= x A + y B],

and the last is next to nothing where the part, the rest or the whole is far above 0. So all shares up to q are rejected
where P(q) is at most beta / 2 less that; which q to try is found as if the law were normal.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from statistics import NormalDist
from typing import TypeAlias

import numpy as np

from dpviz.boundary import protect_module
from dpviz.fitting.atoms import Atoms
from dpviz.fitting.inversion import Inversion
from dpviz.fitting.lattice import BEYOND, LOG_BEYOND, UNIT
from dpviz.fitting.sums import NoiseSum
from dpviz.fitting.transforms import Floats

FINE = 1_000_000
"""The ends of a share are whole multiples of one over this."""

LONGEST = 1 << 22
"""Sums with more values than this are left to the inversion of their transforms."""

LEAST_LEVEL = Fraction(1, 10**8)
"""Tails of sums without a lattice are known to some 10**-10; levels below this are left to a rectangle."""

DEVIATION = 1 << 10
"""Noise is magnified to such a standard deviation at least, for what blurs a tail has a least width in counts."""

PART = 4
"""But no more than that so many counts are a millionth of a share: narrower noise would be looked at in vain, and what
is narrow and seldom anything but 0 takes the more points the finer it is looked at."""

MARGINS = (1e-3, 1e-2, 0.05, 0.25, 1.0, 4.0, 16.0)
"""Where a share does not decide, one further away by such a part is tried; where none does, no share is rejected."""

NEAR = 2.0**-7
"""To such a part of a standard deviation a quantile is found, to try a share there."""


Law: TypeAlias = Inversion | Atoms
"""The tails of a sum without a lattice."""


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
        for place, term in enumerate(noises.terms):
            log_size += term.count * noises.transform(place).log(False, angles * float(abs(term.weight)))[0]
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

    @property
    def undecided(self) -> bool:
        """Whether nothing was found that is rejected, nor anything that is not."""
        return self.off == self.high - self.low == 1


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


# ---------------------------------------------------------------- sums that depend on each other


@dataclass(frozen=True)
class Pair:
    """Two noisy sums a and b, and the law of what x a + y b is off by, for any x and y."""

    a: Fraction
    b: Fraction
    law: Callable[[Fraction, Fraction], NoiseSum]


def shares_of_pair(pair: Pair, beta: Fraction) -> Shares | None:
    """The shares of a in a + b that are not rejected at level beta, between 0 and 1.

    None where the law is not symmetric, or the level too small for floats, which public numbers decide. Where the
    whole may be too near 0, all from 0 to 1 are left.

    >>> from dpviz.exact import Decay
    >>> from dpviz.fitting.noises import Term
    >>> half = Decay.exp(Fraction(1, 2))
    >>> pair = Pair(Fraction(30), Fraction(70), lambda x, y: NoiseSum.of([Term(half, x), Term(half, y)]))
    >>> found = shares_of_pair(pair, Fraction(1, 20))
    >>> round(float(found.low), 2), round(float(found.high), 2)
    (0.25, 0.34)
    """
    level = beta / 2
    one, other = pair.law(Fraction(1), Fraction(0)), pair.law(Fraction(0), Fraction(1))
    if level < LEAST_LEVEL or not (one.noises.terms and other.noises.terms and one.noises.symmetric):
        return None
    tested = _Statistics(pair, one, other, level)
    if tested.allowed <= 0:
        return Shares(Fraction(0), Fraction(1), Fraction(1))
    low, near = tested.first(upper=True)
    high, far = tested.first(upper=False)
    high = FINE - high
    if low >= high:
        nearest = Fraction(int(pair.a > pair.b))
        return Shares(nearest, nearest, Fraction(0), empty=True)
    accepted = [*(() if near is None else (near,)), *(() if far is None else (FINE - far,))]
    off = max(min(accepted) - low, high - max(accepted)) if accepted else high - low
    return Shares(Fraction(low, FINE), Fraction(high, FINE), Fraction(off, FINE))


class _Statistics:
    """The statistic (1 - p) A - p B of each p, and its law: between 0 and 1 in millionths."""

    def __init__(self, pair: Pair, one: NoiseSum, other: NoiseSum, level: Fraction) -> None:
        together = pair.law(Fraction(1), Fraction(1))
        least = min(float(noise.variance()[1]) for noise in (one, other))
        finest = DEVIATION / math.sqrt(least)
        if whole := abs(float(pair.a + pair.b)):  # by so much the statistic moves from p = 0 to 1
            finest = min(finest, PART * FINE / whole)
        self._unit = Fraction(2) ** max(0, math.ceil(math.log2(finest)))
        self._pair, self._level = pair, float(level) * (1 - 4 * UNIT)
        scale = float(self._unit) ** 2
        self._variances = [float(noise.variance()[1]) * scale for noise in (one, other, together)]
        self._known: dict[int, tuple[Law, float]] = {}
        self.allowed = self._level - self._both_above(self._level / 1000)

    def _both_above(self, enough: float) -> float:
        """The chance, at most, that neither the part nor the rest was above 0, given what was seen."""
        least = 1.0
        for x, y in ((1, 1), (1, 0), (0, 1)):
            if least > enough:
                law, seen = self._law(Fraction(x), Fraction(y))
                least = min(least, self._at_most(law, seen))
        return least

    def _law(self, x: Fraction, y: Fraction) -> tuple[Law, float]:
        """The law of x X + y Y, and x A + y B, both magnified."""
        seen = (x * self._pair.a + y * self._pair.b) * self._unit
        noises = self._pair.law(x * self._unit, y * self._unit).noises
        return Atoms.of(noises) or Inversion.of(noises), float(seen)

    def _at(self, millionths: int) -> tuple[Law, float]:
        """The law of the statistic, which is symmetric, and what was seen of it."""
        if millionths not in self._known:
            p = Fraction(millionths, FINE)
            self._known[millionths] = self._law(1 - p, -p)
        return self._known[millionths]

    def _at_least(self, law: Law, seen: float) -> float:
        """A number that Pr[X >= seen] is not below."""
        return law.least_above(seen + self._trifle(law, seen))

    def _at_most(self, law: Law, seen: float) -> float:
        """A number that Pr[X >= seen] is not above."""
        return law.most_above(seen - self._trifle(law, seen))

    def _trifle(self, law: Law, seen: float) -> float:
        return (abs(seen) + law.width) * 1e-12

    def first(self, *, upper: bool) -> tuple[int, int | None]:
        """How many millionths are certainly rejected in one piece, and one beyond them that certainly is not; None
        where none was found.

        upper  from p = 0 on, which are rejected where the statistic is large; else from 1 down, where it is small
        """
        rejected, place = 0, self._place(NormalDist().inv_cdf(1 - self.allowed), upper)
        for tried, margin in enumerate(MARGINS):
            law, seen = self._seen(place, upper)
            if self._at_most(law, seen) <= self.allowed:
                rejected = max(rejected, place)
            if rejected == FINE or (tried and (rejected or not place)):
                break
            place = self._place(self._quantile(law, self.allowed, upper, place) * (1 + margin), upper)
        place = rejected
        for margin in MARGINS if rejected < FINE else ():
            law, seen = self._seen(place, upper)
            if self._at_least(law, abs(seen)) > self._level * (1 + 16 * UNIT):
                return rejected, place
            inner = self._place(self._quantile(law, self._level, upper, place, certain=False) * (1 - margin), upper)
            place = min(FINE, max(rejected, inner) + 1)
        return rejected, None

    def _seen(self, place: int, upper: bool) -> tuple[Law, float]:
        """The same at so many millionths from one end, and turned so that what is rejected is large."""
        law, seen = self._at(place if upper else FINE - place)
        return law, seen if upper else -seen

    def _deviation(self, q: float, upper: bool) -> float:
        """Of the statistic at a share q from one end."""
        one, other, together = self._variances
        one, other = (one, other) if upper else (other, one)
        both = together - one - other
        return math.sqrt(max(1.0, (1 - q) ** 2 * one - q * (1 - q) * both + q**2 * other))

    def _place(self, multiple: float, upper: bool) -> int:
        """Up to how many millionths from one end the statistic exceeds this multiple of its standard deviation."""
        a, b = (float(part * self._unit) for part in (self._pair.a, self._pair.b))
        a, b = (a, b) if upper else (b, a)
        exceeds, fails = 0, FINE + 1
        while fails - exceeds > 1:  # concave in q, so it changes its sign once where it is above 0 at first
            middle = (exceeds + fails) // 2
            q = middle / FINE
            if (1 - q) * a - q * b > multiple * self._deviation(q, upper):
                exceeds = middle
            else:
                fails = middle
        return exceeds

    def _quantile(self, law: Law, level: float, upper: bool, place: int, certain: bool = True) -> float:
        """The multiple of its standard deviation that the statistic exceeds with chance `level`, certainly or perhaps,
        at so many millionths from one end."""
        deviation, chance = self._deviation(place / FINE, upper), self._at_most if certain else self._at_least
        fails, holds, above, below = 0.0, max(law.high, -law.low), math.log(0.5 / level), -math.log(level * 1e11)
        while holds - fails > max(NEAR * deviation, law.width / 4):  # the logarithm of a tail is nearly a line
            middle = fails + (holds - fails) * min(0.95, max(0.05, above / (above - below)))
            found = math.log(max(chance(law, middle), level * 1e-9) / level)
            if found <= 0:
                holds, below, above = middle, min(found, -1e-9), above / 2
            else:
                fails, above, below = middle, found, below / 2
        return (holds if certain else fails) / deviation


protect_module(vars())
