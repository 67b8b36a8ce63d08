"""Whatever is known of an earlier ledger is named, and going on without it takes a word: every state, and what follows.

What can know: the note in the `-lock` file beside a ledger, and this machine, by place, by chain and by data set.
"""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import dpviz as dv
from dpviz.errors import LedgerError
from dpviz.session.ledger import Ledger, following, memory
from dpviz.session.ledger.locations import locate
from dpviz.session.session import Session
from tests.killing import Call
from tests.ledger.test_refusals import in_our_words
from tests.ledger.tools import opened, spend

OUTCOMES = {
    "starts": "a new ledger is started, as for somebody who comes for the first time",
    "opens": "the ledger is opened, and goes on",
    "earlier": "refused: no ledger is there, and what is known of the earlier one is named",
    "older": "refused: the ledger is an older copy, and what this machine remembers of the latest is named",
    "put back": "refused: the ledger is older than the note beside it says",
    "another": "refused: the ledger is not the one that was here, which is named",
    "emptied": "refused: the note was emptied, and nobody knows whether the ledger is the latest",
    "no note": "refused, whatever word is given: what lies in the place of the note is none, and is not written to",
}

SAID = {
    "earlier": "no ledger is at .* (rows|not how far)",
    "older": "is an older copy or another branch, for this machine remembers",
    "put back": "older than what was written in this place",
    "another": "is not the one that was here",
    "emptied": "was emptied, so nothing tells whether",
    "no note": "is a file of its own that dpviz made",
}

ALWAYS_NONE = dict.fromkeys(("a folder", "a link", "a hard link", "damaged"), ("no note", "no note", "no note"))

#        the -lock file      the machine knows, does not know, cannot read what it kept
TABLE: dict[str, dict[str, tuple[str, str, str]]] = {
    "absent": {
        "absent": ("earlier", "starts", "earlier"),
        "good": ("earlier", "earlier", "earlier"),
        "emptied": ("earlier", "earlier", "earlier"),
        "another ledger's": ("earlier", "earlier", "earlier"),
        **ALWAYS_NONE,
    },
    "present": {
        "absent": ("opens", "opens", "opens"),
        "good": ("opens", "opens", "opens"),
        "emptied": ("opens", "emptied", "emptied"),
        "another ledger's": ("another", "another", "another"),
        **ALWAYS_NONE,
    },
    "an older copy": {
        "absent": ("older", "opens", "opens"),  # where nobody knows, nobody can tell
        "good": ("put back", "put back", "put back"),
        "emptied": ("older", "emptied", "emptied"),
        "another ledger's": ("another", "another", "another"),
        **ALWAYS_NONE,
    },
    "another ledger": {
        "absent": ("another", "opens", "another"),
        "good": ("another", "another", "another"),
        "emptied": (
            "another",
            "opens",
            "another",
        ),  # the machine knows it from its own place, and that it is the latest
        "another ledger's": ("another", "another", "another"),
        **ALWAYS_NONE,
    },
}
MEMORIES = ("knows", "does not know", "unreadable")

CASES = [
    pytest.param(ledger, lock, remembered, outcome, id=f"ledger {ledger}, lock {lock}, machine {remembered}: {outcome}")
    for ledger, locks in TABLE.items()
    for lock, outcomes in locks.items()
    for remembered, outcome in zip(MEMORIES, outcomes, strict=True)
]


@pytest.fixture(autouse=True)
def a_state_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is remembered is this test's own, and its folder is not the one for temporary files."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    (tmp_path / "tmp").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "tmp"))


def kept() -> list[Path]:
    folder = memory.folder_of_state()
    return [] if folder is None or not folder.is_dir() else sorted(folder.glob("*.known"))


def charged(path: Path, *keys: str) -> None:
    ledger = opened(path)
    for one in keys:
        spend(ledger, one)
    ledger.detach()


def arranged(folder: Path, ledger: str, lock: str, remembered: str) -> Path:
    """A ledger that was charged twice, and what became of it, of the file beside it, and of what is remembered."""
    path, beside = folder / "visits.ledger", folder / "visits.ledger-lock"
    other, third = folder / "elsewhere" / "other.ledger", folder / "elsewhere" / "third.ledger"
    other.parent.mkdir()
    charged(path, "a")
    older = path.read_bytes()
    charged(path, "b")
    mine = kept()
    for one in (other, third):
        charged(one, "c")
    if ledger == "absent":
        path.unlink()
    elif ledger == "an older copy":
        path.write_bytes(older)
    elif ledger == "another ledger":
        path.write_bytes(other.read_bytes())
    if lock in ("absent", "a folder"):
        beside.unlink()
    if lock == "emptied":
        beside.write_bytes(b"")
    elif lock == "a folder":
        beside.mkdir()
    elif lock == "a link":
        beside.rename(folder / "linked")
        beside.symlink_to(folder / "linked")
    elif lock == "a hard link":
        os.link(beside, folder / "linked")
    elif lock == "another ledger's":
        shutil.copy(third.with_name("third.ledger-lock"), beside)
    elif lock == "damaged":
        beside.write_bytes(b'{"release": ' + beside.read_bytes())
    if remembered == "does not know":
        for file in mine:
            file.unlink()
    elif remembered == "unreadable":
        for file in mine:
            file.write_bytes(b"\xff" * 30)
    return path


