"""Every write to an SQLite ledger waits for the disk."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import pytest

import dpviz as dv
from dpviz.session.ledger import sqlite
from dpviz.session.session import Session
from tests.session.sources import KnownCounts

ASKED = {"synchronous": 3, "fullfsync": 1, "checkpoint_fullfsync": 1, "journal_mode": "persist"}
"""3 is EXTRA: the journal's folder is flushed as well, so that no commit comes back after the power was cut."""


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """The ledgers that were opened for writing; each writer is held against what is asked before it writes."""
    writers, plain = list[Path](), sqlite._connect

    def connect(path: Path, *, writable: bool):  # type: ignore[no-untyped-def]
        connection = plain(path, writable=writable)
        if writable:
            found = {name: connection.execute(f"PRAGMA {name}").fetchone()[0] for name in ASKED}
            assert found == ASKED
            writers.append(path)
        return connection

    monkeypatch.setattr(sqlite, "_connect", connect)
    return writers


def test_each_connection_that_writes_waits_for_the_disk(opened: list[Path], tmp_path: Path) -> None:
    path = tmp_path / "visits.ledger"
    for number in (1, 2):
        it = Session(KnownCounts([5, 0, 70, 3]), dv.Unit(noun="person"), dv.Budget(2), path)
        assert it.release(dv.Domain.integers(0, 3, column="x"), dv.Dense("1/2"), key=str(number)).number == number
        it.ledger.detach()
    assert opened.count(path) >= 2


def test_one_that_does_not_wait_would_be_seen(
    opened: list[Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sqlite, "_DURABLE", ("synchronous=FULL", *sqlite._DURABLE[1:]))
    with pytest.raises(AssertionError):
        Session(KnownCounts([5, 0, 70, 3]), dv.Unit(noun="person"), dv.Budget(2), tmp_path / "visits.ledger")
    assert opened == []


def test_a_log_that_an_older_dpviz_left_is_put_back_as_surely(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    path, asked = tmp_path / "old.db", list[str]()
    with closing(sqlite._open(_made(path), "mode=rw")) as connection:
        connection.execute("PRAGMA journal_mode=WAL")
    plain = sqlite._open

    def traced(place: Path, how: str):  # type: ignore[no-untyped-def]
        connection = plain(place, how)
        connection.set_trace_callback(asked.append)
        return connection

    monkeypatch.setattr(sqlite, "_open", traced)
    sqlite._without_log(path)
    first = asked.index("PRAGMA journal_mode=PERSIST")
    assert {f"PRAGMA {pragma}" for pragma in sqlite._DURABLE} <= set(asked[:first])


def _made(path: Path) -> Path:
    with closing(sqlite._open(path, "mode=rwc")) as connection:
        connection.execute("CREATE TABLE here (x INTEGER)")
    return path
