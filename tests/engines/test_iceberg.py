"""Iceberg tables that the package pyiceberg wrote: the rows of their snapshot, by the numbers of their columns."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyiceberg.types import LongType, StringType

import dpviz as dv
from dpviz.errors import DpvizError, ParameterError, SchemaError
from tests.engines import lake

X = dv.Domain.integers(0, 9, column="x", missing=True)
SCHEMA = pa.schema([("x", pa.int64())])


def counted(data: Any, domain: dv.Domain = X) -> dict[str, int]:
    """Counts that are not 0, by a release whose noise is next to none."""
    release = dv.teaching(data, seed=1).draw(domain, dv.Dense(100))
    return {label: value for label, value in zip(release.labels, release.values, strict=True) if value}


def rows(*values: int | None) -> Any:
    return pa.table({"x": pa.array(values, pa.int64())})


def metadata(table: Any) -> Path:
    return Path(table.metadata_location.removeprefix("file://"))


def test_the_rows_of_the_snapshot_are_counted_and_no_old_copies(tmp_path: Path) -> None:
    table = lake.iceberg(tmp_path, SCHEMA)
    assert counted(lake.place_of(table)) == {}
    table.append(rows(1, 2, 2, 3))
    before = metadata(table)
    table.append(rows(3, 4))
    table.delete("x = 2")
    for given in (lake.place_of(table), metadata(table)):
        assert counted(given) == {"1": 1, "3": 2, "4": 1}
        assert dv.sources.duckdb(given).name == "visits"
    assert counted(before) == {"1": 1, "2": 2, "3": 1}
    table.overwrite(rows(9))
    assert counted(lake.place_of(table)) == {"9": 1}


def test_a_session_counts_the_snapshot_that_it_opened(tmp_path: Path) -> None:
    table = lake.iceberg(tmp_path, SCHEMA)
    table.append(rows(1, 1, 2))
    session = dv.Session(lake.place_of(table), dv.Unit("row"), dv.Budget(100), tmp_path / "visits.ledger")
    table.append(rows(5))
    assert session.release(dv.Domain.integers(0, 5, column="x"), dv.Dense(100)).values == [0, 2, 1, 0, 0, 0]


def test_rows_that_are_deleted_by_position_are_not_counted(tmp_path: Path) -> None:
    """Each in its own file, also where two files of positions name one row."""
    table = lake.iceberg(tmp_path, SCHEMA)
    table.append(rows(*range(8)))
    (first,) = lake.files_of(table)
    table.append(rows(1, 9))
    (second,) = (file for file in lake.files_of(table) if file != first)
    lake.delete_positions(table, [(first, 1), (first, 3), (second, 1)])
    lake.delete_positions(table, [(first, 3), (first, 7)])
    assert counted(lake.place_of(table)) == dict.fromkeys("024561", 1)
    assert sorted(table.scan().to_arrow()["x"].to_pylist()) == [0, 1, 2, 4, 5, 6]


def test_columns_are_found_by_their_numbers(tmp_path: Path) -> None:
    """Renamed, added, widened, dropped and made anew under the old name."""
    table = lake.iceberg(tmp_path, pa.schema([("x", pa.int32()), ("place", pa.string()), ("f", pa.float32())]))
    old = {"x": pa.array([1, 2], pa.int32()), "place": ["a", "b"], "f": pa.array([float("nan"), 1], pa.float32())}
    table.append(pa.table(old))
    with table.update_schema() as update:
        update.rename_column("place", "town")
        update.update_column("x", LongType())
        update.delete_column("f")
    with table.update_schema() as update:
        update.add_column("place", StringType())
    table.append(pa.table({"x": [9], "town": ["c"], "place": ["new"]}))
    source = lake.place_of(table)
    assert counted(source) == {"1": 1, "2": 1, "9": 1}
    assert counted(source, dv.Domain.categories(["a", "b", "c"], column="town")) == {"a": 1, "b": 1, "c": 1}
    assert counted(source, dv.Domain.categories(["a", "new"], column="place", missing=True)) == {"new": 1, "missing": 2}


def test_partition_columns_are_read_from_the_files(tmp_path: Path) -> None:
    table = lake.iceberg(tmp_path, pa.schema([("year", pa.int64()), ("x", pa.int64())]))
    with table.update_spec() as update:
        update.add_identity("year")
    table.append(pa.table({"year": [2020, 2020, 2021, None], "x": [1, 2, 3, 4]}))
    years = dv.Domain.integers(2020, 2021, column="year", missing=True)
    assert counted(lake.place_of(table), years) == {"2020": 2, "2021": 1, "missing": 1}
    (file,) = (lake.place_of(table) / "data").glob("year=2021/*.parquet")
    held = pq.read_table(file)
    pq.write_table(held.drop_columns(["year"]), file)
    with pytest.raises(SchemaError, match="must hold the columns") as refused:
        dv.sources.duckdb(lake.place_of(table))
    assert "2021" not in str(refused.value).replace(file.name, "")


def test_what_files_say_of_values_moves_no_count(tmp_path: Path) -> None:
    """NaN, which pyarrow leaves out of what it says of a file."""
    table = lake.iceberg(tmp_path, pa.schema([("f", pa.float64())]))
    table.append(pa.table({"f": [float("nan"), 0.5, 2.5, 9.0] * 50}))
    bins = dv.Domain.intervals([0, 1, 3, 10], column="f", missing=True)
    asked = dv.Question.of(bins, where={"f": dv.Between(0, 3)})
    assert counted(lake.place_of(table), bins) == {
        "0 to below 1": 50, "1 to below 3": 50, "3 to 10": 50, "missing": 50,
    }  # fmt: skip
    assert dv.teaching(lake.place_of(table), seed=1).draw(asked, dv.Dense(100)).values == [50, 50, 0, 0]


def moved(table: Any) -> Path:
    shutil.move(lake.place_of(table), lake.place_of(table).parent / "moved")
    return lake.place_of(table).parent / "moved"


def broken(table: Any) -> Path:
    metadata(table).write_text("{}")
    return lake.place_of(table)


def two(table: Any) -> Path:
    """Two writers that did not know of each other."""
    name = metadata(table).name
    shutil.copy(metadata(table), metadata(table).with_name(f"{name[:5]}-other.metadata.json"))
    return lake.place_of(table)


def unnumbered(table: Any) -> Path:
    (file,) = lake.files_of(table)
    pq.write_table(rows(1), file.removeprefix("file://"))
    return lake.place_of(table)


def of_another_type(table: Any) -> Path:
    (file,) = lake.files_of(table)
    field = pa.field("x", pa.string(), metadata={"PARQUET:field_id": "1"})
    pq.write_table(pa.table({"x": ["CANARY"]}, schema=pa.schema([field])), file.removeprefix("file://"))
    return lake.place_of(table)


def by_values(table: Any) -> Path:
    lake.delete_positions(table, [(lake.files_of(table)[0], 0)], "EQUALITY_DELETES")
    return lake.place_of(table)


@pytest.mark.parametrize(
    ("spoil", "words"),
    [
        (moved, "one that pyiceberg reads|where it says"),
        (broken, "one that pyiceberg reads"),
        (two, "must be known by the number"),
        (unnumbered, "must number their columns"),
        (of_another_type, "must hold the types"),
        (by_values, "deleted by their places"),
    ],
)
def test_a_table_that_is_not_read_as_it_is_meant_is_refused(
    tmp_path: Path, spoil: Callable[[Any], Path], words: str
) -> None:
    table = lake.iceberg(tmp_path, SCHEMA)
    table.append(rows(1, 2))
    given = spoil(table)
    with pytest.raises(DpvizError, match=words) as refused:
        dv.sources.duckdb(given)
    assert refused.value.next_step and str(tmp_path) not in str(refused.value) and "CANARY" not in str(refused.value)


def test_without_the_package_the_extra_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table = lake.iceberg(tmp_path, SCHEMA)
    monkeypatch.setitem(sys.modules, "pyiceberg.table", None)
    for given in (lake.place_of(table), metadata(table)):
        with pytest.raises(ParameterError, match="an Iceberg table, which is read through the package") as refused:
            dv.sources.duckdb(given)
        assert refused.value.next_step == 'pip install "dpviz[iceberg]"'
