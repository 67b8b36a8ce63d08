"""SampleBounded: one record of bits, by coins whose chances are the columns' means, kept away from 0 and 1."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar, Literal

from dpviz.boundary import protect_module
from dpviz.errors import DomainError, ParameterError
from dpviz.exact import ceil_to, counted, log_up, text
from dpviz.laws import bounded
from dpviz.model.answers import Answer, Record
from dpviz.model.error import ErrorModel, ErrorValue
from dpviz.model.laws.records import BoundedLaw, public_records
from dpviz.model.mechanism import Bound, Cost, Mode, Space
from dpviz.model.parameters import Epsilon, Exact, ExactNumber, OneOf, Parameters, Probability, parameter
from dpviz.model.question import Question
from dpviz.model.source import Tick
from dpviz.model.statistic import ColumnOnes, Statistic, StatisticKind
from dpviz.noise.bits import Bits
from dpviz.privacy.conversion import STEP, to_approx, to_zcdp
from dpviz.privacy.guarantee import Guarantee
from dpviz.privacy.loss import ApproxDP, PureDP, RangeBounded
from dpviz.privacy.unit import Unit

Accounting = Literal["exact", "paper"]

FINE = Fraction(1, 10**12)
"""The price of one bit is rounded up to this before bits are added up: it may be far below the grid of prices."""

EXACT_UP_TO = 1000
"""The exact distance at a share of 1/3 is worked out for so many records at most."""


class SampleBounded(Parameters):
    """Draw one record of bits: in each column a coin with the chance of its mean, kept within level..1 - level.

    epsilon     the most that may be paid. What is paid follows from the number of records, and is mostly far less;
                where they cost more, it is refused
    level       how near to 0 and 1 a chance may come
    accounting  "exact": the worst ratio of a coin's chances, column by column; "paper": 4 / n for each column
    delta       0: columns add up. Above 0, many columns together cost less epsilon, and this delta; a zCDP budget books
                rho alone, whatever delta is

    There is no noise: the coins are what protects. So means are never shown, and every further record is paid for.

    Privacy: pure DP for replacing a row, of which the number n is public: each column costs ln of the worst ratio,
             which is 1 + 4 / n at the level 1/4 where 4 divides n. Under a zCDP budget each column books eta^2 / 8, eta
             the largest difference of the logits of neighbouring chances: a loss lies in an interval of this length.
             More records cost less, and so does a higher level.
    Error:   over n independent records whose columns have shares between 4/3 of the level and one minus it, the law of
             the record is within d times (1 / (4 g n)) exp(-2 g^2 n) of theirs, g a third of the level. Other shares:
             up to the level for each column, whatever n is.
    Source:  Raskhodnikova, Sivakumar, Smith, Swanberg 2021, Section 6, Theorems 6.1 and 6.4; the exact price, the
             intervals of the loss, the worst of several columns and the bound at any level are derived here. rho to
             epsilon and delta: Bun, Steinke 2016, Proposition 1.3.

    >>> from dpviz.model.domain import Domain
    >>> asked = Question.records([Domain.integers(0, 1, column="smokes"), Domain.integers(0, 1, column="chronic")])
    >>> bound = SampleBounded(epsilon="1/2").bind(asked, Unit(relation="replace-one", n=100))
    >>> bound.price.loss, bound.price.exact
    (PureDP(epsilon=Fraction(39221, 500000)), '2 ln(1.04)')
    >>> many = Question.records([Domain.integers(0, 1, column=f"answer {at}") for at in range(40)])
    >>> people = Unit(relation="replace-one", n=1000)
    >>> [float(SampleBounded(1, delta=one).bind(many, people).price.epsilon) for one in (0, "1e-6")]
    [0.159681, 0.055056]
    """

    name: ClassVar[str] = "SampleBounded"
    about: ClassVar[str] = "One record of bits whose shares are near one half, without any noise."
    delta_text: ClassVar[str] = "With δ = 0 the columns add up; a δ lets many of them cost less ε."
    draws_records: ClassVar[bool] = True

    epsilon: Exact = parameter(reads=Epsilon())
    level: Exact = parameter(reads=ExactNumber(), default=Fraction(1, 4), label="Least chance of either bit")
    accounting: Accounting = parameter(
        reads=OneOf(Accounting),
        default="exact",
        label="Accounting",
        options={"exact": "exact worst ratio", "paper": "the paper's bound"},
    )
    delta: Exact = parameter(reads=Probability(zero=True), default=0, label="δ, 0 for none", later=True)

    def check(self) -> None:
        bounded.check_level(self.level)
        if self.accounting == "paper" and self.level != bounded.QUARTER:
            raise ParameterError.of(
                text(self.level), "the paper's price is for the level 1/4", 'use accounting="exact"'
            )

    def bind(self, question: Question, unit: Unit) -> SampleBoundedBound:
        """Fix the coins. Raises ParameterError or DomainError on public facts only."""
        question.check_records(self.name)
        check_replaced(self.name, question, unit)
        for factor in question.domain.factors:
            if factor.size != 2:
                raise DomainError.of(
                    f"{factor.columns[0]}, {factor.size_text}",
                    f"{self.name} draws bits: columns of two labels each",
                    "declare dv.Domain.integers(0, 1, column=...), or use SampleCategory",
                )
        bound = SampleBoundedBound(self, question, unit)
        if bound.paid > self.epsilon:
            cheaper = "for fewer columns" if self.delta or bound.columns == 1 else "for fewer columns, or give a delta"
            raise ParameterError.of(
                f"epsilon = {text(self.epsilon)}",
                f"a record of {counted(bound.columns, 'bit')} from {bound.records:,} rows costs {text(bound.paid)}, "
                "because nothing but the number of rows makes it cheaper",
                f"ask for at least {text(bound.paid)}, or {cheaper}",
            )
        return bound


def check_replaced(who: str, question: Question, unit: Unit) -> None:
    """Refuse, for a sampler whose price rests on the number of records, a question or unit of which it is private."""
    if unit.relation != "replace-one":
        raise ParameterError.of(
            unit.text,
            f"{who} protects a row that is replaced by another: its price rests on the number of rows, which is not "
            "public where a row may come or go, and no price of the one gives a price of the other",
            'use SampleCategory with projection="normalise", or a session with Unit(relation="replace-one", n=...)',
        )
    if public_records(question, unit) is None:
        raise ParameterError.of(
            question.where_text or unit.text,
            f"{who} rests on the number of records, which is public for all rows of the table alone",
            "leave the filter out, and name the row as the unit" if question.where else "name the row as the unit",
        )


@dataclass(frozen=True)
class SampleBoundedBound(Bound):
    """SampleBounded, bound to a question and a unit."""

    mechanism: SampleBounded
    question: Question
    unit: Unit

    needs: ClassVar[StatisticKind] = StatisticKind.ONES
    shape: ClassVar[type[Answer]] = Record
    reuse: ClassVar[bool] = False

    @property
    def columns(self) -> int:
        return len(self.question.domain.factors)

    @property
    def records(self) -> int:
        assert self.unit.n is not None
        return self.unit.n

    @cached_property
    def ratio(self) -> Fraction:
        """The worst ratio of the chances of one bit, between neighbours."""
        return bounded.ratio(self.records, self.mechanism.level)

    @cached_property
    def step(self) -> Fraction:
        """The epsilon of one bit, by the accounting that was chosen."""
        if self.mechanism.accounting == "paper":
            return bounded.paper_epsilon(self.records)
        return log_up(self.ratio, FINE)

    @cached_property
    def pure(self) -> Fraction:
        """What all columns cost together without a delta: they add up."""
        return ceil_to(self.columns * self.step, STEP)

    @cached_property
    def loss(self) -> PureDP | ApproxDP:
        """What is paid: with a delta, where that costs less epsilon."""
        made, columns = self.mechanism, self.columns
        if not made.delta:
            return PureDP(self.pure)
        if made.accounting == "exact" and columns <= bounded.EXACT_COLUMNS:
            move = bounded.move(self.records, made.level)
            epsilon = bounded.product_epsilon(columns, self.ratio, move, made.delta, STEP)
        else:
            epsilon = to_approx(to_zcdp(self.steps), made.delta).epsilon
        return ApproxDP(epsilon, made.delta) if epsilon < self.pure else PureDP(self.pure)

    @property
    def paid(self) -> Fraction:
        return self.loss.epsilon

    @cached_property
    def steps(self) -> RangeBounded:
        """The interval of the loss of each column."""
        if self.mechanism.accounting == "paper":
            return RangeBounded(2 * bounded.paper_epsilon(self.records), steps=self.columns)  # 8 d / n^2, as printed
        return RangeBounded(log_up(bounded.odds_ratio(self.records, self.mechanism.level), FINE), steps=self.columns)

    @cached_property
    def price(self) -> Guarantee:
        made, columns = self.mechanism, self.columns
        if made.accounting == "paper":
            rule = "Raskhodnikova, Sivakumar, Smith, Swanberg 2021, Theorems 6.1 and 6.4"
            exact = f"{4 * columns:,} / {self.records:,}"
        else:
            rule = "the worst ratio of a coin's chances between neighbours, for each column"
            exact = f"{'' if columns == 1 else f'{columns} '}ln({text(self.ratio)})"
        if self.loss.delta:
            if made.accounting == "exact" and columns <= bounded.EXACT_COLUMNS:
                rule = "the worst of all neighbouring pairs of all columns together"
            else:
                rule += "; from ρ to ε and δ by Bun, Steinke 2016, Proposition 1.3"
            rule, exact = f"{rule}; without δ it costs ε {text(self.pure)}", ""
        return Guarantee(self.loss, self.unit, rule, made.epsilon, exact, zcdp_steps=self.steps)

    @property
    def space(self) -> Space:
        return Space(bits=self.columns, text=f"{self.columns:,}, one record")

    @property
    def cost(self) -> Cost:
        return Cost(steps=self.columns, text=f"{counted(self.columns, 'coin')}")

    @cached_property
    def law(self) -> BoundedLaw:
        return BoundedLaw(self.columns, self.records, self.mechanism.level)

    @property
    def error(self) -> ErrorModel:
        return self.law.error

    @property
    def notes(self) -> Sequence[tuple[str, dict[str, Any]]]:
        """The exact distance of one bit at the share where it is largest near the ends of the class; and the price
        without a delta, beside one that has it."""
        notes = []
        if self.mechanism.level == bounded.QUARTER and self.records <= EXACT_UP_TO:
            value = ceil_to(bounded.error(Fraction(1, 3), self.records), Fraction(1, 10**12))
            shown = ErrorValue(value, "bound", "the binomial law of the mean, summed exactly and rounded up")
            notes.append(("One bit whose share is 1/3", shown.to_json()))
        if self.loss.delta:
            alone = ErrorValue(self.pure, "bound", "the worst ratios of all columns, added up")
            notes.append(("Its ε without a δ", alone.to_json()))
        return notes

    @property
    def verb(self) -> str:
        return (
            f"Flips {counted(self.columns, 'coin')} with the columns' means, kept {text(self.mechanism.level)} away "
            "from 0 and 1, and shows how they fell. Another record is paid for anew."
        )

    def draw(self, statistic: Statistic, bits: Bits, *, mode: Mode, tick: Tick | None = None) -> Record:
        """Flip the coins, in whole numbers throughout."""
        assert isinstance(statistic, ColumnOnes)
        if tick is not None:
            tick(0, self.cost.steps)
        level, n = self.mechanism.level, self.records
        low, whole = level.numerator * n, level.denominator * n
        bits_drawn = []
        for ones in statistic.take().tolist():
            chance = min(max(ones * level.denominator, low), whole - low)
            bits_drawn.append(int(bits.below(whole) < chance))
        return Record(tuple(bits_drawn))


protect_module(vars())
