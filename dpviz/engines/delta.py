"""A Delta table through its own reader, the package deltalake: its files and columns at the version it has now.

The log alone says which files are the table, what the columns are, what the values of partition columns are, and which
rows were deleted in place. Its least and greatest values of files are not read.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final
from urllib.parse import unquote, urlsplit

from dpviz.boundary import withhold_errors
from dpviz.engines.snapshots import Snapshot, check_there
from dpviz.engines.table_files import DELTA
from dpviz.errors import ParameterError, ReleaseFailed, short

READ: Final = frozenset(
    ("columnMapping", "deletionVectors", "timestampNtz", "v2Checkpoint", "vacuumProtocolCheck", "checkConstraints")
)
"""The features of a table that are read here as they are meant; columnMapping where it is not in use."""
MAPPING: Final = "delta.columnMapping.mode"
STEP: Final = "read it with another program, and give dpviz a copy in Parquet files or as an Arrow table"


def snapshot(folder: Path) -> Snapshot:
    """Return the table in a folder. Reads its log, and no file of its rows.

    Raises ParameterError where the reader is not installed, or the table cannot be read as it is meant.
    """
    name = f"{folder.absolute().name}/"
    try:
        import deltalake
    except ImportError:
        raise ParameterError.of(
            name, f"the folder is {DELTA}, which is read through the package deltalake", 'pip install "dpviz[delta]"'
        ) from None
    if "%" in str(folder.absolute()):  # deltalake takes a%20b for the folder "a b"
        raise ParameterError.of(
            name, "deltalake takes a folder for another one where a % is in its path", "rename the folder, or move it"
        )
    try:
        features, columns, actions, deleted = withhold_errors(_read, deltalake.DeltaTable, folder)
    except ReleaseFailed:
        raise ParameterError.of(
            name, f"the log of {DELTA} must be one that deltalake reads", "open it with deltalake to see why"
        ) from None
    if unknown := sorted(features - READ):
        raise ParameterError.of(
            f"{name} with {short(', '.join(unknown))}", f"{DELTA} is read here without these features", STEP
        )
    files = [_inside(folder, path, name) for path in actions.column("path").to_pylist()]
    check_there(files, DELTA)
    values = None
    if "partition" in actions.column_names:
        import pyarrow  # type: ignore[import-untyped]

        beside = actions.column("partition").combine_chunks()
        names = [field.name for field in beside.type]
        values = pyarrow.table(dict(zip(names, beside.flatten(), strict=True)))
    return Snapshot(DELTA, tuple(files), columns, values, _places(files, deleted, name))


def _read(reader: Any, folder: Path) -> tuple[set[str], Any, Any, Any]:
    """The features that a table uses, its columns, its files and the rows that were deleted in them."""
    import pyarrow

    try:
        table = reader(folder.absolute().as_uri())
        protocol = table.protocol()
        features = set(protocol.reader_features or ())
        if table.metadata().configuration.get(MAPPING, "none") != "none":
            features.add("columns that are named otherwise in the files")
        columns = pyarrow.schema(table.schema().to_arrow()).empty_table()
        actions = pyarrow.table(table.get_add_actions())
        deleted = pyarrow.table(table.deletion_vectors()) if "deletionVectors" in features else None
    except BaseException as problem:
        if type(problem).__name__ == "PanicException":  # of Rust, which Python takes for no Exception
            raise RuntimeError from None
        raise
    return features, columns, actions, deleted


def _inside(folder: Path, path: str, name: str) -> Path:
    """The file of an entry of the log, which is relative to the folder unless it says a place of its own."""
    place = urlsplit(path)
    if place.scheme == "file":
        return Path(unquote(place.path))
    if place.scheme:
        raise ParameterError.of(name, f"{DELTA} must have all its files on this machine", STEP)
    return folder.absolute() / unquote(path)


def _places(files: list[Path], deleted: Any, name: str) -> Any:
    """The deleted rows by the place of their file and their own place in it; None where there are none."""
    import numpy as np
    import pyarrow

    if deleted is None or not len(deleted):
        return None
    number_of = {str(file): number for number, file in enumerate(files)}
    numbers, places = [], []
    for batch in deleted.to_batches():
        for path, kept in zip(batch.column("filepath"), batch.column("selection_vector"), strict=True):
            number = number_of.get(str(_inside(Path("/"), path.as_py(), name)))
            if number is None:
                raise ParameterError.of(
                    name, f"the log of {DELTA} must name the files in which rows were deleted", STEP
                )
            gone = np.flatnonzero(~kept.values.to_numpy(zero_copy_only=False))
            numbers.append(np.full(len(gone), number, dtype=np.int64))
            places.append(gone.astype(np.int64))
    return pyarrow.table({"number": np.concatenate(numbers), "pos": np.concatenate(places)})
