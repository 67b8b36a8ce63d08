"""Orders in line: outcomes are written at ticks, one name is one order, and nobody holds up the others."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pandas as pd
import pytest

import dpviz as dv
from dpviz.curator import service
from dpviz.curator.keeper import Keeper
from dpviz.curator.tickets import Line, Ticket
from dpviz.errors import Forbidden, SessionBusy
from dpviz.session.callers import Caller
from dpviz.session.orders import ReleaseOrder
from dpviz.session.session import Session
from tests.patience import patience

ANA = Caller("Ana", proof="user 1001 of this machine")
AGES = dv.Domain.integers(0, 3, column="x")


class Ticks:
    """A clock whose ticks come when the test says so."""

    tick = 1.0

    def __init__(self) -> None:
        self.asked, self._come = threading.Event(), threading.Event()

    def wait(self) -> None:
        self.asked.set()
        assert self._come.wait(patience())

    def come(self) -> None:
        self._come.set()

    def until_next(self) -> float:
        return 0.0


@pytest.fixture
def keeper(tmp_path: Path) -> Iterator[Keeper]:
    session = dv.Session(pd.DataFrame({"x": [0, 1, 1, 2]}), dv.Unit("row"), dv.Budget("9"), tmp_path / "x.ledger")
    made = Keeper(session, tick=0.01, each=2, all=3)
    yield made
    made.close()


def order(session: Session, key: str) -> ReleaseOrder:
    bound, profile = session._purchase(AGES, dv.Dense("1/2"), None, None, None, None, None, key, None, None)
    return session._order(bound, profile, None, key, False)[1].order


def ended(ticket: Ticket) -> str:
    over = threading.Event()
    with ticket.heard(lambda: over.set() if ticket.ended else None):
        assert ticket.ended or over.wait(patience())
    return ticket.standing.state


def test_an_outcome_is_written_at_a_tick(keeper: Keeper) -> None:
    ticks = keeper.clock = Ticks()  # type: ignore[assignment]
    ledger = keeper.session.ledger
    ticket = keeper.place("0" * 32, order(keeper.session, "a"), ANA)
    assert ticks.asked.wait(patience()), "the draw has ended, and its outcome waits"
    assert [entry.status for entry in ledger.entries()] == ["pending"]
    assert ticket.standing.state == "drawing"
    head = ledger.head()
    assert ledger.head() == head
    ticks.come()
    assert ended(ticket) == "done"
    assert [entry.status for entry in ledger.entries()] == ["done"]


def test_a_cancelled_draw_is_given_up_at_a_tick(keeper: Keeper, monkeypatch: pytest.MonkeyPatch) -> None:
    ticks = keeper.clock = Ticks()  # type: ignore[assignment]
    counted = threading.Event()
    real = type(keeper.session._source).count

    def slow(source: object, *given: object, **named: object) -> object:
        counted.set()
        tick = named.get("tick") or given[-1]
        while True:
            tick(0, 1)  # type: ignore[operator]

    monkeypatch.setattr(type(keeper.session._source), "count", slow)
    ticket = keeper.place("1" * 32, order(keeper.session, "b"), ANA)
    assert counted.wait(patience())
    ticket.cancel()
    assert ticks.asked.wait(patience())
    assert [entry.status for entry in keeper.session.ledger.entries()] == ["pending"]
    ticks.come()
    assert ended(ticket) == "failed"
    assert [entry.status for entry in keeper.session.ledger.entries()] == ["cancelled"]
    monkeypatch.setattr(type(keeper.session._source), "count", real)


def test_a_free_answer_waits_for_no_tick_and_for_nobody(keeper: Keeper) -> None:
    first = keeper.place("2" * 32, order(keeper.session, "c"), ANA)
    assert ended(first) == "done"
    keeper.clock = Ticks()  # type: ignore[assignment]
    waiting = keeper.place("3" * 32, order(keeper.session, "d"), ANA)
    again = keeper.place("4" * 32, order(keeper.session, "c"), Caller("Ben", proof="a token"))
    assert again.standing.state == "done" and again.standing.free
    assert not waiting.ended
    keeper.clock.come()  # type: ignore[attr-defined]
    assert ended(waiting) == "done"


def test_one_order_too_many_is_refused_and_charges_nothing(keeper: Keeper) -> None:
    ticks = keeper.clock = Ticks()  # type: ignore[assignment]
    tickets = [keeper.place(f"{place:032x}", order(keeper.session, f"{place}"), ANA) for place in range(2)]
    with pytest.raises(SessionBusy, match="nothing was charged"):
        keeper.place("f" * 32, order(keeper.session, "too many"), ANA)
    other = keeper.place("e" * 32, order(keeper.session, "another's"), Caller("Ben", proof="a token"))
    with pytest.raises(SessionBusy):
        keeper.place("d" * 32, order(keeper.session, "one in all"), Caller("Cleo", proof="a token"))
    ticks.come()
    assert [ended(ticket) for ticket in (*tickets, other)] == ["done"] * 3
    assert len(keeper.session.ledger.entries()) == 3


def test_an_order_of_somebody_else_is_unknown() -> None:
    line = Line(3, 3)
    line.add("0" * 32, "Ana", "digest")
    with pytest.raises(Forbidden, match="knows no such order"):
        line.get("0" * 32, "Ben")
    assert line.add("0" * 32, "Ben", "another digest")[1]
    line.close()


def test_what_waits_is_withdrawn_where_a_curator_ends(keeper: Keeper) -> None:
    keeper.clock = Ticks()  # type: ignore[assignment]
    first = keeper.place("5" * 32, order(keeper.session, "first"), ANA)
    assert keeper.clock.asked.wait(patience())  # type: ignore[attr-defined]
    second = keeper.place("6" * 32, order(keeper.session, "second"), ANA)
    keeper.clock.come()  # type: ignore[attr-defined]
    keeper.close()
    assert ended(second) in ("failed", "done")
    assert first.ended
    charged = {entry.user_key: entry.status for entry in keeper.session.ledger.entries()}
    assert charged["first"] in ("done", "cancelled")


def test_an_outcome_that_was_seen_is_told_again_without_a_look_at_the_clock(
    keeper: Keeper, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Asked about such an order, a curator once looked at the clock for seconds on end, and served nobody meanwhile."""
    ticket = keeper.place("9" * 32, order(keeper.session, "seen"), ANA)
    assert ended(ticket) == "done"
    looks = iter(range(3))
    monkeypatch.setattr(service, "time", SimpleNamespace(monotonic=lambda: next(looks)))
    told = asyncio.run(service._news(keeper, ticket, ticket.standing.version))
    assert (told["state"], told["version"]) == ("done", ticket.standing.version)
