"""The writer: in order, on one thread, which ends some time after its last work."""

from __future__ import annotations

import threading

import pytest

from dpviz.widgets import writer
from dpviz.widgets.writer import Writer
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
