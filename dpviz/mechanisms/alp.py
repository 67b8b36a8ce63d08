"""ALP: a whole sparse vector in a few bits per entry, from which any key is read with an error bar."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, fields
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar, Final, Literal, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from dpviz.boundary import protect_module
from dpviz.errors import ParameterError
from dpviz.exact import ceil_to, counted, exp_bounds, log_up, text
from dpviz.laws.alp import bits_for, mean_bound, price_up, quantile_bound
from dpviz.laws.log_encoding import FINE as FINE_RUNGS
from dpviz.laws.log_encoding import HIGHEST, Rungs, growth, paper_factor, paper_floor
from dpviz.mechanisms.cuts import cut_through
from dpviz.mechanisms.look_ups import Capped, Positive, Room
from dpviz.mechanisms.moves import Moves
from dpviz.model.answers import LogSketch, SignedSketch, Sketch
from dpviz.model.answers.log_sketch import LogPlan
from dpviz.model.answers.signed_sketch import SignedPlan
from dpviz.model.answers.sketch import MOST_BITS, SketchPlan
from dpviz.model.error import ErrorModel, ErrorValue
from dpviz.model.goals import Goal
from dpviz.model.laws.base import StoredLaw
from dpviz.model.laws.log_sketch import LogSketchLaw
from dpviz.model.laws.signed_sketch import SignedSketchLaw
from dpviz.model.laws.sketch import SketchLaw
from dpviz.model.laws.threshold import Cut
from dpviz.model.mechanism import Bound, Cost, Mechanism, Mode, Space
from dpviz.model.parameters import Exact, OneOf, parameter
from dpviz.model.question import Question
from dpviz.model.source import Tick
from dpviz.model.statistic import SparseCounts, Statistic, StatisticKind
from dpviz.model.words import shown
from dpviz.noise.alp import SEED_BYTES, climbed, coded, merged, project, rounded
from dpviz.noise.bits import Bits
from dpviz.noise.flips import FlipSampler, chance_for
from dpviz.privacy.conversion import STEP
from dpviz.privacy.guarantee import Guarantee
from dpviz.privacy.unit import Unit

Accounting = Literal["auto", "count-exact", "l1-real"]
Encoding = Literal["unary", "histogram", "log", "signed"]
Hashing = Literal["multiply-shift", "carter-wegman"]

PLACES = 16
"""A bit is flipped with a chance of so many binary places."""

FINE = 30
"""How many bits one step is worth is kept to so many significant binary digits, rounded down."""

BITS_A_SECOND = 1 << 27
"""Bits of a sketch that are drawn, on a slow processor."""

MOST_COLUMNS = 1 << 16

ALPHA: Final[Any] = parameter(reads=Positive(1000), default=Fraction(3), label="α, bits and error of a column")
ROOM: Final[Any] = parameter(reads=Room(), default=Fraction(10), label="Bits for each of them in a column, at least")
ACCOUNTING: Final[Any] = parameter(
    reads=OneOf(Accounting),
    default="auto",
    label="Price by",
    options={
        "auto": "auto: exact for counts, the paper's for sums",
        "count-exact": "the exact worst ratio",
        "l1-real": "the paper's bound",
    },
)

HASHING: Final[Any] = parameter(reads=OneOf(Hashing), default="multiply-shift", later=True)


def encoding(*, later: bool) -> Any:
    """The parameter that says how values are written as bits."""
    return parameter(
        reads=OneOf(Encoding),
        default="unary",
        label="Encoding",
        options={
            "unary": "as many bits as ε allows",
            "histogram": "one bit for each count",
            "log": "logarithms: any range in few columns, with an error that is a factor",
            "signed": "both signs in one number, for sums that may be negative",
        },
        later=later,
    )


# ---------------------------------------------------------------- the scale


@dataclass(frozen=True)
class Scale:
    """How bits are flipped, and how many bits a step is worth: numerator / denominator, a power of 2.

    paid  what it costs one unit, rounded up, and never above what was asked
    """

    ones: int
    places: int
    numerator: int
    denominator: int
    paid: Fraction

    @property
    def alpha(self) -> Fraction:
        return Fraction(1 << self.places, self.ones) - 2

    @property
    def worth(self) -> Fraction:
        return Fraction(self.numerator, self.denominator)


def scale_for(
    epsilon: Fraction,
    alpha: Fraction,
    accounting: Accounting,
    question: Question,
    moves: Moves,
    most: int,
    *,
    together: bool = False,
) -> Scale:
    """The largest worth of a step that costs at most epsilon.

    most      how many bits a value has at most, about
    together  whether a value of either sign is one unary number: then it moves as one that is never negative does
    """
    signed = question.aggregate.signed and not together
    if accounting == "count-exact" and signed and moves.slots[0][1] > 1:
        raise ParameterError.of(
            'accounting="count-exact"',
            "a value that may change its sign moves in two halves of a sketch, whose exact price is not worked out",
            'use accounting="l1-real", or encoding="signed"',
        )
    ones, places = chance_for(alpha.numerator, alpha.denominator, PLACES)
    kept = Fraction(1 << places, ones) - 2
    exact = accounting == "count-exact" or (accounting == "auto" and question.aggregate.counts)
    worth = epsilon / (kept * moves.l1)
    if exact:
        for many, far in moves.slots:
            worth = max(worth, bits_for(kept, exp_bounds(epsilon / many)[0]) / far)
    shift = FINE - (math.floor(worth).bit_length() if worth >= 1 else 1 - math.floor(1 / worth).bit_length())
    shift = max(0, min(shift, 58 - max(1, most).bit_length()))
    numerator = math.floor(worth * (1 << shift))
    if numerator < 1:
        raise ParameterError.of(
            text(epsilon), "a step of a value is worth too little of a bit to be told apart", "use a larger step"
        )
    while numerator % 2 == 0 and shift:
        numerator, shift = numerator // 2, shift - 1
    final = Fraction(numerator, 1 << shift)
    paid = ceil_to(kept * final * moves.l1, STEP)
    if exact:
        paid = min(paid, *(price_up(kept, final * far, STEP, many) for many, far in moves.slots))
    return Scale(ones, places, numerator, 1 << shift, min(epsilon, paid))


def histogram_scale(epsilon: Fraction, question: Question, moves: Moves) -> Scale:
    """Algorithm 10: a step is one bit, and the chance of a flip is what epsilon allows."""
    question.check_counts("the histogram encoding")
    alpha = exp_bounds(epsilon / moves.l1)[0] - 1
    least = Fraction(1, 1 << PLACES - 1)
    if alpha < least:
        raise ParameterError.of(
            text(epsilon), "with so small an epsilon a bit for each count says nothing", 'use encoding="unary"'
        )
    alpha = alpha.limit_denominator(1 << 40) if alpha < 1 << 20 else alpha
    while exp_bounds(epsilon / moves.l1)[0] < 1 + alpha:
        alpha -= least / 4
    ones, places = chance_for(alpha.numerator, alpha.denominator, PLACES)
    kept = Fraction(1 << places, ones) - 2
    return Scale(ones, places, 1, 1, min(epsilon, log_up(1 + kept, STEP, moves.l1)))


def plan_for(scale: Scale, cap: int, keys: int, room: Fraction, *, signed: bool, hashing: Hashing) -> SketchPlan:
    """The sketch for values of up to `cap` steps."""
    return sized(scale, math.ceil(cap * scale.worth), keys, room, signed=signed, hashing=hashing)


def sized(scale: Scale, columns: int, keys: int, room: Fraction, *, signed: bool, hashing: Hashing) -> SketchPlan:
    """The sketch of so many columns. Raises ParameterError where they are too many."""
    size = max(1, math.ceil(keys * room / 8)) * 8 if hashing == "carter-wegman" else 0
    width = max(3, ((size or math.ceil(keys * room)) - 1).bit_length())
    halves, slots = 2 if signed else 1, size or 1 << width
    if columns > MOST_COLUMNS or halves * columns * slots > MOST_BITS:
        raise ParameterError.of(
            f"{halves * columns:,} columns of {f'{size:,}' if size else f'2^{width}'} bits",
            f"a sketch has at most {MOST_COLUMNS:,} columns and {MOST_BITS:,} bits",
            "use ThresholdALP, a larger alpha, a smaller cap or fewer keys",
        )
    return SketchPlan(scale.ones, scale.places, scale.worth, columns, width, keys, halves, size=size)


def log_plan(
    scale: Scale, cap: int, keys: int, room: Fraction, question: Question, hashing: Hashing, low: tuple[str, str]
) -> LogPlan:
    """The sketch of logarithms for values of up to `cap` steps: the paper's factor from bit to bit.

    low  what `cap` is called, and what a person can do where it is too low
    """
    if question.aggregate.signed:
        raise ParameterError.of(
            'encoding="log"', "only values that are never negative have a logarithm here", 'use encoding="unary"'
        )
    if cap > HIGHEST:
        raise ParameterError.of(text(cap), f"a table of logarithms reaches {HIGHEST:,} steps", "use a larger step")
    one = sized(scale, 1, keys, room, signed=False, hashing=hashing)
    factor = growth(one.flips)
    rungs = Rungs.up_to(scale.worth, factor, cap, MOST_COLUMNS)
    if rungs is not None and rungs.floor >= cap:
        floor = ceil_to(rungs.floor * question.aggregate.step, Fraction(1, 100))
        raise ParameterError.of(
            text(cap * question.aggregate.step),
            f"{low[0]} must be above the floor of the logarithms, which is {text(floor)} at this epsilon",
            f'{low[1]}, or use encoding="unary"',
        )
    columns = MOST_COLUMNS + 1 if rungs is None else rungs.columns
    plan = sized(scale, columns, keys, room, signed=False, hashing=hashing)
    return LogPlan(**{one.name: getattr(plan, one.name) for one in fields(plan)}, growth=factor)


def signed_plan(plan: SketchPlan, question: Question) -> SignedPlan:
    """The same sketch, read as one number of both halves."""
    if not question.aggregate.signed:
        raise ParameterError.of(
            'encoding="signed"',
            "no value of this question is negative, so half the bits say nothing",
            'use encoding="unary"',
        )
    return SignedPlan(**{one.name: getattr(plan, one.name) for one in fields(plan)})


def log_price(plan: LogPlan, scale: Scale, accounting: Accounting, question: Question, moves: Moves) -> Fraction:
    """The price of the table: no step moves a value by more bits than the first one above the floor does."""
    alpha, rungs = scale.alpha, plan.rungs
    paid = ceil_to(alpha * rungs.moved(1) * moves.l1, STEP)
    if accounting == "count-exact" or (accounting == "auto" and question.aggregate.counts):
        paid = min(paid, *(price_up(alpha, rungs.moved(far), STEP, many) for many, far in moves.slots))
    return min(scale.paid, paid)


LOW_CAP: Final = ("cap", "raise cap or epsilon")
"""The rule that values must lie above the floor of the logarithms, and the next step where they do not."""

Levels: TypeAlias = Callable[[NDArray[np.int64], Bits], NDArray[np.int64]]
"""How many bits values are written as, rounded at random."""


def in_proportion(plan: SketchPlan) -> Levels:
    """Each step is worth the same."""
    return lambda values, bits: rounded(values, plan.worth.numerator, plan.worth.denominator, plan.columns, bits)


def by_logarithm(plan: LogPlan) -> Levels:
    """From one bit to the next a value grows by a factor."""
    rungs = np.array(plan.rungs.table, dtype=np.int64)
    return lambda values, bits: climbed(values, rungs, FINE_RUNGS, bits)


def sketch(
    plan: SketchPlan,
    labels: NDArray[Any],
    values: NDArray[np.int64],
    bits: Bits,
    *,
    levels_of: Levels,
    numbered: bool,
    tick: Tick | None = None,
) -> tuple[bytes, NDArray[np.uint8]]:
    """A fresh public seed, and the bits of all columns. How many values there are, and how large, changes nothing."""
    seed, flips = bits.take(SEED_BYTES), FlipSampler(plan.ones, plan.places)
    columns = plan.hashes(seed)
    keys, values = merged(coded(labels, seed, numbered=numbered), values)
    if plan.halves == 1:
        return seed, project(keys, levels_of(values, bits), columns, flips, bits, tick)
    parts = []
    for half, sign in enumerate((1, -1)):
        own = columns.part(half * plan.columns, plan.columns)
        parts.append(project(keys, levels_of(sign * values, bits), own, flips, bits, None))
        if tick is not None:
            tick((half + 1) * plan.columns, 2 * plan.columns)
    return seed, np.concatenate(parts)


# ---------------------------------------------------------------- parameters


class ALP(Capped):
    """Write values as unary numbers of bits, scatter the bits by public hashing, and flip each bit with one chance.

    Parameters
    ----------
    epsilon : str, int, float or Fraction
        The price in the session's unit.
    cap : str, int, float or Fraction, default 1000
        The largest value that can be read: public. Larger ones are cut to it, in silence.
    keys : int, default 1000
        About how many bins are not empty: public, and never from the data. More cost accuracy, not privacy.
    alpha : str, int, float or Fraction, default 3
        The alpha of the paper: a larger one has fewer columns, and its bits are flipped less often.
    room : str, int, float or Fraction, default 10
        Bits for each key in a column, above 2. A column has the next power of 2, or with "carter-wegman" no more than
        the next multiple of 8.
    accounting : {"auto", "count-exact", "l1-real"}, default "auto"
        "count-exact": the exact worst likelihood ratio of a value that one unit moves; "l1-real": the paper's epsilon
        for each unit of l1; "auto": the first for counts, the second for sums.
    encoding : {"unary", "histogram", "log", "signed"}, default "unary"
        "unary": a step is worth as many bits as epsilon allows; "histogram": one bit for each count, and the flips are
        what epsilon allows (Algorithm 10); "log": from bit to bit a value grows by a factor, so that few columns reach
        any cap. Values above a floor are read with an error that is a factor; a value below it, an empty bin too, is
        read as the floor or more (Section 6). Not for values below 0; "signed": for sums of both signs, each one number
        of 2m bits, where else each sign has a half of its own. One estimate instead of the difference of two, so its
        error is smaller at the same price and size (Section 10).
    hashing : {"multiply-shift", "carter-wegman"}, default "multiply-shift"
        "multiply-shift": fast; "carter-wegman": modulo a prime, for columns of any size, slower to build and to read.

    Raises
    ------
    ParameterError
        If a parameter is outside its range, or two contradict each other.

    Notes
    -----
    **Privacy.** Pure DP, for any data and any hash functions [1]_.

    **Error.** A bound for any one value, from the law of the estimate: exactly for up to 12 columns, else by two walks.
    It holds where at most `keys` bins are not empty, and no value is above the cap.

    **Reading.** Free, any number of times: `release[key]`, `release.many(keys)`.

    References
    ----------
    .. [1] Aumüller, Lebeda, Pagh 2022, Algorithms 2 to 5 and 10, Sections 6 and 10; the exact price is ours.

    Examples
    --------
    >>> from dpviz.model.domain import Domain
    >>> keys = Question.of(Domain.integers(0, 2**32 - 1, column="key"))
    >>> bound = ALP(epsilon=1, keys=1000, cap=100).bind(keys, Unit())
    >>> bound.space.text, bound.price.sentence
    ('58 × 16,384', '1-differential privacy for adding or removing one row')

    Values up to a million in steps of a factor; with "unary" they would need more than half a million columns:

    >>> bound = ALP(epsilon=1, keys=1000, cap=10**6, encoding="log").bind(keys, Unit())
    >>> bound.space.text, bound.measures[0].label
    ('133 × 16,384', 'Any one bin of 21 or more, as a factor')
    """

    name: ClassVar[str] = "ALP"
    about: ClassVar[str] = "Answers any key of a huge domain from a few bits per entry. Counts or sums. No δ."
    serves: ClassVar[tuple[Goal, ...]] = ("look-ups",)
    delta_text: ClassVar[str] = "ALP is pure: no δ."

    alpha: Exact = ALPHA
    room: Exact = ROOM
    accounting: Accounting = ACCOUNTING
    encoding: Encoding = encoding(later=False)
    hashing: Hashing = HASHING

    def bind(self, question: Question, unit: Unit) -> SketchBound:
        """Fix the scale and the size of the sketch.

        Parameters
        ----------
        question : Question
            Keys, or declared bins, whose values are looked up later.
        unit : Unit
            The unit that is protected.

        Returns
        -------
        SketchBound
            Price, draw and error law of `ALP` for this question and unit.

        Raises
        ------
        ParameterError
            If `ALP` cannot answer the question for this unit. Only public facts are looked at.
        """
        moves, cap = self.begun(question, unit)
        part = part_for(self, self.total, cap, question, moves, LOW_CAP)
        price = self.guarantee(unit, part.paid, part.rule)
        return part.kind(self, question, unit, part.plan, price, None, False)


# ---------------------------------------------------------------- a sketch at a price


class Options(Protocol):
    """The public parameters of a sketch, of whatever mechanism."""

    @property
    def keys(self) -> int: ...

    @property
    def alpha(self) -> Fraction: ...

    @property
    def room(self) -> Fraction: ...

    @property
    def accounting(self) -> Accounting: ...

    @property
    def encoding(self) -> Encoding: ...

    @property
    def hashing(self) -> Hashing: ...


@dataclass(frozen=True)
class Part:
    """A sketch at a price, by itself or behind a threshold.

    paid, rule  what it costs one unit, and by which rule
    kind        what a mechanism is bound to that answers it
    """

    plan: SketchPlan
    paid: Fraction
    rule: str
    kind: type[SketchBound]


def part_for(
    options: Options, epsilon: Fraction, cap: int, question: Question, moves: Moves, low: tuple[str, str]
) -> Part:
    """The sketch for values of up to `cap` steps that costs at most epsilon.

    low  what `cap` is called, and what a person can do where it lies below the floor of the logarithms
    """
    paper, together = "Aumüller, Lebeda, Pagh 2022", options.encoding == "signed"
    if options.encoding == "histogram":
        scale = histogram_scale(epsilon, question, moves)
    else:
        scale = scale_for(epsilon, options.alpha, options.accounting, question, moves, MOST_COLUMNS, together=together)
    if options.encoding == "log":
        table = log_plan(scale, cap, options.keys, options.room, question, options.hashing, low)
        rule = f"no step of a value is worth more bits than one of a sketch without logarithms; {paper}, Lemma 6.1"
        return Part(table, log_price(table, scale, options.accounting, question, moves), rule, LogSketchBound)
    signed = question.aggregate.signed
    plan = plan_for(scale, cap, options.keys, options.room, signed=signed, hashing=options.hashing)
    if options.encoding == "histogram":
        return Part(plan, scale.paid, f"{paper}, Lemma 7.1", SketchBound)
    if together:
        rule = f"the likelihood ratio of a number of 2m bits; {paper}, Section 10"
        return Part(signed_plan(plan, question), scale.paid, rule, SignedSketchBound)
    exact = scale.paid < scale.alpha * scale.worth * moves.l1 or options.accounting == "count-exact"
    rule = (
        f"the exact worst likelihood ratio of moved values; {paper}, Algorithm 4" if exact else f"{paper}, Lemma 4.12"
    )
    return Part(plan, scale.paid, rule, SketchBound)


# ---------------------------------------------------------------- bound


@dataclass(frozen=True)
class SketchBound(Bound):
    """A mechanism that answers a sketch, bound to a question and a unit; alone, or behind a threshold."""

    mechanism: Mechanism
    question: Question
    unit: Unit
    plan: SketchPlan
    paid: Guarantee
    cut: Cut | None
    adaptive: bool

    needs: ClassVar[StatisticKind] = StatisticKind.SPARSE
    shape: ClassVar[type[Sketch]] = Sketch
    scattered: ClassVar[str] = "the values"

    @property
    def price(self) -> Guarantee:
        return self.paid

    @cached_property
    def space(self) -> Space:
        plan = self.plan
        size = f"{plan.halves * plan.columns:,} × {plan.slots:,}"
        return Space(bits=plan.bits, text=size if self.cut is None else f"{size}, and what is kept")

    @cached_property
    def cost(self) -> Cost:
        plan = self.plan
        text_ = f"read {counted(plan.halves * plan.columns, 'bit')} for each look-up"
        return Cost(steps=plan.halves * plan.columns, text=text_, seconds=plan.bits / BITS_A_SECOND)

    @property
    def bins(self) -> int | None:
        return self.question.bins if self.question.domain.declared else None

    @cached_property
    def law(self) -> StoredLaw:
        return SketchLaw(self.plan, self.question.aggregate.step, self.bins, self.cut, self.adaptive)

    @property
    def levels_of(self) -> Levels:
        """How many bits values are written as."""
        return in_proportion(self.plan)

    @property
    def error(self) -> ErrorModel:
        return self.law.error

    @property
    def verb(self) -> str:
        step, plan = self.question.aggregate.step, self.plan
        kept = ""
        if self.cut is not None:
            kept = f" and keeps those whose noisy value reaches {shown(self.cut.least * step)}"
        columns = f"{counted(plan.halves * plan.columns, 'column')} of bits that are flipped at random"
        return f"Scatters {self.scattered} over {columns}{kept}."

    @property
    def notes(self) -> list[tuple[str, dict[str, Any]]]:
        """The paper's bounds beside ours."""
        flips, step = self.plan.flips, self.question.aggregate.step
        unit = step / self.plan.worth
        mean = (Fraction(1, 2) + mean_bound(flips)) * unit
        tail = (1 + Fraction(quantile_bound(flips, Fraction(1, 20)))) * unit
        shown = ErrorValue(_short(mean), "bound", "Aumüller, Lebeda, Pagh 2022, Lemma 4.8")
        often = ErrorValue(_short(tail), "bound", "Aumüller, Lebeda, Pagh 2022, Lemma 4.15")
        return [
            ("The paper's bound on the mean error", shown.to_json()),
            ("The paper's bound, any one bin", {**often.to_json(), "beta": "0.05"}),
        ]

    def draw(self, statistic: Statistic, bits: Bits, *, mode: Mode, tick: Tick | None = None) -> Sketch:
        """Draw the sketch. How many bins are occupied is private: ticks count columns."""
        assert isinstance(statistic, SparseCounts)
        labels, values = statistic.take()
        kept_labels, kept = labels[:0], values[:0]
        if self.cut is not None:
            kept_labels, kept = cut_through(self.cut, labels, values, self.bins, bits)
            if self.adaptive:
                open_ = ~np.isin(labels, kept_labels)
                labels, values = labels[open_], values[open_]
        numbered = self.bins is not None and self.bins <= 2**64
        seed, packed = sketch(self.plan, labels, values, bits, levels_of=self.levels_of, numbered=numbered, tick=tick)
        return self.shape(self.plan, seed, packed, tuple(kept_labels.tolist()), kept)


