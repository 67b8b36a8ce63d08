"""Data that stays in an SQL engine, for a session: `dv.Session(dv.sources.duckdb("visits.parquet"), ...)`.

A path, an Ibis table and a Spark DataFrame may also be given to a session as they are. These calls are for what such a
short form cannot say: a table of a database, a connection, counts that are only approximate.
"""

from __future__ import annotations

import importlib.util
import os
import shutil
import sys
import tempfile
import uuid
import warnings
import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Any, Final, Literal

from dpviz.boundary import Hidden, as_given, plain_arguments, shown, single, withhold_errors
from dpviz.engines.files import Opened
from dpviz.engines.table_files import (
    DELTA,
    ICEBERG,
    METADATA,
    PARQUET,
    as_pattern,
    check_database,
    check_files,
    files_of,
    format_of,
    in_our_words,
)
from dpviz.errors import DpvizError, ParameterError, ReleaseFailed, SchemaError, short
from dpviz.files import check_not_open, named
from dpviz.kinds import is_a
from dpviz.model.source import Source
from dpviz.names import as_name, meant

if TYPE_CHECKING:
    from dpviz.engines.parquet_types import Lost
    from dpviz.engines.schema import Read
    from dpviz.engines.snapshots import Snapshot

__all__ = ["duckdb", "ibis", "spark"]

UNNAMED: Final = "data"
DIALECT: Final = (",", '"', "utf-8", None, None)
"""How a CSV file is written where nothing is declared: what stands between values and around them; its encoding; the
marks of its numbers."""
PARTS: Final = ("delimiter", "quote", "encoding", "decimal", "thousands")
"""The declared form of a CSV file."""
TABS: Final = (".tsv", ".tab")
"""Endings of files in which tabs stand between values."""
PACKED: Final = (".gz", ".bz2", ".zst")
CSV: Final = tuple(ending + packed for ending in (".csv", ".txt", *TABS) for packed in ("", *PACKED))
DATABASE: Final = (".duckdb", ".ddb", ".db")
TABLES: Final = """
SELECT table_catalog, CASE WHEN table_catalog = 'temp' OR (table_catalog = current_database() AND table_schema =
current_schema()) THEN '' ELSE table_schema END, table_name FROM information_schema.tables ORDER BY 3, 1, 2
"""
"""DuckDB's words for the tables of a connection, without the schema of those whose name is enough."""
SET_BY_IBIS: Final = ("spark.sql.session.timeZone", "spark.sql.mapKeyDedupPolicy")


