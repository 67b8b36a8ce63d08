"""A report as a reader opens it: from a disk, without a network, without a kernel; with JavaScript and without."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect

import dpviz as dv
from tests.browser.lab import holds
from tests.reports import pages

HOSTILE = "</script><img src=x onerror=alert(1)>"
PERSON_YEAR = dv.Unit("row", noun="person-year")
COPIED = """async kept => {
    const end = performance.now() + 180000;
    while (await navigator.clipboard.readText() !== kept) {
        if (performance.now() > end) throw new Error('another text is on the clipboard');
        await new Promise(next => setTimeout(next, 50));
    }
}"""
"""Until this text is on the clipboard. To `wait_for_function` the promise itself would be true."""


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A report on the doctor visits, with a hostile label, a hostile title and a teaching draw."""
    folder = tmp_path_factory.mktemp("report")
    visits = dv.datasets.doctor_visits()
    session = dv.Session(visits, PERSON_YEAR, dv.Budget(epsilon="2"), folder / "visits.ledger")
    bins = dv.Domain.integers(0, 40, column="visits", overflow=True)
    health = dv.Domain.categories(["excellent", "good", HOSTILE], column="self_rated_health")
    releases = [session.release(bins, dv.Dense("1/10")), session.release(health, dv.Dense("1/2"))]
    drawn = dv.teaching(visits, 7, PERSON_YEAR).draw(bins, dv.Dense("1"))
    return dv.report([*releases, drawn], folder / "visits.html", title=f"Visits {HOSTILE}", ledger=session)


@contextmanager
def opened(browser: Browser, path: Path, **window: Any) -> Iterator[Page]:
    """The file in a window without a network; whatever goes wrong, or reaches out, fails the test."""
    context = browser.new_context(offline=True, **({"viewport": {"width": 1000, "height": 900}} | window))
    page = context.new_page()
    wrong: list[str] = []
    page.on("pageerror", lambda error: wrong.append(str(error)))
    page.on("console", lambda said: wrong.append(said.text) if said.type in ("error", "warning") else None)
    page.on("dialog", lambda dialog: wrong.append(f"dialog: {dialog.message}"))
    page.on(
        "request", lambda request: wrong.append(request.url) if not request.url.startswith(("file:", "blob:")) else None
    )
    page.goto(path.as_uri())
    yield page
    assert wrong == []
    assert page.locator("img").count() == 0
    context.close()


def test_it_opens_from_a_disk_and_says_what_was_paid(browser: Browser, path: Path) -> None:
    with opened(browser, path) as page:
        expect(page.get_by_role("heading", level=1)).to_have_text(f"Visits {HOSTILE}")
        expect(page.get_by_role("main")).to_contain_text("ε 0.6")
        expect(page.get_by_role("main")).to_contain_text("one person-year, add or remove")
        expect(page.get_by_role("main")).to_contain_text("verified to entry 2")
        expect(page.get_by_role("heading", name="Visits per person-year, released with ε = 0.1")).to_be_visible()
        expect(page.get_by_role("heading", name="Not private · teaching, seed 7")).to_be_visible()
        expect(page.get_by_role("heading", name="What this does not protect")).to_be_visible()


def test_its_sliders_move_by_keyboard_and_release_says_that_it_needs_a_kernel(browser: Browser, path: Path) -> None:
    with opened(browser, path) as page:
        plan = page.get_by_role("region", name="Try another ε: visits")
        slider = plan.get_by_role("slider")
        expect(slider).to_have_attribute("aria-valuetext", "ε 0.1")
        expect(plan.get_by_label("Any one bin", exact=True)).to_have_value("30")
        slider.focus()
        for _ in range(3):
            page.keyboard.press("ArrowRight")
        expect(slider).to_have_attribute("aria-valuetext", "ε 0.2")
        expect(plan.get_by_label("Any one bin", exact=True)).to_have_value("15")
        expect(plan.get_by_label("All 42 at once", exact=True)).to_have_value("34")
        pay = plan.get_by_role("button", name="Release needs a kernel")
        expect(pay).to_be_disabled()


def test_a_hostile_label_is_shown_as_text(browser: Browser, path: Path) -> None:
    with opened(browser, path) as page:
        page.locator("details.dp-numbers").nth(1).evaluate("details => { details.open = true; }")
        expect(
            page.get_by_role("rowheader", name=HOSTILE).or_(page.get_by_role("cell", name=HOSTILE)).first
        ).to_be_visible()


