"""The data and the layout of a histogram: a panel from 0, and one cut where error bars can be read."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from dpviz.charts.theme import Ink, Palette
from dpviz.charts.ticks import lies
from dpviz.charts.words import known, measured, often, shown, spread
from dpviz.model.answers import Axis, Enclosed, Intervals
from dpviz.model.answers.reading import MOST_SINGLE
from dpviz.model.answers.values import around
from dpviz.model.domain import Domain
from dpviz.model.error import ErrorValue, How
from dpviz.model.limited import WITHIN
from dpviz.model.public import PublicTable
from dpviz.model.release import ENDINGS, Release

NARROWEST = 1.2
"""The least pixels of a bin that has its own marks."""

LEGIBLE = 3
"""The least length in pixels of a one-bin bar, from the value outward, that a reader can make out."""

TALL, TALL_CUT, ROW = 176, 152, 28
LABEL_HEIGHT = 18


Numbers: TypeAlias = NDArray[np.int64] | NDArray[np.float64]
"""The data of a picture: whole numbers as they are, others as floats."""


@dataclass(frozen=True)
class Ends:
    """Both ends of an interval for every bin. An open end is infinite; one cut at a public limit has no cap.

    stands  whether the lower and the upper ends hold for what was asked, too; one that does not is drawn as an arrow
    """

    low: Numbers
    high: Numbers
    low_cut: NDArray[np.bool_]
    high_cut: NDArray[np.bool_]
    how: How
    stands: tuple[bool, bool] = (True, True)

    @classmethod
    def of(cls, intervals: Intervals, stands: tuple[bool, bool] = (True, True)) -> Ends:
        low, high = numbers(intervals.low, -math.inf), numbers(intervals.high, math.inf)
        nowhere = np.zeros(len(low), dtype=np.bool_)
        return cls(
            low,
            high,
            np.isinf(low) | (nowhere if intervals.low_cut is None else intervals.low_cut),
            np.isinf(high) | (nowhere if intervals.high_cut is None else intervals.high_cut),
            intervals.how,
            stands,
        )

    @property
    def reach(self) -> float:
        """The usual distance from a value to the ends of its interval, for the layout."""
        halves = (self.high - self.low) / 2
        closed = halves[np.isfinite(halves)]
        return float(np.median(closed)) if len(closed) else 1.0

    @property
    def lowest(self) -> float:
        return float(np.min(self.low, initial=0, where=np.isfinite(self.low)))

    @property
    def highest(self) -> float:
        return float(np.max(self.high, initial=0, where=np.isfinite(self.high)))


@dataclass(frozen=True)
class Counts:
    """The data of a histogram, wherever it came from. Public throughout.

    axis              what the rows are; `domain` numbers them
    one, every        the half-widths of any one row and of all at once, where they are the same in every row
    single, together  the intervals of any one row, and of all at once
    real              a release, paid for; not a teaching draw and not a public table
    fractions         the values as they were released, where they are no whole numbers
    told              a label as it stands on a page
    limited           whether the limits of the unit may leave rows out, so that values are counted numbers
    named             the rows by name, where they are no bins of the question
    said              a sentence on all of them
    asked             the intervals for what was asked, where a profile closes them; `single` is for what was counted
    """

    axis: Axis
    domain: Domain
    values: Numbers
    nouns: str
    ink: Ink
    colours: Palette
    verb: str
    often: str = ""
    one: ErrorValue | None = None
    every: ErrorValue | None = None
    single: Ends | None = None
    together: Ends | None = None
    real: bool = True
    fractions: Sequence[Fraction | Enclosed] | None = None
    told: Callable[[str], str] = str
    limited: bool = False
    asked: Ends | None = None
    named: Sequence[str] = ()
    said: str = ""

    @classmethod
    def released(cls, release: Release, beta: Any, colours: Palette) -> Counts:
        axis, released, reading = release.axis, release.shown, release.reading
        one, every = release.answer.bars(reading, beta)
        intervals = [release.intervals(beta, among, of="counted") for among in ENDINGS]
        stands = reading.limited.ends
        values = numbers(released)
        if not len(values):  # one place that says that nothing is shown
            values = np.zeros(1, dtype=np.int64)
            intervals = [None if bar is None else around(values, bar, reading.clamp) for bar in (one, every)]
        single, together = (None if some is None else Ends.of(some, stands) for some in intervals)
        real = release.teaching is None
        return cls(
            axis=axis,
            domain=axis.drawn,
            values=values,
            nouns=release.question.nouns(release.unit),
            ink=colours.release if real else colours.public,
            colours=colours,
            verb="released" if real else "drawn",
            often=often(beta),
            one=one,
            every=every,
            single=single,
            together=together,
            real=real,
            fractions=None if isinstance(released, np.ndarray) or not len(released) else released,
            told=(axis.domain or release.question.domain).told,
            limited=reading.limited.cuts,
        )

    @classmethod
    def stretched(cls, release: Release, beta: Any, colours: Palette) -> Counts | None:
        """Sums of neighbouring bins, where there are more bins than have marks of their own and the answer knows their
        sums."""
        found = release.answer.stretches(release.reading, beta)
        if found is None:
            return None
        question, whole, limited = release.question, f"{len(found.values):,}", release.reading.limited
        domain = found.domain(question)
        single, together = (
            Ends.of(around(found.values, bar, (None, None)), limited.ends) for bar in (found.one, found.every)
        )
        real = release.teaching is None
        total, error = found.whole
        return cls(
            axis=Axis(found.name(question), "sum", (), domain, whole),
            domain=domain,
            values=found.values,
            nouns=question.nouns(release.unit),
            ink=colours.release if real else colours.public,
            colours=colours,
            verb="released" if real else "drawn",
            often=often(beta),
            one=found.one,
            every=found.every,
            single=single,
            together=together,
            real=real,
            told=question.domain.told,
            named=tuple(found.label(question, at) for at in range(len(found.values))),
            limited=limited.cuts,
            said=f"{shown(total)} {question.nouns(release.unit)} in all, {spread(error)} ({known(error)}).{found.rest}",
        )

    @classmethod
    def public(cls, table: PublicTable, colours: Palette) -> Counts:
        values = np.asarray(table.counts, dtype=np.int64)
        axis = Axis(" and ".join(table.domain.columns), "bin", (), table.domain, f"{len(values):,}")
        ink, told = colours.public, table.domain.told
        return cls(axis, table.domain, values, table.nouns, ink, colours, verb="counted", real=False, told=told)

    @property
    def size(self) -> int:
        return len(self.values)

    def label(self, index: int) -> str:
        """The label of a row, for a reader."""
        if self.named:
            return self.named[index]
        return self.told(self.domain.label(index))

    @property
    def bars(self) -> bool:
        return self.single is not None

    @property
    def alone(self) -> Ends:
        """The intervals of any one row. Only asked for where there are bars."""
        assert self.single is not None
        return self.single

    @property
    def among(self) -> Ends:
        """The wider intervals: for what was asked where those are known, of all rows at once, or those of any one."""
        return self.asked or self.together or self.alone

    @property
    def ends_named(self) -> tuple[str, str]:
        """The names of both intervals of a row, for a reader."""
        if self.asked is not None:
            return WITHIN, "asked for"
        return self.axis.alone, f"among all {self.size:,}"

    @property
    def texts(self) -> bool:
        """Whether numbers are written out for a reader, for they are fractions or have open ends."""
        closed = all(np.isfinite(ends.low).all() and np.isfinite(ends.high).all() for ends in (self.alone, self.among))
        return self.fractions is not None or not closed or self.limited

    def exact(self, index: int) -> int | Fraction | Enclosed:
        """One value as it was released."""
        return int(self.values[index]) if self.fractions is None else self.fractions[index]


def numbers(values: Sequence[Any] | Numbers, beyond: float = 0.0) -> Numbers:
    """Values for a picture; `beyond` stands for an open end."""
    if isinstance(values, np.ndarray):
        return values
    if all(isinstance(value, int) for value in values):
        return np.array(values, dtype=np.int64)
    return np.array([beyond if value is None else float(value) for value in values], dtype=np.float64)


@dataclass(frozen=True)
class Panel:
    """One plot: the counts from `low` to `high` over `tall` pixels, the bins over `wide`."""

    low: float
    high: float
    tall: int
    wide: int
    bins: int
    bars: bool
    intervals: bool
    lying: bool = False
    cut: float | None = None
    """Where the panel below is cut, drawn as a line."""

    def __contains__(self, count: float) -> bool:
        return bool(self.low <= count <= self.high)

    @property
    def pitch(self) -> float:
        """Pixels from bin to bin."""
        return self.wide / self.bins

    @property
    def single(self) -> bool:
        """Whether each bin has its own marks; else one mark stands for each pixel column."""
        return self.bins <= MOST_SINGLE and self.pitch >= NARROWEST

    @property
    def bar(self) -> float:
        return min(self.pitch * 0.78, 64) if self.pitch > 4 else self.pitch

    def up(self, count: float) -> float:
        """Pixels above the panel's foot."""
        return (count - self.low) / (self.high - self.low) * self.tall

    def count(self, up: float) -> float:
        return self.low + up / self.tall * (self.high - self.low)


