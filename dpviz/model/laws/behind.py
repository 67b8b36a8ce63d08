"""The effect of a threshold on the error of a look-up: what reaches it is shown with its noise, all else is read."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from dpviz.boundary import protect_module
from dpviz.laws.geometric import float_rate
from dpviz.laws.search import least
from dpviz.model.laws.threshold import Cut

Floats: TypeAlias = NDArray[np.float64]

CELLS = 64
"""How finely values are told apart where what may happen to them depends on their distance from a threshold."""

FINEST = 4096
"""Values of so many steps are looked at one by one; beyond, a half-width is found on a grid that has as many."""


@dataclass(frozen=True)
class Behind:
    """A threshold before bits that can stand for values of up to `top` steps, of one sign or of both.

    The noise at the threshold and what the bits say are independent of each other. Floats, which err by far less than
    what tails of estimates are raised by.
    """

    cut: Cut
    top: int

    @cached_property
    def rate(self) -> float:
        return float_rate(self.cut.decay)

    def reaches(self, distance: NDArray[np.int64] | int) -> Floats:
        """P[Z >= distance] for the noise at the threshold."""
        return reaches(self.rate, distance)

    @cached_property
    def _cells(self) -> tuple[Floats, Floats]:
        """For each cell of values the chances, at most, that one is read from the bits, and that one is kept."""
        ends = np.unique(np.linspace(0, self.top, CELLS + 1).astype(np.int64))
        return 1 - self.reaches(self.cut.least - ends[:-1]), self.reaches(self.cut.least - ends[1:])

    def beyond(self, a: int, alone: float, short: Callable[[Floats], Floats]) -> float:
        """The chance, at most, that a value is off by more than a whole steps, whatever it is.

        A value far below the threshold is read from the bits, one far above it is kept: cell by cell of values.

        alone  that what is read from the bits is, of a value that they can stand for
        short  that a value of `top` steps is read as so many steps less, or more than so many
        """
        noise = 2 * float(self.reaches(a + 1))
        missed, shown = self._cells
        found = float((missed * alone + np.minimum(noise, shown)).max()) if len(missed) else 1.0
        # beyond what the bits can stand for, the estimate falls short by what is missing, too
        more = np.unique(np.linspace(0, a + 1, CELLS // 2 + 1).astype(np.int64))
        missed_by = (a - more[1:]).astype(np.float64)
        missing = (1 - self.reaches(self.cut.least - self.top - more[:-1])) * short(missed_by)
        return min(1.0, max(found, float(missing.max()) + noise))


def least_on_grid(holds: Callable[[int], bool], reach: Fraction) -> int:
    """The least whole number of steps, or of multiples of a coarser grid where values reach far, that holds."""
    scale = max(1, math.ceil(reach / FINEST))
    return scale * least(lambda grid: holds(scale * grid))


def reaches(rate: float, distance: NDArray[np.int64] | int) -> Floats:
    """P[Z >= distance] for noise of exp(-rate |z|)."""
    away = np.asarray(distance, dtype=np.float64)
    one = 1 + math.exp(-rate)
    found: Floats = np.where(
        away >= 0, np.exp(-rate * np.maximum(away, 0)) / one, 1 - np.exp(-rate * np.maximum(1 - away, 0)) / one
    )
    return found


protect_module(vars())
