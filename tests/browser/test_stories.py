"""Six people, each with nothing but the documentation: every one of them ends with what he or she came for.

An analyst with a CSV file, a teacher, an author, somebody with a keyboard alone, somebody who listens to the page, and
somebody who mistypes whatever can be typed. Pictures are kept: light, dark, 320 pixels wide, and at 200 percent.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from playwright.sync_api import Browser, Locator, expect

import dpviz as dv
from tests.browser.lab import SCREENSHOTS, Lab, Notebook, at_rest, calm, darken, resize, set_theme
from tests.browser.test_report import opened
from tests.browser.test_workbench import LEFT
from tools.snippets import snippets

TALL = {"width": 1280, "height": 1700}
ZOOMED = {"width": 640, "height": 5000}
"""As wide as that window is at 200 percent, and as long as the page: JupyterLab shows no more of a notebook."""
LONG = {"width": 1280, "height": 5000}

SIDEWAYS = "root => root.scrollWidth - root.clientWidth"


def pictures(it: Notebook, title: str) -> None:
    """The last component of the notebook light and dark, at 200 percent, and 320 pixels wide; none scrolls sideways."""
    shown = it.page.locator(".dpviz").last

    def keep(how: str) -> None:
        expect(shown.get_by_role("img").first).to_be_visible()
        at_rest(it.page)
        it.until(lambda: shown.evaluate(SIDEWAYS) <= 0)
        shown.screenshot(path=SCREENSHOTS / f"story {title} {how}.png")

    SCREENSHOTS.mkdir(parents=True, exist_ok=True)
    keep("light")
    darken(it.page)
    keep("dark")
    set_theme(it.page, "Light")
    resize(it.page, **ZOOMED)
    keep("200 percent")
    resize(it.page, **LONG)
    shown.evaluate("root => { root.style.width = '320px'; }")
    keep("320")
    shown.evaluate("root => { root.style.width = ''; }")
    resize(it.page, **TALL)


# ---------------------------------------------------------------- an analyst with a CSV file

ANALYST = """
import dpviz as dv
session = dv.Session("stays.csv", unit=dv.Unit("row", noun="stay"), budget=dv.Budget(epsilon="2"), ledger="a.ledger")
dv.Workbench(session)
"""


def test_an_analyst_goes_from_a_csv_file_to_a_picture_and_a_table(lab: Lab, browser: Browser) -> None:
    rows = "".join(f"{place % 9},{'long' if place % 2 else 'short'}\n" for place in range(5000))
    (lab.folder / "analyst").mkdir()
    (lab.folder / "analyst" / "stays.csv").write_text(f"nights,kind\n{rows}")
    lab.write("analyst/analyst.ipynb", ANALYST)
    with Notebook.open(lab, browser, "analyst/analyst.ipynb", viewport=TALL, accept_downloads=True) as it:
        it.run_all()
        question = it.page.get_by_role("group", name="Question", exact=True)
        question.get_by_label("Bins of").select_option(label="whole numbers")
        question.get_by_label("From", exact=True).fill("0")
        question.get_by_label("To", exact=True).fill("8")
        question.get_by_role("button", name="Use these bins").click()
        expect(question).to_contain_text("10 bins.")
        it.button("Release").filter(has_text="pay ε 0.2").click()
        result = it.page.locator(".dp-result")
        # The title takes the focus at the end of the purchase: a menu that is opened before would close.
        expect(result.get_by_role("heading", name=re.compile("released with ε = 0.2$"))).to_be_focused()
        saved = {}
        for ending in ("CSV", "SVG"):
            result.get_by_role("button", name="Save", exact=True).click()
            with it.page.expect_download() as download:
                result.get_by_role("button", name=ending, exact=False).click()
            saved[ending] = Path(download.value.path()).read_text(encoding="utf-8-sig")
        table = it.numbers(result)
        with_values = [row for row in csv.reader(saved["CSV"].splitlines()) if row and row[0] in "012345678"]
        assert [row.split()[0] for row in table][:9] == [row[0] for row in with_values] == list("012345678")
        drawn = ElementTree.fromstring(saved["SVG"])
        assert drawn.tag.endswith("svg") and "released with ε = 0.2" in " ".join(drawn.itertext())
        assert all(abs(int(row[1]) - 555) < 150 for row in with_values)  # exceeded with a chance below 1e-12
        pictures(it, "analyst")
        assert it.errors == it.offsite == []


# ---------------------------------------------------------------- a teacher

TEACHER = """
import dpviz as dv
bins   = dv.Domain.integers(0, 40, column="visits", overflow=True)
lesson = dv.teaching(dv.datasets.doctor_visits(), seed=5, unit=dv.Unit("row", noun="person-year"))
draws  = lesson.draw(bins, dv.Dense(epsilon="1/2"), times=20)
missed = draws.misses(bin=3)
missed
"""
BROKEN_LAWS = ("release", "paid", "pays", "ledger remembers")


def test_a_teacher_shows_a_class_how_often_intervals_miss(lab: Lab, browser: Browser) -> None:
    lab.write("teacher/teacher.ipynb", TEACHER, "dv.Workbench(lesson, bins)")
    with Notebook.open(lab, browser, "teacher/teacher.ipynb", viewport=TALL) as it:
        it.run_all()
        frame = it.page.locator(".jp-RenderedHTMLCommon table").first
        expect(frame.locator("tbody tr")).to_have_count(20)
        outside = "sum(not low <= n <= high for one, n in zip(draw.to_frame().itertuples(), draws.truth.counts)"
        outside += " for low, high in [(one.low, one.high)])"
        counted = it.ask(f"print([{outside} for draw in draws])")
        assert counted == it.ask("print(missed.missed.tolist())")
        assert 0 < sum(map(int, re.findall(r"\d+", counted))) < 20 * 42 / 5
        assert it.ask("print(len(missed), missed.missed_all.gt(0).mean() <= 0.5)").strip() == "20 True"
        it.button("Draw 20").click()
        bench = it.page.locator(".dp-workbench")
        expect(bench.get_by_label("Draw", exact=True)).to_have_value("20")
        expect(bench).to_contain_text(re.compile(r"all at once: \d+ of 20 draws"))
        pictures(it, "teacher")
        assert it.failures() == it.errors == it.offsite == []


# ---------------------------------------------------------------- an author

TITLES = re.compile(rb"/Title\s*(?:\((.*?)(?<!\\)\)|<([0-9A-Fa-f\s]*)>)", re.DOTALL)


def outline(printed: bytes) -> list[str]:
    """The headings of a PDF, as a reader's sidebar lists them."""
    found = []
    for plain, digits in TITLES.findall(printed):
        part = bytes.fromhex(digits.decode()) if digits else plain.replace(b"\\(", b"(").replace(b"\\)", b")")
        found.append(part[2:].decode("utf-16-be") if part[:2] == b"\xfe\xff" else part.decode("latin-1"))
    return found


