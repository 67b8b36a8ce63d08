"""A page draws further records from one that is paid: free, from what is stored, and only where that allows it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import dpviz as dv
from dpviz.model.question import Question
from dpviz.session.session import Session
from dpviz.widgets import drawing
from dpviz.widgets.session_model import SessionModel
from tests.widgets.pages import Wire, trait

ROWS = 100
FRAME = pd.DataFrame({"kind": ["x", "y"] * (ROWS // 2), "seen": [0, 1] * (ROWS // 2)})
KIND = dv.Domain.categories(["x", "y"], column="kind")
SEEN = dv.Domain.integers(0, 1, column="seen")
KINDS, PAIRS, BITS = Question.records([KIND]), Question.records([KIND, SEEN]), Question.records([SEEN])
SWAP = dv.Unit(relation="replace-one", n=ROWS)
SURE = "400"
"""With so large an epsilon a noise that is not 0 has a chance below 4 exp(-200)."""


@pytest.fixture
def session(tmp_path: Path) -> Session:
    return Session(FRAME, SWAP, dv.Budget(2000, "1e-4"), tmp_path / "draw.ledger")


def ask(model: Any, number: str = "1", count: str = "10") -> dict[str, Any]:
    reply = model.answer({"v": 1, "id": "1", "ask": "draw", "args": {"number": number, "count": count}})
    assert reply is not None
    return reply  # type: ignore[no-any-return]


def drawn(model: Any, number: str = "1", count: str = "10") -> dict[str, Any]:
    reply = ask(model, number, count)
    assert reply["ok"], reply
    body: dict[str, Any] = reply["body"]["drawn"]
    return body


def test_further_records_have_the_labels_of_the_question_and_cost_nothing(session: Session) -> None:
    session.release(PAIRS, dv.SampleCategory(1))
    model, left, entries = SessionModel(session), session.remaining, len(session.ledger.entries())
    body = drawn(model)
    assert (body["number"], body["columns"], body["drawn"]) == ("1", ["kind", "seen"], "10")
    assert len(body["records"]) == 10 and all(
        kind in ("x", "y") and seen in ("0", "1") for kind, seen in body["records"]
    )
    assert body["randomness"] == "operating system" and body["of"] == "entry 1"
    assert (session.remaining, len(session.ledger.entries())) == (left, entries)


@pytest.mark.parametrize("mechanism", [dv.SampleCategory(SURE), dv.SampleCategory(SURE, projection="euclid")])
@pytest.mark.parametrize("label", ["x", "y"])
def test_they_are_drawn_from_what_was_released(tmp_path: Path, mechanism: Any, label: str) -> None:
    session = Session(FRAME.assign(kind=label), SWAP, dv.Budget(2000), tmp_path / "one.ledger")
    session.release(KINDS, mechanism)
    assert drawn(SessionModel(session), count="100")["records"] == [[label]] * 100


def test_each_asking_draws_anew(session: Session) -> None:
    """Both labels have 50 rows and next to no noise: two lists of 100 are equal with a chance of 2^-100."""
    session.release(KINDS, dv.SampleCategory(SURE))
    model = SessionModel(session)
    assert drawn(model, count="100")["records"] != drawn(model, count="100")["records"]


def test_bits_with_noisy_means_are_drawn_again_too(session: Session) -> None:
    session.release(BITS, dv.SampleProduct(1, "1e-6"))
    assert {seen for (seen,) in drawn(SessionModel(session), count="100")["records"]} <= {"0", "1"}


def test_what_was_drawn_stays_on_show_and_the_latest_hundred_are_listed(session: Session) -> None:
    session.release(KINDS, dv.SampleCategory(1))
    bench = dv.Workbench(session)
    model, chart = bench.session_model, dv.ResultChart(bench)
    assert json.loads(bench.drawn) is None
    first = drawn(model, count="1")
    second = drawn(model, count="10")
    assert second["records"][:1] == first["records"] and len(second["records"]) == 11 and second["drawn"] == "11"
    third = drawn(model, count="100")
    assert len(third["records"]) == 100 and third["drawn"] == "111"
    for view in (bench, chart, dv.ResultChart(bench), dv.Workbench(bench)):
        assert json.loads(view.drawn) == third


def test_each_release_keeps_what_was_drawn_from_it(session: Session) -> None:
    session.release(KINDS, dv.SampleCategory(1))
    session.release(SEEN, dv.Dense(1))
    session.release(PAIRS, dv.SampleCategory(1))
    model = SessionModel(session)

    def show(number: str) -> Any:
        assert model.answer({"v": 1, "id": "s", "ask": "show", "args": {"number": number}})["ok"]  # type: ignore[index]
        return json.loads(model.mirrors()["drawn"])

    three = drawn(model, "3")
    assert show("2") is None
    one = drawn(model, "1")  # not on show: told in the reply, and shown with its release
    assert json.loads(model.mirrors()["drawn"]) is None
    assert (show("1"), show("3")) == (one, three)
    for _ in range(drawing.REMEMBERED):
        number = session.release(KINDS, dv.SampleCategory(1), key=f"again {_}").number
        drawn(model, str(number))
    assert show("1") is None and show(str(number)) is not None


def test_the_trait_comes_before_the_reply(session: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    wire = Wire(monkeypatch)
    session.release(KINDS, dv.SampleCategory(1))
    bench = dv.Workbench(session)
    reply = wire.answer(bench, "draw", number="1", count="10")
    sent = wire.of(bench)
    told = [at for at, message in enumerate(sent) if trait(message, "drawn") == reply["body"]["drawn"]]
    answered = [at for at, message in enumerate(sent) if message.get("content") == reply]
    assert len(told) == len(answered) == 1 and told < answered


@pytest.mark.parametrize(
    ("question", "mechanism", "why"),
    [
        (KINDS, dv.RandomisedRecord(1), "every draw looks at another, and takes as much ε again"),
        (BITS, dv.SampleBounded(1), "two draws cost twice"),
        (KINDS, dv.SampleCategory(1, draws="one"), "would tell which they are"),
    ],
)
def test_where_a_further_record_would_cost_the_page_is_told_why(
    session: Session, question: Question, mechanism: Any, why: str
) -> None:
    release = session.release(question, mechanism)
    model, left = SessionModel(session), session.remaining
    result = json.loads(model.mirrors()["result"])
    assert (result["more"], result["once"]) == (False, release.terms.law.once) and why in result["once"]
    for count in ("1", "100", "101"):
        reply = ask(model, count=count)
        assert not reply["ok"] and why in reply["error"]["message"]
    assert session.remaining == left and json.loads(model.mirrors()["drawn"]) is None


def test_a_record_with_free_ones_says_no_reason_against_them(session: Session) -> None:
    session.release(KINDS, dv.SampleCategory(1))
    result = json.loads(SessionModel(session).mirrors()["result"])
    assert result["more"] is True and "once" not in result


@pytest.mark.parametrize(
    ("number", "count", "words"),
    [
        ("1", "0", "whole number from 1 on"),
        ("1", "-1", "whole number from 1 on"),
        ("1", "1e3", "whole number from 1 on"),
        ("1", "٣", "whole number from 1 on"),
        ("1", "", "whole number from 1 on"),
        ("1", "01", "whole number from 1 on"),
        ("1", "9" * 4_000, "whole number from 1 on"),
        ("1", "101", "100 records and 20,000 labels at a time, at most"),
        ("1", "999999999", "at a time, at most"),
        ("2", "1", "only a drawn record has further ones"),
        ("3", "1", "3"),
        ("", "1", "by its number"),
        ("../1", "1", "by its number"),
    ],
)
def test_what_is_no_number_of_further_records_is_refused_and_changes_nothing(
    session: Session, number: str, count: str, words: str
) -> None:
    session.release(KINDS, dv.SampleCategory(1))
    session.release(SEEN, dv.Dense(1))
    model = SessionModel(session)
    before = {**model.mirrors(), "pulse": ""}
    reply = ask(model, number, count)
    assert not reply["ok"] and words in reply["error"]["message"]
    assert {**model.mirrors(), "pulse": ""} == before


def test_a_record_of_more_labels_than_a_page_takes_is_left_to_python(session: Session) -> None:
    wide = dv.Question.records([dv.Domain.integers(0, 1, column=f"c{place}") for place in range(300)])
    frame = pd.DataFrame({f"c{place}": [0, 1] * (ROWS // 2) for place in range(300)})
    lesson = dv.teaching(frame, 7, SWAP)
    release = lesson.draw(wide, dv.SampleProduct(1, "1e-6"))
    assert len(drawing.further(release, 66)) == 66
    with pytest.raises(dv.DpvizError, match="67 records of 20,100 labels"):
        drawing.further(release, 67)
    kept = drawing.Drawn()
    kept.add(release, drawing.further(release, 60))
    body = kept.add(release, drawing.further(release, 60))
    assert (len(body["records"]), body["drawn"]) == (66, "120")


def test_a_teaching_draw_is_drawn_from_and_another_one_shows_none_of_it() -> None:
    model = SessionModel(dv.teaching(FRAME, 7, SWAP), [KINDS])
    plan = json.loads(model.mirrors()["sheet"])
    order = {
        "question": {"id": KINDS.id},
        "mechanism": "SampleCategory",
        "parameters": {"epsilon": plan["now"]["epsilon"]},
        "price": {"epsilon": plan["now"]["price"]["epsilon"], "delta": "0"},
        "key": None,
    }
    for turn in ("a", "b"):
        reply = model.answer({"v": 1, "id": turn, "ask": "release", "args": order})
        assert reply is not None and reply["body"]["result"]["kind"] == "record", reply
        assert json.loads(model.mirrors()["drawn"]) is None
        body = drawn(model, "", "3")
        assert (body["number"], body["of"], len(body["records"])) == (None, "one teaching draw", 3)
        assert json.loads(model.mirrors()["drawn"]) == body
    refused = ask(model, "1", "1")
    assert not refused["ok"] and "teaching keeps no releases" in refused["error"]["message"]


# ---------------------------------------------------------------- questions declared on the page

INTEGERS = {"kind": "integers", "low": "0", "high": "1", "underflow": False, "overflow": False, "missing": False}
LABELS = {"kind": "categories", "labels": ["x", "y"], "other": False, "missing": False}


def declare(columns: list[Any], otherwise: dict[str, str] | None = None) -> dict[str, Any]:
    return {"kind": "records", "columns": columns, "otherwise": otherwise or {}}


def planned(model: SessionModel, question: dict[str, Any], mechanism: str = "SampleCategory") -> dict[str, Any]:
    args = {"question": question, "mechanism": mechanism, "parameters": {"epsilon": "1"}}
    reply = model.answer({"v": 1, "id": "p", "ask": "plan", "args": args})
    assert reply is not None
    return reply


def test_records_are_declared_on_the_page_and_are_then_known(session: Session) -> None:
    model = SessionModel(session, [SEEN])
    question = declare([{**LABELS, "column": "kind"}, {**INTEGERS, "column": "seen"}], {"seen": "1"})
    sheet = planned(model, question)["body"]["sheet"]
    asked = Question.records([KIND, SEEN], otherwise={"seen": 1})
    assert sheet["question"]["id"] == asked.id and sheet["question"]["asks"] == "records"
    known = {one["id"]: one["asks"] for one in json.loads(model.mirrors()["state"])["questions"]}
    assert known == {asked.id: "records", Question(SEEN).id: "counts"}
    drawers = [one["name"] for one in sheet["mechanisms"] if one.get("records")]
    assert set(drawers) == {"SampleCategory", "SampleBounded", "SampleProduct", "RandomisedRecord"}
    assert planned(model, declare([{**INTEGERS, "column": "seen"}]), "RandomisedRecord")["ok"]


@pytest.mark.parametrize(
    ("question", "words"),
    [
        (declare([]), "from 1 to 50 columns"),
        (declare([{**INTEGERS, "column": "seen"}] * 51), "from 1 to 50 columns"),
        (declare(["seen"]), "a declaration of its bins"),
        (declare([{"kind": "keys", "column": "kind"}]), "a declaration of its bins"),
        (declare([declare([{**INTEGERS, "column": "seen"}])]), "a declaration of"),
        (declare([{**INTEGERS, "column": "seen", "low": 0}]), "wrong type"),
        (declare([{**INTEGERS, "column": "seen", "more": "1"}]), "takes exactly"),
        (declare([{**LABELS, "column": "kind", "labels": [["x"]]}]), "texts"),
        (declare([{**LABELS, "column": "kind", "labels": ["a" * 3_990] * 150}] * 2), "1,000,000 characters together"),
        ({**declare([{**INTEGERS, "column": "seen"}]), "otherwise": {"seen": 1}}, "must be texts"),
        ({**declare([{**INTEGERS, "column": "seen"}]), "otherwise": []}, "wrong type"),
        ({**declare([{**INTEGERS, "column": "seen"}]), "where": {}}, "takes exactly"),
        (declare([{**LABELS, "column": "kind", "labels": ["x", "x"]}]), "kind: "),
        (declare([{**INTEGERS, "column": "seen", "low": "1e9999"}]), "seen: "),
        (declare([{**INTEGERS, "column": "seen", "low": "3"}]), "seen: "),
        (declare([{**INTEGERS, "column": "seen"}] * 2), "seen"),
        (declare([{**INTEGERS, "column": "seen"}], {"kind": "x"}), "otherwise may name columns of the records only"),
        (declare([{**INTEGERS, "column": "seen"}], {"seen": "7"}), "got 7"),
        (declare([{**INTEGERS, "column": "nothing"}]), "nothing"),
    ],
)
def test_records_that_make_no_sense_are_refused_by_name(session: Session, question: dict[str, Any], words: str) -> None:
    model = SessionModel(session, [SEEN])
    before = {**model.mirrors(), "pulse": ""}
    reply = planned(model, question)
    assert not reply["ok"] and words in reply["error"]["message"], reply
    assert {**model.mirrors(), "pulse": ""} == before
