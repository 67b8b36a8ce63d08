"""SQL engines through Ibis, on DuckDB: held to the contract, checked when they answer, stopped when asked."""

from __future__ import annotations

import copy
import pickle
import threading
import time
import tracemalloc
import warnings
from collections.abc import Callable
from decimal import Decimal
from traceback import walk_tb
from typing import Any

import duckdb as driver
import ibis
import numpy as np
import pandas as pd
import pyarrow
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import dpviz as dv
from dpviz import datasets
from dpviz.boundary import Hidden
from dpviz.engines import as_source, ibis_source, queries, sources
from dpviz.engines.ibis_source import IbisSource
from dpviz.engines.queries import Engine, IntegerColumns, Rows
from dpviz.errors import (
    DomainError,
    DpvizError,
    Forbidden,
    ParameterError,
    ReleaseCancelled,
    ReleaseFailed,
    SchemaError,
)
from dpviz.model.domain import Domain
from dpviz.model.question import Between, Question
from dpviz.model.statistic import Batch, Column, Need, StatisticKind, Top
from dpviz.noise.bits import SystemBits, TeachingBits
from dpviz.privacy.unit import Unit
from tests.engines import contract, engines, minutes
from tests.engines.engines import in_duckdb
from tests.engines.frames import kinds_in, plain_frames, questions, units, wide_questions
from tests.frames import is_ours
from tests.soak.amounts import part

ROW = Unit("row")

# ---------------------------------------------------------------- the contract


def asked_of(source: Any, question: Question, unit: Unit, need: Need) -> None:
    """Go on only where the engine does not refuse the question, as it says that it does."""
    try:
        source.check(question, unit, need)
    except (SchemaError, DomainError) as refused:
        assert any(
            said in str(refused) for said in ("floats", "10^36", "dense count", "shortest form", "whole numbers")
        ), refused
        assume(False)


@settings(max_examples=part(50, 16))
@given(st.data())
def test_counts_are_those_of_the_reference(data: st.DataObject) -> None:
    frame, schema = data.draw(plain_frames())
    source = engines.shared(frame, "data", schema)
    kinds = kinds_in(frame, source.columns)
    question, unit = data.draw(questions(kinds)), data.draw(units)
    asked_of(source, question, unit, StatisticKind.DENSE)
    dense = contract.counts_as_the_reference(lambda *_: source, frame, question, unit, schema)
    occupied = contract.sparse_as_the_reference(lambda *_: source, frame, question, unit, schema)
    assert occupied == [(bin, count) for bin, count in enumerate(dense) if count]


MANY = [-(2**63), -7, -6, -1, 0, 1, 1, None, 2**24, 2**31, 2**31 + 1, 2**63 - 1]


@pytest.mark.parametrize("low", [-(2**63), -6, 0, 1])
@pytest.mark.parametrize("high", [2**24 + 5, 2**31, 2**63 - 1, 2**63, 2**70])
def test_integers_of_a_huge_domain_are_grouped_before_they_are_placed(low: int, high: int) -> None:
    """What lies outside has no bin, and its difference from the least integer overflows nothing."""
    frame = pd.DataFrame({"x": pd.array(MANY, dtype="Int64"), "y": [*range(len(MANY))]})
    for where in ({}, {"y": Between(3, 9)}):
        question = Question.of(Domain.integers(low, high, column="x"), where)  # type: ignore[arg-type]
        source = engines.duckdb(frame, "data", None)
        found = contract.sparse_as_the_reference(lambda *_, of=source: of, frame, question, ROW, None)
        passing = [at for at, value in enumerate(MANY) if value is not None and low <= value <= high]
        assert sum(count for _, count in found) == len([at for at in passing if not where or 3 <= at <= 9])
        contract.sparse_as_the_reference(engines.pandas, frame, question, ROW, None)


@settings(max_examples=part(50, 16))
@given(st.data())
def test_sparse_and_largest_counts_are_those_of_the_reference(data: st.DataObject) -> None:
    frame, schema = data.draw(plain_frames())
    source = engines.shared(frame, "data", schema)
    kinds = kinds_in(frame, source.columns)
    question, unit = data.draw(wide_questions(kinds)), data.draw(units)
    asked_of(source, question, unit, StatisticKind.SPARSE)
    contract.sparse_as_the_reference(lambda *_: source, frame, question, unit, schema)

    def top(held: pd.DataFrame, asked: Question, of: Unit, rows: int) -> contract.Largest:
        return contract.largest(engines.shared(held, "data", schema), asked, of, rows)

    contract.top_as_the_reference(top, frame, source.columns, question, unit, data.draw(st.integers(1, 3)))


def test_one_user_weighs_little_in_every_tiny_frame() -> None:
    unit = Unit("user", max_bins=1, max_per_bin=2)
    count = contract.counter(engines.refilled)
    assert contract.one_user_weighs_little_in_every_tiny_frame(count, unit, rows=2, others=10) == 100


def test_progress_tells_public_sizes_only() -> None:
    long = pd.DataFrame({"x": range(5_000), "user": [str(value % 7) for value in range(5_000)]})
    odd = pd.DataFrame({"x": pd.Series([-1], dtype="int64"), "user": ["CANARY"]})
    question = Question.of(Domain.integers(0, 9, column="x"), {"user": ["1", "2"]})
    for need in (StatisticKind.DENSE, StatisticKind.SPARSE, Top(3)):
        contract.ticks_with_public_sizes(engines.shared, [long, odd, long.iloc[:0]], question, Unit("user"), need)


def test_the_flights_have_the_same_histograms_as_in_pandas() -> None:
    frame = datasets.flights()
    here, there = engines.pandas(frame, "flights", None), engines.parquet(frame, "flights", None)
    codes = sorted(frame["destination"].unique().tolist())
    hours = Domain.intervals(range(0, 525_601, 7_300), column="scheduled_minute")
    asked = [
        Question.of(Domain.categories(codes[:90], column="destination", other=True)),
        Question.of(hours, {"destination": ["BOS", "LAX"]}),
        Question.of(Domain.integers(0, 1_000, column="scheduled_minute", overflow=True)),
        Question.of(hours * Domain.categories(["BOS"], column="destination", other=True)),
    ]
    for question in asked:
        for unit in (ROW, Unit("aircraft", max_bins=5), Unit("aircraft", max_bins=None, max_per_bin=2)):
            one, other = (source.count(question, unit, StatisticKind.DENSE).take() for source in (here, there))
            assert one.tolist() == other.tolist()
            assert one.sum() > 0


