"""`Ledger`: what was charged, for which key, and what came of it."""

from __future__ import annotations

import json
import os
import re
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any, Literal, TypeAlias

from sqlalchemy import Connection, RowMapping, Select, bindparam, select

from dpviz.errors import (
    CharterMismatch,
    DpvizError,
    LedgerCorrupt,
    LedgerError,
    LedgerFormat,
    ParameterError,
    ReleaseLost,
    SessionBusy,
    short,
)
from dpviz.session.ledger import blobs
from dpviz.session.ledger.audit import Audit, IndexRow, Verification
from dpviz.session.ledger.chain import FORMAT, Row, State, broken, canonical
from dpviz.session.ledger.owner import Owner
from dpviz.session.ledger.store import Store, appearing, create, exists, file_refusal, locate, no_ledger
from dpviz.session.ledger.tables import chain, entry, lease

Status = Literal["pending", "done", "cancelled", "failed", "lost"]
Account: TypeAlias = Mapping[str, str]

LEASE = 120
"""For how many seconds another machine believes in a draw that is not renewed."""

_DRAWING: set[tuple[str, int]] = set()
"""What this process draws, through whichever ledger object: the token of its owner, and the number of the entry."""

_CHARTER = ("dataset", "schema", "unit", "budget")
_KEY = re.compile(r"[0-9a-f]{32,128}\Z")


@dataclass(frozen=True, slots=True)
class Entry:
    """One charge and what came of it. Whatever the status, the charge counts.

    number  1, 2, 3 ... in the order of charging
    key     the digest that the answer is found under
    body    what was charged for: public, and the accountant's and the session's business
    status  "pending": being drawn now, by this process where `mine`; "lost": charged, and nobody draws it any more
    opened  when it was charged, UTC
    closed  when its outcome was written, or None
    """

    number: int
    key: str
    body: Mapping[str, Any]
    status: Status
    opened: str
    closed: str | None
    mine: bool = False

    @property
    def price(self) -> str:
        """The price in words, as it was charged."""
        price = self.body.get("price")
        return str(price.get("text", "")) if isinstance(price, Mapping) else ""


