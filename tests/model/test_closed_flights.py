"""On flights by aircraft, with limits from 1 to 12 of 12 months, ends for what was asked hold at their level: what the
engines count is held against each other, and draws are made from that with seeds."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.stats import binom

import dpviz as dv
from dpviz.engines import as_source
from dpviz.model.question import Question
from dpviz.model.source import Tick
from dpviz.model.statistic import Column, DenseCounts, Need, Statistic
from dpviz.privacy.unit import Unit
from tests.engines.closed_flights import LIMITS, MONTHS, Counts, asked_of, by_month, counted
from tests.session.sources import KnownCounts
from tests.soak.amounts import part, record

ROUNDS = part(200, 25)
CHANCE = 1e-10


class CountedFlights(KnownCounts):
    """The source of what an engine has counted."""

    def __init__(self, known: dict[int | None, Counts]) -> None:
        super().__init__([])
        self._known = known

    @property
    def columns(self) -> tuple[Column, ...]:
        return (Column("month", "number"), Column("aircraft", "text"))

    def count(self, question: Question, unit: Unit, need: Need, tick: Tick | None = None) -> Statistic:
        profiled = question.aggregate.profiled is not None
        return DenseCounts(self._known[None if profiled else unit.max_bins].copy())


@pytest.fixture(scope="module")
def flights(tmp_path_factory: pytest.TempPathFactory) -> tuple[dict[int | None, Counts], Counts]:
    """What pandas and DuckDB count, which is the same, and what was asked."""
    frame, path = by_month(), tmp_path_factory.mktemp("flights") / "flights.parquet"
    frame.to_parquet(path, index=False)
    first, second = counted(as_source(frame)), counted(as_source(path))
    for limit, counts in first.items():
        assert np.array_equal(counts, second[limit])
    return first, asked_of(frame)


@pytest.mark.parametrize("limit", LIMITS)
def test_ends_hold_for_each_month_all_months_the_total_the_share_of_january_and_the_median(
    flights: tuple[dict[int | None, Counts], Counts], limit: int
) -> None:
    """Of each of 16 statements more misses come with a chance of 1e-10 at most: 2e-9 for a limit. Plain ends for what
    was counted miss each month under every limit that cuts."""
    known, asked = flights
    source: Any = CountedFlights(known)
    missed = dict.fromkeys([*map(str, range(1, 13)), "all", "total", "share", "median"], 0)
    plain = 0
    median = int(np.searchsorted(asked.cumsum(), asked.sum() / 2)) + 1
    for seed in range(ROUNDS):
        lesson = dv.teaching(source, seed, Unit("aircraft", max_bins=limit))
        bought = {} if limit == 12 else {"over": dv.Dense("1/10", clamp=False)}
        counts = lesson.draw(MONTHS, dv.Dense("9/10"), **bought)
        ends: Any = counts if limit == 12 else counts.closed_by()
        frame = ends.to_frame()
        for at, true in enumerate(asked):
            missed[str(at + 1)] += not frame.low[at] <= true <= frame.high[at]
        missed["all"] += not ((frame.low_all <= asked) & (asked <= frame.high_all)).all()
        total, share, middle = ends.sum(), ends.share([1]), ends.median()
        missed["total"] += not total.low <= asked.sum() <= total.high
        missed["share"] += not share.low <= asked[0] / asked.sum() <= share.high
        missed["median"] += not middle.low <= median <= middle.high
        if limit < 12:
            plain += int((asked > frame.high_counted).sum())
    assert max(missed.values()) <= binom.isf(CHANCE, ROUNDS, 0.05), missed
    assert limit == 12 or plain > 11 * ROUNDS, "the ends for what was counted would pass"
    said = f"at most {max(missed.values())} misses of one of 16 statements at 5 in 100"
    record(f"Flights by aircraft, {limit} of 12 months counted, {ROUNDS} seeded draws", said)


def test_an_engine_that_lost_a_month_would_be_found(tmp_path: Path) -> None:
    frame = by_month()
    less = counted(as_source(frame[frame.month != 12].reset_index(drop=True)))
    assert not np.array_equal(less[3], counted(as_source(frame))[3])
