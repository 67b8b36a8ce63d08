"""Orders that a rule covers wait for a decision, one charge for one approval; a refusal changes nothing."""

from __future__ import annotations

import json
import secrets
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import dpviz as dv
from dpviz import cli
from dpviz.curator.approvals import ApprovalGate, Approvals, DecidingSession
from dpviz.curator.declaration import ApprovalRule, Declaration
from dpviz.curator.keeper import Keeper
from dpviz.curator.tickets import Ticket
from dpviz.errors import Forbidden, LedgerError, ParameterError
from dpviz.session.callers import Caller
from dpviz.session.ledger import Ledger, rows
from dpviz.session.ledger.chain import REQUESTING
from dpviz.session.orders import AskOrder, OpenOrder, Order, ReleaseOrder
from dpviz.session.session import Session
from dpviz.session.sub_session import opening_key
from tests.curator.served import Served
from tests.patience import until

X = dv.Domain.integers(0, 3, column="x")
Y = dv.Domain.integers(0, 1, column="y")
ANA = Caller("Ana", "births", frozenset({"plan", "release", "approve"}))
BEN = Caller("Ben")
OLGA = Caller("Olga", scopes=frozenset({"approve"}))
DEAR = ApprovalRule(above_epsilon=Fraction(1, 4))


class Kept:
    """A keeper of a small table, and its gate."""

    def __init__(self, place: Path, *rules: ApprovalRule, **budget: Any) -> None:
        frame = pd.DataFrame({"x": [0, 1, 1, 2, 3, 3, 3], "y": [0, 0, 0, 1, 1, 1, 1]})
        self.owner = DecidingSession(frame, dv.Unit("row"), dv.Budget("20", "1e-6", **budget), place)
        self.gate = ApprovalGate(self.owner, rules, look=0.01)
        self.keeper = Keeper(self.owner, tick=0, gate=self.gate)

    def order(self, question: Any, mechanism: Any, *, retry: bool = False, **more: Any) -> ReleaseOrder:
        """The order that a client would send."""
        key = more.pop("key", None)
        bought = {"where": None, "by": None, "way": None, "limits": None, "mode": None, "over": None, "delta": None}
        asked = {**bought, **more}
        then = asked.pop("then", None)
        bound, profile = self.owner._purchase(question, mechanism, key=key, **asked)
        return self.owner._order(bound, profile, None, key, retry, then)[1].order

    def place(self, order: Order, caller: Caller = ANA) -> Ticket:
        return self.keeper.place(secrets.token_hex(16), order, caller)

    @property
    def approvals(self) -> Approvals:
        return self.gate.approvals


@pytest.fixture
def kept(tmp_path: Path) -> Iterator[Callable[..., Kept]]:
    made: list[Kept] = []

    def make(*rules: ApprovalRule, **budget: Any) -> Kept:
        made.append(Kept(tmp_path / "visits.ledger", *(rules or (DEAR,)), **budget))
        return made[-1]

    yield make
    for one in made:
        one.keeper.close()


def ended(ticket: Ticket) -> Any:
    until(lambda: ticket.ended)
    return ticket.standing


# ---------------------------------------------------------------- what waits, and goes on


def test_an_order_waits_and_goes_on_when_it_is_approved(kept: Any) -> None:
    it = kept()
    before = it.owner.remaining
    ticket = it.place(it.order(X, dv.Dense("1/2")))
    assert (ticket.standing.state, ticket.standing.entry) == ("approval", None)
    assert ticket.standing.waiting == "waiting for approval by the owner of the data, as request 1"
    assert (it.owner.remaining, it.owner.ledger.entries()) == (before, []), "nothing is charged while it waits"
    it.gate.decide(1, OLGA, "approve", "a fair question")
    assert ended(ticket).state == "done"
    assert [entry.person for entry in it.owner.ledger.entries()] == ["Ana"]
    assert it.owner.remaining.epsilon == before.epsilon - Fraction(1, 2)


