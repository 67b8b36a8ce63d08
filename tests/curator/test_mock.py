"""Made-up rows are of the declared schema, say that they are made up, and come from public facts alone."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

import dpviz as dv
from dpviz.curator.client import CuratedSession
from dpviz.curator.mock import MADE_UP, mock
from dpviz.curator.wire import PublicFacts
from dpviz.engines import as_source
from dpviz.errors import ParameterError
from dpviz.model.question import Question
from dpviz.model.source import TopRules
from dpviz.model.statistic import Column, StatisticKind
from dpviz.session.custody import Charter

BINS: dict[str, dv.Domain] = {
    "visits": dv.Domain.integers(0, 5, column="visits", underflow=True, overflow=True, missing=True),
    "share": dv.Domain.intervals(["0", "0.5", "2"], column="share", overflow=True),
    "ward": dv.Domain.categories(["north", "south"], column="ward", other=True, missing=True),
    "grade": dv.Domain.categories([1, 2, 3], column="grade", other=True),
    "seen": dv.Domain.times("2020", "2021", by="month", column="seen", underflow=True, missing=True),
    "left": dv.Domain.times("2020-01-01", "2020-01-03", by="hour", column="left"),
}
WRITTEN: dict[str, dv.Domain] = {
    "stay": dv.Domain.integers(1, 4, column="stay", overflow=True, missing=True, malformed=True),
    "part": dv.Domain.intervals([0, 1, 2], column="part", malformed=True),
    "came": dv.Domain.times("2020", "2021", by="quarter", column="came", missing=True, malformed=True),
}
"""Bins of columns whose values are read from texts."""
COLUMNS = (
    Column("person", "text"), Column("visits", "number"), Column("share", "number"), Column("ward", "text"),
    Column("grade", "number"), Column("seen", "time"), Column("left", "time"), Column("note", "text"),
    Column("height", "number"), Column("born", "time"),
)  # fmt: skip
UNIT = dv.Unit("person", noun="person", max_bins=3)
CHARTER = Charter("visits", UNIT, COLUMNS)


@pytest.fixture(scope="module")
def frame() -> pd.DataFrame:
    return mock(CHARTER, BINS, rows=2000, seed=7)


def test_the_rows_have_the_declared_columns_and_kinds(frame: pd.DataFrame) -> None:
    assert len(frame) == 2000
    assert as_source(frame).columns == COLUMNS


def test_every_declared_bin_and_every_bin_beside_is_met(frame: pd.DataFrame) -> None:
    source = as_source(frame)
    for bins in BINS.values():
        counted = source.count(Question.of(bins), dv.Unit(), StatisticKind.DENSE).take()
        assert len(counted) == bins.size and counted.min() > 0, bins


def test_values_that_may_be_malformed_are_texts_that_are_read_as_the_curator_reads_them(tmp_path: Path) -> None:
    columns = (Column("stay", "number"), Column("part", "number"), Column("came", "time"))
    frame = mock(Charter("visits", dv.Unit(), columns), WRITTEN, rows=2000)
    source = as_source(frame)
    assert source.columns == columns
    for bins in WRITTEN.values():
        counted = source.count(Question.of(bins), dv.Unit(), StatisticKind.DENSE).take()
        assert len(counted) == bins.size and counted.min() > 0, bins
    assert dv.teaching(frame.drop(columns="part"), seed=1).columns == (columns[0], columns[2])


def test_users_have_several_rows_up_to_the_limit(frame: pd.DataFrame) -> None:
    sizes = frame["person"].value_counts()
    assert sizes.max() == 3 and sizes.min() == 1
    one = mock(Charter("v", dv.Unit("person"), (Column("person", "number"),)), {}, rows=50)
    assert one["person"].value_counts().max() == 1
    free = dv.Unit("person", max_bins=None, max_per_bin=4)
    many = mock(Charter("v", free, (Column("person", "number"),)), {}, rows=500)
    assert many["person"].value_counts().max() == 5


def test_a_session_and_a_lesson_on_made_up_rows_say_so_wherever_they_are_shown(
    frame: pd.DataFrame, tmp_path: Path
) -> None:
    taught = dv.teaching(frame, seed=1)
    session = dv.Session(frame, UNIT, dv.Budget(1), tmp_path / "v.ledger")
    release = session.release(BINS["visits"], dv.Dense(epsilon="1/2"))
    assert session.dataset == taught.dataset == f"visits {MADE_UP}"
    for shown in (repr(session), repr(taught), str(session.ledger.charter), release.to_json()):
        assert MADE_UP in str(shown)
    dv.report([release], tmp_path / "v.html")
    assert MADE_UP in (tmp_path / "v.html").read_text()


def test_made_up_rows_are_marked_once(frame: pd.DataFrame) -> None:
    again = mock(Charter(f"visits {MADE_UP}", UNIT, COLUMNS), BINS, rows=3)
    assert again.attrs["dpviz"] == frame.attrs["dpviz"] == {"dataset": f"visits {MADE_UP}", "made_up": True}


def test_a_seed_makes_the_same_rows_and_another_makes_others(frame: pd.DataFrame) -> None:
    pd.testing.assert_frame_equal(mock(CHARTER, BINS, rows=2000, seed=7), frame)
    assert not mock(CHARTER, BINS, rows=2000, seed=8).equals(frame)


class Facts:
    """A connection to a curator of which only the charter is asked."""

    name = "a test"

    def get(self, path: str) -> object:
        assert path == "/charter"
        bins = {name: domain.to_json() for name, domain in BINS.items()}
        facts = PublicFacts("visits", "pandas", "v.ledger", COLUMNS, UNIT, TopRules(), bins, "ada", ("plan",), "0.5")
        return facts.to_json()


def test_an_analyst_s_session_makes_them_up_without_asking_the_curator(frame: pd.DataFrame) -> None:
    made = CuratedSession(Facts()).mock(rows=2000, seed=7)  # type: ignore[arg-type]
    pd.testing.assert_frame_equal(made, frame)
    assert made.attrs == frame.attrs


@pytest.mark.parametrize(("rows", "seed"), [(0, 0), (-1, 0), (1.5, 0), ("many", 0), (10**7, 0), (1, -1), (1, "x")])
def test_numbers_outside_their_range_are_refused(rows: object, seed: object) -> None:
    with pytest.raises(ParameterError):
        mock(CHARTER, BINS, rows=rows, seed=seed)  # type: ignore[arg-type]
