"""Threshold: noise on a sparse vector, shown where it reaches a threshold; pure on declared bins, or with a delta."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from dpviz.boundary import protect_module
from dpviz.errors import ParameterError
from dpviz.exact import Decay
from dpviz.mechanisms.count_noise import LAWS
from dpviz.mechanisms.cuts import DELTA, PureOrNot, compared, cut_for, cut_through, loss_of, steps_behind, truncated_cut
from dpviz.mechanisms.gaussian import GAUSSIAN, GAUSSIAN_WORDS
from dpviz.mechanisms.moves import Moves, moved_keys
from dpviz.model.answers import Answer, SparseTable
from dpviz.model.error import ErrorModel
from dpviz.model.goals import Goal
from dpviz.model.laws.threshold import Cut, ThresholdLaw, TruncatedThresholdLaw
from dpviz.model.mechanism import Bound, Cost, Mode, Space
from dpviz.model.parameters import Epsilon, Exact, ExactOrNone, OneOf, parameter
from dpviz.model.question import Question
from dpviz.model.source import Tick
from dpviz.model.statistic import SparseCounts, Statistic, StatisticKind
from dpviz.model.words import shown
from dpviz.noise.bits import Bits
from dpviz.noise.geometric import check_scale
from dpviz.noise.truncated import truncated_geometric
from dpviz.privacy.guarantee import Guarantee
from dpviz.privacy.loss import ApproxZCDP
from dpviz.privacy.unit import Unit

TRUNCATED = ", with noise truncated at the threshold and the chance that one unit's move leaves it"
"""The part of a rule that says so."""

VALUE = 64
"""The bits of a value that is shown."""


Noise = Literal["exp", "gaussian"]


class Threshold(PureOrNot):
    """Add noise to a sparse vector of counts or sums, and show the values that reach a threshold.

    Parameters
    ----------
    epsilon : str, int, float or Fraction
        The price in the session's unit.
    delta : str, int, float or Fraction, optional
        The chance, in the session's unit, that a bin which exists because of one unit is shown. Without a delta, every
        bin of the domain gets noise, empty ones too, and the price is pure; the bins must then be declared.
    base : {"exp", "gaussian"}, default "exp"
        "gaussian" needs a delta and values that are not below 0, and has the lower threshold for a user of about three
        bins or more.

    Raises
    ------
    ParameterError
        If a parameter is outside its range, or two contradict each other.

    Notes
    -----
    Values are whole steps: rows, or the steps of a sum. Without a delta the threshold is the least one that all empty
    bins together pass with a chance of 1/(2 d), d the number of bins; it is for accuracy alone. With a delta it is the
    least one whose delta fits, and empty bins are never shown.

    With a delta, noise is truncated where no value is below 0, as under Stability: it is smaller than the threshold.

    **Privacy.** Pure DP without a delta: noise on every bin. With one (epsilon, delta): a bin that holds nothing but w
    steps of one unit is shown with chance tau = P[noise >= t - w], and a unit that moves m bins costs 1 - (1 - tau)^m
    (`privacy.unknown_keys`). m is twice the number of bins of a unit that is replaced; without truncation, where no
    value is below 0, it is not doubled [1]_. Gaussian noise shares one delta between bins that are new and bins that
    are common (`privacy.gaussian_keys`).

    **Error.** Exact, in closed form, for one sign of values; an empty bin is off only where it is shown.

    References
    ----------
    .. [1] Aumüller, Lebeda, Pagh 2022, Algorithms 6 and 9 (Cormode, Procopiuc, Srivastava, Tran 2012; Korolova et al.
           2009), with geometric noise on whole steps. Algorithm 9 rounds values below 1 at random because a unit may
           move any number of bins by fractions; here it moves a known number of bins by whole steps.

    Examples
    --------
    >>> from dpviz.model.domain import Domain
    >>> keys = Question.of(Domain.integers(0, 2**32 - 1, column="key"))
    >>> bound = Threshold(epsilon=1).bind(keys, Unit())
    >>> bound.cut.least, bound.price.sentence
    (45, '1-differential privacy for adding or removing one row')
    """

    name: ClassVar[str] = "Threshold"
    about: ClassVar[str] = "Shows what reaches a threshold: counts or sums over a huge domain. Pure, or with a δ."
    serves: ClassVar[tuple[Goal, ...]] = ("bins", "look-ups")
    delta_text: ClassVar[str] = "Without δ every bin gets noise, empty ones too; with δ unknown keys can be asked."

    cuts: ClassVar[bool] = True
    moved_revision: ClassVar[int] = 4

    epsilon: Exact = parameter(reads=Epsilon())
    delta: ExactOrNone = DELTA
    base: Noise = parameter(
        reads=OneOf(Noise),
        default="exp",
        label="Noise law",
        options={"exp": LAWS["exp"], GAUSSIAN: GAUSSIAN_WORDS},
        later=True,
    )

    def check(self) -> None:
        if self.base == GAUSSIAN and self.delta is None:
            raise ParameterError.of(
                "no delta", 'base="gaussian" needs delta, which is part of its price', 'write delta="1e-6"'
            )

    def bind(self, question: Question, unit: Unit) -> ValuesBound:
        """Fix the noise and the threshold.

        Parameters
        ----------
        question : Question
            Keys whose noisy values are shown above the threshold.
        unit : Unit
            The unit that is protected.

        Returns
        -------
        ValuesBound
            Price, draw and error law of `Threshold` for this question and unit.

        Raises
        ------
        ParameterError
            If `Threshold` cannot answer the question for this unit. Only public facts are looked at.
        """
        question.check_adds(self.name)
        moves = Moves.of(question, unit)
        if self.base == GAUSSIAN:
            return self._gaussian(question, unit)
        check_scale(Decay.exp(self.epsilon / moves.l1))
        truncated = truncated_cut(self.epsilon / moves.l1, self.delta, question, unit)
        cut = truncated or cut_for(self.name, self.epsilon, self.delta, question, unit, moves)
        return ThresholdBound(self, question, unit, cut, truncated is not None)

    def _gaussian(self, question: Question, unit: Unit) -> ValuesBound:
        from dpviz.mechanisms.gaussian_keys import GaussianThresholdBound, gaussian_cut

        assert self.delta is not None
        if question.aggregate.signed:
            raise ParameterError.of(
                question.text,
                "Gaussian noise behind a threshold is for values that are not below 0",
                'use base="exp", or sum a column whose low is 0',
            )
        return GaussianThresholdBound(self, question, unit, gaussian_cut(self.epsilon, self.delta, question, unit))


@dataclass(frozen=True)
class ValuesBound(Bound):
    """Threshold, bound to a question and a unit, whatever the noise."""

    mechanism: Threshold
    question: Question
    unit: Unit

    needs: ClassVar[StatisticKind] = StatisticKind.SPARSE
    shape: ClassVar[type[Answer]] = SparseTable

    @property
    def bins(self) -> int | None:
        """The number of bins, where they are declared."""
        return self.question.bins if self.question.domain.declared else None

    @cached_property
    def space(self) -> Space:
        """Of one shown bin: how many will be shown depends on the data."""
        if self.bins is None:
            return Space(bits=VALUE, text=f"{VALUE} and its label, for each bin that is shown")
        label = max(1, (self.bins - 1).bit_length())
        return Space(bits=VALUE + label, text=f"{VALUE} + {label}, for each bin that is shown")

    @property
    def cost(self) -> Cost:
        return Cost(steps=1, text="one draw for each bin that is not empty")

    @property
    def error(self) -> ErrorModel:
        return self.law.error

    @property
    def least(self) -> int:
        """A noisy value is shown where it is at least this, in whole steps."""
        raise NotImplementedError

    @cached_property
    def thresholds(self) -> Mapping[str, Fraction]:
        """Of geometric and of Gaussian noise."""
        if self.mechanism.delta is None or self.question.aggregate.signed:
            return {}
        step = self.question.aggregate.step
        return compared(self.mechanism, self.question, self.unit, lambda bound: bound.least * step, self)

    def cut_through(
        self, labels: NDArray[Any], values: NDArray[np.int64], bits: Bits
    ) -> tuple[NDArray[Any], NDArray[np.int64]]:
        """The labels and noisy values that are shown."""
        raise NotImplementedError

    def draw(self, statistic: Statistic, bits: Bits, *, mode: Mode, tick: Tick | None = None) -> SparseTable:
        """Draw what is shown. How many bins are occupied is private: no tick tells."""
        assert isinstance(statistic, SparseCounts)
        labels, values = statistic.take()
        if tick is not None:
            tick(0, self.cost.steps)
        shown, kept = self.cut_through(labels, values, bits)
        return SparseTable(tuple(shown.tolist()), kept)


@dataclass(frozen=True)
class ThresholdBound(ValuesBound):
    """Threshold with geometric noise, bound to a question and a unit.

    truncated  whether the noise is smaller than the threshold in size
    """

    cut: Cut
    truncated: bool = False

    @property
    def least(self) -> int:
        return self.cut.least

    @cached_property
    def price(self) -> Guarantee:
        epsilon, delta = self.mechanism.epsilon, self.mechanism.delta
        algorithm = "Algorithm 6" if delta is None else "Algorithm 9, on whole steps"
        rule = f"Aumüller, Lebeda, Pagh 2022, {algorithm}{TRUNCATED if self.truncated else ''}"
        return Guarantee(loss_of(epsilon, delta), self.unit, rule, requested=epsilon, zcdp_steps=self._steps)

    @property
    def _steps(self) -> ApproxZCDP | None:
        """The steps that a zCDP budget books, where the law of the noise says more than the price."""
        if self.mechanism.delta is None or self.cut.signed:
            return None
        moved = moved_keys(self.question, self.unit)
        return steps_behind(moved, self.cut.exponent, self.mechanism.delta, truncated=self.truncated)

    @cached_property
    def law(self) -> ThresholdLaw:
        kind = TruncatedThresholdLaw if self.truncated else ThresholdLaw
        return kind(self.cut, self.question.aggregate.step, self.bins)

    @property
    def verb(self) -> str:
        least = shown(self.cut.least * self.question.aggregate.step)
        which = "every bin, empty ones too," if self.cut.certain else "the bins that are not empty"
        size = f"{least} or more{', in either direction' if self.cut.signed else ''}"
        return f"Adds noise to {which} and shows those that come to {size}."

    def cut_through(
        self, labels: NDArray[Any], values: NDArray[np.int64], bits: Bits
    ) -> tuple[NDArray[Any], NDArray[np.int64]]:
        sampler = truncated_geometric(self.cut.decay, self.cut.least - 1) if self.truncated else None
        return cut_through(self.cut, labels, values, self.bins, bits, sampler)


protect_module(vars())
