"""A page is sent its program once, however many views there are; a view carries no more than where to find it."""

from __future__ import annotations

import base64
import json
import re
import zlib
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from ipywidgets import embed

import dpviz as dv
from dpviz.widgets import views
from dpviz.widgets.view import STATIC, Program
from tests.reports import pages
from tests.session.sources import KnownCounts
from tests.widgets.pages import Wire

BINS = dv.Domain.integers(0, 3, column="x")
LARGEST = 204_000
"""How long the program of the Workbench may be, before compression: the line of a quantile and the curve of the limit
took 12,000, the comparison of mechanisms 6,000, the digits of an interval the last 1,000."""

SPARSE = 100_000
"""And that of the explorers of sparse releases."""

SAMPLING = 100_000
"""And that of the explorers of private sampling."""


@pytest.fixture
def session(tmp_path: Path) -> dv.Session:
    return dv.Session(KnownCounts([4, 5, 6, 7]), dv.Unit(), dv.Budget(2), tmp_path / "a.ledger")  # type: ignore[arg-type]


def code(name: str) -> str:
    return (STATIC / f"{name}.js").read_text(encoding="utf-8")


def test_views_share_one_program_and_carry_none(session: dv.Session) -> None:
    bench = dv.Workbench(session, BINS)
    views = [bench, dv.BudgetMeter(bench), dv.PlanPane(session, BINS)]
    assert {view.program.model_id for view in views} == {bench.program.model_id}
    assert bench.program.code == code("workbench") and bench.program.css == (STATIC / "widgets.css").read_text()
    for view in views:
        state: dict[str, Any] = view.get_state()
        assert state["program"] == f"IPY_MODEL_{bench.program.model_id}"
        assert state["_esm"] == code("loader") and len(state["_esm"]) < 4_000
        assert not [name for name, value in state.items() if value == bench.program.code]


def test_a_lesson_has_what_shows_its_draws_beside_the_truth_and_a_session_has_not(session: dv.Session) -> None:
    lesson = dv.teaching(pd.DataFrame({"x": [0, 1, 1, 3]}), seed=1)
    views = [dv.Workbench(lesson, BINS), dv.PlanPane(lesson, BINS)]
    assert {view.program.code for view in views} == {code("lesson")} != {dv.Workbench(session, BINS).program.code}
    assert "dp-coverage" in code("lesson") and "dp-coverage" not in code("workbench")


def test_explorers_and_sub_session_views_have_programs_of_their_own(session: dv.Session) -> None:
    explorers = [dv.SamplerExplorer(), dv.CompositionExplorer()]
    assert {explorer.program.code for explorer in explorers} == {code("explorers")}
    assert len({explorer.program.model_id for explorer in explorers}) == 1
    assert dv.Workbench(session, BINS).program is not explorers[0].program
    assert dv.AlpAnatomy().program.code == code("sparse") == dv.TradeoffExplorer().program.code
    assert "alp-anatomy" in code("sparse") and "alp-anatomy" not in code("explorers")
    assert len(code("sparse").encode()) <= SPARSE
    assert dv.SamplingExplorer().program.code == code("sampling") and len(code("sampling").encode()) <= SAMPLING
    assert "sampling-explorer" in code("sampling") and "sampling-explorer" not in code("explorers") + code("sparse")
    assert dv.PayWhatYouGetTape.program_name == "tape" and "Symbols left" in code("tape")


def test_no_sentence_of_a_page_calls_a_sub_session_a_sub_session_view() -> None:
    for name in ("workbench", "tape", "explorers", "report-all"):
        assert not re.findall(r"[Tt]he tape\b|[Tt]his tape\b|\b[Aa] tape\b", code(name)), name


def test_the_workbench_brings_no_explorer_and_is_not_longer_than_it_may_be() -> None:
    assert len(code("workbench").encode()) <= LARGEST
    assert "sampler-explorer" in code("explorers") and "sampler-explorer" not in code("workbench")