@pytest.mark.parametrize(("ledger", "lock", "remembered", "outcome"), CASES)
def test_what_follows_from_every_state(tmp_path: Path, ledger: str, lock: str, remembered: str, outcome: str) -> None:
    path = arranged(tmp_path, ledger, lock, remembered)
    before = state(path)
    if outcome in ("starts", "opens"):
        assert opened(path).is_new == (outcome == "starts")
        spend(opened(path), "later")
        return
    with pytest.raises(LedgerError, match=SAID[outcome]) as refused:
        opened(path)
    in_our_words(refused.value)
    assert state(path) == before  # nothing was written: no ledger begun, no note blanked, nothing forgotten
    if outcome == "no note":
        with pytest.raises(LedgerError, match=SAID[outcome]):
            opened(path, existing=False)
        assert state(path) == before
        beside = path.with_name("visits.ledger-lock")
        beside.rename(tmp_path / "moved away")
        if (tmp_path / "linked").exists():
            (tmp_path / "linked").unlink()
        known = TABLE[ledger]["absent"][MEMORIES.index(remembered)]
        if known not in ("starts", "opens"):
            with pytest.raises(LedgerError, match=SAID[known]):
                opened(path)
    else:
        assert "existing=False" in str(refused.value)
    gone_on = opened(path, existing=False)
    spend(gone_on, "later")
    gone_on.detach()
    spend(opened(path), "and again")  # the word is said once
    assert opened(path).verify().charges == (2 if ledger == "absent" else 4 if ledger == "present" else 3)


def state(path: Path) -> dict[str, Any]:
    """All files of the folder and what is remembered, but for who took a turn, and what SQLite leaves beside a ledger
    that it looked at."""
    return {
        str(file): file.read_bytes()[: 256 if file.name.endswith("-lock") else None]
        for file in path.parent.rglob("*")
        if file.is_file() and "journal" not in file.name
    }


def test_every_state_is_in_the_table() -> None:
    assert {outcome for locks in TABLE.values() for three in locks.values() for outcome in three} == set(OUTCOMES)
    assert len({frozenset(locks) for locks in TABLE.values()}) == 1


# ---------------------------------------------------------------- what is named


def test_the_refusal_names_how_far_the_ledger_had_come_and_where(tmp_path: Path) -> None:
    path = arranged(tmp_path, "absent", "good", "knows")
    chain = json.loads(path.with_name("visits.ledger-lock").read_bytes()[:256])["chain"]
    with pytest.raises(LedgerError) as refused:
        opened(path)
    assert f"a ledger of 5 rows (chain {chain[:8]}…) at {path}" in str(refused.value)
    path.with_name("visits.ledger-lock").unlink()
    with pytest.raises(LedgerError, match="this machine remembers a ledger of 5 rows"):
        opened(path)
    with pytest.raises(LedgerError, match="this machine remembers"):
        opened(path, existing=True)


def test_an_older_copy_in_another_folder_is_refused_and_the_latest_is_not(tmp_path: Path) -> None:
    path, other = tmp_path / "visits.ledger", tmp_path / "other" / "visits.ledger"
    other.parent.mkdir()
    charged(path, "a")
    shutil.copy(path, other)
    charged(path, "b")
    with pytest.raises(LedgerError, match=f"older copy or another branch.* at {path}"):
        opened(other)
    assert Ledger.read(other).verify().charges == 1  # for looking it is as good as any
    shutil.copy(path, other)
    spend(opened(other), "c")
    with pytest.raises(LedgerError, match="older copy or another branch"):  # now the first is behind
        opened(path)
    spend(opened(path, existing=False), "d")
    with pytest.raises(LedgerError, match="older copy or another branch"):  # each has rows that the other lacks
        opened(other)


def test_a_ledger_that_was_moved_goes_on_in_its_new_place(tmp_path: Path) -> None:
    path, other = tmp_path / "visits.ledger", tmp_path / "renamed.ledger"
    charged(path, "a")
    path.rename(other)
    spend(opened(other), "b")
    with pytest.raises(LedgerError, match="no ledger is at"):
        opened(path)


