"""Kernels killed in the middle of whole releases: no free answer, no second one, no lost charge."""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Callable
from fractions import Fraction
from functools import partial
from pathlib import Path

import pytest

import dpviz as dv
from dpviz.errors import ReleaseLost
from dpviz.model.source import Tick
from dpviz.session.session import Session
from tests.killing import Show, killed, steps_of
from tests.session.sources import KnownCounts
from tests.soak.amounts import record, rounds

pytestmark = pytest.mark.usefixtures("no_disk_is_waited_for")

BINS = dv.Domain.integers(0, 3, column="x")
PRICE = Fraction(1, 1000)
KILLS = 50
COUNTING = "counting"
"""Shown between the charge and the draw, so that many a kill comes there."""


def opened(path: Path, before: Callable[[Tick | None], None] | None = None) -> Session:
    return Session(KnownCounts([5, 0, 70, 3], before), dv.Unit(noun="person"), dv.Budget(1000), path)


def loop(path: Path, show: Show, seed: int) -> None:
    """Release under random keys for ever, retrying what was lost; show every count that is begun, and every answer."""
    chance = random.Random(seed)
    session = opened(path, lambda tick: show(COUNTING))
    show("ready")
    while True:
        key = str(chance.randrange(100))
        try:
            release = session.release(BINS, dv.Dense(PRICE), key=key)
        except ReleaseLost:
            release = session.release(BINS, dv.Dense(PRICE), key=key, retry=True)
        show(f"{release.number} {key} {release.values}")


def killed_on_one_ledger(path: Path, turns: range) -> tuple[int, int]:
    """How many answers were seen and how many draws were lost, where each turn kills one kernel."""
    chance, seen = random.Random(turns.start), []
    before = opened(path)
    before.release(BINS, dv.Dense(PRICE), key="made")
    one = steps_of(lambda: before.release(BINS, dv.Dense(PRICE), key="counted"))
    for turn in turns:
        lines = killed(partial(loop, path, seed=turn), lines=1 + chance.randrange(6), steps=chance.randrange(2 * one))
        shown = (line.split(" ", 2) for line in lines[1:] if line != COUNTING)
        seen += [(int(number), key, values) for number, key, values in shown]
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
    assert len(seen) > len(turns) and len(lost) > 2, "too few kills hit a draw to have tested anything"
    return len(seen), len(lost)


def test_killed_at_many_moments_of_whole_releases(tmp_path: Path) -> None:
    """At most fifty on each ledger: every kernel reads its ledger whole, so a longer one tests no more."""
    kills, told = rounds(800), [0, 0]
    for first in range(0, kills, KILLS):
        found = killed_on_one_ledger(tmp_path / f"{first}.ledger", range(first, min(first + KILLS, kills)))
        told = [sum(pair) for pair in zip(told, found, strict=True)]
    record("Kernels killed in the middle of whole releases", f"{kills} kills: {told[0]:,} answers seen, {told[1]} lost")
