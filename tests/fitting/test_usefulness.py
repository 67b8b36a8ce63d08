"""The bounds of Appendix E are what they say, and lie above the exact quantile of the same sum."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest

from dpviz.errors import ParameterError
from dpviz.exact import Decay
from dpviz.fitting.noises import Term
from dpviz.fitting.sums import NoiseSum
from dpviz.fitting.usefulness import printed_error, records_needed, sharper_error

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
