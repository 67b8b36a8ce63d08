"""The law of a weighted sum of independent noises: tails, and quantiles that are exact or say by how much they are not.

Everything that is computed from released numbers and is linear in them is off by such a sum: a range of a histogram or
a tree, a difference, a combination of two releases. From values that were clamped at 0 it is bounded by two: what
max(Z, 0) adds up to from above, what Z does from below.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from statistics import NormalDist

from dpviz.boundary import protect_module
from dpviz.errors import ParameterError
from dpviz.exact import Enclosure, probability
from dpviz.fitting.inversion import FINE, SMALL, Inversion
from dpviz.fitting.lattice import LONGEST_FIXED, Spectrum, least_above
from dpviz.fitting.noises import Noises, Term, law_of

FEW = 8
"""Sums of so few kinds of noise are kept for the next one who asks."""

FINEST = 1e-9
"""Below this level a numerical tail is no more than a Chernoff bound."""


@dataclass(frozen=True)
class Quantile:
    """A value that a sum exceeds with probability at most a given level.

    value  it does
    least  no value below this does. Equal to `value` where the quantile is exact
    """

    value: Fraction
    least: Fraction

    @property
    def exact(self) -> bool:
        return self.value == self.least

    @property
    def error(self) -> Fraction:
        """How much too large the value is, at most."""
        return self.value - self.least


@dataclass(frozen=True)
class NoiseSum:
    """A sum of independent noises with weights.

    >>> from dpviz.exact import Decay
    >>> tenth = Decay.exp(Fraction(1, 10))
    >>> [str(NoiseSum.of([Term(tenth, 1, count)]).radius(Fraction(1, 20)).value) for count in (1, 40)]
    ['30', '176']
    """

    noises: Noises

    @classmethod
    def of(cls, terms: Iterable[Term]) -> NoiseSum:
        return cls(Noises.of(terms))

    @property
    def step(self) -> Fraction:
        """Every value of the sum is a multiple of this."""
        return self.noises.step

    def variance(self, precision: int = 128) -> Enclosure:
        return self.noises.variance(precision)

    def mean(self, precision: int = 128) -> Enclosure:
        return self.noises.mean(precision)

    def above(self, value: Fraction | int) -> Enclosure:
        """Pr[X > value], enclosed: to some 10**-12 on a lattice, to the error of the inversion elsewhere."""
        value = Fraction(value)
        if not self.noises.terms:
            return (Fraction(1), Fraction(1)) if value < 0 else (Fraction(0), Fraction(0))
        if self._spectrum is not None:
            return self._spectrum.above(math.floor(value / self.step))
        low, high = self._inversion.above(float(value))
        return Fraction(low), Fraction(high)

    def at_least(self, value: Fraction | int) -> Enclosure:
        """Pr[X >= value], enclosed: the chance to see so much where nothing is."""
        low, high = self._mirrored.above(-Fraction(value))
        return 1 - high, 1 - low

    def upper(self, level: Fraction, exactly: bool = True) -> Quantile:
        """The least value that the sum exceeds with probability at most `level`.

        Exact where weights are whole multiples of one step that is not too fine. Else numerical, and rounded up to a
        whole number; below 10**-9 an exponential bound. Comparisons that floats leave open take up to a second to
        settle in integers; with `exactly=False` it is left open, and the value may be a few steps too large.
        """
        level = probability(level, "level", zero=False)
        if not self.noises.terms:
            return Quantile(Fraction(0), Fraction(0))
        if self._single:
            first = self.noises.terms[0]
            ends = [Fraction(first.weight) * end for end in law_of(first.noise).quantile_bounds(1 - level)]
            least, value = (max(Fraction(0), end) if first.positive else end for end in ends)
            return Quantile(value, least)
        return self._inverted(level) if self._spectrum is None else self._on_lattice(self._spectrum, level, exactly)

    def pictured(self, levels: Iterable[Fraction]) -> dict[Fraction, int]:
        """For each level a whole number that the sum exceeds with no larger probability, and seldom more than one
        above the least: for a picture of many levels, each of which is looked for where the one before it lies."""
        found: dict[Fraction, int] = {}
        least, gap = None, 1
        for level in sorted(set(levels), reverse=True):
            inversion = self._inversion if self._inverts else None
            if inversion is not None and float(level) >= max(FINEST, 8 * inversion.error):
                start = math.floor(inversion.low) - 1 if least is None else least - 1
                near = _normal(inversion, float(level)) if least is None else least + gap
                found[level] = _least_above(inversion, float(level), start, math.ceil(inversion.high), near)
                gap, least = 1 if least is None else found[level] - least, found[level]
            else:
                found[level] = math.ceil(self.upper(level, exactly=False).value)
        return found

    def lower(self, level: Fraction, exactly: bool = True) -> Quantile:
        """`upper` of minus the sum: it lies below minus this with probability at most `level`."""
        return self._mirrored.upper(level, exactly)

    def radius(self, beta: Fraction, exactly: bool = True) -> Quantile:
        """The least a with Pr[|X| > a] <= beta, for a symmetric sum."""
        if not self.noises.symmetric:
            raise ParameterError.of("clamped noise", "a sum of clamped noise has two ends", "take lower and upper")
        level = probability(beta, "beta", zero=False) / 2
        found = self.upper(level, exactly)
        return Quantile(max(Fraction(0), found.value), max(Fraction(0), found.least))

    def chernoff(self, level: Fraction) -> Fraction:
        """A value that the sum exceeds with probability at most `level`, by the best exponential bound."""
        return self.chernoff_at([level])[0]

    def chernoff_at(self, levels: Iterable[Fraction]) -> list[Fraction]:
        """The same for each of several levels, computed at once."""
        logs = [_log(probability(level, "level", zero=False)) for level in levels]
        found = self.noises.chernoff_at(logs).tolist() if self.noises.terms else [0.0] * len(logs)
        return [Fraction(math.ceil(one)) for one in found]

    @property
    def _single(self) -> bool:
        """Whether this is one noise, whose own quantiles are known."""
        first = self.noises.terms[0]
        return len(self.noises.terms) == first.count == 1 and (first.weight > 0 or not first.positive)

    @property
    def _inverts(self) -> bool:
        """Whether quantiles come from an inverted transform."""
        return bool(self.noises.terms) and not self._single and self._spectrum is None

    @cached_property
    def _spectrum(self) -> Spectrum | None:
        return _spectrum_of(self.noises) if len(self.noises.terms) <= FEW else Spectrum.of(self.noises)

    @cached_property
    def _inversion(self) -> Inversion:
        return Inversion.of(self.noises)

    @cached_property
    def _mirrored(self) -> NoiseSum:
        return self if self.noises.symmetric else NoiseSum(self.noises.mirrored)

    def _on_lattice(self, spectrum: Spectrum, level: Fraction, exactly: bool) -> Quantile:
        first, last = spectrum.bracket(level)
        if last is None:
            last = max(first, math.ceil(self.noises.chernoff(_log(level)) / float(self.step)))
        if first < last and exactly and spectrum.length <= LONGEST_FIXED:
            last, decided = least_above(self.noises, level, first, last)
            first = last if decided else first
        return Quantile(last * self.step, first * self.step)

    def _inverted(self, level: Fraction) -> Quantile:
        """By bisection over whole numbers, and over numbers for what cannot be."""
        target, inversion = float(level), self._inversion
        if target < max(FINEST, 8 * inversion.error):
            bound = self.noises.chernoff(_log(level))
            return Quantile(Fraction(math.ceil(bound)), Fraction(math.floor(inversion.low)))
        start, end = math.floor(inversion.low) - 1, math.ceil(inversion.high)
        holds = _least_above(inversion, target, start, end, _normal(inversion, target))
        below, above = max(inversion.low, holds - 2 - 3 * inversion.width), float(holds)
        if inversion.least_above(below) <= target:
            below = inversion.low
        for _ in range(12):
            middle_ground = (below + above) / 2
            if inversion.least_above(middle_ground) > target:
                below = middle_ground
            else:
                above = middle_ground
        return Quantile(Fraction(holds), Fraction(below))


def _least_above(inversion: Inversion, target: float, fails: int, holds: int, near: int) -> int:
    """The least whole number, above one that fails and up to one that holds, that is exceeded as seldom as `target`.

    It is looked for from `near` on, in steps that double, before what they enclose is bisected.
    """
    bound, step = target * (1 - SMALL), max(1, (holds - fails) >> 8)

    def fits(value: int) -> bool:
        return inversion.most_above(float(value)) <= bound

    near = min(max(near, fails + 1), holds - 1)
    if fails < near < holds and fits(near):
        holds = near
        while holds - step > fails and fits(holds - step):
            holds, step = holds - step, 2 * step
        fails = max(fails, holds - step)
    elif fails < near < holds:
        fails = near
        while fails + step < holds and not fits(fails + step):
            fails, step = fails + step, 2 * step
        holds = min(holds, fails + step)
    while holds - fails > 1:
        middle = (fails + holds) // 2
        if fits(middle):
            holds = middle
        else:
            fails = middle
    return holds


def _normal(inversion: Inversion, target: float) -> int:
    """About where a normal sum that is as wide would be exceeded with this probability."""
    reach = NormalDist().inv_cdf(1 - target) if 0 < target < 1 else 0.0
    return round(reach * inversion.width * FINE)


def _log(level: Fraction) -> float:
    """ln of a level, however small, and a trifle less."""
    return (math.log(level.numerator) - math.log(level.denominator)) * (1 + 1e-12) - 1e-12


@lru_cache(maxsize=64)
def _spectrum_of(noises: Noises) -> Spectrum | None:
    return Spectrum.of(noises)


protect_module(vars())
