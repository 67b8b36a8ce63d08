"""The law of ALP's estimate: few bits by all strings, many bits by two walks, and what one moved value costs."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

from dpviz.errors import ParameterError
from dpviz.laws import alp
from dpviz.laws.alp import Flips, Walks


def read(bits: tuple[int, ...]) -> Fraction:
    """The estimate by its definition."""
    sums = [0, *itertools.accumulate(2 * bit - 1 for bit in bits)]
    highest = [place for place, sum_ in enumerate(sums) if sum_ == max(sums)]
    return Fraction(sum(highest), len(highest))


def law_of(m: int, y: int, flips: Flips) -> dict[Fraction, Fraction]:
    found: dict[Fraction, Fraction] = {}
    for bits in itertools.product((0, 1), repeat=m):
        chance = Fraction(1)
        for place, bit in enumerate(bits):
            one = 1 - flips.p if place < y else flips.raised
            chance *= one if bit else 1 - one
        found[read(bits)] = found.get(read(bits), Fraction(0)) + chance
    return found


def test_the_paper_s_worked_figure() -> None:
    assert read((1, 1, 1, 0, 1, 0, 0, 1)) == 4 and read((0,) * 5) == 0 and read((1,) * 5) == 5


@pytest.mark.parametrize("flips", [Flips(Fraction(1, 5)), Flips(Fraction(13, 64), Fraction(1, 10))])
def test_the_law_of_few_bits_is_that_of_all_strings(flips: Flips) -> None:
    for m in range(1, 9):
        for y in range(m + 1):
            law = alp.estimates(m, y, flips)
            assert law == law_of(m, y, flips) and sum(law.values()) == 1


def test_a_law_that_takes_the_first_highest_place_is_another() -> None:
    flips, m, y = Flips(Fraction(1, 5)), 6, 3
    first: dict[Fraction, Fraction] = {}
    for bits in itertools.product((0, 1), repeat=m):
        sums = [0, *itertools.accumulate(2 * bit - 1 for bit in bits)]
        chance = math.prod(
            (1 - flips.p if bit else flips.p) if place < y else (flips.raised if bit else 1 - flips.raised)
            for place, bit in enumerate(bits)
        )
        value = Fraction(sums.index(max(sums)))
        first[value] = first.get(value, Fraction(0)) + chance
    assert first != alp.estimates(m, y, flips)


@pytest.mark.parametrize(
    ("q", "mean", "deviation", "absolute", "quantile"),
    [
        ("0", 0.0, 7.64, 4.660, 11.21),
        ("0.01", 0.171, 7.85, 4.782, 11.53),
        ("0.1", 2.336, 10.81, 6.458, 15.84),
        ("0.2", None, 18.69, 10.849, 27.46),
    ],
)
def test_the_figures_of_section_9_for_alpha_3(
    q: str, mean: float | None, deviation: float, absolute: float, quantile: float
) -> None:
    """At epsilon 1: a step of y is worth alpha, and the fraction of what is rounded is uniform."""
    walks = Walks(Flips(Fraction(1, 5), Fraction(q)))
    assert abs(walks.law[1].sum() - 1) < 1e-10
    fractions = (np.arange(50) + 0.5) / 50
    parts = [walks.rounded(fraction) for fraction in fractions]
    off = 3 * np.concatenate([part[0] for part in parts])
    weight = np.concatenate([part[1] for part in parts]) / 50
    if mean is not None:
        assert abs(off @ weight - mean) < 0.001
    assert abs(math.sqrt(off**2 @ weight - (off @ weight) ** 2) - deviation) < 0.006
    assert abs(np.abs(off) @ weight - absolute) < 0.001
    order = np.argsort(np.abs(off))
    reached = np.abs(off)[order][np.searchsorted(np.cumsum(weight[order]), 0.9)]
    assert abs(reached - quantile) < 0.03


@pytest.mark.parametrize("flips", [Flips(Fraction(1, 8)), Flips(Fraction(1, 8), Fraction(1, 5))])
def test_two_walks_are_the_law_of_many_bits(flips: Flips) -> None:
    """Sixteen bits with y in their middle differ from endless ones by what happens beyond eight bits."""
    values, chances = Walks(flips).law
    law = alp.estimates(16, 8, flips)
    reach = 4 * float(flips.raised * (1 - flips.raised))
    beyond = 4 * reach**4
    for value, chance in law.items():
        close = chances[np.abs(values - float(value - 8)) < 1e-6].sum()
        assert abs(close - float(chance)) < beyond


def test_bounds_hold_and_the_sharper_one_is_sharper() -> None:
    for p, q in [("1/5", "0"), ("1/5", "1/10"), ("1/12", "1/20"), ("1/4", "0")]:
        flips = Flips(Fraction(p), Fraction(q))
        values, chances = Walks(flips).law
        mean = float(np.abs(values) @ chances)
        assert mean <= alp.sharper_mean_bound(flips) <= alp.mean_bound(flips)
        for reach in range(1, 60, 4):
            assert Walks(flips).tail(reach - 1e-6) <= alp.tail_bound(flips, Fraction(reach)) + 1e-12
        for m, y in itertools.product((1, 4, 9), range(10)):
            if y <= m:
                law = alp.estimates(m, y, flips)
                assert sum(abs(value - y) * chance for value, chance in law.items()) <= alp.sharper_mean_bound(flips)
    assert round(alp.quantile_bound(Flips(Fraction(1, 5), Fraction(1, 10)), Fraction(1, 10)) * 3 + 3, 3) == 75.337


# ---------------------------------------------------------------- the price


def worst(alpha_: Fraction, m: int, low: Fraction, high: Fraction) -> Fraction:
    """The largest likelihood ratio of all strings of m bits, for two values in bits, without other keys."""
    p = 1 / (alpha_ + 2)

    def chances(value: Fraction) -> dict[tuple[int, ...], Fraction]:
        down = math.floor(value)
        found: dict[tuple[int, ...], Fraction] = {}
        for y, part in ((down, 1 - (value - down)), (down + 1, value - down)):
            if not part:
                continue
            for bits in itertools.product((0, 1), repeat=m):
                as_is = sum(bit == (place < y) for place, bit in enumerate(bits))
                found[bits] = found.get(bits, Fraction(0)) + part * (1 - p) ** as_is * p ** (m - as_is)
        return found

    one, other = chances(low), chances(high)
    return max(max(one[bits] / other[bits], other[bits] / one[bits]) for bits in one)


def test_the_price_of_one_moved_value_is_met_and_never_passed() -> None:
    met = 0
    for alpha_ in (Fraction(1), Fraction(3), Fraction(38, 13)):
        for steps in range(9):
            for start in (Fraction(0), Fraction(1, 3), Fraction(1)):
                moved = Fraction(steps, 3)
                ratio = worst(alpha_, 5, start, start + moved)
                assert ratio <= alp.odds(alpha_, moved)
                met += ratio == alp.odds(alpha_, moved)
                assert float(alp.odds(alpha_, moved)) <= math.exp(alpha_ * moved) * (1 + 1e-12)
    assert met >= 40


def test_a_price_of_one_bit_less_is_passed() -> None:
    alpha_ = Fraction(3)
    assert worst(alpha_, 5, Fraction(0), Fraction(2)) > alp.odds(alpha_, Fraction(2)) / (1 + alpha_) ** 1 * 2


def test_the_bits_for_a_ratio_are_what_that_ratio_pays_for() -> None:
    for alpha_ in (Fraction(1, 2), Fraction(3)):
        for ratio in (Fraction(1), Fraction(11, 10), Fraction(4), Fraction(271, 100), Fraction(40), Fraction(1000)):
            assert alp.odds(alpha_, alp.bits_for(alpha_, ratio)) == ratio
    low, high = alp.loss(Fraction(3), Fraction(1, 3))
    assert float(low) == pytest.approx(math.log(2)) and low <= high


@pytest.mark.parametrize(("p", "q"), [("1/2", "0"), ("0", "0"), ("1/5", "1/2"), ("1/5", "-1/100")])
def test_flips_that_leave_no_estimate_are_refused(p: str, q: str) -> None:
    with pytest.raises(ParameterError):
        Flips(Fraction(p), Fraction(q))


@pytest.mark.parametrize("flips", [Flips(Fraction(1, 5)), Flips(Fraction(13, 64), Fraction(1, 10))])
def test_the_chance_to_read_nothing_is_that_of_all_strings_of_more_and_more_bits(flips: Flips) -> None:
    for y in (0, 1, 3):
        found = [float(alp.estimates(m, y, flips).get(Fraction(0), Fraction(0))) for m in (6, 10, 14)]
        many = alp.chance_of_nothing(flips, y)
        assert found[0] > found[1] > found[2] > many > found[2] - (found[1] - found[2])


@pytest.mark.parametrize("flips", [Flips(Fraction(1, 5)), Flips(Fraction(13, 64), Fraction(1, 10))])
@pytest.mark.parametrize("m", [14, 16])
def test_tails_of_many_bits_hold_for_every_value_and_are_not_far_off(flips: Flips, m: int) -> None:
    """Against all strings: no value of y bits is off by more, more often; and a quarter less does not hold."""
    tails = alp.Tails(flips, m)

    def beyond(y: int, off: float) -> float:
        return float(sum((part for one, part in alp.estimates(m, y, flips).items() if abs(one - y) > off), Fraction(0)))

    for beta in (0.1, 0.05):
        reach = tails.within(beta)
        worst = [
            float(
                sum((part for value, part in alp.estimates(m, y, flips).items() if abs(value - y) > off), Fraction(0))
            )
            for off in (Fraction(reach), Fraction(reach) * Fraction(3, 5))
            for y in (0, m // 2, m)
        ]
        assert max(worst[:3]) <= beta < max(worst[3:])
        for y in (0, m // 2, m):
            off = float(
                sum((part for value, part in alp.estimates(m, y, flips).items() if abs(value - y) > 3), Fraction(0))
            )
            assert off <= tails.of(y, 3) <= 2.2 * off
