"""Frames and files as libraries hand them over: Arrow-backed dates, an index, shapes on a map, and odd names."""

from __future__ import annotations

import datetime
import json
import struct
from pathlib import Path
from typing import Any

import duckdb as driver
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import dpviz as dv
from dpviz.engines import as_source, sources
from dpviz.errors import DpvizError, SchemaError
from dpviz.model.domain import Domain
from dpviz.model.question import Between, Question
from dpviz.model.source import Source
from dpviz.model.statistic import StatisticKind
from dpviz.names import as_name, meant
from dpviz.privacy.unit import Unit

ROW = Unit("row")
NOON = datetime.datetime(2020, 1, 31, 23, 59, 59, 999_999)
MOMENTS = [
    NOON,
    None,
    datetime.datetime(2020, 2, 1),
    datetime.datetime(1969, 12, 31, 23),
    datetime.datetime(2262, 4, 1),
]
DAYS = [None if one is None else one.date() for one in MOMENTS]
MONTHS = Domain.times("1969-12", "2020-03", by="month", column="x", underflow=True, overflow=True, missing=True)


def dense(source: Source, domain: Domain, **where: Any) -> list[int]:
    question = Question.of(domain, where)
    source.check(question, ROW, StatisticKind.DENSE)
    counts: Any = source.count(question, ROW, StatisticKind.DENSE)
    return [int(count) for count in counts.take()]


def keys(source: Source, column: str) -> dict[str, int]:
    question = Question.of(Domain.keys(column=column))
    source.check(question, ROW, StatisticKind.SPARSE)
    counts: Any = source.count(question, ROW, StatisticKind.SPARSE)
    labels, found = counts.take()
    return dict(zip(labels, map(int, found), strict=True))


def arrow(values: list[Any], kind: Any) -> pd.DataFrame:
    return pd.DataFrame({"x": pd.Series(pd.array(values, dtype=pd.ArrowDtype(kind)))})


# ---------------------------------------------------------------- Arrow-backed dates and times in pandas

TYPES = [pa.timestamp("s"), pa.timestamp("ms"), pa.timestamp("us"), pa.timestamp("ns"), pa.date32(), pa.date64()]


@pytest.mark.parametrize("kind", TYPES, ids=str)
def test_arrow_backed_dates_and_times_are_counted_as_pandas_own(kind: Any) -> None:
    values = DAYS if pa.types.is_date(kind) else [one and one.replace(microsecond=0) for one in MOMENTS]
    frame, plain = arrow(values, kind), pd.DataFrame({"x": pd.to_datetime(pd.Series(MOMENTS))})
    pieces = pd.concat([frame[:2], frame[2:]], ignore_index=True)
    expected = dense(as_source(plain), MONTHS)
    assert expected[1] == 1 and expected[-3:] == [1, 1, 1] and sum(expected) == 5
    for given in (frame, pieces, frame[::-1], pa.Table.from_pandas(frame), pl.from_pandas(frame)):
        for source in (as_source(given), sources.duckdb(given)):
            assert dense(source, MONTHS) == expected
            assert sum(dense(source, MONTHS, x=Between("2020-01-31", "2020-02-01"))) == 2


def test_what_pandas_reads_with_the_pyarrow_backend_is_counted(tmp_path: Path) -> None:
    table = pa.table({"x": pa.array(MOMENTS, pa.timestamp("us")), "day": pa.array(DAYS, pa.date32()), "n": range(5)})
    pq.write_table(table, tmp_path / "x.parquet")
    frame = pd.read_parquet(tmp_path / "x.parquet", dtype_backend="pyarrow")
    days = Domain.times("2020-01-31", "2020-02-02", by="day", column="day", missing=True)
    for source in (as_source(frame), sources.duckdb(frame), as_source(tmp_path / "x.parquet")):
        assert [column.kind for column in source.columns] == ["time", "time", "number"]
        assert dense(source, days) == [1, 1, 1]


@pytest.mark.parametrize("open_it", [as_source, sources.duckdb])
@pytest.mark.parametrize(
    "frame",
    [
        arrow(MOMENTS[:2], pa.timestamp("us", "UTC")),
        arrow([datetime.timedelta(1), None], pa.duration("us")),
        pd.DataFrame({"x": pd.period_range("2020", periods=2, freq="M")}),
        pd.DataFrame({"x": pd.to_timedelta([1, 2], unit="D")}),
        pd.DataFrame({"x": pd.Categorical(pd.to_datetime(["2020-01-01"]).tz_localize("UTC"))}),
    ],
    ids=["zone", "duration", "period", "timedelta", "categories of a zone"],
)
def test_times_that_are_no_plain_times_are_refused_alike_whatever_counts(open_it: Any, frame: pd.DataFrame) -> None:
    source = open_it(frame)
    assert source.columns[0].kind == "time"
    with pytest.raises(SchemaError, match="make plain times of its instants first"):
        source.check(Question.of(MONTHS), ROW, StatisticKind.DENSE)


