"""SampleProduct: one record of bits, or as many as are wanted, from noisy means of bits that are found in rounds."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from dpviz.boundary import protect_module
from dpviz.errors import ParameterError
from dpviz.exact import counted, text
from dpviz.laws.product import Noise, Rounds, beta_for, theory_n
from dpviz.mechanisms.records import check_rows, number_of_records
from dpviz.model.answers import Answer, ProductRecord
from dpviz.model.error import ErrorModel
from dpviz.model.goals import Goal
from dpviz.model.laws.product import CutProductLaw, ProductLaw
from dpviz.model.mechanism import Bound, Cost, Mode, Space
from dpviz.model.parameters import (
    Epsilon,
    Exact,
    ExactNumber,
    OneOf,
    Parameters,
    Probability,
    Switch,
    WholeNumber,
    parameter,
)
from dpviz.model.question import Question
from dpviz.model.source import Tick
from dpviz.model.statistic import RecordBits, Statistic, StatisticKind
from dpviz.noise.bits import Bits
from dpviz.noise.product import draw_rows, noisy_means
from dpviz.noise.shuffle import permutation
from dpviz.privacy.discrete_gaussian import below_any_noise
from dpviz.privacy.guarantee import Guarantee
from dpviz.privacy.loss import ZCDP, ApproxDP
from dpviz.privacy.renyi import rho_for
from dpviz.privacy.unit import Unit

VALUES_A_SECOND = 5 * 10**9
"""Values of records that are read and drawn from, on a slow processor."""

MOST_ROWS = 1 << 32
"""The most rows that are put in order."""

STORED_BITS = 64
"""The storage of the noisy mean of one column."""


class SampleProduct(Parameters):
    """Draw a record of bits, each with the noisy mean of its column; further records from the same means are free.

    Parameters
    ----------
    epsilon, delta : str, int, float or Fraction
        The price where answers are added up by epsilon and delta; under a zCDP budget rho is what counts, the largest
        that one Rényi order proves to be within epsilon and delta.
    noise : {"repaired", "paper", "tight"}, default "repaired"
        "repaired": on each sum of rows as much as replacing a row asks for; "paper": as printed, which may be sqrt(2)
        times too little, and is then drawn for as much less of rho as it costs more; "tight": as "repaired", but rows
        are cut as low as few of them reach.
    alpha : str, int, float or Fraction, default "1/10"
        The accuracy that rows are cut for: a smaller one cuts fewer of them. It is no promise.
    flips : bool, default True
        Whether a column with a mean near 1 is turned round first, so that it counts as small.
    rows : int, optional
        Where a row may come or go: the public number of rows that are read, chosen without looking at the data. Of a
        table with more, so many are drawn by chance; one with fewer is filled up with rows of zeros. Where nobody knows
        a good number, the sum of a Dense histogram that has a bin for every row (other=True, missing=True) is a noisy
        one, for a price of its own.

    Raises
    ------
    ParameterError
        If a parameter is outside its range, or two contradict each other.

    Notes
    -----
    Columns with small means are found first, over several rounds with a part of the rows each; there, rows have few
    ones, and where they are cut to few they need less noise. That pays from about 65,536 columns on, which is more than
    one question has. With fewer, one noisy mean a column would have less noise; below 80 columns that is what it is.

    **Privacy.** zCDP with rho for replacing a row, of which the number n is public: discrete Gaussian noise of variance
    D^2 / (2 rho), with D^2 = min(2 T^2, columns) for rows cut to the norm T. A row is in one part only, so the price is
    that of the most expensive round. Any number of records drawn from the means is post-processing. The same where a
    row comes or goes and m = rows are read. Of a table with m rows or more: draw m of all rows and the new one, and
    where it is among them put a row in its place that is not, by chance; this draws m of the old rows, and replaces
    one. Of a table with fewer, the new row takes the place of one of zeros. So both laws are mixtures, with the same
    weights, of laws that a replaced row tells apart at rho, and a Rényi divergence of mixtures is at most the largest
    of those that are mixed (van Erven, Harremoës 2014, Theorem 13). Reading all rows and dividing by m is not covered
    by this [1]_.

    **Error.** Where no row can be cut, the law of the record is within d s / 2 of that of n independent records of
    independent bits, in total variation, s the largest standard deviation of the noise on a mean; of a table with fewer
    than `rows` rows this is not so. Elsewhere nothing is stated; the paper's proof asks for the number of rows that the
    cost names.

    References
    ----------
    .. [1] Raskhodnikova, Sivakumar, Smith, Swanberg 2021, Algorithm 4, Theorem 5.1; sensitivity, cuts, grid and the
           error without cuts, and what is read where a row comes or goes, are derived here.

    Examples
    --------
    >>> from dpviz.model.domain import Domain
    >>> asked = Question.records([Domain.integers(0, 1, column=name) for name in ("smokes", "chronic")])
    >>> bound = SampleProduct(epsilon=1, delta="1e-6").bind(asked, Unit(relation="replace-one", n=10_000))
    >>> bound.price.sentence, float(bound.error.total_variation().value)
    ('(1, 0.000001)-differential privacy for replacing one row', 0.0006408)
    """

    name: ClassVar[str] = "SampleProduct"
    about: ClassVar[str] = "One record of many bits, and then as many as are wanted, from noisy means."
    serves: ClassVar[tuple[Goal, ...]] = ("sample",)
    draws_records: ClassVar[bool] = True
    revision: ClassVar[int] = 2
    delta_text: ClassVar[str] = "SampleProduct needs δ, or ρ alone where zCDP adds it up."

    epsilon: Exact = parameter(reads=Epsilon())
    delta: Exact = parameter(reads=Probability(zero=False), suggested="1e-6", label="δ")
    noise: Noise = parameter(
        reads=OneOf(Noise),
        default="repaired",
        label="Noise",
        options={
            "repaired": "for the sensitivity that rows have",
            "paper": "as printed, at the ε that it needs",
            "tight": "for rows cut as low as few reach",
        },
    )
    alpha: Exact = parameter(reads=ExactNumber(), default=Fraction(1, 10), label="Accuracy that rows are cut for")
    flips: bool = parameter(
        reads=Switch(),
        default=True,
        label="Columns with means near 1",
        options={"true": "are turned round", "false": "stay as they are"},
    )
    rows: int | None = parameter(
        reads=WholeNumber(most=MOST_ROWS),
        default=None,
        optional=True,
        label="Rows read (public)",
        stays=True,
        later=True,
    )

    def check(self) -> None:
        if not 0 < self.alpha < 1:
            raise ParameterError.of(text(self.alpha), "alpha lies strictly between 0 and 1", "give an alpha like 1/10")

    def bind(self, question: Question, unit: Unit) -> SampleProductBound:
        """Fix the rounds and their noise.

        Parameters
        ----------
        question : Question
            Columns of bits, of which records are drawn.
        unit : Unit
            The unit that is protected.

        Returns
        -------
        SampleProductBound
            Price, draw and error law of `SampleProduct` for this question and unit.

        Raises
        ------
        ParameterError, DomainError
            If `SampleProduct` cannot answer the question for this unit. Only public facts are looked at.
        """
        question.check_bits(self.name)
        rows, factors = self._rows(question, unit), question.domain.factors
        rho = rho_for(self.epsilon, self.delta)
        if not rho:
            raise below_any_noise(self.epsilon, self.delta)
        beta = beta_for(self.alpha, len(factors))
        plan = Rounds(len(factors), rows, rho, beta, self.noise, self.flips)
        kind = ProductLaw if self.rows is None else CutProductLaw
        law = kind(plan.columns, plan.n, rho / (plan.price / rho), beta, self.noise, self.flips)
        return SampleProductBound(self, question, unit, law)

    def _rows(self, question: Question, unit: Unit) -> int:
        """How many rows are read. Raises ParameterError where that is not public."""
        if unit.relation == "replace-one":
            if self.rows is not None:
                raise ParameterError.of(
                    f"rows={self.rows:,}", "the number of rows is public where a row is replaced", "leave rows out"
                )
            return number_of_records(self.name, question, unit)
        check_rows(self.name, unit)
        if self.rows is None:
            raise ParameterError.of(
                unit.text,
                f"{self.name} divides sums by the number of rows, which is private where a row may come or go",
                "give rows=, a public number that the table is cut or filled up to; dv.Dense over a domain of one bin "
                "says about how many there are, for a price of its own",
            )
        return self.rows


@dataclass(frozen=True)
class SampleProductBound(Bound):
    """SampleProduct, bound to a question and a unit."""

    mechanism: SampleProduct
    question: Question
    unit: Unit
    law: ProductLaw

    needs: ClassVar[StatisticKind] = StatisticKind.BITS
    shape: ClassVar[type[Answer]] = ProductRecord
    reuse: ClassVar[bool] = True

    @property
    def plan(self) -> Rounds:
        return self.law.plan

    @cached_property
    def price(self) -> Guarantee:
        made, rho = self.mechanism, ZCDP(self.plan.price)
        rule = (
            "Raskhodnikova, Sivakumar, Smith, Swanberg 2021, Algorithm 4, with the sensitivity of replacing a row, by "
            f"one Rényi order (Canonne, Kamath, Steinke 2020, Proposition 12); {rho.short} under zCDP"
        )
        loss = ApproxDP(made.epsilon, made.delta)
        return Guarantee(loss, self.unit, rule, requested=made.epsilon, zcdp_steps=rho)

    @property
    def space(self) -> Space:
        return Space(bits=STORED_BITS * self.plan.columns, text=f"{self.plan.columns:,} × {STORED_BITS}")

    @cached_property
    def cost(self) -> Cost:
        plan = self.plan
        left = f", {counted(plan.left_over, 'row')} left over" if plan.left_over else ""
        many = f"{counted(plan.chunks, 'part')} of {counted(plan.chunk, 'row')}{left}"
        proof = theory_n(plan.columns, self.mechanism.alpha, plan.rho)
        shown = f"{many}; the paper's proof of {text(self.mechanism.alpha)} asks for {proof:,} rows"
        return Cost(steps=plan.chunks, text=shown, seconds=plan.n * plan.columns / VALUES_A_SECOND)

    @property
    def error(self) -> ErrorModel:
        return self.law.error

    @property
    def verb(self) -> str:
        return (
            f"Adds noise to the means of {counted(self.plan.columns, 'column')} and draws each bit with its own. "
            "Further records from the same means are free, and depend on each other."
        )

    def draw(self, statistic: Statistic, bits: Bits, *, mode: Mode, tick: Tick | None = None) -> ProductRecord:
        """Draw the means, and a record with them."""
        assert isinstance(statistic, RecordBits)
        rows = statistic.take()
        if self.mechanism.rows is not None and len(rows) > self.plan.n:
            rows = rows[permutation(len(rows), bits)[: self.plan.n]]
        means = noisy_means(fitted(rows, self.plan.n), self.plan, bits, tick)
        clipped = means.sums.clip(0, means.one)
        chances = np.where(means.flipped, means.one - clipped, clipped)
        record = draw_rows(chances, means.one, np.zeros(chances.size, dtype=np.bool_), 1, bits)[0]
        return ProductRecord(tuple(record.tolist()), chances, means.one)


def fitted(rows: NDArray[np.uint8], n: int) -> NDArray[np.uint8]:
    """As many rows as were declared: those beyond are left out, and rows of zeros stand for those that are missing.

    How many there are is public where a row is replaced, so this changes nothing where it was declared rightly. Where a
    row may come or go, those that are left out have been chosen by chance before.
    """
    if len(rows) >= n:
        return rows[:n]
    return np.vstack([rows, np.zeros((n - len(rows), rows.shape[1]), dtype=np.uint8)])


protect_module(vars())
