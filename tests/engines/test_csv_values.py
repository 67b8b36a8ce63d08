"""How a CSV file's texts are read as numbers, dates and clock readings: as declared, and by nothing in the rows."""

from __future__ import annotations

import bz2
import gzip
import itertools
import tempfile
from collections.abc import Callable, Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

import dpviz as dv
from dpviz.engines import as_source, sources
from dpviz.engines.pandas_source import PandasSource
from dpviz.errors import ParameterError, SchemaError
from dpviz.model.domain import Domain
from dpviz.model.question import Between, Question
from dpviz.model.source import Source
from dpviz.model.statistic import Column, StatisticKind
from dpviz.privacy.unit import Unit
from tests.engines import csv_rule, reference

ROW = Unit("row")
BESIDE = {"underflow": True, "overflow": True, "missing": True, "malformed": True}
FRESH = itertools.count()
FUNCTION_SCOPED = [HealthCheck.function_scoped_fixture]


@pytest.fixture(scope="module")
def folder() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="dpviz-csv-") as name:
        yield Path(name)


def dense(source: Source, domain: Domain, **where: Any) -> list[int]:
    question = Question.of(domain, where)
    source.check(question, ROW, StatisticKind.DENSE)
    counts: Any = source.count(question, ROW, StatisticKind.DENSE)
    return [int(count) for count in counts.take()]


def keys(source: Source, column: str) -> dict[str, int]:
    counts: Any = source.count(Question.of(Domain.keys(column=column)), ROW, StatisticKind.SPARSE)
    labels, found = counts.take()
    return dict(zip(labels, map(int, found), strict=True))


def column(folder: Path, texts: list[str | None], name: str = "x") -> Path:
    """A file with one column of texts, all in quotes; a second column is there so that no line is empty."""
    path = folder / f"values{next(FRESH)}.csv"
    lines = ["" if text is None else '"' + text.replace('"', '""') + '"' for text in texts]
    path.write_text("".join(f"{line},1\n" for line in [name, *lines]), newline="")
    return path


# ---------------------------------------------------------------- numbers

PIECES = st.sampled_from([*"0123456789", "1", "234", "567", "000", ".", ",", " ", "'", "-", "+", "e", "x", "\u00a0"])
NUMBERS = st.lists(PIECES, max_size=7).map("".join) | st.sampled_from(
    [
        "0,5", "1.234", "1.234,5", "1,234.5", "12.34,5", "1.2345", ".5", ",5", "5,", "1.234.567", "1234.567",
        "-1.234,0", "1 234", "1\u00a0234,5", "1'234", "1.234e1", "1,5e3", "inf", "1." * 30 + "1", "nan",
        "9.007.199.254.740.993",
        "1.234,567", "0.001,5", "9007199254740993", "12.345.678.901.234.567.890.123.456.789.012.345.678",
    ]
)  # fmt: skip
MARKS = [(None, None), (",", None), (",", "."), (".", ","), (",", " "), (None, "'"), (",", "\u00a0")]
WIDE = Domain.integers(9007199254740990, 9007199254740995, column="x", **BESIDE)
SMALL = Domain.intervals(["-1", "0", "1/2", "1", "5", "1000", "1235", "10000"], column="x", **BESIDE)


@settings(max_examples=15, deadline=None, suppress_health_check=FUNCTION_SCOPED)
@given(texts=st.lists(NUMBERS, min_size=10, max_size=40), marks=st.sampled_from(MARKS))
@example(texts=["1.234", "0,5"], marks=(None, None))
@example(texts=["1.234", "0,5", "12.34", "1.234.5"], marks=(",", "."))
def test_numbers_are_read_by_the_marks_that_are_declared(
    folder: Path, texts: list[str], marks: tuple[str | None, str | None]
) -> None:
    decimal, thousands = marks
    source = sources.duckdb(column(folder, list(texts)), decimal=decimal, thousands=thousands)
    plain = [None if text in csv_rule.MISSING else csv_rule.number(text, decimal or ".", thousands or "") or "odd"
             for text in texts]  # fmt: skip
    for domain in (SMALL, WIDE):
        rows = [{"x": text} for text in plain]
        expected = reference.count(rows, (Column("x", "number"),), Question.of(domain), ROW)
        assert dense(source, domain) == expected
    assert keys(source, "x") == {text: texts.count(text) for text in texts if text not in csv_rule.MISSING}


