"""A page asks by several columns and by parts: what it may say, what is refused in words, and what is paid for."""

from __future__ import annotations

import json
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import dpviz as dv
from dpviz.errors import ParameterError
from dpviz.exact import text
from dpviz.model.mechanism import Bound
from dpviz.model.question import Question
from dpviz.model.ways import WAYS
from dpviz.planning.sheet import bins_id
from dpviz.session.session import Session
from dpviz.widgets import messages
from dpviz.widgets.session_model import SessionModel
from tests.patience import until
from tests.widgets.pages import Member

KINDS = dv.Domain.categories(["a", "b"], column="kind")
MONTHS = dv.Domain.integers(1, 12, column="month")
SIZES = dv.Domain.integers(0, 6, column="size")
FLAGS = {"underflow": False, "overflow": False, "missing": False}
DECLARED = {"column": "size", "kind": "integers", "low": "0", "high": "6", **FLAGS}


def frame(rows: int = 600) -> pd.DataFrame:
    return pd.DataFrame(
        {
            "user": [f"u{at // 6}" for at in range(rows)],
            "month": [at % 12 + 1 for at in range(rows)],
            "kind": ["a" if at % 4 else "b" for at in range(rows)],
            "size": [at % 7 for at in range(rows)],
        }
    )


def opened(tmp_path: Path, unit: dv.Unit | None = None, asked: tuple[object, ...] = ()) -> tuple[Session, Member]:
    user = dv.Unit("user", noun="person", max_bins=2)
    it = Session(frame(), unit or user, dv.Budget("20", "1e-3"), tmp_path / "offered.ledger", dataset="kinds")
    return it, Member(SessionModel(it, asked or [KINDS, MONTHS]))


def named(domain: dv.Domain) -> dict[str, str]:
    return {"id": bins_id(domain)}


def product(*factors: Any, of: object = KINDS) -> dict[str, Any]:
    return {"kind": "product", "of": {"id": Question.of(of).id}, "factors": list(factors)}


def each(by: Any, most: str = "", of: Any = None) -> dict[str, Any]:
    return {"kind": "each", "of": of or {"id": Question.of(KINDS).id}, "by": by, "most": most}


def args(question: Any, mechanism: str = "Dense", epsilon: str = "1", **more: Any) -> dict[str, Any]:
    needs = mechanism in ("TopK", "Threshold", "Stability")
    parameters = {"epsilon": epsilon, **({"delta": "1e-6"} if needs else {})}
    return {"question": question, "mechanism": mechanism, "parameters": parameters, **more}


def planned(page: Member, question: Any, **more: Any) -> dict[str, Any]:
    reply = page.ask("plan", **args(question, **more))
    assert reply["ok"], reply
    sheet: dict[str, Any] = reply["body"]["sheet"]
    return sheet


def paid(page: Member, sheet: dict[str, Any], **more: Any) -> dict[str, Any]:
    price = {name: sheet["now"]["price"][name] for name in ("epsilon", "delta")}
    way = {"way": sheet["way"]} if "way" in sheet else {}
    asked = {**args({"id": sheet["question"]["id"]}, epsilon=sheet["now"]["epsilon"]), "price": price, "key": None}
    return page.ask("release", **{**asked, **way, **more})


# ---------------------------------------------------------------- several columns


def test_bins_that_are_known_are_offered_by_column_and_make_products(tmp_path: Path) -> None:
    it, page = opened(tmp_path)
    bins = json.loads(page.state)["bins"]
    assert [(one["column"], one["text"], one["size"]) for one in bins] == [
        ("kind", "a, b", "2 bins"),
        ("month", "1, 2, …, 12", "12 bins"),
    ]
    sheet = planned(page, product(*({"id": one["id"]} for one in bins), DECLARED))
    assert sheet["question"]["id"] == Question(KINDS * MONTHS * SIZES).id and sheet["question"]["bins"] == "168"
    assert [one["column"] for one in sheet["question"]["factors"]] == ["kind", "month", "size"]
    assert "size" in {one["column"] for one in json.loads(page.state)["bins"]}, "what was declared is known from now on"
    assert sheet["python"].count(" * ") == 2
    assert paid(page, sheet)["ok"]
    until(lambda: len(it.releases) == 1)
    assert it.releases[1].question == Question(KINDS * MONTHS * SIZES)
    alone = planned(page, product(named(SIZES), of=KINDS * MONTHS * SIZES))
    assert alone["question"]["id"] == Question(SIZES).id, "one factor is that column by itself"


