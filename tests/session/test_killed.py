"""Kernels killed in the middle of whole releases: no free answer, no second one, no lost charge."""

from __future__ import annotations

import os
import random
import signal
import time
from collections import defaultdict
from fractions import Fraction
from pathlib import Path

import dpviz as dv
from dpviz.errors import ReleaseLost
from dpviz.session.session import Session
from tests.session.sources import KnownCounts

BINS = dv.Domain.integers(0, 3, column="x")
PRICE = Fraction(1, 1000)
KILLS = 200


def opened(path: Path) -> Session:
    return Session(KnownCounts([5, 0, 70, 3]), dv.Unit(noun="person"), dv.Budget(1000), path)


def loop(path: Path, showing: int, seed: int) -> None:
    """Release under random keys for ever, retrying what was lost, and show every answer in one line."""
    chance = random.Random(seed)
    session = opened(path)
    os.write(showing, b"ready\n")
    while True:
        key = str(chance.randrange(400))
        try:
            release = session.release(BINS, dv.Dense(PRICE), key=key)
        except ReleaseLost:
            release = session.release(BINS, dv.Dense(PRICE), key=key, retry=True)
        os.write(showing, f"{release.number} {key} {release.values}\n".encode())


def run_and_kill(path: Path, seed: int, after: int, seconds: float) -> list[tuple[int, str, str]]:
    reading, writing = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(reading)
        try:
            loop(path, writing, seed)
        finally:
            os._exit(1)
    os.close(writing)
    with os.fdopen(reading, "rb") as pipe:
        assert pipe.readline() == b"ready\n"
        lines = [pipe.readline() for _ in range(after)]
        time.sleep(seconds)
        os.kill(pid, signal.SIGKILL)
        lines += pipe.readlines()
    _, status = os.waitpid(pid, 0)
    assert os.WTERMSIG(status) == signal.SIGKILL, "the child failed before it was killed"
    shown = (line.decode().rstrip("\n").split(" ", 2) for line in lines)
    return [(int(number), key, values) for number, key, values in shown]


def test_killed_at_200_moments_of_whole_releases(tmp_path: Path) -> None:
    path, chance, seen = tmp_path / "killed.ledger", random.Random(5), []
    for turn in range(KILLS):
        seen += run_and_kill(path, turn, chance.randrange(6), chance.uniform(0, 0.01))
    session = opened(path)
    entries = session.ledger.entries()
    answers: dict[str, set[tuple[int, str]]] = defaultdict(set)
    for number, key, values in seen:
        answers[key].add((number, values))
        assert session.releases[number].values == eval(values), "an answer was seen that is not recorded"
    assert [key for key, shown in answers.items() if len(shown) > 1] == [], "a key had a second answer"
    assert 1000 - session.remaining.epsilon == PRICE * len(entries), "a charge was lost"
    assert session.ledger.verify()
    lost = [entry for entry in entries if entry.status in ("pending", "lost")]
    assert len(seen) > KILLS and len(lost) > 10, "too few kills hit a draw to have tested anything"
