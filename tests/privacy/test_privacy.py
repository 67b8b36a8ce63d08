"""Units, losses and their conversions, against brute force where a law can be enumerated."""

from __future__ import annotations

import itertools
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpviz.errors import ConversionError, DpvizError, UnitError
from dpviz.exact import exp_bounds
from dpviz.privacy import (
    ZCDP,
    ApproxDP,
    Guarantee,
    PureDP,
    RangeBounded,
    Unit,
    compose,
    convert,
    group,
    largest,
    to_approx,
    to_zcdp,
)
from dpviz.privacy.calibration import smallest
from dpviz.privacy.grid import GRID, amount, payable, steps

half = Fraction(1, 2)
epsilons = st.fractions(min_value=Fraction(1, 100), max_value=3, max_denominator=100)
deltas = st.fractions(min_value=0, max_value=Fraction(1, 1000), max_denominator=10**9)


def test_sensitivity_follows_the_relation_and_the_bounds() -> None:
    assert Unit("row").l1() == 1
    assert Unit("row", relation="replace-one", n=10).l1() == 2
    user = Unit("aircraft", max_bins=5, max_per_bin=3)
    assert user.l1() == 15 and user.l1(bins=2) == 6
    assert Unit("aircraft", relation="replace-one", max_bins=5).l1() == 10


def test_a_unit_without_a_limit_on_its_bins_moves_all_that_are_declared_or_is_refused() -> None:
    for relation in ("add-remove", "replace-one"):
        user = Unit("aircraft", relation, max_bins=None, max_per_bin=3)
        assert user.l1(bins=7) == 21 and user.to_json()["max_bins"] is None
        assert "any number of bins, 3 in each" in user.text
        with pytest.raises(UnitError, match="has no sensitivity") as caught:
            user.l1()
        assert "max_bins" in caught.value.next_step
        assert convert(
            Guarantee(PureDP(half), Unit("aircraft", max_bins=None), "a rule"),
            Unit("aircraft", "replace-one", max_bins=None),
        ).loss == PureDP(Fraction(1))


@pytest.mark.parametrize(
    "mistake",
    [
        {"of": ""},
        {"relation": "swap"},
        {"max_bins": 0},
        {"max_bins": 2},
        {"n": 5},
        {"relation": "replace-one"},
        {"relation": "replace-one", "n": 0},
        {"of": "user", "relation": "replace-one", "n": 5},
        {"max_per_bin": "many"},
    ],
)
def test_an_incomplete_unit_is_refused(mistake: dict[str, object]) -> None:
    with pytest.raises(DpvizError) as caught:
        Unit(**mistake)  # type: ignore[arg-type]
    assert caught.value.rule or isinstance(caught.value, UnitError)


def test_a_guarantee_says_who_is_protected_and_by_how_much() -> None:
    promise = Guarantee(PureDP(Fraction(1, 5)), Unit(noun="person-year"), "a rule")
    assert promise.sentence == "0.2-differential privacy for adding or removing one person-year"
    assert promise.odds == "1.23" and promise.kind == "pure, add or remove"
    assert Guarantee(ApproxDP(half, Fraction(1, 10**6)), Unit(), "a rule").odds == ""


# ---------------------------------------------------------------- conversions, by enumeration


def laws(ratio: Fraction, leak: Fraction) -> dict[int, dict[str, Fraction]]:
    """A mechanism on 0, 1 or 2 rows that is (ln ratio, leak)-DP under add-or-remove: tight on every step."""
    clear = 1 - leak
    return {
        0: {"lo": clear * Fraction(1, 2), "hi": clear * Fraction(1, 2), "zero": leak, "one": Fraction(0)},
        1: {"lo": clear / (2 * ratio), "hi": clear * (1 - 1 / (2 * ratio)), "zero": Fraction(0), "one": leak},
        2: {"lo": clear / (2 * ratio**2), "hi": clear * (1 - 1 / (2 * ratio**2)), "zero": leak, "one": Fraction(0)},
    }


def excess(first: dict[str, Fraction], second: dict[str, Fraction], odds: Fraction) -> Fraction:
    """The hockey-stick divergence at e^epsilon = odds."""
    return sum((max(Fraction(0), first[name] - odds * second[name]) for name in first), Fraction(0))


