"""Noise on the bins that are not empty, of which those above a threshold are shown, and how far off they are."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias, cast

from dpviz.boundary import protect_module
from dpviz.errors import ReleaseFormat
from dpviz.exact import Enclosure, decide, log1p_bounds, whole
from dpviz.laws.geometric import EXACTLY, PRECISION
from dpviz.laws.search import least
from dpviz.model.answers import Answer, Reading, SparseTable
from dpviz.model.error import ErrorModel, ErrorValue, How
from dpviz.model.laws.base import Clamp, StoredLaw, stored
from dpviz.model.laws.count_noise import GaussianNoise, NoiseLaw, TruncatedNoise, inside
from dpviz.model.linear import AllKeys, LinearError, Query, length
from dpviz.model.question import Question
from dpviz.model.words import shown
from dpviz.privacy.unit import Unit

if TYPE_CHECKING:  # loaded once somebody asks for a sum
    from dpviz.model.sum_errors import SumError


DrawnNoise: TypeAlias = NoiseLaw | TruncatedNoise | GaussianNoise


class OccupiedLaw(StoredLaw):
    """Noise on the counts that are not 0, whatever its law; noisy counts strictly above the threshold are shown.

    bins  how many bins are declared, where they are
    n     the public number of rows, where there is one
    """

    threshold: int
    bins: int | None
    n: int | None

    @property
    def drawn(self) -> DrawnNoise:
        """The noise in force."""
        raise NotImplementedError

    @property
    def clamp(self) -> Clamp:
        return 0, self.drawn.limit

    def belongs(self, question: Question, unit: Unit, max_items: int | None) -> bool:
        return self.bins == (question.bins if question.domain.declared else None) and self.n == unit.n

    def cut_up(self, parts: int) -> OccupiedLaw:
        """Each bin has noise of its own."""
        law: Any = self
        return self if self.bins is None else cast(OccupiedLaw, replace(law, bins=self.bins // parts))

    @cached_property
    def error(self) -> ErrorModel:
        return StabilityError(self)

    def linear(self, query: Query, answer: Answer | None, reading: Reading, reader: str = "") -> LinearError:
        """A count that is not shown is at most the threshold plus Z-: its noisy count did not exceed it.

        Counts that are shown have the error of clamped counts. The noise is drawn for bins that are not empty; for the
        others any noise may be thought of, for they read 0 and are 0.
        """
        noise = partial(self.drawn.clamped_sum, top=True)
        return hidden_below(noise, query, cast(SparseTable, answer), self.threshold, self.n)


@stored
@dataclass(frozen=True)
class StabilityLaw(OccupiedLaw):
    """Such a law with two-sided geometric noise, or that of a finite sampler."""

    name: ClassVar[str] = "stability"

    noise: NoiseLaw
    threshold: int
    bins: int | None
    n: int | None

    def __post_init__(self) -> None:
        whole(self.threshold, "threshold", least=0)

    @property
    def drawn(self) -> NoiseLaw | TruncatedNoise:
        return self.noise


@stored
@dataclass(frozen=True)
class TruncatedStabilityLaw(StabilityLaw):
    """The same with geometric noise given that it lies in -threshold..threshold."""

    name: ClassVar[str] = "stability-truncated"

    def __post_init__(self) -> None:
        whole(self.threshold, "threshold")
        if self.noise.exponent is None:
            raise ReleaseFormat.damaged("noise that is truncated has an exponent", "a finite sampler")

    @cached_property
    def drawn(self) -> TruncatedNoise:
        assert self.noise.exponent is not None
        return TruncatedNoise(self.noise.exponent, self.threshold, self.noise.limit)


@stored
@dataclass(frozen=True)
class GaussianStabilityLaw(OccupiedLaw):
    """Such a law with discrete Gaussian noise."""

    name: ClassVar[str] = "stability-gaussian"

    noise: GaussianNoise
    threshold: int
    bins: int | None
    n: int | None

    def __post_init__(self) -> None:
        whole(self.threshold, "threshold", least=0)

    @property
    def drawn(self) -> GaussianNoise:
        return self.noise


def hidden_below(
    noise: Callable[[Query], SumError],
    query: Query,
    answer: SparseTable,
    threshold: int | Fraction | None,
    occupied: int | None,
    *,
    fixed: bool = True,
) -> SumError:
    """The error of a sum over a sparse answer: what is not shown was not above the threshold with its noise.

    A bin that is shown is off by -Z- to Z+; one that is not shown has a count c with c <= threshold + Z-, so it is off
    by -(threshold + Z-) to 0. Both ends hold for the public set of points, of which U are not shown:

        [S - q of the sum of Z+,  S + threshold U + q of the sum of Z-]

    and for weights below 0 with both ends exchanged. Bins that are empty and not shown are not off at all.

    noise      the error of a sum of counts that are clamped with this noise
    threshold  in the unit of the query; None where nothing says how high a count may be that is not shown
    occupied   how many bins can be off, from public things; None where only the number of points tells
    fixed      whether the threshold was fixed before the draw: then it bounds the bias, too
    """
    from dpviz.fitting.sums import NoiseSum
    from dpviz.model.sum_errors import SumError

    counted: list[tuple[range, Fraction]] = []
    above: list[Fraction | None] = []
    below: list[Fraction | None] = []
    drift: list[Fraction] = []
    for points, weight in query.parts:
        size = None if isinstance(points, AllKeys) else length(points)
        many = min((most for most in (size, occupied) if most is not None), default=None)
        if many is None or many > MOST_OCCUPIED:
            return SumError(
                NoiseSum.of(()),
                NoiseSum.of(()),
                certain=False,
                by="what is public",
                over_more=None,
                under_more=None,
                why="Nothing public bounds how many bins are occupied, so nothing bounds how far the sum is off.",
                bias_words=SELECTED,
                over_mean=None,
                under_mean=None,
            )
        hidden = many if size is None else min(many, size - answer.shown_of(points))
        counted.append((range(many), weight))
        more = None if hidden and threshold is None else abs(weight) * (threshold or 0) * hidden
        (below if weight > 0 else above).append(more)
        drift.append(weight * (threshold or 0) * many)
    plain = noise(Query(tuple(counted)))
    junk = plain.over_mean or Fraction(0)
    return replace(
        plain,
        over_more=_sum_of(above),
        under_more=_sum_of(below),
        by="sums of max(Z, 0) and of max(-Z, 0)"
        + ("" if threshold is None else f", and {shown(threshold)} for each bin that is not shown"),
        why=plain.why
        or ("Nothing is shown, so nothing says how high a count is that is not." if threshold is None else ""),
        bias_words=SELECTED,
        over_mean=junk - sum(part for part in drift if part < 0) if fixed else None,
        under_mean=junk + sum(part for part in drift if part > 0) if fixed else None,
    )


SELECTED = "biased: counts that are not shown read 0, and what is shown was selected"

MOST_OCCUPIED = 10_000_000
"""Noise of more bins than this is not added up: it says nothing of a sum."""


def _sum_of(parts: list[Fraction | None]) -> Fraction | None:
    known = [part for part in parts if part is not None]
    return sum(known, Fraction(0)) if len(known) == len(parts) else None


@dataclass(frozen=True)
class StabilityError(ErrorModel):
    """The error of a thresholded answer: a bin that is not shown reads 0."""

    law: OccupiedLaw

    @property
    def _most(self) -> int | None:
        """How many bins can be occupied, from public things: None where nothing bounds it."""
        return min((most for most in (self.law.bins, self.law.n) if most is not None), default=None)

    def tail(self, count: int, a: int, precision: int = PRECISION) -> Enclosure:
        """P[|h - count| > a] for a bin whose exact count is `count`, enclosed; h is 0 where the bin is not shown."""
        if count == 0:
            return Fraction(0), Fraction(0)
        b, noise = self.law.threshold, self.law.drawn
        low, high = noise.above(count, max(b, count + a), precision)
        if count <= a:
            return low, high
        kept_low, kept_high = noise.above(count, max(b, count - a - 1), precision)
        return low + 1 - kept_high, high + 1 - kept_low

    def one_bin(self, beta: Fraction, *, count: int | None = None) -> ErrorValue:
        if count is not None:
            within, beyond = inside(count, self.law.drawn.limit)

            def holds(a: int, precision: int) -> bool | None:
                low, high = self.tail(within, a, precision)
                return True if high <= beta else False if low > beta else None

            lost = self.tail(within, max(0, within - 1))[0] > beta
            near = within if lost else self.law.drawn.within(beta / 2)
            value = beyond + least(lambda a: decide(lambda precision: holds(a, precision)), near=near)
            return ErrorValue(Fraction(value), "exact", f"the law of a bin whose exact count is {count:,}")
        value, n = self._worst(beta, 1), self.law.n
        how: How = "bound" if n is not None and n < value else self._how(beta)
        return ErrorValue(Fraction(value), how, "worst case over exact counts")

    def all_bins(self, beta: Fraction) -> ErrorValue | None:
        most = self._most
        if most is None:
            return None
        return ErrorValue(
            Fraction(self._worst(beta, most)),
            self._how(beta) if self.law.n is None else "bound",
            f"product over at most {most:,} occupied bins, worst case over exact counts",
        )

    @property
    def _all_lost(self) -> bool:
        """Whether no count reaches above the threshold: then every bin reads 0."""
        limit = self.law.drawn.limit
        return limit is not None and limit <= self.law.threshold

    def _how(self, beta: Fraction) -> How:
        """Exact where a bin at the threshold, or the largest that there is, is lost more often than beta: for any
        useful one. The statement about a count that no bin can have, for more than a public n, is a bound."""
        often = 2 * beta < 1 and self.law.drawn.junk is None
        return "exact" if self._all_lost or often else "bound"

    def _worst(self, beta: Fraction, bins: int) -> int:
        """The least a >= b that `bins` occupied bins keep to with probability at least 1 - beta, whatever they hold;
        the largest count, where none reaches above the threshold b.

        At a >= b the worst count is a + 1, which errs where it is not shown and, where there is room, above; fewer
        than a + 2 rows err above only. A public n bounds how many bins can hold a + 1 rows.
        """
        b, limit, n, noise = self.law.threshold, self.law.drawn.limit, self.law.n, self.law.drawn
        if self._all_lost:
            assert limit is not None
            return limit
        if noise.junk is not None:
            # Noise within w of the count loses no bin of more than b + w and shows none that is further off.
            return min(noise.junk.n, b + noise.junk.worst_quantile_of(bins, beta))

        def holds(a: int, precision: int) -> bool | None:
            if limit is not None and a >= limit:
                return True
            above, lost = noise.beyond(a, precision), noise.beyond(a - b, precision)
            both = [lost[side] + (above[side] if limit is None or 2 * a + 1 < limit else 0) for side in (0, 1)]
            one = [above[side] if limit is None or a + 1 < limit else Fraction(0) for side in (0, 1)]
            large = bins if n is None else min(bins, n // (a + 1))
            small = bins - large
            if precision >= EXACTLY and both[0] == both[1] and bins <= 64:
                return (1 - both[0]) ** large * (1 - one[0]) ** small >= 1 - beta
            goal = log1p_bounds(-beta, precision)
            failing = [
                large * log1p_bounds(-both[side], precision)[1 - side]
                + small * log1p_bounds(-one[side], precision)[1 - side]
                for side in (0, 1)
            ]
            return True if failing[1] >= goal[1] else False if failing[0] < goal[0] else None

        near = b + noise.within(beta / bins)
        if (apart := noise.rate * b) < 600:  # P[Z > a] (1 + exp(apart)) is near beta / bins
            near = noise.within(beta / bins / (1 + Fraction(math.exp(apart))))
        return least(lambda a: decide(lambda precision: holds(a, precision)), start=b, near=near)

    def shown(self, beta: Fraction) -> ErrorValue:
        noise = self.law.drawn
        rule = "two-sided tail of the noise, worst case over exact counts"
        if noise.junk is not None:
            return ErrorValue(Fraction(noise.junk.worst_quantile(beta)), "bound", rule)
        value = noise.beyond_either(beta)
        return ErrorValue(Fraction(value), "exact" if noise.limit is None else "bound", rule)

    def expected(self, count: int) -> ErrorValue | None:
        if count == 0:
            return ErrorValue(Fraction(0), "exact", "an empty bin is never shown")
        return None

    def bias(self, count: int) -> ErrorValue | None:
        return ErrorValue(Fraction(0), "exact", "an empty bin is never shown") if count == 0 else None

    def chance_shown(self, count: int) -> float:
        if count == 0:
            return 0.0
        limit = self.law.drawn.limit
        return self.law.drawn.clamped.chance_above(inside(count, limit)[0], self.law.threshold)

    def quantiles(self, levels: list[Fraction]) -> list[int]:
        return self.law.drawn.quantiles(levels)

    def reads(self, count: int, levels: Sequence[Fraction]) -> list[int | None]:
        if count == 0:
            return [None] * len(levels)
        drawn = self.law.drawn.reads(inside(count, self.law.drawn.limit)[0], levels)
        return [value if value > self.law.threshold else None for value in drawn]

    def near_the_cut(self, levels: list[Fraction]) -> tuple[int, list[int]] | None:
        """A bin at the threshold is shown where its noise is above 0, and is off by that noise then."""
        count, limit = self.law.threshold, self.law.drawn.limit
        if count < 1 or self._all_lost:
            return None
        room = None if limit is None else limit - count
        noise = self.quantiles(levels)
        return count, [-count if z < 1 else z if room is None else min(z, room) for z in noise]


protect_module(vars())
