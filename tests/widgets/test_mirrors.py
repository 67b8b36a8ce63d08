"""A page may send an update of any trait of any model it knows: nothing of it is taken, echoed, saved or shown
again."""

from __future__ import annotations

import json
import threading
import time
import traceback
from collections import ChainMap, defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any

import ipywidgets
import pandas as pd
import pytest

import dpviz as dv
from dpviz import widgets
from dpviz.errors import ParameterError
from dpviz.planning.fans import Points
from dpviz.widgets import explorer
from dpviz.widgets.explorer import Explorer
from dpviz.widgets.view import WidgetView
from tests.patience import patience, until
from tests.session.sources import KnownCounts, KnownTop
from tests.unpacking import plain
from tests.widgets.pages import Message, Wire, complete

BINS = dv.Domain.integers(0, 3, column="x")


def session(path: Path) -> dv.Session:
    return dv.Session(KnownCounts([4, 5, 6, 7]), dv.Unit(), dv.Budget(2), path / "a.ledger")  # type: ignore[arg-type]


def sub_session_view(path: Path) -> Any:
    source = KnownTop({"": {"ATL": 7919, "STL": 6841}})
    opened = dv.Session(source, dv.Unit("person"), dv.Budget("2", "1e-5"), path / "f.ledger")  # type: ignore[arg-type]
    return dv.PayWhatYouGetTape(opened.open(dv.PayWhatYouGet(symbols=12, questions=4, epsilon="1", delta="1e-6")))


VIEWS: dict[str, Callable[[Path], Any]] = {
    **{
        name: lambda path, name=name: getattr(dv, name)(session(path), BINS)  # type: ignore[misc]
        for name in ("Workbench", "MechanismPicker", "PlanPane", "ReleasePane", "BudgetMeter", "ResultChart")
    },
    "PayWhatYouGetTape": sub_session_view,
    "SamplerExplorer": lambda path: dv.SamplerExplorer(),
    "CompositionExplorer": lambda path: dv.CompositionExplorer(),
    "IsotonicExplorer": lambda path: dv.IsotonicExplorer("equal", n=20),
    "RangeExplorer": lambda path: dv.RangeExplorer("flat", branching=4),
    "ConsistencyPlayground": lambda path: dv.ConsistencyPlayground(),
    "AlpAnatomy": lambda path: dv.AlpAnatomy(),
    "ProductSamplerTrace": lambda path: dv.ProductSamplerTrace(n=1000, columns=80),
    "SamplingExplorer": lambda path: dv.SamplingExplorer(),
    "TradeoffExplorer": lambda path: dv.TradeoffExplorer(d=4, k=1, look_ups=1),
    "MechanismComparison": lambda path: dv.MechanismComparison(None, BINS, ["Dense", "Stability"]),
    "TopKExplorer": lambda path: dv.TopKExplorer("flat", k=1, kbar=2),
}


def test_every_view_there_is_stands_in_this_file() -> None:
    def below(kind: type) -> set[str]:
        return {kind.__name__}.union(*(below(each) for each in kind.__subclasses__()))

    for name in widgets.__all__:
        getattr(widgets, name)  # a component is imported when it is asked for
    assert below(WidgetView) - set(VIEWS) == {"WidgetView", "Component", "Explorer"}


POINTS: defaultdict[str, Points] = defaultdict(Points)


