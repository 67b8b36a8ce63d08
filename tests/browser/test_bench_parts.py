"""Several columns and parts in the Workbench, in a real JupyterLab: chosen, planned, paid and found again by hand."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from tests.browser import axe
from tests.browser.lab import Lab, Notebook, at_rest, darken
from tests.browser.test_asking import reload

VISITS = """
import dpviz as dv
session = dv.Session(
    dv.datasets.doctor_visits(),
    unit=dv.Unit("row", relation="add-remove", noun="person-year"),
    budget=dv.Budget(epsilon="2", delta="1e-6"),
    ledger="columns.ledger",
)
bins = dv.Domain.integers(0, 9, column="visits", overflow=True)
health = dv.Domain.categories(["excellent", "good", "fair", "poor"], column="self_rated_health")
"""
FLIGHTS = """
import dpviz as dv
session = dv.Session(
    dv.datasets.flights(),
    unit=dv.Unit("aircraft", noun="aircraft", max_bins=3),
    budget=dv.Budget(epsilon="20", delta="1e-4"),
    ledger="parts.ledger",
)
airports = dv.Domain.categories(["ATL", "BOS", "LAX"], column="destination", other=True)
months = dv.Domain.intervals([k * 43_800 for k in range(13)], column="scheduled_minute")
"""
TALL = {"width": 1280, "height": 2300}


def question(page: Page) -> Locator:
    return page.get_by_role("group", name="Question", exact=True).first


def test_columns_are_set_beside_the_first_and_their_product_is_released(lab: Lab, browser: Browser) -> None:
    lab.write("columns/columns.ipynb", VISITS, "bench = dv.Workbench(session, bins, health)\nbench")
    with Notebook.open(lab, browser, "columns/columns.ipynb", viewport=TALL) as it:
        it.run_all()
        row = question(it.page)
        row.get_by_label("× column").first.select_option("self_rated_health")
        expect(row).to_contain_text(re.compile(r"44 bins\."))
        row.get_by_label("× column").nth(1).select_option("physical_limitation")
        row.get_by_label("From", exact=True).fill("0")
        row.get_by_label("To", exact=True).fill("1")
        row.get_by_label("a bin for above").uncheck()
        row.get_by_role("button", name="Use these bins").press("Enter")
        expect(row).to_contain_text(re.compile(r"88 bins\."))
        expect(row.get_by_label("× column").nth(1)).to_be_focused()
        it.screenshot("planned")
        assert axe.violations(it.page) == []
        call = 'dv.Domain.integers(0, 1, column="physical_limitation")'
        assert call in it.ask("print(bench.session_model.plan.sheet.to_json()['python'])")
        row.get_by_label("× column").nth(1).select_option("none")
        expect(row).to_contain_text(re.compile(r"44 bins\."))
        it.button("Release").filter(has_text="pay ε 0.2").click()
        title = "Person-years by visits and self rated health, released with ε = 0.2"
        expect(it.page.get_by_role("heading", name=title)).to_be_visible()
        assert it.ask("print(session.releases[1].question.bins, session.remaining.epsilon)").split() == ["44", "9/5"]
        it.screenshot("released")
        reload(it)
        row = question(it.page)
        expect(row.get_by_label("× column").first).to_have_value("self_rated_health")
        expect(row).to_contain_text(re.compile(r"44 bins\."))
        assert it.errors == it.offsite == []


def test_a_question_is_asked_for_each_month_in_the_way_that_is_picked(lab: Lab, browser: Browser) -> None:
    lab.write("parts/parts.ipynb", FLIGHTS, "bench = dv.Workbench(session, airports, months)\nbench", "bench")
    with Notebook.open(lab, browser, "parts/parts.ipynb", viewport={"width": 1280, "height": 3400}) as it:
        it.run_all()
        row = question(it.page)
        row.get_by_label("for each").select_option("scheduled_minute")
        ways = it.page.get_by_role("radiogroup").first
        expect(ways.get_by_role("radio", name="one after the other")).to_have_count(1)
        expect(ways.get_by_role("radio", name="parallel parts")).to_have_count(0)
        expect(ways).to_contain_text("one aircraft may count in all 12 parts")
        most = row.get_by_label("One aircraft counts in at most … parts")
        most.fill("2")
        most.press("Enter")
        expect(ways.get_by_role("radio", name="parallel parts")).to_be_checked()
        expect(ways.get_by_role("radio", name="parallel parts")).to_have_accessible_name(re.compile("errs least"))
        it.screenshot("ways")
        assert axe.violations(it.page) == []
        before = ways.inner_text()
        it.slider("Privacy loss ε").first.press("ArrowRight")
        expect(ways).not_to_have_text(before)
        ways.get_by_role("radio", name="parallel parts").press("ArrowDown")
        last = ways.get_by_role("radio", name="one after the other")
        expect(last).to_be_checked()
        # The second view shows the same plan.
        second = it.page.get_by_role("radiogroup").nth(1)
        expect(second.get_by_role("radio", name="one after the other")).to_be_checked()
        it.await_answer("print(bench.session_model.plan.way)", "sequence")
        assert 'way="sequence"' in it.ask("print(bench.session_model.plan.sheet.to_json()['python'])")
        pay = it.button("Release").filter(has_text="pay ε").first
        expect(pay).not_to_have_attribute("aria-disabled", "true")
        cost = re.search(r"pay ε ([\d.]+)", pay.inner_text())
        assert cost is not None
        pay.click()
        heading = it.page.get_by_role("heading", name=re.compile("for each range of scheduled minute, released with ε"))
        expect(heading.first).to_be_visible()
        asked = "print(session.releases[1].terms.mechanism.parameters['way'])"
        assert it.ask(asked).strip() == "sequence"
        spent = it.ask(
            "from dpviz.exact import text; print(text(20 - session.remaining.epsilon), len(session.releases))"
        )
        assert spent.split() == [cost[1], "1"]
        it.screenshot("released")
        reload(it)
        row = question(it.page)
        expect(row.get_by_label("for each")).to_have_value("scheduled_minute")
        expect(it.page.get_by_role("radiogroup").first.get_by_role("radio", name="one after the other")).to_be_checked()
        assert it.errors == it.offsite == []


@pytest.mark.parametrize("width", [1280, 660])
def test_columns_and_ways_fit_light_and_dark_wide_and_narrow(lab: Lab, browser: Browser, width: int) -> None:
    name = f"fits-{width}"
    lab.write(
        f"{name}/{name}.ipynb",
        FLIGHTS.replace("parts.ledger", f"{name}.ledger"),
        "by = dv.Partition(months, max_parts=2)\n"
        "lists = dv.TopK(3, 4, epsilon='1', delta='1e-6')\n"
        "dv.Workbench(session, dv.Question(airports, by=by), mechanism=lists)",
    )
    with Notebook.open(lab, browser, f"{name}/{name}.ipynb", viewport={"width": width, "height": 2600}) as it:
        it.run_all()
        ways = it.page.get_by_role("radiogroup").first
        expect(ways.get_by_role("radio", name="zCDP over all lists")).to_have_count(1)
        at_rest(it.page)
        it.screenshot("light")
        darken(it.page)
        it.screenshot("dark")
        assert axe.violations(it.page) == []
        assert it.errors == it.offsite == []
