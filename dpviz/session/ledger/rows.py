"""Reading and writing the rows of the chain, one transaction at a time."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import fields
from typing import TYPE_CHECKING, Any, TypeAlias

from sqlalchemy import Connection, bindparam, select

from dpviz.errors import LedgerFormat, ParameterError, short
from dpviz.session.ledger.chain import FORMAT, Row, broken
from dpviz.session.ledger.tables import chain

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

Account: TypeAlias = Mapping[str, str]

# built once: putting a statement together costs more than running it
_LAST = select(chain).order_by(chain.c.seq.desc()).limit(1)
_ROW = select(chain).where(chain.c.seq == bindparam("at"))
_PART = select(chain).order_by(chain.c.seq).limit(1000)
_NEXT_PART = _PART.where(chain.c.seq > bindparam("after"))
_HEAD = select(chain.c.seq, chain.c.hash).order_by(chain.c.seq.desc()).limit(1)
_FIRST = select(chain.c.body).where(chain.c.seq == 1)
_ADD = chain.insert()


def append(connection: Connection, row: Row) -> Row:
    connection.execute(_ADD, columns(row))
    connection.info["written"] = row
    return row


def written(connection: Connection) -> Row | None:
    """The last row that this transaction appended. Of the first row nobody asks: who makes a ledger looks for one."""
    row: Row | None = connection.info.get("written")
    return None if row is None or row.seq == 1 else row


def forget(connection: Connection) -> None:
    """Begin a transaction in which nothing is written yet."""
    connection.info.pop("written", None)


def last(connection: Connection) -> Row:
    found = connection.execute(_LAST).first()
    if found is None:
        raise broken("it has no rows")
    return Row.read(found)


def head(connection: Connection) -> tuple[int, str]:
    """Number and hash of the last row, as they stand there."""
    found = connection.execute(_HEAD).first()
    if found is None:
        raise broken("it has no rows")
    return found.seq, found.hash


def row_at(connection: Connection, seq: int) -> Row:
    found = connection.execute(_ROW, {"at": seq}).first()
    if found is None:
        raise broken(f"row {seq} is missing")
    return Row.read(found)


def holds(connection: Connection, row: Row) -> bool:
    """Whether this very row is there."""
    found = connection.execute(_ROW, {"at": row.seq}).first()
    return found is not None and found.hash == row.hash


def every(connection: Connection, *, after: int = 0) -> Iterator[Row]:
    """All rows behind one, read in parts: a cursor on a server would stay open where a reader stops at a broken row."""
    part = connection.execute(_NEXT_PART, {"after": after}).all() if after else connection.execute(_PART).all()
    while part:
        yield from map(Row.read, part)
        part = connection.execute(_NEXT_PART, {"after": part[-1].seq}).all()


def charter(connection: Connection) -> dict[str, Any]:
    """The charter with the budget now in force, once the format is known to be ours."""
    body = connection.execute(_FIRST).scalar()
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
    found: dict[str, Any] = dict(row_at(connection, 1).content["charter"])
    terms = last(connection).state.terms
    if terms > 1:
        found["budget"] = row_at(connection, terms).content["budget"]
    return found


def totals(given: Account) -> dict[str, str]:
    """Totals as a row carries them."""
    for name, total in given.items():
        if not isinstance(name, str) or not isinstance(total, str):
            raise ParameterError.of(type(total).__name__, "an account maps text to text", "write numbers as exact text")
    return dict(given)


def columns(item: DataclassInstance) -> dict[str, Any]:
    return {column.name: getattr(item, column.name) for column in fields(item)}
