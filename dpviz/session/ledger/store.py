"""The database under a ledger: whole transactions, durable before they return. Code that all databases share is here.

A writer holds the ledger's one write lock from its start, so a check and the charge that rests on it are one step for
all processes. Code particular to a database is in a file of its own: `sqlite`, `postgres`.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import sys
import threading
import time
import weakref
from collections.abc import Callable
from pathlib import Path
from typing import ClassVar, Protocol, TypeAlias, TypeVar

from sqlalchemy import Connection, Engine, event
from sqlalchemy.exc import SQLAlchemyError

from dpviz.errors import LedgerAway, LedgerError, LedgerFormat, LedgerFull, LedgerReadOnly
from dpviz.session.ledger import rows
from dpviz.session.ledger.chain import Row, broken
from dpviz.session.ledger.owner import login
from dpviz.session.ledger.witness import Beside, Note
from dpviz.session.refusals import withdrawn

PATIENCE = 30.0
"""How many seconds a transaction waits for the lock before it is refused."""

AWAY = 5.0
"""How many seconds a server that answered before and is away now is waited for."""

Wanted: TypeAlias = Callable[[], bool]
"""Whether what is to be written is still wanted."""

NOTICE = 1.0
"""After how many seconds of waiting for the lock it is said who holds it."""

NAMELESS = 4.0
"""How many seconds later it is said that somebody holds it who cannot be named."""

T = TypeVar("T")


class LedgerLocation(Protocol):
    """Where a ledger is, or could be. As text it is for a person to read: no password, no host."""

    format: ClassVar[int]
    """The format of what is made there."""

    keeps_note: ClassVar[bool]
    """Whether a note of how far a ledger had come lies beside it."""

    @property
    def passing(self) -> bool:
        """Whether ledgers come and go there, so that this machine keeps none of them in mind."""

    @property
    def name(self) -> str:
        """A short name."""

    @property
    def identity(self) -> str:
        """The text that tells it from every other place, without a password. It is shown to nobody."""

    def exists(self) -> bool:
        """Whether something is there. A place that can never hold a ledger is refused here."""

    def create(self, fill: Callable[[Connection], object]) -> bool:
        """Make a ledger with what `fill` writes, whole or not at all. Where another was first, theirs stays: False."""

    def store(self, *, writable: bool = True) -> Store:
        """The database there, to work with."""

    def beside(self) -> Beside:
        """The file in the place of the note of how far a ledger had come; `ABSENT` where there is no such place."""


class Store:
    """One ledger's database. Safe to use from several threads, and across a fork."""

    failures: tuple[type[Exception], ...] = (SQLAlchemyError,)
    pause = 0.0
    """Seconds between two tries."""

    def __init__(
        self,
        called: str,
        writer: Engine,
        reader: Engine,
        *,
        writable: bool,
        beginning: Callable[[Connection], None],
    ) -> None:
        self._called = called
        self._writable = writable
        self._writing, self._reading, self._outside = threading.RLock(), threading.RLock(), threading.RLock()
        self._writer, self._reader = writer, reader
        for engine in (writer, reader):
            event.listen(engine, "begin", beginning)
        self._number = next(_numbers)
        _stores.add(self)
        weakref.finalize(self, writer.dispose)

    @property
    def writable(self) -> bool:
        return self._writable

    def write(
        self, work: Callable[[Connection], T], *, wanted: Wanted | None = None, patience: float | None = None
    ) -> T:
        """Run `work` in one transaction that holds the write lock; durable when this returns, or nothing happened.

        wanted    asked before every try and once the lock is held: where it says no, ReleaseCancelled comes and nothing
                  was written
        patience  how many seconds to wait for a server that is away
        """
        if not self._writable:
            raise LedgerReadOnly(
                f"the ledger {self._called} was opened for reading only; open it with a session",
                value=self._called,
                rule="a ledger opened for reading is never written",
                next_step="open it with a session",
            )
        wait = Wait(self)
        with self._writing, self.turn(wait):
            result, written = self._transaction(self._writer, work, wait, wanted=wanted, patience=patience)
            if written:
                self.wrote(written[-1])
            return result

    def read(self, work: Callable[[Connection], T], *, patience: float | None = None) -> T:
        """Run `work` on one unchanging view of the ledger. A writer is waited for only while it commits."""
        with self._reading:
            return self._transaction(self._reader, work, Wait(self), patience=patience)[0]

    def glance(self, work: Callable[[Connection], T]) -> T:
        """As `read`, for somebody who can do without: LedgerAway comes at once where the server is known to be away."""
        return self.read(work)

    def _transaction(
        self,
        engine: Engine,
        work: Callable[[Connection], T],
        wait: Wait,
        *,
        wanted: Wanted | None = None,
        patience: float | None = None,
    ) -> tuple[T, list[Row]]:
        """Run `work` in one transaction, and again where the database was busy or away. Also the rows written.

        Where the word on a commit was lost, the next try looks first whether the last row written is there. It looks
        under the write lock, which the lost transaction held to its end: so that one has ended.
        """
        unheard: tuple[T, list[Row]] | None = None  # the result and the rows written, until the commit is known
        gone: float | None = None  # when the server was first away
        while True:
            self.ready()
            if unheard is None:
                _still(wanted)
            tried, reached, doubt = time.monotonic(), False, unheard is not None
            try:
                with engine.begin() as connection:
                    reached = True
                    if unheard is not None and rows.holds(connection, unheard[1][-1]):
                        return unheard
                    unheard, doubt = None, False
                    _still(wanted)
                    rows.forget(connection)
                    result = work(connection)
                    written = rows.written(connection)
                    if written:
                        if not rows.end_with(connection, written):
                            raise broken(f"row {written[-1].seq} was written and is not there")
                        self.leaving(connection)
                        unheard = (result, written)
                return result, written
            except self.failures as error:
                failure, again = self.refusal(error)
            # outside the except clause: the database's own error holds statements and their values, and is dropped
            now = time.monotonic()
            if isinstance(failure, LedgerAway):
                gone = gone or (now if reached else tried)
                doubt = doubt or unheard is not None
                last_try = gone + self.patience(failure, patience)
                again = again and 2 * now - tried <= last_try  # else the next is too late
                if again and now > gone + 1:
                    self.tell(failure)
            else:
                if not doubt:
                    unheard = None  # the database itself said no: nothing of this try was recorded
                again = again and not wait.over
                if again:
                    wait.tell(self.holder)
            if not again:
                raise _unheard(self._called) if doubt else wait.named(failure)
            time.sleep(self.pause)

    def unforked(self) -> contextlib.AbstractContextManager[object]:
        """For what holds a lock outside a transaction: no fork comes meanwhile, so no child finds that lock taken."""
        return self._outside

    def close(self) -> None:
        """Let go of the database. The next transaction connects again."""
        with self._writing, self._reading:
            self._writer.dispose()

    # ------------------------------------------------------------ what a database adds

    on_wait: Callable[[str], None] | None = None
    """Told in one sentence what a transaction waits for; without it the sentence goes to the standard error."""

    first: str | None = None
    """The hash of the ledger's first row, once it is known."""

    @property
    def called(self) -> str:
        """The name for it in a message."""
        return self._called

    def prepare(self) -> None:
        """Before the first transaction: bring the database into the form in which it is charged."""

    def turn(self, wait: Wait) -> contextlib.AbstractContextManager[None]:
        """Wait in turn, where the lock of the database itself is not fair."""
        return contextlib.nullcontext()

    def ready(self) -> None:
        """Refuse where the ledger is no longer what it was."""

    def leaving(self, connection: Connection) -> None:
        """Remember what the database must still be after the transaction that is about to be committed."""

    def wrote(self, row: Row) -> None:
        """After a commit and before anything rests on it: refuse where it went to what is no longer in its place."""

    def noted(self) -> Note | None:
        """The last row noted outside the database. Ask before looking."""
        return None

    def note(self, row_: tuple[int, str], *, anew: bool = False) -> None:
        """Note how far the ledger has come, where nothing is noted of it yet; `anew`, whatever is noted."""

    def holder(self) -> str | None:
        """Who keeps the lock of the database, where it can be told; None where only this process does."""
        return ""

    def schema(self, connection: Connection) -> None:
        """Refuse what dpviz did not put into the database."""

    def unchanged(self, connection: Connection) -> None:
        """The same at every look, where that costs next to nothing."""

    def refusal(self, error: Exception) -> tuple[LedgerError, bool]:
        """Translate the database's error into the words of a ledger and without the statement; and whether to try
        again."""
        raise NotImplementedError

    def patience(self, failure: LedgerAway, asked: float | None) -> float:
        """How many seconds a server that is away is waited for, where the caller asked for so many."""
        return AWAY if asked is None else asked

    def tell(self, failure: LedgerAway) -> None:
        """Say that a server is waited for."""

    def login(self, connection: Connection) -> str:
        """Who is at work, as the system knows them: for a person who gave no name."""
        return login()

    def check(self, connection: Connection) -> None:
        """The faults that the database itself reports of its state."""

    def copy_to(self, path: Path) -> None:
        """Copy the present state, however many write meanwhile, into the empty file `path`, as an SQLite ledger."""
        raise NotImplementedError


