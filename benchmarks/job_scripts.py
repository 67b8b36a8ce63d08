"""The jobs of `jobs.py`, each by one library. Runs in that library's environment and imports no other.

`python job_scripts.py NAME FILE` reads the file, answers once, and then once more for each line that it is given. Each
answer is a line of JSON: the seconds of the answer alone, how many values it has, and what they add up to.
"""

from __future__ import annotations

import csv
import importlib.metadata
import itertools
import json
import os
import random
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

Values: TypeAlias = Sequence[float]
Answer: TypeAlias = Callable[[], Values]
"""One more release of the same question, with fresh noise: the values that are shown."""

TOP = 41  # the bin of all visits above 40
MOST = 5  # destinations of one aircraft
OFTEN = 1000  # how many answers are planned for, where a budget is divided in advance


# ---------------------------------------------------------------- visits: 42 bins, one row, epsilon 1/2


def visits_dpviz(path: str) -> Answer:
    import pandas as pd

    import dpviz as dv

    session = dv.Session(pd.read_csv(path), dv.Unit("row"), dv.Budget(OFTEN), path + ".ledger")
    bins, keys = dv.Domain.integers(0, TOP - 1, column="visits", overflow=True), itertools.count()
    return lambda: session.release(bins, dv.Dense("1/2"), key=str(next(keys))).to_frame()["value"].tolist()


def visits_opendp_measurement(path: str) -> Answer:
    """Rows are read by Python, for a measurement takes a list."""
    import opendp.prelude as dp

    dp.enable_features("contrib")
    space = dp.vector_domain(dp.atom_domain(T=int)), dp.symmetric_distance()
    counted = space >> dp.t.then_count_by_categories(categories=[*range(TOP)], null_category=True)
    noisy = counted >> dp.m.then_laplace(scale=2.0)
    rows = [int(row["visits"]) for row in read(path)]
    return lambda: noisy(rows)


def visits_opendp_context(path: str) -> Answer:
    import opendp.prelude as dp
    import polars as pl

    dp.enable_features("contrib")
    context = dp.Context.compositor(
        data=pl.scan_csv(path).select(pl.col("visits").clip(0, TOP)),
        privacy_unit=dp.unit_of(contributions=1),
        privacy_loss=dp.loss_of(epsilon=OFTEN / 2),
        split_evenly_over=OFTEN,
        margins=[dp.polars.Margin(by=["visits"], max_length=10**6)],
    )
    keys = pl.LazyFrame({"visits": range(TOP + 1)})

    def answer() -> Values:
        query: Any = context.query().group_by("visits").agg(dp.len()).with_keys(keys)
        return list(query.release().collect()["len"])

    return answer


def visits_diffprivlib(path: str) -> Answer:
    import numpy as np
    from diffprivlib import BudgetAccountant, tools

    rows = np.minimum(np.loadtxt(path, delimiter=",", skiprows=1, dtype=np.int64), TOP)
    accountant = BudgetAccountant(epsilon=OFTEN)

    def answer() -> Values:
        found, _ = tools.histogram(rows, epsilon=0.5, bins=TOP + 1, range=(0, TOP + 1), accountant=accountant)
        values: Values = found.tolist()
        return values

    return answer


def visits_tumult(path: str) -> Answer:
    from tmlt.analytics import AddOneRow, KeySet, PureDPBudget, QueryBuilder, Session

    rows = spark().read.csv(path, header=True, inferSchema=True).selectExpr(f"least(visits, {TOP}) AS visits")
    session = Session.from_dataframe(PureDPBudget(OFTEN), "visits", rows, AddOneRow())
    query = QueryBuilder("visits").groupby(KeySet.from_dict({"visits": [*range(TOP + 1)]})).count()
    return lambda: [row["count"] for row in session.evaluate(query, PureDPBudget(0.5)).collect()]


def visits_pipelinedp(path: str) -> Answer:
    import pipeline_dp as pdp

    rows = [(place, min(int(row["visits"]), TOP)) for place, row in enumerate(read(path))]
    return pipeline(rows, pdp.Metrics.COUNT, most=1, epsilon=0.5, delta=0, public=[*range(TOP + 1)])


# ---------------------------------------------------------------- destinations: unknown keys, aircraft, epsilon 1


def destinations_dpviz(path: str) -> Answer:
    import pandas as pd

    import dpviz as dv

    return of_destinations(dv.Session(pd.read_csv(path), *terms(dv), path + ".ledger"), dv)


def destinations_dpviz_duckdb(path: str) -> Answer:
    import duckdb

    import dpviz as dv

    connection = duckdb.connect()
    connection.execute(f"CREATE TABLE flights AS SELECT * FROM read_csv('{path}')")
    return of_destinations(dv.Session(dv.sources.duckdb(connection, "flights"), *terms(dv), path + ".ledger"), dv)


def terms(dv: Any) -> tuple[Any, Any]:
    return dv.Unit("aircraft", max_bins=MOST), dv.Budget(OFTEN, "1/100")


