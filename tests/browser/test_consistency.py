"""The consistency widgets in a real JupyterLab and in a report: by keyboard, by name, with and without a kernel."""

from __future__ import annotations

import re
from pathlib import Path

from playwright.sync_api import Browser, expect

import dpviz as dv
from tests.browser.lab import Lab, Notebook, calm, darken, holds

PLAYGROUND = ("import dpviz as dv\ndv.ConsistencyPlayground()",)
RANGE = (
    "import dpviz as dv, numpy as np\n"
    'minutes = dv.Domain.integers(0, 525_599, column="minute")\n'
    "dv.RangeExplorer(dv.PublicTable(minutes, np.arange(525_600) // 1000 % 7))"
)
SHUT_DOWN = "async () => window.panel.sessionContext.session.kernel.shutdown()"
SIDEWAYS = """() => [...document.querySelectorAll('.dpviz')].map(root => root.scrollWidth - root.clientWidth)"""
FITS = f"document.querySelector('.dpviz').clientWidth < 500 && ({SIDEWAYS})().join() === '0'"
"""The one widget of the page got narrow with its window, and nothing in it scrolls sideways."""


def test_figure_2_is_edited_by_keyboard_with_a_kernel_without_one_and_in_the_dark(lab: Lab, browser: Browser) -> None:
    lab.write("playground/playground.ipynb", *PLAYGROUND)
    with Notebook.open(lab, browser, "playground/playground.ipynb", viewport={"width": 1280, "height": 1300}) as it:
        it.run_all()
        playground = it.region("Consistency playground")
        expect(playground).to_contain_text("Noisy: 3 of 3 sums do not hold. Fitted: every sum holds exactly.")
        expect(playground).to_contain_text("made-up data · not a release")
        numbers = playground.get_by_role("region", name="Counts: true, noisy and fitted")
        expect(numbers.get_by_role("row").nth(1)).to_contain_text("14")

        noisy = numbers.get_by_label("count 4, noisy")
        noisy.fill("-1")
        noisy.press("Tab")
        expect(numbers.get_by_role("row").nth(1)).to_contain_text("96/7 ≈ 13.71")
        expect(playground.get_by_role("img", name=re.compile("^Noisy: 2 of 3 sums do not hold"))).to_be_visible()

        counts = playground.get_by_label("Counts", exact=True)
        counts.fill("4, 4, 4, 4, 60")
        counts.press("Enter")
        expect(numbers.get_by_role("row")).to_have_count(16)
        expect(playground).to_contain_text("padded to 8")
        counts.fill("4, many")
        counts.press("Enter")
        expect(playground.get_by_role("alert")).to_contain_text("got many")
        counts.press("Escape")
        expect(counts).to_have_value("4, 4, 4, 4, 60")

        it.slider("ε").focus()
        it.slider("ε").press("End")
        expect(it.slider("ε")).to_have_attribute("aria-valuetext", "10")
        playground.get_by_label("What is asked").select_option(label="sorted counts")
        expect(playground.get_by_role("heading", name="Sorted counts")).to_be_visible()
        it.screenshot("sorted")

        darken(it.page)
        expect(it.page.locator("body")).to_have_attribute("data-jp-theme-light", "false")
        it.page.evaluate(SHUT_DOWN)
        playground.get_by_role("button", name="New noise").click()
        expect(playground).to_contain_text("seed 2, so not private")
        playground.get_by_role("button", name="New noise").click()
        expect(playground).to_contain_text("seed 3, so not private")
        it.page.set_viewport_size({"width": 660, "height": 1200})
        expect(playground.get_by_role("heading", name="Sorted counts")).to_be_visible()
        holds(it.page, FITS)
        it.screenshot("dark and narrow")
        assert it.errors == it.offsite == []


