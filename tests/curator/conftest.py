"""A curator's ledger lies on an SQLite file or on a PostgreSQL server; what rests on it is tested on both."""

from __future__ import annotations

from tests.ledger.conftest import location, locations, server

__all__ = ["location", "locations", "server"]
