"""Ends from two answers of which the later may have been chosen by the earlier one: they hold whatever was chosen.

An answer rejects a number at some level, and the least such level is its p-value for that number. Of the true number
the earlier p-value is at most x for at most x of the time, and so is the later one given everything before, whichever
mechanism was chosen. Let a set of pairs (x, y) contain with each pair all pairs that are smaller in both. Then both
p-values lie in it for at most its area of the time: given the earlier one the chance is at most the length s(x) of its
section, which falls with x, so its mean is at most the integral of s. The set must be fixed before both answers; here
the level alone decides. It is symmetric, so that nobody need know which answer came first.

The set is a staircase below the curve x y = c, which is Fisher's test: for exponential tails, as those of noise for
privacy, the product of two p-values is the likelihood ratio. So intervals of two answers at one epsilon are on the
mean about 2 % wider than by the law of their mean, or 4 % where the noise is near normal; what two intervals at half
the level have in common is about 40 % wider.

References: Fisher (1932), section 21.1; Bauer, Köhne (1994), on designs that follow from earlier stages.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction
from functools import lru_cache
from typing import Final, TypeAlias

from dpviz.boundary import protect_module
from dpviz.exact import Enclosure, floor_to, log_bounds, place, up
from dpviz.fitting.sums import Quantile
from dpviz.model.answers import Enclosed
from dpviz.model.answers.values import plus
from dpviz.model.between import between
from dpviz.model.linear import UNBIASED, Bias, Ends, LinearError

NONE: Final = Fraction(0)
WHOLE: Final = Fraction(1)
HALF: Final = Fraction(1, 2)

LEAST: Final = Fraction(1, 10**200)
"""Below this level floats do not find the steps; then each answer is read at half the level."""

MOST: Final = 40
"""The most steps between the two of one answer alone; each lies at about half the level of the next."""

DIGITS: Final = 6
"""The levels of the steps have so many digits, rounded down."""

ROUGH: Final = 4
"""Ends that are wanted fast are those of a corner so few steps from the best one."""

Reach: TypeAlias = Callable[[int, Fraction, int], "Fraction | None"]
"""The distance of the truth from the first value or the second, at most, at a level and on a side; None where nothing
bounds it."""

CHOSEN: Final = "biased where the second answer was chosen by the first"


@lru_cache(maxsize=1_024)
def steps(level: Fraction) -> tuple[Fraction, ...]:
    """Ascending levels up to 1, of which the first belongs to the last, the second to the last but one, and so on: both
    p-values lie in such a pair of levels for at most `level` of the time. It is 1/2 at most.

    >>> from dpviz.exact import text
    >>> [text(round(one, 4)) for one in steps(Fraction(1, 40))]
    ['0.0051', '0.0103', '0.0197', '0.0375', '0.0717', '0.137', '0.2617', '0.5', '1']
    """
    if level > LEAST:
        number = min(MOST, max(1, round(-math.log2(4 * _fisher(float(level)))) + 1))
        below, above = 0.0, float(level)
        for _ in range(80):
            middle = (below + above) / 2
            below, above = (middle, above) if _area(_levels(middle, number)) <= level else (below, middle)
        found = tuple(WHOLE if one == 1 else _down(one) for one in _levels(below, number))
        if area(found) <= level:
            return found
    return level / 2, WHOLE


def area(levels: tuple[Fraction, ...]) -> Fraction:
    """The area of the staircase whose corners are pairs of these levels, the first with the last and so on."""
    lows = (NONE, *levels)
    return sum(((x - low) * y for low, x, y in zip(lows, levels, reversed(levels), strict=False)), NONE)


def _area(levels: list[float]) -> float:
    lows = [0.0, *levels]
    return sum((x - low) * y for low, x, y in zip(lows, levels, reversed(levels), strict=False))


def _levels(curve: float, number: int) -> list[float]:
    """Levels x whose corners lie on x y = curve, with y at most 1/2, and the two of one answer alone."""
    if number == 1:
        return [curve, math.sqrt(curve), 1.0]
    widest = 1 / (4 * curve)
    return [curve, *(2 * curve * widest ** (at / (number - 1)) for at in range(number)), 1.0]


def _fisher(level: float) -> float:
    """The number that the product of two p-values falls below for `level` of the time: c (1 - log c) = level."""
    low, high = 0.0, level
    for _ in range(80):
        middle = (low + high) / 2
        low, high = (middle, high) if not middle or middle * (1 - math.log(middle)) <= level else (low, middle)
    return high


def _down(number: float) -> Fraction:
    exact = Fraction(number)
    return floor_to(exact, place(exact, DIGITS))


def reach_of(error: LinearError, level: Fraction, side: int) -> Fraction | None:
    """The distance of the truth below (side 0) or above a value, at most, but for `level` of the time; None where
    nothing bounds it."""
    found = error.ends(level * 2 if error.ends_alone else level)[side]
    return None if found is None else found.value


@lru_cache(maxsize=4_096)
def _kept(error: LinearError, level: Fraction, side: int) -> Fraction | None:
    return reach_of(error, level, side)


def _reach(error: LinearError, level: Fraction, side: int) -> Fraction | None:
    """`reach_of`, kept for the next who asks: of many bins, most have the same law."""
    try:
        return _kept(error, level, side)
    except TypeError:  # one that cannot be told from others
        return reach_of(error, level, side)


@lru_cache(maxsize=64)
def _both_far(error: LinearError, level: Fraction) -> dict[Fraction, tuple[float, float] | None]:
    """No less than both of `reach_of`, where that is known faster, at each step of a level below 1."""
    every, more = steps(level)[:-1], 2 if error.ends_alone else 1
    return dict(zip(every, error.far_ends_at([one * more for one in every]), strict=True))


def _far(error: LinearError, level: Fraction) -> dict[Fraction, tuple[float, float] | None]:
    """`_both_far`, kept for the next who asks."""
    try:
        return _both_far(error, level)
    except TypeError:  # one that cannot be told from others
        return _both_far.__wrapped__(error, level)


@dataclass(frozen=True)
class EitherError(LinearError):
    """The error of the mean of two values with these weights, by the p-values of both.

    chosen  whether the later answer may have been chosen by the earlier one: then the weights may have been, too
    known   the ends that were found, by their level
    """

    values: tuple[Fraction | Enclosed, Fraction | Enclosed]
    errors: tuple[LinearError, LinearError]
    weights: tuple[Fraction, Fraction]
    chosen: bool = True
    known: dict[Fraction, tuple[Fraction | None, Fraction | None, bool]] = field(default_factory=dict, compare=False)

    @property
    def equal_tails(self) -> bool:
        return True

    @property
    def ends_alone(self) -> bool:
        return True

    @property
    def rule(self) -> str:
        rules = " / ".join(dict.fromkeys(error.rule for error in self.errors))
        return f"the p-values of both answers, multiplied: {rules}"

    @property
    def why_open(self) -> str:
        return " ".join(dict.fromkeys(error.why_open for error in self.errors if error.why_open))

    @property
    def bias(self) -> Bias:
        words = dict.fromkeys(error.bias.words for error in self.errors if error.bias != UNBIASED)
        found = [*words, *([CHOSEN] if self.chosen else [])]
        return Bias("; ".join(found)) if found else UNBIASED

    @property
    def _middle(self) -> Enclosed:
        (one, other), (mine, theirs) = self.values, self.weights
        return between(plus(plus(NONE, one, mine), other, theirs))

    def _end(
        self, levels: tuple[Fraction, ...], side: int, reach: Reach, near: int
    ) -> tuple[Fraction | None, Fraction | None]:
        """The end below (side 0) or above that lies farthest in of all corners, and the farther one of either answer
        alone. By a corner the end is the farther one of two: from one corner to the next that of the first answer moves
        in and that of the second out, so the best corners are where they pass each other. Any corner holds; the search
        ends so `near` the best."""

        def at(place: int, level: Fraction) -> Fraction | None:
            found = reach(place, level, side)
            return None if found is None else values[place].high + found if side else values[place].low - found

        values, (inner, outer) = [between(value) for value in self.values], (min, max) if side else (max, min)
        alone = [end for end in (at(place, levels[0]) for place in (0, 1)) if end is not None]
        found, last = list(alone), len(levels) - 1
        low, high = 0, last  # the first answer's end lies farther out at the former, and farther in at the latter
        while high - low > near and len(alone) == 2:
            corner = (low + high) // 2
            first, second = at(0, levels[corner]), at(1, levels[last - corner])
            if first is None or second is None:
                break
            found.append(outer(first, second))
            low, high = (corner, high) if first == found[-1] else (low, corner)
        return inner(found, default=None), outer(alone, default=None)

    def _both(self, beta: Fraction, reach: Reach, near: int) -> tuple[Fraction | None, Fraction | None, bool]:
        """Both ends, and whether the two answers have nothing in common."""
        levels = steps(beta / 2)
        (low, lowest), (high, highest) = (self._end(levels, side, reach, near) for side in (0, 1))
        apart = low is not None and high is not None and low > high
        return (lowest, highest, True) if apart else (low, high, False)

    def _ends(self, beta: Fraction) -> tuple[Fraction | None, Fraction | None, bool]:
        if beta not in self.known:
            self.known[beta] = self._both(beta, lambda place, level, side: _reach(self.errors[place], level, side), 1)
        return self.known[beta]

    def far_ends(self, beta: Fraction) -> tuple[float, float] | None:
        known = [_far(error, beta / 2) for error in self.errors]

        def reach(place: int, level: Fraction, side: int) -> Fraction | None:
            ends = known[place][level]
            return None if ends is None else Fraction(ends[side])

        low, high, _ = self._both(beta, reach, ROUGH)
        if low is None or high is None:
            return None
        middle = self._middle
        return up(middle.low - low), up(high - middle.high)

    def ends(self, beta: Fraction) -> Ends:
        low, high, _ = self._ends(beta)
        middle = self._middle
        below, above = None if low is None else middle.low - low, None if high is None else high - middle.high
        return tuple(None if end is None else Quantile(end, end) for end in (below, above))  # type: ignore[return-value]

    def remark(self, beta: Fraction) -> str:
        if self._ends(beta)[2]:
            return "The two answers have nothing in common at this level; what spans both is given."
        return ""

    def at_least(self, gap: Fraction) -> Enclosure | None:
        """The chance that the product of two p-values, each of its own value, is as small."""
        chances = [error.at_least(between(value).low) for value, error in zip(self.values, self.errors, strict=True)]
        known = [chance[1] for chance in chances if chance is not None]
        if not known:
            return None
        product = math.prod(known, start=WHOLE)
        if not product:
            return NONE, NONE
        return NONE, min(WHOLE, product * (1 + log_bounds(1 / product)[1]))


def reach_in_accord(one: LinearError, other: LinearError, beta: Fraction) -> Fraction | None:
    """The distance of either end from two values that are the same, the larger one; None where an end is open."""
    found = [end for end in EitherError((NONE, NONE), (one, other), (HALF, HALF)).ends(beta) if end is not None]
    return max(found, key=lambda end: end.value).value if len(found) == 2 else None


protect_module(vars())
