"""The pandas engine, held to the contract, and the ways in which pandas itself can mislead."""

from __future__ import annotations

import math
from collections.abc import Mapping
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpviz import datasets
from dpviz.engines import as_source
from dpviz.engines.pandas_source import PandasSource
from dpviz.engines.values import holds, least, printed
from dpviz.errors import ParameterError, SchemaError
from dpviz.model.domain import Domain
from dpviz.model.question import Between, Question
from dpviz.model.statistic import Column, DenseCounts, StatisticKind
from dpviz.privacy.unit import Unit
from tests.engines import contract, engines, reference
from tests.engines.frames import frames, kinds_in, questions, units
from tests.soak.amounts import part

ROW = Unit("row")


def engine(frame: pd.DataFrame, name: str, schema: Mapping[str, str] | None) -> PandasSource:
    return PandasSource(frame, name=name, schema=schema)


def count(values: Any, domain: Domain, kind: str | None = None, **where: Any) -> list[int]:
    """The counts of one column `x`, checked against the reference."""
    frame = values if isinstance(values, pd.DataFrame) else pd.DataFrame({"x": values})
    return contract.counts_as_the_reference(
        engine, frame, Question.of(domain, where), ROW, None if kind is None else {"x": kind}
    )


def kinds_of(frame: pd.DataFrame, schema: Mapping[str, str]) -> dict[str, str]:
    return kinds_in(frame, engine(frame, "data", schema).columns)


# ---------------------------------------------------------------- the contract


@settings(max_examples=part(600, 150))
@given(st.data())
def test_counts_are_those_of_the_reference(data: st.DataObject) -> None:
    frame, schema = data.draw(frames())
    question = data.draw(questions(kinds_of(frame, schema)))
    unit = data.draw(units)
    dense = contract.counts_as_the_reference(engine, frame, question, unit, schema)
    occupied = contract.sparse_as_the_reference(engine, frame, question, unit, schema)
    assert occupied == [(bin, count) for bin, count in enumerate(dense) if count]


@settings(max_examples=part(200, 60))
@given(st.data())
def test_neither_order_nor_index_matters(data: st.DataObject) -> None:
    frame, _ = data.draw(frames())
    question = data.draw(questions(kinds_of(frame, {})))
    contract.looks_at_values_only(contract.counter(engine), frame, question, data.draw(units))


@pytest.mark.parametrize("relation", ["add-remove", "replace-one"])
@pytest.mark.parametrize(("max_bins", "max_per_bin"), [(1, 1), (1, 2), (2, 1), (2, 2)])
def test_one_user_weighs_little_in_every_tiny_frame(relation: Any, max_bins: int, max_per_bin: int) -> None:
    unit = Unit("user", relation=relation, max_bins=max_bins, max_per_bin=max_per_bin)
    count, others = contract.counter(engines.kept), part(20, 7)
    pairs = contract.one_user_weighs_little_in_every_tiny_frame(count, unit, others=others)
    assert pairs == (20 if relation == "add-remove" else 400) * others


@settings(max_examples=part(300, 80))
@given(st.data())
def test_removing_or_replacing_one_user_moves_the_counts_by_its_weight(data: st.DataObject) -> None:
    frame, _ = data.draw(frames())
    kinds = kinds_of(frame, {})
    question = data.draw(questions(kinds))
    limits = {"max_bins": data.draw(st.integers(1, 2)), "max_per_bin": data.draw(st.integers(1, 2))}
    names = [reference.user_of(row, "user", kinds) for row in reference.rows_of(frame)]
    chosen = data.draw(st.sampled_from([*names, "nobody"]))
    ours = [place for place, name in enumerate(names) if name == chosen and name is not None]
    theirs = [place for place in range(len(names)) if place not in ours]
    count = contract.counter(engine)
    leave = Unit("user", **limits)
    contract.one_unit_weighs_little(count, frame, frame.iloc[theirs], question, leave)
    one, other = (frame.iloc[[*theirs, *half]] for half in (ours[::2], ours[1::2]))
    contract.one_unit_weighs_little(count, one, other, question, Unit("user", relation="replace-one", **limits))


