"""A record that is drawn once and kept: the answer to a charge, or to one use of a charge that is open for many.

Both are found in the same way, by their key; both are held by the process that draws them, and lost with it.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, Generic, Literal, TypeAlias, TypeVar

from sqlalchemy import Connection, Table, bindparam, literal, select, true

from dpviz.boundary import protect_module
from dpviz.errors import LedgerError, ReleaseLost, SessionBusy, short
from dpviz.session.ledger import rows, tables
from dpviz.session.ledger.audit import Audit, IndexRow
from dpviz.session.ledger.chain import Row, broken
from dpviz.session.ledger.owner import Owner
from dpviz.session.ledger.statements import Statement
from dpviz.session.ledger.store import UNHEARD
from dpviz.session.ledger.tables import chain, draw

Status = Literal["pending", "done", "open", "cancelled", "failed", "lost"]
ANSWERED = ("done", "open")
RecordId: TypeAlias = tuple[int, int]
"""An entry and a use of it; 0 is no use but the entry itself."""

LEASE = 120
"""For how many seconds another machine believes in a draw that is not renewed."""

DRAWING: set[tuple[str, RecordId]] = set()
"""The draws of this process, through whichever ledger object: the token of its owner, and the place."""


@dataclass(frozen=True, slots=True)
class LedgerRecord:
    """The fields that an entry and a use share.

    number  1, 2, 3 ... in the order of charging; of a use: in the order of reserving
    key     the digest that the answer is found under
    body    what was charged for: public, and the accountant's and the session's business
    status  "pending": being drawn now, by this process where `mine`; "lost": charged, and nobody draws it any more
    opened  when it was charged, UTC
    closed  when its outcome was written, or None
    person  who asked for it, as they said; empty where the ledger was written before persons were
    """

    number: int
    key: str
    body: Mapping[str, Any]
    status: Status
    opened: str
    closed: str | None
    mine: bool = False
    person: str = ""

    @property
    def record_id(self) -> RecordId:
        return self.number, 0

    @property
    def name(self) -> str:
        return named(self.record_id)

    @property
    def user_key(self) -> str:
        """The analyst's own key, or nothing."""
        key = self.body.get("user_key")
        return key if isinstance(key, str) else ""

    @property
    def asked_by(self) -> dict[str, str]:
        """Name, project and proof of the caller whom a curator authenticated; empty where none did."""
        caller = self.body.get("asked_by")
        return {str(part): str(said) for part, said in caller.items()} if isinstance(caller, Mapping) else {}

    @property
    def by(self) -> str:
        """Who asked, in words: with project and proof where a curator authenticated them."""
        more = [said for part, said in self.asked_by.items() if part != "name" and said]
        return f"{self.person} ({', '.join(sorted(more))})" if more else self.person

    @property
    def text(self) -> str:
        """Its name and the analyst's own key, for a sentence."""
        return f'{self.name} (key "{short(self.user_key)}")' if self.user_key else self.name

    @property
    def price(self) -> str:
        """The price in words, as it was charged."""
        price = self.body.get("price")
        return str(price.get("text", "")) if isinstance(price, Mapping) else ""


@dataclass(frozen=True, slots=True)
class Entry(LedgerRecord):
    """One charge and its outcome.

    Parameters
    ----------
    number : int
        1, 2, 3 … in the order of charging.
    key : str
        The digest that the answer is found under.
    body : mapping
        The question, mechanism and price that were charged; public.
    status : str
        "pending": being drawn now, by this process where `mine`; "open": there to be used; "lost": charged, and nobody
        draws it any more; "done", "cancelled" or "failed". The charge counts at any status.
    opened : str
        When it was charged, UTC.
    closed : str or None
        When its outcome was written.
    mine : bool, default False
        Whether this process draws it now.
    person : str, default ""
        Who asked for it, as they said; empty in ledgers older than that.
    """


@dataclass(frozen=True, slots=True)
class UseRecord(LedgerRecord):
    """One use of an open entry and what came of it. Without an answer all that it reserved stays used."""

    entry: int = 0

    @property
    def record_id(self) -> RecordId:
        return self.entry, self.number


SomeRecord = TypeVar("SomeRecord", bound=LedgerRecord)


_HELD = (draw.c.entry == bindparam("of")) & (draw.c.use == bindparam("at"))
_HOLD = draw.insert()
_RENEW = Statement(draw.update().where(_HELD, draw.c.token == bindparam("by")).values(until=bindparam("until")))
_RELEASE = draw.delete().where(_HELD)
_LET_GO = Statement(_RELEASE)


