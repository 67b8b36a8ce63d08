"""One rule for times: plain ones are counted by what their clock said, and a column of instants is refused by type."""

from __future__ import annotations

from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb as driver
import pandas as pd
import polars
import pyarrow
import pyarrow.parquet
import pytest

from dpviz.engines import as_source, sources
from dpviz.errors import SchemaError
from dpviz.model.domain import Domain
from dpviz.model.question import Question
from dpviz.model.source import Source
from dpviz.model.statistic import StatisticKind
from dpviz.privacy.unit import Unit

ROW = Unit("row")
ASKED = Question.of(Domain.times("2020-01", "2020-03", by="month", column="t", missing=True))
CLOCK = [datetime(2020, 1, 31, 23, 30), datetime(2020, 1, 31, 23, 59, 59, 999_999), datetime(2020, 2, 1), None]
INSTANTS = [None if at is None else at.replace(tzinfo=UTC) for at in CLOCK]


def parquet(folder: Path, values: list[Any], kind: Any, **options: Any) -> Source:
    path = folder / "times.parquet"
    pyarrow.parquet.write_table(pyarrow.table({"t": pyarrow.array(values, kind), "x": [1] * 4}), path, **options)
    return as_source(path, name="data")


def table(statement: str) -> Source:
    connection = driver.connect()
    connection.execute(f"CREATE TABLE v AS {statement}")
    return sources.duckdb(connection, "v")


IN_DUCKDB = "SELECT unnest(['2020-01-31 23:30', '2020-01-31 23:59:59.999999', '2020-02-01', NULL])::{0} AS t, 1 AS x"
PLAIN: dict[str, Any] = {
    "pandas": lambda at: as_source(pd.DataFrame({"t": pd.Series(CLOCK, dtype="datetime64[us]")})),
    "pandas in DuckDB": lambda at: sources.duckdb(pd.DataFrame({"t": pd.Series(CLOCK, dtype="datetime64[ns]")})),
    "polars": lambda at: as_source(polars.DataFrame({"t": polars.Series(CLOCK, dtype=polars.Datetime("us"))})),
    "polars, nanoseconds": lambda at: as_source(
        polars.DataFrame({"t": polars.Series(CLOCK, dtype=polars.Datetime("ns"))})
    ),
    "Arrow": lambda at: as_source(pyarrow.table({"t": pyarrow.array(CLOCK, pyarrow.timestamp("us"))})),
    "Parquet": lambda at: parquet(at, CLOCK, pyarrow.timestamp("us")),
    "Parquet, nanoseconds": lambda at: parquet(at, CLOCK, pyarrow.timestamp("ns")),
    "DuckDB": lambda at: table(IN_DUCKDB.format("TIMESTAMP")),
    "DuckDB, nanoseconds": lambda at: table(IN_DUCKDB.format("TIMESTAMP_NS")),
}
ZONED: dict[str, Any] = {
    "pandas": lambda at: as_source(pd.DataFrame({"t": pd.Series(INSTANTS, dtype="datetime64[us, UTC]")})),
    "pandas in DuckDB": lambda at: sources.duckdb(
        pd.DataFrame({"t": pd.Series(INSTANTS, dtype="datetime64[us, UTC]")})
    ),
    "polars": lambda at: as_source(
        polars.DataFrame({"t": polars.Series(INSTANTS, dtype=polars.Datetime("us", "UTC"))})
    ),
    "Arrow": lambda at: as_source(
        pyarrow.table({"t": pyarrow.array(INSTANTS, pyarrow.timestamp("us", "America/New_York"))})
    ),
    "Parquet": lambda at: parquet(at, INSTANTS, pyarrow.timestamp("us", "UTC")),
    "Parquet, INT96": lambda at: parquet(at, CLOCK, pyarrow.timestamp("us"), use_deprecated_int96_timestamps=True),
    "Parquet, INT96 of no value": lambda at: parquet(
        at, [None] * 4, pyarrow.timestamp("ns"), use_deprecated_int96_timestamps=True
    ),
    "a folder of INT96": lambda at: (
        parquet(at, CLOCK, pyarrow.timestamp("us"), use_deprecated_int96_timestamps=True) and as_source(at, name="data")
    ),
    "DuckDB": lambda at: table(IN_DUCKDB.format("TIMESTAMPTZ")),
}


@pytest.mark.parametrize("name", PLAIN)
def test_a_plain_time_lies_where_its_clock_says(name: str, tmp_path: Path) -> None:
    source = PLAIN[name](tmp_path)
    source.check(ASKED, ROW, StatisticKind.DENSE)
    assert source.count(ASKED, ROW, StatisticKind.DENSE).take().tolist() == [2, 1, 1]


@pytest.mark.parametrize("name", ZONED)
def test_instants_are_refused_by_their_type_in_bins_and_filters(name: str, tmp_path: Path) -> None:
    source = ZONED[name](tmp_path)
    with pytest.raises(SchemaError, match="without a zone"):
        source.check(ASKED, ROW, StatisticKind.DENSE)


def test_the_other_columns_of_a_file_with_instants_are_counted(tmp_path: Path) -> None:
    source = ZONED["Parquet, INT96"](tmp_path)
    question = Question.of(Domain.integers(0, 2, column="x"))
    source.check(question, ROW, StatisticKind.DENSE)
    assert source.count(question, ROW, StatisticKind.DENSE).take().tolist() == [0, 4, 0]


def test_decimals_of_a_file_that_duckdb_would_round_are_refused_by_their_type(tmp_path: Path) -> None:
    source = parquet(tmp_path, [Decimal("1.5"), None, None, None], pyarrow.decimal256(60, 2))
    with pytest.raises(SchemaError):
        source.check(Question.of(Domain.integers(0, 2, column="t")), ROW, StatisticKind.DENSE)
