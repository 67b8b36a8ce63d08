"""The least place of a row that a test does not reject: what an interval by inversion ends at.

Places 0, 1, 2, ... stand for hypotheses of which at least one is true. Rejecting all places before the first true one
is an error; it needs the test of that one place to be wrong, whatever the others say. So a walk from 0 on, which stops
where a test does not reject, misses no oftener than one test, though it makes many.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dpviz.boundary import protect_module

MOST_TRIED = 64
"""The most tests that are made one by one; a walk that is not over then ends where it is, which is further out."""


@dataclass(frozen=True)
class Reached:
    """The place at which a search ended.

    place  all places before it were rejected, by the search's own rule
    least  whether it is the first place that is not rejected; if not, it may be too far out
    """

    place: int
    least: bool


def first_accepted(rejected: Callable[[int], bool], last: int, clear: NDArray[np.bool_] | None = None) -> Reached:
    """The first of the places 0..last that is not rejected. The last is never tested: it cannot be wrong.

    rejected  the test of one place
    clear     of each place before the last, whether it is rejected beyond doubt, so that its test need not be made

    >>> first_accepted(lambda place: place in (0, 1, 3), 9)
    Reached(place=2, least=True)
    """
    open_places = np.arange(last) if clear is None else np.flatnonzero(~clear)
    for tried, place in enumerate(open_places.tolist()):
        if tried == MOST_TRIED:
            return Reached(place, False)
        if not rejected(place):
            return Reached(place, True)
    return Reached(last, True)


def halvings(last: int) -> int:
    """The most tests that `by_halves` makes of the places 0..last.

    >>> halvings(0), halvings(1), halvings(2), halvings(1023)
    (0, 1, 2, 10)
    """
    return last.bit_length()


def by_halves(rejected: Callable[[int], bool], last: int) -> Reached:
    """A place of 0..last that is not rejected, with the one before it rejected or none before it: by bisection.

    Tests that could wrongly lead past a place are those on the way to it, which are `halvings(last)` at most; each is
    to be made at that part of the level.

    >>> by_halves(lambda place: place < 700, 1000)
    Reached(place=700, least=False)
    """
    low, high = 0, last
    while low < high:
        middle = (low + high) // 2
        if rejected(middle):
            low = middle + 1
        else:
            high = middle
    return Reached(low, not last)


protect_module(vars())
