"""Ctrl-C while the server of a ledger is away: it ends at once, and nothing is charged when the server is back."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator

import pytest

import dpviz as dv
from dpviz.errors import ReleaseInterrupted
from dpviz.session.session import Session
from tests.ledger.server import OWNER, Server
from tests.session.sources import KnownCounts

BINS = dv.Domain.integers(0, 3, column="x")


@pytest.fixture(autouse=True)
def interrupts() -> Iterator[None]:
    """Python's own answer to Ctrl-C: a shell that starts the tests in the background has it ignored."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def test_ctrl_c_while_a_ledgers_server_is_away_withdraws_what_was_not_charged(server: Server) -> None:
    url = server.url(server.schema(), user=OWNER)
    it = Session(KnownCounts([1, 2, 3, 4]), dv.Unit(noun="person"), dv.Budget(2), url)
    it.release(BINS, dv.Dense("1/4"))
    server.stop()
    ended = threading.Event()

    def press() -> None:
        while it.running is None and not ended.wait(0.01):
            pass
        os.kill(os.getpid(), signal.SIGINT)

    pressing = threading.Thread(target=press)
    try:
        pressing.start()
        with pytest.raises(ReleaseInterrupted, match="before anything was charged") as caught:
            it.release(BINS, dv.Dense("1/2"))
    finally:
        ended.set()
        pressing.join()
        server.start()
    assert caught.value.number is None
    assert it.release(BINS, dv.Dense("1/8")).number == 2  # behind the one that was withdrawn, in the same queue
    assert [entry.status for entry in it.ledger.entries()] == ["done", "done"]
