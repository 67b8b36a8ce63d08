"""Build a site for a class that installs nothing: `python -m tools.class_site [FOLDER]` (build/class by `make class`).

The site is JupyterLite with the first lesson. Python runs in the visitor's browser by Pyodide, whose runtime and
distribution (numpy, pandas, gmpy2, ...) come from its own network. All else is in the folder: the page, dpviz, and the
packages that dpviz needs and Pyodide's distribution lacks. They are pinned by hash in requirements/class.txt, installed
once into build/class-tools, and need no network after that.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Collection, Mapping, Sequence
from importlib.metadata import distributions
from pathlib import Path
from typing import Any

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name, parse_wheel_filename

from tools.check_package import build as build_package

ROOT = Path(__file__).resolve().parent.parent
SITE = ROOT / "build" / "class"
TOOLS = ROOT / "build" / "class-tools"
PINS = ROOT / "requirements" / "class.txt"
DISTRIBUTION = ROOT / "requirements" / "class.in"
LESSON = "05_first_class"

PLATFORM = "pyemscripten_2026_0_wasm32"
BROWSER = {
    "implementation_name": "cpython",
    "os_name": "posix",
    "platform_machine": "wasm32",
    "platform_python_implementation": "CPython",
    "platform_system": "Emscripten",
    "python_full_version": "3.14.2",
    "python_version": "3.14",
    "sys_platform": "emscripten",
    "extra": "",
}
"""Python in the browser, as the marker of a requirement sees it."""

KERNEL = "@jupyterlite/pyodide-kernel-extension"
SETTINGS = {
    "jupyter-lite-schema-version": 0,
    "jupyter-config-data": {
        "appName": "dpviz: a first class",
        "litePluginSettings": {f"{KERNEL}:kernel": {"disablePyPIFallback": True}},
    },
}
"""Packages come from this folder and from Pyodide's distribution, at the versions tried, not from an index."""

WELCOME = """**In the browser.** Python runs in this tab, and your results stay in it. The first cell loads
packages. Close the tab or restart the kernel, and all of it is forgotten, the ledger of part 4 as well."""
INSTALL = """import os

import piplite

await piplite.install("dpviz")  # from this site
os.chdir("/tmp")  # in memory: no ledger can be written to JupyterLite's drive"""

GOES_ON = "await import('./config-utils.js');"
"""How the first page of JupyterLite finds its application. Its other pages read settings from it, so it stays."""

NO_NETWORK = """make class: {what} failed.
It installs the packages of requirements/class.txt, once, and needs a package index for that; afterwards it needs no
network. Behind a proxy, set up pip and uv for it. The last words were:
{said}"""

LINK = re.compile(r"\[([^\]]+)\]\((?!#)[^)]*\.ipynb[^)]*\)")
"""A link to another notebook."""


def given_versions(text: str) -> list[str]:
    """Return the packages that Pyodide's distribution gives: those that requirements/class.in states exactly."""
    lines = [line for line in text.splitlines() if "==" in line and not line.startswith("#")]
    return [canonicalize_name(Requirement(line).name) for line in lines]


def pinned(text: str) -> dict[str, str]:
    """Return each pinned requirement that holds in the browser, with its hashes and without its marker."""
    found = {}
    for line in text.replace("\\\n", " ").splitlines():
        if line.strip() and not line.lstrip().startswith("#"):
            wanted, *hashes = line.split("--hash=")
            requirement = Requirement(wanted.strip())
            if requirement.marker is None or requirement.marker.evaluate(BROWSER):
                name = canonicalize_name(requirement.name)
                sums = [f"--hash={one.strip()}" for one in hashes]
                found[name] = " ".join([f"{name}{requirement.specifier}", *sums])
    return found


def lacking(wanted: Sequence[str], needs: Mapping[str, Sequence[str]], given: Collection[str]) -> list[str]:
    """Return the packages that are wanted, or needed by one that is, and are not given.

    >>> lacking(["anywidget", "numpy>=2"], {"anywidget": ["psygnal", "colorama; sys_platform == 'win32'"]}, {"numpy"})
    ['anywidget', 'psygnal']
    """
    found: list[str] = []
    waiting = [Requirement(one) for one in wanted]
    while waiting:
        one = waiting.pop(0)
        name = canonicalize_name(one.name)
        if name not in found and name not in given and (one.marker is None or one.marker.evaluate(BROWSER)):
            found.append(name)
            waiting += [Requirement(need) for need in needs.get(name, ())]
    return sorted(found)


def wheels(tools: Path) -> list[str]:
    """Return the names of the packages that go into the site beside dpviz."""
    (packages,) = (tools / "lib").glob("python*/site-packages")
    needs = {canonicalize_name(one.name): one.requires or [] for one in distributions(path=[str(packages)])}
    own = (tools / "share/jupyter/labextensions" / KERNEL / "static/pypi").glob(
        "*.whl"
    )  # the kernel brings these itself
    given = {*given_versions(DISTRIBUTION.read_text()), *(parse_wheel_filename(one.name)[0] for one in own)}
    return lacking(tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["dependencies"], needs, given)


