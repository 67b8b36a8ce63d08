"""A source for tests: counts that are known, work that can be slowed, watched or made to fail."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping

import numpy as np

from dpviz.model.question import Question
from dpviz.model.source import Tick, TopRules
from dpviz.model.statistic import Column, DenseCounts, Need, Statistic, Top, TopCounts
from dpviz.privacy.unit import Unit


class KnownCounts:
    """A source whose counts the test chose. `before` runs while counting, after the charge."""

    def __init__(self, counts: list[int], before: Callable[[Tick | None], None] | None = None) -> None:
        self._counts = counts
        self._before = before
        self.counted = 0

    @property
    def name(self) -> str:
        return "known counts"

    @property
    def columns(self) -> tuple[Column, ...]:
        return (Column("x", "number"), Column("person", "text"))

    def check(self, question: Question, unit: Unit, need: Need) -> None:
        return None

    def probe(self) -> None:
        return None

    def count(self, question: Question, unit: Unit, need: Need, tick: Tick | None = None) -> Statistic:
        self.counted += 1
        if self._before is not None:
            self._before(tick)
        return DenseCounts(np.array(self._counts, dtype=np.int64))


class KnownTop:
    """A source of largest counts that the test chose, for each filter (by its text). `before` as for KnownCounts."""

    def __init__(
        self, tallies: Mapping[str, Mapping[str, int]], before: Callable[[Tick | None], None] | None = None
    ) -> None:
        self._tallies = tallies
        self._before = before
        self.counted = 0

    @property
    def name(self) -> str:
        return "known counts"

    @property
    def columns(self) -> tuple[Column, ...]:
        return (Column("dest", "text"), Column("month", "number"), Column("person", "text"))

    @property
    def top(self) -> TopRules:
        return TopRules()

    def check(self, question: Question, unit: Unit, need: Need) -> None:
        return None

    def probe(self) -> None:
        return None

    def count(self, question: Question, unit: Unit, need: Need, tick: Tick | None = None) -> Statistic:
        assert isinstance(need, Top)
        self.counted += 1
        if self._before is not None:
            self._before(tick)
        rows = sorted((-count, item) for item, count in self._tallies[question.where_text].items() if count)
        counts = [-count for count, _ in rows]
        top = np.array(counts[: need.rows], dtype=np.int64)
        return TopCounts([item for _, item in rows[: need.rows]], top, sum(counts[need.rows : need.rows + 1]))


class Gate:
    """Work that waits until the test lets it go on, ticking meanwhile, so that a cancel can land in the middle."""

    def __init__(self) -> None:
        self.reached = threading.Event()
        self.open = threading.Event()

    def __call__(self, tick: Tick | None) -> None:
        self.reached.set()
        while not self.open.wait(0.01):
            assert tick is not None
            tick(0, 1)
