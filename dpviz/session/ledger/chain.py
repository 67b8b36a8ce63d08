"""One row of the chain: canonical JSON, and a hash over it and over the hash of the row before."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from dpviz.errors import LedgerCorrupt, ParameterError, short
from dpviz.session.ledger import packing

FORMAT = 6
"""Written in the first row, under "format". A reader refuses a larger number before it looks at anything else.

Format 1 had no uses: no "reserve", no "settle", no outcome "open". A ledger of format 1 is read as it is and may be
charged and used further; once it holds a row of a new kind, a dpviz that knows format 1 only refuses it at that row.
Format 3 is format 2 with packed texts, in files only (`packing`); a file of an earlier format goes on as it is.
Format 4 is for budgets that name their conversion, in files and on servers; other ledgers are begun as before. Where
such a budget is put in force by a raise, an earlier dpviz refuses the ledger at that row.
Format 5 is for budgets that name their reserve; other ledgers are begun as before.
Format 6 is for ledgers whose releases may wait for a decision; an earlier ledger goes on as it is, and an earlier dpviz
refuses it at the first row of a request.
A kind of sub-session needs no format of its own: its charge is a price like any other, which an earlier dpviz adds up,
and it refuses to open what it does not know.
"""

CONVERTING = 4
"""The first format whose budgets may name a conversion."""

RESERVING = 5
"""The first format whose budgets may name a reserve."""

REQUESTING = 6
"""The first format in which a charge may wait for a decision, so that rows are requests and decisions."""

SERVED = 2
"""The format of what is on a server, which packs by itself what is worth it."""

ROW_KINDS = ("charter", "raise", "charge", "outcome", "reserve", "settle", "request", "decision")
OUTCOMES = ("done", "cancelled", "failed", "lost")
GENESIS = "0" * 64

_LARGEST = 2**53  # beyond this other readers of JSON lose digits, so larger numbers travel as text


def canonical(value: object, name: str = "body") -> str:
    """The one way to write `value` as JSON: sorted keys, no spaces, ASCII, no floats.

    >>> canonical({"b": [1, True, None], "a": "é"})
    '{"a":"\\\\u00e9","b":[1,true,null]}'
    """
    return json.dumps(_plain(value, (name,)), sort_keys=True, separators=(",", ":"), ensure_ascii=True)


def _plain(value: object, path: tuple[object, ...]) -> object:
    """The value in JSON's own types; `path` leads to it, and is put into words for a refusal only."""
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, str):
        return str(value)
    if isinstance(value, int) and abs(value) < _LARGEST:
        return int(value)
    if isinstance(value, Mapping):
        for key in value:
            if not isinstance(key, str):
                raise ParameterError.of(key, f"the keys of {_named(path)} must be text", "write its keys as text")
        return {str(key): _plain(item, (*path, key)) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item, (*path, place)) for place, item in enumerate(value)]
    raise ParameterError.of(
        type(value).__name__,
        f"{_named(path)} must be text, a whole number below 2^53, true, false, null, a list or a mapping",
        "write other numbers as text",
    )


def _named(path: tuple[object, ...]) -> str:
    """The name of a part of a value: `body.question.low[0]`."""
    name, *parts = path
    return f"{name}{''.join(f'[{part}]' if isinstance(part, int) else f'.{short(part, 40)}' for part in parts)}"


@dataclass(frozen=True, slots=True)
class State:
    """The state that every row carries, so that the last row alone says where the ledger stands.

    account  the accountant's totals, opaque here
    charges  how many charges there have been
    terms    the row that set the budget in force
    """

    account: Mapping[str, str]
    charges: int
    terms: int

    def to_json(self) -> dict[str, object]:
        return {"account": dict(self.account), "charges": self.charges, "terms": self.terms}


@dataclass(frozen=True, slots=True)
class Row:
    """A chained row. `body` is canonical JSON with "at" (UTC), "state", and what its kind adds."""

    seq: int
    kind: str
    body: str
    previous: str
    hash: str

    @classmethod
    def after(cls, last: Row | None, kind: str, state: State, **parts: object) -> Row:
        """The row that follows `last` (None: the first row)."""
        seq = 1 if last is None else last.seq + 1
        previous = GENESIS if last is None else last.hash
        body = canonical({"at": now(), "state": state.to_json(), **parts}, kind)
        return cls(seq, kind, body, previous, _digest(seq, kind, body, previous))

    @classmethod
    def read(cls, record: Any) -> Row:
        """A row as stored, refused unless its hash fits. The message names the row and none of its text."""
        seq, kind, found, previous, hash_ = record
        body: Any = packing.unpacked(found)
        texts = all(isinstance(item, str) for item in (kind, body, previous, hash_))
        if (
            not isinstance(seq, int)
            or not texts
            or kind not in ROW_KINDS
            or _digest(seq, kind, body, previous) != hash_
        ):
            raise broken(f"row {seq if isinstance(seq, int) else '?'} does not match its hash")
        return cls(seq, kind, body, previous, hash_)

    @property
    def content(self) -> dict[str, Any]:
        content = json.loads(self.body)
        assert isinstance(content, dict)
        return content

    @property
    def state(self) -> State:
        return State(**self.content["state"])


def _digest(seq: int, kind: str, body: str, previous: str) -> str:
    # "replace": a body that is no valid text then differs in its hash instead of failing to be hashed
    return hashlib.sha256(f"{seq}\n{kind}\n{previous}\n{body}".encode("utf-8", "replace")).hexdigest()


def now() -> str:
    """The present in UTC, to the second: finer times would record how long each draw took."""
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def broken(where: str) -> LedgerCorrupt:
    return LedgerCorrupt(
        f"the ledger is damaged: {where}; count what was charged since the last backup as spent, and "
        "restore a backup that `dpviz ledger verify` accepts",
        value=where,
        rule="every row must match its hash and follow the one before",
        next_step="restore a backup that `dpviz ledger verify` accepts",
    )
