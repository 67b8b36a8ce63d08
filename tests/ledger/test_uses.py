"""One charge, many answers: an entry that is open, what its uses reserve, and what is given back."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from dpviz.errors import (
    BudgetExceeded,
    LedgerCorrupt,
    LedgerError,
    LedgerFormat,
    ParameterError,
    ReleaseLost,
    SessionBusy,
)
from dpviz.session.ledger import Ledger, Step, UseRecord
from dpviz.session.ledger.chain import Row, State
from tests.killing import Call
from tests.ledger.test_ledger import elsewhere
from tests.ledger.tools import (
    BODY,
    CHARTER,
    Location,
    admit,
    as_owner,
    edit,
    exists,
    key,
    on_a_file,
    opened,
    spend,
    sql,
)
from tests.patience import until

FIRST = {"symbols": "50", "questions": "20"}
ASKS = {"question": "top 10 of aircraft", "k": 10, "price": {"text": "10 symbols"}}


@pytest.fixture
def ledger(location: Location) -> Ledger:
    ledger = opened(location)
    ledger.charge(key("tape"), BODY, admit, opens=FIRST)
    return ledger


def less(symbols: int, questions: int = 1) -> Any:
    """A sub-account with so much less, refused where there is not enough."""

    def after(sub: Mapping[str, str]) -> dict[str, str]:
        left = {"symbols": int(sub["symbols"]) - symbols, "questions": int(sub["questions"]) - questions}
        if min(left.values()) < 0:
            raise BudgetExceeded("nothing is left", value=str(symbols), rule="a use must fit", next_step="stop")
        return {name: str(number) for name, number in left.items()}

    return after


def ask(ledger: Ledger, name: object, *, asks: int = 10, got: int = 3) -> UseRecord:
    """Reserve, draw, give back what did not come."""
    use = ledger.reserve(1, key(name), ASKS, less(asks))
    return ledger.settle(1, use.number, f"the answer to {name}".encode(), less(got - asks, 0))


def test_an_entry_is_charged_and_open_in_one_step_and_found_again(location: Location, ledger: Ledger) -> None:
    entry = ledger.entry(1)
    assert (entry.status, entry.body, ledger.account["spent"]) == ("open", BODY, "1")
    head = ledger.head()
    assert ledger.charge(key("tape"), BODY, admit, opens=FIRST) == entry
    assert ledger.charge(key("tape"), BODY, admit, retry=True) == entry
    assert (ledger.head(), ledger.sub_account(1), ledger.uses(1)) == (head, FIRST, [])
    assert opened(location).sub_account(1) == FIRST
    assert ledger.pending() == []
    with pytest.raises(LedgerError, match="it is open"):
        ledger.answer(1)
    with pytest.raises(LedgerError, match="entry 1 is open for uses"):
        ledger.finish(1, b"x")


def test_a_use_reserves_before_it_is_drawn_and_gives_back_with_its_answer(location: Location, ledger: Ledger) -> None:
    use = ledger.reserve(1, key("a"), ASKS, less(10))
    assert (use.entry, use.number, use.status, use.mine, use.body) == (1, 1, "pending", True, ASKS)
    assert opened(location).sub_account(1) == {"symbols": "40", "questions": "19"}
    done = ledger.settle(1, 1, b"three and an end", less(4 - 10, 0))
    assert (done.status, done.mine, done.number) == ("done", False, 1)
    again = opened(location)
    assert again.sub_account(1) == {"symbols": "46", "questions": "19"}
    assert again.use_answer(1, 1) == b"three and an end"
    assert again.uses(1) == [done] == [again.use(1, 1)] == [again.find_use(1, key("a"))]
    assert again.account["spent"] == "1"
    assert again.verify() == ledger.verify()
    assert ledger.verify().uses == {"done": 1}


def test_the_same_key_is_used_once_in_an_entry_and_anew_in_another(ledger: Ledger) -> None:
    ask(ledger, "a")
    head = ledger.head()
    for retry in (False, True):
        found = ledger.reserve(1, key("a"), {"another": "body"}, less(1000), retry=retry)
        assert (found.number, found.status, found.body) == (1, "done", ASKS)
    assert ledger.head() == head
    ledger.charge(key("second tape"), BODY, admit, opens={"left": "3"})
    use = ledger.reserve(2, key("a"), ASKS, lambda sub: {"left": "2"})
    assert (use.entry, use.number, use.status) == (2, 1, "pending")
    assert (ledger.sub_account(1)["symbols"], ledger.sub_account(2)) == ("47", {"left": "2"})
    ledger.settle(2, 1, b"another", dict)
    assert (ledger.use_answer(1, 1), ledger.use_answer(2, 1)) == (b"the answer to a", b"another")


def test_a_refused_reserve_writes_nothing(ledger: Ledger) -> None:
    ask(ledger, "a", asks=50, got=45)
    head = ledger.head()
    with pytest.raises(BudgetExceeded):
        ledger.reserve(1, key("b"), ASKS, less(10))
    for wrong in ({"symbols": "1"}, {**FIRST, "more": "1"}, {"symbols": 1, "questions": "1"}):
        with pytest.raises(ParameterError):
            ledger.reserve(1, key("b"), ASKS, lambda sub, wrong=wrong: wrong)
    with pytest.raises(ParameterError, match="a key is a digest"):
        ledger.reserve(1, "b", ASKS, less(1))
    assert (ledger.head(), ledger.find_use(1, key("b"))) == (head, None)
    assert ask(ledger, "b", asks=5, got=5).number == 2
    assert ledger.sub_account(1) == {"symbols": "0", "questions": "18"}


def test_an_adjustment_that_fails_leaves_what_was_reserved_used(ledger: Ledger) -> None:
    ledger.reserve(1, key("a"), ASKS, less(10))
    with pytest.raises(ZeroDivisionError):
        ledger.settle(1, 1, b"x", lambda sub: {"symbols": str(1 // 0)})
    assert ledger.sub_account(1)["symbols"] == "40"
    with pytest.raises(ReleaseLost, match="use 1 of entry 1 was charged for 10 symbols and its draw was lost"):
        ledger.reserve(1, key("a"), ASKS, less(10))
    assert ledger.reserve(1, key("a"), ASKS, less(10), retry=True).number == 2
    assert ledger.sub_account(1) == {"symbols": "30", "questions": "18"}
    assert ledger.verify().uses == {"lost": 1, "pending": 1}


@pytest.mark.parametrize("status", ["cancelled", "failed"])
def test_a_use_that_came_to_nothing_gives_nothing_back(ledger: Ledger, status: Any) -> None:
    ledger.reserve(1, key("a"), ASKS, less(10))
    assert ledger.fail_use(1, 1, status).status == status
    assert ledger.sub_account(1) == {"symbols": "40", "questions": "19"}
    with pytest.raises(ReleaseLost):
        ledger.reserve(1, key("a"), ASKS, less(10))
    with pytest.raises(ReleaseLost):
        ledger.settle(1, 1, b"late", less(0, 0))
    with pytest.raises(ParameterError):
        ledger.fail_use(1, 1, "done")  # type: ignore[arg-type]
    assert ledger.reserve(1, key("a"), ASKS, less(10), retry=True).number == 2
    ledger.settle(1, 2, b"second draw", less(0, 0))
    assert ledger.use_answer(1, 2) == b"second draw"
    assert ledger.reserve(1, key("a"), ASKS, less(10)).number == 2


def test_a_use_is_settled_once(ledger: Ledger) -> None:
    ask(ledger, "a")
    left, head = ledger.sub_account(1), ledger.head()
    assert ledger.settle(1, 1, b"the answer to a", less(-7, 0)).status == "done"  # repeated, as after a lost word
    with pytest.raises(LedgerError, match="has its answer already"):
        ledger.settle(1, 1, b"another answer", less(-7, 0))
    assert (ledger.sub_account(1), ledger.head()) == (left, head)


def test_uses_that_overlap_each_change_the_present_account(ledger: Ledger) -> None:
    for name in ("a", "b"):
        ledger.reserve(1, key(name), ASKS, less(10))
    ledger.settle(1, 2, b"b", less(-9, 0))
    ledger.reserve(1, key("c"), ASKS, less(10))
    ledger.settle(1, 1, b"a", less(-1, 0))
    spend(ledger, "a release beside it")
    ledger.settle(1, 3, b"c", less(-10, 0))
    assert ledger.sub_account(1) == {"symbols": "40", "questions": "17"}
    assert [use.status for use in ledger.uses(1)] == ["done"] * 3
    ledger.verify()


@pytest.mark.parametrize("size", [10, 100_000])
def test_answers_of_uses_are_kept_as_those_of_charges(ledger: Ledger, size: int) -> None:
    use = ledger.reserve(1, key("a"), ASKS, less(1))
    ledger.settle(1, use.number, b"z" * size, less(0, 0))
    assert ledger.use_answer(1, use.number) == b"z" * size
    assert ledger.verify().blobs == (size > 64 * 1024)


def test_only_an_open_entry_has_uses(ledger: Ledger) -> None:
    spend(ledger, "done")
    ledger.charge(key("pending"), BODY, admit)
    for number in (2, 3):
        for act in (
            lambda n: ledger.reserve(n, key("a"), ASKS, less(1)),
            lambda n: ledger.sub_account(n),
            lambda n: ledger.uses(n),
            lambda n: ledger.find_use(n, key("a")),
        ):
            with pytest.raises(LedgerError, match=f"entry {number} is (done|pending), and only an entry that is open"):
                act(number)
    for act in (lambda: ledger.use(1, 1), lambda: ledger.use_answer(1, 1), lambda: ledger.settle(1, 1, b"", dict)):
        with pytest.raises(ParameterError, match="number of a reserve"):
            act()
    with pytest.raises(ParameterError, match="number of a charge"):
        ledger.reserve(4, key("a"), ASKS, less(1))


# ---------------------------------------------------------------- other kernels


def test_what_another_kernel_draws_is_busy_and_lost_with_it(location: Location, ledger: Ledger) -> None:
    other = opened(location, owner=elsewhere())
    other.reserve(1, key("a"), ASKS, less(10))
    with pytest.raises(SessionBusy, match="use 1 of entry 1"):
        ledger.reserve(1, key("a"), ASKS, less(10), retry=True)
    with pytest.raises(LedgerError, match="drawn by another kernel"):
        ledger.settle(1, 1, b"x", less(0, 0))
    edit(location, "UPDATE draw SET until = 0")
    assert [use.status for use in ledger.uses(1)] == ["lost"]
    other.renew(1, 1)
    assert [use.status for use in ledger.uses(1)] == ["pending"]
    edit(location, "UPDATE draw SET until = 0")
    assert ledger.reserve(1, key("a"), ASKS, less(10), retry=True).number == 2
    for late in (lambda: other.settle(1, 1, b"late", less(-10, 0)), lambda: other.renew(1, 1)):
        with pytest.raises(ReleaseLost, match="use 1 of entry 1"):
            late()
    ledger.settle(1, 2, b"in time", less(-9, 0))
    assert other.use_answer(1, other.reserve(1, key("a"), ASKS, less(10)).number) == b"in time"
    assert ledger.sub_account(1) == {"symbols": "39", "questions": "18"}
    assert ledger.verify().uses == {"lost": 1, "done": 1}


def test_a_killed_kernel_loses_its_use_and_all_it_reserved(location: Location) -> None:
    def work() -> None:
        mine = opened(location)
        mine.charge(key("tape"), BODY, admit, opens=FIRST)
        mine.reserve(1, key("a"), ASKS, less(10))
        threading.Event().wait()

    opened(location)
    kernel = Call(work)
    until(lambda: exists(location) and Ledger.read(location).entries() != [] and Ledger.read(location).uses(1) != [])
    ledger = opened(location)
    assert [use.status for use in ledger.uses(1)] == ["pending"]
    kernel.kill()
    until(lambda: ledger.uses(1)[0].status == "lost")
    with pytest.raises(ReleaseLost):
        ledger.reserve(1, key("a"), ASKS, less(10))
    assert ledger.sub_account(1) == {"symbols": "40", "questions": "19"}
    assert ledger.charge(key("tape"), BODY, admit, opens=FIRST).status == "open"


def test_kernels_that_share_a_sub_session_use_all_of_it_and_no_more(location: Location, ledger: Ledger) -> None:
    def kernel(name: int) -> list[str]:
        mine, said = opened(location), []
        for step in range(10):
            try:
                ask(mine, (name, step), asks=10, got=5)
                said.append("paid")
            except BudgetExceeded:
                said.append("refused")
        return said

    kernels = [Call(lambda name=name: kernel(name)) for name in range(4)]
    said = [word for one in kernels for word in one.result()]
    left = ledger.sub_account(1)
    assert int(left["symbols"]) == 50 - 5 * said.count("paid") < 10
    assert int(left["questions"]) == 20 - said.count("paid")
    assert ledger.verify().uses == {"done": said.count("paid")}


def test_no_use_is_lost_or_double_when_many_threads_ask(ledger: Ledger) -> None:
    said: list[str] = []

    def one() -> None:
        try:
            said.append(ledger.reserve(1, key("a"), ASKS, less(10)).status)
        except SessionBusy:
            said.append("busy")

    threads = [threading.Thread(target=one) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(said) == ["busy"] * 5 + ["pending"]
    assert ledger.sub_account(1)["symbols"] == "40"


# ---------------------------------------------------------------- what verify finds


def follow(location: Location, kind: str, **parts: Any) -> None:
    """Append a row with a fitting hash that no ledger would write, and derive the index anew."""
    last = Row.read(sql(location, "SELECT * FROM chain ORDER BY seq DESC LIMIT 1")[0])
    state = parts.pop("state", last.state)
    row = Row.after(last, kind, state, **parts)
    edit(location, "INSERT INTO chain VALUES (?, ?, ?, ?, ?)", row.seq, kind, row.body, row.previous, row.hash)
    Ledger.rebuild_index(location)


SUB = {"symbols": "30", "questions": "18"}
RESERVE = {"entry": 1, "number": 3, "key": key("c"), "reserve": ASKS, "sub": SUB}
SETTLE = {"entry": 1, "number": 2, "status": "done", "answer": {"text": "x"}, "sub": SUB}
RICHER = State({"spent": "0", "budget": "100"}, 2, 1)

BROKEN = [
    ("reserve", {"number": 2}, "reserves use 2 of entry 1 out of turn"),
    ("reserve", {"number": 4}, "out of turn"),
    ("reserve", {"entry": 2, "number": 1}, "entry 2, which is not open"),
    ("reserve", {"entry": 9, "number": 1}, "entry 9, which is not open"),
    ("reserve", {"key": key("a")}, "whose use 1 is pending or done"),
    ("reserve", {"key": key("b")}, "whose use 2 is pending or done"),
    ("reserve", {"sub": {"symbols": "1"}}, "a sub-account with other parts"),
    ("reserve", {"sub": {"symbols": 1, "questions": "1"}}, "lacks a part"),
    ("reserve", {"sub": None}, "lacks a part"),
    ("reserve", {"reserve": ...}, "lacks a part"),
    ("reserve", {"state": RICHER}, "changes the account"),
    ("settle", {"number": 1}, "settles use 1 of entry 1, which is not open to it"),
    ("settle", {"number": 3}, "settles use 3"),
    ("settle", {"entry": 2}, "entry 2, which is not open"),
    ("settle", {"status": "open"}, "settles use 2"),
    ("settle", {"status": "failed"}, "settles use 2"),
    ("settle", {"answer": ...}, "settles use 2"),
    ("settle", {"status": "lost", "answer": ..., "sub": FIRST}, "gives back something for a use without an answer"),
    ("settle", {"sub": {"symbols": "1"}}, "a sub-account with other parts"),
    ("settle", {"state": RICHER}, "changes the account"),
    ("outcome", {"number": 1, "status": "open", "sub": FIRST}, "closes entry 1"),
    ("outcome", {"number": 1, "status": "failed"}, "closes entry 1"),
]


@on_a_file
@pytest.mark.parametrize(("kind", "change", "said"), BROKEN)
def test_rows_that_hang_together_and_say_what_cannot_be_are_found(
    location: Location, ledger: Ledger, kind: str, change: dict[str, Any], said: str
) -> None:
    ask(ledger, "a")
    ledger.reserve(1, key("b"), ASKS, less(17))
    spend(ledger, "release")
    assert ledger.sub_account(1) == SUB
    usual = {"reserve": RESERVE, "settle": SETTLE, "outcome": {}}[kind]
    parts = {name: part for name, part in (usual | change).items() if part is not ...}
    with pytest.raises(LedgerCorrupt, match=said):
        follow(location, kind, **parts)


@on_a_file
@pytest.mark.parametrize(("kind", "parts"), [("reserve", RESERVE), ("settle", SETTLE)])
def test_the_rows_that_are_broken_above_hold_as_they_are(
    location: Location, ledger: Ledger, kind: str, parts: dict[str, Any]
) -> None:
    ask(ledger, "a")
    ledger.reserve(1, key("b"), ASKS, less(17))
    spend(ledger, "release")
    follow(location, kind, **parts)
    assert ledger.verify().rows == 9


def test_a_check_that_knows_the_arithmetic_finds_symbols_from_nowhere(ledger: Ledger) -> None:
    def check(step: Step) -> bool:
        if step.kind not in ("reserve", "settle"):
            return True
        assert step.body == BODY
        more = int(step.after["symbols"]) - int(step.before["symbols"])
        return more <= 0 if step.kind == "reserve" else 0 <= more <= 10

    ask(ledger, "a")
    ledger.verify(check=check)
    ask(ledger, "b", asks=10, got=-30)
    ledger.verify()
    with pytest.raises(LedgerCorrupt, match="does not follow from the one before"):
        ledger.verify(check=check)


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE use SET status = 'done' WHERE number = 2",
        "UPDATE use SET key = 'x' WHERE number = 1",
        "UPDATE use SET charge = charge - 1 WHERE number = 1",
        "UPDATE use SET outcome = outcome - 1 WHERE number = 1",
        "UPDATE use SET entry = 7 WHERE number = 1",
        "UPDATE use SET number = 3 WHERE number = 2",
        "DELETE FROM use WHERE number = 2",
        "UPDATE entry SET status = 'done' WHERE number = 1",
    ],
)
def test_the_index_of_uses_is_checked_and_derived_anew(location: Location, ledger: Ledger, change: str) -> None:
    ask(ledger, "a")
    ledger.reserve(1, key("b"), ASKS, less(1))
    held = ledger.verify()
    edit(location, change)
    with pytest.raises(LedgerCorrupt, match="index is wrong about"):
        ledger.verify()
    Ledger.rebuild_index(as_owner(location))
    assert Ledger.read(location).verify() == held
    assert Ledger.read(location).use_answer(1, 1) == b"the answer to a"


def test_an_index_that_points_at_another_answer_or_account_is_not_believed(location: Location, ledger: Ledger) -> None:
    ask(ledger, "a")
    ask(ledger, "b")
    edit(location, "UPDATE use SET outcome = (SELECT max(seq) FROM chain) WHERE number = 1")
    with pytest.raises(LedgerCorrupt, match="does not say of use 1 of entry 1 what the chain says"):
        ledger.use_answer(1, 1)
    ledger.charge(key("second"), BODY, admit, opens={"left": "1"})
    edit(location, "UPDATE use SET outcome = (SELECT max(seq) FROM chain) WHERE number = 1")
    with pytest.raises(LedgerCorrupt, match="for the sub-account of entry 1"):
        ledger.reserve(1, key("c"), ASKS, less(1))


def test_a_backup_has_the_uses(location: Location, ledger: Ledger, tmp_path: Path) -> None:
    ask(ledger, "a")
    held = ledger.backup(tmp_path / "copy.ledger")
    assert held == ledger.verify()
    copy = Ledger.read(tmp_path / "copy.ledger")
    assert (copy.use_answer(1, 1), copy.sub_account(1)) == (b"the answer to a", ledger.sub_account(1))


# ---------------------------------------------------------------- ledgers of format 1

FORMAT_1 = """
CREATE TABLE chain (seq INTEGER NOT NULL, kind VARCHAR(16) NOT NULL, body TEXT NOT NULL,
    previous VARCHAR(64) NOT NULL, hash VARCHAR(64) NOT NULL, PRIMARY KEY (seq), UNIQUE (previous));
