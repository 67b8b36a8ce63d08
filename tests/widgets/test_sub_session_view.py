"""The view of a sub-session answers five asks and refuses everything else; what its button said decides nothing."""

from __future__ import annotations

import json
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import dpviz as dv
from dpviz.errors import DpvizError, ParameterError
from dpviz.session.sub_session import SubSession
from tests.patience import until
from tests.session import test_sub_session_killed as killed
from tests.session.sources import Gate, KnownTop

UNIT = dv.Unit("aircraft", noun="aircraft", max_bins=3)
DESTINATION = dv.Domain.keys(column="destination")
MANY, SOME = 7919, 6841
LABELS = {"All year": DESTINATION, "Winter": dv.Question.of(DESTINATION, {"month": [12]})}


def flights() -> pd.DataFrame:
    """Two destinations of very many aircraft each, and none else; nothing in winter."""
    names = ["ATL"] * MANY + ["STL"] * SOME
    return pd.DataFrame({"destination": names, "aircraft": range(len(names)), "month": "7"})


def opened(place: Path, symbols: int = 12, questions: int = 4) -> SubSession:
    session = dv.Session(flights(), UNIT, dv.Budget("2", "1e-5"), place / "f.ledger", dataset="flights")
    return session.open(dv.PayWhatYouGet(symbols=symbols, questions=questions, epsilon="1", delta="1e-6"))


class Page:
    """What a browser does with a sub-session view: it asks, and sees what the traits say."""

    def __init__(self, sub: SubSession, questions: dict[str, Any] | None = None) -> None:
        self.view = dv.PayWhatYouGetTape(sub, LABELS if questions is None else questions)

    @property
    def state(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self.view.state)
        return found

    def send(self, name: str, args: dict[str, Any]) -> dict[str, Any]:
        reply = self.view.answer({"v": 1, "id": "1", "ask": name, "args": args})
        assert reply is not None and reply["re"] == "1"
        return json.loads(json.dumps(reply))  # type: ignore[no-any-return]

    def order(self, k: str = "2", kbar: str = "5", label: str = "All year", **more: Any) -> dict[str, Any]:
        """What the button sends: it names what it said."""
        state = self.state
        question = next(offer["id"] for offer in state["offers"] if offer["label"] == label)
        said = {"most": k, "left": state["symbols"]["left"], "key": None}
        return {"question": question, "k": k, "kbar": kbar, **said, **more}

    def ask(self, *args: str, **more: Any) -> dict[str, Any]:
        """Press the button, and wait until the kernel says that nothing is on its way any more."""
        reply = self.send("release", self.order(*args, **more))
        self.wait(lambda state: state["running"] is None)
        return reply

    def wait(self, reached: Callable[[dict[str, Any]], bool]) -> None:
        until(lambda: reached(self.state), lambda: str(self.state))


def left(sub: SubSession) -> tuple[int, int]:
    return sub.symbols_left, sub.questions_left


def test_a_question_is_asked_and_its_row_stands_on_the_sub_session_view(tmp_path: Path) -> None:
    sub = opened(tmp_path)
    page = Page(sub)
    assert page.state["rows"] == [] and page.state["symbols"] == {"total": "12", "left": "12"}
    reply = page.ask()
    assert reply["ok"], reply
    (row,) = page.state["rows"]
    assert row["items"] == ["ATL", "STL"] and row["ended"] is False
    assert (row["label"], row["k"], row["kbar"], row["used"], row["status"]) == ("All year", "2", "5", "2", "done")
    assert left(sub) == (10, 3)
    assert page.state["symbols"]["left"] == "10" and page.state["questions"]["left"] == "3"
    assert reply["body"]["token"]


