"""Dense: noise on every bin of a public domain."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from dpviz.boundary import protect_module
from dpviz.errors import ParameterError
from dpviz.exact import counted, text
from dpviz.mechanisms.count_noise import (
    CAP,
    LAWS,
    SAMPLER,
    UNIFORM,
    BoundNoise,
    CountNoise,
    Sampler,
    check_law,
    check_limit,
)
from dpviz.mechanisms.gaussian import (
    DELTA,
    GAUSSIAN,
    GAUSSIAN_WORDS,
    USUAL_DELTA,
    BoundGaussian,
    epsilon_for,
    pure_rho_of,
)
from dpviz.model.answers import Answer, Table
from dpviz.model.error import BETAS, ErrorModel, ErrorValue
from dpviz.model.goals import Goal
from dpviz.model.laws.dense import NoisyBins, bins_law
from dpviz.model.mechanism import DRAWS_A_SECOND, Bound, Cost, Mode, Space
from dpviz.model.parameters import Epsilon, Exact, ExactOrNone, OneOf, Parameters, Switch, parameter
from dpviz.model.question import Question
from dpviz.model.source import Tick
from dpviz.model.statistic import DenseCounts, Statistic, StatisticKind
from dpviz.privacy.concentrated import geometric_rho, moved_most
from dpviz.privacy.guarantee import Guarantee
from dpviz.privacy.loss import ZCDP
from dpviz.privacy.unit import Unit

if TYPE_CHECKING:
    from dpviz.noise.bits import Bits
    from dpviz.privacy.discrete_gaussian import Shifts
    from dpviz.privacy.loss_distribution import DominatingPair

AnyBase = Literal["exp", "paper", "tight", "gaussian"]

STORED_BITS = 64
"""The storage of one count where no public cap bounds it."""

MOST_BINS = 10_000_000
"""Above this many bins a dense answer would not fit in memory; sparse mechanisms answer such domains."""


class Dense(Parameters):
    """Add independent integer noise to every bin, then clamp to the public range.

    Parameters
    ----------
    epsilon : str, int, float or Fraction
        The price in the session's unit.
    base : {"exp", "paper", "tight", "gaussian"}, default "exp"
        "exp": ratio exp(-epsilon / l1), so the price is exactly epsilon; "paper" and "tight": the finite-computer laws
        with a rational ratio q/p, which pay l1 ln(p/q) <= epsilon; "gaussian": discrete Gaussian noise, which costs
        epsilon and delta, or under a zCDP budget the rho of the same noise. Where one unit touches several bins it
        needs less noise, for its distance is L2.
    delta : str, int, float or Fraction, optional
        The delta of Gaussian noise, which base="gaussian" needs and the other bases refuse.
    sampler : {"auto", "geosample", "fastsample"}, default "auto"
        For rational bases: "geosample", "fastsample", or "auto" (GeoSample unless FastSample needs fewer bits).
    gamma : str, int, float or Fraction, optional
        For FastSample: the chance that one count is replaced by a uniform one; 1/gamma is a whole number.
    cap : int, optional
        A public bound on every count; required by rational bases where the unit has no public n.
    clamp : bool, default True
        False leaves the noise as it is: unbiased, negative values possible.

    Raises
    ------
    ParameterError
        If a parameter is outside its range, or two contradict each other.

    Notes
    -----
    **Privacy.** Pure DP. One unit moves the counts by at most l1 (`Unit.l1`) in L1, and one step of one count changes
    the law by a ratio of at most 1/decay. Gaussian noise: (epsilon, delta) by the exact delta of the worst move
    (`privacy.discrete_gaussian`), and zCDP with rho = l2_squared / (2 variance), which is attained in the limit
    (`Unit.l2_squared`). A zCDP budget books the rho of two-sided geometric noise, too, where base="exp": the mean of
    its loss for the worst move (`privacy.concentrated`), which is far below that of epsilon where one unit touches
    several bins. Clamping is post-processing [1]_.

    **Error.** Exact, from the law of the noise; the same for every count but near the clamp, where it is smaller.

    References
    ----------
    .. [1] Balcer, Vadhan 2018, Algorithms 4.8 (GeoSample), 4.11 (FastSample), 5.1 (BasicHistogram), Theorem 5.2; for
           base="exp" Ghosh, Roughgarden, Sundararajan 2009 (two-sided geometric); for base="gaussian" Canonne, Kamath,
           Steinke 2020, Theorems 4 and 7. The L2 sensitivity and the delta of several counts are derived here.

    Examples
    --------
    >>> from dpviz.model.domain import Domain
    >>> bins = Question.of(Domain.integers(0, 40, column="visits", overflow=True))
    >>> Dense(epsilon="1/2").bind(bins, Unit(noun="person-year")).price.sentence
    '0.5-differential privacy for adding or removing one person-year'
    """

    name: ClassVar[str] = "Dense"
    about: ClassVar[str] = "Noise on every bin. Best below about 10,000 bins."
    serves: ClassVar[tuple[Goal, ...]] = ("bins", "ranges", "top")
    delta_text: ClassVar[str] = "Dense is pure: no δ. Gaussian noise needs δ, or ρ alone where zCDP adds it up."
    first_choice: ClassVar[int] = 1

    @property
    def revision(self) -> int:  # type: ignore[override]
        """Only the calibration of Gaussian noise has moved."""
        return 2 if self.base == GAUSSIAN else 1

    epsilon: Exact = parameter(reads=Epsilon())
    base: AnyBase = parameter(
        reads=OneOf(AnyBase), default="exp", label="Noise law", options={**LAWS, GAUSSIAN: GAUSSIAN_WORDS}
    )
    sampler: Sampler = SAMPLER
    gamma: ExactOrNone = UNIFORM
    cap: int | None = CAP
    clamp: bool = parameter(
        reads=Switch(),
        default=True,
        label="Clamp to the range",
        options={"true": "yes", "false": "no: unbiased"},
    )
    delta: ExactOrNone = DELTA

    def check_together(self, given: Mapping[str, Any]) -> None:
        check_law(self.base, self.sampler, given["gamma"])

    def check(self) -> None:
        if self.base in ("paper", "tight") and not self.clamp:
            raise ParameterError.of("clamp=False", "the finite samplers clamp by construction", 'use base="exp"')

    def noise(self, unit: Unit, bins: int) -> BoundNoise | BoundGaussian:
        """Fix the noise on each count.

        Parameters
        ----------
        unit : Unit
            The unit that is protected.
        bins : int
            The number of counts.

        Returns
        -------
        BoundNoise or BoundGaussian
            The price, law and sampler of the noise.

        Raises
        ------
        ParameterError
            If the finite samplers need a public bound on counts and there is none.
        """
        if self.delta is None:
            base: Any = self.base
            return CountNoise(self.epsilon, base, self.sampler, self.gamma, self.cap).bind(unit.l1(bins), unit.n)
        limit = check_limit(unit.n if self.cap is None else self.cap)
        return BoundGaussian.of(self.epsilon, self.delta, _shifts(unit, bins), limit)

    def bind(self, question: Question, unit: Unit) -> DenseBound:
        """Fix the sensitivity, the law of the noise, and the clamp.

        Parameters
        ----------
        question : Question
            Declared bins, each of which gets noise.
        unit : Unit
            The unit that is protected.

        Returns
        -------
        DenseBound
            Price, draw and error law of `Dense` for this question and unit.

        Raises
        ------
        ParameterError
            If `Dense` cannot answer the question for this unit. Only public facts are looked at.
        """
        question.check_counts(self.name)
        if question.bins > MOST_BINS:
            raise ParameterError.of(
                f"{question.bins:,} bins", f"Dense answers at most {MOST_BINS:,} bins", "declare fewer, wider bins"
            )
        return DenseBound(self, question, unit, self.noise(unit, question.bins))


@dataclass(frozen=True)
class DenseBound(Bound):
    """Dense, bound to a question and a unit."""

    mechanism: Dense
    question: Question
    unit: Unit
    noise: BoundNoise | BoundGaussian

    needs: ClassVar[StatisticKind] = StatisticKind.DENSE
    shape: ClassVar[type[Answer]] = Table

    @property
    def limit(self) -> int | None:
        """The public top of the clamp, if there is one."""
        return self.noise.limit if self.mechanism.clamp else None

    @cached_property
    def price(self) -> Guarantee:
        """The price of noise on every count; of geometric noise with its own rho, which a zCDP budget books."""
        price, noise = self.noise.guarantee(self.unit, self.mechanism.epsilon), self.noise
        if isinstance(noise, BoundGaussian) or noise.finite is not None:
            return price
        # a unit moves no count by more than max_per_bin, and all of them by no more than l1
        moved = moved_most(self.mechanism.epsilon / noise.l1, noise.l1, self.unit.max_per_bin)
        return replace(price, zcdp_steps=ZCDP(geometric_rho(moved)))

    def pair_for(self, unit: Unit) -> DominatingPair | None:
        """The pair of the noise on the counts that this unit moves, where one move of them is the worst."""
        from dpviz.privacy.loss_distribution import gaussian_pair, geometric_pair

        noise, bins = self.noise, self.question.bins
        if isinstance(noise, BoundGaussian):
            return gaussian_pair(noise.found.variance, _shifts(unit, bins))
        return None if noise.finite is not None else geometric_pair(self.mechanism.epsilon / noise.l1, unit, bins)

    @cached_property
    def space(self) -> Space:
        each = STORED_BITS if self.limit is None else self.limit.bit_length()
        return Space(bits=self.question.bins * each, text=f"{self.question.bins:,} × {each}")

    @cached_property
    def cost(self) -> Cost:
        bins = self.question.bins
        return Cost(steps=bins, text=counted(bins, "draw"), seconds=bins / DRAWS_A_SECOND)

    @cached_property
    def law(self) -> NoisyBins:
        return bins_law(self.noise.law, self.mechanism.clamp, self.question.bins, self.unit.n)

    @property
    def error(self) -> ErrorModel:
        return self.law.error

    @property
    def verb(self) -> str:
        bins = self.question.bins
        return f"Adds noise to {counted(bins, 'count')} and shows {'it' if bins == 1 else 'them'}."

    @property
    def notes(self) -> Sequence[tuple[str, dict[str, Any]]]:
        """The paper's table bounds (Figure 3), which the exact quantiles undercut."""
        noise = self.noise
        if not isinstance(noise, BoundNoise):
            return ()
        return [
            (f"Table bound, {label}", {**_table_bound(noise.table_bound(beta, bins)).to_json(), "beta": text(beta)})
            for label, bins in (("one bin", 1), (f"all {self.question.bins:,} bins", self.question.bins))
            if label == "one bin" or bins > 1
            for beta in BETAS
        ]

    @property
    def for_zcdp(self) -> Bound | None:
        """Gaussian noise, clamped alike."""
        made = self.mechanism
        if made.base == GAUSSIAN:
            return None
        with suppress(ParameterError):
            moves = _shifts(self.unit, self.question.bins)
            epsilon = epsilon_for(pure_rho_of(self.price), USUAL_DELTA, moves)
            rival = Dense(epsilon, GAUSSIAN, cap=made.cap, clamp=made.clamp, delta=USUAL_DELTA)
            return rival.bind(self.question, self.unit)
        return None

    def gaussian(self, unit: Unit) -> tuple[Fraction, Shifts] | None:
        """The variance on every count, and how this unit moves them."""
        if not isinstance(self.noise, BoundGaussian):
            return None
        return self.noise.found.variance, _shifts(unit, self.question.bins)

    def modes(self) -> tuple[Mode, ...]:
        return self.noise.modes()

    def draw(self, statistic: Statistic, bits: Bits, *, mode: Mode, tick: Tick | None = None) -> Table:
        """Add noise to every bin. Counts outside the public range are clamped first, in silence."""
        assert isinstance(statistic, DenseCounts)
        return Table(self._add(statistic.take(), bits, mode, tick))

    def _add(self, counts: NDArray[np.int64], bits: Bits, mode: Mode, tick: Tick | None) -> NDArray[np.int64]:
        low, high = self.clamp
        return self.noise.add(counts, bits, mode, tick, low=low, high=high)


def _table_bound(value: Fraction) -> ErrorValue:
    return ErrorValue(value, "bound", "Balcer, Vadhan 2018, Figure 3")


def _shifts(unit: Unit, bins: int) -> Shifts:
    """How a unit moves this number of counts; loaded with the calibration of Gaussian noise."""
    from dpviz.privacy.discrete_gaussian import Shifts

    return Shifts.of(unit, bins)


protect_module(vars())
