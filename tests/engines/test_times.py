"""Dates and times are counted alike in every engine, by what a clock on the wall said; no time makes a count fail."""

from __future__ import annotations

from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import pytest

import dpviz as dv
from dpviz.engines import as_source
from dpviz.errors import DpvizError, SchemaError
from dpviz.model.domain import Domain
from dpviz.model.question import Between, Question
from dpviz.model.statistic import StatisticKind, Top
from dpviz.privacy.unit import Unit

ROW, USER = Unit("row"), Unit("who", max_bins=2, max_per_bin=2)
START = datetime(2011, 11, 20)


def frame(rows: int = 1_500) -> pd.DataFrame:
    """Times around the edges of all bins: full hours, a microsecond before and after them, and between."""
    chance = np.random.default_rng(12)
    hours = chance.integers(0, 24 * 500, rows)
    beside = chance.choice([0, 0, -1, 1, 1_800_000_000, 59], rows)
    when = np.datetime64(START, "us") + hours * np.timedelta64(1, "h") + beside * np.timedelta64(1, "us")
    when[chance.random(rows) < 0.05] = np.datetime64("NaT")
    return pd.DataFrame(
        {"left": when, "day": when.astype("datetime64[D]").astype("datetime64[s]"), "x": chance.integers(0, 3, rows),
         "who": chance.integers(0, 90, rows)}
    )  # fmt: skip


FRAME = frame()


def sources(data: pd.DataFrame = FRAME) -> dict[str, Any]:
    connection = duckdb.connect()
    connection.register("given", data)
    connection.execute("CREATE TABLE visits AS SELECT * REPLACE (day::DATE AS day) FROM given")
    return {
        "pandas": as_source(data, name="data", schema=None),
        "duckdb": dv.sources.duckdb(connection, "visits"),
        "frame in duckdb": dv.sources.duckdb(connection, "given"),
    }


SOURCES = sources()
ENDS = {"hour": ("2011-12-31", "2012-01-03"), "week": ("2011-12-26", "2012-12-31")}


def domain_of(by: str, column: str = "left", **flags: bool) -> Domain:
    return Domain.times(*ENDS.get(by, ("2012", "2013")), by=by, column=column, **flags)


def expected(by: str, values: Any, domain: Domain) -> list[int]:
    """Counted one by one, by the words of Python's calendar."""
    labels = tuple(domain.labels)
    counts = dict.fromkeys(labels, 0)
    first, last = (
        datetime.fromisoformat(end if len(end) > 4 else f"{end}-01-01") for end in ENDS.get(by, ("2012", "2013"))
    )
    for value in pd.to_datetime(pd.Series(values)):
        if pd.isna(value):
            label = "missing"
        elif value < first:
            label = labels[0]
        elif value >= last:
            label = labels[-2]
        else:
            label = {
                "hour": lambda at: f"{at:%Y-%m-%d %H}:00",
                "day": lambda at: f"{at:%Y-%m-%d}",
                "week": lambda at: f"week of {first + (at - first) // timedelta(days=7) * timedelta(days=7):%Y-%m-%d}",
                "month": lambda at: f"{at:%Y-%m}",
                "quarter": lambda at: f"{at.year} Q{(at.month + 2) // 3}",
                "year": lambda at: f"{at.year}",
            }[by](value)
        counts[label] += 1
    return list(counts.values())


@pytest.mark.parametrize("column", ["left", "day"])
@pytest.mark.parametrize("by", ["hour", "day", "week", "month", "quarter", "year"])
def test_bins_of_time_hold_what_the_calendar_says(by: str, column: str) -> None:
    whole = domain_of(by, column, underflow=True, overflow=True, missing=True)
    inner = domain_of(by, column)
    wanted = expected(by, FRAME[column], whole)
    for name, source in SOURCES.items():
        found = source.count(Question.of(whole), ROW, StatisticKind.DENSE).take().tolist()
        assert found == wanted, name
        assert source.count(Question.of(inner), ROW, StatisticKind.DENSE).take().tolist() == wanted[1:-2], name


@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
def test_every_resolution_of_a_column_is_read(unit: str) -> None:
    data = FRAME.assign(left=FRAME["left"].astype(f"datetime64[{unit}]"))
    whole = domain_of("day", underflow=True, overflow=True, missing=True)
    wanted = expected("day", data["left"], whole)
    for name, source in sources(data).items():
        assert source.count(Question.of(whole), ROW, StatisticKind.DENSE).take().tolist() == wanted, name