@pytest.mark.parametrize("unit", [ROW, Unit("aircraft", max_bins=3, max_per_bin=2)], ids=["rows", "aircraft"])
def test_half_a_million_ordered_bins_are_counted_where_the_data_lies(unit: Unit) -> None:
    frame = datasets.flights()
    there = engines.parquet(frame, "flights", None)
    minutes.releases_of_minutes_are_those_of_pandas(there, engines.pandas(frame, "flights", None), unit)
    sent = minutes.statement_for_minutes(there, unit)
    assert isinstance(there, IbisSource)
    rows = there._engine._backend.con.sql(sent).fetchall()
    assert len(rows) == len({label for label, _ in rows}) and min(count for _, count in rows) >= 1


def test_rows_without_a_bin_are_left_out_before_bins_are_found() -> None:
    """An engine then reads less of a file, and tests each row once. Where a row beside has a bin, all are read."""
    there = engines.parquet(datasets.flights(), "flights", None)
    sent = minutes.statement_for_minutes(there, ROW)
    assert "WHERE" in sent and "CASE" not in sent and " - " not in sent
    for beside in ({"overflow": True}, {"underflow": True}, {"missing": True}):
        question = Question.of(Domain.integers(5, 9, column="scheduled_minute", **beside))
        assert isinstance(there, IbisSource)
        assert 'AS "t0" WHERE' not in str(there._query(question, ROW, StatisticKind.DENSE).take())


@pytest.mark.parametrize("dtype", ["int8", "int64", "uint64", "float64"])
@pytest.mark.parametrize(("low", "high"), [(-3, 4), (2, 2), (-(10**19), 10**19), (1, 2**62)])
def test_the_ends_of_bins_and_of_a_type_are_counted_as_in_pandas(dtype: str, low: int, high: int) -> None:
    ends = [0, 1, 2, 3, 4, 5, 100]
    if dtype == "float64":
        low, high = max(low, -(2**50)), min(high, 2**50)  # beyond, bins of floats are refused
    if dtype != "uint64":
        ends += [-1, -3, -4, -100]
    if dtype in ("int64", "uint64"):
        ends += [2**62, 2**62 + 1, int(np.iinfo(dtype).max), int(np.iinfo(dtype).min)]
    frame = pd.DataFrame({"x": pd.Series(ends, dtype=dtype), "other": range(len(ends))})
    question = Question.of(Domain.integers(low, high, column="x") * Domain.integers(1, 5, column="other"))
    there, here = (make(frame, "data", None) for make in (engines.shared, engines.pandas))
    found = [source.count(question, ROW, StatisticKind.SPARSE).take() for source in (there, here)]
    assert [list(map(int, one)) for one in found[0]] == [list(map(int, one)) for one in found[1]]
    assert sum(found[0][1]) > 0


def test_absent_values_are_in_no_bin_but_their_own() -> None:
    there, here = (make(minutes.ABSENT, "data", None) for make in (engines.parquet, engines.pandas))
    minutes.absent_values_are_in_no_bin_but_their_own(there, here, minutes.SPANS)


# ---------------------------------------------------------------- values


def sparse(source: Any, domain: Domain, unit: Unit = ROW, **where: Any) -> list[tuple[Any, int]]:
    labels, counts = source.count(Question.of(domain, where), unit, StatisticKind.SPARSE).take()
    return list(zip(labels.tolist(), counts.tolist(), strict=True))


def test_a_float_belongs_to_the_bin_of_the_decimal_it_prints_as() -> None:
    """A literal 0.3 in SQL is a decimal, which is neither the double nor the single precision number of this name."""
    for kind, below in (("DOUBLE", "0.29999999999999993"), ("FLOAT", "0.29999998")):
        source = in_duckdb(f"CREATE TABLE t AS SELECT unnest(['{below}', '0.3', '0.7', 'NaN'])::{kind} AS x", "t")
        bins = Domain.intervals(["0", "3/10", "7/10"], column="x", missing=True)
        assert source.count(Question.of(bins), ROW, StatisticKind.DENSE).take().tolist() == [1, 2, 1]
        assert sparse(source, Domain.categories(["0.3"], column="x", other=True)) == [(0, 1), (1, 2)]
        passing = Question.of(bins, {"x": Between("0.3", "0.3")})
        assert source.count(passing, ROW, StatisticKind.DENSE).take().tolist() == [0, 1, 0]


def test_numbers_of_64_bits_and_more_have_their_own_bins() -> None:
    values = [0, 1, 2**63, 2**64 - 1]
    source = in_duckdb(f"CREATE TABLE t AS SELECT unnest({values}::UBIGINT[]) AS x, 'u' AS u", "t")
    wide = Domain.integers(0, 2**64 - 1, column="x")
    assert sparse(source, wide) == [(value, 1) for value in values]
    beyond = Domain.integers(-(10**30), 10**30, column="x")
    assert sparse(source, beyond) == [(10**30 + value, 1) for value in values]
    items, counts, _ = contract.largest(source, Question.of(wide), Unit("u", max_bins=None), 9)
    assert (items, counts) == (values, [1] * 4)
    with pytest.raises(DomainError, match="at most 10\\^36 bins"):
        source.check(Question.of(Domain.integers(0, 10**37, column="x")), ROW, StatisticKind.SPARSE)


def test_enumerations_are_ordered_as_texts() -> None:
    source = in_duckdb(
        "CREATE TYPE size AS ENUM ('small', 'large');"
        "CREATE TABLE t AS SELECT unnest(['small', 'large', NULL])::size AS x",
        "t",
    )
    assert source.columns == (Column("x", "text"),)
    assert contract.largest(source, Question.of(Domain.keys(column="x")), ROW, 5) == (["large", "small"], [1, 1], 0)


def test_categories_of_pandas_are_the_values_they_stand_for() -> None:
    texts = pd.Categorical(["1", None, "1.0", "1"], categories=["never there", "1.0", "1"])
    frame = pd.DataFrame({"x": texts, "n": pd.Categorical([3, 1, None, 3])})
    for column, expected in (("x", [("1", 2), ("1.0", 1)]), ("n", [("1", 1), ("3", 2)])):
        assert sparse(sources.duckdb(frame), Domain.keys(column=column)) == expected


