"""Whenever a draw ends, the page hears of it once, after the reply that names its token."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import dpviz as dv
from dpviz.model.source import Tick
from dpviz.widgets import watching
from tests.patience import patience, until
from tests.session.sources import KnownCounts, KnownTop
from tests.widgets.pages import Message, Wire, content, event, trait

BINS = dv.Domain.integers(0, 3, column="x")
ENDS = ("released", "cancelled", "failed")


class ReleaseJob:
    """A draw that waits, ticking, until the test lets it end the way it should."""

    def __init__(self, ending: str) -> None:
        self.ending = ending
        self.begun = threading.Event()
        self.open = threading.Event()
        self.owner: Any = None

    def __call__(self, tick: Tick | None) -> None:
        assert tick is not None
        self.begun.set()
        while not self.open.wait(0.005):
            tick(0, 1)
        if self.ending == "failed":
            raise RuntimeError("the engine stopped")

    def end(self) -> None:
        """Let it end once it is charged, however long that takes, and wait until it has."""
        assert self.begun.wait(patience())
        if self.ending == "cancelled":
            self.owner.cancel()
        else:
            self.open.set()
        until(lambda: self.owner.running is None)


def names_token(message: Message) -> bool:
    return "token" in content(message).get("body", {}) and "re" in content(message)


def shows_it_running(message: Message) -> bool:
    state = trait(message, "state")
    return state is not None and state["running"] is not None


MOMENTS: dict[str, Callable[[Message], bool] | None] = {
    "as the state shows it, before the reply": shows_it_running,
    "as the reply is sent": names_token,
    "at the first progress": lambda message: event(message, "progress"),
    "long after the reply": None,
}


@pytest.fixture
def wire(monkeypatch: pytest.MonkeyPatch) -> Wire:
    monkeypatch.setattr(watching, "SETTLES", 0.01)
    return Wire(monkeypatch)


def workbench(path: Path, draw: ReleaseJob) -> Any:
    session = dv.Session(KnownCounts([4, 5, 6, 7], draw), dv.Unit(), dv.Budget(2), path / "a.ledger")  # type: ignore[arg-type]
    draw.owner = session
    return dv.Workbench(session, BINS)


def order(bench: Any) -> dict[str, Any]:
    sheet = json.loads(bench.sheet)
    return {
        "question": {"id": sheet["question"]["id"]},
        "mechanism": "Dense",
        "parameters": {**sheet["mechanism"]["parameters"], "epsilon": "0.5"},
        "price": {"epsilon": "0.5", "delta": "0"},
        "key": None,
    }


@pytest.mark.parametrize("ending", ENDS)
@pytest.mark.parametrize("moment", MOMENTS)
def test_a_release_that_ends_at_any_moment_is_told_once_and_after_its_token(
    moment: str, ending: str, wire: Wire, tmp_path: Path
) -> None:
    draw = ReleaseJob(ending)
    bench = workbench(tmp_path, draw)
    if (at := MOMENTS[moment]) is not None:
        wire.once(at, draw.end)
    asked = wire.ask(bench, "release", **order(bench))
    reply = wire.wait(bench, lambda message: content(message).get("re") == asked)
    if at is None:
        wire.wait(bench, lambda message: event(message, "progress"))
        draw.end()
    token = content(reply)["body"]["token"]
    told = wire.wait(bench, lambda message: event(message, *ENDS))
    assert content(told)["event"] == ending and content(told)["body"]["token"] == token
    assert content(told)["body"]["number"] == "1"
    messages = wire.of(bench)
    about = [i for i, message in enumerate(messages) if content(message).get("body", {}).get("token") == token]
    assert messages[about[0]] == reply and messages[about[-1]] == told
    assert len([message for message in messages if event(message, *ENDS)]) == 1
    states = [state for message in messages if (state := trait(message, "state")) is not None]
    assert states[-1]["running"] is None and states[-1]["outcomes"][-1]["token"] == token
    status = wire.answer(bench, "status")["body"]["state"]
    assert [(end["token"], end["event"], end["re"]) for end in status["outcomes"]] == [(token, ending, asked)]


@pytest.mark.parametrize("ending", ENDS)
def test_a_release_that_ends_before_the_reply_is_told_in_it(
    ending: str, wire: Wire, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(watching, "SETTLES", patience())
    draw = ReleaseJob(ending)
    draw.open.set()
    if ending == "cancelled":
        draw.open.clear()
    bench = workbench(tmp_path, draw)
    asked = wire.ask(bench, "release", **order(bench))
    if ending == "cancelled":
        until(lambda: draw.owner.running is not None and draw.owner.running.number is not None)
        draw.end()
    reply = content(wire.wait(bench, lambda message: content(message).get("re") == asked))
    if ending == "released":
        assert reply["body"]["result"]["number"] == "1" and reply["body"]["state"]["running"] is None
        wire.answer(bench, "status")
        assert not [message for message in wire.of(bench) if event(message, *ENDS)]
    else:  # it is charged, so it is no refusal: the reply names the token, and then the page hears how it ended
        told = content(wire.wait(bench, lambda message: event(message, *ENDS)))
        assert reply["ok"] and reply["body"] == {"token": told["body"]["token"], "number": "1"}
        assert told["event"] == ending and draw.owner.remaining.epsilon == dv.Budget("1.5").epsilon


def test_a_draw_of_about_the_time_that_a_reply_waits_is_never_left_hanging(wire: Wire, tmp_path: Path) -> None:
    """The draw and the reply race, forty times, around the moment at which the reply gives up waiting."""

    def brief(tick: Tick | None) -> None:
        time.sleep(next(pauses))

    pauses = iter([0.006 + 0.0002 * i for i in range(40)])
    session = dv.Session(KnownCounts([4, 5, 6, 7], brief), dv.Unit(), dv.Budget(40), tmp_path / "a.ledger")  # type: ignore[arg-type]
    bench = dv.Workbench(session, BINS)
    for i in range(40):
        reply = wire.answer(bench, "release", **{**order(bench), "key": f"again-{i}"})
        if "token" in reply["body"]:
            token = reply["body"]["token"]
            wire.wait(bench, lambda m, token=token: event(m, "released") and content(m)["body"]["token"] == token)
    said = [content(message) for message in wire.of(bench)]
    named = [one["body"]["token"] for one in said if "re" in one and "token" in one["body"]]
    told = [one["body"]["token"] for one in said if one.get("event") == "released"]
    assert named == told and len(session.releases) == 40


@pytest.mark.parametrize("ending", ENDS)
@pytest.mark.parametrize("moment", [moment for moment in MOMENTS if "progress" not in moment])
def test_a_question_of_a_sub_session_view_that_ends_at_any_moment_is_told_after_its_token(
    moment: str, ending: str, wire: Wire, tmp_path: Path
) -> None:
    draw = ReleaseJob(ending)
    source = KnownTop({"": {"ATL": 7919, "STL": 6841}}, draw)
    session = dv.Session(source, dv.Unit("person"), dv.Budget("2", "1e-5"), tmp_path / "f.ledger")  # type: ignore[arg-type]
    sub = session.open(dv.PayWhatYouGet(symbols=12, questions=4, epsilon="1", delta="1e-6"))
    draw.owner = sub
    view = dv.PayWhatYouGetTape(sub, {"All year": dv.Domain.keys(column="dest")})
    if (at := MOMENTS[moment]) is not None:
        wire.once(at, draw.end)
    offer = json.loads(view.state)["offers"][0]["id"]
    asked = wire.ask(view, "release", question=offer, k="2", kbar="5", most="2", left="12", key=None)
    reply = content(wire.wait(view, lambda message: content(message).get("re") == asked))
    token = reply["body"]["token"]
    if at is None:
        draw.end()

    def over(message: Message) -> bool:
        state = trait(message, "state")
        return state is not None and [end["token"] for end in state["outcomes"]] == [token]

    last = trait(wire.wait(view, over), "state")
    assert last["running"] is None and last["outcomes"][0]["event"] == ending
    assert (last["fault"] is None) == (ending == "released")
    assert last["rows"][0]["status"] == {"released": "done"}.get(ending, ending)
    told = [state for message in wire.of(view) if (state := trait(message, "state")) is not None]
    numbers = [int(state["serial"]) for state in told]
    assert numbers == sorted(numbers) and told[-1]["serial"] == last["serial"]
    assert int(reply["body"]["state"]["serial"]) <= int(last["serial"])


def test_a_refused_order_is_answered_in_the_reply_and_is_no_outcome(
    wire: Wire, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(watching, "SETTLES", patience())
    bench = workbench(tmp_path, ReleaseJob("released"))
    args = order(bench)
    args["parameters"]["epsilon"], args["price"] = "3", {"epsilon": "3", "delta": "0"}
    reply = wire.answer(bench, "release", **args)
    assert not reply["ok"] and reply["error"]["kind"] == "BudgetExceeded"
    state = wire.answer(bench, "status")["body"]["state"]
    assert state["outcomes"] == [] and state["running"] is None and state["entries"] == []


def test_an_answer_is_told_although_the_ledger_cannot_be_read_any_more(
    wire: Wire, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    draw = ReleaseJob("released")
    bench = workbench(tmp_path, draw)
    reply = wire.answer(bench, "release", **order(bench))

    def away(*_: Any) -> Any:
        raise dv.DpvizError("the ledger is away")

    monkeypatch.setattr("dpviz.widgets.state.session_state", away)
    draw.end()
    told = content(wire.wait(bench, lambda message: event(message, *ENDS)))
    assert told["event"] == "released" and told["body"]["token"] == reply["body"]["token"]
    assert told["body"]["state"]["running"] is None
    assert told["body"]["state"]["outcomes"][-1]["event"] == "released"
