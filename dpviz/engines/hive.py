"""A folder of Parquet files whose folders below stand for columns that a call declares: `year=2020/part-0.parquet`.

A path adds no column by itself. The declaration says which columns, in the order of the folders, and of which type; a
path that does not fit is refused, and its values, which are those of rows, are never shown.
"""

from __future__ import annotations

import datetime
import os
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final
from urllib.parse import unquote

from dpviz.boundary import as_given
from dpviz.engines.table_files import check_files, check_format, is_parquet, is_shown
from dpviz.errors import ParameterError
from dpviz.names import as_name

MISSING: Final = "__HIVE_DEFAULT_PARTITION__"
"""Written for a missing value, and by Hive and Spark for an empty text."""
RANGE: Final = range(-(1 << 63), 1 << 63)


def _integer(text: str) -> int | None:
    return value if re.fullmatch(r"[+-]?[0-9]{1,30}", text) and (value := int(text)) in RANGE else None


def _date(text: str) -> datetime.date | None:
    try:
        return datetime.date.fromisoformat(text) if re.fullmatch("[0-9]{4}-[0-9]{2}-[0-9]{2}", text) else None
    except ValueError:
        return None


def _text(text: str) -> str | None:
    return text or None


KINDS: Final[Mapping[str, tuple[Callable[[str], Any], str, str]]] = {
    "integer": (_integer, "int64", "a whole number"),
    "text": (_text, "string", "a text"),
    "date": (_date, "date32", "a date as YYYY-MM-DD"),
}
"""By name how a folder's value is read, Arrow's type of it, and what it must be."""


def check_declared(hive: object) -> dict[str, str]:
    """The columns that folders stand for and their kinds. Raises ParameterError."""
    if not isinstance(hive, Mapping) or not hive or not all(isinstance(name, str) and name for name in hive):
        raise ParameterError.of(
            as_given(hive),
            "hive must name the columns that folders stand for, in the order of the folders, and their kinds",
            'write hive={"year": "integer"}',
        )
    for name, kind in hive.items():
        if not isinstance(kind, str) or kind not in KINDS:
            raise ParameterError.of(
                as_given(kind),
                "a column that folders stand for holds integers, texts or dates",
                f'write hive={{"{as_name(name)}": "integer"}}, or "text", or "date"',
            )
    return dict(hive)


def files_below(path: str, columns: Mapping[str, str]) -> tuple[list[Path], Any]:
    """The Parquet files of a folder, and an Arrow table of the declared columns, a row for each of them.

    Raises ParameterError where there is no such folder, or where a path in it does not fit.
    """
    import pyarrow  # type: ignore[import-untyped]

    folder = Path(path)
    if not folder.is_dir():
        raise ParameterError.of(
            folder.name,
            "hive declares what the folders in a folder stand for, and this is none",
            "give the folder that holds the others, or leave hive out",
        )
    check_format(folder)
    files = sorted(_below(folder))
    if not files:
        raise ParameterError.of(
            f"{folder.name or folder.absolute().name}/",
            "of a folder the Parquet files are read, and there are none in this one or below",
            "name the files of another kind themselves",
        )
    check_files(files)
    read = [_values(file.relative_to(folder).parts[:-1], columns) for file in files]
    types = {name: KINDS[kind][1] for name, kind in columns.items()}
    return files, pyarrow.table(
        {
            name: pyarrow.array([values[at] for values in read], pyarrow.type_for_alias(types[name]))
            for at, name in enumerate(columns)
        }
    )


def _below(folder: Path) -> list[Path]:
    found: list[Path] = []
    for at, folders, names in os.walk(folder, onerror=_raised, followlinks=False):
        folders[:] = [name for name in folders if is_shown(name) or "=" in name]
        found += [Path(at, name) for name in names if is_parquet(name) and is_shown(name)]
    return found


def _raised(error: OSError) -> None:
    raise error


def _values(folders: tuple[str, ...], columns: Mapping[str, str]) -> list[Any]:
    """The values of a file's folders. Raises ParameterError, which names columns and no value."""
    split = [folder.partition("=") for folder in folders]
    if [unquote(name) for name, _, _ in split] != list(columns) or not all(sign for _, sign, _ in split):
        declared = "/".join(f"{name}=…" for name in columns)
        raise ParameterError.of(
            "a path of other folders",
            f"all Parquet files must lie in folders as they are declared, {declared}",
            "declare in hive each folder between this one and the files, in their order",
        )
    return [_value(name, text, columns[name]) for name, _, text in split]


def _value(name: str, text: str, kind: str) -> Any:
    read, _, must_be = KINDS[kind]
    if text == MISSING:
        return None
    try:
        value = read(unquote(text, errors="strict"))
    except UnicodeDecodeError:
        value = None
    if value is None:
        raise ParameterError.of(
            f"a folder {as_name(name)}=… of another value",
            f"what folders say of a column declared {kind} must be {must_be}",
            f'declare hive={{"{as_name(name)}": "text"}}, or mend the folder',
        )
    return value
