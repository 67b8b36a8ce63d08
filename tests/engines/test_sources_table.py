"""Each row of the tour's table of sources opens real data of that kind, as the row writes it, and counts it.

The row of Spark is opened in `tests/engines/test_spark.py`, where a cluster runs.
"""

from __future__ import annotations

import re
import sqlite3
import warnings
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import Any

import duckdb
import ibis
import pandas as pd
import polars
import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.dataset as pa_dataset  # type: ignore[import-untyped]
import pytest
from deltalake import write_deltalake

import dpviz as dv
from tests.engines import lake
from tests.engines.server import on_postgres
from tests.ledger.server import Server
from tools.snippets import README, TOUR

FRAME = pd.DataFrame({"visits": [0, 1, 1, 2], "place": ["a", "b", "b", "c"]})
VISITS = dv.Question.of(dv.Domain.integers(0, 2, column="visits"))


def rows() -> dict[str, str]:
    """The rows of the table: what the data are, and how they are opened."""
    found = re.search(r"\| data \| written as \| needs \|\n\|[-|]+\|\n((?:\|.*\n)+)", TOUR.read_text())
    assert found is not None
    cells = [[cell.strip() for cell in row.strip("|\n").split("|")] for row in found[1].splitlines()]
    return {data: written for data, written, _ in cells}


def parquet(folder: Path) -> Path:
    FRAME.to_parquet(folder / "flights.parquet")
    return folder / "flights.parquet"


def text(folder: Path) -> Path:
    FRAME.to_csv(folder / "flights.csv", index=False)
    return folder / "flights.csv"


def delta(folder: Path) -> Path:
    write_deltalake(folder / "flights", pa.Table.from_pandas(FRAME, preserve_index=False))
    write_deltalake(folder / "flights", pa.Table.from_pandas(FRAME, preserve_index=False), mode="overwrite")
    return folder / "flights"


def iceberg(folder: Path) -> Path:
    table = lake.iceberg(folder, pa.Schema.from_pandas(FRAME, preserve_index=False))
    table.append(pa.Table.from_pandas(FRAME, preserve_index=False))
    table.overwrite(pa.Table.from_pandas(FRAME, preserve_index=False))
    return lake.place_of(table)


def folders(folder: Path) -> Any:
    pa_dataset.write_dataset(
        pa.Table.from_pandas(FRAME, preserve_index=False),
        folder / "flights",
        format="parquet",
        partitioning=pa_dataset.partitioning(pa.schema([("visits", pa.int64())]), flavor="hive"),
    )
    return dv.sources.duckdb(folder / "flights", hive={"visits": "integer"})


def database(folder: Path) -> Any:
    given = FRAME
    with duckdb.connect(str(folder / "flights.duckdb")) as connection:
        connection.execute("CREATE TABLE flights AS SELECT * FROM given")
    assert len(given) == 4
    return dv.sources.duckdb(folder / "flights.duckdb", table="flights")


def lite(folder: Path) -> Any:
    with sqlite3.connect(folder / "flights.sqlite") as connection:
        FRAME.to_sql("flights", connection, index=False)
    connection.close()
    return dv.sources.ibis(ibis.sqlite.connect(folder / "flights.sqlite").table("flights"))


def frames(folder: Path) -> Any:
    return dv.sources.ibis(ibis.polars.connect({"flights": polars.from_pandas(FRAME)}).table("flights"))


def memory(folder: Path) -> Any:
    backend = ibis.duckdb.connect()
    backend.con.register("given", pa.Table.from_pandas(FRAME, preserve_index=False))
    backend.con.execute("CREATE TABLE flights AS SELECT * FROM given")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of packages that do not know each other's versions
        return dv.sources.ibis(backend.table("flights"))


OPENED: dict[str, dict[str, Callable[[Path], Any]]] = {
    "pandas": {"frame": lambda _: FRAME},
    "polars, Arrow": {
        "polars": lambda _: polars.from_pandas(FRAME),
        "Arrow": lambda _: pa.Table.from_pandas(FRAME, preserve_index=False),
    },
    "Parquet, CSV, a DuckDB database": {
        "Parquet": parquet,
        "Parquet, by its own function": lambda folder: dv.sources.duckdb(parquet(folder)),
        "CSV": text,
        "database": database,
    },
    "a Delta table (deltalake 1.6), an Iceberg table (pyiceberg 0.12)": {"Delta": delta, "Iceberg": iceberg},
    "folders `year=2020/` of Parquet files": {"hive": folders},
    "PostgreSQL (tested with 15), SQLite (3.40), polars (2.1), through Ibis": {"SQLite": lite, "polars": frames},
    "any other engine of Ibis": {"DuckDB": memory},
}
ELSEWHERE = {
    "Spark, on a cluster": "tests/engines/test_spark.py",
    "SPSS, Stata, SAS, Excel, R": "tests/readme/test_files_page.py",
}
CASES = [(name, make) for row in OPENED.values() for name, make in row.items()]


def test_every_row_is_opened() -> None:
    assert set(rows()) == {*OPENED, *ELSEWHERE}
    for place in ELSEWHERE.values():
        assert (README.parent / place).exists()


@pytest.mark.parametrize("make", [make for _, make in CASES], ids=[name for name, _ in CASES])
def test_data_of_a_kind_are_opened_planned_paid_and_counted(make: Callable[[Path], Any], tmp_path: Path) -> None:
    opens(make(tmp_path), tmp_path)


def opens(data: Any, folder: Path) -> None:
    """A session as the README begins one; epsilon is so large that the values are the counts."""
    session = dv.Session(data, dv.Unit("row"), dv.Budget(100), folder / "flights.ledger")
    release = session.release(VISITS, dv.Dense(100))
    assert [release[value] for value in range(3)] == [1, 2, 1]  # another one comes less often than once in 10^40
    assert session.remaining.epsilon == 0


def test_a_table_of_postgresql_is_opened(server: Server, tmp_path: Path) -> None:
    opens(on_postgres(server)(FRAME, "flights", None), tmp_path)


def test_the_versions_are_those_that_are_tested(server: Server) -> None:
    row = ", ".join(data for data in rows() if data.startswith(("PostgreSQL", "a Delta table")))
    with server.connect() as connection:
        ((asked,),) = connection.execute("SHOW server_version").fetchall()
    found = {
        "PostgreSQL (tested with {})": asked,
        "SQLite ({})": sqlite3.sqlite_version,
        "polars ({})": polars.__version__,
        "Delta table (deltalake {})": version("deltalake"),
        "Iceberg table (pyiceberg {})": version("pyiceberg"),
    }
    for words, installed in found.items():
        said = re.search(re.escape(words).replace(r"\{\}", r"([\d.]+)"), row)
        assert said is not None and (installed + ".").startswith(said[1] + "."), words
