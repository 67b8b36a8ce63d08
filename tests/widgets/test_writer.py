"""The writer: in order, on one thread, which ends some time after its last work."""

from __future__ import annotations

import threading
from collections.abc import Callable

import pytest

from dpviz.widgets import writer
from dpviz.widgets.writer import CALM, FLOOD, MOST_PUT_OFF, PAUSE, REST, TURN, Arrivals, Writer
from tests.patience import patience


def test_a_thousand_pieces_with_a_rest_between_them_are_done_on_one_thread() -> None:
    one, workers = Writer(), set()
    for _ in range(1000):
        done = threading.Event()

        def work(done: threading.Event = done) -> None:
            workers.add(threading.current_thread())
            done.set()

        one.put(work)
        assert done.wait(patience())
    assert len(workers) == 1 and threading.current_thread() not in workers


def test_a_thread_without_work_ends_and_the_next_piece_has_another(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(writer, "LINGER", 0.0)
    one, workers = Writer(), []
    for _ in range(2):
        one.put(lambda: workers.append(threading.current_thread()))
        while not workers:
            pass
        workers[-1].join(patience())
        assert not workers[-1].is_alive()
        one.later(0.0, lambda: workers.append(threading.current_thread()))
        while len(workers) % 2:
            pass
        workers[-1].join(patience())
    assert len(set(workers)) == len(workers)


class Clock:
    """The time that a writer sees: it passes only where the writer works or pauses."""

    def __init__(self) -> None:
        self.now = 0.0
        self.pauses = 0
        self.during: Callable[[], None] = lambda: None

    def monotonic(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += seconds
        self.pauses += 1
        self.during()


def pauses_of(
    monkeypatch: pytest.MonkeyPatch,
    a_pause: Callable[[int], int],
    *,
    worked: float = 2 * TURN,
    came: int = 1,
    waiting: int = 0,
) -> int:
    """How often a writer pauses between two pieces of work, when so many messages come in its n-th pause.

    worked, came  how long the first piece takes, and how many messages come during it
    waiting       how many pieces wait behind it
    """
    clock, arrivals, ended = Clock(), Arrivals(), threading.Event()
    monkeypatch.setattr(writer, "time", clock)
    one = Writer(arrivals)

    def come(messages: int) -> None:
        for _ in range(messages):
            arrivals.add()

    def work() -> None:
        clock.now += worked
        come(came)
        clock.during = lambda: come(a_pause(clock.pauses))
        for _ in range(waiting):
            one.put(lambda: None)
        one.put(ended.set)

    one.put(work)
    assert ended.wait(patience())
    return clock.pauses


def test_a_writer_gives_way_to_a_flood_until_it_is_over(monkeypatch: pytest.MonkeyPatch) -> None:
    assert pauses_of(monkeypatch, lambda n: FLOOD if n <= 40 else 0) == 40 + CALM
    between = {20, 25, 30, 31, 32}  # a lull is not the end
    assert pauses_of(monkeypatch, lambda n: FLOOD if n <= 40 and n not in between else 0) == 40 + CALM


def test_a_flood_that_never_ends_is_answered_now_and_then(monkeypatch: pytest.MonkeyPatch) -> None:
    assert abs(pauses_of(monkeypatch, lambda n: 50) - REST / PAUSE) <= 1


def test_no_more_than_one_pause_is_made_for_a_person_and_none_where_nothing_came_or_little_was_done(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert pauses_of(monkeypatch, lambda n: FLOOD - 1) == 1
    assert pauses_of(monkeypatch, lambda n: FLOOD, worked=TURN / 2) == 0
    assert pauses_of(monkeypatch, lambda n: FLOOD, came=0) == 0


def test_what_waits_has_a_bound_beyond_which_a_flood_is_worked_off(monkeypatch: pytest.MonkeyPatch) -> None:
    assert pauses_of(monkeypatch, lambda n: FLOOD if n < 40 else 0, waiting=MOST_PUT_OFF) == 0