@pytest.fixture(autouse=True)
def the_points_of_a_view_are_worked_out_once(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Explorers of one name show one sheet in all tests of this file."""
    if hasattr(request.node, "callspec"):
        monkeypatch.setattr(explorer, "Points", lambda: POINTS[request.node.callspec.params["name"]])


@pytest.fixture
def wire(monkeypatch: pytest.MonkeyPatch) -> Wire:
    return Wire(monkeypatch)


def updates(wire: Wire, widget: Any) -> list[Message]:
    return [message["state"] for message in wire.own(widget) if message.get("method") == "update"]


def still(state: dict[str, Any]) -> dict[str, Any]:
    """What changes by nothing but an event: the pulse is a sign of life, which the kernel gives by itself. Unpacked."""
    packs = [[name] for name, value in state.items() if isinstance(value, bytes)]
    read = plain({"state": state, "buffer_paths": packs}, [state[name] for (name,) in packs])[0]["state"]
    return {name: value for name, value in read.items() if name != "pulse"}


def embedded(model: Any) -> dict[str, Any]:
    """What a notebook saves of a model."""
    saved = model._get_embed_state()
    return {**saved, "state": still(saved["state"])}


def settled(view: Any) -> Any:
    """A view that has said what there is to say: a sign of life of a session model, the rest of an explorer's sheet."""
    said = threading.Event()
    view._soon(said.set)
    assert said.wait(patience())
    if isinstance(view, Explorer):
        complete(view)
    return view


FORGED = "export default { render({ el }) { el.textContent = 'ε 0'; } }"


@pytest.mark.parametrize("name", VIEWS)
def test_an_update_of_any_trait_is_answered_with_the_truth_and_changes_nothing(
    name: str, wire: Wire, tmp_path: Path
) -> None:
    view = settled(VIEWS[name](tmp_path))
    models = [view, view.layout, view.program, view.board]
    assert {"_esm", "program", "_view_name", "_model_module", "component", "desk", "layout", "_dom_classes"} <= set(
        view.keys
    )
    for model in models:
        before, saved, since = still(model.get_state()), embedded(model), updates(wire, model)
        truth = json.loads(json.dumps(before))
        for key in model.keys:
            for forged in (FORGED, "IPY_MODEL_" + model.model_id, 7, None, [FORGED], {"display": "none"}):
                seen = len(updates(wire, model))
                wire.send(model, {"method": "update", "state": {key: forged}, "buffer_paths": []})
                until(lambda: any(key in state for state in updates(wire, model)[seen:]))  # noqa: B023
        everything = dict.fromkeys([*model.keys, "__class__", "comm", "keys", "_door", "unknown"], FORGED)
        wire.send(model, {"method": "update", "state": everything, "buffer_paths": [["_esm"]]}, [b"x"])
        until(lambda: set(updates(wire, model)[-1]) == set(model.keys))  # noqa: B023
        assert still(model.get_state()) == before and embedded(model) == saved
        assert all(still(state) == still({name: truth.get(name) for name in state}) for state in updates(wire, model))
        assert not [message for message in wire.own(model) if message.get("method") == "echo_update"]
        told = ChainMap(*reversed(since), wire.own(model)[0]["state"])  # an explorer's sheet comes in part at first
        assert still(dict(told)) == still(truth)


@pytest.mark.parametrize("name", ["Workbench", "PayWhatYouGetTape", "SamplerExplorer"])
def test_a_message_of_no_known_form_is_dropped_without_a_word(
    name: str, wire: Wire, tmp_path: Path, capsys: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    view = settled(VIEWS[name](tmp_path))
    before = [still(model.get_state()) for model in (view, view.board)]
    for model in (view, view.layout, view.program, view.board):
        for data in (
            None, 7, "update", [], {}, {"method": None}, {"method": ["update"]}, {"method": "eval", "state": {}},
            {"method": "update"}, {"method": "update", "state": None}, {"method": "update", "state": ["_esm"]},
            {"method": "update", "state": {"_esm": "x"}, "buffer_paths": [["a", "b", 3]]},
            {"method": "custom"}, {"method": "custom", "content": None}, {"method": "custom",
            "content": {"do": "focus"}},
            {"method": "custom", "content": {"kind": "anywidget-command", "name": "__init__", "id": "1"}},
            {"method": "echo_update", "state": {"_esm": "x"}},
        ):  # fmt: skip
            wire.send(model, data)
        model.comm.handle_msg({"content": {}, "buffers": []})
    assert [still(model.get_state()) for model in (view, view.board)] == before
    assert capsys.readouterr() == ("", "") and caplog.records == []


def test_a_flood_of_requests_for_the_program_is_answered_with_few(wire: Wire, tmp_path: Path) -> None:
    view = VIEWS["Workbench"](tmp_path)
    held, free = time.monotonic(), []
    view.session_model._dispatcher.soon(lambda: until(lambda: bool(free)))
    for _ in range(2_000):
        wire.send(view, {"method": "request_state"})
        wire.send(view, {"method": "update", "state": {"_esm": FORGED}})
    assert time.monotonic() - held < patience()
    before = len(updates(wire, view))
    free.append(True)
    wire.answer(view, "status")
    assert 1 <= len([state for state in updates(wire, view)[before:] if "_esm" in state]) <= 2


def test_the_kernel_can_still_write_layout_and_classes(wire: Wire, tmp_path: Path) -> None:
    view = VIEWS["BudgetMeter"](tmp_path)
    view.layout.width = "50%"
    view.add_class("mine")
    assert {"width": "50%"} in updates(wire, view.layout) and {"_dom_classes": ["mine"]} in updates(wire, view)
    given = ipywidgets.Layout(width="20px", border="1px solid")
    view.layout = given
    assert view.layout is not given and (view.layout.width, view.layout.border_left) == ("20px", "1px solid")
    view.layout = {"height": "3px"}
    assert view.layout.height == "3px" and view.layout.width is None
    wire.send(view.layout, {"method": "update", "state": {"height": "0px", "visibility": "hidden"}})
    assert view.layout.height == "3px" and view.layout.visibility is None


@pytest.mark.parametrize("name", list(VIEWS))
def test_a_frame_given_to_a_trait_is_refused_without_being_shown(tmp_path: Path, name: str) -> None:
    view, frame = settled(VIEWS[name](tmp_path)), pd.DataFrame({"name": ["Ann Private"] * 3})
    ways = [(model, trait) for model in (view, view.board) for trait in model.trait_names()]
    ways = [(model, trait) for model, trait in ways if trait not in ("comm", "log")]
    ways += [(view.layout, "width"), (view.layout, "visibility")]
    for model, trait in ways:
        before = getattr(model, trait)
        for given in (frame, frame["name"]):
            for give in (model.__setattr__, model.set_trait):
                with pytest.raises(ParameterError, match=f"cannot be the {trait} of .*leave it as it is") as caught:
                    give(trait, given)
                said, trace = "".join(traceback.format_exception(caught.value)), caught.value.__traceback__
                while trace is not None:
                    here = trace.tb_frame.f_globals is globals()
                    said, trace = said + ("" if here else repr(trace.tb_frame.f_locals)), trace.tb_next
                assert "Ann Private" not in said and caught.value.value in ("DataFrame", "Series")
        assert getattr(model, trait) is before or getattr(model, trait) == before


def test_a_layout_with_a_frame_in_it_is_refused_without_being_shown(tmp_path: Path) -> None:
    view, layout = VIEWS["Workbench"](tmp_path), {"width": pd.Series(["Ann Private"])}
    with pytest.raises(ParameterError) as caught:
        view.layout = layout
    assert "Ann Private" not in "".join(traceback.format_exception(caught.value))
    view.layout = {"width": "50%"}
    assert view.layout.width == "50%"
