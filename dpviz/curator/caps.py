"""Limits of the budget for analysts and projects, inside the budget of the data set."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Literal, TypeAlias, get_args

Period: TypeAlias = Literal["", "day", "month"]

PERIODS: tuple[Period, ...] = get_args(Period)
"""The lengths of a window: all time, a day and a calendar month, both in UTC."""


@dataclass(frozen=True, slots=True)
class Cap:
    """The most that charges may add up to: of one analyst or one project, in all time or within one window.

    epsilon, delta  the totals of the prices
    per             the window; empty for all time
    """

    epsilon: Fraction
    delta: Fraction = Fraction(0)
    per: Period = ""
