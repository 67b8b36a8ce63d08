"""Draws of truncated geometric noise: their law, and twins that the same test rejects."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import chi2

from dpviz.exact import Decay
from dpviz.noise.bits import TeachingBits
from dpviz.noise.truncated import truncated_geometric

FALSE_ALARM = 1e-9


def p_value(drawn: np.ndarray, rate: float, reach: int) -> float:
    """Chi-square of the counts of all values, 0 where one cannot be."""
    z = np.arange(-reach, reach + 1)
    weights = np.exp(-rate * np.abs(z))
    if (np.abs(drawn) > reach).any():
        return 0.0
    expected = drawn.size * weights / weights.sum()
    seen = np.bincount(drawn + reach, minlength=2 * reach + 1)
    return float(chi2.sf(((seen - expected) ** 2 / expected).sum(), 2 * reach))


@pytest.mark.parametrize(("rate", "reach"), [("1/2", 3), ("1/10", 12), ("1/400", 250), ("2", 1)])
def test_draws_have_the_truncated_law(rate: str, reach: int) -> None:
    """200,000 draws with a fixed seed. At 1/400 noise is drawn digit by digit, and four in ten are kept.

    Power: a reach that is one lower leaves values that cannot be; one that is one higher, or a clamp in place of a
    new draw, moves cells by more than a hundred standard errors together.
    """
    sampler = truncated_geometric(Decay.exp(Fraction(rate)), reach)
    drawn = sampler.draw(200_000, TeachingBits(3))
    assert p_value(drawn, float(Fraction(rate)), reach) > FALSE_ALARM
    wrong = truncated_geometric(Decay.exp(Fraction(rate)), reach + 1).draw(200_000, TeachingBits(3))
    assert p_value(wrong, float(Fraction(rate)), reach) == 0
    assert p_value(np.clip(wrong, -reach, reach), float(Fraction(rate)), reach) < FALSE_ALARM
    assert p_value(drawn[np.abs(drawn) < reach], float(Fraction(rate)), reach) < FALSE_ALARM


def test_few_draws_and_many_have_one_law() -> None:
    """Small vectors are compared with the whole table, large ones go through a guide."""
    sampler, bits = truncated_geometric(Decay.exp(Fraction(1, 2)), 3), TeachingBits(4)
    few = np.concatenate([sampler.draw(50, bits) for _ in range(2_000)])
    assert p_value(few, 0.5, 3) > FALSE_ALARM
    assert p_value(few, 0.6, 3) < FALSE_ALARM


def test_noisy_counts_are_clamped_and_never_further_off_than_the_reach() -> None:
    counts = np.array([0, 1, 5, 90, 10**12] * 400)
    noisy = truncated_geometric(Decay.exp(Fraction(1, 3)), 4).add(counts, 0, 95, TeachingBits(5))
    clamped = np.minimum(counts, 95)
    assert noisy.min() >= 0 and noisy.max() <= 95 and np.abs(noisy - clamped).max() == 4
