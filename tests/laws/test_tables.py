"""The printed bounds, and how they stand to the exact quantiles."""

from __future__ import annotations

import math
from decimal import Decimal, localcontext
from fractions import Fraction

import pytest

from dpviz.errors import ParameterError
from dpviz.exact import Decay, log_bounds
from dpviz.laws.finite import FastSampleLaw, geosample_law
from dpviz.laws.geometric import error_quantile, simultaneous_quantile
from dpviz.laws.tables import (
    Column,
    basic,
    ceil_log,
    compact,
    pure_sparse,
    pure_sparse_all,
    pure_sparse_cut,
    stability_cut,
    stability_threshold,
    theorem,
)

BETA = Fraction(1, 20)
COLUMNS: tuple[Column, ...] = ("geometric", "geosample", "fastsample")


def test_the_bounds_as_printed() -> None:
    """ceil of 4 ln 20 = 11.98, 9 ln 20 = 26.96, 9 ln 40 = 33.2; and with 42 bins 26.9, 60.6, 66.8."""
    assert [basic(Fraction(1, 2), BETA, column=column) for column in COLUMNS] == [12, 27, 34]
    assert [basic(Fraction(1, 2), BETA, bins=42, column=column) for column in COLUMNS] == [27, 61, 67]


def test_a_ceiling_of_a_logarithm_is_decided_where_floats_are_off_by_one() -> None:
    """factor * ln(ratio) a hair above and below a whole number, by less than a float can tell."""
    log2 = log_bounds(Fraction(2), 400)[0]
    for whole in (1, 7, 1000):
        hair = Fraction(1, 10**60)
        assert ceil_log(whole / log2 - hair, Fraction(2)) == whole
        assert ceil_log(whole / log2 + hair, Fraction(2)) == whole + 1
        assert float(whole / log2 - hair) == float(whole / log2 + hair)


def test_a_theorem_bound_at_a_tie_is_exact() -> None:
    assert theorem(Fraction(2), Fraction(1, 8)) == 3
    assert theorem(Fraction(2), Fraction(1, 8) - Fraction(1, 10**200)) == 4
    assert theorem(Fraction(2), Fraction(1, 4), bins=2) == 3
    assert theorem(Fraction(2), Fraction(1, 8) + Fraction(1, 100), gamma=Fraction(1, 100)) == 3


@pytest.mark.parametrize("e", [1, 2, 10, 50])
def test_table_bound_theorem_bound_and_exact_quantile_come_in_this_order(e: int) -> None:
    k = (2 * e - 1).bit_length()
    p, q = 2**k + 1, 2**k
    exact = geosample_law(10**6, p, q).error_quantile(5 * 10**5, BETA)
    assert exact == error_quantile(Decay.rational(Fraction(q, p)), BETA)
    assert exact <= theorem(Fraction(p, q), BETA) <= basic(Fraction(1, e), BETA, column="geosample")
    every = simultaneous_quantile(Decay.rational(Fraction(q, p)), BETA, 42)
    assert every <= theorem(Fraction(p, q), BETA, bins=42) <= basic(Fraction(1, e), BETA, bins=42, column="geosample")
    gamma = BETA / 84
    fast = FastSampleLaw(10**6, p, q, int(1 / gamma), 60 * q).worst_quantile_of(42, BETA)
    assert fast <= theorem(Fraction(p, q), BETA, bins=42, gamma=gamma)
    assert theorem(Fraction(p, q), BETA, bins=42, gamma=gamma) <= basic(
        Fraction(1, e), BETA, bins=42, column="fastsample"
    )


@pytest.mark.parametrize(
    ("call", "value"),
    [
        (lambda: basic(Fraction(0), BETA), "0"),
        (lambda: basic(Fraction(1), Fraction(0)), "0"),
        (lambda: basic(Fraction(1), BETA, bins=0), "0"),
        (lambda: basic(Fraction(1), BETA, column="laplace"), "laplace"),  # type: ignore[arg-type]
        (lambda: theorem(Fraction(1), BETA), "1"),
        (lambda: theorem(Fraction(2), BETA, gamma=BETA), "0.05"),
    ],
)
def test_a_parameter_outside_its_range_is_refused_with_its_value(call: object, value: str) -> None:
    with pytest.raises(ParameterError) as caught:
        call()  # type: ignore[operator]
    assert caught.value.value == value