def test_a_narrow_window_does_not_scroll_sideways(browser: Browser, path: Path) -> None:
    with opened(browser, path, viewport={"width": 320, "height": 800}) as page:
        expect(page.get_by_role("slider").first).to_be_visible()
        holds(page, "document.documentElement.scrollWidth <= 320")


def test_without_javascript_it_shows_its_tables(browser: Browser, path: Path) -> None:
    with opened(browser, path, java_script_enabled=False) as page:
        expect(page.get_by_role("heading", level=1)).to_have_text(f"Visits {HOSTILE}")
        expect(page.get_by_role("rowheader", name="over 40").first).to_be_visible()
        expect(page.get_by_role("rowheader", name=HOSTILE)).to_be_visible()
        said = page.locator("main").inner_text()
        assert "0.1-differential privacy for adding or removing one person-year." in said
        assert "What this does not protect" in said


def test_csv_and_python_are_there_to_copy_and_to_save(browser: Browser, path: Path) -> None:
    with opened(browser, path, accept_downloads=True) as page:
        page.context.grant_permissions(["clipboard-read", "clipboard-write"])
        numbers = page.locator("details").filter(has=page.get_by_text("Numbers: Visits")).first
        held = pages.data(path)["releases"][0]
        for name, kept, ending in (("CSV", held["csv"], "csv"), ("Python", held["script"], "py")):
            with page.expect_download() as download:
                numbers.get_by_role("button", name=f"Save {name}").click()
            assert download.value.suggested_filename == f"release-1.{ending}"
            assert Path(download.value.path()).read_text() == kept
            numbers.get_by_role("button", name=f"Copy {name}").click()
            page.evaluate(COPIED, kept)
        expect(numbers.locator("pre")).to_contain_text("release = session.releases[1]")


# ---------------------------------------------------------------- on paper


SEEN_ON_PAPER = """() => addEventListener("beforeprint", () => {
    const shown = (element) => element.checkVisibility();
    window.onPaper = {
        closed: document.querySelectorAll("details:not([open], .dp-quantiles)").length,
        rows: [...document.querySelectorAll(".dp-numbers tbody")].map((body) => body.rows.length),
        widths: [...document.querySelectorAll(".dp-result svg.dp-chart")].filter(shown).map((svg) => svg.clientWidth),
    };
})"""


