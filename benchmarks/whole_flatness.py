"""Whether time tells what the rows are: between sets of as many rows, users, keys and pairs of a user and a key.

2,000 rows of 100 users in 42 bins, 1,000 pairs; a user counts in at most 10 bins, once in each. In the even set every
user is at the limit; it comes a second time. In the others half of the users are over it and half below; the rows of a
pair are skewed; users are called by huge numbers; or all of that. The area under the curve is the chance that a run on
the other set takes longer than one on the even set, ties by halves: 0.5 tells nothing. 2,000 rounds, in an order that
is drawn anew each time, with the garbage collector off; by chance alone an area is off by 0.009 (one standard
deviation).

Our code after the grouping is, in pandas, from NumPy's pairs to the noisy counts, and after DuckDB's query from its
columns to the noisy counts. The twin looks up the digests of those users alone who are over the limit, as dpviz once
did. A whole release has the grouping in it, the engine's or NumPy's, and the disk; what these tell is measured here,
and named in docs/explanation/protected.md.
"""

from __future__ import annotations

import gc
import tempfile
import time
from collections.abc import Callable, Mapping
from copy import deepcopy
from functools import partial
from pathlib import Path
from secrets import token_hex
from typing import Any, Final, NamedTuple, TypeAlias

import duckdb
import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.stats import rankdata

import dpviz as dv
from benchmarks.measured import Measured
from dpviz.boundary import Hidden
from dpviz.engines import ibis_source, queries
from dpviz.engines.bounding import bounded, grouped
from dpviz.engines.pandas_source import PandasSource
from dpviz.model.question import Question
from dpviz.model.statistic import DenseCounts, StatisticKind
from dpviz.noise.bits import SystemBits
from dpviz.privacy.unit import Unit
from dpviz.session.session import Session

ROUNDS: Final = 2_000
ALLOWED: Final = 0.05
USERS, BINS, PAIRS, ROWS = 100, 42, 1_000, 2_000
LIMIT: Final = PAIRS // USERS
UNIT: Final = Unit("who", max_bins=LIMIT)
HUGE: Final = 10**17
OTHERS: Final[Mapping[str, Mapping[str, bool]]] = {
    "the even set again": {},
    "half of the users over the limit": {"over": True},
    "rows skewed": {"skewed": True},
    "huge numbers": {"huge": True},
    "all of that": {"over": True, "skewed": True, "huge": True},
}
CAUGHT: Final = "half of the users over the limit"
"""Where the twin tells most."""


def frames() -> dict[str, pd.DataFrame]:
    return {"even": rows_of(), **{name: rows_of(**how) for name, how in OTHERS.items()}}


