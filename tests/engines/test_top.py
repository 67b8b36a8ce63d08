"""The largest counts: the same on every engine, and moved little by one user. Twins that are nearly right fail."""

from __future__ import annotations

import functools
import uuid
from collections import Counter
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpviz import datasets
from dpviz.model.domain import Domain
from dpviz.model.question import Between, Question
from dpviz.model.statistic import Column
from dpviz.privacy.unit import Unit
from tests.engines import contract, engines, reference
from tests.engines.frames import frames, units, wide_questions
from tests.engines.test_pandas import kinds_of
from tests.soak.amounts import part

TEXTS = Column("bin", "text"), Column("user", "text")
KEYS = Question.of(Domain.keys(column="bin"))

# ---------------------------------------------------------------- pandas and DuckDB


@settings(max_examples=part(300, 80))
@given(st.data())
def test_the_largest_counts_of_a_frame_are_those_of_the_reference(data: st.DataObject) -> None:
    frame, _ = data.draw(frames())
    kinds = kinds_of(frame, {})
    question, unit = data.draw(wide_questions(kinds)), data.draw(units)
    columns = engines.pandas(frame, "data", None).columns
    rows = data.draw(st.integers(1, 4))
    contract.top_as_the_reference(contract.topper(engines.pandas), frame, columns, question, unit, rows)


@pytest.mark.parametrize("relation", ["add-remove", "replace-one"])
@pytest.mark.parametrize(("max_bins", "max_per_bin"), [(1, 1), (2, 1), (1, 2), (None, 1)])
@pytest.mark.parametrize("kbar", [1, 2])
def test_one_user_moves_few_of_the_largest_in_pandas(
    relation: Any, max_bins: int | None, max_per_bin: int, kbar: int
) -> None:
    unit = Unit("user", relation=relation, max_bins=max_bins, max_per_bin=max_per_bin)
    pairs = contract.one_user_moves_few_of_the_largest(contract.topper(engines.kept), unit, kbar)
    assert pairs == (100 if relation == "add-remove" else 1_000)


def test_one_user_moves_few_of_the_largest_in_duckdb() -> None:
    """With the same counts of every frame as in pandas."""
    top, same = contract.topper(engines.refilled), contract.topper(engines.kept)

    def both(frame: pd.DataFrame, question: Question, unit: Unit, rows: int) -> contract.Largest:
        found = top(frame, question, unit, rows)
        assert found == same(frame, question, unit, rows)
        return found

    unit = Unit("user", max_bins=1, max_per_bin=2)
    assert contract.one_user_moves_few_of_the_largest(both, unit, 1) == 100


FLIGHTS = [
    Question.of(Domain.keys(column="destination")),
    Question.of(Domain.keys(column="destination"), {"scheduled_minute": Between(100_000, "200000.5")}),
    Question.of(Domain.keys(column="aircraft"), {"destination": ["BOS", "LAX"]}),
    Question.of(Domain.keys(column="scheduled_minute"), {"destination": "HNL"}),
    Question.of(Domain.categories(["LAX", "BOS", "XXX"], column="destination", other=True)),
    Question.of(
        Domain.intervals(range(0, 525_601, 43_800), column="scheduled_minute")
        * Domain.categories(["LAX", "BOS"], column="destination", other=True)
    ),
]


@pytest.mark.parametrize("name", ["parquet", "csv", "duckdb"])
def test_the_largest_counts_of_the_flights_are_those_of_pandas(name: str) -> None:
    frame = datasets.flights()
    engine = {**engines.HERE, "csv": engines.csv}[name]
    same, source = engines.pandas(frame, "flights", None), engine(frame, "flights", None)
    units = [Unit("aircraft", max_bins=bins) for bins in (1, 5, None)] + [
        Unit(),
        Unit("aircraft", "replace-one", "", 5, 3),
    ]
    for number, question in enumerate(FLIGHTS):
        for place, unit in enumerate(units if name == "parquet" else units[1:2]):
            sizes = (10, 100) if part(2, 1) == 2 else ((10, 100)[(number + place) % 2],)
            for rows in sizes:
                found = contract.largest(source, question, unit, rows)
                assert found == contract.largest(same, question, unit, rows)
                assert len(found[0]) > 0


def test_the_ten_most_common_destinations_by_hand() -> None:
    frame = datasets.flights()
    users = frame.groupby("destination")["aircraft"].nunique()
    expected = sorted(users.items(), key=lambda pair: (-pair[1], pair[0]))
    for engine in (engines.pandas, engines.parquet):
        source = engine(frame, "flights", None)
        items, counts, after = contract.largest(source, FLIGHTS[0], Unit("aircraft", max_bins=None), 10)
        assert [*zip(items, counts, strict=True)] == expected[:10]
        assert after == expected[10][1]


def test_fewer_bins_than_asked_for_have_no_next_count() -> None:
    frame = pd.DataFrame({"bin": ["b", "a", "a"], "user": ["u", "v", "w"]})
    for engine in engines.HERE.values():
        for rows, after in ((1, 1), (2, 0), (9, 0)):
            items, counts, found = contract.largest(engine(frame, "data", None), KEYS, Unit("user"), rows)
            assert (items, counts, found) == (["a", "b"][:rows], [2, 1][:rows], after)
        nothing = contract.largest(engine(frame, "data", None), Question.of(KEYS.domain, {"bin": "c"}), Unit("user"), 1)
        assert nothing == ([], [], 0)


