"""A notebook that was saved with its widgets, where the kernel that made them is gone, or as a page that never had one:
it shows what it showed, and says that paying needs a kernel."""

from __future__ import annotations

import json
import re
from pathlib import Path

import anywidget
import nbformat
import pandas as pd
from ipywidgets import embed
from nbconvert import HTMLExporter
from playwright.sync_api import Browser, Locator, Route, expect

import dpviz as dv
from tests.browser.lab import ROOT, Lab, Notebook
from tests.browser.test_half_a_million import ends

SAVED = "application/vnd.jupyter.widget-state+json"
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


def shows(result: Locator, values: list[int]) -> None:
    """The words of the release, and its first and last value in the table."""
    expect(result).to_contain_text("1-differential privacy for adding or removing one row")
    expect(result).to_contain_text("paid ε 1")
    expect(result).to_contain_text("Looking at all bins at once")
    result.get_by_role("button", name="Table", exact=True).click()
    for row, label, value in zip(ends(result.locator(".dp-table-box"), BINS), (0, BINS - 1), values, strict=True):
        assert row.startswith(f"{label:,} {value:,} ".replace("-", "−"))


def test_a_saved_notebook_shows_its_result_where_its_kernel_is_gone(lab: Lab, browser: Browser) -> None:
    lab.write("saved.ipynb", CELL)
    with Notebook.open(lab, browser, "saved.ipynb", viewport={"width": 1280, "height": 2000}) as it:
        it.run_all()
        expect(it.page.locator(".dp-result .dp-stage svg")).to_be_visible()
        values = it.ask("v = release.values; print(v[0], v[-1])").split()
        it.save_with_state()
        state = json.loads(it.save())["metadata"]["widgets"][SAVED]["state"]
        (board,) = [model for model in state.values() if "pulse" in model["state"]]
        parts = [part["path"] for part in board["buffers"] if part["path"][0] == "buffers"]
        assert parts == [["buffers", "parts", 0], ["buffers", "parts", 1]]
    with Notebook.open(lab, browser, "saved.ipynb", viewport={"width": 1280, "height": 2000}) as it:
        result = it.page.locator(".dp-result")
        expect(result.locator(".dp-stage svg")).to_be_visible()
        it.page.evaluate(SHUT_DOWN)
        expect(it.page.get_by_text("○ no kernel").first).to_be_visible()
        expect(it.page.locator(".jp-Notebook").get_by_role("button", name="Release needs a kernel")).to_be_disabled()
        shows(result, [int(value) for value in values])
        assert it.offsite == []


MODULES = {
    "require": ROOT / "widgets/node_modules/requirejs/require.js",
    "@jupyter-widgets/html-manager": ROOT / "widgets/node_modules/@jupyter-widgets/html-manager/dist",
    "anywidget": Path(anywidget.__file__).parent / "nbextension/index.js",
}
"""What a converted notebook takes from the network, as it was installed here."""


def serve(route: Route) -> None:
    """Answer for the network; what is not known here is not there."""
    name = next((name for name in reversed(MODULES) if name in route.request.url), "")
    path = MODULES.get(name, ROOT / "none")
    path = path / route.request.url.rsplit("/", 1)[1] if path.is_dir() else path
    if path.is_file():
        allowed = {"access-control-allow-origin": "*"}
        route.fulfill(body=path.read_bytes(), content_type="text/javascript", headers=allowed)
    else:
        route.abort()


def test_a_notebook_converted_to_html_shows_its_result_without_any_kernel(browser: Browser, tmp_path: Path) -> None:
    frame = pd.DataFrame({"minute": [minute for minute in range(BINS) for _ in range(minute % 3)]})
    bins = dv.Domain.integers(0, BINS - 1, column="minute")
    session = dv.Session(frame, dv.Unit("row"), dv.Budget(epsilon=5), tmp_path / "saved.ledger")
    release = session.release(bins, dv.Dense(1))
    bench = dv.Workbench(session, bins, mechanism=dv.Dense("1/2"))
    shown = nbformat.v4.new_output("display_data", bench._repr_mimebundle_()[0])
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell("bench", outputs=[shown])])
    notebook.metadata["widgets"] = {SAVED: embed.embed_data(views=[bench])["manager_state"]}
    path = tmp_path / "saved.html"
    path.write_text(HTMLExporter().from_notebook_node(notebook)[0], encoding="utf-8")
    context = browser.new_context(viewport={"width": 1280, "height": 2000})
    page = context.new_page()
    wrong: list[str] = []
    page.on("pageerror", lambda error: wrong.append(str(error)))
    page.route(re.compile("^http"), serve)
    page.goto(path.as_uri())
    result = page.locator(".dp-result")
    expect(result.locator(".dp-stage svg")).to_be_visible()
    expect(page.get_by_role("button", name="Release needs a kernel")).to_be_disabled()
    shows(result, [release.values[0], release.values[-1]])
    assert wrong == []
    context.close()
