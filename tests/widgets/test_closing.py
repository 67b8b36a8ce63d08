"""The page of a session closes ends by the first profile of its ledger that is about the counts."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import dpviz as dv
from dpviz.widgets import closing
from dpviz.widgets.session_model import SessionModel

ROWS = pd.DataFrame({"user": ["a", "a", "a", "b", "b", "c"] * 9, "month": [1, 2, 3, 1, 2, 3] * 9})
MONTHS = dv.Domain.integers(1, 3, column="month")


@pytest.fixture
def session(tmp_path: Path) -> dv.Session:
    return dv.Session(ROWS, dv.Unit("user"), dv.Budget(epsilon="90"), tmp_path / "a.ledger")


def result(session: dv.Session) -> Any:
    """The result that a page shows first: that of the newest release."""
    return json.loads(SessionModel(session).mirrors()["result"])


def profile(session: dv.Session, **options: Any) -> dv.Release:
    return session.release(dv.Question.contribution_profile(MONTHS, **options), dv.Dense(1, clamp=False), key="p")


def test_counts_without_a_profile_keep_their_open_ends(session: dv.Session) -> None:
    session.release(MONTHS, dv.Dense(1))
    assert "asked" not in result(session)


def test_a_profile_that_was_bought_before_closes_them(session: dv.Session) -> None:
    first = profile(session)
    counts = session.release(MONTHS, dv.Dense(1))
    found = result(session)["asked"]
    assert found["ends"]["0.05"]["one"]["low"] == [str(end) for end in counts.closed_by(first).to_frame()["low"]]
    assert found["python"] == "session.releases[2].closed_by(session.releases[1])"


def test_one_that_was_bought_with_the_counts_or_with_other_counts_closes_them(session: dv.Session) -> None:
    session.release(MONTHS, dv.Dense(1), over=dv.Dense(1, clamp=False))
    assert result(session)["asked"]["python"] == "session.releases[1].closed_by()"
    session.release(MONTHS, dv.Dense(2))
    assert result(session)["asked"]["python"] == "session.releases[2].closed_by(session.releases[1].profile)"


def test_a_later_profile_is_not_taken_in_place_of_the_first(session: dv.Session) -> None:
    profile(session, over=2)  # says nothing of a limit of 1
    profile(session)
    session.release(MONTHS, dv.Dense(1))
    assert "asked" not in result(session)


def test_a_profile_with_another_filter_closes_nothing(session: dv.Session) -> None:
    session.release(dv.Question.contribution_profile(MONTHS, where={"user": "a"}), dv.Dense(1, clamp=False))
    session.release(MONTHS, dv.Dense(1))
    assert "asked" not in result(session)


def test_where_the_page_knows_the_latest_entries_alone_nobody_says_which_profile_was_the_first(
    session: dv.Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    profile(session)
    session.release(MONTHS, dv.Dense(1))
    monkeypatch.setattr(closing, "HISTORY", 2)
    assert "asked" not in result(session)
    monkeypatch.setattr(closing, "HISTORY", 3)
    assert "asked" in result(session)
