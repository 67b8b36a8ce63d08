"""A table of SQLite, through Ibis: read once, when it is opened, into a DuckDB of our own.

SQLite declares what a column prefers, and any row may hold something else. So the declared type alone decides how a
column is counted, and a value of another kind is missing: no row can make a count fail. A connection of SQLite serves
one thread, the one that opened it; nothing is asked of it later.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import Any, Final

import ibis.expr.operations as operations
import pyarrow  # type: ignore[import-untyped]

from dpviz.boundary import Hidden, protect_module

BATCH: Final = 1 << 16
"""Rows read at a time."""
TWO: Final = "[0-9][0-9]"
DAY: Final = f"{TWO}{TWO}-{TWO}-{TWO}"
CLOCK: Final = rf"{DAY}([ T]{TWO}:{TWO}(:{TWO}(\.[0-9]+)?)?)?"


@dataclass(frozen=True)
class Kind:
    """How the values of a declared type are read.

    read   SQLite's expression: null where a value is of another kind; texts as their bytes
    arrow  the Arrow type that they come as
    made   DuckDB's expression of the column that is counted
    """

    read: str
    arrow: Any
    made: str = "{0}"


TEXT: Final = "CASE WHEN typeof({0}) = 'text' THEN CAST({0} AS BLOB) END"
KINDS: Final = {
    "number": Kind("CASE WHEN typeof({0}) = 'integer' THEN {0} END", pyarrow.int64()),
    "real": Kind("CASE WHEN typeof({0}) IN ('real', 'integer') THEN CAST({0} AS REAL) END", pyarrow.float64()),
    "flag": Kind("CASE WHEN typeof({0}) = 'integer' AND {0} IN (0, 1) THEN {0} END", pyarrow.int64(), "{0} = 1"),
    "text": Kind(TEXT, pyarrow.large_string()),
    "day": Kind(
        TEXT, pyarrow.large_string(), f"TRY_CAST(CASE WHEN regexp_full_match({{0}}, '{DAY}') THEN {{0}} END AS DATE)"
    ),
    "time": Kind(
        TEXT,
        pyarrow.large_string(),
        f"TRY_CAST(CASE WHEN regexp_full_match({{0}}, '{CLOCK}') THEN"
        f" regexp_replace({{0}}, '(\\.{TWO * 3})[0-9]+', '\\1') END AS TIMESTAMP)",
    ),
    "bytes": Kind("NULL", pyarrow.binary()),
    "any": Kind(
        "CASE typeof({0}) WHEN 'text' THEN CAST({0} AS BLOB) WHEN 'blob' THEN NULL ELSE {0} END", pyarrow.large_string()
    ),
}


def kind_of(declared: str) -> str:
    """How a column of this declared type is read: by SQLite's rule of affinity, and by names that people use."""
    name = declared.upper()
    if not name:
        return "any"
    if name.startswith("BOOL"):
        return "flag"
    if name.startswith(("DATETIME", "TIMESTAMP")):
        return "any" if re.search("TZ|ZONE", name) else "time"
    if name == "DATE":
        return "day"
    affinities = (("INT", "number"), ("CHAR", "text"), ("CLOB", "text"), ("TEXT", "text"), ("BLOB", "bytes"))
    for part, kind in (*affinities, ("REAL", "real"), ("FLOA", "real"), ("DOUB", "real")):
        if part in name:
            return kind
    return "real" if re.match("NUM|DEC", name) else "any"


def opened(held: Hidden[Any]) -> tuple[Iterator[Any], tuple[str, ...], list[str], frozenset[str]]:
    """Tables of some rows each, the names of the columns, what DuckDB makes of each, and those that hold anything.
    The first table has no rows. They must be taken on the thread that the connection belongs to.

    Raises what SQLite raises.
    """
    table = held.take()
    backend = table.get_backend()
    query = backend.compile(table)
    kinds = [kind_of(declared) for declared in _declared(backend, table, query)]
    names = tuple(table.columns)
    schema = pyarrow.schema([(f"c{at}", KINDS[kind].arrow) for at, kind in enumerate(kinds)])
    read = ", ".join(KINDS[kind].read.format(_quoted(name)) for name, kind in zip(names, kinds, strict=True))
    encoding = backend.con.execute("PRAGMA encoding").fetchone()[0].replace("UTF-16le", "utf-16-le")
    encoding = encoding.replace("UTF-16be", "utf-16-be")
    rows = _batches(backend, f"SELECT {read} FROM ({query})", schema, encoding)
    made = [KINDS[kind].made.format(f'"c{at}"') for at, kind in enumerate(kinds)]
    anything = frozenset(name for name, kind in zip(names, kinds, strict=True) if kind == "any")
    return rows, names, made, anything


def _declared(backend: Any, table: Any, query: str) -> list[str]:
    """The declared type of each column, "" where there is none. Reads no row."""
    if isinstance(node := table.op(), operations.DatabaseTable):
        place = node.namespace.database or "main"
        found = backend.con.execute(f"PRAGMA {_quoted(place)}.table_xinfo({_quoted(node.name)})").fetchall()
        known = {row[1]: row[2] for row in found}
        return [known[name] for name in table.columns]
    view = f"dpviz_{id(table):x}"
    backend.con.execute(f"CREATE TEMPORARY VIEW {view} AS {query}")
    try:
        return [row[2] for row in backend.con.execute(f"PRAGMA temp.table_info({view})").fetchall()]
    finally:
        backend.con.execute(f"DROP VIEW {view}")


def _batches(backend: Any, query: str, schema: Any, encoding: str) -> Iterator[Any]:
    yield schema.empty_table()
    with closing(backend.con.cursor()) as cursor:
        cursor.row_factory = None
        cursor.execute(query)
        while rows := cursor.fetchmany(BATCH):
            yield pyarrow.table(
                [
                    pyarrow.array(_plain(values, kind.type, encoding), kind.type)
                    for values, kind in zip(zip(*rows, strict=True), schema, strict=True)
                ],
                schema=schema,
            )


def _plain(values: Sequence[Any], kind: Any, encoding: str) -> Sequence[Any]:
    """Texts from their bytes, one that is no text missing; numbers among them as they are written."""
    return [_text(value, encoding) for value in values] if pyarrow.types.is_large_string(kind) else values


def _text(value: Any, encoding: str) -> str | None:
    if value is None or isinstance(value, str):
        return value
    if not isinstance(value, bytes):
        return repr(value)
    try:
        return value.decode(encoding)
    except UnicodeDecodeError:
        return None


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


protect_module(vars())