def test_texts_of_a_collation_are_refused() -> None:
    source = in_duckdb("CREATE TABLE t (x VARCHAR COLLATE NOCASE, y VARCHAR); INSERT INTO t VALUES ('a', 'A')", "t")
    assert [column.kind for column in source.columns] == ["collated text", "text"]
    with pytest.raises(SchemaError, match="a column of collated text cannot be counted, got x"):
        source.check(Question.of(Domain.keys(column="x")), ROW, StatisticKind.SPARSE)
    for merging in ("NOCASE", "NOACCENT", "NFC"):
        whole = in_duckdb(f"SET default_collation = '{merging}'; CREATE TABLE t (y VARCHAR)", "t")
        assert [column.kind for column in whole.columns] == ["collated text"], merging


@pytest.mark.parametrize("texts", [["a", "a ", " a", "a\0"], ["\u00e4", "a\u0308"], ["\ufb01", "fi", "FI"]], ids=str)
def test_texts_that_look_alike_are_different_keys(texts: list[str]) -> None:
    source = sources.duckdb(pd.DataFrame({"x": texts * 2}))
    assert sparse(source, Domain.keys(column="x")) == [(text, 2) for text in sorted(texts)]


def test_a_collation_set_after_opening_ends_the_release() -> None:
    """Of two keys that it merges, the label of whichever row came first would be shown, with the counts of both."""
    connection = driver.connect()
    connection.execute("CREATE TABLE t AS SELECT unnest(['a', 'A', 'A']) AS k")
    source, keys = sources.duckdb(connection, "t"), Question.of(Domain.keys(column="k"))
    before = contract.largest(source, keys, ROW, 3)
    assert before == (["A", "a"], [2, 1], 0)
    connection.execute("SET default_collation = 'NOCASE'")
    with pytest.raises(ReleaseFailed):
        source.count(keys, ROW, Top(3))
    connection.execute("RESET default_collation")
    assert contract.largest(source, keys, ROW, 3) == before


def test_true_and_false_are_texts_or_numbers() -> None:
    frame = pd.DataFrame({"x": pd.Series([True, False, None, True], dtype="boolean")})
    keys = Domain.keys(column="x")
    assert sparse(sources.duckdb(frame), keys) == [("False", 1), ("True", 2)]
    assert sparse(sources.duckdb(frame, schema={"x": "number"}), keys) == [("0", 1), ("1", 2)]


# ---------------------------------------------------------------- what is refused, from public things alone

TABLE = """
    CREATE TABLE t (n BIGINT, f DOUBLE, g FLOAT, s VARCHAR, b BOOLEAN, d DECIMAL(10, 2), day DATE, raw BLOB, l INT[])
"""


@pytest.mark.parametrize(
    ("question", "unit", "need", "says"),
    [
        (Question.of(Domain.keys(column="m")), ROW, Top(3), "got m; its columns are n, f, g, s, b, d, day, raw, l"),
        (Question.of(Domain.keys(column="n"), {"m": 1}), ROW, Top(3), "got m; its columns"),
        (Question.of(Domain.keys(column="n")), Unit("m"), Top(3), "got m; its columns"),
        (Question.of(Domain.keys(column="f")), ROW, Top(3), "no keys and no users from a column of floats, got f"),
        (
            Question.of(Domain.keys(column="n")),
            Unit("g"),
            Top(3),
            "no keys and no users from a column of floats, got g",
        ),
        (Question.of(Domain.keys(column="raw")), ROW, Top(3), "a column of binary cannot be counted"),
        (Question.of(Domain.keys(column="l")), ROW, Top(3), "a column of array<int32> cannot be counted"),
        (Question.of(Domain.keys(column="day")), ROW, Top(3), "a column of times is counted by stretches of time"),
        (Question.of(Domain.integers(0, 3, column="s")), ROW, StatisticKind.DENSE, "needs a column of numbers"),
        (
            Question.of(Domain.integers(0, 2**53, column="f")),
            ROW,
            StatisticKind.SPARSE,
            "lie between −9,007,199,254,740,992 and",
        ),
        (
            Question.of(Domain.integers(-(2**24), 0, column="g")),
            ROW,
            StatisticKind.SPARSE,
            "lie between −16,777,216 and 16,777,216",
        ),
        (Question.of(Domain.integers(0, 2**26, column="n")), ROW, StatisticKind.DENSE, "a dense count has at most"),
        (Question.of(Domain.keys(column="n")), ROW, Top(0), "at least one of the largest counts"),
        (Question.of(Domain.keys(column="n")), ROW, StatisticKind.TOP, "one number per bin"),
    ],
)
def test_a_question_that_cannot_be_counted_is_refused_before_anything_is_read(
    question: Question, unit: Unit, need: Need, says: str
) -> None:
    source = in_duckdb(TABLE, "t")
    source._engine = Bad(lambda rows: pytest.fail("the engine was asked"))
    for call in (source.check, source.count):
        with pytest.raises(ParameterError) as refused:
            call(question, unit, need)
        assert says in str(refused.value)
        assert refused.value.rule


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: sources.duckdb("nothing.parquet"), "there is no such file, got nothing.parquet"),
        (lambda: sources.duckdb("nothing.duckdb", "t"), "there is no such file, got nothing.duckdb"),
        (lambda: sources.duckdb("nothing.duckdb"), "table must be given"),
        (lambda: sources.duckdb("rows.parquet", "t"), "a file holds one table"),
        (lambda: sources.duckdb("rows.xlsx"), "a path that ends in .parquet"),
        (lambda: sources.duckdb(pd.DataFrame({"s": ["x"]}), name=""), "the name of a dataset must be text"),
        (
            lambda: sources.duckdb(pd.DataFrame({"s": [0.5]}), schema={"s": "text"}),
            "type float64 cannot be read as text",
        ),
        (lambda: sources.duckdb(pd.DataFrame({"s": [1]}), schema={"t": "text"}), "columns that the data has, got t"),
        (lambda: sources.duckdb(pd.DataFrame({"s": [1]}), approximate=1), "approximate must be True or False"),
        (lambda: sources.duckdb([1, 2]), "a pandas or polars DataFrame, or an Arrow table, got list"),
        (lambda: sources.spark(pd.DataFrame({"s": [1]})), "must be a Spark DataFrame, got DataFrame"),
        (lambda: sources.ibis(pd.DataFrame({"s": [1]})), "must be an Ibis table, got DataFrame"),
        (
            lambda: sources.ibis(ibis.table({"x": "int64"}, name="t"), ties="perhaps"),
            'ties must be "label" or "unknown"',
        ),
    ],
)
def test_what_cannot_be_opened_is_refused(make: Callable[[], Any], says: str) -> None:
    with pytest.raises(ParameterError) as refused:
        make()
    assert says in str(refused.value)


