"""What a page shows of a ledger follows the ledger, whoever writes to it, for as long as somebody looks."""

from __future__ import annotations

import gc
import json
import os
import signal
import subprocess
import sys
import threading
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

import dpviz as dv
from dpviz.errors import LedgerAway, LedgerError
from dpviz.session.ledger import Ledger
from dpviz.session.session import Session
from dpviz.widgets import watching
from dpviz.widgets.session_model import SessionModel
from dpviz.widgets.sub_session_view import PayWhatYouGetTape
from tests.patience import patience, until
from tests.session.sources import Gate, KnownCounts, KnownTop
from tests.widgets.pages import Member

BINS = dv.Domain.integers(0, 3, column="x")
COUNTS = [7_310_001, 8_420_002, 9_530_003, 6_640_004]
"""Seconds for what takes one: nothing here measures time."""


class Tab(Member):
    """A member of a session model that somebody looks at."""

    def __init__(self, model: SessionModel) -> None:
        super().__init__(model)
        model.watched()

    def ask(self, name: str, **args: Any) -> dict[str, Any]:
        self.model.watched()
        return super().ask(name, **args)

    @property
    def spent(self) -> str:
        return str(json.loads(self.state)["budget"]["epsilon"]["spent"]) if self.state else "0"

    @property
    def statuses(self) -> list[str]:
        return [entry["status"] for entry in json.loads(self.state)["entries"]] if self.state else []


def session_on(path: Path, source: KnownCounts | None = None, epsilon: object = 2) -> Session:
    return Session(source or KnownCounts(COUNTS), dv.Unit(noun="person"), dv.Budget(epsilon), path)


@pytest.fixture
def location(tmp_path: Path) -> Path:
    return tmp_path / "shared.ledger"


def test_a_release_of_another_kernel_shows_in_a_tab_that_asks_nothing(location: Path) -> None:
    tab, other = Tab(SessionModel(session_on(location), [BINS])), session_on(location)
    other.release(BINS, dv.Dense("1/2"))
    until(lambda: tab.spent == "0.5", "the release of the other kernel never showed")
    assert tab.statuses == ["done"]


