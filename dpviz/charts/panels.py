"""What a histogram is drawn from and how it is laid out: a panel from 0, and one cut where error bars can be read."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpviz.charts.theme import Ink, Palette
from dpviz.charts.ticks import lies
from dpviz.charts.words import measured, often, shown
from dpviz.model.answer import SparseTable
from dpviz.model.domain import Domain
from dpviz.model.error import ErrorValue
from dpviz.model.public import PublicTable
from dpviz.model.release import Release

MOST_SINGLE, NARROWEST = 500, 1.2
"""Up to so many bins, of at least so many pixels each, every bin has its own marks."""

LEGIBLE = 3
"""The least length in pixels of a one-bin bar, from the value outward, that a reader can make out."""

TALL, TALL_CUT, ROW = 190, 150, 28
LABEL_HEIGHT = 18


@dataclass(frozen=True)
class Counts:
    """What a histogram is drawn from, whichever door it came through. Public throughout."""

    domain: Domain
    values: NDArray[np.int64]
    nouns: str
    ink: Ink
    colours: Palette
    verb: str
    often: str = ""
    one: ErrorValue | None = None
    every: ErrorValue | None = None
    clamp: tuple[int | None, int | None] = (None, None)
    real: bool = True
    """A release, paid for; not a teaching draw and not a public table."""

    @classmethod
    def released(cls, release: Release, beta: Any, colours: Palette) -> Counts:
        one, every = release.bars(beta)
        real = release.teaching is None
        domain, values = release.question.domain, release.shown
        if isinstance(release.answer, SparseTable):
            column = domain.columns_text
            domain = Domain.categories(release.labels or ["no bin is shown"], column=column)
            values = values if len(values) else np.zeros(1, dtype=np.int64)
        return cls(
            domain=domain,
            values=values,
            nouns=release.unit.nouns,
            ink=colours.release if real else colours.public,
            colours=colours,
            verb="released" if real else "drawn",
            often=often(beta),
            one=one,
            every=every,
            clamp=release.bound.clamp,
            real=real,
        )

    @classmethod
    def public(cls, table: PublicTable, colours: Palette) -> Counts:
        values = np.asarray(table.counts, dtype=np.int64)
        return cls(table.domain, values, table.nouns, colours.public, colours, verb="counted", real=False)

    @property
    def size(self) -> int:
        return len(self.values)

    @property
    def bars(self) -> bool:
        return self.one is not None

    def ends(self, bar: ErrorValue | None) -> Ends:
        """Each value ± bar, cut at the public limits; a cut end gets no cap."""
        half = 0 if bar is None else int(bar.value // 1)
        low, high = self.values - half, self.values + half
        least, most = self.clamp
        below = np.zeros(self.size, dtype=bool) if least is None else low < least
        above = np.zeros(self.size, dtype=bool) if most is None else high > most
        return Ends(np.where(below, least or 0, low), np.where(above, most or 0, high), below, above)

    @cached_property
    def alone(self) -> Ends:
        return self.ends(self.one)

    @cached_property
    def among(self) -> Ends:
        return self.ends(self.every or self.one)


@dataclass(frozen=True)
class Ends:
    low: NDArray[np.int64]
    high: NDArray[np.int64]
    low_cut: NDArray[np.bool_]
    high_cut: NDArray[np.bool_]


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
    lowest, highest = min(0, int(counts.values.min())), max(1, int(counts.values.max()))
    beside = 14 + measured(f"{shown(highest)} ±{shown(0 if counts.one is None else counts.one.value)}") if lying else 0
    air = tall / max(tall / 2, tall - beside)  # beside a lying bar stands its value
    full = Panel(
        lowest, _nice_top(max(highest, 4)) * air, tall, wide, counts.size, bars=True, intervals=False, lying=lying
    )
    if counts.one is None:
        return full, None, False
    one, every = float(counts.one.value), float((counts.every or counts.one).value)
    if one * tall / (highest * air - lowest) >= LEGIBLE:
        least, most = min(lowest, int(counts.among.low.min())), int(counts.among.high.max())
        foot = -_nice_top(-least) if least < 0 else 0.0
        room = (most * tall - foot * LABEL_HEIGHT) / (tall - LABEL_HEIGHT)  # above the caps stands a value
        return replace(full, low=foot, high=max(_nice_top(most) * air, room), intervals=True), None, False
    cut = cut_for(counts.values, one, every)
    if cut is None:
        return full, None, True
    foot = max(-cut, min(0, int(counts.among.low.min())))
    below = replace(full, low=foot, high=cut, bars=False, intervals=True, tall=tall if lying else TALL_CUT)
    return (replace(full, cut=cut) if full.up(cut) >= 2 else full), below, False


def cut_for(values: NDArray[np.int64], one: float, every: float) -> float | None:
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