def digits(factor: str, odds: Fraction) -> int:
    """ceil(factor ln(odds)) from 60 decimal digits, independent of the enclosures."""
    with localcontext() as context:
        context.prec = 60
        return math.ceil(Decimal(factor) * (Decimal(odds.numerator) / Decimal(odds.denominator)).ln())


DELTA = Fraction(1, 10**6)


@pytest.mark.parametrize("beta", [Fraction(1, 3), BETA, Fraction(1, 10**9)])
def test_figures_4_to_6_as_printed(beta: Fraction) -> None:
    """At epsilon = 1/2: 2/epsilon = 4, 9/(2 epsilon) = 9, 5/epsilon = 10; n = 1,000 rows; 2^20 bins."""
    half, n, bins = Fraction(1, 2), 1000, 2**20
    threshold = [stability_threshold(half, DELTA, column=column) for column in COLUMNS]
    assert threshold == [1 + digits("4", 2 / DELTA), 1 + digits("9", 2 / DELTA), 1 + digits("9", 4 / DELTA)]
    for rows in (1, n):
        cut = [stability_cut(half, beta, DELTA, n=rows, column=column) for column in COLUMNS]
        odds = rows / (beta * DELTA)
        assert cut == [2 + digits("4", 2 * odds), 2 + digits("9", 2 * odds), 2 + digits("9", 8 * odds)]
    finite: tuple[tuple[Column, int], ...] = (("geosample", 1), ("fastsample", 2))
    for column, k in finite:
        assert pure_sparse(half, beta, column=column) == digits("9", 4 * k / beta)
        assert pure_sparse_cut(half, beta, bins=bins, column=column) == 2 * digits("9", 4 * k * bins / beta)
        assert pure_sparse_all(half, beta, bins=bins, column=column) == 2 * digits("9", 2 * k * bins / beta)
        assert compact(half, beta, column=column) == digits("10", k / beta)
        assert compact(half, beta, bins=bins, column=column) == digits("10", k * bins / beta)


@pytest.mark.parametrize("e", [1, 10])
def test_the_printed_bounds_of_stability_hold_for_its_exact_law(e: int) -> None:
    """At the printed threshold, a count above the printed t errs within the printed a, and every bin within the
    printed simultaneous error; a t below the threshold would not do."""
    k = (2 * e - 1).bit_length()
    n, p, q = 10**5, 2**k + 1, 2**k
    law, half = geosample_law(n, p, q), Fraction(1, e)
    b = stability_threshold(half, DELTA, column="geosample")
    a, t = basic(half, BETA, column="geosample"), stability_cut(half, BETA, DELTA, column="geosample")

    def fails(count: int, within: int) -> Fraction:
        """P[|h - count| > within], h being 0 where the noisy count is at most b."""
        lost = law.cdf(count, max(b, count - within - 1))[1] if count > within else Fraction(0)
        return lost + 1 - law.cdf(count, max(b, count + within))[0]

    assert max(fails(count, a) for count in range(t + 1, t + 3 * a)) <= BETA
    assert fails(b // 2, a) > BETA
    every = stability_cut(half, BETA, DELTA, n=n, column="geosample")
    assert max(fails(count, every) for count in range(every, every + 3 * a)) * n <= BETA


@pytest.mark.parametrize(
    ("call", "value"),
    [
        (lambda: stability_threshold(Fraction(1), Fraction(0)), "0"),
        (lambda: stability_cut(Fraction(1), BETA, DELTA, n=0), "0"),
        (lambda: pure_sparse(Fraction(1), BETA, column="geometric"), "geometric"),
        (lambda: pure_sparse_all(Fraction(1), BETA, bins=0), "0"),
        (lambda: compact(Fraction(1), BETA, column="geometric"), "geometric"),
    ],
)
def test_the_other_figures_refuse_the_same(call: object, value: str) -> None:
    with pytest.raises(ParameterError) as caught:
        call()  # type: ignore[operator]
    assert caught.value.value == value
