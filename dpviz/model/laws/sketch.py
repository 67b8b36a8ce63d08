"""A sketch, alone or with what passes a threshold kept beside it, and how far off it is."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import Any, ClassVar, Final, Self, cast

import numpy as np
from numpy.typing import NDArray

from dpviz.boundary import protect_module
from dpviz.errors import ReleaseFormat
from dpviz.exact import text, whole
from dpviz.laws.alp import ENUMERATED, SLACK, Tails, Walks, chance_of_nothing, estimates, of_zero
from dpviz.laws.alp_readers import tails
from dpviz.laws.geometric import float_rate
from dpviz.model.answers import Answer, Reading, Sketch
from dpviz.model.answers.sketch import NUMBERS, PARTS, READERS, SketchPlan
from dpviz.model.domain import bins_text
from dpviz.model.error import ErrorModel, ErrorValue, mean
from dpviz.model.laws.base import Clamp, StoredLaw, fraction_of, stored
from dpviz.model.laws.behind import Behind, least_on_grid, reaches
from dpviz.model.laws.look_ups import LookUpSum, if_few
from dpviz.model.laws.planned import NO_LARGER
from dpviz.model.laws.threshold import Cut, without_floors
from dpviz.model.linear import LinearError, Query
from dpviz.model.measures import Measure, look_ups
from dpviz.model.question import Question
from dpviz.privacy.unit import Unit

RAISED: Final = "biased: bits that other bins set raise an estimate"

HALVINGS = 9
"""In so many ways an error is shared between a sketch's two halves."""


@stored
@dataclass(frozen=True)
class SketchLaw(StoredLaw):
    """The public numbers of a sketch, as its answer repeats them, and the threshold before it.

    plan      the numbers
    step      what one whole step of a value is worth
    bins      of a declared domain; None for unknown keys
    cut       noise and threshold of what is kept; None for a sketch by itself
    adaptive  whether what is kept is left out of the sketch
    """

    name: ClassVar[str] = "sketch"

    plan: SketchPlan
    step: Fraction
    bins: int | None
    cut: Cut | None
    adaptive: bool

    def __post_init__(self) -> None:
        if self.step <= 0:
            raise ReleaseFormat.damaged("a step is positive", str(self.step))

    def to_json(self) -> dict[str, Any]:
        """The numbers of the plan stand beside the others."""
        own = {
            "step": str(self.step),
            "bins": None if self.bins is None else str(self.bins),
            "cut": None if self.cut is None else self.cut.to_json(),
            "adaptive": self.adaptive,
        }
        return {"name": self.name, "version": self.version, **self.plan.to_json(), **own}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        own = ("step", "bins", "cut", "adaptive")
        if not isinstance(data, Mapping) or not {*NUMBERS, *own} <= set(data) or type(data["adaptive"]) is not bool:
            raise ReleaseFormat.damaged(
                f"this law has the parts {', '.join((*NUMBERS, *own))}", f"other parts of {cls.__name__}"
            )
        plan = SketchPlan.from_json({name: value for name, value in data.items() if name not in own})
        bins = None if data["bins"] is None else fraction_of(data["bins"])
        if bins is not None and bins.denominator != 1:
            raise ReleaseFormat.damaged("a law writes whole numbers as their digits", "a fraction")
        cut = None if data["cut"] is None else Cut.from_json(data["cut"])
        return cls(plan, fraction_of(data["step"]), None if bins is None else int(bins), cut, data["adaptive"])

    def tails_of(self, reader: str) -> Tails:
        """Bound the error of an estimator, in bits."""
        return tails(self.plan.flips, self.plan.columns, reader)

    @property
    def clamp(self) -> Clamp:
        return (None, None) if self.plan.halves == 2 else (0, None)

    def belongs(self, question: Question, unit: Unit, max_items: int | None) -> bool:
        bins = question.bins if question.domain.declared else None
        aggregate = question.aggregate
        return (self.bins, self.step, self.plan.halves == 2) == (bins, aggregate.step, aggregate.signed)

    def accepts(self, answer: Answer) -> bool:
        """Whether it is a sketch of these numbers, and keeps what reaches the threshold, or nothing without one."""
        sketch = cast(Sketch, answer)
        if self.cut is None:
            return sketch.plan == self.plan and not len(sketch.labels)
        return sketch.plan == self.plan and self.cut.admits(sketch.values)

    @cached_property
    def error(self) -> ErrorModel:
        return self.error_of(READERS[0])

    def error_of(self, reader: str) -> SketchError:
        return _error(self, reader)

    def measures(self, question: Question) -> tuple[Measure, ...]:
        return (*without_floors(super().measures(question), question), look_ups(self.error))

    def linear(self, query: Query, answer: Answer | None, reading: Reading, reader: str = "") -> LinearError:
        """From the interval of each look-up."""
        if answer is None:
            return super().linear(query, answer, reading, reader)
        return LookUpSum(query, answer, reading, reader, if_few(self.plan.keys), NO_LARGER, RAISED)


