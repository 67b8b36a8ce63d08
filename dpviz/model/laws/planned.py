"""The base of laws of sketches that hold the public numbers of the sketch as they stand in the answer."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, ClassVar, Final, Self, cast

from dpviz.boundary import protect_module
from dpviz.errors import ReleaseFormat
from dpviz.exact import text, whole
from dpviz.model.answers import Answer, Reading, Sketch
from dpviz.model.answers.sketch import READERS, SketchPlan
from dpviz.model.domain import bins_text
from dpviz.model.error import ErrorModel, ErrorValue
from dpviz.model.laws.base import StoredLaw, fraction_of
from dpviz.model.laws.look_ups import LookUpSum, if_few
from dpviz.model.laws.threshold import Cut
from dpviz.model.linear import LinearError, Query
from dpviz.model.question import Question
from dpviz.privacy.unit import Unit

NO_LARGER: Final = "The bits cannot stand for a larger value."
"""Why an end of a sum is open."""

TOUCHED: Final = "biased: bits that other bins touch move an estimate"


@dataclass(frozen=True)
class PlannedLaw(StoredLaw):
    """The public numbers of a sketch, alone or behind a threshold.

    plan  those that its answer repeats
    step  what one whole step of a value is worth
    bins  of a declared domain; None for unknown keys
    cut, adaptive  noise and threshold of what is kept, and whether that is left out of the sketch; None and False for a
                   sketch by itself, and stored only where there is a threshold
    """

    numbers: ClassVar[type[SketchPlan]]
    signed: ClassVar[bool] = False

    plan: SketchPlan
    step: Fraction
    bins: int | None
    cut: Cut | None = None
    adaptive: bool = False

    def __post_init__(self) -> None:
        if self.step <= 0 or (self.bins is not None and self.bins < 1) or (self.plan.halves == 2) != self.signed:
            raise ReleaseFormat.damaged(
                "a step is positive, declared bins are some, and values have as many signs as halves", "other numbers"
            )
        if self.cut is None and self.adaptive:
            raise ReleaseFormat.damaged(
                "without a threshold nothing is kept that a sketch could leave out", "adaptive: true"
            )
        if self.cut is not None and (self.cut.signed != self.signed or self.cut.least > self.plan.reach):
            raise ReleaseFormat.damaged(
                "behind a threshold the bits of a sketch reach it, for values of as many signs", "another threshold"
            )

    def to_json(self) -> dict[str, Any]:
        bins = None if self.bins is None else str(self.bins)
        own: dict[str, Any] = {"plan": self.plan.to_json(), "step": str(self.step), "bins": bins}
        if self.cut is not None:
            own |= {"cut": self.cut.to_json(), "adaptive": self.adaptive}
        return {"name": self.name, "version": self.version, **own}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        plan, parts = data.get("plan"), {"plan", "step", "bins"}
        if set(data) not in (parts, parts | {"cut", "adaptive"}) or not isinstance(plan, Mapping):
            raise ReleaseFormat.damaged(
                "this law has the parts plan, step, bins, and behind a threshold cut, adaptive", cls.__name__
            )
        bins = None if data["bins"] is None else fraction_of(data["bins"])
        for number in plan.values():
            fraction_of(number)
        try:
            found = cls.numbers.from_json(plan)
        except KeyError:
            raise ReleaseFormat.damaged("a sketch has all of its public numbers", cls.__name__) from None
        if bins is not None and bins.denominator != 1:
            raise ReleaseFormat.damaged("a law writes whole numbers as their digits", "a fraction")
        step, whole_bins = fraction_of(data["step"]), None if bins is None else int(bins)
        if "cut" not in data:
            return cls(found, step, whole_bins)
        if type(data["adaptive"]) is not bool:
            raise ReleaseFormat.damaged("whether a sketch leaves out what is kept is true or false")
        return cls(found, step, whole_bins, Cut.from_json(data["cut"]), data["adaptive"])

    def belongs(self, question: Question, unit: Unit, max_items: int | None) -> bool:
        bins = question.bins if question.domain.declared else None
        return (self.bins, self.step, self.signed) == (bins, question.aggregate.step, question.aggregate.signed)

    def accepts(self, answer: Answer) -> bool:
        """Whether it is a sketch of these numbers, and keeps what reaches the threshold, or nothing without one."""
        sketch = cast(Sketch, answer)
        return sketch.plan == self.plan and (
            not len(sketch.labels) if self.cut is None else self.cut.admits(sketch.values)
        )

    def linear(self, query: Query, answer: Answer | None, reading: Reading, reader: str = "") -> LinearError:
        """From the interval of each look-up."""
        if answer is None:
            return super().linear(query, answer, reading, reader)
        return LookUpSum(query, answer, reading, reader, if_few(self.plan.keys), NO_LARGER, TOUCHED)


@dataclass(frozen=True)
class PlannedError(ErrorModel):
    """The error of an estimator: a bound for every value that the bits can stand for, behind a threshold for
    any value, and for at most as many bins that are not empty as were said. A subclass says what the worst of all
    values is off by."""

    law: PlannedLaw
    reader: str = READERS[0]

    def estimator(self, reader: str) -> ErrorModel:
        return self if reader in ("", self.reader) else replace(self, reader=reader)

    @property
    def top(self) -> Fraction:
        """The largest value that the bits can stand for, rounded down to a whole step."""
        return int(self.law.plan.reach) * self.law.step

    @property
    def given(self) -> str:
        given = if_few(self.law.plan.keys)
        if self.law.cut is not None:
            return given
        beyond = "no value is above" if not self.law.signed else "no value is further from 0 than"
        return f"{given} and {beyond} {text(self.top)}"

    def worst(self, beta: Fraction, rule: str) -> ErrorValue:
        raise NotImplementedError

    def one_bin(self, beta: Fraction, *, count: int | None = None) -> ErrorValue:
        if count is not None:
            return self.of(Fraction(count) / self.law.step, beta, count)
        return self.worst(beta, f"worst case over exact values, {self.given}")

    def of(self, steps: Fraction, beta: Fraction, count: int) -> ErrorValue:
        """The error of one true value: that of the worst, and what it is beyond the largest that can be stood for; one
        that is far beyond a threshold is kept."""
        found = self.worst(beta, f"the law of a bin whose exact value is {count:,}, {self.given}")
        missing = Fraction(0) if self.law.cut is not None else max(Fraction(0), abs(Fraction(count)) - self.top)
        return ErrorValue(found.value + missing, found.how, found.rule)

    def all_bins(self, beta: Fraction) -> ErrorValue | None:
        if self.law.bins is None:
            return None
        return self.worst(beta / self.law.bins, f"union bound over {bins_text(self.law.bins)}, {self.given}")

    def look_ups(self, number: int, beta: Fraction) -> ErrorValue:
        rule = f"union bound over {whole(number, 'number'):,} look-ups, {self.given}"
        return self.worst(beta / number, rule)


protect_module(vars())
