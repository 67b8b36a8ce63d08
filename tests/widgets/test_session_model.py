"""The session model answers six asks and refuses everything else; what a page says decides nothing."""

from __future__ import annotations

import json
import time
from fractions import Fraction
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow
import pytest

import dpviz as dv
from dpviz.errors import ParameterError
from dpviz.mechanisms.dense import DenseBound
from dpviz.model.question import Question
from dpviz.session.session import Session
from dpviz.widgets.session_model import SessionModel
from tests.patience import patience, until
from tests.session.sources import Gate, KnownCounts
from tests.widgets.pages import Member

BINS = dv.Domain.integers(0, 3, column="x")
SECRETS = [731_000_160_446_210, 842_000_171_557_321, 953_000_182_668_432, 664_000_193_779_543]
"""So long that no token, which is made of random digits, holds one by chance."""


class Page(Member):
    """A member of a session model that waits for its news."""

    def wait_for(self, event: str) -> dict[str, Any]:
        deadline = time.monotonic() + patience()
        with self.arrived:
            while not (found := [message for message in self.sent if message.get("event") == event]):
                assert self.arrived.wait(deadline - time.monotonic()), f"no {event}: {self.sent}"
        return found[0]


def session_model_on(tmp_path: Path, source: KnownCounts | None = None, epsilon: object = 2) -> tuple[Session, Page]:
    session = Session(
        source or KnownCounts(SECRETS),
        dv.Unit(noun="person"),
        dv.Budget(epsilon),
        tmp_path / "desk.ledger",
    )
    return session, Page(SessionModel(session, [BINS]))


def plan_args(page: Page, epsilon: str = "0.5") -> dict[str, Any]:
    sheet = page.model.sheet.to_json()
    parameters = {**sheet["mechanism"]["parameters"], "epsilon": epsilon}
    return {"question": {"id": sheet["question"]["id"]}, "mechanism": "Dense", "parameters": parameters}


def pay_args(page: Page, epsilon: str = "0.5", **more: Any) -> dict[str, Any]:
    return {**plan_args(page, epsilon), "price": {"epsilon": epsilon, "delta": "0"}, "key": None, **more}


def test_a_plan_is_free_and_reaches_every_member(tmp_path: Path) -> None:
    session, page = session_model_on(tmp_path)
    other = Page(page.model)
    reply = page.ask("plan", **plan_args(page, "1/3"))
    assert reply["ok"] and reply["body"]["sheet"]["now"]["exactly"] == "1/3"
    assert json.loads(other.sheet) == json.loads(page.sheet) == reply["body"]["sheet"]
    assert session.remaining.epsilon == 2


def test_every_slider_value_has_price_errors_and_key(tmp_path: Path) -> None:
    _, page = session_model_on(tmp_path)
    sheet = page.ask("plan", **plan_args(page, "0.07"))["body"]["sheet"]
    grid, fan = sheet["axes"][0]["grid"], sheet["fans"]["epsilon"]
    assert [point["epsilon"] for point in fan] == grid and set(sheet["axes"][0]["labelled"]) <= set(grid)
    assert [Fraction(value) for value in grid] == sorted(Fraction(value) for value in grid) and grid[-1] == "2"
    assert len({point["key"] for point in fan}) == len(fan)
    for point in [*fan, sheet["now"]]:
        assert Fraction(point["price"]["epsilon"]) <= Fraction(point["epsilon"])
        assert set(point["errors"]) == set(sheet["betas"]) and len(point["dots"]) == 50
    sizes = [int(point["errors"]["0.05"]["one"]["value"]) for point in fan]
    assert sizes == sorted(sizes, reverse=True)


def test_a_release_pays_once_and_its_answer_is_stored(tmp_path: Path) -> None:
    session, page = session_model_on(tmp_path)
    reply = page.ask("release", **pay_args(page))
    assert reply["ok"]
    body = reply["body"] if "result" in reply["body"] else page.wait_for("released")["body"]
    assert body["result"]["values"] == [str(value) for value in session.releases[1].values]
    again = page.ask("release", **pay_args(page))
    assert again["body"]["result"] == body["result"] and session.remaining.epsilon == Fraction(3, 2)
    assert json.loads(page.state)["budget"]["epsilon"] == {"total": "2", "spent": "0.5", "pending": "0", "left": "1.5"}
    fresh = page.ask("release", **pay_args(page, key="second"))
    assert fresh["ok"] and session.remaining.epsilon == 1


