"""Reading and writing the rows of the chain, one transaction at a time."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields
from functools import cache
from typing import TYPE_CHECKING, Any, TypeAlias

from sqlalchemy import Connection, bindparam, select

from dpviz.errors import LedgerFormat, ParameterError, short
from dpviz.session.ledger import packing
from dpviz.session.ledger.chain import FORMAT, Row, broken
from dpviz.session.ledger.statements import SQLITE, Statement
from dpviz.session.ledger.tables import chain

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

Account: TypeAlias = Mapping[str, str]

_LAST = Statement(select(chain).order_by(chain.c.seq.desc()).limit(1))
_ROW = Statement(select(chain).where(chain.c.seq == bindparam("at")))
_IN_PARTS = select(chain).order_by(chain.c.seq).limit(1000)
_PART, _NEXT_PART = Statement(_IN_PARTS), Statement(_IN_PARTS.where(chain.c.seq > bindparam("after")))
_HEAD = Statement(select(chain.c.seq, chain.c.hash).order_by(chain.c.seq.desc()).limit(1))
_FIRST = Statement(select(chain.c.body).where(chain.c.seq == 1))
ADD = chain.insert()
_ADD = Statement(ADD)


def append(connection: Connection, row: Row, statement: Statement = _ADD, **more: object) -> Row:
    """Append a row to the chain, by a statement that may write more besides."""
    body = packing.packed(row.body) if row.seq > 1 and _packs(connection) else row.body
    statement.change(connection, **{**columns(row), "body": body}, **more)
    connection.info.setdefault("written", []).append(row)
    return row


def written(connection: Connection) -> list[Row]:
    """The rows that this transaction appended. Of the first row nobody asks: who makes a ledger looks for one."""
    return [row for row in connection.info.get("written", ()) if row.seq > 1]


def forget(connection: Connection) -> None:
    """Begin a transaction in which nothing is written yet."""
    connection.info.pop("written", None)


def last(connection: Connection) -> Row:
    found = _LAST.first(connection)
    if found is None:
        raise broken("it has no rows")
    return Row.read(found)


def head(connection: Connection) -> tuple[int, str]:
    """Number and hash of the last row, as they stand there."""
    found = _HEAD.first(connection)
    if found is None:
        raise broken("it has no rows")
    seq, hash_ = found
    return seq, hash_


def hash_at(connection: Connection, seq: int) -> str | None:
    """The hash of a row, as it stands there."""
    found = _ROW.first(connection, at=seq)
    return None if found is None or not isinstance(found[-1], str) else found[-1]


def row_at(connection: Connection, seq: int) -> Row:
    found = _ROW.first(connection, at=seq)
    if found is None:
        raise broken(f"row {seq} is missing")
    return Row.read(found)


def holds(connection: Connection, row: Row) -> bool:
    """Whether this very row is there."""
    found = _ROW.first(connection, at=row.seq)
    return found is not None and _plain(found) == tuple(columns(row).values())


def end_with(connection: Connection, appended: list[Row]) -> bool:
    """Whether these very rows are the last ones."""
    found = _NEXT_PART.all(connection, after=appended[0].seq - 1)
    return [_plain(record) for record in found] == [tuple(columns(row).values()) for row in appended]


def _plain(record: Sequence[Any]) -> tuple[Any, ...]:
    """A row as it is stored, with its text as it was written."""
    seq, kind, body, *hashes = record
    return (seq, kind, packing.unpacked(body), *hashes)


def _packs(connection: Connection) -> bool:
    """Whether texts are packed here: in a file of a format that does. It is asked once of a connection."""
    packs: bool | None = connection.info.get("packs")
    if packs is None:
        packs = connection.info["packs"] = connection.dialect.name == SQLITE and format_of(connection) >= packing.FORMAT
    return packs


def every(connection: Connection, *, after: int = 0) -> Iterator[Row]:
    """All rows behind one, read in parts: a cursor on a server would stay open where a reader stops at a broken row."""
    part = _NEXT_PART.all(connection, after=after) if after else _PART.all(connection)
    while part:
        yield from map(Row.read, part)
        part = _NEXT_PART.all(connection, after=part[-1][0])


def format_of(connection: Connection) -> int:
    """The format, once it is known to be ours."""
    first = _FIRST.first(connection)
    try:
        format_ = json.loads("" if first is None else first[0])["format"]
    except (ValueError, TypeError, KeyError):
        raise broken("row 1 is not a charter") from None
    if not isinstance(format_, int) or format_ > FORMAT:
        raise LedgerFormat(
            f"the ledger has format {short(format_)}, and this dpviz reads up to {FORMAT}; upgrade dpviz",
            value=short(format_),
            rule=f"this dpviz reads ledgers up to format {FORMAT}",
            next_step="upgrade dpviz",
        )
    return format_


def charter(connection: Connection) -> dict[str, Any]:
    """The charter with the budget now in force, once the format is known to be ours."""
    format_of(connection)
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
    return {name: getattr(item, name) for name in _names(type(item))}


@cache
def _names(kind: type[DataclassInstance]) -> tuple[str, ...]:
    return tuple(column.name for column in fields(kind))
