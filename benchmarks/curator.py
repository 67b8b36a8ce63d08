"""A release through a curator's Unix socket against the same release in a kernel, and the memory of those who wait.

The curator and the client are two processes on this machine, each with a ledger of its own in TMPDIR; the releases take
turns. With ticks of 0.1 ms the socket's own share is seen; with longer ones an outcome waits for the next one. An area
is as in `whole_flatness`: the chance that a reply about rows of another kind comes later after a tick, 0.5 where time
tells nothing; by chance alone it is off by 0.017 (one standard deviation).
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
import psutil

import dpviz as dv
from benchmarks.measured import Measured, interleave, ms, wall
from benchmarks.whole_flatness import ALLOWED, CAUGHT, LIMIT, QUESTION, Run, area, frames
from dpviz.session.session import Session

ROUNDS = 200
TICKS = 60
TICK = 0.1
HARDLY = 0.0001
FLAT_ROUNDS, FLAT_TICK = 600, 0.05
AGAIN = "the even set again"
WAITING = 50
BINS = dv.Domain.integers(0, 40, column="visits", overflow=True)
PROGRAM = """
import sys
from dpviz.curator.declaration import Declaration
from dpviz.curator.serve import serve
serve(Declaration.read(sys.argv[1]), lambda addresses: print(*addresses, flush=True))
"""
DECLARED = """
dataset = "visits"
ledger = "kept.ledger"
tick = "{tick:.4f}"
{source}
[unit]
{unit}
[budget]
epsilon = "1000000"
[listen]
socket = "c.sock"
[[analysts]]
name = "ana"
login = {uid}
[queue]
waiting = 200
each = 100
"""


def table(
    rounds: int = ROUNDS, ticks: int = TICKS, flat_rounds: int = FLAT_ROUNDS, waiting: int = WAITING
) -> list[Measured]:
    with tempfile.TemporaryDirectory(prefix="dpviz-bench-") as name:
        folder = Path(name)
        return [
            *against(folder, rounds),
            *ticking(folder, ticks),
            *waited(folder, waiting),
            *flatness(folder, flat_rounds),
        ]


@contextmanager
def served(folder: Path, source: str, unit: str = 'of = "row"', tick: float = HARDLY) -> Iterator[tuple[Session, int]]:
    """A session on a curator in a process of its own, and the number of the process."""
    folder.mkdir()
    text = DECLARED.format(tick=tick, source=f"[source]\n{source}", unit=unit, uid=os.getuid())
    (folder / "c.toml").write_text(text)
    command = [sys.executable, "-c", PROGRAM, str(folder / "c.toml")]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    try:
        address = process.stdout.readline().strip()
        yield dv.connect(address), process.pid
    finally:
        process.terminate()
        process.wait()
        process.stdout.close()


PRACTICE = 'practice = "doctor_visits"'


def against(folder: Path, rounds: int) -> list[Measured]:
    """The same release in turns, in this kernel and by a curator with ticks of 0.1 ms."""
    here = Session(dv.datasets.doctor_visits(), dv.Unit(), dv.Budget(10**6), folder / "here.ledger")
    with served(folder / "there", PRACTICE) as (there, _):
        keys = iter(range(10**9))

        def release(session: Session) -> None:
            session.release(BINS, dv.Dense("1/10"), key=str(next(keys)))

        def again(session: Session) -> None:
            session.release(BINS, dv.Dense("1/10"), key="the same")

        turns = {
            f"{name}, {work.__name__}": partial(wall, partial(work, session))
            for name, session in {"here": here, "there": there}.items()
            for work in (release, again)
        }
        found = interleave(turns, rounds)
    times = found["there, release"] / found["here, release"]
    return [
        Measured("a release of 42 bins in a kernel", ms(found["here, release"])),
        Measured("the same through a Unix socket, ticks of 0.1 ms", ms(found["there, release"])),
        Measured("socket against kernel", f"{times:.2f} times"),
        Measured("a stored answer again, in a kernel and through the socket",
                 f"{ms(found['here, again'])}, {ms(found['there, again'])}"),
    ]  # fmt: skip


def ticking(folder: Path, rounds: int) -> list[Measured]:
    """The same with ticks: an outcome is written at the next one."""
    here = Session(dv.datasets.doctor_visits(), dv.Unit(), dv.Budget(10**6), folder / "beside.ledger")
    with served(folder / "ticking", PRACTICE, tick=TICK) as (there, _):
        keys = iter(range(10**9))

        def release(session: Session) -> None:
            session.release(BINS, dv.Dense("1/10"), key=str(next(keys)))

        turns = {"here": partial(wall, partial(release, here)), "there": partial(wall, partial(release, there))}
        found = interleave(turns, rounds)
    allowed = 1.3 * found["here"] + TICK
    return [
        Measured(
            f"a release through the socket with a tick of {ms(TICK)}",
            ms(found["there"]),
            f"{ms(allowed)} (1.3 times the kernel's and a tick)",
            found["there"] <= allowed,
        )
    ]


def waited(folder: Path, analysts: int) -> list[Measured]:
    """Analysts whose releases wait for their turn, each over a connection of its own."""
    with served(folder / "waiting", PRACTICE, tick=2.0) as (first, pid):
        first.release(BINS, dv.Dense("1/10"))
        process = psutil.Process(pid)
        before = process.memory_info().rss
        address = str(first.ledger.location).removeprefix("the curator at ")
        others = [dv.connect(address) for _ in range(analysts)]
        handles = [
            other.release_async(BINS, dv.Dense("1/10"), key=f"waiting {place}") for place, other in enumerate(others)
        ]
        queued = threading.Event()
        handles[-1].watch(lambda running: queued.set() if running.waiting else None)
        queued.wait(60)
        grown = process.memory_info().rss - before
        for handle in handles:
            handle.cancel()
    allowed = 200 * 10**6
    return [
        Measured(
            f"memory that {analysts} waiting analysts cost the curator",
            f"{grown / 10**6:.0f} MB",
            "200 MB",
            grown <= allowed,
        )
    ]


def flatness(folder: Path, rounds: int) -> list[Measured]:
    """The moment of each reply after the tick before it, from sets of rows as many as one another.

    A curator holds one set, so that each set has a process and a ledger of its own: the even set comes twice, and shows
    what that alone does to an area.
    """
    chosen = {name: frame for name, frame in frames().items() if name in ("even", AGAIN, CAUGHT)}
    unit = f'of = "who"\nmax_bins = {LIMIT}'
    with curated(folder, chosen, unit, FLAT_TICK) as runs:
        found = moments(runs, rounds)
    control, ours = found[AGAIN], found[CAUGHT]
    return [
        Measured(f"the moment of a reply after a tick of {ms(FLAT_TICK)}: {AGAIN}", f"{control:.3f}"),
        Measured(f"the same: {CAUGHT}", f"{ours:.3f}", f"{control:.3f} ± {ALLOWED}", abs(ours - control) <= ALLOWED),
    ]


def moments(runs: dict[str, Run], rounds: int) -> dict[str, float]:
    """For each set but the even one: how often its replies come later after a tick than those of the even one."""
    ends: dict[str, list[int]] = {name: [] for name in runs}
    names, order = list(runs), np.random.default_rng(5)
    for _ in range(rounds):
        for place in order.permutation(len(names)):
            runs[names[place]]()()
            ends[names[place]].append(time.monotonic_ns() % round(FLAT_TICK * 10**9))
    even = np.array(ends["even"])
    return {name: area(np.array(found), even) for name, found in ends.items() if name != "even"}


@contextmanager
def curated(folder: Path, chosen: dict[str, pd.DataFrame], unit: str, tick: float) -> Iterator[dict[str, Run]]:
    """A curator for each set of rows, and releases from it."""
    runs: dict[str, Run] = {}

    @contextmanager
    def each(names: list[str]) -> Iterator[None]:
        if not names:
            yield
            return
        place = folder / f"{names[0]} {tick}"
        place.mkdir()
        chosen[names[0]].to_csv(place / "rows.csv", index=False)
        (place / "rows.csv").chmod(0o600)
        with served(place / "kept", 'file = "../rows.csv"', unit, tick) as (session, _):
            keys, mechanism = iter(range(10**9)), dv.Dense("1/2")
            runs[names[0]] = lambda: partial(session.release, QUESTION, mechanism, key=str(next(keys)))
            with each(names[1:]):
                yield

    with each(list(chosen)):
        yield runs


__all__ = ["table"]
