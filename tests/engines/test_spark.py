"""Spark with two executors gives the answers of pandas and DuckDB: few questions, each of which asks for much."""

from __future__ import annotations

import itertools
import os
import subprocess
import sys
import threading
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow.parquet
import pytest

import dpviz as dv
from dpviz import datasets
from dpviz.engines import as_source
from dpviz.errors import ReleaseCancelled, ReleaseFailed, SchemaError
from dpviz.model.domain import Domain
from dpviz.model.question import Between, Question
from dpviz.model.source import Source
from dpviz.model.statistic import Column, RecordBits, StatisticKind, Top
from dpviz.privacy.unit import Unit
from tests.engines import (
    border,
    closed_flights,
    contract,
    decimals,
    engines,
    minutes,
    sums,
    test_equal_widths,
    test_key_products,
    test_profiles,
    test_sums,
    test_times,
)
from tests.engines import test_statistics_of_files as files
from tests.engines.conftest import BRIEF
from tests.engines.test_decimals import arrow
from tests.patience import until

ROW = Unit("row")
KEYS = Question.of(Domain.keys(column="destination"))


@pytest.fixture(scope="module")
def flights(spark: Any, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Source]:
    """The flights in every engine, from one file."""
    frame, path = datasets.flights(), tmp_path_factory.mktemp("spark") / "flights.parquet"
    frame.to_parquet(path, index=False)
    return {"spark": as_source(spark.read.parquet(str(path))), "duckdb": as_source(path), "pandas": as_source(frame)}


def test_flights_by_aircraft_are_counted_within_each_limit_as_by_pandas(spark: Any, tmp_path: Path) -> None:
    """So the coverage of their closed ends, which is shown with what pandas counts, is that of Spark's counts."""
    frame, path = closed_flights.by_month(), tmp_path / "flights.parquet"
    frame.to_parquet(path, index=False)
    known, here = (closed_flights.counted(as_source(data)) for data in (frame, spark.read.parquet(str(path))))
    assert all(np.array_equal(known[limit], here[limit]) for limit in known) and len(here) == 6


def test_spark_runs_on_two_executors(spark: Any) -> None:
    assert spark.sparkContext.master == "local-cluster[2,1,2048]"
    known = spark.sparkContext._jsc.sc().getExecutorMemoryStatus
    until(lambda: known().size() == 3, "fewer than two executors came")  # the driver is one of the three


def test_opening_a_frame_leaves_its_session_as_it_was(spark: Any, flights: dict[str, Source]) -> None:
    zone = spark.conf.get("spark.sql.session.timeZone")
    spark.conf.set("spark.sql.session.timeZone", "Asia/Tokyo")
    engines.on_spark(spark)(pd.DataFrame({"x": [1]}), "data", None)
    assert spark.conf.get("spark.sql.session.timeZone") == "Asia/Tokyo"
    spark.conf.set("spark.sql.session.timeZone", zone)
    assert flights["spark"].columns == flights["pandas"].columns


@pytest.mark.parametrize("max_bins", [1, 5, None])
def test_the_largest_counts_of_the_flights_are_those_of_duckdb_and_pandas(
    flights: dict[str, Source], max_bins: int | None
) -> None:
    where = {"scheduled_minute": Between(100_000, "400000.5")} if max_bins == 1 else None
    unit = Unit("aircraft", max_bins=max_bins, max_per_bin=3 if max_bins == 5 else 1)
    question = Question.of(KEYS.domain, where)
    found = [contract.largest(source, question, unit, 50) for source in flights.values()]
    assert found[0] == found[1] == found[2]
    assert len(found[0][0]) == 50 and found[0][2] > 0


