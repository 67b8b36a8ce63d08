"""The folder of a class holds what its lesson needs, and fits the Pyodide that its kernel loads."""

from __future__ import annotations

import hashlib
import json
import os
import re
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

from packaging.requirements import Requirement

from tools import class_site
from tools.check_package import contents, package

ROOT = class_site.ROOT
PYODIDE = ROOT / "widgets" / "node_modules" / "pyodide"
LOCK = json.loads((PYODIDE / "pyodide-lock.json").read_text())


def differing(stated: str, lock: dict[str, Any]) -> list[str]:
    """The exact pins that are not what the distribution has, and those that it has not at all."""
    lines = [line for line in stated.splitlines() if "==" in line and not line.startswith("#")]
    has = {name.lower().replace("_", "-"): f"=={entry['version']}" for name, entry in lock["packages"].items()}
    return [one.name for one in map(Requirement, lines) if has.get(one.name) != str(one.specifier)]


def test_the_pins_are_the_versions_of_the_pyodide_that_the_kernel_loads(tools: Path) -> None:
    (constants,) = (tools / "lib").glob("python*/site-packages/jupyterlite_pyodide_kernel/constants.py")
    (loaded,) = re.findall(r'^PYODIDE_VERSION = "(.+)"$', constants.read_text(), re.MULTILINE)
    assert json.loads((PYODIDE / "package.json").read_text())["version"] == loaded, "widgets/package.json pins another"
    stated = class_site.DISTRIBUTION.read_text()
    assert len(class_site.given_versions(stated)) > 30
    assert differing(stated, LOCK) == []


def test_another_version_is_found() -> None:
    stated = class_site.DISTRIBUTION.read_text()
    assert differing(stated.replace("numpy==2.4.6", "numpy==2.4.5"), LOCK) == ["numpy"]
    assert differing("anywidget==0.11.0", LOCK) == ["anywidget"], "the distribution has none"


def test_wheels_are_fetched_for_the_python_of_that_pyodide() -> None:
    info = LOCK["info"]
    assert class_site.PLATFORM == f"pyemscripten_{info['abi_version']}_{info['arch']}"
    assert class_site.BROWSER["python_full_version"] == info["python"]
    assert info["python"].startswith(class_site.BROWSER["python_version"] + ".")


def test_what_pyodide_lacks_is_in_the_site_and_nothing_that_it_has(site: Path) -> None:
    index = json.loads((site / "pypi" / "all.json").read_text())
    given = set(class_site.given_versions(class_site.DISTRIBUTION.read_text()))
    assert set(index) == {"anywidget", "comm", "dpviz", "ipywidgets", "jupyterlab-widgets", "psygnal", "python-flint"}
    assert not set(index) & given
    for versions in index.values():
        ((release,),) = versions["releases"].values()
        wheel = (site / "pypi" / release["filename"]).read_bytes()
        assert hashlib.sha256(wheel).hexdigest() == release["digests"]["sha256"]
    assert set(contents(next((site / "pypi").glob("dpviz-*.whl")))) == package()


def test_the_page_draws_widgets_with_the_version_that_python_has(site: Path) -> None:
    folder = site / "extensions" / "anywidget"
    (wheel,) = (site / "pypi").glob("anywidget-*.whl")
    with zipfile.ZipFile(wheel) as archive:
        (name,) = [one for one in archive.namelist() if one.endswith("labextensions/anywidget/package.json")]
        assert archive.read(name) == (folder / "package.json").read_bytes()
    assert (site / "extensions" / "@jupyter-widgets" / "jupyterlab-manager" / "package.json").exists()


def test_no_package_comes_from_an_index(site: Path) -> None:
    settings = json.loads((site / "jupyter-lite.json").read_text())["jupyter-config-data"]["litePluginSettings"]
    kernel = settings[f"{class_site.KERNEL}:kernel"]
    assert kernel["disablePyPIFallback"] is True
    assert all(url.startswith("./") for url in kernel["pipliteUrls"])


def test_the_lesson_begins_by_installing_and_links_to_no_page_that_is_missing(site: Path) -> None:
    shown = json.loads((site / "files" / f"{class_site.LESSON}.ipynb").read_text())
    sources = ["".join(cell["source"]) for cell in shown["cells"]]
    kept = json.loads((ROOT / "notebooks" / f"{class_site.LESSON}.ipynb").read_text())["cells"]
    assert sources[1] == class_site.INSTALL and len(sources) == len(kept) + 2
    assert [source for source in sources if ".ipynb" in source] == []
    assert any("](#" in source for source in sources), "links within the lesson stay"
    assert shown["metadata"]["kernelspec"]["name"] == "python", "JupyterLite's name of its kernel"
    assert class_site.LESSON in (site / "index.html").read_text()


def test_a_pin_is_taken_where_its_marker_holds_in_the_browser() -> None:
    text = (
        'a==1 ; python_full_version < "3.12" \\\n    --hash=sha256:aa\n'
        'a==2 ; python_full_version >= "3.12" \\\n    --hash=sha256:bb \\\n    --hash=sha256:cc\n    # via b\n'
        'c==1 ; sys_platform == "win32" \\\n    --hash=sha256:dd\n'
    )
    assert class_site.pinned(text) == {"a": "a==2 --hash=sha256:bb --hash=sha256:cc"}


def test_a_package_that_is_needed_through_others_is_bundled_too() -> None:
    needs = {"a": ["b>=1", "given", "d ; sys_platform == 'win32'"], "b": ["c", "a"], "given": ["e"]}
    assert class_site.lacking(["A>0"], needs, {"given"}) == ["a", "b", "c"]
    assert class_site.lacking(["A>0"], needs, ()) == ["a", "b", "c", "e", "given"]


def test_without_a_network_it_says_what_is_to_be_installed(tmp_path: Path) -> None:
    private = {"UV_OFFLINE": "1", "UV_CACHE_DIR": str(tmp_path / "cache"), "PYTHONPATH": str(ROOT)}
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])
    command = [sys.executable, "-m", "tools.class_site", str(tmp_path / "site"), "--tools", str(tmp_path / "tools")]
    done = subprocess.run(command, cwd=ROOT, env=os.environ | private | {"PATH": path}, capture_output=True, text=True)
    assert done.returncode == 1 and "Traceback" not in done.stderr
    assert "installing JupyterLite failed" in done.stderr
    assert "packages of requirements/class.txt, once, and needs a package index" in done.stderr
    assert not (tmp_path / "site").exists() and not (tmp_path / "tools" / "installed").exists()
