"""Who and why: each entry, use and raise carries a person, a raise its reason, and a colleague is told what changed."""

from __future__ import annotations

import json
import os
import pwd
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import dpviz as dv
from dpviz import cli
from dpviz.errors import CharterMismatch, ParameterError, ReleaseLost, SessionBusy
from dpviz.session.ledger import Ledger, owner
from dpviz.session.ledger.chain import Row
from dpviz.widgets.state import session_state
from tests.ledger.server import Server
from tests.ledger.test_refusals import in_our_words
from tests.ledger.test_uses import ASKS, FIRST, less
from tests.ledger.tools import BODY, CHARTER, Location, admit, key, on_a_file, opened, spend, started
from tests.reports import pages
from tests.session.sources import KnownCounts

BINS = dv.Domain.integers(0, 3, column="x")
MORE = {"epsilon": "3", "delta": "0"}


def widened(account: Any) -> dict[str, str]:
    return {**account, "budget": str(int(account["budget"]) + 100)}


def session(location: Location, *, epsilon: str = "2", **more: Any) -> dv.Session:
    source = KnownCounts([7, 8, 9, 10])

    def made(ledger: Location) -> dv.Session:
        return dv.Session(source, dv.Unit("row"), dv.Budget(epsilon=epsilon, delta="1e-6"), ledger, **more)

    started(location, made)
    return made(location)


@contextmanager
def before_persons() -> Iterator[None]:
    """Inside, rows are written as they were before they carried a person."""
    usual = Row.after

    def after(last: Row | None, kind: str, state: Any, **parts: object) -> Row:
        return usual(last, kind, state, **{name: part for name, part in parts.items() if name != "person"})

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Row, "after", staticmethod(after))
        yield


# ---------------------------------------------------------------- who


def test_every_entry_use_and_raise_carries_the_person_who_made_it(location: Location) -> None:
    ada, ben = opened(location, person="Ada"), opened(location, person="Ben")
    spend(ada, "a")
    ben.charge(key("tape"), BODY, admit, opens=FIRST)
    ada.reserve(2, key("b"), ASKS, less(10))
    ben.raise_budget(MORE, widened)
    for ledger in (ada, ben):
        assert [entry.person for entry in ledger.entries()] == ["Ada", "Ben"]
        assert [use.person for use in ledger.uses(2)] == ["Ada"]
        assert [found.person for found in ledger.raises()] == ["Ben"]
        assert (ledger.entry(1).person, ledger.pending()) == ("Ada", [])
    assert ada.verify() == ben.verify()


