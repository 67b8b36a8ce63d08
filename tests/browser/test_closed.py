"""Counts that a profile closes, on the page and in a report: both bars, by keyboard; narrow, dark, without a kernel."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, Locator, expect

import dpviz as dv
from tests.browser.axe import violations
from tests.browser.lab import Lab, Notebook, at_rest, darken
from tests.browser.test_asking import NARROW, SIDEWAYS
from tests.browser.test_no_kernel import SHUT_DOWN
from tests.browser.test_report import opened

SESSION = """
import dpviz as dv
flights = dv.datasets.flights()
flights = flights.assign(hour=flights.scheduled_minute // 60 % 24)
hours = dv.Domain.integers(6, 17, column="hour")
session = dv.Session(flights, dv.Unit("aircraft", noun="aircraft", max_bins=3), dv.Budget(epsilon="8"), "closed.ledger")
both = session.release(hours, dv.Dense("9/10"), over=dv.Dense("1/10", clamp=False))
"""
ENDS = """
frame = both.closed_by().to_frame()
print(";".join(f"{row.low:,} to {row.high:,}|{row.low_all:,} to {row.high_all:,}" for row in frame.itertuples()))
"""


def walked(result: Locator, place: int, one: str, every: str) -> None:
    """A reader at the keyboard hears both intervals of a bin for what was asked."""
    walker = result.get_by_role("slider", name="Walk the bins")
    walker.focus()
    walker.press("Home")
    for _ in range(place):
        walker.press("ArrowRight")
    told = walker.get_attribute("aria-valuetext") or ""
    assert f"this bin alone: {one} asked for; " in told and f"among all 12: {every} asked for; " in told, told
    assert "counted within the limits" in told
    expect(result.locator(".dp-tip")).to_contain_text(f"{one} asked for")


def test_the_page_shows_what_was_counted_and_what_was_asked(lab: Lab, browser: Browser) -> None:
    lab.write("closed.ipynb", SESSION, 'dv.Workbench(session, hours, mechanism=dv.Dense("1/2"))')
    with Notebook.open(lab, browser, "closed.ipynb", viewport={"width": 1280, "height": 2200}) as it:
        it.run_all()
        result = it.page.locator(".dp-result")
        ends = [row.split("|") for row in it.ask(ENDS).strip().split(";")]
        expect(result.locator("path.dp-asked")).to_have_count(1)
        expect(result.locator(".dp-open-end")).to_have_count(0)
        key = result.locator(".dp-result-tools")
        expect(key).to_contain_text("wide holds what you asked for, with what the limit left out, for any one bin")
        expect(key).to_contain_text("Each aircraft counts in at most 3 of 12 hours.")
        walked(result, 2, *ends[2])
        before = result.locator("path.dp-asked").get_attribute("d")
        choice = result.get_by_role("radiogroup", name="Both bars hold for")
        choice.get_by_role("radio", name="One bin").focus()
        it.page.keyboard.press("ArrowRight")
        expect(choice.get_by_role("radio", name="All bins at once")).to_be_checked()
        expect(key).to_contain_text(
            "wide holds what you asked for, with what the limit left out, for all 12 bins at once"
        )
        expect(result.locator("path.dp-asked")).not_to_have_attribute("d", before or "")
        result.get_by_role("button", name="Table").click()
        expect(result.locator("tbody tr").nth(2)).to_contain_text(ends[2][1])
        at_rest(it.page)
        result.scroll_into_view_if_needed()
        it.screenshot("both bars")
        darken(it.page)
        at_rest(it.page)
        it.screenshot("both bars, dark")
        assert violations(it.page) == []
        it.page.evaluate(NARROW)
        at_rest(it.page)
        assert it.page.evaluate(SIDEWAYS) <= 0
        it.screenshot("both bars, 320 px")
        it.page.evaluate(SHUT_DOWN)
        walked(result, 5, *ends[5])
        choice.get_by_role("radio", name="One bin").check()
        expect(key).to_contain_text("for any one bin")
        assert it.errors == it.offsite == []


def test_a_report_shows_both_bars_where_it_holds_the_profile(tmp_path: Path, browser: Browser) -> None:
    flights = dv.datasets.flights()
    flights = flights.assign(hour=flights.scheduled_minute // 60 % 24)
    hours = dv.Domain.integers(6, 17, column="hour")
    unit = dv.Unit("aircraft", noun="aircraft", max_bins=3)
    session = dv.Session(flights, unit, dv.Budget(epsilon="8"), tmp_path / "a.ledger")
    counts = session.release(hours, dv.Dense("1/2"))
    profile = session.release(dv.Question.contribution_profile(hours), dv.Dense("1/5", clamp=False))
    row: Any = counts.closed_by(profile).to_frame().iloc[4]
    ends = f"{row.low:,} to {row.high:,}", f"{row.low_all:,} to {row.high_all:,}"
    alone, both = (tmp_path / f"{name}.html" for name in ("alone", "both"))
    dv.report([counts], alone)
    dv.report([counts, profile], both)
    with opened(browser, alone) as page:
        expect(page.locator(".dp-result").first).to_contain_text("upper ends are open")
        expect(page.locator(".dp-asked")).to_have_count(0)
    with opened(browser, both, color_scheme="dark", viewport={"width": 320, "height": 900}) as page:
        result = page.locator(".dp-result").first
        expect(result.locator("path.dp-asked")).to_have_count(1)
        expect(result).to_contain_text("Bought one after the other")
        expect(result).to_contain_text("The profile is release 2: 0.2-differential privacy")
        walked(result, 4, *ends)
        assert page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth") <= 0
        page.screenshot(path=tmp_path / "both.png", full_page=True)
