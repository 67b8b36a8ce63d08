"""Paths that nobody should give: every door that takes one refuses in our words, changes nothing and never hangs."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import dpviz as dv
from dpviz.errors import DpvizError
from dpviz.model.release import Release
from dpviz.session.session import Session

BINS = dv.Domain.integers(0, 3, column="x")
UNIT, BUDGET = dv.Unit(), dv.Budget(10)


def frame() -> pd.DataFrame:
    return pd.DataFrame({"x": [0, 1, 1, 3]})


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a FIFO, a folder and a file that is none of ours."""
    monkeypatch.chdir(tmp_path)
    os.mkfifo("pipe")
    Path("folder").mkdir()
    Path("text").write_text("hello")
    return tmp_path


@pytest.fixture
def release(here: Path) -> Release:
    return Session(frame(), UNIT, BUDGET, "paid.ledger").release(BINS, dv.Dense(1))


NO_PLACE = {
    "NUL": "a\0b", "half a pair": "half\ud800", "too long": "a" * 300, "too deep": "b/" * 3000 + "c", "no text": "",
    "a pipe": "pipe", "a folder": "folder", "a missing folder": "no/such/folder/file", "inside a file": "text/file",
    "no file system for it": "/proc/nothing/file", "nobody's home": "~nobody-of-this-name/file",
    "a device": "/dev/null",
}  # fmt: skip

WRITE: dict[str, Callable[[Release, Any], object]] = {
    "save": lambda release, path: release.save(path),
    "to_csv": lambda release, path: release.to_csv(path),
    "report": lambda release, path: dv.report([release], path),
}
READ: dict[str, Callable[[Any], object]] = {
    "load": dv.load,
    "load's ledger": lambda path: dv.load("paid.json", ledger=path),
    "a ledger": lambda path: Session(frame(), UNIT, BUDGET, path),
    "a source": lambda path: dv.sources.duckdb(path),
    "a session's data": lambda path: Session(path, UNIT, BUDGET, "never.ledger"),
}


@pytest.mark.parametrize("path", NO_PLACE.values(), ids=NO_PLACE.keys())
@pytest.mark.parametrize("door", ["save", "to_csv", "report", "backup"])
def test_nothing_is_written_where_nothing_can_be(here: Path, release: Release, door: str, path: str) -> None:
    before = sorted(os.listdir("."))
    device = os.stat("/dev/null").st_rdev
    with pytest.raises(DpvizError) as refused:
        if door == "backup":
            Session(frame(), UNIT, BUDGET, "paid.ledger").ledger.backup(path)
        else:
            WRITE[door](release, path)
    assert [name for name in sorted(os.listdir(".")) if not name.startswith("paid.ledger")] == [
        name for name in before if not name.startswith("paid.ledger")
    ]
    assert str(refused.value).isprintable()
    assert os.stat("/dev/null").st_rdev == device and Path("text").read_text() == "hello"


@pytest.mark.parametrize("path", NO_PLACE.values(), ids=NO_PLACE.keys())
@pytest.mark.parametrize("door", READ)
def test_nothing_is_read_where_nothing_is(here: Path, release: Release, door: str, path: str) -> None:
    release.save("paid.json")
    with pytest.raises(DpvizError) as refused:
        READ[door](path)
    assert str(refused.value).isprintable()
    assert not Path("never.ledger").exists()


@pytest.mark.parametrize(
    "name", ["what?.ledger", "frag#ment", "per%20cent", "a b", "ünï", "quo'te\"s", "semi;colon", "-dash"]
)
def test_odd_names_are_names(here: Path, name: str) -> None:
    session = Session(frame(), UNIT, BUDGET, name)
    release = session.release(BINS, dv.Dense(1))
    assert Path(name).is_file() and session.ledger.backup(f"{name}.copy").charges == 1
    saved = release.save(f"{name}.json")
    assert dv.load(saved, ledger=f"{name}.copy") == release
    assert Path(str(release.to_csv(f"{name}.csv") or f"{name}.csv")).is_file()


def test_a_file_is_replaced_whole_and_a_link_to_it_stays(here: Path, release: Release) -> None:
    Path("target.json").write_text("old")
    Path("link.json").symlink_to("target.json")
    assert release.save("link.json") == Path("link.json")
    assert Path("link.json").is_symlink() and dv.load("target.json") == release
    assert [name for name in os.listdir(".") if name.endswith(".part")] == []


