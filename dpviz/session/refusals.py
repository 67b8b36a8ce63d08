"""Refusals that say of a charge that there was none: for sessions and for the ledger."""

from __future__ import annotations

from dpviz.errors import LedgerAway, ReleaseCancelled


def withdrawn() -> ReleaseCancelled:
    return ReleaseCancelled(
        "withdrawn before anything was charged",
        value="0",
        rule="what is cancelled before its charge costs nothing",
        next_step="ask again when you are ready",
    )


def uncharged(away: LedgerAway) -> LedgerAway:
    """The same refusal, of a charge."""
    error = LedgerAway(f"nothing was charged: {away}", value=away.value, rule=away.rule, next_step=away.next_step)
    error.starting = away.starting
    return error