def test_a_product_keeps_what_its_question_asks_for_and_filters(tmp_path: Path) -> None:
    sums = Question.sum("size", by=KINDS, low=0, high=6, step=1, where={"month": [1, 2]})
    _, page = opened(tmp_path, asked=(sums, MONTHS))
    said = {"kind": "product", "of": {"id": sums.id}, "factors": [named(KINDS), named(MONTHS)]}
    found = planned(page, said, mechanism="Threshold")["question"]
    by = KINDS * MONTHS
    assert found["id"] == Question.sum("size", by=by, low=0, high=6, step=1, where={"month": [1, 2]}).id
    assert found["asks"] == "sums"


@pytest.mark.parametrize(
    ("question", "kind", "words"),
    [
        (product(named(KINDS), named(KINDS)), "DomainError", "the columns of a product must differ"),
        (
            product(
                named(KINDS),
                {"column": "user", "kind": "categories", "labels": ["u1"], "other": False, "missing": False},
            ),
            "DomainError",
            "the column of the unit makes no bins and no parts",
        ),
        (product({"column": "kind", "kind": "keys"}, named(MONTHS)), "DomainError", "kind, unknown keys"),
        (product(named(KINDS), {**DECLARED, "low": "9"}), "DomainError", "size: "),
        (product(named(KINDS), {"id": "none"}), "Forbidden", "does not know these bins"),
        (each(named(KINDS)), "DomainError", "a column makes the parts or the bins, not both"),
        (
            each({"column": "user", "kind": "categories", "labels": ["u1"], "other": False, "missing": False}),
            "DomainError",
            "the column of the unit makes no bins and no parts",
        ),
        (each({**DECLARED, "high": "1000"}), "DomainError", "a partition has at most 1,000 parts"),
        (each({"column": "size", "kind": "keys"}), "ParameterError", "the bins of a declared domain"),
        (each(named(MONTHS), "0"), "ParameterError", "a whole number from 1 on"),
        (each(named(MONTHS), "two"), "ParameterError", "a whole number from 1 on"),
        (each({"id": "none"}), "Forbidden", "does not know these bins"),
    ],
)
def test_what_makes_no_question_is_refused_in_words(tmp_path: Path, question: Any, kind: str, words: str) -> None:
    it, page = opened(tmp_path)
    head, before = it.ledger.head(), (page.sheet, page.state)
    error = page.ask("plan", **args(question))["error"]
    assert error["kind"] == kind and words in error["message"] and error["next_step"], error
    assert (page.sheet, page.state) == before and it.ledger.head() == head


