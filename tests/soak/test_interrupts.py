"""A loop of releases in a process of its own, and Ctrl-C at random moments of it: the loop always stops."""

from __future__ import annotations

import gc
import json
import os
import random
import select
import signal
import time
from collections import Counter
from fractions import Fraction
from pathlib import Path
from typing import Any

import dpviz as dv
from dpviz.session.session import Session
from tests.session.sources import KnownCounts
from tests.soak.amounts import record, rounds

BINS = dv.Domain.integers(0, 3, column="x")
PRICE = Fraction(1, 1000)
BUDGET = 1000
PRESSES = 2000
LIMIT = 120.0
"""Seconds after which a loop that was interrupted counts as going on."""


def opened(path: Path) -> Session:
    return Session(KnownCounts([5, 0, 70, 3]), dv.Unit(noun="person"), dv.Budget(BUDGET), path)


def loop(path: Path, showing: int, hearing: int) -> None:
    """Release under a new key for ever, as a careless analyst does; tell how each loop ended, and begin again."""
    session, price = opened(path), dv.Dense(PRICE)
    # Modules that load leave much to the collector, and opening a ledger the pool with which it was made. Python drops
    # what is raised while the collector calls back, so a press that falls there is lost, in any program.
    session.plan(BINS, price)
    gc.collect()
    turn = 0
    while True:
        returned, stop = 0, None
        try:
            os.write(showing, b"ready\n")
            while True:
                turn += 1
                try:
                    session.release(BINS, price, key=str(turn))
                    returned += 1
                except Exception:
                    continue
        except KeyboardInterrupt as stopped:
            stop = stopped
        told = {
            "kind": type(stop).__name__,
            "number": getattr(stop, "number", None),
            "said": str(stop),
            "returned": returned,
            "entries": int((BUDGET - session.remaining.epsilon) / PRICE),
        }
        os.write(showing, json.dumps(told).encode() + b"\n")
        if os.read(hearing, 1) != b"g":
            return


def line(reading: int, rest: bytearray) -> bytes:
    while b"\n" not in rest:
        ready, _, _ = select.select([reading], [], [], LIMIT)
        assert ready, "Ctrl-C did not stop the loop"
        part = os.read(reading, 65536)
        assert part, "the loop died"
        rest += part
    found, _, left = bytes(rest).partition(b"\n")
    rest[:] = left
    return found


def test_ctrl_c_at_any_moment_stops_a_loop_that_swallows_every_exception(tmp_path: Path) -> None:
    path, chance = tmp_path / "loop.ledger", random.Random(8)
    reading, showing = os.pipe()
    hearing, telling = os.pipe()
    child = os.fork()
    if child == 0:
        code = 1
        try:
            signal.signal(signal.SIGINT, signal.default_int_handler)
            loop(path, showing, hearing)
            code = 0
        finally:
            os._exit(code)
    os.close(showing)
    os.close(hearing)
    told: list[dict[str, Any]] = []
    rest, count = bytearray(), rounds(PRESSES)
    try:
        for turn in range(count):
            assert line(reading, rest) == b"ready"
            time.sleep(chance.uniform(0, 0.03))
            os.kill(child, signal.SIGINT)
            told.append(json.loads(line(reading, rest)))
            os.write(telling, b"g" if turn < count - 1 else b"e")
    except BaseException:
        os.kill(child, signal.SIGKILL)
        raise
    finally:
        os.close(reading)
        os.close(telling)
        _, status = os.waitpid(child, 0)
    assert os.waitstatus_to_exitcode(status) == 0
    kinds = Counter(end["kind"] for end in told)
    assert set(kinds) <= {"ReleaseInterrupted", "KeyboardInterrupt"}
    assert kinds["ReleaseInterrupted"] > count // 2, "too few presses met a release to have tested anything"

    session, before = opened(path), 0
    for end in told:
        charged = end["entries"] - before - end["returned"]
        before = end["entries"]
        if end["kind"] == "KeyboardInterrupt":  # between two releases: what the last one was charged is stored
            assert charged in (0, 1)
        else:
            assert charged == (end["number"] is not None), end
        if end["number"] is not None:
            status = session.ledger.entry(end["number"]).status
            assert status == ("done" if "is stored as" in end["said"] else "cancelled"), end
    statuses = Counter(entry.status for entry in session.ledger.entries())
    assert set(statuses) <= {"done", "cancelled"} and len(session.ledger.entries()) == before
    assert session.ledger.verify()
    record(
        "Ctrl-C in a loop of releases",
        f"{count:,} presses, {kinds['ReleaseInterrupted']:,} of them in a release: each stopped the loop, and named "
        f"what it was charged ({statuses['cancelled']:,} cancelled)",
    )