@pytest.mark.parametrize(
    ("low", "high"),
    [
        ("2012-01-05", "2012-02"),
        ("2012-01-05 13:00", None),
        (None, "2011-12-31"),
        ("2012-01-01 00:00:00.000001", "2012"),
    ],
)
def test_a_filter_by_dates_lets_pass_what_lies_between(low: Any, high: Any) -> None:
    if high == "2012":
        high = "2012-12"
    between = Between(low, high)
    inside = FRAME["left"].notna()
    if between.low is not None:
        inside &= FRAME["left"] >= datetime(1970, 1, 1) + timedelta(microseconds=int(between.low))
    if between.high is not None:
        inside &= FRAME["left"] <= datetime(1970, 1, 1) + timedelta(microseconds=int(between.high))
    question = Question.of(Domain.integers(0, 2, column="x"), {"left": between})
    wanted = FRAME["x"][inside].value_counts().reindex(range(3), fill_value=0).tolist()
    assert 0 < sum(wanted) < len(FRAME)
    for name, source in SOURCES.items():
        assert source.count(question, ROW, StatisticKind.DENSE).take().tolist() == wanted, name


def test_users_products_parts_and_sparse_counts_are_the_same_in_every_engine() -> None:
    months, days = domain_of("month"), domain_of("day", "day")
    asked = [
        (Question.of(months * Domain.integers(0, 2, column="x")), USER, StatisticKind.DENSE),
        (Question.of(Domain.times("2012", "2013", by="hour", column="left")), USER, StatisticKind.SPARSE),
        (Question.of(days), USER, Top(4)),
    ]
    parts = Question(Domain.integers(0, 2, column="x"), by=dv.Partition(months, max_parts=2))
    asked += [(part, USER, StatisticKind.DENSE) for part in parts.in_parts()[:4]]
    for question, unit, need in asked:
        found = []
        for source in SOURCES.values():
            taken = source.count(question, unit, need).take()
            found.append(str([np.asarray(part).tolist() for part in (taken if isinstance(taken, tuple) else (taken,))]))
        assert len(set(found)) == 1 and any(digit in found[0] for digit in "123456789")


FAR = [
    2**63 - 2,
    2**62,
    10**16,
    9_223_372_036_854_776,
    9_223_372_036_854_775,
    10**13,
    9_223_372_036_855,
    9_223_372_036_854,
]


@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
@pytest.mark.parametrize("by", ["hour", "month"])
def test_no_time_however_far_ends_a_count_and_all_engines_place_it_alike(unit: str, by: str) -> None:
    """A neighbour with such a row must not be told by a failure. DuckDB cannot turn the farthest seconds into its own
    microseconds, and what is too far off for these is no time anywhere."""
    values = [*FAR, *(-at for at in FAR), 0, 86_399, 2**63 - 1, -(2**63) + 1, -(2**63)]
    data = pd.DataFrame({"left": np.array(values, dtype="int64").view(f"datetime64[{unit}]"), "x": 0})
    domain = Domain.times("1970-01-01", "1970-02-01", by=by, column="left", underflow=True, overflow=True, missing=True)
    held = sources_of(data)
    for question in (
        Question.of(domain),
        Question.of(Domain.integers(0, 0, column="x"), {"left": Between("1970-01-01")}),
    ):
        found = {
            name: source.count(question, ROW, StatisticKind.DENSE).take().tolist() for name, source in held.items()
        }
        assert len({tuple(counts) for counts in found.values()}) == 1, found
        assert sum(next(iter(found.values()))) >= 2


def sources_of(data: pd.DataFrame) -> dict[str, Any]:
    connection = duckdb.connect()
    connection.register("given", data)
    connection.execute("CREATE TABLE visits AS SELECT * FROM given")
    found = {name: dv.sources.duckdb(connection, name) for name in ("given", "visits")}
    return {"pandas": as_source(data, name="data", schema=None), **found}


def test_nanoseconds_are_cut_off_and_never_rounded_into_the_next_bin() -> None:
    edges = np.array(["1970-12-31T23:59:59.999999999", "1971-01-01", "1969-12-31T23:59:59.999999999"], "datetime64[ns]")
    data = pd.DataFrame({"left": [*edges, *(edges - np.timedelta64(499, "ns")), *(edges + np.timedelta64(1, "ns"))]})
    question = Question.of(Domain.times("1970", "1971", by="year", column="left", underflow=True, overflow=True))
    for name, source in sources_of(data).items():
        assert source.count(question, ROW, StatisticKind.DENSE).take().tolist() == [2, 4, 3], name


def test_times_beyond_all_bounds_are_early_or_late_or_none() -> None:
    connection = duckdb.connect()
    connection.execute("""CREATE TABLE visits AS SELECT * FROM (VALUES
        ('294247-01-10'::TIMESTAMP, '5881580-07-10'::DATE),
        ('290309-12-22 (BC)'::TIMESTAMP, '5877642-06-25 (BC)'::DATE),
        ('infinity'::TIMESTAMP, 'infinity'::DATE), ('-infinity'::TIMESTAMP, '-infinity'::DATE),
        ('1970-05-05'::TIMESTAMP, '1970-05-05'::DATE)) AS made(moment, day)""")
    source = dv.sources.duckdb(connection, "visits")
    for column in ("moment", "day"):
        domain = Domain.times("1970", "1971", by="year", column=column, underflow=True, overflow=True, missing=True)
        found = source.count(Question.of(domain), ROW, StatisticKind.DENSE).take().tolist()
        assert found == [1, 1, 1, 2], "what is endless has no place in a calendar"


