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


def climb(start: int, fits: Callable[[int], bool]) -> int:
    """The largest whole number above zero that fits, or 0; quick where `start` is near. `fits` as for `largest`.

    From a start that is off by x it asks about 2 log2(x) times, in either direction.
    """
    low, high, jump = start, start + 1, 1
    while low > 0 and not fits(low):
        low, high, jump = max(0, low - jump), low, 2 * jump
    if low == start:
        while fits(low + jump):
            low, jump = low + jump, 2 * jump
        high = low + jump
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if fits(middle) else (low, middle)
    return low
