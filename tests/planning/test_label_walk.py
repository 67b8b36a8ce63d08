"""Labels drawn by bits, step by step: the run is that of the reduction, and the bars are its laws."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from scipy import integrate, stats

from dpviz.laws.product import naive_deviation
from dpviz.noise.bits import TeachingBits
from dpviz.planning import label_walk
from dpviz.planning.label_walk import (
    CROWDS,
    HOLDERS,
    SPECIAL,
    BitSampler,
    biases,
    label_law,
    people,
    plan_for,
    steps_off,
    true_chances,
    walk,
)
from dpviz.privacy.renyi import rho_for
from dpviz.sampling.reduction import label_distance, label_of_bits
from tests.sampling.every import law


@pytest.mark.parametrize("crowd", CROWDS)
def test_a_walk_is_the_draw_of_the_reduction_with_the_same_coins(crowd: int) -> None:
    plan = plan_for(crowd)
    for seed in (1, 2):
        found, records = walk(crowd, seed), people(crowd, seed)
        assert found["label"] == plan.draw(records, BitSampler(rho_for(*plan.inside)), TeachingBits(seed))
        assert sum(found["people"]) == len(records) and found["people"][1] == found["people"][4] == 0
        assert all(a <= b for a, b in zip(found["looked"], found["people"], strict=True))
        assert found["rows"] == plan.rows and len(found["row"]) == len(found["shares"]) == 6
        for hit, bit in zip("".join(found["hits"]), "".join(found["bits"]), strict=True):
            assert bit <= hit
        for place, (hit, ones, share) in enumerate(zip(found["hit"], found["ones"], found["shares"], strict=True)):
            label = place + (place >= found["special"])
            assert 0 <= ones <= hit <= found["people"][label] - found["looked"][label]
            assert abs(share - ones / plan.rows) < 7 * naive_deviation(6, plan.rows, rho_for(*plan.inside))
        tilted = [math.exp(float(plan.epsilon) / 4 * (count - max(found["looked"]))) for count in found["looked"]]
        assert found["chances"] == pytest.approx([one / sum(tilted) for one in tilted], rel=1e-3)


def test_the_law_of_the_label_is_that_of_every_way_the_coins_fall() -> None:
    chances = np.array([0.1, 0.03, 0.2, 0.0, 0.4, 1.0])
    wanted = [0.0] * 7
    for row in itertools.product((0, 1), repeat=6):
        weight = math.prod(p if bit else 1 - p for p, bit in zip(chances, row, strict=True))
        for label, chance in law(lambda bits, row=row: label_of_bits(row, SPECIAL, bits)).items():
            wanted[label] += weight * float(chance)
    assert label_law(chances) == pytest.approx(wanted, abs=1e-12)


def test_bits_with_the_right_chances_leave_exactly_the_distance_of_the_map() -> None:
    a = plan_for(400).a
    exactly = sum(abs(float(p) - q) for p, q in zip(true_chances(a), label_law(biases(a)), strict=True)) / 2
    assert exactly == pytest.approx(float(label_distance(3, a)), abs=1e-12) == steps_off(400)["map"]
    assert sum(true_chances(a)) == 1 and [label for label, p in enumerate(true_chances(a)) if p == a / 3] == list(
        HOLDERS
    )


@pytest.mark.parametrize("crowd", [400, 2000])
def test_the_bars_are_the_means_over_people_and_noise(crowd: int) -> None:
    """The chance of a 1 by an integral over the noise for every number of ones; noise for n rows, not for those that
    are left, would be refused."""
    plan, off = plan_for(crowd), steps_off(crowd)
    rho = rho_for(*plan.inside)

    def drawn(p: float, deviation: float) -> float:
        ones = np.arange(plan.rows + 1)
        pmf = stats.binom.pmf(ones, plan.rows, p)

        def mean(share: float) -> float:
            inside, _ = integrate.quad(
                lambda y: y * stats.norm.pdf(y, share, deviation), 0, 1, points=[min(1.0, share)], epsabs=1e-10
            )
            return float(inside + stats.norm.sf(1, share, deviation))

        return sum(float(chance) * mean(t / plan.rows) for t, chance in enumerate(pmf) if chance > 1e-8)

    def distances(deviation: float) -> tuple[float, float]:
        at = {p: drawn(p, deviation) for p in (0.0, 0.1)}
        found = np.array([at[p] for p in biases(plan.a).tolist()])
        bits = 0.0
        for row in itertools.product((0, 1), repeat=6):
            one, other = (
                math.prod(p if bit else 1 - p for p, bit in zip(law_, row, strict=True))
                for law_ in (found, biases(plan.a))
            )
            bits += abs(one - other) / 2
        label = sum(abs(float(p) - q) for p, q in zip(true_chances(plan.a), label_law(found), strict=True)) / 2
        return bits, label

    bits, label = distances(naive_deviation(6, plan.rows, rho))
    assert off["bits"] == pytest.approx(bits, rel=2e-3) and off["label"] == pytest.approx(label, rel=2e-3)
    assert off["label"] <= off["bits"] + off["map"]
    assert distances(naive_deviation(6, crowd, rho))[0] < 0.9 * off["bits"]


def test_the_bound_on_missing_the_special_label_is_above_what_pairs_of_labels_come_to() -> None:
    plan = plan_for(1000)
    mean, tilt = float(plan.share * 1000), float(plan.epsilon) / 4
    assert mean == pytest.approx(2 * float(plan.few), abs=2)
    counts = np.arange(500)
    total = float(stats.poisson.cdf(math.ceil(plan.few) - 1, mean))
    for label, p in enumerate(true_chances(plan.a)):
        if label == SPECIAL:
            continue
        own = stats.poisson.pmf(counts, mean * float(true_chances(plan.a)[SPECIAL]))
        other = stats.poisson.pmf(counts, mean * float(p))
        total += float(own @ (1 / (1 + np.exp(tilt * (counts[:, None] - counts[None, :])))) @ other)
    assert 0 < total <= steps_off(1000)["missed"] < 1e-15


def test_where_too_few_are_put_aside_the_last_label_is_given_and_nothing_follows(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(label_walk, "people", lambda crowd, seed: (2,) * 20)
    walk.cache_clear()
    found = walk(400, 3)
    walk.cache_clear()
    assert found["special"] is None and found["label"] == 6 and found["rows"] == 0 and found["row"] == []
    assert Fraction(sum(found["looked"])) < plan_for(400).few
