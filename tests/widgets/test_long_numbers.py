"""A number that is longer than anybody types is refused in our words, wherever a page may say one."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import dpviz as dv
from dpviz.model.public import PublicTable
from dpviz.widgets.view import WidgetView
from tests.soak.test_hostile_page import moves, ranges, session, session_asks, sub_session, sub_session_asks
from tests.widgets.pages import Wire

LONG = ["1e5000", "-1e5000", "1e-5000", "9" * 199, "1/" + "9" * 197]
"""The first three have more digits than Python writes, the others as many as are read."""

ASKS_SEEN = 80
"""Draws of asks, from a seed: each kind of ask is among them."""

BINS = dv.Domain.integers(0, 3, column="x")
Asks = Callable[[random.Random], dict[str, Any]]


def of_session(path: Path) -> tuple[WidgetView, Asks]:
    opened = session(path, "a")
    opened.release(BINS, dv.Dense("1/10"))
    bench = dv.Workbench(opened, BINS)
    return bench, session_asks(json.loads(bench.sheet)["question"]["id"])


def of_sub_session(path: Path) -> tuple[WidgetView, Asks]:
    sub = sub_session(path)
    view = dv.PayWhatYouGetTape(sub, {"All year": dv.Domain.keys(column="dest")})
    return view, sub_session_asks(json.loads(view.state)["offers"][0]["id"], lambda: str(sub.symbols_left))


def of_lesson(path: Path) -> tuple[WidgetView, Asks]:
    lesson = dv.teaching(pd.DataFrame({"x": [0, 1, 1, 3]}), seed=1)
    bench = dv.Workbench(lesson, BINS)
    plan = {"question": {"id": json.loads(bench.sheet)["question"]["id"]}, "mechanism": "Dense"}
    args = {**plan, "parameters": {"epsilon": "0.1"}, "times": "2", "beta": "0.05"}
    return bench, lambda rng: rng.choice([{"ask": "lesson", "args": args}, {"ask": "misses", "args": {"beta": "0.05"}}])


def of_explorer(make: Callable[[], WidgetView]) -> Callable[[Path], tuple[WidgetView, Asks]]:
    def made(path: Path) -> tuple[WidgetView, Asks]:
        view = make()
        return view, moves(dict(json.loads(view.sheet)["now"]["at"]))  # type: ignore[attr-defined]

    return made


def of_ranges(path: Path) -> tuple[WidgetView, Asks]:
    return dv.RangeExplorer(PublicTable(dv.Domain.integers(0, 19, column="x"), np.arange(20)), branching=2), ranges


def of_comparison(path: Path) -> tuple[WidgetView, Asks]:
    view = dv.MechanismComparison(session(path, "a"), BINS, ["Dense", "Stability"])
    return view, moves(dict(json.loads(view.sheet)["now"]["at"]))


PAGES: dict[str, Callable[[Path], tuple[WidgetView, Asks]]] = {
    "session": of_session,
    "lesson": of_lesson,
    "sub-session": of_sub_session,
    "ranges": of_ranges,
    "comparison": of_comparison,
    "sampler": of_explorer(dv.SamplerExplorer),
    "composition": of_explorer(dv.CompositionExplorer),
    "top k": of_explorer(lambda: dv.TopKExplorer("power")),
    "consistency": of_explorer(dv.ConsistencyPlayground),
    "isotonic": of_explorer(lambda: dv.IsotonicExplorer("equal", n=20)),
    "alp": of_explorer(dv.AlpAnatomy),
    "sampling": of_explorer(dv.SamplingExplorer),
    "product": of_explorer(lambda: dv.ProductSamplerTrace(n=1000, columns=80)),
}


def places(args: Any, at: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Where the arguments hold a text."""
    if isinstance(args, str):
        yield at
    elif isinstance(args, dict | list):
        for name, part in args.items() if isinstance(args, dict) else enumerate(args):
            yield from places(part, (*at, name))


def put(args: dict[str, Any], at: tuple[Any, ...], said: str) -> dict[str, Any]:
    """The same arguments with another text in one place."""
    copy = json.loads(json.dumps(args))
    holder = copy
    for name in at[:-1]:
        holder = holder[name]
    holder[at[-1]] = said
    return copy  # type: ignore[no-any-return]


@pytest.mark.parametrize("page", PAGES)
def test_a_long_number_in_any_place_is_refused_or_read_and_no_fault_of_ours(
    page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wire = Wire(monkeypatch)
    view, asks = PAGES[page](tmp_path)
    rng = random.Random(5)
    kinds = {(one["ask"], *places(one["args"])): one for one in (asks(rng) for _ in range(ASKS_SEEN))}
    found = []
    for one in kinds.values():
        for at in places(one["args"]):
            for said in LONG:
                reply = wire.answer(view, one["ask"], **put(one["args"], at, said))
                if not reply["ok"] and reply["error"]["kind"] == "DpvizError":
                    found.append((one["ask"], at, said[:8]))
    assert kinds and not found
