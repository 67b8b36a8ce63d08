"""A uniform permutation, exact and fast for millions of rows."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dpviz.exact import whole
from dpviz.noise.bits import Bits


def permutation(size: int, bits: Bits) -> NDArray[np.int64]:
    """A uniform permutation of 0..size-1.

    Every place gets a uniform number of 64 bits, and places are ordered by them. Where two numbers are equal, which
    says nothing about anybody, all are drawn anew: given that they differ, each order has the same chance.
    """
    whole(size, "size", least=0, most=1 << 32)
    while True:
        drawn = np.frombuffer(bits.take(8 * size), dtype="<u8")
        order = np.argsort(drawn, kind="stable")
        ranked = drawn[order]
        if not bool((ranked[1:] == ranked[:-1]).any()):
            return order.astype(np.int64, copy=False)
