"""The best branching of a tree: means over all ranges against every range, and what comes first."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from typing import Any

import pandas as pd
import pytest

from dpviz.errors import DpvizError
from dpviz.fitting.branching import branchings
from dpviz.fitting.tree import Design, Shape


@pytest.mark.parametrize("leaves", [1, 2, 5, 9, 16])
def test_errors_are_the_mean_over_every_range_and_the_best_comes_first(leaves: int) -> None:
    every = list(itertools.combinations_with_replacement(range(leaves), 2))
    found, listed = branchings(leaves, "1/2"), branchings(leaves, "1/2", every)
    assert found == listed and [one.error for one in found] == sorted(one.error for one in found)
    assert sorted(one.branching for one in found) == list(range(2, max(2, leaves) + 1))
    for one in found:
        shape = Shape(one.branching, leaves)
        ratio = math.exp(-0.5 / shape.height)
        noise = 2 * ratio / (1 - ratio) ** 2
        mean = sum(Design(shape).variance([(low, high, 1)]) for low, high in every) / len(every)
        assert (one.height, one.nodes) == (shape.height, shape.nodes)
        assert float(one.error) == pytest.approx(noise * float(mean), rel=1e-12)


def test_the_ranges_that_matter_decide() -> None:
    """Single bins want a tree as low as can be, and all ranges do not."""
    bins = branchings(256, 1, [(one, one) for one in range(256)], 256)
    assert bins[0].branching == 256 and branchings(256, 1, None, 256)[0].branching < 256
    assert branchings(256, 1, [(0, 3), (0, 3), (5, 9)])[0].error > 0
    twice = {one.branching: one.error for one in branchings(64, 1, [(0, 3), (0, 3), (5, 9)])}
    first = {one.branching: one.error for one in branchings(64, 1, [(0, 3)])}
    other = {one.branching: one.error for one in branchings(64, 1, [(5, 9)])}
    assert all(error == (2 * first[k] + other[k]) / Fraction(3) for k, error in twice.items())


@pytest.mark.parametrize(
    "given",
    [
        (0,), (-3,), ("x",), (4, 0), (4, 1, []), (4, 1, [(2, 1)]), (4, 1, [(0, 4)]), (4, 1, [(-1, 2)]), (4, 1, 3),
        (4, 1, [1, 2]), (4, 1, [(1, 2, 3)]), (4, 1, [(0, 2**70)]), (4, 1, [(0.5, 1)]), (4, 1, None, 1),
        (4, 1, pd.Series([1, 2])), (4, 1, [(0, True)]),
    ],
)  # fmt: skip
def test_what_is_no_domain_price_or_range_is_refused(given: tuple[Any, ...]) -> None:
    with pytest.raises(DpvizError):
        branchings(*given)
