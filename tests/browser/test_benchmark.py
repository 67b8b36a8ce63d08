"""The benchmark of the page runs at its smallest: one notebook, few steps of a slider."""

from __future__ import annotations

from playwright.sync_api import Browser

from benchmarks import page


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
    ]
    assert all(line.found.endswith(" ms") for line in lines)
