"""The benchmark of the page runs at its smallest: one notebook, few steps of a slider."""

from __future__ import annotations

from pathlib import Path

from playwright.sync_api import Browser

from benchmarks import page, start
from tests.browser.lab import Lab

REPORTS = [f"report of {of}: {what}" for of in ("one release", "three") for what in ("bytes", "sheets of A4")]


def test_reports_are_measured_in_bytes_and_in_sheets_of_paper(browser: Browser, tmp_path: Path) -> None:
    lines = page.reports(tmp_path, browser)
    assert [line.what for line in lines] == REPORTS
    assert all(line.holds for line in lines), lines
    assert int(lines[1].found) >= 2 and int(lines[3].found) > int(lines[1].found)


def test_redraws_are_measured_with_the_kernel_idle_releasing_and_gone(browser: Browser) -> None:
    lines = page.table({42: 50.0}, 4, browser)
    assert [line.what.partition(":")[0] for line in lines] == [
        "42 bins, kernel idle",
        "42 bins, a release running",
        "42 bins, no kernel",
        "four mechanisms compared",
        "a range of 525,600 bins brushed by keyboard",
        "a range of 525,600 bins brushed by mouse",
        "sparse releases, True value x of an entry",
        "sparse releases, Privacy loss ε",
        "sparse releases, Room per entry, s/k",
        "drawing and learning, Labels k, or bits d",
        "drawing and learning, Privacy loss ε",
        "the product sampler traced, People, n",
        *["report of one release"] * 2,
        *["report of three"] * 2,
    ]
    assert all(line.found.endswith(" ms") for line in lines[:-4])


def test_the_start_notebook_is_timed_until_its_slider_moves(lab: Lab, browser: Browser) -> None:
    assert 0 < start.notebooks(lab, browser, 1) < 600
