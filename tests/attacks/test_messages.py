"""Messages that a page would never send: refused at once, with nothing charged and nothing kept."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pytest

import dpviz as dv
from dpviz.session.session import Session
from dpviz.widgets.session_model import SessionModel
from tests.patience import patience
from tests.session.sources import KnownCounts

HALF = {"epsilon": "1/2"}


@pytest.fixture
def model(tmp_path: Path) -> SessionModel:
    session = Session(KnownCounts([4, 0, 9, 1]), dv.Unit(), dv.Budget(10), tmp_path / "test.ledger")
    return SessionModel(session, [dv.Domain.integers(0, 3, column="x")])


def integers(**parts: Any) -> dict[str, Any]:
    flags = {"underflow": False, "overflow": False, "missing": False}
    return {"kind": "integers", "column": "x", "low": "0", "high": "3", **flags, **parts}


def categories(labels: list[str]) -> dict[str, Any]:
    return {"kind": "categories", "column": "x", "labels": labels, "other": False, "missing": False}


def nested(depth: int) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for _ in range(depth):
        found = {"a": found}
    return found


def plan(question: dict[str, Any], parameters: dict[str, Any] = HALF, mechanism: str = "Dense") -> dict[str, Any]:
    return {"ask": "plan", "args": {"question": question, "mechanism": mechanism, "parameters": parameters}}


def release(price: dict[str, Any], **more: Any) -> dict[str, Any]:
    args = {"question": integers(), "mechanism": "Dense", "parameters": HALF, "price": price, "key": None, **more}
    return {"ask": "release", "args": args}


def draw(number: str, count: Any) -> dict[str, Any]:
    return {"ask": "draw", "args": {"number": number, "count": count}}


def records(columns: Any, otherwise: Any = None) -> dict[str, Any]:
    return {"kind": "records", "columns": columns, "otherwise": {} if otherwise is None else otherwise}


def read(number: str, points: list[Any], beta: str = "0.05") -> dict[str, Any]:
    return {"ask": "read", "args": {"number": number, "points": points, "beta": beta}}


HOSTILE = {
    "a trillion bins": plan(integers(high="1000000000000")),
    "more bins than digits": plan(integers(high="1e9999")),
    "half a surrogate pair": plan(categories(["\ud800"])),
    "labels of 80 MB": plan(categories(["a" * 3_990 + str(number) for number in range(20_000)])),
    "a list of lists": plan(categories([["a"]])),  # type: ignore[list-item]
    "labels in a text": plan({**categories([]), "labels": "abc"}),
    "a million labels": plan(categories(["a"] * 1_000_000)),
    "a prototype": plan(integers(), mechanism="__proto__"),
    "a dunder": plan(integers(), mechanism="__class__"),
    "a prototype as parameter": plan(integers(), {"epsilon": "1", "__proto__": "x"}),
    "a constructor as question": plan({"id": "constructor"}),
    "not a number": plan(integers(), {"epsilon": "NaN"}),
    "too long a number": plan(integers(), {"epsilon": "1" * 3_000}),
    "too large a number": plan(integers(), {"epsilon": "1e9999"}),
    "a price as number": plan(integers(), {"epsilon": 0.5}),
    "deep parameters": plan(integers(), nested(100_000)),
    "a deep question": plan(nested(100_000)),
    "deep arguments": {"ask": "plan", "args": nested(100_000)},
    "a lower price": release({"epsilon": "0.49999999999999999999999999999999999999", "delta": "0"}),
    "no price": release({"epsilon": "0", "delta": "0"}),
    "a price that is no number": release({"epsilon": "NaN", "delta": "0"}),
    "a price of ten thousand digits": release({"epsilon": "1e9999", "delta": "0"}),
    "a price with one part": release({"epsilon": "0.5"}),
    "a key that cannot be stored": release({"epsilon": "0.5", "delta": "0"}, key="\ud800"),
    "an empty key": release({"epsilon": "0.5", "delta": "0"}, key=""),
    "a retry": release({"epsilon": "0.5", "delta": "0"}, retry=True),
    "a release by a number that is not one": {"ask": "show", "args": {"number": "٣"}},
    "a release that is not there": {"ask": "show", "args": {"number": "9" * 18}},
    "points of a release that is not there": read("9" * 18, [["1"]]),
    "a point that is a number": read("1", [[1]]),
    "points nested deep": read("1", [nested(100_000)]),
    "more points than a page reads": read("1", [["1"]] * 51),
    "a beta of ten thousand digits": read("1", [["1"]], beta="1e-9999"),
    "records of a release that is not there": draw("9" * 18, "1"),
    "a number of records that is a number": draw("1", 1),
    "a number of records that is a list": draw("1", ["1"]),
    "records below none": draw("1", "-1"),
    "half a record": draw("1", "0.5"),
    "records of ten thousand digits": draw("1", "9" * 10_000),
    "records in digits of another script": draw("1", "٣"),
    "more of a draw than is asked for": {"ask": "draw", "args": {"number": "1", "count": "1", "seed": "7"}},
    "a record of nothing": plan(records([])),
    "a record of a text": plan(records("x")),
    "a record of nested columns": plan(records([nested(100_000)])),
    "a record of records": plan(records([records([integers()])])),
    "a record of more columns than a page declares": plan(records([integers()] * 51)),
    "a record of one column twice": plan(records([integers(), integers()]), mechanism="SampleCategory"),
    "a record of 60 MB": plan(records([categories(["a" * 3_990 + str(number) for number in range(250)])] * 50)),
    "a record of undeclared keys": plan(records([{"kind": "keys", "column": "x"}])),
    "otherwise nested deep": plan(records([integers()], nested(100_000))),
    "otherwise for a column that is not there": plan(records([integers()], {"y": "1"}), mechanism="SampleCategory"),
    "otherwise in half a surrogate pair": plan(records([integers()], {"x": "\ud800"}), mechanism="SampleCategory"),
    "records of more labels than numbers": plan(records([integers(high="9" * 4_000)]), mechanism="SampleCategory"),
    "a method": {"ask": "__init__", "args": {}},
    "no ask": {"args": {}},
    "an ask that is a list": {"ask": ["plan"], "args": {}},
}


def shown(model: SessionModel) -> dict[str, str]:
    """What the page shows, but for the sign of life."""
    return {name: value for name, value in model.mirrors().items() if name != "pulse"}


@pytest.mark.parametrize("message", HOSTILE.values(), ids=HOSTILE.keys())
def test_a_hostile_message_is_refused_at_once_and_changes_nothing(model: SessionModel, message: dict[str, Any]) -> None:
    before = shown(model)
    began = time.monotonic()
    answer = model.answer({"v": 1, "id": "a", **message})
    assert time.monotonic() - began < patience()
    assert answer is not None and answer["ok"] is False
    assert answer["error"]["kind"] != "DpvizError", "a refusal should name what is wrong"
    assert len(json.dumps(answer)) < 10_000
    assert shown(model) == before
    assert isinstance(model.session, Session) and model.session.ledger.entries() == []


@pytest.mark.parametrize("content", [None, 5, "x", [], {}, {"v": 1}, {"v": 1, "id": 5}, {"v": 1, "id": "x" * 65}])
def test_what_is_no_message_gets_no_answer(model: SessionModel, content: Any) -> None:
    assert model.answer(content) is None


@pytest.mark.parametrize("price", ["0.5", "0.50", "1/2", "5e-1", "+.5", " 0.5 "])
def test_a_price_is_compared_as_a_number(model: SessionModel, price: str) -> None:
    answer = model.answer({"v": 1, "id": "a", **release({"epsilon": price, "delta": "0.0"})})
    assert answer is not None and answer["ok"], answer
    assert isinstance(model.session, Session) and model.session.remaining.epsilon == dv.Budget("9.5").epsilon
