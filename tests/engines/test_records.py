"""Records, engine by engine: every row that passes is one, whatever its cells hold, and no more leaves than needed."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest

from dpviz.engines.ibis_source import _of_table
from dpviz.errors import DomainError, ParameterError, ReleaseFailed
from dpviz.model.domain import Domain
from dpviz.model.question import Question
from dpviz.model.source import Source
from dpviz.model.statistic import ColumnOnes, DenseCounts, RecordBits, SparseCounts, StatisticKind, Top
from dpviz.privacy.unit import Unit
from tests.engines import engines
from tests.engines.contract import Engine

KIND = Domain.categories(["x", "y", "z"], column="kind")
SEEN = Domain.integers(0, 1, column="seen")
AGE = Domain.integers(1, 3, column="age", overflow=True)
KINDS: list[Any] = ["x", "y", "elsewhere", None]
SEENS: list[Any] = [0, 1, 7, None]
AGES: list[Any] = [1, 3, 99, -1, None]
FRAME = pd.DataFrame(
    [(*row, f"u{at % 7}") for at, row in enumerate(itertools.product(KINDS, SEENS, AGES))] + [("y", 1, 2, "u1")] * 5,
    columns=["kind", "seen", "age", "who"],
)
ROWS = Unit(relation="replace-one", n=len(FRAME))

BITS = 70
WIDE = pd.DataFrame(
    {f"b{at}": [(row * (at + 3)) % 5 - 1 for row in range(41)] for at in range(BITS)} | {"row": range(41)}
)


SOURCES: dict[str, Callable[[pd.DataFrame], Source]] = {
    "pandas": lambda frame: engines.pandas(frame, "data", None),
    "DuckDB": lambda frame: engines.shared(frame, "data", None),
}


def record(row: Any, otherwise: dict[str, int]) -> tuple[int, ...]:
    """The record of a row, by the definition: what lies outside is what stands for it."""
    kind = {"x": 0, "y": 1, "z": 2}.get(row.kind, otherwise.get("kind", 0))
    seen = int(row.seen) if row.seen in (0, 1) else otherwise.get("seen", 0)
    age = int(row.age) - 1 if row.age in (1, 2, 3) else 3 if row.age > 3 else otherwise.get("age", 0)
    return kind, seen, age


@pytest.mark.parametrize("engine", SOURCES)
@pytest.mark.parametrize("otherwise", [{}, {"kind": 2, "seen": 1}, {"age": 2}], ids=["the first", "two", "a number"])
def test_every_row_is_one_record_and_what_lies_outside_counts_as_what_was_declared(
    engine: str, otherwise: dict[str, int]
) -> None:
    labels = {"kind": ["x", "y", "z"], "seen": [0, 1], "age": [1, 2, 3]}
    question = Question.records(
        [KIND, SEEN, AGE], otherwise={name: labels[name][bin] for name, bin in otherwise.items()}
    )
    expected = Counter(
        (kind * 2 + seen) * 4 + age for kind, seen, age in (record(row, otherwise) for row in FRAME.itertuples())
    )
    source = SOURCES[engine](FRAME)
    dense = source.count(question, ROWS, StatisticKind.DENSE)
    assert isinstance(dense, DenseCounts)
    assert dense.take().tolist() == [expected[bin] for bin in range(24)] and dense.take().sum() == len(FRAME)
    sparse = source.count(question, ROWS, StatisticKind.SPARSE)
    assert isinstance(sparse, SparseCounts)
    found = dict(zip(*(part.tolist() for part in sparse.take()), strict=True))
    assert found == {bin: count for bin, count in expected.items() if count}
    dropped = source.count(Question.of(question.domain), ROWS, StatisticKind.DENSE)
    assert dropped.take().sum() < len(FRAME)  # a question that counts leaves such rows out


@pytest.mark.parametrize("engine", SOURCES)
def test_replacing_any_row_by_any_other_moves_one_record(engine: str) -> None:
    question = Question.records([KIND, SEEN], otherwise={"kind": "z"})
    cells = list(itertools.product(KINDS, SEENS))
    found = {}
    for cell in cells:
        frame = pd.DataFrame([("y", 1), cell], columns=["kind", "seen"])
        found[cell] = (
            SOURCES[engine](frame).count(question, Unit(relation="replace-one", n=2), StatisticKind.DENSE).take()
        )
    for one, other in itertools.product(found.values(), repeat=2):
        assert np.abs(one - other).sum() in (0, 2) and one.sum() == 2


@pytest.mark.parametrize("engine", SOURCES)
def test_a_user_counts_with_one_record_that_no_other_user_moves(engine: str) -> None:
    question = Question.records([KIND, SEEN], otherwise={"kind": "z"})
    unit = Unit("who")
    whole = SOURCES[engine](FRAME).count(question, unit, StatisticKind.DENSE).take()
    assert whole.sum() == FRAME.who.nunique()
    for user in FRAME.who.unique():
        without = SOURCES[engine](FRAME[FRAME.who != user]).count(question, unit, StatisticKind.DENSE).take()
        assert sorted((whole - without).tolist()) == [0] * 5 + [1]
    shuffled = SOURCES[engine](FRAME.sample(frac=1, random_state=3)).count(question, unit, StatisticKind.DENSE).take()
    assert shuffled.tolist() == whole.tolist()  # which record a user keeps does not depend on the order of the rows


@pytest.mark.parametrize("engine", SOURCES)
def test_bits_come_packed_and_only_their_sums_where_no_more_is_needed(engine: str) -> None:
    question = Question.records([Domain.integers(0, 1, column=f"b{at}") for at in range(BITS)], otherwise={"b3": 1})
    unit = Unit(relation="replace-one", n=len(WIDE))
    expected = np.stack([(WIDE[f"b{at}"] == 1) | ((at == 3) & ~WIDE[f"b{at}"].isin([0, 1])) for at in range(BITS)], 1)
    source = SOURCES[engine](WIDE)
    ones = source.count(question, unit, StatisticKind.ONES)
    assert isinstance(ones, ColumnOnes) and ones.take()[0].tolist() == expected.sum(0).tolist()
    assert ones.take()[1] == len(WIDE)
    rows = source.count(question, unit, StatisticKind.BITS)
    assert isinstance(rows, RecordBits) and rows.columns == BITS and rows.take().shape == (len(WIDE), 9)
    assert sorted(map(bytes, rows.take())) == sorted(map(bytes, np.packbits(expected, axis=1)))
    assert "41" not in repr(rows) and "[" not in repr(ones)


@pytest.mark.parametrize("engine", SOURCES)
def test_a_table_without_rows_has_no_ones_and_no_records(engine: str) -> None:
    question = Question.records([Domain.integers(0, 1, column=name) for name in ("b0", "b1")])
    unit, source = Unit(relation="replace-one", n=5), SOURCES[engine](WIDE[:0])
    ones, records = source.count(question, unit, StatisticKind.ONES).take()
    assert ones.tolist() == [0, 0] and records == 0
    assert source.count(question, unit, StatisticKind.BITS).take().shape == (0, 1)


@pytest.mark.parametrize("engine", [engines.csv, engines.parquet, engines.duckdb])
def test_a_csv_file_and_a_parquet_file_hold_the_same_records(engine: Engine) -> None:
    question = Question.records([KIND, SEEN], otherwise={"kind": "z"})
    expected = SOURCES["pandas"](FRAME).count(question, ROWS, StatisticKind.DENSE).take().tolist()
    source = engine(FRAME, "data", None)
    assert source.count(question, ROWS, StatisticKind.DENSE).take().tolist() == expected
    ones, records = source.count(Question.records([SEEN]), ROWS, StatisticKind.ONES).take()
    assert ones.tolist() == [sum(expected[1::2])] and records == len(FRAME)


@pytest.mark.parametrize("engine", SOURCES)
@pytest.mark.parametrize("need", [StatisticKind.ONES, StatisticKind.BITS])
def test_bits_of_anything_else_than_all_rows_of_bits_are_refused_before_a_row_is_read(
    engine: str, need: StatisticKind
) -> None:
    source = SOURCES[engine](FRAME)
    bits = Question.records([SEEN])
    source.check(bits, ROWS, need)
    cases: list[tuple[Question, Unit, str]] = [
        (Question.of(SEEN), ROWS, "draws records"),
        (Question.records([SEEN, KIND]), ROWS, "two labels each"),
        (Question.records([SEEN], where={"age": 1}), ROWS, "all rows of the table"),
        (bits, Unit("who"), "a record for each row of the table"),
    ]
    for question, unit, rule in cases:
        for ask in (source.check, source.count):
            with pytest.raises((ParameterError, DomainError), match=rule):
                ask(question, unit, need)
    with pytest.raises(ParameterError, match="counts rows"):
        source.check(bits, ROWS, Top(2))


def test_what_is_no_table_of_bits_is_refused() -> None:
    for rows, need in [
        ([(2,)], StatisticKind.BITS),
        ([(-1,)], StatisticKind.BITS),
        ([("1",)], StatisticKind.BITS),
        ([(1, 1)], StatisticKind.BITS),
        ([np.array([1]), np.array([1])], StatisticKind.BITS),
        ([(1,), (1,)], StatisticKind.ONES),
        ([(-1, 1)], StatisticKind.ONES),
        ([(2, 1)], StatisticKind.ONES),
        ([(1,)], StatisticKind.ONES),
    ]:
        assert _of_table(rows, 1, need) is None
    found = _of_table([(1,), (0,)], 1, StatisticKind.BITS)
    assert found is not None and found.take().tolist() == [[128], [0]]


@pytest.mark.parametrize("engine", SOURCES)
def test_where_a_row_comes_or_goes_bits_may_be_those_of_some_rows(engine: str) -> None:
    """How many rows pass a filter is private there, and comes with the sums."""
    question = Question.records([SEEN, Domain.integers(1, 2, column="age")], where={"kind": "x"}, otherwise={"age": 2})
    some = FRAME[FRAME.kind == "x"]
    bits = np.stack([some.seen == 1, some.age != 1], axis=1)
    ones, records = SOURCES[engine](FRAME).count(question, Unit(), StatisticKind.ONES).take()
    assert ones.tolist() == bits.sum(0).tolist() and records == len(some) < len(FRAME)
    table = SOURCES[engine](FRAME).count(question, Unit(), StatisticKind.BITS).take()
    assert sorted(map(bytes, table)) == sorted(map(bytes, np.packbits(bits, axis=1)))


def test_an_engine_that_answers_something_else_gives_no_statistic(monkeypatch: pytest.MonkeyPatch) -> None:
    source = SOURCES["DuckDB"](FRAME)
    monkeypatch.setattr("dpviz.engines.queries.DuckDB.table", lambda self, query, stopped: [(1, 2, 3)])
    with pytest.raises(ReleaseFailed, match="withheld"):
        source.count(Question.records([SEEN]), ROWS, StatisticKind.BITS)


def test_a_source_of_a_frame_serves_records_of_more_labels_than_64_bits_number() -> None:
    columns = [Domain.integers(0, 2**40, column=name) for name in ("seen", "age")]
    sparse = SOURCES["pandas"](FRAME).count(Question.records(columns), ROWS, StatisticKind.SPARSE)
    assert sparse.take()[1].sum() == len(FRAME)
