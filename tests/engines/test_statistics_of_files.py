"""Rows are counted, and not what a file says of them.

Statistics of Parquet files leave NaN out, and a writer may leave them wrong. Each file is counted as the reference
counts its rows, and one more row moves a count by its weight and no further.
"""

from __future__ import annotations

import datetime
import re
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import duckdb as driver
import ibis
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import dpviz as dv
from dpviz.engines import as_source, queries, sources
from dpviz.errors import ParameterError, ReleaseFailed
from dpviz.model.domain import Domain
from dpviz.model.question import Between, Question
from dpviz.model.source import Source
from dpviz.model.statistic import StatisticKind, Top
from dpviz.privacy.unit import Unit
from tests.engines import lying, reference

ROW = Unit()
USERS = Unit("user", max_bins=2, max_per_bin=3, max_records=5)


def frame(extra: float | None = None, single: bool = False) -> pd.DataFrame:
    """Forty numbers below 5, a thousand NaN, and perhaps one number more."""
    values = [*(number % 5 for number in range(40)), *[np.nan] * 1000, *([] if extra is None else [extra])]
    return pd.DataFrame(
        {
            "c": np.array(values, dtype="float32" if single else "float64"),
            "user": np.array([number % 7 for number in range(len(values))], dtype="int64"),
            "group": np.array([number % 3 for number in range(len(values))], dtype="int64"),
        }
    )


BESIDE: dict[str, Any] = {"underflow": True, "overflow": True, "missing": True}
GROUPS = Domain.integers(0, 2, column="group")
TOTAL = Question.sum("c", by=GROUPS, low=0, high=10, step="1")
QUESTIONS = [
    Question.of(GROUPS, {"c": Between(high=5)}),
    Question.of(GROUPS, {"c": Between(0, 10)}),
    Question.of(GROUPS, {"c": Between(low=2)}),
    Question.of(GROUPS, {"c": ["1", "4"]}),
    Question.of(Domain.intervals([0, 1, 2, 3, 4, 5], column="c")),
    Question.of(Domain.intervals([0, 1, 2, 3, 4, 5], column="c", **BESIDE)),
    Question.of(Domain.intervals([0, "0.5", 3, 5], column="c")),
    Question.of(Domain.intervals([0, "0.5", 3, 5], column="c", **BESIDE)),
    Question.of(Domain.integers(0, 4, column="c")),
    Question.of(Domain.integers(1, 3, column="c", **BESIDE)),
    Question.of(Domain.categories(["0", "3"], column="c", other=True, missing=True)),
    Question.of(Domain.integers(0, 4, column="c", overflow=True) * GROUPS),
    TOTAL,
]


def by_pyarrow(data: pd.DataFrame, path: Path) -> None:
    pq.write_table(pa.Table.from_pandas(data, preserve_index=False), path)


def by_pyarrow_in_groups(data: pd.DataFrame, path: Path) -> None:
    table = pa.Table.from_pandas(data, preserve_index=False)
    order = [pq.SortingColumn(0)]
    pq.write_table(table, path, row_group_size=30, write_page_index=True, sorting_columns=order)


def by_polars(data: pd.DataFrame, path: Path) -> None:
    pl.from_pandas(data).with_columns(pl.Series("c", data["c"].to_numpy())).write_parquet(path)


def by_duckdb(data: pd.DataFrame, path: Path) -> None:
    table = pa.table({name: column.to_numpy() for name, column in data.items()})
    with driver.connect() as connection:
        connection.register("given", table)
        connection.execute(f"COPY given TO '{path}' (FORMAT PARQUET)")


WRITERS: list[Callable[[pd.DataFrame, Path], None]] = [by_pyarrow, by_pyarrow_in_groups, by_polars, by_duckdb]


def kept_nan(writer: Callable[[pd.DataFrame, Path], None], data: pd.DataFrame, path: Path) -> None:
    """Write a file, and see that NaN stayed NaN in it."""
    writer(data.assign(c=data["c"].astype("float64" if data["c"].dtype == np.float64 else "float32")), path)
    held = pq.read_table(path)["c"]
    if held.null_count:  # pandas hands its NaN over as missing
        table = pa.table({name: column.to_numpy() for name, column in data.items()})
        pq.write_table(table, path, row_group_size=30 if writer is by_pyarrow_in_groups else 10**6)
        held = pq.read_table(path)["c"]
    assert held.null_count == 0 and np.isnan(held.to_numpy()).sum() == 1000


