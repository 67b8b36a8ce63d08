"""Half a million ordered bins: what Tree and Sorted count where the data lies, and what of it leaves the engine."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

import dpviz as dv
from dpviz.engines.ibis_source import IbisSource
from dpviz.engines.queries import Engine, IntegerColumns, Rows
from dpviz.model.domain import Domain
from dpviz.model.question import Question
from dpviz.model.source import Source
from dpviz.model.statistic import StatisticKind
from dpviz.noise.bits import TeachingBits
from dpviz.privacy.unit import Unit

MINUTES = Question.of(Domain.integers(0, 525_599, column="scheduled_minute"))
MECHANISMS = (dv.Tree(1), dv.Tree("1/2", branching=2, padding="pinned"), dv.Sorted(1))


class Watched(Engine):
    """An engine, and what it has handed over."""

    def __init__(self, real: Engine) -> None:
        self._real = real
        self.left: list[IntegerColumns | Rows] = []

    def prepared(self, query: Any) -> Any:
        return self._real.prepared(query)

    def columns(self, query: Any, stopped: threading.Event) -> IntegerColumns | Rows:
        self.left.append(self._real.columns(query, stopped))
        return self.left[-1]


def releases_of_minutes_are_those_of_pandas(there: Source, here: Source, unit: Unit) -> None:
    """The same bits give the same answers, though nothing but bins that are not empty has left the engine."""
    assert isinstance(there, IbisSource)
    real, there._engine = there._engine, Watched(there._engine)
    try:
        counted = [source.count(MINUTES, unit, StatisticKind.DENSE) for source in (here, there)]
        (left,) = there._engine.left
    finally:
        there._engine = real
    counts = counted[0].take()
    labels, given = left if isinstance(left, IntegerColumns) else map(np.array, zip(*left, strict=True))
    occupied = np.flatnonzero(counts)
    assert sorted(labels.tolist()) == occupied.tolist() and given.min() > 0
    assert 1_000 < len(labels) < MINUTES.bins // 4
    for mechanism in MECHANISMS:
        bound = mechanism.bind(MINUTES, unit)
        one, other = (bound.draw(of, TeachingBits(3), mode="exact").pack() for of in counted)
        assert one.header == other.header and one.arrays.keys() == other.arrays.keys()
        assert all((one.arrays[name] == other.arrays[name]).all() for name in one.arrays)


ABSENT = pd.DataFrame(
    {
        "whole": pd.array([0, 2**62, -(2**62), 7, None, None], dtype="Int64"),
        "small": pd.array([0, 99, -99, 7, None, None], dtype="Int8"),
        "unsigned": pd.array([0, 2**64 - 1, 3, 7, None, None], dtype="UInt64"),
        "float": [0.0, 1e300, -1e300, 7.0, None, None],
    }
)
SIDES: tuple[dict[str, bool], ...] = ({}, {"underflow": True, "overflow": True}, {"missing": True})
SPANS = ((0, 9), (1, 9), (-9, -1), (-(2**62), 2**62), (5, 2**63), (2**70, 2**71), (-(2**71), -(2**70)))


def absent_values_are_in_no_bin_but_their_own(there: Source, here: Source, spans: Sequence[tuple[int, int]]) -> None:
    """Of integers of every width and of floats, for bins whose numbers overflow, or lie outside of what there is."""
    for column, span, sides in itertools.product([one.name for one in there.columns], spans, SIDES):
        if column == "float" and max(map(abs, span)) > 2**53:
            continue
        question = Question.of(Domain.integers(*span, column=column, **sides))
        one, other = (source.count(question, Unit(), StatisticKind.SPARSE).take() for source in (here, there))
        assert [part.tolist() for part in one] == [part.tolist() for part in other], question.text


def statement_for_minutes(source: Source, unit: Unit) -> str:
    """What is sent to the engine."""
    assert isinstance(source, IbisSource)
    return str(source._countable(MINUTES, unit, StatisticKind.DENSE).take())
