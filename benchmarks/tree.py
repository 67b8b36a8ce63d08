"""Trees: the fit, a release from counts, what is said of ranges, and half a million bins counted by DuckDB.

Processor time of one core, but for DuckDB, where it is wall time. OpenDP gets its noisy tree as a list, which is how
its own measurements hand one over, and once as an array of the one type that it takes; both return a list of leaves.
A fit, OpenDP's and `cumsum` are called twice in each turn, and the second call is timed.
The float fit comes with a bound on its error, and NumPy's `cumsum` reads and writes as many doubles as the tree has
nodes. "To answer" is the counts added up below all nodes, exact noise on each, the float fit of all and one range read
exactly; the ledger is left out. Caches of distributions are emptied before each range.

The flights are 334,264 real rows in a Parquet file; 127,026 of the 525,600 minutes of their year are not empty.
DuckDB's own query is the same count, written directly and fetched as arrays; the release of that size has its counts
in memory.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Mapping
from fractions import Fraction
from functools import partial
from pathlib import Path
from statistics import median

import duckdb
import numpy as np
from numpy.typing import NDArray

import dpviz as dv
from benchmarks.measured import Measured, cpu_seconds, interleave, ms, wall, warm_cpu_seconds
from benchmarks.peers import peers
from dpviz.fitting import sums
from dpviz.fitting.tree import Design, Shape, TreeFit
from dpviz.mechanisms.tree import Tree, TreeBound
from dpviz.model.laws import tree as tree_law
from dpviz.model.question import Question
from dpviz.model.source import Source, Tick
from dpviz.model.statistic import Column, DenseCounts, Need, Statistic
from dpviz.noise.bits import SystemBits
from dpviz.privacy.unit import Unit
from dpviz.session.session import Session

PEER_LEAVES, LEAVES, RANGES, PLACES, MINUTES = 1 << 16, 1 << 20, 10_000, 25, 525_600
SIZES, BRANCHINGS = (1 << 10, 1 << 15, 1 << 20), (2, 4, 16, 32)
ROUNDS, FEW = 31, 9
TIMES_OPENDP, TIMES_CUMSUM, TIMES_QUERY = 80, 2, 1.15
TO_ANSWER, A_QUANTILE, ALL_ERRORS = 0.15, 0.020, 1.0
DIRECT = "SELECT {column}, count(*) FROM flights WHERE {column} BETWEEN 0 AND {last} GROUP BY ALL"


def table(
    peer_leaves: int = PEER_LEAVES,
    leaves: int = LEAVES,
    sizes: tuple[int, ...] = SIZES,
    ranges: int = RANGES,
    places: int = PLACES,
    minutes: int = MINUTES,
    rounds: int = ROUNDS,
) -> list[Measured]:
    few = min(rounds, FEW)
    with tempfile.TemporaryDirectory(prefix="dpviz-bench-") as folder:
        return [
            *against_opendp(peer_leaves, few),
            *against_cumsum(leaves, rounds),
            *to_answer(leaves, few),
            *by_size(sizes, few),
            *quantiles(leaves, places, min(rounds, 5)),
            *errors(leaves, ranges, few),
            *flights(Path(folder), minutes, rounds),
        ]


def noisy(shape: Shape) -> NDArray[np.int64]:
    """The counts that OpenDP's tree holds, too: no fit depends on where the numbers come from."""
    return np.arange(shape.nodes, dtype=np.int64) * 7919 % 1000


def fitting(shape: Shape) -> Callable[[], float]:
    design, nodes = Design(shape), noisy(shape)
    return lambda: warm_cpu_seconds(lambda: TreeFit(design, nodes).floats())


