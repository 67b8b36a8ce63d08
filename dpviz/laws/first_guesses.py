"""Where a search for a threshold begins, in floating point: the result of the search is proved by exact arithmetic."""

from __future__ import annotations

import math
from collections.abc import Iterable
from fractions import Fraction
from statistics import NormalDist

from dpviz.boundary import protect_module


def threshold_near(filled: Iterable[tuple[tuple[int, int], ...]], rate: Fraction, delta: Fraction) -> int:
    """Return about the least threshold that `privacy.unknown_keys.shown_at_most` allows for geometric noise.

    Parameters
    ----------
    filled : iterable
        Ways to fill one unit's keys, each as pairs: the amount in a key, and the number of keys with this amount.
    rate : Fraction
        Of the noise.
    delta : Fraction
        Strictly between 0 and 1.

    Returns
    -------
    int
        Where a search begins.

    Examples
    --------
    >>> threshold_near([((1, 10),)], Fraction(1, 10), Fraction(1, 10**6))
    156
    """
    step = float(rate)
    odds = math.log1p(math.exp(-step))
    pairs = (pair for way in filled for pair in way)
    return max(amount + math.ceil((-math.log(_each(delta, many)) - odds) / step) for amount, many in pairs)


def reach_near(moved: tuple[tuple[int, int], ...], rate: Fraction, delta: Fraction) -> int:
    """Return about the least reach that `privacy.unknown_keys.truncated_at_most` allows.

    Parameters
    ----------
    moved : tuple
        Keys that one unit moves, as pairs: how far, and the number of keys that it moves so.
    rate : Fraction
        Of the noise.
    delta : Fraction
        Strictly between 0 and 1.

    Returns
    -------
    int
        Where a search begins: of the keys that move farthest alone.

    Examples
    --------
    >>> reach_near(((1, 10),), Fraction(1, 10), Fraction(1, 10**6))
    132
    """
    (move, many), step = max(moved), float(rate)
    tau, apart = _each(delta, many), move * step
    if apart < 700:
        log = math.log(tau) + math.log1p(math.exp(-step)) - math.log(math.expm1(apart) + 2 * tau)
    else:  # e^apart is no float, and all else is nothing beside it
        log = math.log(tau) - apart
    return max(move, math.ceil(-log / step) - 1)


def gaussian_near(amount: int, variance: Fraction, chance: Fraction) -> int:
    """Return about the least threshold that a count reaches with at most this chance, with Gaussian noise.

    Parameters
    ----------
    amount : int
        The count.
    variance : Fraction
        Of the noise.
    chance : Fraction
        Above 0.

    Returns
    -------
    int
        Where a search begins.

    Examples
    --------
    >>> gaussian_near(1, Fraction(100), Fraction(1, 10**6))
    50
    """
    sigmas = -NormalDist().inv_cdf(max(1e-300, min(0.5, float(chance))))
    return amount + math.ceil(sigmas * math.sqrt(variance) + 0.5)


def _each(delta: Fraction, keys: int) -> float:
    """The chance of each of these keys that adds up to delta."""
    return -math.expm1(math.log1p(-min(float(delta), 1 - 1e-12)) / keys) or 1e-300


protect_module(vars())
