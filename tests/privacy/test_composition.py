"""Each rule of composition against its formula, against laws that attain it nearly, and against another library."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from dp_accounting import dp_event, rdp
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom

from dpviz.errors import ParameterError
from dpviz.privacy import ZCDP, ApproxDP, to_approx
from dpviz.privacy.composition import compose_dp, compose_range_bounded, compose_zcdp
from dpviz.privacy.optimal import optimal_dp
from tests.privacy.formulas import rounded_up, terms

HALF, EIGHTH = Fraction(1, 2), Fraction(1, 8)

steps = st.lists(st.fractions(min_value=Fraction(1, 1000), max_value=5, max_denominator=1000), min_size=1, max_size=8)
small = st.fractions(min_value=Fraction(1, 10**12), max_value=Fraction(9, 10), max_denominator=10**12)


@given(steps, small)
def test_every_rule_is_its_formula_rounded_up(epsilons: list[Fraction], delta: Fraction) -> None:
    total, tanh, range_bounded = terms(epsilons, delta)
    assert rounded_up(compose_range_bounded(epsilons, delta).epsilon, min(total, tanh, range_bounded))
    concentrated = terms(epsilons, delta, EIGHTH)[2]
    assert rounded_up(compose_zcdp(epsilons, delta).epsilon, min(total, tanh, concentrated))
    pairs = [(epsilon, Fraction(0)) for epsilon in epsilons]
    assert rounded_up(compose_dp(pairs, delta).epsilon, min(total, tanh))


def test_another_drift_or_another_root_is_not_taken_for_the_formula() -> None:
    epsilons, delta = [Fraction(1, 10)] * 100, Fraction(1, 10**6)
    ours = compose_range_bounded(epsilons, delta).epsilon
    total, tanh, right = terms(epsilons, delta)
    assert rounded_up(ours, right) and right < min(total, tanh)
    for wrong in (terms(epsilons, delta, EIGHTH)[2], right * (1 + Fraction(1, 10**12)), right - Fraction(1, 10**13)):
        assert not rounded_up(ours, wrong)


def test_each_of_the_three_terms_is_the_smallest_somewhere() -> None:
    delta = Fraction(1, 10**6)
    for epsilon, k, smallest in ((Fraction(1, 10), 3, 0), (Fraction(3), 10**5, 1), (Fraction(1, 10), 100, 2)):
        values = terms([epsilon] * k, delta)
        assert min(values) == values[smallest]
        assert rounded_up(compose_range_bounded({epsilon: k}, delta).epsilon, values[smallest])


@given(steps, st.integers(1, 4))
def test_counted_steps_are_listed_steps(epsilons: list[Fraction], times: int) -> None:
    delta = Fraction(1, 10**9)
    counted: dict[Fraction, int] = {}
    for epsilon in epsilons * times:
        counted[epsilon] = counted.get(epsilon, 0) + 1
    assert compose_range_bounded(counted, delta) == compose_range_bounded(epsilons * times, delta)
    assert compose_zcdp(counted, delta) == compose_zcdp(epsilons * times, delta)


def test_without_a_delta_only_the_sum_is_left() -> None:
    for rule in (compose_range_bounded, compose_zcdp):
        assert rule({Fraction(1, 3): 10**5}, Fraction(0)) == ApproxDP(Fraction(10**5, 3), Fraction(0))
    assert compose_dp([(HALF, Fraction(1, 100))] * 3, Fraction(0)) == ApproxDP(Fraction(3, 2), Fraction(3, 100))


def test_deltas_add_up_and_delta_prime_with_them() -> None:
    tenth = Fraction(1, 10)
    assert compose_dp({(tenth, Fraction(1, 1000)): 7, (HALF, Fraction(0)): 2}, Fraction(1, 100)).delta == Fraction(
        17, 1000
    )


@pytest.mark.parametrize("k", [1, 40, 10**5])
def test_many_steps_neither_overflow_nor_take_long(k: int) -> None:
    found = compose_zcdp({Fraction(1, 10): k}, Fraction(1, 10**6)).epsilon
    assert math.isclose(found, min(k / 10, k / 800 + 0.1 * math.sqrt(k * math.log(1e6) / 2)), rel_tol=1e-12)


# ---------------------------------------------------------------- real laws


def excess(epsilon: float, shift: float, k: int, at: float) -> float:
    """The hockey-stick divergence at e^at of k independent pairs of laws on two outcomes with log ratios shift and
    shift - epsilon: range-bounded by epsilon, and extremal among such.
    """
    q = (1 - math.exp(shift - epsilon)) / (math.exp(shift) - math.exp(shift - epsilon))
    j = np.arange(k + 1)
    losses = j * shift + (k - j) * (shift - epsilon)
    above = losses > at
    first, second = binom.pmf(j[above], k, q * math.exp(shift)), binom.pmf(j[above], k, q)
    return float(np.maximum(0, first - math.exp(at) * second).sum())


@pytest.mark.parametrize(("epsilon", "k"), [("0.1", 20), ("0.1", 200), ("0.5", 50), ("1", 10), ("0.02", 1000)])
def test_no_range_bounded_law_costs_more_than_the_rules_say(epsilon: str, k: int) -> None:
    """Worst over where the interval lies. A rule with half the root is exceeded: the test can tell."""
    step, delta = Fraction(epsilon), Fraction(1, 10**6)
    size = float(step)
    shifts = np.linspace(0, size, 101)[1:-1]
    paper, concentrated = (rule({step: k}, delta).epsilon for rule in (compose_range_bounded, compose_zcdp))
    assert concentrated <= paper
    assert max(excess(size, shift, k, float(concentrated)) for shift in shifts) <= float(delta)
    drift = Fraction(k, 8) * step**2
    if concentrated < k * step:
        halved = drift + (concentrated - drift) / 2
        assert max(excess(size, shift, k, float(halved)) for shift in shifts) > float(delta)


def test_private_steps_cost_more_than_range_bounded_ones() -> None:
    """Randomised response is private with epsilon and range-bounded only with twice that: its laws exceed the rule."""
    k, delta = 200, Fraction(1, 10**6)
    said = compose_zcdp({Fraction(1, 10): k}, delta).epsilon
    assert excess(0.2, 0.1, k, float(said)) > float(delta)
    assert excess(0.2, 0.1, k, float(compose_dp({(Fraction(1, 10), Fraction(0)): k}, delta).epsilon)) <= float(delta)


@pytest.mark.parametrize(("k", "epsilon"), [(10, "1"), (60, "0.3"), (500, "0.05")])
def test_theorem_3_is_never_below_the_optimal_rule(k: int, epsilon: str) -> None:
    """At every corner with a delta below 1/2. Two thirds of it would be below at some."""
    step = Fraction(epsilon)
    corners = [corner for corner in optimal_dp(k, step) if 0 < corner.delta < HALF]
    said = [compose_dp({(step, Fraction(0)): k}, corner.delta).epsilon for corner in corners]
    assert all(ours >= corner.epsilon for ours, corner in zip(said, corners, strict=True))
    assert any(2 * ours / 3 < corner.epsilon for ours, corner in zip(said, corners, strict=True))


@pytest.mark.parametrize("rho", ["0.001", "0.1", "2"])
def test_rho_becomes_an_epsilon_that_another_library_confirms(rho: str) -> None:
    """dp-accounting converts by the same orders with a smaller remainder: never above ours, nor far below."""
    delta = Fraction(1, 10**6)
    orders = [1 + 10 ** (power / 100) for power in range(-200, 400)]
    accountant = rdp.RdpAccountant(orders)
    accountant.compose(dp_event.ZCDpEvent(float(Fraction(rho))))
    theirs = accountant.get_epsilon(float(delta))
    ours = float(to_approx(ZCDP(Fraction(rho)), delta).epsilon)
    without_the_two = float(Fraction(rho)) + math.sqrt(float(Fraction(rho)) * math.log(1e6))
    assert without_the_two < theirs <= ours <= 1.35 * theirs


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: compose_range_bounded([Fraction(-1)], Fraction(0)),
        lambda: compose_range_bounded([0.5], Fraction(0)),  # type: ignore[list-item]
        lambda: compose_range_bounded({HALF: -1}, Fraction(0)),
        lambda: compose_zcdp({HALF: True}, Fraction(0)),
        lambda: compose_zcdp([HALF], Fraction(1)),
        lambda: compose_zcdp([HALF], 0.1),  # type: ignore[arg-type]
        lambda: compose_dp([(HALF, HALF)] * 2, Fraction(0)),
        lambda: compose_dp([(HALF, Fraction(-1))], Fraction(0)),
    ],
)
def test_what_no_rule_covers_is_refused(wrong: object) -> None:
    assert callable(wrong)
    with pytest.raises(ParameterError) as caught:
        wrong()
    assert caught.value.rule
