"""A kernel that works until it is killed, and the witnesses of all its answers, which are held against its ledger."""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import dpviz as dv
from dpviz.errors import BudgetExceeded, CharterMismatch, LedgerError, ParameterError, ReleaseLost
from dpviz.model.release import Release
from dpviz.session.session import Session
from tests.session.sources import KnownTop
from tests.session.sweep import BIT, MONTHS, WORDS, frame
from tests.session.test_read_back import digest

PRICE, RARE = "1/1000", "1e-20"
PLACES = {"Aachen": 300, "Bonn": 230, "Celle": 160}
LEAST, MOST = 1000, 1100
"""Epsilon of a budget when it is made, and what raises never come to."""

NUMBERS = dv.Domain.integers(0, 15, column="x")
MANY = dv.Domain.integers(0, 2**40, column="x")
COINS = [dv.Domain.integers(0, 1, column=name) for name in ("bit", "coin")]
TOP = dv.TopK(k=1, kbar=2, epsilon=PRICE, delta=RARE)
PAY_WHAT_YOU_GET = dv.PayWhatYouGet(symbols=60, questions=30, epsilon_per_item=PRICE, delta=RARE)
PARTS = dv.Parts(MONTHS, epsilon="1/10", delta="1e-12")


class Lists(KnownTop):
    """A source that has a name of its own."""

    def __init__(self, name: str) -> None:
        super().__init__({"": PLACES})
        self._name = name

    @property
    def name(self) -> str:
        return self._name


@dataclass(frozen=True)
class World:
    """A data set with a unit, what is released of it, what is opened, and how a sub-session is asked."""

    source: Callable[[str], Any]
    unit: dv.Unit
    releases: tuple[tuple[Any, Any, dict[str, Any]], ...]
    opening: Any = None
    ask: Callable[[Any, random.Random, str], Release] | None = None


def _list(sub: Any, chance: random.Random, key: str) -> Release:
    answer: Release = _paid(sub.ask, "dest", chance.choice([1, 2]), 3, key=key)
    return answer


def _part(sub: Any, chance: random.Random, key: str) -> Release:
    answer: Release = _paid(sub.ask, WORDS, dv.Dense(PRICE), part=chance.choice(["1", "2", "3"]), key=key)
    return answer


@cache
def worlds() -> dict[str, World]:
    """Lists, tables of every kind with groups and parts, and records with replaced rows."""
    records = dv.Question.records
    return {
        "lists": World(
            Lists,
            dv.Unit("person", max_bins=2),
            (("dest", TOP, {}),),
            PAY_WHAT_YOU_GET,
            _list,
        ),
        "tables": World(
            lambda _: frame(),
            dv.Unit("row", noun="person"),
            (
                (MONTHS, dv.Dense(PRICE), {}),
                (NUMBERS, dv.Tree(PRICE), {}),
                (NUMBERS, dv.Tree(PRICE, base="gaussian", delta=RARE), {}),
                (dv.Domain.keys(column="word"), dv.Stability(PRICE, RARE), {}),
                (dv.Question.of(BIT * WORDS * MONTHS), dv.Marginals(PRICE, ways=1), {}),
                (WORDS, dv.Dense(PRICE), {"by": MONTHS}),
                ("word", TOP, {"by": MONTHS}),
                (NUMBERS, dv.Sorted(PRICE), {}),
                (NUMBERS, dv.Queries(PRICE), {}),
                (MANY, dv.ALP(PRICE, keys=4, cap=50), {}),
                (MANY, dv.MaxProjection(PRICE, keys=4, cap=50), {}),
                (dv.Question.sum("pay", by=MANY, low=-5, high=10, step="0.01"), dv.ALP(PRICE, keys=4, cap=50), {}),
            ),
            PARTS,
            _part,
        ),
        "records": World(
            lambda _: frame(),
            dv.Unit("row", relation="replace-one", n=50, noun="person"),
            (
                (records([WORDS]), dv.SampleCategory(PRICE), {}),
                (records([BIT]), dv.RandomisedRecord(PRICE), {}),
                (records(COINS), dv.SampleProduct("1/20", delta="1e-6"), {}),
                (MONTHS, dv.Dense(PRICE), {}),
                (NUMBERS, dv.Tree(PRICE), {}),
            ),
        ),
    }


