"""TopKLaplace against its definition, noisy counts included: law, price over neighbours, threshold, errors."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np
import pytest

import dpviz as dv
from dpviz.errors import ParameterError
from dpviz.exact import exp_bounds
from dpviz.mechanisms.top_k_laplace import TopKLaplaceBound
from dpviz.model.answers import Ranked
from dpviz.model.question import Question
from dpviz.model.source import TopRules
from dpviz.model.statistic import Top, TopCounts
from dpviz.noise.bits import TeachingBits
from dpviz.privacy.loss import ApproxDP
from tests.mechanisms.ranking import FALSE_ALARM, NO_MORE, Cells, Counts, Law, bins, neighbours, order, statistic

KEYS = Question.of(dv.Domain.keys(column="dest"))
ROUNDING = 1e-12
LOW, HIGH = -40, 60
VALUES = np.arange(LOW, HIGH)
"""Noisy counts that are looked at one by one; noise of base 2 or more leaves them less often than 2^-40."""

Table = dict[tuple[int, ...], Any]
"""From the items listed, ascending, to the chances of their noisy counts: an array with one axis for each."""


@dataclass(frozen=True)
class Noisy:
    """Algorithm 4 in whole numbers, by its definition: noise of ratio 1/base, threshold next_count + gap + t."""

    k: int
    kbar: int
    base: float
    gap: int
    t: int
    rule: str = "positive"

    def pmf(self, centre: int) -> np.ndarray:
        p = 1 / self.base
        return (1 - p) / (1 + p) * p ** np.abs(VALUES - centre)

    def table(self, counts: Counts) -> Table:
        ranked = [*sorted(counts, reverse=True), *[0] * self.kbar]
        least = {"positive": 1, "paper": 0, "strict": ranked[self.kbar] + 1}[self.rule]
        rows = [label for label in order(counts)[: self.kbar] if counts[label] >= least]
        bottom = self.pmf(ranked[self.kbar] + self.gap + self.t)
        noise = {label: self.pmf(counts[label]) for label in rows}
        at_most = {label: np.cumsum(chances) for label, chances in noise.items()}
        return {
            items: self._listed(items, [label for label in rows if label not in items], bottom, noise, at_most)
            for size in range(min(self.k, len(rows)) + 1)
            for items in itertools.combinations(sorted(rows), size)
        }

    def _listed(
        self,
        items: tuple[int, ...],
        others: list[int],
        bottom: np.ndarray,
        noise: dict[int, np.ndarray],
        at_most: dict[int, np.ndarray],
    ) -> Any:
        if len(items) < self.k:  # the others are not above the threshold
            beaten = bottom * np.prod([at_most[label] for label in others], axis=0) if others else bottom
            if not items:
                return beaten.sum()
            below = np.concatenate(([0.0], np.cumsum(beaten)[:-1]))
            grids = np.meshgrid(*[np.arange(VALUES.size)] * len(items), indexing="ij")
            return below[np.minimum.reduce(grids)] * self._all(items, noise)
        grids = np.meshgrid(*[np.arange(VALUES.size)] * len(items), indexing="ij")
        lowest = np.minimum.reduce(grids)
        below = np.concatenate(([0.0], np.cumsum(bottom)[:-1]))
        chance = below[lowest] * self._all(items, noise)
        last = np.maximum.reduce([np.where(grid == lowest, item, -1) for item, grid in zip(items, grids, strict=True)])
        for other in others:  # behind the last one listed, by value and then by label
            behind = np.concatenate(([0.0], at_most[other]))
            chance = chance * behind[lowest + 1 - (other < last)]
        return chance

    def _all(self, items: tuple[int, ...], noise: dict[int, np.ndarray]) -> Any:
        joint: Any = 1.0
        for item in items:
            joint = np.multiply.outer(joint, noise[item])
        return joint

    def law(self, counts: Counts) -> Law:
        """The same by whole answers: the items in order, the bottom symbol, and the noisy counts."""
        law = {}
        for items, chances in self.table(counts).items():
            for place, chance in np.ndenumerate(chances):
                pairs = sorted(zip([-int(VALUES[at]) for at in place], items, strict=True))
                ended = [NO_MORE] if len(items) < self.k else []
                law[(*(item for _, item in pairs), *ended, *(-value for value, _ in pairs))] = float(chance)
        return law


def exceeds(first: Table, second: Table, odds: float) -> float:
    """The hockey-stick divergence; what lies beyond the values looked at counts in full."""
    excess = sum(
        float(np.maximum(0, chances - odds * second.get(items, 0.0)).sum()) for items, chances in first.items()
    )
    return excess + max(0.0, 1 - sum(float(np.sum(chances)) for chances in first.values()))


def worst(noisy: Noisy, pairs: list[tuple[Counts, Counts]], odds: float) -> float:
    table = cache(noisy.table)
    return max(exceeds(table(first), table(second), odds) for first, second in pairs)


def tail(base: float, t: int) -> float:
    """Pr[Z - Z' >= t], by adding up."""
    reach = np.arange(-200, 201)
    pmf = (1 - 1 / base) / (1 + 1 / base) * (1 / base) ** np.abs(reach)
    return float(np.convolve(pmf, pmf[::-1])[400 + t :].sum())


def claimed(touched: int, noisy: Noisy, per_bin: int = 1) -> float:
    return (noisy.base ** (touched * per_bin) + 1) * touched * tail(noisy.base, noisy.t + 1)


def unit_of(most: int, relation: str = "add-remove", per_bin: int = 1) -> dv.Unit:
    return dv.Unit("user", relation=relation, max_bins=most, max_per_bin=per_bin)  # type: ignore[arg-type]


def shapes() -> Iterator[tuple[dv.Unit, Noisy]]:
    for (most, per_bin), rule, (k, kbar), t in itertools.product(
        [(1, 1), (2, 1), (1, 2), (2, 2)], ("positive", "paper"), [(1, 1), (1, 2), (2, 2), (2, 3)], (0, 2)
    ):
        if most <= kbar:
            yield unit_of(most, per_bin=per_bin), Noisy(k, kbar, 2.0, per_bin, t, rule)


# ---------------------------------------------------------------- law


def test_the_definition_is_a_law() -> None:
    for _, noisy in shapes():
        for counts in itertools.product((0, 1, 3), repeat=3):
            assert sum(float(np.sum(chances)) for chances in noisy.table(counts).values()) == pytest.approx(
                1, abs=1e-11
            )


def test_draws_have_the_law_of_the_definition_noisy_counts_included() -> None:
    """A chi-square over 54 histograms: false alarm 1e-9, power stated against a threshold one lower."""
    cells, bits = Cells(), TeachingBits(3)
    made = [
        (dv.TopKLaplace(k, kbar, epsilon=2 * most, delta="0.5", domain_rule=rule), unit_of(most))  # type: ignore[arg-type]
        for rule, (k, kbar), most in itertools.product(("positive", "paper"), [(1, 2), (2, 2)], (1, 2))
    ]
    for turn, counts in enumerate(itertools.product((0, 2, 3), (1, 4), (0, 3, 6), (2, 5, 6))):
        mechanism, unit = made[turn % len(made)]
        bound = mechanism.bind(bins(4), unit)
        noisy = Noisy(mechanism.k, mechanism.kbar, math.exp(bound.rate), 1, bound.offset, mechanism.domain_rule)
        answers = []
        for _ in range(400):
            drawn = bound.draw(statistic(counts, mechanism.kbar), bits, mode="exact")
            assert bound.accepts(drawn) and drawn.values is not None
            ended = [NO_MORE] if drawn.ended else []
            answers.append((*drawn.items, *ended, *drawn.values))
        cells.add(answers, noisy.law(counts), replace(noisy, t=noisy.t - 1).law(counts))  # type: ignore[arg-type]
    assert cells.freedom > 100 and cells.power > 0.999
    assert cells.p_value > FALSE_ALARM


def test_equal_noisy_counts_are_listed_by_label() -> None:
    private = TopCounts(["b", "a", "c"], np.array([2, 1, 1]), 0)
    bound = dv.TopKLaplace(3, 3, epsilon="0.3", delta="0.9").bind(KEYS, unit_of(1))
    tied = 0
    for seed in range(300):
        drawn = bound.draw(private, TeachingBits(seed), mode="exact")
        rows = list(zip((-value for value in drawn.values or ()), drawn.items, strict=True))
        assert rows == sorted(rows)
        tied += len({value for value, _ in rows}) < len(rows)
    assert tied > 10


# ---------------------------------------------------------------- price


def test_no_pair_of_neighbours_exceeds_the_delta_claimed_with_the_noisy_counts_released() -> None:
    for unit, noisy in shapes():
        pairs = neighbours(unit, 3, 2)
        odds = noisy.base ** ((unit.max_bins or 0) * unit.max_per_bin)
        assert worst(noisy, pairs, odds) <= claimed(unit.max_bins or 0, noisy, unit.max_per_bin) + ROUNDING


def tall(unit: dv.Unit) -> list[tuple[Counts, Counts]]:
    """Neighbours whose first two items are far above any threshold, so that their noisy counts are released."""
    return [
        tuple((one + 16, other + 14, last) for one, other, last in pair)  # type: ignore[misc]
        for pair in neighbours(unit, 3, 1)
    ]


def test_noise_for_one_bin_is_caught_where_a_unit_touches_two() -> None:
    unit, noisy = unit_of(2), Noisy(2, 2, 2.0, 1, 8)
    assert worst(noisy, tall(unit), 4.0) <= claimed(2, noisy) + ROUNDING
    assert worst(noisy, tall(unit), 2.0) > 3 * claimed(2, noisy)


def test_half_of_the_noise_is_caught() -> None:
    unit, noisy = unit_of(1), Noisy(2, 2, 2.0, 1, 8)
    assert worst(noisy, tall(unit), 2.0) <= claimed(1, noisy) + ROUNDING
    assert worst(replace(noisy, base=4.0), tall(unit), 2.0) > 3 * claimed(1, noisy)


def test_the_strict_domain_is_caught_and_refused() -> None:
    """Spec c.3: one bin a user, 0.7, kbar = 20, t = 15: 4.9 times the claim, for 20 equal counts come in together."""
    noisy = Noisy(20, 20, math.exp(0.7), 1, 15, "strict")
    bottom, item = noisy.pmf(0 + 1 + 15), np.cumsum(noisy.pmf(1))
    listed = 1 - float((bottom * item**20).sum())
    assert noisy.table((1,) * 21)[()] == pytest.approx(1)  # no count is above the next one
    assert listed / claimed(1, noisy) == pytest.approx(4.9, abs=0.05)
    with pytest.raises(ParameterError, match="not private on the strict domain"):
        dv.TopKLaplace(epsilon=1, domain_rule="strict")


@pytest.mark.parametrize("per_bin", [1, 3])
@pytest.mark.parametrize("most", [1, 2, 5])
@pytest.mark.parametrize(("epsilon", "delta"), [("1", "1e-6"), ("0.2", "0.01"), ("5", "1e-9")])
def test_the_threshold_is_the_least_that_delta_allows(most: int, per_bin: int, epsilon: str, delta: str) -> None:
    bound = dv.TopKLaplace(5, 9, epsilon, delta).bind(KEYS, unit_of(most, per_bin=per_bin))
    total = Fraction(epsilon)
    assert bound.rate == total / (most * per_bin) and bound.rule.gap == per_bin and bound.needs == Top(9)
    assert bound.price.loss == ApproxDP(total, Fraction(delta))
    base, scale = math.exp(bound.rate), (math.exp(total) + 1) * most

    def chance(t: int) -> float:
        """Pr[Z - Z' >= t] in closed form, against which the sum is held as well."""
        p = 1 / base
        return p**t * (t * (1 - p) / (1 + p) ** 2 + (1 + p + 2 * p * p) / (1 + p) ** 3)

    assert chance(2) == pytest.approx(tail(base, 2), rel=1e-9) or base < 1.15
    assert scale * chance(bound.offset + 1) <= float(Fraction(delta)) < scale * chance(bound.offset)


def test_a_replacement_pays_for_two() -> None:
    bound = dv.TopKLaplace(epsilon="1", delta="1e-6").bind(KEYS, unit_of(2, "replace-one"))
    left = Fraction(1, 10**6) / (1 + exp_bounds(Fraction(1, 2))[1]).limit_denominator(10**20)
    half = dv.TopKLaplace(epsilon="1/2", delta=left.limit_denominator(10**30))
    assert bound.rate == Fraction(1, 4) and bound.offset == half.bind(KEYS, unit_of(2)).offset
    assert bound.price.loss == ApproxDP(Fraction(1), Fraction(1, 10**6)) and "group of two" in bound.price.exact


# ---------------------------------------------------------------- errors


@pytest.mark.parametrize("beta", [Fraction(1, 3), Fraction(1, 20), Fraction(1, 100)])
def test_errors_are_the_quantiles_of_the_noise_and_of_all_rows_together(beta: Fraction) -> None:
    bound = dv.TopKLaplace(3, 7, epsilon="1.2").bind(KEYS, unit_of(2))
    p = math.exp(-bound.rate)

    def beyond(a: int) -> float:
        return 2 * p ** (a + 1) / (1 + p)

    one, every = (int(error.value) for error in (bound.error.shown(beta), bound.error.all_bins(beta)))  # type: ignore[union-attr]
    assert beyond(one) <= beta < beyond(one - 1)
    assert (1 - beyond(every)) ** 7 >= 1 - beta > (1 - beyond(every - 1)) ** 7
    assert bound.error.one_bin(beta) == bound.error.shown(beta)
    assert 0 < bound.error.rank(2, beta).value < 2 * every  # type: ignore[union-attr]
    listed = int(bound.error.listed(beta).value)  # type: ignore[union-attr]
    reach = listed - bound.rule.gap - bound.offset
    assert tail(math.exp(bound.rate), reach) <= beta < tail(math.exp(bound.rate), reach - 1)


def test_no_item_among_the_first_lies_further_below_its_rank_than_stated() -> None:
    bound = dv.TopKLaplace(2, 2, epsilon="2.2", delta="0.3").bind(bins(3), unit_of(1))
    noisy = Noisy(2, 2, math.exp(bound.rate), 1, bound.offset)
    stated = {
        (beta, position): int(bound.error.rank(position, beta).value)  # type: ignore[union-attr]
        for beta, position in itertools.product((Fraction(1, 3), Fraction(1, 20)), (1, 2))
    }
    assert [reach == 0 for reach in stated.values()] == [True, True, False, True]
    for counts in itertools.product((0, 8, 12), repeat=3):
        missed = dict.fromkeys(stated, 0.0)
        for answer, chance in noisy.law(counts).items():
            items = answer[: len(answer) - (2 if len(answer) == 4 else (len(answer) - 1) // 2)]
            for (beta, position), reach in stated.items():
                least = sorted(counts, reverse=True)[position - 1] - reach
                far = any(label != NO_MORE and counts[label] < least for label in items[:position])
                missed[beta, position] += chance * far
        assert all(chance <= beta for (beta, _), chance in missed.items())


# ---------------------------------------------------------------- refusals, texts, shapes


def test_what_it_cannot_do_is_refused_and_the_next_step_named() -> None:
    for most in (11, None):
        with pytest.raises(ParameterError, match="at most kbar = 10") as refused:
            dv.TopKLaplace(5, 10, 1).bind(KEYS, dv.Unit("user", max_bins=most))
        assert "TopK" in refused.value.next_step
    for given, message in (
        ({}, "epsilon must be a finite number"),
        ({"epsilon": 1, "delta": 0}, "delta must lie strictly"),
        ({"epsilon": 1, "k": 60}, "kbar must be at least k = 60"),
        ({"epsilon": 1, "domain_rule": "none"}, "domain_rule must be"),
    ):
        with pytest.raises(ParameterError, match=message):
            dv.TopKLaplace(**given)  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match="scale of the noise"):
        dv.TopKLaplace(epsilon="1e-13").bind(KEYS, unit_of(1))
    with pytest.raises(ParameterError, match="kbar is at most the number of bins"):
        dv.TopKLaplace(epsilon=1).bind(bins(9), unit_of(1))
    bound = dv.TopKLaplace(epsilon=1).bind(KEYS, unit_of(1))
    bound.check_source(TopRules())
    with pytest.raises(ParameterError):
        bound.check_source(TopRules(ties="unknown"))


def test_parameters_and_python_say_everything() -> None:
    for made in (dv.TopKLaplace(epsilon="1/3"), dv.TopKLaplace(2, 4, 1, "1e-9", domain_rule="paper")):
        assert dv.TopKLaplace.from_parameters(made.parameters()) == made
        assert eval(made.python, {"dv": dv}) == made
        assert made.with_epsilon(Fraction(2)).epsilon == 2
    with pytest.raises(ParameterError, match="TopKLaplace takes k, kbar"):
        dv.TopKLaplace.from_parameters({"epsilon": "1", "ties": "label"})


def test_an_answer_of_another_shape_is_not_taken_for_one_of_these() -> None:
    bound = dv.TopKLaplace(2, 3, 1).bind(bins(4), unit_of(1))
    assert bound.accepts(Ranked((), True, ())) and bound.accepts(Ranked((3, 1), False, (7, 7)))
    for bad in (Ranked((), True), Ranked((3, 1), False, (6, 7)), Ranked((3,), False, (6,)), Ranked((4,), True, (6,))):
        assert not bound.accepts(bad)


def test_counts_at_the_edge_of_what_an_array_holds_raise_nothing() -> None:
    top = int(np.iinfo(np.int64).max)
    bound: TopKLaplaceBound = dv.TopKLaplace(3, 10, 1).bind(KEYS, unit_of(2))
    private = TopCounts(list("abcdefghij"), np.full(10, top), top)
    assert bound.accepts(bound.draw(private, TeachingBits(1), mode="exact"))


@pytest.mark.parametrize("count", [2**62 - 1, 2**62, 2**63 - 1])
def test_the_threshold_keeps_its_distance_from_counts_at_that_edge(count: int) -> None:
    """An item that ties with the next count comes with a chance of 1e-12 at most: 200 draws, a false alarm below 1e-9.

    A threshold that is moved to where the counts are lets it come in about one draw of four.
    """
    bound: TopKLaplaceBound = dv.TopKLaplace(1, 1, 1, "1e-12").bind(KEYS, unit_of(1))
    private = TopCounts(["a"], np.array([count]), count)
    assert not any(bound.draw(private, TeachingBits(seed), mode="exact").items for seed in range(200))
