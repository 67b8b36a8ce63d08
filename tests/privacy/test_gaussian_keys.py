"""The price of Gaussian noise behind a threshold, held against the product of the laws of all keys."""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Callable, Iterable
from contextlib import suppress
from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np
import pytest
from scipy import stats

import dpviz as dv
from dpviz.laws.gaussian import gaussian_tail
from dpviz.mechanisms.gaussian_keys import key_moves
from dpviz.model.question import Question
from dpviz.privacy import gaussian_keys
from dpviz.privacy.discrete_gaussian import Shifts, calibrate, delta_bounds
from dpviz.privacy.gaussian_keys import KeyMoves, Splits, calibrate_keys
from tests.soak.amounts import part

Vector = tuple[int, ...]
Floats = np.ndarray
NEAR = 1e-7
"""Relative distance at which a delta is told from the worst one: floats add up to it within 1e-9."""

KEYS = Question.of(dv.Domain.keys(column="x"))
MILLIONTH = Fraction(1, 10**6)


def shown_law(count: int, variance: float, threshold: int, top: int) -> Floats:
    """Hidden, and each noisy value from the threshold to `top`, which nothing exceeds with a chance that counts."""
    if count == 0:
        return np.array([1.0, *[0.0] * (top - threshold + 1)])
    z = np.arange(-60, 61)
    weights = np.exp(-(z.astype(float) ** 2) / (2 * variance))
    chances = np.zeros(top + 61)
    np.add.at(chances, np.maximum(count + z, 0), weights / weights.sum())
    return np.array([chances[:threshold].sum(), *chances[threshold : top + 1]])


def gathered(p: Floats, q: Floats) -> tuple[Floats, Floats]:
    """Two laws in which outcomes that say the same of both are one."""
    with np.errstate(divide="ignore", invalid="ignore"):
        said = np.round(np.where((p > 0) | (q > 0), np.log(p) - np.log(q), 0.0), 9)
    _, places = np.unique(said, return_inverse=True)
    return np.bincount(places, p), np.bincount(places, q)


@cache
def told_apart(one: int, other: int, variance: float, threshold: int) -> tuple[Floats, Floats]:
    top = max(threshold, one, other) + 61
    return gathered(*(shown_law(count, variance, threshold, top) for count in (one, other)))


@cache
def excess(pairs: tuple[tuple[int, int], ...], variance: float, threshold: int, odds: float) -> float:
    """By how much the product of the laws of these keys exceeds `odds` times the other at most."""
    p = q = np.ones(1)
    for one, other in pairs:
        here, there = told_apart(one, other, variance, threshold)
        p, q = gathered(np.outer(p, here).ravel(), np.outer(q, there).ravel())
    return float(np.maximum(p - odds * q, 0).sum())


def worst_of(moves: Iterable[tuple[Vector, Vector]], variance: float, threshold: int, epsilon: float) -> float:
    """Over neighbours of one unit beside other records, which make keys common at low and at high counts."""
    found, bases = 0.0, (0, 1, 3, 200)
    for before, after in moves:
        for base in itertools.product(bases, repeat=len(before)):
            pairs = [(b + x, b + y) for b, x, y in zip(base, before, after, strict=True) if x != y]
            for ends in (pairs, [(y, x) for x, y in pairs]):
                found = max(found, excess(tuple(sorted(ends)), variance, threshold, math.exp(epsilon)))
    return found


def moves_of(keys: int, each: int, replaced: bool, records: int | None = None) -> list[tuple[Vector, Vector]]:
    """One unit's records before and after, in keys that it leaves and in others that it joins."""
    sides = [one for one in itertools.product(range(each + 1), repeat=keys) if records is None or sum(one) <= records]
    none = (0,) * keys
    if not replaced:
        return [(one, none) for one in sides]
    return [((*one, *none), (*none, *other)) for one in sides for other in sides]


CASES = [
    (1, 1, False, "3", 4, "1"),
    (2, 1, False, "4", 4, "1"),
    (2, 2, False, "9", 6, "3/2"),
    (3, 1, False, "5", 4, "1/2"),
    (3, 2, False, "20", 9, "1"),
    (1, 1, True, "4", 5, "1"),
    (1, 2, True, "9", 6, "1"),
    (1, 3, True, "30", 9, "1/2"),
    (2, 1, True, "6", 6, "1"),
    (2, 1, True, "3", 4, "2"),
]
"""Keys, records in each, whether units are replaced, variance, threshold, epsilon. The two deltas are of one size."""


