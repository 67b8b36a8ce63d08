"""Calls that our classes have from Python's collections are public calls, too: data given to them is shown nowhere."""

from __future__ import annotations

import importlib
import pkgutil
import traceback
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import FunctionType
from typing import Any

import pandas as pd
import pytest

import dpviz as dv
from dpviz.boundary import OPERATORS, has_boundary


def collections_of_ours() -> list[type]:
    """Every class of the package that is built on an abstract collection."""
    for module in pkgutil.walk_packages(dv.__path__, "dpviz."):
        if module.name != "dpviz.__main__":
            importlib.import_module(module.name)
    found, left = set(), [Mapping, Sequence]
    while left:
        left += (below := left.pop().__subclasses__())
        found |= {kind for kind in below if kind.__module__.startswith("dpviz.")}
    return sorted(found, key=lambda kind: kind.__qualname__)


def test_every_public_call_that_a_collection_of_ours_inherits_has_a_boundary() -> None:
    kinds = collections_of_ours()
    assert {"Releases", "Registry", "DerivedTable"} <= {kind.__name__ for kind in kinds}
    bare = []
    for kind in kinds:
        for name in dir(kind):
            member = getattr(kind, name, None)
            public = not name.startswith("_") or name in OPERATORS
            if public and isinstance(member, FunctionType) and not has_boundary(member):
                bare.append(f"{kind.__name__}.{name}")
    assert not bare


@pytest.mark.parametrize("name", ["get", "__contains__", "__eq__"])
def test_data_handed_to_an_inherited_call_stands_in_no_frame(name: str, tmp_path: Path) -> None:
    data = pd.DataFrame({"visits": [987654321987654321]})
    session = dv.Session(data, dv.Unit(), dv.Budget(1), tmp_path / "inherited.ledger")
    call: Any = getattr(session.releases, name)
    try:
        call(data["visits"])
    except Exception as error:
        for frame, _ in traceback.walk_tb(error.__traceback__.tb_next if error.__traceback__ else None):
            assert all("987654321987654321" not in repr(value) for value in frame.f_locals.values())
