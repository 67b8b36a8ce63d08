"""A lesson in a real JupyterLab: drawn once and twenty times beside the truth, and every word of the page."""

from __future__ import annotations

import json
from pathlib import Path

from playwright.sync_api import Browser, Locator, expect

import dpviz as dv
from tests.browser.axe import violations
from tests.browser.lab import SCREENSHOTS, Lab, Notebook, at_rest, darken
from tests.browser.test_no_kernel import SAVED, SHUT_DOWN
from tests.browser.test_records import picture
from tests.browser.test_report import opened
from tests.browser.test_sparse import SIDEWAYS, UNNAMED
from tests.lesson_words import PRIVATE

TALL = {"width": 1280, "height": 2600}
NARROW = {"width": 660, "height": 3400}  # the notebook's own margins leave it some 320
LESSON = """
import dpviz as dv
visits = dv.datasets.doctor_visits()
person_year = dv.Unit("row", noun="person-year")
bins = dv.Domain.integers(0, 40, column="visits", overflow=True)
lesson = dv.teaching(visits, seed=7, unit=person_year, dataset="doctor visits")
dv.Workbench(lesson, bins, mechanism=dv.Dense("1/2"))
"""
FRAME = (
    "drawn = dv.teaching(visits, seed=7, unit=person_year).draw(bins, dv.Dense('1/2'), times={times})\n"
    "frame = drawn.misses({beta!r}, bin={bin})\n"
    "print(frame.to_json(orient='values'))"
)
ON_SHOW = """roots => roots.flatMap(root => [root, ...root.querySelectorAll('*')])
    .filter(node => node.closest('[hidden]') === null)
    .flatMap(node => [
        ...[...node.childNodes].filter(child => child.nodeType === Node.TEXT_NODE).map(child => child.textContent),
        ...['aria-label', 'title', 'aria-valuetext', 'placeholder', 'alt'].map(name => node.getAttribute(name) ?? ''),
    ])"""
"""Every text that is on show, read aloud, or told on hovering."""


def unfit(it: Notebook) -> list[str]:
    """The texts of the lesson's page that speak of releases and prices."""
    said = it.page.locator(".jp-OutputArea .dpviz").evaluate_all(ON_SHOW)
    assert len(said) > 100, "there is something to read"
    return [text for text in said if PRIVATE.search(text)]


def lesson(it: Notebook) -> tuple[Locator, Locator]:
    """Where one draws, and where the draws are held against the truth."""
    return it.region("Not private · teaching, seed 7"), it.region("Noise beside the truth")


def table(section: Locator) -> list[list[str]]:
    """The misses of every draw, as the page lists them."""
    listed = section.locator("details", has_text="Misses of every draw")
    if listed.get_attribute("open") is None:
        listed.locator("summary").click()
    rows = listed.locator("tbody tr")
    expect(rows.first).to_be_visible()  # a folded table is filled after it was opened
    return [row.split("\t") for row in rows.all_inner_texts()]


def test_draw_20_counts_exactly_what_the_frame_says(lab: Lab, browser: Browser) -> None:
    lab.write("lesson/lesson.ipynb", LESSON)
    with Notebook.open(lab, browser, "lesson/lesson.ipynb", viewport=TALL) as it:
        it.run_all()
        draw, truth = lesson(it)
        expect(draw).to_contain_text("no ledger")
        expect(truth).to_have_count(0)
        assert unfit(it) == []
        it.screenshot("planned")
        draw.get_by_role("button", name="Draw 20", exact=True).click()
        expect(truth.get_by_label("Draw", exact=True)).to_have_value("20")
        for level, beta in (("90 in 100", "0.1"), ("99 in 100", "0.01"), ("95 in 100", "0.05")):
            truth.get_by_label("How often the intervals hold").select_option(label=level)
            expect(truth).to_contain_text(f"for all at once (thin), {level}")
            truth.get_by_label("Bin picked before looking").select_option(label="16")
            frame = json.loads(it.ask(FRAME.format(times=20, beta=beta, bin=16)))
            rows = [[*map(int, row[:4]), row[4] == "missed"] for row in table(truth)]
            assert rows == frame
            last, every = frame[-1], sum(row[3] == 0 for row in frame)
            alone = sum(not row[4] for row in frame)
            expect(truth).to_contain_text(f"any one bin: {42 - last[2]} of 42 held in this draw")
            expect(truth).to_contain_text(f"all at once: {every} of 20 draws")
            expect(truth).to_contain_text(f"held in {alone} of 20 draws")
            marks = truth.locator(".dp-twenty figure").evaluate_all(
                "panels => panels.map(panel => panel.querySelectorAll('.dp-miss').length)"
            )
            assert marks == [row[2] for row in frame]
        assert sum(row[2] for row in frame) > 0, "there is something to count"
        assert unfit(it) == []
        assert it.page.evaluate(UNNAMED) == 0
        assert it.errors == [] and it.offsite == []
        it.screenshot("drawn")

        # The last draw by itself, with its table: no word of a release there either.
        it.button("The last draw by itself").click()
        drawn = it.region("Not private · teaching, seed 7: Visits per person-year, drawn with ε = 0.5")
        assert len(it.numbers(drawn)) == 42 and unfit(it) == []
        it.button("The last draw by itself").click()

        it.page.set_viewport_size(NARROW)
        at_rest(it.page)
        expect(truth.get_by_label("Draw", exact=True)).to_be_visible()
        assert it.page.evaluate(SIDEWAYS) == [0]
        picture(it, it.page.locator(".jp-OutputArea .dpviz"), "narrow")
        it.page.set_viewport_size(TALL)
        at_rest(it.page)
        light = violations(it.page)
        darken(it.page)
        it.screenshot("dark")
        assert (light, violations(it.page)) == ([], [])


