"""TopK: the largest items in order, out of the few rows that an engine gives, with an honest "no more"."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar, Literal, cast

from dpviz.boundary import protect_module
from dpviz.errors import ParameterError
from dpviz.exact import counted, text
from dpviz.mechanisms.ranked import (
    ACCOUNTING,
    DELTA,
    DELTA_PRIME,
    EPSILON_OR_PER_ITEM,
    EPSILON_PER_ITEM,
    MOST_ROWS,
    ORDER,
    RULE,
    DomainRule,
    K,
    LargestBound,
    Rule,
    Ties,
    check_price,
    check_rows,
    converted,
    halved,
    known_order,
    rule_of,
)
from dpviz.model.answers import Answer, Ranked
from dpviz.model.error import ErrorModel
from dpviz.model.goals import Goal
from dpviz.model.laws.ranking import PeelingLaw
from dpviz.model.mechanism import Cost, Mode
from dpviz.model.parameters import Exact, ExactOrNone, Parameters, WholeNumber, parameter
from dpviz.model.question import Question
from dpviz.model.source import Tick, TopRules
from dpviz.model.statistic import Statistic
from dpviz.noise.bits import Bits
from dpviz.noise.peeling import choose
from dpviz.noise.race import rank
from dpviz.privacy.grid import LARGEST_EPSILON
from dpviz.privacy.guarantee import Guarantee
from dpviz.privacy.loss import ApproxDP, PureDP, RangeBounded
from dpviz.privacy.range_bounded import Accounting, StepPrice, calibrate, total
from dpviz.privacy.unit import Unit

Kbar = int | Literal["private"]

MOST_OFFERED = 10_000
"""A private choice of kbar encloses so many odds at most: in a fifth of a second."""

_PROVED: dict[Accounting, str] = {
    "safe": "Durfee, Rogers 2019, Theorem 1, with ln(1 + δ) for each symbol",
    "paper": "Durfee, Rogers 2019, Theorem 1, as printed",
    "zcdp": "Durfee, Rogers 2019, Theorem 1, with ln(1 + δ) for each symbol and the zero-concentrated drift",
}


@dataclass(frozen=True)
class RowsOrPrivate(WholeNumber):
    """How many rows compete, or "private": a step of its own chooses it."""

    def read(self, value: Any, name: str, earlier: Mapping[str, Any]) -> Kbar:
        return "private" if is_private(value) else super().read(value, name, earlier)

    def python(self, value: Any) -> str:
        return '"private"' if is_private(value) else str(value)


def is_private(kbar: object) -> bool:
    return isinstance(kbar, str) and kbar == "private"


class TopK(Parameters):
    """Draw at most k of the kbar largest items, in order, against a bottom symbol that says "no more".

    Parameters
    ----------
    k : int, default 10
        The most items that come; an engine reads kbar + 1 rows and no list of bins.
    kbar : int or "private", default 50
        How many of the largest items compete; "private" has a step of its own choose it, out of k to `largest`.
    epsilon : str, int, float or Fraction, optional
        The price in the session's unit; step, round delta and delta' follow from it. Give `epsilon` or
        `epsilon_per_item`.
    delta : str, int, float or Fraction, default "1e-6"
        The delta of the price, in the session's unit.
    epsilon_per_item : str, int, float or Fraction, optional
        Instead of `epsilon`: the epsilon of one step under add-or-remove (a step costs twice that under replace-one).
        `delta` is then that of one round, and the price follows.
    delta_prime : str, int, float or Fraction, optional
        With `epsilon_per_item`: the part of delta that composition adds; nothing by default.
    domain_rule : {"positive", "strict", "paper"}, default "positive"
        "positive" (default): the rows with a count above 0 compete; "strict": those above the next count, valid
        whatever the order of equal counts; "paper": all kbar rows of a declared domain, empty bins included.
    ties : {"label", "unknown"}, default "label"
        "label": the engine orders equal counts by their label, which no unit can move; "unknown": it may not.
    accounting : {"safe", "paper", "zcdp"}, default "safe"
        "safe" (default, proved), "paper" (as printed; its proof has a gap) or "zcdp" (proved, smaller drift).
    largest : int, optional
        With kbar="private": kbar is chosen by a step of its own, out of k to `largest`; k - 1 items are left.

    Raises
    ------
    ParameterError
        If a parameter is outside its range, two contradict each other, or no proof covers them.

    Notes
    -----
    Each symbol is drawn with odds exp(rate * count), rate = step / max_per_bin. The bottom symbol has the odds m/delta
    at a count of next_count + gap: next_count is that of row kbar + 1, gap is max_per_bin, twice that under
    replace-one, and m is min(max_bins, kbar), with max_bins doubled under replace-one, or kbar where the rule is
    "strict", ties are unknown or max_bins is None. Where "paper" lists every bin there is no bottom symbol, and no
    delta is charged.

    **Privacy.** With step e (doubled under replace-one), round delta d and L = ln(1/delta'), k symbols cost (e' + k
    ln(1 + d), d + delta'), e' the least of k e, k e tanh(e/2) + e sqrt(2 k L) and k e^2/2 + e sqrt(k L/2). A private
    kbar is proved under add-or-remove; a replacement pays for two [1]_.

    **Error.** `error.rank`, `error.listed`: bounds that hold for all counts.

    References
    ----------
    .. [1] Durfee, Rogers 2019, Algorithms 1, 3, 5 and 6, Theorem 1 and Lemma 4.4. Lemma 5.6 behind the printed theorem
           is false, and ln(1 + d) is what its repair costs; Algorithm 6 as printed is not private, and the choice of
           kbar here has the sign turned.

    Examples
    --------
    >>> from dpviz.model.domain import Domain
    >>> question = Question.of(Domain.keys(column="dest"))
    >>> bound = TopK(k=10, kbar=50, epsilon="1").bind(question, Unit("aircraft", max_bins=5))
    >>> bound.price.sentence
    '(1, 0.000001)-differential privacy for adding or removing one aircraft'
    >>> bound.price.exact
    'Lemma 4.4 of 10 steps of 0.110270223 + 10 ln(1 + 0.0000005)'
    >>> bound.error.listed(Fraction(1, 20)).value, bound.error.rank(1, Fraction(1, 20)).value
    (Fraction(174, 1), Fraction(61, 1))
    """

    name: ClassVar[str] = "TopK"
    about: ClassVar[str] = "The largest items in order, known or not, until no more stand out."
    serves: ClassVar[tuple[Goal, ...]] = ("top",)
    delta_text: ClassVar[str] = "TopK needs δ: an item that one unit brings among the largest may show."
    names_items: ClassVar[bool] = True
    first_choice: ClassVar[int] = 3

    k: int = K
    kbar: Kbar = parameter(
        reads=RowsOrPrivate(most=MOST_ROWS),
        default=50,
        label="k̄, rows that compete (a number, or private)",
        always=True,
        in_bins=True,
    )
    epsilon: ExactOrNone = EPSILON_OR_PER_ITEM
    delta: Exact = DELTA
    _: KW_ONLY
    epsilon_per_item: ExactOrNone = EPSILON_PER_ITEM
    delta_prime: ExactOrNone = DELTA_PRIME
    domain_rule: DomainRule = RULE
    ties: Ties = ORDER
    accounting: Accounting = ACCOUNTING
    largest: int | None = parameter(
        reads=WholeNumber(least="k", most=MOST_OFFERED),
        default=None,
        optional=True,
        label="Largest private k̄ (public)",
    )

    def check_together(self, given: Mapping[str, Any]) -> None:
        check_price("TopK", self.name, given)
        if given["largest"] is not None and not is_private(given["kbar"]):
            raise ParameterError.of("largest", 'largest goes with kbar="private"', "leave it out")

    def check(self) -> None:
        if self.kbar != "private":
            check_rows(self.k, self.kbar)
        elif self.k < 2:
            raise ParameterError.of(
                self.k,
                'with kbar="private" one of the k steps chooses kbar, so k must be at least 2',
                "give k=2 or more",
            )
        elif self.largest is None:
            raise ParameterError.of(
                "no largest", 'kbar="private" needs a public limit', "give largest=, the most rows that may compete"
            )

    @property
    def private(self) -> bool:
        """Whether kbar is chosen by a step of its own."""
        return self.kbar == "private"

    @property
    def rows(self) -> int:
        """How many rows may compete: kbar, or the most that may be chosen."""
        return cast(int, self.largest if self.private else self.kbar)

    def bind(self, question: Question, unit: Unit) -> TopKBound:
        """Fix the domain rule, the step and the deltas.

        Parameters
        ----------
        question : Question
            Items that compete for an ordered list.
        unit : Unit
            The unit that is protected.

        Returns
        -------
        TopKBound
            Price, draw and error law of `TopK` for this question and unit.

        Raises
        ------
        ParameterError
            If `TopK` cannot answer the question for this unit. Only public facts are looked at.
        """
        question.check_counts(self.name)
        rule = rule_of(
            self.domain_rule, self.ties, self.rows, question, unit, direct=not self.private, always=self.private
        )
        bound = TopKBound(self, question, unit, rule, self._step_price(unit, rule))
        price = bound.price.loss
        if isinstance(price, PureDP | ApproxDP) and price.epsilon > LARGEST_EPSILON:
            raise ParameterError.of(
                text(price.epsilon),
                f"an answer costs an epsilon of at most {LARGEST_EPSILON:,}",
                "give a smaller k or epsilon_per_item",
            )
        return bound

    def _step_price(self, unit: Unit, rule: Rule) -> StepPrice:
        """The epsilon of a step under add-or-remove, and the deltas."""
        if self.epsilon_per_item is not None:
            return StepPrice(self.epsilon_per_item, self.delta, self.delta_prime or Fraction(0))
        assert self.epsilon is not None
        swapped = unit.relation == "replace-one"
        if not rule.bottom:
            return StepPrice(self.epsilon / (self.k * (1 + swapped)), Fraction(0), Fraction(0))
        if self.private and swapped:
            return calibrate(*halved(self.epsilon, self.delta), self.k, 1, self.accounting)
        return calibrate(self.epsilon, self.delta, self.k, 1, self.accounting, relation_factor=1 + swapped)


# ---------------------------------------------------------------- bound


@dataclass(frozen=True)
class TopKBound(LargestBound):
    """TopK, bound to a question and a unit.

    rule   who competes with the bottom symbol
    step_price  the epsilon of a step under add-or-remove, the delta of the round, and what composition adds
    """

    mechanism: TopK
    question: Question
    unit: Unit
    rule: Rule
    step_price: StepPrice

    shape: ClassVar[type[Answer]] = Ranked
    """Everything done with a released list is post-processing."""

    @property
    def rows(self) -> int:
        """How many of the largest counts are read."""
        return self.mechanism.rows

    @property
    def item_price(self) -> StepPrice:
        return self.step_price

    @property
    def max_items(self) -> int:
        """How many items come at most: a private choice of kbar is one of the k steps."""
        return self.mechanism.k - self.mechanism.private

    @property
    def rate(self) -> Fraction:
        """By how much one count more raises the logarithm of an item's odds."""
        return self.step_price.step / self.unit.max_per_bin

    @cached_property
    def price(self) -> Guarantee:
        made, step_price = self.mechanism, self.step_price
        swapped = self.unit.relation == "replace-one"
        factor = 2 if swapped and not made.private else 1
        k, step = made.k, factor * step_price.step
        if not self.rule.bottom:
            rule = "Durfee, Rogers 2019, Lemma 4.2 and Corollary 4.1: peeling of a domain that is known"
            loss = PureDP(k * step)
            return Guarantee(loss, self.unit, rule, requested=made.epsilon, zcdp_steps=RangeBounded(step, steps=k))
        exact = f"Lemma 4.4 of {k} steps of {text(step)}"
        exact += "" if made.accounting == "paper" else f" + {k} ln(1 + {text(step_price.delta)})"
        found = Guarantee(
            loss=total(
                step_price.step, step_price.delta, k, 1, step_price.delta_prime, made.accounting, relation_factor=factor
            ),
            unit=self.unit,
            rule=_PROVED[made.accounting],
            requested=made.epsilon,
            exact=exact,
            zcdp_steps=RangeBounded(step, step_price.delta, steps=k),
        )
        if made.private:
            found = converted(found, self.unit)
        return found if made.epsilon is None else replace(found, loss=ApproxDP(made.epsilon, made.delta))

    @property
    def cost(self) -> Cost:
        rows = self.mechanism.rows
        return Cost(steps=1, text=f"{rows + 1:,} rows, and one race of at most {counted(rows, 'item')}")

    @cached_property
    def law(self) -> PeelingLaw:
        rule, made, delta = self.rule, self.mechanism, self.step_price.delta
        odds = rule.m(made.rows) / delta if rule.bottom else None
        strict = rule.name == "strict"
        return PeelingLaw(self.max_items, made.rows, self.rate, rule.gap, odds, strict, made.private)

    @property
    def error(self) -> ErrorModel:
        return self.law.error

    @property
    def verb(self) -> str:
        items, rows = self.question.domain.items, self.mechanism.rows
        if not self.rule.bottom:
            return f"Lists {self.max_items:,} of all {rows:,} {items}, the most common first."
        if self.mechanism.private:
            return f"Chooses how many of the most common {items} compete, and lists up to {self.max_items:,} of them."
        which = f"up to {self.max_items:,} of the {rows:,} most common {items}"
        return f"Lists {which}, and says whether no more stand out."

    def check_source(self, rules: TopRules) -> None:
        """Refuse an engine whose order of equal counts the rule does not cover."""
        known_order(rules, self.mechanism.ties, self.mechanism.domain_rule)

    def draw(self, statistic: Statistic, bits: Bits, *, mode: Mode, tick: Tick | None = None) -> Ranked:
        """Draw the list. How many rows there are is private: no tick tells, and an empty table goes the same way."""
        rows = self.rule.rows(statistic, self.mechanism.rows)
        if tick is not None:
            tick(0, self.cost.steps)
        kbar = self.mechanism.rows
        if self.mechanism.private:
            offered = range(self.mechanism.k, self.mechanism.rows + 1)
            thresholds = [-rows.after(kbar) for kbar in offered]
            odds = [Fraction(1, self.rule.m(kbar)) for kbar in offered]
            kbar = offered[choose(thresholds, odds, self.rate, bits)]
        contest = self.rule.contest(rows, kbar, self.step_price.delta)
        drawn = rank(contest.counts, self.rate, self.max_items, bits, contest.bottom)
        return contest.ranked(drawn, kbar if self.mechanism.private else None)


protect_module(vars())