@pytest.mark.parametrize("open_it", [as_source, sources.duckdb])
def test_categories_of_times_are_times(open_it: Any) -> None:
    frame = pd.DataFrame({"x": pd.Categorical(pd.to_datetime(["2020-01-01", None, "2020-02-01", "2020-01-01"]))})
    bins = Domain.times("2020-01", "2020-03", by="month", column="x", missing=True)
    assert dense(open_it(frame), bins) == [2, 1, 1]


# ---------------------------------------------------------------- the index

INDEXED: list[tuple[Any, list[str]]] = [
    (pd.Index(["a"], name="k"), ["k"]),
    (pd.Index(["a"]), ["index"]),
    (pd.DatetimeIndex(["2020-01-01"], name="when"), ["when"]),
    (pd.MultiIndex.from_tuples([("a", 1)], names=["k", None]), ["k", "level_1"]),
    (pd.RangeIndex(1, name="row"), ["row"]),
    (pd.CategoricalIndex(["a"]), ["index"]),
]


@pytest.mark.parametrize(("index", "names"), INDEXED, ids=[str(names) for _, names in INDEXED])
@pytest.mark.parametrize("open_it", [as_source, sources.duckdb])
def test_a_question_about_the_index_says_reset_index_and_the_advice_works(
    open_it: Any, index: pd.Index, names: list[str]
) -> None:
    frame = pd.DataFrame({"x": [1]}, index=index)
    for name in names:
        question = Question.of(Domain.keys(column=name))
        with pytest.raises(SchemaError, match="the index of the data frame") as refused:
            open_it(frame).check(question, ROW, StatisticKind.SPARSE)
        assert "reset_index()" in refused.value.next_step
    assert set(names) <= {column.name for column in open_it(frame.reset_index()).columns}
    with pytest.raises(SchemaError, match="its columns are x"):
        open_it(pd.DataFrame({"x": [1]})).check(Question.of(Domain.keys(column="index")), ROW, StatisticKind.SPARSE)


def test_a_session_tells_of_the_index_before_it_charges(tmp_path: Path) -> None:
    frame = pd.DataFrame({"x": [1]}, index=pd.Index(["a"], name="k"))
    session = dv.Session(frame, ROW, dv.Budget("1", "1e-3"), tmp_path / "x.ledger")
    with pytest.raises(SchemaError, match="reset_index"):
        session.release("k", dv.Stability("1", "1e-6"))
    assert len(session.releases) == 0


# ---------------------------------------------------------------- GeoParquet

POINT = struct.pack("<BIdd", 1, 1, 1.0, 2.0)
GEO = {
    "version": "1.1.0",
    "primary_column": "shape",
    "columns": {"shape": {"encoding": "WKB", "geometry_types": ["Point"]}},
}


@pytest.mark.parametrize("content", [POINT, b"no shape", None], ids=["point", "broken", "missing"])
def test_the_plain_columns_of_geoparquet_are_counted_and_its_shapes_refused_by_name(
    tmp_path: Path, content: bytes | None
) -> None:
    table = pa.table({"town": ["a", "b"], "shape": pa.array([content, None], pa.binary()), "n": [1, 2]})
    pq.write_table(table.replace_schema_metadata({b"geo": json.dumps(GEO).encode()}), tmp_path / "towns.parquet")
    source = as_source(tmp_path / "towns.parquet")
    assert keys(source, "town") == {"a": 1, "b": 1}
    assert dense(source, Domain.integers(1, 2, column="n")) == [1, 1]
    with pytest.raises(SchemaError, match="cannot be counted, got shape"):
        keys(source, "shape")


# ---------------------------------------------------------------- names

ODD = [
    "b",
    " b",
    "b ",
    "B",
    "a  b",
    "a b",
    "a\nb",
    "a\tb",
    "\u0435nd",
    "end",
    "ﬁne",
    "x\u200by",
    '"',
    "\\",
    "n" * 70,
    "é",
    "e\u0301",
]


