"""A real JupyterLab, and a notebook open in it: what the browser tests drive.

The server has folders of its own (no user's settings, kernels or ledgers), listens on the loopback address only, and
the browser resolves no other name: whatever reaches for the network fails and is recorded in `Notebook.offsite`.
Tests find things by role and name, as a screen reader does.
"""

from __future__ import annotations

import json
import os
import re
import secrets
import shutil
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import nbformat
from playwright.sync_api import (
    Browser,
    BrowserContext,
    ConsoleMessage,
    Locator,
    Page,
    Request,
    WebSocket,
    expect,
    sync_playwright,
)

from tests.ports import own_port
from tools import system
from tools.copy_notebooks import copy_notebooks

ROOT = Path(__file__).resolve().parents[2]
SCREENSHOTS = ROOT / "test-output" / "screenshots"
HOME = "127.0.0.1"
PATIENCE = 180
"""Seconds for what may be slow on a small machine: a server, a kernel, a page of several megabytes."""

FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
    "--process-per-site",  # windows of one context share what they have compiled
    f"--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE {HOME}",
]

QUIET = {
    "@jupyterlab/apputils-extension/notification.jupyterlab-settings": {"fetchNews": "false", "checkForUpdates": False}
}
"""Settings that keep JupyterLab from asking for news."""

BUILT = {"buildAvailable": False, "buildCheck": False}
"""What a page is told, lest it ask whether to build JupyterLab anew: the server would start Node to find out."""


@contextmanager
def open_browser() -> Iterator[Browser]:
    """Chromium without a window and without a network."""
    executable = system.chromium()
    assert executable is not None, "no Chromium: run `make programs`"
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=executable, args=FLAGS)
        new_context = browser.new_context

        def patient_context(**window: Any) -> BrowserContext:
            context = new_context(**window)
            context.set_default_timeout(PATIENCE * 1000)  # its own half a minute is short on a busy machine
            return context

        browser.new_context = patient_context  # type: ignore[method-assign]
        yield browser
        browser.close()


@dataclass(frozen=True)
class Lab:
    """A running JupyterLab: where it listens and the folder it shows."""

    url: str
    token: str
    folder: Path

    @classmethod
    @contextmanager
    def start(cls, place: Path) -> Iterator[Lab]:
        """Start JupyterLab on a copy of notebooks/, everything it writes below `place`."""
        folder, log = place / "notebooks", place / "lab.log"
        copy_notebooks(folder)
        private = {
            name: str(place / name.lower())
            for name in (
                "HOME",
                "IPYTHONDIR",
                "JUPYTER_CONFIG_DIR",
                "JUPYTER_DATA_DIR",
                "JUPYTER_RUNTIME_DIR",
                "JUPYTERLAB_SETTINGS_DIR",
                "JUPYTERLAB_WORKSPACES_DIR",
            )
        }
        for name, value in QUIET.items():
            setting = Path(private["JUPYTERLAB_SETTINGS_DIR"]) / name
            setting.parent.mkdir(parents=True)
            setting.write_text(json.dumps(value))
        told = Path(private["JUPYTER_CONFIG_DIR"]) / "labconfig" / "page_config.json"
        told.parent.mkdir(parents=True)
        told.write_text(json.dumps(BUILT))
        port, token = own_port(), secrets.token_hex(16)
        options = {
            "ServerApp.ip": HOME,
            "ServerApp.port": port,
            "ServerApp.port_retries": 0,
            "ServerApp.open_browser": False,
            "ServerApp.allow_root": True,
            "ServerApp.root_dir": folder,
            "IdentityProvider.token": token,
            "LabApp.expose_app_in_browser": True,
            "LabApp.extension_manager": "readonly",
        }
        command = [sys.executable, "-m", "jupyterlab", *(f"--{name}={value}" for name, value in options.items())]
        kept = {k: v for k, v in os.environ.items() if not k.startswith(("JUPYTER", "IPYTHON"))}
        with log.open("w") as stream:
            server = subprocess.Popen(
                command, cwd=folder, env=kept | private, stdin=subprocess.DEVNULL, stdout=stream, stderr=stream
            )
        lab = cls(f"http://{HOME}:{port}", token, folder)
        try:
            lab.wait(server, log)
            yield lab
        finally:
            server.terminate()
            server.wait(PATIENCE)

    def wait(self, server: subprocess.Popen[bytes], log: Path) -> None:
        """Until the server answers."""
        deadline = time.monotonic() + PATIENCE
        while time.monotonic() < deadline and server.poll() is None:
            try:
                urllib.request.urlopen(f"{self.url}/api/status?token={self.token}", timeout=5).close()
                return
            except OSError:  # it refuses, breaks off or says nothing
                time.sleep(0.1)
        raise RuntimeError(f"JupyterLab did not start:\n{log.read_text()}")

    def copy(self, name: str, folder: str) -> str:
        """A second copy of a notebook in a folder of its own, with a ledger of its own; returns its name."""
        (self.folder / folder).mkdir()
        return os.fspath(Path(shutil.copy(self.folder / name, self.folder / folder)).relative_to(self.folder))

    def write(self, name: str, *sources: str) -> None:
        """A notebook of code cells in the folder that JupyterLab shows."""
        notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(source) for source in sources])
        notebook.metadata.kernelspec = {"name": "python3", "display_name": "Python 3", "language": "python"}
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        nbformat.write(notebook, path)


