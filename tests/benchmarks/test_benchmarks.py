"""Every benchmark runs at its smallest sizes, so that none rots unseen between two runs of `make bench`.

What it measures here means nothing and is not looked at. Other libraries live in an environment of their own, which
`make bench` makes; here their jobs are only held against what is asked of them. The page is measured in
tests/browser/test_benchmark.py, beside the other tests of a browser. Spark starts a cluster and is left to
`make bench`.
"""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from benchmarks import (
    accuracy,
    accuracy_jobs,
    alp,
    calibration,
    compact,
    curator,
    derived,
    engines,
    flatness,
    growth,
    jobs,
    ledger,
    marginals,
    measured,
    noise,
    payloads,
    pure_sparse,
    releases,
    sampling,
    sheets,
    stability,
    start,
    top_k,
    tree,
    whole_flatness,
)
from benchmarks.__main__ import names, section
from benchmarks.job_scripts import CONTESTANTS
from benchmarks.measured import Measured
from benchmarks.peer_jobs import JOBS

ELSEWHERE = {"page": "tests/browser/test_benchmark.py"}


class TranscriptRow:
    """What is asked of the peers' process: jobs that it has, with the arguments that they take."""

    def ask(self, job: str, **arguments: Any) -> Any:
        inspect.signature(JOBS[job]).bind(**arguments)
        if job == "opendp_alp":
            return [1.0, 1.0, 1.0, 1.0]
        columns = {"opendp_single_draws": 2, "opendp_vectors": 3}.get(job)
        return 1.0 if columns is None else [list(range(arguments["size"]))] * columns


def told_by_others(place: str, asked: list[Any]) -> list[Any]:
    """The same of what other libraries draw and show: each job is there and takes what it is given."""
    assert (Path(accuracy.__file__).parent / f"{place}.txt").exists()
    for job, given in asked:
        inspect.signature(accuracy_jobs.JOBS[job]).bind(**given)
    return [1.0 for _ in asked]


def on_engines(folder: Path) -> list[Measured]:
    found = engines.measured(1000, 1)
    return [*engines.flights(folder, 1), *engines.compared("1,000 rows", found["release"], found["query"])]


def ours(contestants: tuple[jobs.Contestant, ...]) -> tuple[jobs.Contestant, ...]:
    return tuple(each for each in contestants if not each.place)


CASES: dict[str, Callable[[Path], list[Measured]]] = {
    "accuracy": lambda folder: accuracy.table(("1",), ("1e-6",), (2,), (1,), (), ("30 answers of 1/10",)),
    "alp": lambda folder: alp.table(60, 200, 20, (20,), ("25",), ("1",), 1),
    "calibration": lambda folder: calibration.table(("1",), ("1/100",), (1,), 20),
    "compact": lambda folder: compact.table(20, (20,), 10, 1),
    "curator": lambda folder: curator.table(1, 1, 5, 2),
    "derived": lambda folder: derived.table(20, 1),
    "engines": on_engines,
    "flatness": lambda folder: flatness.table(40, 1),
    "growth": lambda folder: growth.table((1000, 2000), 2000, 1, separate=False),
    "jobs": lambda folder: jobs.table({job: ours(some) for job, some in jobs.JOBS.items()}, (1, 1)),
    "ledger": lambda folder: ledger.table(2, 10, 1, 2, 2, 600),
    "marginals": lambda folder: marginals.table((2, 3, 4), 500, 1, ours(marginals.CONTESTANTS)),
    "noise": lambda folder: noise.table(1000, dict.fromkeys(noise.PEER_SIZES, 10), 1),
    "payloads": lambda folder: payloads.table(3, {"AlpAnatomy": "dv.AlpAnatomy()"}),
    "pure_sparse": lambda folder: pure_sparse.table({100: None, 1000: 0.1}, ((10, 2**10),), 1),
    "releases": lambda folder: releases.table(1, 1),
    "sampling": lambda folder: sampling.table(500, 5, 300, 90, 1),
    "sheets": lambda folder: sheets.table(
        {"AlpAnatomy": "dv.AlpAnatomy()"}, {"Dense": sheets.PLANS["Dense, 42 bins"]}, 1
    ),
    "stability": lambda folder: stability.table(100, 1000, 1),
    "start": lambda folder: start.table(1, 0),
    "top_k": lambda folder: top_k.table(1000, 500, 1, 1, 1),
    "tree": lambda folder: tree.table(64, 64, (32,), 20, 2, 600, 1),
    "whole_flatness": lambda folder: whole_flatness.table(2),
}


@pytest.fixture(scope="module")
def compiled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What Python compiles for the processes of all benchmarks: each would do it again for itself."""
    return tmp_path_factory.mktemp("compiled")


@pytest.mark.parametrize("name", CASES)
def test_a_benchmark_runs_at_its_smallest(
    name: str, tmp_path: Path, compiled: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    module = importlib.import_module(f"benchmarks.{name}")
    for variable, value in measured.with_compiled_files(compiled).items():
        monkeypatch.setenv(variable, value)
    monkeypatch.delenv("PYTHONDONTWRITEBYTECODE", raising=False)
    if hasattr(module, "with_compiled_files"):
        monkeypatch.setattr(module, "with_compiled_files", lambda folder: measured.with_compiled_files(compiled))
    if hasattr(module, "peers"):
        monkeypatch.setattr(module, "peers", TranscriptRow)
    if name == "accuracy":
        monkeypatch.setattr(module, "ask", told_by_others)
    for made in (engines, growth):
        monkeypatch.setattr(made, "BUILD", tmp_path / "build")
    lines = CASES[name](tmp_path)
    assert lines and all(line.what and line.found for line in lines)
    text = section(module, lines)
    assert text.startswith(f"## {name}\n") and all(f"| {line.what} | {line.found} |" in text for line in lines)


def test_every_benchmark_is_among_them() -> None:
    assert {*CASES, *ELSEWHERE} == set(names())
    assert all(Path(__file__).parents[2].joinpath(place).exists() for place in ELSEWHERE.values())


def test_every_contestant_of_the_whole_jobs_has_a_script_and_an_environment() -> None:
    contestants = [*marginals.CONTESTANTS, *(each for some in jobs.JOBS.values() for each in some)]
    assert {each.script for each in contestants} == set(CONTESTANTS)
    places = {each.place for each in contestants if each.place}
    assert all(Path(jobs.__file__).with_name(f"{place}.txt").exists() for place in places)


def test_a_job_that_the_peers_do_not_have_is_refused() -> None:
    with pytest.raises(KeyError):
        TranscriptRow().ask("opendp_noises", size=1, scale=1.0)
    with pytest.raises(TypeError):
        TranscriptRow().ask("opendp_noise", sizes=1)
