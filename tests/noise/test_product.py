"""Noisy means in rounds: against a plain reading of the algorithm, all pairs of rows, and the law of the noise."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import pytest
from numpy.typing import NDArray

from dpviz.errors import ParameterError
from dpviz.laws.gaussian import DiscreteGaussian
from dpviz.laws.product import Rounds, l2_squared
from dpviz.noise.bits import TeachingBits
from dpviz.noise.product import cut_sums, cut_weights, draw_rows, noisy_means
from dpviz.noise.shuffle import permutation
from tests.noise.statistics import FALSE_ALARM, ends_folded, histogram, p_value, power

GRID = 1 << 10


@dataclass(frozen=True)
class Small:
    """A schedule with any number of rounds over a few columns, and almost no noise."""

    columns: int
    rounds: int
    chunk: int
    grid: int = GRID
    flips: bool = True
    least: Fraction = Fraction(1, 1000)

    def cut(self, level: int, size: int) -> Fraction:
        return Fraction(9 if level == 1 else 2)

    def variance(self, cut: Fraction, size: int) -> Fraction:
        return self.least


def plain_sums(rows: NDArray[np.uint8], places: list[int], grid: int, cut: Fraction) -> list[int]:
    """Row by row, by the definition: floor(grid sqrt(cut / s)) on each of s ones, where s exceeds the cut."""
    sums = [0] * len(places)
    for row in rows[:, places].tolist():
        s = sum(row)
        weight = grid if s <= cut else math.isqrt(grid**2 * cut.numerator // (cut.denominator * s))
        sums = [total + weight * bit for total, bit in zip(sums, row, strict=True)]
    return sums


@pytest.mark.parametrize("columns", [1, 7, 8, 20])
@pytest.mark.parametrize("cut", [Fraction(1, 10), Fraction(3), Fraction(7, 2), Fraction(40)], ids=str)
def test_sums_of_packed_rows_are_those_of_the_definition(columns: int, cut: Fraction) -> None:
    random = np.random.default_rng(columns)
    rows = random.integers(0, 2, (50, columns), dtype=np.uint8)
    chosen = random.permutation(50)[:31]
    places = np.sort(random.permutation(columns)[: columns // 2 + 1])
    flipped = random.integers(0, 2, columns).astype(bool)
    got = cut_sums(np.packbits(rows, axis=1), chosen, places, flipped, GRID, cut)
    assert got.tolist() == plain_sums((rows ^ flipped)[chosen], places.tolist(), GRID, cut)


def test_sums_do_not_depend_on_how_rows_are_cut_into_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = np.packbits(np.random.default_rng(1).integers(0, 2, (40, 19), dtype=np.uint8), axis=1)
    asked = rows, np.arange(40), np.arange(2, 19), np.zeros(19, bool), GRID, Fraction(5)
    whole = cut_sums(*asked).tolist()
    for block in (1, 3, 100):
        monkeypatch.setattr("dpviz.noise.product.BLOCK", block)
        assert cut_sums(*asked).tolist() == whole


# ---------------------------------------------------------------- sensitivity


def worst_move(size: int, cut: Fraction, grid: int = GRID) -> int:
    """The largest squared distance of the sums of two chunks that differ in one row, over all rows of bits."""
    bits = np.array(list(itertools.product((0, 1), repeat=size)), dtype=np.uint8)
    packed, every = np.packbits(bits, axis=1), np.arange(size)
    none = np.zeros(size, bool)
    sums = np.array([cut_sums(packed, np.array([row]), every, none, grid, cut) for row in range(len(bits))])
    apart = sums[:, None, :] - sums[None, :, :]
    return int((apart**2).sum(axis=2).max())


CUTS = [Fraction(1, 10), Fraction(1), Fraction(2), Fraction(5, 2), Fraction(3), Fraction(6)]


@pytest.mark.parametrize("size", [1, 2, 3, 5, 6])
@pytest.mark.parametrize("cut", CUTS, ids=str)
def test_no_exchange_of_a_row_moves_the_sums_further_than_is_charged_for(size: int, cut: Fraction) -> None:
    """Over all pairs of rows. Met where the cut is a whole number; the paper's T**2 is exceeded beyond T**2 columns."""
    worst = Fraction(worst_move(size, cut), GRID**2)
    assert worst <= l2_squared(cut, size)
    if cut.denominator == 1:
        assert worst == l2_squared(cut, size)
    if size > cut:
        assert worst > cut or cut < 1