OPEN = """async path => {
    const app = window.jupyterapp;
    await app.restored;
    const panel = await app.commands.execute('docmanager:open', { path, factory: 'Notebook' });
    await panel.context.ready;
    await panel.sessionContext.ready;
    await panel.sessionContext.session.kernel.info;
    window.panel = panel;
}"""

# Resolves when JupyterLab has put back what was saved of the widgets in view, to whether it found them.
RESTORED = """async () => {
    await window.panel.revealed;
    const shown = () => [...window.panel.node.querySelectorAll('.jp-OutputArea-output')].map(one => one.textContent);
    while (shown().includes('Loading widget...')) await new Promise(next => setTimeout(next, 50));
    return !shown().includes('Error displaying widget: model not found');
}"""

# Resolves when the last cell has run, to whether all of them ran without an error.
RUN_ALL = """async () => window.jupyterapp.commands.execute('notebook:run-all-cells')"""

# Executes beside the cells, and collects what the code prints or raises.
EXECUTE = """async code => {
    const future = window.panel.sessionContext.session.kernel.requestExecute({ code, store_history: false });
    let said = '';
    future.onIOPub = ({ content }) => { said += content.text ?? content.evalue ?? ''; };
    await future.done;
    return said;
}"""

READY = """async () => {
    const kernel = window.panel.sessionContext.session.kernel;
    await kernel.info;
    while (kernel.status !== 'idle') await new Promise(next => setTimeout(next, 50));
}"""

RESTARTED = """async () => {
    const context = window.panel.sessionContext;
    while (context.isRestarting || context.session.kernel.status === 'restarting')
        await new Promise(next => setTimeout(next, 50));
}"""
"""While the old kernel ends, it may still say that it is idle."""

SAVES_STATE = """async wanted => {
    const { commands } = window.jupyterapp;
    const setting = '@jupyter-widgets/jupyterlab-manager:saveWidgetState';
    if (commands.isToggled(setting) !== wanted) await commands.execute(setting);
    while (commands.isToggled(setting) !== wanted) await new Promise(next => setTimeout(next, 50));
}"""

THEME = """async theme => {
    if (document.body.dataset.jpThemeName !== theme)
        await window.jupyterapp.commands.execute('apputils:change-theme', { theme });
    while (document.body.dataset.jpThemeName !== theme || document.querySelector('#jupyterlab-splash'))
        await new Promise(next => setTimeout(next, 50));
}"""
"""JupyterLab covers the page while it changes, and takes the cover away some time later: a second change before that
takes it away twice, which is an error of the page."""

