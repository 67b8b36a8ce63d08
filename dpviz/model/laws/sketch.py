"""A sketch, alone or with what passes a threshold kept beside it, and how far off it is."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property, partial
from typing import Any, ClassVar, cast

import numpy as np
from numpy.typing import NDArray

from dpviz.boundary import protect_module
from dpviz.errors import ReleaseFormat
from dpviz.exact import text, whole
from dpviz.laws.alp import ENUMERATED, SLACK, Tails, Walks, chance_of_nothing, estimates, of_zero
from dpviz.laws.geometric import float_rate
from dpviz.model.answers import Answer, Reading, Sketch
from dpviz.model.answers.sketch import PARTS, READERS, Plan
from dpviz.model.domain import bins_text
from dpviz.model.error import ErrorModel, ErrorValue, mean
from dpviz.model.laws.base import Clamp, StoredLaw, stored
from dpviz.model.laws.count_noise import least
from dpviz.model.laws.threshold import Cut, without_floors
from dpviz.model.linear import LinearError, Query, WorstError
from dpviz.model.measures import Measure
from dpviz.model.question import Question
from dpviz.privacy.unit import Unit

CELLS = 64
"""How finely values are told apart where what may happen to them depends on their distance from a threshold."""

HALVINGS = 9
"""In so many ways an error is shared between a sketch's two halves."""

FINEST = 4096
"""Values of so many steps are looked at one by one; beyond, a half-width is found on a grid that has as many."""


@stored
@dataclass(frozen=True)
class SketchLaw(StoredLaw):
    """The public numbers of a sketch, as its answer repeats them, and the threshold before it.

    step      what one whole step of a value is worth
    bins      of a declared domain; None for unknown keys
    cut       noise and threshold of what is kept; None for a sketch by itself
    adaptive  whether what is kept is left out of the sketch
    """

    name: ClassVar[str] = "sketch"

    ones: int
    places: int
    worth: Fraction
    columns: int
    width: int
    keys: int
    halves: int
    step: Fraction
    bins: int | None
    cut: Cut | None
    adaptive: bool

    def __post_init__(self) -> None:
        if self.step <= 0:
            raise ReleaseFormat("a step is positive")
        self.plan  # noqa: B018 - numbers that no sketch has are refused

    @cached_property
    def plan(self) -> Plan:
        return Plan(self.ones, self.places, self.worth, self.columns, self.width, self.keys, self.halves)

    @cached_property
    def tails(self) -> Tails:
        return Tails(self.plan.flips, self.columns)

    @property
    def clamp(self) -> Clamp:
        return (None, None) if self.halves == 2 else (0, None)

    def belongs(self, question: Question, unit: Unit, max_items: int | None) -> bool:
        bins = question.bins if question.domain.declared else None
        aggregate = question.aggregate
        return (self.bins, self.step, self.halves == 2) == (bins, aggregate.step, aggregate.signed)

    def accepts(self, answer: Answer) -> bool:
        """Whether it is a sketch of these numbers, and keeps what reaches the threshold, or nothing without one."""
        sketch = cast(Sketch, answer)
        if self.cut is None:
            return sketch.plan == self.plan and not len(sketch.labels)
        values = np.abs(sketch.values) if self.cut.signed else sketch.values
        return sketch.plan == self.plan and bool((values >= self.cut.least).all())

    @cached_property
    def error(self) -> ErrorModel:
        return SketchError(self)

    def measures(self, question: Question) -> tuple[Measure, ...]:
        return without_floors(super().measures(question), question)

    def linear(self, query: Query, answer: Answer | None, reading: Reading, reader: str = "") -> LinearError:
        """Keys that share bits depend on each other, so no law of a sum follows: each bin is off by no more than the
        worst of so many look-ups. It holds for values that the bits can stand for."""
        error = self.error.estimator(reader)
        many = query.size if self.bins is None else min(query.size, self.bins)
        if error.one_bin(Fraction(1, 20)) is None:
            return super().linear(query, answer, reading, reader)
        return WorstError(
            worst=partial(cast(SketchError, error).many, many),
            weight=query.total,
            by=f"union bound over {many:,} look-ups, each as far off as the worst may be",
            bias_words="biased: bits that other bins set raise an estimate",
        )


