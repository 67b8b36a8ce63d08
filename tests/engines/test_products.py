"""Products of three columns and more: numbered alike by every engine, and bounded like any other bins."""

from __future__ import annotations

import itertools
from collections import Counter
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest

from dpviz.engines import as_source
from dpviz.errors import DomainError
from dpviz.mechanisms import Compact, Dense, PureSparse, Stability
from dpviz.model.domain import Domain
from dpviz.model.mechanism import Mechanism
from dpviz.model.question import Question
from dpviz.model.statistic import StatisticKind
from dpviz.noise.bits import TeachingBits
from dpviz.privacy.unit import Unit
from tests.engines import contract, engines

THREE = (
    Domain.integers(0, 1, column="x", overflow=True)
    * Domain.categories(["a"], column="y", other=True)
    * Domain.intervals([0, "1/2", 2], column="z", missing=True)
)
ENGINES = pytest.mark.parametrize("engine", [engines.pandas, engines.shared], ids=["pandas", "DuckDB"])


def rows(chance: np.random.Generator, many: int) -> pd.DataFrame:
    return pd.DataFrame(
        {
            "x": chance.integers(-1, 4, many),
            "y": chance.choice(np.array(["a", "b", None], dtype=object), many),
            "z": chance.choice([-1.0, 0.0, 0.25, 0.5, 2.0, 2.5, np.nan], many),
            "user": chance.choice(["u", "v", "w"], many),
        }
    )


@ENGINES
def test_three_factors_are_counted_as_somebody_counts_them_by_hand(engine: contract.Engine) -> None:
    frame = rows(np.random.default_rng(3), 400)
    by_hand: Counter[tuple[int, int, int]] = Counter()
    for x, y, z in zip(frame["x"], frame["y"], frame["z"], strict=True):
        third = 2 if np.isnan(z) else 0 if 0 <= z < 0.5 else 1 if 0.5 <= z <= 2 else None
        second = None if pd.isna(y) else 0 if y == "a" else 1
        first = None if x < 0 else min(x, 2)
        if None not in (first, second, third):
            by_hand[first, second, third] += 1
    counts = contract.counts_as_the_reference(engine, frame, Question.of(THREE), Unit())
    assert counts == [by_hand[bin] for bin in itertools.product(range(3), range(2), range(3))]
    assert sum(counts) == by_hand.total() > 100


@ENGINES
@pytest.mark.parametrize("unit", [Unit("user", max_bins=2, max_per_bin=3), Unit("user", max_bins=1), Unit()])
def test_a_unit_moves_three_factors_by_no_more_than_its_bounds(engine: contract.Engine, unit: Unit) -> None:
    chance = np.random.default_rng(5)
    for _ in range(6):
        frame = rows(chance, 60)
        whole = contract.counts_as_the_reference(engine, frame, Question.of(THREE), unit)
        assert contract.sparse_as_the_reference(engine, frame, Question.of(THREE), unit) == [
            (bin, count) for bin, count in enumerate(whole) if count
        ]
        without = frame.iloc[1:] if unit.is_row else frame[frame["user"] != "u"]
        less = contract.counts_as_the_reference(engine, without, Question.of(THREE), unit)
        moved = [abs(one - other) for one, other in zip(whole, less, strict=True)]
        assert sum(change > 0 for change in moved) <= (unit.max_bins or 0)
        assert max(moved) <= unit.max_per_bin


@ENGINES
def test_a_product_of_four_beyond_64_bits_is_numbered_without_rounding(engine: contract.Engine) -> None:
    wide = [Domain.integers(0, 10**8, column=name) for name in "xyzw"]
    product = Domain.product(*wide)
    frame = pd.DataFrame({"x": [1, 99_999_999, 1], "y": [2, 10**8, 2], "z": [3, 0, 3], "w": [4, 7, 4]})
    found = contract.sparse_as_the_reference(engine, frame, Question.of(product), Unit())
    assert found == [(product.index((1, 2, 3, 4)), 2), (product.index((99_999_999, 10**8, 0, 7)), 1)]
    assert product.label(found[0][0]) == "1 · 2 · 3 · 4"


@ENGINES
def test_a_product_of_many_columns_is_counted_and_one_of_too_many_bins_refused(engine: contract.Engine) -> None:
    bits = [Domain.integers(0, 1, column=f"bit{number}") for number in range(30)]
    chance = np.random.default_rng(7)
    frame = pd.DataFrame({domain.columns[0]: chance.integers(0, 2, 50) for domain in bits})
    found = contract.sparse_as_the_reference(engine, frame, Question.of(Domain.product(*bits)), Unit())
    assert sum(count for _, count in found) == 50
    source = engine(frame, "data", None)
    with pytest.raises(DomainError, match="a dense count has at most"):
        source.check(Question.of(Domain.product(*bits)), Unit(), StatisticKind.DENSE)
    ones = [Domain.integers(0, 9, column=f"bit{number}") for number in range(30)]
    contract.sparse_as_the_reference(engine, frame, Question.of(Domain.product(*ones)), Unit())


@pytest.mark.parametrize(
    "mechanism", [Dense("1/2"), Stability("1", "1e-6"), PureSparse("1", cap=4), Compact("1", cap=4)]
)
def test_a_release_of_three_factors_has_the_law_of_as_many_plain_bins(mechanism: Mechanism) -> None:
    """Price and error are the same, and the same bits give the same noise to the same counts, bin by bin."""
    unit = Unit("user", max_bins=2)
    flat = Domain.integers(0, THREE.size - 1, column="bin")
    frame = rows(np.random.default_rng(9), 200)
    product, plain = (mechanism.bind(Question.of(domain), unit) for domain in (THREE, flat))
    assert product.price == plain.price
    for beta in (Fraction(1, 20), Fraction(1, 100)):
        assert product.error.one_bin(beta) == plain.error.one_bin(beta)
        assert product.error.all_bins(beta) == plain.error.all_bins(beta)
    statistic = as_source(frame, name="data").count(Question.of(THREE), unit, product.needs)
    drawn = [bound.draw(statistic, TeachingBits(4), mode="exact") for bound in (product, plain)]
    assert drawn[0].to_json() == drawn[1].to_json()
