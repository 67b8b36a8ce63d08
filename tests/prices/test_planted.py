"""The search finds faults: each is planted into a formula of the package, and found by the sets that `make test` runs.

The draw follows the planted formula and the price does not: so some pair is told apart by more than is
charged.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import pytest

from dpviz.laws import bounded
from dpviz.mechanisms import (
    alp,
    compact,
    cuts,
    dense,
    fixed_list,
    groups,
    marginals,
    parts,
    ranked,
    stability,
    tree,
)
from dpviz.mechanisms.moves import Moves, moved_keys, own_keys
from dpviz.model.workload import Workload
from dpviz.privacy import discrete_gaussian, gaussian_keys, loss_distribution
from dpviz.privacy.concentrated import geometric_rho
from dpviz.privacy.discrete_gaussian import Shifts
from dpviz.privacy.unit import Unit
from dpviz.session import accountant
from tests.prices.searchers import SEARCHERS, search
from tests.soak.test_neighbours import SEEDED

Patch = pytest.MonkeyPatch


def largest_rise(patch: Patch) -> None:
    """The worst pair is inside: the rise is fixed at its largest, and the fall takes what room is left."""

    def squares(spread: Any, weights: tuple[int, ...], branching: int, known: bool = False) -> int:
        *below, last = (weight * weight for weight in weights)
        top, up = 0 if known else last, spread.records
        down = spread._room(up // spread.each)
        sizes = [spread.each * branching**height for height in range(len(below))]

        def moved(total: int) -> int:
            return sum(w * tree._packed(total, size, up) for w, size in zip(below, sizes, strict=True))

        return moved(up) + max(moved(fall) + top * (up - fall) ** 2 for fall in range(down + 1))

    patch.setattr(tree.TreeSpread, "squares", squares)


def one_end_of_the_fall(patch: Patch) -> None:
    """The worst pair is at a corner, and one corner is left out: a rise beside no fall at all."""
    whole = tree.TreeSpread.squares

    def squares(spread: Any, weights: tuple[int, ...], branching: int, known: bool = False) -> int:
        if not spread.replaced or len(weights) < 2:
            return whole(spread, weights, branching, known)
        *below, _ = weights
        return whole(spread, (*below, 0), branching, True)

    patch.setattr(tree.TreeSpread, "squares", squares)


def one_side_of_a_replacement(patch: Patch) -> None:
    """One side only: a replaced unit moves the counts by what comes, and not by what goes."""
    alone = Unit.l1

    def l1(unit: Unit, bins: int | None = None) -> int:
        return alone(dataclasses.replace(unit, relation="add-remove", n=None), bins)

    patch.setattr(Unit, "l1", l1)


def twice_below_the_root_forgotten(patch: Patch) -> None:
    """A factor of two is forgotten: below the root a replacement moves nodes up and others down."""

    def moved(spread: Any, weights: tuple[int, ...], known: bool = False) -> int:
        *below, top = weights
        return (sum(below) + (0 if known else top)) * int(spread.records)

    patch.setattr(tree.TreeSpread, "moved", moved)


def squares_of_the_l1_pair(patch: Patch) -> None:
    """L2 from the pair that is worst in L1: as if every bin moved by one."""
    patch.setattr(Unit, "l2_squared", lambda unit, bins: unit.l1(bins))


def limit_per_bin_forgotten(patch: Patch) -> None:
    """max_per_bin is left out of the L1 distance."""

    def l1(unit: Unit, bins: int | None = None) -> int:
        sides = 1 if unit.relation == "add-remove" else 2
        touched = sides * (10**9 if unit.max_bins is None else unit.max_bins)
        return touched if bins is None else min(touched, bins)

    patch.setattr(Unit, "l1", l1)


def rest_of_the_records_forgotten(patch: Patch) -> None:
    """Records that fill no bin are left out of the squares."""

    def l2_squared(unit: Unit, bins: int) -> int:
        sides = 1 if unit.relation == "add-remove" else 2
        full = unit.records(bins) // unit.max_per_bin
        return min(bins, sides * full) * unit.max_per_bin**2 or 1

    patch.setattr(Unit, "l2_squared", l2_squared)


def tables_move_one_way(patch: Patch) -> None:
    """One side only, of the squares of tables."""
    whole = marginals.TablesSpread.of.__func__  # type: ignore[attr-defined]

    def of(cls: Any, unit: Unit, tables: Any) -> Any:
        alone = whole(cls, dataclasses.replace(unit, relation="add-remove", n=None), tables)
        return dataclasses.replace(whole(cls, unit, tables), squares=alone.squares)

    patch.setattr(marginals.TablesSpread, "of", classmethod(of))


def cells_of_one_bin(patch: Patch) -> None:
    """Bins of one cell are taken for different cells, so that their squares do not come together."""
    whole = marginals.TablesSpread.of.__func__  # type: ignore[attr-defined]

    def of(cls: Any, unit: Unit, tables: Any) -> Any:
        found = whole(cls, unit, tables)
        sides = 1 if unit.relation == "add-remove" else 2
        records = unit.records(int(max(tables.cells)))
        squares = sum(weight**2 * sides * records * unit.max_per_bin for weight in tables.weights)
        return dataclasses.replace(found, squares=min(found.squares, squares))

    patch.setattr(marginals.TablesSpread, "of", classmethod(of))


def a_query_counts_what_comes(patch: Patch) -> None:
    """One side only, of a list of queries."""
    whole = Workload.l1

    def l1(workload: Workload, unit: Unit) -> int:
        return whole(workload, dataclasses.replace(unit, relation="add-remove", n=None))

    patch.setattr(Workload, "l1", l1)


def a_bin_turns_round(patch: Patch) -> None:
    """The two ends of a value are taken for one: a bin that is left and joined moves by the larger of them."""
    whole = Moves.of.__func__  # type: ignore[attr-defined]

    def of(cls: Any, question: Any, unit: Unit) -> Any:
        if not question.aggregate.signed:
            return whole(cls, question, unit)
        found = whole(cls, question, dataclasses.replace(unit, relation="add-remove", n=None))
        return dataclasses.replace(found, l1=found.slots[-1][1] * found.slots[-1][0])

    patch.setattr(Moves, "of", classmethod(of))


def delta_of_one_key(patch: Patch) -> None:
    """Delta is that of one new key, where a unit may bring several."""

    def alone(*given: Any, **named: Any) -> Any:
        return tuple(((amount, 1),) for way in own_keys(*given, **named) for amount, _ in way)

    patch.setattr(cuts, "own_keys", alone)


def a_row_stands_for_a_user(patch: Patch) -> None:
    """The threshold of one row is used for users of several."""
    patch.setattr(stability, "own_keys", lambda question, unit, apart: (((1, 1),),))


def keys_of_one_record(patch: Patch) -> None:
    """Every new key is taken to hold one record, and may hold several."""

    def ones(question: Any, unit: Unit, *, apart: bool = True) -> Any:
        return tuple(((1, sum(many for _, many in way)),) for way in own_keys(question, unit, apart=apart))

    patch.setattr(stability, "own_keys", ones)


def keys_of_one_side(patch: Patch) -> None:
    """Noise is truncated as if a replaced unit moved the keys that it joins alone, and not those that it leaves."""

    def joined(question: Any, unit: Unit) -> Any:
        return tuple((move, max(1, many // 2)) for move, many in moved_keys(question, unit))

    patch.setattr(stability, "moved_keys", joined)
    patch.setattr(cuts, "moved_keys", joined)


def new_keys_or_common_ones(patch: Patch) -> None:
    """The worst pair is at an end: all keys of a unit are new, or all are common, and nothing in between."""

    patch.setattr(gaussian_keys.Splits, "common", lambda self, number: Fraction(0))
    patch.setattr(gaussian_keys, "SHARE", Fraction(9999, 10_000))
    without_what_is_kept(patch)


def common_keys_forgotten(patch: Patch) -> None:
    """Delta is the chance that new keys are shown, and noise on common keys is free."""
    patch.setattr(gaussian_keys.Splits, "common", lambda self, number: Fraction(0))
    patch.setattr(gaussian_keys, "SHARE", Fraction(3, 2))
    without_what_is_kept(patch)


def without_what_is_kept(patch: Patch) -> None:
    """Prices are found anew."""
    patch.setattr("dpviz.mechanisms.gaussian_keys.calibrate_keys", gaussian_keys.calibrate_keys.__wrapped__)


def keys_left_and_joined_are_one(patch: Patch) -> None:
    """A key that a unit leaves and joins turns from farther up, and is taken to move by one of both contributions."""

    def near(question: Any, unit: Unit, *, apart: bool = True) -> Any:
        far = question.aggregate.heaviest * unit.max_per_bin
        return tuple(tuple((min(amount, far), many) for amount, many in way) for way in own_keys(question, unit))

    patch.setattr(cuts, "own_keys", near)


def parts_that_are_entered(patch: Patch) -> None:
    """One side only: parts that a replaced unit leaves count, and those that it enters do not."""
    patch.setattr(groups, "moved", lambda one, both, few, parts: few * one)


def one_part_of_several(patch: Patch) -> None:
    """A limit is forgotten: one unit counts in several parts."""
    patch.setattr(parts, "touched", lambda by, unit: 1)


def the_gap_of_a_row(patch: Patch) -> None:
    """The limit per bin is forgotten where lists are drawn: an item may enter from farther down."""
    whole = ranked.rule_of

    def rule_of(*given: Any, **named: Any) -> Any:
        return dataclasses.replace(whole(*given, **named), gap=0)

    for module in ("top_k", "top_k_set"):
        patch.setattr(f"dpviz.mechanisms.{module}.rule_of", rule_of)


def the_upper_end_of_the_coins(patch: Patch) -> None:
    """The worst pair is at an end: the move of a coin in the middle is used at the level."""
    patch.setattr(bounded, "ratio", lambda n, level=Fraction(1, 4): 1 + Fraction(2, n))


def one_record_of_a_user(patch: Patch) -> None:
    """The limit on records is forgotten where every record is paid for."""
    patch.setattr(Unit, "records", lambda unit, bins: 1)
    assert compact  # whose price is a power of the records


def one_value_of_several(patch: Patch) -> None:
    """The exact price of one value is taken for that of all values of a unit."""
    whole = alp.log_up
    patch.setattr(alp, "log_up", lambda value, step, times=1: whole(value, step, 1))


def delta_of_one_count(patch: Patch) -> None:
    """The exact delta is that of one count, where a unit moves several; rho is that of all of them."""

    def box(cls: Any, entries: int, each: int) -> Any:
        return cls(entries * each**2, ((each**2, each),), entries, each)

    patch.setattr(Shifts, "box", classmethod(box))


def rho_of_the_conversion(patch: Patch) -> None:
    """The rho of the wider noise that a conversion asks for is booked beside the noise of the exact delta."""
    whole = discrete_gaussian.calibrate

    def calibrate(*given: Any) -> Any:
        found = whole(*given)
        return dataclasses.replace(found, rho=Fraction(5, 8) * found.rho)

    patch.setattr(discrete_gaussian, "calibrate", calibrate)
    patch.setattr("dpviz.mechanisms.tree.calibrate", calibrate)
    patch.setattr("dpviz.mechanisms.marginals.calibrate", calibrate)


def delta_of_one_part(patch: Patch) -> None:
    """Each part has the exact delta by itself, where one unit counts in several."""
    whole = groups.together

    def together(each: Any, unit: Unit, way: Any) -> Any:
        found = whole(each, unit, way)
        return None if found is None else (found[0], each.gaussian(each.unit)[1])

    patch.setattr(groups, "together", together)


def noise_for_the_norm_of_a_row(patch: Patch) -> None:
    """A factor of two is forgotten: rows that are cut to a norm differ by up to twice that."""
    patch.setattr("dpviz.laws.product.l2_squared", lambda cut, size: min(cut, Fraction(size)) / 2)


def every_count_by_1(patch: Patch) -> None:
    """The rho of geometric noise is booked as if a unit moved each count by 1: a move by 2 costs nearly four times."""
    patch.setattr(dense, "moved_most", lambda rate, l1, most: ((rate, 1, l1),))


def a_replaced_unit_moves_once(patch: Patch) -> None:
    """The rho of geometric noise is booked as if a replaced unit moved the counts one way."""

    def once(below: Any, root: Any, records: int) -> Fraction:
        return geometric_rho((*below, *root))

    patch.setattr(tree, "replaced_rho", once)
    patch.setattr(marginals, "replaced_rho", once)


def range_bounded_for_pure(patch: Patch) -> None:
    """A pure answer is booked as a range-bounded step, a quarter of its rho."""
    patch.setattr(accountant, "pure_rho", lambda epsilon: epsilon**2 / 8)


def one_count_of_several(patch: Patch) -> None:
    """The pair of a line is that of one count, whatever number of counts one unit moves."""
    patch.setattr(
        loss_distribution,
        "geometric_pair",
        lambda rate, unit, bins: loss_distribution.GeometricMoves(rate, unit.max_per_bin, 1),
    )
    fixed_list._priced.cache_clear(), fixed_list._bound_lines.cache_clear()
    patch.setattr(fixed_list, "_priced", fixed_list._priced.__wrapped__)


def one_part_of_a_list_forgotten(patch: Patch) -> None:
    """The exact composition of one part fewer than one unit counts in."""
    whole = groups.pairs_of_parts
    patch.setattr(groups, "pairs_of_parts", lambda each, parts, few, unit: whole(each, parts, max(1, few - 1), unit))


def one_side_of_a_list(patch: Patch) -> None:
    """The exact composition of the parts that a replaced unit leaves, and not of those that it enters."""
    patch.setattr(groups, "pairs_of_parts", lambda each, parts, few, unit: {each.dominating_pair: few})


PLANTED: dict[Callable[[Patch], None], tuple[str, ...]] = {
    largest_rise: ("Tree",),
    one_end_of_the_fall: ("Tree",),
    one_side_of_a_replacement: ("Dense", "Sorted", "PureSparse", "SampleCategory"),
    twice_below_the_root_forgotten: ("Tree",),
    squares_of_the_l1_pair: ("Dense",),
    every_count_by_1: ("Dense",),
    a_replaced_unit_moves_once: ("Tree", "Marginals"),
    range_bounded_for_pure: ("Sorted", "Queries", "PureSparse"),
    limit_per_bin_forgotten: ("Dense", "Sorted"),
    rest_of_the_records_forgotten: ("Dense",),
    tables_move_one_way: ("Marginals",),
    cells_of_one_bin: ("Marginals",),
    a_query_counts_what_comes: ("Queries",),
    a_bin_turns_round: ("Threshold", "MaxProjection"),
    delta_of_one_key: ("Threshold",),
    a_row_stands_for_a_user: ("Stability",),
    keys_of_one_record: ("Stability",),
    keys_of_one_side: ("Stability", "Threshold"),
    new_keys_or_common_ones: ("Stability", "Threshold"),
    common_keys_forgotten: ("Stability", "Threshold"),
    keys_left_and_joined_are_one: ("Threshold",),
    parts_that_are_entered: ("Groups",),
    one_part_of_several: ("Parts",),
    one_count_of_several: ("FixedList",),
    the_gap_of_a_row: ("TopK", "TopKSet"),
    the_upper_end_of_the_coins: ("SampleBounded",),
    one_record_of_a_user: ("Compact",),
    one_value_of_several: ("ALP",),
    delta_of_one_count: ("Dense", "Tree", "Marginals"),
    rho_of_the_conversion: ("Dense", "Tree", "Marginals"),
    delta_of_one_part: ("Groups",),
    one_part_of_a_list_forgotten: ("Groups",),
    one_side_of_a_list: ("Groups",),
    noise_for_the_norm_of_a_row: ("SampleProduct",),
}
"""Faults, and the mechanisms that have them."""


@pytest.mark.parametrize("fault", PLANTED, ids=lambda fault: fault.__name__)
def test_a_planted_fault_is_found_by_the_seeded_sets(fault: Callable[[Patch], None], monkeypatch: Patch) -> None:
    fault(monkeypatch)
    assert search(SEEDED, PLANTED[fault], stop=True).too_low


def test_without_a_fault_the_same_sets_find_nothing() -> None:
    """The twin, on the first sets of each mechanism that has a planted fault."""
    names = tuple({name for some in PLANTED.values() for name in some})
    assert set(names) <= set(SEARCHERS)
    assert not search(SEEDED[:600], names).too_low
