"""The kind of values that a type of Arrow holds, whatever packs them: by the type alone, in frames and tables alike."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.compute  # type: ignore[import-untyped]
from pyarrow import types

from dpviz.engines.parquet_types import UNTYPED

FARTHEST: Final = 10**7
"""Days: any bin of times lies nearer to 1970."""
NAMED: Final = {"arrow.uuid": "uuid", "arrow.json": "json"}
"""Types of an extension that Parquet and DuckDB know, too, and have no bins for. All others are what they are stored
as, for that is all that a file keeps of them: Arrow's bool8 is a whole number of 8 bits."""


def plain(kind: Any) -> Any:
    """The type of the values themselves: without dictionaries, runs, views and extensions."""
    if isinstance(kind, pa.BaseExtensionType):
        return kind if kind.extension_name in NAMED else plain(kind.storage_type)
    if types.is_dictionary(kind):
        return plain(kind.value_type)
    if types.is_run_end_encoded(kind) and plain(kind.value_type) == kind.value_type:  # Arrow unpacks no other runs
        return kind.value_type
    return pa.large_string() if types.is_string_view(kind) else kind


def unpacked(column: Any) -> Any:
    """A chunked array of the plain type."""
    kind, wanted = column.type, plain(column.type)
    if kind == wanted:
        return column
    if isinstance(kind, pa.BaseExtensionType):
        return unpacked(pa.chunked_array([chunk.storage for chunk in column.chunks], kind.storage_type))
    if types.is_run_end_encoded(kind):
        return pa.chunked_array([pyarrow.compute.run_end_decode(chunk) for chunk in column.chunks], wanted)
    if types.is_dictionary(kind):
        return unpacked(column.cast(kind.value_type))
    return column.cast(wanted)


def days(column: Any) -> Any:
    """Arrow's dates as days, where one beyond any bin is the farthest: no engine holds all that a date64 may be."""
    by = 86_400_000 if types.is_date64(column.type) else 1
    counted = column.cast(pa.int64() if by > 1 else pa.int32()).fill_null(0).to_numpy() // by
    held = np.clip(counted, -FARTHEST, FARTHEST).astype(np.int32)
    return pa.array(held, pa.date32(), mask=column.is_null().to_numpy())


def holds(kind: Any) -> str:
    """The kind of a column of this type, where none is declared; the name of the type where it cannot be counted."""
    kind = plain(kind)
    if isinstance(kind, pa.BaseExtensionType):
        return NAMED[kind.extension_name]
    if types.is_integer(kind) or types.is_floating(kind) or types.is_decimal(kind):
        return "number"
    if types.is_temporal(kind):
        return "time"
    if types.is_string(kind) or types.is_large_string(kind) or types.is_boolean(kind):
        return "text"
    if types.is_null(kind):
        return UNTYPED
    name = str(kind).partition("<")[0].partition("[")[0]
    return "binary" if "binary" in name else name
