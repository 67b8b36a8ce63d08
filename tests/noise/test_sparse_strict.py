"""The paper's pipeline, step by step: each a pure function whose law is found by feeding it every uniform integer."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction

import pytest

from dpviz.errors import ParameterError
from dpviz.laws.finite import geosample_law
from dpviz.laws.keep_heavy import exact_law
from dpviz.noise.bits import TeachingBits
from dpviz.noise.finite import geosample
from dpviz.noise.sparse_strict import (
    approx_bin_sample,
    approx_conv_exp,
    approx_ord_sample,
    distinct_sample,
    empty_law,
    junk,
    keep_heavy,
    least_junk,
    ord_sample,
    pure_sparse_histogram,
    resolution,
    sparse_histogram,
)
from dpviz.noise.uniform import uniform
from dpviz.privacy.mixing import required_delta, worst_odds

Shown = tuple[tuple[int, int], ...]
Law = dict[Shown, Fraction]


def every_law(run: Callable[[Callable[[int], int]], object]) -> dict[object, Fraction]:
    """The exact law of a function of uniform integers: every sequence of integers it can ask for."""
    law: dict[object, Fraction] = {}
    waiting: list[tuple[int, ...]] = [()]
    while waiting:
        given = waiting.pop()
        asked: list[int] = []

        def following(d: int, given: tuple[int, ...] = given, asked: list[int] = asked) -> int:
            asked.append(d)
            if len(asked) > len(given):
                raise _More
            return given[len(asked) - 1]

        try:
            outcome = run(following)
        except _More:
            waiting += [(*given, u) for u in range(1, asked[-1] + 1)]
        else:
            chance = math.prod((Fraction(1, d) for d in asked), start=Fraction(1))
            law[outcome] = law.get(outcome, Fraction(0)) + chance
    assert sum(law.values()) == 1
    return law


class _More(Exception):
    """The function asks for one more integer."""


def distance(first: dict[object, Fraction], second: dict[object, Fraction]) -> Fraction:
    """Total variation."""
    outcomes = {*first, *second}
    none = Fraction(0)
    return sum((abs(first.get(one, none) - second.get(one, none)) for one in outcomes), Fraction(0)) / 2


# ---------------------------------------------------------------- the law of an empty bin


@pytest.mark.parametrize(("n", "p", "q"), [(1, 2, 1), (2, 2, 1), (4, 5, 4), (4, 7, 3)])
def test_the_table_of_an_empty_bin_is_geosamples(n: int, p: int, q: int) -> None:
    F = empty_law(n, p, q)
    assert [sum(geosample(0, u, n=n, p=p, q=q) <= v for u in range(1, F[-1] + 1)) for v in range(n + 1)] == F


# ---------------------------------------------------------------- convolutions and binomials


def convolved(a: Sequence[int], times: int, s: int) -> list[Fraction]:
    """The first terms of the exact convolution."""
    one = [Fraction(part, s) for part in a]
    law = [Fraction(1)] + [Fraction(0)] * (len(a) - 1)
    for _ in range(times):
        law = [sum((law[j] * one[i - j] for j in range(i + 1)), Fraction(0)) for i in range(len(a))]
    return law


@pytest.mark.parametrize("times", [1, 2, 3, 4, 5, 6, 7, 11, 64])
@pytest.mark.parametrize(("a", "s"), [([8, 8], 16), ([3, 0, 5, 1], 9), ([1000, 24], 1024), ([5, 4, 3, 2, 1], 16)])
def test_a_convolution_is_below_the_exact_one_by_no_more_than_is_claimed(a: list[int], s: int, times: int) -> None:
    found, exact = approx_conv_exp(a, times, s), convolved(a, times, s)
    gaps = [true - Fraction(term, s) for term, true in zip(found, exact, strict=True)]
    assert all(gap >= 0 for gap in gaps)
    assert sum(gaps) <= Fraction(len(a) * (times - 1), s)


def test_a_convolution_follows_the_printed_recursion() -> None:
    """Even: floor(b*b / s). Odd: floor(a*b*b / s**2), with one rounding."""
    a, s = [11, 3, 2], 16

    def by_hand(times: int) -> list[int]:
        if times == 1:
            return a
        b = by_hand(times // 2)
        square = [sum(b[j] * b[i - j] for j in range(i + 1)) for i in range(3)]
        if times % 2 == 0:
            return [part // s for part in square]
        return [sum(a[j] * square[i - j] for j in range(i + 1)) // s**2 for i in range(3)]

    for times in range(1, 40):
        assert approx_conv_exp(a, times, s) == by_hand(times)


def binomial_law(trials: int, chance: Fraction, most: int) -> dict[object, Fraction]:
    law: dict[object, Fraction] = {}
    for k in range(trials + 1):
        part = math.comb(trials, k) * chance**k * (1 - chance) ** (trials - k)
        law[min(k, most)] = law.get(min(k, most), Fraction(0)) + part
    return law


@pytest.mark.parametrize("most", [1, 2, 3, 5])
@pytest.mark.parametrize(("trials", "num", "den"), [(1, 1, 3), (4, 1, 2), (6, 2, 9), (9, 1, 7)])
def test_a_binomial_is_off_by_no_more_than_is_claimed(trials: int, num: int, den: int, most: int) -> None:
    exact = binomial_law(trials, Fraction(num, den), most)
    for s in (16, 64, 2048):
        law = every_law(lambda uniform, s=s: approx_bin_sample(uniform(s), trials, num, den, most, s))  # type: ignore[misc]
        assert distance(law, exact) <= Fraction(trials * (most + 1) - most, s)
    assert distance(law, binomial_law(trials + 1, Fraction(num, den), most)) > Fraction(trials * (most + 1), 2048)


def test_a_binomial_that_cannot_count_takes_no_integer_and_a_coarse_one_is_refused() -> None:
    assert approx_bin_sample(1, 5, 1, 2, 0, 16) == approx_bin_sample(1, 0, 1, 2, 3, 16) == 0
    with pytest.raises(ParameterError, match="at least the number of trials"):
        approx_bin_sample(1, 17, 1, 2, 3, 16)


# ---------------------------------------------------------------- order statistics


def top_law(F: Sequence[int], trials: int, count: int) -> dict[object, Fraction]:
    """The `count` largest of `trials` independent draws, by enumeration."""
    one = [Fraction(high - low, F[-1]) for low, high in itertools.pairwise([0, *F])]
    law: dict[object, Fraction] = {}
    for values in itertools.product(range(len(F)), repeat=trials):
        top = tuple(sorted(values, reverse=True)[:count])
        law[top] = law.get(top, Fraction(0)) + math.prod((one[v] for v in values), start=Fraction(1))
    return law


@pytest.mark.parametrize(("n", "trials"), [(1, 3), (2, 3), (1, 4)])
def test_exact_order_statistics_are_those_of_independent_draws(n: int, trials: int) -> None:
    F = [2, 3] if n == 1 else [2, 3, 4]
    law = every_law(lambda uniform: tuple(ord_sample(F, trials, n + 1, uniform)))
    assert law == top_law(F, trials, n + 1)
    assert law != top_law(F, trials + 1, n + 1)


@pytest.mark.parametrize("s", [16, 64])
@pytest.mark.parametrize(("n", "trials"), [(1, 3), (1, 6), (2, 4)])
def test_approximate_order_statistics_are_off_by_no_more_than_is_claimed(n: int, trials: int, s: int) -> None:
    F = empty_law(n, 2, 1)
    law = every_law(lambda uniform: tuple(approx_ord_sample(F, trials, n + 1, s, uniform)))
    assert distance(law, top_law(F, trials, n + 1)) <= Fraction(trials * (n * n + 2 * n), s)


# ---------------------------------------------------------------- labels


@pytest.mark.parametrize(("taken", "size", "count"), [([], 4, 2), ([0, 2], 5, 3), ([4], 5, 4), ([1, 2, 3], 6, 2)])
def test_every_sequence_of_different_free_labels_has_the_same_chance(taken: list[int], size: int, count: int) -> None:
    law = every_law(lambda uniform: tuple(distinct_sample(count, taken, size, uniform)))
    wanted = set(itertools.permutations([x for x in range(size) if x not in taken], count))
    assert set(law) == wanted and len(set(law.values())) == 1


def test_keep_heavy_drops_ties_and_needs_more_than_n_counts() -> None:
    assert keep_heavy({5: 2, 1: 2, 3: 1}, 2) == {1: 2, 5: 2}
    assert keep_heavy({5: 2, 1: 2, 3: 2}, 2) == {}
    with pytest.raises(ParameterError, match="more than n = 2"):
        keep_heavy({5: 2, 1: 2}, 2)


# ---------------------------------------------------------------- histograms


def shown(found: dict[int, int]) -> Shown:
    assert list(found) == sorted(found) and all(value > 0 for value in found.values())
    return tuple(found.items())


def heavy(counts: Sequence[int], n: int, p: int, q: int) -> dict[object, Fraction]:
    one = geosample_law(n, p, q)
    return dict(exact_law(counts, n, lambda c: {v: one.pmf(c, v)[0] for v in range(n + 1)}))


@pytest.mark.parametrize("counts", [{}, {1: 1}, {0: 1, 2: 1}, {0: 1, 1: 1, 2: 1}], ids=str)
def test_a_sparse_histogram_is_near_noise_on_every_bin(counts: dict[int, int]) -> None:
    n, size, p, q = 1, 3, 2, 1
    exact = heavy([counts.get(x, 0) for x in range(size)], n, p, q)
    for s in (8, 32):
        law = every_law(
            lambda uniform, s=s: shown(sparse_histogram(counts, n=n, size=size, p=p, q=q, s=s, uniform=uniform))  # type: ignore[misc]
        )
        assert distance(law, exact) <= Fraction(size * (n * n + 2 * n), s)


def test_junk_can_be_any_histogram_and_none_is_rarer_than_stated() -> None:
    for n, size in ((1, 3), (2, 5), (2, 3)):
        law = every_law(lambda uniform, n=n, size=size: shown(junk(n, size, uniform)))  # type: ignore[misc]
        wanted = {
            tuple(zip(labels, values, strict=True))
            for count in range(n + 1)
            for labels in itertools.combinations(range(size), count)
            for values in itertools.product(range(1, n + 1), repeat=count)
        }
        assert set(law) == wanted
        assert min(law.values()) >= least_junk(n, size) >= Fraction(1, (3 * size) ** n)


def test_the_mixture_is_as_pure_as_noise_on_every_bin() -> None:
    """All neighbours at n = 1 on three labels, both relations: the odds never exceed (p/q)**l1. Without junk, and with
    the coarsest s, an outcome may be possible on one side only."""
    n, size, p, q, g = 1, 3, 2, 1, 2
    sides = {"add or remove": ({}, {0: 1}, 1), "replace": ({1: 1}, {0: 1}, 2)}
    for first, second, l1 in sides.values():
        odds = Fraction(p, q) ** l1
        s = resolution(n, size, required_delta(odds, Fraction(1, g), least_junk(n, size)))
        laws = []
        for counts in (first, second):
            law = every_law_by_parts(counts, n, size, p, q, s)
            thrown = every_law(lambda uniform: shown(junk(n, size, uniform)))
            outcomes = {*law, *thrown}
            half, none = Fraction(1, g), Fraction(0)
            laws.append({one: half * thrown.get(one, none) + (1 - half) * law.get(one, none) for one in outcomes})
        worst = worst_odds(laws[0], laws[1])
        assert worst is not None and worst <= odds


def every_law_by_parts(counts: dict[int, int], n: int, size: int, p: int, q: int, s: int) -> dict[object, Fraction]:
    """SparseHistogram's law where s is too large to enumerate: its parts are independent, so their laws multiply.

    Here n = 1, so one integer of 1..s decides how many of the two values are 1.
    """
    F, empty = empty_law(n, p, q), size - len(counts)
    success = s * (F[1] - F[0]) // F[1]
    law = approx_conv_exp([s - success, success], empty, s)
    chances = {0: Fraction(law[0], s), 1: Fraction(law[1], s)}
    chances[2] = 1 - chances[0] - chances[1]
    for reached, u in ((0, law[0]), (1, law[0] + 1), (1, law[0] + law[1]), (2, law[0] + law[1] + 1)):
        assert approx_bin_sample(u, empty, F[1] - F[0], F[1], 2, s) == reached
    one = geosample_law(n, p, q)
    found: dict[object, Fraction] = {}
    free = [x for x in range(size) if x not in counts]
    pairs = list(itertools.permutations(free, 2))
    for reached, chance in chances.items():
        for labels in pairs:
            for values in itertools.product(range(n + 1), repeat=len(counts)):
                noisy = dict(zip(counts, values, strict=True)) | dict(
                    zip(labels, [1] * reached + [0] * 2, strict=False)
                )
                part = chance / len(pairs)
                for (_, count), value in zip(counts.items(), values, strict=True):
                    part *= one.pmf(count, value)[0]
                outcome = shown(keep_heavy(noisy, n))
                found[outcome] = found.get(outcome, Fraction(0)) + part
    return found


def test_one_integer_decides_between_junk_and_the_histogram() -> None:
    given: Iterator[int] = iter([1, 4, 2])
    asked: list[int] = []

    def following(d: int) -> int:
        asked.append(d)
        return next(given)

    assert pure_sparse_histogram({0: 1}, n=1, size=7, p=2, q=1, s=16, g=9, uniform=following) == {3: 1}
    assert asked == [9, 7, 2]


def test_a_strict_histogram_is_ascending_and_small_whatever_it_is_given() -> None:
    bits = TeachingBits(9)
    n, size, s = 4, 2**64, resolution(4, 2**64, Fraction(1, 2**300))
    assert s & (s - 1) == 0 and s >= (n * n + 2 * n) * size * 2**300
    for counts in ({}, {5: 10**9}, dict.fromkeys(range(20), 1), {size - 1: 4, 0: 4}):
        for g in (2, 2**20):
            found = pure_sparse_histogram(
                counts, n=n, size=size, p=3, q=2, s=s, g=g, uniform=lambda d: uniform(d, bits)
            )
            assert list(found) == sorted(found) and len(found) <= n
            assert all(0 <= x < size and 1 <= value <= n for x, value in found.items())
