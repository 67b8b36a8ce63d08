"""Reading a whole chain again: what it must look like, and where it does not."""

from __future__ import annotations

from bisect import bisect_left, insort
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeAlias

from dpviz.boundary import protect_module
from dpviz.session.ledger.chain import GENESIS, OUTCOMES, Row, State, broken
from dpviz.session.ledger.requests import RequestIndex
from dpviz.session.ledger.spending import Spending


@dataclass(frozen=True, slots=True)
class Step:
    """From one account, or sub-account, to the next, as a row makes it.

    kind      "charter", "charge", "raise": of the account; "open", "reserve", "settle": of a sub-account
    body      the charter, what was charged for, the new budget; of a sub-account what was charged for its entry
    before    the account or sub-account before the row; nothing where it begins
    after     as the row carries it
    asked     what a use is for, where the step is one of a use
    reserved  of a "settle": the sub-account before and after this use was reserved
    """

    kind: str
    body: Mapping[str, Any]
    before: Mapping[str, str]
    after: Mapping[str, str]
    asked: Mapping[str, Any] = field(default_factory=dict)
    reserved: tuple[Mapping[str, str], Mapping[str, str]] | None = None


_LIVE = ("pending", "done", "open")

Check: TypeAlias = Callable[[Step], bool]
"""Whether a step follows. The ledger itself knows no arithmetic; whoever wrote the accounts does."""

Answer: TypeAlias = Mapping[str, object]
"""The answer in a row: its text, or where it is kept."""

Holds: TypeAlias = Callable[[Iterable[Row], Callable[[Answer], bytes]], None]
"""Holds each entry against what it paid for, given the rows of a chain that adds up, and what gives their answers.
Raises LedgerCorrupt."""


@dataclass(frozen=True, slots=True)
class IndexRow:
    """One charge, or one use, as the index keeps it: derived from the chain, for finding a key in one step.

    charge, outcome  the rows that opened and closed it: a charge and its outcome, a reserve and its settle
    """

    number: int
    key: str
    status: str
    charge: int
    outcome: int | None
    closed: str | None


@dataclass(frozen=True, slots=True)
class Verification:
    """A chain that holds: its length, its charges and uses by status, its blobs, the hash of its last row."""

    rows: int
    charges: int
    statuses: dict[str, int]
    blobs: int
    head: str
    uses: dict[str, int] = field(default_factory=dict)


class Past(Protocol):
    """The charges that had an outcome at some row, as a check found them that went up to it."""

    def __len__(self) -> int:
        """How many charges there were, those without an outcome among them."""

    @property
    def finished(self) -> int:
        """How many of them have an answer."""

    def at(self, number: int) -> IndexRow | None:
        """The outcome of a charge; None where it had no outcome."""

    def latest(self, key: str) -> int | None:
        """The latest charge for a key."""

    def done(self, before: int, most: int) -> list[int]:
        """The charges with an answer and a number below `before`, in order; the latest of them, `most` at most."""

    def slots(self) -> bytes:
        """All of it."""


@dataclass(slots=True)
class Open:
    """An entry that is open for uses."""

    body: Mapping[str, Any]
    sub: dict[str, str]
    uses: int = 0
    reserved: dict[int, tuple[Mapping[str, Any], Mapping[str, str], Mapping[str, str]]] = field(default_factory=dict)
    keys: dict[str, int] = field(default_factory=dict)  # key -> its latest use