def test_a_refused_order_changes_nothing_and_says_why(kept: Any) -> None:
    it = kept()
    before, ticket = it.owner.remaining, it.place(it.order(X, dv.Dense("1/2")))
    it.gate.decide(1, OLGA, "refuse", "too dear")
    told = ended(ticket)
    assert (told.state, told.error["error"]) == ("failed", "Forbidden")
    assert "request 1 was decided by Olga: too dear" in told.error["message"]
    assert (it.owner.remaining, it.owner.ledger.entries()) == (before, [])
    again = ended(it.place(it.order(X, dv.Dense("1/2"))))
    assert again.error["message"] == told.error["message"]
    assert len(it.owner.ledger.requests()) == 1, "the same order is the same request"


def test_an_order_that_no_rule_covers_does_not_wait(kept: Any) -> None:
    it = kept()
    assert ended(it.place(it.order(X, dv.Dense("1/4")))).state == "done"
    assert it.owner.ledger.requests() == []


def test_what_is_stored_is_free_and_does_not_wait(kept: Any) -> None:
    it = kept()
    it.owner.release(X, dv.Dense("1/2"))
    assert ended(it.place(it.order(X, dv.Dense("1/2")))).state == "done"
    assert it.owner.ledger.requests() == []


def test_an_order_that_waits_goes_on_when_its_answer_is_stored_meanwhile(kept: Any) -> None:
    it = kept()
    ticket = it.place(it.order(X, dv.Dense("1/2")))
    it.owner.release(X, dv.Dense("1/2"))
    assert ended(ticket).free
    assert len(it.owner.ledger.entries()) == 1


def test_an_approval_is_of_who_asked(kept: Any) -> None:
    it = kept()
    it.place(it.order(X, dv.Dense("1/2")), ANA).cancel()
    it.gate.decide(1, OLGA, "approve")
    bens = it.place(it.order(X, dv.Dense("1/2")), BEN)
    assert bens.standing.state == "approval"
    assert [one.person for one in it.approvals.waiting()] == ["Ben"]


def test_the_order_of_an_analyst_who_left_goes_on_when_they_ask_again(kept: Any) -> None:
    it = kept()
    it.place(it.order(X, dv.Dense("1/2"))).cancel()
    it.gate.decide(1, OLGA, "approve")
    assert it.owner.ledger.entries() == []
    assert ended(it.place(it.order(X, dv.Dense("1/2")))).state == "done"


def test_a_decision_of_another_process_is_found(kept: Any, tmp_path: Path) -> None:
    it = kept()
    ticket = it.place(it.order(X, dv.Dense("1/2")))
    other = DecidingSession(it.owner._source, dv.Unit("row"), it.owner.budget, tmp_path / "visits.ledger")
    Approvals(other).decide(1, OLGA, "approve")
    assert ended(ticket).state == "done"


def test_a_curator_that_starts_anew_knows_what_was_asked_and_decided(kept: Any) -> None:
    it = kept()
    it.place(it.order(X, dv.Dense("1/2")))
    it.place(it.order(Y, dv.Dense("1/2")))
    it.keeper.close()
    again = kept()
    assert [one.person for one in again.approvals.waiting()] == ["Ana", "Ana"]
    again.gate.decide(1, OLGA, "approve")
    assert ended(again.place(again.order(X, dv.Dense("1/2")))).state == "done"
    waits = again.place(again.order(Y, dv.Dense("1/2")))
    assert waits.standing.waiting.endswith("as request 2")


# ---------------------------------------------------------------- one approval, one charge


def lost(it: Kept) -> None:
    """Charge the order of these tests without an answer."""
    session = it.keeper.session_of(ANA)
    prepared = session.prepare(it.order(X, dv.Dense("1/2")))
    session.ledger.close(prepared.payment.pay(ready()).number, "failed")  # type: ignore[arg-type]


def ready() -> Any:
    class Handle:
        wanted = staticmethod(lambda: True)
        charging = staticmethod(lambda: None)

    return Handle()


def test_to_pay_for_a_lost_draw_again_is_another_request(kept: Any) -> None:
    it = kept()
    it.place(it.order(X, dv.Dense("1/2"))).cancel()
    it.gate.decide(1, OLGA, "approve")
    lost(it)
    again = it.place(it.order(X, dv.Dense("1/2"), retry=True))
    assert again.standing.waiting.endswith("as request 2")
    it.gate.decide(2, OLGA, "approve")
    assert ended(again).state == "done"
    assert len(it.owner.ledger.entries()) == 2


