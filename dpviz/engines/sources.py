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
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path, PurePath
from typing import Any, Final, Literal

from dpviz.boundary import Hidden, as_given, plain_arguments, shown, single, withhold_errors
from dpviz.engines.files import Opened
from dpviz.errors import ParameterError, ReleaseFailed, SchemaError, short
from dpviz.files import named
from dpviz.kinds import is_a
from dpviz.model.source import Source

__all__ = ["duckdb", "ibis", "spark"]

UNNAMED: Final = "data"
DIALECT: Final = (",", '"', "utf-8")
"""How a CSV file is written where nothing is declared: what stands between values and around them; its encoding."""
PARQUET: Final = (".parquet", ".pq")
CSV: Final = (".csv", ".csv.gz")
DATABASE: Final = (".duckdb", ".ddb", ".db")
SET_BY_IBIS: Final = ("spark.sql.session.timeZone", "spark.sql.mapKeyDedupPolicy")


@plain_arguments
def duckdb(
    data: object,
    table: str | None = None,
    *,
    name: str | None = None,
    schema: Mapping[str, str] | None = None,
    approximate: bool = False,
    delimiter: str | None = None,
    quote: str | None = None,
    encoding: str | None = None,
) -> Source:
    """A source that counts in DuckDB, inside this process.

    data         the path of a file (.parquet, .csv, .csv.gz; a folder of Parquet files, or a pattern with *), the path
                 of a DuckDB database, a DuckDB connection, or a pandas or polars DataFrame or an Arrow table, of which
                 DuckDB makes its own copy
    table        which table of a database or a connection
    name         what the dataset is called in the ledger; the file's or the table's own name where none is given
    schema       column name to "number" or "text", where the stored type does not say
    approximate  True where the counts of this table are not exact, for it is a sample or a sketch

    delimiter    what stands between the values of a CSV file: "," where nothing is declared
    quote        what stands around a value that holds delimiters, quotes or lines: '"'; "" where nothing is quoted
    encoding     how a CSV file is encoded: "utf-8", "latin-1", "utf-16", ...

    A CSV file has no types, and nothing is guessed from its rows. Its first line names the columns; it alone, and
    whether the file can be read from the disk, decides whether the file opens. Of several files it must be the same.
    Every column holds texts as they are written. Bins of numbers and range filters read these texts as numbers, and so
    does everything else where the schema declares `number`; a text that is no number has no place among numbers. Rows
    with too many values, and lines that are no CSV (a quote that is never closed), are dropped; values that are not
    there, that are not text in this encoding, or that pandas takes for missing, are missing; what a damaged .gz file
    does not give back is not there: all in silence, for an error would tell of a row. The file is read once, when it
    is opened. `engines/delimited.py` has the rule in full.

    A pandas DataFrame's columns are what their dtypes say, as for a session on the frame itself: a column of objects
    or of categories holds texts, unless the schema declares numbers.

    Raises ParameterError or SchemaError.
    """
    held = data = Hidden.of(data)  # from here on no variable of this call shows a value
    table, name, schema, approximate = shown(table), shown(name), shown(schema), shown(approximate)
    dialect = [single(part) for part in (delimiter, quote, encoding)]
    delimiter = quote = encoding = None
    if not isinstance(table, str | None) or table == "":
        raise ParameterError.of(as_given(table), "table must be the name of a table", 'write table="visits"')
    _installed()
    files: tuple[Opened, ...] = ()
    untyped = measured = False
    path = str(named(str(held.take()), "a source", "visits.parquet")) if is_path(held) else ""
    if path and not path.endswith(DATABASE):
        if table is not None:
            raise ParameterError.of(table, "a file holds one table, so table must be left out", "leave table out")
        opened, files, measured = _files(path, dialect)
        untyped, own = measured, _stem(path)
    else:
        _no_dialect(dialect)
        if path:
            opened, files = _database(path, _table_named(table))
            own = table or _stem(path)
        elif type(held.take()).__module__.partition(".")[0] in ("duckdb", "_duckdb"):
            opened = _readable(_connected, f"table {_table_named(table)}", held, table)
            own = str(table)
        elif is_frame(held):
            opened, untyped = _readable(_copied, "this data frame", held, schema), True
            own = called(held)
        elif is_columns(held):
            opened, own = _readable(_columns, "this table", held), UNNAMED
        else:
            raise ParameterError.of(
                held.kind,
                "DuckDB reads a path, a DuckDB connection, a pandas or polars DataFrame, or an Arrow table",
                "run it first: frame.collect()" if is_lazy(held) else "give one of these",
            )
    from dpviz.engines.ibis_source import IbisSource

    return IbisSource(
        opened,
        name=own if name is None else name,
        schema=schema,
        approximate=approximate,
        files=files,
        untyped=untyped,
        measured=measured,
    )


