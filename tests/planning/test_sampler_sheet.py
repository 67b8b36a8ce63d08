"""The sampler sheet: its pictures are the laws, its ratio is the worst over all pairs, its fans are its points."""

from __future__ import annotations

import json
from collections.abc import Callable
from fractions import Fraction

import pytest

from dpviz.errors import ParameterError
from dpviz.exact import Decay, log_at_most
from dpviz.laws.clamped import Clamped
from dpviz.laws.finite import FastSampleLaw, Truncated, geosample_law
from dpviz.laws.geometric import TwoSidedGeometric
from dpviz.noise.finite import fastsample, fastsample_size
from dpviz.planning.sampler_sheet import (
    SamplerSheet,
    fastsample_profile,
    geosample_profile,
    staircase,
    truncated_profile,
)

Chance = Callable[[int, int], Fraction]


def enumerated_ratio(chance: Chance, n: int) -> Fraction:
    """The worst ratio over every value and every pair of neighbouring counts, one by one."""
    pairs = [(chance(c, z), chance(c + 1, z)) for c in range(n) for z in range(n + 1)]
    return max(max(one / other, other / one) for one, other in pairs)


@pytest.mark.parametrize(("n", "e", "g", "t"), [(5, 1, 2, 1), (9, 2, 100, 3), (12, 5, 10, 9), (7, 1, 1000, 30)])
def test_the_pictures_are_the_laws_in_every_bin(n: int, e: int, g: int, t: int) -> None:
    p, q = SamplerSheet(e=e).base
    cut = Clamped(Truncated(TwoSidedGeometric(Decay.rational(Fraction(q, p))), t), 0, n)
    fast = FastSampleLaw(n, p, q, g, t)
    laws: list[tuple[object, Chance]] = [
        (geosample_profile(n, p, q), lambda c, z: geosample_law(n, p, q).pmf(c, z)[0]),
        (truncated_profile(n, p, q, t), lambda c, z: cut.pmf(c, z)[0]),
        (fastsample_profile(n, p, q, g, t), fast.pmf),
    ]
    for profile, chance in laws:
        for c in range(n + 1):
            drawn = profile.picture(c)  # type: ignore[attr-defined]
            assert len(drawn) == n + 1
            for z in range(n + 1):
                assert drawn[z] == pytest.approx(float(chance(c, z)), rel=1e-3)


def test_a_picture_truncated_one_step_later_is_told_apart() -> None:
    n, p, q, g, t = 9, 5, 4, 100, 3
    shown, law = fastsample_profile(n, p, q, g, t + 1).picture(4), FastSampleLaw(n, p, q, g, t)
    assert [z for z in range(n + 1) if shown[z] != pytest.approx(float(law.pmf(4, z)), rel=1e-3)] == [0, 4, 8]


def test_the_picture_of_fastsample_is_what_the_sampler_draws() -> None:
    """Every uniform integer once, for every count."""
    n, p, q, g, t = 5, 3, 2, 2, 2
    size = fastsample_size(n, p, q, g, t)
    for c in range(n + 1):
        drawn = [0] * (n + 1)
        for u in range(1, size + 1):
            drawn[fastsample(c, u, n=n, p=p, q=q, g=g, t=t)] += 1
        shown = fastsample_profile(n, p, q, g, t).picture(c)
        assert shown == [float(f"{count / size:.4g}") for count in drawn]


@pytest.mark.parametrize(
    ("n", "e", "g", "t"),
    [(30, 2, 100, 2), (30, 2, 100, 46), (8, 1, 2, 1), (8, 1, 2, 6), (12, 4, 50, 12), (6, 1, 10, 40)],
)
def test_the_ratio_is_the_worst_over_all_neighbouring_counts(n: int, e: int, g: int, t: int) -> None:
    p, q = SamplerSheet(e=e).base
    profile = fastsample_profile(n, p, q, g, t)
    worst = enumerated_ratio(FastSampleLaw(n, p, q, g, t).pmf, n)
    step = Fraction(1, 10**6)
    found = profile.worst_ratio(step)
    assert found is not None
    assert 0 <= found - worst < step
    assert profile.keeps(worst)
    assert not profile.keeps(worst - Fraction(1, 10**12))
    assert profile.keeps(Fraction(p, q)) == (worst <= Fraction(p, q))


