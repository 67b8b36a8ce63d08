"""The delta of a threshold on keys that one unit alone has, held against the product of the laws of all keys."""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Callable
from decimal import Decimal, localcontext
from fractions import Fraction
from functools import cache

import numpy as np
import pytest

import dpviz as dv
from dpviz.exact import Decay
from dpviz.laws.geometric import TwoSidedGeometric
from dpviz.mechanisms.cuts import steps_behind
from dpviz.model.question import Question
from dpviz.privacy.concentrated import pure_rho
from dpviz.privacy.loss import ApproxZCDP
from dpviz.privacy.unknown_keys import Filled, fullest_keys, shown_at_most, truncated_at_most
from dpviz.session.accountant import booked
from tests.soak.amounts import part

Vector = tuple[int, ...]
Floats = np.ndarray


def chance(rate: float, threshold: int, count: int) -> float:
    """P[count + Z >= threshold], by its definition."""
    decay = math.exp(-rate)
    if threshold > count:
        return decay ** (threshold - count) / (1 + decay)
    return 1 - decay ** (count - threshold + 1) / (1 + decay)


def kept(rate: float, threshold: int, filled: Filled) -> float:
    return sum(many * -math.log1p(-chance(rate, threshold, amount)) for amount, many in filled)


def vectors(keys: int, each: int, records: int | None) -> list[Vector]:
    every = itertools.combinations_with_replacement(range(each + 1), keys)
    return [one for one in every if records is None or sum(one) <= records]


def as_filled(vector: Vector) -> Filled:
    return tuple((amount, vector.count(amount)) for amount in set(vector) if amount)


def first_full(keys: int, each: int, records: int | None) -> tuple[Filled, ...]:
    """A twin: full keys and one rest, which is the worst where an empty key is a key of tau(0)."""
    full, rest = divmod(min(keys * each, records or keys * each), each)
    return ((*([(each, full)] if full else []), *([(rest, 1)] if rest else [])),)


def all_apart(keys: int, each: int, records: int | None) -> tuple[Filled, ...]:
    """A twin: as many keys as there can be, and all other records in as few of them as possible."""
    return fullest_keys(keys, each, records)[-1:]


def worst_ways(rule: Callable[[int, int, int | None], tuple[Filled, ...]]) -> int:
    """How often a rule misses the worst vector of all, over random limits, rates and thresholds."""
    draw, missed = random.Random(36), 0
    for _ in range(part(6_000, 600)):
        keys, each = draw.randint(1, 6), draw.randint(1, 5)
        records = draw.choice((None, draw.randint(1, keys * each)))
        rate, threshold = draw.choice((0.02, 0.1, 0.3, 0.7, 2.0)), draw.randint(1, 3 * each)
        truth = max(kept(rate, threshold, as_filled(one)) for one in vectors(keys, each, records))
        missed += max(kept(rate, threshold, one) for one in rule(keys, each, records)) < truth * (1 - 1e-12)
    return missed


def test_the_ways_that_are_listed_hold_the_worst_of_all_vectors() -> None:
    assert worst_ways(fullest_keys) == 0


@pytest.mark.parametrize("twin", [first_full, all_apart], ids=lambda twin: twin.__name__)
def test_full_keys_first_or_keys_of_one_record_first_are_not_always_the_worst(
    twin: Callable[[int, int, int | None], tuple[Filled, ...]],
) -> None:
    assert worst_ways(twin) > 0


def test_every_listed_way_is_within_the_limits() -> None:
    draw = random.Random(7)
    for _ in range(2_000):
        keys, each = draw.randint(1, 40), draw.randint(1, 9)
        records = draw.randint(1, keys * each)
        for way in fullest_keys(keys, each, records):
            assert sum(many for _, many in way) <= keys and sum(amount * many for amount, many in way) == records
            assert all(1 <= amount <= each and many >= 1 for amount, many in way)


# ---------------------------------------------------------------- the product of the laws of all keys


def law(count: int, rate: float, threshold: int, top: int) -> Floats:
    """Hidden, each noisy value from the threshold to `top`, and all beyond together."""
    if count == 0:
        return np.array([1.0, *[0.0] * (top - threshold + 2)])
    values = np.arange(threshold, top + 1)
    heights = math.tanh(rate / 2) * np.exp(-rate * np.abs(values - count))
    return np.array([1 - chance(rate, threshold, count), *heights, chance(rate, top + 1, count)])


