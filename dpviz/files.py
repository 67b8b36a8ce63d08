"""Files that a person names: written whole or not at all, and read where they are files. Refusals are of our family."""

from __future__ import annotations

import contextlib
import os
import secrets
import stat
from pathlib import Path
from typing import Final

from dpviz.errors import DpvizError, ParameterError
from dpviz.kinds import PATHS
from dpviz.traces import one_line

OPENING: Final = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
"""A pipe that nobody writes to would keep a reader waiting."""


def named(path: object, what: str, example: str, kind: type[DpvizError] = ParameterError) -> Path:
    """The path that was given, or a refusal: `what` needs a file. A text that cannot name a file is none."""
    if not any(type(path) is known for known in (str, *PATHS)) or not str(path):
        raise kind.of("no text" if path == "" else path, f"{what} needs the path of a file", f'write "{example}"')
    try:
        unusable = b"\0" in os.fsencode(str(path))
    except UnicodeEncodeError:
        unusable = True
    if unusable:
        raise kind.of(one_line(str(path)), f"{what} needs a path that the system can write", f'write "{example}"')
    return Path(str(path))


JSON: Final = ".json"
CSV: Final = ".csv"
HTML: Final = ".html"
"""The formats that are written here, by the usual ending of their files."""

_OWN: Final = {JSON: ("JSON, or the binary form in .dpviz", [".dpviz"]), CSV: ("CSV", []), HTML: ("HTML", [".htm"])}
"""Each of them in words, and what else its files may end in."""

_SAVED: Final = 'release.save("visits.json")'
_TABLE: Final = 'release.to_csv("visits.csv")'
_PAGE: Final = 'dv.report([release], "visits.html")'
_PICTURE: Final = 'release.chart().save("visits.svg")'

_PROMISED: Final = {
    (".json", ".dpviz"): _SAVED,
    (".csv", ".tsv", ".tab", ".xlsx", ".xls", ".xlsm", ".ods"): _TABLE,
    (".html", ".htm", ".xhtml", ".docx", ".doc", ".odt", ".md", ".ipynb", ".tex", ".pptx"): _PAGE,
    (".png", ".svg", ".pdf", ".jpg", ".jpeg", ".gif", ".webp", ".bmp", ".tif", ".tiff", ".eps"): _PICTURE,
    (".parquet", ".feather", ".arrow", ".pkl", ".pickle", ".npy", ".npz", ".h5", ".rds"): "release.to_frame()",
    (".ledger", ".db", ".sqlite", ".sqlite3", ".duckdb", ".zip", ".gz", ".bz2", ".xz", ".zst", ".7z", ".tar"): "",
    (".py", ".r", ".js", ".sh", ".exe"): "",
}
"""Endings that promise a format, and the call that was meant where one writes that format or the nearest to it."""

_MEANT: Final = {ending: call for endings, call in _PROMISED.items() for ending in endings}


def of_format(path: object, what: str, example: str, ending: str) -> Path:
    """The path that was given for a file of one format, or a refusal where its ending promises another.

    ending  the format: JSON, CSV or HTML. A name that ends in nothing, or in what promises no format, is taken

    >>> of_format("visits.csv", "a table", "visits.csv", CSV).name
    'visits.csv'
    """
    place = named(path, what, example)
    given = place.suffix.lower()
    words, others = _OWN[ending]
    if given not in _MEANT or given in (ending, *others):
        return place
    own = f'end the name in "{ending}"'
    meant = _MEANT[given]
    step = f"write {meant}, or {own}" if meant and f'{ending}"' not in meant else own
    if (ending, given) == (HTML, ".pdf"):
        step = 'write "visits.html"; a browser prints it as PDF'
    rule = f"{what} is written as {words}; {given} promises another format"
    raise ParameterError.of(one_line(place.name), rule, step)


def write(path: object, content: bytes, what: str, example: str) -> Path:
    """Write beside the place and move it there, so that no reader ever meets half a file. Returns the path.

    Raises ParameterError where it cannot be written, and where the place is taken by what is no file.
    """
    target = named(path, what, example)
    draft: Path | None = None
    try:
        place = Path(os.path.realpath(target))  # a link stays, and what it leads to is written
        if place.exists() and not place.is_file():
            raise OSError(0, "there is something else that is no file")
        draft = place.with_name(f".{secrets.token_hex(8)}.part")
        with open(draft, "xb") as file:
            file.write(content)
        os.replace(draft, place)
    except (OSError, ValueError) as error:
        refused = _refused(ParameterError, target, f"{what} needs a place that can be written", error)
    else:
        return target
    if draft is not None:
        with contextlib.suppress(OSError):
            draft.unlink(missing_ok=True)
    raise refused


def read(path: object, what: str, example: str, kind: type[DpvizError]) -> bytes:
    """The bytes of a file. Raises an error of this kind where there is none, and for a folder, a pipe or a device."""
    source = named(path, what, example, kind)
    try:
        with open(os.open(source, OPENING), "rb") as file:
            if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                raise OSError(0, "it is no file")
            return file.read()
    except (OSError, ValueError) as error:
        refused = _refused(kind, source, f"{what} needs a file that can be read", error)
    raise refused


def _refused(kind: type[DpvizError], path: Path, rule: str, error: Exception) -> DpvizError:
    reason = getattr(error, "strerror", None) or "no such name"
    return kind.of(one_line(str(path)), f"{rule} ({reason})", "choose another place")
