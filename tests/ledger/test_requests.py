"""Requests and decisions are rows of the chain: made once, decided once, by somebody else, and never lost."""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from dpviz.errors import Forbidden, LedgerCorrupt, LedgerError, LedgerFormat, ParameterError, SessionBusy
from dpviz.session.ledger import Ledger, requests, rows
from dpviz.session.ledger.chain import REQUESTING, Row
from tests.killing import Show, killed, steps_of
from tests.ledger.tools import BODY, CHARTER, Location, admit, key, on_a_file, opened, spend, sql

ANA = {"name": "Ana", "project": "births", "proof": "a token"}
OLGA = {"name": "Olga", "project": "", "proof": "a token"}
WHAT = {"question": "how many"}
WHY = {"reason": "too dear"}


def pair(location: Location) -> tuple[Ledger, Ledger, Ledger]:
    owner = opened(location)
    return owner, owner.for_caller(ANA), owner.for_caller(OLGA)


def test_a_request_is_made_once_for_a_key_and_waits(location: Location) -> None:
    owner, ana, _ = pair(location)
    account = owner.account
    made = ana.request(key("a"), WHAT)
    head = owner.head()
    assert ana.request(key("a"), {"question": "another"}) == made
    assert owner.head() == head
    assert (made.number, made.state, made.person, made.asked_by, made.decision) == (1, "waiting", "Ana", ANA, None)
    assert made.body == {**WHAT, "asked_by": ANA}
    assert owner.account == account, "it changes no account"
    assert owner.requests(waiting=True) == [made] == opened(location).requests()
    assert owner.find_request(key("a")) == made
    assert owner.find_request(key("b")) is None


@pytest.mark.parametrize("verdict", ["approve", "refuse"])
def test_a_decision_is_made_once_and_read_again(location: Location, verdict: Any) -> None:
    owner, ana, olga = pair(location)
    ana.request(key("a"), WHAT)
    found = olga.decide(1, verdict, WHY)
    assert found.decision is not None
    assert (found.state, found.decision.reason, found.decision.person) == (verdict, "too dear", "Olga")
    assert found.decision.body["decided_by"] == OLGA
    head = owner.head()
    for other in ("approve", "refuse"):
        with pytest.raises(LedgerError, match="a decision is made once"):
            owner.decide(1, other, {})  # type: ignore[arg-type]
    assert owner.head() == head
    assert owner.requests() == opened(location).requests() == [found] == [ana.request(key("a"), WHAT)]
    assert owner.requests(waiting=True) == []
    owner.verify()


def test_who_asked_does_not_decide(location: Location) -> None:
    owner, ana, _ = pair(location)
    ana.request(key("a"), WHAT)
    head = owner.head()
    with pytest.raises(Forbidden, match="nobody decides a request of their own"):
        ana.decide(1, "approve", {})
    assert owner.head() == head


def test_another_request_is_approved_in_place_of_one_in_one_step(location: Location) -> None:
    owner, ana, olga = pair(location)
    ana.request(key("dear"), WHAT)
    found = olga.decide(1, "instead", WHY, (key("cheap"), {"question": "how many, roughly"}))
    assert found.state == "instead"
    other = owner.find_request(key("cheap"))
    assert other is not None
    assert (other.number, other.state, other.person, other.asked_by) == (2, "approve", "Ana", ANA)
    assert other.body["in_place_of"] == 1
    assert owner.requests() == opened(location).requests() == [found, other]
    owner.verify()


def test_in_place_of_a_request_one_that_waits_is_approved_and_one_that_was_refused_is_not(location: Location) -> None:
    owner, ana, olga = pair(location)
    for name in ("dear", "cheap", "cheaper"):
        ana.request(key(name), WHAT)
    olga.decide(3, "refuse", WHY)
    head = owner.head()
    with pytest.raises(LedgerError, match="request 3 was refused"):
        olga.decide(1, "instead", WHY, (key("cheaper"), WHAT))
    assert owner.head() == head
    olga.decide(1, "instead", WHY, (key("cheap"), WHAT))
    assert [one.state for one in owner.requests()] == ["instead", "approve", "refuse"]