def test_a_ledger_in_which_nothing_was_charged_is_no_loss(tmp_path: Path) -> None:
    path = tmp_path / "visits.ledger"
    opened(path).detach()
    path.unlink()
    assert opened(path).is_new
    path.unlink()
    path.with_name("visits.ledger-lock").unlink()
    spend(opened(path), "a")


def test_who_began_anew_is_still_told_of_an_older_copy_of_the_first(tmp_path: Path) -> None:
    path, copy = tmp_path / "visits.ledger", tmp_path / "copy.ledger"
    charged(path, "a")
    shutil.copy(path, copy)
    charged(path, "b")
    path.unlink()
    spend(opened(path, existing=False), "c")
    with pytest.raises(LedgerError, match="older copy or another branch"):
        opened(copy)


def test_a_killed_opening_of_a_ledger_without_a_note_is_no_emptied_note(tmp_path: Path) -> None:
    """The turn was taken and nothing noted yet."""
    path = arranged(tmp_path, "present", "good", "does not know")
    beside = path.with_name("visits.ledger-lock")
    content = beside.read_bytes()
    beside.write_bytes(bytes(256) + content[256:])
    spend(opened(path), "later")


# ---------------------------------------------------------------- by data set


def session(path: Path, *, dataset: str | None = "visits", columns: str = "x", **more: Any) -> Session:
    frame = pd.DataFrame({name: [0, 1, 1, 3] * 30 for name in columns})
    return Session(frame, dv.Unit(), dv.Budget(100), path, dataset=dataset, **more)


def test_another_ledger_about_the_same_data_set_takes_a_word(tmp_path: Path) -> None:
    first, second = tmp_path / "first.ledger", tmp_path / "second.ledger"
    asked = dv.Domain.integers(0, 3, column="x"), dv.Dense(1)
    session(first).release(*asked)
    for more in ({}, {"existing": True}):
        with pytest.raises(LedgerError, match=f"about the same data set, a ledger of 3 rows .* at {first}"):
            session(second, **more)
    assert not second.exists()
    session(second, dataset="cities")  # another data set
    session(tmp_path / "third.ledger", columns="xy")  # another schema, so another data set
    session(tmp_path / "fourth.ledger", existing=False).release(*asked)
    session(tmp_path / "fourth.ledger")
    session(first)


@pytest.mark.parametrize("dataset", [None, "data"])
def test_a_frame_without_a_name_is_any_data(tmp_path: Path, dataset: str | None) -> None:
    asked = dv.Domain.integers(0, 3, column="x"), dv.Dense(1)
    for name in ("a", "b"):
        session(tmp_path / f"{name}.ledger", dataset=dataset).release(*asked)


def test_the_public_data_are_for_any_number_of_lessons(tmp_path: Path) -> None:
    for name in ("a", "b"):
        lesson = Session(dv.datasets.doctor_visits(), dv.Unit(), dv.Budget(1), tmp_path / f"{name}.ledger")
        lesson.release(dv.Domain.integers(0, 3, column="visits"), dv.Dense("0.1"))


@pytest.mark.parametrize("given", ["no", 0, 1])
def test_the_word_is_true_or_false(tmp_path: Path, given: Any) -> None:
    with pytest.raises(dv.errors.ParameterError, match="existing must be True or False"):
        session(tmp_path / "a.ledger", existing=given)


# ---------------------------------------------------------------- in the folder for temporary files


@pytest.fixture
def passing(tmp_path: Path) -> Path:
    folder = tmp_path / "tmp" / "of a program"
    folder.mkdir()
    return folder


@pytest.mark.parametrize("name", ["visits", None])
def test_a_program_that_removes_its_temporary_folder_begins_again(passing: Path, name: str | None) -> None:
    asked = dv.Domain.integers(0, 3, column="x"), dv.Dense(1)
    for _ in range(2):
        for place in ("a.ledger", "b.ledger"):
            session(passing / place, dataset=name).release(*asked)
        shutil.rmtree(passing)
        passing.mkdir()
    assert kept() == []


