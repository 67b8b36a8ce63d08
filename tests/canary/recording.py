"""The session that is recorded: everything a person does with a workbench and two private data sets, well and badly."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import nbformat
from playwright.sync_api import Browser, expect

from tests.browser.lab import READY, ROOT, Lab, Notebook
from tests.canary import planted
from tests.reports import pages
from tests.unpacking import read

NAME = "recorded.ipynb"

CELLS = {
    "start": f"""
import sys
sys.path.insert(0, {str(ROOT)!r})
from pathlib import Path
import dpviz as dv
from tests.canary import leaks, mistakes, private
private.listen("kernel.log")
private.draw_in_secret()""",
    "session": """
source = private.Counts()
session = dv.Session(source, unit=dv.Unit("row", noun="visit"), budget=dv.Budget(epsilon="4"), ledger="recorded.ledger")
session""",
    "workbench": """
bins = dv.Domain.integers(0, 8, column="x", overflow=True)
bench = dv.Workbench(session, bins)
bench""",
    "release": """
release = session.release(bins, dv.Dense(epsilon="1/4"), key="by hand")
strict = session.release(bins, dv.Dense(epsilon="1/4", base="tight", cap=10**9), mode="strict")
print(release, strict, session.releases, session.remaining)
release.to_frame()""",
    "chart": "release.chart()",
    "people": """
unit = dv.Unit("user", noun="person", max_bins=3)
people = dv.Session(private.people(), unit, dv.Budget(epsilon="9", delta="1e-6"), "people.ledger")
places = dv.Domain.categories(["north", "south"], column="place", other=True, missing=True)
visits = dv.Domain.integers(0, 2, column="visits", underflow=True, overflow=True)
weights = dv.Domain.intervals([0, 1, 5], column="weight")
asked = [places, visits, weights, dv.Domain.product(places, visits)]
counted = [people.release(one, dv.Dense(epsilon="1/2"), where={"note": ["none", "some"]}) for one in asked]
print(people, *counted, *(one.to_csv() for one in counted))
dv.Workbench(people, places)""",
    "papers": """
dv.report([release, strict], "report.html", ledger=session)
dv.report([*counted, people.plan(weights, dv.Dense(epsilon="1/2"))], "people.html", ledger="people.ledger")
release.save("release.json")
drawn = [*(one.chart() for one in (release, strict, *counted)), people.plan(visits, dv.Dense(epsilon="1")).chart()]
drawn += [dv.charts.noise_law(one, theme="dark") for one in (release, people.plan(places, dv.Dense(epsilon="1")).sheet)]
written = Path("charts.json").write_text("\\n".join(chart.to_json() for chart in drawn))""",
    "no such column": 'people.release(dv.Domain.integers(0, 9, column="age"), dv.Dense(epsilon=1))',
    "unique values": 'dv.Domain.categories(private.people()["note"].unique(), column="note")',
    "too much": 'session.release(bins, dv.Dense(epsilon="50"))',
    "interrupted": """
source.act = private.dawdle
session.release(bins, dv.Dense(epsilon="0.1"), key="interrupted")""",
    "mistakes": """
scene = mistakes.Scene()
mistakes.make_all(scene)
print(len(mistakes.MISTAKES), "mistakes")""",
    "told": """