def opened(place: Path | str, world: str, epsilon: int = LEAST) -> Session:
    """A session with the budget that is in force: another process may have raised it.

    A server's ledgers are each about a data set of their own, for this machine remembers whose ledger is where.
    """
    made = worlds()[world]
    try:
        name = world if isinstance(place, Path) else f"{world} of {place.rpartition('=')[2]}"
        source = made.source(name)
        own = None if isinstance(source, Lists) else name
        return Session(source, made.unit, dv.Budget(epsilon, "1/2"), place, dataset=own)
    except CharterMismatch:
        if epsilon >= MOST:
            raise
        return opened(place, world, epsilon + 1)


def work(place: Path | str, world: str, seed: int, say: Callable[[object], None]) -> None:
    """Open, pay, ask, raise and verify for ever, and show each answer in one line."""
    chance, made = random.Random(seed), worlds()[world]
    say("begins")
    try:
        session = opened(place, world)
    except LedgerError as refused:
        say(f"refused {type(refused).__name__}")
        return
    for _ in range(40):
        act = chance.choices(["release", "open and ask", "raise", "verify", "open anew"], [8, 5, 1, 2, 2])[0]
        try:
            if act == "release":
                number = chance.randrange(300)
                question, mechanism, others = made.releases[number % len(made.releases)]
                release = _paid(session.release, question, mechanism, key=f"r{number}", **others)
                say(f"r{number} {release.number} {digest(release)}")
            elif act == "open and ask" and made.opening is not None:
                assert made.ask is not None
                sub = session.open(made.opening, key=f"t{chance.randrange(12)}")
                key = f"a{chance.randrange(20)}"
                answer = made.ask(sub, chance, key)
                asked = f"{answer.terms.mechanism.parameters.get('k')} {answer.terms.question.text}"
                say(f"{key}-{sub.number}-{asked.replace(' ', '_')} {sub.number}.{answer.use} {digest(answer)}")
            elif act == "raise":
                total = int(session.budget.epsilon) + 1
                session.raise_budget(dv.Budget(min(total, MOST - 1), "1/2"))
            elif act == "verify":
                session.ledger.verify()
            else:
                session = opened(place, world)
        except (BudgetExceeded, ParameterError):
            continue
        except LedgerError as refused:
            say(f"refused {type(refused).__name__}")
            return


def _paid(ask: Callable[..., Any], *about: Any, key: str, **others: Any) -> Any:
    try:
        return ask(*about, key=key, **others)
    except ReleaseLost:
        return ask(*about, key=key, retry=True, **others)


class Witnesses:
    """Everything that was ever shown of one ledger, held against it."""

    def __init__(self, world: str) -> None:
        self.world = world
        self.answers: dict[str, set[str]] = defaultdict(set)
        self.places: dict[str, str] = {}

    def heard(self, lines: list[str]) -> None:
        for line in lines:
            key, _, answer = line.partition(" ")
            if key not in ("begins", "refused"):
                self.answers[key].add(answer)
                place, _, shown = answer.partition(" ")
                self.places[place] = shown

    def check(self, place: Path | str) -> Session:
        session = opened(place, self.world)
        assert [key for key, seen in self.answers.items() if len(seen) > 1] == [], "a key had two answers"
        entries = {entry.number: entry for entry in session.ledger.entries()}
        releases, subs = session.releases, session.sub_sessions
        for name, shown in self.places.items():
            number, _, use = name.partition(".")
            if use:
                answers = {answer.use: digest(answer) for answer in subs[int(number)].answers}
                assert answers[int(use)] == shown, "an answer was seen that is not recorded"
            else:
                assert entries[int(number)].status == "done"
                assert digest(releases[int(number)]) == shown, "an answer was seen that is not recorded"
        verified = session.ledger.verify()
        assert verified.charges == len(entries)
        return session