def divergence(one: Vector, other: Vector, rate: float, threshold: int, epsilon: float) -> float:
    """By how much the product of all keys' laws exceeds e^epsilon times the other at most."""
    p = q = np.ones(1)
    for first, second in zip(one, other, strict=True):
        here, there = told_apart(first, second, rate, threshold)
        p, q = np.outer(p, here).ravel(), np.outer(q, there).ravel()
    return float(np.maximum(p - math.exp(epsilon) * q, 0).sum())


@cache
def told_apart(one: int, other: int, rate: float, threshold: int) -> tuple[Floats, Floats]:
    """The laws of a key with these counts, where values that say the same of both are one."""
    top = max(threshold, one, other) + 1
    return gathered(law(one, rate, threshold, top), law(other, rate, threshold, top))


def gathered(p: Floats, q: Floats) -> tuple[Floats, Floats]:
    with np.errstate(divide="ignore", invalid="ignore"):
        said = np.round(np.where((p > 0) | (q > 0), np.log(p) - np.log(q), 0.0), 9)
    _, places = np.unique(said, return_inverse=True)
    return np.bincount(places, p), np.bincount(places, q)


def worst_of(keys: int, each: int, *, replaced: bool, rate: float, threshold: int) -> float:
    """Over all neighbours of one unit beside records that make keys common, at the bases 0, 1, 3 and 200."""
    epsilon, found = rate * keys * each * (2 if replaced else 1), 0.0
    places = keys * (2 if replaced else 1)
    for base in itertools.combinations_with_replacement((0, 1, 3, 200), places):
        for moved in itertools.product((0, 1, each), repeat=keys):
            there = (*moved, *[0] * (places - keys))
            here = [0] * places
            if replaced:  # what the other unit has, in keys of its own and in those of the first
                here[keys:] = [each] * keys
            one = tuple(b + m for b, m in zip(base, there, strict=True))
            other = tuple(b + m for b, m in zip(base, here, strict=True))
            for x, y in ((one, other), (other, one)):
                found = max(found, divergence(x, y, rate, threshold, epsilon))
    return found


CASES = [
    (1, 1, False, 0.5, 4),
    (2, 1, False, 0.3, 5),
    (2, 2, False, 0.4, 5),
    (3, 1, False, 0.5, 4),
    (1, 1, True, 0.3, 4),
    (1, 2, True, 0.2, 3),
    (2, 1, True, 0.2, 3),
    (1, 1, True, 0.05, 1),
]
"""Keys, records in each, whether units are replaced, rate of the noise, threshold; the last shows a key of one record
with a chance of 0.51 at an epsilon of 0.1, where it is no small slip that a hidden key tells of itself."""


@pytest.mark.parametrize(("keys", "each", "replaced", "rate", "threshold"), CASES)
def test_the_chance_that_any_own_key_is_shown_is_what_neighbours_differ_by_and_no_less(
    keys: int, each: int, replaced: bool, rate: float, threshold: int
) -> None:
    worst = worst_of(keys, each, replaced=replaced, rate=rate, threshold=threshold)
    stated = 1 - (1 - chance(rate, threshold, each)) ** keys
    assert worst == pytest.approx(stated, rel=1e-9)
    twins = {
        "one key fewer": 1 - (1 - chance(rate, threshold, each)) ** (keys - 1),
        "keys of one record": 1 - (1 - chance(rate, threshold, 1)) ** keys if each > 1 else 0.0,
        "one step of the threshold higher": 1 - (1 - chance(rate, threshold + 1, each)) ** keys,
    }
    assert all(worst > twin * 1.01 for twin in twins.values())
    added = keys * chance(rate, threshold, each)  # over all keys, which is more than the chance of any
    assert worst < added or keys == 1


# ---------------------------------------------------------------- truncated noise


def truncated_law(count: int, rate: float, reach: int, threshold: int, top: int) -> Floats:
    """Hidden, and each noisy value from the threshold to `top`, with noise from -reach to reach alone."""
    if count == 0:
        return np.array([1.0, *[0.0] * (top - threshold + 1)])
    z = np.arange(-reach, reach + 1)
    weights = np.exp(-rate * np.abs(z))
    chances = np.zeros(top + 1)
    np.add.at(chances, np.maximum(count + z, 0), weights / weights.sum())
    return np.array([chances[:threshold].sum(), *chances[threshold:]])


@cache
def cut_apart(one: int, other: int, rate: float, reach: int, threshold: int) -> tuple[Floats, Floats]:
    top = max(threshold, one, other) + reach
    return gathered(*(truncated_law(count, rate, reach, threshold, top) for count in (one, other)))


