"""TopKLaplace: the largest items in order, with noisy counts, for units that touch few bins."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from dpviz.boundary import protect_module
from dpviz.errors import ParameterError
from dpviz.exact import Decay, text
from dpviz.mechanisms.ranked import (
    DELTA,
    EPSILON,
    KBAR,
    DomainRule,
    K,
    LargestBound,
    Rule,
    check_rows,
    halved,
    rule_of,
)
from dpviz.model.answers import Answer, Ranked
from dpviz.model.error import ErrorModel
from dpviz.model.goals import Goal
from dpviz.model.laws.ranking import NoisyListLaw
from dpviz.model.mechanism import Cost, Mode
from dpviz.model.parameters import Exact, OneOf, Parameters, parameter
from dpviz.model.question import Question
from dpviz.model.source import Tick, TopRules
from dpviz.model.statistic import Statistic
from dpviz.noise.bits import Bits
from dpviz.noise.geometric import check_scale, two_sided_geometric
from dpviz.noise.table import LIMIT
from dpviz.privacy.guarantee import Guarantee
from dpviz.privacy.loss import ApproxDP
from dpviz.privacy.threshold import laplace_offset
from dpviz.privacy.unit import Unit

COUNT_BITS = 64
"""The storage of one noisy count: nothing public bounds it."""


class TopKLaplace(Parameters):
    """Add integer noise to the kbar largest counts and to a threshold; list items above it, with their noisy counts.

    Parameters
    ----------
    k : int, default 10
        The most items that come, out of the kbar largest; an engine reads kbar + 1 rows.
    kbar : int, default 50
        How many of the largest items compete.
    epsilon : str, int, float or Fraction
        The price in the session's unit.
    delta : str, int, float or Fraction, default "1e-6"
        The delta of the price, in the session's unit.
    domain_rule : {"positive", "strict", "paper"}, default "positive"
        "positive" (default): the rows with a count above 0; "paper": all kbar rows of a declared domain, empty bins
        included.

    Raises
    ------
    ParameterError
        If a parameter is outside its range; when bound, if `max_bins` of the unit has no limit or exceeds kbar.

    Notes
    -----
    The noise is discrete Laplace with Pr[Z = z] proportional to exp(-rate |z|), rate = epsilon / (max_bins *
    max_per_bin). The threshold is next_count + max_per_bin + t, with noise as well: an item comes if its noisy count is
    above it. t is the least that delta allows. Order is by noisy count, then by label.

    **Privacy.** With D = max_bins, (epsilon, (e^epsilon + 1) D Pr[Z - Z' > t]) for adding or removing a unit, the noisy
    counts of listed items included; a replacement pays for two. Needs D <= kbar and an engine that orders equal counts
    by label. Each answer is charged in full: k does not matter [1]_.

    **Error.** Exact for the noise on one count; the counts of listed items are biased upward, for they were selected.

    References
    ----------
    .. [1] Durfee, Rogers 2019, Algorithm 4 and Lemma 6.1, in whole numbers.

    Examples
    --------
    >>> from dpviz.model.domain import Domain
    >>> question = Question.of(Domain.keys(column="dest"))
    >>> bound = TopKLaplace(k=10, kbar=50, epsilon="1").bind(question, Unit("aircraft", max_bins=2))
    >>> bound.price.sentence, bound.offset, bound.error.shown(Fraction(1, 20)).value
    ('(1, 0.000001)-differential privacy for adding or removing one aircraft', 35, Fraction(6, 1))
    """

    name: ClassVar[str] = "TopKLaplace"
    about: ClassVar[str] = "The largest items with noisy counts, where a unit touches few bins."
    serves: ClassVar[tuple[Goal, ...]] = ("top",)
    delta_text: ClassVar[str] = "TopKLaplace needs δ: an item that one unit brings among the largest may show."
    names_items: ClassVar[bool] = True

    k: int = K
    kbar: int = parameter(reads=KBAR, default=50, label="k̄, rows that compete", always=True, in_bins=True)
    epsilon: Exact = EPSILON
    delta: Exact = DELTA
    _: KW_ONLY
    domain_rule: DomainRule = parameter(
        reads=OneOf(DomainRule),
        default="positive",
        label="Who competes",
        options={"positive": "rows above 0", "paper": "all rows, empty bins included"},
    )

    def check_together(self, given: Mapping[str, Any]) -> None:
        if self.domain_rule == "strict":
            raise ParameterError.of(
                self.domain_rule,
                "TopKLaplace is not private on the strict domain: one unit may bring kbar equal counts in together",
                'use domain_rule="positive", or TopK',
            )

    def check(self) -> None:
        check_rows(self.k, self.kbar)

    def bind(self, question: Question, unit: Unit) -> TopKLaplaceBound:
        """Fix the noise and the threshold.

        Parameters
        ----------
        question : Question
            Items that compete for a list with counts.
        unit : Unit
            The unit that is protected.

        Returns
        -------
        TopKLaplaceBound
            Price, draw and error law of `TopKLaplace` for this question and unit.

        Raises
        ------
        ParameterError
            If `TopKLaplace` cannot answer the question for this unit. Only public facts are looked at.
        """
        question.check_counts(self.name)
        touched = unit.max_bins
        if touched is None or touched > self.kbar:
            raise ParameterError.of(
                f"max_bins={touched}",
                f"TopKLaplace needs a unit that touches at most kbar = {self.kbar} bins",
                "use TopK, which takes any number",
            )
        rule = rule_of(self.domain_rule, "label", self.kbar, question, unit, direct=False, always=True)
        epsilon, delta = (
            (self.epsilon, self.delta) if unit.relation == "add-remove" else halved(self.epsilon, self.delta)
        )
        check_scale(Decay.exp(epsilon / (touched * rule.gap)))
        offset = laplace_offset(touched, epsilon / touched, delta, per_bin=rule.gap)
        return TopKLaplaceBound(self, question, unit, rule, touched, epsilon / touched, offset)


@dataclass(frozen=True)
class TopKLaplaceBound(LargestBound):
    """TopKLaplace, bound to a question and a unit.

    rule     who competes, and by how much one unit moves one count
    touched  how many bins one unit may touch
    step     the epsilon of one of them, under add-or-remove
    offset   t: how much further the threshold stands above the next count
    """

    mechanism: TopKLaplace
    question: Question
    unit: Unit
    rule: Rule
    touched: int
    step: Fraction
    offset: int

    shape: ClassVar[type[Answer]] = Ranked
    value_bits: ClassVar[int] = COUNT_BITS

    @property
    def rows(self) -> int:
        """How many of the largest counts are read."""
        return self.mechanism.kbar

    @property
    def rate(self) -> Fraction:
        """The noise has Pr[Z = z] proportional to exp(-rate |z|)."""
        return self.step / self.rule.gap

    @property
    def decay(self) -> Decay:
        return Decay.exp(self.rate)

    @cached_property
    def price(self) -> Guarantee:
        rule = "Durfee, Rogers 2019, Algorithm 4 and Lemma 6.1, for integer noise"
        epsilon = text(self.touched * self.step)
        exact = f"{epsilon} and δ = (e^{epsilon} + 1) {self.touched} P[Z - Z' > {self.offset}]"
        if self.unit.relation == "replace-one":
            rule += "; one replacement is a removal and an addition (group privacy, size 2)"
            exact = f"group of two of {exact}"
        loss = ApproxDP(self.mechanism.epsilon, self.mechanism.delta)
        return Guarantee(loss, self.unit, rule, requested=self.mechanism.epsilon, exact=exact)

    @property
    def cost(self) -> Cost:
        rows = self.mechanism.kbar
        return Cost(steps=1, text=f"{rows + 1:,} rows, and at most as many draws")

    @cached_property
    def law(self) -> NoisyListLaw:
        return NoisyListLaw(self.max_items, self.mechanism.kbar, self.rate, self.rule.gap, self.offset)

    @property
    def error(self) -> ErrorModel:
        return self.law.error

    @property
    def verb(self) -> str:
        items, rows = self.question.domain.items, self.mechanism.kbar
        noisy = f"Adds noise to the counts of the {rows:,} most common {items}"
        return f"{noisy}, and lists up to {self.max_items:,} that stand out."

    def check_source(self, rules: TopRules) -> None:
        """Refuse an engine that does not order equal counts by label."""
        if rules.ties != "label":
            raise ParameterError.of(
                "ties unknown",
                "TopKLaplace needs an engine that orders equal counts by their label",
                'use TopK with ties="unknown"',
            )

    def draw(self, statistic: Statistic, bits: Bits, *, mode: Mode, tick: Tick | None = None) -> Ranked:
        """Draw the list. How many rows there are is private: no tick tells, and an empty table goes the same way."""
        rows = self.rule.rows(statistic, self.mechanism.kbar)
        if tick is not None:
            tick(0, self.cost.steps)
        above_next = self.rule.gap + self.offset
        highest = LIMIT - above_next  # counts beyond it are moved there, so that the threshold keeps its distance
        exact = np.append(np.minimum(rows.counts, highest), min(rows.next_count, highest) + above_next)
        noisy = two_sided_geometric(self.decay).add(exact, None, None, bits)
        *values, bottom = noisy.tolist()
        above = sorted((-value, item) for item, value in zip(rows.items, values, strict=True) if value > bottom)
        listed = above[: self.max_items]
        items, shown = tuple(item for _, item in listed), tuple(-value for value, _ in listed)
        return Ranked(items, len(listed) < self.max_items, shown)


protect_module(vars())
