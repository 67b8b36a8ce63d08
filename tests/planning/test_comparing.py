"""The advice beside a plan: the first mechanisms with the errors of their laws, the reason, and whether a better one is
known; the first choice that is in use loads no other."""

from __future__ import annotations

import subprocess
import sys
from fractions import Fraction
from typing import Any

import pytest

import dpviz as dv
from dpviz.model.goals import Goal
from dpviz.model.mechanism import Bound, Mechanism
from dpviz.model.question import Question
from dpviz.planning.advice import NOTED, advise, error_text, goal_of, times_text
from dpviz.planning.comparing import FIRST, advice_json
from dpviz.privacy.conversion import to_approx
from dpviz.privacy.unit import Unit
from dpviz.session.plan import Plan

FIFTY = dv.Domain.integers(0, 49, column="x")
MANY = dv.Domain.integers(0, 511, column="x")
MINUTES = dv.Domain.integers(0, 525_599, column="x")
KEYS = dv.Domain.keys(column="x")
RECORD = dv.Question.records([dv.Domain.categories(["a", "b", "c"], column="x")])


def bound_of(mechanism: Any, asked: object, unit: Unit | None = None) -> Bound:
    bound: Bound = mechanism.bind(*Question.of(asked).resolved(unit or Unit()))
    return bound


def told(mechanism: Any, asked: object, goal: Goal | None = None, **more: Any) -> dict[str, Any]:
    return advice_json(bound_of(mechanism, asked), mechanism, lambda one: True, goal=goal, **more)


CASES: list[Any] = [
    (dv.Dense("1/2"), FIFTY, None),
    (dv.Dense("1/2"), FIFTY, "look-ups"),
    (dv.ExponentialTopK(10, "1"), FIFTY, None),
    (dv.Dense("1/2"), MINUTES, None),
    (dv.Tree("1/2"), MINUTES, None),
    (dv.Stability("1/2", "1e-6"), KEYS, "bins"),
    (dv.Stability("1/2", "1e-6"), KEYS, None),
    (dv.TopK(10, 50, "1", "1e-6"), KEYS, None),
    (dv.ALP("1/2", keys=4000, cap=600), KEYS, None),
    (dv.SampleCategory("1/2"), RECORD, None),
]


@pytest.mark.parametrize(("mechanism", "asked", "goal"), CASES, ids=[f"{one[0].name}-{one[2]}" for one in CASES])
def test_the_first_mechanisms_are_those_of_the_advice_at_the_price_that_is_typed(
    mechanism: Mechanism, asked: object, goal: Goal | None
) -> None:
    bound, body = bound_of(mechanism, asked), told(mechanism, asked, goal)
    price = to_approx(bound.price.loss)
    items = bound.max_items if body["goal"] == "top" else None
    advice = advise(bound.question, bound.unit, price.epsilon, price.delta, goal or goal_of(bound), items)
    names = [row.name for row in advice.rows[:FIRST]]
    rows = [row for row in body["rows"] if not row["here"] or row["mechanism"] in names]
    assert [row["mechanism"] for row in rows][: len(names)] == names
    assert [row["first"] for row in body["rows"]] == [True] + [False] * (len(body["rows"]) - 1)
    assert sum(row["here"] for row in body["rows"]) == (body["goal"] in mechanism.serves)
    for row in body["rows"]:
        assert row["price"]["epsilon"] == str(float(price.epsilon)).removesuffix(".0")
        assert Fraction(row["price"]["delta"]) <= price.delta
        assert row["why"].endswith(".") and row["about"] and row["errors"]


def test_errors_are_those_of_the_laws_for_one_bin_and_for_all() -> None:
    for row in told(dv.Dense("1/2"), FIFTY)["rows"]:
        kind = getattr(dv, row["mechanism"])
        error = bound_of(kind.from_parameters({"epsilon": "1/2", **row["parameters"]}), FIFTY).error
        one, every = error_text(error.one_bin(NOTED)), error_text(error.all_bins(NOTED))
        said = {error["label"]: error["said"] for error in row["errors"]}
        assert (said["any one bin"], said["all 50 bins"]) == (one, every) and one != every


@pytest.mark.parametrize(("mechanism", "asked"), [(dv.Stability("1/2", "1e-6"), KEYS), (dv.Threshold("1/2"), FIFTY)])
def test_a_mechanism_that_leaves_small_counts_out_says_from_which_on_a_bin_is_shown(mechanism: Any, asked: Any) -> None:
    body = told(mechanism, asked, "bins")
    said = {row["mechanism"]: {error["label"]: error["said"] for error in row["errors"]} for row in body["rows"]}
    error, label = bound_of(mechanism, asked).error, "shown from a count of"
    least = int(said[mechanism.name][label])
    assert error.chance_shown(least) >= 0.95 > error.chance_shown(least - 1)  # type: ignore[operator]
    assert label not in said.get("Dense", {})


