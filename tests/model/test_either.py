"""Ends from two answers of which the later was chosen by the earlier hold for every choice: the area, the corners, the
exact chance of a miss, and a staircase that is a little too large."""

from __future__ import annotations

import itertools
import random
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import pytest

from dpviz.exact import Decay
from dpviz.fitting.noises import Term
from dpviz.fitting.sums import NoiseSum, Quantile
from dpviz.model import either
from dpviz.model.either import LEAST, EitherError, area, steps
from dpviz.model.linear import Ends, LinearError
from dpviz.model.sum_errors import SumError

HALF, NONE, WHOLE = Fraction(1, 2), Fraction(0), Fraction(1)
LEVELS = [*(Fraction(1, number) for number in (2, 3, 4, 20, 40, 200, 12_345, 10**9, 10**60)), LEAST, LEAST / 2]


@dataclass(frozen=True)
class Shifted(LinearError):
    """Noise of one law, or one of which nothing is known above or below some level."""

    noise: NoiseSum
    known: Fraction = NONE

    @property
    def ends_alone(self) -> bool:
        return True

    @property
    def rule(self) -> str:
        return "a law"

    def ends(self, beta: Fraction) -> Ends:
        found = self.noise.upper(beta / 2)
        return (found, found) if beta / 2 >= self.known else (None, None)


def law(rate: Fraction) -> NoiseSum:
    return NoiseSum.of([Term(Decay.exp(rate))])


@pytest.mark.parametrize("level", LEVELS)
def test_the_levels_ascend_mirror_each_other_and_have_no_more_area_than_they_may(level: Fraction) -> None:
    levels = steps(level)
    assert list(levels) == sorted(set(levels)) and levels[-1] == 1 and len(levels) <= either.MOST + 2
    assert level * Fraction(9999, 10000) < area(levels) <= level


@pytest.mark.parametrize("level", [Fraction(1, 20), Fraction(1, 4)])
def test_no_later_p_value_however_it_is_chosen_makes_a_miss_likelier_than_the_area(level: Fraction) -> None:
    """The earlier p-value lies in each step for the chance of that step; given it, the worst later one that is allowed
    lies at most at y for y of the time, for each y. So the worst is to have it at the largest y that still misses."""
    levels = steps(level)
    worst = NONE
    for low, high in itertools.pairwise((NONE, *levels)):
        largest = max(y for x, y in zip(levels, reversed(levels), strict=True) if x >= high)
        worst += (high - low) * largest
    assert worst == area(levels) <= level


def missed(levels: Sequence[Fraction], first: NoiseSum, seconds: Sequence[NoiseSum]) -> Fraction:
    """How often a lower end lies above the truth, exactly, where the second law is chosen by the first noise to make
    that likeliest: by the tails of both noises at the reaches of each step."""
    reaches = [first.upper(level).value for level in levels[:-1]]
    rest = list(reversed(levels))
    parts = []
    for place in range(len(levels)):
        beyond = first.at_least(reaches[place] + 1)[1] if place < len(reaches) else WHOLE
        before = first.at_least(reaches[place - 1] + 1)[0] if place else NONE
        tails = [WHOLE if rest[place] == 1 else law.at_least(law.upper(rest[place]).value + 1)[0] for law in seconds]
        parts.append((beyond - before) * max(tails))
    return sum(parts, NONE)


@pytest.mark.parametrize("beta", [Fraction(1, 20), Fraction(1, 5)])
def test_a_lower_end_misses_no_oftener_than_its_level_and_one_of_a_larger_staircase_does(beta: Fraction) -> None:
    """On a fine lattice little is lost by whole numbers, so a staircase of a tenth more area is caught."""
    first, seconds = law(Fraction(1, 40)), [law(Fraction(1, number)) for number in (5, 20, 40, 160)]
    level = beta / 2
    exact = missed(steps(level), first, seconds)
    assert level * Fraction(19, 20) < exact <= level
    assert missed(steps(level * Fraction(11, 10)), first, seconds) > level


