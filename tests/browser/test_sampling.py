"""The explorers of private sampling in a real JupyterLab and in reports: keyboard, names, dark, narrow."""

from __future__ import annotations

import re
from pathlib import Path

from playwright.sync_api import Browser, expect

import dpviz as dv
from tests.browser.lab import Lab, Notebook, calm, darken, resize
from tests.browser.test_sparse import SHUT_DOWN, SIDEWAYS, SMALL, UNNAMED, saved

EXPLORERS = ("import dpviz as dv\ndv.SamplingExplorer()", "dv.ProductSamplerTrace(n=2000, columns=160)")


def test_learning_is_compared_with_drawing_by_keyboard_with_a_kernel_and_without_one(
    lab: Lab, browser: Browser
) -> None:
    lab.write("sampling/sampling.ipynb", *EXPLORERS)
    with Notebook.open(lab, browser, "sampling/sampling.ipynb", viewport={"width": 1280, "height": 1900}) as it:
        it.run_all()
        explorer = it.region("Learn it, or draw from it?")
        expect(explorer.get_by_role("img", name=re.compile("^At α = 0.05 drawing wins: 800 records"))).to_be_visible()
        alpha = explorer.get_by_role("slider", name="Wanted distance, α")
        alpha.focus()
        alpha.press("End")
        expect(explorer.get_by_role("img", name=re.compile("^At α = 0.3 learning wins"))).to_be_visible()
        explorer.get_by_label("Family of distributions").select_option("bounded")
        size = explorer.get_by_role("textbox", name="Labels k, or bits d, exact")
        size.fill("1234")
        size.press("Enter")
        expect(explorer.get_by_role("img", name=re.compile("^Distance at a true share of 0.4"))).to_be_visible()
        expect(explorer).to_contain_text("only the shape is known")
        size.fill("1")
        size.press("Enter")
        expect(explorer.get_by_role("alert")).to_contain_text("size")
        it.screenshot("learn or draw")

        explorer.get_by_role("radio", name="A bit without noise").check()
        share = explorer.get_by_role("slider", name="True share, p")
        share.focus()
        share.press("Home")
        expect(explorer).to_contain_text("A true share of 0 lies outside 1/3 to 2/3: the bit is off by 0.25")
        explorer.get_by_role("radio", name="Part of the records").check()
        explorer.get_by_role("checkbox", name="Keep each record by a coin of its own").check()
        expect(explorer).to_contain_text("the odds still move by 3, where the formula says 1.5")
        expect(explorer.get_by_role("img", name=re.compile("^With 30 records, a bin that has many"))).to_be_visible()

        explorer.get_by_role("radio", name="Noisy shares").check()
        expect(explorer.get_by_role("img", name=re.compile("^With this noise .* Divided, they are"))).to_be_visible()
        explorer.get_by_role("radio", name="divide what is above 0 by its sum").focus()
        it.page.keyboard.press("ArrowRight")
        expect(explorer.get_by_role("img", name=re.compile("Moved to the nearest chances"))).to_be_visible()
        seed = explorer.get_by_role("textbox", name="Seed, exact")
        before = explorer.get_by_role("img", name=re.compile("^With this noise")).get_attribute("aria-label")
        seed.fill("77")
        seed.press("Enter")
        expect(explorer.get_by_role("img", name=re.compile("^With this noise"))).not_to_have_accessible_name(
            str(before)
        )
        it.screenshot("noisy shares")

        explorer.get_by_role("radio", name="Labels by bits").check()
        onward = explorer.get_by_role("button", name="Next")
        onward.focus()
        onward.press("ArrowRight")
        expect(explorer.get_by_role("img", name=re.compile("people were put aside by coins"))).to_be_visible()
        onward.press("End")
        expect(explorer.get_by_role("button", name="Label", exact=True)).to_be_focused()
        expect(explorer.get_by_role("img", name=re.compile("is drawn"))).to_be_visible()
        it.page.keyboard.press("Home")
        expect(explorer.get_by_role("button", name="People", exact=True)).to_be_focused()
        expect(explorer.get_by_role("img", name=re.compile("^[0-9,]+ people came"))).to_be_visible()
        it.screenshot("labels by bits")

        trace = it.region("How a record of many bits is drawn")
        forward = trace.get_by_role("button", name="Next")
        forward.focus()
        forward.press("ArrowRight")
        expect(trace.get_by_role("img", name=re.compile("^Round 1: 160 columns are measured"))).to_be_visible()
        forward.press("End")
        expect(trace.get_by_role("img", name=re.compile("^A record is drawn"))).to_be_visible()
        it.screenshot("a record of many bits")

        darken(it.page)
        it.page.evaluate(SHUT_DOWN)
        rho = trace.get_by_role("slider", name="Privacy loss ρ")
        rho.focus()
        rho.press("Home")
        expect(trace).to_contain_text("ρ 0.01")
        trace.get_by_text("Table", exact=True).click()
        expect(trace.get_by_role("region", name="Columns", exact=True).get_by_role("row")).to_have_count(161)
        assert it.page.evaluate(UNNAMED) == 0
        resize(it.page, 660, 1600)
        expect(trace.get_by_role("heading", name="Is it worth it?")).to_be_visible()
        assert it.page.evaluate(SIDEWAYS) == [0, 0]
        it.screenshot("sampling, dark and narrow")
        assert it.errors == it.offsite == []


