"""Two kernels on one ledger, each with a workbench in a real browser: what one does, the other shows by itself."""

from __future__ import annotations

import re

from playwright.sync_api import Browser, expect

from tests.browser.lab import ROOT, SCREENSHOTS, Lab, Notebook

SESSION = f"""
import sys
sys.path.insert(0, {str(ROOT)!r})
import dpviz as dv
from tests.browser.endless import Endless
session = dv.Session(
    Endless(),
    unit=dv.Unit("row", relation="add-remove", noun="person-year"),
    budget=dv.Budget(epsilon="2", delta="1e-6"),
    ledger="shared.ledger",
)
bins = dv.Domain.integers(0, {{top}}, column="visits", overflow=True)
"""
BENCH = "bench = dv.Workbench(session, bins)\nbench"
TALL = {"width": 1280, "height": 1700}

WATCH = """() => new Promise(watched => {
    const kernel = window.panel.sessionContext.session.kernel;
    const watch = () => {
        if (window.statuses || kernel.status !== "idle") return;
        window.statuses = [];
        watched();
    };
    kernel.statusChanged.connect((_, status) => (window.statuses ? window.statuses.push(status) : watch()));
    watch();
})"""


def test_what_one_kernel_does_shows_in_the_other(lab: Lab, browser: Browser) -> None:
    for name in ("one", "two"):
        lab.write(f"team/{name}.ipynb", SESSION.format(top=40), BENCH)
    with (
        Notebook.open(lab, browser, "team/one.ipynb", viewport=TALL) as one,
        Notebook.open(lab, browser, "team/two.ipynb", viewport=TALL) as two,
    ):
        one.run_all()
        expect(one.region("Budget")).to_contain_text("New ledger started: nothing spent so far.")
        two.run_all()
        budget = two.region("Budget")
        expect(budget).to_contain_text("left 2 of 2")
        expect(budget).not_to_contain_text("New ledger started")

        # A release by hand in the first: the second shows it with nobody touching it, and its kernel stays idle.
        two.save()
        two.until(lambda: any(b'"ask":"advice"' in frame for frame in two.traffic))  # once its plan has stayed a moment
        two.ask("print()")  # a kernel does one thing after the other: what the page has asked so far is answered
        sent = len(two.traffic)
        two.page.evaluate(WATCH)
        one.button("Release").filter(has_text="pay ε 0.2").click()
        expect(budget).to_contain_text("left 1.8 of 2")
        expect(two.region("Release")).to_contain_text("Already released as number 1")
        expect(one.region("Budget")).not_to_contain_text("New ledger started")

        def undisturbed() -> bool:
            """Now and then, sooner on a busy machine, the page says that somebody looks; nothing else is asked."""
            statuses: list[str] = two.page.evaluate("() => window.statuses")
            looks = sum(b'"ask":"status"' in frame for frame in two.traffic[sent:])
            spells = len(statuses) // 2
            return spells <= looks and statuses == ["busy", "idle"] * spells

        two.until(undisturbed)
        assert two.page.evaluate("() => window.panel.context.model.dirty") is False

        # A charge that is being drawn, and then its end.
        long = "dv.Domain.integers(0, 9_998, column='visits', overflow=True)"
        one.begin(f"running = session.release_async({long}, dv.Dense('1/10'))")
        one.end()
        expect(budget.get_by_role("cell", name=re.compile("pending · another kernel"))).to_be_visible()
        expect(budget).to_contain_text("pending 0.1")
        one.ask("running.cancel()")
        expect(budget.get_by_role("cell", name="cancelled · stays spent")).to_be_visible()
        expect(budget).not_to_contain_text("pending 0.1")

        # A raise.
        one.ask("session.raise_budget(dv.Budget(epsilon='3', delta='1e-6'))")
        expect(budget).to_contain_text("left 2.7 of 3")
        two.screenshot("followed")

        # A kernel that is gone: the meter says as of when.
        two.page.evaluate("async () => window.panel.sessionContext.session.kernel.shutdown()")
        expect(budget.get_by_text(re.compile(r"^as of \d\d:\d\d$"))).to_be_visible()
        two.screenshot("as-of")
        assert one.offsite == two.offsite == []


def test_a_second_view_asks_before_it_cancels_what_the_first_started(lab: Lab, browser: Browser) -> None:
    lab.write("views/views.ipynb", SESSION.format(top=9_998), BENCH, "other = dv.Workbench(session, bins)\nother")
    with Notebook.open(lab, browser, "views/views.ipynb", viewport={"width": 1280, "height": 3400}) as it:
        it.run_all()
        first, second = it.region("Release").nth(0), it.region("Release").nth(1)
        first.get_by_role("button", name="Release").filter(has_text="pay ε 0.2").click()
        ask = second.get_by_role("button", name="Cancel…")
        expect(ask).to_be_visible()
        expect(it.region("Budget").nth(1)).to_contain_text("pending 0.2")  # charged: the pane has its last words
        ask.click()
        expect(second).to_contain_text("Cancel the release that another view started? ε 0.2 stays spent.")
        expect(second.get_by_role("button", name="Keep it running")).to_be_focused()
        second.screenshot(path=SCREENSHOTS / "cancel-asks.png")
        second.get_by_role("button", name="Yes, cancel it").click()
        expect(first).to_contain_text("Cancelled. ε 0.2 is spent and no answer was shown.")
        expect(second.get_by_role("button", name="Cancel…")).to_have_count(0)
        assert it.ask("print(session.ledger.entries()[0].status)").strip() == "cancelled"
