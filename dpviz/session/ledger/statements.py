"""Statements that are put together once: SQLAlchemy takes ten times as long over a statement as SQLite does to run it.

SQLite's driver is asked directly. A server is asked through SQLAlchemy, which knows how a connection is lost; what is
written together travels there as one statement, so that the server is waited for once.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from sqlalchemy import Connection
from sqlalchemy.sql import ClauseElement

SQLITE = "sqlite"


class _Compiled(NamedTuple):
    """A statement as a driver takes it, the names of its values in order, and the values that it has from the start."""

    text: str
    names: list[str]
    fixed: dict[str, Any]


class Statement:
    """One statement with named values, or several that write to different tables with the same values.

    Of several, none sees what the others write.
    """

    def __init__(self, *parts: ClauseElement) -> None:
        self._parts = parts
        self._compiled: dict[str, list[_Compiled]] = {}  # by the name of the kind of database

    def all(self, connection: Connection, **values: object) -> Sequence[Any]:
        """The rows that it finds."""
        rows: Sequence[Any] = self._run(connection, values).fetchall()
        return rows

    def first(self, connection: Connection, **values: object) -> Any:
        """The first row that it finds, or None. It reads all of them, so it is for what finds one."""
        rows = self.all(connection, **values)
        return rows[0] if rows else None

    def change(self, connection: Connection, **values: object) -> int:
        """Write, and say how many rows the last of the statements wrote."""
        count: int = self._run(connection, values).rowcount
        return count

    def _run(self, connection: Connection, values: dict[str, object]) -> Any:
        """Run it with those of the values that it names."""
        kind = connection.dialect.name
        parts = self._compiled.get(kind)
        if parts is None:
            parts = [_compile(part, connection) for part in self._parts]
            parts = self._compiled[kind] = parts if kind == SQLITE else [_joined(parts)]
        if kind != SQLITE:
            (one,) = parts
            return connection.exec_driver_sql(one.text, one.fixed | values)
        driver: Any = connection.connection.driver_connection
        for part in parts:
            given = part.fixed | values
            cursor = driver.execute(part.text, [given[name] for name in part.names])
        return cursor


def _compile(part: ClauseElement, connection: Connection) -> _Compiled:
    compiled: Any = part.compile(dialect=connection.dialect)
    fixed = {name: value for name, value in compiled.params.items() if value is not None}
    return _Compiled(compiled.string, compiled.positiontup or [], fixed)


def _joined(parts: list[_Compiled]) -> _Compiled:
    """Several statements as one, on a server: the last, with the others before it."""
    *others, last = parts
    if not others:
        return last
    before = ", ".join(f"part_{place} AS ({part.text})" for place, part in enumerate(others))
    fixed = {name: value for part in parts for name, value in part.fixed.items()}
    return _Compiled(f"WITH {before} {last.text}", [], fixed)
