"""The owner's page in a real browser: a request is approved from it and the analyst's call goes on; a refused one
changes nothing; it works by keyboard, in the dark, on a narrow screen, and without anything from elsewhere."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

import dpviz as dv
from dpviz.errors import Forbidden
from dpviz.session.running import Running
from tests.browser.axe import violations
from tests.browser.lab import Lab, Notebook
from tests.curator.served import Served
from tests.patience import until
from tests.ports import own_port

TOKEN = "olga's token, of which nobody knows"
NAMED = """
host = "127.0.0.1"
port = {port}

[[analysts]]
name = "ana"
login = {uid}
project = "wards"

[[analysts]]
name = "olga"
tokens = ["{digest}"]
scopes = ["plan", "approve"]
"""
RULE = '\n[[approval]]\nabove_epsilon = "1/4"\n'
AGES = dv.Domain.integers(0, 9, column="age")


@pytest.fixture
def curator(tmp_path: Path) -> Iterator[Served]:
    digest = hashlib.sha256(TOKEN.encode()).hexdigest()
    named = NAMED.format(port=own_port(), uid=os.getuid(), digest=digest)
    with Served(tmp_path, analysts=named, more=RULE) as made:
        yield made


@pytest.fixture
def page(browser: Browser, curator: Served) -> Iterator[Page]:
    context = browser.new_context(viewport={"width": 360, "height": 900}, color_scheme="dark")
    try:
        made = context.new_page()
        made.on("request", lambda request: asked.append(request.url))
        made.on("console", lambda said: told.append(said.text))
        asked: list[str] = []
        told: list[str] = []
        made.goto(f"{place(curator)}/owner")
        yield made
        assert all(url.startswith(place(curator)) for url in asked), asked
        assert [said for said in told if "409" not in said] == [], "nothing on it is refused by its own policy"
    finally:
        context.close()


def place(curator: Served) -> str:
    return next(address for address in curator.addresses if address.startswith("http"))


def ordered(session: dv.Session, epsilon: str) -> Running:
    """A release that waits for approval, as its handle says."""
    running = session.release_async(AGES, dv.Dense(epsilon))
    until(lambda: "waiting for approval" in running.waiting)
    return running


def sign_in(page: Page) -> None:
    """By keyboard alone."""
    page.get_by_label("Your token").focus()
    page.keyboard.type(TOKEN)
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", level=1)).to_have_text("Requests for ward visits")


def fits(page: Page) -> bool:
    return bool(page.evaluate("() => document.documentElement.scrollWidth <= innerWidth"))


def test_a_request_is_approved_from_the_page_and_the_release_goes_on(curator: Served, page: Page) -> None:
    session = dv.connect(curator.address)
    running = ordered(session, "1/2")
    sign_in(page)
    request = page.get_by_role("article", name="Request 1")
    expect(request).to_contain_text("ana (wards, ")
    expect(request).to_contain_text("0.5-differential privacy for adding or removing one visit")
    expect(request).to_contain_text("95 in 100")
    assert fits(page)
    request.get_by_label("Approve as asked").focus()
    page.keyboard.press("Space")
    page.keyboard.press("Tab")
    request.get_by_label("Reason").focus()
    page.keyboard.type("a fair question")
    page.keyboard.press("Enter")
    expect(page.get_by_role("status")).to_have_text("Request 1 was approved.")
    expect(page.get_by_role("article")).to_have_count(0)
    release = running.result(60)
    assert release.number == 1
    assert session.ledger.entry(1).person == "ana"


def test_a_refused_request_changes_nothing(curator: Served, page: Page) -> None:
    session = dv.connect(curator.address)
    before = session.remaining
    running = ordered(session, "1/2")
    sign_in(page)
    page.get_by_label("Refuse").check()
    page.get_by_label("Reason").fill("too dear")
    page.get_by_role("button", name="Decide request 1").click()
    expect(page.get_by_role("status")).to_have_text("Request 1 was refused.")
    with pytest.raises(Forbidden, match="decided by olga: too dear"):
        running.result(60)
    assert (session.remaining, session.ledger.entries()) == (before, [])


def test_a_request_is_approved_at_a_lower_epsilon(curator: Served, page: Page) -> None:
    session = dv.connect(curator.address)
    running = ordered(session, "1")
    sign_in(page)
    page.get_by_role("radio", name="Approve at").check()
    page.get_by_role("textbox", name="ε of request 1").fill("3")
    page.get_by_role("button", name="Decide request 1").click()
    expect(page.get_by_role("alert")).to_contain_text("no higher than the one asked for")
    page.get_by_role("radio", name="Approve at").check()
    page.get_by_role("textbox", name="ε of request 1").fill("0.5")
    page.get_by_role("button", name="Decide request 1").click()
    expect(page.get_by_role("status")).to_have_text("Request 1 was approved at another price.")
    with pytest.raises(Forbidden, match='ask with dv.Dense\\(epsilon="0.5"\\)'):
        running.result(60)
    assert session.release(AGES, dv.Dense("1/2")).number == 1


def test_a_choice_is_needed_and_enter_alone_decides_nothing(curator: Served, page: Page) -> None:
    session = dv.connect(curator.address)
    running = ordered(session, "1/2")
    sign_in(page)
    page.get_by_label("Reason").focus()
    page.keyboard.press("Enter")
    page.goto(f"{place(curator)}/owner")
    expect(page.get_by_role("article", name="Request 1")).to_be_visible()
    running.cancel()
    assert session.ledger.entries() == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_page_can_be_read_by_everybody(curator: Served, page: Page, scheme: str) -> None:
    session = dv.connect(curator.address)
    ordered(session, "1/2").cancel()
    page.emulate_media(color_scheme="dark" if scheme == "dark" else "light")
    assert violations(page, "html") == []
    sign_in(page)
    assert violations(page, "html") == []
    assert fits(page)
    page.get_by_role("button", name="Sign out").click()
    expect(page.get_by_label("Your token")).to_be_visible()


BENCH = """
import dpviz as dv
session = dv.connect("{address}")
dv.Workbench(session, dv.Domain.integers(0, 9, column="age"), mechanism=dv.Dense("1/2"))
"""


def test_the_workbench_of_an_analyst_waits_for_approval_and_goes_on(
    lab: Lab, browser: Browser, curator: Served, page: Page
) -> None:
    lab.write("approved/approved.ipynb", BENCH.format(address=curator.address))
    with Notebook.open(lab, browser, "approved/approved.ipynb", viewport={"width": 1280, "height": 1500}) as it:
        it.run_all()
        it.button("Release").filter(has_text="pay ε 0.5").click()
        expect(it.region("Release")).to_contain_text("Waiting for approval by the owner of the data.")
        expect(it.button("Waiting for approval")).to_be_disabled()
        expect(it.region("Budget")).to_contain_text("left 20 of 20")
        sign_in(page)
        page.get_by_label("Approve as asked").check()
        page.get_by_role("button", name="Decide request 1").click()
        expect(page.get_by_role("status")).to_have_text("Request 1 was approved.")
        expect(it.region("Budget")).to_contain_text("left 19.5 of 20")
        expect(it.page.locator(".dp-result").first).to_contain_text("paid ε 0.5")
