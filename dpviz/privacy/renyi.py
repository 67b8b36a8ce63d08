"""Conversion between rho and (epsilon, delta) at one Rényi order, which is chosen from public numbers alone.

Every order alpha > 1 proves a conversion, so floating point may choose the order. The conversion at this order is
evaluated once, with outward rounding. Source: Canonne, Kamath, Steinke 2020, Proposition 12 and Corollary 13.
"""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache
from typing import Final

from dpviz.exact import ceil_to, floor_to, log_bounds, positive, probability
from dpviz.laws.gaussian_loss import order_for_epsilon, order_for_rho
from dpviz.privacy.grid import EPSILON_STEP

STEP: Final = Fraction(1, 10**6)
"""An epsilon is rounded up to this grid."""


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
    alpha = order_for_rho(epsilon, log_bounds(1 / delta)[0])
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
    alpha = order_for_epsilon(rho, log_bounds(1 / delta)[0])
    return max(Fraction(0), ceil_to(alpha * rho + _beyond_exactly(alpha, delta), STEP))


def _beyond_exactly(alpha: Fraction, delta: Fraction) -> Fraction:
    """Above what an epsilon is at this order beyond alpha rho."""
    return log_bounds(1 / (alpha * delta))[1] / (alpha - 1) + log_bounds(1 - 1 / alpha)[1]
