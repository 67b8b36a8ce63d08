"""Types that a Parquet file declares and DuckDB loses: they decide how a column is read, and no row does."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final, NamedTuple

LOST: Final = "type = 'INT96' OR precision > 38 OR logical_type LIKE 'Float16%'"
"""Of which types DuckDB makes others. INT96, which is an instant, comes as a plain time; a decimal of more digits than
DuckDB has, as a float; a float of 16 bits as one of 32, which prints other decimals."""


class Lost(NamedTuple):
    """The columns of some files, by name, that came as another type."""

    instants: frozenset[str]
    decimals: frozenset[str]
    halves: frozenset[str]
    apart: frozenset[str]
    """Floats of 16 bits in some of the files, and of 32 in others."""


NOTHING: Final = Lost(*[frozenset()] * 4)


def lost(connection: Any, files: Sequence[str]) -> Lost:
    """The columns of which DuckDB's type is not the one that is declared, whatever lies in the columns within them."""
    ((some,),) = connection.execute(f"SELECT count(*) FROM parquet_schema(?) WHERE {LOST}", [files]).fetchall()
    if not some:
        return NOTHING
    columns = "file_name, name, coalesce(num_children, 0), type, coalesce(logical_type, ''), coalesce(precision, 0)"
    rows = connection.execute(f"SELECT {columns} FROM parquet_schema(?)", [files]).fetchall()
    by_file: dict[str, dict[str, tuple[str, str, int]]] = {}
    for file, name, of in _columns(rows):
        by_file.setdefault(file, {})[name] = of
    every = [(name, of) for held in by_file.values() for name, of in held.items()]
    halves = [frozenset(name for name, of in held.items() if of[1].startswith("Float16")) for held in by_file.values()]
    return Lost(
        frozenset(name for name, of in every if of[0] == "INT96"),
        frozenset(name for name, of in every if of[2] > 38),
        frozenset.intersection(*halves),
        frozenset.union(*halves) - frozenset.intersection(*halves),
    )


def _columns(rows: Sequence[tuple[Any, ...]]) -> Iterator[tuple[str, str, tuple[str, str, int]]]:
    """The columns of each file, without those that lie within them: a schema is a tree, whose root comes first."""
    left: list[int] = []
    for file, name, children, *of in rows:
        if left == [0] or not left:  # a file begins
            left = [children]
            continue
        if len(left) == 1:
            yield file, name, (of[0], of[1], of[2])
        left[-1] -= 1
        if children:
            left.append(children)
        while len(left) > 1 and not left[-1]:
            left.pop()


def as_declared(table: Any, types: Lost) -> Any:
    """The table with instants as instants, which are refused by their type, and without floats for decimals."""
    import ibis

    changed: dict[str, Any] = {}
    for name, held in table.schema().items():
        if name in types.instants and held.is_timestamp():
            changed[name] = table[name].cast("timestamp('UTC')")
        elif name in types.decimals and held.is_floating():
            changed[name] = ibis.null("binary")
    return table.mutate(**changed) if changed else table
