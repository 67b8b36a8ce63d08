"""The page of the site in Chromium, which reaches nothing but this machine.

Pyodide's network is played by two things that a package index has: the runtime itself, as npm's `pyodide`, and those
wheels of its distribution that are Python only. The compiled ones (numpy, pandas, scipy, gmpy2, ...) are in no index.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import BrowserContext, Page, Route, expect

from tests.browser.lab import PATIENCE, open_browser
from tests.class_site.test_site import LOCK, PYODIDE
from tools import class_site

VERSION = json.loads((PYODIDE / "package.json").read_text())["version"]
NETWORK = f"https://cdn.jsdelivr.net/pyodide/v{VERSION}/full/"
COMPILED = {"gmpy2", "markupsafe", "numpy", "pandas", "pyrsistent", "rpds-py", "scipy", "sqlalchemy"}
TITLE = "A first class in differential privacy"

# Runs code in the kernel of the lesson, and returns what it printed or raised.
RUN = """async ([path, code]) => {
    const app = window.jupyterapp;
    await app.restored;
    const panel = await app.commands.execute('docmanager:open', { path, factory: 'Notebook' });
    await panel.context.ready;
    await panel.sessionContext.ready;
    const kernel = panel.sessionContext.session.kernel;
    await kernel.info;
    const future = kernel.requestExecute({ code, store_history: false });
    let said = '';
    future.onIOPub = ({ content: { text, ename, evalue } }) => (said += text ?? (ename ? `${ename}: ${evalue}` : ''));
    await future.done;
    return said;
}"""

PROBE = """
import json, os, sqlite3, sys, threading

import dpviz
import dpviz.threads
import flint

def error(call):
    try:
        call()
    except Exception as raised:
        return type(raised).__name__

def kept(folder):
    with sqlite3.connect(f"{folder}/a.ledger") as file:
        file.execute("CREATE TABLE a (b)")
        file.execute("INSERT INTO a VALUES (3)")
    return file.execute("SELECT b FROM a").fetchone()[0]

done = []
print(json.dumps({
    "python": sys.version.split()[0],
    "narrow": sys.maxsize < 2**32,
    "dpviz": dpviz.__version__,
    "product": str(flint.nmod_poly([1, 2, 3], 17) * flint.nmod_poly([3, 4], 17)),
    "thread": error(threading.Thread(target=print).start),
    "in place": dpviz.threads.run(lambda: done.append(dpviz.threads.current()), "draw") is None and done,
    "links": hasattr(os, "link"),
    "names": error(lambda: __import__("pwd")),
    "memory": kept(os.getcwd()),
    "drive": error(lambda: kept("/drive")),
    "compiled": error(lambda: __import__("numpy")),
}))
"""


@dataclass
class Visit:
    """A page, and what it complained of."""

    page: Page
    complaints: list[str] = field(default_factory=list)
    failed: list[str] = field(default_factory=list)


def visit(context: BrowserContext) -> Visit:
    made = Visit(context.new_page())
    page, told = made.page, made.complaints.append
    page.on("console", lambda said: told(said.text) if said.type == "error" else None)
    page.on("pageerror", lambda error: told(str(error)))
    page.on("response", lambda answer: told(f"{answer.status} {answer.url}") if answer.status >= 400 else None)
    page.on("requestfailed", lambda request: made.failed.append(request.url))
    return made


@pytest.fixture
def context() -> Iterator[BrowserContext]:
    with open_browser() as browser:
        yield browser.new_context()


def test_the_lesson_opens_up_to_the_point_where_pyodide_is_fetched(context: BrowserContext, address: str) -> None:
    made = visit(context)
    with made.page.expect_event("requestfailed", timeout=PATIENCE * 1000):
        made.page.goto(address)
    expect(made.page.get_by_role("heading", name=TITLE)).to_be_visible()
    expect(made.page.get_by_text("dpviz", exact=False).first).to_be_visible()
    assert set(made.failed) == {f"{NETWORK}pyodide.mjs"}
    assert [one for one in made.complaints if not one.startswith((f"{NETWORK}pyodide.mjs", "Failed to load"))] == []
    assert [one for one in made.complaints if one.startswith("Failed to load") and "net::" not in one] == []


class Network:
    """Pyodide's network, as far as a package index has what lies there."""

    def __init__(self, wheels: Path) -> None:
        self.files = {path.name: path for path in [*wheels.glob("*.whl"), *PYODIDE.iterdir()]}
        self.asked: list[str] = []
        lock: dict[str, Any] = json.loads(json.dumps(LOCK))
        for entry in lock["packages"].values():  # an index has the same versions, packed by others
            if path := self.files.get(entry["file_name"]):
                entry["sha256"] = hashlib.sha256(path.read_bytes()).hexdigest()
        self.lock = json.dumps(lock).encode()

    def answer(self, route: Route) -> None:
        name = route.request.url.partition("/full/")[2].partition("?")[0]
        self.asked.append(name)
        kinds = {"mjs": "text/javascript", "wasm": "application/wasm", "json": "application/json"}
        head = {"Access-Control-Allow-Origin": "*"}
        if name == "pyodide-lock.json":
            route.fulfill(body=self.lock, headers=head, content_type="application/json")
        elif path := self.files.get(name):
            kind = kinds.get(name.rpartition(".")[2], "application/zip")
            route.fulfill(body=path.read_bytes(), headers=head, content_type=kind)
        else:
            route.abort()

    def lacked(self) -> set[str]:
        """The packages that were asked for and not there."""
        return {file.partition("-")[0].replace("_", "-") for file in self.asked if file not in self.files}


@pytest.fixture(scope="session")
def network(tools: Path) -> Network:
    """The wheels are fetched once and kept beside what `make class` installs."""
    wheels = tools / "distribution"
    if not wheels.exists():
        draft = tools / "distribution.part"
        given = class_site.given_versions(class_site.DISTRIBUTION.read_text())
        class_site.download([name for name in given if name not in COMPILED], draft)
        draft.rename(wheels)
    return Network(wheels)


def test_the_kernel_starts_and_installs_what_the_site_brings(
    context: BrowserContext, address: str, network: Network
) -> None:
    """Up to the compiled packages: of everything that the lesson needs, only those are not there."""

    def exposed(route: Route) -> None:
        answer = route.fetch()
        settings = answer.json()
        settings["jupyter-config-data"]["exposeAppInBrowser"] = True
        route.fulfill(response=answer, json=settings)

    context.route(re.compile(re.escape(NETWORK)), network.answer)
    context.route("**/jupyter-lite.json*", exposed)
    made = visit(context)
    made.page.goto(address)
    made.page.wait_for_function("window.jupyterapp")
    said = made.page.evaluate(RUN, [f"{class_site.LESSON}.ipynb", class_site.INSTALL + PROBE])
    assert said.strip().startswith("{"), said
    told = json.loads(said)
    assert told["dpviz"] and told["python"] == LOCK["info"]["python"] and told["narrow"]
    assert told["product"] == "12*x^3 + 10*x + 3"
    assert (told["thread"], told["in place"]) == ("RuntimeError", ["draw"])
    assert (told["links"], told["names"]) == (False, "ModuleNotFoundError")
    assert (told["memory"], told["drive"]) == (3, "DatabaseError"), "the lesson keeps its ledger in memory for this"
    assert told["compiled"] == "ModuleNotFoundError"
    assert network.lacked() == COMPILED
    assert all(url.startswith(NETWORK) for url in made.failed), "the site fetches from nowhere else"
