"""Known labels and one bin for all others: in products, parts, tables that agree and lists, on every engine."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import dpviz as dv
from dpviz.model.question import Question
from dpviz.session.session import Session
from tests.engines import contract, engines

AIRPORTS = ["ATL", "BOS", "DEN", "DFW", "EWR", "JFK", "LAX", "ORD", "SEA", "SFO"]
KNOWN = dv.Domain.categories(AIRPORTS, column="dest", other=True)
MONTHS = dv.Domain.integers(1, 12, column="month")
ENGINES = pytest.mark.parametrize("engine", [engines.pandas, engines.shared], ids=["pandas", "DuckDB"])
EXACT = 200
"""At this ε noise is 0 but for a chance of e^-100 a bin at most."""


def frame() -> pd.DataFrame:
    chance = np.random.default_rng(8)
    dest = chance.choice(np.array([*AIRPORTS, "GUM", "other", "", None], dtype=object), 900)
    return pd.DataFrame({"month": chance.integers(1, 13, 900), "dest": dest})


def session(engine: contract.Engine, tmp_path: Path) -> Session:
    budget = dv.Budget(epsilon=10_000, delta="1e-3")
    return Session(engine(frame(), "flights", None), dv.Unit(noun="flight"), budget, tmp_path / "others.ledger")


def truth(month: int) -> int:
    data = frame()
    return int(((data["month"] == month) & ~data["dest"].isin(AIRPORTS) & data["dest"].notna()).sum())


@ENGINES
def test_all_others_are_one_bin_of_a_product_and_whatever_is_not_declared_lies_in_it(
    engine: contract.Engine, tmp_path: Path
) -> None:
    counts = contract.counts_as_the_reference(engine, frame(), Question.of(MONTHS * KNOWN), dv.Unit())
    it = session(engine, tmp_path)
    release = it.release(MONTHS * KNOWN, dv.Dense(EXACT))
    assert release.values == counts and len(counts) == 12 * 11
    for month in range(1, 13):
        assert release[month, "other"] == release[month, "GUM"] == truth(month) > 0
    assert "or all others)" in release.question.sentence(release.unit)


@ENGINES
def test_all_others_are_a_part_a_table_and_an_item(engine: contract.Engine, tmp_path: Path) -> None:
    it = session(engine, tmp_path)
    parts = it.release(MONTHS, dv.Dense(EXACT), by=KNOWN)
    assert list(parts.groups) == [*AIRPORTS, "other"]
    assert parts.groups["other"].values == [truth(month) for month in range(1, 13)]
    tables = it.release(MONTHS * KNOWN, dv.Marginals(EXACT))
    total = sum(truth(month) for month in range(1, 13))
    assert abs(list(tables.marginal("dest"))[-1].value - total) < 1
    assert it.release(MONTHS * KNOWN, dv.TopK(3, 20, epsilon=EXACT, delta="1e-6")).items[0].endswith("other")
    keys = MONTHS * dv.Domain.keys(column="dest")
    seen = it.release(keys, dv.Stability(EXACT, "1e-6"))
    assert seen[3, "GUM"] + seen[3, "other"] + seen[3, ""] == truth(3)


def test_the_name_of_all_others_gives_way_to_a_label_of_that_name() -> None:
    plain = dv.Domain.categories(["a", "b", "c", "d", "e"], column="x", other=True, missing=True)
    assert plain.choices == "a, b, …, e, all others or missing"
    assert plain.labels[-2:] == ["other", "missing"]
    taken = dv.Domain.categories(["all others"], column="x", other=True)
    assert taken.choices == "all others or other"
