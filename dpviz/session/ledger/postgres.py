"""A ledger in one schema of a PostgreSQL database, for a team. Everything particular to PostgreSQL is here.

A URL names it: postgresql://user@host/database, the driver psycopg 3. The ledger is in the schema `public`, or in the
one that `?schema=team` names, which must exist; one schema holds one ledger. Other parts of the query (sslmode,
connect_timeout, host for a socket) go to the driver. Connect to the server itself: a proxy that hands a connection on
after each transaction forgets the schema and how long a commit waits.

A writer takes the schema's advisory lock, which the server hands on in turn and which ends with its transaction. Who
has waited for a second is told who holds it, and keeps its place in the queue. The lock binds those who ask for it, so
nobody else should be able to write. docs/teams.md has the rights that a role needs, and the tests run under exactly
these: whoever charges adds rows to chain and blob, and changes or removes none.

A server that does not answer is given up soon: a new connection in CONNECT seconds, one in use in ANSWER and then a new
one. Why there is no connection is told apart by what the driver says; its own words name user, host and port, and go no
further.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import platform
import re
import selectors
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

from sqlalchemy import URL, Connection, create_engine, select
from sqlalchemy.exc import DBAPIError, SQLAlchemyError
from sqlalchemy.pool import QueuePool

from dpviz import threads
from dpviz.boundary import Hidden
from dpviz.errors import LedgerAway, LedgerError, LedgerFormat, LedgerReadOnly, short
from dpviz.session.ledger import schema, store, tables
from dpviz.session.ledger.chain import SERVED, broken
from dpviz.session.ledger.owner import login
from dpviz.session.ledger.sqlite import SqliteStore
from dpviz.session.ledger.witness import ABSENT, Beside

if TYPE_CHECKING:
    import psycopg
    from psycopg.pq.abc import PGresult

tables.on_postgresql()

_AWAY = ("08", "57P", "25P03")
"""How the codes begin that a server says goodbye with: a lost connection, a shutdown, a transaction idle too long."""

_CONNECT = 3
"""How many seconds a connection may take, where the URL names no connect_timeout."""

_ANSWER = 1.0
"""How many seconds a connection may take to answer before a new one is made in its place."""

T = TypeVar("T")

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
    format: ClassVar[int] = SERVED
    keeps_note: ClassVar[bool] = False
    passing: ClassVar[bool] = False

    @classmethod
    def of(cls, url: URL) -> Server:
        """Where a URL points. It is refused by its rule alone: any part of it may hold a password."""
        query = dict(url.query)
        schema = query.pop("schema", "public")
        if not url.database or not isinstance(schema, str) or not schema or "\0" in schema:
            raise _no_location("the URL of a PostgreSQL ledger names one database, and with ?schema= one schema")
        if "search_path" in str(query.get("options", "")):
            raise _no_location("the schema of a PostgreSQL ledger is named by ?schema=, not by a search path")
        return cls(url.set(drivername="postgresql+psycopg", query=query), schema)

    def __str__(self) -> str:
        schema = "" if self.schema == "public" else f", schema {short(self.schema, 40)}"
        return f"{short(self.url.database, 40)} on PostgreSQL{schema}"

    __repr__ = __str__

    @property
    def name(self) -> str:
        database = short(self.url.database, 40)
        return database if self.schema == "public" else f"{database}.{short(self.schema, 40)}"

    @property
    def identity(self) -> str:
        return ascii((self.url.host, self.url.port, self.url.query.get("host"), self.url.database, self.schema))

    def store(self, *, writable: bool = True) -> PostgresStore:
        return PostgresStore(self, writable=writable)

    def beside(self) -> Beside:
        return ABSENT

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
        except LedgerReadOnly:
            pass
        finally:
            made.close()
        rule, step = "whoever starts a ledger may create tables in its schema", "have its owner open the first session"
        said = f"there is no ledger in {self} yet, and your role may not start one; {step}"
        raise LedgerReadOnly(said, value=str(self), rule=rule, next_step=step)


class Unreached(Exception):
    """There is no connection, and why, in our words: the driver's own name user, host and port."""

    def __init__(self, refusal: LedgerError) -> None:
        super().__init__(str(refusal))
        self.refusal = refusal


