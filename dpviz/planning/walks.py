"""ALP's estimates of more bits than can be enumerated, simulated: public numbers only, for pictures.

One run draws one row of uniform numbers, and all values y are read from it at once: to the left of y a walk with the
chances of ones, to the right one with those of zeros. Seeded, so that a picture moves and does not flicker; nothing
here can reach a ledger.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from dpviz.exact import whole
from dpviz.laws.alp import Flips
from dpviz.laws.alp_errors import Laws
from dpviz.noise.simulated import uniform

RUNS = 4_000
SEED = 4_571
MOST = 4_096
"""The most bits that are simulated."""

Whole = NDArray[np.int64]


@lru_cache(maxsize=256)
def simulated_laws(m: int, flips: Flips, runs: int = RUNS, seed: int = SEED, cleared: int = 0) -> Laws:
    """For each y from 0 to m: the estimates of the runs, in bits, and how often each came.

    cleared  in so many columns, the first, other keys clear bits instead of setting them

    >>> from fractions import Fraction
    >>> values, shares = simulated_laws(20, Flips(Fraction(1, 5)), runs=100)[0]
    >>> bool(values.min() >= 0), round(float(shares.sum()), 9)
    (True, 1.0)
    """
    drawn = uniform(whole(m, "m", most=MOST), runs, seed)
    first = np.arange(m)[:, None] < cleared
    ones = np.where(drawn >= np.where(first, float(flips.raised), float(flips.p)), 1, -1)
    zeros = np.where(drawn < np.where(first, float(flips.p), float(flips.raised)), 1, -1)
    rising, falling = (
        np.concatenate((np.zeros((1, runs), dtype=np.int64), np.cumsum(steps, axis=0))) for steps in (ones, zeros)
    )
    left = _highest(rising, range(m + 1))
    right = _highest(falling, range(m, -1, -1))[::-1]
    laws = []
    for y in range(m + 1):
        best, sums, places = left[y]
        if y < m:
            other, more, count = right[y + 1]
            above, below = best - rising[y], other - falling[y]
            sums = np.where(above > below, sums, np.where(above < below, more, sums + more))
            places = np.where(above > below, places, np.where(above < below, count, places + count))
        values, times = np.unique((sums / places).round(9), return_counts=True)
        laws.append((values, times / runs))
    return laws


def _highest(walk: Whole, order: range) -> list[tuple[Whole, Whole, Whole]]:
    """Of the places visited so far, in this order: the height of the highest, their sum and their number."""
    best = np.full(walk.shape[1], np.iinfo(np.int64).min)
    sums, places = np.zeros_like(best), np.zeros_like(best)
    found = []
    for place in order:
        above, level = walk[place] > best, walk[place] == best
        sums = np.where(above, place, sums + place * level)
        places = np.where(above, 1, places + level)
        best = np.maximum(best, walk[place])
        found.append((best, sums, places))
    return found