def panels(counts: Counts, width: int) -> tuple[Panel, Panel | None, bool]:
    """The panel from 0, the one cut below it where bars are too short to read there, and whether they are too short."""
    lying = lies(counts.domain)
    tall, wide = (width, ROW * counts.size) if lying else (TALL, width)
    lowest, highest = min(0, math.floor(counts.values.min())), max(1, math.ceil(counts.values.max()))
    beside = 14 + measured(f"{shown(highest)} ±{shown(0 if counts.one is None else counts.one.value)}") if lying else 0
    air = tall / max(tall / 2, tall - beside)  # beside a lying bar stands its value
    full = Panel(
        lowest, _nice_top(max(highest, 4)) * air, tall, wide, counts.size, bars=True, intervals=False, lying=lying
    )
    if not counts.bars:
        return full, None, False
    read = counts.alone if counts.asked is None else counts.asked
    one = read.reach if counts.one is None else float(counts.one.value)
    every = counts.among.reach if counts.every is None else float(counts.every.value)
    if one * tall / (highest * air - lowest) >= LEGIBLE:
        least = min(lowest, counts.among.lowest, counts.alone.lowest)
        most = max(highest, counts.among.highest, counts.alone.highest)
        foot = -_nice_top(-least) if least < 0 else 0.0
        room = (most * tall - foot * LABEL_HEIGHT) / (tall - LABEL_HEIGHT)  # above the caps stands a value
        return replace(full, low=foot, high=max(_nice_top(most) * air, room), intervals=True), None, False
    cut = cut_for(counts.values, one, every)
    if cut is None:
        return full, None, True
    foot = max(-cut, min(0.0, counts.among.lowest, counts.alone.lowest))
    below = replace(full, low=foot, high=cut, bars=False, intervals=True, tall=tall if lying else TALL_CUT)
    return (replace(full, cut=cut) if full.up(cut) >= 2 else full), below, False


def cut_for(values: Numbers, one: float, every: float) -> float | None:
    """Where to cut the second panel: low enough to read one bin's bar, high enough to hold half the bins."""
    middle = float(np.median(np.abs(values)))
    cut = _nice(2.2 * every)
    while cut <= 30 * one:
        if middle <= cut:
            return cut
        cut = _nice(cut * 1.2)
    return None


def _nice(value: float) -> float:
    """The least round number that is not below `value`."""
    power = 10.0 ** math.floor(math.log10(value)) if value > 0 else 1.0
    return next((step * power for step in (1, 1.5, 2, 2.5, 3, 4, 5, 6, 8) if step * power >= value), 10 * power)


def _nice_top(value: float) -> float:
    """A little air above the greatest value, up to the next twentieth of its decade."""
    step = 10.0 ** math.floor(math.log10(max(value, 1))) / 5
    return math.ceil(value * 1.02 / step) * step
