"""All pairs of ten columns (2 to 50 labels each) of 10^6 rows under one price, beside DuckDB's own grouping sets,
OpenDP and private-pgm. Wall time, warm: one more release of a process that has made one.

DuckDB's own query counts the same 45 tables and is not private. Ours is a whole release: its question was planned
before, and what was drawn is durable before it is shown. OpenDP adds noise to the counts of 45 groupings by Polars, and
private-pgm (mbi) to the marginals of its own data set, as its examples do: neither keeps a ledger or checks a budget
there, and both read the rows into memory first. private-pgm's noise is made of floats. None of the two makes tables
agree in this step. The fit of ours and how far every cell may be off are worked out when an answer is first read; they
are measured by themselves, for an answer that no cache knows.
"""

from __future__ import annotations

import itertools
import tempfile
from collections.abc import Sequence
from contextlib import ExitStack
from math import prod
from pathlib import Path
from typing import Final

import duckdb
import numpy as np

import dpviz as dv
from benchmarks.jobs import Contestant, running, shown
from benchmarks.measured import Measured, interleave, wall
from dpviz.fitting import residuals
from dpviz.model.answers import MarginalTables
from dpviz.model.laws import marginals as laws
from dpviz.model.question import Question

SIZES: Final = (2, 3, 5, 8, 10, 12, 16, 24, 36, 50)
ROWS: Final = 10**6
ROUNDS: Final = 15
TIMES, FLOOR = 1.3, 0.5
"""How many times the time of the engine's own query is allowed, and how many seconds beside it."""
FIT: Final = 5.0
"""Seconds that the fit and the errors of all cells may take."""
BETA: Final = "0.05"

OURS = Contestant("dpviz, a release", "marginals_dpviz")
OWN = Contestant("DuckDB's own grouping sets, not private", "marginals_duckdb")
PEERS = (
    Contestant("OpenDP, counts by Polars", "marginals_opendp", "peers_mbi"),
    Contestant("private-pgm, its measurement step", "marginals_mbi", "peers_mbi"),
)
CONTESTANTS = (OURS, OWN, *PEERS)


def table(
    sizes: Sequence[int] = SIZES,
    rows: int = ROWS,
    rounds: int = ROUNDS,
    contestants: Sequence[Contestant] = CONTESTANTS,
) -> list[Measured]:
    with tempfile.TemporaryDirectory(prefix="dpviz-bench-") as folder:
        data = written(Path(folder), sizes, rows)
        with ExitStack() as open_:
            processes = {each.name: open_.enter_context(running(each, data)) for each in contestants}
            for process in processes.values():
                process.first()
            found = interleave({name: process.ask for name, process in processes.items()}, rounds)
    lines = []
    for each in contestants:
        seconds, what = (
            found[each.name],
            f"{len(pairs(sizes))} pairs of {len(sizes)} columns, {rows:,} rows: {each.name}",
        )
        if each is OURS:
            most = TIMES * found[OWN.name] + FLOOR
            lines.append(Measured(what, shown(seconds), shown(most), seconds <= most))
        else:
            ratio = f", {seconds / found[OURS.name]:.1f} times ours" if each.place else ""
            lines.append(Measured(what, f"{shown(seconds)}{ratio}"))
    return [*lines, *read(sizes)]


def pairs(sizes: Sequence[int]) -> list[tuple[int, int]]:
    return list(itertools.combinations(range(len(sizes)), 2))


def written(folder: Path, sizes: Sequence[int], rows: int) -> Path:
    """Made rows: in each column low labels come more often than high ones."""
    path = folder / f"{'-'.join(map(str, sizes))}.parquet"
    chance = "(hash(range, {at}) % 1000003 + 1) / 1000005.0"
    columns = ", ".join(
        f"least({size - 1}, floor(-ln({chance.format(at=at)}) * {size} / 4))::INT AS c{at}"
        for at, size in enumerate(sizes)
    )
    duckdb.sql(f"COPY (SELECT {columns} FROM range({rows})) TO '{path}' (FORMAT parquet)")
    return path


def read(sizes: Sequence[int]) -> list[Measured]:
    """The fit, and how far each cell may be off alone and among all, of an answer that nobody has read before."""
    columns = [dv.Domain.integers(0, size - 1, column=f"c{at}") for at, size in enumerate(sizes)]
    question = Question.of(dv.Domain.product(*columns))
    cells = sum(prod(sizes[place] for place in pair) for pair in pairs(sizes))
    times: dict[str, list[float]] = {"fit": [], "errors": []}
    for seed in range(3):
        bound = dv.Marginals(f"{seed + 1}/3").bind(question, dv.Unit("row"))
        answer = MarginalTables(bound.law.asked, np.random.default_rng(seed).integers(0, 9_999, cells), None)
        residuals._effects.cache_clear()
        laws._noise_of.cache_clear()
        release = dv.Release.of(bound, answer, mode="exact", randomness="none", dataset="made up")
        times["fit"].append(wall(lambda release=release: release.answer.read(release.reading)))  # type: ignore[misc]
        times["errors"].append(wall(lambda release=release: release.to_frame(BETA)))  # type: ignore[misc]
    fit, errors = (sorted(found)[1] for found in times.values())
    what = f"{cells:,} cells"
    return [
        Measured(f"{what}: the fit", shown(fit)),
        Measured(f"{what}: the intervals of every cell, alone and among all", shown(errors)),
        Measured(f"{what}: both", shown(fit + errors), shown(FIT), fit + errors <= FIT),
    ]
