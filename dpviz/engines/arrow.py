"""A table of Arrow's columns for DuckDB: an Arrow table as it is, a polars DataFrame through Arrow.

The types decide how a column is held, and no value does. A text that is no UTF-8, which pyarrow lets through, is
missing: an error would tell that it is there.
"""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from typing import Any

import pyarrow  # type: ignore[import-untyped]

from dpviz.engines.arrow_types import days, plain, unpacked

DIGITS = 38
"""The most digits of DuckDB's decimals."""
FOREIGN = ("Int128", "UInt128")
"""The types of polars that Arrow does not have."""


def columns(given: Any) -> Any:
    """The columns as an Arrow table that DuckDB reads: plain types, no half floats."""
    table = given if isinstance(given, pyarrow.Table) else _of_polars(given).to_arrow()
    held = [_plain(column) for column in table.columns]
    return pyarrow.Table.from_arrays(held, names=table.schema.names)


def _of_polars(frame: Any) -> Any:
    """A polars frame without the columns of types that Arrow does not have: they are bytes, which are refused."""
    import polars

    odd = [name for name, kind in frame.schema.items() if str(kind) in FOREIGN]
    return frame.with_columns(polars.lit(None, polars.Binary).alias(name) for name in odd) if odd else frame


def _plain(column: Any) -> Any:
    column = unpacked(column)
    kind = column.type
    if pyarrow.types.is_run_end_encoded(kind):  # of a type that is packed once more: refused, as bytes are
        return pyarrow.nulls(len(column), pyarrow.binary())
    if pyarrow.types.is_nested(kind) and not all(map(_has_place, _within(kind))):  # refused, as bytes are
        return pyarrow.nulls(len(column), pyarrow.binary())
    if pyarrow.types.is_decimal(kind) and not _has_place(kind):
        return _decimals(column)
    if pyarrow.types.is_time64(kind):  # of nanoseconds too fine for DuckDB, and never counted
        return pyarrow.nulls(len(column), pyarrow.time64("us"))
    if pyarrow.types.is_date64(kind):
        column = days(column)
    if pyarrow.types.is_float16(kind):
        column = column.cast(pyarrow.float32())
    if pyarrow.types.is_string(kind) or pyarrow.types.is_large_string(kind):
        column = _texts(column)
    return column


def _decimals(column: Any) -> Any:
    """Decimals of more than 128 bits, or with zeros after their last digit, where their type says that they fit; others
    have no type in DuckDB, and are bytes, which are refused. A value of more digits than its type says is missing."""
    kind = column.type
    digits, scale = kind.precision - min(kind.scale, 0), max(kind.scale, 0)
    if digits > DIGITS:
        return pyarrow.nulls(len(column), pyarrow.binary())
    most = Decimal((0, (1,), digits - scale))
    values = [one if one is None or one.copy_abs() < most else None for one in column.to_pylist()]
    return pyarrow.array(values, pyarrow.decimal128(digits, scale))


def _within(kind: Any) -> Iterator[Any]:
    """The types that a nested one is made of, however deep."""
    if pyarrow.types.is_nested(kind) and not pyarrow.types.is_union(kind):
        for at in range(kind.num_fields):
            yield from _within(plain(kind.field(at).type))
    else:
        yield kind


def _has_place(kind: Any) -> bool:
    """Whether DuckDB has a type for this one."""
    if pyarrow.types.is_decimal(kind):
        return not pyarrow.types.is_decimal256(kind) and bool(kind.scale >= 0)
    return not pyarrow.types.is_union(kind) and not pyarrow.types.is_float16(kind)


def _texts(column: Any) -> Any:
    """Texts, those that are no UTF-8 missing."""
    try:
        column.validate(full=True)
    except pyarrow.ArrowInvalid:
        values = column.cast(pyarrow.large_binary()).to_pylist()
        return pyarrow.chunked_array([pyarrow.array(map(_text, values), pyarrow.large_string())])
    return column


def _text(value: bytes | None) -> str | None:
    try:
        return None if value is None else value.decode()
    except UnicodeDecodeError:
        return None
