"""Stability: noise on the bins that are not empty, shown where it exceeds a threshold."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar, Final, Literal, Self

import numpy as np
from numpy.typing import NDArray

from dpviz.boundary import protect_module
from dpviz.errors import ParameterError
from dpviz.exact import Decay, exp_bounds
from dpviz.laws import tables
from dpviz.laws.search import least
from dpviz.mechanisms.count_noise import (
    CAP,
    GAMMA,
    LAWS,
    SAMPLER,
    UNIFORM,
    BoundNoise,
    CountNoise,
    Sampler,
    check_law,
    check_limit,
)
from dpviz.mechanisms.cuts import compared, reach_for, steps_behind
from dpviz.mechanisms.gaussian import GAUSSIAN, GAUSSIAN_WORDS
from dpviz.mechanisms.moves import moved_keys, own_keys
from dpviz.model.answers import Answer, SparseTable
from dpviz.model.error import ErrorModel, ErrorValue
from dpviz.model.goals import Goal
from dpviz.model.laws.stability import StabilityLaw, TruncatedStabilityLaw
from dpviz.model.mechanism import Bound, Cost, Mode, Space
from dpviz.model.parameters import Epsilon, Exact, ExactOrNone, OneOf, Parameters, Probability, parameter
from dpviz.model.question import Question
from dpviz.model.source import Tick
from dpviz.model.statistic import Batch, SparseCounts, Statistic, StatisticKind, to_show
from dpviz.noise.bits import Bits
from dpviz.noise.truncated import truncated_geometric
from dpviz.privacy.guarantee import Guarantee
from dpviz.privacy.loss import ApproxDP, ApproxZCDP
from dpviz.privacy.unit import Unit
from dpviz.privacy.unknown_keys import Filled, shown_at_most

AnyBase = Literal["exp", "paper", "tight", "gaussian"]
Variant = Literal["repaired", "paper"]

PRECISION = 128

RULES: Final = {
    "truncated": "Desfontaines, Voss, Gipson, Mandayam 2020: noise truncated at the threshold, with the chance that a "
    "move of one unit leaves it",
    "repaired": "Balcer, Vadhan 2018, Theorem 5.5, with the chance that a bin is shown which one unit alone makes",
    "first": "Balcer, Vadhan 2018, Theorem 5.5, with the delta of one bin that appears",
    "paper": "Balcer, Vadhan 2018, Theorem 5.5 and Figure 4, as printed",
}
"""The proofs of a price, in words."""


class Stability(Parameters):
    """Add noise to every bin that is not empty, show the noisy counts above a threshold, and nothing else.

    Parameters
    ----------
    epsilon : str, int, float or Fraction
        The price in the session's unit.
    delta : str, int, float or Fraction
        The chance, in the session's unit, that a bin which exists because of one unit is shown.
    base : {"exp", "paper", "tight"}, default "exp"
        As for Dense; where gamma is left out it is at most delta/4, as the paper asks.
    sampler : {"auto", "geosample", "fastsample"}, default "auto"
        As for Dense.
    gamma : str, int, float or Fraction, optional
        As for Dense.
    cap : int, optional
        As for Dense.
    variant : {"repaired", "paper"}, default "repaired"
        "repaired" (default): the smallest threshold whose proved delta fits; "paper": the threshold of the paper's
        table, whose delta the paper proves as twice the chance that a count of 1 is shown.

    Raises
    ------
    ParameterError
        If a parameter is outside its range, or two contradict each other.

    Notes
    -----
    The bins may be unknown (`Domain.keys`): empty bins are never shown, so nobody has to list them.

    The noise is geometric, and truncated: drawn again where its size is above the threshold. The threshold is then
    lower for a user of many bins, nothing that is shown is off by more than it, and a count above twice the threshold
    is always shown. A cap lowers larger counts before the noise: of these neither is true. Finite samplers and the
    paper's variant do not truncate, nor is noise truncated where that would raise the threshold (rows that are
    replaced, at a large epsilon) or throw most of it away (delta above epsilon). Gaussian noise is not truncated.

    **Privacy.** Approximate DP. With tau the chance that a bin of max_per_bin rows is shown, a unit that moves m bins
    costs (epsilon, 1 - (1 - tau)^m) [1]_ [2]_: the chance that any bin that it moves leaves the range of its noise. A
    unit that is replaced moves twice the bins that it touches. Without truncation only bins that the unit alone makes
    count, and of a unit that is replaced those of one side (`privacy.unknown_keys`). The paper's variant costs a user
    of l1 rows in all (epsilon, tau (e^epsilon - 1)/(e^(epsilon/l1) - 1)), by group privacy. Gaussian noise shares one
    delta between bins that are new and bins that are common (`privacy.gaussian_keys`). A zCDP budget books the rho of
    the noise and the delta of the threshold: for a user of several bins far less than epsilon tanh(epsilon / 2).

    **Error.** Exact, in closed form, for every true count; an empty bin is never wrong.

    References
    ----------
    .. [1] Balcer, Vadhan 2018, Algorithm 5.4 and Theorem 5.5, with 2 tau sharpened to tau; Korolova et al. 2009.
    .. [2] Desfontaines, Voss, Gipson, Mandayam 2020, "Differentially private partition selection": truncated noise for
           one key of one record. For several keys and records it is derived here.

    Examples
    --------
    >>> from dpviz.model.domain import Domain
    >>> words = Question.of(Domain.keys(column="word"))
    >>> bound = Stability(epsilon="1/2", delta="1e-6").bind(words, Unit())
    >>> bound.threshold, bound.price.sentence
    (25, '(0.5, 0.000001)-differential privacy for adding or removing one row')
    """

    name: ClassVar[str] = "Stability"
    about: ClassVar[str] = "Shows only bins that are large enough. Any number of bins, known or not."
    serves: ClassVar[tuple[Goal, ...]] = ("bins", "top")
    delta_text: ClassVar[str] = "Stability needs δ: a bin that one unit alone makes may show."
    first_choice: ClassVar[int] = 4
    cuts: ClassVar[bool] = True
    revision: ClassVar[int] = 4

    epsilon: Exact = parameter(reads=Epsilon())
    delta: Exact = parameter(reads=Probability(), suggested="1e-6", label="δ")
    base: AnyBase = parameter(
        reads=OneOf(AnyBase), default="exp", label="Noise law", options={**LAWS, GAUSSIAN: GAUSSIAN_WORDS}
    )
    sampler: Sampler = SAMPLER
    gamma: ExactOrNone = UNIFORM
    cap: int | None = CAP
    variant: Variant = parameter(
        reads=OneOf(Variant),
        default="repaired",
        label="Threshold",
        options={"repaired": "least threshold that is proved", "paper": "the paper's table"},
    )

    def check_together(self, given: Mapping[str, Any]) -> None:
        check_law(self.base, self.sampler, given["gamma"])

    def check(self) -> None:
        if self.base == GAUSSIAN and self.variant == "paper":
            raise ParameterError.of('variant="paper"', "the paper has no Gaussian noise", "leave variant out")

    @property
    def noise(self) -> CountNoise:
        base: Any = self.base
        return CountNoise(self.epsilon, base, self.sampler, self.gamma, self.cap)

    def bind(self, question: Question, unit: Unit) -> OccupiedBound:
        """Fix the sensitivity, the law and the threshold.

        Parameters
        ----------
        question : Question
            Bins or keys, of which only noisy counts above the threshold are shown.
        unit : Unit
            The unit that is protected.

        Returns
        -------
        OccupiedBound
            Price, draw and error law of `Stability` for this question and unit.

        Raises
        ------
        ParameterError
            If `Stability` cannot answer the question for this unit. Only public facts are looked at.
        """
        question.check_counts(self.name)
        if self.base != GAUSSIAN:
            return self._bound(question, unit, first=False)
        from dpviz.mechanisms.gaussian_keys import GaussianStabilityBound, gaussian_cut

        limit = check_limit(unit.n if self.cap is None else self.cap)
        found = gaussian_cut(self.epsilon, self.delta, question, unit)
        return GaussianStabilityBound(self, question, unit, found, limit).check_reached()

    def bind_first(self, question: Question, unit: Unit) -> StabilityBound:
        """Bind as the first revision did, whose threshold for users rests on group privacy.

        Parameters
        ----------
        question : Question
            The question of a release of the first format.
        unit : Unit
            Its unit.

        Returns
        -------
        StabilityBound
            The law that the release was drawn from.

        Raises
        ------
        ParameterError
            If `Stability` could not answer the question for this unit.
        """
        return self._bound(question, unit, first=True)

    def _bound(self, question: Question, unit: Unit, *, first: bool) -> StabilityBound:
        question.check_counts(self.name)
        bins = question.bins if question.domain.declared else None
        noise = self.noise.bind(unit.l1(bins), unit.n)
        if noise.junk and self.gamma is None:
            junk = self.delta / (4 * _steps(unit, noise.l1, self.epsilon))
            if junk < GAMMA:
                noise = replace(self.noise, gamma=Fraction(1, math.ceil(1 / junk))).bind(noise.l1, unit.n)
        bound = StabilityBound(self, question, unit, noise, first)
        if self.variant == "paper" and not bound.keeps_as_printed(self.delta / 2):
            raise ParameterError.of(
                "gamma",
                "the paper's table needs a chance of a uniform count of at most δ/4",
                'leave gamma out, or use variant="repaired"',
            )
        return bound.check_reached()


@dataclass(frozen=True)
class OccupiedBound(Bound):
    """Stability, bound to a question and a unit, whatever the noise."""

    mechanism: Stability
    question: Question
    unit: Unit

    needs: ClassVar[StatisticKind] = StatisticKind.SPARSE
    shape: ClassVar[type[Answer]] = SparseTable

    @property
    def threshold(self) -> int:
        """Noisy counts strictly above this are shown."""
        raise NotImplementedError

    @property
    def limit(self) -> int | None:
        """The public top of a count, if there is one."""
        raise NotImplementedError

    @property
    def bins(self) -> int | None:
        """The number of bins, where they are declared."""
        return self.question.bins if self.question.domain.declared else None

    def _noisy(self, counts: NDArray[np.int64], bits: Bits, mode: Mode) -> NDArray[np.int64]:
        """Counts with noise, clamped to the public range."""
        raise NotImplementedError

    def check_reached(self) -> Self:
        """Refuse a threshold that no count can pass."""
        if self.limit is not None and self.threshold >= self.limit:
            raise ParameterError.of(
                f"threshold {self.threshold:,}",
                f"no count of at most {self.limit:,} would ever be shown",
                "allow a larger ε or δ",
            )
        return self

    @cached_property
    def space(self) -> Space:
        """Of one shown bin: how many will be shown depends on the data."""
        count = 64 if self.limit is None else self.limit.bit_length()
        if self.bins is None:
            return Space(bits=count, text=f"{count} and its label, for each bin that is shown")
        label = max(1, (self.bins - 1).bit_length())
        return Space(bits=count + label, text=f"{count} + {label}, for each bin that is shown")

    @property
    def cost(self) -> Cost:
        return Cost(steps=1, text="one draw for each bin that is not empty")

    @property
    def error(self) -> ErrorModel:
        return self.law.error

    @cached_property
    def thresholds(self) -> Mapping[str, Fraction]:
        """Of geometric and of Gaussian noise."""
        made = self.mechanism
        if made.base not in ("exp", GAUSSIAN) or made.variant == "paper":
            return {}
        return compared(made, self.question, self.unit, lambda bound: Fraction(bound.threshold + 1), self)

    def draw(self, statistic: Statistic, bits: Bits, *, mode: Mode, tick: Tick | None = None) -> SparseTable:
        """Draw for the bins that are not empty. How many these are is private: no tick tells.

        Each bin has noise of its own, so the law does not know in which order or in how many batches they come. Bins
        that do not pass are forgotten with their batch.
        """
        assert isinstance(statistic, SparseCounts)
        if tick is not None:
            tick(0, self.cost.steps)
        shown: list[Batch] = []

        def draw(batch: Batch) -> None:
            noisy = self._noisy(batch.counts, bits, mode)
            kept = noisy > self.threshold
            shown.append(batch.chosen(kept, noisy[kept]))

        statistic.each(draw)
        if not shown:
            return SparseTable((), np.zeros(0, dtype=np.int64))
        return SparseTable(*to_show(shown))


@dataclass(frozen=True)
class StabilityBound(OccupiedBound):
    """Stability with geometric noise, bound to a question and a unit.

    first  whether the threshold is that of the first revision, by group privacy
    """

    noise: BoundNoise
    first: bool = False

    @property
    def limit(self) -> int | None:
        return self.noise.limit

    @property
    def decay(self) -> Decay:
        return self.noise.decay

    @cached_property
    def threshold(self) -> int:
        """Noisy counts strictly above this are shown."""
        return self.whole_threshold if self.reach is None else self.reach

    @cached_property
    def reach(self) -> int | None:
        """The largest noise, and the threshold, where noise is truncated at it; None where that is no better."""
        if self.first or self.mechanism.variant == "paper" or self.noise.finite is not None:
            return None
        rate = self.mechanism.epsilon / self.noise.l1
        return reach_for(rate, self.mechanism.delta, moved_keys(self.question, self.unit), self.filled)

    @cached_property
    def whole_threshold(self) -> int:
        """The threshold for noise that is not truncated."""
        if self.mechanism.variant == "paper":
            return self._paper_threshold()
        delta, many = self.mechanism.delta, max(sum(many for _, many in way) for way in self.filled)
        near = self.unit.max_per_bin + self.noise.law.within(delta / many)
        return least(lambda b: self.keeps(b, delta), near=near)

    @cached_property
    def filled(self) -> tuple[Filled, ...]:
        """The bins that one unit alone makes. A uniform count is no geometric noise, so all of them are full then."""
        return own_keys(self.question, self.unit, apart=not self.noise.junk)

    def keeps(self, b: int, delta: Fraction) -> bool:
        """Whether one unit's bins are shown above b with a chance of at most delta."""
        law = self.noise.law
        if self.first:
            return shown_at_most((((1, 1),),), lambda _, precision: law.above(1, b, precision), delta / self.steps)
        return shown_at_most(self.filled, lambda count, precision: law.above(count, b, precision), delta)

    @cached_property
    def steps(self) -> Fraction:
        """By how much group privacy lets one unit's delta exceed the chance of one bin, from above: 1 for a row. For
        the paper's variant, and the first revision."""
        return _steps(self.unit, self.noise.l1, self.noise.paid)

    def keeps_as_printed(self, delta: Fraction) -> bool:
        """Whether the paper's threshold costs one unit at most delta, by group privacy."""
        return self.noise.law.above(1, self.threshold, PRECISION)[1] * self.steps <= delta

    def _paper_threshold(self) -> int:
        """The table's threshold (Figure 4) at the paper's epsilon and delta."""
        epsilon = 2 * self.mechanism.epsilon / self.noise.l1
        column: tables.Column = "geometric"
        if self.noise.finite is not None:
            epsilon, column = self.noise.paper_epsilon, self.noise.finite.kind
        return tables.stability_threshold(epsilon, self.mechanism.delta / self.steps, column=column)

    @cached_property
    def price(self) -> Guarantee:
        first = self.first and self.mechanism.variant == "repaired"
        rule = RULES["truncated" if self.reach is not None else "first" if first else self.mechanism.variant]
        loss = ApproxDP(self.noise.paid, self.mechanism.delta)
        return Guarantee(loss, self.unit, rule, self.mechanism.epsilon, self.noise.exact, self._steps)

    @property
    def _steps(self) -> ApproxZCDP | None:
        """The steps that a zCDP budget books, where the law of the noise says more than the price."""
        if self.first or self.mechanism.variant == "paper" or self.noise.finite is not None:
            return None
        moved, rate = moved_keys(self.question, self.unit), self.mechanism.epsilon / self.noise.l1
        return steps_behind(moved, rate, self.mechanism.delta, truncated=self.reach is not None)

    @cached_property
    def law(self) -> StabilityLaw:
        kind = StabilityLaw if self.reach is None else TruncatedStabilityLaw
        return kind(self.noise.law, self.threshold, self.bins, self.unit.n)

    @property
    def always_above(self) -> int | None:
        """Counts above this are always shown; None where none is: a public limit lowers them before the noise."""
        limit = self.noise.limit
        return None if self.reach is None or (limit is not None and limit <= 2 * self.reach) else 2 * self.reach

    @property
    def verb(self) -> str:
        size = "" if self.reach is None else f" of at most {self.reach:,}"
        always = f", those of more than {self.always_above:,} always" if self.always_above is not None else ""
        return f"Adds noise{size} to the counts that are not 0 and shows those above {self.threshold:,}{always}."

    @property
    def notes(self) -> Sequence[tuple[str, dict[str, Any]]]:
        """The paper's threshold beside ours."""
        table = ErrorValue(Fraction(self._paper_threshold()), "bound", "Balcer, Vadhan 2018, Figure 4")
        own = ErrorValue(Fraction(self.threshold), "exact", "the least threshold whose delta fits")
        return [("Threshold of the table", table.to_json()), ("Threshold in force", own.to_json())]

    def modes(self) -> tuple[Mode, ...]:
        return self.noise.modes()

    def _noisy(self, counts: NDArray[np.int64], bits: Bits, mode: Mode) -> NDArray[np.int64]:
        if self.reach is None:
            return self.noise.add(counts, bits, mode, low=0, high=self.noise.limit)
        return truncated_geometric(self.decay, self.reach).add(counts, 0, self.noise.limit, bits)


def _steps(unit: Unit, l1: int, epsilon: Fraction) -> Fraction:
    """1 for a row; for a user of l1 rows the sum of exp(i epsilon / l1) over 0 <= i < l1, from above."""
    if unit.is_row:
        return Fraction(1)
    precision = PRECISION + int(l1 / epsilon + 1).bit_length()  # so much is lost where 1 is taken away
    return (exp_bounds(epsilon, precision)[1] - 1) / (exp_bounds(epsilon / l1, precision)[0] - 1)


protect_module(vars())
