"""A question by months in a real JupyterLab: planned, paid for and read by its labels."""

from __future__ import annotations

import re

from playwright.sync_api import Browser, expect

from tests.browser.lab import Lab, Notebook, at_rest, darken

SETUP = (
    "import dpviz as dv, numpy as np, pandas as pd\n"
    "chance = np.random.default_rng(1)\n"
    "days = pd.Timestamp('2012-01-01') + pd.to_timedelta(chance.integers(0, 400, 9_000), unit='D')\n"
    "visits = pd.DataFrame({'admitted': days, 'ward': chance.integers(0, 3, 9_000)})\n"
    'session = dv.Session(visits, dv.Unit("row", noun="visit"), dv.Budget("9"), "admitted.ledger")\n'
    'months = dv.Domain.times("2012", "2013", by="month", column="admitted", overflow=True)\n'
    "dv.Workbench(session, months)"
)


def test_a_histogram_of_months_is_planned_paid_for_and_read(lab: Lab, browser: Browser) -> None:
    lab.write("times/times.ipynb", SETUP)
    with Notebook.open(lab, browser, "times/times.ipynb", viewport={"width": 1280, "height": 2200}) as it:
        it.run_all()
        view = it.page.locator(".dpviz")
        expect(view).to_contain_text("2012-01, 2012-02, …, 2012-12, 2013-01-01 or later")
        it.button("Release").filter(has_text="pay ε").click()
        expect(view.locator(".dp-result-title")).to_contain_text("released with")
        expect(view.get_by_role("img", name=re.compile("admitted"))).to_be_visible()
        at_rest(it.page)
        it.screenshot("light")
        assert it.ask("print(len(session.releases), session.releases[1].labels[1])").split() == ["1", "2012-02"]
        darken(it.page)
        it.screenshot("dark")
        assert it.errors == it.offsite == []