def test_in_a_report_both_work_without_a_kernel_dark_and_on_320_pixels(browser: Browser, tmp_path: Path) -> None:
    path = dv.report([dv.SamplingExplorer(), dv.ProductSamplerTrace(n=1000, columns=80)], tmp_path / "sampling.html")
    page, wrong = saved(browser, path, "dark", 320)
    explorer = page.get_by_role("region", name="Learn it, or draw from it?", exact=True)
    for view, heading in (
        ("Learn or draw", "What m records cost"),
        ("A bit without noise", "How far off the bit is"),
        ("Part of the records", "A fixed or a Poisson number of records"),
        ("Noisy shares", "How far off each chance is"),
        ("Labels by bits", "How far off is each step?"),
    ):
        explorer.get_by_role("radio", name=view).check()
        expect(explorer.get_by_role("heading", name=heading)).to_be_visible()
        calm(page)
        assert page.evaluate("() => document.documentElement.scrollWidth") <= 320
    for name in ("Scatter", "Thin", "Label"):
        explorer.get_by_role("button", name=name, exact=True).click()
        expect(explorer.get_by_role("button", name=name, exact=True)).to_have_attribute("aria-current", "step")
    crowd = explorer.get_by_role("slider", name="People on average")
    crowd.focus()
    crowd.press("Home")
    expect(explorer).to_contain_text("With 400 people on average the label that is drawn is off by 0.262")
    explorer.get_by_text("Table", exact=True).click()
    labels = explorer.get_by_role("region", name="Labels drawn by bits")
    expect(labels.get_by_role("row")).to_have_count(8)
    explorer.get_by_role("radio", name="Noisy shares").check()
    epsilon = explorer.get_by_role("slider", name="Privacy loss ε")
    epsilon.focus()
    epsilon.press("Home")
    expect(explorer).to_contain_text(re.compile("with chance ≈ 0[.]3"))
    expect(explorer.get_by_role("region", name="Noisy shares and chances").get_by_role("row")).to_have_count(4)
    calm(page)
    assert page.evaluate("() => document.documentElement.scrollWidth") <= 320 and page.evaluate(SMALL) == 0
    explorer.get_by_role("radio", name="Part of the records").check()
    epsilon.focus()
    epsilon.press("End")
    expect(explorer).to_contain_text("A sampler of ε 3")
    expect(explorer.get_by_role("region", name="Part of the records")).to_be_visible()
    trace = page.get_by_role("region", name="How a record of many bits is drawn", exact=True)
    for _ in range(3):
        trace.get_by_role("button", name="Next").click()
    expect(trace).to_contain_text("A record is drawn")
    calm(page)
    assert page.evaluate("() => document.documentElement.scrollWidth") <= 320
    assert page.evaluate(SMALL) == 0 and page.evaluate(UNNAMED) == 0
    assert wrong == []
    page.context.close()
