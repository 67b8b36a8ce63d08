"""The largest parameter that fits a price."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction


def largest(candidates: Sequence[Fraction], fits: Callable[[Fraction], bool]) -> Fraction | None:
    """The largest of ascending `candidates` that fits, or None. `fits` holds up to some point and not beyond."""
    low, high = 0, len(candidates)
    while low < high:
        middle = (low + high) // 2
        if fits(candidates[middle]):
            low = middle + 1
        else:
            high = middle
    return candidates[low - 1] if low else None


def smallest(candidates: Sequence[Fraction], fits: Callable[[Fraction], bool]) -> Fraction | None:
    """The smallest of ascending `candidates` that fits, or None. `fits` fails up to a point and holds from there."""
    low, high = 0, len(candidates)
    while low < high:
        middle = (low + high) // 2
        if fits(candidates[middle]):
            high = middle
        else:
            low = middle + 1
    return candidates[low] if low < len(candidates) else None
