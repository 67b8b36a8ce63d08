"""A chi-square test that looks at every bin, with its power stated."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy import stats

FALSE_ALARM = 1e-9
"""How often a test of a right law may fail: once in a thousand million seeds."""


def pool(observed: NDArray, *laws: NDArray, least: float = 25.0) -> list[NDArray]:
    """Join neighbouring bins from both ends until each is expected to hold enough draws by the first law."""
    expected = laws[0] * observed.sum()
    middle = int(np.argmax(expected))
    left = np.searchsorted(np.cumsum(expected[: middle + 1]), least)
    right = len(expected) - np.searchsorted(np.cumsum(expected[: middle - 1 : -1]), least)
    starts = [0, *range(left + 1, right)] if left + 1 < right else [0]
    return [np.add.reduceat(np.asarray(row, dtype=float), starts) for row in (observed, *laws)]


def p_value(observed: NDArray, law: NDArray) -> float:
    """The chance of a fit at least as bad if the counts of `observed` were drawn from `law`."""
    seen, share = pool(observed, law)
    expected = share / share.sum() * seen.sum()
    return float(stats.chi2.sf(((seen - expected) ** 2 / expected).sum(), len(seen) - 1))


def power(draws: int, law: NDArray, twin: NDArray, level: float = FALSE_ALARM) -> float:
    """The chance that `draws` draws from `law` reject the twin, where a p-value below `level` does."""
    share, wrong = pool(law * draws, law, twin)[1:]
    bins = len(share)
    distance = draws * ((share - wrong) ** 2 / wrong).sum()
    return float(stats.ncx2.sf(stats.chi2.isf(level, bins - 1), bins - 1, distance))


def histogram(values: NDArray, first: int, last: int) -> NDArray:
    """How often each of first..last occurs; what lies beyond is counted at the ends."""
    return np.bincount(np.clip(values, first, last) - first, minlength=last - first + 1)


def ends_folded(pmf: NDArray, below: float, above: float) -> NDArray:
    """A law on first..last whose ends carry what lies beyond."""
    folded = pmf.copy()
    folded[0] += below
    folded[-1] += above
    return folded
