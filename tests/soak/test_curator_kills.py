"""A curator, its analysts' kernels and its database, killed in any order: every answer that an analyst saw has its
charge, no key has two answers, and the totals add up."""

from __future__ import annotations

import os
import queue
import random
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path

import pytest

from dpviz.session import arithmetic
from dpviz.session.ledger import Ledger
from tests.curator.served import ROOT, Served
from tests.ledger.server import OWNER, Server
from tests.patience import patience
from tests.soak.amounts import part, record

KILLS = 500
HERE = 8
KERNELS = 2
PRICE = Fraction(1, 1000)
EPSILON = 1000

KERNEL = """
import hashlib, random, sys
import dpviz as dv
from dpviz.errors import DpvizError
chance, name = random.Random(sys.argv[2]), sys.argv[2]
ages = dv.Domain.integers(0, 9, column="age")
session = None
print("up", flush=True)
while True:
    try:
        session = session or dv.connect(sys.argv[1])
        key = f"key {chance.randrange(10**6)}" if chance.random() < 0.7 else f"shared {chance.randrange(20)}"
        retry = chance.random() < 0.1
        found = session.release(ages, dv.Dense("1/1000"), key=key, retry=retry)
    except DpvizError as error:
        print("refused", type(error).__name__, flush=True)
        continue
    print("answer", found.number, hashlib.sha256(found.to_bytes()).hexdigest(), key, flush=True)
"""


class Kernel:
    """An analyst's kernel, whose every answer is heard."""

    def __init__(self, address: str, name: str, heard: queue.SimpleQueue[str]) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-c", KERNEL, address, name],
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
        )
        self._thread = threading.Thread(target=self._hear, args=(heard,))
        self._thread.start()

    def _hear(self, heard: queue.SimpleQueue[str]) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            if line.endswith("\n"):
                heard.put(line.strip())
        self.process.stdout.close()

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()
        self._thread.join()


def on_a_file() -> tuple[str, Callable[[], None], Callable[[], object]]:
    return "visits.ledger", lambda: None, lambda: None


def on_a_server() -> tuple[str, Callable[[], None], Callable[[], object]]:
    server = Server()
    server.start()
    location = server.url(server.schema(), OWNER)

    def kill() -> None:
        server.kill()
        server.start()

    return location, kill, server.remove


@pytest.mark.parametrize("place", [on_a_file, on_a_server])
def test_killed_in_any_order_nothing_is_free_or_second(
    place: Callable[[], tuple[str, Callable[[], None], Callable[[], object]]], tmp_path: Path
) -> None:
    ledger, kill_database, remove = place()
    victims = ("curator", "curator", "kernel") if place is on_a_file else ("curator", "kernel", "database")
    chance, heard = random.Random(place.__name__), queue.SimpleQueue[str]()
    answers: dict[int, tuple[str, str]] = {}
    ends: Counter[str] = Counter()
    made = Served(tmp_path, epsilon=str(EPSILON), ledger=ledger).start()
    kernels = [Kernel(made.address, f"kernel {number}", heard) for number in range(KERNELS)]

    def listen(line: str) -> bool:
        kind, _, rest = line.partition(" ")
        if kind != "answer":
            ends[rest or kind] += 1
            return False
        number, digest, key = rest.split(" ", 2)
        assert answers.setdefault(int(number), (digest, key)) == (digest, key), "an entry has one answer"
        ends["answers"] += 1
        return True

    try:
        for turn in range(part(KILLS, HERE)):
            more = chance.randrange(1, 8)
            while more:
                more -= listen(heard.get(timeout=patience()))
            victim = chance.choice(victims)
            ends[f"{victim} killed"] += 1
            if victim == "curator":
                made.kill()
                made.start()
            elif victim == "kernel":
                kernels.pop(0).kill()
                kernels.append(Kernel(made.address, f"kernel of turn {turn}", heard))
            else:
                kill_database()
    finally:
        for kernel in kernels:
            kernel.kill()
        made.stop()
        while not heard.empty():
            listen(heard.get())
    location = ledger if "://" in ledger else tmp_path / ledger
    try:
        found = Ledger.read(location, check=arithmetic.known)
        check(found, answers)
        record(f"{part(KILLS, HERE)} kills around a curator on {'SQLite' if place is on_a_file else 'PostgreSQL'}",
               ", ".join(f"{count} x {end}" for end, count in sorted(ends.items())))  # fmt: skip
    finally:
        remove()


def check(ledger: Ledger, answers: dict[int, tuple[str, str]]) -> None:
    """Hold every answer that was seen against the ledger, and the ledger against itself."""
    import hashlib

    ledger.verify(check=arithmetic.known)
    entries = ledger.entries()
    done: dict[str, int] = {}
    for entry in entries:
        assert entry.asked_by["name"] == "ana"
        if entry.status == "done":
            assert done.setdefault(entry.user_key, entry.number) == entry.number, "a key has one answer"
    for number, (digest, key) in answers.items():
        assert done[key] == number
        assert hashlib.sha256(ledger.answer(number)).hexdigest() == digest
    steps = int(ledger.account["epsilon_total"]) // EPSILON
    assert int(ledger.account["epsilon"]) == len(entries) * steps * PRICE
