"""What a page gets to draw strips: how far one value is off 80 and 50 times in 100, summed from the law."""

from __future__ import annotations

import json
import math
from fractions import Fraction

import numpy as np
import pytest

import dpviz as dv
from dpviz.charts.picture import picture
from dpviz.model.answers import SparseTable, Table
from dpviz.model.question import Question
from dpviz.model.release import Release

DAYS = Question.of(dv.Domain.integers(0, 6, column="day"))


@pytest.mark.parametrize("epsilon", ["0.05", "0.3", "2"])
def test_the_inner_strips_are_the_least_that_hold_80_and_50_times_in_100(epsilon: str) -> None:
    bound = dv.Dense(epsilon, base="exp").bind(DAYS, dv.Unit())
    release = Release.of(bound, Table(np.arange(7)), mode="exact", randomness="none")
    ratio = math.exp(-float(Fraction(epsilon)))

    def holds(reach: int) -> float:
        return (1 - ratio) / (1 + ratio) * (1 + 2 * sum(ratio**z for z in range(1, reach + 1)))

    eighty, fifty = (int(reach) for reach in picture(release)["strips"])
    assert holds(eighty) >= 0.8 > (holds(eighty - 1) if eighty else 0)
    assert holds(fifty) >= 0.5 > (holds(fifty - 1) if fifty else 0)
    assert fifty <= eighty <= int(release.bars()[0].value)


def test_a_strip_costs_one_number_whatever_the_number_of_bins() -> None:
    wide = Question.of(dv.Domain.integers(0, 999, column="day"))
    sizes = []
    for question, values in ((DAYS, np.arange(7)), (wide, np.arange(1000))):
        release = Release.of(dv.Dense(1).bind(question, dv.Unit()), Table(values), mode="exact", randomness="none")
        sizes.append(len(json.dumps(picture(release)["strips"])))
    assert max(sizes) < 20


def test_counts_of_keys_have_strips_too() -> None:
    keys = Question.of(dv.Domain.keys(column="dest"))
    bound = dv.Stability("1", "1e-6").bind(keys, dv.Unit())
    answer = SparseTable(("ATL", "BNA"), np.array([400, 300]))
    sent = picture(Release.of(bound, answer, mode="exact", randomness="none"))
    eighty, fifty = (Fraction(reach) for reach in sent["strips"])
    shown = bound.error.shown(Fraction(1, 20))
    assert shown is not None and fifty <= eighty <= shown.value
