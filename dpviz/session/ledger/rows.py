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
_ROWS = select(chain).order_by(chain.c.seq).execution_options(yield_per=1000)
_FIRST = select(chain.c.body).where(chain.c.seq == 1)
_ADD = chain.insert()


def append(connection: Connection, row: Row) -> Row:
    connection.execute(_ADD, columns(row))
    return row


def last(connection: Connection) -> Row:
    found = connection.execute(_LAST).first()
    if found is None:
        raise broken("it has no rows")
    return Row.read(found)


def row_at(connection: Connection, seq: int) -> Row:
    found = connection.execute(_ROW, {"at": seq}).first()
    if found is None:
        raise broken(f"row {seq} is missing")
    return Row.read(found)


def holds(connection: Connection, row: Row) -> bool:
    """Whether this very row is there."""
    found = connection.execute(_ROW, {"at": row.seq}).first()
    return found is not None and found.hash == row.hash


def every(connection: Connection) -> Iterator[Row]:
    return map(Row.read, connection.execute(_ROWS))


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
