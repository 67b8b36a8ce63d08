"""The authenticated sender of a request, where one process keeps the data and others ask."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias, get_args

from dpviz.boundary import protect_module

Scope: TypeAlias = Literal["plan", "release", "approve", "audit"]

SCOPES: tuple[Scope, ...] = get_args(Scope)
"""The rights there are: to see the charter and what is left, to pay for answers, to decide requests, to read the
record of everybody."""


@dataclass(frozen=True, slots=True)
class Caller:
    """A person who was authenticated by the service that keeps the data.

    name     as the declaration of the data names them; it stands beside each of their charges
    project  the project whose cap their charges count against; empty for none
    scopes   what they may do
    proof    how they were authenticated, in words: "user 1001 of this machine", "a token", "JupyterHub"
    """

    name: str
    project: str = ""
    scopes: frozenset[Scope] = frozenset({"plan", "release"})
    proof: str = ""

    def to_json(self) -> dict[str, str]:
        """The caller as an entry of the ledger names them."""
        return {"name": self.name, "project": self.project, "proof": self.proof}


protect_module(vars())
