"""Tails of the discrete Gaussian law by Euler and Maclaurin's formula, against weights that are added up."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest

from dpviz.exact import Enclosure, exp_bounds
from dpviz.laws import gaussian
from dpviz.laws.gaussian import chance_from

PLACES = 400


def added_up(variance: Fraction, m: int) -> Enclosure:
    """Pr[Z >= m], each weight by itself."""
    far = 40 * (math.isqrt(int(variance)) + 1)
    weights = {z: exp_bounds(-Fraction(z * z) / (2 * variance), PLACES) for z in range(far)}
    low, high = (weights[0][side] + 2 * sum(weights[z][side] for z in range(1, far)) for side in (0, 1))
    tail = [sum(weights[abs(z)][side] for z in range(m, far)) for side in (0, 1)]
    return tail[0] / (high + Fraction(1, 2**300)), (tail[1] + Fraction(1, 2**300)) / low


CASES = [("2", 0), ("2", 3), ("5", -2), ("5", 9), ("64", -40), ("64", 1), ("64", 50), ("64", 90), ("181.5", 30)]


@pytest.mark.parametrize(("variance", "m"), CASES)
def test_a_tail_by_the_formula_encloses_the_sum_of_its_weights(variance: str, m: int) -> None:
    v = Fraction(variance)
    (least, most), (low, high) = added_up(v, m), chance_from(v, m)
    assert low <= most and least <= high
    if v >= 64 and m <= 6 * math.sqrt(v):
        assert high - low <= high / 10**9


@pytest.mark.parametrize("term", range(4))
def test_a_formula_with_a_wrong_number_misses_the_sum(term: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each of the first numbers of Bernoulli counts beyond the error that is allowed for."""
    wrong = [number * (2 if place == term else 1) for place, number in enumerate(gaussian.BERNOULLI)]
    monkeypatch.setattr(gaussian, "BERNOULLI", tuple(wrong))
    v, m = Fraction(64), 20
    (least, most), (low, high) = added_up(v, m), chance_from(v, m)
    assert high < least or low > most