def test_a_histogram_of_the_flights_is_that_of_duckdb_and_pandas(flights: dict[str, Source]) -> None:
    hours = Domain.intervals(range(0, 500_001, 50_000), column="scheduled_minute", overflow=True)
    domain = hours * Domain.categories(["LAX", "BOS", "SFO"], column="destination", other=True)
    question, unit = Question.of(domain, {"destination": ["BOS", "JFK", "LAX"]}), Unit("aircraft", max_bins=3)
    found = [source.count(question, unit, StatisticKind.DENSE).take().tolist() for source in flights.values()]
    assert found[0] == found[1] == found[2]
    assert sum(found[0]) > 0


@pytest.mark.parametrize("name", test_key_products.PRODUCTS)
def test_unknown_keys_among_declared_columns_are_those_of_pandas(spark: Any, name: str) -> None:
    """With users whose whole bins are bounded, and rows; the largest ones; and sums."""
    frame, domain = test_key_products.rows(np.random.default_rng(11), 200), test_key_products.PRODUCTS[name]
    there, here = (make(frame, "data", None) for make in (engines.on_spark(spark), engines.pandas))
    total = Question.sum("delay", by=domain, low=-1, high=2, step="1/4")
    for question, unit in (
        (Question.of(domain), Unit()),
        (Question.of(domain, {"delay": Between(low=0)}), Unit("user", max_bins=3, max_per_bin=2, max_records=4)),
        (total, Unit("user", max_bins=2, max_per_bin=3)),
    ):
        found = [source.count(question, unit, StatisticKind.SPARSE).take() for source in (there, here)]
        assert found[0][0].tolist() == found[1][0].tolist() and found[0][1].tolist() == found[1][1].tolist()
        assert len(found[0][0]) > 0
    asked, unit = Question.of(domain), Unit("user", max_bins=4, max_per_bin=3)
    assert contract.largest(there, asked, unit, 5) == contract.largest(here, asked, unit, 5)


def test_profiles_of_users_are_those_that_are_counted_by_hand(spark: Any) -> None:
    test_profiles.as_counted_by_hand(engines.on_spark(spark), 2, ("months", "months and keys"))


def test_half_a_million_ordered_bins_are_counted_where_the_data_lies(flights: dict[str, Source], spark: Any) -> None:
    minutes.releases_of_minutes_are_those_of_pandas(flights["spark"], flights["pandas"], ROW)
    sent = spark.sql(minutes.statement_for_minutes(flights["spark"], ROW)).cache()
    assert sent.count() == sent.select("label").distinct().count() == sent.filter("count >= 1").count()


def test_absent_values_are_in_no_bin_but_their_own(spark: Any) -> None:
    frame = minutes.ABSENT.drop(columns="unsigned")  # which Spark has not
    there, here = (make(frame, "data", None) for make in (engines.on_spark(spark), engines.pandas))
    minutes.absent_values_are_in_no_bin_but_their_own(there, here, [(1, 9), (-(2**62), 2**62)])


STRANGE = pd.DataFrame(
    {
        "text": ["z", "Z", "a ", "a", "ä", "\uffff", "\U0001f600", "", None, "x'y", "x\\y", "1"],
        "whole": pd.array([0, 1, 2, -1, 2**63 - 1, -(2**63), None, 3, 3, 3, 40, 41], dtype="Int64"),
        "float": [
            0.3,
            0.1 + 0.2,
            0.29999999999999993,
            1.0,
            2.5,
            -0.0,
            1e22,
            float("inf"),
            float("-inf"),
            None,
            5e-324,
            2,
        ],
        "single": pd.array([0.3, 0.1, 0.7, 1, 2.5, 0, 1e22, 3, 4, None, 16777216, 2], dtype="float32"),
        "flag": pd.array([True, False, None] * 4, dtype="boolean"),
        "user": ["u", "u", "v", "v", "u", "v", "w", None, "w", "u", "u", "v"],
    }
)


