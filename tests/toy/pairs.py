"""A stranger's mechanism with a shape of its own, all of it in this file but for its view on the page, `pairs.ts`.

Its values are fractions, its rows are its own, and each row has an interval of its own length, one of them open.
Nothing in dpviz knows the name of any part of it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any, ClassVar, TypeVar

import altair as alt
import numpy as np
import pandas as pd

import dpviz as dv
from dpviz import mechanisms
from dpviz.charts import registry
from dpviz.exact import text
from dpviz.mechanisms.dense import Dense, DenseBound
from dpviz.model import answers, laws
from dpviz.model.answers import Answer, Axis, Intervals, Packed, Reading, View
from dpviz.model.answers.reading import Among, Points
from dpviz.model.error import ErrorModel
from dpviz.model.laws.base import StoredLaw
from dpviz.model.laws.count_noise import NoiseLaw
from dpviz.model.laws.dense import DenseLaw
from dpviz.model.measures import Measure
from dpviz.model.mechanism import Bound, Cost, Mode, Space
from dpviz.model.parameters import Epsilon, Exact, Parameters, parameter
from dpviz.model.question import Question
from dpviz.model.source import Tick
from dpviz.model.statistic import Statistic, StatisticKind
from dpviz.noise.bits import Bits
from dpviz.privacy.guarantee import Guarantee
from dpviz.widgets import views

Row = TypeVar("Row")

BINS = dv.Domain.integers(0, 4, column="visits")
FRAME = pd.DataFrame({"visits": [0] * 40 + [1] * 21 + [2] * 10 + [3] * 5 + [4] * 3})


@dataclass(frozen=True, eq=False)
class PairMeans(Answer):
    """Means of pairs of neighbouring bins; the last bin stands alone where their number is odd.

    sums  what was drawn: the noisy sum of each pair
    bins  of the question
    """

    kind: ClassVar[str] = "pair-means"
    chart: ClassVar[str] = "pair-means"
    sums: np.ndarray
    bins: int

    def pack(self) -> Packed:
        return Packed({"bins": str(self.bins)}, {"sums": self.sums})

    @classmethod
    def unpack(cls, packed: Packed) -> PairMeans:
        return cls(packed.arrays["sums"].astype(np.int64), int(packed.header["bins"]))

    def fits(self, question: Question, max_items: int | None) -> bool:
        return self.bins == question.bins and len(self.sums) == -(-self.bins // 2)

    def widths(self) -> list[int]:
        """How many bins each row has."""
        return [min(2, self.bins - first) for first in range(0, self.bins, 2)]

    def axis(self, reading: Reading) -> Axis:
        label = reading.question.domain.label
        labels = [
            label(first) if width == 1 else f"{label(first)} and {label(first + 1)}"
            for first, width in zip(range(0, self.bins, 2), self.widths(), strict=True)
        ]
        return Axis("visits", "pair", labels, whole=str(len(labels)))

    def rows(self, reading: Reading) -> dict[str, Sequence[Any]]:
        return {**super().rows(reading), "bins": self.widths()}

    def point(self, reading: Reading, label: object) -> int:
        return reading.question.domain.index(label) // 2

    def read(self, reading: Reading, points: Points = None, reader: str = "") -> list[Fraction]:
        return self.picked(self.means, points)

    @property
    def means(self) -> list[Fraction]:
        return [Fraction(total, width) for total, width in zip(self.sums.tolist(), self.widths(), strict=True)]

    def picked(self, rows: Sequence[Row], points: Points) -> list[Row]:
        """The rows of these points, or some in order."""
        if points is None or isinstance(points, slice):
            return list(rows[points or slice(None)])
        return [rows[point] for point in points]

    def intervals(
        self,
        reading: Reading,
        beta: Fraction,
        among: Among = "one",
        points: Points = None,
        reader: str = "",
    ) -> Intervals:
        """A sum of two noises is within twice what one exceeds half as often; nothing bounds the first row above."""
        chance = beta if among == "one" else beta / len(self.sums)
        halves = []
        for width in self.widths():
            bar = reading.error.one_bin(chance / width)
            assert bar is not None
            halves.append(bar.value)
        low = [mean - half for mean, half in zip(self.means, halves, strict=True)]
        high = [None, *(mean + half for mean, half in zip(self.means[1:], halves[1:], strict=True))]
        return Intervals(self.picked(low, points), self.picked(high, points), "bound", "a union of two noises")

    def sentence(self, reading: Reading) -> str:
        return f"{len(self.sums)} means of neighbouring bins."

    def view(self, reading: Reading, betas: Sequence[Fraction]) -> View:
        means = [text(mean) for mean in self.means]
        rows = {"labels": list(self.axis(reading).labels), "means": means, "widths": self.widths()}
        return View(self.kind, {**rows, "intervals": {text(beta): self._ends(reading, beta) for beta in betas}})

    def _ends(self, reading: Reading, beta: Fraction) -> list[list[str | None]]:
        intervals = self.intervals(reading, beta)
        return [
            [None if end is None else text(end) for end in ends]
            for ends in zip(intervals.low, intervals.high, strict=True)
        ]


@dataclass(frozen=True)
class PairsLaw(StoredLaw):
    """The law that sums of neighbours are drawn from: independent noise on each of so many counts."""

    name: ClassVar[str] = "pairs"

    noise: NoiseLaw
    bins: int

    @property
    def error(self) -> ErrorModel:
        return DenseLaw(self.noise, False, self.bins, None).error


class Pairs(Parameters):
    """Noise on every bin, of which the sums of neighbours are kept."""

    name: ClassVar[str] = "Pairs"
    about: ClassVar[str] = "Means of neighbours."
    delta_text: ClassVar[str] = "Pairs is pure: no δ."
    epsilon: Exact = parameter(reads=Epsilon())

    def bind(self, question: Question, unit: dv.Unit) -> PairsBound:
        return PairsBound(self, Dense(self.epsilon, clamp=False).bind(question, unit))


@dataclass(frozen=True)
class PairsBound(Bound):
    mechanism: Pairs
    dense: DenseBound

    shape: ClassVar[type[Answer]] = PairMeans
    needs: ClassVar[StatisticKind] = StatisticKind.DENSE
    verb: ClassVar[str] = "Adds noise to every bin and keeps the sums of neighbours."

    @property
    def question(self) -> Question:
        return self.dense.question

    @property
    def unit(self) -> dv.Unit:
        return self.dense.unit

    @property
    def price(self) -> Guarantee:
        return self.dense.price

    @property
    def space(self) -> Space:
        return self.dense.space

    @property
    def cost(self) -> Cost:
        return self.dense.cost

    @property
    def law(self) -> PairsLaw:
        return PairsLaw(self.dense.law.noise, self.dense.law.bins)

    @property
    def error(self) -> ErrorModel:
        return self.law.error

    @property
    def measures(self) -> tuple[Measure, ...]:
        return (
            Measure(
                name="pair",
                label="Any one pair",
                short="one pair",
                phrase="the mean of any one pair within {value}",
                tip="Pick a pair before looking: at least {times} its mean is within {value} of the truth.",
                at=lambda beta: self.error.one_bin(beta / 2),
                weight="thick",
            ),
        )

    def draw(self, statistic: Statistic, bits: Bits, *, mode: Mode, tick: Tick | None = None) -> PairMeans:
        noisy = self.dense.draw(statistic, bits, mode=mode, tick=tick).values
        return PairMeans(np.add.reduceat(noisy, range(0, len(noisy), 2)), len(noisy))


def of_pairs(release: dv.Release, *, width: int = 300) -> alt.Chart:
    rows = [{"pair": label, "mean": float(value)} for label, value in zip(release.labels, release.values, strict=True)]
    return alt.Chart(alt.InlineData(values=rows)).mark_bar().encode(x="mean:Q", y="pair:N").properties(width=width)


def register(bundle: Path) -> None:
    """Make all of it known, as a stranger's package does it. The bundle is what `pairs.ts` becomes."""
    mechanisms.register(Pairs)
    answers.register(PairMeans)
    laws.stored(PairsLaw)
    registry.register(PairMeans.chart, of_pairs)
    views.register(PairMeans.kind, bundle)


def unregister() -> None:
    """Leave dpviz as it was."""
    mechanisms.unregister(Pairs.name)
    answers.unregister(PairMeans)
    laws.unregister(PairsLaw)
    registry.unregister(PairMeans.chart)
    views.unregister(PairMeans.kind)