@plain_arguments
def duckdb(
    data: object,
    table: str | None = None,
    *,
    name: str | None = None,
    schema: Mapping[str, str | tuple[str, str]] | None = None,
    approximate: bool = False,
    delimiter: str | None = None,
    quote: str | None = None,
    encoding: str | None = None,
    decimal: str | None = None,
    thousands: str | None = None,
    hive: Mapping[str, str] | None = None,
) -> Source:
    """Open a source that counts in DuckDB, inside this process.

    Parameters
    ----------
    data : str, Path, DuckDB connection, DataFrame or Arrow table
        The path of a Parquet file (`.parquet`, `.pq`), of a text file of values between delimiters (`.csv`, `.tsv`,
        `.tab`, `.txt`, each also as `.gz`, `.bz2` or `.zst`; capital letters do not matter), of a folder of Parquet
        files, of a Delta or Iceberg table (its folder, or the `.metadata.json` file of an Iceberg table) or of a DuckDB
        database; a DuckDB connection; or a pandas or polars DataFrame or an Arrow table, of which DuckDB makes its own
        copy.
    table : str
        Which table of a database or a connection.
    name : str
        Name of the dataset in the ledger; by default that of the file or the table.
    schema : dict
        By column name `"number"` or `"text"`, where the stored type does not say. For columns of texts in a text file
        or a data frame also `"date"` for ISO dates and times (2026-01-31, 2026-01-31 13:05:00); `("date", "%d/%m/%Y")`
        for dates and times in another format, with the directives %Y %y %m %b %B %d %j %H %I %p %M %S %f of
        `datetime.strptime`; and `"clock"` for H:MM:SS, which is read as a number of seconds and may pass 24 hours.
    approximate : bool
        Whether the counts of this table are not exact, because it is a sample or a sketch.
    delimiter : str
        The character between the values of a text file: `","`, and a tab in `.tsv` and `.tab` files, by default.
    quote : str
        The character around a value that holds delimiters, quotes or lines: `'"'` by default; `""` where nothing is
        quoted.
    encoding : str
        How a text file is encoded: `"utf-8"` by default; `"latin-1"`, `"utf-16"`, ...
    decimal : str
        The character before the fraction of a number in a text file: `"."` by default, or `","`.
    thousands : str
        The character between the thousands of a number in a text file: none by default. Where one is declared, it
        must stand between all thousands of a number or between none: 1.234.567 and 1234567 are numbers, 1.23 is none.
    hive : dict
        The columns that the folders in a folder of Parquet files stand for, in the order of the folders, each with its
        kind: `"integer"`, `"text"` or `"date"` (2026-01-31). `hive={"year": "integer"}` reads
        `visits/year=2020/part-0.parquet`.

    Returns
    -------
    Source

    Raises
    ------
    ParameterError
        If there is no such file, or the dialect cannot be.
    SchemaError
        If the schema names a column that the data does not have, or a kind that a column cannot be read as.

    Notes
    -----
    A text file has no types, and nothing is guessed from its rows. Its first line names the columns; it alone, and
    whether the file can be read from the disk, decides whether the file opens. Of several files it must be the same.
    Every column holds texts as they are written, unless the schema declares it. Bins of numbers and range filters read
    texts as numbers, and so does everything else where the schema declares `number`. The columns of the source say the
    rule (`Column.written`). A text that is not written by it is malformed: it has no bin but `malformed`, which
    `Domain.integers(..., malformed=True)` declares.

    Rows with too many values, and lines that are no CSV (a quote that is never closed), are dropped; values that are
    not there, that are not text in this encoding, or that pandas takes for missing, are missing; what a damaged
    compressed file does not give back is not there: all in silence, for an error would tell of a row. The file is read
    once, when it is opened. `engines/delimited.py` has the rule in full.

    A Parquet file is counted row by row. Its statistics, like the least and greatest value of a column, may be wrong,
    and leave NaN out: DuckDB's optimizers that read them are off. In a connection of your own, files that its views
    read are refused until you switch these off; a table that DuckDB keeps itself needs nothing of the kind.

    A name is a name: where a file of exactly this name is there, it is read. Else `*`, `?` and `**` in a path stand for
    other signs. In a folder, and by a pattern, files whose names begin with `_` or `.` are left out, for Hive, Spark
    and others keep drafts there. A path adds no column: a folder with `year=2020` in its name is refused or, in a
    pattern, is a name. A Delta or Iceberg folder is read by its own reader, as of its current version, and a Hudi
    folder is refused: their files hold rows that were deleted since. Several Parquet files must have the same columns
    of the same types.

    A pandas DataFrame's columns are what their dtypes say, as for a session on the frame itself: a column of objects
    or of categories holds texts, unless the schema declares it.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> folder = tempfile.TemporaryDirectory()
    >>> path = pathlib.Path(folder.name, "stays.csv")
    >>> _ = path.write_text("admitted;paid\\n31/01/2026;1.234,50\\n")
    >>> stays = duckdb(path, schema={"admitted": ("date", "%d/%m/%Y")}, delimiter=";", decimal=",", thousands=".")
    >>> for column in stays.columns:
    ...     print(column.name, column.kind, column.written, sep=": ")
    admitted: time: date %d/%m/%Y
    paid: text: numbers as 1.234,5
    >>> folder.cleanup()
    """
    held = data = Hidden.of(data)  # from here on no variable of this call shows a value
    table, name, schema, approximate = shown(table), shown(name), shown(schema), shown(approximate)
    dialect = [single(part) for part in (delimiter, quote, encoding, decimal, thousands)]
    delimiter = quote = encoding = decimal = thousands = None
    hive = shown(hive)
    if not isinstance(table, str | None) or table == "":
        raise ParameterError.of(as_given(table), "table must be the name of a table", 'write table="visits"')
    _installed()
    files: tuple[Opened, ...] = ()
    untyped = measured = shared = False
    from dpviz.engines.schema import Read, check_distinct

    read, index = Read(), list[str]()
    path = str(named(str(held.take()), "a source", "visits.parquet")) if is_path(held) else ""
    if path:
        check_not_open(Path(path), "a source")
    if path and not path.endswith(DATABASE):
        if table is not None:
            raise ParameterError.of(table, "a file holds one table, so table must be left out", "leave table out")
        opened, files, read = _files(path, dialect, schema, hive)
        untyped, own = read.text_file, _stem(path)
        measured = untyped
    else:
        _no_dialect(dialect)
        if hive is not None:
            raise ParameterError.of(
                "hive", "only a folder of Parquet files has folders that stand for columns", "leave it out"
            )
        if path:
            opened, files = _database(path, _table_named(table))
            own, shared = table or _stem(path), True  # with every connection of this process to the same database
        elif type(held.take()).__module__.partition(".")[0] in ("duckdb", "_duckdb"):
            opened = _of_connection(held, _table_named(table))
            own, shared = str(table), True
        elif is_frame(held):
            read, index = _declared_in(held, schema), withhold_errors(_index, held)
            check_distinct(withhold_errors(_names, held), "DuckDB")
            opened, untyped = _readable(_copied, "this data frame", held, schema, read), True
            own = called(held)
        elif is_columns(held):
            check_distinct(withhold_errors(_names, held), "DuckDB")
            opened, own = _readable(_columns, "this table", held), UNNAMED
            read = Read(types=withhold_errors(_halves, held))
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
        schema=read.others(schema),
        approximate=approximate,
        files=files,
        read_once=read.files,
        untyped=untyped,
        measured=measured,
        marks=read.marks,
        odd=read.odd,
        written={name: format.said for name, format in read.formats.items()},
        index=index,
        types=read.types,
        own=not shared,
    )


