"""A real PostgreSQL server for the tests of engines: frames go into it as tables, and are opened through Ibis."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping
from typing import Any

import ibis
import numpy as np
import pandas as pd

from dpviz.engines import sources
from dpviz.model.source import Source
from tests.engines.contract import Engine
from tests.ledger.server import OWNER, Server

TYPES = {
    "int8": "smallint",
    "int16": "smallint",
    "int32": "integer",
    "int64": "bigint",
    "uint64": "numeric(20, 0)",
    "float32": "real",
    "float64": "double precision",
    "bool": "boolean",
    "boolean": "boolean",
    "datetime64[us]": "timestamp",
}
NUMBERS = itertools.count()
OPEN: list[Any] = []


def backend(server: Server, database: str = "postgres", user: str = OWNER) -> Any:
    """A connection that Ibis opened."""
    opened = ibis.postgres.connect(host=str(server.folder), port=server.port, user=user, database=database)
    OPEN.append(opened)
    return opened


def close() -> None:
    """Close what was opened, once no test needs it."""
    while OPEN:
        OPEN.pop().con.close()


def table(server: Server, statements: str, name: str, **options: Any) -> Source:
    """The source of a table that these statements make."""
    with server.connect() as connection:
        connection.execute(statements)
    return sources.ibis(backend(server).table(name), **options)


def plain(value: Any) -> Any:
    """A value as psycopg writes it."""
    if value is None or value is pd.NA or value is pd.NaT:
        return None
    if isinstance(value, float) and math.isnan(value) and not isinstance(value, np.generic):
        return None  # how pandas writes a text that is not there
    return value.item() if isinstance(value, np.generic) else value


def on_postgres(server: Server) -> Engine:
    """The engine of a server: each frame becomes a table, over one connection that Ibis opened."""
    opened = backend(server)

    def postgres(frame: pd.DataFrame, name: str, schema: Mapping[str, str] | None) -> Source:
        made = f"table_{next(NUMBERS)}"
        columns = ", ".join(
            f'"{column}" {TYPES.get(str(kind).lower(), "text")}' for column, kind in frame.dtypes.items()
        )
        opened.raw_sql(f"CREATE TABLE {made} ({columns})").close()
        with opened.con.cursor() as cursor, cursor.copy(f"COPY {made} FROM STDIN") as copy:
            for row in zip(*(frame[column].array for column in frame.columns), strict=True):
                copy.write_row([plain(value) for value in row])
        return sources.ibis(opened.table(made), name=name, schema=schema)

    return postgres
