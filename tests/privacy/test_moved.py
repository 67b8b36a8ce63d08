"""A replaced unit may leave some parts and enter others: what that costs, over all pairs of neighbours.

A unit counts in at most `few` of the parts that its rows are in, for one item in each, which may be another one after
it was replaced. Every part has a list of its own, whose exact law is in `dpviz.laws.top_k`.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from fractions import Fraction
from functools import cache
from math import prod

import pytest

from dpviz.errors import ParameterError
from dpviz.exact import ceil_to
from dpviz.laws.top_k import Competition, Law, Rule, hockey_stick, limit_domain
from dpviz.mechanisms.dense import Dense
from dpviz.mechanisms.groups import Groups, changed
from dpviz.mechanisms.top_k import TopK
from dpviz.mechanisms.tree import Tree
from dpviz.model.domain import Domain
from dpviz.model.partition import Partition
from dpviz.model.question import Question
from dpviz.privacy.discrete_gaussian import Shifts, calibrate, holds
from dpviz.privacy.grid import EPSILON_STEP
from dpviz.privacy.loss import ZCDP, ApproxDP
from dpviz.privacy.parallel import moved
from dpviz.privacy.range_bounded import STEP_GRID, total
from dpviz.privacy.unit import Relation, Unit

PARTS, LABELS = 3, 3
Rows = tuple[int | None, ...]
"""The item that a unit counts for in each part, or none."""
Histogram = tuple[int, ...]
Change = tuple[Histogram, Histogram]

BASE, DELTA = Fraction(6, 5), Fraction(1, 100)


def counted(few: int) -> list[Rows]:
    """Whatever one unit may count for."""
    found = itertools.product([None, *range(LABELS)], repeat=PARTS)
    return [rows for rows in found if sum(label is not None for label in rows) <= few]


def changes(few: int) -> Iterator[tuple[tuple[bool, bool], ...]]:
    """Whether the unit counts in each part, before and after, for all pairs."""
    for before, after in itertools.product(counted(few), repeat=2):
        yield tuple((a is not None, b is not None) for a, b in zip(before, after, strict=True))


@pytest.mark.parametrize("few", [1, 2, 3])
@pytest.mark.parametrize(("one", "both"), [(1, 1), (1, 2), (1, 3), (1, 4), (2, 1)])
def test_what_a_moved_unit_costs_is_the_most_over_all_pairs(few: int, one: int, both: int) -> None:
    worst = max(sum(both if all(part) else one if any(part) else 0 for part in pair) for pair in changes(few))
    assert moved(Fraction(one), Fraction(both), few, PARTS) == worst


def test_a_rule_that_forgets_a_part_or_a_way_to_move_is_caught() -> None:
    """One part too few; only parts that the unit stays in; only parts that it leaves and enters."""
    one = Fraction(1)
    assert moved(one, 4 * one, 1, PARTS) < 8 == moved(one, 4 * one, 2, PARTS)
    assert 1 * one < 2 == moved(one, one, 1, PARTS), "it leaves a part and enters another"
    assert 2 * one < 4 == moved(one, 4 * one, 1, PARTS), "its rows are exchanged in one part"


# ---------------------------------------------------------------- lists


def histograms(others: tuple[Histogram, ...], rows: Rows) -> tuple[Histogram, ...]:
    return tuple(
        tuple(count + (label == at) for at, count in enumerate(part)) for part, label in zip(others, rows, strict=True)
    )


@cache
def list_of(histogram: Histogram, rule: Rule, kbar: int) -> Law:
    """One symbol, drawn as TopK does it for replacements of units with one item: twice the gap, and two may enter."""
    return limit_domain(histogram, BASE, 1, Competition(DELTA, kbar, rule, moved=2, gap=2))


@cache
def pairs(few: int, others: tuple[Histogram, ...]) -> list[tuple[Change, ...]]:
    """The lists that change, in any order, of all pairs of neighbours beside these others in each part."""
    seen = set()
    for other in itertools.product(others, repeat=PARTS):
        for before, after in itertools.product(counted(few), repeat=2):
            both = zip(histograms(other, before), histograms(other, after), strict=True)
            seen.add(tuple(sorted((one, two) for one, two in both if one != two)))
    return sorted(seen)


def excess(few: int, rule: Rule, ratio: Fraction) -> Fraction:
    """By how much the law of all lists exceeds the other at this ratio, at worst."""
    worst = Fraction(0)
    for pair in pairs(few, ((1, 0, 0), (1, 1, 1))):
        laws = [[list_of(one, rule, 1) for one in change] for change in pair]
        joint: list[dict[tuple[object, ...], Fraction]] = [
            {
                tuple(out for out, _ in outs): prod((chance for _, chance in outs), start=Fraction(1))
                for outs in itertools.product(*(law[side].items() for law in laws))
            }
            for side in (0, 1)
        ]
        worst = max(worst, hockey_stick(joint[0], joint[1], ratio))
    return worst


def largest(few: int) -> Fraction:
    """The largest ratio of one outcome of all lists, where the same items compete before and after."""
    found = Fraction(1)
    for pair in pairs(few, ((9, 8, 0),)):
        found = max(found, prod((max(a / b for a, b in _beside(change)) for change in pair), start=Fraction(1)))
    return found


def _beside(change: Change) -> list[tuple[Fraction, Fraction]]:
    laws = [list_of(one, "positive", 2) for one in change]
    return [(laws[0][out], laws[1][out]) for out in laws[0]]


def ratio(steps: int, lists: int) -> Fraction:
    """The price of so many steps of ln BASE, with the shift of so many lists, as a ratio."""
    return BASE**steps * (1 + DELTA) ** lists


@pytest.mark.parametrize("rule", ["positive", "strict"])
@pytest.mark.parametrize("few", [1, 2])
def test_no_pair_exceeds_the_price_of_lists(few: int, rule: Rule) -> None:
    lists = min(2 * few, PARTS)
    assert excess(few, rule, ratio(2 * few, lists)) <= lists * DELTA


@pytest.mark.parametrize("few", [1, 2])
def test_one_step_or_one_list_too_few_is_caught(few: int) -> None:
    """A unit that stays in its lists moves each symbol by two steps; one that leaves all of them changes the domains of
    twice as many, of which each may show an item that only one unit brings."""
    assert BASE ** (2 * few - 1) < largest(few) <= BASE ** (2 * few)
    lists = min(2 * few, PARTS)
    assert excess(few, "strict", ratio(2 * few, lists)) > few * DELTA


# ---------------------------------------------------------------- the way


@pytest.mark.parametrize("few", [1, 2, 3, 6])
@pytest.mark.parametrize("relation", ["add-remove", "replace-one"])
def test_the_step_of_lists_is_the_largest_that_the_price_pays_for(few: int, relation: Relation) -> None:
    by = Partition(Domain.integers(1, 6, column="month"), max_parts=few)
    unit, question = Unit("user", relation, max_bins=2), Question(Domain.keys(column="kind"), by=by)
    lists, factor = (few, 1) if relation == "add-remove" else (min(2 * few, 6), 2)
    assert changed(by, unit) == lists
    if lists == 1:
        with pytest.raises(ParameterError, match="nothing to add up"):
            Groups(TopK(4, 9, epsilon="3", delta="1e-5"), "zcdp").bind(question, unit)
        return
    bound = Groups(TopK(4, 9, epsilon="3", delta="1e-5"), "zcdp").bind(question, unit)
    step = bound.each.step_price
    assert bound.price.loss == ApproxDP(Fraction(3), Fraction(1, 10**5))
    assert lists * step.delta + Fraction(1, 2 * 10**5) == Fraction(1, 10**5)

    def price(units: Fraction, many: int) -> Fraction:
        half = Fraction(1, 2 * 10**5)
        args = (units, step.delta, 4 * many, lists, half, "zcdp")
        return total(*args, relation_factor=factor, shifts=4 * lists).epsilon

    assert price(step.step, few) <= 3 < price(step.step + Fraction(1, STEP_GRID), few)
    if few > 1:
        assert price(step.step + Fraction(1, STEP_GRID), few - 1) < 3, "the twin that charges one part too few"
    assert bound.each.rule.gap == factor and bound.each.unit == unit


# ---------------------------------------------------------------- Gaussian noise


def distance(bins: int, max_bins: int, few: int, relation: Relation) -> int:
    """The largest sum of squares by which one unit moves the counts of all parts, over all pairs of neighbours."""
    one_part = [part for size in range(max_bins + 1) for part in itertools.combinations(range(bins), size)]
    rows = [one for one in itertools.product(one_part, repeat=PARTS) if sum(map(bool, one)) <= few]
    nobody = [((),) * PARTS] if relation == "add-remove" else rows
    return max(
        sum(len(set(a) ^ set(b)) for a, b in zip(before, after, strict=True))
        for before, after in itertools.product(rows, nobody)
    )


@pytest.mark.parametrize("relation", ["add-remove", "replace-one"])
@pytest.mark.parametrize(("bins", "max_bins"), [(2, 1), (2, 2), (3, 2)])
@pytest.mark.parametrize("few", [1, 2, None])
def test_gaussian_parts_cost_the_rho_of_the_largest_distance(
    relation: Relation, bins: int, max_bins: int, few: int | None
) -> None:
    """Attained in the limit, as by one answer; a twin that forgets a part costs less."""
    unit = Unit("user", relation, max_bins=max_bins)
    by = Partition(Domain.integers(1, PARTS, column="month"), max_parts=few)
    question = Question(Domain.integers(1, bins, column="kind"), by=by)
    bound = Groups(Dense("3", "gaussian", delta="1e-5"), "parallel" if few else "sequence").bind(question, unit)
    price, noise = bound.price, bound.each.law.noise
    worst = distance(bins, max_bins, few or PARTS, relation)
    assert price.loss == ApproxDP(Fraction(3), Fraction(1, 10**5))
    assert price.zcdp_steps == ZCDP(ceil_to(Fraction(worst) / (2 * noise.variance), EPSILON_STEP))
    moves = Shifts.box(int(worst), 1)
    assert holds(moves, noise.variance, Fraction(3), Fraction(1, 10**5)), "by the exact delta of all parts"
    assert noise.variance < calibrate(moves, Fraction(3), Fraction(1, 10**5)).variance * Fraction(101, 100)
    if few == 2:
        assert distance(bins, max_bins, 1, relation) < worst


def test_gaussian_parts_of_a_row_are_as_precise_as_one_answer() -> None:
    by = Partition(Domain.integers(1, PARTS, column="month"))
    kinds = Domain.integers(1, 4, column="kind")
    for unit in (Unit(), Unit("row", "replace-one", n=9)):
        one = Dense("1", "gaussian", delta="1e-6").bind(Question(kinds), unit).law.noise.variance
        each = Groups(Dense("1", "gaussian", delta="1e-6"), "parallel").bind(Question(kinds, by=by), unit).each.law
        assert one <= each.noise.variance < one * Fraction(101, 100)


@pytest.mark.parametrize("relation", ["add-remove", "replace-one"])
def test_gaussian_noise_on_intervals_is_priced_for_the_parts_that_a_replaced_unit_stays_in_leaves_and_enters(
    relation: Relation,
) -> None:
    """A replaced unit moves two nodes of each height below the root of a part that it stays in, and one of each height,
    the root included, in a part that it leaves or enters."""
    by = Partition(Domain.integers(1, PARTS, column="month"), max_parts=2)
    question = Question(Domain.integers(1, 8, column="age"), by=by)
    bound = Groups(Tree("3", base="gaussian", delta="1e-5"), "parallel").bind(question, Unit("user", relation))
    alone, together = bound.each.price.zcdp_steps, bound.price.zcdp_steps
    assert isinstance(alone, ZCDP) and isinstance(together, ZCDP)
    height, variance = bound.each.law.design.shape.height, bound.each.law.variance
    gone, stayed = height, 2 * (height - 1)
    by_replaced = max(3 * gone, 2 * gone + stayed, 2 * stayed)  # of three parts, by the number that it stays in
    most = 2 * gone if relation == "add-remove" else by_replaced
    assert 0 <= together.rho - Fraction(most) / (2 * variance) < EPSILON_STEP
    assert holds(Shifts.box(most, 1), variance, Fraction(3), Fraction(1, 10**5))
