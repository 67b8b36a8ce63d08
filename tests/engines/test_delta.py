"""Delta tables that the package deltalake wrote: the rows of their version, and no row that was deleted or replaced."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable, write_deltalake

import dpviz as dv
from dpviz.engines import sources
from dpviz.errors import DpvizError, EngineGone, ParameterError, SchemaError
from tests.engines import lake

X = dv.Domain.integers(0, 9, column="x", missing=True)


def counted(data: Any, domain: dv.Domain = X) -> dict[str, int]:
    """Counts that are not 0, by a release whose noise is next to none."""
    release = dv.teaching(data, seed=1).draw(domain, dv.Dense(100))
    return {label: value for label, value in zip(release.labels, release.values, strict=True) if value}


def rows(*values: int | None) -> Any:
    return pa.table({"x": pa.array(values, pa.int64())})


@pytest.mark.parametrize("name", ["visits", "a b", "ö", "a#b", "x'y", "report[1]", "a?b"])
def test_the_rows_of_the_version_are_counted_and_no_old_copies(tmp_path: Path, name: str) -> None:
    folder, first = tmp_path / name, tmp_path / "written here"
    write_deltalake(first, rows(1, 2, 2, 3))
    write_deltalake(first, rows(3, 4), mode="append")
    DeltaTable(first).delete("x = 2")
    DeltaTable(first).update(updates={"x": "7"}, predicate="x = 4")
    first.rename(folder)
    assert counted(folder) == {"1": 1, "3": 2, "7": 1}
    assert sum(len(pq.read_table(file)) for file in folder.glob("*.parquet")) > 4
    write_deltalake(first, rows(9))
    (first / "stray.parquet").write_bytes(next(first.glob("*.parquet")).read_bytes())
    assert counted(first) == {"9": 1}


def test_a_folder_that_the_reader_takes_for_another_is_refused(tmp_path: Path) -> None:
    for name in ("a b", "a c"):
        write_deltalake(tmp_path / name, rows(1))
    (tmp_path / "a c").rename(tmp_path / "a%20b")
    with pytest.raises(ParameterError, match="takes a folder for another one"):
        dv.sources.duckdb(tmp_path / "a%20b")


def test_a_session_on_the_folder_counts_its_version(tmp_path: Path) -> None:
    write_deltalake(tmp_path / "visits", rows(1, 1, 2))
    session = dv.Session(tmp_path / "visits", dv.Unit("row"), dv.Budget(100), tmp_path / "visits.ledger")
    write_deltalake(tmp_path / "visits", rows(1, 5), mode="append")
    release = session.release(dv.Domain.integers(0, 5, column="x"), dv.Dense(100))
    assert release.values == [0, 2, 1, 0, 0, 0]
    assert counted(tmp_path / "visits") == {"1": 3, "2": 1, "5": 1}


def test_files_that_were_vacuumed_are_missed_before_a_charge(tmp_path: Path) -> None:
    write_deltalake(tmp_path / "visits", rows(1, 1, 2))
    session = dv.Session(tmp_path / "visits", dv.Unit("row"), dv.Budget(1), tmp_path / "visits.ledger")
    write_deltalake(tmp_path / "visits", rows(1, 5), mode="overwrite")
    DeltaTable(tmp_path / "visits").vacuum(0, dry_run=False, enforce_retention_duration=False)
    with pytest.raises(EngineGone, match="no longer the file that was opened"):
        session.release(X, dv.Dense(1))
    assert session.remaining.epsilon == 1


def test_rows_that_a_vector_deletes_are_not_counted(tmp_path: Path) -> None:
    folder = tmp_path / "a b"
    write_deltalake(folder, rows(*range(8)))
    write_deltalake(folder, rows(1, 9), mode="append")
    lake.delete_places(folder, [1, 3, 7])
    assert counted(folder) == dict.fromkeys("024569", 1) | {"1": 1}
    lake.delete_places(folder, [0], file=1)
    assert counted(folder) == dict.fromkeys("024569", 1)


def test_partition_columns_hold_what_the_log_says(tmp_path: Path) -> None:
    labels = ["a b/c", "ö=", "%", "x'y", None, "1"]
    table = pa.table({"x": range(6), "year": [2020, 2020, 2021, None, 2021, 2021], "place name": labels})
    write_deltalake(tmp_path / "visits", table, partition_by=["year", "place name"])
    folder = tmp_path / "moved"
    (tmp_path / "visits").rename(folder)
    assert [(one.name, one.kind) for one in dv.sources.duckdb(folder).columns] == [
        ("x", "number"), ("year", "number"), ("place name", "text"),
    ]  # fmt: skip
    years = dv.Domain.integers(2020, 2021, column="year", missing=True)
    assert counted(folder, years) == {"2020": 2, "2021": 3, "missing": 1}
    at = dv.Domain.categories([one for one in labels if one], column="place name", missing=True)
    assert counted(folder, at) == {str(one or "missing"): 1 for one in labels}
    asked = dv.Question.of(X, where={"place name": ["%", "1"], "year": dv.Between(2021, 2021)})
    assert sum(dv.teaching(folder, seed=1).draw(asked, dv.Dense(100)).values) == 2
    for part in folder.glob("year=*"):
        with pytest.raises(ParameterError, match="inside a Delta table"):
            dv.sources.duckdb(part, hive={"place name": "text"})
    with pytest.raises(ParameterError, match="are those that it declares itself"):
        dv.sources.duckdb(folder, hive={"year": "integer", "place name": "text"})


def test_a_column_that_came_later_is_missing_in_older_files(tmp_path: Path) -> None:
    write_deltalake(tmp_path / "visits", rows(1, 2))
    later = pa.table({"x": [3], "place": ["a"]})
    write_deltalake(tmp_path / "visits", later, mode="append", schema_mode="merge")
    place = dv.Domain.categories(["a"], column="place", missing=True)
    assert counted(tmp_path / "visits", place) == {"a": 1, "missing": 2}
    DeltaTable(tmp_path / "visits").delete("x = 3")
    assert counted(tmp_path / "visits", place) == {"missing": 2}


def test_a_table_without_rows_has_its_columns(tmp_path: Path) -> None:
    schema = pa.schema([("x", pa.int64()), ("of", pa.string()), ("l", pa.list_(pa.int8()))])
    DeltaTable.create(tmp_path / "visits", schema)
    source = dv.sources.duckdb(tmp_path / "visits")
    assert [column.name for column in source.columns] == ["x", "of", "l"]
    assert counted(source) == {}


def edited(folder: Path, change: Callable[[dict[str, Any]], None]) -> Path:
    """The table once something in its log was changed."""
    for file in (folder / "_delta_log").glob("*.json"):
        actions = [json.loads(line) for line in file.read_text().splitlines()]
        for action in actions:
            change(action)
        file.write_text("".join(json.dumps(action) + "\n" for action in actions))
    return folder


@pytest.mark.parametrize("lie", [{"minValues": {"f": 5.0}, "maxValues": {"f": 5.0}}, {"numRecords": 0}, {}])
def test_what_the_log_says_of_values_moves_no_count(tmp_path: Path, lie: dict[str, Any]) -> None:
    def change(action: dict[str, Any]) -> None:
        if "add" in action:
            action["add"]["stats"] = json.dumps({**json.loads(action["add"]["stats"]), **lie})

    values = pa.table({"f": [float("nan"), 0.5, 2.5, 9.0] * 50})
    write_deltalake(tmp_path / "visits", values)
    bins = dv.Domain.intervals([0, 1, 3, 10], column="f", missing=True)
    filtered = dv.Question.of(bins, where={"f": dv.Between(0, 3)})
    data = edited(tmp_path / "visits", change)
    assert counted(data, bins) == {"0 to below 1": 50, "1 to below 3": 50, "3 to 10": 50, "missing": 50}
    assert dv.teaching(data, seed=1).draw(filtered, dv.Dense(100)).values == [50, 50, 0, 0]


def test_instants_are_refused_however_they_are_written(tmp_path: Path) -> None:
    """A Delta `timestamp` is an instant; Spark writes it as INT96."""
    times = pa.array([0], pa.timestamp("us", "UTC"))
    write_deltalake(tmp_path / "visits", pa.table({"t": times}))
    months = dv.Domain.times("1970-01", "1970-02", by="month", column="t")
    for written in ("microseconds", "INT96"):
        if written == "INT96":
            (file,) = (tmp_path / "visits").glob("*.parquet")
            plain = pa.table({"t": pa.array([0], pa.timestamp("ns"))})
            pq.write_table(plain, file, use_deprecated_int96_timestamps=True)
        with pytest.raises(SchemaError, match="without a zone"):
            counted(tmp_path / "visits", months)


def test_a_file_of_another_type_than_the_log_declares_is_refused(tmp_path: Path) -> None:
    write_deltalake(tmp_path / "visits", rows(1, 2))
    (file,) = (tmp_path / "visits").glob("*.parquet")
    pq.write_table(pa.table({"x": ["CANARY"]}), file)
    with pytest.raises(SchemaError, match="must hold the types that it declares") as refused:
        dv.sources.duckdb(tmp_path / "visits")
    assert "CANARY" not in str(refused.value)


def mapped(folder: Path) -> None:
    def change(action: dict[str, Any]) -> None:
        if "metaData" in action:
            action["metaData"]["configuration"] = {"delta.columnMapping.mode": "name"}

    edited(folder, change)


def featured(folder: Path) -> None:
    lake.commit(folder, lake.with_features("typeWidening"))


def elsewhere(folder: Path) -> None:
    def change(action: dict[str, Any]) -> None:
        if "add" in action:
            action["add"]["path"] = "s3://somewhere/else.parquet"

    edited(folder, change)


def broken(folder: Path) -> None:
    (folder / "_delta_log" / f"{0:020d}.json").write_text("{}")


def gone(folder: Path) -> None:
    next(folder.glob("*.parquet")).unlink()


@pytest.mark.parametrize(
    ("spoil", "words"),
    [
        (mapped, "without these features|one that deltalake reads"),
        (featured, "without these features|one that deltalake reads"),
        (elsewhere, "on this machine"),
        (broken, "one that deltalake reads"),
        (gone, "where it says that they are"),
    ],
)
def test_a_table_that_is_not_read_as_it_is_meant_is_refused(
    tmp_path: Path, spoil: Callable[[Path], None], words: str
) -> None:
    write_deltalake(tmp_path / "visits", rows(1, 2))
    spoil(tmp_path / "visits")
    with pytest.raises(ParameterError, match=words) as refused:
        dv.sources.duckdb(tmp_path / "visits")
    assert refused.value.next_step and str(tmp_path) not in str(refused.value)


def test_without_the_package_the_extra_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_deltalake(tmp_path / "visits", rows(1))
    monkeypatch.setitem(sys.modules, "deltalake", None)
    with pytest.raises(DpvizError, match="a Delta table, which is read through the package deltalake") as refused:
        dv.sources.duckdb(tmp_path / "visits")
    assert refused.value.next_step == 'pip install "dpviz[delta]"'


def test_the_rows_stay_in_the_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tables of the engine hold a row for each file and for each deleted row, however many rows there are."""
    opened = []
    made = sources._own
    monkeypatch.setattr(sources, "_own", lambda: opened.append(made()) or opened[-1])
    table = pa.table({"x": np.arange(10_000) % 10, "part": np.arange(10_000) % 3})
    write_deltalake(tmp_path / "visits", table, partition_by=["part"])
    lake.delete_places(tmp_path / "visits", [0, 1])
    source = dv.sources.duckdb(tmp_path / "visits")
    held = opened[-1].con.execute("SELECT sum(estimated_size) FROM duckdb_tables()").fetchall()
    assert held == [(3 + 2,)]
    assert sum(counted(source).values()) == 9_998
