"""One uniform whole number, one biased coin: exact, from random bits."""

from __future__ import annotations

from fractions import Fraction

from dpviz.errors import ParameterError
from dpviz.exact import exp_bounds, text, whole
from dpviz.noise.bits import Bits


def uniform(d: int, bits: Bits) -> int:
    """A uniform whole number in 1..d."""
    return 1 + bits.below(whole(d, "d"))


def bernoulli(p: Fraction, bits: Bits) -> bool:
    """True with probability p, a rational in [0, 1]."""
    if not 0 <= p <= 1:
        raise ParameterError.of(text(p), "p must lie in [0, 1]")
    return bits.below(p.denominator) < p.numerator


def bernoulli_exp(x: Fraction, bits: Bits) -> bool:
    """True with probability exp(-x), for a rational x >= 0.

    A uniform number in [0, 1) is revealed 64 bits at a time until it is certainly below or certainly above exp(-x).
    """
    if x < 0:
        raise ParameterError.of(text(x), "x must be at least 0")
    revealed, places = 0, 0
    while True:
        revealed = revealed << 64 | int.from_bytes(bits.take(8), "little")
        places += 64
        low, high = exp_bounds(-x, places + 8)
        if revealed + 1 <= low * 2**places:
            return True
        if revealed >= high * 2**places:
            return False
