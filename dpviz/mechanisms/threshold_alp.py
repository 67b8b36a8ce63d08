"""ThresholdALP: what is large is kept with its noise, and everything else is read from a small sketch."""

from __future__ import annotations

from fractions import Fraction
from typing import ClassVar

from dpviz.boundary import protect_module
from dpviz.mechanisms.alp import (
    ACCOUNTING,
    ALPHA,
    KEYS,
    MOST_COLUMNS,
    ROOM,
    Accounting,
    SketchBound,
    plan_for,
    scale_for,
)
from dpviz.mechanisms.moves import Moves
from dpviz.mechanisms.threshold import DELTA, cut_for
from dpviz.model.parameters import Epsilon, Exact, ExactOrNone, Parameters, Probability, Switch, parameter
from dpviz.model.question import Question
from dpviz.privacy.guarantee import Guarantee
from dpviz.privacy.loss import ApproxDP, Loss, PureDP
from dpviz.privacy.unit import Unit


class ThresholdALP(Parameters):
    """Keep what reaches a threshold with its noise, and put all values into a sketch for what lies below it.

    epsilon  the price in the session's unit, of both parts together
    keys     about how many bins are not empty: public, and never from the data
    delta    as for Threshold: left out, it is pure, and the bins must be declared
    split    the share of epsilon that the threshold gets
    alpha, room, accounting   as for ALP; the sketch's cap is the threshold
    adaptive whether bins that are kept are left out of the sketch: fewer bits collide, at the same price

    Privacy: the sum of both parts, which draw their randomness independently: pure DP, or (epsilon, delta).
    Error:   a bound for any one value, large or small; see ALP.
    Source:  Aumüller, Lebeda, Pagh 2022, Algorithms 7 and 8, Theorems 5.10 and 5.11; `adaptive` is ours.

    >>> from dpviz.model.domain import Domain
    >>> keys = Question.of(Domain.integers(0, 2**32 - 1, column="key"))
    >>> bound = ThresholdALP(epsilon=1, keys=100000).bind(keys, Unit())
    >>> bound.space.text, bound.cut.least
    ('20 × 1,048,576, and what is kept', 90)
    """

    name: ClassVar[str] = "ThresholdALP"
    about: ClassVar[str] = "Keeps large values, and answers any other key from a small sketch. Counts or sums."
    delta_text: ClassVar[str] = "Without δ every bin gets noise, empty ones too; with δ unknown keys can be asked."

    epsilon: Exact = parameter(reads=Epsilon())
    keys: int = KEYS
    delta: ExactOrNone = DELTA
    split: Exact = parameter(
        reads=Probability(zero=False), default=Fraction(1, 2), label="Share of ε for the threshold"
    )
    alpha: Exact = ALPHA
    room: Exact = ROOM
    accounting: Accounting = ACCOUNTING
    adaptive: bool = parameter(
        reads=Switch(),
        default=False,
        label="Leave kept bins out of the sketch",
        options={"false": "no: as in the paper", "true": "yes: fewer bits collide"},
    )

    @classmethod
    def at_price(cls, epsilon: Fraction, delta: Fraction) -> ThresholdALP:
        return cls(epsilon=epsilon, delta=delta or None)

    def bind(self, question: Question, unit: Unit) -> SketchBound:
        """Fix both parts. Raises ParameterError on public facts only."""
        question.check_adds(self.name)
        moves = Moves.of(question, unit)
        first = self.epsilon * self.split
        cut = cut_for(self.name, first, self.delta, question, unit, moves)
        scale = scale_for(self.epsilon - first, self.alpha, self.accounting, question, moves, MOST_COLUMNS)
        plan = plan_for(scale, cut.least, self.keys, self.room, signed=question.aggregate.signed)
        paid = first + scale.paid
        loss: Loss = PureDP(paid) if self.delta is None else ApproxDP(paid, self.delta)
        theorem = "Theorem 5.10" if self.delta is None else "Theorem 5.11"
        price = Guarantee(loss, unit, f"Aumüller, Lebeda, Pagh 2022, {theorem}", requested=self.epsilon)
        return SketchBound(self, question, unit, plan, price, cut, self.adaptive)


protect_module(vars())
