"""The public state of a session: budget, history, questions. All public, all texts."""

from __future__ import annotations

import os
import secrets
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from fractions import Fraction
from typing import Any

from dpviz.engines.schema import COLUMN_KINDS
from dpviz.errors import short
from dpviz.exact import text
from dpviz.model.domain import TimeDomain
from dpviz.model.question import Question
from dpviz.model.statistic import Column
from dpviz.model.ways import CALLED
from dpviz.privacy.conversion import to_approx
from dpviz.privacy.grid import payable
from dpviz.session.accountant import Remaining, entered
from dpviz.session.custody import Charged, Charter, Custody, Raised
from dpviz.session.plan import Plan
from dpviz.session.running import Running
from dpviz.session.saved import UNREADABLE
from dpviz.widgets.order import Order

VERSION = 1
MOST_NAMED = 40
"""A history shows so many characters of an entry's own key."""
HISTORY = 200
"""How many of the latest entries a page gets."""

OUTCOMES = 8
"""How many of the latest orders a page is told the end of, again and again: news may get lost."""

KERNEL = f"{os.getpid():x}-{secrets.token_hex(4)}"
"""Names this kernel process, so that a page notices a restart."""


class Numbered:
    """States with a number that grows with every change, so that a page can tell an older from a newer one."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._body: dict[str, Any] = {}
        self._number = 0

    def of(self, read: Callable[[], dict[str, Any]]) -> dict[str, Any]:
        """The state as it is read now. The earlier reading has the smaller number, whichever thread reads."""
        with self._lock:
            body = read()
            if {**body, "asof": ""} != {**self._body, "asof": ""}:  # looked at again, and the same, is no change
                self._body, self._number = body, self._number + 1
            return {**self._body, "serial": str(self._number)}

    @property
    def body(self) -> dict[str, Any]:
        """The last state that could be read; empty before the first."""
        return self._body

    def last(self, change: dict[str, Any]) -> dict[str, Any]:
        """The last state that could be read, with these parts changed."""
        with self._lock:
            return self.of(lambda: {**self._body, **change})


def orders(order: Order | None, outcomes: Iterable[dict[str, Any]], other: Running | None) -> dict[str, Any]:
    """The order on its way, and how the last ones ended: so a page finds its own again, whatever message was lost.

    other  what is drawn meanwhile that nobody ordered here
    """
    running = None
    if order is not None and not order.over and not order.running.done:
        running = {**running_json(order.running), "re": order.request.id}
    elif other is not None and not other.done:
        running = running_json(other)
    return {"running": running, "outcomes": list(outcomes)}


def named(running: Mapping[str, Any] | None) -> tuple[str, str] | None:
    """Which draw is on its way, and by which entry it is paid."""
    return None if running is None else (running["token"], running["number"])


def session_state(
    session: Custody, questions: Iterable[Question], bins: Sequence[Mapping[str, str]] = ()
) -> dict[str, Any]:
    """The session state of widgets/PROTOCOL.md, but for the orders."""
    charter = session.charter
    shared = {
        "version": VERSION,
        "title": charter.dataset,
        "kernel": KERNEL,
        "unit": {
            "text": charter.unit.text,
            "noun": charter.unit.noun,
            "nouns": charter.unit.nouns,
            "row": charter.unit.is_row,
        },
        "columns": [
            {"name": column.name, "kind": column.kind, "untyped": column.untyped} for column in countable(charter)
        ],
        "questions": [
            {
                "id": question.id,
                "column": " × ".join(question.domain.columns),
                "bins_text": question.domain.text,
                "bins": str(question.bins) if question.domain.declared else "",
                "where": question.where_text,
                "asks": question.aggregate.noun,
                **({"each": question.each_text} if question.each_text else {}),
            }
            for question in questions
        ],
        "bins": list(bins),
    }
    asof = now()
    record = session.record(HISTORY)
    return {
        **shared,
        "ledger": record.name,
        "new": record.new,
        "asof": asof,
        "teaching": None if charter.seed is None else {"seed": str(charter.seed)},
        "budget": None if record.remaining is None else purses(record.remaining, record.hanging),
        "entries": [entry_json(entry) for entry in sorted(record.entries, key=lambda entry: entry.number)],
        "raises": [raise_json(raised) for raised in record.raises],
    }


def countable(charter: Charter) -> list[Column]:
    """The columns that a page offers to count by: not the users, and none that no question can read."""
    kinds = (*COLUMN_KINDS, TimeDomain.needs)
    return [column for column in charter.columns if column.kind in kinds and column.name != charter.unit.of]


def now() -> str:
    """The time as a ledger writes it, UTC, finely enough for two looks at it to differ."""
    return datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def purses(remaining: Remaining, hanging: Sequence[Charged]) -> dict[str, dict[str, str]]:
    """The spent, pending and remaining amounts of each part that the filter adds up.

    Under the zCDP filter `epsilon` is about a single answer: the largest that still fits, of the largest that fitted
    at first; what adds up is `rho`.
    """
    pending = dict.fromkeys(remaining.parts, Fraction(0))
    for entry in hanging:
        for part, amount in entered(remaining.filter, entry.body["price"]).items():
            pending[part] += amount
    found = {part: _purse(most, pending[part], remaining.parts[part]) for part, most in remaining.caps.items()}
    if remaining.filter == "zcdp":
        found["epsilon"] = _purse(remaining.largest, Fraction(0), remaining.epsilon)
    return found


def _purse(total: Fraction, pending: Fraction, left: Fraction) -> dict[str, str]:
    spent = total - left - pending
    return {"total": text(total), "spent": text(spent), "pending": text(pending), "left": text(left)}


def entry_json(entry: Charged) -> dict[str, Any]:
    status: str = entry.status
    if status == "pending" and not entry.mine:
        status = "elsewhere"
    return {
        "number": str(entry.number),
        "question": entry.body["question_text"],
        "question_id": entry.body["question_id"],
        "key": entry.key,
        "mechanism": mechanism_text(entry.body["mechanism"]),
        "guarantee": entry.body["price"]["kind"],
        "proof": entry.body["price"]["rule"],
        "price": {"epsilon": entry.body["price"]["epsilon"], "delta": entry.body["price"]["delta"]},
        "epsilon": entry.body["mechanism"]["parameters"].get("epsilon", ""),
        "status": status,
        "opened": entry.opened,
        "person": entry.person,
        **({"named": short(named, MOST_NAMED)} if (named := entry.body.get("user_key")) else {}),
    }


def mechanism_text(stored: Mapping[str, Any]) -> str:
    """`Dense`; of answers about parts what gives them and how the price is shared out: `Dense, parallel parts`."""
    name, parameters = str(stored["name"]), stored["parameters"]
    called = next((words for way, words in CALLED.items() if way == parameters.get("way")), "")
    return f"{parameters.get('mechanism', name)}, {called}" if called else name


def raise_json(raised: Raised) -> dict[str, Any]:
    return {"at": raised.at, "budget": raised.text, "person": raised.person, "reason": raised.reason}


def running_json(running: Running) -> dict[str, Any]:
    progress = running.progress
    return {
        "token": running.token,
        "number": "" if running.number is None else str(running.number),
        "done": str(progress.done),
        "of": str(progress.of),
        "text": progress.text,
        "waiting": running.waiting,
    }


def price_of(plan: Plan) -> dict[str, Fraction]:
    """The charge for a release, by name."""
    charged = payable(to_approx(plan.price.loss))
    return {"epsilon": charged.epsilon, "delta": charged.delta}


def known_questions(session: Custody) -> list[Question]:
    """Questions that were asked already, newest first: they are public, and worth offering again."""
    entries = sorted(session.record(HISTORY).entries, key=lambda entry: -entry.number)
    known: list[Question] = []
    for entry in entries:
        with suppress(*UNREADABLE):  # one that this dpviz cannot read is no reason to open no page at all
            if "question" in entry.body:
                known.append(Question.from_json(entry.body["question"]))
    return known