@settings(max_examples=part(200, 60))
@given(st.data())
def test_removing_or_replacing_one_row_moves_the_counts_by_its_weight(data: st.DataObject) -> None:
    frame, _ = data.draw(frames().filter(lambda made: len(made[0]) > 1))
    question = data.draw(questions(kinds_of(frame, {})))
    shorter = frame.iloc[1:]
    contract.one_unit_weighs_little(contract.counter(engine), frame, shorter, question, ROW)
    replaced = pd.concat([shorter, frame.iloc[-1:]])
    replace = Unit("row", relation="replace-one", n=len(frame))
    contract.one_unit_weighs_little(contract.counter(engine), frame, replaced, question, replace)


def test_progress_tells_public_sizes_only() -> None:
    long = pd.DataFrame({"x": range(5_000), "user": [str(value % 7) for value in range(5_000)]})
    odd = pd.DataFrame({"x": [math.nan], "user": ["CANARY"]})
    question = Question.of(Domain.integers(0, 9, column="x"), {"user": ["1", "2"]})
    for unit in (ROW, Unit("user", max_bins=2)):
        contract.ticks_with_public_sizes(engine, [long, odd, long.iloc[:0]], question, unit)


# ---------------------------------------------------------------- numbers


@pytest.mark.parametrize("dtype", ["float64", "float32", "float16", "Float64", "Sparse[float64]", "object"])
def test_a_value_belongs_to_the_bin_of_the_decimal_it_prints_as(dtype: str) -> None:
    values = pd.Series([0.1, 0.3, 0.7, 0.9], dtype=dtype)
    bins = Domain.intervals(["0", "1/10", "3/10", "7/10", "9/10"], column="x", underflow=True, overflow=True)
    assert count(values, bins, "number") == [0, 0, 1, 1, 2, 0]


def test_the_next_floats_beside_an_edge_fall_to_their_own_sides() -> None:
    below, above = math.nextafter(0.3, 0), math.nextafter(0.3, 1)
    assert count([below, 0.3, above], Domain.intervals(["0", "3/10", "1"], column="x")) == [1, 2]
    assert count([below, 0.3, above], Domain.intervals(["0", "3/10"], column="x", overflow=True)) == [2, 1]


def test_an_edge_between_two_floats_parts_them() -> None:
    third = 1 / 3  # prints as 0.3333333333333333, below one third
    bins = Domain.intervals(["0", "1/3", "1"], column="x")
    assert count([third, math.nextafter(third, 1)], bins) == [1, 1]


def test_the_last_interval_contains_its_right_end() -> None:
    assert count([0, 1, 2, 3], Domain.intervals([0, 1, 2], column="x", overflow=True)) == [1, 2, 1]


def test_integers_beside_the_declared_ones_go_where_the_domain_says() -> None:
    values = [-math.inf, -1, 0, 0.5, 3, 4, 1e300, math.inf, None]
    flags = {"underflow": True, "overflow": True, "missing": True}
    assert count(values, Domain.integers(0, 3, column="x", **flags)) == [2, 1, 0, 0, 1, 3, 1]
    assert count(values, Domain.integers(0, 3, column="x")) == [1, 0, 0, 1]


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int64", "uint64", "Int64", "float32", "float64", "object"])
def test_a_domain_may_reach_beyond_the_type_of_the_column(dtype: str) -> None:
    values = pd.Series([0, 1, 100], dtype=dtype)
    wide = Domain.intervals([-(10**40), 0, 1, 10**40], column="x")
    assert count(values, wide, "number") == [0, 1, 2]
    assert count(values, Domain.integers(10**40, 10**40 + 1, column="x", underflow=True), "number") == [3, 0, 0]
    assert count(values, Domain.integers(-5, 300, column="x"), "number")[5:7] == [1, 1]


def test_large_whole_numbers_are_told_apart_exactly() -> None:
    low = 2**53
    integers = pd.Series([low, low + 1, low + 2], dtype="int64")
    assert count(integers, Domain.integers(low, low + 2, column="x")) == [1, 1, 1]
    assert count(integers.astype("float64"), Domain.integers(low, low + 2, column="x")) == [2, 0, 1]
    assert count(pd.Series([2**64 - 1], dtype="uint64"), Domain.integers(2**64 - 2, 2**64, column="x")) == [0, 1, 0]
    # The float nearest to 10**23 lies below it, and prints as it.
    assert count([1e23], Domain.integers(10**23 - 1, 10**23 + 1, column="x")) == [0, 1, 0]


