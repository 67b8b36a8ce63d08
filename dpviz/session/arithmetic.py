"""The sums that `verify` adds up: each row of a ledger that a session wrote, held against the arithmetic of its
accounts."""

from __future__ import annotations

from dpviz.errors import DpvizError
from dpviz.mechanisms import OPENINGS
from dpviz.session import accountant
from dpviz.session.ledger import Step


def follows(step: Step) -> bool:
    """Whether a step of an account or a sub-account is one that a session makes.

    Of an entry that is no sub-session of a kind that is known here, nothing is known.
    """
    try:
        if step.kind in ("charter", "charge", "raise"):
            return accountant.follows(step.kind, step.body, step.before, step.after)
        opening = OPENINGS.get(step.body.get("mechanism", {}).get("name"))
        return opening is None or opening.follows(step)
    except (DpvizError, ArithmeticError, AttributeError, KeyError, TypeError, ValueError):
        return False


def known(step: Step) -> bool:
    """The same for whatever ledger a person looks at: of accounts that no session wrote, nothing is known.

    An account that a session opened stays one: no row can turn it into another.
    """
    opening = step.after if step.kind == "charter" else step.before
    return ("filter" not in opening and step.kind in ("charter", "charge", "raise")) or follows(step)