def plainly(source: Source, data: pd.DataFrame, question: Question, unit: Unit) -> list[int]:
    """The counts of a frame by the reference, and its sums by hand."""
    if question is not TOTAL:
        return reference.count(reference.rows_of(data), source.columns, question, unit)
    assert unit is ROW
    there = data[~data["c"].isna()]
    return [int(sum(min(max(one, 0), 10) for one in there["c"][there["group"] == group])) for group in range(3)]


def counted(source: Source, question: Question, unit: Unit) -> list[int]:
    source.check(question, unit, StatisticKind.DENSE)
    found: Any = source.count(question, unit, StatisticKind.DENSE)
    return list(found.take().tolist())


@pytest.mark.parametrize("single", [False, True], ids=["double", "single"])
@pytest.mark.parametrize("writer", WRITERS)
def test_nan_in_a_file_is_counted_row_by_row(writer: Any, single: bool, tmp_path: Path) -> None:
    before, after = frame(single=single), frame(6, single)
    held = []
    for number, data in enumerate((before, after)):
        path = tmp_path / f"{number}.parquet"
        kept_nan(writer, data, path)
        held.append(as_source(path))
    for number, question in enumerate(QUESTIONS):
        unit = USERS if number % 4 == 0 and question is not TOTAL else ROW
        found = [counted(source, question, unit) for source in held]
        for source, data, counts in zip(held, (before, after), found, strict=True):
            assert counts == plainly(source, data, question, unit), (question.text, unit.text)
        weight = 10 if question is TOTAL else 6 if unit is USERS else 1
        assert np.abs(np.subtract(*found)).max() <= weight, question.text


def test_the_filter_of_the_report_moves_by_one_row(tmp_path: Path) -> None:
    for extra, expected in ((None, 40), (6, 40), (4, 41)):
        kept_nan(by_pyarrow, frame(extra), tmp_path / "rows.parquet")
        assert sum(counted(as_source(tmp_path / "rows.parquet"), QUESTIONS[0], ROW)) == expected


DAY = datetime.date(2020, 1, 1)


def typed(kind: str, low: bool) -> pa.Array:
    """Forty values that a file's statistics know, and a thousand that they do not: or all that they know."""
    first, other = {
        "int64": (1, 70_000_001),
        "int32": (1, 70_001),
        "int8": (1, 101),
        "uint64": (1, 2**63 + 1),
        "double": (1.0, 1e300),
        "float": (1.0, 7e6),
        "string": ("aaa", "zzz"),
        "large_string": ("aaa", "zzz"),
        "bool_": (False, True),
        "date32": (DAY, datetime.date(2024, 5, 5)),
        "timestamp": (datetime.datetime(2020, 1, 1), datetime.datetime(2024, 5, 5)),
    }[kind]
    made = (
        pa.timestamp("us")
        if kind == "timestamp"
        else getattr(pa, {"double": "float64", "float": "float32"}.get(kind, kind))()
    )
    return pa.array([*[first] * 40, *[first if low else other] * 1000], made)


def asked_of(kind: str) -> Iterator[Question]:
    """Questions for a column `c` of a type."""
    if kind in ("date32", "timestamp"):
        months = Domain.times("2020", "2025", by="year", column="c", **BESIDE)
        yield Question.of(months)
        yield Question.of(Domain.times("2020", "2021", by="month", column="c"))
        yield Question.of(GROUPS, {"c": Between("2023-01-01", "2025-01-01")})
        return
    label = {"string": "zzz", "large_string": "zzz", "bool_": "True"}.get(kind)
    if label is not None:
        yield Question.of(Domain.categories([label], column="c", other=True, missing=True))
        yield Question.of(Domain.categories([label], column="c"))
        yield Question.of(GROUPS, {"c": [label]})
        return
    yield Question.of(Domain.integers(0, 9, column="c", **BESIDE))
    yield Question.of(Domain.integers(0, 9, column="c"))
    yield Question.of(Domain.intervals([0, 3, 9, 200], column="c", **BESIDE))
    yield Question.of(Domain.intervals([0, 3, 6, 9], column="c"))
    yield Question.of(GROUPS, {"c": Between(low=5)})
    yield Question.of(GROUPS, {"c": Between(high=5)})
    yield Question.of(GROUPS, {"c": ["1"]})
    yield Question.sum("c", by=GROUPS, low=0, high=10, step="1")