def truncated_worst(
    keys: int, each: int, *, replaced: bool, rate: float, reach: int, threshold: int | None = None
) -> float:
    """Over all neighbours of one unit, with keys that are new, gone, or common at low and at high counts."""
    places, epsilon = keys * (2 if replaced else 1), rate * keys * each * (2 if replaced else 1)
    least = reach + 1 if threshold is None else threshold
    found = 0.0
    for base in itertools.product((0, 1, reach, 3 * reach + each), repeat=places):
        for moved in {(each,) * keys, (1,) * keys}:
            one = [b + m for b, m in zip(base, (*moved, *[0] * (places - keys)), strict=True)]
            other = [b + m for b, m in zip(base, (*[0] * keys, *[each] * (places - keys)), strict=True)]
            for x, y in ((one, other), (other, one)):
                p = q = np.ones(1)
                for first, second in zip(x, y, strict=True):
                    here, there = cut_apart(first, second, rate, reach, least)
                    p, q = np.outer(p, here).ravel(), np.outer(q, there).ravel()
                found = max(found, float(np.maximum(p - math.exp(epsilon) * q, 0).sum()))
    return found


def truncated_tau(rate: float, reach: int, move: int) -> float:
    decay = math.exp(-rate)
    return decay ** (reach - move + 1) * (1 - decay**move) / (1 + decay - 2 * decay ** (reach + 1))


@pytest.mark.parametrize(
    ("keys", "each", "replaced", "rate", "reach"),
    [
        (1, 1, False, 0.5, 4),
        (2, 1, False, 0.3, 5),
        (2, 2, False, 0.4, 5),
        (3, 1, False, 0.5, 4),
        (1, 3, False, 0.2, 3),
        (1, 1, True, 0.3, 4),
        (1, 2, True, 0.2, 3),
        (2, 1, True, 0.2, 3),
    ],
)
def test_noise_truncated_at_the_threshold_costs_the_chance_that_any_moved_key_leaves_it(
    keys: int, each: int, replaced: bool, rate: float, reach: int
) -> None:
    worst = truncated_worst(keys, each, replaced=replaced, rate=rate, reach=reach)
    many, tau = keys * (2 if replaced else 1), truncated_tau(rate, reach, each)
    stated = 1 - (1 - tau) ** many
    assert worst == pytest.approx(stated, rel=1e-9)
    twins = {"m keys of a unit that is replaced, not 2 m": 1 - (1 - tau) ** keys if replaced else 0.0}
    twins["moves of one record"] = 1 - (1 - truncated_tau(rate, reach, 1)) ** many if each > 1 else 0.0
    twins["one step of the reach higher"] = 1 - (1 - truncated_tau(rate, reach + 1, each)) ** many
    assert all(worst > twin * 1.01 for twin in twins.values())
    if reach > each:  # noise that is truncated, at a threshold below it
        assert truncated_worst(keys, each, replaced=replaced, rate=rate, reach=reach, threshold=reach) > stated * 1.01


def renyi_over_order(p: Floats, q: Floats) -> float:
    """The largest divergence of order alpha over alpha, over many orders; the limit alpha -> 1 is the mean loss."""
    losses = np.log(p) - np.log(q)
    found = float((p * losses).sum())
    for alpha in 1 + np.exp(np.linspace(-6, 5, 60)):
        worst = float(losses.max()) * (alpha - 1)  # so that no power is too large
        found = max(found, (math.log((p * np.exp(losses * (alpha - 1) - worst)).sum()) + worst) / (alpha * (alpha - 1)))
    return found


@pytest.mark.parametrize(
    ("rate", "reach", "move"), [(0.5, 6, 1), (0.3, 5, 2), (1.0, 4, 3), (0.1, 40, 1), (0.05, 9, 9), (2.0, 3, 1)]
)
def test_truncated_noise_books_no_less_rho_than_the_values_that_both_neighbours_can_show(
    rate: float, reach: int, move: int
) -> None:
    """But for its delta the one neighbour has the noises from move - reach on, the other those up to reach - move."""
    both = np.arange(move - reach, reach + 1)  # values of a count, less that of the first neighbour
    p, q = (np.exp(-rate * np.abs(both - center)) for center in (0, move))
    steps = steps_behind(((move, 1),), Fraction(rate), Fraction(1, 10), truncated=True)
    worst = max(renyi_over_order(p / p.sum(), q / q.sum()), renyi_over_order(q / q.sum(), p / p.sum()))
    assert 0 < worst <= float(steps.rho)
    assert steps.rho < pure_rho(Fraction(rate) * move) + Fraction(1, 10**9)
    if move == 1:  # of a move by one it is half as much, so that a quarter, as of range-bounded steps, is too little
        assert worst > float(Fraction(rate) * move) ** 2 / 8


