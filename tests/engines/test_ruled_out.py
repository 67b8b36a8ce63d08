"""Labels that the type of a column rules out are refused before a charge; types that pack others are what they pack."""

from __future__ import annotations

import datetime
import uuid
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import dpviz as dv
from dpviz.engines import as_source, sources
from dpviz.errors import DpvizError, SchemaError
from dpviz.model.question import Question
from dpviz.model.source import Source
from dpviz.model.statistic import StatisticKind
from dpviz.privacy.unit import Unit
from tests.engines.engines import in_duckdb

ROW = Unit("row")


def dense(source: Source, domain: dv.Domain, where: Any = None) -> list[int]:
    question = Question.of(domain, where)
    source.check(question, ROW, StatisticKind.DENSE)
    counts: Any = source.count(question, ROW, StatisticKind.DENSE)
    return [int(count) for count in counts.take()]


def keys(source: Source) -> dict[str, int]:
    question = Question.of(dv.Domain.keys(column="x"))
    source.check(question, ROW, StatisticKind.SPARSE)
    counts: Any = source.count(question, ROW, StatisticKind.SPARSE)
    labels, found = counts.take()
    return dict(zip(labels, map(int, found), strict=True))


def backed(array: Any) -> pd.DataFrame:
    return pd.DataFrame({"x": pd.Series(pd.arrays.ArrowExtensionArray(pa.chunked_array([array])))})


def forms(array: Any, folder: Path) -> dict[str, Source]:
    """A column as pandas and Arrow hold it, and Parquet where it has such a type."""
    table = pa.table({"x": array})
    held = {"pandas": as_source(backed(array)), "pandas in DuckDB": sources.duckdb(backed(array))}
    held["Arrow"] = as_source(table)
    try:
        pq.write_table(table, folder / "x.parquet")
    except pa.ArrowNotImplementedError:
        return held
    return {**held, "Parquet": as_source(folder / "x.parquet")}


# ---------------------------------------------------------------- labels


FLAGS: dict[str, Any] = {
    "numpy": lambda: as_source(pd.DataFrame({"x": [True, False, True]})),
    "nullable": lambda: as_source(pd.DataFrame({"x": pd.array([True, False, True], dtype="boolean")})),
    "Arrow in pandas": lambda: as_source(backed(pa.array([True, False, True]))),
    "pandas in DuckDB": lambda: sources.duckdb(pd.DataFrame({"x": [True, False, True]})),
    "Arrow": lambda: as_source(pa.table({"x": [True, False, True]})),
    "polars": lambda: as_source(polars.DataFrame({"x": [True, False, True]})),
    "DuckDB": lambda: in_duckdb("CREATE TABLE v AS SELECT unnest([true, false, true]) AS x", "v"),
}


@pytest.mark.parametrize("held", FLAGS)
def test_a_column_of_true_and_false_has_no_other_labels(held: str) -> None:
    source = FLAGS[held]()
    assert dense(source, dv.Domain.categories(["True", "False"], column="x")) == [2, 1]
    assert dense(source, dv.Domain.categories([True], column="x"), {"x": [True]}) == [2]
    for labels in (["1"], ["true"], ["True", "yes"], [1, 0]):
        for asked in (
            lambda labels=labels: dense(source, dv.Domain.categories(labels, column="x", other=True)),
            lambda labels=labels: dense(source, dv.Domain.categories(["True"], column="x"), {"x": labels}),
        ):
            with pytest.raises(SchemaError, match="column of True and False, so its labels are True and False, got"):
                asked()


def test_a_column_of_true_and_false_that_is_read_as_numbers_has_the_labels_1_and_0() -> None:
    frame = pd.DataFrame({"x": [True, False, True]})
    for source in (as_source(frame, schema={"x": "number"}), sources.duckdb(frame, schema={"x": "number"})):
        assert dense(source, dv.Domain.categories([1, 0], column="x")) == [2, 1]
        assert dense(source, dv.Domain.integers(0, 2, column="x")) == [1, 2, 0]
        with pytest.raises(SchemaError, match="read as numbers, so its labels are 1 and 0"):
            dense(source, dv.Domain.categories([2], column="x"))


