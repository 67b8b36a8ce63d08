"""`docs/engines.md`: each row of its table is run, in dpviz and in the engine or the file by itself."""

from __future__ import annotations

import datetime
import math
import re
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from decimal import Decimal
from fractions import Fraction
from importlib.metadata import version
from pathlib import Path
from typing import Any

import duckdb
import ibis
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable, write_deltalake

import dpviz as dv
from dpviz.engines import as_source, queries, sources
from dpviz.errors import SchemaError
from dpviz.model.question import Question
from dpviz.model.source import Source
from dpviz.model.statistic import StatisticKind
from dpviz.privacy.unit import Unit
from tests.engines import lake
from tests.engines import server as there
from tests.ledger.server import Server

PAGE = Path(__file__).parents[2] / "docs" / "engines.md"
TABLE = [line.split(" | ")[0].strip("| ") for line in PAGE.read_text(encoding="utf-8").splitlines() if line[:2] == "| "]
NUMBERS = dv.Domain.integers(0, 2, column="x", missing=True)
MONTHS = dv.Domain.times("2020-01", "2020-03", by="month", column="x", missing=True)
KEYS = dv.Domain.keys(column="x")


def counts(data: Any, domain: dv.Domain, **options: Any) -> Any:
    """Counts by bin, or by key where no bins are declared."""
    source = data if isinstance(data, Source) else as_source(data, **options)
    kind = StatisticKind.DENSE if domain.declared else StatisticKind.SPARSE
    source.check(Question.of(domain), Unit("row"), kind)
    found: Any = source.count(Question.of(domain), Unit("row"), kind).take()
    if domain.declared:
        return found.tolist()
    return dict(zip(found[0].tolist(), found[1].tolist(), strict=True))


def refuses(data: Any, domain: dv.Domain, words: str, **options: Any) -> None:
    with pytest.raises(SchemaError, match=words):
        counts(data, domain, **options)


def sql(query: str) -> Any:
    ((found,),) = duckdb.connect().execute(f"SELECT {query}").fetchall()
    return found


def backed(array: Any) -> pd.DataFrame:
    return pd.DataFrame({"x": pd.Series(pd.arrays.ArrowExtensionArray(pa.chunked_array([array])))})


@contextmanager
def postgresql() -> Iterator[Server]:
    server = Server()
    try:
        server.start()
        yield server
    finally:
        there.close()
        server.remove()


def parquet(folder: Path, array: Any, **options: Any) -> Path:
    pq.write_table(pa.table({"x": array}), folder / "x.parquet", **options)
    return folder / "x.parquet"


def nan(folder: Path) -> None:
    values = [0.0, math.nan, 1.0]
    for data in (pd.DataFrame({"x": values}), pa.table({"x": values}), parquet(folder, pa.array(values))):
        assert counts(data, NUMBERS) == [1, 1, 0, 1]
    assert sql("'nan'::DOUBLE > 'inf'::DOUBLE")
    assert sqlite3.connect(":memory:").execute("SELECT ?", [math.nan]).fetchall() == [(None,)]


def a_float(folder: Path) -> None:
    bins = dv.Domain.intervals([0, "3/10", 1], column="x")
    for dtype in ("float64", "float32", "float16"):
        frame = pd.DataFrame({"x": np.array([0.3], dtype=dtype)})
        assert counts(frame, bins) == counts(sources.duckdb(frame), bins) == [0, 1]
    assert Fraction(0.3) < Fraction("0.3")


def halves(folder: Path) -> None:
    bins = dv.Domain.intervals([0, "1/10", 1], column="x")
    path = parquet(folder, pa.array([0.1], pa.float16()))
    assert counts(path, bins) == counts(backed(pa.array([0.1], pa.float16())), bins) == [0, 1]
    own = duckdb.connect()
    own.execute(f"CREATE VIEW v AS SELECT * FROM '{path}'")
    queries.by_rows_alone(own)
    assert counts(sources.duckdb(own, "v"), bins) == [1, 0]
    assert own.execute("SELECT typeof(x), x::DOUBLE FROM v").fetchall() == [("FLOAT", 0.0999755859375)]


