"""Answers in which nothing is large enough to be shown: every form of them can be looked at."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import dpviz as dv

FRAME = pd.DataFrame({"x": ["a"] * 30, "pay": [0.5] * 30, "who": range(30)})
MISSING = dv.Domain.categories(["b"], column="x")
KEYS = dv.Domain.keys(column="x")
QUESTIONS = {
    "counts of declared bins": dv.Question.of(MISSING),
    "counts of keys": dv.Question.of(KEYS),
    "sums of declared bins": dv.Question.sum("pay", by=MISSING, low=0, high=10, step="0.01"),
    "sums of keys": dv.Question.sum("pay", by=KEYS, low=0, high=10, step="0.01"),
}
UNITS = {"rows": dv.Unit("row"), "users": dv.Unit("who", noun="person", max_bins=1, max_per_bin=3)}


@pytest.mark.parametrize("unit", UNITS)
@pytest.mark.parametrize("asked", QUESTIONS)
@pytest.mark.parametrize("mechanism", [dv.Threshold("1/1000", "1e-9"), dv.Stability("1/1000", "1e-9")])
def test_an_answer_in_which_nothing_is_shown_can_be_looked_at(
    unit: str, asked: str, mechanism: Any, tmp_path: Path
) -> None:
    session = dv.Session(FRAME, UNITS[unit], dv.Budget(1, "1/10"), tmp_path / "a.ledger")
    if asked.startswith("sums") and isinstance(mechanism, dv.Stability):
        with pytest.raises(dv.DpvizError):
            session.plan(QUESTIONS[asked], mechanism)
        return
    release: Any = session.release(QUESTIONS[asked], mechanism)
    assert not len(release.answer.labels), "the threshold is far above what noise reaches"
    assert release.chart().to_dict() and release._repr_html_() and release.to_csv()
    assert release.to_frame().empty
    assert dv.report([release], tmp_path / "report.html")
