"""A plan without a mechanism: the first of the advice that the session can plan, and the reasons for it."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import TYPE_CHECKING, Final

from dpviz.boundary import protect_module
from dpviz.errors import ParameterError
from dpviz.model.mechanism import Bound, Mechanism
from dpviz.model.question import Question
from dpviz.privacy.unit import Unit
from dpviz.session.accountant import Remaining

if TYPE_CHECKING:
    from dpviz.planning.advice import Advised

REASONS: Final = 3
"""The reasons name so many mechanisms, the chosen one first."""


def opening_epsilon(remaining: Remaining | None) -> Fraction:
    """The price where nobody named one: a tenth of the budget, or 1/2 where there is none."""
    from dpviz.planning import epsilon_grid

    if remaining is None:
        return Fraction(1, 2)
    grid, labelled = epsilon_grid(remaining.total.epsilon)
    wanted = grid[-1] / 10
    return max((value for value in labelled if value <= wanted), default=grid[0])


def opening_delta(remaining: Remaining | None) -> Fraction:
    """A tenth of the delta of the budget, or a usual one where there is no budget."""
    return Fraction(1, 10**6) if remaining is None else remaining.total.delta / 10


def chosen(
    asked: Question, unit: Unit, remaining: Remaining | None, bind: Callable[[Mechanism], Bound]
) -> tuple[Bound, tuple[str, ...]]:
    """The first mechanism of the advice that `bind` takes, and one sentence for it and each of the next two. Where
    nothing answers for the usual goal at that price, the next goal that the question can have is tried.

    Raises the first refusal of `bind` where it takes none, and ParameterError where the advice has none.
    """
    from dpviz.planning.advice import WORDS, advise, goals_of, usual_goal

    epsilon, delta = opening_epsilon(remaining), opening_delta(remaining)
    usual, refused = usual_goal(asked, unit, epsilon, delta), ""
    unbound: ParameterError | None = None
    for goal in (usual, *(goal for goal in goals_of(asked) if goal != usual)):
        advice = advise(asked, unit, epsilon, delta, goal)
        refused = refused or next(iter(advice.refused.values()), "")
        taken: list[tuple[Bound, Advised]] = []
        for row in advice.rows:
            try:
                taken.append((bind(row.mechanism), row))
            except ParameterError as why:  # the source cannot count for it
                unbound = unbound or why
        if taken:
            bound, first = taken[0]
            reasons = [f"{first.name}, the first choice for {WORDS[goal]}: {_told(first)}"]
            return bound, (*reasons, *(f"{row.name}: {_told(row)}" for _, row in taken[1:REASONS]))
    if unbound is not None:
        raise unbound
    rule = f"no mechanism answers this question at a tenth of the budget{f': {refused}' if refused else ''}"
    raise ParameterError.of(asked.text, rule, "name a mechanism")


def _told(row: Advised) -> str:
    reason = row.reason.removesuffix(".")
    return reason[:1].lower() + reason[1:]


protect_module(vars())
