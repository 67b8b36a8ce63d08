"""An Iceberg table through its own reader, the package pyiceberg: its files and columns at its current snapshot.

A metadata file describes the table, and its manifests say which files hold rows and which rows were deleted in them by
their places. Columns are found in the files by their numbers, whatever their names were when a file was written. Bounds
and numbers of missing values in manifests are not read.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, Final
from urllib.parse import unquote, urlsplit

from dpviz.boundary import withhold_errors
from dpviz.engines.queries import by_rows_alone
from dpviz.engines.snapshots import Snapshot, check_there
from dpviz.engines.table_files import ICEBERG, METADATA, as_pattern
from dpviz.errors import DpvizError, ParameterError, ReleaseFailed

NUMBERED: Final = re.compile(r"v?(\d+)(?:-.*)?(?:\.gz)?\.metadata\.json(?:\.gz)?")
STEP: Final = "read it with another program, and give dpviz a copy in Parquet files or as an Arrow table"
FILE_PATH, POS = 2147483546, 2147483545
"""The numbers that Iceberg gives to the columns of a file of deleted rows."""


def metadata_of(folder: Path) -> Path:
    """The newest metadata file in a folder. Raises ParameterError where it is not known which one is."""
    found = [file for file in folder.joinpath("metadata").iterdir() if METADATA in file.name]
    numbered = {file: int(match[1]) for file in found if (match := NUMBERED.fullmatch(file.name))}
    newest = [file for file, number in numbered.items() if number == max(numbered.values())]
    if len(newest) != 1 or len(numbered) < len(found):
        raise ParameterError.of(
            f"{folder.absolute().name}/metadata/",
            f"the newest metadata file of {ICEBERG} must be known by the number that its name begins with",
            "give the path of the metadata file that the catalog of the table names",
        )
    return newest[0]


def snapshot(metadata: Path) -> Snapshot:
    """Return the table that a metadata file describes. Reads its manifests and its files of deleted rows.

    Raises ParameterError where the reader is not installed, or the table cannot be read as it is meant.
    """
    name = metadata.name
    try:
        from pyiceberg.table import StaticTable
    except ImportError:
        raise ParameterError.of(
            name, f"this is {ICEBERG}, which is read through the package pyiceberg", 'pip install "dpviz[iceberg]"'
        ) from None
    try:
        found: Snapshot | DpvizError = withhold_errors(_read, StaticTable, metadata)
    except ReleaseFailed:
        raise ParameterError.of(
            name,
            f"{ICEBERG} must be one that pyiceberg reads, whose files are on this machine and whose rows are deleted "
            "by their places",
            "open it with pyiceberg to see why, or " + STEP,
        ) from None
    if isinstance(found, DpvizError):
        raise found
    check_there(found.files, ICEBERG)
    return found


def _read(reader: Any, metadata: Path) -> Snapshot | DpvizError:
    from pyiceberg.io.pyarrow import schema_to_pyarrow
    from pyiceberg.manifest import FileFormat
    from pyiceberg.transforms import IdentityTransform

    table = reader.from_metadata(metadata.absolute().as_uri())
    schema = table.schema()
    tasks = list(table.scan().plan_files())
    formats = {task.file.file_format for task in tasks}
    deletes = [sorted(task.delete_files, key=lambda file: str(file.file_path)) for task in tasks]
    deleting = {file.file_format for every in deletes for file in every}
    for kind in (formats | deleting) - {FileFormat.PARQUET}:
        what = "deletion vectors" if kind is FileFormat.PUFFIN else f"files in the format {kind.value}"
        return ParameterError.of(f"{metadata.name} with {what}", f"the files of {ICEBERG} must be Parquet files", STEP)
    files = [_local(task.file.file_path) for task in tasks]
    parts = {
        field.source_id
        for spec in table.specs().values()
        for field in spec.fields
        if isinstance(field.transform, IdentityTransform)
    }
    needed = {one.name for one in schema.fields if one.field_id in parts or one.initial_default is not None}
    return Snapshot(
        ICEBERG,
        tuple(files),
        schema_to_pyarrow(schema, include_field_ids=False).empty_table(),
        deleted=_places(tasks, deletes),
        ids={one.name: one.field_id for one in schema.fields},
        needed=frozenset(needed),
    )


def _local(path: str) -> Path:
    place = urlsplit(path)
    if place.scheme not in ("", "file"):
        raise ValueError
    return Path(unquote(place.path) if "%" in path and not Path(place.path).exists() else place.path)


def _places(tasks: list[Any], deletes: list[list[Any]]) -> Any:
    """The deleted rows by the place of their file among the files, and their own place in it; None where there are
    none. A file of deleted rows counts for the files that the table's plan gives it to."""
    import duckdb
    import pyarrow  # type: ignore[import-untyped]

    given = [
        (str(_local(file.file_path).absolute()), tasks[number].file.file_path, number)
        for number, every in enumerate(deletes)
        for file in every
    ]
    if not given:
        return None
    files, paths, numbers = zip(*given, strict=True)
    types = ((FILE_PATH, "path", "VARCHAR"), (POS, "pos", "BIGINT"))
    told = ", ".join(f"{of}: {{name: '{name}', type: '{kind}', default_value: NULL}}" for of, name, kind in types)
    with duckdb.connect() as connection:
        by_rows_alone(connection)
        connection.register("given", pyarrow.table({"deletes": files, "path": paths, "number": numbers}))
        listed = [as_pattern(Path(name)) for name in sorted(set(files))]
        query = (
            f"SELECT DISTINCT g.number, d.pos FROM read_parquet(?, schema = MAP {{{told}}}, filename = 'deletes') AS d "
            "JOIN given AS g ON g.deletes = d.deletes AND g.path = d.path"
        )
        return connection.sql(query, params=[listed]).to_arrow_table()
