"""No label of a chart covers a curve, a mark, a line or another label: in every explorer and in the plan, with every
slider at both ends, at two widths, with the largest numbers and the longest labels that they take."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from playwright.sync_api import Browser, Page, expect

import dpviz as dv
from tests.browser.lab import calm, resize
from tests.browser.test_explorer_pictures import LARGE, MILLIONS
from tests.browser.test_one_design import MADE as RELEASES
from tests.browser.test_report import opened

COVERED = """() => {
    const found = [], box = element => element.getBoundingClientRect();
    const shown = element => element.checkVisibility({ visibilityProperty: true }) && box(element).width > 0;
    const name = element => element.textContent.trim().slice(0, 60);
    // What is written, without the room above and below the letters; turned with the words.
    const inked = text => {
        const { x, y, width, height } = text.getBBox(), matrix = text.getScreenCTM();
        const [left, right, top, bottom] = [x + 1, x + width - 1, y + 3, y + height - 3];
        return [[left, top], [right, top], [right, bottom], [left, bottom]]
            .map(([a, b]) => new DOMPoint(a, b).matrixTransform(matrix));
    };
    const normals = quad => quad.map((p, i) => { const q = quad[(i + 1) % 4]; return [q.y - p.y, p.x - q.x]; });
    const apart = (one, other) => [...normals(one), ...(other.length === 4 ? normals(other) : [])].some(([x, y]) => {
        const [a, b] = [one, other].map(points => points.map(point => point.x * x + point.y * y));
        return Math.max(...a) <= Math.min(...b) || Math.max(...b) <= Math.min(...a);
    });
    for (const svg of document.querySelectorAll('.dpviz svg')) {
        if (!shown(svg)) continue;
        const about = (svg.querySelector('title')?.textContent ?? '').slice(0, 50);
        const texts = [...svg.querySelectorAll('text')].filter(text => name(text) !== '' && shown(text));
        const words = texts.map(text => ({ text, quad: inked(text) }));
        const say = (one, what) => found.push(`${name(one.text)} | ${what} | ${about}`);
        const drawn = ['path.dp-curve', 'path.dp-trail', 'path.dp-best-line'];
        const lines = [...drawn, 'line.dp-probe', 'line.dp-crossover', 'line.dp-leader'].join();
        for (const line of svg.querySelectorAll(lines)) {
            if (!line.checkVisibility({ visibilityProperty: true }) || line.getAttribute('d') === '') continue;
            const length = line.getTotalLength(), matrix = line.getScreenCTM(), hit = new Set();
            for (let at = 0; at <= length; at += 1) {
                const point = line.getPointAtLength(at).matrixTransform(matrix);
                for (const one of words) if (!hit.has(one) && !apart(one.quad, [point])) hit.add(one);
            }
            for (const one of hit) say(one, `lies on ${line.getAttribute('class')}`);
        }
        for (const mark of svg.querySelectorAll('circle, .dp-spot, .dp-shape')) {
            if (!shown(mark)) continue;
            const { left, right, top, bottom } = box(mark);
            const [a, b, c, d] = [left + 1.5, right - 1.5, top + 1.5, bottom - 1.5];
            const around = [[a, c], [b, c], [b, d], [a, d]].map(([x, y]) => new DOMPoint(x, y));
            const kind = mark.getAttribute('class');
            for (const one of words) if (!apart(one.quad, around)) say(one, `lies on a mark, ${kind}`);
        }
        words.forEach((one, i) => words.slice(i + 1).forEach(other => {
            if (!apart(one.quad, other.quad)) say(one, `lies on ${name(other.text)}`);
        }));
        const frame = box(svg);
        for (const one of words) {
            const { left, right, top, bottom } = box(one.text);
            const out = Math.max(frame.left - left, right - frame.right, frame.top - top, bottom - frame.bottom);
            if (out > 2) say(one, 'leaves its picture');
        }
    }
    return [...new Set(found)];
}"""

PLANTED = """() => {
    const svg = document.querySelector('.dpviz svg:has(path.dp-curve)'), curve = svg.querySelector('path.dp-curve');
    const { x, y } = curve.getPointAtLength(curve.getTotalLength() / 2);
    const text = document.createElementNS(svg.namespaceURI, 'text');
    text.setAttribute('x', x - 10); text.setAttribute('y', y + 4); text.setAttribute('class', 'dp-label');
    text.textContent = 'planted';
    svg.append(text);
}"""


def _minutes(unit: dv.Unit, epsilon: str = "1/2", count: int | None = None) -> Any:
    minutes = dv.Domain.integers(0, 525_599, column="scheduled_minute")
    return dv.MechanismComparison(None, minutes, unit=unit, epsilon=epsilon, count=count)


def _busy() -> dv.PublicTable:
    edges = [1_000_000_000 + 86_400_000 * place for place in range(400)]
    long = dv.Domain.intervals(edges, column="seconds_since_the_epoch_of_the_sensor_that_measured")
    return dv.PublicTable(long, np.arange(399) ** 3 % 1_000_003 * 1_009)


MADE: dict[str, Callable[[], Any]] = {
    "comparison": lambda: _minutes(dv.Unit(relation="replace-one", n=1000), count=30),
    "comparison, large": lambda: _minutes(dv.Unit(relation="replace-one", n=200_000), "0.001"),
    "comparison, few": lambda: dv.MechanismComparison(None, dv.Domain.integers(0, 9, column="a"), epsilon=1),
    "top-k, power": lambda: dv.TopKExplorer("power"),
    "top-k, flat": lambda: dv.TopKExplorer("flat", k=100, kbar=500, epsilon_per_item="0.005", max_bins=None),
    "top-k, step": lambda: dv.TopKExplorer("step", k=3, kbar=10),
    "composition": lambda: dv.CompositionExplorer(),
    "composition, large": lambda: dv.CompositionExplorer(epsilon=2, delta="1e-12", k=200),
    "sampler": lambda: dv.SamplerExplorer(),
    "sampler, short": lambda: dv.SamplerExplorer(n=30, c=10, epsilon="1/2", gamma="1/100", t=2),
    "alp": lambda: dv.AlpAnatomy(),
    "tradeoff": lambda: dv.TradeoffExplorer(),
    "sampling": lambda: dv.SamplingExplorer(),
    "product": lambda: dv.ProductSamplerTrace(n=2000, columns=160),
    "playground": lambda: dv.ConsistencyPlayground(LARGE, epsilon="0.01"),
    "isotonic": lambda: dv.IsotonicExplorer(MILLIONS, epsilon="0.001"),
    "range": lambda: dv.RangeExplorer(_busy(), epsilon="0.001", branching=2),
    **{f"a result, {name}": make for name, make in RELEASES.items()},
}


def covered(page: Page) -> list[str]:
    calm(page)
    found: list[str] = page.evaluate(COVERED)
    return found


@pytest.mark.parametrize("name", MADE)
def test_labels_keep_clear_of_curves_marks_and_each_other(browser: Browser, tmp_path: Path, name: str) -> None:
    path = dv.report([MADE[name]()], tmp_path / "explorer.html")
    faults: dict[str, list[str]] = {}
    with opened(browser, path) as page:
        for width in (1000, 320):
            resize(page, width, 900)
            expect(page.locator(".dpviz svg").first).to_be_visible()
            faults[f"{width} px"] = covered(page)
            sliders = page.get_by_role("slider")
            for place in range(sliders.count()):
                slider = sliders.nth(place)
                if not slider.is_visible() or not slider.is_enabled():
                    continue
                for key in ("Home", "End"):
                    slider.focus()
                    slider.press(key)
                    faults[f"{width} px, slider {place} at {key}"] = covered(page)
    assert {where: found for where, found in faults.items() if found} == {}


def test_a_label_on_a_curve_is_found(browser: Browser, tmp_path: Path) -> None:
    with opened(browser, dv.report([dv.CompositionExplorer()], tmp_path / "explorer.html")) as page:
        expect(page.locator(".dpviz svg").first).to_be_visible()
        assert covered(page) == []
        page.evaluate(PLANTED)
        assert any(said.startswith("planted | lies on dp-curve") for said in covered(page))
