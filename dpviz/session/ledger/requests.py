"""Requests for a decision, and decisions, as rows of the chain: neither changes the account.

A request is found by its key and made once; a decision about it is made once and for all, by somebody else than who
asked. Both stay in the chain whatever becomes of the process that wrote them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias, get_args

from dpviz.boundary import protect_module
from dpviz.errors import Forbidden, LedgerError, SessionBusy
from dpviz.session.ledger.chain import broken

Verdict: TypeAlias = Literal["approve", "refuse", "instead"]
VERDICTS: tuple[Verdict, ...] = get_args(Verdict)
"""The decisions: for a request, against it, or for another one in its place, which is approved with it."""

MOST_WAITING = 20
"""The most requests of one caller that wait for a decision."""


@dataclass(frozen=True, slots=True)
class Decision:
    """A decision about a request.

    verdict  "approve", "refuse", or "instead": another request is approved in its place
    body     the reason and who decided; all public
    at       when, UTC
    person   who decided
    """

    verdict: Verdict
    body: Mapping[str, Any]
    at: str
    person: str

    @property
    def reason(self) -> str:
        """The reason in the words of who decided; empty where there is none."""
        return str(self.body.get("reason", ""))


@dataclass(frozen=True, slots=True)
class DecisionRequest:
    """A request that waits for a decision, or has one.

    number    1, 2, 3 ... in the order of asking
    key       the digest that it is found under
    body      what is asked for, all public
    at        when, UTC
    person    who asks
    decision  the decision; None while it waits
    """

    number: int
    key: str
    body: Mapping[str, Any]
    at: str
    person: str
    decision: Decision | None = None

    @property
    def asked_by(self) -> dict[str, str]:
        """Name, project and proof of the caller; empty where no curator asked."""
        return dict(self.body.get("asked_by", {}))

    @property
    def by(self) -> str:
        """Who asks, in words: with project and proof where a curator authenticated them."""
        more = ", ".join(said for part, said in sorted(self.asked_by.items()) if part != "name" and said)
        return f"{self.person} ({more})" if more else self.person

    @property
    def state(self) -> Literal["waiting", "approve", "refuse", "instead"]:
        """`waiting`, or the verdict."""
        return "waiting" if self.decision is None else self.decision.verdict


@dataclass(slots=True)
class RequestIndex:
    """The requests of a chain by number: key, asker, and the rows of the request and of its decision (0: none yet).

    seqs     the two rows
    keys     number by key
    waiting  how many wait, by asker
    """

    seqs: dict[int, tuple[str, str, int, int]] = field(default_factory=dict)
    keys: dict[str, int] = field(default_factory=dict)
    waiting: dict[str, int] = field(default_factory=dict)

    def ask(self, seq: int, content: Mapping[str, Any]) -> None:
        """Take the row of a request."""
        number, key, name = content["number"], content["key"], _name(content["request"].get("asked_by"))
        if number != len(self.seqs) + 1 or key in self.keys or not isinstance(key, str):
            raise broken(f"row {seq} makes a request out of turn, or a second time")
        self._put(number, key, name, seq, 0)

    def decide(self, seq: int, content: Mapping[str, Any]) -> None:
        """Take the row of a decision."""
        number, verdict, by = content["number"], content["verdict"], _name(content["decision"].get("decided_by"))
        key, name, asked, decided = self.seqs.get(number, ("", "", 0, 0))
        if not asked or decided or verdict not in VERDICTS or (by and by == name):
            raise broken(f"row {seq} decides request {number}, which is not open to it")
        self.waiting[name] -= 1
        self.seqs[number] = (key, name, asked, seq)

    def _put(self, number: int, key: str, name: str, asked: int, decided: int) -> None:
        self.seqs[number], self.keys[key] = (key, name, asked, decided), number
        self.waiting[name] = self.waiting.get(name, 0) + (not decided)

    def undecided(self) -> list[int]:
        """The numbers of the requests that wait, in order."""
        return [number for number, (*_, decided) in self.seqs.items() if not decided]

    def to_json(self) -> list[list[Any]]:
        """The index as it is remembered."""
        return [[number, *told] for number, told in self.seqs.items()]

    @classmethod
    def from_json(cls, told: list[list[Any]]) -> RequestIndex:
        """The index that is remembered."""
        made = cls()
        for number, key, name, asked, decided in told:
            made._put(number, key, name, asked, decided)
        return made


def _name(by: object) -> str:
    """The name of a caller; empty where a row names none."""
    if by is None:
        return ""
    if not isinstance(by, Mapping) or not isinstance(by["name"], str):
        raise TypeError
    return by["name"]


# ---------------------------------------------------------------- refusals


def decided(found: DecisionRequest) -> LedgerError:
    """A second decision."""
    verdict = {"approve": "approved", "refuse": "refused"}.get(found.state, "approved at another price")
    rule, step = "a decision is made once", "see what was decided, and ask anew under another key"
    said = f"request {found.number} was {verdict} by {found.decision and found.decision.person}, and {rule}; {step}"
    return LedgerError(said, value=f"request {found.number}", rule=rule, next_step=step)


def no_request(number: object) -> LedgerError:
    """A decision about no request."""
    rule, step = "a decision is about a request of the ledger", "see ledger.requests()"
    return LedgerError(
        f"there is no request {number!r}, and {rule}; {step}", value=str(number), rule=rule, next_step=step
    )


def too_many() -> SessionBusy:
    """One request too many."""
    rule = f"at most {MOST_WAITING} requests of one caller wait for a decision"
    step = "wait for the owner of the data to decide"
    return SessionBusy(f"{rule}, and nothing was charged; {step}", value=str(MOST_WAITING), rule=rule, next_step=step)


def own(found: DecisionRequest) -> Forbidden:
    """A decision of who asked."""
    rule, step = "nobody decides a request of their own", "have somebody else decide who has the right to approve"
    said = f"request {found.number} is of {found.person}, and {rule}; {step}"
    return Forbidden(said, value=f"request {found.number}", rule=rule, next_step=step)


protect_module(vars())