def test_an_answer_that_ends_early_uses_what_came_and_the_end(tmp_path: Path) -> None:
    sub = opened(tmp_path)
    page = Page(sub)
    assert page.ask(label="Winter", k="4")["ok"]
    assert page.ask(k="4")["ok"]
    winter, year = page.state["rows"]
    assert (winter["items"], winter["ended"], winter["used"], winter["most"]) == ([], True, "1", "4")
    assert (year["items"], year["ended"], year["used"], year["most"]) == (["ATL", "STL"], True, "3", "4")
    assert left(sub) == (12 - 1 - 3, 2)


def test_the_same_question_again_is_free_and_with_another_key_it_is_not(tmp_path: Path) -> None:
    sub = opened(tmp_path)
    page = Page(sub)
    assert page.ask()["ok"] and page.ask()["ok"]
    assert len(page.state["rows"]) == 1 and left(sub) == (10, 3)
    assert page.ask(key="again-1")["ok"]
    assert len(page.state["rows"]) == 2 and left(sub) == (8, 2)


def test_more_than_is_left_is_refused_and_changes_nothing(tmp_path: Path) -> None:
    sub = opened(tmp_path)
    page = Page(sub)
    before = page.state
    reply = page.ask(k="13", kbar="13")
    assert not reply["ok"] and reply["error"]["kind"] == "BudgetExceeded"
    assert "13" in reply["error"]["message"] and "12" in reply["error"]["message"]
    assert "Nothing was charged" in reply["error"]["message"]
    assert page.state == before and left(sub) == (12, 4)


@pytest.mark.parametrize("said", [{"most": "1"}, {"left": "11"}, {"left": "99"}, {"most": "2 "}])
def test_a_button_that_said_something_else_is_not_believed(said: dict[str, str], tmp_path: Path) -> None:
    sub = opened(tmp_path)
    reply = Page(sub).ask(**said)
    assert not reply["ok"] and reply["error"]["kind"] == "Forbidden"
    assert "Nothing was charged" in reply["error"]["message"]
    assert left(sub) == (12, 4)


@pytest.mark.parametrize(
    ("ask", "args"),
    [
        ("release", {}),
        ("release", {"question": "x", "k": "2", "kbar": "5", "most": "2", "left": "12"}),
        ("release", {"question": {"id": "x"}, "k": "2", "kbar": "5", "most": "2", "left": "12", "key": None}),
        ("release", {"question": "x", "k": 2, "kbar": "5", "most": "2", "left": "12", "key": None}),
        ("release", {"question": "x", "k": "2", "kbar": "5", "most": "2", "left": "12", "key": None, "retry": True}),
        ("plan", {"question": "x", "k": "2", "kbar": "5", "where": "1"}),
        ("ask", {}),
        ("move", {"place": {}}),
        ("close", {}),
        ("show", {"number": 1}),
        ("cancel", {"token": 7}),
    ],
)
def test_what_is_not_one_of_the_asks_is_refused(ask: str, args: dict[str, Any], tmp_path: Path) -> None:
    sub = opened(tmp_path)
    reply = Page(sub).send(ask, args)
    assert not reply["ok"] and reply["error"]["kind"] == "Forbidden"
    assert left(sub) == (12, 4)


@pytest.mark.parametrize("number", ["0", "-1", "1.5", "02", "1e3", "", "٣", "9" * 12, "private"])
def test_a_number_of_items_is_a_whole_number(number: str, tmp_path: Path) -> None:
    sub = opened(tmp_path)
    page = Page(sub)
    reply = page.ask(k=number)
    assert not reply["ok"] and "must be a whole number from 1 on" in reply["error"]["message"]
    assert left(sub) == (12, 4) and page.state["rows"] == []


def test_a_question_that_is_not_on_offer_is_refused(tmp_path: Path) -> None:
    sub = opened(tmp_path)
    reply = Page(sub).ask(question="0123456789abcdef")
    assert not reply["ok"] and "is not on offer here" in reply["error"]["message"]
    assert left(sub) == (12, 4)


