"""Payloads: what a page is sent, and what a notebook saves of its widgets.

Bytes of the messages of widgets, as they go to the page: JSON, and what goes beside it as bytes. Headers and
signatures, which Jupyter adds to each message, are not counted. The session counts doctor visits in 42 bins; its page
has a Workbench and four of its components, each in a place of its own. An explorer's move, to the ends of each slider:
all that comes until there is nothing more to come. A notebook: the state of its widgets, as Jupyter saves it.
"""

from __future__ import annotations

import json
import tempfile
import threading
import uuid
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any
from unittest import mock

from comm.base_comm import BaseComm
from ipywidgets import embed

import dpviz as dv
from benchmarks.measured import Measured
from benchmarks.sheets import EXPLORERS, rested
from dpviz.widgets.view import Program

PLAN, RELEASE, MOVE, NOTEBOOK = 25_000, 15_000, 60_000, 300_000
HISTORY = 200
COMPONENTS = ("BudgetMeter", "MechanismPicker", "PlanPane", "ResultChart")
BINS = dv.Domain.integers(0, 40, column="visits", overflow=True)


class Page:
    """Takes what widgets send, and counts it."""

    def __init__(self) -> None:
        self.bytes = 0
        self.replies: set[str] = set()
        self._arrived = threading.Condition()

    def take(self, data: Any, parts: Any) -> None:
        with self._arrived:
            self.bytes += len(json.dumps(data or {}, separators=(",", ":")).encode()) + sum(map(len, parts or ()))
            self._arrived.notify_all()

    def ask(self, view: Any, name: str, **args: Any) -> str:
        """Send a message, as the page does; its id."""
        message = {"v": 1, "id": uuid.uuid4().hex, "ask": name, "args": args}
        view.comm.handle_msg(
            {"content": {"comm_id": view.model_id, "data": {"method": "custom", "content": message}}, "buffers": []}
        )
        return str(message["id"])

    def until(self, true: Callable[[], bool]) -> None:
        with self._arrived:
            if not self._arrived.wait_for(true, timeout=300):
                raise TimeoutError("the page was not sent what it waits for")

    def of(self, work: Callable[[], None], model: Any) -> int:
        """Bytes that come of this work, once nothing more of it waits to be sent."""
        before, still = self.bytes, threading.Event()
        work()
        model.soon(still.set)
        still.wait()
        return self.bytes - before


def recording(page: Page) -> Any:
    class Counted(BaseComm):
        def publish_msg(
            self, msg_type: str, data: Any = None, metadata: Any = None, buffers: Any = None, **_: Any
        ) -> None:
            page.take(data, buffers)

    return mock.patch("comm.create_comm", lambda *args, **named: Counted(*args, **named))


def table(history: int = HISTORY, explorers: Mapping[str, str] = EXPLORERS) -> list[Measured]:
    page = Page()
    with (
        recording(page),
        mock.patch.object(Program, "_running", {}),
        tempfile.TemporaryDirectory() as folder,
    ):
        return [*session_lines(page, Path(folder), history), *explorer_lines(page, explorers)]


def session_lines(page: Page, folder: Path, history: int) -> list[Measured]:
    frame = dv.datasets.doctor_visits()
    session = dv.Session(frame, dv.Unit(), dv.Budget(history), folder / "p.ledger")
    bench = dv.Workbench(session, BINS)
    views = [bench, *(getattr(dv, name)(bench) for name in COMPONENTS)]
    model, sheet = bench.session_model, json.loads(bench.sheet)

    def plan(epsilon: str) -> dict[str, Any]:
        parameters = {**sheet["mechanism"]["parameters"], "epsilon": epsilon}
        return {"question": {"id": sheet["question"]["id"]}, "mechanism": "Dense", "parameters": parameters}

    def planned(epsilon: str) -> None:
        page.ask(bench, "plan", **plan(epsilon))
        page.until(lambda: json.loads(bench.sheet)["now"]["exactly"] == epsilon)

    def released(epsilon: str, key: str) -> None:
        count = len(session.releases)
        page.ask(bench, "release", **plan(epsilon), price={"epsilon": epsilon, "delta": "0"}, key=key)
        page.until(lambda: len(session.releases) > count and json.loads(bench.state)["running"] is None)
        # Before the first release there is no result; a text of none is no JSON.
        page.until(lambda: bool(bench.result) and json.loads(bench.result)["number"] == str(count + 1))

    lines = [line("a plan, five components", page.of(lambda: planned("1/3"), model), PLAN)]
    lines.append(line("the first release, five components", page.of(lambda: released("0.25", "first"), model), RELEASE))
    for i in range(history - 1):
        session.release(BINS, dv.Dense("1/4"), key=f"h{i}")
    planned("1/5")
    last = page.of(lambda: released("0.125", "last"), model)
    lines.append(line(f"a release after {history:,} others, five components", last, RELEASE))
    lines.append(line("a notebook with these five", saved(views), NOTEBOOK))
    lines.append(Measured("a notebook with the Workbench alone", size(saved([bench]))))
    for view in views:
        view.close()
    return lines


def explorer_lines(page: Page, explorers: Mapping[str, str]) -> list[Measured]:
    lines = []
    for name, call in explorers.items():
        explorer = eval(call, {"dv": dv})
        exploring = explorer._exploring
        rested(exploring)
        sheet = exploring.shown
        at = sheet["now"]["at"]
        ends = [{**at, axis["name"]: end} for axis in sheet["axes"] for end in (axis["grid"][0], axis["grid"][-1])]
        found = [page.of(partial(move, page, explorer, place), exploring) for place in ends if place != at]
        lines.append(line(f"{name}: a move, the largest of {len(found)}", max(found), MOVE))
        explorer.close()
    return lines


def move(page: Page, explorer: Any, place: Mapping[str, str]) -> None:
    exploring = explorer._exploring
    before = exploring.sheet
    page.ask(explorer, "move", place=dict(place))
    page.until(lambda: exploring.sheet is not before)
    rested(exploring)


def saved(views: list[Any]) -> int:
    """Bytes of the state of these widgets in a notebook."""
    state = embed.embed_data(views=views, state=embed.dependency_state(views))["manager_state"]
    return len(json.dumps(state, separators=(",", ":")).encode())


def line(what: str, count: int, allowed: int) -> Measured:
    return Measured(what, size(count), size(allowed), count <= allowed)


def size(count: int) -> str:
    return f"{count / 1000:,.1f} kB"
