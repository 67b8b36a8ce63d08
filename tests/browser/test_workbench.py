"""The Workbench in a real JupyterLab, beside the main story: a dead kernel, a cancel, a refusal, a typed error."""

from __future__ import annotations

import re

from playwright.sync_api import Browser, expect

from tests.browser.lab import ROOT, Lab, Notebook

SESSION = """
import dpviz as dv
session = dv.Session(
    {data},
    unit=dv.Unit("row", relation="add-remove", noun="person-year"),
    budget=dv.Budget(epsilon="2", delta="1e-6"),
    ledger="{name}.ledger",
)
bins = dv.Domain.integers(0, {top}, column="visits", overflow=True)
"""
BENCH = "bench = dv.Workbench(session, bins)\nbench"
LEFT = "print(session.remaining.epsilon)"
TALL = {"width": 1280, "height": 1700}


ENDLESS = f"""
import sys
sys.path.insert(0, {str(ROOT)!r})
from tests.browser.endless import Endless
"""


def write(lab: Lab, name: str, top: int = 40, data: str = "dv.datasets.doctor_visits()") -> str:
    lab.write(f"{name}.ipynb", ENDLESS + SESSION.format(name=name, top=top, data=data), BENCH)
    return f"{name}.ipynb"


def test_a_dead_kernel_leaves_the_plan_alive_and_release_says_why_not(lab: Lab, browser: Browser) -> None:
    with Notebook.open(lab, browser, write(lab, "dead"), viewport=TALL) as notebook:
        notebook.run_all()
        expect(notebook.page.get_by_role("textbox", name="Any one bin")).to_have_value("15")  # the widget is drawn
        notebook.page.evaluate("async () => window.panel.sessionContext.session.kernel.shutdown()")
        notebook.slider("Privacy loss ε").press("ArrowRight")
        expect(notebook.page.get_by_role("textbox", name="Any one bin")).to_have_value("12")
        release = notebook.button("Release needs a kernel")
        expect(release).to_be_visible()
        expect(release).to_be_disabled()


def test_a_long_release_can_be_cancelled_and_its_charge_stays(lab: Lab, browser: Browser) -> None:
    with Notebook.open(lab, browser, write(lab, "cancel", top=9_998, data="Endless()"), viewport=TALL) as notebook:
        notebook.run_all()
        notebook.button("Release").filter(has_text="pay ε 0.2").click()
        notebook.button("Cancel").click()
        expect(notebook.page.get_by_text("is spent and no answer was shown").first).to_be_visible()
        assert notebook.ask(LEFT).strip() == "9/5"
        assert notebook.ask("print(session.ledger.entries()[0].status)").strip() == "cancelled"


def test_a_release_made_in_a_cell_shows_in_the_workbench(lab: Lab, browser: Browser) -> None:
    with Notebook.open(lab, browser, write(lab, "cell"), viewport=TALL) as notebook:
        notebook.run_all()
        assert notebook.ask("print(session.release(bins, dv.Dense('1/2')).number)").strip() == "1"
        expect(notebook.page.get_by_role("heading", name=re.compile("released with ε = 0.5"))).to_be_visible()
        expect(notebook.page.get_by_text("left 1.5 of 2", exact=False).first).to_be_visible()
        proved = "two-sided geometric noise, Ghosh, Roughgarden, Sundararajan 2009"
        notebook.page.get_by_text("How each price is proved").click()
        expect(notebook.page.get_by_text(f"1: {proved}.", exact=True)).to_be_visible()
        notebook.page.get_by_text("How this price is proved", exact=True).click()
        expect(notebook.page.get_by_text(f"ε 0.5: {proved}.", exact=True)).to_be_visible()


def test_asking_for_too_much_is_refused_before_anything_is_charged(lab: Lab, browser: Browser) -> None:
    with Notebook.open(lab, browser, write(lab, "much"), viewport=TALL) as notebook:
        notebook.run_all()
        assert notebook.ask("print(session.release(bins, dv.Dense('1')).number)").strip() == "1"
        box = notebook.page.get_by_role("textbox", name="Privacy loss ε, exact")
        box.fill("3/2")
        box.press("Enter")
        expect(notebook.page.get_by_text("ask for at most 1", exact=False).first).to_be_visible()
        assert notebook.ask(LEFT).strip() == "1"


