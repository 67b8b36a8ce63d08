"""GeoSample and FastSample: pure functions equal to their definitions, and samplers that follow them."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest

from dpviz.errors import ParameterError
from dpviz.laws.finite import FastSampleLaw, geosample_law
from dpviz.noise.bits import TeachingBits
from dpviz.noise.finite import (
    FiniteSampler,
    Mode,
    fastsample,
    fastsample_size,
    geosample,
    geosample_size,
    paper_base,
    truncation,
)
from dpviz.noise.uniform import uniform
from tests.noise.statistics import FALSE_ALARM, p_value, power

BASES = [(2, 1), (3, 2), (5, 4), (5, 2)]
GEOSAMPLES = [(n, p, q) for n in (1, 2, 3, 4, 5) for p, q in BASES]
FASTSAMPLES = [
    (n, p, q, g, t) for n in (1, 2, 3, 6) for p, q in ((2, 1), (3, 2), (5, 2)) for g in (2, 3) for t in (1, 2, 4)
]


def geosample_shares(n: int, p: int, q: int, c: int) -> dict[int, Fraction]:
    d = geosample_size(n, p, q)
    counts = Counter(geosample(c, u, n=n, p=p, q=q) for u in range(1, d + 1))
    return {z: Fraction(count, d) for z, count in counts.items()}


def fastsample_shares(n: int, p: int, q: int, g: int, t: int, c: int) -> dict[int, Fraction]:
    d = fastsample_size(n, p, q, g, t)
    counts = Counter(fastsample(c, u, n=n, p=p, q=q, g=g, t=t) for u in range(1, d + 1))
    return {z: Fraction(count, d) for z, count in counts.items()}


@pytest.mark.parametrize(("n", "p", "q"), GEOSAMPLES)
def test_geosample_has_its_law_over_all_uniform_integers(n: int, p: int, q: int) -> None:
    law = geosample_law(n, p, q)
    for c in range(n + 1):
        assert geosample_shares(n, p, q, c) == {z: law.pmf(c, z)[0] for z in range(n + 1)}


@pytest.mark.parametrize(("n", "p", "q", "g", "t"), [case for case in FASTSAMPLES if fastsample_size(*case) < 4000])
def test_fastsample_has_its_law_over_all_uniform_integers(n: int, p: int, q: int, g: int, t: int) -> None:
    law = FastSampleLaw(n, p, q, g, t)
    for c in range(n + 1):
        assert fastsample_shares(n, p, q, g, t, c) == {z: law.pmf(c, z) for z in range(n + 1)}


def test_the_small_fastsamples_reach_past_every_edge() -> None:
    """Truncation inside the range and beyond it, so that the cases above see both."""
    cases = [case for case in FASTSAMPLES if fastsample_size(*case) < 4000]
    assert any(t < n for n, *_, t in cases)
    assert any(t > n for n, *_, t in cases)


@pytest.mark.parametrize(("n", "p", "q"), GEOSAMPLES)
def test_the_worst_ratio_between_neighbouring_counts_is_p_over_q(n: int, p: int, q: int) -> None:
    shares = [geosample_shares(n, p, q, c) for c in range(n + 1)]
    ratios = [max(a[z] / b[z], b[z] / a[z]) for a, b in pairwise(shares) for z in range(n + 1)]
    assert max(ratios) == Fraction(p, q)


@pytest.mark.parametrize(
    ("p", "q", "g", "n"), [(2, 1, 2, 4), (2, 1, 5, 30), (3, 2, 7, 20), (9, 8, 2, 60), (7, 2, 2, 9)]
)
def test_fastsample_pays_no_more_than_p_over_q_from_the_tight_truncation_on(p: int, q: int, g: int, n: int) -> None:
    def worst(t: int) -> Fraction:
        law = FastSampleLaw(n, p, q, g, t)
        rows = [[law.pmf(c, z) for z in range(n + 1)] for c in range(n + 1)]
        return max(max(a / b, b / a) for x, y in pairwise(rows) for a, b in zip(x, y, strict=True))

    t = truncation(n, g, p, q, rule="tight")
    assert worst(t) <= Fraction(p, q)
    assert worst(1) > Fraction(p, q), "so short a truncation would show"


@pytest.mark.parametrize("n", [1000, 20_000])
def test_geosample_inverts_its_law_at_any_size(n: int) -> None:
    """F(z - 1) < u/d <= F(z), at random u and at both ends, where logarithms in floating point know least."""
    p, q = paper_base(10)
    law, d, bits = geosample_law(n, p, q), geosample_size(n, p, q), TeachingBits(5)
    for c in (0, 1, n // 2, n):
        for u in [1, 2, d // 2, d // 2 + 1, d - 1, d, *(uniform(d, bits) for _ in range(3))]:
            z = geosample(c, u, n=n, p=p, q=q)
            assert law.cdf(c, z - 1)[1] < Fraction(u, d) <= law.cdf(c, z)[0]


def test_fastsample_inverts_its_law_at_any_size() -> None:
    n, g = 10**6, 2**20
    p, q = paper_base(2)
    t = truncation(n, g, p, q, rule="tight")
    law, d, bits = FastSampleLaw(n, p, q, g, t), fastsample_size(n, p, q, g, t), TeachingBits(5)
    for c in (0, 17, n // 2, n):
        for u in [1, d // 2, d, *(uniform(d, bits) for _ in range(4))]:
            z = fastsample(c, u, n=n, p=p, q=q, g=g, t=t)
            assert law.cdf(c, z - 1) < Fraction(u, d) <= law.cdf(c, z)


def test_the_papers_base() -> None:
    assert [paper_base(e) for e in (1, 2, 3, 4, 5, 10)] == [(3, 2), (5, 4), (9, 8), (9, 8), (17, 16), (33, 32)]


def test_the_papers_truncation() -> None:
    assert truncation(1000, 40_000_000, *paper_base(1), e=1) == 175
    assert truncation(1000, 40_000_000, *paper_base(10), e=10) == 1889


@pytest.mark.parametrize(
    ("n", "g", "e"), [(1000, 40_000_000, 10), (1000, 40_000_000, 1), (5, 2, 1), (10**6, 2**30, 100)]
)
def test_the_tight_truncation_is_the_least_that_satisfies_its_inequality(n: int, g: int, e: int) -> None:
    p, q = paper_base(e)

    def holds(t: int) -> bool:
        return 2 * p * q ** (t + 1) * (g - 1) * (n + 1) <= (p - q) * p ** (t + 1)

    t = truncation(n, g, p, q, rule="tight")
    assert holds(t)
    assert not holds(t - 1)
    assert t <= truncation(n, g, p, q, e=e)


def test_a_tie_in_the_tight_inequality_is_decided_exactly() -> None:
    """With p/q = 2 and 4 (g - 1) (n + 1) = 2**k both sides are equal at t + 1 = k."""
    assert truncation(3, 2, 2, 1, rule="tight") == 3
    assert truncation(4, 2, 2, 1, rule="tight") == 4


@pytest.mark.parametrize(
    ("call", "value"),
    [
        (lambda: geosample(-1, 1, n=2, p=2, q=1), "-1"),
        (lambda: geosample(3, 1, n=2, p=2, q=1), "3"),
        (lambda: geosample(1, 0, n=2, p=2, q=1), "0"),
        (lambda: geosample(1, 7, n=2, p=2, q=1), "7"),
        (lambda: geosample(1, 1, n=0, p=2, q=1), "0"),
        (lambda: geosample(1, 1, n=2, p=1, q=1), "1"),
        (lambda: geosample_size(2, 2, 0), "0"),
        (lambda: fastsample(3, 1, n=2, p=2, q=1, g=2, t=1), "3"),
        (lambda: fastsample(1, 73, n=2, p=2, q=1, g=2, t=1), "73"),
        (lambda: fastsample_size(2, 2, 1, 1, 1), "1"),
        (lambda: fastsample_size(2, 2, 1, 2, 0), "0"),
        (lambda: truncation(2, 1, 2, 1, rule="tight"), "1"),
        (lambda: truncation(2, 2, 2, 1, rule="short"), "short"),  # type: ignore[arg-type]
        (lambda: truncation(2, 2, 2, 1), "0"),
        (lambda: paper_base(0), "0"),
        (lambda: FiniteSampler(5, 2, 1, "geo"), "geo"),  # type: ignore[arg-type]
        (lambda: FiniteSampler(5, 2, 1, "fastsample", 4, 1), "1"),
        (lambda: FiniteSampler(5, 2, 1, "fastsample"), "0"),
        (lambda: FiniteSampler(5, 10**13 + 1, 10**13), "1e+13"),
        (lambda: FiniteSampler(5, 2, 1).add(np.zeros(1, np.int64), TeachingBits(1), mode="fast"), "fast"),
        # type: ignore
    ],
)
def test_a_parameter_outside_its_range_is_refused_with_its_value(call: object, value: str) -> None:
    with pytest.raises(ParameterError) as caught:
        call()  # type: ignore[operator]
    assert caught.value.value == value


SAMPLERS = {
    "geosample": FiniteSampler(30, 5, 4),
    "fastsample": FiniteSampler(30, 5, 4, "fastsample", 9, truncation(30, 9, 5, 4, rule="tight")),
    "fastsample, half junk": FiniteSampler(30, 5, 4, "fastsample", 2, truncation(30, 2, 5, 4, rule="tight")),
}


def law_of(sampler: FiniteSampler, count: int) -> np.ndarray:
    n, p, q = sampler.n, sampler.p, sampler.q
    if sampler.kind == "geosample":
        return np.array([float(geosample_law(n, p, q).pmf(count, z)[0]) for z in range(n + 1)])
    law = FastSampleLaw(n, p, q, sampler.g, sampler.t)
    return np.array([float(law.pmf(count, z)) for z in range(n + 1)])


@pytest.mark.parametrize("count", [0, 1, 13, 30], ids=str)
@pytest.mark.parametrize(("mode", "draws"), [("exact", 200_000), ("strict", 20_000)])
@pytest.mark.parametrize("name", SAMPLERS)
def test_both_modes_follow_the_law_in_every_bin_ends_included(name: str, mode: Mode, draws: int, count: int) -> None:
    sampler = SAMPLERS[name]
    noisy = sampler.add(np.full(draws, count), TeachingBits(21), mode=mode)
    assert p_value(np.bincount(noisy, minlength=31), law_of(sampler, count)) > FALSE_ALARM
    neighbour = law_of(sampler, count + 1 if count < 30 else 29)
    assert power(draws, law_of(sampler, count), neighbour) > 0.999
    assert p_value(np.bincount(noisy, minlength=31), neighbour) < FALSE_ALARM


@pytest.mark.parametrize("count", [0, 1, 2], ids=str)
def test_noise_reaches_as_far_as_the_truncation_and_no_further(count: int) -> None:
    """The shortest truncation that is allowed, where both the last step and what is cut off have weight."""
    sampler = FiniteSampler(2, 7, 2, "fastsample", 2, 1)
    noisy = sampler.add(np.full(200_000, count), TeachingBits(23), mode="exact")
    assert p_value(np.bincount(noisy, minlength=3), law_of(sampler, count)) > FALSE_ALARM
    for t in (2, 3):
        longer = law_of(FiniteSampler(2, 7, 2, "fastsample", 2, t), count)
        assert p_value(np.bincount(noisy, minlength=3), longer) < FALSE_ALARM


def test_small_vectors_of_fastsample_follow_its_law_too() -> None:
    sampler, bits = SAMPLERS["fastsample"], TeachingBits(22)
    rows = np.array([sampler.add(np.array([0, 13, 30]), bits, mode="exact") for _ in range(4000)])
    for column, count in enumerate((0, 13, 30)):
        assert p_value(np.bincount(rows[:, column], minlength=31), law_of(sampler, count)) > FALSE_ALARM


@pytest.mark.parametrize("mode", ["strict", "exact"])
@pytest.mark.parametrize("name", SAMPLERS)
def test_counts_outside_the_range_are_moved_to_its_ends(name: str, mode: Mode) -> None:
    sampler = SAMPLERS[name]
    wild, tame = np.array([-(2**63), -1, 31, 2**63 - 1]), np.array([0, 0, 30, 30])
    assert (sampler.add(wild, TeachingBits(3), mode=mode) == sampler.add(tame, TeachingBits(3), mode=mode)).all()


def test_strict_mode_is_one_uniform_integer_per_count_through_the_pure_function() -> None:
    sampler, counts = SAMPLERS["fastsample"], np.array([0, 5, 30, 5])
    bits = TeachingBits(9)
    by_hand = [fastsample(c, uniform(sampler.size, bits), n=30, p=5, q=4, g=9, t=sampler.t) for c in counts.tolist()]
    assert sampler.add(counts, TeachingBits(9), mode="strict").tolist() == by_hand


@pytest.mark.parametrize("mode", ["strict", "exact"])
@pytest.mark.parametrize("name", SAMPLERS)
def test_the_last_tick_says_that_all_is_done(name: str, mode: Mode) -> None:
    seen: list[tuple[int, int]] = []
    SAMPLERS[name].add(
        np.zeros(1000, np.int64), TeachingBits(1), lambda done, total: seen.append((done, total)), mode=mode
    )
    assert seen[-1] == (1000, 1000)
    assert [done for done, _ in seen] == sorted({done for done, _ in seen})
