"""Records in a real JupyterLab: declared on the page, planned, paid, drawn again, reloaded with and without a kernel; a
record that no other may be drawn from for nothing; and a report, where none is drawn."""

from __future__ import annotations

import re
from pathlib import Path

import pandas as pd
import pytest
from playwright.sync_api import Browser, Locator, expect

import dpviz as dv
from tests.browser.lab import SCREENSHOTS, Lab, Notebook, at_rest, darken
from tests.browser.test_sparse import SHUT_DOWN, SIDEWAYS, UNNAMED

TALL = {"width": 1280, "height": 2200}
NARROW = {"width": 660, "height": 2000}  # the notebook's own margins leave it some 320
PEOPLE = """
import dpviz as dv, pandas as pd
people = pd.DataFrame({
    "smokes": ["no"] * 300 + ["yes"] * 100,
    "region": ["north", "south"] * 200,
    "visits": [0, 1, 2, 9] * 100,
    "chronic": [0, 1] * 200,
})
unit = dv.Unit("row", relation="replace-one", n=400, noun="person")
session = dv.Session(people, unit, dv.Budget("9", "1e-5"), "records.ledger", dataset="people")
"""
COUNTS = (
    PEOPLE + 'dv.Workbench(session, dv.Domain.categories(["no", "yes"], column="smokes"), mechanism=dv.Dense("0.5"))'
)
LABELS = {"smokes": {"no", "yes"}, "region": {"north", "south"}, "visits": {"0", "1", "2", "over 2"}}


def picture(it: Notebook, result: Locator, title: str) -> None:
    """Keep a picture of a result that may lie below the fold."""
    SCREENSHOTS.mkdir(parents=True, exist_ok=True)
    result.screenshot(path=SCREENSHOTS / f"{Path(it.name).stem}-{title}.png")


def listed(section: Locator) -> Locator:
    """The rows of the further records that are listed, the latest first."""
    return section.get_by_role("region", name="Further records, the latest first", exact=True).locator("tbody tr")


def cells(section: Locator, count: int) -> list[list[str]]:
    """So many further records, once they are listed: how many were drawn up to each, and its labels."""
    expect(listed(section)).to_have_count(count)
    return [row.split("\t") for row in listed(section).all_inner_texts()]


def lists(section: Locator, rows: list[list[str]]) -> None:
    """These further records are listed, once the view of records has come."""
    expect(listed(section)).to_have_text(["\t".join(row) for row in rows], use_inner_text=True)


def valid(rows: list[list[str]]) -> bool:
    return all(label in LABELS[name] for row in rows for name, label in zip(LABELS, row[1:], strict=True))