class PostgresStore(store.Store):
    """One schema with a ledger."""

    failures = (SQLAlchemyError, Unreached)
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
        self._away_until = 0.0  # until then nobody who can do without asks again
        self._said_away = 0.0
        self._queue = _Queue(server.schema)
        begins = f"BEGIN ISOLATION LEVEL READ COMMITTED; {self._queue.at_once}"
        writer = engine.execution_options(isolation_level="READ COMMITTED", begins=begins, queue=self._queue)
        begins = "BEGIN ISOLATION LEVEL REPEATABLE READ"
        reader = engine.execution_options(isolation_level="REPEATABLE READ", begins=begins)
        super().__init__(str(server), writer, reader, writable=writable, beginning=_asking(str(server)))

    def refusal(self, error: Exception) -> tuple[LedgerError, bool]:
        if isinstance(error, Unreached):
            refused = error.refusal
            if isinstance(refused, LedgerAway) and self._met.is_set():
                return _gone(self._called, starting=refused.starting), True
            return refused, False
        if _away(error):
            return _gone(self._called), self._met.is_set()
        return _refusal(_code(error) or "", self._called), False

    def schema(self, connection: Connection) -> None:
        schema.check_postgres(connection)

    def patience(self, failure: LedgerAway, asked: float | None) -> float:
        if asked is not None:
            return asked
        return store.PATIENCE if failure.starting else store.AWAY

    def tell(self, failure: LedgerAway) -> None:
        """One line for a person at Python, at most every PATIENCE: from here on the call waits."""
        now = time.monotonic()
        if now > self._said_away:
            self._said_away = now + store.PATIENCE
            state = "is starting up" if failure.starting else "does not answer"
            said = f"the server of the ledger {self._called} {state}; waiting for it"
            if self.on_wait is None:
                print(f"dpviz: {said}", file=sys.stderr, flush=True)
            else:
                self.on_wait(said)

    @contextlib.contextmanager
    def turn(self, wait: store.Wait) -> Iterator[None]:
        """The server itself hands on the lock in turn; here is only noted who is told of a long wait."""
        self._queue.long = partial(self._long, wait)
        try:
            yield
        finally:
            self._queue.long = None

    def _long(self, wait: store.Wait, over: threading.Event) -> None:
        """Beside a wait in the queue, which goes on meanwhile: say after a second who holds the lock."""
        while (left := wait.notice - time.monotonic()) > 0:
            if over.wait(left):
                return
        who = self.holder()
        if not over.is_set():
            wait.tell(lambda: who)

    def holder(self) -> str:
        with contextlib.suppress(LedgerError):  # whatever it is, the write that waits is refused for it
            return self.glance(self._queue.holder)
        return ""

    def glance(self, work: Callable[[Connection], T]) -> T:
        if time.monotonic() < self._away_until:
            raise _gone(self._called)
        try:
            return self.read(work, patience=0.3)
        except LedgerAway:
            self._away_until = time.monotonic() + store.AWAY
            raise

    def login(self, connection: Connection) -> str:
        """The role of the database that was logged in."""
        return str(connection.exec_driver_sql("SELECT session_user").scalar_one())

    def copy_to(self, path: Path) -> None:
        def copy(source: Connection) -> None:
            made.write(lambda target: _copy(source, target))

        made = SqliteStore(path)
        try:
            made.write(tables.metadata.create_all)
            self.read(copy)
        finally:
            made.close()


class _Queue:
    """The advisory lock of a schema, for which writers wait in the queue of the server.

    The engine keeps this, so it knows the store only while somebody writes.
    """

    def __init__(self, schema: str) -> None:
        digest = hashlib.sha256(f"dpviz ledger in {schema}".encode()).digest()
        self.lock = int.from_bytes(digest[:8], "big", signed=True)
        self.at_once = f"SELECT CASE WHEN pg_try_advisory_xact_lock({self.lock}) THEN {_SIGNED} END"
        """Takes the lock if it is free, and signs for it; else it answers NULL. It overtakes nobody who waits."""
        self.long: Callable[[threading.Event], None] | None = None
        """Runs beside a wait until its event is set."""

    def take(self, connection: Connection) -> None:
        """Wait for the lock, until the lock_timeout at most, and sign for it."""
        over = threading.Event()
        if self.long is not None:
            threads.start(partial(self.long, over), "dpviz-turn")  # without a thread nothing is said of the wait
        try:
            connection.exec_driver_sql(f"SELECT pg_advisory_xact_lock({self.lock}), {_SIGNED}")
        finally:
            over.set()

    def holder(self, connection: Connection) -> str:
        """Who holds the lock, as far as any role may know: the role, what the program calls itself, the process."""
        high, low = divmod(self.lock % 2**64, 2**32)
        found = connection.exec_driver_sql(_HOLDER, (high, low)).first()
        if found is None:
            return ""
        role, program, process, since = found
        signed = short(str(program or "a program without a name"), _NAME)
        began = "" if since is None or " since " in signed else f", in a transaction since {since} UTC"
        return f"role {short(role, 40)} ({signed}; process {process} of the server{began}) holds it"


