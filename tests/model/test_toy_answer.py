"""A new shape of answer lives in one file: this one. It is released, stored, saved, loaded and shown, and no other file
knows its name. Its values are fractions, its rows are its own, and each row has an interval of its own length.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any, ClassVar

import altair as alt
import numpy as np
import pandas as pd
import pytest

import dpviz as dv
from dpviz.charts import registry, tables
from dpviz.charts.picture import picture
from dpviz.errors import ParameterError, ReleaseFormat
from dpviz.mechanisms import REGISTRY, Dense
from dpviz.mechanisms.dense import DenseBound
from dpviz.model.answers import SHAPES, Answer, Axis, Intervals, Packed, Reading, View, register
from dpviz.model.answers.base import Among, Points
from dpviz.model.error import ErrorModel
from dpviz.model.mechanism import Bound, Cost, Mode, Space
from dpviz.model.parameters import Epsilon, Exact, Parameters, parameter
from dpviz.model.question import Question
from dpviz.model.source import Tick
from dpviz.model.statistic import Kind, Statistic
from dpviz.noise.bits import Bits
from dpviz.privacy.guarantee import Guarantee

BINS = dv.Domain.integers(0, 4, column="visits")
FRAME = pd.DataFrame({"visits": [0] * 40 + [1] * 21 + [2] * 10 + [3] * 5 + [4] * 3})


@dataclass(frozen=True, eq=False)
class PairMeans(Answer):
    """Means of pairs of neighbouring bins; the last bin stands alone where their number is odd.

    sums  what was drawn: the noisy sum of each pair
    bins  of the question
    """

    kind: ClassVar[str] = "pair-means"
    chart: ClassVar[str] = "histogram"
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
        means = [Fraction(total, width) for total, width in zip(self.sums.tolist(), self.widths(), strict=True)]
        if points is None or isinstance(points, slice):
            return means[points or slice(None)]
        return [means[point] for point in points]

    def bars(self, reading: Reading, beta: Fraction) -> tuple[None, None]:
        return None, None

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
        some = points if isinstance(points, slice) else slice(None)
        ends = list(zip(self.read(reading), halves, strict=True))[some]
        high: list[Fraction | None] = [mean + half for mean, half in ends]
        return Intervals([mean - half for mean, half in ends], [None, *high[1:]], "bound", "a union of two noises")

    def sentence(self, reading: Reading) -> str:
        return f"{len(self.sums)} means of neighbouring bins."

    def view(self, reading: Reading, betas: Sequence[Fraction]) -> View:
        return View(self.kind, {"labels": list(self.axis(reading).labels), "denominators": self.widths()},
                    {"values": self.sums})  # fmt: skip


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
    needs: ClassVar[Kind] = Kind.DENSE
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
    def error(self) -> ErrorModel:
        return self.dense.error

    def draw(self, statistic: Statistic, bits: Bits, *, mode: Mode, tick: Tick | None = None) -> PairMeans:
        noisy = self.dense.draw(statistic, bits, mode=mode, tick=tick).values
        return PairMeans(np.add.reduceat(noisy, range(0, len(noisy), 2)), len(noisy))


@pytest.fixture
def known(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The toy, registered as a stranger's package would do it, for one test."""
    monkeypatch.setitem(REGISTRY, "Pairs", Pairs)  # type: ignore[arg-type]
    register(PairMeans)
    yield
    del SHAPES[PairMeans.kind]


def drawn(folder: Path) -> tuple[dv.Session, dv.Release]:
    session = dv.Session(FRAME, dv.Unit("row"), dv.Budget(epsilon=5), folder / "toy.ledger")
    return session, session.release(BINS, Pairs(epsilon="1/10"))


@pytest.mark.usefixtures("known")
def test_a_new_shape_is_released_stored_saved_and_loaded(tmp_path: Path) -> None:
    session, release = drawn(tmp_path)
    answer = release.answer
    assert isinstance(answer, PairMeans) and release.price_text == "ε = 0.1"
    assert session.release(BINS, Pairs(epsilon="1/10")) == release and len(session.ledger.entries()) == 1
    assert session.releases[1].answer == answer
    path = release.save(tmp_path / "toy.json")
    assert dv.load(path, ledger=session) == release
    stored = json.loads(path.read_text())["release"]["answer"]
    assert stored["kind"] == "pair-means" and stored["bins"] == "5" and set(stored["arrays"]) == {"sums"}
    del SHAPES[PairMeans.kind]
    with pytest.raises(ReleaseFormat, match="does not know that shape"):
        dv.load(path)
    register(PairMeans)


