"""The remaining balance of a sub-session: symbols and questions, in whole numbers. Pure; the ledger carries the state
as texts.

A question reserves as many symbols as it may use before any data are read, and gives back what its answer did not
need. So however questions overlap, and whatever becomes of them, no more symbols are drawn than were paid for.
Source: Durfee, Rogers 2019, Algorithm 2; the refusal is a function of earlier answers alone.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from dpviz.boundary import protect_module
from dpviz.errors import BudgetExceeded
from dpviz.exact import counted
from dpviz.model.opening import Balance as State
from dpviz.model.opening import OpeningStep


@dataclass(frozen=True)
class SymbolsLeft:
    """The remaining balance of a sub-session, beside what was paid for."""

    symbols_left: int
    questions_left: int
    symbols: int
    questions: int

    shown: ClassVar[tuple[str, ...]] = ("symbols_left", "questions_left")

    @property
    def text(self) -> str:
        return f"{counted(self.symbols_left, 'symbol')} and {counted(self.questions_left, 'question')}"

    @property
    def of_paid(self) -> str:
        return (
            f"{self.symbols_left:,} of {counted(self.symbols, 'symbol')} and "
            f"{self.questions_left:,} of {counted(self.questions, 'question')}"
        )


def opened(symbols: int, questions: int) -> dict[str, str]:
    """The state of a sub-session of which nothing is used."""
    return {"symbols": str(symbols), "questions": str(questions)}


def symbols(state: State) -> int:
    return int(state["symbols"])


def questions(state: State) -> int:
    return int(state["questions"])


def reserve(state: State, most: int) -> dict[str, str]:
    """The state after reserving a question of at most `most` symbols, or BudgetExceeded, which changes nothing."""
    if not symbols(state):
        raise _refusal("no symbols are left", "symbols", most, 0, "open another sub-session")
    if not questions(state):
        raise _refusal("no questions are left", "questions", 1, 0, "open another sub-session")
    left = symbols(state)
    if most > left:
        said = f"This question may use {_counted(most)} but {left:,} {'is' if left == 1 else 'are'} left"
        raise _refusal(said, "symbols", most, left, f"ask for at most {_counted(left)}")
    return opened(left - most, questions(state) - 1)


def give_back(state: State, unused: int) -> dict[str, str]:
    """The state after an answer that left `unused` of its symbols. The question itself stays used."""
    return opened(symbols(state) + unused, questions(state))


def follows(step: OpeningStep) -> bool:
    """Whether a row of the ledger ("open", "reserve" or "settle") may lead from one state to the next.

    A question takes what it may use and no less; its answer gives back no more than it took, and no question. Of an
    entry that is no such sub-session, and of the account itself, nothing is known.
    """
    mechanism = step.body.get("mechanism", {})
    if step.kind not in ("open", "reserve", "settle") or mechanism.get("name") != "PayWhatYouGet":
        return True
    before, after, paid = step.before, step.after, mechanism["parameters"]
    if set(after) != {"symbols", "questions"}:
        return False
    if any(str(int(part)) != part or int(part) < 0 for part in after.values()):
        return False
    if step.kind == "open":
        return symbols(after) == int(paid["symbols"]) and questions(after) == int(
            paid.get("questions", after["questions"])
        )
    moved, asked = symbols(after) - symbols(before), questions(after) - questions(before)
    if step.kind == "reserve":
        asking = step.asked.get("mechanism")
        if asking is not None:
            most = int(asking["parameters"]["k"]) + (asking["parameters"]["kbar"] == "private")
            return (moved, asked) == (-most, -1)
        return (moved < 0 and asked == -1) or after == opened(0, 0)
    if step.reserved is None:
        return False
    taken, left = step.reserved
    return 0 <= moved <= symbols(taken) - symbols(left) and asked == 0


def _refusal(said: str, part: str, price: int, left: int, next_step: str) -> BudgetExceeded:
    message = f"{said[:1].upper()}{said[1:]}; {next_step}. Nothing was charged."
    rule = f"a question must fit into what is left of the sub-session's {part}"
    error = BudgetExceeded(message, value=str(price), rule=rule, next_step=next_step)
    error.part, error.left = part, str(left)
    return error


def _counted(number: int) -> str:
    return f"{number:,} symbol{'' if number == 1 else 's'}"


protect_module(vars())