def test_records_are_declared_planned_paid_and_drawn_again_with_and_without_a_kernel(
    lab: Lab, browser: Browser
) -> None:
    lab.write("records/records.ipynb", COUNTS)
    with Notebook.open(lab, browser, "records/records.ipynb", viewport=TALL) as it:
        it.run_all()
        question = it.page.get_by_role("group", name="Question", exact=True)
        question.get_by_label("Ask for", exact=True).select_option(label="a drawn record")
        fields = question.get_by_role("group", name="Declare columns", exact=True)
        first = fields.get_by_role("group", name="Column 1", exact=True)
        first.get_by_label("Labels, separated by commas").fill("no, no")
        fields.get_by_role("button", name="Add a column", exact=True).click()
        second = fields.get_by_role("group", name="Column 2", exact=True)
        second.get_by_label("Labels, separated by commas").fill("north, south")
        fields.get_by_role("button", name="Add a column", exact=True).click()
        third = fields.get_by_role("group", name="Column 3", exact=True)
        third.get_by_label("From", exact=True).fill("0")
        third.get_by_label("To", exact=True).fill("two")
        third.get_by_label("a bin for above", exact=True).check()
        it.screenshot("declared")
        fields.get_by_role("button", name="Use these columns", exact=True).click()
        expect(third.get_by_role("alert")).to_have_text("From and To must be whole numbers, like 0 and 40.")
        expect(third.get_by_label("To", exact=True)).to_be_focused()
        third.get_by_label("To", exact=True).fill("2")
        fields.get_by_role("button", name="Use these columns", exact=True).press("Enter")
        expect(first.get_by_role("alert")).to_contain_text("labels")  # what the kernel refuses stands at its column
        expect(third.get_by_role("alert")).to_be_hidden()
        it.screenshot("refused")
        first.get_by_label("Labels, separated by commas").fill("no, yes")
        fields.get_by_role("button", name="Use these columns", exact=True).press("Enter")
        expect(fields).to_be_hidden()
        expect(question).to_contain_text("were drawn at random, what would smokes, region and visits be")
        expect(it.page.get_by_label("Mechanism", exact=True)).to_have_value("SampleCategory")

        plan, release = it.region("Plan"), it.region("Release")
        expect(plan.get_by_label("Any chance is off by", exact=True)).not_to_have_value("—")
        expect(plan).to_contain_text("for sure · proved bound")
        assert "in 100" not in plan.inner_text()
        expect(release).to_contain_text(
            "Further records from the same noisy counts are free, and depend on each other."
        )
        it.screenshot("planned")
        release.get_by_role("button", name="Release pay ε 0.5", exact=True).click()
        result = it.page.locator(".jp-Notebook").get_by_role("region", name=re.compile("released with ε = 0.5$"))
        expect(result).to_contain_text("paid ε 0.5")
        record = it.ask("print(*session.releases[1].record.values(), sep='|')").strip().split("|")
        expect(result.locator(".dp-record dd")).to_have_text(record)  # its view comes after the head
        assert "in 100" not in result.inner_text()

        section = result.get_by_role("region", name="Further records", exact=True)
        expect(section).to_contain_text("not independent of its record or of each other: all share its noise")
        draw = section.get_by_role("button", name="Draw another record · free", exact=True)
        draw.focus()
        draw.press("Enter")
        expect(section.get_by_role("status")).to_have_text(re.compile(r"^Drawn: smokes \w+, region \w+, visits .+\.$"))
        expect(draw).to_be_focused()
        section.get_by_label("how many", exact=True).select_option("10")
        section.get_by_role("button", name="Draw 10 more records · free", exact=True).press(" ")
        expect(section.get_by_role("status")).to_have_text("10 further records were drawn; they head the list.")
        rows = cells(section, 11)
        assert [row[0] for row in rows] == [str(number) for number in range(11, 0, -1)] and valid(rows)
        assert it.ask("print(session.remaining.epsilon, len(session.releases))").split() == ["17/2", "1"]
        assert it.page.evaluate(UNNAMED) == 0
        expect(release).to_contain_text(
            "A second, independent answer costs ε 0.5 more."
        )  # and is not averaged with this
        it.screenshot("drawn")
        it.page.set_viewport_size(NARROW)
        at_rest(it.page)
        expect(draw.or_(section.get_by_role("button")).first).to_be_visible()
        assert it.page.evaluate(SIDEWAYS) == [0]
        picture(it, result, "drawn, narrow")
        darken(it.page)
        picture(it, result, "drawn, dark and narrow")
        it.page.set_viewport_size(TALL)
        at_rest(it.page)
        it.screenshot("drawn, dark")

        # The page opened anew: with its kernel what was drawn is there, and more may be.
        it.save_with_state()
        it.save()
        it.reload()
        expect(result).to_contain_text("paid ε 0.5")
        lists(section, rows)
        expect(section.get_by_role("status")).to_have_text("")  # what was said before is not said again
        draw.click()
        expect(section.get_by_role("status")).to_have_text(re.compile("^Drawn: "))
        more = cells(section, 12)
        assert more[1:] == rows and more[0][0] == "12" and valid(more)
        it.save_with_state()
        it.save()
        it.page.evaluate(SHUT_DOWN)
        expect(it.page.get_by_text("○ no kernel").first).to_be_visible()
        expect(draw).to_be_disabled()
        expect(section.get_by_label("how many", exact=True)).to_be_disabled()
        expect(section).to_contain_text("Drawing needs a kernel. What was drawn stays here.")
        lists(section, more)
        it.screenshot("gone")
        assert it.offsite == []

    # The notebook as it was saved, where the kernel that drew is gone.
    with Notebook.open(lab, browser, "records/records.ipynb", viewport=TALL) as it:
        result = it.page.locator(".dp-result")
        section = result.get_by_role("region", name="Further records", exact=True)
        expect(section).to_be_visible()
        it.page.evaluate(SHUT_DOWN)
        expect(it.page.get_by_text("○ no kernel").first).to_be_visible()
        expect(section.get_by_role("button", name="Draw another record · free", exact=True)).to_be_disabled()
        lists(section, more)
        assert it.offsite == []


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("RandomisedRecord", "every draw looks at another, and takes as much ε again"),
        ("SampleBounded", "two draws cost twice"),
    ],
)
def test_where_another_record_costs_the_page_says_why_and_has_no_button(
    lab: Lab, browser: Browser, name: str, why: str
) -> None:
    asked = 'dv.Question.records([dv.Domain.integers(0, 1, column="chronic")])'
    lab.write(
        f"once-{name}/{name}.ipynb", PEOPLE + f'dv.Workbench(session, {asked}, mechanism=dv.SampleCategory("0.5"))'
    )
    with Notebook.open(lab, browser, f"once-{name}/{name}.ipynb", viewport=TALL) as it:
        it.run_all()
        it.page.get_by_label("Mechanism", exact=True).select_option(name)
        expect(it.page.locator(".dp-workbench")).to_contain_text(getattr(dv, name).about)
        expect(it.region("Plan")).to_contain_text("for sure · ")
        assert "in 100" not in it.region("Plan").inner_text()
        it.screenshot("planned")
        it.region("Release").get_by_role("button", name=re.compile("^Release pay ε")).click()
        result = it.page.locator(".jp-Notebook").get_by_role("region", name=re.compile("released with ε = "))
        expect(result).to_contain_text("Another record would be another release, paid for anew. Why: ")
        expect(result).to_contain_text(why)
        assert result.locator(".dp-record dd").all_inner_texts() == [
            it.ask("print(session.releases[1].record['chronic'])").strip()
        ]
        expect(result.get_by_role("button", name=re.compile("^Draw"))).to_have_count(0)
        expect(result.get_by_role("region", name="Further records", exact=True)).to_have_count(0)
        it.screenshot("released")
        darken(it.page)
        it.page.set_viewport_size(NARROW)
        at_rest(it.page)
        expect(result).to_contain_text(why)
        assert it.page.evaluate(SIDEWAYS) == [0]
        picture(it, result, "released, dark and narrow")
        assert it.errors == it.offsite == []


