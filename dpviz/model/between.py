"""A value that is known by an enclosure: no fraction, or one that is not worth its digits."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from dpviz.boundary import protect_module
from dpviz.errors import ParameterError
from dpviz.exact import ceil_to, floor_to, place, text

DIGITS = 6
"""The ends are written with so many significant digits, rounded outward."""


@dataclass(frozen=True, slots=True)
class Enclosed:
    """A value that was read from what was drawn and lies between two fractions, both ends included.

    Nothing about it is uncertain but its digits: how far it is from the truth is what intervals are for.

    >>> Enclosed(Fraction(7, 5), Fraction(3, 2))
    between 1.4 and 1.5
    """

    low: Fraction
    high: Fraction

    def __post_init__(self) -> None:
        if self.low > self.high:
            raise ParameterError.of(
                f"{text(self.low)}..{text(self.high)}",
                "the ends of an enclosure are in order",
                "write the smaller end first",
            )

    @property
    def middle(self) -> Fraction:
        return (self.low + self.high) / 2

    @property
    def ends(self) -> tuple[str, str]:
        """Both ends as decimals of a few digits, rounded outward."""
        size = max(abs(self.low), abs(self.high))
        unit = place(size, DIGITS) if size else Fraction(1)
        return text(floor_to(self.low, unit)), text(ceil_to(self.high, unit))

    def __float__(self) -> float:
        """Its middle, for a picture."""
        return float(self.middle)

    def __repr__(self) -> str:
        return "between {} and {}".format(*self.ends)


def between(value: int | Fraction | Enclosed) -> Enclosed:
    """Any released value as an enclosure: a number is one by itself."""
    return value if isinstance(value, Enclosed) else Enclosed(Fraction(value), Fraction(value))


def is_enclosed(values: Sequence[object]) -> bool:
    """Whether any of these values is known by an enclosure only."""
    return any(isinstance(value, Enclosed) for value in values)


protect_module(vars())