def test_no_way_to_spread_one_units_moves_costs_more_rho_than_is_booked() -> None:
    """At rate 3/2 moves of 2 and 2 are worth 5.43; 3 and 1, full and rest, are worth 5.35."""
    for far, total in itertools.product((2, 3, 4, 5), (3, 4, 5, 7, 8)):
        full, rest = divmod(total, far)
        moved = tuple((move, many) for move, many in ((far, full), (rest, 1)) if move and many)
        for rate in (Fraction(1, 10), Fraction(2, far), Fraction(1), Fraction(3, 2), Fraction(3)):
            rho = steps_behind(moved, rate, Fraction(1, 10), truncated=True).rho
            ways = itertools.combinations_with_replacement(range(far + 1), total)
            assert max(sum(pure_rho(rate * k) for k in way) for way in ways if sum(way) == total) <= rho
            assert rho <= pure_rho(rate * far) * Fraction(total, far)
            if rate * far <= 2 or not rest:
                assert rho == sum(many * pure_rho(rate * move) for move, many in moved)
    three, rate = ((3, 1), (1, 1)), Fraction(3, 2)
    full_and_rest = sum(many * pure_rho(rate * move) for move, many in three)
    assert full_and_rest < 2 * pure_rho(2 * rate) < steps_behind(three, rate, Fraction(1, 10), truncated=True).rho


def test_a_zcdp_budget_books_the_noise_of_each_key_and_not_the_whole_price() -> None:
    keys = Question.of(dv.Domain.keys(column="x"))
    for made, known in (
        (dv.Stability(1, "1e-6"), 10 * pure_rho(Fraction(1, 10))),
        (dv.Threshold(1, "1e-6"), 10 * pure_rho(Fraction(1, 10))),
        (dv.Stability(1, "1e-6", base="gaussian"), Fraction(10) / (2 * Fraction("178.66"))),
    ):
        bound = made.bind(keys, dv.Unit("user", max_bins=10))
        steps = bound.price.zcdp_steps
        assert isinstance(steps, ApproxZCDP) and steps.delta <= Fraction(1, 10**6)
        cost = booked("zcdp", bound.price.loss, steps)
        assert abs(cost["rho"] - known) < Fraction(1, 10**6) and cost["rho"] < pure_rho(Fraction(1)) / 9
        assert cost["delta"] == steps.delta and cost["shift"] == 0
        earlier = booked("zcdp", bound.price.loss, steps, "bun-steinke")
        assert earlier["rho"] == Fraction(1, 2) and earlier["delta"] == Fraction(1, 10**6)


def test_truncated_thresholds_are_the_least_whose_price_fits() -> None:
    """(1, 0.000001). With m for 2 m a replaced user of 10 keys would be cut at 249, whose delta is 0.00000196."""
    keys = Question.of(dv.Domain.keys(column="x"))
    known = {
        (1, 1, False): 15, (5, 1, False): 67, (10, 1, False): 133, (100, 1, False): 1314,
        (1, 10, False): 138, (10, 10, False): 1318, (10, 1, True): 264,
    }  # fmt: skip
    for (most, each, replaced), least in known.items():
        unit = dv.Unit("user", relation="replace-one" if replaced else "add-remove", max_bins=most, max_per_bin=each)
        sides = 2 if replaced else 1
        bound = dv.Stability(1, "1e-6").bind(keys, unit)
        assert bound.reach == bound.threshold == least - 1
        assert dv.Threshold(1, "1e-6").bind(keys, unit).cut.least == least
        moved, rate = ((each, sides * most),), Fraction(1, sides * most * each)
        assert [truncated_at_most(moved, rate, reach, Fraction(1, 10**6)) for reach in (least - 2, least - 1)] == [
            False,
            True,
        ]
    tau = truncated_tau(0.05, 249, 1)
    assert 1 - (1 - tau) ** 10 <= 1e-6 < 1.9e-6 < 1 - (1 - tau) ** 20