@plain_arguments
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
        missing = importlib.util.find_spec("pyspark") is None
        raise ParameterError.of(
            held.kind,
            "data must be a Spark DataFrame",
            'Spark is not installed here: pip install "dpviz[spark]"' if missing else "take it from a Spark session",
        )
    _installed()
    opened = _readable(_viewed, "this Spark DataFrame", held)
    return ibis(opened, name=UNNAMED if name is None else name, schema=schema, approximate=approximate)


@plain_arguments
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
        name = withhold_errors(_own_name, held)
    return IbisSource(held, name=name, schema=schema, approximate=approximate, ties=ties)


# ---------------------------------------------------------------- what it is that was given


def is_frame(held: Hidden[Any]) -> bool:
    """Whether this is a pandas DataFrame, without loading pandas for it."""
    return _is(held, "pandas", "DataFrame")


def is_spark(held: Hidden[Any]) -> bool:
    return _is(held, "pyspark.sql", "DataFrame")


def is_ibis(held: Hidden[Any]) -> bool:
    return _is(held, "ibis", "Table")


def is_columns(held: Hidden[Any]) -> bool:
    """Whether this is a table of Arrow's columns in memory: of pyarrow, or of polars."""
    return _is(held, "pyarrow", "Table") or _is(held, "polars", "DataFrame")


def is_lazy(held: Hidden[Any]) -> bool:
    """Whether this is a query of polars that nobody has run yet."""
    return _is(held, "polars", "LazyFrame")


def is_path(held: Hidden[Any]) -> bool:
    return is_a(held.take(), str, PurePath)


def _is(held: Hidden[Any], module: str, name: str) -> bool:
    known = getattr(sys.modules.get(module), name, None)
    return isinstance(known, type) and is_a(held.take(), known)


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
            return Hidden(withhold_errors(step, *given))
    except ReleaseFailed:
        refused = True
    assert refused
    _starts()
    raise ParameterError.of(what, "this cannot be read as a table", "open it in the engine itself to see why")


def _starts() -> None:
    """Refuse where DuckDB does not even start, so that no file is blamed for it. This touches no data."""
    try:
        _own()
        return
    except Exception as error:
        reason = f"{type(error).__name__}: {error}"
    versions = ", ".join(f"{name} {_version(name)}" for name in ("ibis-framework", "duckdb", "pyarrow"))
    raise ParameterError.of(
        versions,
        f"the engine itself does not start here ({short(reason, 200)})",
        'install versions that know each other: pip install --upgrade "dpviz[engines]"',
    )


def _version(name: str) -> str:
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version(name)
    except PackageNotFoundError:
        return "is not installed"


def _files(path: str, dialect: Sequence[object]) -> tuple[Hidden[Any], tuple[Opened, ...], bool]:
    """The table in a Parquet or CSV file, or in a set of them; the files to look for later; and whether it is CSV."""
    at = f"{path.rstrip('/')}/*.parquet" if Path(path).is_dir() else path
    if not at.endswith((*PARQUET, *CSV)):
        raise ParameterError.of(
            Path(path).name,
            "data must be a pandas DataFrame, a source, an Ibis table, a Spark DataFrame, or a path that ends in "
            + ", ".join((*PARQUET, *CSV)),
            'name a table of a database with dv.sources.duckdb("file.duckdb", table="visits")',
        )
    files = [Path(one) for one in sorted(glob.glob(at))]
    if not files:
        raise ParameterError.of(
            Path(path).name,
            "there is no such file",
            "check the spelling and the folder: a path that is not absolute begins where Python runs",
        )
    if not at.endswith(CSV):
        _no_dialect(dialect)
        return _readable(_opened, Path(path).name, at), _identified(files), False
    from dpviz.engines.delimited import Dialect

    asked = Dialect.of(*(default if part is None else part for part, default in zip(dialect, DIALECT, strict=True)))
    parts = [_readable(_begun, one.name, one, asked).take() for one in files]
    for file, (names, _) in zip(files, parts, strict=True):
        _named_alike(file.name, names, files[0].name, parts[0][0])
    if dialect[0] is None and len(parts[0][0]) == 1 and (mark := _other_delimiter(parts[0][0][0])):
        raise ParameterError.of(
            files[0].name,
            "the first line of a CSV file names its columns, with a comma between them where nothing else is declared",
            f"write dv.sources.duckdb(path, delimiter={mark!r})",
        )
    return _readable(_loaded, Path(path).name, parts), (), True