class RecordStatements(Generic[SomeRecord]):
    """The statements about one kind of draw."""

    def __init__(self, index: Table, make: Callable[..., SomeRecord], *, opens: str, closes: str) -> None:
        self.index, self.make, self.opens, self.closes = index, make, opens, closes
        number, of = index.c["number"], index.c.get("entry")
        self.names = ("number", "key") if of is None else ("number", "key", "entry")
        entry, use = (number, literal(0)) if of is None else (of, number)
        here = true() if of is None else of == bindparam("of")
        one = number == bindparam("of") if of is None else here & (number == bindparam("at"))
        every = (
            select(chain, index, draw)
            .join_from(index, chain, chain.c.seq == index.c.charge)
            .join(draw, (draw.c.entry == entry) & (draw.c.use == use), isouter=True)
            .where(here)
            .order_by(number.desc())
        )
        add, close = index.insert(), index.update().where(one)
        close = close.values({name: bindparam(name) for name in ("status", "outcome", "closed")})
        self.every = Statement(every)
        self.lately = Statement(every.where(number < bindparam("before")).limit(bindparam("most")))
        self.done = Statement(
            every.where(number < bindparam("before"), index.c.status == "done").limit(bindparam("most"))
        )
        self.one = Statement(every.where(one))
        self.latest = Statement(every.where(index.c.key == bindparam("key_")).limit(1))
        self.outcome = Statement(select(index.c.outcome).where(one))
        self.add = Statement(add)
        self._enter = Statement(add, rows.ADD)
        self._begin = Statement(add, _HOLD, rows.ADD)
        self._close = Statement(close, _RELEASE, rows.ADD)
        self._columns = [column.name for column in index.columns]

    def where(self, record_id: RecordId) -> dict[str, int]:
        """The key of the statements about one draw."""
        of, at = record_id
        return {"of": of, "at": at} if "entry" in self.names else {"of": of}

    def fetch(
        self, connection: Connection, query: Statement, by: Owner, audit: Audit, **where: object
    ) -> list[SomeRecord]:
        """The record found, the latest first, as `by` sees it, once the index and the rows are seen to be the
        chain's."""
        return [self._read(record, by, audit) for record in query.all(connection, **where)]

    def _read(self, record: Sequence[Any], by: Owner, audit: Audit) -> SomeRecord:
        behind = len(chain.c) + len(self._columns)
        row = on_chain(Row.read(record[: len(chain.c)]), audit)
        index = dict(zip(self._columns, record[len(chain.c) : behind], strict=True))
        held = dict(zip(draw.c.keys(), record[behind:], strict=True))
        content = row.content
        if row.kind != self.opens or any(content[name] != index[name] for name in self.names):
            raise broken(f"the index takes row {row.seq} for {self.opens} {index['number']}")
        found = self._made(content, index["status"], index["closed"])
        said = {name: value for name, value in index.items() if name != "entry"}
        if audit.at(found.record_id) != IndexRow(**said):
            raise broken(f"the index does not say of {found.name} what the chain says")
        if found.status != "pending":
            return found
        mine = held["token"] == by.token
        return replace(found, status="pending" if _drawn(held, found, by, mine) else "lost", mine=mine)

    def _made(self, content: Mapping[str, Any], status: str, closed: str | None) -> SomeRecord:
        said = {name: content[name] for name in self.names}
        person = content.get("person", "")
        return self.make(
            body=content[self.opens], status=status, opened=content["at"], closed=closed, person=person, **said
        )

    def begin(self, connection: Connection, row: Row, by: Owner) -> SomeRecord:
        """Append the row that opens a draw, and hold the draw for `by`."""
        made = self._entered(connection, row, self._begin, until=_until(), **rows.columns(by))
        return replace(made, mine=True)

    def enter(self, connection: Connection, row: Row) -> SomeRecord:
        """Append the row that opens a draw, and say so in the index."""
        return self._entered(connection, row, self._enter)

    def _entered(self, connection: Connection, row: Row, statement: Statement, **more: object) -> SomeRecord:
        made = self._made(row.content, "pending", None)
        index = rows.columns(IndexRow(made.number, made.key, "pending", row.seq, None, None))
        of, at = made.record_id
        rows.append(connection, row, statement, **index, entry=of, use=at, **more)
        return made

    def conclude(
        self, connection: Connection, last: Row, found: SomeRecord, status: Status, **said: object
    ) -> tuple[Row, SomeRecord]:
        """Append the outcome of a draw, say so in the index, and hold it no longer."""
        of, at = found.record_id
        about = {name: getattr(found, name) for name in self.names if name != "key"}
        row = Row.after(last, self.closes, last.state, status=status, **about, **said)
        closed = row.content["at"]
        rows.append(connection, row, self._close, of=of, at=at, status=status, outcome=row.seq, closed=closed)
        return row, replace(found, status=status, closed=closed, mine=False)


