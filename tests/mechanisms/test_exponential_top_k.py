"""ExponentialTopK against its definition: the law of whole lists, its price, and its steps."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

import dpviz as dv
from dpviz.errors import DomainError, ParameterError
from dpviz.model.answers import Ranked
from dpviz.model.question import Question
from dpviz.model.statistic import DenseCounts, StatisticKind
from dpviz.noise.bits import TeachingBits
from dpviz.privacy.loss import ApproxDP, PureDP, RangeBounded
from tests.mechanisms.ranking import FALSE_ALARM, Cells, Limited, answer_of, bins, neighbours, worst_delta, worst_ratio

USER, SWAP = dv.Unit("user", max_bins=None), dv.Unit("user", relation="replace-one", max_bins=2, max_per_bin=2)


def every(k: int, number: int, base: object) -> Limited:
    """Peeling over all bins, without a bottom symbol."""
    return Limited("paper", k, number, 0, 1, base, Fraction(1, 10))


def test_draws_have_the_law_of_the_definition() -> None:
    """A chi-square over 54 histograms: false alarm 1e-9, power stated against half the rate (a factor 2 too much)."""
    cells, bits = Cells(), TeachingBits(21)
    for turn, counts in enumerate(itertools.product((0, 1, 3), (0, 2), (1, 4, 5), (0, 3, 6))):
        bound = dv.ExponentialTopK(1 + turn % 3, epsilon="1.5").bind(bins(4), (USER, SWAP)[turn % 2])
        law, twin = (every(bound.max_items, 4, math.exp(rate)).law(counts) for rate in (bound.rate, bound.rate / 2))
        private = DenseCounts(np.array(counts, dtype=np.int64))
        answers = [answer_of(bound.draw(private, bits, mode="exact")) for _ in range(400)]
        cells.add(answers, law, twin)
    assert cells.freedom > 100 and cells.power > 0.999
    assert cells.p_value > FALSE_ALARM


def test_the_price_is_the_worst_ratio_in_the_limit_and_never_below_it() -> None:
    """One unit multiplies the odds of each draw by at most exp(step); counts of 6 come within 2 in 100 of that."""
    for unit, factor in ((USER, 1), (dv.Unit("user", relation="replace-one", max_bins=None), 2)):
        law = every(1, 3, Fraction(2)).law
        worst = worst_ratio(law, neighbours(unit, 3, 6))
        assert Fraction(2) ** factor * Fraction(96, 100) < worst <= Fraction(2) ** factor
    assert worst_ratio(every(2, 3, Fraction(2)).law, neighbours(USER, 3, 5)) <= 4
    assert worst_delta(every(2, 3, Fraction(2)).law, neighbours(USER, 3, 4), Fraction(7, 2)) > 0
    assert worst_delta(every(2, 3, Fraction(2)).law, neighbours(USER, 3, 4), 4) == 0


def test_a_pure_price_is_split_into_steps() -> None:
    for unit, factor in ((USER, 1), (SWAP, 2)):
        bound = dv.ExponentialTopK(4, epsilon="1").bind(bins(9), unit)
        assert bound.price.loss == PureDP(Fraction(1)) and bound.price.zcdp_steps == RangeBounded(
            Fraction(1, 4), steps=4
        )
        assert bound.rate == Fraction(1, 4 * factor * unit.max_per_bin)


@pytest.mark.parametrize("unit", [USER, SWAP])
@pytest.mark.parametrize(("k", "epsilon", "delta"), [(3, "1", "1e-6"), (100, "1", "1e-6"), (400, "3", "1e-3")])
def test_with_a_delta_the_step_is_the_largest_that_lemma_4_4_allows(
    unit: dv.Unit, k: int, epsilon: str, delta: str
) -> None:
    bound = dv.ExponentialTopK(k, epsilon, delta).bind(bins(500), unit)
    factor, total = (2 if unit.relation == "replace-one" else 1), float(Fraction(epsilon))

    def price(step: float) -> float:
        length = math.log(1 / float(Fraction(delta)))
        return min(
            k * step,
            k * step * math.tanh(step / 2) + step * math.sqrt(2 * k * length),
            k * step**2 / 2 + step * math.sqrt(k * length / 2),
        )

    step = factor * float(bound.step_price.step)
    assert price(step) <= total * (1 + 1e-12) and price(step + 3e-6) > total
    assert bound.price.loss == ApproxDP(Fraction(epsilon), Fraction(delta))
    assert bound.price.zcdp_steps == RangeBounded(factor * bound.step_price.step, steps=k)


def test_a_bin_that_is_drawn_lies_no_further_below_its_rank_than_stated() -> None:
    bound = dv.ExponentialTopK(2, epsilon="2").bind(bins(3), USER)
    for position, beta in itertools.product((1, 2), (Fraction(1, 3), Fraction(1, 20))):
        stated = int(bound.error.rank(position, beta).value)  # type: ignore[union-attr]
        for counts in itertools.product((0, 1, 3, 6), repeat=3):
            least = sorted(counts, reverse=True)[position - 1] - stated
            law = every(2, 3, math.exp(bound.rate)).law(counts)
            missed = [chance for answer, chance in law.items() if any(counts[at] < least for at in answer[:position])]
            assert sum(missed) <= beta
    exact = math.floor(math.log(2 * 1 / 0.05) / float(bound.rate))
    assert bound.error.rank(2, Fraction(1, 20)).value == exact  # type: ignore[union-attr]
    assert dv.ExponentialTopK(3, 1).bind(bins(3), USER).error.rank(3, Fraction(1, 20)).value == 0  # type: ignore[union-attr]


def test_every_bin_may_come_and_all_of_them_do_where_k_is_their_number() -> None:
    empty = DenseCounts(np.zeros(3, dtype=np.int64))
    bound = dv.ExponentialTopK(3, epsilon=1).bind(bins(3), USER)
    answers = {bound.draw(empty, TeachingBits(seed), mode="exact").items for seed in range(120)}
    assert answers == set(itertools.permutations(range(3))) and bound.needs is StatisticKind.DENSE
    assert bound.accepts(Ranked((2, 0, 1), False))
    for bad in (
        Ranked((2, 0), True),
        Ranked((2, 0), False),
        Ranked((2, 0, 1), False, (1, 1, 1)),
        Ranked((2, 0, 3), False),
    ):
        assert not bound.accepts(bad)


def test_wrong_parameters_are_refused() -> None:
    with pytest.raises(ParameterError, match="k is at most the number of bins"):
        dv.ExponentialTopK(10, 1).bind(bins(9), USER)
    with pytest.raises(ParameterError, match="at most 10,000,000 bins"):
        dv.ExponentialTopK(10, 1).bind(bins(10**8), USER)
    with pytest.raises(DomainError, match="needs declared bins"):
        dv.ExponentialTopK(10, 1).bind(Question.of("dest"), USER)
    for given in ({}, {"epsilon": 1, "delta": 1}, {"epsilon": 1, "k": 0}):
        with pytest.raises(ParameterError):
            dv.ExponentialTopK(**given)  # type: ignore[arg-type]


def test_parameters_and_python_say_everything() -> None:
    for made in (dv.ExponentialTopK(epsilon="1/3"), dv.ExponentialTopK(3, 2, "1e-9")):
        assert dv.ExponentialTopK.from_parameters(made.parameters()) == made
        assert eval(made.python, {"dv": dv}) == made
        assert made.with_epsilon(Fraction(7)) == replace(made, epsilon=Fraction(7))
    with pytest.raises(ParameterError, match="ExponentialTopK takes k, epsilon, delta"):
        dv.ExponentialTopK.from_parameters({"epsilon": "1", "kbar": "9"})
