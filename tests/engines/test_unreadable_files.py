"""Files that cannot be read, and databases that others hold: refused in our words, with a step that helps."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import duckdb
import pandas as pd
import pytest

import dpviz as dv
from dpviz.errors import DpvizError, ParameterError
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