WHOLE: dict[str, Any] = {
    "numpy": lambda: as_source(pd.DataFrame({"x": np.array([1, 2, 2], dtype=np.int8)})),
    "nullable": lambda: as_source(pd.DataFrame({"x": pd.array([1, 2, 2], dtype="Int8")})),
    "Arrow in pandas": lambda: as_source(backed(pa.array([1, 2, 2], pa.int8()))),
    "dictionary in pandas": lambda: as_source(backed(pa.array([1, 2, 2], pa.int8()).dictionary_encode())),
    "pandas in DuckDB": lambda: sources.duckdb(pd.DataFrame({"x": np.array([1, 2, 2], dtype=np.int8)})),
    "Arrow": lambda: as_source(pa.table({"x": pa.array([1, 2, 2], pa.int8())})),
    "polars": lambda: as_source(polars.DataFrame({"x": [1, 2, 2]}, schema={"x": polars.Int8})),
    "DuckDB": lambda: in_duckdb("CREATE TABLE v AS SELECT unnest([1, 2, 2])::TINYINT AS x", "v"),
}


@pytest.mark.parametrize("held", WHOLE)
def test_a_column_of_whole_numbers_has_no_fraction_and_nothing_beyond_its_type(held: str) -> None:
    source = WHOLE[held]()
    assert dense(source, dv.Domain.categories([1, 2, 127, -128], column="x")) == [1, 2, 0, 0]
    assert dense(source, dv.Domain.categories([1], column="x"), {"x": ["1", "5"]}) == [1]
    for labels in (["2.5"], [1, "1/3"], [128], [-129], [10**30]):
        for asked in (
            lambda labels=labels: dense(source, dv.Domain.categories(labels, column="x", other=True)),
            lambda labels=labels: dense(source, dv.Domain.categories([1], column="x"), {"x": labels}),
        ):
            with pytest.raises(SchemaError, match="a column of whole numbers from -128 to 127 by its type"):
                asked()


