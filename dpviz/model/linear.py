"""Linear questions to a paid answer: sums of its counts with public weights, and what is known of their error.

The shape of an answer says which points there are and what a weighted sum of its values is; the law that the answer was
drawn from says how far that sum may be from the truth (`StoredLaw.linear`). Everything here is free and public.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any, Final, Literal, NoReturn, TypeAlias, cast

from dpviz.boundary import protect_module
from dpviz.errors import DomainError
from dpviz.exact import Enclosure, ceil_to, place
from dpviz.fitting.noises import Noises, Term
from dpviz.fitting.shares import Pair
from dpviz.fitting.sums import NoiseSum, Quantile
from dpviz.model.between import Between
from dpviz.model.error import ErrorValue

Kind: TypeAlias = Literal["sums", "ranges", "pairs"]
"""What a statement about all of a kind is about: any sums, all ranges of rows, all differences of two rows."""

Ends: TypeAlias = tuple[Quantile | None, Quantile | None]
"""How far the truth may lie below and above a value; None where nothing bounds it."""

NONE: Final = Fraction(0)

TINY: Final = Fraction(1, 10**30)
"""Below this level a quantile that floats leave open is not settled: in integers it would take seconds."""


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
class Limits:
    """What is public about true counts: none is below `least` or above `most`, and all add up to `total` at most."""

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
    """What is known of `value - truth` for one linear question. A law overrides what it can say."""

    @property
    def exact(self) -> bool:
        """Whether the ends are the least that hold; if not, they are proved bounds."""
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
        """How far the truth may lie below the value and above it: the two fail at most beta of the time together."""
        raise NotImplementedError

    def remark(self, beta: Fraction) -> str:
        """What a reader of the ends must know besides, as a sentence; or nothing."""
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


@dataclass(frozen=True)
class SumError(LinearError):
    """An error between two sums of independent noises, or one whose law is such a sum.

    over, under  `value - truth` is at most the first sum plus `over_more`, `truth - value` the second plus
                 `under_more`; these are None where nothing bounds them
    certain      whether over, and minus under, are the error itself: then it is unbiased, and its law is exact
    spare        the chance that neither holds, as where a sampler replaces a count by a uniform one
    why          why an end is open
    bias_words   what biases the value, where it is not certain
    over_mean, under_mean  the mean error is at most the mean of `over` and this, and likewise below; None: not known
    """

    over: NoiseSum
    under: NoiseSum
    certain: bool
    by: str
    over_more: Fraction | None = NONE
    under_more: Fraction | None = NONE
    spare: Fraction = NONE
    why: str = ""
    bias_words: str = "biased"
    over_mean: Fraction | None = NONE
    under_mean: Fraction | None = NONE

    @property
    def exact(self) -> bool:
        return self.certain and not self.spare

    @property
    def rule(self) -> str:
        return self.by

    @property
    def why_open(self) -> str:
        return self.why

    @property
    def bias(self) -> Bias:
        if self.exact:
            return UNBIASED
        low = None if self.under_mean is None else -_up(self.under.mean()[1] + self.under_mean)
        high = None if self.over_mean is None else _up(self.over.mean()[1] + self.over_mean)
        return Bias(self.bias_words, low, high)

    @property
    def distribution(self) -> NoiseSum | None:
        return self.over if self.exact else None

    def ends(self, beta: Fraction) -> Ends:
        level = (beta - self.spare) / 2
        if level <= 0:
            return None, None
        return _reach(self.over, self.over_more, level), _reach(self.under, self.under_more, level)

    def at_least(self, gap: Fraction) -> Enclosure | None:
        if self.over_more is None:
            return None
        low, high = self.over.at_least(gap - self.over_more)
        return max(NONE, low), min(Fraction(1), high + self.spare)

    @property
    def noise(self) -> NoiseSum:
        """The sum of the noises as they were drawn, before any clamp: what weights go by."""
        return NoiseSum.of(Term(one.noise, one.weight, one.count) for one in self.over.noises.terms)

    def plus(self, other: SumError, mine: Fraction, theirs: Fraction) -> SumError:
        """The error of a weighted sum of this value and an independent one, with weights above 0 or equal to 0."""
        both = (mine, self), (theirs, other)
        used = [one for weight, one in both if weight]
        return SumError(
            over=NoiseSum.of(term for weight, one in both for term in scaled(one.over, weight)),
            under=NoiseSum.of(term for weight, one in both for term in scaled(one.under, weight)),
            certain=all(one.certain for one in used),
            by=" and ".join(dict.fromkeys(one.by for one in used)),
            over_more=_sum((weight, one.over_more) for weight, one in both),
            under_more=_sum((weight, one.under_more) for weight, one in both),
            spare=min(Fraction(1), sum((one.spare for one in used), NONE)),
            why=" ".join(dict.fromkeys(one.why for one in used if one.why)),
            bias_words="; ".join(dict.fromkeys(one.bias_words for one in used if not one.certain)),
            over_mean=_sum((weight, one.over_mean) for weight, one in both),
            under_mean=_sum((weight, one.under_mean) for weight, one in both),
        )


@dataclass(frozen=True)
class WorstError(LinearError):
    """An error of at most `weight` times the worst error of any of the points, whatever their dependence.

    worst   how far the worst of them may be off, for a beta
    beyond  the chance, at most, that one of them is off by more than a whole number; None where nothing bounds it
    weight  the sum of the sizes of all weights
    """

    worst: Callable[[Fraction], ErrorValue]
    weight: Fraction
    by: str
    bias_words: str
    beyond: Callable[[int], Fraction] | None = None

    @property
    def rule(self) -> str:
        return self.by

    @property
    def bias(self) -> Bias:
        return Bias(self.bias_words)

    def ends(self, beta: Fraction) -> Ends:
        reach = self.weight * self.worst(beta).value
        return Quantile(reach, reach), Quantile(reach, reach)

    def at_least(self, gap: Fraction) -> Enclosure | None:
        if gap <= 0:
            return Fraction(1), Fraction(1)
        if self.beyond is None:
            return None
        within = -(-gap // self.weight) - 1  # the largest whole number w with weight * w < gap
        return NONE, min(Fraction(1), self.beyond(int(within)))


def pair_of(
    first: Query,
    second: Query,
    value: Callable[[Query], Fraction | Between],
    error: Callable[[Query], LinearError],
) -> Pair | None:
    """Two linear questions without a point in common as a pair of noisy sums; None where a law or a value of theirs is
    not known exactly."""
    values = [value(query) for query in (first, second)]
    known = all(error(query).distribution is not None for query in (first, second))
    if not known or any(isinstance(one, Between) for one in values):
        return None

    def law(x: Fraction, y: Fraction) -> NoiseSum:
        found = error(Query.of(*first.times(x), *second.times(y))).distribution
        assert found is not None
        return found

    return Pair(cast(Fraction, values[0]), cast(Fraction, values[1]), law)


def quantile(noise: NoiseSum, level: Fraction) -> Quantile:
    """`noise.upper(level)`, kept for the next who asks: of many questions, most have the same law."""
    return _quantile(noise.noises, level)


@lru_cache(maxsize=4_096)
def _quantile(noises: Noises, level: Fraction) -> Quantile:
    return NoiseSum(noises).upper(level, exactly=level >= TINY)


def _reach(noise: NoiseSum, more: Fraction | None, level: Fraction) -> Quantile | None:
    if more is None:
        return None
    found = quantile(noise, level)
    return Quantile(found.value + more, found.least + more)


def _up(number: Fraction) -> Fraction:
    """A mean of 0 or more in four digits, rounded up."""
    return ceil_to(number, place(number, 4)) if number else number


def _sum(parts: Iterable[tuple[Fraction, Fraction | None]]) -> Fraction | None:
    """A weighted sum; None where a part of it is not known."""
    total = NONE
    for weight, part in parts:
        if weight and part is None:
            return None
        total += weight * (part or NONE)
    return total


def scaled(noise: NoiseSum, weight: Fraction) -> Iterable[Term]:
    """The terms of a multiple of a sum."""
    return (Term(one.noise, one.weight * weight, one.count, one.positive) for one in noise.noises.terms)


protect_module(vars())
