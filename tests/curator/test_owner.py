"""The owner's page: who may open it, what it shows, what its forms do, and what other sites cannot do."""

from __future__ import annotations

import asyncio
import json
import os
import re
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction
from pathlib import Path
from typing import Any
from urllib.parse import urljoin

import httpx
import pytest

import dpviz as dv
from dpviz import cli
from dpviz.curator import owner, pages
from dpviz.curator.approvals import ApprovalGate
from dpviz.curator.declaration import ApprovalRule, Declaration
from dpviz.curator.hub import UnderPrefix
from dpviz.curator.keeper import Keeper
from dpviz.curator.service import make_app
from dpviz.session.callers import Caller
from tests.curator.test_approvals import ANA, DEAR, OLGA, Kept, X, Y, ended

TOKENS = {"olga's": OLGA, "ana's": ANA, "ben's": Caller("Ben")}
EVIL = Caller("<script>alert(1)</script>", '"><img src=x>')
ORIGIN = "http://testserver"


class Authority:
    def __init__(self) -> None:
        self.known = dict(TOKENS)

    def caller_of_uid(self, uid: int) -> Caller | None:
        return None

    def caller_of_token(self, token: str) -> Caller | None:
        return self.known.get(token)


class Client:
    """Sends requests to an application in this process, and keeps its cookies."""

    def __init__(self, app: Any, base: str = ORIGIN) -> None:
        self.app = app
        self._client = httpx.AsyncClient(transport=httpx.ASGITransport(app=app), base_url=base)
        self.cookies = self._client.cookies

    def get(self, place: str) -> httpx.Response:
        return self._send("GET", place, follow_redirects=True)

    def post(self, place: str, follow: bool = True, **sent: Any) -> httpx.Response:
        return self._send("POST", place, follow_redirects=follow, **sent)

    def _send(self, *asked: Any, **sent: Any) -> httpx.Response:
        """On a thread of its own: beside a browser, this one has a loop that runs already."""
        with ThreadPoolExecutor(1) as threads:
            return threads.submit(lambda: asyncio.run(self._client.request(*asked, **sent))).result()


class Page:
    """A browser without scripts: it follows the page's own forms."""

    def __init__(self, place: Path, *rules: ApprovalRule) -> None:
        self.it, self.authority = Kept(place, *(rules or (DEAR,))), Authority()
        self.client = Client(make_app(self.it.keeper, self.authority))
        self.reply = self.client.get("/owner")

    @property
    def text(self) -> str:
        return self.reply.text

    def forms(self) -> dict[str, dict[str, str]]:
        """The forms of the page by the end of their action, and the hidden fields of each."""
        found = re.findall(r'<form method="post" action="([^"]*)">(.*?)</form>', self.text, re.DOTALL)
        hidden = r'<input type="hidden" name="([^"]*)" value="([^"]*)">'
        return {urljoin(str(self.reply.url), action): dict(re.findall(hidden, inner)) for action, inner in found}

    def send(self, name: str, headers: dict[str, str] | None = None, **fields: str) -> Any:
        """Fill in the form whose action ends in this name, and send it."""
        action, hidden = next((action, hidden) for action, hidden in self.forms().items() if action.endswith(name))
        told = {"origin": ORIGIN} if headers is None else headers
        self.reply = self.client.post(action, data={**hidden, **fields}, headers=told)
        return self.reply

    def look(self) -> str:
        self.reply = self.client.get("/owner")
        return self.text

    def sign_in(self, token: str = "olga's") -> Any:
        return self.send("sign-in", token=token)


@pytest.fixture
def page(tmp_path: Path) -> Iterator[Page]:
    made = Page(tmp_path / "visits.ledger")
    yield made
    made.it.keeper.close()


def test_the_page_shows_nothing_before_somebody_signs_in(page: Page) -> None:
    page.it.place(page.it.order(X, dv.Dense("1/2")))
    assert "Request 1" not in page.look()
    assert "Your token" in page.text
    for token in ("", "nobody's", "ben's"):
        assert page.sign_in(token).status_code == 403
        assert "Request 1" not in page.text
        assert "Your token" in page.text, "one can try again"
        assert not token or token not in page.text
    assert owner.COOKIE not in page.client.cookies
    page.sign_in()
    assert "Request 1" in page.text


