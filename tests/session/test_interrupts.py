"""Ctrl-C at every step of what is paid for: it stops the program, and says what stays charged."""

from __future__ import annotations

import asyncio
import os
import signal
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

import dpviz as dv
from dpviz.errors import ReleaseCancelled, ReleaseFailed, ReleaseInterrupted, ReleaseLost
from dpviz.model.question import Question
from dpviz.model.source import Tick
from dpviz.model.statistic import Need
from dpviz.privacy.unit import Unit
from dpviz.session import interrupts
from dpviz.session.charge import Charge
from dpviz.session.running import Errand, Running, Task
from dpviz.session.session import Session
from tests.patience import patience, until
from tests.session.sources import Gate, KnownCounts, KnownTop

BINS = dv.Domain.integers(0, 3, column="x")
HALF = dv.Dense("1/2")
PLACES = {"": {"Aachen": 300, "Bonn": 200, "Celle": 100}}


@pytest.fixture(autouse=True)
def pythons_own_handler() -> Iterator[None]:
    """Ctrl-C is handled after each test as it was before."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        yield
        assert signal.getsignal(signal.SIGINT) is signal.default_int_handler, "a handler was left behind"
    finally:
        signal.signal(signal.SIGINT, before)


def opened(path: Path, source: object = None, epsilon: object = 2) -> Session:
    data = KnownCounts([5, 0, 70, 3]) if source is None else source
    return Session(data, dv.Unit(noun="person"), dv.Budget(epsilon, "1e-6"), path / "test.ledger")  # type: ignore[arg-type]


def ctrl_c() -> None:
    os.kill(os.getpid(), signal.SIGINT)


class Interrupted:
    """Presses Ctrl-C on the thread that draws, and goes on once the main thread has noticed."""

    def __init__(self, times: int = 1) -> None:
        self.times = times
        self.session: Session | None = None
        self.begin, self.go_on = threading.Event(), threading.Event()
        self.begin.set()
        self.go_on.set()

    def __call__(self, tick: Tick | None = None) -> None:
        assert self.session is not None and self.begin.wait(patience())
        running = self.session._runner._running
        assert running is not None
        ctrl_c()
        until(lambda: running.cancelling)
        if self.times > 1:
            ctrl_c()
        assert self.go_on.wait(patience())
        if tick is not None:
            tick(0, 1)


def drawn_with(path: Path, times: int = 1, epsilon: object = 2) -> tuple[Session, Interrupted]:
    """A session whose counting is interrupted."""
    press = Interrupted(times)
    press.session = opened(path, KnownCounts([5, 0, 70, 3], press), epsilon)
    return press.session, press


def is_no_exception(caught: BaseException) -> bool:
    return isinstance(caught, KeyboardInterrupt) and not isinstance(caught, Exception)


# ---------------------------------------------------------------- each step of a release


def test_ctrl_c_during_the_checks_says_that_nothing_was_charged(tmp_path: Path) -> None:
    class Checking(KnownCounts):
        def check(self, question: Question, unit: Unit, need: Need) -> None:
            signal.raise_signal(signal.SIGINT)

    it = opened(tmp_path, Checking([1, 2, 3, 4]))
    head = it.ledger.head()
    with pytest.raises(ReleaseInterrupted, match="before anything was charged") as caught:
        it.release(BINS, HALF)
    assert is_no_exception(caught.value) and caught.value.number is None and caught.value.rule
    assert it.ledger.head() == head and it.running is None


def test_ctrl_c_at_the_moment_the_thread_starts_charges_nothing_that_is_not_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    it, start = opened(tmp_path), Running.start

    def interrupted(self: Running, work: Callable[[], Any]) -> None:
        signal.raise_signal(signal.SIGINT)
        start(self, work)

    monkeypatch.setattr(Running, "start", interrupted)
    with pytest.raises(ReleaseInterrupted) as caught:
        it.release(BINS, HALF)
    until(lambda: it.running is None)
    assert [entry.number for entry in it.ledger.entries()] == [n for n in [caught.value.number] if n is not None]


def test_ctrl_c_before_the_thread_starts_never_starts_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    it, enter = opened(tmp_path), interrupts.Presses.__enter__
    started: list[object] = []

    def interrupted(self: interrupts.Presses) -> interrupts.Presses:
        found = enter(self)
        signal.raise_signal(signal.SIGINT)
        return found

    monkeypatch.setattr(interrupts.Presses, "__enter__", interrupted)
    monkeypatch.setattr(Running, "start", lambda self, work: started.append(self))
    with pytest.raises(ReleaseInterrupted, match="before anything was charged"):
        it.release(BINS, HALF)
    assert not started and it.ledger.entries() == []


def test_ctrl_c_while_the_engine_is_probed_does_not_wait_for_the_engine(tmp_path: Path) -> None:
    hanging = threading.Event()

    class Hanging(KnownCounts):
        def probe(self) -> None:
            ctrl_c()
            hanging.wait(patience())

    it = opened(tmp_path, Hanging([1, 2, 3, 4]))
    with pytest.raises(ReleaseInterrupted, match="before anything was charged"):
        it.release(BINS, HALF)
    assert not hanging.is_set() and it.running is None
    hanging.set()
    assert it.ledger.entries() == [] and it.remaining.epsilon == 2


def test_ctrl_c_while_another_process_holds_the_ledgers_lock_withdraws_the_release(tmp_path: Path) -> None:
    class Probed(KnownCounts):
        def probe(self) -> None:
            probed.set()

    probed = threading.Event()
    it = opened(tmp_path, Probed([1, 2, 3, 4]))
    other = sqlite3.connect(tmp_path / "test.ledger", isolation_level=None)
    other.execute("BEGIN IMMEDIATE")

    def press() -> None:
        assert probed.wait(patience())
        ctrl_c()

    pressing = threading.Thread(target=press)
    pressing.start()
    with pytest.raises(ReleaseInterrupted, match="before anything was charged"):
        it.release(BINS, HALF)
    pressing.join()
    other.execute("ROLLBACK")
    other.close()
    assert it.release(BINS, HALF).number == 1  # it waits for its turn behind the one that was withdrawn
    assert len(it.ledger.entries()) == 1 and it.remaining.epsilon == Fraction(3, 2)


def test_ctrl_c_between_charge_and_draw_says_what_stays_charged(tmp_path: Path) -> None:
    it, _ = drawn_with(tmp_path)
    with pytest.raises(ReleaseInterrupted, match=r"ε 0.5 is spent and no answer was shown\. Entry 1, key \"a\":") as no:
        it.release(BINS, HALF, key="a")
    assert is_no_exception(no.value) and no.value.number == 1 and no.value.value == "0.5"
    assert "retry=True" in no.value.next_step and no.value.rule
    assert [entry.status for entry in it.ledger.entries()] == ["cancelled"] and it.running is None
    with pytest.raises(ReleaseLost, match='entry 1, key "a",'):
        it.release(BINS, HALF, key="a")


@pytest.mark.parametrize("moment", ["before", "after"])
def test_ctrl_c_around_the_storing_of_an_answer_says_that_the_answer_is_stored(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, moment: str
) -> None:
    it, keeping = opened(tmp_path), Charge.keeping
    press = Interrupted()
    press.session = it

    def pressed(self: Charge, *given: Any) -> Callable[[bytes], object]:
        keep = keeping(self, *given)

        def kept(content: bytes) -> None:
            if moment == "before":
                press()
            keep(content)
            if moment == "after":
                press()

        return kept

    monkeypatch.setattr(Charge, "keeping", pressed)
    with pytest.raises(ReleaseInterrupted, match="the draw was quicker: ε 0.5 is spent.*entry 1.*free") as caught:
        it.release(BINS, HALF)
    assert is_no_exception(caught.value) and caught.value.number == 1
    assert it.release(BINS, HALF) == it.releases[1] and it.remaining.epsilon == Fraction(3, 2)


def test_ctrl_c_that_comes_after_the_end_is_not_lost() -> None:
    for outcome in ("done", ReleaseFailed("The engine failed: ε 0.5 is spent", value="0.5")):
        errand: Errand[str] = Errand(lambda _: ("it is written", 7), "")

        def begin(errand: Errand[str] = errand, outcome: Any = outcome) -> None:
            errand.end(outcome)
            signal.raise_signal(signal.SIGINT)

        with pytest.raises(ReleaseInterrupted) as caught:
            errand.waited(begin)
        said = "the ledger was quicker: it is written" if outcome == "done" else "ε 0.5 is spent"
        assert said in str(caught.value) and is_no_exception(caught.value)


def test_ctrl_c_on_a_stored_answer_charges_nothing_and_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    it = opened(tmp_path)
    first = it.release(BINS, HALF)
    press, pay = Interrupted(), Charge.pay
    press.session = it

    def paid(self: Charge, running: Running) -> Any:
        found = pay(self, running)
        press()
        return found

    monkeypatch.setattr(Charge, "pay", paid)
    with pytest.raises(ReleaseInterrupted, match="before anything was charged"):
        it.release(BINS, HALF)
    monkeypatch.undo()
    assert it.remaining.epsilon == Fraction(3, 2) and it.release(BINS, HALF) == first
    running = Running("", "")
    running.free, running.number = True, 1
    assert "answered before, as entry 1, and nothing was charged" in str(running.too_late(first))


def test_a_refusal_that_meets_ctrl_c_stops_a_loop_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    it, pay = opened(tmp_path, epsilon="0.1"), Charge.pay

    def paid(self: Charge, running: Running) -> Any:
        running._decision.clear()  # as where the ledger has decided already
        ctrl_c()
        until(lambda: running.cancelling)
        return pay(self, running)

    monkeypatch.setattr(Charge, "pay", paid)
    with pytest.raises(ReleaseInterrupted, match="costs ε = 0.5 but 0.1 is left.*Nothing was charged") as caught:
        it.release(BINS, HALF)
    assert is_no_exception(caught.value) and it.ledger.entries() == []


# ---------------------------------------------------------------- twice


def test_a_second_ctrl_c_lets_go_and_the_charge_is_pending(tmp_path: Path) -> None:
    it, press = drawn_with(tmp_path, times=2)
    press.go_on.clear()
    with pytest.raises(ReleaseInterrupted, match="entry 1 is pending.*counts as spent: ε 0.5 is spent") as caught:
        it.release(BINS, HALF)
    assert caught.value.number == 1 and [entry.status for entry in it.ledger.entries()] == ["pending"]
    assert it.remaining.epsilon == Fraction(3, 2)
    press.go_on.set()
    until(lambda: it.running is None)
    assert [entry.status for entry in it.ledger.entries()] == ["cancelled"]


def test_a_second_ctrl_c_while_the_charge_is_written_counts_it_as_spent(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    it, press = opened(tmp_path), Interrupted(times=2)
    press.session = it
    press.go_on.clear()
    charging = Running.charging

    def slowly(self: Running) -> None:
        charging(self)
        press()

    monkeypatch.setattr(Running, "charging", slowly)
    with pytest.raises(ReleaseInterrupted, match="not known yet; count it as spent: ε 0.5 is spent") as caught:
        it.release(BINS, HALF)
    assert caught.value.number is None and caught.value.value == "0.5"
    monkeypatch.undo()
    press.go_on.set()
    until(lambda: it.running is None)
    assert [entry.status for entry in it.ledger.entries()] == ["cancelled"] and it.remaining.epsilon == Fraction(3, 2)


def test_the_first_ctrl_c_waits_until_the_ledger_knows_what_became_of_a_charge(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    it, press = opened(tmp_path), Interrupted()
    press.session = it
    charging = Running.charging

    def interrupted(self: Running) -> None:
        charging(self)
        press()

    monkeypatch.setattr(Running, "charging", interrupted)
    with pytest.raises(ReleaseInterrupted, match="ε 0.5 is spent and no answer was shown") as caught:
        it.release(BINS, HALF)
    assert caught.value.number == 1 and [entry.status for entry in it.ledger.entries()] == ["cancelled"]


# ---------------------------------------------------------------- other doors that are paid for


def test_ctrl_c_ends_result_of_a_handle_as_it_ends_release(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    it, press = drawn_with(tmp_path)
    attend = Running._attend

    def attended(self: Running, presses: interrupts.Presses, deadline: float | None) -> None:
        press.begin.set()
        attend(self, presses, deadline)

    monkeypatch.setattr(Running, "_attend", attended)
    press.begin.clear()  # so that it is pressed while the result is waited for, however quick the disk is
    running = it.release_async(BINS, HALF)
    with pytest.raises(ReleaseInterrupted, match="ε 0.5 is spent") as caught:
        running.result()
    assert caught.value.number == running.number == 1
    with pytest.raises(ReleaseCancelled):
        running.result()


def test_a_handle_that_ctrl_c_leaves_behind_goes_on_and_its_answer_is_free(tmp_path: Path) -> None:
    gate = Gate()
    it = opened(tmp_path, KnownCounts([5, 0, 70, 3], gate))
    running = it.release_async(BINS, HALF)
    assert gate.reached.wait(patience())
    with pytest.raises(KeyboardInterrupt):  # in the analyst's own code
        signal.raise_signal(signal.SIGINT)
    assert not running.cancelling and it.running is running
    gate.open.set()
    assert running.result(patience()) == it.release(BINS, HALF) and it.remaining.epsilon == Fraction(3, 2)


def test_ctrl_c_during_a_question_of_a_sub_session_says_how_many_symbols_stay_used(tmp_path: Path) -> None:
    press = Interrupted()
    it = Session(
        KnownTop(PLACES, press), dv.Unit("person", max_bins=2), dv.Budget(100, "1e-5"), tmp_path / "test.ledger"
    )
    press.session = it
    sub = it.open(dv.PayWhatYouGet(symbols=12, questions=4, epsilon_per_item="1", delta="1e-12"))
    with pytest.raises(ReleaseInterrupted, match="3 symbols and 1 question of entry 1 are spent") as caught:
        sub.ask("dest", k=3, kbar=3)
    assert (caught.value.number, caught.value.use) == (1, 1) and is_no_exception(caught.value)
    assert sub.symbols_left == 9 and [asked.status for asked in sub.transcript] == ["cancelled"]
    again = [asked.used for asked in sub.transcript]
    assert again == [3] and sub.questions_left == 3


CALLS: dict[str, Callable[[Session], object]] = {
    "open": lambda it: it.open(dv.PayWhatYouGet(symbols=12, questions=4, epsilon="1", delta="1e-7")),
    "raise_budget": lambda it: it.raise_budget(dv.Budget(3, "1e-6")),
    "close": lambda it: it.open(dv.PayWhatYouGet(symbols=2, questions=4, epsilon="1/4", delta="1e-8")).close(),
}


@pytest.mark.parametrize("door", CALLS)
def test_ctrl_c_before_the_ledger_is_written_changes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, door: str
) -> None:
    it = opened(tmp_path, KnownTop(PLACES))
    it.open(dv.PayWhatYouGet(symbols=2, questions=4, epsilon="1/4", delta="1e-8"))
    head = it.ledger.head()
    charging = Errand.charging

    def interrupted(self: Errand[Any]) -> None:
        ctrl_c()
        until(lambda: self.cancelling)
        charging(self)

    monkeypatch.setattr(Errand, "charging", interrupted, raising=False)
    with pytest.raises(ReleaseInterrupted, match="before anything was charged") as caught:
        CALLS[door](it)
    assert is_no_exception(caught.value) and it.ledger.head() == head
    monkeypatch.undo()
    CALLS[door](it)
    assert it.ledger.head() != head and it.ledger.verify()


@pytest.mark.parametrize(
    ("door", "said"),
    [
        ("open", "the sub-session is open and paid for, as entry 2"),
        ("raise_budget", "the budget is epsilon 3"),
        ("close", "the sub-session of entry 1 is closed"),
    ],
)
def test_ctrl_c_after_the_ledger_is_written_says_what_is_done(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, door: str, said: str
) -> None:
    it = opened(tmp_path, KnownTop(PLACES))
    it.open(dv.PayWhatYouGet(symbols=2, questions=4, epsilon="1/4", delta="1e-8"))
    head, charging = it.ledger.head(), Errand.charging

    def interrupted(self: Errand[Any]) -> None:
        charging(self)
        ctrl_c()
        until(lambda: self.cancelling)

    monkeypatch.setattr(Errand, "charging", interrupted, raising=False)
    with pytest.raises(ReleaseInterrupted) as caught:
        CALLS[door](it)
    assert said in str(caught.value).replace("ε", "epsilon")
    assert it.ledger.head() != head and it.ledger.verify()


# ---------------------------------------------------------------- asyncio, other handlers, other threads


def test_a_cancelled_await_stops_the_draw_and_keeps_its_charge(tmp_path: Path) -> None:
    gate = Gate()
    it = opened(tmp_path, KnownCounts([5, 0, 70, 3], gate))

    async def story() -> Running:
        running = it.release_async(BINS, HALF)

        async def wait() -> dv.Release:
            return await running

        task = asyncio.create_task(wait())
        await asyncio.to_thread(gate.reached.wait, patience())
        task.cancel()
        with pytest.raises(asyncio.CancelledError) as stop:
            await task
        assert "stays charged" in "".join(stop.value.__notes__)
        return running

    running = asyncio.run(story())
    with pytest.raises(ReleaseCancelled, match="ε 0.5 is spent"):
        running.result(patience())
    assert [entry.status for entry in it.ledger.entries()] == ["cancelled"]


def test_a_shielded_await_lets_the_draw_go_on(tmp_path: Path) -> None:
    gate = Gate()
    it = opened(tmp_path, KnownCounts([5, 0, 70, 3], gate))

    async def story() -> dv.Release:
        running = it.release_async(BINS, HALF)
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(asyncio.shield(running), 0.01)
        gate.open.set()
        return await running

    assert asyncio.run(story()) == it.releases[1]


def test_ctrl_c_under_asyncio_run_ends_the_program_and_cancels_the_draw(tmp_path: Path) -> None:
    press = threading.Event()

    def interrupted(tick: Tick | None) -> None:
        ctrl_c()
        running = it._runner._running
        assert running is not None and tick is not None
        until(lambda: running.cancelling)
        press.set()
        tick(0, 1)

    it = opened(tmp_path, KnownCounts([5, 0, 70, 3], interrupted))

    async def story() -> None:
        await it.release_async(BINS, HALF)

    with pytest.raises(KeyboardInterrupt):
        asyncio.run(story())
    assert press.wait(patience())
    until(lambda: it.running is None)
    assert [entry.status for entry in it.ledger.entries()] == ["cancelled"]


def test_ctrl_c_under_asyncio_run_stops_a_loop_of_releases_that_awaits_nothing(tmp_path: Path) -> None:
    it, _ = drawn_with(tmp_path)
    turns: list[int] = []

    async def story() -> None:
        for turn in range(3):
            turns.append(turn)
            try:
                it.release(BINS, HALF, key=str(turn))
            except Exception:
                continue

    with pytest.raises(ReleaseInterrupted, match="ε 0.5 is spent") as caught:
        asyncio.run(story())
    assert turns == [0] and caught.value.number == 1


def test_a_handler_that_puts_off_ctrl_c_until_later_goes_on_deciding(tmp_path: Path) -> None:
    pressed: list[int] = []

    def press(tick: Tick | None) -> None:
        ctrl_c()
        until(lambda: pressed)

    it = opened(tmp_path, KnownCounts([5, 0, 70, 3], press))
    signal.signal(signal.SIGINT, lambda number, frame: pressed.append(number))
    try:
        assert it.release(BINS, HALF).number == 1
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def test_a_programs_own_handler_that_raises_ends_a_release_in_the_same_way(tmp_path: Path) -> None:
    def own(number: int, frame: object) -> None:
        raise KeyboardInterrupt

    it, _ = drawn_with(tmp_path)
    signal.signal(signal.SIGINT, own)
    try:
        with pytest.raises(ReleaseInterrupted, match="ε 0.5 is spent") as caught:
            it.release(BINS, HALF)
        assert caught.value.number == 1 and signal.getsignal(signal.SIGINT) is own
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def test_a_release_on_another_thread_leaves_ctrl_c_to_the_main_thread(tmp_path: Path) -> None:
    gate = Gate()
    it = opened(tmp_path, KnownCounts([5, 0, 70, 3], gate))
    answers: list[dv.Release] = []
    other = threading.Thread(target=lambda: answers.append(it.release(BINS, HALF)))
    other.start()
    assert gate.reached.wait(patience())
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    with pytest.raises(KeyboardInterrupt):
        signal.raise_signal(signal.SIGINT)
    gate.open.set()
    other.join(patience())
    assert answers == [it.releases[1]]


def test_what_is_cancelled_before_its_charge_is_never_charged_however_often_the_ledger_tries() -> None:
    task: Task[str] = Task()
    task.cancel()
    for _ in range(2):
        with pytest.raises(ReleaseCancelled, match="before anything was charged"):
            task.charging()
    late: Task[str] = Task()
    late.charging()
    late.charging()  # a second try of the same transaction
    late.cancel()
    with pytest.raises(ReleaseCancelled):
        late.charging()
    assert task.done and not late.done


LEFT = """
import gc, sys
import dpviz as dv
from tests.session.sources import KnownCounts