def test_a_typed_value_that_makes_no_sense_keeps_the_last_plan(lab: Lab, browser: Browser) -> None:
    with Notebook.open(lab, browser, write(lab, "wrong"), viewport=TALL) as notebook:
        notebook.run_all()
        box = notebook.page.get_by_role("textbox", name="Privacy loss ε, exact")
        box.fill("-1/2")
        box.press("Enter")
        expect(notebook.page.get_by_role("alert").filter(has_text="ε must be positive, got −1/2")).to_be_visible()
        expect(notebook.page.get_by_role("textbox", name="Any one bin")).to_have_value("15")
        assert notebook.errors == []


BRIEF = """
import time
import numpy as np
import dpviz as dv
from dpviz.model.statistic import Column, DenseCounts

class Brief:
    name, columns = "brief draws", (Column("x", "number"),)
    pauses = iter([0.24 + 0.002 * i for i in range(20)])
    def check(self, question, unit, need): return None
    def count(self, question, unit, need, tick=None):
        time.sleep(next(self.pauses))
        return DenseCounts(np.array([40, 50, 60, 70], dtype=np.int64))

session = dv.Session(Brief(), dv.Unit(), dv.Budget(100), "brief.ledger")
bins = dv.Domain.integers(0, 3, column="x")
"""


def test_a_draw_that_ends_as_the_reply_is_sent_never_leaves_the_page_hanging(lab: Lab, browser: Browser) -> None:
    lab.write("brief.ipynb", BRIEF, BENCH)
    with Notebook.open(lab, browser, "brief.ipynb", viewport=TALL) as notebook:
        notebook.run_all()
        box = notebook.page.get_by_role("textbox", name="Privacy loss ε, exact")
        for number in range(1, 21):
            epsilon = f"1.{number:02}1"
            box.fill(epsilon)
            box.press("Enter")
            pay = notebook.button("Release").filter(has_text=f"pay ε {epsilon}")
            expect(pay).not_to_have_attribute("aria-disabled", "true")
            pay.click()
            title = notebook.page.get_by_role("heading", name=re.compile(f"released with ε = {re.escape(epsilon)}$"))
            expect(title).to_be_visible()
            expect(notebook.page.locator(".dpviz").get_by_role("progressbar")).to_have_count(0)
            assert notebook.ask("print(len(session.releases))").strip() == str(number)
        assert notebook.errors == []


DATES = """
import dpviz as dv, pandas as pd
days = pd.to_datetime("2013-01-01") + pd.to_timedelta([place % 365 for place in range(7300)], "D")
stays = pd.DataFrame({"ward": ["east", "west"] * 3650, "day": days})
session = dv.Session(stays, unit=dv.Unit(noun="stay"), budget=dv.Budget(2), ledger="dates.ledger")
"""


