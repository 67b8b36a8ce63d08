"""Whether time tells the noise: rank correlation of the time of a draw with the size of what was drawn.

One draw as a release makes it (sampler and clamp, without the durable writes), and a vector of 42 bins against the sum
and the maximum of its noise. A correlation of 20,000 draws has a chance spread of 0.007, so four runs are averaged,
with the garbage collector off. OpenDP is measured in the same way, for comparison.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Sequence
from fractions import Fraction
from statistics import mean

import numpy as np
from numpy.typing import NDArray
from scipy.stats import spearmanr

from benchmarks.measured import Measured
from benchmarks.peers import peers
from dpviz.exact import Decay
from dpviz.noise.bits import SystemBits
from dpviz.noise.geometric import two_sided_geometric

DRAWS, RUNS, BINS, SCALES = 20_000, 4, 42, (5, 50)
COUNT, CAP = 500_000, 1_000_000
ALLOWED = 0.02


def draws(scale: int, bins: int, count: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The nanoseconds of each vector drawn, and its noise; no count is near the clamp."""
    sampler, bits = two_sided_geometric(Decay.exp(Fraction(1, scale))), SystemBits()
    exact = np.full(bins, COUNT, dtype=np.int64)
    times, noisy = np.empty(count, dtype=np.int64), np.empty((count, bins), dtype=np.int64)
    clock, add = time.perf_counter_ns, sampler.add
    add(exact, 0, CAP, bits)
    for draw in range(count):
        began = clock()
        released = add(exact, 0, CAP, bits)
        times[draw] = clock() - began
        noisy[draw] = released
    return times, np.abs(noisy - COUNT)


def correlation(times: Sequence[int] | NDArray[np.int64], sizes: Sequence[int] | NDArray[np.int64]) -> float:
    return float(spearmanr(times, sizes).statistic)


def single(scale: int, count: int) -> float:
    times, noise = draws(scale, 1, count)
    return correlation(times, noise[:, 0])


def vector(scale: int, count: int) -> tuple[float, float]:
    times, noise = draws(scale, BINS, count)
    return correlation(times, noise.sum(axis=1)), correlation(times, noise.max(axis=1))


def opendp(scale: int, count: int) -> tuple[float, float, float]:
    times, noise = peers().ask("opendp_single_draws", size=count, scale=float(scale))
    vector_times, sums, maxima = peers().ask("opendp_vectors", size=count // 4, bins=BINS, scale=float(scale))
    return correlation(times, noise), correlation(vector_times, sums), correlation(vector_times, maxima)


def table(count: int = DRAWS, runs: int = RUNS) -> list[Measured]:
    lines = []
    gc.collect()
    gc.disable()
    try:
        for scale in SCALES:
            ours = [(single(scale, count), *vector(scale, count)) for _ in range(runs)]
            theirs = opendp(scale, count)
            names = ("the size of one draw", f"the sum over {BINS} bins", f"the maximum over {BINS} bins")
            for place, name in enumerate(names):
                found = mean(run[place] for run in ours)
                what = f"time against {name}, scale {scale} (OpenDP {theirs[place]:+.2f})"
                lines.append(Measured(what, f"{found:+.3f}", f"within ±{ALLOWED}", abs(found) <= ALLOWED))
    finally:
        gc.enable()
    return lines