def test_short_floats_are_the_whole_numbers_they_print_as() -> None:
    single, half = pd.Series([123_456_789], dtype="float32"), pd.Series([65_504], dtype="float16")
    assert [Fraction(str(held.array[0])) for held in (single, half)] == [123_456_790, 65_500]
    assert count(single, Domain.integers(123_456_788, 123_456_792, column="x")) == [0, 0, 1, 0, 0]
    assert count(half, Domain.integers(65_499, 65_504, column="x")) == [0, 1, 0, 0, 0, 0]


def test_the_least_float_that_reaches_a_limit_is_found_among_all_half_floats() -> None:
    dtype = np.dtype(np.float16)
    every = np.sort(np.arange(2**16, dtype=np.uint16).view(np.float16))
    every = every[np.isfinite(every) & ~((every == 0) & np.signbit(every))]
    decimals = [Fraction(str(value)) for value in every]
    assert decimals == sorted(set(decimals))
    assert [printed(value) for value in every] == decimals
    for place in [*range(0, len(every), 37), len(every) - 1]:
        value, exact = every[place], decimals[place]
        after = np.float16(math.inf) if place == len(every) - 1 else every[place + 1]
        assert least(dtype, exact) == least(dtype, exact - Fraction(1, 10**12)) == value
        assert least(dtype, exact, above=True) == least(dtype, exact + Fraction(1, 10**12)) == after
        assert holds(dtype, exact) == value
        assert holds(dtype, exact + Fraction(1, 10**12)) is None


def test_a_label_between_two_floats_matches_neither() -> None:
    values = [0.3, math.nextafter(0.3, 1)]
    assert count(values, Domain.categories([Fraction("0.30000000000000001"), 0.3], column="x", other=True)) == [0, 1, 1]


def test_not_a_number_is_missing_wherever_it_is_held() -> None:
    quotients = pd.Series([0.0, 1.0, -1.0, None], dtype="Float64") / 0
    flags = {"underflow": True, "overflow": True, "missing": True}
    assert count(quotients, Domain.intervals([0, 1], column="x", **flags)) == [1, 0, 1, 2]


def test_one_missing_value_changes_neither_the_kind_nor_a_count() -> None:
    whole, holed = pd.DataFrame({"x": [1, 2, 2]}), pd.DataFrame({"x": [1, 2, 2, None]})
    assert str(whole["x"].dtype) != str(holed["x"].dtype)
    assert engine(whole, "data", None).columns == engine(holed, "data", None).columns
    for bins in (Domain.integers(0, 3, column="x"), Domain.categories([1, 2, 3], column="x", other=True)):
        assert count(whole, bins) == count(holed, bins)
    flags = pd.DataFrame({"x": [True, False]}), pd.DataFrame({"x": [True, False, None]})
    assert str(flags[0]["x"].dtype) != str(flags[1]["x"].dtype)
    assert engine(flags[0], "data", None).columns == engine(flags[1], "data", None).columns
    assert count(flags[0], Domain.categories([True, False], column="x", other=True)) == [1, 1, 0]
    assert count(flags[1], Domain.categories([True, False], column="x", other=True)) == [1, 1, 0]


def test_text_in_a_column_declared_as_numbers_is_read_by_one_rule() -> None:
    values = ["1", " 2", "3.0", "1e0", "1/2", "two", "", "nan", None, 4, Decimal(2), True]
    bins = Domain.integers(1, 4, column="x", missing=True)
    assert count(values, bins, "number") == [3, 2, 1, 1, 1]
    assert count(values, Domain.categories([1, "0.5"], column="x", other=True), "number") == [3, 0, 8]


