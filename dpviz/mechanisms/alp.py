"""ALP: a whole sparse vector in a few bits per entry, from which any key is read with an error bar."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar, Final, Literal

import numpy as np
from numpy.typing import NDArray

from dpviz.boundary import protect_module
from dpviz.errors import ParameterError
from dpviz.exact import ceil_to, exp_bounds, log_up, positive, text, typed
from dpviz.laws.alp import bits_for, mean_bound, odds, quantile_bound
from dpviz.mechanisms.moves import Moves
from dpviz.mechanisms.threshold import cut_through
from dpviz.model.answers import Answer, Sketch
from dpviz.model.answers.sketch import MOST_BITS, Plan
from dpviz.model.error import ErrorModel, ErrorValue
from dpviz.model.laws.sketch import SketchLaw
from dpviz.model.laws.threshold import Cut
from dpviz.model.mechanism import Bound, Cost, Mechanism, Mode, Space
from dpviz.model.parameters import Epsilon, Exact, ExactNumber, OneOf, Parameters, WholeNumber, parameter
from dpviz.model.question import Question
from dpviz.model.source import Tick
from dpviz.model.statistic import SparseCounts, Statistic, StatisticKind
from dpviz.noise.alp import SEED_BYTES, Columns, coded, merged, project, rounded
from dpviz.noise.bits import Bits
from dpviz.noise.flips import Flips, chance_for
from dpviz.privacy.conversion import STEP
from dpviz.privacy.guarantee import Guarantee
from dpviz.privacy.loss import PureDP
from dpviz.privacy.unit import Unit

Accounting = Literal["auto", "count-exact", "l1-real"]
Encoding = Literal["unary", "histogram"]

PLACES = 16
"""A bit is flipped with a chance of so many binary places."""

FINE = 30
"""How many bits one step is worth is kept to so many significant binary digits, rounded down."""

MOST_COLUMNS = 1 << 16

MOST_ROOM = 1000


@dataclass(frozen=True)
class Positive(ExactNumber):
    """A number above 0."""

    most: int = 0

    def read(self, value: Any, name: str, earlier: Mapping[str, Any]) -> Fraction:
        number = positive(typed(value, name), name)
        if self.most and number > self.most:
            raise ParameterError.of(text(number), f"{name} must be at most {self.most:,}")
        return number


@dataclass(frozen=True)
class Room(ExactNumber):
    """More than 2 bits for each key: with 2 or fewer, nothing can be said of an estimate."""

    def read(self, value: Any, name: str, earlier: Mapping[str, Any]) -> Fraction:
        room = super().read(value, name, earlier)
        if not 2 < room <= MOST_ROOM:
            raise ParameterError.of(
                text(room), f"{name} must be above 2, and at most {MOST_ROOM:,}", "give more bits to each key"
            )
        return room


ALPHA: Final[Any] = parameter(reads=Positive(1000), default=Fraction(3), label="α, bits and error of a column")
KEYS: Final[Any] = parameter(
    reads=WholeNumber(most=1 << 34), default=1000, always=True, label="Bins that are not empty, about (public)"
)
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
    epsilon: Fraction, alpha: Fraction, accounting: Accounting, question: Question, moves: Moves, most: int
) -> Scale:
    """The largest worth of a step that costs at most epsilon. `most` is how many bits a value has at most, about."""
    signed = question.aggregate.signed
    if accounting == "count-exact" and signed and moves.slots[0][1] > 1:
        raise ParameterError.of(
            'accounting="count-exact"',
            "a value that may change its sign moves in two halves of a sketch, whose exact price is not worked out",
            'use accounting="l1-real"',
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
        paid = min(paid, *(log_up(odds(kept, final * far), STEP, many) for many, far in moves.slots))
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


def plan_for(scale: Scale, cap: int, keys: int, room: Fraction, *, signed: bool) -> Plan:
    """The sketch for values of up to `cap` steps."""
    columns = math.ceil(cap * scale.worth)
    width = max(3, math.ceil(keys * room - 1).bit_length())
    halves = 2 if signed else 1
    if columns > MOST_COLUMNS or (halves * columns) << width > MOST_BITS:
        raise ParameterError.of(
            f"{halves * columns:,} columns of 2^{width} bits",
            f"a sketch has at most {MOST_COLUMNS:,} columns and {MOST_BITS:,} bits",
            "use ThresholdALP, a larger alpha, a smaller cap or fewer keys",
        )
    return Plan(scale.ones, scale.places, scale.worth, columns, width, keys, halves)


def sketch(
    plan: Plan,
    labels: NDArray[Any],
    values: NDArray[np.int64],
    bits: Bits,
    *,
    numbered: bool,
    tick: Tick | None = None,
) -> tuple[bytes, NDArray[np.uint8]]:
    """A fresh public seed, and the bits of all columns. How many values there are, and how large, changes nothing."""
    seed, flips = bits.take(SEED_BYTES), Flips(plan.ones, plan.places)
    columns = Columns(seed, plan.halves * plan.columns, plan.width)
    keys, values = merged(coded(labels, seed, numbered=numbered), values)
    worth, step = plan.worth.numerator, plan.worth.denominator
    if plan.halves == 1:
        levels = rounded(values, worth, step, plan.columns, bits)
        return seed, project(keys, levels, columns, flips, bits, tick)
    parts = []
    for half, sign in enumerate((1, -1)):
        own = columns.part(half * plan.columns, plan.columns)
        levels = rounded(sign * values, worth, step, plan.columns, bits)
        parts.append(project(keys, levels, own, flips, bits, None))
        if tick is not None:
            tick((half + 1) * plan.columns, 2 * plan.columns)
    return seed, np.concatenate(parts)


# ---------------------------------------------------------------- parameters


class ALP(Parameters):
    """Write every value as a unary number of bits, scatter the bits by public hashing, and flip each with one chance.

    epsilon     the price in the session's unit
    cap         the largest value that can be read: public. Larger ones are cut to it, in silence
    keys        about how many bins are not empty: public, and never from the data. More cost accuracy, not privacy
    alpha       the paper's: a larger one has fewer columns, and its bits are flipped less often
    room        bits for each key in a column, above 2. A column has the next power of 2
    accounting  "count-exact": the exact worst likelihood ratio of a value that one unit moves; "l1-real": the paper's
                epsilon for each unit of l1; "auto": the first for counts, the second for sums
    encoding    "unary": a step is worth as many bits as epsilon allows; "histogram": one bit for each count, and the
                flips are what epsilon allows (Algorithm 10)

    Privacy: pure DP, for any data and any hash functions.
    Error:   a bound for any one value, from the law of the estimate: exactly for up to 12 columns, else by two walks.
             It holds where at most `keys` bins are not empty, and no value is above the cap.
    Reading: free, any number of times: `release[key]`, `release.many(keys)`.
    Source:  Aumüller, Lebeda, Pagh 2022, Algorithms 2 to 5 and 10; the exact price is ours.

    >>> from dpviz.model.domain import Domain
    >>> keys = Question.of(Domain.integers(0, 2**32 - 1, column="key"))
    >>> bound = ALP(epsilon=1, keys=1000, cap=100).bind(keys, Unit())
    >>> bound.space.text, bound.price.sentence
    ('58 × 16,384', '1-differential privacy for adding or removing one row')
    """

    name: ClassVar[str] = "ALP"
    about: ClassVar[str] = "Answers any key of a huge domain from a few bits per entry. Counts or sums. No δ."
    delta_text: ClassVar[str] = "ALP is pure: no δ."

    epsilon: Exact = parameter(reads=Epsilon())
    cap: Exact = parameter(
        reads=Positive(), default=Fraction(1000), always=True, label="Largest value that can be read (public)"
    )
    keys: int = KEYS
    alpha: Exact = ALPHA
    room: Exact = ROOM
    accounting: Accounting = ACCOUNTING
    encoding: Encoding = parameter(
        reads=OneOf(Encoding),
        default="unary",
        label="Encoding",
        options={"unary": "as many bits as ε allows", "histogram": "one bit for each count"},
    )

    def bind(self, question: Question, unit: Unit) -> SketchBound:
        """Fix the scale and the size. Raises ParameterError on public facts only."""
        question.check_adds(self.name)
        moves = Moves.of(question, unit)
        cap = math.ceil(self.cap / question.aggregate.step)
        if self.encoding == "histogram":
            scale = histogram_scale(self.epsilon, question, moves)
        else:
            scale = scale_for(self.epsilon, self.alpha, self.accounting, question, moves, MOST_COLUMNS)
        plan = plan_for(scale, cap, self.keys, self.room, signed=question.aggregate.signed)
        rule = "Aumüller, Lebeda, Pagh 2022, Lemma 4.12"
        if self.encoding == "histogram":
            rule = "Aumüller, Lebeda, Pagh 2022, Lemma 7.1"
        elif scale.paid < scale.alpha * scale.worth * moves.l1 or self.accounting == "count-exact":
            rule = "the exact worst likelihood ratio of moved values; Aumüller, Lebeda, Pagh 2022, Algorithm 4"
        price = Guarantee(PureDP(scale.paid), unit, rule, requested=self.epsilon)
        return SketchBound(self, question, unit, plan, price, None, False)


# ---------------------------------------------------------------- bound


@dataclass(frozen=True)
class SketchBound(Bound):
    """A mechanism that answers a sketch, bound to a question and a unit; alone, or behind a threshold."""

    mechanism: Mechanism
    question: Question
    unit: Unit
    plan: Plan
    paid: Guarantee
    cut: Cut | None
    adaptive: bool

    needs: ClassVar[StatisticKind] = StatisticKind.SPARSE
    shape: ClassVar[type[Answer]] = Sketch

    @property
    def price(self) -> Guarantee:
        return self.paid

    @cached_property
    def space(self) -> Space:
        plan = self.plan
        size = f"{plan.halves * plan.columns:,} × {1 << plan.width:,}"
        return Space(bits=plan.bits, text=size if self.cut is None else f"{size}, and what is kept")

    @cached_property
    def cost(self) -> Cost:
        plan = self.plan
        text_ = f"read {plan.halves * plan.columns:,} bits for each look-up"
        return Cost(steps=plan.halves * plan.columns, text=text_, slow=plan.bits > 1 << 28)

    @cached_property
    def law(self) -> SketchLaw:
        plan = self.plan
        bins = self.question.bins if self.question.domain.declared else None
        return SketchLaw(
            plan.ones,
            plan.places,
            plan.worth,
            plan.columns,
            plan.width,
            plan.keys,
            plan.halves,
            self.question.aggregate.step,
            bins,
            self.cut,
            self.adaptive,
        )

    @property
    def error(self) -> ErrorModel:
        return self.law.error

    @property
    def verb(self) -> str:
        step, plan = self.question.aggregate.step, self.plan
        kept = ""
        if self.cut is not None:
            kept = f" and keeps those whose noisy value reaches {text(self.cut.least * step)}"
        return (
            f"Scatters the values over {plan.halves * plan.columns:,} columns of bits that are flipped at random{kept}."
        )

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
        bins = self.question.bins if self.question.domain.declared else None
        kept_labels, kept = labels[:0], values[:0]
        if self.cut is not None:
            kept_labels, kept = cut_through(self.cut, labels, values, bins, bits)
            if self.adaptive:
                open_ = ~np.isin(labels, kept_labels)
                labels, values = labels[open_], values[open_]
        seed, packed = sketch(self.plan, labels, values, bits, numbered=bins is not None and bins <= 2**64, tick=tick)
        return Sketch(self.plan, seed, packed, tuple(kept_labels.tolist()), kept)


def _short(value: Fraction) -> Fraction:
    """Rounded up to a thousandth."""
    return ceil_to(value, Fraction(1, 1000))


protect_module(vars())