def test_an_author_prints_a_report(browser: Browser, tmp_path: Path) -> None:
    session = dv.Session(
        dv.datasets.doctor_visits(),
        unit=dv.Unit("row", relation="add-remove", noun="person-year"),
        budget=dv.Budget(epsilon="2", delta="1e-6"),
        ledger=tmp_path / "visits.ledger",
    )
    bins = dv.Domain.integers(0, 40, column="visits", overflow=True)
    release = session.release(bins, dv.Dense(epsilon="1/2"))
    path = dv.report([release], tmp_path / "visits.html", title="Visits to a doctor")
    SCREENSHOTS.mkdir(parents=True, exist_ok=True)
    windows: dict[str, dict[str, Any]] = {
        "light": {},
        "dark": {"color_scheme": "dark"},
        "320": {"viewport": {"width": 320, "height": 900}},
        "200 percent": {"viewport": {"width": 500, "height": 450}, "device_scale_factor": 2},
    }
    for how, window in windows.items():
        with opened(browser, path, **window) as page:
            expect(page.locator(".dp-result svg").first).to_be_visible()
            calm(page)
            assert page.evaluate("() => document.documentElement.scrollWidth <= innerWidth")
            page.screenshot(path=SCREENSHOTS / f"story author {how}.png", full_page=True)
            if how == "light":
                printed = page.pdf(format="A4", outline=True, tagged=True)
                page.emulate_media(media="print")
                page.set_viewport_size({"width": 718, "height": 1000})
                page.screenshot(path=SCREENSHOTS / "story author print.png", full_page=True)
                said = page.locator("main").inner_text()
    (SCREENSHOTS / "story author.pdf").write_bytes(printed)
    assert 2 <= len(re.findall(rb"/Type\s*/Page\b", printed)) <= 4
    heads = outline(printed)
    assert "Visits to a doctor" in heads and any("released with ε = 0.5" in head for head in heads)
    assert "What this does not protect" in heads
    assert "0.5-differential privacy for adding or removing one person-year" in said
    values = release.to_frame().value
    for value in (values.iloc[0], values.iloc[-1]):
        assert f"{value:,}".replace("-", "−") in said