@pytest.mark.parametrize(
    ("verdict", "instead"), [("perhaps", None), ("approve", (key("x"), {})), ("instead", None), ("", None)]
)
def test_what_is_no_decision_is_refused(tmp_path: Path, verdict: Any, instead: Any) -> None:
    owner, ana, olga = pair(tmp_path / "visits.ledger")
    ana.request(key("a"), WHAT)
    head = owner.head()
    with pytest.raises(ParameterError):
        olga.decide(1, verdict, WHY, instead)
    assert owner.head() == head


def test_a_request_is_not_approved_in_place_of_itself(tmp_path: Path) -> None:
    owner, ana, olga = pair(tmp_path / "visits.ledger")
    ana.request(key("a"), WHAT)
    head = owner.head()
    with pytest.raises(ParameterError, match="in place of another"):
        olga.decide(1, "instead", WHY, (key("a"), WHAT))
    assert owner.head() == head
    owner.verify()


@pytest.mark.parametrize("number", [0, 2, -1, True, "1", None])
def test_a_decision_about_no_request_is_refused(tmp_path: Path, number: Any) -> None:
    _, ana, olga = pair(tmp_path / "visits.ledger")
    ana.request(key("a"), WHAT)
    with pytest.raises(LedgerError, match="there is no request"):
        olga.decide(number, "approve", WHY)
    with pytest.raises(LedgerError, match="there is no request"):
        olga.request_at(number)
    assert olga.request_at(1).person == "Ana"


