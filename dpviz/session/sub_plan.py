"""The price of a sub-session, and the most that one use of it may take. Free, and blind to the data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from dpviz.boundary import protect_module
from dpviz.errors import BudgetExceeded
from dpviz.model.error import ErrorModel
from dpviz.model.measures import Measure
from dpviz.model.mechanism import Bound
from dpviz.model.opening import Balance, Left, Opening, Use
from dpviz.names import missing
from dpviz.privacy.guarantee import Guarantee
from dpviz.privacy.unit import Unit
from dpviz.session.accountant import Budget, Remaining
from dpviz.session.plan import error_lines, would_cost
from dpviz.session.stale import stale


@dataclass(frozen=True)
class OpeningPlan:
    """A sub-session before it is opened: what it would be charged, at once and for all its answers.

    asof  the time at which the ledger last said what is left, where its server does not answer now; else empty
    """

    parameters: Opening
    unit: Unit
    budget: Budget
    remaining: Remaining
    asof: str = ""

    @property
    def price(self) -> Guarantee:
        return self.parameters.price(self.unit)

    @property
    def step_price(self) -> Any:
        """The parts of the price, such as the step of one symbol and the delta of one question."""
        return self.parameters.step_price(self.unit)

    @property
    def measures(self) -> tuple[Measure, ...]:
        """Statements about the error of a question on the default terms; each asks as it likes."""
        return self.parameters.typical(self.unit)[1].measures

    @property
    def affordable(self) -> bool:
        """Whether the price fits into what is left."""
        return self.remaining.admits(self.price)

    def __repr__(self) -> str:
        made, price = self.parameters, self.price
        use, bound = made.typical(self.unit)
        return "\n".join(
            [
                f"Plan (free, sees no data): {made!r}",
                f"  would cost   {would_cost(price, self.budget, self.remaining)}, charged once, when it is opened"
                f"{stale(self.asof)}",
                f"  guarantee    {price.sentence}, for all its answers together",
                *(f"  {line}" for line in made.parts_text(self.unit)),
                f"  asked with   {use.terms}:",
                *error_lines(bound),
            ]
        )


@dataclass(frozen=True)
class AskPlan:
    """One use of an open sub-session before it is asked for: what it may take of what is paid for already.

    It also has the members that its kind of sub-session counts.

    use      the terms that it would be asked for on
    number   the ledger entry of the sub-session
    balance  what was left when the plan was made
    left     the same for a person
    asof     the time at which the ledger last said so, where its server does not answer now; else empty
    """

    bound: Bound
    use: Use
    number: int
    balance: Balance
    left: Left
    asof: str = ""

    def __getattr__(self, name: str) -> Any:
        for part in (vars(self).get("left"), vars(self).get("use")):
            if part is not None and name in part.shown:
                return getattr(part, name)
        raise missing("AskPlan", name, object.__dir__(self))

    @property
    def fits(self) -> bool:
        """Whether it may be asked."""
        try:
            self.use.reserve(self.balance)
        except BudgetExceeded:
            return False
        return True

    @property
    def guarantee(self) -> Guarantee:
        """Of all the sub-session's answers together."""
        return self.bound.price

    @property
    def error(self) -> ErrorModel:
        return self.bound.error

    @property
    def measures(self) -> tuple[Measure, ...]:
        """Statements about the error, each with its words: `plan.measures[0].at(beta)`."""
        return self.bound.measures

    def __repr__(self) -> str:
        left = f"{self.left.text} left" if self.fits else f"more than the {self.left.text} left"
        lines = [
            f"Plan (free, sees no data): {self.bound.question.text}, {self.use.terms}",
            f"  may use      {self.use.reserved}; {left}{stale(self.asof)}",
            f"  would cost   nothing more: paid with entry {self.number}",
            f"  guarantee    {self.guarantee.sentence}, for all answers of entry {self.number} together",
        ]
        return "\n".join([*lines, *error_lines(self.bound)])


protect_module(vars())
