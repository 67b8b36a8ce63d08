"""Charts in a real JupyterLab without a network: a cell's last line draws, and hostile labels stay text."""

from __future__ import annotations

import json

from playwright.sync_api import Browser, expect

from tests.browser.lab import Lab, Notebook

SETUP = """
import dpviz as dv
from IPython.display import HTML

hostile = "</script><img src=x onerror=alert(1)>"
person_year = dv.Unit("row", noun="person-year")
visits = dv.datasets.doctor_visits()
session = dv.Session(visits, person_year, dv.Budget(epsilon="2"), "charts.ledger")
bins = dv.Domain.integers(0, 40, column="visits", overflow=True)
release = session.release(bins, dv.Dense("1/10"))
health = dv.Domain.categories(["$a$ and $b$", hostile, "good"], column="self_rated_health")
drawn = dv.teaching(visits, 7, person_year).draw(health, dv.Dense("1/2"))
"""


def test_charts_draw_as_a_cells_last_line_without_a_network(lab: Lab, browser: Browser) -> None:
    cells = ["release.chart()", "session.plan(bins, dv.Dense('1/5')).chart(theme='dark')", "drawn.chart()"]
    lab.write("charts.ipynb", SETUP, *cells)
    with Notebook.open(lab, browser, "charts.ipynb", viewport={"width": 1280, "height": 2400}) as notebook:
        notebook.run_all()
        charts = notebook.page.locator(".jp-RenderedVegaLite svg.marks")
        expect(charts).to_have_count(3)
        expect(charts.nth(0)).to_contain_text("Visits per person-year, released with ε = 0.1")
        expect(charts.nth(0)).to_contain_text("holds for all 42 bins at once, 95 in 100")
        expect(charts.nth(1)).to_contain_text("Error against ε")
        expect(charts.nth(2)).to_contain_text("Not private · teaching, seed 7")
        expect(charts.nth(2)).to_contain_text("</script><img src=x")
        assert notebook.page.locator("img[src=x]").count() == 0
        values = release_values(notebook)
        expect(charts.nth(0)).to_contain_text(f"{values[0]:,}")
        first = charts.nth(0).locator("[aria-label*='this bin alone']").first
        assert f"0: {values[0]:,} released; this bin alone" in (first.get_attribute("aria-label") or "")
        first.hover()
        expect(notebook.page.locator("#vg-tooltip-element")).to_contain_text("read the second")
        assert notebook.failures() == notebook.errors == notebook.offsite == []


def release_values(notebook: Notebook) -> list[int]:
    """The released values, asked of the kernel."""
    found: list[int] = json.loads(notebook.ask("import json; print(json.dumps(release.values))"))
    return found


def test_a_releases_table_shows_dollar_signs_and_markup_as_text(lab: Lab, browser: Browser) -> None:
    shown = "from dpviz.charts.tables import of_release\nHTML(of_release(drawn))"
    lab.write("table.ipynb", SETUP, shown, "from IPython.display import Math\nMath('x')")
    with Notebook.open(lab, browser, "table.ipynb", viewport={"width": 1280, "height": 1600}) as notebook:
        notebook.run_all()
        expect(notebook.page.locator(".jp-RenderedLatex mjx-container")).to_have_count(1)  # it had its turn
        table = notebook.page.locator(".jp-RenderedHTMLCommon table")
        expect(table.get_by_role("rowheader", name="$a$ and $b$")).to_be_visible()
        expect(table.get_by_role("rowheader", name="</script><img src=x onerror=alert(1)>")).to_be_visible()
        assert table.locator("mjx-container").count() == notebook.page.locator("img[src=x]").count() == 0
        assert notebook.failures() == notebook.errors == notebook.offsite == []