def test_the_rest_of_a_chunk_does_not_change_what_one_row_moves() -> None:
    """All chunks of three rows of three bits and all their neighbours."""
    rows = list(itertools.product((0, 1), repeat=3))
    every, none = np.arange(3), np.zeros(3, bool)

    def sums(chunk: tuple[tuple[int, ...], ...]) -> NDArray[np.int64]:
        packed = np.packbits(np.array(chunk, dtype=np.uint8), axis=1)
        return cut_sums(packed, np.arange(3), every, none, GRID, Fraction(1))

    known = {chunk: sums(chunk) for chunk in itertools.product(rows, repeat=3)}
    worst = max(
        int(((own - known[(*chunk[:place], other, *chunk[place + 1 :])]) ** 2).sum())
        for chunk, own in known.items()
        for place in range(3)
        for other in rows
    )
    assert worst == 2 * GRID**2


def test_weights_that_are_rounded_up_would_break_the_bound() -> None:
    """The floor is what keeps the norm: one step more, and two rows without a common one move the sums too far."""
    cut, size = Fraction(1), 6
    weights = cut_weights(size, GRID, cut)
    norms = [int(weights[s]) ** 2 * s for s in range(1, size + 1)]
    assert max(norms) == GRID**2 and all(norm <= GRID**2 * cut for norm in norms)
    twin = [(int(weights[s]) + 1) ** 2 * s for s in (2, 3, 5, 6)]
    assert all(norm > GRID**2 * cut for norm in twin) and 2 * twin[1] > GRID**2 * l2_squared(cut, size)


# ---------------------------------------------------------------- the whole run


def by_hand(bits: NDArray[np.uint8], plan: Small, order: NDArray[np.intp]) -> tuple[list[int], list[int], list[bool]]:
    """Algorithm 4 without noise, read plainly: sums, rounds, what is turned round."""
    d, one = plan.columns, plan.grid * plan.chunk
    chunks = [bits[order[i * plan.chunk : (i + 1) * plan.chunk]] for i in range(2 * plan.rounds + 1)]
    flipped, left, asides = [False] * d, list(range(d)), []
    for level in range(1, plan.rounds + 1):
        found = plain_sums(chunks[level - 1] ^ np.array(flipped), left, plan.grid, plan.cut(level, len(left)))
        means = dict(zip(left, (Fraction(total, one) for total in found), strict=True))
        high = {j for j in left if level == 1 and means[j] > Fraction(13, 16)} if plan.flips else set()
        on = [j for j in left if means[j] < Fraction(3, 8) / 2**level or j in high]
        asides.append((level, plan.cut(level, len(left)), [j for j in left if j not in on]))
        for j in high:
            flipped[j] = True
        left = on
    asides.append((plan.rounds + 1, plan.cut(plan.rounds + 1, len(left)), left))
    sums, levels = [0] * d, [0] * d
    for level, cut, places in asides:
        found = plain_sums(chunks[plan.rounds + level - 1] ^ np.array(flipped), places, plan.grid, cut)
        for j, total in zip(places, found, strict=True):
            sums[j], levels[j] = total, level
    return sums, levels, flipped


@pytest.mark.parametrize("flips", [True, False])
@pytest.mark.parametrize("rounds", [0, 1, 3])
def test_a_run_is_the_algorithm_read_plainly(rounds: int, flips: bool) -> None:
    """With noise that is 0 but once in exp(500), so every sum, round and turn must agree, and left-over rows count
    nowhere. Columns with means near 1, in the middle and near 0 go different ways."""
    random = np.random.default_rng(rounds)
    biases = np.array([0.99, 0.5, 0.3, 0.1, 0.06, 0.01, 0.0, 1.0, 0.7])
    bits = (random.random((7 * 40 + 3, 9)) < biases).astype(np.uint8)
    plan = Small(9, rounds, 40, flips=flips)
    means = noisy_means(np.packbits(bits, axis=1), plan, TeachingBits(5))
    sums, levels, flipped = by_hand(bits, plan, permutation(len(bits), TeachingBits(5)))
    assert (means.sums.tolist(), means.levels.tolist(), means.flipped.tolist()) == (sums, levels, flipped)
    assert means.one == 40 * GRID
    if rounds == 3:
        assert len(set(levels)) > 2 and any(flipped) == flips


