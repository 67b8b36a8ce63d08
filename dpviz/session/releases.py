"""The releases in a ledger so far. An answer that this dpviz cannot read is named, and never hides the others."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from dpviz.boundary import protect_module, single_arguments
from dpviz.errors import LedgerAway, ParameterError, ReleaseFormat
from dpviz.privacy.unit import Unit
from dpviz.session.ledger import Entry, Ledger
from dpviz.session.saved import from_bytes, unreadable

if TYPE_CHECKING:
    from dpviz.model.release import Release

PAGE = 50
"""The most releases that are listed at once."""


class Unread(UserWarning):
    """Something that was paid for is left out, because this dpviz cannot read it."""


@dataclass(slots=True)
class Readable:
    """The session's findings about stored answers, which never change: what it could read, and why not."""

    fine: set[int] = field(default_factory=set)
    refused: dict[int, ReleaseFormat] = field(default_factory=dict)


class Releases(Mapping[int, "Release"]):
    """The finished releases of a ledger, by number. The answers of a sub-session are its own: `sub.answers`.

    Answers that this dpviz cannot read are left out with a warning: `unreadable` says which and why. The length leaves
    out what was found to be so, and reads no answer to find more.
    """

    def __init__(self, ledger: Ledger, known: Readable | None = None, unit: Unit | None = None) -> None:
        self._ledger, self._unit = ledger, unit
        self._known = Readable() if known is None else known

    @single_arguments
    def __getitem__(self, number: int) -> Release:
        if not self._is_done(number):
            shown = ", ".join(str(entry.number) for entry in self._ledger.finished(last=20)) or "none"
            raise ParameterError.of(
                number,
                f"the latest finished releases are: {shown}",
                "take one of these numbers, or session.releases.latest",
            )
        return self._read(number)

    def _is_done(self, number: object) -> bool:
        if not isinstance(number, int) or isinstance(number, bool) or not 0 < number < 2**63:
            return False
        try:
            return self._ledger.entry(number).status == "done"
        except ParameterError:
            return False

    def _read(self, number: int) -> Release:
        try:
            found = from_bytes(self._ledger.answer(number))
        except ReleaseFormat as refused:
            failure = self._known.refused[number] = unreadable(number, refused)
        else:
            self._known.fine.add(number)
            found = found.found_in(self._ledger)
            return found if self._unit is None else found.as_declared(self._unit)
        raise failure

    def _refusal(self, number: int) -> ReleaseFormat | None:
        """Why a release cannot be read, or None where it can."""
        if number not in self._known.fine and number not in self._known.refused:
            with suppress(ReleaseFormat):
                self._read(number)
        return self._known.refused.get(number)

    @property
    def unreadable(self) -> dict[int, ReleaseFormat]:
        """The releases that this dpviz cannot read, by number, and why. It stays paid for."""
        refusals = ((number, self._refusal(number)) for number in self._ledger.finished_numbers)
        return {number: refusal for number, refusal in refusals if refusal is not None}

    @property
    def prices_unread(self) -> dict[int, Mapping[str, str]]:
        """The purchase behind each of those, as its entry of the ledger says it."""
        return {number: self._ledger.entry(number).body["price"] for number in self.unreadable}

    @property
    def latest(self) -> Release | None:
        """The newest release that can be read."""
        before, most = None, 1
        while found := self._ledger.finished(last=most, before=before):
            for entry in reversed(found):
                if self._refusal(entry.number) is None:
                    return self._read(entry.number)
            before, most = found[0].number, PAGE
        return None

    def __iter__(self) -> Iterator[int]:
        for number in self._ledger.finished_numbers:
            refusal = self._refusal(number)
            if refusal is None:
                yield number
            else:
                warnings.warn(str(refusal), Unread, stacklevel=2)

    def __len__(self) -> int:
        return self._ledger.finished_count - len(self._known.refused)

    def __repr__(self) -> str:
        lines = []
        try:
            done, count = self._ledger.finished(last=PAGE), self._ledger.finished_count
        except LedgerAway:
            return "the releases are not known: the ledger's server does not answer"
        if count > PAGE:
            lines.append(f"the latest {PAGE} of {count:,}:")
        for entry in done:
            refusal = self._refusal(entry.number)
            said = f"{entry.body['question_text']}  {entry.body['price']['text']}" if refusal is None else str(refusal)
            lines.append(f"{entry.number:>3}  {said}")
        return "\n".join(lines) or "no releases yet"


def left_out(ledger: Ledger, entries: Sequence[Entry]) -> list[str]:
    """Describe the entries that this dpviz cannot read, in one sentence each."""
    sentences = []
    for entry in entries:
        answers: list[tuple[int | None, bytes]] = []
        if entry.status == "done" and "mechanism" in entry.body:  # a release, and nothing that another program keeps
            answers.append((None, ledger.answer(entry.number)))
        if entry.status == "open":
            done = [use for use in ledger.uses(entry.number) if use.status == "done" and "mechanism" in use.body]
            answers += [(use.number, ledger.use_answer(entry.number, use.number)) for use in done]
        for use, content in answers:
            try:
                from_bytes(content)
            except ReleaseFormat as refused:
                sentences.append(str(unreadable(entry.number, refused, use)))
    return sentences


protect_module(vars())
