"""The chart of a release is saved as a picture, without a server: it stands alone, in the colours on show."""

from __future__ import annotations

import struct
from pathlib import Path
from xml.etree import ElementTree

import pytest
from playwright.sync_api import Browser, expect

from tests.browser.lab import SCREENSHOTS, Lab, Notebook, calm, darken, set_theme

SETUP = """
import dpviz as dv
hostile = "</svg><img src=x onerror=alert(1)> & a label that is long enough to be cut off somewhere"
visits = dv.datasets.doctor_visits()
session = dv.Session(visits, dv.Unit("row", noun="person-year"), dv.Budget("20", "1e-5"), "picture{dark}.ledger")
bins = dv.Domain.integers(0, 40, column="visits", overflow=True)
health = dv.Domain.categories(["excellent", hostile, "good", "fair", "poor"], column="self_rated_health")
session.release({question})
dv.Workbench(session, {shown})
"""
KINDS = {
    "bars": ('bins, dv.Dense("1")', "bins"),
    "labels": ('health, dv.Dense("1")', "health"),
    "list": ('"self_rated_health", dv.TopKLaplace(k=3, kbar=5, epsilon="10", delta="1e-6")', '"self_rated_health"'),
}


@pytest.mark.parametrize(("kind", "dark"), [("bars", False), ("labels", True), ("list", False)])
def test_a_chart_is_saved_as_svg_and_png(lab: Lab, browser: Browser, kind: str, dark: bool, tmp_path: Path) -> None:
    question, shown = KINDS[kind]
    path = f"picture-{kind}-{dark}.ipynb"
    lab.write(path, SETUP.format(question=question, shown=shown, dark=f"{kind}{dark}"))
    with Notebook.open(lab, browser, path, viewport={"width": 1280, "height": 2000}) as notebook:
        page = notebook.page
        notebook.run_all()
        if dark:
            darken(page)
        result = page.locator(".dp-result")
        expect(result.locator(".dp-result-title")).to_contain_text("released with")
        title = result.locator(".dp-result-title").inner_text()
        # Without a chart no picture is on offer, and both pictures are to be of one drawing.
        expect(result.locator("svg.dp-chart").filter(visible=True).first).to_be_visible()
        calm(page)
        saved = {}
        for form in ("SVG", "PNG"):
            result.get_by_role("button", name="Save", exact=True).click()
            with page.expect_download() as download:
                result.get_by_role("button", name=f"Picture, {form}", exact=True).click()
            assert download.value.suggested_filename == f"release-1.{form.lower()}"
            saved[form] = tmp_path / download.value.suggested_filename
            download.value.save_as(saved[form])
        if dark:
            set_theme(page, "Light")
        svg = ElementTree.parse(saved["SVG"]).getroot()
        text = saved["SVG"].read_text()
        assert [one.tag for one in svg.iter() if "class" in one.attrib or "image" in one.tag] == []
        assert "var(--" not in text and "<img" not in text
        words = " ".join(part for one in svg.iter() for part in [one.text or ""])
        assert title in words and "differential privacy" in words
        assert "rgb(" in text
        width, height = (float(svg.attrib[name]) for name in ("width", "height"))
        points = saved["PNG"].read_bytes()
        assert points[:8] == b"\x89PNG\r\n\x1a\n"
        assert struct.unpack(">II", points[16:24]) == (round(2 * width), round(2 * height))
        # Alone, in a page without any style sheet, it is what the PNG shows.
        alone = page.context.new_page()
        alone.goto(saved["SVG"].as_uri())
        expect(alone.locator("svg").first).to_be_visible()
        SCREENSHOTS.mkdir(parents=True, exist_ok=True)
        (SCREENSHOTS / f"saved-{kind}-{'dark' if dark else 'light'}.png").write_bytes(points)
        alone.close()
        assert notebook.failures() == notebook.errors == notebook.offsite == []
