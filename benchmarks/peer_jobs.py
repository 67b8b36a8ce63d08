"""Runs in the peers' environment: reads a job as a line of JSON, does it once, answers with a line of JSON.

Nothing of dpviz is imported here. Processor time is measured inside, around the work alone.
"""

from __future__ import annotations

import functools
import json
import resource
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np


@functools.cache
def counts(size: int) -> np.ndarray:
    return np.arange(size, dtype=np.int64) % 1000


@functools.cache
def opendp_laplace(scale: float, vector: bool) -> Callable[[Any], Any]:
    import opendp.prelude as dp

    dp.enable_features("contrib")
    atom = dp.atom_domain(T=dp.i64)
    if vector:
        return dp.m.make_laplace(dp.vector_domain(atom), dp.l1_distance(T=dp.i64), scale=scale)
    return dp.m.make_laplace(atom, dp.absolute_distance(T=dp.i64), scale=scale)


def opendp_noise(size: int, scale: float) -> float:
    """Discrete Laplace noise on each count, clamped to 0..1000."""
    measurement, exact = opendp_laplace(scale, True), counts(size)
    began = time.process_time()
    np.clip(np.asarray(measurement(exact)), 0, 1000)
    return time.process_time() - began


@functools.cache
def opendp_normal(scale: float) -> Callable[[Any], Any]:
    import opendp.prelude as dp

    dp.enable_features("contrib")
    return dp.m.make_gaussian(dp.vector_domain(dp.atom_domain(T=dp.i64)), dp.l2_distance(T=dp.i64), scale=scale)


def opendp_gaussian(size: int, scale: float) -> float:
    """Discrete Gaussian noise on each count."""
    measurement, exact = opendp_normal(scale), counts(size)
    began = time.process_time()
    measurement(exact)
    return time.process_time() - began


@functools.cache
def opendp_laplace_threshold(scale: float, threshold: int) -> Callable[[Any], Any]:
    import opendp.prelude as dp

    dp.enable_features("contrib")
    domain = dp.map_domain(dp.atom_domain(T=dp.String), dp.atom_domain(T=dp.i64))
    metric = dp.l01inf_distance(dp.absolute_distance(T=dp.i64))
    return dp.m.make_laplace_threshold(domain, metric, scale=scale, threshold=threshold)


@functools.cache
def keyed(size: int) -> dict[str, int]:
    return {f"key {number:07}": number % 100 + 1 for number in range(size)}


def opendp_threshold(size: int, scale: float, threshold: int) -> float:
    """Discrete Laplace noise on each key's count; keys below the threshold are dropped."""
    measurement, exact = opendp_laplace_threshold(scale, threshold), keyed(size)
    began = time.process_time()
    measurement(exact)
    return time.process_time() - began


@functools.cache
def scores(kind: str, size: int) -> np.ndarray:
    """The counts to rank: the same as in `top_k.py`."""
    if kind == "uniform":
        return np.arange(size, dtype=np.int64) * 7919 % 1000
    if kind == "power law":
        return np.floor(1e6 * np.arange(1, size + 1) ** -1.1).astype(np.int64)
    return np.full(size, 1000, dtype=np.int64)


@functools.cache
def opendp_noisy_top_k(k: int, scale: float) -> Callable[[Any], Any]:
    import opendp.prelude as dp

    dp.enable_features("contrib")
    space = dp.vector_domain(dp.atom_domain(T=dp.i64)), dp.linf_distance(T=dp.i64)
    return dp.m.make_noisy_top_k(*space, dp.zero_concentrated_divergence(), k=k, scale=scale)


def opendp_top_k(kind: str, size: int, k: int, scale: float) -> float:
    """The positions of the k largest scores with Gumbel noise."""
    measurement, exact = opendp_noisy_top_k(k, scale), scores(kind, size).tolist()
    began = time.process_time()
    measurement(exact)
    return time.process_time() - began


