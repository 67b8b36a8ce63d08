"""The top-k and the composition explorer in a real JupyterLab: by keyboard, by name, with and without a kernel."""

from __future__ import annotations

import re
from pathlib import Path

from playwright.sync_api import Browser, Locator, expect

import dpviz as dv
from tests.browser.lab import Lab, Notebook, darken, holds
from tests.browser.test_report import opened

PUBLIC = (
    "import dpviz as dv",
    'aircraft = dv.Unit("aircraft", max_bins=5)\n'
    'destination = dv.Domain.keys(column="destination")\n'
    "rankings = dv.teaching(dv.datasets.flights(), 1, aircraft).top(destination, rows=200)\n"
    "dv.TopKExplorer(rankings, aircraft)",
)
RELEASED = (
    "import dpviz as dv",
    'session = dv.Session(dv.datasets.flights(), dv.Unit("aircraft", max_bins=5), dv.Budget("4", "1e-5"), "f.ledger")\n'
    'listed = session.release(dv.Domain.keys(column="destination"), dv.TopK(k=5, kbar=60, epsilon="2", delta="1e-6"))\n'
    "dv.TopKExplorer(listed)",
)
COMPOSED = ('import dpviz as dv\ndv.CompositionExplorer(epsilon="0.1", delta="1e-6")',)

FORBIDDEN = "async () => window.panel.sessionContext.session.kernel.shutdown()"
SIDEWAYS = """() => [...document.querySelectorAll('.dpviz')].map(root => root.scrollWidth - root.clientWidth)"""


def moved(slider: Locator, key: str, says: str | re.Pattern[str]) -> None:
    slider.focus()
    slider.press(key)
    expect(slider).to_have_attribute("aria-valuetext", says)


def ground(element: Locator) -> tuple[int, ...]:
    """The colour behind an element, as numbers from 0 to 255."""
    colour: str = element.evaluate("node => getComputedStyle(node).backgroundColor")
    return tuple(int(float(part)) for part in re.findall(r"[\d.]+", colour)[:3])


def test_the_panels_follow_the_sliders_by_keyboard_and_the_method_of_the_list(lab: Lab, browser: Browser) -> None:
    lab.write("top/top.ipynb", *PUBLIC)
    with Notebook.open(lab, browser, "top/top.ipynb", viewport={"width": 1280, "height": 1800}) as it:
        it.run_all()
        explorer = it.region("Top 10 of an unknown list")
        anatomy = explorer.get_by_role("img", name=re.compile("^The threshold is"))
        expect(anatomy).to_be_visible()
        expect(explorer).to_contain_text("public data · not a release")
        expect(explorer).to_contain_text(
            "Do not choose k̄ by looking at private counts: that look would be a release nobody paid for."
        )
        for panel in ("Anatomy of the threshold", "Who gets on the list", "What k̄ buys", "How long, and what it costs"):
            expect(explorer.get_by_role("heading", name=panel)).to_be_visible()
        expect(explorer.get_by_role("region", name="Price of the list")).to_contain_text("0.438362")
        before = anatomy.get_attribute("aria-label")
        it.screenshot("public")

        moved(it.slider("ε per answer"), "ArrowRight", "0.07")
        expect(explorer.get_by_role("img", name=re.compile("^The threshold is"))).not_to_have_attribute(
            "aria-label", before or ""
        )
        moved(it.slider("Rows read, k̄"), "ArrowRight", "70")
        expect(explorer.get_by_role("img", name=re.compile("^Reading 70 rows puts the threshold"))).to_be_visible()
        moved(it.slider("Destinations per aircraft"), "End", "no limit")
        expect(explorer.get_by_role("img", name=re.compile("^Reading 70 rows puts the threshold"))).to_be_visible()
        moved(it.slider("Ask for k"), "Home", "1")
        expect(it.region("Top 1 of an unknown list")).to_be_visible()

        explorer = it.region("Top 1 of an unknown list")
        chosen = explorer.get_by_label("How the list is made")
        chosen.select_option(label="Laplace noise, with ⊥")
        expect(explorer).to_contain_text("Not available here: it needs a unit to touch no more bins than k̄ = 70.")
        chosen.select_option(label="all items known, no ⊥")
        expect(explorer).to_contain_text("item by item, by the exponential mechanism over a public list of all items")

        exact = explorer.get_by_label("ε per answer, exact")
        exact.fill("1/3")
        exact.press("Enter")
        expect(it.slider("ε per answer")).to_have_attribute("aria-valuetext", "1/3")
        expect(explorer.get_by_role("region", name="Price of the list")).to_contain_text("0.333334")
        exact.fill("much")
        exact.press("Enter")
        expect(explorer.get_by_role("alert")).to_contain_text("must be a finite number")

        explorer.get_by_text("Table", exact=True).click()
        expect(explorer.get_by_role("region", name="Who gets on the list").get_by_role("row").nth(1)).to_contain_text(
            re.compile(r"^1[A-Z]{3}1,\d{3}")
        )
        assert it.errors == it.offsite == []

        # Without its kernel the sheet still moves, one slider at a time; what was typed falls back to the grid.
        expect(it.page.locator(".dp-explorer[data-part]")).to_have_count(0)
        it.page.evaluate(FORBIDDEN)
        moved(it.slider("ε per answer"), "Home", "0.005")
        expect(explorer.get_by_role("img", name=re.compile("^The threshold is"))).to_be_visible()
        moved(it.slider("δ per question"), "End", "0.01")
        expect(explorer.get_by_role("alert")).to_contain_text("one slider moves at a time")
        assert it.offsite == []


