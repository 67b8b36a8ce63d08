"""What a model shows stands on one board: each thing is sent once, however many views there are, and saved once."""

from __future__ import annotations

import base64
import json
import threading
import zlib
from pathlib import Path
from typing import Any

import pytest
from ipywidgets import embed

import dpviz as dv
from dpviz.widgets.model import WidgetModel
from dpviz.widgets.packing import BOARD, PACKED, SHORT, packed, referring, weight
from tests.patience import until
from tests.session.sources import KnownCounts
from tests.unpacking import plain, read, recalled
from tests.widgets.pages import Wire, content, trait

BINS = dv.Domain.integers(0, 99, column="x")
COMPONENTS = ("BudgetMeter", "MechanismPicker", "PlanPane", "ResultChart")


@pytest.fixture
def session(tmp_path: Path) -> dv.Session:
    return dv.Session(KnownCounts([7] * 100), dv.Unit(), dv.Budget(9), tmp_path / "a.ledger")  # type: ignore[arg-type]


def test_five_components_are_sent_a_plan_and_a_release_once(
    session: dv.Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    wire = Wire(monkeypatch)
    bench = dv.Workbench(session, BINS)
    views = [bench, *(getattr(dv, name)(bench) for name in COMPONENTS)]
    assert {view.board.model_id for view in views} == {bench.board.model_id}
    sheet = json.loads(bench.sheet)
    parameters = {**sheet["mechanism"]["parameters"], "epsilon": "1/3"}
    plan = {"question": {"id": sheet["question"]["id"]}, "mechanism": "Dense", "parameters": parameters}
    seen = len(wire.sent)
    reply = wire.answer(views[2], "plan", **plan)
    sent = wire.sent[seen:]
    told = [name for _, message in sent if message.get("method") == "update" for name in message["state"]]
    assert [name for name in told if name != "pulse"] == ["sheet"]
    assert reply["body"]["sheet"] == json.loads(bench.sheet) and reply["body"]["sheet"]["now"]["exactly"] == "1/3"
    seen, price = len(wire.sent), {"epsilon": reply["body"]["sheet"]["now"]["price"]["epsilon"], "delta": "0"}
    wire.answer(views[4], "release", **plan, price=price, key=None)
    wire.hear(bench, lambda message: (trait(message, "result") or {}).get("number") == "1")
    results = [message for _, message in wire.sent[seen:] if "result" in message.get("state", {})]
    assert len(results) == 1
    events = [content(message).get("event") for _, message in wire.sent[seen:]]
    assert events.count("released") <= 1


def test_what_a_page_is_told_is_what_the_kernel_said(session: dv.Session) -> None:
    """A reply that leaves a sheet to the board is put back to what it was, to the letter."""
    bench = dv.Workbench(session, BINS)
    sheet, state = json.loads(bench.sheet), json.loads(bench.state)
    body = {"sheet": sheet, "state": {**state, "asof": "later"}, "other": sheet}
    said = referring({"v": 1, "re": "1", "ok": True, "body": body}, bench.board)
    assert said["body"]["sheet"] == {BOARD: "sheet"} and said["body"]["other"] == sheet
    assert recalled(said, lambda name: getattr(bench.board, name))["body"] == body
    other = {**sheet, "badge": "another"}
    assert referring({"body": {"sheet": other}}, bench.board) == {"body": {"sheet": other}}
    for odd in (None, 7, "text", [], {}, {"body": None}, {"body": {"sheet": None, "state": 3}}):
        assert referring(odd, bench.board) == odd


def test_a_notebook_holds_what_is_shown_once_and_packed(session: dv.Session) -> None:
    bench = dv.Workbench(session, BINS)
    views = [bench, *(getattr(dv, name)(bench) for name in COMPONENTS)]
    state = embed.embed_data(views=views, state=embed.dependency_state(views))["manager_state"]["state"]
    (board,) = [model for model in state.values() if "pulse" in model["state"]]
    parts = {part["path"][0]: zlib.decompress(base64.b64decode(part["data"])) for part in board["buffers"]}
    assert parts["sheet"].decode() == bench.sheet
    saved = json.dumps(state)
    assert bench.sheet not in saved and bench.sheet.encode() in read(saved.encode())


def test_short_texts_travel_as_they_are_and_long_ones_deflated() -> None:
    short, long = "x" * (SHORT - 1), json.dumps(list(range(5_000)))
    assert packed(short) == short and zlib.decompress(bytes(packed(long))) == long.encode()  # type: ignore[arg-type]
    assert weight(long) < len(long) / 2
    unpacked, rest = plain({"method": "custom", "content": PACKED}, [packed(long), b"more"])
    assert unpacked["content"] == list(range(5_000)) and rest == [b"more"]


def test_what_is_shown_while_the_first_view_is_made_is_on_its_board() -> None:
    """A sheet that becomes whole at that moment: the board is made of the old, and must be brought up to date."""
    made, begin = threading.Event(), threading.Event()

    class Model(WidgetModel):
        shown = "old"

        def mirrors(self) -> dict[str, Any]:
            return {"sheet": self.shown}

    class Board:
        comm = True

        def __init__(self) -> None:
            self.sheet = model.shown
            begin.set()
            looks = iter(range(100))
            until(lambda: made.is_set() or next(looks, None) is None)
            assert not made.is_set(), "whoever shows something waits until this board stands"

    model = Model(None)  # type: ignore[arg-type]

    def show() -> None:
        begin.wait()
        model.shown = "new"
        model.show(model.mirrors())
        made.set()

    thread = threading.Thread(target=show)
    thread.start()
    board = model.board(Board)
    thread.join()
    assert board.sheet == "new"


def test_the_last_view_that_is_closed_takes_the_board_with_it(session: dv.Session) -> None:
    bench = dv.Workbench(session, BINS)
    chart, board = dv.ResultChart(bench), bench.board
    bench.close()
    assert board.comm is not None
    model = chart.session_model
    chart.close()
    assert board.comm is None and model.shown_board is None
    model.show({"sheet": "{}"})  # nobody is there, and nothing is wrong with that
    model.tell("budget", {})
    again = dv.Workbench(session, BINS)
    assert again.board is not board and again.board.comm is not None and json.loads(again.sheet)["betas"]
