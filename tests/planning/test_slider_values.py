"""The mechanisms at each value of a plan's slider: worked out once, and the same wherever the slider stands."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest

import dpviz as dv
from dpviz.model.question import Question
from dpviz.planning import sheet as sheets
from dpviz.planning.sheet import Fans, PlanSheet

BINS = Question.of(dv.Domain.integers(0, 9, column="x"))
KEYS = Question.of(dv.Domain.keys(column="x"))
MADE = dv.Unit(relation="replace-one", n=100)
CASES: dict[str, tuple[Any, Any, dv.Unit, Any]] = {
    "Dense": (dv.Dense(1), dv.Dense("1/7"), dv.Unit(), dv.Dense(1, base="gaussian", delta="1e-6")),
    "Gaussian": (
        dv.Dense(1, base="gaussian", delta="1e-6"),
        dv.Dense("1/7", base="gaussian", delta="1e-6"),
        dv.Unit("user", max_bins=5),
        dv.Dense(1, base="gaussian", delta="1e-7"),
    ),
    "Tree": (dv.Tree(1), dv.Tree("1/7"), dv.Unit(), dv.Tree(1, branching=3)),
    "Compact": (dv.Compact(1), dv.Compact("1/7"), MADE, dv.Compact(1, cap=50)),
}


def said(epsilon: Fraction, bound: Any) -> tuple[Any, ...]:
    return epsilon, bound.mechanism.python, bound.price, bound.question.id


def told(sheet: PlanSheet) -> list[tuple[Any, ...]]:
    return [said(epsilon, bound) for epsilon, bound in sheet.fan]


@pytest.mark.parametrize("name", CASES)
def test_they_are_the_same_wherever_the_slider_stands_and_others_where_anything_else_is(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sheets, "FANS", Fans())
    here, moved, unit, other = CASES[name]
    first = PlanSheet(BINS, unit, here, Fraction(2))
    kept = first.fan
    assert PlanSheet(BINS, unit, moved, Fraction(2)).fan is kept, "worked out twice"
    monkeypatch.setattr(sheets, "FANS", Fans())
    fresh = PlanSheet(BINS, unit, moved, Fraction(2))
    assert told(fresh) == [said(epsilon, bound) for epsilon, bound in kept]
    for changed in (
        PlanSheet(BINS, unit, other, Fraction(2)),
        PlanSheet(BINS, unit, here, Fraction(1)),
        PlanSheet(Question.of(dv.Domain.integers(0, 8, column="x")), unit, here, Fraction(2)),
    ):
        assert changed.fan is not fresh.fan and told(changed) != told(fresh)


def test_only_the_latest_are_kept_and_none_that_was_cut_short() -> None:
    fans, made = Fans(most=2), []

    def make() -> list[Any]:
        made.append(1)
        return []

    def fail() -> list[Any]:
        raise KeyboardInterrupt

    for key in (1, 2, 1, 3, 1, 2):  # 2 is gone by then
        fans.of(key, make)
    assert len(made) == 4
    with pytest.raises(KeyboardInterrupt):
        fans.of(4, fail)
    fans.of(4, make)
    assert len(made) == 5


def test_stability_and_its_names_are_planned_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sheets, "FANS", Fans())
    one = PlanSheet(KEYS, dv.Unit(), dv.Stability(1, "1e-6"), Fraction(2))
    two = PlanSheet(KEYS, dv.Unit(), dv.KeySelection(1, "1e-6"), Fraction(2))
    assert {bound.mechanism.name for _, bound in one.fan} == {"Stability"}
    assert {bound.mechanism.name for _, bound in two.fan} == {"KeySelection"}
