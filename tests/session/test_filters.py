"""A session under each filter: what it says is left, what it pays for, what its ledger keeps."""

from __future__ import annotations

import math
from fractions import Fraction
from math import tanh
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import dpviz as dv
from dpviz.cli import main
from dpviz.errors import BudgetExceeded, CharterMismatch, ParameterError
from dpviz.session.session import Session
from dpviz.widgets.state import session_state
from tests.patience import patience
from tests.session.sources import Gate, KnownCounts, KnownTop

pytestmark = pytest.mark.usefixtures("no_disk_is_waited_for")

COUNTS = [731, 0, 842, 5]
BINS = dv.Domain.integers(0, 3, column="x")
BASIC, ZCDP = dv.Budget("1", "1e-6"), dv.Budget("1", "1e-6", filter="zcdp")
TENTH = Fraction(math.ceil(0.1 * tanh(0.05) * 10**12), 10**12)
"""The rho of a pure answer of 0.1."""


def session(tmp_path: Path, budget: dv.Budget) -> Session:
    return Session(KnownCounts(COUNTS), dv.Unit(noun="person"), budget, tmp_path / "test.ledger")


def test_many_small_answers_fit_under_zcdp_and_their_sum_does_not(tmp_path: Path) -> None:
    """Each costs nearly 0.00005 of ρ 0.0229: a hundred and fifty of 0.01 spend 1.5 by the sum."""
    it = session(tmp_path, ZCDP)
    for turn in range(150):
        it.release(BINS, dv.Dense("0.01"), key=str(turn))
    spent = float(it.remaining.caps["rho"] - it.remaining.parts["rho"])
    assert 0 <= spent - 150 * 0.01 * tanh(0.005) <= 150e-12
    assert len(it.releases) == 150 and sum(release.guarantee.epsilon for release in it.releases.values()) > 1


def test_a_single_large_answer_does_not_fit_and_the_largest_that_is_named_does(tmp_path: Path) -> None:
    it = session(tmp_path, ZCDP)
    with pytest.raises(BudgetExceeded, match="ask for one answer of at most ε = 0.214392. Nothing was charged") as no:
        it.release(BINS, dv.Dense("0.5"))
    assert no.value.part == "rho" and it.remaining.parts == it.remaining.caps
    most = it.remaining.epsilon
    assert (
        it.plan(BINS, dv.Dense(most)).affordable and not it.plan(BINS, dv.Dense(most + Fraction(1, 10**6))).affordable
    )
    it.release(BINS, dv.Dense(most))
    assert it.remaining.epsilon < Fraction(1, 1000) and most * tanh(most / 2) <= float(it.remaining.caps["rho"])


def test_a_plan_says_what_it_takes_of_rho(tmp_path: Path) -> None:
    it = session(tmp_path, ZCDP)
    cheap, dear = repr(it.plan(BINS, dv.Dense("0.1"))), repr(it.plan(BINS, dv.Dense("0.5")))
    assert "would cost   ε 0.1 per person; ρ 0.004995837496, of the 0.022894466407 left under the zCDP filter" in cheap
    assert "ρ 0.122459331202, more than the 0.022894466407 left under the zCDP filter" in dear
    (tmp_path / "basic").mkdir()
    assert "leaves 0.9 of 1" in repr(session(tmp_path / "basic", BASIC).plan(BINS, dv.Dense("0.1")))


@pytest.mark.parametrize(
    "mechanism",
    [
        dv.Dense("1", base="gaussian", delta="1e-6"),
        dv.Dense("1"),
        dv.Tree("2"),
        dv.Threshold("3", delta="1e-7"),
    ],
    ids=lambda made: type(made).__name__ + getattr(made, "base", ""),
)
def test_a_plan_that_does_not_fit_names_the_epsilon_that_does(tmp_path: Path, mechanism: Any) -> None:
    it = session(tmp_path, ZCDP)
    dear = it.plan(BINS, mechanism)
    (line,) = [line for line in repr(dear).splitlines() if line.startswith("  fits")]
    assert ("the exact rule of its proof" in line) is (getattr(mechanism, "base", "") == "gaussian")
    most = Fraction(line.split("ε ")[1].split(" ")[0])
    step = Fraction(10) ** (math.floor(math.log10(mechanism.epsilon)) - 2)
    fitting, above = (it.plan(BINS, mechanism.with_epsilon(found)) for found in (most, most + step))
    assert fitting.affordable and not above.affordable
    assert not [line for line in repr(fitting).splitlines() if line.startswith("  fits")]


def test_a_plan_with_a_profile_names_no_epsilon_of_the_counts_alone(tmp_path: Path) -> None:
    frame = pd.DataFrame({"u": [1, 1, 2], "x": [0, 1, 2]})
    it = Session(frame, dv.Unit("u", max_bins=2), ZCDP, tmp_path / "users.ledger")
    alone, both = (it.plan(BINS, dv.Dense("1"), **given) for given in ({}, {"over": dv.Dense("1/10")}))
    assert not both.affordable and not alone.affordable
    assert "  fits " in repr(alone) and "  fits " not in repr(both)


def test_a_plan_names_the_part_that_does_not_fit(tmp_path: Path) -> None:
    keys, most = dv.Domain.keys(column="dest"), "0.00001"
    for budget, said in (
        (dv.Budget("2", "1e-6"), "; more than the δ 0.000001 that is left"),
        (dv.Budget("0.5", most), "; more than the 0.5 that is left"),
    ):
        (tmp_path / budget.text).mkdir()
        it = session(tmp_path / budget.text, budget)
        plan = it.plan(keys, dv.Stability("1", delta=most))
        assert said in repr(plan) and not plan.affordable


