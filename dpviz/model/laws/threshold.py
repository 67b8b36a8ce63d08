"""Noise on every bin that is not empty, shown from a threshold on, and what the empty ones do; how far off that is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import ClassVar, cast

import numpy as np
from numpy.typing import NDArray

from dpviz.boundary import protect_module
from dpviz.errors import ReleaseFormat
from dpviz.exact import Decay, Enclosure, whole
from dpviz.laws.geometric import PRECISION, above_bounds
from dpviz.laws.search import least
from dpviz.model.answers import Answer, Reading, SparseTable
from dpviz.model.error import ErrorModel, ErrorValue
from dpviz.model.laws.base import Clamp, Stored, StoredLaw, stored
from dpviz.model.laws.count_noise import GaussianNoise, NoiseLaw
from dpviz.model.laws.stability import (
    GaussianStabilityLaw,
    OccupiedLaw,
    StabilityLaw,
    TruncatedStabilityLaw,
    hidden_below,
)
from dpviz.model.linear import LinearError, Query
from dpviz.model.measures import Measure, look_ups
from dpviz.model.question import Question
from dpviz.model.sum_errors import SumError
from dpviz.privacy.unit import Unit


@dataclass(frozen=True)
class Cut(Stored):
    """Noise of exp(-exponent |z|) on a value in whole steps, which is shown where it reaches `least`.

    certain  whether empty bins get noise, too, and may be shown: then nothing is told by what is shown
    signed   whether a value may be negative, and is shown where it reaches -least
    """

    exponent: Fraction
    least: int
    certain: bool
    signed: bool

    def __post_init__(self) -> None:
        whole(self.least, "least")
        if self.exponent <= 0:
            raise ReleaseFormat.damaged("the noise at a threshold has a positive exponent", str(self.exponent))

    @cached_property
    def decay(self) -> Decay:
        return Decay.exp(self.exponent)

    def passes(self, value: int, precision: int = 128) -> Enclosure:
        """The chance that a value from 0 to `least` reaches the threshold, enclosed."""
        if value >= self.least:  # P[Z >= 0]
            return tuple(1 / (1 + end) for end in reversed(self.decay.bounds(precision)))  # type: ignore[return-value]
        return above_bounds(self.decay, self.least - value - 1, precision)

    def admits(self, values: NDArray[np.int64]) -> bool:
        """Whether noisy values may all have been shown: each of them reaches the threshold."""
        return bool(((np.abs(values) if self.signed else values) >= self.least).all())


class ValuesLaw(StoredLaw):
    """A threshold by itself, whatever the noise: what does not reach it reads 0.

    step  what one whole step of a value is worth
    bins  of a declared domain; None for unknown keys
    """

    step: Fraction
    bins: int | None

    @property
    def least(self) -> int:
        """A noisy value is shown where it is at least this, in whole steps."""
        raise NotImplementedError

    @property
    def certain(self) -> bool:
        """Whether empty bins get noise, too."""
        return False

    @property
    def signed(self) -> bool:
        """Whether a value may be negative."""
        return False

    @property
    def stability(self) -> OccupiedLaw:
        """Occupied bins behave as they do under Stability with the threshold one lower."""
        raise NotImplementedError

    def passes(self, value: int, precision: int = PRECISION) -> Enclosure:
        """The chance that an empty bin reaches the threshold, where it may."""
        raise NotImplementedError

    @property
    def clamp(self) -> Clamp:
        return (None, None) if self.signed else (0, None)

    def belongs(self, question: Question, unit: Unit, max_items: int | None) -> bool:
        bins = question.bins if question.domain.declared else None
        aggregate = question.aggregate
        return (self.bins, self.step, self.signed) == (bins, aggregate.step, aggregate.signed)

    @cached_property
    def error(self) -> ErrorModel:
        return ThresholdError(self)

    def measures(self, question: Question) -> tuple[Measure, ...]:
        return (*without_floors(super().measures(question), question), look_ups(self.error))

    def linear(self, query: Query, answer: Answer | None, reading: Reading, reader: str = "") -> LinearError:
        """As under Stability, in the unit of the question, where empty bins are never shown and no value is below 0."""
        if self.certain or self.signed:
            return super().linear(query, answer, reading, reader)
        law = self.stability

        def noise(asked: Query) -> SumError:
            """Noise is drawn on whole steps."""
            return law.drawn.clamped_sum(Query(tuple((points, w * self.step) for points, w in asked.parts)), top=True)

        return hidden_below(noise, query, cast(SparseTable, answer), law.threshold * self.step, law.n)


@stored
@dataclass(frozen=True)
class ThresholdLaw(ValuesLaw):
    """Such a law with two-sided geometric noise."""

    name: ClassVar[str] = "threshold"

    cut: Cut
    step: Fraction
    bins: int | None

    def __post_init__(self) -> None:
        if self.step <= 0 or (self.cut.certain and self.bins is None):
            raise ReleaseFormat.damaged(
                "a threshold on every bin needs declared bins, and a step is positive", "another one"
            )

    @property
    def least(self) -> int:
        return self.cut.least

    @property
    def certain(self) -> bool:
        return self.cut.certain

    @property
    def signed(self) -> bool:
        return self.cut.signed

    @cached_property
    def stability(self) -> OccupiedLaw:
        return StabilityLaw(NoiseLaw(self.cut.exponent, None, None), self.cut.least - 1, self.bins, None)

    def passes(self, value: int, precision: int = PRECISION) -> Enclosure:
        return self.cut.passes(value, precision)


@stored
@dataclass(frozen=True)
class TruncatedThresholdLaw(ThresholdLaw):
    """The same with noise given that it is smaller than the threshold in size; no value is below 0."""

    name: ClassVar[str] = "threshold-truncated"

    def __post_init__(self) -> None:
        if self.step <= 0 or self.cut.certain or self.cut.signed or self.cut.least < 2:
            raise ReleaseFormat.damaged("truncated noise is on values above 0, and a step is positive", "another one")

    @cached_property
    def stability(self) -> TruncatedStabilityLaw:
        return TruncatedStabilityLaw(NoiseLaw(self.cut.exponent, None, None), self.cut.least - 1, self.bins, None)


@stored
@dataclass(frozen=True)
class GaussianThresholdLaw(ValuesLaw):
    """The same with discrete Gaussian noise; no value is below 0.

    variance  of the noise: Pr[Z = z] is proportional to exp(-z**2 / (2 * variance))
    reached   a noisy value is shown where it is at least this, in whole steps
    """

    name: ClassVar[str] = "threshold-gaussian"

    variance: Fraction
    reached: int
    step: Fraction
    bins: int | None

    def __post_init__(self) -> None:
        whole(self.reached, "reached")
        if self.step <= 0 or self.variance <= 0:
            raise ReleaseFormat.damaged("the variance of noise is positive, and so is a step", "another one")

    @property
    def least(self) -> int:
        return self.reached

    @cached_property
    def stability(self) -> OccupiedLaw:
        return GaussianStabilityLaw(GaussianNoise(self.variance, None), self.reached - 1, self.bins, None)


def without_floors(measures: tuple[Measure, ...], question: Question) -> tuple[Measure, ...]:
    """The measures; of a question for sums without the least error that is possible, which is about counts."""
    return measures if question.aggregate.counts else tuple(replace(one, floor=None) for one in measures)


@dataclass(frozen=True)
class ThresholdError(ErrorModel):
    """The error at a threshold: that of Stability in whole steps; an empty bin is off only where it may be shown."""

    law: ValuesLaw

    def one_bin(self, beta: Fraction, *, count: int | None = None) -> ErrorValue | None:
        if count is None:
            return self._scaled(self.law.stability.error.one_bin(beta))
        if count:
            steps = int(count / self.law.step)
            return self._scaled(self.law.stability.error.one_bin(beta, count=steps))
        if not self.law.certain:
            return ErrorValue(Fraction(0), "exact", "an empty bin is never shown")
        cut = cast(ThresholdLaw, self.law).cut
        sides = 2 if cut.signed else 1
        rule = "the law of an empty bin"
        if sides * cut.passes(0)[1] <= beta:
            return ErrorValue(Fraction(0), "exact", rule)
        value = least(lambda a: sides * above_bounds(cut.decay, a, 128)[1] <= beta, start=cut.least)
        return ErrorValue(value * self.law.step, "exact", rule)

    def all_bins(self, beta: Fraction) -> ErrorValue | None:
        """With two signs an empty bin errs on both sides, which half of beta pays for."""
        return self._scaled(self.law.stability.error.all_bins(beta / 2 if self.law.signed else beta))

    def look_ups(self, number: int, beta: Fraction) -> ErrorValue | None:
        """Each as far off as the worst value may be, or an empty bin, which may be shown where the cut is certain."""
        each = beta / whole(number, "number")
        found = [self.one_bin(each), self.one_bin(each, count=0)]
        known = [one.value for one in found if one is not None]
        if len(known) < len(found):
            return None
        return ErrorValue(max(known), "bound", f"union bound over {number:,} look-ups, worst case over exact values")

    def shown(self, beta: Fraction) -> ErrorValue | None:
        return self._scaled(self.law.stability.error.shown(beta))

    def _scaled(self, value: ErrorValue | None) -> ErrorValue | None:
        """An error of whole steps in the unit of the question. With two signs a value near 0 may be shown with the
        wrong one, which the law of one sign does not tell, so it is a bound there."""
        if value is None:
            return None
        how = "bound" if self.law.signed and value.how == "exact" else value.how
        return replace(value, value=value.value * self.law.step, how=how)

    def expected(self, count: int) -> ErrorValue | None:
        return None if count or self.law.certain else ErrorValue(Fraction(0), "exact", "an empty bin is never shown")

    def bias(self, count: int) -> ErrorValue | None:
        return self.expected(count)

    def chance_shown(self, count: int) -> float | None:
        if self.law.step != 1 or self.law.signed:
            return None
        if count == 0:
            return float(self.law.passes(0)[1]) if self.law.certain else 0.0
        return self.law.stability.error.chance_shown(count)

    def quantiles(self, levels: list[Fraction]) -> list[int] | None:
        return self.law.stability.error.quantiles(levels) if self.law.step == 1 else None

    def reads(self, count: int, levels: Sequence[Fraction]) -> list[int | None] | None:
        if self.law.step != 1 or self.law.signed:
            return None
        if count or not self.law.certain:
            return self.law.stability.error.reads(count, levels)
        drawn = self.law.stability.drawn.reads(0, levels)
        return [value if value >= self.law.least else None for value in drawn]

    def near_the_cut(self, levels: list[Fraction]) -> tuple[int, list[int]] | None:
        whole_counts = self.law.step == 1 and not self.law.signed
        return self.law.stability.error.near_the_cut(levels) if whole_counts else None


def least_passing(exponent: Fraction, chance: Fraction, above: int) -> int:
    """The least threshold t > above with P[Z >= t - above] <= chance, for noise of this exponent."""
    decay = Decay.exp(exponent)
    return above + least(lambda distance: above_bounds(decay, distance - 1, 128)[1] <= chance, start=1)


protect_module(vars())
