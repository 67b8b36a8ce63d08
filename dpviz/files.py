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
