"""Top-k releases where the data lies: whole releases against the engine's own query for the same rows. Wall time.

The engine's own query is not private: the same bounding, written directly in SQL, and the kbar + 1 largest counts. A
release adds a durable charge, the draw and the record; its question was planned before, so that it is in the engine's
words already. The flights are 334,264 real rows, the aircraft is the user and touches at most 5 destinations. The made
rows lie in Parquet files: of a hundredth as many users as rows, and at most 100,000 users, each has 20 items of
100,000. The largest set has 10^8 rows and is counted by a process of its own that gives DuckDB 4 GB; it is made once,
in `build/`.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

import duckdb

import dpviz as dv
from benchmarks.measured import Measured, interleave, most_memory, ms, wall
from dpviz.engines import as_source
from dpviz.engines.queries import by_rows_alone
from dpviz.mechanisms import TopK
from dpviz.model.question import Question
from dpviz.model.source import Source
from dpviz.model.statistic import Top
from dpviz.session.session import Session

BUILD = Path(__file__).parents[1] / "build" / "engines"
SIZES = (10**5, 10**6, 10**7, 10**8)
PIECE = 10**7
MOST_USERS = 10**5
MEMORY = 4
K, KBAR, DELTA = 10, 50, 5
ROUNDS = 41
ALLOWED, MORE = 1.15, 0.010
DIRECT = """
    SELECT item, count(*) AS n
    FROM (SELECT item, row_number() OVER (PARTITION BY who ORDER BY md5('{id}' || md5(who::VARCHAR) || item)) AS place
          FROM (SELECT DISTINCT {user} AS who, {item} AS item FROM {table}
                WHERE {user} IS NOT NULL AND {item} IS NOT NULL))
    WHERE place <= {most} GROUP BY item ORDER BY n DESC, item LIMIT {limit}
"""

MADE = """
    COPY (SELECT (hash(range) % {users})::BIGINT AS who, hash(who, hash(range, 7) % 20) % 1000000 AS chance,
                 'item ' || (100000 * pow(chance / 1e6, 3))::INT AS item
          FROM range({first}, {last})) TO '{path}.part' (FORMAT parquet)
"""


def table() -> list[Measured]:
    with tempfile.TemporaryDirectory(prefix="dpviz-bench-") as folder:
        return [*flights(Path(folder), ROUNDS), *spark(Path(folder)), *growing()]


def contest(
    connection: Any, source: Source, folder: Path, names: tuple[str, str, str]
) -> tuple[Callable[[], float], Callable[[], float]]:
    """Seconds of a whole release, fresh each time, and of the engine's own query."""
    name, user, item = names
    question = Question.of(dv.Domain.keys(column=item))
    session = Session(source, dv.Unit(user, max_bins=DELTA), dv.Budget(10**6, "1/2"), folder / f"{source.name}.ledger")
    keys = iter(range(10**9))
    sql = DIRECT.format(id=question.id, user=user, item=item, table=name, most=DELTA, limit=KBAR + 1)

    def release() -> None:
        session.release(question, TopK(K, KBAR, "1", "1e-6"), key=str(next(keys)))

    return partial(wall, release), partial(wall, lambda: connection.execute(sql).fetchall())


def opened(files: str, name: str, folder: Path) -> tuple[Any, Source]:
    """Parquet files as a view of a connection of 4 GB; and of another one, which counts their rows alone."""
    both = [duckdb.connect(config={"memory_limit": f"{MEMORY}GB", "temp_directory": str(folder)}) for _ in range(2)]
    for connection in both:
        connection.execute(f"CREATE VIEW {name} AS SELECT * FROM read_parquet('{files}')")
    by_rows_alone(both[1])
    return both[0], dv.sources.duckdb(both[1], name)


def compared(what: str, release: float, query: float) -> list[Measured]:
    most = ALLOWED * query + MORE
    return [
        Measured(f"{what}: DuckDB's own query", ms(query)),
        Measured(f"{what}: a whole release", ms(release), f"{ms(most)}", release <= most),
        Measured(f"{what}: release against query", f"{release / query:.2f} times"),
    ]