def test_another_price_than_the_kernels_is_refused(tmp_path: Path) -> None:
    session, page = session_model_on(tmp_path)
    for said, differs in (
        ({"epsilon": "0.1", "delta": "0"}, "the button said ε 0.1, but this release costs ε 0.5"),
        ({"epsilon": "0.5", "delta": "0.1"}, "the button said δ 0.1, but this release costs δ 0"),
    ):
        reply = page.ask("release", **pay_args(page, price=said))
        assert not reply["ok"] and reply["error"]["kind"] == "Forbidden"
        assert f"{differs}; nothing was charged; plan again" in reply["error"]["message"]
    assert session.remaining.epsilon == 2


def test_a_refusal_names_the_value_that_would_fit(tmp_path: Path) -> None:
    session, page = session_model_on(tmp_path, epsilon="0.7")
    assert page.ask("release", **pay_args(page))["ok"]
    reply = page.ask("release", **pay_args(page, key="more"))
    assert reply["error"]["kind"] == "BudgetExceeded" and reply["error"]["fix"] == {"epsilon": "0.2"}
    assert session.remaining.epsilon == Fraction(1, 5)


def test_a_long_release_reports_progress_and_can_be_cancelled(tmp_path: Path) -> None:
    gate = Gate()
    session, page = session_model_on(tmp_path, KnownCounts(SECRETS, gate))
    reply = page.ask("release", **pay_args(page))
    token = reply["body"]["token"]
    assert reply["body"]["number"] == "1" and json.loads(page.state)["running"]["token"] == token
    assert json.loads(page.state)["budget"]["epsilon"]["pending"] == "0.5"
    assert not page.ask("cancel", token="another")["ok"]
    assert not page.ask("release", **pay_args(page, "0.25"))["ok"]
    assert page.ask("plan", **plan_args(page, "0.3"))["ok"], "a plan is free while a release runs"
    page.wait_for("progress")
    assert page.ask("cancel", token=token)["ok"]
    told = page.wait_for("cancelled")["body"]
    assert told["token"] == token and "0.5 is spent" in told["error"]["message"]
    assert json.loads(page.state)["running"] is None and session.remaining.epsilon == Fraction(3, 2)
    progress = [message for message in page.sent if message.get("event") == "progress"]
    assert progress and all(message["body"]["of"] == "1" for message in progress)


def test_a_question_can_be_declared_and_is_then_known_by_id(tmp_path: Path) -> None:
    _, page = session_model_on(tmp_path)
    args = plan_args(page)
    said = {
        "column": "x",
        "kind": "integers",
        "low": "0",
        "high": "9",
        "underflow": False,
        "overflow": True,
        "missing": False,
    }
    sheet = page.ask("plan", **{**args, "question": said})["body"]["sheet"]
    assert sheet["question"]["bins"] == "11"
    assert page.ask("plan", **{**args, "question": {"id": sheet["question"]["id"]}})["ok"]
    for wrong in (
        {**said, "low": "9", "high": "0"},
        {**said, "low": "x"},
        {**said, "extra": "1"},
        {**said, "overflow": "yes"},
    ):
        assert not page.ask("plan", **{**args, "question": wrong})["ok"]


def test_a_refusal_of_what_was_declared_names_the_field_that_it_is_about(tmp_path: Path) -> None:
    """By its column, and of a record whether it is about what stands for any other cell: the page tells it there."""
    _, page = session_model_on(tmp_path)
    args = plan_args(page)
    flags = {"underflow": False, "overflow": False, "missing": False}
    low = {"column": "x", "kind": "integers", "low": "0", "high": "9", **flags}
    record = {"kind": "records", "columns": [low], "otherwise": {"x": "10"}}
    for wrong, field in (
        ({**low, "low": "9", "high": "0"}, "x: "),
        ({**record, "columns": [{**low, "low": "so-so"}]}, "x: "),
        (record, "x, any other cell: a label must be one of 0, 1, …, 9, got 10"),
        ({**record, "otherwise": {"x": "so-so"}}, "x, any other cell: "),
    ):
        error = page.ask("plan", **{**args, "question": wrong})["error"]
        assert error["message"].startswith(field) and error["next_step"], error


