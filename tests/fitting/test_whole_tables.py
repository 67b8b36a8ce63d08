"""Tables in whole numbers of at least 0: whatever was drawn they agree, and their bias is what enumeration says."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from dpviz.exact import Decay
from dpviz.fitting import whole_tables as module
from dpviz.fitting.noises import Term
from dpviz.fitting.residuals import Tables
from dpviz.fitting.sums import NoiseSum
from dpviz.fitting.whole_tables import total_bias, tried, whole_table, whole_tables
from dpviz.laws.gaussian import DiscreteGaussian
from dpviz.laws.geometric import TwoSidedGeometric
from tests.soak.amounts import part

PAIRS = Tables((2, 3, 4), ((0, 1), (0, 2), (1, 2)), (1, 1, 1), False)
TRIPLES = Tables((2, 3, 2, 2), ((0, 1, 2), (1, 2, 3), (0,), ()), (1, 2, 1, 3), False)
KNOWN = Tables((3, 2), ((0, 1), (1,)), (1, 1), True)
APART = Tables((3, 2), ((0,), (1,)), (1, 1), False)
DESIGNS = {"pairs": PAIRS, "triples": TRIPLES, "a known total": KNOWN, "apart": APART}
each = pytest.mark.parametrize("design", DESIGNS.values(), ids=list(DESIGNS))


def counts_of(design: Tables, found: Sequence[np.ndarray]) -> list[set[tuple[int, ...]]]:
    """What each table adds up to by each of its columns; a set for each column, and one for the total."""
    seen: list[set[tuple[int, ...]]] = [set() for _ in range(len(design.sizes) + 1)]
    for at, (places, cells) in enumerate(zip(design.tables, found, strict=True)):
        table = cells.reshape(design.shape(at))
        seen[-1].add((int(table.sum()),))
        for axis, place in enumerate(places):
            others = tuple(other for other in range(table.ndim) if other != axis)
            seen[place].add(tuple(table.sum(axis=others).tolist()))
    return seen


def agree(design: Tables, found: Sequence[np.ndarray]) -> bool:
    whole = all(table.dtype == np.int64 and int(table.min()) >= 0 for table in found)
    return whole and all(len(one) <= 1 for one in counts_of(design, found))


@each
@given(data=st.data(), size=st.sampled_from([1, 3, 40, 10**6, 1 << 40, (1 << 62) - 1]))
def test_whatever_was_drawn_cells_are_whole_and_tables_agree(design: Tables, data: Any, size: int) -> None:
    numbers = st.integers(-size, size)
    noisy = [data.draw(arrays.arrays(np.int64, cells, elements=numbers)) for cells in design.cells]
    total = data.draw(st.integers(0, size)) if design.known else None
    found = whole_tables(design, noisy, total)
    assert agree(design, found)
    if total is not None:
        assert counts_of(design, found)[-1] == {(total,)}


def test_cells_that_are_rounded_one_by_one_do_not_agree() -> None:
    """The twin: the nearest whole number of at least 0 to each fitted cell."""
    noisy = [np.random.default_rng(1).integers(-9, 9, cells) for cells in PAIRS.cells]
    twin = [np.array([max(0, round(cell)) for cell in table], dtype=np.int64) for table in PAIRS.fit(noisy)]
    assert not agree(PAIRS, twin) and agree(PAIRS, whole_tables(PAIRS, noisy, None))


@each
def test_true_tables_are_left_as_they_are(design: Tables) -> None:
    cube = np.random.default_rng(2).integers(0, 5, design.sizes)
    truth = []
    for places in design.tables:
        others = tuple(place for place in range(len(design.sizes)) if place not in places)
        truth.append(np.asarray(cube.sum(axis=others), dtype=np.int64).reshape(-1))
    total = int(cube.sum()) if design.known else None
    assert [table.tolist() for table in whole_tables(design, truth, total)] == [table.tolist() for table in truth]


def tables_with(rows: Sequence[int], columns: Sequence[int]) -> Iterator[np.ndarray]:
    """Every table of whole numbers of at least 0 with these sums."""
    if len(rows) == 1:
        yield np.array([columns])
        return
    for first in itertools.product(*(range(min(rows[0], one) + 1) for one in columns)):
        if sum(first) == rows[0]:
            left = [one - less for one, less in zip(columns, first, strict=True)]
            for rest in tables_with(rows[1:], left):
                yield np.vstack([np.array([first]), rest])


def squares(table: np.ndarray, fitted: np.ndarray) -> Fraction:
    return sum(((int(a) - b) ** 2 for a, b in zip(table.reshape(-1), fitted.reshape(-1), strict=True)), Fraction(0))


@pytest.mark.parametrize("shape", [(2, 3), (3, 3)])
def test_tables_are_the_nearest_of_all_with_their_sums(shape: tuple[int, int]) -> None:
    """Of every table with the same sums, which are listed: nearly always the nearest one, and never far from it. The
    first one of the list, the twin, is not near."""
    random = np.random.default_rng(3)
    own = first = least = Fraction(0)
    hits = 0
    for _ in range(40):
        numerators = random.integers(-12, 16, shape).astype(object)
        fitted = np.array([Fraction(one, 4) for one in numerators.reshape(-1)], dtype=object)
        found = whole_table(numerators, 4, max(0, round(sum(fitted.tolist()))))
        every = [squares(one, fitted) for one in tables_with(found.sum(axis=1).tolist(), found.sum(axis=0).tolist())]
        hits += squares(found, fitted) == min(every)
        own, first, least = own + squares(found, fitted), first + every[0], least + min(every)
    assert hits >= 38 and own <= Fraction(1001, 1000) * least < Fraction(11, 10) * least < first


def test_the_nearest_is_found_at_once_where_no_cell_would_be_below_0() -> None:
    numerators = np.array([[50, 61], [72, 83]], dtype=object)
    assert whole_table(numerators, 10, 27).tolist() == [[5, 6], [7, 9]]


# ---------------------------------------------------------------- the mean of a whole total


def chances(law: TwoSidedGeometric, reach: int) -> dict[int, Fraction]:
    return {z: law.pmf(z)[0] for z in range(-reach, reach + 1)}


@pytest.mark.parametrize("count", [1, 2])
@pytest.mark.parametrize("total", [0, 1, 4, 60])
def test_the_mean_of_a_whole_total_is_what_enumeration_says(total: int, count: int) -> None:
    """Of the mean of noises by halves, where some totals lie half way between whole numbers: these go to the even one.
    The twin lets halves go up."""
    decay = Decay.rational(Fraction(2, 3))
    one = chances(TwoSidedGeometric(decay), 150)
    law = {Fraction(z, count): Fraction(0) for z in range(-150 * count, 150 * count + 1)}
    for values in itertools.product(one, repeat=count):
        law[Fraction(sum(values), count)] += math.prod((one[value] for value in values), start=Fraction(1))
    exact = sum((max(0, round(total + x)) - total) * chance for x, chance in law.items())
    twin = sum((max(0, math.floor(total + x + Fraction(1, 2))) - total) * chance for x, chance in law.items())
    low, high = total_bias(NoiseSum.of([Term(decay, Fraction(1, count), count)]), total)
    slack = Fraction(1, 10**9)
    assert low - slack <= exact <= high + slack and high - low < Fraction(1, 10**6)
    assert (count == 1) or not low - slack <= twin <= high + slack


def test_a_long_tail_is_enclosed_by_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    noise = NoiseSum.of([Term(Decay.exp(Fraction(1, 50)), 1, 3)])
    one_by_one = total_bias(noise, 10)
    monkeypatch.setattr(module, "TERMS", 40)
    low, high = total_bias(noise, 10)
    assert low <= one_by_one[0] <= one_by_one[1] <= high < 4 * low


# ---------------------------------------------------------------- hypothetical counts


PAIR = Tables((2, 2), ((0,), (1,)), (1, 1), False)


def enumerated(counts: Sequence[int], decay: Decay) -> list[tuple[float, float]]:
    """The mean and the root of the mean square of the error of each cell of the first column, over all noise."""
    one = {z: float(chance) for z, chance in chances(TwoSidedGeometric(decay), 4).items()}
    means, second, seen = np.zeros(2), np.zeros(2), 0.0
    for noise in itertools.product(one, repeat=4):
        chance = math.prod(one[z] for z in noise)
        noisy = [np.array(noise[:2]) + counts, np.array(noise[2:]) + np.array([sum(counts), 0])]
        off = whole_tables(PAIR, noisy, None)[0] - np.array(counts)
        means, second, seen = means + chance * off, second + chance * off**2, seen + chance
    return list(zip((means / seen).tolist(), np.sqrt(second / seen).tolist(), strict=True))


def test_what_runs_show_is_what_enumeration_says() -> None:
    """Within four times the error that is stated, which a mean leaves with a chance of 10**-14; runs are seeded. Counts
    of one more, the twin, are not what they show."""
    decay = Decay.rational(Fraction(1, 3))
    groups = [np.array([0]), np.array([1])]
    found = tried(PAIR, 0, [decay, decay], np.array([2, 0]), groups, None)
    for counts, right in (([2, 0], True), ([0, 0], False)):
        fits = [
            abs(one.bias - bias) < 4 * one.bias_within and abs(one.spread - spread) < 4 * one.spread_within
            for one, (bias, spread) in zip(found, enumerated(counts, decay), strict=True)
        ]
        assert all(fits) is right
    assert found[0].bias < 0 < found[1].bias


@pytest.mark.parametrize("noise", [Decay.exp(Fraction(1, 3)), DiscreteGaussian(Fraction(40))], ids=["exp", "gaussian"])
@each
def test_all_cells_alike_are_off_by_their_part_of_the_total(design: Tables, noise: Any) -> None:
    """The law of the total and runs of noise, which know nothing of each other."""
    every = list(enumerate(design.cells))
    for table, cells in every if part(2, 1) == 2 else every[:: max(1, len(every) - 1)]:  # the first and the last
        truth = np.full(cells, 1)
        total = cells if design.known else None
        noises = [noise for _ in design.tables]
        (found,) = tried(design, table, noises, truth, [np.arange(cells)], total)
        parts = design.effects([[(0, range(design.cells[0]))]])
        low, high = total_bias(NoiseSum.of(Term(noise, one.weights[0], one.count) for one in parts), cells)
        assert low / cells - Fraction(1, 10**6) <= high / cells
        assert float(low) / cells - 4 * found.bias_within <= found.bias <= float(high) / cells + 4 * found.bias_within
        if design.known:
            assert found.bias == 0 == low == high


def test_a_wide_design_takes_few_runs_and_a_narrow_one_many() -> None:
    decay = Decay.exp(Fraction(1))
    wide = Tables((50,) * 6, tuple(itertools.combinations(range(6), 2)), (1,) * 15, False)
    for design, least in ((wide, 100), (PAIR, 1_000)):
        cells = design.cells[0]
        (found,) = tried(
            design, 0, [decay] * len(design.tables), np.zeros(cells, dtype=np.int64), [np.arange(cells)], None
        )
        assert least <= found.runs <= 1_000


def test_45_tables_of_2500_cells_take_a_bounded_number_of_projections(monkeypatch: pytest.MonkeyPatch) -> None:
    design = Tables((50,) * 10, tuple(itertools.combinations(range(10), 2)), (1,) * 45, False)
    seen = []
    own = module.nearest_whole

    def counted(y: Any, total: Any, known: int) -> Any:
        seen.append(y.dtype)
        return own(y, total, known)

    monkeypatch.setattr(module, "nearest_whole", counted)
    noisy = [np.random.default_rng(at).integers(-90, 99, 2_500) for at in range(45)]
    assert agree(design, whole_tables(design, noisy, None))
    assert len(seen) <= 45 * (2 * module.ROUNDS + 3) and np.dtype(object) not in seen[5:]