def test_numbers_beyond_any_exponent_lie_beyond_the_last_bin() -> None:
    values = [Decimal("1E+999999"), Decimal("-1E+999999"), Decimal("1E-999999"), Decimal("0E+999999"), 10**6000]
    bins = Domain.intervals([0, 1, 2], column="x", underflow=True, overflow=True)
    source = engine(pd.DataFrame({"x": pd.Series(values, dtype=object)}), "data", {"x": "number"})
    statistic = source.count(Question.of(bins), ROW, StatisticKind.DENSE)
    assert statistic.take().tolist() == [1, 2, 0, 2]


# ---------------------------------------------------------------- categories


def test_numbers_are_matched_as_numbers_and_text_as_it_is() -> None:
    labels = Domain.categories([1, 2.5, Fraction(1, 10), 7], column="x", other=True)
    assert count([1.0, 2.5, 0.1, 0.1 + 0.2], labels) == [1, 1, 1, 0, 1]
    assert count(["1", "1.0", "01"], Domain.categories(["1"], column="x", other=True)) == [1, 2]
    mixed = pd.Series([1, 1.0, "1", True, "True", Decimal("1.00")], dtype=object)
    assert count(mixed, Domain.categories(["1", "True"], column="x", other=True)) == [4, 2, 0]


def test_the_declared_categories_of_pandas_do_not_matter() -> None:
    bins = Domain.categories(["a", "b"], column="x", other=True, missing=True)
    values = ["b", "c", None, "b"]
    few = pd.Categorical(values, categories=["b", "c"])
    many = pd.Categorical(values, categories=["z", "c", "a", "b"], ordered=True)
    assert count(few, bins) == count(many, bins) == count(values, bins) == [0, 2, 1, 1]


class Hostile:
    """A value whose every method raises, and says what it is."""

    def __getattribute__(self, name: str) -> Any:
        raise RuntimeError(f"CANARY {name}")

    def _no(self, *_: object) -> Any:
        raise RuntimeError("CANARY")

    __hash__ = __eq__ = __repr__ = __str__ = __float__ = __int__ = __index__ = __bool__ = __len__ = __iter__ = _no


class HostileText(str):
    __hash__ = __eq__ = __str__ = __len__ = Hostile._no
    __slots__ = ()


class HostileNumber(int):
    __hash__ = __eq__ = __int__ = __index__ = __float__ = __repr__ = __str__ = Hostile._no


STRANGE: list[Any] = [
    Hostile(), HostileText("good"), HostileNumber(1), [1], {"good": 1}, {1}, (1, 2), b"good", object(), 1j, ...,
    complex("nan"), pd.Timestamp(0), pd.Timedelta(1), np.datetime64("NaT"), np.datetime64(0, "s"), pd.Interval(0, 1),
    np.array([1, 2]), pd.Series([1]), pd.DataFrame({"good": [1]}), Decimal("sNaN"), Decimal("Infinity"), 10**5000,
    Fraction(1, 10**5000), "\ud800", "good\x00", "9" * 300, "1e9999", "1/0", type, len, math.nan, None, pd.NA, pd.NaT,
    np.str_("good"), np.longdouble("0.1"), np.float16(1), np.bool_(True),
]  # fmt: skip


def column(values: list[Any]) -> pd.Series:
    """A column of these very objects: pandas is kept from guessing a type for them."""
    held = np.empty(len(values), dtype=object)
    for place, value in enumerate(values):
        held[place] = value
    return pd.Series(held, dtype=object)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("kind", ["number", "text"])
@settings(max_examples=part(150, 50))
@given(
    strange=st.lists(st.integers(0, len(STRANGE) - 1), max_size=4),
    usual=st.lists(st.one_of(st.text(), st.floats(), st.integers()), max_size=4),
)
def test_nothing_raises_or_warns_whatever_the_values_are(kind: str, strange: list[int], usual: list[Any]) -> None:
    values = [*(STRANGE[place] for place in strange), *usual]
    frame = pd.DataFrame({"x": column(values)})
    labels = [1, "0.5"] if kind == "number" else ["good", "1"]
    asked = [Question.of(Domain.categories(labels, column="x", other=True, missing=True), {"x": labels})]
    if kind == "number":
        asked += [
            Question.of(Domain.integers(0, 3, column="x", overflow=True), {"x": Between(0)}),
            Question.of(Domain.intervals([0, "1/3", 10**30], column="x", underflow=True, missing=True)),
        ]
    for question in asked:
        for unit in (ROW, Unit("x", max_bins=1)):
            counts = engine(frame, "data", {"x": kind}).count(question, unit, StatisticKind.DENSE).take()
            assert 0 <= counts.sum() <= len(values)


