"""The truncated geometric law, held against its weights one by one."""

from __future__ import annotations

import math
import random
from fractions import Fraction

import pytest

from dpviz.exact import Decay, Enclosure, exp_bounds
from dpviz.laws.geometric import TwoSidedGeometric
from dpviz.laws.truncated import TruncatedGeometric

CASES = [(Fraction(1, 2), 1), (Fraction(1, 2), 9), (Fraction(3), 4), (Fraction(1, 40), 30), (Fraction(1, 7), 100)]


def chances(rate: Fraction, reach: int) -> dict[int, Enclosure]:
    weights = {z: exp_bounds(-rate * abs(z), 300) for z in range(-reach, reach + 1)}
    low, high = (sum((one[side] for one in weights.values()), Fraction(0)) for side in (0, 1))
    return {z: (least / high, most / low) for z, (least, most) in weights.items()}


def summed(parts: list[Enclosure]) -> Enclosure:
    return sum((low for low, _ in parts), Fraction(0)), sum((high for _, high in parts), Fraction(0))


def near(one: Enclosure, other: Enclosure) -> bool:
    return one[0] <= other[1] and other[0] <= one[1] and one[1] - one[0] < Fraction(1, 10**30)


@pytest.mark.parametrize(("rate", "reach"), CASES)
def test_chances_tails_and_their_sums_are_those_of_the_weights(rate: Fraction, reach: int) -> None:
    law, known = TruncatedGeometric(Decay.exp(rate), reach), chances(rate, reach)
    tails = {}
    for z in range(-reach - 2, reach + 3):
        tails[z] = summed([chance for value, chance in known.items() if value > z])
        assert near(law.pmf(z), known.get(z, (Fraction(0), Fraction(0)))) and near(law.above(z), tails[z])
        assert law.chance_above(z) == pytest.approx(float(tails[z][0]), abs=1e-15)
    for start, stop in ((0, None), (0, 2), (1, reach + 5), (3, 2)):
        upper = reach + 2 if stop is None else min(stop, reach + 2)
        assert near(law.sum_above(start, stop), summed([tails[a] for a in range(start, upper)]))


@pytest.mark.parametrize(("rate", "reach"), CASES)
def test_quantiles_are_the_least_values_that_hold(rate: Fraction, reach: int) -> None:
    law, known = TruncatedGeometric(Decay.exp(rate), reach), chances(rate, reach)
    levels = [Fraction(part, 1000) for part in (1, 7, 49, 250, 499, 501, 800, 975, 999)]
    for level, value in zip(levels, law.quantiles(levels), strict=True):
        below = summed([chance for z, chance in known.items() if z <= value])
        before = summed([chance for z, chance in known.items() if z < value])
        assert before[1] < level <= below[0]
    for target in (Fraction(1, 3), Fraction(1, 20), Fraction(1, 10**4), Fraction(1, 10**40)):
        least = law.least_above(target)
        assert law.above(least)[1] <= target and (least == 0 or law.above(least - 1)[0] > target)
        assert least <= reach


@pytest.mark.parametrize(("rate", "reach"), CASES)
def test_every_size_is_exceeded_less_often_than_without_truncation(rate: Fraction, reach: int) -> None:
    """So sums of max(Z, 0) are bounded by those of noise that is not truncated."""
    law, whole = TruncatedGeometric(Decay.exp(rate), reach), TwoSidedGeometric(Decay.exp(rate))
    assert all(law.above(size)[1] < whole.above(size)[0] for size in range(reach + 2))


def test_floats_say_where_a_tail_falls_below_a_chance_only_where_they_are_sure() -> None:
    """Held against intervals: chances just beside a tail, at it, and anywhere; the twin goes by the nearest float."""
    draw, sure, nearest = random.Random(36), 0, 0
    for _ in range(400):
        rate, reach = Fraction(draw.randint(1, 3000), 1000), draw.randint(1, 200)
        law = TruncatedGeometric(Decay.exp(rate), reach)
        at = draw.randint(0, reach - 1)
        low, high = law.above(at, 200)
        if not low:
            continue
        for target in (low * (1 - Fraction(1, 10**20)), high * (1 + Fraction(1, 10**20)), high * 2, low / 3):
            if not 0 < target < Fraction(1, 2):
                continue
            exact = next(a for a in range(reach + 1) if law.above(a, 300)[1] <= target)
            found = law._surely_least(target)
            assert found in (None, exact)
            assert law.least_above(target) == exact
            sure += found is not None
            rate_, y, end = law._floats
            steps = -math.log(float(target) * (1 + y - 2 * end) + end) / rate_
            nearest += min(reach, max(0, math.ceil(steps) - 1)) != exact
    assert sure > 300 and nearest > 50