def test_equal_counts_come_by_code_point() -> None:
    texts = ["z", "Z", "a", "ä", "\uffff", "\U0001f600", "", "B", "a "]
    frame = pd.DataFrame({"bin": texts, "user": ["u"] * len(texts)})
    for engine in engines.HERE.values():
        items, _, _ = contract.largest(engine(frame, "data", None), KEYS, Unit("user", max_bins=None), 9)
        assert items == sorted(texts)


# ---------------------------------------------------------------- twins in SQL that are nearly right


TWINS = duckdb.connect(config={"threads": 1})


@functools.lru_cache(1000)
def numbered(same: engines.Same) -> str:
    """A table of a frame's rows and their places, which all twins read."""
    table = f"rows_{uuid.uuid4().hex}"
    TWINS.register("given", same.frame)
    TWINS.execute(f"CREATE TABLE {table} AS SELECT row_number() OVER () AS place, * FROM given")
    return table


def twin(sql: str) -> contract.Topper:
    """A twin that is wrong on purpose: SQL over a table `rows` of `bin` and `user`, with places to fill in."""

    def top(frame: pd.DataFrame, question: Question, unit: Unit, rows: int) -> contract.Largest:
        most = 10**9 if unit.max_bins is None else unit.max_bins
        asked = sql.replace("FROM rows", f"FROM {numbered(engines.Same(frame))} AS rows")
        found = TWINS.execute(asked.format(rows=rows, limit=rows + 1, most=most, id=question.id)).fetchall()
        kept, after = found[:rows], found[rows:]
        return [item for item, _ in kept], [count for _, count in kept], after[0][1] if after else 0

    return top


BOUNDED = """
    WITH pairs AS (SELECT DISTINCT "user", bin FROM rows),
         placed AS (SELECT *, row_number() OVER (PARTITION BY "user" ORDER BY md5('{id}' || md5("user") || bin)) AS p
                    FROM pairs)
    SELECT bin, count(*) AS n FROM placed WHERE p <= {most} GROUP BY bin ORDER BY n DESC, bin LIMIT {limit}
"""
RIGHT = twin(BOUNDED)
WRONG = {
    "LIMIT kbar": twin(BOUNDED.replace("{limit}", "{rows}")),
    "ties by insertion": twin(
        BOUNDED.replace('DISTINCT "user", bin', '"user", bin, min(place) AS place')
        .replace("FROM rows)", 'FROM rows GROUP BY "user", bin)')
        .replace("ORDER BY n DESC, bin", "ORDER BY n DESC, min(place)")
    ),
    "rows instead of users": twin(
        "SELECT bin, count(*) AS n FROM rows GROUP BY bin ORDER BY n DESC, bin LIMIT {limit}"
    ),
    "bounding over all users": twin(BOUNDED.replace('PARTITION BY "user" ', "")),
    "bounding by popularity": twin(
        BOUNDED.replace(
            "md5('{id}' || md5(\"user\") || bin)", "(SELECT -count(*) FROM rows WHERE rows.bin = pairs.bin), bin"
        )
    ),
    "no bounding": twin(BOUNDED.replace("WHERE p <= {most}", "")),
}
ONE, TWO = Unit("user", max_bins=1), Unit("user", max_bins=2)
MOVED = {
    "LIMIT kbar": (TWO, "the next count is not the next count"),
    "rows instead of users": (TWO, "one unit moves one bin too far"),
    "bounding over all users": (ONE, "one unit"),
    "bounding by popularity": (ONE, "one unit"),
    "no bounding": (ONE, "one unit touches too many bins"),
}


def made(users: int, bins: int, seed: int) -> pd.DataFrame:
    """Users with some bins each, in no order."""
    numbers = np.random.default_rng(seed).integers(0, users * bins * 3, users * 4)
    return pd.DataFrame(
        {"bin": [f"bin {n % bins}" for n in numbers], "user": [f"user {n // bins % users}" for n in numbers]}
    )


def test_the_right_twin_passes() -> None:
    assert contract.one_user_moves_few_of_the_largest(RIGHT, ONE, 1) == 100
    assert contract.one_user_moves_few_of_the_largest(RIGHT, TWO, 1) == 100
    for rows in (1, 3, 9):
        contract.top_as_the_reference(RIGHT, made(20, 8, 1), TEXTS, KEYS, TWO, rows)


@pytest.mark.parametrize("name", MOVED)
def test_a_twin_that_one_user_moves_too_far_is_rejected(name: str) -> None:
    unit, says = MOVED[name]
    with pytest.raises(AssertionError, match=says):
        contract.one_user_moves_few_of_the_largest(WRONG[name], unit, 1)


@pytest.mark.parametrize("name", WRONG)
def test_a_twin_that_counts_otherwise_is_rejected(name: str) -> None:
    with pytest.raises(AssertionError, match="not those of the reference|order of the rows"):
        contract.top_as_the_reference(WRONG[name], made(20, 8, 1), TEXTS, KEYS, TWO, 7)


def test_approximate_counts_are_rejected() -> None:
    sketch = twin(
        'SELECT bin, approx_count_distinct("user") AS n FROM rows GROUP BY bin ORDER BY n DESC, bin LIMIT {limit}'
    )
    frame, unit = made(1_000, 2, 2), Unit("user", max_bins=None)
    exact = Counter(frame.drop_duplicates()["bin"])
    assert reference.top(reference.rows_of(frame), TEXTS, KEYS, unit, 1)[1] == [max(exact.values())]
    with pytest.raises(AssertionError, match="not those of the reference"):
        contract.top_as_the_reference(sketch, frame, TEXTS, KEYS, unit, 1)