@pytest.mark.parametrize("odd", ["'", "#", "\\", "|", ";", "'x'"])
def test_one_row_of_a_csv_file_does_not_change_how_others_are_read(tmp_path: Any, odd: str) -> None:
    """Whatever one user may write at the beginning and the end of the file, the others keep their counts."""
    rows = [(f"k{at % 3}", at) for at in range(30)]
    path = tmp_path / "data.csv"
    pd.DataFrame([(odd, 0), *rows, (odd, 1)], columns=["k", "n"]).to_csv(path, index=False)
    found = contract.largest(as_source(path), Question.of(Domain.keys(column="k")), ROW, 4)
    assert found == (["k0", "k1", "k2", odd], [10, 10, 10, 2], 0)


@pytest.mark.parametrize("rows", ["x|CANARY\n" * 5, "CANARY;1\n" * 5, '1\n"CANARY\n3\n'])
def test_no_row_of_a_csv_file_is_taken_for_the_names_of_its_columns(tmp_path: Any, rows: str) -> None:
    """Whatever the rows are like: DuckDB's own reader leaves out the first lines where the others have more parts."""
    path = tmp_path / "data.csv"
    path.write_text("a\n" + rows)
    assert as_source(path).columns == (Column("a", "text"),)


@pytest.mark.parametrize(
    "make",
    [
        lambda data: sources.duckdb(data, schema={"x": data}),
        lambda data: sources.duckdb(data.to_dict("list")),
        lambda data: sources.duckdb(data.x.tolist()),
        lambda data: sources.duckdb(driver.sql("SELECT 'CANARY' AS x")),
        lambda data: sources.ibis(data),
        lambda data: sources.spark(data),
    ],
)
def test_a_refusal_leaves_no_frame_that_shows_the_data(make: Callable[[Any], Any]) -> None:
    """Each variable of each of our frames, as IPython's Verbose mode prints it."""
    with pytest.raises(DpvizError) as refused:
        make(pd.DataFrame({"x": ["CANARY"]}))
    ours = [frame for frame, _ in walk_tb(refused.tb) if is_ours(frame)]
    assert len(ours) == 1, "a refusal leaves its door without the frames behind it"
    held = [value for frame in ours for name, value in frame.f_locals.items() if name != "self"]
    assert "CANARY" not in repr(held) + str(refused.value)


def test_a_file_that_is_no_table_is_refused_without_its_contents(tmp_path: Any) -> None:
    path = tmp_path / "bad.parquet"
    path.write_text("CANARY")
    with pytest.raises(ParameterError) as refused:
        as_source(path)
    assert "bad.parquet" in str(refused.value) and "CANARY" not in str(refused.value)
    assert refused.value.__cause__ is None and refused.value.__context__ is None


def test_a_source_declares_its_counts_and_its_order() -> None:
    assert as_source(pd.DataFrame({"x": [1]})).top == sources.duckdb(pd.DataFrame({"x": [1]})).top
    assert sources.duckdb(pd.DataFrame({"x": [1]})).top == dv.model.source.TopRules(exact=True, ties="label")
    assert not sources.duckdb(pd.DataFrame({"x": [1]}), approximate=True).top.exact


# ---------------------------------------------------------------- an engine that answers badly


class Bad(Engine):
    """An engine whose rows are changed on the way."""

    def __init__(self, change: Callable[[Rows], Any], real: Any = None) -> None:
        self._change = change
        self._real = real

    def prepared(self, query: Any) -> Any:
        return query if self._real is None else self._real.prepared(query)

    def rows(self, query: Any, stopped: threading.Event) -> Any:
        return self._change([] if self._real is None else self._real.rows(query, stopped))

    def batches(self, query: Any, stopped: threading.Event) -> Any:
        yield self.rows(query, stopped)

    def __repr__(self) -> str:
        return "<bad>"


def test_a_question_that_an_engine_has_no_words_for_is_refused_before_a_charge(tmp_path: Any) -> None:
    source = sources.duckdb(pd.DataFrame({"x": ["a"]}))

    class Wordless(Bad):
        def prepared(self, query: Any) -> Any:
            raise RuntimeError("CANARY")

    source._engine = Wordless(lambda rows: rows, source._engine)
    session = dv.Session(source, dv.Unit(), dv.Budget("2", "1e-5"), tmp_path / "ledger")
    with pytest.raises(SchemaError, match="cannot count this") as refused:
        session.release("x", dv.TopK(1, 1, "1"))
    assert "CANARY" not in str(refused.value) and session.remaining.epsilon == 2


def test_a_question_is_put_into_words_once() -> None:
    source, question = sources.duckdb(pd.DataFrame({"x": ["a", "a", "b"]})), Question.of(Domain.keys(column="x"))
    first = contract.largest(source, question, ROW, 1)

    class Once(Bad):
        def prepared(self, query: Any) -> Any:
            raise RuntimeError("asked for words again")

    source._engine = Once(lambda rows: rows, source._engine)
    assert contract.largest(source, question, ROW, 1) == first
    with pytest.raises(SchemaError):
        source.check(question, ROW, Top(2))


def die(rows: Rows) -> Rows:
    raise RuntimeError(f"CANARY {rows}")


