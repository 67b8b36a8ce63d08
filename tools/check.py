"""The checks that a change can break, nearest first, in a minute and a half: `make check`.

Ruff and mypy look at everything. Of the tests those are run that see a changed module: first the changed test files and
those named after a changed module, then those that import it, then those that import what imports it. No test begins
after the time is up. A file of the page calls for its own checks, `tsc` and vitest. `make test` runs everything.
"""

from __future__ import annotations

import argparse
import ast
import os
import subprocess
import sys
import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path

import pytest

from tools.suites import ELSEWHERE, PYTEST

ROOT = Path(__file__).resolve().parent.parent
SECONDS = 75.0
"""After this time no further test begins."""

MOST_FILES = 60
"""The nearest test files are read; others that see the change are left to `make test`."""

UNTIL = "DPVIZ_CHECK_UNTIL"
"""The variable that says to pytest when the time is up, in seconds since 1970."""

NO_TESTS = 5
"""The exit code of pytest where files hold no test."""

NOTHING = "nothing has changed since the last commit: `make check BASE=main` compares with another one"


def changed(base: str, root: Path = ROOT) -> list[str]:
    """Return the files that differ from a revision, and those that git does not know yet."""
    known = _git(root, "diff", "--name-only", "--relative", base)
    return sorted({*known, *_git(root, "ls-files", "--others", "--exclude-standard")})


def _git(root: Path, *command: str) -> list[str]:
    done = subprocess.run(["git", "-C", str(root), *command], check=True, capture_output=True, text=True)
    return done.stdout.splitlines()


# ---------------------------------------------------------------- who sees a module


def name_of(path: str) -> str:
    """Return the module that a file is.

    >>> name_of("dpviz/noise/__init__.py"), name_of("tests/frames.py")
    ('dpviz.noise', 'tests.frames')
    """
    return ".".join(Path(path).with_suffix("").parts).removesuffix(".__init__")


def imports(text: str, facade: Mapping[str, str]) -> set[str]:
    """Return the modules that a text imports, wherever in it; names of the facade (`dv.Dense`) stand for theirs.

    >>> sorted(imports("import dpviz as dv\\nfrom dpviz.noise import bits\\ndv.Dense", {"Dense": "dpviz.dense"}))
    ['dpviz', 'dpviz.dense', 'dpviz.noise', 'dpviz.noise.bits']
    """
    found = set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            found |= {name.name for name in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found |= {node.module, *(f"{node.module}.{name.name}" for name in node.names)}
        elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "dv":
            found |= {facade[node.attr]} if node.attr in facade else set()
    return found


def distances(changes: Collection[str], seen_by: Mapping[str, Collection[str]]) -> dict[str, int]:
    """Return through how many imports each module sees a change; the facade, which sees everything, passes none on.

    >>> distances(["a"], {"a": ["b", "c"], "b": ["d"]})
    {'a': 0, 'b': 1, 'c': 1, 'd': 2}
    """
    far = dict.fromkeys(changes, 0)
    front = list(far)
    while front:
        nearer, front = front, []
        for module in nearer:
            for other in sorted(seen_by.get(module, ())):
                if other not in far and module != "dpviz":
                    far[other] = far[module] + 1
                    front.append(other)
    return far


@cache
def _facade(root: Path) -> dict[str, str]:
    """The module that each public name comes from."""
    files = [root / "dpviz" / "__init__.py", *sorted((root / "dpviz").rglob("*.pyi"))]
    nodes = [node for file in files for node in ast.walk(ast.parse(file.read_text(encoding="utf-8")))]
    places = [node for node in nodes if isinstance(node, ast.ImportFrom) and node.module]
    return {name.asname or name.name: str(node.module) for node in places for name in node.names}


def _python(root: Path) -> Iterator[str]:
    for folder in ("dpviz", "tests", "tools", "benchmarks"):
        for path in sorted((root / folder).rglob("*.py")):
            yield path.relative_to(root).as_posix()


def nearest(changes: Collection[str], root: Path = ROOT) -> list[str]:
    """Return the test files that see one of these files through imports, nearest first."""
    paths = {name_of(path): path for path in _python(root)}
    seen_by: dict[str, set[str]] = {}
    for module, path in paths.items():
        for other in imports((root / path).read_text(encoding="utf-8"), _facade(root)):
            seen_by.setdefault(other, set()).add(module)
    modules = [name_of(path) for path in changes if path.endswith(".py")]
    far = distances(modules, seen_by)
    named = {f"test_{module.rpartition('.')[2]}" for module in modules}

    def rank(path: str) -> tuple[float, str]:
        own = Path(path).stem in named
        return (0.5 if own and far[name_of(path)] else far[name_of(path)]), path

    files = [paths[module] for module in far if module in paths]
    return sorted((path for path in files if _is_of_units(path)), key=rank)


def _is_of_units(path: str) -> bool:
    test = path.startswith("tests/") and Path(path).name.startswith("test_")
    return test and not any(path == place or path.startswith(f"{place}/") for place in ELSEWHERE)


# ---------------------------------------------------------------- no test begins too late


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item, nextitem: pytest.Item | None) -> bool | None:
    """Leave a test alone once the time is up."""
    return True if time.time() > float(os.environ.get(UNTIL, "inf")) else None


# ---------------------------------------------------------------- all of it


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Run the checks that a change can break.")
    parser.add_argument("--base", default="HEAD", help="the revision to compare with; the last commit by default")
    began = time.time()
    changes = changed(parser.parse_args(arguments).base)
    if not changes:
        print(NOTHING)
        return 0
    seen_by = nearest([path for path in changes if (ROOT / path).exists()])
    tests = seen_by[:MOST_FILES]
    given = {**os.environ, UNTIL: str(began + SECONDS)}
    running = {"types": subprocess.Popen(["mypy"], cwd=ROOT)}
    for half in (0, 1):
        if tests[half::2]:
            command = [sys.executable, *PYTEST[1:], "-p", "tools.check", *tests[half::2]]
            running[f"tests, part {half + 1}"] = subprocess.Popen(command, cwd=ROOT, env=given)
    if any(path.startswith("widgets/") for path in changes):
        page = "npm run --silent check && npm run --silent test"
        running["page"] = subprocess.Popen(page, shell=True, cwd=ROOT / "widgets")
    for command in (["ruff", "check", "--quiet"], ["ruff", "format", "--check", "--quiet"]):
        running[" ".join(command[:2])] = subprocess.Popen(command, cwd=ROOT)
    failed = [name for name, process in running.items() if process.wait() not in (0, NO_TESTS)]
    late = "" if time.time() < began + SECONDS else f", and none of their tests began after {SECONDS:.0f} s"
    print(f"{len(changes)} files changed; {len(seen_by)} test files see them, {len(tests)} were run{late}")
    print(f"failed: {', '.join(failed)}" if failed else "all of it passed")
    return len(failed)


if __name__ == "__main__":
    sys.exit(main())