@plain_arguments
def spark(
    frame: object,
    *,
    name: str | None = None,
    schema: Mapping[str, str | tuple[str, str]] | None = None,
    approximate: bool = False,
) -> Source:
    """Open a source that counts a Spark DataFrame on its cluster.

    Parameters
    ----------
    frame : pyspark.sql.DataFrame
        The data. A view of it gets a name of ours in its Spark session.
    name : str, optional
        The name of the dataset in the ledger; "data" by default.
    schema : dict, optional
        Column name to "number" or "text", where the stored type does not say.
    approximate : bool, default False
        Whether the counts of this table are not exact, because it is a sample or a sketch.

    Returns
    -------
    Source
        The data behind a narrow interface, for `dv.Session`.

    Raises
    ------
    ParameterError
        If this is no Spark DataFrame, or it cannot be read.
    SchemaError
        If the schema does not fit it.
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
    from dpviz.engines.ibis_source import IbisSource
    from dpviz.engines.parquet_types import COARSE
    from dpviz.engines.spark_types import coarse_times

    coarse = dict.fromkeys(_readable(coarse_times, "this Spark DataFrame", held.take()).take(), COARSE)
    named = UNNAMED if name is None else name
    return IbisSource(opened, name=named, schema=schema, approximate=approximate, types=coarse)


@plain_arguments
def ibis(
    table: object,
    *,
    name: str | None = None,
    schema: Mapping[str, str | tuple[str, str]] | None = None,
    approximate: bool = False,
    ties: Literal["label", "unknown"] = "label",
) -> Source:
    """Count an Ibis table or expression in the engine that it belongs to.

    Parameters
    ----------
    table : ibis.Table
        A table of DuckDB, PostgreSQL or Spark is counted there, anew for every question. A table of SQLite or polars is
        read once, when the source is made, and counted by a DuckDB in this process.
    name : str, optional
        The name of the dataset in the ledger; by default the table's own.
    schema : dict of str to str, optional
        Column name to "number" or "text", where the stored type does not say.
    approximate : bool, default False
        True where the counts of this table are not exact, for it is a sample or a sketch.
    ties : {"label", "unknown"}, default "label"
        "unknown" says that this engine may order equal counts by something that depends on the data; top-k mechanisms
        that rely on the order then refuse.

    Returns
    -------
    Source
        The data behind a narrow interface, for `dv.Session`.

    Raises
    ------
    ParameterError, SchemaError
        If this is no table, if it cannot be read, or if the schema does not fit it.

    Notes
    -----
    SQLite declares types that its rows need not keep. The declared type decides how a column is counted, and a value of
    another kind is missing: text in an INTEGER column, or a date that is not written YYYY-MM-DD. A column without a
    declared type is read as a column of a CSV file.

    Every question is put into the engine's words before anything is charged. An operation that an engine does not have
    is named in the refusal.

    Examples
    --------
    >>> import dpviz as dv
    >>> import ibis
    >>> connection = ibis.sqlite.connect()
    >>> connection.raw_sql("CREATE TABLE visits (age INTEGER)").close()
    >>> ibis_table = connection.table("visits")
    >>> dv.sources.ibis(ibis_table).columns
    (Column(name='age', kind='number', untyped=False, written=''),)
    >>> connection.disconnect()
    """
    held = table = Hidden.of(table)  # from here on no variable of this call shows a value
    name, schema, approximate, ties = shown(name), shown(schema), shown(approximate), shown(ties)
    _installed()
    from dpviz.engines.ibis_source import IbisSource

    if name is None:
        name = withhold_errors(_own_name, held)
    measured: frozenset[str] = frozenset()
    if is_ibis(held) and (copy := COPIED.get(withhold_errors(_backend, held), None)) is not None:
        held, measured = _copy(copy, held, name)
    try:
        return IbisSource(held, name=name, schema=schema, approximate=approximate, ties=ties, measured=measured)
    except ReleaseFailed:
        problem = ParameterError.of(
            f"table {name}", "this cannot be read as a table", "open it in the engine itself to see why"
        )
    raise problem


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


def declared_with(held: Hidden[Any]) -> dict[str, str] | None:
    """The kinds that a frame brings along for columns that it has: made-up rows are read as those that they stand
    for."""
    frame = held.take()
    brought = frame.attrs.get("dpviz")
    kinds = brought.get("schema") if isinstance(brought, dict) else None
    if not isinstance(kinds, dict):
        return None
    return {name: kind for name, kind in kinds.items() if name in frame.columns} or None


def _installed() -> None:
    """Refuse where Ibis is not installed."""
    if importlib.util.find_spec("ibis") is None:
        raise ParameterError.of("none", "SQL engines are reached through Ibis", 'pip install "dpviz[engines]"')


def _table_named(table: str | None) -> str:
    if table is None:
        raise ParameterError.of(None, "a database holds many tables, so table must be given", 'write table="visits"')
    return table


def _stem(path: str) -> str:
    """The name of a file, without folder and ending; of an Iceberg table that of its folder."""
    if path.endswith(METADATA):
        return _stem(str(Path(path).absolute().parents[1]))
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


def _files(
    path: str, dialect: Sequence[object], schema: Any, hive: Mapping[str, str] | None
) -> tuple[Hidden[Any], tuple[Opened, ...], Read]:
    """The table in a Parquet or text file, or in a set of them; the files to look for later; and how it is read."""
    from dpviz.engines.parquet_types import COARSE
    from dpviz.engines.schema import Read

    with in_our_words(Path(path).name):
        kept = _kept(path, hive)
    if kept is not None:
        _no_dialect(dialect)
        table, types = _snapshot_opened(Path(path).name, kept)
        named = dict.fromkeys(types.halves, "float16") | dict.fromkeys(types.coarse, COARSE)
        return Hidden(table), _identified(kept.files), Read(types=named)
    ending = PARQUET[0] if os.path.isdir(path) else path.lower()
    if not ending.endswith((*PARQUET, *CSV)):
        raise ParameterError.of(
            Path(path).name,
            "data must be a pandas DataFrame, a source, an Ibis table, a Spark DataFrame, or a path that ends in "
            + ", ".join((*PARQUET, ".csv", ".txt", *TABS))
            + f" (these four also followed by {', '.join(PACKED)})",
            'name a table of a database with dv.sources.duckdb("file.duckdb", table="visits")',
        )
    files = files_of(path)
    if not files:
        raise ParameterError.of(
            Path(path).name,
            "there is no such file",
            "check the spelling and the folder: a path that is not absolute begins where Python runs",
        )
    if not ending.endswith(CSV):
        _no_dialect(dialect)
        table, types = _readable(_opened, Path(path).name, _alike(files, Path(path).name)).take()
        if types.apart:
            raise SchemaError.of(
                f"{short(', '.join(sorted(types.apart)))}, half floats in some and single floats in others",
                "several Parquet files must have the same columns of the same types",
                "open them one by one",
            )
        named = dict.fromkeys(types.halves, "float16") | dict.fromkeys(types.coarse, COARSE)
        return Hidden(table), _identified(files), Read(types=named)
    from dpviz.engines.delimited import Dialect

    usual = ("\t", *DIALECT[1:]) if any(mark in ending for mark in TABS) else DIALECT
    asked = Dialect.of(*(default if part is None else part for part, default in zip(dialect, usual, strict=True)))
    parts = [_readable(_begun, one.name, one, asked).take() for one in files]
    for file, (names, _) in zip(files, parts, strict=True):
        _named_alike(file.name, names, files[0].name, parts[0][0])
    names = parts[0][0]
    if dialect[0] is None and len(names) == 1 and (mark := _other_delimiter(names[0], usual[0])):
        raise ParameterError.of(
            files[0].name,
            "the first line of a CSV file names its columns, with a "
            + ("comma" if usual[0] == "," else "tab")
            + " between them where nothing else is declared",
            f"write dv.sources.duckdb(path, delimiter={mark!r})",
        )
    read = replace(
        Read.declared([(name, "text") for name in names], schema, names, asked.marks), text_file=True, files=files
    )
    return _readable(_loaded, Path(path).name, parts, read), (), read


def _kept(path: str, hive: object) -> Snapshot | None:
    """The table in a folder that a table format keeps, or whose folders stand for declared columns; else None."""
    folder = Path(path)
    form = format_of(folder) if folder.is_dir() else ICEBERG if path.endswith(METADATA) else ""
    if hive is not None and form not in (DELTA, ICEBERG):
        from dpviz.engines.hive import check_declared, files_below
        from dpviz.engines.snapshots import Snapshot

        files, values = files_below(path, check_declared(hive))
        return Snapshot("the folder", tuple(_alike(files, folder.name)), values=values)
    if form and hive is not None:
        raise ParameterError.of("hive", f"the columns of {form} are those that it declares itself", "leave it out")
    if form == DELTA:
        from dpviz.engines import delta

        return delta.snapshot(folder)
    if form == ICEBERG:
        from dpviz.engines import iceberg

        if folder.is_dir():
            folder = iceberg.metadata_of(folder)
        check_files([folder])
        return iceberg.snapshot(folder)
    return None


def _snapshot_opened(name: str, kept: Snapshot) -> tuple[Any, Lost]:
    """The table of a snapshot, and which of its types are not those that the files declare."""
    found: tuple[Any, Lost] | DpvizError = _readable(_viewed_files, name, kept).take()
    if isinstance(found, DpvizError):
        raise found
    return found


def _viewed_files(kept: Snapshot) -> tuple[Any, Lost] | DpvizError:
    from dpviz.engines.parquet_types import NOTHING, as_declared, lost
    from dpviz.engines.queries import by_rows_alone
    from dpviz.engines.snapshots import make_view

    backend = _own()
    by_rows_alone(backend.con)
    backend.raw_sql("SET enable_geoparquet_conversion = false")
    types = lost(backend.con, list(map(as_pattern, kept.files))) if kept.files and kept.ids is None else NOTHING
    try:
        make_view(backend.con, kept, UNNAMED)
    except DpvizError as refused:  # in our own words, which hold no data
        return refused
    return as_declared(_table(backend, UNNAMED), types), types


def _identified(files: Sequence[Path]) -> tuple[Opened, ...]:
    """The format of these files. One that went away meanwhile is found missing later, before a charge."""
    return tuple(known for known in map(Opened.found, files) if known is not None)


def _no_dialect(dialect: Sequence[object]) -> None:
    for part, name in zip(dialect, PARTS, strict=True):
        if part is not None:
            raise ParameterError.of(
                name,
                "only a CSV file has a delimiter, a quote, an encoding and marks in its numbers",
                "leave it out",
            )


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


def _other_delimiter(name: str, usual: str) -> str:
    """The separators of names other than the usual one."""
    return next((mark for mark in (";", "\t", "|", ",") if mark in name and mark != usual), "")


def _alike(files: Sequence[Path], what: str) -> Sequence[Path]:
    """The files, where all have the columns of the first: an engine takes these for the columns of all."""
    if len(files) == 1:
        return files
    first, *others = _readable(_columns_of, what, files).take()
    for file, columns in zip(files[1:], others, strict=True):
        if apart := columns ^ first:
            raise SchemaError.of(
                f"{short(', '.join(sorted({name for name, _ in apart})))}, unlike in {files[0].name} and {file.name}",
                "several Parquet files must have the same columns of the same types",
                "open them one by one",
            )
    return files


def _columns_of(files: Sequence[Path]) -> list[frozenset[tuple[str, str]]]:
    """The names and types of the columns of each Parquet file, which its rows do not decide."""
    backend = _own()
    backend.raw_sql("SET enable_geoparquet_conversion = false")
    described = "DESCRIBE SELECT * FROM read_parquet(?, hive_partitioning = false)"
    found = (backend.con.execute(described, [as_pattern(file)]).fetchall() for file in files)
    return [frozenset((name, kind) for name, kind, *_ in columns) for columns in found]


def _opened(files: Sequence[Path]) -> tuple[Any, Lost]:
    """The table of Parquet files, and which of its types are not those that the files declare."""
    from dpviz.engines.parquet_types import as_declared, lost
    from dpviz.engines.queries import by_rows_alone

    backend = _own()
    by_rows_alone(backend.con)
    backend.raw_sql("SET enable_geoparquet_conversion = false")  # Ibis knows no column of shapes, and opens none
    named = [as_pattern(file) for file in files]
    types = lost(backend.con, named)
    return as_declared(backend.read_parquet(named, hive_partitioning=False), types), types


def _begun(path: Path, dialect: Any) -> Any:
    from dpviz.engines.delimited import opened

    return opened(path, dialect)


def _loaded(parts: Sequence[tuple[tuple[str, ...], Iterator[Any]]], read: Read) -> Any:
    """The rows of CSV files in a table of texts, and of dates where these are declared. They are read once, and later
    edits of the files change no answer."""
    import pyarrow  # type: ignore[import-untyped]

    from dpviz.engines.delimited import converted, read_as

    names = parts[0][0]
    formats = {names.index(name): format for name, format in read.formats.items()}
    batches = chain.from_iterable(rows for _, rows in parts)
    converting = (converted(batch, formats) for batch in batches) if formats else batches
    rows = pyarrow.RecordBatchReader.from_batches(read_as(len(names), formats), converting)
    return _stored(rows, [*names, *read.odd.values()])


def _stored(rows: Any, names: Sequence[str], made: Sequence[str] | None = None) -> Any:
    """Arrow's rows as a table of our own DuckDB, its columns named anew; `made` is what SQL makes of each."""
    backend = _own()
    made = list(map(_quoted, rows.schema.names)) if made is None else made
    listed = ", ".join(f"{one} AS {_quoted(name)}" for one, name in zip(made, names, strict=True))
    backend.con.register("given", rows)
    backend.raw_sql(f"CREATE TABLE {UNNAMED} AS SELECT {listed} FROM given")
    backend.con.unregister("given")
    return _table(backend, UNNAMED)


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _own() -> Any:
    """A DuckDB of our own. Rows that do not fit into memory go to a folder that only this user can read."""
    import ibis as frontend

    folder = tempfile.mkdtemp(prefix="dpviz-duckdb-")
    backend = frontend.duckdb.connect(temp_directory=folder)
    backend.raw_sql("SET enable_progress_bar = false")
    weakref.finalize(backend, shutil.rmtree, folder, ignore_errors=True)
    return backend


