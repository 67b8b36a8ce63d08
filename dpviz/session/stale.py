"""The message about a ledger that does not answer."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from dpviz.errors import LedgerAway, LedgerError
from dpviz.session.refusals import uncharged


@contextmanager
def before_a_charge() -> Iterator[None]:
    """A look that comes before a charge: where the ledger's server is away, nothing was charged."""
    try:
        yield
    except LedgerAway as error:
        away = error
    else:
        return
    raise uncharged(away)


def stale(asof: str) -> str:
    """Words behind amounts: nothing where they are of now, else from when they are."""
    return f" (as of {asof}: the ledger's server does not answer)" if asof else ""


def unread(error: LedgerError) -> str:
    """Words in place of amounts."""
    if isinstance(error, LedgerAway):
        return "what is left is not known: the ledger's server does not answer"
    return "what is left is not known: the ledger cannot be read"
