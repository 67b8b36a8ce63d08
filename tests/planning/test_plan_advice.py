"""A plan names what its mechanism loses to, with both errors, and the errors of ranges before they are paid for."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import dpviz as dv
from dpviz.model.question import Question
from dpviz.planning.advice import NOTED, advise, first_mechanisms, sum_error
from dpviz.privacy.conversion import to_approx
from dpviz.privacy.unit import Unit
from dpviz.session.plan import Plan

FIFTY = dv.Domain.integers(0, 49, column="x")
MANY = dv.Domain.integers(0, 511, column="x")
DAYS = dv.Domain.times("2020", "2024", by="day", column="t")


def planned(mechanism: Any, domain: dv.Domain, unit: Unit | None = None) -> str:
    return repr(Plan(mechanism.bind(*Question.of(domain).resolved(unit or Unit()))))


def line(said: str, head: str) -> str:
    return next((one.strip() for one in said.splitlines() if one.startswith(f"  {head} ")), "")


def test_the_ten_largest_of_fifty_bins_are_better_sorted_from_counts_and_the_race_says_so() -> None:
    said = line(planned(dv.ExponentialTopK(10, "1"), FIFTY), "better")
    every = dv.Dense("1").bind(*Question.of(FIFTY).resolved(Unit())).error.all_bins(NOTED)
    law = dv.ExponentialTopK(10, "1").bind(*Question.of(FIFTY).resolved(Unit())).error
    own = max((value for place in range(1, 11) if (value := law.rank(place, NOTED))), key=lambda value: value.value)
    assert every is not None and own.value > 4 * every.value
    assert said == (
        f'better       dv.Dense(epsilon="1"), its counts sorted, for the same price: the order of the 10 largest '
        f"≤ {2 * every.value}, here ≤ {own.value}"
    )


@pytest.mark.parametrize(
    ("mechanism", "domain", "unit"),
    [
        (dv.Dense("1/2"), FIFTY, Unit()),
        (dv.ExponentialTopK(2, "1"), FIFTY, Unit("user", max_bins=30)),
        (dv.Tree("1/2"), dv.Domain.integers(0, 9_999, column="x"), Unit()),
        (dv.KeyCount(epsilon="1/2"), FIFTY, Unit()),
    ],
    ids=["counts", "a list of users in many bins", "ranges", "a number"],
)
def test_a_mechanism_that_does_not_lose_badly_names_no_other(mechanism: Any, domain: dv.Domain, unit: Unit) -> None:
    assert line(planned(mechanism, domain, unit), "better") == ""


@pytest.mark.parametrize(
    ("mechanism", "bins"),
    [
        (dv.TopK(3, 3, "1/2", "1e-7"), 10),
        (dv.ExponentialTopK(10, "1/2"), 10),
        (dv.TopKLaplace(10, 10, "1/2", "1e-7"), 10),
        (dv.ExponentialTopK(15, "1"), 20),
    ],
)
def test_lists_are_compared_with_lists_of_as_many_items_and_at_every_place(mechanism: Any, bins: int) -> None:
    """Of all bins in a list the last place is never wrong, which says nothing about their order."""
    said = line(planned(mechanism, dv.Domain.integers(0, bins - 1, column="x")), "better")
    assert (
        f"its counts sorted, for the same price: the order of the {mechanism.k} largest ≤ " in said
        and "≤ 0" not in said
    )
    advice = advise(
        *Question.of(dv.Domain.integers(0, bins - 1, column="x")).resolved(Unit()), Fraction(1, 2), goal="top"
    )
    assert advice.rows[0].name == "Dense"


def test_the_first_of_an_advice_names_no_other_as_better() -> None:
    minutes = dv.Domain.integers(0, 525_599, column="x")
    first = advise(*Question.of(minutes).resolved(Unit()), Fraction(1, 2), goal="bins").rows[0]
    assert first.name == "Threshold" and "Dense" not in line(planned(first.mechanism, minutes), "better")


@pytest.mark.parametrize(
    ("goal", "delta", "first"),
    [
        ("bins", "0", None),
        ("bins", "1e-9", "Stability"),
        ("look-ups", "0", "ALP"),
        ("look-ups", "1e-9", "ALP"),
        ("top", "0", None),
        ("top", "1e-9", "TopKLaplace"),
    ],
)
def test_advice_never_costs_more_delta_than_it_is_given(goal: Any, delta: str, first: str | None) -> None:
    """Threshold and sketches behind one suggest a delta of their own, a millionth, for unknown keys."""
    asked = Question.of(dv.Domain.keys(column="x")).resolved(Unit())
    advice = advise(*asked, Fraction(1, 2), Fraction(delta), goal)
    assert all(to_approx(row.bound.price.loss).delta <= Fraction(delta) for row in advice.rows)
    assert next((row.name for row in advice.rows), None) == first
    told = [why for why in advice.refused.values() if "may be spent" in why]
    assert bool(told) == (goal != "top")


def test_a_goal_that_a_question_cannot_have_is_none() -> None:
    asked = Question.of(dv.Domain.categories(["a", "b", "c"], column="x")).resolved(Unit())
    price = Fraction(1, 2), Fraction(0)
    plain = [repr(made) for made in first_mechanisms(*asked, *price)]
    assert [repr(made) for made in first_mechanisms(*asked, *price, goal="ranges")] == plain
    assert [repr(made) for made in first_mechanisms(*asked, *price, goal="look-ups")] != plain


def test_in_a_budget_of_rho_no_mechanism_of_the_same_epsilon_is_called_better(tmp_path: Path) -> None:
    """At (1/2, 1e-7) Gaussian noise books 0.0062, and a pure tree of the same epsilon 0.0208."""
    rows = pd.DataFrame({"x": [0, 1]})
    for kind, told in (("zcdp", False), ("pure", True)):
        budget = dv.Budget(1, "1e-6", filter="zcdp") if kind == "zcdp" else dv.Budget(1, "1e-6")
        session = dv.Session(rows, Unit("row"), budget, tmp_path / f"{kind}.ledger")
        plan = session.plan(dv.Domain.integers(0, 99_999, column="x"), dv.Dense("1/2", base="gaussian", delta="1e-7"))
        assert bool(line(repr(plan), "better")) is told


def test_no_better_mechanism_costs_a_delta_that_the_plan_does_not_spend() -> None:
    assert "Tree" in line(planned(dv.Dense("1/2"), dv.Domain.integers(0, 525_599, column="x")), "better")
    categories = dv.Domain.categories([f"c{place}" for place in range(60_000)], column="x")
    assert "delta" not in line(planned(dv.Dense("1/2"), categories), "better")


def test_clamped_counts_say_what_their_sum_costs_and_how_to_avoid_it() -> None:
    unit = Unit("user", max_bins=3)
    said = line(planned(dv.Dense("1/2"), MANY, unit), "sums")
    assert "2.8 times as wide as with clamp=False (±376), for the same price" in said
    question, protected = Question.of(MANY).resolved(unit)
    clamped, free = (
        sum_error(made.bind(question, protected), range(512))
        for made in (dv.Dense("1/2"), dv.Dense("1/2", clamp=False))
    )
    assert clamped is not None and free is not None and f"{float(clamped.value / free.value):.2g}" == "2.8"
    geometric = np.random.default_rng(11).geometric(1 - np.exp(-1 / 6), (2, 1000, 512))
    sums = abs((geometric[0] - geometric[1]).sum(axis=1))
    # 950 of 1,000 sums on average; fewer than 890 or 1,000 with chance below 1e-9
    assert 890 <= int((sums <= float(free.value)).sum()) < 1000
    assert line(planned(dv.Dense("1/2", clamp=False), MANY, unit), "sums") == ""
    assert line(planned(dv.Dense("1/2"), FIFTY), "sums") == ""


def test_the_plan_of_a_tree_has_the_errors_of_a_week_a_month_and_a_year_where_bins_are_days() -> None:
    bound = dv.Tree("1/2").bind(*Question.of(DAYS).resolved(Unit()))
    said = line(planned(dv.Tree("1/2"), DAYS), "ranges")
    for words, days in (("a week", 7), ("30 days", 30), ("365 days", 365)):
        first = (1461 - days) // 2
        error = bound.error.range(first, first + days - 1, NOTED)
        assert error is not None and f"{words} ±≈{error.value}" in said
    assert said.endswith("95 in 100 each") and line(planned(dv.Dense("1/2"), DAYS), "ranges") == ""
