"""Whole releases of rows protected one by one, from 10^5 to 10^8 rows: against the engine's own query, and in pandas
against `value_counts`. Wall time.

The engine's own query is not private: the same bins in the words of a good engineer, its result as Arrow and in no
order. A release adds a durable charge, the draw and the record; its question was planned before. The made rows lie in
Parquet files that DuckDB reads with 4 GB: 41 whole numbers, floats in 40 intervals of one width, about a tenth as many
keys as rows, as texts and as numbers below 2^32, and at most 10^7. Keys come in no order, and
how often one comes is skewed. PureSparse shows at most 1,000 of 2^32 numbers. The largest set is counted
by processes of their own, one for each kind of answer, which tells the most memory of each.

pandas has 10^7 rows in memory, of 10^5 texts and of 41 whole numbers. The first release reads the column; the later
ones have it as read. With users bounded, each row is compared within its user, which `value_counts` does not do: those
figures stand apart. The exponent is that of the growth over the last tenfold of rows.
"""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import duckdb
import numpy as np

import dpviz as dv
from benchmarks.measured import Measured, interleave, most_memory, ms, wall
from dpviz.engines.queries import by_rows_alone
from dpviz.model.domain import Domain
from dpviz.model.question import Question
from dpviz.session.session import Session

if TYPE_CHECKING:
    import pandas as pd

BUILD: Final = Path(__file__).parents[1] / "build" / "growth"
SIZES: Final = (10**5, 10**6, 10**7, 10**8)
PIECE: Final = 10**7
MOST_KEYS: Final = 10**7
MEMORY: Final = 4
FLOOR: Final = 0.010
"""Seconds that a release may take beside the query, whatever its size: it is durable before it is shown."""
FRAME: Final = 10**7
ROUNDS: Final = 41
FRAME_KEYS: Final = 10**5
MADE: Final = """
    COPY (SELECT (hash(range) % 41)::BIGINT AS visits, (hash(range, 1) % 1000003) / 1000003.0 * 40 AS hours,
                 (hash(range, 2) % 1000003) / 1000003.0 AS chance,
                 (2654435761 * ({keys} * chance * chance)::BIGINT) % 4294967296 AS id, 'item ' || id AS item
          FROM range({first}, {last})) TO '{path}.part' (FORMAT parquet)
"""


class Kind(NamedTuple):
    """A kind of answer: the mechanism, what it counts, the engineer's query, and how many times its time is allowed."""

    mechanism: Callable[[], Any]
    domain: Callable[[], Domain]
    query: str
    allowed: float
    memory: float = 5
    """GiB that a process which does nothing else may take, DuckDB's limit of 4 GB included."""


KINDS: Final = {
    "Dense, 41 numbers": Kind(
        lambda: dv.Dense("1/2"),
        lambda: Domain.integers(0, 40, column="visits"),
        "SELECT visits, count(*) FROM made WHERE visits BETWEEN 0 AND 40 GROUP BY visits",
        1.15,
    ),
    "Dense, 40 intervals": Kind(
        lambda: dv.Dense("1/2"),
        lambda: Domain.intervals([*range(41)], column="hours"),
        "SELECT least(floor(hours), 39)::INT AS bin, count(*) FROM made WHERE hours BETWEEN 0 AND 40 GROUP BY bin",
        1.15,
    ),
    "TopK": Kind(
        lambda: dv.TopK(10, 50, "1", "1e-6"),
        lambda: Domain.keys(column="item"),
        "SELECT item, count(*) AS n FROM made WHERE item IS NOT NULL GROUP BY item ORDER BY n DESC LIMIT 51",
        1.15,
    ),
    "Stability": Kind(
        lambda: dv.Stability("1", "1e-9"),
        lambda: Domain.keys(column="item"),
        "SELECT item, count(*) FROM made WHERE item IS NOT NULL GROUP BY item",
        1.15,
        0.6,
    ),
    "PureSparse": Kind(
        lambda: dv.PureSparse("1", cap=1_000),
        lambda: Domain.integers(0, 2**32 - 1, column="id"),
        "SELECT id, count(*) FROM made WHERE id BETWEEN 0 AND 4294967295 GROUP BY id",
        1.15,
        0.6,
    ),
}


def table(
    sizes: Sequence[int] = SIZES, frame: int = FRAME, rounds: int = ROUNDS, separate: bool = True
) -> list[Measured]:
    """The largest of the sizes in processes of their own, where `separate`."""
    lines, found = [], {}
    for size in sizes:
        for name, kind in KINDS.items():
            found[size, name] = once = (
                apart(size, name) if separate and size == max(sizes) else measured(size, name, rounds)
            )
            most = kind.allowed * once["query"] + FLOOR
            lines += [
                Measured(f"{name}, {size:,} rows: DuckDB's own query", ms(once["query"])),
                Measured(
                    f"{name}, {size:,} rows: a release, {once['release'] / once['query']:.2f} times",
                    ms(once["release"]),
                    ms(most),
                    once["release"] <= most,
                ),
            ]
    for name in KINDS:
        few, many = (found[size, name] for size in sorted(sizes)[-2:])
        ours, theirs = (math.log10(many[who] / few[who]) for who in ("release", "query"))
        lines.append(Measured(f"{name}: exponent of a release (DuckDB's own query {theirs:.2f})", f"{ours:.2f}"))
        ours, theirs = (apart(max(sizes), name, who) for who in ("release", "query"))
        peak, most = ours["peak"], KINDS[name].memory * 2**30
        lines.append(
            Measured(
                f"{name}, {max(sizes):,} rows: most memory, DuckDB's own query {theirs['peak'] / 2**30:.2f} GiB",
                f"{peak / 2**30:.2f} GiB",
                f"{KINDS[name].memory} GiB",
                peak <= most,
            )
        )
    return [*lines, *in_pandas(frame)]


