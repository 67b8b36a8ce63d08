"""The parameters of every mechanism: what they read, refuse, show and read back is what it has always been."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.mechanisms import declared

KEPT: dict[str, Any] = json.loads(declared.RECORD.read_text())


@pytest.mark.parametrize("name", declared.GOOD)
@pytest.mark.parametrize("part", ["signature", "choices", "made", "refused", "texts", "unknown"])
def test_parameters_are_read_refused_and_shown_as_on_record(name: str, part: str) -> None:
    now = declared.record()[name][part]
    assert now == KEPT[name][part]


def test_the_record_holds_thousands_of_combinations_and_of_refusals() -> None:
    assert sum(kept["made"]["lines"] for kept in KEPT.values()) == len(declared.GOOD) * declared.ROUNDS >= 4_000
    assert sum(kept["refused"]["lines"] for kept in KEPT.values()) > 1_500