def test_entries_and_budget_are_of_one_moment(location: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    session, other = session_on(location), session_on(location)
    plain, read = Ledger.pending, list[Ledger]()

    def meanwhile(self: Ledger) -> Any:
        read.append(self)
        if len(read) == 1:  # between the entries and the budget
            other.release(BINS, dv.Dense("1/2"))
        return plain(self)

    monkeypatch.setattr(Ledger, "pending", meanwhile)
    record = session.record(5)
    assert len(read) > 1 and [entry.status for entry in record.entries] == ["done"]
    assert record.remaining is not None and record.remaining.epsilon == Fraction(3, 2)


def test_a_draw_of_another_kernel_is_pending_there_and_then_done(location: Path) -> None:
    gate = Gate()
    tab, other = Tab(SessionModel(session_on(location), [BINS])), session_on(location, KnownCounts(COUNTS, gate))
    running = other.release_async(BINS, dv.Dense("1/2"))
    until(lambda: tab.statuses == ["elsewhere"], "the other kernel's draw never showed")
    gate.open.set()
    running.result()
    until(lambda: tab.statuses == ["done"], "the other kernel's draw never ended on the page")


def test_a_budget_raised_by_another_kernel_shows(location: Path) -> None:
    tab, other = Tab(SessionModel(session_on(location), [BINS])), session_on(location)
    other.raise_budget(dv.Budget(3))
    until(lambda: tab.state and json.loads(tab.state)["budget"]["epsilon"]["total"] == "3", "the raise never showed")


def test_a_draw_whose_kernel_was_killed_is_shown_as_lost_though_no_row_was_written(location: Path) -> None:
    tab = Tab(SessionModel(session_on(location), [BINS]))
    code = f"""
import sys, threading
sys.path.insert(0, {os.getcwd()!r})
from tests.widgets.test_following import *
session_on(Path({str(location)!r}), KnownCounts(COUNTS, lambda tick: threading.Event().wait())).release_async(
    BINS, dv.Dense("1/2"))
threading.Event().wait()
"""
    kernel = subprocess.Popen([sys.executable, "-c", code])
    try:
        until(lambda: tab.statuses == ["elsewhere"], "the other kernel's draw never showed")
    finally:
        kernel.send_signal(signal.SIGKILL)
        kernel.wait()
    until(lambda: tab.statuses == ["lost"], "the lost draw never showed")


def test_a_release_from_a_cell_shows_on_its_way_and_can_be_cancelled_from_the_page(location: Path) -> None:
    gate = Gate()
    session = session_on(location, KnownCounts(COUNTS, gate))
    tab = Tab(SessionModel(session, [BINS]))
    running = session.release_async(BINS, dv.Dense("1/2"))
    shown = {"token": running.token, "number": "1"}
    now = lambda: (tab.state and json.loads(tab.state)["running"]) or {}  # noqa: E731
    until(lambda: now().items() >= shown.items(), "the release of the cell never showed, or not that it is paid")
    assert tab.ask("cancel", token=shown["token"])["ok"]
    with pytest.raises(dv.errors.ReleaseCancelled):
        running.result()
    until(lambda: json.loads(tab.state)["running"] is None, "the cancelled release stayed on the page")
    assert tab.statuses == ["cancelled"]


def test_a_second_session_model_of_one_session_shows_what_the_first_draws(location: Path) -> None:
    gate = Gate()
    session = session_on(location, KnownCounts(COUNTS, gate))
    first, second = Tab(SessionModel(session, [BINS])), Tab(SessionModel(session, [BINS]))
    sheet = first.model.sheet.to_json()
    parameters = {**sheet["mechanism"]["parameters"], "epsilon": "0.5"}
    args = {"question": {"id": sheet["question"]["id"]}, "mechanism": "Dense", "parameters": parameters}
    reply = first.ask("release", **args, price={"epsilon": "0.5", "delta": "0"}, key=None)
    token = reply["body"]["token"]
    until(lambda: second.state and json.loads(second.state)["running"], "the second desk never heard of it")
    assert json.loads(second.state)["running"]["token"] == token
    gate.open.set()
    until(lambda: json.loads(second.state)["running"] is None, "the second desk never heard of its end")
    assert second.statuses == ["done"] and second.spent == "0.5"


def test_a_pulse_says_when_the_ledger_was_last_looked_at(location: Path) -> None:
    tab = Tab(SessionModel(session_on(location), [BINS]))
    until(lambda: tab.pulse, "no pulse")
    first = json.loads(tab.pulse)
    until(lambda: json.loads(tab.pulse)["asof"] > first["asof"], "the pulse stood still")
    assert first["fault"] == "" and first["asof"].endswith("Z")


def test_an_unchanged_ledger_sends_no_state_again(location: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[str] = []
    model = SessionModel(session_on(location), [BINS])
    really = Ledger.entries
    tab = Tab(model)
    early: set[str] = set()
    until(lambda: tab.pulse and (early.add(json.loads(tab.pulse)["asof"]) or len(early) > 3), "no pulse")
    monkeypatch.setattr(Ledger, "entries", lambda self, **last: read.append("read") or really(self, **last))
    beats: set[str] = set()
    until(lambda: beats.add(json.loads(tab.pulse)["asof"]) or len(beats) > 3, "the pulse stood still")
    assert read == []


def test_nobody_looks_where_no_page_was_heard_of_for_long(location: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watching, "LEASE", 0.1)
    model = SessionModel(session_on(location), [BINS])
    looking = watching.watcher(model.session.log)  # type: ignore[arg-type]
    assert looking._threads == ()
    tab = Tab(model)
    until(lambda: looking._threads == (), "the looking never ended")
    monkeypatch.setattr(watching, "LEASE", 600.0)
    tab.ask("status")
    before = tab.pulse
    until(lambda: tab.pulse != before, "the page came back and nobody looked")


def test_a_session_model_that_is_gone_is_not_kept_alive_by_looking(location: Path) -> None:
    model = SessionModel(session_on(location), [BINS])
    ledger, gone = weakref.ref(model.session.ledger), weakref.ref(model)  # type: ignore[union-attr]
    model.watched()
    del model
    until(lambda: gc.collect() >= 0 and gone() is None and ledger() is None, "the session model is kept alive")


@contextmanager
def away(monkeypatch: pytest.MonkeyPatch, error: LedgerError) -> Iterator[None]:
    """A ledger that cannot be read, nor written, while this lasts."""

    def refuse(*args: object, **named: object) -> Any:
        raise error

    with monkeypatch.context() as patch:
        for name in ("read", "write"):
            patch.setattr(f"dpviz.session.ledger.store.Store.{name}", refuse)
        yield


def test_a_ledger_that_is_away_is_said_and_said_again_when_it_is_back(
    location: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tab, other = Tab(SessionModel(session_on(location), [BINS])), session_on(location)
    until(lambda: tab.pulse and tab.state, "no pulse")
    with away(monkeypatch, LedgerAway("the server of the ledger team cannot be reached; try again")):
        until(lambda: json.loads(tab.pulse)["fault"] == "The ledger's server does not answer.", "nothing was said")
        asof = json.loads(tab.pulse)["asof"]
        refused = tab.ask("status")
        assert not refused["ok"] and refused["error"]["kind"] == "LedgerAway"
        assert json.loads(tab.pulse)["asof"] == asof
        assert tab.spent == "0"
    until(lambda: json.loads(tab.pulse)["fault"] == "", "its coming back was not said")
    other.release(BINS, dv.Dense("1/2"))
    until(lambda: tab.spent == "0.5", "what was charged later never showed")


def test_a_ledger_file_that_was_deleted_is_said_on_the_page(location: Path) -> None:
    tab = Tab(SessionModel(session_on(location), [BINS]))
    until(lambda: tab.pulse and tab.state, "no pulse")
    for path in location.parent.iterdir():
        path.unlink()
    until(lambda: "was removed or replaced" in json.loads(tab.pulse)["fault"], "nothing was said")
    assert not tab.ask("status")["ok"]


def test_a_look_that_takes_long_is_told_of_before_it_ends(location: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watching, "SLOW", 0.05)
    tab, held, really = Tab(SessionModel(session_on(location), [BINS])), threading.Event(), Ledger.head
    until(lambda: tab.pulse and tab.state, "no pulse")

    def slow(self: Ledger) -> str:
        held.wait(patience())
        return really(self)

    monkeypatch.setattr(Ledger, "head", slow)
    until(lambda: json.loads(tab.pulse)["fault"] == "The ledger does not answer yet.", "nothing was said")
    held.set()
    until(lambda: json.loads(tab.pulse)["fault"] == "", "its end was not said")


def test_a_status_shares_the_look_under_way(location: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model = SessionModel(session_on(location), [BINS])
    looking = watching.watcher(model.session.log)  # type: ignore[arg-type]
    looks, held, really = [], threading.Event(), Ledger.head

    def slow(self: Ledger) -> str:
        looks.append("look")
        held.wait(patience())
        return really(self)

    monkeypatch.setattr(Ledger, "head", slow)
    threads = [threading.Thread(target=looking.look) for _ in range(4)]
    for thread in threads:
        thread.start()
    until(lambda: len(looks) == 1, "nobody looked")
    until(lambda: len(looking._turn._waiters) >= 3, "the others do not wait for it")  # type: ignore[attr-defined]
    held.set()
    for thread in threads:
        thread.join(patience())
    assert not any(thread.is_alive() for thread in threads)
    assert len(looks) <= 2  # who came after the end of the first has looked once more


def test_a_new_ledger_says_so_until_its_first_charge_and_to_nobody_else(location: Path) -> None:
    session = session_on(location)
    tab, late = Tab(SessionModel(session, [BINS])), Tab(SessionModel(session_on(location), [BINS]))
    assert tab.ask("status")["body"]["state"]["new"] is True
    assert late.ask("status")["body"]["state"]["new"] is False
    session.release(BINS, dv.Dense("1/2"))
    assert tab.ask("status")["body"]["state"]["new"] is False


def test_an_existing_ledger_with_nothing_spent_is_not_called_new(location: Path) -> None:
    session_on(location)
    assert session_on(location).is_new is False


def top_session(path: Path, gate: Gate | None = None) -> Session:
    source = KnownTop({"": {"ATL": 7_310_001, "STL": 6_420_002}}, gate)
    return Session(source, dv.Unit("person", max_bins=1, noun="person"), dv.Budget(4, "1e-6"), path)


def test_a_sub_session_view_follows_the_questions_of_another_kernel(location: Path) -> None:
    gate = Gate()
    dest = dv.Domain.keys(column="dest")
    opening = dv.PayWhatYouGet(symbols=30, questions=6, epsilon="3", delta="1e-6")
    view = PayWhatYouGetTape(top_session(location).open(opening), {"dest": dest})
    asked = view._model
    asked.watched()
    running = top_session(location, gate).open(opening).ask_async(dest, k=2, kbar=5)
    shown = lambda: json.loads(view.state)  # noqa: E731
    until(lambda: [row["status"] for row in shown()["rows"]] == ["elsewhere"], "the question never showed")
    assert shown()["running"] is None
    gate.open.set()
    running.result()
    until(lambda: [row["status"] for row in shown()["rows"]] == ["done"], "its answer never showed")
    before = view.pulse
    until(lambda: view.pulse != before, "no pulse")


def test_a_sub_session_view_shows_a_question_of_a_cell_and_cancels_it(location: Path) -> None:
    gate = Gate()
    sub = top_session(location, gate).open(dv.PayWhatYouGet(symbols=30, questions=6, epsilon="3", delta="1e-6"))
    dest = dv.Domain.keys(column="dest")
    view = PayWhatYouGetTape(sub, {"dest": dest})
    view._model.watched()
    running = sub.ask_async(dest, k=2, kbar=5)
    until(lambda: json.loads(view.state)["running"], "the question of the cell never showed")
    reply = view.answer({"v": 1, "id": "1", "ask": "cancel", "args": {"token": running.token}})
    assert reply is not None and reply["ok"]
    with pytest.raises(dv.errors.ReleaseCancelled):
        running.result()
    until(lambda: json.loads(view.state)["running"] is None, "the cancelled question stayed on the tape")


HOLD = """
import sqlite3, sys
ledger = sqlite3.connect(sys.argv[1], isolation_level=None)
ledger.execute("BEGIN IMMEDIATE")
print("held", flush=True)
sys.stdin.read()
"""
"""Another program, which holds a ledger until its input ends."""


def test_an_order_withdrawn_while_another_holds_the_ledger_is_not_charged(location: Path) -> None:
    session = session_on(location)
    tab = Tab(SessionModel(session, [BINS]))
    sheet = tab.model.sheet.to_json()
    parameters = {**sheet["mechanism"]["parameters"], "epsilon": "0.5"}
    args = {"question": {"id": sheet["question"]["id"]}, "mechanism": "Dense", "parameters": parameters}
    holder = subprocess.Popen([sys.executable, "-c", HOLD, location], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    try:
        assert holder.stdout is not None and holder.stdout.readline() == b"held\n"
        reply = tab.ask("release", **args, price={"epsilon": "0.5", "delta": "0"}, key=None)
        assert reply["ok"] and reply["body"]["number"] == ""
        waits = lambda: [message for message in tab.sent if message.get("event") == "progress"]  # noqa: E731
        until(lambda: [it for it in waits() if it["body"]["waiting"]], "nobody was told what it waits for")
        assert (
            waits()[-1]["body"]["waiting"].startswith("waiting for the ledger") and waits()[-1]["body"]["number"] == ""
        )
        assert tab.ask("cancel", token=reply["body"]["token"])["ok"]
    finally:
        holder.communicate()
    until(lambda: [it for it in tab.sent if it.get("event") == "cancelled"], "its withdrawal was never told")
    (ended,) = [it["body"] for it in tab.sent if it.get("event") == "cancelled"]
    assert ended["number"] == "" and ended["state"]["entries"] == [] and session.remaining.epsilon == 2
