"""The tables. `chain` and `blob` are the record, `entry` and `use` are derived from it, `draw` is about the present."""

from __future__ import annotations

from functools import cache

from sqlalchemy import BigInteger, Column, Connection, Index, Integer, LargeBinary, MetaData, String, Table, Text, text
from sqlalchemy.dialects import sqlite
from sqlalchemy.schema import CreateIndex, CreateTable

metadata = MetaData()

chain = Table(
    "chain",
    metadata,
    Column("seq", Integer, primary_key=True, autoincrement=False),
    Column("kind", String(16), nullable=False),
    Column("body", Text, nullable=False),
    Column("previous", String(64), nullable=False, unique=True),
    Column("hash", String(64), nullable=False),
)

blob = Table(
    "blob",
    metadata,
    Column("hash", String(64), primary_key=True),
    Column("content", LargeBinary, nullable=False),
)

entry = Table(
    "entry",
    metadata,
    Column("number", Integer, primary_key=True, autoincrement=False),
    Column("key", String(128), nullable=False, index=True),
    Column("status", String(16), nullable=False),
    Column("charge", Integer, nullable=False),
    Column("outcome", Integer),
    Column("closed", String(32)),
)

use = Table(
    "use",
    metadata,
    Column("entry", Integer, primary_key=True, autoincrement=False),
    Column("number", Integer, primary_key=True, autoincrement=False),
    Column("key", String(128), nullable=False),
    Column("status", String(16), nullable=False),
    Column("charge", Integer, nullable=False),
    Column("outcome", Integer),
    Column("closed", String(32)),
)
Index("uses_of_a_key", use.c.entry, use.c.key)
Index("outcomes_of_uses", use.c.entry, use.c.outcome)

_LIVE = text("status IN ('pending', 'done', 'open')")
one_answer_for_a_charge = Index("one_answer_for_a_charge", entry.c.key, unique=True, sqlite_where=_LIVE)
one_answer_for_a_use = Index("one_answer_for_a_use", use.c.entry, use.c.key, unique=True, sqlite_where=_LIVE)

draw = Table(
    "draw",
    metadata,
    Column("entry", Integer, primary_key=True, autoincrement=False),
    Column("use", Integer, primary_key=True, autoincrement=False),  # 0: the entry's own draw
    Column("token", String(64), nullable=False),
    Column("place", Text, nullable=False),
    Column("pid", BigInteger, nullable=False),
    Column("born", Text, nullable=False),
    Column("until", BigInteger, nullable=False),
)


@cache
def on_sqlite() -> dict[tuple[str, str], str]:
    """Kind and name of each table and index of an SQLite file, and the statement that makes it, in an order that
    works. They are put together once: a new ledger is made by them, and every ledger is held against them."""
    dialect = sqlite.dialect()
    made: dict[tuple[str, str], str] = {}
    for table in metadata.sorted_tables:
        made["table", table.name] = str(CreateTable(table).compile(dialect=dialect))
        for index in sorted(table.indexes, key=lambda index: str(index.name)):
            made["index", str(index.name)] = str(CreateIndex(index).compile(dialect=dialect))
    return made


def make(connection: Connection) -> None:
    """Make all of them in a new SQLite file."""
    for statement in on_sqlite().values():
        connection.exec_driver_sql(statement)


def complete(connection: Connection) -> None:
    """Make those that an older dpviz did not have."""
    if connection.dialect.name == sqlite.dialect.name:
        there = {(kind, name) for kind, name in connection.exec_driver_sql("SELECT type, name FROM sqlite_master")}
        if there.issuperset(on_sqlite()):
            return
    metadata.create_all(connection)
    one_answer_for_a_charge.create(connection, checkfirst=True)


def on_postgresql() -> None:
    """Say the same to PostgreSQL. Naming a database loads all that SQLAlchemy knows of it, so whoever has one calls."""
    for index in (one_answer_for_a_charge, one_answer_for_a_use):
        index.dialect_options["postgresql"]["where"] = _LIVE
