"""A charge asks a database for what it needs and for nothing twice; no times are measured here."""

from __future__ import annotations

import sqlite3
from collections import Counter
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias

import pytest

from dpviz.errors import LedgerCorrupt, LedgerReadOnly
from dpviz.session.ledger import Ledger, sqlite
from dpviz.session.ledger.spending import Spending
from tests.ledger.server import ANALYST, Server
from tests.ledger.test_uses import ASKS, FIRST, less
from tests.ledger.tools import BODY, admit, edit, key, opened, spend, sql

Statements: TypeAlias = Callable[[Callable[[], object]], list[str]]
"""What a database was asked for during a call."""

ROUNDS = 8
"""More than the five uses after which the driver of PostgreSQL prepares a statement."""


def asked_of_a_file(monkeypatch: pytest.MonkeyPatch) -> Statements:
    heard: list[str] = []
    usual = sqlite._open

    def open_(path: Path, how: str) -> sqlite3.Connection:
        connection = usual(path, how)
        connection.set_trace_callback(heard.append)
        return connection

    monkeypatch.setattr(sqlite, "_open", open_)

    def during(call: Callable[[], object]) -> list[str]:
        heard.clear()
        call()
        return list(heard)

    return during


def asked_of(server: Server) -> Statements:
    log = server.folder / "log"

    def during(call: Callable[[], object]) -> list[str]:
        before = log.stat().st_size
        call()
        lines = log.read_bytes()[before:].decode().splitlines()
        return [line for line in lines if "LOG:  statement:" in line or "LOG:  execute" in line]

    return during


def within(spending: Spending, *_: object) -> None:
    """A cap, which costs no question to the database however much was charged before."""
    assert set(spending.of("name", "Ana")) <= {"spent"}


def acts(ledger: Ledger) -> dict[str, Callable[[int], object]]:
    """A charge, its outcome, a use and its outcome; each for one round."""
    spend(ledger, "a")
    opens = ledger.charge(key("tape"), BODY, admit, opens=FIRST).number
    capped = ledger.for_caller({"name": "Ana", "project": "births", "proof": ""}, within)
    return {
        "charge": lambda turn: ledger.charge(key(turn), BODY, admit),
        "finish": lambda turn: ledger.finish(opens + 1 + turn, b"an answer"),
        "capped": lambda turn: capped.charge(key(f"Ana's {turn}"), BODY, admit),
        "reserve": lambda turn: ledger.reserve(opens, key(turn), ASKS, less(2)),
        "settle": lambda turn: ledger.settle(opens, 1 + turn, b"an answer", less(-1)),
    }


def test_a_file_is_asked_for_nothing_twice_in_one_write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = asked_of_a_file(monkeypatch)
    for name, act in acts(opened(tmp_path / "visits.ledger")).items():
        for turn in range(ROUNDS):
            statements = asked(lambda: act(turn))  # noqa: B023
            assert 8 < len(statements) <= 13, (name, statements)
            assert max(Counter(statements).values()) == 1, (name, statements)


def test_a_server_is_asked_six_times_for_a_charge_and_seven_times_for_a_use(server: Server) -> None:
    schema = server.schema()
    opened(server.url(schema))
    server.let_in(schema)
    asked = asked_of(server)
    with server.connect() as connection:
        connection.execute(f"ALTER ROLE {ANALYST} SET log_statement = 'all'")
    try:
        heard = {
            name: [len(asked(lambda: act(turn))) for turn in range(ROUNDS)]  # noqa: B023
            for name, act in acts(opened(server.url(schema))).items()
        }
    finally:
        with server.connect() as connection:
            connection.execute(f"ALTER ROLE {ANALYST} RESET log_statement")
    assert heard == {"charge": [6] * 8, "finish": [6] * 8, "capped": [6] * 8, "reserve": [7] * 8, "settle": [7] * 8}


ALTERED = """
CREATE FUNCTION alter_it() RETURNS trigger LANGUAGE plpgsql AS
    'BEGIN NEW.body := replace(NEW.body, ''"spent":"2"'', ''"spent":"1"''); RETURN NEW; END';
CREATE TRIGGER alter_it BEFORE INSERT ON chain FOR EACH ROW EXECUTE FUNCTION alter_it()
"""


@pytest.mark.parametrize("locations", ["postgresql"], indirect=True)
def test_a_charge_that_a_server_stores_otherwise_than_it_was_written_is_not_drawn(location: Any) -> None:
    ledger = opened(location)
    spend(ledger, "a")
    edit(location, ALTERED)
    with pytest.raises(LedgerCorrupt, match="row 4"):
        ledger.charge(key("b"), BODY, admit)
    assert sql(location, "SELECT count(*) FROM chain") == [(3,)]
    assert ledger.account["spent"] == "1"


def test_a_row_of_ones_own_that_was_changed_afterwards_is_noticed(location: Any) -> None:
    """It is not read back after each write, so what was written and what stands there are compared by their hashes."""
    ledger = opened(location)
    spend(ledger, "a")
    edit(location, "UPDATE chain SET hash = replace(hash, substr(hash, 1, 1), 'x') WHERE seq = 3")
    for act in (lambda: ledger.charge(key("b"), BODY, admit), lambda: ledger.answer(1), ledger.verify):
        with pytest.raises(LedgerCorrupt):
            act()


LOCKS = "pg_try_advisory_xact_lock(bigint), pg_advisory_xact_lock(bigint)"


def test_a_lock_that_a_role_may_not_take_is_refused_like_any_other_right_that_it_lacks(server: Server) -> None:
    """The server says no in the same breath in which it says that it is there: it is not taken for one that is away."""
    schema = server.schema()
    location = server.url(schema)
    ledger = opened(location)
    spend(ledger, "a")
    with server.connect() as connection:
        connection.execute(f"REVOKE EXECUTE ON FUNCTION {LOCKS} FROM PUBLIC")
    try:
        with pytest.raises(LedgerReadOnly):
            ledger.charge(key("b"), BODY, admit)
        assert ledger.answer(1) == b"the answer to a"
    finally:
        with server.connect() as connection:
            connection.execute(f"GRANT EXECUTE ON FUNCTION {LOCKS} TO PUBLIC")
    spend(ledger, "b")
    assert ledger.account["spent"] == "2"


def test_a_long_answer_is_no_parameter_of_a_statement(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """SQLite copies a parameter, and the driver keeps the copy; a trace shows each statement with its parameters."""
    during = asked_of_a_file(monkeypatch)
    ledger = opened(tmp_path / "long.ledger")
    longest = {}
    for size in (2**20, 2**20 + 1):
        number = ledger.charge(key(str(size)), BODY, admit).number
        longest[size] = max(map(len, during(partial(ledger.finish, number, b"\xff" * size))))
        assert ledger.answer(number) == b"\xff" * size
    assert longest[2**20] > 2**20 > 10_000 > longest[2**20 + 1]
