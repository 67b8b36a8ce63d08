"""CSV files: the first line and the declared dialect are public and decide; no row does, whatever stands in it."""

from __future__ import annotations

import gzip
import itertools
import os
import re
import sys
import tempfile
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

import dpviz as dv
from dpviz.engines import as_source, delimited, sources
from dpviz.engines.pandas_source import PandasSource
from dpviz.errors import CharterMismatch, DpvizError, ParameterError, SchemaError
from dpviz.model.domain import Domain
from dpviz.model.question import Between, Question
from dpviz.model.source import Source
from dpviz.model.statistic import Column, Need, StatisticKind, Top
from dpviz.privacy.unit import Unit
from tests.engines import csv_rule, reference
from tests.soak.amounts import part

ROW = Unit("row")
BUDGET = dv.Budget("9", "1e-3")
NAMES = ("k", "n")
SIDES = {"underflow": True, "overflow": True, "missing": True, "malformed": True}

PIECES = [
    b"1", b"7", b"-3", b"2.5", b"1e3", b"inf", b"007", b"a", b"b", b" ", b"NA", b"nan", b",", b",", b"\n", b"\n", b"\r",
    b"\r\n", b'"', b'"', b'""', b'"a,b"', b'"1"', b'",\n', b'x"y', b";", b"\t", b"'", b"#", b"\\", b"\0", b"\xff",
    b"\xc3\xa9", b"\xed\xa0\x80", b"1_0", b"1/2", b"9007199254740993", b"1" * 40, b"\xef\xbb\xbf",
]  # fmt: skip
NUMBERS = [
    b"1", b"2", b"3", b"-3", b" 7", b"07", b"+7", b"7.", b"2.5", b".5", b"1e3", b"2e0", b"-1e-3", b"1E400", b"-1e400",
    b"inf", b"-Infinity", b"x", b"1_0", b"1/2", b"0x1", b"", b"NA", b"9007199254740993", b"9007199254740993.0", b"1e17",
    b"-9223372036854775808", b"18446744073709551616", b"1" * 38, b"1" * 39, b"0" * 99 + b"1", b"0" * 100 + b"1", b"1\0",
    "\u0661".encode(), b"0.30000000000000001", b"1.7976931348623157e308", b"5e-324", b"1e99999999999", b"-0.0",
]  # fmt: skip
"""Texts that are numbers, nearly, or not."""
good_rows = st.builds(
    lambda k, n: k + b"," + n + b"\n", st.sampled_from([b"a", b"b", b"1", b"007"]), st.sampled_from(NUMBERS)
)
odd_rows = st.lists(st.sampled_from(PIECES), max_size=8).map(b"".join) | st.binary(max_size=20)
rows_of_bytes = st.lists(good_rows | good_rows | odd_rows, max_size=20).map(b"".join)

SMALL = Domain.integers(0, 9, column="n", **SIDES)
ASKED: list[tuple[Question, Unit, Need]] = [
    (Question.of(SMALL), ROW, StatisticKind.DENSE),
    (Question.of(Domain.intervals(["-1", "0", "5/2", "1000"], column="n", **SIDES)), ROW, StatisticKind.DENSE),
    (
        Question.of(Domain.categories(["a", "b", "007", "é", "1"], column="k", other=True, missing=True)),
        ROW,
        StatisticKind.DENSE,
    ),
    (Question.of(Domain.keys(column="k"), {"n": Between("-5", 1000)}), ROW, StatisticKind.SPARSE),
    (Question.of(Domain.keys(column="n"), {"k": ["a", "b", "1"]}), Unit("k", max_bins=1), StatisticKind.SPARSE),
    (Question.of(SMALL * Domain.categories(["a"], column="k", other=True)), Unit("n", max_bins=2), StatisticKind.DENSE),
    (Question.of(Domain.integers(-(2**63), 2**64, column="n", **SIDES)), ROW, StatisticKind.SPARSE),
    (Question.of(Domain.keys(column="k")), ROW, Top(2)),
]
"""What is asked of files whose columns nobody declared."""


