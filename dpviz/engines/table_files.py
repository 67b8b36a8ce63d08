"""Which files are the table that a path names: one file, the files of a folder, or those that fit a pattern.

A name is a name: where a file of exactly this name is there, it is meant, whatever signs are in the name. Else `*`, `?`
and `**` stand for other signs, and nothing else does. A file or folder whose name begins with `_` or `.` is not data to
Hive, Spark and others, which keep drafts and records there: it is left out of a folder and of a pattern. A folder that
is kept by a table format of its own is refused by name, for its files hold rows that were deleted or replaced since. A
path adds no column: `year=2020` in it is a name.
"""

from __future__ import annotations

import glob
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from dpviz.errors import ParameterError

PARQUET: Final = (".parquet", ".pq")

DELTA: Final = "open it with the package deltalake, and give what DeltaTable(path).to_pyarrow_table() returns"
ICEBERG: Final = (
    "open it with the package pyiceberg, and give what StaticTable.from_metadata(path).scan().to_arrow() returns for "
    "the newest file in metadata/"
)
HUDI: Final = 'open it with Spark, and give what spark.read.format("hudi").load(path) returns'
HIVE: Final = 'give what pyarrow.dataset.dataset(path, partitioning="hive").to_table() returns, which has these columns'
BELOW: Final = 'name them all with a pattern: "visits/**/*.parquet"'


def files_of(path: str) -> list[Path]:
    """The files that a path names, in the order of their names; none where there are none.

    Raises ParameterError for a folder that is kept by a table format of its own, or that has files in folders below.
    """
    place = Path(path)
    if place.is_dir():
        return _of_folder(place)
    if place.exists():
        return [place]
    if not any(sign in path for sign in "*?"):
        return []
    fitting = glob.glob(path.replace("[", "[[]"), recursive=True)
    found = [Path(one) for one in sorted(fitting) if os.path.isfile(one) and not _is_hidden(one, path)]
    for folder in sorted({above for one in found for above in _folders(one, path)}):
        _check_format(folder)
    return found


def as_pattern(file: Path) -> str:
    """The file's name as an engine takes it that reads patterns: it means this file alone."""
    return glob.escape(str(file.absolute()))


def is_parquet(name: str) -> bool:
    """Whether a name ends as those of Parquet files do, in small letters or capitals."""
    return name.lower().endswith(PARQUET)


def _of_folder(folder: Path) -> list[Path]:
    _check_format(folder)
    below = next(_below(folder), None)
    if below is not None:
        partitioned = "=" in below.relative_to(folder).parts[0]
        raise ParameterError.of(
            f"{folder.name}/{below.relative_to(folder).parts[0]}/",
            "the Parquet files of a folder are read, and this one has files in folders below it"
            + ", whose names stand for a column" * partitioned,
            HIVE if partitioned else BELOW,
        )
    return sorted(one for one in folder.iterdir() if is_parquet(one.name) and _is_shown(one.name) and one.is_file())


def _below(folder: Path) -> Iterator[Path]:
    """Parquet files in folders below this one, links not followed."""
    for at, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if _is_shown(name))
        if Path(at) != folder:
            yield from (Path(at, name) for name in names if is_parquet(name) and _is_shown(name))


def _check_format(folder: Path) -> None:
    """Refuse a folder of a table format by the name of the format."""
    if (folder / "_delta_log").is_dir():
        what, step = "a Delta table", DELTA
    elif next(folder.glob("metadata/*.metadata.json"), None) is not None:
        what, step = "an Iceberg table", ICEBERG
    elif (folder / ".hoodie").is_dir():
        what, step = "a Hudi table", HUDI
    else:
        return
    rule = f"the folder is {what}, whose files hold rows that were deleted or replaced since"
    raise ParameterError.of(f"{folder.name or folder.absolute().name}/", rule, step)


def _folders(file: Path, pattern: str) -> Iterator[Path]:
    """The folders of a file that fits a pattern, up to the first sign of the pattern that stands for others."""
    parts = Path(pattern).parts
    fixed = next(place for place, part in enumerate(parts) if any(sign in part for sign in "*?"))
    for folder in file.parents:
        if len(folder.parts) < fixed:
            return
        yield folder


def _is_shown(name: str) -> bool:
    return not name.startswith(("_", "."))


def _is_hidden(found: str, pattern: str) -> bool:
    """Whether a part of a name begins with `_` or `.` that the pattern does not write out."""
    written = {part for part in Path(pattern).parts if not _is_shown(part)}
    asked = {part[0] for part in written if any(sign in part for sign in "*?")}
    return any(not _is_shown(part) and part not in written and part[0] not in asked for part in Path(found).parts)
