"""The decision page of the documentation is written from the advisor: a rule that moves in one moves in the other."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import pytest

from dpviz.errors import ParameterError
from dpviz.mechanisms import REGISTRY
from dpviz.planning import advice
from dpviz.planning.advice import Advised, first_mechanisms
from tools.site import which

Patch = pytest.MonkeyPatch


def test_the_page_is_what_the_advisor_says() -> None:
    assert which.page() == which.PAGE.read_text(encoding="utf-8"), "python -m tools.site.which writes the page"


def offered(patch: Patch, name: str, **changed: Any) -> None:
    """Let a mechanism describe itself otherwise."""
    offers = dict(REGISTRY.offers())
    offers[name] = offers[name]._replace(**changed)
    patch.setattr(type(REGISTRY), "offers", lambda self: offers)


def least_error_last(row: Advised) -> tuple[bool, bool, int, Fraction]:
    return row.noise > advice.LEGIBLE, row.worst is None, len(row.suggested), -(row.worst or Fraction(0))


def suggestions_forgotten(row: Advised) -> tuple[bool, bool, Fraction]:
    return row.noise > advice.LEGIBLE, row.worst is None, row.worst or Fraction(0)


def noise_forgotten(row: Advised) -> tuple[bool, int, Fraction]:
    return row.worst is None, len(row.suggested), row.worst or Fraction(0)


def turned(goals: Callable[[Any], Any]) -> Callable[[Any], Any]:
    return lambda question: goals(question)[::-1]


TWINS: dict[str, Callable[[Patch], None]] = {
    "another size from which noise is not legible": lambda patch: patch.setattr(advice, "LEGIBLE", 9_999),
    "another ratio that is bad": lambda patch: patch.setattr(advice, "BADLY", 3),
    "errors that hold less often": lambda patch: patch.setattr(advice, "NOTED", Fraction(1, 10)),
    "goals in another order": lambda patch: patch.setattr(advice, "goals_of", turned(advice.goals_of)),
    "a goal in other words": lambda patch: patch.setattr(advice, "WORDS", {**advice.WORDS, "top": "the top"}),
    "the largest error first": lambda patch: patch.setattr(Advised, "order", property(least_error_last)),
    "suggestions count as facts": lambda patch: patch.setattr(Advised, "order", property(suggestions_forgotten)),
    "noise alone is no matter": lambda patch: patch.setattr(Advised, "order", property(noise_forgotten)),
    "another list whose errors are compared": lambda patch: patch.setattr(advice, "ITEMS", 5),
    "ranges from another length on": lambda patch: offered(patch, "Tree", worth_from=366),
    "a mechanism for one goal less": lambda patch: offered(patch, "Dense", serves=("bins", "ranges")),
    "another sentence about a mechanism": lambda patch: offered(patch, "Sorted", about="Counts in order."),
    "another mechanism that opens pages first": lambda patch: offered(patch, "Dense", first_choice=9),
}


@pytest.mark.parametrize("twin", TWINS.values(), ids=TWINS)
def test_a_rule_that_moves_in_the_advisor_moves_the_page(twin: Callable[[Patch], None], monkeypatch: Patch) -> None:
    twin(monkeypatch)
    assert which.page() != which.PAGE.read_text(encoding="utf-8")


def answers(mechanism: Any, kind: which.Kind) -> bool:
    try:
        mechanism.bind(kind.question, kind.unit)
    except ParameterError:
        return False
    return True


@pytest.mark.parametrize("kind", which.kinds(), ids=lambda kind: kind.title)
def test_a_workbench_opens_on_a_choice_of_the_page(kind: which.Kind) -> None:
    """The first; of keys and records, which it opens without a comparison, one of the first two."""
    found = first_mechanisms(kind.question, kind.unit, which.EPSILON, which.DELTA)
    opening = next(mechanism for mechanism in found if answers(mechanism, kind))
    goal = advice.usual_goal(kind.question, kind.unit, which.EPSILON, which.DELTA)
    rows = advice.advise(kind.question, kind.unit, which.EPSILON, which.DELTA, goal).rows
    compared = kind.question.domain.declared and kind.question.aggregate.additive
    assert opening.name in [row.name for row in rows[: 1 if compared else 2]]
    section = which.PAGE.read_text(encoding="utf-8").partition(f"### {kind.title}\n")[2].partition("### ")[0]
    assert opening.name in section
