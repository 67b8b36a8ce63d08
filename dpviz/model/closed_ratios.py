"""Ends for a ratio of two numbers that were asked: a share, a mean, from counts and a profile.

Let F(t) = A - t D, where the true A is at most (for a lower end: at least) t D for the true ratio t, and A and D are
weighted sums of counts and of classes. A ratio t is rejected where the end of F(t) is on the wrong side of 0. All
smaller ones are rejected with it: for s < t, F(s) = F(t) + (t - s) D as released, and the noise of F(s) is that of F(t)
and (t - s) times that of D, so its quantile at a level is at most the quantile of F(t) at 49/50 of it and (t - s) times
that of D at 1/50. So where D is above its own quantile, any ratio that is rejected is an end, however it was found.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from statistics import NormalDist
from typing import Final, TypeAlias

from dpviz.boundary import protect_module
from dpviz.model.closing import ClosedCounts
from dpviz.model.linear import NONE, LinearError, Query
from dpviz.model.sum_errors import SumError

Both: TypeAlias = tuple[Query, Query]
"""A weighted sum of counts, and one of classes of a profile."""

SPARE: Final = Fraction(1, 50)
"""The part of a level at which the whole is bounded."""

FINEST: Final = 1 << 13
"""Ends are looked for among so many ratios in equal steps."""

ROUNDS: Final = 5
EXACT_ROUNDS: Final = 2
"""The steps of a search, and those of them that take the exact law of the noise."""

TINIEST: Final = Fraction(1, 10**300)
"""Smaller levels are taken for this one where a normal error is asked for."""


@dataclass(frozen=True)
class RatioTest:
    """The test of a ratio from one side.

    Parameters
    ----------
    ends : ClosedCounts
        Counts and their profile.
    at : callable
        Returns F(t) for a ratio t.
    whole : tuple of Query
        D.
    limits : tuple of Fraction
        Between which the ratio lies for sure.
    side : int
        0 for a lower end, 1 for an upper one.
    """

    ends: ClosedCounts
    at: Callable[[Fraction], Both]
    whole: Both
    limits: tuple[Fraction, Fraction]
    side: int

    def end_at(self, level: Fraction) -> Fraction:
        """The end, which fails `level` of the time; the limit where nothing nearer is known."""
        first, last = self.limits
        far = last if self.side else first
        if not self._settled(level):
            return far
        step = (last - first) / FINEST
        found = first + (math.ceil if self.side else math.floor)((self._near(level) - first) / step) * step
        while first <= found <= last and found != far and not self._rejected(found, level):
            found, step = found + (step if self.side else -step), 4 * step
        return found if first <= found <= last else far

    def _near(self, level: Fraction) -> Fraction:
        """About where the end lies. F(t) falls by D for each whole t, and its noise hardly depends on t."""
        first, last = self.limits
        whole = self.ends.estimate(*self.whole).middle
        near, usual = (first + last) / 2, NormalDist().inv_cdf(1 - float(max(level, TINIEST)))
        for round_ in range(ROUNDS):
            value = self.ends.estimate(*self.at(near)).middle
            if round_ < ROUNDS - EXACT_ROUNDS:
                reach = Fraction(usual * self._deviation(near))
                end: Fraction | None = value + reach if self.side else value - reach
            else:
                end = self.ends.end(*self.at(near), self.side, level * (1 - SPARE))
            if end is None:
                return last if self.side else first
            moved = min(last, max(first, near + end / whole))
            near = Fraction(round((moved - first) * FINEST / (last - first)), FINEST) * (last - first) + first
        return near

    def _deviation(self, ratio: Fraction) -> float:
        return math.hypot(*(error.about_deviation for error in self.ends.errors(*self.at(ratio))))

    def _settled(self, level: Fraction) -> bool:
        """Whether all ratios beyond a rejected one are rejected, too."""
        whole = self.ends.end(*self.whole, 0, level * SPARE)
        above = whole is not None and whole >= 0 and self.ends.estimate(*self.whole).low > 0
        return above and all(map(_subadditive, self.ends.errors(*self.whole)))

    def _rejected(self, ratio: Fraction, level: Fraction) -> bool:
        end = self.ends.end(*self.at(ratio), self.side, level * (1 - SPARE))
        return end is not None and (end > 0 if self.side == 0 else end < 0)


def _subadditive(error: LinearError) -> bool:
    """Whether the noise of a sum of two queries is at most the sum of theirs, draw by draw: noise that was added, and
    raised to 0 or not."""
    return isinstance(error, SumError) and error.over_more == error.under_more == NONE


protect_module(vars())
