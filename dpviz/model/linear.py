"""Linear questions to a paid answer: sums of its counts with public weights, and what is known of their error.

The shape of an answer says which points there are and what a weighted sum of its values is; the law that the answer was
drawn from says how far that sum may be from the truth (`StoredLaw.linear`). Everything here is free and public.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Final, Literal, NoReturn, TypeAlias

import numpy as np
from numpy.typing import NDArray

from dpviz.boundary import protect_module
from dpviz.errors import DomainError
from dpviz.exact import Enclosure

if TYPE_CHECKING:
    from dpviz.fitting.running_shares import NoiseOfBins
    from dpviz.fitting.sums import NoiseSum, Quantile

Kind: TypeAlias = Literal["sums", "ranges", "pairs"]
"""The event that a statement about all of a kind is about: any sums, all ranges of rows, all differences of two
rows."""

Ends: TypeAlias = "tuple[Quantile | None, Quantile | None]"
"""Bound the truth below and above a value; None where nothing bounds it."""

NONE: Final = Fraction(0)


@dataclass(frozen=True)
class Query:
    """A sum of true counts with public weights.

    parts  points of one answer, and the weight of each of them. A `range` of rows stands for all rows in it. No point
           comes twice, and no weight is 0

    >>> Query.of((range(3), 1), ([7], -1)).size
    4
    """

    parts: tuple[tuple[Sequence[Any], Fraction], ...]

    @classmethod
    def of(cls, *parts: tuple[Sequence[Any], Fraction | int]) -> Query:
        """The query with these points and weights, of which no point comes twice."""
        kept = ((_kept(points), Fraction(weight)) for points, weight in parts)
        return cls(tuple((points, weight) for points, weight in kept if weight and points != ()))

    @classmethod
    def minus(cls, of: Sequence[Any], other: Sequence[Any]) -> Query:
        """The counts of some points less those of others; what is among both cancels."""
        return cls.of(*((piece, 1) for piece in outside(of, other)), *((piece, -1) for piece in outside(other, of)))

    @property
    def size(self) -> int:
        """How many points have a weight. Raises DomainError where nobody can say."""
        return sum(length(points) for points, _ in self.parts)

    def times(self, factor: Fraction) -> Iterable[tuple[Sequence[Any], Fraction]]:
        """The parts of a multiple."""
        return ((points, factor * weight) for points, weight in self.parts)

    @property
    def total(self) -> Fraction:
        """The sum of the sizes of all weights."""
        return sum((abs(weight) * length(points) for points, weight in self.parts), NONE)

    @property
    def one_by_one(self) -> bool:
        """Whether it compares two single points."""
        return sorted(weight for _, weight in self.parts) == [-1, 1] and self.size == 2


def _kept(points: Sequence[Any]) -> Sequence[Any]:
    if isinstance(points, AllKeys) or (isinstance(points, range) and points):
        return points
    return tuple(points)


def length(points: Sequence[Any]) -> int:
    """How many points there are: a range may be longer than `len` can say."""
    return max(0, points.stop - points.start) if isinstance(points, range) else len(points)


class AllKeys(Sequence[Any]):
    """All keys of a domain that declares none: what is shown is among them, and nobody can say how many there are."""

    def __len__(self) -> int:
        raise DomainError.of("all keys", "nobody can say how many keys there are", "name the labels of the sum")

    def __getitem__(self, place: Any) -> NoReturn:
        raise IndexError(place)

    def __contains__(self, point: object) -> bool:
        return True

    def __hash__(self) -> int:
        return 0

    def __eq__(self, other: object) -> bool:
        return isinstance(other, AllKeys)


class Members:
    """The points as a set that may be a range of any length."""

    def __init__(self, points: Sequence[Any]) -> None:
        self._points: Any = points if isinstance(points, range | AllKeys) else frozenset(points)

    def __contains__(self, point: object) -> bool:
        return point in self._points


def outside(points: Sequence[Any], other: Sequence[Any]) -> list[Sequence[Any]]:
    """The points that are not among others, in pieces: of a range, ranges, however long it is."""
    there = Members(other)
    if isinstance(points, AllKeys):
        raise DomainError.of("all keys", "nobody can say which keys are left", "name the labels on both sides")
    if not isinstance(points, range):
        return [[point for point in points if point not in there]]
    if isinstance(other, range):
        return [range(points.start, min(points.stop, other.start)), range(max(points.start, other.stop), points.stop)]
    cuts = sorted(point for point in other if point in points)
    starts = [points.start, *(cut + 1 for cut in cuts)]
    return [range(*ends) for ends in zip(starts, [*cuts, points.stop], strict=True) if ends[0] < ends[1]]


def inside(points: Sequence[Any], other: Sequence[Any]) -> bool:
    """Whether all of these points are among others."""
    if isinstance(points, range) and isinstance(other, range):
        return other.start <= points.start and points.stop <= other.stop
    there = Members(other)
    return length(points) <= length(other) and all(point in there for point in points)


@dataclass(frozen=True)
class CountRange:
    """Public facts about true counts: none is below `least` or above `most`, and all add up to `total` at most."""

    least: int | None = 0
    most: int | None = None
    total: int | None = None

    def of(self, query: Query) -> tuple[Fraction | None, Fraction | None]:
        """Between which limits the weighted sum of a query lies; None where there is none on that side."""
        mirrored = [(points, -weight) for points, weight in query.parts]
        least, most = self._most(mirrored), self._most(query.parts)
        return None if least is None else -least, most

    def _most(self, parts: Iterable[tuple[Sequence[Any], Fraction]]) -> Fraction | None:
        """The largest sum. By `total` alone all of it lies where the weight is largest, if no count is below 0."""
        parts = list(parts)
        ends = [(weight, points, self.most if weight > 0 else self.least) for points, weight in parts]
        bounds = []
        if all(end == 0 or (end is not None and not isinstance(points, AllKeys)) for _, points, end in ends):
            bounds.append(sum((weight * length(points) * end for weight, points, end in ends if end), NONE))
        if self.total is not None and self.least is not None and self.least >= 0:
            bounds.append(max(NONE, *(weight for weight, _, _ in ends), NONE) * self.total)
        return min(bounds, default=None)


@dataclass(frozen=True)
class Bias:
    """The mean error of a value, in words, and between which numbers it lies; None where nothing bounds it."""

    words: str
    low: Fraction | None = None
    high: Fraction | None = None


UNBIASED: Final = Bias("unbiased", NONE, NONE)


class LinearError:
    """The error `value - truth` of one linear question, as far as it is known. A law overrides what it can say."""

    @property
    def exact(self) -> bool:
        """Whether the ends are the least that hold; if not, they are proved bounds."""
        return False

    @property
    def equal_tails(self) -> bool:
        """Whether ends at beta miss on each side for beta / 2 of the time at most, but for one event that all queries
        over the same points share."""
        return False

    @property
    def ends_alone(self) -> bool:
        """Whether each of the ends at beta by itself fails beta / 2 of the time at most, with no event besides."""
        return False

    @property
    def independent(self) -> bool:
        """Whether errors of two queries are independent where no point is in both."""
        return False

    @property
    def rule(self) -> str:
        """By which rule the ends are known."""
        raise NotImplementedError

    @property
    def why_open(self) -> str:
        """Why an end is open, as a sentence; or nothing."""
        return ""

    @property
    def bias(self) -> Bias:
        raise NotImplementedError

    @property
    def distribution(self) -> NoiseSum | None:
        """The law of `value - truth`, where that is a sum of independent noises whatever the truth is."""
        return None

    def ends(self, beta: Fraction) -> Ends:
        """Bound the truth below the value and above it: the two fail at most beta of the time together."""
        raise NotImplementedError

    @property
    def about_deviation(self) -> float:
        """About the standard deviation, for searches; 0 where it is not known."""
        return 0.0

    def far_ends(self, beta: Fraction) -> tuple[float, float] | None:
        """Numbers that `ends(beta)` does not exceed, below and above, where they are known faster; else None."""
        return None

    def far_ends_at(self, betas: Sequence[Fraction]) -> list[tuple[float, float] | None]:
        """`far_ends` for each of several betas."""
        return [self.far_ends(beta) for beta in betas]

    def ends_between(
        self, last: LinearError, beta: Fraction, number: int
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]] | None:
        """Numbers that `ends(beta)` does not exceed, below and above, for so many queries from this one to a last one,
        of which each has one point more at the last one's weight; None where that is not known at once."""
        return None

    @property
    def bin_noise(self) -> NoiseOfBins | None:
        """The noise of each bin, where it is independent and of one law, and the sums of values are the answer's."""
        return None

    def remark(self, beta: Fraction) -> str:
        """A sentence that a reader of the ends must know besides; or nothing."""
        return ""

    def at_least(self, gap: Fraction) -> Enclosure | None:
        """The chance, at most, of `value - truth >= gap`. Enclosed where `exact`; None where nothing bounds it."""
        return None

    def pair(self, gap: Fraction) -> Enclosure | None:
        """The same, enclosed, for the difference of two single points, a gap above 0, and any truth that is not above
        0; None where only `at_least` is known."""
        return None

    def largest_gap(self, rows: int, gap: Fraction) -> Enclosure | None:
        """The chance, at most, that any two of all values show such a gap where the first is truly no larger."""
        return None

    def every(self, kind: Kind, rows: int, beta: Fraction) -> tuple[Ends, str] | None:
        """The ends that hold for all questions of a kind at once, and by which rule; None: by a union bound.

        rows  how many rows there are
        """
        return None


protect_module(vars())