def case_moves(keys: int, each: int, replaced: bool) -> KeyMoves:
    return KeyMoves(((each, keys * (2 if replaced else 1)),), (((each, keys),),), replaced)


@cache
def worst_case(keys: int, each: int, replaced: bool, variance: str, threshold: int, epsilon: str) -> float:
    rows = moves_of(keys, each, replaced)
    if keys * each * (2 if replaced else 1) > 4:  # full keys, empty ones, and single records
        rows = [pair for pair in rows if all(number in (0, 1, each) for side in pair for number in side)]
    return worst_of(rows, float(Fraction(variance)), threshold, float(Fraction(epsilon)))


@pytest.mark.parametrize(("keys", "each", "replaced", "variance", "threshold", "epsilon"), CASES)
def test_the_price_is_never_below_the_worst_over_all_neighbours_and_little_above(
    keys: int, each: int, replaced: bool, variance: str, threshold: int, epsilon: str
) -> None:
    """Come or go, it is the worst; of replaced units the formula leaves out that hidden keys tell of themselves, too,
    which is an eighth where delta is a fifth, and vanishes with it."""
    worst = worst_case(keys, each, replaced, variance, threshold, epsilon)
    told = formula(keys, each, replaced, variance, threshold, float(Fraction(epsilon)))
    splits = Splits(case_moves(keys, each, replaced), Fraction(variance), Fraction(epsilon))
    assert worst * (1 - NEAR) <= told <= worst * (1.125 if replaced else 1 + NEAR)
    assert splits.cost_at_most(Fraction(told * (1 + NEAR)), threshold)
    assert not splits.cost_at_most(Fraction(told * (1 - NEAR)), threshold)


def tau(variance: str, threshold: int, count: int) -> float:
    return float(gaussian_tail(Fraction(variance), threshold - count)[1])


def common(number: int, each: int, variance: str, epsilon: float) -> float:
    """The delta of keys that both neighbours have, by its definition."""
    return excess(((1000 + each, 1000),) * number, float(Fraction(variance)), 1, math.exp(epsilon)) if number else 0.0


def ends_alone(keys: int, each: int, replaced: bool, variance: str, threshold: int, epsilon: float) -> float:
    """A twin: all keys new, or all keys common, and nothing in between."""
    number = keys * (2 if replaced else 1)
    return max(1 - (1 - tau(variance, threshold, each)) ** keys, common(number, each, variance, epsilon))


def one_record(keys: int, each: int, replaced: bool, variance: str, threshold: int, epsilon: float) -> float:
    """A twin: keys that hold one record are as full as the threshold expects."""
    any_new = [1 - (1 - tau(variance, threshold, 1)) ** number for number in range(keys + 1)]
    return shared(any_new, keys, each, replaced, variance, epsilon)


def one_key_fewer(keys: int, each: int, replaced: bool, variance: str, threshold: int, epsilon: float) -> float:
    any_new = [1 - (1 - tau(variance, threshold, each)) ** max(0, number - 1) for number in range(keys + 1)]
    return shared(any_new, keys, each, replaced, variance, epsilon)


def formula(keys: int, each: int, replaced: bool, variance: str, threshold: int, epsilon: float) -> float:
    """The price, split by split in floats: one to all keys of a unit new or gone, and the others common."""
    any_new = [1 - (1 - tau(variance, threshold, each)) ** number for number in range(keys + 1)]
    number = keys * (2 if replaced else 1)
    return max(d + (1 - d) * common(number - j, each, variance, epsilon) for j, d in enumerate(any_new))


def shared(any_new: list[float], keys: int, each: int, replaced: bool, variance: str, epsilon: float) -> float:
    number, found = keys * (2 if replaced else 1), 0.0
    for new, gone in itertools.product(range(keys + 1), repeat=2):
        if replaced or not new or not gone:
            at = epsilon + math.log1p(-any_new[gone]) - math.log1p(-any_new[new])
            left = common(number - new - gone, each, variance, at) or max(0.0, -math.expm1(at))
            found = max(found, any_new[new] + (1 - any_new[new]) * left)
    return found


