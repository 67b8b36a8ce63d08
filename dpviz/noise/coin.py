"""One biased coin whose chance is known as closely as needed, and the coin of a fixed threshold.

A uniform number in [0, 1) is revealed 64 bits at a time until it is certainly below or certainly above the chance.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

from dpviz.errors import ParameterError
from dpviz.exact import Enclosure, positive, probability, text
from dpviz.noise.bits import Bits
from dpviz.noise.peeling import products

GUARD = 8
"""Binary places of the chance beyond the bits revealed."""


def flip(chance: Callable[[int], Enclosure], bits: Bits, drawn: int | None = None) -> bool:
    """True with the probability that chance(precision) encloses, ever closer for a growing number of binary places.

    drawn  the first 64 bits of the uniform number, where they were drawn before

    Ends with certainty for a rational chance given exactly, and with probability 1 for any other.

    >>> from dpviz.noise.bits import TeachingBits
    >>> sum(flip(lambda precision: (Fraction(1, 3), Fraction(1, 3)), TeachingBits(seed)) for seed in range(300))
    92
    """
    revealed, fraction_bits = 0, 0
    while True:
        more = int.from_bytes(bits.take(8), "little") if drawn is None or fraction_bits else drawn
        revealed = revealed << 64 | more
        fraction_bits += 64
        low, high = chance(fraction_bits + GUARD)
        # Every uniform number that begins with these bits lies below the chance.
        if revealed + 1 <= low * 2**fraction_bits:
            return True
        if revealed >= high * 2**fraction_bits:
            return False


def passes(excess: int, rate: Fraction, delta: Fraction, bits: Bits) -> bool:
    """True with the probability that excess + Laplace(1/rate) is above ln(1/(2 delta))/rate.

    This is x = delta * exp(rate * excess) up to one half, and 1 - 1/(4x) beyond; no noise and no logarithm is drawn.
    With excess = count - next_count - gap it is one item's coin of the fixed threshold. Raises ParameterError unless
    rate is positive and delta lies in (0, 1/2); never because of the excess, which is private.

    Source: Durfee, Rogers 2019, Algorithm 8, with the test of the true count left out, which is not private.
    """
    positive(rate, "rate")
    if 2 * probability(delta, "delta", zero=False) >= 1:
        raise ParameterError.of(text(delta), "delta must be below 1/2", "give a delta like 1/1000000")
    return flip(lambda precision: threshold_chance(excess, rate, delta, precision), bits)


def threshold_chance(excess: int, rate: Fraction, delta: Fraction, precision: int) -> Enclosure:
    """The chance of `passes`, to about 2**-precision. It grows with x without a step, so ends of x give its ends.

    >>> low, high = threshold_chance(0, Fraction(1), Fraction(1, 8), 64)
    >>> low == high == Fraction(1, 8)
    True
    """
    one = Fraction(1, 1 << precision)
    nats, most = rate * int(excess), precision + (delta.denominator // delta.numerator).bit_length()
    if nats > most:  # 4x is above 2**precision; the number itself may not fit in memory
        return 1 - one, Fraction(1)
    # x = delta exp(rate excess), enclosed.
    low, high = products([(delta, nats)], precision)[0]
    return _lifted(low * one), _lifted(high * one)


def _lifted(x: Fraction) -> Fraction:
    """x up to one half, 1 - 1/(4x) beyond."""
    return x if 2 * x <= 1 else 1 - 1 / (4 * x)
