"""Optimal homogeneous composition: the printed sum, another library's composition, and the paper's Figure 1."""

from __future__ import annotations

import math
from fractions import Fraction

import gmpy2
import pytest
from dp_accounting.pld.privacy_loss_distribution import PrivacyLossDistribution

from dpviz.errors import DpvizError
from dpviz.privacy.optimal import best_optimal_dp, figure_ratio, optimal_dp
from tests.privacy.formulas import BITS, big, exactly, rounded_up

MILLIONTH = Fraction(1, 10**6)

FIGURE_1 = """
0.01 1.000 1.313 1.435 1.470 1.503 1.531 1.554
0.05 1.000 1.381 1.497 1.550 1.554 1.556 1.533
0.1  1.000 1.376 1.498 1.524 1.523 1.496 1.454
0.5  1.000 1.000 1.301 1.301 1.270 1.206 1.162
1    1.000 1.000 1.070 1.089 1.073 1.040 1.014
"""
"""The ratio for k = 10, 20, 50, 100, 200, 500 and 1000, as the paper's specification tabulates it."""

KS = (10, 20, 50, 100, 200, 500, 1000)


def printed(k: int, i: int, epsilon: Fraction) -> Fraction:
    """d_i as Lemma A.1 prints it."""
    with gmpy2.context(precision=BITS):
        e = big(epsilon)
        terms = [math.comb(k, m) * (gmpy2.exp((k - m) * e) - gmpy2.exp((k - 2 * i + m) * e)) for m in range(i)]
        return exactly(sum(terms, gmpy2.mpfr(0)) / (1 + gmpy2.exp(e)) ** k)


@pytest.mark.parametrize(("k", "epsilon"), [(1, "1"), (2, "0.001"), (7, "3"), (40, "0.1"), (101, "0.02")])
def test_every_corner_is_the_printed_sum_rounded_up(k: int, epsilon: str) -> None:
    corners = list(optimal_dp(k, Fraction(epsilon)))
    assert [corner.epsilon for corner in corners] == [(k - 2 * i) * Fraction(epsilon) for i in range(k // 2 + 1)]
    assert corners[0].delta == 0
    for i, corner in enumerate(corners):
        real = printed(k, i, Fraction(epsilon))
        assert rounded_up(corner.delta, real)
        assert i == 0 or not rounded_up(corner.delta, real * (1 + Fraction(1, 10**12)))


@pytest.mark.parametrize(("k", "epsilon"), [(7, 1.0), (20, 0.5), (50, 0.1), (1000, 0.05)])
def test_randomised_response_attains_every_corner(k: int, epsilon: float) -> None:
    """dp-accounting composes k randomised responses, whose log ratios are whole multiples of epsilon."""
    likely = 1 / (1 + math.exp(-epsilon))
    once = PrivacyLossDistribution.create_from_rounded_probability({1: likely, -1: 1 - likely}, 0.0, epsilon)
    together = once.self_compose(k)
    for corner in optimal_dp(k, Fraction(str(epsilon))):
        theirs = together.get_delta_for_epsilon(float(corner.epsilon))
        assert math.isclose(corner.delta, theirs, rel_tol=1e-9, abs_tol=1e-12)


def test_the_best_corner_is_the_last_that_fits() -> None:
    for k, epsilon, most in ((30, "0.2", "1e-6"), (31, "0.2", "0.01"), (12, "1", "0"), (9, "0.1", "0.9")):
        corners = list(optimal_dp(k, Fraction(epsilon)))
        fitting = [corner for corner in corners if corner.delta <= Fraction(most)]
        assert best_optimal_dp(k, Fraction(epsilon), Fraction(most)) == fitting[-1]
    assert [corner.delta for corner in corners] == sorted(corner.delta for corner in corners)


def test_figure_1_to_three_decimals() -> None:
    rows = [line.split() for line in FIGURE_1.strip().splitlines()]
    found = [[f"{float(figure_ratio(k, Fraction(row[0]), MILLIONTH)):.3f}" for k in KS] for row in rows]
    assert found == [row[1:] for row in rows]


def test_the_other_drift_gives_another_figure_which_keeps_growing() -> None:
    ratios = {k: figure_ratio(k, Fraction(1, 2), MILLIONTH, zcdp=True) for k in KS}
    assert all(ratios[k] >= figure_ratio(k, Fraction(1, 2), MILLIONTH) for k in KS)
    assert f"{float(ratios[1000]):.3f}" != "1.162" and ratios[1000] > ratios[200] > ratios[50]


def test_a_hundred_thousand_mechanisms_neither_overflow_nor_lose_digits() -> None:
    """Twice as many of half the variance cost nearly the same: k epsilon^2 is what counts."""
    many = best_optimal_dp(10**5, Fraction(1, 100), MILLIONTH).epsilon
    fewer = best_optimal_dp(25_000, Fraction(1, 50), MILLIONTH).epsilon
    assert abs(many / fewer - 1) < Fraction(1, 100)


@pytest.mark.parametrize(
    ("k", "epsilon", "delta"), [(0, 1, 0), (10**7, 1, 0), (5, 0, 0), (5, -1, 0), (5, 1, 1), (5, 1, -1)]
)
def test_what_the_lemma_does_not_cover_is_refused(k: int, epsilon: int, delta: int) -> None:
    with pytest.raises(DpvizError) as caught:
        best_optimal_dp(k, Fraction(epsilon), Fraction(delta))
    assert caught.value.rule