class Ledger:
    """The durable memory of a budget: charges, their answers, and the totals after each, in one chained file.

    It does no arithmetic: `charge` is given a pure function that turns the totals so far into the next ones or
    refuses. Everything written is durable before the call returns. Several kernels may use one file; the check
    and the charge are one step. May be used from several threads.
    """

    def __init__(self, path: Path, store: Store, owner: Owner) -> None:
        self._path = path
        self._store = store
        self._own, self._pid = owner, os.getpid()
        self._seen: tuple[int, str] | None = None

    @classmethod
    def open(
        cls,
        location: str | Path,
        *,
        charter: Mapping[str, object],
        account: Account,
        owner: Owner | None = None,
    ) -> Ledger:
        """Open the ledger at `location`, or make one with this charter and these opening totals.

        charter   {"dataset": ..., "schema": {...}, "unit": {...}, "budget": {...}}, all public
        account   the accountant's state before anything was charged; used only for a new ledger

        Raises CharterMismatch where the ledger was made for another dataset, schema, unit or budget. The whole
        chain is read once; LedgerCorrupt says where it is broken.
        """
        if set(charter) != set(_CHARTER):
            raise ParameterError.of(", ".join(sorted(map(str, charter))), f"a charter has {', '.join(_CHARTER)}")
        opening = State(_account(account), charges=0, terms=1)
        path = locate(location)
        if not exists(path):
            first = Row.after(None, "charter", opening, format=FORMAT, charter=charter)
            create(path, lambda connection: _append(connection, first))
        ledger = cls(path, Store(path), owner or Owner.here())

        def check(connection: Connection) -> None:
            _audit(connection)
            _compare(_charter(connection), charter)

        ledger._store.read(check)
        ledger._store.write(_touch)
        return ledger

    @classmethod
    def read(cls, location: str | Path) -> Ledger:
        """Open an existing ledger for looking, whatever its charter. Nothing can be charged through it."""
        path = _existing(location)
        ledger = cls(path, Store(path, writable=False), Owner.here())
        ledger._store.read(_charter)
        return ledger

    def __repr__(self) -> str:
        return f"<Ledger {self._path.name}>"

    @property
    def path(self) -> Path:
        return self._path

    @property
    def owner(self) -> Owner:
        """Who charges through this ledger: this object, in this process. After a fork the child is another."""
        if self._pid != os.getpid():
            self._own, self._pid = Owner.here(), os.getpid()
        return self._own

    @property
    def charter(self) -> dict[str, Any]:
        """Dataset, schema, unit, and the budget now in force."""
        return self._store.read(_charter)

    @property
    def account(self) -> dict[str, str]:
        """The accountant's totals after the last row."""
        return self._store.read(lambda connection: dict(_last(connection).state.account))

    def head(self) -> str:
        """The hash of the last row. Noted elsewhere, it later proves that no row was cut off: `verify(head=...)`."""
        return self._store.read(lambda connection: _last(connection).hash)

    # ---------------------------------------------------------------- charging

    def charge(
        self, key: str, body: Mapping[str, object], admit: Callable[[Account], Account], *, retry: bool = False
    ) -> Entry:
        """Charge for `key`, durably, or return the entry that already answers it.

        An entry with status "done" was found: nothing was written, `answer(number)` is its answer. One with status
        "pending" is a new charge, to be drawn and then given to `finish` or `close`.

        Raises what `admit` raises (BudgetExceeded); SessionBusy where the key is being drawn now; ReleaseLost
        where its draw was charged and lost and `retry` is false. A refusal writes nothing.
        """
        if not isinstance(key, str) or not _KEY.match(key):
            raise ParameterError.of(key, "a key is a digest of 32 to 128 hexadecimal digits")
        owner = self.owner
        charged: set[tuple[str, int]] = set()

        def work(connection: Connection) -> Entry:
            last = self._after_what_was_seen(connection)
            found = self._find(connection, key)
            if found is not None and found.status == "done":
                return found
            if found is not None and found.status == "pending":
                raise _busy(found)
            if found is not None and not retry:
                raise _lost(found)
            if found is not None and found.closed is None:  # lost, and nobody has written so yet
                last = _conclude(connection, last, found.number, "lost")
            state = State(_account(admit(dict(last.state.account))), last.state.charges + 1, last.state.terms)
            row = Row.after(last, "charge", state, number=state.charges, key=key, charge=body)
            _append(connection, row)
            connection.execute(_ADD_ENTRY, _columns(IndexRow(state.charges, key, "pending", row.seq, None, None)))
            connection.execute(_ADD_LEASE, {"number": state.charges, "until": _until(), **_columns(owner)})
            charged.add((owner.token, state.charges))
            _DRAWING.update(charged)  # before others can see the charge, so that they find it being drawn
            return Entry(state.charges, key, row.content["charge"], "pending", row.content["at"], None, mine=True)

        try:
            return self._store.write(work)
        except BaseException:  # should the write have succeeded all the same, nobody draws what was charged
            _DRAWING.difference_update(charged)
            raise

    def _after_what_was_seen(self, connection: Connection) -> Row:
        """The last row. It must stand behind every row this ledger has seen, or somebody put an older copy in place."""
        last = _last(connection)
        seen = self._seen
        if seen is not None and (last.seq < seen[0] or _row(connection, seen[0]).hash != seen[1]):
            raise broken("it is older than what this session has seen, as if somebody had put back a copy")
        self._seen = last.seq, last.hash
        return last

    def finish(self, number: int, answer: bytes) -> Entry:
        """Record the answer of a pending charge. It may be shown to anyone after this returns, and not before.

        Raises ReleaseLost where another kernel gave the draw up as lost meanwhile, and LedgerFull (or what else went
        wrong) where the answer cannot be stored: the charge stays, and the draw is lost unless `finish` succeeds later.
        """
        return self._close(number, "done", answer)

    def close(self, number: int, status: Literal["cancelled", "failed"]) -> Entry:
        """Record that a pending charge came to nothing. The charge stays."""
        if status not in ("cancelled", "failed"):
            raise ParameterError.of(status, 'an entry is closed as "cancelled" or "failed"', "use finish for an answer")
        return self._close(number, status, None)

    def _close(self, number: int, status: Status, answer: bytes | None) -> Entry:
        def work(connection: Connection) -> Entry | DpvizError:
            found = self._entry(connection, number)
            if found.status == "done" and answer is not None and self._answer(connection, number) == answer:
                return found  # a repeated `finish` after a write whose success was not heard of
            if found.status != "done" and found.closed is not None:
                return _lost(found)
            if not found.mine:
                return _not_open(found)
            said = None if answer is None else blobs.put(connection, answer)
            row = _conclude(connection, _last(connection), number, status, said)
            return replace(found, status=status, closed=row.content["at"], mine=False)

        try:
            outcome = self._store.write(work)
        except LedgerError as error:
            raise _not_stored(number, error) from None
        finally:
            _DRAWING.discard((self.owner.token, number))  # recorded or not: nobody draws it any more
        if isinstance(outcome, DpvizError):
            raise outcome
        return outcome

    def renew(self, number: int) -> None:
        """Say that the draw of a pending entry goes on, so that another machine does not take it for lost."""

        def work(connection: Connection) -> bool:
            mine = {"of": number, "by": self.owner.token, "until": _until()}
            return connection.execute(_RENEW, mine).rowcount == 1

        if not self._store.write(work):
            raise _lost(self.entry(number))

    def raise_budget(self, budget: Mapping[str, object], widen: Callable[[Account], Account]) -> None:
        """Put another budget in force, as a row of the chain. `widen` gives the totals under it, or refuses."""
        wanted = canonical(budget, "budget")

        def work(connection: Connection) -> None:
            last = _last(connection)
            if canonical(_charter(connection)["budget"]) == wanted:
                return
            state = State(_account(widen(dict(last.state.account))), last.state.charges, last.seq + 1)
            _append(connection, Row.after(last, "raise", state, budget=budget))

        self._store.write(work)

    # ---------------------------------------------------------------- looking

    def entries(self, *, last: int | None = None) -> list[Entry]:
        """All charges in order, or the `last` ones."""
        query = _ENTRIES.order_by(entry.c.number.desc())
        query = query if last is None else query.limit(max(0, last))
        return self._store.read(lambda connection: self._fetch(connection, query))[::-1]

    def entry(self, number: int) -> Entry:
        return self._store.read(lambda connection: self._entry(connection, number))

    def find(self, key: str) -> Entry | None:
        """The latest charge for `key`."""
        return self._store.read(lambda connection: self._find(connection, key))

    def pending(self) -> list[Entry]:
        """Charges without a recorded outcome: "pending" (`mine` or another kernel's), or "lost"."""
        return self._store.read(lambda connection: self._fetch(connection, _PENDING))

    def answer(self, number: int) -> bytes:
        """The stored answer of an entry whose status is "done"."""
        return self._store.read(lambda connection: self._answer(connection, number))

    def _answer(self, connection: Connection, number: int) -> bytes:
        found = self._entry(connection, number)
        if found.status != "done":
            raise LedgerError(
                f"entry {number} has no answer: it is {found.status}",
                value=found.status,
                rule="only an entry that is done has an answer",
                next_step="wait for it" if found.status == "pending" else "draw again with retry=True, paid",
            )
        seq = connection.execute(_OUTCOME, {"of": number}).scalar_one()
        row = _row(connection, seq)
        said = row.content.get("answer")
        if row.kind != "outcome" or row.content["number"] != number or said is None:
            raise broken(f"the index takes row {seq} for the answer of entry {number}")
        return blobs.get(connection, said)

    def _entry(self, connection: Connection, number: int) -> Entry:
        found = self._fetch(connection, _ENTRY, number)
        if not found:
            raise ParameterError.of(number, "an entry has the number of a charge", "ledger.entries() lists them")
        return found[0]

    def _find(self, connection: Connection, key: str) -> Entry | None:
        found = self._fetch(connection, _LATEST, key)
        return found[0] if found else None

    def _fetch(self, connection: Connection, query: Select[Any], of: int | str | None = None) -> list[Entry]:
        records = connection.execute(query, {} if of is None else {"of": of})
        return [self._read_entry(record) for record in records.mappings()]

    def _read_entry(self, record: RowMapping) -> Entry:
        row = Row.read([record[column] for column in chain.c])
        content, number, status = row.content, record[entry.c.number], record[entry.c.status]
        if row.kind != "charge" or (content["number"], content["key"]) != (number, record[entry.c.key]):
            raise broken(f"the index takes row {row.seq} for the charge of entry {number}")
        mine = False
        if status == "pending":
            mine = record[lease.c.token] == self.owner.token
            status = "pending" if self._drawn(record, number, mine) else "lost"
        return Entry(number, content["key"], content["charge"], status, content["at"], record[entry.c.closed], mine)

    def _drawn(self, record: RowMapping, number: int, mine: bool) -> bool:
        """Whether someone still draws a pending entry."""
        if record[lease.c.token] is None:
            return False
        owner = Owner(*(record[lease.c[part.name]] for part in fields(Owner)))
        if mine or owner.here_too(self.owner):
            return (owner.token, number) in _DRAWING
        running = owner.running()
        return bool(record[lease.c.until] >= time.time()) if running is None else running

    # ---------------------------------------------------------------- keeping

    def verify(self, *, head: str | None = None) -> Verification:
        """Read everything again: the file, every row, every answer, the index. Raises LedgerCorrupt saying where.

        A chain cannot show by itself that its last rows were cut off, or the whole replaced by an older copy; a
        `head` noted earlier can.
        """

        def work(connection: Connection) -> Verification:
            self._store.check(connection)
            audit = _audit(connection, head=head)
            blobs.check(connection, audit.blobs)
            return audit.verification()

        return self._store.read(work)

    def detach(self) -> None:
        """Let go of the file, all written to it and nothing beside it. The next call opens it again."""
        self._store.close()

    @classmethod
    def rebuild_index(cls, location: str | Path) -> None:
        """Derive the index of a ledger anew from its chain, which must hold."""

        def work(connection: Connection) -> None:
            _charter(connection)
            audit = Audit.of(_rows(connection))
            connection.execute(entry.delete())
            for index_row in audit.index.values():
                connection.execute(_ADD_ENTRY, _columns(index_row))

        Store(_existing(location)).write(work)

    def backup(self, path: str | Path) -> Verification:
        """Copy the ledger into a new file, verified before it appears. Others may write meanwhile.

        Using a copy in place of the original forgets the charges made since: they were spent all the same.
        """
        target = locate(path)
        try:
            with appearing(target) as draft:
                self._store.copy_to(draft)
                copy = Store(draft, writable=False, called=target)
                try:
                    return Ledger(target, copy, self.owner).verify()
                finally:
                    copy.close()
        except FileExistsError:
            rule, step = "a backup never overwrites", "choose a name that is free"
            raise LedgerError(
                f"{target} exists already, and {rule}; {step}", value=str(target), rule=rule, next_step=step
            ) from None
        except OSError as error:
            raise file_refusal(error, target) from None