@pytest.mark.parametrize("name", ["whole", "tenths", "cents"])
def test_intervals_of_one_width_are_found_by_arithmetic_as_by_exact_numbers(spark: Any, name: str) -> None:
    for beside in ({}, {"underflow": True, "overflow": True, "missing": True}):
        domain = test_equal_widths.stepped(name, **beside)
        values = test_equal_widths.around(domain, np.dtype(float))
        there = engines.on_spark(spark)(pd.DataFrame({"x": values}), "data", None)
        counts = there.count(Question.of(domain), ROW, StatisticKind.DENSE).take()
        assert counts.tolist() == test_equal_widths.exactly(domain, values)


def test_strange_values_are_counted_as_in_pandas(spark: Any) -> None:
    """One table with the values at which engines differ: order, quotes, 64 bits, decimals, infinities, nulls."""
    here, there = engines.pandas(STRANGE, "data", None), engines.on_spark(spark)(STRANGE, "data", None)
    assert there.columns == here.columns
    user = Unit("user", max_bins=2)
    edges = ["-1", "0", "1/10", "3/10", "1/3", "5/2", "30"]
    sides = {"underflow": True, "overflow": True, "missing": True}
    floats = Domain.intervals(edges, column="float", **sides) * Domain.intervals(edges, column="single", **sides)
    asked = [
        (Question.of(Domain.keys(column="text")), Unit("user", max_bins=None), Top(20)),
        (Question.of(Domain.keys(column="text"), {"text": ["x'y", "x\\y", "a", "ä", ""]}), user, Top(3)),
        (Question.of(Domain.integers(-(2**63), 2**63 - 1, column="whole")), user, Top(20)),
        (Question.of(Domain.keys(column="flag"), {"whole": Between(0, 40)}), Unit("whole"), Top(20)),
        (Question.of(floats, {"float": Between("-1", 10**23)}), ROW, StatisticKind.SPARSE),
        (Question.of(Domain.integers(0, 3, column="float", **sides)), user, StatisticKind.DENSE),
        (
            Question.of(Domain.keys(column="text")),
            Unit("user", max_bins=3, max_per_bin=2, max_records=2),
            StatisticKind.SPARSE,
        ),
    ]
    for question, unit, need in asked:
        one, other = (source.count(question, unit, need).take() for source in (here, there))
        if need is StatisticKind.DENSE:
            one, other = (one,), (other,)
        assert [list(part) if hasattr(part, "__len__") else part for part in one] == [
            list(part) if hasattr(part, "__len__") else part for part in other
        ]


def test_sums_are_those_of_pandas_to_the_last_digit(spark: Any) -> None:
    """Many rows of few users with every strange amount, and a table of strange types: few questions, each is slow."""
    plain, schema = test_sums.many(), {"flag": "number"}
    for frame, asked, kinds in ((plain, test_sums.MANY, None), (STRANGE, STRANGE_SUMS, schema)):
        here, there = engines.pandas(frame, "data", kinds), engines.on_spark(spark)(frame, "data", kinds)
        for question, unit in asked:
            one, other = (source.count(question, unit, StatisticKind.SPARSE).take() for source in (here, there))
            assert [part.tolist() for part in one] == [part.tolist() for part in other]
            assert len(one[0]) > 0


STRANGE_SUMS = [
    (Question.sum(name, by="text", low=-40, high=100, step=step), Unit("user", max_bins=4, max_per_bin=2))
    for name, step in (("whole", "0.5"), ("single", "0.1"), ("flag", 1))
]


