"""The bounds of Appendix E are what they say, and lie above the exact quantile of the same sum."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from dpviz.errors import DpvizError, ParameterError
from dpviz.exact import Decay
from dpviz.fitting.noises import Term
from dpviz.fitting.sums import NoiseSum
from dpviz.fitting.tree import Shape
from dpviz.fitting.usefulness import equi_depth_shape, printed_error, records_needed, sharper_error, usefulness

TWENTIETH = Fraction(1, 20)


@pytest.mark.parametrize("height", [1, 2, 5, 16])
def test_bounds_are_the_printed_formulas_and_enclose_them(height: int) -> None:
    for epsilon in (Fraction(1), Fraction(1, 10)):
        formula = height**1.5 * math.log(40) / float(epsilon)
        for bound, factor in ((printed_error, 16), (sharper_error, 4 * math.sqrt(2))):
            low, high = bound(height, epsilon, TWENTIETH)
            assert low <= high and float(low) == pytest.approx(factor * formula, rel=1e-12) == float(high)
            together = bound(height, epsilon, TWENTIETH, 1000)
            assert float(together[1]) == pytest.approx(float(high) * math.log(40 * 10**6) / math.log(40), rel=1e-12)


@pytest.mark.parametrize("height", [2, 5, 16])
def test_the_exact_quantile_of_as_many_subtrees_is_smaller(height: int) -> None:
    """A binary tree needs at most 2 height - 4 subtrees, and 1 at least; noise has scale height / epsilon."""
    noise = NoiseSum.of([Term(Decay.exp(Fraction(1, height)), 1, max(1, 2 * height - 4))])
    exact = noise.radius(TWENTIETH)
    assert exact.exact and exact.value < sharper_error(height, 1, TWENTIETH)[0] < printed_error(height, 1, TWENTIETH)[0]


def test_records_are_the_error_over_the_relative_error() -> None:
    assert records_needed("37.5", "1/100") == 3750


def test_bounds_of_nothing_are_refused() -> None:
    for arguments in ((0, 1, TWENTIETH), (2, 0, TWENTIETH), (2, 1, 0), (2, 1, 1)):
        with pytest.raises(ParameterError):
            printed_error(*arguments)
    with pytest.raises(ParameterError):
        records_needed(1, 0)


@pytest.mark.parametrize("leaves", [1, 2, 3, 8, 50])
def test_the_calculator_counts_the_subtrees_of_the_longest_cover(leaves: int) -> None:
    found, shape = usefulness(leaves, "1/2", TWENTIETH), Shape(2, leaves)
    longest = max(len(shape.cover(low, high)) for low in range(leaves) for high in range(low, leaves))
    assert found.height == shape.height and found.subtrees >= longest
    if leaves == shape.leaves:
        assert found.subtrees == longest
    printed = printed_error(shape.height, "1/2", TWENTIETH)
    assert found.printed - 1 < printed[1] <= found.printed and found.exact <= found.sharper <= found.printed


@pytest.mark.parametrize("every", [False, True])
def test_the_exact_quantile_beside_it_is_the_least_that_holds_by_convolution(every: bool) -> None:
    """A binary tree of eight leaves: four noises of ratio exp(-1/4), summed in floats to far below the level."""
    found = usefulness(8, 1, TWENTIETH, every)
    level = 0.05 / (64 if every else 1)
    rate, far = math.exp(-1 / 4), 300
    one = np.array([(1 - rate) / (1 + rate) * rate ** abs(z) for z in range(-far, far + 1)])
    law = one
    for _ in range(found.subtrees - 1):
        law = np.convolve(law, one)
    middle = len(law) // 2

    def beyond(a: int) -> float:
        return 2 * float(law[middle + a + 1 :].sum())

    assert found.subtrees == 4 and found.settled and found.exact.denominator == 1
    assert beyond(int(found.exact)) <= level < beyond(int(found.exact) - 1)


def test_the_records_that_are_needed_follow_from_each_error() -> None:
    found = usefulness(32768, 1, TWENTIETH, True)
    assert found.records_needed("1/100") == (100 * found.printed, 100 * found.sharper, 100 * found.exact)


def test_the_equi_depth_shape_grows_as_it_is_printed_and_with_the_constant() -> None:
    formula = math.log(1000) * (math.log(math.log(1000)) + math.log(1 / (0.1 * 0.05))) / (0.5 * 0.001)
    assert equi_depth_shape(1000, "1/2", TWENTIETH, "1/10") == pytest.approx(formula)
    assert equi_depth_shape(1000, "1/2", TWENTIETH, "1/10", 3) == pytest.approx(3 * formula)


@pytest.mark.parametrize(
    "given", [(0, 1, "1/20"), (8, 0, "1/20"), (8, 1, 0), (8, 1, 1), (8, 1, "1/20", 3), ("x", 1, "1/20")]
)
def test_a_calculator_refuses_what_makes_no_sense(given: tuple[Any, ...]) -> None:
    with pytest.raises(DpvizError):
        usefulness(*given)
