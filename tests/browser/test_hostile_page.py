"""A script in the page rewrites a Workbench: kernel, saved notebook and next view keep the true one."""

from __future__ import annotations

import base64
import json
import zlib
from typing import Any

from playwright.sync_api import Browser, expect

from tests.browser.lab import Lab, Notebook

SESSION = """
import anywidget, traitlets
import dpviz as dv
session = dv.Session(dv.datasets.doctor_visits(), dv.Unit(), dv.Budget(2), "hostile.ledger")
bins = dv.Domain.integers(0, 40, column="visits", overflow=True)
bench = dv.Workbench(session, bins)
bench
"""
HOSTILE = '''
class Hostile(anywidget.AnyWidget):
    _esm = """
    const evil = "export default { render({ el }) { el.textContent = 'ε 0, free of charge'; } }";
    export default { async render({ model, el }) {
        const manager = model.widget_manager;
        const bench = await manager.get_model(model.get("bench"));
        const layout = await manager.get_model(model.get("layout_of"));
        const board = await manager.get_model(bench.get("board").slice("IPY_MODEL_".length));
        const program = await manager.get_model(bench.get("program").slice("IPY_MODEL_".length));
        for (const [name, value] of Object.entries({
            _esm: evil, program: "IPY_MODEL_" + model.model_id, component: "budget-meter", desk: "elsewhere",
        })) bench.set(name, value);
        bench.save_changes();
        for (const [name, value] of Object.entries({ state: "{}", sheet: "{}", result: "" })) board.set(name, value);
        board.save_changes();
        program.set("code", evil);
        program.set("css", ".dp-release { display: none }");
        program.save_changes();
        layout.set("visibility", "hidden");
        layout.save_changes();
        window.rewritten = { bench, program, layout };
        el.textContent = "rewritten";
    } }
    """
    bench = traitlets.Unicode().tag(sync=True)
    layout_of = traitlets.Unicode().tag(sync=True)

before = {name: getattr(bench, name) for name in [*bench.keys, "state", "sheet", "result"]}
Hostile(bench=bench.model_id, layout_of=bench.layout.model_id)
'''
KEPT = "print(all(getattr(bench, name) == value for name, value in before.items()), bench.layout.visibility)"
MENDED = """() => {
    const { bench, program, layout } = window.rewritten;
    return bench.get("component") === "workbench" && typeof program.get("code") !== "string"
        && layout.get("visibility") !== "hidden";
}"""
"""What the page holds is the true one again: the kernel has heard of the other, and said so."""


def texts(model: dict[str, Any]) -> dict[str, str]:
    """What a notebook saves packed of a model."""
    parts = model.get("buffers", ())
    return {part["path"][0]: zlib.decompress(base64.b64decode(part["data"])).decode() for part in parts}


def test_what_a_script_in_the_page_rewrites_is_not_kept_saved_or_shown_again(lab: Lab, browser: Browser) -> None:
    lab.write("hostile.ipynb", SESSION, HOSTILE, "bench")
    with Notebook.open(lab, browser, "hostile.ipynb", viewport={"width": 1280, "height": 2600}) as it:
        it.save_with_state()
        it.run_all()
        expect(it.page.get_by_text("rewritten", exact=True)).to_be_visible()
        it.page.wait_for_function(MENDED)
        assert it.ask(KEPT).strip() == "True None"
        # The view that was there is mended, and the one that came after shows the true program.
        outputs = it.page.locator(".jp-Cell-outputArea")
        expect(outputs.get_by_role("heading", name="Workbench")).to_have_count(2)
        expect(outputs.get_by_role("button", name="Release").filter(has_text="pay ε 0.2")).to_have_count(2)
        expect(outputs.get_by_text("free of charge")).to_have_count(0)
        for view in outputs.get_by_role("heading", name="Workbench").all():
            expect(view).to_be_visible()
        saved = json.loads(it.save())["metadata"]["widgets"]["application/vnd.jupyter.widget-state+json"]["state"]
        kept = [{**model["state"], **texts(model)} for model in saved.values()]
        (bench,) = [state for state in kept if state.get("_anywidget_id") == "dpviz.widgets.workbench.Workbench"]
        assert bench["component"] == "workbench" and "free of charge" not in bench["_esm"]
        (board,) = [state for state in kept if "pulse" in state]  # one for both views, too
        assert "free of charge" not in board["state"]
        (program,) = [state for state in kept if "code" in state]  # one for both views
        assert "free of charge" not in program["code"] and program["css"].startswith(".dpviz")
        assert json.loads(board["state"])["budget"]["epsilon"]["left"] == "2"
        assert [state for state in kept if state.get("visibility")] == []
        it.save_with_state(False)
