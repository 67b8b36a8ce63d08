"""The table of logarithms: its slopes, its inverse, and the numbers of the paper's Section 6."""

from __future__ import annotations

import itertools
from fractions import Fraction

import pytest

from dpviz.errors import ParameterError
from dpviz.laws.alp import Flips
from dpviz.laws.log_encoding import (
    LOWEST,
    Rungs,
    growth,
    mean_factor,
    paper_columns,
    paper_factor,
    paper_floor,
)

FIFTH = Flips(Fraction(1, 5))
WORTHS = [Fraction(1, 3), Fraction(13, 38), Fraction(3), Fraction(40), Fraction(1, 300), Fraction(500)]


def rungs_of(worth: Fraction, flips: Flips = FIFTH, top: int = 3000) -> Rungs:
    rungs = Rungs.up_to(worth, growth(flips), top, 70_000)
    assert rungs is not None
    return rungs


@pytest.mark.parametrize("worth", WORTHS)
def test_no_step_is_worth_more_than_it_may_be_and_the_first_one_is_worth_it(worth: Fraction) -> None:
    """Every step of every value up to the top, and every stretch of several steps."""
    rungs = rungs_of(worth)
    bits = [rungs.bits(value) for value in range(3002)]
    slopes = [after - before for before, after in itertools.pairwise(bits)]
    assert min(slopes) >= 0 and max(slopes) <= worth
    for steps in (1, 2, 7, 100):
        far = [after - before for before, after in zip(bits, bits[steps:], strict=False)]
        assert max(far) == rungs.moved(steps) <= steps * worth
    if worth <= 1:
        low = int(rungs.floor)
        assert bits[low] == 0 and low == rungs.floor and worth - slopes[low] < Fraction(1, 1000), "it is attained"
    assert rungs.floor >= LOWEST and rungs.top >= 3000


@pytest.mark.parametrize("worth", WORTHS)
def test_bits_and_values_are_the_inverse_of_each_other(worth: Fraction) -> None:
    rungs = rungs_of(worth)
    for sixth in range(6 * rungs.columns + 1):
        bits = Fraction(sixth, 6)
        assert rungs.bits(rungs.steps(bits)) == bits
    assert rungs.bits(0) == rungs.bits(rungs.floor) == 0 and rungs.bits(rungs.top * 9) == rungs.columns
    assert rungs.steps(Fraction(-1)) == rungs.floor and rungs.steps(Fraction(rungs.columns + 1)) == rungs.top


def test_so_many_bits_are_no_larger_factor_than_is_said_and_nearly_that_large() -> None:
    rungs, near = rungs_of(Fraction(1, 3)), Fraction(0)
    grid = [Fraction(part, 5) for part in range(5 * rungs.columns + 1)]
    values = [rungs.steps(bits) for bits in grid]
    for away in (1, 4, 5, 13, 40):
        said = rungs.factor(Fraction(away, 5))
        found = max(high / low for low, high in zip(values, values[away:], strict=False))
        assert found <= said
        near = max(near, found / said)
    assert near > Fraction(999, 1000)


def test_the_floor_is_a_little_below_the_paper_s_and_as_many_columns_reach_a_million() -> None:
    """Section 6 with alpha = 3 and values up to a million: 95 columns, with collisions 153; else 89 and 101."""
    for epsilon, q, columns in (("1", "0", 95), ("1", "1/10", 153), ("1/2", "0", 89), ("2", "0", 101)):
        flips, worth = Flips(Fraction(1, 5), Fraction(q)), Fraction(epsilon) / 3
        low, high = paper_floor(flips, worth)
        rungs = rungs_of(worth, flips, 10**6)
        assert paper_columns(flips, worth, Fraction(10**6)) == rungs.columns == columns
        assert Fraction(94, 100) * low < rungs.floor < low and high - low < Fraction(1, 10**20)
        assert -(-(10**6) * worth // 1) == {"1/2": 166_667, "1": 333_334, "2": 666_667}[epsilon], "without logarithms"


def test_the_paper_s_constants() -> None:
    """Its factor is least at alpha = 20.27, its floor at alpha = 3.07; by the exact law the factors are far smaller."""
    factors = {alpha: paper_factor(Flips(1 / (Fraction(alpha, 100) + 2))) for alpha in range(1990, 2061)}
    best = min(factors, key=lambda alpha: factors[alpha])
    assert abs(best - 2027) <= 3 and abs(factors[2027] - 4.8284) < 5e-5
    floors = {
        alpha: paper_floor(Flips(1 / (Fraction(alpha, 1000) + 2)), Fraction(1000, alpha))[0]
        for alpha in range(3040, 3100)
    }
    least = min(floors, key=lambda alpha: floors[alpha])
    assert abs(least - 3070) <= 2 and round(float(floors[3070]), 3) == 26.886
    for alpha, exact, bound in ((3, 1.216, 6.71), (6, 1.187, 5.45), (20, 1.123, 4.83)):
        flips = Flips(Fraction(1, alpha + 2))
        assert round(mean_factor(flips), 3) == exact and round(paper_factor(flips), 2) == bound


def test_the_factor_from_bit_to_bit_is_rounded_down_and_never_a_float() -> None:
    for p in (Fraction(1, 5), Fraction(13108, 65536), Fraction(1, 100), Fraction(49, 100)):
        found, w = growth(Flips(p)), 4 * p * (1 - p)
        assert found**4 * w <= 1 < (found + Fraction(1, 2**30)) ** 4 * w


def test_what_cannot_be_a_table_is_refused() -> None:
    for worth, factor, columns in (
        (Fraction(0), Fraction(2), 3),
        (Fraction(1), Fraction(1), 3),
        (Fraction(1), Fraction(2), 0),
    ):
        with pytest.raises(ParameterError):
            Rungs(worth, factor, columns)
    assert Rungs.up_to(Fraction(1), Fraction(1), 10, 9) is None, "bits that are worth nothing"
    assert Rungs.up_to(Fraction(1), Fraction(11, 10), 10**6, 9) is None, "too few of them"
    with pytest.raises(ParameterError, match="floor"):
        paper_columns(FIFTH, Fraction(1, 3), Fraction(20))
