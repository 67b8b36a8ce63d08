"""TopKSet: which items stand out above the k-th, as a set, each by a coin of its own."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import ClassVar

from dpviz.boundary import protect_module
from dpviz.errors import ParameterError
from dpviz.exact import counted, text
from dpviz.mechanisms.ranked import (
    DELTA,
    EPSILON,
    KBAR,
    LargestBound,
    Rule,
    halved,
    rule_of,
)
from dpviz.model.answers import Answer, Chosen
from dpviz.model.error import ErrorModel
from dpviz.model.laws.ranking import CoinsLaw
from dpviz.model.mechanism import Cost, Mode
from dpviz.model.parameters import Exact, Parameters, parameter
from dpviz.model.question import Question
from dpviz.model.source import Tick
from dpviz.model.statistic import Statistic
from dpviz.noise.bits import Bits
from dpviz.noise.coin import passes
from dpviz.privacy.guarantee import Guarantee
from dpviz.privacy.loss import ApproxDP
from dpviz.privacy.range_bounded import StepPrice
from dpviz.privacy.threshold import calibrate_fixed
from dpviz.privacy.unit import Unit


class TopKSet(Parameters):
    """Name those of the k largest items whose count stands out above the count of row k + 1, in no order.

    Parameters
    ----------
    k : int, default 10
        At most k items come; an engine reads k + 1 rows.
    epsilon : str, int, float or Fraction
        The price in the session's unit.
    delta : str, int, float or Fraction, default "1e-6"
        The delta of the price, in the session's unit.

    Raises
    ------
    ParameterError
        If a parameter is outside its range, or the delta of one item would reach 1/2.

    Notes
    -----
    With a = count - next_count, an item with a >= 1 comes with the probability x = d exp(rate (a - max_per_bin)) up to
    one half, and 1 - 1/(4x) beyond, where d is the delta of one item and rate = step / max_per_bin. This is Laplace
    noise against a fixed threshold.

    **Privacy.** With step e and L = ln(1/delta'), (k e, k d) or (k e tanh(e/2) + e sqrt(2 k L), k d + delta'),
    whichever allows the larger step, for adding or removing a unit, in any number of bins and for any order of equal
    counts. A replacement pays for two [1]_.

    **Error.** `error.listed` is exact: each coin is by itself.

    References
    ----------
    .. [1] Durfee, Rogers 2019, Algorithm 8 and Theorem 5. As printed it compares true counts with the threshold, which
           is not private; here the items above the next count compete, as its analysis assumes.

    Examples
    --------
    >>> from dpviz.model.domain import Domain
    >>> question = Question.of(Domain.keys(column="dest"))
    >>> bound = TopKSet(k=10, epsilon="1").bind(question, Unit("aircraft", max_bins=None))
    >>> bound.price.sentence, bound.step_price.step, bound.error.listed(Fraction(1, 20)).value
    ('(1, 0.000001)-differential privacy for adding or removing one aircraft', Fraction(1, 10), Fraction(179, 1))
    """

    name: ClassVar[str] = "TopKSet"
    about: ClassVar[str] = "Which items stand out above the k-th, as a set without order."
    delta_text: ClassVar[str] = "TopKSet needs δ: an item that one unit brings among the largest may show."
    names_items: ClassVar[bool] = True

    k: int = parameter(reads=KBAR, default=10, label="k, items at most", always=True, in_bins=True)
    epsilon: Exact = EPSILON
    delta: Exact = DELTA

    def bind(self, question: Question, unit: Unit) -> TopKSetBound:
        """Fix the step and the deltas.

        Parameters
        ----------
        question : Question
            Items that compete for an unordered set.
        unit : Unit
            The unit that is protected.

        Returns
        -------
        TopKSetBound
            Price, draw and error law of `TopKSet` for this question and unit.

        Raises
        ------
        ParameterError
            If `TopKSet` cannot answer the question for this unit. Only public facts are looked at.
        """
        question.check_counts(self.name)
        if question.domain.declared and self.k > question.bins:
            raise ParameterError.of(
                self.k, f"k is at most the number of bins, and this question has {question.bins:,}", "give a smaller k"
            )
        rule = rule_of("strict", "unknown", self.k, question, unit, direct=False, always=True)
        price = (self.epsilon, self.delta) if unit.relation == "add-remove" else halved(self.epsilon, self.delta)
        return TopKSetBound(self, question, unit, rule, calibrate_fixed(*price, self.k))


@dataclass(frozen=True)
class TopKSetBound(LargestBound):
    """TopKSet, bound to a question and a unit.

    step_price  the epsilon and delta of one item under add-or-remove, and what composition adds
    """

    mechanism: TopKSet
    question: Question
    unit: Unit
    rule: Rule
    step_price: StepPrice

    shape: ClassVar[type[Answer]] = Chosen
    ordered: ClassVar[bool] = False

    @property
    def rows(self) -> int:
        """How many of the largest counts are read."""
        return self.mechanism.k

    @property
    def item_price(self) -> StepPrice:
        return self.step_price

    @property
    def rate(self) -> Fraction:
        """By how much one count more raises the logarithm of x."""
        return self.step_price.step / self.rule.gap

    @cached_property
    def price(self) -> Guarantee:
        made, step_price = self.mechanism, self.step_price
        rule = "Durfee, Rogers 2019, Algorithm 8 as its analysis has it, and Theorem 5"
        summed = f"{made.k} × {text(step_price.step)}"
        exact = summed if not step_price.delta_prime else f"Theorem 3 of {made.k} steps of {text(step_price.step)}"
        if self.unit.relation == "replace-one":
            rule += "; one replacement is a removal and an addition (group privacy, size 2)"
            exact = f"group of two of {exact}"
        return Guarantee(ApproxDP(made.epsilon, made.delta), self.unit, rule, requested=made.epsilon, exact=exact)

    @property
    def cost(self) -> Cost:
        return Cost(steps=1, text=f"{self.mechanism.k + 1:,} rows, and at most {counted(self.mechanism.k, 'coin')}")

    @cached_property
    def law(self) -> CoinsLaw:
        return CoinsLaw(self.max_items, self.rate, self.rule.gap, self.step_price.delta)

    @property
    def error(self) -> ErrorModel:
        return self.law.error

    @property
    def verb(self) -> str:
        items = self.question.domain.items
        return f"Names those of the {self.max_items:,} most common {items} that stand out, in no order."

    def draw(self, statistic: Statistic, bits: Bits, *, mode: Mode, tick: Tick | None = None) -> Chosen:
        """Flip the coins. How many rows there are is private: no tick tells."""
        rows = self.rule.rows(statistic, self.mechanism.k)
        if tick is not None:
            tick(0, self.cost.steps)
        contest = self.rule.contest(rows, self.mechanism.k, self.step_price.delta)
        base = rows.next_count + self.rule.gap
        excess = [count - base for count in contest.counts.tolist()]
        kept = [passes(one, self.rate, self.step_price.delta, bits) for one in excess]
        return Chosen(tuple(sorted(item for item, came in zip(contest.items, kept, strict=False) if came)))


protect_module(vars())