@pytest.mark.parametrize("kind", ["number", "text"])
def test_each_strange_value_is_other_or_missing_and_loses_no_neighbour(kind: str) -> None:
    bins = Domain.categories(["1", "7"], column="x", other=True, missing=True)
    for strange in STRANGE:
        source = engine(pd.DataFrame({"x": column([7, strange, 7])}), "data", {"x": kind})
        counts = source.count(Question.of(bins), ROW, StatisticKind.DENSE).take().tolist()
        assert counts[1] == 2
        assert sum(counts) == 3


# ---------------------------------------------------------------- filters and products


def test_filters_are_rows_that_pass_all_conditions_and_missing_passes_none() -> None:
    frame = pd.DataFrame({"x": [0, 1, 1, 1, 1], "y": [0.3, 0.1, 0.3, None, 0.5], "z": ["a", "a", "a", "a", None]})
    bins = Domain.integers(0, 1, column="x")
    assert count(frame, bins, y=Between("3/10", "1/2")) == [1, 2]
    assert count(frame, bins, y=Between(high="3/10"), z=["a", "b"]) == [1, 2]
    assert count(frame, bins, y=Between(low=0), z="a") == [1, 2]
    assert count(frame, bins, z="b") == [0, 0]


def test_a_product_counts_pairs_and_drops_rows_with_half_a_bin() -> None:
    frame = pd.DataFrame({"x": [0, 0, 1, 2, 1], "y": ["a", "b", "b", "a", "c"]})
    bins = Domain.integers(0, 1, column="x", overflow=True) * Domain.categories(["a", "b"], column="y")
    counts = count(frame, bins)
    assert counts == [1, 1, 0, 1, 1, 0]
    assert counts[bins.index((0, "b"))] == 1


# ---------------------------------------------------------------- users


def users(frame: pd.DataFrame, unit: Unit, **where: Any) -> list[int]:
    return contract.counts_as_the_reference(engine, frame, Question.of(Domain.integers(0, 3, column="x"), where), unit)


def test_one_bin_each_counts_distinct_users() -> None:
    frame = pd.DataFrame({"x": [0, 0, 0, 1, 1, 3], "user": ["a", "a", "b", "a", None, "c"]})
    assert users(frame, Unit("user", max_bins=4)) == [2, 1, 0, 1]
    assert users(frame, Unit("user", max_bins=4, max_per_bin=2)) == [3, 1, 0, 1]
    assert sum(users(frame, Unit("user", max_bins=1))) == 3


def test_rows_are_filtered_before_users_are_bounded() -> None:
    frame = pd.DataFrame({"x": [0, 1, 2, 3], "user": ["a"] * 4, "day": [1, 2, 3, 4]})
    for day in (1, 2, 3, 4):
        assert users(frame, Unit("user", max_bins=1), day=day)[day - 1] == 1


def test_which_bins_a_user_keeps_depends_on_the_name_alone_not_on_its_type() -> None:
    bins, rows = [0, 1, 2, 3], 40
    names = [number for number in range(rows) for _ in bins]
    unit = Unit("user", max_bins=2)
    expected = users(pd.DataFrame({"x": bins * rows, "user": names}), unit)
    for held in (
        pd.Series(names, dtype="float64"),
        pd.Series([str(name) for name in names]),
        pd.Series(names, dtype="object"),
        pd.Series(names, dtype="category"),
        pd.Series(names, dtype="Int64"),
    ):
        assert users(pd.DataFrame({"x": bins * rows, "user": held}), unit) == expected
    joined = pd.concat([pd.DataFrame({"x": bins * rows, "user": names}), pd.DataFrame({"x": [0], "user": ["new"]})])
    assert users(joined, unit) == np.add(expected, [1, 0, 0, 0]).tolist()


