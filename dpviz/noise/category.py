"""One label drawn from noisy counts, in whole numbers from the first bit to the last.

Every label's count gets two-sided geometric noise, what falls below 0 becomes 0, and a label is drawn in proportion to
what is left. `weights` and `pick` do so label by label, and the weights may be drawn from again and again. `pick_one`
draws once, with the same law, from a domain of any size: labels that nobody has are taken together, so it costs as much
as there are labels in the data.

Source: Raskhodnikova, Sivakumar, Smith, Swanberg 2021, Algorithm 3, with discrete noise.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from dpviz.exact import Decay, Enclosure, whole
from dpviz.noise.bits import Bits
from dpviz.noise.coin import flip
from dpviz.noise.geometric import two_sided_geometric
from dpviz.noise.order import uniform_below

UNSEEN: Final = -1
"""`pick_one`: a uniform one of the labels that nobody has."""

ANY: Final = -2
"""`pick_one`: a uniform one of all labels, since no weight was left."""

MOST_UNSEEN: Final = 1 << 64


def weights(counts: NDArray[np.int64], decay: Decay, bits: Bits) -> NDArray[np.int64]:
    """max(0, count + noise) for every label, with fresh noise for each. Shape and order are those of the counts."""
    return two_sided_geometric(decay).add(counts, None, None, bits).clip(min=0)


def pick(weights: NDArray[np.int64], bits: Bits) -> int:
    """The place of one label, with the chance weight / sum of weights; uniform where all weights are 0."""
    ends = np.cumsum(weights)
    total = int(ends[-1])
    if total == 0:
        return bits.below(weights.size)
    return int(np.searchsorted(ends, bits.below(total), side="right"))


def picks(weights: NDArray[np.int64], count: int, bits: Bits) -> NDArray[np.int64]:
    """The places of so many labels, each drawn by itself with the law of `pick`. The weights add up to below 2^63."""
    ends = np.cumsum(weights)
    total = int(ends[-1])
    if total == 0:
        return uniform_below(weights.size, count, bits).astype(np.int64)
    return np.searchsorted(ends, uniform_below(total, count, bits).astype(np.int64), side="right").astype(np.int64)


def nearest(noisy: NDArray[np.int64], n: int) -> tuple[NDArray[np.int64], int]:
    """The point of the simplex nearest to noisy / n by Euclid's distance, as whole weights and their sum.

    max(v - tau, 0) with the one tau that makes the sum 1. With m labels above tau and S the sum of their noisy counts,
    tau = (S - n) / (m n): weights are m * noisy - (S - n), where that is above 0, and add up to m * n.
    """
    noisy = noisy if noisy.size * (n + (1 << 40)) < 1 << 62 else noisy.astype(object)  # by public sizes
    falling = np.sort(noisy)[::-1]
    sums = np.cumsum(falling)
    places = np.arange(1, noisy.size + 1)
    # Projection on the simplex: m is the most labels for which the m-th largest still lies above tau.
    m = int(np.flatnonzero(places * falling > sums - n)[-1]) + 1
    # m (noisy - n tau) / n, over the common denominator m n.
    return np.maximum(m * noisy - (int(sums[m - 1]) - n), 0), m * n


def pick_one(counts: NDArray[np.int64], unseen: int, decay: Decay, bits: Bits) -> int:
    """One draw where `counts` are those of the labels in the data, and `unseen` labels of the domain have none.

    Gives the place of a label in `counts`, or UNSEEN, or ANY. Its law is exactly that of `pick(weights(...))` over the
    whole domain. Only for one draw: the weights of the labels taken together are never known, so a second draw from
    them would not be one from the same weights, and would tell which labels nobody has.

    Raises ParameterError where `unseen` is not within 0..2**64.
    """
    whole(unseen, "unseen", least=0, most=MOST_UNSEEN)
    # Algorithm 3: noise on the count of every label, those below 0 become 0.
    drawn = weights(counts, decay, bits) if counts.size else np.zeros(0, np.int64)
    seen = int(drawn.sum())
    if seen == 0:
        # No label in the data has a weight: the draw is uniform if no other has one either.
        return ANY if flip(lambda precision: empty_chance(unseen, decay, precision), bits) else UNSEEN
    if unseen and flip(lambda precision: unseen_chance(seen, unseen, decay, precision), bits):
        return UNSEEN
    return pick(drawn, bits)


# ---------------------------------------------------------------- labels that nobody has, taken together


def empty_chance(unseen: int, decay: Decay, precision: int) -> Enclosure:
    """The chance that no label that nobody has is left with a weight: 1 / (1 + decay) ** unseen."""
    from flint import arb

    def value() -> Any:
        return (-(1 + _ball(decay)).log() * arb(unseen)).exp()

    return _enclosed(value, precision)


def unseen_chance(seen: int, unseen: int, decay: Decay, precision: int) -> Enclosure:
    """The chance that a draw meets a label that nobody has, where the others have a weight of `seen` >= 1 together.

    With W the weight of all labels that nobody has, it is the mean of W / (W + seen). As 1 / (W + seen) is the integral
    of s ** (W + seen - 1) over s from 0 to 1, and the mean of s ** W is g(s) ** unseen with

        g(s) = (1 + (1 - r) r s / (1 - r s)) / (1 + r),     r the decay,

    it is 1 less seen times the integral of s ** (seen - 1) g(s) ** unseen. With s = exp(-u / scale), the integral
    beyond a cut of u is below g(exp(-cut / scale)) ** unseen exp(-seen cut / scale) / seen. By ball arithmetic.
    """
    from flint import acb, arb

    scale = seen + unseen

    def value() -> Any:
        r = _ball(decay)

        def mean(s: Any) -> Any:
            return (1 + (1 - r) * r * s / (1 - r * s)) / (1 + r)

        def integrand(u: Any, analytic: bool) -> Any:
            s = (-u / scale).exp()
            return ((-u / scale) * seen).exp() * (mean(s).log(analytic=analytic) * unseen).exp() * seen / scale

        def beyond(cut: int) -> Any:
            s = (-arb(cut) / scale).exp()
            return (mean(s).log() * unseen - arb(cut) * seen / scale).exp()

        cut = 64
        while not beyond(cut) < arb(2) ** -(precision + 8):
            cut *= 2
        # pieces that double in length: the integrand lies near 0 where the weights are large
        ends = [Fraction(0), *(Fraction(cut, 1 << halvings) for halvings in range(cut.bit_length() + 4, -1, -1))]
        inner = sum(
            (acb.integral(integrand, _number(low), _number(high)) for low, high in itertools.pairwise(ends)),
            acb(0),
        ).real
        return 1 - inner - arb(0, 1) * beyond(cut)

    return _enclosed(value, precision)


def _number(x: Fraction | int) -> Any:
    from flint import arb, fmpq

    return arb(fmpq(Fraction(x).numerator, Fraction(x).denominator))


def _ball(decay: Decay) -> Any:
    """The decay as a ball, at the precision in force."""
    return _number(decay.ratio) if decay.ratio is not None else (-_number(decay.exponent or 0)).exp()


def _enclosed(value: Callable[[], Any], precision: int) -> Enclosure:
    """A real number in [0, 1] that ball arithmetic encloses, to within 2**-precision, at growing precision.

    Its ends are rounded outwards to `work` places: a chance like 2**-(10**18) is no fraction that fits in memory.
    """
    from flint import ctx

    work, before = precision + 64, ctx.prec
    try:
        while True:
            ctx.prec = work
            found = value()
            if -1 < found < 2:  # certainly: a ball that is too wide, or holds no number, is neither
                low, high = _rounded(found.lower(), work, math.floor), _rounded(found.upper(), work, math.ceil)
                if high - low <= Fraction(1, 1 << precision):
                    return max(Fraction(0), low), min(Fraction(1), high)
            work *= 2
            if work > 1 << 16:
                raise ArithmeticError("a chance could not be enclosed closely enough")
    finally:
        ctx.prec = before


def _rounded(end: Any, places: int, towards: Callable[[Fraction], int]) -> Fraction:
    """A number of the form mantissa * 2**exponent in multiples of 2**-places; towards floor or ceil."""
    mantissa, exponent = map(int, end.man_exp())
    shift = max(exponent + places, -mantissa.bit_length() - 1)  # less is one half of a place at most, whatever is less
    return Fraction(towards(mantissa * Fraction(2) ** shift), 1 << places)