@pytest.fixture(scope="module")
def folder() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="dpviz-csv-") as name:
        yield Path(name)


FRESH = itertools.count()


def written(folder: Path, rows: bytes, first: bytes = b"k,n\n", ending: str = ".csv") -> Path:
    path = folder / f"data{next(FRESH)}{ending}"
    path.write_bytes(gzip.compress(first + rows) if ending.endswith(".gz") else first + rows)
    return path


def answer(source: Source, question: Question, unit: Unit, need: Need) -> Any:
    taken = source.count(question, unit, need).take()  # type: ignore[attr-defined]
    parts = taken if isinstance(taken, tuple) else (taken,)
    return [part.tolist() if isinstance(part, np.ndarray) else part for part in parts]


def frame_of(rows: bytes, **rule: Any) -> pd.DataFrame:
    """The rows as the rule has them, in a frame of texts."""
    found = csv_rule.rows(rows, len(NAMES), **rule)
    return pd.DataFrame({name: pd.Series([row[at] for row in found], dtype="str") for at, name in enumerate(NAMES)})


def expected(frame: pd.DataFrame, question: Question, unit: Unit, need: Need) -> Any:
    """The counts of the reference, where a question for numbers reads texts as numbers."""
    measured = {name for name, condition in question.where.items() if isinstance(condition, Between)}
    columns = tuple(Column(name, "number" if name in measured else "text") for name in NAMES)
    rows = reference.rows_of(frame)
    if need is StatisticKind.DENSE:
        return [reference.count(rows, columns, question, unit)]
    if isinstance(need, Top):
        return list(reference.top(rows, columns, question, unit, need.rows))
    found = reference.sparse(rows, columns, question, unit)
    return [[label for label, _ in found], [count for _, count in found]]


# ---------------------------------------------------------------- nothing after the first line is public


@contextmanager
def listening() -> Iterator[list[str]]:
    """Whatever this process writes to its outputs, and every warning."""
    said: list[str] = []
    with tempfile.TemporaryFile() as out, warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        sys.stdout.flush(), sys.stderr.flush()
        kept = [os.dup(1), os.dup(2)]
        os.dup2(out.fileno(), 1), os.dup2(out.fileno(), 2)
        try:
            yield said
        finally:
            sys.stdout.flush(), sys.stderr.flush()
            for number, old in zip((1, 2), kept, strict=True):
                os.dup2(old, number)
                os.close(old)
            out.seek(0)
            said.append(out.read().decode(errors="replace"))
            said.extend(str(one.message) for one in warned)


def public(path: Path, ledger: Path) -> list[str]:
    """All that a file shows of itself: columns, plans, refusals, and whatever is said."""
    shown: list[str] = []
    with listening() as said:
        try:
            session = dv.Session(path, dv.Unit(), BUDGET, ledger, dataset="data")
            shown += [repr(session.columns), repr(session._source).replace(path.name, "")]
            for question, mechanism in (
                (SMALL, dv.Dense("1")),
                (Domain.keys(column="k"), dv.Stability("1", "1e-6")),
                (Domain.keys(column="n"), dv.TopK(2, 3, epsilon=1)),
                (Domain.categories(["a"], column="n", other=True), dv.Dense("1")),
                (Domain.integers(0, 1, column="m"), dv.Dense("1")),
            ):
                try:
                    shown.append(repr(session.plan(question, mechanism)))
                except DpvizError as refused:
                    shown.append(f"{type(refused).__name__}: {refused}")
            shown.append(repr(session.ledger.charter))
            for question, unit, need in ASKED:
                session._source.count(question, unit, need)  # whatever it counts, it does count
        except DpvizError as refused:
            shown.append(f"{type(refused).__name__}: {refused}")
    return shown + said


