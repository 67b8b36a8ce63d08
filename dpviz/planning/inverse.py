"""From an error to the epsilon that buys it."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Literal

from dpviz.errors import ParameterError
from dpviz.exact import text
from dpviz.model.mechanism import Mechanism
from dpviz.model.question import Question
from dpviz.privacy.calibration import smallest
from dpviz.privacy.unit import Unit

Which = Literal["one", "all"]


def epsilon_for(
    mechanism: Mechanism,
    question: Question,
    unit: Unit,
    *,
    error: Fraction,
    which: Which,
    beta: Fraction,
    grid: Sequence[Fraction],
) -> Fraction:
    """The smallest grid epsilon at which the planned error is at most `error`.

    Raises ParameterError where even the largest grid value errs more.
    """

    def holds(epsilon: Fraction) -> bool:
        try:
            model = mechanism.with_epsilon(epsilon).bind(question, unit).error
        except ParameterError:  # too small an epsilon pays for nothing
            return False
        planned = model.one_bin(beta) if which == "one" else model.all_bins(beta)
        return planned is not None and planned.value <= error

    found = smallest(grid, holds)
    if found is None:
        raise ParameterError.of(
            text(error), f"no ε up to {text(grid[-1])} gives an error that small", "allow a larger error, or merge bins"
        )
    return found
