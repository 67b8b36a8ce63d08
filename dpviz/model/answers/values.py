"""Arithmetic on released values: sums, intervals around them, and the columns of a frame."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpviz.boundary import protect_module
from dpviz.errors import DomainError
from dpviz.model.answers.reading import Intervals, Points, Values
from dpviz.model.between import Enclosed, between, is_enclosed
from dpviz.model.error import ErrorValue


def whole_sum(values: NDArray[np.int64]) -> Fraction:
    """The sum of whole numbers of 64 bits, however long it is."""
    high, low = values >> 32, values & 0xFFFFFFFF
    return Fraction((int(high.sum()) << 32) + int(low.sum()))


def fractions_sum(values: Sequence[Fraction | Enclosed]) -> Fraction | Enclosed:
    """The sum of fractions, or of enclosures."""
    total: Fraction | Enclosed = Fraction(0)
    for value in values:
        total = plus(total, value, Fraction(1))
    return total


def plus(first: Fraction | Enclosed, second: Fraction | Enclosed, weight: Fraction) -> Fraction | Enclosed:
    """The first plus so many times the second."""
    if not isinstance(first, Enclosed) and not isinstance(second, Enclosed):
        return first + weight * second
    one, other = between(first), between(second)
    low, high = sorted((weight * other.low, weight * other.high))
    return Enclosed(one.low + low, one.high + high)


def around(values: Values, bar: ErrorValue, clamp: tuple[int | None, int | None]) -> Intervals:
    """Each value ± the half-width of a bar, cut at the public limits, which the truth respects too.

    Whole numbers err by whole counts, so there the half-width is rounded down; fractions keep all of it, and of an
    enclosure the interval begins below its lower end and ends above its upper one.
    """
    if not isinstance(values, np.ndarray):
        return _around_fractions(values, bar, clamp)
    half, counts = int(bar.value // 1), values
    low, high = counts - half, counts + half
    least, most = clamp
    below = np.zeros(len(counts), dtype=np.bool_) if least is None else low < least
    above = np.zeros(len(counts), dtype=np.bool_) if most is None else high > most
    return Intervals(
        low=low if least is None else np.maximum(low, least),
        high=high if most is None else np.minimum(high, most),
        how=bar.how,
        rule=bar.rule,
        low_cut=below,
        high_cut=above,
    )


def _around_fractions(
    values: Sequence[Fraction | Enclosed], bar: ErrorValue, clamp: tuple[int | None, int | None]
) -> Intervals:
    least, most = clamp
    low = [between(value).low - bar.value for value in values]
    high = [between(value).high + bar.value for value in values]
    return Intervals(
        low=low if least is None else [max(end, Fraction(least)) for end in low],
        high=high if most is None else [min(end, Fraction(most)) for end in high],
        how=bar.how,
        rule=bar.rule,
        low_cut=np.array([least is not None and end < least for end in low], dtype=np.bool_),
        high_cut=np.array([most is not None and end > most for end in high], dtype=np.bool_),
    )


def listed(values: Values) -> list[Any]:
    """Released values as numbers of Python, or enclosures."""
    return values.tolist() if isinstance(values, np.ndarray) else list(values)


def value_columns(values: Values) -> dict[str, Any]:
    """The columns of a frame for released values: `value`; of enclosures their middles, with `value_low` and
    `value_high`, between which each value lies."""
    if isinstance(values, np.ndarray) or not is_enclosed(values):
        return {"value": values}
    ends = [between(value) for value in values]
    return {
        "value": [value.middle for value in ends],
        "value_low": [value.low for value in ends],
        "value_high": [value.high for value in ends],
    }


def rows_or(points: Points, size: int) -> slice | list[int]:
    """The points as the index of an array of so many rows: rows as a slice, others as a list, each checked."""
    if points is None or isinstance(points, slice):
        return points or slice(None)
    rows = [int(point) if isinstance(point, int | np.integer) else -1 for point in points]
    if any(not 0 <= row < size for row in rows):
        raise DomainError.of(
            "a point", f"a point of this answer is the number of a row, from 0 to {size - 1:,}", "read release[label]"
        )
    return rows


protect_module(vars())
