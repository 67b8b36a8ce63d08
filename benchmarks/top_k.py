"""The ranked list of the 100 largest of many counts, at epsilon 1/10 for each item. Processor time of one core.

Three sets of counts: uniform on 0..999, a power law floor(10^6 / r^1.1), and all equal. NumPy draws Gumbel noise in
doubles, which protects nobody, and sorts what `argpartition` leaves. OpenDP's `make_noisy_top_k` with Gumbel noise
gets a list, as it takes it; its time depends on the counts most, so it ranks fewer where they follow a power law. None
of them has a bottom symbol.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from fractions import Fraction
from functools import partial

import numpy as np
from numpy.typing import NDArray

from benchmarks.measured import Measured, cpu_seconds, interleave, ms
from benchmarks.peer_jobs import scores
from benchmarks.peers import peers
from dpviz.noise.bits import SystemBits
from dpviz.noise.peeling import Bottom
from dpviz.noise.race import rank

K, RATE, SCALE = 100, Fraction(1, 10), 10.0
LARGE, SMALL = 100_000, 5_000
KINDS = ("uniform", "power law", "all equal")
ROUNDS, PEER_ROUNDS, STARTS = 101, 5, 7
FIRST = """
import time
import numpy as np
from fractions import Fraction
from dpviz.noise.bits import SystemBits
from dpviz.noise.race import rank
counts = np.arange(100_000, dtype=np.int64) * 7919 % 1000
began = time.perf_counter()
rank(counts, Fraction(1, 10), 100, SystemBits())
print(time.perf_counter() - began)
"""


def table(
    large: int = LARGE, small: int = SMALL, rounds: int = ROUNDS, peer_rounds: int = PEER_ROUNDS, starts: int = STARTS
) -> list[Measured]:
    return [*against_numpy(large, small, rounds), *against_opendp(large, small, peer_rounds), *starting(starts)]


def ours(counts: NDArray[np.int64]) -> Callable[[], float]:
    bits = SystemBits()
    return lambda: cpu_seconds(lambda: rank(counts, RATE, K, bits))


def numpy_gumbel(counts: NDArray[np.int64]) -> Callable[[], float]:
    """The same law but for its tails, from a generator that can be predicted."""
    generator = np.random.default_rng()

    def work() -> None:
        noisy = counts + generator.gumbel(scale=SCALE, size=counts.size)
        kept = np.argpartition(noisy, counts.size - K)[counts.size - K :]
        kept[np.argsort(-noisy[kept])]

    return lambda: cpu_seconds(work)


def against_numpy(large: int, small: int, rounds: int) -> list[Measured]:
    lines = []
    for size, most in ((large, 0.005), (small, 0.001)):
        for kind in KINDS:
            counts = scores(kind, size)
            found = interleave({"ours": ours(counts), "numpy": numpy_gumbel(counts)}, rounds)
            lines.append(Measured(f"top {K} of {size:,}, {kind}", ms(found["ours"]), ms(most), found["ours"] <= most))
            if size == large:
                ratio = found["ours"] / found["numpy"]
                lines.append(Measured("NumPy one-shot Gumbel (not private)", ms(found["numpy"])))
                lines.append(Measured("dpviz against NumPy", f"{ratio:.2f} times", "2.5 times", ratio <= 2.5))
    bits, bottom = SystemBits(), Bottom(int(scores("power law", 51)[50]) + 1, Fraction(50 * 10**8))
    few = scores("power law", 50)
    short = interleave({"ours": lambda: cpu_seconds(lambda: rank(few, RATE, 10, bits, bottom))}, rounds)
    lines.append(Measured("top 10 of 50 with a bottom symbol, power law", ms(short["ours"])))
    return lines


def against_opendp(large: int, small: int, rounds: int) -> list[Measured]:
    lines = []
    for kind, size in (("uniform", large), ("all equal", large), ("power law", small)):
        found = interleave(
            {
                "ours": ours(scores(kind, size)),
                "peer": partial(peers().ask, "opendp_top_k", kind=kind, size=size, k=K, scale=SCALE),
            },
            rounds,
        )
        times = found["peer"] / found["ours"]
        lines.append(Measured(f"OpenDP, top {K} of {size:,}, {kind}", ms(found["peer"])))
        lines.append(Measured("dpviz against OpenDP", f"{times:.0f} times", "10 times", times >= 10))
    return lines


def starting(starts: int) -> list[Measured]:
    """The first list of a fresh process: tables are made and everything is called for the first time. Wall time."""

    def once() -> float:
        done = subprocess.run([sys.executable, "-c", FIRST], check=True, capture_output=True, text=True)
        return float(done.stdout)

    found = interleave({"first": once}, starts)
    return [Measured(f"first top {K} of {LARGE:,} of a process", ms(found["first"]), "200 ms", found["first"] <= 0.2)]
