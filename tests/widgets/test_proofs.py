"""Plan, history of the budget, answer and report name one rule: the one that proved the price that was paid."""

from __future__ import annotations

import html
import json
from pathlib import Path
from typing import Any

import pandas
import pytest

import dpviz as dv
from dpviz.charts.picture import picture
from dpviz.session.session import Session
from dpviz.widgets.session_model import SessionModel
from dpviz.widgets.state import entry_json
from tests.widgets.pages import Member

FRAME = pandas.DataFrame({"x": [0] * 700 + [1] * 20 + [2] * 3})
BINS = dv.Domain.integers(0, 3, column="x")
MECHANISMS = [
    dv.Dense("1/2"),
    dv.Dense("1/2", base="gaussian", delta="1e-6"),
    dv.Threshold("1/2", delta="1e-6"),
    dv.Tree("1/2"),
]


def session_on(path: Path, budget: dv.Budget) -> Session:
    return Session(FRAME, dv.Unit(noun="person"), budget, path)


@pytest.mark.parametrize("mechanism", MECHANISMS, ids=repr)
def test_one_rule_is_named_before_and_after_paying(tmp_path: Path, mechanism: Any) -> None:
    session = session_on(tmp_path / "a.ledger", dv.Budget(2, delta="1e-5"))
    plan = session.plan(BINS, mechanism)
    rule = plan.price.rule
    assert rule and plan.sheet.to_json()["now"]["proof"] == rule
    release = session.release(BINS, mechanism)
    (entry,) = session.record(9).entries
    assert [entry_json(entry)["proof"], picture(release)["proof"]] == [rule, rule]
    page = Member(SessionModel(session))
    assert json.loads(page.state)["entries"][0]["proof"] == rule
    assert rule in html.unescape(dv.report([release], tmp_path / "a.html").read_text(encoding="utf-8"))


def test_entries_of_a_zcdp_budget_name_the_rule_of_their_own_rho(tmp_path: Path) -> None:
    session = session_on(tmp_path / "a.ledger", dv.Budget(2, delta="1e-5", filter="zcdp"))
    session.release(BINS, dv.Dense("1/10"))
    session.release(BINS, dv.Dense("1/10", base="gaussian", delta="1e-6"))
    proofs = [entry_json(entry)["proof"] for entry in session.record(9).entries]
    assert len(set(proofs)) == 2 and "ρ" in proofs[1]


def test_a_lesson_names_no_rule_of_a_price() -> None:
    drawn = dv.teaching(FRAME, 7).draw(BINS, dv.Dense("1/2"))
    assert picture(drawn)["proof"] == ""
