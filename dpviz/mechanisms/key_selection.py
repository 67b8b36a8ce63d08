"""KeySelection: the names of the bins that are large enough, without their counts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar, Final

import numpy as np

from dpviz.boundary import protect_module
from dpviz.errors import ParameterError
from dpviz.mechanisms.cuts import compared
from dpviz.mechanisms.moves import Moves
from dpviz.mechanisms.stability import Stability
from dpviz.model.answers import Answer, KeySet
from dpviz.model.error import ErrorModel
from dpviz.model.laws.key_selection import HALF, KeySelectionLaw
from dpviz.model.mechanism import Bound, Cost, Mode, Space
from dpviz.model.parameters import Epsilon, Exact, Parameters, Probability, parameter
from dpviz.model.question import Question
from dpviz.model.source import Tick
from dpviz.model.statistic import Batch, SparseCounts, Statistic, StatisticKind, to_show
from dpviz.noise.key_selection import NamingCoins, naming_chances
from dpviz.noise.table import LIMIT
from dpviz.privacy.concentrated import pure_rho
from dpviz.privacy.guarantee import Guarantee
from dpviz.privacy.key_selection import share_of_a_key
from dpviz.privacy.loss import ApproxDP, ApproxZCDP
from dpviz.privacy.unit import Unit

if TYPE_CHECKING:
    from dpviz.noise.bits import Bits

LABEL_BITS: Final = 64
"""The storage of one name, where nothing says how long names are."""

RULE: Final = "Desfontaines, Voss, Gipson, Mandayam 2020, Theorem 1"
SEVERAL: Final = "Kairouz, Oh, Viswanath 2017, Theorem 3.3, for all bins that one unit moves"
"""The proofs of a price, in words."""


class KeySelection(Parameters):
    """Name the bins that enough units are in, without their counts.

    Parameters
    ----------
    epsilon : str, int, float or Fraction
        The price in the session's unit.
    delta : str, int, float or Fraction
        The chance, in the session's unit, that the answer gives a unit away.

    Raises
    ------
    ParameterError
        If a parameter is outside its range, or two contradict each other.

    Notes
    -----
    Use it where only the names of bins are asked for, as to declare them in a later question. It answers the question
    of `Stability`, which shows counts as well: for a unit of one bin from the same count on or one more, for a unit of
    three bins or more from a lower count on with base="gaussian". The bins may be unknown (`Domain.keys`); an empty
    bin is never named.

    A bin of n units is named with the chance pi_n: pi_0 = 0 and pi_n = min(e^a pi_(n-1) + d, 1 - e^-a (1 - pi_(n-1) -
    d), 1), for the a and the d of one bin. Nothing that is (a, d)-DP for one bin names it more often [1]_.

    Counts are those of units: a question with max_per_bin above 1 is refused.

    **Privacy.** Approximate DP. A unit that moves m bins costs (m a, 1 - (1 - d)^m), with m twice the bins that it
    touches where it is replaced (`privacy.key_selection`) [2]_. A zCDP budget books m a tanh(a / 2), and delta.

    **Error.** Exact: the count from which on a bin is named with any chance, and the one from which on it always is.

    References
    ----------
    .. [1] Desfontaines, Voss, Gipson, Mandayam 2020, "Differentially private partition selection", Theorem 1.
    .. [2] Kairouz, Oh, Viswanath 2017, Theorem 3.3, for the bins of one unit.

    Examples
    --------
    >>> from dpviz.model.domain import Domain
    >>> words = Question.of(Domain.keys(column="word"))
    >>> bound = KeySelection(epsilon="1", delta="1e-6").bind(words, Unit())
    >>> [int(bound.error.named(beta).value) for beta in (Fraction(1, 2), Fraction(1, 20), Fraction(0))]
    [14, 16, 28]
    >>> bound.price.sentence
    '(1, 0.000001)-differential privacy for adding or removing one row'
    """

    name: ClassVar[str] = "KeySelection"
    about: ClassVar[str] = "Names the bins that are large enough, without counts. Any number of bins, known or not."
    names_items: ClassVar[bool] = True
    delta_text: ClassVar[str] = "KeySelection needs δ: a bin that one unit alone makes may be named."

    epsilon: Exact = parameter(reads=Epsilon())
    delta: Exact = parameter(reads=Probability(), suggested="1e-6", label="δ")

    def bind(self, question: Question, unit: Unit) -> KeySelectionBound:
        """Fix the share of one bin.

        Parameters
        ----------
        question : Question
            Bins or keys, of which the large ones are named.
        unit : Unit
            The unit that is protected, with at most one record in a bin.

        Returns
        -------
        KeySelectionBound
            Price, draw and error law of `KeySelection` for this question and unit.

        Raises
        ------
        ParameterError
            If `KeySelection` cannot answer the question for this unit. Only public facts are looked at.
        """
        question.check_counts(self.name)
        moved = Moves.of(question, unit).l1
        if unit.max_per_bin != 1:
            raise ParameterError.of(
                f"max_per_bin {unit.max_per_bin:,}",
                f"{self.name} counts the units of a bin, each of them once",
                "limit max_per_bin to one record, by limits= of the question",
            )
        return KeySelectionBound(self, question, unit, moved).check_reached()


@dataclass(frozen=True)
class KeySelectionBound(Bound):
    """KeySelection, bound to a question and a unit.

    moved  the number of bins that one unit moves, each by 1
    """

    mechanism: KeySelection
    question: Question
    unit: Unit
    moved: int

    needs: ClassVar[StatisticKind] = StatisticKind.SPARSE
    shape: ClassVar[type[Answer]] = KeySet

    def check_reached(self) -> KeySelectionBound:
        """Refuse a price for which no count that there may be is named more often than not."""
        most = LIMIT if self.unit.n is None else self.unit.n
        least = self.law.chances.least(HALF)
        if least > most:
            raise ParameterError.of(
                f"a count of {least:,}",
                f"no bin of at most {most:,} would be named more often than not",
                "allow a larger ε or δ",
            )
        return self

    @property
    def bins(self) -> int | None:
        """The number of bins, where they are declared."""
        return self.question.bins if self.question.domain.declared else None

    @cached_property
    def share(self) -> tuple[Fraction, Fraction]:
        """The epsilon and the delta of one bin."""
        return share_of_a_key(self.mechanism.epsilon, self.mechanism.delta, self.moved)

    @cached_property
    def price(self) -> Guarantee:
        epsilon, delta = self.mechanism.epsilon, self.mechanism.delta
        rule = RULE if self.moved == 1 else f"{RULE}; {SEVERAL}"
        steps = ApproxZCDP(self.moved * pure_rho(self.share[0]), delta)
        return Guarantee(ApproxDP(epsilon, delta), self.unit, rule, requested=epsilon, zcdp_steps=steps)

    @cached_property
    def law(self) -> KeySelectionLaw:
        return KeySelectionLaw(*self.share, self.bins, self.unit.n)

    @property
    def error(self) -> ErrorModel:
        return self.law.error

    @cached_property
    def space(self) -> Space:
        """Of one name: how many will come depends on the data."""
        bits = LABEL_BITS if self.bins is None else max(1, (self.bins - 1).bit_length())
        return Space(bits=bits, text=f"{'its label' if self.bins is None else bits}, for each bin that is named")

    @property
    def cost(self) -> Cost:
        return Cost(steps=1, text="one coin for each bin that is not empty")

    @cached_property
    def with_counts(self) -> Mapping[str, Fraction]:
        made = Stability(self.mechanism.epsilon, self.mechanism.delta)
        return compared(made, self.question, self.unit, lambda bound: Fraction(bound.threshold + 1))

    @property
    def verb(self) -> str:
        most = self.law.chances
        return (
            f"Names the bins that are not empty, each by a coin of its own: more often than not from a count of "
            f"{most.least(HALF):,} on, always from {most.sure:,}."
        )

    def draw(self, statistic: Statistic, bits: Bits, *, mode: Mode, tick: Tick | None = None) -> KeySet:
        """Flip a coin for each bin that is not empty. How many these are is private: no tick tells.

        Bins that are not named are forgotten with their batch.
        """
        assert isinstance(statistic, SparseCounts)
        if tick is not None:
            tick(0, self.cost.steps)
        coins, named = NamingCoins(naming_chances(*self.share)), list[Batch]()

        def draw(batch: Batch) -> None:
            kept = coins.name(batch.counts, bits)
            named.append(batch.chosen(kept, np.zeros(int(kept.sum()), dtype=np.int64)))

        statistic.each(draw)
        return KeySet(to_show(named)[0]) if named else KeySet(())


protect_module(vars())