def test_a_decimal_comma_that_nobody_declared_is_malformed_and_no_longer_vanishes(folder: Path) -> None:
    path = column(folder, ["0,5", "1.234", "x", None, "2"])
    bins = Domain.intervals([0, 1, 2, 2000], column="x", missing=True, malformed=True)
    assert dense(sources.duckdb(path), bins) == [0, 1, 1, 1, 2]
    assert dense(sources.duckdb(path, decimal=",", thousands="."), bins) == [1, 0, 2, 1, 1]


def test_a_source_says_the_rule_for_its_texts_before_anything_is_asked(folder: Path) -> None:
    path = column(folder, ["1"])
    assert [one.written for one in sources.duckdb(path).columns] == ["numbers as 1234.5"] * 2
    source = sources.duckdb(path, decimal=",", thousands=".", schema={"1": "number", "x": ("date", "%d.%m.%Y")})
    assert [one.written for one in source.columns] == ["date %d.%m.%Y", "numbers as 1.234,5"]


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"decimal": ";"}, 'decimal must be "." or ","'),
        ({"decimal": 7}, 'decimal must be "." or ","'),
        ({"decimal": ""}, 'decimal must be "." or ","'),
        ({"thousands": "x"}, "thousands must be one of"),
        ({"thousands": ".,"}, "thousands must be one of"),
        ({"thousands": "."}, "decimal and thousands must differ"),
        ({"thousands": ",", "decimal": ","}, "decimal and thousands must differ"),
    ],
)
def test_marks_that_cannot_be_are_refused_with_what_to_write(folder: Path, options: dict[str, Any], says: str) -> None:
    with pytest.raises(ParameterError, match=says) as refused:
        sources.duckdb(column(folder, ["1"]), **options)
    assert "write" in refused.value.next_step


@pytest.mark.parametrize("option", ["decimal", "thousands"])
def test_only_text_files_have_marks_in_their_numbers(option: str) -> None:
    with pytest.raises(ParameterError, match=f"only a CSV file has .*, got {option}"):
        sources.duckdb(pd.DataFrame({"x": [1]}), **{option: ","})


# ---------------------------------------------------------------- dates and times

FORMATS = [
    "%d/%m/%Y", "%m/%d/%y", "%Y%m%d", "%d-%b-%Y", "%d %B %Y", "%Y-%j", "%d.%m.%Y %H:%M", "%m/%d/%Y %I:%M:%S %p",
    "%Y-%m-%dT%H:%M:%S.%f", "%d/%m/%Y at %H%M",
]  # fmt: skip
DATES = [
    datetime(2020, 2, 29), datetime(2020, 1, 31, 23, 59, 59), datetime(1999, 12, 31, 0, 30),
    datetime(2019, 5, 7, 13, 5), datetime(1969, 1, 1), datetime(2068, 11, 30, 12, 0, 0, 250_000),
]  # fmt: skip
ODD_DATES = [
    "31/02/2020", "2020-13-01", "00/01/2020", "29/02/2019", "1/2/2020", "20200132", "2020022", "31-FEB-2020",
    "7-may-2020", "2020-366", "2019-366", "2020-000", "01.02.2020 24:00", "01.02.2020 9:5", "x", "",
    "01/02/2020 12:00:00 AM",
    "01/02/2020 13:00:00 PM", "01/02/2020 00:00:00 am", "31/01/2020 at 0930", " 31/01/2020", "31/ 1/2020",
    "\u0663\u0661/01/2020", "31/01/2020x", "2020-01-31", "31/01/20", "7 May 2020",
    "7 may  2020", "31/12/9999", "01/01/0001",
]  # fmt: skip
YEARS = Domain.times("1999", "2021", by="month", column="x", **BESIDE)


def expected_times(moments: list[datetime | str | None]) -> list[int]:
    """Counts of months, found by year and month."""
    counts = [0] * YEARS.size
    for at in moments:
        if at is None:
            place = YEARS.size - 2
        elif isinstance(at, str):
            place = YEARS.size - 1
        elif at.year < 1999:
            place = 0
        else:
            place = YEARS.size - 3 if at.year > 2020 else (at.year - 1999) * 12 + at.month
        counts[place] += 1
    return counts


