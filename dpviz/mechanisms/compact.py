"""Compact: a noisy count for every label of a huge domain, in one polynomial over a finite field."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from dpviz.boundary import protect_module
from dpviz.errors import ParameterError
from dpviz.exact import Decay, exp_bounds, log_up, text
from dpviz.laws import tables
from dpviz.mechanisms.count_noise import (
    COUNTS,
    GAMMA,
    SAMPLER,
    UNIFORM,
    BoundNoise,
    CountNoise,
    Sampler,
    tight_base,
)
from dpviz.model.answers import Answer, CompactTable
from dpviz.model.answers.compact import MOST_BITS, least_bits
from dpviz.model.error import BETAS, ErrorModel, ErrorValue
from dpviz.model.goals import Goal
from dpviz.model.laws.compact import CompactLaw, sampler_of
from dpviz.model.laws.count_noise import FiniteLaw, SamplerKind
from dpviz.model.mechanism import Bound, Cost, Mode, Space
from dpviz.model.parameters import Epsilon, Exact, ExactOrNone, OneOf, Parameters, parameter
from dpviz.model.question import Question
from dpviz.model.source import Tick
from dpviz.model.statistic import SparseCounts, Statistic, StatisticKind
from dpviz.noise import field as fields
from dpviz.noise.bits import Bits
from dpviz.noise.empty_bin import EmptyBin
from dpviz.noise.field import Field, field_bits, field_of, levels
from dpviz.noise.finite import FiniteSampler, paper_base, truncation
from dpviz.noise.geometric import check_scale
from dpviz.privacy.conversion import STEP
from dpviz.privacy.guarantee import Guarantee
from dpviz.privacy.loss import PureDP
from dpviz.privacy.unit import Unit

Base = Literal["tight", "paper"]

JUNK = 200
"""By default the labels that FastSample gives a uniform count, all together, are there with chance 1/JUNK at most."""

LARGEST_QUOTIENT = 1 << 16
"""A base p/q that leaves so little of epsilon that d0 would be this many times q**2 d is passed over for the next one:
the next one leaves about 1/q**2 more."""

SHOWN_QUOTIENT = 10**12
"""Where a field is larger than this many times d, the price is that of this many times d: it is no less."""


# ---------------------------------------------------------------- parameters


class Compact(Parameters):
    """Add noise to occupied bins, and draw a random polynomial that agrees with them and answers for all other bins.

    Parameters
    ----------
    epsilon : str, int, float or Fraction
        The price in the session's unit.
    base : {"tight", "paper"}, default "tight"
        "tight": the ratio p/q closest to what is asked; "paper": the paper's powers of two, at epsilon/(1 + 1/9).
    sampler : {"auto", "geosample", "fastsample"}, default "auto"
        "geosample", "fastsample", or "auto": the one whose field is smaller.
    field : {"auto", "mersenne", "proth", "paper"}, default "auto"
        "mersenne", "proth", "paper" (GF(2^(2*3^l)), l up to 6), or "auto": the smallest prime field.
    gamma : str, int, float or Fraction, optional
        For FastSample: the chance that one count is replaced by a uniform one. By default so small that all labels
        together have one with chance 1/200 at most.
    cap : int, optional
        A public bound on the number of rows in the domain; required where the unit has no public n.

    Raises
    ------
    ParameterError
        If a parameter is outside its range, or two contradict each other.

    Notes
    -----
    **Privacy.** Pure DP. With n rows at most, the chance of a polynomial f is a constant times the product, over the
    bins x that are not empty, of P_c(v)/P0(v), where v is the count that f(x) stands for, P_c the law of the noisy
    count of a bin of c rows, and P0 that of an element drawn uniformly. One replaced row therefore costs 2 ln(p/q) +
    max ln(P0/P) + max ln(P/P0), and the last two are at most ln((Q + 1)/Q) for Q = d0 // d: the field is chosen as
    small as that total allows, and epsilon is not halved. More than n bins may be occupied where only a cap says that
    there are at most n rows. Nothing may fail then, so the first n rows in the order of their labels are kept and the
    others dropped, in silence. A row that is added may push another out, so adding or removing one row costs what
    replacing one does; whoever adds up to m rows moves at most m rows up and m rows down, and pays m times that [1]_.

    **Error.** Exact for one bin, picked beforehand: bins that are not empty have the sampler's law, empty ones P0,
    which errs less. Several bins are not independent: their error is a union bound, and says so. It holds where the cap
    does.

    References
    ----------
    .. [1] Balcer, Vadhan 2018, Algorithm 8.2, Theorems 8.3 and 8.6, Algorithm 8.5 for empty bins; the sharper price is
           ours.

    Examples
    --------
    >>> from dpviz.model.domain import Domain
    >>> keys = Question.of(Domain.integers(0, 2**64 - 1, column="key"))
    >>> bound = Compact(epsilon=1).bind(keys, Unit("row", relation="replace-one", n=1000))
    >>> bound.space.text, bound.price.exact
    ('1,001 × 313', '2 ln(3/2) + ln(6/5)')
    """

    name: ClassVar[str] = "Compact"
    about: ClassVar[str] = "Answers every label of a huge domain, one look-up at a time. No δ."
    serves: ClassVar[tuple[Goal, ...]] = ("look-ups",)
    delta_text: ClassVar[str] = "Compact is pure: no δ."

    epsilon: Exact = parameter(reads=Epsilon())
    base: Base = parameter(
        reads=OneOf(Base, "Compact needs a rational law"),
        default="tight",
        label="Noise law",
        options={"tight": "tight: close to ε", "paper": "paper: powers of two"},
    )
    sampler: Sampler = SAMPLER
    field: fields.FieldKind = parameter(
        reads=OneOf(fields.FieldKind),
        default="auto",
        label="Field",
        options={
            "auto": "auto: smallest prime",
            "mersenne": "Mersenne prime",
            "proth": "Proth prime",
            "paper": "paper: GF(2^(2·3^l))",
        },
    )
    gamma: ExactOrNone = UNIFORM
    cap: int | None = parameter(
        reads=COUNTS,
        default=None,
        optional=True,
        label="Cap on the rows (public)",
        stays=True,
        premise=("the domain has at most {value} rows",),
    )

    @property
    def noise(self) -> CountNoise:
        return CountNoise(self.epsilon, self.base, self.sampler, self.gamma, self.cap)

    def bind(self, question: Question, unit: Unit) -> CompactBound:
        """Fix n, the sampler and the size of the field.

        Parameters
        ----------
        question : Question
            Declared bins, of which few are occupied.
        unit : Unit
            The unit that is protected.

        Returns
        -------
        CompactBound
            Price, draw and error law of `Compact` for this question and unit.

        Raises
        ------
        ParameterError
            If `Compact` cannot answer the question for this unit. Only public facts are looked at.
        """
        question.check_counts(self.name)
        bins = question.bins
        n = unit.n if self.cap is None else self.cap
        if n is None:
            raise ParameterError.of(
                "no cap",
                "Compact needs a public bound on the number of rows, and this unit has no public n",
                "give cap=, chosen without looking at the data",
            )
        rows = unit.records(bins)
        design = _design(self, bins, n, rows)
        return CompactBound(self, question, unit, rows, design)


# ---------------------------------------------------------------- sampler and field


@dataclass(frozen=True)
class FieldDesign:
    """A sampler, and the least number of elements of a field for it. One row costs no more than these odds."""

    part: FiniteLaw
    least: int
    kind: fields.FieldKind

    @property
    def sampler(self) -> FiniteSampler:
        return sampler_of(self.part)

    @property
    def bits(self) -> int:
        """The bits of one element."""
        return field_bits(self.least, self.kind)

    @property
    def quotient(self) -> int:
        return min(SHOWN_QUOTIENT, fields.surely(self.least, self.kind) // self.sampler.size)

    @property
    def odds(self) -> Fraction:
        """By how much one replaced row can move the odds of any answer."""
        return Fraction(self.part.p, self.part.q) ** 2 * Fraction(self.quotient + 1, self.quotient)


def _design(mechanism: Compact, bins: int, n: int, rows: int) -> FieldDesign:
    """The sampler whose field is smaller, for a price of at most epsilon for `rows` replaced rows."""
    step = mechanism.epsilon / rows
    check_scale(Decay.exp(step / 2))
    g = int(1 / mechanism.gamma) if mechanism.gamma is not None else max(int(1 / GAMMA), JUNK * bins)
    wanted: tuple[SamplerKind, ...] = ("geosample", "fastsample")
    if mechanism.sampler != "auto":
        wanted = (mechanism.sampler,)
    found: list[FieldDesign] = []
    refused: list[int] = []
    p, q, quotient, e = _base(mechanism.base, step)
    for kind in wanted:
        bits = _lower_bits(kind, n, p, q)
        if _fits(n, bits):
            rule: Literal["paper", "tight"] = "paper" if e else "tight"
            t = truncation(n, g, p, q, rule=rule, e=e or None) if kind == "fastsample" else 0
            bits = least_bits(kind, n, p, q, t)
        if _fits(n, bits):
            part = FiniteLaw(kind, n, p, q, g if t else 0, t)
            needed = max(bins, n + 1, quotient * sampler_of(part).size)
            bits = needed.bit_length()
            if _fits(n, bits) and fields.holds(needed, mechanism.field):
                found.append(FieldDesign(part, needed, mechanism.field))
        refused.append(bits)
    if not found:
        most = fields.largest(mechanism.field)
        raise ParameterError.of(
            f"{n + 1:,} × {min(refused):,} bits or more",
            f"a compact answer has at most {MOST_BITS:,} bits, in elements of at most {most:,}",
            f"use a {'larger' if step <= 2 else 'smaller'} epsilon, a smaller n, or another field",
        )
    return min(found, key=lambda design: design.bits)


def _fits(n: int, bits: int) -> bool:
    return bits <= fields.LARGEST and (n + 1) * bits <= MOST_BITS


def _base(base: Base, step: Fraction) -> tuple[int, int, int, int]:
    """p, q, the least quotient d0 // d that fits, and the paper's 1/epsilon' (0 for a tight base).

    The paper takes epsilon' = 1/ceil(10 e/9) and d0 >= 30 e d where epsilon is 1/e (Theorem 8.6).
    """
    if base == "paper":
        e = int(-(-1 // step))
        own = -(-10 * e // 9)
        p, q = paper_base(own)
        return p, q, max(30 * e, _quotient(p, q, step) or 0), own
    p, q = tight_base(step / 2)
    if p > q + 1:
        p, q = _sixty_fourths(p * (64 // q), step)
    while (quotient := _enough(p, q, step)) is None:  # once or twice: (q + 1)/q leaves about 2/q**2 more than q/(q - 1)
        p, q = p + 1, q + 1
    return p, q, quotient, 0


def _sixty_fourths(most: int, step: Fraction) -> tuple[int, int]:
    """The largest ratio of most/64, (most - 1)/64, ... that leaves enough of epsilon; 2 where none above it does.

    The sufficient size depends on the denominator q in lowest terms: (p/q)**2 (1 + 1/s) <= exp(step) for s the largest
    quotient with q. That is a square root for each of the seven denominators.
    """
    odds, found = exp_bounds(step)[0], 128
    for shared in (1, 2, 4, 8, 16, 32, 64):  # what the numerator has in common with 64
        q = 64 // shared
        square = odds * q * q / (1 + Fraction(1, LARGEST_QUOTIENT * q * q))
        p = min(math.isqrt(int(square)), most // shared)
        found = max(found, shared * (p - (q > 1 and p % 2 == 0)))
    ratio = Fraction(found, 64)
    return ratio.numerator, ratio.denominator


def _enough(p: int, q: int, step: Fraction) -> int | None:
    """The least quotient d0 // d that p/q allows; None where it leaves less of epsilon than the next ratio should."""
    quotient = _quotient(p, q, step)
    return None if quotient is None or quotient > LARGEST_QUOTIENT * q * q else quotient


