"""Shapes and laws are loaded when they are first used: the tables that name their files are what the files declare."""

from __future__ import annotations

import importlib
import subprocess
import sys
from pathlib import Path

import pytest

from dpviz.model import answers, laws
from dpviz.model.first_use import OnFirstUse


def declared(package: str) -> None:
    """Load every file of a package."""
    for path in Path(importlib.import_module(package).__path__[0]).glob("*.py"):
        importlib.import_module(f"{package}.{path.stem}".removesuffix(".__init__"))


def test_the_tables_name_every_shape_and_every_law_and_where_it_stands() -> None:
    own = {"dpviz.model.answers": answers.SHAPES, "dpviz.model.laws": laws.LAWS}
    for package, known in own.items():
        keys = set(known)
        declared(package)
        found = {key: kind for key, kind in known._known.items() if kind.__module__.startswith("dpviz.")}
        assert set(found) == keys
        assert {key: kind.__module__.rpartition(".")[2] for key, kind in found.items()} == known._files


def test_each_key_alone_finds_its_class_in_a_new_python() -> None:
    text = "from dpviz.model.{0} import {1}\nassert {1}[{2!r}].__module__ == {3!r}, {2!r}"
    for part, table in (("answers", answers.SHAPES), ("laws", laws.LAWS)):
        key = list(table)[-1]
        name = "SHAPES" if part == "answers" else "LAWS"
        code = text.format(part, name, key, table[key].__module__)
        assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_every_name_of_a_shape_is_found_and_another_is_refused_with_the_next() -> None:
    assert all(getattr(answers, name) is not None for name in answers.__all__)
    with pytest.raises(AttributeError, match="Buckets"):
        answers.Bucket  # noqa: B018


def test_a_table_holds_what_is_registered_beside_what_it_loads() -> None:
    table: OnFirstUse[str, object] = OnFirstUse({"far": "tests.model.nowhere"}, importlib.import_module)
    table["near"] = 1
    assert list(table) == ["far", "near"] and len(table) == 2 and "far" in table and table["near"] == 1
    with pytest.raises(ModuleNotFoundError):
        table["far"]
    del table["near"]
    assert table.get("near") is None and "near" not in table
