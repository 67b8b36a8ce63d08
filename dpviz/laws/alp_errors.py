"""How far ALP's estimate of a value is off, for every value at once: of few bits by all strings, in floating point.

`laws/alp.py` has the same law exactly, one value and one chance at a time. Here all strings are counted once for a
number of bits, so that another chance is a product of small tables: for plans and pictures that follow a slider.

Source: Aumüller, Lebeda, Pagh 2022, Algorithms 2 to 5; the exact law is ours.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from dpviz.exact import whole
from dpviz.laws.alp import FEW, Flips, _strings
from dpviz.laws.threshold import Sizes

Floats: TypeAlias = NDArray[np.float64]
Laws: TypeAlias = Sequence[tuple[Floats, Floats]]
"""For each y from 0 to the number of bits: the estimates, in bits, and their chances."""


@lru_cache(maxsize=FEW)
def _counts(m: int) -> tuple[Floats, list[Floats]]:
    """All estimates that m bits can give; and for each y how many strings give each of them, by how many of the ones up
    to y are lost and how many of the zeros beyond are raised."""
    strings = _strings(m)
    multiple = math.lcm(*range(1, m + 2))
    values, where = np.unique(strings.sums * multiple // strings.places, return_inverse=True)
    found = []
    for y in range(m + 1):
        lost = y - strings.bits[:, :y].sum(axis=1, dtype=np.int64)
        raised = strings.bits[:, y:].sum(axis=1, dtype=np.int64)
        shape = (len(values), y + 1, m - y + 1)
        kinds = (where.ravel() * shape[1] + lost) * shape[2] + raised
        found.append(np.bincount(kinds, minlength=math.prod(shape)).reshape(shape).astype(np.float64))
    return values / multiple, found


@lru_cache(maxsize=512)
def laws_of_few(m: int, flips: Flips) -> Laws:
    """The law of the estimate of each y from 0 to m, from m bits, at most 16.

    >>> from fractions import Fraction
    >>> values, chances = laws_of_few(2, Flips(Fraction(1, 4)))[1]
    >>> values.tolist(), chances.tolist()
    ([0.0, 1.0, 2.0], [0.1875, 0.625, 0.1875])
    """
    values, counts = _counts(whole(m, "the number of bits", most=FEW))
    p, more = float(flips.p), float(flips.raised)
    rows = []
    for y, kinds in enumerate(counts):
        lost, raised = np.arange(y + 1), np.arange(m - y + 1)
        chances = kinds @ (more**raised * (1 - more) ** (m - y - raised)) @ (p**lost * (1 - p) ** (y - lost))
        rows.append((values, chances))
    return rows


def errors(laws: Laws, value: float, bits: float) -> Sizes:
    """How far the estimate of a value is off, rounded at random to a whole number of bits and read back.

    value  the true value, at least 0; what is beyond the last bit is cut off
    bits   how many bits one unit of value is worth
    """
    last = len(laws) - 1
    y = min(value * bits, float(last))
    low = min(int(y + 1e-9), last)
    share = max(0.0, y - low)
    (below, of_below), (above, of_above) = laws[low], laws[min(low + 1, last)]
    estimates, chances = np.concatenate((below, above)), np.concatenate(((1 - share) * of_below, share * of_above))
    return Sizes.of(estimates[chances > 0] / bits - value, chances[chances > 0])
