"""Where Python gives no thread, everything that is paid for is done in place, by the same rules."""

from __future__ import annotations

import asyncio
import fcntl
import signal
import sqlite3
import threading
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pandas as pd
import pytest

import dpviz as dv
from dpviz.errors import EngineGone, LedgerError, ReleaseFailed, ReleaseInterrupted, SessionBusy
from dpviz.model.source import Tick
from dpviz.session.interrupts import Presses
from dpviz.session.ledger import store, witness
from dpviz.session.running import Running
from dpviz.session.session import Session
from tests.session.sources import KnownCounts, KnownTop
from tests.without_threads import forbid

BINS = dv.Domain.integers(0, 3, column="x")
HALF = dv.Dense("1/2")
PLACES = {"": {"Aachen": 300, "Bonn": 200, "Celle": 100}}


@pytest.fixture(autouse=True)
def alone(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """No thread but those that were there before, and Python's own handler for Ctrl-C."""
    forbid(monkeypatch)
    with pytest.raises(RuntimeError, match="can't start new thread"):
        threading.Thread(target=print).start()
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    there = threading.enumerate()
    yield
    assert set(threading.enumerate()) <= set(there), "a thread was begun"
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler, "a handler was left behind"
    signal.signal(signal.SIGINT, before)


def session(place: Path, source: object | None = None) -> Session:
    data = KnownCounts([5, 0, 70, 3]) if source is None else source
    return Session(data, dv.Unit(noun="person"), dv.Budget(2, "1e-5"), place / "test.ledger")  # type: ignore[arg-type]


def test_releases_are_paid_for_stored_and_given_again_free(tmp_path: Path) -> None:
    it = session(tmp_path)
    first = it.release(BINS, HALF)
    running = it.release_async(BINS, HALF, key="again")
    assert running.done and running.number == 2 and it.running is None

    async def awaited() -> dv.Release:
        return await it.release_async(BINS, HALF, key="again")

    assert it.release(BINS, HALF).to_bytes() == first.to_bytes() == it.releases[1].to_bytes()
    assert asyncio.run(awaited()).to_bytes() == running.result().to_bytes()
    assert it.remaining.epsilon == 1
    it.raise_budget(dv.Budget(3, "1e-5"), "a second wave")
    assert it.remaining.epsilon == 2
    assert it.ledger.verify().statuses == {"done": 2}


def test_the_same_kernel_may_have_threads_for_one_release_and_none_for_the_next(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    it = session(tmp_path)
    it.release(BINS, HALF)
    monkeypatch.undo()
    assert it.release(BINS, HALF, key="on a thread").number == 2
    forbid(monkeypatch)
    assert it.release(BINS, HALF, key="in place").number == 3


def test_a_sub_session_is_opened_asked_closed_and_found_again(tmp_path: Path) -> None:
    it = session(tmp_path, KnownTop(PLACES))
    made = dv.PayWhatYouGet(symbols=20, questions=4, epsilon="1", delta="1e-6")
    sub = it.open(made)
    answer = sub.ask("dest", k=2)
    assert sub.ask_async("dest", k=2).result().to_bytes() == answer.to_bytes()
    assert sub.questions_left == 3 and len(sub.transcript) == 1
    sub.close()
    assert session(tmp_path, KnownTop(PLACES)).open(made).closed


def test_a_teaching_session_draws(tmp_path: Path) -> None:
    taught = dv.teaching(pd.DataFrame({"x": [1, 1, 2]}), seed=7)
    assert taught.draw(BINS, HALF).teaching == 7


def test_an_sql_engine_is_asked_in_place(tmp_path: Path) -> None:
    import duckdb

    connection = duckdb.connect()
    connection.execute("CREATE TABLE visits AS SELECT range % 4 AS x FROM range(40)")
    it = session(tmp_path, dv.sources.duckdb(connection, "visits"))
    assert it.release(BINS, HALF).number == 1
    connection.close()
    with pytest.raises(EngineGone):
        it.release(BINS, HALF, key="later")
    assert len(it.ledger.entries()) == 1


def test_what_an_engine_says_when_it_fails_stays_where_it_is(tmp_path: Path) -> None:
    def failing(tick: Tick | None) -> None:
        raise RuntimeError("visit of Ada Lovelace")

    it = session(tmp_path, KnownCounts([5, 0, 70, 3], failing))
    with pytest.raises(ReleaseFailed) as refused:
        it.release(BINS, HALF)
    assert "Ada" not in str(refused.value) and refused.value.__context__ is None
    assert [entry.status for entry in it.ledger.entries()] == ["failed"]


@pytest.mark.parametrize("call", ["release", "release_async"])
def test_ctrl_c_during_the_draw_ends_it_and_says_what_stays_charged(tmp_path: Path, call: str) -> None:
    def pressed(tick: Tick | None) -> None:
        assert tick is not None
        signal.raise_signal(signal.SIGINT)
        tick(1, 4)

    it = session(tmp_path, KnownCounts([5, 0, 70, 3], pressed))
    with pytest.raises(ReleaseInterrupted, match=r"ε 0\.5 is spent") as caught:
        getattr(it, call)(BINS, HALF)
    assert caught.value.number == 1 and it.running is None
    assert [entry.status for entry in it.ledger.entries()] == ["cancelled"]


@pytest.mark.parametrize("call", ["release", "release_async"])
def test_ctrl_c_before_the_charge_charges_nothing(tmp_path: Path, call: str) -> None:
    class Pressed(KnownCounts):
        def probe(self) -> None:
            signal.raise_signal(signal.SIGINT)

    it = session(tmp_path, Pressed([5, 0, 70, 3]))
    with pytest.raises(ReleaseInterrupted, match="before anything was charged"):
        getattr(it, call)(BINS, HALF)
    assert it.ledger.entries() == [] and it.running is None


def test_ctrl_c_after_the_draw_says_that_the_answer_is_stored(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    it = session(tmp_path)
    finish = it.ledger.finish

    def pressed(number: int, content: bytes) -> None:
        finish(number, content)
        signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr(it.ledger, "finish", pressed)
    with pytest.raises(ReleaseInterrupted, match="the draw was quicker"):
        it.release(BINS, HALF)
    assert list(it.releases) == [1]


def test_ctrl_c_while_a_sub_session_is_opened_says_what_was_charged(tmp_path: Path) -> None:
    class Pressed(KnownTop):
        def probe(self) -> None:
            signal.raise_signal(signal.SIGINT)

    it = session(tmp_path, Pressed(PLACES))
    with pytest.raises(ReleaseInterrupted, match="before anything was charged"):
        it.open(dv.PayWhatYouGet(epsilon="1"))
    assert it.ledger.entries() == []


def test_a_watcher_that_asks_for_another_release_is_told_that_the_session_is_busy(tmp_path: Path) -> None:
    it, told = session(tmp_path), list[str]()

    def greedy(running: Running) -> None:
        if not running.done and not told:
            told.append("asked")
            with pytest.raises(SessionBusy):
                it.release(BINS, HALF, key="another")
            told.append("refused")

    it.release_async(BINS, HALF, watch=greedy)
    assert told == ["asked", "refused"] and len(it.ledger.entries()) == 1


def test_a_ledger_that_somebody_else_holds_is_waited_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The lock is one of this process, so nobody is asked whose it is: then who waits is told as of another program."""
    it, told = session(tmp_path), list[str]()
    monkeypatch.setattr(store, "NOTICE", 0.0)
    monkeypatch.setattr(store, "NAMELESS", 0.0)
    monkeypatch.setattr(witness, "holder", lambda path: None)
    with held(tmp_path / "test.ledger-lock") as let_go:

        def tell(text: str) -> None:
            told.append(text)
            let_go()

        it.ledger.on_wait = tell
        assert it.release(BINS, HALF).number == 1
    assert len(told) == 1 and "another program holds it" in told[0]


def test_a_ledger_that_nobody_lets_go_of_is_given_up_in_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    it = session(tmp_path)
    monkeypatch.setattr(store, "PATIENCE", 0.01)
    with held(tmp_path / "test.ledger-lock"), closing(sqlite3.connect(tmp_path / "test.ledger")) as other:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(LedgerError, match="stayed locked"):
            it.release(BINS, HALF)
    assert it.ledger.entries() == []


class held:
    """The file that writers of a ledger take turns at, held by somebody else until they let go."""

    def __init__(self, path: Path) -> None:
        self._file = path.open("r+")

    def __enter__(self) -> Callable[[], None]:
        fcntl.flock(self._file, fcntl.LOCK_EX)
        return self._let_go

    def _let_go(self) -> None:
        fcntl.flock(self._file, fcntl.LOCK_UN)

    def __exit__(self, *error: object) -> None:
        self._file.close()


def test_a_press_is_noted_at_once_by_who_asked_to_be_called() -> None:
    seen: list[int] = []
    presses = Presses(lambda: seen.append(presses.count))
    with presses:
        signal.raise_signal(signal.SIGINT)
        signal.raise_signal(signal.SIGINT)
    assert seen == [1, 2]
