"""The terms of a sum of independent noises, and the two transforms of it that every law of sums is computed from.

Z is two-sided geometric or discrete Gaussian noise; Z+ is max(Z, 0), which has the law of max(-Z, 0), too. The
transforms of one noise are those of `transforms.py`.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import Any, Never, NoReturn, TypeAlias

import gmpy2
import numpy as np
from numpy.typing import NDArray

from dpviz.boundary import kind_of, protect_module
from dpviz.errors import ParameterError
from dpviz.exact import Decay, Enclosure, integer
from dpviz.fitting.transforms import Floats, Gaussian, Geometric, Transform
from dpviz.laws.gaussian import DiscreteGaussian
from dpviz.laws.geometric import TwoSidedGeometric, float_rate

MOST_AT_ONCE = 24
"""The most levels of one kind of noise whose exponential bounds are computed at once, for want of memory."""

Noise: TypeAlias = Decay | DiscreteGaussian
"""The law of the noise on one count: two-sided geometric noise of this decay, or a discrete Gaussian."""


def refuse_noise(noise: Never) -> NoReturn:
    """Refuse a noise that is neither. The type is empty, so that mypy finds a dispatch that forgets one of `Noise`."""
    raise ParameterError.of(
        f"noise of the class {kind_of(noise)}",
        "sums of noises are known for two-sided geometric and for discrete Gaussian noise",
        "read single values, or give its law a linear error of its own",
    )


def law_of(noise: Noise) -> TwoSidedGeometric | DiscreteGaussian:
    """The law of one noise."""
    if isinstance(noise, Decay):
        return TwoSidedGeometric(noise)
    if isinstance(noise, DiscreteGaussian):
        return noise
    refuse_noise(noise)


@lru_cache(maxsize=256)
def transform_of(noise: Noise) -> Transform:
    """The transforms of one noise."""
    if isinstance(noise, Decay):
        return Geometric(float_rate(noise))
    if isinstance(noise, DiscreteGaussian):
        return Gaussian(noise)
    refuse_noise(noise)


@dataclass(frozen=True)
class Term:
    """Independent noises of one law, each times a weight, and their number.

    noise     of one
    weight    what each is multiplied by
    count     how many there are
    positive  max(Z, 0) in place of Z. For max(-Z, 0) it is the same; a weight below 0 gives -max(Z, 0)
    """

    noise: Noise
    weight: Fraction | int = 1
    count: int = 1
    positive: bool = False

    def __post_init__(self) -> None:
        integer(self.count, "the number of noises", least=0)
        if not isinstance(self.noise, Decay | DiscreteGaussian):
            refuse_noise(self.noise)
        if type(self.weight) is not int and type(self.weight) is not Fraction:
            raise ParameterError.of(
                self.weight, "a weight is a whole number or a Fraction", "write Fraction(1, 2) for a half"
            )


@dataclass(frozen=True)
class Noises:
    """Independent noises that are added up: equal ones together, none that counts nothing.

    >>> half = Decay.rational(Fraction(1, 2))
    >>> Noises.of([Term(half, 2), Term(half, -2), Term(half, 0)]).terms
    (Term(noise=Decay(1/2), weight=Fraction(2, 1), count=2, positive=False),)
    """

    terms: tuple[Term, ...]

    @classmethod
    def of(cls, terms: Iterable[Term]) -> Noises:
        """Z is symmetric, so the sign of its weight does not matter; that of Z+ does."""
        counts: dict[tuple[int, int, int, bool], int] = {}
        kinds: dict[Noise, int] = {}
        places: dict[int, int] = {}  # noises are compared once each, not once for each term
        terms = tuple(terms)  # which keeps them alive, so that no two have one id
        for term in terms:
            kind = places.get(id(term.noise))
            if kind is None:
                kind = places[id(term.noise)] = kinds.setdefault(term.noise, len(kinds))
            above, below = term.weight.numerator, term.weight.denominator
            key = kind, above if term.positive else abs(above), below, term.positive
            if term.count and above:
                counts[key] = counts.get(key, 0) + term.count
        every = tuple(kinds)
        return cls(
            tuple(
                Term(every[kind], Fraction(above, below), count, positive)
                for (kind, above, below, positive), count in counts.items()
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
        turned = (Term(one.noise, -one.weight, one.count, one.positive) for one in self.terms)
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
        noises = {id(term.noise): term.noise for term in self.terms}
        for term in self.terms:
            key, weight = (id(term.noise), term.positive), gmpy2.mpq(term.weight)
            squares[key] = squares.get(key, 0) + term.count * weight * weight
        low = high = Fraction(0)
        for (noise, positive), square in squares.items():
            one = _variance(noises[noise], positive, precision)
            scale = Fraction(int(square.numerator), int(square.denominator))
            low, high = low + scale * one[0], high + scale * one[1]
        return low, high

    def mean(self, precision: int = 128) -> Enclosure:
        """Of the sum: 0 unless noises are clamped, which is what biases their sum."""
        low = high = Fraction(0)
        for term in self.terms:
            if term.positive:
                one = law_of(term.noise).sum_above(0, None, precision)
                ends = sorted(term.count * Fraction(term.weight) * end for end in one)
                low, high = low + ends[0], high + ends[1]
        return low, high

    def transform(self, place: int) -> Transform:
        """The transforms of one term's noise."""
        return self._transforms[place]

    @cached_property
    def _transforms(self) -> list[Transform]:
        known = {
            id(term.noise): transform_of(term.noise) for term in {id(one.noise): one for one in self.terms}.values()
        }
        return [known[id(term.noise)] for term in self.terms]

    def _together(self, which: NDArray[np.intp]) -> list[tuple[Transform, bool, NDArray[np.intp]]]:
        """Some of the terms, those that are looked at together: their transform, and whether they are clamped. All
        geometric noises have one, with a column of rates."""
        groups: dict[tuple[int, bool], list[int]] = {}
        for place in which.tolist():
            one = self._transforms[place]
            key = 0 if isinstance(one, Geometric) else id(one)
            groups.setdefault((key, self.terms[place].positive), []).append(place)
        found: list[tuple[Transform, bool, NDArray[np.intp]]] = []
        for (key, positive), places in sorted(groups.items(), key=lambda group: group[0][1]):
            part = np.array(places, dtype=np.intp)
            one = self._transforms[places[0]]
            if key == 0:
                one = Geometric(np.array([self._transforms[place].pole for place in places])[:, None])
            found.append((one, positive, part))
        return found

    @cached_property
    def poles(self) -> Floats:
        return np.array([one.pole for one in self._transforms])

    @cached_property
    def sizes(self) -> Floats:
        """About the square of the width of each noise, without its weight."""
        return np.array([one.size for one in self._transforms])

    @cached_property
    def weights(self) -> Floats:
        return np.array([float(term.weight) for term in self.terms])

    @cached_property
    def counts(self) -> Floats:
        return np.array([float(term.count) for term in self.terms])

    @cached_property
    def clamped(self) -> NDArray[np.bool_]:
        return np.array([term.positive for term in self.terms], dtype=np.bool_)

    @cached_property
    def about_deviation(self) -> float:
        """About the standard deviation of the sum; of clamped noises, that of the noises."""
        return math.sqrt(float((2 * self.counts * self.weights**2 * self.sizes).sum()))

    def chernoff(self, log_level: float) -> float:
        """A value that the sum exceeds with probability at most exp(log_level), by the best exponential bound.

        min over theta > 0 of (ln E exp(theta X) - log_level) / theta. Any theta gives a valid bound, so that only a
        rounding of one in 10**9 has to be allowed for.
        """
        return float(self.chernoff_at([log_level])[0])

    def chernoff_at(self, log_levels: Sequence[float]) -> Floats:
        """The same for several levels, each looked for by itself; their log moments are computed at once."""
        if not self._rising.any():
            return np.zeros(len(log_levels))
        rows = max(1, MOST_AT_ONCE // len(self.terms))
        parts = [self._chernoff_at(log_levels[at : at + rows]) for at in range(0, len(log_levels), rows)]
        return np.concatenate(parts)

    def _chernoff_at(self, log_levels: Sequence[float]) -> Floats:
        level = np.array(log_levels)[:, None]
        most = np.array([self._steepest(one) for one in log_levels])[:, None]
        low, high, best = np.zeros_like(level), np.ones_like(level), np.full(len(level), math.inf)
        each = np.arange(len(level))
        for _ in range(4):
            grid = low + (high - low) * np.arange(1, 24) / 24
            thetas = grid * most
            bounds = (self._log_moment(thetas.ravel()).reshape(thetas.shape) - level) / thetas
            at = np.nanargmin(bounds, axis=1)
            best = np.minimum(best, bounds[each, at])
            low[:, 0] = np.where(at > 0, grid[each, at - 1], low[:, 0])
            high[:, 0] = np.where(at + 1 < grid.shape[1], grid[each, np.minimum(at + 1, grid.shape[1] - 1)], high[:, 0])
        found: Floats = best * (1 + 1e-9) + 1e-9 * float(np.abs(self.weights).max())
        return found

    def _steepest(self, log_level: float) -> float:
        """The theta up to which exponential bounds are looked for."""
        most, squares = self._steep
        return most if squares is None else min(most, 2 * math.sqrt(2 * max(-log_level, 1e-3) / squares))

    @cached_property
    def _rising(self) -> NDArray[np.bool_]:
        return (self.weights > 0) | ~self.clamped

    @cached_property
    def _steep(self) -> tuple[float, float | None]:
        """The theta beyond which a moment is infinite, and the variance of all noises whose moments never are."""
        rising, sizes, poles = self._rising, np.abs(self.weights), self.poles
        bent = poles == math.inf  # of those alone, the best theta is below 2 sqrt(2 L / their variances)
        squares = float((self.counts * sizes**2 * 2 * self.sizes)[bent].sum()) if bent.any() else None
        return float((poles[rising] / sizes[rising]).min()), squares

    def chernoff_between(self, other: Noises, log_level: float, number: int) -> Floats:
        """Values that each of so many sums exceeds with probability at most exp(log_level): of this one, of another,
        and of those between them, whose log moments lie on the line from the one to the other at equal distances.

        So do those of sums of noises that are exchanged for others, one after the other. With any theta both ends give
        valid bounds, and what lies between them gives those of the sums between.
        """
        thetas = min(self._steepest(log_level), other._steepest(log_level)) * np.arange(1, 48) / 48
        first, last = self._log_moment(thetas), other._log_moment(thetas)
        places = np.linspace(0.0, 1.0, number)[:, None]
        bounds: Floats = ((first + (last - first) * places - log_level) / thetas).min(axis=1)
        return bounds * (1 + 1e-9) + 1e-9 * float(np.abs(self.weights).max())

    def _log_moment(self, theta: Floats) -> Floats:
        """ln E exp(theta X) for several theta below the least of rate / weight."""
        total = np.zeros_like(theta)
        for one, positive, part in self._together(np.arange(len(self.terms))):
            total += self.counts[part] @ one.log_moment(positive, theta * self.weights[part, None])
        return total

    def log_transform(self, which: NDArray[np.intp], points: Floats) -> tuple[Floats, Floats]:
        """The logarithm of the transform of some of the terms at many points: its real part, and its phase."""
        size, phase = np.zeros_like(points), np.zeros_like(points)
        rows = max(1, (1 << 19) // max(1, len(points)))
        for start in range(0, len(which), rows):
            for one, positive, part in self._together(which[start : start + rows]):
                real, turned = one.log(positive, np.multiply.outer(self.weights[part] / 2, points))
                size += self.counts[part] @ real
                phase += self.counts[part] @ turned if turned is not None else 0.0
        return size, phase


@lru_cache(maxsize=256)
def _variance(noise: Noise, positive: bool, precision: int) -> Enclosure:
    """Of one noise. E (Z+)**2 is half the variance of Z."""
    law = law_of(noise)
    low, high = law.moment2(precision)
    if not positive:
        return low, high
    mean_low, mean_high = law.sum_above(0, None, precision)
    return max(Fraction(0), low / 2 - mean_high**2), high / 2 - mean_low**2


protect_module(vars())
