"""Caps of analysts and projects: never passed by anybody together with anybody, and the same after a restart."""

from __future__ import annotations

import random
from collections.abc import Mapping
from datetime import date
from fractions import Fraction
from pathlib import Path
from typing import Any, Literal

import pandas as pd
import pytest

import dpviz as dv
from dpviz.curator.caps import Cap, Caps
from dpviz.errors import BudgetExceeded, LedgerCorrupt, ParameterError, ReleaseLost
from dpviz.privacy.loss import PureDP
from dpviz.session import accountant
from dpviz.session.callers import Caller
from dpviz.session.ledger import Ledger, chain, following
from dpviz.session.ledger.audit import Audit
from dpviz.session.ledger.spending import Spending
from tests.curator.spenders import (
    CALLERS,
    CAPS,
    Spent,
    allowed,
    at_once,
    charge,
    charge_checked_before,
    charged,
    ledger_of,
    passed,
    spent,
)
from tests.curator.test_callers import BINS, PARTS, held
from tests.ledger.tools import BODY, Location, admit, key, opened

ANA, BEN, CLEO, DAN = CALLERS
BASIC, ZCDP = dv.Budget(50), dv.Budget(50, "1e-5", filter="zcdp")


def alone() -> None:
    """Nobody else is about to charge."""


def fits(caps: Caps, caller: Caller, spending: Spending, price: Any, now: str, budget: dv.Budget = BASIC) -> bool:
    before = accountant.opened(budget)
    try:
        caps.check(caller, spending, before, accountant.charge(before, PureDP(Fraction(price))), now)
    except BudgetExceeded:
        return False
    return True


def spend(spending: Spending, caller: Caller, price: Any, at: str, budget: dv.Budget = BASIC) -> None:
    before = accountant.opened(budget)
    spending.pass_time(at)
    spending.add(caller.to_json(), before, accountant.charge(before, PureDP(Fraction(price))))


# ---------------------------------------------------------------- against a plain recomputation


DAYS = ("2026-11-29", "2026-11-30", "2026-12-01")
PRICES = (Fraction(1, 2), Fraction(2))
LENGTH = 3


def test_every_short_history_is_judged_as_adding_up_its_entries_does() -> None:
    """All histories of three charges by three callers at two prices on three days, in any order of days."""
    judged = refused = 0

    def deeper(history: list[Spent], spending: dict[str, Any], latest: str, length: int) -> None:
        nonlocal judged, refused
        for caller in (ANA, BEN, DAN):
            for price in PRICES:
                for day in DAYS:
                    here = Spending.from_json(spending)
                    now = max(f"{day}T12:00:00Z", here.time)
                    one = Spent(caller.name, caller.project, price, date.fromisoformat(now[:10]))
                    right = allowed(history, CAPS, one)
                    assert fits(CAPS, caller, here, price, now) == right, (history, one)
                    judged, refused = judged + 1, refused + (not right)
                    if right and length > 1:
                        spend(here, caller, price, f"{day}T12:00:00Z")
                        deeper([*history, one], here.to_json(), now, length - 1)

    deeper([], Spending().to_json(), "", LENGTH)
    assert judged > 3000 and refused > 500


def test_a_ledger_judges_each_charge_as_adding_up_its_entries_does(location: Location) -> None:
    ledger = ledger_of(location)
    outcomes = []
    for turn in range(40):
        caller, price = CALLERS[turn % 4], Fraction(1 + turn % 3, 2)
        history = [(one.name, one.project, one.price) for one in entries(ledger)]
        today = date.fromisoformat(chain.now()[:10])
        right = allowed([Spent(*one, today) for one in history], CAPS, Spent(caller.name, caller.project, price, today))
        try:
            charge(ledger, caller, key(turn), price, alone)
            outcomes.append(True)
        except BudgetExceeded:
            outcomes.append(False)
        assert outcomes[-1] == right, turn
    assert {True, False} == set(outcomes)
    assert passed(entries(ledger), CAPS) == []


def entries(ledger: Any) -> list[Spent]:
    return spent(ledger.entries())


@pytest.mark.parametrize("seed", range(50))
def test_a_long_history_is_judged_as_adding_up_its_entries_does(seed: int) -> None:
    chance, history, spending = random.Random(seed), [], Spending()
    for _ in range(40):
        caller, price = chance.choice(CALLERS), Fraction(chance.randrange(1, 9), 8)
        at = f"2026-{chance.choice([10, 11, 12])}-{chance.randrange(1, 29):02}T12:00:00Z"
        now = max(at, spending.time)
        one = Spent(caller.name, caller.project, price, date.fromisoformat(now[:10]))
        right = allowed(history, CAPS, one)
        assert fits(CAPS, caller, spending, price, now) == right, (history, one)
        if right:
            spend(spending, caller, price, at)
            history.append(one)


