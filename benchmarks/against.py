"""The version that is here beside an earlier one: `python -m benchmarks.against REVISION [name ...]`.

Each version is a process of its own, made from git, which does the same work by public calls; the two take turns, and
the first of each turn changes. Told are medians of the wall time and of the processor time, and their ratio. No ratio
is demanded here: an issue says what it may be.
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any, Final, NamedTuple

ROOT: Final = Path(__file__).resolve().parents[1]
DATA: Final = ROOT / "build" / "against"
ROUNDS: Final = 15
SIZES: Final = (10**5, 10**6, 10**7)
Work = Callable[[], object]


class Turn(NamedTuple):
    wall: float
    processor: float


def prepared(name: str, folder: Path) -> Work:
    """The work of one turn, in the version whose process this is. Everything before it is not timed."""
    kind, _, rest = name.partition(" ")
    return MADE[kind](rest, folder)


def _release(source: Any, unit: Any, question: Any, mechanism: Any, folder: Path) -> Work:
    import dpviz as dv

    session = dv.Session(source, unit, dv.Budget(10**6, "1/2"), folder / "against.ledger")
    keys = iter(range(10**9))
    session.plan(question, mechanism)
    return lambda: session.release(question, mechanism, key=str(next(keys)))


def _releases(what: str, folder: Path) -> Work:
    import dpviz as dv

    bins = dv.Domain.integers(0, 40, column="visits", overflow=True)
    session = dv.Session(
        dv.datasets.doctor_visits(), dv.Unit(noun="person-year"), dv.Budget(10**6), folder / "visits.ledger"
    )
    keys = iter(range(10**9))
    session.release(bins, dv.Dense("1/10"), key="again")
    works: dict[str, Work] = {
        "whole": lambda: session.release(bins, dv.Dense("1/10"), key=str(next(keys))),
        "again": lambda: session.release(bins, dv.Dense("1/10"), key="again"),
        "sheet": lambda: session.plan(bins, dv.Dense("1/5")).sheet.to_json(),
        "import": partial(subprocess.run, [sys.executable, "-c", "import dpviz"], check=True),
    }
    return works[what]


def _jobs(what: str, folder: Path) -> Work:
    """A job from the start of a new Python to its values, in a folder of its own each time."""
    from benchmarks.measured import with_compiled_files

    environment = with_compiled_files(folder)
    script, data = Path(__file__).with_name("job_scripts.py"), written(what.partition("_")[0])
    runs = iter(range(10**9))

    def cold() -> None:
        place = folder / str(next(runs))
        place.mkdir()
        (place / data.name).symlink_to(data)
        command = [sys.executable, str(script), what, str(place / data.name)]
        subprocess.run(
            command, check=True, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, cwd=place, env=environment
        )

    return cold


def written(job: str) -> Path:
    """The file that a job reads, written once."""
    import dpviz as dv

    path = DATA / f"{job}.csv"
    DATA.mkdir(parents=True, exist_ok=True)
    if not path.exists():
        if job == "visits":
            dv.datasets.doctor_visits()[["visits"]].to_csv(path, index=False)
        else:
            dv.datasets.flights()[["aircraft", "destination"]].to_csv(path, index=False)
    return path


def _growth(what: str, folder: Path) -> Work:
    """`Dense-numbers 1000000`: a release of made rows in Parquet files, read by DuckDB."""
    import dpviz as dv

    kind, _, size = what.rpartition(" ")
    kinds: dict[str, tuple[Any, Any, dict[str, Any]]] = {
        "numbers": (dv.Domain.integers(0, 40, column="visits"), dv.Dense("1/2"), {}),
        "intervals": (dv.Domain.intervals([*range(41)], column="hours"), dv.Dense("1/2"), {}),
        "filtered": (
            dv.Domain.integers(0, 40, column="visits"),
            dv.Dense("1/2"),
            {"where": {"hours": dv.Between(high=5)}},
        ),
        "TopK": (dv.Domain.keys(column="item"), dv.TopK(10, 50, "1", "1e-6"), {}),
        "Stability": (dv.Domain.keys(column="item"), dv.Stability("1", "1e-9"), {}),
        "PureSparse": (dv.Domain.integers(0, 2**32 - 1, column="id"), dv.PureSparse("1", cap=1_000), {}),
    }
    domain, mechanism, where = kinds[kind]
    question = dv.Question.of(domain, **where)
    return _release(dv.sources.duckdb(rows(int(size))), dv.Unit("row"), question, mechanism, folder)


def rows(size: int) -> Path:
    """The rows of `growth.py`, in one file."""
    import duckdb

    from benchmarks.growth import MADE as SQL

    path = DATA / f"{size}.parquet"
    DATA.mkdir(parents=True, exist_ok=True)
    if not path.exists():
        with duckdb.connect() as connection:
            connection.execute(SQL.format(keys=size // 5, first=0, last=size, path=path))
        os.replace(f"{path}.part", path)
    return path


def _engines(what: str, folder: Path) -> Work:
    """A list of the largest of users who have at most 5 keys each: the flights, or the rows of `engines.py`."""
    import dpviz as dv

    user, item = ("aircraft", "destination") if what == "flights" else ("who", "item")
    path = flights() if what == "flights" else rows_of_users(int(what))
    question, mechanism = dv.Question.of(dv.Domain.keys(column=item)), dv.TopK(10, 50, "1", "1e-6")
    return _release(dv.sources.duckdb(path), dv.Unit(user, max_bins=5), question, mechanism, folder)


def rows_of_users(size: int) -> Path:
    """The rows of `engines.py`, in one file."""
    import duckdb

    from benchmarks.engines import MADE as SQL

    path = DATA / f"{size} of users.parquet"
    DATA.mkdir(parents=True, exist_ok=True)
    if not path.exists():
        with duckdb.connect() as connection:
            connection.execute(SQL.format(users=size // 100, first=0, last=size, path=path))
        os.replace(f"{path}.part", path)
    return path


def _pandas(what: str, folder: Path) -> Work:
    """The first release of a column in a new session, or a later one."""
    import numpy as np
    import pandas as pd

    import dpviz as dv

    which, _, kind = what.partition(" ")
    draws, size = np.random.default_rng(1), 10**6
    item = np.array([f"item {number}" for number in range(10**5)], dtype=object)
    frame = pd.DataFrame(
        {
            "item": pd.Series(item[(10**5 * draws.random(size) ** 2).astype(np.int64)], dtype="str"),
            "visits": draws.integers(0, 41, size),
        }
    )
    kinds: dict[str, tuple[Any, Any]] = {
        "texts": (dv.Domain.keys(column="item"), dv.Stability("1", "1e-9")),
        "numbers": (dv.Domain.integers(0, 40, column="visits"), dv.Dense("1/2")),
    }
    domain, mechanism = kinds[kind]
    question = dv.Question.of(domain)
    if which == "later":
        return _release(frame, dv.Unit("row"), question, mechanism, folder)
    ledgers = iter(range(10**9))

    def first() -> None:
        place = folder / f"{next(ledgers)}"
        place.mkdir()
        _release(frame, dv.Unit("row"), question, mechanism, place)()

    return first


def flights() -> Path:
    """The flights in a Parquet file, written once."""
    import dpviz as dv

    path = DATA / "flights.parquet"
    DATA.mkdir(parents=True, exist_ok=True)
    if not path.exists():
        dv.datasets.flights().to_parquet(path, index=False)
    return path


def _tree(what: str, folder: Path) -> Work:
    """Half a million minutes of flights, or one range of the answer read exactly."""
    import dpviz as dv

    bins = dv.Domain.integers(0, 525_599, column="scheduled_minute")
    release = _release(dv.sources.duckdb(flights()), dv.Unit(noun="flight"), dv.Question.of(bins), dv.Tree(1), folder)
    if what == "release":
        return release
    answer, lows = release(), iter(range(10**5))
    return lambda: str(answer.range(next(lows), 500_000))  # type: ignore[attr-defined]


MADE: Final[dict[str, Callable[[str, Path], Work]]] = {
    "releases": _releases,
    "jobs": _jobs,
    "growth": _growth,
    "engines": _engines,
    "pandas": _pandas,
    "tree": _tree,
}
GROWING: Final = ("numbers", "intervals", "filtered", "TopK", "Stability", "PureSparse")
WORKS: Final = (
    *(f"releases {what}" for what in ("whole", "again", "sheet", "import")),
    *(f"jobs {what}" for what in ("visits_dpviz", "destinations_dpviz", "destinations_dpviz_duckdb")),
    *(f"growth {kind} {size}" for size in SIZES for kind in GROWING),
    *(f"engines {size}" for size in ("flights", 10**6, 10**7)),
    *(f"pandas {which} {kind}" for which in ("first", "later") for kind in ("texts", "numbers")),
    *(f"tree {what}" for what in ("release", "range")),
)


def spent() -> float:
    """Seconds of processors, of this process, of its threads and of those that it waited for."""
    return sum(
        used.ru_utime + used.ru_stime
        for used in map(resource.getrusage, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    )


def serve(name: str) -> None:
    """One turn for each line that is read."""
    with tempfile.TemporaryDirectory(prefix="dpviz-bench-") as folder:
        work = prepared(name, Path(folder))
        work()
        print(json.dumps(None), flush=True)
        for _ in sys.stdin:
            began = time.perf_counter(), spent()
            work()
            print(json.dumps(Turn(time.perf_counter() - began[0], spent() - began[1])), flush=True)


@contextmanager
def running(root: Path, name: str) -> Iterator[Callable[[], Turn]]:
    command = [sys.executable, str(Path(__file__).resolve()), "--serve", name]
    place = os.pathsep.join([str(root), str(ROOT)])
    pipes: Any = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    with subprocess.Popen(command, cwd=root, env=os.environ | {"PYTHONPATH": place}, **pipes) as process:

        def said() -> Any:
            line = process.stdout.readline()
            if not line:
                raise RuntimeError(f"{name}: the version in {root.name} ended before it answered")
            return json.loads(line)

        def turn() -> Turn:
            process.stdin.write("\n")
            process.stdin.flush()
            return Turn(*said())

        said()
        try:
            yield turn
        finally:
            process.stdin.close()


def compared(roots: tuple[Path, Path], name: str, rounds: int) -> str:
    with running(roots[0], name) as before, running(roots[1], name) as now:
        found: tuple[list[Turn], list[Turn]] = ([], [])
        for at in range(rounds):
            for which, turn in ((0, before), (1, now))[:: 1 if at % 2 else -1]:
                found[which].append(turn())
    cells = []
    for kind in range(2):
        old, new = (median(turn[kind] for turn in turns) for turns in found)
        cells += [f"{old * 1000:.1f} ms", f"{new * 1000:.1f} ms", f"{new / old:.2f}"]
    return f"| {name} | {' | '.join(cells)} |"


def main(arguments: list[str]) -> int:
    if arguments[:1] == ["--serve"]:
        serve(arguments[1])
        return 0
    if not arguments:
        print(__doc__)
        return 2
    revision, *wanted = arguments
    names = [name for name in WORKS if not wanted or any(name.startswith(begin) for begin in wanted)]
    with tempfile.TemporaryDirectory(prefix="dpviz-against-") as folder:
        root = Path(folder) / "before"
        subprocess.run(["git", "worktree", "add", "--quiet", "--detach", root, revision], cwd=ROOT, check=True)
        try:
            print("| work | wall before | wall now | ratio | processor before | processor now | ratio |")
            print("|---|---|---|---|---|---|---|", flush=True)
            for name in names:
                print(compared((root, ROOT), name, ROUNDS), flush=True)
        finally:
            subprocess.run(["git", "worktree", "remove", "--force", root], cwd=ROOT, check=True)
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
