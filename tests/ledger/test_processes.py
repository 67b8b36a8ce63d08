"""Kernels that are killed, kernels that share a ledger: real processes, one real file or server."""

from __future__ import annotations

import itertools
import multiprocessing
import os
import random
import secrets
import threading
from collections import defaultdict
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from dpviz.errors import BudgetExceeded, DpvizError, ReleaseLost, SessionBusy
from dpviz.session.ledger import Ledger, Owner
from tests.killing import Call, Child, Show, killed, steps_of
from tests.ledger.tools import BODY, Location, admit, as_owner, edit, exists, key, opened, spend
from tests.patience import until
from tests.soak.amounts import part

KEYS = 1000


# ---------------------------------------------------------------- killed at any moment


CHARGED = "charged"


def release(ledger: Ledger, name: str, charged: Callable[[], object] = lambda: None) -> tuple[int, str]:
    """As a session releases: charge, draw, record, show. Each draw differs, so a second one would be seen.

    charged  is called between a new charge and its draw
    """
    try:
        entry = ledger.charge(key(name), BODY, admit)
    except ReleaseLost:
        entry = ledger.charge(key(name), BODY, admit, retry=True)
    if entry.status == "done":
        return entry.number, ledger.answer(entry.number).decode()
    charged()
    drawn = f"{name} {secrets.token_hex(16)}" + "-" * random.choice([0, 100, 70_000])
    ledger.finish(entry.number, drawn.encode())
    return entry.number, drawn


def loop(location: Location, seed: int, show: Show) -> None:
    """Release for ever, and show each charge and each answer in one line, until killed."""
    random.seed(seed)
    show("ready")
    ledger = opened(location, budget=10**9)
    while True:
        name = str(random.randrange(KEYS))
        number, answer = release(ledger, name, lambda: show(CHARGED))
        show(f"{number} {name} {answer[:60]}")


def run_and_kill(location: Location, seed: int, *, after: int, seconds: float) -> list[tuple[int, str, str]]:
    """The answers that a child showed before it was killed, some seconds after it had shown so many lines."""
    ready, *lines = Child(partial(loop, location, seed)).killed(after=1 + after, seconds=seconds)
    assert ready == "ready"
    answers = (line.split(" ", 2) for line in lines if line != CHARGED)
    return [(int(number), name, answer) for number, name, answer in answers]


def contradictions(seen: list[tuple[int, str, str]], ledger: Ledger) -> list[str]:
    """Where what was shown does not agree with the ledger, or with itself."""
    found, answers = [], defaultdict(set)
    entries = {entry.number: entry for entry in ledger.entries()}
    for number, name, answer in seen:
        answers[name].add((number, answer))
        entry = entries.get(number)
        if entry is None or entry.key != key(name):
            found.append(f"{name} was answered without its charge")
        elif entry.status != "done" or ledger.answer(number).decode()[:60] != answer:
            found.append(f"{name} was shown something that is not recorded")
    found += [f"{name} has two answers" for name, all_ in answers.items() if len(all_) > 1]
    done = [entry.key for entry in entries.values() if entry.status == "done"]
    if len(done) != len(set(done)):
        found.append("a key is answered twice")
    if int(ledger.account["spent"]) != len(entries):
        found.append("a charge was lost")
    return found


def test_killed_at_many_moments_no_answer_is_free_or_second_and_no_charge_is_lost(
    locations: Callable[[], Location],
) -> None:
    """In ledgers of some kills each, for a long one takes long to read again."""
    chance, hit, shown = random.Random(7), 0, 0
    here = isinstance(locations(), Path)
    turns = part(200, 80) if here else part(30, 15)  # beginning anew is dearer on a server
    for first in itertools.count(step=EACH):
        if first >= turns and hit > turns / 20:
            break
        assert first < 10 * turns, "hardly any kill hit a draw, so little was tested"
        location, seen, spent = locations(), [], 0
        for turn in range(first, first + EACH):
            seen += run_and_kill(location, turn, after=chance.randrange(16), seconds=chance.uniform(0, 0.003))
            if exists(location):
                ledger = Ledger.read(location)
                assert int(ledger.account["spent"]) >= spent
                spent = int(ledger.account["spent"])
                assert len(ledger.entries()) == spent
        ledger = opened(location)
        assert contradictions(seen, ledger) == []
        assert all(entry.status == "lost" for entry in ledger.pending())
        hit, shown = hit + draws_hit(location), shown + len(seen)
    assert shown > 2 * turns


EACH = 15
"""Kills of the kernels of one ledger."""


