"""The authenticated sender of a request, where one process keeps the data and others ask."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias, get_args

from dpviz.boundary import as_given, protect_module
from dpviz.errors import ParameterError, unwritable

Scope: TypeAlias = Literal["plan", "release", "approve", "audit"]

SCOPES: tuple[Scope, ...] = get_args(Scope)
"""The rights there are: to see the charter and what is left, to pay for answers, to decide requests, to read the
record of everybody."""

LONGEST = 100
"""The most characters of a name, a project or a proof."""


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


def checked_caller(caller: object) -> Caller:
    """The caller, or a refusal: each of its texts will stand in the ledger."""
    if type(caller) is not Caller:
        rule, step = "a caller is whom a curator authenticated", 'give a Caller(name="ana")'
        raise ParameterError.of(as_given(caller), rule, step)
    for part, said in caller.to_json().items():
        least = 1 if part == "name" else 0
        if not isinstance(said, str) or not least <= len(said.strip()) <= len(said) <= LONGEST or unwritable(said):
            rule = f"the {part} of a caller is a text of {least} to {LONGEST} characters"
            raise ParameterError.of(as_given(said), rule, "write a shorter one in quotes")
    return caller


protect_module(vars())
