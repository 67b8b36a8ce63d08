"""Parts beside each other and two columns as a map, in a report: marks stand where the released intervals say, keys
reach every value, nothing leaves a narrow page, and nobody needs colours."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from playwright.sync_api import Browser, Locator, Page, expect

import dpviz as dv
from tests.browser import axe
from tests.browser.lab import SCREENSHOTS, calm
from tests.browser.test_one_design import strokes
from tests.browser.test_report import opened

PEOPLE = 6_000
SEXES = ["F", "M", "not told"]
FRAME = pd.DataFrame(
    {
        "month": [f"month {1 + row % 14}" for row in range(PEOPLE)],
        "age": [20 + (row * row + row // 7) % 24 for row in range(PEOPLE)],
        "sex": [SEXES[0 if row % 5 < 2 else 1 if row % 97 else 2] for row in range(PEOPLE)],
        "score": [row % 40 for row in range(PEOPLE)],
        "weight": [row * row % 45 for row in range(PEOPLE)],
        "city": [f"city {(row * row) % 11 % 6}" for row in range(PEOPLE)],
    }
)
MONTHS = dv.Domain.categories([f"month {at}" for at in range(1, 15)], column="month")
AGES = dv.Domain.integers(20, 43, column="age")
SEX = dv.Domain.categories(SEXES, column="sex")
SCORES = dv.Domain.integers(0, 39, column="score")
WEIGHTS = dv.Domain.integers(0, 44, column="weight")
CITIES = dv.Domain.keys(column="city")
LOOKS: dict[str, tuple[Any, Any, Any]] = {
    "upright": (AGES, dv.Dense("1"), MONTHS),
    "lying": (SEX, dv.Dense("1/4"), MONTHS),
    "keys": (CITIES, dv.Stability("1", delta="1e-6"), MONTHS),
    "lists": (CITIES, dv.TopK(k=4, kbar=6, epsilon="6", delta="1e-5"), MONTHS),
    "ranks": (AGES, dv.Sorted("1"), MONTHS),
    "map": (dv.Domain.product(SEX, AGES), dv.Dense("1/2"), None),
    "wide": (SCORES * WEIGHTS, dv.Dense("1/2"), None),
}
WALKER = ".dp-walked .dp-walker"


def saved(folder: Path, look: str) -> tuple[dv.Release, Path]:
    question, mechanism, by = LOOKS[look]
    session = dv.Session(FRAME, dv.Unit("row", noun="person"), dv.Budget("9", "1e-3"), folder / f"{look}.ledger")
    release = session.release(question, mechanism) if by is None else session.release(question, mechanism, by=by)
    return release, dv.report([release], folder / f"{look}.html")


def drawn(page: Page) -> Locator:
    chart = page.locator(".dp-walked svg.dp-chart").first
    expect(chart).to_be_visible()
    calm(page)
    return chart


def read(chart: Locator, which: str, name: str = "d") -> list[str]:
    found: list[str] = chart.locator(which).evaluate_all(f"all => all.map(one => one.getAttribute('{name}'))")
    return found


def scale(chart: Locator) -> tuple[float, float]:
    """Where 0 stands in the first panel, and how many pixels one count has: from the words beside the axis."""
    words = chart.locator("text.dp-tick[text-anchor=end]").evaluate_all(
        "all => all.map(one => [one.textContent.replaceAll(',', ''), Number(one.getAttribute('y'))])"
    )
    first = [(float(text), y - 4) for text, y in words if text][:3]
    (low, down), (high, up) = min(first), max(first)
    return down + low * (down - up) / (high - low), (down - up) / (high - low)


def uprights(path: str) -> list[tuple[float, float]]:
    """Foot and top of each upright stroke of a path."""
    return [(max(y1, y2), min(y1, y2)) for x1, y1, x2, y2 in strokes(path) if x1 == x2]


def test_bars_of_every_panel_stand_where_the_released_intervals_say(browser: Browser, tmp_path: Path) -> None:
    release, path = saved(tmp_path, "upright")
    with opened(browser, path) as page:
        chart = drawn(page)
        zero, size = scale(chart)
        panels = [list(map(uprights, read(chart, f"path.dp-{kind}"))) for kind in ("one", "all")]
        assert [len(one) for one in panels] == [12, 12]
        feet = [strokes(path)[0][1] for path in read(chart, "path.dp-bar")]
        assert feet[0] == pytest.approx(zero, abs=0.2)
        for at, (name, part) in enumerate(list(release.groups.items())[:12]):
            for found, among in zip(panels, ("one", "all"), strict=True):
                told = part.intervals("0.05", among)  # type: ignore[arg-type]
                assert told is not None
                for (down, up), low, high in zip(found[at], told.low, told.high, strict=True):
                    assert low is not None and high is not None
                    assert down == pytest.approx(feet[at] - size * float(low), abs=0.3), name
                    assert up == pytest.approx(feet[at] - size * float(high), abs=0.3), name


def test_grouped_bars_and_the_map_show_the_released_intervals(browser: Browser, tmp_path: Path) -> None:
    release, path = saved(tmp_path, "map")
    one, every = release.intervals("0.05"), release.intervals("0.05", "all")
    assert one is not None and every is not None
    ages = AGES.size
    with opened(browser, path) as page:
        chart = drawn(page)
        values = chart.locator("text.dp-heat-value").all_text_contents()
        by_age = [f"{release.values[sex * ages + age]:,}" for age in range(ages) for sex in range(3)]
        assert values == by_age
        holds = sum(bool(low <= 0 <= high) for low, high in zip(one.low, one.high, strict=True))
        assert 0 < holds < release.question.bins
        expect(chart.locator(".dp-heat-hole")).to_have_count(holds)
        page.get_by_role("radio", name="Grouped bars").check()
        chart = drawn(page)
        zero, size = scale(chart)
        for sex, group in enumerate(chart.locator(".dp-beside").all()):
            for kind, told in (("one", one), ("all", every)):
                found = uprights(read(group, f"path.dp-beside-{kind}")[0])
                for age, (down, up) in enumerate(found):
                    low, high = told.low[sex * ages + age], told.high[sex * ages + age]
                    assert low is not None and high is not None
                    assert down == pytest.approx(zero - size * float(low), abs=0.3)
                    assert up == pytest.approx(zero - size * float(high), abs=0.3)


def test_arrow_keys_read_cells_and_panels_as_the_release_has_them(browser: Browser, tmp_path: Path) -> None:
    release, path = saved(tmp_path, "map")
    with opened(browser, path) as page:
        drawn(page)
        page.get_by_role("slider", name="Walk the cells").focus()
        for key in ("ArrowRight", "ArrowDown", "ArrowDown"):
            page.keyboard.press(key)
        low, high = (getattr(release.intervals("0.05"), side)[AGES.size + 2] for side in ("low", "high"))
        value = f"{release[('M', 22)]:,}"
        words = rf"sex = M, age = 22: {value} released, ±\d+, 95 in 100; this cell alone: {low:,} to {high:,} · among"
        expect(page.locator(WALKER)).to_have_attribute("aria-valuetext", re.compile(words))
        expect(page.locator(".dp-walked .dp-tip")).to_contain_text(f"sex = M, age = 22: {value} released")
        ring = page.locator(".dp-walked").evaluate("one => getComputedStyle(one).outlineStyle")
        assert ring == "solid"
        box, cell = page.locator(".dp-probe-box").bounding_box(), page.locator("rect.dp-heat").nth(7).bounding_box()
        assert box is not None and cell is not None
        assert abs(box["x"] - cell["x"]) < 4 and abs(box["y"] - cell["y"]) < 4
    release, path = saved(tmp_path, "upright")
    with opened(browser, path) as page:
        drawn(page)
        page.locator(WALKER).focus()
        for key in ("ArrowDown", "ArrowRight"):
            page.keyboard.press(key)
        value = f"{release.groups['month 2'].values[1]:,}"
        expect(page.locator(WALKER)).to_have_attribute(
            "aria-valuetext", re.compile(rf"month 2, 21: {value} released; ")
        )
        page.get_by_role("button", name="Later").press("Enter")
        page.locator(WALKER).focus()
        expect(page.locator(WALKER)).to_have_attribute("aria-valuetext", re.compile("month 1[34], "))


def test_a_map_wider_than_its_place_scrolls_in_it_to_the_cell_that_is_walked_to(
    browser: Browser, tmp_path: Path
) -> None:
    _, path = saved(tmp_path, "wide")
    with opened(browser, path, viewport={"width": 320, "height": 900}) as page:
        drawn(page)
        scroll = page.locator(".dp-walked .dp-scroll")
        wide, room = scroll.evaluate("one => [one.scrollWidth, one.clientWidth]")
        assert wide > room
        page.locator(WALKER).focus()
        page.keyboard.press("End")
        expect(page.locator(WALKER)).to_have_attribute("aria-valuetext", re.compile("score = 39, weight = 0: "))
        assert scroll.evaluate("one => one.scrollLeft") > 0
        probe, place = page.locator(".dp-probe-box").bounding_box(), scroll.bounding_box()
        assert probe is not None and place is not None
        assert place["x"] <= probe["x"] and probe["x"] + probe["width"] <= place["x"] + place["width"]
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


@pytest.mark.parametrize("look", LOOKS)
def test_every_look_can_be_read_by_everybody(browser: Browser, tmp_path: Path, look: str) -> None:
    """Light, dark, narrow and with the colours of the system; the rules of axe-core; no page scrolls sideways."""
    _, path = saved(tmp_path, look)
    windows: dict[str, dict[str, Any]] = {
        "light": {"color_scheme": "light"},
        "dark": {"color_scheme": "dark"},
        "narrow": {"viewport": {"width": 320, "height": 900}},
        "forced": {"forced_colors": "active"},
    }
    for name, window in windows.items():
        with opened(browser, path, **window) as page:
            expect(page.locator(".dp-walked")).to_be_visible()
            calm(page)
            looks = page.locator(".dp-product > .dp-looks input")
            for at in range(max(1, looks.count())):
                if looks.count():
                    looks.nth(at).check()
                    calm(page)
                place = SCREENSHOTS / "side by side"
                page.locator(".dp-result").first.screenshot(path=place / f"{look} {at} {name}.png")
                assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), (name, at)
            if name in ("light", "dark"):
                assert axe.violations(page) == []
