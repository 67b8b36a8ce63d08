"""Each entry of a ledger, held against what it paid for: `verify` adds prices up, and here each price is looked at.

A database that was written anew, with a chain that fits, adds up. A ledger cannot agree with itself: the answer
that an entry paid for says under which guarantee, by which law and with which parameters it was drawn, and for a
sub-session what it used. So a price is held against the stored guarantee, that against what the mechanism charges for
these parameters, the law against theirs, and what a use gave back against its answer.

Of an answer that this dpviz cannot read, as one of a later one, the parts are held that it can. Charges of an earlier
revision of a mechanism may differ from today's, so such an answer is held against its own guarantee alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from dpviz.boundary import protect_module
from dpviz.errors import BudgetExceeded, DpvizError
from dpviz.mechanisms import OPENINGS
from dpviz.model import binary
from dpviz.model.bought_together import price_of_both
from dpviz.model.identity import release_key
from dpviz.model.mechanism import Bound
from dpviz.model.opening import Use
from dpviz.model.question import Question, canonical
from dpviz.model.terms import Terms
from dpviz.privacy.guarantee import Guarantee
from dpviz.privacy.limits import Limits
from dpviz.privacy.unit import Unit
from dpviz.session import accountant
from dpviz.session.ledger.audit import Answer
from dpviz.session.ledger.chain import Row, broken
from dpviz.session.saved import UNREADABLE, from_bytes, rebound

if TYPE_CHECKING:
    from dpviz.model.release import Release


@dataclass
class _Open:
    """A sub-session, as far as the rows have come."""

    number: int
    body: Mapping[str, Any]
    balance: Mapping[str, str]
    asked: dict[int, tuple[str, Mapping[str, Any]]] = field(default_factory=dict)


@dataclass
class _Ledger:
    """The state of a ledger after the rows so far."""

    charter: Mapping[str, Any]
    account: Mapping[str, str]
    charged: dict[int, tuple[str, Mapping[str, Any]]] = field(default_factory=dict)
    open: dict[int, _Open] = field(default_factory=dict)

    @property
    def unit(self) -> Unit:
        return Unit(**self.charter["unit"])

    def unit_of(self, body: Mapping[str, Any]) -> Unit:
        """The unit with the limits of an entry; those of the charter where the entry says none."""
        return self.unit.limited(Limits.from_json(body["limits"])) if "limits" in body else self.unit


def holds(rows: Iterable[Row], answer: Callable[[Answer], bytes]) -> None:
    """Hold each entry, and each use of one, against what it paid for; the rows are of a chain that adds up.

    answer  gives what the ledger stored

    Raises LedgerCorrupt, saying which entry is wrong and in what. Of a ledger that no session wrote nothing is known.
    """
    ledger: _Ledger | None = None
    for row in rows:
        content = row.content
        if ledger is None:
            account = content["state"]["account"]
            if "filter" not in account:
                return
            ledger = _Ledger(content["charter"], account)
            continue
        if row.kind == "raise":
            ledger.account = content["state"]["account"]
            continue
        try:
            wrong = _wrong(ledger, row.kind, content, answer)
        except UNREADABLE:
            wrong = "lacks a part, or has one that nobody can read"
        if wrong:
            raise broken(f"{_named(content)} (row {row.seq}) {wrong}")


def _named(content: Mapping[str, Any]) -> str:
    if "entry" in content:
        return f"use {content['number']} of entry {content['entry']}"
    return f"entry {content.get('number')}"


def _wrong(ledger: _Ledger, kind: str, content: Mapping[str, Any], answer: Callable[[Answer], bytes]) -> str:
    """The fault of a row, in words; empty where it agrees with itself."""
    match kind:
        case "charge":
            ledger.charged[content["number"]] = (content["key"], content["charge"])
            return _charged(ledger, content["charge"])
        case "outcome":
            key, body = ledger.charged.pop(content["number"])
            if content["status"] == "open":
                ledger.open[content["number"]] = _Open(content["number"], body, content["sub"])
                return _opening(ledger, body)
            if content["status"] == "done" and "mechanism" in body:
                return _answered(ledger, content["number"], key, body, answer(content["answer"]))
        case "reserve":
            opened = ledger.open[content["entry"]]
            before, opened.balance = opened.balance, content["sub"]
            opened.asked[content["number"]] = (content["key"], content["reserve"])
            return _reserved(opened, content["reserve"], before)
        case "settle":
            opened = ledger.open[content["entry"]]
            before, opened.balance = opened.balance, content["sub"]
            key, body = opened.asked.pop(content["number"])
            if content["status"] == "done" and "mechanism" in body:
                return _settled(ledger, opened, content["number"], key, body, before, answer(content["answer"]))
    return ""


# ---------------------------------------------------------------- an answer of its own


def _charged(ledger: _Ledger, body: Mapping[str, Any]) -> str:
    """The fault of a charge, which may have no answer. Where it names no revision, a first one is held."""
    bound = _bound_again(body, ledger) if "question" in body else None
    profile = _profile_again(body, ledger)
    if bound is None or profile is None:
        return ""
    named = [body["mechanism"], *(body["over"]["mechanism"] for _ in profile)]
    if any(
        one.mechanism.revision != said.get("revision", 1) for one, said in zip((bound, *profile), named, strict=True)
    ):
        return ""
    due = price_of_both(bound, *profile)
    return _too_little(ledger.account, body["price"], due, "what its parameters cost")


def _answered(ledger: _Ledger, number: int, key: str, body: Mapping[str, Any], content: bytes) -> str:
    said = _said(content)
    if said is None:
        return ""
    if wrong := _about(ledger, said, key, body, (number, None)) or _charged_less(body["price"], said):
        return wrong
    release, bound, profile = _read(content), _bound_again(body, ledger), _profile_again(body, ledger)
    if release is not None:
        wrong = _too_little(ledger.account, body["price"], release.guarantee, "the guarantee of its answer")
        if wrong:
            return wrong
    if bound is None or profile is None:
        return ""
    if "then" in body and key != _key_with_next(bound, body):
        return "declares another answer than its key"
    answers = [(bound, said), *((one, said["profile"]) for one in profile)]
    if any(one.mechanism.revision != part["mechanism"].get("revision") for one, part in answers):
        return ""
    due = price_of_both(bound, *profile)
    if wrong := _too_little(ledger.account, body["price"], due, "what its parameters cost"):
        return wrong
    if any(canonical(part["law"]) != canonical(Terms.of(one).law.to_json()) for one, part in answers):
        return "has an answer from another law than its parameters give"
    return ""


def _purchased(profile: Mapping[str, Any] | None) -> dict[str, Any] | None:
    """The profile that an answer holds or an entry names, without revisions, which are no part of a purchase."""
    if profile is None:
        return None
    made = profile["mechanism"]
    return {"question": profile["question"], "mechanism": {"name": made["name"], "parameters": made["parameters"]}}


def _key_with_next(bound: Bound, body: Mapping[str, Any]) -> str:
    """The key of an entry that declares another answer."""
    then = body["then"]
    named = {**(_purchased(then) or {}), "mode": then["mode"]}
    return release_key(bound.question, bound.unit, bound.mechanism, body["mode"], body["user_key"], then=named)


def _profile_again(body: Mapping[str, Any], ledger: _Ledger) -> tuple[Bound, ...] | None:
    """The profile that an entry names, bound to its question: one, or none; None where this dpviz binds it no more."""
    if "over" not in body:
        return ()
    limits = Limits(1, 1, None).to_json()
    bound = _bound_again({**body["over"], "limits": limits}, ledger)
    return None if bound is None else (bound,)


def _said(content: bytes) -> dict[str, Any] | None:
    """The parts of an answer, whether this dpviz reads all of them or not; None where it is of a later format."""
    from dpviz.model.release import checked

    try:
        return dict(binary.opened(content).body) if binary.is_binary(content) else checked(content)
    except DpvizError:
        return None


def _about(
    ledger: _Ledger, said: Mapping[str, Any], key: str, body: Mapping[str, Any], place: tuple[int, int | None]
) -> str:
    """Whether an answer is to what was asked: every part that both the entry and its answer say."""
    made, asked, charter = said["mechanism"], body["mechanism"], ledger.charter
    pairs = {
        "number": ((said["number"], said.get("use")), place),
        "key": (said["key"], key),
        "question": (said["question"], body["question"]),
        "mechanism": (made["name"], asked["name"]),
        "parameters": (made["parameters"], asked["parameters"]),
        "mode": (said["mode"], body.get("mode", said["mode"])),
        "unit": (Unit(**said["unit"]), ledger.unit_of(body)),
        "profile": (_purchased(said.get("profile")), _purchased(body.get("over"))),
        "dataset": (said["dataset"], charter["dataset"]),
        "seed": (said["teaching"], None),
    }
    differing = [name for name, (answered, charged) in pairs.items() if answered != charged]
    return f"has an answer with another {' and another '.join(differing)}" if differing else ""


def _charged_less(price: Mapping[str, Any], said: Mapping[str, Any]) -> str:
    """Whether a price is below what its answer says was charged: said in texts, whatever else of it can be read."""
    charged = said.get("guarantee", {}).get("charged")
    if charged is None:
        return ""
    less = [part for part in ("epsilon", "delta") if Fraction(price[part]) < Fraction(charged[part])]
    return f"is charged less than its answer says, in {' and '.join(less)}" if less else ""


def _too_little(account: Mapping[str, str], price: Mapping[str, Any], due: Guarantee, what: str) -> str:
    """Whether a price is below what is due, in any part that the filter of this account adds up."""
    paid, cost = accountant.paid_and_due(account, price, due)
    short = [
        f"{accountant.SYMBOLS[part]} {paid[part]} in place of {cost[part]}" for part in cost if paid[part] < cost[part]
    ]
    return f"is charged less than {what}: {', '.join(short)}" if short else ""


def _read(content: bytes) -> Release | None:
    """An answer; None where this dpviz cannot read it."""
    try:
        return from_bytes(content)
    except DpvizError:
        return None


def _bound_again(body: Mapping[str, Any], ledger: _Ledger) -> Bound | None:
    """The mechanism that an entry names, bound to its question; None where this dpviz binds it no more."""
    try:
        unit = ledger.unit_of(body).to_json()
        return rebound({"question": body["question"], "unit": unit, "mechanism": body["mechanism"]})
    except UNREADABLE:
        return None


# ---------------------------------------------------------------- sub-sessions


def _opening(ledger: _Ledger, body: Mapping[str, Any]) -> str:
    kind = OPENINGS.get(body.get("mechanism", {}).get("name"))
    if kind is None:
        return ""
    try:
        opening = kind.from_parameters(dict(body["mechanism"]["parameters"]))
        if tuple(body["mechanism"].get("revisions", opening.revisions)) != opening.revisions:
            return ""  # its price followed from another calibration
        due = opening.price(ledger.unit)
    except UNREADABLE:
        return ""
    return _too_little(ledger.account, body["price"], due, "what its parameters cost")


def _use(opened: _Open, body: Mapping[str, Any]) -> Use | None:
    """The question of a use; None where it closes the sub-session, or cannot be read."""
    kind = OPENINGS.get(opened.body.get("mechanism", {}).get("name"))
    if kind is None or "mechanism" not in body:
        return None
    try:
        return kind.use_from_parameters(dict(body["mechanism"]["parameters"]))
    except UNREADABLE:
        return None


def _reserved(opened: _Open, body: Mapping[str, Any], before: Mapping[str, str]) -> str:
    use = _use(opened, body)
    if use is None:
        return ""
    try:
        after = use.reserve(before)
    except BudgetExceeded:
        return "reserves more than was left"
    return "" if after == dict(opened.balance) else "reserves something else than its question may use"


def _settled(
    ledger: _Ledger,
    opened: _Open,
    number: int,
    key: str,
    body: Mapping[str, Any],
    before: Mapping[str, str],
    content: bytes,
) -> str:
    said, use = _said(content), _use(opened, body)
    if said is None:
        return ""
    if wrong := _about(ledger, said, key, body, (opened.number, number)) or _charged_less(opened.body["price"], said):
        return wrong
    release = _read(content)
    if release is None or use is None:
        return "" if dict(before) == dict(opened.balance) else "gives back something for an answer that nobody can read"
    if wrong := _too_little(ledger.account, opened.body["price"], release.guarantee, "the guarantee of its answers"):
        return wrong
    if use.give_back(before, release.answer) != dict(opened.balance):
        return "gives back something else than its answer left unused"
    if release.uses != use.bind(Question.from_json(body["question"]), ledger.unit).uses(release.answer):
        return "has an answer that says it used something else"
    return ""


protect_module(vars())
