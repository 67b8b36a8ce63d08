"""One label drawn from noisy counts: against the whole law, on domains of three labels and of 2**64."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from functools import lru_cache

import numpy as np
import pytest

from dpviz.errors import ParameterError
from dpviz.exact import Decay
from dpviz.laws import category as laws
from dpviz.noise import category
from dpviz.noise.bits import TeachingBits
from dpviz.noise.category import ANY, UNSEEN, empty_chance, nearest, pick, pick_one, unseen_chance, weights
from tests.noise.statistics import FALSE_ALARM, p_value, power

EPSILON = Fraction(1, 2)
DECAY = Decay.exp(EPSILON / 2)
DRAWS = 20_000


def whole_law(counts: list[int], unseen: int) -> np.ndarray:
    return laws.draw_law(counts + [0] * unseen, EPSILON)


@pytest.mark.parametrize(("counts", "unseen"), [([3, 1], 0), ([4], 2), ([2, 1], 3), ([], 3)], ids=str)
def test_one_draw_has_the_law_of_the_whole_domain(
    counts: list[int], unseen: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By chi-square over all labels; a draw without noise on the labels that nobody has is refused (power 0.999)."""
    monkeypatch.setattr(category, "unseen_chance", lru_cache(maxsize=None)(unseen_chance))  # asked thousands of times
    monkeypatch.setattr(category, "empty_chance", lru_cache(maxsize=None)(empty_chance))
    bits, seen = TeachingBits(31), np.zeros(len(counts) + unseen, int)
    row = np.array(counts, np.int64)
    for _ in range(DRAWS):
        place = pick_one(row, unseen, DECAY, bits)
        if place == UNSEEN:
            place = len(counts) + bits.below(unseen)
        elif place == ANY:
            place = bits.below(seen.size)
        seen[place] += 1
    law = whole_law(counts, unseen)
    assert p_value(seen, law) > FALSE_ALARM
    if counts and unseen:
        twin = np.append(laws.draw_law(counts, EPSILON) * 0.9, np.full(unseen, 0.1 / unseen))
        assert power(DRAWS, law, twin) > 0.999
        assert p_value(seen, twin) < FALSE_ALARM


def test_draws_from_all_weights_have_the_same_law() -> None:
    counts, bits, seen = np.array([3, 0, 1], np.int64), TeachingBits(32), np.zeros(3, int)
    for _ in range(DRAWS):
        seen[pick(weights(counts, DECAY, bits), bits)] += 1
    assert p_value(seen, whole_law([3, 0, 1], 0)) > FALSE_ALARM
    assert p_value(seen, whole_law([3, 0, 2], 0)) < FALSE_ALARM


@pytest.mark.parametrize("decay", [DECAY, Decay.rational(Fraction(2, 3)), Decay.exp(Fraction(4))], ids=str)
@pytest.mark.parametrize(("seen", "unseen"), list(itertools.product((1, 2, 9), (1, 2, 5))), ids=str)
def test_the_chance_of_a_label_that_nobody_has_is_that_of_all_their_weights(
    decay: Decay, seen: int, unseen: int
) -> None:
    """By convolution of their laws, to 1e-12; enclosed at 64 and at 200 places alike."""
    r = float(decay.bounds()[0])
    one = np.append(1 / (1 + r), (1 - r) / (1 + r) * r ** np.arange(1, 400))
    all_weights = np.ones(1)
    for _ in range(unseen):
        all_weights = np.convolve(all_weights, one)
    total = np.arange(all_weights.size)
    wanted = float((all_weights * total / (total + seen)).sum())
    low, high = unseen_chance(seen, unseen, decay, 64)
    assert float(low) == pytest.approx(wanted, abs=1e-12) and high - low <= Fraction(1, 2**64)
    closer = unseen_chance(seen, unseen, decay, 200)
    assert low <= closer[1] and closer[0] <= high and closer[1] - closer[0] <= Fraction(1, 2**200)
    none = empty_chance(unseen, decay, 64)
    assert float(none[0]) == pytest.approx(all_weights[0], abs=1e-12)


