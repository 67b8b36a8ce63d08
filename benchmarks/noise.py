"""The noise kernel: draw noise for a million counts, add it, clamp to 0..1000. Processor time of one core.

OpenDP and diffprivlib draw fewer counts, in proportion to what they manage in a second; rates are per count.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from benchmarks.measured import Measured, cpu_seconds, interleave, millions, ms
from benchmarks.peers import peers
from dpviz.exact import Decay
from dpviz.noise.bits import SystemBits
from dpviz.noise.finite import FiniteSampler, paper_base, truncation
from dpviz.noise.geometric import two_sided_geometric

SIZE, ROUNDS = 1_000_000, 15
PEER_SIZES = {"opendp_noise": 50_000, "diffprivlib_noise": 20_000}
EPSILONS = (Fraction(1), Fraction(1, 10), Fraction(1, 100), Fraction(1, 1000), Fraction(1, 10_000))


def decay_of(epsilon: Fraction) -> Decay:
    """Under replace-one a row moves two counts, so each count gets half of epsilon."""
    return Decay.exp(epsilon / 2)


def exact(size: int) -> NDArray[np.int64]:
    return np.arange(size, dtype=np.int64) % 1000


def ours(epsilon: Fraction, size: int) -> float:
    sampler, bits, counts = two_sided_geometric(decay_of(epsilon)), SystemBits(), exact(size)
    return cpu_seconds(lambda: sampler.add(counts, 0, 1000, bits))


def finite(kind: str, size: int, n: int = 1_000_000) -> float:
    """The rational laws at epsilon 1/10, the paper's base, drawn in exact mode."""
    p, q = paper_base(10)
    t = truncation(n, 2**30, p, q, rule="tight")
    sampler = FiniteSampler(n, p, q, kind, 2**30, t)  # type: ignore[arg-type]
    counts = exact(size)
    return cpu_seconds(lambda: sampler.add(counts, SystemBits(), mode="exact"))


def numpy_difference(epsilon: Fraction, size: int, generator: np.random.Generator) -> float:
    """The same work without privacy: floats decide, and the generator can be predicted."""
    p, counts = -np.expm1(-float(epsilon) / 2), exact(size)

    def work() -> None:
        noisy = generator.geometric(p, size)
        noisy -= generator.geometric(p, size)
        noisy += counts
        np.clip(noisy, 0, 1000, out=noisy)

    return cpu_seconds(work)


def build(epsilon: Fraction) -> float:
    """From a decay to tables ready for a large vector."""

    def work() -> None:
        two_sided_geometric.cache_clear()
        for part in two_sided_geometric(decay_of(epsilon)).parts:
            part.prepare()

    return cpu_seconds(work)


def table(size: int = SIZE, peer_sizes: Mapping[str, int] = PEER_SIZES, rounds: int = ROUNDS) -> list[Measured]:
    tenth, generator = Fraction(1, 10), np.random.default_rng()
    scale = float(2 / tenth)
    times = interleave(
        {
            "ours": lambda: ours(tenth, size) / size,
            "numpy": lambda: numpy_difference(tenth, size, generator) / size,
            **{
                job: lambda job=job, few=few: peers().ask(job, size=few, scale=scale) / few  # type: ignore[misc]
                for job, few in peer_sizes.items()
            },
        },
        rounds,
    )
    rate = {name: 1 / seconds for name, seconds in times.items()}
    against_opendp, against_numpy = rate["ours"] / rate["opendp_noise"], rate["ours"] / rate["numpy"]
    lines = [
        Measured("noise, add, clamp at epsilon 1/10", millions(rate["ours"]), "40 M/s", rate["ours"] >= 40e6),
        Measured("OpenDP make_laplace and clip", millions(rate["opendp_noise"])),
        Measured("dpviz against OpenDP", f"{against_opendp:.0f} times", "250 times", against_opendp >= 250),
        Measured("diffprivlib GeometricTruncated", millions(rate["diffprivlib_noise"])),
        Measured("NumPy rng.geometric difference (not private)", millions(rate["numpy"])),
        Measured("dpviz against NumPy", f"{against_numpy:.2f} times", "1.2 times", against_numpy >= 1.2),
    ]
    rates = interleave({str(epsilon): lambda e=epsilon: ours(e, size) for epsilon in EPSILONS}, rounds)  # type: ignore[misc]
    for name, seconds in rates.items():
        lines.append(
            Measured(f"noise, add, clamp at epsilon {name}", millions(size / seconds), "20 M/s", size / seconds >= 20e6)
        )
    builds = interleave({str(epsilon): lambda e=epsilon: build(e) for epsilon in EPSILONS}, rounds)  # type: ignore[misc]
    for name, seconds in builds.items():
        lines.append(Measured(f"build the tables for epsilon {name}", ms(seconds), "10 ms", seconds <= 0.010))
    kinds = interleave({kind: lambda k=kind: finite(k, size) for kind in ("geosample", "fastsample")}, rounds)  # type: ignore[misc]
    for name, seconds in kinds.items():
        lines.append(Measured(f"{name} in exact mode, epsilon 1/10", millions(size / seconds)))
    return lines
