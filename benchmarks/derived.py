"""A question that nobody planned, to a release of 2,000 bins: any subset, any range, all ranges at once, two answers.

Caches between questions are emptied before each round, so that every line is that of a first question.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

import dpviz as dv
from benchmarks.measured import Measured, cpu_seconds, interleave, ms
from dpviz.fitting import lattice, sums
from dpviz.model import either, sum_errors
from dpviz.model.answers import Table
from dpviz.model.question import Question
from dpviz.model.release import Release

SIZE, ROUNDS = 2_000, 9
ALLOWED = 0.05
"""Seconds for a sum over any subset."""


def table(size: int = SIZE, rounds: int = ROUNDS) -> list[Measured]:
    subset = [int(label) for label in np.random.default_rng(1).permutation(size)[: size // 2]]
    clamped, other = drawn(size, clamp=True), drawn(size, clamp=False)
    both = dv.combine(clamped, other)
    asked: dict[str, Callable[[], object]] = {
        f"a sum over {len(subset):,} of {size:,} bins": lambda: clamped.sum(subset),
        "the same, unclamped": lambda: other.sum(subset),
        f"a sum over all {size:,} bins": lambda: clamped.sum(),
        "a range": lambda: clamped.range(0, size // 2),
        "a difference of two halves": lambda: other.difference(range(size // 2), range(size // 2, size)),
        "a sum over the same subset of two answers": lambda: both.sum(subset),
        "a share, by inversion": lambda: other.share(subset),
        f"all cumulative shares of {size:,} bins": lambda: other.cumulative(),
        "the same of two answers": lambda: both.cumulative(),
    }
    found = interleave({what: first(ask) for what, ask in asked.items()}, rounds)
    limited = [what for what in asked if what.startswith(("a sum over", "the same, un"))]
    return [
        Measured(what, ms(seconds), ms(ALLOWED), seconds <= ALLOWED) if what in limited else Measured(what, ms(seconds))
        for what, seconds in found.items()
    ]


def drawn(size: int, *, clamp: bool) -> Release:
    bound = dv.Dense("1/10", clamp=clamp).bind(Question.of(dv.Domain.integers(0, size - 1, column="x")), dv.Unit())
    counts = np.random.default_rng(2).integers(0 if clamp else -30, 500, size)
    return Release.of(bound, Table(counts), mode="exact", randomness="none", dataset="made up")


def first(ask: Callable[[], object]) -> Callable[[], float]:
    """The seconds of a question that nobody has asked before."""

    def once() -> float:
        for kept in (sum_errors._quantile, sum_errors._far, either._both_far, sums._spectrum_of, lattice.fixed):
            kept.cache_clear()
        return cpu_seconds(ask)

    return once
