"""What the files of the project may say: no machine, no registry, no outputs; every pin with its hash."""

from __future__ import annotations

import ast
import json
import os
import re
from collections.abc import Iterator

import nbformat
import pytest

from tests.architecture.tree import ROOT, notebooks, texts

PINS = (
    "requirements/uv.txt",
    "requirements/dev.txt",
    "requirements/checks.txt",
    "requirements/class.txt",
    "requirements/lowest.txt",
    "binder/requirements.txt",
)

# Written in pieces, so that this file does not contain what it forbids.
FORBIDDEN = re.compile(
    "|".join(
        [
            r"(?<![\w.])/(?:wo" + r"rk|fa" + r"rm|ro" + r"ot|ho" + r"me|Us" + r"ers)/\w",
            r"[A-Z]:\\Us" + r"ers\\",
            r"--(?:extra-)?index" + r"-url",
            r"--find" + r"-links[= ]",
            r"https?://[^ \"]+/(?:simple|-)/",
            r"\"resolved\": *\"ht" + r"tp",
        ]
    )
)


def test_no_file_names_a_machine_or_a_registry() -> None:
    named = [f"{name}: {found[0]}" for name, text in texts() if (found := FORBIDDEN.search(text))]
    assert named == []


@pytest.mark.parametrize(
    "text",
    [
        "see /ho" + "me/someone/dpviz",
        "  #   -r /wo" + "rk/main/pyproject.toml",
        "https://registry.example/d3-scale/" + "-/d3-scale-4.0.2.tgz",
        '"resolved": "ht' + 'tps://registry.example/d3-scale.tgz"',
        "--index" + "-url mirror",
    ],
)
def test_a_machine_or_a_registry_would_be_found(text: str) -> None:
    assert FORBIDDEN.search(text)


def pins(text: str) -> Iterator[tuple[str, str]]:
    """Each requirement of a file of pins, continued lines joined: its name and version, and all of it."""
    for line in text.replace("\\\n", " ").splitlines():
        if line.strip() and not line.lstrip().startswith("#"):
            yield line.split()[0], line


@pytest.mark.parametrize("name", PINS)
def test_every_pin_has_an_exact_version_and_a_hash(name: str) -> None:
    lines = list(pins((ROOT / name).read_text()))
    assert lines
    assert [pin for pin, line in lines if "==" not in pin or "--hash=sha256:" not in line] == []


def test_what_tests_run_on_is_what_binder_installs() -> None:
    tested = {pin for pin, _ in pins((ROOT / "requirements/dev.txt").read_text())}
    assert {pin for pin, _ in pins((ROOT / "binder/requirements.txt").read_text())} <= tested


def test_the_lock_of_the_page_names_no_address() -> None:
    lock = json.loads((ROOT / "widgets/package-lock.json").read_text())
    packages = {name: entry for name, entry in lock["packages"].items() if name}
    assert packages
    assert [name for name, entry in packages.items() if "resolved" in entry] == []
    assert [name for name, entry in packages.items() if "integrity" not in entry] == []


def test_ci_can_run() -> None:
    assert os.access(ROOT / ".ci/run", os.X_OK)


def test_there_are_notebooks() -> None:
    assert ROOT / "notebooks/00_start.ipynb" in notebooks()


@pytest.mark.parametrize("path", notebooks(), ids=lambda path: path.name)
def test_a_notebook_is_saved_bare_and_ends_with_a_check(path: os.PathLike[str]) -> None:
    notebook = nbformat.read(path, as_version=4)
    nbformat.validate(notebook)
    cells = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert [cell.source for cell in cells if cell.outputs or cell.execution_count] == []
    assert "widgets" not in notebook.metadata
    assert notebook.metadata.kernelspec.name == "python3"
    assert any(isinstance(node, ast.Assert) for node in ast.walk(ast.parse(cells[-1].source)))
