"""ExponentialTopK: the largest bins of a known domain in order, by peeling the exponential mechanism. A baseline."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import ClassVar

from dpviz.boundary import protect_module
from dpviz.errors import ParameterError
from dpviz.exact import counted, text
from dpviz.mechanisms.dense import MOST_BINS
from dpviz.mechanisms.ranked import EPSILON, Contest, ListBound
from dpviz.model.answers import Answer, Ranked
from dpviz.model.error import ErrorModel
from dpviz.model.goals import Goal
from dpviz.model.laws.ranking import ExponentialLaw
from dpviz.model.mechanism import DRAWS_A_SECOND, Cost, Mode, Space
from dpviz.model.parameters import Exact, Parameters, Probability, WholeNumber, parameter
from dpviz.model.question import Question
from dpviz.model.source import Tick
from dpviz.model.statistic import DenseCounts, Statistic, StatisticKind
from dpviz.noise.bits import Bits
from dpviz.noise.race import rank
from dpviz.privacy.guarantee import Guarantee
from dpviz.privacy.loss import ApproxDP, PureDP, RangeBounded
from dpviz.privacy.range_bounded import StepPrice, calibrate
from dpviz.privacy.unit import Unit


class ExponentialTopK(Parameters):
    """Draw k bins of a public domain in order, each with odds exp(rate * count) among those that remain.

    Parameters
    ----------
    k : int, default 10
        How many bins come: always all of them, for there is no "no more".
    epsilon : str, int, float or Fraction
        The price in the session's unit.
    delta : str, int, float or Fraction, default 0
        The delta of the price, in the session's unit; 0 leaves the sum of the steps.

    Raises
    ------
    ParameterError
        If a parameter is outside its range, or two contradict each other.

    Notes
    -----
    All bins are counted, empty ones included, and may come. With step e, rate = e / max_per_bin; a step costs 2e under
    replace-one, which moves some counts up and others down.

    **Privacy.** Pure, epsilon = k e; or with L = ln(1/delta) the least of that, k e tanh(e/2) + e sqrt(2 k L), and k
    e^2/2 + e sqrt(k L/2). One unit moves all counts the same way, so no factor of 2 is needed [1]_.

    **Error.** `error.rank`, a bound for all counts; it grows with the number of bins.

    References
    ----------
    .. [1] McSherry, Talwar 2007; Durfee, Rogers 2019, Lemma 4.2, Corollary 4.1 and Lemma 4.4.

    Examples
    --------
    >>> from dpviz.model.domain import Domain
    >>> bins = Question.of(Domain.integers(0, 40, column="visits"))
    >>> bound = ExponentialTopK(k=5, epsilon="1").bind(bins, Unit())
    >>> bound.price.sentence, bound.rate, bound.error.rank(1, Fraction(1, 20)).value
    ('1-differential privacy for adding or removing one row', Fraction(1, 5), Fraction(33, 1))
    """

    name: ClassVar[str] = "ExponentialTopK"
    about: ClassVar[str] = "The largest bins of a known domain in order. A baseline: always k of them."
    serves: ClassVar[tuple[Goal, ...]] = ("top",)
    delta_text: ClassVar[str] = "With δ = 0 the steps add up; with a δ many of them come to less ε."
    names_items: ClassVar[bool] = True

    k: int = parameter(reads=WholeNumber(most=MOST_BINS), default=10, label="k, bins drawn", always=True, in_bins=True)
    epsilon: Exact = EPSILON
    delta: Exact = parameter(reads=Probability(zero=True), default=0, label="δ, 0 for none")

    def bind(self, question: Question, unit: Unit) -> ExponentialTopKBound:
        """Fix the step.

        Parameters
        ----------
        question : Question
            Declared bins that compete for the list.
        unit : Unit
            The unit that is protected.

        Returns
        -------
        ExponentialTopKBound
            Price, draw and error law of `ExponentialTopK` for this question and unit.

        Raises
        ------
        ParameterError
            If `ExponentialTopK` cannot answer the question for this unit. Only public facts are looked at.
        """
        question.check_counts(self.name)
        if question.bins > MOST_BINS:
            raise ParameterError.of(
                f"{question.bins:,} bins", f"ExponentialTopK ranks at most {MOST_BINS:,} bins", "use TopK"
            )
        if self.k > question.bins:
            raise ParameterError.of(
                self.k, f"k is at most the number of bins, and this question has {question.bins:,}", "give a smaller k"
            )
        factor = 1 if unit.relation == "add-remove" else 2
        if self.delta:
            step_price = calibrate(self.epsilon, self.delta, self.k, 1, "paper", bottom=False, relation_factor=factor)
        else:
            step_price = StepPrice(self.epsilon / (self.k * factor), Fraction(0), Fraction(0))
        return ExponentialTopKBound(self, question, unit, step_price)


@dataclass(frozen=True)
class ExponentialTopKBound(ListBound):
    """ExponentialTopK, bound to a question and a unit.

    step_price  the epsilon of a step under add-or-remove, and what composition adds
    """

    mechanism: ExponentialTopK
    question: Question
    unit: Unit
    step_price: StepPrice

    needs: ClassVar[StatisticKind] = StatisticKind.DENSE
    shape: ClassVar[type[Answer]] = Ranked

    @property
    def item_price(self) -> StepPrice:
        return self.step_price

    @property
    def rate(self) -> Fraction:
        """By how much one count more raises the logarithm of a bin's odds."""
        return self.step_price.step / self.unit.max_per_bin

    @cached_property
    def price(self) -> Guarantee:
        made = self.mechanism
        step = self.step_price.step * (1 if self.unit.relation == "add-remove" else 2)
        rule = "McSherry, Talwar 2007; Durfee, Rogers 2019, Lemma 4.2 and Corollary 4.1"
        loss = ApproxDP(made.epsilon, made.delta) if made.delta else PureDP(made.epsilon)
        return Guarantee(
            loss,
            self.unit,
            rule,
            requested=made.epsilon,
            exact=f"Lemma 4.4 of {made.k} steps of {text(step)}" if made.delta else "",
            zcdp_steps=RangeBounded(step, steps=made.k),
        )

    @cached_property
    def space(self) -> Space:
        label = max(1, (self.question.bins - 1).bit_length())
        return Space(bits=self.max_items * label, text=f"{self.max_items:,} × {label}")

    @cached_property
    def cost(self) -> Cost:
        bins = self.question.bins
        return Cost(steps=bins, text=f"one race of {counted(bins, 'bin')}", seconds=bins / DRAWS_A_SECOND)

    @cached_property
    def law(self) -> ExponentialLaw:
        return ExponentialLaw(self.max_items, self.question.bins, self.rate)

    @property
    def error(self) -> ErrorModel:
        return self.law.error

    @property
    def verb(self) -> str:
        items = self.question.domain.items
        return f"Lists {self.max_items:,} of all {self.question.bins:,} {items}, the most common first."

    def draw(self, statistic: Statistic, bits: Bits, *, mode: Mode, tick: Tick | None = None) -> Ranked:
        """Draw the list, out of every bin of the domain."""
        assert isinstance(statistic, DenseCounts)
        if tick is not None:
            tick(0, self.cost.steps)
        counts = statistic.take()
        drawn = rank(counts, self.rate, self.max_items, bits)
        return Contest(range(len(counts)), counts, None).ranked(drawn)


protect_module(vars())
