"""A released answer in a real JupyterLab, as strips: 50, 80 and 95 in 100, with all bins at once around them."""

from __future__ import annotations

import re
from itertools import pairwise

from playwright.sync_api import Browser, expect

from tests.browser.lab import SCREENSHOTS, Lab, Notebook, at_rest, darken
from tests.browser.test_sparse import UNNAMED

RELEASED = """
import dpviz as dv
session = dv.Session(
    dv.datasets.doctor_visits(), dv.Unit("row", noun="person-year"), dv.Budget(epsilon="2"), "strips.ledger"
)
release = session.release(dv.Domain.integers(0, 40, column="visits", overflow=True), dv.Dense("1/10"))
"""
TALL = {"width": 1280, "height": 1700}
NESTED = """svg => ['.dp-around', '.dp-strip-0', '.dp-strip-1', '.dp-strip-2'].map(kind => {
    const [path, box] = [svg.querySelector(kind), svg.querySelector(kind).getBBox()];
    return [box.y, -(box.y + box.height), -Math.round(path.getTotalLength())];
})"""
"""From the outline inwards, where each begins, and where it ends, upside down, and how long its boxes are around."""


def test_a_released_answer_is_drawn_in_strips_and_in_bars_again(lab: Lab, browser: Browser) -> None:
    lab.write("strips/strips.ipynb", RELEASED, "dv.Workbench(session)")
    with Notebook.open(lab, browser, "strips/strips.ipynb", viewport=TALL) as it:
        it.run_all()
        result = it.page.locator(".dp-result")
        bars, strips = (result.get_by_role("radio", name=name, exact=True) for name in ("Bars", "Strips"))
        expect(bars).to_be_checked()
        expect(result.locator(".dp-strip")).to_have_count(0)
        thick = result.locator(".dp-stage .dp-one")
        expect(thick.first).to_be_visible()

        bars.focus()
        it.page.keyboard.press("ArrowRight")  # the switch is one stop, and arrows turn it
        expect(strips).to_be_checked()
        expect(strips).to_be_focused()
        drawn = result.locator(".dp-stage svg", has=it.page.locator("path.dp-strip"))
        expect(drawn).to_have_count(1)
        ends = drawn.evaluate(NESTED)
        for outer, inner in pairwise(ends):  # all are cut off at the ends of the panel
            assert outer[0] <= inner[0] and outer[1] <= inner[1] and outer[2] < inner[2], ends
        expect(thick).to_have_count(0)
        key = result.locator(".dp-key")
        expect(key).to_contain_text("dark to pale")
        said = " ".join(key.inner_text().split())
        stated = it.ask(
            "e = release.error\n"
            "from fractions import Fraction as F\n"
            "print(*[int(e.one_bin(F(b, 100)).value) for b in (50, 20, 5)], int(e.all_bins(F(5, 100)).value))"
        ).split()
        assert re.findall(r"±(\d+)", said) == stated, said
        assert "50" in said and "80" in said and "95 in 100" in said
        assert it.page.evaluate(UNNAMED) == 0
        at_rest(it.page)
        SCREENSHOTS.mkdir(parents=True, exist_ok=True)
        result.screenshot(path=SCREENSHOTS / "strips-lab-light.png")
        darken(it.page)
        at_rest(it.page)
        result.screenshot(path=SCREENSHOTS / "strips-lab-dark.png")

        bars.check()
        expect(result.locator(".dp-strip")).to_have_count(0)
        expect(thick.first).to_be_visible()
        assert it.ask("print(len(session.releases), session.remaining.epsilon)").split() == ["1", "19/10"]
        assert it.failures() == it.errors == it.offsite == []