@settings(max_examples=part(10, 4), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(rows=rows_of_bytes, ending=st.sampled_from([".csv", ".csv.gz"]))
@example(rows=b'1,2\n"3,4\n5,6\n', ending=".csv")
@example(rows=b"1,2\n3,4,5\n6\n", ending=".csv")
@example(rows=b"1,CANARY\n", ending=".csv")
def test_nothing_after_the_first_line_changes_what_a_file_shows(folder: Path, rows: bytes, ending: str) -> None:
    path = written(folder, rows, ending=ending)
    found = public(path, folder / f"{path.name}.ledger")
    empty = written(folder, b"", ending=ending)
    assert found == public(empty, folder / f"{empty.name}.ledger")
    assert found[-1] == "" and len(found) == 9 and not any("Error" in one for one in found[:5])


@settings(max_examples=part(40, 12), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(rows=rows_of_bytes, size=st.sampled_from([1, 3, 10, 1 << 22]), most=st.sampled_from([6, 25, 1 << 24]))
def test_counts_are_those_of_the_rule(
    folder: Path, monkeypatch: pytest.MonkeyPatch, rows: bytes, size: int, most: int
) -> None:
    """In blocks of any size, and with any limit on a record."""
    monkeypatch.setattr(delimited, "BLOCK", size)
    monkeypatch.setattr(delimited, "MOST", most)
    source = sources.duckdb(written(folder, rows))
    frame = frame_of(rows, most=most)
    for question, unit, need in ASKED:
        source.check(question, unit, need)
        assert answer(source, question, unit, need) == expected(frame, question, unit, need)


@settings(max_examples=part(15, 5), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(rows=rows_of_bytes)
def test_a_frame_of_the_same_texts_has_the_same_counts(folder: Path, rows: bytes) -> None:
    """In pandas, and in DuckDB's copy of the frame; with declared numbers too."""
    path, frame = written(folder, rows), frame_of(rows)
    for schema in ({}, {"n": "number"}):
        there = sources.duckdb(path, schema=schema)
        here, copied = PandasSource(frame, name="data", schema=schema), sources.duckdb(frame, schema=schema)
        assert here.columns == copied.columns == there.columns
        for question, unit, need in ASKED:
            wanted = (question, unit, need)
            if schema and (unit.of == "n" or question.domain == Domain.keys(column="n")):
                continue  # of numbers in texts, an engine takes the whole ones only as users and keys
            try:
                here.check(*wanted)
            except SchemaError:
                continue  # a frame has types
            assert answer(there, *wanted) == answer(here, *wanted) == answer(copied, *wanted)


# ---------------------------------------------------------------- the rule, by example


def keys(source: Source, column: str = "k") -> dict[str, int]:
    labels, counts = answer(source, Question.of(Domain.keys(column=column)), ROW, StatisticKind.SPARSE)
    return dict(zip(labels, counts, strict=True))


@pytest.mark.parametrize(
    ("rows", "found"),
    [
        (b"a,1\nb\nc,1,2\nd,1\n", {"a": 1, "b": 1, "d": 1}),
        (b"a,1\r\nb,1\rc,1\n\n\nd,1", {"a": 1, "b": 1, "c": 1, "d": 1}),
        (b'a,1\n"b,1\nc,1\nd,1\n', {"a": 1, "c": 1, "d": 1}),
        (b'a,1\n"b\nc",1\n"d ""e"", f",1\n', {"a": 1, "b\nc": 1, 'd "e", f': 1}),
        (b'a,1\n5" pipe,1\nb"c,"d\n"e"f,1\n', {"a": 1, '5" pipe': 1}),
        (b"a,1\n\xff,1\nb\xe9,1\n\0,1\nx\0y,1\n", {"a": 1, "\0": 1, "x\0y": 1}),
        (b"007,1\n7,1\nNA,1\n,1\n", {"007": 1, "7": 1}),
        (b"a,1\n" + b"x" * (1 << 21) + b",1\nb,1\n", {"a": 1, "x" * (1 << 21): 1, "b": 1}),
        (b"a,1\n" + b"x" * (1 << 25) + b",1\nb,1\n", {"a": 1, "b": 1}),
        (b'a,1\n"' + b"x" * (1 << 25) + b"\nb,1\n", {"a": 1, "b": 1}),
    ],
    ids=["fields", "line ends", "open quote", "quotes", "odd quotes", "bytes", "texts", "long", "too long", "endless"],
)
def test_rows_that_do_not_fit_are_missing_or_dropped_in_silence(
    folder: Path, rows: bytes, found: dict[str, int]
) -> None:
    assert keys(sources.duckdb(written(folder, rows))) == found


def test_one_row_moves_no_other_row(folder: Path) -> None:
    """Whatever a row without line ends is like, and wherever it stands, the others keep their counts."""
    others = [f"k{at % 3},{at}".encode() for at in range(30)]
    odd = [b'"', b'x,"y', b'""",', b"'", b"#", b"\\", b"|", b";", b'"x', b"\xff\xfe", b"\0", b",,,,", b'a"b"c,1', b" "]
    for row in odd:
        for at in (0, 7, 30):
            lines = [*others[:at], row, *others[at:]]
            found = keys(sources.duckdb(written(folder, b"\n".join(lines))))
            assert {name: count for name, count in found.items() if name in ("k0", "k1", "k2")} == {
                "k0": 10,
                "k1": 10,
                "k2": 10,
            }, row


def test_a_table_that_pandas_writes_is_read_whole(folder: Path) -> None:
    texts = ['say "hi"', "a,b", "two\nlines", "x\r\ny", "plain", "", None, "ä", "'", "  padded  "]
    frame = pd.DataFrame({"k": pd.Series(texts * 3, dtype="str"), "n": range(30)})
    path = folder / "whole.csv"
    frame.to_csv(path, index=False)
    assert keys(sources.duckdb(path)) == {text: 3 for text in texts if text}
    assert answer(sources.duckdb(path), Question.of(SMALL), ROW, StatisticKind.DENSE) == [[0, *[1] * 10, 20, 0, 0]]


# ---------------------------------------------------------------- what is declared


def test_a_column_holds_texts_until_a_question_reads_numbers(folder: Path) -> None:
    path = written(folder, b"a,1\nb,2\nc,x\nd,2.0\n")
    source = sources.duckdb(path)
    assert source.columns == (Column("k", "text"), Column("n", "text"))
    assert answer(source, Question.of(Domain.integers(1, 2, column="n")), ROW, StatisticKind.DENSE) == [[1, 2]]
    assert keys(source, "n") == {"1": 1, "2": 1, "2.0": 1, "x": 1}
    declared = sources.duckdb(path, schema={"n": "number"})
    assert declared.columns == (Column("k", "text"), Column("n", "number"))
    assert keys(declared, "n") == {"1": 1, "2": 2}
    labels = Question.of(Domain.categories(["2", "0.5"], column="n", other=True))
    assert answer(declared, labels, ROW, StatisticKind.DENSE) == [[2, 0, 2]]
    with pytest.raises(SchemaError, match="a column of numbers"):
        declared.check(Question.of(Domain.categories(["x"], column="n")), ROW, StatisticKind.DENSE)
    with pytest.raises(DpvizError, match=re.escape("between -10^36 and 10^36")):
        source.check(Question.of(Domain.integers(10**37, 10**37 + 1, column="n")), ROW, StatisticKind.SPARSE)


def test_the_dialect_is_declared(folder: Path) -> None:
    semicolons = written(folder, "'ä;b';1\nc;2\n".encode("latin-1"), b"k;n\n")
    source = sources.duckdb(semicolons, delimiter=";", quote="'", encoding="latin-1")
    assert keys(source) == {"ä;b": 1, "c": 1}
    tabs = written(folder, b'say "hi"\t1\n"x\t2\n', b"k\tn\n")
    assert keys(sources.duckdb(tabs, delimiter="\t", quote="")) == {'say "hi"': 1, '"x': 1}
    wide = written(folder, "ä,1\n".encode("utf-16-le") + b"\x00\xd8,\x00", "\ufeffk,n\n".encode("utf-16-le"))
    assert keys(sources.duckdb(wide, encoding="utf-16")) == {"ä": 1}
    assert keys(sources.duckdb(written(folder, b"a,1\n", b"\xef\xbb\xbfk,n\n"))) == {"a": 1}


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"delimiter": ""}, "delimiter must be one ASCII character"),
        ({"delimiter": "ä"}, "delimiter must be one ASCII character"),
        ({"delimiter": "a"}, "delimiter must be one ASCII character"),
        ({"delimiter": "\n"}, "delimiter must be one ASCII character"),
        ({"delimiter": pd.Series([","])}, "delimiter must be one ASCII character"),
        ({"quote": ","}, "quote must be one ASCII character"),
        ({"quote": 7}, "quote must be one ASCII character"),
        ({"encoding": "utf-9"}, "encoding must be one that Python knows"),
        ({"encoding": "base64"}, "encoding must be one that Python knows"),
        ({"encoding": "unicode_escape"}, "encoding must be one that Python knows"),
        ({"encoding": ["utf-8"]}, "encoding must be one that Python knows"),
        ({"table": "t"}, "a file holds one table"),
        ({"schema": {"m": "text"}}, "columns that the data has, got m"),
    ],
)
def test_a_dialect_that_cannot_be_is_refused(folder: Path, options: dict[str, Any], says: str) -> None:
    with pytest.raises(ParameterError, match=says):
        sources.duckdb(written(folder, b"a,1\n"), **options)