def _database(path: str, table: str) -> tuple[Hidden[Any], tuple[Opened, ...]]:
    check_database(path)
    files = _identified([Path(path)])
    _check_database(path, table)
    return _readable(_attached, f"table {table} of {Path(path).name}", path, table), files


def _check_database(path: str, table: str) -> None:
    """Refuse a database that somebody else has open or that has no such table, with the step that helps. Reads no
    row."""
    import duckdb

    try:
        with duckdb.connect(path, read_only=True) as connection:
            listed = connection.execute(TABLES).fetchall()
    except duckdb.ConnectionException:  # another configuration: a connection of this process writes to it
        raise ParameterError.of(
            Path(path).name,
            "this process has a connection to this database that may write to it",
            'give that connection in place of the path, and table="visits" with it, or close it',
        ) from None
    except duckdb.IOException as problem:
        if "lock" not in str(problem):
            return
        raise ParameterError.of(
            Path(path).name,
            "another program has this database open",
            "close it there, or work on a copy of the file",
        ) from None
    except duckdb.Error:
        return
    missing = _not_among(listed, table, Path(path).name, "ibis.duckdb.connect(path, read_only=True)")
    if missing is not None:
        raise missing


def _attached(path: str, table: str) -> Any:
    import ibis as frontend

    return _table(frontend.duckdb.connect(path, read_only=True), table)