def rows_of(over: bool = False, skewed: bool = False, huge: bool = False) -> pd.DataFrame:
    """Public rows: each bin has users, each user has bins, and the pairs are as many in every set."""
    many = [LIMIT + 8 * (1 if user % 2 else -1) if over else LIMIT for user in range(USERS)]
    who = np.repeat(np.arange(USERS), many)
    bins = np.concatenate([(np.arange(count) * 5 + 11 * user) % BINS for user, count in enumerate(many)])
    extra = ROWS - PAIRS
    again = (np.arange(extra) ** 2 // extra // 4) if skewed else np.arange(extra)
    order = np.random.default_rng(7).permutation(ROWS)
    far = HUGE if huge else 0
    pairs = np.concatenate([np.arange(PAIRS), again])[order]
    return pd.DataFrame({"who": who[pairs] + far, "x": bins[pairs]})


Run: TypeAlias = Callable[[], Callable[[], object]]
"""Gets something ready, and gives what is timed."""


class Case(NamedTuple):
    """The work that is timed on one set: our code after the grouping, and a whole release."""

    after: Run
    whole: Run


QUESTION: Final = Question.of(dv.Domain.integers(0, BINS - 1, column="x"))


def in_pandas(frame: pd.DataFrame, folder: Path) -> Case:
    source = PandasSource(frame, name="rows")
    users = source._read("who").users
    pairs, rows = grouped(source._place(QUESTION.domain, None), BINS, users)
    bound = dv.Dense("1/2").bind(QUESTION, UNIT)

    def after() -> Callable[[], object]:
        given = deepcopy((pairs, rows, users))  # where it lies in memory tells nothing then
        question = token_hex(len(QUESTION.id) // 2)  # nor does one order of digests, which is another for each question

        def once() -> None:
            counts = bounded(*given[:2], BINS, given[2], UNIT, question)
            bound.draw(DenseCounts(counts), SystemBits(), mode="exact")

        return once

    return Case(after, release(source, folder))


def in_duckdb(frame: pd.DataFrame, folder: Path) -> Case:
    connection = duckdb.connect()
    connection.register("given", frame)
    connection.execute("CREATE TABLE made AS SELECT * FROM given")
    source = dv.sources.duckdb(connection, "made")
    query = source._query(QUESTION, UNIT, StatisticKind.DENSE)
    columns = queries.ask(source._engine, query, 0, 1, None, numbered=True).take()
    bound = dv.Dense("1/2").bind(QUESTION, UNIT)

    def after() -> Callable[[], object]:
        given = Hidden(deepcopy(columns))

        def once() -> None:
            counts = ibis_source._statistic(given, QUESTION, StatisticKind.DENSE)
            assert counts is not None
            bound.draw(counts, SystemBits(), mode="exact")

        return once

    return Case(after, release(source, folder))


def release(source: Any, folder: Path) -> Run:
    folder.mkdir()
    session = Session(source, UNIT, dv.Budget(10**6), folder / "flat.ledger")
    keys, mechanism = iter(range(10**9)), dv.Dense("1/2")
    session.plan(QUESTION, mechanism)
    return lambda: partial(session.release, QUESTION, mechanism, key=str(next(keys)))


def twin(frame: pd.DataFrame) -> Run:
    """Bounding that digests the pairs of those users alone who are over the limit: time tells whether there are any."""
    source = PandasSource(frame, name="rows")
    users = source._read("who").users
    pairs, rows = grouped(source._place(QUESTION.domain, None), BINS, users)
    user = pairs // BINS
    many = np.bincount(user)[user] > LIMIT

    def once() -> None:
        counts = np.bincount(pairs[~many] % BINS, minlength=BINS)
        if many.any():
            counts = counts + bounded(pairs[many], rows[many], BINS, users, UNIT, QUESTION.id)

    return lambda: once


def areas(runs: Mapping[str, Run], rounds: int) -> dict[str, float]:
    """For each set but the even one: how often it takes longer than the even one."""
    times: dict[str, NDArray[np.int64]] = {name: np.empty(rounds, dtype=np.int64) for name in runs}
    names, order, clock = list(runs), np.random.default_rng(3), time.perf_counter_ns
    for run in runs.values():
        for _ in range(5):
            run()()
    for round in range(rounds):
        for place in order.permutation(len(names)):
            name = names[place]
            once = runs[name]()
            began = clock()
            once()
            times[name][round] = clock() - began
    return {name: area(times[name], times["even"]) for name in names if name != "even"}


def area(ours: NDArray[np.int64], even: NDArray[np.int64]) -> float:
    ranks = rankdata(np.concatenate([ours, even]))[: len(ours)].sum()
    return float((ranks - len(ours) * (len(ours) + 1) / 2) / (len(ours) * len(even)))


def table(rounds: int = ROUNDS) -> list[Measured]:
    lines = []
    gc.collect()
    gc.disable()
    try:
        with tempfile.TemporaryDirectory(prefix="dpviz-bench-") as folder:
            for engine, make in {"pandas": in_pandas, "DuckDB": in_duckdb}.items():
                cases = {
                    name: make(frame, Path(folder) / f"{engine} {place}")
                    for place, (name, frame) in enumerate(frames().items())
                }
                found = areas({name: case.after for name, case in cases.items()}, rounds)
                lines += [flat(f"{engine}, our code after the grouping: {name}", one) for name, one in found.items()]
                found = areas({name: case.whole for name, case in cases.items()}, rounds)
                lines += [Measured(f"{engine}, a whole release: {name}", f"{one:.3f}") for name, one in found.items()]
    finally:
        gc.enable()
    found = areas({name: twin(frame) for name, frame in frames().items()}, rounds)
    return [*lines, caught(f"the twin: {CAUGHT}", found[CAUGHT])]


def flat(what: str, found: float) -> Measured:
    return Measured(what, f"{found:.3f}", f"0.5 ± {ALLOWED}", abs(found - 0.5) <= ALLOWED)


def caught(what: str, found: float) -> Measured:
    return Measured(what, f"{found:.3f}", f"outside 0.5 ± {ALLOWED}", abs(found - 0.5) > ALLOWED)