KINDS = (
    "int64",
    "int32",
    "int8",
    "uint64",
    "double",
    "float",
    "string",
    "large_string",
    "bool_",
    "date32",
    "timestamp",
)


def liar(kind: str, path: Path) -> pd.DataFrame:
    """A file of which the statistics leave a thousand rows out, and its rows."""
    beside = {"user": pa.array(range(1040)), "group": pa.array([number % 3 for number in range(1040)])}
    rows, said = (pa.table({"c": typed(kind, low), **beside}) for low in (False, True))
    lying.rows_under_another_footer(rows, said, path)
    found = pd.DataFrame(rows.to_pandas())
    return found.assign(c=pd.to_datetime(found["c"])) if kind == "date32" else found


@pytest.mark.parametrize("kind", KINDS)
def test_rows_decide_whatever_the_statistics_of_a_file_say(kind: str, tmp_path: Path) -> None:
    data = liar(kind, tmp_path / "rows.parquet")
    source, rows = as_source(tmp_path / "rows.parquet"), as_source(data)
    for question in asked_of(kind):
        assert counted(source, question, ROW) == counted(rows, question, ROW), question.text
    assert counted(source, question, Unit("user", max_bins=1)) == counted(rows, question, Unit("user", max_bins=1))
    if kind not in ("double", "float", "date32", "timestamp"):
        keys = Question.of(Domain.keys(column="c"))
        for unit in (ROW, Unit("user", max_bins=1)):
            found = [one.count(keys, unit, Top(3)).take() for one in (source, rows)]  # type: ignore[attr-defined]
            assert list(found[0][0]) == list(found[1][0]) and found[0][1].tolist() == found[1][1].tolist() == [1000, 40]


def test_a_file_may_say_that_nothing_is_missing_and_be_wrong(tmp_path: Path) -> None:
    """Also where its schema and its user column are concerned: a row without a user counts for nobody."""
    path = tmp_path / "rows.parquet"
    data = pd.DataFrame({"c": pd.Series([None] * 40 + ["a"] * 60, dtype="str"), "x": [1] * 100})
    lying.written(pa.Table.from_pandas(data, preserve_index=False), path)
    lying.no_missing_values(path, 0, 40)
    source = as_source(path)
    domain = Domain.categories(["a"], column="c", missing=True)
    assert counted(source, Question.of(domain), ROW) == [60, 40]
    assert counted(source, Question.of(Domain.integers(1, 1, column="x")), Unit("c", max_bins=1)) == [1]


# ---------------------------------------------------------------- files in a connection of somebody's own


def own(tmp_path: Path) -> driver.DuckDBPyConnection:
    kept_nan(by_pyarrow, frame(), tmp_path / "rows.parquet")
    connection = driver.connect()
    connection.execute(f"CREATE VIEW files AS SELECT * FROM '{tmp_path / 'rows.parquet'}'")
    connection.execute('CREATE VIEW cut AS SELECT c + 1 AS c, "group" FROM files WHERE c > 30')
    connection.execute("CREATE TABLE held AS SELECT * FROM files")
    connection.execute("CREATE VIEW above AS SELECT * FROM held WHERE c > 1e9")
    connection.execute("CREATE VIEW beside AS SELECT held.* FROM held JOIN files USING (user)")
    return connection


@pytest.mark.parametrize("table", ["files", "cut", "beside"])
def test_files_in_a_connection_of_ones_own_are_refused_until_its_optimizers_are_off(table: str, tmp_path: Path) -> None:
    """The advice is followed; and whoever takes it back is told before a charge."""
    connection = own(tmp_path)
    with pytest.raises(ParameterError, match="may not answer from what the file says of them") as refused:
        sources.duckdb(connection, table)
    found = re.search(r'connection\.execute\("(.*)"\)', str(refused.value.next_step))
    assert found is not None
    connection.execute(found[1])
    source = sources.duckdb(connection, table)
    question = Question.of(GROUPS, {"c": Between(low=31)})
    assert counted(source, question, ROW) == [0, 0, 0]
    connection.execute("RESET disabled_optimizers")
    with pytest.raises(ParameterError, match="may not answer from what the file says of them"):
        source.check(question, ROW, StatisticKind.DENSE)


