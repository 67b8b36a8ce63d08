"""A ledger's server that is away, or lets nobody in: said soon, told apart, and nothing is charged meanwhile."""

from __future__ import annotations

import itertools
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from traceback import walk_tb
from typing import Any
from urllib.parse import quote

import pytest

import dpviz as dv
from dpviz.errors import LedgerAway, LedgerError, ReleaseCancelled
from dpviz.session.ledger import Ledger, postgres, store
from tests.frames import is_ours
from tests.ledger.relay import FULL, STARTING, Relay
from tests.ledger.server import PASSWORD, Server
from tests.ledger.test_postgres import cut, mortal, second  # noqa: F401  # fixtures
from tests.ledger.test_refusals import in_our_words
from tests.ledger.test_uses import ASKS, FIRST, less
from tests.ledger.tools import BODY, Location, admit, key, names_port, opened, spend, started
from tests.patience import patience, until
from tests.session.sources import KnownCounts, KnownTop

BINS = dv.Domain.integers(0, 3, column="x")


@contextmanager
def soon() -> Iterator[None]:
    """A call is given up after five seconds at most; on a quiet machine it may take four times that."""
    began = time.monotonic()
    yield
    assert time.monotonic() - began < patience() / 3


@pytest.fixture
def relay(server: Server) -> Iterator[Relay]:
    relay = Relay(server.folder / f".s.PGSQL.{server.port}")
    try:
        yield relay
    finally:
        relay.close()


def session(location: Location, counts: list[int] | None = None) -> dv.Session:
    source = KnownCounts(counts or [7, 8, 9, 10])

    def made(ledger: Location) -> dv.Session:
        return dv.Session(source, dv.Unit("row"), dv.Budget(epsilon="2", delta="1e-6"), ledger)

    started(location, made)
    return made(location)


# ---------------------------------------------------------------- who is not let in, and why

HOST = "127.0.0.1"


@pytest.mark.parametrize(
    ("url", "said", "step"),
    [
        ("ada:wrong@{host}:{port}/postgres", "does not take the password", "password file"),
        ("ada@{host}:{port}/postgres", "does not take the password, or got none", "PGPASSWORD"),
        ("nobody:wrong@{host}:{port}/postgres", "does not take the password", "correct user and password"),
        ("ada:{password}@{host}:{port}/nowhere", "no database of that name", "correct the database"),
        ("nobody@/postgres?host={folder}&port={port}", "role that the URL names does not exist", "correct the user"),
        ("analysts@/postgres?host={folder}&port={port}", "may not log in", "a role that may log in"),
        ("ada@/closed?host={folder}&port={port}", "may not connect to the database", "GRANT CONNECT"),
        ("ada:{password}@{host}:1/postgres", "nothing listens at the host and port", "correct host and port"),
        ("ada@/postgres?host=/nowhere", "nothing listens at the host and port", "correct host and port"),
        ("ada:{password}@nowhere.invalid:{port}/postgres", "the host that the URL names is not known", "the host"),
        ("ada:{password}@{host}:{port}/postgres?sslmode=require", "the server offers none", "correct sslmode"),
        ("ada:{password}@{host}:{port}/postgres?sslmode=nonsense", "the driver does not take", "correct what follows"),
        ("ada:{password}@{host}:{port}/postgres?nonsense=1", "the driver does not take", "correct what follows"),
        ("ada:{password}@{host}:{port}/postgres?connect_timeout=long", "the driver does not take", "correct what"),
    ],
)
def test_what_keeps_a_person_out_is_told_apart(server: Server, url: str, said: str, step: str) -> None:
    with server.connect() as connection:
        if "closed" in url:
            connection.execute("DROP DATABASE IF EXISTS closed")
            connection.execute("CREATE DATABASE closed")
            connection.execute("REVOKE CONNECT ON DATABASE closed FROM PUBLIC")
    parts = {"host": HOST, "port": server.port, "folder": server.folder, "password": quote(PASSWORD)}
    with soon(), pytest.raises(LedgerError) as refused:
        Ledger.read("postgresql://" + url.format(**parts))
    in_our_words(refused.value)
    assert said in str(refused.value)
    assert step in refused.value.next_step
    for secret in ("ada", "nobody", "wrong", PASSWORD, quote(PASSWORD), HOST, str(server.port), str(server.folder)):
        assert secret not in str(refused.value) + refused.value.value


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ('FATAL:  no pg_hba.conf entry for host "::1", user "ada", database "x", no encryption', "pg_hba.conf"),
        ("SSL error: certificate verify failed", "TLS with the server fails"),
        ('server certificate for "db" does not match host name "other"', "TLS with the server fails"),
        ("FATAL:  sorry, too many clients already", "no connection left"),
        ("FATAL:  remaining connection slots are reserved", "no connection left"),
        ("FATAL:  the database system is in recovery mode", "starting up"),
        ("connection timeout expired", "does not answer"),
        ("server closed the connection unexpectedly", "does not answer"),
        ("No route to host", "does not answer"),
        ('FATAL:  Passwort-Authentifizierung für Benutzer "ada" fehlgeschlagen', "does not take the password"),
    ],
)
def test_what_a_driver_says_is_said_in_our_words(words: str, said: str) -> None:
    refused = postgres._no_connection("visits on PostgreSQL", words, used_password="Passwort" in words)
    assert said in str(refused)
    assert "ada" not in str(refused)
    in_our_words(refused)