# ---------------------------------------------------------------- many at once


@pytest.mark.usefixtures("no_disk_is_waited_for")
def test_eight_clients_at_once_pass_no_cap_and_reach_them(location: Location) -> None:
    found = at_once(location, charge, 12, lambda client, turn: key((client, turn)))
    assert passed(found, CAPS) == []
    assert sum(one.price for one in found if one.name == "Cleo") == 3, "the caps were reached"


@pytest.mark.usefixtures("no_disk_is_waited_for")
def test_caps_that_are_checked_before_the_transaction_are_passed(location: Location) -> None:
    """The near-wrong twin of the test above."""
    assert passed(at_once(location, charge_checked_before, 12, lambda client, turn: key((client, turn))), CAPS)


@pytest.mark.usefixtures("no_disk_is_waited_for")
def test_clients_who_ask_the_same_are_charged_once(location: Location) -> None:
    """The client who comes first pays, and no other."""

    def asked(*given: Any) -> object:
        try:
            return charge(*given)
        except (dv.errors.SessionBusy, ReleaseLost):
            return None

    found = at_once(location, asked, 3, lambda client, turn: key(turn))
    assert len(found) == 3


# ---------------------------------------------------------------- windows and clocks


@pytest.mark.parametrize(("per", "next_day"), [("day", "2026-12-01"), ("month", "2026-12-01")])
def test_a_window_opens_again_and_a_cap_for_all_time_does_not(per: Any, next_day: str) -> None:
    caps, spending = Caps(each=(Cap(Fraction(1), per=per), Cap(Fraction(3, 2)))), Spending()
    spend(spending, ANA, 1, "2026-11-30T23:59:59Z")
    assert not fits(caps, ANA, spending, "1/2", "2026-11-30T23:59:59Z")
    assert fits(caps, ANA, spending, "1/2", f"{next_day}T00:00:00Z")
    assert not fits(caps, ANA, spending, 1, f"{next_day}T00:00:00Z")


def test_a_day_of_the_same_month_is_another_window_of_a_day_only() -> None:
    spending = Spending()
    spend(spending, ANA, 1, "2026-11-29T10:00:00Z")
    assert fits(Caps(each=(Cap(Fraction(1), per="day"),)), ANA, spending, 1, "2026-11-30T10:00:00Z")
    assert not fits(Caps(each=(Cap(Fraction(1), per="month"),)), ANA, spending, 1, "2026-11-30T10:00:00Z")


def test_a_clock_that_was_put_back_opens_no_window_twice(location: Location, monkeypatch: pytest.MonkeyPatch) -> None:
    """Times are the latest that the ledger carries."""
    ledger, caps = ledger_of(location), Caps(each=(Cap(Fraction(1), per="day"),))
    monkeypatch.setattr("tests.curator.spenders.CAPS", caps)

    def at(time: str, name: str) -> bool:
        for module in ("chain", "ledger"):
            monkeypatch.setattr(f"dpviz.session.ledger.{module}.now", lambda: time)
        try:
            charge(ledger, ANA, key(name), Fraction(1), alone)
        except BudgetExceeded:
            return False
        return True

    assert at("2027-03-02T08:00:00Z", "a")
    assert not at("2027-03-02T09:00:00Z", "b")
    assert not at("2027-03-01T09:00:00Z", "b"), "yesterday comes no more"
    assert at("2027-03-03T00:00:00Z", "b")
    assert not at("2027-03-02T23:59:59Z", "c")
    assert at("2028-01-01T00:00:00Z", "c"), "a clock that ran ahead"
    assert not at("2027-03-04T00:00:00Z", "d"), "and came back: the next window is that of 2028"
    assert passed(entries(ledger), caps) == []
    assert ledger_of(location).spending.to_json() == ledger.spending.to_json()


# ---------------------------------------------------------------- what counts


def capped(owner: dv.Session, caller: Caller, caps: Caps) -> dv.Session:
    return owner.for_caller(caller, caps.within(caller))


PAYS: dict[str, Any] = {
    "pure": lambda session, name: session.release(BINS, dv.Dense("1/20"), key=name),
    "gaussian": lambda session, name: session.release(BINS, dv.Dense("1/5", base="gaussian", delta="1e-8"), key=name),
    "steps": lambda session, name: session.open(dv.PayWhatYouGet(2, 1, "1/5", "1e-8"), key=name),
    "parts": lambda session, name: session.open(dv.Parts(PARTS, "1/20"), key=name),
}