@pytest.mark.parametrize(
    ("mechanism", "asked", "beaten"),
    [
        (dv.Dense("1/2"), FIFTY, False),
        (dv.Dense("1/2", clamp=False), FIFTY, False),
        (dv.Threshold("1/2"), FIFTY, True),
        (dv.ExponentialTopK(10, "1"), FIFTY, True),
        (dv.Dense("1/2"), MINUTES, True),
        (dv.Tree("1/2"), MINUTES, False),
        (dv.Stability("1/2", "1e-6"), KEYS, False),
    ],
    ids=lambda one: getattr(one, "name", None),
)
def test_a_better_way_is_known_where_another_mechanism_errs_notably_less(
    mechanism: Any, asked: object, beaten: bool
) -> None:
    body = told(mechanism, asked)
    assert body["beaten"] is beaten
    assert body["says"].endswith("and in use.") is (not beaten and mechanism.name != "Stability")


def test_the_lines_are_those_of_a_plan_in_python() -> None:
    for mechanism, asked in ((dv.ExponentialTopK(10, "1"), FIFTY), (dv.Dense("1/2"), MANY), (dv.Tree("1/2"), MINUTES)):
        lines = repr(Plan(bound_of(mechanism, asked))).splitlines()
        body = told(mechanism, asked)
        assert body["told"] and all(f"  {one['head']:<12} {one['text']}" in lines for one in body["told"])
        assert len(body["told"]) == sum(line.split()[0] in ("ranges", "sums", "better") for line in lines)


def test_settings_that_err_more_are_named_beside_those_that_are_suggested() -> None:
    worse = dv.Dense("1/2", base="gaussian", delta="1e-9")
    rows = told(worse, FIFTY)["rows"]
    assert (rows[0]["mechanism"], rows[0]["here"]) == ("Dense", False)
    assert "Noise law: exp" in rows[0]["settings"] and rows[-1]["here"] and rows[-1]["parameters"]["base"] == "gaussian"


def test_where_a_budget_counts_rho_a_mechanism_that_takes_more_of_it_is_not_called_better() -> None:
    first = told(dv.Threshold("1/2"), FIFTY)["rows"][0]["mechanism"]
    assert first == "Dense"
    for dense, better in ((Fraction(1, 100), True), (Fraction(1, 5), False)):
        rho = {"Dense": dense, "Threshold": Fraction(1, 50)}
        body = told(dv.Threshold("1/2"), FIFTY, rho=lambda bound, rho=rho: rho.get(bound.mechanism.name, Fraction(1)))
        assert body["beaten"] is better and body["rows"][0]["rho"] == str(float(dense))
        assert not any(one["head"] == "better" for one in body["told"])


def test_mechanisms_that_the_session_cannot_plan_are_left_out() -> None:
    body = advice_json(bound_of(dv.Dense("1/2"), FIFTY), dv.Dense("1/2"), lambda one: one.name != "Threshold")
    assert [row["mechanism"] for row in body["rows"]] == ["Dense"]
    none = advice_json(bound_of(dv.Dense("1/2"), FIFTY), dv.Dense("1/2"), lambda one: False)
    assert [(row["here"], row["first"]) for row in none["rows"]] == [(True, False)]
    assert none["says"] == "No mechanism tells every bin at this price."


LOADED = """
import sys
import dpviz as dv
from dpviz.model.question import Question
from dpviz.planning.comparing import advice_json
from dpviz.privacy.unit import Unit
made = dv.Dense("1/2")
bound = made.bind(*Question.of(dv.Domain.integers(0, 49, column="x")).resolved(Unit()))
body = advice_json(bound, made, lambda one: True, rows={rows})
print(body["rows"] is None, "dpviz.mechanisms.threshold" in sys.modules)
"""


@pytest.mark.parametrize(("rows", "said"), [(False, "True False"), (True, "False True")])
def test_the_first_choice_in_use_is_known_without_loading_another_mechanism(rows: bool, said: str) -> None:
    found = subprocess.run([sys.executable, "-c", LOADED.format(rows=rows)], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == said


def test_a_large_ratio_is_told_in_two_digits() -> None:
    assert times_text(Fraction(9_999, 100)) == "99 times" and times_text(Fraction(320_654, 1000)) == "320 times"