def flights(folder: Path, rounds: int) -> list[Measured]:
    path = folder / "flights.parquet"
    dv.datasets.flights().to_parquet(path, index=False)
    connection, source = opened(str(path), "flights", folder)
    release, query = contest(connection, source, folder, ("flights", "aircraft", "destination"))
    found = interleave({"release": release, "query": query}, rounds)
    held = as_source(dv.datasets.flights())
    question, unit = Question.of(dv.Domain.keys(column="destination")), dv.Unit("aircraft", max_bins=DELTA)
    pandas = interleave({"pandas": partial(wall, lambda: held.count(question, unit, Top(KBAR)))}, min(rounds, 5))
    news = (Question.of(question.domain, {"scheduled_minute": dv.Between(first)}) for first in range(10**6))
    words = interleave({"words": partial(wall, lambda: source.check(next(news), unit, Top(KBAR)))}, rounds)
    return [
        *compared("334,264 flights", found["release"], found["query"]),
        Measured("a new question, planned: put into the engine's words", ms(words["words"])),
        Measured("334,264 flights: the same count by pandas, in memory", ms(pandas["pandas"])),
    ]


def growing() -> list[Measured]:
    lines = []
    for size in SIZES:
        if size < max(SIZES):
            found = measured(size, ROUNDS if size <= 10**6 else 3)
        else:
            command = [sys.executable, "-m", "benchmarks.engines", str(size)]
            done = subprocess.run(command, check=True, capture_output=True, text=True, cwd=Path(__file__).parents[1])
            found = json.loads(done.stdout)
        lines += compared(f"{size:,} rows", found["release"], found["query"])
    within = found["peak"] <= (MEMORY + 1) * 2**30
    return [
        *lines,
        Measured(
            f"{max(SIZES):,} rows: most memory of the process",
            f"{found['peak'] / 2**30:.2f} GB",
            f"{MEMORY + 1} GB",
            within,
        ),
    ]


def measured(size: int, rounds: int) -> dict[str, float]:
    """Both contestants on made rows; they take turns, and a lone first query warms the files."""
    made(size)
    with tempfile.TemporaryDirectory(prefix="dpviz-bench-") as folder:
        connection, source = opened(str(BUILD / str(size) / "*.parquet"), "made", Path(folder))
        release, query = contest(connection, source, Path(folder), ("made", "who", "item"))
        times: dict[str, list[float]] = {"release": [], "query": []}
        query()
        for _ in range(rounds):
            times["release"].append(release())
            times["query"].append(query())
        connection.close()
    peak = most_memory()
    return {name: median(found) for name, found in times.items()} | {"peak": peak}


def made(size: int) -> None:
    """The made rows, in pieces, so that no memory holds them all. Deterministic: hashes of the row's number."""
    folder = BUILD / str(size)
    folder.mkdir(parents=True, exist_ok=True)
    users = min(size // 100, MOST_USERS)
    for first in range(0, size, PIECE):
        path, last = folder / f"{first:012}.parquet", min(first + PIECE, size)
        if path.exists():
            continue
        with duckdb.connect(config={"memory_limit": f"{MEMORY}GB"}) as connection:
            connection.execute(MADE.format(users=users, first=first, last=last, path=path))
        os.replace(f"{path}.part", path)


def spark(folder: Path) -> list[Measured]:
    """The flights on two executors of this machine, beside Spark's own query."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from pyspark.sql import SparkSession

        os.environ.update(SPARK_LOCAL_IP="127.0.0.1", PYSPARK_PYTHON=sys.executable)
        options = {"spark.log.level": "OFF", "spark.ui.enabled": "false", "spark.ui.showConsoleProgress": "false"}
        builder = SparkSession.builder.master("local-cluster[2,1,2048]").config("spark.executor.memory", "1g")
        session = builder.config(map=options).config("spark.sql.shuffle.partitions", "2").getOrCreate()
        frame = session.read.parquet(str(folder / "flights.parquet"))
        frame.createOrReplaceTempView("flights")
        source = as_source(frame, name="flights on Spark")
    runner = Direct(session)
    release, query = contest(runner, source, folder, ("flights", "aircraft", "destination"))
    found = interleave({"release": release, "query": query}, 5)
    session.stop()
    return [
        Measured("334,264 flights on two executors: Spark's own query", ms(found["query"])),
        Measured("334,264 flights on two executors: a whole release", ms(found["release"])),
        Measured(
            "334,264 flights on two executors: against the query", f"{found['release'] / found['query']:.2f} times"
        ),
    ]


class Direct:
    """Spark as a connection is."""

    def __init__(self, session: Any) -> None:
        self._session = session

    def execute(self, sql: str) -> Direct:
        self._frame = self._session.sql(sql.replace("::VARCHAR", ""))
        return self

    def fetchall(self) -> list[Any]:
        return list(self._frame.collect())


if __name__ == "__main__":
    print(json.dumps(measured(int(sys.argv[1]), 2)))
