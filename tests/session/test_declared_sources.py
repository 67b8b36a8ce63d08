"""What a source declares of itself is asked of every plan, release and draw, whatever the mechanism."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import dpviz as dv
from dpviz.engines import as_source, sources
from dpviz.errors import ParameterError
from dpviz.mechanisms import REGISTRY
from dpviz.model.source import TopRules
from dpviz.session.teaching import Teaching

FRAME = pd.DataFrame({"x": pd.Series([1, 2, 2, 3], dtype="int64")})
BINS = dv.Domain.integers(0, 4095, column="x")
BUDGET = dv.Budget("9", "1e-3")
RECORDS, SWAPPED = dv.Question.records([dv.Domain.integers(1, 2, column="x")]), dv.Unit(relation="replace-one", n=4)
SMALLEST = {"delta": "1e-6", "cap": "999", "k": "2", "kbar": "3", "queries": '[["all",null]]'}
"""Parameters that go with these bins, where a mechanism has them."""


def made(name: str) -> Any:
    default = REGISTRY[name].from_parameters({"epsilon": "1"}).parameters()
    given = {part: value for part, value in SMALLEST.items() if part in default and default[part] != "0"}
    return REGISTRY[name].from_parameters({**default, **given})


class Sketch:
    """A stranger's source that says its counts are approximate."""

    top = TopRules(exact=False)

    def __init__(self) -> None:
        self._source, self.counted = as_source(FRAME), 0
        self.name, self.columns, self.check = self._source.name, self._source.columns, self._source.check

    def count(self, *asked: Any) -> Any:
        self.counted += 1
        return self._source.count(*asked)


APPROXIMATE: dict[str, Callable[[], Any]] = {
    "a frame in DuckDB": lambda: sources.duckdb(FRAME, approximate=True),
    "a stranger's": Sketch,
}


@pytest.mark.parametrize("source", APPROXIMATE)
@pytest.mark.parametrize("name", REGISTRY)
def test_no_mechanism_answers_from_approximate_counts(name: str, source: str, tmp_path: Path) -> None:
    data = APPROXIMATE[source]()
    asked, unit = (RECORDS, SWAPPED) if REGISTRY[name].draws_records else (BINS, dv.Unit())
    session = dv.Session(data, unit, BUDGET, tmp_path / "ledger")
    for call in (session.plan, session.release):
        with pytest.raises(ParameterError, match="every price needs exact counts") as refused:
            call(asked, made(name))
        assert refused.value.next_step
    assert session.ledger.entries() == []
    if isinstance(data, Sketch):
        assert data.counted == 0
    exact = dv.Session(sources.duckdb(FRAME), unit, BUDGET, tmp_path / "other")
    assert exact.release(asked, made(name)).answer  # what was refused is no other thing than the source


def test_no_sub_session_is_sold_on_approximate_counts(tmp_path: Path) -> None:
    session = dv.Session(Sketch(), dv.Unit(), BUDGET, tmp_path / "ledger")
    for call in (session.plan_open, session.open):
        with pytest.raises(ParameterError, match="every price needs exact counts"):
            call(dv.PayWhatYouGet(9, 3, epsilon=1))
    assert session.ledger.entries() == []


def test_a_lesson_draws_from_no_approximate_counts_either() -> None:
    lesson = Teaching(Sketch(), seed=1)
    for call in (lesson.plan, lesson.draw):
        with pytest.raises(ParameterError, match="every price needs exact counts"):
            call(BINS, dv.Dense("1"))
