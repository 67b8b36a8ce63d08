"""The laws of drawn records: of a label from noisy weights, of bits from clipped means, of one record told at random.

The distance between such a law and that of the data is a total variation distance, for data that are independent draws
of one law. The promise to a person holds for any data.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import ClassVar, Literal

from dpviz.boundary import protect_module
from dpviz.errors import ReleaseFormat
from dpviz.exact import ceil_to, exp_bounds, place, whole
from dpviz.laws import bounded, category
from dpviz.model.answers import Answer
from dpviz.model.error import ErrorModel, ErrorValue, mean
from dpviz.model.laws.base import StoredLaw, stored
from dpviz.model.measures import Measure
from dpviz.model.question import Question
from dpviz.privacy.unit import Unit

Projection = Literal["normalise", "euclid"]

DIGITS = 4
"""A bound on a distance is rounded up to so many digits."""

FINEST = Fraction(1, 10**24)
"""A distance below this is told as this."""

FAR = Fraction(100)
"""Exponentials of less than its negative are bounded by it: what they bound is told as `FINEST`."""

FILTERED = "a filter, or a unit that may be absent, makes the number of records private, and the distance depends on it"


def rounded_up(bound: Fraction) -> Fraction:
    """A distance in a few digits, never above 1."""
    if bound <= FINEST:  # the place of its first digit may be out of reach
        return FINEST if bound else Fraction(0)
    return min(Fraction(1), ceil_to(bound, max(FINEST, place(bound, DIGITS))))


def variation(error: ErrorModel, missing: str = FILTERED, among: str = "independent records of one law") -> Measure:
    """Bound the distance between the law of the drawn record and that of the data."""
    return Measure(
        name="variation",
        label="Any chance is off by",
        short="total variation",
        phrase="the chance of any event within {value} (total variation)",
        tip=f"Of {among}, the law of the drawn record is within {{value}} of theirs in total variation: no event's "
        "chance differs by more.",
        at=lambda beta: error.total_variation(),
        missing=missing,
        sign="≤ ",
        weight="thick",
        counts=False,
        certain=True,
    )


class RecordLaw(StoredLaw):
    """The base of the laws of records."""

    def measures(self, question: Question) -> tuple[Measure, ...]:
        return (variation(self.error),)

    def title(self, question: Question, unit: Unit) -> str:
        return question.title(unit).replace("Records of", "One record of", 1)


@stored
@dataclass(frozen=True)
class CategoryLaw(RecordLaw):
    """A label in proportion to max(0, count + Z), or to its projection, with chances of Z of exp(-exponent |z|).

    labels      how many labels there are
    records     the public number of records; None where it is not public
    projection  of the noisy counts on the simplex: divided by their sum, or the nearest point
    kept        whether the weights are kept, so that further records are drawn from them
    """

    name: ClassVar[str] = "category record"

    exponent: Fraction
    labels: int
    records: int | None
    projection: Projection
    kept: bool

    def __post_init__(self) -> None:
        whole(self.labels, "labels", least=2)
        if self.exponent <= 0 or (self.projection == "euclid" and self.records is None):
            raise ReleaseFormat.damaged(
                "the exponent is positive, and a projection needs the number of records", self.name
            )
        if self.records is not None:
            whole(self.records, "records")

    def belongs(self, question: Question, unit: Unit, max_items: int | None) -> bool:
        return self.labels == question.bins and self.records == public_records(question, unit)

    def accepts(self, answer: Answer) -> bool:
        return answer.has_further_draws == self.kept

    @property
    def once(self) -> str:
        if self.kept:
            return ""
        if self.projection == "euclid":
            return "the noisy counts were not kept"
        return "labels that nobody has were taken together, so a second draw would tell which they are"

    @cached_property
    def error(self) -> ErrorModel:
        return CategoryError(self)


@dataclass(frozen=True)
class CategoryError(ErrorModel):
    """The proved bound on the distance; it covers both projections, for both give a nearest point in L1."""

    law: CategoryLaw

    def total_variation(self) -> ErrorValue | None:
        law = self.law
        if law.records is None:
            return None
        bound = category.distance_bound(law.labels, law.records, 2 * law.exponent)
        rule = "Raskhodnikova, Sivakumar, Smith, Swanberg 2021, Theorem 1.4, with the mean of the discrete noise"
        return ErrorValue(rounded_up(bound), "bound", rule)


@stored
@dataclass(frozen=True)
class BoundedLaw(RecordLaw):
    """A bit for each column, with the chance of the column's mean kept within level..1 - level."""

    name: ClassVar[str] = "bounded record"

    columns: int
    records: int
    level: Fraction

    def __post_init__(self) -> None:
        whole(self.columns, "columns")
        whole(self.records, "records")
        bounded.check_level(self.level)

    def belongs(self, question: Question, unit: Unit, max_items: int | None) -> bool:
        return self.columns == len(question.domain.factors) and self.records == public_records(question, unit)

    def accepts(self, answer: Answer) -> bool:
        return not answer.has_further_draws

    @property
    def once(self) -> str:
        return "the coins that were flipped are all that protects: two draws cost twice"

    @cached_property
    def error(self) -> ErrorModel:
        return BoundedError(self)

    def measures(self, question: Question) -> tuple[Measure, ...]:
        inside, outside = self.class_, self.level
        where = f"independent records whose columns have shares between {inside} and {1 - inside}"
        first = variation(self.error, among=where)
        every = Measure(
            name="variation_any",
            label="The law of any one bit",
            short="any bit",
            phrase="the law of any one bit within {value}, whatever its share",
            tip="For any share of ones in a column, the law of its bit is within {value} of it: far more than for "
            "shares near one half, because the mean is kept away from 0 and 1.",
            at=lambda beta: ErrorValue(outside, "exact", "the level, which a column of zeros alone meets"),
            sign="≤ ",
            weight="thin",
            counts=False,
            certain=True,
        )
        return first, every

    @property
    def class_(self) -> Fraction:
        """The least share of a column for which the distance is stated: 4/3 of the level, which is 1/3 at 1/4."""
        return self.level * Fraction(4, 3) if self.level * Fraction(4, 3) < Fraction(1, 2) else Fraction(1, 2)


