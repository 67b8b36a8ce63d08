"""Eight clients, each a process of its own, with thousands of requests of every kind: no cap is ever passed."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Literal

import pytest

from dpviz.curator.caps import Cap, Caps
from dpviz.errors import BudgetExceeded, Forbidden, LedgerError, ReleaseLost, SessionBusy
from dpviz.session.ledger import Ledger, rows
from dpviz.session.ledger.audit import Audit
from tests.curator.spenders import CALLERS, charged, ledger_of, passed, spent
from tests.killing import Call
from tests.ledger.server import OWNER, Server
from tests.ledger.tools import Location, key
from tests.soak.amounts import record, rounds

pytestmark = pytest.mark.usefixtures("no_disk_is_waited_for")

CLIENTS = 8
REQUESTS = 10_000
KINDS = ("new", "new", "again", "again", "open", "use", "lost")
CAPS = Caps(
    each=(Cap(Fraction(40)),),
    analysts={"Ana": (Cap(Fraction(50)), Cap(Fraction(45), per="month")), "Dan": (Cap(Fraction(30), per="day"),)},
    projects={"births": (Cap(Fraction(70)),), "deaths": (Cap(Fraction(39)),)},
)


def client(location: Location, number: int, requests: int) -> dict[str, int]:
    """Requests of random callers, of every kind; how each ended."""
    chance, ledger, ends = random.Random(f"client {number}"), ledger_of(location), Counter[str]()
    handles = {caller: ledger.for_caller(caller.to_json(), CAPS.within(caller)) for caller in CALLERS}
    for turn in range(requests):
        try:
            ends[request(handles[chance.choice(CALLERS)], chance, f"{number} {turn}")] += 1
        except (BudgetExceeded, Forbidden, ReleaseLost, SessionBusy, LedgerError) as refused:
            ends[type(refused).__name__] += 1
    return dict(ends)


def request(handle: Ledger, chance: random.Random, name: str) -> str:
    kind, price = chance.choice(KINDS), Fraction(chance.randrange(1, 30), 100)
    again = key(f"again {chance.randrange(2000)}")
    match kind:
        case "new" | "again":
            entry = charged(handle, key(name) if kind == "new" else again, price)
            if entry.mine:
                handle.finish(entry.number, b"an answer")
        case "open":
            charged(handle, key(f"open {chance.randrange(50)}"), price, opens={"left": "5"})
        case "use":
            opened = handle.opened()
            if not opened:
                return "nothing to use"
            use = handle.reserve(chance.choice(opened).number, key(name), {}, lambda sub: one_less(sub["left"]))
            handle.fail_use(use.entry, use.number, "cancelled")
        case "lost":
            outcome: Literal["failed", "cancelled"] = chance.choice(("failed", "cancelled"))
            entry = charged(handle, again, price, retry=True)
            if entry.mine and chance.random() < 0.9:
                handle.close(entry.number, outcome)
    return kind


def one_less(left: str) -> dict[str, str]:
    if left == "0":
        raise BudgetExceeded("nothing is left", value="1", rule="a use must fit", next_step="open another")
    return {"left": str(int(left) - 1)}


def on_a_file(tmp_path: Path) -> tuple[Location, Callable[[], object]]:
    return tmp_path / "visits.ledger", lambda: None


def on_a_server(_: Path) -> tuple[Location, Callable[[], object]]:
    server = Server()
    server.start()
    return server.url(server.schema(), OWNER), server.remove


@pytest.mark.parametrize("place", [on_a_file, on_a_server])
def test_eight_processes_pass_no_cap(
    place: Callable[[Path], tuple[Location, Callable[[], object]]], tmp_path: Path
) -> None:
    location, done = place(tmp_path)
    try:
        ledger_of(location).detach()
        calls = [Call(partial(client, location, number, rounds(REQUESTS))) for number in range(CLIENTS)]
        ends = Counter[str]()
        for call in calls:
            ends.update(call.result())
        ledger = ledger_of(location)
        entries = ledger.entries()
        charges = spent(entries)
        assert passed(charges, CAPS) == []
        total = sum(one.price for one in charges)
        assert total == sum(Fraction(entry.body["price"]["epsilon"]) for entry in entries), "all were asked by somebody"
        assert ledger.spending.to_json() == recomputed(ledger)
        assert ledger.verify().charges == len(entries)
        assert ends["BudgetExceeded"] > rounds(REQUESTS), "the caps were reached"
        assert ends["Forbidden"] > 0
        name = "PostgreSQL" if place is on_a_server else "SQLite"
        told = ", ".join(f"{count} x {end}" for end, count in sorted(ends.items()))
        record(f"{CLIENTS} clients x {rounds(REQUESTS)} requests under caps on {name}", told)
    finally:
        done()


def recomputed(ledger: Ledger) -> object:
    """The sums of the ledger, from all of its chain once more."""
    return ledger._store.read(lambda connection: Audit.of(rows.every(connection))).spending.to_json()
