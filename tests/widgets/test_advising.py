"""Advice on a page: the lines of Python, mechanisms that are chosen with the errors that were told, nothing charged,
worked out once, and cut short by a plan that is asked for."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import dpviz as dv
from dpviz.planning import comparing
from dpviz.session.session import Session
from dpviz.wanted import check
from dpviz.widgets import advising
from dpviz.widgets.dispatcher import Dispatcher
from dpviz.widgets.session_model import SessionModel
from tests.patience import patience

FIFTY = dv.Domain.integers(0, 49, column="x")
PLAN: dict[str, Any] = {"mechanism": "ExponentialTopK", "parameters": {"epsilon": "1", "k": "10"}}


@pytest.fixture
def session(tmp_path: Path) -> Session:
    rows = pd.DataFrame({"x": [1, 2, 3], "word": ["a", "b", "c"]})
    return Session(rows, dv.Unit(), dv.Budget(20, "1e-5"), tmp_path / "advice.ledger")


def say(model: SessionModel, ask: str, **args: Any) -> dict[str, Any]:
    reply = model.answer({"v": 1, "id": "one", "ask": ask, "args": args})
    assert reply is not None
    return reply


def advice(
    model: SessionModel, asked: Any = FIFTY, *, goal: str = "", rows: bool = True, **more: Any
) -> dict[str, Any]:
    question = {"id": dv.Question.of(asked).id}
    return say(model, "advice", **{"question": question, **PLAN, "goal": goal, "rows": rows, **more})


def test_the_advice_is_about_the_plan_on_show_and_has_the_lines_of_python(session: Session) -> None:
    model = SessionModel(session, [FIFTY])
    body = advice(model)["body"]
    sheet = say(model, "plan", question={"id": dv.Question.of(FIFTY).id}, **PLAN)["body"]["sheet"]
    assert body["key"] == sheet["now"]["key"]
    plan = repr(session.plan(FIFTY, dv.ExponentialTopK(10, "1")))
    assert [one["head"] for one in body["told"]] == ["better"] and f"  better       {body['told'][0]['text']}" in plan
    assert body["beaten"] and [row["mechanism"] for row in body["rows"]] == ["Dense", "ExponentialTopK"]
    assert len(session.releases) == 0 and session.remaining.epsilon == 20


@pytest.mark.parametrize("goal", ["bins", "ranges", "top", "look-ups"])
def test_a_mechanism_that_is_chosen_has_the_errors_that_were_told(session: Session, goal: str) -> None:
    model = SessionModel(session, [FIFTY])
    rows = advice(model, goal=goal)["body"]["rows"]
    assert rows
    for row in rows:
        chosen = {"mechanism": row["mechanism"], "parameters": {**row["parameters"], "epsilon": "1"}}
        again = advice(model, goal=goal, **chosen)["body"]["rows"]
        now = next(one for one in again if one["here"])
        assert (now["errors"], now["price"]) == (row["errors"], row["price"])


def test_a_session_opened_for_a_goal_is_advised_for_it(session: Session) -> None:
    keys = dv.Domain.keys(column="word")
    stability = {"mechanism": "Stability", "parameters": {"epsilon": "0.5", "delta": "0.000001"}}
    for goal, first in ((None, "TopKLaplace"), ("bins", "Stability")):
        model = SessionModel(session, [keys], dv.Stability("1/2", "1e-6"), goal)
        assert advice(model, keys, **stability)["body"]["rows"][0]["mechanism"] == first
    refused = advice(model, keys, goal="speed", **stability)
    assert not refused["ok"] and "a goal is one of" in refused["error"]["message"]


def test_parts_have_ways_and_no_advice(session: Session) -> None:
    model = SessionModel(session, [FIFTY])
    by = dv.Domain.categories(["a", "b"], column="word")
    question = {"kind": "each", "of": {"id": dv.Question.of(FIFTY).id}, "by": by_json(by), "most": ""}
    sheet = say(model, "plan", question=question, mechanism="Dense", parameters={"epsilon": "1"})["body"]["sheet"]
    asked = {"question": {"id": sheet["question"]["id"]}, "mechanism": "Dense", "parameters": {"epsilon": "1"}}
    body = say(model, "advice", **asked, goal="", rows=True)["body"]
    assert body["rows"] is None and body["told"] == [] and not body["beaten"]


def by_json(domain: dv.Domain) -> dict[str, Any]:
    return {"column": domain.columns[0], "kind": "categories", "labels": ["a", "b"], "other": False, "missing": False}


def test_the_same_advice_is_worked_out_once(session: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[Any] = []

    def counted(*args: Any, **more: Any) -> Any:
        made.append(args)
        return comparing.advice_json(*args, **more)

    monkeypatch.setattr(advising, "advice_json", counted)
    model = SessionModel(session, [FIFTY])
    first, again = advice(model)["body"], advice(model)["body"]
    assert first == again and len(made) == 1
    advice(model, parameters={"epsilon": "2", "k": "10"})
    assert len(made) == 2


def test_advice_that_is_worked_out_gives_way_to_a_plan() -> None:
    """The plan is answered while the advice would go on for ever."""
    begun = threading.Event()

    def endless(args: Any) -> Callable[[], Any]:
        begun.set()
        while True:
            check()

    slow = {"advice": endless, "plan": lambda args: lambda: {"sheet": "there"}}
    asks: Any = {"advice": {}, "plan": {}}
    desk = Dispatcher(asks, "nothing", quick={}, slow=slow, after={"advice": "plan"})
    refused, heard = threading.Event(), []
    desk.receive({"v": 1, "id": "a", "ask": "advice", "args": {}}, lambda reply: (heard.append(reply), refused.set()))
    assert begun.wait(patience())
    assert desk.answer({"v": 1, "id": "b", "ask": "plan", "args": {}})["body"] == {"sheet": "there"}  # type: ignore[index]
    assert refused.wait(patience()) and heard[0]["error"]["kind"] == "Superseded"