def test_a_server_that_takes_a_connection_and_says_nothing_is_given_up(mortal: Server) -> None:  # noqa: F811
    location = mortal.url(mortal.schema())
    opened(location)
    with mortal.frozen(), soon(), pytest.raises(LedgerAway, match="does not answer") as refused:
        Ledger.read(location)
    in_our_words(refused.value)


# ---------------------------------------------------------------- it was there, and is away


def test_a_server_that_goes_away_is_said_to_be_away_and_nothing_is_charged(
    mortal: Server,  # noqa: F811
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    it = session(mortal.url(mortal.schema()))
    it.release(BINS, dv.Dense(epsilon="1/2"))
    asked: list[Callable[[], object]] = [
        lambda: it.release(BINS, dv.Dense(epsilon="1/4")),
        lambda: it.open(dv.PayWhatYouGet(epsilon="1/4", delta="1e-7", symbols=5, questions=5, ties="unknown")),
    ]
    mortal.kill()
    for ask in asked:
        with soon(), pytest.raises(LedgerAway, match="nothing was charged: .* is away") as refused:
            ask()
        in_our_words(refused.value)
        monkeypatch.setattr(store, "AWAY", 0.5)  # one call as it is for a person, the others sooner
    with pytest.raises(LedgerAway, match="is away"):
        it.raise_budget(dv.Budget(epsilon="3", delta="1e-6"))
    mortal.start()
    assert [entry.status for entry in it.ledger.entries()] == ["done"]
    assert it.budget.epsilon == 2
    assert it.release(BINS, dv.Dense(epsilon="1/4")).number == 2


def test_a_server_that_hangs_is_said_to_be_away_and_works_again(mortal: Server) -> None:  # noqa: F811
    it = session(mortal.url(mortal.schema()))
    with mortal.frozen():
        with soon(), pytest.raises(LedgerAway, match="nothing was charged"):
            it.release(BINS, dv.Dense(epsilon="1/4"))
        with soon(), pytest.raises(LedgerAway):
            _ = it.remaining
    assert it.remaining.epsilon == 2
    assert it.release(BINS, dv.Dense(epsilon="1/4")).number == 1


def test_plans_and_reprs_need_no_server_and_say_from_when_they_are(
    mortal: Server,  # noqa: F811
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(store, "AWAY", 1.0)
    source = KnownTop({"": {"A": 9, "B": 7}})

    def made(location: Location) -> dv.Session:
        return dv.Session(source, dv.Unit("row"), dv.Budget(epsilon="2", delta="1e-6"), location)

    location = mortal.url(mortal.schema())
    started(location, made)
    it = made(location)
    parameters = dv.PayWhatYouGet(epsilon="1/2", delta="1e-7", symbols=5, questions=5, ties="unknown")
    sub = it.open(parameters)
    here = [repr(it), repr(it.plan(BINS, dv.Dense(epsilon="1/2"))), repr(it.plan_open(parameters)), repr(sub)]
    here.append(repr(sub.plan("dest", k=2)))
    assert not any("as of" in said for said in here)
    mortal.kill()
    shows: list[Callable[[], str]] = [
        lambda: repr(it),
        lambda: repr(it.plan(BINS, dv.Dense(epsilon="1/2"))),
        lambda: repr(it.plan_open(parameters)),
        lambda: repr(sub),
        lambda: repr(sub.plan("dest", k=2)),
    ]
    for show, before in zip(shows, here, strict=True):
        with soon():
            said = show()
        assert "as of " in said
        assert "the ledger's server does not answer" in said
        told = said.partition(" (as of ")
        assert before == told[0] + told[2].partition(")")[2]  # and otherwise as before
    with pytest.raises(LedgerAway):
        _ = it.remaining
    assert "not known" in repr(it.releases)
    mortal.start()
    until(lambda: "as of" not in repr(it))  # for some seconds nobody who can do without asks again
    assert repr(it) == here[0]


def test_what_is_left_at_a_file_that_cannot_be_read_is_said_to_be_unknown(tmp_path: Path) -> None:
    it = session(tmp_path / "x.ledger")
    (tmp_path / "x.ledger").unlink()
    assert "what is left is not known: the ledger cannot be read" in repr(it)


@contextmanager
def ready_after(relay: Relay, refusals: int, heard: Callable[[], bool] = lambda: True) -> Iterator[None]:
    """Open the relay again once it has refused so many connections, and what is waited for was heard."""

    def ready() -> None:
        for refusal in itertools.count(1):
            assert relay.refused.acquire(timeout=patience())
            if heard() and refusal >= refusals:
                break
        relay.says = None

    thread = threading.Thread(target=ready)
    thread.start()
    yield
    thread.join()


@pytest.mark.parametrize(("says", "away", "words"), [(STARTING, 0.5, "starting up"), (FULL, 60.0, "")])
def test_a_server_that_is_starting_up_or_has_no_connection_to_spare_is_waited_for(
    server: Server,
    relay: Relay,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    says: tuple[str, str],
    away: float,
    words: str,
) -> None:
    """One that is starting up for longer than one that is away, and that is said; one that is full as one away."""
    monkeypatch.setattr(store, "AWAY", away)
    ledger = opened(relay.url(server.loopback(PASSWORD, server.schema())))
    relay.says = says
    relay.drop()
    lines: list[str] = []

    def heard() -> bool:
        lines.append(capsys.readouterr().err)
        return words in "".join(lines)

    with ready_after(relay, 3, heard):
        spend(ledger, "a")
    assert ledger.verify().statuses == {"done": 1}


def test_an_answer_that_is_paid_for_is_stored_though_the_server_is_away_for_longer(
    server: Server, relay: Relay, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(store, "AWAY", 0.0)
    ledger = opened(relay.url(server.loopback(PASSWORD, server.schema())))
    entry = ledger.charge(key("a"), BODY, admit)
    relay.says = FULL
    relay.drop()
    with pytest.raises(LedgerAway):
        ledger.charge(key("b"), BODY, admit)

    with ready_after(relay, 5):
        assert ledger.finish(entry.number, b"drawn").status == "done"
    assert ledger.answer(1) == b"drawn"
    assert ledger.verify().statuses == {"done": 1}


def test_no_frame_of_a_call_that_finds_its_server_away_shows_the_password(
    server: Server, relay: Relay, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(store, "AWAY", 0.5)
    ledger = opened(relay.url(server.loopback(PASSWORD, server.schema())))
    relay.says = ("28P01", 'password authentication failed for user "ada"')
    relay.drop()
    calls: list[Callable[[], object]] = [lambda: ledger.charge(key("a"), BODY, admit), ledger.entries, ledger.verify]
    for call in calls:
        with pytest.raises(LedgerError) as refused:
            call()
        shown = [repr(frame.f_locals) for frame, _ in walk_tb(refused.tb) if is_ours(frame)]
        assert shown
        text = "".join(shown) + str(refused.value)
        assert PASSWORD not in text and quote(PASSWORD) not in text and not names_port(text, relay.port)
        assert refused.value.__context__ is None


# ---------------------------------------------------------------- an order that nobody wants any more


def test_an_order_withdrawn_while_the_server_is_away_is_not_charged_when_it_is_back(
    server: Server, relay: Relay, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(store, "AWAY", 120.0)
    source = KnownTop({"": {"A": 9, "B": 7}})

    def made(location: Location) -> dv.Session:
        return dv.Session(source, dv.Unit("row"), dv.Budget(epsilon="2", delta="1e-6"), location)

    location = server.loopback(PASSWORD, server.schema())
    started(location, made)
    it = made(relay.url(location))
    sub = it.open(dv.PayWhatYouGet(epsilon="1/2", delta="1e-7", symbols=5, questions=5, ties="unknown"))
    orders: list[Callable[[], Any]] = [
        lambda: it.release_async(BINS, dv.Dense(epsilon="1/4")),
        lambda: sub.ask_async("dest", k=2),
    ]
    for order in orders:
        relay.says = FULL
        relay.drop()
        running = order()
        assert relay.refused.acquire(timeout=patience())
        running.cancel()
        relay.says = None
        with pytest.raises(ReleaseCancelled, match="withdrawn before anything was charged"):
            running.result(patience())
        for thread in threading.enumerate():  # nobody waits for it any more, and it must not charge behind our back
            if thread.name == "dpviz-release":
                thread.join(patience())
                assert not thread.is_alive()
    assert [entry.status for entry in it.ledger.entries()] == ["open"]
    assert it.ledger.uses(sub.number) == []
    assert sub.symbols_left == 5


def test_an_order_withdrawn_while_it_waits_for_another_writer_is_not_charged(location: Location) -> None:
    it, other = session(location), session(location)
    held, over = threading.Event(), threading.Event()

    def hold(connection: object) -> None:
        held.set()
        assert over.wait(patience())

    thread = threading.Thread(target=lambda: other.ledger._store.write(hold))
    thread.start()
    try:
        assert held.wait(patience())
        running = it.release_async(BINS, dv.Dense(epsilon="1/4"))
        running.cancel()
    finally:
        over.set()
        thread.join()
    with pytest.raises(ReleaseCancelled, match="withdrawn before anything was charged"):
        running.result(patience())
    assert it.ledger.entries() == []


def test_wanted_is_asked_once_the_lock_is_held(location: Location) -> None:
    ledger = opened(location)
    ledger.charge(key("tape"), BODY, admit, opens=FIRST)
    for write in (
        lambda wanted: ledger.charge(key("a"), BODY, admit, wanted=wanted),
        lambda wanted: ledger.reserve(1, key("a"), ASKS, less(10), wanted=wanted),
    ):
        rows, answers = ledger.verify().rows, iter([True, False])
        with pytest.raises(ReleaseCancelled) as withdrawn:
            write(lambda answers=answers: next(answers))
        assert withdrawn.value.next_step
        assert ledger.verify().rows == rows
    assert ledger.charge(key("a"), BODY, admit, wanted=lambda: True).number == 2


def test_an_order_whose_charge_was_committed_unheard_is_not_called_withdrawn(server: Server) -> None:
    ledger = opened(server.url(server.schema()))
    with cut("after") as done:
        entry = ledger.charge(key("a"), BODY, admit, wanted=lambda: not done)
    assert (entry.number, entry.status) == (1, "pending")
    assert ledger.account["spent"] == "1"


def test_an_order_whose_charge_was_not_committed_is_withdrawn_before_the_next_try(server: Server) -> None:
    ledger = opened(server.url(server.schema()))
    with cut("before") as done, pytest.raises(ReleaseCancelled, match="withdrawn before anything was charged"):
        ledger.charge(key("a"), BODY, admit, wanted=lambda: not done)
    assert ledger.account["spent"] == "0"
    assert ledger.verify().rows == 1
