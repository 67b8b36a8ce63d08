"""Plans that wait give way to the latest, nothing else waits for them, and an order is acted on once."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import pytest

import dpviz as dv
from dpviz.widgets import dispatcher
from dpviz.widgets.dispatcher import MOST_WAITING, Dispatcher
from dpviz.widgets.messages import Asks
from dpviz.widgets.view import WidgetView
from tests.patience import patience
from tests.session.sources import Gate, KnownCounts, KnownTop
from tests.widgets.pages import Wire, complete, content
from tests.widgets.test_order import order

BINS = dv.Domain.integers(0, 3, column="x")


@pytest.fixture
def wire(monkeypatch: pytest.MonkeyPatch) -> Wire:
    return Wire(monkeypatch)


class Stop:
    """Hold up every plan until the test lets them go on."""

    def __init__(self, patch: pytest.MonkeyPatch, owner: Any, name: str) -> None:
        self.reached, self.open, self.planned = threading.Event(), threading.Event(), 0
        plain = getattr(owner, name)

        def held(*args: Any, **more: Any) -> Any:
            if threading.current_thread() is not threading.main_thread():
                self.planned += 1
                self.reached.set()
                assert self.open.wait(patience())
            return plain(*args, **more)

        patch.setattr(owner, name, held)


def workbench(path: Path, before: Any = None, budget: object = 2) -> dv.Workbench:
    session = dv.Session(KnownCounts([4, 5, 6, 7], before), dv.Unit(), dv.Budget(budget), path / "a.ledger")  # type: ignore[arg-type]
    return dv.Workbench(session, BINS)


def sub_session_view(path: Path) -> dv.PayWhatYouGetTape:
    source = KnownTop({"": {"ATL": 7919, "STL": 6841}})
    session = dv.Session(source, dv.Unit("person"), dv.Budget("2", "1e-5"), path / "f.ledger")  # type: ignore[arg-type]
    sub = session.open(dv.PayWhatYouGet(symbols=12, questions=4, epsilon="1", delta="1e-6"))
    return dv.PayWhatYouGetTape(sub, {"All year": dv.Domain.keys(column="dest")})


def epsilons(bench: dv.Workbench, number: int) -> list[dict[str, Any]]:
    """Plans of as many prices."""
    base = {name: part for name, part in order(bench).items() if name not in ("price", "key")}
    return [{**base, "parameters": {**base["parameters"], "epsilon": f"{i + 1}/8000"}} for i in range(number)]


def flood(wire: Wire, view: WidgetView, name: str, asks: list[dict[str, Any]]) -> list[str]:
    return [wire.ask(view, name, **args) for args in asks]


def replies(wire: Wire, view: WidgetView, asked: list[str]) -> list[dict[str, Any]]:
    """The reply to each, of which there is exactly one."""
    found: dict[str, list[dict[str, Any]]] = {}
    missing = set(asked)

    def heard(message: dict[str, Any]) -> bool:
        if "re" in content(message):
            found.setdefault(content(message)["re"], []).append(content(message))
            missing.discard(content(message)["re"])
        return not missing

    wire.hear(view, heard)
    assert all(len(found[name]) == 1 for name in asked)
    return [found[name][0] for name in asked]


def kinds(answers: list[dict[str, Any]]) -> list[str]:
    return ["ok" if answer["ok"] else answer["error"]["kind"] for answer in answers]


def test_of_the_plans_that_wait_the_latest_is_computed_and_the_others_hear_so(
    wire: Wire, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bench = workbench(tmp_path)
    stop = Stop(monkeypatch, bench.session_model, "_asked")
    first = flood(wire, bench, "plan", epsilons(bench, 1))
    assert stop.reached.wait(patience())
    asked = flood(wire, bench, "plan", epsilons(bench, 5_000))
    status = wire.answer(bench, "status")
    assert status["ok"], "a status does not wait for plans"
    stop.open.set()
    answers = replies(wire, bench, [*first, *asked])
    assert kinds(answers) == [*["Superseded"] * 5_000, "ok"] and stop.planned == 2
    assert answers[-1]["body"]["sheet"]["now"]["exactly"] == "5/8"
    assert "nothing was charged" in answers[1]["error"]["message"]
    assert bench.session_model.plan.price.loss == dv.Dense("5/8").bind(dv.Question.of(BINS), dv.Unit()).price.loss


def test_a_release_its_cancel_and_its_news_do_not_wait_for_plans(
    wire: Wire, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    gate = Gate()
    bench = workbench(tmp_path, gate)
    args = order(bench)
    model = bench.session_model
    plain, stop = model._asked, threading.Event()

    def held(said: dict[str, Any]) -> Any:
        if "price" not in said:
            assert stop.wait(patience())
        return plain(said)

    monkeypatch.setattr(model, "_asked", held)
    plans = flood(wire, bench, "plan", epsilons(bench, 500))
    reply = wire.answer(bench, "release", **args)
    assert reply["ok"] and reply["body"]["number"] == "1"
    assert wire.answer(bench, "cancel", token=reply["body"]["token"])["ok"]
    told = content(wire.wait(bench, lambda message: content(message).get("event") == "cancelled"))
    assert told["body"]["state"]["budget"]["epsilon"]["left"] == "1.5"
    stop.set()
    assert kinds(replies(wire, bench, plans))[-1] == "ok"


def test_plans_of_a_sub_session_view_are_answered_by_the_latest(
    wire: Wire, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    view = sub_session_view(tmp_path)
    offer = view._model.state()["offers"][0]["id"]
    stop = Stop(monkeypatch, view._model, "_asked")
    asks = [{"question": offer, "k": str(k), "kbar": "900"} for k in range(1, 801)]
    first = flood(wire, view, "plan", asks[:1])
    assert stop.reached.wait(patience())
    asked = flood(wire, view, "plan", asks)
    stop.open.set()
    answers = replies(wire, view, [*first, *asked])
    assert kinds(answers) == ["ok", *["Superseded"] * 799, "ok"] and answers[-1]["body"]["most"] == "800"


def test_moves_of_an_explorer_are_answered_by_the_latest(wire: Wire, monkeypatch: pytest.MonkeyPatch) -> None:
    explorer = dv.SamplerExplorer()
    stop = Stop(monkeypatch, type(explorer._exploring.sheet), "moved")
    place = {"n": "30", "epsilon": "0.5", "gamma": "0.01", "t": "2"}
    asks = [{"place": {**place, "c": str(c % 31)}} for c in range(500)]
    first = flood(wire, explorer, "move", asks[:1])
    assert stop.reached.wait(patience())
    asked = flood(wire, explorer, "move", asks)
    stop.open.set()
    answers = replies(wire, explorer, [*first, *asked])
    assert kinds(answers) == [*["Superseded"] * 500, "ok"] and stop.planned == 2
    assert explorer.shown["now"]["at"]["c"] == str(499 % 31)


class Steps:
    """Count the points that a sheet computes, and hold up the first of them until the test lets it go on."""

    def __init__(self, patch: pytest.MonkeyPatch, owner: Any, name: str = "point") -> None:
        self.reached, self.open, self.points = threading.Event(), threading.Event(), 0
        plain = getattr(owner, name)

        def held(*args: Any, **more: Any) -> Any:
            self.points += 1
            self.reached.set()
            assert self.open.wait(patience())
            return plain(*args, **more)

        patch.setattr(owner, name, held)


def test_a_move_that_is_overtaken_is_cut_short_at_its_next_point(wire: Wire, monkeypatch: pytest.MonkeyPatch) -> None:
    explorer = dv.SamplerExplorer()
    sheet = explorer._exploring.sheet
    place = {"n": "30", "epsilon": "0.5", "gamma": "0.01", "t": "2"}
    most = sum(map(len, sheet.moved({**place, "c": "30"}).to_json()["fans"].values())) + 1
    steps = Steps(monkeypatch, type(sheet))
    first = flood(wire, explorer, "move", [{"place": {**place, "c": "1"}}])
    assert steps.reached.wait(patience())
    last = flood(wire, explorer, "move", [{"place": {**place, "c": str(c)}} for c in range(2, 31)])
    steps.open.set()
    answers = replies(wire, explorer, [*first, *last])
    assert kinds(answers) == [*["Superseded"] * 29, "ok"]
    assert complete(explorer)["now"]["at"]["c"] == "30"
    assert steps.points <= 1 + most, "of thirty moves one was begun and cut short, and one computed"


def test_a_slider_that_never_rests_is_shown_something(wire: Wire, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dispatcher, "STARVED", 0.0)
    explorer = dv.SamplerExplorer()
    stop = Stop(monkeypatch, type(explorer._exploring.sheet), "moved")
    place = {"n": "30", "epsilon": "0.5", "gamma": "0.01", "t": "2"}
    first = flood(wire, explorer, "move", [{"place": {**place, "c": "1"}}])
    assert stop.reached.wait(patience())
    second = flood(wire, explorer, "move", [{"place": {**place, "c": "2"}}])
    stop.open.set()
    assert kinds(replies(wire, explorer, [*first, *second])) == ["ok", "ok"]


def test_more_requests_than_a_person_can_make_are_refused_and_charge_nothing(wire: Wire, tmp_path: Path) -> None:
    bench = workbench(tmp_path)
    held = threading.Event()
    bench.session_model._dispatcher.soon(lambda: held.wait(patience()) and None)
    args = order(bench)
    asked = [wire.ask(bench, "release", **{**args, "key": str(i)}) for i in range(MOST_WAITING + 50)]
    held.set()
    answers = replies(wire, bench, asked)
    assert kinds(answers)[-50:] == ["SessionBusy"] * 50
    assert len(bench.session_model.session.ledger.entries()) <= 4  # type: ignore[union-attr]
    assert wire.answer(bench, "status")["ok"], "it listens again"


def test_an_order_that_comes_twice_is_answered_twice_and_charged_once(wire: Wire, tmp_path: Path) -> None:
    gate = Gate()
    bench = workbench(tmp_path, gate)
    message = {"v": 1, "id": "twice", "ask": "release", "args": order(bench)}
    for _ in range(3):
        wire.send(bench, {"method": "custom", "content": message})
    gate.open.set()
    wire.answer(bench, "status")
    wire.wait(bench, lambda m: "result" in content(m).get("body", {}))
    wire.send(bench, {"method": "custom", "content": message})
    asked = wire.ask(bench, "status")
    wire.wait(bench, lambda m: content(m).get("re") == asked)
    assert [entry.status for entry in bench.session_model.session.ledger.entries()] == ["done"]  # type: ignore[union-attr]
    said = [content(m) for m in wire.of(bench) if content(m).get("re") == "twice"]
    assert all(one["ok"] for one in said)


def test_an_order_that_was_refused_is_not_charged_when_its_message_comes_again(wire: Wire, tmp_path: Path) -> None:
    bench = workbench(tmp_path, budget="0.4")
    args = order(bench)
    message = {"v": 1, "id": "old", "ask": "release", "args": args}
    wire.send(bench, {"method": "custom", "content": message})
    first = content(wire.wait(bench, lambda m: content(m).get("re") == "old"))
    assert first["error"]["kind"] == "BudgetExceeded"
    session = bench.session_model.session
    assert isinstance(session, dv.Session)
    session.raise_budget(dv.Budget(4))
    wire.send(bench, {"method": "custom", "content": message})
    wire.answer(bench, "status")
    assert session.remaining.epsilon == 4 and session.ledger.entries() == []
    assert wire.answer(bench, "release", **args)["ok"] and session.remaining.epsilon == dv.Budget("3.5").epsilon


@pytest.mark.parametrize("ask", ["at once", "quick", "slow", "slow, as it is shown"])
def test_a_fault_of_ours_is_answered_without_its_text(ask: str) -> None:
    def fault(*_: Any) -> Any:
        raise TypeError("row 12 holds 97")

    asks: Asks = {"at once": {}, "quick": {}, "slow": {}, "slow, as it is shown": {}}
    tried = Dispatcher(
        asks,
        "look at the ledger",
        quick={"quick": fault},
        slow={"slow": fault, "slow, as it is shown": lambda _: fault},
        at_once={"at once": fault},
    )
    reply = tried.answer({"v": 1, "id": "a", "ask": ask, "args": {}})
    assert reply is not None and not reply["ok"] and reply["error"]["kind"] == "DpvizError"
    assert reply["error"]["message"] == "the kernel could not answer; look at the ledger" and "97" not in str(reply)