def test_an_optimizer_that_comes_back_after_the_check_ends_the_release(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    connection = own(tmp_path)
    connection.execute("SET enable_optimizer = false")
    source = sources.duckdb(connection, "files")
    connection.execute("SET enable_optimizer = true")
    monkeypatch.setattr(type(source), "_looks_at_rows", lambda source: None)
    with pytest.raises(ReleaseFailed):
        source.count(QUESTIONS[0], ROW, StatisticKind.DENSE)


def test_tables_of_duckdb_are_counted_with_all_of_its_optimizers(tmp_path: Path) -> None:
    """It describes them itself, NaN included; a view over them that is empty today is no other thing than tomorrow."""
    connection = own(tmp_path)
    source = sources.duckdb(connection, "held")
    expected = [counted(as_source(frame()), question, ROW) for question in QUESTIONS]
    assert [counted(source, question, ROW) for question in QUESTIONS] == expected
    assert counted(sources.duckdb(connection, "above"), Question.of(GROUPS), ROW) == [333, 334, 333]
    assert connection.execute("SELECT current_setting('disabled_optimizers')").fetchall() == [("",)]
    assert connection.execute("SELECT current_setting('explain_output')").fetchall() == [("PHYSICAL_ONLY",)]
    with driver.connect(str(tmp_path / "held.duckdb")) as other:
        other.register("given", pa.table({name: column.to_numpy() for name, column in frame().items()}))
        other.execute("CREATE TABLE t AS SELECT * FROM given")
        other.execute(f"CREATE VIEW files AS SELECT * FROM '{tmp_path / 'rows.parquet'}'")
    attached = sources.duckdb(tmp_path / "held.duckdb", "t")
    assert [counted(attached, question, ROW) for question in QUESTIONS] == expected
    with pytest.raises(ParameterError, match="may not answer from what the file says of them"):
        sources.duckdb(tmp_path / "held.duckdb", "files")


def test_ibis_tables_over_files_are_refused_and_tables_in_memory_are_not(tmp_path: Path) -> None:
    path = tmp_path / "rows.parquet"
    kept_nan(by_pyarrow, frame(), path)
    duck, polars = ibis.duckdb.connect(), ibis.polars.connect()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of packages that do not know each other's versions
        read = duck.read_parquet(path)
    for table in (read, read.filter(ibis._.c > 3), polars.read_parquet(path)):
        with pytest.raises(ParameterError, match="give dpviz the path of the files"):
            sources.ibis(table)
    held = pa.table({name: column.to_numpy() for name, column in frame().items()})
    for table in (ibis.memtable(held), ibis.memtable(held).mutate(d=ibis._.c), polars.create_table("held", held)):
        assert counted(sources.ibis(table), QUESTIONS[0], ROW) == counted(as_source(frame()), QUESTIONS[0], ROW)


def test_every_optimizer_that_looks_at_more_than_the_query_is_off_where_files_are_read(tmp_path: Path) -> None:
    kept_nan(by_pyarrow, frame(), tmp_path / "rows.parquet")
    source: Any = sources.duckdb(tmp_path / "rows.parquet")
    connection = source._engine._backend.con
    ((off,),) = connection.execute("SELECT current_setting('disabled_optimizers')").fetchall()
    known = {name for (name,) in connection.execute("SELECT name FROM duckdb_optimizers()").fetchall()}
    assert known - set(off.split(",")) <= queries.LOOK_AT_THE_QUERY
    assert {"statistics_propagation", "filter_pushdown", "row_group_pruner"} <= set(off.split(","))


def test_a_session_on_such_a_file_shows_the_rows(tmp_path: Path) -> None:
    kept_nan(by_pyarrow, frame(), tmp_path / "rows.parquet")
    session = dv.Session(tmp_path / "rows.parquet", dv.Unit(), dv.Budget(2000), tmp_path / "ledger")
    release = session.release(QUESTIONS[0], dv.Dense(1000))
    assert [int(value) for value in release.values] == counted(as_source(frame()), QUESTIONS[0], ROW)