def _existing(location: str | Path) -> Path:
    path = locate(location)
    if not exists(path):
        raise no_ledger(path, "does not exist")
    return path


# ---------------------------------------------------------------- reading and writing rows

# built once: putting a statement together costs more than running it

_LAST = select(chain).order_by(chain.c.seq.desc()).limit(1)
_ROW = select(chain).where(chain.c.seq == bindparam("at"))
_ROWS = select(chain).order_by(chain.c.seq).execution_options(yield_per=1000)
_INDEX = select(entry).order_by(entry.c.number)
_ENTRIES = (
    select(chain, entry, lease)
    .join_from(entry, chain, chain.c.seq == entry.c.charge)
    .join(lease, lease.c.number == entry.c.number, isouter=True)
)
_ENTRY = _ENTRIES.where(entry.c.number == bindparam("of"))
_LATEST = _ENTRIES.where(entry.c.key == bindparam("of")).order_by(entry.c.number.desc()).limit(1)
_PENDING = _ENTRIES.where(entry.c.status == "pending").order_by(entry.c.number)
_OUTCOME = select(entry.c.outcome).where(entry.c.number == bindparam("of"))

_ADD_ROW, _ADD_ENTRY, _ADD_LEASE = chain.insert(), entry.insert(), lease.insert()
_CLOSE = entry.update().where(entry.c.number == bindparam("of"))
_RENEW = lease.update().where((lease.c.number == bindparam("of")) & (lease.c.token == bindparam("by")))
_END_LEASE = lease.delete().where(lease.c.number == bindparam("of"))


