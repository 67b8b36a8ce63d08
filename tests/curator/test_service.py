"""A curator in a process of its own: every call of a session works on a connection to it, and nothing else does."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import random
import socket
import sys
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import httpx
import pytest

import dpviz as dv
from dpviz.curator.client import CuratedSession
from dpviz.curator.declaration import digest_of
from dpviz.curator.wire import LONGEST_MESSAGE
from dpviz.errors import BudgetExceeded, Forbidden, LedgerAway, LedgerFormat, ParameterError, ReleaseLost
from dpviz.session.ledger import Ledger
from dpviz.session.session import Session
from tests.curator.served import Served, rows
from tests.patience import patience

HALF = Fraction(1, 2)
AGES = dv.Domain.integers(0, 9, column="age")
WARDS = dv.Domain.categories(["east", "west"], column="ward", other=True)


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with Served(tmp_path_factory.mktemp("kept"), epsilon="500") as made:
        yield made


@pytest.fixture
def session(running: Served) -> Iterator[Session]:
    made = dv.connect(running.address)
    yield made
    made.ledger.detach()


def released(session: Session, key: str = "") -> dv.Release:
    return session.release(AGES, dv.Dense("1/2"), key=key or None)


# ---------------------------------------------------------------- every call of a session


def test_a_plan_is_the_one_that_a_session_in_this_kernel_makes(
    session: Session, tmp_path: Path, running: Served
) -> None:
    budget = dv.Budget("500", "1e-4")
    schema = {"ward": "text", "age": "number"}
    data = running.folder / "visits.csv"
    here = dv.Session(data, dv.Unit("row", noun="visit"), budget, tmp_path / "x", dataset="ward visits", schema=schema)
    for question, mechanism in [(AGES, dv.Dense("1/2")), (AGES, dv.Tree("1/4")), (WARDS, dv.Sorted("1"))]:
        mine, theirs = session.plan(question, mechanism), here.plan(question, mechanism)
        assert (mine.price.sentence, mine.one_bin(), mine.all_bins()) == (
            theirs.price.sentence, theirs.one_bin(), theirs.all_bins()
        )  # fmt: skip
    assert [(one.name, one.kind) for one in session.columns] == [(one.name, one.kind) for one in here.columns]
    assert (session.unit, session.dataset) == (here.unit, here.dataset)


def test_a_release_is_charged_once_and_given_again(session: Session) -> None:
    before = session.remaining.epsilon
    first = released(session, "once")
    assert session.remaining.epsilon == before - HALF
    assert released(session, "once") == first
    assert session.remaining.epsilon == before - HALF
    assert session.releases[first.number] == first
    assert session.ledger.entry(first.number).person == "ana"


CALLS: dict[str, Any] = {
    "where": lambda session: session.release(AGES, dv.Dense("1/2"), where={"ward": "east"}),
    "parts": lambda session: session.release(AGES, dv.Dense("1/2"), by=WARDS),
    "parts one way": lambda session: session.release(AGES, dv.Dense("1/4"), by=WARDS, way="product"),
    "strict": lambda session: session.release(AGES, dv.Dense("1/2", base="tight", cap=100), mode="strict"),
    "then": lambda session: session.release(AGES, dv.Dense("1/3"), then=dv.Dense("1/5")),
    "keys": lambda session: session.release("ward", dv.Stability("1", delta="1e-6")),
    "tree": lambda session: session.release(AGES, dv.Tree("1/2")),
    "key": lambda session: session.release(AGES, dv.Dense("1/2"), key="another"),
}


@pytest.mark.parametrize("name", CALLS)
def test_each_kind_of_call_is_drawn_by_the_curator_and_found_again(session: Session, name: str) -> None:
    made = CALLS[name](session)
    before = session.remaining.epsilon
    assert CALLS[name](session) == made
    assert session.remaining.epsilon == before
    assert made.to_frame() is not None
    assert made.origin == "session"


def test_a_sub_session_is_opened_asked_and_closed(session: Session) -> None:
    opened = session.open(dv.Parts(WARDS, "1/2"), key="to close")
    answer = opened.ask(AGES, dv.Dense("1/4"), part="east")
    assert opened.ask(AGES, dv.Dense("1/4"), part="east") == answer
    assert opened.answers == [answer]
    assert session.sub_sessions[opened.number].transcript[0].status == "done"
    opened.close()
    assert opened.closed
    with pytest.raises(BudgetExceeded):
        opened.ask(AGES, dv.Dense("1/4"), part="west")


def test_a_fixed_list_is_opened_and_each_line_drawn_once(session: Session) -> None:
    lines = [(dv.Question(AGES, {"ward": [ward]}), dv.Dense("1/10")) for ward in "abcdefghijklmnopqrstuvwxyzABCDEFGH"]
    batch = session.batch(lines, delta="1e-6")
    batch.ask(*lines[0])
    assert len(batch.lines_left) == len(lines) - 1


def test_an_awaited_release_and_a_combination(session: Session) -> None:
    async def both() -> tuple[dv.Release, dv.Release]:
        first = await session.release_async(AGES, dv.Dense("1/2"), key="first")
        return first, await session.release_async(AGES, dv.Dense("1/2"), key="second")

    pair = asyncio.run(both())
    combined = dv.combine(*pair)
    assert len(combined.to_frame()) == 10


def test_a_workbench_and_a_report_are_made_of_what_was_released(session: Session, tmp_path: Path) -> None:
    made = released(session, "for the report")
    bench = dv.Workbench(session, AGES)
    assert bench.session_model is not None
    dv.report([made], tmp_path / "report.html", ledger=session)
    assert "ward visits" in (tmp_path / "report.html").read_text()


def test_the_owner_keeps_the_budget(session: Session) -> None:
    with pytest.raises(Forbidden):
        session.raise_budget(dv.Budget("1000"))
    with pytest.raises(Forbidden):
        session.ledger.backup("copy.ledger")
    with pytest.raises(BudgetExceeded) as refused:
        session.release(AGES, dv.Dense("999"))
    assert refused.value.left and refused.value.part == "epsilon"


def test_the_declared_bins_are_public(session: Session) -> None:
    assert session.domains == {"age": AGES}


# ---------------------------------------------------------------- messages that no client of ours sends


def client(running: Served) -> httpx.Client:
    path = running.address.removeprefix("unix:")
    return httpx.Client(transport=httpx.HTTPTransport(uds=path), base_url="http://curator", timeout=patience())


def whole_order(session: Session, key: str) -> dict[str, Any]:
    bound, profile = session._purchase(AGES, dv.Dense("1/2"), None, None, None, None, None, key, None, None)
    return session._order(bound, profile, None, key, False)[1].order.to_json()


def mutated(order: dict[str, Any], dice: random.Random) -> Any:
    """The same message with one part damaged, dropped, doubled or of another kind."""
    made = json.loads(json.dumps(order))
    places: list[tuple[Any, Any]] = []

    def walk(part: Any) -> None:
        if isinstance(part, dict | list):
            for name in part if isinstance(part, dict) else range(len(part)):
                places.append((part, name))
                walk(part[name])

    walk(made)
    part, name = dice.choice(places)
    wrong = [None, 0, -1, 1e308, True, "", "x" * 5_000, [], {}, "1/0", "nan", "1e999999", {"a": {"b": []}}, "\u0000"]
    kind = dice.randrange(4)
    if kind == 0 and isinstance(part, dict):
        del part[name]
    elif kind == 1 and isinstance(part, dict):
        part[f"{name}x"] = part[name]
    elif kind == 2 and isinstance(part[name], str) and part[name]:
        place = dice.randrange(len(part[name]))
        part[name] = part[name][:place] + dice.choice("0129abz/.-\u00e9") + part[name][place + 1 :]
    else:
        part[name] = dice.choice(wrong)
    return made


REFUSALS = (
    "ParameterError", "Forbidden", "DomainError", "SchemaError", "UnitError", "ExactnessError", "UnknownArgument",
    "BudgetExceeded", "SessionBusy",
)  # fmt: skip


@pytest.mark.parametrize("seed", range(4))
def test_a_damaged_order_is_refused_in_our_words_or_means_another_whole_one(
    running: Served, session: Session, seed: int
) -> None:
    dice = random.Random(seed)
    order = whole_order(session, f"mutated {seed}")
    with client(running) as sent:
        for turn in range(60):
            damaged = mutated(order, dice)
            reply = sent.post(f"/orders/{seed:016x}{turn:016x}", json=damaged)
            told = reply.json()
            if reply.is_success:
                assert damaged["digest"] == order["digest"], damaged  # it says the same in another way
                continue
            assert told["error"] in REFUSALS, told
            assert told["message"] and told["rule"]
        charged = [entry for entry in session.ledger.entries() if entry.body["user_key"] == f"mutated {seed}"]
        assert len(charged) <= 1
    assert running.log == ""


@pytest.mark.parametrize(
    ("content", "status"),
    [
        (b"", 403),
        (b"[]", 403),
        (b"{", 403),
        (b'{"kind": "release", "kind": "ask"}', 403),
        (b'{"kind": NaN}', 403),
        (b'{"kind": "sql"}', 403),
        (b"[" * 100_000, 403),
        (b'{"kind": "' + b"x" * LONGEST_MESSAGE + b'"}', 403),
        (b"\xff\xfe", 403),
    ],
    ids=["nothing", "a list", "half", "twice", "nan", "sql", "deep", "long", "bytes"],
)
def test_a_message_that_is_no_order_is_refused(running: Served, content: bytes, status: int) -> None:
    with client(running) as sent:
        reply = sent.post(f"/orders/{'0' * 32}", content=content)
    assert (reply.status_code, reply.json()["error"]) == (status, "Forbidden")


def test_an_address_that_is_not_in_the_document_is_refused(running: Served) -> None:
    with client(running) as sent:
        for path in ("/docs", "/session", "/entries/1/../../etc/passwd", "/entries/0", "/entries/x", "/keys/zz"):
            reply = sent.get(path)
            assert reply.status_code in (404, 403, 422), path
            assert reply.json()["error"] in ("Forbidden", "ParameterError")
        document = sent.get("/openapi.json").json()
    assert set(document["paths"]) >= {"/charter", "/orders/{name}", "/entries/{number}/answer"}
    assert document["components"]["schemas"] if "components" in document else True


def test_one_order_sent_twice_is_one_charge(running: Served, session: Session) -> None:
    order = whole_order(session, "sent twice")
    before = session.remaining.epsilon
    with client(running) as sent:
        name = "ab" * 16
        for _ in range(3):
            assert sent.post(f"/orders/{name}", json=order).is_success
        other = whole_order(session, "another under the same name")
        assert sent.post(f"/orders/{name}", json=other).status_code == 403
        seen = 0
        while True:
            told = sent.get(f"/orders/{name}", params={"seen": seen}).json()
            if told["state"] in ("done", "failed"):
                break
            seen = told["version"]
    assert told["state"] == "done"
    assert before - session.remaining.epsilon == HALF


def test_a_client_that_hangs_holds_nobody_up(running: Served, session: Session) -> None:
    path = running.address.removeprefix("unix:")
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as hung:
        hung.connect(path)
        hung.sendall(b"POST /orders/" + b"0" * 32 + b" HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\n{")
        assert released(session, "beside one that hangs").number


# ---------------------------------------------------------------- who is at the other end


def test_a_user_who_is_not_declared_is_told_so_and_nothing_else(tmp_path: Path) -> None:
    with Served(tmp_path, analysts='[[analysts]]\nname = "ana"\nlogin = 54321\n') as made:
        with pytest.raises(Forbidden) as refused:
            dv.connect(made.address)
        assert "token" in str(refused.value)
        with pytest.raises(Forbidden):
            dv.connect(made.address, token="x" * 43)
        with client(made) as sent:
            for path in ("/charter", "/entries", "/head", "/entries/1/answer", "/orders/" + "0" * 32):
                assert sent.get(path).status_code == 401


def test_a_right_that_was_not_given_is_refused(tmp_path: Path) -> None:
    reader = f'[[analysts]]\nname = "ana"\nlogin = {os.getuid()}\nscopes = ["plan"]\n'
    with Served(tmp_path, analysts=reader) as made:
        session = dv.connect(made.address)
        assert session.plan(AGES, dv.Dense("1/2")).affordable
        with pytest.raises(Forbidden):
            released(session)
        assert session.ledger.read_only
        assert not session.ledger.entries()


# ---------------------------------------------------------------- a curator that goes away


def test_a_lost_curator_is_told_apart_from_a_refusal_and_the_same_call_gives_the_answer(tmp_path: Path) -> None:
    made = Served(tmp_path).start()
    session = dv.connect(made.address)
    first = released(session)
    assert session.known()[1] == ""
    made.kill()
    with pytest.raises(LedgerAway) as gone:
        released(session, "while it is away")
    assert "make the same call again" in gone.value.next_step
    left, asof = session.known()
    assert asof and left.epsilon == 20 - HALF
    with made.start():
        assert released(session) == first
        assert session.remaining.epsilon == left.epsilon
    assert made.log == ""


def test_a_curator_that_is_stopped_leaves_no_socket_and_starts_again(tmp_path: Path) -> None:
    made = Served(tmp_path).start()
    made.stop()
    assert not (tmp_path / "v.sock").exists()
    with made.start():
        assert dv.connect(made.address).remaining.epsilon == 20


def test_a_curator_killed_at_any_time_charges_once_and_answers_once(tmp_path: Path) -> None:
    """A seeded part of the long attack in `make soak`."""
    dice, made = random.Random(7), Served(tmp_path, epsilon="1000")
    answers: dict[str, dv.Release] = {}
    for turn in range(6):
        with made.start():
            session = dv.connect(made.address)
            handle = session.release_async(AGES, dv.Dense("1/2"), key=f"turn {turn}")
            steps = dice.randrange(6)
            for _ in range(steps):
                session.ledger.head()  # so many replies later it is killed
            made.kill()
            with contextlib.suppress(LedgerAway, ReleaseLost):
                answers[f"turn {turn}"] = handle.result()
    with made.start():
        session = dv.connect(made.address)
        for key, answer in answers.items():
            assert session.release(AGES, dv.Dense("1/2"), key=key) == answer
        session.ledger.verify()
    found = Ledger.read(tmp_path / "visits.ledger")
    charged = sum(1 for _ in found.entries())
    assert found.account["epsilon"] == str(int(found.account["epsilon_total"]) // 1000 * charged // 2)


def test_an_address_that_is_none_is_refused_before_anything_is_sent() -> None:
    for address in ("visits.sock", "http://elsewhere:80", "https://user:word@host", "unix:relative", 5, "ftp://x"):
        with pytest.raises(ParameterError) as refused:
            dv.connect(address, token="secret")  # type: ignore[arg-type]
        assert "secret" not in str(refused.value) and "word" not in str(refused.value)


def test_others_are_named_to_those_alone_who_audit(tmp_path: Path) -> None:
    token, auditor = "a" * 43, "b" * 43
    analysts = f"""
