"""Imports point down the layers, and nowhere else."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.architecture.layers import violations

PACKAGE = Path(__file__).resolve().parents[2] / "dpviz"


def planted(folder: Path, module: str, text: str) -> list[str]:
    """The violations of a package in which one module holds one text."""
    path = folder / "dpviz" / module
    path.parent.mkdir(parents=True)
    path.write_text(text)
    return violations(folder / "dpviz")


def test_no_module_imports_upwards() -> None:
    assert violations(PACKAGE) == []


def test_the_reader_sees_modules_at_all() -> None:
    assert len(list(PACKAGE.rglob("*.py"))) > 3


@pytest.mark.parametrize(
    ("module", "text"),
    [
        ("privacy/unit.py", "from dpviz.model.question import Question"),
        ("privacy/unit.py", "import dpviz.session"),
        ("privacy/unit.py", "import numpy, dpviz.session"),
        ("privacy/unit.py", "from dpviz import exact, session\n"),
        ("privacy/unit.py", "def late():\n    from dpviz.session import Session"),
        ("privacy/unit.py", "import importlib\nimportlib.import_module('dpviz.session.ledger')"),
        ("privacy/unit.py", "from importlib import import_module\nimport_module(some_name)"),
        ("privacy/unit.py", "import importlib\nimportlib.import_module(f'dpviz.session.{name}')"),
        ("privacy/unit.py", "import importlib\nimportlib.import_module(f'dpviz{name}')"),
        ("privacy/unit.py", "if TYPE_CHECKING:\n    from dpviz.model import Release"),
        ("privacy/unit.py", "from . import loss"),
        ("privacy/unit.py", "import dpviz as dv"),
        ("privacy/unit.py", "from dpviz import Session"),
        ("noise/geometric.py", "from dpviz.laws import geometric"),
        ("laws/geometric.py", "from dpviz.noise import geometric"),
        ("errors.py", "from dpviz.exact import text"),
        ("reports.py", "from dpviz import cli"),
        ("model/answers/base.py", "import pkgutil\npkgutil.resolve_name('dpviz.charts:of_release')"),
        ("helpers/odds.py", "import numpy"),
    ],
)
def test_a_planted_violation_is_found(tmp_path: Path, module: str, text: str) -> None:
    assert len(planted(tmp_path, module, text)) == 1


@pytest.mark.parametrize(
    ("module", "text"),
    [
        (
            "privacy/unit.py",
            "from dpviz.exact import rational\nimport dpviz.errors\nfrom dpviz.privacy.loss import PureDP",
        ),
        ("noise/geometric.py", "from dpviz.noise.bits import Bits"),
        ("mechanisms/__init__.py", "import importlib\nimportlib.import_module(f'dpviz.mechanisms.{file}')"),
        ("session/session.py", "import pandas\nfrom dpviz.engines.pandas import Frame"),
        ("__init__.py", "from importlib import import_module\nimport_module(name)\nfrom dpviz.cli import main"),
    ],
)
def test_an_import_that_points_down_is_allowed(tmp_path: Path, module: str, text: str) -> None:
    assert planted(tmp_path, module, text) == []
