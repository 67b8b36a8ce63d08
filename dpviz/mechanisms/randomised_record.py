"""RandomisedRecord: the label of one record, chosen uniformly, and told by randomised response."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

from dpviz.boundary import protect_module
from dpviz.errors import ParameterError
from dpviz.exact import counted
from dpviz.mechanisms.records import number_of_records
from dpviz.model.answers import Answer, Record
from dpviz.model.answers.records import record_at
from dpviz.model.error import ErrorModel
from dpviz.model.goals import Goal
from dpviz.model.laws.records import PseudocountLaw, ResponseLaw
from dpviz.model.mechanism import Bound, Cost, Mode, Space
from dpviz.model.parameters import Epsilon, Exact, Parameters, parameter
from dpviz.model.question import Question
from dpviz.model.source import Tick
from dpviz.model.statistic import SparseCounts, Statistic, StatisticKind
from dpviz.noise.bits import Bits
from dpviz.noise.category import MOST_UNSEEN
from dpviz.noise.response import ANY, respond
from dpviz.privacy.guarantee import Guarantee
from dpviz.privacy.loss import PureDP
from dpviz.privacy.unit import Unit


class RandomisedRecord(Parameters):
    """Choose one record uniformly, and release its label, or with some chance any label.

    Parameters
    ----------
    epsilon : str, int, float or Fraction
        The price in the session's unit.

    Raises
    ------
    ParameterError
        If a parameter is outside its range, or two contradict each other.

    Notes
    -----
    With n records and k labels the answer is uniform over all labels with chance g = k / (k + n (exp(epsilon) - 1)): as
    if there were 1 / (exp(epsilon) - 1) more records of each label. Nothing is drawn from the counts of all, so it
    tells nothing but the one record: a picture of how looking at one record out of many lets a sampler be accurate at a
    small price.

    **Privacy.** Pure DP. Where a row is replaced and n is public, the ratio exp(epsilon) is met between a label that
    nobody has and one that one record has. Where a unit comes or goes, with up to L records, L / (exp(epsilon) - 1) are
    made up for each label, whatever n is: then n need not be public, and no part of epsilon pays for it; the ratio
    comes as near to exp(epsilon) as n is large. Every further record is paid for [1]_.

    **Error.** Exact: its law is within (k - 1) / (k + n (exp(epsilon) - 1)) of the data's in total variation; where n
    is private, nothing is stated.

    References
    ----------
    .. [1] Warner 1965; the chance that one record of n allows, and that a private n may, is derived here
           (`noise.response.uniform_chance`). It is no part of Raskhodnikova, Sivakumar, Smith, Swanberg 2021, and
           stands beside their samplers for comparison.

    Examples
    --------
    >>> from dpviz.model.domain import Domain
    >>> asked = Question.records([Domain.categories(["a", "b", "c"], column="kind")])
    >>> bound = RandomisedRecord(epsilon="1/2").bind(asked, Unit(relation="replace-one", n=1000))
    >>> float(bound.error.total_variation().value)
    0.00307
    """

    name: ClassVar[str] = "RandomisedRecord"
    about: ClassVar[str] = "The label of one record, told at random: a baseline beside the samplers."
    serves: ClassVar[tuple[Goal, ...]] = ("sample",)
    delta_text: ClassVar[str] = "RandomisedRecord is pure: no δ."
    draws_records: ClassVar[bool] = True

    epsilon: Exact = parameter(reads=Epsilon())

    def bind(self, question: Question, unit: Unit) -> RandomisedRecordBound:
        """Fix the probability of each label.

        Parameters
        ----------
        question : Question
            Declared labels, one of which is drawn.
        unit : Unit
            The unit that is protected.

        Returns
        -------
        RandomisedRecordBound
            Price, draw and error law of `RandomisedRecord` for this question and unit.

        Raises
        ------
        ParameterError
            If `RandomisedRecord` cannot answer the question for this unit. Only public facts are looked at.
        """
        question.check_records(self.name)
        if unit.relation == "replace-one":
            number_of_records(self.name, question, unit)
        if not 2 <= question.bins <= MOST_UNSEEN:
            raise ParameterError.of(
                question.domain.size_text,
                "a record is one of 2 to 2^64 labels",
                "declare more labels, or fewer columns",
            )
        return RandomisedRecordBound(self, question, unit)


@dataclass(frozen=True)
class RandomisedRecordBound(Bound):
    """RandomisedRecord, bound to a question and a unit."""

    mechanism: RandomisedRecord
    question: Question
    unit: Unit

    needs: ClassVar[StatisticKind] = StatisticKind.SPARSE
    shape: ClassVar[type[Answer]] = Record
    reuse: ClassVar[bool] = False

    @cached_property
    def price(self) -> Guarantee:
        epsilon = self.mechanism.epsilon
        if self.unit.relation == "add-remove":
            rule = "one record out of all and some made-up ones of each label: the worst ratio, of a label nobody has"
        else:
            rule = "randomised response of one record out of n: the worst ratio, between none and one of a label"
        return Guarantee(PureDP(epsilon), self.unit, rule, requested=epsilon)

    @property
    def space(self) -> Space:
        bits = (self.question.bins - 1).bit_length()
        return Space(bits=bits, text=f"{bits}, one record")

    @property
    def cost(self) -> Cost:
        return Cost(steps=1, text="one draw")

    @cached_property
    def law(self) -> ResponseLaw | PseudocountLaw:
        epsilon, labels = self.mechanism.epsilon, self.question.bins
        if self.unit.relation == "add-remove":
            return PseudocountLaw(epsilon, labels, self.unit.l1(labels))
        return ResponseLaw(epsilon, labels, number_of_records(self.mechanism.name, self.question, self.unit))

    @property
    def error(self) -> ErrorModel:
        return self.law.error

    @property
    def verb(self) -> str:
        law = self.law
        among = "all records" if isinstance(law, PseudocountLaw) else counted(law.records, "record")
        once = f"Chooses one of {among} and shows its label or, by chance, any label."
        return f"{once} Another record takes another draw, at the same ε."

    def draw(self, statistic: Statistic, bits: Bits, *, mode: Mode, tick: Tick | None = None) -> Record:
        assert isinstance(statistic, SparseCounts)
        labels, counts = statistic.take()
        if tick is not None:
            tick(0, self.cost.steps)
        size, law, epsilon = self.question.bins, self.law, self.mechanism.epsilon
        if isinstance(law, PseudocountLaw):
            place = respond(counts, int(counts.sum()), size, epsilon, bits, law.moves)
        else:
            place = respond(counts, law.records, size, epsilon, bits)
        return Record(record_at(bits.below(size) if place == ANY else int(labels[place]), self.question.domain))


protect_module(vars())
