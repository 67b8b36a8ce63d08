"""Advice in the Workbench: the lines that a plan in Python prints, and the first mechanisms for the question, each with
its errors and a way to switch; by keyboard, as ε moves, beside a question that was left, and without a kernel."""

from __future__ import annotations

import re

from playwright.sync_api import Browser, Locator, expect

from tests.browser.axe import violations
from tests.browser.lab import Lab, Notebook, at_rest, darken
from tests.browser.test_asking import NARROW, SIDEWAYS
from tests.browser.test_no_kernel import SHUT_DOWN

SESSION = """
import dpviz as dv, pandas as pd
frame = pd.DataFrame({"x": [i * i % 512 for i in range(3000)], "word": [f"w{i % 40}" for i in range(3000)]})
session = dv.Session(frame, dv.Unit("row"), dv.Budget("8", "1e-5"), "advice.ledger")
fifty, many = dv.Domain.integers(0, 49, column="x"), dv.Domain.integers(0, 511, column="x")
lines = lambda plan: [one.strip().split(" ", 1) for one in repr(plan).splitlines() if " " in one.strip()]
line = lambda plan, head: next(said.strip() for first, said in lines(plan) if first == head)
"""


def box(it: Notebook) -> Locator:
    return it.page.locator(".dp-advice")


def card(it: Notebook, name: str) -> Locator:
    return box(it).get_by_role("listitem").filter(has=it.page.get_by_role("heading", name=name, exact=True))


def advised(it: Notebook, head: str) -> Locator:
    return it.region("Plan").get_by_role("group", name="Advice").locator(f"p[data-head={head}]")


def sentence(said: str, head: str) -> str:
    return f"{head.capitalize()}: {said.strip()}."


def bounds(said: str) -> list[str]:
    """The errors in a line, the better one first."""
    return re.findall(r"≤ ([\d,.]*\d)", said)


def test_a_better_mechanism_is_told_compared_and_chosen_by_keyboard(lab: Lab, browser: Browser) -> None:
    lab.write("better.ipynb", SESSION, 'dv.Workbench(session, fifty, mechanism=dv.ExponentialTopK(10, "1"))')
    with Notebook.open(lab, browser, "better.ipynb", viewport={"width": 1280, "height": 2400}) as it:
        it.run_all()
        python = it.ask('print(line(session.plan(fifty, dv.ExponentialTopK(10, "1")), "better"))')
        assert "its counts sorted" in python
        expect(advised(it, "better")).to_have_text(sentence(python, "better"))
        expect(box(it)).to_have_attribute("open", "")
        expect(box(it)).to_contain_text("Dense is the first choice for the largest items; on show is ExponentialTopK.")
        expect(box(it)).to_contain_text("Each at ε 1; errors hold 95 in 100.")
        least, here = bounds(python)
        expect(card(it, "Dense").locator("dd").first).to_have_text(f"≤ {least}")
        expect(card(it, "ExponentialTopK").locator("dd").first).to_have_text(f"≤ {here}")
        expect(card(it, "ExponentialTopK").get_by_role("button")).to_have_text("In use")
        at_rest(it.page)
        assert violations(it.page) == []
        it.screenshot("advice")
        darken(it.page)
        at_rest(it.page)
        assert violations(it.page) == []
        it.screenshot("advice, dark")

        # another ε: the same numbers as Python, without a price at the ones before
        epsilon = it.page.locator(".dp-workbench").get_by_role("textbox", name="Privacy loss ε")
        epsilon.fill("0.5")
        epsilon.press("Enter")
        python = it.ask('print(line(session.plan(fifty, dv.ExponentialTopK(10, "1/2")), "better"))')
        expect(advised(it, "better")).to_have_text(sentence(python, "better"))
        expect(box(it)).to_contain_text("Each at ε 0.5; errors hold 95 in 100.")
        expect(card(it, "Dense").locator("dd").first).to_have_text(f"≤ {bounds(python)[0]}")

        # chosen by keyboard: the mechanism on show is another one, nothing is paid, and the focus stays where it was
        use = card(it, "Dense").get_by_role("button", name="Use Dense")
        use.focus()
        it.page.keyboard.press("Enter")
        expect(it.page.locator(".dp-workbench").get_by_label("Mechanism", exact=True)).to_have_value("Dense")
        expect(card(it, "Dense").get_by_role("button")).to_have_text("In use")
        expect(card(it, "Dense").get_by_role("button")).to_be_focused()
        expect(box(it)).to_contain_text("Dense is the first choice for the largest items, and in use.")
        expect(box(it).get_by_label("Read for")).to_have_value("top")
        expect(it.button("Release")).to_contain_text("pay ε 0.5")
        expect(advised(it, "better")).to_have_count(0)
        assert it.ask("print(len(session.releases), session.remaining.epsilon)").split() == ["0", "8"]
        it.page.evaluate(NARROW)
        at_rest(it.page)
        assert it.page.evaluate(SIDEWAYS) <= 0
        box(it).scroll_into_view_if_needed()
        it.screenshot("advice, dark, 320 px")

        # a question that was left: while other bins are declared nothing of the one before stands beside them
        bins = it.page.locator(".dp-workbench").get_by_label("Bins (public, not taken from the data)")
        bins.select_option(label="Declare bins…")
        expect(box(it).get_by_role("listitem")).to_have_count(0)
        expect(box(it)).to_contain_text("the plan on show is still of the question before")
        it.button("Keep the old ones").click()
        expect(card(it, "Dense").get_by_role("button")).to_have_text("In use")

        it.page.evaluate(SHUT_DOWN)
        expect(box(it)).to_contain_text("Comparing needs a kernel.")
        expect(card(it, "ExponentialTopK").get_by_role("button")).to_have_attribute("aria-disabled", "true")
        expect(advised(it, "better")).to_have_count(0)
        assert it.errors == it.offsite == []


