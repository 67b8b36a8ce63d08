"""The guarantee tables of the paper, for releases with noise on every bin (Balcer, Vadhan 2018, Figure 3).

The table bounds are looser than the theorem bounds, and these than the exact quantiles in `geometric` and `finite`.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Literal

from dpviz.errors import ParameterError
from dpviz.exact import log_bounds, log_up, positive, probability, text, whole

Column = Literal["geometric", "geosample", "fastsample"]


def basic(epsilon: Fraction, beta: Fraction, *, bins: int = 1, column: Column = "geometric") -> int:
    """The printed error bound for one bin, or for all of several bins at once, at the paper's (replace-one) epsilon.

    FastSample's bound holds for beta >= 2 gamma (one bin), or gamma = beta/(2 bins) or less (all bins).

    >>> basic(Fraction(1, 2), Fraction(1, 20)), basic(Fraction(1, 2), Fraction(1, 20), bins=42, column="fastsample")
    (12, 67)
    """
    epsilon, beta = positive(epsilon, "epsilon"), probability(beta, "beta", zero=False)
    odds = whole(bins, "bins") / beta
    if column == "geometric":
        return ceil_log(2 / epsilon, odds)
    if column == "geosample":
        return ceil_log(Fraction(9, 2) / epsilon, odds)
    if column == "fastsample":
        return ceil_log(Fraction(9, 2) / epsilon, 2 * odds)
    raise ParameterError.of(column, 'column must be "geometric", "geosample" or "fastsample"')


def theorem(ratio: Fraction, beta: Fraction, *, bins: int = 1, gamma: Fraction = Fraction(0)) -> int:
    """ceil(ln(bins/(beta - gamma)) / ln(p/q)), the bound of Theorems 4.7 and 4.10 (union bound over bins).

    `ratio` is p/q; `gamma` is FastSample's chance of a uniform value in one bin, else 0.
    """
    if ratio <= 1:
        raise ParameterError.of(text(ratio), "the ratio p/q must be above 1")
    each = probability(beta, "beta", zero=False) / whole(bins, "bins")
    if each <= gamma:
        raise ParameterError.of(text(each), f"beta for one bin must exceed gamma = {text(gamma)}")
    odds = 1 / (each - gamma)
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
    return int(log_up(ratio, 1 / factor) * factor)


def stability_threshold(epsilon: Fraction, delta: Fraction, *, column: Column = "geometric") -> int:
    """The printed threshold b of StabilityHistogram, at the paper's (replace-one) epsilon (Figure 4).

    >>> stability_threshold(Fraction(1, 10), Fraction(1, 10**6), column="geosample")
    654
    """
    epsilon, delta = positive(epsilon, "epsilon"), probability(delta, "delta", zero=False)
    if column == "geometric":
        return 1 + ceil_log(2 / epsilon, 2 / delta)
    if column == "geosample":
        return 1 + ceil_log(Fraction(9, 2) / epsilon, 2 / delta)
    if column == "fastsample":
        return 1 + ceil_log(Fraction(9, 2) / epsilon, 4 / delta)
    raise ParameterError.of(column, 'column must be "geometric", "geosample" or "fastsample"')