def test_months_of_a_column_of_dates_are_declared_alone_and_as_parts(lab: Lab, browser: Browser) -> None:
    lab.write("dates.ipynb", DATES, "bench = dv.Workbench(session)\nbench")
    with Notebook.open(lab, browser, "dates.ipynb", viewport=TALL) as notebook:
        notebook.run_all()
        question = notebook.page.get_by_role("group", name="Question", exact=True)
        # Nobody has declared bins of any column, so those of the first are to be declared, and nothing is for sale.
        expect(question.get_by_label("Labels, separated by commas")).to_be_visible()
        expect(question).to_contain_text("No question yet: its bins are to be declared.")
        notebook.screenshot("suggested")
        question.get_by_label("by column", exact=True).select_option("day")
        fields = question.get_by_role("group", name="Declare bins", exact=True)
        release = notebook.page.get_by_role("region", name="Release", exact=True)
        expect(release).to_contain_text("Bins of day are being declared")
        expect(release.get_by_role("button", name="Release")).to_have_attribute("aria-disabled", "true")
        release.get_by_role("button", name="Release").click(force=True)
        expect(release).to_contain_text("Bins of day are being declared")
        notebook.screenshot("declaring")
        assert notebook.ask("print(len(session.releases), session.remaining.epsilon)").strip() == "0 2"
        fields.get_by_label("From", exact=True).fill("2013")
        end = fields.get_by_label("Up to, not including")
        end.fill("2013-06-15")
        fields.get_by_role("button", name="Use these bins").click()
        refusal = "the end must be where a month ends, got 2013-06-15; write 2013-06-01 or 2013-07-01"
        expect(fields.get_by_role("alert")).to_have_text(refusal)
        expect(end).to_be_focused()
        notebook.screenshot("refused")
        end.fill("2013-07-01")
        fields.get_by_role("button", name="Use these bins").click()
        expect(question.get_by_text("8 bins.", exact=False)).to_be_visible()
        notebook.button("Release").filter(has_text="pay ε 0.2").click()
        expect(notebook.page.get_by_role("heading", name=re.compile("released with ε = 0.2$"))).to_be_visible()
        notebook.screenshot("released")
        error = "max(abs(int(value) - true) for value, true in zip(session.releases[1].values, TRUE))"
        true = [0, 20 * 31, 20 * 28, 20 * 31, 20 * 30, 20 * 31, 20 * 30, 20 * 184]
        # Eight draws with scale 5: one of them is off by 200 or more with probability below 1e-16.
        assert notebook.ask(f"TRUE = {true}; print({error} < 200)").strip() == "True"
        question.get_by_label("by column", exact=True).select_option("ward")
        fields.get_by_label("Labels, separated by commas").fill("east, west")
        fields.get_by_role("button", name="Use these bins").click()
        expect(question.get_by_text("ward east, west or all others", exact=False)).to_be_visible()
        question.get_by_label("for each", exact=True).select_option("day")
        expect(question.get_by_text("For each month of day", exact=False)).to_be_visible()
        notebook.screenshot("parts")
        assert notebook.errors == []


CSV = """
import dpviz as dv
session = dv.Session("stays.csv", unit=dv.Unit(noun="stay"), budget=dv.Budget(2), ledger="stays.ledger")
"""


def test_bins_of_numbers_and_labels_can_both_be_declared_over_a_csv_file(lab: Lab, browser: Browser) -> None:
    rows = "".join(f"{place % 50},{'long' if place % 2 else 'short'}\n" for place in range(5000))
    (lab.folder / "stays.csv").write_text(f"nights,kind\n{rows}")
    lab.write("stays.ipynb", CSV, "bench = dv.Workbench(session)\nbench")
    with Notebook.open(lab, browser, "stays.ipynb", viewport=TALL) as notebook:
        notebook.run_all()
        question = notebook.page.get_by_role("group", name="Question", exact=True)
        question.get_by_label("Bins of").select_option(label="whole numbers")
        expect(question.get_by_label("To", exact=True)).to_have_value("9")  # a suggestion
        question.get_by_label("From", exact=True).fill("0")
        question.get_by_label("To", exact=True).fill("40")
        question.get_by_role("button", name="Use these bins").click()
        expect(question.get_by_text("42 bins.", exact=False)).to_be_visible()
        notebook.button("Release").filter(has_text="pay ε 0.2").click()
        expect(notebook.page.get_by_role("heading", name=re.compile("released with ε = 0.2$"))).to_be_visible()
        over = "abs(session.releases[1].values[-1] - 900)"
        assert notebook.ask(f"print({over} < 200)").strip() == "True"  # exceeded with probability below 1e-16
        question.get_by_label("by column", exact=True).select_option("kind")
        question.get_by_label("Bins of").select_option(label="labels")
        question.get_by_label("Labels, separated by commas").fill("long, short")
        question.get_by_role("button", name="Use these bins").click()
        expect(question.get_by_text("3 bins.", exact=False)).to_be_visible()
        assert notebook.errors == []
