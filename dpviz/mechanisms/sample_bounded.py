"""SampleBounded: one record of bits, by coins whose chances are the columns' means, kept away from 0 and 1."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from dpviz.boundary import protect_module
from dpviz.errors import ParameterError
from dpviz.exact import ceil_to, counted, log_up, text
from dpviz.laws import bounded
from dpviz.laws.search import least
from dpviz.mechanisms.records import check_rows, number_of_records
from dpviz.model.answers import Answer, Record
from dpviz.model.error import ErrorModel, ErrorValue
from dpviz.model.goals import Goal
from dpviz.model.laws.records import BoundedLaw, PaddedBoundedLaw
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

MOST_RECORDS = 2**60
"""Where the number of rows is private, fewer than so many are filled up."""

EXACT_UP_TO = 1000
"""The exact distance at a share of 1/3 is worked out for so many records at most."""


class SampleBounded(Parameters):
    """Draw one record of bits: in each column a coin with the chance of its mean, kept within level..1 - level.

    Parameters
    ----------
    epsilon : str, int, float or Fraction
        The most that may be paid. Where the number of records is public, the price follows from it, and is mostly far
        less; where they cost more, the release is refused. Where the number is private, epsilon decides from how many
        rows on no record is made up.
    level : str, int, float or Fraction, default "1/4"
        How near to 0 and 1 a chance may come.
    accounting : {"exact", "paper"}, default "exact"
        "exact": the worst ratio of a coin's chances, column by column; "paper": 4 / n for each column.
    delta : str, int, float or Fraction, default 0
        0: columns add up. Above 0, many columns together cost less epsilon, and this delta; a zCDP budget books rho
        alone, whatever delta is.

    Raises
    ------
    ParameterError
        If a parameter is outside its range, or two contradict each other.

    Notes
    -----
    There is no noise: the coins are what protects. So means are never shown, and every further record is paid for.
    Where a row comes or goes, a table with fewer than m rows is filled up to m with made-up ones, half of them ones,
    and m is the least that epsilon pays for. The number of rows is in the chances of the coins and nowhere else: no
    noisy number of rows is needed, and no part of epsilon pays for one.

    **Privacy.** Pure DP. Each column costs ln of the worst ratio of a chance between neighbours. Where a row is
    replaced, and the number n of rows is public, that is 1 + 4 / n at the level 1/4 where 4 divides n; where a row
    comes or goes it is 1 + 3 / (m + 1) at the level 1/4 (`laws.bounded.added_move`). Under a zCDP budget each column
    books eta^2 / 8, eta the largest difference of the logits of neighbouring chances: a loss lies in an interval of
    this length. More records cost less, and so does a higher level. With a delta, up to 64 columns cost the least
    epsilon that all neighbouring pairs of them allow (`laws.bounded.product_epsilon`), which a pair meets where level n
    is whole; more columns, and the paper's accounting, rho + 2 sqrt(rho ln(1/delta)) [1]_.

    **Error.** Over n independent records whose columns have shares between 4/3 of the level and one minus it, the law
    of the record is within d times (1 / (4 g n)) exp(-2 g^2 n) of theirs, g a third of the level. Other shares: up to
    the level for each column, whatever n is. Where n is private this is said of m rows or more.

    References
    ----------
    .. [1] Raskhodnikova, Sivakumar, Smith, Swanberg 2021, Section 6, Theorems 6.1 and 6.4; the exact price, the
           intervals of the loss, the worst of several columns, the bound at any level and all where a row comes or goes
           are derived here. rho to epsilon and delta: Bun, Steinke 2016, Proposition 1.3.

    Examples
    --------
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
    serves: ClassVar[tuple[Goal, ...]] = ("sample",)
    delta_text: ClassVar[str] = "With δ = 0 the columns add up; with a δ many of them come to less ε."
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
        """Fix the coins.

        Parameters
        ----------
        question : Question
            Columns of bits, of which one record is drawn.
        unit : Unit
            The unit that is protected.

        Returns
        -------
        SampleBoundedBound
            Price, draw and error law of `SampleBounded` for this question and unit.

        Raises
        ------
        ParameterError, DomainError
            If `SampleBounded` cannot answer the question for this unit. Only public facts are looked at.
        """
        question.check_bits(self.name)
        if unit.relation == "add-remove":
            check_rows(self.name, unit)
            return self._added(question, unit)
        bound = ReplacedBits(self, question, unit, number_of_records(self.name, question, unit))
        if bound.paid > self.epsilon:
            cheaper = "for fewer columns" if self.delta or bound.columns == 1 else "for fewer columns, or give a delta"
            raise ParameterError.of(
                f"epsilon = {text(self.epsilon)}",
                f"a record of {counted(bound.columns, 'bit')} from {bound.records:,} rows costs {text(bound.paid)}, "
                "because nothing but the number of rows makes it cheaper",
                f"ask for at least {text(bound.paid)}, or {cheaper}",
            )
        return bound

    def _added(self, question: Question, unit: Unit) -> AddedBits:
        """The one with the fewest rows of all that cost no more than epsilon; with a delta not quite the fewest, for
        the search is by a bound on the price."""
        if self.accounting == "paper":
            raise ParameterError.of(
                unit.text, "the paper's price is for a row that is replaced by another", 'use accounting="exact"'
            )

        def fits(records: int) -> bool:
            return AddedBits(self, question, unit, records).at_most <= self.epsilon

        fewest = least(lambda records: records >= MOST_RECORDS or fits(records), 1)
        if fewest >= MOST_RECORDS:
            raise ParameterError.of(
                f"epsilon = {text(self.epsilon)}",
                f"{counted(len(question.domain.factors), 'bit')} at this price need more than 2^60 rows",
                "ask for a larger epsilon, or for fewer columns",
            )
        found = AddedBits(self, question, unit, fewest)
        records = max(1, math.ceil(fewest * found.paid / self.epsilon))  # delta alone may pay for all
        for _ in range(2):  # the price is nearly one over the number of rows
            nearer = AddedBits(self, question, unit, records)
            if nearer.paid <= self.epsilon:
                return nearer
            records = math.ceil(records * nearer.paid / self.epsilon) + 1
        return found


