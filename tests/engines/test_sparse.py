"""Sparse counts of a data frame: domains that nobody lists, and keys that nobody declared."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpviz import datasets
from dpviz.engines import bounding, pandas_source
from dpviz.engines.reading import Numbers
from dpviz.model.domain import Domain
from dpviz.model.question import Between, Question
from dpviz.model.statistic import SparseCounts, StatisticKind
from dpviz.privacy.unit import Unit
from tests.engines import contract, engines
from tests.engines.frames import frames, units, wide_questions
from tests.engines.test_pandas import ROW, STRANGE, column, engine, kinds_of
from tests.soak.amounts import part

TOP = 2**64 - 1


def sparse(values: Any, domain: Domain, unit: Unit = ROW, kind: str | None = None, **where: Any) -> list[Any]:
    """Labels and counts of one column `x`, checked against the reference."""
    frame = values if isinstance(values, pd.DataFrame) else pd.DataFrame({"x": values})
    schema = None if kind is None else {"x": kind}
    return contract.sparse_as_the_reference(engine, frame, Question.of(domain, where), unit, schema)


# ---------------------------------------------------------------- the contract


@settings(max_examples=part(400, 120))
@given(st.data())
def test_sparse_counts_are_those_of_the_reference(data: st.DataObject) -> None:
    frame, schema = data.draw(frames())
    question = data.draw(wide_questions(kinds_of(frame, schema)))
    contract.sparse_as_the_reference(engine, frame, question, data.draw(units), schema)


@pytest.mark.parametrize("relation", ["add-remove", "replace-one"])
@pytest.mark.parametrize(("max_bins", "max_per_bin"), [(1, 1), (1, 2), (2, 1)])
def test_one_user_weighs_little_in_every_tiny_frame(relation: Any, max_bins: int, max_per_bin: int) -> None:
    """As numbers of a declared domain and as keys of an unknown one."""
    unit = Unit("user", relation=relation, max_bins=max_bins, max_per_bin=max_per_bin)
    others = part(20, 7)
    for count in (contract.sparse_counter(engines.kept), contract.key_counter(engines.kept, ["0", "1", "2"])):
        pairs = contract.one_user_weighs_little_in_every_tiny_frame(count, unit, others=others)
        assert pairs == (20 if relation == "add-remove" else 400) * others


@pytest.mark.parametrize("keys", [False, True])
def test_an_engine_that_digests_the_rank_of_a_bin_is_rejected(keys: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ranks count the bins of all users: one user's new bin would move what all others keep."""
    count = contract.key_counter(engine, ["0", "1", "2", "3"]) if keys else contract.sparse_counter(engine)
    others = [str(user) for user in range(40) for _ in range(3)]
    frame = pd.DataFrame({"bin": [0, *[1, 2, 3] * 40], "user": ["new", *others]})
    question, unit = Question.of(Domain.integers(0, 3, column="bin")), Unit("user", max_bins=1)
    contract.one_unit_weighs_little(count, frame, frame.iloc[1:], question, unit)
    right = bounding.count_users
    monkeypatch.setattr(pandas_source, "count_users", lambda *given: right(*given[:5]))
    with pytest.raises(AssertionError, match="one unit moves"):
        contract.one_unit_weighs_little(count, frame, frame.iloc[1:], question, unit)


@settings(max_examples=part(100, 40))
@given(st.data())
def test_neither_order_nor_index_matters(data: st.DataObject) -> None:
    frame, _ = data.draw(frames())
    question, unit = data.draw(wide_questions(kinds_of(frame, {}))), data.draw(units)

    def count(held: pd.DataFrame, asked: Question, of: Unit) -> Sequence[Any]:
        statistic = engine(held, "data", None).count(asked, of, StatisticKind.SPARSE)
        assert isinstance(statistic, SparseCounts)
        return [part.tolist() for part in statistic.take()]

    contract.looks_at_values_only(count, frame, question, unit)


def test_progress_tells_public_sizes_only() -> None:
    long = pd.DataFrame({"x": range(5_000), "user": [str(value % 7) for value in range(5_000)]})
    odd = pd.DataFrame({"x": [math.nan], "user": ["CANARY"]})
    for domain in (Domain.keys(column="x"), Domain.integers(0, TOP, column="x"), Domain.integers(0, 9, column="x")):
        question = Question.of(domain, {"user": ["1", "2"]})
        for unit in (ROW, Unit("user", max_bins=2)):
            contract.ticks_with_public_sizes(engine, [long, odd, long.iloc[:0]], question, unit, StatisticKind.SPARSE)


# ---------------------------------------------------------------- domains of any size


@pytest.mark.parametrize("dtype", ["uint64", "UInt64", "object"])
def test_every_label_of_two_to_the_64_has_its_own_number(dtype: str) -> None:
    values = pd.Series([0, 1, 2**63 - 1, 2**63, TOP - 1, TOP, TOP], dtype=dtype)
    kind = "number" if dtype == "object" else None
    expected = [(0, 1), (1, 1), (2**63 - 1, 1), (2**63, 1), (TOP - 1, 1), (TOP, 2)]
    assert sparse(values, Domain.integers(0, TOP, column="x"), kind=kind) == expected