def float_keys(folder: Path) -> None:
    frame = pd.DataFrame({"x": [1.0, 1.0]})
    assert counts(frame, KEYS) == {"1": 2}
    refuses(sources.duckdb(frame), KEYS, "no keys and no users from a column of floats")
    assert sql("1::DOUBLE::VARCHAR") == "1.0"


def whole_over_floats(folder: Path) -> None:
    for dtype, power in (("float16", 11), ("float32", 24), ("float64", 53)):
        frame = pd.DataFrame({"x": np.array([2**power], dtype=dtype)})
        beyond = dv.Domain.integers(2**power - 1, 2**power, column="x")
        near = dv.Domain.integers(2**power - 3, 2**power - 1, column="x")
        assert counts(frame, beyond)[0] == 0
        with pytest.raises(dv.DpvizError, match="over this column of floats lie between"):
            counts(sources.duckdb(frame), beyond)
        assert counts(sources.duckdb(frame), near) == [0, 0, 0]
    assert sql("(2.0::DOUBLE ** 53 + 1)::BIGINT") == 2**53


def fractions(folder: Path) -> None:
    frame = pd.DataFrame({"x": [0.5, 1.5, 2.5, 1.0]})
    assert counts(frame, NUMBERS) == counts(sources.duckdb(frame), NUMBERS) == [0, 1, 0, 0]
    assert [sql(f"{value}::DOUBLE::INTEGER") for value in (0.5, 1.5, 2.5)] == [0, 2, 2]
    assert sql("2.5::DECIMAL(3, 1)::INTEGER") == 3


def decimals(folder: Path) -> None:
    frame = pd.DataFrame({"x": [Decimal("1.0")]})
    refuses(frame, NUMBERS, "holds text")
    assert counts(frame, NUMBERS, schema={"x": "number"}) == [0, 1, 0, 0]
    assert counts(pa.table({"x": pa.array([Decimal(1)], pa.decimal128(38, 30))}), NUMBERS) == [0, 1, 0, 0]
    wide = pa.array([Decimal(1)], pa.decimal256(50, 3))
    assert counts(backed(wide), NUMBERS) == [0, 1, 0, 0]
    refuses(pa.table({"x": wide}), NUMBERS, "cannot be counted")
    refuses(parquet(folder, wide), NUMBERS, "cannot be counted")
    with postgresql() as server:
        wide_there = f"CREATE TABLE v (x numeric(50, 3)); INSERT INTO v VALUES (1), ({'9' * 47})"
        assert counts(there.table(server, wide_there, "v"), NUMBERS) == [0, 1, 0, 0]
    with sqlite3.connect(folder / "d.db") as connection:
        connection.execute("CREATE TABLE v (x DECIMAL(10, 2))")
        connection.execute("INSERT INTO v VALUES (1), ('0.1')")
        assert connection.execute("SELECT typeof(x) FROM v ORDER BY x").fetchall() == [("real",), ("integer",)]
    connection.close()
    opened = ibis.sqlite.connect(folder / "d.db")
    held = sources.ibis(opened.table("v"))
    assert counts(held, dv.Domain.intervals(["0", "1/10", "1/5", "2"], column="x")) == [0, 1, 1]
    refuses(held, KEYS, "no keys and no users from a column of floats")
    opened.disconnect()
    assert sql("typeof(1.5::DECIMAL(3, 1) + 1::DOUBLE)") == "DOUBLE"


def zones(folder: Path) -> None:
    held = pa.array([0], pa.timestamp("us", "UTC"))
    for data in (backed(held), pa.table({"x": held}), parquet(folder, held)):
        refuses(data, MONTHS, "without a zone")
    own = duckdb.connect()
    shown = set()
    for zone in ("UTC", "Asia/Tokyo"):
        own.execute(f"SET TimeZone = '{zone}'")
        shown |= {own.execute("SELECT '2020-01-31 23:30+00'::TIMESTAMPTZ::VARCHAR").fetchone()}
    assert len(shown) == 2


