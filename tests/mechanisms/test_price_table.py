"""Table a of Hay, Rastogi, Miklau, Suciu's queries, cell by cell: how far one unit moves them, from records themselves.

Rows are the histogram L, its sorted counts S, the K largest of them, the tree H, H without its root, and a list of
counting queries; columns are a row that comes or goes, a row replaced, users of at most c records, and undirected edges
that count at both ends. Everything is enumerated from the definition: all data sets of up to two records in each of the
bins, and all ways in which one unit may lie in them. Noise is proportional to what is found.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import pytest

import dpviz as dv
from dpviz.exact import Decay
from dpviz.model.question import Question
from dpviz.privacy import Unit

BINS = 4
LEVELS = 3
"""Of a binary tree over four bins, nodes from a leaf to the root, both included."""

Counts = tuple[int, ...]
QUERIES: dict[str, list[int] | None] = {"all": None, "low": [0, 1], "edges": [0, 3], "first": [0]}


def added_up(counts: Counts, *parts: Iterable[int]) -> Counts:
    return tuple(sum(counts[bin] for bin in part) for part in parts)


LEAVES = tuple((bin,) for bin in range(BINS))
ASKED: dict[str, Callable[[Counts], Counts]] = {
    "L": lambda counts: counts,
    "S": lambda counts: tuple(sorted(counts)),
    "S, the 2 largest": lambda counts: tuple(sorted(counts))[-2:],
    "H": lambda counts: added_up(counts, range(4), (0, 1), (2, 3), *LEAVES),
    "H without its root": lambda counts: added_up(counts, (0, 1), (2, 3), *LEAVES),
    "queries": lambda counts: added_up(counts, *(range(4) if bins is None else bins for bins in QUERIES.values())),
}


@dataclass(frozen=True)
class Column:
    """Who is protected: as a Unit says it, and the records of one unit, each its bin, in every way it may lie."""

    unit: Unit
    lies: tuple[tuple[int, ...], ...]


def with_at_most(records: int) -> tuple[tuple[int, ...], ...]:
    """In different bins, or in none."""
    return tuple(
        itertools.chain.from_iterable(itertools.combinations(range(BINS), size) for size in range(records + 1))
    )


EVERYWHERE, PAIRS = with_at_most(1), tuple(itertools.combinations(range(BINS), 2))
ANYWHERE = tuple(
    itertools.chain.from_iterable(itertools.combinations_with_replacement(range(BINS), size) for size in range(3))
)
THRICE = tuple((bin,) * times for bin in range(BINS) for times in range(4))
REPLACE = Unit("row", relation="replace-one", n=9)
COLUMNS = {
    "a row comes or goes": Column(Unit("row"), EVERYWHERE),
    "a row is replaced": Column(REPLACE, EVERYWHERE),
    "a row that has a bin is replaced": Column(REPLACE, LEAVES),
    "a user of 2 records comes or goes": Column(Unit("user", max_bins=2), with_at_most(2)),
    "a user of 3 records in one bin comes or goes": Column(Unit("user", max_per_bin=3), THRICE),
    "a user of 2 records is replaced": Column(Unit("user", relation="replace-one", max_bins=2), with_at_most(2)),
    "a user of 2 records anywhere comes or goes": Column(
        Unit("user", max_bins=2, max_per_bin=2, max_records=2), ANYWHERE
    ),
    "a user of 2 records anywhere is replaced": Column(
        Unit("user", relation="replace-one", max_bins=2, max_per_bin=2, max_records=2), ANYWHERE
    ),
    "an edge comes or goes": Column(Unit("edge", max_bins=2), PAIRS),
}

TABLE: dict[str, dict[str, int]] = {
    "a row comes or goes": {
        "L": 1,
        "S": 1,
        "S, the 2 largest": 1,
        "H": LEVELS,
        "H without its root": LEVELS - 1,
        "queries": 4,
    },
    "a row is replaced": {
        "L": 2,
        "S": 2,
        "S, the 2 largest": 2,
        "H": 2 * (LEVELS - 1),
        "queries": 4,
    },
    "a row that has a bin is replaced": {"H without its root": 2 * (LEVELS - 1)},
    "a user of 2 records comes or goes": {
        "L": 2,
        "S": 2,
        "S, the 2 largest": 2,
        "H": 2 * LEVELS,
        "H without its root": 2 * (LEVELS - 1),
        "queries": 6,
    },
    "a user of 3 records in one bin comes or goes": {
        "L": 3,
        "S": 3,
        "S, the 2 largest": 3,
        "H": 3 * LEVELS,
        "H without its root": 3 * (LEVELS - 1),
        "queries": 12,
    },
    "a user of 2 records is replaced": {
        "L": 4,
        "S": 4,
        "S, the 2 largest": 2,  # not 4: no rank moves by more than one record
        "H": 2 * 2 * (LEVELS - 1),
        "H without its root": 2 * 2 * (LEVELS - 1),
    },
    "a user of 2 records anywhere comes or goes": {
        "L": 2,
        "S": 2,
        "S, the 2 largest": 2,
        "H": 2 * LEVELS,
        "H without its root": 2 * (LEVELS - 1),
        "queries": 8,
    },
    "a user of 2 records anywhere is replaced": {
        "L": 4,
        "S": 4,
        "H": max(2 * LEVELS, 2 * 2 * (LEVELS - 1)),
        "H without its root": 2 * 2 * (LEVELS - 1),
        "queries": 8,
    },
    "an edge comes or goes": {
        "L": 2,
        "S": 2,
        "S, the 2 largest": 2,
        "H": 2 * LEVELS,
        "H without its root": 2 * (LEVELS - 1),
        "queries": 6,
    },
}
CELLS = [(who, what) for who, row in TABLE.items() for what in row]
SATURATED = ("a user of 2 records is replaced", "S, the 2 largest")
"""Here users of one record move both ranks already."""


def neighbours(column: Column) -> Iterator[tuple[Counts, Counts]]:
    """Counts with a unit and without it, or with another in its place."""
    replaced = column.unit.relation == "replace-one"
    for others in itertools.product(range(3), repeat=BINS):
        for gone, come in itertools.product(column.lies if replaced else [()], column.lies):
            yield (
                tuple(count + gone.count(bin) for bin, count in enumerate(others)),
                tuple(count + come.count(bin) for bin, count in enumerate(others)),
            )


def farthest(what: str, column: Column) -> int:
    ask = ASKED[what]
    return max(
        sum(abs(one - other) for one, other in zip(ask(before), ask(after), strict=True))
        for before, after in set(neighbours(column))
    )


def scale(what: str, column: Column) -> Fraction:
    """Of the noise, at epsilon 1: what the mechanism takes one unit to move."""
    question = Question.of(dv.Domain.integers(0, BINS - 1, column="x"))
    bound: Any
    if what.startswith("H"):
        public = what != "H" and column.lies == LEAVES
        levels = None if what == "H" or public else "1,1,0"
        root = "public" if public else "asked"
        bound = dv.Tree(1, branching=2, levels=levels, root=root).bind(question, column.unit)
        assert all(bound.law.added(height) == Decay.exp(bound.law.step) for height in (1, 2))
        assert (bound.law.added(LEVELS) is None) == (what != "H")
        found = 1 / Fraction(bound.law.step)
    else:
        mechanism = {
            "L": dv.Dense(1),
            "S": dv.Sorted(1),
            "S, the 2 largest": dv.Sorted(1, 2),
            "queries": dv.Queries(1, QUERIES),
        }[what]
        bound = mechanism.bind(question, column.unit)
        found = Fraction(bound.noise.l1)
    assert bound.price.epsilon == 1
    return found


@pytest.mark.parametrize(("who", "what"), CELLS)
def test_noise_is_as_wide_as_one_unit_moves_the_query_farthest(who: str, what: str) -> None:
    assert TABLE[who][what] == farthest(what, COLUMNS[who]) == scale(what, COLUMNS[who])


@pytest.mark.parametrize(("who", "what"), [cell for cell in CELLS if cell != SATURATED])
def test_a_unit_with_one_record_less_moves_less(who: str, what: str) -> None:
    """The twin: an edge with one end, a user with a record forgotten, a row that is only added where it is replaced."""
    column = COLUMNS[who]
    most = max(map(len, column.lies))
    fewer = tuple({lie[: most - 1] for lie in column.lies})
    twin = Column(column.unit, fewer)
    assert farthest(what, twin) < TABLE[who][what]
    if column.unit.relation == "replace-one" and what != "queries":
        assert farthest(what, Column(Unit("user"), column.lies)) < TABLE[who][what]


@pytest.mark.parametrize("branching", [2, 3])
def test_a_tree_of_one_level_or_two_pays_for_what_moves_most(branching: int) -> None:
    """max(ell, 2 (ell - 1)): at one level a replaced row may leave the bins, at two both ways cost the same."""
    for levels, moved in ((1, 1), (2, 2), (3, 4), (4, 6)):
        question = Question.of(dv.Domain.integers(1, branching ** (levels - 1), column="x"))
        assert dv.Tree(1, branching=branching).bind(question, REPLACE).law.step == Fraction(1, moved)
        public = dv.Tree(1, branching=branching, root="public").bind(question, REPLACE)
        assert (public.law.step, public.price.epsilon) == (
            (Fraction(1, 2 * (levels - 1)), 1) if levels > 1 else (None, 0)
        )
