"""The reserve of a zCDP budget: the share of its delta that is kept for the deltas of answers."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import dpviz as dv
from dpviz.errors import BudgetExceeded, CharterMismatch, LedgerFormat, ParameterError
from dpviz.privacy.concentrated import pure_rho, rho_within
from dpviz.privacy.loss import ApproxDP, RangeBounded
from dpviz.session import accountant
from dpviz.session.ledger import rows
from dpviz.session.ledger.chain import CONVERTING, RESERVING

BINS = dv.Domain.integers(0, 3, column="x")


def session(path: Path, **budget: Any) -> dv.Session:
    frame = pd.DataFrame({"x": [0, 1, 1, 3] * 30, "key": ["a", "b", "b", "c"] * 30})
    given = {"epsilon": "1", "delta": "1e-6", "filter": "zcdp", **budget}
    return dv.Session(frame, dv.Unit(), dv.Budget(**given), path / "own.ledger")


@pytest.mark.parametrize(
    ("reserve", "rho"),
    [(None, "0.022894466407"), ("1/2", "0.022894466407"), ("1/10", "0.024084550833"), ("1/100", "0.02428877461")],
)
def test_a_smaller_reserve_holds_a_larger_rho(reserve: Any, rho: str) -> None:
    budget = dv.Budget("1", "1e-6", "zcdp", reserve=reserve)
    caps = accountant.caps(budget)
    share = Fraction(reserve or "1/2")
    assert caps == {"rho": Fraction(rho), "delta": share * Fraction(1, 10**6), "shift": Fraction(1, 1000)}
    assert caps["rho"] == rho_within(1 - caps["shift"], budget.delta - caps["delta"]), "all of delta is spent once"
    assert accountant.from_json(budget.to_json()) == budget == accountant.budget(accountant.opened(budget))
    assert repr(budget) == repr(dv.Budget("1", "1e-6", "zcdp", reserve=reserve or "0.5"))


def test_without_a_reserve_no_epsilon_is_kept_for_shifts_which_have_a_delta() -> None:
    """(1, 0.000001) holds 487 answers of 1/100 then, and 486 with a thousandth of epsilon kept for nothing."""
    budget = dv.Budget("1", "1e-6", "zcdp", reserve=0)
    found = accountant.caps(budget)
    assert found["rho"] == rho_within(Fraction(1), budget.delta) and found["delta"] == 0
    assert [
        int(rho / pure_rho(Fraction(1, 100))) for rho in (found["rho"], rho_within(1 - found["shift"], budget.delta))
    ] == [
        487,
        486,
    ]
    shifting = RangeBounded(Fraction(1, 10), Fraction(1, 10**9), 3)
    assert accountant.booked("zcdp", shifting)["shift"] > 0
    with pytest.raises(BudgetExceeded) as refused:
        accountant.charge(accountant.opened(budget), shifting)
    assert refused.value.part == "delta"
    assert accountant.booked("zcdp", RangeBounded(Fraction(1, 10), steps=3))["shift"] == 0
    kept = {**accountant.opened(budget), "rho_cap": str(int(accountant.opened(budget)["rho_cap"]) // 2)}
    assert accountant.follows("charter", {"budget": budget.to_json()}, {}, kept), "a cap that was fixed stays in force"


def test_a_budget_that_names_none_is_written_as_before() -> None:
    assert "reserve" not in dv.Budget("1", "1e-6", "zcdp", reserve="1/2").to_json()
    assert "reserve" not in accountant.opened(dv.Budget("1", "1e-6", "zcdp"))
    assert 'reserve="0.1"' in repr(dv.Budget("1", "1e-6", "zcdp", reserve=Fraction(1, 10)))


@pytest.mark.parametrize("part", ["rho_cap", "delta_cap"])
def test_a_ledger_that_gives_delta_away_twice_is_refused(part: str) -> None:
    """Half of delta for answers, and rho as if that half were there to convert it: the caps of two reserves."""
    halves, tenth = dv.Budget("1", "1e-6", "zcdp"), dv.Budget("1", "1e-6", "zcdp", reserve="1/10")
    for budget, other in ((halves, tenth), (tenth, halves)):
        right, wrong = accountant.opened(budget), accountant.opened(other)
        assert accountant.follows("charter", {"budget": budget.to_json()}, {}, right)
        mixed = {**right, part: wrong[part]}
        larger = int(wrong[part]) > int(right[part])
        assert accountant.follows("charter", {"budget": budget.to_json()}, {}, mixed) is not larger


def test_answers_cost_the_reserve_of_delta_at_most(tmp_path: Path) -> None:
    it = session(tmp_path, reserve="1/10")
    assert it.remaining.delta == Fraction(1, 10**7) and it.budget.for_answers == it.remaining.delta
    with pytest.raises(BudgetExceeded, match="0.0000001 is left"):
        it.release("key", dv.Stability("1/10", "2e-7"))
    it.release("key", dv.Stability("1/10", "1e-7"))
    assert it.remaining.delta == 0 and it.ledger.verify()
    again = session(tmp_path, reserve="1/10")
    assert again.remaining == it.remaining and again.budget == it.budget
    with pytest.raises(CharterMismatch, match='reserve is "0.1" in the ledger'):
        session(tmp_path)


def test_a_raise_keeps_the_reserve(tmp_path: Path) -> None:
    it = session(tmp_path, reserve="1/10")
    it.release(BINS, dv.Dense("1/20"))
    with pytest.raises(ParameterError, match=r'write Budget\(..., reserve="0.1"\)'):
        it.raise_budget(dv.Budget("2", "1e-6", "zcdp"))
    it.raise_budget(dv.Budget("2", "1e-5", "zcdp", reserve="1/10"))
    assert it.remaining.caps == accountant.caps(dv.Budget("2", "1e-5", "zcdp", reserve="0.1")) and it.ledger.verify()


def test_an_earlier_dpviz_refuses_a_ledger_that_names_a_reserve_by_its_number(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    it = session(tmp_path, reserve="1/10")
    it.ledger.detach()
    other = tmp_path / "other"
    other.mkdir()
    monkeypatch.setattr(rows, "FORMAT", RESERVING - 1)
    with pytest.raises(LedgerFormat, match="has format 5, and this dpviz reads up to 4; upgrade dpviz"):
        session(tmp_path, reserve="1/10")
    assert session(other).ledger.verify() and RESERVING == CONVERTING + 1, "and reads one without"


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"reserve": 1}, "lie in"),
        ({"reserve": "-1/10"}, "lie in"),
        ({"reserve": "1/10", "filter": "basic"}, "belongs to a zCDP budget"),
        ({"reserve": "1/10", "conversion": "bun-steinke"}, "converts by cks"),
    ],
)
def test_bad_reserves_are_refused(given: dict[str, Any], says: str) -> None:
    with pytest.raises(ParameterError, match=says):
        dv.Budget(**{"epsilon": "1", "delta": "1e-6", "filter": "zcdp", **given})


def test_the_plan_says_what_the_session_promises_and_what_the_spent_amount_is(tmp_path: Path) -> None:
    it = session(tmp_path)
    plan = it.plan(BINS, dv.Dense("1/2", "gaussian", delta="1e-6"))
    limited = it.remaining.had_been_limited(plan.price)
    assert limited == ApproxDP(Fraction("0.561103"), Fraction(1, 10**6))
    said = " ".join(repr(plan).split())
    assert "all answers of this session are (1, 0.000001) at most, whatever is asked" in said
    assert "had the session been limited to the ρ 0.007711003912 spent by then, that would be (0.561103" in said
    it.release(BINS, dv.Dense("1/2", "gaussian", delta="1e-6"))
    more = it.remaining.had_been_limited(plan.price)
    assert more is not None and limited is not None and limited.epsilon < more.epsilon < 1
    unaffordable = it.plan(BINS, dv.Dense("2"))
    assert not unaffordable.affordable and "together" not in repr(unaffordable)
    (tmp_path / "basic").mkdir()
    basic = session(tmp_path / "basic", filter="basic")
    assert basic.remaining.had_been_limited(plan.price) is None
    assert "together" not in repr(basic.plan(BINS, dv.Dense("1/2")))
