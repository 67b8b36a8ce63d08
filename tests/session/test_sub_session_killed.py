"""Kernels killed in the middle of questions, and kernels that race for the last symbols of one sub-session."""

from __future__ import annotations

import itertools
import multiprocessing
import random
import threading
from collections import defaultdict
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

import dpviz as dv
from dpviz.errors import BudgetExceeded, ReleaseLost
from dpviz.mechanisms import symbol_balance as sub_account
from dpviz.model.source import Tick
from dpviz.session.session import Session
from dpviz.session.sub_session import SubSession
from tests.killing import Call, Child, Show, killed, steps_of
from tests.patience import patience
from tests.session.sources import KnownTop

pytestmark = pytest.mark.usefixtures("no_disk_is_waited_for")

PLACES = {"Aachen": 300, "Bonn": 230, "Celle": 160}
MANY = dv.PayWhatYouGet(symbols=6000, questions=3000, epsilon_per_item="1/10", delta="1e-9")
FEW = dv.PayWhatYouGet(symbols=40, questions=100, epsilon_per_item="1/10", delta="1e-9")
KILLS = 40
COUNTING = "counting"
"""Shown between the reservation and the draw, so that many a kill comes there."""


def session(path: Path, before: Callable[[Tick | None], None] | None = None) -> Session:
    unit, budget = dv.Unit("person", max_bins=2), dv.Budget(epsilon="100000", delta="1/2")
    return Session(KnownTop({"": PLACES}, before), unit, budget, path)


def opened(path: Path, parameters: dv.PayWhatYouGet, before: Callable[[Tick | None], None] | None = None) -> SubSession:
    return session(path, before).open(parameters)


def hanging(path: Path) -> Child:
    """A kernel that asks for seven places, has reserved them, and counts for ever."""

    def hang(show: Show) -> None:
        def dawdle(tick: Tick | None) -> None:
            show("counting")
            threading.Event().wait()

        opened(path, FEW, dawdle).ask("dest", k=7)

    child = Child(hang)
    assert child.lines.readline() == "counting\n"
    return child


# ---------------------------------------------------------------- killed


def test_a_kernel_killed_between_reserve_and_settle_keeps_the_reservation_spent(tmp_path: Path) -> None:
    path = tmp_path / "killed.ledger"
    hanging(path).kill()

    sub = opened(path, FEW)
    assert (sub.symbols_left, sub.questions_left, sub.answers) == (40 - 7, 99, [])
    assert [(row.status, row.used) for row in sub.transcript] == [("lost", 7)]
    with pytest.raises(ReleaseLost, match="its draw was lost, so it has no answer"):
        sub.ask("dest", k=7)
    assert (sub.symbols_left, sub.questions_left) == (33, 99), "a refusal used something"
    answer = sub.ask("dest", k=7, retry=True)
    assert (sub.symbols_left, sub.questions_left) == (33 - len(answer.items) - answer.ended, 98)
    assert [row.status for row in sub.transcript] == ["lost", "done"]
    assert sub.ledger.verify(check=sub_account.follows).uses == {"lost": 1, "done": 1}


