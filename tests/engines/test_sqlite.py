"""SQLite and polars through Ibis: counts of the reference, whatever a row holds; and what cannot be opened."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import ibis
import pandas as pd
import polars
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import dpviz as dv
from dpviz.engines import sources
from dpviz.errors import DomainError, ParameterError, SchemaError
from dpviz.model.domain import Domain
from dpviz.model.question import Between, Question
from dpviz.model.source import Source
from dpviz.model.statistic import StatisticKind, Top
from dpviz.privacy.unit import Unit
from tests.engines import contract, engines
from tests.engines.frames import kinds_in, plain_frames, questions, units, wide_questions
from tests.engines.server import plain
from tests.soak.amounts import part

ROW = Unit("row")
TYPES = {"int64": "INTEGER", "int8": "TINYINT", "float64": "REAL", "bool": "BOOLEAN", "boolean": "bool"}


def sqlite(frame: pd.DataFrame, name: str, schema: Mapping[str, str] | None) -> Source:
    """A table in memory, which only the connection that Ibis opened knows."""
    opened = ibis.sqlite.connect()
    try:
        columns = ", ".join(
            f'"{column}" {TYPES.get(str(kind).lower(), "TEXT")}' for column, kind in frame.dtypes.items()
        )
        opened.con.execute(f"CREATE TABLE t ({columns})")
        marks = ", ".join("?" * len(frame.columns))
        rows = zip(*([plain(value) for value in frame[column].array] for column in frame.columns), strict=True)
        opened.con.executemany(f"INSERT INTO t VALUES ({marks})", rows)
        return sources.ibis(opened.table("t"), name=name, schema=schema)
    finally:
        opened.disconnect()


def in_polars(frame: pd.DataFrame, name: str, schema: Mapping[str, str] | None) -> Source:
    return sources.ibis(ibis.polars.connect({"t": polars.from_pandas(frame)}).table("t"), name=name, schema=schema)


HELD = {
    "SQLite": (sqlite, ["int64", "int8", "float64", "Int64", "bool", "boolean", "str"]),
    "polars": (in_polars, ["int64", "int8", "uint64", "float64", "float32", "Int64", "bool", "boolean", "str"]),
}


@pytest.mark.parametrize("name", HELD)
@settings(max_examples=part(30, 10))
@given(data=st.data())
def test_counts_are_those_of_the_reference(name: str, data: st.DataObject) -> None:
    engine, kinds = HELD[name]
    frame, _ = data.draw(plain_frames(kinds))
    source = engine(frame, "data", None)
    question = data.draw(questions(kinds_in(frame, source.columns)))
    unit = data.draw(units)
    asked_of(source, question, unit, StatisticKind.DENSE)
    contract.counts_as_the_reference(lambda *_: source, frame, question, unit)


@pytest.mark.parametrize("name", HELD)
@settings(max_examples=part(30, 10))
@given(data=st.data())
def test_sparse_and_largest_counts_are_those_of_the_reference(name: str, data: st.DataObject) -> None:
    engine, kinds = HELD[name]
    frame, _ = data.draw(plain_frames(kinds))
    source = engine(frame, "data", None)
    question = data.draw(wide_questions(kinds_in(frame, source.columns)))
    unit = data.draw(units)
    asked_of(source, question, unit, StatisticKind.SPARSE)
    contract.sparse_as_the_reference(lambda *_: source, frame, question, unit)

    def top(held: pd.DataFrame, asked: Question, of: Unit, rows: int) -> contract.Largest:
        return contract.largest(engine(held, "data", None), asked, of, rows)

    contract.top_as_the_reference(top, frame, source.columns, question, unit, 2)


def asked_of(source: Any, question: Question, unit: Unit, need: Any) -> None:
    """Go on only where the engine does not refuse the question, as it says that it does."""
    try:
        source.check(question, unit, need)
    except (SchemaError, DomainError) as refused:
        assert any(
            said in str(refused) for said in ("floats", "10^36", "dense count", "shortest form", "whole numbers")
        ), refused
        assume(False)


@pytest.mark.parametrize("name", HELD)
def test_one_user_weighs_little_in_every_tiny_frame(name: str) -> None:
    unit = Unit("user", max_bins=1, max_per_bin=1)
    assert contract.one_user_weighs_little_in_every_tiny_frame(contract.counter(HELD[name][0]), unit, rows=1) == 16


# ---------------------------------------------------------------- rows that are not what their column declares


ODD = """CREATE TABLE odd (
    whole INTEGER, part REAL, word TEXT, day DATE, clock TIMESTAMP, flag BOOLEAN, price DECIMAL(10, 2), free, raw BLOB,
    "a ""quoted"" name" INT)"""
GOOD = (1, 1.5, "a", "2020-01-31", "2020-01-31 23:59:59.999999", 1, 2.25, 3, b"x", 1)
STRANGE: list[Any] = ["text", b"\xff", 2.5, 9e999, -(2**63), 7, "", "2020-02-30", "2020-01-31T00:00Z", None]


@pytest.fixture
def odd() -> Iterator[Any]:
    opened = ibis.sqlite.connect()
    opened.con.execute(ODD)
    opened.con.execute(f"INSERT INTO odd VALUES ({', '.join('?' * 10)})", GOOD)
    yield opened
    opened.disconnect()


QUESTIONS = {
    "whole": Domain.integers(0, 3, column="whole", underflow=True, overflow=True, missing=True),
    "part": Domain.intervals([0, 1, 2], column="part", underflow=True, overflow=True, missing=True),
    "word": Domain.categories(["a"], column="word", other=True, missing=True),
    "day": Domain.times("2020", "2021", by="month", column="day", underflow=True, overflow=True, missing=True),
    "clock": Domain.times("2020", "2021", by="month", column="clock", underflow=True, overflow=True, missing=True),
    "flag": Domain.categories(["False", "True"], column="flag", missing=True),
    "price": Domain.intervals([0, 1, 9], column="price", underflow=True, overflow=True, missing=True),
    "free": Domain.integers(0, 9, column="free", underflow=True, overflow=True, missing=True),
}


@pytest.mark.parametrize("strange", STRANGE, ids=repr)
def test_a_value_that_its_column_does_not_declare_changes_no_other_row_and_ends_no_count(
    strange: Any, odd: Any
) -> None:
    """Whatever lies in a row, the columns, what may be asked and the counts of all other rows are the same."""
    before = sources.ibis(odd.table("odd"))
    counts = {name: before.count(Question.of(one), ROW, StatisticKind.DENSE).take() for name, one in QUESTIONS.items()}
    assert all(counted.sum() == 1 for counted in counts.values())
    odd.con.execute(f"INSERT INTO odd VALUES ({', '.join('?' * 10)})", [strange] * 10)
    after = sources.ibis(odd.table("odd"))
    assert after.columns == before.columns
    for name, domain in QUESTIONS.items():
        more = after.count(Question.of(domain), ROW, StatisticKind.DENSE).take() - counts[name]
        assert more.min() == 0 and more.sum() <= 1
        for unit in (Unit("word", max_bins=1), Unit("free", max_bins=1)):
            after.check(Question.of(domain), unit, StatisticKind.DENSE)
            assert 1 <= after.count(Question.of(domain), unit, StatisticKind.DENSE).take().sum() <= 2


@pytest.mark.parametrize(
    "column, values, expected",
    [
        ("whole", ["7", 2.0, 2.5, "x", b"1", None], [1, 1, 0, 0, 0, 0]),
        ("day", ["2020-01-31", "2020-1-31", "20200131", 2458880.5, "2020-01-31 10:00"], [1, 0, 0, 0, 0]),
        ("clock", ["2020-01-31", "2020-01-31 10:00", "2020-01-31T10:00:00.1234567", "2020-01-31 10:00+01:00", 5],
         [1, 1, 1, 0, 0]),
        ("flag", [0, 1, "True", 2, "1"], [1, 1, 0, 0, 1]),
        ("free", ["7", 7, 7.0, "x", b"7"], [1, 1, 1, 0, 0]),
    ],
)  # fmt: skip
def test_which_values_of_a_column_are_there(column: str, values: list[Any], expected: list[int], odd: Any) -> None:
    """SQLite itself makes numbers of texts that are written as such, in columns of numbers."""
    found = []
    for value in values:
        odd.con.execute("DELETE FROM odd")
        odd.con.execute(f"INSERT INTO odd ({column}) VALUES (?)", [value])
        domain = QUESTIONS[column]
        counts = sources.ibis(odd.table("odd")).count(Question.of(domain), ROW, StatisticKind.DENSE).take().tolist()
        found.append(sum(counts) - counts[-1])
    assert found == expected


def test_a_column_without_a_type_is_read_as_one_of_a_csv_file(odd: Any) -> None:
    odd.con.executemany("INSERT INTO odd (free) VALUES (?)", [["x"], [0.5], [None], ["3"]])
    source = sources.ibis(odd.table("odd"))
    labels, counts = source.count(Question.of(Domain.keys(column="free")), ROW, StatisticKind.SPARSE).take()
    assert dict(zip(labels.tolist(), counts.tolist(), strict=True)) == {"0.5": 1, "3": 2, "x": 1}
    inside = Question.of(Domain.integers(0, 9, column="free"), {"free": Between(1, 5)})
    assert source.count(inside, ROW, StatisticKind.DENSE).take().sum() == 2


def test_an_empty_table_has_the_columns_of_a_full_one(odd: Any) -> None:
    table = odd.table("odd")
    full = sources.ibis(table).columns
    odd.con.execute("DELETE FROM odd")
    assert sources.ibis(table).columns == full


def test_a_database_of_sixteen_bit_texts_has_the_same_texts() -> None:
    opened = ibis.sqlite.connect()
    opened.con.execute("PRAGMA encoding = 'UTF-16le'")
    opened.con.execute("CREATE TABLE t (word TEXT)")
    opened.con.executemany("INSERT INTO t VALUES (?)", [["Zoë"], ["\U0001f600"], ["a\0b"], [""]])
    source = sources.ibis(opened.table("t"))
    opened.disconnect()
    labels, _ = source.count(Question.of(Domain.keys(column="word")), ROW, StatisticKind.SPARSE).take()
    assert labels.tolist() == sorted(["Zoë", "\U0001f600", "a\0b", ""])


def test_a_release_on_sqlite_runs_on_a_thread_of_its_own(tmp_path: Path) -> None:
    path = tmp_path / "visits.sqlite"
    with sqlite3.connect(path) as made:
        made.execute("CREATE TABLE visits (age INTEGER, who TEXT, weight REAL)")
        made.executemany("INSERT INTO visits VALUES (?, ?, ?)", [(at % 90, f"u{at % 30}", at / 7) for at in range(300)])
    made.close()
    opened = ibis.sqlite.connect(path)
    session = dv.Session(opened.table("visits"), dv.Unit("who", max_bins=2), dv.Budget("2"), tmp_path / "ledger")
    release = session.release(dv.Domain.integers(0, 89, column="age"), dv.Dense("1/2"))
    assert len(release.to_frame()) == 90
    release = session.release(dv.Domain.intervals([0, 10, 20, 50], column="weight"), dv.Dense("1/2"))
    assert len(release.to_frame()) == 3
    opened.disconnect()


def test_a_view_and_an_expression_are_counted_by_what_they_declare(odd: Any) -> None:
    table = odd.table("odd")
    source = sources.ibis(table.filter(table.whole == 1).mutate(twice=table.whole * 2))
    counts = source.count(Question.of(Domain.integers(0, 3, column="twice")), ROW, StatisticKind.DENSE).take()
    assert counts.tolist() == [0, 0, 1, 0]


# ---------------------------------------------------------------- what cannot be opened


LOCKING = """import sqlite3, sys
held = sqlite3.connect(sys.argv[1], isolation_level=None)
held.execute("BEGIN EXCLUSIVE")
print("locked", flush=True)
sys.stdin.read()"""


def test_a_database_that_another_process_locks_is_not_opened_and_is_once_it_is_free(tmp_path: Path) -> None:
    path = tmp_path / "busy.sqlite"
    with sqlite3.connect(path) as made:
        made.execute("CREATE TABLE visits (age INTEGER)")
    made.close()
    opened = ibis.sqlite.from_connection(sqlite3.connect(path, timeout=0))
    table = opened.table("visits")
    other = subprocess.Popen([sys.executable, "-c", LOCKING, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert other.stdout is not None and other.stdout.readline() == b"locked\n"
    with pytest.raises(ParameterError, match="locked|another thread") as refused:
        sources.ibis(table)
    assert refused.value.next_step
    other.communicate()
    assert sources.ibis(table).columns[0].kind == "number"
    opened.disconnect()


def test_a_connection_of_another_thread_is_refused_with_what_to_do(odd: Any) -> None:
    table, seen = odd.table("odd"), []

    def open_there() -> None:
        try:
            sources.ibis(table)
        except ParameterError as refused:
            seen.append(refused)

    thread = threading.Thread(target=open_there)
    thread.start()
    thread.join()
    (refused,) = seen
    assert "thread" in str(refused)


# ---------------------------------------------------------------- engines that nobody tested


def test_an_operation_that_an_engine_does_not_have_is_named_before_a_charge(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """SQLite's own words: Ibis has no digest there, and no median."""
    monkeypatch.setattr(sources, "COPIED", {})
    opened = ibis.sqlite.connect()
    opened.con.execute("CREATE TABLE t (x INTEGER, who TEXT)")
    session = dv.Session(opened.table("t"), dv.Unit("x", max_bins=1), dv.Budget("2"), tmp_path / "ledger")
    with pytest.raises(SchemaError, match="without HexDigest"):
        session.release(dv.Domain.integers(0, 4, column="x"), dv.Dense("1/2"))
    assert session.remaining.epsilon == 2
    opened.disconnect()


def test_engines_count_what_pandas_counts() -> None:
    frame = pd.DataFrame({"x": [1, 2, 2], "user": ["a", "b", "b"]})
    question, unit = Question.of(Domain.integers(0, 3, column="x")), Unit("user", max_bins=1, max_per_bin=2)
    expected = engines.pandas(frame, "data", None).count(question, unit, StatisticKind.DENSE).take().tolist()
    for engine, _ in HELD.values():
        assert engine(frame, "data", None).count(question, unit, StatisticKind.DENSE).take().tolist() == expected
    assert in_polars(frame, "data", None).count(question, unit, Top(1)).take()[0] == [2]