BAD: dict[str, Callable[[Rows], Any]] = {
    "floats": lambda rows: [(label, float(count)) for label, count in rows],
    "numpy": lambda rows: [(label, np.int64(count)) for label, count in rows],
    "true": lambda rows: [(label, True) for label, _ in rows],
    "negative": lambda rows: [(label, -count) for label, count in rows],
    "zero": lambda rows: [*rows[:-1], (rows[-1][0], 0)],
    "huge": lambda rows: [(rows[0][0], 2**63), *rows[1:]],
    "duplicates": lambda rows: [rows[0], *rows[:-1]],
    "unsorted": lambda rows: rows[::-1],
    "ties by another rule": lambda rows: sorted(rows, key=lambda row: (row[1], row[0]), reverse=True),
    "too many": lambda rows: [*rows, ("~", 1)],
    "missing label": lambda rows: [(None, count) for _, count in rows],
    "numbered label": lambda rows: [(place, count) for place, (_, count) in enumerate(rows)],
    "three columns": lambda rows: [(*row, 1) for row in rows],
    "one column": lambda rows: [(label,) for label, _ in rows],
    "no rows at all": lambda rows: None,
    "dies": die,
}


def tied() -> IbisSource:
    """Destinations with equal counts: one aircraft each."""
    source = sources.duckdb(pd.DataFrame({"x": list("aabbccddee"), "u": list("uuvvwwxxyy")}))
    assert isinstance(source, IbisSource)
    return source


@pytest.mark.parametrize("name", BAD)
def test_what_an_engine_answers_is_checked(name: str) -> None:
    question, unit = Question.of(Domain.keys(column="x")), Unit("u")
    source = tied()
    assert contract.largest(source, question, unit, 3) == (["a", "b", "c"], [1, 1, 1], 1)
    source._engine = Bad(BAD[name], source._engine)
    with pytest.raises(ReleaseFailed) as failed:
        source.count(question, unit, Top(3))
    assert "CANARY" not in str(failed.value)
    assert failed.value.__cause__ is None and failed.value.__context__ is None


@pytest.mark.parametrize("bad", [[(9, 1)], [(-1, 1)], [("0", 1)], [(0, 1), (0, 2)], [(0, 1.0)]])
@pytest.mark.parametrize("need", [StatisticKind.DENSE, StatisticKind.SPARSE, Top(2)])
def test_bins_that_come_back_are_checked(bad: Rows, need: Need) -> None:
    source = tied()
    source._engine = Bad(lambda rows: bad)
    with pytest.raises(ReleaseFailed, match="something else than labels and their counts"):
        source.count(Question.of(Domain.categories(["a", "b"], column="x")), ROW, need).take()


INTS = np.array([1, 0, 2])
ODD: dict[str, tuple[Any, Any]] = {
    "a label beyond": (INTS + 1, INTS + 1),
    "a label below": (INTS - 1, INTS + 1),
    "a label twice": (np.array([1, 0, 1]), INTS + 1),
    "a count of 0": (INTS, INTS),
    "a count that is too large": (INTS, np.array([1, 1, 2**63], dtype=np.uint64)),
    "one count less": (INTS, INTS[1:] + 1),
}
LETTERS = Question.of(Domain.categories(["a", "b", "c"], column="x"))


class Fixed(Bad):
    """An engine that answers what the test says, as columns or as batches."""

    def __init__(self, *batches: Any) -> None:
        super().__init__(lambda rows: rows)
        self.given = batches

    def prepared(self, query: Any) -> Any:
        return query

    def columns(self, query: Any, stopped: threading.Event) -> Any:
        return IntegerColumns(*self.given[0])

    def batches(self, query: Any, stopped: threading.Event) -> Any:
        for one in self.given:
            yield pyarrow.RecordBatch.from_arrays([pyarrow.array(column) for column in one], names=["label", "count"])


@pytest.mark.parametrize("need", [StatisticKind.DENSE, StatisticKind.SPARSE])
@pytest.mark.parametrize("name", ODD)
def test_columns_that_come_back_are_checked(name: str, need: Need) -> None:
    source = tied()
    source._engine = Fixed((INTS, INTS + 1))
    taken = source.count(LETTERS, ROW, need).take()
    assert [one.tolist() for one in (taken if isinstance(taken, tuple) else (taken,))][-1] == [1, 2, 3]
    source._engine = Fixed(ODD[name])
    with pytest.raises(ReleaseFailed, match="withheld"):
        source.count(LETTERS, ROW, need).take()


KEYS = Question.of(Domain.keys(column="x"))
HUGE = Question.of(Domain.integers(0, 2**64 - 1, column="n"))
BEYOND = Question.of(Domain.integers(0, 10**30, column="n"))


def fixed(*batches: Any) -> IbisSource:
    """A source whose engine gives these batches, whatever it is asked."""
    source = sources.duckdb(pd.DataFrame({"x": ["a", "b"], "n": [0, 1]}))
    assert isinstance(source, IbisSource)
    source._engine = Fixed(*batches)
    return source


def decimals(*values: int | None) -> Any:
    return pyarrow.array([None if value is None else Decimal(value) for value in values], pyarrow.decimal128(38, 0))


PIECES: dict[str, tuple[Question, Any, Any]] = {
    "no text": (KEYS, ["a", None], [1, 1]),
    "numbers for texts": (KEYS, [1, 2], [1, 1]),
    "bytes for texts": (KEYS, [b"a", b"b"], [1, 1]),
    "no count": (KEYS, ["a", "b"], [1, None]),
    "a count of 0": (KEYS, ["a", "b"], [1, 0]),
    "a count below 0": (KEYS, ["a", "b"], [1, -1]),
    "a count that is a float": (KEYS, ["a", "b"], [1.0, 2.0]),
    "a count beyond 64 bits": (KEYS, ["a", "b"], np.array([1, 2**63], dtype=np.uint64)),
    "text for numbers": (LETTERS, ["0", "1"], [1, 1]),
    "no number": (LETTERS, [0, None], [1, 1]),
    "a bin beyond": (LETTERS, [0, 3], [1, 1]),
    "a wide bin beyond": (HUGE, decimals(0, 2**64), [1, 1]),
    "a wide bin below": (HUGE, decimals(0, -1), [1, 1]),
    "no wide bin": (HUGE, decimals(0, None), [1, 1]),
    "fractions for wide bins": (HUGE, pyarrow.array([Decimal("0.5")]), [1]),
    "a bin beyond the widest": (BEYOND, decimals(10**30 + 1), [1]),
    "a bin below the widest": (BEYOND, decimals(-1), [1]),
}


