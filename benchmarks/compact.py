"""Compact over all 64-bit labels: build, 10,000 look-ups together, space. Processor time of one core.

Under replace-one of n rows, half of the bins that can be occupied are. The field and the sampler are chosen by the
smaller d; the printed case is GeoSample modulo 2^2203 - 1. Where look-ups take seconds, fewer are made and multiplied.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

import dpviz as dv
from benchmarks.measured import Measured, cpu_seconds, interleave
from dpviz.mechanisms.compact import CompactBound
from dpviz.model.answers import CompactTable
from dpviz.model.question import Question
from dpviz.model.statistic import SparseCounts
from dpviz.noise.bits import SystemBits

LABELS = dv.Domain.integers(0, 2**64 - 1, column="key")
READ, ROUNDS, SIZES = 10_000, 5, (100, 300, 1000, 3000)


def bound(n: int, mechanism: dv.Compact) -> CompactBound:
    made = mechanism.bind(Question.of(LABELS), dv.Unit("row", relation="replace-one", n=n))
    made.empty.thresholds  # noqa: B018 - the prime and the thresholds are found before a release is paid
    return made


def data(n: int) -> SparseCounts:
    """Two rows in each of n/2 bins."""
    labels = np.arange(n // 2, dtype=np.uint64) * np.uint64((2**64 - 1) // n)
    return SparseCounts(labels, np.full(n // 2, 2, dtype=np.int64))


def draw(made: CompactBound) -> CompactTable:
    return made.draw(data(made.n), SystemBits(), mode="exact")


def build(made: CompactBound) -> float:
    return cpu_seconds(lambda: draw(made))


def read(answer: CompactTable, count: int, as_if: int = READ) -> float:
    """Seconds of `as_if` look-ups, by so many."""
    points = (np.arange(count, dtype=np.uint64) * np.uint64(1844674407370955)).tolist()
    return cpu_seconds(lambda: answer.many(points)) * as_if / count


def seconds(found: float) -> str:
    return f"{found:.3g} s"


def table(n: int = 1000, sizes: Sequence[int] = SIZES, count: int = READ, rounds: int = ROUNDS) -> list[Measured]:
    lines = []
    chosen = bound(n, dv.Compact(epsilon=1))
    printed = bound(n, dv.Compact(epsilon=1, sampler="geosample", field="mersenne"))
    answers = {"chosen": draw(chosen), "printed": draw(printed)}
    times = interleave(
        {
            "chosen build": lambda: build(chosen),
            "chosen look-ups": lambda: read(answers["chosen"], count),
            "printed build": lambda: build(printed),
            "printed look-ups": lambda: read(answers["printed"], count),
        },
        rounds,
    )
    allowed = {"chosen build": 0.15, "chosen look-ups": 0.5, "printed build": 0.4, "printed look-ups": 1.0}
    for name, most in allowed.items():
        what, field = name.split(" ", 1)[1], chosen if name.startswith("chosen") else printed
        where = f"n = {n:,}, epsilon 1, {field.design.bits:,} bits"
        lines.append(Measured(f"{what}, {where}", seconds(times[name]), f"{most} s", times[name] <= most))
    kib = chosen.space.bits / 8 / 1024
    lines.append(Measured(f"space, n = {n:,}, epsilon 1", f"{kib:.1f} KiB", "40 KiB", kib <= 40))
    for epsilon in ("1", "0.1"):
        for size in sizes:
            made = bound(size, dv.Compact(epsilon=epsilon))
            answer = draw(made)
            built = build(made)
            found = read(answer, count if not made.cost.slow else min(count, 500))
            said = f"{built:.3g} s, {found:.3g} s, {made.space.bits / 8 / 1024:,.1f} KiB"
            warned = "said to be slow" if made.cost.slow else ""
            what = f"build, look-ups, space: n = {size:,}, epsilon {epsilon}, {made.design.bits:,} bits"
            lines.append(Measured(what, said, warned, made.cost.slow or found < 2.5))
    return lines
