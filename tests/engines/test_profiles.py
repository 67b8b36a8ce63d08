"""How many users have rows in 1, 2, … bins: every engine counts the same, before any limit, and one user moves one
class by one."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pandas as pd
import pytest

from dpviz.errors import DpvizError, ParameterError, SchemaError, UnitError
from dpviz.model.domain import Domain
from dpviz.model.question import Between, Question
from dpviz.model.statistic import DenseCounts, StatisticKind
from dpviz.privacy.unit import Unit
from tests.engines import contract, engines

ENGINES = pytest.mark.parametrize("engine", [engines.pandas, engines.shared], ids=["pandas", "DuckDB"])
UNIT = Unit("user", max_bins=2, max_records=1)
MONTHS = Domain.integers(1, 12, column="month")
DEST = Domain.keys(column="dest")
Cell = Callable[[Any], Any]


def month(row: Any) -> Any:
    return row.month if not pd.isna(row.month) and 1 <= row.month <= 12 else None


def dest(row: Any) -> Any:
    return None if pd.isna(row.dest) else row.dest


def both(row: Any) -> Any:
    return None if month(row) is None or dest(row) is None else (row.month, row.dest)


def delay(row: Any) -> Any:
    if pd.isna(row.delay):
        return "missing"
    return "low" if 0 <= row.delay < 1 else "high" if 1 <= row.delay <= 2 else None


BINS: dict[str, tuple[Domain, Cell]] = {
    "months": (MONTHS, month),
    "intervals with missing values": (Domain.intervals([0, 1, 2], column="delay", missing=True), delay),
    "keys": (DEST, dest),
    "months and keys": (MONTHS * DEST, both),
    "many bins": (Domain.integers(0, 10**9, column="month"), lambda row: None if pd.isna(row.month) else row.month),
}
FILTERS: dict[str, tuple[dict[str, Any], Callable[[Any], bool]]] = {
    "all rows": ({}, lambda _: True),
    "some rows": ({"gate": Between(0, 1)}, lambda row: 0 <= row.gate <= 1),
    "no rows": ({"gate": 77}, lambda row: False),
}


def rows(chance: np.random.Generator, many: int) -> pd.DataFrame:
    return pd.DataFrame(
        {
            "month": pd.array([None if one > 13 else one for one in chance.integers(0, 15, many)], dtype="Int64"),
            "dest": chance.choice(np.array(["ATL", "atl", "a · b", "~|x", "", None], dtype=object), many),
            "gate": chance.integers(-2, 3, many),
            "delay": chance.choice([-1.0, 0.0, 0.25, 1.0, 2.5, np.nan], many),
            "user": chance.choice(np.array(["u", "v", "w", "x", "y", "z", None], dtype=object), many),
        }
    )


def touched(frame: pd.DataFrame, cell: Cell, passes: Callable[[Any], bool]) -> list[int]:
    """The number of bins of each user, row by row."""
    found: dict[str, set[Any]] = {}
    for row in frame.itertuples():
        if not pd.isna(row.user) and passes(row) and cell(row) is not None:
            found.setdefault(row.user, set()).add(cell(row))
    return [len(bins) for bins in found.values()]


def counted(source: Any, question: Question, unit: Unit = UNIT) -> list[int]:
    source.check(question, unit, StatisticKind.DENSE)
    statistic = source.count(question, unit, StatisticKind.DENSE)
    assert isinstance(statistic, DenseCounts)
    counts: list[int] = statistic.take().tolist()
    return counts


def cases(domain: Domain, most: int) -> Iterator[tuple[Question, Callable[[int], int | None]]]:
    """Profiles of a domain, and the class of a user in so many bins."""
    yield Question.contribution_profile(domain, most=most), lambda k: min(k, most + 1) - 1
    if domain.declared and domain.size <= 100:
        yield Question.contribution_profile(domain), lambda k: k - 1
        yield Question.contribution_profile(domain, over=1), lambda k: 0 if k > 1 else None


def as_counted_by_hand(engine: contract.Engine, rounds: int, names: tuple[str, ...] = tuple(BINS)) -> None:
    """Every profile of random rows, compared with the count of each user's bins one row after the other."""
    chance = np.random.default_rng(35)
    for round_ in range(rounds):
        frame = rows(chance, int(chance.choice([20, 30, 90])))
        source = engine(frame, "flights", None)
        for name in names:
            domain, cell = BINS[name]
            where, passes = list(FILTERS.values())[round_ % len(FILTERS)]
            for made, class_of in cases(domain, 2):
                asked = Question(made.domain, where, made.aggregate)
                due = [0] * asked.bins
                for k in touched(frame, cell, passes):
                    place = class_of(k)
                    if place is not None:
                        due[place] += 1
                assert counted(source, asked) == due, (name, where, asked.text)


