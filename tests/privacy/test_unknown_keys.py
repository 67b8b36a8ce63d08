"""The delta of a threshold on keys that one unit alone has, held against the product of the laws of all keys."""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Callable
from fractions import Fraction
from functools import cache

import numpy as np
import pytest

import dpviz as dv
from dpviz.exact import Decay
from dpviz.laws.geometric import TwoSidedGeometric
from dpviz.model.question import Question
from dpviz.privacy.unknown_keys import Filled, fullest_keys, shown_at_most
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
    p, q = law(one, rate, threshold, top), law(other, rate, threshold, top)
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


# ---------------------------------------------------------------- thresholds


def test_thresholds_over_unknown_keys_are_those_of_the_direct_price() -> None:
    """(1, 0.000001): by group privacy a user of 10 keys took 161, and one of 100 keys 1828."""
    keys = Question.of(dv.Domain.keys(column="x"))
    for (most, each), least in {
        (1, 1): 15,
        (5, 1): 76,
        (10, 1): 156,
        (100, 1): 1775,
        (1, 10): 142,
        (10, 10): 1553,
    }.items():
        unit = dv.Unit("user", max_bins=most, max_per_bin=each)
        decay = Decay.exp(Fraction(1, most * each))
        for threshold, holds in ((least, True), (least - 1, False)):
            tau = TwoSidedGeometric(decay).above(threshold - each - 1)
            assert (1 - (1 - tau[0]) ** most <= Fraction(1, 10**6)) == holds
        assert dv.Stability(1, "1e-6").bind(keys, unit).threshold + 1 == least
        assert dv.Threshold(1, "1e-6").bind(keys, unit).cut.least == least


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
