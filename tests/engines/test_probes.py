"""A probe says whether the engine is still there: quickly, without reading a row, and by public words."""

from __future__ import annotations

import os
import shutil
import threading
from pathlib import Path
from typing import Any

import duckdb as driver
import ibis
import pandas as pd
import polars
import pytest

import dpviz as dv
from dpviz.engines import as_source, queries, sources
from dpviz.engines.ibis_source import IbisSource
from dpviz.errors import EngineGone, ParameterError
from dpviz.model.domain import Domain
from dpviz.model.question import Question
from dpviz.model.source import Source
from dpviz.model.statistic import Column, DenseCounts, StatisticKind
from dpviz.privacy.unit import Unit
from tests.engines.engines import in_duckdb

FRAME = pd.DataFrame({"x": pd.Series([1, 2, 2], dtype="int64"), "secret": pd.Series(["CANARY"] * 3, dtype="str")})
QUESTION = Question.of(Domain.integers(0, 3, column="x"))


def gone(source: Source) -> EngineGone:
    """The refusal of a probe: public words, and what to do."""
    with pytest.raises(EngineGone) as refused:
        source.probe()
    assert source.engine in str(refused.value) and "Nothing was charged." in str(refused.value)
    assert refused.value.next_step and refused.value.rule
    assert "CANARY" not in "".join(str(entry) for entry in refused.traceback) + str(refused.value)
    return refused.value


def test_every_source_names_its_engine_and_is_found_there() -> None:
    found: list[tuple[Source, str]] = [
        (as_source(FRAME), "pandas"),
        (sources.duckdb(FRAME), "DuckDB"),
        (in_duckdb("CREATE TABLE t AS SELECT 1 AS x", "t"), "DuckDB"),
    ]
    for source, name in found:
        assert source.engine == name
        source.probe()


def test_a_closed_connection_is_found_gone() -> None:
    connection = driver.connect()
    connection.execute("CREATE TABLE t AS SELECT 1 AS x")
    source = sources.duckdb(connection, "t")
    source.probe()
    connection.close()
    assert "does not answer" in str(gone(source))


def test_a_connection_that_is_busy_is_there() -> None:
    """With a result half read, or a query that runs for long."""
    connection = driver.connect()
    connection.execute("CREATE TABLE t AS SELECT 1 AS x")
    source = sources.duckdb(connection, "t")
    half = connection.execute("SELECT range FROM range(1000000)")
    assert half.fetchone() == (0,)
    source.probe()


def test_nothing_is_charged_on_a_connection_whose_transaction_failed(tmp_path: Path) -> None:
    connection = driver.connect()
    connection.execute("CREATE TABLE t AS SELECT 1 AS x")
    held = dv.Session(sources.duckdb(connection, "t"), dv.Unit(), dv.Budget("2"), tmp_path / "ledger")
    connection.execute("BEGIN")
    with pytest.raises(driver.Error):
        connection.execute("SELECT error('CANARY')")
    for ask in (held.plan, held.release):
        with pytest.raises(ParameterError, match="whose transaction failed; end it with ROLLBACK") as refused:
            ask(QUESTION.domain, dv.Dense("1/2"))
        assert "CANARY" not in str(refused.value)
    assert held.ledger.entries() == [] and held.remaining.epsilon == 2
    connection.rollback()  # the advice works
    held.release(QUESTION.domain, dv.Dense("1/2"))
    assert len(held.ledger.entries()) == 1


@pytest.mark.parametrize("what", ["file", "folder", "database"])
def test_a_file_that_went_away_or_was_replaced_is_found_gone(what: str, tmp_path: Path) -> None:
    if what == "database":
        path = tmp_path / "data.duckdb"
        with driver.connect(str(path)) as connection:
            connection.execute("CREATE TABLE t AS SELECT 1 AS x")
        source = sources.duckdb(path, "t")
    else:
        path = tmp_path / "data.parquet"
        FRAME.to_parquet(path)
        source = sources.duckdb(tmp_path if what == "folder" else path)
    source.probe()
    copy = tmp_path / "copy"
    shutil.copyfile(path, copy)
    os.rename(path, tmp_path / "elsewhere")
    assert path.name in str(gone(source))
    os.rename(copy, path)  # the same bytes, and yet not the file that was opened
    assert path.name in str(gone(source))
    os.replace(tmp_path / "elsewhere", path)
    source.probe()


