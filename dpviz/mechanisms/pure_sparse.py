"""PureSparse: noise on every bin of a domain of any size, and only the largest noisy counts are shown."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from dpviz.boundary import protect_module
from dpviz.errors import ParameterError
from dpviz.exact import Decay, exp_bounds, log_bounds, text
from dpviz.laws import tables
from dpviz.mechanisms.count_noise import CAP, LAW, Base, BoundNoise, CountNoise
from dpviz.model.answers import Answer, SparseTable
from dpviz.model.error import ErrorModel, ErrorValue
from dpviz.model.goals import Goal
from dpviz.model.laws.pure_sparse import PureSparseLaw
from dpviz.model.mechanism import DRAWS_A_SECOND, Bound, Cost, Mode, Space
from dpviz.model.parameters import Epsilon, Exact, ExactOrNone, Parameters, Probability, parameter
from dpviz.model.question import Question
from dpviz.model.source import Tick
from dpviz.model.statistic import Batch, SparseCounts, Statistic, StatisticKind, in_order
from dpviz.noise import sparse_strict
from dpviz.noise.bits import Bits
from dpviz.noise.geometric import check_scale
from dpviz.noise.order import Heavy, StreamedContest
from dpviz.noise.uniform import uniform
from dpviz.privacy.guarantee import Guarantee
from dpviz.privacy.loss import PureDP
from dpviz.privacy.mixing import required_delta
from dpviz.privacy.unit import Unit

MOST_SHOWN = 10_000_000
"""More bins than this would not fit in memory."""

JUNK = Fraction(1, 2**20)
"""Default chance that strict mode shows junk: it costs few random bits, and is small beside any useful beta."""

MOST_WORK = 2_000_000_000
"""Strict mode beyond so many bit operations would take minutes."""


LONGEST_POWER = 1 << 16
"""Odds of more bits are rounded down, which strict mode's resolution allows."""


@dataclass(frozen=True)
class JunkChance(Probability):
    """The chance of junk: one over a whole number."""

    def read(self, value: Any, name: str, earlier: Mapping[str, Any]) -> Fraction:
        chance = super().read(value, name, earlier)
        if chance.numerator != 1:
            raise ParameterError.of(text(chance), f"{name} must be one over a whole number", "write it like 1/1000")
        return chance