@dataclass(slots=True)
class Audit:
    """Takes the rows in order; afterwards holds the index and the blobs that the chain implies.

    It may take further rows later, as they are written; after a row was refused it is of no use any more.

    past  what an earlier check found, from which this one goes on: `index` has then only what is not in there
    spending  the amounts charged so far for each caller and project
    requests  the requests for a decision
    """

    index: dict[int, IndexRow] = field(default_factory=dict)
    uses: dict[tuple[int, int], IndexRow] = field(default_factory=dict)
    blobs: set[str] = field(default_factory=set)
    last: Row | None = None
    check: Check | None = None
    past: Past | None = None
    spending: Spending = field(default_factory=Spending)
    requests: RequestIndex = field(default_factory=RequestIndex)
    _state: State | None = None
    _keys: dict[str, int] = field(default_factory=dict)  # key -> its latest charge
    _done: list[int] = field(default_factory=list)  # the charges with an answer, in order
    _bodies: dict[int, Mapping[str, Any]] = field(default_factory=dict)  # what the pending charges are for
    _open: dict[int, Open] = field(default_factory=dict)
    _hashes: bytearray = field(default_factory=bytearray)  # of all rows, 32 bytes each

    @classmethod
    def of(cls, rows: Iterable[Row], *, head: str | None = None, check: Check | None = None) -> Audit:
        """Follow the chain to its end; `head` is a hash noted earlier, which must be on it."""
        audit, met = cls(check=check), head is None
        for row in rows:
            audit.take(row)
            met = met or row.hash == head
        if audit.last is None:
            raise broken("it has no first row")
        if not met:
            raise broken(f"the hash {head} noted earlier is not on the chain, so rows were cut off or replaced")
        return audit

    def go_on(
        self,
        state: State,
        hashes: bytearray,
        pending: dict[int, IndexRow],
        asked: dict[int, Mapping[str, Any]],
        uses: dict[tuple[int, int], IndexRow],
        opened: dict[int, Open],
        spending: Spending,
        requests: RequestIndex,
    ) -> None:
        """Begin where an earlier check had come to: with its last row and its past, and what was not over then."""
        self._state, self._hashes, self._bodies, self._open = state, hashes, asked, opened
        self.index, self.uses, self.spending, self.requests = pending, uses, spending, requests
        self._keys = {found.key: number for number, found in pending.items()}

    def take(self, row: Row) -> None:
        last = self.last
        if row.seq != (1 if last is None else last.seq + 1):
            raise broken(f"row {1 if last is None else last.seq + 1} is missing")
        if row.previous != (GENESIS if last is None else last.hash):
            raise broken(f"row {row.seq} does not follow row {row.seq - 1}")
        if (row.kind == "charter") != (row.seq == 1):
            raise broken(f"row {row.seq} is of the wrong kind")
        try:
            self._state = self._next(row, self._state)
        except (AttributeError, KeyError, TypeError, ValueError):
            raise broken(f"row {row.seq} lacks a part of its record") from None
        self._hashes += bytes.fromhex(row.hash)
        self.last = row

    @property
    def state(self) -> State:
        """The state that the last row carries."""
        assert self._state is not None
        return self._state

    @property
    def pending(self) -> list[int]:
        """The charges without an outcome, in order."""
        return sorted(self._bodies)

    @property
    def opened(self) -> list[int]:
        """The entries that are open for uses, in order."""
        return sorted(self._open)

    def hash_of(self, seq: int) -> str:
        """The hash of a row that was taken; empty where there was none of that number."""
        return self._hashes[32 * (seq - 1) : 32 * seq].hex() if seq > 0 else ""

    def latest(self, key: str, of: int = 0) -> int | None:
        """The latest charge for a key; or the latest use for it, of an open entry."""
        if of:
            opened = self._open.get(of)
            return None if opened is None else opened.keys.get(key)
        found = self._keys.get(key)
        return self.past.latest(key) if found is None and self.past is not None else found

    def live(self, key: str, of: int = 0) -> int | None:
        """The charge, or the use, that answers a key or is being drawn for it."""
        number = self.latest(key, of)
        found = None if number is None else self.at((of, number) if of else (number, 0))
        return number if found is not None and found.status in _LIVE else None

    def done(self, before: int, most: int) -> list[int]:
        """The charges with an answer and a number below `before`, in order; the latest of them, `most` at most."""
        known, end = [] if self.past is None else self.past.done(before, most), bisect_left(self._done, before)
        return sorted([*known, *self._done[max(0, end - most) : end]])[-most:] if most else []

    @property
    def finished(self) -> int:
        """How many charges have an answer."""
        return len(self._done) + (0 if self.past is None else self.past.finished)

    def at(self, record_id: tuple[int, int]) -> IndexRow | None:
        """The chain's record of an entry (use 0) or of a use."""
        if record_id[1]:
            return self.uses.get(record_id)
        found = self.index.get(record_id[0])
        return self.past.at(record_id[0]) if found is None and self.past is not None else found

    @property
    def asked(self) -> list[tuple[int, Mapping[str, Any]]]:
        """The subjects of charges without an outcome."""
        return list(self._bodies.items())

    @property
    def opened_entries(self) -> list[tuple[int, Open]]:
        """The entries that are open for uses, and how they stand."""
        return list(self._open.items())

    @property
    def hashes(self) -> bytes:
        """The hashes of all rows, 32 bytes each."""
        return bytes(self._hashes)

    def sub(self, number: int) -> Mapping[str, str] | None:
        """The sub-account of an open entry."""
        opened = self._open.get(number)
        return None if opened is None else opened.sub

    def opener(self, number: int) -> str:
        """The caller who opened an entry; empty where no curator asked."""
        opened = self._open.get(number)
        return "" if opened is None else str(opened.body.get("asked_by", {}).get("name", ""))

    def uses_of(self, number: int) -> int:
        """How many uses there were of an open entry."""
        opened = self._open.get(number)
        return 0 if opened is None else opened.uses

    def settling(self, number: int, use: int, after: Mapping[str, str]) -> Step | None:
        """The step that would settle a use which is pending."""
        opened = self._open.get(number)
        if opened is None or use not in opened.reserved:
            return None
        asked, *reserved = opened.reserved[use]
        return Step("settle", opened.body, opened.sub, after, asked, (reserved[0], reserved[1]))

    def reserving(self, number: int, asked: Mapping[str, Any], after: Mapping[str, str]) -> Step | None:
        """The step that would reserve a use."""
        opened = self._open.get(number)
        return None if opened is None else Step("reserve", opened.body, opened.sub, after, asked)

    def follows(self, step: Step | None) -> bool:
        """Whether the arithmetic allows a step. Where nobody knows any, every step."""
        return self.check is None or (step is not None and self.check(step))

    def _next(self, row: Row, before: State | None) -> State:
        """The state `row` carries, after checking it against the state before."""
        content = row.content
        state = State(**content["state"])
        charges = (before.charges if before else 0) + (row.kind == "charge")
        terms = row.seq if before is None or row.kind == "raise" else before.terms
        if (state.charges, state.terms) != (charges, terms):
            raise broken(f"row {row.seq} counts wrongly")
        self.spending.pass_time(content["at"])
        begins = before is None
        account: Mapping[str, str] = {} if before is None else before.account
        if begins or row.kind in ("charge", "raise"):
            body = content["charter" if begins else "budget" if row.kind == "raise" else "charge"]
            if not self.follows(Step(row.kind, body, account, _texts(dict(state.account)))):
                raise broken(f"row {row.seq} carries totals that do not follow from the ones before")
        if row.kind == "charge":
            self._charge(row, content, charges)
            asked_by = content["charge"].get("asked_by")
            if asked_by is not None:
                self.spending.add(asked_by, account, state.account)
        elif row.kind == "outcome":
            self._outcome(row, content)
        elif row.kind == "reserve":
            self._reserve(row, content)
        elif row.kind == "settle":
            self._settle(row, content)
        elif row.kind == "request":
            self.requests.ask(row.seq, content)
        elif row.kind == "decision":
            self.requests.decide(row.seq, content)
        moves = row.kind in ("charter", "charge", "raise")
        if not moves and before is not None and dict(before.account) != dict(state.account):
            raise broken(f"row {row.seq} changes the account, which only a charge or a raise may do")
        return state

    def _charge(self, row: Row, content: dict[str, Any], charges: int) -> None:
        number, key = content["number"], content["key"]
        if number != charges:
            raise broken(f"row {row.seq} charges entry {number} out of turn")
        live = self.live(key)
        if live is not None:
            raise broken(f"row {row.seq} charges a key whose entry {live} is pending or done")
        self._keys[key] = number
        self._bodies[number] = content["charge"]
        self.index[number] = IndexRow(number, key, "pending", row.seq, None, None)

    def _outcome(self, row: Row, content: dict[str, Any]) -> None:
        number, status, answer, sub = (content.get(name) for name in ("number", "status", "answer", "sub"))
        entry = self.index.get(content["number"])
        fits = status in (*OUTCOMES, "open") and (status == "done") == (answer is not None)
        if entry is None or entry.status != "pending" or not fits or (status == "open") != (sub is not None):
            raise broken(f"row {row.seq} closes entry {number}, which is not open to it")
        self.index[entry.number] = self._closed(entry, row, content)
        body = self._bodies.pop(entry.number)
        if status == "done":
            insort(self._done, entry.number)
        if sub is not None:
            if not self.follows(Step("open", body, {}, _texts(sub))):
                raise broken(f"row {row.seq} opens entry {number} with more than was charged for")
            self._open[entry.number] = Open(body, _texts(sub))

    def _reserve(self, row: Row, content: dict[str, Any]) -> None:
        of, number, key, asked = (content[name] for name in ("entry", "number", "key", "reserve"))
        opened = self._opened(row, of)
        opened.uses += 1
        if number != opened.uses:
            raise broken(f"row {row.seq} reserves use {number} of entry {of} out of turn")
        live = self.live(key, of)
        if live is not None:
            raise broken(f"row {row.seq} reserves a key whose use {live} is pending or done")
        opened.keys[key] = number
        before, after = opened.sub, _texts(content["sub"])
        self._carry(row, opened, after, self.reserving(of, asked, after))
        opened.reserved[number] = (asked, before, after)
        self.uses[of, number] = IndexRow(number, key, "pending", row.seq, None, None)

    def _settle(self, row: Row, content: dict[str, Any]) -> None:
        of, number, status, answer = (content.get(name) for name in ("entry", "number", "status", "answer"))
        opened, use = self._opened(row, content["entry"]), self.uses.get((content["entry"], content["number"]))
        if (
            use is None
            or use.status != "pending"
            or status not in OUTCOMES
            or (status == "done") != (answer is not None)
        ):
            raise broken(f"row {row.seq} settles use {number} of entry {of}, which is not open to it")
        after = _texts(content["sub"])
        if status != "done" and after != opened.sub:
            raise broken(f"row {row.seq} gives back something for a use without an answer")
        self._carry(row, opened, after, self.settling(content["entry"], use.number, after))
        del opened.reserved[use.number]
        self.uses[content["entry"], use.number] = self._closed(use, row, content)

    def _opened(self, row: Row, number: int) -> Open:
        opened = self._open.get(number)
        if opened is None:
            raise broken(f"row {row.seq} is about a use of entry {number}, which is not open for uses")
        return opened

    def _carry(self, row: Row, opened: Open, after: dict[str, str], step: Step | None) -> None:
        """Go on with the sub-account that a row carries."""
        if after.keys() != opened.sub.keys():
            raise broken(f"row {row.seq} carries a sub-account with other parts")
        if not self.follows(step):
            raise broken(f"row {row.seq} carries a sub-account that does not follow from the one before")
        opened.sub = after

    def _closed(self, found: IndexRow, row: Row, content: dict[str, Any]) -> IndexRow:
        answer = content.get("answer")
        if answer and "blob" in answer:
            self.blobs.add(answer["blob"])
        return IndexRow(found.number, found.key, content["status"], found.charge, row.seq, content["at"])

    def verification(self) -> Verification:
        assert self.last is not None
        statuses, uses = (dict(Counter(found.status for found in index.values())) for index in (self.index, self.uses))
        return Verification(self.last.seq, len(self.index), statuses, len(self.blobs), self.last.hash, uses)


def _texts(sub: object) -> dict[str, str]:
    if not isinstance(sub, dict) or not all(isinstance(part, str) for part in sub.values()):
        raise TypeError
    return sub


protect_module(vars())
