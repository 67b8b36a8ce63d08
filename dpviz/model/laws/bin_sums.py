"""The errors of sums of counts with independent noise: loaded once a paid answer is asked for a sum."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from dpviz.boundary import protect_module
from dpviz.exact import Enclosure
from dpviz.fitting.bands import largest_gap
from dpviz.fitting.noises import Noise, Term
from dpviz.fitting.running_shares import NoiseOfBins
from dpviz.fitting.sums import NoiseSum, Quantile
from dpviz.laws.search import least
from dpviz.model.linear import Ends, Kind, LinearError
from dpviz.model.sum_errors import SumError, quantile


@dataclass(frozen=True)
class BinsError(SumError):
    """The error of a sum of counts with independent noise of one law.

    Differences of two single bins are compared by the noise itself, clamped or not: where max(x, 0) exceeds max(y, 0)
    by something above 0, x exceeds y by no less. So a gap d of two bins of which the first is truly no larger comes
    with probability Pr[Z - Z' >= d] at most, and some gap of at least d with Pr[max Z - min Z >= d] at most: both are
    attained where all true counts are equal and far from a clamp.
    """

    drawn: Noise | None = None

    @property
    def independent(self) -> bool:
        return True

    @property
    def bin_noise(self) -> NoiseOfBins | None:
        assert self.drawn is not None
        return NoiseOfBins(self.drawn, not self.certain, self.spare)

    def ends_between(
        self, last: LinearError, beta: Fraction, number: int
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]] | None:
        """By exponential bounds, for every bin has the same noise."""
        level = (beta - self.spare) / 2
        if level <= 0 or not isinstance(last, BinsError):
            return None
        log = math.log(level)
        over, under = (self.over.noises, last.over.noises), (self.under.noises, last.under.noises)
        below, above = (one.chernoff_between(other, log, number) for one, other in (over, under))
        return below, above

    def pair(self, gap: Fraction) -> Enclosure | None:
        assert self.drawn is not None
        return NoiseSum.of([Term(self.drawn, 1, 2)]).at_least(gap)

    def largest_gap(self, rows: int, gap: Fraction) -> Enclosure | None:
        assert self.drawn is not None
        return largest_gap(self.drawn, rows, math.ceil(gap))

    def every(self, kind: Kind, rows: int, beta: Fraction) -> tuple[Ends, str] | None:
        """All differences of two bins hold at once where the largest and the least noise are no further apart. Of
        clamped values this says nothing: they may err by less than the noise of one bin, and by all of another's."""
        assert self.drawn is not None
        if kind != "pairs" or not self.certain:
            return None
        gap = widest(self.drawn, rows, beta)
        return (gap, gap), f"the exact law of the largest gap between any two of {rows:,} noises"


RARE = Fraction(1, 16)
"""The part of a level that is kept for sums in which a value stands at a public top."""


@dataclass(frozen=True)
class TopError(BinsError):
    """The error of a sum of counts that are clamped at a public top, too, which few counts ever come near.

    Where no value of a query stands at the top, it took nothing away, and no count is off by less than Z. So where the
    level is shared out between the two cases, before looking, each by its own sum misses no oftener than its share:
    with a value at the top by Z-, at RARE of the level, without one by Z, at all the rest.

    loose    the sums without a top
    reached  whether a value of the query stands at the top
    """

    loose: tuple[NoiseSum, NoiseSum] = (NoiseSum.of(()), NoiseSum.of(()))
    reached: bool = False

    @property
    def bin_noise(self) -> None:
        """None: some values stand at the top."""

    def far_ends(self, beta: Fraction) -> None:
        """None: its ends are no quantiles of one sum."""

    def ends_between(self, last: LinearError, beta: Fraction, number: int) -> None:
        """None: whether a value stands at the top depends on the query."""

    def ends(self, beta: Fraction) -> Ends:
        level = (beta - self.spare) / 2
        below, above = (
            quantile(tight, level)
            if tight == loose
            else quantile(tight, level * RARE)
            if self.reached
            else quantile(loose, level * (1 - RARE))
            for tight, loose in zip((self.over, self.under), self.loose, strict=True)
        )
        return below, above


@lru_cache(maxsize=256)
def widest(noise: Noise, rows: int, beta: Fraction) -> Quantile:
    """The least gap that the largest and the least of so many noises exceed with probability at most beta."""
    value = least(lambda gap: largest_gap(noise, rows, gap + 1)[1] <= beta)
    certain = value == 0 or largest_gap(noise, rows, value)[0] > beta
    return Quantile(Fraction(value), Fraction(value if certain else 0))


protect_module(vars())
