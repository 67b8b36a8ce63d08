"""Before it is paid, a slow release is said to be slow; after, one bin of a structure is read by keyboard."""

from __future__ import annotations

import re

from playwright.sync_api import Browser, expect

from tests.browser.lab import Lab, Notebook

SLOW = (
    "import dpviz as dv\n"
    'session = dv.Session(dv.datasets.doctor_visits(), dv.Unit("row"), dv.Budget("4"), "visits.ledger")\n'
    'dv.Workbench(session, dv.Domain.integers(0, 2_000_000, column="visits"), mechanism=dv.Dense("1/5"))',
)
READ = (
    "import dpviz as dv\n"
    'unit = dv.Unit("row", relation="replace-one", n=5190, noun="person-year")\n'
    'session = dv.Session(dv.datasets.doctor_visits(), unit, dv.Budget("4"), "visits.ledger")\n'
    'bins = dv.Domain.integers(0, 40, column="visits", overflow=True)\n'
    "kept = session.release(bins, dv.Compact(1))\n"
    "dv.ResultChart(session)",
    'print("visits of 2:", kept[2])',
)


def test_a_slow_release_is_said_to_be_slow_before_it_is_paid(lab: Lab, browser: Browser) -> None:
    lab.write("slow/slow.ipynb", *SLOW)
    with Notebook.open(lab, browser, "slow/slow.ipynb") as it:
        it.run_all()
        plan = it.region("Plan")
        expect(plan.get_by_role("note")).to_contain_text("This would be slow: 2,000,001 draws.")


def test_one_bin_of_a_structure_is_read_by_keyboard(lab: Lab, browser: Browser) -> None:
    lab.write("read/read.ipynb", *READ)
    with Notebook.open(lab, browser, "read/read.ipynb") as it:
        it.run_all()
        form = it.page.get_by_role("form", name="Read one bin")
        field = form.get_by_label("visits")
        field.fill("2")
        field.press("Enter")
        answer = form.get_by_role("status")
        expect(answer).to_contain_text(re.compile(r"^2: [\d,]+ \(between [\d,]+ and [\d,]+, 95 in 100\)\.$"))
        read = re.sub(r"\D", "", (answer.text_content() or "").split(":")[1].split("(")[0])
        expect(it.page.get_by_text(f"visits of 2: {read}")).to_be_visible()
        field.fill("-3")
        field.press("Enter")
        expect(form.get_by_role("alert")).to_contain_text("a bin must be one of 0, 1, …, 40, over 40, got -3")
        it.screenshot("read")
