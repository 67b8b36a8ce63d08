"""Two-sided geometric noise that is truncated: given that it lies in -reach..reach."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from dpviz.exact import Decay
from dpviz.noise.bits import Bits
from dpviz.noise.geometric import two_sided_geometric
from dpviz.noise.table import Sampler


@lru_cache(maxsize=32)
def truncated_geometric(decay: Decay, reach: int) -> Sampler:
    """A sampler of Pr[Z = z] proportional to decay**|z| on -reach..reach, made once and kept.

    >>> from fractions import Fraction
    >>> from dpviz.noise.bits import TeachingBits
    >>> truncated_geometric(Decay.exp(Fraction(1, 2)), 3).draw(8, TeachingBits(1)).tolist()
    [-1, 1, -1, 1, -1, 1, 0, 0]
    """
    return RedrawnBeyond(two_sided_geometric(decay), reach)


class RedrawnBeyond(Sampler):
    """Draws again where noise lies beyond the reach, which is exact. How often that is says nothing of counts."""

    def __init__(self, whole: Sampler, reach: int) -> None:
        super().__init__(whole.parts)
        self.reach = reach

    def _noise(self, out: NDArray[np.int64], spare: NDArray[np.int64], bits: Bits) -> None:
        super()._noise(out, spare, bits)
        while (beyond := np.flatnonzero(np.abs(out) > self.reach)).size:
            again = np.empty(beyond.size, dtype=np.int64)
            super()._noise(again, spare, bits)
            out[beyond] = again
