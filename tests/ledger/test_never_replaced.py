"""Nothing of ours takes the place of a ledger, or of a file that belongs to one, whatever writes and under any name."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import dpviz as dv
from dpviz import cli, files
from dpviz.errors import DpvizError, LedgerError, ParameterError
from dpviz.session.ledger import memory
from dpviz.session.session import Session
from tests.killing import Call

BINS = dv.Domain.integers(0, 3, column="x")


@dataclass
class Desk:
    """A session with a release, its ledger, and a folder for other files."""

    folder: Path
    session: Session
    release: Any

    @property
    def ledger(self) -> Path:
        return self.folder / "visits.ledger"

    @cached_property
    def chart(self) -> Any:
        return self.release.chart()

    @cached_property
    def plan(self) -> Any:
        return self.session.plan(BINS, dv.Dense(1)).chart()


def opened(folder: Path, name: str = "visits.ledger", **more: Any) -> Session:
    return Session(pd.DataFrame({"x": [0, 1, 1, 3] * 30}), dv.Unit(), dv.Budget(100), folder / name, **more)


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    session = opened(tmp_path)
    desk = Desk(tmp_path, session, session.release(BINS, dv.Dense(1)))
    assert desk.chart and desk.plan  # drawn while the ledger is there
    return desk


WRITERS: dict[str, Callable[[Desk, Path], object]] = {
    "save": lambda desk, path: desk.release.save(path),
    "CSV": lambda desk, path: desk.release.to_csv(path),
    "report": lambda desk, path: dv.report([desk.release], path),
    "chart": lambda desk, path: desk.chart.save(path, format="json"),
    "picture": lambda desk, path: desk.chart.save(str(path), "svg"),
    "plan": lambda desk, path: desk.plan.save(path, format="html"),
}
"""Whatever writes a file that a person names, and may replace one."""

ENDINGS = ("", "-lock", "-journal", "-wal", "-shm")


def as_it_is(path: Path) -> Path:
    return path


def linked(path: Path) -> Path:
    link = path.with_name(f"link to {path.name}")
    link.symlink_to(path)
    return link


def hard(path: Path) -> Path:
    other = path.with_name("other")
    os.link(path, other)
    return other


def relative(path: Path) -> Path:
    return Path(os.path.relpath(path))


def through_a_folder(path: Path) -> Path:
    if not (path.parent / "down").exists():
        (path.parent / "down").symlink_to(path.parent)
    return path.parent / "down" / ".." / path.parent.name / "down" / path.name


def kept(desk: Desk) -> None:
    """The ledger is whole, and nothing was left beside it."""
    assert desk.session.ledger.verify().charges == 1
    assert desk.session.release(BINS, dv.Dense(1)) == desk.release
    assert opened(desk.folder, existing=True).releases[1] == desk.release
    assert not list(desk.folder.glob(".*.part"))


def refused(act: Callable[[], object]) -> DpvizError:
    with pytest.raises(DpvizError, match="takes the place of a ledger") as said:
        act()
    assert said.value.next_step == "choose another name"
    return said.value


@pytest.mark.parametrize("writer", WRITERS)
def test_whatever_writes_refuses_a_ledger_and_the_files_that_belong_to_it(desk: Desk, writer: str) -> None:
    """Under every name; while the ledger is open, and as a process that never opened it."""
    desk.session.ledger.detach()
    places = [desk.ledger.with_name(desk.ledger.name + ending) for ending in ENDINGS]
    names = [name(place) for place in places for name in (as_it_is, linked, relative, through_a_folder)]
    for name in names:
        refused(lambda name=name: WRITERS[writer](desk, name))  # type: ignore[misc]
    assert Call(lambda: _in_a_child(desk, writer, names)).result() == ["refused"] * len(names)
    kept(desk)


def _in_a_child(desk: Desk, writer: str, paths: list[Path]) -> list[str]:
    files._kept.clear()  # as in a process that never opened the ledger
    said = []
    for path in paths:
        try:
            WRITERS[writer](desk, path)
            said.append("written")
        except ParameterError as error:
            said.append("refused" if "takes the place of a ledger" in str(error) else str(error))
    return said


@pytest.mark.parametrize("ending", ["", "-lock"])
def test_a_second_name_of_the_same_file_is_refused_too(desk: Desk, ending: str) -> None:
    place = desk.ledger.with_name(desk.ledger.name + ending)
    other = hard(place)
    for writer in WRITERS.values():
        refused(lambda writer=writer: writer(desk, other))  # type: ignore[misc]
    assert os.path.samefile(place, other)
    other.unlink()
    kept(desk)


@pytest.mark.parametrize("ending", ["-LOCK", "-Journal"])
def test_another_case_is_refused_where_a_file_system_may_take_it_for_the_same_name(desk: Desk, ending: str) -> None:
    refused(lambda: desk.release.save(desk.ledger.with_name(desk.ledger.name + ending)))


def test_the_place_of_a_ledger_that_was_moved_away_stays_its_place(desk: Desk) -> None:
    away = desk.folder / "away.ledger"
    desk.session.ledger.detach()
    desk.ledger.rename(away)
    for writer in WRITERS.values():
        for place in (desk.ledger, away, desk.folder / "visits.ledger-lock"):
            refused(lambda writer=writer, place=place: writer(desk, place))  # type: ignore[misc]
    assert Call(lambda: _in_a_child(desk, "save", [desk.ledger])).result() == ["refused"]  # for the note is there
    away.rename(desk.ledger)
    kept(desk)


def test_an_emptied_note_of_an_open_ledger_is_not_replaced_under_a_second_name(desk: Desk) -> None:
    lock = desk.folder / "visits.ledger-lock"
    lock.write_bytes(b"")
    refused(lambda: desk.release.save(hard(lock)))


def test_what_this_machine_remembers_is_not_replaced(desk: Desk) -> None:
    folder = memory.folder_of_state()
    assert folder is not None
    folder.mkdir(parents=True, exist_ok=True)
    refused(lambda: desk.release.save(folder / "visits.json"))
    elsewhere = desk.folder / "a.json"
    elsewhere.write_bytes(files.MEMORY + b"more")
    refused(lambda: desk.release.save(elsewhere))


@pytest.mark.parametrize("ending", ENDINGS[1:])
def test_neither_a_backup_nor_another_ledger_lies_where_a_file_of_a_ledger_does(
    desk: Desk, ending: str, capsys: pytest.CaptureFixture[str]
) -> None:
    place = desk.ledger.with_name(desk.ledger.name + ending)
    before = place.read_bytes() if place.exists() else None
    for act in (
        lambda: desk.session.ledger.backup(place),
        lambda: opened(desk.folder, place.name),
        lambda: opened(desk.folder, linked(place).name),
    ):
        with pytest.raises(LedgerError, match="file of another ledger"):
            act()
    assert cli.main(["ledger", "backup", str(desk.ledger), str(place)]) == cli.REFUSED
    assert "file of another ledger" in capsys.readouterr().err
    if ending != "-lock":  # the turns go on there
        assert (place.read_bytes() if place.exists() else None) == before
    kept(desk)


def test_a_backup_is_a_ledger_and_is_never_replaced(desk: Desk) -> None:
    copy = desk.folder / "visits.backup"
    desk.session.ledger.backup(copy)
    for writer in WRITERS.values():
        refused(lambda writer=writer: writer(desk, copy))  # type: ignore[misc]
    with pytest.raises(LedgerError, match="never overwrites"):
        desk.session.ledger.backup(copy)


def test_every_other_file_is_written_and_written_again(desk: Desk) -> None:
    proper = {"save": "json", "CSV": "csv", "chart": "json", "picture": "svg"}
    for name, writer in WRITERS.items():
        path = desk.folder / f"{name}.{proper.get(name, 'html')}"
        for _ in range(2):
            writer(desk, path)
            assert path.stat().st_size > 100
    (desk.folder / "my-lock").write_text("a list of locks")
    desk.release.to_csv(desk.folder / "my-lock")  # no ledger is called "my"
    (desk.folder / "package-lock").write_text('{"name": "page"}')
    desk.release.to_csv(desk.folder / "package")
    assert not list(desk.folder.glob(".*.part"))


def test_a_chart_that_cannot_be_written_leaves_the_file_that_was_there(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = desk.folder / "visits.svg"
    path.write_text("kept")

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", full)
    with pytest.raises(ParameterError, match="No space"):
        desk.release.chart().save(path)
    assert path.read_text() == "kept"
    assert not list(desk.folder.glob(".*.part"))


def test_a_ledger_that_comes_while_a_file_is_written_is_not_replaced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place, link = tmp_path / "visits.ledger", os.link

    def late(draft: Path, path: Path) -> None:
        monkeypatch.setattr(os, "link", link)
        if path == place:
            opened(tmp_path)
        link(draft, path)

    monkeypatch.setattr(os, "link", late)
    with pytest.raises(ParameterError, match="takes the place of a ledger"):
        files.write(place, b"a release", "a release", "visits.json")
    assert opened(tmp_path, existing=True).is_new is False or place.read_bytes()[:6] == b"SQLite"


def test_an_open_ledger_is_read_by_nothing_but_sqlite(desk: Desk) -> None:
    """Another descriptor that is closed would drop the locks that a write of this process holds."""
    for act in (
        lambda: dv.load(desk.ledger),
        lambda: dv.load(linked(desk.ledger)),
        lambda: dv.sources.duckdb(desk.ledger),
    ):
        with pytest.raises(DpvizError, match="open ledger"):
            act()


@pytest.fixture(autouse=True)
def a_state_of_its_own(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path_factory.mktemp("state")))
    yield


DATA: dict[str, Callable[[Path], Path]] = {
    "CSV": lambda folder: _written(folder / "visits.csv", lambda at: at.write_text("x\n1\n2\n")),
    "Parquet": lambda folder: _written(folder / "visits.parquet", pd.DataFrame({"x": [1, 2]}).to_parquet),
}


def _written(path: Path, write: Callable[[Path], object]) -> Path:
    write(path)
    return path


FORMATS = {"save": "json", "CSV": "csv", "report": "html", "chart": "json", "picture": "svg", "plan": "html"}
"""The ending that each writer takes."""


@pytest.mark.parametrize("data", DATA)
@pytest.mark.parametrize("writer", WRITERS)
def test_whatever_writes_refuses_the_data_that_a_session_counts_in(
    desk: Desk, tmp_path: Path, writer: str, data: str
) -> None:
    folder = tmp_path / "data"
    folder.mkdir()
    path = DATA[data](folder)
    before = path.read_bytes()
    session = dv.Session(path, dv.Unit(), dv.Budget(2), tmp_path / "another.ledger")
    link, other = folder / f"link.{FORMATS[writer]}", folder / f"other.{FORMATS[writer]}"
    link.symlink_to(path)
    os.link(path, other)
    for name in (link, other, relative(link)):
        with pytest.raises(ParameterError, match="takes the place of a file that a session counts in"):
            WRITERS[writer](desk, name)
    assert path.read_bytes() == before
    assert len(session.release(BINS, dv.Dense(1)).values) == BINS.size


def test_data_that_nobody_counts_in_are_like_any_other_file(desk: Desk, tmp_path: Path) -> None:
    path = tmp_path / "visits.csv"
    path.write_text("x\n1\n2\n")
    desk.release.to_csv(path)
    assert path.read_text() != "x\n1\n2\n"