HOSTILE: list[Any] = [
    {"kind": "product"},
    {"kind": "product", "of": {"id": "x"}, "factors": []},
    {"kind": "product", "of": {"id": "x"}, "factors": [named(KINDS)] * 6},
    {"kind": "product", "of": {"id": "x"}, "factors": {"0": named(KINDS)}},
    {"kind": "product", "of": {"id": ["x"]}, "factors": [named(KINDS)]},
    {"kind": "product", "of": product(named(KINDS)), "factors": [named(KINDS)]},
    {"kind": "product", "of": {"id": "x"}, "factors": ["kind"]},
    {"kind": "product", "of": {"id": "x"}, "factors": [product(named(KINDS))]},
    {"kind": "product", "of": {"id": "x"}, "factors": [{"id": 7}]},
    {"kind": "product", "of": {"id": "x"}, "factors": [{"id": "a" * 5000}]},
    {**product(named(KINDS)), "extra": "1"},
    {"kind": "each", "of": {"id": "x"}, "by": named(MONTHS)},
    {"kind": "each", "of": {"id": "x"}, "by": [named(MONTHS)], "most": ""},
    {"kind": "each", "of": {"id": "x"}, "by": named(MONTHS), "most": 2},
    {"kind": "each", "of": each(named(MONTHS)), "by": named(MONTHS), "most": ""},
    {
        "kind": "each",
        "of": {"kind": "records", "columns": [DECLARED], "otherwise": {}},
        "by": named(MONTHS),
        "most": "",
    },
    {"kind": "each", "of": {"kind": []}, "by": named(MONTHS), "most": ""},
    {"kind": "each", "of": {"id": "x"}, "by": each(named(MONTHS)), "most": ""},
    {"kind": "each", "of": {"id": "x"}, "by": {"kind": {}}, "most": ""},
    {"kind": ["each"], "of": {"id": "x"}},
]


@pytest.mark.parametrize("question", HOSTILE, ids=range(len(HOSTILE)))
def test_a_forged_question_is_refused_before_it_is_looked_at(question: Any) -> None:
    with pytest.raises(dv.DpvizError) as refused:
        messages.parse({"v": 1, "id": "1", "ask": "plan", "args": args(question)})
    assert type(refused.value).__name__ == "Forbidden"


def test_columns_of_very_many_labels_are_refused_together() -> None:
    labels = ["x" * 100 + str(at) for at in range(3_000)]
    one = {"column": "kind", "kind": "categories", "labels": labels, "other": False, "missing": False}
    for factors, fine in (([one], True), ([one] * 4, False)):
        said = {"v": 1, "id": "1", "ask": "plan", "args": args(product(*factors))}
        if fine:
            assert messages.parse(said).ask == "plan"
            continue
        with pytest.raises(dv.DpvizError, match="characters in all"):
            messages.parse(said)


def test_too_many_bins_for_one_mechanism_are_refused_in_its_words(tmp_path: Path) -> None:
    _, page = opened(tmp_path)
    wide = [{**DECLARED, "column": name, "high": "9999"} for name in ("size", "month")]
    error = page.ask("plan", **args(product(*wide)))["error"]
    assert "Dense answers at most 10,000,000 bins" in error["message"]
    assert planned(page, product(*wide), mechanism="Stability")["question"]["bins"] == "100000000"


# ---------------------------------------------------------------- parts


def test_a_question_by_parts_is_planned_in_every_way_and_paid_in_the_one_that_is_picked(tmp_path: Path) -> None:
    it, page = opened(tmp_path)
    sheet = planned(page, each(named(MONTHS), "2"))
    assert [one["name"] for one in sheet["ways"]] == list(WAYS), "every way that there is, refused ones too"
    plan = it.plan(KINDS, dv.Dense("1"), by=dv.Partition(MONTHS, max_parts=2))
    assert sheet["way"] == plan.way == "parallel" and sheet["mechanism"]["name"] == "Dense"
    for point in [sheet["now"], *sheet["fans"]["epsilon"]]:
        same = it.plan(KINDS, dv.Dense(point["epsilon"]), by=dv.Partition(MONTHS, max_parts=2))
        bound = {way: one for way, one in same.ways.items() if isinstance(one, Bound)}
        assert set(point["ways"]) == set(bound)
        for way, told in point["ways"].items():
            error = bound[way].measures[0].at(Fraction(1, 20))
            assert error is not None and told["errors"]["0.05"]["value"] == text(error.value)
        assert point["errors"]["0.05"]["one"] == point["ways"]["parallel"]["errors"]["0.05"]
    picked = planned(page, {"id": sheet["question"]["id"]}, way="sequence")
    assert picked["way"] == "sequence" and picked["now"]["key"] != sheet["now"]["key"]
    assert 'way="sequence"' in picked["python"] and "max_parts=2" in picked["python"]
    assert paid(page, picked)["ok"]
    until(lambda: len(it.releases) == 1)
    release = it.releases[1]
    assert release.terms.mechanism.parameters["way"] == "sequence" and it.remaining.epsilon == 19
    entry = json.loads(page.state)["entries"][0]
    assert (entry["key"], entry["mechanism"]) == (picked["now"]["key"], "Dense, one after the other")
    again = eval(picked["python"].format(epsilon="1"), {"session": it, "dv": dv})
    assert again == release and it.remaining.epsilon == 19, "the call that the page shows is the one that was paid for"
    assert paid(page, picked)["body"]["result"]["number"] == "1" and it.remaining.epsilon == 19


