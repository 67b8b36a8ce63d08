"""A sketch whose values are one unary number from -m to m, and how far off it is."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import ClassVar

from dpviz.boundary import protect_module
from dpviz.model.answers.signed_sketch import SignedPlan
from dpviz.model.answers.sketch import PARTS, SketchPlan
from dpviz.model.error import ErrorModel, ErrorValue
from dpviz.model.laws.base import stored
from dpviz.model.laws.behind import Behind, least_on_grid
from dpviz.model.laws.planned import PlannedError, PlannedLaw
from dpviz.model.laws.threshold import without_floors
from dpviz.model.measures import Measure, look_ups
from dpviz.model.question import Question


@stored
@dataclass(frozen=True)
class SignedSketchLaw(PlannedLaw):
    """The public numbers of such a sketch."""

    name: ClassVar[str] = "signed-sketch"
    numbers: ClassVar[type[SketchPlan]] = SignedPlan
    signed: ClassVar[bool] = True

    plan: SignedPlan

    @cached_property
    def error(self) -> ErrorModel:
        return SignedSketchError(self)

    def measures(self, question: Question) -> tuple[Measure, ...]:
        return (*without_floors(super().measures(question), question), look_ups(self.error))


@dataclass(frozen=True)
class SignedSketchError(PlannedError):
    """The error of an estimator, which is off alike above and below 0: another key may set a bit beyond a value, or
    clear one up to it."""

    law: SignedSketchLaw

    def worst(self, beta: Fraction, rule: str) -> ErrorValue:
        """A value is told to a thousandth of a step."""
        plan, level = self.law.plan, float(beta)
        if self._behind is None:
            steps = math.ceil(plan.off(beta, self.reader) / plan.worth + Fraction(1, PARTS))
        else:
            steps = least_on_grid(lambda a: self._beyond(a) <= level, plan.reach)
        return ErrorValue(steps * self.law.step, "bound", rule)

    @cached_property
    def _behind(self) -> Behind | None:
        return None if self.law.cut is None else Behind(self.law.cut, int(self.law.plan.reach))

    def _beyond(self, a: int) -> float:
        """The chance, at most, that a value behind a threshold is off by more than a whole steps. Kept: many levels ask
        for the same."""
        if a not in self._known:
            plan, behind = self.law.plan, self._behind
            assert behind is not None
            worth, tails = float(plan.worth), plan.tails_of(self.reader)
            alone = tails.beyond(max(0.0, a - 1 / PARTS) * worth)
            self._known[a] = behind.beyond(a, alone, lambda steps: tails.short((steps - 1 / PARTS) * worth))
        return self._known[a]

    @cached_property
    def _known(self) -> dict[int, float]:
        return {}


protect_module(vars())
