"""Folders that stand for columns are read as they are declared; what does not fit is refused, without a value."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.dataset
import pytest

import dpviz as dv
from dpviz.errors import DpvizError, EngineGone, ParameterError, SchemaError


def write(folder: Path, *rows: str) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    pd.DataFrame({"of": list(rows)}).to_parquet(folder / "part-0.parquet")
    return folder


def counted(data: Any, domain: dv.Domain, **options: Any) -> dict[str, int]:
    """Counts that are not 0, by a release whose noise is next to none."""
    release = dv.teaching(dv.sources.duckdb(data, **options), seed=1).draw(domain, dv.Dense(100))
    return {label: value for label, value in zip(release.labels, release.values, strict=True) if value}


YEARS = dv.Domain.integers(2019, 2022, column="year", missing=True)


def test_what_hive_writers_write_is_read_as_declared(tmp_path: Path) -> None:
    days = pd.to_datetime(["2020-01-31", "2020-02-01", "2021-01-01", "2021-01-01"]).date
    rows = {
        "of": ["a", "b", "a", "c"],
        "year": [2020, 2020, 2021, None],
        "day": days,
        "at": ["a b/c", "ö=", "%", "1.0"],
    }
    table = pa.table({**rows, "year": pa.array(rows["year"], pa.int64())})
    types = pa.schema([("year", pa.int64()), ("day", pa.date32()), ("at", pa.string())])
    parts = pa.dataset.partitioning(types, flavor="hive")
    pa.dataset.write_dataset(table, tmp_path / "visits", format="parquet", partitioning=parts)
    hive = {"year": "integer", "day": "date", "at": "text"}
    source = dv.sources.duckdb(tmp_path / "visits", hive=hive)
    assert [(one.name, one.kind) for one in source.columns] == [
        ("of", "text"), ("year", "number"), ("day", "time"), ("at", "text"),
    ]  # fmt: skip
    assert source.name == "visits"
    assert counted(tmp_path / "visits", YEARS, hive=hive) == {"2020": 2, "2021": 1, "missing": 1}
    months = dv.Domain.times("2020-01", "2021-02", by="month", column="day")
    assert counted(tmp_path / "visits", months, hive=hive) == {"2020-01": 1, "2020-02": 1, "2021-01": 2}
    at = dv.Domain.categories(rows["at"], column="at")
    assert counted(tmp_path / "visits", at, hive=hive) == dict.fromkeys(rows["at"], 1)
    crossed = dv.Domain.categories(["a"], column="of", other=True) * dv.Domain.integers(2020, 2021, column="year")
    found = dv.teaching(source, seed=1).draw(crossed, dv.Dense(100))
    assert sum(found.values) == 3 and found["a", 2020] == 1


def test_an_undeclared_folder_says_how_it_is_declared_and_shows_no_value(tmp_path: Path) -> None:
    write(tmp_path / "patient=4711" / "day=2020-01-31", "a")
    with pytest.raises(ParameterError, match="stand for a column") as refused:
        dv.sources.duckdb(tmp_path)
    assert 'hive={"patient": "text", "day": "text"}' in refused.value.next_step
    assert "4711" not in str(refused.value) and "2020" not in str(refused.value)
    assert dv.sources.duckdb(tmp_path, hive={"patient": "text", "day": "text"}).columns


@pytest.mark.parametrize(
    ("folder", "hive"),
    [
        ("year=secret", {"year": "integer"}),
        ("year=2020.5", {"year": "integer"}),
        ("year=", {"year": "integer"}),
        ("year=9223372036854775808", {"year": "integer"}),
        ("year=2020-02-30", {"year": "date"}),
        ("year=20200101", {"year": "date"}),
        ("year=%ff", {"year": "text"}),
        ("year=", {"year": "text"}),
        ("secret", {"year": "integer"}),
        ("year=1/secret=2", {"year": "integer"}),
        ("secret=1", {"year": "integer"}),
        ("Year=1", {"year": "integer"}),
        ("month=1/year=1", {"year": "integer", "month": "integer"}),
        (".", {"year": "integer"}),
    ],
)
def test_a_path_that_does_not_fit_is_refused_without_what_it_says(
    tmp_path: Path, folder: str, hive: dict[str, str]
) -> None:
    write(tmp_path / "/".join(f"{name}=1" for name in hive), "a")
    (tmp_path / "/".join(f"{name}=1" for name in hive) / "part-0.parquet").rename(
        write(tmp_path / "/".join(f"{name}=3" for name in hive), "a") / "part-1.parquet"
    )
    assert dv.sources.duckdb(tmp_path, hive=hive).columns if hive["year"] != "date" else True
    write(tmp_path / folder, "a")
    with pytest.raises(ParameterError) as refused:
        dv.sources.duckdb(tmp_path, hive=hive)
    for said in ("secret", "2020", "922", "%", "\ufffd"):
        assert said not in str(refused.value)


def test_integers_of_folders_are_numbers_and_not_their_texts(tmp_path: Path) -> None:
    write(tmp_path / "year=02020", "a")
    write(tmp_path / "year=2020", "a")
    write(tmp_path / "year=__HIVE_DEFAULT_PARTITION__", "a")
    assert counted(tmp_path, YEARS, hive={"year": "integer"}) == {"2020": 2, "missing": 1}
    keys = dv.Domain.categories(["02020", "2020"], column="year", missing=True)
    assert counted(tmp_path, keys, hive={"year": "text"}) == {"02020": 1, "2020": 1, "missing": 1}


@pytest.mark.parametrize("hive", [{}, "year", ["year"], {"year": "number"}, {"year": int}, {1: "text"}, {"": "text"}])
def test_a_declaration_that_is_none_is_refused(tmp_path: Path, hive: Any) -> None:
    write(tmp_path / "year=1", "a")
    with pytest.raises(ParameterError, match="fold") as refused:
        dv.sources.duckdb(tmp_path, hive=hive)
    assert 'hive={"year": "integer"}' in refused.value.next_step


def test_only_folders_of_parquet_files_stand_for_columns(tmp_path: Path) -> None:
    file = write(tmp_path / "year=1", "a") / "part-0.parquet"
    (tmp_path / "x.csv").write_text("of\na\n")
    for given in (
        file,
        tmp_path / "*" / "*.parquet",
        tmp_path / "x.csv",
        tmp_path / "x.duckdb",
        pd.DataFrame({"x": [1]}),
    ):
        with pytest.raises(ParameterError, match="hive"):
            dv.sources.duckdb(given, hive={"year": "integer"}, table="t" if str(given).endswith(".duckdb") else None)


@pytest.mark.parametrize("name", ["of", "OF"])
def test_a_column_that_the_files_hold_is_not_replaced(tmp_path: Path, name: str) -> None:
    write(tmp_path / f"{name}=z", "a")
    with pytest.raises(SchemaError, match="the files hold one of this name"):
        dv.sources.duckdb(tmp_path, hive={name: "text"})


def test_names_that_the_reader_uses_itself_are_names(tmp_path: Path) -> None:
    for name in ("file", "number", "filename", "v0", "pos", 'a"b', "a b"):
        folder = tmp_path / name
        write(folder / f"{name}=x", "a", "b")
        assert counted(folder, dv.Domain.categories(["x"], column=name), hive={name: "text"}) == {"x": 2}


def test_drafts_are_left_out_and_other_columns_refused(tmp_path: Path) -> None:
    write(tmp_path / "year=2020", "a")
    write(tmp_path / "_temporary" / "0", "a")
    (tmp_path / "year=2020" / "_tmp.parquet").write_bytes(b"")
    assert counted(tmp_path, YEARS, hive={"year": "integer"}) == {"2020": 1}
    (tmp_path / "year=2021").mkdir()
    pd.DataFrame({"other": [1]}).to_parquet(tmp_path / "year=2021" / "part-0.parquet")
    with pytest.raises(SchemaError, match="same columns of the same types"):
        dv.sources.duckdb(tmp_path, hive={"year": "integer"})


def test_a_file_that_goes_away_is_missed_before_a_charge(tmp_path: Path) -> None:
    write(tmp_path / "visits" / "year=2020", "a")
    gone = write(tmp_path / "visits" / "year=2021", "a") / "part-0.parquet"
    source = dv.sources.duckdb(tmp_path / "visits", hive={"year": "integer"})
    session = dv.Session(source, dv.Unit("row"), dv.Budget(1), tmp_path / "x.ledger")
    gone.unlink()
    with pytest.raises(EngineGone):
        session.release(YEARS, dv.Dense(1))
    assert session.remaining.epsilon == 1


def test_a_folder_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DpvizError, match="hive declares what the folders in a folder stand for"):
        dv.sources.duckdb(tmp_path / "nowhere", hive={"year": "integer"})
    with pytest.raises(DpvizError, match="there are none in this one or below"):
        dv.sources.duckdb(tmp_path, hive={"year": "integer"})