@pytest.mark.parametrize(("twin", "at_least"), [(ends_alone, 5), (one_record, 4), (one_key_fewer, 10)])
def test_near_wrong_prices_are_told_from_the_worst_over_all_neighbours(
    twin: Callable[[int, int, bool, str, int, float], float], at_least: int
) -> None:
    """Each is off by more than the comparison allows in this number of cases, or more."""
    off = 0
    for keys, each, replaced, variance, threshold, epsilon in CASES:
        worst = worst_case(keys, each, replaced, variance, threshold, epsilon)
        told = twin(keys, each, replaced, variance, threshold, float(Fraction(epsilon)))
        off += abs(told - worst) > 10 * NEAR * worst
    assert off >= at_least


def test_with_the_odds_of_hidden_keys_the_formula_is_the_worst_in_every_case() -> None:
    for keys, each, replaced, variance, threshold, epsilon in CASES:
        any_new = [1 - (1 - tau(variance, threshold, each)) ** number for number in range(keys + 1)]
        told = shared(any_new, keys, each, replaced, variance, float(Fraction(epsilon)))
        assert told == pytest.approx(worst_case(keys, each, replaced, variance, threshold, epsilon), rel=NEAR)


# ---------------------------------------------------------------- a limit on all records


@pytest.mark.parametrize("replaced", [False, True])
@pytest.mark.parametrize(("keys", "each", "records"), [(2, 2, 3), (3, 2, 4), (2, 3, 4), (2, 2, 2)])
def test_under_a_limit_on_all_records_no_neighbours_differ_by_more_than_is_charged(
    keys: int, each: int, records: int, replaced: bool
) -> None:
    if replaced and keys > 2:
        keys = 2
    unit = dv.Unit(
        "user", relation="replace-one" if replaced else "add-remove", max_bins=keys, max_per_bin=each,
        max_records=records,
    )  # fmt: skip
    epsilon, delta = Fraction(1), Fraction(1, 50)
    found = calibrate_keys(key_moves(KEYS, unit), epsilon, delta)
    moves = [
        pair
        for pair in moves_of(keys, each, replaced, records)
        if all(sum(side) in (0, records) for side in pair)  # a unit of fewer records moves less
    ]
    worst = worst_of(moves, float(found.variance), found.threshold, float(epsilon))
    assert 0 < worst <= float(delta)
    lower = worst_of(moves, float(found.variance), found.threshold - 4 * each, float(epsilon))
    assert lower > float(delta)


def limits(draw: random.Random) -> dv.Unit:
    keys, each = draw.randint(1, 12), draw.choice([1, 2, 3, 5, 9])
    return dv.Unit(
        "user", relation=draw.choice(["add-remove", "replace-one"]), max_bins=keys, max_per_bin=each,
        max_records=draw.choice([None, each, draw.randint(1, keys * each)]),
    )  # fmt: skip


def test_fullest_keys_are_the_worst_move_only_where_no_unit_may_spread_its_records() -> None:
    """As for counts: of three records in three keys at most, 3 in one and 1 in each are two moves."""
    draw = random.Random(4)
    spread = 0
    for _ in range(200):
        unit, bins = limits(draw), draw.randint(1, 30)
        moved = key_moves(Question.of(dv.Domain.integers(0, bins - 1, column="x")), unit).shifts
        counts = Shifts.of(unit, bins)
        assert moved.squared >= counts.squared
        if not counts.each:
            spread += 1
            assert not moved.each and (not moved.worst or moved.entries >= counts.entries)
    assert spread > 30
    three = dv.Unit("user", max_bins=3, max_per_bin=3, max_records=3)
    assert key_moves(KEYS, three).shifts == Shifts.within(9, 3) != Shifts.box(1, 3)


def test_beside_the_noise_keys_of_both_sides_are_charged() -> None:
    """One side as full as it gets, and as many keys of the other as any unit has, which hold nothing."""
    draw, apart = random.Random(9), 0
    for _ in range(part(400, 60)):
        unit = limits(draw)
        if unit.relation == "add-remove":
            continue
        epsilon, delta = (
            draw.choice([Fraction(3), Fraction(12), Fraction(20)]),
            draw.choice([Fraction(1, 5), MILLIONTH]),
        )
        keys = key_moves(KEYS, unit)
        found = calibrate_keys(keys, epsilon, delta)
        if proved(keys, found.variance, found.threshold, epsilon, delta):
            continue  # the two share delta
        apart += 1
        most = max(sum(many for _, many in way) for way in keys.own)
        for way in keys.own:
            hidden = [(amount, many) for amount, many in (*way, (0, most))]
            logs = [many * math.log1p(-tail(found.variance, found.threshold - amount)) for amount, many in hidden]
            assert -math.expm1(sum(logs)) <= float(gaussian_keys.APART * delta) * (1 + NEAR)
    assert apart > 10