@ENGINES
def test_a_profile_counts_the_bins_of_each_user_before_any_limit(engine: contract.Engine) -> None:
    as_counted_by_hand(engine, 9)


@ENGINES
def test_one_user_more_moves_one_class_by_one_and_no_limit_plays_a_part(engine: contract.Engine) -> None:
    chance = np.random.default_rng(36)
    asked, far = Question.contribution_profile(MONTHS), 0
    for _ in range(8):
        frame = rows(chance, 60)
        more = rows(chance, 40).assign(user="new")
        before = np.array(counted(engine(frame, "flights", None), asked))
        after = np.array(counted(engine(pd.concat([frame, more]), "flights", None), asked))
        assert np.abs(after - before).sum() == (touched(more, month, lambda _: True) != [])
        assert counted(engine(frame, "flights", None), asked, Unit("user", max_bins=12)) == before.tolist()
        pairs = more.dropna(subset=["month"]).groupby("month").size()
        far = max(far, int((pairs > 0).sum()))
    assert far > 2, "a histogram of rows in each pair of a user and a bin would move by as much, and pass"


@ENGINES
def test_shuffled_rows_and_renamed_users_have_the_same_profile_and_a_split_user_another(
    engine: contract.Engine,
) -> None:
    frame = rows(np.random.default_rng(37), 80)
    asked = Question.contribution_profile(MONTHS)
    due = counted(engine(frame, "flights", None), asked)
    renamed = frame.sample(frac=1, random_state=1).assign(
        user=lambda one: one.user.map(lambda name: f"{name}!", "ignore")
    )
    assert counted(engine(renamed, "flights", None), asked) == due
    split = frame.assign(user=[name and f"{name}{at % 2}" for at, name in enumerate(frame.user)])
    assert counted(engine(split, "flights", None), asked) != due


@pytest.mark.parametrize(
    ("ask", "error", "words"),
    [
        (lambda: Question.contribution_profile(MONTHS, over=12), ParameterError, "below the number of declared bins"),
        (lambda: Question.contribution_profile(MONTHS, over=0), ParameterError, "over must be a whole number"),
        (lambda: Question.contribution_profile(MONTHS, over=3, most=4), ParameterError, "one class"),
        (lambda: Question.contribution_profile(MONTHS, most=13), ParameterError, "from 1 to 12"),
        (lambda: Question.contribution_profile("dest"), ParameterError, "give most="),
        (lambda: Question.contribution_profile("dest", over=3), ParameterError, "declare the bins"),
        (lambda: Question.contribution_profile(3), ParameterError, "give dv.Domain"),
        (lambda: Question.contribution_profile(MONTHS).resolved(Unit()), UnitError, "rows have no profile"),
    ],
)
def test_bad_profiles_are_refused(ask: Callable[[], Any], error: type[DpvizError], words: str) -> None:
    with pytest.raises(error, match=words):
        ask()


@ENGINES
def test_an_engine_refuses_profiles_of_columns_that_are_not_there_and_of_rows(engine: contract.Engine) -> None:
    source = engine(rows(np.random.default_rng(1), 9), "flights", None)
    elsewhere = Question.contribution_profile(Domain.integers(1, 3, column="week"))
    with pytest.raises(SchemaError, match="week"):
        source.check(elsewhere, UNIT, StatisticKind.DENSE)
    with pytest.raises(ParameterError, match="counts users in each class"):
        source.check(Question.contribution_profile(MONTHS), Unit(), StatisticKind.DENSE)
    with pytest.raises(ParameterError, match="counts every bin"):
        source.check(Question.contribution_profile(MONTHS), UNIT, StatisticKind.SPARSE)