def test_users_spread_over_their_bins_and_choose_anew_for_each_question() -> None:
    frame = pd.DataFrame({"x": [0, 1, 2, 3] * 2_000, "user": [number for number in range(2_000) for _ in range(4)]})
    unit = Unit("user", max_bins=1)
    first, second = users(frame, unit), users(frame, unit, user=Between(-1))
    assert sum(first) == sum(second) == 2_000
    assert first != second
    for counts in (first, second):
        assert all(abs(kept - 500) < 5 * math.sqrt(2_000 * 3 / 16) for kept in counts)


# ---------------------------------------------------------------- the snapshot, the real data


def test_later_edits_of_the_frame_change_no_answer() -> None:
    held = np.array([0, 0, 1])
    frame = pd.DataFrame({"x": held, "y": pd.Series(["a", "a", "b"], dtype=object)}, copy=False)
    source = engine(frame, "data", None)
    numbers, letters = Domain.integers(0, 1, column="x"), Domain.categories(["a", "b"], column="y")
    held[:] = 1
    frame.loc[:, "y"] = "b"
    frame["x"] = 1
    for bins in (numbers, letters):
        assert source.count(Question.of(bins), ROW, StatisticKind.DENSE).take().tolist() == [2, 1]


def test_the_frame_is_left_as_it_was() -> None:
    frame = datasets.doctor_visits()
    before = frame.copy()
    source = engine(frame, "data", None)
    source.count(Question.of(Domain.integers(0, 40, column="visits")), ROW, StatisticKind.DENSE)
    pd.testing.assert_frame_equal(frame, before)


def test_doctor_visits_are_counted_as_value_counts_counts_them() -> None:
    frame = datasets.doctor_visits()
    bins = Domain.integers(0, 40, column="visits", overflow=True)
    counts = as_source(frame).count(Question.of(bins), Unit(noun="person-year"), StatisticKind.DENSE)
    assert isinstance(counts, DenseCounts)
    plain = frame["visits"].value_counts()
    assert counts.take().tolist() == [
        *(int(plain.get(visits, 0)) for visits in range(41)),
        int((frame["visits"] > 40).sum()),
    ]
    assert counts.take().sum() == 20_190


def test_flights_bounded_by_aircraft_are_distinct_aircraft() -> None:
    frame = datasets.flights()
    codes = sorted(frame["destination"].unique().tolist())
    question = Question.of(Domain.categories(codes, column="destination"))
    source = as_source(frame)
    distinct = source.count(question, Unit("aircraft", max_bins=104), StatisticKind.DENSE).take()
    assert distinct.tolist() == frame.groupby("destination")["aircraft"].nunique()[codes].tolist()
    bounded = source.count(question, Unit("aircraft", max_bins=5, max_per_bin=3), StatisticKind.DENSE).take()
    per = frame.groupby(["aircraft", "destination"]).size().clip(upper=3)
    assert (bounded <= per.groupby("destination").sum()[codes].to_numpy()).all()
    assert 3 * np.minimum(frame.groupby("aircraft")["destination"].nunique(), 5).sum() >= bounded.sum() >= 4_043


# ---------------------------------------------------------------- what is refused, from public things alone

FRAME = pd.DataFrame(
    {"n": [1, 2], "t": ["a", "b"], "when": pd.to_datetime([0, 1]), "day": pd.period_range("2020", periods=2)}
)
NUMBERS = Domain.integers(0, 3, column="n")


