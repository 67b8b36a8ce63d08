"""Disjoint parts in every engine: one user counts in few of them, whatever is asked, and however it is chosen."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import replace

import pandas as pd
import pytest

from dpviz.engines import as_source
from dpviz.model.domain import Domain
from dpviz.model.partition import Partition
from dpviz.model.question import Question
from dpviz.model.source import Source
from dpviz.model.statistic import StatisticKind
from dpviz.privacy.unit import Unit
from tests.engines import engines

MONTHS = Domain.integers(0, 3, column="month")
ROWS = [(month, kind) for month in range(4) for kind in ("a", "b")]
"""What a row of the user may be. The other user has a row in each month."""

QUESTIONS = [
    Question(Domain.categories(["a", "b"], column="kind")),
    Question(Domain.keys(column="kind")),
    Question(Domain.categories(["a", "b"], column="kind"), {"kind": ["a"]}),
    Question(Domain.categories(["b"], column="kind")),
]
"""Of which the last two leave rows of the user out: what a unit keeps must not hang on it."""


def pandas(frame: pd.DataFrame) -> Source:
    return as_source(frame, name="data", schema=None)


def in_duckdb(frame: pd.DataFrame) -> Source:
    return engines.refilled(frame, "data", None)


ENGINES = {"pandas": pandas, "DuckDB": in_duckdb}
Answers = list[dict[int, dict[object, int]]]


def frames(most: int) -> Iterator[tuple[tuple[int, str], ...]]:
    for size in range(1, most + 1):
        yield from itertools.combinations(ROWS, size)


def frame(rows: tuple[tuple[int, str], ...]) -> pd.DataFrame:
    others = [("other", month, "a") for month in range(4)]
    return pd.DataFrame([*others, *(("one", *row) for row in rows)], columns=["user", "month", "kind"])


def answers(source: Source, by: Partition, unit: Unit) -> Answers:
    """Of each question the answer about each part."""
    asked = (replace(question, by=by).in_parts() for question in QUESTIONS)
    return [{part.part: counts(source, part, unit) for part in parts} for parts in asked]


def moved(source: Source, before: Answers, by: Partition, unit: Unit) -> list[set[int]]:
    """Of each question the parts whose answers a user moves."""
    pairs = zip(answers(source, by, unit), before, strict=True)
    return [{part for part in known if found[part] != known[part]} for found, known in pairs]


def counts(source: Source, question: Question, unit: Unit) -> dict[object, int]:
    labels, values = source.count(question, unit, StatisticKind.SPARSE).take()  # type: ignore[attr-defined]
    return dict(zip(labels.tolist(), values.tolist(), strict=True))


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("most", [1, 2])
def test_one_user_moves_few_parts_over_all_questions_together(engine: str, most: int) -> None:
    """Every question about every part, so also any that somebody chooses after seeing answers."""
    unit, by = Unit("user", max_bins=2), Partition(MONTHS, max_parts=most)
    without = answers(ENGINES[engine](frame(())), by, unit)
    few = 2 if engine == "DuckDB" else 4
    largest, alone = 0, 0
    for rows in itertools.islice(frames(few), 0, None, 3 if engine == "DuckDB" else 1):
        parts = moved(ENGINES[engine](frame(rows)), without, by, unit)
        together: set[int] = set().union(*parts)
        assert len(together) <= most
        largest, alone = max(largest, len(together)), max(alone, *map(len, parts))
    assert largest == alone == most, "and in as many as it may"


def test_a_salt_of_the_question_lets_one_user_move_more(monkeypatch: pytest.MonkeyPatch) -> None:
    """The twin: every question keeps as few parts as it should, and all together more."""
    monkeypatch.setattr(Question, "parts_salt", property(lambda question: question.id))
    unit, by = Unit("user", max_bins=2), Partition(MONTHS, max_parts=1)
    without = answers(pandas(frame(())), by, unit)
    parts = (moved(pandas(frame(rows)), without, by, unit) for rows in itertools.combinations(ROWS, 4))
    assert any(len(set().union(*found)) > 1 for found in parts)


def test_choosing_after_the_filter_lets_one_user_move_more() -> None:
    """The twin that chooses among the parts of the rows that pass: another filter, other parts."""
    unit, by = Unit("user", max_bins=2), Partition(MONTHS, max_parts=1)
    without = answers(pandas(frame(())), by, unit)

    def parts_of(kind: str, rows: tuple[tuple[int, str], ...]) -> set[int]:
        passing = tuple(row for row in rows if row[1] == kind)
        return set().union(*moved(pandas(frame(passing)), without, by, unit)) if passing else set()

    found = (parts_of("a", rows) | parts_of("b", rows) for rows in itertools.combinations(ROWS, 3))
    assert any(len(parts) > 1 for parts in found)


def test_without_a_limit_every_row_is_in_its_part() -> None:
    data = frame(tuple(ROWS))
    question = Question(Domain.keys(column="kind"), by=Partition(MONTHS))
    for unit in (Unit(), Unit("user", max_bins=2)):
        for part in question.in_parts():
            expected = {"a": 2, "b": 1}
            assert counts(pandas(data), part, unit) == counts(in_duckdb(data), part, unit) == expected


def test_engines_keep_the_same_parts() -> None:
    data = pd.concat([frame(tuple(ROWS)).assign(user=f"user {at}") for at in range(40)], ignore_index=True)
    unit, question = Unit("user", max_bins=1), Question(Domain.keys(column="kind"), by=Partition(MONTHS, max_parts=2))
    one, other = pandas(data), in_duckdb(data)
    found = [counts(one, part, unit) for part in question.in_parts()]
    assert found == [counts(other, part, unit) for part in question.in_parts()]
    assert sum(sum(part.values()) for part in found) == 2 * 40


def test_rows_outside_every_part_take_no_part_from_a_user() -> None:
    rows = [("one", month, "a") for month in (-1, 9, 2, None)]
    data = pd.DataFrame(rows, columns=["user", "month", "kind"])
    unit, by = Unit("user", max_bins=1), Partition(MONTHS, max_parts=1)
    parts = Question(Domain.keys(column="kind"), by=by).in_parts()
    for engine in (pandas, in_duckdb):
        assert [counts(engine(data), part, unit) for part in parts] == [{}, {}, {"a": 1}, {}]
