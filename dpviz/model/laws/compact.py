"""A noisy count for every label of a huge domain, in one polynomial over a finite field, and how far off it is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache, partial
from typing import Any, ClassVar, cast

import numpy as np

from dpviz.boundary import protect_module
from dpviz.exact import whole
from dpviz.laws import geometric
from dpviz.laws.geometric import TwoSidedGeometric
from dpviz.laws.search import least
from dpviz.model.answers import Answer, CompactTable, Reading
from dpviz.model.domain import bins_text
from dpviz.model.error import ErrorModel, ErrorValue, mean
from dpviz.model.laws.base import Clamp, StoredLaw, stored
from dpviz.model.laws.count_noise import FiniteLaw, NoiseLaw, inside
from dpviz.model.linear import CountRange, LinearError, Query
from dpviz.model.question import Question
from dpviz.model.sum_errors import WorstError
from dpviz.noise.empty_bin import EmptyBin
from dpviz.noise.field import field_named
from dpviz.noise.finite import FiniteSampler
from dpviz.privacy.unit import Unit


@stored
@dataclass(frozen=True)
class CompactLaw(StoredLaw):
    """A finite sampler's noise on the bins that are not empty, and uniform elements of a field for all others.

    field  the name of the field: `9*2^7+1`
    """

    name: ClassVar[str] = "compact"

    sampler: FiniteLaw
    field: str
    bins: int

    def __post_init__(self) -> None:
        whole(self.bins, "bins")

    @property
    def n(self) -> int:
        """The public bound on the number of rows."""
        return self.sampler.n

    @cached_property
    def noise(self) -> NoiseLaw:
        return NoiseLaw(None, self.sampler, self.n)

    @cached_property
    def empty(self) -> EmptyBin:
        """From the elements of the field to the counts of empty bins."""
        return EmptyBin(sampler_of(self.sampler), _order(self.field))

    @property
    def clamp(self) -> Clamp:
        return 0, self.n

    def belongs(self, question: Question, unit: Unit, max_items: int | None) -> bool:
        return self.bins == question.bins

    def accepts(self, answer: Answer) -> bool:
        """Whether it is a polynomial of degree n over the field, whose elements stand for the same counts."""
        return cast(CompactTable, answer).is_of(self.field, self.empty, self.n)

    @cached_property
    def error(self) -> ErrorModel:
        return CompactError(self)

    def limits(self, reading: Reading) -> CountRange:
        return CountRange(0, self.n, self.n)

    def linear(self, query: Query, answer: Answer | None, reading: Reading, reader: str = "") -> LinearError:
        """Reads of one polynomial depend on each other, so no law of a sum follows: each bin is off by no more than
        the worst of so many look-ups."""
        error, many = CompactError(self), min(query.size, self.bins)
        return WorstError(
            worst=partial(error.look_ups, many),
            weight=query.total,
            by=f"union bound over {many:,} look-ups, each as far off as the worst may be",
            bias_words="biased: counts that would be below 0 were raised to 0",
            beyond=partial(error.any_beyond, many),
        )


def sampler_of(law: FiniteLaw) -> FiniteSampler:
    """The sampler that draws a finite law."""
    fast = law.kind == "fastsample"
    return FiniteSampler(law.n, law.p, law.q, law.kind, law.g if fast else None, law.t if fast else None)


@lru_cache(maxsize=256)
def _order(field: str) -> int:
    """How many elements the field of that name has. Kept, for it proves a prime."""
    return field_named(field).order


@dataclass(frozen=True)
class CompactError(ErrorModel):
    """The error of a compact answer: exact for one bin, a union bound for several."""

    law: CompactLaw

    @cached_property
    def _count(self) -> Any:
        """The law of the noisy count of a bin that is not empty."""
        return self.law.noise.clamped

    def one_bin(self, beta: Fraction, *, count: int | None = None) -> ErrorValue:
        if count is None:
            rule = "worst case over exact counts; an empty bin errs less"
            return ErrorValue(Fraction(self._least(1, beta)), "exact", rule)
        if count == 0:
            empty = self.law.empty
            value = least(lambda a: a >= self.law.n or empty.above(a) <= beta)
            return ErrorValue(Fraction(value), "exact", "the law of an empty bin")
        within, beyond = inside(count, self.law.n)
        value = beyond + self._count.error_quantile(within, beta)
        return ErrorValue(Fraction(value), "exact", f"the law of a bin whose exact count is {count:,}")

    def all_bins(self, beta: Fraction) -> ErrorValue:
        value = self._least(self.law.bins, beta)
        return ErrorValue(Fraction(value), "bound", f"union bound over {bins_text(self.law.bins)}")

    def look_ups(self, number: int, beta: Fraction) -> ErrorValue:
        value = self._least(min(whole(number, "number"), self.law.bins), beta)
        return ErrorValue(Fraction(value), "bound", f"union bound over {number:,} look-ups")

    def any_beyond(self, bins: int, a: int) -> Fraction:
        """The chance, at most, that any of so many bins is off by more than a."""
        return min(Fraction(1), self._tails(bins, a))

    def _least(self, bins: int, beta: Fraction) -> int:
        """The least a with a sum of tails of at most beta, for every vector of `bins` counts of n rows in all."""
        near = min(self.law.n, geometric.error_quantile(self.law.noise.decay, beta / bins))
        return least(lambda a: self._tails(bins, a) <= beta, near=near)

    def _tails(self, bins: int, a: int) -> Fraction:
        """The largest sum of P[|h - c| > a]: a count errs on both sides only where a < c < n - a, and at most
        n // (a + 1) counts exceed a. Everywhere else an empty bin of the sampler's own law is the worst."""
        n = self.law.n
        if a >= n:
            return Fraction(0)
        edge = self._tail(0, a)
        if n < 2 * a + 2:
            return bins * edge
        both = min(bins, n // (a + 1))
        return both * max(edge, self._tail(a + 1, a)) + (bins - both) * edge

    def _tail(self, count: int, a: int) -> Fraction:
        tail = self._count.error_tail(count, a)
        return tail if isinstance(tail, Fraction) else cast(Fraction, tail[1])

    def expected(self, count: int) -> ErrorValue:
        if count == 0:
            return self._empty_mean
        within, beyond = inside(count, self.law.n)
        rule = f"mean of the law at an exact count of {count:,}"
        return mean(lambda precision: self._count.expected_error(within, precision), rule, beyond)

    def bias(self, count: int) -> ErrorValue:
        if count == 0:
            return self._empty_mean
        within, beyond = inside(count, self.law.n)
        rule = f"mean of the law at an exact count of {count:,}"
        return mean(lambda precision: self._count.bias(within, precision), rule, -beyond)

    @cached_property
    def _empty_mean(self) -> ErrorValue:
        """The mean noisy count of an empty bin, which is its mean error and its mean absolute error."""
        exact = self.law.empty.mean
        return mean(lambda precision: (exact, exact), "mean of the law at an exact count of 0")

    def chance_shown(self, count: int) -> float:
        if count == 0:
            return float(self.law.empty.above(0))
        return float(self._count.chance_above(min(count, self.law.n), 0))

    def quantiles(self, levels: list[Fraction]) -> list[int]:
        return geometric.quantiles(self.law.noise.decay, levels)

    def reads(self, count: int, levels: Sequence[Fraction]) -> list[int | None]:
        if count:
            return [*self.law.noise.reads(min(count, self.law.n), levels)]
        return [least(lambda v, at=level: self.law.empty.above(v) <= 1 - at) for level in levels]  # type: ignore[misc]

    def chances(self, errors: list[int]) -> list[float]:
        law = TwoSidedGeometric(self.law.noise.decay)
        return [float(chance) for chance in law.pmf_array(np.array(errors, dtype=np.int64))]


protect_module(vars())