def proved(keys: KeyMoves, variance: Fraction, threshold: int, epsilon: Fraction, delta: Fraction) -> bool:
    """Whether new and common keys share delta, as `calibrate_keys` proves it."""
    if keys.box is None:
        return False
    noise = calibrate(keys.shifts, epsilon, gaussian_keys.SHARE * delta)
    if noise.variance != variance or noise.rule != "exact":
        return False
    return Splits(keys, variance, epsilon, gaussian_keys.SHARE * delta).cost_at_most(delta, threshold)


def tail(variance: Fraction, least: int) -> float:
    return float(gaussian_tail(variance, least)[1])


# ---------------------------------------------------------------- thresholds


STATED = {
    "1e-9": {1: (303, 66, 35, 14), 5: (704, 151, 79, 29), 10: (1012, 217, 113, 41), 100: (3370, 718, 371, 132)},
    "1e-6": {1: (175, 40, 22, 9), 5: (414, 93, 50, 19), 10: (599, 135, 71, 27), 100: (2041, 454, 239, 89)},
    "1e-5": {1: (133, 32, 18, 8), 5: (319, 75, 40, 16), 10: (465, 108, 58, 23), 100: (1602, 368, 196, 74)},
}
"""The least count that is shown, at epsilon 1/10, 1/2, 1 and 3."""


@pytest.mark.parametrize("delta", STATED)
def test_thresholds_of_a_user_in_some_keys_are_those_that_are_provable(delta: str) -> None:
    for keys, thresholds in STATED[delta].items():
        moved = KeyMoves(((1, keys),), (((1, keys),),), False)
        for epsilon, threshold in zip(("1/10", "1/2", "1", "3"), thresholds, strict=True):
            found = calibrate_keys(moved, Fraction(epsilon), Fraction(delta))
            assert found.threshold == threshold
            assert not proved(moved, found.variance, threshold - 1, Fraction(epsilon), Fraction(delta))


def test_every_price_is_proved_and_the_threshold_before_it_is_not() -> None:
    draw = random.Random(36)
    for _ in range(part(2_000, 60)):
        keys, each, replaced = draw.randint(1, 400), draw.randint(1, 30), draw.random() < 0.5
        epsilon, delta = Fraction(draw.randint(5, 4000), 1000), Fraction(1, 10 ** draw.randint(2, 12))
        moved = case_moves(keys, each, replaced)
        found = calibrate_keys(moved, epsilon, delta)
        assert 0 < found.chance <= delta and found.rho >= moved.shifts.squared / (2 * found.variance)
        if proved(moved, found.variance, found.threshold, epsilon, delta):
            assert not proved(moved, found.variance, found.threshold - 1, epsilon, delta)
        else:  # noise so narrow that no exact price is proved for several keys
            assert found.variance < moved.shifts.squared


def wide_formula(keys: int, replaced: bool, variance: float, threshold: int, epsilon: float) -> float:
    """The price split by split, by the continuous Gaussian, which wide noise on several keys is as good as."""
    new = np.arange(keys + 1)
    none = np.exp(new * np.log1p(-stats.norm.sf((threshold - 1.5) / math.sqrt(variance))))
    common = keys * (2 if replaced else 1) - new
    with np.errstate(divide="ignore"):
        far, near = epsilon * np.sqrt(variance / common), np.sqrt(common / variance) / 2
    delta = stats.norm.cdf(near - far) - math.exp(epsilon) * stats.norm.cdf(-near - far)
    return float(np.max(1 - none * (1 - np.where(common > 0, delta, 0))))


@pytest.mark.parametrize("replaced", [False, True])
@pytest.mark.parametrize(
    ("keys", "epsilon", "delta"),
    [(12, "1", "1e-6"), (90, "1/100", "1e-3"), (400, "1/10", "1e-3"), (400, "1/100", "1/7"), (10**4, "1", "1e-9")],
)
def test_a_run_of_splits_is_proved_at_once_only_where_each_of_them_is(
    keys: int, epsilon: str, delta: str, replaced: bool
) -> None:
    """Runs are halved down to narrow ones: they prove all that is proved split by split, but for a part of the noise's
    width."""
    found = calibrate_keys(case_moves(keys, 1, replaced), Fraction(epsilon), Fraction(delta))
    variance, wide = float(found.variance), math.ceil(0.12 * math.sqrt(found.variance))

    def told(threshold: int) -> float:
        return wide_formula(keys, replaced, variance, threshold, float(Fraction(epsilon))) / float(Fraction(delta))

    assert told(found.threshold) <= 1 + 1e-3 and told(found.threshold - wide) > 1


