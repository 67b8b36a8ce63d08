"""All pages of the site in one folder, as Sphinx reads them."""

from __future__ import annotations

import re
import shutil
import tomllib
from collections.abc import Callable, Sequence
from functools import partial
from os.path import relpath
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import nbformat

from tools import address, public
from tools.site import cells, command, findings, mechanisms, reference

ROOT = Path(__file__).resolve().parents[2]

ELSEWHERE = {
    "ARCHITECTURE.md": "project/architecture.md",
    "CONTRIBUTING.md": "project/contributing.md",
    "CHANGELOG.md": "project/changelog.md",
    "README.md": "project/readme.md",
    "benchmarks/RESULTS.md": "project/benchmarks.md",
    "dpviz/datasets/README.md": "project/datasets.md",
    "widgets/PROTOCOL.md": "reference/protocol.md",
}
"""Documents of the project that are pages of the site as well."""

RUN = "<!-- run -->"
"""A page that says so has its snippets run in order, with what they give below them."""

HIDDEN, OUTPUT_ONLY = "<!-- hidden -->", "<!-- output only -->"
"""Before a snippet: it is run and not shown; only what it gives is shown."""

LIVE = re.compile(r"<!-- live (?P<file>[\w.]+): (?P<words>[^>]*) -->")
"""A report that a snippet wrote is shown here, alive."""

LINK = re.compile(r"(!?)\[((?:[^\[\]]|\[[^\]]*\])*)\]\(([^()\s]+)\)")
FENCED = re.compile(r"(?ms)^```.*?^```$")
SNIPPET = re.compile(rf"(?ms)^(?:({HIDDEN}|{OUTPUT_ONLY})\n)?```python\n(.*?)^```$")
CALL = re.compile(r"(?<![\[\w`])`dv\.([\w.]+)([^`]*)`(?!\])")


class DeadLink(Exception):
    """A page names a file that is not there."""


def slug(heading: str) -> str:
    """The anchor of a heading, as MyST makes it."""
    return re.sub(r"[^\w\- ]", "", unquote(heading).strip().lower().replace(" ", "-"))


def sources(root: Path = ROOT) -> dict[str, str]:
    """Every file that becomes a page: its path in the project, and its path in the site's source."""
    found = {f"docs/{path.relative_to(root / 'docs')}": path for path in sorted((root / "docs").rglob("*.md"))}
    staged = {name: _staged(name.removeprefix("docs/"), path) for name, path in found.items()}
    lessons = {
        f"notebooks/{path.name}": f"lessons/{path.name}" for path in sorted((root / "notebooks").glob("*.ipynb"))
    }
    return staged | lessons | ELSEWHERE


def _staged(name: str, path: Path) -> str:
    return name.removesuffix(".md") + ".ipynb" if RUN in path.read_text(encoding="utf-8") else name


def repository(root: Path = ROOT) -> str:
    """The public address of the project's files; empty where none is set."""
    settings = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))
    home = settings["tool"]["dpviz"]["address"].rstrip("/")
    return f"{home}/blob/{address.BRANCH}/" if home else ""


def lay_out(place: Path, cache: Path, *, lessons: bool = True) -> list[str]:
    """Write the source of the site; returns the faults of its pages, each naming its page."""
    failed: list[str] = []
    pages = sources()
    place.mkdir(parents=True)
    for path in (ROOT / "docs").rglob("*"):
        if path.is_file() and path.suffix != ".md":
            target = place / path.relative_to(ROOT / "docs")
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(path, target)
    for name, target in _generated().items():
        _write(place / name, target)

    made = {f"mechanisms/{path.stem}": path for path in (place / "mechanisms").glob("*.md") if path.stem != "index"}
    pieces: list[Callable[[], None]] = [
        *(partial(_page, name, staged, pages, place, cache, lessons) for name, staged in pages.items()),
        *(partial(_mechanism, name, path, cache) for name, path in sorted(made.items())),
    ]
    for piece in pieces:
        try:
            piece()
        except (DeadLink, cells.CellFailed) as fault:
            failed.append(str(fault))
    return failed


def _generated() -> dict[str, str]:
    """The pages that are written from the code."""
    return {
        "findings.md": findings.page(ROOT / "findings"),
        "reference/cli.md": command.page(),
        **{f"reference/{name}": text for name, text in reference.pages()},
        **{f"mechanisms/{name}": text for name, text in mechanisms.pages()},
    }


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def _page(name: str, staged: str, pages: dict[str, str], place: Path, cache: Path, lessons: bool) -> None:
    target = place / staged
    target.parent.mkdir(parents=True, exist_ok=True)
    if name.endswith(".ipynb"):
        nbformat.write(lesson(name, staged, pages, cache, run_it=lessons), target)
        return
    text = linked((ROOT / name).read_text(encoding="utf-8"), name, staged, pages)
    if name.startswith("docs/"):
        text = called(text, "../" * staged.count("/"))
    if RUN in text:
        nbformat.write(run(name, text, cache, place / "_static" / "live"), target)
    else:
        _write(target, text)


def _mechanism(name: str, path: Path, cache: Path) -> None:
    text = path.read_text(encoding="utf-8")
    path.unlink()
    nbformat.write(run(name, called(text), cache), path.with_suffix(".ipynb"))