def _identified(files: Sequence[Path]) -> tuple[Opened, ...]:
    """What these files are. One that went away meanwhile is found missing later, before a charge."""
    return tuple(known for known in map(Opened.found, files) if known is not None)


def _no_dialect(dialect: Sequence[object]) -> None:
    for part, name in zip(dialect, ("delimiter", "quote", "encoding"), strict=True):
        if part is not None:
            raise ParameterError.of(name, "only a CSV file has a delimiter, a quote and an encoding", "leave it out")


def _named_alike(name: str, names: Any, first: str, others: Any) -> None:
    if names is None:
        raise ParameterError.of(
            name,
            "the first line of a CSV file must name its columns, in the declared encoding",
            "write the names into it, or declare delimiter, quote and encoding",
        )
    if names != others:
        raise SchemaError.of(
            f"{short(', '.join(names))} in {name} and {short(', '.join(others))} in {first}",
            "the first lines of several CSV files must be the same",
            "open them one by one",
        )


def _other_delimiter(name: str) -> str:
    """What may stand between names where it is no comma."""
    return next((mark for mark in (";", "\t", "|") if mark in name), "")


def _opened(path: str) -> Any:
    return _own().read_parquet(path)


def _begun(path: Path, dialect: Any) -> Any:
    from dpviz.engines.delimited import opened

    return opened(path, dialect)


def _loaded(parts: Sequence[tuple[tuple[str, ...], Iterator[Any]]]) -> Any:
    """The rows of CSV files in a table of texts. They are read once, and later edits of the files change no answer."""
    import pyarrow  # type: ignore[import-untyped]

    from dpviz.engines.delimited import fields

    names = parts[0][0]
    schema = pyarrow.schema([(name, pyarrow.string()) for name in fields(len(names))])
    rows = pyarrow.RecordBatchReader.from_batches(schema, chain.from_iterable(rows for _, rows in parts))
    return _stored(rows, names)


def _stored(rows: Any, names: Sequence[str]) -> Any:
    """Arrow's rows as a table of our own DuckDB, its columns named anew."""
    backend = _own()
    listed = ", ".join(f"{_quoted(old)} AS {_quoted(new)}" for old, new in zip(rows.schema.names, names, strict=True))
    backend.con.register("given", rows)
    backend.raw_sql(f"CREATE TABLE {UNNAMED} AS SELECT {listed} FROM given")
    backend.con.unregister("given")
    return backend.table(UNNAMED)


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _own() -> Any:
    """A DuckDB of our own. What does not fit into memory goes to a folder that only this user can read."""
    import ibis as frontend

    folder = tempfile.mkdtemp(prefix="dpviz-duckdb-")
    backend = frontend.duckdb.connect(temp_directory=folder)
    backend.raw_sql("SET enable_progress_bar = false")
    weakref.finalize(backend, shutil.rmtree, folder, ignore_errors=True)
    return backend


def _database(path: str, table: str) -> tuple[Hidden[Any], tuple[Opened, ...]]:
    if not Path(path).is_file():
        raise ParameterError.of(
            Path(path).name,
            "there is no such file",
            "check the spelling and the folder: a path that is not absolute begins where Python runs",
        )
    files = _identified([Path(path)])
    return _readable(_attached, f"table {table} of {Path(path).name}", path, table), files


def _attached(path: str, table: str) -> Any:
    import ibis as frontend

    return frontend.duckdb.connect(path, read_only=True).table(table)


def _connected(held: Hidden[Any], table: str) -> Any:
    import ibis as frontend

    return frontend.duckdb.from_connection(held.take()).table(table)


def _copied(held: Hidden[Any], schema: Any) -> Any:
    """A frame's columns as DuckDB holds them. What a column holds is decided by its dtype and by no value."""
    import pyarrow

    from dpviz.engines.frames import column

    frame = held.take()
    names = [str(name) for name in frame.columns]
    if len({name.lower() for name in names}) < len(names):
        raise ValueError("the names of columns must differ, in DuckDB by more than the size of their letters")
    declared = schema if isinstance(schema, Mapping) else {}
    columns = [column(values.array, declared.get(name)) for name, values in frame.items()]
    table = pyarrow.table(columns, names=[f"c{at}" for at in range(len(names))])
    return _stored(table, names)


def _columns(held: Hidden[Any]) -> Any:
    """The columns of an Arrow table or a polars DataFrame as DuckDB holds them, by their types alone."""
    from dpviz.engines.arrow import columns

    table = columns(held.take())
    names = list(map(str, table.schema.names))
    if len({name.lower() for name in names}) < len(names):
        raise ValueError("the names of columns must differ, in DuckDB by more than the size of their letters")
    return _stored(table.rename_columns([f"c{at}" for at in range(len(names))]), names)


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