def test_a_range_of_half_a_million_bins_is_brushed_by_mouse_keyboard_and_label(lab: Lab, browser: Browser) -> None:
    lab.write("range/range.ipynb", RANGE)
    with Notebook.open(lab, browser, "range/range.ipynb", viewport={"width": 1280, "height": 1500}) as it:
        it.run_all()
        explorer = it.region("How many rows in a range of minute?")
        expect(explorer.get_by_role("img", name=re.compile("^From 262,800 to 394,199: "))).to_be_visible()
        expect(explorer).to_contain_text("public data · not a release")

        first = explorer.get_by_role("slider", name="First bin")
        first.focus()
        first.press("ArrowRight")
        expect(first).to_have_attribute("aria-valuetext", "262801")
        expect(explorer.get_by_role("img", name=re.compile("^From 262,801 to 394,199: "))).to_be_visible()
        low, high = (explorer.get_by_role("textbox", name=name, exact=True) for name in ("From", "to"))
        low.fill("475500")
        high.fill("482377")
        high.press("Enter")
        expect(explorer).to_contain_text("6,878 bins")
        expect(explorer.get_by_role("img", name=re.compile("^The fitted answer uses .* noisy counts"))).to_be_visible()
        low.fill("noon")
        low.press("Enter")
        expect(explorer.get_by_role("alert")).to_contain_text("noon")

        chart = explorer.get_by_role("img", name=re.compile("^Rows in stretches of 2,048 bins"))
        expect(chart).to_be_visible()
        calm(it.page)  # the mouse goes where the chart was drawn last
        box = chart.bounding_box()
        assert box is not None
        it.page.mouse.move(box["x"] + 0.3 * box["width"], box["y"] + 60)
        it.page.mouse.down()
        it.page.mouse.move(box["x"] + 0.5 * box["width"], box["y"] + 60, steps=5)
        it.page.mouse.up()
        expect(explorer.get_by_role("img", name=re.compile("^From 1[34]"))).to_be_visible()
        explorer.get_by_role("button", name="Look closer").click()
        expect(explorer.get_by_role("img", name=re.compile("^Rows in stretches of 1,024 bins"))).to_be_visible()
        it.screenshot("range")

        it.page.evaluate(SHUT_DOWN)
        last = explorer.get_by_role("slider", name="Last bin")
        last.focus()
        last.press("End")
        expect(explorer).to_contain_text("No kernel: the brush rests on the positions that this file carries.")
        expect(last).to_have_attribute("aria-valuetext", "525599")
        it.page.set_viewport_size({"width": 660, "height": 1200})
        expect(explorer.get_by_role("heading", name="Error against length")).to_be_visible()
        holds(it.page, FITS)
        assert it.errors == it.offsite == []


def test_sorted_counts_follow_their_sliders_in_a_report_dark_and_narrow(browser: Browser, tmp_path: Path) -> None:
    path = dv.report([dv.IsotonicExplorer("half", n=50), dv.RangeExplorer("flat", branching=4)], tmp_path / "fits.html")
    context = browser.new_context(offline=True, color_scheme="dark", viewport={"width": 320, "height": 900})
    page = context.new_page()
    wrong: list[str] = []
    page.on("pageerror", lambda error: wrong.append(str(error)))
    page.on("console", lambda said: wrong.append(said.text) if said.type in ("error", "warning") else None)
    page.goto(path.as_uri())
    fits = page.get_by_role("region", name="Sorted counts, fitted", exact=True)
    before = fits.get_by_role("img", name=re.compile("counts are pooled into")).get_attribute("aria-label")
    slider = fits.get_by_role("slider", name="ε")
    slider.focus()
    slider.press("Home")
    expect(slider).to_have_attribute("aria-valuetext", "0.01")
    expect(fits.get_by_role("img", name=before or "", exact=True)).to_have_count(0)
    fits.get_by_role("button", name="New noise").click()
    expect(fits).to_contain_text("seed 2, so not private")
    expect(fits.get_by_role("region", name="Squared error")).to_contain_text("fitted (S̄)")

    ranges = page.get_by_role("region", name="How many records in a range of minute?", exact=True)
    first = ranges.get_by_role("slider", name="First bin")
    first.focus()
    first.press("ArrowLeft")
    expect(ranges).to_contain_text(re.compile(r"[\d,]+ bins"))
    first.evaluate("node => { node.value = '700'; node.dispatchEvent(new Event('input', { bubbles: true })); }")
    expect(ranges).to_contain_text("No kernel: the brush rests on the positions that this file carries.")
    holds(page, "document.documentElement.scrollWidth <= 320")
    assert wrong == []
    context.close()


def test_in_a_report_the_playground_fits_by_itself(browser: Browser, tmp_path: Path) -> None:
    path = dv.report([dv.ConsistencyPlayground(structure="sorted")], tmp_path / "playground.html")
    context = browser.new_context(offline=True, viewport={"width": 320, "height": 900})
    page = context.new_page()
    wrong: list[str] = []
    page.on("pageerror", lambda error: wrong.append(str(error)))
    page.on("console", lambda said: wrong.append(said.text) if said.type in ("error", "warning") else None)
    page.goto(path.as_uri())
    playground = page.get_by_role("region", name="Consistency playground", exact=True)
    expect(playground).to_contain_text("0 stands after 2, at ranks 2 and 3")
    noisy = playground.get_by_label("rank 4, noisy")
    noisy.fill("-8")
    noisy.press("Enter")
    expect(playground).to_contain_text("−8 stands after 0, at ranks 3 and 4")
    expect(playground.get_by_role("row").nth(4)).to_contain_text("−1.25")
    for _ in range(9):  # one more than the seeds that the file carries, and the printed noise
        playground.get_by_role("button", name="New noise").click()
    expect(playground).to_contain_text("seed 1, so not private")
    holds(page, "document.documentElement.scrollWidth <= 320")
    assert wrong == []
    context.close()
