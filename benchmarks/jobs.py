"""Two whole jobs, cold and warm, beside other libraries, each in an environment of its own. Wall time.

Visits: a histogram of 42 known bins of 5,190 rows, one row protected, epsilon 1/2. Destinations: how many aircraft fly
to each of the destinations that enough of them fly to, of 334,264 flights, keys unknown, an aircraft protected, of
which five destinations count; epsilon 1 and delta 1e-6 (diffprivlib knows neither users nor unknown keys). All read one
CSV file, with what the library reads: pandas or DuckDB, Polars, Spark, Python's own reader.

Cold is from the start of a new Python to the values, with compiled files at hand, as anybody has after the first time.
Warm is one more release of a process that has made one, held
against those that keep a session, which ties a budget to data: OpenDP's Context and Tumult. OpenDP's measurement and
PipelineDP keep none, nor does diffprivlib, whose accountant belongs to no data: their figures stand without a limit.
The work differs: ours alone writes a durable ledger, with its fsync, before it shows anything, and lets a key be
answered again; OpenDP's measurement bounds nothing, so five destinations of each aircraft are chosen for it by hand
before the first release; PipelineDP keeps the rows and starts each pipeline from them; Tumult asks for the keys first,
and counts then. diffprivlib adds a number up in memory and calls NumPy's histogram: warm, no release that is written
down keeps up with it.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import NamedTuple

import dpviz as dv
from benchmarks.measured import Measured, interleave, with_compiled_files
from benchmarks.peers import environment

SCRIPT = Path(__file__).with_name("job_scripts.py")
COLD, WARM = 5, 15


class Contestant(NamedTuple):
    """`place` names the list of what its environment holds; an empty one is our own."""

    name: str
    script: str
    place: str = ""
    session: bool = False


JOBS: dict[str, tuple[Contestant, ...]] = {
    "visits": (
        Contestant("dpviz", "visits_dpviz"),
        Contestant("OpenDP, measurement", "visits_opendp_measurement", "peers_polars"),
        Contestant("OpenDP, Context with Polars", "visits_opendp_context", "peers_polars", True),
        Contestant("diffprivlib", "visits_diffprivlib", "peers"),
        Contestant("Tumult", "visits_tumult", "peers_tumult", True),
        Contestant("PipelineDP", "visits_pipelinedp", "peers_pipelinedp"),
    ),
    "destinations": (
        Contestant("dpviz, pandas", "destinations_dpviz"),
        Contestant("dpviz, DuckDB", "destinations_dpviz_duckdb"),
        Contestant("OpenDP, measurement", "destinations_opendp_measurement", "peers_polars"),
        Contestant("OpenDP, Context with Polars", "destinations_opendp_context", "peers_polars", True),
        Contestant("Tumult", "destinations_tumult", "peers_tumult", True),
        Contestant("PipelineDP", "destinations_pipelinedp", "peers_pipelinedp"),
    ),
}


class Running:
    """A contestant's process; each `ask` is one more release, and gives its seconds."""

    def __init__(self, contestant: Contestant, path: Path) -> None:
        self._name = contestant.name
        python = str(environment(contestant.place)) if contestant.place else sys.executable
        self._process = subprocess.Popen(
            [python, str(SCRIPT), contestant.script, str(path)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            cwd=path.parent,
            env=with_compiled_files(path.resolve().parent),
        )

    def first(self) -> float:
        """The seconds of the first release alone."""
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            raise RuntimeError(f"{self._name} ended before it answered")
        seconds, values, total = json.loads(line)
        if not values or total <= 0:
            raise RuntimeError(f"{self._name} answered nothing: {values} values, {total} in all")
        return float(seconds)

    def ask(self) -> float:
        assert self._process.stdin is not None
        self._process.stdin.write("\n")
        self._process.stdin.flush()
        return self.first()

    def end(self) -> None:
        self._process.communicate()


@contextmanager
def running(contestant: Contestant, data: Path) -> Iterator[Running]:
    """In a folder of its own, so that no ledger is met twice."""
    with tempfile.TemporaryDirectory(prefix="dpviz-bench-") as folder:
        path = Path(folder) / data.name
        path.symlink_to(data)
        process = Running(contestant, path)
        try:
            yield process
        finally:
            process.end()


def cold(contestant: Contestant, data: Path) -> Callable[[], float]:
    def once() -> float:
        began = time.perf_counter()
        with running(contestant, data) as process:
            process.first()
            return time.perf_counter() - began

    return once


def table(jobs: dict[str, tuple[Contestant, ...]] = JOBS, rounds: tuple[int, int] = (COLD, WARM)) -> list[Measured]:
    with tempfile.TemporaryDirectory(prefix="dpviz-bench-") as folder:
        files = written(Path(folder))
        return [line for job, all_ in jobs.items() for line in compared(job, all_, files[job], rounds)]


def written(folder: Path) -> dict[str, Path]:
    """The data that both jobs read."""
    visits, flights = folder / "visits.csv", folder / "flights.csv"
    dv.datasets.doctor_visits()[["visits"]].to_csv(visits, index=False)
    dv.datasets.flights()[["aircraft", "destination"]].to_csv(flights, index=False)
    return {"visits": visits, "destinations": flights}


def compared(job: str, contestants: tuple[Contestant, ...], data: Path, rounds: tuple[int, int]) -> Iterator[Measured]:
    """Ours come first in the list; the slowest of them is held against each other."""
    starts = interleave({each.name: cold(each, data) for each in contestants}, rounds[0])
    with ExitStack() as open_:
        processes = {each.name: open_.enter_context(running(each, data)) for each in contestants}
        for process in processes.values():
            process.first()
        again = interleave({name: process.ask for name, process in processes.items()}, rounds[1])
    ours = [each.name for each in contestants if not each.place]
    for kind, found in (("cold", starts), ("warm", again)):
        slowest = max(found[name] for name in ours)
        for each in contestants:
            seconds, what = found[each.name], f"{job}, {kind}: {each.name}"
            if each.name in ours or (kind == "warm" and not each.session):
                yield Measured(what, shown(seconds))
            else:
                ratio = f"{shown(seconds)}, {seconds / slowest:.1f} times ours"
                yield Measured(what, ratio, "ours is faster", seconds > slowest)


def shown(seconds: float) -> str:
    return f"{seconds:.2f} s" if seconds >= 1 else f"{seconds * 1000:.0f} ms"
