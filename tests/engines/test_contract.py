"""The contract can fail: engines that are nearly right are rejected."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd
import pytest

from dpviz.engines import reading
from dpviz.engines.pandas_source import PandasSource
from dpviz.model.domain import Domain
from dpviz.model.question import Question
from dpviz.privacy.unit import Unit
from tests.engines import contract, reference

UNIT = Unit("user", max_bins=1, max_per_bin=1)


def pairs(frame: pd.DataFrame) -> Counter[tuple[str, int]]:
    return Counter(zip(frame["user"], frame["bin"], strict=True))


def right(frame: pd.DataFrame, question: Question, unit: Unit) -> Sequence[int]:
    columns = contract.reference.Column("bin", "number"), contract.reference.Column("user", "text")
    return reference.count(reference.rows_of(frame), columns, question, unit)


def keeps_popular_bins(frame: pd.DataFrame, question: Question, unit: Unit) -> Sequence[int]:
    """Each user keeps the bins that most rows of all users are in: one user's rows decide about another's."""
    found, popular = pairs(frame), Counter(frame["bin"])
    counts = [0] * question.bins
    for user in {user for user, _ in found}:
        bins = sorted((bin for name, bin in found if name == user), key=lambda bin: (-popular[bin], bin))
        for bin in bins[: unit.max_bins]:
            counts[bin] += min(found[user, bin], unit.max_per_bin)
    return counts


def mixes_the_number_of_a_user(frame: pd.DataFrame, question: Question, unit: Unit) -> Sequence[int]:
    """The choice depends on the user's place among all users instead of the user's name."""
    numbered = {user: str(number) for number, user in enumerate(sorted(set(frame["user"])))}
    return right(frame.assign(user=frame["user"].map(numbered)), question, unit)


def does_not_cap_rows(frame: pd.DataFrame, question: Question, unit: Unit) -> Sequence[int]:
    return right(frame, question, Unit(unit.of, max_bins=unit.max_bins, max_per_bin=1_000))


def does_not_cap_bins(frame: pd.DataFrame, question: Question, unit: Unit) -> Sequence[int]:
    return right(frame, question, Unit(unit.of, max_bins=1_000, max_per_bin=unit.max_per_bin))


def keeps_the_first_bins(frame: pd.DataFrame, question: Question, unit: Unit) -> Sequence[int]:
    """The first bins in the order of the rows."""
    counts = [0] * question.bins
    for _, rows in frame.groupby("user"):
        for bin in list(dict.fromkeys(rows["bin"]))[: unit.max_bins]:
            counts[bin] += min(int((rows["bin"] == bin).sum()), unit.max_per_bin)
    return counts


def test_the_reference_itself_passes() -> None:
    assert contract.one_user_weighs_little_in_every_tiny_frame(right, UNIT) == 140


@pytest.mark.parametrize("twin", [keeps_popular_bins, mixes_the_number_of_a_user, does_not_cap_rows, does_not_cap_bins])
def test_a_twin_that_looks_at_others_or_does_not_cap_is_rejected(twin: contract.Counter) -> None:
    with pytest.raises(AssertionError, match="one unit moves"):
        contract.one_user_weighs_little_in_every_tiny_frame(twin, UNIT)


@pytest.mark.parametrize("relation", ["add-remove", "replace-one"])
def test_a_twin_that_does_not_cap_records_is_rejected(relation: Any) -> None:
    def does_not_cap_records(frame: pd.DataFrame, question: Question, unit: Unit) -> Sequence[int]:
        return right(frame, question, Unit(unit.of, max_bins=unit.max_bins, max_per_bin=unit.max_per_bin))

    unit = Unit("user", relation=relation, max_bins=2, max_per_bin=2, max_records=2)
    assert contract.one_user_weighs_little_in_every_tiny_frame(right, unit) == (
        140 if relation == "add-remove" else 2_800
    )
    with pytest.raises(AssertionError, match="one unit moves"):
        contract.one_user_weighs_little_in_every_tiny_frame(does_not_cap_records, unit)


def test_a_twin_that_follows_the_order_of_rows_is_rejected() -> None:
    frame = pd.DataFrame({"bin": [0, 1, 2], "user": ["one"] * 3})
    question = Question.of(Domain.integers(0, 2, column="bin"))
    contract.looks_at_values_only(right, frame, question, UNIT)
    with pytest.raises(AssertionError, match="order of the rows"):
        contract.looks_at_values_only(keeps_the_first_bins, frame, question, UNIT)


def test_an_engine_that_compares_with_rounded_edges_is_rejected(monkeypatch: pytest.MonkeyPatch) -> None:
    def engine(frame: pd.DataFrame, name: str, schema: Mapping[str, str] | None) -> PandasSource:
        return PandasSource(frame, name=name, schema=schema)

    frame = pd.DataFrame({"x": [1 / 3, 0.3]})
    question = Question.of(Domain.intervals(["0", "3/10", "1/3", "1"], column="x"))
    assert contract.counts_as_the_reference(engine, frame, question, Unit("row")) == [0, 2, 0]
    monkeypatch.setattr(reading, "least", lambda dtype, limit, above=False: dtype.type(limit))
    with pytest.raises(AssertionError):
        contract.counts_as_the_reference(engine, frame, question, Unit("row"))