CREATE TABLE blob (hash VARCHAR(64) NOT NULL, content BLOB NOT NULL, PRIMARY KEY (hash));
CREATE TABLE entry (number INTEGER NOT NULL, "key" VARCHAR(128) NOT NULL, status VARCHAR(16) NOT NULL,
    charge INTEGER NOT NULL, outcome INTEGER, closed VARCHAR(32), PRIMARY KEY (number));
CREATE INDEX ix_entry_key ON entry ("key");
CREATE UNIQUE INDEX one_answer_for_a_key ON entry ("key") WHERE status IN ('pending', 'done');
CREATE TABLE lease (number INTEGER NOT NULL, token VARCHAR(64) NOT NULL, place TEXT NOT NULL, pid BIGINT NOT NULL,
    born TEXT NOT NULL, until BIGINT NOT NULL, PRIMARY KEY (number));
"""


@pytest.fixture
def old(tmp_path: Path) -> Path:
    """A ledger as the version before wrote it: one answer, and one charge that is being drawn."""
    path = tmp_path / "old.ledger"
    state = State({"spent": "0", "budget": "100"}, 0, 1)
    rows = [Row.after(None, "charter", state, format=1, charter=CHARTER)]
    for number, name in ((1, "a"), (2, "b")):
        state = State({"spent": str(number), "budget": "100"}, number, 1)
        rows.append(Row.after(rows[-1], "charge", state, number=number, key=key(name), charge=BODY))
        if name == "a":
            rows.append(Row.after(rows[-1], "outcome", state, number=1, status="done", answer={"text": "old"}))
    closed = rows[2].content["at"]
    with sqlite3.connect(path) as connection:
        connection.executescript(FORMAT_1)
        for row in rows:
            values = (row.seq, row.kind, row.body, row.previous, row.hash)
            connection.execute("INSERT INTO chain VALUES (?, ?, ?, ?, ?)", values)
        connection.execute("INSERT INTO entry VALUES (1, ?, 'done', 2, 3, ?)", (key("a"), closed))
        connection.execute("INSERT INTO entry VALUES (2, ?, 'pending', 4, NULL, NULL)", (key("b"),))
    connection.close()
    return path


def test_a_ledger_of_format_1_is_read_as_it_is(old: Path, tmp_path: Path) -> None:
    before = old.read_bytes()
    looking = Ledger.read(old)
    assert looking.verify().statuses == {"done": 1, "pending": 1}
    assert (looking.answer(1), looking.entry(2).status) == (b"old", "lost")
    assert looking.backup(tmp_path / "copy.ledger") == looking.verify()
    assert old.read_bytes() == before


def test_a_ledger_of_format_1_is_charged_and_used_further(old: Path) -> None:
    ledger = opened(old)
    assert ledger.charge(key("a"), BODY, admit).number == 1
    assert ledger.charge(key("b"), BODY, admit, retry=True).number == 3
    ledger.finish(3, b"drawn anew")
    number = ledger.charge(key("tape"), BODY, admit, opens=FIRST).number
    ledger.reserve(number, key("c"), ASKS, less(10))
    ledger.settle(number, 1, b"new", less(-9, 0))
    again = opened(old)
    assert again.verify().statuses == {"done": 2, "lost": 1, "open": 1}
    assert (again.answer(1), again.use_answer(number, 1)) == (b"old", b"new")
    assert again.sub_account(number) == {"symbols": "49", "questions": "19"}


def test_a_dpviz_that_knows_format_1_only_refuses_a_new_ledger_by_name(
    location: Location, ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dpviz.session.ledger.rows.FORMAT", 1)
    with pytest.raises(LedgerFormat, match="upgrade dpviz"):
        opened(location)
