"""A seeded sample of mutants, each run against the tests nearest to it: `python -m tools.mutants --number 100`.

A mutant is the package with one token changed: a comparison, an operator, a whole number, the side that something is
rounded to. A mutant that no test fails on has survived: a test is missing, or nothing depends on the token. Runs work
on a copy of the tree. The nearest tests alone are run (`tools.check`), and no test begins after the time is up, so a
survivor is one of these tests, and the suite of units may still kill it.
"""

from __future__ import annotations

import argparse
import ast
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from tools.check import NO_TESTS, UNTIL, nearest
from tools.suites import PYTEST

ROOT = Path(__file__).resolve().parent.parent
ROOMS = ("privacy", "mechanisms", "noise", "laws", "fitting")
SECONDS = 60.0
"""After this time no further test of a mutant begins."""

HANGS = 4 * SECONDS
"""A mutant whose tests take longer than this is stopped: it does not end, and tests that wait see that."""

FILES = 8
"""The nearest test files are run."""

OPERATORS: dict[type[ast.AST], str] = {
    ast.Lt: "<=",
    ast.LtE: "<",
    ast.Gt: ">=",
    ast.GtE: ">",
    ast.Eq: "!=",
    ast.NotEq: "==",
    ast.Add: "-",
    ast.Sub: "+",
    ast.Mult: "+",
    ast.Div: "*",
    ast.FloorDiv: "*",
    ast.Pow: "*",
    ast.And: "or",
    ast.Or: "and",
}
"""The replacement of each operator."""

NAMES = {
    "min": "max",
    "max": "min",
    "ceil_to": "floor_to",
    "floor_to": "ceil_to",
    "any": "all",
    "all": "any",
    "up": "down",
    "down": "up",
}
"""The replacement of each called function."""


@dataclass(frozen=True)
class Mutant:
    """One changed token.

    path    of the file, from the root
    line    its number
    start   and end of the token in the text of the file
    before  the token, and what stands there instead
    """

    path: str
    line: int
    start: int
    end: int
    before: str
    after: str

    def apply(self, text: str) -> str:
        """Return the file with the token changed."""
        return text[: self.start] + self.after + text[self.end :]

    @property
    def told(self) -> str:
        return f"{self.path}:{self.line}: {self.before} -> {self.after}"


def mutants(path: str, text: str) -> Iterator[Mutant]:
    """Yield every mutant of a file. Messages of errors, annotations and decorators have none.

    >>> [mutant.told for mutant in mutants("a.py", "x = min(a + 1, b) < 2")]
    ['a.py:1: < -> <=', 'a.py:1: min -> max', 'a.py:1: 2 -> 3', 'a.py:1: + -> -', 'a.py:1: 1 -> 2']
    """
    tree = ast.parse(text)
    starts = [0]
    for line in text.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    lines = text.splitlines()

    def place(line: int, column: int) -> int:
        return starts[line - 1] + len(lines[line - 1].encode()[:column].decode())

    skipped = {id(inner) for node in ast.walk(tree) for part in _skipped(node) for inner in ast.walk(part)}
    for node in ast.walk(tree):
        if id(node) in skipped:
            continue
        for line, column, end_line, end_column, before, after in _changes(node):
            start, end = place(line, column), place(end_line, end_column)
            if before in SIGNS.values():  # an operator stands somewhere between its operands
                between = text[start:end]
                if between.count(before) != 1 or "#" in between:
                    continue
                start += between.index(before)
                end = start + len(before)
            yield Mutant(path, text.count("\n", 0, start) + 1, start, end, before, after)


def _skipped(node: ast.AST) -> list[ast.AST]:
    """The parts of a node in which nothing is changed."""
    match node:
        case ast.Raise() | ast.Assert():
            return [node]
        case ast.FunctionDef() | ast.ClassDef():
            return list(node.decorator_list)
        case ast.AnnAssign():
            return [node.annotation]
        case ast.Call(func=ast.Attribute(attr="of" | "damaged")):  # an error in the making
            return [node] if "Error" in ast.unparse(node.func) or "Format" in ast.unparse(node.func) else []
    return []


Change = tuple[int, int, int, int, str, str]


