"""The tables. `chain` and `blob` are the record, `entry` and `use` are derived from it, `draw` is about the present."""

from __future__ import annotations

from sqlalchemy import BigInteger, Column, Index, Integer, LargeBinary, MetaData, String, Table, Text, text

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


def on_postgresql() -> None:
    """Say the same to PostgreSQL. Naming a database loads all that SQLAlchemy knows of it, so whoever has one calls."""
    for index in (one_answer_for_a_charge, one_answer_for_a_use):
        index.dialect_options["postgresql"]["where"] = _LIVE
