"""Interrupting the kernel of a notebook: the cell stops, and three lines say what stays charged."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from jupyter_client.blocking.client import BlockingKernelClient
from jupyter_client.manager import KernelManager

import dpviz as dv
from dpviz.session.session import Session
from tests.patience import patience
from tests.session.sources import KnownCounts

SETUP = """
import threading
import dpviz as dv
from dpviz.session.session import Session
from tests.session.sources import KnownCounts

def slow(tick):
    print("drawing", flush=True)
    for _ in range({pieces}):
        threading.Event().wait(0.01)
        tick(0, 1)

session = Session(KnownCounts([5, 0, 70, 3], slow), dv.Unit(noun="person"), dv.Budget(2), {path!r})
bins = dv.Domain.integers(0, 3, column="x")
"""
LOOP = """
for turn in range(3):
    try:
        session.release(bins, dv.Dense("1/2"), key=str(turn))
    except Exception:
        pass
"""


@pytest.fixture
def kernel() -> Iterator[tuple[KernelManager, BlockingKernelClient]]:
    manager = KernelManager()
    manager.start_kernel(env={**os.environ, "PYTHONPATH": str(Path(dv.__file__).parents[1])})
    client = manager.blocking_client()
    client.start_channels()
    try:
        client.wait_for_ready(timeout=patience())
        yield manager, client
    finally:
        client.stop_channels()
        manager.shutdown_kernel(now=True)


def run(client: BlockingKernelClient, code: str, on_output: Any = None) -> tuple[dict[str, Any], list[str]]:
    """The reply to a cell and the lines of its error. `on_output` is called once, when it first prints."""
    lines: list[str] = []

    def look(message: dict[str, Any]) -> None:
        nonlocal on_output
        if message["msg_type"] == "stream" and "drawing" in message["content"]["text"] and on_output is not None:
            on_output()
            on_output = None
        if message["msg_type"] == "error":
            lines.extend("\n".join(message["content"]["traceback"]).splitlines())

    reply = client.execute_interactive(code, timeout=patience(), output_hook=look)
    return reply["content"], lines


def test_interrupting_a_notebook_stops_a_loop_and_says_in_three_lines_what_stays_charged(
    tmp_path: Path, kernel: tuple[KernelManager, BlockingKernelClient]
) -> None:
    manager, client = kernel
    path = tmp_path / "test.ledger"
    assert run(client, SETUP.format(pieces=100_000, path=str(path)))[0]["status"] == "ok"
    reply, lines = run(client, LOOP, on_output=manager.interrupt_kernel)
    assert reply["status"] == "error" and reply["ename"] == "ReleaseInterrupted"
    assert "ε 0.5 is spent and no answer was shown. Entry 1" in reply["evalue"]
    assert len(lines) == 3 and "retry=True" in re.sub(r"\x1b\[[\d;]*m", "", "".join(lines))
    assert run(client, "print(session.remaining)")[0]["status"] == "ok"
    session = Session(KnownCounts([5, 0, 70, 3]), dv.Unit(noun="person"), dv.Budget(2), path)
    assert [entry.status for entry in session.ledger.entries()] == ["cancelled"]


def test_interrupting_a_cell_that_awaits_stops_its_loop_of_releases_too(
    tmp_path: Path, kernel: tuple[KernelManager, BlockingKernelClient]
) -> None:
    manager, client = kernel
    assert run(client, SETUP.format(pieces=100_000, path=str(tmp_path / "test.ledger")))[0]["status"] == "ok"
    reply, lines = run(client, f"import asyncio\nawait asyncio.sleep(0)\n{LOOP}", on_output=manager.interrupt_kernel)
    assert reply["status"] == "error" and reply["ename"] == "ReleaseInterrupted" and len(lines) == 3
    assert "ε 0.5 is spent" in reply["evalue"]
