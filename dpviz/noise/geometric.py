"""Two-sided geometric noise: Pr[Z = z] proportional to decay**|z|. With decay exp(-1/s), discrete Laplace of scale s.

Wide noise is drawn digit by digit. A one-sided geometric number G is base * H + R with H geometric (of ratio
decay**base) and R in 0..base-1, independent of each other. Z is a difference of two of them, so
Z = base * (H - H') + (R - R'): again a two-sided geometric number and an independent remainder. Each has a small table.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

from dpviz.errors import ParameterError
from dpviz.exact import Decay, up
from dpviz.noise.fixed import power, powers
from dpviz.noise.table import Law, Sampler, SamplingTable

BASE = 512
"""The base of the digits of wide noise."""

WIDEST_TABLE = 256
"""Noise of a larger scale is drawn digit by digit."""

WIDEST = 2**40
"""Noise of a larger scale is refused: its values would not fit into 64 bits."""


@lru_cache(maxsize=32)
def two_sided_geometric(decay: Decay) -> Sampler:
    """A sampler of Pr[Z = z] = (1 - decay) / (1 + decay) * decay**|z|, made once and kept.

    >>> from fractions import Fraction
    >>> from dpviz.noise.bits import TeachingBits
    >>> two_sided_geometric(Decay.exp(Fraction(1, 2))).draw(8, TeachingBits(1)).tolist()
    [-1, 1, 9, 1, -4, 1, 13, 0]
    """
    check_scale(decay)
    scale = _scale(decay)
    tables = []
    step = 1
    while scale > WIDEST_TABLE:
        # One digit: R - R' in units of `step`, independent of the digits above.
        tables.append(SamplingTable(Remainder(decay, step), step))
        step *= BASE
        scale /= BASE
    tables.append(SamplingTable(TwoSided(decay, step), step))
    return Sampler(tables)


def check_scale(decay: Decay) -> None:
    """Refuse noise too wide to be drawn into 64-bit integers."""
    scale = _scale(decay)
    if scale > WIDEST:
        raise ParameterError.of(
            f"{scale:.3g}", f"the scale of the noise must be at most 2^{WIDEST.bit_length() - 1}", "raise epsilon"
        )


def _scale(decay: Decay) -> float:
    """1 / -ln(decay), roughly; it chooses between tables of the same law."""
    if decay.exponent is not None:
        return up(1 / decay.exponent) if decay.exponent > 2**-64 else math.inf
    assert decay.ratio is not None
    return up(1 / (1 - decay.ratio)) if 1 - decay.ratio > 2**-64 else math.inf


@dataclass(frozen=True)
class TwoSided(Law):
    """The two-sided geometric law of ratio a = decay**step. With m >= 1: F(-m) = a**m / (1 + a) = 1 - F(m - 1)."""

    decay: Decay
    step: int = 1

    first = None
    last = None

    def cdf(self, value: int, fraction_bits: int) -> tuple[int, int]:
        one = 1 << fraction_bits
        times = -value if value < 0 else value + 1
        a_low, a_high = power(self.decay, self.step, fraction_bits)
        low, high = power(self.decay, self.step * times, fraction_bits)
        # a^m / (1 + a), numerator and denominator rounded apart from each other.
        low, high = (low << fraction_bits) // (one + a_high), -(-(high << fraction_bits) // (one + a_low))
        return (low, high) if value < 0 else (one - high, one - low)

    def sweep(self, fraction_bits: int) -> tuple[int, list[int], int]:
        one = 1 << fraction_bits
        a_low, a_high = power(self.decay, self.step, fraction_bits)
        value, ceiling = (a_low << fraction_bits) // (one + a_low), -(-(a_high << fraction_bits) // (one + a_high))
        lows, least = [value], one >> 64
        width = ceiling - value
        while value + width >= least:
            # Pr[Z <= -(m + 1)] = a Pr[Z <= -m]: one product for each value.
            value = value * a_low >> fraction_bits
            width += a_high - a_low + 1
            lows.append(value)
        lows.reverse()
        return -len(lows), lows + [max(0, one - low - width) for low in reversed(lows)], width


@dataclass(frozen=True)
class Remainder(Law):
    """R - R' for independent R, R' on 0..BASE-1 with Pr[R = r] proportional to b**r, b = decay**step.

    With 0 <= m < BASE = L: F(-m) = b**m (1 - b**(L-m)) (1 - b**(L+1-m)) / ((1 + b) (1 - b**L)**2) = 1 - F(m - 1).
    """

    decay: Decay
    step: int

    first = 1 - BASE
    last = BASE - 1

    def cdf(self, value: int, fraction_bits: int) -> tuple[int, int]:
        work = fraction_bits + 128
        m = -value if value < 0 else value + 1

        def enclose(times: int) -> tuple[int, int]:
            return power(self.decay, self.step * times, work)

        low, high = _lower_tail(
            enclose(m), enclose(BASE - m), enclose(BASE + 1 - m), enclose(1), enclose(BASE), work, fraction_bits
        )
        return (low, high) if value < 0 else ((1 << fraction_bits) - high, (1 << fraction_bits) - low)

    def sweep(self, fraction_bits: int) -> tuple[int, list[int], int]:
        work = fraction_bits + 128
        lows, spread = powers(self.decay, self.step, BASE + 1, work)
        pairs = [(low, min(low + spread, 1 << work)) for low in lows]
        tails = [
            _lower_tail(pairs[m], pairs[BASE - m], pairs[BASE + 1 - m], pairs[1], pairs[BASE], work, fraction_bits)
            for m in range(BASE - 1, 0, -1)
        ]
        width = max(high - low for low, high in tails)
        left = [low for low, _ in tails]
        return self.first, left + [max(0, (1 << fraction_bits) - low - width) for low in reversed(left)], width


Pair = tuple[int, int]


def _lower_tail(b_m: Pair, b_lm: Pair, b_lm1: Pair, b: Pair, b_l: Pair, work: int, fraction_bits: int) -> Pair:
    """Enclose b_m (1 - b_lm) (1 - b_lm1) / ((1 + b) (1 - b_l)**2) at `fraction_bits`, from enclosures at `work`
    places."""
    one = 1 << work
    # Each factor is taken at the end that makes the whole smaller, or larger.
    low = b_m[0] * (one - b_lm[1]) * (one - b_lm1[1])
    high = b_m[1] * (one - b_lm[0]) * (one - b_lm1[0])
    least = (one + b[0]) * (one - b_l[1]) ** 2
    most = (one + b[1]) * (one - b_l[0]) ** 2
    return (low << fraction_bits) // most, -(-(high << fraction_bits) // least)
