"""A ledger in one SQLite file, with a rollback journal. Everything particular to SQLite is here.

Committed rows stand in the ledger's file itself. The journal beside it is there for the time of one write only: a
journal that is lost while a killed write waits to be undone leaves a file that is refused, never one that forgets a
charge. A ledger of an older dpviz, which kept its last writes in a log, is brought into this form when it is opened.

A writer begins with BEGIN IMMEDIATE. SQLite lets whoever comes by at the right moment overtake the others; a lock on a
second file, which the system hands on in turn, keeps the waits alike. It is courtesy only: where it cannot be had,
SQLite alone decides.

A file has one name, for SQLite looks for its journal beside the name it was given: links to it are followed, and a
second name is refused. The ledger's file is never opened except through SQLite: closing a file drops every lock this
process holds on it.
"""

from __future__ import annotations

import contextlib
import errno
import os
import re
import secrets
import sqlite3
import sys
import threading
import time
import weakref
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any, ClassVar

from sqlalchemy import Connection, create_engine
from sqlalchemy.exc import DBAPIError, SQLAlchemyError
from sqlalchemy.pool import QueuePool

from dpviz import files, threads
from dpviz.errors import LedgerError, LedgerFormat, LedgerReadOnly
from dpviz.session.ledger import packing, schema, store, tables, witness
from dpviz.session.ledger.chain import Row, broken
from dpviz.session.ledger.witness import ABSENT, Beside, Note

if sys.platform != "win32":
    import fcntl

_STEP = 0.003
_AGAIN = 0.02
_LOOKS = 5
_BUSY = (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)
_MOUNTS = Path("/proc/self/mountinfo")
_HOT = 776  # SQLITE_READONLY_ROLLBACK: a write was cut short, and is undone by who may write
_DURABLE = ("synchronous=EXTRA", "fullfsync=1", "checkpoint_fullfsync=1")  # EXTRA is FULL and more
_JOURNAL = "journal_mode=PERSIST"  # the journal's file stays and its head is struck out: the quickest that lasts