def int96(folder: Path) -> None:
    held = pa.array([datetime.datetime(2020, 1, 31)], pa.timestamp("ns"))
    path = parquet(folder, held, use_deprecated_int96_timestamps=True)
    refuses(path, MONTHS, "without a zone")
    assert str(duckdb.connect().sql(f"FROM '{path}'").types[0]).startswith("TIMESTAMP")
    assert "TIME ZONE" not in str(duckdb.connect().sql(f"FROM '{path}'").types[0])


def milliseconds(folder: Path) -> None:
    path = parquet(folder, pa.array([10**17, None], pa.timestamp("ms")))
    refuses(path, MONTHS, "times in milliseconds of a Parquet file")
    assert counts(pq.read_table(path), MONTHS) == [0, 0, 2]
    with pytest.raises(duckdb.ConversionException):
        duckdb.connect().sql(f"FROM '{path}'").fetchall()


def nanoseconds(folder: Path) -> None:
    last = np.datetime64("2020-01-31T23:59:59.999999999")
    frame = pd.DataFrame({"x": np.array([last])})
    for data in (frame, sources.duckdb(frame), parquet(folder, pa.array(np.array([last])))):
        assert counts(data, MONTHS) == [1, 0, 0]
    assert sql(f"'{last}'::TIMESTAMP_NS::TIMESTAMP") == datetime.datetime(2020, 2, 1)


def in_delta(folder: Path) -> None:
    write_deltalake(folder / "v", pa.table({"x": [0, 1, 2]}))
    DeltaTable(folder / "v").delete("x = 2")
    lake.delete_places(folder / "v", [0], file=-1)
    assert counts(folder / "v", NUMBERS) == [0, 1, 0, 0]
    assert sum(map(len, map(pq.read_table, (folder / "v").glob("*.parquet")))) == 5


def in_iceberg(folder: Path) -> None:
    table = lake.iceberg(folder, pa.schema([("was", pa.int64())]))
    table.append(pa.table({"was": [0, 1, 2]}))
    lake.delete_positions(table, [(lake.files_of(table)[0], 0)])
    with table.update_schema() as update:
        update.rename_column("was", "x")
    assert counts(lake.place_of(table), NUMBERS) == [0, 1, 1, 0]
    (file,) = (name.removeprefix("file://") for name in lake.files_of(table))
    assert pq.read_table(file).to_pydict() == {"was": [0, 1, 2]}
    lake.delete_positions(table, [(lake.files_of(table)[0], 0)], "EQUALITY_DELETES")
    with pytest.raises(dv.DpvizError, match="deleted by their places"):
        sources.duckdb(lake.place_of(table))


def in_folders(folder: Path) -> None:
    for name in ("2020", "__HIVE_DEFAULT_PARTITION__"):
        (folder / f"x={name}").mkdir()
        pq.write_table(pa.table({"y": [1]}), folder / f"x={name}" / "part-0.parquet")
    with pytest.raises(dv.DpvizError, match="stand for a column"):
        sources.duckdb(folder)
    years = dv.Domain.integers(2020, 2020, column="x", missing=True)
    assert counts(sources.duckdb(folder, hive={"x": "integer"}), years) == [1, 1]
    (folder / "own" / "y=5").mkdir(parents=True)
    pq.write_table(pa.table({"y": [1]}), folder / "own" / "y=5" / "part-0.parquet")
    query = f"SELECT y, typeof(y) FROM '{folder}/own/*/*.parquet'"
    assert duckdb.connect().execute(query).fetchall() == [(5, "BIGINT")]


def lengths(folder: Path) -> None:
    held = pa.array([datetime.timedelta(microseconds=1)])
    refuses(backed(held), NUMBERS, "times")
    refuses(pa.table({"x": held}), NUMBERS, "times")
    assert counts(parquet(folder, held), NUMBERS) == [0, 1, 0, 0]
    assert pq.ParquetFile(folder / "x.parquet").schema.column(0).physical_type == "INT64"


