"""KeyCount: about how many bins are not empty, for mechanisms that must be told."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import ClassVar

from dpviz.boundary import protect_module
from dpviz.exact import Decay, text
from dpviz.model.answers import Answer, KeyBound
from dpviz.model.error import ErrorModel
from dpviz.model.goals import Goal
from dpviz.model.laws.key_count import KeyCountLaw
from dpviz.model.laws.threshold import least_passing
from dpviz.model.mechanism import Bound, Cost, Mode, Space
from dpviz.model.parameters import Epsilon, Exact, Parameters, Probability, parameter
from dpviz.model.question import Question
from dpviz.model.source import Tick
from dpviz.model.statistic import Batch, SparseCounts, Statistic, StatisticKind
from dpviz.noise.bits import Bits
from dpviz.noise.geometric import check_scale, two_sided_geometric
from dpviz.privacy.guarantee import Guarantee
from dpviz.privacy.loss import PureDP
from dpviz.privacy.unit import Unit

STORED_BITS = 64
"""The storage of the number."""


class KeyCount(Parameters):
    """Release the number of bins that are not empty, with noise, raised to exceed the true number but for a chance.

    Parameters
    ----------
    epsilon : str, int, float or Fraction
        The price in the session's unit.
    beta : str, int, float or Fraction, default "1/1000"
        The chance that the released number is not above the true one.

    Raises
    ------
    ParameterError
        If a parameter is outside its range, or two contradict each other.

    Notes
    -----
    ALP, ThresholdALP, MaxProjection and ThresholdMaxProjection ask about how many bins are not empty, and it must not
    be looked up in the data. Where nobody knows it, this pays for it:

        count = session.release("word", dv.KeyCount("0.1"))
        session.release("word", dv.ThresholdALP("1", keys=count.answer.keys, delta="1e-6"))

    For a sum a bin is empty where its total is 0.

    **Privacy.** Pure DP with noise of exp(-epsilon |z| / l), l the number of bins that one unit can make empty or
    occupied: as many as it touches. A unit that is replaced empties some and fills others, so it counts once; of sums
    of both signs twice, for a value that goes may leave a bin occupied that was empty [1]_.

    **Error.** Exact: max(1, k + Z + c) with c the least whole number for which P[Z <= -c] is at most beta.

    References
    ----------
    .. [1] Aumüller, Lebeda, Pagh 2022, Section 10, with geometric noise; the shift and the table of prices are ours.

    Examples
    --------
    >>> from dpviz.model.domain import Domain
    >>> bound = KeyCount(epsilon="0.1", beta="1/1000").bind(Question.of(Domain.keys(column="word")), Unit())
    >>> bound.shift, bound.price.sentence
    (63, '0.1-differential privacy for adding or removing one row')
    """

    name: ClassVar[str] = "KeyCount"
    about: ClassVar[str] = "About how many bins are not empty: one number, for mechanisms that need it."
    serves: ClassVar[tuple[Goal, ...]] = ("distinct",)
    delta_text: ClassVar[str] = "KeyCount is pure: no δ."

    epsilon: Exact = parameter(reads=Epsilon())
    beta: Exact = parameter(
        reads=Probability(zero=False), default=Fraction(1, 1000), label="Chance that it is not above the true number"
    )

    def bind(self, question: Question, unit: Unit) -> KeyCountBound:
        """Fix the noise and the shift.

        Parameters
        ----------
        question : Question
            Keys, the number of which is released.
        unit : Unit
            The unit that is protected.

        Returns
        -------
        KeyCountBound
            Price, draw and error law of `KeyCount` for this question and unit.

        Raises
        ------
        ParameterError
            If `KeyCount` cannot answer the question for this unit. Only public facts are looked at.
        """
        question.check_adds(self.name)
        exponent = self.epsilon / occupied(question, unit)
        check_scale(Decay.exp(exponent))
        return KeyCountBound(self, question, unit, exponent, least_passing(exponent, self.beta, 0))


def occupied(question: Question, unit: Unit) -> int:
    """By how much the number of bins that are not empty moves with one unit, at most. Raises UnitError where nothing
    limits it.

    The bins that a unit adds fill up the rest to max_bins, so two units in turn leave numbers that differ by as much.
    Where values may be negative, adding may empty a bin, too, and then they may differ by twice that.
    """
    bins = question.bins if question.domain.declared else None
    unit.l1(bins)  # raises where there is no bound
    sides = 2 if question.aggregate.signed and unit.relation == "replace-one" else 1
    bounds = [bins, None if unit.max_bins is None else sides * unit.max_bins]
    return min(bound for bound in bounds if bound is not None)


@dataclass(frozen=True)
class KeyCountBound(Bound):
    """KeyCount, bound to a question and a unit."""

    mechanism: KeyCount
    question: Question
    unit: Unit
    exponent: Fraction
    shift: int

    needs: ClassVar[StatisticKind] = StatisticKind.SPARSE
    shape: ClassVar[type[Answer]] = KeyBound

    @cached_property
    def price(self) -> Guarantee:
        epsilon = self.mechanism.epsilon
        rule = "Aumüller, Lebeda, Pagh 2022, Section 10, with geometric noise"
        return Guarantee(PureDP(epsilon), self.unit, rule, requested=epsilon)

    @property
    def space(self) -> Space:
        return Space(bits=STORED_BITS, text=f"{STORED_BITS}")

    @property
    def cost(self) -> Cost:
        return Cost(steps=1, text="one draw")

    @cached_property
    def law(self) -> KeyCountLaw:
        return KeyCountLaw(self.exponent, self.shift)

    @property
    def error(self) -> ErrorModel:
        return self.law.error

    @property
    def verb(self) -> str:
        return (
            f"Adds noise and {self.shift:,} to the number of bins that are not empty. The number shown is above the "
            f"true one, except with a chance of {text(self.mechanism.beta)}."
        )

    def draw(self, statistic: Statistic, bits: Bits, *, mode: Mode, tick: Tick | None = None) -> KeyBound:
        assert isinstance(statistic, SparseCounts)
        if tick is not None:
            tick(0, self.cost.steps)
        keys = 0

        def add(batch: Batch) -> None:
            nonlocal keys
            keys += len(batch.counts)

        statistic.each(add)
        noise = int(two_sided_geometric(Decay.exp(self.exponent)).draw(1, bits)[0])
        return KeyBound(max(1, keys + noise + self.shift))


protect_module(vars())
