"""Several sessions, processes and files: nobody draws twice, nobody waits for a draw that has ended."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

import dpviz as dv
from dpviz.errors import DpvizError, LedgerFull, ReleaseLost, SessionBusy
from dpviz.session.session import Session
from tests.patience import patience
from tests.session.sources import Gate, KnownCounts

BINS = dv.Domain.integers(0, 3, column="x")


def opened(path: Path, source: KnownCounts | None = None) -> Session:
    return Session(source or KnownCounts([4, 0, 9, 1]), dv.Unit(), dv.Budget(10), path / "test.ledger")


def in_a_fork(work: Callable[[], Any]) -> int:
    """The exit code of a forked process that does `work`: 0 where it raised nothing."""
    child = os.fork()
    if child == 0:
        code = 1
        try:
            work()
            code = 0
        finally:
            os._exit(code)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def test_a_draw_whose_outcome_was_never_stored_is_lost_to_a_new_session_of_the_same_kernel(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = opened(tmp_path, KnownCounts([1, 2, 3, 4], before=lambda tick: fill()))

    def fill() -> None:
        def full(work: Any, **_: Any) -> None:
            raise LedgerFull("there is no room")

        monkeypatch.setattr(first.ledger._store, "write", full)

    with pytest.raises(LedgerFull):
        first.release(BINS, dv.Dense(1))
    second = opened(tmp_path)  # what a person does: make room, run the cell again
    assert [entry.status for entry in second.ledger.entries()] == ["lost"]
    with pytest.raises(ReleaseLost):
        second.release(BINS, dv.Dense(1))
    assert second.release(BINS, dv.Dense(1), retry=True).number == 2
    assert second.remaining.epsilon == 8


def test_what_another_session_of_the_same_kernel_draws_is_busy_until_it_ends(tmp_path: Path) -> None:
    gate = Gate()
    first, second = opened(tmp_path, KnownCounts([1, 2, 3, 4], before=gate)), opened(tmp_path)
    running = first.release_async(BINS, dv.Dense(1))
    assert gate.reached.wait(patience())
    with pytest.raises(SessionBusy):
        second.release(BINS, dv.Dense(1), retry=True)
    gate.open.set()
    drawn = running.result()
    assert second.release(BINS, dv.Dense(1)) == drawn
    assert second.remaining.epsilon == 9


def test_a_fork_in_the_middle_of_a_draw_leaves_the_child_a_session_of_its_own(tmp_path: Path) -> None:
    gate = Gate()
    session = opened(tmp_path, KnownCounts([1, 2, 3, 4], before=gate))
    running = session.release_async(BINS, dv.Dense(1))
    assert gate.reached.wait(patience())

    def child() -> None:
        assert session.running is None
        gate.open.set()  # the child's copy
        with pytest.raises(SessionBusy):
            session.release(BINS, dv.Dense(1), retry=True)
        assert session.release(BINS, dv.Dense(2)).number == 2

    assert in_a_fork(child) == 0
    assert not running.done
    gate.open.set()
    assert running.result().number == 1
    assert session.remaining.epsilon == 7


def test_parent_and_child_of_a_fork_draw_different_noise(tmp_path: Path) -> None:
    """Two draws are equal by chance in one bin out of 4,000, for none is cut: in all four with a chance below 1e-14."""
    wide = dv.Dense("1/1000", clamp=False)
    session = opened(tmp_path)
    session.release(BINS, wide)  # tables are made, nothing is left to set up
    assert in_a_fork(lambda: session.release(BINS, wide, key="child")) == 0
    session.release(BINS, wide, key="parent")
    drawn = [tuple(release.values) for release in session.releases.values()]
    assert len(set(drawn)) == 3


def test_threads_that_ask_at_once_get_one_answer_for_one_charge_or_a_refusal(tmp_path: Path) -> None:
    session = opened(tmp_path)
    answers: list[Any] = []
    ready = threading.Barrier(12)

    def ask(number: int) -> None:
        ready.wait()
        try:
            answers.append(session.release(BINS, dv.Dense("1/10"), key=f"{number % 3}").to_bytes())
        except DpvizError as refused:
            answers.append(type(refused))

    threads = [threading.Thread(target=ask, args=(number,)) for number in range(12)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    seen = {answer for answer in answers if isinstance(answer, bytes)}
    assert seen and {answer for answer in answers if isinstance(answer, type)} <= {SessionBusy}
    assert session.remaining.epsilon == 10 - Fraction(len(session.ledger.entries()), 10)
    assert len(seen) == len(session.ledger.entries()) <= 3


def test_a_cancel_after_the_end_and_a_retry_of_what_is_not_lost_change_nothing(tmp_path: Path) -> None:
    session = opened(tmp_path)
    running = session.release_async(BINS, dv.Dense(1))
    first = running.result()
    running.cancel()
    session.cancel()
    assert running.result() == first == session.release(BINS, dv.Dense(1), retry=True)
    assert session.release(BINS, dv.Dense(2), retry=True).number == 2
    assert session.remaining.epsilon == 7