def test_a_sub_session_view_without_questions_offers_what_was_asked_before_and_nothing_else(tmp_path: Path) -> None:
    sub = opened(tmp_path)
    page = Page(sub)
    page.view = dv.PayWhatYouGetTape(sub)
    assert page.state["offers"] == []
    winter = dv.Question.of(DESTINATION, {"month": [12]})
    sub.ask(winter, k=1, kbar=3)
    page.wait(lambda state: len(state["rows"]) == 1)
    offers = page.state["offers"]
    assert [offer["id"] for offer in offers] == [winter.id]
    assert offers[0]["label"].startswith("destination where")
    asks = {"k": "1", "kbar": "3"}
    for question, ok in ((winter.id, True), (dv.Question.of(DESTINATION).id, False)):
        assert page.send("plan", {"question": question, **asks})["ok"] is ok


def test_a_plan_is_free_and_says_every_measure_of_the_question(tmp_path: Path) -> None:
    sub = opened(tmp_path)
    page = Page(sub)
    order = {name: page.order()[name] for name in ("question", "k", "kbar")}
    body = page.send("plan", order)["body"]
    plan = sub.plan(DESTINATION, 2, 5)
    errors = {measure.name: error.to_json() for measure in plan.measures if (error := measure.at(Fraction(1, 20)))}
    assert len(errors) == 2
    words = [measure.to_json() for measure in plan.measures]
    assert body == {"most": "2", "beta": "0.05", "measures": words, "errors": errors}
    for measure, (name, error) in zip(plan.measures, errors.items(), strict=True):
        assert measure.name == name and f"{measure.sign}{error['value']}" in repr(plan)
    assert left(sub) == (12, 4) and sub.transcript == []


def test_traits_that_a_page_forges_decide_nothing(tmp_path: Path) -> None:
    sub = opened(tmp_path)
    page = Page(sub)
    forged = {**page.state, "symbols": {"total": "999", "left": "999"}, "offers": []}
    page.view.board.state = json.dumps(forged)
    assert not page.send("release", {**Page(sub).order(), "left": "999"})["ok"]
    assert left(sub) == (12, 4)
    assert page.send("status", {})["body"]["state"]["symbols"] == {"total": "12", "left": "12"}
    assert page.state["symbols"]["left"] == "12"


def test_a_question_asked_in_a_cell_shows_on_the_sub_session_view(tmp_path: Path) -> None:
    sub = opened(tmp_path)
    page = Page(sub)
    sub.ask(DESTINATION, k=2, kbar=5)
    page.wait(lambda state: len(state["rows"]) == 1)
    assert page.state["rows"][0]["items"] == ["ATL", "STL"]
    sub.ask("destination", k=1, kbar=3)
    page.wait(lambda state: len(state["rows"]) == 2)
    assert page.state["rows"][1]["label"] == "All year"


def test_another_kernel_sees_the_same_sub_session_view_and_nothing_is_used_again(tmp_path: Path) -> None:
    page = Page(opened(tmp_path))
    assert page.ask()["ok"] and page.ask(label="Winter")["ok"]
    again = opened(tmp_path)
    own = {"kernel": "", "serial": "", "outcomes": []}
    assert {**Page(again).state, **own} == {**page.state, **own}
    assert again.ask(DESTINATION, k=2, kbar=5).items == ["ATL", "STL"]
    assert left(again) == (12 - 3, 2)


def test_an_answer_is_shown_again_for_nothing(tmp_path: Path) -> None:
    sub = opened(tmp_path)
    page = Page(sub)
    page.ask()
    shown = page.send("show", {"number": "1"})["body"]["result"]
    assert shown["kind"] == "ranked" and shown["labels"] == ["ATL", "STL"]
    assert shown["used"] == "2 of 12 symbols and 1 of 4 questions of entry 1"
    assert not page.send("show", {"number": "2"})["ok"]
    assert left(sub) == (10, 3)