def linked(text: str, name: str, staged: str, pages: dict[str, str]) -> str:
    """The text of a page with its relative links as they are in the site.

    Parameters
    ----------
    text : str
        The text of the page in the project.
    name, staged : str
        Its path in the project and in the site.
    pages : dict
        All pages, by their path in the project.

    Returns
    -------
    str
        The text. A file of the project that is no page is a link to its public address, where there is one.

    Raises
    ------
    DeadLink
        If a link names a file that is not there.
    """

    def moved(link: re.Match[str]) -> str:
        mark, words, where = link.groups()
        words = LINK.sub(moved, words)
        if re.match(r"\w+:", where):
            return f"{mark}[{words}]({where})"
        path, sharp, fragment = where.partition("#")
        fragment = sharp + slug(fragment) if sharp else ""
        if not path:
            return f"{mark}[{words}]({fragment})"
        whole = (ROOT / name).parent / unquote(path)
        inside = relpath(whole.resolve(), ROOT)
        if inside.startswith("docs/") and inside not in pages and _made(inside):
            return f"{mark}[{words}]({relpath(_made(inside), Path(staged).parent)}{fragment})"
        if not whole.exists():
            raise DeadLink(f"{name}: {where} is not there")
        if inside in pages:
            return f"{mark}[{words}]({relpath(pages[inside], Path(staged).parent)}{fragment})"
        if mark and inside.startswith("docs/"):
            return f"![{words}]({relpath(inside.removeprefix('docs/'), Path(staged).parent)})"
        home = repository()
        return f"{mark}[{words}]({home}{inside})" if home else words

    fences: list[str] = []
    text = FENCED.sub(lambda fence: f"\0{fences.append(fence[0]) or len(fences) - 1}\0", text)
    text = LINK.sub(moved, text)
    return re.sub("\0(\\d+)\0", lambda found: fences[int(found[1])], text)


def _made(inside: str) -> str:
    """The page of the site that is written from the code, for a link of a page in docs/; empty for all others."""
    name = inside.removeprefix("docs/")
    if name.startswith("mechanisms/") and name != "mechanisms/index.md":
        return name.removesuffix(".md") + ".ipynb"
    return name if name == "findings.md" or name.startswith(("reference/", "mechanisms/")) else ""


def called(text: str, up: str = "../") -> str:
    """The text with calls that stand in a sentence as links to the reference."""
    known = {name: reference.file_of(name, thing) for name, thing in public.names()}

    def reference_to(call: re.Match[str]) -> str:
        name = call[1] if call[1] in known else call[1].partition(".")[0]
        return f"[`dv.{call[1]}{call[2]}`]({up}reference/{known[name]}.rst)" if name in known else call[0]

    parts = FENCED.split(text)
    fences = FENCED.findall(text)
    lines = [CALL.sub(reference_to, part) for part in parts]
    return "".join(part + fence for part, fence in zip(lines, [*fences, ""], strict=True))


def run(name: str, text: str, cache: Path, live: Path | None = None) -> Any:
    """A page whose snippets are run: a notebook with outputs. Reports that it shows go to the folder `live`."""
    made = nbformat.v4.new_notebook(metadata=METADATA)
    files = [shown["file"] for shown in LIVE.finditer(text)]
    text = LIVE.sub(_frame, text)
    at = 0
    for snippet in SNIPPET.finditer(text):
        _words(made, text[at : snippet.start()])
        tags = {HIDDEN: ["remove-cell"], OUTPUT_ONLY: ["remove-input"]}.get(snippet[1], [])
        made.cells.append(nbformat.v4.new_code_cell(snippet[2].rstrip(), metadata={"tags": tags}))
        at = snippet.end()
    _words(made, text[at:])
    return filled(made, name, cache, files=files, live=live)


def _frame(shown: re.Match[str]) -> str:
    title = shown["words"][0].upper() + shown["words"][1:]
    return f'<iframe class="live" loading="lazy" title="{title}" src="_static/live/{shown["file"]}"></iframe>'


METADATA = {
    "kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"},
    "language_info": {"name": "python"},
}


def _words(made: Any, text: str) -> None:
    text = text.replace(RUN, "").strip("\n")
    if text:
        made.cells.append(nbformat.v4.new_markdown_cell(text))


def lesson(name: str, staged: str, pages: dict[str, str], cache: Path, *, run_it: bool) -> Any:
    """A lesson with its outputs; code of exercises is folded."""
    made = nbformat.read(ROOT / name, as_version=4)
    for cell in made.cells:
        if cell.cell_type == "markdown":
            cell.source = linked(cell.source, name, staged, pages)
        elif "exercise" in cell.metadata.get("tags", []):
            cell.metadata["tags"] = [*cell.metadata["tags"], "hide-input"]
    return filled(made, name, cache, run_it=run_it)


def filled(
    made: Any, name: str, cache: Path, *, files: Sequence[str] = (), live: Path | None = None, run_it: bool = True
) -> Any:
    """A notebook with the outputs of its cells."""
    code = [cell for cell in made.cells if cell.cell_type == "code"]
    ran = cells.outputs(name, [cell.source for cell in code], cache, files=files, run=run_it)
    found = ran.outputs if ran else [[] for _ in code]
    for number, (cell, given) in enumerate(zip(code, found, strict=True)):
        cell.execution_count = number + 1
        cell.outputs = [nbformat.from_dict(output) for output in given]
        words = [about["alt"] for one in given for about in one.get("metadata", {}).values() if "alt" in about]
        if words:
            cell.metadata["mystnb"] = {"image": {"alt": words[0]}}
    for file, text in ran.files.items() if ran and live else ():
        _write(live / file, text)
    return made
