"""Stability and TopK over unknown keys among declared columns: the price of whole answers, from tables of rows.

Two months and two destinations; each table is counted by the engine, inside the bounds of the unit, so what is held
against the price is what one unit does to the answer, and not to a vector of counts that somebody thought of.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import cache

import pandas as pd
import pytest

import dpviz as dv
from dpviz.errors import ParameterError
from dpviz.exact import ceil_to
from dpviz.mechanisms import REGISTRY
from dpviz.mechanisms.stability import StabilityBound
from dpviz.model.domain import Domain
from dpviz.model.mechanism import Bound
from dpviz.model.question import Question
from dpviz.model.statistic import SparseCounts, StatisticKind
from dpviz.noise.bits import TeachingBits
from tests.engines import engines
from tests.mechanisms.ranking import Limited, law_of, statistic, worst_delta
from tests.mechanisms.samples import current, declared
from tests.mechanisms.test_dense import geometric_oracle, rational
from tests.mechanisms.test_stability import shown_above
from tests.soak.amounts import part

PRODUCT = Domain.integers(1, 2, column="month") * Domain.keys(column="dest")
ASKED = Question.of(PRODUCT)
CELLS = list(itertools.product((1, 2), "ab"))
LABELS = [PRODUCT.point(cell) for cell in CELLS]
ROWS = (*CELLS, (3, "a"), (1, None))
"""Four bins, a row of no declared bin, and one without a key."""

Row = tuple[int, str | None]
Table = tuple[tuple[str, Row], ...]
"""Users and their rows."""
Counts = tuple[int, ...]
Law = dict[int, Fraction]
"""What is shown of one bin, and how likely; 0 where it is not shown."""

UNITS = [
    dv.Unit("row"),
    dv.Unit("row", "replace-one", n=3),
    dv.Unit("user", max_bins=1),
    dv.Unit("user", max_bins=1, max_per_bin=2),
    dv.Unit("user", max_bins=2),
    dv.Unit("user", "replace-one", max_bins=1),
]


def named(unit: dv.Unit) -> str:
    return f"{unit.of}-{unit.relation}-{unit.max_bins}-{unit.max_per_bin}"


# ---------------------------------------------------------------- tables, and what the engine counts in them


@cache
def frame_of(table: Table) -> pd.DataFrame:
    return pd.DataFrame(
        {
            "month": pd.Series([month for _, (month, _) in table], dtype="int64"),
            "dest": pd.Series([dest for _, (_, dest) in table], dtype="str"),
            "user": pd.Series([user for user, _ in table], dtype="str"),
        }
    )


@cache
def counts_of(table: Table, unit: dv.Unit) -> Counts:
    """The four counts, as the engine finds them."""
    found = engines.kept(frame_of(table), "data", None).count(ASKED, unit, StatisticKind.SPARSE)
    assert isinstance(found, SparseCounts)
    labels, counts = found.take()
    known = dict(zip(labels.tolist(), counts.tolist(), strict=True))
    assert set(known) <= set(LABELS)
    return tuple(known.get(label, 0) for label in LABELS)


def bags(user: str, most: int) -> list[Table]:
    """Everything that a user may have, up to so many rows."""
    sizes = range(most + 1)
    return [
        tuple((user, row) for row in some)
        for size in sizes
        for some in itertools.combinations_with_replacement(ROWS, size)
    ]


def tables(unit: dv.Unit) -> Iterator[tuple[Table, Table]]:
    """Every pair of neighbours: one unit beside up to two rows of another. A unit that comes or goes has one row more
    than count at most, or up to three."""
    most = 1 if unit.is_row else part(3, unit.max_bins * unit.max_per_bin + 1)  # type: ignore[operator]
    if unit.relation == "replace-one":
        own = [bag for bag in bags("one", 1 if unit.is_row else 2) if bag or not unit.is_row]
        swaps = itertools.permutations(own, 2)
    else:
        swaps = ((bag, ()) for bag in bags("one", most) if bag)
    for (before, after), others in itertools.product(swaps, bags("two", 2)):
        if unit.n is None or len(before) + len(others) == unit.n:
            yield (*before, *others), (*after, *others)


Counter = Callable[[Table, dv.Unit], Counts]


@cache
def pairs_of(unit: dv.Unit, count: Counter = counts_of) -> list[tuple[Counts, Counts]]:
    """The pairs of counts of all pairs of neighbours, both ways."""
    found = {(count(one, unit), count(other, unit)) for one, other in tables(unit)}
    return sorted({pair for one, other in found if one != other for pair in ((one, other), (other, one))})


def per_key(table: Table, unit: dv.Unit) -> Counts:
    """A twin that bounds a user's keys in each month by themselves."""
    months = [counts_of(tuple(row for row in table if row[1][0] == month), unit) for month in (1, 2)]
    return tuple(map(sum, zip(*months, strict=True)))


