"""Peeling draws the law it was given: at every boundary between two symbols, and in every outcome of a whole list."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from fractions import Fraction
from itertools import accumulate, pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpviz.errors import ParameterError
from dpviz.exact import exp_bounds
from dpviz.laws.top_k import Law, peeled
from dpviz.noise.bits import TeachingBits
from dpviz.noise.peeling import FRACTION_BITS, Bottom, choose, locate, peel, peel_integers, products
from tests.noise.scripts import Script
from tests.noise.statistics import FALSE_ALARM, p_value, power

RATE, BASE = Fraction(1, 2), Fraction(3, 2)
COUNTS, BOTTOM = [4, 4, 3, 0], Bottom(2, Fraction(3))
TWIN = Bottom(1, Fraction(3))
"""A threshold that forgot to add 1."""

DRAWS = 15_000


def revealed(number: Fraction) -> Script:
    """What one draw reads where U is `number`, to 384 places: 96 bits, 96 more, 192 more."""
    digits = int(number * 2**384).to_bytes(48, "big")
    return Script(b"".join(digits[begin:end][::-1] for begin, end in ((0, 12), (12, 24), (24, 48))))


def boundaries(terms: list[tuple[Fraction, Fraction]]) -> list[Fraction]:
    """Where each cell ends, from its ratio and exponent, to 400 places."""
    weights = [ratio * exp_bounds(exponent, 500)[0] for ratio, exponent in terms]
    return [part / sum(weights) for part in accumulate(weights)]


@given(st.lists(st.tuples(st.integers(0, 40), st.integers(0, 3)), min_size=1, max_size=5), st.integers(1, 9))
def test_bits_select_a_symbol_only_if_every_number_that_begins_with_them_does(
    weights: list[tuple[int, int]], fraction_bits: int
) -> None:
    """Over the whole space of so many bits, with weights that are known up to a few units."""
    lows, highs = [low for low, _ in weights], [low + more for low, more in weights]
    if sum(lows) == 0:
        return
    for revealed in range(1 << fraction_bits):
        found = locate(revealed, fraction_bits, lows, highs)
        for exact in (lows, highs, [*lows[:1], *highs[1:]], [*highs[:1], *lows[1:]]):
            ends = [Fraction(part, sum(exact)) for part in accumulate(exact)]
            first, last = Fraction(revealed, 1 << fraction_bits), Fraction(revealed + 1, 1 << fraction_bits)
            if found is not None:
                assert (ends[found - 1] if found else 0) <= first
                assert last <= ends[found]
            elif lows == highs:
                assert any(first < end < last for end in ends)


@pytest.mark.parametrize(
    "hair", [Fraction(1, 2**60), Fraction(1, 2**150), Fraction(1, 2**250)], ids=["96", "192", "384"]
)
def test_the_symbol_changes_exactly_at_each_boundary(hair: Fraction) -> None:
    """A hair below the end of a cell it is drawn, a hair above the next one is; as many bits are read as that takes."""
    counts, odds, rate = [-3, 5, 0, 4, 5], [Fraction(7), Fraction(1, 9), Fraction(2, 3), Fraction(1), Fraction(5)], RATE
    ends = boundaries([(part, rate * count) for count, part in zip(counts, odds, strict=True)])
    left = {60: 36, 150: 24, 250: 0}[hair.denominator.bit_length() - 1]
    for place, end in enumerate(ends[:-1]):
        for number, symbol in ((end - hair, place), (end + hair, place + 1)):
            script = revealed(number)
            assert choose(counts, odds, rate, script) == symbol
            assert script.left == left


def test_each_symbol_of_a_list_is_drawn_by_bits_of_its_own_among_those_that_remain() -> None:
    """Numbers in the middle of every cell lead to every list of two, the bottom symbol last in order."""
    symbols = [(Fraction(1), RATE * count) for count in COUNTS] + [(BOTTOM.odds, RATE * BOTTOM.count)]
    for chosen in range(len(COUNTS)):
        one = [Fraction(0), *boundaries(symbols)]
        two = [Fraction(0), *boundaries(symbols[:chosen] + symbols[chosen + 1 :])]
        for place, (first, last) in enumerate(pairwise(two)):
            script = Script(
                int((one[chosen] + one[chosen + 1]) / 2 * 2**96).to_bytes(12, "little")
                + int((first + last) / 2 * 2**96).to_bytes(12, "little")
            )
            other = place + (place >= chosen)
            assert peel(COUNTS, RATE, 2, script, BOTTOM) == [chosen, -1 if other == len(COUNTS) else other]
            assert script.left == 0


@given(
    st.lists(st.tuples(st.fractions(Fraction(1, 10**6), 10**6), st.fractions(-300, 30)), max_size=4),
    st.sampled_from([96, 128, 500]),
)
def test_products_are_enclosed(terms: list[tuple[Fraction, Fraction]], fraction_bits: int) -> None:
    for (ratio, exponent), (low, high) in zip(terms, products(terms, fraction_bits), strict=True):
        least, most = (ratio * end * 2**fraction_bits for end in exp_bounds(exponent, fraction_bits + 200))
        assert low <= least
        assert most <= high
        assert high - low <= 2 + Fraction(most) / 2**fraction_bits


def law_of(base: Fraction, bottom: Bottom, k: int = 3) -> Law:
    return peeled({place: base**count for place, count in enumerate(COUNTS)}, k, bottom.odds * base**bottom.count)


def seen(law: Law, draw: Callable[[], list[int]]) -> np.ndarray:
    found = Counter(tuple(draw()) for _ in range(DRAWS))
    assert set(found) <= set(law)
    return np.array([found[outcome] for outcome in law])


@pytest.mark.parametrize("way", ["intervals", "integers"])
def test_every_list_has_its_chance(way: str) -> None:
    """False alarm once in 10**9; a threshold one lower is rejected with a chance above 0.999."""
    bits = TeachingBits(11)
    base = BASE if way == "integers" else exp_bounds(RATE, 200)[0]
    law, twin = law_of(base, BOTTOM), law_of(base, TWIN)
    if way == "integers":
        observed = seen(law, lambda: peel_integers(COUNTS, BASE, 3, bits, BOTTOM))
    else:
        observed = seen(law, lambda: peel(COUNTS, RATE, 3, bits, BOTTOM))
    chances, wrong = (np.array([float(each[outcome]) for outcome in law]) for each in (law, twin))
    assert p_value(observed, chances) > FALSE_ALARM
    assert p_value(observed, wrong) < FALSE_ALARM
    assert power(DRAWS, chances, wrong) > 0.999


def test_the_head_of_a_list_does_not_hide_its_tail() -> None:
    """After a count of 10**18 the odds of 1 and 0 are e to 1; in doubles they would be equal."""
    bits = TeachingBits(5)
    lists = [peel([10**18, 1, 0], Fraction(1), 3, bits) for _ in range(4000)]
    assert all(each[0] == 0 for each in lists)
    ahead = sum(each[1] == 1 for each in lists) / 4000
    assert abs(ahead - 0.7311) < 0.05  # seven standard deviations
    assert abs(ahead - 0.5) > 0.18


def test_bits_read_tell_the_length_of_the_list_and_nothing_more() -> None:
    """An obvious winner takes as many bits as any other, and so does the only symbol there is."""
    for counts, bottom, length in [
        ([10**9, 0], None, 2),
        ([5, 5], None, 2),
        ([10**9] * 3, Bottom(0, Fraction(1)), 3),
        ([], Bottom(7, Fraction(1, 3)), 1),
        ([4], None, 1),
    ]:
        script = Script(bytes(range(7, 7 + FRACTION_BITS // 8)) * 5)
        assert len(peel(counts, Fraction(1), 3, script, bottom)) == length
        assert script.left == (5 - length) * FRACTION_BITS // 8


def test_counts_and_rates_of_any_size_are_drawn_from() -> None:
    bits = TeachingBits(3)
    assert peel([10**30, 7, 10**30 - 1], Fraction(10**6), 3, bits) == [0, 2, 1]
    assert peel([3, 2], Fraction(10**3), 5, bits, Bottom(10**18, Fraction(1, 10**300))) == [-1]
    assert sorted(peel([10**18, 0, 5], Fraction(1, 10**400), 3, bits)) == [0, 1, 2]
    assert peel([10**18, 10**18], Fraction(1, 10**9), 2, bits, Bottom(0, Fraction(10**300))) in ([0, 1], [1, 0])
    assert peel([], Fraction(1), 2, bits) == []
    assert choose([-(10**18), -(10**18) - 1], [Fraction(1, 10**9), Fraction(1)], Fraction(100), bits) == 0


def test_parameters_out_of_range_are_refused_before_a_bit_is_read() -> None:
    script = Script(b"")
    for arguments in [(Fraction(0), 1), (Fraction(-1), 1), (Fraction(1), 0)]:
        with pytest.raises(ParameterError):
            peel([1], *arguments, script)
    with pytest.raises(ParameterError, match="odds must be positive"):
        peel([1], Fraction(1), 1, script, Bottom(1, Fraction(0)))
    with pytest.raises(ParameterError, match="base must be above 1"):
        peel_integers([1], Fraction(1), 1, script)
    for odds in ([], [Fraction(1)], [Fraction(1), Fraction(-1)]):
        with pytest.raises(ParameterError):
            choose([1, 2], odds, Fraction(1), script)


def test_numbers_of_an_array_are_whole_numbers_too() -> None:
    """2**62 times a rate of 1000 does not fit into 64 bits."""
    counts, bits = np.array([2, 2**62]), TeachingBits(1)
    assert peel(counts, Fraction(1000), 2, bits) == [1, 0]
    assert choose(counts, [Fraction(1), Fraction(1)], Fraction(1000), bits) == 1
    assert peel_integers(np.array([2, 60]), Fraction(2), 2, bits) == [1, 0]
