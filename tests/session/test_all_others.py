"""Known labels and one bin for all others: in products, parts, tables that agree and lists, on every engine."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import dpviz as dv
from dpviz.errors import DomainError, ReleaseFormat
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
        assert release[month, "other"] == truth(month) > 0
        with pytest.raises(DomainError, match='"other" is the bin of all others'):
            release[month, "GUM"]  # one of them, of which nothing was released
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


WILD = dv.Domain.categories(["north", "east"], column="region", other=True, missing=True)
NUMBERS = dv.Domain.integers(0, 3, column="visits", underflow=True, overflow=True, missing=True)
BINS = Question.of(WILD * NUMBERS)
"""Every kind of bin beside the declared ones."""

ASKED = {
    "a table": lambda lesson: lesson.draw(BINS, dv.Dense(1)),
    "a sparse table": lambda lesson: lesson.draw(BINS, dv.Threshold(1, delta="1e-6")),
    "a compact table": lambda lesson: lesson.draw(BINS, dv.Compact(1, cap=30)),
    "a sketch": lambda lesson: lesson.draw(BINS, dv.ALP(1, cap=30, keys=30)),
    "buckets": lambda lesson: lesson.draw(BINS, dv.MaxProjection(1, cap=30, keys=30)),
    "two answers": lambda lesson: dv.combine(*(lesson.draw(BINS, dv.Dense(1)) for _ in "ab")),
}


def readers(answer: object) -> dict[str, Callable[[tuple[object, object]], object]]:
    """Every free call that takes the label of a bin, where the answer has it."""
    calls: dict[str, Callable[[tuple[object, object]], object]] = {
        "release[...]": lambda label: answer[label],  # type: ignore[index]
        "value": lambda label: answer.value(label),  # type: ignore[attr-defined]
        "many": lambda label: answer.many([label]),  # type: ignore[attr-defined]
        "sum": lambda label: answer.sum([label]),  # type: ignore[attr-defined]
        "difference": lambda label: answer.difference([label], [("north", 0)]),  # type: ignore[attr-defined]
        "share": lambda label: answer.share([label], [label, ("north", 0)]),  # type: ignore[attr-defined]
        "compare": lambda label: answer.compare([label], [("north", 0)]),  # type: ignore[attr-defined]
    }
    names = {"release[...]": "__getitem__"}
    return {name: call for name, call in calls.items() if hasattr(answer, names.get(name, name))}


@pytest.mark.parametrize("name", ASKED)
def test_no_call_reads_a_bin_of_others_for_a_label_that_was_not_declared(name: str) -> None:
    data = pd.DataFrame({"region": ["north", "weast", None, "east"], "visits": [0, 99, 2, -4]})
    answer = ASKED[name](dv.teaching(data, 4))
    found = readers(answer)
    assert found
    for read in found.values():
        for label in [("norht", 1), ("west", 1), ("north", 99), ("north", -1), ("all others", 1)]:
            with pytest.raises(DomainError):
                read(label)
    with pytest.raises(DomainError, match="did you mean north?"):
        found["sum"](("norht", 1))
    with pytest.raises(DomainError, match='name the bin of all such numbers: "over 3"'):
        found["sum"](("north", 99))
    for label in [("other", "over 3"), ("missing", "under 0"), ("other", "missing")]:
        try:
            found["sum"](label)
        except ReleaseFormat as refused:
            assert "nothing is proved about sums" in str(refused)


def test_lists_of_labels_are_refused_where_one_was_not_declared() -> None:
    """Queries, parts, labels that stand for what lies outside, and draws that are watched."""
    data = pd.DataFrame({"region": ["north", "weast", None, "east"], "visits": [0, 99, 2, -4]})
    lesson = dv.teaching(data, 4)
    tables = lesson.draw(BINS, dv.Marginals(1))
    asked: list[Callable[[str], object]] = [
        lambda label: tables.sum([{"region": label, "visits": 1}]),
        lambda label: lesson.draw(WILD, dv.Dense(1))[label],
        lambda label: lesson.draw(WILD, dv.Queries(1, {"one": [label]})),
        lambda label: lesson.draw(dv.Question.records([WILD], otherwise={"region": label}), dv.SampleCategory(1)),
        lambda label: lesson.draw(WILD, dv.Dense(1), times=2).misses(bin=label),
    ]
    for ask in asked:
        with pytest.raises(DomainError):
            ask("norht")
    for ask in asked:
        ask("other")
