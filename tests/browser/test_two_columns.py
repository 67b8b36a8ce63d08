"""Counts of two columns in a real JupyterLab: a map at first, walked by keyboard, and the list on which sums
are asked."""

from __future__ import annotations

import re

from playwright.sync_api import Browser, expect

from tests.browser import axe
from tests.browser.lab import Lab, Notebook, at_rest, darken

SETUP = (
    "import dpviz as dv\n"
    "visits = dv.datasets.doctor_visits()\n"
    'session = dv.Session(visits, dv.Unit("row", noun="person-year"), dv.Budget("9"), "two_columns.ledger")\n'
    'health = dv.Domain.categories(["excellent", "good", "fair", "poor"], column="self_rated_health")\n'
    'counts = dv.Domain.integers(0, 12, column="visits", overflow=True)\n'
    'release = session.release(counts * health, dv.Dense("1"))\n'
    "dv.ResultChart(session)"
)


def test_a_map_is_walked_and_its_list_is_asked_for_sums(lab: Lab, browser: Browser) -> None:
    lab.write("two_columns/two_columns.ipynb", SETUP)
    with Notebook.open(lab, browser, "two_columns/two_columns.ipynb", viewport={"width": 1280, "height": 1500}) as it:
        it.run_all()
        result = it.page.locator(".dpviz")
        expect(result.locator(".dp-walked rect.dp-heat")).to_have_count(14 * 4)
        walker = result.get_by_role("slider", name="Walk the cells")
        walker.focus()
        walker.press("ArrowDown")
        walker.press("ArrowRight")
        stored = it.ask("print(f\"{release[(1, 'good')]:,}\")").strip()
        told = re.compile(rf"^visits = 1, self_rated_health = good: {re.escape(stored)} released, ±\d+, 95 in 100")
        expect(walker).to_have_attribute("aria-valuetext", told)
        at_rest(it.page)
        it.screenshot("map")
        assert axe.violations(it.page) == []
        result.get_by_role("radio", name="List").check()
        bars = result.get_by_role("slider", name="Walk the bins")
        bars.focus()
        bars.press("Home")
        for _ in range(3):
            bars.press("Shift+ArrowRight")
        labels = [(0, health) for health in ("excellent", "good", "fair", "poor")]
        total = it.ask(f"print(format(int(release.sum({labels!r}).value), ','))").strip()
        expect(result.locator(".dp-ask-answer")).to_contain_text(re.compile(rf": {re.escape(total)} person-years"))
        it.screenshot("list")
        result.get_by_role("radio", name="Grouped bars").check()
        expect(result.locator(".dp-beside")).to_have_count(4)
        assert axe.violations(it.page) == []
        darken(it.page)
        it.screenshot("grouped, dark")
        assert it.errors == it.offsite == []
