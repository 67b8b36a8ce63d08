"""The time of a durable charge and its outcome, alone, late in a long ledger, and beside seven other kernels.

In an SQLite file, and on a PostgreSQL server of this machine, with its usual settings. TMPDIR chooses the disk.
An old ledger is one of 100,000 entries; where this machine remembers it, opening reads what was written since.
"""

from __future__ import annotations

import hashlib
import itertools
import multiprocessing
import os
import shutil
import tempfile
import time
from collections.abc import Callable, Mapping
from functools import partial
from multiprocessing.synchronize import Barrier
from pathlib import Path
from statistics import quantiles

import numpy as np
import pandas as pd
from sqlalchemy import Connection

import dpviz as dv
from benchmarks.measured import Measured, interleave, ms
from dpviz.session.ledger import Ledger, records
from dpviz.session.ledger.chain import Row, State
from tests.ledger.server import OWNER, Server

SHORT, LONG, ROUNDS = 100, 10_000, 400
OLD, TIMES, PAGE = 100_000, 15, 50
KERNELS, CHARGES = 8, 50

CHARTER = {
    "dataset": "visits",
    "schema": {"visits": "number", "age": "number", "gender": "text"},
    "unit": {"of": "row", "relation": "add-remove", "noun": "person-year", "max_bins": 1, "max_per_bin": 1, "n": None},
    "budget": {"epsilon": "2", "delta": "0"},
}
BODY = {
    "question": {"domain": {"kind": "integers", "column": "visits", "low": 0, "high": 40}, "where": []},
    "question_text": "visits 0 to 40, over 40",
    "mechanism": {"name": "Dense", "parameters": {"epsilon": "1/2", "base": "exp"}},
    "price": {"text": "ε 1/2 per person-year", "unit": "one person-year, add or remove"},
}
BINS = dv.Domain.integers(0, 40, column="visits", overflow=True)
SUB = {"symbols": str(10**9)}
ANSWER = b'{"values":[' + b",".join(b"%d" % (7919 * bin_ % 6000) for bin_ in range(42)) + b"]}"


