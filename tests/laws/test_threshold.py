"""A noisy threshold, max projection and ALP's errors: closed forms against sums over all that can be drawn."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

from dpviz.errors import ParameterError
from dpviz.exact import Decay
from dpviz.laws import alp
from dpviz.laws.alp import Flips
from dpviz.laws.alp_errors import errors, laws_of_few
from dpviz.laws.max_projection import BucketError
from dpviz.laws.threshold import (
    Sizes,
    Thresholded,
    approximate_threshold,
    pure_threshold,
    tight_threshold,
)

HALF, THIRDS = Decay.rational(Fraction(1, 2)), Decay.rational(Fraction(2, 3))
FAR = 120
"""Noise beyond this has a chance below 10**-20 with these decays."""


def noise(decay: Decay) -> dict[int, Fraction]:
    assert decay.ratio is not None
    r = decay.ratio
    return {z: (1 - r) / (1 + r) * r ** abs(z) for z in range(-FAR, FAR + 1)}


def drawn(decay: Decay, threshold: int, value: int, otherwise: dict[float, float]) -> dict[float, float]:
    """The law of |error| by going through the noise and the other estimate."""
    law: dict[float, float] = {}
    for z, chance in noise(decay).items():
        if value + z >= threshold:
            law[abs(z)] = law.get(abs(z), 0.0) + float(chance)
        else:
            for size, share in otherwise.items():
                law[size] = law.get(size, 0.0) + float(chance) * share
    return law


@pytest.mark.parametrize("decay", [HALF, THIRDS])
@pytest.mark.parametrize("threshold", [1, 4, 9])
def test_means_tails_and_quantiles_are_those_of_all_that_can_be_drawn(decay: Decay, threshold: int) -> None:
    law = Thresholded(decay, threshold)
    for value, spread in itertools.product(range(0, 20, 3), ({}, {0.0: 0.25, 1.5: 0.5, 7.25: 0.25})):
        rest = spread or {float(value): 1.0}
        otherwise = Sizes(np.array(list(rest)), np.array(list(rest.values())))
        exact = drawn(decay, threshold, value, rest)
        assert law.mean_error(value, otherwise) == pytest.approx(sum(a * b for a, b in exact.items()), abs=1e-9)
        for reach in (0, 0.5, 1.5, 3, 7.25, 12):
            tail = sum(chance for size, chance in exact.items() if size > reach + 1e-9)
            assert law.tail(value, otherwise, reach) == pytest.approx(tail, abs=1e-9)
        for beta in (0.3, 0.05, 0.001, 1e-6):
            found = law.quantile(value, otherwise, beta)
            sizes = sorted({0.0, *exact})
            least = next(s for s in sizes if sum(c for size, c in exact.items() if size > s + 1e-9) <= beta + 1e-12)
            assert found == pytest.approx(least), (value, rest, beta)


def test_a_shown_value_counts_from_the_threshold_on_and_one_higher_is_another_law() -> None:
    exact = drawn(HALF, 4, 4, {4.0: 1.0})
    mean = sum(a * b for a, b in exact.items())
    assert Thresholded(HALF, 4).mean_error(4, Sizes.always(4)) == pytest.approx(mean, abs=1e-12)
    assert abs(Thresholded(HALF, 5).mean_error(4, Sizes.always(4)) - mean) > 0.1


@pytest.mark.parametrize("decay", [HALF, THIRDS])
def test_thresholds_are_the_least_that_keep_their_promise(decay: Decay) -> None:
    assert decay.ratio is not None
    r = decay.ratio
    for d in (1, 2, 100, 2**32):
        t = pure_threshold(decay, d)
        held = [r**k / (1 + r) <= Fraction(1, 2 * d * d) for k in (t - 1, t)]
        assert held == [False, True] or (t == 1 and held[1])
    for delta in (Fraction(9, 10), Fraction(1, 2), Fraction(1, 100), Fraction(1, 10**9)):
        t = tight_threshold(decay, delta)
        assert r ** (t - 1) / (1 + r) <= delta and (t == 1 or r ** (t - 2) / (1 + r) > delta)
    for epsilon, level in ((Fraction(1), 10**6), (Fraction(1, 7), 3), (Fraction(5), 10**9)):
        t = approximate_threshold(epsilon, Fraction(1, level))
        assert t - 1 < math.log(level) / epsilon + 2 <= t
    with pytest.raises(ParameterError):
        approximate_threshold(Fraction(1), Fraction(1))


def test_the_paper_s_worst_entry_is_dropped_half_of_the_time() -> None:
    # c.4: at x = t the error is t/2 + 1/(2 eps) for continuous noise; a fine grid comes near
    epsilon, t = Fraction(1, 100), 2_000
    law = Thresholded(Decay.exp(epsilon), t)
    assert law.mean_error(t, Sizes.always(t)) == pytest.approx(t / 2 + 1 / (2 * float(epsilon)), rel=0.005)


def test_max_projection_s_bounds_hold_over_all_hash_functions() -> None:
    values, buckets = [3, 0, 1, 25], 8
    law = BucketError(HALF, Fraction(3, buckets), Fraction(sum(values), buckets))
    for key, own in enumerate(values):
        added: dict[int, int] = {}
        for places in itertools.product(range(buckets), repeat=4):
            largest = max(value for value, place in zip(values, places, strict=True) if place == places[key])
            added[largest - own] = added.get(largest - own, 0) + 1
        share = {more: Fraction(times, buckets**4) for more, times in added.items()}
        off: dict[int, Fraction] = {}
        for (more, a), (z, b) in itertools.product(share.items(), noise(HALF).items()):
            off[abs(more + z)] = off.get(abs(more + z), Fraction(0)) + a * b
        assert sum(size * chance for size, chance in off.items()) <= law.mean_bound()
        for reach in (0, 3, 6, 12):
            assert sum(chance for size, chance in off.items() if size > reach) <= law.tail_bound(reach)
        if own == 0:  # nobody meets 25 by chance 1/8: without the sum of the others the bound would be broken
            assert (
                sum(size * chance for size, chance in off.items())
                > BucketError(HALF, law.load, Fraction(0)).mean_bound()
            )
            assert sum(chance for size, chance in off.items() if size > 12) > BucketError(
                HALF, Fraction(0), law.total
            ).tail_bound(12)


def test_max_projection_has_no_tail_where_keys_meet_too_often() -> None:
    alone = BucketError(HALF, Fraction(0), Fraction(0))
    assert alone.mean_bound() == Fraction(4, 3) and alone.quantile_bound(Fraction(1, 20)) == 4
    law = BucketError(HALF, Fraction(1, 25), Fraction(9))
    reach = law.quantile_bound(Fraction(1, 20))
    assert reach is not None and law.tail_bound(reach) <= Fraction(1, 20) < law.tail_bound(reach - 1)
    assert BucketError(HALF, Fraction(1, 20), Fraction(0)).quantile_bound(Fraction(1, 20)) is None
    with pytest.raises(ParameterError):
        BucketError(HALF, Fraction(-1), Fraction(0))


@pytest.mark.parametrize("flips", [Flips(Fraction(13, 64)), Flips(Fraction(2, 5), Fraction(1, 3))])
def test_all_values_at_once_have_the_exact_laws_of_each(flips: Flips) -> None:
    for m in (1, 2, 7, 10):
        laws = laws_of_few(m, flips)
        for y in range(m + 1):
            exact = alp.estimates(m, y, flips)
            values, chances = laws[y]
            kept = dict(zip((Fraction(value).limit_denominator(m + 1) for value in values), chances, strict=True))
            assert all(kept[value] == pytest.approx(float(chance), abs=1e-12) for value, chance in exact.items())
            assert chances.sum() == pytest.approx(1)
    others = [laws_of_few(7, Flips(p))[3][1].tolist() for p in (Fraction(1, 4), Fraction(13, 64))]
    assert others[0] != others[1]


def test_a_value_between_two_whole_numbers_of_bits_errs_like_a_mixture_of_both() -> None:
    flips, m, bits = Flips(Fraction(1, 4)), 6, 0.5
    found = errors(laws_of_few(m, flips), 5, bits)  # 2.5 bits
    expected: dict[float, float] = {}
    for y in (2, 3):
        for value, chance in alp.estimates(m, y, flips).items():
            size = abs(float(value) / bits - 5)
            expected[round(size, 9)] = expected.get(round(size, 9), 0.0) + float(chance) / 2
    kept = {value: chance for value, chance in zip(found.values, found.chances, strict=True) if chance > 0}
    assert kept == pytest.approx(expected)
    beyond = errors(laws_of_few(m, flips), 100, bits)
    assert beyond.values.min() == pytest.approx(100 - m / bits) and beyond.mean > 100 - m / bits


def test_small_numbers_of_bits_have_the_errors_that_the_notes_give() -> None:
    # c.5: d = 1000, eps1 = eps2 = 1/2, alpha 3, q 0.1: mean error 5.82 at 0, 3.63 at t, 2.0 at 2 t; a fine grid
    flips, step = Flips(Fraction(1, 5), Fraction(1, 10)), 100
    t = round(2 * math.log(1000) / 0.5 * step)
    m, bits = math.ceil(t / step * 0.5 / 3), 0.5 / 3 / step
    kept, laws = Thresholded(Decay.exp(Fraction(1, 2 * step)), t), laws_of_few(m, flips)
    found = [kept.mean_error(x, errors(laws, x, bits)) / step for x in (0, t, 2 * t)]
    assert found == pytest.approx([5.82, 3.63, 2.0], abs=0.01)