def test_an_author_runs_the_first_lines_of_the_readme_and_prints_the_report_that_they_write(
    lab: Lab, browser: Browser
) -> None:
    code = next(code for title, code in snippets() if title == "README: In Python")
    lab.write("author/author.ipynb", code)
    with Notebook.open(lab, browser, "author/author.ipynb", viewport=TALL) as it:
        it.run_all()
        value = it.ask("print(release.values[0], len(session.releases), session.remaining.epsilon)").split()
        assert it.failures() == it.errors == it.offsite == []
    assert value[1:] == ["1", "3/2"]
    for sheet in ("A4", "Letter"):
        with opened(browser, lab.folder / "author" / "visits.html") as page:
            expect(page.locator(".dp-result svg").first).to_be_visible()
            calm(page)
            printed = page.pdf(format=sheet, outline=True, tagged=True)
            said = page.locator("main").inner_text()
        (SCREENSHOTS / f"story author {sheet}.pdf").write_bytes(printed)
        assert 2 <= len(re.findall(rb"/Type\s*/Page\b", printed)) <= 4
        heads = outline(printed)
        assert any("released with ε = 0.5" in head for head in heads) and "What this does not protect" in heads
        assert f"{int(value[0]):,}".replace("-", "−") in said


# ---------------------------------------------------------------- with the keyboard alone, and by ear

VISITS = """
import dpviz as dv
session = dv.Session(
    dv.datasets.doctor_visits(),
    unit=dv.Unit("row", relation="add-remove", noun="person-year"),
    budget=dv.Budget(epsilon="2", delta="1e-6"),
    ledger="{name}.ledger",
)
bins = dv.Domain.integers(0, 40, column="visits", overflow=True)
"""
BENCH = "dv.Workbench(session, bins)"
FOCUSED = "element => element === document.activeElement"
SELECTED = """() => {
    const { content } = window.panel;
    return content.mode === 'command' && content.widgets.every(cell => content.isSelectedOrActive(cell));
}"""


def tab_to(it: Notebook, wanted: Locator, most: int = 60) -> None:
    """Walk there with the Tab key. Whoever is led in circles fails."""
    for _ in range(most):
        it.page.keyboard.press("Tab")
        assert it.page.evaluate("() => document.activeElement !== document.body"), "the focus is lost"
        if wanted.count() and wanted.first.evaluate(FOCUSED):
            return
    raise AssertionError(f"{most} times Tab did not lead to {wanted}")


def heard(part: Locator, title: str) -> list[str]:
    """What a screen reader walks through, in its order, a line each; kept beside the pictures."""
    snapshot = part.aria_snapshot()
    SCREENSHOTS.mkdir(parents=True, exist_ok=True)
    (SCREENSHOTS / f"story {title}.aria.txt").write_text(snapshot)
    return [line.strip().removeprefix("- ").removeprefix("'") for line in snapshot.splitlines()]


def in_order(lines: list[str], wanted: list[str]) -> list[str]:
    """Those of the wanted patterns that do not come one after the other in these lines."""
    left: Iterator[str] = iter(lines)
    return [pattern for pattern in wanted if not any(re.search(pattern, line) for line in left)]


