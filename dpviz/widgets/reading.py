"""Points of a stored answer, read for a page: their released values, each with its interval. Free, as in Python."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from dpviz.boundary import protect_module
from dpviz.errors import DomainError, Forbidden, ReleaseFormat, short
from dpviz.exact import text
from dpviz.model.between import Enclosed, between

if TYPE_CHECKING:
    from dpviz.model.release import Release

NOT_FREE = "a page reads answers that are read for free"
"""The rule for an answer whose every reading is paid for."""


def read_points(
    release: Release, points: Sequence[Sequence[str]], beta: Fraction, reader: str = ""
) -> list[dict[str, Any]]:
    """The value of each point and an interval that holds for it alone, but for a chance of `beta`, and how that is
    known. Of an estimator whose error nobody states there is the value alone.

    A point is one text for each column of the question; reader is one of the answer's, the first where none is named.
    Raises an error of ours for a point that is not on the axis, for a list, and for an answer whose reading is not
    free; then nothing is read.
    """
    from dpviz.model.answers.values import listed

    if not release.terms.reuse:
        raise Forbidden.of(release.answer.kind, NOT_FREE, "read it in Python")
    answer, reading = release.answer, release.reading
    places = [_point(release, point) for point in points]
    values = listed(answer.read(reading, places, reader))
    intervals = answer.intervals(reading, beta, points=places, reader=reader)
    if intervals is None and reader in ("", *answer.readers[:1]):
        raise ReleaseFormat.of(answer.kind, "this answer has no error bar per bin", "read the value: release[label]")
    if intervals is None:
        nothing = {"low": "", "high": "", "known": "", "rule": ""}
        return [{"point": list(point), **_value(value), **nothing} for point, value in zip(points, values, strict=True)]
    known = {"known": intervals.how, "rule": intervals.rule}
    return [
        {"point": list(point), **_value(value), "low": _end(low), "high": _end(high), **known}
        for point, value, low, high in zip(points, values, intervals.low, intervals.high, strict=True)
    ]


def _value(value: int | Fraction | Enclosed) -> dict[str, str]:
    """A released value as exact text; of an enclosure its middle, and both its ends."""
    enclosed = between(value)
    if enclosed.low == enclosed.high:
        return {"value": text(enclosed.low)}
    return {"value": text(enclosed.middle), "value_low": text(enclosed.low), "value_high": text(enclosed.high)}


def _end(end: Any) -> str:
    """An end of an interval as exact text; empty where it is open."""
    return "" if end is None else text(Fraction(int(end)) if isinstance(end, np.integer) else Fraction(end))


def _point(release: Release, point: Sequence[str]) -> Any:
    """The point of the answer that these texts name."""
    domain = release.question.domain
    if len(point) != len(domain.columns):
        parts, columns = len(point), " and ".join(domain.columns)
        raise DomainError.of(
            f"{parts} texts",
            f"a point of {columns} has {len(domain.columns)}, one for each column",
            "type one text for each column",
        )
    try:
        return release.answer.point(release.reading, point[0] if len(point) == 1 else tuple(point))
    except DomainError:
        # a look-up in Python names no label in its refusal; what a page sent was typed by a person to be read
        raise DomainError.of(
            short(", ".join(point)), f"a bin must be one of {domain.text}", "type one of these"
        ) from None


protect_module(vars())
