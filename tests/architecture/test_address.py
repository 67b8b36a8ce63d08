"""The repository's public address is set in one place, and everything that names it follows."""

from __future__ import annotations

import shutil
import tomllib
from pathlib import Path

import pytest

import dpviz
from tests.architecture.tree import ROOT
from tools import address

FILES = ("README.md", "pyproject.toml", "CITATION.cff")
PUBLIC = "https://github.com/somebody/dp-viz.io"


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    for name in FILES:
        shutil.copy(ROOT / name, tmp_path / name)
    (tmp_path / "notebooks").mkdir()
    for name in ("00_start.ipynb", "10_finite_computers.ipynb"):
        (tmp_path / "notebooks" / name).touch()
    return tmp_path


def set_to(root: Path, public: str) -> None:
    settings = (root / "pyproject.toml").read_text()
    before = tomllib.loads(settings)["tool"]["dpviz"]["address"]
    (root / "pyproject.toml").write_text(settings.replace(f'address = "{before}"', f'address = "{public}"'))
    for path, text in address.written(root).items():
        path.write_text(text)


def test_every_file_says_what_the_address_says() -> None:
    assert [path.name for path, text in address.written(ROOT).items() if path.read_text() != text] == []


def test_badges_links_and_pictures_follow_and_go_again(copy: Path) -> None:
    set_to(copy, "")
    plain = {name: (copy / name).read_text() for name in FILES}
    set_to(copy, PUBLIC)
    readme = (copy / "README.md").read_text()
    launch = "https://mybinder.org/v2/gh/somebody/dp-viz.io/main?urlpath=lab/tree/notebooks/10_finite_computers.ipynb"
    assert f"]({launch})" in readme and readme.count("mybinder.org/v2/gh") == 2
    assert readme.count("](https://raw.githubusercontent.com/somebody/dp-viz.io/main/docs/") == 1
    assert "](docs/workbench.png)" not in readme and "](docs/promises.md)" in readme
    assert "](docs/start/index.md)" in readme
    urls = tomllib.loads((copy / "pyproject.toml").read_text())["project"]["urls"]
    assert urls["Repository"] == PUBLIC and urls["Issues"] == f"{PUBLIC}/issues"
    assert f"repository-code: {PUBLIC}\n" in (copy / "CITATION.cff").read_text()
    set_to(copy, PUBLIC + "-two")  # it moved
    assert PUBLIC + "-two" in (copy / "CITATION.cff").read_text()
    set_to(copy, "")
    assert {name: (copy / name).read_text() for name in FILES} == plain


@pytest.mark.parametrize("wrong", ["github.com/somebody/dpviz", "https://github.com/somebody", "somewhere"])
def test_what_is_no_address_is_refused(copy: Path, wrong: str) -> None:
    with pytest.raises(SystemExit, match="address must be like"):
        set_to(copy, wrong)


def test_the_citation_names_this_version() -> None:
    lines = (ROOT / "CITATION.cff").read_text().splitlines()

    assert f"version: {dpviz.__version__}" in lines
