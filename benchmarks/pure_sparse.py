"""PureSparse over 2^64 labels at epsilon 1, from occupied bins and their counts to the answer: processor time.

Half of the n rows lie in bins of their own, the other half in n/200 bins of 100; n is public. The law is KeepHeavy's,
exactly. Strict mode is the paper's approximate order statistics, literally.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from benchmarks.measured import Measured, cpu_seconds, interleave, ms
from dpviz.mechanisms import PureSparse
from dpviz.model.domain import Domain
from dpviz.model.mechanism import Mode
from dpviz.model.question import Question
from dpviz.model.statistic import SparseCounts
from dpviz.noise.bits import SystemBits, TeachingBits
from dpviz.noise.order import outside
from dpviz.privacy.unit import Unit

ROUNDS = 7
ALLOWED = {1_000: None, 10_000: None, 100_000: 0.1, 1_000_000: 1.0}
STRICT = ((100, 2**20), (100, 2**64), (300, 2**20))


def counted(n: int, size: int) -> SparseCounts:
    """Public counts of n rows: n/2 bins of one row, n/200 bins of a hundred."""
    counts = np.concatenate((np.ones(n // 2, dtype=np.int64), np.full(max(1, n // 200), 100, dtype=np.int64)))
    labels, places = outside(counts.size, np.zeros(0, dtype=np.uint64), size, TeachingBits(1))
    return SparseCounts(labels, counts[places])


def seconds(n: int, size: int, mode: Mode, mechanism: PureSparse) -> float:
    question = Question.of(Domain.integers(0, size - 1, column="key"))
    bound = mechanism.bind(question, Unit(relation="replace-one", n=n))
    private = counted(n, size)
    return cpu_seconds(lambda: bound.draw(private, SystemBits(), mode=mode))


def table(
    allowed: Mapping[int, float | None] = ALLOWED,
    strict: Sequence[tuple[int, int]] = STRICT,
    rounds: int = ROUNDS,
) -> list[Measured]:
    times = interleave(
        {str(n): lambda n=n: seconds(n, 2**64, "exact", PureSparse(1)) for n in allowed},  # type: ignore[misc]
        rounds,
    )
    lines = []
    for n, most in allowed.items():
        found = times[str(n)]
        what = f"exact, n = {n:,}"
        lines.append(
            Measured(what, ms(found))
            if most is None
            else Measured(what, ms(found), f"{most * 1000:.0f} ms", found <= most)
        )
    few, many = list(times.values())[-2:]
    growth = many / few
    lines.append(Measured("exact, ten times the rows", f"{growth:.1f} times", "20 times", growth <= 20))
    for n, size in strict:
        found = seconds(n, size, "strict", PureSparse(1, base="tight"))
        lines.append(Measured(f"strict, n = {n}, 2^{size.bit_length() - 1} labels", ms(found)))
    return lines
