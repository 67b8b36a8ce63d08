"""A page asks a paid answer for sums and comparisons: what comes back is what Python says, free, and nothing else."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import dpviz as dv
from dpviz.exact import text
from dpviz.model.question import Question
from dpviz.session.plan import Plan
from dpviz.session.session import Session
from dpviz.widgets import asking, combining
from dpviz.widgets.session_model import SessionModel
from tests.patience import patience, until
from tests.widgets.pages import Wire
from tests.widgets.test_dispatcher import Stop, flood, kinds, replies

BINS = dv.Domain.integers(0, 3, column="x", overflow=True)
BINS_ID = Question.of(BINS).id
CITIES = dv.Domain.categories(["oslo", "bern", "rome"], column="city")
FRAME = pd.DataFrame(
    {
        "x": [0] * 60 + [1] * 300 + [2] * 24 + [3] * 36 + [9] * 30,
        "city": ["oslo"] * 200 + ["bern"] * 150 + ["rome"] * 100,
    }
)

ARGS: dict[str, Any] = {
    "number": "1", "beside": "", "what": "stretch", "by": "rows", "first": ["1"], "second": ["3"],
    "picked": "after", "beta": "0.05",
}  # fmt: skip
"""What the page sends: from the second row to the fourth."""


@pytest.fixture
def session(tmp_path: Path) -> Session:
    return Session(FRAME, dv.Unit("row", noun="visit"), dv.Budget(60, "1e-3"), tmp_path / "ask.ledger")


def ask(session: Session, **args: Any) -> dict[str, Any]:
    reply = SessionModel(session, [BINS]).answer({"v": 1, "id": "1", "ask": "ask", "args": ARGS | args})
    assert reply is not None
    return reply


def rows(session: Session, **args: Any) -> list[dict[str, Any]]:
    reply = ask(session, **args)
    assert reply["ok"], reply
    found: list[dict[str, Any]] = reply["body"]["rows"]
    return found


def ends(derived: Any) -> tuple[str, str | None, str | None]:
    low, high = (None if end is None else text(end) for end in derived.interval)
    return text(derived.value), low, high


def told(row: dict[str, Any]) -> tuple[str, str | None, str | None]:
    return row["value"], row["low"], row["high"]


@pytest.mark.parametrize(
    "mechanism", [dv.Dense(1), dv.Dense(1, clamp=False), dv.Stability(1, "1e-6"), dv.Compact(1, cap=400)]
)
@pytest.mark.parametrize(("picked", "among"), [("after", "all"), ("before", "one")])
@pytest.mark.parametrize("beta", ["0.05", "0.01"])
def test_a_stretch_of_bins_is_the_range_that_python_reads(
    session: Session, mechanism: Any, picked: str, among: Any, beta: str
) -> None:
    release = session.release(BINS, mechanism)
    (row,) = rows(session, by="labels", first=["1"], second=["3"], picked=picked, beta=beta)
    derived = release.range(1, 3, among=among, beta=beta)
    assert told(row) == ends(derived) and row["how"] == derived.how and row["bias"] == derived.bias_text
    assert row["among"] == derived.among_text


def test_rows_are_those_of_the_picture_and_labels_those_that_it_shows(session: Session) -> None:
    release = session.release(BINS, dv.Dense(1))
    by_row, by_label = (rows(session, **how)[0] for how in (
        {"first": ["2"], "second": ["4"]}, {"by": "labels", "first": ["2"], "second": ["over 3"]}
    ))  # fmt: skip
    assert by_row == by_label and by_row["what"] == "x: 2 to over 3"
    assert Fraction(by_row["value"]) == sum(release.values[2:5])


def test_a_range_that_was_picked_after_looking_is_wider_than_one_that_was_picked_before(session: Session) -> None:
    """The default of the page is the honest one: it holds for every range at once."""
    session.release(BINS, dv.Dense(1))
    width = {}
    for picked in ("after", "before"):
        (row,) = rows(session, picked=picked)
        width[picked] = Fraction(row["high"]) - Fraction(row["low"])
    assert width["after"] > width["before"]


@pytest.mark.parametrize("mechanism", [dv.Dense(1), dv.Dense(1, clamp=False), dv.Stability(1, "1e-6"), dv.Tree(2)])
def test_of_two_bins_the_larger_comes_first_whichever_was_ticked_first(session: Session, mechanism: Any) -> None:
    release = session.release(BINS, mechanism)
    bodies = [
        ask(session, what="pair", first=[first], second=[second])["body"] for first, second in (("0", "1"), ("1", "0"))
    ]
    assert bodies[0] == bodies[1] and bodies[0]["leader"] == "1"
    (row,) = bodies[0]["rows"]
    assert Fraction(row["value"]) == Fraction(release[1]) - Fraction(release[0]) > 0
    assert row["what"] == "x: 1, less 0" and 0 < Fraction(row["chance"]["value"]) <= 1


def test_a_pair_that_was_picked_before_looking_still_pays_for_its_direction(session: Session) -> None:
    """Which of the two is said to lead is read off the answer, so the p-value is twice that of one direction.

    Where the two noisy counts are equal, as about one pair in thirty is, neither leads: then another answer is bought.
    """
    for number in range(1, 41):
        release = session.release(BINS, dv.Dense("1/10"), key=str(number))
        if release[2] != release[3]:
            break
    (row,) = rows(session, number=str(number), what="pair", first=["2"], second=["3"], picked="before")
    first, second = (3, 2) if release[3] >= release[2] else (2, 3)
    one, two = (release.compare(first, second, among=among).chance for among in ("one", 2))
    assert one is not None and two is not None
    assert two.value.high <= Fraction(row["chance"]["value"]) <= two.value.high * Fraction(101, 100)
    assert Fraction(row["chance"]["value"]) > one.value.high
    assert told(row) == ends(release.difference(first, second, among="one"))


def test_no_p_value_is_told_in_more_digits_than_anybody_reads(session: Session) -> None:
    session.release(BINS, dv.Dense(20))
    (row,) = rows(session, what="pair", first=["1"], second=["0"])
    assert row["chance"]["value"] == "0.000000001"


def test_all_pairs_of_dense_answers_rest_on_the_largest_gap(session: Session) -> None:
    release = session.release(BINS, dv.Dense("1/4"))
    (row,) = rows(session, what="pair", first=["1"], second=["0"])
    chance = release.compare(1, 0, among="all").chance
    assert chance is not None and row["chance"]["rule"] == chance.rule == "the largest gap among all bins"


def test_bins_without_an_order_are_added_up_as_they_stand(session: Session) -> None:
    release = session.release(CITIES, dv.Dense(1))
    (row,) = rows(session, first=["0"], second=["1"])
    assert told(row) == ends(release.sum(["oslo", "bern"], among=6)) and "all of 6 such questions" in row["among"]
    (row,) = rows(session, first=["0"], second=["1"], picked="before")
    assert told(row) == ends(release.sum(["oslo", "bern"]))


def test_bins_of_two_columns_are_named_by_their_rows(session: Session) -> None:
    release = session.release(CITIES * BINS, dv.Dense(1))
    (row,) = rows(session, first=["4"], second=["6"], picked="before")
    assert Fraction(row["value"]) == sum(release.values[4:7])
    assert told(row) == ends(release.sum([("oslo", "over 3"), ("bern", 0), ("bern", 1)]))
    (pair,) = rows(session, what="pair", by="labels", first=["oslo", "1"], second=["bern", "1"], picked="before")
    assert abs(Fraction(pair["value"])) == abs(release[("oslo", 1)] - release[("bern", 1)])


def test_shown_keys_hold_only_for_one_that_was_picked_before_looking_and_it_is_said(session: Session) -> None:
    release = session.release(dv.Domain.keys(column="city"), dv.Stability(1, "1e-6"))
    assert release.labels == ["bern", "oslo", "rome"]
    (row,) = rows(session, first=["0"], second=["1"])
    assert told(row) == ends(release.sum(["bern", "oslo"])) and row["among"] == "if this was picked before looking"
    assert row["remarks"][-1].startswith("Nothing public says how many such questions there are")
    (row,) = rows(session, first=["0"], second=["1"], picked="before")
    assert not [one for one in row["remarks"] if one.startswith("Nothing public")]


def test_a_tree_answers_a_range_by_each_estimator_whose_error_is_known(session: Session) -> None:
    release = session.release(BINS, dv.Tree(2))
    found = {row["reader"]: told(row) for row in rows(session, picked="before")}
    assert found == {name: ends(release.range(1, 3, reader=name)) for name in ("fitted", "subtrees", "leaves")}


def test_two_answers_to_one_question_are_read_together(session: Session) -> None:
    one, other = session.release(BINS, dv.Dense(1, clamp=False)), session.release(BINS, dv.Dense("1/2", clamp=False))
    (row,) = rows(session, number="2", beside="1", picked="before")
    assert told(row) == ends(dv.combine(one, other).range(1, 3))
    assert "entry 1 (ε = 1) and entry 2 (ε = 0.5)" in " and ".join(
        sorted(
            ask(session, number="1", beside="2")["body"]["rests_on"]
            .removeprefix("Rests on ")
            .split("; ")[0]
            .split(" and ")
        )
    )


def test_asking_is_free_and_changes_nothing(session: Session) -> None:
    session.release(BINS, dv.Dense(1))
    model, left = SessionModel(session, [BINS]), session.remaining.epsilon
    shown = {**model.mirrors(), "pulse": ""}
    body = ask(session)["body"]
    assert body == ask(session)["body"] and body["rests_on"] == "Rests on entry 1 (ε = 1); costs nothing more."
    assert session.remaining.epsilon == left and len(session.ledger.entries()) == 1
    assert {**model.mirrors(), "pulse": ""} == shown


@pytest.mark.parametrize(
    ("args", "words"),
    [
        ({"first": ["5"], "second": ["5"]}, "no such row in this answer, got row 5"),
        ({"first": ["-1"]}, "a row must be a whole number"),
        ({"first": ["NaN"]}, "NaN"),
        ({"first": ["1e999999999"]}, ""),
        ({"first": ["3"], "second": ["1"]}, "begins with its lower end"),
        ({"first": ["1", "2"]}, "a row is one whole number"),
        ({"first": []}, "a list of 1 to 50 texts"),
        ({"first": ["1"] * 100_000}, "a list of 1 to 50 texts"),
        ({"first": [float("nan")]}, "made of texts"),
        ({"first": [["1"]]}, "made of texts"),
        ({"first": "1"}, "first has the wrong type"),
        ({"first": ["1" * 5_000]}, "longer than 4,000"),
        ({"by": "labels", "first": ["-7"]}, "a bin must be one of 0, 1, …, 3, over 3, got -7"),
        ({"by": "labels", "first": ["often"]}, "got often"),
        ({"by": "labels", "first": ["1", "2"]}, "one for each column"),
        ({"by": "points"}, "by is one of rows, labels"),
        ({"what": "share"}, "what is one of stretch, pair"),
        ({"what": "pair", "first": ["1"], "second": ["1"]}, "a bin is compared with another"),
        ({"picked": "never"}, "picked is one of before, after"),
        ({"beta": "0.5"}, "beta must be one"),
        ({"beta": "nan"}, ""),
        ({"number": "7"}, "7"),
        ({"number": "../1"}, "by its number"),
        ({"number": ""}, "by its number"),
        ({"beside": "1"}, "one answer twice"),
        ({"beside": "2"}, "both answers must be to one question"),
        ({"beside": "9"}, "9"),
    ],
)  # fmt: skip
def test_what_is_no_question_about_a_stored_answer_is_refused(
    session: Session, args: dict[str, Any], words: str
) -> None:
    session.release(BINS, dv.Dense(1))
    session.release(CITIES, dv.Dense(1))
    left = session.remaining.epsilon
    reply = ask(session, **args)
    assert not reply["ok"] and words in reply["error"]["message"] and session.remaining.epsilon == left
    assert "could not answer" not in reply["error"]["message"], "a refusal, and no fault of ours"


def test_a_list_of_items_is_not_added_up(session: Session) -> None:
    release = session.release(BINS, dv.TopKSet(k=1, epsilon=1))
    reply = ask(session, first=["0"], second=["0"])
    assert not reply["ok"] and "do not add up" in reply["error"]["message"] and not release.answer.adds_rows


def test_ranks_are_added_up_and_compared_by_each_estimator(session: Session) -> None:
    release = session.release(BINS, dv.Sorted(1))
    told_by = {row["reader"]: told(row) for row in rows(session, picked="before")}
    assert told_by == {name: ends(release.range(2, 4, reader=name)) for name in release.answer.readers}
    assert rows(session, by="labels", first=["2"], second=["4"]) == rows(session)
    (pair,) = rows(session, what="pair", by="labels", first=["4"], second=["1"], picked="before")
    assert told(pair) == ends(release.difference([1], [4])) and pair["what"] == "x: rank 1, less rank 4"
    refused = ask(session, by="labels", first=["1"], second=["6"])["error"]["message"]
    assert refused.startswith("a rank must be a whole number from 1 to 5, got 6")
    assert "reversed" in ask(session, by="labels", first=["3"], second=["2"])["error"]["message"]


def test_two_queries_are_compared_and_bins_are_added_up_where_that_follows(session: Session) -> None:
    release = session.release(CITIES, dv.Queries(1, {"all": None, "north": ["oslo"], "south": ["bern", "rome"]}))
    for by, first, second in (("rows", "2", "1"), ("labels", "south", "north")):
        reply = ask(session, what="pair", by=by, first=[first], second=[second], picked="before")
        (pair,) = reply["body"]["rows"]
        assert told(pair) == ends(release.difference(["bern", "rome"], ["oslo"])), by
        assert reply["body"]["leader"] == "south" and pair["what"] == "city: south, less north"
    (pair,) = rows(session, what="pair", first=["0"], second=["1"])
    assert pair["among"] == "for all of 6 such questions at once"  # each of three queries less each other one
    (total,) = rows(session, by="labels", first=["bern"], second=["rome"], picked="before")
    assert told(total) == ends(release.sum(["bern", "rome"]))
    for args, words in (
        ({"first": ["0"], "second": ["1"]}, "the rows of this answer do not add up"),
        ({"by": "labels", "first": ["oslo"], "second": ["bern"]}, "leave it open"),
        ({"by": "labels", "first": ["oslo"], "second": ["paris"]}, "a bin must be one of oslo, bern, rome, got paris"),
        ({"what": "pair", "by": "labels", "first": ["all"], "second": ["paris"]}, "a query is read by its name"),
        ({"what": "pair", "first": ["3"], "second": ["0"]}, "no such row"),
        ({"what": "pair", "first": ["1"], "second": ["1"]}, "is compared with another"),
    ):
        reply = ask(session, **args)
        assert not reply["ok"] and words in reply["error"]["message"], (args, reply)


def test_a_draw_in_teaching_is_asked_while_it_is_on_show() -> None:
    teaching = dv.teaching(FRAME, 1, dv.Unit("row"))
    model = SessionModel(teaching, [BINS])
    message = {"v": 1, "id": "1", "ask": "ask", "args": {**ARGS, "number": "", "first": ["0"], "second": ["2"]}}
    nothing = model.answer(message)
    assert nothing is not None and "by its number" in nothing["error"]["message"]
    plan = {"question": {"id": BINS_ID}, "mechanism": "Dense", "parameters": {"epsilon": "1"}}
    model.answer(
        {"v": 1, "id": "2", "ask": "release", "args": {**plan, "price": {"epsilon": "1", "delta": "0"}, "key": None}}
    )
    until(lambda: model.mirrors()["result"] != "")
    values = json.loads(model.mirrors()["result"])["values"]
    reply = model.answer(message)
    assert reply is not None and int(reply["body"]["rows"][0]["value"]) == sum(map(int, values[:3]))
    assert "a teaching draw, seed 1, which is not private" in reply["body"]["rests_on"]


def test_of_questions_that_wait_only_the_latest_is_answered(session: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    session.release(BINS, dv.Dense(1))
    wire = Wire(monkeypatch)
    bench = dv.Workbench(session, BINS)
    stop = Stop(monkeypatch, asking, "answer")
    asked = flood(wire, bench, "ask", [ARGS])
    assert stop.reached.wait(patience())
    asked += flood(wire, bench, "ask", [{**ARGS, "first": [str(first)]} for first in range(4)])
    stop.open.set()
    answers = replies(wire, bench, asked)
    assert kinds(answers) == ["ok", *["Superseded"] * 3, "ok"]
    assert answers[-1]["body"]["rows"][0]["what"] == "x: 3"


# ---------------------------------------------------------------- measured again


PLAN: dict[str, Any] = {"question": {"id": BINS_ID}, "mechanism": "Dense", "parameters": {"epsilon": "1/2"}}


def gained(model: SessionModel, **args: Any) -> Any:
    """What the kernel says of a second answer; its key names the plan that was asked about."""
    reply = model.answer({"v": 1, "id": "2", "ask": "after", "args": PLAN | args})
    assert reply is not None and reply["ok"], reply
    planned = model.answer({"v": 1, "id": "3", "ask": "plan", "args": PLAN | args})
    assert planned is not None and planned["body"]["sheet"]["now"]["key"] == reply["body"]["key"]
    return reply["body"]["together"]


@pytest.mark.parametrize("epsilon", ["1/2", "0.43"])
def test_the_plan_of_a_second_answer_says_what_both_together_are_off_by(session: Session, epsilon: str) -> None:
    first = session.release(BINS, dv.Dense("1/2"))
    together = gained(SessionModel(session, [BINS]), parameters={"epsilon": epsilon})
    assert together["number"] == "1" and len(together["errors"]) == 3
    for beta, errors in together["errors"].items():
        said = session.plan(BINS, dv.Dense(epsilon)).after(first, beta)
        assert said.error is not None and said.before is not None
        assert errors == {"both": said.error.to_json(), "now": said.before.to_json()}
        assert Fraction(errors["both"]["value"]) < Fraction(errors["now"]["value"])


def test_every_point_of_the_slider_can_be_asked_about_by_the_key_that_its_sheet_carries(session: Session) -> None:
    session.release(BINS, dv.Dense("1/2"))
    model = SessionModel(session, [BINS], dv.Dense("1/2"))
    points = model.sheet.to_json()["fans"]["epsilon"]
    for point in (points[0], points[-1]):
        args = {**PLAN, "parameters": {"epsilon": point["epsilon"]}}
        reply = model.answer({"v": 1, "id": "2", "ask": "after", "args": args})
        assert reply is not None and reply["body"]["key"] == point["key"]


def test_once_there_is_an_answer_the_kernel_says_what_a_second_one_would_gain(session: Session) -> None:
    model = SessionModel(session, [BINS])
    assert gained(model) is None
    session.release(BINS, dv.Dense("1/2"))
    assert gained(model)["number"] == "1"


def test_no_sheet_waits_for_what_a_second_answer_would_gain(session: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither the first sheet, nor a plan, nor an answer that comes on show reads an earlier answer's law for it."""
    session.release(BINS, dv.Dense("1/2"))
    worked_out: list[Plan] = []
    told = Plan.after

    def after(plan: Plan, *args: Any) -> Any:
        worked_out.append(plan)
        return told(plan, *args)

    monkeypatch.setattr(Plan, "after", after)
    model = SessionModel(session, [BINS])
    reply = model.answer({"v": 1, "id": "1", "ask": "plan", "args": PLAN})
    assert reply is not None and reply["ok"] and "together" not in reply["body"]["sheet"]
    session.release(BINS, dv.Dense("1/2"), key="again")
    shown = model.answer({"v": 1, "id": "2", "ask": "show", "args": {"number": "2"}})
    assert shown is not None and shown["body"]["result"]["together"]["number"] == "1"
    assert "together" not in json.loads(model.mirrors()["sheet"]) and worked_out == []
    assert gained(model)["number"] == "2" and len(worked_out) == 3  # a level each


