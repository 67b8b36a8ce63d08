"""Reading a whole chain again: what it must look like, and where it does not."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from dpviz.session.ledger.chain import GENESIS, OUTCOMES, Row, State, broken


@dataclass(frozen=True, slots=True)
class IndexRow:
    """One charge as the index keeps it: derived from the chain, for finding a key in one step."""

    number: int
    key: str
    status: str
    charge: int
    outcome: int | None
    closed: str | None


@dataclass(frozen=True, slots=True)
class Verification:
    """A chain that holds: its length, its charges by status, its answers kept as blobs, the hash of its last row."""

    rows: int
    charges: int
    statuses: dict[str, int]
    blobs: int
    head: str


@dataclass(slots=True)
class Audit:
    """Takes the rows in order; afterwards holds the index and the blobs that the chain implies."""

    index: dict[int, IndexRow] = field(default_factory=dict)
    blobs: set[str] = field(default_factory=set)
    last: Row | None = None
    _state: State | None = None
    _open: dict[str, int] = field(default_factory=dict)  # key -> the charge that is pending or done

    @classmethod
    def of(cls, rows: Iterable[Row], *, head: str | None = None) -> Audit:
        """Follow the chain to its end; `head` is a hash noted earlier, which must be on it."""
        audit, met = cls(), head is None
        for row in rows:
            audit.take(row)
            met = met or row.hash == head
        if audit.last is None:
            raise broken("it has no first row")
        if not met:
            raise broken(f"the hash {head} noted earlier is not on the chain, so rows were cut off or replaced")
        return audit

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
        except (KeyError, TypeError, ValueError):
            raise broken(f"row {row.seq} lacks a part of its record") from None
        self.last = row

    def _next(self, row: Row, before: State | None) -> State:
        """The state `row` carries, after checking it against the state before."""
        content, state = row.content, row.state
        charges = (before.charges if before else 0) + (row.kind == "charge")
        terms = row.seq if before is None or row.kind == "raise" else before.terms
        if (state.charges, state.terms) != (charges, terms):
            raise broken(f"row {row.seq} counts wrongly")
        if row.kind == "charge":
            self._charge(row, content["number"], content["key"], charges)
        elif row.kind == "outcome":
            self._outcome(row, content["number"], content["status"], content["at"], content.get("answer"))
        if row.kind == "outcome" and before is not None and dict(before.account) != dict(state.account):
            raise broken(f"row {row.seq} changes the account, which only a charge or a raise may do")
        return state

    def _charge(self, row: Row, number: int, key: str, charges: int) -> None:
        if number != charges:
            raise broken(f"row {row.seq} charges entry {number} out of turn")
        if key in self._open:
            raise broken(f"row {row.seq} charges a key whose entry {self._open[key]} is pending or done")
        self._open[key] = number
        self.index[number] = IndexRow(number, key, "pending", row.seq, None, None)

    def _outcome(self, row: Row, number: int, status: str, at: str, answer: dict[str, str] | None) -> None:
        entry = self.index.get(number)
        fits = status in OUTCOMES and (status == "done") == (answer is not None)
        if entry is None or entry.status != "pending" or not fits:
            raise broken(f"row {row.seq} closes entry {number}, which is not open to it")
        self.index[number] = IndexRow(number, entry.key, status, entry.charge, row.seq, at)
        if status != "done":
            del self._open[entry.key]
        if answer and "blob" in answer:
            self.blobs.add(answer["blob"])

    def verification(self) -> Verification:
        assert self.last is not None
        statuses: dict[str, int] = {}
        for entry in self.index.values():
            statuses[entry.status] = statuses.get(entry.status, 0) + 1
        return Verification(self.last.seq, len(self.index), statuses, len(self.blobs), self.last.hash)
