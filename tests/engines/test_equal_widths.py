"""Intervals of one width, found by arithmetic: at every edge, in DuckDB, as pandas and exact fractions have it."""

from __future__ import annotations

import sqlite3
from bisect import bisect_right
from contextlib import closing
from fractions import Fraction
from pathlib import Path
from typing import Any

import ibis
import numpy as np
import pandas as pd
import pytest
from numpy.typing import NDArray

from dpviz.engines import as_source, equal_widths, sources
from dpviz.engines.equal_widths import EqualWidths, sides
from dpviz.engines.ibis_source import IbisSource
from dpviz.engines.values import least
from dpviz.errors import SchemaError
from dpviz.model.domain import Domain, IntervalDomain
from dpviz.model.question import Question
from dpviz.model.statistic import SparseCounts, StatisticKind
from dpviz.privacy.unit import Unit
from tests.engines import engines

ROW = Unit("row")
STEPS = {
    "whole": (0, 1, 40),
    "halves": (-3, Fraction(1, 2), 25),
    "tenths": (0, Fraction(1, 10), 50),
    "tenths from below": (Fraction(-7, 10), Fraction(1, 10), 31),
    "cents": (Fraction(1, 100), Fraction(1, 100), 300),
    "sevens": (-21, 7, 9),
    "thirds": (0, Fraction(1, 3), 12),
    "tiny": (0, Fraction(1, 10**7), 64),
    "large": (10**9, 1000, 128),
    "far": (2**52, Fraction(3, 10), 16),
    "beyond": (2**60, 2**12, 8),
    "few": (0, 1, 3),
}
TYPES = ("float64", "float32", "int64", "int32", "uint64", "uint8")


def stepped(name: str, **beside: bool) -> IntervalDomain:
    begin, width, count = STEPS[name]
    domain = Domain.intervals([begin + place * Fraction(width) for place in range(count + 1)], column="x", **beside)
    assert isinstance(domain, IntervalDomain)
    return domain


def around(domain: IntervalDomain, dtype: np.dtype[Any]) -> NDArray[Any]:
    """Each edge as this type has it, its neighbours, numbers in between and the ends of the type."""
    if dtype.kind == "f":
        edges = np.array([float(edge) for edge in domain.edges], dtype=dtype)
        middles = (edges[1:] + edges[:-1]) / 2
        more = [np.nextafter(edges, dtype.type(side)) for side in (-np.inf, np.inf)]
        more += [np.nextafter(one, dtype.type(side)) for one, side in zip(more, (-np.inf, np.inf), strict=True)]
        ends = np.array([np.nan, np.inf, -np.inf, -0.0, np.finfo(dtype).max, np.finfo(dtype).min], dtype=dtype)
        return np.concatenate([edges, middles, *more, ends])
    bounds = np.iinfo(dtype)
    near = {int(edge) + step for edge in domain.edges for step in (-1, 0, 1)} | {int(bounds.min), int(bounds.max), 0}
    return np.array(sorted(one for one in near if bounds.min <= one <= bounds.max), dtype=dtype)


def exactly(domain: IntervalDomain, values: NDArray[Any]) -> list[int]:
    """The bins by the rule itself: a value is the decimal that it prints as."""
    counts = [0] * domain.size
    for value in values:
        bin = place_of(domain, value)
        if bin is not None:
            counts[bin] += 1
    return counts


def place_of(domain: IntervalDomain, value: Any) -> int | None:
    if np.isnan(value):
        return domain.size - 1 if domain.missing else None
    if np.isinf(value):
        decimal = Fraction(10**400) * (1 if value > 0 else -1)
    else:
        decimal = Fraction(int(value)) if value.dtype.kind != "f" else Fraction(np.format_float_scientific(value))
    if decimal < domain.edges[0]:
        return 0 if domain.underflow else None
    if decimal > domain.edges[-1]:
        return domain.underflow + domain.inner if domain.overflow else None
    return min(bisect_right(domain.edges, decimal), domain.inner) - 1 + domain.underflow


@pytest.mark.parametrize("beside", [{}, {"underflow": True, "overflow": True, "missing": True}, {"overflow": True}])
@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("name", STEPS)
def test_every_neighbour_of_every_edge_lies_where_exact_numbers_have_it(
    name: str, dtype: str, beside: dict[str, bool]
) -> None:
    domain = stepped(name, **beside)
    values = around(domain, np.dtype(dtype))
    frame = pd.DataFrame({"x": values})
    for make in (engines.shared, engines.pandas):
        source = make(frame, "data", None)
        assert source.count(Question.of(domain), ROW, StatisticKind.DENSE).take().tolist() == exactly(domain, values)


def found(name: str, dtype: str) -> EqualWidths | None:
    domain, held = stepped(name), np.dtype(dtype)
    *edges, last = domain.edges
    limits = [*(least(held, edge) for edge in edges), least(held, last, above=True)]
    return EqualWidths.of(domain.edges, limits, held)


