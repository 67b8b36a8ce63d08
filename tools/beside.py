"""Run the code of other libraries on the pages of `docs/coming_from`, and write down what it prints.

`python -m tools.beside [NAME ...]` runs the blocks of a page that are marked `py`, in order, in the environment of that
library (`benchmarks/peers*.txt`) and in a folder that holds `visits.csv`. The block below each is replaced by its
output, and a line under the heading says version, day and command. `faults` finds a page whose code, output or version
is not the recorded one. Nothing of this runs when the site is built.
"""

from __future__ import annotations

import hashlib
import json
import re
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent
FOLDER = ROOT / "docs" / "coming_from"

MARK = re.compile(r"<!-- peer: (?P<place>\w+) (?P<package>[\w.-]+) -->")
PAIR = re.compile(r"(?ms)^```py\n(?P<code>.*?)^```\n\n```text\n(?P<output>.*?)^```$")
SAID = re.compile(
    r"(?m)^Recorded on (?P<day>[\d-]+) with (?P<package>[\w.-]+) (?P<version>[\w.]+) and Python [\d.]+ by "
    r"`python -m tools\.beside (?P<name>\w+)`, record (?P<digest>[0-9a-f]{12})\.$"
)

RUNNER = """
import contextlib, importlib.metadata, io, json, platform, sys
asked, names, found = json.load(sys.stdin), {"__name__": "__main__"}, []
for block in asked["blocks"]:
    said = io.StringIO()
    with contextlib.redirect_stdout(said):
        exec(compile(block, "page", "exec"), names)
    found.append(said.getvalue())
version = importlib.metadata.version(asked["package"])
print("\\n" + json.dumps({"outputs": found, "version": version, "python": platform.python_version()}))
"""


class Page(NamedTuple):
    """A page of one library: its text, and the blocks of code and output on it."""

    path: Path
    text: str
    place: str
    package: str
    code: list[str]
    outputs: list[str]

    @property
    def pinned(self) -> str:
        """The version of the library in the file of its environment."""
        listed = (ROOT / "benchmarks" / f"{self.place}.txt").read_text(encoding="utf-8")
        found = re.search(rf"(?m)^{re.escape(self.package)}(\[\w+\])?==([\w.]+)$", listed)
        return found[2] if found else ""


def read(path: Path) -> Page:
    """Read the page of one library."""
    text = path.read_text(encoding="utf-8")
    marked = MARK.search(text)
    if marked is None:
        raise ValueError(f"{path.name}: no library is named, as <!-- peer: peers opendp -->")
    pairs = [(pair["code"], pair["output"]) for pair in PAIR.finditer(text)]
    return Page(path, text, marked["place"], marked["package"], [one for one, _ in pairs], [two for _, two in pairs])


def pages(folder: Path = FOLDER) -> list[Path]:
    """The pages that name a library."""
    return [path for path in sorted(folder.glob("*.md")) if MARK.search(path.read_text(encoding="utf-8"))]


def digest(version: str, code: Sequence[str], outputs: Sequence[str]) -> str:
    """Digest of a record: of a version, the code, and what it printed."""
    return hashlib.sha256(json.dumps([version, *code, *outputs]).encode()).hexdigest()[:12]


def faults(path: Path) -> list[str]:
    """Differences between a page and its record; each names the page."""
    page, said = read(path), SAID.search(path.read_text(encoding="utf-8"))
    if said is None:
        return [f"{path.name}: nothing was recorded; run python -m tools.beside {path.stem}"]
    found = []
    if (said["package"], said["name"]) != (page.package, path.stem):
        found.append(f"{path.name}: the record is one of {said['package']}")
    if said["version"] != page.pinned:
        found.append(f"{path.name}: recorded with {said['version']}, and {page.place}.txt has {page.pinned or 'none'}")
    if page.text.count("```py\n") != len(page.code):
        found.append(f"{path.name}: a block of code has no output below it")
    if said["digest"] != digest(said["version"], page.code, page.outputs):
        found.append(f"{path.name}: code or output is not what was recorded")
    return found


def record(path: Path) -> None:
    """Run the code of a page and write its output into the page."""
    import dpviz as dv
    from benchmarks.peers import environment

    page = read(path)
    asked = json.dumps({"blocks": page.code, "package": page.package})
    with tempfile.TemporaryDirectory() as scratch:
        dv.datasets.doctor_visits().to_csv(Path(scratch) / "visits.csv", index=False)
        command = [str(environment(page.place)), "-W", "ignore", "-c", RUNNER]
        done = subprocess.run(command, input=asked, cwd=scratch, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"{path.name}: {done.stderr}")
    told = json.loads(done.stdout.splitlines()[-1])
    outputs = iter(told["outputs"])
    text = PAIR.sub(lambda pair: f"```py\n{pair['code']}```\n\n```text\n{next(outputs)}```", page.text)
    day = datetime.now(UTC).date().isoformat()
    said = (
        f"Recorded on {day} with {page.package} {told['version']} and Python {told['python']} by "
        f"`python -m tools.beside {path.stem}`, record {digest(told['version'], page.code, told['outputs'])}."
    )
    text = SAID.sub(said, text) if SAID.search(text) else MARK.sub(lambda mark: f"{mark[0]}\n\n{said}", text, count=1)
    path.write_text(text, encoding="utf-8")


def main(names: Sequence[str]) -> int:
    known = {path.stem for path in pages()}
    if unknown := sorted({*names} - known):
        print(f"no page is called {', '.join(unknown)}; there are {', '.join(sorted(known))}", file=sys.stderr)
        return 2
    for path in pages():
        if not names or path.stem in names:
            record(path)
            print(f"{path.stem}: recorded", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