def of_destinations(session: Any, dv: Any) -> Answer:
    places, keys = dv.Domain.keys(column="destination"), itertools.count()
    mechanism = dv.Stability("1", "1e-6")
    return lambda: session.release(places, mechanism, key=str(next(keys))).to_frame()["value"].tolist()


def destinations_opendp_measurement(path: str) -> Answer:
    """A measurement knows no users: five destinations of each aircraft are chosen by hand, once, in Python."""
    import opendp.prelude as dp

    dp.enable_features("contrib")
    touched: dict[str, set[str]] = defaultdict(set)
    for row in read(path):
        touched[row["aircraft"]].add(row["destination"])
    exact = Counter(
        place for places in touched.values() for place in random.sample(sorted(places), min(MOST, len(places)))
    )
    domain = dp.map_domain(dp.atom_domain(T=dp.String), dp.atom_domain(T=dp.i64))
    metric = dp.l01inf_distance(dp.absolute_distance(T=dp.i64))
    one = (MOST, MOST, 1)  # what one aircraft moves: so many counts, in all, and each at most

    def measurement(threshold: int) -> Any:
        return dp.m.make_laplace_threshold(domain, metric, scale=float(MOST), threshold=threshold)

    threshold = dp.binary_search(lambda least: measurement(least).map(one)[1] <= 1e-6, bounds=(1, 1000))
    noisy = measurement(threshold)
    return lambda: [*noisy(dict(exact)).values()]


def destinations_opendp_context(path: str) -> Answer:
    import opendp.prelude as dp
    import polars as pl

    dp.enable_features("contrib")
    context = dp.Context.compositor(
        data=pl.scan_csv(path),
        privacy_unit=dp.unit_of(contributions=1, identifier="aircraft"),
        privacy_loss=dp.loss_of(epsilon=float(OFTEN), delta=OFTEN * 1e-6),
        margins=[dp.polars.Margin(max_length=10**6)],
    )

    def answer() -> Values:
        kept: Any = context.query(epsilon=1.0, delta=1e-6).truncate_per_group(1, by=["destination"])
        kept = kept.truncate_num_groups(MOST, by=["destination"], keep="first")
        return list(kept.group_by("destination").agg(dp.len()).release().collect()["len"])

    return answer


def destinations_tumult(path: str) -> Answer:
    """Keys first, counts of these keys then, at half the budget each, for there is no one query that does both."""
    from tmlt.analytics import (
        AddRowsWithID,
        ApproxDPBudget,
        KeySet,
        MaxGroupsPerID,
        MaxRowsPerGroupPerID,
        QueryBuilder,
        Session,
    )

    rows = spark().read.csv(path, header=True, inferSchema=True)
    session = Session.from_dataframe(
        ApproxDPBudget(OFTEN, 0.01), "flights", rows, AddRowsWithID(id_column="aircraft", id_space="aircraft")
    )
    bounded = (
        QueryBuilder("flights")
        .enforce(MaxGroupsPerID("destination", MOST))
        .enforce(MaxRowsPerGroupPerID("destination", 1))
    )

    def answer() -> Values:
        keys = session.evaluate(bounded.get_groups(["destination"]), ApproxDPBudget(0.5, 5e-7))
        counted = bounded.groupby(KeySet.from_dataframe(keys)).count()
        return [row["count"] for row in session.evaluate(counted, ApproxDPBudget(0.5, 5e-7)).collect()]

    return answer


def destinations_pipelinedp(path: str) -> Answer:
    import pipeline_dp as pdp

    rows = [(row["aircraft"], row["destination"]) for row in read(path)]
    return pipeline(rows, pdp.Metrics.PRIVACY_ID_COUNT, most=MOST, epsilon=1, delta=1e-6, public=None)


# ---------------------------------------------------------------- what they share


def read(path: str) -> Any:
    with open(path, newline="") as lines:
        yield from csv.DictReader(lines)


def spark() -> Any:
    from pyspark.sql import SparkSession

    os.environ.update(SPARK_LOCAL_IP="127.0.0.1", PYSPARK_PYTHON=sys.executable)
    options = {"spark.log.level": "OFF", "spark.ui.enabled": "false", "spark.ui.showConsoleProgress": "false"}
    builder = SparkSession.builder.master("local[2]").config(map=options)
    return builder.config("spark.sql.shuffle.partitions", "2").getOrCreate()


def pipeline(
    rows: list[tuple[Any, Any]], metric: Any, *, most: int, epsilon: float, delta: float, public: list[Any] | None
) -> Answer:
    """Rows of user and key. Nothing is kept from one pipeline to the next but the rows."""
    import pipeline_dp as pdp

    def answer() -> Values:
        accountant = pdp.NaiveBudgetAccountant(total_epsilon=epsilon, total_delta=delta)
        engine = pdp.DPEngine(accountant, pdp.LocalBackend())
        params = pdp.AggregateParams(
            metrics=[metric], max_partitions_contributed=most, max_contributions_per_partition=1
        )
        reads = pdp.DataExtractors(
            privacy_id_extractor=lambda row: row[0],
            partition_extractor=lambda row: row[1],
            value_extractor=lambda row: 0,
        )
        found = engine.aggregate(rows, params, reads, public_partitions=public)
        accountant.compute_budgets()
        return [values[0] for _, values in found]

    return answer


