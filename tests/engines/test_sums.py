"""Sums of whole steps: the same on every engine to the last digit, and held to the definition in fractions."""

from __future__ import annotations

import gzip
import math
from collections import Counter
from collections.abc import Sequence
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpviz.engines import as_source, pandas_source
from dpviz.engines.ibis_source import IbisSource
from dpviz.engines.queries import IntegerColumns
from dpviz.engines.steps import SumScale, steps_of
from dpviz.errors import ParameterError, ReleaseFailed, SchemaError
from dpviz.model.aggregate import Sum
from dpviz.model.domain import Domain
from dpviz.model.question import Between, Question
from dpviz.model.statistic import Column, StatisticKind, Top
from dpviz.privacy.unit import Unit
from tests.engines import contract, engines, sums
from tests.engines.engines import in_duckdb
from tests.soak.amounts import part

ROW = Unit("row")
SCALES = [
    Sum("x", 0, 1000, "0.01"), Sum("x", -5, 5, "0.5"), Sum("x", "-0.3", "0.7", "0.1"), Sum("x", 0, 9, 3),
    Sum("x", -9, -3, 3), Sum("x", "1/3", 7, "1/3"), Sum("x", -(2**31), 2**31, 1), Sum("x", 0, 2**43, 2**12),
    Sum("x", 0, "0.00000001", "0.0000000001"), Sum("x", 0, 1, "1/1000003"), Sum("x", -21474836, 21474836, "0.01"),
]  # fmt: skip


# ---------------------------------------------------------------- rounding


