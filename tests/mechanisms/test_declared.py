"""The parameters of every mechanism: what they read, refuse, show and read back is what it has always been."""

from __future__ import annotations

import json
import re
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest

import dpviz as dv
from dpviz.mechanisms import REGISTRY
from tests.mechanisms import declared
from tests.mechanisms.samples import lacking

KEPT: dict[str, Any] = json.loads(declared.RECORD.read_text())


def test_every_mechanism_has_values_to_try() -> None:
    assert [lacking(name, declared.GOOD.place) for name in REGISTRY if name not in declared.GOOD] == []


@pytest.mark.parametrize("name", declared.GOOD)
@pytest.mark.parametrize("part", ["signature", "choices", "made", "refused", "texts", "unknown"])
def test_parameters_are_read_refused_and_shown_as_on_record(name: str, part: str) -> None:
    now = declared.record()[name][part]
    assert name in KEPT, f"{name} is not on record: `python -m tests.mechanisms.declared` writes it"
    assert now == KEPT[name][part]


def test_what_a_page_lists_is_what_the_classes_say() -> None:
    """Where it is not, `python -m tests.mechanisms.declared` writes it anew."""
    written = json.loads(declared.OFFERS.read_text(encoding="utf-8"))
    assert list(written) == list(REGISTRY)
    assert written == json.loads(json.dumps(declared.offers()))


def test_the_record_holds_thousands_of_combinations_and_of_refusals() -> None:
    assert sum(kept["made"]["lines"] for kept in KEPT.values()) == len(declared.GOOD) * declared.ROUNDS >= 4_000
    assert sum(kept["refused"]["lines"] for kept in KEPT.values()) > 1_500


def listed(docstring: str) -> list[str]:
    """The names that the list of parameters in a docstring begins its lines with."""
    lines = [line for line in docstring.splitlines() if re.match(r"    \w", line)]
    names = [re.match(r"    ((?:\w+, )*\w+) +\S", line) for line in lines]
    return [name for match in names if match for name in match[1].split(", ")]


@pytest.mark.parametrize("name", declared.GOOD)
def test_the_docstring_lists_every_parameter(name: str) -> None:
    kind = declared.of(name)
    assert [one.name for one in fields(kind) if one.name not in listed(kind.__doc__)] == []


def test_a_parameter_that_the_docstring_leaves_out_would_be_seen() -> None:
    told = dv.Dense.__doc__ or ""
    assert "gamma" in listed(told) and "gamma" not in listed(told.replace("    gamma ", "    delta "))


def test_no_mechanism_sets_its_own_fields() -> None:
    sources = [*Path(dv.__file__).parent.glob("mechanisms/*.py")]
    assert len(sources) > 9
    assert [path.name for path in sources if "object.__setattr__" in path.read_text()] == []