@pytest.mark.parametrize("most", [1, 2, 7])
@pytest.mark.parametrize("epsilon", ["40", "100", "350", "700", "1000"])
def test_a_threshold_is_found_at_every_epsilon_that_may_be_asked(epsilon: str, most: int) -> None:
    """Chances near 0 and 1 leave the range of floats, and round to 1 at 64 places, where ln(1 - tau) has no end."""
    unit, keys = dv.Unit("user", max_bins=most), Question.of(dv.Domain.keys(column="x"))
    for delta in ("0.5", "1e-6", "1e-30", "1e-190"):
        bound = dv.Stability(epsilon, delta).bind(keys, unit)
        rate, reach = Decimal(epsilon) / most, bound.reach

        def price(threshold: int, rate: Decimal = rate, truncated: bool = reach is not None) -> Decimal:
            """Of noisy counts above this threshold, by the definition, in 400 digits."""
            a = (-rate).exp()
            whole = 1 + a - 2 * a ** (threshold + 1) if truncated else 1 + a
            return 1 - (1 - a**threshold * (1 - a if truncated else 1) / whole) ** most

        with localcontext(prec=400):
            assert price(bound.threshold) <= Decimal(delta)
            assert bound.threshold == int(reach is not None) or price(bound.threshold - 1) > Decimal(delta)
        cut = dv.Threshold(epsilon, delta).bind(keys, unit).cut
        assert cut.least == max(2, bound.threshold + 1)


def test_noise_is_not_truncated_where_the_threshold_would_be_higher_or_most_of_it_thrown_away() -> None:
    keys = Question.of(dv.Domain.keys(column="x"))
    swapped = dv.Unit("user", relation="replace-one")
    bound = dv.Stability(4, "1e-6").bind(keys, swapped)
    assert bound.reach is None and bound.threshold == 7
    assert not truncated_at_most(((1, 2),), Fraction(2), 7, Fraction(1, 10**6))
    assert dv.Stability("1/1000", "1/10").bind(keys, dv.Unit("row")).reach is None
    assert dv.Stability(1, "1e-6", base="tight", cap=99).bind(keys, dv.Unit("row")).reach is None
    assert dv.Stability(1, "1e-6", variant="paper").bind(keys, dv.Unit("row")).reach is None
    sums = Question.sum("v", by=dv.Domain.keys(column="x"), low=-1, high=1, step=1)
    assert not dv.Threshold(1, "1e-6").bind(sums, dv.Unit("row")).truncated
    above = Question.sum("v", by=dv.Domain.keys(column="x"), low=0, high=3, step="0.5")
    cut = dv.Threshold(1, "1e-6").bind(above, dv.Unit("row"))
    assert cut.truncated and cut.cut.exponent == Fraction(1, 6)


# ---------------------------------------------------------------- thresholds


def test_thresholds_for_noise_that_is_not_truncated_are_those_of_the_direct_price() -> None:
    """(1, 0.000001): by group privacy a user of 10 keys took 161, and one of 100 keys 1828."""
    keys = Question.of(dv.Domain.keys(column="x"))
    known = {(1, 1): 15, (5, 1): 76, (10, 1): 156, (100, 1): 1775, (1, 10): 142, (10, 10): 1553}
    for (most, each), least in known.items():
        unit = dv.Unit("user", max_bins=most, max_per_bin=each)
        decay = Decay.exp(Fraction(1, most * each))
        for threshold, holds in ((least, True), (least - 1, False)):
            tau = TwoSidedGeometric(decay).above(threshold - each - 1)
            assert (1 - (1 - tau[0]) ** most <= Fraction(1, 10**6)) == holds
        assert dv.Stability(1, "1e-6").bind(keys, unit).whole_threshold + 1 == least


def test_a_tie_is_decided_and_one_that_is_too_long_to_decide_is_taken_as_too_large() -> None:
    quarter = Fraction(1, 4)
    for number in (1, 2, 5):
        delta = 1 - (1 - quarter) ** number
        assert shown_at_most((((1, number),),), lambda _count, _precision: (quarter, quarter), delta)
        less = delta - Fraction(1, 10**40)
        assert not shown_at_most((((1, number),),), lambda _count, _precision: (quarter, quarter), less)
    many = 100
    tie = 1 - (1 - quarter) ** many
    assert not shown_at_most((((1, many),),), lambda _count, _precision: (quarter, quarter), tie)
    more = tie + Fraction(1, 10**40)
    assert shown_at_most((((1, many),),), lambda _count, _precision: (quarter, quarter), more)