def test_decimals_of_spark_are_summed_up_exactly_and_texts_as_their_nearest_floats(spark: Any) -> None:
    written = [*test_sums.WRITTEN, "0.285", "99999999999999999999.9999999999"]
    frame = pd.DataFrame({"k": ["a", "b", "c"] * 7, "x": pd.Series(written, dtype="str")})
    question = Question.sum("x", by="k", low=-1000, high=1000, step="0.01")
    sums.sums_as_the_reference(engines.on_spark(spark)(frame, "data", {"x": "number"}), frame, question, ROW)
    exact = ["0.2850000000", "-1.0050000000", "0.0049999999", "99999999999999999999.9999999999", None, "0E-10"]
    rows = ", ".join(
        "('a', CAST(NULL AS DECIMAL(38, 10)))" if one is None else f"('a', CAST('{one}' AS DECIMAL(38, 10)))"
        for one in exact
    )
    table = as_source(spark.sql(f"SELECT * FROM VALUES {rows} AS t(k, x)"), name="data")
    held = pd.DataFrame({"k": ["a"] * 6, "x": [None if one is None else Decimal(one) for one in exact]})
    columns = Column("k", "text"), Column("x", "number")
    assert sums.sums_as_the_reference(table, held, question, ROW, columns) == {"a": 29 - 100 + 0 + 100_000}


@pytest.mark.parametrize(("ansi", "kind"), [("true", (38, 10)), ("false", (38, 10)), ("false", (20, 17))])
def test_decimals_are_those_of_the_reference(ansi: str, kind: tuple[int, int], spark: Any, tmp_path: Path) -> None:
    """Also where Spark writes small numbers with an exponent."""

    def engine(frame: pd.DataFrame, digits: int, places: int) -> Source:
        path = tmp_path / f"{digits}-{places}.parquet"
        pyarrow.parquet.write_table(arrow(frame, digits, places), path)
        return as_source(spark.read.parquet(str(path)), name="data")

    before = spark.conf.get("spark.sql.ansi.enabled")
    spark.conf.set("spark.sql.ansi.enabled", ansi)
    try:
        assert decimals.decimals_are_those_of_the_reference(engine, few=True, only=kind) == 12
    finally:
        spark.conf.set("spark.sql.ansi.enabled", before)


TEXTS = pd.DataFrame(
    {
        "n": pd.Series(
            [
                *("1", "07", " 7\t", "+7", "7.", ".5", "2e0", "-1e-3", "1E400", "-1e400", "inf", "-Infinity", "nan"),
                *("x", "1_0", "1/2", "0x1", "", None, "9007199254740993", "9007199254740993.0", "1e17", "1" * 38),
                *("1" * 39, "0" * 99 + "1", "0" * 100 + "1", "1\n", "1\r\n", "1\u2028", "1\0", "\u0661", "1d", "1f"),
                *("1L", "0.30000000000000001", "5e-324", "1.7976931348623157e308", "1e99999999999", "-0.0"),
                "-9223372036854775808",
            ],
            dtype="str",
        ),
        "k": pd.Series(["a\0b", "a", "a\0c", "\0"] * 10, dtype="str"),
    }
)
"""Texts that are numbers, nearly, or not; and labels with NUL in them."""


def test_numbers_in_texts_are_read_as_in_pandas_and_duckdb(spark: Any) -> None:
    schema, sides = {"n": "number"}, {"underflow": True, "overflow": True, "missing": True}
    makers = (engines.pandas, engines.duckdb, engines.on_spark(spark))
    held = [make(TEXTS, "data", schema) for make in makers]
    asked = [
        (Question.of(Domain.integers(-9, 9, column="n", **sides)), ROW, StatisticKind.DENSE),
        (Question.of(Domain.intervals(["-1", "0", "3/10", 2, 10**18], column="n", **sides)), ROW, StatisticKind.DENSE),
        (Question.of(Domain.integers(-(2**63), 10**35, column="n", **sides)), ROW, StatisticKind.SPARSE),
        (
            Question.of(Domain.categories(["7", "0.5", "0.3", "1"], column="n", other=True, missing=True)),
            ROW,
            StatisticKind.DENSE,
        ),
        (Question.of(Domain.keys(column="k"), {"n": Between("-1e-3", 2**53 + 1)}), ROW, StatisticKind.SPARSE),
        (Question.of(Domain.keys(column="k"), {"n": ["7", "0.3"]}), ROW, StatisticKind.SPARSE),
        (Question.of(Domain.keys(column="k")), ROW, Top(3)),
        (
            Question.of(Domain.categories(["a\0b", "\0", "a"], column="k"), {"k": ["a\0b", "a"]}),
            ROW,
            StatisticKind.DENSE,
        ),
    ]
    for question, unit, need in asked:
        taken = [source.count(question, unit, need).take() for source in held]  # type: ignore[attr-defined]
        parts = [one if isinstance(one, tuple) else (one,) for one in taken]
        listed = [[part.tolist() if hasattr(part, "tolist") else part for part in one] for one in parts]
        assert listed[0] == listed[1], question.text
        assert listed[0] == listed[2], question.text


