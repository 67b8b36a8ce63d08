"""The error of ALP's estimate of a value, for every value at once: of few bits by all strings, in floating point.

`laws/alp.py` has the same law exactly, one value and one chance at a time. Here all strings are counted once for a
number of bits, so that another chance is a product of small tables: for plans and pictures that follow a slider.

Source: Aumüller, Lebeda, Pagh 2022, Algorithms 2 to 5; the exact law is ours.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from dpviz.laws.alp import Flips, counted
from dpviz.laws.threshold import Sizes

Floats: TypeAlias = NDArray[np.float64]
Laws: TypeAlias = Sequence[tuple[Floats, Floats]]
"""For each y from 0 to the number of bits: the estimates, in bits, and their chances."""


@lru_cache(maxsize=512)
def laws_of_few(m: int, flips: Flips) -> Laws:
    """The law of the estimate of each y from 0 to m, from m bits, at most 16.

    >>> from fractions import Fraction
    >>> values, chances = laws_of_few(2, Flips(Fraction(1, 4)))[1]
    >>> values.tolist(), chances.tolist()
    ([0.0, 1.0, 2.0], [0.1875, 0.625, 0.1875])
    """
    every, p, more = counted(m), float(flips.p), float(flips.raised)
    return [(every.values, every.chances(y, p, more)) for y in range(m + 1)]


def errors(laws: Laws, value: float, bits: float) -> Sizes:
    """The error of the estimate of a value, rounded at random to a whole number of bits and read back.

    value  the true value, at least 0; what is beyond the last bit is cut off
    bits   how many bits one unit of value is worth
    """
    last = len(laws) - 1
    y = min(value * bits, float(last))
    low = min(int(y + 1e-9), last)
    share = max(0.0, y - low)
    (below, of_below), (above, of_above) = laws[low], laws[min(low + 1, last)]
    # Random rounding mixes the laws of the two neighbouring whole numbers of bits.
    estimates, chances = np.concatenate((below, above)), np.concatenate(((1 - share) * of_below, share * of_above))
    return Sizes.of(estimates[chances > 0] / bits - value, chances[chances > 0])
