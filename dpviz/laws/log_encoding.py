"""Values on a logarithmic scale, for ALP's unary numbers: a table of whole numbers, and what is proved of reading it.

The table has one rung for each bit: a value at rung j is written as j bits, and one between two rungs lies between them
in proportion, to be rounded at random. The first rung is the floor, below which every value is written as no bits. Each
rung is higher than the one before by a public factor, so that an estimate that is off by some bits is off by a factor.
No step of a value is worth more bits than a given number, by how the table is made, and no logarithm is taken.

Source: Aumüller, Lebeda, Pagh 2022, Section 6. The paper writes max(log_B(x ln B), 0), a curve, whose values a computer
rounds; the chords of that curve between whole numbers of bits are ours. They are flatter, so at the same price the
floor is a little lower than the paper's 1 / ln B.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Final

from dpviz.errors import ParameterError
from dpviz.exact import Enclosure, log_bounds, text, whole
from dpviz.laws.alp import Flips, Walks, odds

FINE: Final = 20
"""Rungs are whole numbers of 2**-20 steps of a value."""

GROWS: Final = 30
"""The factor from rung to rung is kept to so many binary places, rounded down."""

LOWEST: Final = Fraction(1, 64)
"""The floor is at least so much of a step."""

HIGHEST: Final = 1 << 40
"""A table reaches values of so many steps at most."""


def growth(flips: Flips) -> Fraction:
    """The paper's factor for one bit, B^(alpha/epsilon) = (4 p (1 - p))^(-1/4), with the raised p, rounded down.

    >>> float(growth(Flips(Fraction(1, 5)))) - 0.64**-0.25 < 1e-8
    True
    """
    p = flips.raised
    return Fraction(math.isqrt(math.isqrt(math.floor((1 << 4 * GROWS) / (4 * p * (1 - p))))), 1 << GROWS)


@dataclass(frozen=True)
class Rungs:
    """The table.

    worth    how many bits one step of a value is worth, at most
    growth   each rung is this much higher than the one before, at most
    columns  the number of bits, of which the last rung has all
    """

    worth: Fraction
    growth: Fraction
    columns: int

    def __post_init__(self) -> None:
        whole(self.columns, "columns")
        if self.worth <= 0 or self.growth <= 1:
            raise ParameterError.of(
                f"{text(self.worth)} and {text(self.growth)}",
                "a step is worth something, and rungs rise",
                "give a worth above 0 and a growth above 1",
            )

    @classmethod
    def up_to(cls, worth: Fraction, growth: Fraction, top: int, most: int) -> Rungs | None:
        """The table with as few rungs as reach `top` steps; None where `most` do not."""
        if not growth > 1:
            return None
        rungs = cls(worth, growth, 1)
        last, columns = rungs.table[1], 1
        while last < top << FINE:
            if columns == most:
                return None
            last, columns = last + rungs._higher(last), columns + 1
        return cls(worth, growth, columns)

    @cached_property
    def least(self) -> int:
        """The least distance of two rungs: no step of a value is worth more than it should be."""
        return math.ceil((1 << FINE) / self.worth)

    def _higher(self, rung: int) -> int:
        return math.floor(rung * (self.growth - 1))

    @cached_property
    def table(self) -> list[int]:
        """The rungs, in 2**-20 steps. Distances never fall, from `least` on, and no rung is `growth` times the last."""
        first = math.ceil(max((self.least + 1) / (self.growth - 1), LOWEST * (1 << FINE)))
        if first >= 2 << FINE:  # a whole number of steps, so that the first step above it is worth all that it may be
            first = -(-first >> FINE) << FINE
        rungs = [first, first + self.least]
        for _ in range(1, self.columns):
            rungs.append(rungs[-1] + self._higher(rungs[-1]))
        return rungs

    @cached_property
    def floor(self) -> Fraction:
        """Values up to so many steps are written as no bits."""
        return Fraction(self.table[0], 1 << FINE)

    @cached_property
    def top(self) -> Fraction:
        """The largest value that the bits can stand for, in steps."""
        return Fraction(self.table[-1], 1 << FINE)

    def bits(self, steps: Fraction | int) -> Fraction:
        """How many bits a value is written as, before rounding. It never falls."""
        value = steps * (1 << FINE)
        if value <= self.table[0]:
            return Fraction(0)
        if value >= self.table[-1]:
            return Fraction(self.columns)
        below = bisect_right(self.table, math.floor(value)) - 1  # rungs are whole numbers
        return below + Fraction(value - self.table[below]) / (self.table[below + 1] - self.table[below])

    def steps(self, bits: Fraction) -> Fraction:
        """The value that so many bits stand for: `bits` the other way round, from the floor to the top."""
        if bits <= 0:
            return self.floor
        if bits >= self.columns:
            return self.top
        below = math.floor(bits)
        low, high = self.table[below], self.table[below + 1]
        return (low + (bits - below) * (high - low)) / (1 << FINE)

    def moved(self, steps: int) -> Fraction:
        """By how many bits a value moves, at most, that moves by so many steps. Distances of rungs never fall, so it is
        the first ones above the floor that are worth most."""
        low, high = math.floor(self.floor), math.ceil(self.floor)
        return max(self.bits(low + steps), self.bits(high + steps) - self.bits(high))

    def factor(self, bits: Fraction) -> Fraction:
        """By what factor a value at the floor or above is misread, at most, where so many bits are: no rung is more
        than `growth` times the one before, and chords between rungs bend the same way as a likelihood ratio does."""
        return odds(self.growth - 1, bits)


# ---------------------------------------------------------------- the paper's own numbers


def paper_floor(flips: Flips, worth: Fraction, precision: int = 128) -> Enclosure:
    """1 / ln B in steps, enclosed: 4 / (worth ln(1 / (4 p (1 - p)))), where worth is epsilon / alpha."""
    low, high = log_bounds(1 / (4 * flips.raised * (1 - flips.raised)), precision)
    return 4 / (worth * high), 4 / (worth * low)


def paper_factor(flips: Flips) -> float:
    """The paper's bound on the mean factor by which a value is misread: (2 - 4 p) / (w^(1/4) - w^(3/4))."""
    p = float(flips.raised)
    w = 4 * p * (1 - p)
    found: float = (2 - 4 * p) / (w**0.25 - w**0.75)
    return found


def paper_columns(flips: Flips, worth: Fraction, top: Fraction) -> int:
    """Lemma 6.2: ceil(log_B(top ln B) epsilon / alpha), of values up to `top` steps."""
    low, high = log_bounds(1 / (4 * flips.raised * (1 - flips.raised)))
    floor = paper_floor(flips, worth)
    if top <= floor[1]:
        raise ParameterError.of(text(top), "the largest value lies above the floor", "raise the cap")
    found = {
        math.ceil(4 / log * log_bounds(top / end)[side]) for side, log, end in ((0, high, floor[1]), (1, low, floor[0]))
    }
    if len(found) != 1:
        raise ParameterError.of(
            text(top), "the number of columns lies too close to a whole number to be rounded safely", "take another cap"
        )
    return found.pop()


def mean_factor(flips: Flips) -> float:
    """The mean of max(estimate / value, value / estimate) for values that need no rounding, far above the floor and far
    below the top: by the law of two walks, to about 1e-9."""
    values, chances = Walks(flips).law
    p = float(flips.raised)
    return float(chances @ (4 * p * (1 - p)) ** (-abs(values) / 4))
