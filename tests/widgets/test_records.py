"""Records in the page: a workbench plans them, shows one, and opens on whatever was drawn last."""

from __future__ import annotations

import json
from pathlib import Path

import pandas as pd
import pytest

import dpviz as dv
from dpviz.charts.picture import picture
from dpviz.model.question import Question
from tests.reports import pages

FRAME = pd.DataFrame({"kind": ["x", "y"] * 50, "seen": [0, 1] * 50})
KIND = Question.records([dv.Domain.categories(["x", "y"], column="kind")])
HUGE = Question.records([dv.Domain.integers(0, 2**64 - 1, column="seen")])
BITS = Question.records([dv.Domain.integers(0, 1, column="seen")])
TOO_MANY = Question.records([dv.Domain.integers(0, 2**70, column="seen")])


@pytest.fixture
def session(tmp_path: Path) -> dv.Session:
    unit = dv.Unit(relation="replace-one", n=100)
    return dv.Session(FRAME, unit, dv.Budget(5), tmp_path / "records.ledger", dataset="people")


def test_a_workbench_plans_records_with_a_sampler_that_can_draw_them(session: dv.Session) -> None:
    sheet = json.loads(dv.Workbench(session, KIND).sheet)
    assert sheet["mechanism"]["name"] == "SampleCategory" and sheet["question"]["sentence"].startswith("If one of the")
    (measure,) = sheet["measures"]
    assert measure["certain"] and sheet["now"]["errors"]["0.05"]["variation"]["kind"] == "bound"
    assert "SampleBounded" in [one["name"] for one in sheet["mechanisms"]]
    alone = json.loads(dv.Workbench(session, HUGE).sheet)
    assert alone["mechanism"]["parameters"]["draws"] == "one"


def test_a_page_shows_the_record_and_says_what_more_of_them_cost(session: dv.Session) -> None:
    release = session.release(KIND, dv.SampleCategory(1))
    shown = json.loads(dv.Workbench(session).result)
    assert shown["kind"] == "record" and shown["labels"] == [release.record["kind"]] and shown["more"] is True
    assert "not independent" in shown["remark"]
    alone = picture(session.release(BITS, dv.SampleBounded(1)))
    assert alone["more"] is False and "paid for anew" in alone["remark"]
    assert "seen" in release.chart().to_dict()["description"] or "kind" in release.chart().to_dict()["description"]


def test_a_workbench_opens_though_nothing_answers_the_last_question_at_its_defaults(session: dv.Session) -> None:
    session.release(KIND, dv.SampleCategory("1/2"))
    session.ledger.entries()
    known = dv.Workbench(session)
    assert json.loads(known.sheet)["question"]["id"] == KIND.id
    with pytest.raises(dv.DpvizError, match="Dense counts rows"):
        dv.Workbench(session, TOO_MANY)  # a question that is given is not passed over


def test_a_report_shows_a_record(session: dv.Session, tmp_path: Path) -> None:
    release = session.release(KIND, dv.SampleCategory("1/2"))
    page = pages.unpacked(dv.report([release], tmp_path / "a.html"))
    assert release.sentence in page and "dp-record" in page