@pytest.mark.usefixtures("known")
def test_its_values_are_fractions_and_each_row_has_its_own_interval(tmp_path: Path) -> None:
    _, release = drawn(tmp_path)
    sums = release.answer.sums.tolist()  # type: ignore[attr-defined]
    assert release.labels == ["0 and 1", "2 and 3", "4"]
    assert release.values == [Fraction(sums[0], 2), Fraction(sums[1], 2), Fraction(sums[2])]
    assert (release[1], release[4]) == (Fraction(sums[0], 2), sums[2])
    assert release.many([3, 0]) == [Fraction(sums[1], 2), Fraction(sums[0], 2)]
    frame = release.to_frame()
    assert list(frame.columns) == ["pair", "bins", "value", "low", "high", "low_all", "high_all"]
    assert frame["bins"].tolist() == [2, 2, 1] and frame["high"][0] is None
    lengths = [high - low for low, high in zip(frame["low"][1:], frame["high"][1:], strict=True)]
    assert lengths[0] > lengths[1] > 0
    assert all(frame["low_all"] < frame["low"])
    with pytest.raises(ReleaseFormat, match=r"read release\.to_frame\(\)"):
        release.bars()


@pytest.mark.usefixtures("known")
def test_it_is_written_tabled_and_pictured_in_its_own_words(tmp_path: Path) -> None:
    session, release = drawn(tmp_path)
    text = release.to_csv()
    assert text is not None and "# 3 means of neighbouring bins." in text
    assert "pair,bins,value,low,high,low_all,high_all" in text
    page = tables.table(release)
    assert "<th scope='row'>2 and 3</th>" in page and "<th scope='col'>this pair alone</th>" in page
    assert "at least" in page and "Any one pair lies within its interval 95 in 100 times." in page
    seen = picture(release)
    assert seen["kind"] == "pair-means" and seen["denominators"] == [2, 2, 1]
    assert seen["values"] == [str(total) for total in release.answer.sums.tolist()]  # type: ignore[attr-defined]
    report = dv.report([release], tmp_path / "toy.html").read_text()
    assert "2 and 3" in report
    assert "Pairs" in repr(session.plan(BINS, Pairs(epsilon="1")))


@pytest.mark.usefixtures("known")
def test_the_chart_that_fits_is_drawn_or_one_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _, release = drawn(tmp_path)
    spec = json.dumps(release.chart().to_dict())
    assert "2 and 3" in spec and "at least" in spec
    monkeypatch.setattr(PairMeans, "chart", "pair-means")
    with pytest.raises(ParameterError, match="registered"):
        release.chart()

    def of_pairs(release: dv.Release, *, width: int = 300) -> alt.Chart:
        rows = [
            {"pair": label, "mean": float(value)} for label, value in zip(release.labels, release.values, strict=True)
        ]
        return alt.Chart(alt.InlineData(values=rows)).mark_bar().encode(x="mean:Q", y="pair:N").properties(width=width)

    monkeypatch.setattr(registry, "CHARTS", dict(registry.CHARTS))
    dv.charts.register("pair-means", of_pairs)
    assert release.chart(width=200).to_dict()["width"] == 200


def test_a_stored_array_that_is_not_what_it_says_is_refused() -> None:
    whole = Packed({"bins": "5"}, {"sums": np.array([1, -2, 2**40])}).to_json()
    assert Packed.from_json(whole).arrays["sums"].tolist() == [1, -2, 2**40]
    part = whole["arrays"]["sums"]
    changes: list[dict[str, Any]] = [
        {"type": "<U4"}, {"type": "|O"}, {"type": ["<i8"]}, {"shape": [4]}, {"shape": [-1]}, {"shape": "3"},
        {"base64": "AAAA"}, {"base64": "!"}, {"base64": 7}, {"more": 1},
    ]  # fmt: skip
    for change in changes:
        with pytest.raises(ReleaseFormat):
            Packed.from_json({"bins": "5", "arrays": {"sums": {**part, **change}}})
    for arrays in (None, [], {"sums": "AAAA"}):
        with pytest.raises(ReleaseFormat):
            Packed.from_json({"bins": "5", "arrays": arrays})


def test_two_shapes_of_one_kind_are_refused() -> None:
    class Table(PairMeans):
        kind: ClassVar[str] = "table"

    with pytest.raises(ParameterError, match="a kind of its own"):
        register(Table)
    assert SHAPES["table"] is not Table