def against_opendp(leaves: int, rounds: int) -> list[Measured]:
    ask = partial(peers().ask, "opendp_consistent_tree", k=2, leaves=leaves)
    contestants = {
        "ours": fitting(Shape(2, leaves)),
        "list": partial(ask, listed=True),
        "array": partial(ask, listed=False),
    }
    found = interleave(contestants, rounds)
    times, of_array = found["list"] / found["ours"], found["array"] / found["ours"]
    return [
        Measured(f"two-pass fit of {leaves:,} leaves", ms(found["ours"])),
        Measured("OpenDP's consistency, from a list", ms(found["list"])),
        Measured("dpviz against it", f"{times:.0f} times", f"{TIMES_OPENDP} times", times >= TIMES_OPENDP),
        Measured("OpenDP's consistency, from an array", ms(found["array"])),
        Measured("dpviz against it", f"{of_array:.0f} times"),
    ]


def against_cumsum(leaves: int, rounds: int) -> list[Measured]:
    lines = []
    for k in (2, 16):
        shape = Shape(k, leaves)
        doubles = noisy(shape).astype(np.float64)
        cumsum = lambda doubles=doubles: warm_cpu_seconds(lambda: np.cumsum(doubles))  # noqa: E731
        found = interleave({"ours": fitting(shape), "cumsum": cumsum}, rounds)
        times, error = found["ours"] / found["cumsum"], TreeFit(Design(shape), noisy(shape)).floats().error
        lines += [
            Measured(f"float fit of {leaves:,} leaves, k = {k}, off by {error:.0e} at most", ms(found["ours"])),
            Measured(f"cumsum over its {shape.nodes:,} nodes", ms(found["cumsum"])),
            Measured("dpviz against it", f"{times:.2f} times", f"{TIMES_CUMSUM} times", times <= TIMES_CUMSUM),
        ]
    return lines


def bound_to(leaves: int, k: int) -> TreeBound:
    return Tree(1, branching=k).bind(Question.of(dv.Domain.integers(0, leaves - 1, column="x")), Unit())


