"""A curator as a service of a real JupyterHub: the hub says who asks, and the declaration what they may."""

from __future__ import annotations

import asyncio
import json
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

import dpviz as dv
from dpviz.curator.hub import HubCallers, UnderPrefix
from dpviz.errors import BudgetExceeded, Forbidden, LedgerAway, ParameterError
from tests.curator.hub import ADMIN, Hub
from tests.curator.test_declaration import declared
from tests.patience import patience, until
from tests.ports import own_port

DECLARED = """
dataset = "visits"
ledger = "visits.ledger"
tick = "0.02"

[source]
practice = "doctor_visits"

[unit]
of = "row"
noun = "person-year"

[budget]
epsilon = "10"

[columns.visits]
bins = {{ kind = "integers", low = 0, high = 9, overflow = true }}

[caps]
each = {{ epsilon = "1" }}

[[analysts]]
name = "ada"
hub = "ada.l"

[[analysts]]
name = "ben"
hub = "ben"

[[analysts]]
name = "eve"
hub = "eve"

[listen]
host = "127.0.0.1"
port = {port}
hub = true
"""
HALF = dv.Dense(epsilon="1/2")


@pytest.fixture(scope="module")
def hub(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Hub]:
    folder, port = tmp_path_factory.mktemp("hub"), own_port()
    (folder / "visits.toml").write_text(DECLARED.format(port=port))
    started = Hub(folder, port)
    try:
        started.start()
        yield started
    finally:
        started.stop()


def entries(session: dv.Session) -> int:
    return len(session.ledger.entries())


def test_an_analyst_s_hub_token_releases_through_the_proxy_and_without_it(hub: Hub) -> None:
    token, _ = hub.token("ada.l")
    behind, direct = dv.connect(hub.address, token=token), dv.connect(hub.direct, token=token)
    bins = behind.domains["visits"]
    release = behind.release(bins, HALF)
    assert direct.release(bins, HALF).number == release.number  # paid for, so the same answer
    entry = direct.ledger.entry(release.number)
    assert (entry.person, entry.asked_by["proof"]) == ("ada", "JupyterHub")


def test_a_notebook_server_asks_with_the_token_that_the_hub_gave_it(hub: Hub) -> None:
    hub.ask("POST", "/users/ada.l/server")
    until(lambda: hub.ask("GET", "/users/ada.l")["servers"].get("", {}).get("ready"), lambda: hub.log)
    token, _ = hub.token("ada.l", "access:servers!user=ada.l")
    request = urllib.request.Request(f"{hub.public}/user/ada.l/", headers={"Authorization": f"token {token}"})
    with urllib.request.urlopen(request, timeout=patience()) as page:
        person, asked_by, price = json.loads(page.read())
    assert (person, asked_by["name"], asked_by["proof"]) == ("ada", "ada", "JupyterHub")
    assert price.startswith("ε 0.07")
    hub.ask("DELETE", "/users/ada.l/server")


def test_a_token_of_another_analyst_is_charged_to_that_other(hub: Hub) -> None:
    ada, ben = (dv.connect(hub.address, token=hub.token(user)[0]) for user in ("ada.l", "ben"))
    bins = ada.domains["visits"]
    mine = ada.release(bins, dv.Dense(epsilon="0.4"), key="whose")
    other = ben.release(bins, dv.Dense(epsilon="0.9"), key="whose")
    assert ben.ledger.entry(other.number).person == "ben"
    assert ada.ledger.entry(mine.number).person == "ada"
    with pytest.raises(BudgetExceeded, match="analyst ben"):
        ben.release(bins, dv.Dense(epsilon="0.2"), key="over")


@pytest.mark.parametrize("forge", ["x" * 32, "dpviz_" + "0" * 64, ADMIN, f"{ADMIN}-of-a-namesake"])
def test_a_forged_token_and_one_of_a_service_are_refused(forge: str, hub: Hub) -> None:
    with pytest.raises(Forbidden, match="token that is not known"):
        dv.connect(hub.address, token=forge)


def test_a_token_without_access_to_the_service_is_refused(hub: Hub) -> None:
    with pytest.raises(Forbidden, match="token that is not known"):
        dv.connect(hub.address, token=hub.token("eve")[0])  # named in the declaration, and not let in by the hub
    with pytest.raises(Forbidden, match="token that is not known"):
        dv.connect(hub.address, token=hub.token("ada.l", "custom:dpviz:plan")[0])


def test_a_user_whom_the_declaration_does_not_name_is_refused(hub: Hub) -> None:
    with pytest.raises(Forbidden, match="token that is not known"):
        dv.connect(hub.address, token=hub.token("keeper")[0])


def test_a_token_that_may_only_plan_pays_for_nothing(hub: Hub) -> None:
    token, _ = hub.token("ada.l", "access:services!service=visits", "custom:dpviz:plan")
    session = dv.connect(hub.address, token=token)
    before, bins = entries(session), session.domains["visits"]
    assert session.plan(bins, HALF).price is not None
    with pytest.raises(Forbidden, match="right to release"):
        session.release(bins, HALF, key="never")
    assert entries(session) == before


def test_a_revoked_token_is_refused_as_soon_as_the_hub_s_word_is_no_longer_remembered(hub: Hub) -> None:
    token, number = hub.token("ada.l")
    session = dv.connect(hub.address, token=token)
    bins = session.domains["visits"]
    assert session.plan(bins, HALF).price is not None
    hub.ask("DELETE", f"/users/ada.l/tokens/{number}")
    with pytest.raises(Forbidden, match="token that is not known"):
        while True:  # ends within REMEMBERED seconds, or hangs this test
            dv.connect(hub.address, token=token)
    with pytest.raises(Forbidden, match="token that is not known"):
        session.release(bins, HALF, key="revoked")