def test_an_approval_that_paid_while_an_order_was_in_line_pays_for_no_second_charge(kept: Any) -> None:
    """Two orders to retry pass the gate before either is charged; the first draw is lost."""
    it = kept()
    it.place(it.order(X, dv.Dense("1/2"))).cancel()
    it.gate.decide(1, OLGA, "approve")
    hold, busy = threading.Event(), threading.Event()
    blocker = Ticket("0" * 32, "Olga", "", work=lambda ticket: (busy.set(), hold.wait(), ticket.change(state="done")))
    it.keeper.line.put(blocker)
    busy.wait()
    second = it.place(it.order(X, dv.Dense("1/2"), retry=True))
    assert second.standing.state == "queued"
    lost(it)
    hold.set()
    told = ended(second)
    assert told.state == "failed"
    assert "an approval is for one charge" in told.error["message"]
    assert len(it.owner.ledger.entries()) == 1


# ---------------------------------------------------------------- another price


def test_another_price_is_approved_as_a_release_of_its_own(kept: Any) -> None:
    it = kept()
    ticket = it.place(it.order(X, dv.Dense("1")))
    it.gate.decide(1, OLGA, "approve", "half will do", dv.Dense("1/2"))
    told = ended(ticket)
    assert told.state == "failed"
    assert 'ask with dv.Dense(epsilon="0.5"), which is approved' in told.error["message"]
    assert it.owner.ledger.entries() == []
    assert ended(it.place(it.order(X, dv.Dense("1/2")))).state == "done"
    assert [entry.body["price"]["epsilon"] for entry in it.owner.ledger.entries()] == ["0.5"]
    assert ended(it.place(it.order(X, dv.Dense("1")))).state == "failed", "what was asked for stays refused"
    assert it.place(it.order(X, dv.Dense("1/2")), BEN).standing.state != "approval", "its answer is stored"


@pytest.mark.parametrize("filter_", ["basic", "zcdp"])
def test_another_price_is_no_higher_in_any_part(kept: Any, filter_: Any) -> None:
    it = kept(ApprovalRule(), filter=filter_)
    it.place(it.order(X, dv.Dense("1/2")))
    head = it.owner.ledger.head()
    for dearer in (dv.Dense("3/4"), dv.Dense("1/2", base="gaussian", delta="1e-7"), dv.Sorted("1/4")):
        with pytest.raises(ParameterError):
            it.gate.decide(1, OLGA, "approve", None, dearer)
    with pytest.raises(ParameterError):
        it.gate.decide(1, OLGA, "refuse", None, dv.Dense("1/4"))
    assert it.owner.ledger.head() == head
    assert it.gate.decide(1, OLGA, "approve", None, dv.Dense("1/2")).state == "approve", "the price asked for"
    it.place(it.order(Y, dv.Dense("1/2")))
    assert it.gate.decide(2, OLGA, "approve", None, dv.Dense("1/4")).state == "instead"


def test_a_sub_session_is_approved_as_it_was_asked_for(kept: Any) -> None:
    it = kept()
    parts = dv.Parts(Y, "1/2")
    order = OpenOrder(parts, None, opening_key(parts, it.owner.unit, None))
    ticket = it.place(order)
    assert ticket.standing.state == "approval"
    with pytest.raises(ParameterError, match="approved as it was asked for"):
        it.gate.decide(1, OLGA, "approve", None, dv.Dense("1/4"))
    it.gate.decide(1, OLGA, "approve")
    assert ended(ticket).state == "done"
    number = ended(ticket).entry
    tape = it.keeper.session_of(ANA).sub_sessions[number]
    question = tape._order(X, None, (dv.Dense("1/2"),), {"part": "0"}, None, False)[1].order
    assert isinstance(question, AskOrder)
    assert ended(it.place(question)).state == "done", "its questions were decided with it"


# ---------------------------------------------------------------- who decides, once


@pytest.mark.parametrize("verdict", ["approve", "refuse"])
def test_who_asked_and_who_has_no_right_decide_nothing(kept: Any, verdict: Any) -> None:
    it = kept()
    it.place(it.order(X, dv.Dense("1/2")))
    head = it.owner.ledger.head()
    for caller in (ANA, BEN, replace(OLGA, scopes=frozenset({"plan", "release", "audit"}))):
        with pytest.raises(Forbidden):
            it.gate.decide(1, caller, verdict)
    assert it.owner.ledger.head() == head