def test_a_way_that_nobody_can_count_for_is_refused_at_every_price(tmp_path: Path) -> None:
    """As a source may refuse one that could be taken otherwise."""
    it, _ = opened(tmp_path)
    plan = it.plan(KINDS, dv.Dense("1"), by=dv.Partition(MONTHS, max_parts=2))
    refused = ParameterError(
        "this source counts no such bins", value="12 bins", rule="few bins", next_step="take another"
    )
    sheet = replace(plan, ways={**plan.ways, "sequence": refused}).sheet.to_json()
    told = {one["name"]: one["refused"] for one in sheet["ways"]}
    assert told["sequence"] == str(refused) and told["parallel"] == ""
    for point in [sheet["now"], *sheet["fans"]["epsilon"]]:
        assert "sequence" not in point["ways"] and "parallel" in point["ways"]
    assert all("sequence" in point["ways"] for point in plan.sheet.to_json()["fans"]["epsilon"])
    with pytest.raises(ParameterError, match="counts no such bins"):
        replace(plan, ways={**plan.ways, "sequence": refused}).taking("sequence")


def test_an_order_for_parts_pays_for_the_way_it_names_and_no_other(tmp_path: Path) -> None:
    it, page = opened(tmp_path)
    sheet = planned(page, each(named(MONTHS), "2"))
    head = it.ledger.head()
    for more, words in (
        ({"way": ""}, "names the way"),
        ({"way": "zcdp"}, "only the symbols of TopK"),
        ({"way": "none"}, "the price is shared out parallel, sequence"),
        ({"price": {"epsilon": "0.5", "delta": "0"}}, "the button said"),
    ):
        reply = paid(page, sheet, **more)
        assert not reply["ok"] and words in reply["error"]["message"], reply
    reply = paid(page, planned(page, {"id": Question.of(KINDS).id}), way="parallel")
    assert not reply["ok"] and "this question has no parts" in reply["error"]["message"]
    assert it.ledger.head() == head and it.remaining.epsilon == 20


def test_what_cannot_answer_parts_says_why(tmp_path: Path) -> None:
    _, page = opened(tmp_path)
    asked = each(named(MONTHS), "2")
    error = page.ask("plan", **args(asked, mechanism="SampleCategory"))["error"]
    assert "draws records" in error["message"]
    error = page.ask("plan", **args(asked, mechanism="Tree"))["error"]
    assert "Tree" in error["message"] and error["next_step"]
    given = args(asked, mechanism="TopK")
    error = page.ask("plan", **{**given, "parameters": {**given["parameters"], "epsilon_per_item": "0.1"}})["error"]
    assert "the price of all parts is given as epsilon" in error["message"]


def test_where_a_row_is_a_unit_parts_cost_what_one_of_them_does(tmp_path: Path) -> None:
    _, page = opened(tmp_path, dv.Unit())
    assert json.loads(page.state)["unit"]["row"] is True
    sheet = planned(page, each(named(MONTHS)))
    plain = planned(page, {"id": Question.of(KINDS).id})
    assert sheet["way"] == "parallel" and sheet["now"]["errors"] == plain["now"]["errors"]


