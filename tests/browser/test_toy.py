"""A kind of answer that dpviz never heard of, in a real Workbench and in a report that is opened from a disk."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

import dpviz as dv
from tests.browser.lab import ROOT, Lab, Notebook
from tests.browser.test_report import opened
from tests.toy import pairs


def test_a_workbench_plans_releases_and_draws_it(lab: Lab, browser: Browser, bundle: Path) -> None:
    lab.write(
        "toy.ipynb",
        f"""
        import sys
        sys.path.insert(0, {str(ROOT)!r})
        import dpviz as dv
        from pathlib import Path
        from tests.toy import pairs
        pairs.register(Path({str(bundle)!r}))
        session = dv.Session(pairs.FRAME, dv.Unit("row"), dv.Budget(epsilon=5), "toy.ledger")
        dv.Workbench(session, pairs.BINS, mechanism=pairs.Pairs(epsilon="1/10"))
        """.replace("\n        ", "\n"),
    )
    with Notebook.open(lab, browser, "toy.ipynb", viewport={"width": 1280, "height": 2000}) as it:
        it.run_all()
        expect(it.page.get_by_label("Any one pair", exact=True).first).to_be_visible()
        it.button("Release").filter(has_text="pay ε 0.1").click()
        picture = it.page.get_by_role("img", name=re.compile("^Means of pairs"))
        expect(picture).to_be_visible()
        expect(picture).to_contain_text("2 and 3")
        result = it.page.locator(".dp-result")
        expect(result).to_contain_text("3 means of neighbouring bins.")
        rows = it.numbers(result)
        assert [row.split(" ")[0] for row in rows] == ["0", "2", "4"] and "at least" in rows[0]
        kernel = it.ask("print(*session.releases[1].values)").split()
        assert len(kernel) == 3 and it.errors == it.offsite == []


@pytest.mark.usefixtures("known")
def test_a_report_draws_it_from_a_disk(browser: Browser, tmp_path: Path) -> None:
    session = dv.Session(pairs.FRAME, dv.Unit("row"), dv.Budget(epsilon=5), tmp_path / "toy.ledger")
    release = session.release(pairs.BINS, pairs.Pairs(epsilon="1/10"))
    with opened(browser, dv.report([release], tmp_path / "toy.html", ledger=session)) as page:
        picture = page.get_by_role("img", name=re.compile("^Means of pairs"))
        expect(picture).to_be_visible()
        expect(picture).to_contain_text("2 and 3")
        expect(page.locator("details.dp-numbers").get_by_role("row")).to_have_count(4)
