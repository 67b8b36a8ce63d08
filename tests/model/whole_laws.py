"""Whole laws of small answers, enumerated from their definitions, and how often an interval misses the truth.

Chances are whole numbers of 2**-BITS, rounded down; what is missing counts as a miss.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np

import dpviz as dv
from dpviz.exact import Decay
from dpviz.model.answers import Answer, Table
from dpviz.model.mechanism import Bound
from dpviz.model.release import Release

BITS = 100
ALL = 1 << BITS

Law = Mapping[Any, int]
"""An outcome to its chance."""


@cache
def noise(decay: Decay, reach: int = 40) -> dict[int, int]:
    """Pr[Z = z], proportional to y**|z|."""
    low, high = decay.bounds(300)
    lead = (1 - high) / (1 + high)
    return {z: chance for z in range(-reach, reach + 1) if (chance := int(lead * low ** abs(z) * ALL))}


def clamped(count: int, law: Law, low: int | None, high: int | None) -> dict[int, int]:
    """The law of a noisy count that is clamped to low..high."""
    found: dict[int, int] = {}
    for z, chance in law.items():
        value = count + z
        value = value if low is None else max(low, value)
        value = value if high is None else min(high, value)
        found[value] = found.get(value, 0) + chance
    return found


def fast(count: int, n: int, t: int, g: int, decay: Decay) -> dict[int, int]:
    """FastSample: noise beyond t is 0 instead, clamped to 0..n; once in g times the count is uniform on 0..n."""
    law = noise(decay)
    kept = {z: chance for z, chance in law.items() if abs(z) <= t}
    kept[0] += sum(law.values()) - sum(kept.values())
    found = {value: chance * (g - 1) // g for value, chance in clamped(count, kept, 0, n).items()}
    for value in range(n + 1):
        found[value] = found.get(value, 0) + ALL // g // (n + 1)
    return found


def joint(laws: Sequence[Law]) -> Iterator[tuple[tuple[Any, ...], int]]:
    """Independent outcomes together."""
    for outcomes in itertools.product(*(law.items() for law in laws)):
        chance = ALL
        for _, part in outcomes:
            chance = chance * part >> BITS
        if chance:
            yield tuple(value for value, _ in outcomes), chance


def release_of(bound: Bound, answer: Answer) -> Release:
    """A release as its ledger holds it."""
    return Release.of(bound, answer, mode="exact", randomness="none", dataset="made up").confirmed()


def table(bound: Bound, values: Sequence[int]) -> Release:
    return release_of(bound, Table(np.array(values, dtype=np.int64)))


Ask = Callable[[Any], Any]
"""From an outcome to what is derived from it."""


def misses(law: Iterator[tuple[Any, int]], ends: Callable[[Any], tuple[Any, Any]], truth: Fraction | int) -> Fraction:
    """How often an interval misses the truth, at most."""
    held = 0
    for outcome, chance in law:
        low, high = ends(outcome)
        if (low is None or low <= truth) and (high is None or truth <= high):
            held += chance
    return 1 - Fraction(held, ALL)


def bins(size: int) -> dv.Question:
    return dv.Question.of(dv.Domain.integers(0, size - 1, column="x"))
