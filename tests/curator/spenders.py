"""Analysts who charge one ledger together, and a plain recomputation of what their caps allow, from the entries alone.

`passed` knows nothing of the code that it judges: it reads names, prices and times out of the entries and adds them up
with fractions and calendar dates.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import date
from fractions import Fraction
from typing import Any, TypeAlias

import dpviz as dv
from dpviz.curator.caps import Cap, Caps
from dpviz.errors import BudgetExceeded
from dpviz.exact import text
from dpviz.privacy.loss import PureDP
from dpviz.session import accountant
from dpviz.session.accountant import Budget
from dpviz.session.callers import Caller
from dpviz.session.ledger import Entry, Ledger
from tests.ledger.tools import Location, started
from tests.session.sources import KnownCounts

CALLERS = (
    Caller("Ana", "births"),
    Caller("Ben", "births"),
    Caller("Cleo", "deaths"),
    Caller("Dan"),
)
CAPS = Caps(
    each=(Cap(Fraction(3)),),
    analysts={"Ana": (Cap(Fraction(5)), Cap(Fraction(2), per="month")), "Dan": (Cap(Fraction(1), per="day"),)},
    projects={"births": (Cap(Fraction(6)), Cap(Fraction(9, 2), per="day"))},
)


@dataclass(frozen=True)
class Spent:
    """One charge, as its entry says it: who, for which project, what, and when it counts."""

    name: str
    project: str
    price: Fraction
    day: date


def spent(entries: Iterable[Any]) -> list[Spent]:
    """The charges of callers; each counts to the latest time that any entry up to it was charged at."""
    found, latest = [], ""
    for entry in entries:
        latest = max(latest, entry.opened)
        by = entry.body.get("asked_by")
        if by is not None:
            price = Fraction(entry.body["price"]["epsilon"])
            found.append(Spent(by["name"], by["project"], price, date.fromisoformat(latest[:10])))
    return found


def passed(charges: Iterable[Spent], caps: Caps) -> list[str]:
    """Every cap that is passed, by any order of adding up."""
    charges, found = list(charges), []
    names, projects = {one.name for one in charges}, {one.project for one in charges if one.project}
    holders = [(name, caps.analysts.get(name, caps.each), "name") for name in names]
    holders += [(name, caps.projects.get(name, ()), "project") for name in projects]
    for name, its, field in holders:
        own = [one for one in charges if getattr(one, field) == name]
        for cap in its:
            windows = {window(cap, one.day) for one in own}
            for at in windows:
                total = sum((one.price for one in own if window(cap, one.day) == at), Fraction(0))
                if total > cap.epsilon:
                    found.append(f"{name} spent {total} of {cap} in {at}")
    return found


def window(cap: Cap, day: date) -> Any:
    return {"": None, "day": day, "month": (day.year, day.month)}[cap.per]


def allowed(charges: Iterable[Spent], caps: Caps, next_one: Spent) -> bool:
    """Whether one more charge passes no cap. Earlier ones passed none."""
    return not passed([*charges, next_one], caps)


# ---------------------------------------------------------------- many at once

Charging: TypeAlias = Callable[[Ledger, Caller, str, Fraction, Callable[[], object]], object]
"""Charges a key for a caller; `together` waits for all others who are about to charge."""


def ledger_of(location: Location, epsilon: int = 1000) -> Ledger:
    """A ledger object of its own, as another process would have, on a budget that leaves room for every cap."""

    def made(ledger: Location) -> Ledger:
        return dv.Session(KnownCounts([1, 2, 3, 4]), dv.Unit("row"), Budget(epsilon), ledger).ledger

    started(location, made)
    return made(location)


def charge(ledger: Ledger, caller: Caller, key: str, price: Fraction, together: Callable[[], object]) -> object:
    """As a curator charges: the caps are checked in the transaction."""
    together()
    return charged(ledger.for_caller(caller.to_json(), CAPS.within(caller)), key, price)


def charge_checked_before(
    ledger: Ledger, caller: Caller, key: str, price: Fraction, together: Callable[[], object]
) -> object:
    """The near-wrong twin: the caps are checked, and then the charge is written."""
    before, spending = ledger.account, ledger.spending
    refused: BudgetExceeded | None = None
    try:
        CAPS.check(caller, spending, before, accountant.charge(before, PureDP(price)), spending.time)
    except BudgetExceeded as over:
        refused = over
    together()
    if refused is not None:
        raise refused
    return charged(ledger.for_caller(caller.to_json()), key, price)


def body(price: Fraction) -> dict[str, Any]:
    told = {"text": f"ε {text(price)}", "epsilon": text(price), "delta": "0", "unit": "one row"}
    return {"question_text": "how many", "user_key": None, "price": told}


def charged(ledger: Ledger, key: str, price: Fraction, **more: Any) -> Entry:
    """A charge of this price."""
    told = body(price)

    def admit(state: Mapping[str, str]) -> dict[str, str]:
        return accountant.enter(state, told["price"])

    return ledger.charge(key, told, admit, **more)


def at_once(location: Location, charging: Charging, rounds: int, keys: Callable[[int, int], str]) -> list[Spent]:
    """Eight clients on handles of their own, who charge together, round by round; what the entries say afterwards."""
    ledgers = [ledger_of(location) for _ in range(8)]
    barrier, failed = threading.Barrier(len(ledgers)), []

    def client(number: int) -> None:
        try:
            for turn in range(rounds):
                caller, price = CALLERS[(number + turn) % len(CALLERS)], Fraction(1 + (number + turn) % 2, 2)
                try:
                    charging(ledgers[number], caller, keys(number, turn), price, barrier.wait)
                except BudgetExceeded:
                    continue
        except BaseException as error:
            failed.append(error)
            barrier.abort()

    threads = [threading.Thread(target=client, args=(number,)) for number in range(len(ledgers))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failed, failed
    return spent(ledger_of(location).entries())
