"""Whoever keeps data, a page sees them through `Custody` alone: a curator beyond a queue drives a Workbench, too."""

from __future__ import annotations

import json
import queue
import re
import threading
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

import dpviz as dv
from dpviz.errors import DpvizError
from dpviz.model.mechanism import Mechanism
from dpviz.model.release import Release
from dpviz.model.ways import Way
from dpviz.session.accountant import Remaining
from dpviz.session.custody import Charged, ChargeRecord, Charter, Custody
from dpviz.session.plan import Plan
from dpviz.session.running import Listeners, Running
from dpviz.session.session import Session
from dpviz.widgets import session_model
from tests.patience import patience
from tests.session.sources import KnownCounts
from tests.widgets.pages import Wire, content, trait

BINS = dv.Domain.integers(0, 3, column="x")
WIDGETS = Path(session_model.__file__).parent


class Curator:
    """A session that is reached through a queue alone: every ask is a message, answered on the curator's thread."""

    def __init__(self, session: Session) -> None:
        self.asks: queue.SimpleQueue[tuple[Callable[[Session], Any], queue.SimpleQueue[Any]] | None]
        self.asks = queue.SimpleQueue()
        self._session = session
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    def _serve(self) -> None:
        while (ask := self.asks.get()) is not None:
            work, reply = ask
            try:
                reply.put((work(self._session), None))
            except DpvizError as refused:
                reply.put((None, refused))

    def stop(self) -> None:
        self.asks.put(None)
        self._thread.join(patience())


class Remote(Custody):
    """The same curator from outside. It keeps nothing itself, and holds no session."""

    def __init__(self, asks: queue.SimpleQueue[Any]) -> None:
        self._asks = asks
        self._listeners = Listeners()
        self._running: Running | None = None

    def _ask(self, work: Callable[[Session], Any]) -> Any:
        reply: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self._asks.put((work, reply))
        told, refused = reply.get(timeout=patience())
        if refused is not None:
            raise refused
        return told

    @property
    def charter(self) -> Charter:
        told: Charter = self._ask(lambda session: session.charter)
        return told

    def known(self) -> tuple[Remaining | None, str]:
        told: tuple[Remaining | None, str] = self._ask(lambda session: session.known())
        return told

    def record(self, last: int) -> ChargeRecord:
        told: ChargeRecord = self._ask(lambda session: session.record(last))
        return told

    def hanging(self) -> Sequence[Charged]:
        told: Sequence[Charged] = self._ask(lambda session: session.hanging())
        return told

    @property
    def log(self) -> Remote:
        return self

    def head(self) -> str:
        return str(self._ask(lambda session: session.ledger.head()))

    @property
    def releases(self) -> Remote:
        return self

    @property
    def latest(self) -> Release | None:
        told: Release | None = self._ask(lambda session: session.releases.latest)
        return told

    def __getitem__(self, number: int, /) -> Release:
        told: Release = self._ask(lambda session: session.releases[number])
        return told

    def plan(self, question: object, mechanism: Mechanism, **more: Any) -> Plan:
        told: Plan = self._ask(lambda session: session.plan(question, mechanism, **more))
        return told

    def release_async(
        self,
        question: object,
        mechanism: Mechanism,
        *,
        by: object = None,
        way: Way | None = None,
        key: str | None = None,
    ) -> Running:
        running = self._running = Running("remote", "Drawing elsewhere")
        running.watch(self._listeners.tell)
        price = self.plan(question, mechanism, by=by, way=way).price

        def work() -> Release:
            running.value = running.spent = price.loss.short  # type: ignore[assignment]
            release: Release = self._ask(lambda session: session.release(question, mechanism, by=by, way=way, key=key))
            running.number = release.number  # type: ignore[assignment]
            return release

        running.start(work)
        return running

    @property
    def running(self) -> Running | None:
        return self._running if self._running is not None and not self._running.done else None

    def cancel(self) -> None:
        if self.running is not None:
            self.running.cancel()

    def add_listener(self, onlooker: Callable[[Running], None]) -> None:
        self._listeners.add(onlooker)

    def heed_waits(self) -> None:
        return None


@pytest.fixture
def remote(tmp_path: Path) -> Iterator[Remote]:
    unit, budget = dv.Unit(noun="person"), dv.Budget(2, "1e-5")
    curator = Curator(Session(KnownCounts([5, 0, 70, 3]), unit, budget, tmp_path / "far.ledger"))
    yield Remote(curator.asks)
    curator.stop()


def test_a_workbench_over_a_curator_beyond_a_queue_plans_releases_and_shows_what_is_left(
    remote: Remote, monkeypatch: pytest.MonkeyPatch
) -> None:
    wire = Wire(monkeypatch)
    bench = dv.Workbench(remote, BINS)
    state, sheet = json.loads(bench.state), json.loads(bench.sheet)
    assert state["budget"]["epsilon"]["left"] == "2" and state["ledger"] and state["teaching"] is None
    order = {
        "question": {"id": sheet["question"]["id"]},
        "mechanism": "Dense",
        "parameters": {"epsilon": "1/4"},
    }
    planned = wire.answer(bench, "plan", **order)
    assert planned["ok"] and planned["body"]["sheet"]["mechanism"]["name"] == "Dense"
    price = {"epsilon": "0.25", "delta": "0"}
    reply = wire.answer(bench, "release", **order, price=price, key=None)
    assert reply["ok"], reply
    wire.wait(bench, lambda message: (shown := trait(message, "state")) is not None and len(shown["entries"]) == 1)
    wire.wait(bench, lambda message: (trait(message, "result") or {}).get("number") == "1")
    state = wire.answer(bench, "status")["body"]["state"]
    assert (state["budget"]["epsilon"]["left"], state["entries"][0]["status"]) == ("1.75", "done")
    assert wire.answer(bench, "show", number="1")["body"]["result"]["number"] == "1"
    assert not any(content(message).get("event") == "failed" for message in wire.of(bench))


def test_a_refusal_of_the_curator_reaches_the_page_and_charges_nothing(
    remote: Remote, monkeypatch: pytest.MonkeyPatch
) -> None:
    wire = Wire(monkeypatch)
    bench = dv.Workbench(remote, BINS)
    question = {"id": json.loads(bench.sheet)["question"]["id"]}
    dear = {"question": question, "mechanism": "Dense", "parameters": {"epsilon": "3"}, "key": None}
    reply = wire.answer(bench, "release", **dear, price={"epsilon": "3", "delta": "0"})
    assert not reply["ok"] and reply["error"]["kind"] == "BudgetExceeded"
    assert remote.record(5).entries == []


def test_a_comparison_takes_any_custody(remote: Remote, monkeypatch: pytest.MonkeyPatch) -> None:
    Wire(monkeypatch)
    assert "one person" in dv.MechanismComparison(remote, BINS, ["Dense", "Stability"]).sheet


def test_no_widget_asks_what_kind_of_session_it_shows() -> None:
    asks = re.compile(
        r"isinstance\([^)]*\b(?:Session|Teaching)\b|getattr\((?:self\.)?session|session\.ledger\.\w|Teaching\n"
    )
    texts = [path.read_text() for path in WIDGETS.glob("*.py")]
    assert [asks.findall(text) for text in texts if asks.search(text)] == []
    assert asks.search("if isinstance(self.session, Teaching):")