_NAME = 63
"""How many characters PostgreSQL takes of what a program calls itself."""

_OWN = 44
"""How many of them are left for a name beside the time since when it holds the lock."""

_SIGNED = f"""set_config('application_name', left(current_setting('application_name'), {_OWN})
                              || to_char(clock_timestamp() AT TIME ZONE 'UTC', '" since "HH24:MI:SS" UTC"'), true)"""
"""The name of the program until its transaction ends: others may see no time of it but this."""

_HOLDER = """
SELECT activity.usename, activity.application_name, activity.pid,
       to_char(activity.xact_start AT TIME ZONE 'UTC', 'HH24:MI:SS')
FROM pg_locks JOIN pg_stat_activity activity USING (pid)
WHERE locktype = 'advisory' AND granted AND objsubid = 1 AND classid = %s::bigint AND objid = %s::bigint
      AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
"""


def _program() -> str:
    """The name of this process at the server, where its colleagues see it: who it runs for, and where."""
    login_, host = login()[:12], platform.node().partition(".")[0]
    name = f"dpviz {login_} pid {os.getpid()} on {host}"
    return "".join(one if one.isascii() and one.isprintable() else "?" for one in name)[:_OWN]


def _connect(server: Server, met: threading.Event, *, writable: bool) -> psycopg.Connection[Any]:
    dialect: Any = server.url.get_dialect()()
    asked = Hidden(dialect.create_connect_args(server.url)[1])  # with the password
    connection = _dialled(server, asked)
    patience = str(int(store.PATIENCE * 1000))
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


def _dialled(server: Server, asked: Hidden[dict[str, Any]]) -> psycopg.Connection[Any]:
    """A new connection, or Unreached in time. A thread waits: looking up a name, for one, has no end of its own."""
    import psycopg

    dialled: list[psycopg.Connection[Any]] = []
    failed: list[tuple[str, bool]] = []  # what the driver said, and whether a password was used
    given_up = threading.Lock()  # taken by whoever is first: this call, which stops waiting, or the thread, in time

    def dial() -> None:
        try:
            arguments = {**_USUAL, "application_name": _program(), **asked.take(), "client_encoding": "utf8"}
            connection = psycopg.connect(**arguments, autocommit=True)
        except psycopg.Error as error:
            failed.append((str(error), bool(error.pgconn is not None and error.pgconn.used_password)))
        except Exception as error:  # what the driver cannot make sense of
            failed.append((type(error).__name__, False))
        else:
            dialled.append(connection)
            if not given_up.acquire(blocking=False):
                connection.close()

    thread = threads.run(dial, "dpviz-dial")
    try:
        if thread is not None:
            thread.join(_seconds(asked))
        late = not dialled and not failed and given_up.acquire(blocking=False)
    except BaseException:  # an interrupt
        if not given_up.acquire(blocking=False):
            dialled[0].close()
        raise
    if late:
        raise Unreached(_silent(str(server)))
    if failed:
        raise Unreached(_no_connection(str(server), *failed[0]))
    return dialled[0]


_USUAL = {
    "connect_timeout": _CONNECT,
    "tcp_user_timeout": str(int(store.AWAY * 1000)),  # for what was sent and not taken
    "keepalives_idle": 3,  # where nothing is sent: a machine that is gone is noticed by asking
    "keepalives_interval": 1,
    "keepalives_count": 2,
}