# ---------------------------------------------------------------- Stability

EPSILON, DELTA = Fraction(2), Fraction(1, 4)


def stability(unit: dv.Unit, delta: Fraction = DELTA) -> StabilityBound:
    made = dv.Stability(EPSILON, delta, base="tight", sampler="geosample", **({} if unit.n else {"cap": 4}))
    return made.bind(ASKED, unit)


def law_of_bin(bound: StabilityBound, *, empty: bool = False) -> Callable[[int], Law]:
    """What is shown of one bin, from the definition; `empty`: of the twin whose noise falls on empty bins, too."""
    part = bound.noise.finite
    assert part is not None
    shown = shown_above(bound.threshold, geometric_oracle(rational(Fraction(part.q, part.p)), 0, part.n), empty=empty)

    @cache
    def law(count: int) -> Law:
        return {value: low for value, (low, high) in shown(count).items() if low == high or high}

    return law


def divergence(one: list[Law], other: list[Law], odds: Fraction) -> Fraction:
    """By how much the first answer's law exceeds the second's after the odds. Bins of equal laws say nothing."""
    moved = [(first, second) for first, second in zip(one, other, strict=True) if first != second]
    total = Fraction(0)
    for values in itertools.product(*(sorted(first.keys() | second.keys()) for first, second in moved)):
        p = q = Fraction(1)
        for value, (first, second) in zip(values, moved, strict=True):
            p, q = p * first.get(value, Fraction(0)), q * second.get(value, Fraction(0))
        total += max(Fraction(0), p - odds * q)
    return total


def odds_of(bound: StabilityBound) -> Fraction:
    part = bound.noise.finite
    assert part is not None
    return Fraction(part.p, part.q) ** bound.noise.l1


def worst(bound: StabilityBound, pairs: list[tuple[Counts, Counts]]) -> Fraction:
    law, odds = law_of_bin(bound), odds_of(bound)
    return max(divergence(list(map(law, one)), list(map(law, other)), odds) for one, other in pairs)


@pytest.mark.parametrize("unit", UNITS, ids=named)
def test_no_pair_of_tables_exceeds_the_price_of_stability(unit: dv.Unit) -> None:
    bound, pairs = stability(unit), pairs_of(unit)
    assert len(pairs) > 20
    found = worst(bound, pairs)
    assert 0 < found <= bound.price.loss.delta
    if unit.is_row:  # attained: the bin of one row
        assert found == sum(chance for value, chance in law_of_bin(bound)(1).items() if value)


@pytest.mark.parametrize("most", [1, 2])
def test_a_bound_on_keys_instead_of_whole_bins_is_caught(most: int) -> None:
    """Who may count in one destination a month counts in two bins."""
    unit = dv.Unit("user", max_bins=most)
    bound = stability(unit)
    twin = pairs_of(unit, per_key)
    assert max(sum(a != b for a, b in zip(*pair, strict=True)) for pair in twin) > most
    if most == 1:
        assert worst(bound, twin) > bound.price.loss.delta


def test_showing_a_cell_of_a_key_that_occurs_elsewhere_is_caught() -> None:
    """The twin makes a cell in every month for each key that there is, with noise: whether any is shown tells of it."""
    unit = UNITS[0]
    attained = worst(stability(unit), pairs_of(unit))
    bound = stability(unit, ceil_to(attained, Fraction(1, 10**12)))
    assert bound.threshold == stability(unit).threshold
    noisy, honest = law_of_bin(bound, empty=True), law_of_bin(bound)

    def cells(counts: Counts, key: int) -> list[Law]:
        own = [counts[key], counts[key + 2]]
        return [noisy(count) if any(own) else honest(0) for count in own]

    def laws(counts: Counts) -> list[Law]:
        return [*cells(counts, 0), *cells(counts, 1)]

    odds = odds_of(bound)
    assert max(divergence(laws(one), laws(other), odds) for one, other in pairs_of(unit)) > bound.price.loss.delta