def opendp_consistent_tree(k: int, leaves: int, listed: bool) -> float:
    """The consistent leaves of a noisy tree, which comes as a list, as OpenDP's own noisy trees do, or as an array."""
    import opendp.prelude as dp

    dp.enable_features("contrib")
    consistent, nodes = dp.t.make_consistent_b_ary_tree(k), (k * leaves - 1) // (k - 1)
    tree = (np.arange(nodes, dtype=np.int64) * 7919 % 1000).astype(np.int32)
    given = tree.tolist() if listed else tree
    consistent(given)  # as `warm_cpu_seconds` does
    began = time.process_time()
    consistent(given)
    return time.process_time() - began


@functools.cache
def power_law(keys: int) -> dict[int, int]:
    """The vector to embed: the same as in `alp.py`."""
    return {number * 42_949: min(1000, 8 * keys // (number * 7919 % keys + 1)) for number in range(keys)}


def resident() -> int:
    """The bytes of this process that are in memory."""
    with open("/proc/self/statm") as about:
        return int(about.read().split()[1]) * resource.getpagesize()


def opendp_alp(keys: int, looked: int) -> list[float]:
    """The seconds of a build at its own size for epsilon 1, the mean absolute error of `looked` keys, the seconds of
    reading them one by one, and the bytes that the process has grown by."""
    import opendp.prelude as dp

    dp.enable_features("contrib")
    exact, kind = power_law(keys), dp.atom_domain(T=dp.u32)
    space = dp.map_domain(kind, kind), dp.l01inf_distance(dp.absolute_distance(T=dp.u32))
    total = sum(exact.values())
    measurement = dp.m.make_alp_queryable(*space, scale=1.0, total_limit=total, value_limit=1000)
    before, began = resident(), time.process_time()
    embedded = measurement(exact)
    took, grown = time.process_time() - began, resident() - before
    asked, began = [*exact][:: max(1, keys // looked)][:looked], time.process_time()
    found = [embedded(key) for key in asked]
    read = time.process_time() - began
    return [
        took,
        sum(abs(value - exact[key]) for key, value in zip(asked, found, strict=True)) / len(asked),
        read,
        grown,
    ]


def diffprivlib_noise(size: int, scale: float) -> float:
    """Geometric noise on each count, truncated to 0..1000."""
    from diffprivlib.mechanisms import GeometricTruncated

    mechanism = GeometricTruncated(epsilon=1 / scale, sensitivity=1, lower=0, upper=1000, random_state=None)
    exact = counts(size).tolist()
    began = time.process_time()
    np.array([mechanism.randomise(count) for count in exact])
    return time.process_time() - began


def opendp_single_draws(size: int, scale: float) -> list[list[int]]:
    """The nanoseconds of each of `size` single draws, and the size of its noise."""
    measurement = opendp_laplace(scale, False)
    clock, times, noise = time.perf_counter_ns, [], []
    for _ in range(size):
        began = clock()
        noisy = measurement(500_000)
        times.append(clock() - began)
        noise.append(abs(noisy - 500_000))
    return [times, noise]


def opendp_vectors(size: int, bins: int, scale: float) -> list[list[int]]:
    """The nanoseconds of each of `size` noisy vectors, the sum and the maximum of the size of its noise."""
    measurement, exact = opendp_laplace(scale, True), np.full(bins, 500_000)
    clock, times, sums, maxima = time.perf_counter_ns, [], [], []
    for _ in range(size):
        began = clock()
        noisy = measurement(exact)
        times.append(clock() - began)
        noise = np.abs(np.asarray(noisy) - 500_000)
        sums.append(int(noise.sum()))
        maxima.append(int(noise.max()))
    return [times, sums, maxima]


JOBS: dict[str, Callable[..., Any]] = {
    job.__name__: job
    for job in (
        opendp_noise,
        opendp_gaussian,
        opendp_threshold,
        opendp_top_k,
        opendp_consistent_tree,
        opendp_alp,
        diffprivlib_noise,
        opendp_single_draws,
        opendp_vectors,
    )
}

if __name__ == "__main__":
    for line in sys.stdin:
        asked = json.loads(line)
        print(json.dumps(JOBS[asked["job"]](**asked["arguments"])), flush=True)