def test_no_token_is_in_a_log_or_in_the_ledger(hub: Hub) -> None:
    token, _ = hub.token("ada.l")
    session = dv.connect(hub.address, token=token)
    session.release(session.domains["visits"], dv.Dense(epsilon="0.01"), key="quiet")
    with pytest.raises(Forbidden):
        dv.connect(hub.address, token="forged-and-to-be-found-nowhere")
    for secret in (token, "forged-and-to-be-found-nowhere"):
        assert secret not in hub.log
        for file in hub.folder.glob("visits.*"):
            assert secret.encode() not in file.read_bytes()


# ---------------------------------------------------------------- without a hub


class Word:
    """The hub's word on every token."""

    access_scopes = frozenset({"access:services!service=visits"})

    def __init__(self, said: object) -> None:
        self._said = said

    async def user_for_token(self, token: str, *, sync: bool) -> object:
        assert not sync and not token.startswith("dpviz_")
        if isinstance(self._said, Exception):
            raise self._said
        if self._said is asyncio.Event:
            await asyncio.Event().wait()
        return self._said

    def check_scopes(self, required: frozenset[str], user: dict[str, set[str]]) -> set[str]:
        return set(required) & user["scopes"]


def callers(folder: Path, said: object, monkeypatch: pytest.MonkeyPatch) -> HubCallers:
    monkeypatch.setattr("dpviz.curator.hub._hub_auth", lambda: Word(said))
    return HubCallers(declared(folder))


ACCESS = "access:services!service=visits"
WORDS: list[tuple[object, set[str] | None]] = [
    ({"kind": "user", "name": "ada.l", "scopes": [ACCESS]}, {"plan", "release"}),
    ({"kind": "user", "name": "keeper", "scopes": [ACCESS]}, {"approve", "audit"}),
    ({"kind": "user", "name": "ada.l", "scopes": [ACCESS, "custom:dpviz:plan"]}, {"plan"}),
    ({"kind": "user", "name": "ada.l", "scopes": [ACCESS, "custom:dpviz:plan!user=ada.l"]}, {"plan"}),
    ({"kind": "user", "name": "ada.l", "scopes": [ACCESS, "custom:dpviz:approve"]}, set()),
    ({"kind": "user", "name": "ada.l", "scopes": []}, None),
    ({"kind": "user", "name": "ada.l"}, None),
    ({"kind": "service", "name": "ada.l", "scopes": [ACCESS]}, None),
    ({"name": "ada.l", "scopes": [ACCESS]}, None),
    ({"kind": "user", "name": "ada", "scopes": [ACCESS]}, None),
    ({"kind": "user", "name": ["ada.l"], "scopes": [ACCESS]}, None),
    (None, None),
    ([], None),
]


@pytest.mark.parametrize(("said", "scopes"), WORDS)
def test_the_hub_s_word_and_the_declaration_decide_together(
    said: object, scopes: set[str] | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    caller = callers(tmp_path, said, monkeypatch).caller_of_token("a token of a hub")
    assert (None if caller is None else set(caller.scopes)) == scopes


def test_a_hub_that_does_not_answer_is_no_refusal_and_shows_no_token(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(LedgerAway, match="the hub must answer") as caught:
        callers(tmp_path, RuntimeError("Quetzalwren"), monkeypatch).caller_of_token("Quetzalwren")
    assert "Quetzalwren" not in str(caught.value)


def test_a_hub_that_hangs_is_waited_for_no_longer_than_it_may(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dpviz.curator.hub.PATIENCE", 0.01)
    with pytest.raises(LedgerAway, match="the hub must answer"):
        callers(tmp_path, asyncio.Event, monkeypatch).caller_of_token("a token of a hub")


def test_a_token_of_the_curator_is_not_shown_to_the_hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    said = {"kind": "user", "name": "ada.l", "scopes": [ACCESS]}
    assert callers(tmp_path, said, monkeypatch).caller_of_token("dpviz_mistyped") is None


def test_a_curator_that_finds_no_hub_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("JUPYTERHUB_API_URL", "JUPYTERHUB_SERVICE_NAME"):
        monkeypatch.delenv(name, raising=False)
    with pytest.raises(ParameterError, match="no JUPYTERHUB_API_URL and no JUPYTERHUB_SERVICE_NAME"):
        HubCallers(declared(tmp_path))


@pytest.mark.parametrize(
    ("prefix", "path", "told"),
    [
        ("/services/v/", "/services/v/charter", "/charter"),
        ("/services/v", "/services/v/entries/1", "/entries/1"),
        ("/services/v", "/charter", "/charter"),
        ("/services/v", "/services/visits/charter", "/services/visits/charter"),
        ("", "/services/v/charter", "/services/v/charter"),
    ],
)
def test_the_prefix_of_a_service_is_taken_off_its_paths(prefix: str, path: str, told: str) -> None:
    seen = []

    async def app(scope: dict[str, object], receive: object, send: object) -> None:
        seen.append(scope["path"])

    call = UnderPrefix(app, prefix)({"type": "http", "path": path}, None, None)  # type: ignore[arg-type]
    with pytest.raises(StopIteration):
        call.send(None)
    assert seen == [told]
