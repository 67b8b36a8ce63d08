"""From a slider's input event to after the paint, in a real JupyterLab: the kernel idle, releasing, and gone.

The page measures itself (`dpviz:redraw` in the performance timeline). Each case moves the slider 60 steps. Besides,
the files of reports: how many bytes they have, and on how many sheets of paper Chromium prints them.
"""

from __future__ import annotations

import re
import tempfile
from collections.abc import Mapping
from contextlib import nullcontext
from pathlib import Path
from statistics import quantiles

from playwright.sync_api import Browser

import dpviz as dv
from benchmarks.measured import Measured
from tests.browser.lab import Lab, Notebook, calm, open_browser

STEPS = 60
ALLOWED = {42: 50.0, 2_000: 100.0}
SESSION = """
import dpviz as dv
session = dv.Session(dv.datasets.doctor_visits(), unit=dv.Unit("row", noun="person-year"),
                     budget=dv.Budget(100), ledger="page{bins}.ledger")
bins = dv.Domain.integers(0, {top}, column="visits", overflow=True)
session.release(bins, dv.Dense("1/2"))
wide = dv.Domain.integers(0, 9_999_999, column="visits")
"""
COMPARISON = (
    "import dpviz as dv\n"
    'minutes = dv.Domain.integers(0, 525_599, column="scheduled_minute")\n'
    'dv.MechanismComparison(None, minutes, unit=dv.Unit(relation="replace-one", n=1000), count=30)'
)
RANGES = (
    "import dpviz as dv, numpy as np\n"
    'minutes = dv.Domain.integers(0, 525_599, column="minute")\n'
    "counts = np.random.default_rng(1).poisson(0.64, 525_600)\n"
    "dv.RangeExplorer(dv.PublicTable(minutes, counts))"
)
TRADEOFF = "import dpviz as dv\ndv.TradeoffExplorer()"
SAMPLING = "import dpviz as dv\ndv.SamplingExplorer()"
PRODUCT = "import dpviz as dv\ndv.ProductSamplerTrace()"
BENCH = "bench = dv.Workbench(session, bins)\nbench"
LARGEST = ((125_000, 4), (156_000, 8))
"""The most bytes of a report, and the most sheets of paper: of one release, and of three."""

REDRAWS = "() => performance.getEntriesByName('dpviz:redraw').map(entry => entry.duration)"


def table(allowed: Mapping[int, float] = ALLOWED, steps: int = STEPS, browser: Browser | None = None) -> list[Measured]:
    """In a browser of its own, where none is given."""
    lines = []
    with (
        tempfile.TemporaryDirectory(prefix="dpviz-bench-") as folder,
        Lab.start(Path(folder)) as lab,
        open_browser() if browser is None else nullcontext(browser) as opened,
    ):
        for bins, most in allowed.items():
            name = f"page{bins}.ipynb"
            lab.write(name, SESSION.format(bins=bins, top=bins - 2), BENCH)
            with Notebook.open(lab, opened, name, viewport={"width": 1280, "height": 1700}) as notebook:
                notebook.run_all()
                lines.append(line(f"{bins:,} bins, kernel idle", moved(notebook, steps), most))
                notebook.begin("running = session.release_async(wide, dv.Dense('1/3')); running.result()")
                lines.append(line(f"{bins:,} bins, a release running", moved(notebook, steps), most))
                notebook.end()
                notebook.page.evaluate("async () => window.panel.sessionContext.session.kernel.shutdown()")
                lines.append(line(f"{bins:,} bins, no kernel", moved(notebook, steps), most))
        lab.write("comparison.ipynb", COMPARISON)
        with Notebook.open(lab, opened, "comparison.ipynb", viewport={"width": 1280, "height": 1700}) as notebook:
            notebook.run_all()
            lines.append(line("four mechanisms compared", moved(notebook, steps), 100.0))
        lab.write("ranges.ipynb", RANGES)
        with Notebook.open(lab, opened, "ranges.ipynb", viewport={"width": 1280, "height": 1700}) as notebook:
            notebook.run_all()
            lines.append(
                line("a range of 525,600 bins brushed by keyboard", moved(notebook, steps, "First bin"), 100.0)
            )
            lines.append(line("a range of 525,600 bins brushed by mouse", dragged(notebook, steps), 100.0))
        lab.write("tradeoff.ipynb", TRADEOFF)
        with Notebook.open(lab, opened, "tradeoff.ipynb", viewport={"width": 1280, "height": 1700}) as notebook:
            notebook.run_all()
            for slider in ("True value x of an entry", "Privacy loss ε", "Room per entry, s/k"):
                lines.append(line(f"sparse releases, {slider}", moved(notebook, steps, slider), 100.0))
        lab.write("sampling.ipynb", SAMPLING)
        with Notebook.open(lab, opened, "sampling.ipynb", viewport={"width": 1280, "height": 1700}) as notebook:
            notebook.run_all()
            for slider in ("Labels k, or bits d", "Privacy loss ε"):
                lines.append(line(f"drawing and learning, {slider}", moved(notebook, steps, slider), 100.0))
        lab.write("product.ipynb", PRODUCT)
        with Notebook.open(lab, opened, "product.ipynb", viewport={"width": 1280, "height": 1700}) as notebook:
            notebook.run_all()
            lines.append(line("the product sampler traced, People, n", moved(notebook, steps, "People, n"), 100.0))
        lines += reports(Path(folder), opened)
    return lines


