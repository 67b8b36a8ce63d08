"""The content of the file beside a ledger that also keeps the turns: how far it had come, and who holds it.

The note of how far says which chain it is about, the number of its last row and that row's hash. It is written after
a row is durable, so it is never ahead of the ledger: a ledger that is behind it was put back from a copy. `beside` says
what lies in its place; what that means for whoever opens a ledger, or begins one, is decided in `earlier`.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import stat
import sys
from dataclasses import dataclass
from functools import cache, lru_cache
from pathlib import Path
from typing import Any, Final, Literal

from dpviz.session.ledger.chain import now
from dpviz.session.ledger.owner import login

_SLOT = 256
_HASH = re.compile(r"[0-9a-f]{64}\Z")


@dataclass(frozen=True, slots=True)
class Note:
    """The last row of a ledger at some time: the hash of its first row, and number and hash of its last."""

    chain: str
    seq: int
    hash: str


@dataclass(frozen=True, slots=True)
class Holder:
    """A process that has the turn to write, as it said of itself."""

    pid: int
    program: str
    login: str
    since: str

    @classmethod
    def here(cls) -> Holder:
        return cls(os.getpid(), _program(), _login(), now())

    def __str__(self) -> str:
        return f"process {self.pid} ({self.program}, {self.login}) has held it since {self.since}"


def opened(path: Path) -> int:
    """The file to take turns with, made where it is missing. Links are not followed: it is written to."""
    flags = os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0)
    try:
        descriptor = os.open(path, flags | os.O_EXCL, 0o666)
    except FileExistsError:
        descriptor = os.open(path, flags, 0o666)
    else:  # at once, before the turn is waited for: a file that stays empty was emptied
        with contextlib.suppress(OSError):
            hold(descriptor)
    found = os.fstat(descriptor)
    if not stat.S_ISREG(found.st_mode) or found.st_nlink > 1:
        os.close(descriptor)
        raise OSError("the file beside the ledger is no file of its own")
    return descriptor


def note(descriptor: int, noted: Note) -> None:
    _write(descriptor, 0, noted)


def hold(descriptor: int) -> None:
    _write(descriptor, _SLOT, Holder.here())


def noted(path: Path) -> Note | None:
    try:
        return note_of(_bytes(path, 0))
    except OSError:
        return None


@dataclass(frozen=True, slots=True)
class Beside:
    """The file in the place of the note of a ledger.

    state  "absent"; "noted": `note` says how far a ledger had come; "emptied": it says nothing any more; "held":
           somebody took turns and noted nothing yet; "other": what is no note of ours, as `what` says
    """

    state: Literal["absent", "noted", "emptied", "held", "other"]
    note: Note | None = None
    what: str = ""


ABSENT: Final = Beside("absent")


def beside(path: Path) -> Beside:
    """The file in the place of the note of a ledger."""
    try:
        found = path.lstat()
    except FileNotFoundError:
        return ABSENT
    except OSError:
        return Beside("other", what="something that cannot be looked at")
    if stat.S_ISLNK(found.st_mode):
        return Beside("other", what="a link")
    if not stat.S_ISREG(found.st_mode):
        return Beside("other", what="a folder" if stat.S_ISDIR(found.st_mode) else "no file")
    if found.st_nlink > 1:
        return Beside("other", what="a file with another name (a hard link)")
    try:
        first, second = _bytes(path, 0), _bytes(path, _SLOT)
    except OSError:
        return Beside("other", what="a file that cannot be read")
    if (note := note_of(first)) is not None:
        return Beside("noted", note)
    if not first.strip(b" \n\0"):
        held = bool(first) and not first.strip(b"\0") and _holder(second) is not None
        return Beside("held" if held else "emptied")
    return Beside("other", what="a file that holds something else, or was damaged")


@lru_cache(maxsize=16)
def note_of(text: bytes) -> Note | None:
    """Read the note in these bytes. They are read from the file each time; only what they mean is kept."""
    try:
        found = Note(**_record(text))
    except (ValueError, TypeError):
        return None
    texts = all(isinstance(text, str) and _HASH.match(text) for text in (found.chain, found.hash))
    return found if texts and type(found.seq) is int and found.seq > 0 else None


def holder(path: Path) -> Holder | None:
    """Who last said that it holds the turn. Ask only while somebody does."""
    try:
        return _holder(_bytes(path, _SLOT))
    except OSError:
        return None


def _holder(text: bytes) -> Holder | None:
    try:
        found = Holder(**_record(text))
    except (ValueError, TypeError):
        return None
    texts = (found.program, found.login, found.since)
    fits = type(found.pid) is int and all(isinstance(text, str) and text.isprintable() for text in texts)
    return found if fits else None


def other_holder(path: Path) -> str | None:
    """Which other process has a lock of the system on a file; None where only this process has one.

    Empty where the system does not tell. The file is not opened.
    """
    try:
        found = path.stat()
        here = f"{os.major(found.st_dev):02x}:{os.minor(found.st_dev):02x}:{found.st_ino}"
        locks = [line.split() for line in Path("/proc/locks").read_text().splitlines()]
    except (OSError, AttributeError):
        return ""
    holders = [lock[lock.index(here) - 1] for lock in locks if here in lock and lock[1] == "POSIX"]
    for pid in holders:
        if pid.isdigit() and int(pid) not in (0, os.getpid()):
            return f"process {pid} ({_named(int(pid))}) holds it"
    return None if holders and set(holders) == {str(os.getpid())} else ""


def _write(descriptor: int, place: int, record: Note | Holder) -> None:
    parts = {name: getattr(record, name) for name in record.__slots__}
    text = json.dumps(parts, ensure_ascii=True).encode()
    if len(text) < _SLOT:
        os.pwrite(descriptor, text.ljust(_SLOT - 1) + b"\n", place)


def _bytes(path: Path, place: int) -> bytes:
    descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0))
    try:
        return os.pread(descriptor, _SLOT, place)
    finally:
        os.close(descriptor)


def _record(text: bytes) -> dict[str, Any]:
    found = json.loads(text)
    if not isinstance(found, dict):
        raise ValueError
    return found


def _named(pid: int) -> str:
    with contextlib.suppress(OSError):
        name = Path(f"/proc/{pid}/comm").read_text(errors="replace").strip()
        return "".join(character if character.isprintable() else "?" for character in name)
    return "unknown"


@cache
def _program() -> str:
    name = Path(sys.argv[0] if sys.argv and sys.argv[0] else sys.executable or "python").name
    return "".join(character if character.isprintable() else "?" for character in name)[:40]


@cache
def _login() -> str:
    return login()[:32] or "unknown"
