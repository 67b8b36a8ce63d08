"""Noisy shares made chances, in both ways: against sums over all noise, and all points that are nearest in L1."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

from dpviz.errors import ParameterError
from dpviz.laws.category import draw_law
from dpviz.laws.sampling_curves import few_law, pair_law
from dpviz.laws.simplex import closest, nearest_law
from dpviz.noise.category import nearest


@pytest.mark.parametrize(("counts", "epsilon"), [((2, 0, 1), "2"), ((3, 3, 0), "3"), ((1, 4, 0), "3/2")], ids=str)
def test_the_law_of_nearest_shares_is_the_mean_over_all_noise(counts: tuple[int, int, int], epsilon: str) -> None:
    """Every triple of noise up to 16 / epsilon, projected by the sampler's own whole numbers; another projection, and
    the same counts in another order, are refused."""
    rate, n = float(Fraction(epsilon)) / 2, sum(counts)
    reach = math.ceil(16 / (2 * rate))
    law, total = np.zeros(3), 0.0
    for noise in itertools.product(range(-reach, reach + 1), repeat=3):
        weights, whole = nearest(np.array(counts) + np.array(noise), n)
        chance = math.exp(-rate * sum(map(abs, noise)))
        law, total = law + chance * weights / whole, total + chance
    found = nearest_law(counts, Fraction(epsilon))
    assert np.abs(found - law / total).max() < 0.002 and abs(found.sum() - 1) < 1e-12
    twins = (few_law(counts, Fraction(epsilon)), nearest_law(counts[::-1], Fraction(epsilon)))
    assert all(np.abs(twin - law / total).max() > 0.004 for twin in twins)


def test_a_law_of_fewer_differences_is_within_a_thousandth(monkeypatch: pytest.MonkeyPatch) -> None:
    cases = [((6, 4, 0), Fraction(1, 10)), ((3, 2, 0), Fraction(1, 5)), ((60, 40, 0), Fraction(1, 20))]
    coarse = [nearest_law(counts, epsilon) for counts, epsilon in cases]
    monkeypatch.setattr("dpviz.laws.simplex.HALF", 10_000)
    for (counts, epsilon), found in zip(cases, coarse, strict=True):
        assert 0 < np.abs(found - nearest_law(counts, epsilon)).max() < 0.001


@pytest.mark.parametrize("counts", [(2, 0, 1), (5, 0, 0), (0, 3, 4), (2, 2)], ids=str)
def test_the_law_of_divided_weights_is_the_sum_over_all_weights(counts: tuple[int, ...]) -> None:
    for epsilon in (Fraction(1), Fraction(3)):
        assert np.abs(few_law(counts, epsilon) - draw_law(counts, epsilon)).max() < 1e-9
    assert few_law((2, 3), Fraction(1, 100))[0] == pytest.approx(pair_law(5, Fraction(1, 100))[2], abs=1e-9)


@pytest.mark.parametrize(
    "noisy",
    [(6, 3, -2), (9, 4, 2), (12, 11, 10), (-1, -2, -3), (5, 5, 0), (14, -1, 0), (14, 3, 1), (25, 12, -4)],
    ids=str,
)
def test_both_ways_are_among_the_points_that_are_nearest_in_l1(noisy: tuple[int, int, int]) -> None:
    """On a grid of the whole simplex no point is nearer than the corners, all points between these are as near, and
    others are not: the corners span exactly the nearest ones."""
    n, fine = 10, 20
    corners = closest(noisy, n)

    def away(point: tuple[Fraction, ...]) -> Fraction:
        return sum((abs(x - Fraction(value, n)) for x, value in zip(point, noisy, strict=True)), Fraction(0))

    def inside(point: tuple[Fraction, ...]) -> bool:
        sides = [
            (there[0] - here[0]) * (point[1] - here[1]) - (there[1] - here[1]) * (point[0] - here[0])
            for here, there in zip(corners, [*corners[1:], *corners[:1]], strict=True)
        ]
        return point in corners if len(corners) == 1 else min(sides) >= 0 or max(sides) <= 0

    least = away(corners[0])
    assert {away(corner) for corner in corners} == {least}
    assert all(sum(corner) == 1 and min(corner) >= 0 for corner in corners)
    for i, j in itertools.product(range(fine + 1), repeat=2):
        point = (Fraction(i, fine), Fraction(j, fine), 1 - Fraction(i + j, fine))
        if i + j <= fine:
            assert away(point) >= least and inside(point) == (away(point) == least)
    weights = [max(0, value) for value in noisy]
    if sum(weights):
        scaled = tuple(Fraction(weight, sum(weights)) for weight in weights)
        assert away(scaled) == least and inside(scaled)
    moved, whole = nearest(np.array(noisy), n)
    assert away(tuple(Fraction(int(weight), whole) for weight in moved)) == least


def test_other_numbers_of_labels_are_refused() -> None:
    for call in (lambda: nearest_law([1, 2], Fraction(1)), lambda: closest([1, 2, 3, 4], 5)):
        with pytest.raises(ParameterError, match="three labels"):
            call()
