"""From nothing to the first plan: a new Python, and a new kernel under the start notebook.

Processes that start and do their work, one after the other, in turns; wall-clock time until the last line is done, the
interpreter's own start included and its end not, for which nobody waits, with compiled files at hand, as anybody has
from the second start on. The first contestant imports the three
packages that a session with a page cannot do without. The notebook is run from the menu in a real JupyterLab, from
"Run All Cells" with a kernel that has done nothing yet to a slider whose plan has followed one key.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median

from playwright.sync_api import Browser, expect

from benchmarks.measured import Measured, interleave, ms, with_compiled_files
from tests.browser.lab import READY, Lab, Notebook, open_browser

IMPORTS = "import pandas, sqlalchemy, anywidget"
SESSION = """
import dpviz as dv
visits = dv.datasets.doctor_visits()
session = dv.Session(visits, unit=dv.Unit("row", relation="add-remove", noun="person-year"),
                     budget=dv.Budget(epsilon="2", delta="1e-6"), ledger="visits.ledger")
bins = dv.Domain.integers(0, 40, column="visits", overflow=True)
session.plan(bins, dv.Dense(epsilon="1/2"))
"""
PLAN = SESSION + "dv.Workbench(session, bins)\n"
DONE = "\nimport os; os.write(1, b'.')\n"
ALLOWED = 1.25
SECONDS = 5.0


def table(rounds: int = 15, runs: int = 5) -> list[Measured]:
    """No notebook is run, and no browser opened, where `runs` is 0."""
    with tempfile.TemporaryDirectory(prefix="dpviz-bench-") as folder:
        found = interleave(
            {name: started(code, Path(folder)) for name, code in (("imports", IMPORTS), ("plan", PLAN))}, rounds
        )
        ratio = found["plan"] / found["imports"]
        lines = [
            Measured("importing pandas, SQLAlchemy and anywidget", ms(found["imports"])),
            Measured("session, plan and Workbench", ms(found["plan"])),
            Measured("the second against the first", f"{ratio:.2f} times", f"{ALLOWED} times", ratio <= ALLOWED),
        ]
        if runs:
            with (
                Lab.start(Path(folder) / "lab") as lab,
                open_browser() as browser,
            ):
                seconds = notebooks(lab, browser, runs)
            what = "the start notebook, from run-all to a slider that moves"
            lines.append(Measured(what, f"{seconds:.2f} s", f"{SECONDS:g} s", seconds <= SECONDS))
    return lines


def started(code: str, folder: Path) -> Callable[[], float]:
    """The seconds from the start of a new Python until it has done this code, in an empty folder."""
    environment = with_compiled_files(folder)

    def once() -> float:
        with tempfile.TemporaryDirectory(dir=folder) as place:
            began = time.perf_counter()
            command = [sys.executable, "-c", code + DONE]
            with subprocess.Popen(command, cwd=place, env=environment, stdout=subprocess.PIPE) as process:
                assert process.stdout is not None
                said = process.stdout.read(1)
                seconds = time.perf_counter() - began
            if not said or process.returncode != 0:
                raise RuntimeError("a start was not done")
            return seconds

    return once


def notebooks(lab: Lab, browser: Browser, runs: int) -> float:
    """The median seconds of so many runs, each with a kernel and a ledger of its own."""
    taken = []
    for run in range(runs):
        name = lab.copy("00_start.ipynb", f"start{run}")
        with Notebook.open(lab, browser, name, viewport={"width": 1280, "height": 2400}) as notebook:
            notebook.page.evaluate(READY)
            began = time.perf_counter()
            notebook.page.evaluate("() => { window.jupyterapp.commands.execute('notebook:run-all-cells'); }")
            slider = notebook.slider("Privacy loss ε")
            expect(slider).to_have_attribute("aria-valuetext", re.compile("."))
            before = slider.get_attribute("aria-valuetext") or ""
            slider.press("ArrowRight")
            expect(slider).not_to_have_attribute("aria-valuetext", before)
            taken.append(time.perf_counter() - began)
    return median(taken)
