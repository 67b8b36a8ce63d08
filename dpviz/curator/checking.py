"""A declaration, held against the data, the ledger and this machine before it is served. Nothing is charged.

Files that other users of the machine can open are refused, here and when the curator starts: it keeps data from nobody
who can read the file.
"""

from __future__ import annotations

import os
import shlex
import stat
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from dpviz.boundary import Hidden, protect_module
from dpviz.curator.declaration import Analyst, ApprovalRule, Declaration
from dpviz.errors import ParameterError
from dpviz.exact import text
from dpviz.session import accountant, arithmetic
from dpviz.session.ledger import Ledger
from dpviz.session.ledger.locations import locate


@dataclass
class Findings:
    """The findings about one declaration.

    facts     name and words, in order
    columns   by name: kind, and bins in words
    analysts  one row for each: name, proof, scopes, project, caps
    """

    facts: dict[str, str] = field(default_factory=dict)
    columns: dict[str, dict[str, str]] = field(default_factory=dict)
    analysts: list[dict[str, str]] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)

    def to_json(self) -> dict[str, Any]:
        """The findings as plain texts."""
        return {"facts": self.facts, "columns": self.columns, "analysts": self.analysts, "warnings": self.warnings}


def check(declaration: Declaration) -> Findings:
    """Open the schema of the data, look at the ledger, and say who may do what.

    Parameters
    ----------
    declaration : Declaration
        A declared data set.

    Returns
    -------
    Findings
        The findings.

    Raises
    ------
    ParameterError
        If the data cannot be opened, others can read them, or two analysts are one user of this machine.
    SchemaError
        If the data are not as declared.
    UnitError
        If the unit names no column.
    LedgerError
        If there is a ledger that cannot be read.
    """
    check_files(declaration)
    source = declaration.source()
    found = Findings()
    left = _left(declaration)
    found.facts = {
        "dataset": declaration.dataset,
        "engine": source.engine,
        "unit": declaration.unit.text,
        "budget": declaration.budget.text,
        "ledger": left or "none there yet; it is begun when the curator starts",
        "listens": ", ".join(_places(declaration)),
        "outcomes": f"every {text(declaration.tick)} seconds",
    }
    for place, rule in enumerate(declaration.approvals, 1):
        found.facts[f"waits {place}"] = _rule(rule)
    bins = declaration.bins
    for column in source.columns:
        declared = bins[column.name].text if column.name in bins else ""
        written = f", {column.written}" if column.written and column.kind != "text" else ""
        found.columns[column.name] = {"kind": f"{column.kind}{written}", "bins": declared}
    _ = declaration.uids  # refuses two analysts who are one user
    found.analysts = [_analyst(declaration, one) for one in declaration.analysts]
    found.warnings = list(_warnings(declaration))
    return found


def _left(declaration: Declaration) -> str:
    """The remaining budget of a ledger that is there."""
    place = Hidden(declaration.ledger.take())
    if not locate(place).exists():
        return ""
    ledger = Ledger.read(place, check=arithmetic.known)
    return f"{ledger.name}, {accountant.remaining(ledger.account)!r}".replace("<", "").replace(">", "")


def _places(declaration: Declaration) -> Iterator[str]:
    listening = declaration.listening
    if listening.socket is not None:
        group = f", group {listening.group}" if listening.group else ""
        yield f"unix:{listening.socket} (mode {listening.mode:04o}{group})"
    if listening.host:
        scheme = "http" if listening.certificate is None else "https"
        yield f"{scheme}://{listening.host}:{listening.port}"


def _rule(rule: ApprovalRule) -> str:
    """The releases that wait for a decision, in words."""
    parts = [
        f"ε above {text(rule.above_epsilon)}" if rule.above_epsilon is not None else "",
        f"δ above {text(rule.above_delta)}" if rule.above_delta is not None else "",
        f"by {', '.join(sorted(rule.mechanisms))}" if rule.mechanisms else "",
        f"of {', '.join(sorted(rule.columns))}" if rule.columns else "",
    ]
    return f"for approval: {', '.join(filter(None, parts))}"


def _analyst(declaration: Declaration, one: Analyst) -> dict[str, str]:
    proofs = []
    if one.login is not None:
        uid = one.uid
        proofs.append(f"no user {one.login} here" if uid is None else f"user {uid} of this machine")
    if one.hub:
        proofs.append(f"JupyterHub: {one.hub}")
    if one.tokens:
        proofs.append("a token" if len(one.tokens) == 1 else f"{len(one.tokens)} tokens")
    caps = [*declaration.caps.analysts.get(one.name, declaration.caps.each)]
    shared = [f"{cap.text} of {one.project}" for cap in declaration.caps.projects.get(one.project, ())]
    return {
        "analyst": one.name,
        "known by": ", ".join(proofs) or "nothing yet: give a login, a hub user or a token",
        "may": ", ".join(sorted(one.scopes)),
        "project": one.project,
        "caps": "; ".join([*(cap.text for cap in caps), *shared]),
    }


def _warnings(declaration: Declaration) -> Iterator[str]:
    if not declaration.analysts:
        yield "no analyst is named, so nobody can ask"
    for one in declaration.analysts:
        if isinstance(one.login, str) and one.uid is None:
            yield f"{one.name}: this machine has no user {one.login}"
    if _allows(declaration.path, stat.S_IWOTH | stat.S_IWGRP):
        yield f"{declaration.path.name}: others can change who may do what; chmod go-w"


def check_files(declaration: Declaration) -> None:
    """Refuse data, a ledger or a key of TLS that every user of this machine can read: then nothing would be kept.

    Parameters
    ----------
    declaration : Declaration
        A declared data set. Places that are no files of this machine, or are not there yet, are let be.

    Raises
    ------
    ParameterError
        If a file is open to users who are neither its owner nor of its group.
    """
    data = None if declaration.data.url else declaration.data.place
    places = [place.take() for place in (data, declaration.ledger) if place is not None]
    files = [Path(place) for place in places if "://" not in place]
    if declaration.listening.key is not None:
        files.append(declaration.listening.key)
    for path in files:
        if _allows(path, stat.S_IROTH | stat.S_IWOTH):
            raise ParameterError.of(
                path.name,
                "a curator keeps files that other users of this machine cannot read or write",
                f"chmod -R o-rwx {shlex.quote(path.name)}, and see that analysts are not in its group",
            )


def _allows(path: Path, bits: int) -> bool:
    """Whether the mode of a file, or of one in a folder, has one of these bits. Without a file none has."""
    try:
        within = (Path(folder, name) for folder, _, names in os.walk(path) for name in names)
        files = within if path.is_dir() else [path] if path.exists() else []
        return any(file.stat().st_mode & bits for file in files)
    except OSError:
        return False


protect_module(vars())
