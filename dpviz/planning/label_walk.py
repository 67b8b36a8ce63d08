"""Labels drawn by a sampler of bits, step by step: the walk-through's part of the sampling sheet.

Seven labels: a special one with the chance 7/10, three with 1/10 each, and three that never occur. Made-up people; the
reduction is `sampling/reduction.py`, its sampler of bits that of SampleProduct, both run with teaching bits. The error
of each step, on average over people and noise, is computed from its law. Nothing here is private. Source:
Raskhodnikova, Sivakumar, Smith, Swanberg 2021, Algorithms 4 to 8, Theorem 5.9, as repaired.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from fractions import Fraction
from functools import lru_cache
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from dpviz.exact import figures_up, text
from dpviz.laws.product import Rounds, beta_for, column_error, naive_deviation, product_distance
from dpviz.noise.bits import Bits, TeachingBits
from dpviz.noise.product import Means, draw_rows, noisy_means
from dpviz.noise.simulated import uniform
from dpviz.privacy.renyi import rho_for
from dpviz.sampling.reduction import Reduction, label_distance

K = 3
NAMES: Final = tuple("ABCDEFG")
SPECIAL, HOLDERS = 2, (0, 3, 5)
"""The special label, and those that have a share of what is left."""

ALPHA, EPSILON, DELTA = Fraction(1, 200), Fraction(2), Fraction(1, 10**6)
CROWDS: Final = (400, 1000, 2000, 5000)
"""People on average. Fewer than 400 leave no rows."""

ROWS = 8
"""Rows of bits that are shown."""


def plan_for(crowd: int) -> Reduction:
    return Reduction(K, ALPHA, crowd, EPSILON, DELTA)


def true_chances(a: Fraction) -> list[Fraction]:
    """The chance of each label among the people."""
    return [1 - a if label == SPECIAL else a / K if label in HOLDERS else Fraction(0) for label in range(2 * K + 1)]


def biases(a: Fraction) -> NDArray[np.float64]:
    """The chance of a 1 in each column of bits: that of its label, without the special one."""
    return np.array([float(p) for label, p in enumerate(true_chances(a)) if label != SPECIAL])


@lru_cache(maxsize=64)
def people(crowd: int, seed: int) -> tuple[int, ...]:
    """The labels of a Poisson number of people."""
    from scipy.stats import poisson

    first = float(uniform(1, 1, seed)[0, 0])
    size = int(poisson.ppf(first, crowd))
    ends = np.cumsum([float(p) for p in true_chances(plan_for(crowd).a)])
    return tuple(np.searchsorted(ends, uniform(1, size, seed + 1)[0], side="right").clip(max=2 * K).tolist())


class BitSampler:
    """The sampler of bits of one run, and the noisy shares that it drew from."""

    def __init__(self, rho: Fraction) -> None:
        self.rho = rho
        self.means: Means | None = None

    def __call__(self, table: NDArray[np.uint8], bits: Bits) -> Sequence[int]:
        rows, columns = table.shape
        schedule = Rounds(columns, rows, self.rho, beta_for(ALPHA, columns))
        self.means = noisy_means(np.packbits(table, axis=1), schedule, bits)
        row: list[int] = draw_rows(self.means.sums, self.means.one, self.means.flipped, 1, bits)[0].tolist()
        return row


def label_law(chances: NDArray[np.float64]) -> list[float]:
    """The law of the label that is drawn from independent bits with these chances, by all rows of bits.

    >>> [round(chance, 6) for chance in label_law(np.array([0.1, 0, 0.1, 0, 0.1, 0]))]
    [0.090333, 0.0, 0.729, 0.090333, 0.0, 0.090333, 0.0]
    """
    others = [label for label in range(chances.size + 1) if label != SPECIAL]
    law = [0.0] * (chances.size + 1)
    for row in itertools.product((0, 1), repeat=chances.size):
        chance = math.prod(p if bit else 1 - p for p, bit in zip(chances.tolist(), row, strict=True))
        ones = [label for label, bit in zip(others, row, strict=True) if bit]
        for label in ones or [SPECIAL]:
            law[label] += chance / max(1, len(ones))
    return law


@lru_cache(maxsize=16)
def steps_off(crowd: int) -> dict[str, Any]:
    """The total variation error of each step, on average over people and noise: what the bars show.

    missed  the chance that the special label is not found, from above: too few records to look at, or another label
            wins, by Markov's inequality
    bits    the product sampler, exactly but for floats; on a Poisson number of people its rows are independent
    map     from bits of the right law to labels, exactly
    label   the drawn label, where the special one was found
    """
    from scipy.stats import poisson

    plan = plan_for(crowd)
    mean = float(plan.share * crowd)
    tilt, expected = float(plan.epsilon) / 4, [mean * float(p) for p in true_chances(plan.a)]
    too_few = float(poisson.cdf(math.ceil(plan.few) - 1, mean))
    others = (
        math.exp(expected[SPECIAL] * math.expm1(-tilt) + expected[label] * math.expm1(tilt))
        for label in range(2 * K + 1)
        if label != SPECIAL
    )
    rho, right = rho_for(*plan.inside), biases(plan.a)
    deviation = naive_deviation(2 * K, plan.rows, rho)
    drawn = np.array([p + column_error(p, plan.rows, deviation) for p in right.tolist()])  # below 1/2: pushed up
    truth, law = [float(p) for p in true_chances(plan.a)], label_law(drawn)
    return {
        "missed": figures_up((too_few + sum(others)) * (1 + 1e-9), 3),
        "bits": _four(product_distance(drawn, right)[1]),
        "map": _four(float(label_distance(K, plan.a))),
        "label": _four(sum(abs(p - q) for p, q in zip(truth, law, strict=True)) / 2),
        "law": [_four(chance) for chance in law],
    }


@lru_cache(maxsize=64)
def walk(crowd: int, seed: int) -> dict[str, Any]:
    """One run with all its steps, as the page gets it.

    >>> found = walk(400, 1)
    >>> sum(found["people"]), found["special"], len(found["hits"]), len(found["row"])
    (400, 2, 8, 6)
    """
    plan, records = plan_for(crowd), people(crowd, seed)
    sampler = BitSampler(rho_for(*plan.inside))
    found = plan.walk(records, sampler, TeachingBits(seed))
    looked = np.array(found.looked_at)
    tilted = np.exp(float(plan.epsilon) / 4 * (looked - looked.max()))
    said = {
        "people": np.bincount(records, minlength=2 * K + 1).tolist(),
        "looked": found.looked_at,
        "chances": [_four(chance) for chance in (tilted / tilted.sum()).tolist()],
        "special": found.special,
        "label": found.label,
    }
    empty: dict[str, Any] = {"rows": 0, "hits": [], "bits": [], "hit": [], "ones": [], "shares": [], "row": []}
    if found.cells is None or found.table is None or found.row is None or sampler.means is None:
        return said | empty
    return said | {
        "rows": len(found.table),
        "hits": ["".join(map(str, row)) for row in found.cells[:ROWS].tolist()],
        "bits": ["".join(map(str, row)) for row in found.table[:ROWS].tolist()],
        "hit": found.cells.sum(axis=0).tolist(),
        "ones": found.table.sum(axis=0).tolist(),
        "shares": [_four(share) for share in (sampler.means.sums / sampler.means.one).tolist()],
        "row": list(found.row),
    }


def walks(crowds: Sequence[int], seeds: Sequence[int]) -> dict[str, Any]:
    """All runs that a sheet carries, by number of people and seed."""
    a = plan_for(CROWDS[0]).a
    return {
        "names": list(NAMES),
        "special": SPECIAL,
        "truth": [float(p) for p in true_chances(a)],
        "a": text(a),
        "epsilon": text(EPSILON),
        "delta": text(DELTA),
        "runs": [[walk(crowd, seed) for seed in seeds] for crowd in crowds],
        "off": [steps_off(crowd) for crowd in crowds],
    }


def _four(value: float) -> float:
    """In four figures, for pictures."""
    return float(f"{value:.4g}")