def test_an_approval_on_the_page_lets_the_order_go_on(page: Page) -> None:
    ticket = page.it.place(page.it.order(X, dv.Dense("1/2")))
    page.sign_in()
    assert "1 waiting" in page.text
    assert "Ana (births)" in page.text
    assert "0.5-differential privacy" in page.text
    page.send("requests/1", verdict="approve", reason="a fair question")
    assert str(page.reply.url) == f"{ORIGIN}/owner?decided=1"
    assert "Request 1 was approved." in page.text
    assert "Nothing is waiting" in page.text
    told = ended(ticket)
    assert told.state == "done"
    (found,) = page.it.owner.ledger.requests()
    assert found.decision is not None
    assert (found.decision.person, found.decision.reason) == ("Olga", "a fair question")
    answer = page.it.owner.releases[told.entry]
    assert all(str(value) not in page.look() for value in answer.values if abs(value) > 9)


def test_a_refusal_on_the_page_changes_nothing_but_the_request(page: Page) -> None:
    ticket, before = page.it.place(page.it.order(X, dv.Dense("1/2"))), page.it.owner.remaining
    page.sign_in()
    page.send("requests/1", verdict="refuse", reason="too dear")
    assert "Request 1 was refused." in page.text
    assert ended(ticket).state == "failed"
    assert (page.it.owner.remaining, page.it.owner.ledger.entries()) == (before, [])


def test_a_lower_epsilon_is_approved_on_the_page(page: Page) -> None:
    ticket = page.it.place(page.it.order(X, dv.Dense("1")))
    page.sign_in()
    page.send("requests/1", verdict="lower", epsilon=" 0.5 ", reason="")
    assert "approved at another price" in page.text
    assert "dv.Dense(epsilon=" in ended(ticket).error["message"]
    assert ended(page.it.place(page.it.order(X, dv.Dense("1/2")))).state == "done"


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"verdict": "lower", "epsilon": "2"}, "no higher than the one asked for"),
        ({"verdict": "lower", "epsilon": ""}, "epsilon"),
        ({"verdict": "lower", "epsilon": "much"}, "epsilon"),
        ({"verdict": "lower", "epsilon": "-1"}, "positive"),
        ({"verdict": "approve", "epsilon": "0.5"}, "choose it, or leave the epsilon empty"),
        ({"verdict": "perhaps"}, "choose one"),
        ({}, "choose one"),
        ({"verdict": "approve", "reason": "x" * 501}, "reason"),
    ],
)
def test_a_form_that_says_no_decision_is_refused_in_words_and_can_be_sent_again(
    page: Page, fields: dict[str, str], said: str
) -> None:
    page.it.place(page.it.order(X, dv.Dense("1")))
    page.sign_in()
    head = page.it.owner.ledger.head()
    assert page.send("requests/1", **{"reason": "", **fields}).status_code == 409
    assert said in page.text
    assert 'role="alert"' in page.text
    assert page.it.owner.ledger.head() == head
    assert page.send("requests/1", verdict="refuse").status_code == 200
    assert "was refused" in page.text


def test_a_request_that_was_decided_meanwhile_is_not_decided_again(page: Page) -> None:
    page.it.place(page.it.order(X, dv.Dense("1")))
    page.sign_in()
    page.it.gate.decide(1, OLGA, "refuse", "too dear")
    assert page.send("requests/1", verdict="approve").status_code == 409
    assert "a decision is made once" in page.text
    assert page.it.owner.ledger.requests()[0].state == "refuse"


def test_nobody_decides_a_request_of_their_own_on_the_page(page: Page) -> None:
    page.it.place(page.it.order(X, dv.Dense("1")), ANA)
    page.sign_in("ana's")
    assert page.send("requests/1", verdict="approve").status_code == 403
    assert "nobody decides a request of their own" in page.text
    assert page.it.owner.ledger.requests()[0].state == "waiting"


# ---------------------------------------------------------------- visits


def test_a_visit_ends_when_somebody_signs_out_and_when_its_token_is_revoked(page: Page) -> None:
    page.it.place(page.it.order(X, dv.Dense("1")))
    page.sign_in()
    page.send("sign-out")
    assert "Your token" in page.look()
    page.sign_in()
    assert "Request 1" in page.look()
    del page.authority.known["olga's"]
    assert page.send("requests/1", verdict="approve").status_code == 403
    assert "Your token" in page.look()
    assert page.it.owner.ledger.requests()[0].state == "waiting"


