"""How easy the code is to enter, in numbers, none of which may get worse: `python -m tools.measure_house`.

Each number has a bound, written down here as it was measured. A number on the wrong side of its bound fails the suite
`style`. Where a number has got better, write it down as the new bound.
"""

from __future__ import annotations

import ast
import sys
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from tools import prose, public
from tools.docstrings import faults, members

ROOT = Path(__file__).resolve().parent.parent

PROTOCOLS = {"Answer", "Bound", "Custody", "Parameters", "Source", "StoredLaw"}
"""Base classes that are protocols in all but name: others subclass them and override their defaults."""


@cache
def parsed(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


def modules(root: Path) -> list[ast.Module]:
    """The syntax trees of the package."""
    return [parsed(path) for path in sorted((root / "dpviz").rglob("*.py"))]


def incomplete_docstrings(root: Path) -> list[str]:
    """Public calls whose docstring lacks a section, each once, wherever it is inherited."""
    calls = {
        f"{call.__module__}:{call.__qualname__}": call
        for name, thing in public.names()
        for _, call in members(name, thing)
        if call.__module__.startswith("dpviz")  # not `index` and `count`, which every sequence has
    }
    return [lacks[0] for name, call in sorted(calls.items()) if (lacks := faults(call, name))]


def one_word_functions(root: Path) -> float:
    """Share of public functions and methods whose name is one word, in percent."""
    names = [
        node.name
        for tree in modules(root)
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and not node.name.startswith("_")
    ]
    return 100 * sum("_" not in name for name in names) / max(len(names), 1)


def comment_lines(root: Path) -> float:
    """Share of lines that are a comment, in percent; blank lines do not count."""
    files = (root / "dpviz").rglob("*.py")
    lines = [line.strip() for path in files for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]
    return 100 * sum(line.startswith("#") for line in lines) / max(len(lines), 1)


def protocol_sizes(root: Path) -> Iterator[tuple[str, int]]:
    """Public members of each protocol and of each class that it is put together from, those of type checkers too."""
    classes = [node for tree in modules(root) for node in ast.walk(tree) if isinstance(node, ast.ClassDef)]
    bases: dict[str, set[str]] = defaultdict(set)
    for node in classes:
        bases[node.name] |= {ast.unparse(base).partition("[")[0] for base in node.bases}
    protocols, added = set(PROTOCOLS), set(PROTOCOLS)
    while added := set[str]().union(*(bases[name] for name in added)) - protocols:
        protocols |= added
    for node in classes:
        if node.name in protocols or any(ast.unparse(base).partition("[")[0] == "Protocol" for base in node.bases):
            body = [*node.body, *(one for part in node.body if isinstance(part, ast.If) for one in part.body)]
            named = {getattr(one, "name", "") for one in body if isinstance(one, ast.FunctionDef)}
            named |= {ast.unparse(one.target) for one in body if isinstance(one, ast.AnnAssign)}
            yield node.name, sum(not name.startswith("_") for name in named - {""})


def largest_protocol(root: Path) -> int:
    return max((size for _, size in protocol_sizes(root)), default=0)


def repeated_class_names(root: Path) -> list[str]:
    """Names that two classes of the package or more have, and how many have each."""
    classes: dict[str, int] = defaultdict(int)
    for tree in modules(root):
        for node in tree.body:
            if isinstance(node, ast.ClassDef):
                classes[node.name] += 1
    return [f"{name} ({number} times)" for name, number in sorted(classes.items()) if number > 1]


def flat_files(root: Path) -> int:
    """Files that lie in widgets/src itself, in no folder of it."""
    return sum(path.is_file() for path in (root / "widgets/src").iterdir())


def words(name: str) -> Callable[[Path], int]:
    """Count the words of a document."""
    return lambda root: len((root / name).read_text(encoding="utf-8").split())


def hidden_subjects(folder: str) -> Callable[[Path], list[str]]:
    """Find the sentences below a folder that begin with a clause."""
    return lambda root: prose.openings(root / folder)


@dataclass(frozen=True)
class Measure:
    """One number about the code and the bound that it may not cross.

    Parameters
    ----------
    name : str
        The name of the measure.
    take : callable
        Measures the project in a folder. A list counts as its length, and is shown where the bound is crossed.
    bound : float
        The number as it was measured.
    target : float
        The number to reach.
    unit : str
        Shown behind the number.
    more_is_better : bool
        Whether the number should grow. Most should shrink.
    """

    name: str
    take: Callable[[Path], float | list[str]]
    bound: float
    target: float
    unit: str = ""
    more_is_better: bool = False

    def line(self, value: float) -> str:
        """Describe a value beside the bound and the target."""
        number = f"{value:.1f}" if isinstance(value, float) else str(value)
        verdict = "WORSE" if self.is_worse(value) else "better" if self.is_better(value) else ""
        shown = (f"{number}{self.unit}", f"{self.bound}{self.unit}", f"{self.target}{self.unit}", verdict)
        return f"{self.name:52}" + "".join(f"{part:>10}" for part in shown).rstrip()

    def is_worse(self, value: float) -> bool:
        """Tell whether the value crosses the bound, in the tenths that are shown."""
        value = round(value, 1)
        return value < self.bound if self.more_is_better else value > self.bound

    def is_better(self, value: float) -> bool:
        """Tell whether the bound can be drawn tighter."""
        return round(value, 1) != self.bound and not self.is_worse(value)


MEASURES = (
    Measure("public calls with an incomplete docstring", incomplete_docstrings, 0, 0),
    Measure("public functions named by one word", one_word_functions, 71.1, 30, " %"),
    Measure("comment lines", comment_lines, 0.6, 3, " %", more_is_better=True),
    Measure("members of the largest protocol", largest_protocol, 15, 15),
    Measure("class names defined more than once", repeated_class_names, 0, 0),
    Measure("files in widgets/src itself", flat_files, 0, 0),
    Measure("words of ARCHITECTURE", words("ARCHITECTURE.md"), 900, 900),
    Measure("words of README", words("README.md"), 600, 600),
    Measure("words of CHANGELOG", words("CHANGELOG.md"), 2000, 2000),
    Measure("sentences that begin with a clause, in dpviz", hidden_subjects("dpviz"), 2, 0),
    Measure("sentences that begin with a clause, in tools", hidden_subjects("tools"), 0, 0),
    Measure("sentences that begin with a clause, in benchmarks", hidden_subjects("benchmarks"), 0, 0),
    Measure("sentences that begin with a clause, in widgets/src", hidden_subjects("widgets/src"), 0, 0),
)


def measured(root: Path, measures: tuple[Measure, ...] = MEASURES) -> list[str]:
    """Print every number of the project in a folder.

    Parameters
    ----------
    root : Path
        The project's folder.
    measures : tuple of Measure, default MEASURES
        The numbers.

    Returns
    -------
    list of str
        The names of those that got worse.
    """
    print(f"{'':52}{'now':>10}{'bound':>10}{'target':>10}")
    worse = []
    for measure in measures:
        taken = measure.take(root)
        value = len(taken) if isinstance(taken, list) else taken
        print(measure.line(value))
        if measure.is_worse(value):
            worse.append(measure.name)
            print("\n".join(f"    {one}" for one in taken) if isinstance(taken, list) else "", end="\n")
    return worse


def main() -> int:
    """Measure this project."""
    worse = measured(ROOT)
    if worse:
        print(f"\n{'; '.join(worse)}: worse than before. Improve the code; a bound only ever gets tighter.")
    return len(worse)


if __name__ == "__main__":
    sys.exit(main())
