"""The part of the chain that one ledger object has read: everything, checked once, and then each row as it is written.

Where this machine remembers a check of all rows up to one that is still there (`memory`), only the rows after it are
read. At the first doubt, whatever it is about, everything is read after all.

So a charge rests on a chain that holds, and an answer comes from one; and a ledger that is older than what was seen,
or another one, is noticed by whoever saw it, at the next look.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator

from sqlalchemy import Connection

from dpviz.errors import LedgerCorrupt
from dpviz.session.ledger import rows
from dpviz.session.ledger.audit import Audit, Check
from dpviz.session.ledger.chain import Row, broken
from dpviz.session.ledger.memory import LEAST, PART, STEP, Memory, Place, memory_of
from dpviz.session.ledger.witness import Note


class Anew(Exception):
    """The knowledge of the chain was given up, here or by another thread: read it, and try again."""


class Following:
    """The chain as far as it is known here. Its lock is taken inside the transactions of a store, or where
    `Store.unforked` holds off a fork: so no child finds it taken.

    place  where it is remembered, if it is
    """

    def __init__(self, place: Place | None) -> None:
        self._audit: Audit | None = None
        self._place = place
        self._memory: Memory | None = None
        self._recalled = False  # whether it was looked for
        self._believed = False  # whether rows were not read here because they are remembered
        self._whole = False  # whether all were read just now
        self._kept = 0  # the row up to which this is remembered
        self._lock = threading.RLock()
        self._doubted = False
        self._seen: dict[int, str] = {}  # the latest rows seen, by number; the largest counts

    @property
    def seen(self) -> tuple[int, str] | None:
        """The latest row seen so far, by number and hash. Ask before a transaction begins."""
        seen = self._seen.copy()  # in one step, whatever other threads do
        return max(seen.items()) if seen else None

    def saw(self, seq: int, hash_: str) -> None:
        self._seen[seq] = hash_
        for older in sorted(self._seen.copy())[:-1]:
            self._seen.pop(older, None)

    @property
    def audit(self) -> Audit:
        """The state that the rows so far imply."""
        audit = self._audit
        if audit is None:
            raise Anew
        return audit

    def recall(self) -> Memory | None:
        """The memory of this machine. Ask before a transaction begins: another kernel may remember more later."""
        if not self._recalled:
            with self._lock:
                self._memory, self._recalled = None if self._place is None else self._place.load(), True
        return self._memory

    def doubt(self) -> bool:
        """Whether something was refused here that rests on rows that were not read. Then all are read from now on.

        In any case whoever opens this ledger next reads all of it.
        """
        with self._lock:
            if self._place is not None:
                self._place.doubt()
            believed, self._believed = self._believed, False
            if believed:
                self._audit, self._doubted, self._kept = None, True, 0
            return believed

    def still(self) -> contextlib.AbstractContextManager[object]:
        """Inside a transaction: what is known goes no further meanwhile."""
        return self._lock

    def beyond(self, seq: int) -> bool:
        """Whether more is known than the rows up to this one, the last of a view."""
        audit = self._audit
        return audit is not None and audit.last is not None and audit.last.seq > seq > 0

    def keep(self) -> None:
        """Remember what is known, where that is much more than is remembered."""
        with self._lock:
            audit, place = self._audit, self._place
            whole, self._whole = self._whole, False
            if place is None or audit is None or audit.last is None or audit.last.seq < LEAST:
                return
            if audit.last.seq - self._kept < max(STEP, audit.last.seq // PART):
                return
            self._kept = audit.last.seq  # once, wherever it cannot be kept
            with contextlib.suppress(Exception):  # what was charged is charged, whatever becomes of a memory of it
                memory = memory_of(audit)
                if memory is not None and place.save(memory, whole=whole):
                    self._audit = memory.audit(audit.last, audit.check)

    def compare(self, connection: Connection, noted: Note | None) -> Memory | None:
        """The memory of this very ledger. Refuse one that is behind it, or has other rows."""
        memory = self._memory
        if memory is None or self._place is None or rows.hash_at(connection, 1) != memory.note.chain:
            return None
        if rows.hash_at(connection, memory.seq) != memory.note.hash:
            known = f"what this machine remembers of it ({self._place.files})"
            raise put_back(memory.seq, known if noted is None else f"{BESIDE} and {known}")
        return memory

    def _started(
        self, connection: Connection, noted: Note | None, whole: Callable[[Connection], Audit], check: Check | None
    ) -> Audit:
        memory, self._believed, self._kept = self.compare(connection, noted), False, 0
        if memory is not None and not (memory.doubted or self._doubted):
            self._believed, self._kept = True, memory.seq
            with contextlib.suppress(AttributeError, LookupError, TypeError, ValueError):  # it is not as it is written
                return remembered(connection, memory, check)
            self._believed, self._kept = False, 0
        audit = whole(connection)
        self._whole = True
        return audit

    def start(self, audit: Audit) -> None:
        """Go on from a chain that was read whole just now, unless more of it is known already."""
        assert audit.last is not None
        with self._lock:
            known = None if self._audit is None else self._audit.last
            if known is None or known.seq <= audit.last.seq:
                self._audit, self._believed, self._kept, self._whole = audit, False, 0, True
            self.saw(audit.last.seq, audit.last.hash)

    def follow(
        self,
        connection: Connection,
        seen: tuple[int, str] | None,
        noted: Note | None,
        whole: Callable[[Connection], Audit],
        check: Check | None,
    ) -> int:
        """Read what was written since, and compare it with what was seen, or noted, before this view was taken.

        Returns the number of the last row in this view.

        whole  reads all of a ledger, and refuses what does not hold: at the first look where nothing is remembered,
               and after a refusal
        """
        with self._lock, self._anew_if_refused():
            if self._audit is None:
                self._audit = self._started(connection, noted, whole, check)
            audit, (seq, hash_) = self._audit, rows.head(connection)
            assert audit.last is not None
            for row in rows.every(connection, after=audit.last.seq) if seq > audit.last.seq else ():
                audit.take(row)
            if audit.hash_of(seq) != hash_:
                raise other_rows()
            if seen is not None:
                if seq < seen[0]:
                    raise older()
                if audit.hash_of(seen[0]) != seen[1]:
                    raise other_rows()
            compare(audit, seq, noted)
            self.saw(seq, hash_)
            return seq

    def wrote(self, appended: list[Row]) -> None:
        """Go on with rows that were written here and are durable.

        They were compared with what stands in the database before they were committed (`Store`), so they are not read
        from there once more. Where somebody has looked meanwhile, they are known already.
        """
        if not appended:
            return
        with self._lock, self._anew_if_refused():
            audit = self._audit
            for row in appended:
                if audit is not None and audit.last is not None and audit.last.hash == row.previous:
                    audit.take(row)
        self.saw(appended[-1].seq, appended[-1].hash)

    @contextlib.contextmanager
    def _anew_if_refused(self) -> Iterator[None]:
        """Rows read up to a refusal are forgotten, so that a ledger that was put right is read anew."""
        try:
            yield
        except BaseException:
            self._audit = None
            raise


def remembered(connection: Connection, memory: Memory, check: Check | None) -> Audit:
    """The result of a check when its memory was written, once its last row and the terms are seen to be as then."""
    audit = memory.audit(rows.row_at(connection, memory.seq), check)
    terms = audit.state.terms
    while terms > 1:
        row = rows.row_at(connection, terms)
        before = rows.row_at(connection, terms - 1)
        if (row.hash, before.hash) != (audit.hash_of(terms), audit.hash_of(terms - 1)):
            raise broken(f"row {terms} is not the row that was on the chain")
        terms = before.state.terms
    if rows.row_at(connection, 1).hash != audit.hash_of(1):
        raise broken("row 1 is not the row that was on the chain")
    return audit


def compare(audit: Audit, seq: int, noted: Note | None) -> None:
    """Refuse a chain, `seq` rows long, that is behind what was noted of it."""
    if noted is None or noted.chain != audit.hash_of(1):
        return
    if noted.seq > seq or audit.hash_of(noted.seq) != noted.hash:
        raise put_back(noted.seq)


# ---------------------------------------------------------------- refusals


def older() -> LedgerCorrupt:
    return broken("it is older than what this session has seen, as if somebody had put back a copy")


def other_rows() -> LedgerCorrupt:
    return broken("its rows are not the ones that this session has seen, as if somebody had put another in its place")


BESIDE = "the -lock file beside the ledger"


def put_back(seq: int, knows: str = BESIDE) -> LedgerCorrupt:
    """A ledger that is older than `knows` says, to be removed by whoever goes on from a copy all the same."""
    value = f"row {seq} was written here and is gone or another"
    rule, step = "a ledger only grows", "put the latest ledger back"
    return LedgerCorrupt(
        f"the ledger is older than what was written in this place ({value}), as if somebody had put back a copy; "
        f"{step}. If that is lost, count what was charged since as spent, and write existing=False to go on, or "
        f"remove {knows}",
        value=value,
        rule=rule,
        next_step=step,
    )
