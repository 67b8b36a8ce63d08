"""Which files are the table that a path names: one file, the files of a folder, or those that fit a pattern.

A name is a name: where a file of exactly this name is there, it is meant, whatever signs are in the name. Else `*`, `?`
and `**` stand for other signs, and nothing else does. A file or folder whose name begins with `_` or `.` is not data to
Hive, Spark and others, which keep drafts and records there: it is left out of a folder and of a pattern. A folder that
is kept by a table format of its own is refused by name, and so is a Parquet file in one, for its files hold rows that
were deleted or replaced since. A path adds no column: `year=2020` in it is a name.
"""

from __future__ import annotations

import glob
import os
import stat
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final
from urllib.parse import unquote

from dpviz.errors import DpvizError, ParameterError
from dpviz.names import as_name

PARQUET: Final = (".parquet", ".pq")

DELTA: Final = "a Delta table"
ICEBERG: Final = "an Iceberg table"
HUDI: Final = "a Hudi table"
STEPS: Final = {
    DELTA: 'give the path of the folder itself; it is read through the package deltalake, pip install "dpviz[delta]"',
    ICEBERG: "give the path of the folder itself, or of its newest file in metadata/; it is read through the package "
    'pyiceberg, pip install "dpviz[iceberg]"',
    HUDI: 'open it with Spark, and give what spark.read.format("hudi").load(path) returns',
}
METADATA: Final = ".metadata.json"
"""The end of the name of a file that describes an Iceberg table."""
KINDS: Final = (
    (stat.S_ISDIR, "a folder"),
    (stat.S_ISFIFO, "a pipe"),
    (stat.S_ISSOCK, "a socket"),
)
BELOW: Final = 'name them all with a pattern: "visits/**/*.parquet"'


def files_of(path: str) -> list[Path]:
    """The files that a path names, in the order of their names; none where there are none.

    Raises ParameterError for a folder that is kept by a table format of its own, that has files in folders below or no
    Parquet files at all, and for what cannot be read as a file is: a pipe, a link to nothing, a file of somebody else.
    """
    with in_our_words(Path(path).name):
        found = _found(path)
    check_files(found)
    return found


@contextmanager
def in_our_words(name: str) -> Iterator[None]:
    """Refuse what the system refuses in here, without the folders that it names. Raises ParameterError."""
    try:
        yield
    except OSError as error:
        raise _unreadable(name, error) from None


def check_files(files: Iterable[Path]) -> None:
    """Refuse what cannot be read as a file is, or not by this user. Raises ParameterError."""
    for file in files:
        with in_our_words(file.name):
            _check_file(file)


def check_database(path: str) -> None:
    """Refuse a path that is no file, or one that this user may not read. Raises ParameterError."""
    with in_our_words(Path(path).name):
        if not Path(path).exists():
            raise ParameterError.of(
                Path(path).name,
                "there is no such file",
                "check the spelling and the folder: a path that is not absolute begins where Python runs",
            )
        _check_file(Path(path))


def _check_file(file: Path) -> None:
    kind = os.stat(file).st_mode
    if not stat.S_ISREG(kind):
        what = next((name for test, name in KINDS if test(kind)), "a device")
        raise ParameterError.of(
            f"{file.name}, {what}",
            "a table is read from files, which are there for a second question, too",
            "write the rows to a file, or read them with pandas and give the data frame",
        )
    if not os.access(file, os.R_OK):
        raise PermissionError


def _unreadable(name: str, error: OSError) -> DpvizError:
    """A refusal in our words: what the system says names folders."""
    if isinstance(error, PermissionError):
        return ParameterError.of(
            name, "this user may not read it", "ask its owner for the right to read the file and the folders above it"
        )
    if isinstance(error, FileNotFoundError):
        return ParameterError.of(
            name, "it is a link to a file that is not there", "put the file back, or remove the link"
        )
    return ParameterError.of(name, "the system does not give this file", "try to open it with another program")


