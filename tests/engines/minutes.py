"""Half a million ordered bins: what Tree and Sorted count where the data lies, and what of it leaves the engine."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np

import dpviz as dv
from dpviz.engines.ibis_source import IbisSource
from dpviz.engines.queries import Columns, Engine, Rows
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
        self.left: list[Columns | Rows] = []

    def prepared(self, query: Any) -> Any:
        return self._real.prepared(query)

    def columns(self, query: Any, stopped: threading.Event) -> Columns | Rows:
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
    labels, given = left if isinstance(left, Columns) else map(np.array, zip(*left, strict=True))
    occupied = np.flatnonzero(counts)
    assert sorted(labels.tolist()) == occupied.tolist() and given.min() > 0
    assert 1_000 < len(labels) < MINUTES.bins // 4
    for mechanism in MECHANISMS:
        bound = mechanism.bind(MINUTES, unit)
        one, other = (bound.draw(of, TeachingBits(3), mode="exact").pack() for of in counted)
        assert one.header == other.header and one.arrays.keys() == other.arrays.keys()
        assert all((one.arrays[name] == other.arrays[name]).all() for name in one.arrays)


def statement_for_minutes(source: Source, unit: Unit) -> str:
    """What is sent to the engine."""
    assert isinstance(source, IbisSource)
    return str(source._countable(MINUTES, unit, StatisticKind.DENSE).take())
