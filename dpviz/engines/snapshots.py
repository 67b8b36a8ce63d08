"""The rows of a table that is kept in Parquet files and in what is said of them beside: values that a folder or a log
gives to all rows of a file, and rows that were deleted since.

Which files these are, and which of their rows, is fixed when the table is opened. DuckDB reads the files anew for every
question; in memory are one row for each file and the places of the deleted rows.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from dpviz.engines.parquet_types import columns_of, lost
from dpviz.engines.table_files import as_pattern, check_files
from dpviz.errors import DpvizError, ParameterError, SchemaError, short
from dpviz.names import as_name

FILE: Final = "dpviz file"
AT: Final = "file_row_number"
"""The columns that say where a row is: DuckDB's names. It refuses a file that has columns of these names itself."""
WIDER: Final = (("INTEGER", "BIGINT"), ("FLOAT", "DOUBLE"))
INSTANT: Final = "TIMESTAMP WITH TIME ZONE"


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A table at one moment.

    what     what keeps the table, in words
    columns  an Arrow table of no rows: names and types of the columns; None where the files alone say them
    values   an Arrow table of a row for each file: the columns whose values are said of whole files
    deleted  an Arrow table with `number`, the place of a file among the files, and `pos`, the place of a row in it
    ids      by column the number by which files know it, whatever its name was when they were written
    needed   columns that must be in every file, for what they hold in files without them is not known here
    """

    what: str
    files: tuple[Path, ...]
    columns: Any = None
    values: Any = None
    deleted: Any = None
    ids: Mapping[str, int] | None = None
    needed: frozenset[str] = frozenset()


def check_there(files: Sequence[Path], what: str) -> None:
    """Refuse a table of which a file is not where the table says, or cannot be read. Raises ParameterError."""
    for file in files:
        if not os.path.lexists(file):
            raise ParameterError.of(
                file.name,
                f"the files of {what} must be where it says that they are",
                "put the file back, or open the table in the place for which it was written",
            )
    check_files(files)


def make_view(connection: Any, table: Snapshot, name: str) -> None:
    """Make a view of a table that is kept so. Reads what files say of their columns, and no row.

    Raises SchemaError where the files do not have the columns that the table declares.
    """
    kinds = {} if table.columns is None else _kinds(connection, table.columns)
    if not table.files:
        none = ", ".join(f"{_null(kind)} AS {_quoted(column)}" for column, kind in kinds.items())
        connection.execute(f"CREATE VIEW {name} AS SELECT {none} WHERE false")
        return
    listed = ", ".join(_literal(as_pattern(file)) for file in table.files)
    options = "hive_partitioning = false"
    if table.ids is not None:
        chosen, columns = _by_number(connection, table, kinds, table.ids)
        options += f", schema = MAP {{{', '.join(columns)}}}"
    elif kinds:
        chosen = _by_name(connection, table, kinds)
        options += ", union_by_name = true"
    else:
        chosen = _as_written(connection, table)
    if table.values is None and table.deleted is None:
        rows = f"read_parquet([{listed}], {options}) AS f"
    else:
        options += f", filename = {_literal(FILE)}, {AT} = true"
        _keep(connection, "dpviz_files", _of_files(table))
        rows = f"read_parquet([{listed}], {options}) AS f JOIN dpviz_files AS p ON f.{_quoted(FILE)} = p.file"
    if table.deleted is not None:
        _keep(connection, "dpviz_deleted", table.deleted)
        rows += f" ANTI JOIN dpviz_deleted AS d ON d.number = p.number AND d.pos = f.{AT}"
    connection.execute(f"CREATE VIEW {name} AS SELECT {', '.join(chosen)} FROM {rows}")


def _as_written(connection: Any, table: Snapshot) -> list[str]:
    """The columns of the files, which are alike, and those that their folders give."""
    given = _given(table)
    inside = [name for name, *_ in _described(connection, table.files[0])]
    for name in inside:
        if name.lower() in {column.lower() for column in given}:
            raise SchemaError.of(
                as_name(name),
                "a column that folders give is in no file, and the files hold one of this name",
                "write the files without it, or give them as a pattern that reads their own column",
            )
    return [*(f"f.{_quoted(name)}" for name in inside), *(_taken(given, name) for name in given)]


def _by_name(connection: Any, table: Snapshot, kinds: Mapping[str, str]) -> list[str]:
    """The declared columns: a column that no file has yet was added since these were written, and is missing."""
    given, inside = _given(table), set[str]()
    for file in table.files:
        held = {name.lower(): kind for name, kind, *_ in _described(connection, file)}
        for name, kind in kinds.items():
            if name in given or name.lower() not in held or _is_nested(kind):
                continue
            # what is written as INT96 is refused by its type later, as an instant is
            if held[name.lower()] not in (kind, "TIMESTAMP" if kind == INSTANT else kind):
                raise _of_another_type(name, file, table.what)
            inside.add(name)
    return [
        _taken(given, name)
        if name in given
        else f"f.{_quoted(name)} AS {_quoted(name)}"
        if name in inside
        else f"{_null(kind)} AS {_quoted(name)}"
        for name, kind in kinds.items()
    ]


def _by_number(
    connection: Any, table: Snapshot, kinds: Mapping[str, str], ids: Mapping[str, int]
) -> tuple[list[str], list[str]]:
    """The declared columns, and how DuckDB is told of those that files hold: by their numbers. A column that a file
    does not have is missing there."""
    files = [as_pattern(file) for file in table.files]
    described = "file_name, name, coalesce(num_children, 0), coalesce(field_id, -1), duckdb_type, type"
    rows = connection.execute(f"SELECT {described} FROM parquet_schema(?)", [files]).fetchall()
    held: dict[str, dict[int, str]] = {str(file.absolute()): {} for file in table.files}
    for name, _, (number, kind, stored), _ in columns_of(rows):
        held[name][number] = stored if stored == "INT96" else kind
    odd = lost(connection, files)
    plain = {name: kind for name, kind in kinds.items() if not _is_nested(kind)}
    for file in table.files:
        inside = held[str(file.absolute())]
        if -1 in inside:
            raise SchemaError.of(
                file.name,
                f"the files of {table.what} must number their columns, and this one was added without numbers",
                "write its rows into the table",
            )
        for name, kind in plain.items():
            if ids[name] not in inside:
                if name in table.needed:
                    raise SchemaError.of(
                        f"{short(name)} in {file.name}",
                        f"a file of {table.what} must hold the columns that were not missing before they were added",
                        "write the table anew",
                    )
            elif odd.coarse or odd.halves or not _widened(inside[ids[name]], kind):
                raise _of_another_type(name, file, table.what)
    chosen = [
        f"f.{_quoted(name)}" if name in plain else f"{_null(kind)} AS {_quoted(name)}" for name, kind in kinds.items()
    ]
    told = (
        f"{ids[name]}: {{name: {_literal(name)}, type: {_literal(kind)}, default_value: NULL}}"
        for name, kind in plain.items()
    )
    return chosen, list(told)


def _widened(kind: str, declared: str) -> bool:
    """Whether a column of this type is, without loss, of the declared one, which it was made since."""
    if kind == declared or (kind, declared) in WIDER:
        return True
    return kind.startswith("DECIMAL(") and declared.startswith("DECIMAL(") and _wider(kind, declared)


def _wider(kind: str, declared: str) -> bool:
    (digits, places), (most, more) = (map(int, one[len("DECIMAL(") : -1].split(",")) for one in (kind, declared))
    return places == more and digits <= most


def _of_another_type(name: str, file: Path, what: str) -> DpvizError:
    return SchemaError.of(
        f"{short(name)} in {file.name}",
        f"the files of {what} must hold the types that it declares",
        "write the table anew",
    )


def _given(table: Snapshot) -> list[str]:
    """The columns whose values are said of whole files."""
    return [] if table.values is None else list(table.values.column_names)


def _taken(given: Sequence[str], name: str) -> str:
    return f"p.v{given.index(name)} AS {_quoted(name)}"


def _of_files(table: Snapshot) -> Any:
    """A row for each file: its name as DuckDB has it, its number, and what is said of it."""
    import pyarrow  # type: ignore[import-untyped]

    beside = [] if table.values is None else table.values.columns
    columns = {
        "file": [str(file.absolute()) for file in table.files],
        "number": list(range(len(table.files))),
        **{f"v{at}": values for at, values in enumerate(beside)},
    }
    return pyarrow.table(columns)


def _kinds(connection: Any, columns: Any) -> dict[str, str]:
    """By column DuckDB's type of it."""
    connection.register("given", columns)
    try:
        return {name: kind for name, kind, *_ in connection.execute("DESCRIBE SELECT * FROM given").fetchall()}
    finally:
        connection.unregister("given")


def _described(connection: Any, file: Path) -> list[tuple[str, ...]]:
    described = "DESCRIBE SELECT * FROM read_parquet(?, hive_partitioning = false)"
    found: list[tuple[str, ...]] = connection.execute(described, [as_pattern(file)]).fetchall()
    return found


def _is_nested(kind: str) -> bool:
    """Whether a column holds others, and is never counted."""
    return kind.endswith("]") or kind.startswith(("STRUCT", "MAP", "UNION", "VARIANT"))


def _null(kind: str) -> str:
    return f"CAST(NULL AS {kind})"


def _keep(connection: Any, name: str, rows: Any) -> None:
    connection.register("given", rows)
    connection.execute(f"CREATE TABLE {name} AS SELECT * FROM given")
    connection.unregister("given")


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _literal(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"