def _quotient(p: int, q: int, step: Fraction) -> int | None:
    """The least Q with (p/q)**2 (Q + 1)/Q <= exp(step), on the safe side; None where nothing is left for it."""
    left = exp_bounds(step)[0] * Fraction(q * q, p * p) - 1
    return int(-(-1 // left)) if left > 0 else None


def _lower_bits(kind: SamplerKind, n: int, p: int, q: int) -> int:
    """A lower bound on the bits of d, before anything of that size is computed: t + 1 >= ln(4)/ln(p/q)."""
    return least_bits(kind, n, p, q, q // (p - q))


# ---------------------------------------------------------------- bound


@dataclass(frozen=True)
class CompactBound(Bound):
    """Compact, bound to a question and a unit.

    rows  how many rows one unit can add to the domain
    """

    mechanism: Compact
    question: Question
    unit: Unit
    rows: int
    design: FieldDesign

    needs: ClassVar[StatisticKind] = StatisticKind.SPARSE
    shape: ClassVar[type[Answer]] = CompactTable

    @property
    def n(self) -> int:
        """The public bound on the number of rows: one less than the number of coefficients."""
        return self.design.part.n

    @cached_property
    def noise(self) -> BoundNoise:
        return BoundNoise(self.mechanism.noise, 2 * self.rows, self.n, self.design.part)

    @cached_property
    def field(self) -> Field:
        """The field. A Proth prime is looked for here, which takes up to a tenth of a second."""
        return field_of(self.design.least, self.design.kind)

    @cached_property
    def empty(self) -> EmptyBin:
        return EmptyBin(self.design.sampler, self.field.order)

    @cached_property
    def price(self) -> Guarantee:
        part, quotient = self.design.part, self.design.quotient
        paid = min(self.mechanism.epsilon, log_up(self.design.odds, STEP, self.rows))
        one = f"2 ln({part.p}/{part.q}) + ln({quotient + 1}/{quotient})"
        return Guarantee(
            PureDP(paid),
            self.unit,
            "Balcer, Vadhan 2018, Theorem 8.3, with the odds of the empty bins in force",
            requested=self.mechanism.epsilon,
            exact=one if self.rows == 1 else f"{self.rows} ({one})",
        )

    @cached_property
    def space(self) -> Space:
        bits = self.design.bits
        return Space(bits=(self.n + 1) * bits, text=f"{self.n + 1:,} × {bits}")

    @cached_property
    def cost(self) -> Cost:
        """Seconds from sizes, as `benchmarks/compact.py` measures them."""
        size = self.space.bits
        reading, building = size / 1.8e6, size * (self.n + 1).bit_length() / 7e7
        spent = f"build about {_seconds(building)}, 10,000 look-ups about {_seconds(reading)}"
        return Cost(steps=levels(self.n + 1) + 1, text=spent, seconds=max(reading, building))

    @cached_property
    def law(self) -> CompactLaw:
        return CompactLaw(self.design.part, self.field.name, self.question.bins)

    @property
    def error(self) -> ErrorModel:
        return self.law.error

    @property
    def verb(self) -> str:
        return f"Adds noise to {self.question.domain.size_text} and keeps them as {self.n + 1:,} coefficients."

    @property
    def notes(self) -> Sequence[tuple[str, dict[str, Any]]]:
        """The paper's table bounds (Figure 6)."""
        epsilon = self.mechanism.epsilon / self.rows
        shown = []
        for label, bins in (("one bin", 1), (f"all of {self.question.domain.size_text}", self.question.bins)):
            for beta in BETAS:
                value = tables.compact(epsilon, beta, bins=bins, column=self.design.part.kind)
                bound = ErrorValue(Fraction(value), "bound", "Balcer, Vadhan 2018, Figure 6")
                shown.append((f"Table bound, {label}", {**bound.to_json(), "beta": text(beta)}))
        return shown

    def modes(self) -> tuple[Mode, ...]:
        return ("exact", "strict")

    def draw(self, statistic: Statistic, bits: Bits, *, mode: Mode, tick: Tick | None = None) -> CompactTable:
        """Draw the polynomial. For all data, n + 1 counts get noise and n + 1 points are joined."""
        assert isinstance(statistic, SparseCounts)
        size, done = self.n + 1, 0

        def step() -> None:
            nonlocal done
            done += 1
            if tick is not None:
                tick(done, self.cost.steps)

        labels, counts = first_rows(*statistic.take(), self.n)
        padded = np.zeros(size, dtype=np.int64)
        padded[: len(counts)] = counts
        noisy = self.noise.add(padded, bits, mode, low=0, high=self.n).tolist()
        points = with_padding(labels, size, self.field.order)
        elements = [
            self.empty.element(value if place < len(labels) else None, bits) for place, value in enumerate(noisy)
        ]
        step()
        coefficients = polynomial(self.field, points, elements, step)
        return CompactTable(self.field, self.empty, coefficients)


def first_rows(labels: NDArray[Any], counts: NDArray[np.int64], n: int) -> tuple[list[int], NDArray[np.int64]]:
    """The bins and counts of the first n rows, in the order of the labels.

    >>> first_rows(np.array([3, 7, 9], dtype=np.uint64), np.array([2, 4, 1]), 5)
    ([3, 7], array([2, 3]))
    """
    counts = np.clip(counts, 0, n)
    before = np.cumsum(counts) - counts
    kept = np.clip(n - before, 0, counts)
    return [int(label) for label in labels[kept > 0].tolist()], kept[kept > 0]


def with_padding(labels: Sequence[int], size: int, order: int) -> list[int]:
    """The labels, and the smallest other elements, `size` in all. Which are added changes no law."""
    taken = set(labels)
    free = [element for element in range(min(order, 2 * size)) if element not in taken]
    return [*labels, *free[: size - len(labels)]]


def polynomial(
    field: Field, points: Sequence[int], elements: Sequence[int], step: Callable[[], None] | None = None
) -> tuple[int, ...]:
    """The coefficients, as many as points, of the polynomial with these elements at these points."""
    found = field.interpolate(points, elements, step)
    return (*found, *(0 for _ in range(len(points) - len(found))))


def _seconds(value: float) -> str:
    return "0.1 s" if value < 0.1 else f"{value:.1f} s" if value < 10 else f"{value:,.0f} s"


protect_module(vars())
