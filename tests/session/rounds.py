"""A second kind of sub-session, for tests: at most so many questions, each a histogram at the same step."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import pytest

from dpviz.errors import BudgetExceeded, ParameterError
from dpviz.exact import LONGEST, text
from dpviz.mechanisms import OPENINGS
from dpviz.mechanisms.dense import Dense
from dpviz.model.answers import Answer
from dpviz.model.domain import Domain
from dpviz.model.mechanism import Bound, Choice
from dpviz.model.opening import Balance, Opening, OpeningRow, OpeningStep, Use
from dpviz.model.question import Question
from dpviz.model.release import Release
from dpviz.model.source import TopRules
from dpviz.model.terms import Used
from dpviz.privacy.guarantee import Guarantee
from dpviz.privacy.loss import PureDP
from dpviz.privacy.unit import Unit


@dataclass(frozen=True)
class RoundsLeft:
    rounds_left: int
    rounds: int

    shown: ClassVar[tuple[str, ...]] = ("rounds_left",)

    @property
    def text(self) -> str:
        return f"{self.rounds_left} rounds"

    @property
    def of_paid(self) -> str:
        return f"{self.rounds_left} of {self.rounds} rounds"


@dataclass(frozen=True)
class Rounds(Opening):
    """At most so many questions, each of which pays one step. A round that came empty is given back."""

    rounds: int
    step: Fraction

    name: ClassVar[str] = "Rounds"

    def parameters(self) -> dict[str, str]:
        return {"rounds": str(self.rounds), "step": text(self.step)}

    @classmethod
    def from_parameters(cls, parameters: dict[str, str]) -> Rounds:
        return cls(int(parameters["rounds"]), Fraction(parameters["step"]))

    @classmethod
    def use_from_parameters(cls, parameters: dict[str, str]) -> Round:
        return Round.from_parameters(parameters)

    @classmethod
    def follows(cls, step: OpeningStep) -> bool:
        before, after = int(step.before.get("rounds", 0)), int(step.after["rounds"])
        if step.kind == "open":
            return after == int(step.body["mechanism"]["parameters"]["rounds"])
        if step.kind == "reserve":
            return after == before - 1 if "mechanism" in step.asked else after == 0
        return after == before

    @property
    def title(self) -> str:
        return f"rounds: {self.rounds}"

    def check_source(self, rules: TopRules) -> None:
        return None

    def price(self, unit: Unit) -> Guarantee:
        return Guarantee(PureDP(self.rounds * self.step), unit, f"{self.rounds} steps of {text(self.step)}")

    def parts(self, unit: Unit) -> Fraction:
        return self.step

    def parts_text(self, unit: Unit) -> list[str]:
        return [f"per round    ε {text(self.step)}"]

    def opened(self) -> dict[str, str]:
        return {"rounds": str(self.rounds)}

    def left(self, balance: Balance) -> RoundsLeft:
        return RoundsLeft(int(balance["rounds"]), self.rounds)

    def use(self) -> Round:
        return Round(self)

    def smallest(self, unit: Unit) -> Bound:
        return Round(self).bind(Question.of(Domain.integers(0, 1, column="x")), unit)

    def row(self, row: OpeningRow, use: Use | None, release: Release | None) -> OpeningRow:
        return row


@dataclass(frozen=True)
class Round:
    """One question, at one step."""

    of: Rounds

    name: ClassVar[str] = Rounds.name
    revision: ClassVar[int] = 1
    about: ClassVar[str] = "One of several rounds."
    delta_text: ClassVar[str] = ""
    shown: ClassVar[tuple[str, ...]] = ()
    reserved: ClassVar[str] = "1 round"
    value: ClassVar[str] = "1"
    terms: ClassVar[str] = "one round"

    def parameters(self) -> dict[str, str]:
        return self.of.parameters()

    @classmethod
    def longest(cls, name: str) -> int:
        return LONGEST

    @classmethod
    def from_parameters(cls, parameters: dict[str, str]) -> Round:
        return cls(Rounds.from_parameters(parameters))

    @classmethod
    def choices(cls) -> tuple[Choice, ...]:
        return ()

    @property
    def python(self) -> str:
        return "sub.ask(...)"

    def with_epsilon(self, epsilon: Fraction) -> Round:
        raise ParameterError.of(text(epsilon), "the step is fixed", "leave it as it is")

    def bind(self, question: Question, unit: Unit) -> Any:
        return RoundBound(self, Dense(self.of.step).bind(question, unit))

    def reserve(self, balance: Balance) -> dict[str, str]:
        if balance["rounds"] == "0":
            raise BudgetExceeded("No rounds are left. Nothing was charged.", value="1", rule="a round must be left")
        return {"rounds": str(int(balance["rounds"]) - 1)}

    def give_back(self, balance: Balance, answer: Answer) -> dict[str, str]:
        return dict(balance)


class RoundBound:
    """A histogram whose price is that of all rounds. Everything else is the histogram's."""

    def __init__(self, mechanism: Round, counts: Any) -> None:
        self.mechanism = mechanism
        self._counts = counts

    @property
    def price(self) -> Guarantee:
        return self.mechanism.of.price(self._counts.unit)

    def uses(self, answer: Answer) -> tuple[Used, ...]:
        return (Used("round", 1, self.mechanism.of.rounds),)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return getattr(self._counts, name)


def known(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make it known, as the one line in `OPENINGS` does for those of dpviz."""
    monkeypatch.setitem(OPENINGS._registered, Rounds.name, Rounds)