HOSTILE: list[Any] = [
    None,
    "plan",
    [],
    {},
    {"v": 1},
    {"v": 2, "id": "1", "ask": "status", "args": {}},
    {"v": 1, "id": 5, "ask": "status", "args": {}},
    {"v": 1, "id": "1", "ask": "eval", "args": {"code": "1"}},
    {"v": 1, "id": "1", "ask": "status", "args": {"x": 1}},
    {"v": 1, "id": "1", "ask": "status", "args": []},
    {"v": 1, "id": "1", "ask": "__init__", "args": {}},
    {"v": 1, "id": "1", "ask": "show", "args": {"number": "../../etc"}},
    {"v": 1, "id": "1", "ask": "show", "args": {"number": "9" * 4000}},
    {"v": 1, "id": "1", "ask": "show", "args": {"number": "\u0661"}},
    {"v": 1, "id": "1", "ask": "show", "args": {"number": 1}},
    {"v": 1, "id": "1", "ask": "cancel", "args": {"token": None}},
    {
        "v": 1,
        "id": "1",
        "ask": "plan",
        "args": {"question": {"id": "none"}, "mechanism": "Dense", "parameters": {"epsilon": "1"}},
    },
    {
        "v": 1,
        "id": "1",
        "ask": "plan",
        "args": {"question": {"id": []}, "mechanism": "Dense", "parameters": {"epsilon": "1"}},
    },
    {"v": 1, "id": "1", "ask": "plan", "args": {"question": {}, "mechanism": "Dense", "parameters": {"epsilon": "1"}}},
    {
        "v": 1,
        "id": "1",
        "ask": "plan",
        "args": {"question": {"id": "x"}, "mechanism": "os", "parameters": {"epsilon": "1"}},
    },
    {
        "v": 1,
        "id": "1",
        "ask": "plan",
        "args": {"question": {"id": "x"}, "mechanism": "Dense", "parameters": {"epsilon": 0.1}},
    },
    {"v": 1, "id": "1", "ask": "plan", "args": {"question": {"id": "x"}, "mechanism": "Dense", "parameters": {}}},
    {
        "v": 1,
        "id": "1",
        "ask": "plan",
        "args": {"question": {"id": "x"}, "mechanism": "Dense", "parameters": {"epsilon": "1" * 5000}},
    },
    {"v": 1, "id": "1", "ask": "status", "args": {}, "buffers": [1]},
]


@pytest.mark.parametrize("message", HOSTILE, ids=range(len(HOSTILE)))
def test_a_forged_message_is_refused_and_charges_nothing(tmp_path: Path, message: Any) -> None:
    session, page = session_model_on(tmp_path)
    head = session.ledger.head()
    reply = page.model.answer(message)
    assert reply is None or (reply["ok"] is False and reply["error"]["kind"] in ("Forbidden", "ParameterError"))
    assert session.ledger.head() == head


@pytest.mark.parametrize("epsilon", ["0", "-1", "nan", "inf", "1e9", "", "1/0", "<b>", "9" * 300])
def test_an_epsilon_that_makes_no_sense_is_refused_in_words(tmp_path: Path, epsilon: str) -> None:
    session, page = session_model_on(tmp_path)
    reply = page.ask("release", **pay_args(page, epsilon))
    assert not reply["ok"] and reply["error"]["message"] and session.remaining.epsilon == 2


def test_forged_traits_decide_nothing(tmp_path: Path) -> None:
    session, _ = session_model_on(tmp_path)
    bench = dv.Workbench(session, BINS)
    honest = bench.state
    bench.board.state = '{"budget":{"epsilon":{"left":"1000000"}}}'
    bench.board.sheet = bench.board.result = "forged"
    bench.component = bench.desk = "forged"
    reply = bench.session_model.answer({"v": 1, "id": "1", "ask": "status", "args": {}})
    assert reply is not None and json.dumps(reply["body"]["state"]["budget"]) == json.dumps(
        json.loads(honest)["budget"]
    )
    assert bench.state == honest and session.remaining.epsilon == 2


def test_components_of_one_session_model_share_one_plan(tmp_path: Path) -> None:
    session, _ = session_model_on(tmp_path)
    picker = dv.MechanismPicker(session, BINS)
    pane, meter = dv.PlanPane(picker), dv.BudgetMeter(picker)
    assert pane.desk == meter.desk == picker.desk and pane.sheet == picker.sheet
    with pytest.raises(dv.DpvizError):
        dv.PlanPane("session")


