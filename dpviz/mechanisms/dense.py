"""Dense: noise on every bin of a public domain."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from dpviz.boundary import protect_module
from dpviz.errors import ParameterError
from dpviz.exact import Decay, text
from dpviz.laws import tables
from dpviz.mechanisms.count_noise import (
    CAP,
    LAW,
    SAMPLER,
    UNIFORM,
    Base,
    BoundNoise,
    CountNoise,
    Sampler,
    check_law,
)
from dpviz.model.answers import Answer, Table
from dpviz.model.error import ErrorModel, ErrorValue
from dpviz.model.laws.count_noise import FiniteLaw
from dpviz.model.laws.dense import DenseLaw
from dpviz.model.mechanism import Bound, Cost, Mode, Space
from dpviz.model.parameters import Epsilon, Exact, ExactOrNone, Parameters, Switch, parameter
from dpviz.model.question import Question
from dpviz.model.source import Tick
from dpviz.model.statistic import DenseCounts, Statistic, StatisticKind
from dpviz.noise.bits import Bits
from dpviz.privacy.guarantee import Guarantee
from dpviz.privacy.loss import PureDP
from dpviz.privacy.unit import Unit

STORED_BITS = 64
"""What one count takes to store where no public cap bounds it."""

MOST_BINS = 10_000_000
"""Above this many bins a dense answer would not fit in memory; sparse mechanisms answer such domains."""


class Dense(Parameters):
    """Add independent integer noise to every bin, then clamp to the public range.

    epsilon  the price in the session's unit
    base     "exp": ratio exp(-epsilon / l1), so the price is exactly epsilon; "paper" and "tight": the finite-computer
             laws with a rational ratio q/p, which pay l1 ln(p/q) <= epsilon
    sampler  for rational bases: "geosample", "fastsample", or "auto" (GeoSample unless FastSample needs fewer bits)
    gamma    for FastSample: the chance that one count is replaced by a uniform one; 1/gamma is a whole number
    cap      a public bound on every count; required by rational bases where the unit has no public n
    clamp    False leaves the noise as it is: unbiased, negative values possible

    Privacy: pure DP. One unit moves the counts by at most l1 (`Unit.l1`) in L1, and one step of one count changes
             the law by a ratio of at most 1/decay. Clamping is post-processing.
    Error:   exact, from the law of the noise; the same for every count but near the clamp, where it is smaller.
    Source:  Balcer, Vadhan 2018, Algorithms 4.8 (GeoSample), 4.11 (FastSample), 5.1 (BasicHistogram), Theorem 5.2;
             for base="exp" Ghosh, Roughgarden, Sundararajan 2009 (two-sided geometric).

    >>> from dpviz.model.domain import Domain
    >>> bins = Question.of(Domain.integers(0, 40, column="visits", overflow=True))
    >>> Dense(epsilon="1/2").bind(bins, Unit(noun="person-year")).price.sentence
    '0.5-differential privacy for adding or removing one person-year'
    """

    name: ClassVar[str] = "Dense"
    about: ClassVar[str] = "Noise on every bin. Best below about 10,000 bins."
    delta_text: ClassVar[str] = "Dense is pure: no δ."
    first_choice: ClassVar[int] = 1

    epsilon: Exact = parameter(reads=Epsilon())
    base: Base = LAW
    sampler: Sampler = SAMPLER
    gamma: ExactOrNone = UNIFORM
    cap: int | None = CAP
    clamp: bool = parameter(
        reads=Switch(),
        default=True,
        label="Clamp to the range",
        options={"true": "yes", "false": "no: unbiased"},
    )

    def check_together(self, given: Mapping[str, Any]) -> None:
        check_law(self.base, self.sampler, given["gamma"])

    def check(self) -> None:
        if self.base != "exp" and not self.clamp:
            raise ParameterError.of("clamp=False", "the finite samplers clamp by construction", 'use base="exp"')

    @property
    def noise(self) -> CountNoise:
        """The noise on each count."""
        return CountNoise(self.epsilon, self.base, self.sampler, self.gamma, self.cap)

    def bind(self, question: Question, unit: Unit) -> DenseBound:
        """Fix sensitivity, noise law and clamp. Raises ParameterError on public facts only."""
        question.check_counts(self.name)
        if question.bins > MOST_BINS:
            raise ParameterError.of(
                f"{question.bins:,} bins", f"Dense answers at most {MOST_BINS:,} bins", "declare fewer, wider bins"
            )
        return DenseBound(self, question, unit, self.noise.bind(unit.l1(question.bins), unit.n))


@dataclass(frozen=True)
class DenseBound(Bound):
    """Dense, bound to a question and a unit."""

    mechanism: Dense
    question: Question
    unit: Unit
    noise: BoundNoise

    needs: ClassVar[StatisticKind] = StatisticKind.DENSE
    shape: ClassVar[type[Answer]] = Table

    @property
    def l1(self) -> int:
        return self.noise.l1

    @property
    def decay(self) -> Decay:
        return self.noise.decay

    @property
    def finite(self) -> FiniteLaw | None:
        return self.noise.finite

    @property
    def limit(self) -> int | None:
        """The public top of the clamp, if there is one."""
        return self.noise.limit if self.mechanism.clamp else None

    @cached_property
    def price(self) -> Guarantee:
        rule = (
            "two-sided geometric noise, Ghosh, Roughgarden, Sundararajan 2009"
            if self.finite is None
            else "Balcer, Vadhan 2018, Theorem 5.2, at the ratio in force"
        )
        loss = PureDP(self.noise.paid)
        return Guarantee(loss, self.unit, rule, requested=self.mechanism.epsilon, exact=self.noise.exact)

    @cached_property
    def space(self) -> Space:
        each = STORED_BITS if self.limit is None else self.limit.bit_length()
        return Space(bits=self.question.bins * each, text=f"{self.question.bins:,} × {each}")

    @cached_property
    def cost(self) -> Cost:
        bins = self.question.bins
        return Cost(steps=bins, text=f"{bins:,} draws", slow=bins > 1_000_000)

    @cached_property
    def law(self) -> DenseLaw:
        return DenseLaw(self.noise.law, self.mechanism.clamp, self.question.bins, self.unit.n)

    @property
    def error(self) -> ErrorModel:
        return self.law.error

    @property
    def verb(self) -> str:
        return f"Adds noise to {self.question.bins:,} counts and shows them."

    @property
    def notes(self) -> Sequence[tuple[str, dict[str, Any]]]:
        """The paper's table bounds (Figure 3), which the exact quantiles undercut."""
        epsilon = 2 * self.mechanism.epsilon / self.l1 if self.finite is None else self.noise.paper_epsilon
        column = "geometric" if self.finite is None else self.finite.kind
        shown = []
        for label, bins in (("one bin", 1), (f"all {self.question.bins:,} bins", self.question.bins)):
            for beta in BETAS:
                value = tables.basic(epsilon, beta, bins=bins, column=column)
                bound = ErrorValue(Fraction(value), "bound", "Balcer, Vadhan 2018, Figure 3")
                shown.append((f"Table bound, {label}", {**bound.to_json(), "beta": text(beta)}))
        return shown

    def modes(self) -> tuple[Mode, ...]:
        return self.noise.modes()

    def draw(self, statistic: Statistic, bits: Bits, *, mode: Mode, tick: Tick | None = None) -> Table:
        """Add noise to every bin. Counts outside the public range are clamped first, in silence."""
        assert isinstance(statistic, DenseCounts)
        return Table(self._add(statistic.take(), bits, mode, tick))

    def _add(self, counts: NDArray[np.int64], bits: Bits, mode: Mode, tick: Tick | None) -> NDArray[np.int64]:
        low, high = self.clamp
        return self.noise.add(counts, bits, mode, tick, low=low, high=high)


BETAS = (Fraction(1, 10), Fraction(1, 20), Fraction(1, 100))
"""The levels that plans and pictures offer: 90, 95 and 99 in 100."""


protect_module(vars())