PLANNING = [
    r"^heading \"Workbench\"",
    r"^group \"Question\"",
    r"^combobox \"Mechanism\"",
    r"^slider \"Privacy loss ε\"",
    r"^region \"Plan\"",
    r"^textbox \"Any one bin\"",
    r"^region \"Release\"",
    r"^button \"Release pay ε 0\.\d+\"",
    r"^region \"Budget\"",
]
RELEASED = [r"^region \".* released with ε = ", r"^heading \".* released with ε = ", r"^img ", r"^table "]


def test_the_keyboard_alone_leads_from_opening_to_a_released_answer_and_its_table(lab: Lab, browser: Browser) -> None:
    lab.write("keys/keys.ipynb", VISITS.format(name="keys"), BENCH)
    with Notebook.open(lab, browser, "keys/keys.ipynb", viewport=TALL) as it:
        press = it.page.keyboard.press
        bench = it.page.locator(".dp-workbench")
        it.page.locator(".jp-Notebook").focus()

        def select_all() -> bool:
            """JupyterLab may still give the focus to a cell of the notebook it opens: then it is done again."""
            press("Escape")
            press("Control+a")
            selected: bool = it.page.evaluate(SELECTED)
            return selected

        it.until(select_all)
        press("Control+Enter")
        expect(bench.get_by_role("img").first).to_be_visible()
        expect(it.button("Release").filter(has_text="pay ε")).to_be_enabled()
        expect(it.region("Budget")).to_be_visible()
        assert in_order(heard(bench, "by ear, planning"), PLANNING) == []

        slider = it.slider("Privacy loss ε")
        tab_to(it, slider)
        before = slider.get_attribute("aria-valuetext")
        press("ArrowRight")
        expect(slider).not_to_have_attribute("aria-valuetext", str(before))
        epsilon = str(slider.get_attribute("aria-valuetext")).removeprefix("ε ")
        pay = it.button(f"Release pay ε {epsilon}")
        expect(pay).to_be_enabled()
        tab_to(it, pay)
        press("Enter")
        result = it.page.locator(".dp-result")
        title = result.get_by_role("heading", name=re.compile(f"released with ε = {re.escape(epsilon)}$"))
        expect(title).to_be_focused()

        table = result.get_by_role("button", name="Table", exact=True)
        tab_to(it, table)
        if table.get_attribute("aria-expanded") == "false":
            press("Enter")
        expect(table).to_have_attribute("aria-expanded", "true")
        numbers = result.get_by_role("region", name=re.compile("^Numbers of this"))
        tab_to(it, numbers)
        assert numbers.locator("tbody tr").count() == 42
        parts = [one for one in PLANNING if not one.startswith("^button")]  # it has said its price
        assert in_order(heard(bench, "by ear, released"), [*parts, *RELEASED]) == []
        assert it.ask("print(len(session.releases))").strip() == "1"
        pictures(it, "keyboard")
        assert it.failures() == it.errors == it.offsite == []


def test_a_report_is_heard_from_its_title_to_what_it_does_not_protect(browser: Browser, tmp_path: Path) -> None:
    lesson = dv.datasets.doctor_visits()
    session = dv.Session(lesson, dv.Unit("row", noun="person-year"), dv.Budget("2"), tmp_path / "heard.ledger")
    release = session.release(dv.Domain.integers(0, 40, column="visits", overflow=True), dv.Dense("1/2"))
    with opened(browser, dv.report([release], tmp_path / "heard.html", title="Visits")) as page:
        expect(page.locator(".dp-result svg").first).to_be_visible()
        lines = heard(page.locator("body"), "by ear, report")
        last = r"^heading \"What this does not protect\""
        wanted = [r"^main", r"^heading \"Visits\" \[level=1\]", *RELEASED[:3], r"^slider ", last]
        assert in_order(lines, wanted) == []
        assert in_order(lines, wanted[::-1]) != []


# ---------------------------------------------------------------- somebody who mistypes

