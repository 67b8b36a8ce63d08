"""An analyst of a JupyterHub, in a browser: she signs in, her JupyterLab starts, and the notebook in it pays and reads
an answer of the hub's curator, which draws it elsewhere."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path

import nbformat
import pytest
from playwright.sync_api import Browser, expect

import dpviz as dv
from tests.browser.lab import OPEN, RUN_ALL
from tests.curator.hub import Hub
from tests.curator.test_hub import DECLARED
from tests.ports import own_port

CELL = """
import os
import dpviz as dv
session = dv.connect(os.environ["CURATOR"], token=os.environ["JUPYTERHUB_API_TOKEN"])
dv.Workbench(session, session.domains["visits"])
"""
LAB = [
    sys.executable, "-m", "jupyterhub.singleuser", "--allow-root", "--LabApp.expose_app_in_browser=True",
    "--LabApp.extension_manager=readonly",
]  # fmt: skip
HOMES = """
c.SimpleLocalProcessSpawner.home_dir_template = "{folder}/{{username}}"
c.Spawner.default_url = "/lab"
c.Spawner.start_timeout = 300
c.Spawner.http_timeout = 300
"""


@pytest.fixture
def hub(tmp_path: Path) -> Iterator[Hub]:
    port = own_port()
    (tmp_path / "visits.toml").write_text(DECLARED.format(port=port))
    home = tmp_path / "ada.l"
    home.mkdir()
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(CELL)])
    notebook.metadata.kernelspec = {"name": "python3", "display_name": "Python 3", "language": "python"}
    nbformat.write(notebook, home / "visits.ipynb")
    started = Hub(tmp_path, port, notebook=LAB, more=HOMES.format(folder=tmp_path))
    try:
        started.start()
        yield started
    finally:
        started.stop()


def test_an_analyst_releases_through_jupyterhub(hub: Hub, browser: Browser) -> None:
    context = browser.new_context(viewport={"width": 1280, "height": 1700})
    try:
        page = context.new_page()
        page.goto(f"{hub.public}/hub/login")
        page.get_by_label("Username").fill("ada.l")
        page.get_by_label("Password").fill("any word will do here")
        page.get_by_role("button", name="Sign in").click()
        page.wait_for_url(re.compile("/user/ada.l/lab"))
        page.wait_for_function("window.jupyterapp !== undefined")
        page.evaluate(OPEN, "visits.ipynb")
        assert page.evaluate(RUN_ALL)
        bench = page.locator(".dp-workbench")
        expect(bench).to_contain_text("visits")
        bench.get_by_role("button", name="Release").filter(has_text="pay ε").click()
        expect(page.locator(".dp-result").get_by_role("heading", name=re.compile("released with ε"))).to_be_visible()
        auditor = dv.connect(hub.direct, token=hub.token("ada.l")[0])
        (entry,) = auditor.ledger.entries()
        assert (entry.person, entry.asked_by["proof"]) == ("ada", "JupyterHub")
    finally:
        context.close()
