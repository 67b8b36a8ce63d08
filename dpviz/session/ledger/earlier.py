"""Records of an earlier ledger, so that nobody begins again, or goes on from a copy, without saying so.

Two things know: the note beside a ledger (`witness`), and this machine. The machine keeps one small file for each
ledger that was charged from here: its chain, how far it had come, its place and its data set. The name of the file
holds digests of place, chain and data set, so a look-up lists one folder and reads what fits. The files lie beside the
memories (`memory`), are nobody's secret, and are never ahead of what is durable in the ledger. Where they cannot be
written (no home, a container, a folder that is read only) nothing is remembered, and everything else goes on. Nor is a
ledger in the system's folder for temporary files remembered, unless it is a copy of one that is: programs make such
ledgers and remove them again, folder and all. The note beside such a ledger counts as everywhere.

A ledger in which nothing was charged is no loss, and is named by nobody.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import secrets
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

from dpviz.errors import LedgerError, short
from dpviz.session.ledger import witness
from dpviz.session.ledger.chain import canonical
from dpviz.session.ledger.memory import digest, folder_of_state
from dpviz.session.ledger.witness import Note
from dpviz.traces import one_line

_SLOT: Final = 256
_NAME: Final = re.compile(r"([0-9a-f]{16})-([0-9a-f]{16})-([0-9a-f]{16})\.(known|left|gone)\Z")
_NONE: Final = "0" * 16

State = Literal["known", "left", "gone"]
"""known  nobody said anything about it
left   somebody began another ledger in its place, or about its data set: an older copy of it is still refused
gone   somebody went on from an older copy, or another branch, of it: it is of no account any more"""


@dataclass(frozen=True, slots=True)
class Earlier:
    """A ledger that something knows of.

    knows  what knows of it, in words
    note   how far it had come; None where that cannot be read
    place  where it was, for a person; empty where only the note beside a ledger knows of it
    file   where this machine keeps it
    """

    knows: str
    note: Note | None
    place: str = ""
    file: Path | None = None

    @property
    def charged(self) -> bool:
        """Whether something may have been charged there. The first row is the charter."""
        return self.note is None or self.note.seq > 1

    @property
    def text(self) -> str:
        """`the -lock file beside it notes a ledger of 7 rows (chain 1f0c…)`."""
        far = "a ledger, and not how far it had come"
        if self.note is not None:
            far = f"a ledger of {self.note.seq:,} rows (chain {self.note.chain[:8]}…)"
        return f"{self.knows} {far}{f' at {one_line(short(self.place, 120))}' if self.place else ''}"


class KnownLedgers:
    """This machine's knowledge of ledgers, for a person who is about to open one.

    identity  what tells the place from all others
    place     the same for a person
    dataset   what tells the data set from all others; None where nothing does, as for a frame without a name
    passing   whether ledgers come and go in this place: then none is kept but a copy of one that is known
    """

    def __init__(self, identity: str, place: str, dataset: str | None, *, passing: bool = False) -> None:
        self._folder = folder_of_state()
        self._passing = passing
        self._place = place
        self._at = digest(f"place {identity}")[:16]
        self._about = _NONE if dataset is None else digest(f"dataset {dataset}")[:16]
        self._own: Path | None = None

    # ------------------------------------------------------------ looking

    def _found(self) -> Iterable[tuple[Path, str, str, str, State]]:
        if self._folder is None:
            return
        names: list[str] = []
        with contextlib.suppress(OSError):
            names = sorted(os.listdir(self._folder))
        for name in names:
            if (found := _NAME.match(name)) is not None:
                at, chain, about, state = found.groups()
                yield self._folder / name, at, chain, about, state  # type: ignore[misc]

    def here(self, chain: str = "") -> list[Earlier]:
        """The ledgers that were charged in this place, but for one of this chain."""
        return _read(
            "this machine remembers",
            (
                path
                for path, at, of, _, state in self._found()
                if at == self._at and state == "known" and of != chain[:16]
            ),
        )

    def about(self) -> list[Earlier]:
        """The ledgers of the same data set, in other places."""
        if self._about == _NONE:
            return []
        return _read(
            "this machine remembers, about the same data set,",
            (
                path
                for path, at, _, about, state in self._found()
                if about == self._about and at != self._at and state == "known"
            ),
        )

    def of(self, chain: str) -> list[Earlier]:
        """The records of this very ledger, in whatever place it was."""
        found = _read(
            "this machine remembers",
            (path for path, _, of, _, state in self._found() if of == chain[:16] and state != "gone"),
        )
        return [one for one in found if one.note is None or one.note.chain == chain]

    # ------------------------------------------------------------ keeping

    def keep(self, note: Note) -> None:
        """Remember how far the ledger in this place has come."""
        if self._folder is None or (self._passing and not self.of(note.chain)):
            return
        path = self._folder / f"{self._at}-{note.chain[:16]}-{self._about}.known"
        self._own = None
        with contextlib.suppress(OSError):
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            for other, at, chain, about, state in self._found():  # of this very ledger, under another data set's name
                if at == self._at and chain == note.chain[:16] and (about, state) != (self._about, "known"):
                    other.unlink(missing_ok=True)
            draft = path.with_name(f".{path.name}.{secrets.token_hex(8)}")
            descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), 0o600)
            try:
                os.write(descriptor, _slot(note) + canonical({"place": self._place}).encode())
            finally:
                os.close(descriptor)
            try:
                draft.replace(path)
            except OSError:
                draft.unlink(missing_ok=True)
                raise
            self._own = path

    def went_on(self, note: Note) -> None:
        """The same after a row was written: a few bytes in their place."""
        if self._own is None:
            return
        with contextlib.suppress(OSError, AttributeError):
            descriptor = os.open(self._own, os.O_WRONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0))
            try:
                os.pwrite(descriptor, _slot(note), 0)
            finally:
                os.close(descriptor)

    @staticmethod
    def put_aside(found: Sequence[Earlier], state: State) -> None:
        """Somebody said that these are known, and goes on."""
        for one in found:
            if one.file is not None:
                with contextlib.suppress(OSError):
                    one.file.replace(one.file.with_suffix(f".{state}"))


def _slot(note: Note) -> bytes:
    text = canonical({"chain": note.chain, "hash": note.hash, "seq": note.seq}).encode()
    return text.ljust(_SLOT - 1) + b"\n"


def _read(knows: str, paths: Iterable[Path]) -> list[Earlier]:
    """The notes in these files. One that another program put aside meanwhile says nothing."""
    found = []
    for path in paths:
        note, place = None, ""
        try:
            content = path.read_bytes()
            note = witness.note_of(content[:_SLOT])
            said = json.loads(content[_SLOT:])["place"]
            place = said if isinstance(said, str) else ""
        except FileNotFoundError:
            continue
        except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
            pass
        found.append(Earlier(knows, note, place, path))
    return found


# ---------------------------------------------------------------- refusals

RULE: Final = "what was charged once stays spent, so no ledger takes the place of another unseen"
_GO_ON: Final = "if it is lost, count what was charged in it as spent, and write existing=False to go on without it"


def begun_anew(called: str, found: Sequence[Earlier]) -> LedgerError:
    """No ledger is in this place, and something knows of one that was."""
    what = f"no ledger is at {called}, but {_listed(found)}"
    return _refused(called, what, f"put it back or give its place; {_GO_ON}")


def older(called: str, seq: int, found: Sequence[Earlier]) -> LedgerError:
    """A ledger that lacks rows which are known to have been written."""
    what = f"the ledger {called} has {seq:,} rows and is an older copy or another branch, for {_listed(found)}"
    return _refused(called, what, f"open the one that went on; {_GO_ON}")


def another(called: str, found: Sequence[Earlier]) -> LedgerError:
    """A ledger in the place of another one."""
    what = f"the ledger at {called} is not the one that was here: {_listed(found)}"
    return _refused(called, what, f"put that one back; {_GO_ON}")


def emptied(called: str) -> LedgerError:
    """The note beside a ledger says nothing any more, and nobody else knows how far the ledger had come."""
    what = f"the -lock file beside the ledger {called} was emptied, so nothing tells whether the ledger is the latest"
    return _refused(called, what, f"put the latest ledger and its -lock file back; {_GO_ON}")


def no_note(called: str, what: str) -> LedgerError:
    """The file in the place of the note is none, and cannot be written to."""
    rule = "the -lock file beside a ledger is a file of its own that dpviz made"
    step = f"move it away, and see first that {called} is the latest ledger"
    said = f"the -lock file beside the ledger {called} is {what}, and {rule}; {step}"
    return LedgerError(said, value=what, rule=rule, next_step=step)


def _listed(found: Sequence[Earlier]) -> str:
    texts = [one.text for one in found[:3]]
    more = f" and {len(found) - 3:,} more" if len(found) > 3 else ""
    return " and ".join(texts) + more


def _refused(called: str, what: str, step: str) -> LedgerError:
    return LedgerError(f"{what}; {step}", value=called, rule=RULE, next_step=step)
