"""Records per protected unit: a user counts with at most so many records, wherever they lie."""

from __future__ import annotations

import itertools
from fractions import Fraction
from typing import Any

import pandas as pd
import pytest

import dpviz as dv
from dpviz.errors import CharterMismatch, ConversionError, DpvizError, UnitError
from dpviz.mechanisms.tree import TreeSpread
from dpviz.model.question import Question
from dpviz.privacy import Guarantee, PureDP, Unit
from dpviz.privacy.conversion import convert

Lie = tuple[int, ...]


def lies(unit: Unit, bins: int) -> list[Lie]:
    """Every count of one user's records in each bin."""
    most_bins = bins if unit.max_bins is None else unit.max_bins
    most = bins * unit.max_per_bin if unit.max_records is None else unit.max_records
    every = itertools.product(range(unit.max_per_bin + 1), repeat=bins)
    return [lie for lie in every if sum(lie) <= most and sum(map(bool, lie)) <= most_bins]


def moved(unit: Unit, bins: int) -> list[Lie]:
    """Every change of the counts by one unit."""
    held = lies(unit, bins)
    gone = held if unit.relation == "replace-one" else [(0,) * bins]
    return [tuple(new - old for old, new in zip(one, other, strict=True)) for one in gone for other in held]


UNITS = [
    Unit("user", relation=relation, max_bins=max_bins, max_per_bin=per_bin, max_records=records)
    for relation in ("add-remove", "replace-one")
    for max_bins in (1, 2, None)
    for per_bin in (1, 2, 3)
    for records in (1, 2, 4)
]


@pytest.mark.parametrize("bins", [1, 2, 3])
def test_the_sensitivity_is_the_farthest_that_any_user_moves_the_counts(bins: int) -> None:
    attained = 0
    for unit in UNITS:
        farthest = max(sum(map(abs, change)) for change in moved(unit, bins))
        assert unit.l1(bins) >= farthest
        assert unit.records(bins) == max(sum(lie) for lie in lies(unit, bins))
        assert max(abs(one) for change in moved(unit, bins) for one in change) <= unit.max_per_bin
        if unit.relation == "add-remove":
            assert unit.l1(bins) == farthest
        attained += unit.l1(bins) == farthest
    assert attained >= len(UNITS) * 3 // 4


def test_without_the_limit_records_anywhere_cost_their_square() -> None:
    assert Unit("user", max_bins=3, max_per_bin=3).l1() == 9
    assert Unit("user", max_bins=3, max_per_bin=3, max_records=3).l1() == 3
    assert Unit("user", "replace-one", max_bins=3, max_per_bin=3, max_records=3).l1() == 6
    assert Unit("user", max_bins=None, max_per_bin=3, max_records=3).l1() == 3


def test_the_other_limits_are_cut_to_the_records_there_are() -> None:
    unit = Unit("user", max_bins=None, max_per_bin=9, max_records=2)
    assert (unit.max_bins, unit.max_per_bin) == (2, 2)
    assert Unit(**unit.to_json()) == unit  # type: ignore[arg-type]


@pytest.mark.parametrize("bins", [1, 2, 3, 4])
def test_a_tree_pays_for_the_farthest_that_any_user_moves_it(bins: int) -> None:
    """Weighted counts of leaves and root, by enumeration; never less, and often exactly that."""
    attained = 0
    for unit in UNITS:
        spread, changes = TreeSpread.of(unit, bins), moved(unit, bins)
        for weights in ((0, 1), (1, 1), (2, 1), (5, 1), (1, 0)):
            leaf, root = weights
            farthest = max(leaf * sum(map(abs, change)) + root * abs(sum(change)) for change in changes)
            assert spread.moved(weights) >= farthest, (unit, weights)
            attained += spread.moved(weights) == farthest
    assert attained >= len(UNITS) * 5 // 2


def test_a_spread_that_forgets_a_leaf_that_is_half_full_would_be_too_small() -> None:
    """The twin: four records in leaves of three fill two of them, but three and three may change places."""
    unit = Unit("user", "replace-one", max_bins=2, max_per_bin=3, max_records=4)
    farthest = max(5 * sum(map(abs, change)) + abs(sum(change)) for change in moved(unit, 2))
    assert TreeSpread(4, 3).moved((5, 1)) < farthest <= TreeSpread.of(unit, 2).moved((5, 1))