@pytest.mark.parametrize("pays", PAYS)
@pytest.mark.parametrize("filter_", ["basic", "zcdp"])
def test_a_cap_is_the_budget_of_its_size_under_the_same_filter(tmp_path: Path, filter_: Any, pays: str) -> None:
    """A capped caller may pay as often as a session whose whole budget is the cap."""
    small = dv.Budget(1, "1e-6", filter=filter_)
    large = dv.Budget(10, "1e-5", filter=filter_)

    def times(session: dv.Session) -> int:
        for count in range(100):
            try:
                PAYS[pays](session, str(count))
            except BudgetExceeded as refused:
                assert refused.part in ("epsilon", "rho", "delta", "shift")
                return count
        raise AssertionError("nothing was refused")

    def session(name: str, budget: dv.Budget) -> dv.Session:
        return dv.Session(frame(), dv.Unit("row"), budget, tmp_path / name)

    caps = Caps(each=(Cap(Fraction(1), Fraction(1, 10**6)),))
    assert times(capped(session("a.ledger", large), ANA, caps)) == times(session("b.ledger", small)) > 1


def frame() -> Any:
    return pd.DataFrame({"x": [0, 1, 1, 2, 3, 3, 3], "y": [0, 0, 0, 1, 1, 1, 1]})


def test_lost_cancelled_failed_and_pending_charges_count(location: Location) -> None:
    owner = ledger_of(location)
    handle = owner.for_caller(DAN.to_json(), Caps(each=(Cap(Fraction(2)),)).within(DAN))
    outcomes: tuple[Literal["failed", "cancelled"], ...] = ("failed", "cancelled")
    for turn, outcome in enumerate(outcomes):
        handle.close(charged(handle, key(turn), Fraction(1, 2)).number, outcome)
    charged(handle, key("pending"), Fraction(1, 2))
    with pytest.raises(BudgetExceeded, match="leaves 0.5"):
        charged(handle, key("more"), Fraction(3, 4))
    with pytest.raises(ReleaseLost):
        charged(handle, key(0), Fraction(1, 2))
    assert owner.spending.of("name", "Dan") == owner.spending.of("name", "Dan", "day", owner.spending.time)


def test_a_sub_session_counts_whole_for_who_opened_it(location: Location) -> None:
    owner = held(location)
    caps = Caps(projects={"births": (Cap(Fraction(1)),)})
    ana, ben = capped(owner, Caller("Ana", "births"), caps), capped(owner, Caller("Ben", "births"), caps)
    ana.open(dv.Parts(PARTS, "3/4")).ask(BINS, dv.Dense("1/4"), part="0")
    with pytest.raises(BudgetExceeded, match="the cap of project births"):
        ben.release(BINS, dv.Dense("1/2"))
    assert ben.open(dv.Parts(PARTS, "3/4")).number == 1, "looking at it is free"
    ben.release(BINS, dv.Dense("1/4"))


def test_the_budget_of_the_data_set_binds_besides(location: Location) -> None:
    owner = held(location, epsilon="1")
    ana = capped(owner, ANA, Caps(each=(Cap(Fraction(5)),)))
    ana.release(BINS, dv.Dense("3/4"))
    with pytest.raises(BudgetExceeded) as refused:
        ana.release(BINS, dv.Dense("1/2"))
    assert "cap" not in str(refused.value)


def test_an_analyst_with_caps_of_their_own_has_them_in_place_of_those_of_all() -> None:
    caps = Caps(each=(Cap(Fraction(1)),), analysts={"Ana": (Cap(Fraction(2)),), "Ben": ()})
    assert fits(caps, ANA, Spending(), 2, "2026-11-30T00:00:00Z")
    assert not fits(caps, CLEO, Spending(), 2, "2026-11-30T00:00:00Z")
    assert fits(caps, BEN, Spending(), 9, "2026-11-30T00:00:00Z"), "no cap of their own"


def test_a_cap_that_was_lowered_leaves_nothing_and_says_so() -> None:
    spending = Spending()
    spend(spending, ANA, 3, "2026-11-30T00:00:00Z")
    with pytest.raises(BudgetExceeded) as refused:
        before = accountant.opened(BASIC)
        Caps(each=(Cap(Fraction(1)),)).check(
            ANA, spending, before, accountant.charge(before, PureDP(Fraction(1))), spending.time
        )
    assert (refused.value.left, refused.value.next_step) == ("0", "ask the data owner for a larger cap")


# ---------------------------------------------------------------- words