def test_killed_at_many_moments_of_opening(tmp_path: Path) -> None:
    path, chance, seen = tmp_path / "killed.ledger", random.Random(3), 0
    session(path).open(FEW, key="made")
    one = steps_of(lambda: session(path).open(FEW, key="counted"))

    def keep_opening(show: Show, turn: int) -> None:
        it = session(path)
        show("ready")
        for number in itertools.count():
            show(it.open(FEW, key=f"{turn} {number}").number)

    for turn in range(KILLS // 2):
        work = partial(keep_opening, turn=turn)
        seen += len(killed(work, lines=1 + chance.randrange(4), steps=chance.randrange(one))) - 1
    it = session(path)
    statuses = [entry.status for entry in it.ledger.entries()]
    assert set(statuses) == {"open"}, "one was charged and not opened"
    assert it.budget.epsilon - it.remaining.epsilon == len(statuses) * it.plan_open(FEW).price.epsilon
    assert len(statuses) >= seen > 0
    assert {sub.symbols_left for sub in it.sub_sessions.values()} == {FEW.symbols}


def loop(path: Path, show: Show, seed: int) -> None:
    """Ask under random keys for ever, retrying what was lost; show every count that is begun, and every answer."""
    chance = random.Random(seed)
    sub = opened(path, MANY, lambda tick: show(COUNTING))
    show("ready")
    while True:
        key, k = str(chance.randrange(150)), chance.choice([1, 2, 5])
        try:
            answer = sub.ask("dest", k, key=key)
        except ReleaseLost:
            answer = sub.ask("dest", k, key=key, retry=True)
        show(f"{answer.use} {k}-{key} {answer.items} {answer.ended}")


def test_killed_at_many_moments_of_asking(tmp_path: Path) -> None:
    path, chance = tmp_path / "killed.ledger", random.Random(11)
    before = opened(path, MANY)
    before.ask("dest", 1, key="made")
    one = steps_of(lambda: before.ask("dest", 2, key="counted"))
    answers: dict[str, set[str]] = defaultdict(set)
    seen: dict[int, str] = {}
    for turn in range(KILLS):
        lines = killed(partial(loop, path, seed=turn), lines=1 + chance.randrange(4), steps=chance.randrange(2 * one))
        for use, key, items in (line.split(" ", 2) for line in lines[1:] if line != COUNTING):
            answers[key].add(f"{use} {items}")
            seen[int(use)] = items
    sub = opened(path, MANY)
    rows = sub.transcript
    assert [key for key, given in answers.items() if len(given) > 1] == [], "a question had a second answer"
    assert {row.number: f"{list(row.items)} {row.ended}" for row in rows if row.number in seen} == seen
    assert sub.symbols_left == MANY.symbols - sum(row.used for row in rows), "a reservation was lost"
    assert sub.questions_left == MANY.questions - len(rows)
    assert sub.ledger.verify(check=sub_account.follows)
    lost = [row for row in rows if row.status in ("pending", "lost")]
    assert len(seen) > KILLS and len(lost) > 5, "too few kills hit a question to have tested anything"


def test_a_fork_is_another_kernel_on_the_same_sub_session(tmp_path: Path) -> None:
    sub = opened(tmp_path / "fork.ledger", FEW)
    mine = sub.ask("dest", k=2)

    def ask() -> str:
        assert sub.ask("dest", k=2) == mine, "a stored answer is free in a fork too"
        answer = sub.ask("dest", k=3, key="child")
        return f"{answer.use} {answer.items} {answer.ended}"

    shown = Call(ask).result()
    theirs = sub.ask("dest", k=3, key="child")
    assert shown == f"2 {theirs.items} {theirs.ended}"
    assert sub.symbols_left == FEW.symbols - sum(row.used for row in sub.transcript)
    assert sub.questions_left == FEW.questions - 2


# ---------------------------------------------------------------- a race


def test_processes_that_race_for_the_last_symbols_never_get_one_too_many(tmp_path: Path) -> None:
    """Each holds the reservation of its first question until all four do; from there on they race."""
    path, met = tmp_path / "race.ledger", multiprocessing.get_context("fork").Barrier(4)
    opened(path, FEW)

    def race(runner: int) -> list[list[int]]:
        alone = [met]

        def meet(tick: Tick | None) -> None:
            if alone:
                alone.pop().wait(patience())

        sub, got = opened(path, FEW, meet), []
        for turn in range(1000):
            try:
                answer = sub.ask("dest", k=1 + turn % 3, key=f"{runner} {turn}")
            except BudgetExceeded as refused:
                if refused.left == "0":
                    break
                continue
            got.append([answer.use, len(answer.items) + answer.ended])
        return got

    runners = [Call(partial(race, runner)) for runner in range(4)]
    got = [runner.result() for runner in runners]
    uses = [use for part in got for use, _ in part]
    sub = opened(path, FEW)
    assert sum(symbols for part in got for _, symbols in part) == FEW.symbols, "symbols were made or lost"
    assert sorted(uses) == [row.number for row in sub.transcript] == list(range(1, len(uses) + 1))
    assert (sub.symbols_left, sub.questions_left) == (0, FEW.questions - len(uses))
    assert all(got), "one runner got nothing, so it did not race"
    assert sub.ledger.verify(check=sub_account.follows)