def test_no_two_odd_names_look_alike_in_a_message() -> None:
    for name in ODD:
        shown = as_name(name)
        assert "\n" not in shown and shown == " ".join(shown.split()) and shown
        for other in ODD:
            near = meant(name, [other], "no")
            assert other == name or near == "no" or as_name(other) in near or repr(other)[1:-1] in near or "\\" in near
    assert [as_name(name) for name in ODD[:4]] == ["b", '" b"', '"b "', "B"]


@pytest.mark.parametrize(
    ("asked", "has", "says"),
    [
        (" b", "b", 'got " b"; did you mean b?'),
        ("b", " b", 'got b; did you mean " b"?'),
        ("b", "b ", 'got b; did you mean "b "?'),
        ("B", "b", "got B; did you mean b?"),
        ("a b", "a  b", r'got a b; did you mean "a \x20b"?'),
        ("a b", "a\nb", r'got a b; did you mean "a\nb"?'),
        ("end", "\u0435nd", r"got end; did you mean '\u0435nd', in other letters that look alike?"),
        ("\u0435nd", "end", "did you mean 'end', in other letters that look alike?"),
        ("end\u200b", "end", r'got "end\u200b"; did you mean'),
        ("e\u0301", "é", r"did you mean '\xe9', in other letters that look alike?"),
        ("visits", "x", "got visits; its columns are x"),
        ("y" * 200, "x", "its columns are x"),
    ],
)
@pytest.mark.parametrize("open_it", [as_source, sources.duckdb])
def test_a_mistyped_column_is_shown_as_it_differs(open_it: Any, asked: str, has: str, says: str) -> None:
    source = open_it(pd.DataFrame({has: [1]}))
    with pytest.raises(SchemaError) as refused:
        keys(source, asked)
    assert says in str(refused.value)
    assert keys(source, has) == {"1": 1}


TWICE: list[tuple[Any, str]] = [
    (pd.DataFrame([[1, 2]], columns=["a", "a"]), "the names of columns must differ, got a twice"),
    (pa.table([pa.array([1])] * 2, names=["a", "a"]), "the names of columns must differ, got a twice"),
    (pa.table([pa.array([1])] * 2, names=["a", "A"]), "by more than capital letters, got a and A; rename one of them"),
    (pl.DataFrame({"a": [1], "A": [1]}), "by more than capital letters, got a and A; rename one of them"),
    (pl.DataFrame({" a": [1], " A": [1]}), 'by more than capital letters, got " a" and " A"; rename'),
]


@pytest.mark.parametrize(("data", "says"), TWICE, ids=range(len(TWICE)))
def test_columns_of_one_name_are_named(data: Any, says: str) -> None:
    for open_it in (as_source, sources.duckdb):
        with pytest.raises(SchemaError) as refused:
            open_it(data)
        assert says in str(refused.value)


def test_pandas_tells_capital_letters_apart_and_duckdb_says_that_it_does_not() -> None:
    frame = pd.DataFrame({"a": [1], "A": [2]})
    assert keys(as_source(frame), "A") == {"2": 1}
    with pytest.raises(SchemaError, match="in DuckDB by more than capital letters, got a and A"):
        sources.duckdb(frame)
    assert keys(sources.duckdb(frame.rename(columns={"A": "A2"})), "A2") == {"2": 1}


def test_a_column_without_a_type_is_refused_in_words(tmp_path: Path) -> None:
    pq.write_table(pa.table({"a": pa.nulls(2), "b": [1, 2]}), tmp_path / "x.parquet")
    connection = driver.connect()
    connection.execute("CREATE VIEW v AS SELECT NULL AS a, 1 AS b")
    for source in (as_source(tmp_path / "x.parquet"), sources.duckdb(connection, "v")):
        with pytest.raises(
            SchemaError, match="a column of missing values alone, which has no type, cannot be"
        ) as refused:
            keys(source, "a")
        assert "DataType" not in str(refused.value) + repr(source.columns)
        assert keys(source, "b")


@pytest.mark.parametrize("kind", [pa.binary(), pa.list_(pa.int8()), pa.struct([("x", pa.int8())])], ids=str)
def test_no_message_about_a_type_shows_how_python_writes_objects(tmp_path: Path, kind: Any) -> None:
    pq.write_table(pa.table({"a": pa.nulls(1, kind), "b": [1]}), tmp_path / "x.parquet")
    source = as_source(tmp_path / "x.parquet")
    with pytest.raises(DpvizError) as refused:
        source.check(Question.of(Domain.keys(column="a")), ROW, StatisticKind.SPARSE)
    assert "(" not in str(refused.value).split("cannot")[0].split("; ")[0].replace("dv.Domain.times(...)", "")
    assert np.isfinite(keys(source, "b")["1"])
