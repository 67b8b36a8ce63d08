"""Independent noise on every bin of a domain, and how far off it is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar, cast

import numpy as np

from dpviz.boundary import protect_module
from dpviz.exact import counted, whole
from dpviz.fitting.noises import law_of, refuse_noise
from dpviz.laws.finite import FastSampleLaw
from dpviz.laws.search import least
from dpviz.model.answers import Answer, Reading, Table
from dpviz.model.error import ErrorModel, ErrorValue, How, mean
from dpviz.model.laws.base import Clamp, StoredLaw, stored
from dpviz.model.laws.count_noise import BinNoise, GaussianNoise, NoiseLaw, inside
from dpviz.model.linear import CountRange, LinearError, Query
from dpviz.model.question import Question
from dpviz.privacy.unit import Unit


class NoisyBins(StoredLaw):
    """Independent noise on each of so many counts, clamped to 0..limit or left as it is.

    n  the public number of rows, where there is one: the counts add up to at most that
    """

    noise: BinNoise
    clamps: bool
    bins: int
    n: int | None

    def __post_init__(self) -> None:
        whole(self.bins, "bins")

    @property
    def limit(self) -> int | None:
        """The public top of the clamp, if there is one."""
        return self.noise.limit if self.clamps else None

    @property
    def clamp(self) -> Clamp:
        return (0, self.limit) if self.clamps else (None, None)

    def belongs(self, question: Question, unit: Unit, max_items: int | None) -> bool:
        return self.bins == question.bins and self.n == unit.n and max_items is None

    @cached_property
    def error(self) -> ErrorModel:
        return DenseError(self)

    @property
    def adds_up(self) -> bool:
        return True

    @property
    def alike(self) -> tuple[int, ...]:
        return (0,)

    def limits(self, reading: Reading) -> CountRange:
        return CountRange(0, self.noise.limit, self.n)

    def linear(self, query: Query, answer: Answer | None, reading: Reading, reader: str = "") -> LinearError:
        from dpviz.model.laws.bin_sums import BinsError, TopError

        if not self.clamps:
            return BinsError(**vars(self.noise.added_up(query)), drawn=self.noise.added)
        error = self.noise.clamped_sum(query, top=self.limit is not None)
        if self.noise.junk is not None:
            return error
        if self.limit is None or answer is None:
            return BinsError(**vars(error), drawn=self.noise.added)
        loose = self.noise.clamped_sum(query, top=False)
        reached = cast(Table, answer).reaches(query, self.limit)
        return TopError(**vars(error), drawn=self.noise.added, loose=(loose.over, loose.under), reached=reached)


@stored
@dataclass(frozen=True)
class DenseLaw(NoisyBins):
    """Independent geometric noise, or that of a finite sampler, on each of so many counts."""

    name: ClassVar[str] = "dense"

    noise: NoiseLaw
    clamps: bool
    bins: int
    n: int | None

    def cut_up(self, parts: int) -> DenseLaw:
        """Each bin has noise of its own."""
        return replace(self, bins=self.bins // parts)


@stored
@dataclass(frozen=True)
class GaussianDenseLaw(NoisyBins):
    """Independent discrete Gaussian noise on each of so many counts."""

    name: ClassVar[str] = "dense-gaussian"

    noise: GaussianNoise
    clamps: bool
    bins: int
    n: int | None

    def cut_up(self, parts: int) -> GaussianDenseLaw:
        """Each bin has noise of its own."""
        return replace(self, bins=self.bins // parts)


def bins_law(noise: NoiseLaw | GaussianNoise, clamps: bool, bins: int, n: int | None) -> NoisyBins:
    """The law of so many bins with this noise."""
    if isinstance(noise, GaussianNoise):
        return GaussianDenseLaw(noise, clamps, bins, n)
    if isinstance(noise, NoiseLaw):
        return DenseLaw(noise, clamps, bins, n)
    refuse_noise(noise)


@dataclass(frozen=True)
class DenseError(ErrorModel):
    """The exact error of independent noise: from its law, clamped where the release is."""

    law: NoisyBins

    @cached_property
    def _count(self) -> Any:
        """The law of one released count, as a function of its true count."""
        return self.law.noise.clamped if self.law.clamps else self.law.noise.open

    @property
    def _top(self) -> int | None:
        """Counts above this are clamped to it before they get noise; None where none are."""
        top = self.law.noise.top
        return self.law.limit if top is None else top

    @cached_property
    def _noise(self) -> Any:
        """The law of the noise itself."""
        return law_of(self.law.noise.added)

    def one_bin(self, beta: Fraction, *, count: int | None = None) -> ErrorValue:
        if count is not None:
            within, beyond = inside(count, self._top)
            value = beyond + self._count.error_quantile(within, beta)
            return ErrorValue(Fraction(value), "exact", f"the law of a bin whose exact count is {count:,}")
        if isinstance(self._count, FastSampleLaw):
            value = self._count.worst_quantile(beta)
            return ErrorValue(Fraction(value), self._how(value, 1), "worst case over exact counts")
        if not self.law.clamps:
            value = self._noise.joint_quantile(beta, 1)
            return self._known(value, self._noise.is_least(value, beta, 1), "two-sided tail of the noise")
        return self._known(*self._least(beta, bins=1), "worst case over exact counts; a bin near the clamp errs less")

    def all_bins(self, beta: Fraction) -> ErrorValue:
        bins = self.law.bins
        if isinstance(self._count, FastSampleLaw):
            value = self._count.worst_quantile_of(bins, beta)
            return ErrorValue(
                Fraction(value),
                self._how(value, bins),
                f"product over {counted(bins, 'independent bin')}, worst case over exact counts",
            )
        if not self.law.clamps:
            value = self._noise.joint_quantile(beta, bins)
            sure = self._noise.is_least(value, beta, bins)
            return self._known(value, sure, f"product over {counted(bins, 'independent bin')}")
        rule = f"product over {counted(bins, 'independent bin')}, worst case over exact counts"
        return self._known(*self._least(beta, bins), rule)

    def _known(self, value: int, certain: bool, rule: str) -> ErrorValue:
        """Exact, but where the noise is so wide that integrals do not tell two neighbouring whole numbers apart."""
        return ErrorValue(Fraction(value), "exact" if certain else "bound", rule)

    def _how(self, value: int, bins: int) -> How:
        """Exact where some vector of counts certainly errs by `value`: all of them empty, or all of them equal to it.

        The second may hold more rows than a public n allows; then a smaller value might do for every vector.
        """
        n, limit = self.law.n, self.law.noise.limit
        return "exact" if n is None or limit is None or 2 * value > limit or bins * value <= n else "bound"

    def _least(self, beta: Fraction, bins: int) -> tuple[int, bool]:
        """The least a that holds for every vector of counts, and whether it is certain that no smaller one does.

        At distance a, a count errs on both sides only where a < c < limit - a, and on one side only where a limit
        leaves room; under replace-one the counts add up to at most n, so at most n // (a + 1) of them exceed a. Both
        numbers shrink as a grows, so what holds at a holds beyond it.
        """
        limit, n = self.law.limit, self.law.n
        if limit is None and n is None:  # on both sides, whatever a is
            value = self._noise.joint_quantile(beta, bins)
            return value, value == 0 or self._noise.is_least(value, beta, bins)

        def sides(a: int) -> tuple[int, int]:
            two = bins if limit is None or limit >= 2 * a + 2 else 0
            if n is not None:
                two = min(two, n // (a + 1))
            one = bins - two if limit is None or limit >= a + 1 else 0
            return two, one

        def holds(a: int) -> bool:
            two, one = sides(a)
            return two + one == 0 or self._noise.holds(a, beta, two, one)

        low = least(holds, near=self._noise.joint_quantile(beta, bins))
        return low, low == 0 or self._noise.is_least(low, beta, *sides(low - 1))

    def expected(self, count: int) -> ErrorValue:
        within, beyond = inside(count, self._top)
        rule = f"mean of the law at an exact count of {count:,}"
        return mean(lambda precision: self._count.expected_error(within, precision), rule, beyond)

    def bias(self, count: int) -> ErrorValue:
        within, beyond = inside(count, self._top)
        rule = f"mean of the law at an exact count of {count:,}"
        return mean(lambda precision: self._count.bias(within, precision), rule, -beyond)

    def chance_shown(self, count: int) -> float:
        return float(self._count.chance_above(inside(count, self.law.limit)[0], 0))

    def quantiles(self, levels: list[Fraction]) -> list[int]:
        return list(self._noise.quantiles(levels))

    def reads(self, count: int, levels: Sequence[Fraction]) -> list[int | None]:
        return [*self.law.noise.reads(inside(count, self._top)[0], levels, clamps=self.law.clamps)]

    def chances(self, errors: list[int]) -> list[float]:
        return [float(chance) for chance in self._noise.pmf_array(np.array(errors, dtype=np.int64))]


protect_module(vars())
