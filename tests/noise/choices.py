"""Every way that chance can go, with its exact probability: what a law is enumerated by."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import Any


class Choices:
    """Every way that chance can go: each run takes the next path through the choices, with its exact probability."""

    def __init__(self) -> None:
        self.path: list[int] = []
        self.widths: list[int] = []
        self.chance = Fraction(1)
        self.at = 0

    def runs(self) -> Iterator[None]:
        while True:
            self.chance, self.at = Fraction(1), 0
            yield
            while self.path and self.path[-1] == self.widths[-1] - 1:
                self.path.pop()
                self.widths.pop()
            if not self.path:
                return
            self.path[-1] += 1

    def one_of(self, options: list[tuple[Any, Fraction]]) -> Any:
        if self.at == len(self.path):
            self.path.append(0)
            self.widths.append(len(options))
        value, chance = options[self.path[self.at]]
        self.at += 1
        self.chance *= chance
        return value
