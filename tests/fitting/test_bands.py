"""Bands and gaps hold as often as they say, by enumeration of the whole law of small cases."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pytest

from dpviz.errors import ParameterError
from dpviz.exact import Decay
from dpviz.fitting import bands as module
from dpviz.fitting.bands import Band, largest_gap, multiscale
from dpviz.fitting.noises import Term
from dpviz.fitting.sums import NoiseSum

QUARTER = Decay.rational(Fraction(1, 4))
TENTH = Decay.exp(Fraction(1, 10))
REACH = 3


def law(ratio: Fraction) -> dict[int, Fraction]:
    return {z: (1 - ratio) / (1 + ratio) * ratio ** abs(z) for z in range(-REACH, REACH + 1)}


def coverage(truth: tuple[int, ...], band: Callable[[Any], Band]) -> float:
    """How often a band holds the whole truth; what is not enumerated counts as missed."""
    one, held = law(Fraction(1, 4)), Fraction(0)
    for noise in product(one, repeat=len(truth)):
        found = band(np.array(truth) + np.array(noise))
        if ((found.low <= truth) & (truth <= found.high)).all():
            chance = Fraction(1)
            for z in noise:
                chance *= one[z]
            held += chance
    return float(held)


TRUTHS = [(3, 3, 3, 3), (0, 2, 2, 9)]


def check_band(beta: Fraction, band: Callable[[Any], Band]) -> None:
    for truth in TRUTHS:
        assert coverage(truth, band) >= 1 - beta


def test_the_band_holds_everywhere_as_often_as_it_says() -> None:
    beta = Fraction(3, 10)
    check_band(beta, lambda noisy: multiscale(noisy, QUARTER, beta))


def test_a_band_that_gives_every_window_three_times_its_share_is_rejected() -> None:
    beta = Fraction(3, 10)
    with pytest.raises(AssertionError):
        check_band(beta, lambda noisy: multiscale(noisy, QUARTER, beta * 3))


def test_a_band_is_what_every_window_says() -> None:
    chance = np.random.default_rng(3)
    for n in (1, 5, 8, 13):
        noisy = np.sort(chance.integers(0, 40, n)) + chance.integers(-12, 13, n)
        lengths = [m for m in (1, 2, 4, 8) if m <= n]
        share = Fraction(1, 10) / sum(n - m + 1 for m in lengths)
        low, high = [-(10**9)] * n, [10**9] * n
        for m in lengths:
            radius = NoiseSum.of([Term(TENTH, 1, m)]).radius(share).value
            for start in range(n - m + 1):
                total = int(noisy[start : start + m].sum())
                for at in range(n):
                    if at >= start + m - 1:
                        low[at] = max(low[at], -(-(total - radius) // m))
                    if at <= start:
                        high[at] = min(high[at], (total + radius) // m)
        for values in (noisy, noisy.astype(object)):
            band = multiscale(values, TENTH, Fraction(1, 10))
            assert band.low.tolist() == low and band.high.tolist() == high
            assert not band.crossed
        bounded = multiscale(noisy, TENTH, Fraction(1, 10), least=0)
        assert bounded.low.tolist() == [max(0, one) for one in low]


def test_a_band_that_is_empty_says_so() -> None:
    assert multiscale(np.array([1000, 0]), TENTH, Fraction(1, 2)).crossed


def test_a_long_run_of_equal_counts_has_a_narrow_band() -> None:
    chance = np.random.default_rng(1)
    noisy = chance.geometric(0.1, 4096) - chance.geometric(0.1, 4096) + 500
    band = multiscale(noisy, TENTH, Fraction(1, 20))
    middle = band.high[2048] - band.low[2048]
    assert middle < (band.high[0] - band.low[0]) / 10
    assert ((band.low <= 500) & (band.high >= 500)).all()


def gap_chance(ratio: Fraction, bins: int, gap: int) -> tuple[Fraction, Fraction]:
    one = {z: (1 - ratio) / (1 + ratio) * ratio ** abs(z) for z in range(-9, 10)}
    reached, missing = Fraction(0), 1 - sum(one.values()) ** bins
    for noise in product(one, repeat=bins):
        if max(noise) - min(noise) >= gap:
            chance = Fraction(1)
            for z in noise:
                chance *= one[z]
            reached += chance
    return reached, reached + missing


def check_gap(chance: Callable[[Decay, int, int], tuple[Fraction, Fraction]], within: float) -> None:
    for bins, gap in ((1, 1), (2, 0), (2, 1), (2, 3), (3, 1), (3, 2), (3, 5)):
        (low, high), (least, most) = chance(QUARTER, bins, gap), gap_chance(Fraction(1, 4), bins, gap)
        assert low <= most and least <= high and float(high - low) <= within


def test_the_largest_gap_is_that_of_enumeration() -> None:
    check_gap(largest_gap, 1e-20)


def test_blocks_enclose_the_largest_gap(monkeypatch: pytest.MonkeyPatch) -> None:
    exact = [largest_gap(TENTH, 5, gap) for gap in (10, 40, 90)]
    monkeypatch.setattr(module, "BLOCKS", 300)
    for (low, high), gap in zip(exact, (10, 40, 90), strict=True):
        least, most = largest_gap(TENTH, 5, gap)
        assert least <= low <= high <= most
        assert float(most - least) < 0.05


def test_a_gap_one_further_is_rejected_and_so_is_a_union_over_pairs() -> None:
    def pairs(decay: Decay, bins: int, gap: int) -> tuple[Fraction, Fraction]:
        one = NoiseSum.of([Term(decay, 1, 2)]).at_least(gap)
        count = bins * (bins - 1)
        return min(Fraction(1), count * one[0]), min(Fraction(1), count * one[1])

    for twin in (lambda decay, bins, gap: largest_gap(decay, bins, gap + 1), pairs):
        with pytest.raises(AssertionError):
            check_gap(twin, 1e-9)


def test_two_bins_have_the_gap_of_a_difference() -> None:
    for gap in (1, 5, 40):
        low, high = largest_gap(TENTH, 2, gap)
        least, most = NoiseSum.of([Term(TENTH, 1, 2)]).at_least(gap)
        assert 2 * least <= high and low <= 2 * most


@pytest.mark.parametrize("values", [np.array([]), np.array([1.5]), np.array([np.nan]), np.array([[1, 2]])], ids=str)
def test_what_is_no_list_of_whole_numbers_has_no_band(values: Any) -> None:
    with pytest.raises(ParameterError):
        multiscale(values, TENTH, Fraction(1, 10))
