"""Statements about an answer's error before it is drawn."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Final, Literal

from dpviz.boundary import protect_module
from dpviz.errors import ParameterError
from dpviz.exact import Decay, Enclosure, ceil_to, place, text

How = Literal["exact", "bound", "numerical", "simulated"]
SURENESS: Final[tuple[How, ...]] = ("exact", "bound", "numerical", "simulated")
"""The ways in which an error may be known, the surest first."""
SIGNS: Final[dict[How, str]] = {"exact": "±", "bound": "≤ ", "numerical": "±≈", "simulated": "±"}
"""The word before an error: it is the least that holds, is proved to hold, or was calculated."""
BETAS: Final = (Fraction(1, 10), Fraction(1, 20), Fraction(1, 100))
"""The levels that plans and pictures offer: 90, 95 and 99 in 100."""


@dataclass(frozen=True, slots=True)
class ErrorValue:
    """One error: its size in the unit's counts, how it is known, and by which rule.

    `exact` is the least value that holds, `bound` one that is proved to hold, `numerical` one that was calculated to
    within `off` of the truth, `simulated` one that comes with runs.
    """

    value: Fraction
    how: How
    rule: str
    source: str = ""
    off: Fraction | None = None

    def __post_init__(self) -> None:
        if (self.off is not None) != (self.how == "numerical"):
            raise ParameterError.of(
                self.how,
                "a numerical error, and no other, says how far off it may be",
                'give "numerical" with the error of the number, and nothing else with one',
            )

    def to_json(self) -> dict[str, Any]:
        stated = {} if self.off is None else {"off": text(self.off)}
        return {"value": text(self.value), "kind": self.how, "rule": self.rule, **stated}


DIGITS: Final = 3
"""A mean is told in so many significant digits."""

NOTHING: Final = Fraction(1, 10**24)
"""A mean below this is told as 0."""

FINEST: Final = Fraction(1, 10**30)
"""The finest step in which the error of a mean is told."""


def mean(enclose: Callable[[int], Enclosure], rule: str, more: int = 0) -> ErrorValue:
    """A mean that `enclose` gives to any precision, `more` added, in a few digits: exact where these are all of it.

    Else it is numerical, and its `off` is how far the rounded value is from the truth at most, rounded up.
    """
    low, high = _narrow(enclose)
    low, high = low + more, high + more
    value = _rounded((low + high) / 2)
    off = max(abs(value - low), abs(high - value))
    if off == 0:
        return ErrorValue(value, "exact", rule)
    return ErrorValue(value, "numerical", rule, off=ceil_to(off, max(FINEST, place(off, 2))))


def _narrow(enclose: Callable[[int], Enclosure]) -> Enclosure:
    """An enclosure that is narrow beside what it encloses, or beside what is told as 0."""
    precision = 128
    while True:
        low, high = enclose(precision)
        if (high - low) * 10 ** (DIGITS + 3) <= max(abs(low), NOTHING):
            return low, high
        precision *= 2


def _rounded(number: Fraction) -> Fraction:
    """The number to a few significant digits."""
    if abs(number) < NOTHING:
        return Fraction(0)
    unit = place(number, DIGITS)
    return round(number / unit) * unit


class ErrorModel:
    """Everything that may be asked about an answer's error. A mechanism overrides what applies; the rest is None.

    `beta` is the chance that the statement fails. A statement that depends on private counts is answered for the worst
    case over counts unless a hypothetical `count` is given, and the rule says so.
    """

    @property
    def noise(self) -> Decay | None:
        """The ratio of the noise, where every number that was drawn is what was asked plus two-sided geometric noise
        of this ratio, independent of all others and never clamped; None where it is anything else."""
        return None

    def one_bin(self, beta: Fraction, *, count: int | None = None) -> ErrorValue | None:
        """Bound the error of one bin, picked before looking."""
        return None

    def all_bins(self, beta: Fraction) -> ErrorValue | None:
        """Bound the error of the worst of all bins."""
        return None

    def shown(self, beta: Fraction) -> ErrorValue | None:
        """Bound the error of a bin that is shown, where not all bins are shown: "shown and further off"
        has probability at most beta for any one bin picked before looking."""
        return None

    def look_ups(self, number: int, beta: Fraction) -> ErrorValue | None:
        """Bound the worst error of `number` look-ups."""
        return None

    def above(self, number: int | None, beta: Fraction) -> ErrorValue | None:
        """Bound how far the truth may lie above the value read, in the worst of `number` look-ups, or of all bins where
        that is None; for an answer of which this is known where nothing bounds how far it may lie below. Where what is
        read stands at a public top, the truth may lie anywhere above it."""
        return None

    def range(self, first: int, last: int, beta: Fraction) -> ErrorValue | None:
        """Bound the error of the sum of bins first..last, picked before looking."""
        return None

    def sum_of(self, points: Sequence[int], beta: Fraction) -> ErrorValue | None:
        """Bound the error of the sum of these points, picked before looking."""
        return None

    def estimator(self, reader: str) -> ErrorModel:
        """The same questions about another estimator of the answer, by its name among the answer's `readers`; an empty
        one is the default. One whose error nothing states answers none."""
        return self

    def expected(self, count: int) -> ErrorValue | None:
        """The mean absolute error of a bin whose true count is `count`."""
        return None

    def bias(self, count: int) -> ErrorValue | None:
        """The mean error of a bin whose true count is `count`."""
        return None

    def chance_shown(self, count: int) -> float | None:
        """The chance that a bin whose true count is `count` shows a value above 0. A float, for pictures."""
        return None

    def quantiles(self, levels: list[Fraction]) -> list[int] | None:
        """Quantiles of the error of one bin, for a picture of equally likely errors."""
        return None

    def near_the_cut(self, levels: list[Fraction]) -> tuple[int, list[int]] | None:
        """Where small counts are left out and read 0: a true count that is left out more often than not, though one of
        a little more would not be, and quantiles of the error of such a bin. None where every bin is shown."""
        return None

    def reads(self, count: int, levels: Sequence[Fraction]) -> list[int | None] | None:
        """Quantiles of what is read of a bin whose true count is `count`, for a picture of hypothetical outcomes: None
        where it is not shown, which comes first. None for all where the law of one bin at its count is not known."""
        return None

    def chances(self, errors: list[int]) -> list[float] | None:
        """The chance of each error of one bin, before any clamping. Floats, for a picture of the law."""
        return None

    def rank(self, position: int, beta: Fraction) -> ErrorValue | None:
        """Bound how far below the true count of that rank any of the first `position` items that are returned may
        lie."""
        return None

    def in_place(self, place: int, position: int, beta: Fraction) -> ErrorValue | None:
        """Bound how far below the true count of rank `position` the item in this place of a list may lie, where the
        place was picked before looking."""
        return None

    def listed(self, beta: Fraction) -> ErrorValue | None:
        """Bound how far above the first count past the rows that are read an item must lie to be drawn before the
        bottom symbol, but for a chance of at most beta."""
        return None

    def left_out(self, beta: Fraction) -> ErrorValue | None:
        """Bound how far above that count an item must lie so that the list leaves none like it out where it ends early,
        but for a chance of at most beta: one statement about all items."""
        return None

    def named(self, beta: Fraction) -> ErrorValue | None:
        """The least count of a bin that is named without its count, but for a chance of at most beta; for 0, always."""
        return None

    @property
    def next_place(self) -> int | None:
        """The place of the first count past the rows that are read; None where there is none, or it is private."""
        return None

    @property
    def among(self) -> str:
        """Among whose counts a rank or a place is meant, where these are more than those of the question: `of all
        parts`; else nothing."""
        return ""

    def total_variation(self) -> ErrorValue | None:
        """Bound the distance between the law of a drawn record and that of the data."""
        return None


protect_module(vars())