CALM = """async ([width, height]) => {
    const parts = () => [...document.querySelectorAll('.dpviz, .dpviz svg')];
    const place = part => Object.values(part.getBoundingClientRect().toJSON());
    const state = () => JSON.stringify([document.documentElement.scrollWidth, parts().map(part =>
        [place(part), part.scrollWidth, part.scrollHeight, part.getAttribute('viewBox'), part.childElementCount])]);
    await document.fonts.ready;
    const end = performance.now() + 180000;
    for (let [before, same] = ['', 0]; same < 3; ) {
        if (performance.now() > end) throw new Error('the page does not come to rest');
        await new Promise(requestAnimationFrame);
        const sized = (width ?? innerWidth) === innerWidth && (height ?? innerHeight) === innerHeight;
        const now = sized ? state() : '';
        same = now !== '' && now === before ? same + 1 : 0;
        before = now;
    }
}"""

SAVE = """async () => window.panel.context.save()"""

CELLS = """() => window.panel.content.model.sharedModel.cells
    .filter(cell => cell.cell_type === 'code')
    .map(cell => ({ source: cell.source, count: cell.execution_count, outputs: cell.toJSON().outputs }))"""


DEBUGGER_AT_RESTART = "Could not restore the debugger state: Canceled future for debug_request"
"""JupyterLab's own words where a kernel is restarted while the debugger still asks it for its state, as it does
whenever a kernel starts. Nothing of ours is in it, and a person may press restart at any time."""


LAST_WORDS = "Kernel message validation error: Unexpected token 's', \"stream.stderr\" is not valid JSON"
"""JupyterLab's own words where a kernel is shut down and its interpreter still writes to stderr: the server then sends
on a message without its head."""


# JupyterLab lays its panels out anew some time after the window has another size.
WITHIN = """() => [...document.querySelectorAll('.dpviz')].every(root =>
    root.getBoundingClientRect().width <= innerWidth)"""


def set_theme(page: Page, name: str) -> None:
    """Show the page in this theme of JupyterLab, "Light" or "Dark", and wait until nothing covers it any more."""
    page.evaluate(THEME, f"JupyterLab {name}")


def darken(page: Page) -> None:
    set_theme(page, "Dark")


def is_fault(said: ConsoleMessage) -> bool:
    """Whether the page complains of something, or a page of ours was sent what it cannot read."""
    if said.text.startswith("dpviz: ignored"):
        return True
    return said.type == "error" and not said.text.startswith((DEBUGGER_AT_RESTART, LAST_WORDS))


def holds(page: Page, true: str) -> None:
    """Wait until this is true on a page in four frames in a row: charts are drawn anew in the frame after a new width.

    The function that is waited for is asked once a frame. It must not be async: a promise counts as true.
    """
    page.wait_for_function(f"seen => (seen.frames = {true} ? seen.frames + 1 : 0) > 3", arg={"frames": 0})


def calm(page: Page) -> None:
    """Until charts have been drawn at their width: our part of the page is the same in four frames in a row."""
    page.evaluate(CALM, [None, None])


def at_rest(page: Page) -> None:
    """As `calm`, once nothing of ours is wider than the window: what is read then is of the window's size."""
    page.wait_for_function(WITHIN)
    calm(page)


def resize(page: Page, width: int, height: int) -> None:
    """Give the page this size, and wait until it is drawn in it."""
    page.set_viewport_size({"width": width, "height": height})
    page.evaluate(CALM, [width, height])


def kept_warm(lab: Lab, browser: Browser) -> BrowserContext | None:
    """A context with a page of this JupyterLab that stays open, and so the process in which its programs are compiled.

    None while a notebook is open there: two at a time are two people, with a context each.
    """
    address = f"{lab.url}/api"
    for context in browser.contexts:
        if context.pages and context.pages[0].url == address:
            break
    else:
        context = browser.new_context()
        context.new_page().goto(address)
    return context if len(context.pages) == 1 else None


