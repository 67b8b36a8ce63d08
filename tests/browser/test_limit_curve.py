"""The limit per user on the page: typed, planned, paid within; its curve, with a released profile; narrow, dark, and
without its kernel."""

from __future__ import annotations

import re

from playwright.sync_api import Browser, expect

from tests.browser.axe import violations
from tests.browser.lab import Lab, Notebook, at_rest, darken
from tests.browser.test_asking import NARROW, SIDEWAYS
from tests.browser.test_no_kernel import SHUT_DOWN

SESSION = """
import dpviz as dv
flights = dv.datasets.flights()
flights = flights.assign(hour=flights.scheduled_minute // 60 % 24)
hours = dv.Domain.integers(6, 17, column="hour")
session = dv.Session(flights, dv.Unit("aircraft", noun="aircraft", max_bins=3), dv.Budget(epsilon="8"), "limit.ledger")
"""


def test_a_limit_is_typed_compared_on_its_curve_and_paid_within(lab: Lab, browser: Browser) -> None:
    lab.write("limit.ipynb", SESSION, 'dv.Workbench(session, hours, mechanism=dv.Dense("1/2", clamp=False))')
    with Notebook.open(lab, browser, "limit.ipynb", viewport={"width": 1280, "height": 2200}) as it:
        it.run_all()
        part = it.page.get_by_role("group", name="Limit")
        box = part.get_by_role("textbox", name="One aircraft counts in at most")
        expect(box).to_have_value("3")
        expect(it.region("Plan")).to_contain_text("Each aircraft counts in at most 3 of 12 hours.")
        box.fill("0")
        box.press("Enter")
        expect(part.get_by_role("alert")).to_contain_text("the number of bins must be a whole number from 1 on, got 0")
        box.fill("8")
        box.press("Enter")
        expect(it.region("Plan")).to_contain_text("Each aircraft counts in at most 8 of 12 hours.")
        planned = 'session.plan(hours, dv.Dense("1/2", clamp=False), limits=dv.Limits(max_bins={})).one_bin().value'
        eight, every = (it.ask(f"print({planned.format(most)})").strip() for most in (8, 12))
        summary = part.locator("summary")
        summary.focus()
        it.page.keyboard.press("Enter")
        told = part.get_by_role("status")
        expect(told).to_contain_text(f"With at most 8: one bin ±{eight} of what is counted.")
        expect(told).to_contain_text(f"With nothing cut: one bin ±{every}.")
        expect(told).to_contain_text("a profile of them, released, draws that here")
        it.ask('p = session.release(dv.Question.contribution_profile(hours), dv.Dense("1/10", clamp=False))')
        over = it.ask("print(f'{int(p.sum(range(9, 13)).value):,}')").strip()
        expect(told).to_contain_text(f"Over this limit are {over} aircraft")
        expect(part.locator(".dp-limit-curve .dp-curve")).to_have_count(2)
        at_rest(it.page)
        part.scroll_into_view_if_needed()
        it.screenshot("limit curve")
        darken(it.page)
        at_rest(it.page)
        it.screenshot("limit curve, dark")
        assert violations(it.page) == []
        it.page.evaluate(NARROW)
        at_rest(it.page)
        assert it.page.evaluate(SIDEWAYS) <= 0
        it.screenshot("limit curve, 320 px")
        part.get_by_role("button", name="Nothing cut").click()
        expect(box).to_have_value("12")
        expect(it.region("Plan")).to_contain_text("No aircraft can be in more than 12 hours: nothing is left out.")
        expect(told).to_contain_text("No aircraft is over this limit.")
        pay = it.button("Release").filter(has_text=re.compile("pay ε 0.5"))
        expect(pay).not_to_have_attribute("aria-disabled", "true")
        pay.click()
        expect(it.page.locator(".dp-result")).to_contain_text("released with ε = 0.5")
        paid = it.ask("r = session.releases[2]; print(r.unit.max_bins, r.limits or 'whole', session.remaining.epsilon)")
        assert paid.split() == ["12", "whole", "37/5"] or paid.startswith("12 No aircraft"), paid
        it.page.evaluate(SHUT_DOWN)
        expect(box).to_be_disabled()
        expect(part.get_by_role("button", name="Nothing cut")).to_be_disabled()
        assert it.errors == it.offsite == []
