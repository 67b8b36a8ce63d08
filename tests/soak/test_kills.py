"""Kernels killed at any moment, and files beside the ledger lost or put back meanwhile.

Afterwards every answer that was ever seen has its charge, no key has two answers, the totals add up, or the ledger is
refused by name.
"""

from __future__ import annotations

import random
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import pytest

import dpviz as dv
from dpviz.errors import BudgetExceeded, DpvizError, LedgerError, ParameterError, ReleaseLost
from dpviz.session.session import Session
from tests.killing import Child
from tests.ledger.server import OWNER, Server
from tests.session.sources import KnownTop
from tests.soak.amounts import record, rounds

PRICE, LINES = "1/1000", 6
PAY_WHAT_YOU_GET = dv.PayWhatYouGet(symbols=60, questions=30, epsilon_per_item="1/1000", delta="1e-20")
TOP = dv.TopK(k=1, kbar=2, epsilon=PRICE, delta="1e-20")
PLACES = {"Aachen": 300, "Bonn": 230, "Celle": 160}


def opened(place: Path | str, budget: int = 1000) -> Session:
    """A session with the budget that is in force: another process may have raised it."""
    try:
        return Session(KnownTop({"": PLACES}), dv.Unit("person", max_bins=2), dv.Budget(budget, "1/2"), place)
    except DpvizError as error:
        if type(error).__name__ == "CharterMismatch" and budget < 1100:
            return opened(place, budget + 1)
        raise


def work(place: Path | str, seed: int, say: Callable[[object], None]) -> None:
    """Open, pay, ask, raise and verify for ever, and show each answer in one line."""
    chance = random.Random(seed)
    say("begins")
    try:
        session = opened(place)
    except LedgerError as refused:
        say(f"refused {type(refused).__name__}")
        return
    for _ in range(40):
        act = chance.choices(["release", "open and ask", "raise", "verify", "open anew"], [8, 5, 1, 2, 2])[0]
        try:
            if act == "release":
                key = f"r{chance.randrange(300)}"
                release = _paid(session.release, "dest", TOP, key=key)
                say(f"{key} {release.number} {tuple(release.items)}")
            elif act == "open and ask":
                sub = session.open(PAY_WHAT_YOU_GET, key=f"t{chance.randrange(12)}")
                key = f"a{chance.randrange(20)}"
                answer = _paid(sub.ask, "dest", chance.choice([1, 2]), 3, key=key)
                k = answer.terms.mechanism.parameters["k"]
                say(f"{key}-{sub.number}-{k} {sub.number}.{answer.use} {tuple(answer.items)}")
            elif act == "raise":
                total = int(session.budget.epsilon) + 1
                session.raise_budget(dv.Budget(min(total, 1099), "1/2"))
            elif act == "verify":
                session.ledger.verify()
            else:
                session = opened(place)
        except (BudgetExceeded, ParameterError):
            continue
        except LedgerError as refused:
            say(f"refused {type(refused).__name__}")
            return


def _paid(ask, *about, key):  # type: ignore[no-untyped-def]
    try:
        return ask(*about, key=key)
    except ReleaseLost:
        return ask(*about, key=key, retry=True)


class Witnesses:
    """Everything that was ever shown of one ledger, held against it."""

    def __init__(self) -> None:
        self.answers: dict[str, set[str]] = defaultdict(set)
        self.places: dict[str, str] = {}

    def heard(self, lines: list[str]) -> None:
        for line in lines:
            key, _, answer = line.partition(" ")
            if key not in ("begins", "refused"):
                self.answers[key].add(answer)
                place, _, items = answer.partition(" ")
                self.places[place] = items

    def check(self, place: Path | str) -> Session:
        session = opened(place)
        assert [key for key, seen in self.answers.items() if len(seen) > 1] == [], "a key had two answers"
        entries = {entry.number: entry for entry in session.ledger.entries()}
        releases, subs = session.releases, session.sub_sessions
        for name, items in self.places.items():
            number, _, use = name.partition(".")
            if use:
                answers = {answer.use: tuple(answer.items) for answer in subs[int(number)].answers}
                assert str(answers[int(use)]) == items, "an answer was seen that is not recorded"
            else:
                assert entries[int(number)].status == "done"
                assert str(tuple(releases[int(number)].items)) == items, "an answer was seen that is not recorded"
        verified = session.ledger.verify()
        assert verified.charges == len(entries)
        return session


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
    path, witnesses = tmp_path / "0.ledger", Witnesses()
    kept: dict[str, bytes] = {}
    spent, shown, total = 0, 0, rounds(2000)
    for turn, chance in seeds(2000):
        child = Child(partial(work, path, turn))
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
            path, witnesses, kept, spent = tmp_path / f"{turn + 1}.ledger", Witnesses(), {}, 0
            continue
        outcomes[f"{what}: holds"] += 1
        if session is not None:
            charges = session.ledger.verify().charges
            assert charges >= spent, "a charge was forgotten"
            spent = charges
            session.ledger.detach()
            if chance.random() < 0.2:
                kept["ledger"] = path.read_bytes()
        if turn % 50 == 49:  # a long ledger takes long to read again
            path, witnesses, kept, spent = tmp_path / f"{turn + 1}.ledger", Witnesses(), {}, 0
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
    place, witnesses, shown, spent = server.url(server.schema(), OWNER), Witnesses(), 0, 0
    for turn, chance in seeds(500):
        child = Child(partial(work, place, turn))
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
        if turn % 50 == 49:
            place, witnesses, spent = server.url(server.schema(), OWNER), Witnesses(), 0
    assert shown > rounds(500), "too little was seen to have tested anything"
    record(f"{rounds(500)} kills on PostgreSQL, {shown} lines seen", "each time everything held")


def test_a_free_or_a_second_answer_would_be_seen(tmp_path: Path) -> None:
    path, witnesses = tmp_path / "visits.ledger", Witnesses()
    session = opened(path)
    release = session.release("dest", TOP, key="r1")
    witnesses.heard([f"r1 {release.number} {tuple(release.items)}"])
    witnesses.check(path)
    for wrong in ("r1 2 ('Bonn',)", "r2 1 ('another',)", "r3 7 ('Bonn',)"):
        other = Witnesses()
        other.heard([f"r1 {release.number} {tuple(release.items)}", wrong])
        with pytest.raises((AssertionError, KeyError)):
            other.check(path)
