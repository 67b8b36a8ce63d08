"""SampleCategory: one record, or as many as are wanted, from noisy counts of all labels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from dpviz.boundary import protect_module
from dpviz.errors import ParameterError
from dpviz.exact import Decay, counted, text
from dpviz.laws import category
from dpviz.model.answers import Answer, Record, WeightedRecord
from dpviz.model.answers.records import record_at
from dpviz.model.error import ErrorModel, ErrorValue
from dpviz.model.goals import Goal
from dpviz.model.laws.records import CategoryLaw, Projection, public_records, rounded_up
from dpviz.model.mechanism import DRAWS_A_SECOND, Bound, Cost, Mode, Space
from dpviz.model.parameters import Epsilon, Exact, OneOf, Parameters, parameter
from dpviz.model.question import Question
from dpviz.model.source import Tick
from dpviz.model.statistic import DenseCounts, SparseCounts, Statistic, StatisticKind
from dpviz.noise.bits import Bits
from dpviz.noise.category import ANY, MOST_UNSEEN, UNSEEN, nearest, pick, pick_one, weights
from dpviz.noise.geometric import check_scale, two_sided_geometric
from dpviz.noise.order import outside
from dpviz.privacy.guarantee import Guarantee
from dpviz.privacy.loss import PureDP
from dpviz.privacy.unit import Unit

Draws = Literal["many", "one"]

MOST_LABELS = 10_000_000
"""The weights of more labels would not fit in memory; with draws="one" there may be 2^64."""

LARGEST_SUM = 1 << 60
"""The weights of all labels add up to at most this, so that they are numbers of 64 bits."""

TAIL = 64
"""Noise of more than so many times its scale has a chance below 1e-27."""

WEIGHT_BITS = 64
"""The storage of the weight of a label."""


class SampleCategory(Parameters):
    """Draw a record in proportion to noisy counts of all labels; further records from the same counts are free.

    Parameters
    ----------
    epsilon : str, int, float or Fraction
        The price in the session's unit.
    projection : {"normalise", "euclid"}, default "normalise"
        How noisy counts become the chances that a record is drawn with. "normalise": divided by their sum. "euclid":
        the nearest chances by Euclid's distance, usually with less for labels that nobody has; it needs the number of
        records to be public.
    draws : {"many", "one"}, default "many"
        "many": the noisy weights are kept, and further records are free, from `release.draw(n)`. "one": one record
        alone, from up to 2^64 labels, in time that grows with the records in the data; by "normalise" the labels that
        nobody has are never looked at one by one.

    Raises
    ------
    ParameterError
        If a parameter is outside its range, or two contradict each other.

    Notes
    -----
    **Privacy.** Pure DP of all weights together, and so of any number of records drawn from them. One unit moves the
    counts by at most `Unit.l1` in L1: by 2 where a row is replaced, by 1 where it comes or goes. The noise is
    exp(-epsilon |z| / l1) on every label, those that nobody has included [1]_.

    **Error.** Over n independent records of one law, that of a drawn record is within k / (n sinh(epsilon / l1)) of it
    in total variation, for k labels: at most the paper's 2k / (n epsilon) where a row is replaced.

    References
    ----------
    .. [1] Raskhodnikova, Sivakumar, Smith, Swanberg 2021, Algorithm 3, Theorem 1.4, with discrete noise; the two
           nearest points of the simplex, the law without the labels that nobody has, and the price where a row comes or
           goes are derived here.

    Examples
    --------
    >>> from dpviz.model.domain import Domain
    >>> asked = Question.records([Domain.categories(["a", "b", "c"], column="kind")])
    >>> bound = SampleCategory(epsilon="1/2").bind(asked, Unit(relation="replace-one", n=1000))
    >>> bound.price.sentence, float(bound.error.total_variation().value)
    ('0.5-differential privacy for replacing one row', 0.01188)
    """

    name: ClassVar[str] = "SampleCategory"
    about: ClassVar[str] = "One record, and then as many as are wanted, from noisy counts of all labels."
    serves: ClassVar[tuple[Goal, ...]] = ("sample",)
    delta_text: ClassVar[str] = "SampleCategory is pure: no δ."
    draws_records: ClassVar[bool] = True
    first_choice: ClassVar[int] = 5

    epsilon: Exact = parameter(reads=Epsilon())
    projection: Projection = parameter(
        reads=OneOf(Projection),
        default="normalise",
        label="Noisy counts become chances",
        options={"normalise": "divided by their sum", "euclid": "nearest by Euclid's distance"},
    )
    draws: Draws = parameter(
        reads=OneOf(Draws),
        default="many",
        label="Further records",
        options={"many": "free, from the same weights", "one": "none: up to 2^64 labels"},
    )

    @classmethod
    def fitted(cls, question: Question) -> dict[str, str]:
        question, usual = Question.of(question), super().fitted(question)
        return {"draws": "one"} if question.domain.declared and question.bins > MOST_LABELS else usual

    def bind(self, question: Question, unit: Unit) -> SampleCategoryBound:
        """Fix the noise.

        Parameters
        ----------
        question : Question
            Declared labels that records are drawn from.
        unit : Unit
            The unit that is protected.

        Returns
        -------
        SampleCategoryBound
            Price, draw and error law of `SampleCategory` for this question and unit.

        Raises
        ------
        ParameterError, UnitError
            If `SampleCategory` cannot answer the question for this unit. Only public facts are looked at.
        """
        question.check_records(self.name)
        labels = question.bins
        if labels < 2:
            raise ParameterError.of(
                counted(labels, "label"), "a record of one label is known before it is drawn", "declare more labels"
            )
        records = public_records(question, unit)
        if self.projection == "euclid" and records is None:
            raise ParameterError.of(
                'projection="euclid"',
                "the nearest chances depend on the number of records, which is not public here: only all rows under "
                "replace-one have a public number",
                'use projection="normalise", which never needs it',
            )
        shortcut = self.draws == "one" and self.projection == "normalise"
        if labels > (MOST_UNSEEN if shortcut else MOST_LABELS):
            most = "2^64" if shortcut else f"{MOST_LABELS:,}"
            raise ParameterError.of(
                question.domain.size_text,
                f"{self.python} draws from at most {most} labels",
                "take fewer columns, or fewer bins of each"
                if shortcut
                else 'use draws="one" and projection="normalise"',
            )
        exponent = self.epsilon / unit.l1(labels)
        check_scale(Decay.exp(exponent))
        peak = max(unit.n or 0, int(TAIL / exponent))
        if not shortcut and labels * peak > LARGEST_SUM:
            raise ParameterError.of(
                f"epsilon = {text(self.epsilon)} over {labels:,} labels",
                "the weights of all labels add up to at most 2^60",
                "take a larger epsilon, or fewer labels",
            )
        kind = ManyRecordsBound if self.draws == "many" else OneRecordBound
        return kind(self, question, unit, exponent)


@dataclass(frozen=True)
class SampleCategoryBound(Bound):
    """SampleCategory, bound to a question and a unit.

    exponent  of the noise: its chances are proportional to exp(-exponent |z|)
    """

    mechanism: SampleCategory
    question: Question
    unit: Unit
    exponent: Fraction

    @property
    def shortcut(self) -> bool:
        """Whether the labels that nobody has are taken together, which gives one record and no other."""
        return self.mechanism.draws == "one" and self.mechanism.projection == "normalise"

    @property
    def needs(self) -> StatisticKind:
        return StatisticKind.SPARSE if self.shortcut else StatisticKind.DENSE

    @cached_property
    def price(self) -> Guarantee:
        epsilon = self.mechanism.epsilon
        rule = "Raskhodnikova, Sivakumar, Smith, Swanberg 2021, Algorithm 3: discrete Laplace noise on every label"
        return Guarantee(PureDP(epsilon), self.unit, rule, requested=epsilon)

    @cached_property
    def space(self) -> Space:
        if self.reuse:
            return Space(bits=WEIGHT_BITS * self.question.bins, text=f"{self.question.bins:,} × {WEIGHT_BITS}")
        bits = (self.question.bins - 1).bit_length()
        return Space(bits=bits, text=f"{bits}, one record")

    @cached_property
    def cost(self) -> Cost:
        if self.shortcut:
            return Cost(steps=1, text="one draw for each label in the data")
        labels = self.question.bins
        return Cost(steps=labels, text=f"{labels:,} draws", seconds=labels / DRAWS_A_SECOND)

    @cached_property
    def law(self) -> CategoryLaw:
        records = public_records(self.question, self.unit)
        return CategoryLaw(self.exponent, self.question.bins, records, self.mechanism.projection, self.reuse)

    @property
    def error(self) -> ErrorModel:
        return self.law.error

    @property
    def notes(self) -> Sequence[tuple[str, dict[str, Any]]]:
        """The paper's bound on the same distance."""
        if self.law.records is None:
            return ()
        paper = category.paper_bound(self.law.labels, self.law.records, 2 * self.exponent)
        bound = ErrorValue(rounded_up(paper), "bound", "Raskhodnikova, Sivakumar, Smith, Swanberg 2021, Theorem 1.4")
        return (("The paper's bound, any record", bound.to_json()),)

    @property
    def verb(self) -> str:
        drawn = "Adds noise to the count of every label, and draws a record in proportion to what is left."
        if self.reuse:
            return f"{drawn} Further records from the same noisy counts are free, and depend on each other."
        return f"{drawn} Another record takes another draw, at the same ε."

    def draw(self, statistic: Statistic, bits: Bits, *, mode: Mode, tick: Tick | None = None) -> Answer:
        """Draw the record, with the weights where they are kept."""
        decay, domain = Decay.exp(self.exponent), self.question.domain
        if tick is not None:
            tick(0, self.cost.steps)
        if isinstance(statistic, SparseCounts):
            return Record(record_at(self._one(*statistic.take(), decay, bits), domain))
        assert isinstance(statistic, DenseCounts)
        drawn_from = self._weights(statistic.take(), decay, bits)
        record = record_at(pick(drawn_from, bits), domain)
        return WeightedRecord(record, drawn_from) if self.reuse else Record(record)

    def _weights(self, counts: NDArray[np.int64], decay: Decay, bits: Bits) -> NDArray[np.int64]:
        """The noisy counts above 0; or the whole weights of the nearest point of the simplex, at most labels * records
        in all."""
        if self.mechanism.projection == "normalise":
            return weights(counts, decay, bits)
        assert self.unit.n is not None
        noisy = two_sided_geometric(decay).add(counts, None, None, bits)
        return nearest(noisy, self.unit.n)[0].astype(np.int64)

    def _one(self, labels: NDArray[Any], counts: NDArray[np.int64], decay: Decay, bits: Bits) -> int:
        """The bin of one record, where labels that nobody has are taken together."""
        size = self.question.bins
        place = pick_one(counts, size - len(labels), decay, bits)
        if place == ANY:
            return bits.below(size)
        return int(labels[place]) if place != UNSEEN else int(outside(1, labels, size, bits)[0][0])


@dataclass(frozen=True)
class ManyRecordsBound(SampleCategoryBound):
    """The weights are kept: further records are free."""

    shape: ClassVar[type[Answer]] = WeightedRecord
    reuse: ClassVar[bool] = True


@dataclass(frozen=True)
class OneRecordBound(SampleCategoryBound):
    """One record alone."""

    shape: ClassVar[type[Answer]] = Record
    reuse: ClassVar[bool] = False


protect_module(vars())
