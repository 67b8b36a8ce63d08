"""Messages of a curator besides orders: what its clients may know, as JSON. Both sides read and write them here."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal

from dpviz import errors
from dpviz.boundary import protect_module
from dpviz.errors import BudgetExceeded, DpvizError, LedgerAway, printable
from dpviz.model.source import TopRules
from dpviz.model.statistic import Column
from dpviz.privacy.unit import Unit
from dpviz.session.ledger import Entry, Raise, UseRecord

PROTOCOL: Final = 1
"""The version of all messages. A client and a curator of different versions refuse one another."""

LONGEST_MESSAGE: Final = 1 << 20
"""Bytes of one message to a curator. An order is a few hundred; one with a long list of labels may be long."""

State = Literal["queued", "approval", "drawing", "done", "failed"]
"""The states of an order: it waits for others, or for the owner's approval; it is drawn; it has an answer, or none."""

UNKNOWN: Final = "an unknown order"
"""The value of the refusal of an order that a curator does not know, or knows no more."""

ENDED: Final = ("done", "failed")


@dataclass(frozen=True, slots=True)
class PublicFacts:
    """The facts about the data set that anybody who may plan may know.

    name      the declared name of the data set
    engine    the name of what counts
    ledger    the name of the ledger
    columns   the declared schema
    unit      the protected unit, with its declared facts
    top       how the engine orders its largest counts
    bins      declared domains, as JSON, by column
    you       the name that the caller was authenticated as
    scopes    what the caller may do
    tick      seconds between two moments at which outcomes are made known, as text
    """

    name: str
    engine: str
    ledger: str
    columns: tuple[Column, ...]
    unit: Unit
    top: TopRules
    bins: Mapping[str, Any]
    you: str
    scopes: tuple[str, ...]
    tick: str

    def to_json(self) -> dict[str, Any]:
        """The message."""
        return {
            "protocol": PROTOCOL,
            "dataset": self.name,
            "engine": self.engine,
            "ledger": self.ledger,
            "columns": [
                {"name": column.name, "kind": column.kind, "untyped": column.untyped, "written": column.written}
                for column in self.columns
            ],
            "unit": {**self.unit.to_json(), **self.unit.facts},
            "top": {"exact": self.top.exact, "ties": self.top.ties},
            "bins": dict(self.bins),
            "you": self.you,
            "scopes": list(self.scopes),
            "tick": self.tick,
        }

    @classmethod
    def from_json(cls, told: Mapping[str, Any]) -> PublicFacts:
        """The facts in a message."""
        texts = [told[part] for part in ("dataset", "engine", "ledger", "you", "tick")]
        texts += [part for column in told["columns"] for part in (column["name"], column["kind"], column["written"])]
        if not all(isinstance(part, str) for part in (*texts, *told["scopes"], *told["bins"])):
            raise TypeError
        return cls(
            name=told["dataset"],
            engine=told["engine"],
            ledger=told["ledger"],
            columns=tuple(Column(**column) for column in told["columns"]),
            unit=Unit(**told["unit"]),
            top=TopRules(**told["top"]),
            bins=told["bins"],
            you=told["you"],
            scopes=tuple(told["scopes"]),
            tick=told["tick"],
        )


@dataclass(frozen=True, slots=True)
class Standing:
    """The standing of an order, at one tick.

    version   grows with every change
    state     one of `State`
    done, of  1 of 1 where it is done; the progress of a draw would tell more of its time than ticks do
    waiting   its reason to wait, in words
    entry     the entry that was charged, and `use` the use of it; None where nothing is charged yet
    free      whether the answer was paid for before
    spent     what is spent, in words; `value` as exact text
    error     why there is no answer
    """

    version: int
    state: State
    done: int = 0
    of: int = 1
    waiting: str = ""
    entry: int | None = None
    use: int | None = None
    free: bool = False
    spent: str = ""
    value: str = ""
    error: Mapping[str, Any] | None = None

    def to_json(self) -> dict[str, Any]:
        """The message."""
        return {name: getattr(self, name) for name in self.__slots__}

    @classmethod
    def from_json(cls, told: Mapping[str, Any]) -> Standing:
        """The standing in a message."""
        return cls(**{name: told[name] for name in cls.__slots__})


# ---------------------------------------------------------------- the ledger's records


def record_json(found: Entry | UseRecord, *, shown: bool, mine: bool) -> dict[str, Any]:
    """An entry or a use as a message.

    shown  whether the reader may know who asked for it
    mine   whether it is drawn for the reader
    """
    body = dict(found.body) if shown else {name: part for name, part in found.body.items() if name != "asked_by"}
    told = {
        "number": found.number,
        "key": found.key,
        "body": body,
        "status": found.status,
        "opened": found.opened,
        "closed": found.closed,
        "mine": mine and found.status == "pending",
        "person": found.person if shown else "",
    }
    return {**told, "entry": found.entry} if isinstance(found, UseRecord) else told


def entry_from(told: Mapping[str, Any]) -> Entry:
    """The entry in a message."""
    return Entry(**_checked(told))


def use_from(told: Mapping[str, Any]) -> UseRecord:
    """The use in a message."""
    return UseRecord(**_checked(told))


def _checked(told: Mapping[str, Any]) -> Mapping[str, Any]:
    """The fields of a record. Raises TypeError where one is of another kind."""
    texts = all(isinstance(told[part], str) for part in ("key", "status", "opened", "person"))
    number = isinstance(told["number"], int) and not isinstance(told["number"], bool)
    if not (texts and number and isinstance(told["body"], dict)):
        raise TypeError
    return told


def raise_json(found: Raise) -> dict[str, Any]:
    """A raise of the budget as a message."""
    return {"at": found.at, "budget": dict(found.budget), "person": found.person, "reason": found.reason}


# ---------------------------------------------------------------- errors


EXTRA: Final = ("part", "left", "starting")
"""Parts of some errors beside those of all."""


def error_json(error: DpvizError) -> dict[str, Any]:
    """An error as a message: it carries no data, so it may be sent."""
    extra = {name: getattr(error, name) for name in EXTRA if hasattr(error, name)}
    return {
        "error": type(error).__name__,
        "message": str(error),
        "value": error.value,
        "rule": error.rule,
        "next_step": error.next_step,
        **extra,
    }


def error_from(told: Mapping[str, Any]) -> DpvizError:
    """The error in a message, of its own class where this dpviz has it."""
    kind = getattr(errors, str(told.get("error")), DpvizError)
    if not (isinstance(kind, type) and issubclass(kind, DpvizError)):
        kind = DpvizError
    texts = {name: printable(str(told.get(name, ""))) for name in ("message", "value", "rule", "next_step")}
    made = kind(texts.pop("message"), **texts)
    if isinstance(made, BudgetExceeded):
        made.part, made.left = str(told.get("part", "")), str(told.get("left", ""))
    if isinstance(made, LedgerAway):
        made.starting = told.get("starting") is True
    return made


protect_module(vars())
