"""Data handed to any public call, in any place, is in no message and in no variable of a frame that IPython prints.

A person pastes `data.column.tolist()` where a label, a key or an epsilon belongs. So every public call that there is
gets a column, a frame, a list and a dict of canaries in each of its places, by position and by name.
"""

from __future__ import annotations

from collections.abc import Iterator
from inspect import Parameter
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from IPython.core.ultratb import VerboseTB

import dpviz as dv
from dpviz.boundary import has_boundary
from tests.canary.boundaries import BINS, PAY_WHAT_YOU_GET, Call, calls, objects
from tests.canary.mistakes import dissected, entered, shown

CANARY, NUMBER = "Quetzalwren", 718_281_828
WORDS = [CANARY, f"{CANARY} B", f"{CANARY} B"]
LEAKS = (CANARY, str(NUMBER))
KEY = "Keyname"
"""A key of a dict is the name of a column or of a parameter: a message may say that there is none, a frame may not."""

VALID: dict[str, Any] = {
    "epsilon": "1/2", "delta": "1e-6", "column": "x", "low": 0, "high": 3, "edges": [0, 1, 2], "labels": ["a", "b"],
    "question": BINS, "asked": BINS, "mechanism": dv.Dense(1), "parameters": PAY_WHAT_YOU_GET, "first": BINS, "k": 2,
    "beta": "0.05",
    "second": dv.Domain.categories(["a"], column="place"), "unit": dv.Unit(), "budget": dv.Budget(1), "seed": 1,
    "data": pd.DataFrame({"x": [1, 2]}), "path": "doors.file", "ledger": "other.ledger", "number": 1, "use": 1,
    "release": None, "question_": BINS, "label": 0, "index": 0, "count": 1, "bins": 4, "table": "power", "name": "a",
}  # fmt: skip
"""What goes into the other places of a call, as far as it needs them."""


def given() -> Iterator[Any]:
    """A column, a frame, lists and dicts of canaries, also within a filter."""
    column = pd.Series(WORDS, name="note")
    yield column
    yield column.to_frame()
    yield column.to_numpy()
    yield list(WORDS)
    yield [NUMBER, NUMBER + 0.5]
    yield {KEY: WORDS}
    yield {"x": column.to_frame()}
    yield {"x": list(WORDS)}
    yield [column, {"x": (CANARY,)}]
    yield np.array([NUMBER])


STARRED = (Parameter.VAR_POSITIONAL, Parameter.VAR_KEYWORD)
BY_NAME = (Parameter.KEYWORD_ONLY, Parameter.POSITIONAL_OR_KEYWORD)


def placed(call: Call, place: Parameter, value: Any) -> Iterator[tuple[tuple[Any, ...], dict[str, Any]]]:
    """The arguments that put a value into one place of a call, by name and by position."""
    needed = [one for one in call.parameters if one.default is Parameter.empty and one.kind not in STARRED]
    named = {one.name: VALID.get(one.name) for one in needed if one is not place and one.kind in BY_NAME}
    if place.kind in BY_NAME:
        yield (), {**named, place.name: value}
    if place.kind is Parameter.VAR_KEYWORD:
        yield (), {**named, "theme": value}
        yield (), {**named, "odd": value}
    if place.kind not in (Parameter.KEYWORD_ONLY, Parameter.VAR_KEYWORD):
        before = call.parameters[: call.parameters.index(place)]
        after = {name: one for name, one in named.items() if name not in {other.name for other in before}}
        yield (*(VALID.get(other.name) for other in before), value), after


def refused(arguments: tuple[Any, ...], named: dict[str, Any], call: Any) -> BaseException | None:
    try:
        call(*arguments, **named)
    except BaseException as error:
        return error
    return None


def leaks(error: BaseException, *, verbose: bool) -> list[str]:
    """What a message, the frames from dpviz on, the short form in IPython and `dv.traceback` show of the canaries."""
    variables = [
        (name, shown(value)) for frame in entered(error.__traceback__) for name, value in frame.f_locals.items()
    ]
    frames = [text for name, text in variables if name != "failure"]  # which is the error, in whose message it may be
    told = [str(error), dissected(error), *getattr(error, "_render_traceback_", list)()]
    if verbose and (stack := entered(error.__traceback__)):
        trace = error.__traceback__
        while trace is not None and trace.tb_frame is not stack[0]:
            trace = trace.tb_next
        told.append("\n".join(VerboseTB(theme_name="nocolor").structured_traceback(type(error), error, trace)))
    return [one for one in LEAKS for text in told if one in text] + [KEY for text in frames if KEY in text]


@pytest.fixture(scope="module")
def every(tmp_path_factory: pytest.TempPathFactory) -> list[Call]:
    return calls(objects(tmp_path_factory.mktemp("doors")))


def test_the_walk_reaches_the_calls_that_a_person_makes(every: list[Call]) -> None:
    names = {call.name for call in every}
    assert {
        "Session()", "session.release", "session.plan", "session.open", "sub.ask", "Domain.integers", "Unit()",
        "Domain.categories", "integers.__mul__", "release.__getitem__", "release.save", "ledger.backup", "Workbench()",
        "dpviz.report", "dpviz.load", "dpviz.engines.sources.duckdb", "dpviz.charts.histogram", "plan.error.one_bin",
        "Budget()",
    } <= names  # fmt: skip
    assert len(names) > 300


def test_every_public_call_has_a_boundary(every: list[Call]) -> None:
    assert sorted(call.name for call in every if not has_boundary(call.raw)) == []


def test_data_in_any_place_of_any_public_call_is_shown_nowhere(
    every: list[Call], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    leaky: dict[str, str] = {}
    counted = 0
    for call in every:
        for place in call.parameters:
            for number, value in enumerate(given()):
                for arguments, named in placed(call, place, value):
                    error = refused(arguments, named, call.call)
                    if error is None:
                        continue
                    counted += 1
                    if leaks(error, verbose=number == counted % 7):
                        leaky[f"{call.name}({place.name})"] = f"{type(error).__name__}: {error}"
    assert leaky == {}
    assert counted > 3_000


def test_a_call_without_a_boundary_would_be_seen() -> None:
    namespace: dict[str, Any] = {"__name__": "dpviz.careless"}
    exec("def careless(labels):\n    raise ValueError('no')", namespace)
    error = refused((WORDS,), {}, namespace["careless"])
    assert error is not None and leaks(error, verbose=True)
