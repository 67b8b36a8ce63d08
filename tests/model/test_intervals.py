"""What holds for every shape: the interval it gives where it says nothing else, and what its view cannot say."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest

import dpviz as dv
from dpviz.charts.picture import picture
from dpviz.model.answers import Answer, Reading, View
from dpviz.model.answers.values import around
from dpviz.model.error import ErrorValue

BAR = ErrorValue(Fraction(5, 2), "exact", "a rule")


def test_whole_numbers_err_by_whole_counts_and_are_cut_at_the_public_limits() -> None:
    found = around(np.array([0, 3, 9], dtype=np.int64), BAR, (0, 10))
    assert list(found.low) == [0, 1, 7] and list(found.high) == [2, 5, 10]
    assert found.low_cut is not None and found.low_cut.tolist() == [True, False, False]
    assert found.high_cut is not None and found.high_cut.tolist() == [False, False, True]


def test_fractions_keep_every_part_of_value_and_bar() -> None:
    found = around([Fraction(1, 3), Fraction(10, 3), Fraction(29, 3)], BAR, (0, 10))
    assert list(found.low) == [0, Fraction(5, 6), Fraction(43, 6)]
    assert list(found.high) == [Fraction(17, 6), Fraction(35, 6), 10]
    assert found.low_cut is not None and found.low_cut.tolist() == [True, False, False]
    assert found.high_cut is not None and found.high_cut.tolist() == [False, False, True]
    assert around([Fraction(1, 3)], BAR, (None, None)).low == [Fraction(-13, 6)]


def test_a_view_cannot_replace_what_every_release_says(monkeypatch: pytest.MonkeyPatch) -> None:
    release = dv.teaching(pd.DataFrame({"x": [0, 1, 1]}), 3).draw(dv.Domain.integers(0, 1, column="x"), dv.Dense(1))
    true, view = picture(release), type(release.answer).view
    forged = dict.fromkeys(("guarantee", "price", "teaching", "kind", "clamp"), "forged")

    def forge(answer: Answer, reading: Reading, betas: Sequence[Fraction]) -> View:
        drawn = view(answer, reading, betas)
        return replace(drawn, header={**drawn.header, **forged})

    monkeypatch.setattr(type(release.answer), "view", forge)
    assert picture(release) == true