def test_noise_is_chosen_before_the_threshold_and_both_are_kept() -> None:
    calibrate_keys.cache_clear()
    moved = case_moves(10, 1, False)
    assert calibrate_keys(moved, Fraction(1), Fraction(1, 10**6)) is calibrate_keys(
        moved, Fraction(1), Fraction(1, 10**6)
    )
    assert gaussian_keys.SHARE < 1


@pytest.mark.parametrize("delta", ["1e-25", "1e-28", "1e-30", "1e-100", "1e-190"])
@pytest.mark.parametrize("epsilon", ["1", "333.3"])
def test_a_delta_of_few_digits_is_calibrated_too(epsilon: str, delta: str) -> None:
    """A search for a threshold that tails of some precision never prove would not end."""
    one = KeyMoves(((1, 1),), (((1, 1),),), False)
    found = calibrate_keys(one, Fraction(epsilon), Fraction(delta))
    assert 0 < found.chance <= Fraction(delta) and found.threshold > 1


@pytest.mark.parametrize("replaced", [False, True])
def test_a_threshold_is_found_in_few_steps_at_any_price_for_any_number_of_keys(
    monkeypatch: pytest.MonkeyPatch, replaced: bool
) -> None:
    """A walk to it, one number after the other, took hours at (1e-9, 1e-6), and a proof of each split of 200 replaced
    keys half a minute."""
    tails: list[int] = []
    tail, bounds = gaussian_keys.gaussian_tail, gaussian_keys.delta_bounds
    sums: list[int] = []

    def counted(*asked: Any) -> Any:
        tails.append(asked[1])
        assert len(tails) <= 400
        return tail(*asked)

    def bounded(*asked: Any, **more: Any) -> Any:
        sums.append(asked[0].entries)
        assert len(sums) <= 100
        return bounds(*asked, **more)

    monkeypatch.setattr(gaussian_keys, "gaussian_tail", counted)
    monkeypatch.setattr(gaussian_keys, "delta_bounds", bounded)
    chance, found = random.Random(11), 0
    for epsilon in ("1e-9", "1e-6", "1/1000", "1/7", "10", "333.3"):
        for delta in ("1e-30", "1e-12", "1e-6", "1/7"):
            keys, each = chance.choice((1, 2, 10, 100, 201, 10**6, 10**18)), chance.choice((1, 7, 10**6))
            tails.clear()
            sums.clear()
            calibrate_keys.cache_clear()
            with suppress(dv.DpvizError):
                found += (
                    calibrate_keys(case_moves(keys, each, replaced), Fraction(epsilon), Fraction(delta)).threshold > 0
                )
    assert found > 15


@pytest.mark.parametrize("keys", [10**8, 2**53 - 1, 10**18])
@pytest.mark.parametrize(("epsilon", "delta"), [("1e-9", "0.999"), ("1", "1/2"), ("5", "1e-6"), ("12", "1e-28")])
def test_where_the_exact_rule_would_need_billions_of_digits_the_renyi_rule_is_taken(
    keys: int, epsilon: str, delta: str
) -> None:
    """The factor e^tau between both grows with the number of keys: at (5, 1e-6) a calibration did not end, and at
    (1e-9, 0.999) it ended in infinity."""
    moved = case_moves(keys, 1, False)
    noise = calibrate(moved.shifts, Fraction(epsilon), Fraction(delta) / 2)
    found = calibrate_keys(moved, Fraction(epsilon), Fraction(delta))
    assert noise.rule == "renyi" and noise.rho >= keys / (2 * noise.variance)
    assert found.variance >= noise.variance and 0 < found.chance <= Fraction(delta)


def test_the_delta_of_common_keys_is_added_up_where_integrals_are_too_wide() -> None:
    """Just above the variance from which integrals are tried, they enclose 5e-33 by 8e-27."""
    splits = Splits(case_moves(10, 1, False), Fraction("7.20293"), Fraction("13.7"))
    box = Shifts.box(9, 1)
    near = delta_bounds(box, box.worst[0], Fraction("7.20293"), Fraction("13.7"), added=True)
    wide = delta_bounds(box, box.worst[0], Fraction("7.20293"), Fraction("13.7"), added=False)
    assert splits.common(9) == near[1] < wide[1] / 10**5