@pytest.mark.parametrize(
    ("cap", "price", "said"),
    [
        (Cap(Fraction(1)), "1/2", "ask for at most ε = 0.25. Nothing was charged."),
        (Cap(Fraction(1), per="day"), "1/2", "ask for at most ε = 0.25 or ask again from 2026-12-01 on (UTC)."),
        (Cap(Fraction(1), per="month"), "1/2", "ε 1 a month, leaves 0.25;"),
        (Cap(Fraction(1), per="month"), 2, "ask for at most ε = 0.25. Nothing was charged."),
        (Cap(Fraction(3, 4)), "1/2", "ask the data owner for a larger cap."),
    ],
)
def test_a_refusal_says_which_cap_whose_and_when_it_opens_again(cap: Cap, price: Any, said: str) -> None:
    spending = Spending()
    spend(spending, ANA, "3/4", "2026-11-30T10:00:00Z")
    before = accountant.opened(BASIC)
    after = accountant.charge(before, PureDP(Fraction(price)))
    with pytest.raises(BudgetExceeded, match="the cap of analyst Ana") as refused:
        Caps(each=(cap,)).check(ANA, spending, before, after, "2026-11-30T11:00:00Z")
    assert said in str(refused.value)
    assert (refused.value.part, refused.value.value) == ("epsilon", dv.exact.text(Fraction(price)))


def test_a_refusal_under_zcdp_says_an_epsilon_that_fits() -> None:
    spending, caps = Spending(), Caps(each=(Cap(Fraction(1), Fraction(1, 10**6), "month"),))
    spend(spending, ANA, "1/5", "2026-11-30T10:00:00Z", ZCDP)
    before = accountant.opened(ZCDP)
    with pytest.raises(BudgetExceeded, match=r"ρ = .* under the zCDP filter") as refused:
        caps.check(ANA, spending, before, accountant.charge(before, PureDP(Fraction(1, 5))), spending.time)
    said = refused.value.next_step
    largest = said.partition("ε = ")[2].partition(" ")[0]
    assert said.endswith("or ask again from 2026-12-01 on (UTC)")
    assert fits(caps, ANA, spending, largest, spending.time, ZCDP)


def test_a_cap_that_the_filter_cannot_count_is_refused_before_anybody_asks() -> None:
    caps = Caps(analysts={"Ana": (Cap(Fraction(1)),)})
    caps.check_fits(BASIC)
    with pytest.raises(ParameterError, match="zCDP"):
        caps.check_fits(ZCDP)


def test_what_is_left_of_each_cap_is_what_the_check_allows() -> None:
    spending = Spending()
    spend(spending, ANA, "1/2", "2026-11-30T10:00:00Z")
    account, now = accountant.opened(BASIC), "2026-11-30T11:00:00Z"
    found = CAPS.allowances(ANA, spending, account, now)
    assert [(one.whose, one.left["epsilon"], one.until) for one in found] == [
        ("the cap of analyst Ana, ε 5", Fraction(9, 2), ""),
        ("the cap of project births, ε 6", Fraction(11, 2), ""),
        ("the cap of project births, ε 4.5 a day", 4, "2026-12-01"),
        ("the cap of analyst Ana, ε 2 a month", Fraction(3, 2), "2026-12-01"),
    ]
    least = min(one.left["epsilon"] for one in found)
    assert fits(CAPS, ANA, spending, least, now)
    assert not fits(CAPS, ANA, spending, least + Fraction(1, 100), now)


# ---------------------------------------------------------------- restarts


@pytest.mark.usefixtures("no_disk_is_waited_for")
def test_what_was_spent_is_the_same_from_a_memory_as_from_the_whole_chain(
    location: Location, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setattr(following, "LEAST", 4)
    monkeypatch.setattr(following, "STEP", 2)
    ledger = ledger_of(location)
    for turn in range(12):
        try:
            charge(ledger, CALLERS[turn % 4], key(turn), Fraction(1, 2), alone)
        except BudgetExceeded:
            continue
    taken: list[int] = []
    take = Audit.take
    monkeypatch.setattr(Audit, "take", lambda audit, row: (taken.append(row.seq), take(audit, row)))
    again = ledger_of(location)
    assert again.spending.to_json() == ledger.spending.to_json()
    assert totals(again) == totals(ledger)
    assert len(taken) < ledger.verify().rows, "rows were remembered"
    assert passed(entries(again), CAPS) == []


def totals(ledger: Any) -> Mapping[str, Any]:
    return {caller.name: ledger.spending.of("name", caller.name) for caller in CALLERS}


@pytest.mark.parametrize("by", [{}, {"name": "Ana"}, {"name": "", "project": ""}, {"name": 1, "project": ""}, "Ana"])
def test_a_charge_whose_caller_cannot_be_read_is_a_damaged_ledger(
    tmp_path: Path, by: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    ledger = opened(tmp_path / "visits.ledger")
    with pytest.raises(ParameterError, match="the handle of a caller says who asked"):
        ledger.charge(key("a"), {**BODY, "asked_by": by}, admit)
    monkeypatch.setattr(Ledger, "_for_whom", lambda self, body: body)
    with pytest.raises(LedgerCorrupt, match="lacks a part"):
        ledger.charge(key("a"), {**BODY, "asked_by": by}, admit)
    with pytest.raises(LedgerCorrupt, match="lacks a part"):
        Ledger.read(tmp_path / "visits.ledger").entries()
