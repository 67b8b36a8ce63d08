"""A ledger in one schema of a PostgreSQL database, for a team. Everything particular to PostgreSQL is here.

A URL names it: postgresql://user@host/database, the driver psycopg 3. The ledger is in the schema `public`, or in the
one that `?schema=team` names, which must exist; one schema holds one ledger. Other parts of the query (sslmode,
connect_timeout, host for a socket) go to the driver. Connect to the server itself: a proxy that hands a connection on
after each transaction forgets the schema and how long a commit waits.

A writer takes the schema's advisory lock, which the server hands on in turn and which ends with its transaction. The
lock binds those who ask for it, so nobody else should be able to write. To charge, a role needs SELECT and INSERT on
chain and blob, UPDATE too on entry, use and draw, and DELETE on draw; to look, SELECT on all five.
"""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sqlalchemy import URL, Connection, create_engine, select
from sqlalchemy.exc import DBAPIError
from sqlalchemy.pool import QueuePool

from dpviz.errors import LedgerError, LedgerFormat, LedgerReadOnly, short
from dpviz.hidden import Hidden
from dpviz.session.ledger import schema, store, tables
from dpviz.session.ledger.chain import broken
from dpviz.session.ledger.sqlite import SqliteStore

if TYPE_CHECKING:
    import psycopg

_AWAY = ("08", "57P", "25P03")
"""How the codes begin that a server says goodbye with: a lost connection, a shutdown, a transaction idle too long."""

_THERE = "SELECT current_schema() IS NOT NULL, to_regclass('chain') IS NOT NULL"

_READY = """
SELECT current_setting('fsync'),
       set_config('search_path', quote_ident(%s), false),
       set_config('lock_timeout', %s, false),
       set_config('idle_in_transaction_session_timeout', %s, false),
       set_config('statement_timeout', '0', false),
       set_config('synchronous_commit', CASE WHEN current_setting('synchronous_commit') IN ('off', 'local')
                                             THEN 'on' ELSE current_setting('synchronous_commit') END, false)
"""


@dataclass(frozen=True, repr=False)
class Server:
    """A schema that a ledger is in, or could be in."""

    url: URL
    schema: str

    @classmethod
    def of(cls, url: URL) -> Server:
        """Where a URL points. It is refused by its rule alone: any part of it may hold a password."""
        query = dict(url.query)
        schema = query.pop("schema", "public")
        if not url.database or not isinstance(schema, str) or not schema or "\0" in schema:
            raise _no_place("the URL of a PostgreSQL ledger names one database, and with ?schema= one schema")
        if "search_path" in str(query.get("options", "")):
            raise _no_place("the schema of a PostgreSQL ledger is named by ?schema=, not by a search path")
        return cls(url.set(drivername="postgresql+psycopg", query=query), schema)

    def __str__(self) -> str:
        schema = "" if self.schema == "public" else f", schema {short(self.schema, 40)}"
        return f"{short(self.url.database, 40)} on PostgreSQL{schema}"

    __repr__ = __str__

    @property
    def name(self) -> str:
        database = short(self.url.database, 40)
        return database if self.schema == "public" else f"{database}.{short(self.schema, 40)}"

    def store(self, *, writable: bool = True) -> PostgresStore:
        return PostgresStore(self, writable=writable)

    def exists(self) -> bool:
        looking = self.store(writable=False)
        try:
            schema, chain = looking.read(lambda connection: tuple(connection.exec_driver_sql(_THERE).one()))
        finally:
            looking.close()
        if not schema:
            rule, step = "a ledger is in a schema that exists", "create it, and let yourself use it"
            raise LedgerError(
                f"there is no schema for the ledger {self}, or it is not yours to use; {step}",
                value=str(self),
                rule=rule,
                next_step=step,
            )
        return bool(chain)

    def create(self, fill: Callable[[Connection], object]) -> bool:
        def work(connection: Connection) -> bool:
            there = bool(connection.exec_driver_sql(_THERE).one()[1])
            if not there:
                tables.metadata.create_all(connection, checkfirst=False)
                fill(connection)
            return not there

        made = self.store()
        try:
            return made.write(work)
        finally:
            made.close()


