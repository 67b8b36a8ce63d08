"""A pandas column as Arrow, for an engine that takes no array of pandas: its dtype decides, and no value does."""

from __future__ import annotations

from fractions import Fraction
from typing import Any, Final

import numpy as np
import pandas as pd
import pyarrow  # type: ignore[import-untyped]

from dpviz.engines.arrow_types import days
from dpviz.engines.pandas_source import as_held, inferred, is_flag
from dpviz.engines.reading import read, read_written
from dpviz.engines.values import NONE, Plain, label_of
from dpviz.engines.written import LONGEST, Format
from dpviz.errors import unwritable

NO_NUMBER: Final = "no number"
"""The text of a value that is there and is none, in a column of numbers."""


def column(values: Any, kind: str | None = None) -> Any:
    """Numbers, booleans and times as they are; everything else as texts: those that it is matched by, or, where the
    schema declares numbers, those of its numbers.

    A value without such a text, or with one that cannot be written to a file, is missing; `odd` tells it apart.
    """
    if isinstance(values, pd.arrays.NumpyExtensionArray) or isinstance(values.dtype, pd.SparseDtype):
        values = np.asarray(values)
    values = as_held(values)
    dtype = values.dtype
    if isinstance(dtype, pd.PeriodDtype):  # nothing can be asked of it, and DuckDB has no such type
        return pyarrow.nulls(len(values), pyarrow.duration("us"))
    if inferred(dtype) == "run_end_encoded":  # of a type that is packed once more, which DuckDB would unpack
        return pyarrow.nulls(len(values), pyarrow.binary())
    if isinstance(dtype, pd.CategoricalDtype) and inferred(dtype) == "time":
        return column(values.categories.array.take(np.asarray(values.codes), allow_fill=True), kind)
    if inferred(dtype) != "text" or is_flag(dtype):
        return _plain(pyarrow.array(_in_order(values), from_pandas=True))
    if isinstance(dtype, pd.StringDtype) and dtype.storage == "pyarrow":
        return pyarrow.array(values, from_pandas=True).cast(pyarrow.large_string())
    listed: Any = read(np.asarray(values, dtype=object) if kind == "number" else values, kind or "text")
    names = [_digits(value) if kind == "number" else label_of(value) for value in listed.plain]
    held = [None if name is None or unwritable(name) else name for name in names]
    return pyarrow.array(held, pyarrow.large_string()).take(pyarrow.array(listed.codes, mask=listed.codes == NONE))


def odd(values: Any) -> Any:
    """Which values of a column of objects or categories are there and have no text that they are matched by."""
    listed: Any = read(values if isinstance(values.dtype, pd.CategoricalDtype) else np.asarray(values), "text")
    names = (label_of(value) for value in listed.plain)
    none = np.array([*(name is None or unwritable(name) for name in names), False])
    return pyarrow.array(none[listed.codes])


def _in_order(values: Any) -> Any:
    """NumPy's numbers with their bytes as this machine has them, as Arrow wants them."""
    return values.astype(values.dtype.newbyteorder("=")) if isinstance(values, np.ndarray) else values


def _plain(array: Any) -> Any:
    """Floats of 16 bits in 32, for DuckDB has no shorter ones; milliseconds of dates as days."""
    if pyarrow.types.is_date64(array.type):
        return days(array if isinstance(array, pyarrow.ChunkedArray) else pyarrow.chunked_array([array]))
    return array.cast(pyarrow.float32()) if pyarrow.types.is_float16(array.type) else array


def written(values: Any, format: Format) -> tuple[Any, Any]:
    """A column whose texts are read by a declared format, and which of its values are there and could not be read."""
    found = read_written(values, format)
    kind = pyarrow.timestamp("us") if format.kind == "time" else pyarrow.int64()
    held = pyarrow.array(found.values, mask=found.missing).cast(kind)
    return held, pyarrow.array(found.malformed)


def _digits(value: Plain) -> str:
    """A number as a text that is read as this number: whole ones have all their digits, others print as a float."""
    if isinstance(value, Fraction) and value.denominator == 1 and abs(value) < 10 ** (LONGEST - 1):
        return str(value.numerator)
    if isinstance(value, Fraction):
        try:
            return repr(float(value))
        except OverflowError:
            return "inf" if value > 0 else "-inf"
    return repr(value) if isinstance(value, float) else NO_NUMBER