def apart(size: int, name: str, who: str = "") -> dict[str, float]:
    """Measure in a process of its own: the seconds of both, or the most memory of the one that `who` names."""
    command = [sys.executable, "-m", "benchmarks.growth", str(size), name, *([who] if who else [])]
    done = subprocess.run(command, check=True, capture_output=True, text=True, cwd=Path(__file__).parents[1])
    return dict(json.loads(done.stdout))


def measured(size: int, name: str, rounds: int = ROUNDS, who: str = "") -> dict[str, float]:
    """Seconds of a release and of the query, which take turns; a first round of both warms the files. Where one of them
    is named, it alone; the most memory of the process is then its own."""
    made(size)
    kind = KINDS[name]
    rounds = min(rounds, 3 if size > 10**7 else 5 if size > 10**6 else rounds)
    with tempfile.TemporaryDirectory(prefix="dpviz-bench-") as folder:
        limits = {"memory_limit": f"{MEMORY}GB", "temp_directory": folder}
        connection, ours = duckdb.connect(config=limits), duckdb.connect(config=limits)
        for each in (connection, ours):
            each.execute(f"CREATE VIEW made AS SELECT * FROM read_parquet('{BUILD / str(size)}/*.parquet')")
        by_rows_alone(ours)
        source, ledger = dv.sources.duckdb(ours, "made"), Path(folder) / "growth.ledger"
        session = Session(source, dv.Unit("row"), dv.Budget(10**6, "1/2"), ledger)
        question, mechanism, keys = Question.of(kind.domain()), kind.mechanism(), iter(range(10**9))
        session.plan(question, mechanism)

        def release() -> None:
            session.release(question, mechanism, key=str(next(keys)))

        def query() -> None:
            for _ in connection.sql(kind.query).to_arrow_reader(1 << 16):
                pass

        both = {"release": partial(wall, release), "query": partial(wall, query)}
        times = interleave({name: work for name, work in both.items() if who in ("", name)}, rounds)
        connection.close()
        ours.close()
    return times | {"peak": most_memory()}


def in_pandas(rows: int) -> list[Measured]:
    """The first release of a column in a new session, later ones, and the same with users bounded."""
    import pandas as pd

    draws = np.random.default_rng(1)
    item = np.array([f"item {number}" for number in range(FRAME_KEYS)], dtype=object)
    frame = pd.DataFrame(
        {
            "item": pd.Series(item[(FRAME_KEYS * draws.random(rows) ** 2).astype(np.int64)], dtype="str"),
            "visits": draws.integers(0, 41, rows),
            "who": draws.integers(0, rows // 100, rows),
        }
    )
    kinds = {
        "texts": (Domain.keys(column="item"), dv.Stability("1", "1e-9"), frame["item"]),
        "41 numbers": (Domain.integers(0, 40, column="visits"), dv.Dense("1/2"), frame["visits"]),
    }
    lines = []
    for what, (domain, mechanism, column) in kinds.items():
        for unit in (dv.Unit("row"), dv.Unit("who", max_bins=5)):
            found = from_frame(frame, Question.of(domain), mechanism, unit, column, 9 if unit.is_row else 3)
            own, users = found["value_counts"], "" if unit.is_row else ", users bounded"
            limits = (math.inf, math.inf) if users else (2 * own, 1.5 * own)
            if not users:
                lines.append(Measured(f"pandas, {rows:,} rows, {what}: value_counts", ms(own)))
            for which, most in zip(("first", "later"), limits, strict=True):
                lines.append(
                    Measured(
                        f"pandas, {what}{users}: {which} release, {found[which] / own:.2f} times",
                        ms(found[which]),
                        "" if users else ms(most),
                        found[which] <= most,
                    )
                )
    return lines


def from_frame(
    frame: pd.DataFrame, question: Question, mechanism: Any, unit: Any, column: pd.Series[Any], rounds: int
) -> dict[str, float]:
    times: dict[str, list[float]] = {"value_counts": [], "first": [], "later": []}
    with tempfile.TemporaryDirectory(prefix="dpviz-bench-") as folder:
        for round in range(rounds):
            session = Session(frame, unit, dv.Budget(10**6, "1/2"), Path(folder) / f"{round}.ledger")
            session.plan(question, mechanism)
            times["first"].append(wall(partial(session.release, question, mechanism, key="first")))
            times["value_counts"].append(wall(partial(column.value_counts, sort=False)))
            times["later"].append(wall(partial(session.release, question, mechanism, key="later")))
    return {name: median(found) for name, found in times.items()}


def made(size: int) -> None:
    """The made rows, in pieces, so that no memory holds them all. Deterministic: hashes of the row's number."""
    folder = BUILD / str(size)
    folder.mkdir(parents=True, exist_ok=True)
    for first in range(0, size, PIECE):
        path, last = folder / f"{first:012}.parquet", min(first + PIECE, size)
        if not path.exists():
            with duckdb.connect(config={"memory_limit": f"{MEMORY}GB"}) as connection:
                keys = min(size // 5, 2 * MOST_KEYS)
                connection.execute(MADE.format(keys=keys, first=first, last=last, path=path))
            os.replace(f"{path}.part", path)


if __name__ == "__main__":
    print(json.dumps(measured(int(sys.argv[1]), sys.argv[2], who=sys.argv[3] if len(sys.argv) > 3 else "")))
