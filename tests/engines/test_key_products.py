"""Unknown keys among declared columns: every engine finds the same bins, and a unit's bounds are over whole bins."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
import pytest

from dpviz.engines.occupied import _led
from dpviz.errors import DomainError, ParameterError, SchemaError
from dpviz.mechanisms import Dense, PureSparse, Sorted, Tree
from dpviz.model.domain import Domain
from dpviz.model.mechanism import Mechanism
from dpviz.model.partition import Partition
from dpviz.model.question import Between, Question
from dpviz.model.source import Source
from dpviz.model.statistic import StatisticKind, Top
from dpviz.privacy.unit import Unit
from tests.engines import contract, engines, sums
from tests.soak.amounts import part

ENGINES = pytest.mark.parametrize("engine", [engines.pandas, engines.shared], ids=["pandas", "DuckDB"])
FILLED = pytest.mark.parametrize("engine", [engines.kept, engines.refilled], ids=["pandas", "DuckDB"])
MONTHS = Domain.integers(1, 12, column="month")
DEST = Domain.keys(column="dest")
BY_MONTH = MONTHS * DEST
PRODUCTS = {
    "a key last": BY_MONTH,
    "a key first, with a bin beside": DEST * Domain.integers(1, 6, column="month", overflow=True, missing=True),
    "keys that are numbers": MONTHS * Domain.keys(column="gate"),
    "keys alone": DEST * Domain.keys(column="airline"),
    "two keys around": DEST * Domain.categories([0, 1], column="gate", other=True) * Domain.keys(column="airline"),
    "intervals": Domain.intervals([0, "1/2", 2], column="delay", missing=True) * DEST,
    "one bin": Domain.integers(3, 3, column="month") * DEST,
}
UNITS = [
    Unit(),
    Unit("user", max_bins=1),
    Unit("user", max_bins=2, max_per_bin=3),
    Unit("user", max_bins=3, max_per_bin=2, max_records=4),
    Unit("user"),
]
ODD = ["ATL", "atl", "BOS", "a · b", "~|x", '"q"', "", "ä", "a\u0308", "A ", "1", "01"]


def rows(chance: np.random.Generator, many: int) -> pd.DataFrame:
    """Flights with destinations and airlines that hold every sign which stands between labels."""
    return pd.DataFrame(
        {
            "month": pd.array([None if month > 13 else month for month in chance.integers(0, 15, many)], dtype="Int64"),
            "dest": chance.choice(np.array([*ODD, None], dtype=object), many),
            "airline": chance.choice(np.array(["x|y", "~0", "~", "z", None], dtype=object), many),
            "gate": chance.integers(-2, 3, many),
            "delay": chance.choice([-1.0, 0.0, 0.25, 0.5, 2.0, 2.5, np.nan], many),
            "user": chance.choice(np.array(["u", "v", "w", None], dtype=object), many),
        }
    )


def every_second(asked: list[Any]) -> Iterator[Any]:
    """Each product with each unit, with the filter or without it in turn."""
    return (pair[number % 2] for number, pair in enumerate(zip(asked[::2], asked[1::2], strict=True)))


def counted_alike(engine: contract.Engine, frame: pd.DataFrame) -> int:
    """Every product and unit against the reference, with a filter and without. How many bins were not empty."""
    found, top = 0, contract.topper(engine)
    columns = engine(frame, "data", None).columns
    asked = list(itertools.product(PRODUCTS.values(), UNITS, (None, {"delay": Between(low=0)})))
    for domain, unit, where in asked if part(2, 1) == 2 else every_second(asked):
        question = Question.of(domain, where)
        found += len(contract.sparse_as_the_reference(engine, frame, question, unit))
        contract.top_as_the_reference(top, frame, columns, question, unit, 4)
    return found


@FILLED
def test_keys_among_declared_columns_are_counted_as_the_reference_counts_them(engine: contract.Engine) -> None:
    assert counted_alike(engine, rows(np.random.default_rng(3), 200)) > part(500, 250)


@ENGINES
def test_a_table_in_which_no_row_has_a_bin_has_no_bins(engine: contract.Engine) -> None:
    frame = rows(np.random.default_rng(4), 20).assign(dest=pd.Series([None] * 20, dtype="str"))
    for unit in UNITS:
        assert contract.sparse_as_the_reference(engine, frame, Question.of(BY_MONTH), unit) == []
        assert contract.largest(engine(frame, "data", None), Question.of(BY_MONTH), unit, 3) == ([], [], 0)


@ENGINES
def test_sums_over_keys_among_declared_columns_are_those_of_the_reference(engine: contract.Engine) -> None:
    frame = rows(np.random.default_rng(5), 150)
    for domain, unit in itertools.product((BY_MONTH, PRODUCTS["two keys around"]), UNITS):
        question = Question.sum("delay", by=domain, low=-1, high=2, step="1/4")
        assert sums.sums_as_the_reference(engine(frame, "data", None), frame, question, unit)


@ENGINES
def test_one_user_moves_whole_bins_and_not_keys(engine: contract.Engine) -> None:
    """A user with one key in twelve months counts in `max_bins` of them; another key of theirs takes its place."""
    frame = pd.DataFrame({"month": [*range(1, 13)] * 2, "dest": ["ATL"] * 12 + ["BOS"] * 12, "user": "u"})
    for most in (1, 2, 5):
        found = contract.sparse_as_the_reference(engine, frame, Question.of(BY_MONTH), Unit("user", max_bins=most))
        assert [count for _, count in found] == [1] * most


@ENGINES
def test_a_column_that_is_not_there_or_no_bin_is_refused(engine: contract.Engine) -> None:
    source = engine(rows(np.random.default_rng(6), 5), "data", None)
    with pytest.raises(SchemaError, match="must name columns that data has, got dest_"):
        source.check(Question.of(MONTHS * Domain.keys(column="dest_")), Unit(), StatisticKind.SPARSE)
    with pytest.raises(SchemaError, match="needs a column of numbers"):
        source.check(Question.of(Domain.integers(1, 2, column="dest") * Domain.keys(column="gate")), Unit(), Top(2))
    with pytest.raises(DomainError, match="needs declared bins"):
        source.check(Question.of(BY_MONTH), Unit(), StatisticKind.DENSE)


def test_floats_are_no_keys_for_an_sql_engine() -> None:
    source: Source = engines.shared(rows(np.random.default_rng(7), 5), "data", None)
    with pytest.raises(SchemaError, match="takes no keys and no users from a column of floats"):
        source.check(Question.of(MONTHS * Domain.keys(column="delay")), Unit(), StatisticKind.SPARSE)


def test_keys_make_no_parts_and_no_records() -> None:
    with pytest.raises(ParameterError, match="parts are the bins of a declared domain"):
        Partition(BY_MONTH)
    with pytest.raises(DomainError, match="records needs declared bins"):
        Question.records([MONTHS, DEST])


@pytest.mark.parametrize(
    "mechanism", [Dense("1"), Sorted("1"), PureSparse("1", cap=9), Tree("1")], ids=lambda m: m.name
)
def test_what_shows_empty_bins_refuses_them(mechanism: Mechanism) -> None:
    with pytest.raises(ParameterError, match=r"declare|numbers in a known order") as refused:
        mechanism.bind(Question.of(BY_MONTH), Unit("user", max_bins=2))
    assert refused.value.value and refused.value.next_step


def test_texts_that_begin_with_no_bin_are_not_taken_from_an_engine() -> None:
    import pyarrow

    assert _led(pyarrow.array(["00ATL", "11", "05x"]), BY_MONTH) and _led(pyarrow.array(["ATL"]), DEST)
    for wrong in ("12ATL", "1", "", "x1ATL", "²1ATL", "٠1ATL"):
        assert not _led(pyarrow.array(["00ATL", wrong]), BY_MONTH)
