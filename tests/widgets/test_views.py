"""Views that a program registers: what draws an answer of a kind that the page does not know."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import dpviz as dv
from dpviz.errors import DpvizError, ParameterError
from dpviz.model.answers import Table
from dpviz.widgets import views
from dpviz.widgets.view import Program
from tests.reports import pages
from tests.session.sources import KnownCounts
from tests.widgets.pages import Wire

BINS = dv.Domain.integers(0, 3, column="x")
CODE = "export default () => ({ kind: 'ranges' });"


@pytest.fixture
def bundle(tmp_path: Path) -> Path:
    path = tmp_path / "ranges.js"
    path.write_text(CODE)
    return path


@pytest.fixture
def ranges(bundle: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Answers of Dense as a kind that a registered bundle draws."""
    style = tmp_path / "ranges.css"
    style.write_text(".ranges { color: red; }")
    views.register("ranges", bundle, style=style)
    view = Table.view
    monkeypatch.setattr(Table, "view", lambda *given: replace(view(*given), kind="ranges"))
    yield
    views.unregister("ranges")


def session(path: Path) -> dv.Session:
    return dv.Session(KnownCounts([4, 5, 6, 7]), dv.Unit(), dv.Budget(2), path / "a.ledger")  # type: ignore[arg-type]


def test_a_bundle_is_registered_read_at_once_and_taken_back(bundle: Path) -> None:
    views.register("ranges", bundle)
    bundle.write_text("changed")
    assert views.registered("ranges") == views.Bundle("ranges", CODE, "")
    with pytest.raises(ParameterError, match="drawn by one bundle"):
        views.register("ranges", bundle)
    bundle.write_text(CODE)
    views.register("ranges", bundle)
    views.unregister("ranges")
    assert views.registered("ranges") is None
    with pytest.raises(ParameterError, match="no bundle is registered"):
        views.unregister("ranges")


@pytest.mark.parametrize("kind", ["Ranges", "", "a b", "7", "x" * 41, None, ["ranges"], "ranges\n"])
def test_a_kind_is_a_plain_name(bundle: Path, kind: Any) -> None:
    with pytest.raises(ParameterError, match="lower-case letters"):
        views.register(kind, bundle)
    assert views.registered(str(kind)) is None


def test_what_dpviz_draws_itself_is_drawn_by_nothing_else(bundle: Path) -> None:
    assert views.own_kinds() == [
        *("grouped", "histogram", "large", "marginals", "product", "queries", "ranked", "ranks", "record", "tree")
    ]
    for kind in views.own_kinds():
        with pytest.raises(ParameterError, match="dpviz draws this kind of answer itself"):
            views.register(kind, bundle)


def test_a_bundle_that_cannot_be_read_registers_nothing(bundle: Path, tmp_path: Path) -> None:
    binary, long = tmp_path / "binary.js", tmp_path / "long.js"
    binary.write_bytes(b"\xff\xfe")
    long.write_bytes(b" " * (views.LARGEST + 1))
    for path in (tmp_path / "none.js", tmp_path, binary, long, 7, ""):
        with pytest.raises(DpvizError):
            views.register("ranges", path)  # type: ignore[arg-type]
        with pytest.raises(DpvizError):
            views.register("ranges", bundle, style=path)  # type: ignore[arg-type]
    assert views.registered("ranges") is None


def test_the_view_of_a_kind_that_the_program_does_not_draw_is_sent_with_its_first_answer(tmp_path: Path) -> None:
    bins = dv.Domain.integers(0, 3, column="x")
    frame = pd.DataFrame({"x": [0, 1, 1, 2]})
    session = dv.Session(frame, dv.Unit("row"), dv.Budget(9), tmp_path / "views.ledger")
    bench = dv.Workbench(session, bins)
    assert views.sent("histogram") is None and views.sent("large") is None and bench.views == {}
    for mechanism, kind in (
        (dv.Dense(1), None),
        (dv.Tree(1), "tree"),
        (dv.Sorted(1), "ranks"),
        (dv.Queries(1), "queries"),
    ):
        session.release(bins, mechanism)
        reply = bench.answer({"v": 1, "id": "1", "ask": "show", "args": {"number": str(len(session.releases))}})
        assert reply is not None and reply["ok"]
        if kind is None:
            assert bench.views == {}
            continue
        own = views.own(kind)
        assert reply["body"]["result"]["kind"] == kind and bench.views[kind].code == own.code
        assert own.code == (views.STATIC / f"view-{kind}.js").read_text(encoding="utf-8")
    assert list(bench.views) == ["tree", "ranks", "queries"]


@pytest.mark.usefixtures("ranges")
def test_a_page_is_sent_the_bundle_before_the_first_answer_that_it_draws(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wire = Wire(monkeypatch)
    own = session(tmp_path)
    bench = dv.Workbench(own, BINS)
    chart = dv.ResultChart(bench)
    assert bench.views == {} and not [message for _, message in wire.sent if CODE in json.dumps(message)]
    own.release(BINS, dv.Dense("1"))
    wire.answer(bench, "show", number="1")
    program = Program.drawing("ranges")["ranges"]
    assert (program.code, program.css) == (CODE, ".ranges { color: red; }")
    for widget in (bench, chart):
        sent = [list(message.get("state", {})) for message in wire.of(widget) if message.get("method") == "update"]
        names = [name for state in sent for name in state]
        assert names.index("views") < names.index("result")
    reference = {"ranges": f"IPY_MODEL_{program.model_id}"}
    assert bench.board is chart.board and bench.board.get_state()["views"] == reference
    assert len([model for model, message in wire.sent if message.get("state", {}).get("code") == CODE]) == 1
    assert dv.BudgetMeter(own, BINS).board.get_state()["views"] == reference


@pytest.mark.usefixtures("ranges")
def test_a_page_neither_registers_nor_rewrites_a_view(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    wire = Wire(monkeypatch)
    own = session(tmp_path)
    own.release(BINS, dv.Dense("1"))
    bench = dv.Workbench(own, BINS)
    program = Program.drawing("ranges")["ranges"]
    true = dict(bench.board.get_state()["views"])
    wire.send(
        program, {"method": "update", "state": {"code": "alert(1)", "css": "* { display: none }"}, "buffer_paths": []}
    )
    for value in ({}, {"histogram": bench.program.model_id}, {"ranges": "IPY_MODEL_elsewhere"}, "text", None):
        wire.send(bench.board, {"method": "update", "state": {"views": value}, "buffer_paths": []})
    refused = wire.answer(bench, "register", kind="other", code="alert(1)")
    assert refused["ok"] is False and refused["error"]["kind"] == "Forbidden"
    assert bench.board.get_state()["views"] == true and views.registered("other") is None
    assert (program.code, program.css) == (CODE, ".ranges { color: red; }")
    told = [message["state"]["views"] for message in wire.of(bench) if "views" in message.get("state", {})]
    assert told and all(views == true for views in told)
    assert not [message for _, message in wire.sent if "alert(1)" in json.dumps(message.get("state", {}))]


@pytest.mark.usefixtures("ranges")
def test_a_report_carries_the_bundles_of_the_kinds_that_it_shows_and_no_others(tmp_path: Path) -> None:
    own = session(tmp_path)
    release, plan = own.release(BINS, dv.Dense("1")), own.plan(BINS, dv.Dense("1"))

    def data(*items: Any) -> dict[str, Any]:
        return pages.data(dv.report(list(items), tmp_path / "report.html"))

    assert data(release, release)["views"] == [{"kind": "ranges", "code": CODE, "css": ".ranges { color: red; }"}]
    assert "views" not in data(plan)
