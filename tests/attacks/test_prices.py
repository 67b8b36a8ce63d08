"""What one unit can do to the counts, by enumeration; and what a group of units costs."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest

import dpviz as dv
from dpviz.engines import as_source
from dpviz.exact import exp_bounds
from dpviz.model.question import Question
from dpviz.model.statistic import DenseCounts, StatisticKind
from dpviz.privacy import ApproxDP, PureDP, RangeBounded, Unit, group
from dpviz.privacy.conversion import to_approx


def contributions(unit: Unit, bins: int) -> Iterator[tuple[int, ...]]:
    """Everything one unit may add to the counts, nothing included."""
    for vector in itertools.product(range(unit.max_per_bin + 1), repeat=bins):
        if sum(1 for part in vector if part) <= unit.max_bins:
            yield vector


@pytest.mark.parametrize("relation", ["add-remove", "replace-one"])
@pytest.mark.parametrize("max_bins", [1, 2, 3, 5])
@pytest.mark.parametrize("max_per_bin", [1, 2])
@pytest.mark.parametrize("bins", [1, 2, 3, 4])
def test_l1_is_the_farthest_one_unit_moves_the_counts(
    relation: str, max_bins: int, max_per_bin: int, bins: int
) -> None:
    unit = Unit("person", relation=relation, max_bins=max_bins, max_per_bin=max_per_bin)  # type: ignore[arg-type]
    alone = list(contributions(unit, bins))
    nothing = [(0,) * bins]
    pairs = itertools.product(alone, nothing if relation == "add-remove" else alone)
    farthest = max(sum(abs(a - b) for a, b in zip(left, right, strict=True)) for left, right in pairs)
    assert unit.l1(bins) == farthest


@pytest.mark.parametrize("n", [1, 2, 3])
def test_a_replaced_row_moves_a_filtered_histogram_by_l1_at_most_and_reaches_it(n: int) -> None:
    """Rows may leave the domain, the filter and the missing bin; under replace-one they are as many as before."""
    unit = Unit(relation="replace-one", n=n)
    rows = [(value, passes) for value in (0.0, 1.0, 7.0, 0.5, np.nan) for passes in ("y", "n")]
    asked = {
        "one bin": Question.of(dv.Domain.integers(1, 1, column="a"), where={"b": "y"}),
        "two bins": Question.of(dv.Domain.integers(0, 0, column="a", missing=True), where={"b": "y"}),
        "product": Question.of(
            dv.Domain.integers(0, 1, column="a", overflow=True) * dv.Domain.categories(["y"], column="b", other=True)
        ),
    }
    farthest = dict.fromkeys(asked, 0)
    kept = [rows[3]] * (n - 1)
    for left, right in itertools.product(rows, repeat=2):
        for name, question in asked.items():
            counted = []
            for row in (left, right):
                frame = pd.DataFrame([*kept, row], columns=["a", "b"]).astype({"a": float})
                statistic = as_source(frame).count(question, unit, StatisticKind.DENSE)
                assert isinstance(statistic, DenseCounts)
                counted.append(statistic.take())
            farthest[name] = max(farthest[name], int(np.abs(counted[0] - counted[1]).sum()))
    assert farthest == {name: unit.l1(question.bins) for name, question in asked.items()}
    assert farthest["one bin"] == 1


def test_a_group_pays_for_all_steps_of_a_range_bounded_loss() -> None:
    delta = Fraction(1, 10**6)
    stepped, plain = group(RangeBounded(Fraction(1), delta, 3), 2), group(ApproxDP(Fraction(3), delta), 2)
    agreed = to_approx(RangeBounded(Fraction(1), delta, 3))
    assert agreed.epsilon > 3 and stepped == group(agreed, 2)
    assert isinstance(stepped, ApproxDP) and stepped.delta > plain.delta
    assert plain.delta >= delta * (1 + exp_bounds(Fraction(3))[0])
    assert group(PureDP(Fraction(1, 3)), 3) == PureDP(Fraction(1))
