"""Bands over chosen ranges of a tree that hold jointly, from runs of pure noise.

The errors of linear estimators do not depend on the data, so how large the largest of many is can be tried out: with
made-up noise, whose seed is public, as often as one likes, for nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from dpviz.boundary import error_boundary, protect_module
from dpviz.errors import ParameterError
from dpviz.exact import Decay
from dpviz.fitting.noises import Noise, refuse_noise
from dpviz.fitting.tree import Shape, Weighted
from dpviz.laws.gaussian import DiscreteGaussian
from dpviz.noise.bits import TeachingBits
from dpviz.noise.gaussian import discrete_gaussian
from dpviz.noise.geometric import two_sided_geometric
from dpviz.noise.table import Sampler

SEED = 1
"""The made-up noise is the same on every machine."""

MISLED = Fraction(1, 10**9)
"""The chance that so many runs give a band that is too narrow."""

MOST_VALUES = 1 << 31
"""The most noises that are made up, and the most that are weighted."""

BATCH = 1 << 21
"""Noises at a time."""


@error_boundary
def largest_errors(
    shape: Shape,
    noises: Sequence[Noise | None],
    queries: Sequence[Sequence[Weighted]],
    scales: NDArray[np.float64],
    runs: int,
) -> NDArray[np.float64]:
    """In each of so many runs of noise, the largest error of any query, each over its own scale.

    noises   the noise on each height, leaves first; None where it has none
    queries  how much each noisy node counts in the error of each query
    """
    from scipy.sparse import csr_array

    columns = [0]  # sums of the noise of the first nodes of each height, which has one more of them than nodes
    for width, one in zip(shape.widths, noises, strict=True):
        columns.append(columns[-1] + (width + 1 if one is not None else 0))
    rows, places, values = [], [], []
    for row, (query, scale) in enumerate(zip(queries, scales, strict=True)):
        for height, first, stop, weight in query:
            if noises[height - 1] is not None and scale:
                rows += [row, row]
                places += [columns[height - 1] + stop, columns[height - 1] + first]
                values += [float(weight) / scale, -float(weight) / scale]
    if max(columns[-1], len(values)) * runs > MOST_VALUES:
        raise ParameterError.of(
            f"{len(queries):,} ranges of {shape.nodes:,} nodes",
            "so many runs of so much noise take minutes",
            "choose fewer ranges, fewer runs, or a union bound",
        )
    weights = csr_array((values, (rows, places)), shape=(len(queries), max(1, columns[-1])))
    bits, found = TeachingBits(SEED), []
    for start in range(0, runs, batch := max(1, BATCH // max(1, columns[-1], len(queries)))):
        some = min(batch, runs - start)
        sums = np.zeros((max(1, columns[-1]), some))
        for at, width, one in zip(columns, shape.widths, noises, strict=False):
            if one is not None:
                noise = sampler_of(one).draw(width * some, bits).reshape(width, some)
                np.cumsum(noise, axis=0, out=sums[at + 1 : at + 1 + width])
        found.append(np.abs(weights @ sums).max(axis=0))
    return np.concatenate(found)


def sampler_of(noise: Noise) -> Sampler:
    """The sampler of this noise."""
    if isinstance(noise, Decay):
        return two_sided_geometric(noise)
    if isinstance(noise, DiscreteGaussian):
        return discrete_gaussian(noise.variance)
    refuse_noise(noise)


@error_boundary
def safe_quantile(values: NDArray[np.float64], beta: Fraction) -> float:
    """A value that a further one exceeds with probability at most beta, but for a chance of `MISLED`.

    Of n values the k-th smallest lies below the true quantile only if k of them do, each with probability 1 - beta at
    most; k is the least for which that has probability `MISLED` at most.
    """
    from scipy.stats import binom

    n = len(values)
    place = int(binom.isf(float(MISLED), n, 1 - float(beta))) + 1
    if place > n:
        raise ParameterError.of(f"{n:,} runs", "at this beta so few runs do not show a quantile", "take more runs")
    return float(np.partition(values, place - 1)[place - 1])


protect_module(vars())
