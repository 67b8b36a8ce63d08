"""The tables. `chain` and `blob` are the record; `entry` is derived from them, and `lease` is about the present."""

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
_LIVE = text("status IN ('pending', 'done')")
Index("one_answer_for_a_key", entry.c.key, unique=True, sqlite_where=_LIVE, postgresql_where=_LIVE)

lease = Table(
    "lease",
    metadata,
    Column("number", Integer, primary_key=True, autoincrement=False),
    Column("token", String(64), nullable=False),
    Column("place", Text, nullable=False),
    Column("pid", BigInteger, nullable=False),
    Column("born", Text, nullable=False),
    Column("until", BigInteger, nullable=False),
)
