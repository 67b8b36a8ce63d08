"""Whole releases of 42 bins through a session, two durable writes included, and what a plan sheet and an import cost.

Wall time, as the analyst waits for it. The ledger lies in TMPDIR.
"""

from __future__ import annotations

import importlib.metadata
import os
import subprocess
import sys
import tempfile
from functools import partial
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

import dpviz as dv
from benchmarks.measured import Measured, interleave, ms, wall
from dpviz.session.session import Session

ROUNDS = 100
IMPORTS = 11
BINS = dv.Domain.integers(0, 40, column="visits", overflow=True)


def table(rounds: int = ROUNDS, imports: int = IMPORTS) -> list[Measured]:
    with tempfile.TemporaryDirectory(prefix="dpviz-bench-") as folder:
        return [*whole(Path(folder), rounds), *starting(imports), *installed()]


def whole(folder: Path, rounds: int) -> list[Measured]:
    """A release pays, counts 20,190 rows, draws and records; a plan sheet is everything a slider needs."""
    session = Session(
        dv.datasets.doctor_visits(), dv.Unit(noun="person-year"), dv.Budget(10**6), folder / "visits.ledger"
    )
    keys = iter(range(10**9))

    def release() -> None:
        session.release(BINS, dv.Dense("1/10"), key=str(next(keys)))

    def again() -> None:
        session.release(BINS, dv.Dense("1/10"), key="0")

    def sheet() -> None:
        session.plan(BINS, dv.Dense("1/5")).sheet.to_json()

    found = interleave({work.__name__: partial(wall, work) for work in (release, again, sheet)}, rounds)
    return [
        Measured("a whole release of 42 bins", ms(found["release"]), "10 ms", found["release"] <= 0.010),
        Measured("the stored answer again, free", ms(found["again"])),
        Measured("a plan sheet for 42 bins", ms(found["sheet"])),
    ]


def starting(imports: int) -> list[Measured]:
    """Fresh interpreters take turns; an empty one is subtracted from both."""
    said = {"bare": "pass", "numpy and gmpy2": "import numpy, gmpy2", "dpviz": "import dpviz"}
    found = interleave({name: partial(wall, partial(interpret, code)) for name, code in said.items()}, imports)
    ours, theirs = found["dpviz"] - found["bare"], found["numpy and gmpy2"] - found["bare"]
    return [
        Measured("import numpy, gmpy2", ms(theirs)),
        Measured("import dpviz", ms(ours)),
        Measured("import dpviz against them", f"{ours / theirs:.2f} times", "1.6 times", ours <= 1.6 * theirs),
    ]


def installed() -> list[Measured]:
    """The space that dpviz takes on a disk, alone and with everything that a bare install brings along."""
    package = Path(dv.__file__).parent
    size = sum(path.stat().st_size for path in package.rglob("*") if path.is_file() and "__pycache__" not in path.parts)
    bare = size + sum(map(placed, brought("dpviz") - {"dpviz"}))
    return [
        Measured("dpviz on disk, the two data sets included", f"{size / 1e6:.2f} MB"),
        Measured("a bare install, all dependencies included", f"{bare / 1e6:.0f} MB"),
    ]


def brought(name: str, seen: frozenset[str] = frozenset()) -> frozenset[str]:
    """A distribution and all that it requires here, extras left out."""
    if name in seen:
        return seen
    seen |= {name}
    for line in importlib.metadata.requires(name) or []:
        wanted = Requirement(line)
        if wanted.marker is None or wanted.marker.evaluate({"extra": ""}):
            seen = brought(canonicalize_name(wanted.name), seen)
    return seen


def placed(name: str) -> int:
    """The bytes of a distribution's files."""
    files = importlib.metadata.files(name) or []
    return sum(path.stat().st_size for file in files if (path := Path(str(file.locate()))).is_file())


def interpret(code: str) -> None:
    subprocess.run([sys.executable, "-c", code], check=True, env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"})
