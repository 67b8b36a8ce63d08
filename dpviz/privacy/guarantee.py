"""A loss, the unit it is measured in, and the rule that proves it."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from dpviz.boundary import protect_module
from dpviz.exact import odds_text, text
from dpviz.privacy.loss import ZCDP, ApproxDP, Loss, PureDP, RangeBounded, Steps
from dpviz.privacy.unit import Unit


@dataclass(frozen=True, slots=True)
class Guarantee:
    """The price of one answer for one unit. Prices without a unit do not exist here.

    loss        what is charged: rational, rounded up where the true price is irrational
    rule        who proved it, in one line
    requested   the epsilon the analyst typed, where the mechanism pays less
    exact       the true price as an expression ("2 ln(17/16)"), where the charge is a rounding of it
    zcdp_steps  the same answer as range-bounded steps, with the delta of agreeing on a domain, or as the rho of its
                noise, but for a delta of it: what a zCDP filter charges; of pure noise, and with a delta of the noise,
                in budgets alone that name their conversion
    """

    loss: Loss
    unit: Unit
    rule: str
    requested: Fraction | None = None
    exact: str = ""
    zcdp_steps: Steps | None = None

    @property
    def is_gaussian(self) -> bool:
        """Whether the price follows from the rho of noise that is not pure by itself."""
        return isinstance(self.zcdp_steps, ZCDP) and not isinstance(self.loss, PureDP)

    @property
    def sentence(self) -> str:
        """`0.2-differential privacy for adding or removing one person-year`."""
        return f"{self.loss.sentence} for {self.unit.sentence}"

    @property
    def odds(self) -> str:
        """By how much the odds of anything about one unit can move, rounded up; empty where a delta makes it untrue."""
        if isinstance(self.loss, PureDP | ApproxDP | RangeBounded) and not self.loss.delta:
            steps = self.loss.steps if isinstance(self.loss, RangeBounded) else 1
            return odds_text(steps * self.loss.epsilon)
        return ""

    @property
    def kind(self) -> str:
        """For a table row: `pure, add or remove`."""
        names = {
            "PureDP": "pure",
            "ApproxDP": "approximate",
            "ZCDP": "zero-concentrated",
            "RangeBounded": "range-bounded",
        }
        change = "add or remove" if self.unit.relation == "add-remove" else "replace"
        return f"{names[type(self.loss).__name__]}, {change}"

    @property
    def epsilon(self) -> Fraction:
        """The epsilon charged, for losses that have one."""
        if isinstance(self.loss, PureDP | ApproxDP):
            return self.loss.epsilon
        raise AttributeError(f"a {type(self.loss).__name__} loss is not one epsilon; convert it with privacy.to_approx")

    def __str__(self) -> str:
        paid = f"{self.sentence} ({self.rule})"
        if (
            self.requested is not None
            and isinstance(self.loss, PureDP | ApproxDP)
            and self.requested != self.loss.epsilon
        ):
            paid = f"asked {text(self.requested)}, pays {text(self.loss.epsilon)}: {paid}"
        return paid


protect_module(vars())
