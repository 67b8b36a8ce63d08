"""Sums of look-ups rest on the interval of each: an end that is open at the cap stays open, and no cap is assumed."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import dpviz as dv
from dpviz.mechanisms import REGISTRY
from dpviz.model.answers import Answer
from dpviz.model.linear import Query
from dpviz.model.question import Question
from dpviz.model.release import Release
from dpviz.model.statistic import SparseCounts
from dpviz.noise.bits import TeachingBits
from dpviz.privacy import Unit
from tests.model.whole_laws import release_of

ROW = Unit("row")
BINS = dv.Domain.integers(0, 99, column="k")
HALVES = Question.sum("x", by=BINS, low=0, high=2, step="0.5")
SIGNED = Question.sum("x", by=BINS, low=-1, high=1, step=1)
BETA = Fraction(1, 20)

CAPPED: dict[str, tuple[Any, Question]] = {
    "sketch": (dv.ALP(4, cap=20, keys=10), Question.of(BINS)),
    "sketch of two halves": (dv.ALP(4, cap=20, keys=10), SIGNED),
    "logarithms": (dv.ALP(4, cap=60, keys=10, encoding="log"), Question.of(BINS)),
    "both signs": (dv.ALP(4, cap=20, keys=10, encoding="signed"), SIGNED),
    "buckets": (dv.MaxProjection(4, cap=20, keys=10), Question.of(BINS)),
    "signed buckets": (dv.MaxProjection(4, cap=20, keys=10), SIGNED),
    "halves of a step": (dv.ALP(9, cap=20, keys=10), HALVES),
}


def drawn(mechanism: Any, question: Question, values: dict[int, int], seed: int = 3) -> Release:
    bound = mechanism.bind(question, ROW)
    statistic = SparseCounts(np.array(list(values), np.uint64), np.array(list(values.values()), np.int64))
    answer: Answer = bound.draw(statistic, TeachingBits(seed), mode="exact")
    return release_of(bound, answer)


@pytest.mark.parametrize("name", CAPPED)
def test_a_value_above_the_cap_leaves_the_sum_open_and_no_cap_is_named(name: str) -> None:
    """A sum that names a condition on the cap instead ends below a value that is above it."""
    mechanism, question = CAPPED[name]
    release = drawn(mechanism, question, {5: 10**6})
    asked: Any = release.sum([5, 70])
    assert asked.high is None and "larger value" in asked.sentence
    rule = release.terms.law.linear(Query.of(([5, 70], 1)), release.answer, release.reading).rule
    assert "if at most 10 bins are not empty" in rule and "above" not in rule and "further" not in rule
    turned: Any = release.difference([70], [5])
    assert turned.low is None


@pytest.mark.parametrize("name", CAPPED)
def test_a_sum_is_bounded_by_its_look_ups_at_their_share_of_beta(name: str) -> None:
    mechanism, question = CAPPED[name]
    release = drawn(mechanism, question, {5: 3, 6: 2})
    points, step = [5, 6, 80], question.aggregate.step
    found = release.answer.intervals(release.reading, BETA / 3, points=points)
    error = release.terms.law.linear(Query.of((points, 1)), release.answer, release.reading)
    below, above = error.ends(BETA)
    value = release.answer.weighted_sum(release.reading, Query.of((points, 1)))
    assert found is not None
    for end, part, sign in ((below, found.low, 1), (above, found.high, -1)):
        if any(one is None for one in part):
            assert end is None
        else:
            assert end is not None and value - sign * end.value == sum(map(Fraction, part))  # type: ignore[arg-type]
    asked: Any = release.sum(points)
    for end in (asked.low, asked.high):
        assert end is None or (end / step).denominator == 1, "an end is a number of whole steps"


def test_an_end_of_a_sum_is_a_multiple_of_its_step() -> None:
    """A bucket alone reads what was drawn: 2.5, which no whole number is."""
    release = drawn(dv.MaxProjection(1000, cap=20, keys=10), HALVES, {7: 5})
    asked: Any = release.sum([7])
    assert release[7] == Fraction(5, 2) and not asked.empty
    assert (asked.low, asked.high) == (Fraction(5, 2), Fraction(5, 2))


def test_what_is_kept_bounds_a_sum_on_both_sides() -> None:
    for name in ("ThresholdALP", "ThresholdMaxProjection"):
        mechanism = REGISTRY[name](epsilon=4, keys=10)
        release = drawn(mechanism, Question.of(BINS), {5: 10**6})
        asked: Any = release.sum([5])
        assert asked.low is not None and asked.high is not None and asked.low <= 10**6 <= asked.high
