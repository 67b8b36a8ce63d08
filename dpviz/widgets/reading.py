"""Points of a stored answer, read for a page: their released values, each with its interval. Free, as in Python."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from dpviz.errors import DomainError, Forbidden, short
from dpviz.hidden import guard
from dpviz.model.release import Release


def read_points(release: Release, points: Sequence[Sequence[str]], beta: Fraction) -> list[dict[str, Any]]:
    """The value of each point and an interval that holds for it alone, but for a chance of `beta`.

    A point is one text for each column of the question. Raises an error of ours for a point that is not on the axis,
    for a list, and for an answer whose reading is not free; then nothing is read.
    """
    if not release.bound.reuse:
        raise Forbidden("this answer is not read for free, so a page does not read it")
    values = [_value(release, point) for point in points]
    bar, _ = release.bars(beta)
    intervals = [release.interval(value, bar.value) for value in values]
    return [
        {"point": list(point), "value": str(value), "low": str(low), "high": str(high)}
        for point, value, (low, high) in zip(points, values, intervals, strict=True)
    ]


def _value(release: Release, point: Sequence[str]) -> int:
    domain = release.question.domain
    if len(point) != len(domain.columns):
        parts, columns = len(point), " and ".join(domain.columns)
        raise DomainError.of(f"{parts} texts", f"a point of {columns} has {len(domain.columns)}, one for each column")
    try:
        return release[point[0] if len(point) == 1 else tuple(point)]
    except DomainError:
        # a look-up in Python names no label in its refusal; what a page sent was typed by a person to be read
        raise DomainError.of(short(", ".join(point)), f"a bin must be one of {domain.text}") from None


guard(vars())