def _changes(node: ast.AST) -> Iterator[Change]:
    """The places of the tokens of one node that are changed, what stands there and what it becomes."""
    match node:
        case ast.Compare(left=left, ops=ops, comparators=others):
            for one, op, other in zip([left, *others], ops, others, strict=False):
                if type(op) in OPERATORS:
                    yield *_between(one, other), _sign(op), OPERATORS[type(op)]
        case ast.BinOp(left=left, op=op, right=right) if type(op) in OPERATORS:
            yield *_between(left, right), _sign(op), OPERATORS[type(op)]
        case ast.BoolOp(op=op, values=[first, second, *_]):
            yield *_between(first, second), _sign(op), OPERATORS[type(op)]
        case ast.Constant(value=bool(value)):
            yield *_own(node), str(value), str(not value)
        case ast.Constant(value=int(value)) if str(value).isdigit():
            yield *_own(node), str(value), str(value + 1)
        case ast.Call(func=ast.Name(id=name) as called) if name in NAMES:
            yield *_own(called), name, NAMES[name]


def _own(node: ast.expr) -> tuple[int, int, int, int]:
    return node.lineno, node.col_offset, node.end_lineno or node.lineno, node.end_col_offset or node.col_offset


def _between(one: ast.expr, other: ast.expr) -> tuple[int, int, int, int]:
    return one.end_lineno or one.lineno, one.end_col_offset or one.col_offset, other.lineno, other.col_offset


SIGNS: dict[type[ast.AST], str] = {
    ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=", ast.Eq: "==", ast.NotEq: "!=", ast.Add: "+", ast.Sub: "-",
    ast.Mult: "*", ast.Div: "/", ast.FloorDiv: "//", ast.Pow: "**", ast.And: "and", ast.Or: "or",
}  # fmt: skip


def _sign(op: ast.AST) -> str:
    return SIGNS[type(op)]


def drawn(number: int, seed: int, root: Path = ROOT, rooms: Sequence[str] = ROOMS) -> list[Mutant]:
    """Draw a sample of the mutants of some rooms, each as likely as every other."""
    paths = [path for room in rooms for path in sorted((root / "dpviz" / room).glob("*.py"))]
    every = [
        one for path in paths for one in mutants(path.relative_to(root).as_posix(), path.read_text(encoding="utf-8"))
    ]
    return random.Random(seed).sample(every, min(number, len(every)))


# ---------------------------------------------------------------- running


def copied(root: Path, into: Path) -> Path:
    """Copy what git knows of the tree, for one mutant after the other."""
    listed = subprocess.run(["git", "-C", str(root), "ls-files", "-z"], check=True, capture_output=True, text=True)
    for name in filter(None, listed.stdout.split("\0")):
        if (root / name).is_file():
            (into / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(root / name, into / name)
    return into


def outcome(mutant: Mutant, tree: Path, tests: Sequence[str], seconds: float = SECONDS) -> str:
    """Run these tests on the tree with the token changed: "killed", "survived", "hangs" or "no tests"."""
    path = tree / mutant.path
    text = path.read_text(encoding="utf-8")
    path.write_text(mutant.apply(text), encoding="utf-8")
    given = {**os.environ, UNTIL: str(time.time() + seconds), "PYTHONPATH": str(tree), "PYTHONDONTWRITEBYTECODE": "1"}
    command = [sys.executable, *PYTEST[1:], "-x", "-p", "tools.check", *tests]
    try:
        done = subprocess.run(command, cwd=tree, env=given, capture_output=True, timeout=HANGS * seconds / SECONDS)
    except subprocess.TimeoutExpired:
        return "hangs"
    finally:
        path.write_text(text, encoding="utf-8")
    return {0: "survived", NO_TESTS: "no tests"}.get(done.returncode, "killed")


def run(sample: Sequence[Mutant], root: Path = ROOT, at_once: int = 1) -> Iterator[tuple[Mutant, str]]:
    """Yield each mutant with what came of it."""
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(at_once) as pool:
        trees = [copied(root, Path(folder) / str(number)) for number in range(at_once)]

        def one(mutant: Mutant) -> tuple[Mutant, str]:
            tree = trees.pop()
            try:
                return mutant, outcome(mutant, tree, nearest([mutant.path], root)[:FILES])
            finally:
                trees.append(tree)

        yield from pool.map(one, sample)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Run the nearest tests on a seeded sample of mutants.")
    parser.add_argument("--number", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--skip", type=int, default=0, help="so many of the sample were run before")
    parser.add_argument("--at-once", type=int, default=1)
    parser.add_argument("--list", action="store_true", help="name them and run none")
    given = parser.parse_args(arguments)
    sample = drawn(given.number, given.seed)[given.skip :]
    counted: dict[str, int] = {}
    if given.list:
        print(*(mutant.told for mutant in sample), sep="\n")
        return 0
    os.nice(19)  # the tests inherit it: a sample takes hours, and others work on this machine
    for mutant, came in run(sample, at_once=given.at_once):
        counted[came] = counted.get(came, 0) + 1
        print(f"{came:9} {mutant.told}", flush=True)
    print(", ".join(f"{many} {came}" for came, many in sorted(counted.items())))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