def test_arithmetic_is_used_where_it_is_right_and_corrected_where_it_must_be() -> None:
    ways = {name: found(name, "float64") for name in STEPS}
    corrected = {name: way.corrected for name, way in ways.items() if way is not None}
    assert not corrected["whole"]
    assert corrected["tenths"] and corrected["cents"] and len(corrected) >= 8
    assert ways["beyond"] is None and ways["few"] is None


def test_plain_division_is_wrong_at_an_edge_and_is_not_taken() -> None:
    """The twin: without the comparison, 0.3 lies in the interval before its own."""
    way = found("tenths", "float64")
    assert way is not None
    plain = EqualWidths(way.count, way.start, way.width, way.begin, way.step, way.parts, corrected=False)
    assert np.floor(np.float64(0.3) / way.width) == 2
    limits = [*(least(np.dtype(float), Fraction(place, 10)) for place in range(50)), np.nextafter(5.0, np.inf)]
    assert way.right(*sides(limits, np.dtype(float)))
    assert not plain.right(*sides(limits, np.dtype(float)))
    shifted = EqualWidths(way.count, way.start, way.width, way.begin + 1, way.step, way.parts, corrected=True)
    assert not shifted.right(*sides(limits, np.dtype(float)))


def test_an_engine_compares_with_no_edge_that_arithmetic_finds() -> None:
    source = engines.shared(pd.DataFrame({"x": [0.5, 1.5]}), "data", None)
    sent = str(source._query(Question.of(stepped("whole")), ROW, StatisticKind.DENSE).take())  # type: ignore[attr-defined]
    assert "CASE" not in sent and sent.count(">=") + sent.count("<") <= 3


def test_unsigned_numbers_are_counted_as_signed_ones_are_where_the_bins_allow_it() -> None:
    frame = pd.DataFrame({"x": np.array([0, 1, 40, 41, 2**63, 2**64 - 1], dtype=np.uint64)})
    source = engines.shared(frame, "data", None)
    for beside, expected in (({}, [1, 1, 0, 1]), ({"overflow": True}, [1, 1, 0, 1, 3])):
        places = [0, 1, 2, 40] + [41] * bool(beside)
        question = Question.of(Domain.integers(0, 40, column="x", **beside))
        sent = str(source._query(question, ROW, StatisticKind.DENSE).take())  # type: ignore[attr-defined]
        assert "DECIMAL" not in sent.upper()
        counts = source.count(question, ROW, StatisticKind.DENSE).take()
        assert [int(counts[place]) for place in places] == expected


def in_sqlite(folder: Path, name: str) -> list[tuple[int, int]]:
    """Counts of some numbers by the query that SQLite is asked; its own thread asks, as SQLite has it."""
    path = folder / f"{name}.sqlite"
    with closing(sqlite3.connect(path)) as file:
        file.execute("CREATE TABLE rows (x INTEGER)")
        file.executemany("INSERT INTO rows VALUES (?)", [(x,) for x in (0, 0, 1, 39, 40, 41, -1)])
        file.commit()
        source = IbisSource(ibis.sqlite.connect(path).table("rows"), name="rows")
        query = source._query(Question.of(stepped("whole")), ROW, StatisticKind.DENSE).take()
        return sorted(file.execute(str(ibis.to_sql(query))).fetchall())


def test_an_engine_that_nobody_tried_compares_with_the_edges(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """SQLite has no cast that fails quietly, and finds intervals all the same."""
    assert in_sqlite(tmp_path, "rows") == [(0, 2), (1, 1), (39, 2)]
    monkeypatch.setattr(equal_widths, "TRIED_ON", ("sqlite",))
    with pytest.raises(SchemaError, match="without TryCast"):
        in_sqlite(tmp_path, "other")


@pytest.mark.parametrize("dtype", ["UInt8", "Int8", "Int16"])
def test_a_missing_value_is_in_no_interval_where_every_value_of_its_type_is_in_one(dtype: str) -> None:
    """No comparison with the ends left it out then, and arithmetic put it into the last interval."""
    frame = pd.DataFrame({"x": pd.array([3, None, 5], dtype=dtype), "k": ["a", "b", "c"]})
    edges = [-(2**20) + place * 2**20 for place in range(6)]
    for domain in (Domain.intervals(edges, column="x"), Domain.intervals(edges, column="x") * Domain.keys(column="k")):
        question = Question.of(domain)
        counts: list[Any] = []
        for source in (sources.duckdb(frame), as_source(frame)):
            found = source.count(question, Unit("row"), StatisticKind.SPARSE)
            assert isinstance(found, SparseCounts)
            labels, numbers = found.take()
            counts.append(dict(zip(labels.tolist(), numbers.tolist(), strict=True)))
        assert counts[0] == counts[1] and sum(counts[0].values()) == 2
