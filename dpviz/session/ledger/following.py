"""What one ledger object has read of the chain: everything, checked once, and then each row as it is written.

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
from dpviz.session.ledger.audit import Audit
from dpviz.session.ledger.chain import Row, broken
from dpviz.session.ledger.witness import Note


class Following:
    """The chain as far as it is known here. Used inside the transactions of a store, and so never across a fork."""

    def __init__(self) -> None:
        self._audit: Audit | None = None
        self._lock = threading.RLock()
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
        """What the rows so far imply."""
        assert self._audit is not None
        return self._audit

    def start(self, audit: Audit) -> None:
        """Go on from a chain that was read whole just now, unless more of it is known already."""
        assert audit.last is not None
        with self._lock:
            known = None if self._audit is None else self._audit.last
            if known is None or known.seq <= audit.last.seq:
                self._audit = audit
            self.saw(audit.last.seq, audit.last.hash)

    def follow(
        self,
        connection: Connection,
        seen: tuple[int, str] | None,
        noted: Note | None,
        whole: Callable[[Connection], Audit],
    ) -> None:
        """Read what was written since, and compare it with what was seen, or noted, before this view was taken.

        whole  reads all of a ledger, and refuses what does not hold: at the first look, and after a refusal
        """
        with self._lock, self._anew_if_refused():
            if self._audit is None:
                self._audit = whole(connection)
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
        """What was read up to a refusal is forgotten, so that a ledger that was put right is read anew."""
        try:
            yield
        except BaseException:
            self._audit = None
            raise


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


def put_back(seq: int) -> LedgerCorrupt:
    value = f"row {seq} was written here and is gone or another"
    rule, step = "a ledger only grows", "put the latest ledger back"
    return LedgerCorrupt(
        f"the ledger is older than what was written in this place ({value}), as if somebody had put back a copy; "
        f"{step}. If that is lost, count what was charged since as spent, and remove the -lock file beside the ledger",
        value=value,
        rule=rule,
        next_step=step,
    )
