"""What is said of a ledger that does not answer."""

from __future__ import annotations

from dpviz.errors import LedgerAway, LedgerError


def stale(asof: str) -> str:
    """Words behind amounts: nothing where they are of now, else from when they are."""
    return f" (as of {asof}: the ledger's server does not answer)" if asof else ""


def unread(error: LedgerError) -> str:
    """Words in place of amounts."""
    if isinstance(error, LedgerAway):
        return "what is left is not known: the ledger's server does not answer"
    return "what is left is not known: the ledger cannot be read"
