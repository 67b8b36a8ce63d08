"""Samplers of a Poisson number of records, and of a random part: exact laws by walking every way the coins may fall."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from fractions import Fraction

import pytest
from scipy import stats

from dpviz.errors import ParameterError
from dpviz.noise.bits import Bits, TeachingBits
from dpviz.noise.uniform import bernoulli
from dpviz.privacy.amplification import amplified
from dpviz.privacy.loss import PureDP
from dpviz.sampling.poisson import coin_part, fixed_part, poissonised, shuffled
from tests.sampling.every import law


def test_parts_of_fixed_size_are_uniform_over_all_orders() -> None:
    for m in range(5):
        wanted = {part: Fraction(math.factorial(4 - m), 24) for part in itertools.permutations("abcd", m)}
        assert law(lambda bits, m=m: tuple(fixed_part("abcd", m, bits))) == wanted
    assert law(lambda bits: tuple(shuffled("abc", bits))) == {
        order: Fraction(1, 6) for order in itertools.permutations("abc")
    }
    with pytest.raises(ParameterError, match="m must"):
        fixed_part("abcd", 5, TeachingBits(1))


def test_parts_by_coins_keep_each_record_by_itself() -> None:
    found = law(lambda bits: "".join(coin_part("abc", Fraction(1, 4), bits)))
    assert len(found) == 8
    assert all(
        chance == Fraction(1, 4) ** len(part) * Fraction(3, 4) ** (3 - len(part)) for part, chance in found.items()
    )
    with pytest.raises(ParameterError, match="share"):
        coin_part("abc", Fraction(5, 4), TeachingBits(1))


def told(records: Sequence[int], bits: Bits) -> int:
    """Randomised response about a single bit, with the chance 3/4 of the truth; of no record, a constant."""
    return 0 if not records else records[0] ^ (not bernoulli(Fraction(3, 4), bits))


def test_a_part_by_coins_does_not_protect_a_replaced_record_as_the_paper_says() -> None:
    """The ratio stays 3 at a share of 1/4, where the formula has 3/2; a part of fixed size of four records meets it."""
    one, other = (law(lambda bits, x=x: told(coin_part([x], Fraction(1, 4), bits), bits)) for x in (0, 1))
    assert max(one[y] / other[y] for y in (0, 1) if other.get(y)) < Fraction(3)

    def seen(x: int) -> dict[tuple[int, int], Fraction]:
        """With the number of records kept, which such a sampler may tell."""

        def sampler(bits: Bits) -> tuple[int, int]:
            part = coin_part([x], Fraction(1, 4), bits)
            return len(part), told(part, bits)

        return law(sampler)

    one_seen, other_seen = seen(0), seen(1)
    assert max(one_seen[y] / other_seen[y] for y in one_seen) == 3
    claimed = 1 + Fraction(1, 4) * (3 - 1)
    assert claimed == Fraction(3, 2) < 3
    worst = max(
        chance / there[y]
        for rest in itertools.product((0, 1), repeat=3)
        for here, there in [
            [law(lambda bits, x=x, rest=rest: told(fixed_part([x, *rest], 1, bits), bits)) for x in (0, 1)]
        ]
        for y, chance in here.items()
    )
    assert worst == claimed
    step = Fraction(1, 10**9)
    price = amplified(PureDP(Fraction(1098612289, 10**9)), Fraction(1, 4), "fixed", "replace-one", step)
    assert price.epsilon == pytest.approx(math.log(1.5), abs=1e-8)


def test_a_part_in_the_order_of_the_records_costs_more_than_one_in_random_order() -> None:
    """The sampler 0.01 * 2**-([u != 1] + [v != 0]) of two records u, v: 7/4 against 5/3 at 2 of 3 records."""

    def sampler(u: int, v: int) -> Fraction:
        return Fraction(1, 100) / 2 ** ((u != 1) + (v != 0))

    def chance(records: tuple[int, ...], ordered: bool) -> Fraction:
        pairs = itertools.combinations(records, 2) if ordered else itertools.permutations(records, 2)
        chances = [sampler(u, v) for u, v in pairs]
        return sum(chances, Fraction(0)) / len(chances)

    def worst(ordered: bool) -> Fraction:
        return max(
            chance((*rows[:place], x, *rows[place:]), ordered) / chance((*rows[:place], y, *rows[place:]), ordered)
            for rows in itertools.product((0, 1), repeat=2)
            for place in range(3)
            for x, y in ((0, 1), (1, 0))
        )

    claimed = 1 + Fraction(2, 3) * (2 - 1)
    assert worst(ordered=True) == Fraction(7, 4) > claimed >= worst(ordered=False)


def first(records: Sequence[int], bits: Bits) -> int:
    assert len(records) == 3
    return records[bits.below(3)]


def test_a_poissonised_sampler_errs_by_no_more_than_the_chance_of_too_few() -> None:
    """Exact law over Po(2n) records of two labels, n = 3: its distance is at most Pr[Po(6) < 3] < exp(-1/2)."""
    p, short = 0.3, float(stats.poisson.cdf(2, 6))
    total = 0.0
    for size in range(40):
        weight = float(stats.poisson.pmf(size, 6))
        if size < 3:
            total += weight * poissonised([0] * size, 3, first, 1, TeachingBits(1))
            continue
        for records in itertools.product((0, 1), repeat=3):  # those beyond the third are never looked at
            chances = law(lambda bits, r=records: poissonised([*r, *[0] * 20], 3, first, 1, bits))
            total += weight * p ** sum(records) * (1 - p) ** (3 - sum(records)) * float(chances.get(1, 0))
    assert abs(total - p) == pytest.approx(short * (1 - p), abs=1e-9)
    assert short < math.exp(-3 / 6)