def _append(connection: Connection, row: Row) -> None:
    connection.execute(_ADD_ROW, _columns(row))


def _conclude(
    connection: Connection, last: Row, number: int, status: Status, answer: Mapping[str, object] | None = None
) -> Row:
    """Append the outcome of an entry, and say so in the index."""
    said = {} if answer is None else {"answer": answer}
    row = Row.after(last, "outcome", last.state, number=number, status=status, **said)
    _append(connection, row)
    closing = {"of": number, "status": status, "outcome": row.seq, "closed": row.content["at"]}
    connection.execute(_CLOSE, closing)
    connection.execute(_END_LEASE, {"of": number})
    return row


def _touch(connection: Connection) -> None:
    """Ask to write and write nothing: a ledger that cannot be charged is refused when it is opened."""
    connection.execute(_END_LEASE, {"of": 0})


def _columns(item: Row | IndexRow | Owner) -> dict[str, Any]:
    return {column.name: getattr(item, column.name) for column in fields(item)}


def _last(connection: Connection) -> Row:
    found = connection.execute(_LAST).first()
    if found is None:
        raise broken("it has no rows")
    return Row.read(found)


def _row(connection: Connection, seq: int) -> Row:
    found = connection.execute(_ROW, {"at": seq}).first()
    if found is None:
        raise broken(f"row {seq} is missing")
    return Row.read(found)


