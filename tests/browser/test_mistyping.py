"""Somebody mistypes in the fields that are not the Workbench's own: of explorers, records, sub-sessions and look-ups.

Each slip is told at its field, once, with what to do next; what was typed stays, the focus too, and it can be mended.
`test_stories` plays the Workbench.
"""

from __future__ import annotations

import pytest
from playwright.sync_api import Browser, Locator, expect

from tests.browser.lab import Lab, Notebook
from tests.browser.test_pay_what_you_get import LEFT, PAY_WHAT_YOU_GET, SESSION
from tests.browser.test_read import READ
from tests.browser.test_records import PEOPLE
from tests.browser.test_stories import LONG, slipped

EXPLORERS = {
    "plans": (
        'dv.TopKExplorer("power")',
        'dv.MechanismComparison(None, dv.Domain.integers(0, 99, column="minute"), unit=dv.Unit("row"), count=30)',
        "dv.CompositionExplorer()",
    ),
    "fits": (
        "dv.ConsistencyPlayground()",
        "dv.IsotonicExplorer(counted)",
        "dv.RangeExplorer(counted, epsilon=1)",
    ),
    "sketches": ("dv.AlpAnatomy()", "dv.TradeoffExplorer()"),
    "samples": ("dv.SamplingExplorer()", "dv.ProductSamplerTrace()"),
}
FIRST = (
    "import dpviz as dv, numpy as np\n"
    'counted = dv.PublicTable(dv.Domain.integers(0, 63, column="minute"), np.arange(64) ** 2 % 37)'
)
FIELDS = "input[type=text]:not([readonly]), input[type=number]"
MANY = 3
"""Of the cells of a table, which are all alike, so many are played."""


def alerts(region: Locator) -> Locator:
    return region.get_by_role("alert").filter(visible=True)


def wrong_for(box: Locator) -> str:
    """Nonsense; a field that takes no letters is left empty."""
    return "" if box.get_attribute("type") == "number" else "so-so"


def mistype(box: Locator, region: Locator) -> str:
    """Type nonsense into a field, see that it is told there, and take it back; empty where what is told leads on."""
    before, wrong = box.input_value(), wrong_for(box)
    box.fill(wrong)
    box.press("Enter")
    said = slipped(box)
    expect(box).to_have_css("border-top-width", "2px")  # framed as wrong, whatever the fields of its explorer look like
    expect(box).to_have_value(wrong)
    expect(box).to_be_focused()
    expect(alerts(region)).to_have_count(1)
    box.press("Escape")
    expect(box).not_to_have_attribute("aria-invalid", "true")
    expect(box).to_have_value(before)
    expect(box).to_be_focused()
    expect(alerts(region)).to_have_count(0)
    return said


def fields_of(explorer: Locator) -> list[Locator]:
    boxes = explorer.locator(FIELDS).filter(visible=True)
    cells = explorer.locator(".dp-cell-box")
    every = [boxes.nth(place) for place in range(boxes.count() - cells.count())]  # the table stands below all fields
    return every + [cells.nth(place) for place in range(min(MANY, cells.count()))]


@pytest.mark.parametrize("kind", EXPLORERS)
def test_whoever_mistypes_in_a_field_of_an_explorer_is_told_at_that_field(
    lab: Lab, browser: Browser, kind: str
) -> None:
    lab.write(f"{kind}/{kind}.ipynb", FIRST, *EXPLORERS[kind])
    with Notebook.open(lab, browser, f"{kind}/{kind}.ipynb", viewport=LONG) as it:
        it.run_all()
        explorers = it.page.locator("section.dp-explorer")
        expect(explorers).to_have_count(len(EXPLORERS[kind]))
        unhelpful = []
        for place in range(len(EXPLORERS[kind])):
            explorer = explorers.nth(place)
            expect(explorer.locator(FIELDS).filter(visible=True).first).to_be_enabled()
            looks = explorer.get_by_role("group", name="Look at").get_by_role("radio")
            for look in range(max(1, looks.count())):
                if looks.count() > 0:
                    looks.nth(look).check()
                played = fields_of(explorer)
                assert played
                unhelpful += [mistype(box, explorer) for box in played]
        for explorer in explorers.all():  # one slip of each kind stays, for the pictures
            for box in (fields_of(explorer)[0], fields_of(explorer)[-1]):
                box.fill(wrong_for(box))
                box.press("Enter")
                expect(box).to_have_attribute("aria-invalid", "true")
        it.screenshot("mistyped")
        assert [said for said in unhelpful if said] == []
        assert it.failures() == it.errors == it.offsite == []


