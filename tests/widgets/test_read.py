"""A page reads points of a stored answer: the released values with their intervals, for nothing, and nothing else."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import dpviz as dv
from dpviz.exact import rational
from dpviz.session.session import Session
from dpviz.widgets.session_model import SessionModel

BINS = dv.Domain.integers(0, 3, column="x")
SWAP = dv.Unit("row", relation="replace-one", n=40, noun="person")
PEOPLE = pd.DataFrame({"x": [0] * 10 + [1] * 20 + [2] * 4 + [3] * 6, "a": [0, 1] * 20, "b": ["u", "v"] * 20})


@pytest.fixture
def model(tmp_path: Path) -> SessionModel:
    """A session model with two answers: one of every bin, and a structure that answers one bin at a time."""
    session = Session(PEOPLE, SWAP, dv.Budget(8), tmp_path / "read.ledger")
    session.release(BINS, dv.Dense(1))
    session.release(BINS, dv.Compact(1))
    return SessionModel(session, [BINS])


def ask(model: SessionModel, **args: Any) -> dict[str, Any]:
    args = {"number": "2", "points": [["1"], ["3"]], "beta": "0.05", "reader": ""} | args
    reply = model.answer({"v": 1, "id": "1", "ask": "read", "args": args})
    assert reply is not None
    return reply


@pytest.mark.parametrize("number", ["1", "2"])
@pytest.mark.parametrize("beta", ["0.05", "0.01"])
def test_points_are_read_as_python_reads_them_with_an_interval_each(
    model: SessionModel, number: str, beta: str
) -> None:
    body = ask(model, number=number, beta=beta)["body"]
    session = model.session
    assert isinstance(session, Session)
    release = session.releases[int(number)]
    assert [value["point"] for value in body["values"]] == [["1"], ["3"]]
    assert [int(value["value"]) for value in body["values"]] == [release[1], release[3]]
    half = int(release.bars(beta)[0].value)
    for value in body["values"]:
        assert int(value["low"]) == max(0, int(value["value"]) - half)
        assert int(value["high"]) == min(40, int(value["value"]) + half)


def test_reading_is_free_and_changes_nothing(model: SessionModel) -> None:
    session = model.session
    assert isinstance(session, Session)
    before, shown = session.remaining.epsilon, {**model.mirrors(), "pulse": ""}
    assert ask(model)["body"] == ask(model)["body"]
    assert session.remaining.epsilon == before > 0
    assert {**model.mirrors(), "pulse": ""} == shown


def test_a_pair_names_a_bin_of_two_columns(tmp_path: Path) -> None:
    grid = dv.Domain.integers(0, 1, column="a") * dv.Domain.categories(["u", "v"], column="b")
    session = Session(PEOPLE, SWAP, dv.Budget(8), tmp_path / "pair.ledger")
    release = session.release(grid, dv.Dense(1))
    model = SessionModel(session, [grid])
    body = ask(model, number="1", points=[["1", "u"]])["body"]
    assert [int(value["value"]) for value in body["values"]] == [release[1, "u"]]
    assert "one for each column" in ask(model, number="1", points=[["1"]])["error"]["message"]


@pytest.mark.parametrize(
    ("args", "words"),
    [
        ({"points": [["1"], ["4"]]}, "a bin must be one of 0, 1, …, 3, got 4"),
        ({"points": [["often"]]}, "got often"),
        ({"points": [["1", "2"]]}, "one for each column"),
        ({"points": []}, "from 1 to 50 points"),
        ({"points": [["1"]] * 51}, "from 1 to 50 points"),
        ({"points": ["1"]}, "a list of 1 to 50 texts"),
        ({"points": [[1]]}, "made of texts"),
        ({"points": [["1" * 5_000]]}, "longer than 4,000"),
        ({"beta": "0.5"}, "beta must be one"),
        ({"number": "../1"}, "by its number"),
        ({"number": "7"}, "7"),
    ],
)
def test_what_is_no_point_of_a_stored_answer_is_refused(model: SessionModel, args: dict[str, Any], words: str) -> None:
    reply = ask(model, **args)
    assert not reply["ok"] and words in reply["error"]["message"]


def test_a_list_has_no_points_to_read(tmp_path: Path) -> None:
    session = Session(PEOPLE, SWAP, dv.Budget(8), tmp_path / "list.ledger")
    session.release(BINS, dv.ExponentialTopK(2, "1"))
    reply = ask(SessionModel(session, [BINS]), number="1")
    assert not reply["ok"] and "no value" in reply["error"]["message"]


def test_teaching_stores_nothing_that_could_be_read() -> None:
    reply = ask(SessionModel(dv.teaching(PEOPLE, 1, SWAP), [BINS]), number="1")
    assert not reply["ok"] and "teaching keeps no releases" in reply["error"]["message"]


READERS = ("paper", "likelihood", "posterior-median")


def test_keys_are_read_by_the_estimator_that_is_chosen_in_python_and_in_the_page(tmp_path: Path) -> None:
    data = pd.DataFrame({"x": [0] * 400 + [1] * 20 + [2] * 4})
    session = Session(data, dv.Unit(), dv.Budget(8), tmp_path / "sketch.ledger")
    release = session.release(dv.Domain.integers(0, 2**32 - 1, column="x"), dv.ALP("1/2", keys=30, cap=100))
    keys = [*range(60)]
    many = {reader: release.many(keys, reader=reader) for reader in READERS}
    assert many["paper"] == release.many(keys) == [release[key] for key in keys]
    # two readers agree at about 91 keys in 100, nearly independently: at all of 2,000 with a chance below 1e-60
    assert len({tuple(release.many([*range(2000)], reader=reader)) for reader in READERS}) == 3
    model = SessionModel(session, [BINS])
    for reader, values in many.items():
        assert [release.value(key, reader) for key in keys[:3]] == values[:3]
        body = ask(model, number="1", points=[[str(key)] for key in keys[:50]], reader=reader)["body"]
        assert [rational(row["value"], "value") for row in body["values"]] == values[:50]
        stated = release.error.estimator(reader).one_bin(rational("0.05", "beta")) is not None
        assert all((row["known"] != "") == stated == (row["low"] + row["high"] != "") for row in body["values"])
    assert many["paper"] and release.error.estimator("paper").one_bin(rational("0.05", "beta")) is not None
    for wrong in (lambda: release.value(3, "mean"), lambda: release.many([3], reader="mean")):
        with pytest.raises(dv.DpvizError, match='reader must be "paper", "likelihood"'):
            wrong()
    refused = ask(model, number="1", reader="mean")
    assert not refused["ok"] and 'reader must be "paper", "likelihood"' in refused["error"]["message"]
