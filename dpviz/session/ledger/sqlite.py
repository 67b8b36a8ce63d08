"""A ledger in one SQLite file, in WAL mode. Everything particular to SQLite is here.

A writer begins with BEGIN IMMEDIATE. SQLite lets whoever comes by at the right moment overtake the others; a lock on a
second file, which the system hands on in turn, keeps the waits alike. It is courtesy only: where it cannot be had,
SQLite alone decides.

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
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, create_engine
from sqlalchemy.exc import DBAPIError, SQLAlchemyError
from sqlalchemy.pool import QueuePool

from dpviz.errors import LedgerError, LedgerFormat, LedgerReadOnly
from dpviz.session.ledger import store, tables
from dpviz.session.ledger.chain import broken

if sys.platform != "win32":
    import fcntl

_STEP = 0.003
_BUSY = (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)
_COMPANIONS = ("-wal", "-shm", "-journal", "-lock")


@dataclass(frozen=True)
class File:
    """A path that a ledger is at, or could be at."""

    path: Path

    def __str__(self) -> str:
        return str(self.path)

    @property
    def name(self) -> str:
        return self.path.name

    def store(self, *, writable: bool = True) -> SqliteStore:
        return SqliteStore(self.path, writable=writable)

    def exists(self) -> bool:
        try:
            size = self.path.stat().st_size
        except FileNotFoundError:
            for log in (self.path.with_name(self.path.name + end) for end in ("-wal", "-journal")):
                if _size(log):
                    raise broken(f"{self} is missing, but {log.name} with its last writes is there") from None
            return False
        except OSError as error:
            raise self.refusal(error) from None
        if self.path.is_dir():
            raise no_ledger(self.path, "is a folder")
        if size == 0:
            raise broken(f"{self} is empty")
        return True

    def create(self, fill: Callable[[Connection], object]) -> None:
        try:
            with self._appearing() as draft:
                made = SqliteStore(draft, called=self.path, new=True)
                try:
                    made.write(tables.metadata.create_all)
                    made.write(fill)
                finally:
                    made.close()
        except FileExistsError:
            return
        except OSError as error:
            raise self.refusal(error) from None

    @contextlib.contextmanager
    def copied(self, copy: Callable[[Path], None]) -> Iterator[SqliteStore]:
        """What `copy` writes into a draft, to be looked at; if nothing is said against it, it appears here whole."""
        try:
            with self._appearing() as draft:
                copy(draft)
                made = SqliteStore(draft, writable=False, called=self.path)
                try:
                    yield made
                finally:
                    made.close()
        except FileExistsError:
            rule, step = "a backup never overwrites", "choose a name that is free"
            raise LedgerError(
                f"{self} exists already, and {rule}; {step}", value=str(self), rule=rule, next_step=step
            ) from None
        except OSError as error:
            raise self.refusal(error) from None

    @contextlib.contextmanager
    def _appearing(self) -> Iterator[Path]:
        """An empty draft that takes this place whole, or leaves no trace; FileExistsError if it is taken."""
        path = self.path
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

    def refusal(self, error: OSError) -> LedgerError:
        """What the operating system said of a file, in the words of a ledger."""
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            return store.full(str(self))
        if error.errno in (errno.EACCES, errno.EPERM, errno.EROFS):
            return _read_only(self.path)
        rule = "a ledger lies in a folder that exists, on a file system with hard links"
        step = "choose a folder on a local disk"
        reason = os.strerror(error.errno) if error.errno else "the file system refused"
        return LedgerError(f"no ledger can be at {self} ({reason}); {step}", value=str(self), rule=rule, next_step=step)


class SqliteStore(store.Store):
    """One ledger file."""

    failures = (SQLAlchemyError, sqlite3.Error, UnicodeDecodeError)  # the last: a damaged name of a table

    def __init__(self, path: Path, *, writable: bool = True, called: Path | None = None, new: bool = False) -> None:
        self._path = path
        self._identity = _identity(path)
        connect = partial(_connect, path, writable=writable, new=new)
        engine = create_engine(
            "sqlite://", creator=connect, poolclass=QueuePool, pool_size=2, max_overflow=0, hide_parameters=True
        )
        writer, reader = (engine.execution_options(begins=begins) for begins in ("BEGIN IMMEDIATE", "BEGIN"))
        super().__init__(str(called or path), writer, reader, writable=writable)

    @contextlib.contextmanager
    def turn(self, deadline: float) -> Iterator[None]:
        """Wait in turn for the lock on the second file, until the deadline at most."""
        descriptor = None
        if sys.platform != "win32":
            with contextlib.suppress(OSError, RuntimeError):  # whether the folder can be written is for SQLite to say
                lock = self._path.with_name(self._path.name + "-lock")
                descriptor = os.open(lock, os.O_RDWR | os.O_CREAT, 0o666)
                _lock(descriptor, deadline)
        try:
            yield
        finally:
            if descriptor is not None:
                with contextlib.suppress(OSError):
                    fcntl.flock(descriptor, fcntl.LOCK_UN)
                os.close(descriptor)

    def ready(self) -> None:
        if _identity(self._path) != self._identity:
            raise LedgerError(
                f"the ledger {self._called} was removed or replaced while it was open; put it back, or open it anew",
                value=self._called,
                rule="a ledger stays in its place while it is open",
                next_step="put it back, or open it anew",
            )

    def refusal(self, error: Exception) -> tuple[LedgerError, bool]:
        code = _code(error)
        return _refusal(code, Path(self._called)), code in _BUSY

    def check(self, connection: Connection) -> None:
        if connection.exec_driver_sql("PRAGMA integrity_check(1)").scalar() != "ok":
            raise broken("SQLite finds its file inconsistent")

    def copy_to(self, path: Path) -> None:
        def copy(connection: Connection) -> None:
            target = sqlite3.connect(path, isolation_level=None)
            try:
                target.execute("PRAGMA synchronous=EXTRA")
                source: Any = connection.connection.driver_connection
                source.backup(target)
            finally:
                target.close()

        self.read(copy)


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
    return store.no_ledger(str(path), what, "give the path of a ledger, or of a file that does not exist yet")


def _refusal(code: int | None, path: Path) -> LedgerError:
    """What SQLite said, in the words of a ledger."""
    if code in _BUSY:
        return store.locked(str(path))
    if code == sqlite3.SQLITE_FULL:
        return store.full(str(path))
    if code in (sqlite3.SQLITE_READONLY, sqlite3.SQLITE_PERM, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_AUTH):
        return _read_only(path)
    if code == sqlite3.SQLITE_NOTADB:
        return no_ledger(path, "is not a ledger, or its first bytes are damaged")
    if code == sqlite3.SQLITE_IOERR:
        return store.bad_disk(str(path))
    if code == sqlite3.SQLITE_ERROR:  # a table or a column is not there
        return no_ledger(path, "is a database but not a ledger")
    return broken(f"{path} cannot be read as it was written")


def _code(error: BaseException) -> int | None:
    """SQLite's primary result code, where the error came from SQLite."""
    origin = error.orig if isinstance(error, DBAPIError) else error
    code = getattr(origin, "sqlite_errorcode", None)
    return None if code is None else code & 0xFF


def _read_only(path: Path) -> LedgerReadOnly:
    rule, step = "a ledger and its folder can be written", "check the rights of the file and of its folder"
    return store.read_only(str(path), rule, step)
