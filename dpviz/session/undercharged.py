"""Entries of a ledger that were charged too little, by what later revisions of their mechanisms say of them.

The ledger is read and never rewritten: an entry stays what was charged, and its owner is told what it cost.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from dpviz.boundary import protect_module, single_arguments
from dpviz.errors import ReleaseFormat
from dpviz.mechanisms import OF_PARTS, OPENINGS, REGISTRY
from dpviz.model.repricing import Repricing
from dpviz.session.charge import price_json
from dpviz.session.ledger import Ledger
from dpviz.session.ledger.records import Entry, UseRecord, named
from dpviz.session.saved import from_bytes


@dataclass(frozen=True)
class Undercharged:
    """An entry, or a use of an open entry, whose answer costs more than was charged for it.

    Parameters
    ----------
    number : int
        The number of the entry.
    use : int
        The number of the use, where the entry is a sub-session; else 0.
    mechanism : str
        The name of the mechanism.
    revision : int
        The revision of the mechanism under which the answer was drawn.
    charged, costs : dict of str
        The price that stands in the ledger and the true one: epsilon, delta, and rho where the noise is Gaussian.
    reason : str
        The fault of the price.
    """

    number: int
    use: int
    mechanism: str
    revision: int
    charged: Mapping[str, str]
    costs: Mapping[str, str]
    reason: str

    @property
    def text(self) -> str:
        """One sentence for a person."""
        place = named((self.number, self.use))
        return (
            f"{place} ({self.mechanism}, revision {self.revision}) was charged {_words(self.charged)} and costs "
            f"{_words(self.costs)}: {self.reason}"
        )

    def to_json(self) -> dict[str, Any]:
        """The same for a program."""
        return {
            "entry": self.number,
            "use": self.use or None,
            "mechanism": self.mechanism,
            "revision": self.revision,
            "charged": dict(self.charged),
            "costs": dict(self.costs),
            "reason": self.reason,
        }


@single_arguments
def undercharged(ledger: Ledger) -> tuple[Undercharged, ...]:
    """Return the entries of a ledger that were charged too little, in order.

    Parameters
    ----------
    ledger : Ledger
        A ledger that is open, such as `session.ledger`.

    Returns
    -------
    tuple of Undercharged
        Empty where every price holds. Charges without an answer showed nothing, so they are not looked at, and neither
        are answers that this dpviz cannot read.

    Notes
    -----
    Reads those answers alone whose mechanism declares that earlier revisions were charged too little.
    """
    return tuple(_found(ledger))


def _found(ledger: Ledger) -> Iterator[Undercharged]:
    for entry in ledger.entries():
        declared = _declared(entry.body)
        if not declared:
            continue
        if entry.status == "done":
            yield from _checked(entry, 0, ledger.answer(entry.number), declared)
        elif entry.status == "open":
            for use in ledger.uses(entry.number):
                if use.status == "done":
                    yield from _checked(use, use.number, ledger.use_answer(entry.number, use.number), declared)


def _declared(body: Mapping[str, Any]) -> tuple[Repricing, ...]:
    """Earlier revisions that the mechanism of an entry declares; none where no mechanism here has that name."""
    made = body.get("mechanism")
    name = made.get("name") if isinstance(made, Mapping) else None
    for registry in (REGISTRY, OF_PARTS, OPENINGS):
        if isinstance(name, str) and name in registry:
            return registry[name].repriced
    return ()


def _checked(
    found: Entry | UseRecord, use: int, answer: bytes, declared: tuple[Repricing, ...]
) -> Iterator[Undercharged]:
    try:
        release = from_bytes(answer)
    except ReleaseFormat:
        return
    terms, bought = release.terms, release.bought
    number = found.record_id[0]
    charged = _amounts(found.body["price"] if not use else price_json(terms.price))
    for one in declared:
        costs = one.cost(terms) if one.applies(terms) else None
        costs = costs if bought is None or costs is None else bought.price_with(costs)
        told = None if costs is None else _amounts(price_json(costs))
        if told is not None and any(Fraction(told[part]) > Fraction(charged.get(part, "0")) for part in told):
            yield Undercharged(number, use, terms.mechanism.name, terms.mechanism.revision, charged, told, one.reason)
            return


def _amounts(price: Mapping[str, Any]) -> dict[str, str]:
    """Epsilon, delta, and rho where it is known, from a price as an entry has it."""
    fine = price.get("fine") or {}
    return {"epsilon": price["epsilon"], "delta": price["delta"], **({"rho": fine["rho"]} if "rho" in fine else {})}


def _words(amounts: Mapping[str, str]) -> str:
    symbols = {"epsilon": "ε", "delta": "δ", "rho": "ρ"}
    return ", ".join(f"{symbols[name]} {value}" for name, value in amounts.items() if value != "0")


protect_module(vars())
