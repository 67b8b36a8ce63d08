"""A coin falls by its chance exactly, however the chance is given."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpviz.errors import ParameterError
from dpviz.laws.top_k import laplace_passes
from dpviz.noise.bits import TeachingBits
from dpviz.noise.coin import flip, passes, threshold_chance
from tests.noise.scripts import Script

TENTH = Fraction(1, 10)


def revealed(number: Fraction) -> Script:
    """What one coin reads where U is `number`, to 256 places: 64 bits at a time."""
    digits = int(number * 2**256).to_bytes(32, "big")
    return Script(b"".join(digits[at : at + 8][::-1] for at in range(0, 32, 8)))


@pytest.mark.parametrize(
    "chance", [Fraction(1, 3), Fraction(1, 2**70), 1 - Fraction(2, 3**40), Fraction(5, 8)], ids=str
)
@pytest.mark.parametrize(("hair", "left"), [(Fraction(1, 2**150), 8), (Fraction(1, 2**250), 0)])
def test_a_coin_turns_exactly_at_its_chance(chance: Fraction, hair: Fraction, left: int) -> None:
    for number, heads in ((chance - hair, True), (chance + hair, False)):
        script = revealed(number)
        assert flip(lambda precision: (chance, chance), script) is heads
        assert script.left >= left


def test_the_coin_waits_for_a_chance_that_is_not_known_well_enough() -> None:
    """An enclosure that narrows slowly: more bits are read, and the coin falls by the number inside."""

    def chance(precision: int) -> tuple[Fraction, Fraction]:
        return Fraction(1, 3) - Fraction(1, 2 ** (precision // 4)), Fraction(1, 3) + Fraction(1, 2 ** (precision // 4))

    script = revealed(Fraction(1, 3) - Fraction(1, 2**40))
    assert flip(chance, script) is True
    assert script.left == 8


def test_the_ends_of_the_interval_are_certain() -> None:
    assert flip(lambda precision: (Fraction(1), Fraction(1)), Script(b"\xff" * 8))
    assert not flip(lambda precision: (Fraction(0), Fraction(0)), Script(b"\x00" * 8))


@given(st.integers(-60, 60), st.fractions(Fraction(1, 50), 3), st.fractions(Fraction(1, 10**9), Fraction(49, 100)))
def test_the_threshold_coin_is_laplace_noise_against_the_threshold(
    excess: int, rate: Fraction, delta: Fraction
) -> None:
    """Against the tail of Laplace noise, written out with doubles."""
    low, high = threshold_chance(excess, rate, delta, 80)
    assert 0 <= high - low < Fraction(1, 2**70)
    nats = -math.log(2 * delta) - float(rate * excess)
    tail = math.exp(-abs(nats)) / 2
    assert float(low) == pytest.approx(tail if nats > 0 else 1 - tail, rel=1e-9)


def test_the_threshold_coin_agrees_with_the_law_where_that_is_rational() -> None:
    """At an excess of 0 both are exact; elsewhere exp(rate) is within the enclosure of a rational base."""
    assert threshold_chance(0, Fraction(1), Fraction(1, 8), 64) == (Fraction(1, 8), Fraction(1, 8))
    base = Fraction(math.exp(0.25))
    for excess in range(-5, 40):
        low, high = threshold_chance(excess, Fraction(1, 4), TENTH, 96)
        assert float(laplace_passes(excess, base, TENTH)) == pytest.approx(float(low), rel=1e-13)
        twin = float(laplace_passes(excess + 1, base, TENTH))  # a threshold that forgot to add 1
        assert twin > float(high) * 1.0001 or float(high) > 0.999


@pytest.mark.parametrize("excess", [-2, 0, 3, 12])
def test_the_threshold_coin_turns_at_its_chance(excess: int) -> None:
    chance = threshold_chance(excess, Fraction(1, 2), TENTH, 400)[0]
    for number, heads in ((chance - Fraction(1, 2**200), True), (chance + Fraction(1, 2**200), False)):
        assert passes(excess, Fraction(1, 2), TENTH, revealed(number)) is heads


def test_an_excess_of_any_size_decides() -> None:
    bits = TeachingBits(1)
    assert passes(10**18, Fraction(1000), Fraction(1, 10**12), bits)
    assert passes(np.int64(2**62), Fraction(1000), TENTH, bits)
    assert not passes(-(10**18), Fraction(1000), TENTH, bits)
    low, high = threshold_chance(10**30, Fraction(1), Fraction(1, 10**300), 64)
    assert 1 - low == Fraction(1, 2**64)
    assert high == 1


def test_parameters_out_of_range_are_refused() -> None:
    for rate, delta in [(Fraction(0), TENTH), (Fraction(1), Fraction(0)), (Fraction(1), Fraction(1, 2))]:
        with pytest.raises(ParameterError):
            passes(1, rate, delta, Script(b""))