@dataclass(frozen=True)
class LogSketchBound(SketchBound):
    """A sketch of logarithms."""

    plan: LogPlan

    shape: ClassVar[type[Sketch]] = LogSketch
    scattered: ClassVar[str] = "the logarithms of the values"

    @cached_property
    def law(self) -> LogSketchLaw:
        return LogSketchLaw(self.plan, self.question.aggregate.step, self.bins, self.cut, self.adaptive)

    @property
    def levels_of(self) -> Levels:
        return by_logarithm(self.plan)

    @property
    def notes(self) -> list[tuple[str, dict[str, Any]]]:
        """The paper's floor, which ours is a little below, and its bound on the factor."""
        source = "Aumüller, Lebeda, Pagh 2022, Lemma 6.2"
        floor = paper_floor(self.plan.flips, self.plan.worth)[1] * self.question.aggregate.step
        shown = ErrorValue(_short(floor), "bound", f"{source}: 1 / ln B")
        factor = ErrorValue(_short(Fraction(paper_factor(self.plan.flips))), "bound", source)
        return [("The paper's floor", shown.to_json()), ("The paper's bound on the mean factor", factor.to_json())]


@dataclass(frozen=True)
class SignedSketchBound(SketchBound):
    """A sketch of values of both signs, each one number of 2m bits."""

    plan: SignedPlan

    shape: ClassVar[type[Sketch]] = SignedSketch

    @cached_property
    def law(self) -> SignedSketchLaw:
        return SignedSketchLaw(self.plan, self.question.aggregate.step, self.bins, self.cut, self.adaptive)

    @property
    def notes(self) -> list[tuple[str, dict[str, Any]]]:
        """The paper states no error for values of both signs."""
        return []


def _short(value: Fraction) -> Fraction:
    """Rounded up to a thousandth."""
    return ceil_to(value, Fraction(1, 1000))


protect_module(vars())