@dataclass(frozen=True)
class SampleBoundedBound(Bound):
    """SampleBounded, bound to a question and a unit.

    records  how many rows there are, where that is public; where it is not, so many that nothing is made up
    """

    mechanism: SampleBounded
    question: Question
    unit: Unit
    records: int

    among: ClassVar[str]
    """Of whom the worst ratio is, in the words of the rule."""

    needs: ClassVar[StatisticKind] = StatisticKind.ONES
    shape: ClassVar[type[Answer]] = Record
    reuse: ClassVar[bool] = False

    @property
    def columns(self) -> int:
        return len(self.question.domain.factors)

    @property
    def ratio(self) -> Fraction:
        """The worst ratio of the chances of one bit, between neighbours."""
        raise NotImplementedError

    @property
    def move(self) -> Fraction:
        """By how much the chance of one bit moves, at most, between neighbours."""
        raise NotImplementedError

    @property
    def odds_ratio(self) -> Fraction:
        """The worst ratio of the odds of one bit, between neighbours."""
        raise NotImplementedError

    def chance(self, ones: int, records: int) -> Fraction:
        """The chance of a 1 in a column with so many, of so many records."""
        raise NotImplementedError

    def rows(self, records: int) -> int:
        """The rows that are counted with where there are so many, halves counting as one: chances are parts of them."""
        raise NotImplementedError

    @cached_property
    def step(self) -> Fraction:
        """The epsilon of one bit, by the accounting that was chosen."""
        if self.mechanism.accounting == "paper":
            return bounded.paper_epsilon(self.records)
        return log_up(self.ratio, FINE)

    @cached_property
    def pure(self) -> Fraction:
        """The price of all columns together without a delta: they add up."""
        return ceil_to(self.columns * self.step, STEP)

    @cached_property
    def loss(self) -> PureDP | ApproxDP:
        """The loss that is paid: with a delta, where that costs less epsilon."""
        made, columns = self.mechanism, self.columns
        if not made.delta:
            return PureDP(self.pure)
        if made.accounting == "exact" and columns <= bounded.EXACT_COLUMNS:
            epsilon = bounded.product_epsilon(columns, self.ratio, self.move, made.delta, STEP)
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
        return RangeBounded(log_up(self.odds_ratio, FINE), steps=self.columns)

    @property
    def at_most(self) -> Fraction:
        """An epsilon that is never below what is paid, and quickly found."""
        delta = self.mechanism.delta
        return min(self.pure, to_approx(to_zcdp(self.steps), delta).epsilon) if delta else self.pure

    @cached_property
    def price(self) -> Guarantee:
        made, columns = self.mechanism, self.columns
        if made.accounting == "paper":
            rule = "Raskhodnikova, Sivakumar, Smith, Swanberg 2021, Theorems 6.1 and 6.4"
            exact = f"{4 * columns:,} / {self.records:,}"
        else:
            rule = f"the worst ratio of a coin's chances {self.among}, for each column"
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

    if TYPE_CHECKING:

        @property
        def law(self) -> BoundedLaw: ...

    @property
    def error(self) -> ErrorModel:
        return self.law.error

    @property
    def notes(self) -> Sequence[tuple[str, dict[str, Any]]]:
        """The price without a delta, beside one that has it."""
        notes = []
        if self.loss.delta:
            alone = ErrorValue(self.pure, "bound", "the worst ratios of all columns, added up")
            notes.append(("Its ε without a δ", alone.to_json()))
        return notes

    @property
    def verb(self) -> str:
        return (
            f"Flips {counted(self.columns, 'coin')} with the columns' means, kept {text(self.mechanism.level)} away "
            "from 0 and 1, and shows how they fell. Another record takes another draw, at the same ε."
        )

    def draw(self, statistic: Statistic, bits: Bits, *, mode: Mode, tick: Tick | None = None) -> Record:
        """Flip the coins, in whole numbers throughout."""
        assert isinstance(statistic, ColumnOnes)
        if tick is not None:
            tick(0, self.cost.steps)
        columns, records = statistic.take()
        whole = self.mechanism.level.denominator * self.rows(records)
        return Record(tuple(int(bits.below(whole) < self.chance(ones, records) * whole) for ones in columns.tolist()))


