"""What a page of a lesson is told of the truth: exactly what `lesson.draw(..., times=).misses()` counts, and only of
public data."""

from __future__ import annotations

import json
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import dpviz as dv
from dpviz.errors import Forbidden
from dpviz.mechanisms import REGISTRY
from dpviz.model.mechanism import Mechanism
from dpviz.model.question import Question
from dpviz.session.teaching import Teaching
from dpviz.widgets.lesson import MOST_COLUMNS, MOST_DRAWS, SHOWN
from dpviz.widgets.session_model import SessionModel
from tests.lesson_words import PRIVATE

BINS = dv.Domain.integers(0, 9, column="x", overflow=True)
DATA = pd.DataFrame({"x": [0] * 400 + [1] * 90 + [2] * 30 + [3] * 4 + [11] * 7})
SEED = 7
GAUSSIAN: list[Mechanism] = [kind("1/2", base="gaussian", delta="1e-6") for kind in (dv.Dense, dv.Tree, dv.Marginals)]
Body = dict[str, Any]


def lesson(data: pd.DataFrame = DATA) -> Teaching:
    return dv.teaching(data, seed=SEED, unit=dv.Unit("row"), dataset="made-up rows")


class Page:
    """Asks a session model as a page does."""

    def __init__(self, session: Any, question: object = BINS, mechanism: Mechanism | None = None) -> None:
        self.model = SessionModel(session, [question], mechanism)

    def ask(self, name: str, **args: object) -> Body:
        reply = self.model.answer({"v": 1, "id": "1", "ask": name, "args": args})
        return json.loads(json.dumps(reply))  # type: ignore[no-any-return]

    def draw(self, times: int, beta: str = "0.05", **parameters: str) -> Body:
        sheet = self.model.plan.sheet.to_json()
        named = sheet["mechanism"]
        chosen = {**named["parameters"], "epsilon": "0.5", **parameters}
        return self.ask(
            "lesson",
            question={"id": sheet["question"]["id"]},
            mechanism=named["name"],
            parameters=chosen,
            times=str(times),
            beta=beta,
        )

    def told(self, times: int, beta: str = "0.05", **parameters: str) -> Body:
        reply = self.draw(times, beta, **parameters)
        assert reply["ok"], reply
        body: Body = reply["body"]["lesson"]
        return body


def missed(body: Body, kind: str) -> list[int]:
    return [int(draw[kind]["bins"]) for draw in body["draws"]]


@pytest.mark.parametrize("mechanism", [dv.Dense("1/2"), dv.Tree("1/2", branching=2)], ids=["Dense", "Tree"])
@pytest.mark.parametrize("beta", ["0.1", "0.05", "0.01"])
def test_a_page_counts_what_the_frame_says(mechanism: Mechanism, beta: str) -> None:
    body = Page(lesson(), mechanism=mechanism).told(20, beta)
    drawn = lesson().draw(BINS, mechanism, times=20)
    frame = drawn.misses(beta, bin=2)
    assert (missed(body, "missed"), missed(body, "missed_all")) == (list(frame.missed), list(frame.missed_all))
    assert [2 in draw["missed"]["columns"] for draw in body["draws"]] == list(frame.picked)
    assert body["truth"]["low"] == [str(count) for count in lesson().table(BINS).counts]
    assert [Fraction(one["values"]["low"][0]) for one in body["shown"]] == [
        Fraction(round(Fraction(one.values[0]) * 100), 100) for one in drawn
    ]


def test_there_is_something_to_count() -> None:
    assert sum(missed(Page(lesson()).told(20, "0.1"), "missed")) > 3


def test_another_level_counts_the_same_draws_again() -> None:
    page = Page(lesson())
    often = page.told(20, "0.1")
    rarely = page.ask("misses", beta="0.01")["body"]["lesson"]
    assert [one["values"] for one in rarely["shown"]] == [one["values"] for one in often["shown"]]
    assert missed(rarely, "missed") == list(lesson().draw(BINS, dv.Dense("1/2"), times=20).misses("0.01").missed)
    refused = page.ask("misses", beta="0.2")
    assert not refused["ok"] and "beta must be one of the sheet's" in refused["error"]["message"]


