"""A type that an engine has no place for, or that has no bins: refused by the column's name, and the others count."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import ibis
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import dpviz as dv
from dpviz.engines import as_source, sources
from dpviz.errors import DomainError, ParameterError, SchemaError
from dpviz.model.question import Question
from dpviz.model.source import Source
from dpviz.model.statistic import StatisticKind
from dpviz.privacy.unit import Unit
from tests.engines import server as there
from tests.ledger.server import Server

DENSE = pa.UnionArray.from_dense(
    pa.array([0, 1], pa.int8()), pa.array([0, 0], pa.int32()), [pa.array([1]), pa.array(["a"])]
)
SPARSE = pa.UnionArray.from_sparse(pa.array([0, 1], pa.int8()), [pa.array([1, 2]), pa.array(["a", "b"])])
UNCOUNTED: dict[str, Any] = {
    "dense union": DENSE,
    "sparse union": SPARSE,
    "union in a struct": pa.StructArray.from_arrays([DENSE], ["inner"]),
    "half floats in a list": pa.array([[1.0], [2.0]], pa.list_(pa.float16())),
    "wide decimals in a list": pa.array([[Decimal(1)], [Decimal(2)]], pa.list_(pa.decimal256(50, 2))),
    "hundreds in a map": pa.array([[("a", Decimal(100))], []], pa.map_(pa.string(), pa.decimal128(5, -2))),
    "list view": pa.array([[1], [2]], pa.list_view(pa.int32())),
    "nanoseconds of a day": pa.array([1, 2], pa.time64("ns")),
    "length of time": pa.array([1, 2], pa.duration("s")),
    "instants": pa.array([1, 2], pa.timestamp("us", "UTC")),
}


def counts(data: Any, domain: dv.Domain) -> list[int]:
    source, question = data if isinstance(data, Source) else as_source(data), Question.of(domain)
    source.check(question, Unit("row"), StatisticKind.DENSE)
    held: Any = source.count(question, Unit("row"), StatisticKind.DENSE)
    return held.take().tolist()  # type: ignore[no-any-return]


@pytest.mark.parametrize("kind", UNCOUNTED)
def test_a_column_that_cannot_be_counted_is_refused_by_its_name_and_the_others_count(kind: str) -> None:
    table = pa.table({"x": [1, 2], "odd": UNCOUNTED[kind]})
    assert counts(table, dv.Domain.integers(0, 2, column="x")) == [0, 1, 1]
    with pytest.raises(SchemaError, match="got odd"):
        counts(table, dv.Domain.integers(0, 2, column="odd"))


@pytest.mark.parametrize("kind", [pl.Int128, pl.UInt128, pl.Object], ids=str)
def test_a_column_of_polars_that_arrow_does_not_have_is_refused_by_its_name(kind: Any) -> None:
    frame = pl.DataFrame({"x": [1, 2], "odd": pl.Series([1, 2], dtype=kind)})
    assert counts(frame, dv.Domain.integers(0, 2, column="x")) == [0, 1, 1]
    with pytest.raises(SchemaError, match="got odd"):
        counts(frame, dv.Domain.integers(0, 2, column="odd"))


@pytest.mark.parametrize("kind", [pa.decimal128(5, -2), pa.decimal256(5, -2), pa.decimal128(36, -2)], ids=str)
def test_decimals_that_end_in_zeros_are_the_numbers_that_they_are(kind: Any) -> None:
    table = pa.table({"x": pa.array([Decimal(100), Decimal(12_300), None], kind)})
    assert counts(table, dv.Domain.intervals([0, 100, 101, 20_000], column="x", missing=True)) == [0, 1, 1, 1]


@pytest.mark.parametrize("kind", ["nanoseconds of a day", "length of time", "instants"])
def test_advice_about_times_without_bins_names_no_domain_that_is_refused_next(kind: str) -> None:
    table = pa.table({"odd": UNCOUNTED[kind]})
    for domain in (
        dv.Domain.integers(0, 2, column="odd"),
        dv.Domain.times("1970", "1971", by="year", column="odd"),
        dv.Domain.keys(column="odd"),
    ):
        with pytest.raises(SchemaError) as refused:
            counts(table, domain)
        assert "dv.Domain.times" not in refused.value.next_step
        assert "plain times of its instants" in refused.value.next_step


def test_dates_as_texts_are_declared_where_a_schema_can_and_made_in_the_table_elsewhere(tmp_path: Path) -> None:
    months = dv.Domain.times("2026-01", "2026-03", by="month", column="t")
    texts = {"t": ["2026-01-31"]}
    (tmp_path / "t.csv").write_text("t\n2026-01-31\n")
    pq.write_table(pa.table(texts), tmp_path / "t.parquet")
    with pytest.raises(SchemaError, match=r'declare schema=\{"t": "date"\}'):
        counts(str(tmp_path / "t.csv"), months)
    for data in (str(tmp_path / "t.parquet"), pa.table(texts), pd.DataFrame(texts)):
        with pytest.raises(SchemaError, match="make dates of it in the table first"):
            counts(data, months)
    for data in (str(tmp_path / "t.csv"), pd.DataFrame(texts)):  # the advice works
        assert counts(as_source(data, schema={"t": "date"}), months) == [1, 0]


@pytest.mark.parametrize(
    ("label", "words"),
    [
        ("north ", 'got "north "; did you mean north'),
        ("\u200bnorth", r'got "\\u200bnorth"'),
        (None, "a label must be a text or a number, got None"),
        (["north"], "a label must be a text or a number, got list"),
    ],
)
def test_a_label_is_refused_as_it_can_be_seen(label: Any, words: str) -> None:
    domain = dv.Domain.categories(["north", "south"], column="k", other=True)
    with pytest.raises(DomainError, match=words):
        domain.index(label)


@pytest.mark.parametrize("count", [10**400, -(10**400), 2**63, float("inf"), float("nan"), True])
def test_public_counts_that_are_none_are_refused_by_their_rule(count: Any) -> None:
    with pytest.raises(ParameterError, match="counts are whole numbers from 0 to"):
        dv.PublicTable(dv.Domain.integers(0, 1, column="x"), [count, 1])  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "kind", ["GEOMETRY", "GEOMETRY[]", "STRUCT(a GEOMETRY)", "BIGNUM", "BIT", "VARIANT", "TIME_NS"]
)
@pytest.mark.parametrize("from_path", [False, True], ids=["connection", "path"])
def test_a_type_of_duckdb_that_ibis_cannot_read_is_refused_by_the_column_s_name(
    kind: str, from_path: bool, tmp_path: Path
) -> None:
    connection = duckdb.connect(tmp_path / "held.duckdb")
    connection.execute(f"CREATE TABLE held (odd {kind}, x INTEGER)")
    connection.execute("INSERT INTO held VALUES (NULL, 1), (NULL, 2)")
    if from_path:
        connection.close()
    source = sources.duckdb(tmp_path / "held.duckdb" if from_path else connection, "held")
    assert counts(source, dv.Domain.integers(0, 2, column="x")) == [0, 1, 1]
    with pytest.raises(SchemaError, match="got odd"):
        counts(source, dv.Domain.integers(0, 2, column="odd"))


@pytest.mark.parametrize("kind", ["point", "line", "polygon", "circle", "point[]", "spot", "int4range", "xml"])
def test_a_type_of_postgresql_that_ibis_cannot_read_is_refused_by_the_column_s_name(kind: str, server: Server) -> None:
    made = f"shapes_{next(there.NUMBERS)}"
    domain = "CREATE DOMAIN spot AS point;" if kind == "spot" else ""
    statements = f"{domain} CREATE TABLE {made} (odd {kind}, x integer); INSERT INTO {made} VALUES (NULL, 1), (NULL, 2)"
    source = there.table(server, statements, made)
    assert counts(source, dv.Domain.integers(0, 2, column="x")) == [0, 1, 1]
    with pytest.raises(SchemaError, match="got odd"):
        counts(source, dv.Domain.integers(0, 2, column="odd"))


@pytest.mark.parametrize(("kind", "value"), [("numeric(5, -2)", 12_300), ("numeric(2, -5)", 100_000)])
def test_decimals_of_postgresql_that_end_in_zeros_are_the_numbers_that_they_are(
    kind: str, value: int, server: Server
) -> None:
    made = f"hundreds_{next(there.NUMBERS)}"
    source = there.table(server, f"CREATE TABLE {made} (x {kind}); INSERT INTO {made} VALUES ({value}), (NULL)", made)
    assert counts(source, dv.Domain.intervals([0, value, value + 1], column="x", missing=True)) == [0, 1, 1]
    question = Question.of(dv.Domain.keys(column="x"))
    held: Any = source.count(question, Unit("row"), StatisticKind.SPARSE)
    assert [one.tolist() for one in held.take()] == [[str(value)], [1]]


def test_decimals_of_postgresql_with_more_places_than_digits_are_counted(server: Server) -> None:
    made = f"small_{next(there.NUMBERS)}"
    domain = "CREATE DOMAIN small AS numeric(3, 5)"  # which Ibis reads in a domain alone
    source = there.table(server, f"{domain}; CREATE TABLE {made} (x small); INSERT INTO {made} VALUES (0.00123)", made)
    assert counts(source, dv.Domain.intervals(["0", "0.00123", "0.00124"], column="x")) == [0, 1]


def test_a_table_that_is_gone_before_it_is_opened_is_refused_and_no_release_has_failed(server: Server) -> None:
    opened = there.backend(server)
    opened.raw_sql("CREATE TABLE gone (x integer)").close()
    table = opened.table("gone")
    opened.raw_sql("DROP TABLE gone").close()
    with pytest.raises(ParameterError, match="this cannot be read as a table, got table gone"):
        sources.ibis(table)


def _in_files(folder: Path, table: Any, name: str) -> Path:
    pq.write_table(table, folder / name)
    return folder / name


NULLS = pa.table({"x": pa.nulls(2), "y": [1, 2]})
WITHOUT_A_TYPE: dict[str, Any] = {
    "Arrow": lambda folder: NULLS,
    "polars": lambda folder: pl.from_arrow(NULLS),
    "pandas": lambda folder: NULLS.to_pandas(types_mapper=pd.ArrowDtype),
    "pandas in DuckDB": lambda folder: sources.duckdb(NULLS.to_pandas(types_mapper=pd.ArrowDtype)),
    "Parquet": lambda folder: _in_files(folder, NULLS, "x.parquet"),
    "polars through Ibis": lambda folder: ibis.polars.connect({"t": pl.from_arrow(NULLS)}).table("t"),
    "a dictionary of nulls": lambda folder: pa.table(
        {"x": pa.DictionaryArray.from_arrays(pa.array([None, None], pa.int8()), pa.nulls(0)), "y": [1, 2]}
    ),
}


@pytest.mark.parametrize("held_in", WITHOUT_A_TYPE)
@pytest.mark.parametrize("use", ["keys", "categories", "user"])
def test_a_column_without_a_type_is_refused_by_its_name_in_every_container(
    held_in: str, use: str, tmp_path: Path
) -> None:
    source = as_source(WITHOUT_A_TYPE[held_in](tmp_path))
    assert counts(source, dv.Domain.integers(0, 2, column="y")) == [0, 1, 1]
    asked = {"keys": dv.Domain.keys(column="x"), "categories": dv.Domain.categories(["a"], column="x", missing=True)}
    question, unit = Question.of(asked.get(use, dv.Domain.integers(0, 2, column="y"))), Unit("row")
    if use == "user":
        unit = Unit("x", max_bins=1)
    with pytest.raises(SchemaError, match="a column of missing values alone, which has no type, .*got x"):
        source.check(question, unit, StatisticKind.SPARSE)


def test_objects_that_are_all_missing_are_a_column_of_texts_for_pandas_has_no_type_for_them() -> None:
    for values in ([None, None], [None, "a"]):
        frame = pd.DataFrame({"x": pd.Series(values, dtype=object)})
        found = counts(frame, dv.Domain.categories(["a"], column="x", missing=True))
        assert found == [values.count("a"), values.count(None)]
