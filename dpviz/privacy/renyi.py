"""Conversion between rho and (epsilon, delta) at one Rényi order, which is chosen from public numbers alone.

Every order alpha > 1 proves a conversion, so floating point may choose the order. The conversion at this order is
evaluated once, with outward rounding. Source: Canonne, Kamath, Steinke 2020, Proposition 12 and Corollary 13.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from functools import lru_cache
from typing import Final

from dpviz.exact import ceil_to, floor_to, log_bounds, positive, probability
from dpviz.privacy.grid import EPSILON_STEP

STEP: Final = Fraction(1, 10**6)
"""An epsilon is rounded up to this grid."""

LEAST, MOST, SCANNED = -6.0, 22.0, 113
"""Logarithms of alpha - 1 between which the order is looked for, and the number that is tried first."""

GOLDEN: Final = (math.sqrt(5) - 1) / 2

DIGITS: Final = 10**9
"""An order is a fraction with at most this denominator."""


@lru_cache(maxsize=4096)
def rho_for(epsilon: Fraction, delta: Fraction) -> Fraction:
    """Return the largest rho that this conversion proves to be within (epsilon, delta), rounded down.

    Parameters
    ----------
    epsilon : Fraction
        Above 0.
    delta : Fraction
        Strictly between 0 and 1.

    Returns
    -------
    Fraction
        A multiple of 10**-12; 0 where no larger one is proved.

    Notes
    -----
    The largest over alpha > 1 of

        (epsilon - ln(1 / (alpha delta)) / (alpha - 1) - ln(1 - 1 / alpha)) / alpha

    Examples
    --------
    >>> float(rho_for(Fraction(1), Fraction(1, 10**6)))
    0.024355970359
    """
    positive(epsilon, "epsilon"), probability(delta, "delta", zero=False)
    wanted, log = float(epsilon), float(log_bounds(1 / delta)[0])
    alpha = _order(lambda more: -(wanted - _beyond(more, log)) / (1 + more))
    return max(Fraction(0), floor_to((epsilon - _beyond_exactly(alpha, delta)) / alpha, EPSILON_STEP))


@lru_cache(maxsize=4096)
def epsilon_for(rho: Fraction, delta: Fraction) -> Fraction:
    """Return the least epsilon that this conversion proves of rho at delta, rounded up.

    Parameters
    ----------
    rho : Fraction
        Above 0.
    delta : Fraction
        Strictly between 0 and 1.

    Returns
    -------
    Fraction
        A multiple of 10**-6, at least 0.

    Examples
    --------
    >>> float(epsilon_for(Fraction(1, 2), Fraction(1, 10**6)))
    5.221535
    """
    positive(rho, "rho"), probability(delta, "delta", zero=False)
    known, log = float(rho), float(log_bounds(1 / delta)[0])
    alpha = _order(lambda more: (1 + more) * known + _beyond(more, log))
    return max(Fraction(0), ceil_to(alpha * rho + _beyond_exactly(alpha, delta), STEP))


def _beyond(more: float, log: float) -> float:
    """What an epsilon is above alpha rho, for alpha = 1 + more, in floating point."""
    return (log - math.log1p(more)) / more + math.log(more) - math.log1p(more)


def _beyond_exactly(alpha: Fraction, delta: Fraction) -> Fraction:
    """An upper bound of the same."""
    return log_bounds(1 / (alpha * delta))[1] / (alpha - 1) + log_bounds(1 - 1 / alpha)[1]


def _order(worse: Callable[[float], float]) -> Fraction:
    """About the alpha at which `worse`, a function of alpha - 1, is least. Any other one would prove less."""

    def at(place: float) -> float:
        return worse(math.exp(place))

    step = (MOST - LEAST) / (SCANNED - 1)
    best = min((LEAST + step * index for index in range(SCANNED)), key=at)
    low, high = best - step, best + step
    for _ in range(32):
        left, right = high - GOLDEN * (high - low), low + GOLDEN * (high - low)
        low, high = (low, right) if at(left) <= at(right) else (left, high)
    more = math.exp((low + high) / 2)
    return 1 + max(Fraction(more).limit_denominator(DIGITS), Fraction(1, DIGITS))