def test_floats_texts_and_declared_numbers_have_labels_with_fractions(tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_text("x\n2.5\n2\n")
    frame = pd.DataFrame({"x": [2.5, 2.0]})
    declared = as_source(pd.DataFrame({"x": [1, 2]}), schema={"x": "text"})
    for source in (as_source(frame), sources.duckdb(frame), sources.duckdb(tmp_path / "x.csv", schema={"x": "number"})):
        assert dense(source, dv.Domain.categories([2.5, 2, 10**30], column="x")) == [1, 1, 0]
    assert dense(declared, dv.Domain.categories(["1", "2.5"], column="x")) == [1, 0]


def test_a_label_that_a_type_rules_out_is_refused_before_the_charge(tmp_path: Path) -> None:
    frame = pd.DataFrame({"x": [True, False], "n": [1, 2]})
    session = dv.Session(frame, dv.Unit("row"), dv.Budget(2), tmp_path / "a.ledger")
    for domain, where in (
        (dv.Domain.categories(["1"], column="x"), None),
        (dv.Domain.categories(["one"], column="n"), None),
        (dv.Domain.categories(["2.5"], column="n"), None),
        (dv.Domain.integers(0, 1, column="n"), {"n": [1, "5/2"]}),
        (dv.Domain.integers(0, 1, column="n"), {"x": ["true"]}),
    ):
        with pytest.raises(SchemaError):
            session.release(Question.of(domain, where), dv.Dense(1))
    assert session.remaining.epsilon == 2


# ---------------------------------------------------------------- types that pack others


NUMBERS = dv.Domain.integers(0, 2, column="x", missing=True)
PACKED: dict[str, Any] = {
    "bool8": pa.array([1, 0, None, 1], pa.int8()).cast(pa.bool8()),
    "runs": pa.RunEndEncodedArray.from_arrays(pa.array([1, 2, 3, 4], pa.int32()), pa.array([1, 0, None, 1])),
    "dictionary": pa.array([1, 0, None, 1]).dictionary_encode(),
    "opaque": pa.ExtensionArray.from_storage(pa.opaque(pa.int64(), "of", "somebody"), pa.array([1, 0, None, 1])),
    "sliced": pa.RunEndEncodedArray.from_arrays(pa.array([3, 4, 5, 6], pa.int32()), pa.array([1, 0, None, 1])).slice(2),
}


@pytest.mark.parametrize("packed", PACKED)
def test_packed_whole_numbers_are_the_numbers_in_every_form(packed: str, tmp_path: Path) -> None:
    for form, source in forms(PACKED[packed], tmp_path).items():
        assert source.columns[0].kind == "number", form
        assert dense(source, NUMBERS) == [1, 2, 0, 1], form
        assert dense(source, dv.Domain.categories([1], column="x", other=True)) == [2, 1], form
        assert keys(source) == {"0": 1, "1": 2}, form


def test_packed_texts_and_times_are_texts_and_times(tmp_path: Path) -> None:
    texts = pa.RunEndEncodedArray.from_arrays(pa.array([2, 3], pa.int32()), pa.array(["a", "b"]))
    for source in forms(texts, tmp_path).values():
        assert keys(source) == {"a": 2, "b": 1}
    times = pa.array([datetime.datetime(2020, 1, 31), None]).dictionary_encode()
    for source in forms(times, tmp_path).values():
        assert dense(source, dv.Domain.times("2020-01", "2020-02", by="month", column="x", missing=True)) == [1, 1]


UNCOUNTED: dict[str, Any] = {
    "uuid": pa.array([uuid.UUID(int=1).bytes, None], pa.binary(16)).cast(pa.uuid()),
    "json": pa.array(["1", None]).cast(pa.json_()),
    "binary": pa.array([b"a", None]),
    "list": pa.array([[1], None]),
    "list_view": pa.array([[1], None], pa.list_view(pa.int8())),
    "time": pa.array([datetime.time(1), None]),
    "interval": pa.array([pa.MonthDayNano([1, 2, 3]), None]),
    "duration": pa.array([datetime.timedelta(1), None]),  # Parquet has whole numbers for it
    "runs of a dictionary": pa.RunEndEncodedArray.from_arrays(
        pa.array([1, 2], pa.int32()), pa.array([1, None]).dictionary_encode()
    ),
}


@pytest.mark.parametrize("name", UNCOUNTED)
def test_what_has_no_bins_is_refused_by_its_type_in_every_form(name: str, tmp_path: Path) -> None:
    for kind in (UNCOUNTED[name], UNCOUNTED[name].slice(0, 0), UNCOUNTED[name].slice(1)):
        for form, source in forms(kind, tmp_path).items():
            if (form, name) == ("Parquet", "duration"):
                continue
            for asked in (
                lambda source=source: dense(source, NUMBERS),
                lambda source=source: dense(source, dv.Domain.categories(["a", "1"], column="x", other=True)),
                lambda source=source: keys(source),
            ):
                with pytest.raises(
                    SchemaError, match="cannot be counted|a column of instants, of times of day or of lengths"
                ):
                    asked()
                    raise AssertionError(form)


# ---------------------------------------------------------------- times beyond microseconds


YEARS = dv.Domain.times("2000", "2021", by="year", column="x", underflow=True, overflow=True, missing=True)


@pytest.mark.parametrize("days", [10**8, 2 * 10**9])
@pytest.mark.parametrize("kind", [pa.date32(), pa.date64()], ids=str)
def test_a_date_is_before_or_after_the_bins_however_far_it_is(kind: Any, days: int, tmp_path: Path) -> None:
    """pandas took it for missing, and DuckDB for a later one: 64 bits hold no microseconds of it."""
    by = 1 if kind == pa.date32() else 86_400_000
    held = pa.array([days * by, -days * by, None], pa.int32() if by == 1 else pa.int64()).cast(kind)
    for form, source in forms(held, tmp_path).items():
        if (form, kind) != ("Parquet", pa.date64()):  # of which pyarrow writes 32 bits
            assert dense(source, YEARS) == [1, *[0] * 21, 1, 1], form


@pytest.mark.parametrize("value", [0, 10**17])
@pytest.mark.parametrize("version", ["1.0", "2.6"])
def test_milliseconds_of_a_parquet_file_are_refused_by_their_type(value: int, version: str, tmp_path: Path) -> None:
    """DuckDB fails where one is too far off for microseconds, at opening or after the charge: a row tells of itself."""
    times = pa.array([value, None], pa.timestamp("ms"))
    table = pa.table({"x": times, "n": [1, 2], "s": pa.StructArray.from_arrays([times], ["x"])})
    pq.write_table(table, tmp_path / "x.parquet", version=version)
    source = as_source(tmp_path / "x.parquet")
    assert dense(source, dv.Domain.integers(1, 2, column="n")) == [1, 1]
    for domain, where in (
        (YEARS, None),
        (dv.Domain.categories(["a"], column="x"), None),
        (dv.Domain.integers(1, 2, column="n"), {"x": dv.Between("2020-01", "2020-02")}),
    ):
        with pytest.raises(SchemaError, match="times in milliseconds of a Parquet file cannot be counted"):
            dense(source, domain, where)
    with pytest.raises(SchemaError, match="times in milliseconds"):
        source.check(Question.of(dv.Domain.integers(1, 2, column="n")), Unit("x"), StatisticKind.DENSE)
    as_advised = as_source(pq.read_table(tmp_path / "x.parquet"))
    assert dense(as_advised, YEARS) == [value == 0, *[0] * 22, 1 + (value != 0)]


# ---------------------------------------------------------------- objects, which have no type


def test_objects_without_a_text_are_other_and_no_keys_and_nobody() -> None:
    """The rule for a pandas column of objects, whose type says nothing: uuids, bytes, dates and lists have no label."""
    odd = [uuid.UUID(int=1), b"a", datetime.date(2020, 1, 1), ["a"], float("inf"), "half \ud800", object()]
    frame = pd.DataFrame({"x": pd.Series([*odd, "a", 1, True, None, "a"], dtype=object)})
    for source in (as_source(frame), sources.duckdb(frame)):
        domain = dv.Domain.categories(["a", "1", "True"], column="x", other=True, missing=True)
        assert dense(source, domain) == [2, 1, 1, len(odd), 1]
        assert dense(source, dv.Domain.categories(["a"], column="x", missing=True)) == [2, 1]
        assert dense(source, domain, {"x": ["a"]}) == [2, 0, 0, 0, 0]
        assert keys(source) == {"1": 1, "True": 1, "a": 2}
        of_users = Question.of(dv.Domain.categories(["a"], column="x", other=True, missing=True))
        counts: Any = source.count(of_users, Unit("x", max_bins=1), StatisticKind.DENSE)
        assert counts.take().tolist() == [1, 2, 0]


def test_categories_of_objects_are_read_alike() -> None:
    values = pd.Categorical([uuid.UUID(int=1), uuid.UUID(int=1), None, "a"], categories=[uuid.UUID(int=1), "a", "b"])
    frame = pd.DataFrame({"x": values})
    for source in (as_source(frame), sources.duckdb(frame)):
        assert dense(source, dv.Domain.categories(["a", "b"], column="x", other=True, missing=True)) == [1, 0, 2, 1]


def test_a_ruling_by_type_is_one_by_type() -> None:
    """With other values of the same types the same questions are refused and answered."""
    for values in ([True, True], [False], []):
        source = as_source(pd.DataFrame({"x": pd.Series(values, dtype="bool")}))
        with pytest.raises(DpvizError, match="True and False"):
            dense(source, dv.Domain.categories(["1"], column="x"))