@pytest.mark.parametrize("option", ["delimiter", "quote", "encoding"])
def test_only_csv_files_have_a_dialect(folder: Path, option: str) -> None:
    frame = pd.DataFrame({"k": ["a"]})
    path = folder / f"{option}.parquet"
    frame.to_parquet(path)
    for data in (frame, path):
        with pytest.raises(ParameterError, match=f"only a CSV file has .*, got {option}"):
            sources.duckdb(data, **{option: ";"})


@pytest.mark.parametrize(
    ("first", "says"),
    [
        (b"", "must name its columns"),
        (b"\n", "must name its columns"),
        (b'"k,n\n', "must name its columns"),
        (b"k\xff,n\n", "must name its columns"),
        (b"k\0,n\n", "must name its columns"),
        (b"k;n\n", re.escape("dv.sources.duckdb(path, delimiter=';')")),
        (b"k\tn\n", re.escape("dv.sources.duckdb(path, delimiter='\\t')")),
        (b"x" * (1 << 25), "must name its columns"),
    ],
)
def test_a_first_line_that_names_no_columns_is_refused(folder: Path, first: bytes, says: str) -> None:
    with pytest.raises(ParameterError, match=says):
        sources.duckdb(written(folder, b"", first))


def test_columns_without_a_name_of_their_own_are_named_as_before(folder: Path) -> None:
    """As DuckDB names them, for ledgers hold these names."""
    path = written(folder, b"1,2,3,4,5,6\n", b'a,,a,A,"a ",a_1\n')
    assert [column.name for column in sources.duckdb(path).columns] == ["a", "column1", "a_1", "A_2", "a_3", "a_1_1"]