def test_whoever_mistypes_the_key_of_a_look_up_is_told_at_its_field(lab: Lab, browser: Browser) -> None:
    lab.write("key/key.ipynb", *READ)
    with Notebook.open(lab, browser, "key/key.ipynb") as it:
        it.run_all()
        form = it.page.get_by_role("form", name="Read one bin")
        field = form.get_by_label("visits")
        unhelpful = []
        for wrong in ("so-so", "", "-3", "2.5"):
            field.fill(wrong)
            field.press("Enter")
            unhelpful.append(slipped(field))
            expect(field).to_have_value(wrong)
            expect(field).to_be_focused()
            expect(alerts(form)).to_have_count(1)
        field.fill("2")
        field.press("Enter")
        expect(form.get_by_role("status")).to_contain_text("2: ")
        expect(field).not_to_have_attribute("aria-invalid", "true")
        expect(alerts(form)).to_have_count(0)
        assert [said for said in unhelpful if said] == []
        assert it.failures() == it.errors == it.offsite == []


def test_whoever_mistypes_how_many_to_ask_for_is_told_at_that_field_and_nothing_is_used(
    lab: Lab, browser: Browser
) -> None:
    lab.write("asked/asked.ipynb", SESSION, PAY_WHAT_YOU_GET)
    with Notebook.open(lab, browser, "asked/asked.ipynb", viewport={"width": 1280, "height": 1500}) as it:
        it.run_all()
        view = it.region("Pay what you get")
        ask, among = view.get_by_label("Ask for", exact=True), view.get_by_label("out of the largest k̄", exact=True)
        unhelpful = []
        for box, other, slips, right in (
            (ask, among, ("so-so", "", "0", "-1", "2.5", "2000000"), "5"),
            (among, ask, ("so-so", "", "3", "1e9"), "50"),
        ):
            expect(box).to_be_enabled()
            for wrong in slips:
                box.fill(wrong)
                unhelpful.append(slipped(box))
                expect(box).to_have_value(wrong)
                expect(other).not_to_have_attribute("aria-invalid", "true")
                expect(alerts(view)).to_have_count(1)
            box.fill(right)
            expect(box).not_to_have_attribute("aria-invalid", "true")
            expect(alerts(view)).to_have_count(0)

        ask.fill("40")  # a whole number, and more than is left
        view.get_by_role("button", name="Ask up to 40 of 30 left").click()
        unhelpful.append(slipped(ask))
        view.get_by_role("button", name="Ask for 30", exact=True).click()
        expect(ask).to_have_value("30")
        expect(ask).not_to_have_attribute("aria-invalid", "true")
        expect(alerts(view)).to_have_count(0)
        it.screenshot("mistyped")
        assert [said for said in unhelpful if said] == []
        assert it.ask(LEFT).split() == ["30", "6", "1", "1"]
        assert it.failures() == it.errors == it.offsite == []


BINS = PEOPLE + 'dv.Workbench(session, dv.Domain.integers(0, 9, column="visits"), mechanism=dv.Dense("0.5"))'
LABELS = "Labels, separated by commas"
OTHER = "Any other cell counts as"


def test_whoever_mistypes_labels_of_bins_or_columns_of_a_record_is_told_at_that_field(
    lab: Lab, browser: Browser
) -> None:
    lab.write("labels/labels.ipynb", BINS)
    with Notebook.open(lab, browser, "labels/labels.ipynb", viewport=LONG) as it:
        it.run_all()
        question = it.page.get_by_role("group", name="Question", exact=True)
        unhelpful = []

        question.get_by_label("by column", exact=True).select_option("region")
        bins = question.get_by_role("group", name="Declare bins", exact=True)
        labels = bins.get_by_label(LABELS, exact=True)
        for wrong in ("", " , ", "north, north"):
            labels.fill(wrong)
            bins.get_by_role("button", name="Use these bins").click()
            unhelpful.append(slipped(labels))
            expect(labels).to_have_value(wrong)
            expect(labels).to_be_focused()
            expect(alerts(question)).to_have_count(1)
        labels.fill("north, south")
        bins.get_by_role("button", name="Use these bins").click()
        expect(question).to_contain_text("3 bins.")
        expect(alerts(question)).to_have_count(0)

        question.get_by_label("Ask for", exact=True).select_option(label="a drawn record")
        record = question.get_by_role("group", name="Declare columns", exact=True)
        column = record.get_by_role("group", name="Column 1", exact=True)
        column.get_by_label("Column", exact=True).select_option("region")
        for name, before, wrong in (
            (LABELS, {}, ""),
            (LABELS, {}, "north, north"),
            (OTHER, {LABELS: "north, south"}, "so-so"),
        ):
            for label, text in before.items():
                column.get_by_label(label, exact=True).fill(text)
            field = column.get_by_label(name, exact=True)
            field.fill(wrong)
            record.get_by_role("button", name="Use these columns").click()
            unhelpful.append(slipped(field))
            expect(field).to_have_value(wrong)
            expect(field).to_be_focused()
            expect(alerts(question)).to_have_count(1)
        it.screenshot("mistyped")
        column.get_by_label(OTHER, exact=True).fill("south")
        record.get_by_role("button", name="Use these columns").click()
        expect(record).to_be_hidden()
        expect(alerts(question)).to_have_count(0)
        assert [said for said in unhelpful if said] == []
        assert it.failures() == it.errors == it.offsite == []