def test_who_says_nothing_is_known_by_the_login(
    locations: Callable[[], Location], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of the system; on a server the role of the database, whatever the process says of itself."""
    for name in ("USER", "LOGNAME", "LNAME", "USERNAME", "PGUSER"):
        monkeypatch.setenv(name, "mallory")
    location = locations()
    expected = "ada" if isinstance(location, str) else pwd.getpwuid(os.getuid()).pw_name
    ledger = opened(location)
    spend(ledger, "a")
    assert ledger.person == ledger.entry(1).person == expected != "mallory"


def test_a_user_without_a_name_is_known_by_a_number(monkeypatch: pytest.MonkeyPatch) -> None:
    """As in a container that runs under a number alone."""

    def nobody(uid: int) -> None:
        raise KeyError(uid)

    monkeypatch.setattr(pwd, "getpwuid", nobody)
    assert owner.login() == f"uid {os.getuid()}"


def test_a_python_that_knows_no_names_knows_a_user_by_a_number(monkeypatch: pytest.MonkeyPatch) -> None:
    assert owner.login() == pwd.getpwuid(os.getuid()).pw_name
    monkeypatch.setitem(sys.modules, "pwd", None)
    assert owner.login() == f"uid {os.getuid()}"


def test_when_a_process_was_born_is_unknown_where_no_program_can_be_started(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def refused(*given: object, **named: object) -> None:
        raise OSError("emscripten does not support processes.")

    assert owner._birth(os.getpid())
    monkeypatch.setattr(owner, "_PROC", tmp_path)
    monkeypatch.setattr(owner.subprocess, "run", refused)
    assert owner._birth(os.getpid()) is None


def test_the_login_of_a_server_is_who_logged_in_and_not_the_role_that_was_put_on(server: Server) -> None:
    location = server.url(server.schema())
    opened(location)
    with server.connect() as connection:
        connection.execute("ALTER ROLE ada SET role = 'analysts'")
        try:
            assert opened(location).person == "ada"
        finally:
            connection.execute("ALTER ROLE ada RESET role")


def test_a_person_is_no_part_of_a_key(location: Location) -> None:
    paid = session(location, person="Ada").release(BINS, dv.Dense(epsilon="1/4"))
    again = session(location, person="Ben")
    assert again.person == "Ben"
    assert again.release(BINS, dv.Dense(epsilon="1/4")).to_json() == paid.to_json()
    assert [entry.person for entry in again.ledger.entries()] == ["Ada"]


def test_rows_without_a_person_are_read_as_before(location: Location) -> None:
    with before_persons():
        ledger = opened(location)
        spend(ledger, "a")
        ledger.charge(key("tape"), BODY, admit, opens=FIRST)
        ledger.reserve(2, key("b"), ASKS, less(10))
        ledger.raise_budget(MORE, widened)
    again = Ledger.open(location, charter={**CHARTER, "budget": MORE}, account={}, person="Ada")
    assert [entry.person for entry in again.entries()] == ["", ""]
    assert [use.person for use in again.uses(2)] == [""]
    assert [(found.person, found.reason) for found in again.raises()] == [("", "")]
    spend(again, "c")
    assert again.entry(3).person == "Ada"
    assert again.verify().charges == 3


class Loud(str):
    def __repr__(self) -> str:
        return "7919"


@on_a_file
@pytest.mark.parametrize("person", ["", "   ", "x" * 101, 7919, "\ud800", ["7919"], pd.Series(["7919"]), b"7919"])
def test_a_person_is_a_short_text(location: Path, person: object) -> None:
    with pytest.raises(ParameterError, match="person must be a text of 1 to 100 characters") as refused:
        session(location, person=person)
    assert ("7919" in str(refused.value)) is (type(person) is int)  # a number that somebody typed is told
    assert not location.exists()


# ---------------------------------------------------------------- why


def test_a_raise_keeps_its_reason_and_raises_are_told_in_order(location: Location) -> None:
    it = session(location, person="Ada")
    it.raise_budget(dv.Budget(epsilon="3", delta="1e-6"), reason="second survey wave")
    it.release(BINS, dv.Dense(epsilon="1/4"))
    it.raise_budget(dv.Budget(epsilon="4", delta="1e-6"))
    told = [(found.budget["epsilon"], found.person, found.reason) for found in it.ledger.raises()]
    assert told == [("3", "Ada", "second survey wave"), ("4", "Ada", "")]
    assert all(found.at.endswith("Z") for found in it.ledger.raises())
    rows = it.ledger.verify().rows
    it.raise_budget(dv.Budget(epsilon="4", delta="1e-6"), reason="again")  # in force already: nothing is written
    assert it.ledger.verify().rows == rows


@on_a_file
@pytest.mark.parametrize("reason", ["", " \n", "x" * 501, 7919, "\ud800", ["7919"], pd.DataFrame({"x": ["7919"]})])
def test_a_reason_is_a_text_of_at_most_500_characters(location: Path, reason: Any) -> None:
    it = session(location)
    with pytest.raises(ParameterError, match="reason must be a text of 1 to 500 characters") as refused:
        it.raise_budget(dv.Budget(epsilon="3", delta="1e-6"), reason=reason)
    assert ("7919" in str(refused.value)) is (type(reason) is int)
    assert it.ledger.raises() == []
    it.raise_budget(dv.Budget(epsilon="3", delta="1e-6"), reason="x" * 500)
    assert [len(found.reason) for found in it.ledger.raises()] == [500]


def test_colleagues_are_told_the_new_budget_and_not_to_raise_it_again(location: Location) -> None:
    session(location, person="Ada").raise_budget(dv.Budget(epsilon="3", delta="1e-6"), reason="second survey wave")
    with pytest.raises(
        CharterMismatch, match="the budget of this ledger was raised to ε 3, δ 0.000001 by Ada on "
    ) as no:
        session(location, person="Ben")
    in_our_words(no.value)
    assert no.value.next_step == 'open it with dv.Budget(epsilon="3", delta="0.000001")'
    assert "raise_budget" not in str(no.value)
    assert "on 20" in str(no.value)
    assert session(location, epsilon="3").remaining.epsilon == 3
    session(location, epsilon="3").raise_budget(dv.Budget(epsilon="5", delta="1e-6"))
    for once in ("2", "3"):  # whichever was in force before
        with pytest.raises(CharterMismatch, match="was raised to ε 5"):
            session(location, epsilon=once)
    with pytest.raises(CharterMismatch) as other:  # never in force
        session(location, epsilon="4")
    assert other.value.next_step.startswith('open it with dv.Budget(epsilon="5", delta="0.000001"), then call session.')


def test_a_raise_before_persons_is_told_without_one(location: Location) -> None:
    with before_persons():
        session(location).raise_budget(dv.Budget(epsilon="3", delta="1e-6"))
    with pytest.raises(CharterMismatch, match="was raised to ε 3, δ 0.000001 on 20"):
        session(location)


def test_a_conflict_shows_both_charters_part_by_part(location: Location) -> None:
    charter: dict[str, object] = {**CHARTER, "dataset": "flights", "unit": {"of": "age"}, "budget": MORE}
    opened(location)
    with pytest.raises(CharterMismatch) as refused:
        Ledger.open(location, charter=charter, account={"spent": "0", "budget": "1"})
    error = refused.value
    in_our_words(error)
    assert error.rule == "a ledger belongs to one dataset and unit"
    for said in ('dataset is "visits" in the ledger and "flights" here', 'of is "row" in the ledger and "age" here'):
        assert said in error.value
    assert set(error.theirs) == set(error.yours) == {"dataset", "schema", "unit", "budget"}
    for text in (*error.theirs.values(), *error.yours.values()):
        assert text in str(error)
    assert (error.theirs["dataset"], error.yours["dataset"]) == ("visits", "flights")
    assert (error.theirs["budget"], error.yours["budget"]) == ("(ε 2, δ 0)", "(ε 3, δ 0)")


@pytest.mark.parametrize("wrong", ["ledger", "unit"])
@on_a_file
def test_a_conflict_of_sessions_names_what_was_declared(location: Path, wrong: str) -> None:
    frame = pd.DataFrame({"x": [0, 1], "who": ["7919", "7907"]})
    dv.Session(frame, dv.Unit("row"), dv.Budget(epsilon="2"), location, dataset="visits")
    unit = dv.Unit("who") if wrong == "unit" else dv.Unit("row")
    with pytest.raises(CharterMismatch) as refused:
        dv.Session(frame, unit, dv.Budget(epsilon="2"), location, dataset="visits" if wrong == "unit" else "other")
    assert "7919" not in str(refused.value) + repr(refused.value.theirs) + repr(refused.value.yours)
    assert refused.value.yours["dataset"] in ("visits", "other")


# ---------------------------------------------------------------- shown


def test_show_lists_raises_with_person_and_reason_and_who_made_each_entry(
    location: Location, capsys: pytest.CaptureFixture[str]
) -> None:
    ada, ben = opened(location, person="Ada\x1b[2J"), opened(location, person="Ben")
    spend(ada, "a")
    ada.raise_budget(MORE, widened, reason="second survey wave\x07")
    ben.charge(key("tape"), BODY, admit, opens=FIRST)
    ben.reserve(2, key("b"), ASKS, less(10))
    assert cli.main(["ledger", "show", str(location)]) == 0
    shown = capsys.readouterr().out
    (raised,) = [line for line in shown.splitlines() if line.startswith("raised")]
    assert "by Ada" in raised
    assert "to epsilon 3, delta 0: second survey wave" in raised
    entries = [line for line in shown[: shown.index("entry 2 is open")].splitlines() if line.startswith(("1 ", "2 "))]
    assert ["Ada" in line for line in entries] == [True, False]
    assert ["Ben" in line for line in entries] == [False, True]
    assert "Ben" in shown[shown.index("entry 2 is open") :]
    assert "\x1b" not in shown
    assert "\x07" not in shown
    assert "nobody proves it" in shown
    assert cli.main(["ledger", "show", str(location), "--json"]) == 0
    record = json.loads(capsys.readouterr().out)
    assert [entry["person"] for entry in record["entries"]] == ["Ada\x1b[2J", "Ben"]
    assert [use["person"] for use in record["entries"][1]["uses"]] == ["Ben"]
    (found,) = record["raises"]
    assert (found["budget"], found["person"], found["reason"]) == (MORE, "Ada\x1b[2J", "second survey wave\x07")
    assert found["at"].endswith("Z")


def test_show_says_of_old_rows_that_nobody_is_stated(location: Location, capsys: pytest.CaptureFixture[str]) -> None:
    with before_persons():
        ledger = opened(location)
        spend(ledger, "a")
        ledger.raise_budget(MORE, widened)
    assert cli.main(["ledger", "show", str(location)]) == 0
    shown = capsys.readouterr().out
    assert "by not stated, to epsilon 3, delta 0\n" in shown
    assert [line.split()[3:5] for line in shown.splitlines() if line.startswith("1 ")] == [["not", "stated"]]


def test_a_page_is_told_persons_and_raises(location: Location) -> None:
    it = session(location, person="Ada")
    it.release(BINS, dv.Dense(epsilon="1/4"))
    it.raise_budget(dv.Budget(epsilon="3", delta="1e-6"), reason="second survey wave")
    state = session_state(it, {})
    assert [entry["person"] for entry in state["entries"]] == ["Ada"]
    (found,) = state["raises"]
    assert found == {
        "at": it.ledger.raises()[0].at,
        "budget": "ε 3, δ 0.000001",
        "person": "Ada",
        "reason": "second survey wave",
    }


@on_a_file
def test_a_report_names_people_only_when_asked(location: Path, tmp_path: Path) -> None:
    it = session(location, person="Ada Lovelace")
    releases = [it.release(BINS, dv.Dense(epsilon="1/4")), it.release(BINS, dv.Dense(epsilon="1/4"), key="b")]
    it.raise_budget(dv.Budget(epsilon="3", delta="1e-6"), reason="second <b>survey</b> wave")
    silent = pages.unpacked(dv.report(releases, tmp_path / "silent.html", ledger=it))
    assert "Lovelace" not in silent
    assert "survey" not in silent
    told = dv.report(releases, tmp_path / "told.html", ledger=it, people=True).read_text()
    assert "Asked for by Ada Lovelace (entry 1, entry 2)" in told
    assert "The budget was raised to ε 3, δ 0.000001 by Ada Lovelace on 20" in told
    assert "<b>survey" not in told
    assert dv.report(releases, tmp_path / "own.html", people=True).read_text() == told
    loaded = [dv.load(release.save(tmp_path / "a.json")) for release in releases]
    for items, people in ((loaded, True), (releases, "yes")):
        with pytest.raises(ParameterError, match="people must be True or False"):
            dv.report(items, tmp_path / "none.html", people=people)  # type: ignore[arg-type]
    assert not (tmp_path / "none.html").exists()


# ---------------------------------------------------------------- a key that is busy or lost


def test_what_is_lost_or_busy_is_named_with_entry_key_and_next_step(location: Location) -> None:
    body = {**BODY, "user_key": "wave 2"}
    ledger, other = opened(location), opened(location)
    ledger.charge(key("a"), body, admit)
    with pytest.raises(SessionBusy, match=r'entry 1 \(key "wave 2"\)') as busy:
        other.charge(key("a"), body, admit)
    ledger.close(1, "cancelled")
    with pytest.raises(ReleaseLost, match='entry 1, key "wave 2", was charged .* was cancelled') as lost:
        ledger.charge(key("a"), body, admit)
    ledger.charge(key("tape"), BODY, admit, opens=FIRST)
    ledger.reserve(2, key("b"), {**ASKS, "user_key": "again"}, less(10))
    ledger.fail_use(2, 1, "failed")
    with pytest.raises(ReleaseLost, match='use 1 of entry 2, key "again", was charged .* failed') as use:
        ledger.reserve(2, key("b"), ASKS, less(10))
    for refused in (busy.value, lost.value, use.value):
        assert refused.next_step
        assert refused.next_step in str(refused)
        assert "key" in refused.value
    spend(ledger, "c")
    ledger.close(ledger.charge(key("d"), BODY, admit).number, "failed")
    with pytest.raises(ReleaseLost, match="entry 4 was charged"):  # without a key of the analyst's own
        ledger.charge(key("d"), BODY, admit)
