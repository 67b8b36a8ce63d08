"""Files that a person names: written whole or not at all, and read where they are files. Refusals are of our family.

Nothing written here takes the place of a ledger or of a file that belongs to one, open or closed, under any name. Every
file that a person names is written by `write`; `tests/architecture/test_writing.py` finds other doors.
"""

from __future__ import annotations

import contextlib
import errno
import json
import os
import secrets
import stat
import sys
import tempfile
import threading
import weakref
from pathlib import Path
from typing import Final

from dpviz.errors import DpvizError, ParameterError
from dpviz.kinds import PATHS
from dpviz.traces import one_line

OPENING: Final = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
"""A pipe that nobody writes to would keep a reader waiting."""

ALONE: Final = sys.platform == "emscripten"
"""Whether no other process and no other thread sees the files of this one, as in a browser."""


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


def free(path: object, what: str, example: str) -> Path:
    """The path that was given, where a file may be written there; to be asked before the file is put together."""
    target = named(path, what, example)
    try:
        place = Path(os.path.realpath(target))
    except (OSError, ValueError):
        return target  # `write` says what is wrong with it
    _check_free(place, target)
    return target


def temporary(place: Path) -> bool:
    """Whether a place lies in the system's folder for temporary files, whose files come and go unmissed.

    The working folder is none, though Python names it where no other can be written.
    """
    try:
        folder = Path(tempfile.gettempdir()).resolve()
        return folder != Path.cwd() and place.is_relative_to(folder)
    except (OSError, RuntimeError, ValueError):
        return False


JSON: Final = ".json"
CSV: Final = ".csv"
HTML: Final = ".html"
YAML: Final = ".yaml"
"""The formats that are written here, by the usual ending of their files."""

_OWN: Final = {
    JSON: ("JSON, or the binary form in .dpviz", [".dpviz"]),
    CSV: ("CSV", []),
    HTML: ("HTML", [".htm"]),
    YAML: ("YAML", [".yml"]),
}
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

    ending  the format: JSON, CSV, HTML or YAML. A name that ends in nothing, or in what promises no format, is taken

    >>> of_format("visits.csv", "a table", "visits.csv", CSV).name
    'visits.csv'
    """
    place = free(path, what, example)
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

    Raises ParameterError where it cannot be written, where the place is taken by what is no file, and where it is that
    of a ledger or of a file that belongs to one.
    """
    target = named(path, what, example)
    draft: Path | None = None
    try:
        place = Path(os.path.realpath(target))  # a link stays, and what it leads to is written
        if place.exists() and not place.is_file():
            raise OSError(0, "there is something else that is no file")
        _check_free(place, target)
        draft = place.with_name(f".{secrets.token_hex(8)}.part")
        with open(draft, "xb") as file:
            file.write(content)
        if not _appeared(draft, place):
            _check_free(place, target)
            os.replace(draft, place)
    except DpvizError as error:
        refused = error
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
    check_not_open(source, what, kind)
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


# ---------------------------------------------------------------- ledgers are never replaced

LEDGER: Final = b"SQLite format 3\0"
"""How the file of a ledger begins."""

COMPANIONS: Final = ("-wal", "-shm", "-journal", "-lock")
"""How the files end that lie beside a ledger and belong to it."""

MEMORY: Final = b"\x89DPVIZ-M"
"""How the file begins in which this machine remembers a ledger."""

REMEMBERED: Final = ("dpviz", "ledgers")
"""The folder of these files, within that of the user's state."""

_BEGINNINGS: Final = {
    LEDGER: "is a ledger, or another database",
    MEMORY: "holds what this machine remembers of a ledger",
    b"\xd9\xd5\x05\xf9\x20\xa1\x63\xd7": "is the journal of a ledger",
    b"\x37\x7f\x06\x82": "is the log of a ledger",
    b"\x37\x7f\x06\x83": "is the log of a ledger",
}
_NOTE: Final = 256


class Kept:
    """A ledger that this process has open, for as long as this object lives. Its file is opened by SQLite alone: where
    another descriptor of the file is closed, every lock that this process holds on the file is gone."""

    def __init__(self, path: Path) -> None:
        self.path = path
        with _looking:
            _kept.add(self)


_kept: weakref.WeakSet[Kept] = weakref.WeakSet()
_looking = threading.RLock()  # no ledger is opened while the first bytes of a file are read