KIND = Domain.categories(["x", "y", "z"], column="kind")
SEEN = Domain.integers(0, 1, column="seen")
AGE = Domain.integers(1, 3, column="age", overflow=True)
RECORDED = pd.DataFrame(
    [
        (kind, seen, age, f"u{at % 7}")
        for at, (kind, seen, age) in enumerate(
            itertools.product(["x", "y", "elsewhere", None], [0, 1, 7, None], [1, 3, 99, -1, None])
        )
    ],
    columns=["kind", "seen", "age", "who"],
).astype({"seen": "Int64", "age": "Int64"})
"""Cells in their column's domain, outside of it, and absent."""
BITS = [f"b{at}" for at in range(70)]
WIDE = pd.DataFrame({name: [(row * (at + 3)) % 5 - 1 for row in range(41)] for at, name in enumerate(BITS)})


def test_records_are_those_of_pandas_and_duckdb(spark: Any) -> None:
    """Every row is one record, what lies outside counts as what was declared, and a user counts with one record, chosen
    by digest: labels, sums of bits and the bits themselves."""
    makers = (engines.pandas, engines.shared, engines.on_spark(spark))
    here, there, cluster = (make(RECORDED, "data", None) for make in makers)
    people, swapped = Unit("who"), Unit(relation="replace-one", n=len(RECORDED))
    asked: list[tuple[Question, Unit, StatisticKind]] = [
        (Question.records([KIND, SEEN, AGE]), swapped, StatisticKind.DENSE),
        (Question.records([KIND, SEEN, AGE], otherwise={"kind": "z", "age": 2}), ROW, StatisticKind.SPARSE),
        (
            Question.records([KIND, SEEN], where={"age": Between(1, 50)}, otherwise={"seen": 1}),
            ROW,
            StatisticKind.DENSE,
        ),
        (Question.records([KIND, SEEN], otherwise={"kind": "z"}), people, StatisticKind.DENSE),
        (Question.records([KIND, SEEN, AGE]), Unit("who", max_bins=3, max_per_bin=2), StatisticKind.SPARSE),
        (Question.records([SEEN]), swapped, StatisticKind.ONES),
        (Question.records([SEEN], where={"kind": "x"}, otherwise={"seen": 1}), ROW, StatisticKind.ONES),
        (Question.records([SEEN], where={"kind": ["x", "y"]}), ROW, StatisticKind.BITS),
    ]
    for question, unit, need in asked:
        found = [_taken(source.count(question, unit, need)) for source in (here, there, cluster)]
        assert found[0] == found[1] == found[2], (question.text, need)
        everybody = unit.is_row and not question.where and need is StatisticKind.DENSE
        assert not everybody or sum(found[0][0]) == len(RECORDED)
    users = _taken(cluster.count(asked[3][0], people, StatisticKind.DENSE))
    assert sum(users[0]) == RECORDED.who.nunique() < len(RECORDED)
    unreduced = _taken(cluster.count(asked[3][0], ROW, StatisticKind.DENSE))
    assert users != unreduced  # the reduction does something