def test_what_is_no_time_and_times_of_a_zone_are_refused_by_name() -> None:
    months = Domain.times("2012", "2013", by="month", column="left")
    odd = {
        "zone": pd.to_datetime(["2012-01-01"]).tz_localize("Asia/Tokyo"),
        "period": pd.period_range("2012", periods=1, freq="M"),
        "length": pd.to_timedelta([1]),
    }
    for values in odd.values():
        source = as_source(pd.DataFrame({"left": values}), name="data", schema=None)
        with pytest.raises(SchemaError, match="needs dates, or plain times without a zone"):
            source.check(Question.of(months), ROW, StatisticKind.DENSE)
    connection = duckdb.connect()
    connection.execute("CREATE TABLE visits AS SELECT now() AS left, TIME '12:00' AS clock")
    zoned = dv.sources.duckdb(connection, "visits")
    with pytest.raises(SchemaError, match="needs dates, or plain times without a zone"):
        zoned.check(Question.of(months), ROW, StatisticKind.DENSE)
    for source in SOURCES.values():
        for question, says in (  # each before anything is charged
            (Question.of(Domain.times("2012", "2013", by="month", column="x")), "this one holds numbers"),
            (Question.of(Domain.integers(0, 1, column="x"), {"x": Between("2012-01-01")}), "a filter by dates needs"),
            (Question.of(Domain.integers(0, 1, column="x"), {"left": Between(0)}), "is filtered by dates"),
            (Question.of(Domain.integers(0, 1, column="x"), {"left": "a"}), "is filtered by dates"),
            (Question.of(Domain.integers(0, 1, column="left")), "ask for dv.Domain.times"),
            (Question.of(Domain.categories(["a"], column="left")), "is counted by stretches of time"),
        ):
            with pytest.raises(DpvizError, match=says):
                source.check(question, ROW, StatisticKind.DENSE)


def test_a_release_by_month_is_planned_read_and_shown(tmp_path: Path) -> None:
    session = dv.Session(FRAME, USER, dv.Budget(9, "1e-5"), tmp_path / "months.ledger")
    months = domain_of("month")
    assert "month of left" in repr(session.plan("x", dv.TopK(2, 3, epsilon=1, delta="1e-6"), by=months))
    release = session.release(months, dv.Dense(1), where={"left": Between("2012-03-01")})
    assert release["2012-05"] == release["2012-05-17"] and release.labels[0] == "2012-01"
    assert release.range("2012-03", "2012-05").value == sum(release[f"2012-0{month}"] for month in (3, 4, 5))  # type: ignore
    assert session.release(Domain.times("2012", "2013", by="day", column="left"), dv.Tree(1)).range(
        "2012-02", "2012-03-03"
    )
    lists = session.release("x", dv.TopK(2, 3, epsilon=1, delta="1e-6"), by=months)
    assert list(lists.groups)[:2] == ["2012-01", "2012-02"]
    release.chart().to_dict()
    assert dv.load(release.save(tmp_path / "months.json")) == release
    bench = dv.Workbench(session, months)
    assert "2012-03" in bench.sheet or "2012-01" in bench.sheet
    dv.report([release, lists], tmp_path / "months.html")


def test_filters_of_every_part_are_checked_before_a_charge(tmp_path: Path) -> None:
    session = dv.Session(FRAME, ROW, dv.Budget(9), tmp_path / "parts.ledger")
    for wrong in ({"left": Between(5, 6)}, {"nowhere": 1}, {"left": "2012-02"}):
        with pytest.raises(SchemaError):
            session.release(
                Domain.integers(0, 2, column="x"), dv.Dense(1), by={"a": {"left": Between("2012-01")}, "b": wrong}
            )
    assert session.remaining.epsilon == 9


def test_a_range_ends_with_the_end_of_what_its_last_word_names(tmp_path: Path) -> None:
    session = dv.Session(FRAME, ROW, dv.Budget(99), tmp_path / "range.ledger")
    days = session.release(Domain.times("2012", "2013", by="day", column="left"), dv.Dense(1))
    values = dict(zip(days.labels, days.values, strict=True))
    for low, high in (("2012-02", "2012-03"), ("2012-01", "2012-12"), ("2012-02-28", "2012-03-01 13:00")):
        inside = [value for label, value in values.items() if low <= label <= high + "~"]
        assert days.range(low, high).value == sum(inside)  # type: ignore[union-attr]
    for several in ("2012-02", "2012-12"):
        with pytest.raises(DpvizError, match="a label is of one day, and this is of several"):
            days[several]
    hours = session.release(Domain.times("2012-05-05", "2012-05-07", by="hour", column="left"), dv.Dense(1))
    assert hours.range("2012-05-05", "2012-05-05").value == sum(hours.values[:24])  # type: ignore[union-attr]
