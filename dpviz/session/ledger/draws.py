"""What is drawn once and kept: the answer to a charge, or to one use of a charge that is open for many.

Both are found in the same way, by their key; both are held by the process that draws them, and lost with it.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, replace
from typing import Any, Generic, Literal, TypeAlias, TypeVar

from sqlalchemy import Connection, RowMapping, Select, Table, bindparam, literal, select, true

from dpviz.errors import LedgerError, ReleaseLost, SessionBusy, short
from dpviz.hidden import guard
from dpviz.session.ledger import rows, tables
from dpviz.session.ledger.audit import IndexRow
from dpviz.session.ledger.chain import Row, broken
from dpviz.session.ledger.owner import Owner
from dpviz.session.ledger.store import UNHEARD
from dpviz.session.ledger.tables import chain, draw

Status = Literal["pending", "done", "open", "cancelled", "failed", "lost"]
ANSWERED = ("done", "open")
Place: TypeAlias = tuple[int, int]
"""An entry and a use of it; 0 is no use but the entry itself."""

LEASE = 120
"""For how many seconds another machine believes in a draw that is not renewed."""

DRAWING: set[tuple[str, Place]] = set()
"""What this process draws, through whichever ledger object: the token of its owner, and the place."""


@dataclass(frozen=True, slots=True)
class Draw:
    """What an entry and a use have in common.

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
    def place(self) -> Place:
        return self.number, 0

    @property
    def name(self) -> str:
        return named(self.place)

    @property
    def user_key(self) -> str:
        """The analyst's own key, or nothing."""
        key = self.body.get("user_key")
        return key if isinstance(key, str) else ""

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
class Entry(Draw):
    """One charge and what came of it. Whatever the status, the charge counts. "open": it is there to be used."""


@dataclass(frozen=True, slots=True)
class Use(Draw):
    """One use of an open entry and what came of it. Without an answer all that it reserved stays used."""

    entry: int = 0

    @property
    def place(self) -> Place:
        return self.entry, self.number


Drawn = TypeVar("Drawn", bound=Draw)


class Shelf(Generic[Drawn]):
    """The statements about one kind of draw. Built once: putting a statement together costs more than running it."""

    def __init__(self, index: Table, make: Callable[..., Drawn], *, opens: str, closes: str) -> None:
        self.index, self.make, self.opens, self.closes = index, make, opens, closes
        number, of = index.c["number"], index.c.get("entry")
        self.names = ("number", "key") if of is None else ("number", "key", "entry")
        entry, use = (number, literal(0)) if of is None else (of, number)
        here = true() if of is None else of == bindparam("of")
        one = number == bindparam("of") if of is None else here & (number == bindparam("at"))
        self.every = (
            select(chain, index, draw)
            .join_from(index, chain, chain.c.seq == index.c.charge)
            .join(draw, (draw.c.entry == entry) & (draw.c.use == use), isouter=True)
            .where(here)
            .order_by(number.desc())
        )
        self.one = self.every.where(one)
        self.latest = self.every.where(index.c.key == bindparam("key_")).limit(1)
        self.pending = self.every.where(index.c.status == "pending")
        self.outcome = select(index.c.outcome).where(one)
        self.add = index.insert()
        self.close = index.update().where(one)

    def where(self, place: Place) -> dict[str, int]:
        """What the statements about one draw ask for."""
        of, at = place
        return {"of": of, "at": at} if "entry" in self.names else {"of": of}

    def fetch(self, connection: Connection, query: Select[Any], by: Owner, **where: object) -> list[Drawn]:
        """What is found, the latest first, as `by` sees it."""
        return [self._read(record, by) for record in connection.execute(query, where).mappings()]

    def _read(self, record: RowMapping, by: Owner) -> Drawn:
        row = Row.read([record[column] for column in chain.c])
        said = {name: record[self.index.c[name]] for name in self.names}
        if row.kind != self.opens or any(row.content[name] != said[name] for name in self.names):
            raise broken(f"the index takes row {row.seq} for {self.opens} {said['number']}")
        found = self._made(row, record[self.index.c.status], record[self.index.c.closed])
        if found.status != "pending":
            return found
        mine = record[draw.c.token] == by.token
        return replace(found, status="pending" if _drawn(record, found, by, mine) else "lost", mine=mine)

    def _made(self, row: Row, status: str, closed: str | None) -> Drawn:
        content = row.content
        said = {name: content[name] for name in self.names}
        person = content.get("person", "")
        return self.make(
            body=content[row.kind], status=status, opened=content["at"], closed=closed, person=person, **said
        )

    def begin(self, connection: Connection, row: Row, by: Owner) -> Drawn:
        """Append the row that opens a draw, and hold the draw for `by`."""
        made = replace(self.enter(connection, row), mine=True)
        of, at = made.place
        connection.execute(_HOLD, {"entry": of, "use": at, "until": _until(), **rows.columns(by)})
        return made

    def enter(self, connection: Connection, row: Row) -> Drawn:
        """Append the row that opens a draw, and say so in the index."""
        made = self._made(rows.append(connection, row), "pending", None)
        index = rows.columns(IndexRow(made.number, made.key, "pending", row.seq, None, None))
        connection.execute(self.add, index | {name: getattr(made, name) for name in self.names})
        return made

    def conclude(
        self, connection: Connection, last: Row, found: Drawn, status: Status, **said: object
    ) -> tuple[Row, Drawn]:
        """Append the outcome of a draw, say so in the index, and hold it no longer."""
        of, at = found.place
        about = {name: getattr(found, name) for name in self.names if name != "key"}
        row = rows.append(connection, Row.after(last, self.closes, last.state, status=status, **about, **said))
        closed = row.content["at"]
        written = {"status": status, "outcome": row.seq, "closed": closed}
        connection.execute(self.close, {**self.where(found.place), **written})
        connection.execute(_LET_GO, {"of": of, "at": at})
        return row, replace(found, status=status, closed=closed, mine=False)