class PureSparse(Parameters):
    """Add noise to every bin of a domain, however large, and show the bins above the (n + 1)-st largest noisy count.

    Parameters
    ----------
    epsilon : str, int, float or Fraction
        The price in the session's unit.
    base : {"exp", "paper", "tight"}, default "exp"
        "exp": ratio exp(-epsilon / l1), so the price is exactly epsilon; "paper" and "tight": the finite-computer laws
        with a rational ratio q/p, which pay l1 ln(p/q) <= epsilon.
    cap : int, optional
        The paper's n: a public bound on every count and on how many bins are shown. By default the unit's public number
        of rows; required without one. A count above it is clamped, and more occupied bins are no error.
    beta1 : str, int, float or Fraction, optional
        For mode="strict", which needs a rational base: the chance that a uniform junk histogram is shown instead;
        1/beta1 is a whole number. Left out, it is 2^-20.

    Raises
    ------
    ParameterError
        If a parameter is outside its range, or two contradict each other.

    Notes
    -----
    At most n bins are shown, and empty ones may be among them: which bins exist is as private as their counts.

    **Privacy.** Pure DP. It is post-processing of noise on every bin, so it costs what Dense costs, in every unit [1]_.

    **Error.** Bins well above the cut err as in Dense; bins below it are lost. The cut grows with ln(bins / n).

    **Strict.** The paper's approximate order statistics, mixed with junk so finely that the price in force, not only
    the one asked for, holds (Lemma 3.2, in any unit). Slow: sizes that would take minutes are refused.

    References
    ----------
    .. [1] Balcer, Vadhan 2018, Algorithms 6.1 (KeepHeavy), 6.4 (KH') and 6.9 (PureSparseHistogram), Theorems 6.2 and
           6.10; the exact mode draws KeepHeavy's law by one binomial number of empty bins that pass a public level.

    Examples
    --------
    >>> from dpviz.model.domain import Domain
    >>> minutes = Question.of(Domain.integers(0, 2**64 - 1, column="key"))
    >>> bound = PureSparse(epsilon="1/2", cap=1000).bind(minutes, Unit())
    >>> bound.price.sentence, bound.cut, bound.space.text
    ('0.5-differential privacy for adding or removing one row', 73, '1,000 × (64 + 10)')
    """

    name: ClassVar[str] = "PureSparse"
    about: ClassVar[str] = "Shows only the largest bins. Pure, for domains of any size."
    serves: ClassVar[tuple[Goal, ...]] = ("bins", "top")
    delta_text: ClassVar[str] = "PureSparse is pure: no δ."
    first_choice: ClassVar[int] = 2

    epsilon: Exact = parameter(reads=Epsilon())
    base: Base = LAW
    cap: int | None = replace(CAP, premise=("no count is above {value}", "at most {value} {bins} are counted"))
    beta1: ExactOrNone = parameter(
        reads=JunkChance(), default=None, optional=True, label="β₁, chance of junk in strict mode"
    )

    def check_together(self, given: Mapping[str, Any]) -> None:
        if self.base == "exp" and given["beta1"] is not None:
            raise ParameterError.of(
                given["beta1"], "beta1 belongs to strict mode, which needs a rational base", 'use base="tight"'
            )

    @property
    def noise(self) -> CountNoise:
        """The noise on each count. A rational base is GeoSample: the empty bins need a law without memory."""
        return CountNoise(self.epsilon, self.base, "auto" if self.base == "exp" else "geosample", None, self.cap)

    def bind(self, question: Question, unit: Unit) -> PureSparseBound:
        """Fix the sensitivity, the law and n.

        Parameters
        ----------
        question : Question
            Bins, most of which are empty.
        unit : Unit
            The unit that is protected.

        Returns
        -------
        PureSparseBound
            Price, draw and error law of `PureSparse` for this question and unit.

        Raises
        ------
        ParameterError
            If `PureSparse` cannot answer the question for this unit. Only public facts are looked at.
        """
        question.check_counts(self.name)
        bins = question.bins
        noise = self.noise.bind(unit.l1(bins), unit.n)
        n = noise.limit
        if n is None:
            raise ParameterError.of(
                "no cap",
                "PureSparse needs a public bound on every count and on how many bins are shown",
                "give cap=, chosen without looking at the data",
            )
        if n > MOST_SHOWN:
            raise ParameterError.of(f"{n:,}", f"PureSparse shows at most {MOST_SHOWN:,} bins", "give a smaller cap=")
        if bins < 2 * n + 1:
            raise ParameterError.of(
                f"{bins:,} bins", f"PureSparse needs at least 2 n + 1 = {2 * n + 1:,}", "use Dense, or a smaller cap="
            )
        check_scale(noise.decay)
        bound = PureSparseBound(self, question, unit, noise)
        if self.beta1 is not None and "strict" not in bound.modes():
            raise ParameterError.of(
                f"n = {n:,} and {question.domain.size_text}",
                "strict mode would take minutes at this size",
                "leave beta1 out and use the exact mode, or give a smaller cap=",
            )
        return bound


