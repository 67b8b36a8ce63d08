"""A sketch of logarithms, and how far off it is: by a factor above a floor, by no more than a count below it."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import ClassVar, Final

from dpviz.boundary import protect_module
from dpviz.exact import Decay, ceil_to, text, whole
from dpviz.laws.alp import Tails
from dpviz.laws.alp_readers import tails
from dpviz.laws.geometric import above_bounds, float_rate
from dpviz.laws.search import least
from dpviz.model.answers.log_sketch import LogErrors, LogPlan
from dpviz.model.answers.sketch import PARTS, SketchPlan
from dpviz.model.error import ErrorModel, ErrorValue
from dpviz.model.laws.base import Clamp, stored
from dpviz.model.laws.behind import Behind
from dpviz.model.laws.planned import PlannedError, PlannedLaw
from dpviz.model.laws.threshold import without_floors
from dpviz.model.measures import LOOK_UPS, Measure
from dpviz.model.question import Question

NEAR = 2e-9
"""The amount that lowers a reach in bits: the tails of estimates take what lies nearer than half of it for the same."""

TOLD = Fraction(1, 1000)
"""A factor is told to so much, rounded up."""

KEPT = Fraction(1, 4)
"""Behind a threshold, the share of beta by which the noise of a kept value may fail on one side."""

NO_FACTOR: Final = "the noise of a value that is kept may be as large as the threshold"
"""Why a plan states no factor."""


@stored
@dataclass(frozen=True)
class LogSketchLaw(PlannedLaw):
    """The public numbers of a sketch of logarithms."""

    name: ClassVar[str] = "log-sketch"
    numbers: ClassVar[type[SketchPlan]] = LogPlan

    plan: LogPlan

    @property
    def floor(self) -> Fraction:
        """The floor in steps, to two digits after the point: rounded up, so that it is one, too."""
        return ceil_to(self.plan.rungs.floor, Fraction(1, 100))

    @property
    def clamp(self) -> Clamp:
        return 0, None

    @cached_property
    def error(self) -> ErrorModel:
        return LogSketchError(self)

    def measures(self, question: Question) -> tuple[Measure, ...]:
        """First the factor, and what it holds for; then the errors in counts, which are large where values may be."""
        error = LogSketchError(self)
        floor = text(self.floor * self.step)
        factor = Measure(
            name="factor",
            label=f"Any one bin of {floor} or more, as a factor",
            short="as a factor",
            phrase=f"any one bin of {floor} or more within a factor of {{value}}",
            tip=f"Pick a bin before looking whose true value is {floor} or more: at least {{times}} its {{done}} value "
            "is within a factor of {value} of the truth, up or down.",
            at=error.factor,
            sign="×",
            origin="up or down",
            missing=NO_FACTOR,
            weight="",
            counts=False,
        )
        low = Measure(
            name="low",
            label=f"A bin below {floor}",
            short="small bin",
            phrase=f"a bin below {floor} is read as {floor} or more, within {{value}}",
            tip=f"A bin whose true value is below {floor} cannot be told from one of {floor}: it is read as {floor} or "
            "more, and at least {times} within {value} of the truth.",
            at=error.low,
            weight="",
        )
        one, every, empty = without_floors(super().measures(question), question)
        return factor, low, replace(one, pictured=False), every, empty, self._look_ups(LOOK_UPS)

    def _look_ups(self, many: int) -> Measure:
        """Of several look-ups at once: as a factor, for an error in counts is as large as values may be."""
        floor = text(self.floor * self.step)
        return Measure(
            name="look_ups",
            label=f"{many:,} look-ups at once of {floor} or more, as a factor",
            short=f"{many:,} look-ups",
            phrase=f"all of {many:,} look-ups of {floor} or more within a factor of {{value}}",
            tip=f"Pick {many:,} keys before looking: at least {{times}} every one of them whose true value is {floor} "
            "or more is read within a factor of {value} of the truth, up or down.",
            at=lambda beta: LogSketchError(self).factors(many, beta),
            sign="×",
            origin="up or down",
            missing=NO_FACTOR,
            weight="",
            counts=False,
            many=many,
            among=self._look_ups,
        )


@dataclass(frozen=True)
class LogSketchError(PlannedError, LogErrors):
    """The error of an estimator, from how many bits it is off.

    Behind a threshold t let Z be the noise there, P[Z > h] <= beta / 4, and let the estimate of a value be off by more
    than some bits with a chance of 3/4 beta at most. A value up to t is shown only by noise above 0, so it fails with a
    chance of beta / 4 + 3/4 beta; one beyond t is read from the bits with a chance below 1/2, so it fails with a chance
    of 2 beta / 4 + 3/8 beta. Where neither fails, what is read from the bits is below t + h.
    """

    law: LogSketchLaw

    def off(self, beta: Fraction) -> Fraction:
        return self.law.plan.off(beta if self.law.cut is None else (1 - KEPT) * beta, self.reader)

    def kept(self, beta: Fraction) -> int:
        cut = self.law.cut
        return 0 if cut is None else _kept(cut.decay, KEPT * beta)

    def factor(self, beta: Fraction) -> ErrorValue | None:
        """By what factor a value at the floor or above is misread; None where the noise may take a kept one to 0."""
        return self._factor(beta, f"worst case over exact values, {self.given}")

    def factors(self, number: int, beta: Fraction) -> ErrorValue | None:
        """The same of the worst of so many look-ups."""
        rule = f"union bound over {whole(number, 'number'):,} look-ups, {self.given}"
        return self._factor(beta / number, rule)

    def _factor(self, beta: Fraction, rule: str) -> ErrorValue | None:
        """A value is told to a thousandth of a step, which the factor allows for."""
        rungs, cut = self.law.plan.rungs, self.law.cut
        found = rungs.factor(self.off(beta)) / (1 - 1 / (2 * PARTS * rungs.floor))
        if cut is not None:
            kept = self.kept(beta)
            if kept >= cut.least:
                return None
            found = max(found * Fraction(cut.least + kept, cut.least), Fraction(cut.least, cut.least - kept))
        return ErrorValue(ceil_to(found, TOLD), "bound", rule)

    def low(self, beta: Fraction) -> ErrorValue:
        """Bound the misreading of a value below the floor."""
        rungs = self.law.plan.rungs
        highest = rungs.steps(rungs.bits(self.law.floor) + self.off(beta))
        return self._value(max(highest, Fraction(self.kept(beta))), f"worst case over such values, {self.given}")

    def _value(self, steps: Fraction, rule: str) -> ErrorValue:
        """An error in the unit of the question, rounded up to a whole step; a value is told to a thousandth of one."""
        return ErrorValue(math.ceil(steps + Fraction(1, PARTS)) * self.law.step, "bound", rule)

    def worst(self, beta: Fraction, rule: str) -> ErrorValue:
        """Distances of rungs never fall, so the same number of bits is worth most at the top; a value below the floor
        is read as what lies that many bits above it, at most."""
        plan, cut = self.law.plan, self.law.cut
        off, kept = self.off(beta), Fraction(self.kept(beta))
        high = plan.rungs.top - plan.rungs.steps(plan.columns - off)
        if cut is not None:
            high += max(Fraction(0), cut.least + kept - plan.rungs.top)
        return self._value(max(high, plan.rungs.steps(off), kept), rule)

    def of(self, steps: Fraction, beta: Fraction, count: int) -> ErrorValue:
        """Of one true value, by its own tail. Results are kept: a plan asks for the same at many sliders."""
        found = self._found.get((steps, beta, count))
        if found is None:
            found = self._found[steps, beta, count] = self._of(steps, beta, count)
        return found

    def _of(self, steps: Fraction, beta: Fraction, count: int) -> ErrorValue:
        rule, level, behind = (
            f"the law of a bin whose exact value is {count:,}, {self.given}",
            float(beta),
            self._behind,
        )
        if behind is None:
            return ErrorValue(least(lambda a: self._beyond(steps, a) <= level) * self.law.step, "bound", rule)
        noisy = steps > 0 or behind.cut.certain
        shown = float(behind.reaches(behind.cut.least - int(steps))) if noisy else 0.0

        def holds(a: int) -> bool:
            away = min(2 * float(behind.reaches(a + 1)), shown)
            return away + (1 - shown) * self._beyond(steps, a) <= level

        return ErrorValue(least(holds) * self.law.step, "bound", rule)

    @cached_property
    def _behind(self) -> Behind | None:
        return None if self.law.cut is None else Behind(self.law.cut, int(self.law.plan.reach))

    @cached_property
    def _found(self) -> dict[tuple[Fraction, Fraction, int], ErrorValue]:
        return {}

    @cached_property
    def _tails(self) -> Tails:
        plan = self.law.plan
        return tails(plan.flips, plan.columns, self.reader)

    @cached_property
    def _bits(self) -> dict[Fraction, Fraction]:
        return {}

    @cached_property
    def _chances(self) -> dict[tuple[Fraction, int], float]:
        return {}

    def _beyond(self, steps: Fraction, a: int) -> float:
        """The chance, at most, that one value is off by more than a whole steps where it is read from the bits."""
        found = self._chances.get((steps, a))
        if found is None:
            found = self._chances[steps, a] = self._tail(steps, a)
        return found

    def _tail(self, steps: Fraction, a: int) -> float:
        plan = self.law.plan
        rungs, reach, value = plan.rungs, a - Fraction(1, PARTS), min(steps, plan.rungs.top)
        bits = self._bits.get(steps)
        if bits is None:
            bits = self._bits[steps] = rungs.bits(steps)
        missing = max(Fraction(0), steps - rungs.top)
        if reach < max(missing, rungs.floor - value):
            return 1.0
        sides = []
        if value + reach < rungs.top:
            sides.append(rungs.bits(value + reach) - bits)
        if value - (reach - missing) > rungs.floor:
            sides.append(bits - rungs.bits(value - (reach - missing)))
        nearest = max(0.0, float(min(sides, default=0)) - NEAR)
        return self._tails.of(float(bits), nearest) if sides else 0.0


@lru_cache(maxsize=1024)
def _kept(decay: Decay, share: Fraction) -> int:
    """The least a with P[Z > a] <= share, searched for from where it is by floats."""
    rate = float_rate(decay)
    far = (math.log(share.denominator) - math.log(share.numerator)) / rate if rate > 0 else 0.0
    near = int(far) if math.isfinite(far) else 0
    return least(lambda a: above_bounds(decay, a, 128)[1] <= share, near=max(0, near - 1))


protect_module(vars())