def test_a_domain_of_two_to_the_64_is_answered() -> None:
    """A million records on as many labels: the chance to meet one of them is about 1e6 / (2**64 * mean weight)."""
    low, high = unseen_chance(10**6, 2**64 - 10**6, DECAY, 80)
    r = np.exp(-0.25)
    mean = r / (1 + r) / (1 - r)
    assert float(1 - high) == pytest.approx(10**6 / (2**64 * mean), rel=1e-6) and high - low <= Fraction(1, 2**80)
    assert pick_one(np.ones(10**6, np.int64), 2**64 - 10**6, DECAY, TeachingBits(33)) == UNSEEN


@pytest.mark.parametrize("unseen", [10**9, 2 * 10**18, 2**64], ids=str)
def test_where_no_count_is_above_0_a_large_domain_is_answered_too(unseen: int) -> None:
    """That none of so many labels has a weight has a chance of 2**-(10**9) and less, which is no fraction in memory."""
    for decay in (DECAY, Decay.exp(Fraction(1, 10**9)), Decay.rational(Fraction(2, 3))):
        for precision in (1, 72, 400):
            low, high = empty_chance(unseen, decay, precision)
            assert 0 <= low <= high <= Fraction(1, 2**precision)
        bits = TeachingBits(36)
        assert pick_one(np.zeros(0, np.int64), unseen, decay, bits) == UNSEEN
        assert pick_one(np.full(3, -(2**61), np.int64), unseen, decay, bits) == UNSEEN


@pytest.mark.parametrize("precision", [1, 2, 8, 64, 333])
def test_an_enclosed_chance_holds_the_exact_one(precision: int) -> None:
    """(1 / (1 + 2/3)) ** unseen, as a fraction."""
    for unseen in (1, 2, 7, 60, 1000):
        low, high = empty_chance(unseen, Decay.rational(Fraction(2, 3)), precision)
        exact = Fraction(3, 5) ** unseen
        assert low <= exact <= high <= low + Fraction(1, 2**precision)


def test_ends_are_rounded_outwards_however_small_they_are() -> None:
    for value in (Fraction(1, 3), Fraction(-1, 3), Fraction(5, 8), Fraction(0), Fraction(1)):
        for size in (0, 3, 70, 10**18):
            ends = [category._rounded(Ended(value, size), 64, towards) for towards in (math.floor, math.ceil)]
            told = Ended(value, size).mantissa * Fraction(1, 2 ** min(size + 40, 10**4))
            assert ends[0] <= told <= ends[1] and ends[1] - ends[0] in (0, Fraction(1, 2**64))
            assert (ends[0] == ends[1]) == ((told * 2**64).denominator == 1)


class Ended:
    """An end of a ball: a mantissa of 40 bits, and an exponent."""

    def __init__(self, value: Fraction, size: int) -> None:
        self.mantissa, self.exponent = int(value * 2**40), -size - 40

    def man_exp(self) -> tuple[int, int]:
        return self.mantissa, self.exponent


def test_a_domain_beyond_that_is_refused() -> None:
    for unseen in (-1, 2**64 + 1):
        with pytest.raises(ParameterError, match="unseen"):
            pick_one(np.ones(3, np.int64), unseen, DECAY, TeachingBits(34))


def test_the_nearest_point_is_the_nearest() -> None:
    """Against a search over all tau, in fractions, and by the conditions that single it out."""
    generator = np.random.default_rng(35)
    for _ in range(300):
        n, labels = int(generator.integers(1, 30)), int(generator.integers(2, 6))
        noisy = generator.integers(-10, 30, labels)
        shares, total = nearest(noisy.astype(np.int64), n)
        assert (
            shares.sum() == total and (shares >= 0).all() and (total == n * np.count_nonzero(shares) or total % n == 0)
        )
        point = [Fraction(int(share), total) for share in shares]
        gaps = {Fraction(int(value), n) - at for value, at in zip(noisy, point, strict=True) if at > 0}
        assert len(gaps) == 1  # one tau for all that are above 0
        tau = gaps.pop()
        assert all(Fraction(int(value), n) <= tau for value, at in zip(noisy, point, strict=True) if at == 0)


def test_the_nearest_point_of_huge_counts_does_not_wrap() -> None:
    noisy = np.array([2**45, 2**44, 5] + [0] * 2**18, np.int64)
    shares, total = nearest(noisy, 2**44)
    assert int(shares.sum()) == total and int(shares[0]) == total
