"""A plan without a mechanism chooses the first of the advice for known bins, unknown keys and records, says why, and
costs nothing; the mechanism that it names is what a release takes."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import dpviz as dv
from dpviz.errors import DpvizError
from dpviz.planning.advice import advise
from dpviz.session.choosing import opening_delta, opening_epsilon

BINS = dv.Domain.integers(0, 41, column="x")
MINUTES = dv.Domain.integers(0, 525_599, column="x")
RECORD = dv.Question.records([dv.Domain.categories(["a", "b", "c"], column="word")])
BITS = dv.Question.records([dv.Domain.categories(["a", "b"], column="word")])


def session(folder: Path, budget: dv.Budget, unit: dv.Unit | None = None) -> dv.Session:
    rows = pd.DataFrame({"x": [1, 2, 3], "word": ["a", "b", "c"], "user": ["p", "p", "q"]})
    return dv.Session(rows, unit or dv.Unit("row"), budget, folder / "chosen.ledger")


@pytest.mark.parametrize(
    ("question", "delta", "name"),
    [
        (BINS, "1e-5", "Dense"),
        (MINUTES, "1e-5", "Tree"),
        ("word", "1e-5", "TopKLaplace"),
        ("word", "0", "ALP"),
        (RECORD, "0", "SampleCategory"),
        (BITS, "0", "SampleBounded"),
    ],
)
def test_the_first_of_the_advice_is_chosen_with_a_reason_for_it_and_for_the_next(
    tmp_path: Path, question: Any, delta: str, name: str
) -> None:
    desk = session(tmp_path, dv.Budget(5, delta))
    plan = desk.plan(question)
    assert plan.bound.mechanism.name == name and plan.price.loss is not None
    assert plan.reasons[0].startswith(f"{name}, the first choice for ")
    said = repr(plan)
    for head, reason in zip(("chosen", "second", "third"), plan.reasons, strict=False):
        assert f"  {head:<12} {reason}" in said.splitlines()
    assert repr(desk.plan(question, plan.bound.mechanism)) == "\n".join(
        line for line in said.splitlines() if line.split()[0] not in ("chosen", "second", "third")
    )
    assert desk.remaining.epsilon == 5 and len(desk.releases) == 0


def test_the_reasons_are_those_of_the_advice_in_its_order(tmp_path: Path) -> None:
    desk = session(tmp_path, dv.Budget(5, "1e-5"))
    asked = dv.Question.of(BINS).resolved(desk.unit)
    rows = advise(*asked, Fraction(1, 2), Fraction(1, 10**6)).rows
    names = [reason.replace(",", ":").split(":")[0] for reason in desk.plan(BINS).reasons]
    assert names == [row.name for row in rows[:3]] and len(set(names)) == 3


def test_the_chosen_mechanism_is_released_as_it_was_planned(tmp_path: Path) -> None:
    desk = session(tmp_path, dv.Budget(5, "1e-5"))
    plan = desk.plan(BINS, where={"word": ["a", "b"]})
    release = desk.release(BINS, plan.bound.mechanism, where={"word": ["a", "b"]})
    assert release.guarantee == plan.price and desk.remaining.epsilon == Fraction(9, 2)


def test_limits_of_the_call_are_those_of_the_plan(tmp_path: Path) -> None:
    desk = session(tmp_path, dv.Budget(5, "1e-5"), dv.Unit("user", max_bins=2))
    within = desk.plan(BINS, limits=dv.Limits(max_bins=7))
    assert within.bound.unit.max_bins == 7 and within.within == dv.Limits(max_bins=7)


@pytest.mark.parametrize(
    ("question", "more", "said"),
    [
        (BINS, {"by": dv.Domain.categories(["a", "b"], column="word")}, "a mechanism is chosen for one answer"),
        (BINS, {"over": dv.Dense("1/2")}, "a mechanism is chosen for one answer"),
        (BINS, {"delta": "1e-6"}, "a delta of all answers together"),
        ("nobody", {}, "nobody"),
        (dv.Domain.integers(0, 3, column="word"), {}, "word"),
    ],
    ids=["parts", "a profile", "a delta", "no such column", "bins of another kind"],
)
def test_questions_that_nothing_can_be_chosen_for_are_refused_in_their_own_words(
    tmp_path: Path, question: Any, more: Any, said: str
) -> None:
    desk = session(tmp_path, dv.Budget(5, "1e-5"))
    with pytest.raises(DpvizError, match=said) as refused:
        desk.plan(question, **more)
    assert "no mechanism answers" not in str(refused.value)


def test_the_price_is_a_tenth_of_the_budget_on_the_slider(tmp_path: Path) -> None:
    for place, budget in enumerate((dv.Budget(5, "1e-5"), dv.Budget("1/3"), dv.Budget(2, "1e-6", filter="zcdp"))):
        (tmp_path / str(place)).mkdir()
        remaining, _ = session(tmp_path / str(place), budget).known()
        assert budget.epsilon / 20 < opening_epsilon(remaining) <= budget.epsilon / 10
        assert opening_delta(remaining) == budget.delta / 10
    assert opening_epsilon(None) == Fraction(1, 2) and opening_delta(None) == Fraction(1, 10**6)
