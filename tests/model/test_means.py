"""Means of ordered bins: their intervals are those of the test and hold at the worst truth; open beyond the bins."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from itertools import product

import numpy as np
import pandas as pd
import pytest

import dpviz as dv
from dpviz.model.answers import Table
from dpviz.model.derived import Derived
from dpviz.model.release import Release

EPSILON = "3/2"
REACH = 4
BETA = Fraction(1, 5)


def drawn(domain: dv.Domain, mechanism: object, values: list[object], **options: object) -> Release:
    lesson = dv.teaching(pd.DataFrame({"x": values}), seed=7, **options)  # type: ignore[arg-type]
    release = lesson.draw(domain, mechanism)  # type: ignore[arg-type]
    assert isinstance(release, Release)
    return release


def chance(z: int, epsilon: Fraction) -> float:
    decay = math.exp(-float(epsilon))
    return (1 - decay) / (1 + decay) * decay ** abs(z)


def rare(values: list[int], mean: Fraction, sign: int, epsilon: Fraction) -> float:
    """Pr[sign * sum (v - mean) Z_v >= what was seen], for values of three bins, by enumeration of all noises."""
    reach = math.ceil(30 / float(epsilon))
    masses = np.array([chance(z, epsilon) for z in range(-reach, reach + 1)])
    weights = [sign * (place - mean) * mean.denominator for place in range(3)]
    seen = sum(int(weight) * value for weight, value in zip(weights, values, strict=True))
    z = np.arange(-reach, reach + 1)
    total = int(weights[0]) * z[:, None, None] + int(weights[1]) * z[None, :, None] + int(weights[2]) * z[None, None, :]
    law = masses[:, None, None] * masses[None, :, None] * masses[None, None, :]
    return float(law[total >= seen].sum())


@pytest.mark.parametrize("values", [[30, 5, 12], [3, 60, 2], [0, 1, 44], [25, -2, 0]])
def test_an_end_is_where_the_test_of_the_sum_begins_to_reject(values: list[int]) -> None:
    epsilon = Fraction(1, 2)
    base = drawn(dv.Domain.integers(0, 2, column="x"), dv.Dense(epsilon, clamp=False), [0])
    found = replace(base, answer=Table(np.array(values))).mean(beta=BETA)
    assert found.low is not None and found.high is not None and found.off is not None
    assert 0 <= found.low < found.high <= 2 and found.off < Fraction(1, 20)
    level, step = float(BETA / 2), found.off + Fraction(1, 10**5)
    if found.low > 0:
        assert rare(values, found.low, 1, epsilon) <= level < rare(values, found.low + step, 1, epsilon)
    if found.high < 2:
        assert rare(values, found.high, -1, epsilon) <= level < rare(values, found.high - step, -1, epsilon)
    assert found.value == Fraction(values[1] + 2 * values[2], sum(values))


def least_coverage(clamp: bool, beta: Fraction) -> float:
    """The chance that the mean of three bins lies in its interval, at the worst of all truths."""
    base = drawn(dv.Domain.integers(0, 2, column="x"), dv.Dense(EPSILON, clamp=clamp), [0])
    ends = {}
    for values in product(range(0 if clamp else -2, REACH + 2), repeat=3):
        found = replace(base, answer=Table(np.array(values, dtype=np.int64))).mean(beta=beta)
        assert found.low is not None and found.high is not None
        ends[values] = (found.low, found.high)
    least = 1.0
    for counts in product(range(2), repeat=3):
        if not (whole := sum(counts)):
            continue
        mean, total = Fraction(counts[1] + 2 * counts[2], whole), 0.0
        for noises in product(range(-REACH, REACH + 1), repeat=3):
            values = tuple(count + z for count, z in zip(counts, noises, strict=True))
            shown = tuple(max(0, value) for value in values) if clamp else values
            low, high = ends.get(shown, (0, 2))  # far below 0 most of them leave all means
            if low <= mean <= high:
                total += math.prod(chance(z, Fraction(EPSILON)) for z in noises)
        least = min(least, total)
    return least


def test_clamped_counts_have_a_mean_that_holds_at_the_worst_truth() -> None:
    assert least_coverage(True, BETA) >= 1 - BETA


def means_of(values: list[int], domain: dv.Domain, **options: object) -> Derived:
    return drawn(domain, dv.Dense(20, clamp=False), list(values), **options).mean()


def test_bins_beyond_the_declared_ones_leave_an_end_open() -> None:
    values = [1] * 40 + [2] * 20 + [9] * 40
    over = means_of(values, dv.Domain.integers(1, 3, column="x", overflow=True))
    assert over.high is None and over.low is not None and abs(over.low - Fraction(12, 5)) < Fraction(1, 50)
    assert over.interval_text.startswith("at least") and any("over 3 as 4" in remark for remark in over.remarks)
    under = means_of([-5] * 50 + [1] * 50, dv.Domain.integers(0, 3, column="x", underflow=True))
    assert under.low is None and under.high is not None and abs(under.high) < Fraction(1, 50)
    assert any("below 0 as -1" in remark or "under 0 as -1" in remark for remark in under.remarks)


def test_missing_values_are_in_no_mean_and_a_mean_says_what_it_is_of() -> None:
    found = means_of([1, 3] * 50 + [None] * 500, dv.Domain.integers(1, 3, column="x", missing=True))  # type: ignore[list-item]
    assert found.value == 2 and found.low is not None and found.high is not None and found.high - found.low < 0.05
    assert found.what == "x: mean of the rows" and "the truth lies between" in found.sentence
    assert " rows;" not in found.sentence.split("lies between")[1]


def test_of_intervals_each_end_takes_the_end_of_the_bin() -> None:
    found = means_of([5] * 30 + [12] * 30, dv.Domain.intervals([0, 10, 20], column="x"))
    assert found.low is not None and found.high is not None
    assert abs(found.low - 5) < 1 and abs(found.high - 15) < 1 and found.low <= Fraction(17, 2) <= found.high
    assert any("middle of each bin" in remark for remark in found.remarks) and abs(float(found.value) - 10) < 1  # type: ignore[arg-type]


def test_one_number_is_its_mean_and_no_rows_have_any() -> None:
    one = means_of([4] * 9, dv.Domain.integers(4, 4, column="x"))
    assert one.interval == (4, 4) and one.value == 4
    base = drawn(dv.Domain.integers(0, 2, column="x"), dv.Dense(1, clamp=False), [0])
    empty = replace(base, answer=Table(np.array([1, 0, -1]))).mean()
    assert empty.interval == (0, 2) and any("any mean is possible" in remark for remark in empty.remarks)


@pytest.mark.parametrize("mechanism", [dv.Dense(1, clamp=False), dv.Dense(1), dv.Tree(1)])
def test_means_of_other_mechanisms_hold_the_truth_at_a_level_at_which_none_misses(mechanism: object) -> None:
    values: list[object] = [x for x in range(30) for _ in range(20 + x)]
    release = drawn(dv.Domain.integers(0, 29, column="x"), mechanism, values)
    alone, several = release.mean(beta="0.00001"), release.mean(beta="0.00001", among=100)
    truth = Fraction(sum(values), len(values))  # type: ignore[arg-type]
    assert alone.low is not None and alone.high is not None and several.low is not None and several.high is not None
    assert several.low < alone.low < truth < alone.high < several.high
    assert several.how == "bound" and "100 questions" in several.rule


def test_two_answers_together_have_a_mean() -> None:
    lesson = dv.teaching(pd.DataFrame({"x": [x for x in range(20) for _ in range(30)]}), seed=2)
    domain = dv.Domain.integers(0, 19, column="x")
    both = dv.combine(lesson.draw(domain, dv.Dense(1, clamp=False)), lesson.draw(domain, dv.Dense(1, clamp=False)))
    found = both.mean(beta="0.00001")
    assert found.low is not None and found.high is not None and found.low < Fraction(19, 2) < found.high
    assert len(found.paid) == 2 and found.high - found.low < 1