def _connected(held: Hidden[Any], table: str) -> Any:
    import ibis as frontend

    return _table(frontend.duckdb.from_connection(held.take()), table)


def _table(backend: Any, name: str) -> Any:
    """A table of DuckDB. Ibis's own way loads an extension where a column holds shapes, which may not be there."""
    from ibis.expr import operations

    schema = backend.get_schema(name)
    return operations.DatabaseTable(name, schema=schema, source=backend, namespace=operations.Namespace()).to_expr()


def _of_connection(held: Hidden[Any], table: str) -> Hidden[Any]:
    """The table of a connection, or a refusal that names those that are there."""
    try:
        return _readable(_connected, f"table {table}", held, table)
    except ParameterError as refused:
        problem: DpvizError = refused
    try:
        listed = withhold_errors(_listed, held)
        problem = _not_among(listed, table, "this connection", "ibis.duckdb.from_connection(connection)") or problem
    except ReleaseFailed:  # closed, in a failed transaction, or half read
        pass
    raise problem


def _listed(held: Hidden[Any]) -> list[tuple[str, ...]]:
    """The tables of a connection: database, schema and name; no database and schema where the name alone is enough.
    Reads no row."""
    return held.take().sql(TABLES).fetchall()  # type: ignore[no-any-return]


def _not_among(listed: Sequence[tuple[str, ...]], table: str, of: str, backend: str) -> DpvizError | None:
    """The refusal of a table that is not among those whose name is enough; None where it is there."""
    named = [name for _, schema, name in listed if not schema]
    if table.lower() in {name.lower() for name in named}:
        return None
    elsewhere = [(database, schema, name) for database, schema, name in listed if schema]
    for database, schema, name in elsewhere:
        ways = (name, f"{schema}.{name}", f"{database}.{name}", f"{database}.{schema}.{name}")
        if table.lower() in map(str.lower, ways):
            place = f'"{as_name(name)}", database=("{as_name(database)}", "{as_name(schema)}")'
            return ParameterError.of(
                as_name(table),
                f"table names a table of the schema that {of} is in, and this one is in another",
                f"give dv.sources.ibis({backend}.table({place}))",
            )
    has = short(", ".join(map(as_name, named)), 200) if named else "no table"
    return ParameterError.of(as_name(table), f"the tables of {of} are: {has}", meant(table, named, "name one of them"))


