"""Decimals are exact numbers on every engine: bins, labels, keys, users and sums are those of Python's fractions."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb as driver
import ibis
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
from tests.engines import decimals
from tests.engines.decimals import decimals_are_those_of_the_reference, written

ROW = Unit("row")


def arrow(frame: pd.DataFrame, digits: int, places: int, wide: bool = False) -> Any:
    kind = (pyarrow.decimal256 if wide else pyarrow.decimal128)(digits, places)
    return pyarrow.table(
        {"x": pyarrow.array([None if one is None else Decimal(written(one, places)) for one in frame["x"]], kind)}
        | {name: pyarrow.array(frame[name]) for name in ("k", "user")}
    )


def in_pandas(frame: pd.DataFrame, digits: int, places: int) -> Source:
    return as_source(frame, schema={"x": "number"})


def in_arrow_pandas(frame: pd.DataFrame, digits: int, places: int) -> Source:
    held = pd.array(arrow(frame, digits, places)["x"], dtype=pd.ArrowDtype(pyarrow.decimal128(digits, places)))
    return as_source(frame.assign(x=held))


def arrow_pandas_in_duckdb(frame: pd.DataFrame, digits: int, places: int) -> Source:
    held = pd.array(arrow(frame, digits, places)["x"], dtype=pd.ArrowDtype(pyarrow.decimal128(digits, places)))
    return sources.duckdb(frame.assign(x=held))


def in_duckdb(frame: pd.DataFrame, digits: int, places: int) -> Source:
    connection = driver.connect()
    connection.execute(f'CREATE TABLE t (x DECIMAL({digits}, {places}), k VARCHAR, "user" VARCHAR)')
    connection.executemany(
        "INSERT INTO t VALUES (?, ?, ?)",
        [(written(one, places), k, user) for one, k, user in frame.itertuples(index=False)],
    )
    return sources.duckdb(connection, "t")


def in_arrow(frame: pd.DataFrame, digits: int, places: int) -> Source:
    return as_source(arrow(frame, digits, places))


def in_wide_arrow(frame: pd.DataFrame, digits: int, places: int) -> Source:
    return as_source(arrow(frame, digits, places, wide=True))


def in_polars(frame: pd.DataFrame, digits: int, places: int) -> Source:
    return as_source(polars.from_arrow(arrow(frame, digits, places)))


def in_polars_of_ibis(frame: pd.DataFrame, digits: int, places: int) -> Source:
    return sources.ibis(ibis.polars.connect({"t": polars.from_arrow(arrow(frame, digits, places))}).table("t"))


ENGINES = [in_pandas, in_arrow_pandas, arrow_pandas_in_duckdb, in_duckdb, in_arrow, in_wide_arrow, in_polars]


@pytest.mark.parametrize("engine", [*ENGINES, in_polars_of_ibis])
def test_decimals_are_those_of_the_reference(engine: Callable[[pd.DataFrame, int, int], Source]) -> None:
    assert decimals_are_those_of_the_reference(engine, few=engine not in (in_pandas, in_duckdb)) >= 30


def test_decimals_in_a_parquet_file_are_those_of_the_reference(tmp_path: Path) -> None:
    def engine(frame: pd.DataFrame, digits: int, places: int) -> Source:
        path = tmp_path / f"{digits}-{places}.parquet"
        pyarrow.parquet.write_table(arrow(frame, digits, places), path)
        return as_source(path, name="data")

    assert decimals_are_those_of_the_reference(engine, few=True) >= 30


def test_whole_numbers_of_128_bits_are_counted_wherever_they_lie() -> None:
    connection = driver.connect()
    connection.execute("CREATE TABLE t (x HUGEINT)")
    ends = [-(2**127), -(10**38), -1, 0, 5, 10**38 - 1, 10**38, 2**127 - 1, None]
    connection.executemany("INSERT INTO t VALUES (?)", [(end,) for end in ends])
    source = sources.duckdb(connection, "t")
    bins = Domain.intervals([0, 1, 2, 9], column="x", underflow=True, overflow=True, missing=True)
    source.check(Question.of(bins), ROW, StatisticKind.DENSE)
    assert source.count(Question.of(bins), ROW, StatisticKind.DENSE).take().tolist() == [3, 1, 0, 1, 3, 1]


def test_wider_decimals_than_an_engine_holds_are_refused_by_their_type() -> None:
    for values in ([Decimal("1.5"), None], [None, None], [Decimal("9" * 50)]):
        table = pyarrow.table({"x": pyarrow.array(values, pyarrow.decimal256(60, 2)), "y": [1] * len(values)})
        source = as_source(table)
        assert source.columns == as_source(table.slice(0, 0)).columns
        with pytest.raises(SchemaError):
            source.check(Question.of(Domain.integers(0, 3, column="x")), ROW, StatisticKind.DENSE)
        assert source.count(Question.of(Domain.integers(0, 3, column="y")), ROW, StatisticKind.DENSE).take()[1] > 0


def test_a_ledger_that_knew_a_column_of_decimals_by_its_type_still_belongs_to_its_data() -> None:
    source = in_duckdb(decimals.frame(10, 2), 10, 2)
    known = source.chartered({"x": "decimal(10, 2)", "k": "text", "user": "text"})
    assert {column.name: column.kind for column in known.columns}["x"] == "decimal(10, 2)"
    question = Question.of(Domain.integers(0, 3, column="x"))
    known.check(question, ROW, StatisticKind.DENSE)
    one, other = (each.count(question, ROW, StatisticKind.DENSE).take().tolist() for each in (source, known))
    assert one == other
