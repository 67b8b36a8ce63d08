"""The guarantee tables of the paper as functions, rounded exactly as printed (Balcer, Vadhan 2018, Figures 3 to 6).

Figure 3 is for noise on every bin, 4 for StabilityHistogram, 5 for PureSparseHistogram, 6 for CompactHistogram.
The table bounds are looser than the theorem bounds, and these than the exact quantiles in `geometric` and `finite`.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Literal

from dpviz.errors import ParameterError
from dpviz.exact import decide, log_bounds, positive, probability, text, whole

Column = Literal["geometric", "geosample", "fastsample"]


def basic(epsilon: Fraction, beta: Fraction, *, bins: int = 1, column: Column = "geometric") -> int:
    """The printed error bound for one bin, or for all of several bins at once, at the paper's (replace-one) epsilon.

    FastSample's bound holds for beta >= 2 gamma (one bin), or gamma = beta/(2 bins) or less (all bins).

    >>> basic(Fraction(1, 2), Fraction(1, 20)), basic(Fraction(1, 2), Fraction(1, 20), bins=42, column="fastsample")
    (12, 67)
    """
    epsilon, beta = positive(epsilon, "epsilon"), probability(beta, "beta", zero=False)
    # Figure 3: (2 / epsilon) ln(bins / beta), or (9 / (2 epsilon)) for the finite samplers.
    return ceil_log(_factor(epsilon, column), _twice(column) * whole(bins, "bins") / beta)


def theorem(ratio: Fraction, beta: Fraction, *, bins: int = 1, gamma: Fraction = Fraction(0)) -> int:
    """ceil(ln(bins/(beta - gamma)) / ln(p/q)), the bound of Theorems 4.7 and 4.10 (union bound over bins).

    `ratio` is p/q; `gamma` is FastSample's chance of a uniform value in one bin, else 0.
    """
    if ratio <= 1:
        raise ParameterError.of(text(ratio), "the ratio p/q must be above 1", "give p above q")
    each = probability(beta, "beta", zero=False) / whole(bins, "bins")
    if each <= gamma:
        raise ParameterError.of(
            text(each), f"beta for one bin must exceed gamma = {text(gamma)}", "take a larger beta, or a smaller gamma"
        )
    odds = 1 / (each - gamma)
    # Theorems 4.7 and 4.10: ln(1 / (beta / bins - gamma)) / ln(p/q), enclosed; powers decide between the ends.
    (low, high), (rate_low, rate_high) = log_bounds(odds), log_bounds(ratio)
    least, most = math.ceil(low / rate_high), math.ceil(high / rate_low)
    while least < most and ratio**least < odds:
        least += 1
    return least


def ceil_log(factor: Fraction, ratio: Fraction) -> int:
    """The least whole number not below factor * ln(ratio), decided rigorously.

    >>> ceil_log(Fraction(1), Fraction(20)), ceil_log(Fraction(7), Fraction(1))
    (3, 0)
    """
    if ratio == 1:
        return 0

    def question(precision: int) -> bool | None:
        low, high = log_bounds(ratio, precision)
        least, most = math.ceil(factor * low), math.ceil(factor * high)
        found.append(most)
        return True if least == most else None

    found: list[int] = []
    decide(question)
    return found[-1]


def stability_threshold(epsilon: Fraction, delta: Fraction, *, column: Column = "geometric") -> int:
    """The printed threshold b of StabilityHistogram, at the paper's (replace-one) epsilon (Figure 4).

    >>> stability_threshold(Fraction(1, 10), Fraction(1, 10**6), column="geosample")
    654
    """
    epsilon, delta = positive(epsilon, "epsilon"), probability(delta, "delta", zero=False)
    # Figure 4: b = 1 + (2 / epsilon) ln(2 / delta).
    return 1 + ceil_log(_factor(epsilon, column), _twice(column) * 2 / delta)


def stability_cut(
    epsilon: Fraction, beta: Fraction, delta: Fraction, *, n: int = 1, column: Column = "geometric"
) -> int:
    """The printed t of StabilityHistogram (Figure 4): counts above it have the error of `basic`; with the public number
    of rows n it is the error of all bins at once.

    >>> stability_cut(Fraction(1, 2), Fraction(1, 20), Fraction(1, 10**6))
    73
    """
    epsilon, beta = positive(epsilon, "epsilon"), probability(beta, "beta", zero=False)
    delta, n = probability(delta, "delta", zero=False), whole(n, "n")
    return 2 + ceil_log(_factor(epsilon, column), (8 if column == "fastsample" else 2) * n / (beta * delta))


def pure_sparse(epsilon: Fraction, beta: Fraction, *, column: Column = "geosample") -> int:
    """The printed error a of PureSparseHistogram for one bin whose count exceeds `pure_sparse_cut` (Figure 5).

    beta_1 = beta/4; FastSample's gamma is beta/(8 bins).
    """
    epsilon, beta = positive(epsilon, "epsilon"), probability(beta, "beta", zero=False)
    return ceil_log(_factor(epsilon, _finite(column)), _twice(column) * 4 / beta)


def pure_sparse_cut(epsilon: Fraction, beta: Fraction, *, bins: int, column: Column = "geosample") -> int:
    """The printed t of PureSparseHistogram: counts above it have the error of `pure_sparse` (Figure 5)."""
    epsilon, beta = positive(epsilon, "epsilon"), probability(beta, "beta", zero=False)
    return 2 * ceil_log(_factor(epsilon, _finite(column)), _twice(column) * 4 * whole(bins, "bins") / beta)


def pure_sparse_all(epsilon: Fraction, beta: Fraction, *, bins: int, column: Column = "geosample") -> int:
    """The printed error of PureSparseHistogram for all bins at once (Figure 5)."""
    epsilon, beta = positive(epsilon, "epsilon"), probability(beta, "beta", zero=False)
    return 2 * ceil_log(_factor(epsilon, _finite(column)), _twice(column) * 2 * whole(bins, "bins") / beta)


def compact(epsilon: Fraction, beta: Fraction, *, bins: int = 1, column: Column = "geosample") -> int:
    """The printed error of CompactHistogram for one bin, or for all of several bins at once (Figure 6).

    >>> compact(Fraction(1, 2), Fraction(1, 20)), compact(Fraction(1, 2), Fraction(1, 20), column="fastsample")
    (30, 37)
    """
    epsilon, beta = positive(epsilon, "epsilon"), probability(beta, "beta", zero=False)
    # Figure 6: (5 / epsilon) ln(bins / beta).
    return ceil_log(5 / epsilon, _twice(_finite(column)) * whole(bins, "bins") / beta)


def _factor(epsilon: Fraction, column: Column) -> Fraction:
    """By what the logarithm of a table is multiplied: 2/epsilon, or 9/(2 epsilon) for the finite samplers."""
    if column not in ("geometric", "geosample", "fastsample"):
        raise ParameterError.of(
            column, 'column must be "geometric", "geosample" or "fastsample"', 'write column="geosample"'
        )
    return 2 / epsilon if column == "geometric" else Fraction(9, 2) / epsilon


def _twice(column: Column) -> int:
    """FastSample spends half of beta on its uniform values."""
    return 2 if column == "fastsample" else 1


def _finite(column: Column) -> Column:
    if column not in ("geosample", "fastsample"):
        raise ParameterError.of(
            column, 'this table has the columns "geosample" and "fastsample"', 'write column="geosample"'
        )
    return column
