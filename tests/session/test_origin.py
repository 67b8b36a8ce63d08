"""Whether the ledger that is named made a release: every part of the file is held against what the ledger stored."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import dpviz as dv
from dpviz.errors import LedgerCorrupt, LedgerError, ReleaseFormat
from dpviz.model.question import canonical
from dpviz.model.release import Release
from dpviz.session.session import Session
from tests.ledger.tools import respelled

BINS = dv.Domain.integers(0, 3, column="x")
PAY_WHAT_YOU_GET = dv.PayWhatYouGet(symbols=20, questions=10, epsilon="1", delta="1e-7")


def opened(folder: Path, name: str = "visits.ledger") -> Session:
    frame = pd.DataFrame({"x": [0, 1, 1, 3] * 30})
    return Session(frame, dv.Unit(), dv.Budget(100, "1e-3"), folder / name)


@pytest.fixture
def session(tmp_path: Path) -> Session:
    return opened(tmp_path)


def forged(path: Path, change: Callable[[dict[str, Any]], object]) -> Path:
    """The saved release with one part changed, and the digest made to fit."""
    body = json.loads(path.read_bytes())["release"]
    change(body)
    path.write_bytes(canonical({"release": body, "sha256": sha256(canonical(body)).hexdigest()}))
    return path


def test_a_release_of_the_session_says_so_and_a_loaded_one_does_not(session: Session, tmp_path: Path) -> None:
    release = session.release(BINS, dv.Dense(1))
    assert release.origin == session.releases[1].origin == session.release(BINS, dv.Dense(1)).origin == "session"
    assert "origin" not in repr(release)
    loaded = dv.load(release.save(tmp_path / "a.json"))
    assert loaded == release and loaded.origin == "unchecked" and "origin unchecked" in repr(loaded)


def test_the_ledger_that_made_it_confirms_it_however_it_is_given(session: Session, tmp_path: Path) -> None:
    path = session.release(BINS, dv.Dense(1)).save(tmp_path / "a.json")
    for ledger in (session, session.ledger, tmp_path / "visits.ledger", str(tmp_path / "visits.ledger")):
        loaded = dv.load(path, ledger=ledger)
        assert loaded.origin == "ledger visits.ledger" and "ledger visits.ledger" in repr(loaded)


def test_an_answer_of_a_sub_session_is_confirmed_by_its_use(session: Session, tmp_path: Path) -> None:
    sub = session.open(PAY_WHAT_YOU_GET)
    sub.ask("x", 2)
    answer = sub.ask("x", 1)
    assert answer.origin == "session" and answer.use == 2
    path = answer.save(tmp_path / "a.json")
    assert dv.load(path, ledger=session).origin == "ledger visits.ledger"
    for use in (1, 3):
        with pytest.raises((ReleaseFormat, LedgerError)):
            dv.load(forged(path, lambda body, use=use: body.update(use=use)), ledger=session)  # type: ignore[misc]


FORGED: dict[str, Callable[[dict[str, Any]], object]] = {
    "answer": lambda body: body["answer"]["values"].__setitem__(0, "918273"),
    "guarantee": lambda body: body["guarantee"].update(rule="918273"),
    "mechanism": lambda body: body["mechanism"]["parameters"].update(epsilon="0.001"),
    "question": lambda body: body["question"]["domain"].update(column="y"),
    "unit": lambda body: body["unit"].update(of="patient"),
    "dataset": lambda body: body.update(dataset="918273"),
    "key": lambda body: body.update(key="0" * 64),
    "randomness": lambda body: body.update(randomness="dice"),
    "number": lambda body: body.update(number=2),
}


@pytest.mark.parametrize("part", FORGED)
def test_a_forged_part_is_named_and_its_value_is_not(session: Session, tmp_path: Path, part: str) -> None:
    path = session.release(BINS, dv.Dense(1)).save(tmp_path / "a.json")
    session.release(BINS, dv.Dense(1), key="another")
    forged(path, FORGED[part])
    assert dv.load(path).origin == "unchecked"
    with pytest.raises(ReleaseFormat) as refused:
        dv.load(path, ledger=session)
    told = "key" if part == "number" else part  # the other entry has another key
    assert told in refused.value.value.split(", ")
    assert "918273" not in str(refused.value) and str(session.releases[1].values[0]) not in refused.value.value


def test_a_ledger_that_did_not_make_it_is_refused(session: Session, tmp_path: Path) -> None:
    path = session.release(BINS, dv.Dense(1)).save(tmp_path / "a.json")
    other = opened(tmp_path, "other.ledger")
    with pytest.raises(LedgerError, match="did not make this release"):
        dv.load(path, ledger=other)
    other.release(BINS, dv.Dense(1))
    with pytest.raises(ReleaseFormat):  # the same question and price, another draw
        dv.load(forged(path, lambda body: body["answer"]["values"].__setitem__(0, "999999")), ledger=other)
    draw = dv.teaching(pd.DataFrame({"x": [0, 1]}), 1).draw(BINS, dv.Dense(1))
    assert draw.origin == "teaching"
    with pytest.raises(LedgerError, match="teaching"):
        dv.load(draw.save(tmp_path / "draw.json"), ledger=session)


def test_a_damaged_ledger_confirms_nothing(session: Session, tmp_path: Path) -> None:
    path = session.release(BINS, dv.Dense(1)).save(tmp_path / "a.json")
    session.ledger.detach()
    respelled(tmp_path / "visits.ledger", 2, "Dense", "Tense")
    with pytest.raises(LedgerCorrupt):
        dv.load(path, ledger=tmp_path / "visits.ledger")


@pytest.mark.parametrize("given", [7, ["visits.ledger"], pd.Series([1]), dv.Unit()])
def test_what_is_no_ledger_is_refused(session: Session, tmp_path: Path, given: Any) -> None:
    path = session.release(BINS, dv.Dense(1)).save(tmp_path / "a.json")
    with pytest.raises(LedgerError):
        dv.load(path, ledger=given)


def test_a_report_says_beside_the_guarantee_where_its_releases_come_from(session: Session, tmp_path: Path) -> None:
    release = session.release(BINS, dv.Dense(1))
    path = release.save(tmp_path / "a.json")

    def said(items: list[Release], **more: Any) -> str:
        return dv.report(items, tmp_path / "report.html", **more).read_text()

    loaded, confirmed = dv.load(path), dv.load(path, ledger=session)
    assert "Origin checked: ledger visits.ledger holds every release" in said([release])
    assert "Origin checked: every release comes from the session that shows it." in said([copy.copy(release)])
    assert "Origin checked: every release comes from ledger visits.ledger." in said([confirmed])
    assert "Origin unchecked: this release was loaded from a file" in said([loaded])
    assert "Origin checked: ledger visits.ledger holds every release" in said([loaded], ledger=session)
    draw = dv.teaching(pd.DataFrame({"x": [0, 1]}), 1).draw(BINS, dv.Dense(1))
    assert "Origin" not in said([draw])
