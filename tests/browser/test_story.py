"""The whole story, as a newcomer lives it: plan by hand, pay once, see it, restart, and the budget is still spent."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

from playwright.sync_api import Browser, Locator, expect

from tests.browser.lab import Lab, Notebook


def shown(part: Locator) -> str:
    """What a part says, its white space evened out."""
    return " ".join(part.inner_text().split())


def test_plan_release_restart_and_the_budget_is_still_spent(lab: Lab, browser: Browser) -> None:
    with Notebook.open(
        lab, browser, lab.copy("00_start.ipynb", "story"), viewport={"width": 1280, "height": 2400}
    ) as it:
        budget = it.region("Budget")
        plan = it.region("Plan")
        slider = it.slider("Privacy loss ε")
        cost = re.compile(r"Would cost\s+([\d.]+)")

        it.run_all()
        expect(budget).to_contain_text("spent 0.5")
        expect(budget).to_contain_text("left 1.5 of 2")

        # The plan follows the slider, moved by keyboard, and nothing is charged for looking.
        expect(slider).to_have_attribute("aria-valuetext", "ε 0.2")
        expect(plan.get_by_label("Any one bin", exact=True)).to_have_value("15")
        slider.focus()
        it.page.keyboard.press("ArrowRight")
        expect(slider).to_have_attribute("aria-valuetext", "ε 0.25")
        expect(plan.get_by_label("Any one bin", exact=True)).to_have_value("12")
        expect(plan.get_by_role("img", name="At ε 0.25 any one bin within 12, all 42 within 27")).to_be_visible()
        assert cost.findall(shown(plan)) == ["0.25"]
        expect(budget).to_contain_text("spent 0.5")
        it.screenshot("planned")

        # The release is paid, once, and drawn with its error bars.
        pay = it.button("Release pay ε 0.25")
        expect(pay).to_be_enabled()
        pay.focus()
        it.page.keyboard.press("Enter")
        result = it.region("Visits per person-year, released with ε = 0.25")
        expect(result.get_by_role("img", name=re.compile("released with ε = 0.25"))).to_be_visible()
        expect(result).to_contain_text("holds for any one bin, 95 in 100")
        expect(result).to_contain_text("holds for all 42 bins at once, 95 in 100")
        expect(budget).to_contain_text("spent 0.75")
        expect(budget).to_contain_text("left 1.25 of 2")
        first = it.numbers(result)
        assert len(first) == 42
        it.screenshot("released")

        # Without its kernel the page still plans, and says that a release needs one.
        it.restart()
        expect(it.button("Release needs a kernel")).to_be_disabled()
        slider.focus()
        it.page.keyboard.press("ArrowRight")
        expect(plan.get_by_label("Any one bin", exact=True)).not_to_have_value("12")
        it.screenshot("restarted")

        # The ledger remembers: the budget is still spent, and running everything again charges nothing.
        for _ in range(2):
            it.run_all()
            expect(budget).to_contain_text("spent 0.75")
            expect(budget).to_contain_text("left 1.25 of 2")
            it.await_answer("print(session.remaining.epsilon, len(session.releases))", "5/4 2")

        # What was released before the restart is shown again, the same, for nothing.
        expect(result).to_be_visible()
        it.until(lambda: len(it.numbers(result)) == len(first))
        assert it.numbers(result) == first
        expect(budget).to_contain_text("spent 0.75")
        it.screenshot("again")
        assert it.errors == it.offsite == []

    ledger = lab.folder / "story" / "visits.ledger"
    program = Path(sys.executable).with_name("dpviz")
    verified = subprocess.run([program, "ledger", "verify", ledger], capture_output=True, text=True)
    assert verified.returncode == 0, verified.stdout + verified.stderr
    assert "2 charges" in verified.stdout
