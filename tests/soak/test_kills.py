"""Kernels killed at any moment, and files beside the ledger lost or put back meanwhile.

Afterwards every answer that was ever seen has its charge, no key has two answers, the totals add up, or the ledger is
refused by name.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from dpviz.errors import LedgerError
from tests.killing import Child
from tests.ledger.server import OWNER, Server
from tests.session.test_read_back import digest
from tests.soak.amounts import record, rounds
from tests.soak.killed import TOP, Witnesses, opened, work, worlds

LINES = 6
EACH = 50
"""Kills of one ledger: a long one takes long to read again."""


def world_of(turn: int) -> str:
    """Ledger by ledger another one."""
    names = list(worlds())
    return names[turn // EACH % len(names)]


def seeds(whole: int) -> Iterator[tuple[int, random.Random]]:
    return ((turn, random.Random(f"kill {turn}")) for turn in range(rounds(whole)))


MEDDLING = ("nothing", "nothing", "journal lost", "lock lost", "journal put back", "ledger put back", "log left")


def meddle(what: str, path: Path, kept: dict[str, bytes]) -> None:
    """What a person or a program does to the files in between."""
    journal, lock, log = (path.with_name(path.name + end) for end in ("-journal", "-lock", "-wal"))
    if what == "journal lost":
        journal.unlink(missing_ok=True)
    elif what == "lock lost":
        lock.unlink(missing_ok=True)
    elif what == "journal put back" and "journal" in kept:
        journal.write_bytes(kept["journal"])
    elif what == "ledger put back" and "ledger" in kept:
        path.write_bytes(kept["ledger"])
    elif what == "log left":
        log.write_bytes(b"a log of nobody")


def test_killed_at_many_moments_and_with_files_lost_or_put_back_nothing_is_free_or_second(tmp_path: Path) -> None:
    outcomes: Counter[str] = Counter()
    path, witnesses = tmp_path / "0.ledger", Witnesses(world_of(0))
    kept: dict[str, bytes] = {}
    spent, shown, total = 0, 0, rounds(2000)
    for turn, chance in seeds(2000):
        child = Child(partial(work, path, witnesses.world, turn))
        lines = child.killed(after=chance.randrange(LINES), seconds=chance.uniform(0, 0.02))
        witnesses.heard(lines)
        shown += len(lines)
        what = chance.choice(MEDDLING) if path.exists() else "nothing"
        journal = path.with_name(path.name + "-journal")
        if journal.exists() and any(journal.read_bytes()[:8]):
            outcomes["killed in the middle of a write"] += 1
            kept["journal"] = journal.read_bytes()
        meddle(what, path, kept)
        try:
            session = witnesses.check(path) if path.exists() else None
        except LedgerError as refused:
            assert what != "nothing" and what != "lock lost", f"refused though nobody meddled: {refused}"
            outcomes[f"{what}: refused ({type(refused).__name__})"] += 1
            path, witnesses, kept, spent = tmp_path / f"{turn + 1}.ledger", Witnesses(world_of(turn + 1)), {}, 0
            continue
        outcomes[f"{what}: holds"] += 1
        if session is not None:
            charges = session.ledger.verify().charges
            assert charges >= spent, "a charge was forgotten"
            spent = charges
            session.ledger.detach()
            if chance.random() < 0.2:
                kept["ledger"] = path.read_bytes()
        if turn % EACH == EACH - 1:
            path, witnesses, kept, spent = tmp_path / f"{turn + 1}.ledger", Witnesses(world_of(turn + 1)), {}, 0
    assert shown > total, "too little was seen to have tested anything"
    record(f"{total} kills on SQLite, {shown} lines seen", "; ".join(f"{n} x {o}" for o, n in sorted(outcomes.items())))


@pytest.fixture
def server() -> Iterator[Server]:
    found = Server()
    try:
        found.start()
        yield found
    finally:
        found.remove()


def test_killed_at_many_moments_on_a_server_nothing_is_free_or_second(server: Server) -> None:
    place, witnesses, shown, spent = server.url(server.schema(), OWNER), Witnesses(world_of(0)), 0, 0
    for turn, chance in seeds(500):
        child = Child(partial(work, place, witnesses.world, turn))
        lines = child.killed(after=chance.randrange(LINES), seconds=chance.uniform(0, 0.02))
        witnesses.heard(lines)
        shown += len(lines)
        if "begins" in lines and len(lines) == 1:
            continue  # perhaps it did not come so far as to make the ledger
        session = witnesses.check(place)
        charges = session.ledger.verify().charges
        assert charges >= spent, "a charge was forgotten"
        spent = charges
        session.ledger.detach()
        if turn % EACH == EACH - 1:
            place, witnesses, spent = server.url(server.schema(), OWNER), Witnesses(world_of(turn + 1)), 0
    assert shown > rounds(500), "too little was seen to have tested anything"
    record(f"{rounds(500)} kills on PostgreSQL, {shown} lines seen", "each time everything held")


def test_a_free_or_a_second_answer_would_be_seen(tmp_path: Path) -> None:
    path, witnesses = tmp_path / "visits.ledger", Witnesses("lists")
    session = opened(path, "lists")
    release = session.release("dest", TOP, key="r1")
    right = f"r1 {release.number} {digest(release)}"
    witnesses.heard([right])
    witnesses.check(path)
    for wrong in ("r1 2 another", "r2 1 another", f"r3 7 {digest(release)}"):
        other = Witnesses("lists")
        other.heard([right, wrong])
        with pytest.raises((AssertionError, KeyError)):
            other.check(path)
