"""ThresholdALP: what is large is kept with its noise, and everything else is read from a small sketch."""

from __future__ import annotations

from typing import ClassVar, Final

from dpviz.boundary import protect_module
from dpviz.mechanisms.alp import (
    ACCOUNTING,
    ALPHA,
    HASHING,
    ROOM,
    Accounting,
    Encoding,
    Hashing,
    SketchBound,
    encoding,
    part_for,
)
from dpviz.mechanisms.look_ups import BehindThreshold
from dpviz.model.goals import Goal
from dpviz.model.parameters import Exact, Switch, parameter
from dpviz.model.question import Question
from dpviz.privacy.unit import Unit

LOW_THRESHOLD: Final = ("the threshold", "give the threshold a smaller share of epsilon")
"""The rule that values must lie above the floor of the logarithms, and the next step where they do not."""


class ThresholdALP(BehindThreshold):
    """Keep values that reach a threshold, with noise, and put all values into a sketch for those below it.

    Parameters
    ----------
    epsilon : str, int, float or Fraction
        The price in the session's unit, of both parts together.
    keys : int, default 1000
        About how many bins are not empty: public, and never from the data.
    delta : str, int, float or Fraction, optional
        As for Threshold: left out, it is pure, and the bins must be declared.
    split : str, int, float or Fraction, default "1/2"
        The share of epsilon that the threshold gets.
    alpha : str, int, float or Fraction, default 3
        As for ALP; the sketch's cap is the threshold.
    room : str, int, float or Fraction, default 10
        As for ALP.
    accounting : {"auto", "count-exact", "l1-real"}, default "auto"
        As for ALP.
    hashing : {"multiply-shift", "carter-wegman"}, default "multiply-shift"
        As for ALP.
    encoding : {"unary", "histogram", "log", "signed"}, default "unary"
        As for ALP.
    adaptive : bool, default False
        Whether bins that are kept are left out of the sketch: fewer bits collide, at the same price.

    Raises
    ------
    ParameterError
        If a parameter is outside its range, or two contradict each other.

    Notes
    -----
    With encoding="log" the columns are few even where the threshold is high, as with a small share of epsilon, and the
    threshold must lie above the floor of the logarithms (Section 6.1). With "signed" a sum of either sign is one number
    in the sketch, and is kept where it is far enough from 0.

    **Privacy.** The sum of both parts, which draw their randomness independently: pure DP, or (epsilon, delta) [1]_.

    **Error.** A bound for any one value, large or small; see ALP.

    References
    ----------
    .. [1] Aumüller, Lebeda, Pagh 2022, Algorithms 7 and 8, Theorems 5.10 and 5.11; `adaptive` is ours.

    Examples
    --------
    >>> from dpviz.model.domain import Domain
    >>> keys = Question.of(Domain.integers(0, 2**32 - 1, column="key"))
    >>> bound = ThresholdALP(epsilon=1, keys=100000).bind(keys, Unit())
    >>> bound.space.text, bound.cut.least
    ('20 × 1,048,576, and what is kept', 90)
    >>> low = ThresholdALP(epsilon=1, keys=100000, split="1/10", encoding="log").bind(keys, Unit())
    >>> low.space.text, low.cut.least
    ('41 × 1,048,576, and what is kept', 445)
    """

    name: ClassVar[str] = "ThresholdALP"
    about: ClassVar[str] = "Keeps large values, and answers any other key from a small sketch. Counts or sums."
    serves: ClassVar[tuple[Goal, ...]] = ("look-ups",)
    delta_text: ClassVar[str] = "Without δ every bin gets noise, empty ones too; with δ unknown keys can be asked."

    alpha: Exact = ALPHA
    room: Exact = ROOM
    accounting: Accounting = ACCOUNTING
    adaptive: bool = parameter(
        reads=Switch(),
        default=False,
        label="Leave kept bins out of the sketch",
        options={"false": "no: as in the paper", "true": "yes: fewer bits collide"},
    )
    hashing: Hashing = HASHING
    encoding: Encoding = encoding(later=True)

    def bind(self, question: Question, unit: Unit) -> SketchBound:
        """Fix the threshold and the sketch.

        Parameters
        ----------
        question : Question
            Keys whose values are looked up behind a threshold.
        unit : Unit
            The unit that is protected.

        Returns
        -------
        SketchBound
            Price, draw and error law of `ThresholdALP` for this question and unit.

        Raises
        ------
        ParameterError
            If `ThresholdALP` cannot answer the question for this unit. Only public facts are looked at.
        """
        moves, cut = self.begun(question, unit)
        part = part_for(self, self.rest, cut.least, question, moves, LOW_THRESHOLD)
        rule = f"Aumüller, Lebeda, Pagh 2022, {'Theorem 5.10' if self.delta is None else 'Theorem 5.11'}"
        price = self.guarantee(unit, self.first + part.paid, rule)
        return part.kind(self, question, unit, part.plan, price, cut, self.adaptive)


protect_module(vars())