def test_draws_of_one_plan_are_counted_together_and_those_of_another_are_not() -> None:
    page = Page(lesson())
    assert [page.told(times)["drawn"] for times in (1, 1, 20)] == ["1", "2", "22"]
    body = page.told(1)
    assert missed(body, "missed") == list(lesson().draw(BINS, dv.Dense("1/2"), times=23).misses().missed)
    assert [one["draw"] for one in body["shown"]] == [str(number) for number in range(24 - SHOWN, 24)]
    assert page.told(1, epsilon="1")["drawn"] == "1", "another ε, another plan"
    assert page.ask("forget")["body"] == {"lesson": None} and page.told(1, epsilon="1")["drawn"] == "1"
    assert page.told(MOST_DRAWS, epsilon="1")["drawn"] == str(MOST_DRAWS), "more than fit are counted from zero"


def test_many_bins_are_told_in_columns_that_lose_no_miss() -> None:
    generator = np.random.default_rng(3)
    many = pd.DataFrame({"x": generator.integers(0, 1_237, 9_000)})
    bins = dv.Domain.integers(0, 1_236, column="x")
    body = Page(lesson(many), bins, mechanism=dv.Dense("1/2")).told(3)
    frame = lesson(many).draw(bins, dv.Dense("1/2"), times=3).misses()
    assert body["truth"]["bins"] == "1237" and len(body["truth"]["labels"]) == MOST_COLUMNS
    assert body["truth"]["labels"][0] == "0 to 1" and body["truth"]["labels"][-1].endswith("1236")
    assert missed(body, "missed") == list(frame.missed) and frame.missed.min() > 0
    for draw in body["draws"]:
        assert sum(draw["missed"]["times"]) == int(draw["missed"]["bins"])
    counts = many.x.value_counts()
    assert max(map(int, body["truth"]["high"])) == counts.max() and min(
        map(int, body["truth"]["low"])
    ) == 0 < 1_237 - len(counts)
    for one in body["shown"]:
        for reach in (one["values"], one["one"], one["all"]):
            assert all(Fraction(low) <= Fraction(high) for low, high in zip(reach["low"], reach["high"], strict=True))


@pytest.mark.parametrize("mechanism", [dv.Sorted("1/2"), dv.TopK(2, 4, epsilon="1/2", delta="1e-6")], ids=repr)
def test_an_answer_without_a_count_for_each_bin_stands_beside_the_truth_and_nothing_is_counted(
    mechanism: Mechanism,
) -> None:
    body = Page(lesson(), mechanism=mechanism).told(20)
    assert (body["drawn"], body["draws"], body["shown"]) == ("20", [], [])
    assert body["truth"]["low"] == [str(count) for count in lesson().table(BINS).counts]


def test_of_keys_the_largest_counts_are_shown_and_of_records_none() -> None:
    keys = Page(lesson(), dv.Domain.keys(column="x"), dv.TopK(2, 4, epsilon="1/2", delta="1e-6")).told(1)
    assert keys["truth"] == {"bins": "", "labels": ["0", "1", "2", "11", "3"], "low": ["400", "90", "30", "7", "4"]}
    swap = dv.teaching(DATA, seed=SEED, unit=dv.Unit("row", relation="replace-one", n=len(DATA)))
    records = Page(swap, Question.records([dv.Domain.categories(["0", "1"], column="x", other=True)]))
    assert records.told(1)["truth"] is None


def test_what_a_page_would_wait_for_is_refused_before_anything_is_drawn() -> None:
    page = Page(lesson())
    for times, value in ((MOST_DRAWS + 1, "101 draws"), (10**8, "100,000,000 draws")):
        refused = page.draw(times)
        assert not refused["ok"] and refused["error"]["value"] == value
    wide = Page(lesson(), dv.Domain.integers(0, 299_999, column="x"))
    refused = wide.draw(20)
    assert "at most, got 20 draws of 300,000 bins" in refused["error"]["message"]
    assert ".misses()" in refused["error"]["next_step"]
    assert page.told(1)["shown"][0]["values"]["low"][0] == str(lesson().draw(BINS, dv.Dense("1/2")).values[0])


def test_a_session_with_a_ledger_is_never_asked_for_the_truth(tmp_path: Path) -> None:
    session = dv.Session(DATA, dv.Unit("row"), dv.Budget(2), tmp_path / "x.ledger", dataset="rows")
    page = Page(session)
    for refused in (page.draw(20), page.ask("misses", beta="0.05"), page.ask("forget")):
        assert not refused["ok"] and refused["error"]["message"].startswith("the page may ask for")
    assert page.model.mirrors()["lesson"] == "null" and len(session.releases) == 0
    with pytest.raises(Forbidden, match="true counts are shown for public data only"):
        session.seeded(BINS, dv.Dense(1), 20)
    assert session.public(Question.of(BINS)) is None