@pytest.mark.parametrize("ratio", [Fraction(3, 2), Fraction(11, 10), Fraction(3)])
@pytest.mark.parametrize("leak", [Fraction(0), Fraction(1, 100), Fraction(1, 10)])
def test_group_privacy_covers_two_steps_and_the_naive_rule_does_not(ratio: Fraction, leak: Fraction) -> None:
    law = laws(ratio, leak)
    steps_excess = [excess(law[a], law[b], ratio) for a, b in [(0, 1), (1, 0), (1, 2), (2, 1)]]
    delta = max(steps_excess)
    odds = ratio * ratio
    real = max(excess(law[0], law[2], odds), excess(law[2], law[0], odds))
    claimed = delta * (1 + ratio)
    assert real <= claimed
    # What `group` says, with e^epsilon enclosed from above, is never below the exact rule.
    epsilon = Fraction(405465109, 10**9) if ratio == Fraction(3, 2) else None
    if epsilon is not None and delta:
        said = group(ApproxDP(epsilon, delta), 2)
        assert isinstance(said, ApproxDP)
        assert said.epsilon == 2 * epsilon
        assert said.delta >= delta * (1 + exp_bounds(epsilon)[0])


def test_a_replacement_is_a_removal_and_an_addition() -> None:
    add = Guarantee(ApproxDP(half, Fraction(1, 10**6)), Unit(noun="row"), "a rule")
    session = Unit("row", relation="replace-one", n=100, noun="row")
    there = convert(add, session)
    assert isinstance(there.loss, ApproxDP) and there.loss.epsilon == 1 and there.unit == session
    low, high = exp_bounds(half)
    assert Fraction(1, 10**6) * (1 + low) <= there.loss.delta <= Fraction(1, 10**6) * (1 + high) + Fraction(1, 10**29)
    assert convert(Guarantee(ZCDP(half), Unit(noun="row"), "a rule"), session).loss == ZCDP(Fraction(2))


def test_replace_one_says_nothing_about_adding() -> None:
    replace = Guarantee(PureDP(half), Unit("row", relation="replace-one", n=9, noun="row"), "a rule")
    with pytest.raises(ConversionError, match="says nothing about adding or removing"):
        convert(replace, Unit(noun="row"))


def test_prices_of_different_units_are_never_added() -> None:
    rows, users = Guarantee(PureDP(half), Unit(), "a rule"), Guarantee(PureDP(half), Unit("user"), "a rule")
    with pytest.raises(ConversionError):
        compose([rows, users])
    assert compose([rows, rows]).loss == PureDP(Fraction(1))


@given(epsilons, deltas)
def test_converting_never_loses(epsilon: Fraction, delta: Fraction) -> None:
    assert to_approx(PureDP(epsilon)) == ApproxDP(epsilon, Fraction(0))
    assert to_zcdp(PureDP(epsilon)).rho == epsilon**2 / 2
    assert to_zcdp(RangeBounded(epsilon, steps=3)).rho == 3 * epsilon**2 / 8
    rho, small = Fraction(1, 10), Fraction(1, 10**6)
    there = to_approx(ZCDP(rho), small)
    low = (there.epsilon - rho) ** 2 / 4 / rho  # ln(1/delta), if nothing were rounded
    assert exp_bounds(low)[1] >= 1 / small
    if delta:
        with pytest.raises(ConversionError):
            to_zcdp(ApproxDP(epsilon, delta))


# ---------------------------------------------------------------- sums and grids


def test_three_thirds_fit_in_one_and_decimals_add_exactly() -> None:
    third = payable(ApproxDP(Fraction(1, 3), Fraction(0))).epsilon
    assert 3 * third == 1 and steps(third) * 3 == GRID
    tenth = payable(ApproxDP(Fraction(1, 10), Fraction(0))).epsilon
    assert amount(3 * steps(tenth)) == Fraction(3, 10)


@given(st.fractions(min_value=0, max_value=3))
def test_what_is_charged_is_never_below_the_price(epsilon: Fraction) -> None:
    charged = payable(ApproxDP(epsilon, Fraction(0))).epsilon
    assert epsilon <= charged <= epsilon + Fraction(1, 10**12)
    assert steps(charged) >= 0


def test_largest_and_smallest_find_the_edge() -> None:
    values = [Fraction(value, 7) for value in range(1, 30)]
    for edge in itertools.chain([Fraction(0), Fraction(9)], values):
        below = [value for value in values if value <= edge]
        above = [value for value in values if value >= edge]
        assert largest(values, lambda value, edge=edge: value <= edge) == (below[-1] if below else None)  # type: ignore[misc]
        assert smallest(values, lambda value, edge=edge: value >= edge) == (above[0] if above else None)  # type: ignore[misc]
