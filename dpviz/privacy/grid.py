"""The one grid on which amounts are added up: sums stay exact, and the ten-thousandth costs no more time."""

from __future__ import annotations

from fractions import Fraction
from math import lcm

from dpviz.exact import ceil_to
from dpviz.privacy.loss import ApproxDP

GRID = 10**30 * lcm(*range(1, 51))
"""One over this is the smallest amount. Decimals of up to 30 places and fractions over 1..50 are multiples of it."""

LARGEST_EPSILON = 1000
"""The most that one answer may cost. Odds of e^1000 to one protect nobody, and cost time to calculate with."""

EPSILON_STEP = Fraction(1, 10**12)
DELTA_STEP = Fraction(1, 10**30)


def payable(loss: ApproxDP) -> ApproxDP:
    """The loss as it is charged: unchanged where it lies on the grid, else rounded up to a finite decimal."""
    return ApproxDP(ceiling(loss.epsilon, EPSILON_STEP), ceiling(loss.delta, DELTA_STEP))


def ceiling(amount: Fraction, step: Fraction) -> Fraction:
    """The amount where it lies on the grid, else the least multiple of `step`, a decimal, above it."""
    return amount if GRID % amount.denominator == 0 else ceil_to(amount, step)


def steps(amount: Fraction) -> int:
    """How many grid steps an amount is. The amount must lie on the grid."""
    whole, rest = divmod(amount.numerator * GRID, amount.denominator)
    if rest:
        raise ArithmeticError("an amount off the grid reached the sum")
    return whole


def amount(steps_: int) -> Fraction:
    return Fraction(steps_, GRID)
