"""The door between exact numbers and floats has one place, and so has chance."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.architecture.tree import ROOT, files

PACKAGE = ROOT / "dpviz"

PRICED = ("privacy", "session/accountant.py")
"""What decides a price or a refusal: no float is written or made here."""

CHANCE = {"random", "numpy.random"}
CALLS = {
    ("os", "urandom"),
    ("os", "getrandom"),
    ("secrets", "randbits"),
    ("secrets", "randbelow"),
    ("secrets", "choice"),
}
"""A random name (secrets.token_hex) is no noise."""


def modules(*parts: str) -> list[Path]:
    """The Python files of some parts of the package, each a folder or a file."""
    return [path for path in files(PACKAGE) if path.suffix == ".py" and inside(path, *parts)]


def inside(path: Path, *parts: str) -> bool:
    return any(path.is_relative_to(PACKAGE / part) for part in parts)


def floats(tree: ast.AST) -> Iterator[int]:
    """The lines that write a float, or make one: literals, float(...), functions of math that return one."""
    rounding = {"log", "log2", "log10", "log1p", "exp", "expm1", "sqrt", "pow", "fsum"}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, float | complex):
            yield node.lineno
        elif isinstance(node, ast.Call):
            match node.func:
                case ast.Name(id="float"):
                    yield node.lineno
                case ast.Attribute(value=ast.Name(id="math"), attr=name) if name in rounding:
                    yield node.lineno


def chances(text: str) -> Iterator[int]:
    """The lines that reach for randomness."""
    if not any(word in text for word in ("rand", *(word for call in CALLS for word in call))):
        return
    for node in ast.walk(ast.parse(text)):
        match node:
            case ast.Import(names=names) if any(alias.name in CHANCE for alias in names):
                yield node.lineno
            case ast.ImportFrom(module=module) if module in CHANCE:
                yield node.lineno
            case ast.Attribute(value=ast.Name(id="np" | "numpy"), attr="random"):
                yield node.lineno
            case ast.Attribute(value=ast.Name(id=module), attr=name) if (module, name) in CALLS:
                yield node.lineno


def test_no_float_is_written_where_prices_are_decided() -> None:
    assert modules(*PRICED)
    assert [
        f"{p.relative_to(ROOT)}:{line}" for p in modules(*PRICED) for line in floats(ast.parse(p.read_text()))
    ] == []


def test_randomness_enters_through_noise_alone() -> None:
    others = [path for path in files(PACKAGE) if path.suffix == ".py" and not inside(path, "noise")]
    assert [f"{path.relative_to(ROOT)}:{line}" for path in others for line in chances(path.read_text())] == []


@pytest.mark.parametrize("text", ["x = 0.1", "x = float(y)", "import math\nx = math.log(3)", "f(1e-6)"])
def test_a_float_would_be_found(text: str) -> None:
    assert len(list(floats(ast.parse(text)))) == 1


@pytest.mark.parametrize(
    "text", ["import random", "from numpy.random import default_rng", "np.random", "os.urandom(8)"]
)
def test_randomness_would_be_found(text: str) -> None:
    assert len(list(chances(text))) == 1
