"""A value for each minute of a year: in a notebook and in a report, drawn, listed, and told digit for digit."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import numpy as np
import pandas as pd
from playwright.sync_api import Browser, Locator, Page, expect

import dpviz as dv
from tests.browser.lab import Lab, Notebook
from tests.browser.test_report import opened
from tests.patience import until

MINUTES = 525_600


def ends(numbers: Locator, rows: int = MINUTES) -> tuple[str, str]:
    """The first and the last row of a table, of which only the rows in view exist."""
    numbers.evaluate("box => box.scrollTo(0, 0)")
    expect(numbers.locator("tr[aria-rowindex='2']")).to_be_visible()
    first = numbers.locator("tr[aria-rowindex='2']").inner_text()
    last = numbers.locator(f"tr[aria-rowindex='{rows + 1}']")
    texts: list[str] = []

    def reached() -> bool:
        """What is said of the release meanwhile draws the table anew, from its top: its row is read at once."""
        numbers.evaluate("box => box.scrollTo(0, box.scrollHeight)")
        texts[:] = last.all_inner_texts()
        return len(texts) == 1 and last.is_visible()

    until(reached)
    return " ".join(first.split()), " ".join(texts[0].split())


def saved(page: Page, result: Locator, name: str) -> tuple[str, bytes]:
    """The file that a button of the menu saves: its name and its bytes."""
    with page.expect_download() as download:
        result.get_by_role("button", name="Save", exact=True).click()
        result.get_by_role("button", name=name, exact=True).click()
    expect(result.get_by_text("The table is saved.")).to_be_visible()
    return download.value.suggested_filename, Path(download.value.path()).read_bytes()


def test_a_notebook_draws_half_a_million_bins_and_lists_them(lab: Lab, browser: Browser) -> None:
    lab.write(
        "minutes.ipynb",
        f"""
        import dpviz as dv, numpy as np, pandas as pd
        frame = pd.DataFrame({{"minute": np.random.default_rng(1).integers(0, {MINUTES}, 200_000)}})
        bins = dv.Domain.integers(0, {MINUTES - 1}, column="minute")
        session = dv.Session(frame, dv.Unit("row"), dv.Budget(epsilon=5), "minutes.ledger")
        dv.Workbench(session, bins, mechanism=dv.Dense(1))
        """.replace("\n        ", "\n"),
    )
    with Notebook.open(lab, browser, "minutes.ipynb", viewport={"width": 1280, "height": 2000}) as it:
        it.run_all()
        it.button("Release").filter(has_text="pay ε 1").click()
        result = it.page.locator(".dp-result")
        expect(result.locator(".dp-stage svg")).to_be_visible()
        it.numbers(result)
        first, last = ends(result.locator(".dp-table-box"))
        values = [int(value) for value in it.ask("v = session.releases[1].values; print(v[0], v[-1])").split()]
        for row, label, value in ((first, "0", values[0]), (last, f"{MINUTES - 1:,}", values[1])):
            assert row.startswith(f"{label} {value:,} ".replace("-", "−")), (row, values)
        sent = max(len(frame) for frame in it.traffic)
        assert 8 * MINUTES < sent < 8 * MINUTES + 100_000

        it.ask("session.releases[1].to_csv('minutes.csv')")
        written = (lab.folder / "minutes.csv").read_bytes()
        assert len(written) > 9_000_000
        assert saved(it.page, result, f"CSV, all {MINUTES:,} rows") == ("release-1.csv", written)
        it.page.evaluate("async () => window.panel.sessionContext.session.kernel.shutdown()")
        it.slider("Privacy loss ε").press("ArrowRight")
        expect(it.button("Release needs a kernel")).to_be_visible()
        here = f"CSV, {MINUTES:,} rows: values and intervals"  # what the page holds is all of it
        assert saved(it.page, result, here) == ("release-1.csv", written)
        assert it.errors == it.offsite == []


def test_a_report_draws_half_a_million_bins_and_lists_them(browser: Browser, tmp_path: Path) -> None:
    frame = pd.DataFrame({"minute": np.random.default_rng(1).integers(0, MINUTES, 200_000)})
    session = dv.Session(frame, dv.Unit("row"), dv.Budget(epsilon=5), tmp_path / "minutes.ledger")
    release = session.release(dv.Domain.integers(0, MINUTES - 1, column="minute"), dv.Dense(1))
    path = dv.report([release], tmp_path / "minutes.html", ledger=session)
    assert path.stat().st_size < 8_000_000
    with opened(browser, path) as page:
        expect(page.locator(".dp-result .dp-stage svg")).to_be_visible()
        expect(page.get_by_role("button", name="Copy CSV")).to_have_count(0)
        with page.expect_download() as download:
            page.get_by_role("button", name=f"Save CSV, {MINUTES:,} rows: values and intervals").click()
        assert download.value.suggested_filename == "release-1.csv"
        assert Path(download.value.path()).read_text() == release.to_csv()
        expect(page.locator(".dp-save-table")).to_contain_text("The table is saved.")
        first, last = ends(page.locator("details.dp-numbers .dp-table-box"))
        for row, label, value in ((first, "0", release.values[0]), (last, f"{MINUTES - 1:,}", release.values[-1])):
            assert row.startswith(f"{label} {value:,} ".replace("-", "−")), (row, value)


def test_a_report_saves_sorted_counts_whole_and_of_a_tree_what_it_says(browser: Browser, tmp_path: Path) -> None:
    bins, frame = dv.Domain.integers(0, 29_999, column="minute"), pd.DataFrame({"minute": np.arange(90_000) % 30_011})
    session = dv.Session(frame, dv.Unit("row"), dv.Budget(5), tmp_path / "fits.ledger")
    ranks, tree = session.release(bins, dv.Sorted(1)), session.release(bins, dv.Tree(1))
    path = dv.report([ranks, tree], tmp_path / "fits.html", ledger=session)

    def downloaded(page: Page, name: str) -> str:
        button = page.get_by_role("button", name=name, exact=True)
        with page.expect_download() as download:
            button.click()
        return Path(download.value.path()).read_text()

    with opened(browser, path) as page:
        numbers = page.locator("details.dp-numbers")
        expect(numbers).to_have_count(2)  # each release is drawn by a bundle of its own, which may come later
        numbers.evaluate_all("all => all.forEach(one => { one.open = true; })")
        assert downloaded(page, "Save CSV, 30,000 rows: fitted values and intervals") == ranks.to_csv()
        head, *lines = downloaded(page, "Save CSV, 30,000 rows: fitted values to a thousandth, no intervals").split(
            "\n"
        )
    assert head == f"# {tree.promise}" and lines[1] == "bin,value" and len(lines) == 30_000 + 3
    assert lines[0].endswith("exact ones and intervals: session.releases[2].to_csv()")
    off = Fraction(lines[0].split("at most ")[1].split(";")[0])
    assert off < Fraction(2, 1000)
    for row in (0, 17, 29_999):
        bin_, value = lines[2 + row].split(",")
        assert (bin_, abs(Fraction(value) - tree[row]) <= off) == (str(row), True)
