"""Each entry says which caller asked; a key does not, and only who opened a sub-session uses it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import dpviz as dv
from dpviz import cli
from dpviz.errors import BudgetExceeded, Forbidden, ParameterError, ReleaseLost
from dpviz.session.callers import Caller
from dpviz.session.ledger.spending import Spending
from tests.ledger.test_uses import ASKS, FIRST, less
from tests.ledger.tools import BODY, Location, admit, key, opened, started

BINS = dv.Domain.integers(0, 3, column="x")
PARTS = dv.Domain.integers(0, 1, column="y")
ANA = Caller("Ana", "births", proof="user 1001 of this machine")
BEN = Caller("Ben", proof="a token")


def held(location: Location, epsilon: str = "20") -> dv.Session:
    frame = pd.DataFrame({"x": [0, 1, 1, 2, 3, 3, 3], "y": [0, 0, 0, 1, 1, 1, 1]})

    def made(ledger: Location) -> dv.Session:
        return dv.Session(frame, dv.Unit("row"), dv.Budget(epsilon, "1e-6"), ledger)

    started(location, made)
    return made(location)


# ---------------------------------------------------------------- who asked


def test_every_charge_opening_and_use_says_which_caller_asked(location: Location) -> None:
    owner = held(location)
    ana, ben = owner.for_caller(ANA), owner.for_caller(BEN)
    ana.release(BINS, dv.Dense("1/4"))
    tape = ben.open(dv.Parts(PARTS, "1/2"))
    tape.ask(BINS, dv.Dense("1/4"), part="0")
    tape.close()
    owner.release(BINS, dv.Dense("1/8"))
    entries = owner.ledger.entries()
    assert [entry.asked_by for entry in entries] == [ANA.to_json(), BEN.to_json(), {}]
    assert [entry.person for entry in entries] == ["Ana", "Ben", owner.person]
    assert [entry.by for entry in entries[:2]] == ["Ana (births, user 1001 of this machine)", "Ben (a token)"]
    assert [use.asked_by for use in owner.ledger.uses(tape.number)] == [BEN.to_json()] * 2
    assert (ana.person, ana.caller, owner.caller) == ("Ana", ANA, None)
    assert owner.ledger.verify() == ana.ledger.verify()


def test_the_command_line_shows_who_asked_and_how_they_were_authenticated(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    owner = held(tmp_path / "visits.ledger")
    owner.for_caller(ANA).release(BINS, dv.Dense("1/4"))
    owner.for_caller(BEN).open(dv.Parts(PARTS, "1/2")).close()
    assert cli.main(["ledger", "show", str(tmp_path / "visits.ledger")]) == 0
    shown = capsys.readouterr().out
    assert "Ana (births, user 1001 of this machine)" in shown
    assert shown.count("Ben (a token)") == 2
    assert cli.main(["ledger", "verify", str(tmp_path / "visits.ledger")]) == 0


def test_a_colleague_who_asks_the_same_is_given_the_stored_answer(location: Location) -> None:
    owner = held(location)
    paid = owner.for_caller(ANA).release(BINS, dv.Dense("1/4"))
    before = owner.remaining
    assert owner.for_caller(BEN).release(BINS, dv.Dense("1/4")).to_json() == paid.to_json()
    assert owner.remaining == before
    assert [entry.person for entry in owner.ledger.entries()] == ["Ana"]


def test_a_ledger_in_which_no_caller_asked_is_written_as_before(location: Location) -> None:
    owner = held(location)
    owner.release(BINS, dv.Dense("1/4"))
    assert all("asked_by" not in entry.body for entry in owner.ledger.entries())


def test_a_caller_draws_beside_another_and_is_charged_alone(location: Location) -> None:
    """Their handles share one checked chain and hold draws of their own."""
    owner = opened(location)
    ana, ben = owner.for_caller(ANA.to_json()), owner.for_caller(BEN.to_json())
    mine = ana.charge(key("a"), BODY, admit)
    assert (ana.entry(1).mine, ben.entry(1).mine, ben.entry(1).status) == (True, False, "pending")
    ben.charge(key("b"), BODY, admit)
    ana.finish(mine.number, b"an answer")
    assert [entry.asked_by["name"] for entry in ben.entries()] == ["Ana", "Ben"]
    ben.close(2, "failed")
    with pytest.raises(ReleaseLost):
        ana.charge(key("b"), BODY, admit)
    assert ana.charge(key("b"), BODY, admit, retry=True).asked_by == ANA.to_json()


# ---------------------------------------------------------------- what a caller may not


def test_only_who_opened_a_sub_session_uses_it_and_all_read_it(location: Location) -> None:
    owner = opened(location)
    ana, ben = owner.for_caller(ANA.to_json()), owner.for_caller(BEN.to_json())
    ana.charge(key("tape"), BODY, admit, opens=FIRST)
    use = ana.reserve(1, key("q"), ASKS, less(10))
    ana.settle(1, use.number, b"an answer", dict)
    head = owner.head()
    assert ben.reserve(1, key("q"), ASKS, less(10)).status == "done"
    assert ben.use_answer(1, use.number) == b"an answer"
    with pytest.raises(Forbidden, match="the caller who opened it"):
        ben.reserve(1, key("another"), ASKS, less(10))
    assert owner.head() == head
    assert ben.charge(key("tape"), BODY, admit, opens=FIRST).number == 1, "the same opening is the same sub-session"
    assert owner.reserve(1, key("the owner's"), ASKS, less(10)).asked_by == {}


def test_a_sub_session_that_the_owner_opened_is_used_by_no_caller(location: Location) -> None:
    owner = held(location)
    tape = owner.open(dv.Parts(PARTS, "1/2"))
    with pytest.raises(Forbidden):
        owner.for_caller(ANA).sub_sessions[tape.number].close()
    assert not tape.closed


def test_a_caller_raises_no_budget(tmp_path: Path) -> None:
    owner = held(tmp_path / "visits.ledger")
    with pytest.raises(Forbidden):
        owner.for_caller(ANA).raise_budget(dv.Budget("30", "1e-6"))
    assert owner.budget.epsilon == 20


@pytest.mark.parametrize(
    "caller", ["Ana", Caller(""), Caller("  "), Caller("a" * 101), Caller("a", "b" * 101), Caller("a\ud800"), None]
)
def test_whom_nobody_can_name_in_a_ledger_is_refused(tmp_path: Path, caller: Any) -> None:
    with pytest.raises(ParameterError):
        held(tmp_path / "visits.ledger").for_caller(caller)


# ---------------------------------------------------------------- a check inside the transaction


def test_a_charge_is_checked_against_what_was_charged_for_each_caller(location: Location) -> None:
    owner = opened(location)
    seen: list[tuple[dict[str, int], dict[str, int]]] = []

    def within(spending: Spending, before: Mapping[str, str], after: Mapping[str, str], now: str) -> None:
        seen.append((spending.of("name", "Ana"), spending.of("project", "births")))
        assert now >= spending.time > "2026"
        if spending.of("name", "Ana").get("spent", 0) + int(after["spent"]) - int(before["spent"]) > 2:
            raise BudgetExceeded("a cap", value="1", rule="a cap", next_step="stop")

    ana, ben = owner.for_caller(ANA.to_json(), within), owner.for_caller(BEN.to_json())
    for name in "ab":
        ana.finish(ana.charge(key(name), BODY, admit).number, b"x")
        ben.charge(key(f"ben {name}"), BODY, admit)
    head = owner.head()
    with pytest.raises(BudgetExceeded):
        ana.charge(key("c"), BODY, admit)
    assert owner.head() == head
    assert ana.charge(key("a"), BODY, admit).status == "done", "what is stored is free"
    assert seen == [({}, {}), ({"spent": 1}, {"spent": 1}), ({"spent": 2}, {"spent": 2})]


def test_what_callers_spent_is_known_again_after_a_restart(location: Location) -> None:
    ledger = opened(location)
    ledger.for_caller(ANA.to_json()).charge(key("a"), BODY, admit)
    ledger.for_caller(BEN.to_json()).charge(key("b"), BODY, admit, opens=FIRST)
    found: list[Any] = []

    def within(spending: Spending, *_: object) -> None:
        found.append(spending.to_json())
        raise BudgetExceeded("a cap", value="1", rule="a cap", next_step="stop")

    for again in (ledger, opened(location)):
        with pytest.raises(BudgetExceeded):
            again.for_caller(ANA.to_json(), within).charge(key("c"), BODY, admit)
    assert found[0] == found[1]
    assert Spending.from_json(found[0]).to_json() == found[0]
    assert Spending.from_json(found[0]).of("name", "Ben") == {"spent": 1}
