"""A float of 16 bits is the decimal that it prints as, wherever it is held: no engine has such floats, so each holds
them as others, which print as other decimals."""

from __future__ import annotations

import math
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from dpviz.engines import as_source, sources
from dpviz.errors import SchemaError
from dpviz.model.domain import Domain
from dpviz.model.question import Between, Question
from dpviz.model.source import Source
from dpviz.model.statistic import StatisticKind
from dpviz.privacy.unit import Unit
from tests.engines import reference

FLAGS = {"underflow": True, "overflow": True, "missing": True}
EVERY = np.arange(2**16, dtype=np.uint16).view(np.float16)
SOME = np.array([0.1, 0.3, 0.30029, 0.7, 1.0, 0.2998, 65504.0, 6e-8, -0.0, math.inf, math.nan], dtype=np.float16)


def column(values: Any) -> Any:
    return pa.array(values, pa.float16(), from_pandas=True)


def parquet(folder: Path, table: Any) -> Source:
    pq.write_table(table, folder / "halves.parquet")
    return as_source(folder / "halves.parquet")


def by_polars(folder: Path, values: Any) -> Source:
    frame = polars.DataFrame({"x": polars.Series(values.astype("float32"), dtype=polars.Float32).cast(polars.Float16)})
    frame.write_parquet(folder / "polars.parquet")
    return as_source(folder / "polars.parquet")


HELD: dict[str, Callable[[Path, Any], Source]] = {
    "pandas": lambda at, values: as_source(pd.DataFrame({"x": values})),
    "pandas in DuckDB": lambda at, values: sources.duckdb(pd.DataFrame({"x": values})),
    "other bytes first": lambda at, values: sources.duckdb(pd.DataFrame({"x": values.astype(">f2")})),
    "sparse": lambda at, values: sources.duckdb(pd.DataFrame({"x": pd.arrays.SparseArray(values)})),
    "pandas of Arrow": lambda at, values: as_source(
        pd.DataFrame({"x": pd.Series(pd.arrays.ArrowExtensionArray(pa.chunked_array([column(values)])))})
    ),
    "pandas of Arrow in DuckDB": lambda at, values: sources.duckdb(
        pd.DataFrame({"x": pd.Series(pd.arrays.ArrowExtensionArray(pa.chunked_array([column(values)])))})
    ),
    "Arrow": lambda at, values: as_source(pa.table({"x": column(values)})),
    "polars": lambda at, values: as_source(polars.DataFrame({"x": values})),
    "Parquet of pyarrow": lambda at, values: parquet(at, pa.table({"x": column(values)})),
    "Parquet of polars": by_polars,
    "Parquet with a struct before": lambda at, values: parquet(
        at, pa.table({"s": pa.array([{"y": 1, "x": 1.0}] * len(values)), "x": column(values)})
    ),
}

QUESTIONS = [
    Question.of(Domain.intervals(["0", "1/10", "3/10", "7/10", "1", "65500"], column="x", **FLAGS)),
    Question.of(Domain.intervals([Fraction(place, 10) for place in range(11)], column="x", **FLAGS)),
    Question.of(Domain.intervals([Fraction(place, 10) for place in range(11)], column="x")),
    Question.of(Domain.categories(["0.1", "0.3", "1", "65500", "0.00000006"], column="x", other=True, missing=True)),
    Question.of(Domain.integers(0, 3, column="x", **FLAGS)),
    Question.of(Domain.integers(-2047, 2047, column="x", **FLAGS)),
    Question.of(Domain.integers(0, 3, column="x", **FLAGS), {"x": Between("3/10", "7/10")}),
    Question.of(Domain.integers(0, 3, column="x", **FLAGS), {"x": ["0.1", "1", "0.3"]}),
]


def counts(source: Source, question: Question) -> list[int]:
    source.check(question, Unit("row"), StatisticKind.DENSE)
    found: list[int] = source.count(question, Unit("row"), StatisticKind.DENSE).take().tolist()
    return found


@pytest.mark.parametrize("held", HELD)
def test_half_floats_lie_in_the_bins_of_the_decimals_that_they_print_as(tmp_path: Path, held: str) -> None:
    source = HELD[held](tmp_path, SOME)
    rows = [{"x": value} for value in SOME]
    for question in QUESTIONS:
        kinds = tuple(one for one in source.columns if one.name == "x")
        assert counts(source, question) == reference.count(rows, kinds, question, Unit("row")), question.text


def test_every_half_float_is_counted_alike_by_pandas_and_by_duckdb(tmp_path: Path) -> None:
    edges = [Fraction(place, 1000) for place in range(-1000, 1001, 7)]
    asked = [Question.of(Domain.intervals(edges, column="x", **FLAGS)), *QUESTIONS]
    frame, file = (HELD[held](tmp_path, EVERY) for held in ("pandas", "Parquet of pyarrow"))
    for question in asked:
        assert counts(frame, question) == counts(file, question), question.text


def test_a_wider_float_of_the_same_value_prints_as_another_decimal(tmp_path: Path) -> None:
    """So the tests above could fail, and a file of 32 bits beside one of 16 is no file of the same columns."""
    question = QUESTIONS[0]
    single = as_source(pd.DataFrame({"x": SOME.astype("float32")}))
    assert counts(single, question) != counts(HELD["pandas"](tmp_path, SOME), question)
    pq.write_table(pa.table({"x": column(SOME)}), tmp_path / "1.parquet")
    pq.write_table(pa.table({"x": column(SOME).cast(pa.float32())}), tmp_path / "2.parquet")
    with pytest.raises(SchemaError, match="x, half floats in some and single floats in others"):
        as_source(tmp_path)


@pytest.mark.parametrize(("kind", "value"), [(pa.float16(), 0.1), (pa.decimal256(50), Decimal(1))], ids=str)
def test_a_field_within_a_column_decides_nothing_about_a_column_of_its_name(
    tmp_path: Path, kind: Any, value: Any
) -> None:
    """A decimal of more digits than DuckDB has is refused by its type, and so is not taken for the float beside it."""
    single = pa.array([0.1], pa.float16()).cast(pa.float32())  # prints as 0.09997559
    within = pa.array([{"x": value}], pa.struct([("x", kind)]))
    pq.write_table(pa.table({"s": within, "x": single}), tmp_path / "one.parquet")
    assert counts(as_source(tmp_path / "one.parquet"), QUESTIONS[0])[1:3] == [1, 0]