def test_many_columns_of_bits_are_those_of_pandas_and_an_empty_table_has_none(spark: Any) -> None:
    """Seventy columns, more than one number of the engine holds; and a table without rows."""
    question = Question.records([Domain.integers(0, 1, column=name) for name in BITS], otherwise={"b3": 1})
    for frame in (WIDE, WIDE[:0]):
        unit = Unit(relation="replace-one", n=41)
        for need in (StatisticKind.ONES, StatisticKind.BITS):
            one, other = (
                _taken(make(frame, "data", None).count(question, unit, need))
                for make in (engines.pandas, engines.on_spark(spark))
            )
            assert one == other
    assert one == [[]]


def test_a_record_is_drawn_on_spark(spark: Any, tmp_path: Path) -> None:
    source = engines.on_spark(spark)(RECORDED, "data", None)
    session = dv.Session(source, dv.Unit(), dv.Budget(9), tmp_path / "ledger")
    bits = Question.records([SEEN], where={"kind": "x"})
    assert session.release(bits, dv.SampleBounded(1)).record["seen"] in ("0", "1")
    assert session.release(Question.records([KIND, SEEN]), dv.SampleCategory(1)).record["kind"] in ("x", "y", "z")


def _taken(statistic: Any) -> list[Any]:
    """The parts of a statistic as lists; rows of bits in an order of their own."""
    if isinstance(statistic, RecordBits):
        return [sorted(map(bytes, statistic.take()))]
    parts = statistic.take()
    return [
        part.tolist() if hasattr(part, "tolist") else part for part in (parts if isinstance(parts, tuple) else (parts,))
    ]


DEAD = """
import os, signal, sys, time, warnings
warnings.simplefilter("ignore")
from pyspark.sql import SparkSession
from dpviz.engines import as_source
from dpviz.errors import EngineGone
session = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false").config(
    "spark.log.level", "OFF").config("spark.driver.bindAddress", "127.0.0.1").config(
    "spark.driver.extraJavaOptions", sys.argv[2]).getOrCreate()
source = as_source(session.createDataFrame([("CANARY",)], "x STRING"))
source.probe()
print(source.engine)
if sys.argv[1] == "stopped":
    session.stop()
else:
    os.kill(session.sparkContext._gateway.proc.pid, signal.SIGKILL if sys.argv[1] == "killed" else signal.SIGSTOP)
for _ in range(2):
    started = time.monotonic()
    try:
        source.probe()
    except EngineGone as gone:
        print(gone)
        print(time.monotonic() - started < 100)  # given up after five seconds, on a quiet machine
if sys.argv[1] == "hung":
    os.kill(session.sparkContext._gateway.proc.pid, signal.SIGKILL)
sys.stdout.flush()
os._exit(0)
"""


@pytest.mark.parametrize("how", ["stopped", "killed", "hung"])
def test_a_driver_that_is_gone_is_found_by_a_probe(how: str) -> None:
    environment = os.environ | {"SPARK_LOCAL_IP": "127.0.0.1", "PYSPARK_PYTHON": sys.executable}
    done = subprocess.run(
        [sys.executable, "-c", DEAD, how, BRIEF],
        env=environment,
        capture_output=True,
        text=True,
        check=True,
        timeout=600,
    )
    said = "Spark does not answer. Nothing was charged. Start it again and open the session anew."
    assert done.stdout.splitlines() == ["Spark", said, "True", said, "True"]
    assert "CANARY" not in done.stderr


def test_one_user_moves_few_of_the_largest(spark: Any) -> None:
    """Spark's counts of some neighbours among the tiny frames, each beside those of pandas."""
    question, unit = Question.of(Domain.keys(column="bin")), Unit("user", max_bins=1)
    others = [("two", "a"), ("two", "b"), ("three", "c"), ("three", "a")]
    for ours in ((), ("a", "b"), ("b", "c", "c")):
        rows = [*(("one", bin) for bin in ours), *others]
        frame = pd.DataFrame(rows, columns=["user", "bin"])
        found = contract.largest(engines.on_spark(spark)(frame, "data", None), question, unit, 2)
        assert found == contract.largest(engines.pandas(frame, "data", None), question, unit, 2)


