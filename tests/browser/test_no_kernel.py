"""A notebook that was saved with its widgets and is opened where the kernel that made them is gone: it shows what it
showed, and says that paying needs a kernel."""

from __future__ import annotations

import json

from playwright.sync_api import Browser, expect

from tests.browser.lab import Lab, Notebook
from tests.browser.test_half_a_million import ends

SAVED = "application/vnd.jupyter.widget-state+json"
SAVES = """async () => {
    const { commands } = window.jupyterapp;
    const setting = '@jupyter-widgets/jupyterlab-manager:saveWidgetState';
    if (!commands.isToggled(setting)) await commands.execute(setting);
}"""
SHUT_DOWN = "async () => window.panel.sessionContext.session.kernel.shutdown()"

BINS = 30_000
"""More than go into the JSON of a result: its columns are saved as bytes."""
CELL = f"""
import dpviz as dv, pandas as pd
frame = pd.DataFrame({{"minute": [minute for minute in range({BINS}) for _ in range(minute % 3)]}})
bins = dv.Domain.integers(0, {BINS - 1}, column="minute")
session = dv.Session(frame, dv.Unit("row"), dv.Budget(epsilon=5), "saved.ledger")
release = session.release(bins, dv.Dense(1))
dv.Workbench(session, bins, mechanism=dv.Dense("1/2"))
"""


def test_a_saved_notebook_shows_its_result_where_its_kernel_is_gone(lab: Lab, browser: Browser) -> None:
    lab.write("saved.ipynb", CELL)
    with Notebook.open(lab, browser, "saved.ipynb", viewport={"width": 1280, "height": 2000}) as it:
        it.run_all()
        expect(it.page.locator(".dp-result .dp-stage svg")).to_be_visible()
        values = it.ask("v = release.values; print(v[0], v[-1])").split()
        it.page.evaluate(SAVES)
        state = json.loads(it.save())["metadata"]["widgets"][SAVED]["state"]
        (bench,) = [model for model in state.values() if model["state"].get("component") == "workbench"]
        assert [part["path"] for part in bench["buffers"]] == [["buffers", "parts", 0], ["buffers", "parts", 1]]
    with Notebook.open(lab, browser, "saved.ipynb", viewport={"width": 1280, "height": 2000}) as it:
        result = it.page.locator(".dp-result")
        expect(result.locator(".dp-stage svg")).to_be_visible()
        it.page.evaluate(SHUT_DOWN)
        expect(it.page.get_by_text("○ no kernel").first).to_be_visible()
        expect(it.page.locator(".jp-Notebook").get_by_role("button", name="Release needs a kernel")).to_be_disabled()
        expect(result).to_contain_text("1-differential privacy for adding or removing one row")
        expect(result).to_contain_text("paid ε 1")
        expect(result).to_contain_text("Looking at all bins at once")
        it.numbers(result)
        for row, label, value in zip(ends(result.locator(".dp-table-box"), BINS), (0, BINS - 1), values, strict=True):
            assert row.startswith(f"{label:,} {int(value):,} ".replace("-", "−"))
        assert it.offsite == []
