"""The explorers of sparse releases in a real JupyterLab and in reports: pointer, keyboard, names, dark, narrow."""

from __future__ import annotations

import re
from pathlib import Path

from playwright.sync_api import Browser, Page, expect

import dpviz as dv
from tests.browser.lab import Lab, Notebook, at_rest, darken

ANATOMY = ("import dpviz as dv\ndv.AlpAnatomy([5, 2, 7], columns=8, bits=3)",)
TRADEOFF = ("import dpviz as dv\nexplorer = dv.TradeoffExplorer()\nexplorer",)
SHUT_DOWN = "async () => window.panel.sessionContext.session.kernel.shutdown()"
SIDEWAYS = """() => [...document.querySelectorAll('.dpviz')].map(root => root.scrollWidth - root.clientWidth)"""
UNNAMED = """() => [...document.querySelectorAll('.dpviz :is(input, select, button)')].filter(one =>
    one.getClientRects().length > 0 && !one.labels?.length && !one.getAttribute('aria-label') && !one.textContent.trim()
).length"""
SMALL = """() => [...document.querySelectorAll('.dpviz svg.dp-chart text')].filter(one =>
    parseFloat(getComputedStyle(one).fontSize) < 11).length"""


def saved(browser: Browser, path: Path, scheme: str, width: int) -> tuple[Page, list[str]]:
    page = browser.new_context(
        offline=True,
        color_scheme=scheme,  # type: ignore[arg-type]
        viewport={"width": width, "height": 900},
    ).new_page()
    wrong: list[str] = []
    page.on("pageerror", lambda error: wrong.append(str(error)))
    page.on("console", lambda said: wrong.append(said.text) if said.type in ("error", "warning") else None)
    page.goto(path.as_uri())
    return page, wrong


def test_the_anatomy_is_walked_through_by_keyboard_with_a_kernel_and_without_one(lab: Lab, browser: Browser) -> None:
    lab.write("anatomy/anatomy.ipynb", *ANATOMY)
    with Notebook.open(lab, browser, "anatomy/anatomy.ipynb", viewport={"width": 1280, "height": 1300}) as it:
        it.run_all()
        anatomy = it.region("Anatomy of ALP")
        picture = anatomy.get_by_role("img").first
        expect(picture).to_have_accessible_name("apple holds 5: ones in columns 1 to 5, zeros beyond.")
        forward = anatomy.get_by_role("button", name="Next")
        forward.focus()
        forward.press("ArrowRight")
        expect(picture).to_have_accessible_name(re.compile("^In each column a public hash picks one of 3 bits"))
        forward.press("End")
        expect(anatomy.get_by_role("button", name="Estimate")).to_have_attribute("aria-current", "step")
        expect(picture).to_have_accessible_name(re.compile("apple holds 5, so the estimate is"))
        anatomy.get_by_label("Seed", exact=True).fill("123456")
        anatomy.get_by_label("Seed", exact=True).press("Enter")
        it.slider("Flip chance p").focus()
        it.slider("Flip chance p").press("Home")
        expect(it.slider("Flip chance p")).to_have_attribute("aria-valuetext", "0")
        anatomy.get_by_role("button", name="Flip").click()
        expect(picture).to_have_accessible_name(re.compile("flipped with chance 0, whoever wrote it: 0 were"))
        expect(anatomy.get_by_label("Seed", exact=True)).to_have_value("123456")
        it.screenshot("anatomy")

        darken(it.page)
        it.page.evaluate(SHUT_DOWN)
        it.slider("Flip chance p").press("End")
        anatomy.get_by_role("button", name="Draw again").click()
        expect(anatomy.get_by_label("Seed", exact=True)).not_to_have_value("123456")
        expect(picture).to_have_accessible_name(re.compile("flipped with chance"))
        anatomy.get_by_label("Columns, m").fill("16")
        anatomy.get_by_label("Columns, m").press("Enter")
        anatomy.get_by_text("Table", exact=True).click()
        expect(anatomy.get_by_role("region", name="The bits of apple").get_by_role("row")).to_have_count(17)
        assert it.page.evaluate(UNNAMED) == 0
        it.page.set_viewport_size({"width": 660, "height": 1200})
        expect(anatomy.get_by_role("heading", name="The table, one key's bits, and the climb")).to_be_visible()
        at_rest(it.page)
        assert it.page.evaluate(SIDEWAYS) == [0]
        it.screenshot("anatomy, dark and narrow")
        assert it.errors == it.offsite == []


