"""The memory of a ledger that this machine has read and checked, so that it need not read all of it again.

The memory is what the check has learnt (`audit`): the hash of every row, what became of every charge, what is open or
pending. It says nothing of a balance: that stands in the row whose hash is remembered, and in the rows after it, which
are checked as they are read. A memory is believed only where the ledger still has the row that it ends with; a ledger
that is behind its memory, or has another row in that place, is refused. A file that is damaged, from another dpviz, of
another place or of another chain, is no memory, and then the whole ledger is read. So it is, by whoever opens it next,
after anything of it was refused, until all of it has been found to hold.

It lies with the user's state, is nobody's secret, and can be removed at any time. It is never ahead of what is durable
in the ledger, and is itself not waited for to be durable: one that a crash has damaged does not have its own checksum.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
import secrets
import stat
import struct
import sys
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from dpviz import files
from dpviz.session.ledger.audit import Audit, Check, IndexRow, Open
from dpviz.session.ledger.chain import Row, broken, canonical
from dpviz.session.ledger.requests import RequestIndex
from dpviz.session.ledger.spending import Spending
from dpviz.session.ledger.witness import Note

FORMAT = 4
"""Raised whenever a check (`audit`, `arithmetic`) refuses more than before: what was checked by less is read anew."""

LEAST = 1000
"""A ledger of fewer rows is read whole: that takes some hundredths of a second."""

STEP = 500
"""After so many further rows at the latest, or after one of them in PART, a memory is written anew."""

PART = 400

_MOST_USES = 5000
_MAGIC = files.MEMORY
_HEADS = struct.Struct("<8sQ")
_SLOT = struct.Struct("<32sIIB20s")
_SLOTS = np.dtype([("key", "V32"), ("charge", "<u4"), ("outcome", "<u4"), ("status", "u1"), ("closed", "S20")])
_STATUSES = ("pending", "done", "open", "cancelled", "failed", "lost")
_DONE = 1
_KEY = re.compile(r"[0-9a-f]{64}\Z")
_TIME = re.compile(r"[\x21-\x7e]{20}\Z")


class Entries:
    """The outcome of each charge that has one, in one piece of memory."""

    def __init__(self, slots: bytes) -> None:
        self._slots: Any = np.frombuffer(slots, _SLOTS) if slots else np.zeros(0, _SLOTS)
        if slots and self._slots["status"].max() >= len(_STATUSES):
            raise ValueError

    def __len__(self) -> int:
        return len(self._slots)

    def at(self, number: int) -> IndexRow | None:
        if not 0 < number <= len(self._slots):
            return None
        slot = self._slots[number - 1]
        if not slot["status"]:
            return None
        key, closed = slot["key"].tobytes().hex(), slot["closed"].decode("ascii", "replace")
        status = _STATUSES[slot["status"]]
        return IndexRow(number, key, status, int(slot["charge"]), int(slot["outcome"]), closed)

    def latest(self, key: str) -> int | None:
        """The latest of them for a key."""
        if not _KEY.match(key):
            return None
        digest, (prefixes, numbers) = bytes.fromhex(key), self._in_order
        wanted = np.frombuffer(digest[:8], "<u8")[0]
        first, end = (int(np.searchsorted(prefixes, wanted, side)) for side in ("left", "right"))
        for number in reversed(numbers[first:end].tolist()):
            if self._slots[number - 1]["key"].tobytes() == digest:
                return int(number)
        return None

    def done(self, before: int, most: int) -> list[int]:
        """Those with an answer and a number below `before`, in order; the latest of them, `most` at most."""
        end = int(np.searchsorted(self._done, before))
        found: list[int] = self._done[max(0, end - most) : end].tolist()
        return found

    @property
    def finished(self) -> int:
        """How many of them have an answer."""
        return len(self._done)

    @cached_property
    def _done(self) -> Any:
        return np.flatnonzero(self._slots["status"] == _DONE) + 1

    @cached_property
    def _in_order(self) -> tuple[Any, Any]:
        """How the keys of all charges with an outcome begin, in order, and their numbers, in order for the same key."""
        closed = np.flatnonzero(self._slots["status"])
        begins = np.ascontiguousarray(self._slots["key"][closed]).view("<u8").reshape(-1, 4)[:, 0]
        order = np.argsort(begins, kind="stable")
        return begins[order], closed[order] + 1

    def slots(self) -> bytes:
        return bytes(self._slots.tobytes())


@dataclass(frozen=True)
class Memory:
    """The memory of one ledger: the row that it ends with, and what the rows up to it imply."""

    body: Mapping[str, Any]
    hashes: bytes
    entries: Entries
    doubted: bool = False
    """Whether something of this ledger was refused since: then all of it is read."""

    @property
    def note(self) -> Note:
        """The chain, and its last row that is remembered."""
        return Note(self.hashes[:32].hex(), self.seq, self.hashes[-32:].hex())

    @property
    def seq(self) -> int:
        return len(self.hashes) // 32

    def audit(self, last: Row, check: Check | None) -> Audit:
        """The result of a check of all rows up to `last`, the one that is remembered."""
        body, state = self.body, last.state
        if last.hash != self.note.hash or state.charges != len(self.entries):
            raise broken(f"row {last.seq} is not the row that is remembered")
        audit = Audit(check=check, last=last, past=self.entries)
        pending = {
            number: IndexRow(number, key, "pending", charge, None, None) for number, key, charge, _ in body["pending"]
        }
        audit.go_on(
            state,
            bytearray(self.hashes),
            pending,
            {number: asked for number, _, _, asked in body["pending"]},
            {(of, said[0]): IndexRow(*said) for of, *said in body["uses"]},
            {
                number: Open(
                    asked, dict(sub), uses, {use: (one, before, after) for use, one, before, after in held}, dict(keys)
                )
                for number, asked, sub, uses, held, keys in body["open"]
            },
            Spending.from_json(body["spending"]),
            RequestIndex.from_json(body["requests"]),
        )
        return audit


def memory_of(audit: Audit) -> Memory | None:
    """The memory of a chain that was checked; None where it is of a kind that is better read whole."""
    past = audit.past
    known = 0 if past is None else len(past)
    slots = bytearray(b"" if past is None else past.slots()) + bytes(_SLOT.size * (audit.state.charges - known))
    if len(audit.uses) > _MOST_USES:
        return None
    for number, found in audit.index.items():
        if found.status == "pending":
            continue
        if not _KEY.match(found.key) or found.closed is None or not _TIME.match(found.closed) or not found.outcome:
            return None
        if found.outcome >= 2**32:
            return None
        status = _STATUSES.index(found.status)
        said = bytes.fromhex(found.key), found.charge, found.outcome, status, found.closed.encode()
        _SLOT.pack_into(slots, _SLOT.size * (number - 1), *said)
    body = {
        "pending": [
            [number, audit.index[number].key, audit.index[number].charge, asked] for number, asked in audit.asked
        ],
        "uses": [[of, *_fields(found)] for (of, _), found in audit.uses.items()],
        "open": [
            [number, one.body, one.sub, one.uses, [[use, *held] for use, held in one.reserved.items()], one.keys]
            for number, one in audit.opened_entries
        ],
        "spending": audit.spending.to_json(),
        "requests": audit.requests.to_json(),
    }
    return Memory(json.loads(canonical(body)), audit.hashes, Entries(bytes(slots)))


def _fields(found: IndexRow) -> list[object]:
    return [found.number, found.key, found.status, found.charge, found.outcome, found.closed]


class Place:
    """Where a memory is kept of one ledger, as one kind of check has found it."""

    def __init__(self, ledger: str, check: Check | None = None) -> None:
        kind, folder, self._name = _named(check), folder_of_state(), digest(ledger)
        self._about = {"format": FORMAT, "dpviz": _version(), "ledger": ledger, "check": kind}
        file = f"{self._name}-{digest(str(kind))[:8]}.memory"
        self.path = None if folder is None or kind is None else folder / file

    def load(self) -> Memory | None:
        """The memory, or None."""
        if self.path is None:
            return None
        try:
            found = _opened(_bytes(self.path), self._about)
            return None if found is None else replace(found, doubted=self._doubt.exists())
        except (OSError, ValueError, TypeError, KeyError, struct.error, RecursionError):
            return None

    def save(self, memory: Memory, *, whole: bool = False) -> bool:
        """Put this in place of what was remembered. Where that cannot be, nothing is.

        whole  all of the ledger was read and holds: what was refused of it before is over
        """
        if self.path is None:
            return False
        sizes = {"charges": len(memory.entries), "seq": memory.seq}
        head = canonical({**memory.body, "about": self._about, **sizes}).encode()
        parts = [_HEADS.pack(_MAGIC, len(head)), head, memory.hashes, memory.entries.slots()]
        checksum = hashlib.sha256()
        for part in parts:
            checksum.update(part)
        draft = self.path.with_name(f".{self.path.name}.{secrets.token_hex(8)}")
        try:
            self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            for left in self.path.parent.glob(f".{self.path.name}.*"):  # by a process that was killed
                left.unlink(missing_ok=True)
            try:
                descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), 0o600)
                with open(descriptor, "wb") as file:
                    file.writelines([*parts, checksum.digest()])
                draft.replace(self.path)
            finally:
                with contextlib.suppress(OSError):
                    draft.unlink()
            if whole:
                self._doubt.unlink(missing_ok=True)
        except OSError:
            return False
        return True

    def doubt(self) -> None:
        """Something of this ledger was refused: whatever is remembered of it, by any check, is not believed."""
        if self.path is not None:
            with contextlib.suppress(OSError):
                if any(self.path.parent.glob(self.files.name)):
                    self._doubt.touch(mode=0o600)

    def forget(self) -> None:
        """Another ledger begins here: forget what any check found in the one before."""
        if self.path is not None:
            with contextlib.suppress(OSError):
                for path in self.path.parent.glob(self.files.name):
                    path.unlink(missing_ok=True)

    @property
    def files(self) -> Path:
        """All that is remembered of this ledger, as a pattern."""
        assert self.path is not None
        return self.path.with_name(f"{self._name}-*.memory")

    @property
    def _doubt(self) -> Path:
        assert self.path is not None
        return self.path.with_name(f"{self._name}-doubt.memory")


def _version() -> str:
    """This dpviz: the package is loaded, and what is installed takes long to ask."""
    return str(sys.modules["dpviz"].__version__)


def _named(check: Check | None) -> str | None:
    """The name that tells a check from all others, in every program; None where nothing does, as for what a notebook
    defines."""
    if check is None:
        return ""
    module, name = getattr(check, "__module__", None), getattr(check, "__qualname__", "")
    found = getattr(sys.modules.get(str(module)), name, None)
    return f"{module}.{name}" if found is check and module != "__main__" else None


def digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:32]


def folder_of_state() -> Path | None:
    """Where this user's programs keep what they may lose."""
    try:
        if sys.platform == "win32":
            base = Path(os.environ["LOCALAPPDATA"])
        elif sys.platform == "darwin":
            base = Path.home() / "Library" / "Application Support"
        else:
            said = Path(os.environ.get("XDG_STATE_HOME", ""))
            base = said if said.is_absolute() else Path.home() / ".local" / "state"
    except (KeyError, RuntimeError):
        return None
    return base.joinpath(*files.REMEMBERED) if base.is_absolute() else None


def _bytes(path: Path) -> bytes:
    """A file of this user's own, that nobody else can write."""
    flags = os.O_RDONLY | getattr(os, "O_BINARY", 0) | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
    with open(os.open(path, flags), "rb") as file:
        found = os.fstat(file.fileno())
        others = hasattr(os, "geteuid") and (found.st_uid != os.geteuid() or found.st_mode & 0o022)
        if not stat.S_ISREG(found.st_mode) or others:
            raise ValueError
        return file.read()


def _opened(content: bytes, about: Mapping[str, object]) -> Memory | None:
    view = memoryview(content)
    if len(content) < _HEADS.size + 32 or hashlib.sha256(view[:-32]).digest() != content[-32:]:
        return None
    magic, size = _HEADS.unpack_from(content)
    start = _HEADS.size + size
    if magic != _MAGIC or start > len(content) - 32:
        return None
    body = json.loads(content[_HEADS.size : start])
    seq, charges = body["seq"], body["charges"]
    middle = start + 32 * seq
    if body["about"] != about or seq < 1 or middle + _SLOT.size * charges != len(content) - 32:
        return None
    return Memory(body, content[start:middle], Entries(content[middle:-32]))