@dataclass(frozen=True)
class ReplacedBits(SampleBoundedBound):
    """Where a row is replaced by another: `records` is the public number of rows."""

    among: ClassVar[str] = "between neighbours"

    @property
    def ratio(self) -> Fraction:
        return bounded.ratio(self.records, self.mechanism.level)

    @property
    def move(self) -> Fraction:
        return bounded.move(self.records, self.mechanism.level)

    @property
    def odds_ratio(self) -> Fraction:
        return bounded.odds_ratio(self.records, self.mechanism.level)

    def chance(self, ones: int, records: int) -> Fraction:
        """By the number of rows that was declared: a table that has another is not told apart."""
        return bounded.bit_chance(min(ones, self.records), self.records, self.mechanism.level)

    def rows(self, records: int) -> int:
        return self.records

    @cached_property
    def law(self) -> BoundedLaw:
        return BoundedLaw(self.columns, self.records, self.mechanism.level)

    @property
    def notes(self) -> Sequence[tuple[str, dict[str, Any]]]:
        """Also the exact distance of one bit at the share where it is largest near the ends of the class."""
        if self.mechanism.level != bounded.QUARTER or self.records > EXACT_UP_TO:
            return super().notes
        value = ceil_to(bounded.error(Fraction(1, 3), self.records), Fraction(1, 10**12))
        shown = ErrorValue(value, "bound", "the binomial law of the mean, summed exactly and rounded up")
        return [("One bit whose share is 1/3", shown.to_json()), *super().notes]


@dataclass(frozen=True)
class AddedBits(SampleBoundedBound):
    """Where a row comes or goes: `records` is from how many on nothing is made up."""

    among: ClassVar[str] = "where a row comes or goes"

    @property
    def ratio(self) -> Fraction:
        return bounded.added_ratio(self.records, self.mechanism.level)

    @property
    def move(self) -> Fraction:
        return bounded.added_move(self.records, self.mechanism.level)

    @property
    def odds_ratio(self) -> Fraction:
        return bounded.added_odds_ratio(self.records, self.mechanism.level)

    def chance(self, ones: int, records: int) -> Fraction:
        return bounded.padded_chance(ones, records, self.records, self.mechanism.level)

    def rows(self, records: int) -> int:
        return 2 * max(records, self.records)

    @cached_property
    def law(self) -> PaddedBoundedLaw:
        return PaddedBoundedLaw(self.columns, self.records, self.mechanism.level)

    @property
    def verb(self) -> str:
        return (
            f"{super().verb} Where there are fewer than {self.records:,} rows, made-up ones fill up, half of them ones."
        )


protect_module(vars())
