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


class TooMuchWork(Exception):
    """What was to be computed takes more steps than it may. No part of the package catches it."""


@dataclass
class Work:
    """Steps so far: one for each call, of Python or C, and one for each BITS of the numbers that calls return."""

    most: int
    steps: int = 0

    def count(self, frame: FrameType, event: str, value: Any) -> None:
        if event in ("call", "c_call"):
            self.steps += 1
        elif event == "return":
            self.steps += length(value) // BITS
        if self.steps > self.most:
            raise TooMuchWork(f"more than {self.most:,} steps")


def length(value: object) -> int:
    """How many bits the numbers in a value have."""
    if isinstance(value, int):
        return value.bit_length()
    if isinstance(value, Fraction):
        return value.numerator.bit_length() + value.denominator.bit_length()
    if isinstance(value, tuple | list):
        return sum(length(part) for part in value)
    return 0


@contextmanager
def at_most(steps: int) -> Iterator[Work]:
    """Count the work inside, and stop it at this many steps."""
    work, before = Work(steps), sys.getprofile()
    sys.setprofile(work.count)
    try:
        yield work
    finally:
        sys.setprofile(before)