@stored
@dataclass(frozen=True)
class PaddedBoundedLaw(BoundedLaw):
    """The same where a row may come or go: where there are fewer than `records` rows, made-up ones fill up, half of
    them ones. Its error is stated for at least that many rows."""

    name: ClassVar[str] = "padded bounded record"

    def belongs(self, question: Question, unit: Unit, max_items: int | None) -> bool:
        return self.columns == len(question.domain.factors) and unit.relation == "add-remove" and unit.is_row

    def measures(self, question: Question) -> tuple[Measure, ...]:
        return tuple(of_at_least(measure, self.records) for measure in super().measures(question))


def of_at_least(measure: Measure, records: int) -> Measure:
    """The same said of a table with so many records or more: how many there are is private."""
    condition = f"of {records:,} records or more"
    return replace(
        measure,
        label=f"{measure.label}, {condition}",
        phrase=f"{measure.phrase}, {condition}",
        tip=f"{measure.tip} It is said of a table with {records:,} records or more: how many there are is private.",
    )


@dataclass(frozen=True)
class BoundedError(ErrorModel):
    """Statements that the clipped means make about shares well within the level."""

    law: BoundedLaw

    def total_variation(self) -> ErrorValue:
        """d times the bound of one column: with shares in [c, 1 - c] and a level l, (1 / (4 g n)) exp(-2 g**2 n) by
        Hoeffding's inequality, g = c - l the room; the two ends err to opposite sides, so one of them counts."""
        law = self.law
        room = law.class_ - law.level
        exponent = min(2 * room**2 * law.records, FAR)
        one = 1 / (4 * room * law.records) * exp_bounds(-exponent)[1]
        rule = "Hoeffding's inequality, integrated; columns add up"
        return ErrorValue(rounded_up(min(law.level, one) * law.columns), "bound", rule)


@stored
@dataclass(frozen=True)
class ResponseLaw(RecordLaw):
    """The label of one of the records, chosen uniformly, or any label, by randomised response."""

    name: ClassVar[str] = "response record"

    epsilon: Fraction
    labels: int
    records: int

    def __post_init__(self) -> None:
        whole(self.labels, "labels", least=2)
        whole(self.records, "records")
        if self.epsilon <= 0:
            raise ReleaseFormat.damaged("the epsilon of a response is positive", self.name)

    def belongs(self, question: Question, unit: Unit, max_items: int | None) -> bool:
        return self.labels == question.bins and self.records == public_records(question, unit)

    def accepts(self, answer: Answer) -> bool:
        return not answer.has_further_draws

    @property
    def once(self) -> str:
        return "one record was looked at, and told at random: every draw looks at another, and takes as much ε again"

    @cached_property
    def error(self) -> ErrorModel:
        return ResponseError(self)


@dataclass(frozen=True)
class ResponseError(ErrorModel):
    """The exact distance where all records have one label, which is the largest."""

    law: ResponseLaw

    def total_variation(self) -> ErrorValue:
        law = self.law

        def enclose(precision: int) -> tuple[Fraction, Fraction]:
            low, high = category.response_floor(law.labels, law.records, law.epsilon, precision)
            return low * (law.labels - 1) / law.labels, high * (law.labels - 1) / law.labels

        return mean(enclose, "the exact law, where all records have one label")


@stored
@dataclass(frozen=True)
class PseudocountLaw(RecordLaw):
    """A label in proportion to its count and K: K = moves / (exp(epsilon) - 1) made-up records of each label.

    moves  how many records one unit counts with, at most
    """

    name: ClassVar[str] = "pseudocount record"

    epsilon: Fraction
    labels: int
    moves: int

    def __post_init__(self) -> None:
        whole(self.labels, "labels", least=2)
        whole(self.moves, "moves")
        if self.epsilon <= 0:
            raise ReleaseFormat.damaged("the epsilon of a response is positive", self.name)

    def belongs(self, question: Question, unit: Unit, max_items: int | None) -> bool:
        added = unit.relation == "add-remove"
        return added and self.labels == question.bins and self.moves == unit.l1(question.bins)

    def accepts(self, answer: Answer) -> bool:
        return not answer.has_further_draws

    @property
    def once(self) -> str:
        return "one record was looked at, and told at random: every draw looks at another, and takes as much ε again"

    @cached_property
    def error(self) -> ErrorModel:
        return ErrorModel()  # the distance depends on the number of records, which is private


def public_records(question: Question, unit: Unit) -> int | None:
    """How many records a question has, where that is public: with no filter, as many as there are rows."""
    return None if question.where else unit.n


protect_module(vars())
