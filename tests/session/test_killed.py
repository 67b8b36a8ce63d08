"""Kernels killed in the middle of whole releases: no free answer, no second one, no lost charge."""

from __future__ import annotations

import random
from collections import defaultdict
from fractions import Fraction
from functools import partial
from pathlib import Path

import pytest

import dpviz as dv
from dpviz.errors import ReleaseLost
from dpviz.session.session import Session
from tests.killing import Show, killed, steps_of
from tests.session.sources import KnownCounts

BINS = dv.Domain.integers(0, 3, column="x")
PRICE = Fraction(1, 1000)
LEDGERS, KILLS = 4, 50


def opened(path: Path) -> Session:
    return Session(KnownCounts([5, 0, 70, 3]), dv.Unit(noun="person"), dv.Budget(1000), path)


def loop(path: Path, show: Show, seed: int) -> None:
    """Release under random keys for ever, retrying what was lost, and show every answer in one line."""
    chance = random.Random(seed)
    session = opened(path)
    show("ready")
    while True:
        key = str(chance.randrange(100))
        try:
            release = session.release(BINS, dv.Dense(PRICE), key=key)
        except ReleaseLost:
            release = session.release(BINS, dv.Dense(PRICE), key=key, retry=True)
        show(f"{release.number} {key} {release.values}")


@pytest.mark.parametrize("ledger", range(LEDGERS))
def test_killed_at_200_moments_of_whole_releases(tmp_path: Path, ledger: int) -> None:
    """Fifty on each of four ledgers: every kernel reads its ledger whole, so a longer one tests no more."""
    path, chance, seen = tmp_path / "killed.ledger", random.Random(ledger), []
    before = opened(path)
    before.release(BINS, dv.Dense(PRICE), key="made")
    one = steps_of(lambda: before.release(BINS, dv.Dense(PRICE), key="counted"))
    for turn in range(KILLS):
        work = partial(loop, path, seed=KILLS * ledger + turn)
        lines = killed(work, lines=1 + chance.randrange(6), steps=chance.randrange(2 * one))
        shown = (line.split(" ", 2) for line in lines[1:])
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
    assert len(seen) > KILLS and len(lost) > 2, "too few kills hit a draw to have tested anything"
