"""The database under a ledger: whole transactions, durable before they return. Everything particular to SQLite is here.

A ledger is one file in WAL mode. A writer takes the write lock at its start (BEGIN IMMEDIATE), so a check and the
charge that rests on it are one step for all processes. SQLite lets whoever comes by at the right moment overtake the
others; a lock on a second file, which the system hands on in turn, keeps the waits alike. It is courtesy only: where
it cannot be had, SQLite alone decides.

The ledger's file is never opened except through SQLite: closing a file drops every lock this process holds on it.
"""

from __future__ import annotations

import contextlib
import errno
import os
import secrets
import sqlite3
import sys
import threading
import time
import weakref
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from sqlalchemy import Connection, Engine, create_engine, event
from sqlalchemy.engine import make_url
from sqlalchemy.exc import ArgumentError, DBAPIError, SQLAlchemyError
from sqlalchemy.pool import QueuePool

from dpviz.errors import LedgerError, LedgerFormat, LedgerFull, LedgerReadOnly, short
from dpviz.session.ledger import tables
from dpviz.session.ledger.chain import broken

if sys.platform != "win32":
    import fcntl

PATIENCE = 30.0
"""How many seconds a transaction waits for the lock before it is refused."""

_STEP = 0.003
_BUSY = (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)
_COMPANIONS = ("-wal", "-shm", "-journal", "-lock")

T = TypeVar("T")


class Store:
    """One ledger file. Safe to use from several threads, and across a fork."""

    def __init__(self, path: Path, *, writable: bool = True, called: Path | None = None, new: bool = False) -> None:
        self._path = path
        self._called = called or path
        self._writable = writable
        self._identity = _identity(path)
        self._writing, self._reading = threading.RLock(), threading.RLock()
        connect = partial(_connect, path, writable=writable, new=new)
        engine = create_engine(
            "sqlite://", creator=connect, poolclass=QueuePool, pool_size=2, max_overflow=0, hide_parameters=True
        )
        event.listen(engine, "begin", _begin)
        self._engine = engine
        self._writer = engine.execution_options(begins="BEGIN IMMEDIATE")
        self._reader = engine.execution_options(begins="BEGIN")
        _stores.add(self)
        weakref.finalize(self, engine.dispose)  # the last to let go of a ledger folds the log of writes into the file

    def write(self, work: Callable[[Connection], T]) -> T:
        """Run `work` in one transaction that holds the write lock; durable when this returns, or nothing happened."""
        if not self._writable:
            raise LedgerReadOnly(
                f"the ledger {self._called} was opened for reading only; open it with a session",
                value=str(self._called),
                rule="a ledger opened for reading is never written",
                next_step="open it with a session",
            )
        deadline = time.monotonic() + PATIENCE
        with self._writing, _turn(self._path.with_name(self._path.name + "-lock"), deadline):
            return self._transaction(self._writer, work, deadline)

    def read(self, work: Callable[[Connection], T]) -> T:
        """Run `work` on one unchanging view of the ledger. Does not wait for writers."""
        with self._reading:
            return self._transaction(self._reader, work, time.monotonic() + PATIENCE)

    def _transaction(self, engine: Engine, work: Callable[[Connection], T], deadline: float) -> T:
        while True:
            self._still_there()
            try:
                with engine.begin() as connection:
                    return work(connection)
            except (SQLAlchemyError, sqlite3.Error, UnicodeDecodeError) as error:  # the last: a damaged name of a table
                code, failure = _code(error), refusal(error, self._called)
            # outside the except clause: the database's own error holds statements and their values, and is dropped
            if code not in _BUSY or time.monotonic() > deadline:
                raise failure

    def check(self, connection: Connection) -> None:
        """SQLite's own view of its file."""
        if connection.exec_driver_sql("PRAGMA integrity_check(1)").scalar() != "ok":
            raise broken("SQLite finds its file inconsistent")

    def copy_to(self, path: Path) -> None:
        """Copy the present state, however many write meanwhile, into the empty file `path`."""

        def copy(connection: Connection) -> None:
            target = sqlite3.connect(path, isolation_level=None)
            try:
                target.execute("PRAGMA synchronous=EXTRA")
                source: Any = connection.connection.driver_connection
                source.backup(target)
            finally:
                target.close()

        self.read(copy)

    def close(self) -> None:
        """Let go of the file. The next transaction opens it again."""
        with self._writing, self._reading:
            self._engine.dispose()

    def _still_there(self) -> None:
        if _identity(self._path) != self._identity:
            raise LedgerError(
                f"the ledger {self._called} was removed or replaced while it was open; put it back, or open it anew",
                value=str(self._called),
                rule="a ledger stays in its place while it is open",
                next_step="put it back, or open it anew",
            )


