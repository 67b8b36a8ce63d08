"""A frame handed to DuckDB: its dtypes are public and decide; no object in it does."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpviz.engines import sources
from dpviz.engines.pandas_source import PandasSource
from dpviz.engines.reading import read
from dpviz.errors import SchemaError
from dpviz.model.domain import Domain
from dpviz.model.question import Between, Question
from dpviz.model.statistic import Column, StatisticKind
from dpviz.privacy.unit import Unit

ROW = Unit("row")
TEXTS = ["a", "1", "", "007", "a\0b", "2.5", "1e3", None, np.nan, pd.NA]
NUMBERS = [1, 1.0, 2.5, 7.5, -3, 10**30, 2**63, True, False, Decimal("2.50"), Decimal("1E+3"), Fraction(5, 2)]
NUMPY = [np.int8(1), np.float64(2.5), np.bool_(True)]
PLAIN = st.sampled_from([*TEXTS, *NUMBERS, *NUMPY])
"""Objects that have a text, or are missing."""
STRANGE = [object(), [1], {"a": 1}, b"bytes", "\ud800", pd.Timestamp("2026-01-01"), 1j, ("a",), pd.Series([1])]
"""Objects that are neither text nor number."""


def objects(values: list[Any]) -> pd.DataFrame:
    column = np.empty(len(values), dtype=object)
    column[:] = values
    return pd.DataFrame({"x": pd.Series(column, dtype=object)})


def counts(source: Any, question: Question, need: StatisticKind) -> list[Any]:
    taken = source.count(question, ROW, need).take()
    return [part.tolist() for part in (taken if isinstance(taken, tuple) else (taken,))]


@pytest.mark.parametrize("schema", [None, {"x": "number"}, {"x": "text"}])
def test_no_object_decides_what_a_column_holds(schema: dict[str, str] | None) -> None:
    """Decimals of any length, mixed types, and what nobody can read: the column is text, or what is declared."""
    kind = (schema or {}).get("x", "text")
    for values in (
        [],
        [Decimal("1234567.89")],
        [1, 2],
        [1, "a"],
        [1.5, None],
        [True],
        [object()],
        *([one] for one in STRANGE),
    ):
        source = sources.duckdb(objects(values), schema=schema)
        assert source.columns == (Column("x", kind),)
        assert "1234567" not in repr(source)
        counts(source, Question.of(Domain.keys(column="x")), StatisticKind.SPARSE)


@settings(max_examples=20, deadline=None)
@given(values=st.lists(PLAIN, max_size=12))
def test_objects_are_counted_as_in_pandas(values: list[Any]) -> None:
    frame = objects(values)
    for schema in (None, {"x": "number"}):
        here, there = PandasSource(frame, name="data", schema=schema), sources.duckdb(frame, schema=schema)
        assert here.columns == there.columns
        asked = [Question.of(Domain.categories(["1", "2.5", "1000"], column="x", other=True, missing=True))]
        if schema is None:
            asked += [Question.of(Domain.keys(column="x"), {"x": ["a\0b", "1", "True", "007"]})]
        else:
            sides = {"underflow": True, "overflow": True, "missing": True}
            asked += [
                Question.of(Domain.categories(["0"], column="x", other=True)),
                Question.of(Domain.integers(-2, 5, column="x", **sides)),
                Question.of(Domain.intervals(["0", "5/2", 10**6], column="x", **sides), {"x": Between(-3, 10**31)}),
            ]
        for question in asked:
            need = StatisticKind.DENSE if question.domain.declared else StatisticKind.SPARSE
            assert counts(here, question, need) == counts(there, question, need), (schema, question.text)


def test_what_is_neither_text_nor_number_is_missing() -> None:
    source = sources.duckdb(objects([*STRANGE, "a"]))
    bins = Question.of(Domain.categories(["a"], column="x", other=True, missing=True))
    found = counts(source, bins, StatisticKind.DENSE)[0]
    assert found[0] == 1 and sum(found) == len(STRANGE) + 1
    assert counts(source, Question.of(Domain.keys(column="x")), StatisticKind.SPARSE) == [["a"], [1]]


def test_dtypes_decide_as_for_a_session_on_the_frame_itself() -> None:
    frame = pd.DataFrame(
        {
            "whole": pd.array([1, None], dtype="Int64"),
            "float": [0.5, np.nan],
            "flag": [True, False],
            "maybe": pd.array([True, None], dtype="boolean"),
            "text": pd.array(["a", None], dtype="str"),
            "python": pd.array(["a", None], dtype="string[python]"),
            "named": pd.Categorical([7, None]),
            "sparse": pd.arrays.SparseArray([0, 3]),
            "object": pd.Series([Decimal("1.50"), 2], dtype=object),
            "day": pd.to_datetime(["2026-01-01", None]),
        }
    )
    here, there = PandasSource(frame, name="data"), sources.duckdb(frame)
    assert here.columns == there.columns
    for column in ("whole", "flag", "maybe", "text", "python", "named", "sparse", "object"):
        question = Question.of(Domain.keys(column=column))
        assert counts(here, question, StatisticKind.SPARSE) == counts(there, question, StatisticKind.SPARSE), column
    with pytest.raises(SchemaError, match="a column of times"):
        there.check(Question.of(Domain.keys(column="day")), ROW, StatisticKind.SPARSE)


def test_names_that_are_no_names_are_refused() -> None:
    for frame, says in (
        (pd.DataFrame([[1, 2]], columns=["a", "A"]), "by more than capital letters"),
        (pd.DataFrame(index=[1, 2]), "a data frame must have columns"),
    ):
        with pytest.raises(ValueError, match=says):
            sources.duckdb(frame)


@pytest.mark.parametrize("dtype", ["str", "string[pyarrow]", "string[python]"])
def test_strings_are_read_alike_whole_in_pieces_and_empty(dtype: str) -> None:
    first, second = pd.Series(["b", None], dtype=dtype), pd.Series(["b", "a"], dtype=dtype)
    pieces = read(pd.concat([first, second]).array, "text")
    whole = read(pd.Series(["b", None, "b", "a"], dtype=dtype).array, "text")
    for reading in (pieces, whole):
        assert [part.tolist() for part in reading.keys] == [["a", "b"], [1, -1, 1, 0]]
    for nothing in (first[:0], first[1:]):
        labels, codes = read(nothing.array, "text").keys
        assert labels.tolist() == [] and codes.tolist() == [-1] * len(nothing)


ODD_TEXTS: list[str | None] = ["b", "", "a", "￿", "😀", "a\u0308", "ä", "a\0", "a", None, "\U0010ffff", "Z", "日本"]


def test_texts_that_arrow_keeps_have_the_keys_and_the_order_of_texts_that_python_keeps() -> None:
    held = {
        storage: read(pd.array(ODD_TEXTS, dtype=pd.StringDtype(storage)), "text") for storage in ("pyarrow", "python")
    }
    labels = {storage: found.keys[0].tolist() for storage, found in held.items()}
    assert labels["pyarrow"] == labels["python"] == sorted({text for text in ODD_TEXTS if text is not None})
    codes = {storage: found.keys[1].tolist() for storage, found in held.items()}
    assert codes["pyarrow"] == codes["python"]
    assert [labels["python"][code] if code >= 0 else None for code in codes["python"]] == ODD_TEXTS