CALLS = [
    ("dv.Sesion", "Session", "dv.Session"),
    ("dv.datasets.docter_visits()", "doctor_visits", "dv.datasets.doctor_visits()"),
    ('dv.Unit("row", relation="add-remov")', "add-remove", 'dv.Unit("row", relation="add-remove")'),
    ('dv.Budget(epsilon="two")', "1/10", 'dv.Budget(epsilon="1/2")'),
    ('dv.Domain.integers(40, 0, column="visits")', "0", 'dv.Domain.integers(0, 40, column="visits")'),
    ('session.plan("vists", dv.Stability(1, "1e-6"))', "visits", "session.plan(bins, dv.Dense(1))"),
    ('session.plan(bins, dv.Dense(epsilom="1/2"))', "epsilon", 'session.plan(bins, dv.Dense(epsilon="1/2"))'),
    ('session.plan(bins, dv.Dense(epsilon="-1/2"))', "positive", 'session.plan(bins, dv.Dense(epsilon="1/2"))'),
    ('session.release(bins, dv.Dense(epsilon="3"))', "at most 2", 'session.release(bins, dv.Dense(epsilon="1/4"))'),
    ("session.releases[1].to_fram()", "to_frame", "session.releases[1].to_frame(beta=0.05)"),
    ("session.releases[1].to_frame(beta=5)", "beta", "session.releases[1].to_frame(beta=0.05)"),
    ("session.remaning", "remaining", "session.remaining"),
    ('session.plan("visits", dv.TopK(k=10, kbar=5, epsilon="1", delta="1e-6"))', "kbar",
     'session.plan("visits", dv.TopK(k=10, kbar=50, epsilon="1", delta="1e-6"))'),
    ('session.plan("visits", dv.TopK(k=10, kbar=50, epsilon="1", delta="1e6"))', "delta",
     'session.plan("visits", dv.TopK(k=10, kbar=50, epsilon="1", delta="1e-6"))'),
]  # fmt: skip
"""What is typed, a part of the answer that leads on, and what is typed next."""

SLIPS = {
    "Privacy loss ε, exact": ("0,5", "1/2"),
    "Any one bin": ("-3", "20"),
    "All 42 at once": ("many", "60"),
}
"""Fields of the page: what is typed by mistake, and then."""


def test_who_mistypes_is_told_where_and_what_to_do_and_then_it_works(lab: Lab, browser: Browser) -> None:
    lab.write("slips/slips.ipynb", VISITS.format(name="slips"), BENCH)
    with Notebook.open(lab, browser, "slips/slips.ipynb", viewport=TALL) as it:
        it.run_all()
        unhelpful = []
        for wrong, leads, right in CALLS:
            told = it.ask(wrong).strip()
            went = it.ask(f"{right}; print('went well')").strip()
            if leads not in told or not went.endswith("went well"):
                unhelpful.append((wrong, told, went))
        assert unhelpful == []

        bench = it.page.locator(".dp-workbench")
        for name, (wrong, right) in SLIPS.items():
            box = bench.get_by_role("textbox", name=name, exact=True)
            box.fill(wrong)
            box.press("Enter")
            expect(box).to_have_attribute("aria-invalid", "true")
            expect(bench.get_by_role("alert").filter(visible=True)).to_have_count(1)
            described = box.evaluate(
                "box => (box.getAttribute('aria-describedby') ?? box.getAttribute('aria-errormessage') ?? '')"
                ".split(' ').map(id => document.getElementById(id)?.innerText ?? '').join(' ')"
            )
            assert re.search(r"\b(type|ask for|set|write|choose|give)\b", described, re.IGNORECASE), (name, described)
            if name == "Privacy loss ε, exact":
                pictures(it, "mistyped")
            box.fill(right)
            box.press("Enter")
            expect(box).not_to_have_attribute("aria-invalid", "true")
            expect(bench.get_by_role("alert").filter(visible=True)).to_have_count(0)
        assert it.ask(LEFT).strip() == "7/4"
        assert it.failures() == it.errors == it.offsite == []


NAMED = """box => box.getAttribute('aria-label') ?? box.labels[0]?.innerText ?? ''"""
DESCRIBED = """box => (box.getAttribute('aria-describedby') ?? '').split(' ').map(id => document.getElementById(id))
    .filter(one => one !== null && !one.hidden).map(one => one.innerText).join(' ')"""
