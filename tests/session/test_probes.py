"""Nothing is charged on an engine or a ledger that is gone, and a failure names all that no row can cause."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Callable
from contextlib import closing
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

import dpviz as dv
from dpviz.errors import (
    DpvizError,
    EngineGone,
    LedgerAway,
    LedgerError,
    LedgerFull,
    ReleaseCancelled,
    ReleaseFailed,
    ReleaseLost,
)
from dpviz.model.source import Tick
from dpviz.model.statistic import Statistic
from dpviz.session import probing, runner
from dpviz.session.running import Running
from dpviz.session.session import Session
from tests.patience import patience
from tests.session.sources import Gate, KnownCounts, KnownTop

BINS = dv.Domain.integers(0, 3, column="x")
HALF = dv.Dense("1/2")
PLACES = {"": {"Aachen": 300, "Bonn": 200, "Celle": 100}}
SECRET = "row 17 holds 7310001"


class Engine(KnownCounts):
    """An engine that a test can switch off. `dies` is raised while it counts."""

    def __init__(self, dies: Exception | None = None, *, gone_after: bool = False) -> None:
        super().__init__([5, 0, 70, 3], self._while_counting)
        self.there, self.probes = True, 0
        self._dies, self._gone_after = dies, gone_after

    def probe(self) -> None:
        self.probes += 1
        if not self.there:
            raise EngineGone("the Spark driver is gone, so nothing was charged", value="the Spark driver is gone")

    def _while_counting(self, tick: Tick | None) -> None:
        if self._dies is not None:
            self.there = not self._gone_after
            raise self._dies


class Top(KnownTop):
    there = True

    def probe(self) -> None:
        if not self.there:
            raise EngineGone("gone, so nothing was charged")


def opened(path: Path, source: Any) -> Session:
    unit = dv.Unit("person", max_bins=2) if isinstance(source, KnownTop) else dv.Unit(noun="person")
    return Session(source, unit, dv.Budget(20, "1e-5"), path / "test.ledger")


# ---------------------------------------------------------------- before the charge


def test_a_release_on_an_engine_that_is_gone_charges_nothing(tmp_path: Path) -> None:
    engine = Engine()
    it = opened(tmp_path, engine)
    engine.there, head = False, it.ledger.head()
    with pytest.raises(EngineGone, match="the Spark driver is gone, so nothing was charged"):
        it.release(BINS, HALF)
    assert it.ledger.head() == head and engine.counted == 0
    engine.there = True
    assert it.release(BINS, HALF).number == 1


def test_a_retry_on_an_engine_that_is_gone_charges_nothing(tmp_path: Path) -> None:
    engine = Engine(RuntimeError(SECRET), gone_after=True)
    it = opened(tmp_path, engine)
    with pytest.raises(ReleaseFailed):
        it.release(BINS, HALF)
    for _ in range(3):
        with pytest.raises(EngineGone):
            it.release(BINS, HALF, retry=True)
    assert len(it.ledger.entries()) == 1 and it.remaining.epsilon == Fraction(39, 2)


def test_a_question_and_an_opening_on_an_engine_that_is_gone_use_nothing(tmp_path: Path) -> None:
    engine = Top(PLACES)
    it = opened(tmp_path, engine)
    parameters = dv.PayWhatYouGet(symbols=12, questions=4, epsilon_per_item="1", delta="1e-12")
    engine.there, head = False, it.ledger.head()
    with pytest.raises(EngineGone):
        it.open(parameters)
    assert it.ledger.head() == head
    engine.there = True
    sub = it.open(parameters)
    first = sub.ask("dest", k=2, kbar=3)
    engine.there, head = False, it.ledger.head()
    with pytest.raises(EngineGone):
        sub.ask("dest", k=1, kbar=3)
    assert it.ledger.head() == head
    assert it.open(parameters).number == 1 and sub.ask("dest", k=2, kbar=3) == first  # what is paid for is free


def test_a_stored_answer_needs_no_engine(tmp_path: Path) -> None:
    engine = Engine()
    it = opened(tmp_path, engine)
    first, engine.there = it.release(BINS, HALF), False
    assert it.release(BINS, HALF) == first and it.releases[1] == first


def test_a_probe_that_hangs_is_given_up_before_anything_is_charged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hanging = threading.Event()

    class Hanging(KnownCounts):
        def probe(self) -> None:
            hanging.wait()

    monkeypatch.setattr(probing, "PATIENCE", 0.05)
    it = opened(tmp_path, Hanging([1, 2, 3, 4]))
    try:
        with pytest.raises(EngineGone, match="did not answer for 0.05 seconds, so nothing was charged"):
            it.release(BINS, HALF)
    finally:
        hanging.set()
    assert it.ledger.entries() == []


def test_a_probe_that_fails_in_words_of_its_own_shows_none_of_them(tmp_path: Path) -> None:
    class Failing(KnownCounts):
        def probe(self) -> None:
            raise RuntimeError(SECRET)

    it = opened(tmp_path, Failing([1, 2, 3, 4]))
    with pytest.raises(EngineGone) as caught:
        it.release(BINS, HALF)
    assert "7310001" not in str(caught.value) and caught.value.__context__ is None and it.ledger.entries() == []


def test_a_source_of_somebody_else_that_has_no_probe_is_drawn_from_as_before(tmp_path: Path) -> None:
    class Old:
        name, columns, top = "old", KnownCounts([1]).columns, KnownTop(PLACES).top

        def check(self, *_: object) -> None:
            return None

        def count(self, *_: object) -> Statistic:
            return KnownCounts([1, 2, 3, 4]).count(*_)  # type: ignore[arg-type]

    assert opened(tmp_path, Old()).release(BINS, HALF).number == 1


# ---------------------------------------------------------------- after the charge


@pytest.mark.parametrize(
    ("gone", "cause"),
    [
        (True, "The engine is gone: the Spark driver is gone"),
        (False, "The engine is there; the cause is withheld, because rows can cause it"),
    ],
)
@pytest.mark.parametrize("dies", [RuntimeError(SECRET), MemoryError(SECRET), EngineGone(SECRET)])
def test_a_failure_names_entry_key_and_next_step_and_what_a_probe_without_rows_shows(
    tmp_path: Path, gone: bool, cause: str, dies: Exception
) -> None:
    it = opened(tmp_path, Engine(dies, gone_after=gone))
    with pytest.raises(ReleaseFailed) as caught:
        it.release(BINS, HALF, key="spring")
    said = str(caught.value)
    assert 'ε 0.5 is spent and no answer was shown. Entry 1, key "spring":' in said and cause in said
    assert "retry=True" in caught.value.next_step and caught.value.value == "0.5" and caught.value.rule
    assert "7310001" not in said + caught.value.rule + caught.value.next_step and caught.value.__context__ is None
    assert [entry.status for entry in it.ledger.entries()] == ["failed"]


def test_a_lost_draw_names_entry_key_and_next_step(tmp_path: Path) -> None:
    it = opened(tmp_path, Engine(RuntimeError(SECRET)))
    for key in ("spring", None):
        with pytest.raises(ReleaseFailed):
            it.release(BINS, HALF, key=key)
    with pytest.raises(ReleaseLost, match='entry 1, key "spring", was charged.*and its draw failed.*retry=True'):
        it.release(BINS, HALF, key="spring")
    with pytest.raises(ReleaseLost, match="entry 2 was charged"):
        it.release(BINS, HALF)


def test_a_lost_question_of_a_sub_session_names_use_entry_and_key(tmp_path: Path) -> None:
    def die(tick: Tick | None) -> None:
        raise RuntimeError(SECRET)

    it = opened(tmp_path, Top(PLACES, die))
    sub = it.open(dv.PayWhatYouGet(symbols=12, questions=4, epsilon_per_item="1", delta="1e-12"))
    words = r'3 symbols and 1 question of entry 1 are spent and no answer was shown\. Use 1 of entry 1, key "may":'
    with pytest.raises(ReleaseFailed, match=words):
        sub.ask("dest", k=3, kbar=3, key="may")
    with pytest.raises(ReleaseLost, match='use 1 of entry 1, key "may",'):
        sub.ask("dest", k=3, kbar=3, key="may")


def test_a_cancel_names_entry_and_key(tmp_path: Path) -> None:
    gate = Gate()
    it = opened(tmp_path, KnownCounts([1, 2, 3, 4], gate))
    running = it.release_async(BINS, HALF, key="spring")
    assert gate.reached.wait(patience())
    it.cancel()
    with pytest.raises(ReleaseCancelled, match=r'no answer was shown\. Entry 1, key "spring".*retry=True'):
        running.result(patience())


# ---------------------------------------------------------------- storing


def full(called: str) -> LedgerFull:
    return LedgerFull("there is no room to write to the ledger", value=called, next_step="free some space")


def away(called: str) -> LedgerError:
    return LedgerError("the server of the ledger cannot be reached", value=called, next_step="see that it runs")


@pytest.mark.parametrize("refusal", [full, away])
def test_an_answer_that_cannot_be_stored_is_not_shown_and_its_charge_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, refusal: Callable[[str], LedgerError]
) -> None:
    it = opened(tmp_path, KnownCounts([5, 0, 70, 3], before=lambda tick: fill()))
    write = it.ledger._store.write

    def fill() -> None:
        def refused(work: Any, **_: Any) -> None:
            raise refusal("test.ledger")

        monkeypatch.setattr(it.ledger._store, "write", refused)

    with pytest.raises(LedgerError, match="what came of entry 1 could not be stored, and its charge stays") as caught:
        it.release(BINS, HALF)
    assert str(refusal("")) in str(caught.value) and "retry=True" in caught.value.next_step
    assert type(caught.value) is type(refusal(""))
    monkeypatch.setattr(it.ledger._store, "write", write)
    assert len(it.releases) == 0 and it.remaining.epsilon == Fraction(39, 2)
    with pytest.raises(ReleaseLost):
        it.release(BINS, HALF)


def test_whatever_else_keeps_an_answer_from_being_stored_says_that_it_is_spent(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(self: object) -> bytes:
        raise MemoryError(SECRET)

    it = opened(tmp_path, KnownCounts([5, 0, 70, 3]))
    monkeypatch.setattr(dv.Release, "to_bytes", broken)
    with pytest.raises(ReleaseFailed, match="ε 0.5 is spent and no answer was shown") as caught:
        it.release(BINS, HALF)
    assert "7310001" not in str(caught.value)
    assert [entry.status for entry in it.ledger.entries()] == ["failed"]


# ---------------------------------------------------------------- whose words these are


@pytest.mark.parametrize("kind", [LedgerError, LedgerAway, ReleaseLost, EngineGone, ReleaseCancelled])
def test_what_an_engine_raises_in_our_classes_is_withheld_too(tmp_path: Path, kind: type[DpvizError]) -> None:
    it = opened(tmp_path, Engine(kind(SECRET)))
    with pytest.raises(ReleaseFailed, match="ε 0.5 is spent and no answer was shown") as caught:
        it.release(BINS, HALF)
    assert SECRET not in f"{caught.value} {caught.value.value} {caught.value.rule} {caught.value.next_step}"
    assert [entry.status for entry in it.ledger.entries()] == ["failed"]


def test_a_draw_that_another_machine_gave_up_is_called_lost_and_not_a_fault_of_the_engine(tmp_path: Path) -> None:
    other = dv.Session(KnownCounts([1, 2, 3, 4]), dv.Unit(), dv.Budget(20), tmp_path / "a.ledger")  # type: ignore[arg-type]

    def taken(tick: Tick | None) -> None:
        with closing(sqlite3.connect(tmp_path / "a.ledger")) as ledger:
            ledger.execute("UPDATE draw SET place = 'another', until = 0")
            ledger.commit()
        other.release(BINS, HALF, retry=True)

    late = dv.Session(KnownCounts([1, 2, 3, 4], taken), dv.Unit(), dv.Budget(20), tmp_path / "a.ledger")  # type: ignore[arg-type]
    with pytest.raises(ReleaseLost, match="entry 1 was charged.*and its draw was lost"):
        late.release(BINS, HALF)
    assert [entry.status for entry in late.ledger.entries()] == ["lost", "done"]
    assert late.release(BINS, HALF).number == 2


def test_a_lease_that_could_not_be_renewed_once_is_renewed_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(runner, "RENEW_EVERY", 0.0)
    renewed = []

    def slowly(tick: Tick | None) -> None:
        assert tick is not None
        for at in range(4):
            tick(at, 4)

    def away_once(entry: int) -> None:
        renewed.append(entry)
        if len(renewed) == 1:
            raise LedgerAway("the server is away")

    it = opened(tmp_path, KnownCounts([1, 2, 3, 4], slowly))
    monkeypatch.setattr(it.ledger, "renew", away_once)
    it.release(BINS, HALF)
    assert len(renewed) > 1


def test_an_interrupt_at_the_start_of_a_handle_leaves_no_session_busy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(self: Running, work: object) -> None:
        raise KeyboardInterrupt

    it = opened(tmp_path, KnownCounts([1, 2, 3, 4]))
    with monkeypatch.context() as pressed, pytest.raises(KeyboardInterrupt):
        pressed.setattr(Running, "start", interrupted)
        it.release_async(BINS, HALF)
    assert it.running is None and it.ledger.entries() == []
    assert it.release(BINS, HALF).number == 1


def test_a_stored_answer_that_cannot_be_read_for_now_says_that_nothing_was_charged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    it = opened(tmp_path, KnownCounts([1, 2, 3, 4]))
    it.release(BINS, HALF)

    def gone(number: int) -> bytes:
        raise LedgerAway("the server is away", next_step="try again")

    with monkeypatch.context() as cut, pytest.raises(LedgerAway, match="nothing was charged: the server is away"):
        cut.setattr(it.ledger, "answer", gone)
        it.release(BINS, HALF)
    assert it.release(BINS, HALF).number == 1
