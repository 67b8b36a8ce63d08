"""`make new-mechanism` writes a file, a line and a test that hold to the rules, and say in words what is left."""

from __future__ import annotations

import ast
import importlib.util
import random
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from dpviz import mechanisms
from dpviz.model.domain import Domain
from dpviz.model.question import Question
from dpviz.privacy.unit import Unit
from tests.architecture import layers
from tests.architecture.test_repetition import LENGTH, told
from tests.mechanisms.samples import Samples
from tools import new_mechanism, prose
from tools.docstrings import faults

ROOT = Path(__file__).resolve().parents[2]
NAMES = [
    "ThresholdMaxProjectionAgain",
    *("".join(random.Random(seed).sample(["Top", "K", "Two", "Stair", "ALP", "Sided"], 3)) for seed in range(5)),
]


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """Copy the files that the command reads."""
    (tmp_path / "tests/mechanisms").mkdir(parents=True)
    (tmp_path / "dpviz/mechanisms").mkdir(parents=True)
    (tmp_path / new_mechanism.CATALOGUE).write_text(mechanisms.CATALOGUE.read_text())
    return tmp_path


def loaded(name: str, path: Path, patch: pytest.MonkeyPatch) -> ModuleType:
    """A module from another folder, as if it stood in the package."""
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    patch.setitem(sys.modules, name, module)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def staircase(project: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[ModuleType, ModuleType]]:
    """The module of the skeleton and its test, with the mechanism registered."""
    new_mechanism.write("Staircase", project)
    made = loaded("dpviz.mechanisms.staircase", project / "dpviz/mechanisms/staircase.py", monkeypatch)
    monkeypatch.setattr(mechanisms, "staircase", made, raising=False)
    mechanisms.register(made.Staircase)
    yield made, loaded("tests.mechanisms.test_staircase", project / "tests/mechanisms/test_staircase.py", monkeypatch)
    mechanisms.unregister("Staircase")


@pytest.mark.parametrize("name", NAMES)
def test_what_is_written_is_linted_and_formatted_and_its_line_is_one_of_the_registry(name: str, project: Path) -> None:
    assert new_mechanism.refusal(name, project) == ""
    written = new_mechanism.write(name, project)
    file = new_mechanism.file_of(name)
    assert written == [f"dpviz/mechanisms/{file}.py", f"tests/mechanisms/test_{file}.py", new_mechanism.CATALOGUE]
    ruff = [sys.executable, "-m", "ruff"]
    for command in (["check", "--quiet", "--no-cache"], ["format", "--check", "--quiet", "--no-cache"]):
        first = 'lint.isort.known-first-party = ["dpviz", "tests"]'  # most of both is not in the folder of the test
        options = ["--config", str(ROOT / "pyproject.toml"), *(["--config", first] if command[0] == "check" else [])]
        done = subprocess.run([*ruff, *command, *options, *written], cwd=project, capture_output=True, text=True)
        assert done.returncode == 0, done.stdout + done.stderr
    text = (project / new_mechanism.CATALOGUE).read_text()
    assert mechanisms.in_catalogue(text) == {**mechanisms.in_catalogue(mechanisms.CATALOGUE.read_text()), name: file}
    assert new_mechanism.refusal(name, project), "written twice"


def test_the_skeleton_keeps_to_the_layers_and_to_the_form_of_docstrings(
    staircase: tuple[ModuleType, ModuleType],
) -> None:
    made, _ = staircase
    path = Path(str(made.__file__))
    imported = layers.imports(ast.parse(path.read_text()))
    assert [layers.judge("dpviz.mechanisms.staircase", target) for _, target in imported if "dpviz" in target]
    assert not [problem for _, target in imported if (problem := layers.judge("dpviz.mechanisms.staircase", target))]
    assert faults(made.Staircase, "Staircase") == faults(made.Staircase.bind, "Staircase.bind") == []
    assert prose.openings(path.parent) == []
    own, package = told(path.read_text()), ROOT / "dpviz/mechanisms"
    blocks = {tuple(own[start : start + LENGTH]) for start in range(len(own) - LENGTH + 1)}
    for other in sorted(package.glob("*.py")):
        lines = told(other.read_text())
        assert not blocks & {tuple(lines[start : start + LENGTH]) for start in range(len(lines))}, other.name


def said(call: Callable[[], Any]) -> str:
    with pytest.raises((NotImplementedError, AssertionError)) as failure:
        call()
    return str(failure.value)


def test_each_failing_test_says_what_to_write(staircase: tuple[ModuleType, ModuleType]) -> None:
    made, test = staircase
    bound = made.Staircase(1).bind(Question.of(Domain.integers(0, 2, column="x")), Unit())
    assert "return a Guarantee" in said(lambda: bound.price)
    assert "law: return one of" in said(lambda: bound.law) and said(lambda: bound.error) == said(lambda: bound.law)
    assert "return the answer" in said(lambda: bound.draw(None, None, mode="exact"))
    assert isinstance(test.SAMPLES, Samples) and test.SAMPLES.planned[0] == made.Staircase(1)
    assert "write these lines" in said(test.test_nothing_is_left_to_describe)
    assert "each value that may be shown" in said(
        lambda: test.test_the_worst_ratio_over_all_neighbours_is_the_price("row")
    )
    assert "neighbours: yield" in said(lambda: test.SAMPLES.searcher[0](random.Random(1)))
    tests = [name for name in vars(test) if name.startswith("test_")]
    assert len(tests) == 4


@pytest.mark.parametrize("name", ["", "staircase", "Stair case", "Dense", "../Stair", "Sampler-2"])
def test_a_name_that_cannot_be_one_is_refused_and_nothing_is_written(name: str, project: Path) -> None:
    assert new_mechanism.refusal(name, project)
    assert new_mechanism.main([name]) == 1
    assert list((project / "dpviz/mechanisms").iterdir()) == [project / new_mechanism.CATALOGUE]
