"""PostgreSQL, through Ibis: counts on the server, over the connection that Ibis opened.

Texts are compared by the collation "C", whatever a column's own: by their bytes, which in UTF-8 is by code point. Two
texts that a nondeterministic collation calls equal are two keys, as everywhere else. The server plans every question
before anything is charged (EXPLAIN): a question that it cannot answer is refused then.
"""

from __future__ import annotations

import threading
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final, cast

import ibis
import ibis.expr.datatypes as dt
import ibis.expr.operations as ops
import numpy as np
from numpy.typing import NDArray

from dpviz.boundary import protect_module
from dpviz.engines import queries
from dpviz.engines.queries import BATCH, FAILED, Engine, IntegerColumns, Piece, Rows

if TYPE_CHECKING:
    import psycopg

TYPES: Final = {
    16: "boolean",
    20: "int64",
    21: "int16",
    23: "int32",
    26: "int64",  # oid
    700: "float32",
    701: "float64",
    1082: "date",
    1114: "timestamp(6)",
    1700: "decimal",
}
"""The built-in types that are counted, by their numbers, which never change. (A column of a domain has the number of
the type below.)"""
TEXTS: Final = (18, 19, 25, 1042, 1043)
"""char, name, text, character(n), character varying(n)."""
INT64: Final = np.iinfo(np.int64)


class Postgres(Engine):
    """A PostgreSQL server. One connection serves one query at a time; psycopg has whoever comes second wait."""

    name = "PostgreSQL"
    plans = True

    def __init__(self, backend: Any) -> None:
        super().__init__(backend)
        self._running = False

    @property
    def _connection(self) -> psycopg.Connection[Any]:
        connection: psycopg.Connection[Any] = self._backend.con
        return connection

    def touch(self) -> None:
        self._asked("SELECT 1")

    def waits_for(self) -> tuple[str, str] | None:
        """In a transaction that failed the server answers nothing."""
        failed = self._connection.info.transaction_status.name == "INERROR"
        return (FAILED, "roll it back on the connection that Ibis holds") if failed else None

    def opened(self, table: Any) -> Any:
        """The table with its texts, and everything that is as good as a text, as bytes are compared."""
        described = self.shape(table)
        enumerations = self._enumerations()
        columns: list[str] = []
        schema: dict[str, Any] = {}
        for (name, kind, precision, scale), (_, known) in zip(described, table.schema().items(), strict=True):
            quoted = '"' + name.replace('"', '""') + '"'
            if known.is_json():  # which Ibis hands over as a text
                columns.append(quoted)
                schema[name] = known
            elif kind in TEXTS or kind in enumerations:
                columns.append(f'CAST({quoted} AS TEXT) COLLATE "C" AS {quoted}')
                schema[name] = "string"
            elif kind in (1082, 1114):  # an endless one has no year: it is no time, as in every engine
                columns.append(f"CASE WHEN isfinite({quoted}) THEN {quoted} END AS {quoted}")
                schema[name] = TYPES[kind]
            elif kind == 1700:  # a NaN is missing
                columns.append(f"NULLIF({quoted}, CAST('NaN' AS NUMERIC)) AS {quoted}")
                schema[name] = "decimal" if precision is None else _decimal(precision, scale)
            else:
                columns.append(quoted)
                schema[name] = TYPES.get(kind, _uncounted(known))
        query = f"SELECT {', '.join(columns)} FROM ({self._backend.compile(table)}) AS dpviz_given"
        return ops.SQLQueryResult(query, ibis.schema(schema), self._backend).to_expr()

    def shape(self, table: Any) -> list[tuple[Any, ...]]:
        described = self._described(self._backend.compile(table.limit(0)))
        return [(one.name, one.type_code, one.precision, one.scale) for one in described]

    def by_code_point(self, columns: Sequence[str]) -> set[str]:
        """In the collation "C" bytes are compared, which are in the order of code points in these encodings alone."""
        ((encoding,),) = self._asked("SHOW server_encoding")
        return set(columns) if encoding in ("UTF8", "LATIN1") else set()

    def prepared(self, query: Any) -> Any:
        sql = self._backend.compile(query)
        self._asked(f"EXPLAIN {sql}")
        return sql

    def rows(self, query: Any, stopped: threading.Event) -> Rows:
        self._running = True
        try:
            with self._executed(query, soon=False) as cursor:
                return cursor.fetchall()
        finally:
            self._running = False

    def columns(self, query: Any, stopped: threading.Event) -> IntegerColumns | Rows:
        found = self.table(query, stopped)
        if len(found) == 2 and all(isinstance(column, np.ndarray) for column in found):
            return IntegerColumns(*found)
        return cast(Rows, found)

    def table(self, query: Any, stopped: threading.Event) -> list[NDArray[Any]] | Rows:
        rows = self.rows(query, stopped)
        if not rows or any(type(number) is not int for row in rows for number in row):
            return rows
        if any(not INT64.min <= number <= INT64.max for row in rows for number in row):
            return rows
        return list(np.array(rows, dtype=np.int64).T)

    def batches(self, query: Any, stopped: threading.Event) -> Generator[Piece]:
        """From a cursor on the server, which keeps the rows until they are taken."""
        connection = self._connection
        with connection.transaction(), connection.cursor("dpviz_counts") as cursor:
            self._running = True
            try:
                cursor.execute(query)
                while not stopped.is_set() and (rows := cursor.fetchmany(BATCH)):
                    yield rows
            finally:
                self._running = False

    def stop(self) -> None:
        if self._running:
            self._connection.cancel()

    @contextmanager
    def _executed(self, query: str, soon: bool) -> Generator[psycopg.Cursor[Any]]:
        """A query that was executed. One that must be answered soon waits some seconds for a table that is locked."""
        connection = self._connection
        with connection.transaction(), connection.cursor() as cursor:
            if soon:
                (before,) = cursor.execute("SELECT current_setting('lock_timeout')").fetchone() or ("0",)
                cursor.execute("SELECT set_config('lock_timeout', %s, true)", (f"{round(queries.ANSWERS * 500)}ms",))
            yield cursor.execute(query)
            if soon:  # the transaction may be the owner's and go on
                cursor.execute("SELECT set_config('lock_timeout', %s, true)", (before,))

    def _asked(self, query: str) -> Rows:
        """The answer to something that reads no row."""
        with self._executed(query, soon=True) as cursor:
            return cursor.fetchall()

    def _described(self, query: str) -> Any:
        with self._executed(query, soon=True) as cursor:
            return cursor.description

    def _enumerations(self) -> set[int]:
        """The numbers of the types that are as good as a text: enumerations, and citext, which is compared by letters
        of any size."""
        return {row[0] for row in self._asked("SELECT oid FROM pg_type WHERE typtype = 'e' OR typname = 'citext'")}


def _decimal(precision: int, scale: int) -> str:
    """The type of decimals that a server's own type holds, whose places may be less than none or more than its digits.

    psycopg has the places without their sign: 11 bits of two's complement.
    """
    places = ((scale & 0x7FF) ^ 0x400) - 0x400
    return f"decimal({max(precision - min(places, 0), places)}, {max(places, 0)})"


def _uncounted(known: Any) -> Any:
    """The type as Ibis has it, unless it would be taken for one that is counted: money is no number."""
    counted = known.is_numeric() or known.is_string() or known.is_boolean() or known.is_date()
    return dt.unknown if counted else known


protect_module(vars())
