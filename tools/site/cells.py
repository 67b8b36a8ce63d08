"""Cells of a page, run in one process in an empty folder, and their outputs as a notebook keeps them."""

from __future__ import annotations

import hashlib
import json
import multiprocessing
import os
import re
import tempfile
import time
import traceback
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
FORM = 1
"""Raised when outputs are kept in another form."""

LONGEST = 600
"""Seconds that the cells of one page may take."""

SHOWN = ("image/png", "image/svg+xml", "text/html", "text/markdown", "text/plain")
"""The kinds of output that a page without a kernel can show."""

LIVE = "application/vnd.jupyter.widget-view+json"

Output = dict[str, Any]


class CellFailed(Exception):
    """A cell of a page raised an error."""


@cache
def code_digest() -> str:
    """Digest of the package: outputs of another version are not shown."""
    digest = hashlib.sha256()
    for path in sorted((ROOT / "dpviz").rglob("*")):
        if path.suffix in {".py", ".json", ".csv", ".js", ".parquet"}:
            digest.update(path.read_bytes())
    return digest.hexdigest()


def cached(sources: Sequence[str], folder: Path, files: Sequence[str] = ()) -> Path:
    """The file that keeps the outputs of these cells under this version of the package."""
    text = json.dumps([FORM, code_digest(), *sources, *files])
    return folder / f"{hashlib.sha256(text.encode()).hexdigest()}.json"


@dataclass(frozen=True)
class Ran:
    """The outputs of each cell of a page, and the files that were asked for, by name."""

    outputs: list[list[Output]]
    files: dict[str, str]


def outputs(
    page: str, sources: Sequence[str], folder: Path, *, files: Sequence[str] = (), run: bool = True
) -> Ran | None:
    """Run the cells of one page, or read what they gave before.

    Parameters
    ----------
    page : str
        Named where a cell fails.
    sources : sequence of str
        The code of the cells, in order.
    folder : Path
        Keeps the outputs.
    files : sequence of str
        The names of files that cells write and that the page shows.
    run : bool, default True
        Whether cells that were not run before are run.

    Returns
    -------
    Ran or None
        The outputs of each cell; None where they were not run.

    Raises
    ------
    CellFailed
        If a cell raises an error, or a file is not written.
    """
    kept = cached(sources, folder, files)
    if kept.is_file():
        return Ran(**json.loads(kept.read_text(encoding="utf-8")))
    if not run:
        return None
    folder.mkdir(parents=True, exist_ok=True)
    begun = time.monotonic()
    context = multiprocessing.get_context("forkserver")  # begins with packages loaded, and with no threads
    context.set_forkserver_preload(["tools.site.loaded"])
    with tempfile.TemporaryDirectory() as scratch:
        given = Path(scratch) / "given.json"
        process = context.Process(target=_work, args=(list(sources), list(files), scratch, str(given)))
        process.start()
        process.join(LONGEST)
        if process.is_alive():
            process.kill()
            raise CellFailed(f"{page}: its cells took longer than {LONGEST} s")
        if not given.is_file():
            raise CellFailed(f"{page}: the process that ran its cells ended with {process.exitcode}")
        answer = json.loads(given.read_text(encoding="utf-8"))
    if "failed" in answer:
        raise CellFailed(f"{page}: {answer['failed']}")
    print(f"{page}: {len(sources)} cells in {time.monotonic() - begun:.1f} s", flush=True)
    kept.write_text(json.dumps(answer), encoding="utf-8")
    return Ran(**answer)


def _work(sources: list[str], files: list[str], scratch: str, given: str) -> None:
    folder = Path(scratch) / "work"
    folder.mkdir()
    os.environ |= {"XDG_STATE_HOME": str(Path(scratch) / "state"), "IPYTHONDIR": str(Path(scratch) / "ipython")}
    os.chdir(folder)
    try:
        answer: dict[str, Any] = {"outputs": list(_run(sources))}
        answer["files"] = {name: (folder / name).read_text(encoding="utf-8") for name in files}
    except CellFailed as failed:
        answer = {"failed": str(failed)}
    except BaseException:
        answer = {"failed": traceback.format_exc()}
    Path(given).write_text(json.dumps(answer), encoding="utf-8")


def _run(sources: list[str]) -> Iterator[list[Output]]:
    """Run each cell as IPython does."""
    from IPython.core.displayhook import CapturingDisplayHook
    from IPython.core.interactiveshell import InteractiveShell
    from IPython.utils.capture import capture_output

    shell = InteractiveShell.instance()
    for source in sources:
        with capture_output() as captured:
            shell.display_trap.hook = CapturingDisplayHook(shell=shell, outputs=(results := []))
            ran = shell.run_cell(source)
        if not ran.success:
            raised = ran.error_in_exec or ran.error_before_exec
            raise CellFailed(f"this cell fails\n{source}\n{type(raised).__name__}: {raised}")
        found = [{"output_type": "stream", "name": "stdout", "text": captured.stdout}] if captured.stdout else []
        shown = [(one.data, one.metadata or {}) for one in captured.outputs]
        shown += [(one["data"], one.get("metadata") or {}) for one in results]
        yield found + [one for data, metadata in shown if (one := _output(data, metadata))]


def _output(data: dict[str, Any], metadata: dict[str, Any]) -> Output | None:
    """An output without the kinds that need a kernel; a component is named, for it is drawn by its page."""
    if LIVE in data:
        name = re.match(r"\w+", str(data.get("text/plain", "")))
        words = f"{name[0] if name else 'This component'} is drawn here in a notebook."
        return {"output_type": "display_data", "data": {"text/plain": words}, "metadata": {}}
    kept = {kind: data[kind] for kind in SHOWN if kind in data}
    if not kept:
        return None
    about = {kind: metadata[kind] for kind in SHOWN if kind in metadata}
    return {"output_type": "display_data", "data": kept, "metadata": about}