@dataclass(frozen=True)
class File:
    """A path that a ledger is at, or could be at."""

    path: Path
    format: ClassVar[int] = packing.FORMAT
    keeps_note: ClassVar[bool] = True

    def __str__(self) -> str:
        return str(self.path)

    @property
    def passing(self) -> bool:
        return files.temporary(self.path)

    @property
    def name(self) -> str:
        return self.path.name

    @property
    def identity(self) -> str:
        return f"file {str(self.path)!a}"

    def store(self, *, writable: bool = True) -> SqliteStore:
        return SqliteStore(self.path, writable=writable)

    def exists(self) -> bool:
        try:
            size = self.path.stat().st_size
        except FileNotFoundError:
            log = _unfinished(self.path)
            if log is not None:
                raise broken(f"{self} is missing, but {log.name} with its last writes is there") from None
            return False
        except OSError as error:
            raise self.refusal(error) from None
        if self.path.is_dir():
            raise no_ledger(self.path, "is a folder")
        if size == 0:
            raise broken(f"{self} is empty")
        _one_name(self.path)
        return True

    def create(self, fill: Callable[[Connection], object]) -> bool:
        try:
            with self._appearing() as draft:
                made = SqliteStore(draft, called=self.path)
                try:
                    made.write(tables.make)
                    made.write(fill)
                finally:
                    made.close()
        except FileExistsError:
            return False
        except OSError as error:
            raise self.refusal(error) from None
        return True

    def beside(self) -> Beside:
        return ABSENT if sys.platform == "win32" else witness.beside(self.path.with_name(self.path.name + "-lock"))

    @contextlib.contextmanager
    def copied(self, copy: Callable[[Path], None]) -> Iterator[SqliteStore]:
        """The draft that `copy` writes, to be looked at; if nothing is said against it, it appears here whole."""
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

    def set_aside(self, check: Callable[[Connection], None]) -> Path:
        """Give the ledger another name beside this one, once `check` said nothing against it. Nobody can write to it
        meanwhile, and sessions that have it open write nothing to it afterwards: they look whether it is in its place.
        """
        opened = SqliteStore(self.path)

        def rename(connection: Connection) -> Path:
            check(connection)
            names = (self.path.with_name(f"{self.path.stem}.unspent-{at}{self.path.suffix}") for at in count(1))
            place = next(name for name in names if not name.exists())
            os.rename(self.path, place)
            return place

        try:
            place = opened.write(rename)
        except OSError as error:
            raise self.refusal(error) from None
        finally:
            opened.close()
        self._flush_folder()
        return place

    @contextlib.contextmanager
    def _appearing(self) -> Iterator[Path]:
        """An empty draft that takes this place whole, or leaves no trace; FileExistsError if it is taken."""
        path = self.path
        draft = path.with_name(f".{path.name}.{secrets.token_hex(8)}")
        try:
            draft.touch(exist_ok=False)
            yield draft
            files.appear(draft, path)
        finally:
            for end in ("", *files.COMPANIONS):
                with contextlib.suppress(OSError):
                    draft.with_name(draft.name + end).unlink()
        self._flush_folder()

    def _flush_folder(self) -> None:
        """Have the names in the folder last beyond a loss of power."""
        if os.name == "posix":
            folder = os.open(self.path.parent, os.O_RDONLY)
            try:
                os.fsync(folder)
            finally:
                os.close(folder)

    def refusal(self, error: OSError) -> LedgerError:
        """Translate the operating system's error about a file into the words of a ledger."""
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

    def __init__(self, path: Path, *, writable: bool = True, called: Path | None = None) -> None:
        self._path, self._beside = path, path.with_name(path.name + "-lock")
        self._kept = files.Kept(path)
        self._identity = None if (found := _found(path)) is None else (found.st_dev, found.st_ino)
        self._least = self._leaving = 0  # the bytes that the file had when it was last written here, or will have
        self._turned: int | None = None
        self._schema: int | None = (
            None  # the version that SQLite gives to tables and triggers, when they were looked at
        )
        connect = partial(_connect, path, writable=writable)
        engine = create_engine(
            "sqlite://", creator=connect, poolclass=QueuePool, pool_size=2, max_overflow=0, hide_parameters=True
        )
        writer, reader = (engine.execution_options(begins=begins) for begins in ("BEGIN IMMEDIATE", "BEGIN"))
        super().__init__(str(called or path), writer, reader, writable=writable, beginning=_begin)
        if self._identity is not None:
            _known_by_one_name(self)

    def prepare(self) -> None:
        """Bring the file of an older dpviz into the form with a rollback journal, once nobody keeps a log of it.

        LedgerReadOnly where nothing could be written.
        """
        if not self._writable:
            return
        wait = store.Wait(self)
        with self._writing, self.turn(wait):
            while True:
                self.ready()
                try:
                    _without_log(self._path)
                    return
                except sqlite3.Error as error:
                    failure, again = self.refusal(error)
                if isinstance(failure, LedgerReadOnly):
                    raise failure
                if not again:
                    return  # whatever it is, the first transaction is refused for it
                if wait.over:
                    raise wait.named(failure)
                wait.tell(self.holder)
                time.sleep(_STEP)

    @contextlib.contextmanager
    def turn(self, wait: store.Wait) -> Iterator[None]:
        """Wait in turn for the lock on the second file, until the wait is over at most."""
        descriptor = None
        if sys.platform != "win32":
            with contextlib.suppress(OSError):  # whether the folder can be written is for SQLite to say
                descriptor = witness.opened(self._beside)
                if _lock(descriptor, wait, self._holder_of_turn):
                    witness.hold(descriptor)
        self._turned = descriptor
        try:
            yield
        finally:
            self._turned = None
            if descriptor is not None:
                with contextlib.suppress(OSError):
                    fcntl.flock(descriptor, fcntl.LOCK_UN)
                os.close(descriptor)

    def _holder_of_turn(self) -> str | None:
        found = witness.holder(self._beside)
        if found is not None and found.pid == os.getpid():
            return None
        return "" if found is None else str(found)

    def holder(self) -> str | None:
        for _ in range(_LOOKS):
            who = witness.other_holder(self._path)
            if who != "":
                return who
            time.sleep(_STEP)  # perhaps it was let go of at this moment
        return ""

    def ready(self) -> None:
        self._in_place("it was removed or replaced while it was open")

    def _in_place(self, what: str, step: str = "put it back, or open it anew") -> None:
        """Refuse unless the path names the file that was opened, by this one name, and none of it was cut off."""
        least = self._least  # asked first: another thread may write between the two, and the file only grows
        found = _found(self._path)
        if found is None or (found.st_dev, found.st_ino) != self._identity:
            rule = "a ledger stays in its place while it is open"
            raise LedgerError(
                f"the ledger {self._called}: {what}; {step}", value=self._called, rule=rule, next_step=step
            )
        if found.st_nlink > 1:
            _one_name(self._path)
        if found.st_size < least:
            raise broken(f"{self._called} was cut off while it was open")

    def leaving(self, connection: Connection) -> None:
        pages, size, mode = (_pragma(connection, of) for of in ("page_count", "page_size", "journal_mode"))
        self._leaving = pages * size
        if mode == "wal":
            rule, step = "what is charged stands in the ledger's own file, not in a log beside it", "open it anew"
            said = f"somebody gave the ledger {self._called} a log (WAL) while it was open, and {rule}; {step}"
            raise LedgerError(said, value=self._called, rule=rule, next_step=step)

    def wrote(self, row: Row) -> None:
        self._least = self._leaving
        what = "it was removed or replaced while it was written to, so that the last write may be lost"
        self._in_place(what, "put it back, and count what was charged as spent")
        if self._turned is not None and self.first is not None:
            with contextlib.suppress(OSError):
                witness.note(self._turned, Note(self.first, row.seq, row.hash))

    def noted(self) -> Note | None:
        return witness.noted(self._beside)

    def note(self, row_: tuple[int, str], *, anew: bool = False) -> None:
        there = self.noted()
        if self.first is None or sys.platform == "win32":
            return
        if not anew and there is not None and there.chain == self.first and there.seq >= row_[0]:
            return  # one that is behind is of a program that ended between a write and its note
        with contextlib.suppress(OSError):
            descriptor = witness.opened(self._beside)
            try:
                witness.note(descriptor, Note(self.first, *row_))
            finally:
                os.close(descriptor)

    def schema(self, connection: Connection) -> None:
        schema.check_sqlite(connection)

    def unchanged(self, connection: Connection) -> None:
        version = _pragma(connection, "schema_version")
        if version != self._schema:
            self.schema(connection)
            self._schema = version

    def refusal(self, error: Exception) -> tuple[LedgerError, bool]:
        code = _code(error)
        if not self._writable and _extended(error) == _HOT:  # somebody was killed while writing: connect anew, and undo
            self._writer.dispose()
            return _read_only(Path(self._called)), True
        journal = self._path.with_name(self._path.name + "-journal")
        if code == sqlite3.SQLITE_IOERR and journal.exists() and not os.access(journal, os.W_OK):
            code = sqlite3.SQLITE_READONLY  # SQLite opens it for reading, and fails when it writes
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