@pytest.mark.parametrize("format", FORMATS)
def test_dates_are_read_by_the_declared_format_alike_in_files_and_frames(folder: Path, format: str) -> None:
    texts: list[str | None] = [*ODD_DATES, *(date.strftime(format) for date in DATES), None]
    read = [None if not text else csv_rule.moment(text, format) or "odd" for text in texts]
    assert len([one for one in read if isinstance(one, datetime)]) >= len(DATES)
    schema = {"x": ("date", format)}
    there = sources.duckdb(column(folder, texts), schema=schema)
    assert dense(there, YEARS) == expected_times(read)
    frame = pd.DataFrame({"x": pd.Series([text or None for text in texts], dtype="str")})
    objects = frame.astype(object)
    for given_frame in (frame, objects, frame.astype("category")):
        here, copied = PandasSource(given_frame, name="data", schema=schema), sources.duckdb(given_frame, schema=schema)
        assert here.columns == copied.columns == (Column("x", "time"),)
        assert dense(here, YEARS) == dense(copied, YEARS) == expected_times(read)


ISO = {
    "2020-01-31": 1, "2020-01-31 13:05": 1, "2020-01-31T13:05:59": 1, "2020-01-31 13:05:59.123456789": 1,
    " 2020-01-31 ": 1, "2020-1-31": 0, "2020-01-31 24:00": 0, "2020-01-31Z": 0, "31-01-2020": 0,
    "2020-01-31 13:05+01:00": 0,
    "2020-02-30": 0,
}  # fmt: skip


def test_a_date_without_a_format_is_one_as_iso_8601_writes_it(folder: Path) -> None:
    source = sources.duckdb(column(folder, list(ISO)), schema={"x": "date"})
    january = Domain.times("2020-01-01", "2020-02-01", by="month", column="x", missing=True, malformed=True)
    right = sum(ISO.values())
    assert dense(source, january) == [right, 0, len(ISO) - right]
    assert dense(source, january, x=Between("2020-01-31 13:05", "2020-01-31 13:05")) == [3, 0, 0]


def test_objects_that_are_dates_already_are_dates_beside_texts() -> None:
    values = [datetime(2020, 1, 31, 12).date(), datetime(2020, 2, 1), pd.Timestamp("2020-02-02"), "2020-03-01", None,
              pd.NaT, float("nan"), pd.Timestamp("2020-02-02", tz="UTC"), 20200131, b"2020-01-31"]  # fmt: skip
    frame = pd.DataFrame({"x": pd.Series(values, dtype=object)})
    months = Domain.times("2020", "2021", by="quarter", column="x", missing=True, malformed=True)
    for source in (PandasSource(frame, name="d", schema={"x": "date"}), sources.duckdb(frame, schema={"x": "date"})):
        assert dense(source, months) == [4, 0, 0, 0, 3, 3]


def test_dates_are_parts_users_have_limits_and_products_have_malformed_bins(folder: Path) -> None:
    path = folder / "stays.csv"
    path.write_text("user,day,paid\na,31/01/2020,5\na,x,x\nb,,\nb,1/2/2020,7\nc,1/2/2020,x\n")
    source = sources.duckdb(path, schema={"day": ("date", "%d/%m/%Y")})
    days = Domain.times("2020", "2021", by="year", column="day", missing=True, malformed=True)
    paid = Domain.integers(5, 7, column="paid", missing=True, malformed=True)
    assert dense(source, days * paid) == [1, 0, 1, 0, 1, 0, 0, 0, 1, 0, 0, 0, 0, 0, 1]
    counts: Any = source.count(Question.of(days), Unit("user", max_bins=3), StatisticKind.DENSE)
    assert counts.take().tolist() == [3, 1, 1]


@pytest.mark.parametrize(
    ("declared", "says"),
    [
        ("dat", "did you mean date"),
        ("time", 'write "date"'),
        ("%d/%m/%Y", 'write "date"'),
        (("date",), "the word date and a format"),
        (("date", "%d/%m"), "must name the year"),
        (("date", "%d/%m/%Y/%d"), "each part of a date once"),
        (("date", "%d/%m/%Y %z"), "zone"),
        (("date", "%d/%m/%Y %Q"), "got %Q"),
        (("date", "%d/%m/%Y %M"), "a time of day is %H"),
        (("date", "%d/%m/%Y %I:%M"), "a time of day is %H"),
        (("date", "%d/%m/%Y%"), "directives"),
        (("date", 7), "the word date and a format"),
        (("clock", "%H"), "the word date and a format"),
        (7, "number, text, date or clock"),
    ],
)
def test_a_format_that_cannot_be_is_refused_and_the_advice_works(folder: Path, declared: Any, says: str) -> None:
    path = column(folder, ["31/01/2026"])
    for data in (path, pd.DataFrame({"x": ["31/01/2026"], "1": "1"})):
        with pytest.raises(SchemaError) as refused:
            as_source(data, schema={"x": declared})
        assert says in str(refused.value)
    sources.duckdb(path, schema={"x": ("date", "%d/%m/%Y")})