def twice(folder: Path) -> None:
    for names, kept in ((["x", "x"], ["x", "x_1"]), (["x", "X"], ["x", "X_1"])):
        table = pa.table([pa.array([1, 2]), pa.array([7, 7])], names=names)
        with pytest.raises(SchemaError, match="the names of columns must differ"):
            as_source(table)
        pq.write_table(table, folder / "two.parquet")
        (folder / "two.csv").write_text(f"{','.join(names)}\n1,7\n2,7\n")
        for file in (folder / "two.parquet", folder / "two.csv"):
            source = sources.duckdb(str(file))
            assert [column.name for column in source.columns] == kept
            assert counts(source, NUMBERS) == [0, 1, 1, 0]
        alone = duckdb.connect().execute("SELECT * FROM read_parquet(?)", [str(folder / "two.parquet")])
        assert [column[0] for column in alone.description or ()] == kept


def untyped(folder: Path) -> None:
    held, gaps = pa.nulls(2), pd.DataFrame({"x": pd.Series([None, None], dtype=object)})
    for data in (pa.table({"x": held}), backed(held), parquet(folder, held)):
        refuses(data, KEYS, "which has no type")
    own = duckdb.connect()
    own.execute("CREATE TABLE v AS SELECT NULL AS x")
    refuses(sources.duckdb(own, "v"), KEYS, "which has no type")
    assert counts(gaps, KEYS) == {}
    one = pd.DataFrame({"x": pd.Series([None, "a"], dtype=object)})
    assert [pa.types.is_null(pa.Table.from_pandas(frame).schema.field("x").type) for frame in (gaps, one)] == [
        True,
        False,
    ]


def shapes(folder: Path) -> None:
    own = duckdb.connect()
    own.execute("SET autoinstall_known_extensions = false")
    own.execute("CREATE TABLE v (g GEOMETRY, x INTEGER)")
    own.execute("INSERT INTO v VALUES (NULL, 1)")
    assert counts(sources.duckdb(own, "v"), NUMBERS) == [0, 1, 0, 0]
    refuses(sources.duckdb(own, "v"), dv.Domain.keys(column="g"), "a column of geometry")
    with postgresql() as server:
        held = there.table(server, "CREATE TABLE v (g point, x integer); INSERT INTO v VALUES ('(0, 1)', 1)", "v")
        assert counts(held, NUMBERS) == [0, 1, 0, 0]
        refuses(held, dv.Domain.keys(column="g"), "a column of geometry")
        assert "ST_AsEWKB".lower() in str(ibis.to_sql(there.backend(server).table("v"))).lower()


def bool8(folder: Path) -> None:
    held = pa.array([1, 0, 1], pa.int8()).cast(pa.bool8())
    path = parquet(folder, held)
    for data in (backed(held), pa.table({"x": held}), path):
        assert counts(data, NUMBERS) == [1, 2, 0, 0]
    own, given = duckdb.connect(), pa.table({"x": held})
    own.register("given", given)
    assert [str(own.sql(f"FROM {of}").types[0]) for of in ("given", f"'{path}'")] == ["BOOLEAN", "TINYINT"]


def texts(folder: Path) -> None:
    frame = pd.DataFrame({"x": ["a", "A", "a "]})
    assert counts(frame, KEYS) == counts(sources.duckdb(frame), KEYS) == {"a": 1, "A": 1, "a ": 1}
    own = duckdb.connect()
    own.execute("CREATE TABLE v (x VARCHAR COLLATE NOCASE)")
    refuses(sources.duckdb(own, "v"), KEYS, "collated text")
    assert sql("'a' COLLATE NOCASE = 'A'")


def objects(folder: Path) -> None:
    frame = pd.DataFrame({"x": pd.Series([b"a", "a", 1, True, None], dtype=object)})
    bins = dv.Domain.categories(["a", "1", "True"], column="x", other=True, missing=True)
    assert counts(frame, bins) == counts(sources.duckdb(frame), bins) == [1, 1, 1, 1, 1]
    assert counts(frame, KEYS) == counts(sources.duckdb(frame), KEYS) == {"1": 1, "True": 1, "a": 1}