def _found(path: str) -> list[Path]:
    place = Path(path)
    if place.is_dir():
        return _of_folder(place)
    if place.exists():
        if is_parquet(place.name):
            check_format(place.parent)
            check_format(place.resolve().parent)
        return [place]
    if not any(sign in path for sign in "*?"):
        return []
    fitting = glob.glob(path.replace("[", "[[]"), recursive=True)
    found = [Path(one) for one in sorted(fitting) if not os.path.isdir(one) and not _is_hidden(one, path)]
    for folder in sorted({above for one in found for above in _folders(one, path)}):
        check_format(folder)
    return found


def as_pattern(file: Path) -> str:
    """The file's name as an engine takes it that reads patterns: it means this file alone."""
    return glob.escape(str(file.absolute()))


def is_parquet(name: str) -> bool:
    """Whether a name ends as those of Parquet files do, in small letters or capitals."""
    return name.lower().endswith(PARQUET)


def _of_folder(folder: Path) -> list[Path]:
    check_format(folder)
    below = next(_below(folder), None)
    if below is not None:
        names = [name.partition("=") for name in below.relative_to(folder).parts[:-1]]
        columns = [unquote(name) for name, sign, _ in names if sign]
        declared = ", ".join(f'"{as_name(name)}": "text"' for name in columns)
        raise ParameterError.of(
            f"{folder.name}/" + (f"{names[0][0]}=…/" if names[0][1] else f"{names[0][0]}/"),
            "the Parquet files of a folder are read, and this one has files in folders below it"
            + ", whose names stand for a column" * bool(columns),
            f'declare it: dv.sources.duckdb(path, hive={{{declared}}}), or "integer", or "date"' if columns else BELOW,
        )
    files = sorted(one for one in folder.iterdir() if is_parquet(one.name) and is_shown(one.name) and not one.is_dir())
    if not files:
        raise ParameterError.of(
            f"{folder.name or folder.absolute().name}/",
            "of a folder the Parquet files are read, and there are none in this one",
            "name the files of another kind themselves",
        )
    for file in files:
        if not file.exists():  # a link that leads nowhere: its rows would be missing in silence
            raise _unreadable(file.name, FileNotFoundError())
    return files


def _below(folder: Path) -> Iterator[Path]:
    """Parquet files in folders below this one, links not followed."""
    for at, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if is_shown(name))
        if Path(at) != folder:
            yield from (Path(at, name) for name in names if is_parquet(name) and is_shown(name))


def format_of(folder: Path) -> str:
    """The table format that keeps a folder, in words; "" where none does."""
    if (folder / "_delta_log").is_dir():
        return DELTA
    if next(folder.glob(f"metadata/*{METADATA}"), None) is not None:
        return ICEBERG
    return HUDI if (folder / ".hoodie").is_dir() else ""


def check_format(folder: Path) -> None:
    """Refuse a folder of a table format, or a part of one, by the name of the format, whatever links lead to it.

    Raises ParameterError.
    """
    places = folder.absolute(), folder.resolve()
    for kept in dict.fromkeys(above for place in places for above in (place, *place.parents)):
        if what := format_of(kept):
            inside = "" if kept in places else "inside "
            rule = f"the folder is {inside}{what}, whose files hold rows that were deleted or replaced since"
            raise ParameterError.of(f"{kept.name}/", rule, STEPS[what])


def _folders(file: Path, pattern: str) -> Iterator[Path]:
    """The folders of a file that fits a pattern, up to the first sign of the pattern that stands for others."""
    parts = Path(pattern).parts
    fixed = next(place for place, part in enumerate(parts) if any(sign in part for sign in "*?"))
    for folder in file.parents:
        if len(folder.parts) < fixed:
            return
        yield folder


def is_shown(name: str) -> bool:
    """Whether a name is one of data: those that begin with `_` or `.` are of drafts and records."""
    return not name.startswith(("_", "."))


def _is_hidden(found: str, pattern: str) -> bool:
    """Whether a part of a name begins with `_` or `.` that the pattern does not write out."""
    written = {part for part in Path(pattern).parts if not is_shown(part)}
    asked = {part[0] for part in written if any(sign in part for sign in "*?")}
    return any(not is_shown(part) and part not in written and part[0] not in asked for part in Path(found).parts)
