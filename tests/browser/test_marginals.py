"""Tables that agree in a real JupyterLab: one at a time as a map, picked by keyboard, with the kernel's numbers."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Browser, expect

from tests.browser import axe
from tests.browser.lab import Lab, Notebook, at_rest, darken

SETUP = (
    "import dpviz as dv\n"
    "visits = dv.datasets.doctor_visits()\n"
    'session = dv.Session(visits, dv.Unit("row", noun="person-year"), dv.Budget("9", "1e-4"), "tables.ledger")\n'
    'health = dv.Domain.categories(["excellent", "good", "fair", "poor"], column="self_rated_health")\n'
    'columns = [dv.Domain.integers(0, 12, column="visits", overflow=True), health,\n'
    '           dv.Domain.integers(0, 1, column="physical_limitation")]\n'
    'release = session.release(dv.Domain.product(*columns), dv.Marginals("1", weights={("visits",): 1}))\n'
    "dv.ResultChart(session)"
)
MAPS = "document.querySelectorAll('.dp-marginals .dp-plot > svg rect.dp-heat').length"


def test_a_table_is_picked_by_keyboard_and_shows_what_the_kernel_reads(lab: Lab, browser: Browser) -> None:
    lab.write("tables/tables.ipynb", SETUP)
    with Notebook.open(lab, browser, "tables/tables.ipynb", viewport={"width": 1280, "height": 1500}) as it:
        it.run_all()
        picked = it.page.get_by_label("Table of", exact=True)
        expect(picked.locator("option")).to_have_count(4)
        expect(it.page.get_by_role("img", name=re.compile("visits × self_rated_health"))).to_be_visible()
        expect(it.page.locator(".dpviz")).to_contain_text(
            re.compile(r"Any one cell of visits × self_rated_health is within ±\S+ of the true count, 95 in 100")
        )
        assert it.page.evaluate(MAPS) == 14 * 4
        assert axe.violations(it.page) == []
        it.screenshot("map")
        picked.focus()
        picked.press("ArrowDown")
        picked.press("ArrowDown")
        expect(it.page.get_by_role("img", name=re.compile("self_rated_health × physical_limitation"))).to_be_visible()
        expect(picked).to_be_focused()
        assert it.page.evaluate(MAPS) == 4 * 2
        cells = it.page.locator(".dp-marginals svg text.dp-heat-value").all_text_contents()
        code = "print(*(f'{round(c.value):,}' for c in release.marginal(['self_rated_health', 'physical_limitation'])))"
        assert [cell.replace("\u2212", "-") for cell in cells] == it.ask(code).split()
        read = it.page.get_by_label("Read as", exact=True)
        read.focus()
        read.press("ArrowDown")
        expect(it.page.locator(".dp-marginals")).to_contain_text("No interval is stated")
        expect(it.page.locator(".dp-marginals svg .dp-heat-hole")).to_have_count(0)
        cells = it.page.locator(".dp-marginals svg text.dp-heat-value").all_text_contents()
        whole = "release.marginal(['self_rated_health', 'physical_limitation'], reader='nonnegative whole')"
        assert cells == it.ask(f"print(*(f'{{int(c.value):,}}' for c in {whole}))").split()
        assert axe.violations(it.page) == []
        it.screenshot("whole")
        read.press("Home")
        picked.press("Home")
        listed = it.page.get_by_role("region", name="Cells of visits")
        expect(listed.get_by_role("row")).to_have_count(15)
        numbers = it.page.get_by_role("region", name="Numbers of this answer").first
        expect(numbers).to_contain_text("visits = 0 · self_rated_health = excellent")
        it.screenshot("list")
        assert it.errors == it.offsite == []


@pytest.mark.parametrize("width", [1280, 660])
def test_maps_can_be_read_light_and_dark_wide_and_narrow_and_in_a_report(
    lab: Lab, browser: Browser, width: int
) -> None:
    name = f"tables-{width}"
    lab.write(f"{name}/{name}.ipynb", SETUP, 'dv.report([release], "tables.html")')
    with Notebook.open(lab, browser, f"{name}/{name}.ipynb", viewport={"width": width, "height": 1500}) as it:
        it.run_all()
        expect(it.page.get_by_role("img", name=re.compile("visits × self_rated_health"))).to_be_visible()
        at_rest(it.page)
        it.screenshot("light")
        darken(it.page)
        it.screenshot("dark")
        assert it.errors == it.offsite == []
    report = browser.new_page(viewport={"width": width, "height": 1500})
    report.goto((lab.folder / name / "tables.html").as_uri())
    expect(report.get_by_role("img", name=re.compile("visits × self_rated_health"))).to_be_visible()
    assert report.evaluate(MAPS) == 14 * 4
    report.close()
