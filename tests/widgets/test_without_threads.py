"""Where Python gives no thread, a page is answered in place, and a ledger is looked at whenever a page is heard of."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import dpviz as dv
from dpviz.session.session import Session
from dpviz.widgets.writer import Writer
from tests.session.sources import KnownCounts, KnownTop
from tests.widgets.pages import Message, Wire, content, event, trait
from tests.without_threads import forbid

BINS = dv.Domain.integers(0, 3, column="x")
COUNTS = [5, 0, 70, 3]
DEST = dv.Domain.keys(column="dest")


@pytest.fixture
def wire(monkeypatch: pytest.MonkeyPatch) -> Iterator[Wire]:
    made = Wire(monkeypatch)
    forbid(monkeypatch)
    there = threading.enumerate()
    yield made
    assert set(threading.enumerate()) <= set(there), "a thread was begun"


def session(place: Path, source: object | None = None) -> Session:
    data = KnownCounts(COUNTS) if source is None else source
    return Session(data, dv.Unit(noun="person"), dv.Budget(2, "1e-5"), place / "test.ledger")  # type: ignore[arg-type]


def said(wire: Wire, widget: Any, name: str, **args: Any) -> Message:
    """The reply to an ask: it has been sent when the ask returns, for there is nobody who could send it later."""
    asked = wire.ask(widget, name, **args)
    (reply,) = [content(message) for message in wire.of(widget) if content(message).get("re") == asked]
    return reply


def order(widget: Any, **more: Any) -> Message:
    """What the button of a Workbench sends."""
    sheet = json.loads(widget.sheet)
    price = {"epsilon": "0.25", "delta": "0"}
    question = {"id": sheet["question"]["id"]}
    return {
        "question": question,
        "mechanism": "Dense",
        "parameters": {"epsilon": "1/4"},
        "price": price,
        "key": None,
    } | more


def test_a_workbench_plans_releases_and_shows_what_is_left(wire: Wire, tmp_path: Path) -> None:
    bench = dv.Workbench(session(tmp_path), BINS)
    args = order(bench)
    planned = said(wire, bench, "plan", **{name: args[name] for name in ("question", "mechanism", "parameters")})
    assert planned["ok"] and planned["body"]["sheet"]["question"] == json.loads(bench.sheet)["question"]
    released = said(wire, bench, "release", **args)
    assert released["ok"] and released["body"]["result"] == json.loads(bench.result)
    state = json.loads(bench.state)
    assert (state["budget"]["epsilon"]["left"], state["running"]) == ("1.75", None)
    assert [entry["status"] for entry in state["entries"]] == ["done"]
    assert said(wire, bench, "status")["body"]["state"]["entries"] == state["entries"]
    assert not any(event(message, "released", "failed", "cancelled") for message in wire.of(bench))


def test_what_another_kernel_releases_shows_when_the_page_is_heard_of(wire: Wire, tmp_path: Path) -> None:
    bench, other = dv.Workbench(session(tmp_path), BINS), session(tmp_path)
    said(wire, bench, "status")
    other.release(BINS, dv.Dense("1/2"))
    assert json.loads(bench.state)["entries"] == []
    wire.send(bench, {"method": "custom", "content": {"nothing": "that is known"}})  # a sign of life is enough
    assert [entry["status"] for entry in json.loads(bench.state)["entries"]] == ["done"]
    assert any(trait(message, "pulse") for message in wire.of(bench))


def test_a_release_in_a_cell_shows_on_the_workbench(wire: Wire, tmp_path: Path) -> None:
    it = session(tmp_path)
    bench = dv.Workbench(it, BINS)
    it.release(BINS, dv.Dense("1/2"))
    assert json.loads(bench.state)["budget"]["epsilon"]["left"] == "1.5"


def test_a_refused_release_is_said_in_the_reply(wire: Wire, tmp_path: Path) -> None:
    bench = dv.Workbench(session(tmp_path), BINS)
    reply = said(wire, bench, "release", **order(bench, parameters={"epsilon": "1/2"}))
    assert not reply["ok"] and "nothing was charged" in reply["error"]["message"]


def test_a_sub_session_view_asks_and_shows_what_came_back(wire: Wire, tmp_path: Path) -> None:
    sub = session(tmp_path, KnownTop({"": {"Aachen": 3000, "Bonn": 2000}})).open(
        dv.PayWhatYouGet(symbols=12, questions=4, epsilon="1", delta="1e-6")
    )
    view = dv.PayWhatYouGetTape(sub, {"All year": DEST})
    (offer,) = json.loads(view.state)["offers"]
    asked = {"question": offer["id"], "k": "2", "kbar": "5"}
    assert said(wire, view, "plan", **asked)["body"]["most"] == "2"
    reply = said(wire, view, "release", **asked, most="2", left="12", key=None)
    assert reply["ok"], reply
    state = json.loads(view.state)
    assert [row["status"] for row in state["rows"]] == ["done"] and state["questions"]["left"] == "3"


def test_a_teaching_workbench_draws(wire: Wire) -> None:
    bench = dv.Workbench(dv.teaching(pd.DataFrame({"x": [1, 1, 2]}), seed=7), BINS)
    released = said(wire, bench, "release", **order(bench))
    assert released["ok"] and json.loads(bench.state)["teaching"] == {"seed": "7"}


def test_work_for_later_is_done_before_the_call_that_brought_it_returns(wire: Wire) -> None:
    writer, done = Writer(), list[str]()

    def first() -> None:
        writer.later(0.01, lambda: done.append("later"))
        writer.put(lambda: done.append("next"))
        done.append("first")

    writer.put(first)
    assert done == ["first", "next", "later"]


def test_an_interrupt_in_place_leaves_a_writer_that_goes_on(wire: Wire) -> None:
    writer, done = Writer(), list[str]()

    def interrupted() -> None:
        writer.put(lambda: done.append("what waited"))
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        writer.put(interrupted)
    writer.put(lambda: done.append("what came then"))
    assert done == ["what waited", "what came then"]