class InUse:
    """A file that this process reads data from, for as long as this object lives."""

    __slots__ = ("__weakref__", "path")

    def __init__(self, path: Path) -> None:
        self.path = path
        _in_use.add(self)


_in_use: weakref.WeakSet[InUse] = weakref.WeakSet()


def _after_fork() -> None:
    global _looking
    _looking = threading.RLock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)


def check_not_open(path: Path, what: str, kind: type[DpvizError] = ParameterError) -> None:
    """Refuse to read a ledger that this process has open: closing the file again would drop every lock on it."""
    if any(_same(path, kept.path) for kept in list(_kept)):
        raise kind.of(
            one_line(str(path)),
            f"{what} is read from a file of its own, and this is an open ledger",
            "give another file",
        )


def beside(path: Path) -> Path | None:
    """The ledger that a file with this name belongs to, whether the file is there or not; None where there is none."""
    name = path.name
    for ending in COMPANIONS:
        if len(name) > len(ending) and name.casefold().endswith(ending):
            ledger = path.with_name(name[: -len(ending)])
            if _is_ledger(ledger):
                return ledger
    return None


def belongs(place: Path) -> str:
    """The role of a place for a ledger, in words; empty where it has none. Links lead to the place."""
    if _is_ledger(place):
        return "is a ledger, or the place of one"
    if (ledger := beside(place)) is not None:
        return f"belongs to the ledger {ledger.name}"
    if place.parent.parts[-2:] == REMEMBERED:
        return "lies where this machine remembers ledgers"
    if any(_same(place, kept.path.with_name(kept.path.name + ending)) for kept in list(_kept) for ending in COMPANIONS):
        return "belongs to a ledger that is open"
    first = _first_bytes(place)
    if is_note(first):
        return "says how far a ledger has come"
    return next((what for beginning, what in _BEGINNINGS.items() if first.startswith(beginning)), "")


def is_note(first: bytes) -> bool:
    """Whether a file that begins like this is the one beside a ledger that says how far the ledger has come."""
    try:
        found = json.loads(first[:_NOTE])
    except (ValueError, RecursionError):
        return False
    return isinstance(found, dict) and {"chain", "seq", "hash"} <= found.keys()


def _is_ledger(path: Path) -> bool:
    """Whether a ledger, or another SQLite database, is at this path, or was: the note beside it is still there."""
    if any(kept.path == path or _same(path, kept.path) for kept in list(_kept)):
        return True
    return _first_bytes(path).startswith(LEDGER) or is_note(_first_bytes(path.with_name(path.name + "-lock")))


def _same(one: Path, other: Path) -> bool:
    try:
        return os.path.samefile(one, other)
    except (OSError, ValueError):
        return False


def _first_bytes(path: Path) -> bytes:
    """How a file begins; nothing where it is none, cannot be read, or is a ledger that this process has open."""
    try:
        with _looking:
            if any(_same(path, kept.path) for kept in list(_kept)):
                return b""
            descriptor = os.open(path, OPENING)
            try:
                return os.read(descriptor, _NOTE) if stat.S_ISREG(os.fstat(descriptor).st_mode) else b""
            finally:
                os.close(descriptor)
    except (OSError, ValueError):
        return b""


def _check_free(place: Path, target: Path) -> None:
    """Refuse a place that is a ledger's, or that of data."""
    if any(_same(place, data.path) for data in list(_in_use)):
        raise ParameterError.of(
            one_line(str(target)),
            "nothing takes the place of a file that a session counts in",
            "choose another name",
        )
    if what := belongs(place):
        raise ParameterError.of(
            one_line(str(target)),
            f"nothing takes the place of a ledger or of a file that belongs to one, and this {what}",
            "choose another name",
        )


def appear(draft: Path, place: Path) -> None:
    """Give a draft its place in one step, or raise FileExistsError where something is there. The draft may stay, too.

    A browser's Python has no hard links. It is the only process that sees its files, and has one thread: nothing can
    come to the place between the look and the move.
    """
    if ALONE:
        if os.path.lexists(place):
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), str(place))
        os.rename(draft, place)
    else:
        os.link(draft, place)


def _appeared(draft: Path, place: Path) -> bool:
    """Give the draft its place where nothing is there, in one step. A file that came there meanwhile stays."""
    try:
        appear(draft, place)
    except OSError:
        return False  # something is there, or the file system knows no links
    draft.unlink(missing_ok=True)
    return True
