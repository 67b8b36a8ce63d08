"""How much is computed, counted in steps that are the same on every machine and under any load."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from fractions import Fraction
from types import FrameType
from typing import Any

BITS = 2048
"""Numbers of so many bits are as much work as a call."""

SHORT = (type(None), float, bool, str)
"""What most calls return, and what has no bits to count."""


class TooMuchWork(Exception):
    """What was to be computed takes more steps than it may. No part of the package catches it."""


@dataclass
class Work:
    """Steps of the work that was counted: one for each call, of Python or C, and one for each BITS of the numbers that
    calls return."""

    steps: int = 0


def length(value: object) -> int:
    """How many bits the numbers in a value have."""
    if isinstance(value, int):
        return value.bit_length()
    if isinstance(value, (tuple, list)):  # before Fraction, whose metaclass takes long to say no
        return sum(map(length, value))
    if isinstance(value, Fraction):
        return value.numerator.bit_length() + value.denominator.bit_length()
    return 0


@contextmanager
def at_most(steps: int) -> Iterator[Work]:
    """Count the work inside, and stop it at this many steps. What `work.steps` says is read afterwards."""
    work, before, left = Work(), sys.getprofile(), steps

    def count(frame: FrameType, event: str, value: Any) -> None:
        """Called tens of millions of times, so it looks up nothing but what is its own."""
        nonlocal left
        if event == "c_call" or event == "call":
            left -= 1
        elif event == "return":
            if type(value) in SHORT:
                return
            left -= length(value) // BITS
        else:
            return
        if left < 0:
            raise TooMuchWork(f"more than {steps:,} steps")

    sys.setprofile(count)
    try:
        yield work
    finally:
        sys.setprofile(before)
        work.steps = steps - left