@pytest.mark.parametrize(
    ("question", "unit", "kind", "says"),
    [
        (
            Question.of(Domain.integers(0, 3, column="m")),
            ROW,
            StatisticKind.DENSE,
            "m; its columns are n, t, when, day",
        ),
        (
            Question.of(Domain.integers(0, 3, column="t")),
            ROW,
            StatisticKind.DENSE,
            "a domain of integers needs a column of numbers",
        ),
        (
            Question.of(Domain.intervals([0, 3], column="t")),
            ROW,
            StatisticKind.DENSE,
            "a domain of intervals needs a column of num",
        ),
        (
            Question.of(Domain.categories([0], column="when")),
            ROW,
            StatisticKind.DENSE,
            "a column of times is counted by stretches of time",
        ),
        (
            Question.of(Domain.categories([0], column="day")),
            ROW,
            StatisticKind.DENSE,
            "a column of instants, of times of day or of lengths of time has no bins",
        ),
        (
            Question.of(Domain.categories(["a"], column="n")),
            ROW,
            StatisticKind.DENSE,
            "numbers in their shortest form, got label 1",
        ),
        (
            Question.of(Domain.categories(["1.0"], column="n")),
            ROW,
            StatisticKind.DENSE,
            "numbers in their shortest form, got label 1",
        ),
        (Question.of(NUMBERS, {"m": 1}), ROW, StatisticKind.DENSE, "got m; its columns"),
        (Question.of(NUMBERS, {"n": True}), ROW, StatisticKind.DENSE, "numbers in their shortest form, got label 1"),
        (Question.of(NUMBERS, {"t": Between(1)}), ROW, StatisticKind.DENSE, "a range filter needs a column of numbers"),
        (
            Question.of(NUMBERS, {"when": Between(1)}),
            ROW,
            StatisticKind.DENSE,
            "a column of times is filtered by dates",
        ),
        (Question.of(NUMBERS), Unit("user"), StatisticKind.DENSE, "got user; its columns"),
        (Question.of(NUMBERS), Unit("when"), StatisticKind.DENSE, "a column of times is counted by stretches of time"),
        (Question.of(NUMBERS), ROW, StatisticKind.TOP, "one number per bin"),
        (Question.of(Domain.keys(column="n")), ROW, StatisticKind.DENSE, "this question needs declared bins"),
        (Question.of(Domain.keys(column="m")), ROW, StatisticKind.SPARSE, "m; its columns are n, t, when, day"),
        (
            Question.of(Domain.keys(column="when")),
            ROW,
            StatisticKind.SPARSE,
            "a column of times is counted by stretches of time",
        ),
        (Question.of(Domain.integers(0, 2**70, column="t")), ROW, StatisticKind.SPARSE, "needs a column of numbers"),
        (Question.of(Domain.integers(0, 2**26, column="n")), ROW, StatisticKind.DENSE, "67,108,865 bins"),
    ],
)
def test_a_question_that_cannot_be_counted_is_refused_before_anything_is_read(
    question: Question, unit: Unit, kind: StatisticKind, says: str
) -> None:
    source = engine(FRAME, "data", None)
    for call in (source.check, source.count):
        with pytest.raises(ParameterError) as refused:
            call(question, unit, kind)
        assert says in str(refused.value)
        assert refused.value.rule


def test_the_check_is_the_same_for_every_frame_of_the_same_types() -> None:
    empty, full = FRAME.iloc[:0], FRAME
    assert engine(empty, "data", None).columns == engine(full, "data", None).columns
    engine(empty, "data", None).check(Question.of(NUMBERS), ROW, StatisticKind.DENSE)
    assert engine(empty, "data", None).count(Question.of(NUMBERS), ROW, StatisticKind.DENSE).take().tolist() == [0] * 4


@pytest.mark.parametrize(
    ("frame", "options", "says"),
    [
        (FRAME, {"schema": {"m": "number"}}, "columns that the data has, got m"),
        (FRAME, {"schema": {"n": "integer"}}, 'number, text, date or clock, got "integer"'),
        (FRAME, {"schema": {"n": ["number"]}}, "number, text, date or clock"),
        (FRAME, {"schema": {"when": "text"}}, "a column of times is counted by stretches of time, got when"),
        (FRAME, {"schema": [("n", "number")]}, "a schema must be a dict, got list"),
        (FRAME, {"name": ""}, "the name of a dataset must be text"),
        (FRAME, {"name": 3}, "the name of a dataset must be text, got 3"),
        (FRAME.set_axis(["n", "t", "n", "u"], axis=1), {}, "names of columns must differ, got n"),
        (FRAME.set_axis(["n", "t", 3, "u"], axis=1), {}, "names of columns must be text, got int"),
        (FRAME.T.T.iloc[:, :0], {}, "must have columns"),
        (FRAME["n"], {}, "data must be a pandas DataFrame, got Series"),
        ({"n": [1]}, {}, "data must be a pandas DataFrame, got dict"),
    ],
)
def test_a_frame_or_schema_that_cannot_be_held_is_refused(frame: Any, options: dict[str, Any], says: str) -> None:
    with pytest.raises(ParameterError, match=says):
        PandasSource(frame, **{"name": "data", **options})


