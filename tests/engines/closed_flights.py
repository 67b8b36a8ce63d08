"""Departures of 2013 by month and aircraft: what an engine counts within a limit on months, the profile of aircraft,
and what was asked."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
import pandas as pd
from numpy.typing import NDArray

import dpviz as dv
from dpviz import datasets
from dpviz.model.question import Question
from dpviz.model.source import Source
from dpviz.model.statistic import DenseCounts, StatisticKind
from dpviz.privacy.unit import Unit

MONTHS = dv.Domain.integers(1, 12, column="month")
PROFILE = Question.contribution_profile(MONTHS)
LIMITS = (1, 3, 6, 11, 12)
Counts: TypeAlias = NDArray[np.int64]


def by_month() -> pd.DataFrame:
    """The flights, with their month."""
    flights = datasets.flights()
    month = (pd.Timestamp("2013-01-01") + pd.to_timedelta(flights["scheduled_minute"], unit="m")).dt.month
    return pd.DataFrame({"aircraft": flights["aircraft"], "month": month.astype("int64")})


def asked_of(frame: pd.DataFrame) -> Counts:
    """How many aircraft flew in each month, in plain pandas."""
    pairs = frame.dropna().drop_duplicates()
    found: Counts = pairs.groupby("month").size().to_numpy()
    return found


def counted(source: Source) -> dict[int | None, Counts]:
    """The counts of months within each limit, and under None the profile."""
    found: dict[int | None, Counts] = {}
    for limit in (*LIMITS, None):
        question, unit = (PROFILE if limit is None else Question(MONTHS)).resolved(Unit("aircraft", max_bins=limit))
        statistic: Any = source.count(question, unit, StatisticKind.DENSE)
        assert isinstance(statistic, DenseCounts)
        found[limit] = statistic.take()
    return found