def test_a_ledger_keeps_its_filter(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    session(tmp_path, ZCDP).release(BINS, dv.Dense("0.1"))
    with pytest.raises(CharterMismatch, match="budget"):
        session(tmp_path, BASIC)
    again = session(tmp_path, ZCDP)
    assert again.budget == ZCDP and again.remaining.caps["rho"] - again.remaining.parts["rho"] == TENTH
    with pytest.raises(ParameterError, match="a ledger keeps its filter"):
        again.raise_budget(dv.Budget("2", "1e-6"))
    again.raise_budget(dv.Budget("2", "1e-6", filter="zcdp"))
    assert again.remaining.caps["rho"] > Fraction(8, 100) and again.ledger.verify().charges == 1
    assert main(["ledger", "show", str(tmp_path / "test.ledger")]) == 0
    assert "budget    conversion cks, delta 0.000001, epsilon 2, filter zcdp" in capsys.readouterr().out


def test_the_page_is_told_of_rho_and_of_one_answer(tmp_path: Path) -> None:
    it = session(tmp_path, ZCDP)
    it.release(BINS, dv.Dense("0.1"))
    told = session_state(it, {})["budget"]
    assert told["rho"] == {
        "total": "0.022894466407",
        "spent": "0.004995837496",
        "pending": "0",
        "left": "0.017898628911",
    }
    assert told["epsilon"] == {"total": "0.214392", "spent": "0.024908", "pending": "0", "left": "0.189484"}
    assert told["delta"]["total"] == "0.0000005" and told["shift"]["left"] == "0.001"
    (tmp_path / "basic").mkdir()
    assert set(session_state(session(tmp_path / "basic", BASIC), {})["budget"]) == {"epsilon", "delta"}


def test_a_charge_without_an_outcome_is_pending_in_rho(tmp_path: Path) -> None:
    gate = Gate()
    it = Session(KnownCounts(COUNTS, before=gate), dv.Unit(noun="person"), ZCDP, tmp_path / "test.ledger")
    running = it.release_async(BINS, dv.Dense("0.1"))
    assert gate.reached.wait(patience())
    told = session_state(it, {})["budget"]["rho"]
    gate.open.set()
    running.result()
    assert Fraction(told["pending"]) == TENTH and told["spent"] == "0"
    assert Fraction(session_state(it, {})["budget"]["rho"]["spent"]) == TENTH


def test_a_report_says_what_its_ledger_charged_in_rho(tmp_path: Path) -> None:
    it = session(tmp_path, ZCDP)
    it.release(BINS, dv.Dense("0.1"), key="not shown")
    page = dv.report([it.release(BINS, dv.Dense("0.1"))], tmp_path / "report.html", ledger=it).read_text()
    assert (
        "The ledger has charged ρ 0.009991674992 of 0.022894466407 and δ 0 of 0.0000005 under the zCDP filter "
        "for 2 entries; this report shows 1 of them."
    ) in page


# ---------------------------------------------------------------- lists: booked by their steps

PLACES = KnownTop({"": {"Aachen": 300, "Bonn": 230, "Celle": 160}})


def users(tmp_path: Path, budget: dv.Budget) -> Session:
    return Session(PLACES, dv.Unit("person", max_bins=2), budget, tmp_path / "test.ledger")


def test_a_list_is_booked_by_its_steps_with_their_delta_and_their_shift(tmp_path: Path) -> None:
    """Ten steps of 0.1 cost about 1 by themselves, which would be ρ 0.5; as steps they cost 10 (0.1)^2/8."""
    it = users(tmp_path, dv.Budget("2", "1e-5", filter="zcdp"))
    before = it.remaining
    lists = dv.TopK(10, kbar=20, epsilon_per_item="0.1", delta="1e-7", delta_prime="1e-7")
    plan = it.plan(dv.Domain.keys(column="dest"), lists)
    assert plan.affordable and plan.price.loss.epsilon > Fraction(9, 10)  # type: ignore[union-attr]
    it.release(dv.Domain.keys(column="dest"), lists)
    spent = {part: before.parts[part] - it.remaining.parts[part] for part in before.parts}
    assert spent["rho"] == Fraction(1, 80) and spent["delta"] == Fraction(1, 10**7)
    assert Fraction(10, 10**7) * (1 - Fraction(1, 10**7)) <= spent["shift"] <= Fraction(10, 10**7) + Fraction(1, 10**12)


def test_a_sub_session_is_booked_once_for_all_its_symbols(tmp_path: Path) -> None:
    it = users(tmp_path, dv.Budget("2", "1e-5", filter="zcdp"))
    before = it.remaining
    sub = it.open(dv.PayWhatYouGet(symbols=50, questions=20, epsilon_per_item="0.05", delta="1e-8", delta_prime="1e-7"))
    after = it.remaining
    sub.ask(dv.Domain.keys(column="dest"), k=3, kbar=5)
    assert it.remaining == after
    spent = {part: before.parts[part] - after.parts[part] for part in before.parts}
    assert spent["rho"] == 50 * Fraction(1, 3200) and spent["delta"] == 20 * Fraction(1, 10**8)
    assert 0 <= spent["shift"] - 50 * Fraction(1, 10**8) * (1 - Fraction(1, 10**8)) < Fraction(1, 10**11)
    told = session_state(it, {})["budget"]["rho"]
    assert told["spent"] == "0.015625" and told["pending"] == "0"