def _rows(connection: Connection) -> Iterator[Row]:
    return map(Row.read, connection.execute(_ROWS))


def _charter(connection: Connection) -> dict[str, Any]:
    """The charter with the budget now in force, once the format is known to be ours."""
    body = connection.execute(select(chain.c.body).where(chain.c.seq == 1)).scalar()
    try:
        format_ = json.loads(body or "")["format"]
    except (ValueError, TypeError, KeyError):
        raise broken("row 1 is not a charter") from None
    if not isinstance(format_, int) or format_ > FORMAT:
        raise LedgerFormat(
            f"the ledger has format {short(format_)}, and this dpviz reads up to {FORMAT}; upgrade dpviz",
            value=short(format_),
            rule=f"this dpviz reads ledgers up to format {FORMAT}",
            next_step="upgrade dpviz",
        )
    charter: dict[str, Any] = dict(_row(connection, 1).content["charter"])
    terms = _last(connection).state.terms
    if terms > 1:
        charter["budget"] = _row(connection, terms).content["budget"]
    return charter


def _audit(connection: Connection, *, head: str | None = None) -> Audit:
    """The whole chain, and the index against it."""
    _charter(connection)
    audit = Audit.of(_rows(connection), head=head)
    kept = {record.number: IndexRow(*record) for record in connection.execute(_INDEX)}
    for number in sorted(kept.keys() | audit.index.keys()):
        if kept.get(number) != audit.index.get(number):
            raise LedgerCorrupt(
                f"the chain holds, but the index is wrong about entry {number}; "
                "`dpviz ledger verify --rebuild-index` derives it anew",
                value=f"entry {number}",
                rule="the index says what the chain says",
                next_step="run `dpviz ledger verify --rebuild-index`",
            )
    return audit


