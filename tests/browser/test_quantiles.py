"""The line of a quantile on a paid histogram: by mouse and keyboard, narrow, dark, without its kernel, in a report."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Locator, expect

import dpviz as dv
from tests.browser.axe import violations
from tests.browser.lab import Lab, Notebook, at_rest, darken
from tests.browser.test_asking import NARROW, SIDEWAYS
from tests.browser.test_no_kernel import SHUT_DOWN
from tests.browser.test_report import opened

SESSION = """
import dpviz as dv
session = dv.Session(
    dv.datasets.doctor_visits(), dv.Unit("row", noun="person-year"), dv.Budget(epsilon="4"), "line.ledger"
)
release = session.release(
    dv.Domain.integers(0, 40, column="visits", overflow=True), dv.Dense("1/10", clamp=False)
)
"""
SHARE = re.compile("Share of the person-years")


def unfold(part: Locator) -> Locator:
    """The line, opened; its slider."""
    part.locator("summary").click()
    slider = part.get_by_role("slider", name=SHARE)
    expect(slider).to_be_visible()
    return slider


def middle_of(element: Locator) -> tuple[float, float]:
    box = element.bounding_box()
    assert box is not None
    return box["x"] + box["width"] / 2, box["y"] + box["height"] / 2


def test_the_line_is_moved_by_mouse_and_by_keyboard_and_outlives_its_kernel(lab: Lab, browser: Browser) -> None:
    lab.write("line.ipynb", SESSION, "dv.ResultChart(session)")
    with Notebook.open(lab, browser, "line.ipynb", viewport={"width": 1280, "height": 2000}) as it:
        it.run_all()
        part, line = it.page.locator(".dp-quantiles"), it.page.locator(".dp-quantile-line")
        expect(part).to_be_visible()
        expect(line).to_be_hidden()
        slider, head = unfold(part), part.locator(".dp-ask-head")
        median = it.ask("m = release.median(); print(m.label, '|', m.interval_text)").strip().split(" | ")
        expect(head).to_contain_text(f"Median of visits: {median[0]}")
        expect(head).to_contain_text(f"this one alone {median[1]} ·")
        expect(line).to_be_visible()
        expect(slider).to_have_attribute("aria-valuetext", re.compile(r"^50%, Median of visits: \d+; 95 in 100"))
        slider.focus()
        for key in ("ArrowRight", "PageUp", "ArrowLeft", "ArrowRight"):
            it.page.keyboard.press(key)
        far = it.ask("print(release.quantile('4/5').label)").strip()
        expect(head).to_contain_text(f"80% quantile of visits: {far}")
        expect(slider).to_have_attribute("aria-valuetext", re.compile("^80%, 80% quantile"))
        it.page.keyboard.press("End")
        expect(head).to_contain_text("99% quantile")
        right = middle_of(line)
        part.get_by_role("button", name="Median").click()
        line.scroll_into_view_if_needed()
        left = middle_of(line)
        it.page.mouse.move(*left)
        it.page.mouse.down()
        it.page.mouse.move(right[0], left[1], steps=8)
        it.page.mouse.up()
        expect(head).to_contain_text("99% quantile")
        it.page.mouse.move(left[0], left[1] + 200)
        expect(head).to_contain_text("99% quantile")
        part.get_by_role("button", name="Median").click()
        at_rest(it.page)
        it.screenshot("quantile line")
        darken(it.page)
        at_rest(it.page)
        it.screenshot("quantile line, dark")
        assert violations(it.page) == []
        it.page.evaluate(NARROW)
        at_rest(it.page)
        assert it.page.evaluate(SIDEWAYS) <= 0
        expect(line).to_be_visible()
        it.screenshot("quantile line, 320 px")
        assert it.ask("print(session.remaining.epsilon)").strip() == "39/10", "reading is free"
        it.page.evaluate(SHUT_DOWN)
        expect(it.page.get_by_role("region", name="Add up or compare bars")).to_contain_text("no kernel answers")
        slider.focus()
        it.page.keyboard.press("Home")
        expect(head).to_contain_text("1% quantile of visits: 0")
        it.page.get_by_label("How often the bars hold").select_option("0.01")
        expect(part).to_contain_text("need the running notebook")
        assert it.errors == it.offsite == []


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("line")
    unit = dv.Unit("row", noun="person-year")
    session = dv.Session(dv.datasets.doctor_visits(), unit, dv.Budget(epsilon="2"), folder / "line.ledger")
    bins = dv.Domain.integers(0, 40, column="visits", overflow=True)
    return dv.report([session.release(bins, dv.Dense("1/10", clamp=False))], folder / "line.html")


@pytest.mark.parametrize("width", [1000, 320])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_report_moves_the_line_with_no_kernel_and_no_network(
    browser: Browser, path: Path, width: int, scheme: str
) -> None:
    with opened(browser, path, viewport={"width": width, "height": 1200}, color_scheme=scheme) as page:
        part = page.locator(".dp-quantiles")
        slider = unfold(part)
        expect(part.locator(".dp-ask-head")).to_contain_text("Median of visits: ")
        slider.focus()
        page.keyboard.press("End")
        expect(part.locator(".dp-ask-head")).to_contain_text("99% quantile of visits: ")
        expect(part.locator(".dp-quantile-shade")).to_be_visible()
        assert page.evaluate(SIDEWAYS) <= 0
        assert violations(page) == []
        page.get_by_label("How often the bars hold").select_option("0.01")
        expect(part).to_contain_text("This file carries quantiles 95 in 100")
