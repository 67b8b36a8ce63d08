"""Laws of sums of noises are those of enumeration; quantiles called exact are the least that hold."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Callable
from fractions import Fraction
from functools import cache
from itertools import accumulate, product
from typing import Any

import numpy as np
import pytest

from dpviz.errors import ParameterError
from dpviz.exact import Decay, exp_bounds
from dpviz.fitting.inversion import SMALL, Inversion
from dpviz.fitting.lattice import Spectrum, fixed
from dpviz.fitting.noises import Noise, Noises, Term
from dpviz.fitting.sums import NoiseSum, Quantile, _least_above
from dpviz.fitting.tree import Design, Shape
from dpviz.laws.gaussian import DiscreteGaussian

HALF, THIRD = Decay.rational(Fraction(1, 2)), Decay.rational(Fraction(1, 3))
TENTH = Decay.exp(Fraction(1, 10))
REACH = 40
"""Noise is enumerated so far; what lies beyond is counted as missing."""

CASES = [
    [Term(HALF)],
    [Term(HALF, 1, 3)],
    [Term(HALF, 2), Term(THIRD, -3)],
    [Term(HALF, 1, 2, True)],
    [Term(HALF, -1, 2, True)],
    [Term(HALF, 1, 2, True), Term(THIRD, -2, 1, True)],
    [Term(THIRD, Fraction(1, 2), 2), Term(HALF, Fraction(-1, 3), 1, True)],
    [Term(HALF, Fraction(2, 7)), Term(HALF, Fraction(5, 7)), Term(THIRD, 1, 2)],
    [Term(DiscreteGaussian(Fraction(2, 5)), 1, 2)],
    [Term(DiscreteGaussian(Fraction(6)), 1, 2, True), Term(DiscreteGaussian(Fraction(1)), -2, 1, True)],
    [Term(DiscreteGaussian(Fraction(5)), Fraction(1, 3)), Term(THIRD, Fraction(1, 2))],
]
LEVELS = [Fraction(1, 2), Fraction(1, 20), Fraction(1, 1000), Fraction(9, 10), Fraction(1, 10**7)]

Law = dict[Fraction, Fraction]


def single(term: Term) -> Law:
    """One noise, from what the law is."""
    law: Law = {}
    for z in range(-REACH, REACH + 1):
        value = Fraction(term.weight) * (max(z, 0) if term.positive else z)
        law[value] = law.get(value, Fraction(0)) + chance(term.noise, z)
    return law


@cache
def chance(noise: Noise, z: int) -> Fraction:
    """Pr[Z = z]; of Gaussian noise, to 10**-60."""
    if isinstance(noise, Decay):
        assert noise.ratio is not None
        return (1 - noise.ratio) / (1 + noise.ratio) * noise.ratio ** abs(z)
    weights = [exp_bounds(-Fraction(at * at) / (2 * noise.variance), 250)[0] for at in range(REACH + 60)]
    return weights[abs(z)] / (weights[0] + 2 * sum(weights[1:]))


@cache
def enumerated(case: int) -> Law:
    """The law of a sum, rounded down to 2**-120 on the way: lower bounds, and what is missing is the error."""
    total = {Fraction(0): 2**120}
    for term in CASES[case]:
        one = [(value, mass.numerator, mass.denominator) for value, mass in single(term).items()]
        for _ in range(term.count):
            further: dict[Fraction, int] = {}
            for (a, p), (b, n, d) in product(total.items(), one):
                further[a + b] = further.get(a + b, 0) + p * n // d
            total = {value: mass for value, mass in further.items() if mass}
    return {value: Fraction(mass, 2**120) for value, mass in total.items()}


@cache
def summed(case: int) -> tuple[list[Fraction], list[Fraction]]:
    """The values of a sum, and what lies at each of them and above; at the end 0."""
    law = sorted(enumerated(case).items())
    beyond = list(accumulate((mass for _, mass in reversed(law)), initial=Fraction(0)))
    return [value for value, _ in law], beyond[::-1]


def above(case: int, value: Fraction) -> tuple[Fraction, Fraction]:
    values, beyond = summed(case)
    low = beyond[bisect_right(values, value)]
    return low, low + 1 - beyond[0]


def sums() -> list[NoiseSum]:
    return [NoiseSum.of(case) for case in CASES]


ROOM = Fraction(1, 10**10)
"""How wide a tail is, at most, where floats lose a little in the transforms of Gaussian noise."""


def of_gaussians(case: int) -> bool:
    return any(isinstance(term.noise, DiscreteGaussian) for term in CASES[case])


def check_tails(tail: Callable[[NoiseSum, Fraction], tuple[Fraction, Fraction]], within: Fraction) -> None:
    for case, one in enumerate(sums()):
        for at in range(-12, 13):
            value = at * one.step
            (low, high), (least, most) = tail(one, value), above(case, value)
            assert low <= most and least <= high, (case, value)
            assert high - low <= (max(within, ROOM) if of_gaussians(case) else within)


DOTS = [Fraction(2 * dot + 1, 100) for dot in range(50)]


def test_pictured_levels_are_the_quantiles_of_each_by_itself() -> None:
    """Inverted, where one is looked for from where the last was found, and on a lattice."""
    uneven = [NoiseSum.of([Term(TENTH, Fraction(1, k), 2) for k in range(1, most)]) for most in (40, 90)]
    assert any(one._inverts for one in uneven) and not all(one._inverts for one in sums())
    for one in [*uneven, *sums()]:
        alone = {level: -(-one.upper(level, exactly=False).value // 1) for level in DOTS}
        assert one.pictured(reversed(DOTS)) == alone
        assert sorted(alone.values(), reverse=True) == list(alone.values())


def test_tails_hold_the_enumerated_ones() -> None:
    check_tails(lambda one, value: one.above(value), Fraction(1, 10**12))
    check_tails(lambda one, value: fixed(one.noises, 128).above(int(value / one.step)), Fraction(1, 10**30))


def test_the_next_tail_is_rejected_and_so_is_the_one_before() -> None:
    def next_one(one: NoiseSum, value: Fraction) -> tuple[Fraction, Fraction]:
        return one.above(value + one.step)

    def at_least(one: NoiseSum, value: Fraction) -> tuple[Fraction, Fraction]:
        return one.at_least(value)

    for twin in (next_one, at_least):
        with pytest.raises(AssertionError):
            check_tails(twin, Fraction(1, 10**12))


def test_the_chance_to_see_so_much_is_the_tail_before() -> None:
    for case, one in enumerate(sums()):
        for at in range(-9, 10):
            (low, high), (least, most) = one.at_least(at * one.step), above(case, (at - 1) * one.step)
            assert low <= most and least <= high


def check_quantiles(upper: Callable[[NoiseSum, Fraction], Fraction]) -> None:
    for case, one in enumerate(sums()):
        for level in LEVELS:
            value = upper(one, level)
            assert above(case, value)[1] <= level
            assert above(case, value - one.step)[0] > level


def test_quantiles_are_the_least_that_hold() -> None:
    check_quantiles(lambda one, level: one.upper(level).value)
    check_quantiles(lambda one, level: one.upper(level).least)
    assert all(one.upper(level).exact for one in sums() for level in LEVELS)


def test_quantiles_that_are_one_step_too_narrow_or_too_wide_are_rejected() -> None:
    for off in (-1, 1):
        with pytest.raises(AssertionError):
            check_quantiles(lambda one, level, off=off: one.upper(level).value + off * one.step)


def test_lower_ends_are_upper_ends_of_minus_the_sum() -> None:
    for case, one in enumerate(sums()):
        law = enumerated(case)
        for level in LEVELS:
            value = one.lower(level).value
            below = sum((mass for at, mass in law.items() if at < -value), Fraction(0))
            reached = sum((mass for at, mass in law.items() if at < -value + one.step), Fraction(0))
            assert below <= level < reached + Fraction(1, 10**11)


def test_a_radius_is_two_sided() -> None:
    for case in (0, 1, 2, 7):
        one, law = NoiseSum.of(CASES[case]), enumerated(case)
        for level in LEVELS:
            radius = one.radius(level).value
            outside = sum((mass for at, mass in law.items() if abs(at) > radius), Fraction(0))
            before = sum((mass for at, mass in law.items() if abs(at) > radius - one.step), Fraction(0))
            assert outside <= level and (radius == 0 or before > level)
    with pytest.raises(ParameterError, match="two ends"):
        NoiseSum.of(CASES[3]).radius(Fraction(1, 20))


def test_means_and_variances_are_those_of_the_law() -> None:
    for case, one in enumerate(sums()):
        law = enumerated(case)
        mean = sum(at * mass for at, mass in law.items())
        variance = sum((at - mean) ** 2 * mass for at, mass in law.items())
        assert float(one.mean()[0]) == pytest.approx(float(mean), abs=1e-9)
        assert float(one.variance()[0]) == pytest.approx(float(variance), rel=1e-8)
        assert one.variance()[0] <= one.variance()[1]


def test_floats_are_within_their_error_of_integers_for_noise_of_an_irrational_ratio() -> None:
    for terms in (
        [Term(TENTH, 1, 20)],
        [Term(TENTH, 1, 7, True), Term(TENTH, -1, 5, True)],
        [Term(TENTH, 3, 2), Term(Decay.exp(Fraction(2)), 1, 9), Term(Decay.exp(Fraction(30)), 1)],
        [Term(DiscreteGaussian(Fraction(100)), 1, 20)],
        [Term(DiscreteGaussian(Fraction(40)), 1, 7, True), Term(DiscreteGaussian(Fraction(40)), -1, 5, True)],
        [Term(DiscreteGaussian(Fraction(1, 3)), 3, 2), Term(DiscreteGaussian(Fraction(200)), 1, 9), Term(TENTH, 1, 2)],
        [Term(DiscreteGaussian(Fraction(1, 3)), 1, 7, True)],
    ):
        noises = Noises.of(terms)
        spectrum, exact = Spectrum.of(noises), fixed(noises, 128)
        assert spectrum is not None and spectrum.error < 1e-10
        for step in range(-150, 151):
            low, high = spectrum.above(step)
            assert low <= exact.above(step)[1] and exact.above(step)[0] <= high


def test_levels_beyond_the_reach_of_floats_are_decided_in_integers() -> None:
    one = NoiseSum.of([Term(TENTH, 1, 6)])
    for places in (*range(14, 40, 2), 60):
        level = Fraction(1, 3 * 10**places)
        found = one.upper(level)
        assert found.exact
        low, high = fixed(one.noises, 400).above(int(found.value))
        assert high <= level < fixed(one.noises, 400).above(int(found.value) - 1)[0] and low > 0
        assert one.chernoff(level) >= found.value


def alone(noises: Noises, log_level: float) -> float:
    """The exponential bound of one level, by a search of its own."""
    if not ((noises.weights > 0) | ~noises.clamped).any():
        return 0.0
    most, low, high, best = noises._steepest(log_level), 0.0, 1.0, math.inf
    for _ in range(4):
        grid = low + (high - low) * np.arange(1, 24) / 24
        bounds = (noises._log_moment(grid * most) - log_level) / (grid * most)
        at = int(np.nanargmin(bounds))
        best = min(best, float(bounds[at]))
        low, high = (grid[at - 1] if at else low), (grid[at + 1] if at + 1 < len(grid) else high)
    return best * (1 + 1e-9) + 1e-9 * float(np.abs(noises.weights).max())


def test_exponential_bounds_of_many_levels_at_once_are_those_of_each_alone() -> None:
    """Also of more levels than are computed at once, and in any order; one step further in is another number."""
    logs = [-0.01, -1.0, *(-1.7 * number for number in range(1, 60)), -3.0, -700.0]
    for terms in [*CASES, [Term(DiscreteGaussian(Fraction(10**6)), 1, 30, True)], [Term(TENTH, 1, 5_000, True)]]:
        noises = Noises.of(terms)
        together = noises.chernoff_at(logs)
        assert together.tolist() == pytest.approx([alone(noises, level) for level in logs], rel=1e-12)
        assert [noises.chernoff(level) for level in logs] == pytest.approx(together.tolist(), rel=1e-12)
        assert together.any() == bool(noises._rising.any())
    levels = [Fraction(1, 10**places) for places in range(1, 30)]
    for terms in ([Term(TENTH, 1, 6)], [Term(HALF, 1, 90, True)], [Term(DiscreteGaussian(Fraction(9)), 1, 40)]):
        one = NoiseSum.of(terms)
        assert one.chernoff_at(levels) == [one.chernoff(level) for level in levels] != one.chernoff_at(levels[::-1])


def test_a_quantile_that_is_left_open_is_valid_and_hardly_wider() -> None:
    one = NoiseSum.of([Term(TENTH, 1, 300)])
    for level in (Fraction(1, 20), Fraction(1, 10**9), Fraction(1, 10**11), Fraction(1, 10**12)):
        settled, left = one.upper(level), one.upper(level, exactly=False)
        assert settled.exact and left.least <= settled.value <= left.value <= settled.value + 200
    wide = NoiseSum.of([Term(Decay.exp(Fraction(1, 1000)), 1, 300)]).upper(Fraction(1, 10**12), exactly=False)
    assert not wide.exact


def test_ties_are_met_exactly_for_one_noise_and_never_missed_for_several() -> None:
    for at in (0, 1, 7):
        tie = Fraction(1, 3 * 2**at)
        assert NoiseSum.of([Term(HALF)]).upper(tie).value == at
        assert NoiseSum.of([Term(HALF, 2)]).upper(tie).value == 2 * at
        assert NoiseSum.of([Term(HALF, 1, 1, True)]).upper(tie).value == at
    # Pr[Z1 + Z2 > 0] = (1 - Pr[Z1 + Z2 = 0]) / 2 with Pr[0] = (1/9) (1 + 2 / 3) = 5/27
    found = NoiseSum.of([Term(HALF, 1, 2)]).upper(Fraction(11, 27))
    assert found.least <= 0 <= found.value <= 1


def irrational_cases() -> list[list[Term]]:
    small = Decay.rational(Fraction(1, 8))
    return [
        [Term(small, Fraction(355, 113)), Term(small, Fraction(1000003, 10**6)), Term(HALF, Fraction(141421, 10**5))],
        [Term(small, Fraction(355, 113), 1, True), Term(HALF, Fraction(-1000003, 10**6), 1, True), Term(small, 2)],
    ]


def pairs_of(terms: list[Term]) -> tuple[Any, Any]:
    """Values and chances of a sum by enumeration, in floats, sorted."""
    values, masses = np.zeros(1), np.ones(1)
    for term in terms:
        law = single(term)
        at, mass = (np.array([float(one) for one in part]) for part in (law.keys(), law.values()))
        values, masses = np.add.outer(values, at).ravel(), np.multiply.outer(masses, mass).ravel()
    order = np.argsort(values)
    return values[order], masses[order]


def test_an_inverted_tail_lies_between_its_two_numbers() -> None:
    for terms in irrational_cases():
        inversion, (values, masses) = Inversion.of(Noises.of(terms)), pairs_of(terms)
        assert inversion.error < 1e-9
        for t in np.linspace(-25, 25, 101).tolist():
            exact = float(masses[values > t].sum())
            low, high = inversion.above(t)
            assert low - 1e-12 <= exact <= high + 1e-12
            smoothed = masses @ (values > t - 2 * inversion.width) - masses @ (values > t + 2 * inversion.width)
            assert high - low <= smoothed + 1e-8, "no wider than what lies within its width"


def check_inverted(quantile: Callable[[NoiseSum, Fraction], Quantile]) -> None:
    for terms in irrational_cases():
        values, masses = pairs_of(terms)
        one = NoiseSum.of(terms)
        for level in (Fraction(1, 4), Fraction(1, 20), Fraction(1, 10**5)):
            found = quantile(one, level)
            assert not found.exact and found.value.denominator == 1
            assert masses[values > float(found.value)].sum() <= float(level)
            assert masses[values > float(found.least)].sum() > float(level)
            assert found.error <= 1 + 4 * one._inversion.width + 0.01


def test_numerical_quantiles_hold_and_say_by_how_much_they_are_too_wide() -> None:
    check_inverted(lambda one, level: one._inverted(level))


def test_wherever_a_quantile_is_looked_for_it_is_the_same() -> None:
    for terms in irrational_cases():
        inversion = Inversion.of(Noises.of(terms))
        start, end = math.floor(inversion.low) - 1, math.ceil(inversion.high)
        for target in (0.25, 0.05, 1e-5):
            fits = [t for t in range(start + 1, end + 1) if inversion.most_above(float(t)) <= target * (1 - SMALL)]
            for near in (start - 9, start, start + 1, 0, fits[0] - 1, fits[0], fits[0] + 1, end - 1, end, end + 9):
                assert _least_above(inversion, target, start, end, near) == fits[0]
            assert _least_above(inversion, target, fits[0] - 1, fits[0], 0) == fits[0], "nothing is left to look for"


def test_numerical_quantiles_a_count_too_narrow_are_rejected() -> None:
    def narrow(one: NoiseSum, level: Fraction) -> Quantile:
        found = one._inverted(level)
        return Quantile(found.value - 2, found.least)

    with pytest.raises(AssertionError):
        check_inverted(narrow)


def test_small_trees_have_the_same_tails_on_their_lattice_and_by_inversion() -> None:
    for design, low, high in ((Design(Shape(2, 8)), 1, 4), (Design(Shape(3, 9)), 2, 7), (Design(Shape(2, 4)), 0, 2)):
        groups = design.weights([(low, high, 1)])
        one = NoiseSum.of([Term(TENTH, group.weight, group.stop - group.first) for group in groups])
        spectrum, inversion = Spectrum.of(one.noises), Inversion.of(one.noises)
        assert spectrum is not None
        unit = variance_of(TENTH)
        assert float(one.variance()[0]) == pytest.approx(float(design.variance([(low, high, 1)])) * unit, rel=1e-12)
        for t in range(-80, 81, 7):
            least, most = one.above(t)
            below, over = inversion.above(float(t))
            assert below <= most and least <= over


def variance_of(decay: Decay) -> float:
    y = float(decay.bounds()[0])
    return 2 * y / (1 - y) ** 2


def test_a_range_of_a_large_tree_has_a_numerical_radius_close_to_its_bounds() -> None:
    design = Design(Shape(2, 2**15))
    groups = design.weights([(12345, 23456, 1)])
    one = NoiseSum.of([Term(Decay.exp(Fraction(1, 16)), group.weight, group.stop - group.first) for group in groups])
    found = one.radius(Fraction(1, 20))
    deviation = float(one.variance()[1]) ** 0.5
    assert not found.exact and found.error <= 2 + 4 * one._inversion.width
    assert 1.9 * deviation < found.value < 2.1 * deviation + 2
    assert found.value <= one.chernoff(Fraction(1, 40))
    far = one.radius(Fraction(1, 10**12))
    assert far.value == one.chernoff(Fraction(1, 2 * 10**12)) and far.value > 6 * deviation


def test_an_exponential_bound_is_never_below_the_quantile() -> None:
    for case, one in enumerate(sums()):
        for level in LEVELS:
            assert above(case, one.chernoff(level))[1] <= level


def test_a_sum_of_nothing_is_nothing() -> None:
    nothing = NoiseSum.of([Term(HALF, 0, 5), Term(HALF, 1, 0)])
    assert nothing.upper(Fraction(1, 20)).value == 0 == nothing.variance()[1] == nothing.chernoff(Fraction(1, 20))
    assert nothing.above(0) == (0, 0) and nothing.above(-1) == (1, 1)


def coverage(
    low_of: NoiseSum, high_of: NoiseSum, counts: tuple[int, ...], beta: Fraction, narrower: int = 0
) -> Fraction:
    """How often [S - q of the sum of Z+, S + q of the sum of -Z] holds the true sum, S being the clamped one."""
    down = low_of.upper(beta / 2).value - narrower
    up = high_of.lower(beta / 2).value - narrower
    held, reach = Fraction(0), 14
    law = {z: Fraction(1, 3) * Fraction(1, 2) ** abs(z) for z in range(-reach, reach + 1)}
    for noise in product(law, repeat=len(counts)):
        total = sum(max(c + z, 0) for c, z in zip(counts, noise, strict=True))
        if total - down <= sum(counts) <= total + up:
            chance = Fraction(1)
            for z in noise:
                chance *= law[z]
            held += chance
    return held


def test_an_interval_from_clamped_values_holds_as_often_as_it_says() -> None:
    beta = Fraction(1, 5)
    clamped, plain = NoiseSum.of([Term(HALF, 1, 3, True)]), NoiseSum.of([Term(HALF, 1, 3)])
    for counts in ((0, 0, 0), (0, 2, 1), (5, 5, 5), (0, 0, 30)):
        assert coverage(clamped, plain, counts, beta) >= 1 - beta
    assert 1 - coverage(clamped, plain, (0, 0, 0), beta, narrower=1) > beta / 2, "where one end alone can fail"


def test_the_naive_interval_around_a_clamped_sum_of_empty_bins_mostly_fails() -> None:
    naive = NoiseSum.of([Term(TENTH, 1, 40)]).radius(Fraction(1, 20)).value
    clamped = NoiseSum.of([Term(TENTH, 1, 40, True)])
    assert float(clamped.mean()[0]) == pytest.approx(200, abs=1)
    assert 0.6 < float(clamped.above(naive)[0]) < 0.75


def test_equal_terms_are_one_and_signs_of_symmetric_noise_do_not_matter() -> None:
    noises = Noises.of(Term(Decay.exp(Fraction(1, d)), w) for d, w in ((3, 1), (3, -1), (4, 1), (3, 2), (4, -1)))
    assert [(term.weight, term.count) for term in noises.terms] == [(1, 2), (1, 2), (2, 1)]
    signs = Noises.of([Term(HALF, 1, 1, True), Term(HALF, -1, 1, True)])
    assert len(signs.terms) == 2 and not signs.symmetric and signs.mirrored.terms != ()


@pytest.mark.parametrize("level", [Fraction(0), Fraction(1), Fraction(-1, 2)], ids=str)
def test_levels_outside_are_refused(level: Fraction) -> None:
    for call in (NoiseSum.of([Term(HALF)]).upper, NoiseSum.of([Term(HALF, 1, 3)]).radius):
        with pytest.raises(ParameterError):
            call(level)


@pytest.mark.parametrize(
    "call",
    [lambda: Term(HALF, 1.5), lambda: Term(HALF, float("nan")), lambda: Term(HALF, 1, -1)],  # type: ignore[arg-type]
)
def test_what_is_no_noise_is_refused(call: Callable[[], Term]) -> None:
    with pytest.raises(ParameterError):
        call()
