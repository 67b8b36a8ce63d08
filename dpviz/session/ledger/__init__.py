"""The durable memory of what was charged: an append-only chain of rows in one file. It knows nothing of epsilon.

chain    what a row is, and how it follows the one before (pure)
audit    reading a whole chain again and saying where it is broken (pure)
owner    which process holds a draw, and whether it is still there
store    the database: transactions, durability, and every word that is particular to SQLite
blobs    answers too large for a row, found by their hash
book     `Ledger`: open, charge, finish, look, verify, back up
"""

from __future__ import annotations

from dpviz.session.ledger.audit import Verification
from dpviz.session.ledger.book import Entry, Ledger, Status
from dpviz.session.ledger.owner import Owner

__all__ = ["Entry", "Ledger", "Owner", "Status", "Verification"]