@pytest.mark.parametrize("name", PIECES)
def test_each_batch_is_checked_before_anything_is_drawn_from_it(name: str) -> None:
    question, labels, counts = PIECES[name]
    rights = [(KEYS, ["c"]), (LETTERS, [2]), (HUGE, decimals(2**64 - 1)), (BEYOND, decimals(10**30))]
    right = next(one for asked, one in rights if asked is question)
    statistic = fixed((right, [7])).count(question, ROW, StatisticKind.SPARSE)
    assert [one.tolist() for one in statistic.take()][1] == [7]  # type: ignore[attr-defined]
    statistic = fixed((right, [7]), (labels, counts)).count(question, ROW, StatisticKind.SPARSE)
    seen: list[int] = []
    with pytest.raises(ReleaseFailed, match="withheld") as failed:
        statistic.each(lambda batch: seen.append(len(batch.counts)))  # type: ignore[attr-defined]
    assert seen == [1], "the first batch was right, the second is not handed on"
    assert failed.value.__cause__ is None and failed.value.__context__ is None


@pytest.mark.parametrize(
    ("question", "first", "second"),
    [
        (KEYS, ["b", "a"], ["c", "a"]),
        (LETTERS, [1, 0], [2, 0]),
        (HUGE, decimals(2**64 - 1, 3), decimals(4, 3)),
        (BEYOND, decimals(10**30, 3), decimals(2**64, 10**30)),
    ],
    ids=["texts", "bins", "wide bins", "the widest bins"],
)
def test_a_label_that_comes_in_two_batches_is_refused_where_all_are_taken(
    question: Question, first: Any, second: Any
) -> None:
    source = fixed((first, [1, 2]), (second, [3, 4]))
    with pytest.raises(ReleaseFailed, match="something else than labels"):
        source.count(question, ROW, StatisticKind.SPARSE).take()
    source = fixed((first, [1, 2]), (second[:1], [3]))
    labels, counts = source.count(question, ROW, StatisticKind.SPARSE).take()
    assert labels.tolist() == sorted(labels.tolist()) and sorted(counts.tolist()) == [1, 2, 3]


def test_a_label_that_would_be_shown_twice_is_refused_and_one_that_is_not_shown_is_forgotten() -> None:
    """Noise of scale 1/90: counts of 1,000 pass the threshold and counts of 1 do not, but for a chance below 1e-30."""
    bits = TeachingBits(1)
    bound = dv.Stability("90", "1e-6").bind(KEYS, ROW)
    source = fixed((["a", "b"], [1000, 900]), (["c", "a"], [800, 700]))
    with pytest.raises(ReleaseFailed, match="something else than labels"):
        bound.draw(source.count(KEYS, ROW, StatisticKind.SPARSE), bits, mode="exact")
    source = fixed((["b", "a"], [900, 1000]), (["c", "a"], [800, 1]))
    answer = bound.draw(source.count(KEYS, ROW, StatisticKind.SPARSE), bits, mode="exact")
    assert (answer.labels, answer.values.tolist()) == (("a", "b", "c"), [1000, 900, 800])


def test_wide_bins_are_those_of_a_slice_too() -> None:
    """A batch may begin in the middle of its buffers."""
    source = fixed()
    whole = pyarrow.RecordBatch.from_arrays([decimals(9, 2**64 - 1, 3), pyarrow.array([1, 2, 3])], ["label", "count"])
    source._engine.batches = lambda *_: (one for one in (whole[1:], whole[:1]))  # type: ignore[method-assign]
    for question, kind in ((HUGE, np.uint64), (BEYOND, object)):
        labels, counts = source.count(question, ROW, StatisticKind.SPARSE).take()
        assert labels.dtype == kind
        assert (labels.tolist(), counts.tolist()) == ([3, 9, 2**64 - 1], [3, 1, 2])


def test_columns_of_other_things_than_whole_numbers_are_taken_as_rows() -> None:
    source = tied()
    for odd in ("SELECT 0 AS label, 1.5 AS count", "SELECT NULL::BIGINT AS label, 1 AS count", "SELECT 0, 'CANARY'"):
        found = source._engine.columns(odd, threading.Event())
        assert found == source._engine.rows(odd, threading.Event()) and isinstance(found, list)
    plain = source._engine.columns("SELECT 3::TINYINT AS label, 1 AS count", threading.Event())
    assert isinstance(plain, IntegerColumns) and (plain.labels.tolist(), plain.counts.tolist()) == ([3], [1])


def test_fewer_rows_than_asked_for_are_all_there_are() -> None:
    source = tied()
    source._engine = Bad(lambda rows: rows[:2], source._engine)
    assert contract.largest(source, Question.of(Domain.keys(column="x")), Unit("u"), 3) == (["a", "b"], [1, 1], 0)


