"""The law of a record of bits that are drawn with noisy means, and how far it is from that of the data."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import ClassVar, cast

from dpviz.boundary import protect_module
from dpviz.exact import root_bounds
from dpviz.laws.product import Noise, Rounds
from dpviz.model.answers import Answer, ProductRecord
from dpviz.model.error import ErrorModel, ErrorValue
from dpviz.model.laws.base import stored
from dpviz.model.laws.records import RecordLaw, of_at_least, public_records, rounded_up, variation
from dpviz.model.measures import Measure
from dpviz.model.question import Question
from dpviz.privacy.unit import Unit

CUT = "rows may be cut here, and the paper's proof asks for far more rows: nothing is known of the distance"


@stored
@dataclass(frozen=True)
class ProductLaw(RecordLaw):
    """A bit for each column, with its noisy mean, by the rounds of Algorithm 4. See `laws.product.Rounds`."""

    name: ClassVar[str] = "product record"

    columns: int
    records: int
    rho: Fraction
    beta: Fraction
    noise: Noise
    flips: bool

    def __post_init__(self) -> None:
        self.plan  # noqa: B018 - numbers that no plan has are refused

    @cached_property
    def plan(self) -> Rounds:
        return Rounds(self.columns, self.records, self.rho, self.beta, self.noise, self.flips)

    def belongs(self, question: Question, unit: Unit, max_items: int | None) -> bool:
        return self.columns == len(question.domain.factors) and self.records == public_records(question, unit)

    def accepts(self, answer: Answer) -> bool:
        return answer.has_further_draws and cast(ProductRecord, answer).grid == self.plan.grid * self.plan.chunk

    @cached_property
    def error(self) -> ErrorModel:
        return ProductError(self)

    def measures(self, question: Question) -> tuple[Measure, ...]:
        among = "independent records of independent bits"
        return (variation(self.error, CUT, among),)


@stored
@dataclass(frozen=True)
class CutProductLaw(ProductLaw):
    """The same where a row may come or go, from `records` rows that were drawn from the table by chance, or filled up
    to. Its error is stated for at least that many rows."""

    name: ClassVar[str] = "cut product record"

    def belongs(self, question: Question, unit: Unit, max_items: int | None) -> bool:
        return self.columns == len(question.domain.factors) and unit.relation == "add-remove" and unit.is_row

    def measures(self, question: Question) -> tuple[Measure, ...]:
        return tuple(of_at_least(measure, self.records) for measure in super().measures(question))


@dataclass(frozen=True)
class ProductError(ErrorModel):
    """The error where no row can be cut.

    Given which columns each round left, the means of the last measurements are those of fresh rows with noise of their
    own in each column, so bits are independent of each other, and their distances add up. A mean x in [0, 1] plus
    noise Z, moved into [0, 1], is off by at most E[max(Z, 0)] on average, to either side, which is E|Z| / 2, and that
    is at most half of the standard deviation. A mixture over what the rounds left is no further off than the worst.
    """

    law: ProductLaw

    def total_variation(self) -> ErrorValue | None:
        plan = self.law.plan
        if not plan.never_cuts:
            return None
        levels = range(1, plan.rounds + 2)
        variance = max(plan.variance(plan.cut(level, plan.columns), plan.columns) for level in levels)
        one = root_bounds(variance)[1] / (2 * plan.grid * plan.chunk)
        rule = "half the standard deviation of the noise, for each column; no row is cut"
        return ErrorValue(rounded_up(min(Fraction(1), plan.columns * one)), "bound", rule)


protect_module(vars())