def test_a_decision_is_final(kept: Any) -> None:
    it = kept()
    it.place(it.order(X, dv.Dense("1/2")))
    it.gate.decide(1, OLGA, "refuse")
    for more in ({}, {"mechanism": dv.Dense("1/4")}):
        with pytest.raises(LedgerError, match="made once"):
            it.gate.decide(1, OLGA, "approve", **more)


@pytest.mark.parametrize("reason", ["", " ", "x" * 501, 3])
def test_a_reason_is_a_text_that_can_be_read(kept: Any, reason: Any) -> None:
    it = kept()
    it.place(it.order(X, dv.Dense("1/2")))
    with pytest.raises(ParameterError):
        it.gate.decide(1, OLGA, "approve", reason)


# ---------------------------------------------------------------- rules


@pytest.mark.parametrize(
    ("rule", "waits"),
    [
        (ApprovalRule(), True),
        (ApprovalRule(mechanisms=frozenset({"Dense"})), True),
        (ApprovalRule(mechanisms=frozenset({"Stability"})), False),
        (ApprovalRule(columns=frozenset({"y"})), False),
        (ApprovalRule(columns=frozenset({"x"})), True),
        (ApprovalRule(above_epsilon=Fraction(1, 2)), False),
        (ApprovalRule(above_epsilon=Fraction(49, 100), columns=frozenset({"x"})), True),
        (ApprovalRule(above_delta=Fraction(0)), False),
    ],
)
def test_a_rule_covers_what_it_names(kept: Any, rule: ApprovalRule, waits: bool) -> None:
    it = kept(rule)
    assert (it.place(it.order(X, dv.Dense("1/2"))).standing.state == "approval") == waits


BESIDE: dict[str, dict[str, Any]] = {
    "filter": {"where": {"y": 0}},
    "parts": {"by": Y},
    "declared": {"then": (dv.Question(Y, {}), dv.Dense("1/8"))},
}


@pytest.mark.parametrize("part", ["filter", "parts"])
def test_a_rule_about_a_column_covers_it_wherever_it_is_named(kept: Any, part: str) -> None:
    it = kept(ApprovalRule(columns=frozenset({"y"})))
    assert it.place(it.order(X, dv.Dense("1/8"), **BESIDE[part])).standing.state == "approval"
    assert it.place(it.order(X, dv.Dense("1/8"))).standing.state != "approval"


def test_a_rule_about_a_mechanism_covers_it_where_it_shares_a_price_out_among_parts(kept: Any) -> None:
    it = kept(ApprovalRule(mechanisms=frozenset({"Dense"})))
    assert it.place(it.order(X, dv.Dense("1/8"), by=Y)).standing.state == "approval"


@pytest.mark.parametrize(
    ("rule", "waits"),
    [
        (ApprovalRule(mechanisms=frozenset({"Stability"})), True),
        (ApprovalRule(columns=frozenset({"x"})), True),
        (ApprovalRule(above_epsilon=Fraction(1, 2)), False),
    ],
)
def test_a_sub_session_may_name_any_column_and_mechanism(kept: Any, rule: ApprovalRule, waits: bool) -> None:
    it = kept(rule)
    parts = dv.Parts(Y, "1/2")
    ticket = it.place(OpenOrder(parts, None, opening_key(parts, it.owner.unit, None)))
    assert (ticket.standing.state == "approval") == waits


def test_the_price_of_a_profile_counts(kept: Any, tmp_path: Path) -> None:
    frame = pd.DataFrame({"who": ["a", "a", "b"], "x": [0, 1, 2]})
    unit = dv.Unit("who", max_bins=2, max_records=2)
    owner = DecidingSession(frame, unit, dv.Budget("20", "1e-6"), tmp_path / "users.ledger")
    gate = ApprovalGate(owner, (DEAR,), look=0.01)
    keeper = Keeper(owner, tick=0, gate=gate)
    try:
        bound, profile = owner._purchase(X, dv.Dense("1/4"), None, None, None, None, None, None, dv.Dense("1/4"), None)
        order = owner._order(bound, profile, None, None, False)[1].order
        assert keeper.place(secrets.token_hex(16), order, ANA).standing.state == "approval"
    finally:
        keeper.close()