def parts(model: dict[str, Any]) -> dict[str, bytes]:
    """What of a saved model is saved as bytes."""
    return {part["path"][0]: base64.b64decode(part["data"]) for part in model.get("buffers", ())}


def test_a_page_that_is_saved_holds_the_program_once(session: dv.Session) -> None:
    bench = dv.Workbench(session, BINS)
    views = [bench, dv.BudgetMeter(bench), dv.ReleasePane(bench)]
    saved = embed.embed_data(views=views, state=embed.dependency_state(views))["manager_state"]["state"]
    (program,) = [model for model in saved.values() if "css" in {*model["state"], *parts(model)}]
    assert zlib.decompress(parts(program)["code"]).decode() == code("workbench")
    assert (program["model_module"], program["model_name"]) == ("anywidget", "AnyModel")  # which saves bytes


def test_a_program_that_was_closed_is_sent_anew_with_the_next_view(
    session: dv.Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    Wire(monkeypatch)
    first = dv.BudgetMeter(session, BINS).program
    assert Program.of("workbench") is first
    first.close()
    again = dv.BudgetMeter(session, BINS).program
    assert again is not first and again.code == code("workbench")


def test_a_report_carries_the_program_of_what_it_shows(session: dv.Session, tmp_path: Path) -> None:
    plan, explorer = session.plan(BINS, dv.Dense("1")), dv.SamplerExplorer()
    sparse, sampling = dv.AlpAnatomy(), dv.SamplingExplorer()
    cases: list[tuple[list[Any], str]] = [
        ([plan], "report"), ([explorer], "report-explorers"), ([sparse], "report-sparse"),
        ([sparse, explorer], "report-explorers"), ([sampling], "report-sampling"),
        ([sampling, sparse], "report-explorers"), ([plan, explorer], "report-all"),
    ]  # fmt: skip
    for items, name in cases:
        assert pages.program(dv.report(items, tmp_path / "report.html")) == code(name)
    assert len(code("report")) < len(code("report-all"))


def test_a_report_carries_the_views_of_the_kinds_that_it_shows_and_no_others(tmp_path: Path) -> None:
    session = dv.Session(pd.DataFrame({"x": [0, 1, 1, 2, 2, 2]}), dv.Unit("row"), dv.Budget(9, "1e-5"), tmp_path / "b")
    counts, few = session.release(BINS, dv.Dense("1")), session.release(BINS, dv.TopKSet(k=1, epsilon=1))
    many = session.release(dv.Domain.integers(0, 999, column="x"), dv.Compact(epsilon=1, cap=3))

    def kinds(*items: Any) -> list[str]:
        path = dv.report(list(items), tmp_path / "report.html")
        data = pages.data(path)
        bundles = {view["kind"]: view["code"] for view in data.get("views", [])}
        assert bundles == {kind: code(f"view-{kind}") for kind in bundles}
        for kind in set(views.own_kinds()) - set(bundles):
            assert json.dumps(code(f"view-{kind}"))[1:-1] not in pages.unpacked(path)
        return list(bundles)

    assert kinds(counts) == ["histogram"] and kinds(few) == ["ranked"] and kinds(many) == ["large"]
    assert kinds(counts, few, counts) == ["histogram", "ranked"]
    lesson = dv.teaching(pd.DataFrame({"x": [0, 1, 1, 3], "y": [0, 1, 1, 0]}), seed=1)
    both = lesson.draw(BINS * dv.Domain.integers(0, 1, column="y"), dv.Dense("1"))
    assert kinds(both) == ["product"]
    assert "Grouped bars" in code("view-product") and "Grouped bars" not in code("workbench") + code("view-histogram")
    assert kinds(session.plan(BINS, dv.Dense("1"))) == [] == kinds(dv.SamplerExplorer())
    for name in ("report", "report-all"):  # neither names a kind of answer
        assert not [kind for kind in ("histogram", "ranked") if f'kind:"{kind}"' in code(name)]
    assert 'kind:"histogram"' in code("view-histogram") and 'kind:"histogram"' in code("workbench")
