"""Files that cannot be read, and databases that others hold: refused in our words, with a step that helps."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import warnings
from collections.abc import Callable
from pathlib import Path

import duckdb
import ibis
import pandas as pd
import pytest

import dpviz as dv
from dpviz.errors import DpvizError, ParameterError
from dpviz.model.source import Source
from tests.killing import Call

FRAME = pd.DataFrame({"x": [1, 2, 2], "secret": ["CANARY"] * 3})
NOBODY = 65534


def saved(path: Path) -> Path:
    FRAME.to_parquet(path)
    return path


def pipe(folder: Path) -> Path:
    os.mkfifo(folder / "visits.parquet")
    return folder / "visits.parquet"


def pipe_of_text(folder: Path) -> Path:
    os.mkfifo(folder / "visits.csv")
    return folder / "visits.csv"


def pipe_in_a_folder(folder: Path) -> Path:
    saved(folder / "a.parquet")
    os.mkfifo(folder / "b.parquet")
    return folder


def pipe_in_a_pattern(folder: Path) -> Path:
    saved(folder / "a.parquet")
    os.mkfifo(folder / "b.parquet")
    return folder / "*.parquet"


def pipe_of_a_database(folder: Path) -> Path:
    os.mkfifo(folder / "visits.duckdb")
    return folder / "visits.duckdb"


def listening(folder: Path) -> Path:
    here = os.getcwd()
    os.chdir(folder)  # a socket's whole path must be short
    try:
        with socket.socket(socket.AF_UNIX) as one:
            one.bind("visits.csv")
    finally:
        os.chdir(here)
    return folder / "visits.csv"


def link_to_nothing(folder: Path) -> Path:
    saved(folder / "a.parquet")
    os.symlink(folder / "nowhere", folder / "b.parquet")
    return folder


def link_to_itself(folder: Path) -> Path:
    os.symlink(folder / "a.parquet", folder / "a.parquet")
    return folder


def folder_of_texts(folder: Path) -> Path:
    FRAME.to_csv(folder / "visits.csv")
    return folder


def folder_that_is_called_as_a_database(folder: Path) -> Path:
    (folder / "visits.duckdb").mkdir()
    return folder / "visits.duckdb"


@pytest.mark.parametrize(
    "make, words",
    [
        (pipe, "a pipe"),
        (pipe_of_text, "a pipe"),
        (pipe_in_a_folder, "a pipe"),
        (pipe_in_a_pattern, "b.parquet, a pipe"),
        (pipe_of_a_database, "a pipe"),
        (listening, "a socket"),
        (link_to_nothing, "a link to a file that is not there, got b.parquet"),
        (link_to_itself, "a link to a file that is not there, got a.parquet"),
        (folder_of_texts, "there are none in this one"),
        (folder_that_is_called_as_a_database, "a folder"),
    ],
)
def test_what_is_no_file_is_refused_and_never_waited_for(
    make: Callable[[Path], Path], words: str, tmp_path: Path
) -> None:
    path = make(tmp_path)
    table = {"table": "t"} if path.name.endswith(".duckdb") else {}
    with pytest.raises(ParameterError, match=words) as refused:
        dv.sources.duckdb(path, **table)
    assert refused.value.next_step and str(tmp_path.parent) not in str(refused.value)
    for opening in (dv.Session, dv.teaching):
        if not table and path.suffix:
            with pytest.raises(ParameterError):
                opening(path, **({"seed": 1} if opening is dv.teaching else {}))


def test_a_link_to_a_file_is_that_file(tmp_path: Path) -> None:
    saved(tmp_path / "visits.parquet")
    os.symlink(tmp_path / "visits.parquet", tmp_path / "link.parquet")
    assert [one.name for one in dv.sources.duckdb(tmp_path / "link.parquet").columns] == ["x", "secret"]


@pytest.mark.parametrize("what", ["file", "folder", "folder above", "database"])
def test_files_of_somebody_else_are_refused(what: str, tmp_path: Path) -> None:
    """As a user who may not read them: this process is root on some machines, who may."""
    above = tmp_path / "above"
    folder = above / "folder"
    folder.mkdir(parents=True)
    saved(folder / "visits.parquet")
    duckdb.connect(str(folder / "visits.duckdb")).execute("CREATE TABLE t AS SELECT 1 AS x").close()
    asked = (
        folder / "visits.duckdb" if what == "database" else folder if what == "folder" else folder / "visits.parquet"
    )
    closed = {"folder": folder, "folder above": above}.get(what, asked)
    closed.chmod(0)

    def attempt() -> list[str]:
        at = os.open(tmp_path, os.O_RDONLY)
        os.fchdir(at)  # whose folders above belong to this test
        if os.getuid() == 0:
            os.setresuid(NOBODY, NOBODY, NOBODY)
        try:
            dv.sources.duckdb(asked.relative_to(tmp_path), **({"table": "t"} if what == "database" else {}))
        except DpvizError as refused:
            return [str(refused), refused.next_step]
        return ["opened"]

    tmp_path.chmod(0o755)
    try:
        said, step = Call(attempt).result()
    finally:
        closed.chmod(0o755)
    assert "this user may not read it" in said and "right to read" in step


def test_a_database_that_another_program_writes_to_is_refused_until_it_is_free(tmp_path: Path) -> None:
    path = tmp_path / "visits.duckdb"
    holds = (
        f"import duckdb, sys; held = duckdb.connect({str(path)!r}); held.execute('CREATE TABLE t AS SELECT 1 AS x');"
    )
    command = [sys.executable, "-c", holds + "print('held', flush=True); sys.stdin.read()"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as other:
        assert other.stdout is not None and other.stdout.readline() == b"held\n"
        with pytest.raises(ParameterError, match="another program has this database open"):
            dv.sources.duckdb(path, table="t")
        other.communicate()
    assert [one.name for one in dv.sources.duckdb(path, table="t").columns] == ["x"]


def test_a_database_that_this_process_writes_to_is_read_through_its_connection(tmp_path: Path) -> None:
    path = tmp_path / "visits.duckdb"
    with duckdb.connect(str(path)) as connection:
        connection.execute("CREATE TABLE t AS SELECT 1 AS x")
        with pytest.raises(ParameterError, match="this process has a connection") as refused:
            dv.sources.duckdb(path, table="t")
        assert "give that connection" in refused.value.next_step
        assert [one.name for one in dv.sources.duckdb(connection, table="t").columns] == ["x"]


def test_a_table_that_is_not_there_is_refused_with_those_that_are(tmp_path: Path) -> None:
    path = tmp_path / "visits.duckdb"
    with duckdb.connect(str(path)) as connection:
        connection.execute("CREATE TABLE visits AS SELECT 1 AS x")
        connection.execute("CREATE VIEW others AS SELECT 1 AS x")
    with pytest.raises(ParameterError, match="others, visits") as refused:
        dv.sources.duckdb(path, table="visit")
    assert refused.value.next_step == "did you mean visits?"
    for name in ("visits", "VISITS", "others"):
        assert dv.sources.duckdb(path, table=name).columns


def several(path: Path) -> duckdb.DuckDBPyConnection:
    """A database with a table, one in another schema, and one in another database that is attached."""
    connection = duckdb.connect(path)
    connection.execute("CREATE TABLE visits AS SELECT 1 AS x")
    connection.execute("CREATE SCHEMA old")
    connection.execute("CREATE TABLE old.stays AS SELECT 2 AS x, 'CANARY' AS secret")
    connection.execute("ATTACH ':memory:' AS beside")
    connection.execute("CREATE TABLE beside.trips AS SELECT 0 AS x")
    return connection


def counted(source: Source) -> list[int]:
    draw = dv.teaching(source, seed=1).draw(dv.Domain.integers(0, 2, column="x"), dv.Dense(100))
    return list(draw.values)


def followed(step: str, **names: object) -> Source:
    """The source that a step of a refusal makes. (Ibis calls functions of DuckDB that have newer names.)"""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        return eval(step, {"dv": dv, "ibis": ibis, **names})  # type: ignore[no-any-return]


def test_a_misspelt_table_of_a_connection_is_answered_with_those_that_are_there(tmp_path: Path) -> None:
    connection = several(tmp_path / "own.duckdb")
    connection.register("frames", FRAME)
    with pytest.raises(ParameterError, match="the tables of this connection are: frames, visits, got vists") as refused:
        dv.sources.duckdb(connection, "vists")
    assert "did you mean visits?" in str(refused.value) and "CANARY" not in str(refused.value)
    assert counted(dv.sources.duckdb(connection, "frames")) == [0, 1, 2]  # a table that is named can be opened
    connection.close()
    with pytest.raises(ParameterError, match="this cannot be read as a table"):
        dv.sources.duckdb(connection, "visits")


def test_an_empty_connection_says_that_it_has_no_table() -> None:
    with pytest.raises(ParameterError, match="the tables of this connection are: no table"):
        dv.sources.duckdb(duckdb.connect(), "visits")


@pytest.mark.parametrize(
    ("table", "found"),
    [
        ("stays", [0, 0, 1]), ("old.stays", [0, 0, 1]), ("own.old.stays", [0, 0, 1]), ("OLD.stays", [0, 0, 1]),
        ("beside.trips", [1, 0, 0]), ("beside.main.trips", [1, 0, 0]), ("trips", [1, 0, 0]),
    ],
)  # fmt: skip
def test_a_table_of_another_schema_or_database_is_opened_as_the_refusal_says(
    table: str, found: list[int], tmp_path: Path
) -> None:
    connection = several(tmp_path / "own.duckdb")
    with pytest.raises(ParameterError, match="of the schema that this connection is in") as refused:
        dv.sources.duckdb(connection, table)
    step = refused.value.next_step.removeprefix("give ")
    assert counted(followed(step, connection=connection)) == found


def test_a_table_of_another_schema_of_a_database_file_is_opened_as_the_refusal_says(tmp_path: Path) -> None:
    path = tmp_path / "own.duckdb"
    several(path).close()
    for table in ("stays", "old.stays"):
        with pytest.raises(ParameterError, match="of the schema that own.duckdb is in") as refused:
            dv.sources.duckdb(path, table)
        step = refused.value.next_step.removeprefix("give ")
        assert counted(followed(step, path=path)) == [0, 0, 1]


def test_a_table_whose_name_has_a_point_is_a_table(tmp_path: Path) -> None:
    connection = several(tmp_path / "own.duckdb")
    connection.execute('CREATE TABLE "old.stays" AS SELECT 1 AS x')
    assert counted(dv.sources.duckdb(connection, "old.stays")) == [0, 1, 0]
