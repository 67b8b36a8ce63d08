"""The explorers of consistency at three widths, light and dark, with the largest numbers and the longest labels that
they take: nothing scrolls sideways, no text leaves its box, no labels lie on each other. Pictures are kept."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from playwright.sync_api import Browser, Page, expect

import dpviz as dv
from tests.browser.lab import SCREENSHOTS, resize
from tests.browser.test_report import opened

LARGE = [
    987_654_321,
    0,
    123_456_789,
    999_999_999,
    5,
    876_543_210,
    1,
    0,
    345_678_901,
    0,
    0,
    765_432_109,
    2,
    3,
    0,
    111_111_111,
]
MILLIONS = [1_000_000 * (place // 40) + 999_999 for place in range(2_000)]

FAULTS = """() => {
    const found = [], box = element => element.getBoundingClientRect();
    const shown = element => element.checkVisibility({ visibilityProperty: true }) && box(element).width > 0;
    const name = element => element.textContent.trim().slice(0, 60);
    const meet = (from, to, start, end) => from < end - 3 && start < to - 3;
    const lie = (a, b) => meet(a.left, a.right, b.left, b.right) && meet(a.top, a.bottom, b.top, b.bottom);
    const sideways = document.documentElement.scrollWidth - window.innerWidth;
    if (sideways > 0) found.push(`the page scrolls sideways by ${sideways}`);

    for (const svg of document.querySelectorAll('.dpviz svg')) {
        const frame = box(svg);
        const texts = [...svg.querySelectorAll('text')].filter(text => name(text) !== '' && shown(text));
        for (const text of texts) {
            const { left, right, top, bottom } = box(text);
            const out = Math.max(frame.left - left, right - frame.right, frame.top - top, bottom - frame.bottom);
            if (out > 2) found.push(`${name(text)} leaves its picture by ${out.toFixed(1)}`);
        }
        texts.forEach((one, i) => texts.slice(i + 1).forEach(other => {
            if (lie(box(one), box(other))) found.push(`${name(one)} lies on ${name(other)}`);
        }));
    }

    const lines = [];
    const walker = document.createTreeWalker(document.querySelector('main') ?? document.body, NodeFilter.SHOW_TEXT);
    for (let node = walker.nextNode(); node; node = walker.nextNode()) {
        const element = node.parentElement;
        const apart = 'svg, select, datalist, script, style, .dp-offscreen, .dp-table-box, [hidden]';
        if (node.data.trim() === '' || !shown(element) || element.closest(apart)) continue;
        const range = document.createRange();
        range.selectNodeContents(node);
        const words = node.data.trim().slice(0, 60);
        for (const line of range.getClientRects()) if (line.width > 1) lines.push({ line, element, words });
    }
    for (const { line, element, words } of lines) {
        if (line.right > window.innerWidth + 1) found.push(`${words} leaves the page`);
        for (let around = element; around && !around.matches('main, body'); around = around.parentElement) {
            if (getComputedStyle(around).overflowX === 'visible') continue;
            const { left, right } = box(around);
            if (line.left < left - 1 || line.right > right + 1) found.push(`${words} is cut by its box`);
            break;
        }
    }
    lines.forEach(({ line, words }, i) => lines.slice(i + 1).forEach(other => {
        if (lie(line, other.line)) found.push(`${words} lies on ${other.words}`);
    }));
    return found;
}"""


@pytest.fixture(scope="module")
def reports(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Each explorer alone in a report, with much in it."""
    folder = tmp_path_factory.mktemp("explorers")
    edges = [1_000_000_000 + 86_400_000 * place for place in range(400)]
    long = dv.Domain.intervals(edges, column="seconds_since_the_epoch_of_the_sensor_that_measured")
    busy = dv.PublicTable(long, np.arange(399) ** 3 % 1_000_003 * 1_009)
    made: dict[str, Any] = {
        "playground tree": dv.ConsistencyPlayground(LARGE, epsilon="0.01"),
        "playground sorted": dv.ConsistencyPlayground(LARGE, "sorted", epsilon="0.01"),
        "isotonic": dv.IsotonicExplorer(MILLIONS, epsilon="0.001"),
        "range": dv.RangeExplorer(busy, epsilon="0.001", branching=2),
    }
    return {name: dv.report([one], folder / f"{name}.html") for name, one in made.items()}


def settle(page: Page, width: int) -> None:
    expect(page.locator(".dpviz svg").first).to_be_visible()
    resize(page, width, 900)


@pytest.mark.parametrize("name", ["playground tree", "playground sorted", "isotonic", "range"])
def test_an_explorer_with_much_in_it_is_whole_at_every_width_light_and_dark(
    browser: Browser, reports: dict[str, Path], name: str
) -> None:
    SCREENSHOTS.mkdir(parents=True, exist_ok=True)
    faults: dict[str, list[str]] = {}
    for scheme in ("light", "dark"):
        with opened(browser, reports[name], color_scheme=scheme) as page:
            for width in (1200, 640, 320):
                settle(page, width)
                if found := page.evaluate(FAULTS):
                    faults[f"{width} {scheme}"] = found
                page.screenshot(path=SCREENSHOTS / f"explorer {name} {width} {scheme}.png", full_page=True)
    assert faults == {}