@dataclass(frozen=True)
class SketchError(ErrorModel):
    """The error of the default estimator: a bound for every value that the bits can stand for, and for at most as many
    bins that are not empty as were said. How much more is known is worked out for empty bins."""

    law: SketchLaw

    def estimator(self, reader: str) -> ErrorModel:
        """Nothing is proved about the other estimators."""
        return self if reader in ("", READERS[0]) else ErrorModel()

    @property
    def _given(self) -> str:
        given = f"if at most {self.law.keys:,} bins are not empty"
        return given if self.law.cut else f"{given} and no value is above {text(self._top)}"

    @property
    def _top(self) -> Fraction:
        """The largest value that the bits can stand for, rounded down to a whole step."""
        return math.floor(self.law.plan.reach) * self.law.step

    def one_bin(self, beta: Fraction, *, count: int | None = None) -> ErrorValue:
        if count is not None:
            return self._of(Fraction(count) / self.law.step, beta, count)
        return self._worst(beta, f"worst case over true values, {self._given}")

    def all_bins(self, beta: Fraction) -> ErrorValue | None:
        if self.law.bins is None:
            return None
        rule = f"union bound over {bins_text(self.law.bins)}, {self._given}"
        return self._worst(beta / self.law.bins, rule)

    def look_ups(self, number: int, beta: Fraction) -> ErrorValue:
        return self.many(whole(number, "number"), beta)

    def many(self, number: int, beta: Fraction) -> ErrorValue:
        return self._worst(beta / number, f"union bound over {number:,} look-ups, {self._given}")

    def _worst(self, beta: Fraction, rule: str) -> ErrorValue:
        level = float(beta)
        steps = self._least(lambda a: self._beyond(a) <= level)
        return ErrorValue(steps * self.law.step, "bound", rule)

    def _least(self, holds: Callable[[int], bool]) -> int:
        """The least whole number of steps, or of multiples of a coarser grid, that holds."""
        scale = max(1, math.ceil(self.law.plan.reach / FINEST))
        return scale * least(lambda grid: holds(scale * grid))

    def _beyond(self, a: int) -> float:
        """The chance, at most, that a value is off by more than a whole steps."""
        reach = max(0.0, a - 1 / PARTS) * float(self.law.worth)  # an estimate is rounded by less
        alone = self._sketched(reach)
        cut = self.law.cut
        if cut is None:
            return alone
        # a value far below the threshold is read from the sketch, one far above it is kept: cell by cell of values
        rate, t, top = float_rate(cut.decay), cut.least, int(self.law.plan.reach)
        noise = 2 * float(_reaches(rate, a + 1))
        ends = np.unique(np.linspace(0, top, CELLS + 1).astype(np.int64))
        missed, shown = 1 - _reaches(rate, t - ends[:-1]), np.minimum(noise, _reaches(rate, t - ends[1:]))
        found = float((missed * alone + shown).max()) if len(ends) > 1 else 1.0
        # beyond what the bits can stand for, the estimate falls short by what is missing, too
        more = np.unique(np.linspace(0, a + 1, CELLS // 2 + 1).astype(np.int64))
        short = self._short((a - more[1:] - 1 / PARTS) * float(self.law.worth))
        return min(1.0, max(found, float(((1 - _reaches(rate, t - top - more[:-1])) * short).max()) + noise))

    def _sketched(self, reach: float) -> float:
        """The chance, at most, that a sketch by itself is off by more than so many bits. Where there are two halves the
        other one holds an estimate of 0, and takes a part of the way."""
        if self.law.halves == 1:
            return self.law.tails.beyond(reach)
        parts = np.linspace(0, reach / 2, HALVINGS)
        others: list[float] = self.law.tails.zero(parts).tolist()
        ways = [self.law.tails.beyond(reach - part) for part in parts.tolist()]
        return min(1.0, *(way + other for way, other in zip(ways, others, strict=True)))

    def _short(self, reach: NDArray[np.floating[Any]]) -> NDArray[np.float64]:
        """The chances, at most, that a value as large as the bits can stand for is read as so many bits less."""
        if self.law.halves == 1:
            return self.law.tails.short(reach.astype(np.float64))
        found = [
            self.law.tails.short(reach * (1 - part)) + self.law.tails.zero(reach * part)
            for part in np.linspace(0, 1 / 2, HALVINGS).tolist()
        ]
        least_: NDArray[np.float64] = np.minimum(1.0, np.min(found, axis=0))
        return np.where(reach < 0, 1.0, least_)

    def _of(self, steps: Fraction, beta: Fraction, count: int) -> ErrorValue:
        """Of one true value, by its own tail, where it is read from the sketch alone; else that of the worst."""
        rule = f"the law of a bin whose true value is {count:,}, {self._given}"
        law, level = self.law, float(beta)
        if law.halves == 2 or steps > law.plan.reach:
            missing = 0 if law.cut is not None else max(0, math.ceil(steps - law.plan.reach))
            worst = self._worst(beta, rule)
            return replace(worst, value=worst.value + missing * law.step)
        y = float(steps * law.worth)
        rate = 0.0 if law.cut is None else float_rate(law.cut.decay)
        noisy = law.cut is not None and (steps > 0 or law.cut.certain)
        kept = float(_reaches(rate, law.cut.least - int(steps))) if noisy and law.cut is not None else 0.0

        def holds(a: int) -> bool:
            shown = min(2 * float(_reaches(rate, a + 1)), kept) if noisy else 0.0
            return (1 - kept) * law.tails.of(y, max(0.0, a - 1 / PARTS) * float(law.worth)) + shown <= level

        return ErrorValue(self._least(holds) * law.step, "bound", rule)

    # ------------------------------------------------------------ pictures

    @cached_property
    def _zero(self) -> tuple[Fraction, Fraction] | None:
        """The mean estimate of 0, in bits, where every column is as full as it may be, enclosed; None where it is not
        worked out."""
        if self.law.columns <= ENUMERATED:
            law = estimates(self.law.columns, 0, self.law.plan.flips)
            exact = sum((value * chance for value, chance in law.items()), Fraction(0))
            return exact, exact
        found = of_zero(self.law.plan.flips)
        if found is None or found[0] < 1e6 * SLACK:
            return None
        return Fraction(found[0] - SLACK), Fraction(found[0] + SLACK)

    def expected(self, count: int) -> ErrorValue | None:
        if count or self._zero is None or self.law.halves == 2 or self.law.cut is not None:
            return None
        unit = self.law.step / self.law.worth
        low, high = (end * unit for end in self._zero)
        rule = f"mean of the law at a true value of 0, where {self.law.keys:,} bins set bits in every column"
        return mean(lambda precision: (low, high), rule)

    def bias(self, count: int) -> ErrorValue | None:
        return self.expected(count)

    def chance_shown(self, count: int) -> float | None:
        if self.law.step != 1 or self.law.halves == 2:
            return None
        law, flips = self.law, self.law.plan.flips
        y = min(count * float(law.worth), float(law.columns))
        low, share = int(y), y - int(y)
        nothing = (1 - share) * chance_of_nothing(flips, low) + share * chance_of_nothing(flips, low + 1)
        kept = 0.0
        if law.cut is not None and (count or law.cut.certain):
            kept = float(_reaches(float_rate(law.cut.decay), law.cut.least - count))
        return 1 - (1 - kept) * nothing

    def quantiles(self, levels: list[Fraction]) -> list[int] | None:
        if self.law.step != 1 or self.law.halves == 2 or self._zero is None:
            return None
        flips, m = self.law.plan.flips, self.law.columns
        if m <= ENUMERATED:
            law = estimates(m, m // 2, flips)
            values = np.array([float(value - m // 2) for value in law])
            chances = np.array([float(chance) for chance in law.values()])
        else:
            values, chances = Walks(flips).law
        order = np.argsort(values)
        reached = np.cumsum(chances[order])
        found = np.searchsorted(reached, [float(level) * reached[-1] for level in levels])
        picked = values[order][np.minimum(found, len(order) - 1)] / float(self.law.worth)
        return [round(value) for value in picked.tolist()]


def _reaches(rate: float, distance: NDArray[np.int64] | int) -> NDArray[np.float64]:
    """P[Z >= distance] for noise of exp(-rate |z|). A float, which errs by far less than SLACK."""
    away = np.asarray(distance, dtype=np.float64)
    one = 1 + math.exp(-rate)
    found: NDArray[np.float64] = np.where(
        away >= 0, np.exp(-rate * np.maximum(away, 0)) / one, 1 - np.exp(-rate * np.maximum(1 - away, 0)) / one
    )
    return found


protect_module(vars())