def _seconds(asked: Hidden[dict[str, Any]]) -> float:
    """How long a connection may take in all: so long for each host that the URL names."""
    chosen = asked.take()
    hosts = str(chosen.get("host", "")).count(",") + 1
    try:
        each = float(chosen.get("connect_timeout", _CONNECT))
    except (TypeError, ValueError):  # the driver refuses it
        each = _CONNECT
    return hosts * (max(each, 2) if each > 0 else 130) + 0.5


def _asking(called: str) -> Callable[[Connection], None]:
    """Begin a transaction, and see whether the server is still there: a connection out of the pool may be dead.

    A writer asks for the lock in the same breath, and waits for it where it is not free.
    """

    def ask(connection: Connection) -> None:
        options = connection.get_execution_options()
        driver: Any = connection.connection.driver_connection
        results = _answers(driver, options["begins"])
        failed = any(result.error_message for result in results)
        if not results or (failed and not _undone(driver)):
            connection.invalidate()
            raise Unreached(_gone(called))
        # what went wrong while the server was asked goes wrong again, and then SQLAlchemy hears of it
        if "queue" in options and (failed or results[-1].get_value(0, 0) is None):
            options["queue"].take(connection)

    return ask


def _undone(connection: psycopg.Connection[Any]) -> bool:
    """End a transaction that failed, where the connection is still there."""
    import psycopg

    try:
        connection.rollback()
    except psycopg.Error:
        return False
    return True


def _answers(connection: psycopg.Connection[Any], question: str) -> list[PGresult]:
    """The server's answers on this connection to some statements; nothing where it does not answer in time."""
    import psycopg

    wire, deadline = connection.pgconn, time.monotonic() + _ANSWER
    try:
        with selectors.DefaultSelector() as ready:
            ready.register(wire.socket, selectors.EVENT_READ)
            wire.send_query(question.encode())
            wire.flush()
            while wire.is_busy():
                if not ready.select(max(0, deadline - time.monotonic())):
                    return []
                wire.consume_input()
        return list(iter(wire.get_result, None))
    except (psycopg.Error, OSError, ValueError):
        return []


def _copy(source: Connection, target: Connection) -> None:
    for table in tables.metadata.sorted_tables:
        with source.execute(select(table).execution_options(yield_per=100)) as found:
            for part in found.mappings().partitions():
                target.execute(table.insert(), [dict(record) for record in part])


# ---------------------------------------------------------------- refusals


def _no_location(rule: str) -> LedgerError:
    step = "write postgresql://user@host/database, or postgresql://user@host/database?schema=team"
    return LedgerError(f"{rule}; {step}", value="postgresql://...", rule=rule, next_step=step)


def _no_driver(called: str) -> LedgerError:
    rule, step = "a ledger on PostgreSQL needs psycopg", 'install it: pip install "dpviz[postgres]"'
    return LedgerError(f"{rule}; {step}", value=called, rule=rule, next_step=step)


def _not_durable(called: str) -> LedgerError:
    rule, step = "a charge is on disk before anything is drawn", "turn fsync on in the server's configuration"
    said = f"the server of the ledger {called} has fsync off, so a charge could be lost with the power; {step}"
    return LedgerError(said, value="fsync = off", rule=rule, next_step=step)


_NEEDED = "a ledger on a server needs the server"


def _gone(called: str, *, starting: bool = False) -> LedgerAway:
    """The server answered before."""
    state = "is starting up and not ready yet" if starting else "is away: it does not answer"
    step = "try again when it is back"
    error = LedgerAway(f"the server of the ledger {called} {state}; {step}", value=called, rule=_NEEDED, next_step=step)
    error.starting = starting
    return error


def _silent(called: str) -> LedgerAway:
    said, step = _UNREACHED["silent"]
    return LedgerAway(f"the server of the ledger {called} {said}; {step}", value=called, rule=_NEEDED, next_step=step)


_UNREACHED = {
    "starting": ("is starting up and not ready yet", "try again in a moment"),
    "refused": (
        "cannot be reached: nothing listens at the host and port that the URL names",
        "correct host and port, or have the server started, and try again",
    ),
    "host": (
        "cannot be reached: the host that the URL names is not known",
        "correct the host, or see that this machine is on the network, and try again",
    ),
    "silent": (
        "does not answer",
        "see that host and port are right and no firewall is between, or wait until the server is back, and try again",
    ),
    "full": ("has no connection left for you", "close a kernel that uses it, or try again later"),
}
"""Errors that keep a connection from a server that may be there later: what is so, and the next step."""

