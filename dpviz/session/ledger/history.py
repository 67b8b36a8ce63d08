"""The terms of a ledger: its charter against a visitor's, every raise of its budget, what it last knew."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection

from dpviz.errors import CharterMismatch, short
from dpviz.session.ledger import rows
from dpviz.session.ledger.chain import broken, canonical

CHARTER = ("dataset", "schema", "unit", "budget")


@dataclass(frozen=True, slots=True)
class Raise:
    """A budget that was put in force.

    at      when, UTC
    budget  the budget from then on
    person  who did it, as they said; empty where the ledger was written before persons were
    reason  why, as they said; empty where nobody said
    """

    at: str
    budget: Mapping[str, Any]
    person: str
    reason: str

    @property
    def text(self) -> str:
        """The budget in words: `ε 3, δ 0.000001`."""
        return budget_text(self.budget)


@dataclass(frozen=True, slots=True)
class Known:
    """Totals that a ledger said: now, or, where its server is away, at the time `seen`."""

    totals: Mapping[str, str]
    seen: float | None = None

    @property
    def asof(self) -> str:
        """Empty where the ledger answered; else the local time at which it last did."""
        if self.seen is None:
            return ""
        then, now = time.localtime(self.seen), time.localtime()
        return time.strftime("%H:%M" if then[:3] == now[:3] else "%Y-%m-%d %H:%M", then)

    @property
    def at(self) -> str:
        """As `asof`, in UTC, for a machine."""
        return "" if self.seen is None else time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(self.seen))


def raises(connection: Connection) -> list[Raise]:
    """Every raise of the budget, in order. Each row names the row that set the terms in force, so few are read."""
    found: list[Raise] = []
    terms = rows.last(connection).state.terms
    while terms > 1:
        row = rows.row_at(connection, terms)
        content = row.content
        if row.kind != "raise":
            raise broken(f"row {terms} is said to have raised the budget")
        found.append(Raise(content["at"], content["budget"], content.get("person", ""), content.get("reason", "")))
        terms = rows.row_at(connection, terms - 1).state.terms
    return found[::-1]


# ---------------------------------------------------------------- one charter against another


def compare(connection: Connection, here: Mapping[str, object]) -> None:
    """Refuse a charter that is not the ledger's, showing both."""
    there = rows.charter(connection)
    mine = {part: _plain(here[part], part) for part in CHARTER}
    if _of_earlier(there["budget"]):  # whoever opens it means the conversion that it has
        mine["budget"] = _without_conversion(mine["budget"])
    differing = {part: _differences(part, there[part], mine[part]) for part in CHARTER}
    parts = [part for part in CHARTER if differing[part]]
    if not parts:
        return
    value = "; ".join(sentence for part in parts for sentence in differing[part][:3])
    if parts == ["budget"]:
        rule = "the budget of a ledger changes only by a recorded raise"
        said, step = _other_budget(connection, there["budget"], mine["budget"])
    else:
        others = " and ".join(part for part in parts if part != "budget")
        rule = f"a ledger belongs to one {others}"
        said, step = "", f"give the ledger's own {others}, or start another ledger file"
    if connection.dialect.name == "sqlite" and rows.head(connection)[0] == 1:
        step += "; or write restart=True, which moves the file aside, for nothing was charged in it"
    both = f"the ledger has {charter_text(there)}; you gave {charter_text(mine)}"
    error = CharterMismatch(f"{said or rule}: {value} ({both}); {step}", value=value, rule=rule, next_step=step)
    error.theirs, error.yours = _texts(there), _texts(mine)
    raise error


def _other_budget(connection: Connection, there: Mapping[str, Any], mine: object) -> tuple[str, str]:
    """Describe the changes to the budget, where the visitor's was in force once, and the next step."""
    found = raises(connection)
    before = [rows.row_at(connection, 1).content["charter"]["budget"], *(one.budget for one in found)][:-1]
    step = f"open it with {budget_code(there)}"
    if _without_conversion(mine) not in map(_without_conversion, before):
        return "", f"{step}, then call session.raise_budget(...) if more is needed"
    last = found[-1]
    by = f" by {short(last.person, 80)}" if last.person else ""
    return f"the budget of this ledger was raised to {budget_text(there)}{by} on {last.at[:10]}", step


def _of_earlier(budget: object) -> bool:
    """Whether a budget names no conversion, as before there were two."""
    return isinstance(budget, dict) and "conversion" not in budget


def _without_conversion(budget: object) -> object:
    """A budget without the conversion of today's budgets."""
    if isinstance(budget, dict) and budget.get("conversion") == "cks":
        return {part: value for part, value in budget.items() if part != "conversion"}
    return budget


def _plain(value: object, name: str) -> Any:
    """A part of a charter as it is read back."""
    return json.loads(canonical(value, name))


def _differences(name: str, there: object, here: object) -> list[str]:
    """`epsilon is "2" in the ledger and "3" here`, for each place where two pieces of JSON differ."""
    if there == here and type(there) is type(here):
        return []
    if isinstance(there, dict) and isinstance(here, dict):
        found: list[str] = []
        for key in sorted(there.keys() | here.keys()):
            found += _differences(key, there.get(key), here.get(key))
        return found
    return [f"{short(name, 40)} is {short(canonical(there))} in the ledger and {short(canonical(here))} here"]


# ---------------------------------------------------------------- words

_SYMBOLS = {"epsilon": "ε", "delta": "δ"}


def ordered(part: Mapping[str, Any]) -> dict[str, Any]:
    """Epsilon and delta first: stored JSON is in the order of the alphabet."""
    return {name: part[name] for name in sorted(part, key=lambda name: (name not in _SYMBOLS, name != "epsilon"))}


def charter_text(charter: Mapping[str, Any]) -> str:
    """`dataset visits, schema age number, unit row, budget ε 2, δ 0`: each part as it was declared."""
    return ", ".join(f"{part} {text}" for part, text in _texts(charter).items())


def _texts(charter: Mapping[str, Any]) -> dict[str, str]:
    return {part: short(_part(charter[part]), 160) for part in CHARTER}


def _part(part: object) -> str:
    if not isinstance(part, Mapping):
        return str(part)
    listed = ", ".join(f"{_SYMBOLS.get(name, name)} {one}" for name, one in ordered(part).items() if one is not None)
    return f"({listed})"


def budget_text(budget: Mapping[str, Any]) -> str:
    """`ε 3, δ 0.000001`."""
    return ", ".join(
        f"{_SYMBOLS[name]} {short(value, 60)}"
        for name, value in ordered(budget).items()
        if name in _SYMBOLS and (name, value) != ("delta", "0")
    )


def budget_code(budget: Mapping[str, Any]) -> str:
    """The call that makes it: `dv.Budget(epsilon="3", delta="0.000001")`."""
    given = ", ".join(f'{name}="{short(value, 60)}"' for name, value in ordered(budget).items())
    return f"dv.Budget({given})"
