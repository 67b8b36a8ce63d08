"""Independent noise on sorted counts, and how far off they and their fit are."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import isqrt
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from dpviz.boundary import protect_module
from dpviz.errors import ReleaseFormat
from dpviz.exact import Decay, Enclosure, ceil_to, counted, log_bounds, place, root_bounds, whole
from dpviz.fitting.isotonic import harmonic
from dpviz.fitting.noises import Term
from dpviz.fitting.sums import NoiseSum, Quantile
from dpviz.laws import geometric
from dpviz.model.answers import Answer, Reading
from dpviz.model.answers.reading import Among
from dpviz.model.error import ErrorModel, ErrorValue, How
from dpviz.model.laws.base import StoredLaw, stored
from dpviz.model.laws.bin_sums import BinsError
from dpviz.model.laws.count_noise import NoiseLaw
from dpviz.model.linear import Bias, CountRange, Ends, Kind, LinearError, Query
from dpviz.model.measures import Measure
from dpviz.model.question import Question
from dpviz.privacy.unit import Unit

BIASED = "biased: within a run of equal counts the upper end lies too high and the lower end too low"

LONG_RUN = 1_000
"""The harmonic number of a longer run is replaced by a bound that is too large by less than 10**-6."""

EULER = Fraction(5772156650, 10**10)
"""Euler's constant, rounded up."""


@stored
@dataclass(frozen=True)
class SortedLaw(StoredLaw):
    """Independent noise on each of the largest counts, or on all of them, after they were sorted.

    bins   how many counts were sorted
    ranks  how many of the largest were kept
    n      the public number of rows, where there is one
    """

    name: ClassVar[str] = "sorted"

    noise: NoiseLaw
    bins: int
    ranks: int
    n: int | None

    def __post_init__(self) -> None:
        whole(self.ranks, "ranks", most=whole(self.bins, "bins"))
        if self.noise.finite is not None:
            raise ReleaseFormat.damaged(
                "the noise on sorted counts is never clamped, as a finite sampler's is", "clamped noise"
            )

    def belongs(self, question: Question, unit: Unit, max_items: int | None) -> bool:
        return self.bins == question.bins and self.n == unit.n and max_items is None

    def accepts(self, answer: Answer) -> bool:
        """Whether there is a number for each rank that was promised."""
        return len(answer.pack().arrays["noisy"]) == self.ranks

    @cached_property
    def error(self) -> SortedError:
        return SortedError(self)

    def limits(self, reading: Reading) -> CountRange:
        return CountRange(0, self.n, self.n)

    def linear(self, query: Query, answer: Answer | None, reading: Reading, reader: str = "") -> LinearError:
        """The numbers drawn have independent noises. So is the total of the fit, which keeps it. Of any other sum of
        fitted counts there are bounds, and of the other estimators one: see `FitError`."""
        total = len(query.parts) == 1 and query.size == self.ranks
        if reader == "noisy" or (total and reader in ("", "fitted")):
            return BinsError(**vars(self.noise.added_up(query)), drawn=self.noise.decay)
        run = self._run(query) if reader in ("", "fitted") else None
        words = BIASED if reader in ("", "fitted", "rounded") else f"{BIASED}, and values below 0 were raised to 0"
        fit = FitError(self, query.total, run, words)
        return fit if answer is None else BandedError(fit, query, answer, reading, reader)

    def _run(self, query: Query) -> tuple[Fraction, int] | None:
        """Of a query for ranks in a row with one weight, that weight, and how many of the run's ends lie inside."""
        if len(query.parts) != 1:
            return None
        points, weight = query.parts[0]
        first, last = min(points), max(points)
        if last - first + 1 != query.size:
            return None
        return abs(weight), (first > 0) + (last < self.ranks - 1)

    def title(self, question: Question, unit: Unit) -> str:
        return question.title(unit, "sorted" if self.ranks == self.bins else f"the {self.ranks:,} largest, sorted")

    def measures(self, question: Question) -> tuple[Measure, ...]:
        """Any one rank, all at once, and the total."""
        ranks = f"all {self.ranks:,} ranks"
        return (
            Measure(
                name="one_rank",
                label="Any one rank",
                short="one rank",
                phrase="any one rank within {value}",
                tip="Pick a rank before looking: at least {times} its fitted count is within {value} of the truth. "
                "Where many counts are equal it is much nearer, which the answer itself will show.",
                at=self.error.one_bin,
                weight="thick",
            ),
            Measure(
                name="all_ranks",
                label=f"{ranks[:1].upper()}{ranks[1:]} at once",
                short=ranks,
                phrase=f"{ranks} within {{value}}",
                tip=f"At least {{times}} every one of the {self.ranks:,} fitted counts is within {{value}}. Where many "
                "counts are equal a band from the answer itself is much narrower.",
                at=self.error.all_bins,
                weight="thin",
            ),
            Measure(
                name="total_of_ranks",
                label="The total of all ranks",
                short="total",
                phrase="their total within {value}",
                tip="At least {times} the sum of all {done} counts is within {value} of the true one; it is "
                "unbiased, fitted or not.",
                at=self.error.total,
                weight="",
            ),
        )