def test_a_date_is_declared_for_texts_alone(tmp_path: Path) -> None:
    pd.DataFrame({"x": ["2026-01-31"]}).to_parquet(tmp_path / "x.parquet")
    with pytest.raises(SchemaError, match="texts of a CSV file or a data frame"):
        sources.duckdb(tmp_path / "x.parquet", schema={"x": "date"})
    for data in (pd.DataFrame({"x": [1]}), pd.DataFrame({"x": [True]})):
        with pytest.raises(SchemaError, match="date is declared for texts"):
            as_source(data, schema={"x": "date"})
    assert (
        as_source(pd.DataFrame({"x": pd.to_datetime(["2026-01-31"])}), schema={"x": "date"}).columns[0].kind == "time"
    )


# ---------------------------------------------------------------- clocks, and GTFS as it comes

CLOCKS = st.sampled_from(
    [
        "25:10:00",
        "5:10:00",
        " 05:10:00",
        "23:59:60",
        "24:60:00",
        "00:00:00",
        "1:2:3",
        "12:30",
        "1230",
        "999:59:59",
        "x",
        "",
    ]
)
GTFS = "\ufefftrip_id,arrival_time,departure_time,stop_id,stop_headsign\r\n" + (
    't1,"23:50:00","23:51:00","s1",""\r\nt1,"24:05:00","24:06:00","s2",""\r\nt2,25:10:00,,s3,"A, B"\r\nt2,"","",s4\r\n'
)


@settings(max_examples=15, deadline=None, suppress_health_check=FUNCTION_SCOPED)
@given(texts=st.lists(CLOCKS, min_size=5, max_size=30))
def test_a_clock_is_read_as_seconds(folder: Path, texts: list[str]) -> None:
    source = sources.duckdb(column(folder, list(texts)), schema={"x": "clock"})
    bins = Domain.integers(18_600, 90_600, column="x", **BESIDE)
    counts = [0] * bins.size
    for text in texts:
        found = csv_rule.seconds(text)
        if text == "" or found is None:
            counts[-2 if text == "" else -1] += 1
        elif found > bins.high:  # all later times lie in one bin, which is read by its own name
            counts[bins.index("over 90600")] += 1
        else:
            counts[bins.index("under 18600" if found < bins.low else found)] += 1
    assert dense(source, bins) == counts


def test_gtfs_stop_times_are_read_as_they_come(folder: Path) -> None:
    path = folder / "stop_times.txt"
    path.write_text(GTFS, newline="", encoding="utf-8")
    plain = as_source(path)
    assert next(one.name for one in plain.columns) == "trip_id"
    assert keys(plain, "arrival_time") == {"23:50:00": 1, "24:05:00": 1, "25:10:00": 1}
    assert keys(plain, "stop_headsign") == {"A, B": 1}
    source = as_source(path, schema={"arrival_time": "clock", "departure_time": "clock"})
    hours = Domain.intervals([0, 86_400, 90_000, 93_600], column="arrival_time", missing=True, malformed=True)
    assert dense(source, hours) == [1, 1, 1, 1, 0]
    assert [one.kind for one in source.columns] == ["text", "number", "number", "text", "text"]


# ---------------------------------------------------------------- names of files


PACKED: dict[str, Callable[[bytes], bytes]] = {
    "": bytes,
    ".gz": gzip.compress,
    ".bz2": bz2.compress,
    ".zst": lambda data: pa.compress(data, "zstd", asbytes=True),
}


@pytest.mark.parametrize("packed", PACKED)
@pytest.mark.parametrize("ending", [".csv", ".txt", ".tsv", ".tab", ".CSV", ".Tsv"])
def test_the_ending_says_how_a_file_is_packed_and_whether_tabs_are_between_values(
    folder: Path, ending: str, packed: str
) -> None:
    mark = "\t" if ending.lower() in (".tsv", ".tab") else ","
    path = folder / f"file{next(FRESH)}{ending}{packed.upper() if ending.isupper() else packed}"
    path.write_bytes(PACKED[packed](f"k{mark}n\na{mark}1\nb{mark}2\n".encode()))
    source = as_source(path)
    assert [one.name for one in source.columns] == ["k", "n"] and keys(source, "k") == {"a": 1, "b": 1}