def test_a_question_that_is_cancelled_keeps_what_it_reserved(tmp_path: Path) -> None:
    gate = Gate()
    source = KnownTop({"": {"ATL": MANY, "STL": SOME}}, gate)
    session = dv.Session(source, dv.Unit("person"), dv.Budget("2", "1e-5"), tmp_path / "f.ledger")
    sub = session.open(dv.PayWhatYouGet(symbols=12, questions=4, epsilon="1", delta="1e-6"))
    page = Page(sub, {"All year": dv.Domain.keys(column="dest")})
    reply = page.send("release", page.order())
    assert reply["ok"]
    state = page.state
    assert state["running"]["token"] == reply["body"]["token"]
    assert (state["rows"][0]["status"], state["rows"][0]["used"]) == ("pending", "2")
    busy = page.send("release", page.order(k="1"))
    assert not busy["ok"] and busy["error"]["kind"] == "SessionBusy"
    assert not page.send("cancel", {"token": "another"})["ok"]
    assert page.send("cancel", {"token": reply["body"]["token"]})["ok"]
    page.wait(lambda state: state["running"] is None and state["fault"] is not None)
    assert page.state["rows"][0]["status"] == "cancelled"
    assert page.state["fault"]["message"].startswith("Cancelled. 2 symbols and 1 question of entry 1 are spent")
    assert left(sub) == (10, 3)


def test_a_question_whose_kernel_was_killed_stands_on_the_sub_session_view_as_lost_and_can_be_asked_anew(
    tmp_path: Path,
) -> None:
    path = tmp_path / "killed.ledger"
    killed.hanging(path).kill()

    sub = killed.opened(path, killed.FEW)
    page = Page(sub, {"All year": dv.Domain.keys(column="dest")})
    (row,) = page.state["rows"]
    assert (row["status"], row["used"], row["items"], row["ended"]) == ("lost", "7", [], False)
    assert page.state["symbols"] == {"total": "40", "left": "33"}
    same = page.ask(k="7", kbar="50")
    assert not same["ok"] and same["error"]["kind"] == "ReleaseLost"
    assert left(sub) == (33, 99)
    assert page.ask(k="7", kbar="50", key="again-1")["ok"]
    assert [row["status"] for row in page.state["rows"]] == ["lost", "done"]


def test_no_true_count_reaches_the_page(tmp_path: Path) -> None:
    """The counts are so long that no token, which is made of random digits, holds one by chance."""
    many, some = 731_000_160_446_210, 664_000_193_779_543
    source = KnownTop({"": {"ATL": many, "STL": some}, "where month is 12": {}})
    session = dv.Session(source, dv.Unit("person"), dv.Budget("2", "1e-5"), tmp_path / "f.ledger")
    sub = session.open(dv.PayWhatYouGet(symbols=12, questions=4, epsilon="1", delta="1e-6"))
    every = dv.Domain.keys(column="dest")
    page = Page(sub, {"All year": every, "Winter": dv.Question.of(every, {"month": [12]})})
    said = [json.dumps(page.ask()), json.dumps(page.ask(label="Winter", k="4")), page.view.state, repr(page.view)]
    said += [json.dumps(page.send("show", {"number": "1"}))]
    assert [row["items"] for row in page.state["rows"]] == [["ATL", "STL"], []]
    for count in (many, some, many + some):
        assert not any(str(count) in text or f"{count:,}" in text for text in said)


@pytest.mark.parametrize("given", [flights(), 7, None, "sub"])
def test_a_sub_session_view_stands_on_a_sub_session(given: object) -> None:
    with pytest.raises(ParameterError, match="PayWhatYouGetTape shows a sub-session") as refused:
        dv.PayWhatYouGetTape(given)  # type: ignore[arg-type]
    assert "ATL" not in str(refused.value)


@pytest.mark.parametrize("questions", [[DESTINATION], {1: DESTINATION}, {"a": flights()}, {"a": 7}, "destination"])
def test_questions_map_labels_to_questions(questions: object, tmp_path: Path) -> None:
    with pytest.raises(DpvizError) as refused:
        dv.PayWhatYouGetTape(opened(tmp_path), questions)  # type: ignore[arg-type]
    assert "ATL" not in str(refused.value)
