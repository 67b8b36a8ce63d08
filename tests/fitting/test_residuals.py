"""The fit of noisy tables in closed form, held against the normal equations, exactly; and its errors, cell by cell."""

from __future__ import annotations

import itertools
from collections import Counter
from fractions import Fraction
from math import prod
from typing import Any

import numpy as np
import pytest

from dpviz.errors import ParameterError
from dpviz.fitting import residuals
from dpviz.fitting.residuals import Places, Tables

EVERY = tuple(places for ways in range(4) for places in itertools.combinations(range(3), ways))
DESIGNS = {
    "one table": Tables((2, 3), ((0, 1),), (1,), False),
    "a table and its margin": Tables((2, 3), ((0,), (0, 1)), (1, 1), False),
    "all pairs": Tables((2, 3, 4), ((0, 1), (0, 2), (1, 2)), (1, 1, 1), False),
    "all pairs, weighted": Tables((2, 3, 4), ((0, 1), (0, 2), (1, 2)), (1, 3, 2), False),
    "singles and the total": Tables((3, 2, 2), ((), (0,), (1,), (2,)), (2, 1, 1, 5), False),
    "all ways": Tables((2, 3, 2), EVERY, (1, 2, 1, 3, 1, 1, 2, 1), False),
    "a column of one label": Tables((1, 3), ((0,), (0, 1)), (1, 2), False),
    "tables that share nothing": Tables((2, 3, 2, 2), ((0, 1), (2, 3)), (1, 2), False),
    "pairs of a known total": Tables((2, 3, 4), ((0, 1), (0, 2), (1, 2)), (1, 2, 1), True),
    "one column of a known total": Tables((4,), ((0,),), (1,), True),
}  # fmt: skip
each = pytest.mark.parametrize("design", DESIGNS.values(), ids=list(DESIGNS))


def drawn(design: Tables, seed: int = 1) -> list[np.ndarray]:
    chance = np.random.default_rng(seed)
    return [chance.integers(-50, 500, cells) for cells in design.cells]


def place(design: Tables, table: int, record: tuple[int, ...]) -> int:
    """The cell of a table that a record lies in."""
    at = 0
    for column in design.tables[table]:
        at = at * design.sizes[column] + record[column]
    return at


def records(design: Tables) -> list[tuple[int, ...]]:
    return list(itertools.product(*map(range, design.sizes)))


def summed(table: Any, places: Places, kept: Places, design: Tables) -> list[Any]:
    """A table summed over all but some columns, from the definition."""
    sums: dict[tuple[int, ...], Any] = {}
    cells = itertools.product(*(range(design.sizes[column]) for column in places))
    for cell, value in zip(cells, table, strict=True):
        own = tuple(label for column, label in zip(places, cell, strict=True) if column in kept)
        sums[own] = sums.get(own, 0) + value
    return [sums[own] for own in sorted(sums)]


def is_least_squares(design: Tables, noisy: list[np.ndarray], fitted: list[list[Fraction]], total: int) -> bool:
    """Whether fitted tables are those of a table of all columns, perhaps below 0, that no other comes nearer to.

    Tables are of one whole table where any two agree on the columns that they have in common. It is nearest where what
    is left is orthogonal to every record: weighted by squares, it adds up to 0 over the cells that the record is in; to
    one and the same number, where the total is known.
    """
    for (a, one), (b, other) in itertools.combinations(enumerate(design.tables), 2):
        both = tuple(column for column in one if column in other)
        if summed(fitted[a], one, both, design) != summed(fitted[b], other, both, design):
            return False
    if design.known and any(sum(table) != total for table in fitted):
        return False
    left = set()
    for record in records(design):
        terms = [
            weight**2 * (int(noisy[at][place(design, at, record)]) - fitted[at][place(design, at, record)])
            for at, weight in enumerate(design.weights)
        ]
        left.add(sum(terms, Fraction(0)))
    return left == {Fraction(0)} or (design.known and len(left) == 1)


@each
def test_the_fit_solves_the_normal_equations_exactly(design: Tables) -> None:
    noisy = drawn(design)
    assert is_least_squares(design, noisy, design.fit(noisy, 777 if design.known else None), 777)


