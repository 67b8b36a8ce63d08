"""The durable memory of what was charged: an append-only chain of rows in one place. It knows nothing of epsilon.

chain    what a row is, and how it follows the one before (pure)
audit    reading a whole chain again and saying where it is broken (pure)
following  what one ledger object has read of it, and that nothing went back in time since
owner    which process holds a draw, and whether it is still there; which person is at work
history  its terms: a charter against a visitor's, every raise of the budget, what it last knew
rows     reading and writing rows, one transaction at a time
spending  the amounts charged for each caller and project of a curator, as the rows imply them
requests  requests for a decision and decisions, which are rows of their own
records  what is drawn once and kept: entries, and uses of open entries; found by key, held by who draws them
store    the database under a ledger: transactions, durability, forks; what all databases share
schema   what may stand in a database besides: nothing
witness  the file beside an SQLite ledger: how far it had come, and who holds it
sqlite   a ledger in one file: every word that is particular to SQLite
postgres a ledger in one schema of a server, for a team: every word that is particular to PostgreSQL
locations  which of these a user means
blobs    answers too large for a row, found by their hash
ledger   `Ledger`: open, charge, finish; reserve and settle; look, verify, back up

`memory` is what this machine remembers of a chain, in `~/.local/state/dpviz/ledgers` or where the system keeps such
things, so that rows up to there are not read again. `earlier` is what is known of another ledger in the same place or
about the same data set. `statements` puts each statement together once, and joins on a server what is written together;
`packing` is how the text of a row lies in a file.
"""

from __future__ import annotations

from dpviz.session.ledger.audit import Step, Verification
from dpviz.session.ledger.history import Known, Raise
from dpviz.session.ledger.ledger import Ledger
from dpviz.session.ledger.owner import Owner
from dpviz.session.ledger.records import Entry, Status, UseRecord
from dpviz.session.ledger.requests import Decision, DecisionRequest

__all__ = [
    "Decision",
    "DecisionRequest",
    "Entry",
    "Known",
    "Ledger",
    "Owner",
    "Raise",
    "Status",
    "Step",
    "UseRecord",
    "Verification",
]