def reports(folder: Path, browser: Browser) -> list[Measured]:
    """Reports of one release of the doctor visits, and of three of different kinds: their bytes, and their sheets."""
    session = dv.Session(
        dv.datasets.doctor_visits(), dv.Unit("row", noun="person-year"), dv.Budget(3, "1e-5"), folder / "reports.ledger"
    )
    bins, health = dv.Domain.integers(0, 40, column="visits", overflow=True), "self_rated_health"
    asked = [(bins, dv.Dense("1/10")), (bins, dv.Sorted("1/2")), (health, dv.TopKLaplace(k=3, epsilon="1/2"))]
    releases = [session.release(*one) for one in asked]
    lines = []
    for name, some, (most, sheets) in (("one release", releases[:1], LARGEST[0]), ("three", releases, LARGEST[1])):
        path = dv.report(some, folder / "report.html")
        size, printed = path.stat().st_size, pages(path, browser)
        lines.append(Measured(f"report of {name}: bytes", f"{size:,}", f"{most:,}", size < most))
        lines.append(Measured(f"report of {name}: sheets of A4", str(printed), str(sheets), printed <= sheets))
    return lines


def pages(path: Path, browser: Browser) -> int:
    """How many sheets Chromium prints of a report."""
    page = browser.new_page(offline=True)
    page.goto(path.as_uri())
    page.get_by_role("heading", level=1).wait_for()
    printed = page.pdf(format="A4")
    page.close()
    return len(re.findall(rb"/Type\s*/Page\b", printed))


def dragged(notebook: Notebook, steps: int) -> list[float]:
    """The milliseconds of each redraw while the brush is drawn over the chart."""
    chart = notebook.page.get_by_role("img", name=re.compile("in stretches of"))
    chart.wait_for()
    calm(notebook.page)
    box = chart.bounding_box()
    if box is None:
        raise RuntimeError("the chart is not on the page")
    notebook.page.evaluate("() => performance.clearMeasures()")
    height = box["y"] + box["height"] / 3
    notebook.page.mouse.move(box["x"] + 0.2 * box["width"], height)
    notebook.page.mouse.down()
    for step in range(steps):
        notebook.page.mouse.move(box["x"] + (0.2 + 0.7 * step / steps) * box["width"], height)
        notebook.page.wait_for_timeout(50)
    notebook.page.mouse.up()
    return measured(notebook, steps)


def moved(notebook: Notebook, steps: int, slider: str = "Privacy loss ε") -> list[float]:
    """The milliseconds of each redraw while a slider goes up and down."""
    notebook.page.evaluate("() => performance.clearMeasures()")
    notebook.slider(slider).focus()
    for step in range(steps):
        notebook.page.keyboard.press("ArrowRight" if step % 20 < 10 else "ArrowLeft")
        notebook.page.wait_for_timeout(50)
    return measured(notebook, steps)


def measured(notebook: Notebook, steps: int) -> list[float]:
    """The milliseconds of each redraw, once at least half of the steps have been drawn."""
    notebook.page.wait_for_function(f"least => ({REDRAWS})().length >= least", arg=steps // 2)
    found: list[float] = notebook.page.evaluate(REDRAWS)
    return found


def line(what: str, found: list[float], allowed: float) -> Measured:
    worst = quantiles(found, n=20)[-1]
    return Measured(f"{what}: 95th percentile", f"{worst:.1f} ms", f"{allowed:.0f} ms", worst <= allowed)
