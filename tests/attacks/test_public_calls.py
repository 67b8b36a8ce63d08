"""Every public call, with a hostile value in the place of each argument: an answer, or a refusal of ours that has a
value, a rule and a next step, can be printed, holds no data, spends nothing and comes at once."""

from __future__ import annotations

import inspect
import math
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FunctionType
from typing import Any

import pandas as pd
import pytest

import dpviz as dv
from dpviz.errors import DpvizError
from tools.docstrings import NEVER_RAISE

SECRET = "zq93817secret"
FRAME = pd.DataFrame({"visits": [0, 1, 1, 2, 3] * 8, "user": [SECRET, "b", "c", "d"] * 10, "flag": [0, 1] * 20})
BINS, FLAG = dv.Domain.integers(0, 3, column="visits"), dv.Domain.integers(0, 1, column="flag")

PATIENCE = 20
"""Processor seconds that no refusal takes: a number of rounds without a limit is found by it."""


class Odd:
    """An object that nothing here knows."""


HOSTILE: dict[str, Any] = {
    "True": True,
    "nan": math.nan,
    "inf": math.inf,
    "1e400": "1e400",
    "huge": 10**400,
    "empty list": [],
    "bytes": b"ab",
    "object": Odd(),
    "negative": -1,
    "empty text": "",
    "None": None,
    "dict": {"a": 1},
    "half a surrogate": "\ud800",
    "frame": FRAME,
}
INSIDE = (
    "use_from_parameters", "follows", "drawn", "confirmed", "of_ways", "check_together", "noise", "bind", "bind_first",
    "Release.of",
)  # fmt: skip
"""Calls that take what calls of ours hand them: what a ledger has, which is checked where it is read, and questions and
units that a session has resolved."""

ENDS = ("close", "raise_budget", "backup", "release_async", "kept_in")
"""Calls after which nothing else can be tried on the same object."""


def call_name(kind: type, member: str) -> str:
    return f"{kind.__name__}.{member}"


CALLS = (FunctionType, classmethod, staticmethod)


def own_calls(name: str, thing: Any, kind: type) -> Iterator[tuple[str, Callable[..., Any]]]:
    """The public calls of dpviz that a class gives to an object or to itself."""
    for member in dir(kind):
        raw = inspect.getattr_static(kind, member)
        if member.startswith("_") or not isinstance(raw, CALLS):
            continue
        if {member, call_name(kind, member)} & {*INSIDE, *ENDS}:
            continue
        if thing is kind and not isinstance(raw, classmethod | staticmethod):
            continue
        call = getattr(thing, member)
        if callable(call) and not inspect.isclass(call) and f"{call.__module__}".startswith("dpviz"):
            yield f"{name}.{member}", call