def test_the_first_choice_in_use_leaves_the_box_folded_and_says_how_sums_err_less(lab: Lab, browser: Browser) -> None:
    lab.write("sums.ipynb", SESSION, 'dv.Workbench(session, many, mechanism=dv.Dense("1/2"))')
    with Notebook.open(lab, browser, "sums.ipynb", viewport={"width": 1280, "height": 2000}) as it:
        it.run_all()
        python = it.ask('print(line(session.plan(many, dv.Dense("1/2")), "sums"))')
        assert "clamp=False" in python
        expect(advised(it, "sums")).to_have_text(sentence(python, "sums"))
        expect(box(it)).to_contain_text("Dense is the first choice for every bin, and in use.")
        expect(box(it)).not_to_have_attribute("open", "")
        at_rest(it.page)
        it.screenshot("advice, folded")
        box(it).locator("summary").focus()
        it.page.keyboard.press("Enter")
        plan = "session.plan(many, dv.Dense('1/2'))"
        one, every = (it.ask(f"print({plan}.{call}().value)").strip() for call in ("one_bin", "all_bins"))
        expect(card(it, "Dense").locator("dl")).to_have_text(f"any one bin±{one}all 512 bins±{every}")
        expect(box(it).get_by_role("listitem").nth(1)).to_contain_text("times the error of Dense")
        box(it).get_by_label("Read for").select_option("ranges")
        expect(card(it, "Tree").locator("dt").nth(1)).to_have_text("10 bins")
        it.page.locator(".dp-picker summary", has_text="Noise and sampler").click()
        it.page.locator(".dp-workbench").get_by_label("Clamp to the range").select_option("false")
        expect(advised(it, "sums")).to_have_count(0)
        assert it.errors == it.offsite == []


def test_mechanisms_for_keys_say_from_which_count_on_a_key_is_shown(lab: Lab, browser: Browser) -> None:
    keys = 'dv.Workbench(session, dv.Domain.keys(column="word"), mechanism=dv.Stability("1/2", "1e-6"), goal="bins")'
    lab.write("keys.ipynb", SESSION, keys)
    with Notebook.open(lab, browser, "keys.ipynb", viewport={"width": 1280, "height": 2000}) as it:
        it.run_all()
        expect(box(it)).to_contain_text("Stability is the first choice for every bin, and in use.")
        box(it).locator("summary").click()
        law = 'session.plan(dv.Domain.keys(column="word"), dv.Stability("1/2", "1e-6")).error'
        least = f"print(next(count for count in range(10**4) if {law}.chance_shown(count) >= 0.95))"
        expect(card(it, "Stability").locator("dd").nth(1)).to_have_text(it.ask(least).strip())
        expect(card(it, "Stability").locator("dt").nth(1)).to_have_text("shown from a count of")
        box(it).get_by_label("Read for").select_option("top")
        expect(card(it, "TopKLaplace")).to_contain_text("above the 51st count")
        expect(box(it).get_by_role("listitem")).to_have_count(3)
        at_rest(it.page)
        it.screenshot("advice, keys")
        assert it.errors == it.offsite == []
