"""What one unit may contribute to some bins, enumerated from the limits as they are typed: nothing of the package's
sensitivities is used here."""

from __future__ import annotations

import itertools
import random
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpviz.privacy import Unit

Vectors = NDArray[np.int64]
"""One contribution in each row."""

MOST = 260
"""Most contributions that are enumerated: pairs are their square."""


@dataclass(frozen=True)
class Limits:
    """Limits of a unit as a person types them.

    row      whether it is a row
    swapped  whether one unit takes the place of another
    bins     max_bins, None for no limit
    each     max_per_bin
    records  max_records, None for no limit
    n        the public number of rows, for rows that are replaced
    """

    row: bool
    swapped: bool
    bins: int | None = 1
    each: int = 1
    records: int | None = None
    n: int | None = None

    def unit(self) -> Unit:
        relation: Any = "replace-one" if self.swapped else "add-remove"
        if self.row:
            return Unit("row", relation=relation, n=self.n)
        return Unit("user", relation=relation, max_bins=self.bins, max_per_bin=self.each, max_records=self.records)


def random_limits(chance: random.Random, bins: int, *, rows: float = 0.2, swapped: float = 0.5) -> Limits:
    """Limits whose contributions to these bins are few enough to be enumerated."""
    exchanged = chance.random() < swapped
    if chance.random() < rows:
        return Limits(True, exchanged, n=chance.randint(3, 9) if exchanged else None)
    while True:
        each = chance.choice((1, 1, 2, 2, 3))
        limits = Limits(
            False,
            exchanged,
            chance.choice((None, 1, 2, 3, bins, chance.randint(1, bins))),
            each,
            chance.choice((None, chance.randint(1, 1 + each * bins), chance.randint(each, 1 + each * bins))),
        )
        if len(contributions(limits, bins)) <= MOST:
            return limits


@lru_cache(maxsize=4096)
def contributions(limits: Limits, bins: int) -> Vectors:
    """Every vector of records that one unit may have in the bins, none at all included."""
    if limits.row:
        return np.vstack((np.zeros((1, bins), dtype=np.int64), np.eye(bins, dtype=np.int64)))
    most = bins if limits.bins is None else limits.bins
    every = itertools.product(range(limits.each + 1), repeat=bins)
    kept = [
        vector
        for vector in every
        if sum(part > 0 for part in vector) <= most and (limits.records is None or sum(vector) <= limits.records)
    ]
    return np.array(kept, dtype=np.int64)


@lru_cache(maxsize=1024)
def pairs(limits: Limits, bins: int) -> tuple[Vectors, Vectors]:
    """Contributions of the unit before and after, one pair in each row, in both orders."""
    alone = contributions(limits, bins)
    if limits.swapped:
        one, other = np.divmod(np.arange(len(alone) ** 2), len(alone))
        return alone[one], alone[other]
    nothing = np.zeros_like(alone)
    return np.vstack((alone, nothing)), np.vstack((nothing, alone))


@lru_cache(maxsize=1024)
def moves(limits: Limits, bins: int) -> Vectors:
    """Every way in which one unit moves the counts."""
    before, after = pairs(limits, bins)
    found: Vectors = np.unique(after - before, axis=0)
    return found


def valued(vectors: Vectors, low: int, high: int, chance: random.Random) -> Vectors:
    """The totals that a unit with these records may contribute where each record is worth low..high: ends, and some in
    between."""
    found = []
    for vector in vectors.tolist():
        for _ in range(3):
            found.append([count * chance.choice((low, high)) for count in vector])
        found.append([count * high for count in vector])
        found.append([count * low for count in vector])
        found.append([chance.randint(count * low, count * high) if count else 0 for count in vector])
    return np.unique(np.array(found, dtype=np.int64), axis=0)
