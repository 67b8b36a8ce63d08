"""What only a server can do to a ledger: die, come back, keep somebody out, lose the word on a commit."""

from __future__ import annotations

import gc
import itertools
import os
import random
import re
import signal
import socket
import sqlite3
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from fractions import Fraction
from pathlib import Path
from traceback import walk_tb
from typing import Any, TypeAlias

import pandas as pd
import psycopg
import pytest
from sqlalchemy.dialects.postgresql.psycopg import PGDialect_psycopg
from sqlalchemy.engine import make_url

import dpviz as dv
from dpviz import cli
from dpviz.errors import LedgerCorrupt, LedgerError, LedgerFormat, LedgerFull, LedgerReadOnly, ReleaseLost
from dpviz.session.ledger import Ledger, postgres, store
from dpviz.session.ledger import ledger as ledger_module
from tests.frames import is_ours
from tests.killing import Call
from tests.ledger.server import ANALYST, OWNER, PASSWORD, Server, here, statements
from tests.ledger.test_refusals import in_our_words
from tests.ledger.test_uses import ASKS, FIRST, less
from tests.ledger.tools import (
    BODY,
    CHARTER,
    admit,
    as_owner,
    behind_its_back,
    edit,
    key,
    names_port,
    opened,
    spend,
    sql,
    started,
)
from tests.patience import patience, until


@pytest.fixture
def schema(server: Server) -> str:
    return server.schema()


@pytest.fixture
def location(server: Server, schema: str) -> str:
    return server.url(schema)


@pytest.fixture(scope="module")
def second() -> Iterator[Server]:
    server = Server()
    try:
        yield server
    finally:
        server.remove()


@pytest.fixture
def mortal(second: Server) -> Iterator[Server]:
    """A server beside the shared one, which a test may kill."""
    second.start()
    try:
        yield second
    finally:
        second.kill()


# ---------------------------------------------------------------- killed in the middle

WRITERS, RELEASES = 8, 50


def write(location: str, name: int, home: Path, ready: int, over: Path) -> list[list[Any]]:
    """One writer's releases, and what it heard of each: every charge that was acknowledged, with its answer or not.

    It writes until the file `over` is there: however slow the test is, the server is killed in the middle.
    """
    os.environ["HOME"] = str(home)
    ledger, heard = opened(location, budget=10**6), []
    os.write(ready, b"x")
    for step in itertools.count():
        if step >= RELEASES and over.exists():
            break
        entry = ledger.charge(key((name, step)), BODY, admit)
        answer = f"{name} {step} drawn once by {os.getpid()} {random.random()}"
        ledger.finish(entry.number, answer.encode())
        heard.append([entry.number, step, answer])
        time.sleep(0.002)
    return heard