@dataclass(frozen=True)
class SketchError(ErrorModel):
    """The error of an estimator: a bound for every value that the bits can stand for, and for at most as many bins that
    are not empty as were said. How much more is known of the default one is worked out for empty bins."""

    law: SketchLaw
    reader: str = READERS[0]

    def estimator(self, reader: str) -> ErrorModel:
        return self if reader in ("", self.reader) else self.law.error_of(reader)

    @property
    def tails(self) -> Tails:
        return self.law.tails_of(self.reader)

    @property
    def given(self) -> str:
        given = if_few(self.law.plan.keys)
        return given if self.law.cut else f"{given} and no value is above {text(self._top)}"

    @property
    def _top(self) -> Fraction:
        """The largest value that the bits can stand for, rounded down to a whole step."""
        return math.floor(self.law.plan.reach) * self.law.step

    def one_bin(self, beta: Fraction, *, count: int | None = None) -> ErrorValue:
        if count is not None:
            return self._of(Fraction(count) / self.law.step, beta, count)
        return self._worst(beta, f"worst case over exact values, {self.given}")

    def all_bins(self, beta: Fraction) -> ErrorValue | None:
        if self.law.bins is None:
            return None
        rule = f"union bound over {bins_text(self.law.bins)}, {self.given}"
        return self._worst(beta / self.law.bins, rule)

    def look_ups(self, number: int, beta: Fraction) -> ErrorValue:
        rule = f"union bound over {whole(number, 'number'):,} look-ups, {self.given}"
        return self._worst(beta / number, rule)

    def _worst(self, beta: Fraction, rule: str) -> ErrorValue:
        level = float(beta)
        steps = self._least(lambda a: self._beyond(a) <= level)
        return ErrorValue(steps * self.law.step, "bound", rule)

    def _least(self, holds: Callable[[int], bool]) -> int:
        return least_on_grid(holds, self.law.plan.reach)

    def _beyond(self, a: int) -> float:
        """The chance, at most, that a value is off by more than a whole steps. Kept: many levels ask for the same."""
        if a not in self._known:
            self._known[a] = self._chance_beyond(a)
        return self._known[a]

    @cached_property
    def _known(self) -> dict[int, float]:
        return {}

    @cached_property
    def _behind(self) -> Behind | None:
        return None if self.law.cut is None else Behind(self.law.cut, int(self.law.plan.reach))

    def _chance_beyond(self, a: int) -> float:
        worth, behind = float(self.law.plan.worth), self._behind
        alone = self._sketched(max(0.0, a - 1 / PARTS) * worth)  # an estimate is rounded by less
        if behind is None:
            return alone
        return behind.beyond(a, alone, lambda steps: self._short((steps - 1 / PARTS) * worth))

    def _sketched(self, reach: float) -> float:
        """The chance, at most, that a sketch by itself is off by more than so many bits. Where there are two halves the
        other one holds an estimate of 0, and takes a part of the way."""
        if self.law.plan.halves == 1:
            return self.tails.beyond(reach)
        parts = np.linspace(0, reach / 2, HALVINGS)
        others: list[float] = self.tails.zero(parts).tolist()
        ways = [self.tails.beyond(reach - part) for part in parts.tolist()]
        return min(1.0, *(way + other for way, other in zip(ways, others, strict=True)))

    def _short(self, reach: NDArray[np.floating[Any]]) -> NDArray[np.float64]:
        """The chances, at most, that a value as large as the bits can stand for is read as so many bits less."""
        if self.law.plan.halves == 1:
            return self.tails.short(reach.astype(np.float64))
        found = [
            self.tails.short(reach * (1 - part)) + self.tails.zero(reach * part)
            for part in np.linspace(0, 1 / 2, HALVINGS).tolist()
        ]
        least_: NDArray[np.float64] = np.minimum(1.0, np.min(found, axis=0))
        return np.where(reach < 0, 1.0, least_)

    def _of(self, steps: Fraction, beta: Fraction, count: int) -> ErrorValue:
        """Of one true value, by its own tail, where it is read from the sketch alone; else that of the worst."""
        rule = f"the law of a bin whose exact value is {count:,}, {self.given}"
        law, level = self.law, float(beta)
        if law.plan.halves == 2 or steps > law.plan.reach:
            missing = 0 if law.cut is not None else max(0, math.ceil(abs(steps) - law.plan.reach))
            worst = self._worst(beta, rule)
            return replace(worst, value=worst.value + missing * law.step)
        y = float(steps * law.plan.worth)
        rate = 0.0 if law.cut is None else float_rate(law.cut.decay)
        noisy = law.cut is not None and (steps > 0 or law.cut.certain)
        kept = float(reaches(rate, law.cut.least - int(steps))) if noisy and law.cut is not None else 0.0

        def holds(a: int) -> bool:
            shown = min(2 * float(reaches(rate, a + 1)), kept) if noisy else 0.0
            return (1 - kept) * self.tails.of(y, max(0.0, a - 1 / PARTS) * float(law.plan.worth)) + shown <= level

        return ErrorValue(self._least(holds) * law.step, "bound", rule)

    # ------------------------------------------------------------ pictures

    @property
    def _other(self) -> bool:
        """Whether it is not the default estimator: means and pictures are of that one."""
        return self.reader != READERS[0]

    @cached_property
    def _zero(self) -> tuple[Fraction, Fraction] | None:
        """The mean estimate of 0, in bits, where every column is as full as it may be, enclosed; None where it is not
        worked out."""
        if self.law.plan.columns <= ENUMERATED:
            law = estimates(self.law.plan.columns, 0, self.law.plan.flips)
            exact = sum((value * chance for value, chance in law.items()), Fraction(0))
            return exact, exact
        found = of_zero(self.law.plan.flips)
        if found is None or found[0] < 1e6 * SLACK:
            return None
        return Fraction(found[0] - SLACK), Fraction(found[0] + SLACK)

    def expected(self, count: int) -> ErrorValue | None:
        if self._other or count or self._zero is None or self.law.plan.halves == 2 or self.law.cut is not None:
            return None
        unit = self.law.step / self.law.plan.worth
        low, high = (end * unit for end in self._zero)
        rule = f"mean of the law at an exact value of 0, where {self.law.plan.keys:,} bins set bits in every column"
        return mean(lambda precision: (low, high), rule)

    def bias(self, count: int) -> ErrorValue | None:
        return self.expected(count)

    def chance_shown(self, count: int) -> float | None:
        if self._other or self.law.step != 1 or self.law.plan.halves == 2:
            return None
        law, flips = self.law, self.law.plan.flips
        y = min(count * float(law.plan.worth), float(law.plan.columns))
        low, share = int(y), y - int(y)
        nothing = (1 - share) * chance_of_nothing(flips, low) + share * chance_of_nothing(flips, low + 1)
        kept = 0.0
        if law.cut is not None and (count or law.cut.certain):
            kept = float(reaches(float_rate(law.cut.decay), law.cut.least - count))
        return 1 - (1 - kept) * nothing

    def quantiles(self, levels: list[Fraction]) -> list[int] | None:
        if self._other or self.law.step != 1 or self.law.plan.halves == 2 or self._zero is None:
            return None
        flips, m = self.law.plan.flips, self.law.plan.columns
        if m <= ENUMERATED:
            law = estimates(m, m // 2, flips)
            values = np.array([float(value - m // 2) for value in law])
            chances = np.array([float(chance) for chance in law.values()])
        else:
            values, chances = Walks(flips, rare=1e-8).law
        order = np.argsort(values)
        reached = np.cumsum(chances[order])
        found = np.searchsorted(reached, [float(level) * reached[-1] for level in levels])
        picked = values[order][np.minimum(found, len(order) - 1)] / float(self.law.plan.worth)
        return [round(value) for value in picked.tolist()]


@lru_cache(maxsize=64)
def _error(law: SketchLaw, reader: str) -> SketchError:
    """Kept, with what it worked out: the same law is asked for many levels."""
    return SketchError(law, reader)


protect_module(vars())