def _begin(connection: Connection) -> None:
    """Say to SQLite what this kind of transaction begins with."""
    driver: Any = connection.connection.driver_connection
    driver.execute(connection.get_execution_options()["begins"])


def _pragma(connection: Connection, name: str) -> Any:
    driver: Any = connection.connection.driver_connection
    (value,) = driver.execute(f"PRAGMA {name}").fetchone()
    return value


def _connect(path: Path, *, writable: bool) -> sqlite3.Connection:
    if writable:
        connection = _open(path, "mode=rw")
        for pragma in (*_DURABLE, _JOURNAL):
            connection.execute(f"PRAGMA {pragma}")
        return connection
    connection = _open(path, "mode=ro")
    try:
        connection.execute("SELECT 1 FROM sqlite_master").fetchone()
    except sqlite3.OperationalError as error:
        connection.close()
        if _code(error) not in (sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN):
            raise
        connection = _looking(path)
    _complete(connection)
    return connection


def _looking(path: Path) -> sqlite3.Connection:
    """A connection for looking where a write is to be undone first, or where nothing can be written at all."""
    connection = _open(path, "mode=rw")
    try:
        connection.execute("PRAGMA query_only=ON")
        connection.execute("SELECT 1 FROM sqlite_master").fetchone()
        return connection
    except sqlite3.OperationalError:
        # a folder that cannot be written has no room for the index of a log; where there is no log none is needed
        connection.close()
        if _unfinished(path) is not None:
            raise
        return _open(path, "immutable=1")


def _without_log(path: Path) -> None:
    """Write what is in a log into the file, for good, which SQLite does when nobody else has the file open. And begin
    a write that changes nothing, to be refused now and not at a charge.
    """
    connection = _open(path, "mode=rw")
    try:
        for pragma in _DURABLE:
            connection.execute(f"PRAGMA {pragma}")
        connection.execute("SELECT 1 FROM sqlite_master").fetchone()
        if connection.execute("PRAGMA journal_mode").fetchone() == ("wal",):
            connection.execute(f"PRAGMA {_JOURNAL}")
        connection.execute("BEGIN IMMEDIATE")
        (version,) = connection.execute("PRAGMA user_version").fetchone()
        connection.execute(f"PRAGMA user_version={version}")  # begins a journal, and so finds out whether that can be
        connection.execute("ROLLBACK")
    finally:
        connection.close()


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


def _lock(descriptor: int, wait: store.Wait, holder: Callable[[], str | None]) -> bool:
    """Asking again and again would lose the turn, so a thread waits inside the system, which keeps the order.

    Where there are no threads, the turn is lost to whoever has one.
    """
    with contextlib.suppress(BlockingIOError):
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return True

    def queue(descriptor: int) -> None:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        finally:
            os.close(descriptor)  # a copy: where nobody waits for the turn any more, this lets go of it

    copy = os.dup(descriptor)
    waiting = threads.start(lambda: queue(copy), "dpviz-turn")
    if waiting is None:
        os.close(copy)
    for until in (wait.notice, wait.deadline):
        moment = min(until, wait.deadline)
        if _locked_by(descriptor, moment) if waiting is None else _ended_by(waiting, moment):
            return True
        wait.tell(holder)
    return False


