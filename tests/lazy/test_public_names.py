"""`dir(dpviz)` lists the public names, and nothing that its own code happens to import."""

from __future__ import annotations

import importlib
import pkgutil

import pytest

import dpviz
from dpviz.mechanisms import NAMES, REGISTRY


def test_dir_lists_public_names_only() -> None:
    """Also once every part of the package is loaded, which makes each an attribute of it."""
    for part in pkgutil.iter_modules(dpviz.__path__):
        if part.name != "__main__":
            importlib.import_module(f"dpviz.{part.name}")
    registered = set(REGISTRY) - set(NAMES)
    assert set(dir(dpviz)) - registered == {*dpviz.__all__, "__version__"}
    assert len(dpviz.__all__) > 60


@pytest.mark.parametrize("name", ["Any", "importlib", "boundary", "kinds", "_HOME"])
def test_other_names_are_there_and_not_listed(name: str) -> None:
    importlib.import_module("dpviz.boundary")
    assert name in vars(dpviz) and name not in dir(dpviz)


@pytest.mark.parametrize("name", ["errors", "mechanisms", "model"])
def test_a_part_of_the_package_is_reached_as_before(name: str) -> None:
    assert importlib.import_module(f"dpviz.{name}") is getattr(dpviz, name)
