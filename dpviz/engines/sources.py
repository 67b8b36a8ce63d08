"""Data that stays in an SQL engine, for a session: `dv.Session(dv.sources.duckdb("visits.parquet"), ...)`.

A path, an Ibis table and a Spark DataFrame may also be given to a session as they are. These calls are for what such a
short form cannot say: a table of a database, a connection, counts that are only approximate.
"""

from __future__ import annotations

import glob
import importlib.util
import shutil
import sys
import tempfile
import uuid
import warnings
import weakref
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, Literal

from dpviz.errors import ParameterError, ReleaseFailed
from dpviz.files import named
from dpviz.hidden import Hidden, kind_of, publicly, quietly, shown
from dpviz.model.source import Source

__all__ = ["duckdb", "ibis", "spark"]

UNNAMED: Final = "data"
PARQUET: Final = (".parquet", ".pq")
CSV: Final = (".csv", ".csv.gz")
DATABASE: Final = (".duckdb", ".ddb", ".db")
MISSING: Final = (
    "", "#N/A", "#N/A N/A", "#NA", "-1.#IND", "-1.#QNAN", "-NaN", "-nan", "1.#IND", "1.#QNAN", "<NA>", "N/A", "NA",
    "NULL", "NaN", "None", "n/a", "nan", "null",
)  # fmt: skip
"""What stands for a missing value in a CSV file: what pandas takes for one."""
TYPES: Final = ("BIGINT", "DOUBLE", "VARCHAR")
"""What the columns of a CSV file may hold."""

LOOK: Final = """
SELECT "Columns", "Delimiter", "NewLineDelimiter"
FROM sniff_csv(?, header=true, skip=0, quote='"', escape='"', comment='', sample_size=-1, nullstr=?,
               auto_type_candidates=?)
"""
"""Looks through a CSV file. Its names are in the first line and its texts are quoted as by RFC 4180. Alone, DuckDB
would guess these from the rows: two apostrophes then make one value of all lines between them."""

SET_BY_IBIS: Final = ("spark.sql.session.timeZone", "spark.sql.mapKeyDedupPolicy")


@publicly
def duckdb(
    data: object,
    table: str | None = None,
    *,
    name: str | None = None,
    schema: Mapping[str, str] | None = None,
    approximate: bool = False,
) -> Source:
    """A source that counts in DuckDB, inside this process.

    data         the path of a file (.parquet, .csv, .csv.gz; a folder of Parquet files, or a pattern with *), the path
                 of a DuckDB database, a DuckDB connection, or a pandas DataFrame, of which DuckDB makes its own copy
    table        which table of a database or a connection
    name         what the dataset is called in the ledger; the file's or the table's own name where none is given
    schema       column name to "number" or "text", where the stored type does not say
    approximate  True where the counts of this table are not exact, for it is a sample or a sketch

    A CSV file is read through once to see which columns hold whole numbers, decimal numbers or text, and what stands
    between them; a column that the schema declares as text keeps its texts as they are written. Raises ParameterError
    or SchemaError.
    """
    held = data = Hidden.of(data)  # from here on no variable of this call shows a value
    table, name, schema, approximate = shown(table), shown(name), shown(schema), shown(approximate)
    if not isinstance(table, str | None) or table == "":
        raise ParameterError.of(kind_of(table), "table must be the name of a table")
    _installed()
    if is_path(held):
        path = str(named(str(held.take()), "a source", "visits.parquet"))
        opened = _database(path, _table_named(table)) if path.endswith(DATABASE) else _files(path, table, schema)
        own = table or _stem(path)
    elif type(held.take()).__module__.partition(".")[0] in ("duckdb", "_duckdb"):
        opened = _readable(_connected, f"table {_table_named(table)}", held, table)
        own = str(table)
    elif is_frame(held):
        opened = _readable(_copied, "this data frame", held)
        own = called(held)
    else:
        raise ParameterError.of(
            held.kind, "DuckDB reads a path, a DuckDB connection or a pandas DataFrame", "give one of these"
        )
    return ibis(opened, name=own if name is None else name, schema=schema, approximate=approximate)