def _ended_by(waiting: threading.Thread, moment: float) -> bool:
    waiting.join(max(0.0, moment - time.monotonic()))
    return not waiting.is_alive()


def _locked_by(descriptor: int, moment: float) -> bool:
    """Ask again and again."""
    while True:
        with contextlib.suppress(BlockingIOError):
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return True
        left = moment - time.monotonic()
        if left <= 0:
            return False
        time.sleep(min(left, _AGAIN))


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0


def _unfinished(path: Path) -> Path | None:
    """Files that stand beside a ledger and belong into it: a log, or a journal that was not gone through to its end."""
    log, journal = (path.with_name(path.name + end) for end in ("-wal", "-journal"))
    if _size(log):
        return log
    try:
        with journal.open("rb") as opened:
            return journal if any(opened.read(8)) else None
    except OSError:
        return journal if _size(journal) else None


def _found(path: Path) -> os.stat_result | None:
    try:
        return path.stat()
    except OSError:
        return None


# ---------------------------------------------------------------- one file, one name

_open_stores: weakref.WeakSet[SqliteStore] = weakref.WeakSet()


def _one_name(path: Path) -> None:
    """Refuse a file with a second name: its journal would be looked for beside one of them only.

    A kernel that is killed while it makes a ledger, or a backup, may leave the draft's name beside it; that is removed.
    """
    found = _found(path)
    if found is None:
        return
    if found.st_nlink > 1:
        _remove_drafts(path, found)
        found = _found(path)
    if found is not None and found.st_nlink > 1:
        raise _two_names(path, f"has {found.st_nlink} names (hard links)", "remove the other names, or make a copy")
    if _is_mounted(path):
        raise _two_names(path, "is mounted here by itself, and has another name elsewhere", "mount its folder instead")


def _remove_drafts(path: Path, found: os.stat_result) -> None:
    draft = re.compile(rf"\.{re.escape(path.name)}\.[0-9a-f]{{16}}")
    with contextlib.suppress(OSError):
        for other in path.parent.iterdir():
            if draft.fullmatch(other.name):
                linked = other.lstat()
                if (linked.st_dev, linked.st_ino) == (found.st_dev, found.st_ino):
                    other.unlink()


def _is_mounted(path: Path) -> bool:
    """Whether the very file is a mount point, where the system tells."""
    try:
        mounts = _MOUNTS.read_bytes().splitlines()
    except OSError:
        return False
    here = os.fsencode(path)
    return any(_unescaped(mount.split(b" ")[4]) == here for mount in mounts)


def _unescaped(name: bytes) -> bytes:
    return re.sub(rb"\\([0-7]{3})", lambda found: bytes([int(found[1], 8)]), name)


def _known_by_one_name(opened: SqliteStore) -> None:
    """Refuse a file that this process has open under another name, which still names it."""
    for other in list(_open_stores):
        if other._path != opened._path and other._identity == opened._identity:
            found = _found(other._path)
            if found is not None and (found.st_dev, found.st_ino) == opened._identity:
                raise _two_names(
                    opened._path, f"is open already in this process as {other._path}", "open it under one name"
                )
    _open_stores.add(opened)


def _two_names(path: Path, what: str, step: str) -> LedgerError:
    rule = "a ledger is one file with one name"
    return LedgerError(f"{path} {what}, and {rule}; {step}", value=str(path), rule=rule, next_step=step)


# ---------------------------------------------------------------- refusals


def no_ledger(path: Path, what: str) -> LedgerFormat:
    return store.no_ledger(str(path), what, "give the path of a ledger, or of a file that does not exist yet")


def _refusal(code: int | None, path: Path) -> LedgerError:
    """Translate SQLite's error into the words of a ledger."""
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


def _extended(error: BaseException) -> int | None:
    """SQLite's extended result code, where the error came from SQLite."""
    origin = error.orig if isinstance(error, DBAPIError) else error
    code: int | None = getattr(origin, "sqlite_errorcode", None)
    return code


def _code(error: BaseException) -> int | None:
    """SQLite's primary result code."""
    code = _extended(error)
    return None if code is None else code & 0xFF


def _read_only(path: Path) -> LedgerReadOnly:
    rule, step = "a ledger and its folder can be written", "check the rights of the file and of its folder"
    return store.read_only(str(path), rule, step)