CHANGES = {
    "a column dropped": "ALTER TABLE {0} DROP COLUMN x",
    "another column dropped": "ALTER TABLE {0} DROP COLUMN word",
    "a column renamed": "ALTER TABLE {0} RENAME x TO y",
    "a column of another type": "ALTER TABLE {0} ALTER x TYPE VARCHAR",
    "the table dropped": "DROP TABLE {0}",
    "a view in its place": "DROP TABLE {0}; CREATE VIEW {0} AS SELECT 1 AS x",
}


@pytest.mark.parametrize("change", CHANGES)
def test_a_table_whose_columns_change_while_it_is_open_is_found_before_a_charge(change: str, tmp_path: Path) -> None:
    connection = driver.connect()
    connection.execute("CREATE TABLE t AS SELECT 1 AS x, 'CANARY' AS word")
    source = sources.duckdb(connection, "t")
    held = dv.Session(source, dv.Unit(), dv.Budget("2"), tmp_path / "ledger")
    held.release(QUESTION.domain, dv.Dense("1/2"))
    connection.execute("INSERT INTO t VALUES (2, 'CANARY')")  # rows may change
    held.release(QUESTION.domain, dv.Dense("1/2"), key="more")
    before = held.remaining
    connection.execute(CHANGES[change].format("t"))
    for domain in (QUESTION.domain, dv.Domain.integers(0, 2, column="x")):  # one that was asked before, and a new one
        with pytest.raises(EngineGone, match="Open the session anew|open the session anew"):
            held.release(domain, dv.Dense("1/2"), key="again")
    assert "columns" in str(gone(source))
    assert held.remaining == before


def test_a_table_that_was_copied_keeps_what_it_was() -> None:
    """SQLite's and polars' tables are read once: what becomes of them later changes no count."""
    kept = polars.DataFrame({"x": [1, 2, 2], "secret": ["CANARY"] * 3})
    lite, many = ibis.sqlite.connect(), ibis.polars.connect({"t": kept})
    lite.raw_sql("CREATE TABLE t (x INTEGER, secret TEXT)").close()
    lite.raw_sql("INSERT INTO t VALUES (1, 'CANARY'), (2, 'CANARY'), (2, 'CANARY')").close()
    opened = [sources.ibis(lite.table("t")), sources.ibis(many.table("t"))]
    lite.raw_sql("ALTER TABLE t DROP COLUMN x").close()
    many.create_table("t", polars.DataFrame({"y": [1]}), overwrite=True)
    for source in opened:
        source.probe()
        assert source.count(QUESTION, Unit("row"), StatisticKind.DENSE).take().tolist() == [0, 1, 2, 0]  # type: ignore[attr-defined]
    lite.disconnect()


def test_a_probe_reads_no_row() -> None:
    """A view over values that cannot be read: every row of it would end the query."""
    connection = driver.connect()
    connection.execute("CREATE VIEW t AS SELECT error('CANARY')::INTEGER AS x FROM range(3)")
    source = sources.duckdb(connection, "t")
    source.probe()


@pytest.mark.parametrize("busy", [False, True])
def test_an_engine_that_never_answers_is_given_up_within_seconds(busy: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Busy with a query, an engine does not tell its columns, and answers on another connection or does not."""
    source = sources.duckdb(FRAME)
    assert isinstance(source, IbisSource)
    monkeypatch.setattr(queries, "ANSWERS", 0.2)
    over = threading.Event()
    monkeypatch.setattr(type(source._engine), "shape", lambda engine, table: None if busy else over.wait())
    monkeypatch.setattr(type(source._engine), "touch", lambda engine: over.wait())
    assert "does not answer" in str(gone(source))
    over.set()


class Own:
    """A stranger's source, with a probe or without one."""

    name, columns = "own", (Column("x", "number"),)

    def check(self, *asked: Any) -> None:
        return None

    def count(self, *asked: Any) -> DenseCounts:
        raise AssertionError("nobody counts here")


def test_a_strangers_source_is_asked_by_its_own_probe() -> None:
    without = as_source(Own())
    without.probe()
    assert without.engine == "Own"

    class Away(Own):
        engine = "a warehouse"

        def probe(self) -> None:
            raise EngineGone.of("a warehouse", "it must be there", "open it")

    away = as_source(Away())
    assert away.engine == "a warehouse"
    with pytest.raises(EngineGone):
        away.probe()


def test_a_probe_leaves_a_source_as_it_was() -> None:
    source = sources.duckdb(FRAME)
    for _ in range(3):
        source.probe()
        counts = source.count(QUESTION, Unit(), StatisticKind.DENSE)
        assert isinstance(counts, DenseCounts) and counts.take().tolist() == [0, 1, 2, 0]