def test_the_truth_reaches_a_new_view_and_nothing_does_before_the_first_draw() -> None:
    page = Page(lesson())
    assert page.model.mirrors()["lesson"] == "null"
    body = page.told(2)
    assert json.loads(page.model.mirrors()["lesson"]) == body


def texts(value: object) -> Iterator[str]:
    if isinstance(value, dict):
        for name, part in value.items():
            if name not in ("parameters", "question"):
                yield from texts(part)
    elif isinstance(value, list):
        for part in value:
            yield from texts(part)
    elif isinstance(value, str):
        yield value


@pytest.mark.parametrize("made", GAUSSIAN, ids=lambda made: made.name)
def test_the_plan_of_gaussian_noise_in_a_lesson_speaks_of_no_price(made: Mechanism) -> None:
    pair = dv.Domain.integers(0, 1, column="x") * dv.Domain.integers(0, 1, column="y")
    question = Question.of(pair) if made.name == "Marginals" else Question.of(BINS)
    teacher = lesson(DATA.assign(y=DATA["x"])) if made.name == "Marginals" else lesson()
    told = repr(teacher.plan(question, made)).splitlines()[1:]
    assert any("discrete Gaussian" in said for said in told) and [said for said in told if PRIVATE.search(said)] == []


@pytest.mark.parametrize("name", sorted(REGISTRY))
def test_the_plan_of_a_lesson_speaks_of_no_price(name: str) -> None:
    kind = REGISTRY[name]
    swap = dv.teaching(DATA.clip(upper=1), seed=SEED, unit=dv.Unit("row", relation="replace-one", n=len(DATA)))
    records = Question.records([dv.Domain.integers(0, 1, column="x")])
    wide = dv.Domain.integers(0, 9_999, column="x")
    question = records if kind.draws_records else Question.of(wide if name == "PureSparse" else BINS)
    mechanism: Mechanism = kind.at_price(Fraction(1, 2), Fraction(1, 10**6))
    caps = {"cap": "1000"} if name in ("Compact", "PureSparse") else {}
    mechanism = kind.from_parameters({**mechanism.parameters(), **kind.fitted(question), **caps})
    teacher = swap if kind.draws_records else lesson()
    plan = teacher.plan(question, mechanism)
    sheet = plan.sheet.to_json()
    assert [said for said in texts(sheet) if PRIVATE.search(said)] == []
    told = repr(plan).splitlines()[1:]  # the first line names question and mechanism as they are called
    assert [said for said in told if PRIVATE.search(said)] == [] and told[0].startswith("  noise of     ")
    assert sheet["python"].startswith("lesson.draw(")


@pytest.mark.parametrize("name", sorted(REGISTRY))
def test_no_choice_of_any_mechanism_speaks_of_a_price(name: str) -> None:
    """One text stands in a session and in a lesson, where nothing is paid; options that no plan opens with included."""
    kind = REGISTRY[name]
    offered = [label for choice in kind.choices() for _, label in choice.options]
    said = [kind.about, kind.delta_text, *(choice.label for choice in kind.choices()), *offered]
    assert [text for text in said if PRIVATE.search(text)] == []


def test_an_answer_is_released_in_a_session_and_drawn_in_a_lesson(tmp_path: Path) -> None:
    session = dv.Session(DATA, dv.Unit("row"), dv.Budget(2), tmp_path / "x.ledger", dataset="rows")
    kept, taught = (one.plan(BINS, dv.Dense("1/2")).sheet.to_json() for one in (session, lesson()))
    for sheet, done, call in ((kept, "released", "session.release("), (taught, "drawn", "lesson.draw(")):
        tips = " ".join(measure["tip"] for measure in sheet["measures"])
        assert f"its {done} value is within" in tips and f"the {done} value of an empty bin" in tips
        assert sheet["python"].startswith(call) and "{done}" not in "".join(texts(sheet))


def test_names_in_the_data_stay_as_they_are() -> None:
    paid = pd.DataFrame({"costs": ["released", "a release"] * 5})
    question = dv.Domain.categories(["released", "a release"], column="costs")
    sheet = Page(lesson(paid), question).model.mirrors()["sheet"]
    asked = json.loads(sheet)["question"]
    assert asked["column"] == "costs" and asked["bins_text"] == question.text and "released" in asked["bins_text"]