@pytest.fixture(scope="module")
def long(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A report with a table of 301 rows and one of two."""
    folder = tmp_path_factory.mktemp("long")
    session = dv.Session(dv.datasets.doctor_visits(), PERSON_YEAR, dv.Budget(2), folder / "visits.ledger")
    limited = dv.Domain.categories(["0", "1"], column="physical_limitation")
    releases = [
        session.release(dv.Domain.integers(0, 300, column="visits"), dv.Dense("1/2")),
        session.release(limited, dv.Dense("1/2")),
    ]
    return dv.report(releases, folder / "long.html")


@pytest.mark.parametrize(("sheet", "wide"), [("A4", 680), ("Letter", 702)])
def test_printed_it_has_every_table_whole_and_every_chart_as_wide_as_the_sheet(
    browser: Browser, long: Path, sheet: str, wide: int
) -> None:
    """Chromium prints it: what the page was like meanwhile, how many sheets came of it, and that it is as before."""
    with opened(browser, long) as page:
        expect(page.get_by_text("Numbers: Visits")).to_be_visible()
        before = page.evaluate("() => [...document.querySelectorAll('tbody')].map((body) => body.rows.length)")
        page.evaluate(SEEN_ON_PAPER)
        printed = page.pdf(format=sheet)
        seen = page.evaluate("() => window.onPaper")
        assert seen["closed"] == 0 and seen["rows"] == [301, 2]
        assert seen["widths"] and all(600 < width <= wide for width in seen["widths"])
        assert printed.startswith(b"%PDF-") and 9 <= len(re.findall(rb"/Type\s*/Page\b", printed)) <= 14
        expect(page.locator("details[open]")).to_have_count(1)
        after = page.evaluate("() => [...document.querySelectorAll('tbody')].map((body) => body.rows.length)")
        assert len(after) == len(before) and max(before + after) < 100


def test_the_ends_of_a_stretch_say_what_was_typed_wrong_at_their_field_once(browser: Browser, long: Path) -> None:
    """The other fields are held to this by `test_screens.py`."""
    with opened(browser, long) as page:
        result = page.locator(".dp-result").filter(has=page.get_by_label("From", exact=True)).first
        begin, end = (result.get_by_label(name, exact=True).first for name in ("From", "to"))
        seen = result.get_by_text("No bin is called")
        end.fill("999")
        end.press("Enter")
        expect(end).to_have_attribute("aria-invalid", "true")
        expect(end).to_have_accessible_description("No bin is called 999. Type the name of a bin, such as 0.")
        expect(begin).not_to_have_attribute("aria-invalid", "true")
        expect(seen).to_have_count(1)
        expect(result.get_by_role("alert").filter(visible=True)).to_have_count(1)
        end.fill("20")
        begin.fill("30")
        begin.press("Enter")
        for field in (begin, end):
            expect(field).to_have_attribute("aria-invalid", "true")
            expect(field).to_have_accessible_description("From comes after to. Name the earlier bin first.")
        begin.fill("10")
        begin.press("Enter")
        for field in (begin, end):
            expect(field).not_to_have_attribute("aria-invalid", "true")
            expect(field).to_have_accessible_description("")
        expect(result.get_by_role("slider", name="Walk the bins")).to_have_attribute("min", "10")
        expect(result.get_by_role("slider", name="Walk the bins")).to_have_attribute("max", "20")


STRIPS_ON_PAPER = """() => addEventListener("beforeprint", () => {
    window.onPaper = [...document.querySelectorAll(".dp-result svg.dp-chart")].map((svg) =>
        [svg.querySelectorAll(".dp-strip").length, svg.querySelectorAll(".dp-one").length, svg.clientWidth]);
})"""


def test_strips_that_a_reader_chose_stay_on_paper_and_the_switch_does_not(browser: Browser, path: Path) -> None:
    with opened(browser, path) as page:
        results = page.locator(".dp-result")
        first, second = results.nth(1), results.nth(0)
        first.get_by_role("radio", name="Strips").check()
        expect(first.locator("path.dp-strip, rect.dp-strip").first).to_be_attached()
        page.emulate_media(media="print")
        expect(first.locator("path.dp-strip, rect.dp-strip").first).to_be_visible()
        expect(first.locator(".dp-key")).to_contain_text("dark to pale")
        expect(second.locator(".dp-strip")).to_have_count(0)
        for switch in page.get_by_role("radio").all():
            expect(switch).to_be_hidden()
        page.emulate_media(media="screen")
        page.evaluate(STRIPS_ON_PAPER)
        page.pdf(format="A4")
        other, chosen = page.evaluate("() => window.onPaper")[:2]
        assert chosen[0] > 0 and chosen[1] == 0 and other[0] == 0 and other[1] > 0
        assert 600 < chosen[2] <= 680
        expect(first.get_by_role("radio", name="Strips")).to_be_checked()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_on_paper_what_only_a_hand_moves_is_gone_and_its_numbers_stand_in_tables(
    browser: Browser, path: Path, scheme: str
) -> None:
    with opened(browser, path, color_scheme=scheme) as page:
        expect(page.get_by_role("slider").first).to_be_visible()
        expect(page.get_by_role("heading", name="At another ε: visits")).to_be_hidden()
        page.emulate_media(media="print", color_scheme=scheme)  # type: ignore[arg-type]
        for role in ("button", "slider", "combobox", "textbox", "radio"):
            expect(page.get_by_role(role).filter(visible=True)).to_have_count(0)  # type: ignore[arg-type]
        said = page.locator("main").inner_text()
        assert "kernel" not in said and "Try another ε" not in said
        table = page.get_by_role("region", name="At another ε: visits", exact=True).last
        expect(table.get_by_role("row", name="0.1, as released ±30 ±67")).to_be_visible()
        expect(table.get_by_role("row", name="0.2 ±15 ±34")).to_be_visible()
        inks = page.evaluate(
            "() => ['.dp-paid', '.dp-report-head h1'].map((name) => getComputedStyle(document.querySelector(name)))"
            ".map((style) => [style.printColorAdjust, style.color, style.backgroundColor])"
        )
        assert inks[0] == ["exact", "rgb(255, 255, 255)", "rgb(27, 27, 27)"]
        dark = [int(part) for part in re.findall(r"\d+", inks[1][1])[:3]]
        assert max(dark) < 60
        room, needed = page.locator(".dp-numbers[open]").first.evaluate(
            """numbers => [
                parseFloat(getComputedStyle(numbers.querySelector(".dp-numbers-head")).paddingBottom),
                [...numbers.querySelectorAll("tr")].slice(0, 4).reduce((sum, row) => sum + row.offsetHeight, 0),
            ]"""
        )
        assert needed > 60 and room >= needed  # no sheet ends with the head of a table and no row of it
        for card in page.locator(".dp-result").all():
            assert card.evaluate("element => getComputedStyle(element).breakInside") == "avoid"


BREAKS = """(element) => {
    const breaks = (one) => [getComputedStyle(one).breakBefore, getComputedStyle(one).breakAfter];
    return [breaks(element), ...[...element.querySelectorAll("tr")].map(breaks)];
}"""
"""Where a sheet may begin and end: at an element, and at each row in it."""


def test_on_paper_explorers_begin_a_sheet_and_no_row_of_a_table_stands_alone(browser: Browser, tmp_path: Path) -> None:
    path = dv.report([dv.SamplerExplorer(), dv.CompositionExplorer()], tmp_path / "explorers.html")
    with opened(browser, path) as page:
        explorers = page.locator(".dp-full", has=page.locator(".dp-explorer"))
        expect(explorers).to_have_count(2)
        explorers.first.get_by_text("Table", exact=True).click()
        expect(explorers.first.get_by_role("row").nth(20)).to_be_visible()
        page.emulate_media(media="print")
        assert [one.evaluate(BREAKS)[0][0] for one in explorers.all()] == ["auto", "page"]
        rows = explorers.first.get_by_role("table").evaluate(BREAKS)[1:]
        assert len(rows) > 20 and rows[-4:] == [["auto", "auto"], *[["avoid", "auto"]] * 3]


@pytest.fixture(scope="module")
def lists(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A report on lists: two answers of one sub-session, one with values, a set, and the plans of the last two."""
    folder = tmp_path_factory.mktemp("lists")
    unit = dv.Unit("aircraft", noun="aircraft", max_bins=5)
    session = dv.Session(dv.datasets.flights(), unit, dv.Budget("6", "1e-5"), folder / "flights.ledger")
    sub = session.open(dv.PayWhatYouGet(symbols=20, questions=5, epsilon="2", delta="1e-6"))
    nowhere = dv.Question.of("destination", {"scheduled_minute": dv.Between(0, 3)})
    answers = [sub.ask("destination", k=3), sub.ask(nowhere, k=9)]
    others = [session.release("destination", made) for made in (dv.TopKLaplace(k=4, epsilon=1), dv.TopKSet(epsilon=1))]
    return dv.report([*answers, *others], folder / "flights.html", ledger=session)


@pytest.mark.parametrize("width", [1000, 320])
def test_lists_are_drawn_and_their_plans_stay_alive(browser: Browser, lists: Path, width: int) -> None:
    with opened(browser, lists, viewport={"width": width, "height": 900}) as page:
        expect(page.get_by_role("main")).to_contain_text("ε 4 · δ 0.000003")
        nothing = page.get_by_role("region", name="Destination, top 9 by aircraft", exact=False)
        expect(nothing).to_contain_text("Only ⊥ (no more): no item stood out enough.")
        expect(nothing.get_by_role("img", name="no more")).to_be_visible()
        first = page.get_by_role("region", name="Destination, top 3 by aircraft", exact=False)
        expect(first.get_by_role("listitem")).to_have_count(3)
        expect(first).to_contain_text("used 3 of 20 symbols")
        valued = page.get_by_role("region", name="Destination, top 4 by aircraft", exact=False)
        expect(valued.get_by_role("img", name="Destination, top 4 by aircraft", exact=False)).to_be_visible()
        expect(valued).to_contain_text("too high on average")
        plan = page.get_by_role("region", name="Try another ε: destination").first
        needed = plan.get_by_label("To be listed", exact=True)
        expect(needed).to_have_value(re.compile(r"^[\d,]+$"))
        before = needed.input_value()
        plan.get_by_role("slider").press("ArrowRight")
        expect(needed).not_to_have_value(before)
        assert int(needed.input_value().replace(",", "")) < int(before.replace(",", ""))
        holds(page, f"document.documentElement.scrollWidth <= {width}")
