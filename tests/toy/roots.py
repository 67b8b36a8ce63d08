"""A shape whose values are irrational: the roots of the means of pairs, each between two fractions.

All else is that of `pairs`, its view on the page included.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import dpviz as dv
from dpviz.exact import root_bounds, text
from dpviz.mechanisms.dense import Dense
from dpviz.model.answers import Answer, Enclosed, Intervals, Reading, View
from dpviz.model.answers.reading import Among, Points
from dpviz.model.between import between
from dpviz.model.question import Question
from dpviz.model.source import Tick
from dpviz.model.statistic import Statistic
from dpviz.noise.bits import Bits
from tests.toy.pairs import Mode, PairMeans, Pairs, PairsBound

PRECISION = 24


class PairRoots(PairMeans):
    """The roots of the means of neighbouring bins; of one below 0 it is 0."""

    kind: ClassVar[str] = "pair-roots"
    chart: ClassVar[str] = "histogram"

    def read(  # type: ignore[override]
        self, reading: Reading, points: Points = None, reader: str = ""
    ) -> list[Fraction | Enclosed]:
        ends = [root_bounds(max(Fraction(0), mean), PRECISION) for mean in self.picked(self.means, points)]
        return [low if low == high else Enclosed(low, high) for low, high in ends]

    def intervals(
        self, reading: Reading, beta: Fraction, among: Among = "one", points: Points = None, reader: str = ""
    ) -> Intervals:
        """The roots of the ends of what holds for the mean."""
        of_means = super().intervals(reading, beta, among, points, reader)
        low, high = (
            [None if end is None else root_bounds(Fraction(max(0, end)), PRECISION)[side] for end in ends]
            for side, ends in enumerate((of_means.low, of_means.high))
        )
        return Intervals(low, high, of_means.how, of_means.rule)

    def view(self, reading: Reading, betas: Sequence[Fraction]) -> View:
        """Drawn as means are, from the middles."""
        view = super().view(reading, betas)
        middles = [text(between(value).middle) for value in self.read(reading)]
        return View(PairMeans.kind, {**view.header, "means": middles})


class Roots(Pairs):
    """Noise on every bin, of which the roots of the means of neighbours are read."""

    name: ClassVar[str] = "Roots"

    def bind(self, question: Question, unit: dv.Unit) -> RootsBound:
        return RootsBound(self, Dense(self.epsilon, clamp=False).bind(question, unit))


@dataclass(frozen=True)
class RootsBound(PairsBound):
    shape: ClassVar[type[Answer]] = PairRoots

    def draw(self, statistic: Statistic, bits: Bits, *, mode: Mode, tick: Tick | None = None) -> PairRoots:
        means = super().draw(statistic, bits, mode=mode, tick=tick)
        return PairRoots(means.sums, means.bins)
