"""A law written out as a list."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from itertools import accumulate

from dpviz.noise.table import Law


@dataclass(frozen=True)
class Listed(Law):
    """Any finite law: the masses of first, first + 1, ... as whole numbers over their sum."""

    masses: tuple[int, ...]
    start: int = 0

    @property
    def first(self) -> int:
        return self.start

    @property
    def last(self) -> int:
        return self.start + len(self.masses) - 1

    def exact(self, value: int) -> Fraction:
        if value < self.first:
            return Fraction(0)
        return Fraction(sum(self.masses[: value - self.start + 1]), sum(self.masses))

    def cdf(self, value: int, fraction_bits: int) -> tuple[int, int]:
        scaled = self.exact(value) * 2**fraction_bits
        return math.floor(scaled), math.ceil(scaled)

    def sweep(self, fraction_bits: int) -> tuple[int, list[int], int]:
        total = sum(self.masses)
        return self.first, [(mass << fraction_bits) // total for mass in accumulate(self.masses[:-1])], 1
