"""The law of a sum of noises that are nearly always 0, as the list of its values.

At a large epsilon a noise is 0 but for a chance of some 10**-4, and few of a sum are anything else at once. Then the
sum has few values that come more often than `SMALL`, and these are listed. The mass left out is added to the error of a
tail. The transform of such a sum (`inversion.py`) would be looked at in millions of points: its values lie thousands of
standard deviations apart.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dpviz.boundary import protect_module
from dpviz.fitting.noises import Noise, Noises, law_of
from dpviz.fitting.transforms import Floats

SMALL = 1e-11
"""In all, values that are left out have at most about this chance."""

MOST = 1 << 18
"""A law of more values is left to its transform."""

NARROW = 0.15
"""The mean number of noises of a sum that are not 0 above which there are too many."""

ROUNDING = 2.0**-40
"""The relative error of a chance in floats, with room to spare."""


@dataclass(frozen=True, eq=False)
class Atoms:
    """The values of a sum, ascending, and the chance of each value and all larger ones.

    error  what a tail may be off by, in probability
    """

    values: Floats
    reached: Floats
    error: float
    width: float = 0.0

    @classmethod
    def of(cls, noises: Noises) -> Atoms | None:
        """None where there are too many values."""
        if not noises.symmetric or sum(term.count * _moves(term.noise) for term in noises.terms) > NARROW:
            return None
        values, chances, error = np.zeros(1), np.ones(1), 0.0
        spare = SMALL / max(1, len(noises.terms))
        for term in noises.terms:
            steps, law, left = _of_several(term.noise, term.count, spare / 2)
            if len(steps) * len(values) > 8 * MOST:
                return None
            values = np.add.outer(values, steps * float(term.weight)).reshape(-1)
            chances = np.multiply.outer(chances, law).reshape(-1)
            values, chances, pruned = _pruned(values, chances, spare / 2)
            error += left + pruned
            if len(values) > MOST:
                return None
        order = np.argsort(values, kind="stable")
        reached = np.append(np.cumsum(chances[order][::-1])[::-1], 0.0)
        return cls(
            values[order], reached, error + ROUNDING * (len(noises.terms) + 1) * (1 - float(chances.max())) + 1e-15
        )

    @property
    def low(self) -> float:
        return float(self.values[0])

    @property
    def high(self) -> float:
        return float(self.values[-1])

    def above(self, t: float) -> tuple[float, float]:
        """Pr[X > t], between two numbers."""
        return self.least_above(t), self.most_above(t)

    def least_above(self, t: float) -> float:
        """A number that Pr[X > t] is not below."""
        return max(0.0, self._told(t) - self.error)

    def most_above(self, t: float) -> float:
        """A number that Pr[X > t] is not above."""
        return min(1.0, self._told(t) + self.error)

    def _told(self, t: float) -> float:
        return float(self.reached[np.searchsorted(self.values, t, side="right")])


def _moves(noise: Noise) -> float:
    """The chance that a noise is not 0."""
    return 1 - float(law_of(noise).pmf_array(np.zeros(1, dtype=np.int64))[0])


def _of_several(noise: Noise, count: int, spare: float) -> tuple[Floats, Floats, float]:
    """The law of so many noises added up: whole values, the chance of each, and what is left out."""
    law, reach = law_of(noise), 1
    while (left := 2.001 * count * law.chance_above(reach)) > spare / 4:
        reach += 1
    one = np.asarray(law.pmf_array(np.arange(-reach, reach + 1)), dtype=np.float64)
    found, power, lost = np.ones(1), one, left
    rest = count
    while rest:
        if rest & 1:
            found, cut = _trimmed(np.convolve(found, power), spare / (8 * count.bit_length()))
            lost += cut
        if rest := rest >> 1:
            power, cut = _trimmed(np.convolve(power, power), spare / (8 * count * count.bit_length()))
            lost += count * cut
    half = len(found) // 2
    values = np.arange(-half, half + 1, dtype=np.float64)
    return values, found, lost


def _trimmed(law: Floats, spare: float) -> tuple[Floats, float]:
    """A symmetric law without its ends, where these are seldom reached."""
    ends = 2 * np.cumsum(law[: len(law) // 2])
    cut = int(np.searchsorted(ends, spare, side="right"))
    return (law[cut : len(law) - cut], float(ends[cut - 1])) if cut else (law, 0.0)


def _pruned(values: Floats, chances: Floats, spare: float) -> tuple[Floats, Floats, float]:
    """Without the values that come most seldom."""
    order = np.argsort(chances, kind="stable")
    sums = np.cumsum(chances[order])
    cut = int(np.searchsorted(sums, spare, side="right"))
    kept = np.sort(order[cut:])
    return values[kept], chances[kept], float(sums[cut - 1]) if cut else 0.0


protect_module(vars())
