"""Labels by bits: the transformations of records and of bits, exactly; what is misprinted is refused by the same."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from fractions import Fraction

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

from dpviz.errors import ParameterError
from dpviz.exact import exp_bounds
from dpviz.noise.bits import Bits, TeachingBits
from dpviz.privacy.conversion import group
from dpviz.privacy.loss import ApproxDP
from dpviz.sampling import reduction
from dpviz.sampling.reduction import (
    Reduction,
    kept_chance,
    label_distance,
    label_of_bits,
    rows_of_bits,
    special_label,
)
from tests.noise.statistics import FALSE_ALARM, p_value
from tests.sampling import every
from tests.sampling.every import law


@pytest.fixture
def walked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reduction, "flip", every.flip)


def column_law(rows: int, p: Fraction, balls: int) -> dict[tuple[int, ...], Fraction]:
    """The law of one column, for so many records with its label."""
    return law(lambda bits: tuple(rows_of_bits([1] * balls, 2, rows, p, 0, bits)[:, 0].tolist()))


@pytest.mark.parametrize(("mean", "wrong"), [(1.0, 0.2), (0.6, 1.0)])
def test_rows_from_a_poisson_number_of_records_are_independent(mean: float, wrong: float, walked: None) -> None:
    """A column over two rows, by every way the records and coins may fall and Po(2 rows p) of them: a product with the
    chance p, to 1e-12. With another mean, as printed (erratum E9), or with a fixed number of records, it is not."""
    rows, p = 2, Fraction(mean) / 4
    laws = [column_law(rows, p, balls) for balls in range(9)]

    def mixed(rate: float) -> dict[tuple[int, ...], float]:
        return {
            cells: sum(
                float(stats.poisson.pmf(balls, rate)) * float(own.get(cells, 0)) for balls, own in enumerate(laws)
            )
            for cells in itertools.product((0, 1), repeat=rows)
        }

    beyond = float(stats.poisson.sf(8, mean))
    product = {cells: float(p) ** sum(cells) * float(1 - p) ** (rows - sum(cells)) for cells in mixed(1.0)}
    right, other = mixed(mean), mixed(wrong)
    assert all(abs(right[cells] - product[cells]) <= beyond + 1e-12 for cells in product)
    assert max(abs(other[cells] - product[cells]) for cells in product) > 0.01
    fixed = laws[1]
    assert float(fixed.get((1, 1), 0)) == 0 != product[1, 1]


def test_a_replaced_record_moves_at_most_two_rows() -> None:
    """With the same coins: all neighbours of three records of three labels, over many coins. Two rows do move."""
    most = 0
    for seed, records in itertools.product(range(5), itertools.product(range(3), repeat=3)):
        own = rows_of_bits(records, 3, 4, Fraction(1, 2), 2, Every(seed))
        for other in range(3):
            twin = rows_of_bits((*records[:2], other), 3, 4, Fraction(1, 2), 2, Every(seed, shift=other))
            most = max(most, int((own != twin).any(axis=1).sum()))
    assert most == 2


class Every(Bits):
    """The i-th record always hits the same row, but for the third one, and every cell stays 1."""

    kind = "fixed"
    private = False

    def __init__(self, seed: int, shift: int = 0) -> None:
        self.places = np.random.default_rng(seed).integers(0, 4, 3).tolist()
        self.places[2] += shift
        self.at = -1

    def below(self, bound: int) -> int:
        self.at += 1
        return int(self.places[self.at]) % bound

    def take(self, count: int) -> bytes:
        return bytes(count)


def test_thinning_leaves_the_chance_that_is_asked_for() -> None:
    for p in (Fraction(1, 1000), Fraction(1, 2), reduction.MOST_BIAS):
        low, high = kept_chance(p, 64)
        assert low < high <= 1 and high - low < Fraction(1, 2**60)
        assert low * (1 - exp_bounds(-2 * p)[1]) <= p <= high * (1 - exp_bounds(-2 * p)[0])
    assert float(reduction.MOST_BIAS) == pytest.approx(0.7968, abs=1e-4)
    for p in (Fraction(0), Fraction(4, 5)):
        with pytest.raises(ParameterError, match=r"0\.7968"):
            rows_of_bits([0], 3, 2, p, 1, TeachingBits(1))


@pytest.mark.parametrize("k", [2, 3])
def test_bits_of_the_right_law_give_labels_off_by_the_closed_form(k: int) -> None:
    """All rows of 2k bits, k of them with the chance a / k, for each special label and which labels take part."""
    a = Fraction(3, 10)
    for special, takers in itertools.product(range(2 * k + 1), itertools.combinations(range(2 * k), k)):
        labels: dict[int, Fraction] = dict.fromkeys(range(2 * k + 1), Fraction(0))
        for ones in itertools.product((0, 1), repeat=k):
            row = [0] * (2 * k)
            for place, bit in zip(takers, ones, strict=True):
                row[place] = bit
            chance = (a / k) ** sum(ones) * (1 - a / k) ** (k - sum(ones))
            for label, own in law(lambda bits, row=row, s=special: label_of_bits(row, s, bits)).items():
                labels[label] += chance * own
        wanted = {label: Fraction(0) for label in labels} | {special: 1 - a}
        wanted |= {place if place < special else place + 1: a / k for place in takers}
        distance = sum(abs(labels[label] - wanted[label]) for label in labels) / 2
        assert distance == label_distance(k, a) <= a**2 / 2


def test_the_special_label_is_picked_by_its_count_and_not_by_its_share() -> None:
    """By chi-square against exp(epsilon count / 2); the printed weights, of count / n, are refused."""
    counts, epsilon, runs = [6, 2, 0], Fraction(1), 3000
    bits, seen = TeachingBits(5), np.zeros(3, int)
    for _ in range(runs):
        seen[special_label(counts, epsilon, bits)] += 1

    def shares(scale: float) -> NDArray[np.float64]:
        weights = np.exp(np.array(counts) / (2 * scale))
        share: NDArray[np.float64] = weights / weights.sum()
        return share

    assert p_value(seen, shares(1)) > FALSE_ALARM and p_value(seen, shares(8)) < FALSE_ALARM


def test_half_of_epsilon_and_all_of_delta_pay_for_two_moved_rows() -> None:
    plan = Reduction(3, Fraction(1, 200), 200_000, Fraction(1, 2), Fraction(1, 10**6))
    quarter, delta = plan.inside
    moved = group(ApproxDP(quarter, delta), 2)
    assert isinstance(moved, ApproxDP) and moved.epsilon == plan.epsilon / 2 and moved.delta <= plan.delta
    printed = group(ApproxDP(quarter, plan.delta / 2), 2)
    assert isinstance(printed, ApproxDP) and printed.delta > plan.delta  # erratum E8
    assert plan.n * (1 - plan.share) == 2 * plan.rows and plan.share * plan.n >= 2 * plan.few


def test_the_whole_reduction_draws_from_the_class_of_laws() -> None:
    """200 runs with a sampler of bits that gives a row of its own: by chi-square; the special label is found. Another
    law is refused."""
    k, special, takers = 2, 1, (0, 4)
    plan = Reduction(k, Fraction(1, 200), 600, Fraction(2), Fraction(1, 10**6))
    random, bits, runs = np.random.default_rng(6), TeachingBits(7), 200
    chances = np.zeros(5)
    chances[[special, *takers]] = [float(1 - plan.a), float(plan.a) / k, float(plan.a) / k]

    def one_row(rows: NDArray[np.uint8], bits: Bits) -> Sequence[int]:
        return [int(bit) for bit in rows[bits.below(len(rows))]]

    short = Reduction(k, plan.alpha, plan.n, plan.epsilon, plan.delta, constant=2)
    assert short.few > plan.few and short.rows < plan.rows
    seen = np.zeros(5, int)
    for _ in range(runs):
        records = random.choice(5, size=random.poisson(plan.n), p=chances).tolist()
        seen[plan.draw(records, one_row, bits)] += 1
    wanted = np.array([float(plan.a) / k, float((1 - plan.a / k) ** k), 0, 0, float(plan.a) / k])
    wanted[[0, 4]] = (1 - wanted[1]) / 2
    assert seen[[2, 3]].sum() == 0
    assert p_value(seen[[0, 1, 4]], wanted[[0, 1, 4]]) > FALSE_ALARM
    assert p_value(seen[[0, 1, 4]], np.array([0.35, 0.3, 0.35])) < FALSE_ALARM


def test_too_few_records_give_the_last_label_and_plans_that_cannot_be_are_refused() -> None:
    plan = Reduction(2, Fraction(1, 120), 4000, Fraction(2), Fraction(0))
    assert plan.draw([0, 1, 2], lambda rows, bits: rows[0].tolist(), TeachingBits(1)) == 4
    with pytest.raises(ParameterError, match="one of the labels"):
        plan.draw([5], lambda rows, bits: rows[0].tolist(), TeachingBits(1))
    for given in ({"n": 50}, {"alpha": Fraction(1, 60)}, {"delta": Fraction(1)}, {"k": 1}, {"epsilon": Fraction(0)}):
        with pytest.raises(ParameterError):
            Reduction(
                **{"k": 2, "alpha": Fraction(1, 120), "n": 4000, "epsilon": Fraction(2), "delta": Fraction(0)} | given
            )  # type: ignore[arg-type]
    assert math.isclose(float(plan.few), 120 * math.log(2) / 2, abs_tol=1e-5)
