"""The parameters of mechanisms that answer look-ups: up to a public cap, or behind a threshold that is the cap."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Final

from dpviz.boundary import protect_module
from dpviz.errors import ParameterError
from dpviz.exact import positive, text, typed
from dpviz.mechanisms.cuts import DELTA, PureOrNot, cut_for, loss_of
from dpviz.mechanisms.moves import Moves
from dpviz.model.laws.threshold import Cut
from dpviz.model.parameters import (
    Epsilon,
    Exact,
    ExactNumber,
    ExactOrNone,
    Parameters,
    Probability,
    WholeNumber,
    parameter,
)
from dpviz.model.question import Question
from dpviz.privacy.guarantee import Guarantee
from dpviz.privacy.loss import PureDP
from dpviz.privacy.unit import Unit

MOST_ROOM = 1000


@dataclass(frozen=True)
class Positive(ExactNumber):
    """A number above 0."""

    most: int = 0

    def read(self, value: Any, name: str, earlier: Mapping[str, Any]) -> Fraction:
        number = positive(value, name, read=typed)
        if self.most and number > self.most:
            raise ParameterError.of(
                text(number), f"{name} must be at most {self.most:,}", f"give {self.most:,} or less"
            )
        return number


@dataclass(frozen=True)
class Room(ExactNumber):
    """More than 2 bits for each key: with 2 or fewer, nothing can be said of an estimate."""

    def read(self, value: Any, name: str, earlier: Mapping[str, Any]) -> Fraction:
        room = super().read(value, name, earlier)
        if not 2 < room <= MOST_ROOM:
            raise ParameterError.of(
                text(room),
                f"{name} must be above 2, and at most {MOST_ROOM:,}",
                "give more bits to each key, up to that",
            )
        return room


KEYS: Final[Any] = parameter(
    reads=WholeNumber(most=1 << 34),
    default=1000,
    always=True,
    label="Bins that are not empty, about (public)",
    premise=("at most {value} {bins} are not empty",),
)
"""The public guess of how many bins are not empty."""


class Capped(Parameters):
    """The parameters of a mechanism that reads values up to a public cap: see ALP."""

    epsilon: Exact = parameter(reads=Epsilon())
    cap: Exact = parameter(
        reads=Positive(),
        default=Fraction(1000),
        always=True,
        label="Largest value that can be read (public)",
        premise=("no value is above {value}",),
    )
    keys: int = KEYS

    @property
    def total(self) -> Fraction:
        """The amount that may be paid."""
        return self.epsilon

    @property
    def largest(self) -> Fraction:
        """The cap, in the unit of the question."""
        return self.cap

    def guarantee(self, unit: Unit, paid: Fraction, rule: str) -> Guarantee:
        """State the price of a look-up.

        Parameters
        ----------
        unit : Unit
            The unit that is protected.
        paid : Fraction
            The epsilon that is paid.
        rule : str
            The theorem that proves it, in words.

        Returns
        -------
        Guarantee
            The price.

        Raises
        ------
        ParameterError
            If the price is outside its range.
        """
        return Guarantee(PureDP(paid), unit, rule, requested=self.epsilon)

    def begun(self, question: Question, unit: Unit) -> tuple[Moves, int]:
        """Bound how far one unit moves the values, and put the cap in whole steps.

        Parameters
        ----------
        question : Question
            The values that are looked up.
        unit : Unit
            The unit that is protected.

        Returns
        -------
        tuple
            The moves of one unit, and the cap.

        Raises
        ------
        ParameterError
            If the question and the parameters contradict each other.
        """
        question.check_adds(self.name)
        return Moves.of(question, unit), math.ceil(self.cap / question.aggregate.step)


class BehindThreshold(PureOrNot):
    """The parameters of a mechanism that keeps what reaches a threshold and has all else looked up: ThresholdALP."""

    epsilon: Exact = parameter(reads=Epsilon())
    keys: int = KEYS
    delta: ExactOrNone = DELTA
    split: Exact = parameter(
        reads=Probability(zero=False), default=Fraction(1, 2), label="Share of ε for the threshold"
    )

    @property
    def total(self) -> Fraction:
        """The amount that may be paid."""
        return self.epsilon

    @property
    def first(self) -> Fraction:
        """The price of the threshold."""
        return self.epsilon * self.split

    @property
    def rest(self) -> Fraction:
        """The remainder for look-ups."""
        return self.epsilon - self.first

    def guarantee(self, unit: Unit, paid: Fraction, rule: str) -> Guarantee:
        """Add up the price of the threshold and of the values behind it.

        Parameters
        ----------
        unit : Unit
            The unit that is protected.
        paid : Fraction
            The epsilon of the values behind the threshold.
        rule : str
            The theorem for those values, in words.

        Returns
        -------
        Guarantee
            The price of both parts.

        Raises
        ------
        ParameterError
            If the sum is outside its range.
        """
        return Guarantee(loss_of(paid, self.delta), unit, rule, requested=self.epsilon)

    def begun(self, question: Question, unit: Unit) -> tuple[Moves, Cut]:
        """Bound how far one unit moves the values, and fix the threshold.

        Parameters
        ----------
        question : Question
            The values that are looked up.
        unit : Unit
            The unit that is protected.

        Returns
        -------
        tuple
            The moves of one unit, and the threshold.

        Raises
        ------
        ParameterError
            If the question and the parameters contradict each other.
        """
        question.check_adds(self.name)
        moves = Moves.of(question, unit)
        return moves, cut_for(self.name, self.first, self.delta, question, unit, moves)


protect_module(vars())
