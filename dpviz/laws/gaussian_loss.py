"""The loss of Gaussian noise in floating point: where an exact search of a price begins, and what needs no intervals.

Nothing here proves a price. `dpviz/privacy` evaluates what it finds with intervals.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Final

import numpy as np

MOST_ADDED: Final = 200**2
"""Weights are added up to this variance. Beyond, Euler and Maclaurin's formula stands for their sums."""

CERTAIN: Final = 1e-6
"""Two deltas that differ by more than this, relatively, are told apart. The error of `log_delta` is below 10**-9."""

LEAST_DELTA: Final = Fraction(1, 10**280)
"""Below this floats lose digits."""

CLOSE: Final = 1e-8
"""Logarithms of variances that differ by less than this are one place of a grid of six digits."""

LEAST, MOST, SCANNED = -6.0, 22.0, 113
"""Logarithms of alpha - 1 between which the order is looked for, and the number that is tried first."""

FAR: Final = 25.0
"""From here on five terms of the asymptotic series of erfc are exact in a float: the next one is below 10**-12."""

GOLDEN: Final = (math.sqrt(5) - 1) / 2

DIGITS: Final = 10**9
"""An order is a fraction with at most this denominator."""


def surely_below(variance: Fraction, shift: int, first: int, epsilon: Fraction, delta: Fraction) -> bool | None:
    """Whether discrete Gaussian noise that is moved by `shift` has at most this delta; None where that is unsure.

    first  the least whole number at which the loss exceeds epsilon
    """
    found = log_delta(variance, shift, first, epsilon)
    wanted = math.log(delta.numerator) - math.log(delta.denominator)
    if found is None or abs(found - wanted) <= CERTAIN:
        return None
    return found < wanted


def surely_above(
    variance: Fraction, shift: int, first: int, epsilon: Fraction, delta: Fraction, off: tuple[Fraction, Fraction]
) -> bool:
    """Whether the difference of both tails surely exceeds delta, the first times the larger of `off`, the other times
    the smaller; false where that is unsure."""
    if first < 1 or off[1] > 2 or delta < LEAST_DELTA:
        return False
    near, far = log_tail(variance, first), log_tail(variance, first + shift) + float(epsilon)
    least = float(off[1]) * math.exp(near - CERTAIN) - float(off[0]) * math.exp(far + CERTAIN)
    return least > float(delta) * (1 + CERTAIN)


def tail_surely_below(variance: Fraction, first: int, chance: Fraction) -> bool | None:
    """Whether Pr[Z >= first] of discrete Gaussian noise, for first >= 1, is below this chance; None where that is
    unsure.

    >>> [tail_surely_below(Fraction(100), first, Fraction(1, 1000)) for first in (31, 32)]
    [False, True]
    """
    found, wanted = log_tail(variance, first), math.log(chance.numerator) - math.log(chance.denominator)
    return None if abs(found - wanted) <= CERTAIN else found < wanted


def log_tail(variance: Fraction, first: int) -> float:
    """ln Pr[Z >= first], for first >= 1.

    >>> round(math.exp(log_tail(Fraction(100), 31)), 9)
    0.001139374
    """
    v, start = float(variance), float(first)
    if variance <= MOST_ADDED:
        z = np.arange(int(12 * math.sqrt(v)) + 12, dtype=np.float64)
        total, scale = float(np.exp(-z * (2 * start + z) / (2 * v)).sum()), -math.log(_all(v))
    else:
        start -= 0.5
        total, scale = _tail(start, v), -math.log(2 * math.pi * v) / 2
    return math.log(total) - start * start / (2 * v) + scale