def _declared_in(held: Hidden[Any], schema: Any) -> Read:
    """How a frame's columns are read: by the formats that a schema declares, and by their dtypes."""
    from dpviz.engines.pandas_source import inferred_kinds, listed_of, texts_of
    from dpviz.engines.schema import Read, beside

    read = Read.declared(withhold_errors(inferred_kinds, held), schema, withhold_errors(texts_of, held))
    kinds = schema if isinstance(schema, Mapping) else {}
    listed = (name for name in withhold_errors(listed_of, held) if kinds.get(name, "text") == "text")
    names = withhold_errors(_names, held)
    return replace(
        read,
        odd={**read.odd, **{name: beside(name, names) for name in listed}},
        types=withhold_errors(_halves, held),
    )


def _halves(held: Hidden[Any]) -> dict[str, str]:
    """The columns of a frame or a table whose types are those of floats of 16 bits."""
    table = held.take()
    types = table.schema.types if hasattr(table, "column_names") else table.dtypes
    held_as = (str(getattr(kind, "subtype", getattr(kind, "pyarrow_dtype", kind))) for kind in types)
    halves = ("float16", "<f2", ">f2", "halffloat", "Float16")  # of NumPy, Arrow and polars
    return {name: "float16" for name, kind in zip(_names(held), held_as, strict=True) if kind in halves}


