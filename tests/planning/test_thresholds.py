"""The two laws of noise behind a threshold, in a plan's text and on its sheet."""

from __future__ import annotations

from typing import Any

import pandas as pd
import pytest

import dpviz as dv

TEN = dv.Unit("u", max_bins=10, noun="user")
BINS = dv.Domain.integers(0, 9, column="n")


def plan(tmp_path: Any, question: Any, mechanism: Any) -> dv.Plan:
    frame = pd.DataFrame({"u": [1, 2], "word": ["a", "b"], "n": [1, 2]})
    session = dv.Session(frame, unit=TEN, budget=dv.Budget("2", "1e-5"), ledger=str(tmp_path / "a.ledger"))
    return session.plan(question, mechanism)


@pytest.mark.parametrize(
    ("mechanism", "told"),
    [
        (dv.Stability("1", "1e-6"), "Bins are shown from 133 with geometric noise and from 71 with Gaussian noise."),
        (
            dv.Threshold("1", "1e-6", base="gaussian"),
            "Bins are shown from 133 with geometric noise and from 71 with Gaussian noise.",
        ),
        (
            dv.KeySelection("1", "1e-6"),
            "Stability shows bins with their counts from 133 with geometric noise and from 71 with Gaussian noise.",
        ),
    ],
    ids=["Stability", "Threshold", "KeySelection"],
)
def test_a_sheet_carries_the_sentence_of_its_plan_and_the_epsilon_it_holds_at(
    tmp_path: Any, mechanism: Any, told: str
) -> None:
    asked = plan(tmp_path, "word", mechanism)
    assert asked.sheet.to_json()["thresholds"] == {"epsilon": "1", "text": told}
    assert told.partition("from ")[2].rstrip(".") in repr(asked)


@pytest.mark.parametrize("mechanism", [dv.Dense("1"), dv.Stability("1", "1e-6", variant="paper"), dv.Threshold("1")])
def test_a_sheet_without_a_choice_of_noise_behind_a_threshold_has_none(tmp_path: Any, mechanism: Any) -> None:
    asked = plan(tmp_path, BINS, mechanism)
    assert "thresholds" not in asked.sheet.to_json()
    assert "  thresholds " not in repr(asked)
