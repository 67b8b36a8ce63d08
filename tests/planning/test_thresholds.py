"""The two laws of noise behind a threshold, in a plan's text and on its sheet."""

from __future__ import annotations

from typing import Any

import pandas as pd
import pytest

import dpviz as dv
from dpviz.planning.comparing import advice_json

TEN = dv.Unit("u", max_bins=10, noun="user")
BINS = dv.Domain.integers(0, 9, column="n")


def plan(tmp_path: Any, question: Any, mechanism: Any) -> dv.Plan:
    frame = pd.DataFrame({"u": [1, 2], "word": ["a", "b"], "n": [1, 2]})
    session = dv.Session(frame, unit=TEN, budget=dv.Budget("2", "1e-5"), ledger=str(tmp_path / "a.ledger"))
    return session.plan(question, mechanism)


@pytest.mark.parametrize(
    ("mechanism", "head"),
    [
        (dv.Stability("1", "1e-6"), "thresholds"),
        (dv.Threshold("1", "1e-6", base="gaussian"), "thresholds"),
        (dv.KeySelection("1", "1e-6"), "with counts"),
    ],
    ids=["Stability", "Threshold", "KeySelection"],
)
def test_the_advice_of_a_page_has_the_line_of_the_plan(tmp_path: Any, mechanism: Any, head: str) -> None:
    asked = plan(tmp_path, "word", mechanism)
    told = {one["head"]: one["text"] for one in advice_json(asked.bound, mechanism, lambda made: True)["told"]}
    assert told[head].startswith("from 133 with geometric noise and from 71 with Gaussian noise")
    assert f"  {head:<12} {told[head]}" in repr(asked).splitlines()


@pytest.mark.parametrize("mechanism", [dv.Dense("1"), dv.Stability("1", "1e-6", variant="paper"), dv.Threshold("1")])
def test_a_sheet_without_a_choice_of_noise_behind_a_threshold_has_none(tmp_path: Any, mechanism: Any) -> None:
    asked = plan(tmp_path, BINS, mechanism)
    assert "thresholds" not in asked.sheet.to_json()
    assert "  thresholds " not in repr(asked)
    assert "thresholds" not in str(advice_json(asked.bound, mechanism, lambda made: False)["told"])


@pytest.mark.parametrize("kind", [dv.Stability, dv.Threshold])
def test_the_other_law_is_named_where_it_shows_more_and_not_the_one_in_use(tmp_path: Any, kind: Any) -> None:
    told = {
        base: next(
            said
            for said in repr(plan(tmp_path, "word", kind("1", "1e-6", base=base))).splitlines()
            if said.startswith("  thresholds ")
        )
        for base in ("exp", "gaussian")
    }
    assert 'base="gaussian" shows more' in told["exp"] and "base=" not in told["gaussian"]
    assert "thresholds" in repr(plan(tmp_path, "word", kind("1", "1e-6")))
