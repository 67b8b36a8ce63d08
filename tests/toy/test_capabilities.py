"""A shape inherits a refusal, or a claim of nothing, for each capability that it does not define."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any, ClassVar

import pytest

import dpviz as dv
from dpviz.errors import DpvizError, ParameterError, ReleaseFormat
from dpviz.model.answers import SHAPES, AdditiveCounts, Answer, Axis, Packed, Reading, View, register
from dpviz.model.answers.base import REQUIRED
from dpviz.model.linear import Query
from dpviz.model.question import Question
from tests.toy.pairs import BINS, FRAME, PairMeans, Pairs

DERIVED = ("to_json", "held_json", "from_json", "rows", "lines")
"""Members that follow from those that every shape defines."""


@dataclass(frozen=True, eq=False)
class Bare(Answer):
    """A shape with nothing but what every shape has to define."""

    kind: ClassVar[str] = "bare"

    def pack(self) -> Packed:
        return Packed({})

    @classmethod
    def unpack(cls, packed: Packed) -> Bare:
        return cls()

    def fits(self, question: Question, max_items: int | None) -> bool:
        return True

    def axis(self, reading: Reading) -> Axis:
        return Axis("visits", "number", ("all",))


class RowsForBins(AdditiveCounts, PairMeans):  # type: ignore[misc]
    """The near-wrong twin: rows are taken for the bins of the question, and each for as sure as one bin."""


@pytest.fixture
def release(known: None, tmp_path: Path) -> dv.Release:
    session = dv.Session(FRAME, dv.Unit("row"), dv.Budget(epsilon=1), tmp_path / "pairs.ledger")
    return session.release(BINS, Pairs(epsilon="1/10"))


def test_a_shape_with_nothing_of_its_own_refuses_or_claims_nothing(release: dv.Release) -> None:
    refused, silent = [], []
    for name, member in inspect.getmembers_static(Bare):
        if name.startswith("_") or name in (*REQUIRED, *DERIVED) or isinstance(member, str | bool | tuple):
            continue
        if isinstance(member, property):
            assert getattr(Bare(), name) in (None, False) or name == "has_values", name
            continue
        given = {"reading": release.reading, "beta": Fraction(1, 20), "among": "one", "reader": ""}
        asked = {one: given.get(one) for one in list(inspect.signature(member).parameters)[1:]}
        try:
            found = getattr(Bare(), name)(**asked)
        except DpvizError as refusal:
            assert isinstance(refusal, ReleaseFormat) and refusal.value == "bare" and refusal.next_step, name
            refused.append(name)
        else:
            assert found in (None, False, "", (), {}, (None, None)), name
            silent.append(name)
    assert {"read", "weighted_sum", "all_points", "query_point", "in_row", "typed_point", "marginal"} <= set(refused)
    assert {"bars", "intervals", "listing", "points_of_labels"} <= set(silent)


QUESTIONS: list[Callable[[Any], object]] = [
    lambda release: release.sum([0, 1]),
    lambda release: release.sum(),
    lambda release: release.range(0, 3),
    lambda release: release.difference([0], [1]),
    lambda release: release.share([0], [0, 1]),
    lambda release: release.compare([0], [1]),
    lambda release: release.marginal(["visits"]),
]


def test_linear_queries_to_a_shape_without_them_are_refused_and_its_twin_would_guess(release: dv.Release) -> None:
    for ask in QUESTIONS:
        with pytest.raises(DpvizError):
            ask(release)
    for ask in QUESTIONS[:3]:
        with pytest.raises(ReleaseFormat, match="not counts that add up") as refusal:
            ask(release)
        assert refusal.value.next_step == "read release.to_frame()"
    answer, reading = release.answer, release.reading
    assert isinstance(answer, PairMeans)
    twin = RowsForBins(answer.sums, answer.bins)
    assert len(twin.all_points(reading)) == 5 > len(twin.axis(reading).labels) == 3
    one_bin = Query.of(([twin.query_point(reading, 1)], 1))
    assert twin.weighted_sum(reading, one_bin) == Fraction(int(answer.sums[0]), 2)  # the mean of bins 0 and 1
    assert twin.bars(reading, Fraction(1, 20))[0] is not None and answer.bars(reading, Fraction(1, 20)) == (None, None)


def test_a_shape_that_cannot_be_stored_is_refused_before_anybody_pays() -> None:
    class Halfway(Answer):
        kind: ClassVar[str] = "halfway"

        def pack(self) -> Packed:
            return Packed({})

        def view(self, reading: Reading, betas: Sequence[Fraction]) -> View:
            return View("histogram", {})

    with pytest.raises(ParameterError, match="a shape defines pack, unpack, fits, axis") as refusal:
        register(Halfway)
    assert refusal.value.next_step == "define unpack, fits, axis in its class"
    assert "halfway" not in SHAPES
