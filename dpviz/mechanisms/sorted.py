"""Sorted: noise on sorted counts, so that a fit can be as good as the counts have few distinct values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Final

import numpy as np
from numpy.typing import NDArray

from dpviz.boundary import protect_module
from dpviz.errors import DomainError, ParameterError
from dpviz.exact import counted
from dpviz.mechanisms.count_noise import Base, BoundNoise, CountNoise
from dpviz.model.answers import Answer, Ranks
from dpviz.model.laws.sorted import SortedError, SortedLaw
from dpviz.model.mechanism import DRAWS_A_SECOND, Bound, Cost, Mode, Space
from dpviz.model.parameters import Epsilon, Exact, OneOf, Parameters, WholeNumber, parameter
from dpviz.model.question import Question
from dpviz.model.source import Tick
from dpviz.model.statistic import DenseCounts, Statistic, StatisticKind
from dpviz.noise.bits import Bits
from dpviz.privacy.guarantee import Guarantee
from dpviz.privacy.loss import PureDP
from dpviz.privacy.unit import Unit

STORED_BITS = 64
"""The storage of one number: noise has no end."""

MOST_BINS = 10_000_000
"""Above this many bins neither the counts nor the answer would fit in memory."""

TALL = 1_024
"""Sorted side by side in so many rows, numbers that are compared lie next to others that are."""


class Sorted(Parameters):
    """Sort the counts of all bins, add independent integer noise to each, and never tell which bin has which count.

    Parameters
    ----------
    epsilon : str, int, float or Fraction
        The price in the session's unit.
    largest : int, optional
        Release only this many of the largest counts, a public number; all of them by default. A count that is asked for
        here costs no more with all the others.
    base : {"exp", "paper", "tight"}, default "exp"
        "exp": ratio exp(-epsilon / l1). The finite-computer bases clamp every count, and the fit and its error bars
        rest on noise that is not clamped: they are refused.

    Raises
    ------
    ParameterError
        If a parameter is outside its range, or two contradict each other.

    Notes
    -----
    **Privacy.** Pure DP. Sorting brings two vectors no further apart, in sum and in their worst place, so one unit
    moves the sorted counts by what it moves the counts, and each of them by what it adds to one bin at most: `Unit.l1`
    of the number of ranks. That is 1 for a row that is added or removed, 2 for one that is replaced (1 where only the
    largest count is released), c for a user in at most c bins, and 2 for an edge of a graph that counts at both its
    ends, `Unit("edge", max_bins=2)` [1]_.

    **Error.** The fit (isotonic regression) is never worse than what was drawn, in total and in the worst place. Its
    total squared error is at most the variance of one noise times the sum, over distinct counts, of 1 + 1/2 + ... +
    1/(how often it occurs). Counts of a run of equal ones are biased outward, their total is not biased.

    References
    ----------
    .. [1] Hay, Rastogi, Miklau, Suciu 2010 (arXiv 0904.0942), section 3: Proposition 3, Theorem 1; the bound sharpens
           Theorem 2. Noise: Ghosh, Roughgarden, Sundararajan 2009.

    Examples
    --------
    >>> from dpviz.model.domain import Domain
    >>> degrees = Question.of(Domain.integers(1, 34, column="member"))
    >>> Sorted(epsilon="1/2").bind(degrees, Unit("edge", max_bins=2)).price.sentence
    '0.5-differential privacy for adding or removing one edge'
    """

    name: ClassVar[str] = "Sorted"
    about: ClassVar[str] = "Sorted counts, without their bins. Best where many bins have the same count."
    delta_text: ClassVar[str] = "Sorted is pure: no δ."

    epsilon: Exact = parameter(reads=Epsilon())
    largest: int | None = parameter(
        reads=WholeNumber(most=MOST_BINS), default=None, optional=True, label="Only the largest (public)", in_bins=True
    )
    base: Base = parameter(reads=OneOf(Base), default="exp")

    def check(self) -> None:
        if self.base != "exp":
            raise ParameterError.of(
                f'base="{self.base}"',
                "the finite samplers clamp every count, and a fit of clamped counts has no error bar that is known",
                'leave base at "exp"',
            )

    def bind(self, question: Question, unit: Unit) -> SortedBound:
        """Fix the sensitivity and the noise.

        Parameters
        ----------
        question : Question
            Declared bins whose counts are released in ascending order.
        unit : Unit
            The unit that is protected.

        Returns
        -------
        SortedBound
            Price, draw and error law of `Sorted` for this question and unit.

        Raises
        ------
        DpvizError
            If `Sorted` cannot answer the question for this unit. Only public facts are looked at.
        """
        question.check_counts(self.name)
        if not question.domain.declared:
            raise DomainError.of(
                question.domain.python,
                "sorted counts are of declared bins, the empty ones included: how many values occur is private",
                "declare the bins",
            )
        if question.bins > MOST_BINS:
            raise ParameterError.of(
                f"{question.bins:,} bins", f"Sorted answers at most {MOST_BINS:,} bins", "declare fewer, wider bins"
            )
        if self.largest is not None and self.largest > question.bins:
            raise ParameterError.of(
                self.largest, f"largest must be at most the number of bins, {question.bins:,}", "leave it out for all"
            )
        ranks = question.bins if self.largest is None else self.largest
        noise = CountNoise(self.epsilon, self.base, "auto", None, None).bind(unit.l1(ranks), unit.n)
        return SortedBound(self, question, unit, ranks, noise)


@dataclass(frozen=True)
class SortedBound(Bound):
    """Sorted, bound to a question and a unit."""

    mechanism: Sorted
    question: Question
    unit: Unit
    ranks: int
    noise: BoundNoise

    needs: ClassVar[StatisticKind] = StatisticKind.DENSE
    shape: ClassVar[type[Answer]] = Ranks

    @cached_property
    def price(self) -> Guarantee:
        rule = "Hay, Rastogi, Miklau, Suciu 2010, Proposition 3, with two-sided geometric noise"
        return Guarantee(PureDP(self.noise.paid), self.unit, rule, requested=self.mechanism.epsilon)

    @cached_property
    def space(self) -> Space:
        return Space(bits=self.ranks * STORED_BITS, text=f"{self.ranks:,} × {STORED_BITS}")

    @cached_property
    def cost(self) -> Cost:
        bins = self.question.bins
        text = f"{counted(bins, 'count')} to sort, {counted(self.ranks, 'draw')}"
        return Cost(steps=bins, text=text, seconds=bins / DRAWS_A_SECOND)

    @cached_property
    def law(self) -> SortedLaw:
        return SortedLaw(self.noise.law, self.question.bins, self.ranks, self.unit.n)

    @property
    def error(self) -> SortedError:
        return self.law.error

    @property
    def verb(self) -> str:
        which = (
            "all"
            if self.ranks == self.question.bins
            else f"the {self.ranks:,} largest"
            if self.ranks > 1
            else "the largest"
        )
        return f"Sorts {counted(self.question.bins, 'count')}, adds noise to {which} and shows them without their bins."

    @property
    def notes(self) -> Sequence[tuple[str, dict[str, Any]]]:
        """The typical error if there were this many distinct counts, which no answer tells."""
        most = self.error.most_distinct
        supposed = [distinct for distinct in SUPPOSED if distinct < most]
        shown = [
            (f"Root mean square, supposing {counted(distinct, 'distinct count')}", distinct) for distinct in supposed
        ]
        every = "Root mean square, whatever the counts are"
        return [
            (label, {**self.error.typical(distinct).to_json(), "beta": None})
            for label, distinct in [*shown, (every, most)]
        ]

    def draw(self, statistic: Statistic, bits: Bits, *, mode: Mode, tick: Tick | None = None) -> Ranks:
        """Sort, keep the largest, add noise. Counts above a public number of rows are clamped to it, in silence."""
        assert isinstance(statistic, DenseCounts)
        counts = np.minimum(statistic.take(), self.noise.limit) if self.noise.limit is not None else statistic.take()
        largest = ascending(counts)[::-1][: self.ranks]
        return Ranks(self.noise.add(np.ascontiguousarray(largest), bits, mode, tick, low=None, high=None))


SUPPOSED: Final = (1, 10, 100, 1_000, 10_000)
"""Numbers of distinct counts that a plan supposes."""


def ascending(counts: NDArray[np.int64]) -> NDArray[np.int64]:
    """The counts in ascending order, by a network: what is compared with what depends on their number alone.

    So the steps, and whatever they take in time, do not depend on the counts; a sort that stops early where numbers
    are in order already would tell something of them. Whole rows are compared at once, log(n)**2 / 2 times.

    Source: Batcher 1968, bitonic sorting.

    >>> ascending(np.array([3, 0, 2, 0, 7])).tolist()
    [0, 0, 2, 3, 7]
    """
    size = 1 << (len(counts) - 1).bit_length()
    values: NDArray[np.int64] = np.full(size, np.iinfo(np.int64).max)
    values[: len(counts)] = counts
    tall = min(size, TALL)
    columns = values.reshape(tall, -1)
    run = 2
    while run <= tall:
        _folded(columns, run)
        _halved(columns, run // 4)
        run *= 2
    values = np.ascontiguousarray(columns.T).reshape(-1, 1)
    while run <= size:
        _folded(values, run)
        step = run // 4
        while step >= tall:
            _compared(values, step)
            step //= 2
        columns = np.ascontiguousarray(values.reshape(-1, tall).T)
        _halved(columns, tall // 2)
        values = np.ascontiguousarray(columns.T).reshape(-1, 1)
        run *= 2
    return values.reshape(-1)[: len(counts)]


def _folded(rows: NDArray[np.int64], run: int) -> None:
    """In every `run` rows, each of the first half against its mirror image in the second: the less stays first."""
    blocks = rows.reshape(-1, run, rows.shape[1])
    first, mirrored = blocks[:, : run // 2], blocks[:, run // 2 :][:, ::-1]
    less = np.minimum(first, mirrored)
    mirrored[...] = np.maximum(first, mirrored)
    first[...] = less


def _halved(rows: NDArray[np.int64], step: int) -> None:
    """Each row against the one so many rows on, in blocks of twice as many; then with half of that, down to 1."""
    while step:
        _compared(rows, step)
        step //= 2


def _compared(rows: NDArray[np.int64], step: int) -> None:
    blocks = rows.reshape(-1, 2 * step, rows.shape[1])
    first, second = blocks[:, :step], blocks[:, step:]
    less = np.minimum(first, second)
    np.maximum(first, second, out=second)
    first[...] = less


protect_module(vars())