def table(
    short: int = SHORT,
    long: int = LONG,
    rounds: int = ROUNDS,
    kernels: int = KERNELS,
    charges: int = CHARGES,
    old: int = OLD,
) -> list[Measured]:
    """All measurements of the ledger. Filling the long one takes most of the time."""
    with tempfile.TemporaryDirectory(prefix="dpviz-bench-") as folder:
        Path(folder).chmod(0o755)  # the server runs as another user
        return [
            *alone(Path(folder), short, long, rounds),
            *aged(Path(folder), short, old, rounds),
            *together(Path(folder) / "shared.ledger", kernels, charges),
            *served(Path(folder), short, long // 5, rounds, kernels, charges),
        ]


def alone(folder: Path, few: int, many: int, rounds: int) -> list[Measured]:
    """One kernel. A short ledger, a long one and the bare disk take turns, so that all meet the same machine."""
    short, long = (Kernel(folder / f"{name}.ledger", held) for name, held in (("short", few), ("long", many)))
    disk = Disk(folder / "page")
    turns = {"short": short.release, "disk": disk.sync, "long": long.release, "use": short.use}
    found = interleave({name: partial(seconds, work) for name, work in turns.items()}, rounds)
    pair, late, use, sync = found["short"], found["long"], found["use"], found["disk"]
    allowed = max(10 * sync, 0.004)
    return [
        Measured("write and fsync one page", ms(sync)),
        Measured(
            "charge and outcome, both durable", ms(pair), f"{ms(allowed)} (10 fsync, at least 4 ms)", pair <= allowed
        ),
        Measured("reserve and settle of one use, both durable", ms(use), ms(allowed), use <= allowed),
        Measured(
            f"release {many:,} against release {few}", f"{late / pair:.2f} times", "1.5 times", late <= 1.5 * pair
        ),
    ]


def aged(folder: Path, few: int, many: int, rounds: int) -> list[Measured]:
    """A session's ledger after years: what it costs to open, to go on, to count, to list and to keep.

    It holds a release of 42 bins again and again. This machine's memory of it lies beside it.
    """
    place, kept, state = folder / "old.ledger", folder / "state", os.environ.get("XDG_STATE_HOME")
    os.environ["XDG_STATE_HOME"] = str(kept)
    try:
        for path, length in ((place, many), (folder / "young.ledger", few)):
            filled(session(path), length)
        size = place.stat().st_size / many
        shutil.rmtree(kept, ignore_errors=True)
        whole = seconds(lambda: session(place))
        remembered = sum(path.stat().st_size for path in kept.rglob("*.memory")) / many
        old, young = session(place), session(folder / "young.ledger")
        looks: dict[str, Callable[[], object]] = {
            "open": lambda: session(place),
            "len": lambda: len(old.releases),
            "page": lambda: old.ledger.entries(last=PAGE, before=many // 2),
        }
        found = interleave({name: partial(seconds, look) for name, look in looks.items()}, TIMES)
        keys = map(str, itertools.count())
        turns: dict[str, Callable[[], object]] = {
            "old": lambda: old.release(BINS, dv.Dense("1/10"), key=f"old {next(keys)}"),
            "young": lambda: young.release(BINS, dv.Dense("1/10"), key=f"young {next(keys)}"),
        }
        pair = interleave({name: partial(seconds, turn) for name, turn in turns.items()}, rounds)
        times = pair["old"] / pair["young"]
    finally:
        os.environ.pop("XDG_STATE_HOME")
        if state is not None:
            os.environ["XDG_STATE_HOME"] = state
    return [
        Measured(f"open a session of {many:,} releases for the first time, and remember it", ms(whole)),
        Measured(f"open one of {many:,} that is remembered", ms(found["open"]), "50 ms", found["open"] <= 0.05),
        Measured(f"session.release, {many:,} against {few}", f"{times:.2f} times", "1.5 times", times <= 1.5),
        Measured(f"len(session.releases) of {many:,}", ms(found["len"]), "5 ms", found["len"] <= 0.005),
        Measured(f"a page of {PAGE} out of {many:,}", ms(found["page"]), "20 ms", found["page"] <= 0.02),
        Measured("on disk, a release of 42 bins", f"{size:,.0f} bytes", "2,500 bytes", size <= 2500),
        Measured("remembered of it, beside the user's state", f"{remembered:,.0f} bytes a release"),
    ]


def session(place: Path) -> dv.Session:
    frame = pd.DataFrame({"visits": np.arange(1000) % 50})
    return dv.Session(frame, unit=dv.Unit(), budget=dv.Budget(epsilon=10**6), ledger=place, dataset="visits")


def filled(begun: dv.Session, many: int, at_once: int = 400) -> None:
    """A release, and what it wrote once more for each that is missing: some hundred in one transaction."""
    ledger, before = begun.ledger, begun.ledger.account
    begun.release(BINS, dv.Dense("1/10"), key="1")
    step = int(ledger.account["epsilon"]) - int(before["epsilon"])
    body, answer = ledger.entry(1).body, ledger.answer(1).decode()

    def write(connection: Connection) -> None:
        last = ledger._last
        for number in range(last.state.charges + 1, min(last.state.charges + at_once, many) + 1):
            account = dict(last.state.account)
            account["epsilon"] = str(int(account["epsilon"]) + step)
            parts = {"number": number, "key": key(number), "charge": {**body, "user_key": str(number)}}
            row = Row.after(last, "charge", State(account, number, last.state.terms), person="somebody", **parts)
            made = records.CHARGES.enter(connection, row)
            last, _ = records.CHARGES.conclude(connection, row, made, "done", answer={"text": answer})

    while ledger._look(lambda _: ledger._last.state.charges) < many:
        ledger._change(write)


def together(place: Path | str, number: int, charges: int) -> list[Measured]:
    """Several kernels charge one ledger as fast as they can; each wait is a whole charge."""
    opened(place)
    context = multiprocessing.get_context("spawn")
    start, waits = context.Barrier(number), context.SimpleQueue()
    kernels = [context.Process(target=_kernel, args=(place, name, charges, start, waits)) for name in range(number)]
    for kernel in kernels:
        kernel.start()
    found = sorted(wait for _ in kernels for wait in waits.get())
    for kernel in kernels:
        kernel.join()
    late = quantiles(found, n=100)[98]
    where = "" if isinstance(place, Path) else " on PostgreSQL"
    what = f"{number} kernels{where}, {charges} releases each: 99 % of charges wait below"
    return [
        Measured(what, ms(late), "500 ms", late < 0.5 and len(found) == number * charges),
        Measured("the longest wait of them", ms(found[-1])),
    ]


def served(folder: Path, few: int, many: int, rounds: int, kernels: int, charges: int) -> list[Measured]:
    """The same on a server: a socket, its own processes, and the same disk."""
    server = Server(folder)
    try:
        server.start()
        short, long = (Kernel(server.url(server.schema(), OWNER), held) for held in (few, many))
        turns = {"short": short.release, "long": long.release, "use": short.use}
        found = interleave({name: partial(seconds, work) for name, work in turns.items()}, rounds)
        pair, late = found["short"], found["long"]
        return [
            Measured("charge and outcome on PostgreSQL, both durable", ms(pair)),
            Measured("reserve and settle of one use on PostgreSQL", ms(found["use"])),
            Measured(
                f"release {many:,} on PostgreSQL against release {few}",
                f"{late / pair:.2f} times",
                "1.5 times",
                late <= 1.5 * pair,
            ),
            *together(server.url(server.schema(), OWNER), kernels, charges),
        ]
    finally:
        server.remove()


class Kernel:
    """A ledger that holds `length` releases and an open entry, and makes one more release, or use."""

    def __init__(self, place: Path | str, length: int) -> None:
        self.ledger = opened(place)
        self.tape = self.ledger.charge(key("tape"), BODY, admit, opens=SUB).number
        self.made = 0
        while self.made < length - 1:
            self.release()

    def release(self) -> None:
        self.made += 1
        self.ledger.finish(self.ledger.charge(key(self.made), BODY, admit).number, ANSWER)

    def use(self) -> None:
        self.made += 1
        use = self.ledger.reserve(self.tape, key(self.made), BODY, partial(moved, by=-10))
        self.ledger.settle(self.tape, use.number, ANSWER, partial(moved, by=7))


class Disk:
    """A file to write one page to, durably."""

    def __init__(self, path: Path) -> None:
        self.descriptor = os.open(path, os.O_RDWR | os.O_CREAT)

    def sync(self) -> None:
        os.write(self.descriptor, bytes(4096))
        os.fsync(self.descriptor)


def _kernel(
    place: Path | str, name: int, charges: int, start: Barrier, waits: multiprocessing.SimpleQueue[list[float]]
) -> None:
    ledger, found = opened(place), []
    start.wait()
    for step in range(charges):
        began = time.perf_counter()
        entry = ledger.charge(key((name, step)), BODY, admit)
        found.append(time.perf_counter() - began)
        ledger.finish(entry.number, ANSWER)
    waits.put(found)


def opened(place: Path | str) -> Ledger:
    return Ledger.open(place, charter=CHARTER, account={"epsilon": "0", "epsilon_total": str(10**40)})


def admit(account: Mapping[str, str]) -> dict[str, str]:
    return {**account, "epsilon": str(int(account["epsilon"]) + 10**30)}


def moved(sub: Mapping[str, str], by: int) -> dict[str, str]:
    return {"symbols": str(int(sub["symbols"]) + by)}


def key(name: object) -> str:
    return hashlib.sha256(str(name).encode()).hexdigest()


def seconds(work: Callable[[], object]) -> float:
    began = time.perf_counter()
    work()
    return time.perf_counter() - began