def test_a_release_on_a_bad_engine_fails_after_its_charge_and_says_nothing(
    tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = tied()
    session = dv.Session(source, dv.Unit("u"), dv.Budget("2", "1e-5"), tmp_path / "ledger")
    with pytest.raises(SchemaError, match="got y; its columns are x, u"):
        session.release(dv.Domain.keys(column="y"), dv.Stability("1/2", "1e-6"))
    assert session.remaining.epsilon == 2
    monkeypatch.setattr(ibis_source, "answers", lambda engine: True)  # it is there, and dies of the question
    right, source._engine = source._engine, Bad(die, source._engine)
    with pytest.raises(ReleaseFailed, match="is spent and no answer was shown") as failed:
        session.release(dv.Domain.keys(column="x"), dv.Stability("1/2", "1e-6"))
    assert "CANARY" not in str(failed.value)
    assert session.remaining.epsilon < 2
    source._engine = right
    release = session.release(dv.Domain.keys(column="x"), dv.Stability("1/2", "1e-6"), retry=True)
    assert release.to_frame() is not None


# ---------------------------------------------------------------- while a mechanism takes them


def counted(rows: int) -> IbisSource:
    """Rows with a key and a number of their own."""
    return in_duckdb(f"CREATE TABLE t AS SELECT 'key ' || range AS k, range * 3 AS n FROM range({rows})", "t")


def batches_of(source: IbisSource, question: Question) -> list[Batch]:
    found: list[Batch] = []
    source.count(question, ROW, StatisticKind.SPARSE).each(found.append)  # type: ignore[attr-defined]
    return found


def test_counts_come_in_batches_of_columns_and_all_of_them_come() -> None:
    source, rows = counted(200_000), 200_000
    for domain, labels in (
        (Domain.keys(column="k"), sorted(f"key {place}" for place in range(rows))),
        (Domain.integers(0, 2**40, column="n"), [3 * place for place in range(rows)]),
        (Domain.integers(0, 2**64 - 1, column="n"), [3 * place for place in range(rows)]),
    ):
        batches = batches_of(source, Question.of(domain))
        assert len(batches) >= 4 and max(len(batch.counts) for batch in batches) <= queries.BATCH
        found = np.concatenate([batch.labels() for batch in batches])
        assert sorted(found.tolist()) == labels and all(batch.counts.dtype == np.int64 for batch in batches)
        few = np.arange(len(batches[0].counts)) == 5
        assert batches[0].labels(few).tolist() == found[5:6].tolist()


def test_no_order_is_asked_for() -> None:
    source = counted(10)
    for domain in (Domain.keys(column="k"), Domain.integers(0, 2**64 - 1, column="n")):
        assert "ORDER BY" not in str(source._query(Question.of(domain), ROW, StatisticKind.SPARSE).take())
        assert "ORDER BY" in str(source._query(Question.of(domain), ROW, Top(3)).take())


def test_an_engine_of_any_other_kind_gives_the_same_batches() -> None:
    source = counted(70_000)
    question = Question.of(Domain.keys(column="k"))
    expected = source.count(question, ROW, StatisticKind.SPARSE).take()
    backend = source._engine._backend
    source._engine, source._prepared = Engine(backend), {}
    assert len(batches_of(source, question)) == 2
    assert [one.tolist() for one in source.count(question, ROW, StatisticKind.SPARSE).take()] == [
        one.tolist() for one in expected
    ]


def test_a_draw_that_dies_or_is_cancelled_between_batches_lets_the_engine_go() -> None:
    source = counted(500_000)
    question = Question.of(Domain.keys(column="k"))
    for stop in (ReleaseCancelled, KeyboardInterrupt, MemoryError):

        def die(batch: Batch, stop: type[BaseException] = stop) -> None:
            raise stop("CANARY")

        with pytest.raises(stop):
            source.count(question, ROW, StatisticKind.SPARSE).each(die)  # type: ignore[attr-defined]
        assert not source._engine._one.locked()
        assert source._engine.rows("SELECT 1", threading.Event()) == [(1,)]


def cancelled_at_the_second_look() -> Callable[[int, int], None]:
    """A tick that lets the work begin."""
    began = threading.Event()

    def tick(done: int, of: int) -> None:
        if began.is_set():
            raise ReleaseCancelled("cancelled")
        began.set()

    return tick


def test_a_cancel_is_heard_while_an_engine_has_not_begun_to_answer() -> None:
    source, question = endless(), Question.of(Domain.keys(column="x"))
    with pytest.raises(ReleaseCancelled):
        source.count(question, ROW, StatisticKind.SPARSE, cancelled_at_the_second_look()).take()
    assert source._engine.rows("SELECT 1", threading.Event()) == [(1,)]


def test_an_engine_that_fails_after_some_batches_ends_the_draw_without_its_words() -> None:
    class Failing(Fixed):
        def batches(self, query: Any, stopped: threading.Event) -> Any:
            yield from super().batches(query, stopped)
            raise RuntimeError("CANARY")

    source, seen = tied(), []
    source._engine = Failing((["a"], [1]))
    with pytest.raises(ReleaseFailed, match="the engine failed") as failed:
        source.count(KEYS, ROW, StatisticKind.SPARSE).each(seen.append)
    assert len(seen) == 1 and "CANARY" not in str(failed.value)
    assert failed.value.__cause__ is None and failed.value.__context__ is None


def test_an_engine_is_no_more_than_a_few_batches_ahead() -> None:
    """What is not taken yet stays in the engine, however much there is."""
    made, taken = [0], []

    class Counting(Fixed):
        def batches(self, query: Any, stopped: threading.Event) -> Any:
            for one in super().batches(query, stopped):
                made[0] += 1
                yield one

    source = tied()
    source._engine = Counting(*[([f"k{place}"], [1]) for place in range(100)])
    ahead = []

    def take(batch: Batch) -> None:
        taken.append(batch)
        ahead.append(made[0] - len(taken))

    source.count(KEYS, ROW, StatisticKind.SPARSE).each(take)
    assert len(taken) == 100 and max(ahead) <= queries.AHEAD + 1


def test_a_seed_gives_one_draw_whatever_the_order_in_which_an_engine_counts() -> None:
    letters, bits = [*"qwertyuiopasdfghjklzxcvbnm"], {}
    for name, order in (("one", letters), ("other", letters[::-1])):
        source = tied()
        counts = [100 + ord(letter) for letter in order]
        source._engine = Fixed((order[:9], counts[:9]), (order[9:], counts[9:]))
        lesson = dv.teaching(source, seed=7)
        bits[name] = lesson.draw(Domain.keys(column="x"), dv.Stability("1/2", "1e-6")).answer
    assert bits["one"].labels == bits["other"].labels == tuple(sorted(letters))
    assert bits["one"].values.tolist() == bits["other"].values.tolist()
    frame = pd.DataFrame({"x": [letter for letter in letters for _ in range(100 + ord(letter))]})
    here = dv.teaching(frame, seed=7).draw(Domain.keys(column="x"), dv.Stability("1/2", "1e-6")).answer
    assert (here.labels, here.values.tolist()) == (bits["one"].labels, bits["one"].values.tolist())


@pytest.mark.parametrize(
    ("column", "mechanism"),
    [("k", dv.Stability("9", "1e-3")), ("n", dv.PureSparse("9", cap=50))],
    ids=["stability", "pure sparse"],
)
def test_memory_is_the_answer_and_some_batches(column: str, mechanism: Any) -> None:
    """Python's own and NumPy's, at 100,000 and 400,000 keys of which almost none is shown."""
    domain = Domain.keys(column="k") if column == "k" else Domain.integers(0, 2**40, column="n")
    question = Question.of(domain)
    bound, most = mechanism.bind(question, ROW), []
    for rows in (100_000, 400_000):
        statistic = counted(rows).count(question, ROW, StatisticKind.SPARSE)
        bound.draw(statistic, SystemBits(), mode="exact")
        tracemalloc.start()
        bound.draw(statistic, SystemBits(), mode="exact")
        most.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert most[1] < 1.5 * most[0] and most[1] < 80 * queries.BATCH


# ---------------------------------------------------------------- stopping, and sharing


def endless() -> IbisSource:
    """A table that takes minutes to count."""
    return in_duckdb(
        "CREATE VIEW t AS SELECT (a.range * b.range) % 7 AS x FROM range(1000000) a, range(1000000) b", "t"
    )


def test_a_cancel_interrupts_the_engine() -> None:
    source, question = endless(), Question.of(Domain.keys(column="x"))
    with pytest.raises(ReleaseCancelled):
        source.count(question, ROW, Top(3), cancelled_at_the_second_look())
    quick = source._engine.prepared(source._table.take().limit(0))
    assert source._engine.rows(quick, threading.Event()) == []


def test_a_session_cancels_a_query_that_is_running(tmp_path: Any) -> None:
    source = endless()
    session = dv.Session(source, dv.Unit(), dv.Budget("2", "1e-5"), tmp_path / "ledger")
    running = session.release_async(dv.Domain.keys(column="x"), dv.Stability("1/2", "1e-6"))
    while running.number is None or not source._engine._one.locked():  # charged, and counting
        time.sleep(0.01)
    running.cancel()
    with pytest.raises(ReleaseCancelled, match="is spent and no answer was shown"):
        running.result()
    assert session.running is None


def test_two_threads_share_one_source() -> None:
    source = engines.parquet(datasets.flights(), "flights", None)
    question, unit = Question.of(Domain.keys(column="destination")), Unit("aircraft", max_bins=5)
    expected, found = contract.largest(source, question, unit, 20), []

    def work() -> None:
        found.extend(contract.largest(source, question, unit, 20) for _ in range(3))

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [expected] * 12


def test_a_connection_that_its_owner_uses_meanwhile_is_waited_for() -> None:
    import duckdb

    connection = duckdb.connect()
    connection.execute("CREATE TABLE t AS SELECT range % 5 AS x FROM range(100000)")
    source = sources.duckdb(connection, "t")
    question, stop = Question.of(Domain.keys(column="x")), threading.Event()

    def owner() -> None:
        while not stop.is_set():
            try:
                connection.execute("SELECT sum(a.range) FROM range(2000) a, range(2000) b").fetchall()
            except duckdb.Error:  # the owner is refused while we count
                continue
            time.sleep(0.01)

    thread = threading.Thread(target=owner)
    thread.start()
    try:
        for _ in range(3):
            assert contract.largest(source, question, ROW, 2) == (["0", "1"], [20_000, 20_000], 20_000)
    finally:
        stop.set()
        thread.join()


def test_a_connection_with_a_result_half_read_is_refused_before_a_charge(tmp_path: Any) -> None:
    """DuckDB does nothing else on it meanwhile, and its owner, who waits for the release, would never read on."""
    connection = driver.connect()
    connection.execute("CREATE TABLE t AS SELECT range % 5 AS x FROM range(100)")
    bins, price = Domain.integers(0, 4, column="x"), dv.Dense("1")
    session = dv.Session(sources.duckdb(connection, "t"), dv.Unit(), dv.Budget("2"), tmp_path / "ledger")
    connection.execute("SELECT count(*) FROM t").fetchone()
    with pytest.raises(ParameterError, match="read that result to its end"):
        session.release(bins, price)
    assert session.remaining.epsilon == 2
    assert connection.fetchall() == []
    reader = connection.sql("SELECT * FROM t").to_arrow_reader(10)
    assert reader.read_next_batch().num_rows == 10
    with pytest.raises(ParameterError, match="read that result to its end"):
        session.release(bins, price)
    assert session.remaining.epsilon == 2
    reader.close()
    session.release(bins, price)
    assert session.remaining.epsilon == 1


def test_a_result_that_stays_half_read_ends_a_count(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(queries, "PATIENCE", 0.1)
    connection = driver.connect()
    connection.execute("CREATE TABLE t AS SELECT range % 5 AS x FROM range(100)")
    source = sources.duckdb(connection, "t")
    assert isinstance(source, IbisSource)
    connection.execute("SELECT * FROM t").fetchone()
    with pytest.raises(ReleaseFailed):
        queries.ask(source._engine, Hidden("SELECT 1"), 0, 1, None)


def test_an_ibis_table_may_be_an_expression_with_a_name_of_its_own() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        connection = ibis.duckdb.connect()
        connection.raw_sql("CREATE TABLE visits AS SELECT range % 3 AS x FROM range(9)")
        table = connection.table("visits")
    assert as_source(table).name == "visits"
    assert as_source(table.filter(table.x > 0)).name == "data"
    found = contract.largest(as_source(table.filter(table.x > 0)), Question.of(Domain.keys(column="x")), ROW, 5)
    assert found == (["1", "2"], [3, 3], 0)


def test_a_source_says_nothing_of_its_rows() -> None:
    source = sources.duckdb(pd.DataFrame({"x": ["CANARY"]}), name="visits")
    assert repr(source) == "<private data: visits, 1 columns, in <duckdb>>"
    assert "CANARY" not in repr(source._table)


def test_what_is_still_in_an_engine_says_nothing_and_is_not_stored() -> None:
    statistic = sources.duckdb(pd.DataFrame({"x": ["CANARY"]})).count(KEYS, ROW, StatisticKind.SPARSE)
    seen: list[Batch] = []
    statistic.each(seen.append)  # type: ignore[attr-defined]
    assert seen[0].labels().tolist() == ["CANARY"]
    for held in (statistic, statistic._hidden, seen[0]):
        assert "CANARY" not in f"{held} {held!r} {[held]}"
        for store in (pickle.dumps, copy.copy, copy.deepcopy):
            with pytest.raises(Forbidden):
                store(held)


def test_a_draw_that_ends_between_batches_leaves_no_frame_that_shows_one() -> None:
    statistic = sources.duckdb(pd.DataFrame({"x": ["CANARY"]})).count(KEYS, ROW, StatisticKind.SPARSE)

    def end(batch: Batch) -> None:
        raise ReleaseCancelled(f"{len(batch.labels())}")

    with pytest.raises(ReleaseCancelled) as ended:
        statistic.each(end)  # type: ignore[attr-defined]
    ours = [frame for frame, _ in walk_tb(ended.tb) if is_ours(frame)]
    held = [value for frame in ours for name, value in frame.f_locals.items() if name != "self"]
    assert len(ours) == 1 and "CANARY" not in repr(held)