def test_of_a_release_the_panels_stay_closed_and_nothing_of_its_counts_is_sent(lab: Lab, browser: Browser) -> None:
    lab.write("closed/closed.ipynb", *RELEASED)
    with Notebook.open(lab, browser, "closed/closed.ipynb", viewport={"width": 1280, "height": 1300}) as it:
        it.run_all()
        explorer = it.region("Top 5 of an unknown list")
        expect(explorer).to_contain_text("On private data this panel stays closed: it would show true counts.")
        expect(explorer).to_contain_text("paid ε 2, δ 0.000001")
        expect(explorer.get_by_role("listitem").first).not_to_be_empty()
        expect(explorer.get_by_role("heading", name="Who gets on the list")).to_be_hidden()
        expect(explorer.get_by_role("img")).to_have_count(1)
        expect(explorer).to_contain_text(re.compile(r"An item \d+ above it beats ⊥ half the time"))
        said = explorer.inner_text()
        moved(it.slider("Ask for k"), "End", "100")
        expect(it.region("Top 100 of an unknown list")).to_contain_text("What a list of up to 100 costs one aircraft")
        assert it.region("Top 100 of an unknown list").inner_text() != said
        it.screenshot("closed")
        sheet = it.ask(
            "import json; said = json.loads(_.sheet) if hasattr(_, 'sheet') else {}; print(said.get('tables'))"
        )
        assert sheet.strip() == "{}"
        assert it.errors == it.offsite == []


def test_the_rules_of_composition_follow_three_sliders(lab: Lab, browser: Browser) -> None:
    lab.write("rules/rules.ipynb", *COMPOSED)
    with Notebook.open(lab, browser, "rules/rules.ipynb", viewport={"width": 1280, "height": 1700}) as it:
        it.run_all()
        explorer = it.region("What k steps cost together")
        rules = explorer.get_by_role("region", name="Rules at this number of steps")
        expect(rules.get_by_role("row").nth(1)).to_have_text(re.compile("^range-bounded zCDP.*1.920962"))
        expect(rules.get_by_role("row")).to_have_count(7)
        moved(it.slider("Steps k"), "End", "1,000")
        expect(rules.get_by_role("row").nth(6)).to_contain_text("100")
        moved(it.slider("ε per step"), "End", "2")
        expect(rules.get_by_role("row").nth(6)).to_contain_text("2,000")
        moved(it.slider("δ′ for composing"), "Home", "10⁻¹²")
        expect(explorer).to_contain_text("1,000 steps of ε 2 at δ′ 0.000000000001")
        exact = explorer.get_by_label("Steps k, exact")
        exact.fill("77")
        exact.press("Enter")
        expect(explorer).to_contain_text("77 steps of ε 2")
        expect(explorer.get_by_role("img", name=re.compile("^At δ 0.000001 exact composition"))).to_have_count(2)
        it.screenshot("composed")
        assert it.errors == it.offsite == []


