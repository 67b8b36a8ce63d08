"""axe-core finds nothing wrong with our part of a page: in JupyterLab light, dark, high in contrast and in forced
colours, and in reports with every kind of answer and every explorer."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

import dpviz as dv
from tests.browser.axe import violations
from tests.browser.lab import Lab, Notebook, set_theme
from tests.browser.test_report import opened

SCREENS = (
    """
import dpviz as dv
visits = dv.datasets.doctor_visits()
unit = dv.Unit("row", noun="person-year")
session = dv.Session(visits, unit, dv.Budget(epsilon="20", delta="1e-4"), "axe.ledger")
bins = dv.Domain.integers(0, 40, column="visits", overflow=True)
session.release(bins, dv.Dense("1/2"))
first = dv.Workbench(session, bins)
first
""",
    """
session.release("visits", dv.TopK(k=5, kbar=20, epsilon="1", delta="1e-6"))
dv.Workbench(session, "visits", mechanism=dv.TopK(k=5, kbar=20, epsilon="1/2", delta="1e-6"))
""",
    """
sub = session.open(dv.PayWhatYouGet(symbols=30, questions=6, epsilon="3", delta="1e-6"))
sub.ask("visits", k=5)
dv.PayWhatYouGetTape(sub)
""",
    """
lesson = dv.teaching(visits, 5, unit)
lesson.draw(bins, dv.Dense("1/2"))
dv.Workbench(lesson, bins)
""",
)
EXPLORERS = (
    "import dpviz as dv",
    "dv.SamplerExplorer()",
    'dv.MechanismComparison(None, dv.Domain.integers(0, 40, column="visits"))',
    'dv.TopKExplorer("step")',
    "dv.CompositionExplorer()",
    "dv.ConsistencyPlayground()",
    'dv.IsotonicExplorer("equal", n=20)',
    'dv.RangeExplorer("flat")',
    "dv.AlpAnatomy()",
    "dv.TradeoffExplorer()",
    "dv.SamplingExplorer()",
    "dv.ProductSamplerTrace(n=1000, columns=80)",
)
THEMES = ("Light", "Dark", "Dark High Contrast")

SETTLED = """async () => {
    for (const one of document.getAnimations())
        if (one.effect.getComputedTiming().endTime !== Infinity) one.finish();
    for (const _ of [1, 2]) await new Promise(requestAnimationFrame);
}"""


@pytest.mark.parametrize(("name", "cells", "count"), [("screens", SCREENS, 4), ("explorers", EXPLORERS, 11)])
def test_it_finds_nothing_wrong_in_jupyterlab_whatever_the_theme(
    lab: Lab, browser: Browser, name: str, cells: tuple[str, ...], count: int
) -> None:
    lab.write(f"axe/{name}.ipynb", *cells)
    found: dict[str, list[str]] = {}
    tall = {"width": 1280, "height": 2500 * count}
    with Notebook.open(lab, browser, f"axe/{name}.ipynb", viewport=tall, reduced_motion="reduce") as it:
        it.run_all()
        expect(it.page.locator(".dpviz:has(svg)")).to_have_count(count)
        for theme in THEMES:
            set_theme(it.page, theme)
            it.page.evaluate(SETTLED)
            found[theme] = violations(it.page)
        it.page.emulate_media(forced_colors="active")
        it.page.wait_for_function("() => matchMedia('(forced-colors: active)').matches")
        found["forced colours"] = violations(it.page)
        assert it.failures() == it.errors == []
    assert {where: broken for where, broken in found.items() if broken} == {}


@pytest.fixture(scope="module")
def reports(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Every kind of answer in one report, a teaching draw with them; every explorer in another."""
    folder = tmp_path_factory.mktemp("axe")
    visits, unit = dv.datasets.doctor_visits(), dv.Unit("row", noun="person-year")
    session = dv.Session(visits, unit, dv.Budget(epsilon="40", delta="1e-4"), folder / "axe.ledger")
    bins = dv.Domain.integers(0, 40, column="visits", overflow=True)
    health = dv.Domain.categories(["excellent", "good", "fair"], column="self_rated_health", other=True)
    keys = dv.Domain.keys(column="visits")
    asked: list[tuple[object, dv.Dense | object]] = [
        (bins, dv.Dense("1")),
        (health * dv.Domain.integers(0, 5, column="visits"), dv.Dense("1")),
        (keys, dv.Stability("1", "1e-6")),
        (bins, dv.Tree("1")),
        (bins, dv.Sorted("1")),
        (health, dv.Queries("1")),
        ("visits", dv.TopK(k=5, kbar=20, epsilon="1", delta="1e-6")),
        ("visits", dv.TopKLaplace(k=3, kbar=20, epsilon="3", delta="1e-6")),
        ("visits", dv.TopKSet(k=3, epsilon="3", delta="1e-6")),
        (keys, dv.ThresholdALP("1", keys=60, delta="1e-6")),
        (keys, dv.ThresholdMaxProjection("1/4", keys=60, delta="1e-6")),
        (keys, dv.KeyCount("1/8", "1/100")),
        (dv.Domain.integers(0, 2**40, column="visits"), dv.Compact("1", cap=40)),
        (dv.Question.records([dv.Domain.integers(0, 9, column="visits")]), dv.SampleCategory("1")),
    ]
    releases = [session.release(question, mechanism) for question, mechanism in asked]  # type: ignore[arg-type]
    drawn = dv.teaching(visits, 7, unit).draw(bins, dv.Dense("1"))
    explorers = [eval(cell, {"dv": dv}) for cell in EXPLORERS[1:]]
    return {
        "answer": dv.report(releases[:1], folder / "answer.html", ledger=session),
        "answers": dv.report([*releases, drawn], folder / "answers.html", ledger=session),
        "explorers": dv.report(explorers, folder / "explorers.html"),
    }


