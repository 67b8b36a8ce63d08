"""One uniform whole number, one biased coin: exact, from random bits."""

from __future__ import annotations

from fractions import Fraction

from dpviz.errors import ParameterError
from dpviz.exact import exp_bounds, integer, text
from dpviz.noise.bits import Bits
from dpviz.noise.coin import flip


def uniform(d: int, bits: Bits) -> int:
    """A uniform whole number in 1..d."""
    return 1 + bits.below(integer(d, "d"))


def bernoulli(p: Fraction, bits: Bits) -> bool:
    """True with probability p, a rational in [0, 1]."""
    if not 0 <= p <= 1:
        raise ParameterError.of(text(p), "p must lie in [0, 1]", "give a p like 1/2")
    return bits.below(p.denominator) < p.numerator


def bernoulli_exp(x: Fraction, bits: Bits) -> bool:
    """True with probability exp(-x), for a rational x >= 0."""
    if x < 0:
        raise ParameterError.of(text(x), "x must be at least 0", "give 0 or more")
    return flip(lambda precision: exp_bounds(-x, precision), bits)