def _connect(path: Path, *, writable: bool, new: bool) -> sqlite3.Connection:
    if writable:
        connection = _open(path, "mode=rw")
        for pragma in ("synchronous=EXTRA", "fullfsync=1", "checkpoint_fullfsync=1"):  # EXTRA is FULL and more
            connection.execute(f"PRAGMA {pragma}")
        if new:
            connection.execute("PRAGMA journal_mode=WAL")
        return connection
    connection = _open(path, "mode=ro")
    try:
        connection.execute("SELECT 1 FROM sqlite_master").fetchone()
    except sqlite3.OperationalError:
        # a folder that cannot be written has no room for the index of the log; where there is no log none is needed
        connection.close()
        if _size(path.with_name(path.name + "-wal")):
            raise
        connection = _open(path, "immutable=1")
    _complete(connection)
    return connection


def _complete(connection: sqlite3.Connection) -> None:
    """Beside a ledger of format 1, opened for reading, stand in memory the tables that it has no rows for."""
    there = {name for (name,) in connection.execute("SELECT name FROM sqlite_master")}
    for table in (tables.use, tables.draw):
        if table.name not in there:
            columns = ", ".join(f'"{column.name}"' for column in table.columns)
            connection.execute(f'CREATE TEMP TABLE "{table.name}" ({columns})')


def _open(path: Path, how: str) -> sqlite3.Connection:
    uri = f"{path.as_uri()}?{how}"
    return sqlite3.connect(uri, uri=True, timeout=_STEP, isolation_level=None, check_same_thread=False)


def _begin(connection: Connection) -> None:
    connection.exec_driver_sql(connection.get_execution_options()["begins"])


@contextlib.contextmanager
def _turn(path: Path, deadline: float) -> Iterator[None]:
    """Wait in turn for the lock on `path`, until the deadline at most."""
    descriptor = None
    if sys.platform != "win32":
        with contextlib.suppress(OSError, RuntimeError):  # whether the folder can be written is for SQLite to say
            descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
            _lock(descriptor, deadline)
    try:
        yield
    finally:
        if descriptor is not None:
            with contextlib.suppress(OSError):
                fcntl.flock(descriptor, fcntl.LOCK_UN)
            os.close(descriptor)


def _lock(descriptor: int, deadline: float) -> None:
    """Asking again and again would lose the turn, so a thread waits inside the system, which keeps the order."""
    with contextlib.suppress(BlockingIOError):
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return

    def wait(descriptor: int) -> None:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        finally:
            os.close(descriptor)  # a copy: where nobody waits for the turn any more, this lets go of it

    waiting = threading.Thread(target=wait, args=(os.dup(descriptor),), name="dpviz-turn", daemon=True)
    waiting.start()
    waiting.join(max(0, deadline - time.monotonic()))


# ---------------------------------------------------------------- files


def locate(location: str | Path) -> Path:
    """The file a user means by a path or by an SQLAlchemy URL."""
    if isinstance(location, str) and "://" in location:
        try:
            url = make_url(location)
        except (ArgumentError, ValueError):
            raise _no_place(location.partition("://")[0] + "://...") from None  # the rest may hold a password
        if url.get_backend_name() != "sqlite" or not url.database or url.database == ":memory:" or url.query:
            raise _no_place(url.render_as_string(hide_password=True))
        location = url.database
    if not isinstance(location, str | Path) or str(location) in ("", ":memory:"):
        raise _no_place(location)
    return Path(location).expanduser().absolute()


def _no_place(location: object) -> LedgerError:
    rule, step = "a ledger is a file, or the SQLAlchemy URL of a SQLite file", "write a path like visits.ledger"
    shown = short(repr(location) if isinstance(location, str) else location)
    return LedgerError(f"{rule}, got {shown}; {step}", value=shown, rule=rule, next_step=step)


def exists(path: Path) -> bool:
    """Whether something is at `path`. What cannot be a ledger whatever it holds is refused here."""
    try:
        size = path.stat().st_size
    except FileNotFoundError:
        for log in (path.with_name(path.name + end) for end in ("-wal", "-journal")):
            if _size(log):
                raise broken(f"{path} is missing, but {log.name} with its last writes is there") from None
        return False
    except OSError as error:
        raise file_refusal(error, path) from None
    if path.is_dir():
        raise no_ledger(path, "is a folder")
    if size == 0:
        raise broken(f"{path} is empty")
    return True