def test_kinds_are_coarse_and_may_be_declared() -> None:
    frame = pd.DataFrame({"i": [1], "f": [0.5], "b": [True], "s": ["x"], "o": [None], "c": pd.Categorical([1])})
    kinds = {"i": "number", "f": "number", "b": "text", "s": "text", "o": "text", "c": "text"}
    assert engine(frame, "data", None).columns == tuple(Column(name, kind) for name, kind in kinds.items())
    declared = engine(frame, "data", {"o": "number", "i": "text"}).columns
    assert {column.name: column.kind for column in declared} == kinds | {"o": "number", "i": "text"}


# ---------------------------------------------------------------- what a session may be pointed at


def test_a_frame_is_called_what_it_brings_or_what_it_is_given() -> None:
    visits = datasets.doctor_visits()
    assert as_source(visits).name == "doctor visits"
    assert as_source(visits, name="visits 2").name == "visits 2"
    assert as_source(FRAME).name == "data"
    assert as_source(visits, schema={"visits": "text"}).columns[0].kind == "text"


def test_a_source_passes_through_with_its_own_name_and_schema() -> None:
    source = engine(FRAME, "mine", None)
    assert as_source(source) is source
    assert as_source(source, name="mine") is source
    with pytest.raises(ParameterError, match="its own name and schema"):
        as_source(source, name="other")
    with pytest.raises(ParameterError, match="its own name and schema"):
        as_source(source, schema={"n": "text"})


@pytest.mark.parametrize("data", [[1, 2], {"n": [1]}, None, FRAME["n"], PandasSource, np.zeros(3)])
def test_anything_else_is_refused_by_its_type(data: object) -> None:
    with pytest.raises(ParameterError, match=f"got {type(data).__name__}"):
        as_source(data)


def test_a_domain_of_no_kind_makes_no_question() -> None:
    with pytest.raises(ParameterError, match="a question must be a Domain"):
        Question(Domain.__new__(Domain))


def test_errors_of_the_schema_are_schema_errors() -> None:
    with pytest.raises(SchemaError) as refused:
        engine(FRAME, "data", None).check(Question.of(Domain.integers(0, 3, column="t")), ROW, StatisticKind.DENSE)
    assert refused.value.value == "t"
    assert 'schema={"t": "number"}' in refused.value.next_step


@pytest.mark.parametrize("kind", ["text", "number"])
@pytest.mark.parametrize(
    "texts", [[], [None], ["1", "1.0", None, "b", "1", "ä", " 1", "", None], ["2", "10", "1e1", "0.5", "x", "2"]]
)
def test_texts_counted_at_once_are_those_counted_row_by_row(texts: list[str | None], kind: str) -> None:
    """A filter that every row passes has the place of each row looked up; without one, values are only tallied."""
    frame = pd.DataFrame({"x": pd.Series(texts, dtype="str"), "all": np.ones(len(texts), dtype=np.int64)})
    assert isinstance(frame["x"].array, pd.arrays.ArrowStringArray)
    domains = [Domain.keys(column="x"), Domain.categories(["1", "5", "2"], column="x", other=True, missing=True)]
    if kind == "number":
        domains.append(Domain.integers(0, 9, column="x", missing=True))
    for domain in domains:
        need = StatisticKind.DENSE if domain.declared else StatisticKind.SPARSE
        found = []
        for where in ({}, {"all": Between(low=1)}):
            source = engine(frame, "data", {"x": kind})
            taken: Any = source.count(Question.of(domain, where), ROW, need)
            found.append([np.asarray(part).tolist() for part in taken.take()])
            lazy: Any = source._read("x")
            assert ("rows" in vars(lazy)) == bool(where), "rows are looked up where something asks for them alone"
        assert found[0] == found[1]