@dataclass
class Notebook:
    """One notebook in one fresh browser window, with a record of what went wrong and what was said."""

    lab: Lab
    page: Page
    name: str
    errors: list[str] = field(default_factory=list)
    offsite: list[str] = field(default_factory=list)
    traffic: list[bytes] = field(default_factory=list)

    @classmethod
    @contextmanager
    def open(cls, lab: Lab, browser: Browser, name: str, **window: Any) -> Iterator[Notebook]:
        """Open a notebook and wait until its kernel answers; `window` is said as to a new context of the browser.

        Its window is a new one, but unless `window` asks for what only a context of its own has, cookies and cache are
        not. The server and its settings are the same anyhow.
        """
        options = {"viewport": {"width": 1280, "height": 900}} | window
        warm = kept_warm(lab, browser) if options.keys() <= {"viewport", "reduced_motion"} else None
        context = warm or browser.new_context(**options)
        notebook = cls(lab, context.new_page(), name)
        notebook.page.set_viewport_size(options["viewport"])
        notebook.page.emulate_media(reduced_motion=options.get("reduced_motion"))
        notebook.listen()
        notebook.page.goto(f"{lab.url}/lab?token={lab.token}&reset")
        notebook.show()
        try:
            yield notebook
        except BaseException:
            notebook.screenshot("last")
            notebook.keep_evidence()
            raise
        finally:
            set_theme(notebook.page, "Light")
            notebook.page.evaluate("async () => window.panel.sessionContext.shutdown()")
            notebook.page.close()
            if warm is None:
                context.close()

    def show(self) -> None:
        """Open the notebook in the page as it has just loaded, with the widgets that were saved in it.

        Asked for a widget that is not there yet, its manager looks every 100 ms for two seconds, and gives up without
        a last look. Where the widgets are put back during that last wait, which is long on a busy machine, JupyterLab
        says "model not found" for good of widgets that the file holds (others meet it, too:
        jupyter-widgets/ipywidgets#3823). Whoever does loads the page again, and so does this.
        Where the file holds no widgets, nothing is tried again.
        """
        for _ in range(3):
            self.page.wait_for_function("() => window.jupyterapp !== undefined")
            self.page.evaluate(OPEN, self.name)
            saved = json.loads((self.lab.folder / self.name).read_text())["metadata"].get("widgets")
            if self.page.evaluate(RESTORED) or not saved:
                return
            self.page.reload()

    def reload(self) -> None:
        """Load the page again, as a reader has it who presses reload."""
        self.page.reload()
        self.show()

    def listen(self) -> None:
        """Record errors, requests that leave this machine, and every message to and from the kernel."""
        self.page.on("pageerror", lambda error: self.errors.append(str(error)))
        self.page.on("console", lambda said: self.errors.append(said.text) if is_fault(said) else None)
        self.page.on("request", self.watch)
        self.page.on("websocket", self.overhear)

    def watch(self, request: Request) -> None:
        address = urlsplit(request.url)
        if address.scheme not in {"data", "blob"} and address.hostname != HOME:
            self.offsite.append(request.url)

    def overhear(self, socket: WebSocket) -> None:
        for direction in ("framesent", "framereceived"):
            socket.on(
                direction, lambda frame: self.traffic.append(frame if isinstance(frame, bytes) else frame.encode())
            )

    def run_all(self) -> None:
        """Run every cell, and see that every one ran."""
        self.page.evaluate(READY)
        ran = self.page.evaluate(RUN_ALL)
        assert ran is True, self.failures()
        assert [cell["source"] for cell in self.cells() if cell["source"] and not cell["count"]] == []

    def restart(self) -> None:
        """Restart the kernel as a person does, from the menu."""
        self.page.get_by_role("menuitem", name="Kernel", exact=True).click()
        self.page.get_by_role("menuitem", name=re.compile("^Restart Kernel…")).click()
        self.page.get_by_role("dialog").get_by_role("button", name="Confirm Kernel Restart").click()
        self.page.evaluate(RESTARTED)
        self.page.evaluate(READY)

    def begin(self, code: str) -> None:
        """Let the kernel run this code, in no cell of the notebook, without waiting for it."""
        self.page.evaluate(f"code => {{ window.running = ({EXECUTE})(code); }}", code)

    def end(self) -> str:
        """What the code that was begun has printed or raised, once it has ended."""
        said: str = self.page.evaluate("() => window.running")
        return said

    def ask(self, code: str) -> str:
        """What the kernel prints when it runs this code."""
        self.begin(code)
        return self.end()

    def until(self, true: Callable[[], object]) -> None:
        """Let the page go on until this is true."""
        deadline = time.monotonic() + PATIENCE
        while not true():
            assert time.monotonic() < deadline, "it did not become true"
            self.page.wait_for_timeout(50)

    def await_answer(self, code: str, answer: str) -> None:
        """Ask until the kernel prints this: the page sends one message at a time, so what it said last comes late."""
        deadline = time.monotonic() + PATIENCE
        while (said := self.ask(code).strip()) != answer:
            assert time.monotonic() < deadline, f"the kernel still says {said!r}, not {answer!r}"
            self.page.wait_for_timeout(100)

    def save_with_state(self, wanted: bool = True) -> None:
        """Save notebooks with the state of their widgets from now on, or without: a setting of the user, it lasts."""
        self.page.evaluate(SAVES_STATE, wanted)

    def save(self) -> str:
        """Save the notebook; returns the text of the file."""
        self.page.evaluate(SAVE)
        return (self.lab.folder / self.name).read_text()

    def cells(self) -> list[dict[str, Any]]:
        """Each code cell: its source, its execution count, its outputs."""
        cells: list[dict[str, Any]] = self.page.evaluate(CELLS)
        return cells

    def failures(self) -> list[str]:
        """What the cells raised."""
        outputs = [output for cell in self.cells() for output in cell["outputs"]]
        return [f"{out['ename']}: {out['evalue']}" for out in outputs if out["output_type"] == "error"]

    def slider(self, name: str) -> Locator:
        return self.page.get_by_role("slider", name=name)

    def button(self, name: str) -> Locator:
        return self.page.locator(".jp-Notebook").get_by_role("button", name=name)

    def region(self, name: str) -> Locator:
        return self.page.locator(".jp-Notebook").get_by_role("region", name=name, exact=True)

    def numbers(self, result: Locator) -> list[str]:
        """The rows of the table under a result, which this opens when it is closed."""
        table = result.get_by_role("button", name="Table", exact=True)
        if table.get_attribute("aria-expanded") == "false":
            table.click()
        rows = result.locator("tbody tr")
        expect(rows.filter(visible=True).first).to_be_visible()  # the first of many may only hold their room
        return [" ".join(row.split()) for row in rows.all_inner_texts()]

    def keep_evidence(self) -> None:
        """Beside the picture of a failure: the page's errors, the kernel's last messages, the notebook as saved."""
        said = [*self.errors, *(text.decode(errors="replace")[:400] for text in self.traffic[-60:])]
        (SCREENSHOTS / f"{Path(self.name).stem}-last.txt").write_text("\n".join(said))
        shutil.copy(self.lab.folder / self.name, SCREENSHOTS / f"{Path(self.name).stem}-last.ipynb")

    def screenshot(self, title: str) -> None:
        """Keep a picture in test-output/screenshots, named after the notebook."""
        SCREENSHOTS.mkdir(parents=True, exist_ok=True)
        self.page.screenshot(path=SCREENSHOTS / f"{Path(self.name).stem}-{title}.png")
