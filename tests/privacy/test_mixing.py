"""Lemma 3.2: close to pure, mixed with a fixed law, is pure; and a little further off it is not."""

from __future__ import annotations

from fractions import Fraction

import pytest

from dpviz.errors import ParameterError
from dpviz.exact import exp_bounds
from dpviz.privacy.mixing import mix, odds_of, paper_delta, required_delta, worst_odds

ODDS = Fraction(3)
PURE = ({"a": Fraction(3, 4), "b": Fraction(1, 4)}, {"a": Fraction(1, 4), "b": Fraction(3, 4)})
FIXED = {"a": Fraction(9, 10), "b": Fraction(1, 10)}
GAMMA = Fraction(1, 4)
LEAST = Fraction(1, 10)


def moved(law: dict[str, Fraction], delta: Fraction) -> dict[str, Fraction]:
    """delta of the mass of b moved to a."""
    return {"a": law["a"] + delta, "b": law["b"] - delta}


def apart(delta: Fraction) -> Fraction | None:
    """The odds of the mixture for two neighbours whose laws are off by delta in opposite directions."""
    first, second = (mix(moved(law, by), FIXED, GAMMA) for law, by in zip(PURE, (delta, -delta), strict=True))
    return worst_odds(first, second)


def test_the_required_distance_keeps_the_odds_and_is_attained() -> None:
    """At the outcome where D is least: (1 - g)(3/4 + d) + g/10 over (1 - g)(1/4 - d) + g/10 is 3 at the required d."""
    delta = required_delta(ODDS, GAMMA, LEAST)
    assert delta == Fraction(2, 4) * Fraction(1, 3) * Fraction(1, 10)
    assert apart(delta) == ODDS


@pytest.mark.parametrize("factor", [Fraction(101, 100), Fraction(2)], ids=str)
def test_a_larger_distance_breaks_the_odds(factor: Fraction) -> None:
    worst = apart(factor * required_delta(ODDS, GAMMA, LEAST))
    assert worst is not None and worst > ODDS


def test_without_mixing_an_outcome_may_be_possible_on_one_side_only() -> None:
    off = moved(PURE[0], Fraction(1, 4))
    assert worst_odds(off, PURE[1]) is None
    assert worst_odds(mix(off, FIXED, GAMMA), mix(PURE[1], FIXED, GAMMA)) is not None


def test_a_mixture_is_a_law_over_all_outcomes_of_both() -> None:
    mixed = mix({"a": Fraction(1)}, {"b": Fraction(1, 2), "c": Fraction(1, 2)}, Fraction(1, 5))
    assert mixed == {"a": Fraction(4, 5), "b": Fraction(1, 10), "c": Fraction(1, 10)}
    assert mix(PURE[0], FIXED, Fraction(0)) == PURE[0]


@pytest.mark.parametrize("e", range(1, 60))
def test_the_printed_delta_meets_the_lemma_at_the_nominal_epsilon(e: int) -> None:
    n, size, g = 2, 5, 2**20
    least = Fraction(1, (3 * size) ** n)
    assert paper_delta(e, g, n, size) <= required_delta(odds_of(Fraction(1, e)), Fraction(1, g), least)


def test_the_printed_delta_does_not_always_meet_it_at_the_ratio_in_force() -> None:
    """The spec names 1/epsilon = 5, 9, 10 and 17 among those that fail with p/q = (2**k + 1)/2**k."""
    failing = []
    for e in range(1, 18):
        q = 1 << (2 * e - 1).bit_length()
        odds, least = Fraction(q + 1, q) ** 2, Fraction(1, 15**2)
        if paper_delta(e, 2**20, 2, 5) > required_delta(odds, Fraction(1, 2**20), least):
            failing.append(e)
        assert paper_delta(e, 2**20, 2, 5) / 2 <= required_delta(odds, Fraction(1, 2**20), least)
    assert failing == [5, 9, 10, 17]


def test_the_printed_third_of_epsilon_is_too_much_above_epsilon_2_58() -> None:
    """epsilon/3 against (e^epsilon - 1)/(e^epsilon + 1), the lemma's factor."""
    for epsilon, fits in ((Fraction(257, 100), True), (Fraction(259, 100), False)):
        odds = odds_of(epsilon)
        assert (epsilon / 3 <= (odds - 1) / (odds + 1)) is fits


def test_odds_are_rounded_down() -> None:
    assert odds_of(Fraction(1, 3)) == exp_bounds(Fraction(1, 3))[0] < exp_bounds(Fraction(1, 3))[1]


@pytest.mark.parametrize(
    ("odds", "gamma", "least"),
    [(1, Fraction(1, 2), 1), (2, 0, 1), (2, 1, 1), (2, Fraction(1, 2), 0), (2, Fraction(1, 2), 2)],
)
def test_what_the_lemma_does_not_cover_is_refused(odds: int, gamma: Fraction, least: int) -> None:
    with pytest.raises(ParameterError):
        required_delta(Fraction(odds), Fraction(gamma), Fraction(least))