def test_geosample_attains_its_promise_and_a_truncated_law_has_none() -> None:
    assert geosample_profile(9, 5, 4).worst_ratio() == Fraction(5, 4)
    assert truncated_profile(9, 5, 4, 3).worst_ratio() is None
    assert not truncated_profile(9, 5, 4, 3).keeps(Fraction(10**9))


def test_a_truncation_of_2_breaks_the_promise_and_the_proved_ones_keep_it() -> None:
    """The example of the specification: n = 30, gamma = 1/100, t = 2 gives 219 against 1.25."""
    broken = SamplerSheet(n=30, c=10, e=2, g=100, t="2").point()
    assert broken["fastsample"]["ratio"] == "219.24"
    assert broken["fastsample"]["holds"] is False
    assert broken["truncated"]["ratio"] == ""
    for t in ("tight", "paper"):
        kept = SamplerSheet(n=30, c=10, e=2, g=100, t=t).point()
        assert kept["fastsample"]["holds"] is True
        assert Fraction(kept["fastsample"]["ratio"]) <= Fraction(5, 4)


def test_each_fan_holds_the_point_that_a_sheet_made_there_would_hold() -> None:
    sheet = SamplerSheet(n=7, c=3, e=2, g=10, t="2")
    said = sheet.to_json()
    assert [axis["name"] for axis in said["axes"]] == ["n", "c", "epsilon", "gamma", "t"]
    for axis in said["axes"]:
        points = said["fans"][axis["name"]]
        assert [point["at"][axis["name"]] for point in points] == axis["grid"]
        assert len(axis["values"]) == len(axis["grid"])
        assert said["now"]["at"][axis["name"]] in axis["grid"]
        for point in points[:: max(1, len(points) // 4)]:
            assert point == SamplerSheet.at(point["at"]).point()
    json.dumps(said, allow_nan=False)


def test_the_lengths_cross_where_n_exceeds_the_truncation() -> None:
    sizes = SamplerSheet(e=2, g=100).point()["sizes"]
    crossover = int(sizes["crossover"])
    lengths = zip(sizes["n"], sizes["geosample"], sizes["fastsample"], strict=True)
    for n, geo, fast in lengths:
        if int(n) < crossover:
            assert int(geo) < int(fast)
        if int(n) > 2 * crossover:
            assert int(fast) < int(geo)
    below = SamplerSheet(n=crossover - 1, c=0, e=2, g=100).truncation
    at = SamplerSheet(n=crossover, c=0, e=2, g=100).truncation
    assert below >= crossover - 1
    assert at < crossover


def test_the_staircase_pays_no_more_than_epsilon_and_the_tight_base_pays_nearer_to_it() -> None:
    steps = staircase()
    for e, paper, tight in zip(range(60, 0, -1), steps["paper"], steps["tight"], strict=True):
        assert 1 / (2 * e) < paper <= tight <= 1 / e
        p, q = SamplerSheet(e=min(e, 50)).base
        assert log_at_most(Fraction(p, q), Fraction(1, min(e, 50)), times=2)
    assert max(e * tight for e, tight in zip(range(60, 0, -1), steps["tight"], strict=True)) > 0.99


@pytest.mark.parametrize(
    ("change", "value"),
    [
        ({"n": "4"}, "4"),
        ({"n": "61"}, "61"),
        ({"epsilon": "0.3"}, "0.3"),
        ({"epsilon": "0"}, "0"),
        ({"gamma": "1"}, "1"),
        ({"t": "0"}, "0"),
        ({"t": "short"}, None),
        ({"c": "-1"}, "-1"),
        ({"rows": "9"}, "c, epsilon, gamma, n, rows, t"),
    ],
)
def test_a_place_outside_the_axes_is_refused(change: dict[str, str], value: str | None) -> None:
    place = {"n": "9", "c": "3", "epsilon": "0.5", "gamma": "0.01", "t": "tight"} | change
    with pytest.raises(ParameterError) as caught:
        SamplerSheet.at(place)
    assert value is None or caught.value.value == value


def test_a_count_above_the_limit_moves_to_the_limit() -> None:
    place = {"n": "9", "c": "30", "epsilon": "0.5", "gamma": "0.01", "t": "tight"}
    assert SamplerSheet.at(place).c == 9