def test_one_probe_drives_curves_frontier_and_table_by_pointer_and_keyboard(lab: Lab, browser: Browser) -> None:
    lab.write("tradeoff/tradeoff.ipynb", *TRADEOFF)
    with Notebook.open(lab, browser, "tradeoff/tradeoff.ipynb", viewport={"width": 1280, "height": 1500}) as it:
        it.run_all()
        explorer = it.region("What does space buy?")
        table = explorer.get_by_role("region", name="Errors, space and reads")
        curves = explorer.get_by_role("img", name=re.compile("^An entry of 30, expected error"))
        expect(curves).to_be_visible()
        expect(table.get_by_role("row")).to_have_count(10)
        expect(table.get_by_role("row").nth(7)).to_contain_text("all 10,001 elements")
        explorer.get_by_label("ALP is charged", exact=True).select_option("paper")
        expect(table.get_by_role("row").nth(1)).to_contain_text("314")

        at_rest(it.page)  # the mouse goes where the chart was drawn last
        box = curves.bounding_box()
        assert box is not None
        it.page.mouse.move(box["x"] + 0.3 * box["width"], box["y"] + 90)
        it.page.mouse.down()
        it.page.mouse.move(box["x"] + 40, box["y"] + 90, steps=4)
        it.page.mouse.up()
        expect(explorer.get_by_role("img", name=re.compile("^An entry of 0, expected error"))).to_be_visible()
        expect(explorer.get_by_role("img", name=re.compile("^Best for their space at x = 0: "))).to_be_visible()
        probe = explorer.get_by_role("slider", name="True value x of an entry")
        probe.focus()
        probe.press("End")
        expect(probe).to_have_attribute("aria-valuetext", "135")

        explorer.get_by_role("radio", name="95 in 100, all 1,000 look-ups").check()
        expect(explorer.get_by_role("img", name=re.compile("^An entry of 135, error that holds"))).to_be_visible()
        explorer.get_by_label("Threshold", exact=True).first.select_option("approximate")
        expect(explorer).to_contain_text("16 for Threshold, 30 before another method, 15 for Stability.")
        alpha = explorer.get_by_role("textbox", name="Flip setting α, exact")
        alpha.fill("5.5")
        alpha.press("Enter")
        expect(explorer).to_contain_text(re.compile(r"each flipped with chance 0\.1333"))
        alpha.fill("11")
        alpha.press("Enter")
        expect(explorer.get_by_role("alert")).to_contain_text("alpha must be from 0.5 to 10")
        it.screenshot("trade-off")

        # What was refused cut short what was worked out of the sheet: the page goes on without a kernel once it has it.
        it.await_answer("print(explorer._exploring._part is None)", "True")
        it.ask('explorer.answer({"v": 1, "id": "last", "ask": "status"})')  # after all that waits to be sent
        darken(it.page)
        it.page.evaluate(SHUT_DOWN)
        it.slider("Room per entry, s/k").focus()
        it.slider("Room per entry, s/k").press("Home")
        expect(it.slider("Room per entry, s/k")).to_have_attribute("aria-valuetext", "3")
        explorer.get_by_role("checkbox", name="Dense").uncheck()
        assert it.page.evaluate(UNNAMED) == 0
        it.page.set_viewport_size({"width": 660, "height": 1200})
        expect(explorer.get_by_role("heading", name="How much space does that take?")).to_be_visible()
        at_rest(it.page)
        assert it.page.evaluate(SIDEWAYS) == [0]
        it.screenshot("trade-off, dark and narrow")
        assert it.errors == it.offsite == []


def test_in_a_report_both_work_without_a_kernel_dark_and_on_320_pixels(browser: Browser, tmp_path: Path) -> None:
    path = dv.report([dv.AlpAnatomy(), dv.TradeoffExplorer()], tmp_path / "sparse.html")
    page, wrong = saved(browser, path, "dark", 320)
    anatomy = page.get_by_role("region", name="Anatomy of ALP", exact=True)
    for _ in range(6):
        anatomy.get_by_role("button", name="Next").click()
    expect(anatomy).to_contain_text("The highest places are 3 and 5; their mean, 4, is the estimate.")
    for _ in range(9):  # one more than the seeds that the file carries, and the worked figure
        anatomy.get_by_role("button", name="Draw again").click()
    expect(anatomy.get_by_label("Seed", exact=True)).to_have_value("1")
    explorer = page.get_by_role("region", name="What does space buy?", exact=True)
    epsilon = explorer.get_by_role("slider", name="Privacy loss ε")
    epsilon.focus()
    epsilon.press("End")
    expect(epsilon).to_have_attribute("aria-valuetext", "10")
    expect(explorer).to_contain_text("at the same ε = 10")
    split = explorer.get_by_role("slider", name="Split ε₂/ε₁")
    split.focus()
    split.press("End")
    expect(explorer).to_contain_text("No kernel: one slider moves at a time")
    expect(epsilon).to_have_attribute("aria-valuetext", "1")
    at_rest(page)
    assert page.evaluate("() => document.documentElement.scrollWidth") <= 320
    assert page.evaluate(SMALL) == 0 and page.evaluate(UNNAMED) == 0
    assert wrong == []
    page.context.close()


def test_a_redraw_names_no_label_twice_and_lets_none_touch_another(browser: Browser, tmp_path: Path) -> None:
    page, wrong = saved(browser, dv.report([dv.TradeoffExplorer()], tmp_path / "tradeoff.html"), "light", 1200)
    explorer = page.get_by_role("region", name="What does space buy?", exact=True)
    probe = explorer.get_by_role("slider", name="True value x of an entry")
    touching = """() => {
        const found = [];
        for (const chart of document.querySelectorAll('svg.dp-chart')) {
            const names = [...chart.querySelectorAll('text.dp-name')];
            if (new Set(names.map(one => one.textContent)).size < names.length) found.push('twice');
            const boxes = names.map(one => [one.textContent, one.getBoundingClientRect()]);
            for (const [a, one] of boxes) for (const [b, two] of boxes)
                if (a < b && one.left < two.right - 1 && two.left < one.right - 1 && one.top < two.bottom - 3
                    && two.top < one.bottom - 3) found.push(`${a} on ${b}`);
        }
        return found;
    }"""
    probe.focus()
    for key in ("Home", "ArrowRight", "PageUp", "PageUp", "PageUp", "End"):
        probe.press(key)
        for way in ("expected error", "95 in 100, one entry"):
            explorer.get_by_role("radio", name=way).check()
            at_rest(page)
            assert page.evaluate(touching) == []
        probe.focus()
    assert wrong == []
    page.context.close()
