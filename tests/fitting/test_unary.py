"""Estimators of a unary number from flipped bits, by their definitions on all strings."""

from __future__ import annotations

import itertools
from fractions import Fraction

import numpy as np
import pytest

from dpviz.fitting import unary
from dpviz.laws import alp


def strings(m: int) -> np.ndarray:
    return np.array(list(itertools.product((0, 1), repeat=m)), dtype=np.uint8)


@pytest.mark.parametrize("m", [1, 2, 5, 8, 12])
def test_the_paper_s_estimator_is_its_definition_on_all_strings(m: int) -> None:
    rows = strings(m)
    for bits, found in zip(rows.tolist(), unary.paper(rows), strict=True):
        sums = [0, *itertools.accumulate(2 * bit - 1 for bit in bits)]
        places = [place for place, sum_ in enumerate(sums) if sum_ == max(sums)]
        assert found == Fraction(sum(places), len(places))


@pytest.mark.parametrize("m", [1, 4, 8])
@pytest.mark.parametrize("q", ["0", "1/10", "1/3"])
def test_the_others_are_their_definitions_by_exact_likelihoods(m: int, q: str) -> None:
    flips = alp.Flips(Fraction(1, 5), Fraction(q))
    p, raised = flips.p, flips.raised
    rows = strings(m)
    most_likely = unary.likelihood(rows, float(p), float(raised))
    medians = unary.posterior_median(rows, float(p), float(raised))
    for bits, likeliest, median in zip(rows.tolist(), most_likely, medians, strict=True):
        chances = []
        for y in range(m + 1):
            chance = Fraction(1)
            for place, bit in enumerate(bits):
                one = 1 - p if place < y else raised
                chance *= one if bit else 1 - one
            chances.append(chance)
        best = [y for y, chance in enumerate(chances) if chance == max(chances)]
        assert likeliest == Fraction(sum(best), len(best))
        reached = list(itertools.accumulate(chances))
        assert median == next(y for y, chance in enumerate(reached) if 2 * chance >= reached[-1])


def test_without_collisions_the_likeliest_is_the_paper_s() -> None:
    rows = strings(9)
    assert unary.likelihood(rows, 0.2, 0.2) == unary.paper(rows)


def test_a_string_read_backwards_with_its_bits_exchanged_gives_the_rest() -> None:
    rows = strings(7)
    for found, mirrored in zip(unary.paper(rows), unary.paper(1 - rows[:, ::-1]), strict=True):
        assert found + mirrored == 7


def test_ties_that_are_not_averaged_give_another_estimator() -> None:
    rows = strings(6)
    first = [int(np.argmax([0, *itertools.accumulate(2 * bit - 1 for bit in bits)])) for bits in rows.tolist()]
    assert first != unary.paper(rows)


def test_the_law_of_the_estimator_is_the_law_that_is_told() -> None:
    """All strings of 8 bits, weighed: the law of `unary.paper` is `laws.alp.estimates`."""
    flips, m, y = alp.Flips(Fraction(13, 64), Fraction(1, 10)), 8, 3
    law: dict[Fraction, Fraction] = {}
    rows = strings(m)
    for bits, value in zip(rows.tolist(), unary.paper(rows), strict=True):
        chance = Fraction(1)
        for place, bit in enumerate(bits):
            one = 1 - flips.p if place < y else flips.raised
            chance *= one if bit else 1 - one
        law[value] = law.get(value, Fraction(0)) + chance
    assert law == alp.estimates(m, y, flips)