# ---------------------------------------------------------------- marginals: all pairs of columns, one row, epsilon 1


def shape_of(path: str) -> tuple[list[int], list[tuple[int, int]]]:
    """How many labels each column has, from 0 on, which the name of the file says: `2-3-5.parquet`."""
    sizes = [int(part) for part in os.path.basename(path).partition(".")[0].split("-")]
    return sizes, list(itertools.combinations(range(len(sizes)), 2))


def marginals_dpviz(path: str) -> Answer:
    """A release, which keeps what was drawn; the fit is made when it is read."""
    import duckdb

    import dpviz as dv

    sizes, _ = shape_of(path)
    connection = duckdb.connect()
    connection.execute(f"CREATE TABLE made AS SELECT * FROM read_parquet('{path}')")
    session = dv.Session(dv.sources.duckdb(connection, "made"), dv.Unit("row"), dv.Budget(OFTEN), path + ".ledger")
    columns = [dv.Domain.integers(0, size - 1, column=f"c{at}") for at, size in enumerate(sizes)]
    question, mechanism, keys = dv.Domain.product(*columns), dv.Marginals(1), itertools.count()
    return lambda: session.release(question, mechanism, key=str(next(keys))).answer.noisy.tolist()


def marginals_duckdb(path: str) -> Answer:
    """DuckDB's own grouping sets, which are not private."""
    import duckdb

    sizes, pairs = shape_of(path)
    connection = duckdb.connect()
    connection.execute(f"CREATE TABLE made AS SELECT * FROM read_parquet('{path}')")
    columns = ", ".join(f"c{at}" for at in range(len(sizes)))
    sets = ", ".join(f"(c{a}, c{b})" for a, b in pairs)
    query = f"SELECT grouping({columns}), {columns}, count(*) AS n FROM made GROUP BY GROUPING SETS ({sets})"
    return lambda: connection.sql(query).to_arrow_table()["n"].to_numpy()


def marginals_opendp(path: str) -> Answer:
    """Counts by Polars, which OpenDP rests on, and its noise on all of them: a unit moves each table by 1."""
    import numpy as np
    import opendp.prelude as dp
    import polars as pl

    dp.enable_features("contrib")
    sizes, pairs = shape_of(path)
    rows = pl.read_parquet(path)
    space = dp.vector_domain(dp.atom_domain(T=dp.i64)), dp.l1_distance(T=dp.i64)
    noisy = dp.m.make_laplace(*space, scale=float(len(pairs)))

    def answer() -> Values:
        tables = []
        for a, b in pairs:
            found = rows.group_by(f"c{a}", f"c{b}").len()
            table = np.zeros(sizes[a] * sizes[b], dtype=np.int64)
            table[found[f"c{a}"].to_numpy().astype(np.int64) * sizes[b] + found[f"c{b}"].to_numpy()] = found["len"]
            tables.append(table)
        values: Values = noisy(np.concatenate(tables).tolist())
        return values

    return answer


def marginals_mbi(path: str) -> Answer:
    """private-pgm's measurement step as its examples have it: NumPy's noise on every marginal, in floats."""
    import mbi
    import numpy as np
    import polars as pl

    sizes, pairs = shape_of(path)
    names = [f"c{at}" for at in range(len(sizes))]
    rows = pl.read_parquet(path)
    data = mbi.Dataset({name: rows[name].to_numpy().astype(np.int64) for name in names}, mbi.Domain(names, sizes))
    chance = np.random.default_rng()

    def answer() -> Values:
        tables = [np.asarray(data.project((names[a], names[b])).datavector()) for a, b in pairs]
        values: Values = np.concatenate([one + chance.laplace(0, len(pairs), len(one)) for one in tables]).tolist()
        return values

    return answer


CONTESTANTS: dict[str, Callable[[str], Answer]] = {
    name: found
    for name, found in list(globals().items())
    if name.startswith(("visits_", "destinations_", "marginals_"))
}
PACKAGES = (
    "opendp",
    "polars",
    "mbi",
    "diffprivlib",
    "tmlt-analytics",
    "pyspark",
    "pipeline-dp",
    "python-dp",
    "dp-accounting",
)


def versions() -> dict[str, str]:
    there = {found.metadata["Name"].replace(".", "-").lower() for found in importlib.metadata.distributions()}
    return {name: importlib.metadata.version(name) for name in PACKAGES if name in there}


def main(name: str, path: str) -> None:
    if name == "versions":
        print(json.dumps(versions()))
        return
    answer = CONTESTANTS[name](path)
    while True:
        began = time.perf_counter()
        values = answer()
        seconds = time.perf_counter() - began
        print(json.dumps([seconds, len(values), float(sum(values))]), flush=True)
        if not sys.stdin.readline():
            return


if __name__ == "__main__":
    main(*sys.argv[1:])