def _account(given: Account) -> dict[str, str]:
    """Totals as a row carries them."""
    for name, total in given.items():
        if not isinstance(name, str) or not isinstance(total, str):
            raise ParameterError.of(type(total).__name__, "an account maps text to text", "write numbers as exact text")
    return dict(given)


def _until() -> int:
    return int(time.time()) + LEASE


# ---------------------------------------------------------------- refusals


def _compare(there: Mapping[str, Any], here: Mapping[str, object]) -> None:
    """Refuse a charter that is not the ledger's, naming the first part that differs."""
    for part in _CHARTER:
        differences = _differences(part, there[part], json.loads(canonical(here[part], part)))
        if not differences:
            continue
        if part == "budget":
            rule = "the budget of a ledger changes only by a recorded raise"
            step = "open it with the ledger's budget, then call session.raise_budget(...)"
        else:
            rule = f"a ledger belongs to one {part}"
            step = f"give the ledger's own {part}, or start another ledger file"
        value = "; ".join(differences[:3])
        raise CharterMismatch(f"{rule}: {value}; {step}", value=value, rule=rule, next_step=step)


def _differences(name: str, there: object, here: object) -> list[str]:
    """`epsilon is "2" in the ledger and "3" here`, for each place where two pieces of JSON differ."""
    if there == here and type(there) is type(here):
        return []
    if isinstance(there, dict) and isinstance(here, dict):
        found: list[str] = []
        for key in sorted(there.keys() | here.keys()):
            found += _differences(key, there.get(key), here.get(key))
        return found
    return [f"{short(name, 40)} is {short(canonical(there))} in the ledger and {short(canonical(here))} here"]


def _busy(found: Entry) -> SessionBusy:
    who = "this kernel" if found.mine else "another kernel"
    return SessionBusy(
        f"{who} is drawing this answer now (entry {found.number}, charged {found.opened}); "
        "wait for it and ask again: the answer is then free",
        value=f"entry {found.number}",
        rule="one key is drawn once",
        next_step="wait for it and ask again: the answer is then free",
    )


def _lost(found: Entry) -> ReleaseLost:
    paid = f" for {found.price}" if found.price else ""
    became = {"cancelled": "was cancelled", "failed": "failed"}.get(found.status, "was lost")
    return ReleaseLost(
        f"entry {found.number} was charged{paid} and its draw {became}, so it has no answer; "
        "to draw again, paid once more, pass retry=True",
        value=f"entry {found.number}",
        rule="a charge whose draw was lost stays charged",
        next_step="to draw again, paid once more, pass retry=True",
    )


def _not_stored(number: int, error: LedgerError) -> LedgerError:
    """The same refusal, saying what it was about."""
    step = f"{error.next_step}; then draw again with retry=True, paid"
    said = f"what came of entry {number} could not be stored, and its charge stays: {error}; then draw again"
    return type(error)(f"{said} with retry=True, paid", value=f"entry {number}", rule=error.rule, next_step=step)


def _not_open(found: Entry) -> LedgerError:
    if found.status == "done":
        state, step = "has its answer already", "read it with ledger.answer"
    else:
        state, step = "is drawn by another kernel", "wait for that kernel"
    rule = "an entry is closed once, by the kernel that charged it"
    return LedgerError(
        f"entry {found.number} {state}, and {rule}; {step}", value=f"entry {found.number}", rule=rule, next_step=step
    )
