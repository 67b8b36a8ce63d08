"""Laplace noise against a threshold, and a fixed threshold: their prices against enumerated laws."""

from __future__ import annotations

import itertools
from fractions import Fraction
from math import exp

import gmpy2
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import lambertw

from dpviz.errors import ParameterError
from dpviz.exact import exp_bounds
from dpviz.privacy.threshold import calibrate_fixed, fixed_total, laplace_offset, laplace_total
from tests.privacy.formulas import BITS, big, exactly

CUT = 400
"""Noise beyond this has less than 10^-50 of the mass for the decays tried here."""


def tail(epsilon: Fraction, t: int) -> Fraction:
    """Pr[Z - Z' >= t] for two independent noises with Pr[Z = z] proportional to e^(-epsilon |z|), summed up."""
    with gmpy2.context(precision=BITS):
        p = gmpy2.exp(-big(epsilon))
        chance = [(1 - p) / (1 + p) * p ** abs(z) for z in range(-CUT, CUT + 1)]
        beyond = [gmpy2.mpfr(0)] * (2 * CUT + 2)
        for i in range(2 * CUT, -1, -1):
            beyond[i] = beyond[i + 1] + chance[i]
        return exactly(sum(chance[i] * beyond[min(i + t, 2 * CUT + 1)] for i in range(2 * CUT + 1)))


@pytest.mark.parametrize("epsilon", ["0.3", "1", "2"])
@pytest.mark.parametrize("offset", [0, 1, 7, 25])
@pytest.mark.parametrize("touched", [1, 4])
def test_the_delta_is_the_chance_that_departing_items_come_through(epsilon: str, offset: int, touched: int) -> None:
    e = Fraction(epsilon)
    odds = exp_bounds(touched * e)[1]
    real = (odds + 1) * touched * tail(e, offset + 1)
    if real >= 1:
        with pytest.raises(ParameterError, match="delta would reach 1"):
            laplace_total(touched, e, offset)
        return
    ours = laplace_total(touched, e, offset)
    assert ours.epsilon == touched * e
    assert real * (1 - Fraction(1, 10**30)) <= ours.delta <= real * (1 + Fraction(1, 10**30)) + Fraction(1, 10**30)
    assert (odds + 1) * touched * tail(e, offset) > 1.1 * ours.delta


@settings(max_examples=40)
@given(
    st.sampled_from([1, 2, 20]),
    st.fractions(min_value=Fraction(1, 100), max_value=3, max_denominator=100),
    st.sampled_from(["1e-2", "1e-6", "1e-15"]),
    st.sampled_from([1, 3]),
)
def test_the_offset_is_the_smallest_that_fits(touched: int, epsilon: Fraction, delta: str, per_bin: int) -> None:
    offset = laplace_offset(touched, epsilon, Fraction(delta), per_bin=per_bin)
    step = Fraction(1, 10**30)
    assert laplace_total(touched, epsilon, offset, per_bin=per_bin).delta <= Fraction(delta) + step
    if offset:
        try:
            nearer = laplace_total(touched, epsilon, offset - 1, per_bin=per_bin).delta
        except ParameterError:
            return
        assert nearer > Fraction(delta)


def test_a_larger_count_per_unit_takes_wider_noise_and_a_larger_offset() -> None:
    one, three = (laplace_offset(1, Fraction(1), Fraction(1, 10**6), per_bin=most) for most in (1, 3))
    assert laplace_offset(1, Fraction(1, 3), Fraction(1, 10**6)) <= three > 2 * one


@pytest.mark.parametrize(("touched", "delta"), [(1, 1e-6), (5, 1e-9), (20, 1e-4)])
def test_for_small_epsilons_the_offset_is_that_of_continuous_noise(touched: int, delta: float) -> None:
    """There P(Z - Z' > g / epsilon) = e^-g (2 + g) / 4: Lambert's function inverts it (its constant is 2, not 3)."""
    epsilon = Fraction(1, 1000 * touched)
    each = delta / (exp(float(touched * epsilon)) + 1) / touched
    two, three = (-constant - lambertw(-4 * each * exp(-constant), -1).real for constant in (2, 3))
    offset = laplace_offset(touched, epsilon, Fraction(str(delta)))
    assert abs(offset * epsilon - two) < 2 * epsilon
    assert abs(offset * epsilon - three) > 20 * epsilon


