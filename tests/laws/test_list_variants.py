"""The relatives of the race: their closed forms are the enumerated laws."""

from __future__ import annotations

import math
import random
from fractions import Fraction

import numpy as np
import pytest

from dpviz.laws.list_variants import (
    at_least,
    difference_tail,
    fixed_inclusion,
    kbar_chances,
    laplace_inclusion,
)
from dpviz.laws.top_k import (
    Competition,
    Law,
    chosen_kbar,
    fixed_threshold,
    laplace_limit_domain,
)

BASE = Fraction(2)
RATE = math.log(2)
DELTA = Fraction(1, 10)


def histograms(number: int, bins: int, most: int) -> list[list[int]]:
    picked = random.Random(bins * most)
    return [[picked.randint(0, most) for _ in range(picked.randint(1, bins))] for _ in range(number)]


def listed(law: Law, label: int) -> float:
    """The chance that a label is in the outcome."""
    return float(sum((chance for outcome, chance in law.items() if label in outcome), Fraction(0)))


@pytest.mark.parametrize("k", [1, 2, 3])
@pytest.mark.parametrize("offset", [0, 2, 5])
def test_lists_by_laplace_noise_hold_each_item_with_its_enumerated_chance(k: int, offset: int) -> None:
    for histogram in histograms(12, 4, 5):
        domain = Competition(DELTA, 4, "positive", 1)
        labels = domain.labels(histogram)
        law = laplace_limit_domain(histogram, BASE, k, domain, offset)
        found = laplace_inclusion(
            [histogram[label] for label in labels], labels, RATE, k, domain.next_count(histogram) + 1 + offset
        )
        assert found is not None
        assert found.tolist() == pytest.approx([listed(law, label) for label in labels], abs=1e-8)


def test_the_same_with_ties_for_the_item_is_told_apart() -> None:
    """Near-wrong: an item as high as the threshold is taken as above it."""
    law = laplace_limit_domain([3, 1], BASE, 1, Competition(DELTA, 2, "positive", 1), 2)
    found = laplace_inclusion([3, 1], [0, 1], RATE, 1, 2)
    assert found is not None
    assert abs(found[0] - listed(law, 0)) > 0.05


@pytest.mark.parametrize("k", [1, 2, 3])
def test_coins_of_a_fixed_threshold_are_the_enumerated_ones(k: int) -> None:
    for histogram in histograms(20, 5, 6):
        law = fixed_threshold(histogram, BASE, DELTA, k)
        domain = Competition(DELTA, k, "strict")
        next_count = domain.next_count(histogram)
        found = fixed_inclusion(histogram, next_count, RATE, float(DELTA))
        candidates = domain.labels(histogram)
        for label in candidates:
            assert found[label] == pytest.approx(listed(law, label), abs=1e-12)
        assert all(found[label] == 0 for label, count in enumerate(histogram) if count <= next_count)


def test_a_private_choice_of_kbar_has_the_enumerated_law() -> None:
    for histogram in histograms(20, 6, 7):
        offered = [Competition(DELTA, kbar, "positive", 3) for kbar in (2, 3, 4, 5)]
        law = chosen_kbar(histogram, BASE, offered)
        found = kbar_chances([one.next_count(histogram) for one in offered], [one.m for one in offered], RATE)
        assert found.tolist() == pytest.approx([float(law[one.kbar]) for one in offered], abs=1e-12)


def test_tails_of_discrete_laplace_noise_sum_to_its_law() -> None:
    distances = np.arange(-40, 41)
    p = math.exp(-RATE)
    law = (1 - p) / (1 + p) * p ** np.abs(np.arange(-60, 61))
    tail = at_least(distances, RATE)
    assert tail.tolist() == pytest.approx([law[60 + d :].sum() for d in distances], abs=1e-9)
    both = np.convolve(law, law)
    for distance in (-7, -1, 0, 1, 2, 9):
        assert difference_tail(distance, RATE) == pytest.approx(both[120 + distance :].sum(), abs=1e-9)


def test_a_law_that_would_take_too_long_is_left_out() -> None:
    assert laplace_inclusion([500] * 4000, list(range(4000)), 0.001, 100, 600) is None
    assert laplace_inclusion([10**15, 1], [0, 1], 0.5, 1, 20) is None
    assert laplace_inclusion([], [], 0.5, 3, 10) is not None
