"""The advice beside a plan, for a page: the first mechanisms for its question at its price, with their errors, and
whether a better one is known. It sees no data, and a plan does not wait for it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Final

from dpviz.boundary import protect_module
from dpviz.exact import text
from dpviz.laws.search import least
from dpviz.model.error import ErrorModel
from dpviz.model.goals import Goal
from dpviz.model.measures import headline
from dpviz.model.mechanism import Bound, Mechanism
from dpviz.model.words import capital, reach, shown
from dpviz.planning import premises, thresholds
from dpviz.planning.advice import (
    NOTED,
    WORDS,
    Advised,
    advise,
    error_text,
    errors_of,
    goal_of,
    goals_of,
    held_against,
    noise_bars,
    plain_first,
    told_of,
)
from dpviz.planning.sheet import LARGEST_COUNT, SURE
from dpviz.privacy.conversion import to_approx
from dpviz.privacy.grid import payable
from dpviz.wanted import each

FIRST: Final = 3
"""The number of mechanisms that are compared."""

NOTABLE: Final = Fraction(5, 4)
"""A plan is not the best known where its error is this many times that of the first mechanism."""

RARE: Final = 0.05
"""A mechanism leaves small counts out where an empty bin is shown less often."""

Body = dict[str, Any]

Fits = Callable[[Mechanism], bool]
"""Whether the session can plan the question with a mechanism."""

Rho = Callable[[Bound], Fraction]
"""The part of a zCDP budget that a release would take."""


@dataclass(frozen=True)
class Comparison:
    """The first mechanisms of an advice, the best first, beside the plan on show.

    here   the errors of the plan on show; None where it does not serve the goal
    rows   the plan on show stands in the place of its mechanism, where it errs no more
    """

    goal: Goal
    here: Advised | None
    rows: tuple[Advised, ...]

    @property
    def beaten(self) -> bool:
        """Whether the first mechanism errs notably less than the plan on show."""
        first = self.rows[0] if self.rows else None
        if first is None or self.here is None or first is self.here:
            return False
        if first.worst is None or self.here.worst is None or self.here.loses_to(first):
            return self.here.loses_to(first)
        if len(first.suggested) > len(self.here.suggested):
            return False
        return self.here.worst > NOTABLE * first.worst

    @property
    def sentence(self) -> str:
        """The first choice, and whether it is in use."""
        if not self.rows:
            return f"No mechanism tells {WORDS[self.goal]} at this price."
        first, words = self.rows[0], WORDS[self.goal]
        if first is self.here:
            return f"{first.name} is the first choice for {words}, and in use."
        if self.here is None:
            return f"{first.name} is the first choice for {words}."
        other = "the same with other settings" if self.here.name == first.name else self.here.name
        return f"{first.name} is the first choice for {words}; on show is {other}."


def advice_json(
    bound: Bound, asked: Mechanism, fits: Fits, *, goal: Goal | None = None, rho: Rho | None = None, rows: bool = True
) -> Body:
    """The advice as a page gets it; see widgets/PROTOCOL.md.

    asked  the mechanism as it was typed: the others are compared at its epsilon and delta
    goal   what the answer is read for; None for the usual goal
    rho    where a budget counts rho, the part of it that a release would take
    rows   whether the mechanisms are listed, too, where the first choice is in use and known without the others
    """
    goals = goals_of(bound.question)
    chosen = goal if goal in goals else None
    told = told_of(bound, rivals=rho is None)
    told += [line for line in (thresholds.told(bound), premises.told(bound)) if line is not None]
    shared = {
        "told": [{"head": head, "text": said} for head, said in told],
        "goals": [{"value": one, "label": WORDS[one]} for one in goals],
    }
    if not rows and chosen in (None, "bins") and (quick := _plain_first(bound)) is not None:
        said = Comparison("bins", quick, (quick,)).sentence
        return {**shared, "goal": "bins", "says": said, "beaten": False, "rows": None}
    found = compared(bound, asked, chosen or goal_of(bound), fits)
    dearer = rho is not None and bool(found.rows) and rho(found.rows[0].bound) > rho(bound)
    better = chosen is None and any(head == "better" for head, _ in told)
    here = found.here
    listed = [*found.rows, *([here] if here is not None and all(row is not here for row in found.rows) else [])]
    return {
        **shared,
        "goal": found.goal,
        "says": found.sentence,
        "beaten": better or (found.beaten and not dearer),
        "rows": [_row_json(row, found, rho) for row in listed],
    }


def compared(bound: Bound, asked: Mechanism, goal: Goal, fits: Fits) -> Comparison:
    """The first mechanisms for the question of a plan at its epsilon and delta."""
    price = to_approx(bound.price.loss)
    epsilon = Fraction(asked.parameters()["epsilon"] or price.epsilon)
    items = bound.max_items if goal == "top" else None
    found = advise(bound.question, bound.unit, epsilon, price.delta, goal, items)
    here = _row(bound, goal) if goal in bound.mechanism.serves else None
    rows: list[Advised] = []
    for row in each(found.rows):
        if len(rows) < FIRST and fits(row.mechanism):
            rows.append(here if here is not None and _stands_for(here, row) else row)
    return Comparison(goal, here, tuple(sorted(rows, key=lambda row: row.order)))


def _stands_for(here: Advised, row: Advised) -> bool:
    """Whether the plan on show is this row, or the same mechanism with settings that err no more."""
    if here.name != row.name or here.worst is None or row.worst is None:
        return here.name == row.name and here.worst is row.worst
    return here.worst <= row.worst and here.order[:-1] <= row.order[:-1]


def _row(bound: Bound, goal: Goal) -> Advised:
    return Advised(bound.mechanism, bound, errors_of(bound, goal), noise_bars(bound) if goal == "bins" else 0)


def _plain_first(bound: Bound) -> Advised | None:
    """The plan on show, where its mechanism opens pages first, stands first of the advice and errs no more than as it
    is suggested; no other mechanism is loaded to know it."""
    quick = plain_first(bound.question, bound.unit, to_approx(bound.price.loss).epsilon)
    here = None if quick is None or quick.name != bound.mechanism.name else _row(bound, "bins")
    return here if here is not None and quick is not None and _stands_for(here, quick) else None


# ---------------------------------------------------------------- what a page gets


def _row_json(row: Advised, found: Comparison, rho: Rho | None) -> Body:
    charged = payable(to_approx(row.bound.price.loss))
    parameters = {name: value for name, value in row.mechanism.parameters().items() if name != "epsilon"}
    return {
        "mechanism": row.name,
        "parameters": parameters,
        "about": row.mechanism.about,
        "settings": _settings(row, found.here),
        "why": _why(row, found),
        "errors": [{"label": label, "said": said} for label, said in _errors(row, found.goal)],
        "price": {"epsilon": text(charged.epsilon), "delta": text(charged.delta)},
        "rho": "" if rho is None else text(rho(row.bound)),
        "here": row is found.here,
        "first": row is next(iter(found.rows), None),
    }


def _why(row: Advised, found: Comparison) -> str:
    """One reason, in words: it errs least, or how it falls behind."""
    best, question = next(iter(found.rows), row), row.bound.question
    if row is best:
        sort = found.goal == "top" and row.bound.max_items is None and question.domain.declared
        alone = len(found.rows) == 1 and (found.here is None or row is found.here)
        if row.worst is None:
            return "Nothing bounds its error before the data are read."
        words = WORDS[found.goal]
        said = f"The only one that tells {words} at this price" if alone else f"Errs least for {words}"
        ending = "; ".join(["", *held_against(row, None, question)])
        return f"{said}{', its counts sorted' if sort else ''}{ending}."
    against = held_against(row, best, question)
    if against:
        return f"{capital('; '.join(against))}."
    if row.worst is None:
        return "Nothing bounds its error for this, so it cannot be compared."
    return f"The same error as {best.name}."


def _errors(row: Advised, goal: Goal) -> list[tuple[str, str]]:
    """Each error for the question, in words, and from which count on a bin is shown, where small ones are left out."""
    bound, listed = row.bound, row.bound.max_items is not None
    told = [(label, error_text(value)) for label, value in row.errors]
    if goal == "bins" and bound.question.domain.declared and bound.question.bins > 1:
        told = [("any one bin", error_text(bound.error.one_bin(NOTED))), *told]
    if goal == "top" and not bound.question.domain.declared:
        told = [] if listed else [("any one key", error_text(bound.error.one_bin(NOTED)))]
    if goal == "top" and listed:
        for measure in headline(bound.measures):
            value = measure.at(NOTED)
            if value is not None:
                size = f"{measure.sign}{reach(value.value)}" if measure.sign else error_text(value)
                told.append((measure.words, f"{size} {measure.origin}".strip()))
    least_shown = None if listed else _shown_from(bound.error)
    return told if least_shown is None else [*told, ("shown from a count of", shown(least_shown))]


def _shown_from(error: ErrorModel) -> int | None:
    """The count from which on a bin is shown 95 times in 100, of a mechanism that leaves small ones out."""
    empty = error.chance_shown(0)
    if empty is None or empty >= RARE:
        return None
    found = least(lambda count: count > LARGEST_COUNT or (error.chance_shown(count) or 0) >= SURE)
    return found if found <= LARGEST_COUNT else None


def _settings(row: Advised, here: Advised | None) -> str:
    """The settings in which it differs from the plan on show, where that is the same mechanism."""
    if here is None or row is here or row.name != here.name:
        return ""
    now, own = here.mechanism.parameters(), row.mechanism.parameters()
    named = {choice.name: choice for choice in type(row.mechanism).choices()}
    told = []
    for name, value in own.items():
        if name in named and value != now.get(name):
            told.append(f"{named[name].label}: {dict(named[name].options).get(value, value) or 'not set'}")
    return "; ".join(told)


protect_module(vars())