@contextlib.contextmanager
def appearing(path: Path) -> Iterator[Path]:
    """An empty draft beside `path` that takes its place whole, or leaves no trace; FileExistsError if it is taken."""
    draft = path.with_name(f".{path.name}.{secrets.token_hex(8)}")
    try:
        draft.touch(exist_ok=False)
        yield draft
        os.link(draft, path)
    finally:
        for end in ("", *_COMPANIONS):
            with contextlib.suppress(OSError):
                draft.with_name(draft.name + end).unlink()
    if os.name == "posix":
        folder = os.open(path.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)


def create(path: Path, fill: Callable[[Connection], object]) -> None:
    """Make a ledger at `path` with what `fill` writes. Where another process was first, theirs stays."""
    try:
        with appearing(path) as draft:
            store = Store(draft, called=path, new=True)
            try:
                store.write(tables.metadata.create_all)
                store.write(fill)
            finally:
                store.close()
    except FileExistsError:
        return
    except OSError as error:
        raise file_refusal(error, path) from None


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0


def _identity(path: Path) -> tuple[int, int] | None:
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino


# ---------------------------------------------------------------- refusals


def no_ledger(path: Path, what: str) -> LedgerFormat:
    rule, step = "a ledger is a file that dpviz made", "give the path of a ledger, or of a file that does not exist yet"
    return LedgerFormat(f"{path} {what}; {step}", value=str(path), rule=rule, next_step=step)


def file_refusal(error: OSError, path: Path) -> LedgerError:
    """What the operating system said of a file, in the words of a ledger."""
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return _full(path)
    if error.errno in (errno.EACCES, errno.EPERM, errno.EROFS):
        return _read_only(path)
    rule = "a ledger lies in a folder that exists, on a file system with hard links"
    step = "choose a folder on a local disk"
    reason = os.strerror(error.errno) if error.errno else "the file system refused"
    return LedgerError(f"no ledger can be at {path} ({reason}); {step}", value=str(path), rule=rule, next_step=step)


def refusal(error: Exception, path: Path) -> LedgerError:
    """What the database said, in the words of a ledger and without the statement it said it about."""
    code = _code(error)
    if code in _BUSY:
        rule, step = "a ledger is locked for the time of one write", "see which other process holds it, and try again"
        said = f"the ledger {path} stayed locked for {PATIENCE:g} seconds; {step}"
        return LedgerError(said, value=str(path), rule=rule, next_step=step)
    if code == sqlite3.SQLITE_FULL:
        return _full(path)
    if code in (sqlite3.SQLITE_READONLY, sqlite3.SQLITE_PERM, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_AUTH):
        return _read_only(path)
    if code == sqlite3.SQLITE_NOTADB:
        return no_ledger(path, "is not a ledger, or its first bytes are damaged")
    if code == sqlite3.SQLITE_IOERR:
        rule, step = (
            "a ledger needs a disk that reads and writes",
            "see that the disk works and has room, and try again",
        )
        said = f"the disk refused to read or write the ledger {path}; {step}"
        return LedgerError(said, value=str(path), rule=rule, next_step=step)
    if code == sqlite3.SQLITE_ERROR:  # a table or a column is not there
        return no_ledger(path, "is a database but not a ledger")
    return broken(f"{path} cannot be read as it was written")


def _code(error: BaseException) -> int | None:
    """SQLite's primary result code, where the error came from SQLite."""
    origin = error.orig if isinstance(error, DBAPIError) else error
    code = getattr(origin, "sqlite_errorcode", None)
    return None if code is None else code & 0xFF


def _full(path: Path) -> LedgerFull:
    rule, step = "a charge is on disk before anything is drawn", "free some space and try again"
    said = f"there is no room to write to the ledger {path}; {step}"
    return LedgerFull(said, value=str(path), rule=rule, next_step=step)


def _read_only(path: Path) -> LedgerReadOnly:
    rule, step = "a ledger and its folder can be written", "check the rights of the file and of its folder"
    said = f"the ledger {path} cannot be opened for writing; {step}"
    return LedgerReadOnly(said, value=str(path), rule=rule, next_step=step)


# ---------------------------------------------------------------- forks

_stores: weakref.WeakSet[Store] = weakref.WeakSet()
_forking = threading.Lock()
_paused: list[Store] = []


def _before_fork() -> None:
    """A SQLite connection must not cross a fork, so none is open then."""
    _forking.acquire()
    for store in list(_stores):
        store._writing.acquire()
        store._reading.acquire()
        store._engine.dispose()
        _paused.append(store)


def _after_fork() -> None:
    while _paused:
        store = _paused.pop()
        store._reading.release()
        store._writing.release()
    _forking.release()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before_fork, after_in_parent=_after_fork, after_in_child=_after_fork)
