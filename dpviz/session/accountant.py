"""The arithmetic of a budget: state and loss in, new state or refusal out. Pure, and O(1).

The filter in force adds epsilons and deltas (basic composition), which is valid however adaptively the analyst
chooses questions, mechanisms and prices, as long as the total was fixed beforehand (Rogers, Roth, Ullman, Vadhan
2016, Theorem 5.1). Amounts are whole numbers of steps of one grid, so sums are exact and never grow.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

from dpviz.errors import BudgetExceeded, ParameterError
from dpviz.exact import Number, positive, probability, text, typed
from dpviz.hidden import singly
from dpviz.privacy.conversion import to_approx
from dpviz.privacy.grid import GRID, amount, payable, steps
from dpviz.privacy.loss import ApproxDP, Loss

FILTER = "basic"
FILTER_TEXT = "ε and δ add up; valid when each question is chosen after seeing earlier answers"


@dataclass(frozen=True)
class Budget:
    """The most that a dataset may ever cost one unit: a total epsilon and delta.

    >>> Budget(epsilon="2", delta="1e-6")
    Budget(epsilon="2", delta="0.000001")
    """

    epsilon: Fraction
    delta: Fraction = Fraction(0)

    @singly
    def __init__(self, epsilon: Number, delta: Number = 0) -> None:
        object.__setattr__(self, "epsilon", _on_grid(positive(typed(epsilon, "epsilon"), "epsilon"), "epsilon"))
        object.__setattr__(self, "delta", _on_grid(probability(typed(delta, "delta"), "delta"), "delta"))

    def __repr__(self) -> str:
        return f'Budget(epsilon="{text(self.epsilon)}", delta="{text(self.delta)}")'

    @property
    def text(self) -> str:
        return f"ε {text(self.epsilon)}, δ {text(self.delta)}"

    def to_json(self) -> dict[str, str]:
        return {"epsilon": text(self.epsilon), "delta": text(self.delta)}


def _on_grid(value: Fraction, name: str) -> Fraction:
    if GRID % value.denominator:
        raise ParameterError.of(
            text(value), f"a budget's {name} must be a decimal of at most 30 places or a fraction over 1..50"
        )
    return value


@dataclass(frozen=True)
class Remaining:
    """What is left of a budget, exactly."""

    epsilon: Fraction
    delta: Fraction
    total: Budget

    def __repr__(self) -> str:
        epsilon, delta = (f"{text(getattr(self, x))} of {text(getattr(self.total, x))}" for x in ("epsilon", "delta"))
        return f"<left: ε {epsilon}, δ {delta}>"


def opened(budget: Budget) -> dict[str, str]:
    """The state of a budget of which nothing is spent."""
    return _state(budget, Fraction(0), Fraction(0))


def _state(budget: Budget, epsilon: Fraction, delta: Fraction) -> dict[str, str]:
    return {
        "filter": FILTER,
        "grid": str(GRID),
        "epsilon_total": str(steps(budget.epsilon)),
        "delta_total": str(steps(budget.delta)),
        "epsilon": str(steps(epsilon)),
        "delta": str(steps(delta)),
    }


def budget(state: Mapping[str, str]) -> Budget:
    return Budget(amount(int(state["epsilon_total"])), amount(int(state["delta_total"])))


def spent(state: Mapping[str, str]) -> ApproxDP:
    """What was charged so far, pending charges included."""
    return ApproxDP(amount(int(state["epsilon"])), amount(int(state["delta"])))


def remaining(state: Mapping[str, str]) -> Remaining:
    total, gone = budget(state), spent(state)
    return Remaining(total.epsilon - gone.epsilon, total.delta - gone.delta, total)


def charge(state: Mapping[str, str], loss: Loss) -> dict[str, str]:
    """The state after paying `loss`, or BudgetExceeded, which changes nothing."""
    price, left = payable(to_approx(loss)), remaining(state)
    if price.epsilon > left.epsilon:
        raise exceeded("ε", price.epsilon, left.epsilon)
    if price.delta > left.delta:
        raise exceeded("δ", price.delta, left.delta)
    gone = spent(state)
    return _state(left.total, gone.epsilon + price.epsilon, gone.delta + price.delta)


def exceeded(name: str, price: Fraction, left: Fraction) -> BudgetExceeded:
    if left == 0 and name == "ε":
        message = f"This release costs ε = {text(price)} but the budget is spent; new questions need a new budget."
        return _refusal(message, price, left, "ask a person who may grant more budget", name)
    message = f"This release costs {name} = {text(price)} but {text(left)} is left; ask for at most {text(left)}."
    return _refusal(message, price, left, f"ask for at most {text(left)}", name)


def _refusal(message: str, price: Fraction, left: Fraction, next_step: str, name: str) -> BudgetExceeded:
    error = BudgetExceeded(
        f"{message} Nothing was charged.",
        value=text(price),
        rule=f"a price must fit into what is left of {name}",
        next_step=next_step,
    )
    error.part, error.left = {"ε": "epsilon", "δ": "delta"}[name], text(left)
    return error


def widened(state: Mapping[str, str], new: Budget) -> dict[str, str]:
    """The state after raising the budget. Lowering it is refused."""
    old, gone = budget(state), spent(state)
    if new.epsilon < old.epsilon or new.delta < old.delta:
        raise ParameterError.of(new.text, f"a budget can be raised, not lowered; it is {old.text}")
    return _state(new, gone.epsilon, gone.delta)