def test_no_true_count_is_ever_sent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The draw is replaced by one that forgets the counts, so that any trace of them is a leak."""
    monkeypatch.setattr(DenseBound, "_add", lambda self, counts, bits, mode, tick: counts * 0)
    session, page = session_model_on(tmp_path)
    assert page.ask("release", **pay_args(page, "0.01"))["ok"]
    page.ask("status")
    assert page.ask("show", number="1")["body"]["result"]["values"] == ["0", "0", "0", "0"]
    everything = json.dumps([page.sent, page.sheet, page.state, page.result]) + repr(page.model) + repr(session)
    for secret in SECRETS:
        assert str(secret) not in everything


def test_teaching_draws_and_says_so(tmp_path: Path) -> None:
    page = Page(SessionModel(dv.teaching(KnownCounts(SECRETS), seed=7), [BINS]))
    state = page.model.state()
    assert state["teaching"] == {"seed": "7"} and state["budget"] is None and state["ledger"] == ""
    reply = page.ask("release", **pay_args(page))
    assert reply["body"]["result"]["teaching"] == {"seed": "7"}
    assert "released" not in reply["body"]["result"]["title"] and not page.ask("show", number="1")["ok"]


def test_a_release_made_in_a_cell_moves_the_meter_and_is_shown(tmp_path: Path) -> None:
    session, page = session_model_on(tmp_path)
    assert page.result == "" and session.release(BINS, dv.Dense("0.5")).number == 1
    until(lambda: page.result)
    assert json.loads(page.result)["number"] == "1"
    assert json.loads(page.state)["budget"]["epsilon"]["left"] == "1.5"


def test_a_session_model_opens_with_a_mechanism_that_can_answer(tmp_path: Path) -> None:
    session = Session(
        KnownCounts(SECRETS), dv.Unit("row", relation="replace-one", n=100_000, noun="row"), dv.Budget(2, "1e-6"),
        tmp_path / "fit.ledger",
    )  # fmt: skip
    opened = [
        ("Dense", BINS),
        ("Stability", dv.Domain.integers(0, 2**64 - 1, column="x")),
        ("Stability", dv.Domain.keys(column="x")),  # this source promises no order, so that it has no list for TopK
    ]
    for name, question in opened:
        assert SessionModel(session, [question]).plan.bound.mechanism.name == name


@pytest.mark.parametrize(
    ("question", "with_delta", "without"),
    [
        (dv.Domain.keys(column="x"), "TopK", "ALP"),
        (dv.Domain.integers(0, 2**64 - 1, column="x"), "Stability", "Threshold"),
        (
            dv.Question.sum("x", low=0, high=10, step=1, by=dv.Domain.integers(0, 5, column="x")),
            "Threshold",
            "Threshold",
        ),
        (dv.Question.records([dv.Domain.integers(0, 1, column="x")]), "SampleCategory", "SampleCategory"),
    ],
)
def test_every_kind_of_question_opens_with_what_the_budget_can_pay(
    tmp_path: Path, question: Any, with_delta: str, without: str
) -> None:
    data = pd.DataFrame({"x": [1, 2, 3]})
    for delta, name in (("1e-5", with_delta), ("0", without)):
        session = Session(data, dv.Unit(), dv.Budget("2", delta), tmp_path / f"{name}-{delta}.ledger")
        plan = SessionModel(session, [question]).plan
        assert (plan.bound.mechanism.name, plan.affordable) == (name, True)


def key_model(tmp_path: Path, **more: Any) -> tuple[Session, Page]:
    """A session model on two keys of very many rows each."""
    data = pd.DataFrame({"word": ["often"] * 7919 + ["seldom"] * 6841})
    session = Session(data, dv.Unit(), dv.Budget("4", "1e-5"), tmp_path / "words.ledger")
    return session, Page(SessionModel(session, [dv.Domain.keys(column="word")], **more))


def order_of(page: Page, **parameters: str) -> dict[str, Any]:
    """What the button of the plan on show sends."""
    sheet = page.model.sheet.to_json()
    now = sheet["now"]
    return {
        "question": {"id": sheet["question"]["id"]},
        "mechanism": sheet["mechanism"]["name"],
        "parameters": {**sheet["mechanism"]["parameters"], "epsilon": now["epsilon"], **parameters},
        "price": {"epsilon": now["price"]["epsilon"], "delta": now["price"]["delta"]},
        "key": None,
    }


def test_a_list_is_planned_and_paid_from_the_page(tmp_path: Path) -> None:
    session, page = key_model(tmp_path)
    question = {"kind": "keys", "column": "word"}
    reply = page.ask("plan", question=question, mechanism="TopK", parameters={"epsilon": "1", "k": "2", "kbar": "7"})
    sheet = reply["body"]["sheet"]
    assert (sheet["places"], sheet["now"]["rows"]) == ("2", "8")
    assert sheet["question"]["sentence"].startswith("Which words have the most rows? Up to 2 of them")
    assert all(point["errors"]["0.05"]["listed"] for point in sheet["fans"]["epsilon"])
    page.ask("release", **order_of(page))
    until(lambda: page.result)
    result = json.loads(page.result)
    assert (result["kind"], result["labels"], result["values"]) == ("ranked", ["often", "seldom"], [])
    assert session.remaining.epsilon == 3


@pytest.mark.parametrize("name", ["TopK", "TopKSet", "ExponentialTopK"])
def test_a_list_that_is_picked_asks_for_no_more_than_there_are_bins(tmp_path: Path, name: str) -> None:
    _, page = key_model(tmp_path)
    question = {"kind": "categories", "column": "word", "labels": ["often", "seldom"], "other": True, "missing": False}
    reply = page.ask("plan", question=question, mechanism=name, parameters={"epsilon": "1"})
    assert reply["ok"], reply
    parameters = reply["body"]["sheet"]["mechanism"]["parameters"]
    assert parameters["k"] == "3" and parameters.get("kbar", "3") == "3"
    named = page.ask("plan", question=question, mechanism="TopK", parameters={"epsilon": "1", "k": "4", "kbar": "4"})
    assert not named["ok"] and "this question has 3" in named["error"]["message"]


def test_a_list_given_by_its_epsilon_per_item_is_paid_as_planned_until_the_slider_moves(tmp_path: Path) -> None:
    step = dv.TopK(k=2, kbar=7, epsilon_per_item="0.25", delta="1e-8", delta_prime="1e-7")
    session, page = key_model(tmp_path, mechanism=step)
    price = page.model.plan.price.loss
    page.ask("release", **order_of(page))
    until(lambda: len(session.releases))
    assert session.releases[1].terms.mechanism.text == repr(step)
    assert session.releases[1].guarantee.loss == price
    moved = page.ask(
        "plan", **{name: order_of(page, epsilon="1")[name] for name in ("question", "mechanism", "parameters")}
    )
    assert moved["body"]["sheet"]["now"]["price"]["epsilon"] == "1"
    assert moved["body"]["sheet"]["mechanism"]["parameters"]["epsilon_per_item"] == ""


def test_an_open_sub_session_stands_in_the_history_and_moves_the_budget(tmp_path: Path) -> None:
    session, page = key_model(tmp_path)
    sub = session.open(dv.PayWhatYouGet(symbols=9, questions=3, epsilon="1", delta="1e-6"))
    sub.ask("word", k=2, kbar=7)
    state = page.ask("status")["body"]["state"]
    (entry,) = state["entries"]
    assert (entry["status"], entry["price"]["epsilon"]) == ("open", "1")
    assert state["budget"]["epsilon"] == {"total": "4", "spent": "1", "pending": "0", "left": "3"}
    assert not page.ask("show", number="1")["ok"]


def test_parts_are_one_entry_of_the_history_that_names_them_and_how_they_are_paid(tmp_path: Path) -> None:
    frame = pd.DataFrame({"month": [1, 2, 3] * 20, "kind": ["a", "b"] * 30})
    session = Session(frame, dv.Unit(), dv.Budget(4, "1e-3"), tmp_path / "parts.ledger")
    months, kinds = dv.Domain.integers(1, 3, column="month"), dv.Domain.categories(["a", "b"], column="kind")
    session.release(kinds, dv.Dense("1"), by=months)
    session.release(kinds, dv.TopK(1, 2, epsilon="1", delta="1e-5"), by=months, way="product")
    session.open(dv.Parts(months, epsilon="1"))
    state = Page(SessionModel(session)).ask("status")["body"]["state"]
    assert [(entry["question"], entry["mechanism"], entry["price"]["epsilon"]) for entry in state["entries"]] == [
        ("kind, 2 bins, for each month", "Dense, parallel parts", "1"),
        ("kind, 2 bins, for each month", "TopK, one product domain", "1"),
        ("parts: month, 3 parts, ε 1 each", "Parts", "1"),
    ]
    assert state["budget"]["epsilon"]["spent"] == "3"


def opened_on(data: object, **options: Any) -> Page:
    """A session model that was given no question."""
    return Page(SessionModel(Session(data, dv.Unit(), dv.Budget(2), **options)))


def integers(column: str, low: int, high: int) -> dict[str, Any]:
    edges = {"underflow": False, "overflow": True, "missing": False}
    return {"column": column, "kind": "integers", "low": str(low), "high": str(high), **edges}


def test_the_columns_of_a_csv_file_are_offered_for_numbers_and_for_texts(tmp_path: Path) -> None:
    path = tmp_path / "visits.csv"
    path.write_text("visits,city\n3,Bern\n41,Chur\nmany,Bern\n")
    page = opened_on(path, ledger=tmp_path / "visits.ledger")
    columns = json.loads(page.model.mirrors()["state"])["columns"]
    assert columns == [{"name": name, "kind": "text", "untyped": True} for name in ("visits", "city")]
    args = plan_args(page)
    default = dv.Domain.integers(0, 9, column="visits", underflow=True, overflow=True)
    assert args["question"]["id"] == Question.of(default).id
    edges = {"underflow": True, "overflow": True, "missing": False}
    for declared, bins in (
        (integers("visits", 0, 40), "42"),
        ({"column": "visits", "kind": "intervals", "edges": ["0", "0.5", "7"], **edges}, "4"),
        ({"column": "visits", "kind": "categories", "labels": ["3", "many"], "other": True, "missing": False}, "3"),
    ):
        answer = page.ask("plan", **{**args, "question": declared})
        assert answer["ok"], answer
        assert answer["body"]["sheet"]["question"]["bins"] == bins


FRAME = pd.DataFrame({"code": ["3", "41", None], "seen": pd.to_datetime(["2020-01-01"] * 3)})


@pytest.mark.parametrize("schema", [{"code": "number"}, {"code": "text"}])
def test_a_column_of_a_csv_file_that_a_person_declared_is_offered_as_declared(
    tmp_path: Path, schema: dict[str, str]
) -> None:
    path = tmp_path / "codes.csv"
    path.write_text("code\n3\n41\n")
    page = opened_on(path, schema=schema, ledger=tmp_path / "codes.ledger")
    columns = json.loads(page.model.mirrors()["state"])["columns"]
    assert columns == [{"name": "code", "kind": schema["code"], "untyped": False}]


@pytest.mark.parametrize("source", [lambda frame: frame, dv.sources.duckdb])
def test_texts_in_which_the_source_reads_no_numbers_are_offered_as_texts_alone(tmp_path: Path, source: Any) -> None:
    page = opened_on(source(FRAME), ledger=tmp_path / "frame.ledger")
    columns = json.loads(page.model.mirrors()["state"])["columns"]
    code = {"name": "code", "kind": "text", "untyped": False}
    assert columns == [code, {"name": "seen", "kind": "time", "untyped": False}]
    assert not page.ask("plan", **{**plan_args(page), "question": integers("code", 0, 40)})["ok"]


@pytest.mark.parametrize("source", [lambda frame: frame, dv.sources.duckdb])
def test_a_page_is_offered_no_column_that_cannot_be_counted(tmp_path: Path, source: Any) -> None:
    table = pyarrow.table({"photo": [[1], [2], [3]], "seen": FRAME["seen"], "code": FRAME["code"]})
    page = opened_on(source(table), ledger=tmp_path / "photo.ledger")
    assert [column["name"] for column in json.loads(page.model.mirrors()["state"])["columns"]] == ["seen", "code"]
    assert page.model.sheet.to_json()["question"]["column"] == "code"
    with pytest.raises(ParameterError, match="a workbench needs a column to count by"):
        opened_on(source(table.select(["photo"])), ledger=tmp_path / "none.ledger")


@pytest.mark.parametrize("kind", ["number", "text"])
def test_a_ledger_that_holds_the_kind_of_an_untyped_column_decides_what_is_offered(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "codes.csv"
    path.write_text("code\n3\n41\n")
    opened_on(path, schema={"code": kind}, ledger=tmp_path / "codes.ledger")
    page = opened_on(path, ledger=tmp_path / "codes.ledger")
    columns = json.loads(page.model.mirrors()["state"])["columns"]
    assert columns == [{"name": "code", "kind": kind, "untyped": kind == "text"}]
