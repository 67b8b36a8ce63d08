"""An analyst's notebook in JupyterLab on a curator: the Workbench plans there, the curator draws, an owner approves,
and a curator that goes away and comes back is told apart from a refusal."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from dpviz.curator.declaration import digest_of
from tests.browser.lab import Lab, Notebook
from tests.curator.served import Served
from tests.ports import own_port

TALL = {"width": 1280, "height": 1700}
TOKEN, MINE = "a-token-of-the-owner-made-for-this-test", "a-token-of-the-analyst-made-for-this-test"
PEOPLE = """
host = "127.0.0.1"
port = {port}

[[analysts]]
name = "ana"
tokens = ["{mine}"]

[[analysts]]
name = "olga"
tokens = ["{digest}"]
scopes = ["plan", "approve"]
"""
RULE = '\n[[approval]]\nabove_epsilon = "4"\n'
CONNECTED = """
import dpviz as dv
session = dv.connect("{address}", token="{token}")
dv.Workbench(session, session.domains["age"])
"""
PAY = re.compile("pay ε")


@pytest.fixture
def curator(tmp_path: Path) -> Iterator[Served]:
    named = PEOPLE.format(port=own_port(), mine=digest_of(MINE), digest=digest_of(TOKEN))
    with Served(tmp_path, analysts=named, more=RULE) as made:
        yield made


def decided(curator: Served, verdict: str, reason: str) -> None:
    """The decision of the owner, by the command that an owner has."""
    from dpviz.cli import main

    assert main(["curator", "requests", str(curator.folder / "visits.toml"), verdict, "1", "--reason", reason]) == 0


def opened(lab: Lab, browser: Browser, curator: Served, name: str) -> Notebook:
    lab.write(f"{name}/{name}.ipynb", CONNECTED.format(address=curator.address, token=MINE))
    return Notebook.open(lab, browser, f"{name}/{name}.ipynb", viewport=TALL)  # type: ignore[return-value]


def test_an_analyst_releases_from_the_page_what_a_curator_draws(lab: Lab, browser: Browser, curator: Served) -> None:
    with opened(lab, browser, curator, "curated") as it:
        it.run_all()
        bench = it.page.locator(".dp-workbench")
        expect(bench).to_contain_text("ward visits")
        bench.get_by_role("button", name="Release").filter(has_text=PAY).click()
        result = it.page.locator(".dp-result")
        expect(result.get_by_role("heading", name=re.compile("released with ε"))).to_be_visible()
        assert it.ask("print(len(session.releases), session.ledger.entry(1).person)").strip() == "1 ana"
        curator.kill()
        expect(bench).to_contain_text(re.compile("does not answer|as of"))
        curator.start()
        assert it.ask("print(session.release(session.domains['age'], session.releases[1].mechanism).number)").strip()
        assert it.errors == it.offsite == []


def test_a_refused_order_says_why_and_changes_nothing(lab: Lab, browser: Browser, curator: Served) -> None:
    with opened(lab, browser, curator, "refused") as it:
        it.run_all()
        it.ask("running = session.release_async(session.domains['age'], dv.Dense('5'))")
        expect(it.page.locator(".dp-workbench")).to_contain_text("Waiting for approval by the owner")
        decided(curator, "refuse", "too dear for one chart")
        assert "too dear for one chart" in it.ask("running.result()")
        assert it.ask("print(session.remaining.epsilon, len(session.ledger.entries()))").strip() == "20 0"
        assert it.errors == it.offsite == []
