"""Sums of continuous Laplace noise, for comparisons on public data: what the paper draws, and no release ever does."""

from __future__ import annotations

import math

import numpy as np

from dpviz.boundary import error_boundary
from dpviz.errors import ParameterError
from dpviz.exact import integer

MOST = 2000
"""Beyond so many, the central part of the sum is normal to every digit that a picture shows."""


@error_boundary
def laplace_sum_above(count: int, t: float) -> float:
    """Pr[sum > t] for so many independent Laplace noises of scale 1, t >= 0.

    exp(-t) times the sum over j < count of t**j / j! times the sum over i < count - j of C(count + i - 1, i)
    2**-(count + i). All terms are positive, so nothing cancels.

    >>> laplace_sum_above(1, 0.0), round(laplace_sum_above(2, 1.0), 6)
    (0.5, 0.27591)
    """
    integer(count, "the number of noises", most=MOST)
    if not t >= 0 or math.isinf(t):
        raise ParameterError.of(t, "t must be a number of at least 0", "the law is symmetric")
    at = np.arange(count)
    logs = np.concatenate(([0.0], np.cumsum(np.log((count + at[:-1]) / (at[:-1] + 1)))))
    inner = np.logaddexp.accumulate(logs - (count + at) * math.log(2))[::-1]
    powers = at * math.log(t) if t else np.where(at == 0, 0.0, -np.inf)
    factorials = np.concatenate(([0.0], np.cumsum(np.log(at[1:]))))
    return float(np.exp(np.logaddexp.reduce(powers - factorials + inner) - t))


@error_boundary
def two_counts_error(gap: float) -> float:
    """The total squared error of the isotonic fit of two counts this far apart, with Laplace noise of scale 1.

    4 - (2 + gap)**2 exp(-gap) / 4: from 3 where they are equal to 4 where they are far apart.

    >>> two_counts_error(0.0)
    3.0
    """
    return 4 - (2 + gap) ** 2 * math.exp(-gap) / 4