[[analysts]]
name = "ana"
tokens = ["{digest_of(token)}"]

[[analysts]]
name = "ben"
tokens = ["{digest_of(auditor)}"]
scopes = ["plan", "audit"]

[[analysts]]
name = "cleo"
login = {os.getuid()}
"""
    with Served(tmp_path, analysts=analysts) as made:
        number = released(dv.connect(made.address, token=token)).number
        mine, theirs, audited = (
            dv.connect(made.address, token=token), dv.connect(made.address), dv.connect(made.address, token=auditor)
        )  # fmt: skip
        assert [one.ledger.entry(number).person for one in (mine, theirs, audited)] == ["ana", "", "ana"]
        assert [bool(one.ledger.entry(number).asked_by) for one in (mine, theirs, audited)] == [True, False, True]
        assert theirs.releases[number] == mine.releases[number]
    for secret in (token, auditor):
        assert secret not in made.log
        assert all(secret.encode() not in path.read_bytes() for path in tmp_path.iterdir() if path.is_file())


def test_a_missing_package_is_named_with_the_way_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "httpx", None)
    monkeypatch.delitem(sys.modules, "dpviz.curator.connection", raising=False)
    with pytest.raises(ParameterError, match="httpx") as refused:
        dv.connect("unix:/run/visits.sock")
    assert "dpviz[curator]" in refused.value.next_step


def test_an_analyst_sees_what_is_left_of_their_caps_before_asking(tmp_path: Path) -> None:
    caps = '\n[caps]\neach = [{ epsilon = "1" }, { epsilon = "3/4", per = "month" }]\n'
    with Served(tmp_path, more=caps) as made:
        session = dv.connect(made.address)
        whole, day = session.caps
        assert (whole.left["epsilon"], day.left["epsilon"]) == (1, Fraction(3, 4))
        assert whole.until == "" and len(day.until) == 10
        released(session)
        assert [one.left["epsilon"] for one in session.caps] == [Fraction(1, 2), Fraction(1, 4)]
        assert "ε 0.25, δ 0.0001 left; whole again on 20" in repr(session.caps[1])
        with pytest.raises(BudgetExceeded) as refused:
            released(session, "too much for a month")
        assert "a month" in str(refused.value)
        assert session.remaining.epsilon == 20 - HALF


# ---------------------------------------------------------------- found by an attack


def followed(sent: httpx.Client, order: dict[str, Any], name: str) -> list[dict[str, Any]]:
    """Each standing of an order that its sender is told."""
    found = [sent.post(f"/orders/{name}", json=order).json()]
    while found[-1]["state"] not in ("done", "failed"):
        found.append(sent.get(f"/orders/{name}", params={"seen": found[-1]["version"]}).json())
    return found


def test_nothing_that_is_told_of_an_order_counts_looks_at_the_engine(tmp_path: Path) -> None:
    """The version of a standing once counted them, and so the time of a draw below a tick."""
    ends = []
    for rows_, name in ((30, "few"), (400_000, "many")):
        folder = tmp_path / name
        folder.mkdir()
        rows(rows_).to_csv(folder / "visits.csv", index=False)
        (folder / "visits.csv").chmod(0o600)
        with Served(folder, tick="1") as made, client(made) as sent:
            told = followed(sent, whole_order(dv.connect(made.address), "counted"), "5" * 32)
        ends.append({part: value for part, value in told[-1].items() if part != "answer"})
        assert {(one["done"], one["of"]) for one in told[:-1]} <= {(0, 1)}
    assert ends[0] == ends[1]


def test_many_slow_checks_of_one_analyst_stop_nobody_else(running: Served, session: Session) -> None:
    order = whole_order(session, "slow")
    labels = [f"label {number}" for number in range(400)]
    order["question"] = dv.Question.of(dv.Domain.categories(labels, column="ward")).to_json()

    async def flood() -> tuple[list[int], int]:
        transport = httpx.AsyncHTTPTransport(uds=running.address.removeprefix("unix:"))
        async with httpx.AsyncClient(transport=transport, base_url="http://curator", timeout=patience()) as sent:
            slow = [asyncio.create_task(sent.post(f"/orders/{turn:032x}", json=order)) for turn in range(40)]
            beside = await sent.get("/head")
            return [(await one).status_code for one in slow], beside.status_code

    statuses, beside = asyncio.run(flood())
    assert beside == 200
    assert set(statuses) == {422, 429} and statuses.count(429) >= 20


def test_connections_that_say_nothing_are_few_and_are_closed(running: Served, session: Session) -> None:
    path = running.address.removeprefix("unix:")
    with contextlib.ExitStack() as opened:
        hung = [opened.enter_context(socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)) for _ in range(230)]
        for one in hung:
            one.settimeout(patience())
            one.connect(path)
        assert hung[-1].recv(1) == b"", "one too many of a user is closed at once"
        assert hung[0].recv(1) == b"", "one over which no request comes is closed after a while"
    assert session.ledger.head()
    assert running.log == ""


def test_entries_come_in_as_many_replies_as_they_take(
    running: Served, session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    for place in range(3):
        released(session, f"paged {place}")
    whole = session.ledger.entries()
    real, asked = session.ledger._connection.get, []

    def two(path: str, **given: Any) -> Any:
        asked.append(given)
        return real(path, **given)[-2:] if path == "/entries" else real(path, **given)

    monkeypatch.setattr(session.ledger._connection, "get", two)
    assert session.ledger.entries() == whole
    assert session.ledger.entries(last=3) == whole[-3:]
    assert (
        session.ledger.finished(last=3, before=whole[-1].number)
        == [one for one in whole[:-1] if one.status == "done"][-3:]
    )
    assert len(asked) > 3


def test_a_use_without_its_terms_is_refused(running: Served, session: Session) -> None:
    opened = session.open(dv.Parts(WARDS, "1/2"), key="for bad terms")
    order = {"kind": "ask", "entry": opened.number, "question": dv.Question.of(AGES).to_json(), "use": {},
             "user_key": None, "retry": False, "digest": "0" * 64}  # fmt: skip
    with client(running) as sent:
        reply = sent.post(f"/orders/{'6' * 32}", json=order)
    assert reply.status_code == 422 and reply.json()["error"] == "ParameterError"


def test_a_profile_is_ordered_with_one_answer_alone(running: Served, session: Session) -> None:
    parts = session._purchase(AGES, dv.Dense("1/2"), None, WARDS, None, None, None, "p", None, None)[0]
    order = session._order(parts, None, None, "p", False)[1].order.to_json()
    profile = dv.Question.contribution_profile(AGES)
    order["over"] = {"question": profile.to_json(), "mechanism": {"name": "Dense", "parameters": {
        **dv.Dense("1/2").parameters()}}}  # fmt: skip
    with client(running) as sent:
        reply = sent.post(f"/orders/{'7' * 32}", json=order)
    assert reply.status_code == 422 and "by= and over=" in reply.json()["message"]


REPLIES: dict[str, bytes] = {
    "deep": b"[" * 200_000,
    "null": b"null",
    "list": b"[1]",
    "empty": b"{}",
    "half": b'{"account": {}}',
    "text": b"hello",
    "numbers": b'{"account": {"epsilon": 1}, "new": 1, "head": null}',
}


@pytest.mark.parametrize("name", REPLIES)
def test_a_server_that_answers_in_another_form_is_named_so(
    session: Session, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    reply = httpx.Response(200, content=REPLIES[name], request=httpx.Request("GET", "http://curator"))
    monkeypatch.setattr(session.ledger._connection, "_asked", lambda *_: reply)
    looks = (
        lambda: session.ledger.account, lambda: session.ledger.entries(), lambda: session.ledger.entry(1),
        lambda: session.ledger.verify(), lambda: session.ledger.sub_account(1), lambda: session.ledger.uses(1),
        lambda: session.ledger.raises(), lambda: session.caps, lambda: session.release(AGES, dv.Dense("1/2"), key=name),
        lambda: CuratedSession(session.ledger._connection),
    )  # fmt: skip
    for look in looks:
        with contextlib.suppress(LedgerFormat, ParameterError):
            look()
    assert "Session" in repr(session)
