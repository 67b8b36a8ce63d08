"""How much is computed, counted in steps that are the same on every machine and under any load.

To count takes longer than to compute, so work that is done in a moment of a processor's time is let through uncounted:
what is endless, or merely long, outlasts the moment, and from there on each step counts.
"""

from __future__ import annotations

import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from fractions import Fraction
from types import FrameType
from typing import Any

BITS = 2048
"""Numbers of so many bits are as much work as a call."""

MOMENT = 0.5
"""Seconds of this process's own processor time, whatever else the machine does: one to three million steps, and fewer
on a slower machine."""


class TooMuchWork(Exception):
    """What was to be computed takes more steps than it may. No part of the package catches it."""


@dataclass
class Work:
    """Steps so far: one for each call, of Python or C, and one for each BITS of the numbers that calls return."""

    most: int
    steps: int = 0

    def count(self, frame: FrameType, event: str, value: Any) -> None:
        if event == "c_return":
            return
        if event == "return":
            if value is not None:
                self.steps += length(value) // BITS
        else:
            self.steps += 1
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
def at_most(steps: int, moment: float = MOMENT) -> Iterator[Work]:
    """Count the work inside from this moment on, or at once for a moment of 0, and stop it at this many steps."""
    work, before = Work(steps), sys.getprofile()

    def begin(*_: object) -> None:
        sys.setprofile(work.count)

    handled = signal.signal(signal.SIGVTALRM, begin)
    try:
        if moment:
            signal.setitimer(signal.ITIMER_VIRTUAL, moment)
        else:
            begin()
        yield work
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        sys.setprofile(before)
        signal.signal(signal.SIGVTALRM, handled)