def test_a_huge_domain_has_its_bins_beside_the_declared_ones() -> None:
    beside = {"column": "x", "underflow": True, "overflow": True, "missing": True}
    values = pd.Series([-1, 0, 5, None, 2**63 - 1], dtype="Int64")
    size = 2**63
    domain = Domain.integers(0, size - 2, **beside)  # type: ignore[arg-type]
    assert sparse(values, domain) == [(0, 1), (1, 1), (6, 1), (size, 1), (size + 1, 1)]
    beyond = Domain.integers(-(10**30), 10**30, **beside)  # type: ignore[arg-type]
    assert sparse(values, beyond) == [
        (10**30, 1), (10**30 + 1, 1), (10**30 + 6, 1), (10**30 + 2**63, 1), (2 * 10**30 + 3, 1),
    ]  # fmt: skip


def test_negative_numbers_are_numbered_from_the_low_end() -> None:
    assert sparse([-(2**63), -1, 2**63 - 1], Domain.integers(-(2**63), 2**63 - 1, column="x")) == [
        (0, 1), (2**63 - 1, 1), (TOP, 1),
    ]  # fmt: skip


def test_floats_in_a_wide_domain_are_numbered_without_rounding() -> None:
    """From -2^53 the number of 1.0 is 2^53 + 1, which no float holds."""
    domain = Domain.integers(-(2**53), 2**53, column="x")
    assert sparse([1.0, -1.0, 0.5, math.inf, 2.0**53], domain) == [(2**53 - 1, 1), (2**53 + 1, 1), (2**54, 1)]


def test_a_product_beyond_64_bits_counts_pairs() -> None:
    frame = pd.DataFrame({"x": pd.Series([7, 7, 0, TOP], dtype="uint64"), "y": [1, 1, -1, TOP - 1.0]})
    huge = Domain.integers(0, TOP, column="x") * Domain.integers(0, 2, column="y")
    assert sparse(frame, huge) == [(22, 2)]
    narrow = Domain.integers(0, 2**63 - 1, column="x") * Domain.integers(0, 1, column="y")
    assert sparse(frame, narrow) == [(15, 2)]


def test_an_empty_frame_has_no_labels() -> None:
    for domain in (Domain.integers(0, TOP, column="x"), Domain.integers(0, 9, column="x"), Domain.keys(column="x")):
        assert sparse(pd.Series([], dtype="int64"), domain) == []


# ---------------------------------------------------------------- unknown keys


def test_keys_are_the_texts_that_categories_are_matched_by() -> None:
    keys = Domain.keys(column="x")
    assert sparse(["JFK", "LAX", None, "JFK", "007", ""], keys) == [("", 1), ("007", 1), ("JFK", 2), ("LAX", 1)]
    assert sparse([1.0, 2.5, 1.0, math.nan, math.inf], keys) == [("1", 2), ("2.5", 1)]
    assert sparse([True, False, True], keys) == [("False", 1), ("True", 2)]
    assert sparse(pd.Series([True, 1, "1", "01", " 1"], dtype=object), keys, kind="number") == [("1", 5)]


def test_filters_and_users_bound_keys_too() -> None:
    frame = pd.DataFrame({"x": ["a", "a", "b", "b", "c"], "user": ["u", "u", "u", "v", None], "day": [1, 1, 2, 2, 2]})
    keys = Domain.keys(column="x")
    assert sparse(frame, keys, day=2) == [("b", 2), ("c", 1)]
    assert sparse(frame, keys, Unit("user", max_bins=2), day=Between(1)) == [("a", 1), ("b", 2)]
    assert sum(count for _, count in sparse(frame, keys, Unit("user", max_bins=1))) == 2


@pytest.mark.parametrize("kind", ["number", "text"])
def test_no_value_raises_or_warns(kind: str) -> None:
    frame = pd.DataFrame({"x": column(STRANGE)})
    source = engine(frame, "data", {"x": kind})
    domains: list[Domain] = [Domain.keys(column="x")]
    if kind == "number":
        domains += [Domain.integers(0, TOP, column="x", missing=True), Domain.integers(-(10**40), 10**40, column="x")]
    for domain in domains:
        for unit in (ROW, Unit("x", max_bins=1)):
            labels, counts = source.count(Question.of(domain), unit, StatisticKind.SPARSE).take()
            assert len(labels) == len(counts) and 0 <= counts.sum() <= len(STRANGE)
            for label in labels.tolist():
                str(label).encode()  # what cannot be written could not be released


def test_real_airports_are_counted_as_value_counts_counts_them() -> None:
    frame = datasets.flights()
    plain = frame["destination"].value_counts()
    found = engine(frame, "flights", None).count(
        Question.of(Domain.keys(column="destination")), ROW, StatisticKind.SPARSE
    )
    labels, counts = found.take()
    assert labels.tolist() == sorted(plain.index) and counts.tolist() == [int(plain[label]) for label in labels]


def test_the_contract_rejects_numbers_that_were_rounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """A twin that numbers bins as floats would."""
    right = Numbers._wide

    def rounded(self: Numbers, domain: Any) -> Any:
        bins, inside = right(self, domain)
        return bins.astype(np.float64).astype(np.uint64), inside

    values, domain = pd.Series([2**60 + 1], dtype="uint64"), Domain.integers(0, TOP, column="x")
    assert sparse(values, domain) == [(2**60 + 1, 1)]
    monkeypatch.setattr(Numbers, "_wide", rounded)
    with pytest.raises(AssertionError):
        sparse(values, domain)