ALIKE = ("landmark-unique",)
"""Of fifteen answers each has its table, called the same: which is whose is told by the section that it stands in."""


def whole(page: Page) -> Page:
    expect(page.get_by_role("heading", level=1)).to_be_visible()
    expect(page.locator("svg").first).to_be_visible()
    return page


@pytest.mark.parametrize("name", ["answer", "answers", "explorers"])
def test_it_finds_nothing_wrong_in_a_report(browser: Browser, reports: dict[str, Path], name: str) -> None:
    found: dict[str, list[str]] = {}
    windows = {"light": {"color_scheme": "light"}, "dark": {"color_scheme": "dark"}, "forced": {}}
    for scheme, window in windows.items():
        with opened(browser, reports[name], reduced_motion="reduce", **window) as page:
            if scheme == "forced":
                page.emulate_media(forced_colors="active")
                page.wait_for_function("() => matchMedia('(forced-colors: active)').matches")
            found[scheme] = violations(whole(page), "html", leave=ALIKE if name == "answers" else ())
    assert {where: broken for where, broken in found.items() if broken} == {}


PLANTED = {
    "color-contrast": "<p style='color: #999; background: #fff'>too pale to be read</p>",
    "button-name": "<button></button>",
    "label": "<input type='text'>",
    "aria-required-parent": "<div role='row'>a row of no table</div>",
    "svg-img-alt": "<svg role='img' width='9' height='9'></svg>",
}


@pytest.mark.parametrize("rule", PLANTED)
def test_a_fault_that_is_planted_is_found(browser: Browser, reports: dict[str, Path], rule: str) -> None:
    with opened(browser, reports["answer"]) as page:
        whole(page).evaluate(
            "html => document.querySelector('main').insertAdjacentHTML('beforeend', html)", PLANTED[rule]
        )
        assert rule in {line.partition(":")[0] for line in violations(page, "main")}