class Wait:
    """A wait for the lock: how long it may take, and who is told after a second what is waited for."""

    def __init__(self, store: Store) -> None:
        self._store = store
        began = time.monotonic()
        self.notice, self.deadline = began + NOTICE, began + PATIENCE
        self._who: str | None = None
        self._own = False  # whether a thread of this process was seen to hold the lock

    @property
    def over(self) -> bool:
        return time.monotonic() > self.deadline

    def tell(self, holder: Callable[[], str | None]) -> None:
        """After a second, once: say that the ledger is waited for, and who holds it.

        Threads of this process take turns, which is no news; between two of them nobody holds it. So whoever cannot be
        named is told of only after some seconds in which no thread of this process was seen to hold it.
        """
        if self._who is not None or time.monotonic() < self.notice:
            return
        who = holder()
        self._own = self._own or who is None
        if who is None or (who == "" and (self._own or time.monotonic() < self.notice + NAMELESS)):
            return
        self._who = who
        said = f"waiting for the ledger {self._store.called}: {self._who or 'another program holds it'}"
        told = self._store.on_wait
        if told is None:
            print(f"dpviz: {said}", file=sys.stderr, flush=True)
        else:
            told(said)

    def named(self, refusal: LedgerError) -> LedgerError:
        """A refusal after a wait says who held the ledger."""
        if self._who and refusal.rule == _ONE_WRITE:
            return locked(self._store.called, self._who)
        return refusal