LEADS_ON = re.compile(r"\b(type|ask for|set|write|choose|give|name|leave|like|such as)\b", re.IGNORECASE)
FIELDS = {"Privacy loss ε, exact", "δ", "Any one bin", "All 42 at once"}
DECLARED = [
    ("whole numbers", {"From": "none", "To": "8"}, "From"),
    ("whole numbers", {"From": "0", "To": "0.5"}, "To"),
    ("whole numbers", {"From": "9", "To": "8"}, "From"),
    ("intervals", {"Edges, separated by commas": "0; 1"}, "Edges, separated by commas"),
]
"""How bins are declared wrongly, and at which field that is told."""


def slipped(box: Locator) -> str:
    """What is told at a field after a slip; empty where that leads on."""
    expect(box).to_have_attribute("aria-invalid", "true")
    said: str = box.evaluate(DESCRIBED)
    return "" if LEADS_ON.search(said) else f"{box.evaluate(NAMED)}: {said}"


def test_whoever_mistypes_in_any_field_of_the_workbench_is_told_at_that_field(lab: Lab, browser: Browser) -> None:
    """Every text field that is on show beside an answer, and those in which bins are declared: each is typed wrong."""
    made = VISITS.format(name="fields") + "session.release(bins, dv.Dense('1/2'))\n"
    lab.write("fields/fields.ipynb", made, "dv.Workbench(session, bins, mechanism=dv.Stability('1/2', '1e-7'))")
    with Notebook.open(lab, browser, "fields/fields.ipynb", viewport=LONG) as it:
        it.run_all()
        bench = it.page.locator(".dp-workbench")
        expect(bench.locator(".dp-result .dp-stage svg").first).to_be_visible()
        alerts = bench.get_by_role("alert").filter(visible=True)
        fields = bench.locator("input[type=text]:not([readonly])").filter(visible=True)
        names, unhelpful = set(), []
        for place in range(fields.count()):
            box = fields.nth(place)
            if box.evaluate("box => box.closest('.dp-ask') !== null"):
                continue  # it asks with both its ends, below
            names.add(" ".join(box.evaluate(NAMED).split()))
            before = box.input_value()
            box.fill("so-so")
            box.press("Enter")
            unhelpful += [slipped(box)]
            expect(alerts).to_have_count(1)
            box.fill(before)
            box.press("Enter")
            expect(box).not_to_have_attribute("aria-invalid", "true")
            expect(alerts).to_have_count(0)
        assert names >= FIELDS, names

        asked = it.region("Add up or compare bars")
        begin, end = asked.get_by_label("From", exact=True), asked.get_by_label("to", exact=True)
        begin.fill("2")
        end.fill("so-so")
        end.press("Enter")
        unhelpful += [slipped(end)]
        end.fill("9")
        end.press("Enter")
        expect(end).not_to_have_attribute("aria-invalid", "true")
        expect(asked.get_by_role("status")).to_contain_text("visits: 2 to 9: ")

        question = it.page.get_by_role("group", name="Question", exact=True)
        question.get_by_label("Bins (public, not taken from the data)").select_option(label="Declare bins…")
        use = question.get_by_role("button", name="Use these bins")
        for kind, typed, wrong in DECLARED:
            question.get_by_label("Bins of").select_option(label=kind)
            for name, text in typed.items():
                question.get_by_label(name, exact=True).fill(text)
            use.click()
            unhelpful += [slipped(question.get_by_label(wrong, exact=True))]
            expect(question.get_by_label(wrong, exact=True)).to_be_focused()
        pictures(it, "every field")
        question.get_by_label("Bins of").select_option(label="whole numbers")
        question.get_by_label("From", exact=True).fill("0")
        question.get_by_label("To", exact=True).fill("8")
        use.click()
        expect(question).to_contain_text("10 bins.")
        assert [said for said in unhelpful if said] == []
        assert it.ask(LEFT).strip() == "3/2"
        assert it.failures() == it.errors == it.offsite == []