LARGE = """
import dpviz as dv, pandas as pd
minutes = pd.DataFrame({"minute": [minute for minute in range(1_240) for _ in range(minute % 7)]})
bins = dv.Domain.integers(0, 1_239, column="minute")
lesson = dv.teaching(minutes, seed=7, dataset="made-up minutes")
dv.Workbench(lesson, bins, mechanism=dv.Dense("1/2"))
"""
LARGE_FRAME = """
drawn = dv.teaching(minutes, seed=7).draw(bins, dv.Dense("1/2"), times=21)
print(drawn.misses().to_json(orient="values"))
"""


def test_many_bins_are_drawn_by_keyboard_without_motion_and_stay_where_the_kernel_is_gone(
    lab: Lab, browser: Browser
) -> None:
    lab.write("lesson/large.ipynb", LARGE)
    with Notebook.open(lab, browser, "lesson/large.ipynb", viewport=TALL, reduced_motion="reduce") as it:
        it.run_all()
        draw, truth = lesson(it)
        once, many = (draw.get_by_role("button", name=name, exact=True) for name in ("Draw once", "Draw 20"))
        expect(once).not_to_have_attribute("aria-disabled", "true")  # a key does not wait for the plan
        once.focus()
        once.press("Enter")
        expect(truth).to_contain_text("all at once: ")
        expect(once).to_be_focused()
        once.press("Tab")
        expect(many).to_be_focused()
        expect(many).not_to_have_attribute("aria-disabled", "true")  # the draw is shown before its reply has come
        many.press(" ")
        slider = truth.get_by_label("Draw", exact=True)
        expect(slider).to_have_value("21")
        expect(truth.get_by_role("button", name="Play, two a second")).to_be_hidden()
        expect(truth.locator(".dp-twenty figure")).to_have_count(20)
        frame = json.loads(it.ask(LARGE_FRAME))
        assert [[int(cell.replace(",", "")) for cell in row] for row in table(truth)] == frame
        slider.press("ArrowLeft")
        expect(truth).to_contain_text(f"any one bin: {1_240 - frame[19][2]:,} of 1,240 held in this draw")
        expect(truth).to_contain_text(f"all at once: {sum(row[3] == 0 for row in frame[:20])} of 20 draws so far")
        assert unfit(it) == [] and it.page.evaluate(UNNAMED) == 0
        it.screenshot("drawn")

        it.save_with_state()
        it.save()
        it.page.evaluate(SHUT_DOWN)
        expect(draw).to_contain_text("Drawing needs a kernel. Restart it and run the cell that begins the lesson.")
        expect(once).to_be_disabled()
        expect(truth).to_contain_text(f"any one bin: {1_240 - frame[19][2]:,} of 1,240 held in this draw")
        assert unfit(it) == []


