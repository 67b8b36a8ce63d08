"""Arrow tables and polars frames are counted as the pandas frame with the same values is."""

from __future__ import annotations

import struct
import subprocess
import sys
from pathlib import Path
from typing import Any

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import dpviz as dv
from dpviz.engines import as_source
from dpviz.errors import ParameterError
from dpviz.model.source import Source
from dpviz.model.statistic import StatisticKind

FRAME = pl.DataFrame(
    {
        "user": ["u1", "u1", "u1", "u2", "u3", None],
        "text": ["a", "b", None, "b", "", "a"],
        "whole": [1, 2, None, 3, 4, 1],
        "part": [1.5, float("nan"), None, 2.0, 0.0, 1.5],
        "kind": pl.Series(["u", "v", "u", None, "u", "v"], dtype=pl.Categorical),
        "flag": [True, None, False, True, True, False],
        "byte": pl.Series([0, 1, 2, 3, 4, 255], dtype=pl.UInt8),
        "none": [None] * 6,
        "day": pl.Series(range(6)).cast(pl.Date),
    }
)
QUESTIONS = [
    dv.Domain.categories(["a", "b", ""], column="text", missing=True),
    dv.Domain.integers(0, 4, column="whole", missing=True),
    dv.Domain.intervals([0, 1, 2, 3], column="part"),
    dv.Domain.categories(["u", "v"], column="kind", other=True),
    dv.Domain.categories(["True", "False"], column="flag"),
    dv.Domain.integers(0, 3, column="byte", overflow=True),
]
FORMS: list[Any] = [FRAME, FRAME.to_arrow(), FRAME.to_arrow().cast(FRAME.to_arrow().schema)]


def counts(source: Source, domain: dv.Domain, unit: dv.Unit) -> list[int]:
    statistic: Any = source.count(dv.Question.of(domain), unit, StatisticKind.DENSE)
    return [int(count) for count in statistic.take()]


@pytest.mark.parametrize("form", FORMS, ids=["polars", "arrow", "arrow again"])
@pytest.mark.parametrize("unit", [dv.Unit(), dv.Unit("user", max_bins=1, max_per_bin=1)], ids=["rows", "users"])
def test_the_counts_are_those_of_pandas(form: Any, unit: dv.Unit) -> None:
    there, here = as_source(form), as_source(FRAME.to_pandas())
    for domain in QUESTIONS:
        assert counts(there, domain, unit) == counts(here, domain, unit), domain.text


@pytest.mark.parametrize("form", FORMS[:2], ids=["polars", "arrow"])
def test_the_types_decide_what_a_column_is(form: Any) -> None:
    kinds = {column.name: column.kind for column in as_source(form).columns}
    assert kinds == {
        "user": "text", "text": "text", "whole": "number", "part": "number", "kind": "text", "flag": "text",
        "byte": "number", "none": "missing values alone, which has no type,", "day": "time",
    }  # fmt: skip


def test_a_later_change_of_the_frame_changes_no_answer() -> None:
    frame = FRAME.clone()
    source = as_source(frame)
    before = counts(source, QUESTIONS[1], dv.Unit())
    frame[0, "whole"] = 4
    assert counts(source, QUESTIONS[1], dv.Unit()) == before


def test_a_text_that_is_no_utf_8_is_missing_and_fails_nothing() -> None:
    ends = pa.py_buffer(struct.pack("<3i", 0, 1, 3))
    odd = pa.Array.from_buffers(pa.string(), 2, [None, ends, pa.py_buffer(b"a\xff\xfe")])
    assert counts(as_source(pa.table({"text": odd})), QUESTIONS[0], dv.Unit()) == [1, 0, 0, 1]


def test_half_floats_are_numbers() -> None:
    table = pa.table({"part": pa.array([0.5, 1.5, 1.5]).cast(pa.float16())})
    assert counts(as_source(table), QUESTIONS[2], dv.Unit()) == [1, 2, 0]


def test_a_session_is_opened_on_either(tmp_path: Path) -> None:
    for number, form in enumerate(FORMS[:2]):
        session = dv.Session(form, dv.Unit(), dv.Budget("2000"), tmp_path / f"{number}.ledger")
        release = session.release(QUESTIONS[1], dv.Dense("1000"))
        assert [int(value) for value in release.values] == [0, 2, 1, 1, 1, 1]  # wrong less than once in 1e400


BROKEN = """
import sys, types
ibis = types.ModuleType("ibis")
ibis.__spec__ = types.SimpleNamespace(name="ibis")
class backend:
    @staticmethod
    def connect(*given, **named):
        raise AttributeError("module 'duckdb' has no attribute 'typing'")  # what ibis 10 says with DuckDB 2
ibis.duckdb = backend
sys.modules["ibis"] = ibis
import dpviz as dv
try:
    dv.sources.duckdb("rows.parquet")
except dv.DpvizError as error:
    print(error)
"""


def test_an_engine_that_does_not_start_is_told_apart_from_a_file_that_cannot_be_read(tmp_path: Path) -> None:
    FRAME.write_parquet(tmp_path / "rows.parquet")
    run = [sys.executable, "-c", BROKEN]
    said = subprocess.run(run, cwd=tmp_path, capture_output=True, text=True, check=True).stdout
    assert "the engine itself does not start here (AttributeError: module 'duckdb' has no attribute 'typing')" in said
    assert "got ibis-framework " in said and "duckdb " in said and 'pip install --upgrade "dpviz[engines]"' in said
    (tmp_path / "rows.parquet").write_bytes(b"no parquet")
    with pytest.raises(ParameterError, match=r"this cannot be read as a table, got rows.parquet"):
        as_source(tmp_path / "rows.parquet")


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (FRAME.lazy(), r"got LazyFrame; run it first: frame.collect\(\)"),
        (
            pa.table([pa.array([1]), pa.array([2])], names=["a", "A"]),
            "by more than capital letters, got a and A; rename one of them",
        ),
        (pa.chunked_array([[1]]), "data must be a pandas or polars DataFrame, an Arrow, Ibis or Spark table"),
        (pd.Series([1]), "data must be a pandas or polars DataFrame"),
    ],
    ids=["lazy", "names", "column", "series"],
)
def test_what_is_no_table_is_refused_with_what_to_do(given: Any, said: str) -> None:
    with pytest.raises(ParameterError, match=said) as refused:
        as_source(given)
    assert refused.value.next_step