def draws_hit(location: Location) -> int:
    """How many draws were lost to a kill."""
    ledger = opened(location)
    return len(ledger.pending()) + ledger.verify().statuses.get("lost", 0)


def test_a_free_a_second_or_an_unrecorded_answer_would_be_seen(location: Location) -> None:
    ledger = opened(location)
    number, answer = release(ledger, "a")
    seen = [(number, "a", answer[:60])]
    assert contradictions(seen, ledger) == []
    ledger.charge(key("b"), BODY, admit)
    for wrong in [(1, "a", "another"), (2, "b", "shown before it was recorded"), (3, "c", "free"), (1, "c", "free")]:
        assert contradictions([*seen, wrong], ledger) != [], wrong


def test_killed_while_the_ledger_is_made_it_is_there_whole_or_not_at_all(locations: Callable[[], Location]) -> None:
    chance, made, location = random.Random(3), 0, as_owner(locations())
    turns = part(40, 16) if isinstance(location, Path) else part(15, 8)
    opened(location)  # so that no step below is one of loading
    another = as_owner(locations())
    usual = steps_of(lambda: opened(another))
    for turn in range(turns):
        location = as_owner(locations())
        ready, *_ = killed(partial(loop, location, turn), lines=1, steps=chance.randrange(2 * usual))
        assert ready == "ready"
        if exists(location):
            made += 1
            Ledger.read(location).verify()
        opened(location, budget=10**9).verify()
    assert 0 < made < turns, "every kill came too early, or too late"


# ---------------------------------------------------------------- several kernels, one file


def test_eight_kernels_with_too_small_a_budget_spend_all_of_it_and_no_more(location: Location) -> None:
    steps = part(50, 20)
    budget = 6 * steps
    opened(location, budget=budget)

    def kernel(name: int) -> list[str]:
        ledger, said = opened(location, budget=budget), []
        for step in range(steps):
            try:
                spend(ledger, (name, step))
                said.append("paid")
            except DpvizError as error:
                said.append(type(error).__name__)
        return said

    kernels = [Call(lambda name=name: kernel(name)) for name in range(8)]
    said = [word for one in kernels for word in one.result()]
    assert len(said) == 8 * steps
    assert set(said) == {"paid", BudgetExceeded.__name__}
    assert said.count("paid") == budget
    ledger = opened(location)
    assert ledger.account["spent"] == str(budget)
    assert ledger.verify().statuses == {"done": budget}


def test_kernels_that_make_the_ledger_at_once_share_one(locations: Callable[[], Location], tmp_path: Path) -> None:
    for _ in range(part(5, 2)):
        location = as_owner(locations())

        def kernel(name: int, location: Location = location) -> str:
            spend(opened(location), name)
            return ""

        for one in [Call(lambda name=name: kernel(name)) for name in range(6)]:
            one.result()
        assert opened(location).verify().statuses == {"done": 6}
    assert not list(tmp_path.glob(".*"))


def hold(location: Location) -> tuple[Call, int]:
    """A kernel that charged for "a" and is still drawing; and a pipe that ends it when written to."""
    told, telling = os.pipe()
    charged, charging = os.pipe()

    def work() -> str:
        ledger = opened(location)
        ledger.charge(key("a"), BODY, admit)
        os.write(charging, b"x")
        os.read(told, 1)
        return ledger.finish(1, b"drawn").status

    kernel = Call(work)
    os.read(charged, 1)
    for pipe in (told, charged, charging):
        os.close(pipe)
    return kernel, telling


def test_while_one_kernel_draws_another_asking_the_same_waits_and_then_has_it_free(location: Location) -> None:
    kernel, telling = hold(location)
    ledger = opened(location)
    for retry in (False, True):
        with pytest.raises(SessionBusy, match="another kernel"):
            ledger.charge(key("a"), BODY, admit, retry=retry)
    edit(location, "UPDATE draw SET until = 0")  # on one machine the process counts, not the lease
    with pytest.raises(SessionBusy):
        ledger.charge(key("a"), BODY, admit, retry=True)
    spend(ledger, "b")
    os.write(telling, b"x")
    assert kernel.result() == "done"
    os.close(telling)
    entry = ledger.charge(key("a"), BODY, admit)
    assert (entry.number, entry.status, ledger.answer(1)) == (1, "done", b"drawn")
    assert ledger.account["spent"] == "2"


