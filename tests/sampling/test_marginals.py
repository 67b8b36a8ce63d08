"""Shares from samples: exact over all data sets of a few rows, and within its promise by simulation."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from fractions import Fraction

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

from dpviz.errors import ParameterError
from dpviz.noise.bits import Bits, TeachingBits
from dpviz.sampling.marginals import averaged, parts_for, turned, unbounded
from tests.noise.statistics import FALSE_ALARM, p_value
from tests.sampling.every import law

Rows = NDArray[np.uint8]


def clipped(rows: Rows, bits: Bits) -> Sequence[int]:
    """Bits with the columns' means, kept within 1/4..3/4."""
    n = len(rows)
    return [int(bits.below(4 * n) < min(max(4 * int(total), n), 3 * n)) for total in rows.sum(axis=0)]


def test_the_average_of_samples_costs_what_one_of_them_does() -> None:
    """The worst ratio over all neighbours of two parts of two bits is that of one part: 4 g / n or 1 + 1 / g."""

    def worst(parts: int, n: int) -> Fraction:
        laws = {
            bits_of: law(lambda bits, b=bits_of: averaged(np.array(b, np.uint8)[:, None], parts, clipped, bits)[0])
            for bits_of in itertools.product((0, 1), repeat=parts * n)
        }
        return max(
            own[share] / laws[(*rows[:place], 1 - rows[place], *rows[place + 1 :])][share]
            for rows, own in laws.items()
            for place in range(parts * n)
            for share in own
        )

    assert worst(2, 2) <= worst(1, 2) == 2


def test_the_number_of_parts_is_what_the_promise_needs() -> None:
    """By Hoeffding and Markov at the number given; at half of it the same bound is not kept."""
    alpha, beta, gamma = Fraction(1, 5), Fraction(1, 10), Fraction(1, 10)
    parts = parts_for(alpha, beta, gamma)
    assert 2 * math.exp(-2 * parts * float(alpha) ** 2) <= float(beta * gamma)
    assert 2 * math.exp(-parts * float(alpha) ** 2) > float(beta * gamma)
    exact = float(stats.binom.cdf(math.ceil(parts * 0.3) - 1, parts, 0.5) * 2)
    assert exact <= float(beta * gamma)


def test_turned_bits_have_shares_between_a_third_and_two_thirds() -> None:
    drawn = turned(np.tile(np.array([0, 1], np.uint8), (20_000, 1)), TeachingBits(3)).sum(axis=0, dtype=np.int64)
    for ones, share in zip(drawn.tolist(), (1 / 3, 2 / 3), strict=True):
        assert p_value(np.array([20_000 - ones, ones]), np.array([1 - share, share])) > FALSE_ALARM
        assert p_value(np.array([20_000 - ones, ones]), np.array([share, 1 - share])) < FALSE_ALARM


def test_shares_of_any_bias_come_back_from_turned_bits() -> None:
    """With 400 samples each of 60 rows, within 7 standard errors (3 / sqrt(4 * 400)) and the sampler's own error;
    3q + 1, as printed, is refused."""
    parts, n, shares = 400, 60, np.array([0.0, 0.3, 1.0])
    rows = (np.random.default_rng(8).random((parts * n, 3)) < shares).astype(np.uint8)
    found = unbounded(rows, lambda rows, bits: averaged(rows, parts, clipped, bits), TeachingBits(9))
    spread = 7 * 3 / math.sqrt(4 * parts) + 3 * 3 / n * math.exp(-n / 72)
    assert all(abs(float(one) - share) < spread for one, share in zip(found, shares, strict=True))
    assert all(abs(float(one) + 2 - share) > spread for one, share in zip(found, shares, strict=True))


def test_rows_that_cannot_be_cut_into_equal_parts_are_refused() -> None:
    for size, parts in ((5, 2), (0, 2), (4, 0)):
        with pytest.raises(ParameterError, match="parts"):
            averaged(np.zeros((size, 1), np.uint8), parts, clipped, TeachingBits(1))
    for value in (Fraction(0), Fraction(1)):
        with pytest.raises(ParameterError):
            parts_for(value, Fraction(1, 2), Fraction(1, 2))
