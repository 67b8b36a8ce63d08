"""Threshold, by enumeration of whole answers: price over all neighbours, the least threshold, error, draws."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest

import dpviz as dv
from dpviz.errors import ParameterError
from dpviz.exact import exp_bounds
from dpviz.laws.truncated import TruncatedGeometric
from dpviz.mechanisms.threshold import ThresholdBound
from dpviz.model.laws.threshold import Cut, least_passing
from dpviz.model.question import Question
from dpviz.model.statistic import SparseCounts
from dpviz.noise.bits import TeachingBits
from dpviz.privacy import Unit
from tests.mechanisms import contract
from tests.mechanisms.contract import Case, Law
from tests.mechanisms.test_dense import exponential, geometric_oracle, truncated_oracle
from tests.mechanisms.test_stability import shown_above

ROW, SWAP = Unit("row"), Unit("row", relation="replace-one", n=5)
USER, HEAVY = Unit("user", max_bins=2, max_per_bin=1), Unit("user", max_bins=1, max_per_bin=2)
MORE = 6
"""So far beyond the threshold values are told apart; all that are larger are one."""


def bound_of(unit: Unit, bins: int, **parameters: str) -> ThresholdBound:
    return dv.Threshold(**parameters).bind(Question.of(dv.Domain.integers(0, bins - 1, column="x")), unit)


def made(name: str, unit: Unit, bins: int, most: int, **parameters: str) -> Case:
    bound = bound_of(unit, bins, **parameters)
    noisy = oracle_of(bound, bound.cut.least + MORE)
    return Case(name, bound, most, shown_above(bound.cut.least - 1, noisy, empty=bound.cut.certain))


def oracle_of(bound: ThresholdBound, top: int) -> Callable[[int], Law]:
    """The law of a noisy count, clamped to 0..top, from the definition of the noise."""
    step = bound.mechanism.epsilon / bound.unit.l1(bound.question.bins)
    if bound.truncated:
        return truncated_oracle(exponential(step), bound.cut.least - 1, 0, top)
    return geometric_oracle(exponential(step), 0, top)


PURE = [
    made("add-remove", ROW, 2, 4, epsilon="2"),
    made("replace-one", SWAP, 2, 4, epsilon="3"),
    made("a user in two of three bins", USER, 3, 3, epsilon="3"),
    made("a user twice in one bin", HEAVY, 2, 4, epsilon="3"),
]
WITH_DELTA = [
    made("add-remove", ROW, 2, 4, epsilon="1", delta="1/8"),
    made("replace-one", SWAP, 2, 4, epsilon="2", delta="1/12"),
    made("a user in two bins", USER, 2, 4, epsilon="2", delta="1/4"),
    made("a user twice in one bin", HEAVY, 2, 4, epsilon="2", delta="1/5"),
]


def names(case: Case) -> str:
    return case.name


def cut_of(case: Case) -> Cut:
    assert isinstance(case.bound, ThresholdBound)
    return case.bound.cut


@pytest.mark.parametrize("case", PURE, ids=names)
def test_the_worst_ratio_of_noise_on_every_bin_is_the_price(case: Case) -> None:
    contract.check_price(case, exact_odds=exp_bounds(case.bound.price.epsilon, 256))
    with pytest.raises(AssertionError, match="not the worst ratio"):
        contract.check_price(case, exact_odds=exp_bounds(case.bound.price.epsilon * Fraction(999, 1000), 256))


@pytest.mark.parametrize("case", PURE, ids=names)
def test_a_threshold_on_occupied_bins_alone_has_no_pure_price(case: Case) -> None:
    noisy = geometric_oracle(exponential(cut_of(case).exponent), 0, cut_of(case).least + MORE)
    silent = Case("silent", case.bound, case.most, shown_above(cut_of(case).least - 1, noisy))
    with pytest.raises(AssertionError):
        contract.worst_ratio(silent)


@pytest.mark.parametrize("case", WITH_DELTA, ids=names)
def test_the_worst_divergence_is_within_the_charge_and_one_lower_threshold_is_not(case: Case) -> None:
    cut, loss = cut_of(case), case.bound.price.loss
    odds = exp_bounds(loss.epsilon, 256)  # type: ignore[union-attr]
    assert contract.worst_delta(case, odds)[1] <= loss.delta
    assert isinstance(case.bound, ThresholdBound)
    lower = Case("lower", case.bound, case.most, shown_above(cut.least - 2, oracle_of(case.bound, cut.least + MORE)))
    met = not case.bound.truncated or case.bound.unit.relation == "add-remove"
    assert contract.worst_delta(lower, odds)[0] > loss.delta or not met  # few rows do not meet it


def test_a_row_meets_its_delta() -> None:
    for case in WITH_DELTA[:1]:
        assert isinstance(case.bound, ThresholdBound) and case.bound.truncated
        tau = TruncatedGeometric(cut_of(case).decay, cut_of(case).least - 1).above(cut_of(case).least - 2, 256)
        odds = exp_bounds(case.bound.price.loss.epsilon, 256)  # type: ignore[union-attr]
        contract.check_delta(case, exact_odds=odds, exact_delta=tau)


def test_thresholds_are_the_least_that_fit() -> None:
    for case in WITH_DELTA:
        cut, bound, loss = cut_of(case), case.bound, case.bound.price.loss
        assert isinstance(bound, ThresholdBound) and bound.truncated
        full, rest = divmod(bound.unit.l1(bound.question.bins), bound.unit.max_per_bin)
        assert rest == 0
        for least, holds in ((cut.least, True), (cut.least - 1, False)):
            law = TruncatedGeometric(cut.decay, least - 1)
            tau = law.above(least - 1 - bound.unit.max_per_bin, 256)
            assert (1 - (1 - tau[1]) ** full <= loss.delta) == holds or least - 1 < bound.unit.max_per_bin
    for case in PURE:
        cut, bins = cut_of(case), case.bound.question.bins
        assert cut.passes(0)[1] <= Fraction(1, 2 * bins**2)
        assert cut.least == 1 or Cut(cut.exponent, cut.least - 1, True, False).passes(0)[0] > Fraction(1, 2 * bins**2)


@pytest.mark.parametrize("beta", [Fraction(1, 10), Fraction(1, 20)])
def test_the_error_of_one_bin_is_the_least_that_holds_whatever_it_holds(beta: Fraction) -> None:
    for parameters in ({"epsilon": "2"}, {"epsilon": "2", "delta": "1/100"}):
        bound = bound_of(ROW, 3, **parameters)
        stated = int(bound.error.one_bin(beta).value)  # type: ignore[union-attr]
        noisy = oracle_of(bound, stated + bound.cut.least + 40)
        law = shown_above(bound.cut.least - 1, noisy, empty=bound.cut.certain)
        contract.check_one_bin(Case("error", bound, stated + 2, law), beta)


@pytest.mark.parametrize("case", [PURE[0], PURE[2], WITH_DELTA[0], WITH_DELTA[3]], ids=names)
def test_draws_have_the_stated_law(case: Case) -> None:
    """False alarm 1e-9 at most, seeds fixed. The twin, a threshold one higher, is rejected with power above 0.999."""
    counts = (3, 0, 1)[: case.bound.question.bins]
    assert contract.check_draws(case, counts, 4000, "exact", seed=5) > contract.FALSE_ALARM
    cut = cut_of(case)
    assert isinstance(case.bound, ThresholdBound)
    noisy = oracle_of(case.bound, cut.least + MORE)
    twin = Case("twin", case.bound, case.most, shown_above(cut.least, noisy, empty=cut.certain))
    assert contract.check_draws(twin, (cut.least,) * case.bound.question.bins, 4000, "exact", 5) < contract.FALSE_ALARM


def test_empty_bins_of_a_huge_domain_are_drawn_without_being_touched() -> None:
    bound = bound_of(ROW, 2**32, epsilon="1/2")
    labels = np.arange(0, 2**32, 2**28, dtype=np.uint64)
    answer = bound.draw(SparseCounts(labels, np.full(16, 10**6)), TeachingBits(1), mode="exact")
    assert set(answer.labels) >= set(labels.tolist()) and len(answer.labels) <= 17
    assert (answer.values >= bound.cut.least).all() and list(answer.labels) == sorted(answer.labels)


def test_keys_that_nobody_declared_need_a_delta() -> None:
    keys = Question.of(dv.Domain.keys(column="word"))
    with pytest.raises(ParameterError, match="delta"):
        dv.Threshold(1).bind(keys, ROW)
    bound = dv.Threshold(1, delta="1e-6").bind(keys, ROW)
    labels = np.array(["a", "b"], dtype=object)
    assert bound.draw(SparseCounts(labels, np.array([900, 1])), TeachingBits(1), mode="exact").labels == ("a",)


def test_values_below_zero_are_shown_in_either_direction() -> None:
    sums = Question.sum("x", by=dv.Domain.integers(0, 9, column="k"), low=-2, high=3, step="0.5")
    for parameters in ({"epsilon": 1}, {"epsilon": 1, "delta": "1e-6"}):
        bound = dv.Threshold(**parameters).bind(sums, ROW)
        assert bound.cut.signed and bound.cut.exponent == Fraction(1, 6)
        statistic = SparseCounts(np.array([1, 5], dtype=np.uint64), np.array([-5000, 5000]))
        answer = bound.draw(statistic, TeachingBits(2), mode="exact")
        assert answer.labels == (1, 5) and answer.values[0] < -4000 and answer.values[1] > 4000


SWAPPED = [
    (Unit("row", relation="replace-one", n=2), 1),
    (Unit("user", relation="replace-one", max_bins=3, max_per_bin=2), 3),
]


def shown_law(value: int, cut: Cut, last: int) -> np.ndarray:
    """The chances to show -last..last, and at the end to show nothing, of a bin with this value."""
    values = np.arange(-last, last + 1)
    if value == 0:
        return np.append(np.zeros(values.size), 1.0)
    rate = float(cut.exponent)
    chances = np.tanh(rate / 2) * np.exp(-rate * np.abs(values - value))
    chances[(np.sign(values) != np.sign(value)) | (np.abs(values) < cut.least)] = 0
    return np.append(chances, 1 - chances.sum())


@pytest.mark.parametrize("epsilon", [1, 3, 10, 20])
@pytest.mark.parametrize(("unit", "bins"), SWAPPED, ids=["row", "user"])
def test_a_bin_that_an_exchanged_unit_leaves_and_joins_vanishes_within_delta(
    unit: Unit, bins: int, epsilon: int
) -> None:
    """Over unknown keys a total of +20 from two rows of +10 may be 0, and gone, when one of them becomes -10.

    Over all pairs of totals that one unit makes of each other in one bin, the divergence is within the share of delta
    of the two places that the bin takes; a threshold that looks at one contribution alone shows too much from where
    epsilon per place passes ln 2.
    """
    delta = Fraction(1, 1000)
    question = Question.sum("v", by=dv.Domain.keys(column="k"), low=-10, high=10, step=1)
    bound = dv.Threshold(epsilon, delta=delta).bind(question, unit)
    cut, far = bound.cut, 10 * unit.max_per_bin
    assert bins * cut.passes(2 * far)[1] <= delta and 2 * bins * cut.passes(far)[1] <= delta
    single = Cut(cut.exponent, least_passing(cut.exponent, delta / (2 * bins), far), False, True)
    assert cut.least == max(single.least, least_passing(cut.exponent, delta / bins, 2 * far))
    spent, last = 2 * far * float(cut.exponent), cut.least + 2 * far + int(40 / float(cut.exponent)) + 1

    def worst(tried: Cut) -> float:
        laws = {value: shown_law(value, tried, last) for value in range(-2 * far, 2 * far + 1)}
        return max(
            float(np.maximum(laws[value] - np.exp(spent) * laws[other], 0).sum())
            for value in laws
            for other in laws
            if abs(value - other) <= 2 * far
        )

    assert worst(cut) <= float(delta / bins) * (1 + 1e-9)
    if epsilon > 2 * bins * math.log(2):
        assert worst(single) > float(delta / bins) * 1.01
