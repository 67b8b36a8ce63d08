"""The exact price of answers about parts: all pairs of neighbours of small cases, and prices that are nearly right.

What one unit may have in each part is enumerated, and so is every pair of neighbours. The laws of the answers are
literal; the products of all parts are taken literally, too.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import dpviz as dv
from dpviz.errors import ParameterError
from dpviz.mechanisms import groups
from dpviz.mechanisms.exact_parts import UNUSED, Pairs, pairs_of_parts
from dpviz.mechanisms.groups import Groups, GroupsBound
from dpviz.model.mechanism import Bound
from dpviz.model.question import Question
from dpviz.privacy.discrete_gaussian import Shifts
from dpviz.privacy.loss import ApproxDP
from dpviz.privacy.loss_distribution import (
    WORTH,
    GaussianMoves,
    GeometricMoves,
    RandomisedResponse,
    compose_fixed,
)
from dpviz.privacy.unit import Unit
from tests.prices.contributions import Limits, contributions
from tests.prices.searchers import Floats, delta_of_many, rate_of, shown, told_apart

DELTA = Fraction(1, 10)
Move = tuple[int, int]
"""What one unit has in a bin of a part, before and after."""


@dataclass(frozen=True)
class Case:
    """Parts, in how many of them one unit counts, the bins of each, and what one unit may have in a part."""

    parts: int
    few: int
    bins: int
    limits: Limits

    @property
    def question(self) -> dv.Question:
        parts = dv.Domain.integers(1, self.parts, column="part")
        by = dv.Partition(parts, None if self.limits.row else self.few)
        return dv.Question(dv.Domain.integers(1, self.bins, column="bin"), by=by)

    def bind(self, mechanism: Any, delta: Fraction = DELTA, way: Any = "exact") -> GroupsBound:
        bound = Groups(mechanism, way, delta if way == "exact" else None).bind(self.question, self.limits.unit())
        assert isinstance(bound, GroupsBound)
        return bound

    def units(self) -> list[tuple[int, ...]]:
        """All that one unit may have: in a few of the parts something, in all others nothing."""
        inside = [tuple(row) for row in contributions(self.limits, self.bins).tolist()]
        every = itertools.product(inside, repeat=self.parts)
        return [sum(rows, ()) for rows in every if sum(any(row) for row in rows) <= self.few]

    def pairs(self) -> set[tuple[Move, ...]]:
        """The bins of all parts that change, for every pair of neighbours: each set of changes once."""
        units = self.units()
        nobody = units[0]
        assert not any(nobody)
        swapped = self.limits.swapped
        found = itertools.product(units, units) if swapped else [(one, nobody) for one in units]
        found = [*found, *([] if swapped else [(nobody, one) for one in units])]
        return {tuple(sorted((a, b) for a, b in zip(x, y, strict=True) if a != b)) for x, y in found}


CASES = {
    "all parts": Case(2, 2, 2, Limits(False, False, 1)),
    "two of three parts": Case(3, 2, 3, Limits(False, False, 2)),
    "several rows in a bin": Case(3, 2, 2, Limits(False, False, 1, 2)),
    "few records": Case(2, 2, 3, Limits(False, False, 3, 1, 2)),
    "few records, several in a bin": Case(2, 2, 2, Limits(False, False, 2, 2, 3)),
    "replaced, all parts": Case(2, 2, 2, Limits(False, True, 1)),
    "replaced, one of two parts": Case(2, 1, 2, Limits(False, True, 1)),
    "replaced, two of three parts": Case(3, 2, 3, Limits(False, True, 1)),
    "replaced, other parts cost more": Case(3, 2, 2, Limits(False, True, 2)),
    "replaced, several rows in a bin": Case(3, 2, 2, Limits(False, True, 1, 2)),
    "replaced, few records": Case(3, 2, 3, Limits(False, True, 3, 1, 2)),
    "replaced, few records, several in a bin": Case(3, 1, 2, Limits(False, True, 2, 2, 3)),
    "rows that are replaced": Case(3, 1, 2, Limits(True, True, n=9)),
}
ATTAINED = [name for name in CASES if "few records, several" not in name]


def noisy(rate: float, move: int) -> tuple[Floats, Floats]:
    """A count with two-sided geometric noise, and the same count moved: outcomes 0..move, with the tails."""
    decay = math.exp(-rate)
    inner = [(1 - decay) / (1 + decay) * decay**z for z in range(1, move)]
    end = 1 / (1 + decay)
    one = np.array([end, *inner, decay**move * end])
    return one, one[::-1].copy()


def worst(case: Case, bound: GroupsBound, epsilon: Fraction) -> float:
    """The largest delta of all pairs, of two-sided geometric noise at the rate that is drawn."""
    rate = rate_of(bound.law.each.noise)  # type: ignore[attr-defined]
    odds = math.exp(epsilon)
    moved = {tuple(sorted(abs(a - b) for a, b in pair)) for pair in case.pairs()}
    return max(delta_of_many([told_apart(*noisy(rate, move)) for move in one], odds) for one in moved)


def charged(bound: GroupsBound) -> ApproxDP:
    loss = bound.price.loss
    assert isinstance(loss, ApproxDP)
    return loss


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("epsilon", ["1/2", "2"])
def test_no_pair_of_neighbours_is_told_apart_by_more_than_the_price(name: str, epsilon: str) -> None:
    case = CASES[name]
    bound = case.bind(dv.Dense(epsilon))
    assert charged(bound) == ApproxDP(Fraction(epsilon), DELTA) and bound.without_delta * WORTH >= Fraction(epsilon)
    found = worst(case, bound, Fraction(epsilon))
    assert found <= DELTA * (1 + Fraction(1, 10**9))
    if name in ATTAINED:
        assert found > DELTA * Fraction(99, 100), "some pair needs nearly all of it"


# ---------------------------------------------------------------- prices that are nearly right

real = pairs_of_parts


def one_part_fewer(each: Bound, parts: int, few: int, unit: Unit) -> Pairs:
    """One of the parts that a unit counts in is forgotten."""
    return {each.dominating_pair: few - 1}


def one_side(each: Bound, parts: int, few: int, unit: Unit) -> Pairs:
    """A replaced unit moves what it leaves, and not what it enters."""
    return {each.dominating_pair: few}


def parts_that_it_stays_in(each: Bound, parts: int, few: int, unit: Unit) -> Pairs:
    """A replaced unit counts in the same parts after."""
    both = each.pair_for(unit)
    assert both is not None
    return {both: few}


def one_count_of_each(each: Bound, parts: int, few: int, unit: Unit) -> Pairs:
    """Of each part one count alone."""
    ((pair, times),) = real(each, parts, few, unit).items()
    assert isinstance(pair, GeometricMoves)
    counts = each.dominating_pair.counts  # type: ignore[attr-defined]
    return {replace(pair, counts=pair.counts // counts): times}


def bins_moved_by_one(each: Bound, parts: int, few: int, unit: Unit) -> Pairs:
    """As if a unit moved each count by 1, where it moves it by more."""
    ((pair, times),) = real(each, parts, few, unit).items()
    assert isinstance(pair, GeometricMoves)
    return {replace(pair, each=1): times}


TWINS = [
    (one_part_fewer, "all parts"),
    (one_part_fewer, "two of three parts"),
    (one_part_fewer, "several rows in a bin"),
    (one_part_fewer, "few records, several in a bin"),
    (one_side, "replaced, one of two parts"),
    (one_side, "replaced, two of three parts"),
    (one_side, "replaced, few records, several in a bin"),
    (one_side, "rows that are replaced"),
    (parts_that_it_stays_in, "replaced, other parts cost more"),
    (one_count_of_each, "two of three parts"),
    (bins_moved_by_one, "several rows in a bin"),
]


@pytest.mark.parametrize(("twin", "name"), TWINS, ids=lambda one: getattr(one, "__name__", one))
def test_a_price_that_forgets_something_is_too_low(monkeypatch: pytest.MonkeyPatch, twin: Any, name: str) -> None:
    case, epsilon = CASES[name], Fraction(1)
    monkeypatch.setattr(groups, "pairs_of_parts", twin)
    assert worst(case, case.bind(dv.Dense(epsilon)), epsilon) > DELTA * Fraction(101, 100)


# ---------------------------------------------------------------- mechanisms with a delta, and Gaussian noise


def worst_shown(case: Case, bound: GroupsBound, epsilon: Fraction) -> float:
    """The largest delta of all pairs, where a bin is shown from a count on: among few, some and many others."""
    each: Any = bound.each
    rate, least, odds = rate_of(each.noise.law), each.threshold + 1, math.exp(epsilon)
    truncated, found = each.reach is not None, 0.0

    def law(base: int, move: Move) -> tuple[Floats, Floats]:
        ends = base + move[0], base + move[1]
        top = max(least, *ends) + 1 + (least if truncated else 0)
        one, other = (shown(end, rate, least, top, signed=False, truncated=truncated) for end in ends)
        return told_apart(one, other)

    for pair in case.pairs():
        for bases in itertools.product((0, 1, 2 * least), repeat=len(pair)):
            found = max(found, delta_of_many([law(*one) for one in zip(bases, pair, strict=True)], odds))
    return found


KEYS = {
    "all parts": Case(2, 2, 2, Limits(False, False, 1)),
    "two of three parts": Case(3, 2, 2, Limits(False, False, 1)),
    "replaced, one of two parts": Case(2, 1, 2, Limits(False, True, 1)),
    "replaced, all parts": Case(2, 2, 2, Limits(False, True, 1)),
}


@pytest.mark.parametrize("name", KEYS)
def test_thresholds_keep_their_delta_within_that_of_all_parts(name: str) -> None:
    case, epsilon, own = KEYS[name], Fraction(2), Fraction(1, 100)
    bound = case.bind(dv.Stability(epsilon, own))
    assert charged(bound) == ApproxDP(epsilon, DELTA) and bound.by_sum.delta <= own
    assert worst_shown(case, bound, epsilon) <= DELTA * (1 + Fraction(1, 10**9))


@pytest.mark.parametrize("name", ["all parts", "two of three parts"])
def test_one_threshold_of_several_is_too_few(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setattr(groups, "pairs_of_parts", one_part_fewer)
    case, epsilon = KEYS[name], Fraction(2)
    bound = case.bind(dv.Stability(epsilon, Fraction(1, 100)))
    assert worst_shown(case, bound, epsilon) > DELTA


def discrete(variance: float, move: int) -> tuple[Floats, Floats]:
    """A count with discrete Gaussian noise, and the same count moved."""
    far = math.ceil(10 * math.sqrt(variance)) + move
    z = np.arange(-far, far + move + 1, dtype=np.float64)
    one, other = (np.exp(-(at**2) / (2 * variance)) for at in (z, z - move))
    return one / one.sum(), other / one.sum()


GAUSSIAN = {
    "two of three parts": Case(3, 2, 2, Limits(False, False, 1)),
    "all parts": Case(2, 2, 2, Limits(False, False, 2)),
    "replaced, one of two parts": Case(2, 1, 2, Limits(False, True, 1)),
}


@pytest.mark.parametrize("name", GAUSSIAN)
def test_gaussian_noise_in_parts_is_priced_exactly_already(name: str) -> None:
    case, epsilon, delta = GAUSSIAN[name], Fraction(1), Fraction(1, 1000)
    inner = dv.Dense(epsilon, base="gaussian", delta=delta)
    with pytest.raises(ParameterError, match="is priced exactly without a delta of its own"):
        case.bind(inner)
    bound = case.bind(inner, way="sequence" if case.few == case.parts else "parallel")
    variance = bound.law.each.noise.variance  # type: ignore[attr-defined]

    def true(noise: Fraction) -> float:
        moved = {tuple(sorted(abs(a - b) for a, b in pair)) for pair in case.pairs()}
        return max(
            delta_of_many([told_apart(*discrete(float(noise), move)) for move in one], math.exp(epsilon))
            for one in moved
        )

    assert delta * Fraction(9, 10) < true(variance) <= delta
    assert true(variance * (case.few * 2 - 1) / (case.few * 2)) > delta, "nearly right: half a part is forgotten"
    counts = max(len(pair) for pair in case.pairs())
    listed = compose_fixed({GaussianMoves(variance, Shifts.box(counts // case.few, 1)): case.few}, delta).epsilon
    assert epsilon - Fraction(1, 1000) < listed <= epsilon + Fraction(1, 10**5), "the same as a list of the parts"


# ---------------------------------------------------------------- not where prices depend on answers


def test_an_opening_has_no_exact_price_from_the_questions_that_it_expects() -> None:
    """`dv.Parts` fixes a balance of each part and no question. Priced as histograms over four bins, two parts would
    cost less than an analyst makes of one bin of each; the price is the sum."""
    limits = Limits(False, False, 4)
    case, each = Case(3, 2, 4, limits), Fraction(1)
    parts = dv.Domain.integers(1, 3, column="part")
    opening = dv.Parts(dv.Partition(parts, 2), each)
    assert opening.price(limits.unit()).epsilon == 2 * each
    histogram = dv.Dense(each).bind(case.question.in_parts()[0], limits.unit())
    twin = compose_fixed({histogram.dominating_pair: 2}, DELTA).epsilon
    asked = opening.use(dv.Dense(each), part="1").bind(
        dv.Question(dv.Domain.integers(1, 1, column="bin")), limits.unit()
    )
    rate = rate_of(asked.law.noise)  # type: ignore[attr-defined]
    assert delta_of_many([noisy(rate, 1)] * 2, math.exp(twin)) > 2 * DELTA
    assert delta_of_many([noisy(rate, 1)] * 2, math.exp(2 * each)) == 0


def test_an_exact_price_of_what_was_asked_so_far_is_no_price_of_an_adaptive_analyst() -> None:
    """After the answer about one part, the analyst asks once or eight times about another. Either list costs (epsilon,
    delta) exactly, and the choice between them costs more."""
    epsilon, first = Fraction(6, 5), Fraction(1)
    once = (Fraction(3, 2),)
    delta = delta_of_many([noisy(float(one), 1) for one in (first, *once)], math.exp(epsilon))
    fits = [
        step
        for step in (Fraction(number, 1000) for number in range(1, 600))
        if delta_of_many([noisy(float(one), 1) for one in (first, *[step] * 8)], math.exp(epsilon)) <= delta
    ]
    often = (max(fits),) * 8

    def by_answer(up: tuple[Fraction, ...], down: tuple[Fraction, ...]) -> float:
        """The law of all answers, where the list of the second part follows from the answer about the first."""
        one, other = noisy(float(first), 1)
        found = 0.0
        for at, chosen in enumerate((up, down)):
            laws = [noisy(float(step), 1) for step in chosen]
            scaled = (np.array([one[at]]), np.array([other[at]]))
            found += delta_of_many([scaled, *laws], math.exp(epsilon))
        return found

    assert by_answer(once, once) == pytest.approx(delta) and by_answer(often, often) <= delta * 1.000001
    assert max(by_answer(once, often), by_answer(often, once)) > delta * 1.01


# ---------------------------------------------------------------- the search and its edges


@pytest.mark.parametrize("epsilon", ["1/100", "1", "7.3"])
@pytest.mark.parametrize("delta", ["1e-12", "1e-6", "1/10"])
@pytest.mark.parametrize("many", [2, 12, 40])
def test_the_price_is_used_up_or_the_sum_is_hardly_more(epsilon: str, delta: str, many: int) -> None:
    case, whole = Case(many, many, 10, Limits(False, False, None)), Fraction(epsilon)
    with_delta = Fraction(delta)
    try:
        bound = case.bind(dv.Dense(whole), with_delta)
    except ParameterError as refused:
        assert "at least 1 % less" in str(refused)
        pair = GeometricMoves(whole / WORTH / many / 10, 1, 10)
        assert compose_fixed({pair: many}, with_delta).epsilon > whole
        return
    cost = compose_fixed({bound.each.dominating_pair: many}, with_delta).epsilon
    assert whole * (1 - 2 * UNUSED) - Fraction(2, 10**6) <= cost <= whole == charged(bound).epsilon
    saved, said = 1 - whole / bound.without_delta, Fraction(bound.saved.partition(" %")[0]) / 100
    assert said <= saved < said + Fraction(1, 1000), "and the plan says how much less it is"


def test_what_has_no_noise_of_its_own_composes_by_its_price() -> None:
    """Forty lists of pairs that nothing is known of: randomised responses."""
    case = Case(40, 40, 4, Limits(False, False, 1))
    for mechanism in (dv.Tree("2"), dv.Stability("2", "1e-8"), dv.TopK(1, 4, epsilon="2", delta="1e-8")):
        bound = case.bind(mechanism, Fraction(1, 10**5))
        loss: Any = bound.each.price.loss
        pair = RandomisedResponse(bound.each.price.epsilon, loss.delta)  # type: ignore[arg-type]
        assert compose_fixed({pair: 40}, Fraction(1, 10**5)).epsilon <= 2
        assert bound.by_sum.epsilon > Fraction(21, 10) and charged(bound).delta == Fraction(1, 10**5)


def test_a_finite_sampler_is_charged_what_its_ratio_costs() -> None:
    case = Case(40, 40, 4, Limits(False, False, 1))
    bound = case.bind(dv.Dense("2", base="tight", cap=50), Fraction(1, 10**5))
    cost = compose_fixed({bound.each.dominating_pair: 40}, Fraction(1, 10**5)).epsilon
    assert cost <= charged(bound).epsilon <= 2 and charged(bound).epsilon <= WORTH * bound.by_sum.epsilon


def test_a_way_says_its_delta_in_its_parameters_and_is_read_again() -> None:
    made = Groups(dv.Dense("1"), "exact", Fraction(1, 10**6))
    assert made.parameters()["delta_of_all"] == "0.000001" and Groups.from_parameters(made.parameters()) == made
    assert repr(made) == 'Dense(epsilon="1"), exact composition at δ 0.000001'
    for damaged in ("0", "1", "-1", "little", ""):
        with pytest.raises(ParameterError):
            Groups.from_parameters({**made.parameters(), "delta_of_all": damaged})
    assert made.with_epsilon(Fraction(2)) == Groups(dv.Dense("2"), "exact", Fraction(1, 10**6))
    for way, delta in (("exact", None), ("parallel", Fraction(1, 10**6))):
        with pytest.raises(ParameterError, match="exact composition, and no other way"):
            Groups(dv.Dense("1"), way, delta).bind(CASES["all parts"].question, Unit("user"))  # type: ignore[arg-type]


def changes() -> Iterator[tuple[int, int, int, int]]:
    for parts, few in ((2, 1), (3, 1), (3, 2), (4, 2), (4, 3)):
        for alone, both in ((1, 1), (1, 2), (2, 2), (2, 3), (2, 4), (3, 4)):
            yield parts, few, alone, both


def test_a_replaced_unit_moves_the_most_counts_over_all_ways_to_leave_and_stay() -> None:
    for parts, few, alone, both in changes():
        kept = [set(one) for size in range(few + 1) for one in itertools.combinations(range(parts), size)]
        most = max(both * len(x & y) + alone * len(x ^ y) for x, y in itertools.product(kept, repeat=2))
        unit = Unit("user", "replace-one", max_bins=alone)
        question = Case(parts, few, both, Limits(False, True, alone)).question
        each = dv.Dense("1").bind(question.in_parts()[0], unit.in_part())
        ((pair, times),) = pairs_of_parts(each, parts, few, unit).items()
        assert isinstance(pair, GeometricMoves) and pair.counts * times == most


@pytest.mark.parametrize(("parts", "few", "bins"), [(4, 3, 1), (3, 2, 1), (3, 2, 4)])
def test_no_delta_is_charged_for_noise_that_costs_as_little_without(parts: int, few: int, bins: int) -> None:
    """Of a replaced unit no more parts than all change, so the sum of two for each is more than the noise can lose."""
    by = dv.Partition(dv.Domain.integers(1, parts, column="p"), few)
    question = Question.of(dv.Domain.integers(1, bins, column="b"))
    unit = dv.Unit("user", "replace-one", max_bins=bins)
    with pytest.raises(ParameterError, match="at least 1 % less"):
        Groups(dv.Dense("1"), "exact", Fraction(1, 10**30)).bind(replace(question, by=by), unit)


def test_parts_that_would_take_long_to_price_are_refused_at_once() -> None:
    by = dv.Partition(dv.Domain.integers(1, 1000, column="p"), 1000)
    question = replace(Question.of(dv.Domain.integers(1, 1000, column="b")), by=by)
    with pytest.raises(ParameterError, match="all counts by at most 16,384 together, got 1,000,000"):
        Groups(dv.Dense("1"), "exact", Fraction(1, 10**6)).bind(question, dv.Unit("user", max_bins=1000))