def _index(held: Hidden[Any]) -> list[str]:
    from dpviz.engines.pandas_source import index_names

    return index_names(held)


def _names(held: Hidden[Any]) -> list[str]:
    """The names of the columns of a frame or a table."""
    table = held.take()
    return list(map(str, table.schema.names if hasattr(table, "column_names") else table.columns))


def _copied(held: Hidden[Any], schema: Any, read: Read) -> Any:
    """A frame's columns as DuckDB holds them. The content of a column is decided by its dtype and by no value."""
    import pyarrow

    from dpviz.engines.frames import column, odd, written

    frame = held.take()
    names = [str(name) for name in frame.columns]
    kinds = schema if isinstance(schema, Mapping) else {}
    columns, besides = [], []
    for name, values in frame.items():
        if name in read.formats:
            held_as, malformed = written(values.array, read.formats[name])
            columns.append(held_as)
            besides.append(malformed)
        else:
            columns.append(column(values.array, kinds.get(name)))
            besides += [odd(values.array)] if name in read.odd else []
    every = [*names, *(read.odd[name] for name in names if name in read.odd)]
    table = pyarrow.table([*columns, *besides], names=[f"c{at}" for at in range(len(every))])
    return _stored(table, every)


def _backend(held: Hidden[Any]) -> str:
    """Ibis's name of the engine that a table belongs to; "" where it belongs to none."""
    from ibis.common.exceptions import IbisError

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of packages that do not know each other's versions
        try:
            return str(held.take().get_backend().name)
        except IbisError:
            return ""


