"""A noisy threshold: which value is shown, and how far off an entry is, whatever is told of the ones that are not.

Counts get two-sided geometric noise, and a noisy value is shown where it is at least t. Below t an entry reads 0, or
what another estimate says of it, drawn independently.

Source: Aumüller, Lebeda, Pagh 2022, Algorithms 6 to 9, with integer noise. Thresholds are exact integers; the laws are
closed forms in floating point, for plans and pictures.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from dpviz.errors import ParameterError
from dpviz.exact import Decay, decide, log_bounds, positive, probability, text, whole
from dpviz.laws.geometric import TwoSidedGeometric, float_rate

Floats: TypeAlias = NDArray[np.float64]

NEAR = 1e-12
"""Two chances that differ by less are the same, rounded in two ways."""


# ---------------------------------------------------------------- thresholds


def pure_threshold(decay: Decay, d: int) -> int:
    """The least t at which one zero of d is shown with chance at most 1 / (2 d^2): Algorithm 6. Costs no delta.

    >>> pure_threshold(Decay.exp(Fraction(1)), 2**32)
    45
    """
    # Algorithm 6: Pr[Z >= t] <= 1 / (2 d^2), so that any of d zeros is shown with probability 1 / (2 d) at most.
    return TwoSidedGeometric(decay).least_above(Fraction(1, 2 * whole(d, "d") ** 2)) + 1


def approximate_threshold(epsilon: Fraction, delta: Fraction) -> int:
    """The least whole number that is at least ln(1/delta) / epsilon + 2: Algorithm 9's threshold, as in the paper.

    >>> approximate_threshold(Fraction(1), Fraction(1, 10**6))
    16
    """
    rate, level = positive(epsilon, "epsilon"), probability(delta, "delta", zero=False)
    if level == 1:
        raise ParameterError.of(text(level), "delta must be below 1", "give a delta like 1/1000000")
    # Algorithm 9: ln(1 / delta) / epsilon + 2, rounded up; one less is tried, for the logarithm was rounded up.
    near = math.ceil(log_bounds(1 / level)[1] / rate)

    def beyond(precision: int) -> bool | None:
        low, high = log_bounds(1 / level, precision)
        return True if high <= (near - 1) * rate else False if low > (near - 1) * rate else None

    return (near - 1 if decide(beyond) else near) + 2


def tight_threshold(decay: Decay, delta: Fraction) -> int:
    """The least t at which a count of 1 is shown with chance at most delta: all that privacy needs where one count
    moves by one. It is the threshold of Stability.

    >>> tight_threshold(Decay.exp(Fraction(1)), Fraction(1, 10**6))
    15
    """
    law, level = TwoSidedGeometric(decay), probability(delta, "delta", zero=False)
    if level >= law.above(-1)[1]:
        return 1
    # Pr[1 + Z >= t] = Pr[Z > t - 2].
    return law.least_above(level) + 2


# ---------------------------------------------------------------- the error of one entry


@dataclass(frozen=True)
class Sizes:
    """How large an error is: rising sizes and their chances.

    >>> Sizes.of(np.array([-2.0, 0.0, 2.0]), np.array([0.25, 0.5, 0.25])).mean
    1.0
    """

    values: Floats
    chances: Floats

    @classmethod
    def of(cls, errors: Floats, chances: Floats) -> Sizes:
        """The sizes of errors of either sign."""
        values, where = np.unique(np.abs(errors).round(9), return_inverse=True)
        return cls(values, np.bincount(where, chances).astype(np.float64))

    @classmethod
    def always(cls, size: float) -> Sizes:
        """An error that is certain: of an entry that reads 0."""
        return cls(np.array([float(size)]), np.array([1.0]))

    @property
    def mean(self) -> float:
        return float(self.values @ self.chances)

    @cached_property
    def beyond(self) -> Floats:
        """The chance of an error above each of the values."""
        rest: Floats = np.append(np.cumsum(self.chances[::-1])[::-1][1:], 0.0)
        return rest

    def tail(self, reach: float) -> float:
        """The chance of an error above `reach`."""
        return float(self.chances[self.values > reach + 1e-9].sum())

    def quantile(self, beta: float) -> float:
        """The least size that is exceeded with chance at most beta."""
        return float(self.values[int(np.argmax(self.beyond <= beta + NEAR))])


@dataclass(frozen=True)
class Thresholded:
    """One entry behind a noisy threshold.

    decay      of the noise on a count: exp(-epsilon) for one count that moves by 1
    threshold  a noisy value is shown where it is at least this

    >>> law = Thresholded(Decay.rational(Fraction(1, 2)), 3)
    >>> round(law.chance_shown(3), 6), round(law.mean_error(0, Sizes.always(0)), 6)
    (0.666667, 0.333333)
    """

    decay: Decay
    threshold: int

    def __post_init__(self) -> None:
        whole(self.threshold, "threshold")

    @cached_property
    def _rate(self) -> float:
        return float_rate(self.decay)

    def _above(self, noise: float) -> float:
        """The chance of noise above a number of at least -1."""
        return math.exp(-self._rate * (math.floor(noise) + 1)) / (1 + math.exp(-self._rate))

    def chance_shown(self, value: int) -> float:
        """The chance that an entry of this true value is shown."""
        gap = self.threshold - value
        return self._above(gap - 1) if gap >= 0 else 1 - self._above(-gap)

    def _shown_size(self, gap: int) -> float:
        """The mean of |noise| where the noise is at least `gap`, and else of 0."""
        y = math.exp(-self._rate)
        if gap <= 0:
            return 2 * y / (1 - y * y) - self._shown_size(1 - gap)
        # y^gap / (1 + y) is the chance of noise from `gap` on, and beyond it the noise has no memory.
        return math.exp(-self._rate * gap) / (1 + y) * (gap + y / (1 - y))

    def mean_error(self, value: int, otherwise: Sizes) -> float:
        """The mean error of an entry of this true value.

        otherwise  how far it is off where it is not shown; by its value where that reads 0: `Sizes.always(value)`
        """
        return self._shown_size(self.threshold - value) + (1 - self.chance_shown(value)) * otherwise.mean

    def tail(self, value: int, otherwise: Sizes, reach: float) -> float:
        """The chance that an entry of this true value is off by more than `reach`."""
        hidden = 1 - self.chance_shown(value)
        return self._shown_beyond(self.threshold - value, reach) + hidden * otherwise.tail(reach)

    def quantile(self, value: int, otherwise: Sizes, beta: float) -> float:
        """The least size of an error of this entry that is exceeded with chance at most beta."""
        gap, hidden = self.threshold - value, 1 - self.chance_shown(value)
        sizes: list[float] = otherwise.values.tolist()
        beyond: list[float] = otherwise.beyond.tolist()

        def enough(place: int) -> bool:
            return self._shown_beyond(gap, sizes[place]) + hidden * beyond[place] <= beta + NEAR

        first = bisect_left(range(len(sizes)), True, key=enough)
        if first == len(sizes):
            return max(sizes[-1], self._least(gap, beta))
        left, from_ = beta - hidden * (beyond[first - 1] if first else 1.0), sizes[first - 1] if first else 0.0
        if left < 0:
            return sizes[first]
        return min(sizes[first], max(from_, self._least(gap, left)))

    def _shown_beyond(self, gap: int, reach: float) -> float:
        """The chance that the noise is at least `gap` and further from 0 than `reach`."""
        if gap > 0:
            return self._above(max(math.floor(reach + 1e-9), gap - 1))
        upper = self._above(reach + 1e-9)
        return upper + max(0.0, upper - self._above(-gap))

    def _least(self, gap: int, beta: float) -> float:
        """The least whole reach with `_shown_beyond(gap, reach) <= beta`, for beta of at least 0."""
        low, high = -1, 1
        while self._shown_beyond(gap, high) > beta + NEAR:
            high *= 2
        while high - low > 1:
            middle = (low + high) // 2
            if self._shown_beyond(gap, middle) <= beta + NEAR:
                high = middle
            else:
                low = middle
        return float(high)
