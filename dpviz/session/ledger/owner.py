"""Which process holds a draw, and whether it is still there; and which person is at work.

On one machine a process is asked after: it is gone when no process has its number and its time of birth. Of another
machine only the lease speaks. Either way a wrong guess is safe: a draw that was given up cannot be finished.
"""

from __future__ import annotations

import getpass
import os
import platform
import secrets
import subprocess
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from dpviz.boundary import protect_module

_PROC = Path("/proc")


@dataclass(frozen=True, slots=True)
class Owner:
    """A process that draws: a random token, the machine (or container) it runs on, its number and its time of birth."""

    token: str
    place: str
    pid: int
    born: str

    @classmethod
    def here(cls) -> Owner:
        """This process, under a token of its own at each call."""
        return cls(secrets.token_hex(16), _place(), os.getpid(), _birth(os.getpid()) or "")

    def here_too(self, other: Owner) -> bool:
        """Whether both are one process, under two tokens."""
        return (self.place, self.pid, self.born) == (other.place, other.pid, other.born)

    def running(self) -> bool | None:
        """Whether the process is still there, or None where that cannot be asked from here."""
        if self.place != _place():
            return None
        born = _birth(self.pid)
        return None if born is None else born != "" and born == self.born


def login() -> str:
    """The login of the system that this process runs under; where it has no name, its number.

    On POSIX no environment variable is asked: the user of the process is what the system says it is.
    """
    if os.name == "posix":
        try:
            import pwd

            return pwd.getpwuid(os.getuid()).pw_name
        except (KeyError, ImportError):  # a container that runs under a number alone; a browser's Python
            return f"uid {os.getuid()}"
    try:
        return getpass.getuser()
    except (OSError, KeyError, ImportError):
        return ""


@cache
def _place() -> str:
    """This machine since its last start; in a container, this container."""
    parts = [platform.node()]
    for source in (_PROC / "sys/kernel/random/boot_id", _PROC / "self/ns/pid"):
        try:
            parts.append(os.readlink(source) if source.is_symlink() else source.read_text().strip())
        except OSError:
            continue
    return " ".join(parts)


def _birth(pid: int) -> str | None:
    """When process `pid` was born; empty if there is none (or only its zombie), None where nobody can tell."""
    if (_PROC / "self/stat").exists():
        try:
            fields = (_PROC / str(pid) / "stat").read_text().rpartition(")")[2].split()
        except OSError:
            return ""
        return "" if fields[0] in "ZX" else fields[19]
    if os.name == "posix":
        try:
            asked = subprocess.run(["ps", "-o", "lstart=", "-p", str(pid)], capture_output=True, text=True, check=False)
        except OSError:  # no such program, or a browser's Python, which starts none
            return None
        return asked.stdout.strip()
    return None


protect_module(vars())
