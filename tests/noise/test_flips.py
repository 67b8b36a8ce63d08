"""Biased bits, eight to a byte: their law exactly, and what is drawn from it."""

from __future__ import annotations

import itertools
from fractions import Fraction

import numpy as np
import pytest

from dpviz.errors import ParameterError
from dpviz.noise.bits import TeachingBits
from dpviz.noise.flips import EightFlips, FlipSampler, chance_for
from dpviz.noise.table import SamplingTable


@pytest.mark.parametrize(("ones", "places"), [(1, 1), (13, 6), (1, 3), (13108, 16), (65535, 16)])
def test_the_law_of_a_byte_is_that_of_eight_flips(ones: int, places: int) -> None:
    law, chance, reached = EightFlips(ones, places), Fraction(ones, 2**places), Fraction(0)
    for byte, flips in enumerate(itertools.product((0, 1), repeat=8)):
        assert byte == int("".join(map(str, flips)), 2)
        reached += chance ** sum(flips) * (1 - chance) ** (8 - sum(flips))
        low, high = law.cdf(byte, 256)
        assert low == high == reached * 2**256
        low, high = law.cdf(byte, 3)
        assert low <= reached * 8 <= high <= low + 1
    assert reached == 1


def test_the_table_gives_each_byte_its_share_of_the_words() -> None:
    """With chance 1/4 each boundary is a whole number of cells: no word needs more bits, and the shares are exact."""
    guide = SamplingTable(EightFlips(1, 2))._guide
    counts = np.bincount(guide[guide >= 0], minlength=256)
    for byte in range(256):
        ones = byte.bit_count()
        assert abs(int(counts[byte]) - 3 ** (8 - ones)) <= 2


@pytest.mark.parametrize("ones", [13, 14])
def test_as_many_bits_are_ones_as_the_chance_says_and_not_as_another_says(ones: int) -> None:
    """2^23 bits at 13/64. By Hoeffding a share 0.0012 off has chance below 2e-10 (false alarm); the twin at 14/64 lies
    0.0156 away, 13 times that, so it passes with chance below 1e-300."""
    drawn = FlipSampler(ones, 6).draw(1 << 20, TeachingBits(5))
    share = int(np.bitwise_count(drawn).sum()) / (1 << 23)
    assert (abs(share - 13 / 64) < 0.0012) == (ones == 13)


def test_neighbouring_bits_are_independent() -> None:
    """2^20 pairs in each of 28 places of a byte: each share of two ones is off by less than 0.0041, false alarm by
    Hoeffding and union 28 * 2 exp(-2 * 2^20 * 0.0041^2) < 3e-14."""
    bits = np.unpackbits(FlipSampler(13, 6).draw(1 << 20, TeachingBits(6)).reshape(-1, 1), axis=1)
    for one, other in itertools.combinations(range(8), 2):
        assert abs(float((bits[:, one] & bits[:, other]).mean()) - (13 / 64) ** 2) < 0.0041


def test_a_chance_is_rounded_up_and_never_to_a_half() -> None:
    for alpha in (Fraction(3), Fraction(38, 13), Fraction(1, 2), Fraction(10)):
        ones, places = chance_for(alpha.numerator, alpha.denominator)
        chance = Fraction(ones, 2**places)
        assert 1 / (alpha + 2) <= chance < 1 / (alpha + 2) + Fraction(1, 2**places)
    with pytest.raises(ParameterError):
        chance_for(6, 100, 6)


@pytest.mark.parametrize(("ones", "places"), [(0, 3), (8, 3), (1, 0), (1, 17)])
def test_chances_that_are_none_are_refused(ones: int, places: int) -> None:
    with pytest.raises(ParameterError):
        EightFlips(ones, places)