def gaps(folder: Path) -> None:
    bins, odd = (dv.Domain.categories(labels, column="x") for labels in (["True"], ["1"]))
    with_gap = pd.DataFrame({"x": [True, None]})
    assert with_gap["x"].dtype == object and counts(with_gap, bins) == [1] and counts(with_gap, odd) == [0]
    for frame in (with_gap.astype("boolean"), with_gap.dropna().astype(bool)):
        assert counts(frame, bins) == [1]
        refuses(frame, odd, "True and False")


def categories(folder: Path) -> None:
    frame = pd.DataFrame({"x": pd.Categorical([1, 2])})
    refuses(frame, NUMBERS, "holds text")
    assert counts(frame, NUMBERS, schema={"x": "number"}) == [0, 1, 1, 0]
    frame.to_parquet(folder / "x.parquet")
    assert counts(folder / "x.parquet", NUMBERS) == [0, 1, 1, 0]


def csv(folder: Path) -> None:
    (folder / "x.csv").write_text("x\n01\nNA\nnull\n1\n")
    assert counts(folder / "x.csv", KEYS) == {"01": 1, "1": 1}
    assert counts(folder / "x.csv", NUMBERS) == [0, 2, 0, 2]
    assert pd.read_csv(folder / "x.csv")["x"].dtype.kind == "f"
    (folder / "y.csv").write_text("x\n1\n2\n")
    assert str(duckdb.connect().sql(f"FROM '{folder}/y.csv'").types[0]) == "BIGINT"


def in_sqlite(folder: Path) -> None:
    with sqlite3.connect(folder / "x.db") as connection:
        connection.execute("CREATE TABLE v (x INTEGER)")
        connection.executemany("INSERT INTO v VALUES (?)", [(1,), ("one",), (1.5,)])
        assert connection.execute("SELECT typeof(x) FROM v").fetchall() == [("integer",), ("text",), ("real",)]
    connection.close()
    opened = ibis.sqlite.connect(folder / "x.db")
    assert counts(sources.ibis(opened.table("v")), NUMBERS) == [0, 1, 0, 2]
    opened.disconnect()


ROWS: dict[str, Callable[[Path], None]] = {
    "NaN": nan,
    "a float": a_float,
    "floats of 16 bits": halves,
    "keys and users that are floats": float_keys,
    "whole numbers over floats": whole_over_floats,
    "a fraction in bins of whole numbers": fractions,
    "decimals": decimals,
    "times of a zone": zones,
    "INT96 in Parquet": int96,
    "milliseconds in Parquet": milliseconds,
    "nanoseconds": nanoseconds,
    "Delta tables": in_delta,
    "Iceberg tables": in_iceberg,
    "folders `year=2020`": in_folders,
    "lengths of time": lengths,
    "a name that comes twice": twice,
    "columns without a type": untyped,
    "shapes (`GEOMETRY`, PostgreSQL's `point`)": shapes,
    "Arrow's bool8": bool8,
    "texts": texts,
    "objects in pandas": objects,
    "True and False with a gap": gaps,
    "categories of numbers": categories,
    "CSV": csv,
    "declared types in SQLite": in_sqlite,
}


def test_every_row_has_its_test() -> None:
    assert [name for name in TABLE if name] == list(ROWS)


@pytest.mark.parametrize("row", ROWS)
def test_a_row_holds_in_dpviz_and_in_the_engine_by_itself(row: str, tmp_path: Path) -> None:
    ROWS[row](tmp_path)


def test_the_versions_are_those_that_are_installed() -> None:
    words = PAGE.read_text(encoding="utf-8")
    for name, package in (("DuckDB", "duckdb"), ("pandas", "pandas"), ("pyarrow", "pyarrow"), ("polars", "polars")):
        assert f"{name} {version(package).rpartition('.')[0]}" in words
    for package in ("deltalake", "pyiceberg"):
        assert f"{package} {version(package).rpartition('.')[0]}" in words
    assert f"SQLite {sqlite3.sqlite_version.rpartition('.')[0]}" in words
    assert re.search(rf"Spark {version('pyspark').partition('.')[0]}\b", words)
