"""Nobody above a mechanism knows the name of a measure: sheets, charts and pages show the list that they are given."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.architecture.tree import ROOT

ROOMS = ("dpviz/model/measures.py", "dpviz/mechanisms/")
"""Where measures are declared, and so named."""

SHOWN = (
    "dpviz/planning/sheet.py",
    "dpviz/planning/comparison_sheet.py",
    "dpviz/charts/plans.py",
    "dpviz/session/saved.py",
    "dpviz/session/sub_plan.py",
    "dpviz/widgets/sub_session_view.py",
    "dpviz/reports.py",
)
"""What shows or checks the measures of a plan: it asks no error model for one of its own choice."""

PAGE = (
    "wording/measures.ts",
    "workbench/plan_pane.ts",
    "workbench/epsilon_field.ts",
    "charts/curve.ts",
    "protocol/sheets.ts",
    "explorers/mechanism_comparison.ts",
    "stores/sheet_store.ts",
    "stores/plan_store.ts",
    "stores/second_answer.ts",
    "stores/session_store.ts",
    "stores/sub_session_store.ts",
    "workbench/sub_session_view.ts",
)
ASKED = {"one_bin", "all_bins", "listed", "rank", "look_ups", "total_variation"}


def declared() -> set[str]:
    """The names that measures are declared with."""
    names = set()
    for room in ROOMS:
        paths = [ROOT / room] if room.endswith(".py") else sorted((ROOT / room).glob("*.py"))
        for path in paths:
            for node in ast.walk(ast.parse(path.read_text())):
                if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "Measure":
                    names |= {word.value.value for word in node.keywords
                              if word.arg == "name" and isinstance(word.value, ast.Constant)}  # fmt: skip
    return names


def asks(source: str) -> Iterator[str]:
    """The errors that a program asks an error model for by name."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Attribute) and node.attr in ASKED:
            yield f"line {node.lineno}: .{node.attr}"


def spelled(source: str) -> Iterator[str]:
    """The names of measures that a module of the page spells out, as a text or as a field of the errors."""
    code = re.sub(r"/\*.*?\*/|//[^\n]*", "", source, flags=re.DOTALL)
    for name in sorted(declared()):
        ways = (
            rf"""["'`]{name}["'`]""",
            rf"errors[^;\n]*\.{name}\b",
            rf"\{{[^}}=]*\b{name}\b[^}}=]*\}}\s*=[^;\n]*errors",
        )
        if any(re.search(way, code) for way in ways):
            yield name


def test_the_measures_that_are_declared_are_found() -> None:
    assert {"one", "all", "edge", "listed", "rank"} <= declared()


@pytest.mark.parametrize("name", SHOWN)
def test_what_shows_a_plan_asks_for_no_measure_by_name(name: str) -> None:
    assert list(asks((ROOT / name).read_text())) == []


@pytest.mark.parametrize("name", PAGE)
def test_the_page_spells_no_measure(name: str) -> None:
    assert list(spelled((Path(ROOT) / "widgets/src" / name).read_text())) == []


def test_a_planted_name_is_caught() -> None:
    assert list(asks("def f(bound, beta):\n    return bound.error.listed(beta)\n")) == ["line 2: .listed"]
    assert list(spelled('const bar = barOf(point, beta, "rank");')) == ["rank"]
    assert list(spelled("const { edge } = point.errors.get(beta)!;")) == ["edge"]
    assert list(spelled("const bar = point.errors.get(beta)!.edge;")) == ["edge"]
    assert list(spelled('// an edge of the "rank"\n')) == []