CHARGES = Shelf(tables.entry, Entry, opens="charge", closes="outcome")
USES = Shelf(tables.use, Use, opens="reserve", closes="settle")

_HELD = (draw.c.entry == bindparam("of")) & (draw.c.use == bindparam("at"))
_HOLD = draw.insert()
_RENEW = draw.update().where(_HELD, draw.c.token == bindparam("by"))
_LET_GO = draw.delete().where(_HELD)


def renew(connection: Connection, place: Place, by: Owner) -> bool:
    """Hold a draw for longer, where it is still held by `by`."""
    of, at = place
    return connection.execute(_RENEW, {"of": of, "at": at, "by": by.token, "until": _until()}).rowcount == 1


def touch(connection: Connection) -> None:
    """Ask to write and write nothing: a ledger that cannot be charged is refused when it is opened."""
    connection.execute(_LET_GO, {"of": 0, "at": 0})


def _drawn(record: RowMapping, found: Draw, by: Owner, mine: bool) -> bool:
    """Whether someone still draws what is pending."""
    if record[draw.c.token] is None:
        return False
    owner = Owner(*(record[draw.c[part.name]] for part in fields(Owner)))
    if mine or owner.here_too(by):
        return (owner.token, found.place) in DRAWING
    running = owner.running()
    return bool(record[draw.c.until] >= time.time()) if running is None else running


def _until() -> int:
    return int(time.time()) + LEASE


def place_of(row: Row) -> Place:
    """What a row is about, where it is about an entry or a use."""
    content = row.content
    number = content.get("number", 0)
    return (content["entry"], number) if "entry" in content else (number, 0)


def named(place: Place) -> str:
    return f"use {place[1]} of entry {place[0]}" if place[1] else f"entry {place[0]}"


# ---------------------------------------------------------------- refusals


def busy(found: Draw) -> SessionBusy:
    who = "this kernel" if found.mine else "another kernel"
    return SessionBusy(
        f"{who} is drawing this answer now: {found.text}, charged {found.opened}; "
        "wait for it and ask again: the answer is then free",
        value=found.text,
        rule="one key is drawn once",
        next_step="wait for it and ask again: the answer is then free",
    )


def lost(found: Draw) -> ReleaseLost:
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


def not_open(found: Draw) -> LedgerError:
    if found.status == "done":
        state, step = "has its answer already", "read its answer"
    elif found.status == "open":
        state, step = "is open for uses", "reserve a use of it"
    else:
        state, step = "is drawn by another kernel", "wait for that kernel"
    rule = "what was charged is closed once, by the kernel that charged it"
    return LedgerError(f"{found.name} {state}, and {rule}; {step}", value=found.name, rule=rule, next_step=step)


def not_for_use(found: Draw) -> LedgerError:
    rule, step = "only an entry that is open can be used", "open a sub-session, and use its entry"
    said = f"{found.name} is {found.status}, and {rule}; {step}"
    return LedgerError(said, value=found.name, rule=rule, next_step=step)


def no_answer(found: Draw) -> LedgerError:
    steps = {"pending": "wait for it", "open": "reserve a use of it"}
    return LedgerError(
        f"{found.name} has no answer: it is {found.status}",
        value=found.status,
        rule="only what is done has an answer",
        next_step=steps.get(found.status, "draw again with retry=True, paid"),
    )


guard(vars())
