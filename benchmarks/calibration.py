"""How long the search for noise takes, and the exact composition of a fixed list, in processor time.

Each calibration is made three times, with nothing remembered of the last, and its median is taken. The slowest is told,
and the median of all. Bins are those that a user is in, of any number of others.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterable, Sequence
from fractions import Fraction
from functools import _lru_cache_wrapper, partial
from statistics import median

import dpviz as dv
from benchmarks.measured import Measured
from dpviz.model.question import Question
from dpviz.privacy.loss_distribution import GeometricMoves, compose_fixed

LARGE = ("1/10", "1/7", "1/4", "1/2", "3/4", "1", "3/2", "2", "3", "5", "10")
SMALL = ("1/1000", "1/700", "1/300", "1/100", "1/50", "1/20")
DELTAS, BINS, RELATIONS = ("1e-9", "1e-6", "1e-5"), (1, 3, 10, 100), ("add-remove", "replace-one")
FIRST = "22/7"
"""An epsilon of no row, for what loads at the first call."""

AT_LARGE, AT_SMALL, OF_LIST = 0.005, 0.3, 0.5
"""Seconds that a calibration may take, from epsilon 1/10 on and below, and that 1,000 equal steps may take."""


def table(
    large: Sequence[str] = LARGE, small: Sequence[str] = SMALL, bins: Sequence[int] = BINS, steps: int = 1000
) -> list[Measured]:
    dv.Dense(FIRST, base="gaussian", delta="1e-6").bind(*asked(1, RELATIONS[0]))
    found = []
    for told, epsilons, allowed in (("from 1/10 on", large, AT_LARGE), ("from 1/1000 on", small, AT_SMALL)):
        taken = [
            seconds(partial(dv.Dense(epsilon, base="gaussian", delta=delta).bind, *asked(number, relation)))
            for epsilon in epsilons
            for delta in DELTAS
            for number in bins
            for relation in RELATIONS
        ]
        found.append(within(f"Gaussian noise, epsilon {told}: the slowest of {len(taken)}", max(taken), allowed))
        found.append(Measured(f"Gaussian noise, epsilon {told}: the median", milliseconds(median(taken))))
    return [*found, *lists(steps)]


def asked(bins: int, relation: str) -> tuple[Question, dv.Unit]:
    """Return a question over twice as many bins as a user is in, and the user."""
    question = Question.of(dv.Domain.integers(0, 2 * bins - 1, column="x"))
    return question, dv.Unit("user", max_bins=bins, relation=relation)


def lists(steps: int, counts: Iterable[int] = (1, 10)) -> list[Measured]:
    found = []
    for number in counts:
        pair = GeometricMoves(Fraction(1, 10 * number), 1, number)
        taken = seconds(partial(compose_fixed, {pair: steps}, Fraction("1e-6")))
        found.append(within(f"{steps:,} equal steps of 1/10, each over {number} bins", taken, OF_LIST))
    return found


def seconds(work: Callable[[], object], times: int = 3) -> float:
    found = []
    for _ in range(times):
        forget()
        began = time.process_time()
        work()
        found.append(time.process_time() - began)
    return median(found)


def forget() -> None:
    """Empty what prices and distributions remember."""
    for name, module in list(sys.modules.items()):
        if name.startswith(("dpviz.privacy", "dpviz.laws", "dpviz.exact")):
            for made in vars(module).values():
                if isinstance(made, _lru_cache_wrapper):
                    made.cache_clear()


def milliseconds(taken: float) -> str:
    return f"{1000 * taken:.1f} ms"


def within(what: str, taken: float, allowed: float) -> Measured:
    return Measured(what, milliseconds(taken), milliseconds(allowed), taken <= allowed)
