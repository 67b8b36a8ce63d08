"""The bytes of a long result on their way to a page: in traits, in messages, and in a notebook that is saved."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

import nbformat
import numpy as np
import pandas as pd
import pytest
from ipywidgets import embed
from nbconvert import HTMLExporter

import dpviz as dv
from dpviz.charts import columns
from tests.widgets.pages import Wire, content

ROWS = columns.IN_JSON + 1
BINS = dv.Domain.integers(0, ROWS - 1, column="x")


@pytest.fixture
def session(tmp_path: Path) -> dv.Session:
    frame = pd.DataFrame({"x": np.arange(3 * ROWS) % ROWS % 97})
    return dv.Session(frame, dv.Unit("row"), dv.Budget(5, "1e-6"), tmp_path / "a.ledger")


def values_of(parts: list[Any]) -> list[int]:
    return np.frombuffer(bytes(parts[0]), dtype="<i8").tolist()


def test_the_bytes_come_before_the_result_that_names_them_and_again_with_the_reply(
    session: dv.Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    wire = Wire(monkeypatch)
    bench = dv.Workbench(session, BINS)
    chart = dv.ResultChart(bench)
    release = session.release(BINS, dv.Dense("1"))
    asked = wire.ask(bench, "show", number="1")
    reply = wire.wait(bench, lambda message: content(message).get("re") == asked)
    named = content(reply)["body"]["result"]["buffers"]
    assert set(named) == {"id", "columns"} and values_of(reply["buffers"]) == list(release.values)
    for widget in (bench, chart):
        updates = [message for message in wire.of(widget) if message.get("method") == "update"]
        names = [name for message in updates for name in ("buffers", "result") if wire.carries(message, name)]
        assert names == ["buffers", "result"]
        first = next(message for message in updates if wire.carries(message, "buffers"))
        assert first["buffer_paths"] == [["buffers", "parts", 0], ["buffers", "parts", 1]]
        assert values_of(first["buffers"]) == list(release.values)
    assert json.loads(bench.result)["buffers"] == named and bench.buffers["id"] == named["id"]


def test_the_news_of_a_release_carries_the_bytes(session: dv.Session, monkeypatch: pytest.MonkeyPatch) -> None:
    wire = Wire(monkeypatch)
    bench = dv.Workbench(session, BINS, mechanism=dv.Dense("1"))
    plan = {
        "question": {"id": json.loads(bench.sheet)["question"]["id"]},
        "mechanism": "Dense",
        "parameters": {"epsilon": "1"},
    }
    asked = wire.ask(bench, "release", **plan, price={"epsilon": "1", "delta": "0"}, key=None)

    def told(message: dict[str, Any]) -> bool:
        said = content(message)
        return said.get("event") == "released" or (said.get("re") == asked and "result" in said["body"])

    news = wire.wait(bench, told)
    assert values_of(news["buffers"]) == list(session.releases[1].values)


def test_a_short_result_after_a_long_one_leaves_no_bytes(session: dv.Session) -> None:
    session.release(BINS, dv.Dense("1"))
    bench = dv.Workbench(session, BINS)
    assert bench.buffers["parts"]
    session.release(dv.Domain.integers(0, 3, column="x"), dv.Dense("1"))
    bench.session_model.answer({"v": 1, "id": "1", "ask": "show", "args": {"number": "2"}})
    assert bench.buffers == {} and json.loads(bench.result)["number"] == "2"


def test_a_notebook_that_is_saved_holds_the_bytes_and_gives_them_back(session: dv.Session) -> None:
    release = session.release(BINS, dv.Dense("1"))
    bench = dv.Workbench(session, BINS)
    saved = embed.embed_data(views=[bench], state=embed.dependency_state([bench]))["manager_state"]["state"]
    model = json.loads(json.dumps(saved))[bench.board.model_id]
    parts = {tuple(part["path"]): base64.b64decode(part["data"]) for part in model["buffers"]}
    assert values_of([parts["buffers", "parts", 0]]) == list(release.values)
    assert model["state"]["buffers"]["id"] == json.loads(bench.result)["buffers"]["id"]


def test_a_notebook_that_is_converted_to_html_holds_the_bytes(session: dv.Session) -> None:
    release = session.release(BINS, dv.Dense("1"))
    bench = dv.Workbench(session, BINS)
    state = embed.embed_data(views=[bench], state=embed.dependency_state([bench]))["manager_state"]
    shown = nbformat.v4.new_output("display_data", bench._repr_mimebundle_()[0])
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell("bench", outputs=[shown])])
    notebook.metadata["widgets"] = {"application/vnd.jupyter.widget-state+json": state}
    page, _ = HTMLExporter().from_notebook_node(notebook)
    embedded = page.split('<script type="application/vnd.jupyter.widget-state+json">')[1].split("</script>")[0]
    model = json.loads(embedded)["state"][bench.board.model_id]
    parts = {tuple(part["path"]): base64.b64decode(part["data"]) for part in model["buffers"]}
    assert values_of([parts["buffers", "parts", 0]]) == list(release.values)


def test_a_page_does_not_write_the_bytes(session: dv.Session, monkeypatch: pytest.MonkeyPatch) -> None:
    wire = Wire(monkeypatch)
    session.release(BINS, dv.Dense("1"))
    bench = dv.Workbench(session, BINS)
    true = bench.buffers
    forged = {"method": "update", "state": {"buffers": {"id": true["id"], "parts": []}}, "buffer_paths": []}
    wire.send(bench.board, forged)
    wire.wait(bench, lambda message: wire.carries(message, "buffers") and message.get("method") == "update")
    assert bench.buffers == true