@pytest.mark.parametrize("given", [7, 0.5, b"bytes", None, ["a.json"], object(), pd.Series(["a"])])
def test_what_is_no_path_is_refused_by_its_type(here: Path, release: Release, given: Any) -> None:
    for door in (release.save, dv.load, lambda path: dv.report([release], path)):
        with pytest.raises(DpvizError):
            door(given)


@pytest.mark.parametrize("mode", ["quick", "", "EXACT", "strict\0", 7, None, True, ["exact"], "exact "])
def test_a_mode_that_there_is_not_is_refused_before_a_charge(here: Path, mode: Any) -> None:
    session = Session(frame(), UNIT, BUDGET, "paid.ledger")
    if mode is None:
        assert session.release(BINS, dv.Dense(1), mode=mode).mode == "exact"
        return
    with pytest.raises(DpvizError):
        session.release(BINS, dv.Dense(1), mode=mode)
    with pytest.raises(DpvizError):
        dv.teaching(frame(), 1).draw(BINS, dv.Dense(1), mode=mode)
    assert session.ledger.entries() == []


# ---------------------------------------------------------------- the command line


def run(*words: str, stdout: Any = subprocess.PIPE, **environment: str) -> subprocess.CompletedProcess[bytes]:
    """`dpviz` in a process of its own, with nothing of this one's languages."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("LC_", "LANG", "PYTHON"))}
    command = [sys.executable, "-m", "dpviz.cli", *words]
    code = "import sys; from dpviz.cli import main; sys.exit(main(sys.argv[1:]))"
    command[1:3] = ["-c", code]
    return subprocess.run(
        command, stdout=stdout, stderr=subprocess.PIPE, env=kept | environment, timeout=120, check=False
    )


ASCII = {"LANG": "C", "LC_ALL": "C", "PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}


@pytest.fixture
def ledger(here: Path) -> str:
    session = Session(frame(), dv.Unit(noun="pérson"), dv.Budget(10), "ünï.ledger")
    session.release(BINS, dv.Dense(1))
    return "ünï.ledger"


@pytest.mark.parametrize("command", [["show"], ["verify"], ["show", "--json"]])
def test_a_terminal_that_knows_only_ascii_gets_the_whole_table(ledger: str, command: list[str]) -> None:
    done = run("ledger", command[0], ledger, *command[1:], **ASCII)
    assert done.returncode == 0 and done.stderr == b"" and done.stdout.isascii()
    assert b"Traceback" not in done.stdout and len(done.stdout) > 100


def test_a_refusal_on_such_a_terminal_is_one_sentence(here: Path) -> None:
    for place in ("nïemand.ledger", "no\nline", "/dev/null", "folder", "text"):
        done = run("ledger", "show", place, **ASCII)
        assert done.returncode in (1, 3) and done.stdout == b""
        assert done.stderr.startswith(b"dpviz: ") and done.stderr.count(b"\n") == 1 and done.stderr.isascii()


@pytest.mark.parametrize("command", [["show"], ["show", "--json"], ["verify"]])
def test_a_full_disk_behind_the_output_is_one_sentence_and_no_success(ledger: str, command: list[str]) -> None:
    with open("/dev/full", "wb") as full:
        done = run("ledger", command[0], ledger, *command[1:], stdout=full)
    assert done.returncode == 1
    assert done.stderr == b"dpviz: the output could not be written: No space left on device\n"


@pytest.mark.parametrize("word", ["--help", "--version"])
def test_help_for_a_full_disk_is_one_sentence_too(here: Path, word: str) -> None:
    with open("/dev/full", "wb") as full:
        done = run(word, stdout=full)
    assert done.returncode == 1 and done.stderr.count(b"\n") == 1 and b"Traceback" not in done.stderr


def test_a_reader_who_has_gone_is_no_error(ledger: str) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    with open(writer, "wb") as gone:
        done = run("ledger", "show", ledger, stdout=gone)
    assert done.returncode == 0 and done.stderr == b""


def test_a_json_refusal_on_a_full_disk_is_no_success(here: Path) -> None:
    with open("/dev/full", "wb") as full:
        done = run("ledger", "show", "nobody.ledger", "--json", stdout=full)
    assert done.returncode == 1 and b"could not be written" in done.stderr