@pytest.mark.parametrize(("scheme", "width"), [("light", 1200), ("dark", 320)])
def test_a_report_shows_a_record_and_says_why_none_is_drawn_there(
    browser: Browser, tmp_path: Path, scheme: str, width: int
) -> None:
    people = pd.DataFrame({"smokes": ["no"] * 300 + ["yes"] * 100, "chronic": [0, 1] * 200})
    lesson = dv.teaching(people, 5, dv.Unit("row", relation="replace-one", n=400))
    smokes = dv.Domain.categories(["no", "yes"], column="smokes")
    bits = dv.Domain.integers(0, 1, column="chronic")
    many = lesson.draw(dv.Question.records([smokes, bits]), dv.SampleCategory("1/2"))
    once = lesson.draw(dv.Question.records([bits]), dv.SampleBounded("1/2"))
    path = dv.report([many, once], tmp_path / "records.html")
    context = browser.new_context(
        offline=True,
        color_scheme=scheme,  # type: ignore[arg-type]
        viewport={"width": width, "height": 900},
    )
    page = context.new_page()
    wrong: list[str] = []
    page.on("pageerror", lambda error: wrong.append(str(error)))
    page.on("console", lambda said: wrong.append(said.text) if said.type in ("error", "warning") else None)
    page.goto(path.as_uri())
    section = page.get_by_role("region", name="Further records", exact=True)
    expect(section).to_have_count(1)
    expect(section.get_by_role("button", name="Draw another record · free", exact=True)).to_be_disabled()
    expect(section).to_contain_text("Drawing needs the running notebook: no kernel answers here.")
    expect(page.get_by_text("two draws cost twice")).to_be_visible()
    at_rest(page)
    assert page.evaluate("() => document.documentElement.scrollWidth") <= width
    SCREENSHOTS.mkdir(parents=True, exist_ok=True)
    page.screenshot(path=SCREENSHOTS / f"records-report-{scheme}.png", full_page=True)
    assert wrong == []
    context.close()
