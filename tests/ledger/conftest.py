"""Every ledger test that can runs twice: on an SQLite file, and on a real PostgreSQL server."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.ledger.server import Server
from tests.ledger.tools import Location


@pytest.fixture(scope="session")
def server() -> Iterator[Server]:
    """One server for all tests of a process; each gets a schema of its own."""
    server = Server()
    try:
        server.start()
        yield server
    finally:
        server.remove()


@pytest.fixture(params=["sqlite", "postgresql"])
def locations(request: pytest.FixtureRequest, tmp_path: Path) -> Callable[[], Location]:
    """One place after the other where no ledger is yet."""
    if request.param == "sqlite":
        numbers = itertools.count(1)
        return lambda: tmp_path / f"visits{next(numbers)}.ledger"
    server: Server = request.getfixturevalue("server")
    return lambda: server.url(server.schema())


@pytest.fixture
def location(locations: Callable[[], Location]) -> Location:
    """Where no ledger is yet."""
    return locations()