def test_a_lesson_that_was_saved_shows_its_draws_without_a_kernel_and_says_what_it_cannot_do(
    lab: Lab, browser: Browser
) -> None:
    lab.write("lesson/saved.ipynb", LESSON)
    with Notebook.open(lab, browser, "lesson/saved.ipynb", viewport=TALL) as it:
        it.run_all()
        draw, truth = lesson(it)
        draw.get_by_role("button", name="Draw 20", exact=True).click()
        expect(truth.get_by_label("Draw", exact=True)).to_have_value("20")
        frame = json.loads(it.ask(FRAME.format(times=20, beta="0.05", bin=3)))
        it.save_with_state()
        state = json.loads(it.save())["metadata"]["widgets"][SAVED]["state"]
        assert [model for model in state.values() if model["state"].get("component") == "workbench"]
    with Notebook.open(lab, browser, "lesson/saved.ipynb", viewport=TALL) as it:
        draw, truth = lesson(it)
        expect(truth.get_by_label("Draw", exact=True)).to_have_value("20")
        it.page.evaluate(SHUT_DOWN)
        expect(draw).to_contain_text("Drawing needs a kernel. Restart it and run the cell that begins the lesson.")
        for name in ("Draw once", "Draw 20"):
            expect(draw.get_by_role("button", name=name, exact=True)).to_be_disabled()
        assert [[int(cell) for cell in row[:4]] for row in table(truth)] == [row[:4] for row in frame]
        expect(truth).to_contain_text(f"any one bin: {42 - frame[-1][2]} of 42 held in this draw")
        slider = truth.get_by_label("Draw", exact=True)
        slider.press("Home")  # looking at an earlier draw asks nobody
        expect(truth).to_contain_text(f"any one bin: {42 - frame[0][2]} of 42 held in this draw")
        assert unfit(it) == []
        assert it.page.evaluate(UNNAMED) == 0
        it.screenshot("without-kernel")
        assert it.offsite == []


def test_a_list_in_a_lesson_stands_beside_the_truth_and_the_count_starts_again(lab: Lab, browser: Browser) -> None:
    lab.write("lesson/list.ipynb", LESSON.replace('dv.Dense("1/2")', 'dv.TopK(3, 5, epsilon="1", delta="1e-6")'))
    with Notebook.open(lab, browser, "lesson/list.ipynb", viewport=TALL) as it:
        it.run_all()
        draw, _ = lesson(it)
        draw.get_by_role("button", name="Draw once", exact=True).click()
        truth = it.region("What is true")
        expect(truth).to_contain_text("Misses are counted where an answer has one count for each declared bin.")
        expect(truth.locator(".dp-truth")).to_have_count(1)
        expect(it.page.locator(".dp-result .dp-cell").first).to_be_visible()
        compare = it.page.locator(".dp-advice")
        if compare.get_attribute("open") is None:
            compare.locator("summary").click()
        expect(compare.locator(".dp-advised")).to_contain_text("noise of ε 1")  # one that takes no δ
        assert unfit(it) == []
        it.screenshot("drawn")


def test_a_report_of_a_lesson_speaks_of_no_release_and_no_price(browser: Browser, tmp_path: Path) -> None:
    visits = dv.datasets.doctor_visits()
    bins = dv.Domain.integers(0, 40, column="visits", overflow=True)
    teacher = dv.teaching(visits, 7, dv.Unit("row", noun="person-year"), dataset="doctor visits")
    drawn = [teacher.draw(bins, dv.Dense("1/2")), teacher.draw(bins, dv.TopK(3, 5, epsilon="1", delta="1e-6"))]
    path = dv.report(drawn, tmp_path / "lesson.html")
    with opened(browser, path) as page:
        expect(page.locator(".dp-report-root")).to_have_count(1)  # the program has drawn it, all at once
        for folded in page.locator("details").all():
            folded.evaluate("details => { details.open = true; }")
        at_rest(page)  # what is folded is filled after it was opened
        expect(page.get_by_role("main")).to_contain_text("2 draws")
        expect(page.get_by_role("main")).to_contain_text("Open the notebook to draw again.")
        said = page.locator("body").evaluate_all(ON_SHOW)
        assert len(said) > 300 and [text for text in said if PRIVATE.search(text)] == []
        assert PRIVATE.search(page.title()) is None
        page.screenshot(path=SCREENSHOTS / "lesson-report.png", full_page=True)
    with opened(browser, path, java_script_enabled=False) as page:
        said = page.locator("main").inner_text().splitlines()
        assert len(said) > 40 and [text for text in said if PRIVATE.search(text)] == []
