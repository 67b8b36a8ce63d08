"""Drawing records: one label of 2^64, a row of a thousand bits, and the discrete Gaussian noise that the second needs.

Noise is processor time of one core; OpenDP draws fewer counts, in proportion to what it manages in a second, and rates
are per count. Records are wall time; the row of bits is measured in a process of its own, whose memory is its peak, the
packed table of a million rows included. Public synthetic data.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from fractions import Fraction
from pathlib import Path

import numpy as np

from benchmarks.measured import Measured, cpu_seconds, interleave, millions, most_memory
from benchmarks.peers import peers
from dpviz.exact import Decay
from dpviz.laws.product import Rounds, beta_for
from dpviz.noise.bits import SystemBits
from dpviz.noise.category import pick, pick_one, weights
from dpviz.noise.gaussian import discrete_gaussian
from dpviz.noise.product import draw_rows, noisy_means

ROOT = Path(__file__).resolve().parent.parent
SIZE, PEER_SIZE, ROUNDS = 1_000_000, 10_000, 9
DEVIATIONS = (10, 1000, 1_000_000)
PEOPLE, COLUMNS = 1_000_000, 1000
GIBIBYTE = 1 << 30


def ours(deviation: int, size: int) -> float:
    sampler, bits = discrete_gaussian(Fraction(deviation) ** 2), SystemBits()
    return cpu_seconds(lambda: sampler.draw(size, bits))


def one_label(people: int) -> float:
    """One record out of 2^64 labels, where every person has a label of their own."""
    counts, began = np.ones(people, dtype=np.int64), time.perf_counter()
    pick_one(counts, 2**64 - people, Decay.exp(Fraction(1, 2)), SystemBits())
    return time.perf_counter() - began


def many_labels(labels: int) -> float:
    """All weights of so many labels, and one record from them."""
    counts, bits, began = np.arange(labels, dtype=np.int64) % 1000, SystemBits(), time.perf_counter()
    pick(weights(counts, Decay.exp(Fraction(1, 2)), bits), bits)
    return time.perf_counter() - began


def row_of_bits(people: int, columns: int, noise: str) -> dict[str, float]:
    """Seconds for all noisy means and one record, and the peak memory of this process in bytes."""
    random = np.random.default_rng(1)
    rows = random.integers(0, 256, (people, -(-columns // 8)), dtype=np.uint8)
    rows &= random.integers(0, 256, rows.shape, dtype=np.uint8)  # a quarter of the bits are 1
    plan = Rounds(columns, people, Fraction(1, 2), beta_for(Fraction(1, 10), columns), noise)  # type: ignore[arg-type]
    bits, began = SystemBits(), time.perf_counter()
    means = noisy_means(rows, plan, bits)
    draw_rows(means.sums, means.one, means.flipped, 1, bits)
    seconds = time.perf_counter() - began
    return {"seconds": seconds, "bytes": most_memory()}


def alone(people: int, columns: int, noise: str) -> dict[str, float]:
    """The same in a process of its own."""
    command = [sys.executable, "-m", "benchmarks.sampling", str(people), str(columns), noise]
    done = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True)
    found: dict[str, float] = json.loads(done.stdout)
    return found


def table(
    size: int = SIZE,
    peer_size: int = PEER_SIZE,
    people: int = PEOPLE,
    columns: int = COLUMNS,
    rounds: int = ROUNDS,
) -> list[Measured]:
    lines = []
    for deviation in DEVIATIONS:
        times = interleave(
            {
                "ours": lambda deviation=deviation: ours(deviation, size) / size,  # type: ignore[misc]
                "theirs": lambda deviation=deviation: (  # type: ignore[misc]
                    peers().ask("opendp_gaussian", size=peer_size, scale=float(deviation)) / peer_size
                ),
            },
            rounds,
        )
        against, named = times["theirs"] / times["ours"], f"standard deviation {deviation:,}"
        lines += [
            Measured(f"discrete Gaussian, {named}", millions(1 / times["ours"])),
            Measured(f"OpenDP make_gaussian, {named}", millions(1 / times["theirs"])),
            Measured(f"dpviz against OpenDP, {named}", f"{against:.0f} times", "100 times", against >= 100),
        ]
    drawn = interleave(
        {
            "one": lambda: one_label(people),
            **{str(few): lambda few=few: many_labels(few) for few in (1000, people)},  # type: ignore[misc]
        },
        rounds,
    )
    one = drawn.pop("one")
    lines.append(Measured(f"one label of 2^64, {people:,} people", f"{one:.3f} s", "1 s", one <= 1))
    lines += [Measured(f"one label of {int(few):,}", f"{seconds:.4f} s") for few, seconds in drawn.items()]
    for noise in ("repaired", "tight"):
        found = alone(people, columns, noise)
        named = f"a row of {columns:,} bits, {people:,} people, {noise}"
        lines += [
            Measured(named, f"{found['seconds']:.2f} s", "10 s", found["seconds"] <= 10),
            Measured(f"{named}: memory", f"{found['bytes'] / GIBIBYTE:.2f} GiB", "1 GiB", found["bytes"] <= GIBIBYTE),
            Measured(f"{named}: throughput", f"{people * columns / found['seconds'] / 1e6:.0f} million bits/s"),
        ]
    return lines


if __name__ == "__main__":
    print(json.dumps(row_of_bits(int(sys.argv[1]), int(sys.argv[2]), sys.argv[3])))