def test_a_long_temporary_ledger_that_was_removed_is_forgotten(passing: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is remembered of a check, so that opening is quick, is no reason to refuse either."""
    monkeypatch.setattr(following, "LEAST", 4)
    monkeypatch.setattr(following, "STEP", 3)
    path = passing / "visits.ledger"
    charged(path, *range(10))
    memory_ = memory.Place(locate(path).identity)
    assert memory_.load() is not None
    shutil.rmtree(passing)
    passing.mkdir()
    assert opened(path).is_new
    assert memory_.load() is None


def test_the_note_beside_a_temporary_ledger_counts_as_everywhere(passing: Path) -> None:
    path = passing / "visits.ledger"
    charged(path, "a")
    path.unlink()
    with pytest.raises(LedgerError, match="the -lock file beside it notes a ledger of 3 rows"):
        opened(path)
    assert opened(path, existing=False).is_new


def test_an_opening_brings_a_note_up_to_date_that_a_killed_program_left_behind(passing: Path) -> None:
    """Between a write and its note a program may end; an older copy is an older copy all the same."""
    path = passing / "visits.ledger"
    beside = path.with_name("visits.ledger-lock")
    charged(path, "a", "b")
    older, noted = path.read_bytes(), beside.read_bytes()
    charged(path, "c")
    beside.write_bytes(noted)
    opened(path).detach()
    path.write_bytes(older)
    with pytest.raises(LedgerError, match="older"):
        opened(path)


def test_a_ledger_that_lasts_is_named_to_one_that_does_not(tmp_path: Path, passing: Path) -> None:
    session(tmp_path / "visits.ledger").release(dv.Domain.integers(0, 3, column="x"), dv.Dense(1))
    with pytest.raises(LedgerError, match="this machine remembers, about the same data set"):
        session(passing / "visits.ledger")
    session(passing / "visits.ledger", dataset="cities")


def test_a_temporary_copy_of_a_ledger_that_lasts_is_remembered(tmp_path: Path, passing: Path) -> None:
    path, copy = tmp_path / "visits.ledger", passing / "copy.ledger"
    charged(path, "a")
    shutil.copy(path, copy)
    charged(copy, "b")
    with pytest.raises(LedgerError, match=f"older copy or another branch.* at {copy}"):
        opened(path)


def test_a_working_folder_is_not_taken_for_a_temporary_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Python names it as the temporary folder where no other can be written."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    charged(tmp_path / "visits.ledger", "a")
    assert len(kept()) == 1


def test_a_system_without_a_temporary_folder_refuses_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "gettempdir", lambda: (_ for _ in ()).throw(FileNotFoundError("none")))
    charged(tmp_path / "visits.ledger", "a")
    assert len(kept()) == 1


# ---------------------------------------------------------------- where nothing can be remembered


def no_home(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("XDG_STATE_HOME")
    monkeypatch.setenv("HOME", "")
    monkeypatch.setattr(Path, "home", lambda: (_ for _ in ()).throw(RuntimeError("no home")))


def a_file_in_the_way(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "state").write_text("a file")


def read_only(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """As it is for root, too, who may write everywhere."""
    folder, open_, mkdir = tmp_path / "state", os.open, Path.mkdir

    def refused(path: Any, flags: int, *more: Any, **options: Any) -> int:
        if str(path).startswith(str(folder)) and flags & (os.O_WRONLY | os.O_RDWR | os.O_CREAT):
            raise PermissionError(13, "Permission denied")
        return open_(path, flags, *more, **options)

    def not_made(path: Path, *more: Any, **options: Any) -> None:
        if str(path).startswith(str(folder)):
            raise PermissionError(13, "Permission denied")
        mkdir(path, *more, **options)

    monkeypatch.setattr(os, "open", refused)
    monkeypatch.setattr(Path, "mkdir", not_made)


@pytest.mark.parametrize("place", [no_home, a_file_in_the_way, read_only], ids=lambda place: place.__name__)
def test_a_machine_that_can_remember_nothing_works_and_the_note_still_counts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, place: Callable[[pytest.MonkeyPatch, Path], None]
) -> None:
    place(monkeypatch, tmp_path)
    path = tmp_path / "visits.ledger"
    charged(path, "a")
    charged(path, "b")
    assert kept() == []
    path.unlink()
    with pytest.raises(LedgerError, match="the -lock file beside it notes a ledger of 5 rows"):
        opened(path)
    path.with_name("visits.ledger-lock").unlink()
    assert opened(path).is_new  # nobody knows


def test_what_another_program_puts_aside_while_somebody_looks_is_no_reason_to_refuse(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = arranged(tmp_path, "absent", "absent", "knows")
    found = os.listdir(str(memory.folder_of_state()))
    for file in kept():
        file.unlink()
    monkeypatch.setattr(os, "listdir", lambda folder: found)  # as it was a moment ago
    assert opened(path).is_new


def test_kernels_that_begin_at_once_all_find_the_one_ledger(tmp_path: Path) -> None:
    path = tmp_path / "visits.ledger"

    def begun(name: int) -> str:
        spend(opened(path), name)
        return "charged"

    assert [one.result() for one in [Call(lambda name=name: begun(name)) for name in range(4)]] == ["charged"] * 4
    assert opened(path).verify().charges == 4