@pytest.mark.parametrize("reap", [True, False], ids=["gone", "zombie"])
def test_when_the_drawing_kernel_is_killed_its_key_is_lost_at_once(location: Location, reap: bool) -> None:
    kernel, telling = hold(location)
    ledger = opened(location)
    assert [(entry.status, entry.mine) for entry in ledger.pending()] == [("pending", False)]
    kernel.kill(reap=reap)
    until(lambda: ledger.pending()[0].status == "lost")
    assert [entry.status for entry in ledger.pending()] == ["lost"]
    with pytest.raises(ReleaseLost, match="entry 1"):
        ledger.charge(key("a"), BODY, admit)
    assert ledger.charge(key("a"), BODY, admit, retry=True).number == 2
    assert ledger.account["spent"] == "2"
    if not reap:
        os.waitpid(kernel.pid, 0)
    os.close(telling)


def test_another_process_with_the_same_number_is_not_taken_for_the_kernel() -> None:
    here = Owner.here()
    assert here.running() is True
    assert Owner("token", here.place, here.pid, "another birth").running() is False
    assert Owner("token", "another machine", here.pid, here.born).running() is None


# ---------------------------------------------------------------- forks and new processes


def test_a_fork_is_a_kernel_of_its_own(location: Location) -> None:
    ledger = opened(location)
    ledger.charge(key("a"), BODY, admit)

    def work() -> list[Any]:
        seen, refused = [ledger.entry(1).status, ledger.entry(1).mine], []
        for act in (lambda: ledger.finish(1, b"x"), lambda: ledger.charge(key("a"), BODY, admit, retry=True)):
            try:
                act()
            except DpvizError as error:
                refused.append(type(error).__name__)
        spend(ledger, *(f"child {step}" for step in range(20)))
        return [seen, refused, ledger.owner.token]

    child = Call(work)
    spend(ledger, *(f"parent {step}" for step in range(20)))
    seen, refused, token = child.result()
    assert seen == ["pending", False]
    assert refused == ["LedgerError", "SessionBusy"]
    assert token != ledger.owner.token
    ledger.finish(1, b"mine")
    assert ledger.verify().statuses == {"done": 41}
    assert ledger.account["spent"] == "41"


def test_a_fork_while_other_threads_write_finds_the_ledger_free(location: Location) -> None:
    ledger = opened(location, budget=10**9)
    ended, written, forks = threading.Event(), [], part(10, 5)

    def write(name: int) -> None:
        while not ended.is_set():
            spend(ledger, (name, len(written)))
            written.append(name)

    threads = [threading.Thread(target=write, args=(name,)) for name in range(2)]
    for thread in threads:
        thread.start()
    try:
        for turn in range(forks):
            Call(lambda turn=turn: spend(ledger, f"child {turn}")).result()
        until(lambda: {0, 1} == set(written))
    finally:
        ended.set()
        for thread in threads:
            thread.join()
    assert ledger.verify().statuses == {"done": len(written) + forks}
    assert {0, 1} == set(written)


@pytest.mark.parametrize("locations", ["sqlite"], indirect=True)
def test_a_fork_waits_for_a_copy_that_is_written_inside_a_look(locations: Callable[[], Location]) -> None:
    """So a server's ledger is backed up. Were the copy held off first, each would wait for the other."""
    older, newer = (opened(locations())._store for _ in range(2))
    forked: list[str] = []
    forking = threading.Thread(target=lambda: forked.append(Call(lambda: "free").result()))

    def copy(_: object) -> None:
        forking.start()
        until(lambda: not free(older._writing))
        newer.write(lambda _: None)

    older.read(copy)
    forking.join()
    assert forked == ["free"]


def free(lock: Any) -> bool:
    if not lock.acquire(blocking=False):
        return False
    lock.release()
    return True


def open_descriptors(location: Location) -> list[str]:
    """What this process has open of the ledger: its file, or connections to a server."""
    targets = [_target(link) for link in Path("/proc/self/fd").iterdir()]
    mark = location.name if isinstance(location, Path) else "socket:"
    return sorted(target for target in targets if mark in target)


def _target(link: Path) -> str:
    try:
        return os.readlink(link)
    except OSError:
        return ""


def test_nothing_open_of_the_ledger_crosses_a_fork(location: Location) -> None:
    before = open_descriptors(location)
    ledger = opened(location)
    spend(ledger, "a")
    assert open_descriptors(location) != before
    assert set(Call(lambda: open_descriptors(location)).result()) <= set(before)
    spend(ledger, "b")
    assert ledger.verify().charges == 2


def spawned(location: Location, name: str) -> None:
    spend(opened(location), name)


def test_spawned_processes_share_a_ledger(location: Location) -> None:
    opened(location)
    context = multiprocessing.get_context("spawn")
    started = [context.Process(target=spawned, args=(location, str(name))) for name in range(2)]
    for process in started:
        process.start()
    for process in started:
        process.join()
        assert process.exitcode == 0
    assert opened(location).account["spent"] == "2"
