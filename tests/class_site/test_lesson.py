"""The lesson runs as in a browser: Pyodide's versions, no threads, no processes, no hard links, no names of users.

gmpy2, numpy, pandas and scipy are built for this machine here and for WebAssembly there: close, and not the same.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import zipfile
from pathlib import Path

import pytest

from tests.class_site import in_the_browser
from tests.class_site.test_site import LOCK
from tools import class_site

EXACT = ("altair", "gmpy2", "jinja2", "jsonschema", "narwhals", "numpy", "pandas", "sqlalchemy", "traitlets")


@pytest.fixture(scope="module")
def package(site: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The dpviz that the site brings, as its wheel installs it."""
    folder = tmp_path_factory.mktemp("package")
    with zipfile.ZipFile(next((site / "pypi").glob("dpviz-*.whl"))) as wheel:
        wheel.extractall(folder)
    return folder


def run(tools: Path, package: Path, notebook: Path, place: Path) -> subprocess.CompletedProcess[str]:
    program = [tools / "bin/python", "-I", in_the_browser.__file__, package, notebook]
    inside = os.environ | {"XDG_STATE_HOME": str(place / "state")}
    return subprocess.run(program, cwd=place, env=inside, capture_output=True, text=True)


def notebook(place: Path, *cells: str) -> Path:
    path = place / "cells.ipynb"
    path.write_text(json.dumps({"cells": [{"cell_type": "code", "id": "a", "source": cell} for cell in cells]}))
    return path


def test_the_lesson_plans_draws_releases_and_checks_itself(
    tools: Path, site: Path, package: Path, tmp_path: Path
) -> None:
    done = run(tools, package, site / "files" / f"{class_site.LESSON}.ipynb", tmp_path)
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert Path(told["package"]).is_relative_to(package), "another dpviz ran"
    assert {name: told["versions"][name] for name in EXACT} == {
        name: LOCK["packages"][name]["version"] for name in EXACT
    }
    assert told["cells"] > 30 and len(told["charts"]) >= 1
    assert told["refused"]["thread"] > 0, "nobody asked for a thread, so its lack was not tried"
    assert told["threads"] == 1
    assert (tmp_path / "first_class.ledger").exists()


def test_a_workbench_opens_on_the_lesson(tools: Path, package: Path, tmp_path: Path) -> None:
    bench = """
import json, dpviz as dv
lesson = dv.teaching(dv.datasets.doctor_visits(), seed=5, unit=dv.Unit("row", noun="person-year"))
bench = dv.Workbench(lesson, dv.Domain.integers(0, 40, column="visits", overflow=True))
assert json.loads(bench.sheet)["question"]
bench
"""
    done = run(tools, package, notebook(tmp_path, bench), tmp_path)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["threads"] == 1


@pytest.mark.parametrize(
    ("cell", "said"),
    [
        ("import threading\nthreading.Thread(target=print).start()", "can't start new thread"),
        ("import subprocess\nsubprocess.run(['true'])", "emscripten does not support processes"),
        ("import os\nos.link('a', 'b')", "has no attribute 'link'"),
        ("import pwd", "import of pwd halted"),
        ("assert 1 == 2, 'a claim of the lesson'", "a claim of the lesson"),
    ],
)
def test_what_a_browser_lacks_fails(tools: Path, package: Path, tmp_path: Path, cell: str, said: str) -> None:
    done = run(tools, package, notebook(tmp_path, cell), tmp_path)
    assert done.returncode != 0 and said in done.stderr


def test_a_ledger_that_needs_hard_links_would_be_found(tools: Path, package: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    shutil.copytree(package, other)
    files = other / "dpviz" / "files.py"
    changed = files.read_text().replace('sys.platform == "emscripten"', "False")
    assert changed != files.read_text()
    files.write_text(changed)
    session = 'import dpviz as dv\ndv.Session(dv.datasets.doctor_visits(), dv.Unit(), dv.Budget(1), "a.ledger")'
    done = run(tools, other, notebook(tmp_path, session), tmp_path)
    assert done.returncode != 0 and "has no attribute 'link'" in done.stderr