def _still(wanted: Wanted | None) -> None:
    if wanted is not None and not wanted():
        raise withdrawn()


# ---------------------------------------------------------------- refusals


def no_ledger(called: str, what: str, step: str) -> LedgerFormat:
    return LedgerFormat(f"{called} {what}; {step}", value=called, rule="a ledger is what dpviz made", next_step=step)


_ONE_WRITE = "a ledger is locked for the time of one write"


def locked(called: str, who: str = "") -> LedgerError:
    step = "end or wait for that process, and try again" if who else "see which other process holds it, and try again"
    said = f"the ledger {called} stayed locked for {PATIENCE:g} seconds{who and ': '}{who}; {step}"
    return LedgerError(said, value=called, rule=_ONE_WRITE, next_step=step)


def full(called: str) -> LedgerFull:
    rule, step = "a charge is on disk before anything is drawn", "free some space and try again"
    said = f"there is no room to write to the ledger {called}; {step}"
    return LedgerFull(said, value=called, rule=rule, next_step=step)


def bad_disk(called: str) -> LedgerError:
    rule, step = "a ledger needs a disk that reads and writes", "see that the disk works and has room, and try again"
    said = f"the disk refused to read or write the ledger {called}; {step}"
    return LedgerError(said, value=called, rule=rule, next_step=step)


def read_only(called: str, rule: str, step: str) -> LedgerReadOnly:
    said = f"the ledger {called} cannot be opened for writing; {step}"
    return LedgerReadOnly(said, value=called, rule=rule, next_step=step)


UNHEARD = "what may be recorded counts as spent"
"""The rule of a refusal after which nobody knows whether the write is there."""


def _unheard(called: str) -> LedgerError:
    step = "count it as spent, and ask again when the server is back"
    said = (
        f"the connection to the ledger {called} was lost, and whether the last write is recorded is not known; {step}"
    )
    return LedgerError(said, value=called, rule=UNHEARD, next_step=step)


# ---------------------------------------------------------------- forks

_stores: weakref.WeakSet[Store] = weakref.WeakSet()
_numbers = itertools.count()
_forking = threading.Lock()
_paused: list[Store] = []


def _before_fork() -> None:
    """A connection to a database must not cross a fork, so none is open then.

    Older stores first: a copy is written, to a store made for it, inside a transaction of the one that it is made of.
    """
    _forking.acquire()
    for store in sorted(_stores, key=lambda store: store._number):
        store._writing.acquire()
        store._reading.acquire()
        store._outside.acquire()
        store._writer.dispose()
        _paused.append(store)


def _after_fork() -> None:
    while _paused:
        store = _paused.pop()
        store._outside.release()
        store._reading.release()
        store._writing.release()
    _forking.release()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before_fork, after_in_parent=_after_fork, after_in_child=_after_fork)
