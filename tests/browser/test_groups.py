"""Answers about disjoint parts in a real JupyterLab: side by side, read by keyboard and by ear, with and without a
kernel, dark and narrow."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Browser, expect

from tests.browser import axe
from tests.browser.lab import Lab, Notebook, at_rest, darken

SESSION = (
    "import dpviz as dv\n"
    "flights = dv.datasets.flights()\n"
    'session = dv.Session(flights, dv.Unit("row", noun="flight"), dv.Budget("9", "1e-4"), "months.ledger")\n'
    'months = dv.Domain.intervals([k * 43_800 for k in range(13)], column="scheduled_minute")\n'
)
LISTS = (
    SESSION + 'session.release("destination", dv.TopK(10, 50, epsilon="3", delta="1e-5"), by=months)\n'
    "dv.ResultChart(session)",
    'print("listed:", len(session.releases[1].groups))',
)
COUNTS = (
    SESSION + 'airports = dv.Domain.categories(["ATL", "BOS", "LAX"], column="destination")\n'
    'session.release(airports, dv.Dense("1"), by=months)\n'
    "dv.ResultChart(session)",
)


def test_twelve_lists_stand_side_by_side_and_are_the_stored_ones(lab: Lab, browser: Browser) -> None:
    lab.write("lists/lists.ipynb", *LISTS)
    with Notebook.open(lab, browser, "lists/lists.ipynb", viewport={"width": 1280, "height": 1300}) as it:
        it.run_all()
        expect(it.page.get_by_role("list", name="0 to below 43800", exact=True)).to_be_visible()
        expect(it.page.locator(".dp-part-lists").get_by_role("list")).to_have_count(12)
        walker = it.page.get_by_role("slider", name="Walk the lists of each")
        walker.focus()
        walker.press("ArrowDown")
        expect(walker).to_have_attribute("aria-valuetext", re.compile("^43800 to below 87600, rank 1: [A-Z]{3}$"))
        it.screenshot("cells")
        it.button("Table").click()
        table = it.page.get_by_role("region", name="Numbers of this answer").first
        expect(table.get_by_role("columnheader")).to_have_count(11)
        expect(table.get_by_role("row")).to_have_count(13)
        expect(table.get_by_role("row").nth(1)).to_contain_text(re.compile(r"^0 to below 43800(ATL|ORD)"))
        expect(it.page.get_by_text("listed: 12")).to_be_visible()
        stored = it.ask("print(' '.join(session.releases[1].groups['0 to below 43800'].items))").split()
        shown = table.get_by_role("row").nth(1).get_by_role("cell").all_inner_texts()
        assert shown == ["0 to below 43800", *stored]
        table.focus()
        expect(table).to_be_focused()
        assert axe.violations(it.page) == []
        it.screenshot("lists")
        assert it.errors == it.offsite == []


@pytest.mark.parametrize("width", [1280, 660])
def test_counts_have_one_error_for_all_parts_light_and_dark_wide_and_narrow(
    lab: Lab, browser: Browser, width: int
) -> None:
    name = f"counts-{width}"
    lab.write(f"{name}/{name}.ipynb", *COUNTS)
    with Notebook.open(lab, browser, f"{name}/{name}.ipynb", viewport={"width": width, "height": 2200}) as it:
        it.run_all()
        result = it.page.locator(".dpviz")
        expect(result).to_contain_text(re.compile(r"thick ±\d+, holds for any one bin, 95 in 100"))
        expect(result).to_contain_text("holds for all 3 of one range of scheduled minute at once")
        panels = it.page.locator(".dp-walked svg text.dp-strong")
        expect(panels).to_have_count(12)
        walker = result.get_by_role("slider", name="Walk the bins of each")
        walker.focus()
        walker.press("ArrowRight")
        walker.press("ArrowDown")
        stored = it.ask("print(f\"{session.releases[1].groups['43800 to below 87600']['BOS']:,}\")").strip()
        told = re.compile(f"^43800 to below 87600, BOS: {re.escape(stored)} released; this bin alone: ")
        expect(walker).to_have_attribute("aria-valuetext", told)
        it.button("Table").click()
        expect(result).to_contain_text("for each range of scheduled minute")
        expect(result.get_by_role("row")).to_have_count(13)
        at_rest(it.page)  # nothing is wider than the window: the table scrolls in its own box
        it.screenshot("light")
        darken(it.page)
        it.screenshot("dark")
        assert it.errors == it.offsite == []
