"""A bit drawn with the mean of n bits, kept between a level and one minus it: what it tells, and how far off it is.

There is no noise: the coin that is flipped is what protects. Two draws cost twice.
Source: Raskhodnikova, Sivakumar, Smith, Swanberg 2021, Section 6, Theorems 6.1 and 6.4; what is exact is derived here.
"""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from functools import lru_cache

from dpviz.errors import ParameterError
from dpviz.exact import ceil_to, exp_bounds, log_bounds, log_up, positive, text, whole

QUARTER = Fraction(1, 4)


def bit_chance(t: int, n: int, level: Fraction = QUARTER) -> Fraction:
    """The chance of a 1 where t of n bits are 1: t / n, moved into level..1 - level.

    >>> [str(bit_chance(t, 8)) for t in range(9)]
    ['1/4', '1/4', '1/4', '3/8', '1/2', '5/8', '3/4', '3/4', '3/4']
    """
    whole(n, "n")
    check_level(level)
    if not 0 <= whole(t, "t", least=0) <= n:
        raise ParameterError.of(t, f"of {n} bits, 0 to {n} are 1")
    return min(max(Fraction(t, n), level), 1 - level)


def check_level(level: Fraction) -> Fraction:
    if not 0 < level < Fraction(1, 2):
        raise ParameterError.of(text(level), "a level lies strictly between 0 and 1/2")
    return level


@lru_cache(maxsize=1024)
def ratio(n: int, level: Fraction = QUARTER) -> Fraction:
    """The largest ratio of the chances of a bit between neighbours that differ in one of n bits: exp(epsilon), exactly.

    Chances of 1 and of 0 mirror each other, and the ratio is largest at the lowest step out of the level: with
    g = ceil(level n) it is max(g / (level n), (g + 1) / g), where g and g + 1 both lie within the level.

    >>> str(ratio(100)), str(ratio(1))
    ('26/25', '3')
    """
    n = whole(n, "n")
    check_level(level)
    g = math.ceil(level * n)
    steps = [bit_chance(t, n, level) for t in range(max(0, g - 1), min(n, g + 1) + 1)]
    found = max((high / low for low, high in itertools.pairwise(steps)), default=Fraction(1))
    return found


def epsilon(n: int, step: Fraction, level: Fraction = QUARTER) -> Fraction:
    """What a bit costs, ln of `ratio`, rounded up to whole steps."""
    return log_up(ratio(n, level), step)


def paper_epsilon(n: int) -> Fraction:
    """The paper's price at the level 1/4: 4 / n. Source: Theorem 6.1."""
    return Fraction(4, whole(n, "n"))


def records_for(target: Fraction) -> int:
    """So many bits suffice for a price of `target` at the level 1/4: 4 ceil(1 / (exp(target) - 1)).

    >>> records_for(Fraction(1, 25))
    100
    """
    low = exp_bounds(positive(target, "epsilon"))[0]
    return 4 * math.ceil(1 / (low - 1))


def zcdp(n: int, step: Fraction, level: Fraction = QUARTER) -> Fraction:
    """rho of a bit, rounded up to whole steps: eta**2 / 8, eta the largest difference of the logits of neighbours.

    The loss of either outcome lies in an interval of length eta (the difference of the two log-ratios), and a loss in
    an interval of length eta is (eta**2 / 8)-zCDP.
    """
    return ceil_to(log_bounds(odds_ratio(n, level))[1] ** 2 / 8, step)


@lru_cache(maxsize=1024)
def odds_ratio(n: int, level: Fraction = QUARTER) -> Fraction:
    """The largest ratio of the odds of a bit between neighbours: exp(eta), eta as in `zcdp`."""
    n = whole(n, "n")
    first, last = math.floor(level * n), math.ceil((1 - level) * n)
    worst = Fraction(1)
    for t in {first, first + 1, max(first, last - 2), max(first, last - 1)}:
        if 0 <= t < n:
            low, high = bit_chance(t, n, level), bit_chance(t + 1, n, level)
            worst = max(worst, high * (1 - low) / (low * (1 - high)))
    return worst


def paper_zcdp(n: int, columns: int = 1) -> Fraction:
    """The paper's rho of `columns` bits of n records each: 8 d / n**2. Source: Theorem 6.4."""
    return Fraction(8 * whole(columns, "columns"), whole(n, "n") ** 2)


def error(p: Fraction, n: int, level: Fraction = QUARTER) -> Fraction:
    """|mean of the bit - p| for n independent bits that are 1 with chance p: its total variation distance, exactly.

    >>> error(Fraction(1, 2), 12), round(float(error(Fraction(1, 3), 24)), 6)
    (Fraction(0, 1), 0.0093)
    """
    if not 0 <= p <= 1:
        raise ParameterError.of(text(p), "a chance lies between 0 and 1")
    chances = (math.comb(n, t) * p**t * (1 - p) ** (n - t) * bit_chance(t, n, level) for t in range(whole(n, "n") + 1))
    return abs(sum(chances, Fraction(0)) - p)


def error_bound(n: int) -> float:
    """Above `error` for biases between 1/3 and 2/3 at the level 1/4: (3 / n) exp(-n / 72), in floating point."""
    return 3 / whole(n, "n") * math.exp(-n / 72)


def paper_records(alpha: Fraction, columns: int = 1) -> int:
    """So many records suffice by the paper for a distance of alpha: 72 ln(6 d / alpha). Source: Theorems 6.1, 6.4."""
    return math.ceil(72 * log_bounds(6 * whole(columns, "columns") / positive(alpha, "alpha"))[1])


def product_delta(columns: int, one: Fraction, epsilon: Fraction) -> Fraction:
    """The least delta at `epsilon` for so many independent bits whose ratio is at most `one` each, rounded up.

    sum over l of C(d, l) max(0, one**l - exp(epsilon) one**(d - l)) / (1 + one)**d, which d randomised responses meet.
    """
    d = whole(columns, "columns", most=10_000)
    if one < 1:
        raise ParameterError.of(text(one), "a worst ratio is at least 1")
    low = exp_bounds(epsilon, 256)[0]
    total = sum(
        (math.comb(d, hits) * max(Fraction(0), one**hits - low * one ** (d - hits)) for hits in range(d + 1)),
        Fraction(0),
    )
    return total / (1 + one) ** d
