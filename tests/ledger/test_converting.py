"""A ledger whose budget names its conversion, on a server and in its backup."""

from __future__ import annotations

from pathlib import Path

import pytest

import dpviz as dv
from dpviz.errors import LedgerFormat
from dpviz.session import arithmetic
from dpviz.session.ledger import Ledger, rows
from dpviz.session.ledger.chain import CONVERTING
from tests.ledger.server import Server
from tests.ledger.tools import Location, started
from tests.session.sources import KnownCounts

BINS = dv.Domain.integers(0, 3, column="x")


def test_a_server_keeps_a_zcdp_budget_and_an_earlier_dpviz_refuses_it_by_its_number(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    location, budget = server.url(server.schema()), dv.Budget("1", "1e-6", filter="zcdp")

    def made(ledger: Location) -> dv.Session:
        return dv.Session(KnownCounts([5, 0, 70, 3]), dv.Unit(noun="person"), budget, ledger)

    started(location, made)
    session = made(location)
    session.release(BINS, dv.Dense("1/10"))
    copy = tmp_path / "copy.ledger"
    session.ledger.backup(copy)
    for place in (location, copy):
        assert Ledger.read(place, check=arithmetic.known).verify().charges == 1
    monkeypatch.setattr(rows, "FORMAT", CONVERTING - 1)
    for place in (location, copy):
        with pytest.raises(LedgerFormat, match="has format 4"):
            Ledger.read(place)