def test_a_visit_ends_by_itself(page: Page, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(owner, "LASTS", -1.0)
    page.sign_in()
    assert "Your token" in page.text


def test_a_cookie_is_out_of_reach_of_scripts_and_other_sites_and_is_no_token(page: Page) -> None:
    reply = page.client.post("/owner/sign-in", data={"token": "olga's"}, headers={"origin": ORIGIN}, follow=False)
    cookie = reply.headers["set-cookie"]
    assert "HttpOnly" in cookie
    assert "SameSite=strict" in cookie
    assert "olga" not in cookie
    assert "Path" not in cookie, "it is sent to the page's own folder alone"
    secure = Client(page.client.app, "https://testserver")
    reply = secure.post(
        "/owner/sign-in", data={"token": "olga's"}, headers={"origin": "https://testserver"}, follow=False
    )
    assert "Secure" in reply.headers["set-cookie"]


@pytest.mark.parametrize(
    "headers",
    [
        {"origin": "https://evil.example"},
        {"origin": "null"},
        {"origin": ORIGIN, "sec-fetch-site": "cross-site"},
        {"sec-fetch-site": "same-site"},
    ],
)
def test_a_form_of_another_site_decides_nothing(page: Page, headers: dict[str, str]) -> None:
    page.it.place(page.it.order(X, dv.Dense("1")))
    page.sign_in()
    assert page.send("requests/1", headers, verdict="approve").status_code == 403
    assert page.it.owner.ledger.requests()[0].state == "waiting"


@pytest.mark.parametrize("form", ["", "x", "ü"])
def test_a_form_without_the_secret_of_the_visit_decides_nothing(page: Page, form: str) -> None:
    page.it.place(page.it.order(X, dv.Dense("1")))
    page.sign_in()
    assert page.send("requests/1", verdict="approve", form=form).status_code == 403
    assert page.it.owner.ledger.requests()[0].state == "waiting"


NO_FORMS = [b"", b"\xff\xfe", b"verdict=approve&verdict=refuse", b"a" * 20_000, b"&".join([b"a=1"] * 30)]


@pytest.mark.parametrize("content", NO_FORMS)
def test_what_is_no_form_is_refused(page: Page, content: bytes) -> None:
    page.sign_in()
    reply = page.client.post("/owner/requests/1", content=content, headers={"origin": ORIGIN})
    assert reply.status_code == 403


@pytest.mark.parametrize("number", ["0", "-1", "x", str(2**40)])
def test_a_number_that_is_no_request_is_refused(page: Page, number: str) -> None:
    page.sign_in()
    assert page.client.post(f"/owner/requests/{number}", headers={"origin": ORIGIN}).status_code == 422


# ---------------------------------------------------------------- what a page is


def test_a_page_runs_nothing_loads_nothing_and_is_framed_by_nobody(page: Page) -> None:
    page.it.place(page.it.order(X, dv.Dense("1")))
    page.sign_in()
    for reply in (page.reply, page.client.get("/owner?decided=7")):
        policy = reply.headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "frame-ancestors 'none'" in policy
        assert "unsafe" not in policy
        assert reply.headers["cache-control"] == "no-store"
        assert reply.headers["x-content-type-options"] == "nosniff"
        assert not re.search(r"<script|\son\w+=|\sstyle=|src=|https?://", reply.text)
        assert reply.text.count("<style>") == 1
        assert f"<style>{pages.STYLE}</style>" in reply.text


def test_texts_of_others_are_escaped(tmp_path: Path) -> None:
    page = Page(tmp_path / "visits.ledger")
    try:
        page.it.place(page.it.order(X, dv.Dense("1"), key="</pre><script>"), EVIL)
        page.sign_in()
        assert "&lt;script&gt;" in page.text
        assert "<script" not in page.text
        assert "<img" not in page.text
        page.send("requests/1", verdict="refuse", reason="<b>no</b>")
        assert "<b>no" not in page.text
    finally:
        page.it.keeper.close()


def test_the_page_works_under_the_prefix_of_a_proxy(page: Page) -> None:
    page.client = Client(UnderPrefix(page.client.app, "/services/visits"))
    page.reply = page.client.get("/services/visits/owner")
    page.it.place(page.it.order(X, dv.Dense("1")))
    page.sign_in("nobody's")
    page.sign_in()
    assert page.send("requests/1", verdict="perhaps").status_code == 409
    page.send("requests/1", verdict="refuse")
    assert "Request 1 was refused." in page.text
    assert str(page.reply.url) == f"{ORIGIN}/services/visits/owner?decided=1"
    page.send("sign-out")
    assert "Your token" in page.text


def test_a_service_without_rules_has_no_page(tmp_path: Path) -> None:
    it = Kept(tmp_path / "visits.ledger", DEAR)
    it.keeper.gate = None
    try:
        assert Client(make_app(it.keeper, Authority())).get("/owner").status_code == 404
    finally:
        it.keeper.close()


def test_a_long_list_of_decisions_shows_the_latest(page: Page, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pages, "LATEST", 2)
    for turn in range(4):
        page.it.place(page.it.order(Y, dv.Dense(Fraction(1, 2)), key=str(turn))).cancel()
        page.it.gate.decide(turn + 1, OLGA, "refuse", f"reason {turn}")
    page.it.place(page.it.order(X, dv.Dense("1")))
    page.sign_in()
    assert [turn for turn in range(4) if f"reason {turn}" in page.text] == [2, 3]
    assert "Request 5" in page.text


# ---------------------------------------------------------------- the same from the command line


@pytest.fixture
def declared(tmp_path: Path) -> Iterator[tuple[str, Kept]]:
    """A declaration, and a keeper of its data set with a request of Ana and one of Olga."""
    tmp_path.chmod(0o700)
    (tmp_path / "visits.csv").write_text("x,y\n1,0\n2,1\n")
    (tmp_path / "visits.csv").chmod(0o600)
    text = 'dataset = "visits"\nledger = "visits.ledger"\n[source]\nfile = "visits.csv"\n[unit]\nof = "row"\n'
    text += f'[budget]\nepsilon = "20"\n[[analysts]]\nname = "Olga"\nlogin = {os.getuid()}\n'
    text += '[listen]\nsocket = "v.sock"\n[[approval]]\nabove_epsilon = "1/4"\n'
    (tmp_path / "visits.toml").write_text(text)
    made = Kept.__new__(Kept)
    made.owner = Declaration.read(tmp_path / "visits.toml").session()
    made.gate = ApprovalGate(made.owner, (DEAR,), look=0.01)
    made.keeper = Keeper(made.owner, tick=0, gate=made.gate)
    yield str(tmp_path / "visits.toml"), made
    made.keeper.close()


def run(capsys: pytest.CaptureFixture[str], *arguments: str, code: int = 0) -> str:
    assert cli.main(["curator", "requests", *arguments]) == code
    out, err = capsys.readouterr()
    return err if code else out


def test_the_command_line_lists_and_decides_and_the_order_goes_on(
    declared: tuple[str, Kept], capsys: pytest.CaptureFixture[str]
) -> None:
    file, it = declared
    assert run(capsys, file) == "nothing is waiting\n"
    tickets = [it.place(it.order(X, dv.Dense("1"), key=name)) for name in "abc"]
    listed = run(capsys, file)
    assert "request 1 of Ana (births)" in listed
    assert "1-differential privacy" in listed
    assert [one["number"] for one in json.loads(run(capsys, file, "--json"))["waiting"]] == [1, 2, 3]
    assert run(capsys, file, "approve", "1") == "request 1 of Ana is approved\n"
    assert run(capsys, file, "refuse", "2", "--reason", "too dear") == "request 2 of Ana is refused\n"
    assert run(capsys, file, "approve", "3", "--epsilon", "0.5") == "request 3 of Ana is approved at ε 0.5\n"
    assert [ended(ticket).state for ticket in tickets] == ["done", "failed", "failed"]
    assert "too dear" in tickets[1].standing.error["message"]  # type: ignore[index]
    assert run(capsys, file) == "nothing is waiting\n"
    assert [one.decision.person for one in it.owner.ledger.requests() if one.decision] == ["Olga"] * 4


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("approve",), "name the number"),
        (("approve", "9"), "there is no request"),
        (("approve", "9", "--epsilon", "1/2"), "a decision is about a request"),
        (("approve", "1", "--epsilon", "2"), "no higher"),
        (("refuse", "1", "--epsilon", "1/2"), "approved, not refused"),
        (("refuse", "1", "--reason", ""), "reason"),
        (("approve", "2"), "nobody decides a request of their own"),
    ],
)
def test_what_the_command_line_refuses_changes_nothing(
    declared: tuple[str, Kept], capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...], said: str
) -> None:
    file, it = declared
    it.place(it.order(X, dv.Dense("1")))
    it.place(it.order(X, dv.Dense("1")), Caller("Olga"))
    head = it.owner.ledger.head()
    assert said in run(capsys, file, *arguments, code=1)
    assert it.owner.ledger.head() == head