@publicly
def spark(
    frame: object,
    *,
    name: str | None = None,
    schema: Mapping[str, str] | None = None,
    approximate: bool = False,
) -> Source:
    """A source that counts a Spark DataFrame on its cluster; a view of it gets a name of ours in its session.

    name, schema and approximate as for `duckdb`. Raises ParameterError or SchemaError.
    """
    held = frame = Hidden.of(frame)  # from here on no variable of this call shows a value
    name, schema, approximate = shown(name), shown(schema), shown(approximate)
    if not type(held.take()).__module__.startswith("pyspark.sql"):
        raise ParameterError.of(held.kind, "data must be a Spark DataFrame")
    _installed()
    opened = _readable(_viewed, "this Spark DataFrame", held)
    return ibis(opened, name=UNNAMED if name is None else name, schema=schema, approximate=approximate)


@publicly
def ibis(
    table: object,
    *,
    name: str | None = None,
    schema: Mapping[str, str] | None = None,
    approximate: bool = False,
    ties: Literal["label", "unknown"] = "label",
) -> Source:
    """A source that counts an Ibis table or expression in whichever engine it belongs to.

    name, schema and approximate as for `duckdb`. `ties="unknown"` says that this engine may order equal counts by
    something that depends on the data; top-k mechanisms that rely on the order then refuse. Raises ParameterError or
    SchemaError.
    """
    held = table = Hidden.of(table)  # from here on no variable of this call shows a value
    name, schema, approximate, ties = shown(name), shown(schema), shown(approximate), shown(ties)
    _installed()
    from dpviz.engines.ibis_source import IbisSource

    if name is None:
        name = quietly(_own_name, held)
    return IbisSource(held, name=name, schema=schema, approximate=approximate, ties=ties)


# ---------------------------------------------------------------- what it is that was given


def is_frame(held: Hidden[Any]) -> bool:
    """Whether this is a pandas DataFrame, without loading pandas for it."""
    return _is(held, "pandas", "DataFrame")


def is_spark(held: Hidden[Any]) -> bool:
    return _is(held, "pyspark.sql", "DataFrame")


def is_ibis(held: Hidden[Any]) -> bool:
    return _is(held, "ibis", "Table")


def is_path(held: Hidden[Any]) -> bool:
    return isinstance(held.take(), str | Path)


def _is(held: Hidden[Any], module: str, name: str) -> bool:
    known = getattr(sys.modules.get(module), name, None)
    return known is not None and isinstance(held.take(), known)


def called(held: Hidden[Any]) -> str:
    """The name that a frame brings along, as dpviz.datasets gives them."""
    brought = held.take().attrs.get("dpviz")
    name = brought.get("dataset") if isinstance(brought, dict) else None
    return name if isinstance(name, str) and name else UNNAMED


def _installed() -> None:
    """Refuse where Ibis is not installed."""
    if importlib.util.find_spec("ibis") is None:
        raise ParameterError.of("none", "SQL engines are reached through Ibis", 'pip install "dpviz[engines]"')


def _table_named(table: str | None) -> str:
    if table is None:
        raise ParameterError.of(None, "a database holds many tables, so table must be given", 'write table="visits"')
    return table


def _stem(path: str) -> str:
    """The name of a file, without folder and ending."""
    return Path(path).name.split(".")[0].strip("*") or Path(path).parent.name or UNNAMED


# ---------------------------------------------------------------- opening


