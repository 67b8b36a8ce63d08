"""Looking at a random part of the records: the loss by enumeration, and what goes wrong with the other relation."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from fractions import Fraction

import numpy as np
import pytest

from dpviz.errors import ParameterError
from dpviz.privacy.amplification import amplified
from dpviz.privacy.loss import ApproxDP, PureDP

STEP = Fraction(1, 10**9)
Law = Callable[[Sequence[int]], float]


def loss_of(mechanism: Law, size: int) -> float:
    """The worst log-ratio over neighbours that differ in one of `size` bits; the mechanism gives the chance of a 1."""
    worst = 0.0
    for data in itertools.product((0, 1), repeat=size):
        for place in range(size):
            other = [*data[:place], 1 - data[place], *data[place + 1 :]]
            p, q = mechanism(data), mechanism(other)
            worst = max(worst, math.log(p / q), math.log((1 - p) / (1 - q)))
    return worst


def test_a_fixed_part_in_random_order_costs_no_more_than_said_and_sometimes_as_much() -> None:
    """100 random mechanisms on ordered pairs, of three records; response to the first record meets the price."""
    generator = np.random.default_rng(41)
    said = float(amplified(PureDP(Fraction(1)), Fraction(2, 3), "fixed", "replace-one", STEP).epsilon)
    for _ in range(100):
        table = {
            pair: float(x) for pair, x in zip(itertools.product((0, 1), repeat=2), generator.random(4), strict=True)
        }
        scale = loss_of(lambda pair, table=table: 0.3 + 0.4 * table[tuple(pair)], 2)
        priced = math.log(1 + 2 / 3 * (math.exp(scale) - 1))

        def sampled(data: Sequence[int], table: dict[tuple[int, int], float] = table) -> float:
            pairs = list(itertools.permutations(range(3), 2))
            return sum(0.3 + 0.4 * table[data[a], data[b]] for a, b in pairs) / len(pairs)

        assert loss_of(sampled, 3) <= priced + 1e-12
    keep = math.e / (1 + math.e)

    def first(data: Sequence[int]) -> float:
        return sum(keep if bit else 1 - keep for bit in data) / len(data)

    exact = amplified(PureDP(Fraction(1)), Fraction(1, 3), "fixed", "replace-one", STEP)
    assert isinstance(exact, PureDP)
    assert loss_of(first, 3) == pytest.approx(float(exact.epsilon), abs=2e-9) and said > float(exact.epsilon)


def test_keeping_the_order_would_cost_more() -> None:
    """Two of three records in their order, handed to a mechanism that looks at places: 7/4 where 5/3 is said."""

    def ordered(pair: Sequence[int]) -> float:
        return 0.01 * 2.0 ** -((pair[0] != 1) + (pair[1] != 0))

    def kept_in_order(data: Sequence[int]) -> float:
        return sum(ordered((data[a], data[b])) for a, b in itertools.combinations(range(3), 2)) / 3

    said = amplified(PureDP(Fraction(math.log(2))), Fraction(2, 3), "fixed", "replace-one", STEP)
    worst = max(
        kept_in_order(data) / kept_in_order([*data[:i], 1 - data[i], *data[i + 1 :]])
        for data in itertools.product((0, 1), repeat=3)
        for i in range(3)
    )
    assert worst == pytest.approx(7 / 4) and worst > math.exp(float(said.epsilon)) * 1.04


def test_coins_do_nothing_for_replace_one_and_are_refused_there() -> None:
    """On nothing a constant, on one bit randomised response with 3/4: coins of 1/4 leave the ratio at 3, not 3/2."""
    p, q = 0.25 * 0.75, 0.25 * 0.25  # the chances to hear "1" from {1} and from {0}; else the constant is heard
    assert p / q == 3
    loss = PureDP(Fraction(math.log(3)))
    with pytest.raises(ParameterError, match="add-remove"):
        amplified(loss, Fraction(1, 4), "poisson", "replace-one", STEP)
    with pytest.raises(ParameterError, match="replace-one"):
        amplified(loss, Fraction(1, 4), "fixed", "add-remove", STEP)
    fine = amplified(loss, Fraction(1, 4), "poisson", "add-remove", STEP)
    assert math.exp(float(fine.epsilon)) == pytest.approx(3 / 2, abs=1e-8)


def test_delta_shrinks_with_the_share_and_nothing_grows() -> None:
    smaller = amplified(ApproxDP(Fraction(1, 2), Fraction(1, 10**6)), Fraction(1, 10), "poisson", "add-remove", STEP)
    assert isinstance(smaller, ApproxDP) and smaller.delta == Fraction(1, 10**7)
    assert (
        math.log(1 + 0.1 * (math.exp(0.5) - 1))
        <= float(smaller.epsilon)
        <= math.log(1 + 0.1 * (math.exp(0.5) - 1)) + 2e-9
    )
    assert amplified(PureDP(Fraction(1)), Fraction(1), "fixed", "replace-one", STEP) == PureDP(Fraction(1))
    for share in (Fraction(0), Fraction(3, 2)):
        with pytest.raises(ParameterError, match="share"):
            amplified(PureDP(Fraction(1)), share, "fixed", "replace-one", STEP)
    with pytest.raises(ParameterError, match="choice must be"):
        amplified(PureDP(Fraction(1)), Fraction(1, 2), "sorted", "replace-one", STEP)  # type: ignore[arg-type]