# ---------------------------------------------------------------- TopK

BASE, STEP = Fraction(2), Fraction(1, 10)


@pytest.mark.parametrize("unit", UNITS, ids=named)
@pytest.mark.parametrize(("k", "kbar"), [(1, 1), (2, 2), (2, 3)])
def test_no_pair_of_tables_exceeds_the_price_of_a_list(unit: dv.Unit, k: int, kbar: int) -> None:
    bound = dv.TopK(k, kbar, epsilon_per_item="0.7", delta=STEP).bind(ASKED, unit)
    swapped = unit.relation == "replace-one"
    m, gap = min((1 + swapped) * (unit.max_bins or 0), kbar), unit.max_per_bin * (1 + swapped)
    assert (bound.rule.m(kbar), bound.rule.gap, bound.rule.bottom) == (m, gap, True)
    oracle = Limited("positive", k, kbar, m, gap, BASE, STEP)
    for counts in {counts for pair in pairs_of(unit) for counts in pair}:
        contest = bound.rule.contest(bound.rule.rows(statistic(counts, kbar), kbar), kbar, STEP)
        assert law_of(contest, k, BASE) == oracle.law(counts)
    odds = BASE ** (gap * k) * (1 + STEP) ** k
    assert 0 < worst_delta(oracle.law, pairs_of(unit), odds) <= STEP


def test_a_list_whose_bound_is_on_keys_instead_of_whole_bins_is_caught() -> None:
    unit = dv.Unit("user", max_bins=1)
    oracle = Limited("positive", 2, 2, 1, 1, BASE, STEP)
    odds = BASE**2 * (1 + STEP) ** 2
    assert (
        worst_delta(oracle.law, pairs_of(unit), odds) <= STEP < worst_delta(oracle.law, pairs_of(unit, per_key), odds)
    )


# ---------------------------------------------------------------- all that take unknown keys

_TAKE = [
    "ALP",
    "MaxProjection",
    "Stability",
    "Threshold",
    "ThresholdALP",
    "ThresholdMaxProjection",
    "TopK",
    "TopKLaplace",
    "TopKSet",
]
current(_TAKE, "_TAKE of tests/mechanisms/test_key_products.py")
TAKE = sorted([*_TAKE, *(name for name, samples in declared().items() if samples.keys)])

UNKNOWN = Question.of(Domain.keys(column="bin"))
"""The same bins as keys of one column."""


def bound_to(name: str, question: Question, unit: dv.Unit) -> Bound | None:
    """A mechanism with what a page gives it for this question, or None where it refuses."""
    kind = REGISTRY[name]
    try:
        made = kind.from_parameters({"epsilon": "1", **kind.fitted(question)})
        return made.bind(question, unit)
    except ParameterError as refused:
        assert refused.value and refused.next_step
        return None


def test_every_mechanism_that_takes_keys_takes_a_product_with_keys_and_no_other_does() -> None:
    units = [dv.Unit("row"), dv.Unit("user", max_bins=2)]
    taken = {
        name: [bound_to(name, question, unit) is not None for question in (ASKED, UNKNOWN) for unit in units]
        for name in REGISTRY
    }
    assert {name for name, found in taken.items() if any(found)} == set(TAKE)
    assert all(found[:2] == found[2:] for found in taken.values())


@pytest.mark.parametrize("name", TAKE)
def test_a_product_costs_what_its_keys_cost_alone_and_the_same_bits_give_the_same_answer(name: str) -> None:
    rows = [(*cell, f"{cell[1]}{at}") for cell, many in zip(CELLS, (60, 3, 40, 1), strict=True) for at in range(many)]
    frame = pd.DataFrame(rows, columns=["month", "dest", "user"])
    frame["bin"] = [PRODUCT.point(cell) for cell in zip(frame["month"], frame["dest"], strict=True)]
    source = engines.pandas(frame, "data", None)
    for unit in (dv.Unit("row"), dv.Unit("user", max_bins=2)):
        drawn, prices = [], []
        for question in (ASKED, UNKNOWN):
            bound = bound_to(name, question, unit)
            assert bound is not None
            counted = source.count(question, unit, bound.needs)
            answer = bound.draw(counted, TeachingBits(4), mode=bound.modes()[0])
            assert answer.fits(question, bound.max_items)
            drawn.append(answer.to_json())
            prices.append(bound.price)
        assert prices[0] == prices[1] and drawn[0] == drawn[1]