def test_queries_pay_for_the_farthest_that_any_user_moves_them() -> None:
    bins = dv.Domain.integers(0, 2, column="x")
    asked: dict[str, Any] = {"all": None, "low": [0, 1], "ends": [0, 2], "first": [0]}
    parts = [range(3) if one is None else one for one in asked.values()]
    attained = 0
    for unit in UNITS:
        bound: Any = dv.Queries(1, asked).bind(Question.of(bins), unit)
        farthest = max(sum(abs(sum(change[bin] for bin in part)) for part in parts) for change in moved(unit, 3))
        assert bound.noise.l1 >= farthest
        if unit.relation == "add-remove":
            assert bound.noise.l1 == farthest
        attained += bound.noise.l1 == farthest
    assert attained >= len(UNITS) // 2


@pytest.mark.parametrize("relation", ["add-remove", "replace-one"])
def test_compact_pays_for_the_records_of_a_user(relation: Any) -> None:
    question = Question.of(dv.Domain.integers(0, 9, column="x"))
    unit = Unit("user", relation, max_bins=3, max_per_bin=3, max_records=3)
    bound: Any = dv.Compact(1, cap=20).bind(question, unit)
    assert bound.rows == unit.records(10) == 3


def test_old_units_keep_their_bytes_and_new_ones_name_the_limit() -> None:
    old = Unit("user", max_bins=2, max_per_bin=3)
    assert old.to_json() == {
        "of": "user", "relation": "add-remove", "noun": "user", "max_bins": 2, "max_per_bin": 3, "n": None
    }  # fmt: skip
    assert old.text == "one user, add or remove, at most 2 bins, 3 in each"
    new = Unit("user", max_bins=2, max_per_bin=3, max_records=4)
    assert new.to_json() == {**old.to_json(), "max_records": 4}
    assert new.text == "one user, add or remove, at most 2 bins, 3 in each, 4 records in all"
    assert Unit("user", max_records=1).text.endswith("1 record in all")
    assert old != new


@pytest.mark.parametrize(
    "given", [{"of": "row", "max_records": 1}, {"of": "user", "max_records": 0}, {"of": "user", "max_records": "x"}]
)
def test_a_limit_that_is_none_is_refused(given: Any) -> None:
    with pytest.raises(DpvizError):
        Unit(**given)
    with pytest.raises(UnitError, match="a row is one record"):
        Unit(max_records=2)


def test_a_price_for_fewer_records_is_no_price_for_more() -> None:
    own = Unit("user", max_bins=2, max_per_bin=2, max_records=2)
    price = Guarantee(loss=PureDP(Fraction(1)), unit=own, rule="a test")
    same = Unit("user", "replace-one", max_bins=2, max_per_bin=2, max_records=2)
    assert convert(price, same).loss == PureDP(Fraction(2))
    for other in (Unit("user", "replace-one", max_bins=2, max_per_bin=2), Unit("user", max_bins=2, max_per_bin=2)):
        with pytest.raises(ConversionError, match="another unit"):
            convert(price, other)


def test_a_ledger_of_one_limit_is_not_opened_with_another(tmp_path: Any) -> None:
    data = pd.DataFrame({"user": ["u", "u", "u", "v"], "x": [0, 0, 1, 1]})
    bins = dv.Domain.integers(0, 1, column="x")
    unit = Unit("user", max_bins=2, max_per_bin=2, max_records=2)
    session = dv.Session(data, unit, dv.Budget(1), tmp_path / "a.ledger", dataset="data")
    released = session.release(bins, dv.Dense("1/2"))
    assert released.unit == unit
    assert "2 records in all" in released.unit.text
    again = dv.Session(data, unit, dv.Budget(1), tmp_path / "a.ledger", dataset="data")
    assert again.release(bins, dv.Dense("1/2")) == released
    assert len(again.ledger.entries()) == 1
    with pytest.raises(CharterMismatch):
        dv.Session(data, Unit("user", max_bins=2, max_per_bin=2), dv.Budget(1), tmp_path / "a.ledger", dataset="data")