def test_parts_of_a_product_and_a_product_under_parts(tmp_path: Path) -> None:
    it, page = opened(tmp_path)
    sheet = planned(page, each(named(MONTHS), "3", of=product(named(KINDS), DECLARED)))
    made = sheet["question"]
    assert made["bins"] == "14" and made["plain"] == Question(KINDS * SIZES).id
    assert made["by"] == {
        **named(MONTHS),
        "column": "month",
        "text": "1, 2, …, 12",
        "size": "12",
        "most": "3",
        "each": "month",
    }
    assert paid(page, sheet)["ok"]
    until(lambda: len(it.releases) == 1)
    title = it.releases[1].title
    assert "kind and size" in title and "for each month" in title
    assert planned(page, each({"id": made["id"]}, "2", of={"id": made["plain"]}))["question"]["by"]["most"] == "2"


def test_a_second_view_and_the_next_session_open_where_the_question_by_parts_stands(tmp_path: Path) -> None:
    it, page = opened(tmp_path)
    sheet = planned(page, each(named(MONTHS), "2"), way="sequence")
    other = Member(page.model)
    assert json.loads(other.sheet) == json.loads(page.sheet) == sheet
    assert paid(page, sheet)["ok"]
    until(lambda: len(it.releases) == 1)
    later = SessionModel(it)
    assert later.plan.bound.question == it.releases[1].question and later.plan.way is not None
    known = {one["id"]: one for one in later.state()["questions"]}
    assert (
        known[sheet["question"]["id"]]["each"] == "for each month" and "each" not in known[sheet["question"]["plain"]]
    )


def test_named_parts_are_asked_again_as_they_are(tmp_path: Path) -> None:
    halves = {"first": {"month": dv.Between(high=6)}, "second": {"month": dv.Between(low=7)}}
    it, _ = opened(tmp_path, dv.Unit())
    release = it.release(KINDS, dv.Dense("1"), by=halves)
    page = Member(SessionModel(it, [KINDS, SIZES]))
    shown = planned(page, {"id": release.question.id}, way="parallel")
    assert shown["question"]["by"]["id"] == release.question.id and shown["now"]["key"] == release.key
    by = {"id": release.question.id}
    other = planned(page, each(by, of={"id": Question(SIZES).id}))
    assert other["question"]["by"]["column"] == "part" and other["question"]["plain"] == Question(SIZES).id
    error = page.ask("plan", **args(each(named(SIZES), of=by)))["error"]
    assert "this question has its parts already" in error["message"]
    error = page.ask("plan", **args({"kind": "product", "of": by, "factors": [named(KINDS), named(SIZES)]}))["error"]
    assert "this question has its parts already" in error["message"]


def test_a_lesson_draws_parts_and_says_so(tmp_path: Path) -> None:
    lesson = dv.teaching(frame(), 7, dv.Unit("user", noun="person", max_bins=2))
    page = Member(SessionModel(lesson, [KINDS, MONTHS]))
    sheet = planned(page, each(named(MONTHS), "2"))
    asked = args({"id": sheet["question"]["id"]}, way="sequence", times="2", beta="0.05")
    reply = page.ask("lesson", **asked)
    assert (
        reply["ok"] and reply["body"]["lesson"]["drawn"] == "2" and "for each month" in reply["body"]["lesson"]["title"]
    )
    assert paid(page, sheet)["ok"]
    assert sheet["python"].startswith("lesson.draw(")


def test_a_report_of_a_plan_by_parts_shows_its_way(tmp_path: Path) -> None:
    it, _ = opened(tmp_path)
    by = dv.Partition(MONTHS, max_parts=2)
    dv.report(
        [it.plan(KINDS * SIZES, dv.Dense("1"), by=by), it.release(KINDS * SIZES, dv.Dense("1"), by=by)],
        tmp_path / "r.html",
    )
    body = (tmp_path / "r.html").read_text(encoding="utf-8")
    assert "for each month" in body