mistakes.tell_all(scene)
mistakes.look_around()
print("told")""",
    "leaks": 'leaks.leak_all(scene)\nprint("leaked")',
}

FAILING = {
    "no such column": "SchemaError",
    "unique values": "DomainError",
    "too much": "BudgetExceeded",
    "interrupted": "ReleaseInterrupted",
}

RUN = """async index => {
    window.panel.content.deselectAll();
    window.panel.content.activeCellIndex = index;
    await window.jupyterapp.commands.execute('notebook:run-cell');
}"""

# What JupyterLab asks the kernel while somebody types: completions and the tooltip's documentation.
TYPE = """async names => {
    const kernel = window.panel.sessionContext.session.kernel;
    for (const code of names) {
        await kernel.requestComplete({ code: code + '.', cursor_pos: code.length + 1 });
        await kernel.requestInspect({ code, cursor_pos: code.length, detail_level: 1 });
    }
}"""


@dataclass(frozen=True)
class Recording:
    """The evidence by name, of the honest session and of the leaks after it; how its cells and mistakes ended."""

    evidence: dict[str, bytes]
    leaked: dict[str, bytes]
    failed: dict[str, str]
    mistakes: dict[str, str]


def record(browser: Browser, place: Path) -> Recording:
    """Live through the session, and collect what was said on the wire, shown on the page and written to the disk."""
    planted.plant(place / "private")
    _configure(place)
    with Lab.start(place) as lab:
        _write(lab.folder / NAME)
        with Notebook.open(lab, browser, NAME, viewport={"width": 1280, "height": 2400}) as it:
            for name in ("start", "session", "workbench"):
                _run(it, name)
            _work_by_hand(it)
            for name in ("release", "chart", "people", "papers", *list(FAILING)[:3]):
                _run(it, name)
            _interrupt(it)
            for name in ("mistakes", "told"):
                _run(it, name)
            it.page.evaluate(TYPE, ["session", "bench", "release", "people", "source", "counted"])
            logs = {name: content for name, content in _files(place).items() if name.endswith("-journal")}
            _restart_while_drawing(it)  # after which the journals hold other pages
            failed = {_name(cell["source"]): _error(cell["outputs"]) for cell in it.cells()}
            it.save()
            seen = {"page": it.page.content().encode(), "console": "\n".join(it.errors).encode()}
            evidence = {"messages": read(b"\n".join(it.traffic)), **seen, **_files(place), **logs}
            heard = len(it.traffic)
            made = json.loads((lab.folder / "mistakes.json").read_text())
            it.ask("scene = mistakes.Scene()")
            _run(it, "leaks")
            leaked = {"messages": read(b"\n".join(it.traffic[heard:])), **_files(place)}
    return Recording(evidence, leaked, {name: error for name, error in failed.items() if error}, made)


def _configure(place: Path) -> None:
    """The server logs all it can, and the notebook is saved with the state of its widgets."""
    files = {
        "jupyter_config_dir/jupyter_server_config.json": {"ServerApp": {"log_level": "DEBUG"}},
        "jupyterlab_settings_dir/@jupyter-widgets/jupyterlab-manager/plugin.jupyterlab-settings": {"saveState": True},
    }
    for name, content in files.items():
        (place / name).parent.mkdir(parents=True)
        (place / name).write_text(json.dumps(content))


def _write(path: Path) -> None:
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(source.strip()) for source in CELLS.values()])
    notebook.metadata.kernelspec = {"name": "python3", "display_name": "Python 3", "language": "python"}
    nbformat.write(notebook, path)


def _run(it: Notebook, name: str) -> None:
    it.page.evaluate(RUN, list(CELLS).index(name))
    (cell,) = [cell for cell in it.cells() if _name(cell["source"]) == name]
    assert cell["count"], f"the cell {name} did not run"
    assert _error(cell["outputs"]) == FAILING.get(name, ""), it.failures()


def _name(source: str) -> str:
    (name,) = [name for name, cell in CELLS.items() if cell.strip() == source]
    return name


def _error(outputs: list[dict[str, str]]) -> str:
    """What ended a cell: errors that it showed and outlived come with a text of ours after them."""
    return outputs[-1]["ename"] if outputs and outputs[-1]["output_type"] == "error" else ""


def _work_by_hand(it: Notebook) -> None:
    """Plan, type nonsense, release, cancel, see an engine die, be refused, look at an old release, declare bins."""
    box = it.page.get_by_role("textbox", name="Privacy loss ε, exact")

    def type_epsilon(text: str) -> None:
        box.fill(text)  # from now on a redraw leaves it alone
        box.press("Enter")

    def pay(epsilon: str) -> None:
        type_epsilon(epsilon)
        it.button(f"Release pay ε {epsilon}").click()

    for nonsense in ("half", "NaN", "-1"):
        type_epsilon(nonsense)
        expect(box).to_have_attribute("aria-invalid", "true")
    type_epsilon("1e99")  # a number, and refused by the kernel
    expect(it.page.get_by_text("epsilon must be at most").first).to_be_visible()
    pay("0.2")
    expect(it.page.get_by_role("heading", name="released with ε = 0.2")).to_be_visible()
    it.numbers(it.region("Visits by x, released with ε = 0.2"))

    it.ask("source.act = private.dawdle")
    pay("0.3")
    it.button("Cancel · 0.3 stays spent").click()
    expect(it.page.get_by_text("Cancelled. ε 0.3 is spent and no answer was shown.")).to_be_visible()
    it.button("Keep planning").click()

    it.ask("source.act = private.die")
    pay("0.4")
    expect(it.page.get_by_text("ε 0.4 is spent and no answer was shown.").first).to_be_visible()
    it.button("Keep planning").click()

    type_epsilon("50")
    expect(it.page.get_by_text("ask for at most 3.1.")).to_be_visible()

    it.page.get_by_label("Bins (public, not taken from the data)").select_option("Declare bins…")
    declared = it.page.get_by_role("group", name="Declare bins")
    declared.get_by_label("From", exact=True).fill("9")
    declared.get_by_label("To", exact=True).fill("3")
    it.button("Use these bins").click()
    expect(it.page.get_by_text("From must be at most To")).to_be_visible()
    declared.get_by_label("From", exact=True).fill("0")
    it.button("Use these bins").click()
    expect(declared).to_be_hidden()
    pay("0.5")
    expect(it.page.get_by_role("heading", name="released with ε = 0.5")).to_be_visible()

    it.button("chart of release 1").click()
    expect(it.page.get_by_role("heading", name="released with ε = 0.2")).to_be_visible()


def _interrupt(it: Notebook) -> None:
    """Press Kernel → Interrupt while a release waits for its engine."""
    begun = it.lab.folder / "dawdling"
    begun.unlink(missing_ok=True)
    index = list(CELLS).index("interrupted")
    it.page.evaluate(f"index => {{ window.running = ({RUN})(index); }}", index)
    it.until(begun.exists)
    it.page.get_by_role("menuitem", name="Kernel", exact=True).click()
    it.page.get_by_role("menuitem", name=re.compile("^Interrupt Kernel")).click()
    it.page.evaluate("() => window.running")
    it.page.evaluate(READY)


def _restart_while_drawing(it: Notebook) -> None:
    """Restart the kernel in the middle of a draw; the workbench then tells of the charge that never reported back."""
    begun = it.lab.folder / "dawdling"
    begun.unlink(missing_ok=True)
    it.ask(
        "source.act = private.dawdle\nhanging = session.release_async(bins, dv.Dense(epsilon='0.15'), key='hanging')"
    )
    it.until(begun.exists)
    it.restart()
    for name in ("start", "session", "workbench"):
        _run(it, name)
    expect(it.page.get_by_text("started at").first).to_be_visible()


DRAWN = {"notebook_secret", "jupyter_cookie_secret"}
"""Files of nothing but random bytes in base64, made by Jupyter: a short pattern could be in them by chance."""


def _files(place: Path) -> dict[str, bytes]:
    """Everything else that the server, the kernel and dpviz have written, but for the private data themselves."""
    return {name: content for name, content in _walk(place, place / "private") if Path(name).name not in DRAWN}


def _walk(folder: Path, private: Path) -> Iterator[tuple[str, bytes]]:
    for path in sorted(folder.rglob("*")):
        if path.is_file() and private not in path.parents:
            try:
                content = path.read_bytes()
            except FileNotFoundError:  # the server's own, and gone a moment later
                continue
            if path.suffix == ".html":  # the evidence is what a reader gets, unpacked
                content += "".join(pages.parts(content.decode("utf-8", "replace")).values()).encode()
            if path.suffix == ".ipynb":
                content = read(content)
            yield path.relative_to(folder).as_posix(), content
