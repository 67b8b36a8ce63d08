"""Which branching a tree of counts should have: the mean squared error of the ranges that matter, for each.

Hay, Rastogi, Miklau, Suciu 2010 use binary trees; Qardaji, Yang, Li 2013 found that about 16 children are best with a
fit. The best factor for a domain jumps where a power passes its size, so it is calculated here, exactly.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from dpviz.boundary import kind_of, plain_arguments, protect_module
from dpviz.errors import ParameterError
from dpviz.exact import Decay, Number, integer, positive
from dpviz.fitting.tree import Design, Shape
from dpviz.laws.geometric import TwoSidedGeometric

WIDEST = 64
"""The most children that are looked at."""

MOST_RANGES = 100_000


@dataclass(frozen=True)
class BranchingChoice:
    """A tree with so many children to a node, over one domain and at one price.

    error  the mean, over ranges, of the squared error of a fitted range, rounded up by less than one part in 10**30
    """

    branching: int
    height: int
    nodes: int
    error: Fraction


@plain_arguments
def branchings(
    leaves: int, epsilon: Number = 1, ranges: Sequence[tuple[int, int]] | None = None, widest: int = WIDEST
) -> tuple[BranchingChoice, ...]:
    """All numbers of children from 2 on, the best first, by the mean squared error of a fitted range.

    leaves   the number of bins; padding is asked like any other leaf
    epsilon  the price, when one record is added or removed
    ranges   the ranges that matter, as pairs of a first and a last bin, from 0 and both included; a range that comes
             twice counts twice. Left out, all ranges there are
    widest   the largest number of children that is looked at

    Free, and the same for any data. Raises ParameterError for ranges that are reversed or lie outside.

    >>> [(one.branching, one.height) for one in branchings(4096)[:3]]
    [(8, 5), (16, 4), (17, 4)]
    >>> branchings(4096, ranges=[(slot, slot) for slot in range(100)])[0].branching
    64
    """
    size, price = integer(leaves, "the number of bins"), positive(epsilon, "epsilon")
    most = max(2, min(integer(widest, "widest", least=2, most=1_000), size))
    lows, highs = _ends(ranges)
    found = []
    for k in range(2, most + 1):
        shape = Shape(k, size)
        if lows is None or highs is None:
            mean = Design(shape).mean_variance()
        else:
            variances = Design(shape).variances(lows, highs)
            mean = sum(variances, Fraction(0)) / len(variances)
        noise = TwoSidedGeometric(Decay.exp(price / shape.height)).variance()[1]
        found.append(BranchingChoice(k, shape.height, shape.nodes, noise * mean))
    return tuple(sorted(found, key=lambda one: (one.error, one.branching)))


def _ends(ranges: Sequence[tuple[int, int]] | None) -> tuple[np.ndarray | None, np.ndarray | None]:
    if ranges is None:
        return None, None
    pairs = list(ranges) if isinstance(ranges, list | tuple) else []
    whole = all(
        isinstance(one, list | tuple) and len(one) == 2 and all(type(end) is int for end in one) for one in pairs
    )
    if not pairs or len(pairs) > MOST_RANGES or not whole:
        raise ParameterError.of(
            kind_of(ranges) if not isinstance(ranges, list | tuple) else f"{len(pairs):,} entries",
            f"ranges are 1 to {MOST_RANGES:,} pairs of a first and a last bin",
            "write ranges=[(low, high)]",
        )
    if any(abs(end) >= 1 << 62 for one in pairs for end in one):
        raise ParameterError.of("a range", "ranges lie inside the domain", "keep both ends inside, the low end first")
    ends = np.array(pairs, dtype=np.int64)
    return ends[:, 0], ends[:, 1]


protect_module(vars())
