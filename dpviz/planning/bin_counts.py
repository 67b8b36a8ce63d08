"""Counts of two bins of a fixed and of a Poisson number of records, simulated: a scatter of the sampling sheet.

With Po(n) records the counts of bins are independent; with n of them one that is large leaves less for the others.
Source: Raskhodnikova, Sivakumar, Smith, Swanberg 2021, Lemma 2.19.
"""

from __future__ import annotations

import math
from collections import Counter
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpviz.noise.simulated import uniform

RECORDS, BINS, RUNS, SEED = 30, 3, 300, 9
"""The number of records, in bins of equal chances, of which two are shown; runs, and the seed that they are drawn
with."""


@lru_cache(maxsize=1)
def bin_counts() -> dict[str, Any]:
    """The counts of the first two bins in every run, and how they go together, exactly and as measured.

    >>> found = bin_counts()
    >>> [(found[name]["exact"], sum(times for _x, _y, times in found[name]["dots"])) for name in ("fixed", "free")]
    [(-0.5, 300), (0.0, 300)]
    """
    from scipy.stats import binom, poisson

    first, second = uniform(2, RUNS, SEED)
    one = binom.ppf(first, RECORDS, 1 / BINS)
    other = binom.ppf(second, RECORDS - one, 1 / (BINS - 1))
    free = poisson.ppf(np.array([first, second]), RECORDS / BINS)
    return {
        "records": RECORDS,
        "bins": BINS,
        "runs": RUNS,
        "fixed": _scatter(one, other, -1 / (BINS - 1)),
        "free": _scatter(free[0], free[1], 0.0),
    }


def _scatter(xs: NDArray[np.float64], ys: NDArray[np.float64], exact: float) -> dict[str, Any]:
    """How often each pair came; the correlation, what it is exactly, and 1.96 standard errors of the measured one."""
    found = Counter(zip(xs.astype(int).tolist(), ys.astype(int).tolist(), strict=True))
    return {
        "dots": [[x, y, times] for (x, y), times in sorted(found.items())],
        "measured": round(float(np.corrcoef(xs, ys)[0, 1]), 3),
        "off": round(1.96 * (1 - exact**2) / math.sqrt(RUNS), 3),
        "exact": exact,
    }