def log_delta(variance: Fraction, shift: int, first: int, epsilon: Fraction) -> float | None:
    """ln(delta); None where the sum is not a number above 0, or a `first` below 0 is too far out.

    delta is the sum over z >= first of the chance of z times 1 - exp(epsilon - loss), where the loss at z is
    (2 z D + D**2) / 2V. All terms are above 0, so nothing cancels.

    >>> round(log_delta(Fraction(18), 1, 18, Fraction(1)), 6)
    -13.859962
    """
    v, start = float(variance), float(first)
    if first < 0 and start * start > FAR * v:
        return None
    spare = float(epsilon - (2 * first * shift + shift * shift) / (2 * variance))
    if variance <= MOST_ADDED:
        z = np.arange(int(12 * math.sqrt(v)) + 12 + 2 * max(0, -first), dtype=np.float64)
        terms = np.exp(-z * (2 * start + z) / (2 * v)) * -np.expm1(np.minimum(0.0, spare - z * shift / v))
        total, scale = float(terms.sum()), -start * start / (2 * v) - math.log(_all(v))
    else:
        start, spare = start - 0.5, spare + float(shift / (2 * variance))
        total = _tail(start, v) - math.exp(spare) * _tail(start + shift, v)
        scale = -start * start / (2 * v) - math.log(2 * math.pi * v) / 2
    return math.log(total) + scale if total > 0 else None


def _all(v: float) -> float:
    """The sum of all weights."""
    if v < 1:
        z = np.arange(1, 64, dtype=np.float64)
        return 1 + 2 * float(np.exp(-z * z / (2 * v)).sum())
    return math.sqrt(2 * math.pi * v) * (1 + 2 * math.exp(-2 * math.pi**2 * v))


def _tail(start: float, v: float) -> float:
    """The sum of the weights at start + 1/2, start + 3/2, ... over the weight at `start`."""
    integral, slope = math.sqrt(math.pi * v / 2) * _scaled_erfc(start / math.sqrt(2 * v)), start / v
    return integral - slope / 24 - 7 / 5760 * (3 * slope / v - slope**3)


def _scaled_erfc(x: float) -> float:
    """exp(x**2) erfc(x) for x >= -FAR. SciPy has it, too, but takes a second to load.

    >>> round(_scaled_erfc(1.0), 12), round(_scaled_erfc(25.0) / _scaled_erfc(24.999999), 6)
    (0.427583576156, 1.0)
    """
    if x < FAR:
        return math.exp(x * x) * math.erfc(x)
    small = 1 / (2 * x * x)
    return (1 - small * (1 - 3 * small * (1 - 5 * small * (1 - 7 * small)))) / (x * math.sqrt(math.pi))


def variance_at(delta: Fraction, start: Fraction, told: Callable[[Fraction], float | None]) -> Fraction | None:
    """About the variance at which `told`, the ln(delta) of a variance, is ln(delta): by secants from `start` on, and no
    farther than e times away. None where `told` is, or no such variance is found.

    >>> found = variance_at(Fraction(1, 10), Fraction(5), lambda variance: -float(variance))
    >>> round(float(found), 6)
    2.302585
    """
    wanted, at = math.log(delta.numerator) - math.log(delta.denominator), math.log(start)
    one, other, high = at, at - 0.1, told(start)
    for _ in range(8):
        low = told(Fraction(math.exp(other)))
        if low is None or high is None or low == high:
            return None
        one, other, high = other, other - (low - wanted) * (other - one) / (low - high), low
        if abs(other - at) > 1:
            return None
        if abs(other - one) < CLOSE:
            return Fraction(math.exp(other))
    return None


# ---------------------------------------------------------------- Rényi orders


def order_for_rho(epsilon: Fraction, log: Fraction) -> Fraction:
    """About the order alpha at which the largest rho is proved to be within epsilon; `log` is ln(1 / delta).

    >>> round(float(order_for_rho(Fraction(1), Fraction(14))), 2)
    22.32
    """
    wanted, logarithm = float(epsilon), float(log)
    return _order(lambda more: -(wanted - _beyond(more, logarithm)) / (1 + more))


def order_for_epsilon(rho: Fraction, log: Fraction) -> Fraction:
    """About the order alpha at which the least epsilon is proved of rho; `log` is ln(1 / delta).

    >>> round(float(order_for_epsilon(Fraction(1, 2), Fraction(14))), 2)
    5.94
    """
    known, logarithm = float(rho), float(log)
    return _order(lambda more: (1 + more) * known + _beyond(more, logarithm))


def _beyond(more: float, log: float) -> float:
    """The epsilon beyond alpha rho, for alpha = 1 + more."""
    return (log - math.log1p(more)) / more + math.log(more) - math.log1p(more)


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
    return 1 + max(Fraction(math.exp((low + high) / 2)).limit_denominator(DIGITS), Fraction(1, DIGITS))