def test_of_one_caller_only_so_many_wait(location: Location, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(requests, "MOST_WAITING", 2)
    owner, ana, olga = pair(location)
    ana.request(key(1), WHAT)
    ana.request(key(2), WHAT)
    head = owner.head()
    with pytest.raises(SessionBusy, match="at most 2 requests"):
        ana.request(key(3), WHAT)
    assert owner.head() == head
    assert ana.request(key(1), WHAT).number == 1, "one that waits is found"
    assert olga.request(key("another's"), WHAT).number == 3
    olga.decide(1, "refuse", WHY)
    assert opened(location).for_caller(ANA).request(key(3), WHAT).number == 4


def test_charges_go_on_between_requests(location: Location) -> None:
    owner, ana, olga = pair(location)
    spend(owner, "a")
    ana.request(key("x"), WHAT)
    spend(owner, "b")
    olga.decide(1, "approve", WHY)
    spend(ana, "c")
    assert [entry.number for entry in owner.entries()] == [1, 2, 3]
    found = owner.verify()
    assert (found.rows, found.charges) == (9, 3)
    assert opened(location).requests() == owner.requests()


@on_a_file
def test_a_copy_has_the_requests(location: Location, tmp_path: Path) -> None:
    owner, ana, olga = pair(location)
    ana.request(key("x"), WHAT)
    olga.decide(1, "approve", WHY)
    owner.backup(tmp_path / "copy.ledger")
    assert Ledger.read(tmp_path / "copy.ledger").requests() == owner.requests()


# ---------------------------------------------------------------- the chain


def forged(location: Location, kind: str, **parts: Any) -> None:
    """Append a row that fits the chain behind the back of the ledger."""
    last = Row.read(sql(location, "SELECT * FROM chain ORDER BY seq DESC LIMIT 1")[0])
    row = Row.after(last, kind, last.state, **parts)
    sql(
        location,
        "INSERT INTO chain (seq, kind, body, previous, hash) VALUES (?, ?, ?, ?, ?)",
        *(row.seq, row.kind, row.body, row.previous, row.hash),
    )


GOOD: dict[str, Any] = {"number": 3, "key": key("third"), "request": {"asked_by": ANA}, "person": "Ana"}
DECIDES: dict[str, Any] = {"number": 2, "verdict": "approve", "decision": {"decided_by": OLGA}, "person": "Olga"}


@pytest.mark.parametrize(
    ("kind", "parts"),
    [
        ("request", {**GOOD, "number": 4}),
        ("request", {**GOOD, "number": 2}),
        ("request", {**GOOD, "key": key(1)}),
        ("request", {**GOOD, "key": 3}),
        ("request", {**GOOD, "request": "how many"}),
        ("request", {**GOOD, "request": {"asked_by": "Ana"}}),
        ("request", {**GOOD, "request": {"asked_by": {}}}),
        ("decision", {**DECIDES, "number": 1}),
        ("decision", {**DECIDES, "number": 3}),
        ("decision", {**DECIDES, "verdict": "perhaps"}),
        ("decision", {**DECIDES, "decision": {"decided_by": ANA}}),
        ("decision", {**DECIDES, "decision": {"decided_by": 1}}),
        ("decision", {"number": 2}),
    ],
)
def test_a_row_that_makes_or_decides_a_request_wrongly_is_a_damaged_ledger(
    tmp_path: Path, kind: str, parts: Any
) -> None:
    location = tmp_path / "visits.ledger"
    _, ana, olga = pair(location)
    ana.request(key(1), WHAT)
    ana.request(key(2), WHAT)
    olga.decide(1, "refuse", WHY)
    forged(location, kind, **parts)
    with pytest.raises(LedgerCorrupt):
        opened(location)


def test_rows_that_are_right_are_taken(tmp_path: Path) -> None:
    """The twin of the test above: the rows that it changes are right before."""
    location = tmp_path / "visits.ledger"
    _, ana, olga = pair(location)
    ana.request(key(1), WHAT)
    ana.request(key(2), WHAT)
    olga.decide(1, "refuse", WHY)
    forged(location, "request", **GOOD)
    forged(location, "decision", **DECIDES)
    assert [one.state for one in opened(location).requests()] == ["refuse", "approve", "waiting"]


# ---------------------------------------------------------------- formats


def test_an_earlier_dpviz_refuses_a_ledger_that_may_have_requests_and_reads_the_others(
    location: Location, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    charter: dict[str, Any] = {"charter": CHARTER, "account": {"spent": "0", "budget": "9"}}
    asking = tmp_path / "asking.ledger"
    spend(Ledger.open(asking, least_format=REQUESTING, **charter), "a")
    spend(opened(location), "a")
    assert formats(asking) == [REQUESTING]
    monkeypatch.setattr(rows, "FORMAT", REQUESTING - 1)
    with pytest.raises(LedgerFormat, match="upgrade dpviz"):
        Ledger.open(asking, **charter)
    assert opened(location).verify().charges == 1


def formats(location: Path) -> list[int]:
    ledger = Ledger.read(location)
    return [ledger._store.read(rows.format_of)]


def test_an_earlier_dpviz_refuses_an_earlier_ledger_at_the_row_of_a_request(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    location = tmp_path / "visits.ledger"
    _, ana, _ = pair(location)
    ana.request(key("a"), WHAT)
    monkeypatch.setattr("dpviz.session.ledger.chain.ROW_KINDS", ("charter", "charge", "outcome"))
    with pytest.raises(LedgerCorrupt, match="row 2"):
        opened(location)


# ---------------------------------------------------------------- killed at any moment


def asking(location: Location, show: Show) -> None:
    """Ask and decide for ever, and show each request and each decision once it is there."""
    _, ana, olga = pair(location)
    show("ready")
    for number in itertools.count(1):
        if number > len(ana.requests()):
            show(f"asked {ana.request(key(number), WHAT).number}")
        with contextlib.suppress(LedgerError):
            show(f"decided {olga.decide(number, 'approve', WHY).number}")


@pytest.mark.usefixtures("no_disk_is_waited_for")
def test_killed_between_a_request_and_its_decision_nothing_is_lost(locations: Callable[[], Location]) -> None:
    location = locations()
    owner, ana, olga = pair(location)
    ana.request(key(1), WHAT)
    one = steps_of(lambda: olga.decide(1, "approve", WHY))
    for turn in range(8):
        told = killed(partial(asking, location), lines=1 + turn, steps=(turn * one) // 5)
        found = opened(location).requests()
        asked = {int(line.split()[1]) for line in told if line.startswith("asked")}
        decided = {int(line.split()[1]) for line in told if line.startswith("decided")}
        assert asked <= {one.number for one in found}
        assert decided <= {one.number for one in found if one.state == "approve"}
        assert [one.number for one in found] == list(range(1, len(found) + 1))
        assert sum(one.decision is None for one in found) <= 1
    assert len(owner.requests()) > 8
    assert int(owner.account["spent"]) == 0
    owner.verify()
    spend(owner, "after all")
    assert owner.charge(key("after all"), BODY, admit).status == "done"