@dataclass(frozen=True)
class PureSparseBound(Bound):
    """PureSparse, bound to a question and a unit."""

    mechanism: PureSparse
    question: Question
    unit: Unit
    noise: BoundNoise

    needs: ClassVar[StatisticKind] = StatisticKind.SPARSE
    shape: ClassVar[type[Answer]] = SparseTable

    @property
    def decay(self) -> Decay:
        return self.noise.decay

    @property
    def n(self) -> int:
        """The public bound on every count and on how many bins are shown."""
        assert self.noise.limit is not None
        return self.noise.limit

    @cached_property
    def law(self) -> PureSparseLaw:
        junk = self.beta1 if "strict" in self.modes() else Fraction(0)
        return PureSparseLaw(self.decay, self.question.bins, self.n, self.unit.n == self.n, junk)

    @property
    def error(self) -> ErrorModel:
        return self.law.error

    @property
    def cut(self) -> int:
        """About how high a noisy count has to be to show, if most bins are empty."""
        return self.law.one.cut

    @cached_property
    def price(self) -> Guarantee:
        rule = "Balcer, Vadhan 2018, Theorem 6.2: the largest of noisy counts are post-processing of all of them"
        loss = PureDP(self.noise.paid)
        return Guarantee(loss, self.unit, rule, requested=self.mechanism.epsilon, exact=self.noise.exact)

    @cached_property
    def space(self) -> Space:
        """Of as many bins as can be shown; fewer may be."""
        label, count = (self.question.bins - 1).bit_length(), self.n.bit_length()
        return Space(bits=self.n * (label + count), text=f"{self.n:,} × ({label} + {count})")

    @property
    def cost(self) -> Cost:
        return Cost(steps=1, text=f"about {2 * self.n:,} draws", seconds=2 * self.n / DRAWS_A_SECOND)

    @property
    def verb(self) -> str:
        size = self.question.domain.size_text
        if self.cut >= self.n:
            return f"Adds noise to {size} and shows the largest; at this ε no count of at most {self.n:,} stands out."
        return f"Adds noise to {size} and shows the largest, at most {self.n:,}."

    @property
    def notes(self) -> Sequence[tuple[str, dict[str, Any]]]:
        """The cut, and the paper's table beside the errors in force."""
        cut = ErrorValue(Fraction(self.cut), "exact", "expected where every bin is empty")
        shown = [("Cut", cut.to_json())]
        if self.noise.finite is not None:
            epsilon, beta, bins = self.noise.paper_epsilon, Fraction(1, 20), self.question.bins
            for label, value in (
                ("Table bound, a bin above the table's cut", tables.pure_sparse(epsilon, beta)),
                ("The table's cut", tables.pure_sparse_cut(epsilon, beta, bins=bins)),
                ("Table bound, all bins", tables.pure_sparse_all(epsilon, beta, bins=bins)),
            ):
                bound = ErrorValue(Fraction(value), "bound", "Balcer, Vadhan 2018, Figure 5")
                shown.append((label, {**bound.to_json(), "beta": text(beta)}))
        return shown

    def modes(self) -> tuple[Mode, ...]:
        """Strict mode where the base is rational and the convolutions of a release take less than minutes."""
        return ("exact", "strict") if self._light else ("exact",)

    @cached_property
    def _light(self) -> bool:
        label = self.question.bins.bit_length()
        # s has at least n (label - 1) bits: what is far too slow is known without s
        if "strict" not in self.noise.modes() or self.n * self.n * (label - 1) * label > MOST_WORK:
            return False
        return sparse_strict.work(self.n, self.question.bins, self.resolution) <= MOST_WORK

    @property
    def beta1(self) -> Fraction:
        """The chance that strict mode shows junk."""
        return JUNK if self.mechanism.beta1 is None else self.mechanism.beta1

    @cached_property
    def resolution(self) -> int:
        """s: the fineness of strict mode's order statistics, for which the mixture keeps the price in force."""
        part = self.noise.finite
        assert part is not None
        odds = _power_below(Fraction(part.p, part.q), self.noise.l1)
        delta = required_delta(odds, self.beta1, sparse_strict.least_junk(self.n, self.question.bins))
        return sparse_strict.resolution(self.n, self.question.bins, delta)

    def draw(self, statistic: Statistic, bits: Bits, *, mode: Mode, tick: Tick | None = None) -> SparseTable:
        """Draw what is shown. How many bins are occupied is private: no tick tells.

        Of bins that are still in an engine no more than the answer and a batch is in memory; strict mode needs all.
        The law is one, whichever way is taken, and a seed gives the draw it always gave where all are in memory.
        """
        assert isinstance(statistic, SparseCounts)
        if tick is not None:
            tick(0, self.cost.steps)
        if mode == "strict":
            labels, counts = statistic.take()
            return self._draw_strictly(dict(zip(labels.tolist(), counts.tolist(), strict=True)), bits)
        heavy = Heavy(self.decay, self.question.bins, self.n, self.n)
        if not statistic.whole:
            return self._draw_passing(statistic, heavy, bits)
        labels, counts = statistic.take()
        noisy = self.noise.add(counts, bits, mode, low=0, high=self.n)
        shown, values = heavy.keep(self._numbers(labels), noisy, bits)
        return SparseTable(tuple(shown.tolist()), values)

    def _numbers(self, labels: NDArray[Any]) -> NDArray[Any]:
        return labels.astype(np.uint64 if self.question.bins <= 2**64 else object, copy=False)

    def _draw_passing(self, statistic: SparseCounts, heavy: Heavy, bits: Bits) -> SparseTable:
        """While the occupied bins pass by; a second time, all at once, in the rare case that says so."""
        contest = StreamedContest(heavy, bits)

        def meet(batch: Batch) -> None:
            noisy = self.noise.add(batch.counts, bits, "exact", low=0, high=self.n)
            contest.meet(self._numbers(batch.labels()), noisy)

        statistic.each(meet)
        found = contest.result()
        if found is None:
            labels, counts = statistic.take()
            found = contest.again(self._numbers(labels), counts)
        shown, values = in_order(*found)
        return SparseTable(tuple(shown.tolist()), values)

    def _draw_strictly(self, counts: dict[int, int], bits: Bits) -> SparseTable:
        part = self.noise.finite
        assert part is not None
        shown = sparse_strict.pure_sparse_histogram(
            counts,
            n=self.n,
            size=self.question.bins,
            p=part.p,
            q=part.q,
            s=self.resolution,
            g=self.beta1.denominator,
            uniform=lambda d: uniform(d, bits),
        )
        return SparseTable(tuple(shown), np.array(list(shown.values()), dtype=np.int64))


def _power_below(ratio: Fraction, times: int) -> Fraction:
    """ratio**times, or a number just below it where that has too many digits."""
    if times * ratio.numerator.bit_length() <= LONGEST_POWER:
        return ratio**times
    return exp_bounds(times * log_bounds(ratio)[0])[0]


protect_module(vars())
