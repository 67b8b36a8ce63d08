"""The border test: whatever holds a small table, the counts are those of plain Python, or types alone refuse them.

A difference prints the seed of its case, the container, the question and the table. `tests/soak/test_border.py` runs
100,000 questions.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

import dpviz as dv
from dpviz.engines import parquet_types, queries, sources
from dpviz.model.question import Question
from dpviz.privacy.unit import Unit
from tests.engines import border
from tests.engines.border import CONTAINERS, TYPES, Container, Different, case
from tests.engines.server import on_postgres
from tests.ledger.server import Server

TABLES = {"pandas": 40, "pandas of Arrow": 40}
"""Tables of each container, with some questions each; two of those for which an engine must start."""
POSTGRES = Container(
    sources.duckdb, ["int8", "int16", "int32", "int64", "float32", "float64", "bool", "text", "timestamp us"]
)


@pytest.mark.parametrize("name", CONTAINERS)
def test_counts_are_those_of_plain_python_or_refused_by_types(name: str) -> None:
    outcomes = [case(f"quick {at}", CONTAINERS[name], name, 6) for at in range(TABLES.get(name, 2))]
    answered, refused = (sum(column) for column in zip(*outcomes, strict=True))
    assert answered + refused == 6 * len(outcomes)
    assert answered >= len(outcomes), "too few questions were answered to have tested anything"


def test_counts_on_a_server_are_those_of_plain_python(server: Server) -> None:
    engine = on_postgres(server)
    held = replace(POSTGRES, opened=lambda given: engine(border.frame(given), "data", None))
    answered = sum(case(f"server {at}", held, "PostgreSQL")[0] for at in range(5))
    assert answered >= 5


@pytest.mark.parametrize("name", CONTAINERS)
def test_other_values_of_the_same_types_are_refused_and_answered_alike(name: str) -> None:
    """Without a value, and with missing ones alone: a refusal that a value decides would tell of it."""
    held, chance = CONTAINERS[name], random.Random(f"types of {name}")
    given = border.table(chance, held.types)
    columns = held.asked_as(given.types)
    asked = [(border.question(chance, columns), border.unit(chance)) for _ in range(6)]
    tables = [given, *(border.Table(given.types, dict.fromkeys(given.types, gaps)) for gaps in ([], [None, None]))]
    opened = [held.opened(one) for one in tables]
    for question, of in asked:
        outcomes = {border.answered(source, question, of) is None for source in opened}
        assert outcomes == {bool(border.refused(question, of, held, given.types))}, (question.text, given)


def test_every_type_and_every_kind_of_question_is_among_the_cases() -> None:
    chance, types, asked = random.Random(33), Counter[str](), Counter[str]()
    for held in CONTAINERS.values():
        for _ in range(40):
            given = border.table(chance, held.types)
            types.update(given.types.values())
            question = border.question(chance, held.asked_as(given.types))
            asked.update(one.kind for one in question.domain.factors)
            asked.update([type(question.aggregate).__name__, *(type(one).__name__ for one in question.where.values())])
            asked["a part"] += question.by is not None
    assert types.keys() == TYPES.keys()
    assert asked.keys() >= {"integers", "intervals", "categories", "keys", "times", "Sum", "Between", "a part"}
    assert min(asked.values()) > 5


def test_a_session_releases_what_was_counted() -> None:
    """The same counts through a session, with noise that moves none of them."""
    for name in ("pandas", "Arrow", "Parquet by pyarrow", "CSV"):
        held, chance = CONTAINERS[name], random.Random(f"session of {name}")
        given = border.Table(
            dict.fromkeys(("a", "b", "user"), "float64"),
            {name: chance.choices(TYPES["float64"].values, k=12) for name in ("a", "b", "user")},
        )
        question = Question.of(dv.Domain.intervals([0, "3/10", 1, 3], column="a", overflow=True, missing=True))
        must = border.expected(given, held, question, Unit("row"))
        drawn = dv.teaching(held.opened(given), seed=1).draw(question, dv.Dense(1000)).values
        assert {bin: count for bin, count in enumerate(drawn) if count} == must


# ---------------------------------------------------------------- twins: one rule is dropped, and a case finds it


def found(name: str, tables: int) -> str:
    """The words of the first case in which a container is wrong; empty where it is right in all of them."""
    for at in range(tables):
        try:
            case(f"twin {at}", CONTAINERS[name], name, 6)
        except Different as error:
            return str(error)
    return ""


def trusting(monkeypatch: pytest.MonkeyPatch) -> None:
    """An engine that answers from what files say of their rows, which leave NaN out."""
    monkeypatch.setattr(queries, "by_rows_alone", lambda connection: None)
    monkeypatch.setattr(queries.DuckDB, "trusts", lambda self: None)


def all_files(monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder of all files that lie in it, drafts among them."""
    monkeypatch.setattr(sources, "files_of", lambda path: sorted(border.Path(path).glob("*.parquet*")) or [path])


def any_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    """Instants that are counted as if a clock had shown them."""
    monkeypatch.setattr(parquet_types, "lost", lambda connection, files: parquet_types.NOTHING)


TWINS: dict[str, tuple[Callable[[Any], None], str, list[str]]] = {
    "NaN": (trusting, "Parquet by pyarrow", ["float64", "float32", "int8"]),
    "files of a table": (all_files, "folder", ["int8", "text"]),
    "clock": (any_clock, "Parquet with INT96", ["old timestamp", "int8"]),
    "half floats": (any_clock, "Parquet by pyarrow", ["float16"]),
    "milliseconds": (any_clock, "Parquet by pyarrow", ["timestamp ms"]),
}


@pytest.mark.parametrize("rule", TWINS)
def test_a_twin_that_drops_one_rule_is_caught(rule: str, monkeypatch: pytest.MonkeyPatch) -> None:
    drop, name, types = TWINS[rule]
    monkeypatch.setitem(CONTAINERS, name, replace(CONTAINERS[name], types=types))
    drop(monkeypatch)
    assert "must" in found(name, 60)


def test_a_count_that_is_off_by_one_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    right = border.answered

    def wrong(source: Any, question: Question, of: Unit) -> Any:
        counts = right(source, question, of)
        return {label: count + (count == 3) for label, count in counts.items()} if counts else counts

    monkeypatch.setattr(border, "answered", wrong)
    assert "came" in found("pandas", 40)


def test_a_difference_says_how_it_is_seen_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(border, "answered", lambda *asked: {0: -1})
    message = found("pandas", 1)
    assert "'twin 0', pandas" in message and "must" in message