# ---------------------------------------------------------------- dates

QUARTERS = {"column": "day", "kind": "times", "start": "2013", "end": "2014", "by": "quarter", **FLAGS}
DAYS = pd.to_datetime("2013-01-01") + pd.to_timedelta([at % 365 for at in range(600)], "D")
OVER_MONTHS = {**QUARTERS, "by": "month", "end": "2013-06-15"}


def dated(tmp_path: Path, **columns: Any) -> tuple[Session, dv.Workbench]:
    it = Session(pd.DataFrame(columns), dv.Unit(), dv.Budget("20"), tmp_path / "dated.ledger")
    return it, dv.Workbench(it)


def told(bench: dv.Workbench, question: Any) -> dict[str, Any]:
    reply = bench.session_model.answer({"v": 1, "id": "1", "ask": "plan", "args": args(question)})
    assert reply is not None
    return reply


def test_a_column_of_dates_is_counted_by_stretches_of_time_alone_beside_another_and_as_parts(tmp_path: Path) -> None:
    session, bench = dated(tmp_path, kind=["a", "b"] * 300, day=DAYS)
    assert json.loads(bench.state)["columns"] == [
        {"name": "kind", "kind": "text", "untyped": False},
        {"name": "day", "kind": "time", "untyped": False},
    ]
    kinds = {"column": "kind", "kind": "categories", "labels": ["a", "b"], "other": False, "missing": False}
    alone = told(bench, QUARTERS)["body"]["sheet"]["question"]
    both = told(bench, {"kind": "product", "of": {"id": alone["id"]}, "factors": [kinds, QUARTERS]})["body"]["sheet"]
    parted = told(bench, {"kind": "each", "of": kinds, "by": QUARTERS, "most": ""})["body"]["sheet"]["question"]
    assert (alone["bins"], both["question"]["bins"]) == ("4", "8")
    assert parted["sentence"] == "For each quarter of day: how many rows had kind a or b?"
    by = dv.Domain.times("2013", "2014", by="quarter", column="day")
    assert Question.of(by).id == alone["id"]
    assert Question.of(dv.Domain.categories(["a", "b"], column="kind") * by).id == both["question"]["id"]
    assert not len(session.releases)


@pytest.mark.parametrize(
    ("question", "words"),
    [
        (OVER_MONTHS, "day: the end must be where a month ends, got 2013-06-15; write 2013-06-01 or 2013-07-01"),
        ({**QUARTERS, "by": "fortnight"}, "day: by must be one of hour, day"),
        ({**QUARTERS, "start": "2013-13"}, "day: start must be a date of the calendar"),
        ({**QUARTERS, "start": "2015"}, "day: times must not be reversed"),
        ({**QUARTERS, "column": "zoned"}, "plain times without a zone"),
        ({**QUARTERS, "column": "kind"}, "this one holds texts"),
        ({**DECLARED, "column": "day"}, "a column of times is counted by stretches of time"),
        ({**QUARTERS, "bins": "4"}, "question takes exactly"),
        ({**QUARTERS, "start": 2013}, "start has the wrong type"),
    ],
)
def test_dates_that_make_no_bins_are_refused_in_words(tmp_path: Path, question: dict[str, Any], words: str) -> None:
    _, bench = dated(tmp_path, kind=["a", "b"] * 300, day=DAYS, zoned=DAYS.tz_localize("UTC"))
    before = bench.sheet
    reply = told(bench, question)
    assert not reply["ok"] and words in reply["error"]["message"]
    assert bench.sheet == before


def test_a_table_of_dates_alone_opens_on_years_that_nobody_read_from_it(tmp_path: Path) -> None:
    session, bench = dated(tmp_path, day=DAYS)
    question = json.loads(bench.sheet)["question"]
    years = dv.Domain.times("2016", "2026", by="year", column="day", underflow=True, overflow=True)
    assert question["id"] == Question.of(years).id and not len(session.releases)