def test_of_requests_about_a_second_answer_that_wait_only_the_latest_is_answered(
    session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    session.release(BINS, dv.Dense(1))
    wire = Wire(monkeypatch)
    bench = dv.Workbench(session, BINS)
    stop = Stop(monkeypatch, combining, "planned")
    asked = flood(wire, bench, "after", [PLAN])
    assert stop.reached.wait(patience())
    asked += flood(wire, bench, "after", [{**PLAN, "parameters": {"epsilon": f"0.{n}"}} for n in range(1, 6)])
    stop.open.set()
    answers = replies(wire, bench, asked)
    assert kinds(answers) == ["ok", *["Superseded"] * 4, "ok"]
    assert answers[-1]["body"]["together"]["number"] == "1"


@pytest.mark.parametrize(("question", "mechanism"), [(CITIES, dv.Dense(1)), (BINS, dv.TopKSet(k=1, epsilon=1))])
def test_where_two_answers_do_not_combine_nothing_is_promised(
    session: Session, question: dv.Domain, mechanism: Any
) -> None:
    session.release(question, mechanism)
    assert gained(SessionModel(session, [BINS])) is None
    session.release(BINS, dv.Dense(2))
    assert json.loads(SessionModel(session, [BINS]).mirrors()["result"])["together"] is None


def test_a_result_names_the_answer_that_it_can_be_combined_with_and_the_call_that_does_it(session: Session) -> None:
    session.release(BINS, dv.Dense(1))
    session.release(CITIES, dv.Dense(1))
    session.release(BINS, dv.Dense("1/2"))
    together = json.loads(SessionModel(session, [BINS]).mirrors()["result"])["together"]
    assert together == {"number": "1", "python": "dv.combine(session.releases[1], session.releases[3])"}
    assert eval(together["python"]).averaged