@pytest.mark.parametrize("packed", [".bz2", ".zst"])
def test_a_damaged_file_gives_what_can_be_read_of_it(folder: Path, packed: str) -> None:
    rows = b"".join(b"a,%d\n" % at for at in range(200_000))
    data = PACKED[packed](b"k,n\n" + rows)
    path = folder / f"damaged.csv{packed}"
    path.write_bytes(data + PACKED[packed](b"b,1\n"))
    assert keys(as_source(path), "k") == {"a": 200_000, "b": 1}
    for damaged in (data[: len(data) * 3 // 4], data[:-4], data + b"garbage"):
        path.write_bytes(damaged)
        assert set(keys(as_source(path), "k")) == {"a"}
    path.write_bytes(b"nothing of the kind")
    with pytest.raises(ParameterError, match="must name its columns"):
        as_source(path)


def test_a_tab_or_comma_that_the_ending_does_not_say_is_declared(folder: Path) -> None:
    path = folder / "tabs.txt"
    path.write_text("k\tn\na\t1\n")
    with pytest.raises(ParameterError) as refused:
        as_source(path)
    assert r"delimiter='\t'" in refused.value.next_step
    assert keys(sources.duckdb(path, delimiter="\t"), "k") == {"a": 1}
    other = folder / "commas.tsv"
    other.write_text("k,n\na,1\n")
    with pytest.raises(ParameterError, match="with a tab between them") as refused:
        as_source(other)
    assert "delimiter=','" in refused.value.next_step
    assert keys(sources.duckdb(other, delimiter=","), "k") == {"a": 1}


# ---------------------------------------------------------------- the bin of malformed texts

TYPED = [
    pd.DataFrame({"x": [1, 2]}),
    pd.DataFrame({"x": [1.5, None]}),
    pd.DataFrame({"x": pd.to_datetime(["2020-01-01", None])}),
    pa.table({"x": [1, None]}),
]


@pytest.mark.parametrize("data", TYPED, ids=["whole", "float", "time", "arrow"])
@pytest.mark.parametrize("open_it", [as_source, sources.duckdb])
def test_a_column_that_is_typed_has_no_malformed_values_to_pay_for(data: Any, open_it: Any) -> None:
    source = open_it(data)
    bins = (
        Domain.times("2020", "2021", by="year", column="x", malformed=True)
        if source.columns[0].kind == "time"
        else Domain.integers(0, 1, column="x", malformed=True)
    )
    with pytest.raises(SchemaError, match="a bin of malformed values needs") as refused:
        source.check(Question.of(bins), ROW, StatisticKind.DENSE)
    assert "leave malformed out" in refused.value.next_step


def test_texts_that_are_declared_numbers_have_the_bin_in_every_engine(tmp_path: Path) -> None:
    frame = pd.DataFrame({"x": ["1", "x", None, "2.0", " 7 ", "0,5"]})
    frame.to_parquet(tmp_path / "x.parquet")
    bins = Domain.integers(1, 2, column="x", **BESIDE)
    schema = {"x": "number"}
    for source in (
        as_source(frame, schema=schema),
        sources.duckdb(frame, schema=schema),
        as_source(tmp_path / "x.parquet", schema=schema),
        as_source(frame.astype("category"), schema=schema),
    ):
        assert dense(source, bins) == [0, 1, 1, 1, 1, 2]


def test_a_malformed_bin_is_released_saved_and_looked_up_by_its_label(tmp_path: Path) -> None:
    path = column(tmp_path, ["1", "x", "y", None])
    bins = Domain.integers(1, 2, column="x", missing=True, malformed=True)
    session = dv.Session(path, dv.Unit(), dv.Budget("2000"), tmp_path / "x.ledger")
    release = session.release(bins, dv.Dense("1000"))  # wrong less than once in 1e400
    assert [int(value) for value in release.values] == [1, 0, 1, 2]
    release.save(tmp_path / "x.json")
    assert dv.load(tmp_path / "x.json").question.domain == bins
    assert int(release["malformed"]) == 2 and int(release["missing"]) == 1
    plain = Domain.integers(1, 2, column="x", missing=True)
    assert "malformed" not in plain.to_json()  # questions of earlier versions keep their bytes