@dataclass(frozen=True)
class FitError(LinearError):
    """Bound the error of a sum of fitted counts.

    No fitted count is further off than the largest noise, so a sum is off by that times all weights at most. It holds
    for values that were sorted, raised to 0 or rounded, too: neither moves a value past a whole number, and true
    counts and noises are whole.

    Of ranks in a row there is another bound. The sums of the fit from the last rank on are the greatest convex minorant
    of the same sums of what was drawn, and those of the true counts are convex: so no such sum is further off than the
    largest of the same sums of noises, which is beyond t at most twice as often as the sum of all noises is (Levy's
    inequality). The same holds from the first rank on, and the sum of ranks in the middle is the difference of two.

    law     of the answer
    weight  the sum of the sizes of all weights
    run     for ranks in a row their weight, and how many of the two ends lie inside
    words   what biases it
    """

    law: SortedLaw
    weight: Fraction
    run: tuple[Fraction, int] | None
    words: str

    @property
    def rule(self) -> str:
        return "no fit is further off than the largest noise" + (
            "" if self.run is None else ", nor in sums of ranks in a row than the largest such sum of noises"
        )

    @property
    def bias(self) -> Bias:
        return Bias(self.words)

    def ends(self, beta: Fraction) -> Ends:
        """Which of the two bounds is used depends on public numbers alone."""
        reach = self.weight * self.law.error.all_bins(beta).value
        if self.run is not None:
            weight, inside = self.run
            reach = min(reach, weight * max(1, inside) * self.law.error.walk(beta))
        return Quantile(reach, reach), Quantile(reach, reach)

    def every(self, kind: Kind, rows: int, beta: Fraction) -> tuple[Ends, str] | None:
        """All ranges at once: both bounds hold for all of them, each at half of beta."""
        if kind != "ranges" or self.run is None:
            return None
        return self.ends(beta / 2), f"{self.rule}, for all ranges at once"

    def at_least(self, gap: Fraction) -> Enclosure:
        """By the largest noise alone."""
        if gap <= 0:
            return Fraction(1), Fraction(1)
        within = int(-(-gap // self.weight) - 1)  # the largest whole number w with weight * w < gap
        tail = geometric.TwoSidedGeometric(self.law.noise.decay).above(within)[1]
        return Fraction(0), min(Fraction(1), 2 * self.law.ranks * tail)


@dataclass(frozen=True, eq=False)
class BandedError(LinearError):
    """The same with the answer at hand: what is known without it, and what the answer's own band says, at once.

    Half of beta goes to each of the two, whatever the answer is: each fails at most half of beta of the time, so that
    both hold but for beta, and then the truth is in what they have in common. Whichever is narrower is never chosen by
    looking, which would make the two levels one. Where they have nothing in common, which happens beta of the time at
    most, what spans both is given.

    The band is the one for a rank picked before looking where the sum is about one rank, and else the one that holds
    for all ranks at once, and so for every sum of them: between the sums of its low ends and of its high ends.
    """

    fit: FitError
    query: Query
    answer: Answer
    reading: Reading
    reader: str

    @property
    def rule(self) -> str:
        return f"{self.fit.rule}, and what the answer's own band says of the same ranks, each at beta / 2"

    @property
    def bias(self) -> Bias:
        return self.fit.bias

    def at_least(self, gap: Fraction) -> Enclosure:
        return self.fit.at_least(gap)

    def ends(self, beta: Fraction) -> Ends:
        return self._common(self.fit.ends(beta / 2), "one" if self.query.size == 1 else "all", beta / 2)[0]

    def remark(self, beta: Fraction) -> str:
        apart = self._common(self.fit.ends(beta / 2), "one" if self.query.size == 1 else "all", beta / 2)[1]
        return "Two bounds have nothing in common here; what spans both is given." if apart else ""

    def every(self, kind: Kind, rows: int, beta: Fraction) -> tuple[Ends, str] | None:
        """The band for all ranks at once holds for all sums of them as it stands, and so does the largest noise."""
        special = self.fit.every(kind, rows, beta / 2)
        known = self.fit.ends(beta / 2) if special is None and self.fit.run is None else special and special[0]
        return None if known is None else (self._common(known, "all", beta / 2)[0], f"{self.rule}, for all at once")

    def _common(self, known: Ends, among: Among, beta: Fraction) -> tuple[Ends, bool]:
        """The intersection of the known ends with the band at this level, seen from the value; and whether
        that is nothing."""
        below, above = known
        assert below is not None and above is not None
        value = Fraction(self.answer.weighted_sum(self.reading, self.query, self.reader))  # type: ignore[arg-type]
        low, high = self._band(among, beta)
        lows, highs = (value - below.value, low), (value + above.value, high)
        apart = max(lows) > min(highs)
        first, last = (min(lows), max(highs)) if apart else (max(lows), min(highs))
        return (Quantile(value - first, value - first), Quantile(last - value, last - value)), apart

    def _band(self, among: Among, beta: Fraction) -> tuple[Fraction, Fraction]:
        """Between which numbers the band of the fit has the sum."""
        ends = [Fraction(0), Fraction(0)]
        for points, weight in self.query.parts:
            run = slice(points[0], points[-1] + 1) if isinstance(points, range) else points
            found = self.answer.intervals(self.reading, beta, among, run)
            assert found is not None
            for end, side in enumerate((found.low, found.high) if weight > 0 else (found.high, found.low)):
                ends[end] += weight * _sum(np.asarray(side))
        return ends[0], ends[1]


@dataclass(frozen=True)
class SortedError(ErrorModel):
    """Statements about the fit that hold for all counts, and those that would hold if this many of them were
    distinct."""

    law: SortedLaw

    @property
    def noise(self) -> Decay:
        return self.law.noise.decay

    def one_bin(self, beta: Fraction, *, count: int | None = None) -> ErrorValue:
        """Bound the error of the fitted count of a rank, picked before looking.

        The fit at a position is at most the largest mean of what was drawn over windows that end there, and no true
        count in such a window is larger than the one at its end: so it is too large by no more than the largest mean
        of 1, 2, 3, ... of their noises. Those means, from the longest to the shortest, are a martingale, so Doob's
        inequality gives all of them together the exponential bound of the last, which is a single noise. The same
        holds on the other side. For few ranks the half-width for all of them is shorter.
        """
        alone = NoiseSum.of([Term(self.noise)]).chernoff(beta / 2)
        among = geometric.simultaneous_quantile(self.noise, beta, self.law.ranks)
        if among <= alone:
            return ErrorValue(Fraction(among), "bound", f"product over {counted(self.law.ranks, 'independent noise')}")
        return ErrorValue(alone, "bound", "Doob's inequality for means of neighbouring ranks, whatever the counts are")

    def all_bins(self, beta: Fraction) -> ErrorValue:
        """Bound the worst error of all fitted counts: no further than the largest noise.

        It is the least whole number that holds for all vectors of counts, for where they are far apart nothing is
        pooled. A public number of rows keeps them near each other, and then it is a bound.
        """
        how: How = "exact" if self.law.n is None and self.law.noise.limit is None else "bound"
        value = geometric.simultaneous_quantile(self.noise, beta, self.law.ranks)
        rule = f"product over {counted(self.law.ranks, 'independent noise')}; no fit is further off than the largest"
        return ErrorValue(Fraction(value), how, rule)

    def range(self, first: int, last: int, beta: Fraction) -> ErrorValue | None:
        """Bound the error of the sum of all fitted counts; None for fewer, where it depends on the counts."""
        return self.total(beta) if (first, last) == (0, self.law.ranks - 1) else None

    def total(self, beta: Fraction) -> ErrorValue:
        """Bound the error of the sum of all released counts. A fit keeps it as it was drawn."""
        found = NoiseSum.of([Term(self.noise, 1, self.law.ranks)]).radius(beta, exactly=False)
        how: How = "exact" if found.exact else "bound"
        return ErrorValue(found.value, how, f"the sum of {counted(self.law.ranks, 'independent noise')}")

    def walk(self, beta: Fraction) -> Fraction:
        """Bound any sum of the noises from one end on, with all of them together missing it at most beta of the time:
        for half of that, how far the sum of all is (Levy's inequality)."""
        return NoiseSum.of([Term(self.noise, 1, self.law.ranks)]).radius(beta / 2, exactly=False).value

    def typical(self, distinct: int) -> ErrorValue:
        """The root of the mean squared error of a fitted count, supposing there are so many distinct counts at most.

        A supposition for planning: no answer tells how many there are. The total squared error is at most the noise's
        variance times the sum, over distinct counts, of 1 + 1/2 + ... + 1/(how often it occurs), and that is largest
        where all occur equally often. Where the number of rows n is public, d distinct counts need d (d - 1) / 2 of
        them, and a larger number is replaced by the largest possible.
        """
        ranks = self.law.ranks
        least = min(whole(distinct, "the number of distinct counts"), ranks, self.most_distinct)
        length, longer = divmod(ranks, least)
        total = longer * _harmonic(length + 1) + (least - longer) * _harmonic(length)
        variance = geometric.TwoSidedGeometric(self.noise).variance()[1]
        root = root_bounds(variance * total / ranks)[1]
        rule = f"variance times harmonic numbers, supposing at most {counted(least, 'distinct count')}"
        return ErrorValue(ceil_to(root, place(root, 3)), "bound", rule)

    @property
    def most_distinct(self) -> int:
        """How many distinct counts there can be: d of them add up to d (d - 1) / 2 at least."""
        n = self.law.n
        return self.law.ranks if n is None else min(self.law.ranks, (1 + isqrt(1 + 8 * n)) // 2)


def _sum(numbers: NDArray[np.int64]) -> int:
    """The sum of whole numbers, in 64 bits where it fits."""
    fits = len(numbers) * int(np.abs(numbers).max()) < 1 << 62
    return int(numbers.sum()) if fits else sum(numbers.tolist())


def _harmonic(count: int) -> Fraction:
    """1 + 1/2 + ... + 1/count; of many terms no less, and hardly more: ln count + Euler's constant + 1 / (2 count)."""
    if count <= LONG_RUN:
        return harmonic(count) if count else Fraction(0)
    return log_bounds(Fraction(count))[1] + EULER + Fraction(1, 2 * count)


protect_module(vars())
