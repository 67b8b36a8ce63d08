"""Types that a Parquet file declares and DuckDB loses: they decide how a column is read, and no row does."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final, NamedTuple

COARSE: Final = "times in milliseconds of a Parquet file"
"""Columns that DuckDB cannot read where one value is too far off for microseconds: it fails, and would tell of that
row."""
UNTYPED: Final = "missing values alone, which has no type,"
"""Columns of Arrow's null type, of which Parquet says the same."""
MILLIS: Final = ("TIMESTAMP_MILLIS", "MILLIS=MilliSeconds")
MOST_DIGITS: Final = 38
"""Of a decimal of DuckDB."""

LOST: Final = (
    f"type = 'INT96' OR precision > {MOST_DIGITS} OR logical_type LIKE 'Float16%'"
    " OR converted_type = 'TIMESTAMP_MILLIS' OR logical_type LIKE 'Timestamp%MILLIS=MilliSeconds%'"
)
"""DuckDB makes other types of these. INT96, which is an instant, comes as a plain time; a decimal of more digits than
DuckDB has, as a float; a float of 16 bits as one of 32, which prints other decimals; milliseconds as microseconds."""


class Lost(NamedTuple):
    """The columns of some files, by name, that came as another type."""

    instants: frozenset[str]
    decimals: frozenset[str]
    coarse: frozenset[str]
    within: frozenset[str]
    """Columns in which such times lie, as in a struct."""
    halves: frozenset[str]
    apart: frozenset[str]
    """Floats of 16 bits in some of the files, and of 32 in others."""


NOTHING: Final = Lost(*[frozenset()] * 6)


def lost(connection: Any, files: Sequence[str]) -> Lost:
    """The columns of which DuckDB's type is not the one that is declared, whatever lies in the columns within them."""
    ((some,),) = connection.execute(f"SELECT count(*) FROM parquet_schema(?) WHERE {LOST}", [files]).fetchall()
    if not some:
        return NOTHING
    columns = (
        "file_name, name, coalesce(num_children, 0), type, concat(logical_type, converted_type), coalesce(precision, 0)"
    )
    rows = connection.execute(f"SELECT {columns} FROM parquet_schema(?)", [files]).fetchall()
    by_file: dict[str, dict[str, tuple[Any, ...]]] = {}
    within: set[str] = set()
    for file, name, of, inner in columns_of(rows):
        by_file.setdefault(file, {})[name] = of
        within |= {name} if any(map(_coarse, inner)) else set()
    every = [(name, of) for held in by_file.values() for name, of in held.items()]
    halves = [frozenset(name for name, of in held.items() if of[1].startswith("Float16")) for held in by_file.values()]
    return Lost(
        frozenset(name for name, of in every if of[0] == "INT96"),
        frozenset(name for name, of in every if of[2] > MOST_DIGITS),
        frozenset(name for name, of in every if _coarse(of)),
        frozenset(within),
        frozenset.intersection(*halves),
        frozenset.union(*halves) - frozenset.intersection(*halves),
    )


def _coarse(of: tuple[Any, ...]) -> bool:
    return of[0] == "INT64" and any(word in of[1] for word in MILLIS)


def columns_of(
    rows: Sequence[tuple[Any, ...]],
) -> Iterator[tuple[str, str, tuple[Any, ...], Sequence[tuple[Any, ...]]]]:
    """The columns of each file, and what is said of them and of those within them: a schema is a tree, its root first.

    rows  of DuckDB's `parquet_schema`: a file, a name, the number of columns within, and what is said
    """
    at = 0
    while at < len(rows):
        columns, at = rows[at][2], at + 1
        for _ in range(columns):
            (file, name, inside, *of), begin = rows[at], at
            at += 1
            while inside:
                inside += rows[at][2] - 1
                at += 1
            yield file, name, tuple(of), [row[3:] for row in rows[begin + 1 : at]]


def as_declared(table: Any, types: Lost) -> Any:
    """The table with instants as instants, which are refused by their type, and without floats for decimals. A column
    that DuckDB may fail to read is never read, not even to open the table."""
    import ibis

    changed: dict[str, Any] = {}
    for name, held in table.schema().items():
        if name in types.instants and held.is_timestamp():
            changed[name] = ibis.null("timestamp('UTC')")
        elif name in types.decimals and held.is_floating():
            changed[name] = ibis.null("binary")
        elif name in types.coarse | types.within:
            changed[name] = ibis.null(held)
    return table.mutate(**changed) if changed else table