# ---------------------------------------------------------------- what is shown, and formats


def test_a_request_has_the_plan_and_no_answer(kept: Any) -> None:
    it = kept()
    it.place(it.order(X, dv.Dense("1/2")))
    (found,) = it.approvals.waiting()
    assert found.body["text"] == it.order(X, dv.Dense("1/2")).question.text + ', by Dense(epsilon="0.5")'
    plan = "\n".join(found.body["plan"])
    assert "0.5-differential privacy" in plan
    assert "95 in 100" in plan
    assert set(found.body) == {"order", "text", "plan", "price", "asked_by"}


def test_a_ledger_of_a_curator_with_rules_begins_in_a_format_that_has_requests(tmp_path: Path) -> None:
    (tmp_path / "visits.csv").write_text("x\n1\n2\n")
    for name, rules, begins in (("with", "[[approval]]\nabove_epsilon = '1/2'", True), ("without", "", False)):
        text = f'dataset = "visits"\nledger = "{name}.ledger"\n[source]\nfile = "visits.csv"\n[unit]\nof = "row"\n'
        text += (
            f'[budget]\nepsilon = "2"\n[[analysts]]\nname = "ana"\nlogin = 1\n[listen]\nsocket = "v.sock"\n{rules}\n'
        )
        (tmp_path / f"{name}.toml").write_text(text)
        Declaration.read(tmp_path / f"{name}.toml").session().ledger.detach()
        found = Ledger.read(tmp_path / f"{name}.ledger")._store.read(rows.format_of)
        assert (found == REQUESTING) == begins


def test_the_session_of_a_caller_is_no_deciding_session(kept: Any) -> None:
    assert type(kept().owner.for_caller(ANA)) is Session


def test_the_command_line_shows_requests_and_decisions(kept: Any, capsys: Any) -> None:
    it = kept()
    it.place(it.order(X, dv.Dense("1/2")))
    it.place(it.order(Y, dv.Dense("1/2")))
    it.gate.decide(1, OLGA, "refuse", "too dear")
    assert cli.main(["ledger", "show", it.owner.ledger.location]) == 0
    shown = capsys.readouterr().out
    assert "refuse by Olga  too dear" in shown
    assert "waiting" in shown
    assert cli.main(["ledger", "show", "--json", it.owner.ledger.location]) == 0
    told = json.loads(capsys.readouterr().out)["requests"]
    assert [(one["number"], one["person"], (one["decision"] or {}).get("verdict")) for one in told] == [
        (1, "Ana", "refuse"),
        (2, "Ana", None),
    ]


# ---------------------------------------------------------------- killed while an order waits


WAITS = '\n[[approval]]\nabove_epsilon = "1/4"\n'
AGES = dv.Domain.integers(0, 9, column="age")


@pytest.mark.parametrize("verdict", ["approve", "refuse"])
def test_a_curator_killed_while_an_order_waits_loses_nothing_and_charges_once(tmp_path: Path, verdict: Any) -> None:
    """The decision is made while no curator is there; the analyst's call, which waited all the time, goes on by it."""
    tmp_path.chmod(0o700)
    with Served(tmp_path, more=WAITS) as served:
        session = dv.connect(served.address)
        waits = session.release_async(AGES, dv.Dense("1/2"))
        until(lambda: "waiting for approval" in waits.waiting)
        served.kill()
        other = Declaration.read(tmp_path / "visits.toml").session(existing=True)
        (found,) = Approvals(other).waiting()
        Approvals(other).decide(found.number, OLGA, verdict, "we shall see")
        served.start()
        if verdict == "approve":
            release = waits.result(90)
            assert [entry.number for entry in session.ledger.entries()] == [release.number] == [1]
            assert session.release(AGES, dv.Dense("1/2")) == release
        else:
            with pytest.raises(Forbidden, match="we shall see"):
                waits.result(90)
            assert session.ledger.entries() == []
        assert len(other.ledger.requests()) == 1
        session.ledger.detach()