def everywhere(error: EitherError, beta: Fraction, side: int) -> Fraction:
    """The best end of all corners, one by one."""
    levels, found = steps(beta / 2), []
    sign = 1 if side else -1
    for corner, (x, y) in enumerate(zip(levels, reversed(levels), strict=True)):
        reaches = [
            value + sign * one.noise.upper(level).value  # type: ignore[attr-defined,operator]
            for value, one, level in zip(error.values, error.errors, (x, y), strict=True)
            if level < 1
        ]
        assert len(reaches) == (1 if corner in (0, len(levels) - 1) else 2)
        found.append(max(reaches) if side else min(reaches))
    return min(found) if side else max(found)


def test_the_corner_that_is_searched_is_the_best_of_all() -> None:
    rng, laws = random.Random(1), [Shifted(law(Fraction(1, number))) for number in (1, 2, 7, 30)]
    for _ in range(200):
        errors = rng.choice(laws), rng.choice(laws)
        values = Fraction(rng.randrange(40)), Fraction(rng.randrange(40))
        beta = rng.choice([Fraction(1, 10), Fraction(1, 20), Fraction(1, 1000)])
        error = EitherError(values, errors, (HALF, HALF))
        below, above = error.ends(beta)
        assert below is not None and above is not None
        middle = sum(values) / 2
        low, high = everywhere(error, beta, 0), everywhere(error, beta, 1)
        if low <= high:
            assert (middle - below.value, middle + above.value) == (low, high) and not error.remark(beta)
        else:
            assert middle - below.value <= min(values) and middle + above.value >= max(values)
            assert "nothing in common" in error.remark(beta)


def test_two_answers_are_surer_than_either_and_hardly_less_sure_than_their_mean() -> None:
    """At one epsilon, against the least reach of the mean of both by its exact law: the mean half-width over all
    distances of both values is 1 to 4 % larger, and that where both agree is less."""
    rate, beta, step = Fraction(1, 100), Fraction(1, 20), 20
    alone = Shifted(law(rate))
    distance = NoiseSum.of([Term(Decay.exp(rate), 1, 2)])
    width = NONE
    for gap in range(-1600, 1600, step):
        below, above = EitherError((NONE, Fraction(gap)), (alone, alone), (HALF, HALF)).ends(beta)
        assert below is not None and above is not None
        chance = distance.at_least(Fraction(gap))[0] - distance.at_least(Fraction(gap + step))[0]
        width += chance * (below.value + above.value) / 2
    mean = NoiseSum.of([Term(Decay.exp(rate), HALF), Term(Decay.exp(rate), HALF)]).upper(beta / 2).value
    assert mean * Fraction(101, 100) < width < mean * Fraction(104, 100) < alone.noise.upper(beta / 2).value
    reach = either.reach_in_accord(alone, alone, beta)
    assert reach is not None and mean * Fraction(9, 10) < reach < width


def test_ends_that_are_known_faster_are_no_nearer_and_of_one_staircase() -> None:
    """By exponential bounds of the same corners; where one of both answers has none, there are none."""

    class Fast(Shifted):
        def far_ends(self, beta: Fraction) -> tuple[float, float]:
            far = float(self.noise.chernoff(beta / 2))
            return far, far

    beta, laws = Fraction(1, 1000), (law(Fraction(1, 3)), law(Fraction(1, 9)))
    for gap in range(-60, 61, 4):
        error = EitherError((NONE, Fraction(gap)), (Fast(laws[0]), Fast(laws[1])), (HALF, HALF))
        far, ends = error.far_ends(beta), error.ends(beta)
        assert far is not None and all(end is not None and end.value <= one for end, one in zip(ends, far, strict=True))
    assert EitherError((NONE, NONE), (Fast(laws[0]), Shifted(laws[1])), (HALF, HALF)).far_ends(beta) is not None
    assert EitherError((NONE, NONE), (Shifted(laws[0]), Shifted(laws[1])), (HALF, HALF)).far_ends(beta) is None


