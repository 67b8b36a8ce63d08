"""A page without a question shows a suggestion: nothing is bought for bins that nobody declared."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import dpviz as dv
from dpviz.widgets.session_model import SessionModel
from tests.widgets.test_session_model import Page

FRAMES = {
    "a number": pd.DataFrame({"x": [1, 2, 44]}),
    "a text": pd.DataFrame({"x": ["north", "south"]}),
    "a date": pd.DataFrame({"x": pd.to_datetime(["2020-02-03"])}),
}
DECLARED: dict[str, dict[str, Any]] = {
    "a number": {"kind": "integers", "low": "0", "high": "9", "underflow": True, "overflow": True, "missing": False},
    "a text": {"kind": "categories", "labels": ["a", "b"], "other": True, "missing": False},
    "a date": {
        "kind": "times",
        "start": "2016",
        "end": "2026",
        "by": "year",
        "underflow": True,
        "overflow": True,
        "missing": False,
    },
}
"""The same bins as those that are suggested, declared on the page."""


def opened(tmp_path: Path, kind: str) -> tuple[dv.Session, Page]:
    session = dv.Session(FRAMES[kind], dv.Unit("row"), dv.Budget(2, delta="1e-6"), tmp_path / "a.ledger")
    return session, Page(SessionModel(session))


def args_of(sheet: dict[str, Any], question: dict[str, Any] | None = None) -> dict[str, Any]:
    made = sheet["mechanism"]
    asked = {"id": sheet["question"]["id"]} if question is None else question
    return {"question": asked, "mechanism": made["name"], "parameters": {**made["parameters"], "epsilon": "0.5"}}


def paid(sheet: dict[str, Any], question: dict[str, Any] | None = None) -> dict[str, Any]:
    price = sheet["now"]["price"]
    said = {"epsilon": price["epsilon"], "delta": price["delta"]}
    return {**args_of(sheet, question), "price": said, "key": None}


@pytest.mark.parametrize("kind", FRAMES)
def test_nothing_is_bought_for_bins_that_nobody_declared(tmp_path: Path, kind: str) -> None:
    session, page = opened(tmp_path, kind)
    sheet = json.loads(page.sheet)
    assert sheet["suggested"] is True
    assert json.loads(page.state)["questions"] == []
    again = page.ask("plan", **args_of(sheet))["body"]["sheet"]
    assert again["suggested"] is True, "another price of a suggestion is one, too"
    refused = page.ask("release", **paid(again))
    assert refused["error"]["kind"] == "Forbidden" and "nobody declared the bins" in refused["error"]["message"]
    assert session.ledger.entries() == [] and session.remaining.epsilon == 2


@pytest.mark.parametrize("kind", FRAMES)
def test_bins_that_were_declared_are_a_question_even_where_they_are_those_suggested(tmp_path: Path, kind: str) -> None:
    session, page = opened(tmp_path, kind)
    first = json.loads(page.sheet)
    sheet = page.ask("plan", **args_of(first, {"column": "x", **DECLARED[kind]}))["body"]["sheet"]
    assert sheet["question"]["id"] == first["question"]["id"] and "suggested" not in sheet
    assert [one["id"] for one in json.loads(page.state)["questions"]] == [sheet["question"]["id"]]
    assert "suggested" not in page.ask("plan", **args_of(sheet))["body"]["sheet"]
    assert page.ask("release", **paid(sheet))["ok"]
    assert len(session.ledger.entries()) == 1


def test_nothing_is_bought_for_a_suggestion_in_each_of_some_parts(tmp_path: Path) -> None:
    frame = pd.DataFrame({"x": [1, 2], "k": ["a", "b"]})
    session = dv.Session(frame, dv.Unit("row"), dv.Budget(2), tmp_path / "a.ledger")
    page = Page(SessionModel(session))
    sheet = json.loads(page.sheet)
    parts = {"column": "k", "kind": "categories", "labels": ["a", "b"], "other": False, "missing": False}
    each = {"kind": "each", "of": {"id": sheet["question"]["id"]}, "by": parts, "most": ""}
    planned = page.ask("plan", **args_of(sheet, each))["body"]["sheet"]
    assert planned["suggested"] is True and json.loads(page.state)["questions"] == []
    order = {**paid(planned, each), "way": planned["way"]}
    assert "nobody declared the bins" in page.ask("release", **order)["error"]["message"]
    assert session.ledger.entries() == []


def test_a_suggestion_is_no_part_of_a_question_of_columns(tmp_path: Path) -> None:
    _, page = opened(tmp_path, "a number")
    sheet = json.loads(page.sheet)
    (factor,) = sheet["question"]["factors"]
    product = {"kind": "product", "of": {"id": sheet["question"]["id"]}, "factors": [{"id": factor["id"]}]}
    assert page.ask("plan", **args_of(sheet, product))["error"]["kind"] == "Forbidden"


def test_a_session_whose_question_is_known_or_given_suggests_nothing(tmp_path: Path) -> None:
    session, page = opened(tmp_path, "a number")
    bins = dv.Domain.integers(0, 3, column="x")
    given = Page(SessionModel(session, [bins]))
    assert "suggested" not in json.loads(given.sheet)
    session.release(bins, dv.Dense("0.5"))
    assert "suggested" not in json.loads(Page(SessionModel(session)).sheet)
    assert json.loads(page.sheet)["suggested"] is True, "the page that was open has asked for nothing yet"


def test_a_lesson_draws_nothing_for_a_suggestion(tmp_path: Path) -> None:
    page = Page(SessionModel(dv.teaching(FRAMES["a number"], 1, dv.Unit("row"))))
    sheet = json.loads(page.sheet)
    asked = {**args_of(sheet), "times": "1", "beta": "0.05"}
    assert "nobody declared the bins" in page.ask("lesson", **asked)["error"]["message"]