def test_in_a_report_the_sliders_move_without_kernel_and_network(browser: Browser, tmp_path: Path) -> None:
    path = dv.report([dv.TopKExplorer("step"), dv.CompositionExplorer()], tmp_path / "explorers.html")
    context = browser.new_context(offline=True, viewport={"width": 320, "height": 900})
    page = context.new_page()
    wrong: list[str] = []
    page.on("pageerror", lambda error: wrong.append(str(error)))
    page.on("console", lambda said: wrong.append(said.text) if said.type in ("error", "warning") else None)
    page.goto(path.as_uri())
    explorer = page.get_by_role("region", name="Top 10 of an unknown list", exact=True)
    before = explorer.get_by_role("img", name=re.compile("^The threshold is")).get_attribute("aria-label")
    moved(explorer.get_by_role("slider", name="ε per answer"), "ArrowRight", "0.07")
    expect(explorer.get_by_role("img", name=before or "", exact=True)).to_have_count(0)
    moved(page.get_by_role("slider", name="Ask for k"), "Home", "1")
    alone = page.get_by_role("region", name="Top 1 of an unknown list", exact=True)
    expect(alone.get_by_role("alert")).to_contain_text("No kernel: one slider moves at a time")
    rules = page.get_by_role("region", name="What k steps cost together", exact=True)
    moved(rules.get_by_role("slider", name="Steps k"), "End", "1,000")
    expect(rules.get_by_role("region", name="Rules at this number of steps")).to_contain_text("100")
    holds(page, "document.documentElement.scrollWidth <= 320")
    assert wrong == []
    context.close()


def test_in_the_dark_and_in_a_narrow_window_the_words_are_the_same(lab: Lab, browser: Browser) -> None:
    cells = ('import dpviz as dv\ndv.TopKExplorer("step", k=3, kbar=10)', "dv.CompositionExplorer()")
    lab.write("narrow/narrow.ipynb", *cells)
    with Notebook.open(lab, browser, "narrow/narrow.ipynb", viewport={"width": 1000, "height": 1200}) as it:
        it.run_all()
        explorer = it.region("Top 3 of an unknown list")
        expect(explorer.get_by_role("img", name=re.compile("^The threshold is"))).to_be_visible()
        words = explorer.get_by_role("heading").all_inner_texts()
        expect(it.page.locator("body")).to_have_attribute("data-jp-theme-light", "true")
        it.until(lambda: sum(ground(explorer)) > 3 * 200)
        darken(it.page)
        expect(it.page.locator("body")).to_have_attribute("data-jp-theme-light", "false")
        it.until(lambda: sum(ground(explorer)) < 3 * 100)
        holds(it.page, f"({SIDEWAYS})().join() === '0,0'")
        assert explorer.get_by_role("heading").all_inner_texts() == words
        it.screenshot("dark")
        it.page.set_viewport_size({"width": 660, "height": 1200})
        expect(explorer.get_by_role("img", name=re.compile("^The threshold is"))).to_be_visible()
        it.until(lambda: explorer.bounding_box()["width"] < 320)  # type: ignore[index]
        holds(it.page, f"({SIDEWAYS})().join() === '0,0'")
        assert explorer.get_by_role("heading").all_inner_texts() == words
        it.screenshot("narrow")
        assert it.errors == it.offsite == []


def test_hypothetical_lists_play_pause_and_stand_side_by_side_where_nothing_moves(
    browser: Browser, tmp_path: Path
) -> None:
    path = dv.report([dv.TopKExplorer("step", k=5, kbar=50)], tmp_path / "lists.html")
    with opened(browser, path, reduced_motion="no-preference") as page:
        figure = page.locator(".dp-hypothetical")
        expect(figure).to_contain_text("made-up truth, new noise each time")
        expect(figure).to_contain_text(re.compile(r"The first two swapped in \d+ of 40 draws"))
        expect(figure).to_contain_text(re.compile(r"draw ([3-9]|[1-3]\d|40) of 40"))  # it moves by itself
        figure.get_by_role("button", name="Pause").press("Enter")
        expect(figure.get_by_role("button", name="Play")).to_be_focused()
        expect(figure.locator(".dp-outcomes")).to_be_hidden()
        page.emulate_media(media="print")
        expect(figure.locator(".dp-outcomes ol")).to_have_count(12)
        expect(figure.locator(".dp-outcomes")).to_be_visible()
        for control in page.locator(".dp-explorer").get_by_role("slider").or_(figure.get_by_role("button")).all():
            expect(control).to_be_hidden()
        expect(page.get_by_label("Ask for k, exact")).to_have_value("5")
    with opened(browser, path, reduced_motion="reduce", viewport={"width": 320, "height": 800}) as page:
        figure = page.locator(".dp-hypothetical")
        expect(figure.locator(".dp-outcomes")).to_be_visible()
        expect(figure.get_by_role("button")).to_be_hidden()
        holds(page, "document.documentElement.scrollWidth <= 320")
