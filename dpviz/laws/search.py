"""A search for the least whole number that a rule holds for."""

from __future__ import annotations

from collections.abc import Callable

from dpviz.boundary import protect_module


def least(holds: Callable[[int], bool], start: int = 0, near: int = 0) -> int:
    """The least whole number from `start` on that holds, where all above one that holds do; quick if `near` is near."""
    low = high = max(start, near)
    reach = 1
    if holds(high):
        while high > start and holds(low := max(start, high - reach)):
            high, reach = low, 2 * reach
    else:
        while not holds(high := low + reach):
            low, reach = high, 2 * reach
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if holds(middle) else (middle, high)
    return high


protect_module(vars())
