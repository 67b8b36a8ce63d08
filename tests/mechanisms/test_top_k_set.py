"""TopKSet against its definition: the law of whole sets, price over neighbours, and the printed algorithm."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import dpviz as dv
from dpviz.errors import ParameterError
from dpviz.model.answers import Chosen, Ranked
from dpviz.model.question import Question
from dpviz.model.statistic import Top, TopCounts
from dpviz.noise.bits import TeachingBits
from dpviz.privacy.loss import ApproxDP
from tests.mechanisms.ranking import (
    FALSE_ALARM,
    Cells,
    Counts,
    Law,
    bins,
    hockey_stick,
    neighbours,
    order,
    orders,
    statistic,
    worst_delta,
)

KEYS = Question.of(dv.Domain.keys(column="dest"))
DELTA = Fraction(1, 10)


@dataclass(frozen=True)
class Fixed:
    """Algorithm 8 as its analysis has it: the items above the next count, each by a coin of its own."""

    k: int
    gap: int
    base: Any
    delta: Any

    def law(self, counts: Counts, labels: list[int] | None = None) -> Law:
        following = (*sorted(counts, reverse=True), 0)[self.k]
        rows = [label for label in (labels or order(counts))[: self.k] if counts[label] > following]
        coins = {label: self.coin(counts[label] - following) for label in rows}
        return product(coins)

    def coin(self, above: int) -> Any:
        x = self.delta * self.base ** (above - self.gap)
        return x if 2 * x <= 1 else 1 - 1 / (4 * x)


def product(coins: dict[int, Any]) -> Law:
    law: Law = {}
    for taken in itertools.product((False, True), repeat=len(coins)):
        chance: Any = 1
        for came, coin in zip(taken, coins.values(), strict=True):
            chance *= coin if came else 1 - coin
        law[tuple(sorted(label for label, came in zip(coins, taken, strict=True) if came))] = chance
    return law


def unit_of(most: int | None, relation: str = "add-remove", per_bin: int = 1) -> dv.Unit:
    return dv.Unit("user", relation=relation, max_bins=most, max_per_bin=per_bin)  # type: ignore[arg-type]


def test_the_coin_is_laplace_noise_against_the_threshold() -> None:
    fixed, rate = Fixed(1, 1, math.e**0.5, 0.01), 0.5
    for above in range(1, 30):
        distance = 1 + math.log(1 / (2 * 0.01)) / rate - above
        noise = 0.5 * math.exp(-rate * distance) if distance >= 0 else 1 - 0.5 * math.exp(rate * distance)
        assert fixed.coin(above) == pytest.approx(noise, rel=1e-12)


def test_draws_have_the_law_of_the_definition() -> None:
    """A chi-square over 81 histograms: false alarm 1e-9, power stated against a threshold one lower."""
    cells, bits = Cells(), TeachingBits(8)
    shapes = [(dv.TopKSet(k, 2 * k, "0.2"), unit) for k in (1, 2, 3) for unit in (unit_of(None), unit_of(1, per_bin=2))]
    for turn, counts in enumerate(itertools.product((0, 2, 5), (1, 3, 4), (0, 2, 7), (1, 6, 8))):
        mechanism, unit = shapes[turn % len(shapes)]
        bound = mechanism.bind(bins(4), unit)
        fixed, twin = (
            Fixed(mechanism.k, gap, math.exp(bound.rate), float(bound.step_price.delta))
            for gap in (unit.max_per_bin, unit.max_per_bin - 1)
        )
        private = statistic(counts, mechanism.k)
        answers = [bound.draw(private, bits, mode="exact").items for _ in range(400)]
        cells.add(answers, fixed.law(counts), twin.law(counts))  # type: ignore[arg-type]
    assert cells.freedom > 70 and cells.power > 0.999
    assert cells.p_value > FALSE_ALARM


@pytest.mark.parametrize("most", [1, 2, None])
@pytest.mark.parametrize("per_bin", [1, 2])
@pytest.mark.parametrize("k", [1, 2, 3])
def test_no_pair_of_neighbours_exceeds_the_delta_charged_whatever_the_order_of_ties(
    most: int | None, per_bin: int, k: int
) -> None:
    unit, fixed = unit_of(most, per_bin=per_bin), Fixed(k, per_bin, Fraction(2), DELTA)
    pairs = neighbours(unit, 4, 2 if per_bin == 1 else 1)
    assert worst_delta(fixed.law, pairs, fixed.base ** (k * per_bin)) <= k * DELTA
    for counts in itertools.product(range(3), repeat=4):
        assert all(fixed.law(counts, labels) == fixed.law(counts) for labels in orders(counts))


def test_delta_is_reached_by_one_item_and_nearly_by_two() -> None:
    one, two = (Fixed(k, 1, Fraction(2), DELTA) for k in (1, 2))
    assert hockey_stick(one.law((1, 0)), one.law((0, 0)), 2) == DELTA
    assert hockey_stick(two.law((1, 1, 0)), two.law((0, 0, 0)), 4) == 1 - (1 - DELTA) ** 2
    assert hockey_stick(two.law((1, 1, 0)), two.law((1, 1, 1)), 4) == 1 - (1 - DELTA) ** 2


def test_a_threshold_without_the_one_and_half_of_the_noise_are_caught() -> None:
    pairs = neighbours(unit_of(None), 3, 2)
    right = Fixed(1, 1, Fraction(2), DELTA)
    assert worst_delta(right.law, pairs, 2) <= DELTA
    assert worst_delta(Fixed(1, 0, Fraction(2), DELTA).law, pairs, 2) > DELTA
    assert worst_delta(Fixed(1, 1, Fraction(8), DELTA).law, pairs, 2) > DELTA


def test_the_printed_algorithm_compares_true_counts_and_is_caught() -> None:
    """Spec f.3: (7, 0) and (6, 0), one item, base 2, delta 1/100: 0.609, where 1/100 is claimed."""
    fixed = Fixed(1, 1, Fraction(2), Fraction(1, 100))

    def printed(counts: Counts) -> Law:
        first, following = sorted(counts, reverse=True)[:2]
        passed = first - following > 1 + math.log2(1 / (2 * 0.01))
        return product({counts.index(first): fixed.coin(first - following)} if passed else {})

    found = hockey_stick(printed((7, 0)), printed((6, 0)), 2)
    assert round(float(found), 3) == 0.609
    assert hockey_stick(fixed.law((7, 0)), fixed.law((6, 0)), 2) <= Fraction(1, 100)


# ---------------------------------------------------------------- what is charged


@pytest.mark.parametrize(("k", "epsilon", "delta"), [(1, "1", "1e-6"), (10, "1", "1e-6"), (200, "2", "1e-4")])
def test_the_step_is_the_larger_of_what_the_sum_and_theorem_3_allow(k: int, epsilon: str, delta: str) -> None:
    bound = dv.TopKSet(k, epsilon, delta).bind(KEYS, unit_of(None))
    total, part = float(Fraction(epsilon)), float(Fraction(delta))
    assert bound.price.loss == ApproxDP(Fraction(epsilon), Fraction(delta)) and bound.price.zcdp_steps is None

    def theorem_3(step: float) -> float:
        return k * step * math.tanh(step / 2) + step * math.sqrt(2 * k * math.log(2 / part))

    step = float(bound.step_price.step)
    if bound.step_price.delta_prime:
        assert bound.step_price.delta == Fraction(delta) / (2 * k) and step > total / k
        assert theorem_3(step) <= total < theorem_3(step + 2e-6)
    else:
        assert bound.step_price.delta == Fraction(delta) / k and step == pytest.approx(total / k, abs=1e-9)
        assert theorem_3(total / k) >= total
    assert (k == 200) == bool(bound.step_price.delta_prime)


def test_a_replacement_pays_for_two() -> None:
    bound = dv.TopKSet(4, "1", "1e-6").bind(KEYS, unit_of(None, "replace-one"))
    assert bound.price.loss == ApproxDP(Fraction(1), Fraction(1, 10**6)) and bound.step_price.step == Fraction(1, 8)
    assert 4 * bound.step_price.delta * (1 + Fraction(math.exp(0.5))) <= Fraction(1, 10**6) * (1 + Fraction(1, 10**12))


@pytest.mark.parametrize("beta", [Fraction(9, 10), Fraction(1, 2), Fraction(1, 20), Fraction(1, 100)])
def test_an_item_that_far_above_is_named_and_one_less_is_not(beta: Fraction) -> None:
    bound = dv.TopKSet(3, "1.1", "0.01").bind(KEYS, unit_of(2, per_bin=2))
    above = int(bound.error.listed(beta).value)  # type: ignore[union-attr]
    coin = Fixed(3, 2, math.exp(bound.rate), float(bound.step_price.delta)).coin
    assert coin(above) >= 1 - beta > coin(above - 1)


# ---------------------------------------------------------------- refusals, texts, shapes


def test_wrong_parameters_are_refused() -> None:
    for given, message in (
        ({}, "epsilon must be a finite number"),
        ({"epsilon": 1, "k": 0}, "k must be a whole number"),
        ({"epsilon": 1, "delta": 0}, "delta must lie strictly"),
    ):
        with pytest.raises(ParameterError, match=message):
            dv.TopKSet(**given)  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match="must lie below 1/2"):
        dv.TopKSet(1, 1, "0.6").bind(KEYS, unit_of(1))
    with pytest.raises(ParameterError, match="k is at most the number of bins"):
        dv.TopKSet(5, 1).bind(bins(4), unit_of(1))
    bound = dv.TopKSet(5, 1).bind(KEYS, unit_of(1))
    assert bound.needs == Top(5)


def test_parameters_and_python_say_everything() -> None:
    for made in (dv.TopKSet(epsilon="1/3"), dv.TopKSet(3, 2, "1e-9")):
        assert dv.TopKSet.from_parameters(made.parameters()) == made
        assert eval(made.python, {"dv": dv}) == made
        assert made.with_epsilon(Fraction(7)).epsilon == 7
    with pytest.raises(ParameterError, match="TopKSet takes k, epsilon, delta"):
        dv.TopKSet.from_parameters({"epsilon": "1", "kbar": "9"})


def test_an_answer_of_another_shape_is_not_taken_for_one_of_these() -> None:
    bound = dv.TopKSet(2, 1).bind(bins(4), unit_of(1))
    assert bound.accepts(Chosen(())) and bound.accepts(Chosen((0, 3)))
    for bad in (Chosen((0, 1, 2)), Chosen((4,)), Chosen(("a",)), Ranked((0,), True)):
        assert not bound.accepts(bad)


def test_the_order_of_a_set_says_nothing_and_counts_at_the_edge_raise_nothing() -> None:
    top = int(np.iinfo(np.int64).max)
    bound = dv.TopKSet(3, 30, "0.3").bind(KEYS, unit_of(None))
    for labels, counts, following, wanted in (
        ([], [], 0, ()),
        (list("zyx"), [top, top - 1, 5], 1, ("x", "y", "z")),
        (list("xyz"), [top, top - 1, 5], 1, ("x", "y", "z")),
        (list("xyz"), [top, top, top], top, ()),
    ):
        private = TopCounts(labels, np.array(counts, dtype=np.int64), following)
        assert bound.draw(private, TeachingBits(1), mode="exact") == Chosen(wanted)