class OneByOne(SumError):
    """A sum whose far ends are computed for each level by itself, and kept for nobody."""

    def far_ends_at(self, betas: Sequence[Fraction]) -> list[tuple[float, float] | None]:
        found: list[tuple[float, float] | None] = []
        for beta in betas:
            level = (beta - self.spare) / 2
            ends = [float(side.chernoff(level)) for side in (self.over, self.under)] if level > 0 else []
            found.append((ends[0], ends[1]) if ends else None)
        return found


def test_far_ends_of_many_levels_at_once_are_those_of_each_level_alone() -> None:
    """Of 300 pairs of sums, clamped and not, some of which may be anything once in a while."""
    rng = random.Random(3)

    def sums() -> tuple[SumError, SumError]:
        many, rate, clamped = rng.randrange(1, 200), Decay.exp(Fraction(1, rng.choice([2, 3, 9]))), rng.random() < 0.5
        over, under = (NoiseSum.of([Term(rate, 1, many, positive)]) for positive in (clamped, False))
        spare = rng.choice([NONE, NONE, Fraction(1, 10**5), Fraction(1, 2)])
        return tuple(kind(over, under, not clamped, "a law", spare=spare) for kind in (SumError, OneByOne))  # type: ignore[return-value]

    known = 0
    for _ in range(300):
        pairs, beta = [sums(), sums()], rng.choice([Fraction(1, 20), Fraction(1, 4_000)])
        values = Fraction(rng.randrange(400)), Fraction(rng.randrange(400))
        fast, slow = (EitherError(values, (pairs[0][at], pairs[1][at]), (HALF, HALF)).far_ends(beta) for at in (0, 1))
        assert fast == slow
        known += fast is not None
    assert 200 < known < 300


def test_an_answer_of_which_nothing_is_known_leaves_the_other_alone_at_the_first_step() -> None:
    surely, never = Shifted(law(HALF)), Shifted(law(HALF), known=WHOLE)
    beta = Fraction(1, 20)
    for errors in ((surely, never), (never, surely)):
        below, above = EitherError((NONE, NONE), errors, (HALF, HALF)).ends(beta)
        want = law(HALF).upper(steps(beta / 2)[0]).value
        assert below == above == Quantile(want, want)
    assert EitherError((NONE, NONE), (never, never), (HALF, HALF)).ends(beta) == (None, None)
    assert either.reach_in_accord(never, never, beta) is None


def test_a_value_whose_second_answer_may_have_been_chosen_is_not_called_unbiased() -> None:
    error = LinearError()
    assert EitherError((NONE, NONE), (Plain(), Plain()), (HALF, HALF), chosen=False).bias == Plain().bias
    assert "chosen by the first" in EitherError((NONE, NONE), (Plain(), Plain()), (HALF, HALF)).bias.words
    assert error.at_least(WHOLE) is None


class Plain(Shifted):
    def __init__(self) -> None:
        super().__init__(law(HALF))

    @property
    def bias(self) -> either.Bias:
        return either.UNBIASED


def test_a_p_value_is_fishers_of_both_and_never_below_any_level_oftener_than_that() -> None:
    """For two p-values that are uniform on a grid, as noise on a lattice gives them; the smaller of both, unchanged, is
    the twin that is too small too often."""
    steps_ = 40
    grid = [Fraction(place, steps_) for place in range(1, steps_ + 1)]

    class At(LinearError):
        def __init__(self, chance: Fraction) -> None:
            self.chance = chance

        def at_least(self, gap: Fraction) -> tuple[Fraction, Fraction]:
            return self.chance, self.chance

    def told(x: Fraction, y: Fraction) -> Fraction:
        found = EitherError((NONE, NONE), (At(x), At(y)), (HALF, HALF)).at_least(WHOLE)
        assert found is not None
        return found[1]

    chances = [(told(x, y), min(x, y)) for x, y in itertools.product(grid, grid)]
    for level in grid[:-1]:
        assert sum(1 for chance, _ in chances if chance <= level) <= level * len(chances)
    assert any(sum(1 for _, twin in chances if twin <= level) > level * len(chances) for level in grid[:-1])
    assert told(Fraction(1, 5), WHOLE) > Fraction(1, 5) and told(WHOLE, WHOLE) == 1
