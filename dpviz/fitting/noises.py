"""What a sum of independent noises is made of, and the two transforms of it that every law of sums is computed from.

Z is two-sided geometric, Pr[Z = z] proportional to y**|z| with y = exp(-rate); Z+ is max(Z, 0), which has the law of
max(-Z, 0), too. With h = s / 2, for real s (and for the other transform with i s in place of s):

    E exp(i s Z)  = 1 / (1 + (sin h / sinh(rate / 2))**2)
    E exp(i s Z+) = R(2 rate) / R(rate),   R(a) = 1 + 2 sin h (sin h - i cos h) / (exp(a) - 1)
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import Any

import gmpy2
import numpy as np
from numpy.typing import NDArray

from dpviz.boundary import protect_module
from dpviz.errors import ParameterError
from dpviz.exact import Decay, Enclosure, integer
from dpviz.laws.geometric import TwoSidedGeometric, float_rate

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Term:
    """So many independent noises of one law, each times a weight.

    decay     of the noise
    weight    what each is multiplied by
    count     how many there are
    positive  max(Z, 0) in place of Z. For max(-Z, 0) it is the same; a weight below 0 gives -max(Z, 0)
    """

    decay: Decay
    weight: Fraction | int = 1
    count: int = 1
    positive: bool = False

    def __post_init__(self) -> None:
        integer(self.count, "the number of noises", least=0)
        if type(self.weight) is not int and type(self.weight) is not Fraction:
            raise ParameterError.of(
                self.weight, "a weight is a whole number or a Fraction", "write Fraction(1, 2) for a half"
            )


@dataclass(frozen=True)
class Noises:
    """Independent noises that are added up: equal ones together, none that counts nothing.

    >>> half = Decay.rational(Fraction(1, 2))
    >>> Noises.of([Term(half, 2), Term(half, -2), Term(half, 0)]).terms
    (Term(decay=Decay(1/2), weight=Fraction(2, 1), count=2, positive=False),)
    """

    terms: tuple[Term, ...]

    @classmethod
    def of(cls, terms: Iterable[Term]) -> Noises:
        """Z is symmetric, so the sign of its weight does not matter; that of Z+ does."""
        counts: dict[tuple[int, int, int, bool], int] = {}
        decays: dict[Decay, int] = {}
        places: dict[int, int] = {}  # decays are compared once each, not once for each term
        terms = tuple(terms)  # which keeps them alive, so that no two have one id
        for term in terms:
            decay = places.get(id(term.decay))
            if decay is None:
                decay = places[id(term.decay)] = decays.setdefault(term.decay, len(decays))
            above, below = term.weight.numerator, term.weight.denominator
            key = decay, above if term.positive else abs(above), below, term.positive
            if term.count and above:
                counts[key] = counts.get(key, 0) + term.count
        every = tuple(decays)
        return cls(
            tuple(
                Term(every[decay], Fraction(above, below), count, positive)
                for (decay, above, below, positive), count in counts.items()
            )
        )

    def __hash__(self) -> int:
        return self._hash

    @cached_property
    def _hash(self) -> int:
        """Made once, for it is asked for by every cache, and that of a Fraction takes a power modulo a prime."""
        return hash(
            tuple((term.weight.numerator, term.weight.denominator, term.count, term.positive) for term in self.terms)
        )

    @property
    def symmetric(self) -> bool:
        return not any(term.positive for term in self.terms)

    @cached_property
    def mirrored(self) -> Noises:
        """Minus the sum."""
        turned = (Term(one.decay, -one.weight, one.count, one.positive) for one in self.terms)
        return self if self.symmetric else Noises.of(turned)

    @cached_property
    def step(self) -> Fraction:
        """Every value of the sum is a multiple of this."""
        weights = [Fraction(term.weight) for term in self.terms]
        common = math.lcm(*(one.denominator for one in weights))
        return Fraction(math.gcd(*(int(one * common) for one in weights)), common) if weights else Fraction(1)

    def on_lattice(self, finest: int) -> bool:
        """Whether all weights are whole numbers of some 1 / d with d <= finest."""
        common = 1
        for term in self.terms:
            common = math.lcm(common, term.weight.denominator)
            if common > finest:
                return False
        return True

    def variance(self, precision: int = 128) -> Enclosure:
        """Of the sum."""
        squares: dict[tuple[int, bool], Any] = {}
        decays = {id(term.decay): term.decay for term in self.terms}
        for term in self.terms:
            key, weight = (id(term.decay), term.positive), gmpy2.mpq(term.weight)
            squares[key] = squares.get(key, 0) + term.count * weight * weight
        low = high = Fraction(0)
        for (decay, positive), square in squares.items():
            one = _variance(decays[decay], positive, precision)
            scale = Fraction(int(square.numerator), int(square.denominator))
            low, high = low + scale * one[0], high + scale * one[1]
        return low, high

    def mean(self, precision: int = 128) -> Enclosure:
        """Of the sum: 0 unless noises are clamped, which is what biases their sum."""
        low = high = Fraction(0)
        for term in self.terms:
            if term.positive:
                one = TwoSidedGeometric(term.decay).sum_above(0, None, precision)
                ends = sorted(term.count * Fraction(term.weight) * end for end in one)
                low, high = low + ends[0], high + ends[1]
        return low, high

    @cached_property
    def rates(self) -> Floats:
        rates = {id(term.decay): term.decay for term in self.terms}
        known = {key: float_rate(decay) for key, decay in rates.items()}
        return np.array([known[id(term.decay)] for term in self.terms])

    @cached_property
    def weights(self) -> Floats:
        return np.array([float(term.weight) for term in self.terms])

    @cached_property
    def counts(self) -> Floats:
        return np.array([float(term.count) for term in self.terms])

    @cached_property
    def clamped(self) -> NDArray[np.bool_]:
        return np.array([term.positive for term in self.terms], dtype=np.bool_)

    def chernoff(self, log_level: float) -> float:
        """A value that the sum exceeds with probability at most exp(log_level), by the best exponential bound.

        min over theta > 0 of (ln E exp(theta X) - log_level) / theta. Any theta gives a valid bound, so that only a
        rounding of one in 10**9 has to be allowed for.
        """
        rising = (self.weights > 0) | ~self.clamped
        if not rising.any():
            return 0.0
        most = float((self.rates[rising] / np.abs(self.weights[rising])).min())
        low, high, best = 0.0, 1.0, math.inf
        for _ in range(4):
            grid = low + (high - low) * np.arange(1, 24) / 24
            bounds = (self._log_moment(grid * most) - log_level) / (grid * most)
            at = int(np.nanargmin(bounds))
            best = min(best, float(bounds[at]))
            low, high = (grid[at - 1] if at else low), (grid[at + 1] if at + 1 < len(grid) else high)
        return best * (1 + 1e-9) + 1e-9 * float(np.abs(self.weights).max())

    def _log_moment(self, theta: Floats) -> Floats:
        """ln E exp(theta X) for several theta below the least of rate / weight."""
        total = np.zeros_like(theta)
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            for part in np.flatnonzero(self.clamped), np.flatnonzero(~self.clamped):
                at, rate = theta * self.weights[part, None], self.rates[part, None]
                if len(part) and self.clamped[part[0]]:
                    grown = np.expm1(at)
                    each = np.log1p(-grown / np.expm1(2 * rate)) - np.log1p(-grown / np.expm1(rate))
                else:
                    each = -np.log1p(-((np.sinh(at / 2) / np.sinh(rate / 2)) ** 2))
                total += self.counts[part] @ each
        return total

    def log_transform(self, which: NDArray[np.intp], points: Floats) -> tuple[Floats, Floats]:
        """The logarithm of the transform of some of the terms at many points: its real part, and its phase."""
        size, phase = np.zeros_like(points), np.zeros_like(points)
        for clamped in (False, True):
            part = which[self.clamped[which] == clamped]
            rows = max(1, (1 << 19) // max(1, len(points)))
            for start in range(0, len(part), rows):
                some = part[start : start + rows]
                half = np.multiply.outer(self.weights[some] / 2, points)
                real, turned = log_transform(
                    clamped, self.rates[some, None], np.sin(half), np.cos(half) if clamped else half
                )
                size += self.counts[some] @ real
                phase += self.counts[some] @ turned if turned is not None else 0.0
        return size, phase


def log_transform(clamped: bool, rate: Any, sine: Floats, cosine: Floats) -> tuple[Floats, Floats | None]:
    """The logarithm of the transform of one noise, from sine and cosine of weight * s / 2.

    Its real part, and its phase: None where it is 0.
    """
    with np.errstate(over="ignore"):
        size = np.log1p((sine / np.sinh(rate / 2)) ** 2)
        if not clamped:
            return -size, None
        more = np.log1p((sine / np.sinh(rate)) ** 2)
        return (more - size) / 2, _phase(rate, sine, cosine) - _phase(2 * rate, sine, cosine)


def _phase(rate: Any, sine: Floats, cosine: Floats) -> Floats:
    """Minus the phase of R(rate)."""
    scale = 2 / np.expm1(rate)
    phase: Floats = np.arctan2(scale * sine * cosine, 1 + scale * sine**2)
    return phase


@lru_cache(maxsize=256)
def _variance(decay: Decay, positive: bool, precision: int) -> Enclosure:
    """Of one noise. E (Z+)**2 is half the variance of Z, and E Z+ = y / (1 - y**2)."""
    law = TwoSidedGeometric(decay)
    low, high = law.variance(precision)
    if not positive:
        return low, high
    mean_low, mean_high = law.sum_above(0, None, precision)
    return max(Fraction(0), low / 2 - mean_high**2), high / 2 - mean_low**2


protect_module(vars())