def around(total: Sum) -> list[float]:
    """Values at which a sloppy rounding fails: middles, whole steps and ends, with the floats beside them."""
    first, last = int(total.low / total.step), int(total.high / total.step)
    whole = {first, first + 1, first + 7, -1, 0, 1, 28, 57, last // 3, last - 1, last}
    exact = [(s + Fraction(half, 2)) * total.step for s in whole if first <= s <= last for half in (-1, 0, 1)]
    near = [float(one) for one in exact]
    beside = [math.nextafter(one, end) for one in near for end in (-math.inf, math.inf)]
    return [*near, *beside, 0.0, -0.0, 5e-324, 1e300, -1e300, math.inf, -math.inf, 2.0**53, -(2.0**53)]


@pytest.mark.parametrize("total", SCALES, ids=lambda total: total.text(Domain.keys(column="k"))[:50])
def test_every_value_is_rounded_as_the_definition_says_and_the_ends_are_hit(total: Sum) -> None:
    values = around(total)
    found = steps_of(np.array(values), SumScale.of(total)).tolist()
    assert found == [sums.steps(value, total) for value in values]
    ends = steps_of(np.array([float(total.low), float(total.high), -math.inf, math.inf]), SumScale.of(total))
    first, last = int(total.low / total.step), int(total.high / total.step)
    assert ends.tolist() == [first, last, first, last]
    assert max(map(abs, found)) <= total.heaviest


@settings(max_examples=part(300, 100))
@given(st.sampled_from(SCALES), st.lists(st.floats(allow_nan=False), min_size=1, max_size=30), st.booleans())
def test_any_float_is_rounded_as_the_definition_says(total: Sum, drawn: list[float], inside: bool) -> None:
    width = float(total.high - total.low)
    values = (
        [float(total.low) + abs(math.remainder(one, width)) for one in drawn if abs(one) < 1e300] if inside else drawn
    )
    assert steps_of(np.array(values), SumScale.of(total)).tolist() == [sums.steps(value, total) for value in values]


def test_a_value_in_the_middle_goes_up_as_it_is_read() -> None:
    """0.285 * 100 is below 28.5 in floats, and 1.005 lies below its own decimal."""
    cents = Sum("x", -10, 10, "0.01")
    values = [0.285, 1.005, 0.005, -0.005, -0.285, math.nextafter(0.285, 0), 2.675, 0.575]
    assert steps_of(np.array(values), SumScale.of(cents)).tolist() == [29, 101, 1, 0, -28, 28, 268, 58]


def test_rounding_by_a_product_and_a_half_is_rejected(monkeypatch: pytest.MonkeyPatch) -> None:
    def sloppy(values: Any, scale: SumScale) -> Any:
        return np.floor(np.clip(values, scale.low, scale.high) * scale.rate + 0.5).astype(np.int64)

    frame, question = pd.DataFrame({"k": ["a"], "x": [0.285]}), Question.sum("x", by="k", low=0, high=1, step="0.01")
    assert sums.sums_as_the_reference(engines.pandas(frame, "data", None), frame, question, ROW) == {"a": 29}
    monkeypatch.setattr(pandas_source, "steps_of", sloppy)
    with pytest.raises(AssertionError):
        sums.sums_as_the_reference(engines.pandas(frame, "data", None), frame, question, ROW)


# ---------------------------------------------------------------- random tables on every engine

NASTY = [
    0.0, -0.0, 0.5, 1.5, 2.5, -0.5, -1.5, 0.285, 1.005, 0.3, 0.1 + 0.2, 7.25, 99.995, -3.0, 1e22, 1e308, -1e308, 5e-324,
    math.inf, -math.inf, math.nan, 2.0**53, 2.0**53 + 2, 12345.675,
]  # fmt: skip
WHOLE = [0, 1, -1, 2, 3, 7, 40, 2**53 + 1, 2**63 - 1, -(2**63)]
WRITTEN = [
    "1", "-2.5", "0.285", "1e3", " 7", "+0.005", "inf", "-Infinity", "1e400", "x", "", "nan", "9" * 38, "9" * 39,
    "9007199254740993", "9007199254740993.0", "-0.0", "1_0", None,
]  # fmt: skip
AMOUNTS: list[tuple[str, str, Sequence[Any], str | None]] = [
    ("float64", "float64", NASTY, None),
    ("float32", "float32", [0.285, 0.5, 2.5, -0.005, 1e30, math.inf, math.nan, 0.1], None),
    ("int64", "int64", WHOLE, None),
    ("Int64", "Int64", [*WHOLE, None], None),
    ("uint64", "uint64", [0, 1, 7, 2**64 - 1, 2**53 + 1], None),
    ("boolean", "boolean", [True, False, None], "number"),
    ("str", "str", WRITTEN, "number"),
]


@st.composite
def tables(draw: st.DrawFn) -> tuple[pd.DataFrame, dict[str, str]]:
    size = draw(st.integers(0, 14))
    _, dtype, values, kind = draw(st.sampled_from(AMOUNTS))
    held: dict[str, Any] = {
        "x": pd.Series(draw(st.lists(st.sampled_from(values), min_size=size, max_size=size)), dtype=dtype),
        "k": pd.Series(
            draw(st.lists(st.sampled_from(["a", "b", "ä", None]), min_size=size, max_size=size)), dtype="str"
        ),
        "n": pd.Series(draw(st.lists(st.sampled_from([0, 1, 2, 9]), min_size=size, max_size=size)), dtype="int64"),
        "user": pd.Series(
            draw(st.lists(st.sampled_from(["u", "v", "", None]), min_size=size, max_size=size)), dtype="str"
        ),
    }
    return pd.DataFrame(held), {} if kind is None else {"x": kind}


@st.composite
def asked(draw: st.DrawFn) -> tuple[Question, Unit]:
    few, wide = Domain.integers(0, 2, column="n", overflow=True), Domain.integers(-1, 2**64, column="n")
    huge = Domain.integers(0, 10**25, column="n") * Domain.categories(["a", "b"], column="k", missing=True)
    by = draw(
        st.sampled_from(
            [Domain.keys(column="k"), few, few * Domain.categories(["a"], column="k", other=True), wide, huge]
        )
    )
    low, high, step = draw(
        st.sampled_from([(0, 10, "0.01"), (-3, 5, "0.5"), (-100, 100, 1), (-9, -3, 3), (0, 2, "1/3")])
    )
    where = draw(st.sampled_from([None, {"n": Between(0, 2)}, {"k": ["a", "b"]}]))
    unit = st.builds(
        lambda bins, most, records: Unit("user", max_bins=bins, max_per_bin=most, max_records=records),
        st.sampled_from([1, 2, None]),
        st.integers(1, 3),
        st.sampled_from([None, 1, 2, 4]),
    )
    return Question.sum("x", by=by, low=low, high=high, step=step, where=where), draw(st.just(ROW) | unit)


@settings(max_examples=part(300, 80))
@given(tables(), asked())
def test_pandas_sums_as_the_reference(table: Any, question: Any) -> None:
    frame, schema = table
    sums.sums_as_the_reference(engines.pandas(frame, "data", schema), frame, *question)


@settings(max_examples=part(50, 16))
@given(tables(), st.lists(asked(), min_size=2, max_size=2))
def test_duckdb_sums_as_the_reference(table: Any, questions: Any) -> None:
    frame, schema = table
    source = engines.shared(frame, "data", schema)
    for question in questions:
        sums.sums_as_the_reference(source, frame, *question)


def many(rows: int = 4_000) -> pd.DataFrame:
    """Many rows of few users, with every nasty value, doubles among them."""
    random = np.random.default_rng(1)
    amounts = np.where(random.random(rows) < 0.3, random.choice(NASTY, rows), random.normal(0, 20, rows).round(3))
    return pd.DataFrame(
        {
            "x": amounts,
            "k": random.choice(["a", "b", "c", "d", "e"], rows),
            "n": random.integers(0, 40, rows),
            "user": random.choice([f"u{number}" for number in range(60)], rows),
        }
    )


MANY = [
    (Question.sum("x", by="k", low=-50, high=80, step="0.01"), ROW),
    (Question.sum("x", by="k", low=-50, high=80, step="0.01"), Unit("user", max_bins=2, max_per_bin=5)),
    (Question.sum("x", by=Domain.integers(0, 39, column="n"), low=-5, high=5, step="0.5"), Unit("user", max_bins=10)),
    (
        Question.sum("x", by=Domain.integers(0, 39, column="n"), low=-5, high=5, step="0.5"),
        Unit("user", max_bins=None, max_per_bin=3, max_records=20),
    ),
    (
        Question.sum(
            "x", by=Domain.integers(0, 39, column="n") * Domain.categories(["a", "b"], column="k", other=True),
            low=0, high=30, step="0.25", where={"n": Between(3, 30)},
        ),
        Unit("user", max_bins=7, max_per_bin=2),
    ),
]  # fmt: skip


@pytest.mark.parametrize(
    "question", MANY, ids=["rows", "keys of users", "bins of users", "records of users", "a product"]
)
def test_many_rows_of_few_users_are_summed_up_alike(question: tuple[Question, Unit]) -> None:
    frame = many()
    found = [sums.sums_as_the_reference(make(frame, "data", None), frame, *question) for make in engines.HERE.values()]
    assert found[0] and all(one == found[0] for one in found)


def test_decimals_are_summed_up_by_their_nearest_float() -> None:
    written = [
        "0.285",
        "1.005",
        "-0.005",
        "12345678901234567.895",
        "0.2849999999",
        "99999999999999999999.9999999999",
        None,
    ]
    values = ", ".join("(NULL)" if one is None else f"('{one}')" for one in written)
    source = in_duckdb(
        f"CREATE TABLE t AS SELECT 'a' AS k, CAST(v AS DECIMAL(38, 10)) AS x FROM (VALUES {values}) AS t(v)", "t"
    )
    question = Question.sum("x", by="k", low=-1000, high=1000, step="0.01")
    frame = pd.DataFrame({"k": ["a"] * len(written), "x": [None if one is None else Decimal(one) for one in written]})
    columns = Column("k", "text"), Column("x", "number")
    assert sums.sums_as_the_reference(source, frame, question, ROW, columns) == {
        "a": 29 + 101 + 0 + 100_000 + 28 + 100_000
    }
    here = engines.pandas(frame, "data", {"x": "number"})
    sums.sums_as_the_reference(here, frame, question, ROW)


def test_a_csv_file_is_summed_up_as_its_frame(tmp_path: Path) -> None:
    """Nobody declared what the column holds: a sum reads numbers from its texts."""
    frame = pd.DataFrame({"k": ["a", "b"] * 9, "x": pd.Series(WRITTEN[:-1], dtype="str")})
    path = tmp_path / "sums.csv.gz"
    path.write_bytes(gzip.compress(frame.to_csv(index=False).encode()))
    question = Question.sum("x", by="k", low=-10, high=100, step="0.01")
    columns = Column("k", "text"), Column("x", "number")
    found = sums.sums_as_the_reference(as_source(path), frame, question, ROW, columns)
    assert set(found) == {"a", "b"}
    unit = Unit("k", max_bins=1, max_per_bin=3)
    sums.sums_as_the_reference(as_source(path), frame, question, unit, columns)


# ---------------------------------------------------------------- what adds up to 0


@pytest.mark.parametrize("make", engines.HERE.values(), ids=engines.HERE)
def test_a_bin_that_adds_up_to_0_looks_like_an_empty_one(make: contract.Engine) -> None:
    frame = pd.DataFrame({"k": ["a", "a", "b", "c", "c"], "n": [0, 0, 1, 2, 2], "x": [5.0, -5.0, 0.2, 1.0, math.nan]})
    source = make(frame, "data", None)
    for by, name in ((Domain.keys(column="k"), "c"), (Domain.integers(0, 3, column="n"), 2)):
        question = Question.sum("x", by=by, low=-9, high=9, step=1)
        assert sums.sums_as_the_reference(source, frame, question, ROW) == {name: 1}


# ---------------------------------------------------------------- how far one user moves a sum

UNITS = [
    Unit("user", max_bins=1, max_per_bin=1),
    Unit("user", max_bins=1, max_per_bin=2),
    Unit("user", max_bins=2, max_per_bin=1),
    Unit("user", relation="replace-one", max_bins=1, max_per_bin=2),
    Unit("user", max_bins=2, max_per_bin=2, max_records=2),
]


@pytest.mark.parametrize("unit", UNITS, ids=lambda unit: unit.text)
def test_one_user_moves_sums_by_what_the_unit_says(unit: Unit) -> None:
    add_up, others = sums.summer(engines.kept), part(12, 4)
    assert sums.one_user_moves_sums_little(add_up, unit, -2, 3, [-2.0, 0.4, 3.0], most_others=others) > 200


def test_one_user_moves_sums_of_duckdb_by_what_the_unit_says() -> None:
    unit = Unit("user", max_bins=1, max_per_bin=1)
    add_up = sums.summer(engines.refilled)
    assert sums.one_user_moves_sums_little(add_up, unit, -2, 3, [-2.0, 3.0], rows=2, most_others=2) == 30


def test_a_user_can_move_sums_all_the_way() -> None:
    """The bound is attained: a row that goes from one end to the other moves a total by the spread."""
    question = Question.sum("x", by=Domain.integers(0, 1, column="bin"), low=-2, high=3, step=1)
    unit = Unit("user", relation="replace-one", max_bins=1, max_per_bin=2)
    add_up = sums.summer(engines.pandas)
    low, high = (
        add_up(pd.DataFrame({"bin": [0, 0], "x": [x, x], "user": ["u", "u"]}), question, unit) for x in (-9.0, 9.0)
    )
    assert high[0] - low[0] == 2 * question.aggregate.spread == 10


def rows_in_order(frame: pd.DataFrame, question: Question, unit: Unit) -> Sequence[int]:
    """A twin that keeps a user's first rows as they come."""
    totals = [0] * question.bins
    for _, rows in frame.groupby("user"):
        for bin in list(dict.fromkeys(rows["bin"]))[: unit.max_bins]:
            values = rows["x"][rows["bin"] == bin][: unit.max_per_bin]
            totals[bin] += sum(sums.steps(value, question.aggregate) for value in values)  # type: ignore[arg-type]
    return totals


def popular_rows(frame: pd.DataFrame, question: Question, unit: Unit) -> Sequence[int]:
    """A twin that keeps the values of a user that most rows of all users have."""
    totals, popular = [0] * question.bins, Counter(frame["x"])
    for _, rows in frame.groupby("user"):
        for bin in sorted(set(rows["bin"]))[: unit.max_bins]:
            values = sorted(rows["x"][rows["bin"] == bin], key=lambda x: (-popular[x], x))[: unit.max_per_bin]
            totals[bin] += sum(sums.steps(value, question.aggregate) for value in values)  # type: ignore[arg-type]
    return totals


def rows_without_end(frame: pd.DataFrame, question: Question, unit: Unit) -> Sequence[int]:
    """A twin that bounds the bins alone."""
    return rows_in_order(frame, question, Unit(unit.of, max_bins=unit.max_bins, max_per_bin=99))


@pytest.mark.parametrize(
    ("twin", "rule"),
    [
        (rows_in_order, "order of the rows"),
        (popular_rows, "one user moves"),
        (rows_without_end, "order|one user moves"),
    ],
)
def test_a_twin_that_bounds_by_order_by_others_or_not_is_rejected(twin: sums.Summer, rule: str) -> None:
    with pytest.raises(AssertionError, match=rule):
        sums.one_user_moves_sums_little(twin, UNITS[0], -2, 3, [-2.0, 3.0])


# ---------------------------------------------------------------- what is refused before a charge


def test_a_sum_of_no_column_of_texts_or_of_times_is_refused_by_name() -> None:
    data = pd.DataFrame({"k": ["a"], "x": [1.5], "name": ["CANARY"], "when": pd.to_datetime(["2020-01-01"])})
    for make in engines.HERE.values():
        source = make(data, "data", None)
        for column, rule in (
            ("y", "must name columns"),
            ("name", "a question for sums needs a column of numbers"),
            ("when", "times"),
        ):
            question = Question.sum(column, by="k", low=0, high=1, step=1)
            for work in (source.check, source.count):
                with pytest.raises(SchemaError, match=rule) as refused:
                    work(question, ROW, StatisticKind.SPARSE)
                assert column in str(refused.value) and "CANARY" not in str(refused.value)


@pytest.mark.parametrize("make", engines.HERE.values(), ids=engines.HERE)
def test_the_largest_sums_are_refused(make: contract.Engine) -> None:
    source = make(pd.DataFrame({"k": ["a"], "x": [1.5]}), "data", None)
    with pytest.raises(ParameterError, match="largest counts counts rows"):
        source.check(Question.sum("x", by="k", low=0, high=1, step=1), ROW, Top(3))


def test_a_total_that_cannot_be_ends_the_release() -> None:
    """A total below 0 where no value may be, a total of 0, one too many: what an engine answers is checked."""
    source = engines.shared(pd.DataFrame({"n": [0, 1], "x": [1.0, 2.0]}), "data", None)
    assert isinstance(source, IbisSource)
    by = Domain.integers(0, 3, column="n")
    plus, signed = (Question.sum("x", by=by, low=low, high=9, step=1) for low in (0, -9))
    engine = source._engine
    for total, question, fits in ((-4, plus, False), (-4, signed, True), (0, signed, False), (4, plus, True)):
        engine.columns = lambda *_, total=total: IntegerColumns(np.array([1]), np.array([total]))  # type: ignore[method-assign]
        if fits:
            assert source.count(question, ROW, StatisticKind.DENSE).take().tolist() == [0, total, 0, 0]  # type: ignore[attr-defined]
        else:
            with pytest.raises(ReleaseFailed, match="withheld"):
                source.count(question, ROW, StatisticKind.DENSE)


def test_totals_come_back_as_whole_numbers_in_columns() -> None:
    """DuckDB adds up in 128 bits, which would come as floats."""
    source = engines.shared(many(), "data", None)
    assert isinstance(source, IbisSource)
    question = Question.sum("x", by=Domain.integers(0, 39, column="n"), low=-5, high=5, step="0.5")
    for unit in (ROW, Unit("user", max_bins=3, max_per_bin=2)):
        query = source._query(question, unit, StatisticKind.DENSE).take()
        kinds = {column.dtype for column in source._engine._backend.con.sql(query).fetchnumpy().values()}
        assert kinds == {np.dtype(np.int64)}
