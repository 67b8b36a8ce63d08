"""The largest value of each bucket, and noise on every bucket.

Nothing here looks at how many keys there are or how large their values: more than was declared costs accuracy, never
privacy. Time does depend on the number of keys, so it is not shown to anybody.

Source: Aumüller, Lebeda, Pagh 2022, Algorithm 11; values of both signs are ours.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dpviz.exact import Decay
from dpviz.noise.bits import Bits
from dpviz.noise.geometric import two_sided_geometric
from dpviz.noise.table import Tick

PIECE = 1 << 16
"""Buckets that get their noise at a time: what is kept of them takes less room than the noise."""


def cell_type(low: int, high: int) -> str:
    """The smallest type of integer that holds low..high, of those that a stored answer may have."""
    types = ("|u1", "<u2", "<u4", "<i8") if low >= 0 else ("<i2", "<i4", "<i8")
    return next(one for one in types if np.iinfo(one).min <= low and high <= np.iinfo(one).max)


def largest(places: NDArray[np.int64], values: NDArray[np.int64], size: int, low: int, high: int) -> NDArray[np.int64]:
    """The value of each bucket before noise: the largest in it, or 0; of values of both signs the largest above 0 and
    the least below 0, added up.

    Values are moved into low..high first, in silence. In L1 the buckets move by no more than the values do.
    """
    values = np.clip(values, low, high)
    found = np.zeros(size, dtype=np.int64)
    # Algorithm 11: a bucket holds its largest value. A maximum moves by no more than the value that changes.
    np.maximum.at(found, places, values)
    if low < 0:
        least = np.zeros(size, dtype=np.int64)
        # Negative values have a part of their own, which likewise moves by no more than the value does.
        np.minimum.at(least, places, values)
        found += least
    return found


def noisy(
    found: NDArray[np.int64], low: int, high: int, decay: Decay, bits: Bits, tick: Tick | None = None
) -> NDArray[np.signedinteger | np.unsignedinteger]:
    """Noise on every bucket, those without a key included, and each moved into low..high."""
    sampler, out = two_sided_geometric(decay), np.empty(len(found), dtype=cell_type(low, high))
    for start in range(0, len(found), PIECE):
        # Noise on every bucket, so an empty one shows as little as any other.
        out[start : start + PIECE] = sampler.add(found[start : start + PIECE], low, high, bits)
        if tick is not None:
            tick(min(start + PIECE, len(found)), len(found))
    return out