def download(names: Sequence[str], target: Path) -> None:
    """Fetch the wheels of these packages for the browser, each as its pin says."""
    pins = pinned(PINS.read_text())
    with tempfile.NamedTemporaryFile("w", suffix=".txt") as wanted:
        wanted.write("\n".join(pins[name] for name in names))
        wanted.flush()
        fetch = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps"]
        kind = ["--only-binary=:all:", f"--platform={PLATFORM}", "--implementation=cp", "--abi=cp314"]
        version = f"--python-version={BROWSER['python_version']}"
        _obey([*fetch, *kind, version, "--require-hashes", "-r", wanted.name, "-d", str(target)], "fetching wheels")


def install(tools: Path) -> None:
    """Install the builder and fetch the wheels, unless this was done with the same pins."""
    stamp = tools / "installed"
    done = hashlib.sha256(PINS.read_bytes() + DISTRIBUTION.read_bytes()).hexdigest()
    if stamp.exists() and stamp.read_text() == done:
        return
    shutil.rmtree(tools, ignore_errors=True)
    _obey(["uv", "venv", "--quiet", "--no-config", "--python", sys.executable, str(tools)], "making an environment")
    into = ["--python", str(tools / "bin/python"), "--no-config", "--require-hashes", "-r", str(PINS)]
    _obey(["uv", "pip", "install", "--quiet", *into], "installing JupyterLite")
    download(wheels(tools), tools / "wheels")
    stamp.write_text(done)


def lesson(notebook: dict[str, Any]) -> dict[str, Any]:
    """Return the lesson as the site shows it: dpviz is installed first, and links lead nowhere else."""
    for number, cell in enumerate(notebook["cells"]):
        if cell["cell_type"] == "markdown":
            cell["source"] = LINK.sub(r"\1", "".join(cell["source"]))
        cell["id"] = cell.get("id", f"cell-{number}")
    first = {"cell_type": "markdown", "id": "in-the-browser", "metadata": {}, "source": WELCOME}
    code = {"cell_type": "code", "id": "install", "metadata": {}, "source": INSTALL}
    notebook["cells"] = [first, code | {"execution_count": None, "outputs": []}, *notebook["cells"]]
    notebook["metadata"]["kernelspec"] = {"display_name": "Python (Pyodide)", "language": "python", "name": "python"}
    return notebook


def build(site: Path, tools: Path = TOOLS) -> None:
    """Build the site from what is installed. Nothing is fetched."""
    with tempfile.TemporaryDirectory() as scratch:
        place, content = Path(scratch) / "lite", Path(scratch) / "content"
        shutil.copytree(tools / "wheels", place / "pypi")
        shutil.copy(build_package(ROOT, Path(scratch) / "wheel", "wheel"), place / "pypi")
        (place / "jupyter-lite.json").write_text(json.dumps(SETTINGS))
        content.mkdir()
        written = lesson(json.loads((ROOT / "notebooks" / f"{LESSON}.ipynb").read_text(encoding="utf-8")))
        (content / f"{LESSON}.ipynb").write_text(json.dumps(written, indent=1), encoding="utf-8")
        made = Path(scratch) / "site"
        command = [str(tools / "bin/jupyter-lite"), "build", "--lite-dir", str(place), "--output-dir", str(made)]
        _obey([*command, "--contents", str(content), "--apps", "lab", "--no-sourcemaps"], "JupyterLite", place)
        shutil.copy(made / "lab" / "favicon.ico", made)
        first = (made / "index.html").read_text()
        if first.count(GOES_ON) != 1:
            raise SystemExit(
                f"make class: the first page of this JupyterLite lacks {GOES_ON}; update tools/class_site.py"
            )
        opened = f"window.location.replace('lab/index.html?path={LESSON}.ipynb');"
        (made / "index.html").write_text(first.replace(GOES_ON, opened))
        shutil.rmtree(site, ignore_errors=True)
        shutil.copytree(made, site)


def _obey(command: Sequence[str], what: str, place: Path = ROOT) -> None:
    """Run a command; where it fails, end with its last words."""
    others = {name: value for name, value in os.environ.items() if not name.startswith(("JUPYTER", "PYTHONPATH"))}
    try:
        done = subprocess.run(command, cwd=place, env=others, capture_output=True, text=True, stdin=subprocess.DEVNULL)
        said, code = done.stderr or done.stdout, done.returncode
    except OSError as error:
        said, code = str(error), 1
    if code:
        raise SystemExit(NO_NETWORK.format(what=what, said="\n".join(said.strip().splitlines()[-6:])))


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "folder", nargs="?", type=Path, default=SITE, help="where the site goes; build/class by default"
    )
    parser.add_argument("--tools", type=Path, default=TOOLS, help="where JupyterLite and the wheels are installed")
    given = parser.parse_args(arguments)
    install(given.tools.absolute())
    build(given.folder.absolute(), given.tools.absolute())
    size = sum(path.stat().st_size for path in given.folder.rglob("*") if path.is_file())
    print(
        f"{given.folder}: {size / 1e6:.0f} MB. Any web server can serve it; to try it: python3 -m http.server -d FOLDER"
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
