"""A source that counts until somebody cancels: no test races a draw that is long, and ends."""

from __future__ import annotations

import time

import numpy as np

from dpviz.model.question import Question
from dpviz.model.source import Tick
from dpviz.model.statistic import Column, DenseCounts, Need, Statistic
from dpviz.privacy.unit import Unit

FEW = 1000
"""A question of at most so many bins is answered at once."""


class Endless:
    """Of few bins it counts nothing in each. Of more it counts on and on, and ticks."""

    name, columns = "endless visits", (Column("visits", "number"),)

    def check(self, question: Question, unit: Unit, need: Need) -> None:
        """Any question will do."""

    def count(self, question: Question, unit: Unit, need: Need, tick: Tick | None = None) -> Statistic:
        assert tick is not None
        while question.bins > FEW:
            tick(0, 2)
            time.sleep(0.01)
        return DenseCounts(np.zeros(question.bins, dtype=np.int64))