_NOT_LET_IN = {
    "password": (
        "cannot be reached: it does not take the password, or got none",
        "correct user and password in the URL, in PGPASSWORD or in the password file (~/.pgpass, yours alone to read)",
    ),
    "database": (
        "cannot be reached: the server is there, and has no database of that name",
        "correct the database that the URL names, or have it created",
    ),
    "role": (
        "cannot be reached: the server is there, and the role that the URL names does not exist or may not log in",
        "correct the user in the URL, or ask whoever keeps the server for a role that may log in",
    ),
    "connect": (
        "cannot be reached: the server is there, and the role may not connect to the database",
        "ask whoever keeps the database to GRANT CONNECT on it to your role",
    ),
    "entry": (
        "cannot be reached: the server is there, and lets nobody in from here as that user (pg_hba.conf)",
        "ask whoever keeps the server to let you in; if it wants encryption, add sslmode=require to the URL",
    ),
    "no tls": (
        "cannot be reached: the URL asks for TLS, and the server offers none",
        "have TLS turned on at the server, or correct sslmode in the URL",
    ),
    "tls": (
        "cannot be reached: TLS with the server fails, for its certificate or yours does not fit",
        "see that sslrootcert and sslmode fit the server's certificate, and sslcert and sslkey are yours",
    ),
    "url": (
        "cannot be reached: an option of the URL is one that the driver does not take",
        "correct what follows the ? in the URL, or the port",
    ),
    "other": (
        "cannot be reached: the server is there, and does not let you in",
        "see that user, password and database are right, and what the server's log says",
    ),
}
"""Errors that keep a connection away until somebody corrects them."""

_WORDS = (
    ("starting", "database system is (starting up|not yet accepting|in recovery)"),
    ("silent", "database system is shutting down|timeout expired|timed out|closed the connection|reset by peer"),
    ("silent", "network is unreachable|no route to host|host is down|connection aborted"),
    ("refused", "connection refused|no such file or directory"),
    ("host", "resolve host|translate host name|name or service not known|nodename nor servname"),
    ("full", "too many (connections|clients)|remaining connection slots"),
    ("no tls", "does not support ssl|server does not support tls"),
    ("entry", "no pg_hba.conf entry|pg_hba.conf rejects"),
    ("tls", "ssl error|certificate|tlsv?1|sslv3|tls alert|ssl negotiation|root\\.crt"),
    ("url", "invalid (connection option|.*value|integer)|bad value|unrecognized|invalid port"),
    ("database", 'database ".*" does not exist'),
    ("connect", "permission denied for database"),
    ("role", 'role ".*" does not exist|not permitted to log in'),
    ("password", "password authentication failed|no password supplied|authentication failed|pgpass"),
)
"""How the driver, and a server that speaks English, name what is wrong; of others only the password is known."""


def _no_connection(called: str, words: str, used_password: bool) -> LedgerError:
    """Why there is no connection, in our words. The driver has nothing but words, with user, host and port in them."""
    kind = next((kind for kind, pattern in _WORDS if re.search(pattern, words, re.IGNORECASE)), "other")
    if kind in _UNREACHED:
        said, step = _UNREACHED[kind]
        away = LedgerAway(
            f"the server of the ledger {called} {said}; {step}", value=called, rule=_NEEDED, next_step=step
        )
        away.starting = kind == "starting"
        return away
    said, step = _NOT_LET_IN["password" if kind == "other" and used_password else kind]
    rule = "a server lets in whom it knows"
    return LedgerError(f"the ledger {called} {said}; {step}", value=called, rule=rule, next_step=step)


def _refusal(code: str, called: str) -> LedgerError:
    """Translate PostgreSQL's error into the words of a ledger."""
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
    """Whether the server is gone, or was not reached. It has forgotten everything that it had not committed."""
    if not isinstance(error, DBAPIError):
        return False
    code = _code(error)
    if code is not None:
        return error.connection_invalidated or code.startswith(_AWAY)
    return error.connection_invalidated or type(error.orig).__name__ == "OperationalError"
