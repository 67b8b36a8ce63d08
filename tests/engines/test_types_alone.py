"""A column's type decides how it is read, and no value does: with and without missing, extreme and odd values a column
of each type answers, or is refused, alike."""

from __future__ import annotations

import datetime
import decimal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pytest

import dpviz as dv
from dpviz.errors import DpvizError, ReleaseFailed, SchemaError

TEXTS = dv.Domain.categories(["a", "b"], column="x", missing=True)
NUMBERS = dv.Domain.integers(0, 3, column="x", missing=True)

TYPES: dict[str, tuple[Any, list[Any]]] = {
    "string": (pa.string(), ["a", "b"]),
    "large string": (pa.large_string(), ["a", "b"]),
    "string view": (pa.string_view(), ["a", "b"]),
    "binary": (pa.binary(), [b"a", b"\xff"]),
    "large binary": (pa.large_binary(), [b"a", b"\xff"]),
    "binary view": (pa.binary_view(), [b"a", b"\xff"]),
    "two bytes": (pa.binary(2), [b"ab", b"\xff\xff"]),
    "int8": (pa.int8(), [1, -128]),
    "uint64": (pa.uint64(), [1, 2**64 - 1]),
    "float": (pa.float32(), [1.0, float("inf")]),
    "double": (pa.float64(), [1.0, 1e308]),
    "boolean": (pa.bool_(), [True, False]),
    "day": (pa.date32(), [datetime.date(2020, 1, 1), datetime.date(9999, 12, 31)]),
    "time": (pa.time64("us"), [datetime.time(1), datetime.time(23)]),
    "milliseconds": (pa.timestamp("ms"), [0, 10**14]),
    "decimal": (pa.decimal128(5, 2), [decimal.Decimal("1.00"), decimal.Decimal("999.99")]),
    "list": (pa.list_(pa.int8()), [[1], []]),
    "struct": (pa.struct([("a", pa.int8())]), [{"a": 1}, {"a": 2}]),
}


def forms(array: Any) -> dict[str, Any]:
    """A column as pandas, as DuckDB from pandas, and as an Arrow table hold it."""
    frame = pd.DataFrame({"x": pd.Series(pd.arrays.ArrowExtensionArray(pa.chunked_array([array])))})
    return {"pandas": frame, "duckdb": frame, "arrow": pa.table({"x": array})}


def outcome(form: str, data: Any, domain: dv.Domain) -> str:
    """The counts of a release, or which error refused it."""
    try:
        source = data if form == "pandas" else dv.sources.duckdb(data)
        return str(dv.teaching(source, seed=1).draw(domain, dv.Dense(100)).values)
    except ReleaseFailed:
        raise AssertionError("the question failed after its charge") from None
    except DpvizError as error:
        return type(error).__name__


@pytest.mark.parametrize("name", TYPES)
@pytest.mark.parametrize("domain", [TEXTS, NUMBERS], ids=["texts", "numbers"])
def test_a_type_answers_or_is_refused_whatever_its_values(name: str, domain: dv.Domain) -> None:
    kind, (usual, odd) = TYPES[name]
    for form in ("pandas", "duckdb", "arrow"):
        refused = {
            outcome(form, forms(pa.array(values, kind))[form], domain).startswith("[")
            for values in ([usual], [usual, None], [odd], [None, None], [], [usual, odd, None])
        }
        assert len(refused) == 1, (form, name)


def test_a_frame_without_columns_of_arrow_is_counted_where_arrow_is_not_installed(tmp_path: Path) -> None:
    """dpviz itself does not need pyarrow, which the extra `engines` brings."""
    code = """
import sys
sys.modules["pyarrow"] = None
import pandas as pd
import dpviz as dv
frame = pd.DataFrame({"x": [0, 1, 1], "t": pd.Series(["a", "b", "b"], dtype=object), "c": pd.Categorical(list("abb"))})
session = dv.Session(frame, dv.Unit("t"), dv.Budget(300), "arrowless.ledger")
print(session.release(dv.Domain.integers(0, 1, column="x"), dv.Dense(100)).values)
print(session.release(dv.Domain.categories(["a", "b"], column="c"), dv.Dense(100)).values)
"""
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True)
    assert (done.returncode, done.stdout.split("\n")) == (0, ["[1, 1]", "[1, 1]", ""]), done.stderr


@pytest.mark.parametrize("name", ["string", "large string", "string view"])
def test_texts_of_every_width_are_counted_alike(name: str) -> None:
    array = pa.array(["a", "b", None, "b", "a longer text that is no short view"], TYPES[name][0])
    found = {form: outcome(form, data, TEXTS) for form, data in forms(array).items()}
    assert set(found.values()) == {"[1, 2, 1]"}, found


@pytest.mark.parametrize("name", ["binary", "large binary", "binary view", "two bytes", "list", "struct"])
@pytest.mark.parametrize("form", ["pandas", "duckdb"])
def test_what_is_no_number_text_or_time_is_refused_by_its_type(name: str, form: str) -> None:
    kind, values = TYPES[name]
    data = forms(pa.array(values, kind))[form]
    with pytest.raises(SchemaError, match="cannot be counted"):
        source = data if form == "pandas" else dv.sources.duckdb(data)
        dv.teaching(source, seed=1).draw(TEXTS, dv.Dense(100))


def test_a_view_is_read_as_user_and_filter_too(tmp_path: Path) -> None:
    views = pa.array(["a", None, "b", "b"], pa.string_view())
    frame = pd.DataFrame(
        {"who": pd.Series(pd.arrays.ArrowExtensionArray(pa.chunked_array([views]))), "x": [1, 1, 1, 1]}
    )
    for place, data in enumerate((frame, dv.sources.duckdb(frame, name="data"))):
        session = dv.Session(data, dv.Unit("who"), dv.Budget("1000"), tmp_path / f"{place}.ledger")
        assert session.release(NUMBERS, dv.Dense(100)).values[1] == 2
        assert session.release(dv.Question.of(NUMBERS, where={"who": ["b"]}), dv.Dense(100)).values[1] == 1
