"""The error of a weighted sum, from the law of the sum of its noises: loaded once a paid answer is asked for one."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Final, cast

from dpviz.boundary import protect_module
from dpviz.exact import Enclosure, ceil_to, place
from dpviz.fitting.noises import Noises, Term
from dpviz.fitting.shares import Pair
from dpviz.fitting.sums import NoiseSum, Quantile
from dpviz.model.between import Enclosed
from dpviz.model.error import ErrorValue
from dpviz.model.linear import NONE, UNBIASED, Bias, Ends, LinearError, Query

TINY: Final = Fraction(1, 10**30)
"""Below this level a quantile that floats leave open is not settled: in integers it would take seconds."""


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
    def equal_tails(self) -> bool:
        return True

    @property
    def ends_alone(self) -> bool:
        return not self.spare

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

    @property
    def about_deviation(self) -> float:
        return min(self.over.noises.about_deviation, self.under.noises.about_deviation)

    def far_ends(self, beta: Fraction) -> tuple[float, float] | None:
        return self.far_ends_at([beta])[0]

    def far_ends_at(self, betas: Sequence[Fraction]) -> list[tuple[float, float] | None]:
        levels = [(beta - self.spare) / 2 for beta in betas]
        known = [level for level in levels if level > 0]
        if self.over_more is None or self.under_more is None or not known:
            return [None] * len(betas)
        more = float(self.over_more), float(self.under_more)
        below = _far(self.over.noises, tuple(known))
        above = below if self.under is self.over else _far(self.under.noises, tuple(known))
        ends = iter(zip((one + more[0] for one in below), (one + more[1] for one in above), strict=True))
        return [next(ends) if level > 0 else None for level in levels]

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
    value: Callable[[Query], Fraction | Enclosed],
    error: Callable[[Query], LinearError],
) -> Pair | None:
    """Two linear questions without a point in common as a pair of noisy sums; None where a law or a value of theirs is
    not known exactly."""
    values = [value(query) for query in (first, second)]
    known = all(error(query).distribution is not None for query in (first, second))
    if not known or any(isinstance(one, Enclosed) for one in values):
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


@lru_cache(maxsize=1_024)
def _far(noises: Noises, levels: tuple[Fraction, ...]) -> tuple[float, ...]:
    """Numbers that the sum exceeds with at most these probabilities, kept for the next who asks: a sum of counts and
    that of all others come with the same laws in turn."""
    return tuple(float(one) for one in NoiseSum(noises).chernoff_at(levels))


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
