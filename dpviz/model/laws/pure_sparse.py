"""Noise on every bin of a huge domain, of which only the largest noisy counts are shown, and how far off they are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property, partial
from typing import ClassVar, cast

from dpviz.boundary import protect_module
from dpviz.errors import ReleaseFormat
from dpviz.exact import Decay, whole
from dpviz.laws import geometric
from dpviz.laws.keep_heavy import OneBin
from dpviz.laws.search import least
from dpviz.model.answers import Answer, Reading, SparseTable
from dpviz.model.error import ErrorModel, ErrorValue
from dpviz.model.laws.base import Clamp, StoredLaw, stored
from dpviz.model.laws.count_noise import clamped_sum
from dpviz.model.laws.stability import hidden_below
from dpviz.model.linear import CountRange, LinearError, Query
from dpviz.model.question import Question
from dpviz.privacy.unit import Unit


@stored
@dataclass(frozen=True)
class PureSparseLaw(StoredLaw):
    """Noise on each of so many bins, clamped to 0..n; the bins strictly above the (n + 1)-st largest are shown.

    certain  whether at most n are counted in all, for sure; else that is what the errors assume
    junk     the chance that what is shown is junk, where a strict mode may show it; else 0
    """

    name: ClassVar[str] = "pure-sparse"

    decay: Decay
    bins: int
    n: int
    certain: bool
    junk: Fraction

    def __post_init__(self) -> None:
        whole(self.n, "n", most=whole(self.bins, "bins"))
        if not 0 <= self.junk < 1:
            raise ReleaseFormat.damaged("the chance of junk lies in [0, 1)", str(self.junk))

    @cached_property
    def one(self) -> OneBin:
        """The law of one bin, as far as public things tell it."""
        return OneBin(self.decay, self.bins, self.n)

    @property
    def clamp(self) -> Clamp:
        return 0, self.n

    def belongs(self, question: Question, unit: Unit, max_items: int | None) -> bool:
        return self.bins == question.bins and self.certain == (unit.n == self.n)

    @cached_property
    def error(self) -> ErrorModel:
        return PureSparseError(self)

    def limits(self, reading: Reading) -> CountRange:
        return CountRange(0, self.n, self.n)

    def linear(self, query: Query, answer: Answer | None, reading: Reading, reader: str = "") -> LinearError:
        """A bin that is not shown was not above the (n + 1)-st largest noisy count, and every shown one was: so its own
        noisy count is below the least that is shown."""
        sparse = cast(SparseTable, answer)
        least_shown = int(sparse.values.min()) - 1 if len(sparse.values) else None
        noise = partial(clamped_sum, self.decay, top=True)
        error = hidden_below(noise, query, sparse, least_shown, None, fixed=False)
        given = "" if self.certain else f", if at most {self.n:,} are counted in all"
        return replace(error, by=error.by + given, spare=min(Fraction(1), error.spare + 2 * self.junk))


@dataclass(frozen=True)
class PureSparseError(ErrorModel):
    """The error where only the largest are shown: a bin that is not shown reads 0.

    Whether a bin is shown depends on all the others. Statements here hold for every histogram whose counts add up to at
    most n, which under replace-one of rows all do.
    """

    law: PureSparseLaw

    def _rule(self, rule: str) -> str:
        given = "" if self.law.certain else f", if at most {self.law.n:,} are counted in all"
        return f"{rule}, whatever the other bins hold{given}"

    def _left(self, beta: Fraction) -> Fraction:
        """The part of beta that the noise may use: junk, and the distance of strict mode from the exact law, take the
        rest."""
        return beta - 2 * self.law.junk

    def one_bin(self, beta: Fraction, *, count: int | None = None) -> ErrorValue:
        law, n = self.law.one, self.law.n
        if count is not None:
            inside, left = min(count, n), self._left(beta)  # a count above n is clamped
            near = min(inside, self._within(left))
            value = count - inside + least(lambda a: a >= n or law.tail(inside, a) <= left, near=near)
            return ErrorValue(Fraction(value), "bound", self._rule(f"the law of a bin whose exact count is {count:,}"))
        return ErrorValue(Fraction(self._worst(beta, 0)), "bound", self._rule("worst case over exact counts"))

    def all_bins(self, beta: Fraction) -> ErrorValue:
        value = self._worst(beta, self.law.n)
        return ErrorValue(Fraction(value), "bound", self._rule("union bound over bins, worst case over exact counts"))

    def _within(self, left: Fraction) -> int:
        """The value that the noise of a bin exceeds with at most this chance."""
        return self.law.n if left <= 0 else min(self.law.n, geometric.error_quantile(self.law.decay, left))

    def _worst(self, beta: Fraction, rows: int) -> int:
        """The least a at which a bin of a + 1, the worst there is, fails rarely enough; with `rows`, as many such bins
        as these can fill, and no noise of the whole domain above a."""
        law, left = self.law.one, self._left(beta)

        def holds(a: int) -> bool:
            if a >= self.law.n:
                return True
            fails = law.tail(a + 1, a)
            return (max(1, rows // (a + 1)) * fails + law.any_above(a) if rows else fails) <= left

        return least(holds, near=self._within(left / max(1, rows)))

    def shown(self, beta: Fraction) -> ErrorValue:
        value = self._within(self._left(beta))
        return ErrorValue(Fraction(value), "bound", "two-sided tail of the noise, worst case over exact counts")

    def chance_shown(self, count: int) -> float:
        """If all other bins are empty: each that is not makes it smaller."""
        return self.law.one.chance_shown(min(count, self.law.n))

    def quantiles(self, levels: list[Fraction]) -> list[int]:
        return geometric.quantiles(self.law.decay, levels)

    def reads(self, count: int, levels: Sequence[Fraction]) -> list[int | None]:
        """If all other bins are empty."""
        within = min(count, self.law.n)
        drawn = self.law.one.quantiles(within, levels)
        return [within + error if within + error > 0 else None for error in drawn]

    def near_the_cut(self, levels: list[Fraction]) -> tuple[int, list[int]] | None:
        """If all other bins are empty."""
        count = self.law.one.cut
        return (count, self.law.one.quantiles(count, levels)) if count >= 1 else None


protect_module(vars())
