"""Which files are the table: a name is a name, drafts are left out, table formats are refused by name, and a path adds
no column."""

from __future__ import annotations

import os
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import dpviz as dv
from dpviz.errors import DpvizError, ParameterError, SchemaError

SIGNS = ("report[1]", "a*b", "q?", "{x,y}", "b\\c", "!", "[!a]", "a**", "report [2] (copy)")
"""Names of files that are patterns to some program."""


def written(path: Path, *values: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    pd.DataFrame({"of": list(values)}).to_parquet(path)
    return path


def counted(path: str | Path) -> dict[str, int]:
    """How often each value of the column `of` is counted, by a release whose noise is next to none."""
    source = dv.sources.duckdb(path)
    values = sorted({"a", "b", "c", "d", "e", *SIGNS})
    domain = dv.Domain.categories(values, column="of")
    release = dv.teaching(source, seed=1).draw(domain, dv.Dense(100))
    return {label: value for label, value in zip(release.labels, release.values, strict=True) if value}


@pytest.mark.parametrize("name", SIGNS)
def test_a_name_is_a_name(tmp_path: Path, name: str) -> None:
    """Beside the file are others that its name fits as a pattern: none of them is read."""
    for other in ("report1", "report2", "aXb", "qz", "x", "y", "a", "b", "a1", "report 2 (copy)"):
        written(tmp_path / f"{other}.parquet", "a")
        (tmp_path / f"{other}.csv").write_text("of\na\n")
    written(tmp_path / f"{name}.parquet", name, "b")
    (tmp_path / f"{name}.csv").write_text(f'of\n"{name}"\nb\n')
    for ending in ("parquet", "csv"):
        assert counted(tmp_path / f"{name}.{ending}") == {name: 1, "b": 1}


@pytest.mark.parametrize("ending", ["parquet", "csv"])
def test_a_bracket_is_no_pattern_where_the_file_is_not_there(tmp_path: Path, ending: str) -> None:
    written(tmp_path / "report1.parquet", "a")
    (tmp_path / "report1.csv").write_text("of\na\n")
    with pytest.raises(ParameterError, match="there is no such file"):
        dv.sources.duckdb(tmp_path / f"report[1].{ending}")


def test_a_pattern_means_the_files_that_fit_and_no_drafts(tmp_path: Path) -> None:
    for name in ("part-1", "part-2", "_part-3", ".part-4"):
        written(tmp_path / f"{name}.parquet", "a")
        (tmp_path / f"{name}.csv").write_text("of\na\n")
    for ending in ("parquet", "csv"):
        assert counted(tmp_path / f"*.{ending}") == counted(tmp_path / f"part-?.{ending}") == {"a": 2}
        assert counted(tmp_path / f"_*.{ending}") == {"a": 1}
    written(tmp_path / "2020" / "deep.parquet", "b")
    written(tmp_path / "_old" / "deep.parquet", "c")
    assert counted(tmp_path / "**" / "*.parquet") == {"a": 2, "b": 1}


def test_a_folder_is_its_parquet_files_whatever_their_ending_and_no_drafts(tmp_path: Path) -> None:
    for place, name in enumerate(("one.parquet", "TWO.PARQUET", "three.pq")):
        written(tmp_path / name, "abc"[place])
    for draft in ("_tmp.parquet", ".hidden.parquet", "_SUCCESS.parquet"):
        written(tmp_path / draft, "d")
    written(tmp_path / "_temporary" / "0.parquet", "d")
    (tmp_path / "_SUCCESS").touch()
    (tmp_path / "notes.txt").write_text("of\ne\n")
    assert counted(tmp_path) == {"a": 1, "b": 1, "c": 1}


def test_a_file_that_comes_later_is_no_part_of_the_table(tmp_path: Path) -> None:
    written(tmp_path / "one.parquet", "a")
    source = dv.sources.duckdb(tmp_path)
    written(tmp_path / "two.parquet", "b")
    found = dv.teaching(source, seed=1).draw(dv.Domain.categories(["a", "b"], column="of"), dv.Dense(100))
    assert found.values == [1, 0]


@pytest.mark.parametrize("folder", ["year=2020", "a=b", "of=z"])
def test_a_path_adds_no_column_and_replaces_none(tmp_path: Path, folder: str) -> None:
    path = written(tmp_path / folder / "visits.parquet", "a", "b")
    for given in (path, path.parent, tmp_path / "*=*" / "*.parquet"):
        assert counted(given) == {"a": 1, "b": 1}
        assert [column.name for column in dv.sources.duckdb(given).columns] == ["of"]


def test_a_relative_path_stays_when_the_program_moves(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    written(tmp_path / "one.parquet", "a")
    monkeypatch.chdir(tmp_path)
    source = dv.sources.duckdb("one.parquet")
    monkeypatch.chdir("/")
    found = dv.teaching(source, seed=1).draw(dv.Domain.categories(["a"], column="of"), dv.Dense(100))
    assert found.values == [1]


def _delta(folder: Path) -> None:
    written(folder / "part-0.parquet", "a", "a")
    written(folder / "part-1.parquet", "a")
    (folder / "_delta_log").mkdir()
    (folder / "_delta_log" / "00000000000000000000.json").write_text("{}")


def _iceberg(folder: Path) -> None:
    written(folder / "data" / "00000-0.parquet", "a")
    (folder / "metadata").mkdir()
    (folder / "metadata" / "v1.metadata.json").write_text("{}")


def _hudi(folder: Path) -> None:
    written(folder / "part-0.parquet", "a")
    (folder / ".hoodie").mkdir()


FORMATS = [
    (_delta, "a Delta table", "deltalake"),
    (_iceberg, "an Iceberg table", "pyiceberg"),
    (_hudi, "a Hudi table", "Spark"),
]


@pytest.mark.parametrize(("make", "named", "reader"), FORMATS)
def test_a_folder_of_a_table_format_is_refused_by_name(
    tmp_path: Path, make: Any, named: str, reader: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where its own reader is not installed, or a pattern names its files."""
    monkeypatch.setitem(sys.modules, "deltalake", None)
    monkeypatch.setitem(sys.modules, "pyiceberg.table", None)
    folder = tmp_path / "visits"
    make(folder)
    for given in (folder, f"{folder}/", f"{folder}/**/*.parquet", tmp_path / "*" / "**" / "*.parquet"):
        with pytest.raises(ParameterError, match=named) as refused:
            dv.sources.duckdb(given)
        assert named in str(refused.value) and reader in str(refused.value)
        assert reader == "Spark" or f'pip install "dpviz[{named.split()[1].lower()}]"' in refused.value.next_step


@pytest.mark.parametrize(("make", "named", "reader"), FORMATS)
def test_a_folder_inside_a_table_format_is_refused_by_name(tmp_path: Path, make: Any, named: str, reader: str) -> None:
    """It holds old copies as the whole does."""
    make(tmp_path / "visits")
    inside = written(tmp_path / "visits" / "year=2020" / "part-0.parquet", "a").parent
    for options in ({}, {"hive": {"year": "integer"}}):
        with pytest.raises(ParameterError, match=f"inside {named}") as refused:
            dv.sources.duckdb(inside, **options)
        assert reader in refused.value.next_step


@pytest.mark.parametrize(("make", "named", "reader"), FORMATS)
def test_a_single_file_of_a_table_format_is_refused_by_name(tmp_path: Path, make: Any, named: str, reader: str) -> None:
    """It may hold deleted rows. A link to it is no other file."""
    make(tmp_path / "visits")
    (file,) = sorted((tmp_path / "visits").rglob("*-0.parquet"))
    os.symlink(file, tmp_path / "link.parquet")
    os.symlink(file.parent, tmp_path / "linked")
    for given in (file, tmp_path / "link.parquet", tmp_path / "linked", tmp_path / "linked" / file.name):
        with pytest.raises(ParameterError, match=named) as refused:
            dv.sources.duckdb(given)
        assert reader in refused.value.next_step
    copy = tmp_path / "copy.parquet"
    copy.write_bytes(file.read_bytes())
    assert set(counted(copy)) == {"a"}


def test_a_table_of_texts_beside_a_table_format_is_no_part_of_it(tmp_path: Path) -> None:
    _delta(tmp_path)
    (tmp_path / "notes.csv").write_text("of\na\n")
    assert counted(tmp_path / "notes.csv") == {"a": 1}


def test_files_in_folders_below_are_named_and_not_left_out_in_silence(tmp_path: Path) -> None:
    written(tmp_path / "one.parquet", "a")
    written(tmp_path / "more" / "two.parquet", "b")
    with pytest.raises(ParameterError, match=r"more/.*\*\*/\*\.parquet|folders below"):
        dv.sources.duckdb(tmp_path)
    assert counted(tmp_path / "**" / "*.parquet") == {"a": 1, "b": 1}


@pytest.mark.parametrize(
    "other",
    [
        pa.table({"of": [1]}),
        pa.table({"of": ["a"], "more": [1]}),
        pa.table({"other": ["a"]}),
        pa.table({"of": pa.array(["a"], pa.large_string()), "z": [1.0]}),
    ],
)
def test_files_of_other_columns_are_refused_before_anything_is_charged(tmp_path: Path, other: Any) -> None:
    pq.write_table(pa.table({"of": ["a"]}), tmp_path / "1.parquet")
    pq.write_table(other, tmp_path / "2.parquet")
    for given in (tmp_path, tmp_path / "*.parquet"):
        with pytest.raises(
            SchemaError, match=r"same columns of the same types, got .*1\.parquet and 2\.parquet; open them"
        ):
            dv.sources.duckdb(given)


def test_columns_may_stand_in_another_order(tmp_path: Path) -> None:
    pq.write_table(pa.table({"of": ["a"], "n": [1]}), tmp_path / "1.parquet")
    pq.write_table(pa.table({"n": [2], "of": ["b"]}), tmp_path / "2.parquet")
    assert counted(tmp_path) == {"a": 1, "b": 1}


def test_any_names_in_a_folder_give_what_their_rows_give(tmp_path: Path) -> None:
    """Names of all kinds at once, each file with its own count: a file that is read twice, or not, is seen."""
    names = [*(f"{name}.parquet" for name in SIGNS), "year=2020.parquet", "ä.parquet", "x'y.parquet", "-.parquet"]
    expected: Counter[str] = Counter()
    for place, name in enumerate(names):
        label = "abcde"[place % 5]
        written(tmp_path / name, *[label] * (2**place))
        expected[label] += 2**place
    assert counted(tmp_path) == counted(tmp_path / "*.parquet") == expected


def test_a_folder_that_cannot_be_read_is_refused_in_our_words(tmp_path: Path) -> None:
    with pytest.raises(DpvizError, match="there are none in this one"):
        dv.sources.duckdb(tmp_path)
    (tmp_path / "empty.parquet").touch()
    with pytest.raises(DpvizError, match="cannot be read as a table"):
        dv.sources.duckdb(tmp_path)
    os.symlink(tmp_path / "nowhere.parquet", tmp_path / "link.parquet")
    with pytest.raises(DpvizError, match="there is no such file"):
        dv.sources.duckdb(tmp_path / "link.parquet")