# ---------------------------------------------------------------- a fixed threshold


def shown(count: int, delta: Fraction, base: int) -> Fraction:
    """The chance of an item that stands `count` above the next: Algorithm 8, corrected, with odds `base`."""
    if count < 1:
        return Fraction(0)
    below = delta * Fraction(base) ** (count - 1)
    return below if below <= Fraction(1, 2) else 1 - 1 / (4 * below)


def excess(first: list[Fraction], second: list[Fraction], odds: Fraction) -> Fraction:
    """The hockey-stick divergence of two laws of independent items."""
    total = Fraction(0)
    for chosen in itertools.product((True, False), repeat=len(first)):
        a = b = Fraction(1)
        for yes, p, q in zip(chosen, first, second, strict=True):
            a, b = a * (p if yes else 1 - p), b * (q if yes else 1 - q)
        total += max(Fraction(0), a - odds * b)
    return total


def test_the_price_of_a_fixed_threshold_is_met_and_reached() -> None:
    """All pairs of two counts that move together, odds 2: e^(k epsilon) is 4. At 2 it is exceeded."""
    delta, worst, cheaper = Fraction(1, 100), Fraction(0), Fraction(0)
    for counts in itertools.product(range(9), repeat=2):
        for moved in itertools.product((0, 1), repeat=2):
            here = [shown(count, delta, 2) for count in counts]
            there = [shown(count - one, delta, 2) for count, one in zip(counts, moved, strict=True)]
            for pair in ((here, there), (there, here)):
                worst = max(worst, excess(*pair, Fraction(4)))
                cheaper = max(cheaper, excess(*pair, Fraction(2)))
    k_delta = fixed_total(Fraction(1), delta, 2, Fraction(0)).delta
    assert k_delta == 2 * delta
    assert Fraction(99, 100) * k_delta <= worst <= k_delta < cheaper


def test_a_fixed_threshold_costs_the_sum_or_theorem_3() -> None:
    tenth, small = Fraction(1, 10), Fraction(1, 10**8)
    assert fixed_total(tenth, small, 5, Fraction(0)).epsilon == Fraction(1, 2)
    many = fixed_total(tenth, small, 1000, Fraction(1, 10**6))
    assert many.epsilon < 100 and many.delta == 1000 * small + Fraction(1, 10**6)


@pytest.mark.parametrize(("steps", "composed"), [(1, False), (10, False), (500, True)])
def test_a_calibrated_fixed_threshold_is_the_largest_that_fits(steps: int, composed: bool) -> None:
    epsilon, delta = Fraction(1), Fraction(1, 10**6)
    parts = calibrate_fixed(epsilon, delta, steps)
    assert (parts.delta_prime > 0) is composed
    fits = fixed_total(parts.step, parts.delta, steps, parts.delta_prime)
    assert fits.epsilon <= epsilon and fits.delta == delta
    over = parts.step + Fraction(1, 10**9)
    assert fixed_total(over, parts.delta, steps, parts.delta_prime).epsilon > epsilon
    assert fixed_total(over, delta / steps, steps, Fraction(0)).epsilon > epsilon


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: laplace_total(0, Fraction(1), 3),
        lambda: laplace_total(1, Fraction(0), 3),
        lambda: laplace_total(1, Fraction(1), -1),
        lambda: laplace_offset(1, Fraction(1), Fraction(0)),
        lambda: laplace_offset(1, Fraction(1), Fraction(1, 2), per_bin=0),
        lambda: calibrate_fixed(Fraction(1), Fraction(9, 10), 1),
        lambda: calibrate_fixed(Fraction(1, 10**12), Fraction(1, 10), 5),
        lambda: fixed_total(Fraction(1), Fraction(1, 2), 2, Fraction(0)),
    ],
)
def test_what_cannot_be_priced_is_refused(wrong: object) -> None:
    assert callable(wrong)
    with pytest.raises(ParameterError) as caught:
        wrong()
    assert caught.value.rule