def test_the_trace_tells_every_round_and_nothing_else() -> None:
    bits = (np.random.default_rng(2).random((70, 9)) < [0.9, 0.5, 0.3, 0.1, 0.05, 0, 0, 1, 0.7]).astype(np.uint8)
    means = noisy_means(np.packbits(bits, axis=1), Small(9, 1, 20), TeachingBits(6))
    first, *kept = means.trace
    assert (first.level, first.keeps, first.places.tolist()) == (1, False, list(range(9)))
    assert sorted(j for part in kept for j in part.places.tolist()) == list(range(9)) and all(p.keeps for p in kept)
    for part in kept:
        assert means.sums[part.places].tolist() == part.sums.tolist()
        assert set(means.levels[part.places].tolist()) == {part.level}


def test_rounds_with_no_column_left_draw_nothing() -> None:
    rows = np.zeros((50, 1), np.uint8)
    half = np.packbits((np.arange(50)[:, None] % 2 == np.zeros((1, 3))).astype(np.uint8), axis=1)
    assert [part.keeps for part in noisy_means(half, Small(3, 3, 7), TeachingBits(7)).trace] == [False, True]
    assert [part.keeps for part in noisy_means(rows, Small(3, 3, 7), TeachingBits(7)).trace] == [
        False,
        False,
        False,
        True,
    ]


@pytest.mark.parametrize("noise", ["repaired", "tight", "paper"])
def test_the_noise_on_each_sum_has_the_law_that_is_charged_for(noise: str) -> None:
    """By chi-square on the noise of three columns; a quarter less variance is refused (power 0.999)."""
    plan = Rounds(3, 20, Fraction(1, 50), Fraction(1, 12), noise)  # type: ignore[arg-type]
    bits = np.random.default_rng(3).integers(0, 2, (20, 3), dtype=np.uint8)
    packed, source, runs = np.packbits(bits, axis=1), TeachingBits(8), 3000
    truth = bits.sum(axis=0, dtype=np.int64) * plan.grid
    seen = np.concatenate([noisy_means(packed, plan, source).sums - truth for _ in range(runs)])
    variance = plan.variance(plan.cut(1, 3), 3)
    last = int(6 * math.sqrt(variance)) + 2

    def law(variance: Fraction) -> NDArray[np.float64]:
        own = DiscreteGaussian(variance)
        beyond = float(own.above(last)[1])
        return ends_folded(own.pmf_array(np.arange(-last, last + 1)), beyond, beyond)

    assert p_value(histogram(seen, -last, last), law(variance)) > FALSE_ALARM
    if noise != "paper":
        assert variance == 75
        twin = law(variance * Fraction(3, 4))
        assert power(3 * runs, law(variance), twin) > 0.999
        assert p_value(histogram(seen, -last, last), twin) < FALSE_ALARM


def test_records_are_drawn_with_the_chances_of_the_clipped_means() -> None:
    """All eight rows of three columns, one of them turned round; a column that is not turned back is refused."""
    sums, one, flipped, runs = np.array([3, -2, 9]), 10, np.array([True, False, False]), 20_000
    drawn = draw_rows(sums, one, flipped, runs, TeachingBits(10))
    assert drawn.shape == (runs, 3) and drawn.dtype == np.uint8
    chances = np.array([0.7, 0.0, 0.9])
    assert not drawn[:, 1].any()
    seen = np.bincount(drawn[:, 0] * 2 + drawn[:, 2], minlength=4)
    law = np.outer([1 - chances[0], chances[0]], [1 - chances[2], chances[2]]).ravel()
    twin = np.outer([chances[0], 1 - chances[0]], [1 - chances[2], chances[2]]).ravel()
    assert p_value(seen, law) > FALSE_ALARM and p_value(seen, twin) < FALSE_ALARM
    assert draw_rows(np.array([12]), 10, np.array([False]), 3, TeachingBits(1)).tolist() == [[1], [1], [1]]


def test_rows_of_another_shape_and_chunks_without_rows_are_refused() -> None:
    plan = Rounds(9, 10, Fraction(1), Fraction(1, 12))
    for rows in (np.zeros((10, 1), np.uint8), np.zeros((10, 2), np.int64), np.zeros(10, np.uint8)):
        with pytest.raises(ParameterError, match="packed bits of 9 columns"):
            noisy_means(rows, plan, TeachingBits(1))
    with pytest.raises(ParameterError, match="chunks need as many rows"):
        noisy_means(np.zeros((9, 2), np.uint8), plan, TeachingBits(1))