class PostgresStore(store.Store):
    """One schema with a ledger."""

    pause = 0.1

    def __init__(self, server: Server, *, writable: bool) -> None:
        try:
            import psycopg  # noqa: F401
        except ImportError:  # not there, or there without the library that it wraps
            raise _no_driver(str(server)) from None
        self._met = threading.Event()  # set when the server first answers: from then on it is waited for
        engine = create_engine(
            "postgresql+psycopg://",
            creator=partial(_connect, server, self._met, writable=writable),  # not a method: it would keep this alive
            poolclass=QueuePool,
            pool_size=2,
            max_overflow=0,
            hide_parameters=True,
            use_native_hstore=False,
        )
        digest = hashlib.sha256(f"dpviz ledger in {server.schema}".encode()).digest()
        lock = int.from_bytes(digest[:8], "big", signed=True)
        writer = engine.execution_options(
            isolation_level="READ COMMITTED", begins=f"SELECT pg_advisory_xact_lock({lock})"
        )
        reader = engine.execution_options(isolation_level="REPEATABLE READ")
        super().__init__(str(server), writer, reader, writable=writable)

    def refusal(self, error: Exception) -> tuple[LedgerError, bool]:
        if _away(error):
            return _unreachable(self._called), self._met.is_set()
        return _refusal(_code(error) or "", self._called), False

    def schema(self, connection: Connection) -> None:
        schema.check_postgres(connection)

    def copy_to(self, path: Path) -> None:
        def copy(source: Connection) -> None:
            made.write(lambda target: _copy(source, target))

        made = SqliteStore(path)
        try:
            made.write(tables.metadata.create_all)
            self.read(copy)
        finally:
            made.close()


def _connect(server: Server, met: threading.Event, *, writable: bool) -> psycopg.Connection[Any]:
    import psycopg

    patience = str(int(store.PATIENCE * 1000))
    dialect: Any = server.url.get_dialect()()
    asked = Hidden(dialect.create_connect_args(server.url)[1])  # with the password
    usual = {"connect_timeout": 10, "tcp_user_timeout": patience, "keepalives_idle": 10, "application_name": "dpviz"}
    connection = psycopg.connect(**{**usual, **asked.take(), "client_encoding": "utf8"}, autocommit=True)
    try:
        said = connection.execute(_READY, (server.schema, patience, patience)).fetchone()
        if writable and (said is None or said[0] != "on"):
            raise _not_durable(str(server))
        connection.autocommit = False
    except BaseException:
        connection.close()
        raise
    met.set()
    return connection


def _copy(source: Connection, target: Connection) -> None:
    for table in tables.metadata.sorted_tables:
        with source.execute(select(table).execution_options(yield_per=100)) as found:
            for part in found.mappings().partitions():
                target.execute(table.insert(), [dict(record) for record in part])


# ---------------------------------------------------------------- refusals


def _no_place(rule: str) -> LedgerError:
    step = "write postgresql://user@host/database, or postgresql://user@host/database?schema=team"
    return LedgerError(f"{rule}; {step}", value="postgresql://...", rule=rule, next_step=step)


def _no_driver(called: str) -> LedgerError:
    rule, step = "a ledger on PostgreSQL needs psycopg", 'install it: pip install "dpviz[postgres]"'
    return LedgerError(f"{rule}; {step}", value=called, rule=rule, next_step=step)


def _not_durable(called: str) -> LedgerError:
    rule, step = "a charge is on disk before anything is drawn", "turn fsync on in the server's configuration"
    said = f"the server of the ledger {called} has fsync off, so a charge could be lost with the power; {step}"
    return LedgerError(said, value="fsync = off", rule=rule, next_step=step)


def _unreachable(called: str) -> LedgerError:
    rule = "a ledger on a server needs the server"
    step = "see that it runs and lets you in (host, user, password), and try again"
    said = f"the server of the ledger {called} cannot be reached; {step}"
    return LedgerError(said, value=called, rule=rule, next_step=step)


def _refusal(code: str, called: str) -> LedgerError:
    """What PostgreSQL said, in the words of a ledger."""
    if code == "55P03":
        return store.locked(called)
    if code in ("53100", "53400"):
        return store.full(called)
    if code in ("42501", "25006"):
        return _read_only(called)
    if code in ("42P01", "42703", "42P07", "42804", "42883"):  # a table or a column is not there, or is another's
        return _no_ledger(called)
    if code[:2] == "58":
        return store.bad_disk(called)
    if code[:2] == "XX":
        return broken(f"{called} cannot be read as it was written")
    rule, step = "a ledger is written and read in whole transactions", "see what the server's log says, and try again"
    said = f"the server refused to read or write the ledger {called} (code {code or 'unknown'}); {step}"
    return LedgerError(said, value=called, rule=rule, next_step=step)


def _no_ledger(called: str) -> LedgerFormat:
    return store.no_ledger(
        called, "holds tables that are not a ledger's", "give the URL of a ledger, or of a schema without tables"
    )


def _read_only(called: str) -> LedgerReadOnly:
    rule, step = "whoever charges may write to the tables of the ledger", "ask whoever keeps the database for the right"
    return store.read_only(called, rule, step)


def _code(error: BaseException) -> str | None:
    """The SQLSTATE of PostgreSQL, where the error came from the server."""
    origin = error.orig if isinstance(error, DBAPIError) else error
    code = getattr(origin, "sqlstate", None)
    return code if isinstance(code, str) else None


def _away(error: BaseException) -> bool:
    """Whether the server is gone, or was not reached. What it had not committed it has forgotten."""
    if not isinstance(error, DBAPIError):
        return False
    code = _code(error)
    if code is not None:
        return error.connection_invalidated or code.startswith(_AWAY)
    return error.connection_invalidated or type(error.orig).__name__ == "OperationalError"