class Desk:
    """A session with an answer of each kind, and valid arguments by their names."""

    def __init__(self) -> None:
        self.session = dv.Session(FRAME, unit=dv.Unit("row"), budget=dv.Budget("1000", "1e-3"), ledger="own.ledger")
        session, lesson = self.session, dv.teaching(FRAME, seed=1)
        release = session.release(BINS, dv.Dense("1/2"))
        plan = session.plan(BINS, dv.Dense(1))
        self.objects: dict[str, Any] = {
            "Session": session,
            "Release": release,
            "Tree": session.release(BINS, dv.Tree("1/2")),
            "Records": session.release(dv.Question.records([FLAG]), dv.SampleCategory(1)),
            "TopK": session.release("user", dv.TopK(k=2, kbar=3, epsilon="1", delta="1e-6")),
            "ALP": session.release("user", dv.ALP("1/2")),
            "Marginals": session.release(dv.Domain.product(BINS, FLAG), dv.Marginals(1)),
            "Derived": release.sum([1, 2]),
            "Sub": session.open(dv.PayWhatYouGet(symbols=5, questions=2, epsilon="1", delta="1e-6")),
            "Plan": plan,
            "Teaching": lesson,
            "Draw": lesson.draw(BINS, dv.Dense(1)),
            "Mechanism": dv.Dense(1),
            "Domain": BINS,
            "Question": dv.Question.of(BINS),
            "Unit": dv.Unit("row"),
            "Budget": dv.Budget(1),
        }
        self.valid: dict[str, Any] = {
            "question": BINS, "mechanism": dv.Dense(1), "domain": BINS, "column": "visits", "low": 0, "high": 3,
            "epsilon": "1/2", "delta": "1e-6", "session": session, "release": release, "data": FRAME, "step": 1,
            "unit": dv.Unit("row"), "budget": dv.Budget(1), "labels": ["a", "b"], "columns": [FLAG], "edges": [0, 1],
            "k": 1, "kbar": 3, "cap": 50, "seed": 1, "path": "out.html", "first": release, "items": [release],
            "second": session.release(BINS, dv.Dense("1/2"), key="2"), "by": BINS, "part": [1], "whole": [1, 2],
            "beta": "1/20", "queries": {"a": [1]}, "lines": [(BINS, dv.Dense(1)), (BINS, dv.Dense(2))], "a": [1],
            "b": [2], "symbols": 5, "questions": 2, "table": lesson.table(BINS), "bins": BINS, "count": 1, "label": 1,
            "counts": [1, 2, 3, 4], "ledger": "x.ledger", "share": "1/2", "start": "2012", "end": "2013", "times": 2,
            "sheet": plan.sheet, "plan": plan, "domains": [BINS, FLAG], "number": 1, "max_items": 2, "mode": None,
            "sub": self.objects["Sub"], "asked": BINS, "why": "because", "right": 1, "wrong": {}, "parts": BINS,
        }  # fmt: skip

    def calls(self) -> Iterator[tuple[str, Callable[..., Any]]]:
        for name in dv.__all__:
            thing = getattr(dv, name)
            if inspect.isclass(thing) and not issubclass(thing, BaseException):
                yield name, thing
                yield from own_calls(name, thing, thing)
            elif inspect.isfunction(thing):
                yield name, thing
        for name in dv.charts.__all__:
            yield f"charts.{name}", getattr(dv.charts, name)
        for name, thing in self.objects.items():
            yield from own_calls(name, thing, type(thing))

    def tried(self, call: Callable[..., Any]) -> Iterator[tuple[str, str, dict[str, Any], list[Any]]]:
        """Each argument of a call with each hostile value, beside valid ones for what cannot be left out."""
        taken = [one for one in inspect.signature(call).parameters.values() if one.kind != one.VAR_KEYWORD]
        for target in taken:
            for word, value in HOSTILE.items():
                if value is target.default or (type(value) is bool and type(target.default) is bool):
                    continue
                needed = [one for one in taken if one.default is one.empty and one.kind != one.VAR_POSITIONAL]
                given = {one.name: self.valid.get(one.name) for one in needed}
                if target.kind == target.VAR_POSITIONAL:
                    yield target.name, word, given, [value]
                else:
                    yield target.name, word, {**given, target.name: value}, []


def fault(call: Callable[..., Any], given: dict[str, Any], rest: list[Any], word: str) -> str:
    """The fault of one call; empty where it answered or refused as it should."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            call(*rest, **given)
    except DpvizError as error:
        said = str(error)
        try:
            said.encode()
        except UnicodeEncodeError:
            return "its refusal cannot be printed"
        if SECRET in said and word != "frame":
            return f"its refusal holds data: {said}"
        if not (error.rule and error.next_step and (error.value or "withheld" in said)):
            return f"its refusal lacks a part: {said}"
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return ""


def faults_of(desk: Desk) -> dict[str, str]:
    found: dict[str, str] = {}
    for name, call in desk.calls():
        if getattr(call, "__qualname__", "") in NEVER_RAISE:
            continue
        for argument, word, given, rest in desk.tried(call):
            before, begun = desk.session.remaining, time.process_time()
            wrong = fault(call, given, rest, word)
            spent = desk.session.remaining != before and (wrong or name.partition(".")[2] not in PAYS)
            slow = time.process_time() - begun > PATIENCE
            if wrong or spent or slow:
                found[f"{name}({argument}={word})"] = wrong or ("it spent" if spent else "it takes long")
    return found


PAYS = ("release", "open", "batch", "ask")
"""Calls that pay where they answer."""


def test_every_public_call_answers_or_refuses_in_our_words_and_changes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    desk = Desk()
    assert faults_of(desk) == {}
    assert desk.session.ledger.verify().charges == len(desk.session.ledger.entries())


def test_a_call_that_refuses_badly_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def lacks(epsilon: Any) -> None:
        raise DpvizError("it is wrong", value="1", rule="a rule")

    def tells(epsilon: Any) -> None:
        raise DpvizError(f"not {SECRET}", value="1", rule="a rule", next_step="a step")

    def breaks(epsilon: Any) -> None:
        epsilon.bit_count()

    def unprintable(epsilon: Any) -> None:
        error = DpvizError("it is wrong", value="1", rule="a rule", next_step="a step")
        error.args = ("\ud800",)
        raise error

    said = [fault(call, {"epsilon": "1"}, [], "1e400") for call in (lacks, tells, breaks, unprintable)]
    assert ["lacks a part" in said[0], "holds data" in said[1], "AttributeError" in said[2]] == [True] * 3
    assert "cannot be printed" in said[3]
    monkeypatch.chdir(tmp_path)
    assert len(list(Desk().calls())) > 150