@pytest.mark.parametrize("power", [1, 3])
def test_a_fit_by_other_weights_is_no_least_squares(power: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """The twin weighs a table by its weight, or by the third power of it, instead of the square."""

    def other(self: Tables, some: Places, table: int) -> Fraction:
        rest = [self.sizes[column] for column in self.tables[table] if column not in some]
        return Fraction(self.weights[table] ** power, prod(rest))

    monkeypatch.setattr(Tables, "_precision", other)
    design = Tables((2, 3, 4), ((0, 1), (0, 2), (1, 2)), (1, 3, 2), False)
    noisy = drawn(design)
    assert not is_least_squares(design, noisy, design.fit(noisy), 0)


def test_true_tables_are_left_as_they_are() -> None:
    design = DESIGNS["all pairs, weighted"]
    whole = np.arange(24).reshape(2, 3, 4) ** 2
    true = [whole.sum(axis=axis).reshape(-1) for axis in (2, 1, 0)]
    assert [[int(cell) for cell in table] for table in design.fit(true)] == [table.tolist() for table in true]


def impulses(design: Tables) -> list[list[list[Fraction]]]:
    """How much each fitted cell moves by each noisy one: by fitting one after the other, all others 0."""
    found = []
    for at, cells in enumerate(design.cells):
        for cell in range(cells):
            noisy = [np.zeros(many, dtype=np.int64) for many in design.cells]
            noisy[at][cell] = 1
            found.append(design.fit(noisy, 0 if design.known else None))
    return found


SUMS: list[list[tuple[int, tuple[int, ...]]]] = [
    [(0, (0,))],
    [(0, (1, 2))],
    [(0, (0,)), (1, (1,))],
    [(1, (0, 1, 2))],
]


@each
def test_what_each_noisy_cell_counts_in_a_sum_is_what_the_fit_makes_of_it(design: Tables) -> None:
    """For single cells of each table, and for several sums at once, whole tables among them."""
    moved = impulses(design)
    tables = [at for at, cells in enumerate(design.cells) for _ in range(cells)]
    cells: list[list[tuple[int, Any]]] = [
        [(at, (cell,))] for at, many in enumerate(design.cells) for cell in range(many)
    ]
    totals: list[list[tuple[int, Any]]] = [[(at, range(many))] for at, many in enumerate(design.cells)]
    fitting = [
        [(at, tuple(row for row in rows if row < design.cells[at])) for at, rows in one]
        for one in SUMS
        if all(at < len(design.tables) for at, _ in one)
    ]
    asked = [[one] for one in [*cells, *totals, *fitting]]
    asked += [[cells[0], cells[-1]], [totals[0], fitting[0]], [*cells[:3]]]
    for sums in asked:
        expected: Counter[tuple[int, tuple[Fraction, ...]]] = Counter()
        for table, fit in zip(tables, moved, strict=True):
            weights = tuple(sum((fit[at][row] for at, rows in one for row in rows), Fraction(0)) for one in sums)
            if any(weights):
                expected[table, weights] += 1
        found: Counter[tuple[int, tuple[Fraction, ...]]] = Counter()
        for effect in design.effects(sums):
            found[effect.table, effect.weights] += effect.count
        assert found == expected


@each
def test_the_variance_is_the_sum_of_squares(design: Tables) -> None:
    for at, places in enumerate(design.tables):
        effects = design.effects([[(at, (0,))]])
        squares = sum(
            (one.count * one.weights[0] ** 2 / design.weights[one.table] ** 2 for one in effects), Fraction(0)
        )
        assert squares == design.variance(places)
        assert squares <= Fraction(1, design.weights[at] ** 2)


def test_sums_that_differ_in_the_names_of_labels_are_worked_out_once() -> None:
    design = Tables((3, 5, 4), ((0, 1), (0, 2), (1, 2)), (1, 1, 1), False)
    before = residuals._effects.cache_info().misses
    for row in range(15):
        rest = tuple(other for other in range(5 * (row // 5), 5 * (row // 5) + 5) if other != row)
        design.effects([[(0, (row,))], [(0, rest)]])
    assert residuals._effects.cache_info().misses == before + 1


@pytest.mark.parametrize(
    ("sizes", "tables", "weights"),
    [
        ((2, 3), (), ()),
        ((2, 3), ((0, 1), (0, 1)), (1, 1)),
        ((2, 3), ((1, 0),), (1,)),
        ((2, 3), ((0, 2),), (1,)),
        ((2, 3), ((0, 0),), (1,)),
        ((2, 3), ((0, 1),), (0,)),
        ((2, 3), ((0, 1),), (1_001,)),
        ((2, 3), ((0, 1),), (1, 1)),
        ((0, 3), ((0, 1),), (1,)),
        ((2,) * 9, (tuple(range(9)),), (1,)),
    ],
)
def test_what_are_no_tables_is_refused(sizes: Any, tables: Any, weights: Any) -> None:
    with pytest.raises(ParameterError):
        Tables(sizes, tables, weights, False)
