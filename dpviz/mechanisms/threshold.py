"""Threshold: noise on a sparse vector, shown where it reaches a threshold; pure on declared bins, or with a delta."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

from dpviz.boundary import protect_module
from dpviz.exact import Decay
from dpviz.mechanisms.cuts import DELTA, PureOrNot, cut_for, cut_through, loss_of, truncated_cut
from dpviz.mechanisms.moves import Moves
from dpviz.model.answers import Answer, SparseTable
from dpviz.model.error import ErrorModel
from dpviz.model.laws.threshold import Cut, ThresholdLaw, TruncatedThresholdLaw
from dpviz.model.mechanism import Bound, Cost, Mode, Space
from dpviz.model.parameters import Epsilon, Exact, ExactOrNone, parameter
from dpviz.model.question import Question
from dpviz.model.source import Tick
from dpviz.model.statistic import SparseCounts, Statistic, StatisticKind
from dpviz.model.words import shown
from dpviz.noise.bits import Bits
from dpviz.noise.geometric import check_scale
from dpviz.noise.truncated import truncated_geometric
from dpviz.privacy.guarantee import Guarantee
from dpviz.privacy.unit import Unit

TRUNCATED = ", with noise truncated at the threshold and the chance that one unit's move leaves it"
"""The part of a rule that says so."""

VALUE = 64
"""The bits of a value that is shown."""


class Threshold(PureOrNot):
    """Add noise to a sparse vector of counts or sums, and show the values that reach a threshold.

    Parameters
    ----------
    epsilon : str, int, float or Fraction
        The price in the session's unit.
    delta : str, int, float or Fraction, optional
        The chance, in the session's unit, that a bin which exists because of one unit is shown. Without a delta, every
        bin of the domain gets noise, empty ones too, and the price is pure; the bins must then be declared.

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
    value is below 0, it is not doubled [1]_.

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
    delta_text: ClassVar[str] = "Without δ every bin gets noise, empty ones too; with δ unknown keys can be asked."

    moved_revision: ClassVar[int] = 3

    epsilon: Exact = parameter(reads=Epsilon())
    delta: ExactOrNone = DELTA

    def bind(self, question: Question, unit: Unit) -> ThresholdBound:
        """Fix the noise and the threshold.

        Parameters
        ----------
        question : Question
            Keys whose noisy values are shown above the threshold.
        unit : Unit
            The unit that is protected.

        Returns
        -------
        ThresholdBound
            Price, draw and error law of `Threshold` for this question and unit.

        Raises
        ------
        ParameterError
            If `Threshold` cannot answer the question for this unit. Only public facts are looked at.
        """
        question.check_adds(self.name)
        moves = Moves.of(question, unit)
        check_scale(Decay.exp(self.epsilon / moves.l1))
        truncated = truncated_cut(self.epsilon / moves.l1, self.delta, question, unit)
        cut = truncated or cut_for(self.name, self.epsilon, self.delta, question, unit, moves)
        return ThresholdBound(self, question, unit, cut, truncated is not None)


@dataclass(frozen=True)
class ThresholdBound(Bound):
    """Threshold, bound to a question and a unit.

    truncated  whether the noise is smaller than the threshold in size
    """

    mechanism: Threshold
    question: Question
    unit: Unit
    cut: Cut
    truncated: bool = False

    needs: ClassVar[StatisticKind] = StatisticKind.SPARSE
    shape: ClassVar[type[Answer]] = SparseTable

    @cached_property
    def price(self) -> Guarantee:
        epsilon, delta = self.mechanism.epsilon, self.mechanism.delta
        algorithm = "Algorithm 6" if delta is None else "Algorithm 9, on whole steps"
        rule = f"Aumüller, Lebeda, Pagh 2022, {algorithm}{TRUNCATED if self.truncated else ''}"
        return Guarantee(loss_of(epsilon, delta), self.unit, rule, requested=epsilon)

    @cached_property
    def space(self) -> Space:
        """Of one shown bin: how many will be shown depends on the data."""
        if not self.question.domain.declared:
            return Space(bits=VALUE, text=f"{VALUE} and its label, for each bin that is shown")
        label = max(1, (self.question.bins - 1).bit_length())
        return Space(bits=VALUE + label, text=f"{VALUE} + {label}, for each bin that is shown")

    @property
    def cost(self) -> Cost:
        return Cost(steps=1, text="one draw for each bin that is not empty")

    @cached_property
    def law(self) -> ThresholdLaw:
        bins = self.question.bins if self.question.domain.declared else None
        kind = TruncatedThresholdLaw if self.truncated else ThresholdLaw
        return kind(self.cut, self.question.aggregate.step, bins)

    @property
    def error(self) -> ErrorModel:
        return self.law.error

    @property
    def verb(self) -> str:
        least = shown(self.cut.least * self.question.aggregate.step)
        which = "every bin, empty ones too," if self.cut.certain else "the bins that are not empty"
        size = f"{least} or more{', in either direction' if self.cut.signed else ''}"
        return f"Adds noise to {which} and shows those that come to {size}."

    def draw(self, statistic: Statistic, bits: Bits, *, mode: Mode, tick: Tick | None = None) -> SparseTable:
        """Draw what is shown. How many bins are occupied is private: no tick tells."""
        assert isinstance(statistic, SparseCounts)
        labels, values = statistic.take()
        if tick is not None:
            tick(0, self.cost.steps)
        bins = self.question.bins if self.question.domain.declared else None
        sampler = truncated_geometric(self.cut.decay, self.cut.least - 1) if self.truncated else None
        shown, kept = cut_through(self.cut, labels, values, bins, bits, sampler)
        return SparseTable(tuple(shown.tolist()), kept)


protect_module(vars())