def _of_sqlite(held: Hidden[Any]) -> tuple[Hidden[Any], frozenset[str]]:
    from dpviz.engines.sqlite import opened

    tables, names, made, anything = opened(held)
    stored = _stored(next(tables), names, made)
    backend = stored.get_backend()
    for some in tables:  # here, for DuckDB would take them on threads of its own
        backend.con.register("given", some)
        backend.raw_sql(f"INSERT INTO {UNNAMED} SELECT {', '.join(made)} FROM given")
        backend.con.unregister("given")
    return Hidden(stored), anything


def _of_polars(held: Hidden[Any]) -> tuple[Hidden[Any], frozenset[str]]:
    """Through polars itself, whose types Ibis does not all know. A table of files stays as it is, and is refused."""
    from dpviz.engines.queries import Polars

    table = held.take()
    if Polars(table.get_backend(), table).trusts() is not None:
        return held, frozenset()
    frame = table.get_backend().compile(table).collect()
    return Hidden(_columns(Hidden(frame))), frozenset()


def _copy(copy: Callable[[Hidden[Any]], Any], held: Hidden[Any], name: str) -> tuple[Hidden[Any], frozenset[str]]:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of packages that do not know each other's versions
            found: tuple[Hidden[Any], frozenset[str]] = withhold_errors(copy, held)
        return found
    except ReleaseFailed:
        raise ParameterError.of(
            f"table {name}",
            "this table cannot be read: its database is locked or damaged, or its connection belongs to another thread",
            "open it on the thread that opened the connection, once nobody else writes to the database",
        ) from None


COPIED: Final = {"sqlite": _of_sqlite, "polars": _of_polars}
"""The engines whose tables are read once, when a source is made, by Ibis's names."""


def _columns(held: Hidden[Any]) -> Any:
    """The columns of an Arrow table or a polars DataFrame as DuckDB holds them, by their types alone."""
    from dpviz.engines.arrow import columns

    table = columns(held.take())
    names = list(map(str, table.schema.names))
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