CHARGES = RecordStatements(tables.entry, Entry, opens="charge", closes="outcome")
USES = RecordStatements(tables.use, UseRecord, opens="reserve", closes="settle")


def renew(connection: Connection, record_id: RecordId, by: Owner) -> bool:
    """Hold a draw for longer, where it is still held by `by`."""
    of, at = record_id
    return _RENEW.change(connection, of=of, at=at, by=by.token, until=_until()) == 1


def touch(connection: Connection) -> None:
    """Ask to write and write nothing: a ledger that cannot be charged is refused when it is opened."""
    _LET_GO.change(connection, of=0, at=0)


def _drawn(held: Mapping[str, Any], found: LedgerRecord, by: Owner, mine: bool) -> bool:
    """Whether someone still draws what is pending."""
    if held["token"] is None:
        return False
    owner = Owner(*(held[part.name] for part in fields(Owner)))
    if mine or owner.here_too(by):
        return (owner.token, found.record_id) in DRAWING
    running = owner.running()
    return bool(held["until"] >= time.time()) if running is None else running


def _until() -> int:
    return int(time.time()) + LEASE


def on_chain(row: Row, audit: Audit) -> Row:
    """A row that fits its own hash, once it is seen to be the one that was checked. Nothing in it is read before."""
    if audit.hash_of(row.seq) != row.hash:
        raise broken(f"row {row.seq} is not the row that was on the chain")
    return row


def record_id_of(row: Row) -> RecordId:
    """The entry or use that a row is about, where it is about one."""
    content = row.content
    number = content.get("number", 0)
    return (content["entry"], number) if "entry" in content else (number, 0)


def named(record_id: RecordId) -> str:
    return f"use {record_id[1]} of entry {record_id[0]}" if record_id[1] else f"entry {record_id[0]}"


# ---------------------------------------------------------------- refusals


def busy(found: LedgerRecord) -> SessionBusy:
    who = "this kernel" if found.mine else "another kernel"
    return SessionBusy(
        f"{who} is drawing this answer now: {found.text}, charged {found.opened}; "
        "wait for it and ask again: the answer is then free",
        value=found.text,
        rule="one key is drawn once",
        next_step="wait for it and ask again: the answer is then free",
    )


def lost(found: LedgerRecord) -> ReleaseLost:
    paid = f" for {found.price}" if found.price else ""
    became = {"cancelled": "was cancelled", "failed": "failed"}.get(found.status, "was lost")
    key = f', key "{short(found.user_key, 40)}",' if found.user_key else ""
    return ReleaseLost(
        f"{found.name}{key} was charged{paid} and its draw {became}, so it has no answer; "
        "to draw again, paid once more, pass retry=True",
        value=found.text,
        rule="a charge whose draw was lost stays charged",
        next_step="to draw again, paid once more, pass retry=True",
    )


def not_stored(name: str, error: LedgerError) -> LedgerError:
    """The same refusal, saying what it was about."""
    again = "; then draw again with retry=True, paid"
    stored = "is perhaps not stored" if error.rule == UNHEARD else "could not be stored"
    said = f"what came of {name} {stored}, and its charge stays: {error}"
    step, said = error.next_step + again, said + again if str(error).endswith(error.next_step) else said
    return type(error)(said, value=name, rule=error.rule, next_step=step)


def not_open(found: LedgerRecord) -> LedgerError:
    if found.status == "done":
        state, step = "has its answer already", "read its answer"
    elif found.status == "open":
        state, step = "is open for uses", "reserve a use of it"
    else:
        state, step = "is drawn by another kernel", "wait for that kernel"
    rule = "what was charged is closed once, by the kernel that charged it"
    return LedgerError(f"{found.name} {state}, and {rule}; {step}", value=found.name, rule=rule, next_step=step)


def not_for_use(found: LedgerRecord) -> LedgerError:
    rule, step = "only an entry that is open can be used", "open a sub-session, and use its entry"
    said = f"{found.name} is {found.status}, and {rule}; {step}"
    return LedgerError(said, value=found.name, rule=rule, next_step=step)


def no_answer(found: LedgerRecord) -> LedgerError:
    step = {"pending": "wait for it", "open": "reserve a use of it"}.get(
        found.status, "draw again with retry=True, paid"
    )
    return LedgerError(
        f"{found.name} has no answer: it is {found.status}; {step}",
        value=found.status,
        rule="only what is done has an answer",
        next_step=step,
    )


protect_module(vars())