def _readable(step: Any, what: str, *given: Any) -> Hidden[Any]:
    """The table that a step opens; what the engine says when it cannot may hold data."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of packages that do not know each other's versions
            return Hidden(quietly(step, *given))
    except ReleaseFailed:
        refused = True
    assert refused
    raise ParameterError.of(what, "this cannot be read as a table", "open it in the engine itself to see why")


def _files(path: str, table: str | None, schema: Any) -> Hidden[Any]:
    """A Parquet or CSV file, or a set of Parquet files."""
    if table is not None:
        raise ParameterError.of(table, "a file holds one table, so table must be left out")
    at = f"{path.rstrip('/')}/*.parquet" if Path(path).is_dir() else path
    if not at.endswith((*PARQUET, *CSV)):
        raise ParameterError.of(
            Path(path).name,
            "data must be a pandas DataFrame, a source, an Ibis table, a Spark DataFrame, or a path that ends in "
            + ", ".join((*PARQUET, *CSV)),
            'name a table of a database with dv.sources.duckdb("file.duckdb", table="visits")',
        )
    if not glob.glob(at):
        raise ParameterError.of(Path(path).name, "there is no such file")
    texts = [name for name, kind in schema.items() if kind == "text"] if isinstance(schema, Mapping) else []
    return _readable(_opened, Path(path).name, at, texts)


def _opened(path: str, texts: list[str]) -> Any:
    backend = _own()
    if path.endswith(PARQUET):
        return backend.read_parquet(path)
    # What is found holds for good: DuckDB would look again at every question. Of several files, the widest type holds.
    given = [[one, list(MISSING), list(TYPES)] for one in sorted(glob.glob(path))]
    looked = [backend.con.execute(LOOK, one).fetchall()[0] for one in given]
    ((names, delim, new_line),) = {(tuple(one["name"] for one in columns), *marks) for columns, *marks in looked}
    types = [max((columns[at]["type"] for columns, *_ in looked), key=TYPES.index) for at in range(len(names))]
    kinds = {name: "VARCHAR" if name in texts else held for name, held in zip(names, types, strict=True)}
    known = {"auto_detect": False, "columns": kinds, "delim": delim, "new_line": new_line, "nullstr": list(MISSING)}
    return backend.read_csv(path, **known, header=True, skip=0, quote='"', escape='"', comment="")


def _own() -> Any:
    """A DuckDB of our own. What does not fit into memory goes to a folder that only this user can read."""
    import ibis as frontend

    folder = tempfile.mkdtemp(prefix="dpviz-duckdb-")
    backend = frontend.duckdb.connect(temp_directory=folder)
    backend.raw_sql("SET enable_progress_bar = false")
    weakref.finalize(backend, shutil.rmtree, folder, ignore_errors=True)
    return backend


def _database(path: str, table: str) -> Hidden[Any]:
    if not Path(path).is_file():
        raise ParameterError.of(Path(path).name, "there is no such file")
    return _readable(_attached, f"table {table} of {Path(path).name}", path, table)


def _attached(path: str, table: str) -> Any:
    import ibis as frontend

    return frontend.duckdb.connect(path, read_only=True).table(table)


def _connected(held: Hidden[Any], table: str) -> Any:
    import ibis as frontend

    return frontend.duckdb.from_connection(held.take()).table(table)


def _copied(held: Hidden[Any]) -> Any:
    import pyarrow  # type: ignore[import-untyped]  # DuckDB's own reader of frames takes not every array of pandas

    backend = _own()
    backend.con.register("given", pyarrow.Table.from_pandas(held.take(), preserve_index=False))
    backend.raw_sql(f"CREATE TABLE {UNNAMED} AS SELECT * FROM given")
    backend.con.unregister("given")
    return backend.table(UNNAMED)


def _viewed(held: Hidden[Any]) -> Any:
    """The frame under a name. Ibis sets two options of the session, which are set back."""
    import ibis as frontend

    frame = held.take()
    options = {name: frame.sparkSession.conf.get(name, None) for name in SET_BY_IBIS}
    backend = frontend.pyspark.connect(frame.sparkSession)
    for name, value in options.items():
        if value is None:
            frame.sparkSession.conf.unset(name)
        else:
            frame.sparkSession.conf.set(name, value)
    name = f"dpviz_{uuid.uuid4().hex}"
    frame.createOrReplaceTempView(name)
    return backend.table(name)


def _own_name(held: Hidden[Any]) -> str:
    """The name of a table that has one; names that Ibis made up differ each time, and a ledger could not keep them."""
    try:
        name = str(held.take().get_name())
    except Exception:
        return UNNAMED
    return UNNAMED if name.startswith(("ibis_", "dpviz_")) else name
