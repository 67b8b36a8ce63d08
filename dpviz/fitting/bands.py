"""Statements about many numbers at once that hold jointly, from the law of the noise: bands and the largest of gaps."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import cache, lru_cache
from typing import Any, TypeAlias

import gmpy2
import numpy as np
from numpy.typing import NDArray

from dpviz.boundary import error_boundary, protect_module
from dpviz.errors import ParameterError
from dpviz.exact import Decay, Enclosure, from_mpfr, integer, probability
from dpviz.fitting.isotonic import EXACT_FLOATS
from dpviz.fitting.noises import Noise, Term, refuse_noise
from dpviz.fitting.sums import NoiseSum
from dpviz.laws.gaussian import DiscreteGaussian

BLOCKS = 4000
"""A largest gap is enclosed by so many blocks for each side of 0 where noise is wider than that."""

FEW_BLOCKS = 400
"""By so many where each takes two integrals."""

PRECISION = 256
"""Bits: roundings at this precision add up to less than ROUNDED for any number of bins that fits into memory."""

ROUNDED = Fraction(1, 1 << 150)


@dataclass(frozen=True, eq=False)
class Band:
    """Whole numbers between which an ascending sequence of counts lies, all of it at once.

    low, high  the ends at each position; both ascend, and a low end may exceed a high one where the noise was
               beyond what the band allows for
    """

    low: NDArray[Any]
    high: NDArray[Any]

    @property
    def crossed(self) -> bool:
        """Whether it is empty somewhere, which happens with probability beta at most. It is shown, not repaired."""
        return bool((self.low > self.high).any())


@error_boundary
def multiscale(noisy: NDArray[Any], decay: Decay, beta: Fraction, least: int | None = None) -> Band:
    """A band for sorted counts that is narrow where they hardly change: with probability 1 - beta it holds everywhere.

    noisy  whole numbers: each sorted count plus two-sided geometric noise of this decay
    least  what no count is below, usually 0

    Every window of 1, 2, 4, 8, ... positions has a mean that is off by no more than the quantile of its noise, at an
    equal share of beta. A count is at least the mean of any window that ends at it or before, at most that of any that
    begins at it or after. It is computed from the answer, costs nothing, and need not hold the isotonic fit.

    >>> band = multiscale(np.array([4, 6, 5, 5, 4, 6, 5, 60]), Decay.exp(Fraction(1)), Fraction(1, 10), least=0)
    >>> band.low.tolist(), band.high.tolist()
    ([0, 2, 2, 3, 3, 3, 3, 55], [7, 7, 7, 7, 8, 9, 10, 65])
    """
    n, beta = _checked(noisy, beta)
    lengths = _dyadic(n)
    # Union bound over all windows of all lengths.
    share = beta / sum(n - length + 1 for length in lengths)
    low, high = _windows(noisy, {length: _radius(decay, length, share) for length in lengths})
    return _from(least, np.maximum.accumulate(low), np.minimum.accumulate(high[::-1])[::-1])


@error_boundary
def at_one_position(noisy: NDArray[Any], decay: Decay, beta: Fraction, least: int | None = None) -> Band:
    """Ends for each sorted count by itself: for a position picked before looking they hold with probability 1 - beta.

    noisy, least  as in `multiscale`

    A count is at least the mean of any window that ends at it, at most that of any that begins at it, and windows of
    1, 2, 4, 8, ... positions are looked at. Half of beta goes to the position itself, the other half to all longer
    windows, in equal shares. So a count among many equal ones is known nearly as well as their mean, and one that
    stands alone hardly worse than from its own noise. The ends need not ascend.

    >>> ends = at_one_position(np.array([4, 6, 5, 5, 4, 6, 5, 60]), Decay.exp(Fraction(1)), Fraction(1, 10), least=0)
    >>> ends.low.tolist(), ends.high.tolist()
    ([1, 3, 3, 4, 4, 4, 4, 57], [6, 6, 6, 6, 7, 8, 8, 63])
    """
    n, beta = _checked(noisy, beta)
    lengths = _dyadic(n)
    longer = len(lengths) - 1
    # Half of beta for the position itself, half for its longer windows in equal shares.
    shares = {length: beta / 2 / longer if length > 1 else beta / (2 if longer else 1) for length in lengths}
    low, high = _windows(noisy, {length: _radius(decay, length, share) for length, share in shares.items()})
    return _from(least, low, high)


def _checked(noisy: NDArray[Any], beta: Fraction) -> tuple[int, Fraction]:
    """How many values there are, and the chance to fail."""
    beta = probability(beta, "beta", zero=False)
    if len(noisy) == 0 or noisy.ndim != 1 or noisy.dtype.kind not in "iuO":
        raise ParameterError.of(
            "other values", "a band takes one list of noisy whole numbers", "give one flat list of integers"
        )
    return len(noisy), beta


def _dyadic(n: int) -> list[int]:
    """1, 2, 4, 8, ... up to n."""
    return [1 << at for at in range(n.bit_length()) if 1 << at <= n]


@lru_cache(maxsize=4096)
def _radius(decay: Decay, length: int, share: Fraction) -> int:
    """Bound a sum of this many noises, exceeded on either side with probability `share` at most."""
    return int(NoiseSum.of([Term(decay, 1, length)]).radius(share, exactly=False).value)


def _windows(noisy: NDArray[Any], radii: dict[int, int]) -> tuple[NDArray[Any], NDArray[Any]]:
    """For each position the greatest low end of the windows that end at it, and the least high end of those that
    begin at it, in whole numbers rounded inward."""
    n = len(noisy)
    small = noisy.dtype != object and int(np.abs(noisy).max()) * n < EXACT_FLOATS
    sums = np.concatenate(([0], np.cumsum(noisy.astype(np.int64 if small else object))))
    low = np.full(n, -EXACT_FLOATS if small else -(1 << 4096), dtype=sums.dtype)
    high = -low
    for length, radius in radii.items():
        window = sums[length:] - sums[:-length]
        # A sorted count is at least the mean of any window that ends at it: ceil((sum - radius) / length).
        np.maximum(low[length - 1 :], -((radius - window) // length), out=low[length - 1 :])
        # And at most that of any window that begins at it: floor((sum + radius) / length).
        np.minimum(high[: n - length + 1], (window + radius) // length, out=high[: n - length + 1])
    return low, high


def _from(least: int | None, low: NDArray[Any], high: NDArray[Any]) -> Band:
    return Band(low, high) if least is None else Band(np.maximum(low, least), np.maximum(high, least))


@error_boundary
def largest_gap(noise: Noise, bins: int, gap: int) -> Enclosure:
    """The chance that the largest and the least of so many independent noises are at least so far apart.

    It is the p-value of the largest difference among all bins, where every true count is the same. Enclosed to 10**-20
    where noise is not wider than some thousands (discrete Gaussian noise: 1,024), and by blocks of values beyond that.

    >>> low, high = largest_gap(Decay.rational(Fraction(1, 2)), 2, 1)
    >>> round(float(low), 12), high - low < Fraction(1, 10**20)                  # 1 - Pr[Z1 = Z2] = 1 - 5/27
    (0.814814814815, True)
    """
    bins = integer(bins, "the number of bins")
    if gap <= 0:
        return Fraction(1), Fraction(1)
    with gmpy2.context(precision=PRECISION, emin=gmpy2.get_emin_min(), emax=gmpy2.get_emax_max()):
        if isinstance(noise, Decay):
            (reach, at_most), blocks = _geometric(noise, bins), BLOCKS
        elif isinstance(noise, DiscreteGaussian):
            reach, at_most = _gaussian(noise, bins)
            blocks = BLOCKS if reach < 16 * BLOCKS else FEW_BLOCKS
        else:
            refuse_noise(noise)
        block = -(-reach // blocks)
        within, off, sums = [gmpy2.mpfr(0), gmpy2.mpfr(0)], gmpy2.mpfr(0), 0
        for start in range(-reach, reach + 1, block):
            (below, wide), (last, wider) = at_most(start - 1), at_most(start + block - 1)
            for side, end in enumerate((start + gap - 1, start + gap + block - 2)):
                top, widest = at_most(end)
                # All noises lie in [z, z + gap), and not all of them above z: z is the least.
                within[side] += (top - below) ** bins - (max(top - last, gmpy2.mpfr(0))) ** bins
                off, sums = max(off, wide, wider, widest), sums + 1
        beyond = Fraction(1, 1 << 70)
        least, most = 1 - from_mpfr(within[1]), 1 - from_mpfr(within[0])
        lost = ROUNDED + from_mpfr(off) * 4 * bins * sums  # a power of a number in 0..1 moves `bins` times as far
    return max(Fraction(0), least - beyond - lost), min(Fraction(1), most + lost)


AtMost: TypeAlias = Callable[[int], tuple[Any, Any]]
"""Pr[Z <= value], and how far off that may be."""


def _geometric(decay: Decay, bins: int) -> tuple[int, AtMost]:
    """The range of noise that is looked at, and its distribution."""
    low, high = decay.bounds(PRECISION)
    y = (gmpy2.mpfr(gmpy2.mpq(low)) + gmpy2.mpfr(gmpy2.mpq(high))) / 2
    reach = int(gmpy2.log(gmpy2.mpfr(bins) * 2**72) / -gmpy2.log(y)) + 1
    none = gmpy2.mpfr(0)
    return reach, lambda value: (1 - y ** (value + 1) / (1 + y) if value >= 0 else y**-value / (1 + y), none)


def _gaussian(law: DiscreteGaussian, bins: int) -> tuple[int, AtMost]:
    @cache
    def at_most(value: int) -> tuple[Any, Any]:
        low, high = (gmpy2.mpfr(gmpy2.mpq(end.numerator, end.denominator)) for end in law.cdf(value, PRECISION))
        return low, high - low

    return law.least_above(Fraction(1, bins << 72)) + 1, at_most


protect_module(vars())