def test_several_files_are_one_table_where_their_first_lines_agree(tmp_path: Path) -> None:
    (tmp_path / "1.csv").write_text("k,n\na,1\n")
    (tmp_path / "2.csv").write_text('k,"n"\r\nb,x\r\n')
    source = as_source(tmp_path / "*.csv")
    assert source.columns == (Column("k", "text"), Column("n", "text"))
    assert keys(source) == {"a": 1, "b": 1}
    (tmp_path / "3.csv").write_text("n,k\n1,c\n")
    with pytest.raises(SchemaError, match="first lines of several CSV files must be the same"):
        as_source(tmp_path / "*.csv")


def test_a_damaged_gzip_file_gives_what_can_be_read_of_it(folder: Path) -> None:
    rows = b"".join(b"a,%d\n" % at for at in range(200_000))
    path = written(folder, rows, ending=".csv.gz")
    packed = path.read_bytes()
    assert keys(sources.duckdb(path)) == {"a": 200_000}
    path.write_bytes(packed + packed)  # the second first line is a row like any other
    assert keys(sources.duckdb(path)) == {"a": 400_000, "k": 1}
    for damaged in (packed[: len(packed) // 2], packed[:-4], packed + b"\0\0", packed + b"garbage"):
        path.write_bytes(damaged)
        found = keys(sources.duckdb(path))
        assert found and set(found) <= {"a"} and found["a"] <= 200_000
    path.write_bytes(b"no gzip at all")
    with pytest.raises(ParameterError, match="must name its columns"):
        sources.duckdb(path)


def test_a_file_is_read_once_and_later_edits_change_no_answer(folder: Path) -> None:
    path = written(folder, b"a,1\n")
    source = sources.duckdb(path)
    path.write_bytes(b"x,y\nCANARY,1\n")
    assert keys(source) == {"a": 1}
    path.unlink()
    source.probe()
    assert keys(source) == {"a": 1}


# ---------------------------------------------------------------- ledgers of earlier versions


def old_ledger(folder: Path, schema: dict[str, str], unit: dv.Unit) -> Path:
    """A ledger with the charter that an earlier version wrote for this file."""
    path = folder / f"old{next(FRESH)}.ledger"
    frame = pd.DataFrame(
        {name: pd.Series([], dtype="int64" if kind == "number" else "str") for name, kind in schema.items()}
    )
    dv.Session(frame, unit, BUDGET, path, dataset="visits")
    return path


def test_a_ledger_whose_charter_holds_kinds_from_the_rows_still_opens(folder: Path) -> None:
    path = written(folder, b"a,1\nb,02\nb,2\nc,x\n")
    unit = dv.Unit("n", max_bins=1)
    ledger = old_ledger(folder, {"k": "text", "n": "number"}, unit)
    session = dv.Session(path, unit, BUDGET, ledger, dataset="visits")
    assert session.columns == (Column("k", "text"), Column("n", "number"))
    answered = answer(session._source, Question.of(Domain.keys(column="k")), unit, StatisticKind.SPARSE)
    assert answered == [["a", "b"], [1, 1]]  # users 1 and 2: "02" is 2, and x is nobody
    assert session.release(Domain.keys(column="k"), dv.Stability("1", "1e-3")).number == 1
    again = dv.Session(path, unit, BUDGET, ledger, dataset="visits")
    assert len(again.releases) == 1
    new = dv.Session(path, unit, BUDGET, folder / "new.ledger", dataset="visits")
    assert new.ledger.charter["schema"] == {"k": "text", "n": "text"}


def test_a_ledger_of_other_columns_or_another_declaration_is_refused(folder: Path) -> None:
    path, unit = written(folder, b"a,1\n"), dv.Unit()
    for charter, schema in (({"k": "text", "m": "number"}, None), ({"k": "text", "n": "number"}, {"n": "text"})):
        ledger = old_ledger(folder, charter, unit)
        with pytest.raises(CharterMismatch, match="a ledger belongs to one schema"):
            dv.Session(path, unit, BUDGET, ledger, dataset="visits", schema=schema)


def test_a_ledger_of_a_frame_of_objects_in_duckdb_still_opens(folder: Path) -> None:
    frame = pd.DataFrame({"x": pd.Series([1, 2, 2], dtype=object)})
    ledger = old_ledger(folder, {"x": "number"}, dv.Unit())
    session = dv.Session(sources.duckdb(frame, name="visits"), dv.Unit(), BUDGET, ledger)
    assert session.columns == (Column("x", "number"),)
    assert keys(session._source, "x") == {"1": 1, "2": 2}