bins = dv.Domain.integers(0, 3, column="x")
session = dv.Session(KnownCounts([5, 0, 70, 3]), dv.Unit(noun="person"), dv.Budget(10), sys.argv[1])
session.release(bins, dv.Dense(1))
gc.collect()  # opening leaves the pool of connections with which the ledger was made
gc.disable()
for number in range(3):
    session.release(bins, dv.Dense(1), key=str(number))
called = []
sys.setprofile(lambda frame, event, _: called.append(frame.f_code.co_qualname) if event == "call" else None)
gc.collect()
sys.setprofile(None)
assert not called, called
"""


def test_what_releases_leave_to_the_collector_calls_no_python(tmp_path: Path) -> None:
    """Python calls what listens for the end of an object at whatever moment the collector runs, and drops what is
    raised there: a Ctrl-C that falls into such a call would be lost. In a process that has no other garbage."""
    subprocess.run([sys.executable, "-c", LEFT, str(tmp_path / "test.ledger")], check=True)


def test_an_interrupt_is_three_lines_in_a_notebook() -> None:
    error = ReleaseInterrupted("Interrupted.", rule="a rule", next_step="a step")
    lines = "\n".join(error._render_traceback_()).splitlines()
    assert len(lines) == 3
    assert lines[:2] == ["ReleaseInterrupted: Interrupted.", "A rule. A step."]
    assert dv.ReleaseInterrupted is ReleaseInterrupted