def test_a_server_killed_under_eight_writers_loses_nothing_and_overspends_nothing(
    mortal: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(store, "AWAY", 600.0)  # what counts here is what is lost, not when a writer gives up
    location = mortal.url(mortal.schema())
    opened(location, budget=10**6)
    reading, ready = os.pipe()
    homes, over = [tmp_path / name for name in ("one", "two")], tmp_path / "over"
    writers = [
        Call(lambda name=name: write(location, name, homes[name] if name < 2 else Path.home(), ready, over))
        for name in range(WRITERS)
    ]
    for _ in writers:
        os.read(reading, 1)
    ends, seen = (mortal.kill, mortal.stop, mortal.kill), 0
    for end in ends:
        until(lambda: sql(location, "SELECT max(seq) FROM chain")[0][0] > seen + 100)  # noqa: B023
        end()
        time.sleep(0.1)
        mortal.start()
        seen = sql(location, "SELECT max(seq) FROM chain")[0][0]
    until(lambda: sql(location, "SELECT max(seq) FROM chain")[0][0] > seen)
    over.touch()
    heard = {(name, step): (number, said) for name, one in enumerate(writers) for number, step, said in one.result()}
    os.close(reading)
    os.close(ready)
    ledger = opened(location, budget=10**6)
    verified = ledger.verify()
    assert verified.statuses == {"done": len(heard)}
    assert ledger.account["spent"] == str(len(heard))
    entries = {entry.number: entry for entry in ledger.entries()}
    assert len(entries) == len({entry.key for entry in entries.values()}) == len(heard) >= WRITERS * RELEASES
    for (name, step), (number, said) in heard.items():
        assert entries[number].key == key((name, step))
        assert ledger.answer(number).decode() == said
    assert 300 < seen < verified.rows, "the server was not killed in the middle"


# ---------------------------------------------------------------- the word on a commit is lost


Commit: TypeAlias = Callable[[Any], None]


@contextmanager
def committing(act: Callable[[Any, Commit], None]) -> Iterator[None]:
    """Inside, the commits that write a row are made by `act`, given the connection and the usual way to commit it."""
    usual = PGDialect_psycopg.do_commit

    def do_commit(dialect: Any, connection: Any) -> None:
        if "written" in connection.info:
            act(connection, lambda connection: usual(dialect, connection))
        else:
            usual(dialect, connection)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(PGDialect_psycopg, "do_commit", do_commit)
        yield


@contextmanager
def cut(when: str) -> Iterator[list[int]]:
    """End the connection of the next writer that commits a row: before its commit reaches the server, or after."""
    done: list[int] = []

    def act(connection: Any, commit: Commit) -> None:
        if done:
            return commit(connection)
        driver = connection.driver_connection
        done.append(driver.info.backend_pid)
        if when == "after":
            commit(connection)
        with psycopg.connect(driver.info.dsn, autocommit=True) as other:
            other.execute("SELECT pg_terminate_backend(%s, 5000)", (driver.info.backend_pid,))
        if when == "after":
            driver.execute("SELECT 'the word on the commit'")
        else:
            commit(connection)
        raise AssertionError("the connection was not cut")

    with committing(act):
        yield done


@pytest.mark.parametrize("when", ["before", "after"])
def test_a_charge_whose_commit_was_not_answered_is_there_exactly_once(location: str, when: str) -> None:
    ledger = opened(location)
    spend(ledger, "a")
    with cut(when) as done:
        entry = ledger.charge(key("b"), BODY, admit)
    assert len(done) == 1
    assert (entry.number, entry.status, entry.mine) == (2, "pending", True)
    assert ledger.account["spent"] == "2"
    with cut(when) as done:
        ledger.finish(2, b"drawn")
    assert len(done) == 1
    assert ledger.answer(2) == b"drawn"
    assert (ledger.verify().rows, ledger.verify().statuses) == (5, {"done": 2})


@pytest.mark.parametrize("when", ["before", "after"])
def test_a_use_whose_commit_was_not_answered_is_reserved_and_given_back_once(location: str, when: str) -> None:
    ledger = opened(location)
    with cut(when) as opening:
        assert ledger.charge(key("tape"), BODY, admit, opens=FIRST).status == "open"
    with cut(when) as reserving:
        assert ledger.reserve(1, key("a"), ASKS, less(10)).status == "pending"
    with cut(when) as settling:
        ledger.settle(1, 1, b"drawn", less(-7, 0))
    assert [len(opening), len(reserving), len(settling)] == [1, 1, 1]
    assert ledger.sub_account(1) == {"symbols": "47", "questions": "19"}
    assert (ledger.verify().rows, ledger.account["spent"]) == (5, "1")


def test_an_answer_that_nobody_can_ask_after_is_not_said_to_be_lost(
    mortal: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ledger_module, "PATIENCE", 0.5)
    ledger = opened(mortal.url(mortal.schema()))
    ledger.charge(key("a"), BODY, admit)

    def act(connection: Any, commit: Commit) -> None:
        commit(connection)
        mortal.kill()
        connection.driver_connection.execute("SELECT 'the word on the commit'")

    words = "what came of entry 1 is perhaps not stored, and its charge stays: .* is not known"
    with committing(act), pytest.raises(LedgerError, match=words) as said:
        ledger.finish(1, b"drawn")
    in_our_words(said.value)
    mortal.start()
    assert ledger.answer(ledger.charge(key("a"), BODY, admit, retry=True).number) == b"drawn"
    assert ledger.account["spent"] == "1"


def test_a_charge_that_nobody_can_ask_after_counts_as_spent(mortal: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store, "AWAY", 0.5)
    location = mortal.url(mortal.schema())
    ledger = opened(location)

    def act(connection: Any, commit: Commit) -> None:
        commit(connection)
        mortal.kill()
        connection.driver_connection.execute("SELECT 'the word on the commit'")

    with committing(act), pytest.raises(LedgerError, match="is not known; count it as spent") as said:
        ledger.charge(key("a"), BODY, admit)
    in_our_words(said.value)
    with pytest.raises(LedgerError, match="nothing was charged: the server of .* is away") as gone:
        ledger.charge(key("a"), BODY, admit)
    in_our_words(gone.value)
    mortal.start()
    with pytest.raises(ReleaseLost, match="entry 1"):
        ledger.charge(key("a"), BODY, admit)
    assert ledger.account["spent"] == "1"
    assert ledger.charge(key("a"), BODY, admit, retry=True).number == 2


def test_a_ledger_that_nobody_holds_any_more_lets_go_of_the_server(server: Server, location: str) -> None:
    def connections() -> int:
        return len(sql(server.url(), "SELECT 1 FROM pg_stat_activity WHERE starts_with(application_name, 'dpviz ')"))

    gc.collect()
    before = connections()
    ledger = opened(location)
    spend(ledger, "a")
    assert connections() > before
    del ledger
    gc.collect()
    until(lambda: connections() == before)


def test_a_server_that_restarts_between_two_calls_is_found_again(mortal: Server) -> None:
    location = mortal.url(mortal.schema())
    ledger = opened(location)
    spend(ledger, "a")
    looking = Ledger.read(location)
    for end in (mortal.kill, lambda: mortal.stop(signal.SIGINT)):
        end()
        mortal.start()
        spend(ledger, end)
        assert looking.account == ledger.account
    assert ledger.verify() == looking.verify()
    assert ledger.account["spent"] == "3"


# ---------------------------------------------------------------- durable, or refused


def test_a_server_that_does_not_wait_for_its_disk_is_refused(mortal: Server) -> None:
    location = mortal.url(mortal.schema())
    spend(opened(location), "a")
    mortal.stop(signal.SIGINT)
    mortal.start(fsync="off")
    with pytest.raises(LedgerError, match="has fsync off") as refused:
        opened(location)
    in_our_words(refused.value)
    assert Ledger.read(location).answer(1) == b"the answer to a"


def test_commits_wait_for_the_disk_whatever_is_usual_for_the_role(server: Server, schema: str) -> None:
    with server.connect() as connection:
        connection.execute("CREATE ROLE hasty LOGIN SUPERUSER")
        connection.execute("ALTER ROLE hasty SET synchronous_commit = off")
        connection.execute("ALTER ROLE hasty SET search_path = elsewhere")
    ledger = opened(server.url(schema, user="hasty"))
    ask = "SELECT current_setting('synchronous_commit'), current_schema()"
    said = ledger._store.write(lambda connection: tuple(connection.exec_driver_sql(ask).one()))
    assert said == ("on", schema)


def test_a_server_that_only_lets_read_gives_what_is_free_and_refuses_a_charge(server: Server, schema: str) -> None:
    spend(opened(server.url(schema)), "a")
    with server.connect() as connection:
        connection.execute("CREATE ROLE cautious LOGIN SUPERUSER")
        connection.execute("ALTER ROLE cautious SET default_transaction_read_only = on")
    location = server.url(schema, user="cautious")
    looking = opened(location, check=lambda step: True)
    assert looking.read_only
    assert looking.answer(looking.charge(key("a"), BODY, admit).number) == b"the answer to a"
    with pytest.raises(LedgerReadOnly) as refused:
        looking.charge(key("b"), BODY, admit)
    in_our_words(refused.value)
    assert looking.account["spent"] == "1"
    assert Ledger.read(location).answer(1) == b"the answer to a"


@pytest.mark.parametrize(
    ("code", "kind", "said"),
    [
        ("53100", LedgerFull, "there is no room"),
        ("42501", LedgerReadOnly, "cannot be opened for writing"),
        ("42P01", LedgerFormat, "not a ledger's"),
        ("XX001", LedgerCorrupt, "cannot be read as it was written"),
        ("58030", LedgerError, "the disk refused"),
        ("55P03", LedgerError, "stayed locked"),
        ("0A000", LedgerError, "code 0A000"),
        ("", LedgerError, "code unknown"),
    ],
)
def test_what_the_server_says_is_said_in_our_words(code: str, kind: type[LedgerError], said: str) -> None:
    refused = postgres._refusal(code, "visits on PostgreSQL")
    assert type(refused) is kind
    assert said in str(refused)
    in_our_words(refused)


def test_a_check_and_its_charge_are_one_step_even_for_a_writer_that_waits(location: str) -> None:
    """Under the lock a writer sees what the one before it wrote, though both had begun."""
    ledgers = [opened(location, budget=5) for _ in range(4)]
    said: list[str] = []

    def work(ledger: Ledger, name: int) -> None:
        for step in range(4):
            try:
                spend(ledger, (name, step))
                said.append("paid")
            except LedgerError:
                raise
            except Exception as error:
                said.append(type(error).__name__)

    threads = [threading.Thread(target=work, args=(ledger, name)) for name, ledger in enumerate(ledgers)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(said) == ["BudgetExceeded"] * 11 + ["paid"] * 5
    assert ledgers[0].account["spent"] == "5"
    assert ledgers[0].verify().rows == 11


def test_a_ledger_that_stays_locked_is_refused_in_time(location: str, monkeypatch: pytest.MonkeyPatch) -> None:
    holder = opened(location)
    held, over = threading.Event(), threading.Event()

    def hold(connection: Any) -> None:
        held.set()
        assert over.wait(patience())

    thread = threading.Thread(target=lambda: holder._store.write(hold))
    monkeypatch.setattr(store, "PATIENCE", 0.2)
    ledger = opened(location)
    thread.start()
    try:
        assert held.wait(patience())
        with pytest.raises(LedgerError, match="stayed locked") as refused:
            ledger.charge(key("a"), BODY, admit)
        in_our_words(refused.value)
        assert ledger.account["spent"] == "0"  # looking does not wait
    finally:
        over.set()
        thread.join()
    spend(ledger, "a")


def queued(location: str) -> list[tuple[int, object]]:
    """Who waits for an advisory lock of the server, and since when."""
    asked = "SELECT pid, waitstart FROM pg_locks WHERE locktype = 'advisory' AND NOT granted AND waitstart IS NOT NULL"
    return sql(location, asked)


def test_a_writer_hears_once_who_holds_the_ledger_and_keeps_its_place_in_the_queue(
    location: str, capfd: pytest.CaptureFixture[str]
) -> None:
    ledger, second = opened(location), opened(location)
    (reading, writing), (ending, end) = os.pipe(), os.pipe()

    def hold() -> None:
        def work(connection: object) -> None:
            os.write(writing, b"x")
            os.read(ending, 1)

        opened(location)._store.write(work)

    holder = Call(hold)
    os.read(reading, 1)
    heard: list[str] = []
    told = threading.Event()
    ledger.on_wait = lambda said: (heard.append(said), told.set())[0]
    first = threading.Thread(target=spend, args=(ledger, "first"))
    first.start()
    until(lambda: len(queued(location)) == 1)
    at_first = queued(location)
    assert told.wait(patience())
    assert queued(location) == at_first, "the same wait: it did not go to the end of the queue"
    assert f" pid {holder.pid} on " in heard[0], heard
    assert f"waiting for the ledger {Ledger.read(location).location}: role {ANALYST} (dpviz " in heard[0]
    assert " since " in heard[0] and " UTC; process " in heard[0] and heard[0].endswith(" holds it")
    assert PASSWORD not in heard[0] and str(make_url(location).query["host"]) not in heard[0]

    behind = threading.Thread(target=spend, args=(second, "second"))
    behind.start()
    until(lambda: f" pid {holder.pid} on " in "".join(capfd.readouterr().err))
    assert ledger.account["spent"] == "0", "looking does not wait"
    os.write(end, b"x")
    holder.result()
    for thread in (first, behind):
        thread.join()
    assert [entry.key for entry in ledger.entries()] == [key("first"), key("second")]
    assert len(heard) == 1
    for pipe in (reading, writing, ending, end):
        os.close(pipe)


def test_the_refusal_of_a_ledger_that_stays_locked_names_another_program_with_its_role(
    server: Server, schema: str, location: str, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """Who asks is an analyst, with the GRANTs of docs/teams.md and nothing else."""
    opened(location)
    monkeypatch.setattr(store, "NOTICE", 0.05)
    monkeypatch.setattr(store, "PATIENCE", 3)
    ledger = opened(location)
    with server.connect(schema) as other:
        other.execute("SET application_name = 'psql'")
        other.execute(f"SELECT pg_advisory_lock({postgres._Queue(schema).lock})")
        for act in (lambda: spend(ledger, "a"), lambda: opened(location).raise_budget({"epsilon": "3"}, dict)):
            with pytest.raises(LedgerError, match="stayed locked") as refused:
                act()
            in_our_words(refused.value)
            who = f"role {OWNER} (psql; process {other.info.backend_pid} of the server) holds it"
            assert f"stayed locked for 3 seconds: {who}; end or wait for that process" in str(refused.value)
            told = capfd.readouterr().err
            assert told == f"dpviz: waiting for the ledger {ledger.location}: {who}\n"
    spend(ledger, "a")


def test_what_a_program_calls_itself_fits_and_names_no_more_than_login_process_and_host(
    monkeypatch: pytest.MonkeyPatch, location: str
) -> None:
    monkeypatch.setattr(postgres, "login", lambda: "ä\n" + "x" * 80)
    monkeypatch.setattr(postgres.platform, "node", lambda: "h" * 80 + ".example.org")
    ledger = opened(location)
    said: list[str] = []
    ledger._store.write(lambda c: said.append(c.exec_driver_sql("SHOW application_name").scalar_one()))
    (name,) = said
    assert re.fullmatch(rf"dpviz \?\?x{{10}} pid {os.getpid()} on h+ since \d\d:\d\d:\d\d UTC", name)
    after = ledger._store.read(lambda c: c.exec_driver_sql("SHOW application_name").scalar_one())
    assert after == name.partition(" since ")[0], "signed for the time of one write"
    chosen = opened(f"{location}&application_name=nightly")
    chosen._store.write(lambda c: said.append(c.exec_driver_sql("SHOW application_name").scalar_one()))
    assert said[1].startswith("nightly since ")


# ---------------------------------------------------------------- one ledger to a schema, and who may do what


def test_each_schema_has_a_ledger_of_its_own(server: Server) -> None:
    one, two = (server.url(server.schema()) for _ in range(2))
    spend(opened(one), "a", "b")
    spend(opened(two), "a")
    assert [Ledger.read(location).account["spent"] for location in (one, two)] == ["2", "1"]
    assert Ledger.read(one).name.startswith("postgres.ledger_")
    assert Ledger.read(one).location.startswith("postgres on PostgreSQL, schema ledger_")


def test_a_schema_may_have_any_name(server: Server) -> None:
    with server.connect() as connection:
        connection.execute('CREATE SCHEMA "Team ""A""; x"')
    location = as_owner(server.url() + "&schema=Team+%22A%22%3B+x")
    spend(opened(location), "a")
    assert Ledger.read(location).verify().charges == 1


def test_who_may_not_start_a_ledger_hears_who_may(server: Server, schema: str) -> None:
    charter: dict[str, Any] = {"charter": CHARTER, "account": {"spent": "0", "budget": "1"}}
    with pytest.raises(LedgerReadOnly, match="there is no ledger .* have its owner open the first session") as refused:
        Ledger.open(server.url(schema), **charter)
    in_our_words(refused.value)
    assert sql(server.url(schema), "SELECT 1 FROM pg_tables WHERE schemaname = current_schema()") == []


def test_a_schema_that_does_not_exist_is_refused_and_not_made(server: Server) -> None:
    with pytest.raises(LedgerError, match="there is no schema") as refused:
        opened(server.url("nowhere"))
    in_our_words(refused.value)
    with server.connect() as connection:
        assert connection.execute("SELECT to_regnamespace('nowhere')").fetchone() == (None,)


def test_a_ledger_is_not_made_by_looking(location: str) -> None:
    with pytest.raises(LedgerFormat, match="does not exist") as refused:
        Ledger.read(location)
    in_our_words(refused.value)
    assert sql(location, "SELECT 1 FROM pg_tables WHERE schemaname = current_schema()") == []


@pytest.mark.parametrize("table", ["chain (seq INTEGER, links TEXT)", "entry (name TEXT)", "blob (content BYTEA)"])
def test_tables_of_somebody_else_are_left_alone(location: str, table: str) -> None:
    edit(location, f"CREATE TABLE {table}")
    with pytest.raises(LedgerFormat, match="not a ledger's") as refused:
        opened(as_owner(location))
    in_our_words(refused.value)
    assert len(sql(location, "SELECT 1 FROM pg_tables WHERE schemaname = current_schema()")) == 1


def test_a_role_that_may_only_read_looks_and_cannot_charge(server: Server, schema: str) -> None:
    ledger = opened(server.url(schema))
    spend(ledger, "a")
    with server.connect(schema) as connection:
        for statement in (
            *statements(start="CREATE ROLE auditor"),
            *statements(start="GRANT", end="auditor"),
        ):
            connection.execute(here(statement, schema))
    location = server.url(schema, user="auditor")
    looking = Ledger.read(location)
    assert (looking.verify(), looking.answer(1)) == (ledger.verify(), b"the answer to a")
    free = opened(location)
    assert (free.read_only, free.answer(1)) == (True, b"the answer to a")
    for act in (lambda: looking.charge(key("b"), BODY, admit), lambda: free.charge(key("b"), BODY, admit)):
        with pytest.raises(LedgerReadOnly) as refused:
            act()
        in_our_words(refused.value)
    with server.connect() as connection:
        connection.execute("CREATE ROLE stranger LOGIN")
    with pytest.raises(LedgerError) as kept_out:
        Ledger.read(server.url(schema, user="stranger"))
    in_our_words(kept_out.value)
    assert ledger.account["spent"] == "1"


def test_a_role_with_the_grants_of_the_page_cannot_change_the_record(
    server: Server, schema: str, location: str
) -> None:
    """Every right to change anything that the server gives an analyst, column by column, and what it refuses."""
    ledger = opened(location)
    spend(ledger, "a")
    ledger.charge(key("tape"), BODY, admit, opens=FIRST)
    ledger.settle(2, ledger.reserve(2, key("b"), ASKS, less(10)).number, b"\xff" * 100_000, less(-7, 0))
    held = ledger.verify()
    rights = "SELECT table_name, column_name FROM information_schema.column_privileges "
    rights += f"WHERE grantee = 'analysts' AND table_schema = '{schema}' AND privilege_type = 'UPDATE'"
    assert sorted(sql(location, rights)) == sorted(
        [(table, column) for table in ("entry", "use") for column in ("status", "outcome", "closed")]
        + [("draw", "until")]
    )
    analyst = {**behind_its_back(location), "user": ANALYST}
    for table in ("chain", "blob", "entry", "use"):
        changes = [
            f"DELETE FROM {table}",
            f"TRUNCATE {table}",
            f"DROP TABLE {table}",
            f"ALTER TABLE {table} ADD more INT",
        ]
        column = {"chain": "body", "blob": "content"}.get(table, "key")
        for change in (*changes, f"UPDATE {table} SET {column} = {column}", f"CREATE INDEX ON {table} ({column})"):
            with psycopg.connect(**analyst) as connection, pytest.raises(psycopg.errors.InsufficientPrivilege):
                connection.execute(change)
    with psycopg.connect(**analyst) as connection, pytest.raises(psycopg.errors.InsufficientPrivilege):
        connection.execute("CREATE TABLE more (x INT)")
    assert ledger.verify() == held


# ---------------------------------------------------------------- nothing of the address is shown


def test_a_password_opens_the_ledger_and_is_shown_nowhere(
    server: Server, schema: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    location = server.loopback(PASSWORD, schema)
    ledger = opened(location)
    spend(ledger, "a")
    shown = [
        repr(ledger),
        ledger.name,
        ledger.location,
        repr(ledger.charter),
        repr(vars(ledger)),
        repr(vars(ledger._store)),
    ]
    for command in (["show"], ["show", "--json"], ["verify"], ["verify", "--json"]):
        assert cli.main(["ledger", command[0], location, *command[1:]]) == 0
    assert cli.main(["ledger", "backup", location, str(tmp_path / "copy.ledger")]) == 0
    assert cli.main(["ledger", "backup", str(tmp_path / "copy.ledger"), location]) == 1
    wrong = server.loopback("another password", schema)
    with pytest.raises(LedgerError, match="does not take the password") as refused:
        Ledger.read(wrong)
    in_our_words(refused.value)
    assert cli.main(["ledger", "show", wrong]) == 1
    said = capsys.readouterr()
    for secret in (
        PASSWORD,
        PASSWORD.replace(" ", "%20"),
        "another",
        "127.0.0.1",
        str(server.folder),
    ):
        for text in (*shown, said.out, said.err, str(refused.value), refused.value.value):
            assert secret not in text and not names_port(text, server.port)


@pytest.mark.parametrize(
    "url",
    [
        "postgresql://keeper:SECRET@127.0.0.1:1/postgres",
        "postgresql://keeper@127.0.0.1:1/postgres?password=SECRET",
        "postgresql://keeper:SECRET@127.0.0.1",
        "postgresql://keeper:SECRET@127.0.0.1:port/postgres",
        "mysql://keeper:SECRET@127.0.0.1/postgres",
    ],
)
def test_no_frame_of_a_refusal_shows_a_password(url: str, tmp_path: Path) -> None:
    """Each variable of each frame below the call, as IPython's Verbose mode prints it."""
    frame, unit, budget = pd.DataFrame({"x": [0]}), dv.Unit(), dv.Budget("1")
    calls: list[Callable[[], object]] = [
        lambda: dv.Session(frame, unit, budget, url),
        lambda: opened(tmp_path / "ledger").backup(url),
        lambda: Ledger.read(url),
        lambda: Ledger.rebuild_index(url),
    ]
    for call in calls:
        with pytest.raises(LedgerError) as refused:
            call()
        frames = [frame for frame, _ in walk_tb(refused.tb) if is_ours(frame)]
        shown = [value for frame in frames for name, value in frame.f_locals.items() if name != "self"]  # half made
        assert len(shown) > 3
        assert "SECRET" not in repr(shown) + str(refused.value)
        assert refused.value.__context__ is None


def test_a_server_whose_machine_is_gone_is_given_up(server: Server, schema: str) -> None:
    """What is not taken is given up in AWAY; where nothing is sent, a machine that is gone is noticed by asking."""
    location = postgres.Server.of(make_url(server.loopback(PASSWORD, schema)))
    with (
        postgres._connect(location, threading.Event(), writable=True) as connection,
        socket.socket(fileno=os.dup(connection.fileno())) as wire,
    ):
        assert wire.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE) == 1
        assert wire.getsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPIDLE) < store.AWAY
        assert wire.getsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT) == store.AWAY * 1000


def test_a_session_on_a_server_releases_and_opens_and_is_found_again(server: Server, schema: str) -> None:
    location = server.loopback(PASSWORD, schema)
    frame = pd.DataFrame({"visits": [0, 1, 1, 2, 3] * 40})
    bins = dv.Domain.integers(0, 3, column="visits")

    def session(ledger: str = location) -> dv.Session:
        return dv.Session(frame, dv.Unit(noun="visit"), dv.Budget(epsilon="2"), ledger, dataset="visits")

    started(location, session)
    release = session().release(bins, dv.Dense(epsilon="1/2"))
    again = session()
    assert again.release(bins, dv.Dense(epsilon="1/2")).to_json() == release.to_json()
    assert again.remaining.epsilon == Fraction(3, 2)
    assert repr(again).endswith(f"ledger postgres.{schema}>")
    assert all(secret not in repr(again) for secret in (PASSWORD, "127.0.0.1", str(server.port)))


def test_without_psycopg_a_person_hears_what_to_install(location: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "psycopg", None)
    with pytest.raises(LedgerError, match=r'pip install "dpviz\[postgres\]"') as refused:
        opened(location)
    in_our_words(refused.value)


# ---------------------------------------------------------------- what verify finds, and copies


@pytest.fixture
def filled(location: str) -> str:
    """A ledger with a row of every kind, an inline answer, a blob, and uses."""
    ledger = opened(location)
    spend(ledger, "a")
    ledger.finish(ledger.charge(key("b"), BODY, admit).number, b"\xff" * 100_000)
    ledger.close(ledger.charge(key("c"), BODY, admit).number, "cancelled")
    ledger.raise_budget({"epsilon": "3", "delta": "0"}, lambda account: {**account, "budget": "200"})
    ledger.charge(key("tape"), BODY, admit, opens=FIRST)
    ledger.settle(4, ledger.reserve(4, key("d"), ASKS, less(10)).number, b"\xfe" * 100_000, less(-7, 0))
    ledger.reserve(4, key("e"), ASKS, less(10))
    return location


KEYS = {"chain": ("seq",), "entry": ("number",), "use": ("entry", "number"), "blob": ("hash",)}


def changed(value: Any) -> Iterator[Any]:
    if isinstance(value, int):
        yield value + 1
    elif isinstance(value, str):
        yield value[:-1] + ("0" if value[-1] != "0" else "1")
        yield "x" + value[1:]
    elif isinstance(value, bytes):
        yield b"\x00" + value[1:]
    else:
        yield from (1, "text")
    if value is not None:
        yield None


def test_any_change_to_any_field_of_any_row_is_found(filled: str) -> None:
    held, made, unseen = Ledger.read(filled).verify(), 0, []
    looking = Ledger.read(filled)
    with psycopg.connect(**behind_its_back(filled), autocommit=True) as connection:
        for table, names in KEYS.items():
            found = connection.execute(f"SELECT * FROM {table}")
            columns = [column.name for column in found.description or ()]
            for record in found.fetchall():
                row = dict(zip(columns, record, strict=True))
                for column in columns:
                    for value in changed(row[column]):
                        at = {name: value if name == column else row[name] for name in names}
                        where = " AND ".join(f"{name} = %s" for name in names)
                        change = f"UPDATE {table} SET {column} = %s WHERE {where}"
                        try:
                            connection.execute(change, (value, *(row[name] for name in names)))
                        except psycopg.Error:
                            continue  # the table itself does not take it
                        made += 1
                        try:
                            looking.verify()
                            unseen.append((table, column, value))
                        except (LedgerCorrupt, LedgerFormat):
                            pass
                        connection.execute(change, (row[column], *at.values()))
    assert unseen == []
    assert made > 150
    assert looking.verify() == held


def test_a_backup_is_an_sqlite_ledger_with_the_same_chain(filled: str, tmp_path: Path) -> None:
    ledger, copy = opened_as_raised(filled), tmp_path / "copy.ledger"
    held = ledger.verify()
    assert ledger.backup(copy) == held == Ledger.read(copy).verify(head=ledger.head())
    kept = Ledger.read(copy)
    assert (kept.answer(2), kept.use_answer(4, 1)) == (b"\xff" * 100_000, b"\xfe" * 100_000)
    assert (kept.charter, kept.account, kept.sub_account(4)) == (ledger.charter, ledger.account, ledger.sub_account(4))
    assert [entry.body for entry in kept.entries()] == [entry.body for entry in ledger.entries()]
    with sqlite3.connect(copy) as connection:
        assert connection.execute("SELECT * FROM chain").fetchall() == sql(filled, "SELECT * FROM chain ORDER BY seq")
    connection.close()
    with pytest.raises(LedgerError, match="never overwrites"):
        ledger.backup(copy)
    with pytest.raises(LedgerError, match="a backup is a file"):
        ledger.backup(filled)


def opened_as_raised(location: str) -> Ledger:
    charter = {**CHARTER, "budget": {"epsilon": "3", "delta": "0"}}
    return Ledger.open(location, charter=charter, account={})


def test_a_broken_ledger_is_not_backed_up(filled: str, tmp_path: Path) -> None:
    edit(filled, "UPDATE chain SET hash = previous WHERE seq = 4")
    with pytest.raises(LedgerCorrupt):
        Ledger.read(filled).backup(tmp_path / "copy.ledger")
    assert list(tmp_path.iterdir()) == []


def test_a_backup_beside_writers_is_one_moment_of_the_ledger(location: str, tmp_path: Path) -> None:
    ledger = opened(location, budget=10**6)
    ended, written = threading.Event(), []

    def write() -> None:
        while not ended.is_set():
            spend(ledger, len(written))
            written.append(1)

    thread = threading.Thread(target=write)
    thread.start()
    try:
        looking = Ledger.read(location)
        rows = []
        for turn in range(5):
            until(lambda: len(written) > turn)  # noqa: B023
            rows.append(looking.backup(tmp_path / f"{turn}.ledger").rows)
    finally:
        ended.set()
        thread.join()
    assert rows == sorted(rows)
    assert rows[0] < rows[-1] <= ledger.verify().rows


def test_an_older_state_put_back_under_an_open_ledger_is_noticed(location: str) -> None:
    ledger = opened(location)
    spend(ledger, "a", "b", "c")
    edit(location, "DELETE FROM chain WHERE seq > 3")
    edit(location, "DELETE FROM entry WHERE charge > 3")
    with pytest.raises(LedgerCorrupt, match="older than what this session has seen"):
        spend(ledger, "d")
