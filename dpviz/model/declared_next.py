"""An answer that is declared with the one before it: fixed, by an entry of the ledger, before either is drawn.

Let the first entry name the question, the mechanism, the way to run and the key of the second. Then the noise of the
second, Z2, has a law that is fixed before the first noise, Z1, and is independent of it; whether it is ever drawn does
not matter for that. An interval by the law of both misses where (Z1, Z2) lies in a set M that the laws and the level
alone decide, so for at most beta of the time. Somebody who sees Z1, and knows the truth, can only choose whether the
second is drawn. So the pair is shown and misses on a part of M, and that has a chance of at most beta.

A key has one answer for good, so there is one second answer, and not the best of several. Entries that name the same
mechanism with another key, or with a purchase besides, are not the declared one. An entry of a larger number was
charged later, and its answer drawn later still.

Counts that are declared with a profile are declared without their limit, which may be chosen with the profile. They are
read at a share of the level for each limit (`closing.py` has the proof); there may be counts at several limits, of one
key each, for the shares hold for all of them at once.

Each of the two is charged by itself, when it is drawn. The filter of the budget is valid for prices that depend on
answers, so it holds for one that is fixed; and a price that is paid in advance for an answer that nobody draws buys
nothing. The second price is checked beside the first before anything is charged, and not reserved.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from typing import Any, Final, Protocol, cast

from dpviz.boundary import protect_module
from dpviz.errors import LedgerError

NAMED: Final = ("question", "mechanism", "mode")
"""The parts of an entry by which another one declares it."""


class EntryBody(Protocol):
    """An entry of a ledger, as far as it is looked at here."""

    @property
    def body(self) -> Mapping[str, Any]:
        """The public part of the entry, beside its price."""
        ...


class KeepsEntries(Protocol):
    """A ledger, as far as it is looked at here."""

    def entry(self, number: int) -> EntryBody:
        """Return the entry of a number."""
        ...


class Entered(Protocol):
    """A release that a ledger may keep."""

    @property
    def kept_in(self) -> object | None:
        """The ledger that the release was read from; None where that is not known."""
        ...

    @property
    def number(self) -> int | None:
        """The number of its entry."""
        ...

    @property
    def use(self) -> int | None:
        """The number of its use, where the entry is open for many."""
        ...


def declares(first: Entered, second: Entered) -> bool:
    """Return whether the entry of one release named the other before either was drawn.

    Parameters
    ----------
    first, second : Release
        Two releases.

    Returns
    -------
    bool
        False also where no ledger is known to keep both, or where it does not answer.
    """
    ledger = first.kept_in
    if ledger is None or ledger is not second.kept_in or first.use is not None or second.use is not None:
        return False
    if first.number is None or second.number is None or first.number >= second.number:
        return False
    with suppress(LedgerError):
        mine, theirs = (cast(KeepsEntries, ledger).entry(number).body for number in (first.number, second.number))
        named = {name: theirs.get(name) for name in NAMED}
        same_key = mine.get("user_key") == theirs.get("user_key")
        return mine.get("then") == named and same_key and "over" not in theirs and "then" not in theirs
    return False


protect_module(vars())
