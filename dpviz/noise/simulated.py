"""Simulated lists and bits: seeded noise in floats, for pictures of public data that stand beside an exact law.

Nothing here can reach a ledger: a release is drawn with exact bits (`noise/race.py`, `noise/geometric.py`).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

ROWS = 64
"""Rows of noise that are drawn at once."""


def uniform(rows: int, runs: int, seed: int) -> Floats:
    """A table of numbers from 0 to 1, one row for each of some bits; the same for every setting."""
    return np.random.default_rng(seed).random((rows, runs))


class Noise:
    """Standard noise for simulated lists, the same for every setting, so that a picture moves and does not flicker.

    Seeded and in floats: no release is drawn with it.
    """

    def __init__(self, runs: int, seed: int = 0) -> None:
        self.runs = runs
        self.seed = seed
        self._drawn = np.zeros((2, 0, runs))

    def exponential(self, rows: int) -> tuple[Floats, Floats]:
        """Two tables of exponential numbers, one row for each of some symbols."""
        while self._drawn.shape[1] < rows:
            random = np.random.default_rng((self.seed, self._drawn.shape[1]))
            more = random.exponential(size=(2, ROWS, self.runs))
            self._drawn = np.concatenate((self._drawn, more), axis=1)
        return self._drawn[0, :rows], self._drawn[1, :rows]

    def gumbel(self, rows: int) -> Floats:
        return np.asarray(-np.log(self.exponential(rows)[0]), dtype=np.float64)

    def laplace(self, rows: int, rate: float) -> Floats:
        """Discrete Laplace noise: the difference of two geometric numbers."""
        one, other = self.exponential(rows)
        return np.asarray(np.floor(one / rate) - np.floor(other / rate), dtype=np.float64)


def shares(scores: Floats, k: int, bottom: Floats | None) -> Floats:
    """In how many of the simulated lists each item is: among the k first of its column, and above the bottom symbol."""
    listed = np.ones(scores.shape, dtype=bool)
    if k < len(scores):
        edge = np.partition(scores, len(scores) - k, axis=0)[len(scores) - k]
        listed = scores >= edge
    if bottom is not None:
        listed &= scores > bottom
    return np.asarray(listed.mean(axis=1), dtype=np.float64)
