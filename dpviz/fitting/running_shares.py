"""Bands for the shares of all bins up to each one, at once, from counts with independent noise of one law.

Let A and R be the true counts of the bins up to one and of the rest, A + X and R + Y as they were drawn, and p the
share A / (A + R). Two bounds hold for all bins at once, each at its own level.

Each by itself: p is tested by (1 - p) (A + X) - p (R + Y), as in `shares.py`, where the chance of a statistic as large
as the one seen is bounded by Chernoff's bound, with any theta. By the argument there, one p that is rejected at the
level less Pr[X + Y >= what was seen of the whole] speaks for all below it. Counts that were raised to 0 err upward by
max(Z, 0) at most, and downward by Z. The level is shared out over all bins and both sides.

All together: by Lévy's inequality some sum of the first of m independent symmetric noises exceeds t, in size, with
chance 2 Pr[|Z_1 + ... + Z_m| > t] at most, and some sum of the last ones with the same. Where none does, (1 - p) X - p
Y lies between -t and t for every bin, whatever p is, so p lies within t / (what was seen of the whole).

The first is narrow where little lies on one side of a bin, the second where nearly all does. Shares never fall, so the
largest lower end so far holds for all bins that follow, and likewise from above.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from dpviz.boundary import protect_module
from dpviz.fitting.noises import Noise, Term, transform_of
from dpviz.fitting.shares import FINE, shares
from dpviz.fitting.sums import NoiseSum
from dpviz.fitting.transforms import Floats, Transform

TRIED = np.array([0.3, 0.45, 0.6, 0.75, 0.9, 1.0, 1.1, 1.3])
"""The theta of exponential bounds, in parts of the best one of normal noise."""

STEEPEST = np.array([0.6, 0.7, 0.8, 0.85, 0.9, 0.94, 0.97, 0.98])
"""But no more than these parts of the largest for which the bound is finite, in their turn."""

HALVED = 22
"""Bisections of 0 to 1, for millionths."""

FEW = 64
"""The most shares that are tested one by one, with the law of each."""

SLACK = 1e-9
"""More than floats lose of a sum of counts, in parts of it."""


@dataclass(frozen=True, eq=False)
class RunningShares:
    """The shares up to each bin: ends in millionths, neither of which ever falls.

    low, high  of each but the last; a low end above a high one where the noise was larger than a band allows for
    rule       by which they are known
    """

    low: NDArray[np.int64]
    high: NDArray[np.int64]
    rule: str

    @classmethod
    def of(cls, low: Floats, high: Floats, rule: str) -> RunningShares:
        """From ends that hold all at once, each for its share."""
        low, high = np.maximum.accumulate(low), np.minimum.accumulate(high[::-1])[::-1]
        least, most = np.floor(np.clip(low, 0, 1) * FINE), np.ceil(np.clip(high, 0, 1) * FINE)
        return cls(least.astype(np.int64), most.astype(np.int64), rule)


@dataclass(frozen=True)
class NoiseOfBins:
    """The noise of every bin of an answer: independent, of one law, raised to 0 or not.

    noise    of one bin
    clamped  whether counts below 0 became 0
    spare    the chance that it is not this noise, for all bins together
    """

    noise: Noise
    clamped: bool
    spare: Fraction

    def band(self, counts: NDArray[np.int64], beta: Fraction) -> RunningShares:
        """The shares up to each bin but the last, for all of them at once.

        counts  the noisy counts of the bins up to each bin, the last of which is that of all
        beta    how often a share may lie outside
        """
        number, left = len(counts) - 1, beta - self.spare
        few = self._few(counts, left / number) if left > 0 and number <= FEW and not self.clamped else None
        if few is not None:
            return RunningShares.of(*few, f"Fieller's test, inverted; union bound over {number:,} shares")
        rule = f"Chernoff's bound; union bound over {number:,} shares"
        if not self.clamped:
            rule = f"{rule}; Lévy's inequality for all; each at beta / 2"
        return RunningShares.of(*self._many(counts, float(left) * (1 - SLACK)), rule)

    def _few(self, counts: NDArray[np.int64], beta: Fraction) -> tuple[Floats, Floats] | None:
        """Each share by itself, with the exact law of its test; None where floats do not tell it."""
        ends, every = [], counts.tolist()
        for number, count in enumerate(every[:-1], 1):
            part, rest = (NoiseSum.of([Term(self.noise, 1, bins)]) for bins in (number, len(every) - number))
            found = shares(part, rest, count, every[-1] - count, beta)
            if found is None:
                return None
            ends.append((float(found.low * FINE), float(found.high * FINE)))
        low, high = np.array(ends).T / FINE
        return low, high

    def _many(self, counts: NDArray[np.int64], level: float) -> tuple[Floats, Floats]:
        running = counts[:-1].astype(np.float64)
        whole = float(counts[-1])
        if level <= 0 or whole <= 0:
            return np.zeros(len(running)), np.ones(len(running))
        each = level if self.clamped else level / 2
        number = np.arange(1, len(counts), dtype=np.float64)
        one = each / (2 * len(running))
        low = self._by_each(running, whole - running, number, len(counts) - number, one)
        high = 1 - self._by_each(whole - running, running, len(counts) - number, number, one)
        if not self.clamped:
            reach = _largest(self.noise, len(counts), level / 2) * (1 + SLACK) + SLACK * (np.abs(running) + whole)
            low = np.maximum(low, (running - reach) / whole)
            high = np.minimum(high, (running + reach) / whole)
        return low, high

    def _by_each(self, part: Floats, rest: Floats, number: Floats, others: Floats, level: float) -> Floats:
        """For each bin a share up to which all are rejected: 0 where none is.

        number, others  how many bins the part has, and the rest
        """
        transform = transform_of(self.noise)
        allowed = level - self._whole(transform, float(number[0] + others[0]), float(part[0] + rest[0]))
        rejected = np.zeros(len(part))
        if allowed <= 0:
            return rejected
        slack, accepted = SLACK * (np.abs(part) + np.abs(rest)), np.clip(part / (part + rest), 0, 1)
        for _ in range(HALVED):
            tried = (rejected + accepted) / 2
            seen = (1 - tried) * part - tried * rest - slack
            far = self._log_chance(transform, tried, number, others, seen) <= math.log(allowed)
            rejected, accepted = np.where(far, tried, rejected), np.where(far, accepted, tried)
        return rejected

    def _log_chance(self, transform: Transform, p: Floats, number: Floats, others: Floats, seen: Floats) -> Floats:
        """A bound on the logarithm of the chance of so large a statistic."""
        variance = 2 * transform.size * (number * (1 - p) ** 2 + others * p**2)
        most = STEEPEST[:, None] * transform.pole / np.maximum(p, 1 - p)
        thetas = np.minimum(TRIED[:, None] * np.maximum(seen, 0) / variance, most)
        moments = number * transform.log_moment(self.clamped, (1 - p) * thetas)
        moments += others * transform.log_moment(False, p * thetas)
        bounds = np.where(thetas > 0, moments - thetas * seen, 0.0)
        least: Floats = np.nanmin(bounds, axis=0)
        return np.minimum(least, 0.0)

    def _whole(self, transform: Transform, bins: float, seen: float) -> float:
        """The chance, at most, that the noise of all bins is as large as what was seen of them."""
        pole = transform.pole if math.isfinite(transform.pole) else 4 / math.sqrt(2 * transform.size)
        thetas: Floats = STEEPEST[-1] * pole * np.arange(1, 65) / 64
        return math.exp(min(0.0, float(np.nanmin(bins * transform.log_moment(self.clamped, thetas) - thetas * seen))))


@lru_cache(maxsize=256)
def _largest(noise: Noise, bins: int, beta: float) -> float:
    """The size that no sum of the noises of the first bins exceeds, and none of the last, but with chance beta: each of
    both with 2 times the chance of that of all, on either side."""
    return float(NoiseSum.of([Term(noise, 1, bins)]).upper(Fraction(beta) / 8, exactly=False).value)


protect_module(vars())
