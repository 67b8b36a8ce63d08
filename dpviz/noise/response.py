"""One record, chosen uniformly, and told by randomised response: exact, from random bits.

Source: Warner 1965; the chance of a uniform answer, with what is gained by looking at one record of n, is derived here.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any, Final

from numpy.typing import NDArray

from dpviz.exact import Enclosure, exp_bounds
from dpviz.noise.bits import Bits
from dpviz.noise.coin import flip

ANY: Final = -1
"""`respond`: a uniform one of all labels."""


def respond(counts: NDArray[Any], n: int, labels: int, epsilon: Fraction, bits: Bits, moves: int = 1) -> int:
    """The place in `counts` of the label that is told, or ANY.

    With chance g = k / (k + n (exp(epsilon) - 1) / moves) it is ANY, else the label of one of n records, chosen
    uniformly.
    Where `counts` add up to fewer than n, the records that are missing tell ANY; where they add up to more, each counts
    for less: the price holds either way.
    """
    if flip(lambda precision: uniform_chance(n, labels, epsilon, precision, moves), bits):
        return ANY
    # One of n records, uniformly. Records that are missing tell a uniform label; where there are more than n, each
    # counts for less.
    place = bits.below(max(n, int(counts.sum())))
    for at, end in enumerate(counts.cumsum()):
        if place < end:
            return at
    return ANY


def uniform_chance(n: int, labels: int, epsilon: Fraction, precision: int, moves: int = 1) -> Enclosure:
    """The chance of a uniform answer, which keeps the ratio between `moves` records of a label and none at
    exp(epsilon).

    A label with c of n records is told with chance (c + K) / (n + k K), K = moves / (exp(epsilon) - 1): as if there
    were K more records of each of the k labels. So it does not matter whether n is public. Where up to `moves` records
    come, a chance grows by a factor of at most (c + moves + K) / (c + K) <= 1 + moves / K = exp(epsilon), and falls by
    at most (n + moves + k K) / (n + k K), which is less. Where n is public and stays, the factor is met at c = 0.
    """
    low, high = exp_bounds(epsilon, precision + 2 * n.bit_length() + 8)
    # k K / (n + k K) with K = moves / (exp(epsilon) - 1), cleared of fractions.
    every = moves * labels
    return Fraction(every) / (every + n * (high - 1)), Fraction(every) / (every + n * (low - 1))
