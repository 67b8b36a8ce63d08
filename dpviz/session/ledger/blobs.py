"""Answers too large for a row: kept once, under the SHA-256 of their bytes. The hash is in the chain."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any, Final

from sqlalchemy import Connection, select

from dpviz.session.ledger.chain import broken
from dpviz.session.ledger.statements import SQLITE
from dpviz.session.ledger.tables import blob

INLINE = 64 * 1024
"""Up to this many bytes of UTF-8 text ride in the outcome row itself."""

ADD = blob.insert()
"""The answer is a parameter of this statement, never a part of it: SQLAlchemy keeps statements that it compiled, with
the values in them."""


PIECE: Final = 1 << 20
"""Bytes of a long answer that are handed to SQLite at once. As a parameter it would be copied whole, and the copy would
stay with the statement, which Python's driver keeps, until its next use."""


def put(connection: Connection, answer: bytes) -> dict[str, object]:
    """The text that the outcome row has for `answer`: its text, or the hash and size of the blob it became."""
    if len(answer) <= INLINE:
        try:
            return {"text": answer.decode("utf-8")}
        except UnicodeDecodeError:
            pass
    name = hashlib.sha256(answer).hexdigest()
    if connection.execute(select(blob.c.hash).where(blob.c.hash == name)).first() is None:
        if connection.dialect.name == SQLITE and len(answer) > PIECE:
            _put_in_pieces(connection.connection.driver_connection, name, answer)
        else:
            connection.execute(ADD, {"hash": name, "content": answer})
    return {"blob": name, "size": len(answer)}


def _put_in_pieces(driver: Any, name: str, answer: bytes) -> None:
    """Write a long answer into room that was made for it, in the transaction that is open."""
    place = driver.execute(
        f"INSERT INTO {blob.name} (hash, content) VALUES (?, zeroblob(?))", (name, len(answer))
    ).lastrowid
    with driver.blobopen(blob.name, blob.c.content.name, place) as room:
        for first in range(0, len(answer), PIECE):
            room.write(memoryview(answer)[first : first + PIECE])


def get(connection: Connection, said: Mapping[str, object]) -> bytes:
    """The bytes an outcome row speaks of, refused unless they have the hash it names."""
    if "text" in said:
        return str(said["text"]).encode("utf-8")
    content = connection.execute(select(blob.c.content).where(blob.c.hash == said["blob"])).scalar()
    if not isinstance(content, bytes) or hashlib.sha256(content).hexdigest() != said["blob"]:
        raise broken(f"the answer with hash {said['blob']} is missing or altered")
    return content


def check(connection: Connection, named: set[str]) -> None:
    """Every blob is whole, each named one is there, and there is no other. One blob in memory at a time."""
    for name in sorted(named):
        get(connection, {"blob": name})
    if set(connection.execute(select(blob.c.hash)).scalars()) != named:
        raise broken("an answer is kept that no row names")
