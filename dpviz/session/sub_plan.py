"""What a sub-session would cost, and what one question of it may use. Free, and blind to the data."""

from __future__ import annotations

from dataclasses import dataclass

from dpviz.exact import Number, probability, text
from dpviz.hidden import guard, singly
from dpviz.mechanisms.pay_what_you_get import AskingBound, PayWhatYouGet
from dpviz.model.error import ErrorModel, ErrorValue
from dpviz.model.laws.ranking import counted
from dpviz.privacy.guarantee import Guarantee
from dpviz.privacy.range_bounded import Parts
from dpviz.privacy.unit import Unit
from dpviz.session.accountant import Budget, Remaining
from dpviz.session.plan import would_cost
from dpviz.session.stale import stale


@dataclass(frozen=True)
class OpeningPlan:
    """A sub-session before it is opened: what it would be charged, at once and for all its answers.

    asof  the time at which the ledger last said what is left, where its server does not answer now; else empty
    """

    parameters: PayWhatYouGet
    unit: Unit
    budget: Budget
    remaining: Remaining
    asof: str = ""

    @property
    def price(self) -> Guarantee:
        return self.parameters.price(self.unit)

    @property
    def parts(self) -> Parts:
        """The step of one symbol, the delta of one question, and what composition adds."""
        return self.parameters.parts(self.unit)

    @property
    def affordable(self) -> bool:
        """Whether the price fits into what is left."""
        return self.remaining.admits(self.price)

    def __repr__(self) -> str:
        made, price, parts = self.parameters, self.price, self.parts
        return "\n".join(
            [
                f"Plan (free, sees no data): {made!r}",
                f"  would cost   {would_cost(price, self.budget, self.remaining)}, charged once, when it is opened"
                f"{stale(self.asof)}",
                f"  guarantee    {price.sentence}, for all its answers together",
                f"  per symbol   a step of ε {text(parts.step)}; {counted(made.symbols, 'symbol')}, ⊥ included",
                f"  per question δ {text(parts.delta)}; {counted(made.questions, 'question')}",
            ]
        )


@dataclass(frozen=True)
class AskPlan:
    """One question of an open sub-session before it is asked: what it may use of what is paid for already.

    number          the ledger entry of the sub-session
    symbols_left, questions_left   what was left when the plan was made
    asof            the time at which the ledger last said so, where its server does not answer now; else empty
    """

    bound: AskingBound
    number: int
    symbols_left: int
    questions_left: int
    asof: str = ""

    @property
    def most(self) -> int:
        """How many symbols the answer may use: what is not used is given back."""
        return self.bound.mechanism.most

    @property
    def fits(self) -> bool:
        """Whether it may be asked."""
        return self.questions_left > 0 and self.most <= self.symbols_left

    @property
    def guarantee(self) -> Guarantee:
        """Of all the sub-session's answers together."""
        return self.bound.price

    @property
    def error(self) -> ErrorModel:
        return self.bound.error

    @singly
    def listed(self, beta: Number = "0.05") -> ErrorValue | None:
        """How far above the first row that does not compete an item must lie to come before ⊥."""
        return self.error.listed(probability(beta, "beta", zero=False))

    def __repr__(self) -> str:
        asking, unit = self.bound.mechanism, self.bound.unit
        left = f"{counted(self.symbols_left, 'symbol')} and {counted(self.questions_left, 'question')} left"
        left = left if self.fits else f"more than the {left}"
        lines = [
            f"Plan (free, sees no data): {self.bound.question.text}, k={asking.k}, kbar={asking.kbar}",
            f"  may use      {counted(self.most, 'symbol')} and 1 question; {left}{stale(self.asof)}",
            f"  would cost   nothing more: paid with entry {self.number}",
            f"  guarantee    {self.guarantee.sentence}, for all answers of entry {self.number} together",
        ]
        found = self.listed()
        if found is not None:
            lines.append(
                f"  to be listed {text(found.value)} {unit.nouns} above the next count, 95 in 100 ({found.how})"
            )
        return "\n".join(lines)


guard(vars())