def test_texts_of_a_collation_are_refused(spark: Any) -> None:
    frame = spark.createDataFrame([("a", "A")], "x STRING COLLATE UTF8_LCASE, y STRING")
    source = as_source(frame)
    assert source.columns == (Column("x", "collated text"), Column("y", "text"))
    with pytest.raises(SchemaError, match="a column of collated text cannot be counted, got x"):
        source.check(Question.of(Domain.keys(column="x")), ROW, Top(3))


def test_a_cancel_interrupts_the_jobs(spark: Any) -> None:
    spark.range(10**13).selectExpr("CAST(id % 7 AS STRING) AS x").createOrReplaceTempView("endless")
    source = as_source(spark.table("endless"))

    def tick(done: int, of: int) -> None:
        if spark.sparkContext.statusTracker().getActiveJobsIds():
            raise ReleaseCancelled("cancelled")

    with pytest.raises(ReleaseCancelled):
        source.count(Question.of(Domain.keys(column="x")), ROW, Top(3), tick)
    running = spark.sparkContext.statusTracker().getActiveJobsIds
    until(lambda: not list(running()), "a job goes on, and would for days")


def test_a_job_that_dies_fails_the_release_and_says_nothing(
    spark: Any, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """Values that a view cannot convert end the job with a message that holds them."""
    frame = spark.createDataFrame([("CANARY",), ("1",)], "x STRING")
    source = as_source(frame.selectExpr("CAST(CAST(x AS INT) AS STRING) AS x"))
    session = dv.Session(source, dv.Unit(), dv.Budget("2", "1e-5"), tmp_path / "ledger")
    with pytest.raises(SchemaError, match="got y; its columns are x"):
        session.release(dv.Domain.keys(column="y"), dv.Stability("1/2", "1e-6"))
    assert session.remaining.epsilon == 2
    with pytest.raises(ReleaseFailed, match="is spent and no answer was shown") as failed:
        session.release(dv.Domain.keys(column="x"), dv.Stability("1/2", "1e-6"))
    assert session.remaining.epsilon < 2
    out = capfd.readouterr()
    assert "CANARY" not in str(failed.value) + out.out + out.err


def test_a_release_runs_on_spark(flights: dict[str, Source], tmp_path: Path) -> None:
    session = dv.Session(flights["spark"], dv.Unit("aircraft", max_bins=5), dv.Budget("9", "1e-5"), tmp_path / "ledger")
    release = session.release(KEYS, dv.Stability("4", "1e-6"))
    assert "ATL" in release.to_frame().to_string()
    assert threading.active_count() < 50


def test_times_are_counted_by_what_their_clock_said_whatever_the_zone_of_the_session(spark: Any) -> None:
    """Dates, and times without a zone; those of a zone are refused."""
    data = test_times.frame(400)
    pandas = as_source(data, name="data", schema=None)
    zone = spark.conf.get("spark.sql.session.timeZone")
    spark.conf.set("spark.sql.session.timeZone", "America/New_York")
    try:
        texts = [
            tuple(None if pd.isna(one) else str(one)[:end] for one, end in zip(row, (26, 10), strict=True))
            for row in zip(data["left"], data["day"], strict=True)
        ]
        made = spark.createDataFrame(texts, "left STRING, day STRING").selectExpr(
            "CAST(left AS TIMESTAMP_NTZ) AS left", "CAST(day AS DATE) AS day", "CAST(left AS TIMESTAMP) AS zoned"
        )
        held = as_source(made)
        for column, by in (("left", "hour"), ("left", "month"), ("day", "week"), ("day", "quarter")):
            flags = {"underflow": True, "overflow": True, "missing": True}
            question = Question.of(
                test_times.domain_of(by, column, **flags), {"left": Between("2011-12-31", "2012-11")}
            )
            found = [one.count(question, ROW, StatisticKind.DENSE).take().tolist() for one in (held, pandas)]
            assert found[0] == found[1] and sum(found[0]) > 10
        with pytest.raises(SchemaError, match="needs dates, or plain times without a zone"):
            held.check(Question.of(test_times.domain_of("month", "zoned")), ROW, StatisticKind.DENSE)
    finally:
        spark.conf.set("spark.sql.session.timeZone", zone)


@pytest.mark.parametrize("kind", ["int64", "string", "date32"])
def test_spark_counts_rows_whatever_a_file_says_of_them(spark: Any, kind: str, tmp_path: Path) -> None:
    data = files.liar(kind, tmp_path / "rows.parquet")
    there, rows = as_source(spark.read.parquet(str(tmp_path / "rows.parquet"))), as_source(data)
    for question in files.asked_of(kind):
        assert files.counted(there, question, ROW) == files.counted(rows, question, ROW), question.text


def test_spark_counts_nan_row_by_row(spark: Any, tmp_path: Path) -> None:
    for extra in (None, 6):
        path, data = tmp_path / f"{extra}.parquet", files.frame(extra)
        files.kept_nan(files.by_pyarrow, data, path)
        source = as_source(spark.read.parquet(str(path)))
        for question in (files.QUESTIONS[0], files.QUESTIONS[5], files.TOTAL):
            assert files.counted(source, question, files.ROW) == files.plainly(source, data, question, files.ROW), (
                question.text
            )


def test_small_tables_of_all_types_are_counted_as_plain_python_counts(spark: Any) -> None:
    def opened(given: border.Table) -> Source:
        path = border.path()
        pyarrow.parquet.write_table(given.arrow, path)
        return as_source(spark.read.parquet(str(path)), name="data")

    other = ("float16", "null", "timestamp s", "timestamp ms", "timestamp ns", "long date")
    held = border.Container(opened, border.without(*other))
    outcomes = [border.case(f"spark {at}", held, "Spark", 3) for at in range(2)]
    assert sum(answered for answered, _ in outcomes) >= 2


@pytest.mark.parametrize("far", [0, 10**17])
def test_times_in_milliseconds_of_a_parquet_file_are_refused_by_type(spark: Any, tmp_path: Path, far: int) -> None:
    """Spark fails where one is too far off for microseconds, and would tell of that row."""
    names = ["in milliseconds", "in microseconds"]
    for name, unit in zip(names, ("ms", "us"), strict=True):
        (tmp_path / name).mkdir()
        for part, values in enumerate(([0, None], [far if unit == "ms" else 0])):
            times = pyarrow.array(values, pyarrow.timestamp(unit))
            pyarrow.parquet.write_table(
                pyarrow.table({"t": times, "x": [1] * len(values)}), tmp_path / name / f"{part}.parquet"
            )
    months, ones = (
        Domain.times("1970-01", "1970-02", by="month", column="t", missing=True),
        Domain.integers(1, 1, column="x"),
    )
    coarse, fine = (spark.read.parquet(str(tmp_path / name)) for name in names)
    for frame in (coarse, coarse.filter("x = 1").withColumnRenamed("t", "other").withColumnRenamed("other", "t")):
        with pytest.raises(SchemaError, match="times in milliseconds of a Parquet file"):
            as_source(frame).check(Question.of(months), ROW, StatisticKind.DENSE)
        with pytest.raises(SchemaError, match="is filtered by dates|times in milliseconds"):
            as_source(frame).check(Question.of(ones, {"t": Between("1970", None)}), ROW, StatisticKind.DENSE)
        assert as_source(frame).count(Question.of(ones), ROW, StatisticKind.DENSE).take().tolist() == [3]
    assert as_source(fine).count(Question.of(months), ROW, StatisticKind.DENSE).take().tolist() == [2, 1]