def answering(leaves: int, k: int) -> Callable[[], float]:
    bound, bits = bound_to(leaves, k), SystemBits()
    counts = np.random.default_rng(1).poisson(3, leaves)

    def work() -> None:
        answer = bound.draw(DenseCounts(counts), bits, mode="exact")
        assert answer.floats.leaves.size == leaves
        answer.fit.range(leaves // 5, leaves // 2)

    return lambda: cpu_seconds(work)


def to_answer(leaves: int, rounds: int) -> list[Measured]:
    found = interleave({f"k = {k}": answering(leaves, k) for k in (2, 16)}, rounds)
    return [
        Measured(f"counts to answer, {leaves:,} leaves, {what}", ms(took), ms(TO_ANSWER), took <= TO_ANSWER)
        for what, took in found.items()
    ]


def by_size(sizes: tuple[int, ...], rounds: int) -> list[Measured]:
    """One line for each size, one number for each branching."""
    lines, named = [], ", ".join(map(str, BRANCHINGS))
    for size in sizes:
        fits = interleave({str(k): fitting(Shape(k, size)) for k in BRANCHINGS}, rounds)
        whole = interleave({str(k): answering(size, k) for k in BRANCHINGS}, rounds)
        for what, found in (("float fit", fits), ("counts to answer", whole)):
            lines.append(Measured(f"{what}, {size:,} leaves, k = {named}", ", ".join(map(ms, found.values()))))
    return lines


def quantiles(leaves: int, places: int, rounds: int) -> list[Measured]:
    """The half-width of a fitted range that nobody has asked about before: the slowest of many ranges."""
    lines, generator = [], np.random.default_rng(2)
    ends = np.sort(generator.integers(0, leaves, (places, 2)), axis=1).tolist()
    ends += [[0, 0], [0, leaves - 1], [1, leaves - 2], [leaves // 3, 2 * leaves // 3]]
    for k in (2, 4, 16):
        error = bound_to(leaves, k).law.error

        def once(low: int, high: int, error: object = error) -> float:
            for kept in (tree_law._radius, tree_law._reach, tree_law._inverted, tree_law._noise_of, sums._spectrum_of):
                kept.cache_clear()
            return cpu_seconds(lambda: error.range(low, high, Fraction(1, 20)))  # type: ignore[attr-defined]

        took = max(median(once(*both) for _ in range(rounds)) for both in ends)
        what = f"the 95 % quantile of a range of {leaves:,} leaves, k = {k}: the slowest of {len(ends)}"
        lines.append(Measured(what, ms(took), ms(A_QUANTILE), took <= A_QUANTILE))
    return lines


def errors(leaves: int, ranges: int, rounds: int) -> list[Measured]:
    generator = np.random.default_rng(3)
    lows, highs = np.sort(generator.integers(0, leaves, (2, ranges)), axis=0)
    designs = {f"k = {k}": Design(Shape(k, leaves)) for k in (2, 16)}
    designs["k = 2, pinned padding"] = Design(Shape(2, leaves // 2 + 1, pinned=True))
    contestants = {}
    for what, design in designs.items():
        inside = np.minimum(lows, design.shape.n - 1), np.minimum(highs, design.shape.n - 1)
        contestants[what] = partial(cpu_seconds, partial(design.standard_errors, *inside))
    found = interleave(contestants, rounds)
    return [
        Measured(f"exact standard errors of {ranges:,} ranges, {what}", ms(took), ms(ALL_ERRORS), took <= ALL_ERRORS)
        for what, took in found.items()
    ]


class Counted(Source):
    """Counts that are there already: what a release costs beside counting."""

    name, columns = "counts in memory", (Column("scheduled_minute", "number"),)

    def __init__(self, counts: NDArray[np.int64]) -> None:
        self._counts = counts

    def check(self, question: Question, unit: Unit, need: Need) -> None:
        """Every question is the one that was counted."""

    def chartered(self, kinds: Mapping[str, str]) -> Source:
        return self

    def count(self, question: Question, unit: Unit, need: Need, tick: Tick | None = None) -> Statistic:
        return DenseCounts(self._counts.copy())


def flights(folder: Path, minutes: int, rounds: int) -> list[Measured]:
    path = folder / "flights.parquet"
    dv.datasets.flights().to_parquet(path, index=False)
    connection = duckdb.connect()
    connection.execute(f"CREATE VIEW flights AS SELECT * FROM read_parquet('{path}')")
    bins, unit = dv.Domain.integers(0, minutes - 1, column="scheduled_minute"), Unit(noun="flight")
    sql = DIRECT.format(column="scheduled_minute", last=minutes - 1)
    counted = connection.execute(sql).fetchnumpy()
    counts = np.zeros(minutes, dtype=np.int64)
    counts[counted["scheduled_minute"]] = counted["count_star()"]
    sources = {"duckdb": dv.sources.duckdb(path), "memory": Counted(counts)}
    keys = iter(range(10**9))
    contestants: dict[str, Callable[[], float]] = {"query": partial(wall, lambda: connection.sql(sql).fetchnumpy())}
    for name, source in sources.items():
        session = Session(source, unit, dv.Budget(10**6), folder / f"{name}.ledger")
        contestants[name] = partial(
            wall,
            lambda session=session: session.release(bins, Tree(1), key=str(next(keys))),  # type: ignore[misc]
        )
    found = interleave(contestants, rounds)
    # At most 1.15 times both together; what it takes beside them is told, too.
    most, beside = TIMES_QUERY * (found["query"] + found["memory"]), found["duckdb"] - found["query"] - found["memory"]
    return [
        Measured(f"{minutes:,} bins of 334,264 flights: DuckDB's own query", ms(found["query"])),
        Measured("a release of that size", ms(found["memory"])),
        Measured("a whole release by DuckDB", ms(found["duckdb"]), ms(most), found["duckdb"] <= most),
        Measured("what it takes beside both", ms(beside)),
    ]
